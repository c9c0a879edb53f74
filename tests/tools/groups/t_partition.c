/* t_partition.c: how groups agree with identities, against scikit-learn and loops over all pairs of rows
   (tests/golden/partitions.txt), sets worked out by hand, memory that is refused.

   cc -std=c99 -D_GNU_SOURCE -O2 -I. -Itools tests/tools/groups/t_partition.c tools/groups/partition.c
      tools/evaluate/linkage.c tools/base/union_find.c tools/scores/metrics.c tools/base/random.c tools/base/say.c
      tools/base/text.c tools/base/memory.c tools/base/clock.c -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc -o
      build/t_partition -lcmocka -lm -lpthread */
#include "base/random.h"
#include "base/say.h"
#include "groups/partition.h"
#include "scores/metrics.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../lib/test_refusals.h"
#include "../../lib/test_says.h"

enum { MOST_ROWS = 30000, NUMBERS = 8 };

static uint32_t group[MOST_ROWS], identity[MOST_ROWS];

/* A line of partitions.txt: parameters of the rows, and expected results. */
typedef struct golden {
    unsigned long long seed, rows, groups, identities, alike;
    size_t found_groups, found_identities, alone;
    double numbers[NUMBERS];
} golden;

static int read_golden(FILE *f, golden *g) {
    int read = fscanf(f, "%llu %llu %llu %llu %llu %zu %zu %zu", &g->seed, &g->rows, &g->groups, &g->identities,
                      &g->alike, &g->found_groups, &g->found_identities, &g->alone);
    for (int i = 0; i < NUMBERS && read == 8; i++) assert_int_equal(fscanf(f, "%lf", &g->numbers[i]), 1);
    return read == 8;
}

static size_t below(uint64_t *state, uint64_t limit) { return (size_t)(random_next(state) % limit); }

/* The rows of make_partitions.py. The label values do not matter: here they are far apart and unordered. */
static void make_rows(const golden *g) {
    uint64_t state = g->seed;
    assert_true(g->rows <= MOST_ROWS);
    for (uint32_t i = 0; i < g->rows; i++) {
        size_t who = g->identities ? below(&state, 1 + below(&state, g->identities)) : i;
        size_t other = g->groups ? below(&state, 1 + below(&state, g->groups)) : i;
        identity[i] = (uint32_t)who * 2654435761u + 0xfffffffeu;
        group[i] = (uint32_t)(below(&state, 100) < g->alike ? who : other) * 2246822519u;
    }
}

static void numbers_of(const agreement *a, double out[NUMBERS]) {
    const double numbers[NUMBERS] = {a->bcubed_precision, a->bcubed_recall, a->bcubed_f, a->pair_precision,
                                     a->pair_recall,      a->pair_f,        a->ari,      a->ami};
    memcpy(out, numbers, sizeof numbers);
}

static void is_golden(const golden *g, const agreement *a) {
    static const char *const names[NUMBERS] = {"BCubed precision", "BCubed recall", "BCubed F", "pair precision",
                                               "pair recall",      "pair F",        "ARI",      "AMI"};
    double numbers[NUMBERS];
    numbers_of(a, numbers);
    assert_int_equal(a->rows, g->rows);
    assert_int_equal(a->groups, g->found_groups);
    assert_int_equal(a->identities, g->found_identities);
    assert_int_equal(a->alone, g->alone);
    for (int i = 0; i < NUMBERS; i++)
        if (isnan(g->numbers[i]) != isnan(numbers[i]) || fabs(g->numbers[i] - numbers[i]) > 1e-12)
            fail_msg("seed %llu, %llu rows: %s is %.17g, not %.17g", g->seed, g->rows, names[i], numbers[i],
                     g->numbers[i]);
}

static void test_golden(void **state) {
    FILE *f = fopen("tests/golden/partitions.txt", "r");
    golden g;
    agreement a;
    int lines = 0;
    (void)state;
    assert_non_null(f);
    while (read_golden(f, &g)) {
        make_rows(&g);
        assert_int_equal(agreement_of(&a, group, identity, (size_t)g.rows), 1);
        is_golden(&g, &a);
        lines++;
    }
    fclose(f);
    assert_int_equal(lines, 33);
}

static void same_number(double got, double want) {
    if (isnan(want) != isnan(got) || fabs(got - want) > 1e-15) fail_msg("%.17g instead of %.17g", got, want);
}

/* aaabbc, of which aa, abb and c were found. */
static void test_by_hand(void **state) {
    static const uint32_t known[] = {7, 7, 7, 9, 9, 4}, found[] = {0, 0, 2, 2, 2, 1};
    agreement a;
    (void)state;
    assert_int_equal(agreement_of(&a, found, known, 6), 1);
    assert_true(a.rows == 6 && a.groups == 3 && a.identities == 3 && a.alone == 1);
    same_number(a.bcubed_precision, (1 + 1 + 1.0 / 3 + 2.0 / 3 + 2.0 / 3 + 1) / 6);
    same_number(a.bcubed_recall, (2.0 / 3 + 2.0 / 3 + 1.0 / 3 + 1 + 1 + 1) / 6);
    same_number(a.bcubed_f, 2 * a.bcubed_precision * a.bcubed_recall / (a.bcubed_precision + a.bcubed_recall));
    same_number(a.pair_precision, 2.0 / 4);
    same_number(a.pair_recall, 2.0 / 4);
    same_number(a.pair_f, 0.5);
    same_number(a.ari, (2 - 16.0 / 15) / (4 - 16.0 / 15));
}

/* Equal partitions give exactly 1, and a trivial partition exactly 0, whatever the rounding. */
static void test_exactly(void **state) {
    golden g = {3, 1000, 90, 70, 100, 0, 0, 0, {0}};
    agreement a;
    (void)state;
    make_rows(&g);
    assert_int_equal(agreement_of(&a, group, identity, 1000), 1);
    assert_true(a.bcubed_precision == 1 && a.bcubed_recall == 1 && a.bcubed_f == 1);
    assert_true(a.pair_precision == 1 && a.pair_recall == 1 && a.pair_f == 1 && a.ari == 1 && a.ami == 1);
    for (size_t i = 0; i < 1000; i++) group[i] = 5;
    assert_int_equal(agreement_of(&a, group, identity, 1000), 1);
    assert_true(a.bcubed_recall == 1 && a.pair_recall == 1 && a.ari == 0 && a.ami == 0 && a.groups == 1);
    for (uint32_t i = 0; i < 1000; i++) group[i] = i;
    assert_int_equal(agreement_of(&a, group, identity, 1000), 1);
    assert_true(a.bcubed_precision == 1 && isnan(a.pair_precision) && a.pair_recall == 0 && a.ari == 0 && a.ami == 0);
    assert_int_equal(a.alone, 1000);
    assert_int_equal(agreement_of(&a, NULL, NULL, 0), 1);
    assert_true(isnan(a.bcubed_f) && isnan(a.pair_f) && a.ari == 1 && a.ami == 1 && a.groups == 0 && a.alone == 0);
}

static void test_refused_memory(void **state) {
    golden g = {3, 500, 90, 70, 50, 0, 0, 0, {0}};
    char said[200];
    agreement a;
    (void)state;
    make_rows(&g);
    refuse_from(0, 0);
    assert_int_equal(agreement_of(&a, group, identity, 500), 1);
    long calls = refusal.calls;
    assert_true(calls >= 9);
    for (long at = 1; at <= calls; at++) {
        say_listen(said, sizeof said);
        refuse_from(at, 0);
        int good = agreement_of(&a, group, identity, 500);
        refuse_from(0, 0);
        assert_int_equal(good, 0);
        assert_says(said, "out of memory");
    }
    say_listen(NULL, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden),
        cmocka_unit_test(test_by_hand),
        cmocka_unit_test(test_exactly),
        cmocka_unit_test(test_refused_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
