/* mbarrier.c: mbarrier objects (PTX manual, "Parallel Synchronization and Communication Instructions: mbarrier"). The
   eight bytes of shared memory hold only a mark, so that a write over them is noticed; what counts is in a table.

   A phase completes when no arrival is pending and the transaction count is zero; then the next one begins with all
   arrivals pending. A wait for a parity succeeds when the phase of that parity is not the current one. This is checked
   when the thread runs again, not when the phase completes, so a barrier that is a phase too far is noticed. */
#include <stdio.h>

#include "emulator.h"

enum { MAX_COUNT = (1 << 20) - 1, MARK_BYTES = 8 }; /* "Contents of the mbarrier object" */
enum { IDLE_ROUNDS = 1000 }; /* consecutive turns of threads that only call test_wait, before it is a deadlock */
static const unsigned char emu_mark[MARK_BYTES] = {0xb7, 0x7f, 0xb7, 0x7f, 0xb7, 0x7f, 0xb7, 0x7f}; /* NaNs */

static const char *op_name(enum reid_emulator_mbarrier op) {
    static const char *const names[] = {"mbarrier.init",      "mbarrier.inval",             "mbarrier.arrive",
                                        "mbarrier.expect_tx", "mbarrier.arrive.expect_tx", "mbarrier.test_wait",
                                        "mbarrier.try_wait", "mbarrier.try_wait"};
    return names[op];
}

static emu_mbarrier *find(emu_worker *w, unsigned offset) {
    for (unsigned i = 0; i < w->mbarrier_count; i++)
        if (w->mbarriers[i].offset == offset) return &w->mbarriers[i];
    return NULL;
}

/* "phase 0: 1 of 2 arrivals pending, transaction count 512" */
static void state_text(const emu_mbarrier *m, char *text, size_t size) {
    snprintf(text, size, "phase %u: %u of %u arrivals pending, transaction count %d", m->phase, m->pending,
             m->expected, m->tx);
}

void emu_mbarrier_text(const emu_worker *w, const emu_thread *t, char *text, size_t size) {
    char state[120] = "which is no more";
    for (unsigned i = 0; i < w->mbarrier_count; i++)
        if (w->mbarriers[i].offset == t->mbarrier) state_text(&w->mbarriers[i], state, sizeof state);
    snprintf(text, size, "at %s for parity %u of shared offset %u (%s), line %d",
             op_name(t->polls ? REID_EMULATOR_TEST_WAIT : REID_EMULATOR_TRY_WAIT), t->parity, t->mbarrier, state,
             t->line);
}

static unsigned offset_of(const emu_worker *w, unsigned address, const char *what, int line) {
    unsigned offset = address - REID_EMULATOR_SHARED_BASE;
    if (offset % MARK_BYTES)
        emu_fault(CUDA_ERROR_MISALIGNED_ADDRESS, line, NULL, "%s: an mbarrier at shared offset %u, not a multiple of 8",
                  what, offset);
    if (offset > w->shared_bytes || offset + MARK_BYTES > w->shared_bytes)
        emu_fault(CUDA_ERROR_ILLEGAL_ADDRESS, line, NULL, "%s: an mbarrier at shared offset %u of %u bytes", what,
                  offset, w->shared_bytes);
    return offset;
}

/* The valid object there, or a fault. */
static emu_mbarrier *need(emu_worker *w, unsigned address, const char *what, int line) {
    unsigned offset = offset_of(w, address, what, line);
    emu_mbarrier *m = find(w, offset);
    if (!m)
        emu_fault(CUDA_ERROR_LAUNCH_FAILED, line, NULL, "%s on shared offset %u, which is no mbarrier: mbarrier.init "
                  "is missing, or comes later", what, offset);
    if (memcmp(w->instance->shared + offset, emu_mark, MARK_BYTES) != 0)
        emu_fault(CUDA_ERROR_LAUNCH_FAILED, line, NULL, "%s: the mbarrier at shared offset %u has been overwritten",
                  what, offset);
    if (w->cells && w->current) emu_check_shared(w, w->current, offset, MARK_BYTES, EMU_MBARRIER_USE, line, NULL);
    return m;
}

/* ---- init, inval ---- */

static void init(emu_worker *w, unsigned address, unsigned count, int line) {
    unsigned offset = offset_of(w, address, "mbarrier.init", line);
    for (unsigned i = 0; i < w->mbarrier_count; i++)
        if (w->mbarriers[i].offset == offset)
            emu_fault(CUDA_ERROR_LAUNCH_FAILED, line, NULL, "mbarrier.init on shared offset %u, which is an mbarrier "
                      "already", offset);
    if (count == 0 || count > MAX_COUNT)
        emu_fault(CUDA_ERROR_LAUNCH_FAILED, line, NULL, "mbarrier.init for %u arrivals: 1 to %d are possible", count,
                  MAX_COUNT);
    if (w->mbarrier_count == EMU_MBARRIERS)
        emu_fault(CUDA_ERROR_LAUNCH_FAILED, line, NULL, "more than the emulator's %d mbarriers", EMU_MBARRIERS);
    emu_mbarrier *m = &w->mbarriers[w->mbarrier_count++];
    memset(m, 0, sizeof *m);
    m->offset = offset, m->expected = m->pending = count;
    if (w->cells) emu_check_shared(w, w->current, offset, MARK_BYTES, EMU_MBARRIER_INIT, line, NULL);
    memcpy(w->instance->shared + offset, emu_mark, MARK_BYTES);
}

static void inval(emu_worker *w, emu_mbarrier *m, int line) {
    for (unsigned i = 0; i < w->thread_count; i++)
        if (w->threads[i].state == EMU_AT_MBARRIER && w->threads[i].mbarrier == m->offset)
            emu_fault(CUDA_ERROR_LAUNCH_FAILED, line, NULL, "mbarrier.inval on shared offset %u while thread %u waits "
                      "there", m->offset, i);
    if (emu_bulk_load_for(w, m->offset))
        emu_fault(CUDA_ERROR_LAUNCH_FAILED, line, NULL, "mbarrier.inval on shared offset %u while a bulk copy is under "
                  "way to it", m->offset);
    if (w->cells) emu_check_shared(w, w->current, m->offset, MARK_BYTES, EMU_MBARRIER_INVAL, line, NULL);
    memset(w->instance->shared + m->offset, 0xff, MARK_BYTES);
    *m = w->mbarriers[--w->mbarrier_count];
}

/* ---- a phase ---- */

static void complete_if_due(emu_worker *w, emu_mbarrier *m, int line) {
    w->idle_rounds = 0;
    if (m->pending || m->tx) return;
    const emu_bulk *copy = emu_bulk_load_for(w, m->offset);
    const emu_remote *store = emu_remote_for(w, m->offset);
    if (store)
        emu_fault(CUDA_ERROR_LAUNCH_FAILED, line, NULL, "phase %u of the mbarrier at shared offset %u completes while "
                  "an st.async for it, at line %d, is under way: its bytes were not expected", m->phase, m->offset,
                  store->line);
    if (copy)
        emu_fault(CUDA_ERROR_LAUNCH_FAILED, line, NULL, "phase %u of the mbarrier at shared offset %u completes while "
                  "a bulk copy of %u bytes for it, by thread %u at line %d, is under way: its bytes were not expected",
                  m->phase, m->offset, copy->bytes, copy->thread, copy->line);
    m->phase++, m->pending = m->expected;
    memcpy(m->done, m->arrived, sizeof m->done);
    for (unsigned i = 0; i < w->thread_count; i++)
        if (w->threads[i].state == EMU_AT_MBARRIER && w->threads[i].mbarrier == m->offset)
            w->threads[i].state = EMU_READY;
}

static void expect(emu_mbarrier *m, unsigned bytes, int line) {
    if (bytes > MAX_COUNT || m->tx + (int)bytes > MAX_COUNT)
        emu_fault(CUDA_ERROR_LAUNCH_FAILED, line, NULL, "expect_tx of %u bytes at shared offset %u: the transaction "
                  "count %d would pass %d", bytes, m->offset, m->tx, MAX_COUNT);
    m->tx += (int)bytes;
}

static void arrive(emu_worker *w, emu_mbarrier *m, int line) {
    if (m->pending == 0) {
        char state[120];
        state_text(m, state, sizeof state);
        emu_fault(CUDA_ERROR_LAUNCH_FAILED, line, NULL, "arrives too often at the mbarrier at shared offset %u (%s)",
                  m->offset, state);
    }
    m->pending--;
    if (w->cells && w->current) emu_check_release(w, w->current, m->arrived);
    complete_if_due(w, m, line);
}

void emu_mbarrier_remote(emu_worker *w, enum reid_emulator_mbarrier op, unsigned address, unsigned value, int releases,
                         int line) {
    emu_mbarrier *m = need(w, address, op_name(op), line);
    if (op == REID_EMULATOR_ARRIVE_EXPECT_TX) expect(m, value, line);
    if (w->cells && releases) emu_check_landing(w, m->arrived, EMU_REMOTE);
    arrive(w, m, line);
}

void emu_mbarrier_landed(emu_worker *w, unsigned mbarrier, unsigned bytes, int remote) {
    emu_mbarrier *m = find(w, mbarrier);
    int line = emu_worker_now()->current->line;
    if (m->tx - (int)bytes < -MAX_COUNT)
        emu_fault(CUDA_ERROR_LAUNCH_FAILED, line, NULL, "the transaction count of the mbarrier at shared offset %u "
                  "falls below %d", m->offset, -MAX_COUNT);
    m->tx -= (int)bytes;
    if (w->cells) emu_check_landing(w, m->arrived, remote ? EMU_REMOTE : EMU_ASYNC);
    complete_if_due(w, m, line);
}

/* ---- waits ---- */

/* Whether the phase of that parity is over. try_wait gives up now and then, as the hardware may, so that a kernel that
   does not try again is noticed: the first time without waiting, the next time not. */
static unsigned wait(emu_worker *w, unsigned address, unsigned parity, enum reid_emulator_mbarrier op, int line) {
    emu_thread *t = w->current;
    int polls = op == REID_EMULATOR_TEST_WAIT;
    const char *what = polls ? "mbarrier.test_wait" : "mbarrier.try_wait";
    if (parity > 1) emu_fault(CUDA_ERROR_LAUNCH_FAILED, line, NULL, "%s for parity %u: 0 or 1", what, parity);
    for (int rounds = 0;; rounds++) {
        emu_mbarrier *m = need(w, address, what, line);
        if ((m->phase & 1u) != parity) {
            t->gave_up = 0, t->state = EMU_READY;
            if (w->cells) emu_check_acquire(w, t, m->done, op == REID_EMULATOR_TRY_WAIT_CLUSTER);
            return 1;
        }
        if (w->landing) {
            w->landing = 0;
            if (w->counted.count) emu_remote_land(w);
            else emu_bulk_land(w);
            continue;
        }
        if (polls ? rounds > 0 : !t->gave_up) {
            t->gave_up = 1, t->state = EMU_READY;
            return 0;
        }
        t->state = EMU_AT_MBARRIER, t->polls = polls, t->mbarrier = m->offset, t->parity = parity, t->line = line;
        emu_thread_yield(w);
    }
}

int emu_mbarrier_land(emu_worker *w) {
    for (unsigned i = 0; i < w->thread_count && w->loads.count + w->counted.count; i++) {
        emu_state state = w->threads[i].state;
        if (state != EMU_AT_MBARRIER && state != EMU_AT_GRID && state != EMU_AT_CLUSTER) continue;
        w->landing = 1; /* by a thread, since only a thread can fault */
        emu_thread_resume(w, &w->threads[i]);
        return 1;
    }
    return 0;
}

int emu_mbarrier_poll(emu_worker *w) {
    int polls = 0;
    if (w->idle_rounds++ == IDLE_ROUNDS) return 0;
    for (unsigned i = 0; i < w->thread_count; i++) {
        if (w->threads[i].state != EMU_AT_MBARRIER || !w->threads[i].polls) continue;
        w->threads[i].state = EMU_READY;
        polls = 1;
    }
    return polls;
}

/* ---- what kernels call ---- */

unsigned emu_mbarrier_call(enum reid_emulator_mbarrier op, unsigned address, unsigned value, int line) {
    emu_worker *w = emu_worker_now();
    const char *what = op_name(op);
    if (op == REID_EMULATOR_INIT) {
        init(w, address, value, line);
        return 0;
    }
    if (op >= REID_EMULATOR_TEST_WAIT) return wait(w, address, value, op, line);
    emu_mbarrier *m = need(w, address, what, line);
    if (op == REID_EMULATOR_INVAL) inval(w, m, line);
    if (op == REID_EMULATOR_EXPECT_TX || op == REID_EMULATOR_ARRIVE_EXPECT_TX) expect(m, value, line);
    if (op == REID_EMULATOR_ARRIVE || op == REID_EMULATOR_ARRIVE_EXPECT_TX) arrive(w, m, line);
    return 0;
}

/* fence.mbarrier_init: of this thread's own initialisations; here of all so far. */
void emu_mbarrier_fence(void) {
    emu_worker *w = emu_worker_now();
    for (unsigned i = 0; i < w->mbarrier_count; i++) w->mbarriers[i].fenced = 1;
}

unsigned emu_mbarrier_for_copy(emu_worker *w, unsigned address, const char *what, int line) {
    emu_mbarrier *m = need(w, address, what, line);
    if (!m->fenced)
        emu_fault(CUDA_ERROR_LAUNCH_FAILED, line, NULL, "%s to the mbarrier at shared offset %u: no "
                  "fence.mbarrier_init or fence.proxy.async after its mbarrier.init", what, m->offset);
    return m->offset;
}
