/* Demonstrates how to make a convolution fast on a CPU, step by step: one layer in six versions, each one faster.

     cc -O2 -ftree-vectorize cpu_ladder.c -o cpu_ladder -lm
     ./cpu_ladder [--small] [--kernel 1|3] [--side N] [--inputs N] [--outputs N] [--isa plain|avx2|avx512]

   The default is a 1x1 convolution of ResNet-50's layer3: 14x14 pixels, 1024 to 256 channels, one image, FP32, one
   thread. It is a matrix product, C[pixels][outputs] = A[pixels][K] B[K][outputs]: row m of A has the inputs of pixel
   m. A 3x3 convolution is the same product with K = 9 * inputs, but its A need not be built: a row is nine runs of
   `inputs` floats that are already in the image, so a table of nine pointers per pixel is enough. Outside the image,
   the pointer leads to zeros.

   rung    | what is new                           | why it is faster
   --------+---------------------------------------+-------------------------------------------------------------
   1 naive | three loops                           | (it is not: every multiply-add waits for the one before)
   2 order | outputs in the innermost loop         | neighbours do not wait for each other: a vector at a time
   3 panel | weights packed, sums in registers     | 1 load per multiply-add, not 2 loads and 1 store
   4 tile  | 4 pixels at once                      | 6 loads per 8; weights are read from L2 for every 4th pixel
   5 tall  | as many pixels as registers allow     | 14 loads per 24; for every 12th pixel (AVX2: 8 per 12, 6th)
   6 ahead | weights prefetched                    | no waiting where the CPU's own prefetching ends

   Every rung is compared with a sum in double and then timed, in turns with the other rungs. As for a layer in a
   network, the weights are outside L2 at first, and the inputs in it. The program prints for each rung: the largest
   error, relative to the sum of the products' magnitudes; whether the bits are those of rung 1; how many megabytes of
   weights the loops read; the median time; GFLOP/s; and their share of the peak, which is the rate of multiply-adds on
   registers in the same rounds.

   Rung 6 is the tile in >>kernels of reid.h, which also adds bias, residual and activation before it stores. Around it,
   >>cpu cuts a layer into blocks of pixels whose inputs stay in L2, and divides it among threads. Like reid.h, this
   file includes itself once for each instruction set, with PASS as its name; the best one is chosen at run time. */
#ifndef PASS
#define _POSIX_C_SOURCE 200112L
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum { RUNGS = 6, ROUNDS = 11 };
#define PEAK_ROUNDS 200000
#define AHEAD 8192 /* floats from the weights in use to those that are prefetched */

typedef struct layer {
    int side, kernel, inputs, outputs;
    int pixels, taps, k; /* side * side; kernel * kernel; taps * inputs: the length of every sum */
    float *image;        /* (pixels, inputs) */
    float *zeros;        /* (inputs): used outside the image */
    const float **rows;  /* [pixels][taps]: the inputs at one kernel position */
    float *weights;      /* (outputs, k), where k counts (taps, inputs): one row per output */
    float *by_k;         /* (k, outputs): the same, transposed */
    float *wide;         /* panels of 8 vectors of outputs, each (k, 8 * lanes) */
    float *panels;       /* panels of 2 vectors */
    float *out;          /* (pixels, outputs) */
} layer;

typedef struct instruction_set {
    const char *name;
    int lanes, tall; /* floats per vector; pixels of the tallest tile, or 0 */
    void (*rungs[RUNGS])(const layer *l);
    float (*peak)(long rounds, float a);
} instruction_set;

#define JOIN2(a, b) a##_##b
#define JOIN(a, b) JOIN2(a, b)
#define STRING2(x) #x
#define STRING(x) STRING2(x)
#define F(name) JOIN(name, PASS)
#ifdef __clang__
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif
#endif

#ifdef PASS /* ---- the rungs, once per instruction set: a vector has LANES floats ---- */

/* The vectors of gcc and clang are ordinary variables, and arrays of them may be kept in registers. FMA(a, b, c) is
   a * b + c as one instruction, rounded once, whatever the compiler's flags; FMA1 is the same for one float. In plain
   code, where the instruction may not exist, they are the C expression a * b + c. */
typedef float F(vec) __attribute__((vector_size(4 * LANES), may_alias));
#define VEC(p) (*(F(vec) *)(void *)(p))
#define CONST_VEC(p) (*(const F(vec) *)(const void *)(p))

/* ---- 1: the sum of each output in turn. Each multiply-add needs two loads, but they are not the limit: it also needs
   the sum, which is ready only after the previous multiply-add, about 4 cycles later. Each of the CPU's two units could
   have started a whole vector in each of these cycles. The compiler may not split the sum, because the bits would
   change. ---- */
TARGET static void F(naive)(const layer *l) {
    for (int m = 0; m < l->pixels; m++)
        for (int n = 0; n < l->outputs; n++) {
            const float *w = l->weights + n * l->k;
            float sum = 0;
            for (int tap = 0; tap < l->taps; tap++, w += l->inputs) {
                const float *a = l->rows[m * l->taps + tap];
                for (int k = 0; k < l->inputs; k++) sum = FMA1(a[k], w[k], sum);
            }
            l->out[m * l->outputs + n] = sum;
        }
}

/* `restrict` promises that the two do not overlap; otherwise vectors would need a check first. */
TARGET static void F(add_scaled)(float *restrict sums, const float *restrict w, float a, int count) {
    for (int n = 0; n < count; n++) sums[n] = FMA1(a, w[n], sums[n]);
}

/* ---- 2: the same multiply-adds, with the outputs of a pixel innermost. They do not need each other's sums, so they
   fill vectors, and nothing waits 4 cycles. But there are more sums than registers: each vector of multiply-adds loads
   weights, loads sums and stores sums, and a CPU stores only one or two vectors per cycle. ---- */
TARGET static void F(order)(const layer *l) {
    for (int m = 0; m < l->pixels; m++) {
        const float *w = l->by_k;
        float *sums = l->out + m * l->outputs;
        memset(sums, 0, (size_t)l->outputs * sizeof *sums);
        for (int tap = 0; tap < l->taps; tap++) {
            const float *a = l->rows[m * l->taps + tap];
            for (int k = 0; k < l->inputs; k++, w += l->outputs) F(add_scaled)(sums, w, a[k], l->outputs);
        }
    }
}

/* ---- 3: eight vectors of outputs stay in registers for the whole length of the sum. Eight chains of 4 cycles are just
   enough to keep two units busy. In rung 2's matrix, such a strip would be a few cache lines out of every row, soon on
   another page of memory. Packed into a panel, it is one stream of whole lines and whole pages, which the CPU's
   prefetching predicts easily. One limit remains: a vector of weights is loaded for every multiply-add. A panel is
   larger than L1, and L2 delivers at best one line of 64 bytes per cycle, which is half of what two AVX-512 units could
   use. ---- */
TARGET static void F(panel)(const layer *l) {
    for (int n = 0; n < l->outputs; n += 8 * LANES)
        for (int m = 0; m < l->pixels; m++) {
            const float *w = l->wide + n * l->k;
            F(vec) sum[8];
            UNROLL for (int j = 0; j < 8; j++) sum[j] = SET1(0.0f);
            for (int tap = 0; tap < l->taps; tap++) {
                const float *a = l->rows[m * l->taps + tap];
                for (int k = 0; k < l->inputs; k++, w += 8 * LANES)
                    UNROLL for (int j = 0; j < 8; j++)
                        sum[j] = FMA(SET1(a[k]), CONST_VEC(w + j * LANES), sum[j]);
            }
            UNROLL for (int j = 0; j < 8; j++) VEC(l->out + m * l->outputs + n + j * LANES) = sum[j];
        }
}

/* ---- 4: the eight sums are four pixels times two vectors. A vector of weights in a register now serves four
   multiply-adds: 2 loads of weights and 4 of inputs for 8 multiply-adds, and a quarter of the traffic from L2. If the
   number of pixels is not a multiple of four, the last tile repeats some pixels, with the same bits. ---- */
TARGET static void F(tile)(const layer *l) {
    for (int n = 0; n < l->outputs; n += 2 * LANES)
        for (int next = 0; next < l->pixels; next += 4) {
            int m = next < l->pixels - 4 ? next : l->pixels - 4;
            const float *w = l->panels + n * l->k;
            F(vec) sum[4][2];
            UNROLL for (int r = 0; r < 4; r++) sum[r][0] = sum[r][1] = SET1(0.0f);
            for (int tap = 0; tap < l->taps; tap++) {
                const float *a[4];
                UNROLL for (int r = 0; r < 4; r++) a[r] = l->rows[(m + r) * l->taps + tap];
                for (int k = 0; k < l->inputs; k++, w += 2 * LANES)
                    UNROLL for (int r = 0; r < 4; r++) {
                        sum[r][0] = FMA(SET1(a[r][k]), CONST_VEC(w), sum[r][0]);
                        sum[r][1] = FMA(SET1(a[r][k]), CONST_VEC(w + LANES), sum[r][1]);
                    }
            }
            UNROLL for (int r = 0; r < 4; r++) {
                VEC(l->out + (m + r) * l->outputs + n) = sum[r][0];
                VEC(l->out + (m + r) * l->outputs + n + LANES) = sum[r][1];
            }
        }
}

#ifdef TALL
/* ---- 5: the tile is as tall as the registers allow. AVX-512 has 32 registers: 12 * 2 for sums, 2 for weights, 1 for
   an input. AVX2 has 16: 6 * 2, 2 and 1. A step has 12 + 2 loads for 24 multiply-adds (6 + 2 for 12), and three times
   (1.5 times) the chains that hide the units' latency, so that a load may also be late. The array of sums is kept in
   registers only if every index is a constant after unrolling, so `height` must be known where this is inlined.

   ---- 6: the CPU's own prefetching follows a stream to the end of its page of 4096 bytes and starts again on the next
   page, so every 32nd step of AVX-512 waits for L3 or memory. A prefetch of the line AHEAD floats further on is an
   instruction that nothing waits for. Past the end of a panel it reaches the next panel, whose weights come next. Rung
   5 is the same code with a distance of 0. ---- */
TARGET static inline __attribute__((always_inline)) void F(tall_tile)(const layer *l, int m, int n, ptrdiff_t ahead,
                                                                      const int height) {
    const float *w = l->panels + n * l->k;
    F(vec) sum[TALL][2];
    UNROLL for (int r = 0; r < height; r++) sum[r][0] = sum[r][1] = SET1(0.0f);
    for (int tap = 0; tap < l->taps; tap++) {
        const float *a[TALL];
        UNROLL for (int r = 0; r < height; r++) a[r] = l->rows[(m + r) * l->taps + tap];
        for (ptrdiff_t k = 0; k < l->inputs; k++, w += 2 * LANES) {
            F(vec) w0 = CONST_VEC(w), w1 = CONST_VEC(w + LANES);
            UNROLL for (int j = 0; j < 2 * LANES; j += 16) __builtin_prefetch(w + ahead + j, 0, 2); /* to L2 */
            UNROLL for (int r = 0; r < height; r++) {
                F(vec) x = SET1(a[r][k]);
                sum[r][0] = FMA(x, w0, sum[r][0]);
                sum[r][1] = FMA(x, w1, sum[r][1]);
            }
        }
    }
    UNROLL for (int r = 0; r < height; r++) {
        VEC(l->out + (m + r) * l->outputs + n) = sum[r][0];
        VEC(l->out + (m + r) * l->outputs + n + LANES) = sum[r][1];
    }
}

#define HEIGHT(height)                                                                             \
    TARGET static void F(tile_##height)(const layer *l, int m, int n, ptrdiff_t ahead) {           \
        F(tall_tile)(l, m, n, ahead, height);                                                      \
    }
HEIGHTS(HEIGHT)
#undef HEIGHT

/* Divides the pixels of a panel into tiles whose heights differ by at most one, so that no tile is very low. */
static void F(run_tall)(const layer *l, ptrdiff_t ahead) {
#define NAME(height) F(tile_##height),
    static void (*const tiles[])(const layer *l, int m, int n, ptrdiff_t ahead) = {HEIGHTS(NAME)};
#undef NAME
    for (int n = 0; n < l->outputs; n += 2 * LANES)
        for (int m = 0, left = (l->pixels + TALL - 1) / TALL; left > 0; left--) {
            int height = (l->pixels - m + left - 1) / left;
            tiles[height - 1](l, m, n, ahead);
            m += height;
        }
}

static void F(tall)(const layer *l) { F(run_tall)(l, 0); }
static void F(ahead)(const layer *l) { F(run_tall)(l, AHEAD); }
#endif

/* ---- the peak: twelve chains in registers and nothing else. They are written out, so that no compiler puts them into
   memory, and the result depends on all of them, so that none is removed. ---- */
#define CHAINED(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)
TARGET static float F(peak)(long rounds, float a) {
    F(vec) m = SET1(a), s = m;
#define BEGIN(i) F(vec) x##i = SET1((float)i);
#define STEP(i) x##i = FMA(x##i, m, m);
#define END(i) s += x##i;
    CHAINED(BEGIN)
    for (long r = 0; r < rounds; r++) { CHAINED(STEP) }
    CHAINED(END)
#undef BEGIN
#undef STEP
#undef END
    return s[0];
}

static const instruction_set F(isa) = {STRING(PASS), LANES,
#ifdef TALL
                           TALL, {F(naive), F(order), F(panel), F(tile), F(tall), F(ahead)},
#else
                           0, {F(naive), F(order), F(panel), F(tile), NULL, NULL},
#endif
                           F(peak)};
#undef CHAINED
#undef VEC
#undef CONST_VEC
#undef TARGET
#undef LANES
#undef FMA1
#undef SET1
#undef FMA
#undef TALL
#undef HEIGHTS

#else /* ---- the instruction sets, best first ---- */

#if defined(__x86_64__)
#define PASS avx512
#define TARGET __attribute__((target("avx512f,avx2,fma")))
#define LANES 16
#define TALL 12
#define HEIGHTS(X) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12)
#define FMA1(a, b, c) fmaf(a, b, c)
#define SET1(x) _mm512_set1_ps(x)
#define FMA(a, b, c) _mm512_fmadd_ps(a, b, c)
#include "cpu_ladder.c"
#undef PASS

#define PASS avx2
#define TARGET __attribute__((target("avx2,fma")))
#define LANES 8
#define TALL 6
#define HEIGHTS(X) X(1) X(2) X(3) X(4) X(5) X(6)
#define FMA1(a, b, c) fmaf(a, b, c)
#define SET1(x) _mm256_set1_ps(x)
#define FMA(a, b, c) _mm256_fmadd_ps(a, b, c)
#include "cpu_ladder.c"
#undef PASS
#endif

#define PASS plain /* vectors of four, which every 64-bit CPU has; L2 is fast enough for them from rung 3 on */
#define TARGET
#define LANES 4
#define SET1(x) ((F(vec)){x, x, x, x})
#define FMA1(a, b, c) ((a) * (b) + (c))
#define FMA(a, b, c) ((a) * (b) + (c))
#include "cpu_ladder.c"
#undef PASS

static const char *const STEPS[RUNGS] = {"three loops", "outputs innermost", "weights in panels", "tiles of 4 pixels",
                                         "tiles that fill registers", "weights fetched ahead"};

/* Returns the named instruction set, or the best one; NULL if the name is unknown or this CPU lacks it. */
static const instruction_set *choose(const char *name) {
#if defined(__x86_64__)
    __builtin_cpu_init();
    int avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    if (avx2 && __builtin_cpu_supports("avx512f") && (!name || strcmp(name, "avx512") == 0)) return &isa_avx512;
    if (avx2 && (!name || strcmp(name, "avx2") == 0)) return &isa_avx2;
#endif
    return !name || strcmp(name, "plain") == 0 ? &isa_plain : NULL;
}

/* ---- the layer ---- */

/* Aligns to cache lines, because an AVX-512 vector that spans two lines costs two loads. */
static void *get_memory(size_t bytes) {
    void *p = NULL;
    if (posix_memalign(&p, 64, bytes) == 0) return p;
    fprintf(stderr, "cpu_ladder: out of memory: %.0f MB\n", 1e-6 * (double)bytes);
    exit(1);
}

static float *noise(size_t count, unsigned seed) {
    float *values = get_memory(count * sizeof *values);
    for (size_t i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        values[i] = (float)((int)(seed >> 8) - (1 << 23)) / (1 << 23);
    }
    return values;
}

/* Returns the input for kernel position `tap` of output pixel m, or NULL outside the image. */
static const float *input_at(const layer *l, int m, int tap) {
    int y = m / l->side + tap / l->kernel - l->kernel / 2, x = m % l->side + tap % l->kernel - l->kernel / 2;
    int inside = y >= 0 && y < l->side && x >= 0 && x < l->side;
    return inside ? l->image + (y * l->side + x) * l->inputs : NULL;
}

static float *pack(const layer *l, int width) {
    float *packed = get_memory(((size_t)l->outputs * (size_t)l->k + AHEAD) * sizeof *packed);
    for (int n = 0; n < l->outputs; n++)
        for (int k = 0; k < l->k; k++)
            packed[(n / width * l->k + k) * width + n % width] = l->weights[n * l->k + k];
    return packed;
}

static void make_layer(layer *l, int lanes) {
    l->pixels = l->side * l->side, l->taps = l->kernel * l->kernel, l->k = l->taps * l->inputs;
    l->image = noise((size_t)(l->pixels * l->inputs), 1);
    l->weights = noise((size_t)(l->outputs * l->k), 2);
    l->zeros = get_memory((size_t)l->inputs * sizeof *l->zeros);
    memset(l->zeros, 0, (size_t)l->inputs * sizeof *l->zeros);
    l->rows = get_memory((size_t)(l->pixels * l->taps) * sizeof *l->rows);
    for (int i = 0; i < l->pixels * l->taps; i++) {
        const float *in = input_at(l, i / l->taps, i % l->taps);
        l->rows[i] = in ? in : l->zeros;
    }
    l->by_k = pack(l, l->outputs); /* one panel of all outputs */
    l->wide = pack(l, 8 * lanes);
    l->panels = pack(l, 2 * lanes);
    l->out = get_memory((size_t)(l->pixels * l->outputs) * sizeof *l->out);
}

static void free_layer(layer *l) {
    free(l->image), free(l->weights), free(l->zeros), free((void *)l->rows);
    free(l->by_k), free(l->wide), free(l->panels), free(l->out);
}

/* ---- checking ---- */
typedef struct answer {
    double sum, size; /* sum of the products; sum of their magnitudes */
} answer;

/* Computes the convolution by its definition, without the rungs' data layouts. */
static answer *make_answers(const layer *l) {
    answer *answers = get_memory((size_t)(l->pixels * l->outputs) * sizeof *answers);
    for (int m = 0; m < l->pixels; m++)
        for (int n = 0; n < l->outputs; n++) {
            answer *s = &answers[m * l->outputs + n];
            s->sum = s->size = 0;
            for (int ky = 0; ky < l->kernel; ky++)
                for (int kx = 0; kx < l->kernel; kx++) {
                    int y = m / l->side + ky - l->kernel / 2, x = m % l->side + kx - l->kernel / 2;
                    if (y < 0 || y >= l->side || x < 0 || x >= l->side) continue;
                    const float *a = l->image + (y * l->side + x) * l->inputs;
                    const float *w = l->weights + n * l->k + (ky * l->kernel + kx) * l->inputs;
                    for (int k = 0; k < l->inputs; k++) {
                        double product = (double)a[k] * (double)w[k];
                        s->sum += product, s->size += fabs(product);
                    }
                }
        }
    return answers;
}

/* Each step rounds, up or down, by at most 2^-24 of the sum so far. K of these errors add up like a random walk, and
   the limit is twice that. One product left out or counted twice changes about 1 / K, which is more. */
static double error_limit(const layer *l) { return 2 * sqrt(l->k) / (1 << 24); }

/* Runs a rung and returns its largest error, NaN if an output was not written. */
static double check(const layer *l, void (*rung)(const layer *l), const answer *answers) {
    double worst = 0;
    int count = l->pixels * l->outputs;
    memset(l->out, 0xff, (size_t)count * sizeof *l->out);
    rung(l);
    for (int i = 0; i < count; i++) {
        double error = fabs((double)l->out[i] - answers[i].sum) / answers[i].size;
        if (error > worst || error != error) worst = error;
        if (worst != worst) break;
    }
    return worst;
}

/* ---- timing ---- */
static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Fills the caches with other data, then with the inputs, as the previous layer would. Its result depends on both. */
static float set_caches(const layer *l, char *flush, size_t bytes, int round) {
    float sum = 0;
    memset(flush, round, bytes);
    for (int i = 0; i < l->pixels * l->inputs; i += 16) sum += l->image[i];
    return sum + (float)flush[bytes / 2];
}

static double median(double times[ROUNDS]) {
    qsort(times, ROUNDS, sizeof *times, ascending);
    return times[ROUNDS / 2];
}

/* Measures the median seconds of every rung; returns the multiply-adds per second of the peak. */
static double measure(const layer *l, const instruction_set *isa, double seconds[RUNGS]) {
    const size_t flush_bytes = (size_t)32 << 20;
    char *flush = get_memory(flush_bytes);
    double times[RUNGS + 1][ROUNDS];
    volatile float sink;
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < RUNGS && isa->rungs[i]; i++) {
            sink = set_caches(l, flush, flush_bytes, round);
            double start = now();
            isa->rungs[i](l);
            times[i][round] = now() - start;
        }
        double start = now();
        sink = isa->peak(PEAK_ROUNDS, 0.7f);
        times[RUNGS][round] = now() - start;
    }
    (void)sink;
    free(flush);
    for (int i = 0; i < RUNGS && isa->rungs[i]; i++) seconds[i] = median(times[i]);
    return 12.0 * PEAK_ROUNDS * isa->lanes / median(times[RUNGS]);
}

/* Returns 1 if every rung is right. */
static int climb(const layer *l, const instruction_set *isa) {
    size_t bytes = (size_t)(l->pixels * l->outputs) * sizeof *l->out;
    double seconds[RUNGS], errors[RUNGS] = {0}, limit = error_limit(l);
    int same[RUNGS] = {0}, right = 1;
    answer *answers = make_answers(l);
    float *first = get_memory(bytes);
    for (int i = 0; i < RUNGS && isa->rungs[i]; i++) {
        errors[i] = check(l, isa->rungs[i], answers);
        if (i == 0) memcpy(first, l->out, bytes);
        same[i] = memcmp(first, l->out, bytes) == 0;
    }
    double work = (double)l->pixels * l->outputs * l->k, peak = measure(l, isa, seconds);
    printf("measured peak, %s: %.1f GFLOP/s; errors may reach %.1e\n", isa->name, 2e-9 * peak, limit);
    puts("   rung                         error  bits   weights MB         ms   GFLOP/s  share of the peak");
    for (int i = 0; i < RUNGS; i++) {
        int reuse = i < 3 ? 1 : i == 3 ? 4 : isa->tall; /* number of pixels that use a loaded weight */
        printf("%d  %-25s ", i + 1, STEPS[i]);
        if (!isa->rungs[i]) puts("skipped: needs AVX2 or AVX-512");
        else if (!(errors[i] <= limit)) printf("WRONG: an error of %g\n", errors[i]);
        else if (!same[i] && isa->tall) puts("WRONG: the bits differ from rung 1");
        else
            printf("%8.1e  %-5s %11.1f %10.3f %9.2f %17.1f %%\n", errors[i], same[i] ? "same" : "other",
                   4e-6 * l->outputs * l->k * ((l->pixels + reuse - 1) / reuse), 1e3 * seconds[i],
                   2e-9 * work / seconds[i], 100 * work / seconds[i] / peak);
        if (isa->rungs[i] && !(errors[i] <= limit && (same[i] || !isa->tall))) right = 0;
    }
    free(first), free(answers);
    return right;
}

/* Returns the number after an option, or 0 if it is not a number from low to high. */
static int number(const char *text, int low, int high) {
    int value;
    char rest;
    return text && sscanf(text, "%d%c", &value, &rest) == 1 && value >= low && value <= high ? value : 0;
}

int main(int argc, char **argv) {
    layer l;
    const char *name = NULL;
    int good = 1;
    memset(&l, 0, sizeof l);
    l.side = 14, l.kernel = 1, l.inputs = 1024, l.outputs = 256;
    for (int i = 1; i < argc; i++) {
        const char *option = argv[i];
        if (strcmp(option, "--small") == 0) l.side = 5, l.inputs = 24, l.outputs = 128;
        else if (strcmp(option, "--side") == 0) l.side = number(argv[++i], 2, 112);
        else if (strcmp(option, "--kernel") == 0) l.kernel = number(argv[++i], 1, 3);
        else if (strcmp(option, "--inputs") == 0) l.inputs = number(argv[++i], 1, 4096);
        else if (strcmp(option, "--outputs") == 0) l.outputs = number(argv[++i], 128, 4096);
        else if (strcmp(option, "--isa") == 0 && i + 1 < argc) name = argv[++i];
        else good = 0;
        if (i >= argc) break;
    }
    if (!good || !l.side || !l.inputs || !l.outputs || l.kernel % 2 == 0 || l.outputs % 128) {
        fprintf(stderr,
                "usage: %s [--small] [--kernel 1|3] [--side 2...112] [--inputs 1...4096]\n"
                "       [--outputs N, a multiple of 128 up to 4096] [--isa plain|avx2|avx512]\n", argv[0]);
        return 2;
    }
    const instruction_set *isa = choose(name);
    if (!isa) {
        fprintf(stderr, "cpu_ladder: %s: not one of plain, avx2 and avx512, or not supported by this CPU\n", name);
        return 1;
    }
    make_layer(&l, isa->lanes);
    printf("%dx%d convolution, %dx%d pixels, %d to %d channels, one thread: %.2f GFLOP\n", l.kernel, l.kernel, l.side,
           l.side, l.inputs, l.outputs, 2e-9 * l.pixels * l.outputs * l.k);
    int right = climb(&l, isa);
    free_layer(&l);
    return !right;
}
#endif
