/* Union-find: elements that are merged, directly or through others, have one root. up[i] is the parent of i; a root is
   its own parent. */
#ifndef REID_TOOLS_UNION_FIND_H
#define REID_TOOLS_UNION_FIND_H

#include <stddef.h>
#include <stdint.h>

void union_find_init(size_t *up, size_t count); /* each element is its own root */
size_t union_find_root(size_t *up, size_t i);    /* shortens the path for the next call */
void union_find_merge(size_t *up, size_t a, size_t b); /* b's root becomes the root of both */

/* union_find_root for up to 2^32 elements in half the memory; the caller joins two roots itself. */
uint32_t union_find_root32(uint32_t *up, uint32_t i);

#endif
