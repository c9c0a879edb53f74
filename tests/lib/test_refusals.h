/* Refuses memory to any thread: malloc, calloc and realloc of a program that is linked with
   -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc. */
#ifndef TEST_REFUSALS_H
#define TEST_REFUSALS_H

#include <errno.h>
#include <stdlib.h>

static struct { /* all threads count */
    long calls, at; /* at: the call that is refused, from 1; 0: none */
    int rest;       /* and all that follow */
} refusal;

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__real_realloc(void *block, size_t size);
void *__wrap_realloc(void *block, size_t size);

static int is_refused(void) {
    long number = __atomic_add_fetch(&refusal.calls, 1, __ATOMIC_SEQ_CST);
    long at = __atomic_load_n(&refusal.at, __ATOMIC_SEQ_CST);
    int refused = at && (__atomic_load_n(&refusal.rest, __ATOMIC_SEQ_CST) ? number >= at : number == at);
    if (refused) errno = ENOMEM;
    return refused;
}

void *__wrap_malloc(size_t size) { return is_refused() ? NULL : __real_malloc(size); }
void *__wrap_calloc(size_t count, size_t size) { return is_refused() ? NULL : __real_calloc(count, size); }
void *__wrap_realloc(void *block, size_t size) { return is_refused() ? NULL : __real_realloc(block, size); }

static void refuse_from(long at, int rest) {
    __atomic_store_n(&refusal.calls, 0, __ATOMIC_SEQ_CST);
    __atomic_store_n(&refusal.rest, rest, __ATOMIC_SEQ_CST);
    __atomic_store_n(&refusal.at, at, __ATOMIC_SEQ_CST);
}

#endif
