/* t_plan.c: the expansion of the network tables. Every plan equals its golden dump; parameters and multiply-adds are
   the published ones; buffers that live at the same time never overlap. Run it from the top of the repository.

   cc -std=c99 -D_GNU_SOURCE -O2 -I. tests/core/t_plan.c -o t_plan -lcmocka -lm -lpthread
   ./t_plan --write            writes tests/golden/plan_*.txt again: read the difference before you commit it */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#define REID_STATIC
#define REID_IMPLEMENTATION
#include "reid.h"

static reid__plan plan;

static const reid__arch *arch_named(const char *name) {
    static reid__arch arch; /* `name` may be a part of it */
    char copy[REID_NETWORK_NAME];
    snprintf(copy, sizeof copy, "%s", name);
    if (!reid__arch_named(copy, &arch)) fail_msg("no network %s", copy);
    return &arch;
}

/* The networks of the table, and some with other trunks. */
static const char *const trunks[] = {"resnet50-ibn-nl-fastreid-gem", "resnet50-ibnb", "resnet50-nlhalf-multiscale",
                                     "resnet101-ibn-nl-fastreid-gem-512", "resnet152-ibnb"};
enum { NETWORKS = REID__ARCHS + 5 };

static const reid__arch *arch_at(int index) {
    return index < REID__ARCHS ? &reid__archs[index] : arch_named(trunks[index - REID__ARCHS]);
}

static void build(const char *name, int height, int width, int last_stride, reid_head head) {
    assert_int_equal(reid__plan_build(&plan, arch_named(name), height, width, last_stride, head, NULL), 1);
}

static int64_t total(int64_t (*count)(const reid__op *op)) {
    int64_t sum = 0;
    for (int i = 0; i < plan.op_count; i++) sum += count(&plan.ops[i]);
    return sum;
}

/* --- golden dumps ------------------------------------------------------------------------------------------------- */

static void dump_op(FILE *f, const reid__op *op, int whole) {
    static const char *const kinds[] = {"conv",   "depthwise", "maxpool",  "squeeze",  "pool",
                                        "linear", "instance",  "nonlocal", "normalise"};
    static const char *const acts[] = {"", " relu", " silu"};
    fprintf(f, "%-22s %dx%dx%d pad %d,%d", op->name, op->oh, op->ow, op->oc, op->pad_y, op->pad_x);
    if (whole) {
        fprintf(f, " %s%s %dx%d stride %d from %dx%dx%d, #%d -> #%d", kinds[op->kind], acts[op->act], op->kh, op->kw,
                op->stride, op->ih, op->iw, op->ic, op->in, op->out);
        if (op->residual != REID__NONE) fprintf(f, " + #%d", op->residual);
        if (op->scale != REID__NONE) fprintf(f, " * #%d", op->scale);
        if (op->sums != REID__NONE) fprintf(f, " sums #%d", op->sums);
        if (op->hidden) fprintf(f, " hidden %d", op->hidden);
        if (op->channel) fprintf(f, " at channel %d", op->channel);
        if (op->normed) fprintf(f, " normed %d", op->normed);
        if (op->bn_from) fprintf(f, " bn from %d", op->bn_from);
        if (op->key != REID__NONE) fprintf(f, " key #%d value #%d", op->key, op->value);
    }
    fprintf(f, "\n");
}

/* The first size in full; for the others only what depends on the size. */
static void dump(FILE *f, const reid__arch *arch) {
    static const int sizes[][2] = {{224, 224}, {256, 128}, {101, 63}};
    for (int i = 0; i < 3; i++) {
        build(arch->name, sizes[i][0], sizes[i][1], 2, arch->multiscale ? REID_HEAD_FILE : REID_HEAD_NONE);
        fprintf(f, "%s %dx%d: %d operations, %lld parameters, %lld multiply-adds, embedding of %d\n", arch->name,
                sizes[i][0], sizes[i][1], plan.op_count, (long long)total(reid__op_parameters),
                (long long)total(reid__op_macs), plan.dim);
        for (int k = 0; k < plan.op_count; k++) dump_op(f, &plan.ops[k], i == 0);
    }
}

typedef struct text {
    char line[3 * (REID__MAX_OPS + 1) + 1][160];
    int lines;
} text;

static void read_text(text *to, FILE *f) {
    for (to->lines = 0; to->lines < 3 * (REID__MAX_OPS + 1) + 1; to->lines++)
        if (!fgets(to->line[to->lines], (int)sizeof *to->line, f)) return;
    fail_msg("a dump has at most %d lines", 3 * (REID__MAX_OPS + 1));
}

static void dump_text(text *to, const reid__arch *arch) {
    FILE *f = tmpfile();
    assert_non_null(f);
    dump(f, arch);
    rewind(f);
    read_text(to, f);
    fclose(f);
}

/* A network that differs from its sibling only in padding or an activation. */
static const char *sibling(const reid__arch *arch) {
    static const char *const pairs[][2] = {{"resnet50-strongbaseline", "resnet50-bnneck"},
                                           {"resnet50-bnneck-gem", "resnet50-fastreid-gem"},
                                           {"resnet50-strongbaseline-gem", "resnet50-fastreid-gem"}};
    for (int i = 0; i < 3; i++)
        if (strcmp(arch->name, pairs[i][0]) == 0) return pairs[i][1];
    return strncmp(arch->name, "tf_", 3) == 0 ? arch->name + 3 : NULL;
}

static FILE *open_golden(const char *name, const char *mode) {
    char path[128];
    snprintf(path, sizeof path, "tests/golden/plan_%.32s.txt", name);
    FILE *f = fopen(path, mode);
    if (!f) fail_msg("cannot open %s: start the test at the top of the repository", path);
    return f;
}

/* The golden of a network with a sibling is the sibling's, in which some lines are replaced: each of its own lines is
   the number of such a line, a space and the line. */
static void read_golden(text *to, const reid__arch *arch) {
    static text changes;
    FILE *f = open_golden(sibling(arch) ? sibling(arch) : arch->name, "r");
    read_text(to, f);
    fclose(f);
    if (!sibling(arch)) return;
    f = open_golden(arch->name, "r");
    read_text(&changes, f);
    fclose(f);
    for (int i = 0; i < changes.lines; i++) {
        char *line;
        long number = strtol(changes.line[i], &line, 10);
        if (number < 1 || number > to->lines || *line != ' ')
            fail_msg("plan_%s.txt, line %d: a line number of plan_%s.txt and a space are expected", arch->name, i + 1,
                     sibling(arch));
        memmove(to->line[number - 1], line + 1, strlen(line));
    }
}

/* Larger networks of the same tables have no golden: their sizes are compared with the published ones. */
static int has_golden(const char *name) {
    static const char *const more[] = {"efficientnet_v2_s", "miewid", "resnet50-ibn-nl-fastreid-gem", "resnet50-ibnb"};
    for (int i = 0; i < 4; i++)
        if (strcmp(name, more[i]) == 0) return 1;
    const char *base = strncmp(name, "tf_", 3) == 0 ? name + 3 : name;
    if (strncmp(name, "resnet50", 8) == 0) return !strstr(name, "-nl");
    return strncmp(base, "efficientnet_b", 14) == 0 && base[14] < '4';
}

static void test_golden(void **state) {
    static text want, have;
    (void)state;
    for (int i = 0; i < NETWORKS; i++) {
        const reid__arch *arch = arch_at(i);
        if (!has_golden(arch->name)) continue;
        read_golden(&want, arch);
        dump_text(&have, arch);
        for (int k = 0; k < want.lines && k < have.lines; k++)
            if (strcmp(want.line[k], have.line[k]) != 0)
                fail_msg("%s, line %d:\nnow %swas %s", arch->name, k + 1, have.line[k], want.line[k]);
        if (want.lines != have.lines) fail_msg("%s: %d lines, not %d", arch->name, have.lines, want.lines);
    }
}

static int write_golden(void) {
    static text own, base;
    for (int i = 0; i < NETWORKS; i++) {
        const reid__arch *arch = arch_at(i);
        if (!has_golden(arch->name)) continue;
        FILE *f = open_golden(arch->name, "w");
        dump_text(&own, arch);
        if (sibling(arch)) dump_text(&base, arch_named(sibling(arch)));
        if (sibling(arch) && base.lines != own.lines) return 1;
        for (int k = 0; k < own.lines; k++) {
            if (!sibling(arch)) fputs(own.line[k], f);
            else if (strcmp(own.line[k], base.line[k]) != 0) fprintf(f, "%d %s", k + 1, own.line[k]);
        }
        if (fclose(f) != 0) return 1;
    }
    return 0;
}

/* --- published numbers -------------------------------------------------------------------------------------------- */

static int convolutions(void) {
    int count = 0;
    for (int i = 0; i < plan.op_count; i++) {
        reid__kind kind = plan.ops[i].kind;
        count += kind == REID__CONV || kind == REID__DEPTHWISE ? 1 : kind == REID__SQUEEZE ? 2 : 0;
    }
    return count;
}

static void test_numbers(void **state) {
    (void)state;
    build("resnet50", 224, 224, 2, REID_HEAD_NONE);
    assert_int_equal(convolutions(), 53);
    assert_int_equal(total(reid__op_parameters), 23508032);
    assert_int_equal((total(reid__op_macs) + 500000) / 1000000, 4087);
    assert_int_equal(plan.dim, 2048);

    build("efficientnet_b0", 224, 224, 2, REID_HEAD_NONE);
    assert_int_equal(convolutions(), 81);
    assert_int_equal(total(reid__op_parameters), 4007548);
    assert_int_equal((total(reid__op_macs) + 500000) / 1000000, 385);
    assert_int_equal(plan.dim, 1280);
    build("efficientnet_b0", 224, 224, 2, REID_HEAD_FILE);
    assert_int_equal(total(reid__op_parameters), 4007548 + 1280 * 512 + 512);
    assert_int_equal(plan.dim, 512);

    /* torchvision's and timm's models without their classifiers */
    static const struct {
        char name[24];
        int64_t parameters;
        int dim;
    } rows[] = {{"efficientnet_b1", 7794184 - 1281000, 1280},
                {"efficientnet_b2", 9109994 - 1409000, 1408},
                {"efficientnet_b3", 12233232 - 1537000, 1536},
                {"efficientnet_b4", 19341616 - 1793000, 1792},
                {"efficientnet_b5", 30389784 - 2049000, 2048},
                {"efficientnet_b6", 43040704 - 2305000, 2304},
                {"efficientnet_b7", 66347960 - 2561000, 2560},
                {"efficientnet_v2_s", 21458488 - 1281000, 1280},
                {"efficientnet_v2_m", 54139356 - 1281000, 1280},
                {"efficientnet_v2_l", 118515272 - 1281000, 1280},
                {"efficientnetv2_rw_t", 13649388 - 1025000, 1024},
                {"efficientnetv2_rw_s", 23941296 - 1793000, 1792},
                {"efficientnetv2_rw_m", 53236442 - 2153000, 2152},
                {"resnet101", 44549160 - 2049000, 2048},
                {"resnet152", 60192808 - 2049000, 2048},
                {"resnet50-multiscale", 23508032 + 128 * (8192 + 4096 + 2048 + 2048 + 4), 512}};
    for (int i = 0; i < 16; i++) {
        build(rows[i].name, 224, 224, 2, i < 15 ? REID_HEAD_NONE : REID_HEAD_FILE);
        assert_int_equal(total(reid__op_parameters), rows[i].parameters);
        assert_int_equal(plan.dim, rows[i].dim);
    }
}

static void test_last_stride(void **state) {
    (void)state;
    build("resnet50", 256, 128, 1, REID_HEAD_NONE);
    const reid__op *pool = &plan.ops[plan.op_count - 2];
    assert_true(pool->kind == REID__POOL && pool->ih == 16 && pool->iw == 8);
    assert_int_equal((total(reid__op_macs) + 500000) / 1000000, 4053);
    assert_int_equal(total(reid__op_parameters), 23508032);
}

/* --- memory ------------------------------------------------------------------------------------------------------- */

enum { IMAGES = 2 }; /* in a batch: reid__run_batch */
static size_t unit = REID__LANES; /* floats of a grain; 4 in bf16 and INT8, which may store 16 bytes */

/* The last writer of each grain of the arenas: one of `tag`. The rest of the late arena is where the early one was. */
static int *owner;

static int tag(int id, int image) { return id * IMAGES + image; }

/* First grain of a buffer, as reid__at has it. */
static size_t grain(int id, int image) {
    const reid__buffer *b = &plan.buffers[id];
    if (!b->late) return (plan.carried_floats * IMAGES + b->offset) / unit;
    return (b->offset * IMAGES + b->floats * (size_t)image) / unit;
}

/* Whether a buffer still holds what was written to it. */
static int intact(int id, int image) {
    for (size_t i = 0; i < plan.buffers[id].floats / unit; i++)
        if (owner[grain(id, image) + i] != tag(id, image)) return 0;
    return 1;
}

static void write_buffer(int id, int image) {
    const reid__buffer *b = &plan.buffers[id];
    assert_true(b->offset % REID__LANES == 0 && b->floats % unit == 0);
    assert_true(b->offset + b->floats <= (b->late ? plan.late_floats : plan.early_floats));
    for (size_t i = 0; i < b->floats / unit; i++) owner[grain(id, image) + i] = tag(id, image);
}

/* Every operation must find its inputs intact, even after it has written its outputs, which may overwrite one of them.
   A fused operation is part of the next. */
static void play_op(int index, int image) {
    const reid__op *op = &plan.ops[index];
    const int before = index && op[-1].fused ? op[-1].in : op->in;
    const int inputs[6] = {before, op->scale, op->channel ? op->out : REID__NONE, op->residual, op->key, op->value};
    const int over = reid__in_place(&plan, index);
    for (int after = 0; after < 2 && !op->fused; after++) {
        for (int k = 0; k < 6; k++)
            if (inputs[k] != REID__NONE && !(after && inputs[k] == over) && !intact(inputs[k], image))
                fail_msg("%s %dx%d: %s finds buffer %d overwritten", plan.arch.name, plan.height, plan.width,
                         op->name, inputs[k]);
        if (after) continue;
        write_buffer(op->out, image);
        if (op->sums != REID__NONE) write_buffer(op->sums, image);
    }
    if (!op->fused) assert_true(intact(op->out, image) && (op->sums == REID__NONE || intact(op->sums, image)));
}

/* Plays the plan for a batch. */
static void play(void) {
    size_t grains = reid__activation_bytes(&plan, 1, IMAGES) / sizeof(float) / unit;
    owner = (int *)malloc((grains + 1) * sizeof *owner);
    assert_non_null(owner);
    memset(owner, 0xff, (grains + 1) * sizeof *owner);
    for (int image = 0; image < IMAGES; image++) {
        write_buffer(plan.ops[0].in, image);
        for (int i = 0; i < plan.split; i++) play_op(i, image);
    }
    for (int i = plan.split; i < plan.op_count; i++)
        for (int image = 0; image < IMAGES; image++) play_op(i, image);
    for (int image = 0; image < IMAGES; image++) assert_true(intact(plan.embedding, image));
    assert_int_equal(owner[grains], -1);
    free(owner);
}

static void test_memory(void **state) {
    static const int sizes[][2] = {{1, 1}, {32, 32}, {33, 57}, {101, 63}, {224, 224}, {256, 128}};
    int most_ops = 0, most_buffers = 0;
    (void)state;
    for (int a = 0; a < NETWORKS; a++)
        for (int i = 0; i < 6; i++)
            for (int head = REID_HEAD_NONE; head <= REID_HEAD_SEEDED; head++) {
                const reid__arch *arch = arch_at(a);
                int last_stride = 1 + (i + head) % 2;
                int built = reid__plan_build(&plan, arch, sizes[i][0], sizes[i][1], last_stride, (reid_head)head, NULL);
                assert_true(built || (!arch->maxpool_pad && i == 0)); /* no padding: 1x1 leaves nothing to pool */
                if (!built) continue;
                play();
                for (int k = 0; k < plan.op_count; k++)
                    assert_true(plan.ops[k].weight % REID__LANES == 0 && plan.ops[k].bias % REID__LANES == 0);
                most_ops = reid__max(most_ops, plan.op_count);
                most_buffers = reid__max(most_buffers, plan.buffer_count);
                if (i >= 4) continue; /* large ones take long */
                reid__plan_narrow(&plan, head == REID_HEAD_SEEDED && reid__has_int8(arch) ? REID__ELEMENT_INT8
                                                                                         : REID__ELEMENT_BF16);
                unit = 4;
                play();
                unit = REID__LANES;
            }
    print_message("at most %d operations of %d, %d buffers of %d\n", most_ops, REID__MAX_OPS, most_buffers,
                  2 * REID__MAX_OPS);
    assert_true(most_ops < REID__MAX_OPS && most_buffers < 2 * REID__MAX_OPS);
    build("resnet50", REID_MAX_INPUT, REID_MAX_INPUT, 1, REID_HEAD_NONE); /* nothing wraps at the largest input */
    assert_true(plan.early_floats > (size_t)2048 * 2048 * 64 && plan.early_floats < (size_t)1 << 31);
}

static void test_impossible(void **state) {
    reid__arch arch = *arch_named("efficientnet_b0");
    (void)state;
    arch.depth = 8; /* more operations than a plan can hold: refused, not written past the end */
    assert_int_equal(reid__plan_build(&plan, &arch, 224, 224, 2, REID_HEAD_NONE, NULL), 0);
    arch = *arch_named("resnet50");
    arch.maxpool_pad = 0; /* no padding: two pixels are too few for a window of three */
    assert_int_equal(reid__plan_build(&plan, &arch, 2, 64, 2, REID_HEAD_NONE, NULL), 0);
    assert_int_equal(reid__plan_build(&plan, &arch, 3, 64, 2, REID_HEAD_NONE, NULL), 1);
}

/* --- look-alike variants ------------------------------------------------------------------------------------------ */

static const reid__op *op_named(const char *name) {
    for (int i = 0; i < plan.op_count; i++)
        if (strcmp(plan.ops[i].name, name) == 0) return &plan.ops[i];
    fail_msg("no operation %s", name);
    return NULL;
}

static void check_op(const char *name, int oh, int ow, int stride, int pad_y, int pad_x) {
    const reid__op *op = op_named(name);
    if (op->oh != oh || op->ow != ow || op->stride != stride || op->pad_y != pad_y || op->pad_x != pad_x)
        fail_msg("%s: %dx%d, stride %d, padding %d, %d", name, op->oh, op->ow, op->stride, op->pad_y, op->pad_x);
}

static void test_variants(void **state) {
    reid__arch arch = *arch_named("efficientnet_b0");
    (void)state;
    arch.same_padding = 1; /* out = ceil(in / stride); the odd pixel of padding is at the end */
    assert_int_equal(reid__plan_build(&plan, &arch, 224, 225, 2, REID_HEAD_NONE, NULL), 1);
    check_op("features.0.0", 112, 113, 2, 0, 1);
    check_op("features.1.0.block.0.0", 112, 113, 1, 1, 1);
    check_op("features.2.0.block.1.0", 56, 57, 2, 0, 1);
    check_op("features.3.0.block.1.0", 28, 29, 2, 1, 2);
    play();

    arch = *arch_named("resnet50");
    arch.maxpool_pad = 0;
    assert_int_equal(reid__plan_build(&plan, &arch, 224, 226, 2, REID_HEAD_NONE, NULL), 1);
    check_op("conv1", 112, 113, 2, 3, 3);
    check_op("maxpool", 56, 56, 2, 0, 0);
    play();
    build("resnet50", 224, 226, 2, REID_HEAD_NONE);
    check_op("maxpool", 56, 57, 2, 1, 1);
    check_op("layer2.0.conv1", 56, 57, 1, 0, 0);
    check_op("layer2.0.conv2", 28, 29, 2, 1, 1);
    check_op("layer2.0.downsample.0", 28, 29, 2, 0, 0);
}

/* --- the CPU's algorithm ------------------------------------------------------------------------------------------ */

/* The number of operations that use Winograd; checks that each may. */
static int winograd(const char *name, int height, int width, int last_stride) {
    int count = 0;
    build(name, height, width, last_stride, arch_named(name)->multiscale ? REID_HEAD_FILE : REID_HEAD_NONE);
    for (int i = 0; i < plan.op_count; i++) {
        const reid__op *op = &plan.ops[i];
        if (!op->winograd) continue;
        assert_true(op->kind == REID__CONV && op->kh == 3 && op->kw == 3 && op->stride == 1);
        assert_true(op->residual == REID__NONE && op->scale == REID__NONE);
        count++;
    }
    return count;
}

static void test_winograd(void **state) {
    (void)state;
    assert_int_equal(winograd("resnet50", 224, 224, 2), 3 + 3 + 5 + 2); /* all but those of stride 2 */
    assert_int_equal(winograd("resnet50", 256, 128, 1), 3 + 3 + 5 + 3);
    assert_int_equal(winograd("resnet50", 256, 128, 2), 3 + 3 + 5); /* two tiles are not worth layer4's weights */
    assert_int_equal(winograd("resnet50-multiscale", 256, 128, 2), 3 + 3 + 5);
    assert_int_equal(winograd("resnet50", 64, 48, 2), 3 + 3);
    assert_int_equal(winograd("resnet50", 32, 32, 2), 3);
    assert_int_equal(winograd("resnet50", 32, 16, 2), 0);
    assert_int_equal(winograd("efficientnet_b0", 224, 224, 2), 0);
    assert_int_equal(winograd("miewid", 440, 440, 2), 3 + 4 + 4); /* from 32 channels on */
    assert_int_equal(winograd("efficientnet_v2_s", 224, 224, 2), 3 + 3); /* its first stage has 24 */
}

/* --- a GPU's tiles --- */
#ifndef REID_NO_CUDA
#define TILES "reid tiles 1\n"
#define PLACE "sm_90 resnet50 fp16 224x224 layer4.1.conv1 "

static void test_tiles_file(void **state) {
    static const struct { const char *text; int good; } rows[] = {
        {TILES, 1}, {TILES PLACE "64 64x128 41250\n", 1}, {TILES PLACE "64 64x128 41250\n" PLACE "1 64x128/8 1\n", 1},
        {TILES "a b c d e f g 999999999999999\n", 1}, {"", 0}, {"reid tiles 1", 0}, {"reid tiles 2\n", 0},
        {TILES PLACE "64 64x128 41250", 0}, {TILES PLACE "64 64x128 41250\n\n", 0}, {TILES "\n", 0},
        {TILES PLACE "64 64x128 \n", 0}, {TILES PLACE "64 64x128 -1\n", 0}, {TILES PLACE "64 64x128 1.5\n", 0},
        {TILES PLACE "64 64x128 1000000000000000\n", 0}, {TILES PLACE "64 64x128 4 1\n", 0},
        {TILES PLACE "64 64x128\n", 0}, {TILES PLACE "64 64x128 0x4\n", 0}, {"\n" TILES, 0}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(reid__tiles_valid(rows[i].text, strlen(rows[i].text)), rows[i].good);
    assert_int_equal(reid__tiles_valid(TILES "\0", sizeof TILES), 0);
}

/* A GPU's plan for the network in `plan` is sound; and it is not if a buffer is a byte smaller than what a launch
   accesses, or shares memory with one that lives at the same time (`spoil`). */
static void check_gpu_plan(const reid__plan *on, int half, int has_wgmma, int latency, int spoil) {
    static reid__gpu_plan gpu;
    static reid__prep prep;
    reid__access touched[REID__ACCESSES];
    size_t largest[REID__MAX_BUFFERS] = {0};
    reid__gpu_plan_init(&gpu, on, &prep, half, has_wgmma, latency % 2, 0, latency);
    assert_true(reid__gpu_plan_is_sound(&gpu));
    for (int i = 0; i < on->op_count; i++)
        for (int k = 0, n = reid__gpu_accesses(&gpu, i, touched); k < n; k++)
            if (touched[k].bytes > largest[touched[k].buffer]) largest[touched[k].buffer] = touched[k].bytes;
    for (int i = 0; i < on->buffer_count && spoil; i++) {
        size_t size = gpu.size[i], offset = gpu.offset[i];
        if (size == 0) continue;
        gpu.size[i] = largest[i] - 1;
        assert_false(reid__gpu_plan_is_sound(&gpu));
        gpu.size[i] = size;
        for (int k = 0; k < on->buffer_count; k++) {
            const reid__buffer *a = &gpu.buffers[i], *b = &gpu.buffers[k];
            if (k == i || gpu.size[k] == 0 || a->first > b->last || b->first > a->last) continue;
            gpu.offset[i] = gpu.offset[k] + gpu.size[k] - 1;
            assert_false(reid__gpu_plan_is_sound(&gpu));
        }
        gpu.offset[i] = offset;
    }
}

/* Every network in every precision and mode in which a GPU computes it. */
static void test_gpu_plans(void **state) {
    static const int sizes[][2] = {{224, 224}, {256, 128}, {101, 63}};
    static reid__plan narrow;
    (void)state;
    for (int a = 0; a < NETWORKS; a++)
        for (int i = 0; i < 3; i++) {
            const reid__arch *arch = arch_at(a);
            build(arch->name, sizes[i][0], sizes[i][1], 1 + i % 2, arch->multiscale ? REID_HEAD_FILE : REID_HEAD_NONE);
            narrow = plan;
            reid__plan_narrow(&narrow, REID__ELEMENT_INT8);
            for (int has_wgmma = 0; has_wgmma <= 2; has_wgmma++)
                for (int latency = 0; latency <= 1; latency++) {
                    for (int half = 0; half <= 2; half++) check_gpu_plan(&plan, half, has_wgmma, latency, i == 0);
                    check_gpu_plan(&narrow, 1, has_wgmma, latency, i == 0);
                }
        }
}

/* The tile chosen for a layer, as text. */
static const char *tile_of(const char *layer, const char *times, int number, int latency, int large) {
    static reid__gpu_plan gpu;
    static reid__prep prep;
    static char name[40];
    int index = 0;
    reid__gpu_plan_init(&gpu, &plan, &prep, 1, 2, 0, 0, latency);
    gpu.tiles = times, gpu.tile = number;
    while (strcmp(plan.ops[index].name, layer) != 0) index++;
    reid__wgmma_tile t = reid__choose_wgmma_tile(&gpu, index, 90, large);
    reid__tile_name(t.groups, t.bm, t.bn, t.split, name);
    return name;
}

static const char *tile_with(const char *times, int number, int latency, int large) {
    return tile_of("layer4.1.conv1", times, number, latency, large);
}

static void test_tiles(void **state) {
    static const char measured[] = TILES PLACE "64 64x128 900\n" PLACE "64 2*128x128 800\n" PLACE "64 128x128 801\n"
        PLACE "1 2*128x128 7\n" "sm_80 resnet50 fp16 224x224 layer4.1.conv1 64 2*128x128 1\n"
        "sm_90 resnet50 fp16 224x224 layer4.1.conv2 64 2*128x128 1\n";
    static const char in_latency[] = TILES "sm_90 resnet50 fp16-latency 224x224 layer4.1.conv1 1 2*64x64/8 5\n"
        "sm_90 resnet50 fp16-latency 224x224 layer4.1.conv1 1 64x64/2 1\n";
    static const char wide[] = TILES "sm_90 resnet50 fp16 224x224 layer4.0.conv3 64 2*64x256 1\n";
    (void)state;
    build("resnet50", 224, 224, 2, REID_HEAD_NONE);
    assert_string_equal(tile_with(NULL, 0, 0, 1), "2*64x128");
    assert_string_equal(tile_with(measured, 0, 0, 1), "2*128x128"); /* the least time, for this chip and operation */
    assert_string_equal(tile_with(NULL, 0, 0, 0), "64x128");
    assert_string_equal(tile_with(measured, 0, 0, 0), "2*128x128");
    assert_string_equal(tile_with(measured, 1, 0, 1), "64x128"); /* REID_TILE overrides it */
    assert_string_equal(tile_with(NULL, 4, 0, 1), "2*128x128");
    assert_string_equal(tile_with(NULL, 5, 0, 1), tile_with(NULL, 0, 0, 1)); /* parts of K are for latency */
    assert_string_equal(tile_with(NULL, 0, 1, 0), "64x64/8");
    assert_string_equal(tile_with(measured, 0, 1, 0), "64x64/8");     /* other kernels */
    assert_string_equal(tile_with(in_latency, 0, 1, 0), "2*64x64/8"); /* not other splits, which give other bits */
    assert_string_equal(tile_with(NULL, 5, 1, 1), tile_with(NULL, 0, 1, 1));
    assert_string_equal(tile_with(NULL, 9, 1, 1), "64x64/8");
    /* No tiles of 256 channels, whatever is requested or measured: they may give other bits than those of 128. */
    for (int number = 0; number <= REID__WGMMA_SHAPES; number++) {
        assert_null(strstr(tile_of("layer4.0.conv3", NULL, number, number % 3 == 0, number % 2), "x256"));
        assert_null(strstr(tile_of("layer4.0.conv3", wide, number, 0, 1), "x256"));
    }
}
#endif

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "--write") == 0) return write_golden();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden), cmocka_unit_test(test_numbers),    cmocka_unit_test(test_last_stride),
        cmocka_unit_test(test_memory), cmocka_unit_test(test_impossible), cmocka_unit_test(test_variants),
        cmocka_unit_test(test_winograd),
#ifndef REID_NO_CUDA
        cmocka_unit_test(test_tiles_file), cmocka_unit_test(test_tiles), cmocka_unit_test(test_gpu_plans),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
