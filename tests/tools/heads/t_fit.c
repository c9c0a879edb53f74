/* t_fit.c: heads in closed form, against scikit-learn, scipy and numpy (tests/golden/fits.txt); eigenvectors, factors
   and products against plain loops; what is chosen, what is refused, memory that is refused.

   cc -std=c99 -D_GNU_SOURCE -O2 -I. -Itools tests/tools/heads/t_fit.c tools/heads/fit.c tools/heads/fit_parts.c
      tools/heads/fit_choose.c tools/heads/fit_space.c tools/heads/fit_algebra.c tools/scores/metrics.c
      tools/base/random.c tools/base/say.c tools/base/text.c tools/base/memory.c tools/base/clock.c
      tools/base/files.c tools/base/replace.c tools/base/source.c tools/base/file_kind.c
      -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc -o build/t_fit -lcmocka -lm -lpthread */
#include "base/random.h"
#include "base/say.h"
#include "heads/fit.h"
#include "heads/fit_algebra.h"
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

enum { MOST_CROPS = 300, MOST_COLUMNS = 200, SHOWN = 8, PRODUCTS = SHOWN * (SHOWN + 1) / 2 };

static float rows[MOST_CROPS * MOST_COLUMNS];
static size_t identity[MOST_CROPS], pick[MOST_CROPS];
static char said[1000];

static double real(uint64_t *state) { return random_unit(state) - 0.5; }

/* ---- algebra ----------------------------------------------------------------------------------------------------- */

static double dot(const double *a, const double *b, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

static void test_products(void **state) {
    static double a[11 * 7], b[6 * 7], out[11 * 11], turned[7 * 11];
    uint64_t seed = 1;
    (void)state;
    for (size_t i = 0; i < 11 * 7; i++) a[i] = real(&seed);
    for (size_t i = 0; i < 6 * 7; i++) b[i] = real(&seed);
    for (size_t m = 1; m <= 11; m++)
        for (size_t n = 1; n <= 6; n++) {
            assert_int_equal(product_of_rows(a, m, b, n, 7, out), 1);
            for (size_t i = 0; i < m * n; i++)
                assert_true(fabs(out[i] - dot(a + i / n * 7, b + i % n * 7, 7)) < 1e-15);
        }
    for (size_t m = 1; m <= 11; m++) {
        product_of_rows(a, m, a, m, 7, out);
        for (size_t i = 0; i < m * m; i++) assert_true(fabs(out[i] - dot(a + i / m * 7, a + i % m * 7, 7)) < 1e-15);
    }
    transpose(a, 11, 7, turned);
    for (size_t i = 0; i < 11 * 7; i++) assert_true(turned[i % 7 * 11 + i / 7] == a[i]);
}

/* Checks that a v = value v, that the vectors are orthonormal, and that the values descend. */
static void check_eigen(const double *a, size_t n, size_t wanted) {
    double *v = malloc(n * n * sizeof *v), *value = malloc(n * sizeof *value), largest = 0;
    memcpy(v, a, n * n * sizeof *v);
    for (size_t i = 0; i < n; i++)
        for (size_t j = i + 1; j < n; j++) v[i * n + j] = NAN; /* the upper triangle is not read */
    assert_int_equal(eigen_symmetric(v, n, wanted, value), 1);
    for (size_t i = 0; i < n; i++) largest = fmax(largest, fabs(value[i]));
    double slack = 1e-13 * (double)n * (largest + 1e-300);
    for (size_t i = 0; i < wanted; i++) {
        const double *one = v + i * n;
        size_t most = 0;
        for (size_t k = 0; k < n; k++) {
            if (fabs(dot(a + k * n, one, n) - value[i] * one[k]) > slack)
                fail_msg("n %zu: vector %zu is none of value %.17g", n, i, value[i]);
            if (fabs(one[k]) > fabs(one[most])) most = k;
        }
        assert_true(one[most] > 0);
        for (size_t j = 0; j <= i; j++) assert_true(fabs(dot(one, v + j * n, n) - (i == j)) < 1e-13 * (double)n);
    }
    double trace = 0, sum = 0;
    for (size_t i = 0; i < n; i++) trace += a[i * n + i], sum += value[i];
    for (size_t i = 1; i < n; i++) assert_true(value[i] <= value[i - 1]);
    assert_true(fabs(trace - sum) <= slack * (double)n);
    free(v);
    free(value);
}

/* kind: random, of rank 3, diagonal, all the same, ones on and beside the diagonal, from 1 down to 1e-18, zero */
static void make_symmetric(double *a, size_t n, int kind) {
    uint64_t seed = n;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++) {
            double x = real(&seed), scale = pow(1e-9, ((double)i + (double)j) / (double)n);
            if (kind == 1) x = cos((double)i) * cos((double)j) + sin((double)i) * sin((double)j) + 1;
            if (kind == 2) x = i == j ? (double)(i * 7 % 5) : 0;
            if (kind == 3) x = 1;
            if (kind == 4) x = i - j < 2;
            if (kind == 5) x *= scale;
            if (kind == 6) x = 0;
            a[i * n + j] = a[j * n + i] = x;
        }
}

static void test_eigen(void **state) {
    static double a[90 * 90], value[90];
    (void)state;
    for (int kind = 0; kind < 7; kind++)
        for (size_t n = 1; n <= 90; n += 1 + n / 3) {
            make_symmetric(a, n, kind);
            check_eigen(a, n, n);
            check_eigen(a, n, n / 3);
        }
    double two[4] = {2, 1, 1, 2};
    assert_int_equal(eigen_symmetric(two, 2, 2, value), 1);
    assert_true(fabs(value[0] - 3) < 1e-15 && fabs(value[1] - 1) < 1e-15);
    make_symmetric(a, 5, 0);
    a[11] = (double)NAN;
    say_listen(said, sizeof said);
    assert_int_equal(eigen_symmetric(a, 5, 5, value), 0);
    assert_says(said, "finite");
    say_listen(NULL, 0);
}

static void test_cholesky(void **state) {
    static double a[30 * 30], l[30 * 30], x[30], b[30];
    double flat[4] = {1, 1, 1, 1};
    uint64_t seed = 5;
    (void)state;
    for (size_t n = 1; n <= 30; n++) {
        for (size_t i = 0; i < n * n; i++) l[i] = real(&seed);
        product_of_rows(l, n, l, n, n, a);
        for (size_t i = 0; i < n; i++) a[i * n + i] += 0.1;
        memcpy(l, a, sizeof l);
        assert_int_equal(cholesky(l, n), 1);
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n; j++) {
                assert_true(fabs(dot(l + i * n, l + j * n, n) - a[i * n + j]) < 1e-13);
                assert_true(j <= i || l[i * n + j] == 0);
            }
        for (size_t i = 0; i < n; i++) x[i] = b[i] = real(&seed);
        solve_lower(l, n, x);
        for (size_t i = 0; i < n; i++) assert_true(fabs(dot(l + i * n, x, n) - b[i]) < 1e-10);
        memcpy(x, b, sizeof x);
        solve_lower_transposed(l, n, x);
        for (size_t i = 0; i < n; i++) {
            double sum = 0;
            for (size_t k = 0; k < n; k++) sum += l[k * n + i] * x[k];
            assert_true(fabs(sum - b[i]) < 1e-10);
        }
    }
    assert_int_equal(cholesky(flat, 2), 0);
}

/* ---- goldens ----------------------------------------------------------------------------------------------------- */
typedef struct made {
    unsigned long long seed;
    size_t crops, columns, individuals, single;
} made;

/* The rows of rows_of in make_fits.py, stored in reverse order; `pick` restores the order. */
static fit_request make_rows(const made *m) {
    static const fit_part none = {0, 0, 0};
    static fit_part whole;
    static double means[100][MOST_COLUMNS];
    uint64_t state = m->seed;
    assert_true(m->crops <= MOST_CROPS && m->columns <= MOST_COLUMNS && m->individuals + m->single <= 100);
    for (size_t c = 0; c < m->individuals + m->single; c++)
        for (size_t k = 0; k < m->columns; k++) means[c][k] = real(&state);
    for (size_t i = 0; i < m->crops; i++) {
        size_t at = pick[i] = m->crops - 1 - i;
        identity[at] = i < m->single ? m->individuals + i : i % m->individuals;
        for (size_t k = 0; k < m->columns; k++)
            rows[at * m->columns + k] = (float)(means[identity[at]][k] + real(&state) * (double)(1 + k % 5) + 3);
    }
    whole = none;
    whole.dim = m->columns;
    whole.room = FIT_MOST_AXES;
    const fit_request r = {.rows = rows, .columns = m->columns, .pick = pick, .count = m->crops, .identity = identity,
                           .identities = m->individuals + m->single, .part = &whole, .parts = 1,
                           .shrinkage = (double)NAN, .seed = m->seed};
    return r;
}

static fit_method method_named(const char *name) {
    return strcmp(name, "lda") == 0 ? FIT_LDA : strcmp(name, "pca") == 0 ? FIT_PCA : FIT_WITHIN;
}

static void check_fit(FILE *f) {
    made m;
    char method[8];
    double shrinkage;
    size_t room, axes, found, n = 0;
    float y[SHOWN][MOST_COLUMNS];
    fitted head;
    assert_int_equal(fscanf(f, "%llu %zu %zu %zu %zu %7s %lf %zu %zu %zu", &m.seed, &m.crops, &m.columns,
                            &m.individuals, &m.single, method, &shrinkage, &room, &axes, &found), 10);
    fit_request r = make_rows(&m);
    const fit_part part = {0, m.columns, room};
    r.part = &part;
    r.method = method_named(method);
    r.shrinkage = shrinkage;
    assert_int_equal(fit_heads(&head, &r), 1);
    assert_int_equal(head.part[0].axes, axes);
    assert_int_equal(fitted_dim(&head), found);
    assert_int_equal(head.single, m.single);
    assert_true(head.folds == 0 && head.part[0].share == 1);
    for (size_t i = 0; i < SHOWN; i++) fit_apply(&head, &r, rows + pick[i] * m.columns, y[i]);
    for (size_t i = 0; i < SHOWN; i++)
        for (size_t j = 0; j <= i; j++, n++) {
            double want, got = 0;
            assert_int_equal(fscanf(f, "%lf", &want), 1);
            for (size_t k = 0; k < found; k++) got += (double)y[i][k] * (double)y[j][k];
            if (fabs(got - want) > 2e-6) fail_msg("seed %llu: product %zu is %.9g, not %.9g", m.seed, n, got, want);
        }
    assert_int_equal(n, PRODUCTS);
    fitted_free(&head);
}

static void check_choice(FILE *f) {
    made m;
    char method[8];
    double shrinkage, map;
    fitted head;
    assert_int_equal(fscanf(f, "%llu %zu %zu %zu %zu %7s %lf %lf", &m.seed, &m.crops, &m.columns, &m.individuals,
                            &m.single, method, &shrinkage, &map), 8);
    const fit_request r = make_rows(&m);
    assert_int_equal(fit_heads(&head, &r), 1);
    if (head.part[0].method != method_named(method) || head.part[0].shrinkage != shrinkage ||
        fabs(head.map - map) > 1e-9)
        fail_msg("seed %llu: method %d, shrinkage %g, mAP %.12f instead of %s, %g, %.12f", m.seed,
                 (int)head.part[0].method, head.part[0].shrinkage, head.map, method, shrinkage, map);
    assert_int_equal(head.folds, m.individuals < 10 ? 2 : 5);
    fitted_free(&head);
}

static void test_golden(void **state) {
    FILE *f = fopen("tests/golden/fits.txt", "r");
    char kind[8];
    int fits = 0, choices = 0;
    (void)state;
    assert_non_null(f);
    while (fscanf(f, "%7s", kind) == 1) {
        int is_fit = strcmp(kind, "fit") == 0;
        if (is_fit) check_fit(f);
        else check_choice(f);
        fits += is_fit;
        choices += !is_fit;
    }
    fclose(f);
    assert_true(fits == 12 && choices == 3);
}

/* ---- what has to hold -------------------------------------------------------------------------------------------- */

/* Every individual with two crops is held out once, in folds whose sizes differ by at most one; others never. */
static void test_turns(void **state) {
    const made m = {3, 87, 2, 23, 5};
    int turn[28], count[4] = {0}, other[28], differ = 0;
    fit_request r = make_rows(&m);
    (void)state;
    assert_int_equal(fit_turns(&r, 4, turn), 23);
    for (size_t c = 0; c < 28; c++) {
        assert_true(turn[c] >= (c < 23 ? 0 : -1) && turn[c] < 4 && (c < 23 || turn[c] == -1));
        if (c < 23) count[turn[c]]++;
    }
    for (int k = 0; k < 4; k++) assert_true(count[k] == 5 || count[k] == 6);
    r.seed++;
    fit_turns(&r, 4, other);
    for (int c = 0; c < 23; c++) differ += turn[c] != other[c];
    assert_true(differ > 5);
}

static void test_same_bits(void **state) {
    const made m = {11, 80, 30, 16, 3};
    const fit_request r = make_rows(&m);
    fitted a, b;
    (void)state;
    assert_int_equal(fit_heads(&a, &r), 1);
    assert_int_equal(fit_heads(&b, &r), 1);
    assert_true(a.part[0].found == b.part[0].found && a.map == b.map);
    assert_memory_equal(a.part[0].weight, b.part[0].weight, a.part[0].found * 30 * sizeof(double));
    assert_memory_equal(a.part[0].bias, b.part[0].bias, a.part[0].found * sizeof(double));
    fitted_free(&a);
    fitted_free(&b);
}

/* If one of two parts is noise, the other one decides; its share is the mean square of y. */
static void test_parts(void **state) {
    const made m = {7, 120, 20, 24, 0};
    fit_part part[2] = {{0, 10, 10}, {10, 10, 10}};
    fitted f;
    fit_request r = make_rows(&m);
    uint64_t seed = 1;
    (void)state;
    for (size_t i = 0; i < m.crops; i++)
        for (size_t k = 0; k < 20; k++)
            rows[i * 20 + k] = (float)(2 * real(&seed) + (k < 10 ? cos((double)(identity[i] * (k + 3))) : 0));
    r.part = part;
    r.parts = 2;
    assert_int_equal(fit_heads(&f, &r), 1);
    assert_true(f.part[0].share >= 0.8 && fabs(f.part[0].share + f.part[1].share - 1) < 1e-12);
    assert_true(f.map >= f.part[0].map - 1e-12 && f.part[0].map > f.part[1].map + 0.2);
    double sum[2] = {0, 0};
    for (size_t i = 0; i < m.crops; i++) {
        float y[20];
        fit_apply(&f, &r, rows + i * 20, y);
        for (size_t k = 0; k < fitted_dim(&f); k++) sum[k >= f.part[0].found] += (double)y[k] * (double)y[k];
    }
    for (int p = 0; p < 2; p++) assert_true(fabs(sum[p] / (double)m.crops - f.part[p].share) < 1e-5);
    fitted_free(&f);
}

/* More rows than components are computed from: a sample is spread evenly over them, so it notices two columns in which
   only late rows differ, and all rows get coordinates. */
static void test_many_rows(void **state) {
    enum { MANY = FIT_MOST_ROWS + 500, COLUMNS = 6 };
    float *x = malloc(MANY * COLUMNS * sizeof *x);
    const float **row = malloc(MANY * sizeof *row);
    uint64_t seed = 9;
    fit_space s;
    (void)state;
    for (size_t i = 0; i < MANY; i++) {
        row[i] = x + i * COLUMNS;
        for (size_t k = 0; k < COLUMNS; k++)
            x[i * COLUMNS + k] = k + 2 < COLUMNS || i >= FIT_MOST_ROWS ? (float)(real(&seed) * (double)(k + 1)) : 0;
    }
    assert_int_equal(fit_space_make(&s, row, MANY, COLUMNS), 1);
    assert_true(s.axes == COLUMNS && s.count == MANY);
    for (size_t i = 0; i < MANY; i += 97) /* mean and coordinates give the row back */
        for (size_t k = 0; k < COLUMNS; k++) {
            double back = s.mean[k];
            for (size_t a = 0; a < COLUMNS; a++) back += s.at[i * COLUMNS + a] * s.axis[a * COLUMNS + k];
            assert_true(fabs(back - (double)x[i * COLUMNS + k]) < 1e-9);
        }
    fit_space_free(&s);
    free(x);
    free(row);
}

/* ---- refusals ---------------------------------------------------------------------------------------------------- */

static void refuses(const fit_request *r, const char *why) {
    fitted f;
    say_listen(said, sizeof said);
    assert_int_equal(fit_heads(&f, r), 0);
    say_listen(NULL, 0);
    fitted_free(&f);
    if (!says(said, why)) fail_msg("\"%s\" does not say \"%s\"", said, why);
}

static void test_refusals(void **state) {
    const made usual = {1, 30, 8, 6, 0}, few = {1, 9, 8, 3, 0}, one = {1, 9, 8, 1, 0}, single = {1, 9, 8, 1, 7};
    const made wide = {1, 12, 40, 6, 0};
    (void)state;
    fit_request r = make_rows(&few);
    refuses(&r, "3 individuals with two crops or more are too few for cross-validation");
    r.method = FIT_LDA;
    r.shrinkage = 0.5;
    r.dim = 3;
    refuses(&r, "--dim 3: 9 crops of 3 individuals give only 2");
    r.dim = 2;
    fitted f;
    assert_int_equal(fit_heads(&f, &r), 1);
    fitted_free(&f);
    r.dim = FIT_MOST_AXES + 1;
    refuses(&r, "the head holds at most 512");
    r = make_rows(&one);
    refuses(&r, "1 individual with two crops or more: fit needs at least two");
    r = make_rows(&single);
    refuses(&r, "1 individual with two crops or more");
    r = make_rows(&wide);
    r.method = FIT_LDA;
    r.shrinkage = 0;
    refuses(&r, "do not vary along all 11 components; use more shrinkage");
    r = make_rows(&usual);
    rows[17] = INFINITY;
    refuses(&r, "row 2 contains a value that is not finite");
    for (size_t i = 0; i < 30 * 8; i++) rows[i] = 3;
    refuses(&r, "all 30 crops have the same features");
    for (size_t i = 0; i < 30 * 8; i++) rows[i] = (float)(identity[i / 8] * (i % 8));
    refuses(&r, "all crops of each individual are equal");
    r = make_rows(&usual);
    r.camera = identity; /* each individual seen by one camera only */
    refuses(&r, "nothing to cross-validate with");
}

static void test_refused_memory(void **state) {
    const made m = {7, 24, 10, 6, 0};
    const fit_part part[2] = {{0, 5, 3}, {5, 5, 5}};
    fit_request r = make_rows(&m);
    fitted f;
    (void)state;
    r.part = part;
    r.parts = 2;
    refuse_from(0, 0);
    assert_int_equal(fit_heads(&f, &r), 1);
    long calls = refusal.calls, step = calls / 400 + 1;
    fitted_free(&f);
    assert_true(calls > 100);
    for (long at = 1; at <= calls; at += at < 60 ? 1 : step) {
        say_listen(said, sizeof said);
        refuse_from(at, 0);
        int good = fit_heads(&f, &r);
        refuse_from(0, 0);
        say_listen(NULL, 0);
        fitted_free(&f);
        assert_int_equal(good, 0);
        assert_says(said, "out of memory");
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_products),  cmocka_unit_test(test_eigen),
        cmocka_unit_test(test_cholesky),  cmocka_unit_test(test_golden),
        cmocka_unit_test(test_turns),     cmocka_unit_test(test_same_bits),
        cmocka_unit_test(test_parts),     cmocka_unit_test(test_many_rows),
        cmocka_unit_test(test_refusals),  cmocka_unit_test(test_refused_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
