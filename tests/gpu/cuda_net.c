/* cuda_net.c: whole networks on the CUDA executor, on the emulator or on a GPU. Built and run by tests/gpu/t_cuda.sh:

       cuda_net golden NETWORK         every golden of PyTorch for it, FP32 and FP16, one image each
       cuda_net bits CASE              batch, place, tiles, lanes and threads change no bit: cases 0 to 3
       cuda_net latency CASE           like bits, with LATENCY: cases 0 and 1
       cuda_net pictures CASE          pixels equal the CPU's; every kind of image; flip, raw, heads: cases 0 to 4;
                                       images of the network's size: case 5
       cuda_net calls                  queries, timing, networks without a direction
       cuda_net small NETWORK          FP32, FP16 and bf16 against the CPU at 64x32, for the slow modes
       cuda_net files PRECISION A B    two .npy files of embeddings

   LATENCY in the environment sets desc.latency. Compiled with REID__SEPARATE_BUFFERS, every buffer of the plan is a
   separate allocation. */
#define REID_STATIC
#define REID_IMPLEMENTATION
#define REID__COPIED_ALONE 6000 /* so that small batches are uploaded in pieces, too, with stems beside the graph */
#define REID__HEAD_APART 4
#ifdef REID__SEPARATE_BUFFERS
static unsigned long block_for(unsigned long bytes);
#define REID__PIECE(piece, bytes) ((void)(piece), block_for(bytes))
#endif
#include "reid.h"

#include "tools/demo_program/seeded.h"
#include "../lib/test_golden.h"
#include "../lib/test_net.h"
#include "../lib/test_ranges.h"
#include "../lib/test_says.h"

static int failures;
#define CHECK(what)                                                                    \
    do {                                                                               \
        if (!(what)) printf("%s:%d: %s\n", __FILE__, __LINE__, #what), failures++;     \
    } while (0)

#ifdef REID__SEPARATE_BUFFERS
/* Device memory, which stays allocated until the context is released. */
static unsigned long block_for(unsigned long bytes) {
    void *driver = dlopen("libcuda.so.1", RTLD_NOW), *symbol = driver ? dlsym(driver, "cuMemAlloc_v2") : NULL;
    int (*alloc)(reid__address *, size_t) = NULL;
    reid__address block = 0;
    memcpy(&alloc, &symbol, sizeof alloc);
    need(alloc && alloc(&block, bytes) == 0, "no memory on the device");
    return block;
}
#endif

/* A handle for desc on CUDA, or the CPU; prints why there is none. */
static reid_ctx *create_on(reid_desc desc, reid_device device, reid_precision precision) {
    reid_error error = REID_INIT;
    reid_ctx *ctx = NULL;
    desc.device = device;
    desc.precision = precision;
    if (getenv("LATENCY")) desc.latency = 1;
    desc.kernels_path = device == REID_DEVICE_CUDA ? "reid_kernels.cu" : NULL;
    desc.error = &error;
    if (reid_create(&desc, &ctx) != REID_OK) printf("reid_create: %s\n", error.text), failures++;
    return ctx;
}

/* (n, dim) embeddings; freed by the caller. */
static float *embed(reid_ctx *ctx, const reid_image *images, int n) {
    reid_error error = REID_INIT;
    float *out = (float *)calloc((size_t)(n + 1) * (size_t)(reid_dim(ctx) + 1), sizeof *out);
    need(out != NULL, "out of memory");
    if (reid_embed_ex(ctx, images, n, out, &error) != REID_OK) printf("reid_embed: %s\n", error.text), failures++;
    return out;
}

/* Weights that give different images different embeddings, as those of test_net.h hardly do. */
static net_file weights_for(const char *network, int projection) {
    net_file file = {NULL, 0};
    file.bytes = seeded_file(network, 1, SEEDED_F32, projection ? SEEDED_PROJECTION : 0, &file.size);
    need(file.bytes != NULL, network);
    return file;
}

static double worst_difference(const float *a, const float *b, size_t count) {
    double worst = 0;
    for (size_t i = 0; i < count; i++) {
        double d = fabs((double)a[i] - (double)b[i]);
        if (d > worst || d != d) worst = d; /* a NaN stays a NaN */
    }
    return worst;
}

/* ---- against PyTorch --------------------------------------------------------------------------------------------- */

static void golden_case(const golden *g, const float *torch, reid_precision precision) {
    double error, cosine;
    reid_desc desc = desc_of(g, NULL);
    desc.lanes = 1, desc.batch = 1;
    reid_image image = {make_pixels(g, 0), g->width, g->height, 0, REID_RGB8, NULL};
    reid_ctx *ctx = create_on(desc, REID_DEVICE_CUDA, precision);
    if (ctx) {
        float *ours = embed(ctx, &image, 1);
        differences(g, ours, torch, 1, &error, &cosine);
        int good = precision == REID_FP32 ? error <= 1e-5 && cosine >= 0.999999 : cosine >= 0.9999;
        printf("%-20s %-5s %3dx%-3d stride %d  %s  %.1e  %.9f  %s\n", g->net, g->head, g->height, g->width,
               g->last_stride, precision == REID_FP32 ? "fp32" : "fp16", error, cosine, good ? "ok" : "WRONG");
        failures += !good;
        free(ours);
    }
    free((void *)(uintptr_t)image.pixels);
    reid_destroy(ctx);
}

/* The environment may narrow the choice: GOLDEN_SIZE=224x224, GOLDEN_PRECISION=fp16. */
static int wanted(const char *variable, const char *value) {
    const char *only = getenv(variable);
    return !only || strcmp(only, value) == 0;
}

static void test_golden(const char *network) {
    golden_files files = golden_open();
    golden g;
    char size[32];
    int cases = 0;
    for (float *torch; (torch = golden_next(&files, &g)) != NULL; free(torch)) {
        snprintf(size, sizeof size, "%dx%d", g.height, g.width);
        if (strcmp(network, g.net) != 0 || !wanted("GOLDEN_SIZE", size)) continue;
        if (wanted("GOLDEN_PRECISION", "fp32")) golden_case(&g, torch, REID_FP32);
        if (wanted("GOLDEN_PRECISION", "fp16")) golden_case(&g, torch, REID_FP16);
        cases++;
    }
    CHECK(cases > 0);
}

/* ---- bits -------------------------------------------------------------------------------------------------------- */

enum { PICTURES = 11, PIXELS_H = 53, PIXELS_W = 31 };

/* On Hopper the launch of four depthwise convolutions of EfficientNet-B0 in large batches begins with the convolution
   before them, and in small ones the launch of a projection with a small squeeze. */
static void check_joined(const reid_ctx *ctx, int batch) {
    reid_info info;
    reid_op_info op, before;
    int expanded = 0, squeezed = 0;
    CHECK(reid_query_desc(ctx, &info) == REID_OK);
    const int hopper = strcmp(info.isa, "sm_90") == 0, large = batch >= REID__LARGE;
    for (int i = 1; i < reid_op_count(ctx); i++) {
        CHECK(reid_query_op(ctx, i, &op) == REID_OK && reid_query_op(ctx, i - 1, &before) == REID_OK);
        if (before.computed_by == i - 1) {
            CHECK(strcmp(op.kernel, "reid_expand") != 0);
            continue;
        }
        CHECK(before.computed_by == i && strncmp(before.kernel, "in ", 3) == 0);
        CHECK(strcmp(before.kernel + 3, op.name) == 0);
        if (large) expanded += strcmp(op.kernel, "reid_expand") == 0;
        else squeezed += strcmp(before.kind, "squeeze") == 0 && strcmp(op.kind, "conv") == 0;
    }
    CHECK(expanded == (hopper && large ? 4 : 0));
    CHECK(hopper && !large ? squeezed >= 8 : squeezed == 0);
}

/* Embeds `count` images in one call, then those from `first` on in pieces, with `most` handles: the bits of rows must
   be equal. */
static void bits_of(const char *network, int height, int width, int count, int first, size_t most,
                    reid_precision precision) {
    static const struct { int batch, lanes, threads; } handles[] = {{16, 1, 1}, {1, 1, 2}, {4, 2, 3}};
    net_file file = weights_for(network, 0);
    uint8_t *pixels = net_pixels(PICTURES, PIXELS_H, PIXELS_W, 5);
    reid_image images[PICTURES];
    float *want = NULL;
    for (int i = 0; i < PICTURES; i++) images[i] = net_image(pixels, i, PIXELS_H, PIXELS_W);
    for (size_t h = 0; h < most; h++) {
        reid_desc desc = net_desc(&file, height, width, NULL);
        desc.batch = handles[h].batch, desc.lanes = handles[h].lanes, desc.threads = handles[h].threads;
        reid_ctx *ctx = create_on(desc, REID_DEVICE_CUDA, precision);
        if (!ctx) break;
        if (precision == REID_FP16 && strcmp(network, "efficientnet_b0") == 0) check_joined(ctx, desc.batch);
        size_t dim = (size_t)reid_dim(ctx);
        for (int at = h ? first : 0, n; at < count; at += n) {
            n = reid__min(h ? 7 : count, count - at);
            float *got = embed(ctx, images + at, n);
            if (want) CHECK(memcmp(got, want + (size_t)at * dim, (size_t)n * dim * sizeof *got) == 0);
            if (want) free(got);
            else want = got;
        }
        reid_destroy(ctx);
    }
    free(want), free(pixels), free(file.bytes);
}

/* Bits with desc.latency: sums in parts, which must be the same in every batch. */
static void test_latency(int which) {
    need(getenv("LATENCY") != NULL, "LATENCY is not set");
    if (which == 0) bits_of("resnet50-multiscale", 33, 32, 3, 2, 2, REID_FP16);
    else bits_of("efficientnet_b0", 33, 40, 2, 1, 2, REID_FP16);
}

static void test_bits(int which) {
    if (which == 0) bits_of("efficientnet_b0", 33, 40, 9, 4, 3, REID_FP16);
    else if (which == 1) bits_of("efficientnet_b0", 33, 40, 5, 3, 2, REID_FP32);
    else if (which == 2) bits_of("resnet50-multiscale", 33, 32, 5, 3, 2, REID_FP16);
    else bits_of("resnet50-ibn-nl-fastreid-gem", 32, 32, 9, 5, 2, REID_FP16);
}

/* ---- pictures ---------------------------------------------------------------------------------------------------- */

/* Every format, gaps between rows, boxes, sizes from one pixel to more than the staging memory holds. */
static int make_pictures(reid_image *images, reid_box *boxes, uint8_t *pixels, size_t size) {
    static const struct { int width, height, gap, boxed; reid_format format; } kinds[] = {
        {40, 30, 0, 0, REID_RGB8},     {1, 1, 0, 0, REID_GRAY8},  {7, 200, 5, 0, REID_BGR8},
        {64, 32, 0, 0, REID_RGBA8},    {900, 40, 3, 0, REID_RGB8}, {31, 700, 0, 0, REID_RGBA8},
        {90, 80, 1, 1, REID_BGR8},     {300, 300, 0, 1, REID_GRAY8}, {33, 65, 0, 1, REID_RGBA8},
        {1200, 900, 0, 0, REID_RGB8},  {5, 5, 0, 0, REID_RGB8}};
    int n = (int)(sizeof kinds / sizeof kinds[0]);
    for (size_t i = 0; i < size; i++) pixels[i] = (uint8_t)((i * 2654435761u) >> 13);
    for (int i = 0; i < n; i++) {
        int w = kinds[i].width, h = kinds[i].height;
        reid_box box = {w / 3, -4, w / 2, h};
        reid_image image = {pixels + 17 * i, w, h, 0, kinds[i].format, kinds[i].boxed ? &boxes[i] : NULL};
        image.stride = reid__image_stride(&image) + kinds[i].gap;
        boxes[i] = box;
        images[i] = image;
    }
    return n;
}

/* The output of reid_preprocess has the embedding of its image. */
static void check_prepared(reid_ctx *ctx, const reid_image *image, uint8_t *view, const float *row) {
    reid_info info;
    CHECK(reid_query_desc(ctx, &info) == REID_OK && reid_preprocess(ctx, image, view, NULL) == REID_OK);
    const reid_image prepared = {view, info.width, info.height, 0, REID_PREPARED, NULL};
    float *got = embed(ctx, &prepared, 1);
    CHECK(memcmp(got, row, (size_t)info.dim * sizeof *got) == 0);
    free(got);
}

static void pictures_with(const char *preset, int height, int width, int flip, int raw, reid_precision precision) {
    enum { SIZE = 4 << 20 };
    reid_image images[16];
    reid_box boxes[16];
    uint8_t *pixels = (uint8_t *)malloc(SIZE), *cpu_view = (uint8_t *)malloc(SIZE), *gpu_view = cpu_view + SIZE / 2;
    net_file file = weights_for("efficientnet_b0", 1);
    int n = make_pictures(images, boxes, pixels, SIZE);
    reid_desc desc = net_desc(&file, height, width, NULL);
    desc.preset = preset, desc.flip = flip, desc.raw = raw, desc.threads = 2, desc.lanes = 1, desc.batch = 8;
    reid_ctx *cpu = create_on(desc, REID_DEVICE_CPU, REID_FP32), *gpu = create_on(desc, REID_DEVICE_CUDA, precision);
    if (cpu && gpu) {
        reid_info a, b;
        reid_query_desc(cpu, &a), reid_query_desc(gpu, &b);
        CHECK(strcmp(a.fingerprint, b.fingerprint) == 0);
        for (int i = 0; i < n; i++) {
            CHECK(reid_preprocess(cpu, &images[i], cpu_view, NULL) == REID_OK);
            CHECK(reid_preprocess(gpu, &images[i], gpu_view, NULL) == REID_OK);
            CHECK(memcmp(cpu_view, gpu_view, (size_t)a.height * (size_t)a.width * 3) == 0);
        }
        float *want = embed(cpu, images, n), *got = embed(gpu, images, n);
        for (int i = 0; i < n; i++) {
            const float *x = want + (size_t)i * (size_t)a.dim, *y = got + (size_t)i * (size_t)a.dim;
            CHECK(reid_cosine(x, y, a.dim) > (precision == REID_FP32 ? 0.999999 : 0.9999));
            if (precision == REID_FP32 && !raw) CHECK(worst_difference(x, y, (size_t)a.dim) < 1e-6);
            if (i) CHECK(worst_difference(y, y - a.dim, (size_t)a.dim) > 1e-3); /* another image */
            if (i % 4 == 0) check_prepared(gpu, &images[i], gpu_view, y), check_prepared(cpu, &images[i], cpu_view, x);
        }
        free(want), free(got);
    }
    reid_destroy(cpu), reid_destroy(gpu);
    free(file.bytes), free(pixels), free(cpu_view);
}

/* Images of the network's size are uploaded as they are if they are RGB, and pass through the resize otherwise: the
   bits of rows must be equal, in batches that are uploaded in one copy, in pieces, with others, and in two slots in
   turn. */
static void views_with(int flip) {
    enum { H = 33, W = 32, N = 7 };
    static uint8_t rgb[N][H * W][3], bgr[N][H * W][3], rgba[N][H * W][4];
    reid_image views[N], others[N], mixed[N];
    net_file file = weights_for("efficientnet_b0", 0);
    reid_desc desc = net_desc(&file, H, W, NULL);
    desc.preset = "torchreid", desc.flip = flip, desc.threads = 2, desc.lanes = 1, desc.batch = 4;
    reid_ctx *gpu = create_on(desc, REID_DEVICE_CUDA, REID_FP16);
    for (int i = 0; i < N; i++) {
        for (int k = 0; k < H * W * 3; k++) {
            uint32_t level = ((uint32_t)(i * H * W * 3 + k) * 2654435761u) >> 13;
            int at = k / 3, c = k % 3;
            rgb[i][at][c] = bgr[i][at][2 - c] = rgba[i][at][c] = (uint8_t)level;
        }
        const reid_image view = {rgb[i], W, H, 0, REID_RGB8, NULL}, other = {rgba[i], W, H, 0, REID_RGBA8, NULL};
        const reid_image swapped = {bgr[i], W, H, 0, REID_BGR8, NULL};
        views[i] = view, others[i] = other;
        mixed[i] = i % 3 == 0 ? swapped : i % 3 == 1 ? view : other;
    }
    for (int n = 1; gpu && n <= N; n += 3) { /* 1, 4, and 4 + 2 + 1 */
        size_t bytes = (size_t)n * (size_t)reid_dim(gpu) * sizeof(float);
        float *got = embed(gpu, views, n); /* first: the others would leave their pixels where these must be uploaded */
        float *want = embed(gpu, others, n), *both = embed(gpu, mixed, n);
        CHECK(memcmp(want, got, bytes) == 0);
        CHECK(memcmp(want, both, bytes) == 0);
        free(want), free(got), free(both);
    }
    reid_destroy(gpu);
    free(file.bytes);
}

static void test_pictures(int which) {
    if (which == 5) views_with(0), views_with(1);
    else if (which == 0) pictures_with("torchvision-v1", 48, 40, 0, 0, REID_FP32);
    else if (which == 1) pictures_with("fastreid", 33, 40, 1, 0, REID_FP32);
    /* Raw levels of 0 to 255 make these weights amplify every rounding: FP32 only. */
    else if (which == 2) pictures_with("openvino-bgr", 33, 40, 1, 1, REID_FP32);
    else if (which == 3) pictures_with("torchreid", 33, 40, 1, 0, REID_FP16);
    else pictures_with("effnet-b0", 33, 40, 0, 1, REID_FP16);
}

/* ---- calls ------------------------------------------------------------------------------------------------------- */

static void check_queries(reid_ctx *ctx, reid_precision precision) {
    reid_info info;
    reid_memory memory;
    reid_op_info op;
    float times[REID__MAX_OPS];
    reid_error error = REID_INIT;
    CHECK(reid_query_desc(ctx, &info) == REID_OK);
    CHECK(strcmp(info.device, "cuda:0") == 0 && info.chip[0] && strncmp(info.isa, "sm_", 3) == 0);
    CHECK(strcmp(info.precision, precision == REID_FP32 ? "fp32" : "fp16") == 0);
    CHECK(reid_memory_report(ctx, &memory) == REID_OK);
    CHECK(memory.device_weights > 0 && memory.device_activations > 0);
    CHECK(memory.device_staging > 0 && memory.pinned > 0);
    CHECK(memory.total == memory.host + memory.pinned + memory.device_weights + memory.device_activations +
                              memory.device_staging);
    CHECK(memory.total == info.total_bytes);
    const char *stem = precision == REID_FP32 ? "reid_conv_f32" : "reid_stem";
    CHECK(reid_query_op(ctx, 0, &op) == REID_OK && strstr(op.kernel, stem) == op.kernel);
    float together = 0;
    CHECK(reid_profile(ctx, 2, 3, times, &together, &error) == REID_OK && together > 0);
    CHECK(reid_profile(ctx, 3, 1, times, &together, &error) == REID_OK && together == 0); /* has no graph */
    double sum = 0;
    for (int i = 0; i < reid_op_count(ctx); i++) sum += times[i] >= 0 ? times[i] : NAN;
    CHECK(sum > 0);
    CHECK(reid_profile(ctx, info.batch + 1, 1, times, NULL, &error) == REID_ERR_INVALID_ARG);
    CHECK(says(error.text, "batch"));
}

/* A network whose embedding has no direction: all zero, or not finite. */
static void check_no_direction(const net_options *options, reid_precision precision) {
    net_file file = net_for("efficientnet_b0", REID_HEAD_NONE, 1, options);
    uint8_t *pixels = net_pixels(3, 40, 30, 1);
    reid_image images[3];
    float out[3 * 1280];
    reid_error error = REID_INIT;
    for (int i = 0; i < 3; i++) images[i] = net_image(pixels, i, 40, 30);
    reid_ctx *ctx = create_on(net_desc(&file, 33, 40, NULL), REID_DEVICE_CUDA, precision);
    if (ctx) {
        memset(out, 1, sizeof out);
        CHECK(reid_embed_ex(ctx, images, 3, out, &error) == REID_ERR_EMBEDDING);
        CHECK(strstr(error.text, "image ") == error.text);
        CHECK((strstr(error.text, "overflow in FP16: precision bf16") != NULL) == (precision == REID_FP16));
        for (size_t i = 0; i < sizeof out / sizeof *out; i++) CHECK(out[i] == 0);
    }
    reid_destroy(ctx);
    free(pixels), free(file.bytes);
}

/* Activations in the millions: too large for FP16; bf16 agrees with FP32. */
static void check_range(void) {
    net_options wide;
    memset(&wide, 0, sizeof wide);
    wide.gain = 2; /* of each layer; ReLU and bf16 do not depend on scale */
    net_file file = net_for("resnet50", REID_HEAD_NONE, 1, &wide);
    uint8_t *pixels = net_pixels(1, 40, 30, 1);
    reid_image image = net_image(pixels, 0, 40, 30);
    reid_error error = REID_INIT;
    reid_desc desc = net_desc(&file, 33, 40, NULL);
    float out[2048];
    reid_ctx *cpu = create_on(desc, REID_DEVICE_CPU, REID_FP32), *fp16 = create_on(desc, REID_DEVICE_CUDA, REID_FP16);
    reid_ctx *bf16 = create_on(desc, REID_DEVICE_CUDA, REID_BF16);
    if (cpu && fp16 && bf16) {
        float *want = embed(cpu, &image, 1), *got = embed(bf16, &image, 1);
        CHECK(reid_embed_ex(fp16, &image, 1, out, &error) == REID_ERR_EMBEDDING);
        double cosine = reid_cosine(want, got, 2048);
        printf("activations beyond FP16: cosine of bf16 to FP32 %.6f\n", cosine);
        CHECK(cosine > 0.999);
        free(want), free(got);
    }
    reid_destroy(cpu), reid_destroy(fp16), reid_destroy(bf16);
    free(pixels), free(file.bytes);
}

static void test_calls(void) {
    net_options zero, large;
    memset(&zero, 0, sizeof zero), memset(&large, 0, sizeof large);
    zero.zero = 1;
    large.gain = 1e6f;
    check_no_direction(&zero, REID_FP32);
    check_no_direction(&large, REID_FP16);
    check_range();
    net_file file = net_for("efficientnet_b0", REID_HEAD_NONE, 1, NULL);
    reid_desc desc = net_desc(&file, 33, 40, NULL);
    float none;
    desc.batch = 100;
    for (int precision = REID_FP32; precision <= REID_FP16; precision++) {
        reid_ctx *ctx = create_on(desc, REID_DEVICE_CUDA, (reid_precision)precision);
        if (!ctx) continue;
        reid_info info;
        CHECK(reid_query_desc(ctx, &info) == REID_OK && info.batch == 64); /* the power of two below */
        CHECK(reid_embed(ctx, NULL, 0, &none) == REID_OK);
        check_queries(ctx, (reid_precision)precision);
        reid_destroy(ctx);
    }
    free(file.bytes);
}

/* ---- small ------------------------------------------------------------------------------------------------------- */

static void test_small(const char *network) {
    net_file file = weights_for(network, 0);
    golden g = {"", "", 50, 41, 0, 0, 0, 0, 0, 0}; /* two images that differ, as the goldens' */
    reid_image images[2] = {{make_pixels(&g, 0), 41, 50, 0, REID_RGB8, NULL},
                            {make_pixels(&g, 1), 41, 50, 0, REID_RGB8, NULL}};
    reid_desc desc = net_desc(&file, 64, 32, NULL);
    desc.batch = 2, desc.lanes = 1;
    reid_ctx *cpu = create_on(desc, REID_DEVICE_CPU, REID_FP32);
    float *want = cpu ? embed(cpu, images, 2) : NULL;
    reid_info info = {.isa = ""};
    for (int precision = REID_FP32; precision <= REID_BF16 && want; precision++) {
        static const char *const names[] = {"fp32", "fp16", "bf16"};
        const char *name = names[precision - REID_FP32];
        if (!wanted("GOLDEN_PRECISION", name)) continue;
        if (precision == REID_BF16 && strcmp(info.isa, "sm_75") == 0) continue; /* refused: see no_int8 */
        reid_ctx *gpu = create_on(desc, REID_DEVICE_CUDA, (reid_precision)precision);
        if (!gpu) break;
        float *got = embed(gpu, images, 2);
        int dim = reid_dim(gpu);
        double worst = worst_difference(got, want, 2 * (size_t)dim), cosine = reid_cosine(got, want, dim);
        CHECK(reid_query_desc(gpu, &info) == REID_OK && strcmp(info.precision, name) == 0);
        printf("%s %s: %.1e, cosine %.8f, crc %08x\n", network, name, worst, cosine,
               crc32_of((const unsigned char *)got, 2 * (size_t)dim * sizeof *got));
        CHECK(worst_difference(got, got + dim, (size_t)dim) > 1e-4); /* two images */
        CHECK(precision == REID_FP32 ? worst < 2e-6 : cosine > (precision == REID_FP16 ? 0.9999 : 0.999));
        free(got);
        reid_destroy(gpu);
    }
    reid_destroy(cpu);
    for (int i = 0; i < 2; i++) free((void *)(uintptr_t)images[i].pixels);
    free(want), free(file.bytes);
}

/* ---- INT8 -------------------------------------------------------------------------------------------------------- */

/* Three images on the CPU, and on the GPU with batches of 8 and, for latency, of 1, whose bits must be equal. Returns
   the least cosine between CPU and GPU; `bits`: whether these are equal to the bit, too. */
static double int8_cosine(reid_desc desc, const reid_image *images, int bits) {
    reid_info here, there;
    reid_ctx *cpu = create_on(desc, REID_DEVICE_CPU, REID_INT8);
    float *want = cpu ? embed(cpu, images, 3) : NULL, *first = NULL;
    double least = 1;
    for (desc.batch = 8; desc.batch >= 1 && want; desc.batch /= 8) {
        desc.latency = desc.batch == 1; /* whole sums: the same bits in any parts */
        reid_ctx *gpu = create_on(desc, REID_DEVICE_CUDA, REID_INT8);
        if (!gpu) break;
        float *got = embed(gpu, images, 3);
        int dim = reid_dim(gpu);
        size_t size = 3 * (size_t)dim * sizeof *got;
        for (int i = 0; i < 3; i++) least = fmin(least, reid_cosine(got + i * dim, want + i * dim, dim));
        if (first) CHECK(memcmp(got, first, size) == 0);
        if (bits) CHECK(memcmp(got, want, size) == 0);
        CHECK(reid_query_desc(gpu, &here) == REID_OK && strcmp(here.precision, "int8") == 0);
        CHECK(reid_query_desc(cpu, &there) == REID_OK);
        CHECK((strcmp(here.fingerprint, there.fingerprint) == 0) == !desc.latency);
        if (first) free(got);
        else first = got;
        reid_destroy(gpu);
    }
    reid_destroy(cpu);
    free(want), free(first);
    return least;
}

/* Rows of three images, and which of them exceeded the ranges: told[3], and in the handle's counts. */
static float *saturated_rows(reid_desc desc, reid_device device, reid_precision precision, const reid_image *images,
                             unsigned char *told) {
    reid_saturation sum;
    reid_ctx *ctx = create_on(desc, device, precision);
    need(ctx != NULL, "a handle");
    float *rows = (float *)calloc(3 * (size_t)reid_dim(ctx), sizeof *rows);
    memset(told, 7, 3);
    CHECK(rows && reid_embed_saturated(ctx, images, 3, rows, told, NULL) == REID_OK);
    CHECK(reid_query_saturation(ctx, &sum) == REID_OK);
    CHECK(sum.images == (precision == REID_INT8 ? 3 : 0) && sum.saturated == told[0] + told[1] + told[2]);
    CHECK(sum.recomputed == (desc.fallback ? sum.saturated : 0));
    reid_destroy(ctx);
    return rows;
}

/* The GPU counts the same images as the CPU, and desc.fallback gives images beyond the ranges the rows of the GPU's
   FP32. The ranges are those of images[0]; images[1] is made black and white. */
static void test_saturated(reid_desc desc, const reid_image *images) {
    const reid_image three[3] = {images[1], images[0], images[0]}; /* the last one takes the first one's place */
    unsigned char *squares = (unsigned char *)(uintptr_t)images[1].pixels, there[3], here[3], same[3], none[3];
    for (int i = 0; i < 64 * 32 * 3; i++) squares[i] = (i / 3 % 32 / 8 + i / 3 / 32 / 8) % 2 ? 255 : 0;
    desc.batch = 2;
    float *cpu = saturated_rows(desc, REID_DEVICE_CPU, REID_INT8, three, there);
    float *int8 = saturated_rows(desc, REID_DEVICE_CUDA, REID_INT8, three, here);
    desc.fallback = 1;
    float *both = saturated_rows(desc, REID_DEVICE_CUDA, REID_INT8, three, same);
    desc.ranges = NULL, desc.fallback = 0;
    float *fp32 = saturated_rows(desc, REID_DEVICE_CUDA, REID_FP32, three, none);
    printf("beyond the ranges: %d %d %d\n", here[0], here[1], here[2]);
    CHECK(memcmp(here, there, 3) == 0 && memcmp(here, same, 3) == 0 && here[0] && !here[1] && !here[2]);
    CHECK(none[0] + none[1] + none[2] == 0);
    for (int i = 0; i < 3; i++)
        CHECK(memcmp(both + 2048 * i, (here[i] ? fp32 : int8) + 2048 * i, 2048 * sizeof *both) == 0);
    free(cpu), free(int8), free(both), free(fp32);
}

/* Only sums of a linear layer have another order than the CPU's. */
static void test_int8(const char *network, const char *ranges) {
    static const odd none, wide = {.share = 1.2f}, other = {.made_for = "0123"};
    net_file file = weights_for(network, 0);
    uint8_t *pixels = net_pixels(3, 64, 32, 5);
    reid_image images[3];
    reid_error error = REID_INIT;
    reid_desc desc = net_desc(&file, 64, 32, &error);
    reid_ctx *gpu;
    seen s;
    for (int i = 0; i < 3; i++) images[i] = net_image(pixels, i, 64, 32);
    desc.device = REID_DEVICE_CPU;
    desc.last_stride = 1; /* or the last rows had one pixel each, and no sums of rows */
    look(&s, &desc, images[0]);
    desc.ranges = ranges, desc.raw = 1;
    write_ranges(ranges, &s, &none);
    double cosine = int8_cosine(desc, images, strcmp(network, "resnet50") == 0);
    printf("%s INT8: least cosine between the GPU and the CPU %.8f\n", network, cosine);
    CHECK(cosine > 0.999999);
    write_ranges(ranges, &s, &wide);
    if (reid_dim(s.ctx) == 2048) test_saturated(desc, images);
    write_ranges(ranges, &s, &other);
    desc.device = REID_DEVICE_CUDA, desc.precision = REID_INT8, desc.kernels_path = "reid_kernels.cu";
    CHECK(reid_create(&desc, &gpu) == REID_ERR_RANGES && says(error.text, "made for fingerprint 0123"));
    forget(&s);
    free(pixels), free(file.bytes);
}

static void note_warning(reid_log_level level, reid_result id, const char *message, void *user) {
    char *all = (char *)user;
    (void)id;
    if (level == REID_LOG_WARNING) snprintf(all + strlen(all), 1000 - strlen(all), "%s\n", message);
}

/* desc.fallback if the GPU can run only INT8 or only FP32: both run on the CPU, and the log says why. */
static void both_on_cpu(reid_desc desc, const char *why, const char *alone) {
    char log[1000] = "";
    reid_ctx *ctx;
    reid_info info;
    desc.device = REID_DEVICE_AUTO, desc.fallback = 1;
    desc.log_fn = note_warning, desc.log_user = log;
    CHECK(reid_create(&desc, &ctx) == REID_OK && reid_query_desc(ctx, &info) == REID_OK);
    CHECK(strcmp(info.device, "cpu") == 0 && info.fallback && !ctx->fp32_fallback->gpu);
    printf("%s", log);
    CHECK(says(log, why) && says(log, alone));
    reid_destroy(ctx);
}

/* A card without memory for FP32 in addition to INT8. */
static void small_card(reid_desc desc) {
    reid_ctx *ctx;
    desc.device = REID_DEVICE_CUDA;
    CHECK(reid_create(&desc, &ctx) == REID_OK);
    reid_destroy(ctx);
    both_on_cpu(desc, "in FP32, for desc.fallback: computing on the CPU: ", "the GPU can run only INT8");
    desc.fallback = 1;
    CHECK(reid_create(&desc, &ctx) == REID_ERR_OUT_OF_MEMORY);
}

/* A chip without the instruction: refused, or computed on the CPU unless CUDA is requested. */
static void no_int8(reid_desc desc) {
    const reid_error *error = desc.error;
    reid_ctx *ctx;
    reid_info info;
    reid_desc bf16 = desc;
    desc.device = bf16.device = REID_DEVICE_CUDA;
    CHECK(reid_create(&desc, &ctx) == REID_ERR_PRECISION);
    CHECK(says(error->text, "INT8 needs a GPU from Ampere (sm_80)"));
    bf16.ranges = NULL, bf16.precision = REID_BF16;
    CHECK(reid_create(&bf16, &ctx) == REID_ERR_PRECISION);
    CHECK(says(error->text, "bf16 needs a GPU from Ampere (sm_80)"));
    desc.device = REID_DEVICE_AUTO;
    CHECK(reid_create(&desc, &ctx) == REID_OK && reid_query_desc(ctx, &info) == REID_OK);
    CHECK(strcmp(info.device, "cpu") == 0 && strcmp(info.precision, "int8") == 0);
    reid_destroy(ctx);
    both_on_cpu(desc, "INT8 needs a GPU from Ampere", "the GPU can run only FP32");
}

/* `test` with a description of INT8 whose ranges are those of an image. */
static void with_ranges(const char *ranges, void (*test)(reid_desc desc)) {
    static const odd none;
    net_file file = weights_for("resnet50", 0);
    uint8_t *pixels = net_pixels(1, 64, 32, 5);
    reid_error error = REID_INIT;
    reid_desc desc = net_desc(&file, 64, 32, &error);
    seen s;
    desc.device = REID_DEVICE_CPU;
    look(&s, &desc, net_image(pixels, 0, 64, 32));
    write_ranges(ranges, &s, &none);
    desc.ranges = ranges, desc.precision = REID_INT8, desc.kernels_path = "reid_kernels.cu";
    test(desc);
    forget(&s);
    free(pixels), free(file.bytes);
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

/* The floats of a .npy file, after a header whose length is in bytes 8 and 9. */
static float *read_npy(const char *path, size_t *count) {
    unsigned char head[10];
    FILE *file = fopen(path, "rb");
    need(file && fread(head, 1, 10, file) == 10 && memcmp(head, "\223NUMPY\001", 7) == 0, path);
    fseek(file, 0, SEEK_END);
    long start = 10 + head[8] + 256 * head[9], end = ftell(file);
    *count = (size_t)(end - start) / sizeof(float);
    float *floats = (float *)malloc(*count * sizeof *floats + 1);
    fseek(file, start, SEEK_SET);
    need(floats && fread(floats, sizeof *floats, *count, file) == *count, path);
    fclose(file);
    return floats;
}

/* Embeddings written by reid embed: equal up to rounding, in FP32 or FP16. */
static void test_files(const char *precision, const char *path, const char *other) {
    size_t count, other_count;
    float *a = read_npy(path, &count), *b = read_npy(other, &other_count);
    double worst = 0;
    CHECK(count == other_count && count > 0);
    if (count == other_count) worst = worst_difference(a, b, count);
    printf("%s and %s: %zu floats, %.1e\n", path, other, count, worst);
    CHECK(worst < (strcmp(precision, "fp32") == 0 ? 1e-6 : 2e-3));
    free(a), free(b);
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    if (strcmp(what, "golden") == 0 && argc == 3) test_golden(argv[2]);
    else if (strcmp(what, "small") == 0 && argc == 3) test_small(argv[2]);
    else if (strcmp(what, "bits") == 0 && argc == 3) test_bits(atoi(argv[2]));
    else if (strcmp(what, "latency") == 0 && argc == 3) test_latency(atoi(argv[2]));
    else if (strcmp(what, "pictures") == 0 && argc == 3) test_pictures(atoi(argv[2]));
    else if (strcmp(what, "calls") == 0) test_calls();
    else if (strcmp(what, "int8") == 0 && argc == 4) test_int8(argv[2], argv[3]);
    else if (strcmp(what, "no_int8") == 0 && argc == 3) with_ranges(argv[2], no_int8);
    else if (strcmp(what, "small_card") == 0 && argc == 3) with_ranges(argv[2], small_card);
    else if (strcmp(what, "files") == 0 && argc == 5) test_files(argv[2], argv[3], argv[4]);
    else need(0, "golden NETWORK, small NETWORK, bits CASE, latency CASE, pictures CASE, calls, int8 NETWORK RANGES, "
                 "no_int8 RANGES, small_card RANGES or files PRECISION A B?");
    printf("cuda_net %s: %d failed\n", what, failures);
    return failures != 0;
}
