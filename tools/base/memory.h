/* Memory allocation: if memory runs out, functions return NULL or 0, and never end the program. */
#ifndef REID_TOOLS_MEMORY_H
#define REID_TOOLS_MEMORY_H

#include "base/text.h"

#include <stddef.h>

/* Returns NULL silently if memory runs out, for functions that pass a reason on. A size of 0 returns a block, too. */
void *mem_alloc(size_t size);
/* `count` elements of `size` bytes; a product that overflows counts as out of memory. */
void *mem_array(size_t count, size_t size);
void *mem_zeroed(size_t count, size_t size);
/* A 0-terminated copy of len bytes. */
char *mem_copy(const char *s, size_t len);

/* Makes room for one more element of an array that grows by doubling. Returns 0 if memory runs out; the array is
   then unchanged. */
#define GROW(array, count, cap) ((count) < (cap) || mem_grow(&(array), sizeof *(array), &(cap)))
int mem_grow(void *array, size_t size, size_t *cap);

/* Gives free memory between allocations back to the system, where the C library can: for a program that has freed much
   of what it held. */
void mem_trim(void);

/* Reports how much the last of these calls on this thread could not allocate. Always returns 0. */
int say_no_memory(void);

/* Like the mem_ functions, but they report that memory ran out before they return NULL or 0. */
int need_text(const text *t); /* 1 unless text_failed */
void *need_alloc(size_t size);
void *need_array(size_t count, size_t size);
void *need_zeroed(size_t count, size_t size);
char *need_copy(const char *s, size_t len);
#define NEED(array, count, cap) (GROW(array, count, cap) || say_no_memory())

#endif
