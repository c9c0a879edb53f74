/* t_rerank.c: sparse re-ranking against a dense one that keeps the table of all pairs, and against torchreid's own
   function; query expansion against its definition.

   cc -std=c99 -D_GNU_SOURCE -O2 -I. -Itools tests/tools/scores/t_rerank.c tools/scores/rerank.c
      tools/scores/scores.c tools/scores/metrics.c tools/base/random.c tools/base/files.c tools/base/replace.c
      tools/base/source.c tools/base/file_kind.c tools/base/say.c tools/base/text.c tools/base/memory.c
      tools/base/clock.c tools/base/threads.c tools/base/container.c -o build/t_rerank -lcmocka -lm -lpthread */
#include "base/random.h"
#include "scores/metrics.h"
#include "scores/rerank.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../lib/test_rows.h"

/* ---- the dense reference ----------------------------------------------------------------------------------------- */
typedef struct dense {
    size_t n;
    double *distance, *weight; /* n × n */
    size_t *order;             /* n × n, nearest first */
} dense;

static const double *sort_key;

static int by_key(const void *a, const void *b) {
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    if (sort_key[x] != sort_key[y]) return sort_key[x] < sort_key[y] ? -1 : 1;
    return (x > y) - (x < y);
}

static void measure(dense *d, const float *rows, size_t dim) {
    size_t n = d->n;
    for (size_t i = 0; i < n; i++) {
        double most = 0;
        for (size_t k = 0; k < n; k++) {
            double sum = 0;
            for (size_t c = 0; c < dim; c++) {
                double gap = (double)rows[i * dim + c] - (double)rows[k * dim + c];
                sum += gap * gap;
            }
            d->distance[i * n + k] = sum;
            if (sum > most) most = sum;
            d->order[i * n + k] = k;
        }
        for (size_t k = 0; k < n && most > 0; k++) d->distance[i * n + k] /= most;
        sort_key = d->distance + i * n;
        qsort(d->order + i * n, n, sizeof *d->order, by_key);
    }
}

static int near(const dense *d, size_t of, size_t wanted, size_t depth) {
    for (size_t i = 0; i < depth && i < d->n; i++)
        if (d->order[of * d->n + i] == wanted) return 1;
    return 0;
}

static int mutual(const dense *d, size_t a, size_t b, size_t depth) {
    return near(d, a, b, depth) && near(d, b, a, depth);
}

static void weigh(dense *d, size_t i, int k1) {
    size_t n = d->n, depth = (size_t)k1 + 1, half = (size_t)nearbyint(k1 / 2.0) + 1;
    char *in = calloc(n, 1);
    double sum = 0;
    for (size_t k = 0; k < n; k++) in[k] = (char)mutual(d, i, k, depth);
    for (size_t k = 0; k < n; k++) {
        size_t theirs = 0, shared = 0;
        if (!mutual(d, i, k, depth)) continue;
        for (size_t c = 0; c < n; c++) {
            if (!mutual(d, k, c, half)) continue;
            theirs++;
            shared += mutual(d, i, c, depth) != 0;
        }
        if ((double)shared > 2.0 / 3 * (double)theirs)
            for (size_t c = 0; c < n; c++) in[c] |= (char)mutual(d, k, c, half);
    }
    for (size_t k = 0; k < n; k++) sum += in[k] ? exp(-d->distance[i * n + k]) : 0;
    for (size_t k = 0; k < n; k++) d->weight[i * n + k] = in[k] ? exp(-d->distance[i * n + k]) / sum : 0;
    free(in);
}

static void average(dense *d, int k2) {
    size_t n = d->n, depth = (size_t)k2 < n ? (size_t)k2 : n;
    double *mean = calloc(n * n, sizeof *mean);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < depth; k++)
            for (size_t c = 0; c < n; c++)
                mean[i * n + c] += d->weight[d->order[i * n + k] * n + c] / (double)depth;
    free(d->weight);
    d->weight = mean;
}

static double dense_distance(const dense *d, size_t query, size_t other, double lambda) {
    double shared = 0;
    for (size_t c = 0; c < d->n; c++) shared += fmin(d->weight[query * d->n + c], d->weight[other * d->n + c]);
    return (1 - lambda) * (1 - shared / (2 - shared)) + lambda * d->distance[query * d->n + other];
}

static dense make_dense(const float *rows, size_t n, size_t dim, const rerank_options *o) {
    dense d = {n, malloc(n * n * sizeof(double)), malloc(n * n * sizeof(double)), malloc(n * n * sizeof(size_t))};
    measure(&d, rows, dim);
    for (size_t i = 0; i < n; i++) weigh(&d, i, o->k1);
    if (o->k2 > 1) average(&d, o->k2);
    return d;
}

static void free_dense(dense *d) {
    free(d->distance);
    free(d->weight);
    free(d->order);
}

/* ---- ours -------------------------------------------------------------------------------------------------------- */
typedef struct kept {
    rerank *r;
    float *distance; /* queries × galleries */
    size_t galleries;
} kept;

static void keep(void *user, int thread, size_t query, float *scores) {
    kept *k = user;
    rerank_row(k->r, thread, query, scores);
    for (size_t g = 0; g < k->galleries; g++) k->distance[query * k->galleries + g] = -scores[g];
}

static float *sparse_distances(const picture_rows *all, const rerank_options *o) {
    rerank r;
    size_t galleries = all->count - all->gallery;
    kept k = {&r, malloc(all->queries * galleries * sizeof(float)), galleries};
    score_job job = {all->rows, all->rows + all->gallery * all->dim, all->queries, galleries, all->dim, all->threads,
                     all->isa, 0, 0, keep, &k, NULL};
    assert_true(rerank_begin(&r, all, o));
    assert_true(scores_run(&job));
    rerank_free(&r);
    return k.distance;
}

static void compare(const picture_rows *all, const rerank_options *o) {
    float *ours = sparse_distances(all, o);
    dense d = make_dense(all->rows, all->count, all->dim, o);
    size_t galleries = all->count - all->gallery;
    double worst = 0;
    for (size_t q = 0; q < all->queries; q++)
        for (size_t g = 0; g < galleries; g++) {
            double gap = fabs(dense_distance(&d, q, all->gallery + g, o->lambda) - (double)ours[q * galleries + g]);
            if (gap > worst) worst = gap;
        }
    if (!(worst <= 1e-6)) fail_msg("k1 %d k2 %d, %zu rows: off by %g", o->k1, o->k2, all->count, worst);
    free(ours);
    free_dense(&d);
}

static float *clustered_rows(size_t count, size_t dim, uint64_t seed) {
    float *rows = malloc(count * dim * sizeof *rows);
    for (size_t i = 0; i < count; i++) {
        double length = 0;
        uint64_t centre = seed + 1000 * (random_next(&seed) % 10);
        for (size_t k = 0; k < dim; k++) {
            double value = random_unit(&centre) + random_unit(&seed) - 1;
            rows[i * dim + k] = (float)value;
            length += value * value;
        }
        for (size_t k = 0; k < dim; k++) rows[i * dim + k] /= (float)sqrt(length);
    }
    return rows;
}

static void equals_dense(void **state) {
    static const rerank_options options[] = {{20, 6, 0.3}, {1, 1, 0.3}, {2, 2, 0}, {7, 30, 1}, {500, 6, 0.3},
                                             {5, 500, 0.5}, {13, 1, 0.9}};
    (void)state;
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        for (uint64_t seed = 1; seed <= 2; seed++) {
            float *rows = clustered_rows(80, 16, seed);
            picture_rows apart = {rows, 80, 16, 30, 30, 2, REID_ISA_AUTO};
            picture_rows both = {rows, 60, 16, 60, 0, 1, REID_ISA_SCALAR};
            picture_rows overlap = {rows, 70, 16, 50, 20, 3, REID_ISA_AUTO};
            compare(&apart, &options[i]);
            compare(&both, &options[i]);
            compare(&overlap, &options[i]);
            free(rows);
        }
}

static void odd_sets(void **state) {
    rerank_options o = {20, 6, 0.3};
    float *rows = clustered_rows(40, 4, 9);
    (void)state;
    for (size_t i = 1; i < 30; i++) memcpy(rows + i * 4, rows, 4 * sizeof *rows); /* more copies than neighbours */
    picture_rows same = {rows, 30, 4, 10, 10, 2, REID_ISA_AUTO}, one = {rows, 1, 4, 1, 0, 2, REID_ISA_AUTO};
    float *all_equal = sparse_distances(&same, &o), *alone = sparse_distances(&one, &o);
    for (size_t i = 0; i < 10 * 20; i++) assert_true(all_equal[i] >= -1e-6f && all_equal[i] <= 1.0f);
    assert_true(fabsf(alone[0]) < 1e-6f);
    free(all_equal);
    free(alone);
    free(rows);
}

static void equals_torchreid(void **state) {
    static const rerank_options options[] = {{20, 6, 0.3}, {7, 1, 0.5}, {9, 12, 0.0}};
    static double wanted[2 * ROWS_GALLERY];
    picture_rows all = {row_values, ROWS, ROWS_DIM, ROWS_QUERIES, ROWS_QUERIES, 2, REID_ISA_AUTO};
    (void)state;
    make_rows(7);
    for (size_t i = 0; i < 3; i++) {
        char name[32];
        snprintf(name, sizeof name, "rerank_%d_%d", options[i].k1, options[i].k2);
        assert_int_equal(read_rows_golden(name, wanted, 2 * ROWS_GALLERY), 2 * ROWS_GALLERY);
        float *ours = sparse_distances(&all, &options[i]);
        for (size_t g = 0; g < ROWS_GALLERY; g++) {
            assert_true(fabs((double)ours[g] - wanted[g]) < 1e-6);
            assert_true(fabs((double)ours[(ROWS_QUERIES - 1) * ROWS_GALLERY + g] - wanted[ROWS_GALLERY + g]) < 1e-6);
        }
        free(ours);
    }
}

static void expansion(void **state) {
    static double wanted[2 * ROWS_DIM];
    static float rows[ROWS * ROWS_DIM];
    picture_rows all = {rows, ROWS, ROWS_DIM, ROWS_QUERIES, ROWS_QUERIES, 2, REID_ISA_AUTO};
    (void)state;
    make_rows(7);
    for (size_t i = 0; i < ROWS; i++) {
        double sum = 0;
        for (size_t k = 0; k < ROWS_DIM; k++) sum += pow((double)row_values[i * ROWS_DIM + k], 2);
        for (size_t k = 0; k < ROWS_DIM; k++)
            rows[i * ROWS_DIM + k] = (float)((double)row_values[i * ROWS_DIM + k] / sqrt(sum));
    }
    read_rows_golden("expanded", wanted, 2 * ROWS_DIM);
    assert_true(expand_rows(rows, &all, 5, 3));
    for (size_t k = 0; k < ROWS_DIM; k++) {
        assert_true(fabs((double)rows[k] - wanted[k]) < 1e-6);
        assert_true(fabs((double)rows[(ROWS - 1) * ROWS_DIM + k] - wanted[ROWS_DIM + k]) < 1e-6);
    }
    float before[ROWS_DIM];
    memcpy(before, rows, sizeof before);
    assert_true(expand_rows(rows, &all, 1, 3)); /* the nearest of each is itself */
    for (size_t k = 0; k < ROWS_DIM; k++) assert_true(fabsf(rows[k] - before[k]) < 1e-6f);
    assert_true(expand_rows(rows, &all, 100000, 0.5)); /* more than there are; negative cosines have no weight */
    for (size_t k = 0; k < ROWS * ROWS_DIM; k++) assert_true(isfinite(rows[k]));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(equals_dense), cmocka_unit_test(odd_sets),
                                       cmocka_unit_test(equals_torchreid), cmocka_unit_test(expansion)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
