/* kernels_wgmma.c: reid_conv_wgmma and reid_stem_pool against their definitions, on the emulator: every layer of
   ResNet-50 and EfficientNet that uses them, as reid.h launches it, and odd sizes; neither the tile nor the batch nor
   the number of multiprocessors may change a bit. Built and run by tests/gpu/t_wgmma.sh. */
#define REID_STATIC
#define REID_IMPLEMENTATION
#include "reid.h"

#include <immintrin.h>
#include "kernels_test.h"
#include "tensor_sum.h"

static reid__plan plan;
static reid__prep prep;
static reid__gpu gpu;
static reid__gpu_lane lane;

/* The operands of one operation on the device; halves. */
typedef struct operands {
    int index, images, pixels, oc;
    CUdeviceptr in, rest, bias; /* rest: the residual */
    float *columns;             /* weights (K, OC) */
    uint16_t *weights;          /* weights (OC, K), in slices of 64 */
    uint16_t *want;             /* the convolution's outputs */
} operands;

static const reid__op *op_of(const operands *o) { return &plan.ops[o->index]; }

/* Stored pixels of an image, stored channels of a pixel, positions of the window; the stem has a border, a fourth
   channel and an eighth column. */
static size_t pixels_of(const reid__op *op) {
    int stem = reid__is_stem(&plan, op);
    return stem ? (size_t)(gpu.plan.rows * gpu.plan.columns) : (size_t)(op->ih * op->iw);
}
static size_t channels_of(const reid__op *op) {
    return reid__is_stem(&plan, op) ? 4 : (size_t)plan.buffers[op->in].c;
}
static size_t taps_of(const reid__op *op) {
    return (size_t)(op->kh * (reid__is_stem(&plan, op) ? gpu.plan.stem_kw : op->kw));
}

/* By the processor's instruction, because emu_half_value is slow. */
__attribute__((target("f16c"))) static float float_of(uint16_t half) {
    return emu_bf16() ? reid__float((uint32_t)half << 16) : _cvtsh_ss(half);
}
__attribute__((target("f16c"))) static uint16_t half_of(float x) {
    if (x != x) return 0x7fff;
    return emu_bf16() ? reid__to_bf16(x) : _cvtss_sh(x, 0);
}

/* n random halves from -scale to scale, a power of two; `rows` of them with `width` of `stride` in use, zero behind. */
static uint16_t *random_halves(size_t rows, size_t width, size_t stride, double scale) {
    static uint16_t values[1025];
    static unsigned seed = 11; /* others in every tensor */
    uint16_t *h = (uint16_t *)calloc(rows * stride, sizeof *h);
    if (!h) exit(1);
    for (int i = 0; i < 1025; i++) values[i] = emu_half_from((i - 512) / 512.0 * scale);
    for (size_t i = 0; i < rows * stride; i++)
        if (i % stride < width) h[i] = values[emu_next_random(&seed) % 1025];
    return h;
}

static CUdeviceptr random_tensor(size_t rows, size_t width, size_t stride, double scale) {
    uint16_t *h = random_halves(rows, width, stride, scale);
    CUdeviceptr p = emu_upload(h, rows * stride * sizeof *h);
    free(h);
    return p;
}

/* The stem's input as reid_input would write it, of a random view and a random table, which reid_stem_pool reads. */
static CUdeviceptr random_image(int images) {
    const reid__buffer *b = &plan.buffers[plan.ops[0].in];
    const int pixels = plan.height * plan.width, count = images * pixels * 3;
    const size_t values = (size_t)images * (size_t)(gpu.plan.rows * gpu.plan.columns * 4);
    unsigned seed = 7;
    tensor table = tensor_of(3 * 256, 0, &seed, 1);
    uint8_t *view = (uint8_t *)malloc((size_t)count);
    uint16_t *image = (uint16_t *)calloc(values, sizeof *image);
    if (!view || !image) exit(1);
    for (int i = 0; i < count; i++) view[i] = (uint8_t)emu_next_random(&seed);
    for (int i = 0; i < count; i++) {
        int c = i % 3, x = i / 3 % plan.width + b->border_x, y = i / 3 % pixels / plan.width + b->border_y;
        image[((i / 3 / pixels * gpu.plan.rows + y) * gpu.plan.columns + x) * 4 + c] =
            emu_half_from((double)table.host[c * 256 + view[prep.preset.bgr ? i - c + 2 - c : i]]);
    }
    lane.view = emu_upload(view, (size_t)count), gpu.lut = table.device;
    CUdeviceptr p = emu_upload(image, values * sizeof *image);
    free(table.host), free(view), free(image);
    return p;
}

/* The same weights in both layouts. */
static void make_weights(operands *o) {
    const reid__op *op = op_of(o);
    size_t c = channels_of(op), wide = (size_t)reid__gpu_channels(&gpu.plan, op), oc = (size_t)o->oc;
    size_t taps = taps_of(op);
    o->columns = (float *)malloc(taps * c * oc * sizeof *o->columns);
    if (!o->columns) exit(1);
    o->weights = random_halves(oc * taps, c, wide, 0.0625);
    for (size_t n = 0; n < oc; n++)
        for (size_t k = 0; k < taps * c; k++)
            o->columns[k * oc + n] = float_of(o->weights[n * taps * wide + k / c * wide + k % c]);
}

/* Weights as the launch reads them: rows of the operation and of the shortcut folded into it. */
static CUdeviceptr upload_weights(const operands *o, const operands *more) {
    size_t own = (size_t)reid__gpu_depth(&gpu.plan, op_of(o)), row = (size_t)reid__gpu_row(&gpu.plan, o->index);
    uint16_t *rows = (uint16_t *)malloc((size_t)o->oc * row * sizeof *rows);
    for (size_t n = 0; n < (size_t)o->oc; n++) {
        memcpy(rows + n * row, o->weights + n * own, own * sizeof *rows);
        if (more) memcpy(rows + n * row + own, more->weights + n * (row - own), (row - own) * sizeof *rows);
    }
    CUdeviceptr p = emu_upload(rows, (size_t)o->oc * row * sizeof *rows);
    free(rows);
    return p;
}

static CUfunction function_of(const char *name, const reid__program *p, unsigned shared) {
    const char *options[REID__MAX_OPTIONS], *at = p->options;
    int n = 0;
    for (; n < p->count; at += strlen(at) + 1) options[n++] = at;
    return emu_function_of(program_with(name, options, n), name, shared);
}

/* sums (OC) += x * weights (OC), a fused multiply-add each. */
__attribute__((target("avx2,fma"))) static void add_products(float *sums, float x, const float *weights, int oc) {
    for (int n = 0; n < oc; n += 8) {
        __m256 sum = _mm256_fmadd_ps(_mm256_set1_ps(x), _mm256_loadu_ps(weights + n), _mm256_loadu_ps(sums + n));
        _mm256_storeu_ps(sums + n, sum);
    }
}

/* Adds the products of 16 values of a pixel and 16 rows of weights as Hopper's tensor cores do. */
static void add_sixteen(float *sums, const uint16_t *in, const float *weights, int oc) {
    float a[16];
    for (int i = 0; i < 16; i++) a[i] = float_of(in[i]);
    for (int n = 0; n < oc; n++) sums[n] = tensor_sum(sums[n], a, weights + n, oc, 16,
                                                     emu_bf16() ? TENSOR_LEAST_BF16 : TENSOR_LEAST_F16, 25);
}

static float activated(float x, int act) {
    if (act == REID__SILU) return x * (1.0f / (1.0f + exp2f(-1.44269504f * x)));
    return act == REID__RELU && x < 0 ? 0 : x;
}

/* One slice of K, at most 64 channels of a position of the window; the stem's pixels of four channels are added up four
   at a time, when tensor cores do it. */
static void add_slice(const operands *o, float *sums, const uint16_t *in, int tap, int first, int c, int chains) {
    const float *weights = o->columns + (size_t)(tap * c) * (size_t)o->oc;
    int end = reid__min(first + 64, c);
    if (!chains && c < 16) first = tap % 4 ? 16 : 0, end = 16;
    for (int k = first; k < end; k += chains ? 1 : 16)
        if (chains) add_products(sums, float_of(in[k]), weights + (size_t)k * (size_t)o->oc, o->oc);
        else add_sixteen(sums, in + k, weights + (size_t)k * (size_t)o->oc, o->oc);
}

/* One pixel: K in `split` parts, whole slices of 64, each a chain of multiply-adds in float, or as
   REID_EMULATOR_SUMS=tensor has it, and they are added first part first. sums: room for (2, OC), of which the first OC
   are the result. */
static void expect_pixel(const operands *o, const uint16_t *in, const float *bias, int m, int split, float *sums) {
    const reid__op *op = op_of(o);
    int stem = reid__is_stem(&plan, op), ih = stem ? gpu.plan.rows : op->ih, iw = stem ? gpu.plan.columns : op->iw;
    int c = (int)channels_of(op), taps = (int)taps_of(op), kw = taps / op->kh, across = reid__ceil_div(c, 64);
    int y0 = m / op->ow % op->oh * op->stride - (stem ? 0 : op->pad_y), chains = emu_adds_in_chains();
    int x0 = m % op->ow * op->stride - (stem ? 0 : op->pad_x), image = m / (op->oh * op->ow);
    for (int part = 0, slice = 0; part < split; part++) {
        float *sum = part ? sums + o->oc : sums;
        for (int n = 0; n < o->oc; n++) sum[n] = part ? 0 : bias[n];
        for (; slice < taps * across * (part + 1) / split; slice++) {
            int tap = slice / across, y = y0 + tap / kw, x = x0 + tap % kw, first = slice % across * 64;
            if (y < 0 || y >= ih || x < 0 || x >= iw) continue;
            add_slice(o, sum, in + ((image * ih + y) * iw + x) * c, tap, first, c, chains);
        }
        for (int n = 0; n < o->oc && part; n++) sums[n] += sum[n];
    }
}

/* The convolution's outputs; its operands are on the device. */
static void expect(operands *o, int split) {
    const reid__op *op = op_of(o);
    size_t inputs = (size_t)o->images * pixels_of(op) * channels_of(op), outputs = (size_t)(o->pixels * o->oc);
    uint16_t *in = (uint16_t *)malloc(inputs * 2), *rest = (uint16_t *)malloc(outputs * 2);
    float *bias = (float *)malloc(3 * (size_t)o->oc * sizeof *bias), *sums = bias + o->oc;
    NEED(cuMemcpyDtoH_v2(in, o->in, inputs * 2) || cuMemcpyDtoH_v2(rest, o->rest, outputs * 2));
    NEED(cuMemcpyDtoH_v2(bias, o->bias, (size_t)o->oc * sizeof *bias));
    for (int m = 0; m < o->pixels; m++) {
        expect_pixel(o, in, bias, m, split, sums);
        for (int n = 0, i = m * o->oc; n < o->oc; n++, i++) {
            if (op->residual != REID__NONE) sums[n] += float_of(rest[i]);
            o->want[i] = half_of(activated(sums[n], (int)op->act));
        }
    }
    free(in), free(rest), free(bias);
}

/* The max pool of the stem's outputs. */
static operands pool_of(int index, const operands *stem) {
    operands o = {.index = index, .images = stem->images, .oc = stem->oc};
    const reid__op *op = op_of(&o);
    o.pixels = o.images * op->oh * op->ow;
    o.want = (uint16_t *)malloc((size_t)(o.pixels * o.oc) * sizeof *o.want);
    if (!o.want) exit(1);
    for (int i = 0; i < o.pixels * o.oc; i++) {
        float most = -INFINITY;
        int m = i / o.oc, image = m / (op->oh * op->ow), y0 = m / op->ow % op->oh * op->stride - op->pad_y;
        int x0 = m % op->ow * op->stride - op->pad_x;
        for (int y = reid__max(y0, 0); y < reid__min(y0 + op->kh, op->ih); y++)
            for (int x = reid__max(x0, 0); x < reid__min(x0 + op->kw, op->iw); x++) {
                uint16_t v = stem->want[((image * op->ih + y) * op->iw + x) * o.oc + i % o.oc];
                if (float_of(v) > most) most = float_of(v), o.want[i] = v;
            }
    }
    return o;
}

/* more: the shortcut folded into it, or NULL; before: the operation with which its launch begins, or NULL. */
static operands operands_of(int index, int images, const operands *more, const operands *before) {
    if (plan.ops[index].kind == REID__MAXPOOL) return pool_of(index, before);
    operands o = {.index = index, .images = images, .oc = reid__padded(plan.ops[index].oc)};
    const reid__op *op = op_of(&o);
    size_t inputs = (size_t)images * pixels_of(op), c = channels_of(op), oc = (size_t)o.oc;
    o.pixels = images * op->oh * op->ow;
    o.in = before                       ? emu_upload(before->want, inputs * c * 2)
           : reid__is_stem(&plan, op) ? random_image(images)
                                      : random_tensor(inputs, c, c, 1);
    o.rest = more ? emu_upload(more->want, (size_t)o.pixels * oc * 2) : random_tensor((size_t)o.pixels, oc, oc, 2);
    o.want = (uint16_t *)malloc((size_t)o.pixels * oc * 2);
    unsigned seed = (unsigned)index;
    tensor bias = tensor_of(oc, 0, &seed, 1);
    o.bias = bias.device;
    free(bias.host);
    make_weights(&o);
    expect(&o, 1);
    return o;
}

static void drop_operands(operands *o) {
    const CUdeviceptr all[] = {o->in, o->rest, o->bias};
    for (size_t i = 0; i < sizeof all / sizeof *all && o->in; i++) NEED(cuMemFree_v2(all[i]));
    free(o->columns), free(o->weights), free(o->want);
}

/* The emulator's kernel also adds in the order of K, so the bits are equal. But a shortcut that is folded in is rounded
   only by the definition, and a GPU's tensor cores may add in an unknown way. */
static void check_result(const uint16_t *got, const uint16_t *want, size_t count, int same) {
    double worst = 0;
    if (same && !EMU_REAL) {
        CHECK(memcmp(got, want, count * sizeof *got) == 0);
        return;
    }
    for (size_t i = 0; i < count; i++) compare(&worst, (double)float_of(got[i]), (double)float_of(want[i]));
    size_t others = 0;
    for (size_t i = 0; i < count; i++) others += got[i] != want[i];
    printf("    largest error %.1e, other bits in %zu of %zu\n", worst, others, count);
    CHECK(worst < emu_half_bound(2e-3));
    CHECK(!same || others < count / 4 + 8); /* another order changes few; truncating instead of rounding changes every
                                               second */
}

/* Where only a global average follows, sums over each row of an image are stored. */
static void check_row_sums(const float *got, const operands *o, int rows, int per) {
    for (int i = 0; i < rows * o->oc; i++) {
        float sum = 0;
        for (int x = 0; x < per; x++) sum += float_of(o->want[(i / o->oc * per + x) * o->oc + i % o->oc]);
        double error = 0;
        compare(&error, (double)got[i], (double)sum);
        if (got[i] == sum || (EMU_REAL && error < 2e-3 * per)) continue;
        printf("    row %d, channel %d: %.9g, not %.9g\n", i / o->oc, i % o->oc, (double)got[i], (double)sum);
        CHECK(!"a sum of a row");
        return;
    }
}

/* The operations fused into one launch: the shortcut, the one with which it begins, the one that reads its outputs; or
   NULL. */
typedef struct fused { const operands *more, *before, *then; } fused;

/* Operands through reid_conv_wgmma with this tile, or through reid_stem_pool, which has none: all images on few
   multiprocessors, the first one on many. */
static void run_tile(const operands *o, fused with, const reid__wgmma_tile *t, int multiprocessors) {
    const operands *more = with.more, *before = with.before, *then = with.then;
    const reid__op *op = op_of(o);
    reid_error error = REID_INIT;
    reid__program p;
    reid__step s;
    memset(&p, 0, sizeof p), memset(&s, 0, sizeof s);
    if (op->kind == REID__MAXPOOL) reid__stem_pool_step(&gpu.plan, op, &p, &s);
    else reid__wgmma_step(&gpu.plan, o->index, t, &p, &s);
    reid__define_conv(&gpu.plan, o->index, &p);
    reid__option(&p, emu_bf16() ? "-DVALUE_BF16" : "-DVALUE_F16");
    s.handle = function_of(s.function, &p, s.shared);
    printf("%-20s %4d -> %4d, %dx%d to %3dx%-3d x %d, tile %3dx%-3d groups %d resident %d split %d stages %d "
           "chunks %d + %d, then %d\n", op->name, plan.buffers[op->in].c, op->oc, op->kh, op->kw, op->oh, op->ow,
           o->images, t->bm, t->bn, t->groups, t->resident, t->split, t->stages, t->chunks,
           t->passes * t->next, then ? t->then : 0);
    CUdeviceptr first = before ? upload_weights(before, NULL) : 0;
    gpu.weights = o->weights ? upload_weights(o, more) : first;
    gpu.plan.weight[o->index] = 0, gpu.plan.bias[o->index] = o->bias - gpu.weights;
    if (more) gpu.plan.bias[more->index] = more->bias - gpu.weights;
    if (before) gpu.plan.weight[before->index] = first - gpu.weights;
    if (before) gpu.plan.bias[before->index] = before->bias - gpu.weights;
    CUdeviceptr last = then ? upload_weights(then, NULL) : 0;
    if (then) gpu.plan.weight[then->index] = last - gpu.weights;
    if (then) gpu.plan.bias[then->index] = then->bias - gpu.weights;
    lane.buffer[op->in] = o->in;
    if (before) lane.buffer[op_of(before)->in] = before->in;
    if (more) lane.buffer[op_of(more)->in] = more->in;
    else if (op->residual != REID__NONE) lane.buffer[op->residual] = o->rest;
    for (int images = o->images; images > 0; images -= reid__max(o->images - 1, 1)) {
        int per = gpu.plan.pixels_per_sum[op->out];
        size_t count = (size_t)(images * op->oh * op->ow) * (size_t)o->oc;
        size_t bytes = per > 1 ? count / (size_t)per * sizeof(float) : count * sizeof(uint16_t);
        void *got = malloc(bytes);
        lane.buffer[op->out] = emu_upload(NULL, bytes);
        size_t behind = then ? (size_t)(images * op->oh * op->ow) * (size_t)then->oc : 0;
        if (then) lane.buffer[op_of(then)->out] = emu_upload(NULL, behind * sizeof(uint16_t));
        gpu.device.multiprocessors = images == o->images ? multiprocessors : 132;
        NEED(op->kind == REID__MAXPOOL ? reid__gpu_run_stem_pool(&gpu, &lane, o->index, &s, images, &error)
                                       : reid__gpu_run_wgmma(&gpu, &lane, o->index, &s, images, &error));
        NEED(cuCtxSynchronize());
        emu_download(got, lane.buffer[op->out], bytes);
        if (per > 1) check_row_sums((const float *)got, o, images * op->oh, per);
        else check_result((const uint16_t *)got, o->want, count, !more);
        free(got);
        if (!then) continue;
        got = malloc(behind * sizeof(uint16_t));
        emu_download(got, lane.buffer[op_of(then)->out], behind * sizeof(uint16_t));
        check_result((const uint16_t *)got, then->want, behind, !more);
        free(got);
    }
    if (o->weights) NEED(cuMemFree_v2(gpu.weights));
    if (before) NEED(cuMemFree_v2(first));
    if (then) NEED(cuMemFree_v2(last));
}

static int is_wanted(int index, int images, const reid__wgmma_tile *t) {
    const reid__op *op = &plan.ops[index];
    if (op->kind == REID__MAXPOOL)
        return emu_case("reid_stem_pool%s, %d of %dx%d", emu_bf16() ? " bf16" : "", images, op->ih, op->iw);
    return emu_case("reid_conv_wgmma%s %s, %d of %dx%d, tile %dx%d groups %d resident %d split %d",
                    emu_bf16() ? " bf16" : "", op->name, images, op->oh, op->ow, t->bm, t->bn, t->groups, t->resident,
                    t->split);
}

/* Tests a launch, with all operations in it, with the tile for large or small batches; large -1: every tile. */
static void test_op(int index, int images, int large, int multiprocessors) {
    int with = gpu.plan.fused_shortcut[index], inner = gpu.plan.fused_first[index], all = large < 0, fit = 0, count = 0;
    int more_multiprocessors[REID__WGMMA_SHAPES];
    reid__wgmma_tile tiles[REID__WGMMA_SHAPES];
    const int pools = plan.ops[index].kind == REID__MAXPOOL, most = all && !pools ? REID__WGMMA_SHAPES : 1;
    for (int tile = 0; tile < most; tile++) {
        const reid__wgmma_shape *shape = &reid__wgmma_shapes[tile];
        reid__wgmma_tile t = {.stages = 8};
        if (!pools)
            t = all ? reid__wgmma_fit(&gpu.plan, index, shape)
                    : reid__choose_wgmma_tile(&gpu.plan, index, 90, large);
        if (all && (shape->split > 1 || (shape->wide && t.bn < 256))) continue; /* another one's */
        if (t.stages < 2) continue; /* does not fit */
        fit++;
        if (is_wanted(index, images, &t)) more_multiprocessors[count] = all ? tile : 0, tiles[count++] = t;
    }
    CHECK(fit > 0);
    if (!count) return;
    operands other, o, last, *more = with == REID__NONE ? NULL : &other, *before = inner == REID__NONE ? NULL : &other;
    const int then = gpu.plan.fused_then[index];
    const fused all_of = {more, before, then == REID__NONE ? NULL : &last};
    if (more || before) other = operands_of(more ? with : inner, images, NULL, NULL);
    o = operands_of(index, images, more, before);
    if (all_of.then) last = operands_of(then, images, NULL, &o);
    for (int i = 0; i < count; i++) run_tile(&o, all_of, &tiles[i], multiprocessors + more_multiprocessors[i]);
    drop_operands(&o);
    if (more || before) drop_operands(&other);
    if (all_of.then) drop_operands(&last);
}

static void plan_of(const char *network, int height, int width) {
    reid__arch arch;
    NEED(!reid__arch_named(network, &arch) || !reid__plan_build(&plan, &arch, height, width, 2, REID_HEAD_NONE, NULL));
    reid__gpu_plan_init(&gpu.plan, &plan, &prep, 1, 2, 0, 0, 0);
}

/* The stem and its max pool: rows of 19 to 165 outputs, with and without padding, an odd number of strips, sums below
   zero. */
static void test_pools(size_t count) {
    static const struct { const char *network; int height, width, images, multiprocessors; } rows[] = {
        {"resnet50-strongbaseline", 40, 64, 2, 1}, {"resnet50-fastreid", 45, 37, 3, 1}, {"resnet50", 33, 250, 2, 2},
        {"resnet50", 21, 330, 1, 1}, {"resnet50-fastreid", 30, 46, 1, 2},
    };
    for (size_t i = 0; i < count; i++) {
        plan_of(rows[i].network, rows[i].height, rows[i].width);
        CHECK(gpu.plan.fused_first[1] == 0);
        prep.preset.bgr = i % 2;
        test_op(1, rows[i].images, 0, rows[i].multiprocessors);
    }
}

/* The last convolution, which stores only row sums: rows of 3 pixels straddle slots, and leave a pixel of each tile
   unused. */
static void test_row_sums(const char *network) {
    int last = 0;
    plan_of(network, 101, 75);
    for (int i = 0; i < plan.op_count; i++)
        if (plan.ops[i].kind == REID__CONV) last = i;
    CHECK(gpu.plan.pixels_per_sum[plan.ops[last].out] == 3);
    test_op(last, 6, -1, 7);
}

static int channels_then(int index) {
    return gpu.plan.fused_then[index] == REID__NONE ? 0 : plan.ops[gpu.plan.fused_then[index]].oc;
}

/* Whether it is launched, and no operation before it has the same shape. */
static int is_new(int index) {
    const reid__op *a = &plan.ops[index];
    if (a->kind == REID__MAXPOOL && gpu.plan.fused_first[index] != REID__NONE) return 1;
    if (!reid__takes_wgmma(&gpu.plan, a) || gpu.plan.fused_into[index] != REID__NONE) return 0;
    for (int i = 0; i < index; i++) {
        const reid__op *b = &plan.ops[i];
        if (reid__takes_wgmma(&gpu.plan, b) && a->kh == b->kh && a->stride == b->stride && a->ih == b->ih &&
            a->iw == b->iw && a->ic == b->ic && a->oc == b->oc && a->act == b->act &&
            channels_then(i) == channels_then(index) &&
            reid__adds(&gpu.plan, index) == reid__adds(&gpu.plan, i)) return 0;
    }
    return 1;
}

/* Every layer with the tile for large batches, or for small ones. */
static void test_layers(const char *network, int large) {
    int layers = 0;
    plan_of(network, 224, 224);
    for (int i = 0; i < plan.op_count; i++)
        if (is_new(i)) test_op(i, 1, large, large ? 7 : 132), layers++;
    CHECK(layers >= 4);
}

/* Odd sizes, all tiles, on so few multiprocessors that blocks have several tiles and rings wrap around. */
static void test_sizes(int height, int width, int most_channels) {
    plan_of("resnet50", height, width);
    for (int i = 0; i < plan.op_count; i++)
        if (is_new(i) && plan.ops[i].ic <= most_channels) test_op(i, 3, -1, 1);
}

/* A block's last convolution with the next block's first, which has no ReLU, because an instance norm follows. */
static void test_linear(void) {
    int count = 0;
    plan_of("resnet50-ibn-fastreid", 45, 37);
    for (int i = 0; i < plan.op_count; i++) {
        if (!channels_then(i)) continue;
        CHECK(plan.ops[gpu.plan.fused_then[i]].act == REID__LINEAR_ACT);
        test_op(i, 3, -1, 1), count++;
    }
    CHECK(count == 2);
}

/* Channels of which the last tile's second half has none. */
static void test_channels(void) {
    int count = 0;
    plan_of("efficientnet_b2", 45, 37);
    for (int i = 0; i < plan.op_count; i++)
        if (is_new(i) && plan.ops[i].oc > 128 && plan.ops[i].oc % 128 == 64) test_op(i, 3, -1, 1), count++;
    CHECK(count > 0);
}

/* Weights that are not resident, for a block with several tiles: of one convolution and, behind another, of NEXT. */
static void test_ring(void) {
    plan_of("resnet50", 45, 37);
    for (int i = 0; i < plan.op_count; i++)
        if (is_new(i) && gpu.plan.fused_first[i] != REID__NONE && plan.ops[i].oc == 512) test_op(i, 3, 1, 1);
    plan_of("resnet50", 101, 75);
    for (int i = 0; i < plan.op_count; i++)
        if (is_new(i) && plan.ops[i].kh == 3 && plan.ops[i].ic == 256 && plan.ops[i].stride == 1) test_op(i, 3, -1, 1);
}

/* Large biases that the residual subtracts again, so that the rest depends on the order in which parts are added. */
static void make_large(operands *o) {
    float *bias = (float *)malloc((size_t)o->oc * sizeof *bias);
    uint16_t *rest = (uint16_t *)malloc((size_t)(o->pixels * o->oc) * 2);
    for (int n = 0; n < o->oc; n++) bias[n] = (float)(n % 7 + 64);
    for (int i = 0; i < o->pixels * o->oc; i++) rest[i] = emu_half_from(-(double)bias[i % o->oc]);
    NEED(cuMemcpyHtoD_v2(o->bias, bias, (size_t)o->oc * sizeof *bias));
    NEED(cuMemcpyHtoD_v2(o->rest, rest, (size_t)(o->pixels * o->oc) * 2));
    free(bias), free(rest);
}

/* For latency: blocks of a cluster that share K, on so few multiprocessors that clusters have several tiles. If the
   shortcut is folded in, only the definition rounds it. */
static void test_parts(int few) {
    static const struct { const char *name; int split, groups; } rows[] = {
        {"layer1.1.conv2", 4, 1}, {"layer3.1.conv3", 4, 2}, {"layer1.1.conv2", 8, 2}, {"layer2.1.conv3", 2, 1},
        {"layer2.0.conv3", 4, 1}, {"layer3.0.conv2", 8, 1}, {"layer2.1.conv1", 2, 2}};
    plan_of("resnet50", 45, 37);
    reid__gpu_plan_init(&gpu.plan, &plan, &prep, 1, 2, 0, 0, 1);
    for (size_t row = 0; row < (few ? 2 : sizeof rows / sizeof *rows); row++) {
        int index = 0;
        while (strcmp(plan.ops[index].name, rows[row].name) != 0) index++;
        int with = gpu.plan.fused_shortcut[index];
        CHECK(gpu.plan.fused_first[index] == REID__NONE && gpu.plan.fused_into[index] == REID__NONE);
        const reid__wgmma_shape shape = {1, rows[row].groups, rows[row].split, 0};
        reid__wgmma_tile t = reid__wgmma_fit(&gpu.plan, index, &shape);
        CHECK(t.stages >= 3 && t.shared <= REID__SHARED_HALF);
        if (!is_wanted(index, 3, &t)) continue;
        operands more, o;
        if (with != REID__NONE) more = operands_of(with, 3, NULL, NULL);
        o = operands_of(index, 3, with == REID__NONE ? NULL : &more, NULL);
        if (op_of(&o)->residual != REID__NONE && with == REID__NONE) make_large(&o);
        if (with == REID__NONE) expect(&o, t.split);
        run_tile(&o, (fused){with == REID__NONE ? NULL : &more, NULL, NULL}, &t, t.split);
        drop_operands(&o);
        if (with != REID__NONE) drop_operands(&more);
    }
}

/* --- reid_project --- */

/* Compiles a 1x1 convolution for large batches, or as small ones have it. */
static reid__step projection_step(int index, int large) {
    reid__program p;
    reid__step s;
    memset(&p, 0, sizeof p), memset(&s, 0, sizeof s);
    reid__op_step(&gpu.plan, index, 90, large, &p, &s);
    reid__option(&p, emu_bf16() ? "-DVALUE_BF16" : "-DVALUE_F16");
    s.handle = function_of(s.function, &p, s.shared);
    CHECK(strcmp(s.function, large ? "reid_project" : "reid_conv_f16") == 0);
    return s;
}

/* Its outputs, in memory of their own behind which nothing may be written. */
static uint16_t *projected(int index, const reid__step *s, int images, int large) {
    const reid__op *op = &plan.ops[index];
    reid_error error = REID_INIT;
    size_t bytes = (size_t)(images * op->oh * op->ow) * (size_t)plan.buffers[op->out].c * sizeof(uint16_t);
    uint16_t *got = (uint16_t *)malloc(bytes);
    lane.buffer[op->out] = emu_upload(NULL, bytes);
    NEED(large ? reid__gpu_run_project(&gpu, &lane, index, s, images, &error)
               : reid__gpu_run_conv(&gpu, &lane, index, s, images, &error));
    NEED(cuCtxSynchronize());
    emu_download(got, lane.buffer[op->out], bytes);
    return got;
}

/* The same bits as reid_conv_f16, on so few multiprocessors that blocks have several tiles, and on many. */
static void test_projection(int index, int images) {
    const reid__op *op = &plan.ops[index];
    gpu.plan.squeezed[index] = 0; /* it is given its factors */
    reid__step large = projection_step(index, 1), small = projection_step(index, 0);
    size_t oc = (size_t)plan.buffers[op->out].c, ic = (size_t)plan.buffers[op->in].c;
    size_t pixels = (size_t)(op->oh * op->ow), n = (size_t)images, row = (size_t)reid__gpu_row(&gpu.plan, index);
    if (!emu_case("reid_project%s %s, %d of %dx%d", emu_bf16() ? " bf16" : "", op->name, images, op->oh, op->ow))
        return;
    printf("%-22s %4zu -> %4zu, %d of %3dx%-3d, %s\n", op->name, ic, oc, images, op->oh, op->ow, large.label);
    float *floats = (float *)malloc((n * ic + oc) * sizeof *floats);
    unsigned seed = 3;
    for (size_t i = 0; i < n * ic + oc; i++) floats[i] = (float)emu_uniform(&seed);
    CUdeviceptr factors = emu_upload(floats, n * ic * sizeof *floats);
    if (op->scale != REID__NONE) lane.buffer[op->scale] = factors;
    lane.buffer[op->in] = random_tensor(n * pixels, (size_t)op->ic, ic, 1);
    if (op->residual != REID__NONE) lane.buffer[op->residual] = random_tensor(n * pixels, (size_t)op->oc, oc, 1);
    CUdeviceptr weights = random_tensor(oc, (size_t)op->ic, row, 0.0625);
    CUdeviceptr bias = emu_upload(floats + n * ic, oc * sizeof *floats);
    gpu.weights = weights, gpu.plan.weight[index] = 0, gpu.plan.bias[index] = bias - weights;
    uint16_t *want = projected(index, &small, images, 0);
    for (int multiprocessors = 1; multiprocessors <= 132; multiprocessors += 131) {
        gpu.device.multiprocessors = multiprocessors;
        uint16_t *got = projected(index, &large, images, 1);
        check_result(got, want, n * pixels * oc, 1);
        free(got);
    }
    free(want), free(floats);
    if (op->residual != REID__NONE) NEED(cuMemFree_v2(lane.buffer[op->residual]));
    NEED(cuMemFree_v2(lane.buffer[op->in]));
    NEED(cuMemFree_v2(factors));
    NEED(cuMemFree_v2(weights));
    NEED(cuMemFree_v2(bias));
}

/* All that reid_project computes of a network; few: every fifth. */
static void test_projections(const char *network, int height, int width, int images, int few) {
    int layers = 0;
    plan_of(network, height, width);
    for (int i = 0; i < plan.op_count; i++)
        if (reid__takes_project(&gpu.plan, &plan.ops[i]) && (layers++ % 5 == 0 || !few)) test_projection(i, images);
    CHECK(layers >= 20);
}

/* --- reid_expand --- */

/* The outputs of a depthwise convolution of a large batch, then the sums of their tiles, in one launch with the
   convolution before it or, with `two`, in two. Memory behind both may not be written. */
static unsigned char *expanded(int index, int images, int two, size_t *bytes) {
    const reid__op *op = &plan.ops[index];
    const reid__expand own = gpu.plan.expand[index];
    reid_error error = REID_INIT;
    size_t c = (size_t)(images * plan.buffers[op->out].c), outputs = c * (size_t)(op->oh * op->ow) * 2;
    size_t sums = c * (size_t)reid__sum_tiles_of(op).count * 4;
    unsigned char *got = (unsigned char *)calloc(1, *bytes = outputs + sums);
    if (!got) exit(1);
    lane.buffer[op->out] = emu_upload(got, outputs), lane.buffer[op->sums] = emu_upload(got, sums);
    if (two) gpu.plan.expand[index].slice = 0;
    for (int i = two ? index - 1 : index; i <= index; i++) {
        reid__program p;
        reid__step *s = &gpu.plan.step[1][i];
        memset(&p, 0, sizeof p), memset(s, 0, sizeof *s);
        reid__op_step(&gpu.plan, i, 90, 1, &p, s);
        reid__option(&p, emu_bf16() ? "-DVALUE_BF16" : "-DVALUE_F16");
        CHECK(strcmp(s->function, !two ? "reid_expand" : i == index ? "reid_depthwise" : "reid_project") == 0);
        s->handle = function_of(s->function, &p, s->shared);
        NEED(reid__gpu_run_op(&gpu, &lane, i, images, &error));
    }
    NEED(cuCtxSynchronize());
    gpu.plan.expand[index] = own;
    emu_download(got, lane.buffer[op->out], outputs);
    emu_download(got + outputs, lane.buffer[op->sums], sums);
    return got;
}

/* The weights or the bias of an operation, on the device. */
static void place_floats(size_t *offset, size_t n, double scale) {
    static unsigned seed = 7;
    float *f = (float *)malloc(n * sizeof *f);
    if (!f) exit(1);
    for (size_t i = 0; i < n; i++) f[i] = (float)(emu_uniform(&seed) * scale);
    *offset = emu_upload(f, n * sizeof *f) - gpu.weights;
    free(f);
}

/* The same bits as two launches, by so few blocks that each has several shares, and by many. The expansion's biases are
   large, because outside the image the depthwise convolution's input is zero, not an activated bias. */
static void test_expansion(int index, int images) {
    const reid__op *op = &plan.ops[index], *first = op - 1;
    const reid__expand *x = &gpu.plan.expand[index];
    size_t c = (size_t)plan.buffers[op->in].c, ic = (size_t)plan.buffers[first->in].c, bytes;
    size_t pixels = (size_t)(images * op->ih * op->iw);
    if (!emu_case("reid_expand%s %s, %d of %dx%d", emu_bf16() ? " bf16" : "", op->name, images, op->ih, op->iw)) return;
    printf("%-22s %4zu -> %4zu, %d of %3dx%-3d, %d channels, %d images and %d rows a place, %d warps\n", op->name, ic,
           c, images, op->ih, op->iw, x->slice, x->images, x->rows, x->warps);
    lane.buffer[first->in] = random_tensor(pixels, (size_t)first->ic, ic, 1);
    lane.buffer[first->out] = emu_upload(NULL, pixels * c * 2);
    gpu.weights = random_tensor(c, (size_t)first->ic, (size_t)reid__gpu_row(&gpu.plan, index - 1), 0.5);
    gpu.plan.weight[index - 1] = 0;
    place_floats(&gpu.plan.bias[index - 1], c, 4), place_floats(&gpu.plan.bias[index], c, 1);
    place_floats(&gpu.plan.weight[index], (size_t)(op->kh * op->kw) * c, 0.5);
    gpu.device.multiprocessors = 132;
    unsigned char *want = expanded(index, images, 1, &bytes);
    for (int multiprocessors = 1; multiprocessors <= 132; multiprocessors += 131) {
        gpu.device.multiprocessors = multiprocessors;
        unsigned char *got = expanded(index, images, 0, &bytes);
        CHECK(memcmp(got, want, bytes) == 0);
        free(got);
    }
    free(want);
    NEED(cuMemFree_v2(lane.buffer[first->in]));
    NEED(cuMemFree_v2(lane.buffer[first->out]));
}

/* All that reid_expand computes of a network: so many, that is, `wanted`. */
static void test_expansions(const char *network, int height, int width, int images, int wanted) {
    plan_of(network, height, width);
    for (int i = 0; i < plan.op_count; i++)
        if (gpu.plan.expand[i].slice) test_expansion(i, images), wanted--;
    CHECK(wanted == 0);
}

static int only(const char *part) {
    const char *name = getenv("ONLY");
    return !name || strcmp(name, part) == 0;
}

/* `few`, and where every access is checked: only the smallest sizes. ONLY in the environment: one part alone. */
int main(int argc, char **argv) {
    kernels_text = emu_read_file("reid_kernels.cu");
    emu_start();
    NEED(reid__driver_load(&gpu.device, NULL));
    int few = getenv("REID_EMULATOR_CHECK") || (argc > 1 && !strcmp(argv[1], "few"));
    if (only("sizes")) test_sizes(few ? 45 : 101, few ? 37 : 75, few ? 64 : 128);
    if (only("linear")) test_linear();
    if (only("pools")) test_pools(few ? 1 : 5);
    if (only("row_sums")) test_row_sums("resnet50");
    if (only("row_sums") && !few) test_row_sums("efficientnet_b0");
    if (only("channels")) test_channels();
    if (only("ring")) test_ring();
    if (only("layers") && !few) test_layers("resnet50", 1), test_layers("efficientnet_b0", 0);
    if (only("parts")) test_parts(few);
    if (only("projections")) test_projections("efficientnet_b0", 101, 120, 5, few);
    if (only("projections") && !few) test_projections("efficientnet_b3", 224, 128, 1, 0);
    if (only("expansions")) test_expansions("efficientnet_b2", 40, 282, 9, 5);
    if (only("expansions") && !few) test_expansions("tf_efficientnet_b0", 107, 75, 9, 4);
    if (only("expansions") && !few) test_expansions("efficientnet_b0", 101, 224, 8, 4);
    free(kernels_text);
    return emu_done("kernels_wgmma");
}
