/* check.c: every load and store of a kernel, in check mode (g++ -fsanitize=thread calls emu_access). It must be inside
   memory that the kernel may access, have been written before a load, and be ordered with other threads' accesses.

   Order is kept per warp, as vector clocks. A warp's clock moves at every barrier, __syncwarp and mbarrier arrival;
   `met` is when its lanes last met; `seen` is, for every other warp and for landed asynchronous copies, the time up to
   which this warp is ordered after them. An earlier access is ordered before this one
     by the same thread:   always
     by the same warp:     if its lanes have met since
     by another warp:      if this warp has seen that time of it
     by another block:     never within a launch, unless this block uses atomics or __threadfence
     by another block's stores into this one's shared memory: if this warp has seen that time of them, by a wait with
                           .acquire.cluster for an arrival with .release.cluster or for st.async, or barrier.cluster
   A wait for an mbarrier's phase counts as a wait of the whole warp. Asynchronous copies and wgmma may use data that
   threads wrote after a fence.proxy.async by the writer, or by a thread that is ordered after it: for shared memory
   .shared::cta suffices, for global memory, of the same launch, only the fence of all state spaces does.
   Shared memory has, for every two bytes, the last write and the readers since; global memory has, for every word, the
   last write. So some races are missed (a read of global memory before another block's write, two threads in one word),
   but every reported race is real. */
#include <stdio.h>

#include "emulator.h"

/* In place of a thread: several threads; an asynchronous copy; another block's thread. */
enum { MANY = 0xffff, ASYNC_THREAD = EMU_ASYNC * 32, REMOTE_THREAD = EMU_REMOTE * 32 };
enum { /* of a write */
    PENDING = 1,  /* a cp.async that has not landed */
    BULK = 2,     /* a bulk copy that has not landed */
    MBARRIER = 4, /* an mbarrier is here */
    UNFENCED = 8, /* by a thread, not yet usable by asynchronous copies and wgmma */
    STORE = 16    /* PENDING: an st.async */
};

typedef struct emu_written {
    uint32_t clock;
    uint16_t thread;
    uint8_t bytes, flags; /* a bit for each byte */
} emu_written;

struct emu_word { /* four bytes of global memory: the last write, and its writer */
    emu_written written;
    uint32_t block, launch;
};

typedef struct emu_readers {
    uint32_t clock, warps; /* the latest; a bit per warp, with the warps' own times in emu_worker's read_clocks */
    uint16_t thread;       /* or MANY */
    uint8_t bytes;
} emu_readers;

struct emu_cell { /* two bytes of shared memory */
    emu_written written;
    emu_readers readers;
    uint32_t block; /* the time of the block that `reading` is about */
    uint16_t reading; /* asynchronous reads under way */
};

enum { CELLS = REID_EMULATOR_SHARED_BYTES / 2 };

/* ---- time ---- */

int emu_check_begin(emu_worker *w) {
    if (!w->cells) w->cells = (emu_cell *)calloc(CELLS, sizeof *w->cells);
    if (!w->read_clocks) w->read_clocks = (uint32_t (*)[EMU_WARPS])calloc(CELLS, sizeof *w->read_clocks);
    if (!w->unfenced) w->unfenced = (uint64_t *)calloc(CELLS / 64 + 1, sizeof *w->unfenced);
    return w->cells && w->read_clocks && w->unfenced;
}

void emu_check_block(emu_worker *w) {
    w->block_clock = ++w->clock;
    w->clock++; /* what lands is later than mbarriers that a fence has released: see emu_check_cluster */
    memset(w->unfenced, 0, (CELLS / 64 + 1) * sizeof *w->unfenced);
    memset(w->released, 0, sizeof w->released);
    for (unsigned k = 0; k < EMU_CLOCKS; k++) w->fenced[k] = w->block_clock - 1;
    for (unsigned i = 0; i < w->warp_count; i++) {
        w->warps[i].clock = w->warps[i].met = w->block_clock;
        for (unsigned k = 0; k < EMU_CLOCKS; k++) w->warps[i].seen[k] = w->block_clock - 1;
    }
}

/* Every participant is now ordered after everything that the others did and were ordered after. */
void emu_check_barrier(emu_worker *w, const unsigned char *warps) {
    uint32_t joined[EMU_CLOCKS] = {0};
    for (unsigned i = 0; i < w->warp_count; i++)
        for (unsigned k = 0; warps[i] && k < EMU_CLOCKS; k++) {
            uint32_t time = k == i ? w->clock : w->warps[i].seen[k];
            if (time > joined[k]) joined[k] = time;
        }
    w->clock++;
    for (unsigned i = 0; i < w->warp_count; i++) {
        if (!warps[i]) continue;
        memcpy(w->warps[i].seen, joined, sizeof joined);
        w->warps[i].clock = w->warps[i].met = w->clock;
    }
}

void emu_check_warp(emu_worker *w, unsigned warp) { w->warps[warp].clock = w->warps[warp].met = ++w->clock; }

static void join(uint32_t *to, const uint32_t *from) {
    for (unsigned k = 0; k < EMU_CLOCKS; k++)
        if (from[k] > to[k]) to[k] = from[k];
}

/* Advances the warp's time, so that later accesses are distinguished from earlier ones. */
void emu_check_release(emu_worker *w, const emu_thread *t, uint32_t *clocks) {
    emu_warp *warp = &w->warps[t->warp];
    join(clocks, warp->seen);
    clocks[t->warp] = warp->clock;
    warp->clock = ++w->clock;
}

void emu_check_acquire(emu_worker *w, const emu_thread *t, const uint32_t *clocks, int of_cluster) {
    emu_warp *warp = &w->warps[t->warp];
    uint32_t remote = warp->seen[EMU_REMOTE];
    join(warp->seen, clocks);
    if (!of_cluster) warp->seen[EMU_REMOTE] = remote;
    if (clocks[t->warp] >= warp->met) warp->met = clocks[t->warp] + 1; /* lanes of this warp that arrived there */
}

void emu_check_landing(emu_worker *w, uint32_t *clocks, unsigned what) { clocks[what] = w->clock; }

static int warp_ordered(const emu_worker *w, const emu_thread *t, unsigned warp, uint32_t clock) {
    return warp == t->warp ? clock < w->warps[warp].met : clock <= w->warps[t->warp].seen[warp];
}

static int write_ordered(const emu_worker *w, const emu_thread *t, const emu_written *s) {
    return s->thread == t->index || warp_ordered(w, t, s->thread / 32u, s->clock);
}

int emu_check_before(const emu_worker *w, const emu_thread *t, unsigned by, uint32_t clock) {
    return by == t->index || warp_ordered(w, t, by / 32, clock);
}

static int reads_ordered(const emu_worker *w, const emu_thread *t, unsigned cell) {
    const emu_readers *r = &w->cells[cell].readers;
    if (r->clock < w->block_clock || r->thread == t->index) return 1;
    for (uint32_t left = r->warps; left; left &= left - 1) {
        unsigned warp = (unsigned)__builtin_ctz(left);
        if (!warp_ordered(w, t, warp, w->read_clocks[cell][warp])) return 0;
    }
    return 1;
}

/* ---- shared memory ---- */

static const char *const emu_how[] = {"read", "write", "cp.async", "cp.async", "atomic access",
                                      "mbarrier.init", "mbarrier.inval", "mbarrier operation", "cp.async.bulk",
                                      "cp.async.bulk", "asynchronous read", "asynchronous read", "st.async",
                                      "st.async"};

/* number: the allocation's number; 0 for shared memory */
static EMU_NORETURN void race(const emu_worker *w, unsigned long number, size_t offset, int how, const char *then,
                           unsigned thread, int line, void *pc) {
    char by[64] = "several threads", place[64] = "shared memory";
    if (thread == ASYNC_THREAD) {
        snprintf(by, sizeof by, "an asynchronous copy");
    } else if (thread == REMOTE_THREAD) {
        snprintf(by, sizeof by, "another block of the cluster");
    } else if (thread != MANY) {
        const struct reid_emulator_uint3 *p = &w->threads[thread].position;
        snprintf(by, sizeof by, "thread (%u,%u,%u)", p->x, p->y, p->z);
    }
    if (number) snprintf(place, sizeof place, "allocation #%lu", number);
    emu_fault(CUDA_ERROR_LAUNCH_FAILED, line, pc, "race on %s offset %zu: this %s and an earlier %s by %s have no "
              "barrier between them", place, offset, emu_how[how], then, by);
}

static void remember_reader(emu_worker *w, const emu_thread *t, unsigned cell, uint8_t bytes) {
    emu_readers *r = &w->cells[cell].readers;
    emu_readers mine = {w->warps[t->warp].clock, 1u << t->warp, (uint16_t)t->index, bytes};
    if (r->thread == t->index && r->clock >= w->block_clock) mine.bytes |= r->bytes;
    else if (!reads_ordered(w, t, cell)) {
        mine.thread = MANY, mine.warps |= r->warps, mine.bytes |= r->bytes;
        if (r->clock > mine.clock) mine.clock = r->clock;
    }
    w->read_clocks[cell][t->warp] = w->warps[t->warp].clock;
    *r = mine;
}

/* Whether this kind of access is allowed for the data there, by any thread. */
static void check_state(const emu_cell *c, int fresh, unsigned cell, int how, int line, void *pc) {
    const emu_written *s = &c->written;
    int reads = how == EMU_READ || how == EMU_ATOMIC || how == EMU_MBARRIER_USE || how == EMU_ASYNC_READ;
    if (fresh && reads)
        emu_fault(CUDA_ERROR_LAUNCH_FAILED, line, pc, "%s of shared memory offset %u, which this block has not written",
                  emu_how[how], cell * 2);
    if (fresh) return;
    if (s->flags & PENDING)
        emu_fault(CUDA_ERROR_LAUNCH_FAILED, line, pc, "%s of shared memory offset %u before the wait for the %s that "
                  "thread %u issued to it", emu_how[how], cell * 2,
                  s->flags & STORE ? "st.async" : s->flags & BULK ? "cp.async.bulk" : "cp.async", s->thread);
    if (s->flags & MBARRIER && how != EMU_MBARRIER_USE && how != EMU_MBARRIER_INVAL)
        emu_fault(CUDA_ERROR_LAUNCH_FAILED, line, pc, "%s of shared memory offset %u, where an mbarrier is",
                  emu_how[how], cell * 2);
    if (s->flags & UNFENCED && (how == EMU_ASYNC_READ || how == EMU_BULK_ISSUED))
        emu_fault(CUDA_ERROR_LAUNCH_FAILED, line, pc, "%s of shared memory offset %u, which thread %u wrote: there is "
                  "no fence.proxy.async between them", emu_how[how], cell * 2, s->thread);
}

static void set_written(emu_worker *w, unsigned cell, emu_written written) {
    w->cells[cell].written = written;
    if (written.flags & UNFENCED) w->unfenced[cell / 64] |= 1ull << cell % 64;
}

/* A copy lands, or an asynchronous read ends; it was checked when it began. */
static void finish(emu_worker *w, const emu_thread *t, unsigned cell, uint8_t bytes, int how) {
    emu_cell *c = &w->cells[cell];
    if (how == EMU_ASYNC_DONE) {
        if (c->reading) c->reading--;
        remember_reader(w, t, cell, bytes);
        return;
    }
    emu_written landed = {w->clock, ASYNC_THREAD, bytes, 0};
    if (how == EMU_STORE_LANDED) landed.thread = REMOTE_THREAD, landed.flags = UNFENCED;
    if (how == EMU_COPY_LANDED)
        landed.clock = w->warps[t->warp].clock, landed.thread = (uint16_t)t->index, landed.flags = UNFENCED;
    set_written(w, cell, landed);
}

static uint8_t flags_of(int how) {
    return how == EMU_COPY_ISSUED     ? PENDING
           : how == EMU_BULK_ISSUED   ? PENDING | BULK
           : how == EMU_STORE_ISSUED  ? PENDING | STORE
           : how == EMU_MBARRIER_INIT ? MBARRIER
                                      : UNFENCED;
}

static void check_cell(emu_worker *w, const emu_thread *t, unsigned cell, uint8_t bytes, int how, int line, void *pc) {
    emu_cell *c = &w->cells[cell];
    emu_written *s = &c->written;
    emu_readers *r = &c->readers;
    int fresh = s->clock < w->block_clock;
    if (c->block != w->block_clock) c->block = w->block_clock, c->reading = 0;
    if (how == EMU_COPY_LANDED || how == EMU_BULK_LANDED || how == EMU_STORE_LANDED || how == EMU_ASYNC_DONE) {
        finish(w, t, cell, bytes, how);
        return;
    }
    check_state(c, fresh, cell, how, line, pc);
    if (!fresh && s->bytes & bytes && !write_ordered(w, t, s))
        race(w, 0, cell * 2, how, "write", s->thread, line, pc);
    if (how == EMU_ASYNC_READ) c->reading++;
    if (how == EMU_READ) remember_reader(w, t, cell, bytes);
    if (how == EMU_MBARRIER_INVAL) s->clock = 0;
    if (how != EMU_WRITE && how != EMU_COPY_ISSUED && how != EMU_BULK_ISSUED && how != EMU_STORE_ISSUED &&
        how != EMU_MBARRIER_INIT) return;
    if (c->reading)
        emu_fault(CUDA_ERROR_LAUNCH_FAILED, line, pc, "%s of shared memory offset %u while an asynchronous read of it, "
                  "by a bulk copy or wgmma, is under way", emu_how[how], cell * 2);
    if (r->bytes & bytes && !reads_ordered(w, t, cell) && (bytes == 3 || r->thread != MANY))
        race(w, 0, cell * 2, how, "read", r->thread, line, pc);
    emu_written mine = {w->warps[t->warp].clock, (uint16_t)t->index, bytes, flags_of(how)};
    if (!fresh && s->thread == t->index && s->clock == mine.clock) mine.bytes |= s->bytes;
    set_written(w, cell, mine);
}

/* Makes this thread's writes, and those ordered before it, visible to the asynchronous proxy. */
void emu_check_proxy_fence(emu_worker *w, const emu_thread *t, int shared_only) {
    if (!shared_only) emu_check_release(w, t, w->fenced);
    for (unsigned i = 0; i <= CELLS / 64; i++)
        for (uint64_t left = w->unfenced[i]; left; left &= left - 1) {
            emu_written *s = &w->cells[i * 64 + (unsigned)__builtin_ctzll(left)].written;
            if (s->flags & UNFENCED && !write_ordered(w, t, s)) continue;
            s->flags = (uint8_t)(s->flags & ~UNFENCED);
            w->unfenced[i] &= ~(left & -left);
        }
}

/* An access by another block of the cluster, ordered like an asynchronous copy, by a cluster barrier or an mbarrier. */
void emu_check_remote(emu_worker *w, unsigned offset, unsigned bytes, int how, int line) {
    for (unsigned cell = offset / 2; cell <= (offset + bytes - 1) / 2; cell++) {
        emu_cell *c = &w->cells[cell];
        check_state(c, c->written.clock < w->block_clock, cell, how, line, NULL);
        emu_written mine = {w->clock, how == EMU_BULK_ISSUED ? ASYNC_THREAD : REMOTE_THREAD, 3, flags_of(how)};
        if (how == EMU_WRITE || how == EMU_BULK_ISSUED || how == EMU_STORE_ISSUED) set_written(w, cell, mine);
    }
}

/* An mbarrier whose initialisation a fence has released is known to all threads after a barrier of the cluster, even a
   relaxed one: it then counts as written when the block began. */
static void publish_mbarriers(emu_worker *w) {
    for (unsigned i = 0; i < w->mbarrier_count; i++) {
        emu_cell *cells = w->cells + w->mbarriers[i].offset / 2; /* four of them */
        for (unsigned k = 0; k < 4 && w->mbarriers[i].fenced; k++)
            cells[k].written.clock = w->block_clock, cells[k].written.thread = ASYNC_THREAD;
    }
    for (unsigned i = 0; i < w->warp_count; i++)
        if (w->warps[i].seen[EMU_ASYNC] < w->block_clock) w->warps[i].seen[EMU_ASYNC] = w->block_clock;
}

/* relaxed: a thread has arrived with .relaxed, so other blocks' stores may not be visible. */
void emu_check_cluster(emu_worker *w, int relaxed) {
    publish_mbarriers(w);
    for (unsigned i = 0; i < w->thread_count; i++) emu_check_acquire(w, &w->threads[i], w->released, 0);
    w->clock++;
    for (unsigned i = 0; i < w->warp_count; i++) {
        w->warps[i].clock = w->clock;
        if (!relaxed) w->warps[i].seen[EMU_ASYNC] = w->warps[i].seen[EMU_REMOTE] = w->clock;
    }
}

void emu_check_shared(emu_worker *w, const emu_thread *t, unsigned offset, unsigned bytes, int how, int line,
                      void *pc) {
    for (unsigned end = offset + bytes; offset < end;) {
        unsigned in_cell = offset % 2 || offset + 1 == end ? 1 : 2;
        check_cell(w, t, offset / 2, (uint8_t)((in_cell == 2 ? 3u : 1u) << offset % 2), how, line, pc);
        offset += in_cell;
    }
}

/* ---- global memory ---- */

int emu_check_allocation(emu_allocation *a) {
    a->words = (emu_word *)calloc((a->bytes + 3) / 4, sizeof *a->words);
    a->filled = (unsigned char *)calloc((a->bytes + 31) / 32, 1);
    return a->words && a->filled;
}

void emu_check_global(emu_worker *w, const emu_thread *t, emu_allocation *a, uintptr_t address, unsigned bytes, int how,
                      int line, void *pc) {
    size_t first = address - a->base, end = first + bytes;
    for (size_t word = first / 4; word <= (end - 1) / 4; word++) {
        unsigned from = word * 4 < first ? (unsigned)(first - word * 4) : 0;
        unsigned to = word * 4 + 4 > end ? (unsigned)(end - word * 4) : 4;
        uint8_t mask = (uint8_t)((1u << to) - (1u << from));
        emu_word *all = &a->words[word];
        emu_written *s = &all->written;
        if (how != EMU_WRITE && how != EMU_BULK_LANDED && !(a->filled[word / 8] >> word % 8 & 1))
            emu_fault(CUDA_ERROR_LAUNCH_FAILED, line, pc, "%s of allocation #%lu offset %zu, which nothing has written",
                      emu_how[how], a->number, word * 4);
        if (all->launch >= emu_oldest_launch && s->bytes & mask && how != EMU_ATOMIC) {
            if (all->launch != w->run->number)
                emu_fault(CUDA_ERROR_LAUNCH_FAILED, line, pc, "race on allocation #%lu offset %zu: this %s and a write "
                          "by another launch, which is not over: one of them comes before its griddepcontrol.wait",
                          a->number, word * 4, emu_how[how]);
            if (all->block != w->block_number && !w->used_atomics)
                emu_fault(CUDA_ERROR_LAUNCH_FAILED, line, pc, "race on allocation #%lu offset %zu: this %s and a write "
                          "by another block of the same launch", a->number, word * 4, emu_how[how]);
            if (all->block == w->block_number && !write_ordered(w, t, s))
                race(w, a->number, word * 4, how, "write", s->thread, line, pc);
            if (how == EMU_ASYNC_READ && s->flags & UNFENCED && all->block == w->block_number &&
                s->clock > w->fenced[s->thread / 32])
                emu_fault(CUDA_ERROR_LAUNCH_FAILED, line, pc, "asynchronous read of allocation #%lu offset %zu, which "
                          "thread %u wrote: there is no fence.proxy.async of global memory between them", a->number,
                          word * 4, s->thread);
        }
        if (how != EMU_WRITE && how != EMU_BULK_LANDED) continue;
        int again = all->block == w->block_number && s->thread == t->index && s->clock == w->warps[t->warp].clock;
        emu_written mine = {w->warps[t->warp].clock, (uint16_t)t->index, mask, how == EMU_WRITE ? UNFENCED : 0};
        if (again) mine.bytes |= s->bytes;
        *s = mine, all->block = w->block_number, all->launch = w->run->number;
        a->filled[word / 8] = (unsigned char)(a->filled[word / 8] | 1u << word % 8);
    }
}

/* ---- kinds of memory ---- */

static EMU_NORETURN void outside(uintptr_t address, unsigned bytes, int how, int line, void *pc) {
    char place[200];
    emu_describe(address, place, sizeof place);
    emu_fault(CUDA_ERROR_ILLEGAL_ADDRESS, line, pc, "%s of %u bytes at 0x%zx, %s", emu_how[how], bytes, (size_t)address,
              place);
}

static void check_access(uintptr_t address, unsigned bytes, int how, int line, void *pc) {
    emu_worker *w = emu_worker_now();
    emu_thread *t = w->current;
    size_t shared = address - (uintptr_t)w->instance->shared;
    if (w->instance->shared && shared < REID_EMULATOR_SHARED_BYTES) {
        if (shared + bytes > w->shared_bytes)
            emu_fault(CUDA_ERROR_ILLEGAL_ADDRESS, line, pc, "%s of %u bytes at shared memory offset %zu, past the end "
                      "of the launch's %u bytes", emu_how[how], bytes, shared, w->shared_bytes);
        if (w->cells) emu_check_shared(w, t, (unsigned)shared, bytes, how, line, pc);
        return;
    }
    size_t on_stacks = address - (uintptr_t)w->stacks;
    if (on_stacks < (size_t)EMU_MAX_THREADS * EMU_STACK_BYTES) {
        if (emu_wgmma_owns(w, t, address, bytes))
            emu_fault(CUDA_ERROR_LAUNCH_FAILED, line, pc, "%s of an accumulator of wgmma before its wgmma.wait_group",
                      emu_how[how]);
        if (on_stacks / EMU_STACK_BYTES == t->index) return;
        emu_fault(CUDA_ERROR_ILLEGAL_ADDRESS, line, pc, "access to another thread's local variable");
    }
    emu_allocation *a = emu_worker_find(w, address);
    if (a) {
        if (address - a->base + bytes > a->bytes) outside(a->base + a->bytes, bytes, how, line, pc);
        if (a->words) emu_check_global(w, t, a, address, bytes, how, line, pc);
        return;
    }
    /* The kernel's own constants, threadIdx and similar variables. */
    if (address - w->module_base < w->module_bytes && how == EMU_READ) return;
    outside(address, bytes, how, line, pc);
}

void emu_access(const void *address, unsigned bytes, int is_write, void *pc) {
    check_access((uintptr_t)address, bytes, is_write ? EMU_WRITE : EMU_READ, 0, pc);
}

void emu_undefined(enum reid_emulator_ub kind, const char *file, unsigned line, const void *address) {
    char place[200];
    (void)file;
    switch (kind) {
    case REID_EMULATOR_MISALIGNED:
        emu_describe((uintptr_t)address, place, sizeof place);
        emu_fault(CUDA_ERROR_MISALIGNED_ADDRESS, (int)line, NULL, "misaligned access to 0x%zx, %s",
                  (size_t)(uintptr_t)address, place);
    case REID_EMULATOR_INDEX:
        emu_fault(CUDA_ERROR_ILLEGAL_ADDRESS, (int)line, NULL, "index %zd is outside of its array",
                  (ssize_t)(uintptr_t)address);
    case REID_EMULATOR_SHIFT:
        emu_fault(CUDA_ERROR_LAUNCH_FAILED, (int)line, NULL, "shift by %zd bits", (ssize_t)(uintptr_t)address);
    case REID_EMULATOR_ARITHMETIC: break;
    }
    emu_fault(CUDA_ERROR_LAUNCH_FAILED, (int)line, NULL, "signed overflow or division by zero");
}

/* ---- atomics: carried out here, so that they are atomic between workers and never a race ---- */

unsigned long long emu_atomic(enum reid_emulator_atomic op, void *address, unsigned bytes, unsigned long long value,
                              unsigned long long compare, int line) {
    emu_worker *w = emu_worker_now();
    unsigned long long old, next;
    w->used_atomics = 1;
    if ((uintptr_t)address % bytes)
        emu_fault(CUDA_ERROR_MISALIGNED_ADDRESS, line, NULL, "atomic access to 0x%zx", (size_t)(uintptr_t)address);
    check_access((uintptr_t)address, bytes, EMU_ATOMIC, line, NULL);
    if (bytes == 4) value = (unsigned)value, compare = (unsigned)compare;
    do {
        old = bytes == 4 ? __atomic_load_n((unsigned *)address, __ATOMIC_SEQ_CST)
                         : __atomic_load_n((unsigned long long *)address, __ATOMIC_SEQ_CST);
        next = op == REID_EMULATOR_ADD        ? old + value
               : op == REID_EMULATOR_EXCHANGE ? value
               : op == REID_EMULATOR_SWAP_IF  ? (old == compare ? value : old)
               : op == REID_EMULATOR_MAX      ? (old > value ? old : value)
                                              : (old < value ? old : value);
    } while (bytes == 4 ? !__sync_bool_compare_and_swap((unsigned *)address, (unsigned)old, (unsigned)next)
                        : !__sync_bool_compare_and_swap((unsigned long long *)address, old, next));
    return old;
}
