/* threads.c: fibers. Every CUDA thread of the running block has a stack of its own; switching saves only the six
   registers that a C function must preserve. AddressSanitizer is notified of every switch. */
#include <sys/mman.h>
#include <unistd.h>

#include "emulator.h"

enum { STACK_BYTES = EMU_STACK_BYTES, GUARD_BYTES = 4096 };

/* emu_switch(save, to): pushes the callee-saved registers, stores the stack pointer in *save and continues at `to`. */
void emu_switch(void **save, void *to);
__asm__(".text\n"
        ".hidden emu_switch\n"
        ".globl emu_switch\n"
        ".type emu_switch,@function\n"
        "emu_switch:\n"
        "    .cfi_startproc\n"
        "    pushq %rbp\n"
        "    pushq %rbx\n"
        "    pushq %r12\n"
        "    pushq %r13\n"
        "    pushq %r14\n"
        "    pushq %r15\n"
        "    movq %rsp, (%rdi)\n"
        "    movq %rsi, %rsp\n"
        "    popq %r15\n"
        "    popq %r14\n"
        "    popq %r13\n"
        "    popq %r12\n"
        "    popq %rbx\n"
        "    popq %rbp\n"
        "    ret\n"
        "    .cfi_endproc\n"
        ".size emu_switch,.-emu_switch\n");

/* The first frame of a fiber: its worker was left in rbx. Debuggers end a backtrace here. */
void emu_fiber_entry(void);
void emu_fiber_main(emu_worker *worker);
__asm__(".text\n"
        ".hidden emu_fiber_entry\n"
        ".globl emu_fiber_entry\n"
        ".type emu_fiber_entry,@function\n"
        "emu_fiber_entry:\n"
        "    .cfi_startproc\n"
        "    .cfi_undefined rip\n"
        "    movq %rbx, %rdi\n"
        "    xorl %ebp, %ebp\n"
        "    call emu_fiber_main\n"
        "    ud2\n"
        "    .cfi_endproc\n"
        ".size emu_fiber_entry,.-emu_fiber_entry\n");

static unsigned char *stack_of(const emu_worker *worker, unsigned index) {
    return worker->stacks + (size_t)index * STACK_BYTES;
}

int emu_stacks_create(emu_worker *worker) {
    size_t bytes = (size_t)EMU_MAX_THREADS * STACK_BYTES;
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) return 0;
    worker->stacks = (unsigned char *)p;
    for (unsigned i = 0; i < EMU_MAX_THREADS; i++)
        if (mprotect(stack_of(worker, i), GUARD_BYTES, PROT_NONE)) return 0;
    return 1;
}

void emu_stacks_destroy(emu_worker *worker) {
    if (worker->stacks) munmap(worker->stacks, (size_t)EMU_MAX_THREADS * STACK_BYTES);
    worker->stacks = NULL;
}

/* A fresh fiber's stack is what emu_switch leaves behind: six registers (rbx holds the worker) and where to go on. */
void emu_thread_start(emu_worker *worker, unsigned index) {
    emu_thread *t = &worker->threads[index];
    unsigned char *stack = stack_of(worker, index);
#if EMU_ASAN
    int unfinished = t->stack_pointer && t->state != EMU_EXITED; /* the last thread here: its frames are still marked */
    if (unfinished) __asan_unpoison_memory_region(stack + GUARD_BYTES, STACK_BYTES - GUARD_BYTES);
#endif
    /* Staggered tops: equal ones would put every thread's variables into the same few cache sets. */
    void **top = (void **)(void *)(stack + STACK_BYTES - 64 - (index * 320u & 8191u));
    *--top = NULL; /* keeps the stack 16-byte aligned in emu_fiber_entry */
    *--top = NULL;
    union {
        void (*function)(void);
        void *pointer;
    } entry = {emu_fiber_entry};
    *--top = entry.pointer;
    *--top = NULL; /* rbp */
    *--top = worker; /* rbx */
    for (int i = 0; i < 4; i++) *--top = NULL;
    t->stack_pointer = top;
    t->fake_stack = NULL;
    t->state = EMU_READY;
}

void emu_thread_resume(emu_worker *worker, emu_thread *thread) {
    worker->current = thread;
    *worker->instance->thread_index = thread->position;
#if EMU_ASAN
    __sanitizer_start_switch_fiber(&worker->scheduler_fake_stack, stack_of(worker, thread->index), STACK_BYTES);
#endif
    emu_switch(&worker->scheduler_stack, thread->stack_pointer);
#if EMU_ASAN
    __sanitizer_finish_switch_fiber(worker->scheduler_fake_stack, NULL, NULL);
#endif
    worker->current = NULL;
}

/* The lane of this thread's warp that continues next, in the block's order of lanes; NULL: all wait for other warps. */
static emu_thread *next_ready(emu_worker *worker, const emu_thread *t) {
    for (unsigned i = worker->lane_place[t->lane] + 1u, end = i + 32; i < end; i++) {
        unsigned index = t->warp * 32 + worker->lane_order[i % 32];
        if (index < worker->thread_count && worker->threads[index].state == EMU_READY) return &worker->threads[index];
    }
    return NULL;
}

/* Switches straight from lane to lane: going through the scheduler would take two switches, whose returns no processor
   predicts. */
void emu_thread_yield(emu_worker *worker) {
    emu_thread *t = worker->current, *next = next_ready(worker, t);
    if (next == t) return;
    if (next) worker->current = next, *worker->instance->thread_index = next->position;
#if EMU_ASAN
    if (next) __sanitizer_start_switch_fiber(&t->fake_stack, stack_of(worker, next->index), STACK_BYTES);
    else __sanitizer_start_switch_fiber(&t->fake_stack, worker->scheduler_bottom, worker->scheduler_bytes);
#endif
    emu_switch(&t->stack_pointer, next ? next->stack_pointer : worker->scheduler_stack);
#if EMU_ASAN
    __sanitizer_finish_switch_fiber(t->fake_stack, NULL, NULL);
#endif
}

/* Leaves a thread for good, finished or not; its stack is reused. */
EMU_NORETURN void emu_thread_abandon(emu_worker *worker) {
    void *never;
#if EMU_ASAN
    __sanitizer_start_switch_fiber(NULL, worker->scheduler_bottom, worker->scheduler_bytes);
#endif
    emu_switch(&never, worker->scheduler_stack);
    abort();
}

void emu_fiber_main(emu_worker *worker) {
#if EMU_ASAN
    const void *bottom; /* of the stack that this comes from; a launch's first fiber comes from the scheduler's */
    size_t bytes;
    __sanitizer_finish_switch_fiber(NULL, &bottom, &bytes);
    if (!worker->scheduler_bottom) worker->scheduler_bottom = bottom, worker->scheduler_bytes = bytes;
#endif
    worker->entry(worker);
    emu_thread_abandon(worker);
}
