/* test_normal.h: numbers near each other, and random ones. For tests with cmocka, after <math.h> and base/random.h. */
#ifndef TEST_NORMAL_H
#define TEST_NORMAL_H

static inline void near(double got, double want, double most) {
    if (!(fabs(got - want) <= most)) fail_msg("%.12g instead of %.12g", got, want);
}

/* A number from a distribution close to the standard normal one: the sum of twelve uniform ones, less its mean. */
static inline double normal(uint64_t *seed) {
    double sum = -6;
    for (int i = 0; i < 12; i++) sum += random_unit(seed);
    return sum;
}

#endif
