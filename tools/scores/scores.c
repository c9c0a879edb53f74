#include "scores/scores.h"

#include "base/files.h"
#include "base/invariant.h"
#include "base/memory.h"
#include "base/say.h"
#include "base/threads.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

/* A tile is GALLERY_SIDE gallery rows by QUERY_SIDE queries. A block of queries is transposed once, so that one load
   gives the same column of neighbouring queries; gallery rows are read in place, one number at a time. */
enum { GALLERY_SIDE = 8, QUERY_SIDE = 32, BLOCK = 4 * QUERY_SIDE, MAX_SCORE_THREADS = 64 };

/* tile[r][q] = Σ row[r][k] · panel[k][q] over `count` columns. */
typedef void tile_fn(const float *panel, const float *const *row, size_t count, float *tile);

static void tile_scalar(const float *panel, const float *const *row, size_t count, float *tile) {
    memset(tile, 0, sizeof(float) * GALLERY_SIDE * QUERY_SIDE);
    for (size_t k = 0; k < count; k++, panel += QUERY_SIDE)
        for (int r = 0; r < GALLERY_SIDE; r++)
            for (int q = 0; q < QUERY_SIDE; q++) tile[r * QUERY_SIDE + q] += row[r][k] * panel[q];
}

#if defined(__x86_64__)
#define EIGHT(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)

__attribute__((target("avx512f")))
static void tile_avx512(const float *panel, const float *const *row, size_t count, float *tile) {
#define ZERO(r) __m512 low##r = _mm512_setzero_ps(), high##r = _mm512_setzero_ps();
#define STEP(r)                                                          \
    one = _mm512_set1_ps(row[r][k]);                                     \
    low##r = _mm512_fmadd_ps(one, low, low##r);                          \
    high##r = _mm512_fmadd_ps(one, high, high##r);
#define STORE(r)                                                         \
    _mm512_storeu_ps(tile + r * QUERY_SIDE, low##r);                     \
    _mm512_storeu_ps(tile + r * QUERY_SIDE + 16, high##r);
    EIGHT(ZERO)
    for (size_t k = 0; k < count; k++, panel += QUERY_SIDE) {
        __m512 low = _mm512_loadu_ps(panel), high = _mm512_loadu_ps(panel + 16), one;
        EIGHT(STEP)
    }
    EIGHT(STORE)
#undef ZERO
#undef STEP
#undef STORE
}

/* Four rows by 16 queries: eight vectors of sums, which fit into 16 registers together with their operands. */
__attribute__((target("avx2,fma")))
static void quarter_avx2(const float *panel, const float *const *row, size_t count, float *tile) {
#define FOUR(X) X(0) X(1) X(2) X(3)
#define ZERO(r) __m256 low##r = _mm256_setzero_ps(), high##r = _mm256_setzero_ps();
#define STEP(r)                                                          \
    one = _mm256_broadcast_ss(row[r] + k);                               \
    low##r = _mm256_fmadd_ps(one, low, low##r);                          \
    high##r = _mm256_fmadd_ps(one, high, high##r);
#define STORE(r)                                                         \
    _mm256_storeu_ps(tile + r * QUERY_SIDE, low##r);                     \
    _mm256_storeu_ps(tile + r * QUERY_SIDE + 8, high##r);
    FOUR(ZERO)
    for (size_t k = 0; k < count; k++, panel += QUERY_SIDE) {
        __m256 low = _mm256_loadu_ps(panel), high = _mm256_loadu_ps(panel + 8), one;
        FOUR(STEP)
    }
    FOUR(STORE)
#undef FOUR
#undef ZERO
#undef STEP
#undef STORE
}

static void tile_avx2(const float *panel, const float *const *row, size_t count, float *tile) {
    for (int r = 0; r < GALLERY_SIDE; r += 4)
        for (int q = 0; q < QUERY_SIDE; q += 16) quarter_avx2(panel + q, row + r, count, tile + r * QUERY_SIDE + q);
}
#endif

static tile_fn *choose(reid_isa isa) {
#if defined(__x86_64__)
    int avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    if ((isa == REID_ISA_AUTO || isa == REID_ISA_AVX512) && __builtin_cpu_supports("avx512f")) return tile_avx512;
    if (isa != REID_ISA_SCALAR && avx2) return tile_avx2;
#else
    (void)isa;
#endif
    return tile_scalar;
}

int scores_threads(int wanted) { return threads_for(wanted, MAX_SCORE_THREADS); }

typedef struct run {
    const score_job *job;
    tile_fn *tile;
    pthread_mutex_t lock;
    pthread_cond_t turn;
    size_t next_block, blocks;
    size_t delivered; /* blocks whose rows fn has seen, when in order */
} run;

typedef struct worker {
    run *r;
    int number;
    pthread_t thread;
    float *panels; /* BLOCK / QUERY_SIDE panels of dim × QUERY_SIDE */
    float *scores; /* BLOCK × galleries */
} worker;

/* Copies queries first … first+n-1 into panels and fills the rest with zeros. */
static void lay_out(const score_job *job, size_t first, size_t n, float *panels) {
    size_t dim = job->dim;
    if (n < BLOCK) memset(panels, 0, BLOCK * dim * sizeof *panels);
    for (size_t i = 0; i < n; i++) {
        const float *from = job->query + (first + i) * dim;
        float *to = panels + i / QUERY_SIDE * QUERY_SIDE * dim + i % QUERY_SIDE;
        for (size_t k = 0; k < dim; k++) to[k * QUERY_SIDE] = from[k];
    }
}

/* Scores of one panel of queries with up to GALLERY_SIDE gallery rows from `at`. */
static void score_tile(const worker *w, const float *panel, size_t at, size_t rows, float *out) {
    const score_job *job = w->r->job;
    const float *row[GALLERY_SIDE];
    float part[GALLERY_SIDE * QUERY_SIDE], sum[GALLERY_SIDE * QUERY_SIDE] = {0};
    for (size_t k = 0; k < job->dim; k += SCORE_CHUNK) {
        size_t count = job->dim - k < SCORE_CHUNK ? job->dim - k : SCORE_CHUNK;
        for (size_t r = 0; r < GALLERY_SIDE; r++) /* rows that are missing repeat the last one */
            row[r] = job->gallery + (at + (r < rows ? r : rows - 1)) * job->dim + k;
        w->r->tile(panel + k * QUERY_SIDE, row, count, part);
        for (int i = 0; i < GALLERY_SIDE * QUERY_SIDE; i++) sum[i] += part[i];
    }
    for (size_t q = 0; q < QUERY_SIDE; q++)
        for (size_t r = 0; r < rows; r++) out[q * job->galleries + at + r] = sum[r * QUERY_SIDE + q];
}

static void score_block(worker *w, size_t first, size_t n) {
    const score_job *job = w->r->job;
    size_t columns = job->galleries;
    if (job->below_diagonal && first + n < columns) columns = first + n;
    lay_out(job, first, n, w->panels);
    for (size_t at = 0; at < columns && !interrupted(); at += GALLERY_SIDE) {
        size_t rows = columns - at < GALLERY_SIDE ? columns - at : GALLERY_SIDE;
        for (size_t q = 0; q < n; q += QUERY_SIDE)
            score_tile(w, w->panels + q * job->dim, at, rows, w->scores + q * job->galleries);
    }
}

static void wait_for_turn(run *r, size_t block) {
    pthread_mutex_lock(&r->lock);
    while (r->delivered != block) pthread_cond_wait(&r->turn, &r->lock);
    pthread_mutex_unlock(&r->lock);
}

static void end_turn(run *r) {
    pthread_mutex_lock(&r->lock);
    r->delivered++;
    pthread_cond_broadcast(&r->turn);
    pthread_mutex_unlock(&r->lock);
}

static void *work(void *user) {
    worker *w = user;
    run *r = w->r;
    const score_job *job = r->job;
    for (;;) {
        pthread_mutex_lock(&r->lock);
        size_t block = r->next_block++, first = block * BLOCK;
        pthread_mutex_unlock(&r->lock);
        if (block >= r->blocks) return NULL;
        size_t n = job->queries - first < BLOCK ? job->queries - first : BLOCK;
        if (!interrupted()) score_block(w, first, n);
        if (job->in_order) wait_for_turn(r, block);
        for (size_t i = 0; i < n && !interrupted(); i++)
            job->fn(job->user, w->number, first + i, w->scores + i * job->galleries);
        if (w->number == 0 && job->label) progress_update(first + n, 0); /* the main thread reports for all */
        if (job->in_order) end_turn(r);
    }
}

static void start_all(worker *w, int count) {
    for (int i = 1; i < count; i++)
        if (!thread_start(&w[i].thread, work, &w[i])) w[i].r = NULL; /* continue with fewer threads */
}

/* Allocates the memory of each worker; free it in any case. */
static int make_workers(worker *w, int threads, run *r) {
    const score_job *job = r->job;
    memset(w, 0, (size_t)threads * sizeof *w);
    for (int i = 0; i < threads; i++) {
        w[i].r = r;
        w[i].number = i;
        w[i].panels = need_array(job->dim, BLOCK * sizeof(float));
        w[i].scores = w[i].panels ? need_array(job->galleries, BLOCK * sizeof(float)) : NULL;
        if (!w[i].scores) return 0;
    }
    return 1;
}

int scores_run(const score_job *job) {
    worker w[MAX_SCORE_THREADS];
    run r = {job, choose(job->isa), PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0, 0};
    REID_ASSERT(job->threads >= 1 && job->threads <= MAX_SCORE_THREADS && job->fn);
    if (!job->queries || !job->galleries) return !interrupted();
    r.blocks = (job->queries + BLOCK - 1) / BLOCK;
    int threads = r.blocks < (size_t)job->threads ? (int)r.blocks : job->threads;
    int good = make_workers(w, threads, &r);
    if (good) {
        if (job->label) progress_start(job->label, job->queries);
        start_all(w, threads);
        work(&w[0]);
        for (int i = 1; i < threads; i++)
            if (w[i].r) pthread_join(w[i].thread, NULL);
        if (job->label) progress_stop();
    }
    for (int i = 0; i < threads; i++) {
        free(w[i].panels);
        free(w[i].scores);
    }
    pthread_mutex_destroy(&r.lock);
    pthread_cond_destroy(&r.turn);
    return good && !interrupted();
}
