/* kernels_wgmma.c: reid_conv_wgmma against reid_conv_plain, on the emulator: every layer of ResNet-50 and EfficientNet
   that takes it, as reid.h launches it, and odd sizes; neither the tile nor the batch nor the number of multiprocessors
   may change a bit. Built and run by tests/t_kernels.sh. */
#define REID_STATIC
#define REID_IMPLEMENTATION
#include "reid.h"

#include "kernels_test.h"

static reid__plan plan;
static reid__prep prep;
static reid__gpu gpu;
static reid__gpu_lane lane;

/* A layer's operands on the device; halves. */
typedef struct operands {
    int index, images, pixels, oc;
    CUdeviceptr in, rest, bias, rows, columns, out; /* rows: weights (OC, K) in slices of 64; columns: (K, OC) */
    uint16_t *want;                                 /* what reid_conv_plain makes of them */
} operands;

static const reid__op *op_of(const operands *o) { return &plan.ops[o->index]; }

/* n random halves from -scale to scale, a power of two; `rows` of them with `width` of `stride` in use, zero behind. */
static uint16_t *random_halves(size_t rows, size_t width, size_t stride, double scale) {
    static uint16_t values[1025];
    unsigned seed = 11;
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

/* The same weights in both layouts. */
static void upload_weights(operands *o) {
    const reid__op *op = op_of(o);
    size_t c = (size_t)plan.buffers[op->in].c, wide = (size_t)reid__gpu_channels(&gpu.plan, op), oc = (size_t)o->oc;
    size_t taps = (size_t)(op->kh * op->kw);
    uint16_t *rows = random_halves(oc * taps, c, wide, 0.0625);
    uint16_t *columns = (uint16_t *)malloc(taps * c * oc * sizeof *columns);
    for (size_t n = 0; n < oc; n++)
        for (size_t k = 0; k < taps * c; k++) columns[k * oc + n] = rows[n * taps * wide + k / c * wide + k % c];
    o->rows = emu_upload(rows, oc * taps * wide * sizeof *rows);
    o->columns = emu_upload(columns, taps * c * oc * sizeof *columns);
    free(rows), free(columns);
}

static CUfunction function_of(const char *name, const reid__program *p, unsigned shared) {
    const char *options[REID__MAX_OPTIONS], *at = p->options;
    int n = 0;
    for (; n < p->count; at += strlen(at) + 1) options[n++] = at;
    return emu_function_of(program_with(name, options, n), name, shared);
}

static void run_plain(operands *o) {
    const reid__op *op = op_of(o);
    CUdeviceptr scale = 0, out = emu_upload(NULL, (size_t)o->pixels * (size_t)o->oc * 2);
    reid__program p;
    memset(&p, 0, sizeof p);
    reid__option(&p, "-DREID_CONV_PLAIN"), reid__option(&p, "-DVALUE_F16");
    reid__define(&p, "OC", o->oc), reid__define(&p, "OUT_STRIDE", o->oc);
    reid__define(&p, "CHANNEL", 0), reid__define(&p, "SCALE", 0), reid__define(&p, "BK", 16);
    reid__define_conv(&gpu.plan, op, &p);
    void *params[] = {&o->in, &o->columns, &o->bias, &o->rest, &scale, &out, &o->pixels};
    run_kernel(function_of("reid_conv_plain", &p, 0), (o->pixels * o->oc + 255) / 256, 1, 256, 0, params);
    emu_download(o->want, out, (size_t)o->pixels * (size_t)o->oc * 2);
}

static operands operands_of(int index, int images) {
    operands o = {.index = index, .images = images, .oc = reid__padded(plan.ops[index].oc)};
    const reid__op *op = op_of(&o);
    size_t inputs = (size_t)(images * op->ih * op->iw);
    o.pixels = images * op->oh * op->ow;
    o.in = random_tensor(inputs, (size_t)plan.buffers[op->in].c, (size_t)plan.buffers[op->in].c, 1);
    o.rest = random_tensor((size_t)o.pixels, (size_t)o.oc, (size_t)o.oc, 2);
    o.want = (uint16_t *)malloc((size_t)o.pixels * (size_t)o.oc * 2);
    unsigned seed = 3;
    tensor bias = tensor_of((size_t)o.oc, 0, &seed, 1);
    o.bias = bias.device;
    free(bias.host);
    upload_weights(&o);
    run_plain(&o);
    return o;
}

static void drop_operands(operands *o) {
    const CUdeviceptr all[] = {o->in, o->rest, o->bias, o->rows, o->columns};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) NEED(cuMemFree_v2(all[i]));
    free(o->want);
}

/* Operands through reid_conv_wgmma with this tile: all images on few multiprocessors, the first one on many. On the
   emulator both kernels add up in the order of K: the bits are the same. */
static void run_tile(const operands *o, const reid__wgmma_tile *t, int multiprocessors) {
    const reid__op *op = op_of(o);
    reid_error error = REID_INIT;
    reid__program p;
    reid__step s;
    memset(&p, 0, sizeof p), memset(&s, 0, sizeof s);
    reid__wgmma_step(t, &p, &s), reid__define_conv(&gpu.plan, op, &p), reid__option(&p, "-DVALUE_F16");
    s.handle = function_of(s.function, &p, s.shared);
    printf("%-20s %4d -> %4d, %dx%d to %3dx%-3d x %d, tile %3dx%-3d groups %d resident %d stages %d\n", op->name,
           plan.buffers[op->in].c, op->oc, op->kh, op->kw, op->oh, op->ow, o->images, t->bm, t->bn, t->groups,
           t->resident, t->stages);
    gpu.weights = o->rows, gpu.plan.weight[o->index] = 0, gpu.plan.bias[o->index] = o->bias - o->rows;
    lane.buffer[op->in] = o->in;
    if (op->residual != REID__NONE) lane.buffer[op->residual] = o->rest;
    for (int images = o->images; images > 0; images -= reid__max(o->images - 1, 1)) {
        size_t bytes = (size_t)(images * op->oh * op->ow) * (size_t)o->oc * 2;
        uint16_t *got = (uint16_t *)malloc(bytes);
        lane.buffer[op->out] = emu_upload(NULL, bytes);
        gpu.device.multiprocessors = images == o->images ? multiprocessors : 132;
        NEED(reid__gpu_run_wgmma(&gpu, &lane, o->index, &s, images, &error));
        NEED(cuCtxSynchronize());
        emu_download(got, lane.buffer[op->out], bytes);
        CHECK(memcmp(got, o->want, bytes) == 0);
        free(got);
    }
}

static void plan_of(const char *network, int height, int width) {
    const reid__arch *arch = NULL;
    for (int i = 0; i < REID__ARCHS; i++)
        if (strcmp(reid__archs[i].name, network) == 0) arch = &reid__archs[i];
    NEED(!arch || !reid__plan_build(&plan, arch, height, width, 2, REID_HEAD_NONE));
    reid__gpu_plan_init(&gpu.plan, &plan, &prep, 1, 1, 0, 0);
}

/* Has an operation before this one the same shape? */
static int seen_before(int index) {
    const reid__op *a = &plan.ops[index];
    for (int i = 0; i < index; i++) {
        const reid__op *b = &plan.ops[i];
        if (reid__takes_wgmma(&gpu.plan, b) && a->kh == b->kh && a->stride == b->stride && a->ih == b->ih &&
            a->iw == b->iw && a->ic == b->ic && a->oc == b->oc && a->act == b->act &&
            (a->residual == REID__NONE) == (b->residual == REID__NONE)) return 1;
    }
    return 0;
}

/* Every layer with the tile for large batches, or for small ones. */
static void test_layers(const char *network, int large) {
    int layers = 0;
    plan_of(network, 224, 224);
    for (int i = 0; i < plan.op_count; i++) {
        if (!reid__takes_wgmma(&gpu.plan, &plan.ops[i]) || seen_before(i)) continue;
        operands o = operands_of(i, 1);
        reid__wgmma_tile t = reid__choose_wgmma_tile(&gpu.plan, &plan.ops[i], 90, large);
        run_tile(&o, &t, large ? 7 : 132);
        drop_operands(&o);
        layers++;
    }
    CHECK(layers >= 4);
}

/* Odd sizes, all tiles, on so few multiprocessors that blocks have several tiles and rings go round. */
static void test_sizes(int height, int width, int most_channels) {
    plan_of("resnet50", height, width);
    for (int i = 0; i < plan.op_count; i++) {
        const reid__op *op = &plan.ops[i];
        if (!reid__takes_wgmma(&gpu.plan, op) || seen_before(i) || op->ic > most_channels) continue;
        operands o = operands_of(i, 3);
        for (int tile = 0; tile < 4; tile++) {
            reid__wgmma_tile t = reid__wgmma_fit(&gpu.plan, op, 1 + tile / 2, 1 + tile % 2);
            run_tile(&o, &t, 1 + tile);
        }
        drop_operands(&o);
    }
}

/* `few`, and where every access is checked: only the smallest sizes. */
int main(int argc, char **argv) {
    kernels_text = emu_read_file("reid_kernels.cu");
    emu_start();
    NEED(reid__driver_load(&gpu.device, NULL));
    int few = getenv("REID_EMULATOR_CHECK") != NULL || (argc > 1 && strcmp(argv[1], "few") == 0);
    test_sizes(few ? 45 : 101, few ? 37 : 75, few ? 64 : 128);
    if (!few) test_layers("resnet50", 1);
    if (!few) test_layers("efficientnet_b0", 0);
    free(kernels_text);
    return emu_done("kernels_wgmma");
}
