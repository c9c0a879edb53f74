/* kernels_conv.c: the convolutions of reid_kernels.cu against their definition, on the emulator: fp32 and fp16, or bf16
   with HALVES=bf16, also the plain one, in several tile shapes, which must not change a bit. Built and run by
   tests/gpu/t_kernels.sh. */
#include "kernels_test.h"

typedef struct conv {
    const char *name;
    int ih, iw, ic, oc, k, stride, pad, act, residual, scale, images, channel;
} conv;

/* Odd sizes, padded channels, tiles that straddle two images, K shorter and longer than a slice. */
static const conv convs[] = {
    {"1x1", 7, 5, 32, 48, 1, 1, 0, 0, 0, 0, 2, 0},
    {"1x1 residual relu", 9, 7, 64, 80, 1, 1, 0, 1, 1, 0, 2, 0},
    {"1x1 scaled residual", 6, 6, 48, 32, 1, 1, 0, 0, 1, 1, 3, 0},
    {"1x1 stride 2", 9, 7, 32, 64, 1, 2, 0, 0, 0, 0, 1, 0},
    {"3x3 relu", 8, 8, 16, 16, 3, 1, 1, 1, 0, 0, 2, 0},
    {"3x3 silu", 10, 11, 48, 64, 3, 1, 1, 2, 0, 0, 1, 0},
    {"3x3 stride 2", 9, 12, 32, 32, 3, 2, 1, 1, 0, 0, 2, 0},
    {"stem 7x8 stride 2", 21, 20, 4, 64, 0, 2, 0, 1, 0, 0, 2, 0}, /* k 0: 7 rows of 8 columns, border stored */
    {"linear into a part", 1, 1, 96, 32, 1, 1, 0, 0, 0, 0, 5, 32},
    {"1x1 scaled", 5, 7, 208, 40, 1, 1, 0, 2, 0, 1, 2, 0},
};

typedef enum kind { PLAIN, F32, F16 } kind;
typedef struct tile {
    int bm, bn, stages, warps_m, warps_n, fetched;
} tile;
static const tile tiles[] = {{64, 32, 3, 2, 2, 0}, {32, 64, 2, 1, 4, 0}, {128, 64, 4, 2, 2, 0},
                             {128, 128, 4, 2, 2, 0}};
/* With the inputs of several slices on their way, for small batches of what a squeeze scales. */
static const tile fetching[] = {{32, 64, 4, 1, 4, 2}, {64, 32, 6, 2, 2, 3}, {32, 32, 16, 2, 2, 8}};
/* In FP32 a thread's pixels and channels in place of the warps. */
static const tile f32_tiles[] = {{128, 128, 2, 8, 16, 0}, {64, 128, 2, 8, 16, 0}, {128, 64, 2, 8, 8, 0},
                                 {64, 64, 2, 8, 8, 0},    {32, 64, 4, 4, 4, 0},   {32, 32, 3, 4, 4, 0}};

static int depth_of(const conv *c) { return (c->k ? c->k * c->k : 7 * 8) * c->ic; }

/* An output by definition, in double. */
static double expected(const conv *c, const double *in, const double *w, const double *bias, const double *rest,
                       const double *scale, int oh, int ow, int m, int n) {
    int image = m / (oh * ow), y0 = m % (oh * ow) / ow * c->stride - c->pad, x0 = m % ow * c->stride - c->pad;
    int kw = c->k ? c->k : 8;
    double sum = bias[n];
    for (int k = 0; k < depth_of(c); k++) {
        int y = y0 + k / c->ic / kw, x = x0 + k / c->ic % kw;
        if (y < 0 || y >= c->ih || x < 0 || x >= c->iw) continue;
        double a = in[((image * c->ih + y) * c->iw + x) * c->ic + k % c->ic];
        if (c->scale) a *= scale[image * c->ic + k % c->ic];
        sum += a * w[k * c->oc + n];
    }
    if (c->residual) sum += rest[m * c->oc + n];
    return activation(sum, c->act);
}

/* A value as stored. */
static double rounded(double value, int half) { return half ? emu_half_value(emu_half_from(value)) : value; }

/* An output with the kernel's rounding: `split` parts of K, whole slices, are chains of multiply-adds in float, added
   first one first. */
static double joined(const conv *c, const double *in, const double *w, const double *bias, const double *rest,
                     int oh, int ow, int m, int n, int split, int half) {
    int y0 = m % (oh * ow) / ow * c->stride - c->pad, x0 = m % ow * c->stride - c->pad, kw = c->k ? c->k : 8;
    int bk = half ? 32 : 16, slices = (depth_of(c) + bk - 1) / bk;
    float total = 0;
    for (int part = 0, k = 0; part < split; part++) {
        float sum = part ? 0 : (float)bias[n];
        for (; k < depth_of(c) && k < slices * (part + 1) / split * bk; k++) {
            int y = y0 + k / c->ic / kw, x = x0 + k / c->ic % kw;
            if (y < 0 || y >= c->ih || x < 0 || x >= c->iw) continue;
            sum = fmaf((float)in[((m / (oh * ow) * c->ih + y) * c->iw + x) * c->ic + k % c->ic],
                       (float)rounded(w[k * c->oc + n], half), sum);
        }
        total = part ? total + sum : sum;
    }
    if (c->residual) total += (float)rest[m * c->oc + n];
    return rounded(activation(total, c->act), half);
}

/* Weights on the device: (K padded, N), transposed for tensor cores; zero past K. */
static CUdeviceptr upload_weights(const double *w, int depth, int padded, int oc, int half, int transposed) {
    char *raw = (char *)calloc((size_t)(padded * oc), 4);
    for (int k = 0; k < depth; k++)
        for (int n = 0; n < oc; n++) {
            size_t at = (size_t)(transposed ? n * padded + k : k * oc + n);
            float v = (float)w[k * oc + n];
            uint16_t h = emu_half_from(v);
            if (half) memcpy(raw + 2 * at, &h, 2);
            else memcpy(raw + 4 * at, &v, 4);
        }
    CUdeviceptr p = emu_upload(raw, (size_t)(padded * oc) * (half ? 2 : 4));
    free(raw);
    return p;
}

static const char *const names[] = {"reid_conv_plain", "reid_conv_f32", "reid_conv_f16"};

/* Before sm_90 blocks that share K do not form a cluster. */
static int apart(int split) { return split > 1 && emu_device_arch() < 90; }

/* Launches a convolution of this many tiles: one cluster per tile, or two launches with the same arguments. */
static void run_parts(CUmodule program, const char *name, int count, int threads, unsigned shared, int split, int oc,
                      reid__conv_arguments *a) {
    CUfunction f = emu_function_of(program, name, shared);
    if (!apart(split)) {
        run_clusters(f, count * split, 1, threads, shared, a, split);
        return;
    }
    a->parts = emu_upload(NULL, (size_t)split * (size_t)(a->pixels * oc) * 4);
    int each = strcmp(name, "reid_conv_f32") == 0 ? 4 : 8;
    run_kernel(f, count * split, 1, threads, shared, a);
    run_kernel(emu_function_of(program, "reid_join", 0), (a->pixels * oc / each + 255) / 256, 1, 256, 0, a);
    NEED(cuMemFree_v2(a->parts));
}

/* *same: results that must be equal to the bit; NULL: receives these. row_sums: their sums over an image's rows. */
static void test_conv(const conv *c, kind as, const tile *s, int row_sums, int split, double **same) {
    int half = as == F16, kh = c->k ? c->k : 7, kw = c->k ? c->k : 8, bk = half ? 32 : 16;
    int oh = (c->ih + 2 * c->pad - kh) / c->stride + 1, ow = (c->iw + 2 * c->pad - kw) / c->stride + 1;
    int pixels = c->images * oh * ow, depth = depth_of(c), stride = c->oc + c->channel;
    int each = row_sums ? s->bm / ow * ow : s->bm; /* pixels of a tile */
    const constant constants[] = {
        {"IH", c->ih}, {"IW", c->iw}, {"IC", c->ic}, {"OH", oh}, {"OW", ow}, {"OC", c->oc}, {"OC_PADDED", c->oc},
        {"OUT_STRIDE", stride}, {"CHANNEL", c->channel}, {"KH", kh}, {"KW", kw}, {"STRIDE", c->stride},
        {"PAD_Y", c->pad}, {"PAD_X", c->pad}, {"ACT", c->act}, {"RESIDUAL", c->residual}, {"SCALE", c->scale},
        {"BM", s->bm}, {"BN", s->bn}, {"BK", bk}, {"STAGES", s->stages}, {"WARPS_M", s->warps_m},
        {"WARPS_N", s->warps_n}, {"EACH_M", s->warps_m}, {"EACH_N", s->warps_n}, {"ROW_SUMS", row_sums},
        {"SPLIT", split}, {"APART", apart(split)}, {"FETCHED", s->fetched}, {NULL, 0}};
    int copies = 64 * s->stages * (s->bm + s->bn);
    int sums = half || split > 1 ? 4 * s->bm * (s->bn + 4) : 0;
    unsigned shared = as == PLAIN ? 0 : (unsigned)(copies > sums ? copies : sums);
    CUmodule program = program_of(names[as], half, constants);
    unsigned seed = 7;
    tensor in = tensor_of((size_t)(c->images * c->ih * c->iw * c->ic), half, &seed, 1);
    tensor w = tensor_of((size_t)(depth * c->oc), 0, &seed, 0.1), bias = tensor_of((size_t)c->oc, 0, &seed, 1);
    for (size_t i = 0; i < w.count; i++) w.host[i] = rounded(w.host[i], half);
    tensor rest = tensor_of((size_t)(pixels * c->oc), half, &seed, 1);
    tensor scale = tensor_of((size_t)(c->images * c->ic), 0, &seed, 1);
    tensor out = result_of((size_t)(row_sums ? pixels / ow * c->oc : pixels * stride), half && !row_sums);
    CUdeviceptr packed = upload_weights(w.host, depth, (depth + bk - 1) / bk * bk, c->oc, half, half);
    reid__conv_arguments a = {.in = in.device, .weights = packed, .bias = bias.device, .residual = rest.device,
                              .factors = scale.device, .out = out.device, .pixels = pixels};
    int threads = half ? 32 * s->warps_m * s->warps_n : s->bm * s->bn / (s->warps_m * s->warps_n);
    if (as == PLAIN)
        run_kernel(emu_function_of(program, names[as], 0), (pixels * c->oc + 255) / 256, 1, 256, 0, &a);
    else
        run_parts(program, names[as], (pixels + each - 1) / each * ((c->oc + s->bn - 1) / s->bn), threads, shared,
                  split, c->oc, &a);
    fetch(&out);
    double worst = 0;
    for (int i = 0; i < pixels / ow * c->oc && row_sums; i++) {
        float sum = 0;
        for (int x = 0; x < ow; x++) sum += (float)(*same)[(i / c->oc * ow + x) * stride + i % c->oc];
        CHECK(out.host[i] == (double)sum);
    }
    for (int m = 0; m < pixels && !row_sums; m++)
        for (int n = 0; n < c->oc; n++) {
            double got = out.host[m * stride + c->channel + n];
            compare(&worst, got, expected(c, in.host, w.host, bias.host, rest.host, scale.host, oh, ow, m, n));
            if (split == 1 || c->scale || c->act == 2 || (half && !emu_adds_in_chains())) continue;
            CHECK(got == joined(c, in.host, w.host, bias.host, rest.host, oh, ow, m, n, split, half));
        }
    printf("%-16s %-20s tile %3d x %-3d split %d fetched %d largest error %.1e\n", names[as], c->name, s->bm, s->bn,
           split, s->fetched, worst);
    /* A rounded output is off by at most half a step, a truncated one by a whole step. */
    double most = emu_half_bound(c->scale || !emu_adds_in_chains() ? 1e-3 : 5.3e-4);
    CHECK(worst < (half ? most : emu_loosened(2e-6)));
    if (*same && !row_sums) CHECK(memcmp(*same, out.host, out.count * sizeof *out.host) == 0);
    if (!*same) *same = (double *)memcpy(malloc(out.count * sizeof *out.host), out.host, out.count * sizeof *out.host);
    NEED(cuMemFree_v2(packed));
    drop(&in), drop(&w), drop(&bias), drop(&rest), drop(&scale), drop(&out);
}

/* Runs it as a case. Sums of rows need the results that they add up. */
static void case_conv(const conv *c, kind as, const tile *s, int row_sums, int split, double **same) {
    if (!emu_case("%s%s %s, tile %dx%d split %d%s%s", names[as], as == F16 && emu_bf16() ? " bf16" : "", c->name, s->bm,
                  s->bn, split, row_sums ? " row sums" : "", s->fetched ? " fetched" : "")) return;
    if (row_sums && !*same) test_conv(c, as, s, 0, split, same);
    test_conv(c, as, s, row_sums, split, same);
}

/* --- INT8 --- */

static float sum_in_double(double a, double b, double c) { return (float)(a * b + c); }

/* Bytes times signed bytes, exactly: every output byte, however many blocks share K. rest: 0, or a residual of bytes
   (1), of signed ones (2). */
static void test_bytes(const conv *c, const tile *s, int rest, int is_signed, int split) {
    if (!emu_case("reid_conv_f16 INT8 %s, tile %dx%d split %d rest %d signed %d", c->name, s->bm, s->bn, split, rest,
                  is_signed)) return;
    int oh = (c->ih + 2 * c->pad - c->k) / c->stride + 1, ow = (c->iw + 2 * c->pad - c->k) / c->stride + 1;
    int pixels = c->images * oh * ow, depth = c->k * c->k * c->ic, wrong = 0, most = 0;
    const constant constants[] = {
        {"IH", c->ih}, {"IW", c->iw}, {"IC", c->ic}, {"OH", oh}, {"OW", ow}, {"OC", c->oc}, {"OC_PADDED", c->oc},
        {"OUT_STRIDE", c->oc}, {"CHANNEL", 0}, {"KH", c->k}, {"KW", c->k}, {"STRIDE", c->stride},
        {"PAD_Y", c->pad}, {"PAD_X", c->pad}, {"ACT", 1}, {"RESIDUAL", rest != 0}, {"SCALE", 0}, {"BM", s->bm},
        {"BN", s->bn}, {"BK", 64}, {"STAGES", s->stages}, {"WARPS_M", s->warps_m}, {"WARPS_N", s->warps_n},
        {"ROW_SUMS", 0}, {"BYTES", 1}, {"SIGNED", is_signed}, {"REST_SIGNED", rest == 2}, {"SPLIT", split},
        {"APART", apart(split)}, {NULL, 0}};
    int copies = 64 * s->stages * (s->bm + s->bn), stored = 4 * s->bm * (s->bn + 4);
    unsigned shared = (unsigned)(copies > stored ? copies : stored), seed = 9;
    size_t in_count = (size_t)(c->images * c->ih * c->iw * c->ic), out_count = (size_t)(pixels * c->oc);
    uint8_t *in = (uint8_t *)malloc(in_count), *residual = (uint8_t *)malloc(out_count);
    uint8_t *out = (uint8_t *)malloc(out_count);
    int8_t *w = (int8_t *)malloc((size_t)(c->oc * depth));
    float scale[81], bias[80];
    for (size_t i = 0; i < in_count; i++) in[i] = (uint8_t)emu_next_random(&seed);
    for (size_t i = 0; i < out_count; i++) residual[i] = (uint8_t)emu_next_random(&seed);
    for (int i = 0; i < c->oc * depth; i++) w[i] = (int8_t)emu_next_random(&seed);
    for (int n = 0; n < c->oc; n++) scale[n] = 3e-3f + 1e-3f * emu_uniform(&seed), bias[n] = 40 * emu_uniform(&seed);
    scale[c->oc] = 0.37f;
    CUdeviceptr d_in = emu_upload(in, in_count), d_rest = emu_upload(residual, out_count);
    CUdeviceptr d_w = emu_upload(w, (size_t)(c->oc * depth)), d_scale = emu_upload(scale, ((size_t)c->oc + 1) * 4);
    CUdeviceptr d_bias = emu_upload(bias, (size_t)c->oc * 4), d_out = emu_upload(NULL, out_count);
    unsigned full[8] = {0}, cut[8] = {0}; /* outputs of 255, an image */
    CUdeviceptr d_full = emu_upload(full, sizeof full);
    reid__conv_arguments a = {.in = d_in, .weights = d_w, .bias = d_bias, .residual = d_rest, .scales = d_scale,
                              .out = d_out, .full = d_full, .pixels = pixels};
    run_parts(program_of("reid_conv_f16", 2, constants), "reid_conv_f16",
              (pixels + s->bm - 1) / s->bm * ((c->oc + s->bn - 1) / s->bn), 32 * s->warps_m * s->warps_n, shared, split,
              c->oc, &a);
    emu_download(out, d_out, out_count);
    emu_download(full, d_full, sizeof full);
    for (int at = 0; at < pixels * c->oc; at++) {
        int m = at / c->oc, n = at % c->oc, image = m / (oh * ow), sum = 0;
        for (int k = 0; k < depth; k++) { /* k = (row, column, channel) */
            int y = m % (oh * ow) / ow * c->stride - c->pad + k / c->ic / c->k;
            int x = m % ow * c->stride - c->pad + k / c->ic % c->k;
            if (y < 0 || y >= c->ih || x < 0 || x >= c->iw) continue;
            sum += in[((image * c->ih + y) * c->iw + x) * c->ic + k % c->ic] * w[n * depth + k];
        }
        float v = sum_in_double((float)sum, scale[n], bias[n]);
        if (rest) v = sum_in_double(rest == 2 ? (int8_t)residual[at] : residual[at], scale[c->oc], v);
        long want = lrintf(fminf(fmaxf(v, is_signed ? -128 : 0), is_signed ? 127 : 255));
        wrong += out[at] != (uint8_t)want, most += want > 10 && want < 100;
        cut[image] += want == 255 && !rest; /* signed ones have none */
    }
    printf("%-16s %-20s tile %3d x %-3d split %d bytes wrong: %d\n", "INT8", c->name, s->bm, s->bn, split, wrong);
    CHECK(wrong == 0 && most > pixels); /* not all of them cut off */
    CHECK(memcmp(full, cut, sizeof full) == 0 && (rest || is_signed || (cut[0] > 0 && cut[1] > 0)));
    NEED(cuMemFree_v2(d_in) || cuMemFree_v2(d_rest) || cuMemFree_v2(d_w) || cuMemFree_v2(d_scale) ||
         cuMemFree_v2(d_bias)); /* emu_download has freed d_out */
    free(in), free(residual), free(out), free(w);
}

/* Tiles of reid_conv_f16 whose K continues with a 1x1 convolution of another input, with its own stride. */
static void test_more(const tile *s, int more_stride) {
    enum { IMAGES = 3, SIDE = 5, IC = 64, MORE = 96, OC = 80, ROW = IC + MORE, PIXELS = IMAGES * SIDE * SIDE };
    if (!emu_case("%s%s 1x1 and another with stride %d, tile %dx%d", names[F16], emu_bf16() ? " bf16" : "", more_stride,
                  s->bm, s->bn)) return;
    int wide = SIDE * more_stride, bn = (OC + s->bn - 1) / s->bn;
    const constant constants[] = {
        {"IH", SIDE}, {"IW", SIDE}, {"IC", IC}, {"OH", SIDE}, {"OW", SIDE}, {"OC", OC}, {"OC_PADDED", OC},
        {"OUT_STRIDE", OC}, {"CHANNEL", 0}, {"KH", 1}, {"KW", 1}, {"STRIDE", 1}, {"PAD_Y", 0}, {"PAD_X", 0}, {"ACT", 1},
        {"RESIDUAL", 0}, {"SCALE", 0}, {"BM", s->bm}, {"BN", s->bn}, {"BK", 32}, {"STAGES", s->stages},
        {"WARPS_M", s->warps_m}, {"WARPS_N", s->warps_n}, {"ROW_SUMS", 0}, {"SPLIT", 1}, {"MORE_C", MORE},
        {"MORE_STRIDE", more_stride}, {"MORE_IH", wide}, {"MORE_IW", wide}, {NULL, 0}};
    int copies = 64 * s->stages * (s->bm + s->bn), tile_bytes = 4 * s->bm * (s->bn + 4);
    unsigned shared = (unsigned)(copies > tile_bytes ? copies : tile_bytes), seed = 3;
    tensor in = tensor_of(PIXELS * IC, 1, &seed, 1), w = tensor_of(ROW * OC, 0, &seed, 0.1);
    tensor more = tensor_of((size_t)(IMAGES * wide * wide * MORE), 1, &seed, 1), out = result_of(PIXELS * OC, 1);
    tensor bias = tensor_of(OC, 0, &seed, 1), more_bias = tensor_of(OC, 0, &seed, 1);
    CUdeviceptr packed = upload_weights(w.host, ROW, ROW, OC, 1, 1);
    reid__conv_arguments a = {.in = in.device, .weights = packed, .bias = bias.device, .more = more.device,
                              .more_bias = more_bias.device, .out = out.device, .pixels = PIXELS};
    run_kernel(kernel_of("reid_conv_f16", 1, constants, shared), (PIXELS + s->bm - 1) / s->bm * bn, 1,
               32 * s->warps_m * s->warps_n, shared, &a);
    fetch(&out);
    double worst = 0;
    for (int at = 0; at < PIXELS * OC; at++) {
        int m = at / OC, n = at % OC, y = m % (SIDE * SIDE) / SIDE * more_stride, x = m % SIDE * more_stride;
        int from = ((m / (SIDE * SIDE) * wide + y) * wide + x) * MORE;
        double sum = bias.host[n] + more_bias.host[n];
        for (int k = 0; k < IC; k++) sum += in.host[m * IC + k] * rounded(w.host[k * OC + n], 1);
        for (int k = 0; k < MORE; k++) sum += more.host[from + k] * rounded(w.host[(IC + k) * OC + n], 1);
        compare(&worst, out.host[at], activation(sum, 1));
    }
    printf("1x1 and another with stride %d, %dx%d: %.1e\n", more_stride, s->bm, s->bn, worst);
    CHECK(worst < emu_half_bound(2e-3));
    NEED(cuMemFree_v2(packed));
    drop(&in), drop(&w), drop(&more), drop(&out), drop(&bias), drop(&more_bias);
}

/* --- a squeeze in the launch of its projection --- */

typedef struct squeezed {
    int channels, padded, hidden, tiles, images, oh, ow, oc;
} squeezed;

/* HIDDEN: with the bits of reid_squeeze and of the projection that reads its factors. */
static void test_squeezed(const squeezed *c, const tile *s) {
    if (!emu_case("%s%s squeeze of %d channels and projection, %dx%d, tile %dx%d", names[F16],
                  emu_bf16() ? " bf16" : "", c->channels, c->oh, c->ow, s->bm, s->bn)) return;
    const int each = c->oh * c->ow, pixels = c->images * each, ic = c->padded, oc = c->oc;
    const int depth = (ic + 31) / 32 * 32, blocks = (pixels + s->bm - 1) / s->bm * ((oc + s->bn - 1) / s->bn);
    const constant constants[] = {
        {"IH", c->oh}, {"IW", c->ow}, {"IC", ic}, {"OH", c->oh}, {"OW", c->ow}, {"OC", oc}, {"OC_PADDED", oc},
        {"OUT_STRIDE", oc}, {"CHANNEL", 0}, {"KH", 1}, {"KW", 1}, {"STRIDE", 1}, {"PAD_Y", 0}, {"PAD_X", 0}, {"ACT", 0},
        {"RESIDUAL", 1}, {"SCALE", 1}, {"BM", s->bm}, {"BN", s->bn}, {"BK", 32}, {"STAGES", s->stages},
        {"WARPS_M", s->warps_m}, {"WARPS_N", s->warps_n}, {"ROW_SUMS", 0}, {"SPLIT", 1}, {"FETCHED", s->fetched},
        {"HIDDEN", c->hidden}, {"CHANNELS", c->channels}, {"TILES", c->tiles}, {NULL, 0}};
    constant apart_from_it[sizeof constants / sizeof *constants];
    const constant of_squeeze[] = {{"C", ic}, {"CHANNELS", c->channels}, {"HIDDEN", c->hidden}, {"OH", c->oh},
                                   {"OW", c->ow}, {"TILES", c->tiles}, {"IMAGES", 1}, {"SPLIT", 1}, {NULL, 0}};
    const unsigned slices = (unsigned)(64 * s->stages * (s->bm + s->bn)), vectors = (unsigned)(ic + c->hidden) * 4;
    const int reached = (s->bm + each - 2) / each + 1; /* images, by a tile */
    const unsigned shared = slices + 4 * (unsigned)(ic * (2 * c->hidden + c->tiles + 1 + reached) + c->hidden + 3);
    const int threads = 32 * s->warps_m * s->warps_n;
    unsigned seed = 11;
    tensor in = tensor_of((size_t)(pixels * ic), 1, &seed, 1), w = tensor_of((size_t)(ic * oc), 0, &seed, 0.1);
    tensor bias = tensor_of((size_t)oc, 0, &seed, 1), rest = tensor_of((size_t)(pixels * oc), 1, &seed, 1);
    tensor sums = tensor_of((size_t)(c->images * c->tiles * ic), 0, &seed, each);
    tensor w1 = tensor_of((size_t)(c->hidden * ic), 0, &seed, 0.5), b1 = tensor_of((size_t)c->hidden, 0, &seed, 1);
    tensor w2 = tensor_of((size_t)(c->hidden * ic), 0, &seed, 0.5), b2 = tensor_of((size_t)ic, 0, &seed, 1);
    tensor factors = result_of((size_t)(c->images * ic), 0);
    tensor out = result_of((size_t)(pixels * oc), 1), want = result_of((size_t)(pixels * oc), 1);
    CUdeviceptr packed = upload_weights(w.host, ic, depth, oc, 1, 1);
    reid__squeeze_arguments q = {sums.device, w1.device, b1.device, w2.device, b2.device, factors.device, c->images};
    run_kernel(kernel_of("reid_squeeze", 0, of_squeeze, vectors), c->images, 1, 1024, vectors, &q);
    reid__conv_arguments a = {.in = in.device, .weights = packed, .bias = bias.device, .residual = rest.device,
                              .factors = factors.device, .out = want.device, .pixels = pixels};
    memcpy(apart_from_it, constants, sizeof constants);
    apart_from_it[sizeof constants / sizeof *constants - 4].name = NULL; /* without HIDDEN and what follows */
    run_kernel(kernel_of("reid_conv_f16", 1, apart_from_it, slices), blocks, 1, threads, slices, &a);
    a.factors = 0, a.out = out.device, a.sums = sums.device;
    a.w1 = w1.device, a.b1 = b1.device, a.w2 = w2.device, a.b2 = b2.device;
    run_kernel(kernel_of("reid_conv_f16", 1, constants, shared), blocks, 1, threads, shared, &a);
    fetch(&out), fetch(&want);
    int differ = 0;
    for (int i = 0; i < pixels * oc; i++) differ += out.host[i] != want.host[i];
    printf("squeeze of %d channels and projection, %dx%d: %d of %d differ\n", c->channels, s->bm, s->bn, differ,
           pixels * oc);
    CHECK(differ == 0);
    NEED(cuMemFree_v2(packed));
    drop(&in), drop(&w), drop(&bias), drop(&rest), drop(&sums), drop(&w1), drop(&b1), drop(&w2), drop(&b2);
    drop(&factors), drop(&out), drop(&want);
}

/* --- the stem of EfficientNets --- */

/* The image with its border (ih, iw, 4), iw even; outputs (oh, ow, oc), `rows` rows of which a block computes: by
   definition, and with the bits of reid_conv_f16. */
static void test_stem(int oc, int oh, int ow, int rows) {
    enum { IMAGES = 2, KH = 3, KW = 4, DEPTH = KH * KW * 4, PADDED = 64 };
    const int ih = 2 * oh + 1, iw = 2 * ow + 2, pixels = IMAGES * oh * ow;
    if (!emu_case("stem%s to %d channels, %dx%d by %d rows", emu_bf16() ? " bf16" : "", oc, oh, ow, rows)) return;
    const constant constants[] = {
        {"IH", ih}, {"IW", iw}, {"IC", 4}, {"OH", oh}, {"OW", ow}, {"OC", oc}, {"OC_PADDED", oc}, {"OUT_STRIDE", oc},
        {"CHANNEL", 0}, {"KH", KH}, {"KW", KW}, {"STRIDE", 2}, {"PAD_Y", 0}, {"PAD_X", 0}, {"ACT", 2}, {"RESIDUAL", 0},
        {"SCALE", 0}, {"BM", 64}, {"BN", 32}, {"BK", 32}, {"STAGES", 3}, {"WARPS_M", 2}, {"WARPS_N", 2},
        {"ROW_SUMS", 0}, {"SPLIT", 1}, {"R", rows}, {NULL, 0}};
    const unsigned shared = (unsigned)((2 * rows + 1) * iw * 8 + 512), slices = 2 * 3 * 32 * (64 + 32);
    unsigned seed = 5;
    tensor in = tensor_of((size_t)(IMAGES * ih * iw * 4), 1, &seed, 1), bias = tensor_of((size_t)oc, 0, &seed, 1);
    tensor w = tensor_of((size_t)(DEPTH * oc), 0, &seed, 0.2);
    for (size_t i = 0; i < w.count; i++) w.host[i] = rounded(w.host[i], 1);
    tensor out = result_of((size_t)(pixels * oc), 1), want = result_of((size_t)(pixels * oc), 1);
    CUdeviceptr packed = upload_weights(w.host, DEPTH, PADDED, oc, 1, 1);
    reid__conv_arguments a = {.in = in.device, .weights = packed, .bias = bias.device, .out = want.device,
                              .pixels = pixels};
    run_kernel(kernel_of("reid_conv_f16", 1, constants, slices), (pixels + 63) / 64 * ((oc + 31) / 32), 1, 128, slices,
               &a);
    a.out = out.device;
    run_kernel(kernel_of("reid_stem", 1, constants, shared), IMAGES * oh / rows, 1, 256, shared, &a);
    fetch(&out), fetch(&want);
    double worst = 0;
    for (int at = 0; at < pixels * oc; at++) {
        int n = at % oc, m = at / oc, image = m / (oh * ow), y0 = m % (oh * ow) / ow * 2, x0 = m % ow * 2;
        double sum = bias.host[n];
        for (int k = 0; k < DEPTH; k++)
            sum += in.host[((image * ih + y0 + k / 16) * iw + x0 + k / 4 % 4) * 4 + k % 4] * w.host[k * oc + n];
        compare(&worst, out.host[at], activation(sum, 2));
    }
    printf("stem to %d channels, %dx%d by %d rows: %.1e\n", oc, oh, ow, rows, worst);
    CHECK(worst < emu_half_bound(1e-3));
    CHECK(memcmp(out.host, want.host, out.count * sizeof *out.host) == 0);
    NEED(cuMemFree_v2(packed));
    drop(&in), drop(&w), drop(&bias), drop(&out), drop(&want);
}

int main(void) {
    kernels_text = emu_read_file("reid_kernels.cu");
    emu_start();
    for (size_t i = 0; i < sizeof convs / sizeof *convs; i++) {
        double *fp32 = NULL, *fp16 = NULL, *parts = NULL;
        case_conv(&convs[i], PLAIN, &tiles[0], 0, 1, &fp32);
        for (int k = 0; k < 2; k++) case_conv(&convs[i], F32, &f32_tiles[(i + (size_t)k * 3) % 6], 0, 1, &fp32);
        case_conv(&convs[i], F16, &tiles[i % 3], 0, 1, &fp16);
        case_conv(&convs[i], F16, &tiles[emu_device_arch() >= 80 && i % 2 ? 3 : (i + 1) % 3], 0, 1, &fp16);
        if (!convs[i].channel) case_conv(&convs[i], F16, &tiles[i % 3], 1, 1, &fp16);
        if (i % 2) { /* blocks that share K */
            case_conv(&convs[i], F32, &f32_tiles[3 + i / 2 % 3], 0, 1 << (1 + i / 2 % 3), &parts);
            free(parts), parts = NULL;
            case_conv(&convs[i], F16, &tiles[i % 3], 0, 1 << (1 + i / 2 % 3), &parts);
            free(parts), parts = NULL;
        }
        for (int k = 0; k < 6 && convs[i].scale; k++)
            case_conv(&convs[i], F16, &fetching[k % 3], 0, 1 + k / 3, k < 3 ? &fp16 : &parts);
        if (convs[i].scale) case_conv(&convs[i], F16, &tiles[0], 0, 2, &parts);
        free(fp32), free(fp16), free(parts);
    }
    for (int i = 0; i < 3; i++) test_more(&tiles[i], 1 + i % 2);
    test_stem(32, 8, 21, 4), test_stem(48, 5, 16, 5), test_stem(16, 6, 7, 1), test_stem(64, 3, 33, 3);
    for (int i = 0; i < 3 && emu_device_arch() >= 80; i++) {
        static const conv bytes[] = {{"1x1", 7, 5, 64, 80, 1, 1, 0, 1, 0, 0, 2, 0},
                                     {"3x3", 8, 9, 64, 48, 3, 1, 1, 1, 0, 0, 2, 0},
                                     {"3x3 stride 2", 9, 7, 128, 64, 3, 2, 1, 1, 0, 0, 1, 0}};
        test_bytes(&bytes[i], &tiles[i], i, 0, 1);
        test_bytes(&bytes[(i + 1) % 3], &tiles[i == 1 ? 3 : i], 0, 1, 1);
        if (i) test_bytes(&bytes[i], &tiles[i], i, 0, 2 << i);
    }
    for (int i = 0; i < 3 && emu_device_arch() >= 80; i++) {
        static const squeezed cases[] = {
            {40, 48, 10, 3, 3, 3, 2, 32}, {240, 240, 10, 16, 2, 7, 7, 40}, {24, 32, 6, 5, 1, 9, 5, 64}};
        test_squeezed(&cases[i], &fetching[i]);
    }
    free(kernels_text);
    return emu_done("kernels_conv");
}
