/* warp.c: warp-wide operations. They run when the last lane has arrived, so every lane's operands are there. Register
   layouts are those of the PTX manual, "Matrix Fragments for mma.m16n8k8 / mma.m16n8k16" and "ldmatrix". */
#include <immintrin.h>

#include "emulator.h"
#include "tensor_sum.h"

static struct reid_emulator_lane *operands(emu_worker *w, unsigned warp, unsigned lane) {
    return w->threads[warp * 32 + lane].operands;
}

/* ---- shuffles and votes ---- */

/* The lane from which `lane` reads; its own if the source is outside its segment. */
static unsigned source_lane(enum reid_emulator_op op, unsigned lane, unsigned other, unsigned width) {
    unsigned first = lane & ~(width - 1), last = first + width - 1, from;
    switch (op) {
    case REID_EMULATOR_SHFL_IDX: return first + (other & (width - 1));
    case REID_EMULATOR_SHFL_UP: return lane - first < other ? lane : lane - other;
    case REID_EMULATOR_SHFL_DOWN: return last - lane < other ? lane : lane + other;
    default: break;
    }
    from = lane ^ (other & 31u);
    return from <= last ? from : lane; /* an earlier segment may be read, a later one not */
}

static void shuffle(emu_worker *w, unsigned warp, enum reid_emulator_op op) {
    unsigned values[32];
    for (unsigned i = 0; i < 32; i++) values[i] = operands(w, warp, i)->value;
    for (unsigned i = 0; i < 32; i++) {
        struct reid_emulator_lane *o = operands(w, warp, i);
        if (o->width == 0 || o->width > 32 || (o->width & (o->width - 1)))
            emu_fault(CUDA_ERROR_LAUNCH_FAILED, w->threads[warp * 32 + i].line, NULL, "a shuffle of width %u",
                      o->width);
        o->value = values[source_lane(op, i, o->lane, o->width)];
    }
}

static void ballot(emu_worker *w, unsigned warp) {
    unsigned mask = 0, members = w->warps[warp].members;
    for (unsigned i = 0; i < members; i++) mask |= operands(w, warp, i)->value << i;
    for (unsigned i = 0; i < members; i++) operands(w, warp, i)->value = mask;
}

/* ---- mma: d (16x8, fp32) += a (16xk, fp16 or bf16) * b (kx8), k = 8 or 16 ---- */

/* A register holds two halves, the lower column or row number in the low half. */
static void two_floats(unsigned halves, int bf16, float *low, float *high) {
    if (bf16) {
        const uint32_t bits[2] = {halves << 16, halves & 0xffff0000u};
        memcpy(low, &bits[0], 4), memcpy(high, &bits[1], 4);
        return;
    }
    __m128 both = _mm_cvtph_ps(_mm_cvtsi32_si128((int)halves));
    *low = _mm_cvtss_f32(both);
    *high = _mm_cvtss_f32(_mm_shuffle_ps(both, both, 1));
}

/* d += a b, every sum a chain of multiply-adds in the order of k. */
static void add_products(float (*d)[8], float (*a)[16], float (*b)[8], unsigned k) {
    for (unsigned row = 0; row < 16; row++) {
        __m256 sum = _mm256_loadu_ps(d[row]);
        for (unsigned i = 0; i < k; i++) sum = _mm256_fmadd_ps(_mm256_set1_ps(a[row][i]), _mm256_loadu_ps(b[i]), sum);
        _mm256_storeu_ps(d[row], sum);
    }
}

/* Like mma, with sums as the chip's tensor cores add them. */
static void add_tensor_sums(float (*d)[8], float (*a)[16], float (*b)[8], int k, int bf16) {
    const int arch = emu_get_settings()->arch, terms = tensor_terms(arch, k);
    for (int i = 0; i < k; i += terms)
        for (unsigned at = 0; at < 16 * 8; at++)
            d[at / 8][at % 8] = tensor_sum(d[at / 8][at % 8], a[at / 8] + i, b[i] + at % 8, 8, terms,
                                           bf16 ? TENSOR_LEAST_BF16 : TENSOR_LEAST_F16, tensor_bits(arch));
}

static void mma(emu_worker *w, unsigned warp, unsigned k) {
    const int bf16 = operands(w, warp, 0)->width == 2;
    float a[16][16], b[16][8], d[16][8];
    for (unsigned lane = 0; lane < 32; lane++) {
        const struct reid_emulator_lane *o = operands(w, warp, lane);
        unsigned group = lane / 4, pair = lane % 4 * 2;
        for (unsigned i = 0; i < k / 4; i++) { /* a: rows group, group + 8; then the same for columns 8 to 15 */
            float *at = &a[group + i % 2 * 8][pair + i / 2 * 8];
            two_floats(o->a[i], bf16, at, at + 1);
        }
        for (unsigned i = 0; i < k / 8; i++)
            two_floats(o->b[i], bf16, &b[pair + i * 8][group], &b[pair + i * 8 + 1][group]);
        for (unsigned i = 0; i < 4; i++) d[group + i / 2 * 8][pair + i % 2] = o->d[i];
    }
    if (emu_get_settings()->tensor_sums) add_tensor_sums(d, a, b, (int)k, bf16);
    else add_products(d, a, b, k);
    for (unsigned lane = 0; lane < 32; lane++)
        for (unsigned i = 0; i < 4; i++)
            operands(w, warp, lane)->d[i] = d[lane / 4 + i / 2 * 8][lane % 4 * 2 + i % 2];
}

/* d (16x8, s32) += a (16x32, u8) * b (32x8, s8). A register holds four bytes, the lowest column or row lowest. */
static void mma_bytes(emu_worker *w, unsigned warp) {
    int16_t a[16][32], b[16][8][2]; /* b: two rows side by side, as one instruction multiplies and adds them */
    int d[16][8];
    for (unsigned lane = 0; lane < 32; lane++) {
        const struct reid_emulator_lane *o = operands(w, warp, lane);
        unsigned group = lane / 4, four = lane % 4 * 4;
        for (unsigned i = 0; i < 16; i++) /* rows group, group + 8; then the same for columns 16 to 31 */
            a[group + i / 4 % 2 * 8][four + i / 8 * 16 + i % 4] = (int16_t)(o->a[i / 4] >> i % 4 * 8 & 255);
        for (unsigned i = 0; i < 8; i++) {
            unsigned k = four + i / 4 * 16 + i % 4;
            b[k / 2][group][k % 2] = (int8_t)(o->b[i / 4] >> i % 4 * 8 & 255);
        }
        /* the bits of o->d are integers' */
        for (unsigned i = 0; i < 4; i++) memcpy(&d[group + i / 2 * 8][lane % 4 * 2 + i % 2], &o->d[i], 4);
    }
    for (unsigned row = 0; row < 16; row++) {
        __m256i sum = _mm256_loadu_si256((const __m256i *)(const void *)d[row]);
        for (unsigned k = 0; k < 16; k++) {
            int two;
            memcpy(&two, &a[row][2 * k], 4);
            sum = _mm256_add_epi32(sum, _mm256_madd_epi16(_mm256_set1_epi32(two),
                                                          _mm256_loadu_si256((const __m256i *)(const void *)b[k])));
        }
        _mm256_storeu_si256((__m256i *)(void *)d[row], sum);
    }
    for (unsigned lane = 0; lane < 32; lane++)
        for (unsigned i = 0; i < 4; i++)
            memcpy(&operands(w, warp, lane)->d[i], &d[lane / 4 + i / 2 * 8][lane % 4 * 2 + i % 2], 4);
}

/* ---- ldmatrix: 8x8 matrices of halves; lane i holds the address of row i % 8 of matrix i / 8 ---- */

static unsigned char *matrix_row(emu_worker *w, emu_thread *t, const char *what, int how) {
    unsigned offset = t->operands->value - REID_EMULATOR_SHARED_BASE;
    w->current = t; /* a fault is about the lane that gave the address */
    if (offset % 16)
        emu_fault(CUDA_ERROR_MISALIGNED_ADDRESS, t->line, NULL, "%s row at shared offset %u: not a multiple of 16",
                  what, offset);
    if (offset + 16 > w->shared_bytes || offset > w->shared_bytes)
        emu_fault(CUDA_ERROR_ILLEGAL_ADDRESS, t->line, NULL, "%s row at shared offset %u of %u bytes", what, offset,
                  w->shared_bytes);
    if (w->cells) emu_check_shared(w, t, offset, 16, how, t->line, NULL);
    return w->instance->shared + offset;
}

static void ldmatrix(emu_worker *w, unsigned warp, int transposed) {
    uint16_t matrices[4][8][8];
    emu_thread *lanes = &w->threads[warp * 32], *last = w->current;
    unsigned count = lanes[0].operands->count;
    for (unsigned i = 0; i < 8 * count; i++)
        memcpy(matrices[i / 8][i % 8], matrix_row(w, &lanes[i], "ldmatrix", EMU_READ), 16);
    w->current = last;
    for (unsigned i = 0; i < 32; i++) {
        unsigned row = i / 4, column = i % 4 * 2;
        if (lanes[i].operands->count != count)
            emu_fault(CUDA_ERROR_LAUNCH_FAILED, lanes[i].line, NULL, "ldmatrix.x%u while lane 0 is at .x%u",
                      lanes[i].operands->count, count);
        for (unsigned m = 0; m < count; m++) {
            unsigned low = transposed ? matrices[m][column][row] : matrices[m][row][column];
            unsigned high = transposed ? matrices[m][column + 1][row] : matrices[m][row][column + 1];
            lanes[i].operands->r[m] = low | high << 16;
        }
    }
}

/* stmatrix is ldmatrix backwards: the same lanes give the addresses, and have the elements. */
static void stmatrix(emu_worker *w, unsigned warp, int transposed) {
    uint16_t matrices[4][8][8];
    emu_thread *lanes = &w->threads[warp * 32], *last = w->current;
    unsigned count = lanes[0].operands->count;
    for (unsigned i = 0; i < 32; i++) {
        unsigned row = i / 4, column = i % 4 * 2;
        if (lanes[i].operands->count != count)
            emu_fault(CUDA_ERROR_LAUNCH_FAILED, lanes[i].line, NULL, "stmatrix.x%u while lane 0 is at .x%u",
                      lanes[i].operands->count, count);
        for (unsigned m = 0; m < count; m++)
            for (unsigned k = 0; k < 2; k++) {
                uint16_t half = (uint16_t)(lanes[i].operands->a[m] >> 16 * k);
                if (transposed) matrices[m][column + k][row] = half;
                else matrices[m][row][column + k] = half;
            }
    }
    for (unsigned i = 0; i < 8 * count; i++)
        memcpy(matrix_row(w, &lanes[i], "stmatrix", EMU_WRITE), matrices[i / 8][i % 8], 16);
    w->current = last;
}

void emu_warp_execute(emu_worker *w, unsigned warp, enum reid_emulator_op op) {
    switch (op) {
    case REID_EMULATOR_SYNCWARP: break;
    case REID_EMULATOR_SHFL_IDX:
    case REID_EMULATOR_SHFL_UP:
    case REID_EMULATOR_SHFL_DOWN:
    case REID_EMULATOR_SHFL_XOR: shuffle(w, warp, op); break;
    case REID_EMULATOR_BALLOT: ballot(w, warp); break;
    case REID_EMULATOR_MMA_K8: mma(w, warp, 8); break;
    case REID_EMULATOR_MMA_K16: mma(w, warp, 16); break;
    case REID_EMULATOR_MMA_U8S8: mma_bytes(w, warp); break;
    case REID_EMULATOR_LDMATRIX: ldmatrix(w, warp, 0); break;
    case REID_EMULATOR_LDMATRIX_TRANS: ldmatrix(w, warp, 1); break;
    case REID_EMULATOR_STMATRIX: stmatrix(w, warp, 0); break;
    case REID_EMULATOR_STMATRIX_TRANS: stmatrix(w, warp, 1); break;
    case REID_EMULATOR_WGMMA:
    case REID_EMULATOR_WGMMA_FENCE:
    case REID_EMULATOR_WGMMA_COMMIT:
    case REID_EMULATOR_WGMMA_WAIT:
    case REID_EMULATOR_SETMAXNREG: emu_wgmma_execute(w, warp, op); break;
    }
}
