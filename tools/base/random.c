#include "base/random.h"

uint64_t random_mix(uint64_t z) {
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

uint64_t random_next(uint64_t *state) { return random_mix(*state += UINT64_C(0x9e3779b97f4a7c15)); }

uint64_t random_of_pair(uint64_t a, uint64_t b) {
    uint64_t state = a * UINT64_C(0x100000001b3) + b;
    return random_next(&state);
}

double random_unit(uint64_t *state) { return (double)(random_next(state) >> 11) * 0x1p-53; }

size_t random_below(uint64_t *state, size_t below) { return (size_t)(random_unit(state) * (double)below); }

uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t len) {
    const unsigned char *at = bytes;
    for (size_t i = 0; i < len; i++) hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
    return hash;
}
