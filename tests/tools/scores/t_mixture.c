/* t_mixture.c: thresholds from pairs without labels, against distributions that are known because the test drew them.

   cc -std=c99 -D_GNU_SOURCE -O2 -I. -Itools tests/tools/scores/t_mixture.c tools/scores/mixture.c
      tools/scores/calibration.c tools/scores/metrics.c tools/base/random.c tools/base/files.c tools/base/replace.c
      tools/base/source.c tools/base/file_kind.c tools/base/text.c tools/base/memory.c tools/base/clock.c
      tools/base/say.c -o build/t_mixture -lcmocka -lm -lpthread */
#include "base/random.h"
#include "scores/mixture.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../lib/test_normal.h"

static const double ONE_IN_HUNDRED = 2.3263478740408408; /* standard deviations above the mean */

/* Sightings of `individuals` in turn; every pair of them, with places drawn from one of two normal distributions. The
   first sightings of all are by one camera, the second ones by another, the third ones again by the first; pairs of two
   cameras are lower by `far`. */
typedef struct drawn {
    uint32_t units, individuals;
    double different, different_deviation, same, same_deviation, far, scale;
    uint64_t seed;
} drawn;

static const drawn usual = {.units = 100, .individuals = 20, .different = 0.2, .different_deviation = 0.1, .same = 0.8,
                            .same_deviation = 0.15, .scale = 1, .seed = 1};

static mixture_pair *draw(const drawn *d, size_t *count) {
    mixture_pair *p = malloc((size_t)d->units * d->units * sizeof *p);
    uint64_t seed = d->seed;
    size_t n = 0;
    for (uint32_t a = 0; a < d->units; a++)
        for (uint32_t b = a + 1; b < d->units; b++) {
            int same = a % d->individuals == b % d->individuals, two = (a / d->individuals + b / d->individuals) % 2;
            double z = same ? d->same + d->same_deviation * normal(&seed)
                            : d->different + d->different_deviation * normal(&seed);
            p[n++] = (mixture_pair){(float)(d->scale * tanh(z - (two ? d->far : 0))), a, b, PAIR_UNKNOWN,
                                    (unsigned char)two};
        }
    *count = n;
    return p;
}

static mixture fit(const drawn *d, const mixture_pair *pairs, size_t count) {
    mixture m;
    assert_true(mixture_fit(&m, &(mixture_request){pairs, count, d->units, d->scale, 0.01, 50}));
    return m;
}

static mixture fit_drawn(const drawn *d) {
    size_t n;
    mixture_pair *p = draw(d, &n);
    mixture m = fit(d, p, n);
    free(p);
    return m;
}

static void is_inside(const mixture *m, double want) {
    if (!(m->interval.low <= want && want <= m->interval.high))
        fail_msg("%.6f is not in %.6f to %.6f", want, m->interval.low, m->interval.high);
}

/* The threshold is the score that one in a hundred of the different pairs exceeds, and the interval contains it. */
static void finds_the_threshold(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 5; seed++) {
        drawn d = usual;
        d.seed = seed;
        mixture m = fit_drawn(&d);
        double want = tanh(d.different + ONE_IN_HUNDRED * d.different_deviation);
        near(m.threshold, want, 0.01);
        is_inside(&m, want);
        assert_true(m.interval.high - m.interval.low < 0.05);
        near(m.share, 4.0 / 99, 0.012);
        near(m.part[0].same, d.same, 0.05);
        assert_true(m.gain > 10);
        near(m.accepted, 1, 0.05);
    }
}

/* With one pair of six the same, the prior errs on the side of a high threshold, but far less than if all pairs counted
   as different, which would give 0.63. */
static void overlapping_and_few_individuals(void **state) {
    drawn d = usual;
    (void)state;
    d.individuals = 6, d.same = 0.65;
    mixture m = fit_drawn(&d);
    near(m.threshold, tanh(d.different + ONE_IN_HUNDRED * d.different_deviation) + 0.03, 0.03);
    near(m.share, 1.0 / 6, 0.07);
}

static void scores_of_two_models(void **state) {
    drawn d = usual, one = usual;
    (void)state;
    d.scale = 2.5;
    near(fit_drawn(&d).threshold, 2.5 * fit_drawn(&one).threshold, 1e-5);
}

/* One distribution for both kinds would be twice as wide as that of each. */
static void two_kinds(void **state) {
    drawn d = usual;
    (void)state;
    d.far = 0.4;
    mixture m = fit_drawn(&d);
    assert_int_equal(m.parts, 2);
    near(m.part[0].different - m.part[1].different, 0.4, 0.01);
    near(m.part[0].different_deviation, 0.1, 0.01);
    near(m.threshold, tanh(0.2 + 2.070 * 0.1), 0.01); /* all in the upper kind, 52 %: 1.92 % of it */
    spread both = mixture_different(&m);
    near(both.mean, 0.2 - 0.48 * 0.4, 0.01);
    near(both.deviation, sqrt(0.2 * 0.2 + 0.1 * 0.1), 0.01);
    d.far = 0, d.units = 25; /* 300 pairs, 100 of one kind */
    assert_int_equal(fit_drawn(&d).parts, 1);
}

/* Pairs that look the same and are not: only people can tell. */
static void known_pairs(void **state) {
    drawn d = usual;
    size_t n;
    (void)state;
    mixture_pair *p = draw(&d, &n);
    double before = fit(&d, p, n).threshold;
    for (size_t i = 0; i < n; i++)
        if (p[i].score > 0.5f && (p[i].a + p[i].b) % 3) p[i].known = PAIR_DIFFERENT;
    mixture m = fit(&d, p, n);
    assert_true(m.threshold > before + 0.05 && m.share < 0.03);
    for (size_t i = 0; i < n; i++)
        p[i].known = p[i].a % d.individuals == p[i].b % d.individuals ? PAIR_SAME : PAIR_DIFFERENT;
    m = fit(&d, p, n);
    near(m.threshold, tanh(d.different + ONE_IN_HUNDRED * d.different_deviation), 0.01);
    free(p);
}

/* Without a second distribution, the threshold is that of the only one, and two are not more likely. */
static void one_distribution(void **state) {
    drawn d = usual;
    (void)state;
    d.individuals = d.units;
    mixture m = fit_drawn(&d);
    near(m.threshold, tanh(d.different + ONE_IN_HUNDRED * d.different_deviation), 0.02);
    assert_true(m.share < 0.06 && m.gain < 1);
}

static void equal_scores(void **state) {
    drawn d = usual;
    size_t n;
    (void)state;
    mixture_pair *p = draw(&d, &n);
    for (size_t i = 0; i < n; i++) p[i].score = 1;
    mixture m = fit(&d, p, n);
    assert_true(m.threshold > 0.99 && m.threshold <= 1 && !isnan(m.gain) && !isnan(m.share));
    free(p);
}

static void same_every_time(void **state) {
    mixture a = fit_drawn(&usual), b = fit_drawn(&usual);
    (void)state;
    assert_memory_equal(&a, &b, sizeof a);
}

static void samples(void **state) {
    enum { EACH = 500 };
    mixture m = fit_drawn(&usual);
    scored_pair sample[2 * EACH];
    double fmr, tmr;
    (void)state;
    mixture_sample(&m, sample, EACH);
    for (int i = 1; i < 2 * EACH; i++) assert_true(sample[i].score <= sample[i - 1].score);
    rates_at(sample, 2 * EACH, m.threshold, &fmr, &tmr);
    near(fmr, 0.01, 0.0021);
    near(tmr, m.accepted, 0.0021);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_the_threshold), cmocka_unit_test(overlapping_and_few_individuals),
        cmocka_unit_test(scores_of_two_models), cmocka_unit_test(two_kinds), cmocka_unit_test(known_pairs),
        cmocka_unit_test(one_distribution), cmocka_unit_test(equal_scores), cmocka_unit_test(same_every_time),
        cmocka_unit_test(samples),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
