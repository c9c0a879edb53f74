/* bulk.c: cp.async.bulk (PTX manual, "Data Movement and Conversion Instructions: Bulk copy"). A copy to shared memory
   lands when no thread of the block can go on without it, in no particular order, and reads its source only then; until
   then the destination holds a NaN pattern. A copy to global memory reads its source at the wait that says it has been
   read, and is written at the wait for its group, or when the block has ended. */
#include "emulator.h"

static void add(emu_bulks *to, const emu_bulk *copy) {
    if (to->count == to->capacity) {
        unsigned capacity = to->capacity ? 2 * to->capacity : 16;
        emu_bulk *grown = (emu_bulk *)realloc(to->list, capacity * sizeof *grown);
        if (!grown) emu_fault(CUDA_ERROR_OUT_OF_MEMORY, 0, NULL, "no memory for %u bulk copies", capacity);
        to->list = grown, to->capacity = capacity;
    }
    to->list[to->count++] = *copy;
}

static void take(emu_bulks *from, unsigned i) {
    from->count--;
    memmove(from->list + i, from->list + i + 1, (from->count - i) * sizeof *from->list);
}

static emu_allocation *check(emu_worker *w, const emu_bulk *c) {
    uintptr_t address = (uintptr_t)c->global;
    char place[200];
    if (c->bytes == 0 || c->bytes % 16 || c->offset % 16 || address % 16)
        emu_fault(CUDA_ERROR_MISALIGNED_ADDRESS, c->line, NULL, "cp.async.bulk of %u bytes between shared offset %u "
                  "and 0x%zx: all have to be multiples of 16", c->bytes, c->offset, (size_t)address);
    if (c->offset > w->shared_bytes || c->bytes > w->shared_bytes - c->offset)
        emu_fault(CUDA_ERROR_ILLEGAL_ADDRESS, c->line, NULL, "cp.async.bulk of %u bytes at shared offset %u of %u "
                  "bytes", c->bytes, c->offset, w->shared_bytes);
    emu_allocation *a = emu_worker_find(w, address);
    if (a && c->bytes <= a->bytes - (address - a->base)) return a;
    emu_describe(a ? a->base + a->bytes : address, place, sizeof place);
    emu_fault(CUDA_ERROR_ILLEGAL_ADDRESS, c->line, NULL, "cp.async.bulk of %u bytes at 0x%zx, %s", c->bytes,
              (size_t)address, place);
}

/* ---- global to shared ---- */

void emu_bulk_load(unsigned to, const void *from, unsigned bytes, unsigned mbarrier, int line) {
    emu_worker *w = emu_worker_now();
    emu_thread *t = w->current;
    union {
        const void *in;
        void *out;
    } source = {from};
    emu_bulk copy = {.global = source.out, .offset = to - REID_EMULATOR_SHARED_BASE, .bytes = bytes,
                     .thread = t->index, .line = line};
    emu_allocation *a = check(w, &copy);
    copy.mbarrier = emu_mbarrier_for_copy(w, mbarrier, line);
    if (w->cells) {
        emu_check_global(w, t, a, (uintptr_t)from, bytes, EMU_READ, line, NULL);
        emu_check_shared(w, t, copy.offset, bytes, EMU_BULK_ISSUED, line, NULL);
    }
    for (unsigned i = 0; i < bytes; i += 2) memcpy(w->instance->shared + copy.offset + i, "\xad\x7f", 2);
    add(&w->loads, &copy);
}

const emu_bulk *emu_bulk_load_for(const emu_worker *w, unsigned mbarrier) {
    for (unsigned i = 0; i < w->loads.count; i++)
        if (w->loads.list[i].mbarrier == mbarrier) return &w->loads.list[i];
    return NULL;
}

void emu_bulk_land(emu_worker *w) {
    unsigned i = emu_get_settings()->seed ? (unsigned)(emu_random(&w->random) % w->loads.count) : 0;
    emu_bulk copy = w->loads.list[i];
    take(&w->loads, i);
    memcpy(w->instance->shared + copy.offset, copy.global, copy.bytes);
    if (w->cells)
        emu_check_shared(w, &w->threads[copy.thread], copy.offset, copy.bytes, EMU_BULK_LANDED, copy.line, NULL);
    emu_mbarrier_landed(w, &copy);
}

/* ---- shared to global ---- */

void emu_bulk_store(void *to, unsigned from, unsigned bytes, int line) {
    emu_worker *w = emu_worker_now();
    emu_thread *t = w->current;
    emu_bulk copy = {.global = to, .offset = from - REID_EMULATOR_SHARED_BASE, .bytes = bytes, .thread = t->index,
                     .group = t->bulk_groups, .line = line};
    check(w, &copy);
    if (w->cells) emu_check_shared(w, t, copy.offset, bytes, EMU_ASYNC_READ, line, NULL);
    add(&w->stores, &copy);
}

void emu_bulk_commit(void) { emu_worker_now()->current->bulk_groups++; }

static void read_source(emu_worker *w, emu_bulk *c, int line) {
    if (c->data) return;
    c->data = (unsigned char *)malloc(c->bytes);
    if (!c->data) emu_fault(CUDA_ERROR_OUT_OF_MEMORY, line, NULL, "no memory for a bulk copy of %u bytes", c->bytes);
    memcpy(c->data, w->instance->shared + c->offset, c->bytes);
    if (w->cells)
        emu_check_shared(w, &w->threads[c->thread], c->offset, c->bytes, EMU_ASYNC_DONE, line, NULL);
}

static void write_destination(emu_worker *w, emu_bulk *c) {
    emu_thread *t = &w->threads[c->thread];
    emu_allocation *a = emu_worker_find(w, (uintptr_t)c->global);
    if (w->cells && a) emu_check_global(w, t, a, (uintptr_t)c->global, c->bytes, EMU_WRITE, c->line, NULL);
    memcpy(c->global, c->data, c->bytes);
    free(c->data);
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
        else write_destination(w, c), take(&w->stores, i);
    }
}

/* ---- a block ---- */

void emu_bulk_begin(emu_worker *w) {
    for (unsigned i = 0; i < w->stores.count; i++) free(w->stores.list[i].data);
    w->loads.count = w->stores.count = w->mbarrier_count = w->idle_rounds = 0;
    w->landing = 0;
}

/* Shared memory is gone when the block has ended: whatever still uses it is a bug. */
void emu_bulk_end(emu_worker *w) {
    for (unsigned i = 0; i < w->loads.count && !w->fault; i++)
        emu_fail_block(w, w->loads.list[i].thread, w->loads.list[i].line, "the block ends while a bulk copy to shared "
                       "offset %u is under way", w->loads.list[i].offset);
    for (unsigned i = 0; i < w->stores.count && !w->fault; i++) {
        emu_bulk *c = &w->stores.list[i];
        if (!c->data)
            emu_fail_block(w, c->thread, c->line, "the block ends before the wait for a bulk copy from shared offset "
                           "%u: it may not have been read", c->offset);
        else {
            memcpy(c->global, c->data, c->bytes);
            emu_mark_filled((uintptr_t)c->global, c->bytes);
        }
    }
}

/* fence.proxy.async: what this thread wrote, or has been told of, may be used by asynchronous copies and wgmma. */
void emu_fence_proxy_async(void) {
    emu_worker *w = emu_worker_now();
    emu_mbarrier_fence();
    if (w->cells) emu_check_proxy_fence(w, w->current);
}
