/* Union-find: what is the same through others has one root. up[i] is something nearer to the root of i; a root's own is
   itself. */
#ifndef REID_TOOLS_UNION_FIND_H
#define REID_TOOLS_UNION_FIND_H

#include <stddef.h>

void union_find_init(size_t *up, size_t count); /* each one is alone */
size_t union_find_root(size_t *up, size_t i);    /* shortens the way there for the next call */
void union_find_merge(size_t *up, size_t a, size_t b); /* b's root becomes that of both */

#endif
