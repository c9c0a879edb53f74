#include "identity/chains.h"

void chains_begin(size_t *up, size_t count) {
    for (size_t i = 0; i < count; i++) up[i] = i;
}

size_t chains_root(size_t *up, size_t i) {
    while (up[i] != i) i = up[i] = up[up[i]];
    return i;
}

void chains_join(size_t *up, size_t a, size_t b) {
    size_t root = chains_root(up, b);
    up[chains_root(up, a)] = root;
}
