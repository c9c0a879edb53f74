/* kernels_rest.c: the kernels of reid_kernels.cu that are not convolutions, against their definitions, on the emulator.
   Built and run by tests/gpu/t_kernels.sh. */
#include "kernels_test.h"

enum { IMAGES = 3 };

/* Pixel (y, x) of image i, channel c. */
static double at(const tensor *t, int h, int w, int channels, int i, int y, int x, int c) {
    return t->host[((i * h + y) * w + x) * channels + c];
}

/* A depthwise convolution with one row and column of padding for each that the window has beyond its middle. */
typedef struct depthwise {
    int k, stride, ih, iw, channels, act, cols, tile_h, slide; /* the last three: the kernel's COLS, TILE_H and SLIDE */
    int pad, oh, ow, strips, tiles;                            /* derived */
} depthwise;

/* Runs the kernel, for small batches if spread > 0: the constants that they do not share come last. */
static void run_depthwise(const depthwise *d, int spread, reid__depthwise_arguments *a, int half) {
    const constant constants[] = {
        {"IH", d->ih}, {"IW", d->iw}, {"OH", d->oh}, {"OW", d->ow}, {"C", d->channels}, {"KH", d->k}, {"KW", d->k},
        {"STRIDE", d->stride}, {"PAD_Y", d->pad}, {"PAD_X", d->pad}, {"ACT", d->act}, {"COLS", d->cols},
        {"TILE_H", d->tile_h}, {spread ? "SPREAD" : "SLIDE", spread ? spread : d->slide}, {NULL, 0}};
    int slides = (d->oh + d->slide - 1) / d->slide, threads = IMAGES * slides * d->strips * d->channels / 2;
    int blocks = IMAGES * d->tiles * ((d->channels / 4 + spread - 1) / (spread ? spread : 1));
    unsigned shared = (unsigned)((d->k * d->k + d->tile_h * d->cols) * spread * 16);
    run_kernel(kernel_of("reid_depthwise", half, constants, shared), spread ? blocks : (threads + 127) / 128, 1,
               spread ? 256 : 128, shared, a);
}

/* The kernel for small batches, whose blocks take `spread` times four channels of a tile: the same bits. */
static void test_spread(const depthwise *d, int spread, reid__depthwise_arguments a, const tensor *out,
                        const tensor *sums, int half) {
    size_t values = (size_t)(IMAGES * d->oh * d->ow * d->channels), count = (size_t)(IMAGES * d->tiles * d->channels);
    tensor spread_out = result_of(values, half), spread_sums = result_of(count, 0);
    a.out = spread_out.device, a.sums = spread_sums.device;
    run_depthwise(d, spread, &a, half);
    fetch(&spread_out), fetch(&spread_sums);
    CHECK(memcmp(spread_out.host, out->host, values * sizeof *out->host) == 0);
    CHECK(memcmp(spread_sums.host, sums->host, count * sizeof *sums->host) == 0);
    drop(&spread_out), drop(&spread_sums);
}

/* Output (y, x) of image i, channel c, by definition. */
static double depthwise_output(const depthwise *d, const tensor *in, const tensor *w, double bias, int i, int y, int x,
                               int c) {
    double sum = bias;
    for (int k = 0; k < d->k * d->k; k++) {
        int iy = y * d->stride - d->pad + k / d->k, ix = x * d->stride - d->pad + k % d->k;
        if (iy < 0 || iy >= d->ih || ix < 0 || ix >= d->iw) continue;
        sum += at(in, d->ih, d->iw, d->channels, i, iy, ix, c) * w->host[k * d->channels + c];
    }
    return activation(sum, d->act);
}

static void test_depthwise(depthwise d, int half) {
    if (!emu_case("depthwise %dx%d stride %d columns %d %s", d.k, d.k, d.stride, d.cols, half ? emu_halves() : "f32"))
        return;
    d.pad = d.k / 2, d.oh = (d.ih - 1) / d.stride + 1, d.ow = (d.iw - 1) / d.stride + 1;
    d.strips = (d.ow + d.cols - 1) / d.cols, d.tiles = d.strips * ((d.oh + d.tile_h - 1) / d.tile_h);
    int c_count = d.channels, pixels = d.oh * d.ow;
    unsigned seed = 5;
    tensor in = tensor_of((size_t)(IMAGES * d.ih * d.iw * c_count), half, &seed, 1);
    tensor w = tensor_of((size_t)(d.k * d.k * c_count), 0, &seed, 0.5), bias = tensor_of((size_t)c_count, 0, &seed, 1);
    tensor out = result_of((size_t)(IMAGES * pixels * c_count), half);
    tensor sums = result_of((size_t)(IMAGES * d.tiles * c_count), 0);
    reid__depthwise_arguments a = {in.device, w.device, bias.device, out.device, sums.device, IMAGES, 0, 0, 0};
    run_depthwise(&d, 0, &a, half);
    fetch(&out), fetch(&sums);
    double worst = 0, worst_sum = 0, *totals = calloc((size_t)(IMAGES * d.tiles * c_count), sizeof *totals);
    for (int at = 0; at < IMAGES * pixels * c_count; at++) {
        int c = at % c_count, m = at / c_count, i = m / pixels, y = m % pixels / d.ow, x = m % d.ow;
        double want = depthwise_output(&d, &in, &w, bias.host[c], i, y, x, c);
        compare(&worst, out.host[at], want);
        totals[(i * d.tiles + y / d.tile_h * d.strips + x / d.cols) * c_count + c] += want;
    }
    for (int i = 0; i < IMAGES * d.tiles * c_count; i++) compare(&worst_sum, sums.host[i], totals[i]);
    printf("depthwise %dx%d stride %d columns %d %s: %.1e, sums of tiles %.1e\n", d.k, d.k, d.stride, d.cols,
           half ? emu_halves() : "f32", worst, worst_sum);
    CHECK(worst < (half ? emu_half_bound(1e-3) : emu_loosened(1e-6)));
    CHECK(worst_sum < emu_loosened(2e-6));
    for (int spread = 4; spread <= 32; spread *= 8) test_spread(&d, spread, a, &out, &sums, half);
    free(totals);
    drop(&in), drop(&w), drop(&bias), drop(&out), drop(&sums);
}

/* together: images that a block takes. */
static void test_squeeze(int channels, int padded, int hidden, int oh, int ow, int split, int together) {
    if (!emu_case("squeeze %d channels, %d blocks, %d images", channels, split, together)) return;
    const constant constants[] = {{"C", padded}, {"CHANNELS", channels}, {"HIDDEN", hidden}, {"OH", oh}, {"OW", ow},
                                  {"TILES", oh}, {"IMAGES", together}, {"SPLIT", split}, {NULL, 0}};
    unsigned seed = 9, shared = (unsigned)((padded + hidden) * together) * 4;
    tensor sums = tensor_of((size_t)(IMAGES * oh * padded), 0, &seed, ow);
    tensor w1 = tensor_of((size_t)(hidden * padded), 0, &seed, 0.5), b1 = tensor_of((size_t)hidden, 0, &seed, 1);
    tensor w2 = tensor_of((size_t)(hidden * padded), 0, &seed, 0.5), b2 = tensor_of((size_t)padded, 0, &seed, 1);
    tensor out = result_of((size_t)(IMAGES * padded), 0);
    reid__squeeze_arguments a = {sums.device, w1.device, b1.device, w2.device, b2.device, out.device, IMAGES};
    run_clusters(kernel_of("reid_squeeze", 0, constants, shared), (IMAGES + together - 1) / together * split, 1,
                 split > 1 && (hidden <= 64 || together > 1) ? 256 : 1024, shared, &a, split);
    fetch(&out);
    double worst = 0;
    for (int i = 0; i < IMAGES; i++) {
        double mean[256], units[80];
        for (int c = 0; c < channels; c++) {
            mean[c] = 0;
            for (int y = 0; y < oh; y++) mean[c] += sums.host[(i * oh + y) * padded + c];
            mean[c] /= oh * ow;
        }
        for (int h = 0; h < hidden; h++) {
            double sum = b1.host[h];
            for (int c = 0; c < channels; c++) sum += mean[c] * w1.host[h * padded + c];
            units[h] = activation(sum, 2);
        }
        for (int c = 0; c < channels; c++) {
            double sum = b2.host[c];
            for (int h = 0; h < hidden; h++) sum += units[h] * w2.host[h * padded + c];
            compare(&worst, out.host[i * padded + c], 1 / (1 + exp(-sum)));
        }
    }
    printf("squeeze %d channels, %d hidden, %d blocks, %d images: %.1e\n", channels, hidden, split, together, worst);
    CHECK(worst < emu_loosened(1e-6));
    drop(&sums), drop(&w1), drop(&b1), drop(&w2), drop(&b2), drop(&out);
}

/* 3x3, stride 2, one pixel of padding. */
static void test_maxpool(int ih, int iw, int channels, int half) {
    if (!emu_case("max pool %s", half ? emu_halves() : "f32")) return;
    int oh = (ih - 1) / 2 + 1, ow = (iw - 1) / 2 + 1, pixels = IMAGES * oh * ow;
    const constant constants[] = {{"IH", ih}, {"IW", iw}, {"OH", oh}, {"OW", ow}, {"C", channels}, {"KH", 3}, {"KW", 3},
                                  {"STRIDE", 2}, {"PAD_Y", 1}, {"PAD_X", 1}, {NULL, 0}};
    unsigned seed = 3;
    tensor in = tensor_of((size_t)(IMAGES * ih * iw * channels), half, &seed, 1);
    tensor out = result_of((size_t)(pixels * channels), half);
    size_t lost = (size_t)((4 * iw + 5) * channels + 2); /* a NaN, neither first nor last in its windows */
    uint32_t nan = half ? 0x7fff : 0x7fc00000;
    in.host[lost] = NAN;
    OK(cuMemcpyHtoD_v2(in.device + lost * (half ? 2 : 4), &nan, half ? 2 : 4));
    reid__maxpool_arguments a = {in.device, out.device, pixels};
    run_kernel(kernel_of("reid_maxpool", half, constants, 0), (pixels * channels / 4 + 255) / 256, 1, 256, 0, &a);
    fetch(&out);
    double worst = 0;
    int nans = 0;
    for (int m = 0; m < pixels; m++)
        for (int c = 0; c < channels; c++) {
            int i = m / (oh * ow), top = m % (oh * ow) / ow * 2 - 1, left = m % ow * 2 - 1;
            double best = -INFINITY;
            for (int y = top < 0 ? 0 : top; y < top + 3 && y < ih; y++)
                for (int x = left < 0 ? 0 : left; x < left + 3 && x < iw; x++) {
                    double v = at(&in, ih, iw, channels, i, y, x, c);
                    best = isnan(v) || isnan(best) ? NAN : fmax(best, v);
                }
            nans += isnan(best) != 0;
            if (isnan(best)) CHECK(isnan(out.host[m * channels + c]));
            else compare(&worst, out.host[m * channels + c], best);
        }
    printf("max pool to %dx%d %s: %.1e\n", oh, ow, half ? emu_halves() : "f32", worst);
    CHECK(worst < (half ? emu_half_bound(6e-4) : 1e-6));
    CHECK(nans > 0);
    drop(&in), drop(&out);
}

/* One bin in double: the average or the generalised mean. */
static double pooled(const tensor *in, int ih, int iw, int channels, int bins, int m, int c, double p) {
    int i = m / (bins * bins), oy = m % (bins * bins) / bins, ox = m % bins;
    int top = oy * ih / bins, bottom = ((oy + 1) * ih + bins - 1) / bins;
    int left = ox * iw / bins, right = ((ox + 1) * iw + bins - 1) / bins;
    double sum = 0;
    for (int y = top; y < bottom; y++)
        for (int x = left; x < right; x++) {
            double v = at(in, ih, iw, channels, i, y, x, c);
            sum += p != 0 ? pow(fmax(v, 1e-6), p) : v;
        }
    sum /= (bottom - top) * (right - left);
    return p != 0 ? pow(sum, 1 / p) : sum;
}

/* Adaptive pool to bins x bins. p 0: the average. Values down to 1e-3, whose third powers are below the least value. */
static void test_pool(int ih, int iw, int channels, int bins, float p, int norm, int half) {
    if (!emu_case("pool to %dx%d p %g norm %d %s", bins, bins, (double)p, norm, half ? emu_halves() : "f32")) return;
    int pixels = IMAGES * bins * bins;
    const constant constants[] = {{"IH", ih}, {"IW", iw}, {"OH", bins}, {"OW", bins}, {"C", channels}, {"GEM", p != 0},
                                  {"NORM", norm}, {"PER", 1}, {NULL, 0}};
    unsigned seed = 3;
    double factors[64], worst = 0;
    for (int c = 0; c < channels; c++) factors[c] = 0.5 + emu_uniform(&seed);
    CUdeviceptr device_factors = emu_upload(factors, (size_t)channels * sizeof *factors);
    CUdeviceptr exponent = emu_upload(&p, sizeof p);
    tensor in = tensor_of((size_t)(IMAGES * ih * iw * channels), half, &seed, p != 0 ? 4e-3 : 1);
    tensor bias = tensor_of((size_t)channels, 0, &seed, 1);
    tensor out = result_of((size_t)(pixels * channels), 0); /* what a pool feeds is fp32 */
    reid__pool_arguments a = {in.device, out.device, device_factors, bias.device, exponent, pixels, 1};
    run_kernel(kernel_of("reid_pool", half, constants, 0), (pixels * channels / 4 + 255) / 256, 1, 256, 0, &a);
    fetch(&out);
    for (int m = 0; m < pixels; m++)
        for (int c = 0; c < channels; c++) {
            double want = pooled(&in, ih, iw, channels, bins, m, c, (double)p);
            if (norm) want = want * factors[c] + bias.host[c];
            compare(&worst, out.host[m * channels + c], want);
        }
    printf("pool to %dx%d p %g norm %d %s: %.1e\n", bins, bins, (double)p, norm, half ? emu_halves() : "f32", worst);
    CHECK(worst < emu_loosened(1e-6));
    NEED(cuMemFree_v2(device_factors));
    NEED(cuMemFree_v2(exponent));
    drop(&in), drop(&bias), drop(&out);
}

/* The mean and the variance of a channel of an image, in double. */
static void statistics(const tensor *in, int pixels, int channels, int image, int c, double *mean, double *variance) {
    *mean = *variance = 0;
    for (int p = 0; p < pixels; p++) *mean += at(in, 1, pixels, channels, image, 0, p, c) / pixels;
    for (int p = 0; p < pixels; p++)
        *variance += pow(at(in, 1, pixels, channels, image, 0, p, c) - *mean, 2) / pixels;
}

static void test_instance(int h, int w, int channels, int normed, int act, int adds, int half, int kept) {
    const char *type = half ? emu_halves() : "f32";
    if (!emu_case("instance norm of %d of %d%s %s", normed, channels, kept ? ", kept," : "", type)) return;
    const int pixels = h * w, count = IMAGES * pixels * channels;
    const unsigned bytes = 4096 + (unsigned)(kept ? pixels * 16 * (half ? 2 : 4) : 0);
    const constant constants[] = {{"OH", h}, {"OW", w}, {"C", channels}, {"NORMED", normed}, {"ACT", act},
                                  {"RESIDUAL", adds}, {"KEPT", kept}, {NULL, 0}};
    unsigned seed = 7;
    tensor in = tensor_of((size_t)count, half, &seed, 1), residual = tensor_of((size_t)count, half, &seed, 1);
    tensor weight = tensor_of((size_t)channels, 0, &seed, 1), bias = tensor_of((size_t)channels, 0, &seed, 1);
    tensor out = result_of((size_t)count, half);
    reid__instance_arguments a = {in.device, residual.device, weight.device, bias.device, out.device, 1e-5};
    run_kernel(kernel_of("reid_instance", half, constants, bytes), IMAGES * channels / 16, 1, 256, bytes, &a);
    fetch(&out);
    double worst = 0, mean, variance;
    for (int i = 0; i < IMAGES; i++)
        for (int c = 0; c < channels; c++) {
            statistics(&in, pixels, channels, i, c, &mean, &variance);
            for (int p = 0; p < pixels; p++) {
                double x = at(&in, 1, pixels, channels, i, 0, p, c);
                if (c < normed) x = (x - mean) / sqrt(variance + 1e-5) * weight.host[c] + bias.host[c];
                x = activation(x, act) + (adds ? at(&residual, 1, pixels, channels, i, 0, p, c) : 0);
                compare(&worst, out.host[(i * pixels + p) * channels + c], x);
            }
        }
    printf("instance norm of %d of %d, %dx%d %s: %.1e\n", normed, channels, h, w, type, worst);
    CHECK(worst < (half ? emu_half_bound(2e-3) : emu_loosened(2e-6)));
    drop(&in), drop(&residual), drop(&weight), drop(&bias), drop(&out);
}

static void test_nonlocal(int pixels, int channels, int half) {
    if (!emu_case("nonlocal %d pixels %d channels %s", pixels, channels, half ? emu_halves() : "f32")) return;
    const constant constants[] = {{"OH", 1}, {"OW", pixels}, {"C", channels}, {NULL, 0}};
    const int count = IMAGES * pixels * channels;
    unsigned seed = 9, shared = (unsigned)channels * 64;
    tensor in[3];
    for (int k = 0; k < 3; k++) in[k] = tensor_of((size_t)count, half, &seed, 1);
    tensor out = result_of((size_t)count, half);
    reid__nonlocal_arguments a = {in[0].device, in[1].device, in[2].device, out.device};
    run_kernel(kernel_of("reid_nonlocal", half, constants, shared), IMAGES * channels / 16, 1, 256, shared, &a);
    fetch(&out);
    double worst = 0;
    for (int i = 0; i < IMAGES; i++)
        for (int p = 0; p < pixels; p++)
            for (int c = 0; c < channels; c++) {
                double sum = 0;
                for (int q = 0; q < pixels; q++) {
                    double alike = 0;
                    for (int k = 0; k < channels; k++)
                        alike += at(&in[0], 1, pixels, channels, i, 0, p, k) *
                                 at(&in[1], 1, pixels, channels, i, 0, q, k);
                    sum += alike * at(&in[2], 1, pixels, channels, i, 0, q, c) / pixels;
                }
                compare(&worst, out.host[(i * pixels + p) * channels + c], sum);
            }
    printf("nonlocal %d pixels %d channels %s: %.1e\n", pixels, channels, half ? emu_halves() : "f32", worst);
    CHECK(worst < (half ? emu_half_bound(2e-3) : emu_loosened(2e-6)));
    for (int k = 0; k < 3; k++) drop(&in[k]);
    drop(&out);
}

/* Rows of `oc` results are in rows of `stride` at `channel`. An image must get the same bits alone, in its batch, and
   before other images. is_tanh: the activation is tanh. */
static void test_linear(int k, int oc, int stride, int channel, int split, int is_tanh) {
    const char *name = is_tanh ? "tanh" : "";
    if (!emu_case("linear %d to %d, split %d %s", k, oc, split, name)) return;
    enum { BATCH = 9 };
    const constant constants[] = {{"K", k}, {"OC", oc}, {"OUT_STRIDE", stride}, {"CHANNEL", channel}, {"SPLIT", split},
                                  {"ACT", is_tanh ? 3 : 0}, {NULL, 0}};
    CUfunction f = kernel_of("reid_linear", 0, constants, 128);
    unsigned seed = 13;
    tensor in = tensor_of((size_t)(BATCH * k), 0, &seed, 1), w = tensor_of((size_t)(oc * k), 0, &seed, 0.1);
    tensor bias = tensor_of((size_t)oc, 0, &seed, 1), out = result_of((size_t)(BATCH * stride), 0);
    double *all = NULL, worst = 0;
    float untouched;
    memset(&untouched, 0x5a, 4);
    for (int images = BATCH; images > 0; images -= 2) { /* the last ones of the batch */
        CUdeviceptr from = in.device + (CUdeviceptr)((BATCH - images) * k) * 4;
        reid__linear_arguments a = {from, w.device, bias.device, out.device, images};
        NEED(cuMemsetD8_v2(out.device, 0x5a, out.count * 4));
        run_kernel(f, (oc * split + 7) / 8, (images + 3) / 4, 256, 128, &a);
        fetch(&out);
        if (!all) all = (double *)memcpy(malloc(out.count * sizeof *all), out.host, out.count * sizeof *all);
        for (int i = 0; i < BATCH; i++)
            for (int c = 0; c < stride; c++) {
                double got = out.host[i * stride + c];
                if (i < images && c >= channel && c < channel + oc)
                    CHECK(got == all[(BATCH - images + i) * stride + c]);
                else CHECK(got == (double)untouched);
            }
    }
    for (int i = 0; i < BATCH * oc; i++) {
        int image = i / oc, n = i % oc;
        double sum = bias.host[n];
        for (int at = 0; at < k; at++) sum += in.host[image * k + at] * w.host[n * k + at];
        compare(&worst, all[image * stride + channel + n], is_tanh ? tanh(sum) : sum);
    }
    printf("linear %d to %d %s: %.1e\n", k, oc, name, worst);
    CHECK(worst < emu_loosened(2e-6));
    free(all);
    drop(&in), drop(&w), drop(&bias), drop(&out);
}

/* Also in place. Row 0 is zero, row 1 has an infinity, row 2 a NaN: they have no direction, which must be visible. */
static void test_normalise(int dim, int raw, int flip, int in_place) {
    if (!emu_case("normalise %d raw %d flip %d", dim, raw, flip)) return;
    enum { ROWS = 6 };
    const constant constants[] = {{"DIM", dim}, {"RAW", raw}, {"FLIP", flip}, {NULL, 0}};
    const float odd[2] = {INFINITY, NAN};
    unsigned seed = 11;
    tensor in = tensor_of((size_t)(ROWS * dim), 0, &seed, 4), first = tensor_of((size_t)(ROWS * dim), 0, &seed, 4);
    tensor out = result_of((size_t)(ROWS * dim), 0), *result = in_place ? flip ? &first : &in : &out;
    NEED(cuMemsetD8_v2(in.device, 0, (size_t)dim * 4) || cuMemsetD8_v2(first.device, 0, (size_t)dim * 4));
    for (int i = 0; i < 2; i++)
        NEED(cuMemcpyHtoD_v2(in.device + (CUdeviceptr)((i + 1) * dim + dim / 2) * 4, &odd[i], 4));
    reid__normalise_arguments a = {in.device, flip ? first.device : 0, result->device};
    CUfunction f = kernel_of("reid_normalise", 0, constants, 2048);
    double *x = (double *)malloc((size_t)(ROWS * dim) * sizeof *x), worst = 0;
    fetch(&in), fetch(&first);
    for (int i = 0; i < ROWS * dim; i++)
        x[i] = flip ? (double)(0.5f * ((float)first.host[i] + (float)in.host[i])) : in.host[i];
    run_kernel(f, ROWS, 1, 256, 2048, &a);
    fetch(result);
    for (int i = 0; i < ROWS; i++) {
        double sum = 0;
        for (int c = 0; c < dim; c++) sum += x[i * dim + c] * x[i * dim + c];
        for (int c = 0; c < dim; c++) {
            double got = result->host[i * dim + c], want = x[i * dim + c];
            if (raw) CHECK(got == want || (got != got && want != want));
            else if (i < 3) CHECK(got != got);
            else compare(&worst, got, want / sqrt(sum));
        }
    }
    printf("normalise %d raw %d flip %d: %.1e\n", dim, raw, flip, worst);
    CHECK(worst < emu_loosened(1e-7));
    free(x);
    drop(&in), drop(&first), drop(&out);
}

/* The best row of each tile for each query; padding queries of the block and rows of other tiles must have no effect.
   */
static void test_search(int blocks, int n, int k, int bn) {
    if (!emu_case("search %d rows of %d, %d queries by %d", blocks * 128, k, n, bn)) return;
    enum { TILE = 32 };
    int rows = blocks * 128, tiles = rows / TILE, padded = (n + bn - 1) / bn * bn;
    const constant constants[] = {{"K", k}, {"BK", 32}, {"BN", bn}, {NULL, 0}};
    unsigned seed = 17, shared = (unsigned)(256 * (128 + bn));
    tensor a = tensor_of((size_t)(rows * k), 1, &seed, 1), b = tensor_of((size_t)(padded * k), 1, &seed, 1);
    tensor out = result_of((size_t)((n + 1) * tiles), 0);
    double worst = 0;
    float untouched;
    reid__search_arguments arguments;
    memset(&arguments, 0, sizeof arguments);
    arguments.rows = a.device, arguments.queries = b.device, arguments.maxima = out.device;
    arguments.n = n, arguments.tiles = tiles;
    memset(&untouched, 0x5a, 4);
    NEED(cuMemsetD8_v2(out.device, 0x5a, out.count * 4));
    run_kernel(kernel_of("reid_search", 1, constants, shared), blocks * padded / bn, 1, 128, shared,
               &arguments);
    fetch(&out);
    for (int q = 0; q < n; q++)
        for (int tile = 0; tile < tiles; tile++) {
            double best = -INFINITY;
            for (int row = tile * TILE; row < (tile + 1) * TILE; row++) {
                double sum = 0;
                for (int i = 0; i < k; i++) sum += a.host[row * k + i] * b.host[q * k + i];
                if (sum > best) best = sum;
            }
            compare(&worst, out.host[q * tiles + tile], best);
        }
    for (int tile = 0; tile < tiles; tile++) CHECK(out.host[n * tiles + tile] == (double)untouched);
    printf("search %d rows of %d, %d queries by %d: %.1e\n", rows, k, n, bn, worst);
    CHECK(worst < 1e-5);
    drop(&a), drop(&b), drop(&out);
}

int main(void) {
    kernels_text = emu_read_file("reid_kernels.cu");
    emu_start();
    for (int half = 0; half < 2; half++) {
        const depthwise shapes[] = {/* k, stride, ih, iw, channels, act, COLS, TILE_H, SLIDE */
                                    {3, 1, 19, 7, 32, 2, 7, 7, 14, 0, 0, 0, 0, 0}, /* a strip; slides of two tiles */
                                    {3, 2, 11, 14, 16, 2, 4, 3, 3, 0, 0, 0, 0, 0}, /* a strip that is not full */
                                    {5, 1, 6, 5, 48, 1, 4, 4, 4, 0, 0, 0, 0, 0},
                                    {5, 2, 21, 16, 16, 0, 4, 2, 6, 0, 0, 0, 0, 0}};
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) test_depthwise(shapes[i], half);
        test_maxpool(9, 12, 16, half);
        for (int more = 0; more < 4; more++) test_pool(7, 7, 64, 1, more & 1 ? 3.1f : 0, more >> 1, half);
        test_pool(13, 7, 16, 4, 0, 0, half); /* bins overlap */
        for (int kept = 0; kept < 2; kept++) {
            test_instance(9, 11, 64, 32, 1, 0, half, kept);
            test_instance(1, 3, 16, 16, 1, 0, half, kept); /* fewer pixels than threads */
            test_instance(16, 9, 32, 0, 2, 1, half, kept);
        }
        test_nonlocal(35, 48, half);
        test_nonlocal(5, 16, half);
    }
    for (int split = 1; split <= (emu_device_arch() < 90 ? 1 : 8); split += 7) {
        test_squeeze(24, 32, 6, 5, 4, split, 1);
        test_squeeze(240, 240, 10, 7, 7, split, 4);
        test_squeeze(24, 32, 6, 5, 4, split, 2);
        test_squeeze(40, 48, 64, 5, 4, split, 1); /* of a hidden unit for each warp of a cluster */
        test_squeeze(40, 48, 72, 5, 4, split, 1); /* more: loaded when the means are there */
    }
    test_linear(16, 3, 3, 0, 1, 0);
    test_linear(144, 20, 64, 32, 1, 0);
    test_linear(144, 20, 64, 32, 8, 1);
    test_linear(2048, 128, 512, 128, 1, 0);
    test_linear(2064, 5, 5, 0, 8, 0);
    test_linear(768, 24, 24, 0, 1, 1);
    test_normalise(1280, 0, 0, 1);
    for (int raw = 0; raw < 2; raw++)
        for (int flip = 0; flip < 2; flip++) test_normalise(512, raw, flip, flip);
    test_search(3, 5, 96, 32);
    test_search(1, 16, 32, 32);
    test_search(2, 130, 160, 64);
    free(kernels_text);
    return emu_done("kernels_rest");
}
