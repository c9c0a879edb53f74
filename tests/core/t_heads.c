/* t_heads.c: the optional linear layer after the last pool: any width, on every network that may have it, with its
   activation, against the same product in double precision; and invalid heads.

   cc -std=c99 -D_GNU_SOURCE -O2 -I. tests/core/t_heads.c tests/lib/test_impl.c -o build/t_heads -lcmocka -lm
      -lpthread */
#include "reid.h"
#include "../lib/test_net.h"
#include "../lib/test_says.h"
#include <setjmp.h>
#include <cmocka.h>

static reid_error error;

/* A file of a network with a projection of this width; act: "relu", "silu", "tanh", another word, or NULL: no metadata.
   */
static net_file file_with(const char *network, int width, const char *act, const char *reshape) {
    char metadata[80];
    net_options o = {.reshape = reshape, .width = width};
    if (act) snprintf(metadata, sizeof metadata, "\"reid.head_activation\":\"%s\"", act);
    if (act) o.metadata = metadata;
    net_file file = net_for(network, REID_HEAD_FILE, 3, &o);
    assert_non_null(file.bytes);
    return file;
}

static reid_desc desc_of(const net_file *file, const char *network) {
    reid_desc d = net_desc(file, 33, 40, &error);
    d.network = network, d.raw = 1;
    return d;
}

/* One image's embedding, which the caller frees; its fingerprint, and its dimension. */
static float *embed(const reid_desc *d, int *dim, char fingerprint[33]) {
    reid_ctx *ctx;
    reid_info info;
    if (reid_create(d, &ctx) != REID_OK) fail_msg("%s", error.text);
    uint8_t *pixels = net_pixels(1, 33, 40, 5);
    reid_image image = net_image(pixels, 0, 33, 40);
    *dim = reid_dim(ctx);
    float *out = malloc(sizeof *out * (size_t)*dim);
    if (reid_embed(ctx, &image, 1, out) != REID_OK) fail_msg("no embedding");
    assert_int_equal(reid_query_desc(ctx, &info), REID_OK);
    memcpy(fingerprint, info.fingerprint, 33);
    reid_destroy(ctx);
    free(pixels);
    return out;
}

/* The values that net_for_plan has given a tensor, read back from the file. */
static const float *tensor_of(const net_file *file, const char *name) {
    char key[80];
    uint64_t header;
    unsigned long long from = 0;
    memcpy(&header, file->bytes, 8);
    snprintf(key, sizeof key, "\"%s\"", name);
    char *json = (char *)malloc((size_t)header + 1);
    memcpy(json, file->bytes + 8, (size_t)header);
    json[header] = 0;
    const char *at = strstr(json, key);
    at = at ? strstr(at, "\"data_offsets\":[") : NULL;
    assert_non_null(at);
    assert_int_equal(sscanf(at, "\"data_offsets\":[%llu", &from), 1);
    free(json);
    return (const float *)(const void *)(file->bytes + 8 + header + from);
}

static double activated(double x, const char *act) {
    if (!act) return x;
    return strcmp(act, "relu") == 0 ? (x > 0 ? x : 0) : strcmp(act, "tanh") == 0 ? tanh(x) : x / (1 + exp(-x));
}

static void check(const char *network, int width, const char *act, char fingerprint[33]) {
    net_file file = file_with(network, width, act, NULL);
    reid_desc d = desc_of(&file, network);
    char without[33];
    int features, dim;
    float *out = embed(&d, &dim, fingerprint);
    d.head = REID_HEAD_NONE;
    float *in = embed(&d, &features, without);
    assert_int_equal(dim, width);
    assert_string_not_equal(fingerprint, without);
    size_t count = (size_t)width * (size_t)features;
    float *weight = malloc(sizeof *weight * count), *bias = malloc(sizeof *bias * (size_t)width);
    memcpy(weight, tensor_of(&file, "projection.weight"), sizeof *weight * count);
    memcpy(bias, tensor_of(&file, "projection.bias"), sizeof *bias * (size_t)width);
    double worst = 0; /* error in units of the sum of what is added up */
    for (int i = 0; i < width; i++) {
        double sum = bias[i], size = fabs(bias[i]);
        for (int k = 0; k < features; k++) {
            double part = (double)weight[(size_t)i * (size_t)features + (size_t)k] * in[k];
            sum += part, size += fabs(part);
        }
        assert_true(size > 0);
        worst = fmax(worst, fabs(out[i] - activated(sum, act)) / size);
    }
    print_message("%-22s %5d wide %-5s off by %.2g\n", network, width, act ? act : "", worst);
    assert_true(worst <= 1e-6);
    free(weight), free(bias), free(in), free(out), free(file.bytes);
}

static void test_widths(void **state) {
    static const struct { const char *network; int width; const char *act; } rows[] = {
        {"resnet50-bnneck", 768, "relu"}, {"efficientnet_b0", 1, NULL}, {"tf_efficientnet_b0", 1025, "silu"},
        {"resnet50", 768, "tanh"},
    };
    char fingerprint[33];
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        check(rows[i].network, rows[i].width, rows[i].act, fingerprint);
}

/* The layer's activation is part of the fingerprint. */
static void test_fingerprint(void **state) {
    char plain[33], relu[33], silu[33], tanh_[33];
    (void)state;
    check("efficientnet_b0", 8, NULL, plain);
    check("efficientnet_b0", 8, "relu", relu);
    check("efficientnet_b0", 8, "silu", silu);
    check("efficientnet_b0", 8, "tanh", tanh_);
    assert_string_not_equal(plain, relu);
    assert_string_not_equal(plain, silu);
    assert_string_not_equal(relu, silu);
    assert_string_not_equal(silu, tanh_);
    assert_string_not_equal(relu, tanh_);
}

/* The plan names it, only on the head. */
static void test_plan(void **state) {
    net_file file = file_with("efficientnet_b0", 8, "tanh", NULL);
    reid_desc d = desc_of(&file, "efficientnet_b0");
    reid_ctx *ctx;
    reid_op_info op;
    int heads = 0;
    (void)state;
    assert_int_equal(reid_create(&d, &ctx), REID_OK);
    for (int i = 0; reid_query_op(ctx, i, &op) == REID_OK; i++) {
        int is_head = strcmp(op.name, "projection") == 0;
        assert_int_equal(strcmp(op.activation, "tanh") == 0, is_head);
        heads += is_head;
    }
    assert_int_equal(heads, 1);
    reid_destroy(ctx);
    free(file.bytes);
}

static void refuse(const reid_desc *d, reid_result want, const char *words) {
    reid_ctx *ctx = NULL;
    reid_result r = reid_create(d, &ctx);
    if (r != want || !says(error.text, words)) fail_msg("%s: \"%s\"", reid_result_name(r), error.text);
    assert_null(ctx);
}

static void test_refusals(void **state) {
    (void)state;
    net_file file = file_with("efficientnet_b0", 6, "gelu", NULL);
    reid_desc d = desc_of(&file, "efficientnet_b0");
    refuse(&d, REID_ERR_HEAD, "reid.head_activation is \"gelu\"; it can be relu, silu or tanh");
    d.head = REID_HEAD_NONE;
    int dim;
    char fingerprint[33];
    free(embed(&d, &dim, fingerprint)); /* an unused head may have an unknown activation */
    assert_int_equal(dim, 1280);
    free(file.bytes);
    file = file_with("efficientnet_b0", 6, NULL, "projection.bias"); /* 7 of them */
    d = desc_of(&file, NULL);
    refuse(&d, REID_ERR_TENSOR_SHAPE, "tensor projection.bias");
    refuse(&d, REID_ERR_TENSOR_SHAPE, "shape is [7], [6] is needed");
    free(file.bytes);
    file = file_with("efficientnet_b0", 6, NULL, "projection.weight"); /* 7: the bias does not fit */
    d = desc_of(&file, NULL);
    refuse(&d, REID_ERR_TENSOR_SHAPE, "shape is [6], [7] is needed");
    d.network = "resnet50-multiscale";
    refuse(&d, REID_ERR_TENSOR_MISSING, "conv1.weight");
    d.network = "resnet50-fc512", d.head = REID_HEAD_FILE;
    refuse(&d, REID_ERR_HEAD, "network resnet50-fc512 has no head; resnet50 can have one");
    free(file.bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_widths), cmocka_unit_test(test_fingerprint),
                                       cmocka_unit_test(test_plan), cmocka_unit_test(test_refusals)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
