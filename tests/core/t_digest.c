/* t_digest.c: the digest against the public definition of XXH64, and against itself when the bytes come in pieces.

   cc -std=c99 -D_GNU_SOURCE -O2 -I. tests/core/t_digest.c -o build/t_digest -lcmocka -lm -lpthread -ldl */
#define REID_IMPLEMENTATION
#define REID_STATIC
#include "reid.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../lib/test_util.h"

static void digest(const void *data, size_t size, uint64_t out[2]) {
    reid__digest d;
    reid__digest_init(&d);
    reid__digest_update(&d, data, size);
    reid__digest_final(&d, out);
}

/* Expected values: Python, xxhash.xxh64(data, seed=0 or 1). The pattern is byte i = 7·i + 3. */
static void known_vectors(void **state) {
    static const struct {
        size_t size;
        uint64_t want[2];
    } rows[] = {
        {0, {UINT64_C(0xef46db3751d8e999), UINT64_C(0xd5afba1336a3be4b)}},
        {1, {UINT64_C(0x1f25c8d0bc1f4bb6), UINT64_C(0x610f93f8c89889fe)}},
        {3, {UINT64_C(0x31d2363f52e564c9), UINT64_C(0x2d80e074130d0176)}},
        {4, {UINT64_C(0x9bb64b7d66ee9fda), UINT64_C(0x5ec9fdd10fcbcb0e)}},
        {7, {UINT64_C(0x9a7b149959ce60d8), UINT64_C(0xd8b4a941715fee31)}},
        {8, {UINT64_C(0xdab99d95c6f90092), UINT64_C(0xf119f5b26c0020ab)}},
        {31, {UINT64_C(0xa2aa5f33cc4a6119), UINT64_C(0xaaca4e41ffcae21c)}},
        {32, {UINT64_C(0x23c3c17ef790fd97), UINT64_C(0x7421b79a02b42132)}},
        {33, {UINT64_C(0x50a7cfc7ba588784), UINT64_C(0x17b3df313de9a40e)}},
        {63, {UINT64_C(0x5e3e54b431c7493c), UINT64_C(0xb1abb4a5ad0e2943)}},
        {64, {UINT64_C(0x0eb64b3ef6eeb01f), UINT64_C(0x2d0457940c5a93f4)}},
        {100, {UINT64_C(0xa61f8d4c170fe531), UINT64_C(0x8d8957e68f02c7ce)}},
        {1000, {UINT64_C(0x5f235fa033f1a3fb), UINT64_C(0xe67a374d77eccc3f)}},
        {65536, {UINT64_C(0x2c8c45ae2313f2ee), UINT64_C(0x121a550f72378c80)}},
    };
    static unsigned char pattern[65536];
    uint64_t got[2];
    (void)state;
    for (size_t i = 0; i < sizeof pattern; i++) pattern[i] = (unsigned char)(7 * i + 3);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        digest(pattern, rows[i].size, got);
        if (got[0] != rows[i].want[0] || got[1] != rows[i].want[1]) fail_msg("%zu bytes", rows[i].size);
    }
    digest("abc", 3, got);
    assert_true(got[0] == UINT64_C(0x44bc2cf5ad770999) && got[1] == UINT64_C(0xbea9ca8199328908));
}

/* Every size up to 200, cut into two at every place, and into pieces of one to 40 bytes, some of them empty. */
static void pieces(void **state) {
    unsigned char bytes[201];
    uint64_t whole[2], got[2];
    reid__digest d;
    (void)state;
    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (unsigned char)(i * i + 1);
    for (size_t size = 0; size <= 200; size++) {
        digest(bytes + 1, size, whole); /* + 1: not aligned */
        for (size_t cut = 0; cut <= size; cut++) {
            reid__digest_init(&d);
            reid__digest_update(&d, bytes + 1, cut);
            reid__digest_final(&d, got); /* a look in between changes nothing */
            reid__digest_update(&d, bytes + 1 + cut, size - cut);
            reid__digest_final(&d, got);
            assert_true(got[0] == whole[0] && got[1] == whole[1]);
        }
        for (size_t step = 1; step <= 40; step++) {
            reid__digest_init(&d);
            for (size_t at = 0; at < size; at += step) {
                reid__digest_update(&d, NULL, 0);
                reid__digest_update(&d, bytes + 1 + at, size - at < step ? size - at : step);
            }
            reid__digest_final(&d, got);
            assert_true(got[0] == whole[0] && got[1] == whole[1]);
        }
    }
}

/* One changed bit changes both halves. */
static void every_bit_counts(void **state) {
    unsigned char bytes[100] = {0};
    uint64_t was[2], got[2];
    (void)state;
    digest(bytes, sizeof bytes, was);
    for (size_t bit = 0; bit < 8 * sizeof bytes; bit++) {
        bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
        digest(bytes, sizeof bytes, got);
        assert_true(got[0] != was[0] && got[1] != was[1]);
        bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
    }
}

static int compare_ints(const void *a, const void *b) {
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

/* reid__sort against qsort: every size up to 64, then a large one; many equal elements, sorted and reversed input. */
static void sorting(void **state) {
    static int ours[5000], theirs[5000];
    uint32_t random = 1;
    (void)state;
    for (size_t n = 0; n <= 65; n++) {
        size_t count = n == 65 ? 5000 : n;
        for (int kind = 0; kind < 4; kind++) {
            for (size_t i = 0; i < count; i++) {
                random = random * 1664525u + 1013904223u;
                int value = kind == 0 ? (int)(random >> 8) : kind == 1 ? (int)(random >> 30) : (int)i;
                ours[i] = theirs[i] = kind == 3 ? -value : value;
            }
            reid__sort(ours, count, sizeof ours[0], compare_ints);
            qsort(theirs, count, sizeof theirs[0], compare_ints);
            assert_memory_equal(ours, theirs, sizeof ours);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_vectors), cmocka_unit_test(pieces), cmocka_unit_test(every_bit_counts),
        cmocka_unit_test(sorting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
