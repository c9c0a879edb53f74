/* check.c: every load and store of a kernel, in check mode (g++ -fsanitize=thread calls emu_access). Is it inside
   memory that the kernel may touch? Was it ever written? Does another thread touch it unordered?

   Order is kept per warp, as vector clocks. A warp's clock moves at every barrier and __syncwarp; `seen` says up to
   which time of every other warp its own past reaches. An earlier access is ordered before this one
     by the same thread:   always
     by the same warp:     if the warp's clock has moved since
     by another warp:      if this warp has seen that time of it
     by another block:     never within a launch, unless this block uses atomics or __threadfence
   Shared memory has, for every two bytes, the last write and the readers since; global memory has, for every word, the
   last write. So some races are missed (a read of global memory before another block's write, two threads in one word),
   but what is reported is one. */
#include <stdio.h>

#include "emulator.h"

enum { MANY = 0xffff, PENDING = 1 }; /* readers: several threads; a write: a cp.async that has not landed */

struct emu_written {
    uint32_t clock;
    uint16_t thread;
    uint8_t bytes, flags; /* bytes: a bit each */
};

typedef struct emu_readers {
    uint32_t clock, warps; /* the latest; a bit per warp */
    uint16_t thread;       /* or MANY */
    uint8_t bytes;
} emu_readers;

struct emu_cell { /* two bytes of shared memory */
    emu_written written;
    emu_readers readers;
};

/* ---- time ---- */

int emu_check_begin(emu_worker *w) {
    if (!w->cells) w->cells = (emu_cell *)calloc(REID_EMULATOR_SHARED_BYTES / 2, sizeof *w->cells);
    w->launch_clock = ++w->clock;
    return w->cells != NULL;
}

void emu_check_block(emu_worker *w) {
    w->block_clock = ++w->clock;
    for (unsigned i = 0; i < w->warp_count; i++) {
        w->warps[i].clock = w->block_clock;
        for (unsigned k = 0; k < w->warp_count; k++) w->warps[i].seen[k] = w->block_clock - 1;
    }
}

/* Whoever takes part has seen all that the others have done and seen. */
void emu_check_barrier(emu_worker *w, const unsigned char *warps) {
    uint32_t joined[EMU_WARPS] = {0};
    for (unsigned i = 0; i < w->warp_count; i++)
        for (unsigned k = 0; warps[i] && k < w->warp_count; k++) {
            uint32_t time = k == i ? w->clock : w->warps[i].seen[k];
            if (time > joined[k]) joined[k] = time;
        }
    w->clock++;
    for (unsigned i = 0; i < w->warp_count; i++) {
        if (!warps[i]) continue;
        memcpy(w->warps[i].seen, joined, sizeof joined);
        w->warps[i].clock = w->clock;
    }
}

void emu_check_warp(emu_worker *w, unsigned warp) { w->warps[warp].clock = ++w->clock; }

static int warp_ordered(const emu_worker *w, const emu_thread *t, unsigned warp, uint32_t clock) {
    return warp == t->warp ? clock < w->warps[warp].clock : clock <= w->warps[t->warp].seen[warp];
}

static int write_ordered(const emu_worker *w, const emu_thread *t, const emu_written *s) {
    return s->thread == t->index || warp_ordered(w, t, s->thread / 32u, s->clock);
}

static int reads_ordered(const emu_worker *w, const emu_thread *t, const emu_readers *r) {
    if (r->clock < w->block_clock || r->thread == t->index) return 1;
    for (unsigned warp = 0; warp < w->warp_count; warp++)
        if (r->warps >> warp & 1u && !warp_ordered(w, t, warp, r->clock)) return 0;
    return 1;
}

/* ---- shared memory ---- */

static const char *const emu_how[] = {"read", "write", "cp.async", "cp.async", "atomic access"};

/* number: of the allocation, 0 for shared memory */
static EMU_NORETURN void race(const emu_worker *w, unsigned long number, size_t offset, int how, const char *then,
                           unsigned thread, int line, void *pc) {
    char by[64] = "several threads", place[64] = "shared memory";
    if (thread != MANY) {
        const struct reid_emulator_uint3 *p = &w->threads[thread].position;
        snprintf(by, sizeof by, "thread (%u,%u,%u)", p->x, p->y, p->z);
    }
    if (number) snprintf(place, sizeof place, "allocation #%lu", number);
    emu_fault(CUDA_ERROR_LAUNCH_FAILED, line, pc, "race on %s offset %zu: this %s and an earlier %s by %s have no "
              "barrier between them", place, offset, emu_how[how], then, by);
}

static void remember_reader(emu_worker *w, const emu_thread *t, emu_readers *r, uint8_t bytes) {
    emu_readers mine = {w->warps[t->warp].clock, 1u << t->warp, (uint16_t)t->index, bytes};
    if (r->thread == t->index && r->clock >= w->block_clock) mine.bytes |= r->bytes;
    else if (!reads_ordered(w, t, r)) {
        mine.thread = MANY, mine.warps |= r->warps, mine.bytes |= r->bytes;
        if (r->clock > mine.clock) mine.clock = r->clock;
    }
    *r = mine;
}

static void check_cell(emu_worker *w, const emu_thread *t, unsigned cell, uint8_t bytes, int how, int line, void *pc) {
    emu_written *s = &w->cells[cell].written;
    emu_readers *r = &w->cells[cell].readers;
    int fresh = s->clock < w->block_clock;
    if (fresh && (how == EMU_READ || how == EMU_ATOMIC))
        emu_fault(CUDA_ERROR_LAUNCH_FAILED, line, pc, "%s of shared memory offset %u, which this block has not written",
                  emu_how[how], cell * 2);
    if (!fresh && s->flags & PENDING && how != EMU_COPY_LANDED)
        emu_fault(CUDA_ERROR_LAUNCH_FAILED, line, pc, "%s of shared memory offset %u before the wait for the cp.async "
                  "that thread %u issued to it", emu_how[how], cell * 2, s->thread);
    if (!fresh && s->bytes & bytes && how != EMU_COPY_LANDED && !write_ordered(w, t, s))
        race(w, 0, cell * 2, how, "write", s->thread, line, pc);
    if (how == EMU_ATOMIC) return;
    if (how == EMU_READ) {
        remember_reader(w, t, r, bytes);
        return;
    }
    if (how != EMU_COPY_LANDED && r->bytes & bytes && !reads_ordered(w, t, r) && (bytes == 3 || r->thread != MANY))
        race(w, 0, cell * 2, how, "read", r->thread, line, pc);
    emu_written mine = {w->warps[t->warp].clock, (uint16_t)t->index, bytes, how == EMU_COPY_ISSUED ? PENDING : 0};
    if (!fresh && s->thread == t->index && s->clock == mine.clock) mine.bytes |= s->bytes;
    *s = mine;
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
    a->words = (emu_written *)calloc((a->bytes + 3) / 4, sizeof *a->words);
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
        emu_written *s = &a->words[word];
        if (how != EMU_WRITE && !(a->filled[word / 8] >> word % 8 & 1))
            emu_fault(CUDA_ERROR_LAUNCH_FAILED, line, pc, "%s of allocation #%lu offset %zu, which nothing has written",
                      emu_how[how], a->number, word * 4);
        if (s->clock >= w->launch_clock && s->bytes & mask && how != EMU_ATOMIC) {
            if (s->clock < w->block_clock && !w->used_atomics)
                emu_fault(CUDA_ERROR_LAUNCH_FAILED, line, pc, "race on allocation #%lu offset %zu: this %s and a write "
                          "by another block of the same launch", a->number, word * 4, emu_how[how]);
            if (s->clock >= w->block_clock && !write_ordered(w, t, s))
                race(w, a->number, word * 4, how, "write", s->thread, line, pc);
        }
        if (how != EMU_WRITE) continue;
        emu_written mine = {w->warps[t->warp].clock, (uint16_t)t->index, mask, 0};
        if (s->thread == t->index && s->clock == mine.clock) mine.bytes |= s->bytes;
        *s = mine;
        a->filled[word / 8] = (unsigned char)(a->filled[word / 8] | 1u << word % 8);
    }
}

/* ---- what memory is it? ---- */

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
        if (on_stacks / EMU_STACK_BYTES == t->index) return;
        emu_fault(CUDA_ERROR_ILLEGAL_ADDRESS, line, pc, "access to another thread's local variable");
    }
    emu_allocation *a = emu_worker_find(w, address);
    if (a) {
        if (address - a->base + bytes > a->bytes) outside(a->base + a->bytes, bytes, how, line, pc);
        if (a->words) emu_check_global(w, t, a, address, bytes, how, line, pc);
        return;
    }
    /* The kernel's own constants, threadIdx and its like. */
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
