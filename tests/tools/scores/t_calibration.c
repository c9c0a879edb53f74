/* t_calibration.c: thresholds, error rates and probabilities against cases worked out by hand, slow versions, known
   distributions and scikit-learn (tests/golden/metrics.txt).

   cc -std=c99 -D_GNU_SOURCE -O2 -I. -Itools tests/tools/scores/t_calibration.c tools/scores/calibration.c
      tools/scores/metrics.c tools/base/random.c tools/base/files.c tools/base/replace.c tools/base/source.c
      tools/base/file_kind.c tools/base/text.c tools/base/memory.c tools/base/clock.c tools/base/say.c -o
      build/t_calibration -lcmocka -lm -lpthread */
#include "base/random.h"
#include "scores/calibration.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../lib/test_normal.h"
#include "../../lib/test_rows.h"

/* Two normal distributions; genuine pairs of `identities` people, impostors of neighbours. */
static scored_pair *two_bells(size_t genuine, size_t impostor, uint32_t identities, double gap, double width) {
    scored_pair *p = malloc((genuine + impostor) * sizeof *p);
    uint64_t seed = 3;
    for (size_t i = 0; i < genuine + impostor; i++) {
        p[i].a = (uint32_t)(i % identities);
        p[i].b = i < genuine ? p[i].a : (p[i].a + 1) % identities;
        p[i].score = (float)(0.3 + (i < genuine ? gap : 0) + width * normal(&seed));
    }
    pairs_sort(p, genuine + impostor);
    return p;
}

/* ---- operating points -------------------------------------------------------------------------------------------- */
static const scored_pair by_hand[] = {{0.9f, 1, 1}, {0.8f, 1, 2}, {0.7f, 2, 2}, {0.6f, 2, 2}, {0.5f, 1, 2},
                                      {0.4f, 0, 2}, {0.4f, 1, 1}, {0.1f, 0, 1}};

static void points_by_hand(void **state) {
    operating_points p = points_of(by_hand, 8, NULL, 0.25);
    double fmr, tmr;
    (void)state;
    assert_true(p.genuine == 4 && p.impostor == 4);
    near(p.threshold, (double)nextafterf(0.5f, 1), 0); /* 0.5 would be a second impostor of four */
    near(p.fmr, 0.25, 1e-12);
    near(p.tmr, 0.75, 1e-12);
    near(p.eer, 0.25, 1e-12);
    near(p.eer_threshold, (double)0.6f, 1e-7);
    near(p.crossing, ((double)0.6f + (double)0.5f) / 2, 1e-12);
    rates_at(by_hand, 8, p.threshold, &fmr, &tmr);
    assert_true(fmr == p.fmr && tmr == p.tmr);
    rates_at(by_hand, 8, (double)0.4f, &fmr, &tmr);
    assert_true(fmr == 0.75 && tmr == 1);
    p = points_of(by_hand, 8, NULL, 0.2);
    near(p.threshold, (double)nextafterf(0.8f, 1), 0);
    near(p.tmr, 0.25, 1e-12);
    p = points_of(by_hand, 8, NULL, 1);
    near(p.threshold, (double)0.1f, 0);
    assert_true(p.fmr == 1 && p.tmr == 1);
    assert_true(isnan(points_of(by_hand, 1, NULL, 0.5).eer) && isnan(points_of(by_hand, 0, NULL, 0.5).threshold));
    static const scored_pair top[] = {{0.9f, 0, 1}, {0.5f, 1, 1}};
    p = points_of(top, 2, NULL, 0.5); /* the best of all is an impostor: nothing can be accepted */
    assert_true(p.threshold > (double)0.9f && p.fmr == 0 && p.tmr == 0);
}

/* Drawing an identity k times equals repeating its genuine pairs k times, and its impostor pairs k times for each draw
   of the other identity. */
static void draws_are_copies(void **state) {
    static const uint32_t times[] = {2, 1, 3};
    scored_pair copies[64];
    size_t n = 0;
    (void)state;
    for (size_t i = 0; i < 8; i++) {
        const scored_pair *p = &by_hand[i];
        uint32_t often = p->a == p->b ? times[p->a] : times[p->a] * times[p->b];
        for (uint32_t k = 0; k < often; k++) copies[n++] = *p;
    }
    for (double fmr = 0.05; fmr < 1; fmr += 0.1) {
        operating_points a = points_of(by_hand, 8, times, fmr), b = points_of(copies, n, NULL, fmr);
        near(a.eer, b.eer, 1e-12);
        near(a.threshold, b.threshold, 0);
        near(a.crossing, b.crossing, 0);
        near(a.tmr, b.tmr, 1e-12);
        assert_true(a.genuine == b.genuine && a.impostor == b.impostor);
    }
}

static void the_threshold_keeps_its_promise(void **state) {
    uint64_t seed = 17;
    (void)state;
    for (int trial = 0; trial < 500; trial++) {
        scored_pair p[40];
        double fmr, tmr, lower_fmr, wanted = random_unit(&seed);
        for (size_t i = 0; i < 40; i++) {
            p[i].score = (float)random_below(&seed, 15) / 16;
            p[i].a = (uint32_t)random_below(&seed, 3);
            p[i].b = (uint32_t)random_below(&seed, 3);
        }
        pairs_sort(p, 40);
        operating_points o = points_of(p, 40, NULL, wanted);
        if (isnan(o.eer)) continue;
        rates_at(p, 40, o.threshold, &fmr, &tmr);
        near(fmr, o.fmr, 1e-12);
        near(tmr, o.tmr, 1e-12);
        assert_true(fmr <= wanted);
        rates_at(p, 40, o.threshold - 1e-3, &lower_fmr, &tmr); /* lower would let too many in, or nothing new */
        assert_true(lower_fmr > wanted || lower_fmr == fmr);
    }
}

static void known_distributions(void **state) {
    enum { GENUINE = 20000, IMPOSTOR = 60000 };
    scored_pair *p = two_bells(GENUINE, IMPOSTOR, 400, 0.3, 0.1);
    spread genuine, impostor;
    point_intervals i;
    (void)state;
    operating_points o = points_of(p, GENUINE + IMPOSTOR, NULL, 0.001);
    near(o.eer, 0.0668, 0.003); /* normal distribution function at -1.5 */
    near(o.eer_threshold, 0.45, 0.003);
    near(o.crossing, 0.45, 0.02);
    near(o.threshold, 0.3 + 0.1 * 3.09, 0.012);
    spreads_of(p, GENUINE + IMPOSTOR, &genuine, &impostor);
    near(genuine.mean, 0.6, 0.003);
    near(impostor.mean, 0.3, 0.003);
    near(genuine.deviation, 0.1, 0.003);
    near(impostor.deviation, 0.1, 0.003);
    assert_true(point_intervals_of(p, GENUINE + IMPOSTOR, 400, 0.001, 60, &i));
    assert_true(i.eer.low < o.eer && o.eer < i.eer.high && i.eer.high - i.eer.low < 0.02);
    assert_true(i.threshold.low <= o.threshold && o.threshold <= i.threshold.high);
    assert_true(i.tmr.low < o.tmr && o.tmr < i.tmr.high && i.crossing.low < 0.45 && i.crossing.high > 0.44);
    free(p);
}

/* ---- probabilities ----------------------------------------------------------------------------------------------- */

/* All pairs of queries and gallery of make_metrics.py. */
static scored_pair *golden_pairs(void) {
    scored_pair *p = malloc(ROWS_QUERIES * ROWS_GALLERY * sizeof *p);
    size_t n = 0;
    make_rows(7);
    for (size_t q = 0; q < ROWS_QUERIES; q++)
        for (size_t g = ROWS_QUERIES; g < ROWS; g++) {
            double sum = 0;
            for (size_t k = 0; k < ROWS_DIM; k++)
                sum += (double)row_values[q * ROWS_DIM + k] * (double)row_values[g * ROWS_DIM + k];
            p[n].score = (float)sum;
            p[n].a = (uint32_t)row_identity[q];
            p[n++].b = (uint32_t)row_identity[g];
        }
    pairs_sort(p, n);
    return p;
}

static void equals_scikit_learn(void **state) {
    enum { N = ROWS_QUERIES * ROWS_GALLERY };
    scored_pair *p = golden_pairs();
    double want[26], platt[2];
    isotonic f;
    (void)state;
    read_rows_golden("isotonic", want, 26);
    assert_true(isotonic_fit(&f, p, N, 0.5));
    for (int i = 0; i < 26; i++) near(isotonic_at(&f, -0.2 + 0.02 * i), want[i], 1e-6);
    isotonic_free(&f);
    read_rows_golden("platt", platt, 2);
    logistic l = logistic_fit(p, N, 0);
    near(l.slope, platt[0], 1e-3 * platt[0]); /* theirs stops earlier */
    near(l.intercept, platt[1], 1e-3 * fabs(platt[1]));
    free(p);
}

static void isotonic_is_least_squares(void **state) {
    static const scored_pair p[] = {{5, 1, 1}, {4, 1, 1}, {3, 0, 1}, {2, 0, 0}, {2, 0, 1}, {1, 0, 1}};
    isotonic f;
    (void)state; /* half the weight on three genuine pairs, half on three impostors: all weigh the same */
    assert_true(isotonic_fit(&f, p, 6, 0.5));
    near(isotonic_at(&f, 0), 0, 0);
    near(isotonic_at(&f, 1), 0, 0);
    near(isotonic_at(&f, 2), 1.0 / 3, 1e-12); /* 2, 2 and 3 are pooled: one of three */
    near(isotonic_at(&f, 3), 1.0 / 3, 1e-12);
    near(isotonic_at(&f, 1.5), 1.0 / 6, 1e-12);
    near(isotonic_at(&f, 3.5), 2.0 / 3, 1e-12);
    near(isotonic_at(&f, 4), 1, 1e-12);
    near(isotonic_at(&f, 9), 1, 1e-12);
    isotonic_free(&f);
    assert_true(isnan(isotonic_at(&f, 1)));
}

static void logistic_is_most_likely(void **state) {
    enum { GENUINE = 3000, IMPOSTOR = 9000 };
    scored_pair *p = two_bells(GENUINE, IMPOSTOR, 50, 0.2, 0.1);
    logistic even = logistic_fit(p, GENUINE + IMPOSTOR, 0.5), rare = logistic_fit(p, GENUINE + IMPOSTOR, 0.001);
    (void)state;
    near(logistic_at(&even, 0.4), 0.5, 0.02); /* half way between two bells of one width */
    near(even.slope, 20, 1.5);                /* gap / width² */
    near(rare.slope, even.slope, 3);
    assert_true(logistic_at(&rare, 0.4) < 0.01 && logistic_at(&even, 99) <= 1 && logistic_at(&even, -99) >= 0);
    free(p);
    static const scored_pair apart[] = {{0.9f, 1, 1}, {0.8f, 1, 1}, {0.2f, 0, 1}, {0.1f, 0, 1}};
    logistic l = logistic_fit(apart, 4, 0.5); /* nothing overlaps: Platt's targets keep it finite */
    assert_true(isfinite(l.slope) && l.slope > 0);
    near(logistic_at(&l, 0.85), 0.75, 0.03);
    static const scored_pair equal[] = {{0.5f, 1, 1}, {0.5f, 0, 1}};
    l = logistic_fit(equal, 2, 0.5); /* one score: nothing to learn, and no crash */
    near(logistic_at(&l, 0.5), 0.5, 1e-6);
}

/* The second model is three times as sharp; a third that knows nothing gets next to nothing. */
static void weights_follow_what_is_known(void **state) {
    enum { N = 6000 };
    static scored_pair p[N];
    static float first[N], second[N], noise[N];
    double slope[2], intercept;
    uint64_t seed = 8;
    (void)state;
    for (size_t i = 0; i < N; i++) {
        p[i].a = 0;
        p[i].b = i % 2;
        double mean = i % 2 ? 0 : 0.3;
        first[i] = (float)(mean + 0.3 * normal(&seed));
        second[i] = (float)(mean + 0.1 * normal(&seed));
        noise[i] = (float)(0.1 * normal(&seed));
    }
    logistic_fit_two(first, second, p, N, 0.5, slope, &intercept);
    near(slope[1] / slope[0], 9, 2.5); /* gap / width² of each */
    logistic_fit_two(second, noise, p, N, 0.5, slope, &intercept);
    assert_true(fabs(slope[1]) < 0.1 * slope[0]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(points_by_hand), cmocka_unit_test(draws_are_copies),
        cmocka_unit_test(the_threshold_keeps_its_promise), cmocka_unit_test(known_distributions),
        cmocka_unit_test(equals_scikit_learn), cmocka_unit_test(isotonic_is_least_squares),
        cmocka_unit_test(logistic_is_most_likely), cmocka_unit_test(weights_follow_what_is_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
