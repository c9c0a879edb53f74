#include "base/union_find.h"

void union_find_init(size_t *up, size_t count) {
    for (size_t i = 0; i < count; i++) up[i] = i;
}

size_t union_find_root(size_t *up, size_t i) {
    while (up[i] != i) i = up[i] = up[up[i]];
    return i;
}

void union_find_merge(size_t *up, size_t a, size_t b) {
    size_t root = union_find_root(up, b);
    up[union_find_root(up, a)] = root;
}

uint32_t union_find_root32(uint32_t *up, uint32_t i) {
    while (up[i] != i) i = up[i] = up[up[i]];
    return i;
}
