/* wgmma.c: a warpgroup's asynchronous matrix multiply (PTX manual, "Asynchronous Warpgroup Level Matrix Instructions"):
   d (64xn, fp32) += a (64x16, fp16) * b (16xn, fp16), or d (s32) += a (64x32, u8) * b (32xn, s8), both K-major: a step
   is 32 bytes along K. Each of the four warps does its 16 rows on its own, at its wait for the group, and reads shared
   memory only then. Until then the accumulators hold a NaN pattern. */
#include <immintrin.h>

#include "emulator.h"
#include "tensor_sum.h"

enum { LANES = 32, MAX_N = 256, MAX_SUMS = 16, REGISTER_FILE = 65536 };
static const uint32_t emu_poison = 0x7fad7fad;

typedef struct sums { /* accumulators of a warp */
    float *d[LANES];
    unsigned n, uses; /* by pending products; 0: only kept for a next one without wgmma.fence */
    float rows[16][MAX_N];
} sums;

typedef struct product {
    unsigned long long a, b; /* descriptors */
    unsigned registers[LANES][4], n, group;
    sums *into;
    int from_registers, accumulate, bytes, bf16, line;
} product;

struct emu_tensor { /* of a warp */
    product *list;
    unsigned count, capacity, groups;
    sums *sums[MAX_SUMS];
    int fenced;
    unsigned registers; /* setmaxnreg; 0: none yet */
    uint64_t history;   /* hash of the operations that the whole warpgroup must do alike */
    int line;
};

/* ---- operands in shared memory: "Shared Memory Matrix Layout", "Matrix Descriptor Format" ---- */

enum { NO_SWIZZLE = 0, SWIZZLE_128 = 1, SWIZZLE_64 = 2 };

static unsigned field(unsigned long long descriptor, unsigned bit) {
    return (unsigned)(descriptor >> bit & 0x3fff) << 4;
}

static void check_descriptor(unsigned long long d, int line) {
    unsigned swizzle = (unsigned)(d >> 62), start = field(d, 0), row = swizzle == SWIZZLE_64 ? 64 : 128;
    if (d >> 14 & 3 || d >> 30 & 3 || d >> 46 & 7 || d >> 52 & 1023)
        emu_fault(CUDA_ERROR_LAUNCH_FAILED, line, NULL, "a wgmma descriptor, 0x%llx, with reserved bits", d);
    if (swizzle > SWIZZLE_64)
        emu_fault(CUDA_ERROR_LAUNCH_FAILED, line, NULL, "a wgmma descriptor with swizzle %u: the emulator knows 0 "
                  "(none), 1 (128 bytes) and 2 (64 bytes)", swizzle);
    if (d >> 49 & 7 || (swizzle != NO_SWIZZLE && start % (8 * row) >= row))
        emu_fault(CUDA_ERROR_LAUNCH_FAILED, line, NULL, "a wgmma descriptor of shared offset %u: the emulator knows "
                  "patterns that begin at multiples of %u bytes, with base offset 0",
                  start - REID_EMULATOR_SHARED_BASE, 8 * row);
}

/* The shared offset of the 16 bytes that are half `half` of a step (along K) of a row (along M or N). */
static unsigned chunk_of(unsigned long long d, unsigned row, unsigned half) {
    unsigned at = field(d, 0) + row / 8 * field(d, 32);
    if (d >> 62 == NO_SWIZZLE) return at + half * field(d, 16) + row % 8 * 16 - REID_EMULATOR_SHARED_BASE;
    at += row % 8 * (d >> 62 == SWIZZLE_128 ? 128 : 64) + half * 16;
    return (at ^ (at >> 7 & (d >> 62 == SWIZZLE_128 ? 7 : 3)) << 4) - REID_EMULATOR_SHARED_BASE;
}

static void touch(emu_worker *w, unsigned long long d, unsigned from, unsigned rows, int how, int line) {
    if (how == EMU_ASYNC_DONE && !w->cells) return;
    for (unsigned i = 0; i < rows * 2; i++) {
        unsigned offset = chunk_of(d, from + i / 2, i % 2);
        if (how == EMU_ASYNC_READ && (offset > w->shared_bytes || offset + 16 > w->shared_bytes))
            emu_fault(CUDA_ERROR_ILLEGAL_ADDRESS, line, NULL, "wgmma reads row %u at shared offset %u of %u bytes",
                      from + i / 2, offset, w->shared_bytes);
        if (w->cells) emu_check_shared(w, w->current, offset, 16, how, line, NULL);
    }
}

static void touch_operands(emu_worker *w, unsigned warp, const product *p, int how, int line) {
    if (!p->from_registers) touch(w, p->a, warp % 4 * 16, 16, how, line);
    touch(w, p->b, 0, p->n, how, line);
}

/* ---- the product; register layouts: "Register Fragments for wgmma.mma_async.m64nNk16" ---- */

/* Halves are the upper ones of floats, or fp16. */
static __m256 floats_of(__m128i halves, int bf16) {
    if (bf16) return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(halves), 16));
    return _mm256_cvtph_ps(halves);
}

static void eight_floats(const emu_worker *w, unsigned offset, int bf16, float *to) {
    __m128i halves;
    memcpy(&halves, w->instance->shared + offset, 16);
    _mm256_storeu_ps(to, floats_of(halves, bf16));
}

static void load_a(const emu_worker *w, unsigned warp, const product *p, float a[16][16]) {
    for (unsigned i = 0; i < 32 && !p->from_registers; i++)
        eight_floats(w, chunk_of(p->a, warp % 4 * 16 + i / 2, i % 2), p->bf16, &a[i / 2][i % 2 * 8]);
    for (unsigned i = 0; i < LANES * 4 && p->from_registers; i++) {
        unsigned lane = i / 4, r = i % 4;
        __m128 both = _mm256_castps256_ps128(floats_of(_mm_cvtsi32_si128((int)p->registers[lane][r]), p->bf16));
        float *at = &a[lane / 4 + r % 2 * 8][lane % 4 * 2 + r / 2 * 8];
        at[0] = _mm_cvtss_f32(both);
        at[1] = _mm_cvtss_f32(_mm_shuffle_ps(both, both, 1));
    }
}

/* One sum of a step: 32 products of bytes. */
static int32_t dot_bytes(const uint8_t a[32], const int8_t b[32]) {
    __m256i sum = _mm256_setzero_si256();
    for (unsigned half = 0; half < 32; half += 16) {
        __m256i x = _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)(const void *)(a + half)));
        __m256i y = _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(const void *)(b + half)));
        sum = _mm256_add_epi32(sum, _mm256_madd_epi16(x, y));
    }
    __m128i four = _mm_add_epi32(_mm256_castsi256_si128(sum), _mm256_extracti128_si256(sum, 1));
    four = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0x4e));
    return _mm_cvtsi128_si32(four) + _mm_extract_epi32(four, 1);
}

static void multiply_bytes(emu_worker *w, unsigned warp, const product *p) {
    uint8_t a[16][32];
    int8_t b[MAX_N][32];
    for (unsigned i = 0; i < 32; i++)
        memcpy(&a[i / 2][i % 2 * 16], w->instance->shared + chunk_of(p->a, warp % 4 * 16 + i / 2, i % 2), 16);
    for (unsigned i = 0; i < p->n * 2; i++)
        memcpy(&b[i / 2][i % 2 * 16], w->instance->shared + chunk_of(p->b, i / 2, i % 2), 16);
    for (unsigned row = 0; row < 16; row++)
        for (unsigned column = 0; column < p->n; column++) {
            int32_t sum = 0;
            if (p->accumulate) memcpy(&sum, &p->into->rows[row][column], 4);
            sum += dot_bytes(a[row], b[column]);
            memcpy(&p->into->rows[row][column], &sum, 4);
        }
}

/* b[k][row]: of eight rows and both halves at a time, whose 8x8 halves are turned by merging neighbours three times. */
static void load_b(const emu_worker *w, const product *p, float b[16][MAX_N]) {
    for (unsigned i = 0; i < p->n / 4; i++) {
        unsigned row = i / 2 * 8, half = i % 2;
        __m128i from[8], to[8];
        for (unsigned k = 0; k < 8; k++)
            memcpy(&from[k], w->instance->shared + chunk_of(p->b, row + k, half), sizeof from[k]);
        for (unsigned turn = 0; turn < 3; turn++, memcpy(from, to, sizeof from))
            for (unsigned k = 0; k < 4; k++) {
                to[2 * k] = _mm_unpacklo_epi16(from[k], from[k + 4]);
                to[2 * k + 1] = _mm_unpackhi_epi16(from[k], from[k + 4]);
            }
        for (unsigned k = 0; k < 8; k++) _mm256_storeu_ps(&b[half * 8 + k][row], floats_of(from[k], p->bf16));
    }
}

/* Eight rows and eight columns at a time; every sum in the order of k. */
static void add_products(float (*d)[MAX_N], float (*a)[16], float (*b)[MAX_N], unsigned n, int accumulate) {
    for (unsigned column = 0; column < n; column += 8)
        for (unsigned row = 0; row < 16; row += 8) {
            __m256 sum[8];
#pragma GCC unroll 8
            for (unsigned i = 0; i < 8; i++)
                sum[i] = accumulate ? _mm256_loadu_ps(&d[row + i][column]) : _mm256_setzero_ps();
            for (unsigned k = 0; k < 16; k++) {
                __m256 v = _mm256_loadu_ps(&b[k][column]);
#pragma GCC unroll 8
                for (unsigned i = 0; i < 8; i++) sum[i] = _mm256_fmadd_ps(_mm256_set1_ps(a[row + i][k]), v, sum[i]);
            }
#pragma GCC unroll 8
            for (unsigned i = 0; i < 8; i++) _mm256_storeu_ps(&d[row + i][column], sum[i]);
        }
}

/* With sums as tensor cores add them. */
static void add_tensor_sums(float (*d)[MAX_N], float (*a)[16], float (*b)[MAX_N], const product *p) {
    const int least = p->bf16 ? TENSOR_LEAST_BF16 : TENSOR_LEAST_F16;
    const int bits = tensor_bits(emu_get_settings()->arch);
    for (unsigned row = 0; row < 16; row++)
        for (unsigned column = 0; column < p->n; column++)
            d[row][column] = tensor_sum(p->accumulate ? d[row][column] : 0, a[row], &b[0][column], MAX_N, 16, least,
                                        bits);
}

static void multiply(emu_worker *w, unsigned warp, const product *p) {
    float a[16][16], b[16][MAX_N];
    load_a(w, warp, p, a);
    load_b(w, p, b);
    if (emu_get_settings()->tensor_sums) add_tensor_sums(p->into->rows, a, b, p);
    else add_products(p->into->rows, a, b, p->n, p->accumulate);
}

/* ---- accumulators ---- */

static sums *find_sums(emu_tensor *t, const float *d) {
    for (unsigned i = 0; i < MAX_SUMS; i++)
        if (t->sums[i] && t->sums[i]->d[0] == d) return t->sums[i];
    return NULL;
}

static void forget_sums(emu_tensor *t, int all) {
    for (unsigned i = 0; i < MAX_SUMS; i++)
        if (t->sums[i] && (all || !t->sums[i]->uses)) free(t->sums[i]), t->sums[i] = NULL;
}

static sums *new_sums(emu_tensor *t, int line) {
    for (unsigned i = 0; i < MAX_SUMS; i++) {
        if (t->sums[i]) continue;
        t->sums[i] = (sums *)calloc(1, sizeof *t->sums[i]);
        if (t->sums[i]) return t->sums[i];
        emu_fault(CUDA_ERROR_OUT_OF_MEMORY, line, NULL, "no memory for accumulators of wgmma");
    }
    emu_fault(CUDA_ERROR_LAUNCH_FAILED, line, NULL, "more than %d accumulators of wgmma at once", MAX_SUMS);
}

/* Where a lane's registers 2 i and 2 i + 1 are in the rows. */
static float *two_of(sums *s, unsigned lane, unsigned i) {
    return &s->rows[lane / 4 + i % 2 * 8][i / 2 * 8 + lane % 4 * 2];
}

/* Whether a wgmma without a preceding fence may use the accumulators: only if no thread has changed them since. */
static int untouched(sums *s, emu_thread *lanes) {
    for (unsigned lane = 0; lane < LANES; lane++) {
        if (s->d[lane] != lanes[lane].operands->d) return 0;
        for (unsigned i = 0; i < s->n / 4; i++)
            if (memcmp(s->d[lane] + 2 * i, two_of(s, lane, i), 2 * sizeof(float)) != 0) return 0;
    }
    return 1;
}

static sums *take_sums(emu_tensor *t, emu_thread *lanes, unsigned n) {
    int line = lanes[0].line;
    sums *s = find_sums(t, lanes[0].operands->d);
    if (s && s->uses) {
        if (s->n != n)
            emu_fault(CUDA_ERROR_LAUNCH_FAILED, line, NULL, "wgmma of n %u adds to accumulators of one of n %u that is "
                      "under way", n, s->n);
        return s;
    }
    if (!t->fenced && (!s || s->n != n || !untouched(s, lanes)))
        emu_fault(CUDA_ERROR_LAUNCH_FAILED, line, NULL, "wgmma without a wgmma.fence before it%s",
                  s ? ": its accumulators have been written since the last one" : "");
    if (!s) s = new_sums(t, line);
    s->n = n;
    for (unsigned lane = 0; lane < LANES; lane++) {
        s->d[lane] = lanes[lane].operands->d;
        for (unsigned i = 0; i < n / 4; i++) memcpy(two_of(s, lane, i), s->d[lane] + 2 * i, 2 * sizeof(float));
        for (unsigned k = 0; k < n / 2; k++) memcpy(&s->d[lane][k], &emu_poison, 4);
    }
    return s;
}

static void give_sums(sums *s, int line) {
    for (unsigned i = 0; i < LANES; i++) {
        for (unsigned k = 0; k < s->n / 2; k++)
            if (memcmp(&s->d[i][k], &emu_poison, 4) != 0)
                emu_fault(CUDA_ERROR_LAUNCH_FAILED, line, NULL, "accumulator %u of lane %u was written before the "
                          "wgmma.wait_group", k, i);
        for (unsigned k = 0; k < s->n / 4; k++) memcpy(s->d[i] + 2 * k, two_of(s, i, k), 2 * sizeof(float));
    }
}

int emu_wgmma_owns(const emu_worker *w, const emu_thread *t, uintptr_t address, unsigned bytes) {
    const emu_tensor *tensor = w->warps[t->warp].tensor;
    for (unsigned i = 0; tensor && tensor->count && i < MAX_SUMS; i++) {
        const sums *s = tensor->sums[i];
        if (!s || !s->uses) continue;
        uintptr_t d = (uintptr_t)s->d[t->lane];
        if (address < d + s->n * 2 && d < address + bytes) return 1;
    }
    return 0;
}

/* ---- the instructions ---- */

static emu_tensor *tensor_of(emu_worker *w, unsigned warp, int line) {
    emu_warp *group = &w->warps[warp];
    if (warp / 4 * 4 + 4 > w->thread_count / 32)
        emu_fault(CUDA_ERROR_LAUNCH_FAILED, line, NULL, "wgmma or setmaxnreg in a warpgroup of fewer than 128 threads");
    if (!group->tensor) group->tensor = (emu_tensor *)calloc(1, sizeof *group->tensor);
    if (!group->tensor) emu_fault(CUDA_ERROR_OUT_OF_MEMORY, line, NULL, "no memory for wgmma");
    group->tensor->line = line;
    return group->tensor;
}

static void remember(emu_tensor *t, uint64_t what) {
    t->history = (t->history ^ what) * 0x9e3779b97f4a7c15u;
    t->history ^= t->history >> 29;
}

static product *new_product(emu_tensor *t, int line) {
    if (t->count == t->capacity) {
        unsigned capacity = t->capacity ? 2 * t->capacity : 16;
        product *grown = (product *)realloc(t->list, capacity * sizeof *grown);
        if (!grown) emu_fault(CUDA_ERROR_OUT_OF_MEMORY, line, NULL, "no memory for %u wgmma", capacity);
        t->list = grown, t->capacity = capacity;
    }
    return &t->list[t->count];
}

static void issue(emu_worker *w, emu_tensor *t, unsigned warp) {
    emu_thread *lanes = &w->threads[warp * 32];
    const struct reid_emulator_lane *first = lanes[0].operands;
    int line = lanes[0].line;
    product *p = new_product(t, line);
    *p = (product){.a = first->first, .b = first->second, .n = first->count, .group = t->groups,
                   .from_registers = first->a != NULL, .accumulate = first->value != 0, .bytes = first->width == 1,
                   .bf16 = first->width == 2, .line = line};
    for (unsigned i = 0; i < LANES; i++) {
        const struct reid_emulator_lane *o = lanes[i].operands;
        if (o->first != p->a || o->second != p->b || o->count != p->n || o->value != first->value ||
            !o->a != !first->a)
            emu_fault(CUDA_ERROR_LAUNCH_FAILED, lanes[i].line, NULL, "wgmma with other operands than lane 0's");
        if (o->a) memcpy(p->registers[i], o->a, sizeof p->registers[i]);
    }
    remember(t, p->a * 3 + p->b * 5 + p->n * 8 + (unsigned)p->bytes * 4 + (unsigned)p->accumulate * 2 +
                (unsigned)p->from_registers);
    if (!p->from_registers) check_descriptor(p->a, line);
    check_descriptor(p->b, line);
    touch_operands(w, warp, p, EMU_ASYNC_READ, line);
    p->into = take_sums(t, lanes, p->n);
    p->into->uses++;
    t->count++;
}

static void wait(emu_worker *w, emu_tensor *t, unsigned warp, unsigned groups_left, int line) {
    unsigned done = 0;
    for (; done < t->count && t->list[done].group + groups_left < t->groups; done++) {
        product *p = &t->list[done];
        if (p->bytes) multiply_bytes(w, warp, p);
        else multiply(w, warp, p);
        touch_operands(w, warp, p, EMU_ASYNC_DONE, line);
        if (--p->into->uses == 0) give_sums(p->into, line);
    }
    if (!done) return;
    t->count -= done, t->fenced = 0;
    memmove(t->list, t->list + done, t->count * sizeof *t->list);
}

/* setmaxnreg: the registers that a thread may use from now on. */
static void set_registers(emu_worker *w, emu_tensor *t, unsigned warp) {
    const emu_thread *lane = &w->threads[warp * 32];
    unsigned count = lane->operands->value, more = lane->operands->count;
    if (t->registers && (more ? count < t->registers : count > t->registers))
        emu_fault(CUDA_ERROR_LAUNCH_FAILED, lane->line, NULL, "setmaxnreg.%s to %u from %u", more ? "inc" : "dec",
                  count, t->registers);
    t->registers = count;
    remember(t, 7 + count * 2 + more);
}

void emu_wgmma_execute(emu_worker *w, unsigned warp, enum reid_emulator_op op) {
    const emu_thread *lane = &w->threads[warp * 32];
    emu_tensor *t = tensor_of(w, warp, lane->line);
    switch (op) {
    case REID_EMULATOR_WGMMA: issue(w, t, warp); break;
    case REID_EMULATOR_WGMMA_FENCE: t->fenced = 1, forget_sums(t, 0); break;
    case REID_EMULATOR_WGMMA_COMMIT: t->groups++; break;
    case REID_EMULATOR_WGMMA_WAIT: wait(w, t, warp, lane->operands->value, lane->line); break;
    default: set_registers(w, t, warp); break;
    }
}

/* ---- a block ---- */

void emu_wgmma_begin(emu_worker *w) {
    for (unsigned i = 0; i < EMU_WARPS; i++) {
        emu_tensor *t = w->warps[i].tensor;
        if (!t) continue;
        forget_sums(t, 1);
        t->count = t->groups = t->registers = 0, t->fenced = 0, t->history = 0;
    }
}

void emu_wgmma_end(emu_worker *w) {
    static const emu_tensor none;
    unsigned registers = 0;
    int line = 0;
    for (unsigned i = 0; i < w->warp_count && !w->fault; i++) {
        const emu_tensor *t = w->warps[i].tensor, *first = w->warps[i / 4 * 4].tensor;
        if (!t) t = &none;
        if (!first) first = &none;
        if (t->count)
            emu_fail_block(w, i * 32, t->list[0].line, "the block ends before the wgmma.wait_group for a wgmma");
        else if (t->history != first->history)
            emu_fail_block(w, i * 32, t->line ? t->line : first->line, "the four warps of a warpgroup did not do the "
                           "same wgmma and setmaxnreg");
        registers += t->registers * 32;
        if (t->line) line = t->line;
    }
    if (registers > REGISTER_FILE && !w->fault)
        emu_fail_block(w, 0, line, "setmaxnreg gives the block %u registers; there are %d", registers, REGISTER_FILE);
}
