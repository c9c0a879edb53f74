/* t_single.c: single linkage by Borůvka's rounds against Kruskal's loop over all pairs: the same joins with the same
   scores, on rows at random, in clusters, all equal, on the axes; one row and none; stopped; without memory.

   cc -std=c99 -D_GNU_SOURCE -O2 -I. -Itools tests/tools/groups/t_single.c tools/groups/single.c tools/base/memory.c
      tools/base/union_find.c tools/base/say.c tools/base/text.c tools/base/clock.c tests/lib/test_impl.c
      -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc -o build/t_single -lcmocka -lm -ldl -lpthread */
#include "groups/single.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../lib/test_refusals.h"

enum { MOST = 300, DIM = 24 };

static float row[MOST][DIM];
static reid_merge pair[MOST * MOST / 2], found[MOST], wanted[MOST];
static reid_hit hit[MOST];

static reid_desc on_cpu(reid_error *error) {
    reid_desc d = REID_INIT;
    d.device = REID_DEVICE_CPU, d.threads = 2, d.error = error;
    return d;
}

static int by_rank(const void *a, const void *b) {
    const reid_merge *x = a, *y = b;
    if (x->score != y->score) return x->score < y->score ? 1 : -1;
    return x->a != y->a ? (x->a > y->a) - (x->a < y->a) : (x->b > y->b) - (x->b < y->b);
}

static uint32_t home_of(const uint32_t *home, uint32_t i) {
    while (home[i] != i) i = home[i];
    return i;
}

/* Kruskal's minimum spanning forest of all pairs at the threshold, by the library's own scores. */
static size_t all_pairs(size_t count, double threshold) {
    reid_error error;
    const reid_desc desc = on_cpu(&error);
    const reid_rows rows = {row[0], NULL, count, DIM, NULL};
    reid_index *index;
    uint32_t home[MOST];
    size_t pairs = 0, n = 0;
    assert_int_equal(reid_index_create(&desc, &rows, &index), REID_OK);
    for (uint32_t i = 0; i < count; i++) {
        int hits;
        reid_search_desc all = REID_INIT;
        all.k = (int)count, home[i] = i;
        assert_int_equal(reid_search(index, row[i], 1, &all, hit, &hits, &error), REID_OK);
        for (int k = 0; k < hits; k++) {
            const reid_merge one = {i, (uint32_t)hit[k].row, 0, hit[k].score};
            if (one.a < one.b && one.score >= threshold) pair[pairs++] = one;
        }
    }
    reid_index_destroy(index);
    qsort(pair, pairs, sizeof *pair, by_rank);
    for (size_t i = 0; i < pairs; i++) {
        uint32_t a = home_of(home, pair[i].a), b = home_of(home, pair[i].b);
        if (a == b) continue;
        home[a > b ? a : b] = a < b ? a : b;
        wanted[n++] = pair[i];
    }
    return n;
}

static double noise(void) { return (double)rand() / RAND_MAX - 0.5; }

/* kind 0: at random; 1: in clusters; 2: all equal; 3: the axes, so that scores are 1 or 0. */
static void make_rows(int kind, size_t count) {
    for (size_t i = 0; i < count; i++) {
        double square = 0;
        for (size_t k = 0; k < DIM; k++) {
            double centre = sin((double)((i % 7) * 31 + k * 17));
            double value = kind == 0 ? noise() : kind == 1 ? centre + noise() : kind == 2 ? 1 : i % DIM == k;
            row[i][k] = (float)value;
            square += value * value;
        }
        for (size_t k = 0; k < DIM; k++) row[i][k] = (float)(row[i][k] / sqrt(square));
    }
}

static void test_all_pairs(void **state) {
    (void)state;
    static const double THRESHOLDS[] = {-2, 0.2, 0.5, 0.8, 0.95, 1.5};
    static const size_t COUNTS[] = {1, 2, 17, MOST};
    reid_error error;
    const reid_desc desc = on_cpu(&error);
    srand(7);
    for (int kind = 0; kind < 4; kind++)
        for (int c = 0; c < 4; c++)
            for (int t = 0; t < 6; t++) {
                const reid_rows rows = {row[0], NULL, COUNTS[c], DIM, NULL};
                size_t merged;
                make_rows(kind, COUNTS[c]);
                size_t n = all_pairs(COUNTS[c], THRESHOLDS[t]);
                assert_int_equal(single_linkage(&desc, &rows, THRESHOLDS[t], NULL, NULL, found, &merged), REID_OK);
                assert_int_equal(merged, n);
                for (size_t i = 0; i < n; i++)
                    assert_true(found[i].a == wanted[i].a && found[i].b == wanted[i].b && !found[i].must_link &&
                                found[i].score == wanted[i].score);
            }
}

static void test_none(void **state) {
    (void)state;
    reid_error error;
    const reid_desc desc = on_cpu(&error);
    const reid_rows rows = {row[0], NULL, 0, DIM, NULL};
    size_t merged = 1;
    assert_int_equal(single_linkage(&desc, &rows, 0.5, NULL, NULL, found, &merged), REID_OK);
    assert_int_equal(merged, 0);
}

static int stop_after(void *user) { return --*(int *)user < 0; }

static void test_stopped_and_refused(void **state) {
    (void)state;
    reid_error error;
    const reid_desc desc = on_cpu(&error);
    const reid_rows rows = {row[0], NULL, MOST, DIM, NULL};
    size_t merged;
    int calls = 1;
    make_rows(0, MOST);
    assert_int_equal(single_linkage(&desc, &rows, -2, stop_after, &calls, found, &merged), REID_ERR_CANCELLED);
    refuse_from(0, 0);
    assert_int_equal(single_linkage(&desc, &rows, 0.5, NULL, NULL, found, &merged), REID_OK);
    long allocations = refusal.calls;
    assert_true(allocations > 3);
    for (long at = 1; at <= allocations; at++) {
        refuse_from(at, 0);
        reid_result r = single_linkage(&desc, &rows, 0.5, NULL, NULL, found, &merged);
        refuse_from(0, 0);
        assert_int_equal(r, REID_ERR_OUT_OF_MEMORY);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_all_pairs), cmocka_unit_test(test_none),
                                       cmocka_unit_test(test_stopped_and_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
