/* t_int8.c: INT8 of the ResNets on the CPU: every stored byte against a plain restatement of the definition, the same
   bits on all instruction sets, the ranges file, and images that exceed the ranges.

   cc -std=c99 -D_GNU_SOURCE -O2 -I. tests/core/t_int8.c -o t_int8 -lcmocka -lm -lpthread */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <limits.h>

#define REID_STATIC
#define REID_IMPLEMENTATION
#include "reid.h"
#include "../lib/test_net.h"
#include "../lib/test_ranges.h"
#include "../lib/test_says.h"

#define SEED 5
#define H 64
#define W 48
#define IMAGES 7

static const char network[] = "resnet50-multiscale";
static net_file weights;
static char path[512]; /* of the ranges */
static uint8_t *pixels;
static seen measured; /* in FP32, of image 0 */

static reid_desc desc_for(reid_precision precision, reid_error *error) {
    reid_desc d = net_desc(&weights, H, W, error);
    d.device = REID_DEVICE_CPU, d.precision = precision, d.raw = 1;
    d.ranges = precision == REID_INT8 ? path : NULL;
    return d;
}

static reid_ctx *create(const reid_desc *d) {
    reid_ctx *ctx;
    if (reid_create(d, &ctx) != REID_OK) fail_msg("%s", d->error->text);
    return ctx;
}

static void measure(const odd *o) {
    static const odd none;
    write_ranges(path, &measured, o ? o : &none);
}

/* --- the definition ----------------------------------------------------------------------------------------------- */

static int writer_of(const reid__plan *p, int index, int buffer) {
    do index--;
    while (p->ops[index].out != buffer);
    return index;
}

static void check_byte(const seen *s, int index, size_t at, float v) {
    const reid__op *op = &s->ctx->plan->ops[index];
    long want = lrintf(fmaxf(fminf(v, 300.0f), -300.0f)), most = op->act == REID__RELU ? 255 : 127;
    want = want > most ? most : want < most - 255 ? most - 255 : want;
    if (s->bytes[index][at] != want)
        fail_msg("%s, value %zu is %d, not %ld", op->name, at, s->bytes[index][at], want);
}

/* One output channel of one convolution. inputs: whole numbers; w: its weights, (ic, kh, kw), quantised. */
static void check_channel(const seen *s, int index, const int *inputs, int oc, const int *w, float scale, float bias) {
    const reid__plan *p = s->ctx->plan;
    const reid__op *op = &p->ops[index];
    int rest = op->residual < 0 ? -1 : writer_of(p, index, op->residual);
    for (int oy = 0; oy < op->oh; oy++)
        for (int ox = 0; ox < op->ow; ox++) {
            int64_t sum = 0;
            for (int ky = 0; ky < op->kh; ky++)
                for (int kx = 0; kx < op->kw; kx++) {
                    int y = oy * op->stride + ky - op->pad_y, x = ox * op->stride + kx - op->pad_x;
                    if (y < 0 || x < 0 || y >= op->ih || x >= op->iw) continue;
                    const int *in = inputs + (y * op->iw + x) * op->ic;
                    for (int ic = 0; ic < op->ic; ic++) sum += in[ic] * w[(ic * op->kh + ky) * op->kw + kx];
                }
            assert_true(llabs(sum) < 1 << (index ? 30 : 24));
            size_t at = ((size_t)oy * (size_t)op->ow + (size_t)ox) * (size_t)op->oc + (size_t)oc;
            float v = fmaf((float)sum, scale, bias);
            if (rest >= 0)
                v = fmaf((float)s->bytes[rest][at], (float)(step_of(p, op->residual) / step_of(p, op->out)), v);
            check_byte(s, index, at, v);
        }
}

/* The input of the first convolution: levels minus 124, 116 and 104, the nearest to ImageNet's mean. */
static int *levels_of(const seen *s, reid_image image) {
    static uint8_t view[H * W * 3];
    static int levels[H * W * 3];
    static const int means[3] = {124, 116, 104};
    assert_int_equal(reid_preprocess(s->ctx, &image, view, NULL), REID_OK);
    for (int i = 0; i < H * W * 3; i++) levels[i] = view[i] - means[i % 3];
    return levels;
}

/* The first convolution. */
static void check_stem(const seen *s, const int *levels) {
    static const double means[3] = {0.485, 0.456, 0.406}, stds[3] = {0.229, 0.224, 0.225};
    static const double nearest[3] = {124, 116, 104};
    const reid__op *op = &s->ctx->plan->ops[0];
    double step = step_of(s->ctx->plan, op->out);
    reid__needed_tensor wants[REID__MAX_NEEDED];
    float *tensor[5];
    int w[147], largest = 0;
    reid__needed_tensors(op, wants);
    for (int i = 0; i < 5; i++) {
        tensor[i] = (float *)malloc(net_count(&wants[i]) * sizeof(float));
        net_values(&wants[i], SEED, NULL, tensor[i]);
    }
    for (int oc = 0; oc < op->oc; oc++) {
        double factor = tensor[1][oc] / sqrt(tensor[4][oc] + op->bn_eps), most = 0, sum = 0, rest = 0;
        float bias = (float)(tensor[2][oc] - tensor[3][oc] * factor);
        for (int i = 0; i < 147; i++) {
            double v = tensor[0][oc * 147 + i] * factor / stds[i / 49];
            most = fmax(most, fabs(v / 255)), sum += fabs(v / 255) * fmax(nearest[i / 49], 255 - nearest[i / 49]);
            rest += v * (nearest[i / 49] / 255 - means[i / 49]);
        }
        double one = fmax(most / 2048, sum / (16777216 - 384 * 49));
        for (int i = 0; i < 147; i++) {
            w[i] = (int)rint(tensor[0][oc * 147 + i] * factor / stds[i / 49] / 255 / one);
            largest = abs(w[i]) > largest ? abs(w[i]) : largest;
        }
        check_channel(s, 0, levels, oc, w, (float)((float)one / step), (float)((float)(bias + rest) / step));
    }
    assert_in_range(largest, 512, 2048);
    for (int i = 0; i < 5; i++) free(tensor[i]);
}

/* Some output channels of a convolution, including the first and the last of a panel. */
static void check_conv(const seen *s, int index) {
    const reid__plan *p = s->ctx->plan;
    const reid__op *op = &p->ops[index];
    reid__needed_tensor wants[REID__MAX_NEEDED];
    float *tensor[5];
    int count = op->ic * op->kh * op->kw;
    reid__needed_tensors(op, wants);
    for (int i = 0; i < 5; i++) {
        tensor[i] = (float *)malloc(net_count(&wants[i]) * sizeof(float));
        net_values(&wants[i], SEED, NULL, tensor[i]);
    }
    int *w = (int *)malloc((size_t)count * sizeof *w);
    for (int oc = index % 5; oc < op->oc; oc += oc % 32 == 31 ? 31 : 31 - oc % 32) {
        double factor = tensor[1][oc] / sqrt(tensor[4][oc] + op->bn_eps), most = 0;
        const float *row = tensor[0] + (ptrdiff_t)oc * count;
        float bias = (float)(tensor[2][oc] - tensor[3][oc] * factor);
        for (int i = 0; i < count; i++) most = fmax(most, fabs(row[i] * factor));
        for (int i = 0; i < count; i++) w[i] = (int)rint(row[i] * factor * (127 / most));
        float one = (float)(most / 127);
        check_channel(s, index, s->bytes[writer_of(p, index, op->in)], oc, w,
                      (float)(one * step_of(p, op->in) / step_of(p, op->out)), (float)(bias / step_of(p, op->out)));
    }
    free(w);
    for (int i = 0; i < 5; i++) free(tensor[i]);
}

static void check_maxpool(const seen *s, int index) {
    const reid__op *op = &s->ctx->plan->ops[index];
    for (size_t at = 0; at < size_of(op); at++) {
        int c = (int)at % op->oc, x0 = (int)at / op->oc % op->ow * 2 - op->pad_x;
        int y0 = (int)at / op->oc / op->ow * 2 - op->pad_y;
        long most = 0;
        for (int y = y0; y < y0 + 3; y++)
            for (int x = x0; x < x0 + 3; x++)
                if (y >= 0 && x >= 0 && y < op->ih && x < op->iw) {
                    long value = s->bytes[index - 1][(y * op->iw + x) * op->oc + c];
                    if (value > most) most = value;
                }
        assert_int_equal(s->bytes[index][at], most);
    }
}

/* Adaptive average: the sum of bytes is exact in FP32. */
static void check_pool(const seen *s, int index) {
    const reid__plan *p = s->ctx->plan;
    const reid__op *op = &p->ops[index];
    int from = writer_of(p, index, op->in);
    for (size_t at = 0; at < size_of(op); at++) {
        int c = (int)at % op->oc, bx = (int)at / op->oc % op->ow, by = (int)at / op->oc / op->ow, count = 0;
        long sum = 0;
        for (int y = 0; y < op->ih; y++)
            for (int x = 0; x < op->iw; x++)
                if (y * op->oh < (by + 1) * op->ih && (y + 1) * op->oh > by * op->ih &&
                    x * op->ow < (bx + 1) * op->iw && (x + 1) * op->ow > bx * op->iw)
                    sum += s->bytes[from][(y * op->iw + x) * op->oc + c], count++;
        float want = (float)sum * (float)step_of(p, op->in) / (float)count;
        if (s->values[index][at] != want) fail_msg("pool %d: %.9g, not %.9g", index, (double)s->values[index][at],
                                                   (double)want);
    }
}

static void test_definition(void **state) {
    reid_error error;
    seen s;
    int kinds[REID__NORMALISE + 1] = {0};
    (void)state;
    measure(NULL);
    reid_desc d = desc_for(REID_INT8, &error);
    look(&s, &d, net_image(pixels, 1, H, W));
    const reid__plan *p = s.ctx->plan;
    check_stem(&s, levels_of(&s, net_image(pixels, 1, H, W)));
    for (int i = 1; i < p->op_count; i++, kinds[p->ops[i - 1].kind]++) {
        if (p->ops[i].kind == REID__CONV) check_conv(&s, i);
        if (p->ops[i].kind == REID__MAXPOOL) check_maxpool(&s, i);
        if (p->ops[i].kind == REID__POOL) check_pool(&s, i);
    }
    assert_int_equal(kinds[REID__CONV], 52);
    assert_int_equal(kinds[REID__POOL], 3);
    forget(&s);
}

/* --- the same bits ------------------------------------------------------------------------------------------------ */

static void test_same_bits(void **state) {
    static const struct { int batch, threads, lanes; } ways[] = {{1, 1, 1}, {3, 2, 1}, {8, 5, 2}};
    static const reid_isa isas[] = {REID_ISA_AVX2, REID_ISA_AVX512_VNNI, REID_ISA_AMX_INT8, REID_ISA_SCALAR};
    static float want[IMAGES * 512], out[IMAGES * 512];
    reid_image images[IMAGES];
    reid_error error;
    int first = 1;
    (void)state;
    measure(NULL);
    for (int i = 0; i < IMAGES; i++) images[i] = net_image(pixels, i, H, W);
    for (int k = 0; k < 4; k++) {
        int scalar = isas[k] == REID_ISA_SCALAR;
        if (!reid__kernels_for_int8(isas[k])) continue;
        for (int way = 0; way < (scalar ? 1 : 3); way++) {
            reid_desc d = desc_for(REID_INT8, &error);
            d.cpu_isa = isas[k];
            d.batch = ways[way].batch, d.threads = ways[way].threads, d.lanes = ways[way].lanes;
            reid_ctx *ctx = create(&d);
            assert_string_equal(ctx->info.precision, "int8");
            assert_int_equal(reid_embed(ctx, images, scalar ? 2 : IMAGES, out), REID_OK);
            if (first) memcpy(want, out, sizeof want);
            assert_memory_equal(out, want, (scalar ? 2 : IMAGES) * 512 * sizeof *out);
            assert_int_equal(reid_embed(ctx, images + 1, 1, out), REID_OK); /* in another place */
            assert_memory_equal(out, want + 512, 512 * sizeof *out);
            first = 0;
            reid_destroy(ctx);
        }
    }
}

/* --- refusals ----------------------------------------------------------------------------------------------------- */

static void refuse(const reid_desc *d, reid_result code, const char *part) {
    reid_ctx *ctx;
    assert_int_equal(reid_create(d, &ctx), code);
    assert_null(ctx);
    if (!says(d->error->text, part)) fail_msg("\"%s\" does not have \"%s\"", d->error->text, part);
}

static void test_refused(void **state) {
    static const struct { odd o; reid_result code; const char *part; } rows[] = {
        {{.leave_out = "layer2.1.conv2"}, REID_ERR_TENSOR_MISSING, "range layer2.1.conv2: shape [] is needed"},
        {{.extra = "layer2.4.conv1"}, REID_ERR_TENSOR_UNEXPECTED, "range layer2.4.conv1: resnet50-multiscale has no"},
        {{.extra = "maxpool"}, REID_ERR_TENSOR_UNEXPECTED, "range maxpool"},
        {{.retype = "conv1"}, REID_ERR_TENSOR_DTYPE, "range conv1: dtype is I32"},
        {{.in_vector = 1}, REID_ERR_TENSOR_SHAPE, "range conv1: shape is [1], [] is needed"},
        {{.poke = "layer1.0.conv3", .value = 0}, REID_ERR_RANGES, "range layer1.0.conv3 is 0; it must be positive"},
        {{.poke = "layer1.0.conv3", .value = -2}, REID_ERR_RANGES, "range layer1.0.conv3 is -2"},
        {{.poke = "conv1", .value = NAN}, REID_ERR_NOT_FINITE, "conv1"},
        {{.poke = "conv1", .value = INFINITY}, REID_ERR_NOT_FINITE, "conv1"},
        {{.no_metadata = 1}, REID_ERR_RANGES, "no reid.fingerprint in its metadata"},
        {{.made_for = "0123"}, REID_ERR_RANGES, "made for fingerprint 0123, but this network"},
    };
    reid_error error;
    reid_desc d = desc_for(REID_INT8, &error);
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        measure(&rows[i].o);
        refuse(&d, rows[i].code, rows[i].part);
        assert_says(error.text, path);
    }
    measure(NULL);
    d.width += 16;
    refuse(&d, REID_ERR_RANGES, "made for fingerprint"); /* another input size, another network */
    d.width -= 16, d.ranges = NULL;
    refuse(&d, REID_ERR_RANGES, "reid calibrate --int8");
    d.ranges = "/no/such/file";
    refuse(&d, REID_ERR_FILE_OPEN, "/no/such/file: no such file");
    d.ranges = path, d.precision = REID_FP32;
    refuse(&d, REID_ERR_INVALID_ARG, "desc.ranges is only for REID_INT8");
    d.precision = REID_INT8, d.cpu_isa = REID_ISA_AVX512;
    refuse(&d, REID_ERR_PRECISION, "avx512 was requested, but it does not compute in INT8");
    net_file b0 = net_for("efficientnet_b0", REID_HEAD_NONE, SEED, NULL);
    d = net_desc(&b0, H, W, &error);
    d.device = REID_DEVICE_CPU, d.precision = REID_INT8, d.ranges = path;
    refuse(&d, REID_ERR_PRECISION, "efficientnet_b0 is not computed in INT8");
    free(b0.bytes);
}

static void test_fingerprint(void **state) {
    static const odd other = {.poke = "layer3.2.conv1", .value = 3.5f};
    char prints[3][33];
    reid_error error;
    (void)state;
    for (int i = 0; i < 3; i++) {
        measure(i == 2 ? &other : NULL);
        reid_desc d = desc_for(REID_INT8, &error);
        d.threads = 1 + i, d.raw = 0;
        reid_ctx *ctx = create(&d);
        memcpy(prints[i], ctx->info.fingerprint, 33);
        reid_destroy(ctx);
    }
    assert_string_equal(prints[0], prints[1]);
    assert_string_not_equal(prints[0], prints[2]);
    assert_string_not_equal(prints[0], measured.ctx->info.fingerprint);
    assert_string_not_equal(prints[2], measured.ctx->info.fingerprint);
}

/* --- images beyond the ranges ------------------------------------------------------------------------------------- */

/* The ranges were measured on image 0. Every second one of the others has black and white squares. */
static void draw(reid_image *images) {
    for (int i = 0; i < IMAGES; i++) {
        images[i] = net_image(pixels, i, H, W);
        uint8_t *p = pixels + (ptrdiff_t)i * H * W * 3;
        for (int k = 0; i % 2 && k < H * W * 3; k++) p[k] = (k / 3 % W / 8 + k / 3 / W / 8) % 2 ? 255 : 0;
    }
}

/* From the stored bytes of every operation: whether more than 30 in a million of those outputs are 255. */
static int is_beyond(const reid_desc *d, reid_image image) {
    seen s;
    long full = 0, all = 0;
    look(&s, d, image);
    for (int i = 0; i < s.ctx->plan->op_count; i++) {
        const reid__op *op = &s.ctx->plan->ops[i];
        if (op->kind != REID__CONV || op->residual >= 0 || op->act != REID__RELU) continue;
        for (size_t k = 0; k < size_of(op); k++) full += s.bytes[i][k] == 255;
        all += (long)size_of(op);
    }
    forget(&s);
    return (double)full > 30e-6 * (double)all;
}

static void check_fallback(const reid_desc *d, const reid_image *images, const unsigned char *want, const float *fp32,
                           const float *int8) {
    static float out[IMAGES * 512];
    unsigned char told[IMAGES];
    reid_saturation count;
    reid_ctx *ctx = create(d);
    int beyond = 0;
    for (int i = 0; i < IMAGES; i++) beyond += want[i];
    memset(told, 7, sizeof told);
    assert_int_equal(reid_embed_saturated(ctx, images, IMAGES, out, told, NULL), REID_OK);
    assert_memory_equal(told, want, sizeof told);
    for (int i = 0; i < IMAGES; i++)
        assert_memory_equal(out + i * 512, (d->fallback && want[i] ? fp32 : int8) + i * 512, 512 * sizeof *out);
    assert_int_equal(reid_embed(ctx, images + 1, 1, out), REID_OK); /* in another place */
    assert_memory_equal(out, (d->fallback ? fp32 : int8) + 512, 512 * sizeof *out);
    assert_int_equal(reid_query_saturation(ctx, &count), REID_OK);
    assert_int_equal(count.images, IMAGES + 1);
    assert_int_equal(count.saturated, beyond + 1);
    assert_int_equal(count.recomputed, d->fallback ? beyond + 1 : 0);
    reid_destroy(ctx);
}

static void embed_with(const reid_desc *d, const reid_image *images, float *out, unsigned char *told) {
    reid_ctx *ctx = create(d);
    reid_saturation count;
    assert_int_equal(reid_embed_saturated(ctx, images, IMAGES, out, told, NULL), REID_OK);
    assert_int_equal(reid_query_saturation(ctx, &count), REID_OK);
    if (d->precision == REID_FP32)
        for (int i = 0; i < IMAGES; i++) assert_int_equal(told[i] + count.images + count.saturated, 0);
    reid_destroy(ctx);
}

static void test_beyond(void **state) {
    static const odd wide = {.share = 1.02f};
    static const struct { int batch, threads, lanes; } ways[] = {{1, 1, 1}, {3, 2, 2}, {8, 5, 1}};
    static float fp32[IMAGES * 512], int8[IMAGES * 512];
    unsigned char want[IMAGES], told[IMAGES];
    reid_image images[IMAGES];
    reid_error error;
    (void)state;
    draw(images);
    measure(&wide);
    reid_desc d = desc_for(REID_INT8, &error), plain = desc_for(REID_FP32, &error);
    for (int i = 0; i < IMAGES; i++) want[i] = (unsigned char)is_beyond(&d, images[i]);
    assert_int_equal(want[0], 0);
    assert_int_equal(want[1], 1);
    for (int flip = 0; flip < 2; flip++) {
        d.flip = plain.flip = flip;
        embed_with(&plain, images, fp32, told), embed_with(&d, images, int8, told);
        if (flip) memcpy(want, told, sizeof want); /* the mirrored image may exceed the ranges, too */
        for (int way = flip; way < 3 - flip; way++) {
            d.batch = ways[way].batch, d.threads = ways[way].threads, d.lanes = ways[way].lanes;
            for (d.fallback = 0; d.fallback < 2; d.fallback++)
                check_fallback(&d, images, want, fp32, int8);
        }
        d.batch = d.threads = d.lanes = d.fallback = 0;
    }
}

/* One image with this CPU's FP32 instruction set: for t_neon.sh, where INT8 has a simpler one. */
static void test_beyond_once(void **state) {
    static const odd wide = {.share = 1.02f};
    float fp32[512], out[512];
    reid_image images[IMAGES];
    reid_error error;
    (void)state;
    draw(images);
    measure(&wide);
    for (int i = 0; i < 2; i++) {
        reid_desc d = desc_for(i ? REID_FP32 : REID_INT8, &error);
        d.fallback = !i;
        reid_ctx *ctx = create(&d);
        assert_int_equal(reid_embed(ctx, images + 1, 1, i ? fp32 : out), REID_OK);
        reid_destroy(ctx);
    }
    assert_memory_equal(out, fp32, sizeof out);
}

/* Every allocation in turn is refused; at the end everything has been freed. */
static void *counted_alloc(size_t size, void *user) {
    int *left = (int *)user;
    if (left[0]-- == 0) return NULL;
    left[1]++;
    return malloc(size);
}
static void counted_free(void *p, size_t size, void *user) {
    (void)size;
    ((int *)user)[1]--;
    free(p);
}

static void test_fallback_refused(void **state) {
    reid_error error;
    reid_ctx *ctx, *again;
    int counts[2] = {INT_MAX, 0};
    (void)state;
    measure(NULL);
    reid_desc d = desc_for(REID_FP32, &error);
    d.fallback = 1;
    refuse(&d, REID_ERR_INVALID_ARG, "desc.fallback is only for REID_INT8");
    d = desc_for(REID_INT8, &error), d.fallback = 1, d.threads = 1;
    d.alloc_fn = counted_alloc, d.free_fn = counted_free, d.alloc_user = counts;
    ctx = create(&d);
    assert_string_equal(ctx->info.device, "cpu");
    d.fallback = 0, again = create(&d);
    assert_string_not_equal(ctx->info.fingerprint, again->info.fingerprint);
    assert_true(ctx->info.total_bytes > again->info.total_bytes + again->info.weight_bytes * 3);
    d.fallback = 1, d.memory_limit = again->info.total_bytes;
    reid_destroy(ctx), reid_destroy(again);
    refuse(&d, REID_ERR_MEMORY_LIMIT, "memory_limit");
    d.batch = 1, d.memory_limit = 0, ctx = create(&d), again = ctx->fp32_fallback;
    d.memory_limit = again->info.total_bytes * 5 / 4; /* room only for the FP32 handle */
    reid_destroy(ctx);
    char text[80];
    sprintf(text, "memory_limit is %zu bytes", d.memory_limit);
    refuse(&d, REID_ERR_MEMORY_LIMIT, text);
    d.memory_limit = (size_t)strtoull(strstr(error.text, "needs ") + 6, NULL, 10); /* for both: that is enough */
    ctx = create(&d);
    assert_true(ctx->info.total_bytes <= d.memory_limit);
    reid_destroy(ctx);
    d.batch = 0, d.memory_limit *= 8;
    ctx = create(&d);
    assert_true(ctx->info.total_bytes <= d.memory_limit);
    reid_destroy(ctx);
    int taken = INT_MAX - counts[0], step = 1 + taken / 12;
    for (int k = 0; k < taken; k += step) {
        counts[0] = k;
        reid_result r = reid_create(&d, &ctx);
        if (r == REID_OK) reid_destroy(ctx);
        else assert_int_equal(r, REID_ERR_OUT_OF_MEMORY);
        assert_int_equal(counts[1], 0);
    }
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_definition), cmocka_unit_test(test_same_bits),
                                       cmocka_unit_test(test_refused), cmocka_unit_test(test_fingerprint),
                                       cmocka_unit_test(test_beyond), cmocka_unit_test(test_beyond_once),
                                       cmocka_unit_test(test_fallback_refused)};
    const char *folder = getenv("TMPDIR");
    snprintf(path, sizeof path, "%.400s/int8.XXXXXX", folder ? folder : "/tmp");
    int fd = mkstemp(path);
    if (fd < 0) return perror(path), 1;
    close(fd);
    weights = net_for(network, REID_HEAD_FILE, SEED, NULL);
    pixels = net_pixels(IMAGES, H, W, 3);
    reid_error error;
    reid_desc d = desc_for(REID_FP32, &error);
    d.raw = 0;
    look(&measured, &d, net_image(pixels, 0, H, W));
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(path);
    forget(&measured);
    free(weights.bytes), free(pixels);
    return failed;
}
