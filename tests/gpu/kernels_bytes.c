/* kernels_bytes.c: reid_conv_wgmma in INT8 against its definition, on the emulator: every byte of layers of ResNet-50,
   of odd ones, and of the stem with its max pool, whatever the tile. Built and run by tests/gpu/t_wgmma.sh. */
#define REID_STATIC
#define REID_IMPLEMENTATION
#include "reid.h"

#include "kernels_test.h"

static reid__plan plan;
static reid__prep prep;
static reid__gpu gpu;
static reid__gpu_lane lane;

#define MOST_IMAGES 6

/* An operation's data. weights: (OC, taps, IC); scale[oc]: the residual's step; want: the outputs; full: the number of
   each image's saturated outputs, if there is a ReLU and no residual. */
typedef struct layer {
    int index, pixels;
    const uint8_t *in;
    int8_t *weights;
    uint8_t *rest, *want;
    float *scale, *bias;
    unsigned full[MOST_IMAGES];
} layer;

static size_t stored(int buffer, int images) {
    const reid__buffer *b = &plan.buffers[buffer];
    return (size_t)(images * b->h * b->w * b->c);
}

static uint8_t *random_bytes(size_t count) {
    static unsigned seed = 5;
    uint8_t *bytes = (uint8_t *)malloc(count);
    if (!bytes) exit(1);
    for (size_t i = 0; i < count; i++) bytes[i] = (uint8_t)emu_next_random(&seed);
    return bytes;
}

/* The exact sum of an output. */
static int sum_of(const layer *l, int m, int n) {
    const reid__op *op = &plan.ops[l->index];
    int image = m / (op->oh * op->ow), sum = 0;
    for (int tap = 0; tap < op->kh * op->kw; tap++) {
        int y = m / op->ow % op->oh * op->stride - op->pad_y + tap / op->kw;
        int x = m % op->ow * op->stride - op->pad_x + tap % op->kw;
        if (y < 0 || y >= op->ih || x < 0 || x >= op->iw) continue;
        const uint8_t *in = l->in + ((image * op->ih + y) * op->iw + x) * op->ic;
        const int8_t *w = l->weights + (n * op->kh * op->kw + tap) * op->ic;
        for (int c = 0; c < op->ic; c++) sum += in[c] * w[c];
    }
    return sum;
}

static float sum_in_double(double a, double b, double c) { return (float)(a * b + c); }

/* Random weights, scales that saturate few outputs, and the outputs for `in`; rest: the residuals, or NULL: random. */
static layer layer_of(int index, int images, const uint8_t *in, const uint8_t *rest) {
    const reid__op *op = &plan.ops[index];
    layer l = {.index = index, .pixels = images * op->oh * op->ow, .in = in};
    int is_signed = plan.buffers[op->out].is_signed, depth = op->kh * op->kw * op->ic;
    int rest_signed = op->residual != REID__NONE && plan.buffers[op->residual].is_signed;
    size_t outputs = (size_t)(l.pixels * op->oc);
    unsigned seed = (unsigned)index;
    l.weights = (int8_t *)random_bytes((size_t)(op->oc * depth));
    l.rest = random_bytes(outputs), l.want = random_bytes(outputs);
    if (rest) memcpy(l.rest, rest, outputs);
    l.scale = (float *)malloc((size_t)(op->oc + 1) * sizeof(float)), l.bias = (float *)malloc((size_t)op->oc * 4);
    for (int n = 0; n < op->oc; n++) {
        l.scale[n] = (0.006f + 0.002f * emu_uniform(&seed)) / sqrtf((float)depth);
        l.bias[n] = 60 + 40 * emu_uniform(&seed);
    }
    l.scale[op->oc] = 0.37f;
    for (int i = 0; i < (int)outputs; i++) {
        int n = i % op->oc;
        float v = sum_in_double((float)sum_of(&l, i / op->oc, n), l.scale[n], l.bias[n]);
        if (op->residual != REID__NONE)
            v = sum_in_double(rest_signed ? (int8_t)l.rest[i] : l.rest[i], l.scale[op->oc], v);
        l.want[i] = (uint8_t)lrintf(fminf(fmaxf(v, is_signed ? -128 : 0), is_signed ? 127 : 255));
        l.full[i / op->oc / (op->oh * op->ow)] += l.want[i] == 255 && !is_signed && op->residual == REID__NONE;
    }
    return l;
}

/* Packs like reid__gpu_pack_bytes: rows of 16 channels in the kernel's order, slices filled with zeros. */
static void upload_layer(const layer *l) {
    const reid__op *op = &plan.ops[l->index];
    size_t wide = (size_t)reid__gpu_channels(&gpu.plan, op), taps = (size_t)(op->kh * op->kw), ic = (size_t)op->ic;
    int8_t *rows = (int8_t *)calloc((size_t)op->oc * taps, wide);
    for (size_t i = 0; i < (size_t)op->oc * taps; i++) {
        size_t row = (size_t)reid__wgmma_row((int)(i / taps));
        memcpy(rows + (row * taps + i % taps) * wide, l->weights + i * ic, ic);
    }
    gpu.plan.weight[l->index] = emu_upload(rows, (size_t)op->oc * taps * wide);
    gpu.plan.weight2[l->index] = emu_upload(l->scale, (size_t)(op->oc + 1) * 4);
    gpu.plan.bias[l->index] = emu_upload(l->bias, (size_t)op->oc * 4);
    free(rows);
}

static void drop_layer(layer *l) {
    NEED(cuMemFree_v2(gpu.plan.weight[l->index]) || cuMemFree_v2(gpu.plan.weight2[l->index]) ||
         cuMemFree_v2(gpu.plan.bias[l->index]));
    free(l->weights), free(l->rest), free(l->want), free(l->scale), free(l->bias);
}

static CUfunction function_of(const reid__program *p, const reid__step *s) {
    const char *options[REID__MAX_OPTIONS], *at = p->options;
    int n = 0;
    for (; n < p->count; at += strlen(at) + 1) options[n++] = at;
    return emu_function_of(program_with(s->function, options, n), s->function, s->shared);
}

/* If only a global average follows, the sums of each row of an image are stored. */
static int wrong_row_sums(const layer *l, const float *got, int per) {
    int oc = plan.ops[l->index].oc, wrong = 0;
    for (int i = 0; i < l->pixels / per * oc; i++) {
        float sum = 0;
        for (int x = 0; x < per; x++) sum += l->want[(i / oc * per + x) * oc + i % oc];
        wrong += got[i] != sum;
    }
    return wrong;
}

static int wrong_bytes(CUdeviceptr from, const layer *l) {
    size_t count = (size_t)(l->pixels * plan.ops[l->index].oc);
    uint8_t *got = random_bytes(count);
    int wrong = 0;
    emu_download(got, from, count);
    for (size_t i = 0; i < count; i++) wrong += got[i] != l->want[i];
    free(got);
    return wrong;
}

/* then: the layer behind it, fused into its launch; or NULL. */
static void run_tile(const layer *l, const layer *then, const reid__wgmma_tile *t, int images, int multiprocessors) {
    const reid__op *op = &plan.ops[l->index];
    int per = gpu.plan.pixels_per_sum[op->out], wrong = 0;
    size_t count = (size_t)(l->pixels * op->oc), bytes = per > 1 ? count / (size_t)per * 4 : count;
    reid_error error = REID_INIT;
    reid__program p;
    reid__step s;
    memset(&p, 0, sizeof p), memset(&s, 0, sizeof s);
    const int pools = op->kind == REID__MAXPOOL;
    if (pools) reid__stem_pool_step(&gpu.plan, op, &p, &s);
    else reid__wgmma_step(&gpu.plan, l->index, t, &p, &s);
    reid__define_conv(&gpu.plan, l->index, &p);
    reid__option(&p, pools ? "-DVALUE_F16" : "-DVALUE_U8");
    s.handle = function_of(&p, &s);
    unsigned full[MOST_IMAGES] = {0};
    lane.buffer[op->out] = emu_upload(NULL, bytes);
    if (then) lane.buffer[plan.ops[then->index].out] = emu_upload(NULL, stored(plan.ops[then->index].out, images));
    lane.full = emu_upload(full, sizeof full);
    gpu.device.multiprocessors = multiprocessors;
    NEED(pools ? reid__gpu_run_stem_pool(&gpu, &lane, l->index, &s, images, &error)
               : reid__gpu_run_wgmma(&gpu, &lane, l->index, &s, images, &error));
    NEED(cuCtxSynchronize());
    emu_download(full, lane.full, sizeof full);
    if (per > 1) {
        float *sums = (float *)malloc(bytes);
        emu_download(sums, lane.buffer[op->out], bytes);
        wrong = wrong_row_sums(l, sums, per);
        free(sums);
    } else wrong = wrong_bytes(lane.buffer[op->out], l);
    int wrong_then = then ? wrong_bytes(lane.buffer[plan.ops[then->index].out], then) : 0;
    printf("%-16s %4d -> %4d, %dx%d to %2dx%-2d x %d, tile %3dx%-3d groups %d resident %d split %d light %d "
           "stages %d chunks %d + %d then %d: %d and %d wrong\n", op->name, op->ic, op->oc, op->kh, op->kw, op->oh,
           op->ow, images, t->bm, t->bn, t->groups, t->resident, t->split, t->light, t->stages, t->chunks,
           t->passes * t->next, pools ? 0 : t->then, wrong, wrong_then);
    CHECK(wrong == 0 && wrong_then == 0);
    CHECK(memcmp(full, l->full, sizeof full) == 0);
}

/* The stem's bytes, from the whole sums of its levels: (images, rows, columns, 4) by (64, 7, 8, 4). */
static uint8_t *stem_of(layer *l, int images, const int16_t *in, const int16_t *w, const float *scale,
                        const float *bias) {
    const reid__op *op = &plan.ops[0];
    int row = gpu.plan.columns * 4, outputs = images * op->oh * op->ow * 64;
    uint8_t *bytes = random_bytes((size_t)outputs);
    for (int i = 0; i < outputs; i++) {
        int n = i % 64, x = i / 64 % op->ow, y = i / 64 / op->ow % op->oh, image = i / 64 / op->ow / op->oh, sum = 0;
        for (int k = 0; k < 224; k++)
            sum += in[(image * gpu.plan.rows + 2 * y + k / 32) * row + 8 * x + k % 32] * w[n * 224 + k];
        bytes[i] = (uint8_t)lrintf(fminf(fmaxf(sum_in_double((float)sum, scale[n], bias[n]), 0), 255));
        l->full[image] += bytes[i] == 255;
    }
    return bytes;
}

/* The largest output under the max pool's window. */
static uint8_t pooled_of(const uint8_t *bytes, int m, int n) {
    const reid__op *op = &plan.ops[0], *pool = &plan.ops[1];
    int image = m / (pool->oh * pool->ow), most = 0;
    for (int i = 0; i < 9; i++) {
        int y = m / pool->ow % pool->oh * 2 - pool->pad_y + i / 3, x = m % pool->ow * 2 - pool->pad_x + i % 3;
        if (y < 0 || y >= op->oh || x < 0 || x >= op->ow) continue;
        most = reid__max(most, bytes[((image * op->oh + y) * op->ow + x) * 64 + n]);
    }
    return (uint8_t)most;
}

/* Random halves that are whole numbers, and those numbers; zero in the fourth channel. */
static CUdeviceptr whole_halves(size_t count, int most, int16_t **values) {
    uint16_t *halves = (uint16_t *)malloc(2 * count);
    *values = (int16_t *)random_bytes(2 * count);
    for (size_t i = 0; i < count; i++) {
        (*values)[i] = i % 4 == 3 ? 0 : (int16_t)((*values)[i] % (most + 1));
        halves[i] = emu_half_from((*values)[i]);
    }
    CUdeviceptr p = emu_upload(halves, 2 * count);
    free(halves);
    return p;
}

/* The stem's input, as reid_input would write it, of a random view and a table of whole numbers, which the kernel
   reads. */
static int16_t *random_image(int images) {
    const reid__buffer *b = &plan.buffers[plan.ops[0].in];
    const int row = gpu.plan.columns * 4, pixels = plan.height * plan.width, count = images * pixels;
    int16_t *image = (int16_t *)calloc((size_t)(images * gpu.plan.rows * row), sizeof *image);
    uint8_t *view = random_bytes((size_t)count * 3);
    float table[3 * 256];
    if (!image) exit(1);
    for (int i = 0; i < 3 * 256; i++) table[i] = (float)(i * 37 % 301);
    for (int i = 0; i < count * 3; i++) {
        int c = i % 3, x = i / 3 % plan.width + b->border_x, y = i / 3 % pixels / plan.width + b->border_y;
        image[(i / 3 / pixels * gpu.plan.rows + y) * row + x * 4 + c] = (int16_t)table[c * 256 + view[i]];
    }
    lane.view = emu_upload(view, (size_t)count * 3), gpu.lut = emu_upload(table, sizeof table);
    free(view);
    return image;
}

static void test_stem(int images) {
    if (!emu_case("reid_stem_pool INT8, %d images", images)) return;
    const reid__op *pool = &plan.ops[1];
    layer l = {.index = 1, .pixels = images * pool->oh * pool->ow};
    size_t outputs = (size_t)(l.pixels * 64);
    int16_t *in = random_image(images), *w;
    float scale[64], bias[64];
    unsigned seed = 3;
    for (int n = 0; n < 64; n++) scale[n] = 3e-4f + 1e-4f * emu_uniform(&seed), bias[n] = 40 * emu_uniform(&seed);
    bias[1] = 300; /* saturates wherever it is added */
    gpu.plan.weight[0] = whole_halves(64 * 224, 400, &w);
    gpu.plan.weight2[0] = emu_upload(scale, sizeof scale), gpu.plan.bias[0] = emu_upload(bias, sizeof bias);
    l.want = random_bytes(outputs);
    uint8_t *bytes = stem_of(&l, images, in, w, scale, bias);
    for (int i = 0; i < (int)outputs; i++) l.want[i] = pooled_of(bytes, i / 64, i % 64);
    CHECK(l.full[0] > 0 && l.full[images - 1] > 0);
    const reid__wgmma_tile t = {.bn = 64, .depth = 64}; /* only printed */
    CHECK(gpu.plan.fused_first[1] == 0);
    for (int multiprocessors = 1; multiprocessors < 6; multiprocessors += 4) /* an image is one strip, or several */
        run_tile(&l, NULL, &t, images, multiprocessors);
    NEED(cuMemFree_v2(lane.view) || cuMemFree_v2(gpu.lut) || cuMemFree_v2(gpu.plan.weight[0]) ||
         cuMemFree_v2(gpu.plan.weight2[0]) || cuMemFree_v2(gpu.plan.bias[0]));
    free(in), free(w), free(l.want), free(bytes);
}

typedef enum which { CHOSEN, ALL, PARTS } which;

/* Tile number i: of the chosen ones, for small and for large batches; of all; of those that cut K into parts, for
   latency. Without stages: it does not fit, or does not belong to this choice. */
static reid__wgmma_tile next_tile(int index, which of, int i) {
    if (of == CHOSEN) return reid__choose_wgmma_tile(&gpu.plan, index, 90, i);
    const reid__wgmma_shape *s = &reid__wgmma_shapes[of == PARTS ? 4 + i : i];
    reid__wgmma_tile t = reid__wgmma_fit(&gpu.plan, index, s);
    if (of == ALL && (s->split > 1 || (s->wide && t.bn < 256))) t.stages = 0;
    return t;
}

static int is_wanted(int index, int images, const reid__wgmma_tile *t) {
    const reid__op *op = &plan.ops[index];
    return emu_case("reid_conv_wgmma INT8 %s, %d of %dx%d, %d channels, tile %dx%d groups %d resident %d "
                    "split %d", op->name, images, op->oh, op->ow, op->ic, t->bm, t->bn, t->groups, t->resident,
                    t->split);
}

/* Launches an operation with each tile. */
static void test_op(int index, int images, which of) {
    int first = reid__launch_first(&gpu.plan, index), fit = 0, count = 0, numbers[REID__WGMMA_SHAPES];
    reid__wgmma_tile tiles[REID__WGMMA_SHAPES];
    for (int i = 0; i < (of == CHOSEN ? 2 : of == PARTS ? 6 : REID__WGMMA_SHAPES); i++) {
        reid__wgmma_tile t = next_tile(index, of, i);
        if (t.stages < 2) continue;
        fit++;
        if (is_wanted(index, images, &t)) numbers[count] = i, tiles[count++] = t;
    }
    CHECK(fit > 0);
    if (!count) return;
    const reid__op *op = &plan.ops[index], *begin = &plan.ops[first];
    int then = gpu.plan.fused_then[index], with = gpu.plan.fused_shortcut[index];
    const int other = with == REID__NONE ? begin->in : plan.ops[with].in;
    uint8_t *in = random_bytes(stored(begin->in, images)), *others = random_bytes(stored(other, images));
    layer more, before, l, last;
    if (with != REID__NONE) more = layer_of(with, images, others, NULL), upload_layer(&more);
    if (first != index) before = layer_of(first, images, in, NULL), upload_layer(&before);
    l = layer_of(index, images, first != index ? before.want : in, with == REID__NONE ? NULL : more.want);
    if (with != REID__NONE) lane.buffer[other] = emu_upload(others, stored(other, images));
    for (int i = 0; i < images && first != index; i++) l.full[i] += before.full[i];
    upload_layer(&l);
    if (then != REID__NONE) last = layer_of(then, images, l.want, NULL), upload_layer(&last);
    for (int i = 0; i < images && then != REID__NONE; i++) l.full[i] += last.full[i];
    lane.buffer[begin->in] = emu_upload(in, stored(begin->in, images));
    if (op->residual != REID__NONE) lane.buffer[op->residual] = emu_upload(l.rest, (size_t)(l.pixels * op->oc));
    for (int i = 0; i < count; i++) /* so few multiprocessors that a cluster has several tiles */
        run_tile(&l, then == REID__NONE ? NULL : &last, &tiles[i], images,
                 of == PARTS ? tiles[i].split : 1 + numbers[i]);
    if (then != REID__NONE) drop_layer(&last);
    if (with != REID__NONE) drop_layer(&more);
    if (with != REID__NONE) NEED(cuMemFree_v2(lane.buffer[other]));
    free(others);
    if (first != index) drop_layer(&before);
    drop_layer(&l);
    NEED(cuMemFree_v2(lane.buffer[begin->in]));
    if (op->residual != REID__NONE) NEED(cuMemFree_v2(lane.buffer[op->residual]));
    free(in);
}

static void plan_of(int height, int width, int latency) {
    const reid__arch *arch = NULL;
    for (int i = 0; i < REID__ARCHS; i++)
        if (strcmp(reid__archs[i].name, "resnet50") == 0) arch = &reid__archs[i];
    NEED(!arch || !reid__plan_build(&plan, arch, height, width, 2, REID_HEAD_NONE, NULL));
    reid__plan_narrow(&plan, REID__ELEMENT_INT8);
    reid__gpu_plan_init(&gpu.plan, &plan, &prep, 1, 2, 0, 0, latency);
}

static int find(const char *name) {
    int index = 0;
    while (strcmp(plan.ops[index].name, name) != 0) index++;
    return index;
}

/* Channels that are not a multiple of a slice or of a tile. */
static void make_odd(int index, int ic, int oc) {
    const reid__op *op = &plan.ops[index];
    plan.ops[index].ic = plan.buffers[op->in].c = ic;
    plan.ops[index].oc = plan.buffers[op->out].c = oc;
    reid__gpu_plan_init(&gpu.plan, &plan, &prep, 1, 2, 0, 0, 0);
    CHECK(reid__takes_wgmma(&gpu.plan, &plan.ops[index]) && gpu.plan.fused_first[index] == REID__NONE);
}

/* `few`, or with every access checked: only the smallest ones. */
int main(int argc, char **argv) {
    static const struct { const char *name; int images; which of; } rows[] = {
        {"layer1.0.conv3", 3, ALL}, {"layer1.0.conv1", 3, CHOSEN}, {"layer1.1.conv3", 3, ALL},
        {"layer2.1.conv3", 3, ALL}, {"layer2.0.conv3", 3, ALL}, {"layer3.0.conv2", 3, ALL},
        {"layer3.0.conv3", 1, CHOSEN}};
    int few = getenv("REID_EMULATOR_CHECK") || (argc > 1 && !strcmp(argv[1], "few"));
    kernels_text = emu_read_file("reid_kernels.cu");
    emu_start();
    NEED(reid__driver_load(&gpu.device, NULL));
    for (size_t i = 0; i < (few ? 3 : sizeof rows / sizeof *rows); i++) {
        plan_of(45, 37, 0);
        int index = find(rows[i].name);
        test_op(index, rows[i].images, rows[i].of);
        if (!strstr(rows[i].name, ".1.conv3")) continue;
        CHECK(gpu.plan.fused_then[index] != REID__NONE);
        /* Beginning with conv2, which the kernel supports, but no plan of bytes uses. */
        gpu.plan.fused_first[index] = index - 1, gpu.plan.fused_into[index - 1] = index;
        if (reid__wgmma_fit(&gpu.plan, index, &reid__wgmma_shapes[0]).stages >= 3)
            test_op(index, rows[i].images, rows[i].of);
        gpu.plan.fused_then[index] = REID__NONE;
        test_op(index, rows[i].images, rows[i].of);
    }
    if (!few) plan_of(101, 75, 0), test_op(find("layer4.2.conv3"), 6, ALL);
    CHECK(few || gpu.plan.pixels_per_sum[plan.ops[find("layer4.2.conv3")].out] == 3);
    plan_of(45, 37, 1), test_op(find("layer2.0.conv2"), 2, CHOSEN), test_op(find("layer2.0.conv2"), 3, PARTS);
    if (!few) test_op(find("layer2.1.conv1"), 5, PARTS), test_op(find("layer3.1.conv3"), 5, PARTS);
    plan_of(45, 37, 0), test_stem(2);
    plan_of(45, 37, 0), make_odd(find("layer3.1.conv2"), 80, 48);
    test_op(find("layer3.1.conv2"), 3, few ? CHOSEN : ALL);
    plan_of(45, 37, 0), make_odd(find("layer3.0.conv2"), 144, 208), test_op(find("layer3.0.conv2"), 3, CHOSEN);
    free(kernels_text);
    return emu_done("kernels_bytes");
}
