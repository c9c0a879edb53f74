/* t_scores.c: scores against sums in double; the same bits for every place, block, thread count and order of the pair.

   cc -std=c99 -D_GNU_SOURCE -O2 -I. -Itools tests/tools/scores/t_scores.c tools/scores/scores.c tools/base/files.c
      tools/base/replace.c tools/base/source.c tools/base/file_kind.c tools/base/say.c tools/base/text.c
      tools/base/memory.c tools/base/clock.c tools/base/threads.c tools/base/container.c -o build/t_scores -lcmocka
      -lm -lpthread */
#include "scores/scores.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct table {
    float *scores; /* queries × galleries */
    size_t galleries, rows, last;
    int in_order, below;
} table;

static void keep(void *user, int thread, size_t query, float *scores) {
    table *t = user;
    (void)thread;
    memcpy(t->scores + query * t->galleries, scores, (t->below ? query : t->galleries) * sizeof *scores);
    if (!t->in_order) return;
    assert_int_equal(query, t->last);
    t->last = query + 1;
}

static float *random_rows(size_t count, size_t dim, uint32_t seed) {
    float *rows = malloc(count * dim * sizeof *rows);
    assert_non_null(rows);
    for (size_t i = 0; i < count * dim; i++) {
        seed = seed * 1664525u + 1013904223u;
        rows[i] = (float)(seed >> 8) * 0x1p-23f - 1;
    }
    return rows;
}

static float *run(score_job job, int in_order, int below) {
    table t = {calloc(job.queries * job.galleries + 1, sizeof(float)), job.galleries, 0, 0, in_order, below};
    assert_non_null(t.scores);
    job.in_order = in_order;
    job.below_diagonal = below;
    job.fn = keep;
    job.user = &t;
    assert_true(scores_run(&job));
    if (in_order) assert_int_equal(t.last, job.queries);
    return t.scores;
}

static void close_to_double(const float *scores, const score_job *job) {
    for (size_t q = 0; q < job->queries; q++)
        for (size_t g = 0; g < job->galleries; g++) {
            double sum = 0, size = 0;
            for (size_t k = 0; k < job->dim; k++) {
                double product = (double)job->query[q * job->dim + k] * (double)job->gallery[g * job->dim + k];
                sum += product;
                size += fabs(product);
            }
            if (fabs(sum - (double)scores[q * job->galleries + g]) > 1e-6 * size + 1e-30)
                fail_msg("%zu with %zu of %zu columns", q, g, job->dim);
        }
}

static void every_size(void **state) {
    static const size_t sizes[][3] = {{1, 1, 1}, {1, 9, 3}, {33, 7, 256}, {129, 65, 257}, {300, 41, 513},
                                      {5, 200, 2048}};
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int isa = REID_ISA_AUTO; isa <= REID_ISA_AVX512; isa++) {
            float *a = random_rows(sizes[i][0], sizes[i][2], 1), *b = random_rows(sizes[i][1], sizes[i][2], 2);
            score_job job = {a, b, sizes[i][0], sizes[i][1], sizes[i][2], 2, (reid_isa)isa, 0, 0, NULL, NULL, NULL};
            float *scores = run(job, 0, 0);
            close_to_double(scores, &job);
            free(scores);
            free(a);
            free(b);
        }
}

static void same_bits(void **state) {
    enum { N = 270, DIM = 300 };
    float *a = random_rows(N, DIM, 3);
    (void)state;
    memcpy(a + 200 * DIM, a + 3 * DIM, DIM * sizeof *a); /* two equal rows, in different blocks and tiles */
    for (int isa = REID_ISA_AUTO; isa <= REID_ISA_AVX512; isa++) {
        score_job job = {a, a, N, N, DIM, 1, (reid_isa)isa, 0, 0, NULL, NULL, NULL};
        float *one = run(job, 0, 0);
        for (int threads = 2; threads <= 5; threads += 3) {
            job.threads = threads;
            float *many = run(job, 1, 0), *half = run(job, 1, 1);
            assert_memory_equal(one, many, N * N * sizeof *one);
            for (size_t i = 0; i < N; i++) assert_memory_equal(one + i * N, half + i * N, i * sizeof *one);
            free(many);
            free(half);
        }
        for (size_t i = 0; i < N; i++) {
            for (size_t k = 0; k < i; k++) assert_true(one[i * N + k] == one[k * N + i]);
            assert_true(one[i * N + 3] == one[i * N + 200]);
        }
        job.query = a + 7 * DIM; /* another place in the block */
        job.queries = N - 7;
        float *moved = run(job, 0, 0);
        assert_memory_equal(moved, one + 7 * N, (N - 7) * N * sizeof *one);
        free(one);
        free(moved);
    }
    free(a);
}

static void nothing_to_do(void **state) {
    score_job job = {NULL, NULL, 0, 0, 5, 2, REID_ISA_AUTO, 0, 0, keep, NULL, NULL};
    (void)state;
    assert_true(scores_run(&job));
    assert_true(scores_threads(0) >= 1 && scores_threads(3) == 3 && scores_threads(100000) < 100000);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_size), cmocka_unit_test(same_bits),
                                       cmocka_unit_test(nothing_to_do)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
