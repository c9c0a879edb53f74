/* Numbers that look random and are the same everywhere, and hashes of bytes: neither keeps a secret. */
#ifndef REID_TOOLS_RANDOM_H
#define REID_TOOLS_RANDOM_H

#include <stddef.h>
#include <stdint.h>

/* splitmix64 (Steele, Lea, Flood 2014): steps the state and returns 64 bits that depend on it alone. */
uint64_t random_next(uint64_t *state);
/* A multiple of 2^-53, 0 ≤ it < 1. */
double random_unit(uint64_t *state);
/* The number of a pair, a and b in this order, as random_next returns it. */
uint64_t random_of_pair(uint64_t a, uint64_t b);
/* 0 … below-1. */
size_t random_below(uint64_t *state, size_t below);
/* The last steps of splitmix64: every bit of the result depends on every bit of z. */
uint64_t random_mix(uint64_t z);

/* FNV-1a, 64 bits, begun with HASH_START; goes on where an earlier call for other bytes ended. */
#define HASH_START UINT64_C(0xcbf29ce484222325)
uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t len);

#endif
