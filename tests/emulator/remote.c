/* remote.c: stores into the shared memory of other blocks of a cluster (PTX manual, "st", "st.async", "Release and
   Acquire Patterns"). They become visible as late as the rules allow. A plain store waits for the next release at the
   scope of the cluster that covers it: barrier.cluster.arrive.release, or an mbarrier arrival with .release.cluster.
   Forms with .release.cta and .relaxed cover nothing, so code that relies on them sees old data. st.async lands, and is
   counted by its mbarrier, when no thread of the block can continue without it; until then its place holds a NaN
   pattern. */
#include "emulator.h"

static emu_remote *add(emu_remotes *list, int line) {
    if (list->count == list->capacity) {
        unsigned capacity = list->capacity ? 2 * list->capacity : 64;
        emu_remote *grown = (emu_remote *)realloc(list->list, capacity * sizeof *grown);
        if (!grown)
            emu_fault(CUDA_ERROR_OUT_OF_MEMORY, line, NULL, "no memory for %u stores to other blocks", capacity);
        list->list = grown, list->capacity = capacity;
    }
    return &list->list[list->count++];
}

/* ---- plain stores ---- */

void emu_remote_store(emu_worker *w, emu_worker *to, unsigned offset, unsigned word, int line) {
    emu_remote *r = add(&w->sent, line);
    *r = (emu_remote){.to = to, .offset = offset, .bytes = 4, .thread = w->current->index, .line = line};
    r->words[0] = word, r->clock = w->warps[w->current->warp].clock;
}

/* Also covers other threads' stores that a barrier has made visible to this one; without check mode, which tracks this,
   those of the whole block. */
void emu_remote_release(emu_worker *w) {
    unsigned kept = 0;
    for (unsigned i = 0; i < w->sent.count; i++) {
        emu_remote r = w->sent.list[i];
        if (w->cells && !emu_check_before(w, w->current, r.thread, r.clock)) {
            w->sent.list[kept++] = r;
            continue;
        }
        emu_cluster_member(w, r.to->rank, "st.shared::cluster", r.line);
        memcpy(r.to->instance->shared + r.offset, r.words, r.bytes);
        if (r.to->cells) emu_check_remote(r.to, r.offset, r.bytes, EMU_WRITE, r.line);
    }
    w->sent.count = kept;
}

/* ---- st.async ---- */

void emu_remote_async(unsigned address, const unsigned *words, unsigned mbarrier, int line) {
    emu_worker *w = emu_worker_now(), *to = emu_cluster_resolve(w, &address, "st.async", line);
    if (emu_cluster_resolve(w, &mbarrier, "st.async", line) != to)
        emu_fault(CUDA_ERROR_LAUNCH_FAILED, line, NULL, "st.async to block %u of the cluster with an mbarrier of "
                  "another one", to->rank);
    unsigned offset = address - REID_EMULATOR_SHARED_BASE;
    if (offset % 16)
        emu_fault(CUDA_ERROR_MISALIGNED_ADDRESS, line, NULL, "st.async of 16 bytes to shared offset %u", offset);
    if (offset > to->shared_bytes || to->shared_bytes - offset < 16)
        emu_fault(CUDA_ERROR_ILLEGAL_ADDRESS, line, NULL, "st.async of 16 bytes to shared offset %u of %u bytes, of "
                  "block %u of the cluster", offset, to->shared_bytes, to->rank);
    if (w->cells && to == w) emu_check_shared(w, w->current, offset, 16, EMU_STORE_ISSUED, line, NULL);
    if (to->cells && to != w) emu_check_remote(to, offset, 16, EMU_STORE_ISSUED, line);
    emu_remote *r = add(&w->counted, line);
    *r = (emu_remote){.to = to, .offset = offset, .bytes = 16, .thread = w->current->index, .line = line};
    r->mbarrier = emu_mbarrier_for_copy(to, mbarrier, "st.async", line);
    memcpy(r->words, words, 16);
    for (unsigned i = 0; i < 16; i += 2) memcpy(to->instance->shared + offset + i, "\xad\x7f", 2);
}

/* In any order. Removes one from the list before it lands, because its landing may complete a phase. */
void emu_remote_land(emu_worker *w) {
    while (w->counted.count) {
        unsigned i = emu_get_settings()->seed ? (unsigned)(emu_random(&w->random) % w->counted.count) : 0;
        emu_remote r = w->counted.list[i];
        w->counted.list[i] = w->counted.list[--w->counted.count];
        emu_cluster_member(w, r.to->rank, "st.async", r.line);
        memcpy(r.to->instance->shared + r.offset, r.words, 16);
        int how = r.to == w ? EMU_BULK_LANDED : EMU_STORE_LANDED; /* to itself: any wait shows it */
        if (r.to->cells) emu_check_shared(r.to, &w->threads[r.thread], r.offset, 16, how, r.line, NULL);
        emu_mbarrier_landed(r.to, r.mbarrier, 16, r.to != w);
    }
}

const emu_remote *emu_remote_for(const emu_worker *w, unsigned mbarrier) {
    for (unsigned m = 0; m < w->team->size; m++) {
        const emu_remotes *counted = &w->team->members[m]->counted;
        for (unsigned i = 0; i < counted->count; i++)
            if (counted->list[i].to == w && counted->list[i].mbarrier == mbarrier) return &counted->list[i];
    }
    return NULL;
}

/* ---- a block ---- */

void emu_remote_begin(emu_worker *w) { w->sent.count = w->counted.count = 0; }

/* Shared memory is gone when the block has ended. Its own stores that were never needed are dropped. */
void emu_remote_end(emu_worker *w) {
    for (unsigned m = 0; m < w->team->size; m++) {
        const emu_remotes *counted = &w->team->members[m]->counted;
        for (unsigned i = 0; i < counted->count && !w->fault; i++)
            if (counted->list[i].to == w)
                emu_fail_block(w, 0, counted->list[i].line, "the block ends while an st.async by block %u of the "
                               "cluster is under way to its shared offset %u", m, counted->list[i].offset);
    }
}
