/* t_ops.c: every operation of the CPU executor, on every instruction set of this machine, against a plain loop in
   double (test_ops.h) over odd shapes. AVX2 and AVX-512 must agree bit for bit.

   cc -std=c99 -D_GNU_SOURCE -O2 -I. tests/core/t_ops.c -o t_ops -lcmocka -lm -lpthread */
#include <float.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#define REID_STATIC
#define REID_IMPLEMENTATION
#include "reid.h"
#include "../lib/test_ops.h"

static rig *new_rig(int n, int threads, int same) {
    rig *r = block(sizeof *r);
    memset(r, 0, sizeof *r);
    r->plan.arch = reid__archs[2];
    r->plan.arch.same_padding = same;
    r->n = n, r->threads = threads;
    return r;
}

/* Runs the plan's only operation on every instruction set, in FP32 and then in bf16, and frees the rig. */
static void run(rig *r) {
    reid__needed_tensor wants[REID__MAX_NEEDED];
    r->op = &r->plan.ops[0];
    r->plan.embedding = r->op->out;
    assert_int_equal(r->plan.overflow, 0);
    reid__lifetimes(&r->plan);
    reid__assign_offsets(&r->plan);
    r->arena = block(arena_bytes(r));
    fill_arena(r);
    for (int i = 0, count = reid__needed_tensors(r->op, wants); i < count; i++) {
        r->tensors[i] = block(net_count(&wants[i]) * sizeof(float));
        net_values(&wants[i], OPS_SEED, NULL, r->tensors[i]);
    }
    expect(r);
    for (int i = 0; i < FP32_ISAS; i++)
        if (reid__kernels_for(fp32_isas[i])) run_one(r, reid__kernels_for(fp32_isas[i]));
    reid__plan_narrow(&r->plan, REID__ELEMENT_BF16);
    fill_arena(r);
    if (reid__kernels_for(REID_ISA_AVX512_BF16)) expect(r);
    for (int isa = REID_ISA_AVX512_BF16; isa <= REID_ISA_AMX_BF16; isa++)
        if (reid__kernels_for((reid_isa)isa)) run_one(r, reid__kernels_for((reid_isa)isa));
    for (int i = 0; i < REID__MAX_NEEDED; i++) free(r->tensors[i]);
    free(r->avx2), free(r->want), free(r->size), free(r->arena), free(r);
}

typedef struct conv_case {
    int k, stride, ic, oc, h, w, n, threads;
} conv_case;

/* same: TensorFlow's padding; extras: 1 residual, 2 squeeze-excite factors, 4 by Winograd. */
static void conv(reid__kind kind, const conv_case *t, int same, reid__act act, int extras) {
    rig *r = new_rig(t->n, t->threads, same);
    reid__plan *p = &r->plan;
    int in = reid__add_buffer(p, t->h, t->w, t->ic);
    reid__add_conv(p, kind, in, t->oc, t->k, t->stride, act, "", "conv", "bn");
    reid__op *op = reid__last_op(p);
    if (extras & 1) {
        int other = reid__add_buffer(p, op->oh, op->ow, t->oc), earlier = op->out;
        op->residual = other;
        if (t->n % 2) op->residual = earlier, op->out = other; /* then the outputs overwrite it */
    }
    if (extras & 2) op->scale = reid__add_buffer(p, 1, 1, t->ic);
    op->winograd = (extras & 4) != 0;
    if (kind == REID__DEPTHWISE) op->sums = reid__add_buffer(p, op->oh, 1, t->oc);
    run(r);
}

/* Instance norm of some channels, over its input or beside it, perhaps with a residual. */
static void instance(int h, int w, int ic, int normed, int n, int threads, reid__act act, int adds) {
    rig *r = new_rig(n, threads, 0);
    reid__plan *p = &r->plan;
    int in = reid__add_buffer(p, h, w, ic);
    reid__op *op = reid__add_op(p, REID__INSTANCE, in, "norm");
    op->act = act, op->oc = ic, op->oh = h, op->ow = w, op->normed = normed;
    if (adds) op->residual = reid__add_buffer(p, h, w, ic);
    op->out = reid__add_buffer(p, h, w, ic);
    run(r);
}

static void test_instance(void **state) {
    (void)state;
    instance(7, 5, 64, 32, 2, 3, REID__RELU, 0);
    instance(1, 1, 32, 32, 3, 2, REID__RELU, 0); /* no variance: the bias */
    instance(12, 9, 80, 80, 1, 4, REID__RELU, 0);
    instance(6, 11, 48, 16, 2, 1, REID__SILU, 1);
    instance(5, 4, 24, 0, 2, 2, REID__LINEAR_ACT, 1);
}

static void test_nonlocal(void **state) {
    static const int cases[][5] = {{7, 5, 1, 2, 3}, {1, 1, 3, 1, 1}, {4, 9, 40, 2, 2}, {13, 3, 64, 1, 5}};
    (void)state;
    for (int i = 0; i < 4; i++) {
        const int *t = cases[i];
        rig *r = new_rig(t[3], t[4], 0);
        reid__plan *p = &r->plan;
        int in[3];
        for (int k = 0; k < 3; k++) in[k] = reid__add_buffer(p, t[0], t[1], t[2]);
        reid__op *op = reid__add_op(p, REID__NONLOCAL, in[0], "nonlocal");
        op->key = in[1], op->value = in[2], op->oh = t[0], op->ow = t[1], op->oc = t[2];
        op->out = reid__add_buffer(p, t[0], t[1], t[2]);
        run(r);
    }
}

/* Batch norm of the second half of the channels, as IBN-a has it. */
static void test_half_norm(void **state) {
    (void)state;
    for (int i = 0; i < 3; i++) {
        rig *r = new_rig(2, 2, 0);
        reid__add_conv(&r->plan, REID__CONV, reid__add_buffer(&r->plan, 5, 7, 33), 64, 1, 1, (reid__act)i, "", "conv",
                       "bn");
        reid__last_op(&r->plan)->bn_from = 32;
        run(r);
    }
}

static const int channels[] = {1, 2, 5, 15, 16, 17, 31, 32, 33, 47, 48, 49, 63, 64, 65, 70};
#define CHANNELS ((int)(sizeof channels / sizeof channels[0]))

/* OPS_EVERY=3: a third of the slow cases, for an emulated processor. */
static int every(void) { return getenv("OPS_EVERY") ? atoi(getenv("OPS_EVERY")) : 1; }

static void test_conv_1x1(void **state) {
    (void)state;
    for (int i = 0; i < CHANNELS; i++) /* every count of channels, in and out; heights of 1 to 12 rows in a tile */
        for (int extras = 0; extras < 4; extras++) {
            int oc = channels[(i * 5 + 3) % CHANNELS];
            conv_case t = {1, 1 + (i + extras) % 2, channels[i], oc, 1 + i % 7, 3 + i % 5, 1 + i % 3, 1 + i % 4};
            if (extras & 2) t.stride = 1;
            conv(REID__CONV, &t, 0, (reid__act)(i % 3), extras);
        }
    const conv_case many = {1, 1, 70, 17, 37, 29, 2, 3}; /* more pixels than one block holds */
    conv(REID__CONV, &many, 0, REID__SILU, 3);
    for (int i = 0; i < 4; i++) { /* one output channel, and numbers of pixels that are not multiples of REID__DOTS */
        const conv_case thin = {1, 1, 1 + i * 37, 1, 3 + i, 7, 1 + i % 3, 1 + i};
        conv(REID__CONV, &thin, 0, REID__LINEAR_ACT, 0);
    }
}

static void test_conv_windows(void **state) {
    (void)state;
    for (int i = 0; i < CHANNELS; i += every())
        for (int k = 3; k <= 5; k += 2)
            for (int same = 0; same < 2; same++) {
                int oc = channels[(i * 7 + 2) % CHANNELS], h = k - 1 + i % 6, w = k - 2 + i % 5;
                conv_case t = {k, 1 + (i + same) % 2, channels[i], oc, h, w, 1 + i % 2, 1 + i % 3};
                conv(REID__CONV, &t, same, (reid__act)(i % 3), i & 1);
            }
    const conv_case seven = {7, 2, 5, 33, 9, 11, 2, 2};
    conv(REID__CONV, &seven, 0, REID__RELU, 1);
}

/* Tiles over every edge, blocks of several tiles, more threads than tiles; the definition is that of any 3x3. */
static void test_winograd(void **state) {
    static const int sizes[][2] = {{7, 7}, {14, 14}, {13, 9}, {1, 1}, {3, 2}, {4, 4}, {5, 8}, {2, 17}};
    (void)state;
    for (int i = 0; i < CHANNELS; i += every())
        for (int k = 0; k < 8; k++) {
            int oc = (channels[(i * 5 + k) % CHANNELS] + 31) / 32 * 32; /* whole panels: reid__winograd_pays */
            conv_case t = {3, 1, channels[i], oc, sizes[k][0], sizes[k][1], 1 + (i + k) % 3, 1 + (i + k) % 5};
            conv(REID__CONV, &t, k & 1, (reid__act)((i + k) % 3), 4);
        }
    const conv_case many = {3, 1, 17, 64, 56, 56, 1, 2};
    if (every() == 1) conv(REID__CONV, &many, 0, REID__RELU, 4);
}

/* AMX's copies with a zero border: odd and even sizes, parts that begin and end anywhere, images that share a block,
   copies that take several blocks. */
static void test_grid(void **state) {
    static const int sizes[][2] = {{7, 7}, {14, 14}, {13, 9}, {8, 4}, {15, 28}, {5, 31}};
    (void)state;
    for (int k = 0; k < 6; k++)
        for (int stride = 1; stride < 3; stride++)
            for (int n = 1; n < 5; n += 3) {
                const int *size = sizes[k];
                conv_case t = {3, stride, 32 * (1 + k % 2), k & 2 ? 5 : 33, size[0], size[1], n, 1 + (n + k) % 3};
                conv(REID__CONV, &t, 0, REID__RELU, k & 1);
            }
    const conv_case wide = {3, 2, 128, 1, 60, 90, 1, 1};
    conv(REID__CONV, &wide, 0, REID__RELU, 0);
}

/* No convolution of ResNet-50 has a few remaining pixels, which would read all its weights again: layer4, of 7x7
   pixels, is one block, and no last block is smaller than a tile. */
static void test_last_block(void **state) {
    static reid__plan plan;
    static const reid__arch *resnet = &reid__archs[0];
    reid__net net;
    reid__job j;
    (void)state;
    assert_string_equal(resnet->name, "resnet50");
    assert_true(reid__plan_build(&plan, resnet, 224, 224, 2, REID_HEAD_NONE, NULL));
    for (int isa = 0; isa < FP32_ISAS; isa++) {
        const reid__kernels *kernels = reid__kernels_for(fp32_isas[isa]);
        if (!kernels) continue;
        memset(&net, 0, sizeof net), memset(&j, 0, sizeof j);
        net.plan = &plan, net.kernels = kernels, j.net = &net, j.n = 1;
        for (int i = 0; i < plan.op_count; i++) {
            ptrdiff_t pixels = plan.ops[i].oh * plan.ops[i].ow, count = 0;
            j.op = &plan.ops[i];
            if (j.op->kind != REID__CONV || j.op->winograd) continue;
            for (ptrdiff_t m = 0; m < pixels; m += count) count = reid__conv_pixels(&j, m, pixels - m);
            if (pixels == 49) assert_int_equal(count, 49);
            assert_true(count >= kernels->fp32.mr);
        }
    }
}

/* How two threads share one image: each takes pixels, whose inputs are in its own cache, until there are so few that
   reading all weights twice would take longer; both get whole parts. */
static void test_parts(void **state) {
    static reid__plan plan;
    static reid__team team;
    reid__net net;
    reid__job j;
    (void)state;
    assert_true(reid__plan_build(&plan, &reid__archs[0], 224, 224, 2, REID_HEAD_NONE, NULL));
    for (int isa = 1; isa < FP32_ISAS; isa++) { /* vectors */
        const reid__kernels *kernels = reid__kernels_for(fp32_isas[isa]);
        if (!kernels) continue;
        memset(&net, 0, sizeof net), memset(&j, 0, sizeof j);
        net.plan = &plan, net.kernels = kernels, team.size = 2;
        j.net = &net, j.n = 1, j.team = &team;
        for (int i = 0; i < plan.op_count; i++) {
            j.op = &plan.ops[i];
            if (j.op->kind != REID__CONV) continue;
            reid__conv_grid(&j);
            assert_int_equal(j.parts_m * j.parts_n % 2, 0);
            if (j.op->oh >= 28 || (j.op->oh == 14 && j.op->kh == 1)) assert_true(j.parts_m >= 2);
            if (j.op->winograd && j.op->oh == 14) assert_int_equal(j.parts_m, 1);
            if (j.op->oh == 7 && j.op->kh == 3) assert_int_equal(j.parts_m, 1);
        }
    }
}

/* The first convolution reads the image, whose zero border is stored. */
static void test_stem(void **state) {
    static const int sizes[][2] = {{7, 7}, {9, 8}, {1, 1}, {2, 13}, {16, 11}};
    (void)state;
    for (int i = 0; i < 5; i++)
        for (int k = 3; k <= 7; k += 4)
            for (int same = 0; same < 2; same++) {
                rig *r = new_rig(1 + i % 3, 1 + i % 3, same);
                r->plan.height = sizes[i][0], r->plan.width = sizes[i][1];
                int in = reid__add_image(&r->plan, k, 2);
                r->plan.buffers[in].h = sizes[i][0], r->plan.buffers[in].w = sizes[i][1];
                reid__add_conv(&r->plan, REID__CONV, in, i % 2 ? 64 : 40, k, 2, REID__RELU, "", "conv1", "bn1");
                run(r);
            }
}

static void test_depthwise(void **state) {
    (void)state;
    for (int i = 0; i < CHANNELS; i++)
        for (int k = 3; k <= 5; k += 2)
            for (int same = 0; same < 2; same++) {
                int c = channels[i], h = 1 + (i * 3) % 10, w = 1 + (i * 5) % 16;
                conv_case t = {k, 1 + (i + same) % 2, c, c, h, w, 1 + i % 3, 1 + i % 4};
                conv(REID__DEPTHWISE, &t, same, REID__SILU, 0);
            }
}

static void test_maxpool(void **state) {
    (void)state;
    for (int i = 0; i < CHANNELS; i++) {
        rig *r = new_rig(1 + i % 3, 1 + i % 3, 0);
        r->plan.arch.maxpool_pad = i % 2;
        reid__add_maxpool(&r->plan, reid__add_buffer(&r->plan, 2 + i, 3 + i % 6, channels[i]));
        run(r);
    }
}

static void test_pool(void **state) {
    static const int bins[] = {1, 2, 4, 5};
    (void)state;
    for (int i = 0; i < CHANNELS; i++)
        for (int b = 0; b < 4; b++) { /* bins overlap where they do not divide the sides */
            rig *r = new_rig(1 + i % 3, 1 + b, 0);
            int in = reid__add_buffer(&r->plan, 1 + i % 9, 1 + (i * 3) % 11, channels[i]);
            reid__add_pool(&r->plan, in, bins[b]);
            reid__last_op(&r->plan)->gem = i % 2;
            run(r);
        }
}

static void test_squeeze(void **state) {
    (void)state;
    for (int i = 0; i < CHANNELS; i++) {
        rig *r = new_rig(1 + i % 4, 1 + i % 3, 0);
        int rows = 1 + i % 7, sums = reid__add_buffer(&r->plan, rows, 1, channels[i]);
        reid__op *op = reid__add_op(&r->plan, REID__SQUEEZE, sums, "squeeze");
        op->ih = rows, op->iw = 3;
        op->oh = op->ow = 1, op->oc = channels[i];
        op->hidden = 1 + i * 2;
        op->out = reid__add_buffer(&r->plan, 1, 1, channels[i]);
        run(r);
    }
}

/* Weights are in PyTorch's order (channel, row, column); the output is a part of a longer vector. With a bias, a batch
   norm, or both, and an activation. */
static void test_linear(void **state) {
    (void)state;
    for (int i = 0; i < 3 * CHANNELS; i++) {
        rig *r = new_rig(1 + i % 4, 1 + i % 3, 0);
        int side = i % 3 == 0 ? 4 : i % 3, ic = channels[i % CHANNELS], kind = i / CHANNELS;
        int in = reid__add_buffer(&r->plan, side, side, ic), out = reid__add_buffer(&r->plan, 1, 1, 128 + 48);
        reid__add_linear(&r->plan, in, out, i % 2 ? 48 : 0, 128, "linear", 0);
        reid__op *op = reid__last_op(&r->plan);
        op->biased = kind != 1, op->act = i % 2 ? REID__RELU : REID__LINEAR_ACT;
        if (kind) snprintf(op->bn, sizeof op->bn, "norm");
        run(r);
    }
}

/* --- a convolution and the depthwise one after it --- */

typedef struct pair_case {
    int stem, ic, oc, k, stride, h, w, n, threads, same;
} pair_case;

/* The plan of the two operations; the weights may be anything. */
static void pair_plan(rig *r, const pair_case *t, int fused, int bf16) {
    reid__plan *p = &r->plan;
    reid__arch arch = p->arch;
    memset(p, 0, sizeof *p);
    p->arch = arch;
    p->height = t->h, p->width = t->w;
    int in = t->stem ? reid__add_image(p, 3, 2) : reid__add_buffer(p, t->h, t->w, t->ic);
    if (t->stem) p->buffers[in].h = t->h, p->buffers[in].w = t->w;
    int k = t->stem ? 3 : 1, stride = t->stem ? 2 : 1;
    int mid = reid__add_conv(p, REID__CONV, in, t->oc, k, stride, REID__SILU, "", "conv", "bn");
    p->ops[0].fused = fused;
    p->embedding = reid__add_conv(p, REID__DEPTHWISE, mid, t->oc, t->k, t->stride, REID__SILU, "", "dw", "bn");
    p->ops[1].sums = reid__add_buffer(p, p->ops[1].oh, 1, t->oc);
    assert_int_equal(p->overflow, 0);
    reid__lifetimes(p);
    p->buffers[in].first = -1, p->buffers[p->ops[1].sums].last = p->op_count;
    reid__assign_offsets(p);
    if (bf16) reid__plan_narrow(p, REID__ELEMENT_BF16);
}

/* Output and row sums of the depthwise operation, (n) times both. */
static float *pair_run(rig *r, const pair_case *t, const reid__kernels *kernels, int fused, const float *packed,
                       size_t *floats) {
    bench b;
    pair_plan(r, t, fused, kernels->element == REID__ELEMENT_BF16);
    const reid__plan *p = &r->plan;
    const reid__buffer *out = &p->buffers[p->ops[1].out], *sums = &p->buffers[p->ops[1].sums];
    size_t each = out->floats + sums->floats;
    r->n = t->n;
    float *arena = block(arena_bytes(r));
    float *result = block(each * (size_t)t->n * sizeof *arena);
    for (size_t i = 0; i < arena_bytes(r) / sizeof *arena; i++) arena[i] = NAN;
    bench_start(&b, p, kernels, packed, t->n, t->threads, arena);
    for (int i = 0; i < t->n; i++) {
        float *in = reid__at(&b.job, p->ops[0].in, i);
        for (size_t at = 0; at < p->buffers[p->ops[0].in].floats; at++)
            in[at] = (float)((at * 37 + (size_t)i) % 101) - 50;
    }
    for (int i = 0; i < 2; i++) {
        b.job.op = &p->ops[i];
        reid__run_op(&b.job);
    }
    for (int i = 0; i < t->n; i++) {
        float *to = result + each * (size_t)i;
        memcpy(to, reid__at(&b.job, p->ops[1].out, i), out->floats * sizeof *arena);
        memcpy(to + out->floats, reid__at(&b.job, p->ops[1].sums, i), sums->floats * sizeof *arena);
    }
    bench_stop(&b);
    free(arena);
    *floats = each * (size_t)t->n;
    return result;
}

/* Anything finite. */
static float *pair_weights(const reid__plan *p) {
    float *packed = block(p->weight_floats * sizeof *packed);
    for (size_t at = 0; at < p->weight_floats; at++) packed[at] = (float)((double)(at * 29 % 83) / 500 - 0.08);
    uint16_t *pairs = (uint16_t *)(void *)packed;
    for (size_t at = 0; reid__is_narrow(&p->ops[0]) && at < 2 * p->ops[0].bias; at++)
        pairs[at] = reid__to_bf16((float)((double)(at * 29 % 83) / 500 - 0.08));
    return packed;
}

/* Fused or not, however rows and channels are cut, the bits are the same. In bf16 the tensor between the two is rounded
   only if it is stored, so there fused is compared with fused. */
static void test_fused(void **state) {
    (void)state;
    for (int i = 0; i < 2 * CHANNELS; i++) {
        const pair_case t = {i % 4 == 3, channels[i % CHANNELS], channels[(i * 5 + 3) % CHANNELS], 3 + 2 * (i & 1),
                             1 + (i / 2 & 1), 3 + i % 17, 3 + i * 7 % 19, 1 + i % 3, 1 + i % 5, i & 4 ? 1 : 0};
        pair_case alone = t;
        alone.threads = 1;
        rig *r = new_rig(t.n, 1, t.same);
        for (int isa = REID_ISA_SCALAR; isa <= REID_ISA_NEON; isa++) {
            const reid__kernels *kernels = reid__kernels_for((reid_isa)isa);
            if (kernels && kernels->element == REID__ELEMENT_INT8) continue;
            size_t floats, again;
            if (!kernels) continue;
            pair_plan(r, &t, 0, kernels->element == REID__ELEMENT_BF16);
            float *packed = pair_weights(&r->plan);
            float *apart = pair_run(r, &alone, kernels, kernels->element == REID__ELEMENT_BF16, packed, &floats);
            float *together = pair_run(r, &t, kernels, 1, packed, &again);
            assert_int_equal(floats, again);
            for (size_t at = 0; at < floats; at++) assert_true(isfinite(apart[at]));
            assert_memory_equal(apart, together, floats * sizeof *apart);
            free(packed), free(apart), free(together);
        }
        free(r);
    }
}

/* --- SiLU, powers --- */

typedef float (*silu_fn)(float x);
typedef float (*power_fn)(float x, float p);

static float silu_scalar(float x) { return reid__over_sigmoid_scalar(x, x); }
static float power_scalar(float x, float p) { return reid__power_scalar(x, p); }
#ifdef REID__TARGET
__attribute__((target("avx2,fma,f16c"))) static float silu_avx2(float x) {
    __m256 v = _mm256_set1_ps(x);
    return _mm256_cvtss_f32(reid__over_sigmoid_avx2(v, v));
}

__attribute__((target("avx2,fma,f16c"))) static float power_avx2(float x, float p) {
    return _mm256_cvtss_f32(reid__power_avx2(_mm256_set1_ps(x), p));
}

__attribute__((target("avx512f,avx512dq,avx512bw,avx2,fma,f16c"))) static float silu_avx512(float x) {
    __m512 v = _mm512_set1_ps(x);
    return _mm512_cvtss_f32(reid__over_sigmoid_avx512(v, v));
}

__attribute__((target("avx512f,avx512dq,avx512bw,avx2,fma,f16c"))) static float power_avx512(float x, float p) {
    return _mm512_cvtss_f32(reid__power_avx512(_mm512_set1_ps(x), p));
}
#else
#define silu_avx2 silu_scalar
#define silu_avx512 silu_scalar
#define power_avx2 power_scalar
#define power_avx512 power_scalar
#endif
#ifdef REID__NEON
static float silu_neon(float x) {
    float32x4_t v = vdupq_n_f32(x);
    return vgetq_lane_f32(reid__over_sigmoid_neon(v, v), 0);
}

static float power_neon(float x, float p) { return vgetq_lane_f32(reid__power_neon(vdupq_n_f32(x), p), 0); }
#else
#define silu_neon silu_scalar
#define power_neon power_scalar
#endif

static void test_silu(void **state) {
    static const silu_fn functions[FP32_ISAS] = {silu_scalar, silu_avx2, silu_avx512, silu_neon};
    (void)state;
    for (int isa = 0; isa < FP32_ISAS; isa++) {
        silu_fn f = functions[isa];
        double worst = 0;
        if (!reid__kernels_for(fp32_isas[isa])) continue;
        for (int i = -1000000; i <= 1000000; i++) {
            float x = (float)(i * 1e-4);
            double want = x / (1 + exp(-(double)x));
            worst = fmax(worst, fabs(f(x) - want) / fmax(1, fabs((double)x)));
        }
        print_message("SiLU %s: %.2e times max(1, |x|)\n", reid__kernels_for(fp32_isas[isa])->name, worst);
        assert_true(worst <= 1.2e-7);
        assert_true(f(0) == 0 && f(1000) == 1000 && f(3e38f) == 3e38f && isnan(f(NAN)));
        assert_true(f(-1000) <= 0 && f(-1000) > -1e-30f && f(-3e38f) <= 0 && f(-3e38f) > -10);
    }
}

/* From the least pixel of a generalised mean to where activations are too large for halves. */
static void test_power(void **state) {
    static const power_fn functions[FP32_ISAS] = {power_scalar, power_avx2, power_avx512, power_neon};
    static const float exponents[] = {0.05f, 1 / 3.0f, 1, 2.96f, 6.2f};
    (void)state;
    for (int isa = 0; isa < FP32_ISAS; isa++) {
        power_fn f = functions[isa];
        double worst = 0;
        if (!reid__kernels_for(fp32_isas[isa])) continue;
        for (int i = 0; i < 5; i++)
            for (double log = -19.93; log < 17; log += 1e-4) {
                float x = (float)exp2(log), p = exponents[i];
                double want = pow(x, p);
                worst = fmax(worst, fabs(f(x, p) - want) / want / fmax(1, p * fabs(log)));
            }
        print_message("power %s: %.2e times max(1, p |log2 x|)\n", reid__kernels_for(fp32_isas[isa])->name, worst);
        assert_true(worst <= 2e-7);
        assert_true(f(1, 3) == 1 && isnan(f(NAN, 0.3f)) && isnan(f(INFINITY, 0.3f)) && !isfinite(f(3e38f, 1.5f)));
        assert_true(f(1e-6f, 1000) > 1e-38f && f(1e-6f, 1000) < 1.3e-38f);
    }
}

/* --- tanh, one function for all instruction sets --- */

/* Floats of all sizes, from denormal numbers to where the result is 1. */
static void test_tanh(void **state) {
    double worst = 0;
    uint32_t largest, bits;
    float x = 20, before = 0;
    (void)state;
    memcpy(&largest, &x, sizeof x);
    for (bits = 1; bits < largest; bits += 521) {
        memcpy(&x, &bits, sizeof x);
        float got = reid__tanh(x);
        assert_true(got >= before && got <= 1 && reid__tanh(-x) == -got);
        worst = fmax(worst, fabs(got - tanh((double)x)) / fmax(tanh((double)x), FLT_MIN));
        before = got;
    }
    print_message("tanh: relative error %.2e\n", worst);
    assert_true(worst <= 6e-8); /* the error of rounding to FP32 */
    assert_true(reid__tanh(INFINITY) == 1 && reid__tanh(-INFINITY) == -1 && reid__tanh(3e38f) == 1);
    assert_true(isnan(reid__tanh(NAN)) && !signbit(reid__tanh(0.0f)) && signbit(reid__tanh(-0.0f)));
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_instance), cmocka_unit_test(test_nonlocal),     cmocka_unit_test(test_half_norm),
        cmocka_unit_test(test_conv_1x1), cmocka_unit_test(test_conv_windows), cmocka_unit_test(test_winograd),
        cmocka_unit_test(test_grid),     cmocka_unit_test(test_stem),         cmocka_unit_test(test_depthwise),
        cmocka_unit_test(test_maxpool),  cmocka_unit_test(test_pool),         cmocka_unit_test(test_squeeze),
        cmocka_unit_test(test_linear),   cmocka_unit_test(test_fused),        cmocka_unit_test(test_silu),
        cmocka_unit_test(test_last_block), cmocka_unit_test(test_parts),       cmocka_unit_test(test_tanh),
        cmocka_unit_test(test_power),
    };
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
