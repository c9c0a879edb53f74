#include "base/memory.h"

#include "base/say.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

static __thread size_t wanted; /* bytes of the last request, for say_no_memory */

void *mem_alloc(size_t size) {
    wanted = size;
    return malloc(size ? size : 1);
}

/* Bytes of an array; SIZE_MAX, which cannot be allocated, if they overflow. */
static size_t bytes_of(size_t count, size_t size) { return size && count > SIZE_MAX / size ? SIZE_MAX : count * size; }

void *mem_array(size_t count, size_t size) {
    wanted = bytes_of(count, size);
    return wanted > PTRDIFF_MAX ? NULL : mem_alloc(wanted);
}

void *mem_zeroed(size_t count, size_t size) {
    wanted = bytes_of(count, size);
    return wanted > PTRDIFF_MAX ? NULL : calloc(wanted ? wanted : 1, 1);
}

char *mem_copy(const char *s, size_t len) {
    char *copy = mem_alloc(len + 1);
    if (!copy) return NULL;
    memcpy(copy, s, len);
    copy[len] = 0;
    return copy;
}

/* `array` is the address of a pointer of any type, so its bytes are copied, not read as a void *. */
int mem_grow(void *array, size_t size, size_t *cap) {
    void *old;
    size_t more = *cap ? *cap * 2 : 16;
    memcpy(&old, array, sizeof old);
    wanted = bytes_of(more, size);
    if (more < *cap || wanted > PTRDIFF_MAX) return 0;
    void *block = realloc(old, wanted);
    if (!block) return 0;
    memcpy(array, &block, sizeof block);
    *cap = more;
    return 1;
}

int say_no_memory(void) {
    say_error("out of memory (%zu bytes)", wanted);
    return 0;
}

static void *or_say(void *block) {
    if (!block) say_no_memory();
    return block;
}

int need_text(const text *t) {
    if (text_failed(t)) say_error("out of memory");
    return !text_failed(t);
}

void *need_alloc(size_t size) { return or_say(mem_alloc(size)); }
void *need_array(size_t count, size_t size) { return or_say(mem_array(count, size)); }
void *need_zeroed(size_t count, size_t size) { return or_say(mem_zeroed(count, size)); }
char *need_copy(const char *s, size_t len) { return or_say(mem_copy(s, len)); }

void mem_trim(void) {
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}
