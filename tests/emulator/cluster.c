/* cluster.c: clusters (PTX manual, "Cluster of Cooperative Thread Arrays", "barrier.cluster", "mapa"). Their blocks run
   in turns, each on a worker of its own. A .shared::cluster address has the block's rank, plus one, above the .shared
   address; without one it means the block itself. */
#include <stdio.h>

#include "emulator.h"

enum { ADDRESS_MASK = (1 << REID_EMULATOR_RANK_BIT) - 1 };

emu_worker *emu_cluster_member(emu_worker *w, unsigned rank, const char *what, int line) {
    if (rank >= w->team->size)
        emu_fault(CUDA_ERROR_LAUNCH_FAILED, line, NULL, "%s: block %u of a cluster of %u", what, rank, w->team->size);
    emu_worker *to = w->team->members[rank];
    if (!to->begun || to->exited == to->thread_count)
        emu_fault(CUDA_ERROR_LAUNCH_FAILED, line, NULL, "%s in shared memory of block %u of the cluster, which %s: "
                  "there is no barrier.cluster between", what, rank, to->begun ? "has ended" : "may not have begun");
    return to;
}

emu_worker *emu_cluster_resolve(emu_worker *w, unsigned *address, const char *what, int line) {
    unsigned rank = *address >> REID_EMULATOR_RANK_BIT;
    *address &= ADDRESS_MASK;
    return rank && rank - 1 != w->rank ? emu_cluster_member(w, rank - 1, what, line) : w;
}

/* ---- the barrier ---- */

/* All threads that have not returned have arrived. */
static int complete(const emu_team *team) {
    unsigned left = 0;
    for (unsigned i = 0; i < team->size; i++) left += team->members[i]->thread_count - team->members[i]->exited;
    if (!team->arrived || team->arrived < left) return 0;
    for (unsigned i = 0; i < team->size; i++)
        for (unsigned k = 0; k < team->members[i]->thread_count; k++) {
            const emu_thread *t = &team->members[i]->threads[k];
            if (t->state != EMU_EXITED && t->cluster_phase != team->phase + 1) return 0;
        }
    return 1;
}

static void complete_if_due(emu_team *team) {
    if (!complete(team)) return;
    int relaxed = team->relaxed;
    team->phase++, team->arrived = 0, team->relaxed = 0;
    for (unsigned i = 0; i < team->size; i++) {
        emu_worker *w = team->members[i];
        w->idle_rounds = 0, w->used_atomics = 1;
        if (w->cells) emu_check_cluster(w, relaxed);
        emu_block_release(w, EMU_AT_CLUSTER);
    }
}

static void arrive(emu_worker *w, emu_thread *t, int relaxed, int line) {
    if (t->cluster_phase)
        emu_fault(CUDA_ERROR_LAUNCH_FAILED, line, NULL, "barrier.cluster.arrive a second time without a wait between");
    if (!relaxed) emu_remote_release(w);
    if (!relaxed && w->cells) emu_check_release(w, t, w->released);
    w->team->relaxed |= relaxed;
    t->cluster_phase = w->team->phase + 1;
    w->team->arrived++;
    complete_if_due(w->team);
}

static void wait(emu_worker *w, emu_thread *t, int line) {
    if (!t->cluster_phase)
        emu_fault(CUDA_ERROR_LAUNCH_FAILED, line, NULL, "barrier.cluster.wait without barrier.cluster.arrive");
    while (w->team->phase < t->cluster_phase) {
        if (w->landing) {
            w->landing = 0;
            emu_bulk_land(w);
            continue;
        }
        t->state = EMU_AT_CLUSTER, t->line = line;
        emu_thread_yield(w);
    }
    t->cluster_phase = 0, t->state = EMU_READY;
}

void emu_cluster_exit(emu_worker *w) {
    if (w->team->size > 1) complete_if_due(w->team);
}

void emu_cluster_text(const emu_worker *w, const emu_thread *t, char *text, size_t size) {
    unsigned threads = 0;
    for (unsigned i = 0; i < w->team->size; i++) threads += w->team->members[i]->thread_count;
    snprintf(text, size, "at barrier.cluster.wait (%u of %u threads of %u blocks have arrived), line %d",
             w->team->arrived, threads, w->team->size, t->line);
}

/* ---- distributed shared memory ---- */

static unsigned check_word(emu_worker *w, emu_worker *at, unsigned address, int how, int line) {
    unsigned offset = address - REID_EMULATOR_SHARED_BASE;
    if (offset % 4) emu_fault(CUDA_ERROR_MISALIGNED_ADDRESS, line, NULL, "four bytes at shared offset %u", offset);
    if (offset > at->shared_bytes || at->shared_bytes - offset < 4)
        emu_fault(CUDA_ERROR_ILLEGAL_ADDRESS, line, NULL, "four bytes at shared offset %u of %u bytes, of block %u of "
                  "the cluster", offset, at->shared_bytes, at->rank);
    if (at->cells && at == w) emu_check_shared(w, w->current, offset, 4, how, line, NULL);
    if (at->cells && at != w) emu_check_remote(at, offset, 4, how, line);
    return offset;
}

/* A block sees its own stores: they are carried out before it loads from another block. */
static unsigned load_word(emu_worker *w, unsigned address, int line) {
    unsigned loaded;
    emu_worker *at = emu_cluster_resolve(w, &address, "ld.shared::cluster", line);
    if (at != w) emu_remote_release(w);
    memcpy(&loaded, at->instance->shared + check_word(w, at, address, EMU_READ, line), 4);
    return loaded;
}

static void store_word(emu_worker *w, unsigned address, unsigned value, int line) {
    emu_worker *at = emu_cluster_resolve(w, &address, "st.shared::cluster", line);
    unsigned offset = check_word(w, at, address, EMU_WRITE, line);
    if (at == w) memcpy(w->instance->shared + offset, &value, 4);
    else emu_remote_store(w, at, offset, value, line);
}

/* ---- what kernels call ---- */

/* releases: with .release at the scope of the cluster. */
static void arrive_there(emu_worker *w, enum reid_emulator_mbarrier op, unsigned address, unsigned bytes, int releases,
                         int line) {
    emu_worker *at = emu_cluster_resolve(w, &address, "mbarrier.arrive", line);
    if (releases) emu_remote_release(w);
    if (at == w) emu_mbarrier_call(op, address, bytes, line);
    else emu_mbarrier_remote(at, op, address, bytes, releases, line);
}

unsigned emu_cluster_call(enum reid_emulator_cluster op, unsigned address, unsigned value, int line) {
    emu_worker *w = emu_worker_now();
    switch (op) {
    case REID_EMULATOR_RANK: return w->rank;
    case REID_EMULATOR_SIZE: return w->team->size;
    case REID_EMULATOR_CLUSTER_ARRIVE: arrive(w, w->current, 0, line); break;
    case REID_EMULATOR_CLUSTER_ARRIVE_RELAXED: arrive(w, w->current, 1, line); break;
    case REID_EMULATOR_CLUSTER_WAIT: wait(w, w->current, line); break;
    case REID_EMULATOR_MAP:
        if (value >= w->team->size)
            emu_fault(CUDA_ERROR_LAUNCH_FAILED, line, NULL, "mapa: block %u of a cluster of %u", value, w->team->size);
        return (value + 1) << REID_EMULATOR_RANK_BIT | (address & ADDRESS_MASK);
    case REID_EMULATOR_LOAD: return load_word(w, address, line);
    case REID_EMULATOR_STORE: store_word(w, address, value, line); break;
    case REID_EMULATOR_REMOTE_ARRIVE: arrive_there(w, REID_EMULATOR_ARRIVE, address, 0, 1, line); break;
    case REID_EMULATOR_REMOTE_ARRIVE_CTA: arrive_there(w, REID_EMULATOR_ARRIVE, address, 0, 0, line); break;
    case REID_EMULATOR_REMOTE_ARRIVE_EXPECT_TX:
        arrive_there(w, REID_EMULATOR_ARRIVE_EXPECT_TX, address, value, 1, line);
        break;
    }
    return 0;
}
