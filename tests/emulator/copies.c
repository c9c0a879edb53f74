/* copies.c: cp.async. A copy is carried out as late as the rules allow, at the wait that covers it, and reads its
   source only then. Until it lands, its destination holds a NaN pattern of its own (0x7fad as fp16, 0x7fad7fad as
   fp32). */
#include "emulator.h"

static void add(emu_thread *t, const emu_copy *copy) {
    if (t->copy_count == t->copy_capacity) {
        unsigned capacity = t->copy_capacity ? 2 * t->copy_capacity : 16;
        emu_copy *grown = (emu_copy *)realloc(t->copies, capacity * sizeof *grown);
        if (!grown) emu_fault(CUDA_ERROR_OUT_OF_MEMORY, 0, NULL, "no memory for %u pending copies", capacity);
        t->copies = grown, t->copy_capacity = capacity;
    }
    t->copies[t->copy_count++] = *copy;
}

void emu_copy_async(unsigned to, const void *from, unsigned bytes, unsigned source_bytes, int line) {
    emu_worker *w = emu_worker_now();
    emu_thread *t = w->current;
    emu_copy copy = {to - REID_EMULATOR_SHARED_BASE, bytes, source_bytes, t->groups, from, 0, {0}};
    uintptr_t source = (uintptr_t)from;
    if (copy.to % bytes || source % bytes)
        emu_fault(CUDA_ERROR_MISALIGNED_ADDRESS, line, NULL, "cp.async of %u bytes to shared offset %u from 0x%zx",
                  bytes, copy.to, (size_t)source);
    if (copy.to > w->shared_bytes || copy.to + bytes > w->shared_bytes)
        emu_fault(CUDA_ERROR_ILLEGAL_ADDRESS, line, NULL, "cp.async to shared offset %u of %u bytes", copy.to,
                  w->shared_bytes);
    if (source_bytes > bytes)
        emu_fault(CUDA_ERROR_LAUNCH_FAILED, line, NULL, "cp.async of %u bytes with %u source bytes", bytes,
                  source_bytes);
    if (source_bytes) {
        emu_allocation *a = emu_worker_find(w, source);
        if (!a || source - a->base + source_bytes > a->bytes) {
            char place[200];
            emu_describe(a ? a->base + a->bytes : source, place, sizeof place);
            emu_fault(CUDA_ERROR_ILLEGAL_ADDRESS, line, NULL, "cp.async reads 0x%zx, %s", (size_t)source, place);
        }
        if (w->cells) emu_check_global(w, t, a, source, source_bytes, EMU_READ, line, NULL);
    }
    if (w->cells) emu_check_shared(w, t, copy.to, bytes, EMU_COPY_ISSUED, line, NULL);
    for (unsigned i = 0; i < bytes; i += 2) memcpy(w->instance->shared + copy.to + i, "\xad\x7f", 2);
    add(t, &copy);
}

void emu_copy_commit(int line) {
    (void)line;
    emu_worker_now()->current->groups++;
}

/* Lands the copies of all groups before `group`. */
static void land(unsigned group, int line) {
    emu_worker *w = emu_worker_now();
    emu_thread *t = w->current;
    unsigned landed = 0;
    while (landed < t->copy_count && t->copies[landed].group < group) {
        const emu_copy *c = &t->copies[landed++];
        unsigned char *to = w->instance->shared + c->to;
        memcpy(to, c->taken ? c->data : c->from, c->source_bytes);
        memset(to + c->source_bytes, 0, c->bytes - c->source_bytes);
        if (w->cells) emu_check_shared(w, t, c->to, c->bytes, EMU_COPY_LANDED, line, NULL);
    }
    t->copy_count -= landed;
    if (landed) memmove(t->copies, t->copies + landed, t->copy_count * sizeof *t->copies);
}

void emu_copy_take(emu_thread *t) {
    for (unsigned i = 0; i < t->copy_count; i++) {
        emu_copy *c = &t->copies[i];
        if (!c->taken) memcpy(c->data, c->from, c->source_bytes);
        c->taken = 1;
    }
}

void emu_copy_wait(unsigned groups_left, int line) {
    unsigned groups = emu_worker_now()->current->groups;
    if (groups > groups_left) land(groups - groups_left, line);
}

void emu_copy_wait_all(int line) { land(emu_worker_now()->current->groups + 1, line); }
