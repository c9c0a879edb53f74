/* Memory that may not be there: every function tells it, and nothing ends the program. */
#ifndef REID_TOOLS_MEMORY_H
#define REID_TOOLS_MEMORY_H

#include "base/text.h"

#include <stddef.h>

/* Silent: NULL when memory runs out, for functions that hand a reason on. Size 0 gives a block, too. */
void *mem_alloc(size_t size);
/* `count` elements of `size` bytes; a product that does not fit counts as no memory. */
void *mem_array(size_t count, size_t size);
void *mem_zeroed(size_t count, size_t size);
/* A 0-terminated copy of len bytes. */
char *mem_copy(const char *s, size_t len);

/* Makes room for one more element of an array that grows by doubling. 0 when memory runs out; the array is then as
   it was. */
#define GROW(array, count, cap) ((count) < (cap) || mem_grow(&(array), sizeof *(array), &(cap)))
int mem_grow(void *array, size_t size, size_t *cap);

/* Bytes of this process that are in the machine's memory; 0: not known. */
size_t mem_resident(void);

/* Says what the last of these calls on this thread could not get. Always returns 0. */
int say_no_memory(void);

/* The same, and NULL or 0 comes after saying so. */
int need_text(const text *t); /* 1 unless text_failed */
void *need_alloc(size_t size);
void *need_array(size_t count, size_t size);
void *need_zeroed(size_t count, size_t size);
char *need_copy(const char *s, size_t len);
#define NEED(array, count, cap) (GROW(array, count, cap) || say_no_memory())

#endif
