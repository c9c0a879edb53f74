/* t_behaviour.c: the effects of options. memory_limit bounds every byte; after a fork a handle refuses to work; flip is
   the average with the mirrored image; raw leaves out the normalisation; embeddings without a direction are errors;
   the plan that reid_query_op shows is the one that ran.

   cc -std=c99 -D_GNU_SOURCE -O2 -I. tests/core/t_behaviour.c tests/lib/test_impl.c -o build/t_behaviour \
      -lcmocka -lm -lpthread */
#include "reid.h"
#include "../lib/test_net.h"
#include <setjmp.h>
#include <sys/wait.h>
#include <cmocka.h>
#include "../lib/test_util.h"

#define SIDE 32
#define DIM 1280

static net_file file;
static reid_error error;
static uint8_t *pixels;

static reid_desc plain(void) { return net_desc(&file, SIDE, SIDE, &error); }

static reid_ctx *create(const reid_desc *desc) {
    reid_ctx *ctx;
    reid_result r = reid_create(desc, &ctx);
    if (r != REID_OK) fail_msg("%s: %s", reid_result_name(r), error.text);
    return ctx;
}

static void embed_one(const reid_desc *desc, const reid_image *image, float *out) {
    reid_ctx *ctx = create(desc);
    assert_int_equal(reid_embed(ctx, image, 1, out), REID_OK);
    reid_destroy(ctx);
}

/* --- prepared images ---------------------------------------------------------------------------------------------- */

/* With any preset, a prepared image has the embedding of its original; other sizes are refused. */
static void test_prepared(void **state) {
    static const char *const presets[] = {"torchvision-v1", "torchreid", "tao", "openvino-bgr"};
    static float want[DIM], got[DIM];
    static uint8_t view[SIDE * SIDE * 3];
    const reid_box box = {5, 3, 30, 20};
    uint8_t *larger = net_pixels(3, 40, 50, 4);
    (void)state;
    for (int i = 0; i < 8; i++) {
        reid_desc d = plain();
        reid_image image = net_image(larger, i % 3, 40, 50);
        reid_image prepared = {view, SIDE, SIDE, 0, REID_PREPARED, NULL};
        d.preset = presets[i / 2], d.flip = i % 2;
        if (i % 3) image.box = &box;
        reid_ctx *ctx = create(&d);
        assert_int_equal(reid_preprocess(ctx, &image, view, &error), REID_OK);
        assert_int_equal(reid_embed(ctx, &image, 1, want), REID_OK);
        assert_int_equal(reid_embed(ctx, &prepared, 1, got), REID_OK);
        assert_memory_equal(got, want, sizeof got);
        prepared.height = SIDE - 1;
        assert_int_equal(reid_embed_ex(ctx, &prepared, 1, got, &error), REID_ERR_IMAGE);
        assert_says_all(error.text, "image 0: it is prepared for 32 x 31 pixels, but the network takes 32 x 32");
        reid_destroy(ctx);
    }
    free(larger);
}

/* --- memory_limit ------------------------------------------------------------------------------------------------- */

static reid_result limited(size_t limit, int lanes, reid_info *info, test_heap *heap) {
    reid_desc d = plain();
    reid_ctx *ctx;
    memset(heap, 0, sizeof *heap);
    d.alloc_fn = test_heap_alloc, d.free_fn = test_heap_free, d.alloc_user = heap;
    d.batch = 16, d.threads = 2, d.lanes = lanes, d.memory_limit = limit;
    reid_result r = reid_create(&d, &ctx);
    if (r == REID_OK) assert_int_equal(reid_query_desc(ctx, info), REID_OK);
    reid_destroy(ctx);
    assert_true(heap->live == 0 && heap->wrong_size == 0);
    return r;
}

static void test_memory_limit(void **state) {
    (void)state;
    for (int lanes = 1; lanes <= 2; lanes++) {
        test_heap heap;
        reid_info info;
        unsigned long long needed = 0;
        int smaller = 0;
        assert_int_equal(limited(0, lanes, &info, &heap), REID_OK);
        int batch = info.batch;
        assert_true(batch > 1);
        assert_int_equal(limited(1, lanes, &info, &heap), REID_ERR_MEMORY_LIMIT);
        assert_says(error.text, "needs ");
        assert_int_equal(sscanf(strstr(error.text, "needs "), "needs %llu", &needed), 1);
        assert_int_equal(limited((size_t)needed - 1, lanes, &info, &heap), REID_ERR_MEMORY_LIMIT);
        assert_int_equal(limited((size_t)needed, lanes, &info, &heap), REID_OK);
        assert_int_equal(info.batch, 1);
        for (size_t limit = (size_t)needed * 2; limit >= needed; limit -= (size_t)needed / 8) {
            assert_int_equal(limited(limit, lanes, &info, &heap), REID_OK);
            if (heap.peak > limit) fail_msg("limit %zu, peak %zu, batch %d", limit, heap.peak, info.batch);
            assert_true(info.total_bytes <= limit && info.batch >= 1 && info.batch <= batch);
            smaller += info.batch < batch;
            batch = info.batch;
        }
        assert_true(smaller >= 1);
    }
}

/* --- fork --------------------------------------------------------------------------------------------------------- */

/* The child's result; 0: everything is right. */
static int child(reid_ctx *ctx) {
    reid_image image = net_image(pixels, 0, SIDE, SIDE);
    reid_error e;
    uint8_t view[SIDE * SIDE * 3];
    float out[DIM] = {1};
    if (reid_embed_ex(ctx, &image, 1, out, &e) != REID_ERR_FORKED || !says(e.text, "fork") || out[0] != 0) return 1;
    if (reid_embed(ctx, &image, 0, out) != REID_ERR_FORKED) return 2;
    if (reid_preprocess(ctx, &image, view, &e) != REID_ERR_FORKED) return 3;
    reid_info info;
    reid_op_info op;
    if (reid_query_desc(ctx, &info) != REID_ERR_FORKED || info.dim != 0) return 5;
    if (reid_query_op(ctx, 0, &op) != REID_ERR_FORKED || op.macs != 0) return 6;
    reid_destroy(ctx);
    reid_desc d = plain(); /* its own handle works */
    if (reid_create(&d, &ctx) != REID_OK || reid_embed(ctx, &image, 1, out) != REID_OK || out[0] == 0) return 4;
    reid_destroy(ctx);
    return 0;
}

static void test_fork(void **state) {
    reid_desc d = plain();
    d.threads = 3;
    reid_ctx *ctx = create(&d);
    reid_image image = net_image(pixels, 0, SIDE, SIDE);
    float before[DIM], after[DIM];
    int status = -1;
    (void)state;
    assert_int_equal(reid_embed(ctx, &image, 1, before), REID_OK);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        alarm(60);
        _exit(child(ctx));
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_int_equal(reid_embed(ctx, &image, 1, after), REID_OK); /* the parent's handle is unaffected */
    assert_memory_equal(before, after, sizeof before);
    reid_destroy(ctx);
}

/* --- flip, raw ---------------------------------------------------------------------------------------------------- */

static void test_flip_and_raw(void **state) {
    uint8_t mirrored[SIDE * SIDE * 3];
    reid_image image = net_image(pixels, 0, SIDE, SIDE), mirror = net_image(mirrored, 0, SIDE, SIDE);
    float a[DIM], b[DIM], average[DIM], both[DIM], normal[DIM];
    reid_desc d = plain();
    double norm = 0, unit = 0;
    (void)state;
    for (int i = 0; i < SIDE * SIDE * 3; i++)
        mirrored[i] = pixels[(i / 3 / SIDE * SIDE + SIDE - 1 - i / 3 % SIDE) * 3 + i % 3];
    d.raw = 1;
    embed_one(&d, &image, a);
    embed_one(&d, &mirror, b);
    d.flip = 1;
    embed_one(&d, &image, average);
    for (int i = 0; i < DIM; i++) {
        assert_true(average[i] == 0.5f * (a[i] + b[i]));
        norm += (double)average[i] * average[i];
    }
    assert_memory_not_equal(a, b, sizeof a);
    assert_true(fabs(sqrt(norm) - 1) > 1e-3);
    d.raw = 0;
    embed_one(&d, &image, both);
    for (int i = 0; i < DIM; i++) assert_true(fabs(both[i] - average[i] / sqrt(norm)) <= 1e-7);
    d.flip = 0;
    embed_one(&d, &image, normal);
    for (int i = 0; i < DIM; i++) unit += (double)normal[i] * normal[i];
    assert_true(fabs(unit - 1) < 1e-6);
    assert_true(fabs(reid_cosine(normal, normal, DIM) - 1) < 1e-12);
    assert_true(fabs(reid_cosine(normal, a, DIM) - 1) < 1e-6); /* lengths do not count */
    for (int i = 0; i < DIM; i++) b[i] = -2 * a[i];
    assert_true(fabs(reid_cosine(a, b, DIM) + 1) < 1e-12);
    memset(b, 0, sizeof b);
    assert_true(reid_cosine(a, b, DIM) == 0);
    const float ones[3] = {1, 1, 1}, back[3] = {-1, -1, -1}; /* acos takes them, although sqrt(3)^2 is below 3 */
    assert_true(reid_cosine(ones, ones, 3) == 1 && reid_cosine(ones, back, 3) == -1);
}

/* --- embeddings without a direction ------------------------------------------------------------------------------- */

static void refuse_embedding(const char *network, const net_options *options, int raw, reid_result want) {
    net_file odd = net_for(network, REID_HEAD_NONE, 9, options);
    reid_desc d = net_desc(&odd, SIDE, SIDE, &error);
    reid_image images[2] = {net_image(pixels, 0, SIDE, SIDE), net_image(pixels, 0, SIDE, SIDE)};
    float *out = (float *)malloc(2 * 2048 * sizeof *out);
    d.raw = raw, d.batch = 1;
    reid_ctx *ctx = create(&d);
    assert_non_null(out);
    out[0] = 1;
    reid_result r = reid_embed_ex(ctx, images, 2, out, &error);
    if (r != want) fail_msg("%s: %s %s, out[0] = %g", network, reid_result_name(r), error.text, out[0]);
    assert_true(want == REID_OK || says(error.text, "image 0"));
    for (int i = 0; i < reid_dim(ctx); i++) assert_true(out[i] == 0);
    reid_destroy(ctx);
    free(out);
    free(odd.bytes);
}

static void test_no_direction(void **state) {
    const net_options zero = {.zero = 1};
    (void)state;
    refuse_embedding("efficientnet_b0", &zero, 0, REID_ERR_EMBEDDING);
    refuse_embedding("efficientnet_b0", &zero, 1, REID_OK); /* raw: zero is a vector like any other */
}

/* Infinity minus infinity inside the network must not give a plausible embedding: ReLU must keep NaN. */
static void test_nan_survives(void **state) {
    const net_options diverged = {.gain = 1e6f};
    (void)state;
    refuse_embedding("efficientnet_b0", &diverged, 0, REID_ERR_EMBEDDING);
    refuse_embedding("efficientnet_b0", &diverged, 1, REID_ERR_EMBEDDING);
    refuse_embedding("resnet50", &diverged, 0, REID_ERR_EMBEDDING);
}

/* --- the plan ----------------------------------------------------------------------------------------------------- */

static void test_plan(void **state) {
    reid_desc d = plain();
    reid_ctx *ctx = create(&d);
    reid_info info;
    reid_op_info op;
    int64_t macs = 0, parameters = 0;
    int residuals = 0, scaled = 0;
    (void)state;
    assert_int_equal(reid_query_desc(ctx, &info), REID_OK);
    for (int i = 0; i < reid_op_count(ctx); i++) {
        assert_int_equal(reid_query_op(ctx, i, &op), REID_OK);
        assert_true(strlen(op.name) > 0 && strlen(op.kind) > 0 && op.bytes > 0 && op.out_h >= 1 && op.out_c >= 1);
        macs += op.macs, parameters += op.parameters, residuals += op.residual != REID_OP_NONE;
        scaled += op.scale != REID_OP_NONE;
        assert_true(op.input < i && op.residual < i && (op.scale == REID_OP_NONE || op.scale == i - 1));
        if (i == 0) {
            assert_true(op.in_h == SIDE && op.in_c == 3 && op.out_h == SIDE / 2 && op.out_c == 32 && op.kernel_h == 3);
            assert_true(op.stride == 2 && op.pad_y == 1 && op.pad_x == 1 && op.input == REID_OP_NONE);
            assert_true(op.parameters == 864 + 64 && op.macs == 864 * 256 && op.epsilon == 1e-5);
            assert_string_equal(op.norm, "features.0.1");
            assert_string_equal(op.name, "features.0.0");
            assert_string_equal(op.kind, "conv");
            assert_string_equal(op.activation, "silu");
        }
    }
    assert_string_equal(op.kind, "normalise");
    assert_true(macs == info.macs && parameters == info.parameters && parameters == 4007548);
    assert_true(residuals == 9 && scaled == 16 && info.dim == DIM && info.version == REID_VERSION);
#ifdef __OPTIMIZE__
    assert_int_equal(info.optimized, 1);
#else
    assert_int_equal(info.optimized, 0);
#endif
    assert_string_equal(info.device, "cpu");
    assert_string_equal(info.precision, "fp32");
    reid_destroy(ctx);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory_limit), cmocka_unit_test(test_fork),         cmocka_unit_test(test_flip_and_raw),
        cmocka_unit_test(test_no_direction), cmocka_unit_test(test_nan_survives), cmocka_unit_test(test_plan),
        cmocka_unit_test(test_prepared),
    };
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    file = net_for("efficientnet_b0", REID_HEAD_NONE, 9, NULL);
    pixels = net_pixels(1, SIDE, SIDE, 9);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    free(pixels);
    free(file.bytes);
    return failed;
}
