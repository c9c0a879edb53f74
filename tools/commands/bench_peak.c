#include "commands/bench_peak.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/threads.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum { CHAINS = 12, REPEATS = 7 }; /* two FMA units with 4 to 5 cycles of latency need 8 to 10 independent chains */
static const long ROUNDS = 2000000;
static const size_t COPIED = (size_t)192 << 20; /* bytes; more than the caches hold */

/* Twelve chains, written out: compilers do not unroll a loop over them at -O2, and would keep them in memory. */
#define CHAINED(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)

/* Each function returns a value that depends on all chains, so that the compiler drops none. Every step is one
   multiply-add from registers: the limit of the units, which no network can reach. */
#define BEGIN(i) x##i = spread((float)i),
#define STEP(i) x##i = multiply_add(x##i);
#define END(i) s = add(s, x##i);
#define CHAINS_OF(vector, first)                                                                                       \
    vector CHAINED(BEGIN) s = spread(0);                                                                               \
    for (long r = 0; r < rounds; r++) { CHAINED(STEP) }                                                                \
    CHAINED(END)                                                                                                       \
    return first(s);

#if defined(__x86_64__)
__attribute__((target("avx512f"))) static float fma_avx512(long rounds, float a) {
    const __m512 m = _mm512_set1_ps(a);
#define spread(x) _mm512_set1_ps(x)
#define multiply_add(x) _mm512_fmadd_ps(x, m, m)
#define add(a, b) _mm512_add_ps(a, b)
    CHAINS_OF(__m512, _mm512_cvtss_f32)
}

/* Inner products of pairs in bf16. The bits do not matter: a is small, so the sums stay finite. */
__attribute__((target("avx512f,avx512bf16"))) static float dot_avx512(long rounds, float a) {
    const __m512bh m = (__m512bh)_mm512_set1_ps(a);
#undef multiply_add
#define multiply_add(x) _mm512_dpbf16_ps(x, m, m)
    CHAINS_OF(__m512, _mm512_cvtss_f32)
#undef spread
#undef multiply_add
#undef add
}

/* Inner products of four bytes. The sums wrap around. */
__attribute__((target("avx512f,avx512vnni"))) static float dot_bytes(long rounds, float a) {
    const __m512i m = _mm512_castps_si512(_mm512_set1_ps(a));
#define spread(x) _mm512_castps_si512(_mm512_set1_ps(x))
#define multiply_add(x) _mm512_dpbusd_epi32(x, m, m)
#define add(a, b) _mm512_add_epi32(a, b)
#define first(x) ((float)_mm_cvtsi128_si32(_mm512_castsi512_si128(x)))
    CHAINS_OF(__m512i, first)
#undef spread
#undef multiply_add
#undef add
#undef first
}

__attribute__((target("avx2,fma"))) static float fma_avx2(long rounds, float a) {
    const __m256 m = _mm256_set1_ps(a);
#define spread(x) _mm256_set1_ps(x)
#define multiply_add(x) _mm256_fmadd_ps(x, m, m)
#define add(a, b) _mm256_add_ps(a, b)
    CHAINS_OF(__m256, _mm256_cvtss_f32)
#undef spread
#undef multiply_add
#undef add
}

/* Products of AMX's tiles, 16 x 32 by 32 x 16, or in INT8 16 x 64 by 64 x 16, into six sums. A process that has used
   AMX before already has permission. */
#define AMX_BEGIN                                                                                                      \
    struct { unsigned char palette, start, none[14]; unsigned short bytes[16]; unsigned char rows[16]; } shape;        \
    memset(&shape, 0, sizeof shape);                                                                                   \
    shape.palette = 1;                                                                                                 \
    for (int i = 0; i < 8; i++) shape.rows[i] = 16, shape.bytes[i] = 64;                                               \
    __asm__ volatile("ldtilecfg %0" ::"m"(shape));                                                                     \
    __asm__ volatile("tilezero %%tmm6\n\ttilezero %%tmm7" ::);
#define SIX(dot)                                                                                                       \
    __asm__ volatile(dot " %%tmm7, %%tmm6, %%tmm0\n\t" dot " %%tmm7, %%tmm6, %%tmm1\n\t" dot                           \
                         " %%tmm7, %%tmm6, %%tmm2\n\t" dot " %%tmm7, %%tmm6, %%tmm3\n\t" dot                           \
                         " %%tmm7, %%tmm6, %%tmm4\n\t" dot " %%tmm7, %%tmm6, %%tmm5" ::)
static float bytes_amx(long rounds, float a) {
    AMX_BEGIN
    for (long r = 0; r < rounds; r++) SIX("tdpbusd");
    __asm__ volatile("tilerelease" ::);
    return a;
}

static float dot_amx(long rounds, float a) {
    AMX_BEGIN
    for (long r = 0; r < rounds; r++) SIX("tdpbf16ps");
    __asm__ volatile("tilerelease" ::);
    return a;
}
#endif

/* Multiplies and adds four floats, the widest that plain C gets on any x86-64 or ARM64. */
typedef float four __attribute__((vector_size(16)));
static float first_of(four x) { return x[0]; }
static float fma_plain(long rounds, float a) {
    const four m = {a, a, a, a};
#define spread(x) (four){x, x, x, x}
#define multiply_add(x) ((x) * m + m)
#define add(a, b) ((a) + (b))
    CHAINS_OF(four, first_of)
}

typedef struct worker {
    pthread_t thread;
    float (*multiply)(long rounds, float a); /* NULL: copy */
    long rounds;
    char *from, *to;
    size_t bytes;
    float result;
} worker;

static void *work(void *argument) {
    worker *w = argument;
    if (w->multiply) w->result = w->multiply(w->rounds, 0.7f);
    else memcpy(w->to, w->from, w->bytes);
    return NULL;
}

/* Seconds of the fastest of REPEATS runs of all workers together; the first also touches the memory. */
static double fastest(worker *workers, int *count) {
    double best = 0;
    for (int k = 0; k < REPEATS; k++) {
        int started = 0;
        double start = clock_seconds();
        for (; started < *count - 1; started++)
            if (!thread_start(&workers[started + 1].thread, work, &workers[started + 1])) break;
        *count = started + 1;
        work(&workers[0]);
        for (int i = 1; i <= started; i++) pthread_join(workers[i].thread, NULL);
        double taken = clock_seconds() - start;
        if (best == 0 || taken < best) best = taken;
    }
    return best;
}

cpu_peak cpu_peak_measure(const char *isa, int threads) {
    cpu_peak peak = {0, 0};
    worker *workers = need_zeroed((size_t)threads, sizeof *workers);
    char *from = malloc(COPIED), *to = malloc(COPIED);
    int count = threads;
    long rounds = ROUNDS;
    double each = 2 * CHAINS * 4; /* FLOPs of a round */
    float (*multiply)(long rounds, float a) = fma_plain;
    if (!workers) {
        free(from), free(to);
        return peak;
    }
#if defined(__x86_64__)
    if (strcmp(isa, "avx512") == 0) multiply = fma_avx512, each = 2 * CHAINS * 16;
    if (strcmp(isa, "avx2") == 0) multiply = fma_avx2, each = 2 * CHAINS * 8;
    if (strcmp(isa, "avx512_bf16") == 0) multiply = dot_avx512, each = 2 * CHAINS * 32;
    if (strcmp(isa, "amx_bf16") == 0) multiply = dot_amx, each = 2 * 6 * 16 * 16 * 32, rounds /= 10;
    if (strcmp(isa, "avx512_vnni") == 0) multiply = dot_bytes, each = 2 * CHAINS * 64;
    if (strcmp(isa, "amx_int8") == 0) multiply = bytes_amx, each = 2 * 6 * 16 * 16 * 64, rounds /= 10;
#else
    (void)isa;
#endif
    for (int i = 0; i < threads; i++) workers[i].multiply = multiply, workers[i].rounds = rounds;
    double seconds = fastest(workers, &count);
    peak.gflops = 1e-9 * (double)rounds * each * count / seconds;
    if (from && to) {
        size_t part = COPIED / (size_t)count;
        memset(from, 1, COPIED); /* otherwise all of it would map to one page of zeros */
        for (int i = 0; i < count; i++) {
            workers[i].multiply = NULL;
            workers[i].from = from + part * (size_t)i;
            workers[i].to = to + part * (size_t)i;
            workers[i].bytes = part;
        }
        int copiers = count;
        seconds = fastest(workers, &copiers);
        peak.gbs = 2e-9 * (double)part * copiers / seconds;
    }
    free(from), free(to), free(workers);
    return peak;
}
