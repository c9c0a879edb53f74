/* test_ops.h: runs one operation of a hand-made plan and compares it with a plain loop in double. For t_ops.c. */
#ifndef TEST_OPS_H
#define TEST_OPS_H

#include "test_net.h"

#define OPS_SEED 7
#define FP32_ISAS 4
static const reid_isa fp32_isas[FP32_ISAS] = {REID_ISA_SCALAR, REID_ISA_AVX2, REID_ISA_AVX512, REID_ISA_NEON};

/* One operation: its tensors, and the arena before it runs. */
typedef struct rig {
    reid__plan plan;
    reid__op *op;
    int n, threads;
    float *tensors[REID__MAX_NEEDED], *arena;
    float *avx2; /* what the AVX2 run left in the arena */
    double *want, *size; /* (n, oh, ow, oc): results, and sums of absolute terms */
} rig;

static void *block(size_t size) {
    void *p = malloc(size ? size : 1);
    assert_non_null(p);
    return p;
}

static float *buffer_at(const rig *r, float *arena, int id, int image) {
    const reid__buffer *b = &r->plan.buffers[id];
    return arena + b->offset * (size_t)r->n + b->floats * (size_t)image;
}

/* One activation. */
static char *at(const rig *r, float *arena, int id, int image, int y, int x, int c) {
    const reid__buffer *b = &r->plan.buffers[id];
    ptrdiff_t index = ((ptrdiff_t)y * b->w + x) * b->c + c;
    if (b->c == 3) index = (y + b->border_y) * reid__image_row(&r->plan, r->op) + (x + b->border_x) * 3 + c;
    return (char *)buffer_at(r, arena, id, image) + index * b->bytes;
}

static double from_bf16(uint16_t bits) {
    uint32_t wide = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &wide, 4);
    return (double)value;
}

static double value_at(const rig *r, float *arena, int id, int image, int y, int x, int c) {
    const char *from = at(r, arena, id, image, y, x, c);
    float value;
    uint16_t half;
    memcpy(&half, from, 2);
    if (r->plan.buffers[id].bytes == 2) return from_bf16(half);
    memcpy(&value, from, 4);
    return (double)value;
}

static void set_value(rig *r, int id, int image, int y, int x, int c, float value) {
    char *to = at(r, r->arena, id, image, y, x, c);
    uint16_t half = reid__to_bf16(value);
    if (r->plan.buffers[id].bytes == 2) memcpy(to, &half, 2);
    else memcpy(to, &value, 4);
}

/* One activation, or zero outside the image. */
static double get(const rig *r, int id, int image, int y, int x, int c) {
    const reid__buffer *b = &r->plan.buffers[id];
    int h = b->c == 3 ? r->op->ih : b->h, w = b->c == 3 ? r->op->iw : b->w;
    return y < 0 || x < 0 || y >= h || x >= w ? 0.0 : value_at(r, r->arena, id, image, y, x, c);
}

static double sigmoid(double x) { return 1 / (1 + exp(-x)); }

static double activate(double x, reid__act act) {
    return act == REID__RELU ? (x > 0 ? x : 0) : act == REID__SILU ? x * sigmoid(x) : x;
}

/* --- the operations, as simply as possible; *size receives the sum of the absolute terms --- */

static double naive_conv(const rig *r, int image, int oy, int ox, int oc, double *size) {
    const reid__op *op = r->op;
    int depthwise = op->kind == REID__DEPTHWISE, ic_count = depthwise ? 1 : op->ic;
    float *const *norm = r->tensors + 1 + op->biased;
    double own = op->biased ? r->tensors[1][oc] : 0, factor = 1, sum = own;
    if (op->bn[0] && oc >= op->bn_from) {
        int c = oc - op->bn_from;
        factor = norm[0][c] / sqrt(norm[3][c] + op->bn_eps);
        sum = norm[1][c] + (own - norm[2][c]) * factor;
    }
    for (int ic = 0; ic < ic_count; ic++)
        for (int ky = 0; ky < op->kh; ky++)
            for (int kx = 0; kx < op->kw; kx++) {
                int channel = depthwise ? oc : ic;
                int y = oy * op->stride - op->pad_y + ky, x = ox * op->stride - op->pad_x + kx;
                double weight = factor * r->tensors[0][((oc * ic_count + ic) * op->kh + ky) * op->kw + kx];
                double input = get(r, op->in, image, y, x, channel);
                if (op->scale != REID__NONE) input *= get(r, op->scale, image, 0, 0, ic);
                if (reid__is_narrow(op) && op->scale != REID__NONE) input = from_bf16(reid__to_bf16((float)input));
                if (reid__is_narrow(op)) weight = from_bf16(reid__to_bf16((float)weight));
                double term = weight * input;
                sum += term, *size += fabs(term);
            }
    if (op->residual != REID__NONE) sum += get(r, op->residual, image, oy, ox, oc);
    return activate(sum, op->act);
}

static double naive_maxpool(const rig *r, int image, int oy, int ox, int c) {
    const reid__op *op = r->op;
    double best = -INFINITY;
    for (int y = oy * op->stride - op->pad_y, ky = 0; ky < op->kh; ky++, y++)
        for (int x = ox * op->stride - op->pad_x, kx = 0; kx < op->kw; kx++, x++)
            if (y >= 0 && x >= 0 && y < op->ih && x < op->iw) best = fmax(best, get(r, op->in, image, y, x, c));
    return best;
}

static double naive_pool(const rig *r, int image, int oy, int ox, int c) {
    const reid__op *op = r->op;
    double sum = 0, count = 0;
    for (int y = 0; y < op->ih; y++)
        for (int x = 0; x < op->iw; x++) /* pixel y lies in bin oy if their intervals of the unit length overlap */
            if (y * op->oh < (oy + 1) * op->ih && (y + 1) * op->oh > oy * op->ih && x * op->ow < (ox + 1) * op->iw &&
                (x + 1) * op->ow > ox * op->iw)
                sum += op->gem ? pow(fmax(get(r, op->in, image, y, x, c), 1e-6), r->tensors[0][0])
                               : get(r, op->in, image, y, x, c), count++;
    return op->gem ? pow(sum / count, 1.0 / r->tensors[0][0]) : sum / count;
}

static double naive_squeeze(const rig *r, int image, int oc) {
    const reid__op *op = r->op;
    double out = r->tensors[3][oc];
    for (int h = 0; h < op->hidden; h++) {
        double hidden = r->tensors[1][h];
        for (int c = 0; c < op->ic; c++) {
            double mean = 0;
            for (int y = 0; y < op->ih; y++) mean += get(r, op->in, image, y, 0, c);
            hidden += mean / (op->ih * op->iw) * r->tensors[0][h * op->ic + c];
        }
        out += activate(hidden, REID__SILU) * r->tensors[2][oc * op->hidden + h];
    }
    return sigmoid(out);
}

static double naive_instance(const rig *r, int image, int oy, int ox, int c) {
    const reid__op *op = r->op;
    double mean = 0, variance = 0, pixels = op->oh * op->ow, x = get(r, op->in, image, oy, ox, c);
    for (int i = 0; i < op->oh * op->ow; i++) mean += get(r, op->in, image, i / op->ow, i % op->ow, c) / pixels;
    for (int i = 0; i < op->oh * op->ow; i++)
        variance += pow(get(r, op->in, image, i / op->ow, i % op->ow, c) - mean, 2) / pixels;
    if (c < op->normed) x = (x - mean) / sqrt(variance + op->bn_eps) * r->tensors[0][c] + r->tensors[1][c];
    return activate(x, op->act) + (op->residual == REID__NONE ? 0 : get(r, op->residual, image, oy, ox, c));
}

static double naive_nonlocal(const rig *r, int image, int oy, int ox, int c, double *size) {
    const reid__op *op = r->op;
    double sum = 0, pixels = op->oh * op->ow;
    for (int i = 0; i < op->oh * op->ow; i++) {
        double alike = 0, value = get(r, op->value, image, i / op->ow, i % op->ow, c) / pixels;
        for (int k = 0; k < op->ic; k++) {
            double term = get(r, op->in, image, oy, ox, k) * get(r, op->key, image, i / op->ow, i % op->ow, k);
            alike += term, *size += fabs(term * value);
        }
        sum += alike * value;
    }
    return sum;
}

static double naive(const rig *r, int image, int oy, int ox, int c, double *size) {
    *size = 1;
    switch (r->op->kind) {
    case REID__MAXPOOL: return naive_maxpool(r, image, oy, ox, c);
    case REID__POOL: return naive_pool(r, image, oy, ox, c);
    case REID__SQUEEZE: return naive_squeeze(r, image, c);
    case REID__INSTANCE: return *size = 4, naive_instance(r, image, oy, ox, c);
    case REID__NONLOCAL: return naive_nonlocal(r, image, oy, ox, c, size);
    default: return naive_conv(r, image, oy, ox, c, size);
    }
}

/* Tests the operation with every instruction set. */
static void expect(rig *r) {
    const reid__op *op = r->op;
    size_t count = (size_t)(r->n * op->oh * op->ow * op->oc), at = 0;
    free(r->want), free(r->size);
    r->want = block(count * sizeof *r->want), r->size = block(count * sizeof *r->size);
    for (int i = 0; i < r->n; i++)
        for (int y = 0; y < op->oh; y++)
            for (int x = 0; x < op->ow; x++)
                for (int c = 0; c < op->oc; c++, at++) r->want[at] = naive(r, i, y, x, c, &r->size[at]);
}

/* --- running ------------------------------------------------------------------------------------------------------ */

/* With room for AMX's reads past its end. */
static size_t arena_bytes(const rig *r) {
    size_t behind = REID__AMX_BEHIND * (reid__widest(&r->plan) / 2 + REID__STEP_BYTES / 4);
    return (r->plan.late_floats * (size_t)r->n + behind) * sizeof(float);
}

/* Noise in what the operation reads, NaN in what it writes, zero in channels and borders that are only padding. */
static void fill_arena(rig *r) {
    reid__op *op = r->op;
    int reads[5] = {op->in, op->residual, op->scale, op->key, op->value};
    size_t index = 0;
    memset(r->arena, 0xff, arena_bytes(r));
    for (int k = 0; k < 5; k++) {
        if (reads[k] == REID__NONE) continue;
        const reid__buffer *b = &r->plan.buffers[reads[k]];
        int image_buffer = b->c == 3, channels = k == 1 ? op->oc : op->ic;
        for (int i = 0; i < r->n; i++) {
            memset(buffer_at(r, r->arena, reads[k], i), 0, b->floats * sizeof(float));
            for (int y = 0; y < (image_buffer ? op->ih : b->h); y++)
                for (int x = 0; x < (image_buffer ? op->iw : b->w); x++)
                    for (int c = 0; c < channels; c++)
                        set_value(r, reads[k], i, y, x, c, net_random((uint64_t)(k * 31 + i), index++));
        }
    }
}

/* Packs the tensors of the operation from a file in memory, as reid_create does. */
static float *pack(rig *r, const reid__kernels *kernels, reid__mem *mem) {
    reid_error error;
    reid__weights file;
    reid__needed_tensor wants[REID__MAX_NEEDED];
    uint64_t digests[REID__MAX_NEEDED][2];
    size_t rows, channels;
    net_file bytes = net_for_plan(&r->plan, OPS_SEED, NULL);
    reid_desc desc = net_desc(&bytes, 1, 1, &error);
    float *packed = block(r->plan.weight_floats * sizeof(float));
    memset(packed, 0xff, r->plan.weight_floats * sizeof(float));
    if (reid__needed_tensors(r->op, wants) > 0) {
        assert_int_equal(reid__weights_open(&file, &desc, mem, &error), REID_OK);
        reid__loader_sizes(&r->plan, kernels->nr, &rows, &channels);
        reid__loader loader = {&file, 0, block(rows * sizeof(float)), block(channels * 4 * sizeof(float)),
                               block(channels * sizeof(double)), kernels, r->plan.buffers, NULL};
        assert_int_equal(reid__pack_op(&loader, r->op, packed, digests, &error), REID_OK);
        for (size_t i = 0; i < r->plan.weight_floats; i++) assert_true(isfinite(packed[i])); /* nothing left unpacked */
        free(loader.rows), free(loader.vectors), free(loader.factors);
        reid__weights_close(&file, mem);
    }
    free(bytes.bytes);
    return packed;
}

/* All channels of one output pixel. row: the sum of its row so far, by channel. */
static void compare_pixel(const rig *r, float *got, const char *isa, int i, int y, int x, double *row) {
    const reid__op *op = r->op;
    int first = op->channel, padded = first + reid__padded(op->oc);
    ptrdiff_t pixel = (((ptrdiff_t)i * op->oh + y) * op->ow + x) * op->oc;
    for (int c = 0; c < op->oc; c++) {
        double size = r->size[pixel + c], want = r->want[pixel + c];
        double have = value_at(r, got, op->out, i, y, x, first + c);
        double rounding = r->plan.buffers[op->out].bytes == 2 ? fabs(want) / 256 : 0;
        row[c] += want;
        if (!(fabs(have - want) <= 2e-6 * (1 + size) + rounding))
            fail_msg("%s %s k%d s%d %dx%dx%d -> %dx%dx%d: image %d (%d, %d) channel %d is %.9g, not %.9g", isa,
                     op->name, op->kh, op->stride, op->ih, op->iw, op->ic, op->oh, op->ow, op->oc, i, y, x, c, have,
                     want);
    }
    for (int c = 0; c < r->plan.buffers[op->out].c; c++) {
        double have = value_at(r, got, op->out, i, y, x, c);
        if (c < first || c >= padded) assert_true(isnan(have)); /* other parts of a concatenation stay untouched */
        else if (c >= first + op->oc && op->kind != REID__SQUEEZE && !op->gem) assert_true(have == 0); /* padding */
    }
}

static void compare(const rig *r, float *got, const char *isa) {
    const reid__op *op = r->op;
    for (int i = 0; i < r->n; i++)
        for (int y = 0; y < op->oh; y++) {
            double row[512] = {0};
            for (int x = 0; x < op->ow; x++) compare_pixel(r, got, isa, i, y, x, row);
            for (int c = 0; c < op->oc && op->sums != REID__NONE; c++)
                assert_true(fabs(value_at(r, got, op->sums, i, y, 0, c) - row[c]) <=
                            (op->act == REID__SILU && r->plan.buffers[op->out].bytes == 2 ? 1e-3 : 1e-5) *
                                (1 + op->ow));
        }
}

/* What a job needs to run: a team and memory. */
typedef struct bench {
    reid__mem mem;
    reid__net net;
    reid__team team;
    reid__thread_memory *scratch;
    reid__job job;
    int threads;
} bench;

static void bench_start(bench *b, const reid__plan *p, const reid__kernels *kernels, const float *packed, int n,
                        int threads, float *arena) {
    static float zeros[512];
    reid_desc desc = REID_INIT;
    memset(b, 0, sizeof *b);
    reid__mem_init(&b->mem, &desc);
    b->net.plan = p, b->net.kernels = kernels, b->net.weights = packed, b->net.zeros = zeros;
    b->net.batch = n, b->net.slots = 1;
    b->threads = threads;
    assert_int_equal(reid__team_start(&b->team, &b->mem, threads, &desc), REID_OK);
    b->scratch = block((size_t)threads * sizeof *b->scratch);
    memset(b->scratch, 0, (size_t)threads * sizeof *b->scratch);
    for (int i = 0; i < threads; i++) {
        size_t floats, rows;
        reid__block_sizes(p, kernels, &floats, &rows);
        b->scratch[i].rows = block(rows * sizeof(float *));
        b->scratch[i].block = block(floats * sizeof(float));
        memset(b->scratch[i].block, 0xff, floats * sizeof(float)); /* NaN */
    }
    b->job.net = &b->net, b->job.team = &b->team, b->job.scratch = b->scratch;
    b->job.n = b->job.room = n, b->job.late = arena; /* split is 0: all buffers are late */
}

static void bench_stop(bench *b) {
    for (int i = 0; i < b->threads; i++) free(b->scratch[i].rows), free(b->scratch[i].block);
    reid__team_stop(&b->team, 0);
    reid__release(&b->mem, NULL);
    free(b->scratch);
    assert_int_equal(b->mem.used, 0);
}

/* With OPS_BITS in the environment: prints a line with the results, which t_neon.sh compares between machines. */
static void say_bits(const rig *r, const float *arena, size_t bytes) {
    const unsigned char *at = (const unsigned char *)arena;
    uint64_t hash = 0xcbf29ce484222325u;
    if (!getenv("OPS_BITS")) return;
    for (size_t i = 0; i < bytes; i++) hash = (hash ^ at[i]) * 0x100000001b3u;
    printf("BITS %s k%d s%d %dx%dx%d -> %dx%dx%d, %d images: %016llx\n", r->op->name, r->op->kh, r->op->stride,
           r->op->ih, r->op->iw, r->op->ic, r->op->oh, r->op->ow, r->op->oc, r->n, (unsigned long long)hash);
}

static void run_one(rig *r, const reid__kernels *kernels) {
    reid__mem mem;
    reid_desc desc = REID_INIT;
    bench b;
    reid__mem_init(&mem, &desc);
    size_t bytes = arena_bytes(r);
    float *packed = pack(r, kernels, &mem), *arena = block(bytes);
    memcpy(arena, r->arena, bytes);
    bench_start(&b, &r->plan, kernels, packed, r->n, r->threads, arena);
    b.job.op = r->op;
    reid__run_op(&b.job);
    compare(r, arena, kernels->name);
    if (strcmp(kernels->name, "avx2") == 0) {
        r->avx2 = block(bytes);
        memcpy(r->avx2, arena, bytes);
    }
    if (strcmp(kernels->name, "avx512") == 0) assert_memory_equal(arena, r->avx2, bytes);
    if (strcmp(kernels->name, "avx2") == 0 || strcmp(kernels->name, "neon") == 0) say_bits(r, arena, bytes);
    bench_stop(&b);
    free(arena), free(packed);
    assert_int_equal(mem.used, 0);
}
#endif
