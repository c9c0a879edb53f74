/* bulk.c: cp.async.bulk (PTX manual, "Data Movement and Conversion Instructions: Bulk copy"). A copy to shared memory
   is carried out when no thread of the block can continue without it, in no particular order, and reads its source only
   then; until then the destination holds a NaN pattern. A copy to global memory reads its source at the wait for reads,
   and is written at the wait for its group, or when the block has ended. */
#include "emulator.h"

/* ---- copies under way ---- */

emu_bulk *emu_bulk_new(emu_bulks *copies, unsigned spans, int line) {
    emu_thread *t = emu_worker_now()->current;
    if (copies->count == copies->capacity) {
        unsigned capacity = copies->capacity ? 2 * copies->capacity : 16;
        emu_bulk *grown = (emu_bulk *)realloc(copies->list, capacity * sizeof *grown);
        if (!grown) emu_fault(CUDA_ERROR_OUT_OF_MEMORY, line, NULL, "no memory for %u bulk copies", capacity);
        copies->list = grown, copies->capacity = capacity;
    }
    emu_bulk *c = &copies->list[copies->count];
    *c = (emu_bulk){.thread = t->index, .group = t->bulk_groups, .line = line};
    c->spans = (emu_span *)malloc(spans * sizeof *c->spans);
    if (!c->spans) emu_fault(CUDA_ERROR_OUT_OF_MEMORY, line, NULL, "no memory for a bulk copy of %u pieces", spans);
    copies->count++;
    return c;
}

void emu_bulk_add_span(emu_bulk *c, const emu_span *span) {
    c->spans[c->span_count++] = *span;
    c->bytes += span->bytes;
}

static void drop(emu_bulk *c) { free(c->spans), free(c->data); }

static void take(emu_bulks *from, unsigned i) {
    from->count--;
    memmove(from->list + i, from->list + i + 1, (from->count - i) * sizeof *from->list);
}

/* ---- where they may go ---- */

static emu_allocation *check_span(emu_worker *w, const emu_span *s, emu_allocation *a, int line) {
    uintptr_t first = s->global + s->from;
    unsigned bytes = s->to - s->from;
    char place[200];
    if (s->offset > w->shared_bytes || s->bytes > w->shared_bytes - s->offset)
        emu_fault(CUDA_ERROR_ILLEGAL_ADDRESS, line, NULL, "cp.async.bulk of %u bytes at shared offset %u of %u bytes",
                  s->bytes, s->offset, w->shared_bytes);
    if (!bytes) return a;
    if (!a || first - a->base >= a->bytes) a = emu_worker_find(w, first);
    if (a && bytes <= a->bytes - (first - a->base)) return a;
    emu_describe(a ? a->base + a->bytes : first, place, sizeof place);
    emu_fault(CUDA_ERROR_ILLEGAL_ADDRESS, line, NULL, "cp.async.bulk of %u bytes at 0x%zx, %s", bytes, (size_t)first,
              place);
}

/* how: the kind of access to shared memory, for check mode; -1: none, because it is another block's. */
static void check_spans(emu_worker *w, const emu_bulk *c, int how, int reads_global) {
    emu_allocation *a = NULL;
    for (unsigned i = 0; i < c->span_count; i++) {
        const emu_span *s = &c->spans[i];
        a = check_span(w, s, a, c->line);
        if (!w->cells) continue;
        if (reads_global && s->to > s->from)
            emu_check_global(w, w->current, a, s->global + s->from, s->to - s->from, EMU_ASYNC_READ, c->line, NULL);
        if (how >= 0) emu_check_shared(w, w->current, s->offset, s->bytes, how, c->line, NULL);
    }
}

static void plain_copy(emu_worker *w, emu_bulks *copies, uintptr_t global, unsigned shared, unsigned bytes, int line) {
    emu_span span = {global, shared - REID_EMULATOR_SHARED_BASE, bytes, 0, bytes};
    if (bytes == 0 || bytes % 16 || span.offset % 16 || global % 16)
        emu_fault(CUDA_ERROR_MISALIGNED_ADDRESS, line, NULL, "cp.async.bulk of %u bytes between shared offset %u "
                  "and 0x%zx: all have to be multiples of 16", bytes, span.offset, (size_t)global);
    check_span(w, &span, NULL, line);
    emu_bulk_add_span(emu_bulk_new(copies, 1, line), &span);
}

/* ---- global to shared ---- */

static void issue_load(emu_worker *w, emu_bulk *c, unsigned mbarrier, emu_worker *to) {
    c->to = to;
    check_spans(w, c, to == w ? EMU_BULK_ISSUED : -1, 1);
    c->mbarrier = emu_mbarrier_for_copy(to, mbarrier, "cp.async.bulk", c->line);
    for (unsigned i = 0; i < c->span_count; i++) {
        const emu_span *s = &c->spans[i];
        if (to != w && to->cells) emu_check_remote(to, s->offset, s->bytes, EMU_BULK_ISSUED, c->line);
        for (unsigned k = 0; k < s->bytes; k += 2) memcpy(to->instance->shared + s->offset + k, "\xad\x7f", 2);
    }
}

void emu_bulk_issue_load(emu_worker *w, emu_bulk *c, unsigned mbarrier) { issue_load(w, c, mbarrier, w); }

/* One copy for each block of the mask, which need not land together. Each is a load of the block that issued it. */
void emu_bulk_multicast(emu_worker *w, emu_bulk *first, unsigned mbarrier, unsigned mask) {
    emu_bulk copy = *first;
    int used = 0;
    if (!mask)
        emu_fault(CUDA_ERROR_LAUNCH_FAILED, copy.line, NULL, "a multicast to no block of the cluster");
    for (unsigned rank = 0; rank < 16; rank++) {
        if (!(mask >> rank & 1)) continue;
        emu_worker *to = rank == w->rank ? w : emu_cluster_member(w, rank, "a multicast", copy.line);
        emu_bulk *c = used++ ? emu_bulk_new(&w->loads, copy.span_count, copy.line) : first;
        for (unsigned i = 0; used > 1 && i < copy.span_count; i++) emu_bulk_add_span(c, &copy.spans[i]);
        issue_load(w, c, mbarrier, to);
    }
}

void emu_bulk_load(unsigned to, const void *from, unsigned bytes, unsigned mbarrier, unsigned mask, int line) {
    emu_worker *w = emu_worker_now();
    plain_copy(w, &w->loads, (uintptr_t)from, to, bytes, line);
    emu_bulk *c = &w->loads.list[w->loads.count - 1];
    if (mask) emu_bulk_multicast(w, c, mbarrier, mask & 0xffff);
    else emu_bulk_issue_load(w, c, mbarrier);
}

const emu_bulk *emu_bulk_load_for(const emu_worker *w, unsigned mbarrier) {
    for (unsigned m = 0; m < w->team->size; m++) {
        const emu_bulks *loads = &w->team->members[m]->loads;
        for (unsigned i = 0; i < loads->count; i++)
            if (loads->list[i].to == w && loads->list[i].mbarrier == mbarrier) return &loads->list[i];
    }
    return NULL;
}

void emu_bulk_land(emu_worker *w) {
    unsigned i = emu_get_settings()->seed ? (unsigned)(emu_random(&w->random) % w->loads.count) : 0;
    emu_bulk copy = w->loads.list[i];
    emu_worker *to_block = copy.to;
    take(&w->loads, i);
    for (unsigned k = 0; k < copy.span_count; k++) {
        const emu_span *s = &copy.spans[k];
        unsigned char *to = to_block->instance->shared + s->offset;
        if (s->to - s->from < s->bytes) memset(to, 0, s->bytes);
        if (s->to > s->from) memcpy(to + s->from, (const void *)(s->global + s->from), s->to - s->from);
        if (w->cells)
            emu_check_shared(to_block, &w->threads[copy.thread], s->offset, s->bytes, EMU_BULK_LANDED, copy.line, NULL);
    }
    drop(&copy);
    emu_mbarrier_landed(to_block, copy.mbarrier, copy.bytes, 0);
}

/* ---- shared to global ---- */

void emu_bulk_issue_store(emu_worker *w, emu_bulk *c) { check_spans(w, c, EMU_ASYNC_READ, 0); }

void emu_bulk_store(void *to, unsigned from, unsigned bytes, int line) {
    emu_worker *w = emu_worker_now();
    plain_copy(w, &w->stores, (uintptr_t)to, from, bytes, line);
    emu_bulk_issue_store(w, &w->stores.list[w->stores.count - 1]);
}

void emu_bulk_commit(void) { emu_worker_now()->current->bulk_groups++; }

static void read_source(emu_worker *w, emu_bulk *c, int line) {
    if (c->data) return;
    unsigned char *to = c->data = (unsigned char *)malloc(c->bytes);
    if (!to) emu_fault(CUDA_ERROR_OUT_OF_MEMORY, line, NULL, "no memory for a bulk copy of %u bytes", c->bytes);
    for (unsigned i = 0; i < c->span_count; to += c->spans[i++].bytes) {
        const emu_span *s = &c->spans[i];
        memcpy(to, w->instance->shared + s->offset, s->bytes);
        if (w->cells) emu_check_shared(w, &w->threads[c->thread], s->offset, s->bytes, EMU_ASYNC_DONE, line, NULL);
    }
}

/* filled: the block has ended, so the bytes are not attributed to a thread. */
static void write_destination(emu_worker *w, emu_bulk *c, int filled) {
    const unsigned char *data = c->data;
    for (unsigned i = 0; i < c->span_count; data += c->spans[i++].bytes) {
        const emu_span *s = &c->spans[i];
        uintptr_t to = s->global + s->from;
        unsigned bytes = s->to - s->from;
        if (!bytes) continue;
        emu_allocation *a = w->cells && !filled ? emu_worker_find(w, to) : NULL;
        if (a) emu_check_global(w, &w->threads[c->thread], a, to, bytes, EMU_BULK_LANDED, c->line, NULL);
        memcpy((void *)to, data + s->from, bytes);
        if (filled) emu_mark_filled(to, bytes);
    }
}

void emu_bulk_wait(unsigned groups_left, int read_only, int line) {
    emu_worker *w = emu_worker_now();
    emu_thread *t = w->current;
    for (unsigned i = 0; i < w->stores.count;) {
        emu_bulk *c = &w->stores.list[i];
        if (c->thread != t->index || c->group + groups_left >= t->bulk_groups) {
            i++;
            continue;
        }
        read_source(w, c, line);
        if (read_only) i++;
        else write_destination(w, c, 0), drop(c), take(&w->stores, i);
    }
}

/* ---- a block ---- */

void emu_bulk_begin(emu_worker *w) {
    for (unsigned i = 0; i < w->loads.count; i++) drop(&w->loads.list[i]);
    for (unsigned i = 0; i < w->stores.count; i++) drop(&w->stores.list[i]);
    w->loads.count = w->stores.count = w->mbarrier_count = w->idle_rounds = 0;
    w->landing = 0;
}

/* Shared memory is gone when the block has ended, so using it any longer is a bug. */
void emu_bulk_end(emu_worker *w) {
    for (unsigned i = 0; i < w->loads.count && !w->fault; i++)
        emu_fail_block(w, w->loads.list[i].thread, w->loads.list[i].line, "the block ends while a bulk copy to shared "
                       "offset %u is under way", w->loads.list[i].spans->offset);
    for (unsigned m = 0; m < w->team->size; m++)
        for (unsigned i = 0; i < w->team->members[m]->loads.count && !w->fault; i++) {
            const emu_bulk *c = &w->team->members[m]->loads.list[i];
            if (c->to == w)
                emu_fail_block(w, 0, c->line, "the block ends while a multicast by block %u of the cluster is under "
                               "way to its shared offset %u", m, c->spans->offset);
        }
    for (unsigned i = 0; i < w->stores.count && !w->fault; i++) {
        emu_bulk *c = &w->stores.list[i];
        if (!c->data)
            emu_fail_block(w, c->thread, c->line, "the block ends before the wait for a bulk copy from shared offset "
                           "%u: it may not have been read", c->spans->offset);
        else write_destination(w, c, 1);
    }
}

/* fence.proxy.async: data that this thread wrote, or that a barrier made visible to it, may be used by asynchronous
   copies and wgmma; with .shared::cta only in the block's own shared memory, which includes its mbarriers. */
void emu_fence_proxy_async(int shared_only) {
    emu_worker *w = emu_worker_now();
    emu_mbarrier_fence();
    if (w->cells) emu_check_proxy_fence(w, w->current, shared_only);
}
