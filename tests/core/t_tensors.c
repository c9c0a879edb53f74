/* t_tensors.c: valid weight files that do not fit the network: each error names the tensor and what is wrong. Also
   tensors that are allowed but unused, reid_check_weights, and the metadata.

   cc -std=c99 -D_GNU_SOURCE -O2 -I. tests/core/t_tensors.c tests/lib/test_impl.c -o build/t_tensors -lcmocka -lm
      -lpthread */
#include "reid.h"
#include "../lib/test_net.h"
#include "../lib/test_says.h"
#include <setjmp.h>
#include <cmocka.h>

static reid_error error;

static void expect(reid_result have, reid_result want, const char *in_text) {
    if (have != want) fail_msg("%s (%s) instead of %s", reid_result_name(have), error.text, reid_result_name(want));
    assert_int_equal(error.code, want);
    if (!says(error.text, in_text)) fail_msg("\"%s\" does not say \"%s\"", error.text, in_text);
}

static void refuse(const reid_desc *desc, reid_result want, const char *in_text) {
    reid_ctx *ctx = (reid_ctx *)(void *)&error;
    expect(reid_create(desc, &ctx), want, in_text);
    assert_null(ctx);
}

#define FIRST "features.0.0.weight"
#define SECOND "features.1.0.block.0.0.weight" /* [32, 1, 3, 3] */
#define VARIANCE "features.0.1.running_var"

static const struct {
    net_options options;
    reid_result want;
    const char *name, *detail; /* both are in the message */
} bad_files[] = {
    {{.leave_out = SECOND}, REID_ERR_TENSOR_MISSING, SECOND, "[32, 1, 3, 3]"},
    {{.reshape = SECOND}, REID_ERR_TENSOR_SHAPE, SECOND, "[33, 1, 3, 3], [32, 1, 3, 3]"},
    {{.retype = SECOND}, REID_ERR_TENSOR_DTYPE, SECOND, "I32"},
    {{.extra = "neck.0.weight"}, REID_ERR_TENSOR_UNEXPECTED, "neck.0.weight", "allow_unused"},
    {{.extra = "features.3.7.block.0.0.weight"}, REID_ERR_TENSOR_UNEXPECTED, "features.3.7", "another network"},
    {{.poke = FIRST, .poke_index = 5, .poke_value = NAN}, REID_ERR_NOT_FINITE, FIRST, "element 5"},
    {{.poke = SECOND, .poke_value = -INFINITY}, REID_ERR_NOT_FINITE, SECOND, "element 0"},
    {{.poke = VARIANCE, .poke_index = 3, .poke_value = -1}, REID_ERR_BN_VARIANCE, VARIANCE, "element 3"},
};

static void test_tensors(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof bad_files / sizeof bad_files[0]; i++) {
        net_file bad = net_for("efficientnet_b0", REID_HEAD_NONE, 1, &bad_files[i].options);
        for (int threads = 1; threads <= 3; threads += 2) {
            reid_desc d = net_desc(&bad, 32, 32, &error);
            d.threads = threads;
            refuse(&d, bad_files[i].want, bad_files[i].name);
            refuse(&d, bad_files[i].want, bad_files[i].detail);
        }
        free(bad.bytes);
    }
}

/* A generalised mean and a BNNeck: exponent and variance are checked, and the file may name its network. */
static void test_neck(void **state) {
    static const float bad[] = {0, -3, 1e-4f, 1e4f};
    reid_ctx *ctx;
    (void)state;
    for (int i = 0; i < 5; i++) {
        net_options o = {.poke = "pool_layer.p", .poke_value = i < 4 ? bad[i] : 3};
        net_file file = net_for("resnet50-fastreid-gem", REID_HEAD_NONE, 1, &o);
        reid_desc d = net_desc(&file, 32, 32, &error);
        if (i < 4) refuse(&d, REID_ERR_EXPONENT, "pool_layer.p");
        else {
            expect(reid_create(&d, &ctx), REID_OK, "");
            assert_int_equal(reid_dim(ctx), 2048);
            reid_destroy(ctx);
        }
        free(file.bytes);
    }
    net_options o = {.poke = "bottleneck.running_var", .poke_index = 7, .poke_value = -1};
    net_file file = net_for("resnet50-bnneck", REID_HEAD_NONE, 1, &o);
    reid_desc d = net_desc(&file, 32, 32, &error);
    refuse(&d, REID_ERR_BN_VARIANCE, "bottleneck.running_var, element 7");
    free(file.bytes);
}

/* Linear layers after the last pool are found by their tensors, although resnet50 ignores fc.* and classifier.*. */
static void test_reductions(void **state) {
    static const char *const names[][2] = {{"resnet50-fc512", "fc.1"}, {"resnet50-layumi", "classifier.add_block.1"},
                                           {"resnet50-fastreid-512", "bottleneck"},
                                           {"resnet50-fastreid-gem-512", "bottleneck"}};
    (void)state;
    for (int i = 0; i < 4; i++) {
        char network[REID_NETWORK_NAME], variance[64];
        snprintf(variance, sizeof variance, "%s.running_var", names[i][1]);
        net_options o = {.poke = variance, .poke_index = 9, .poke_value = -1};
        net_file file = net_for(names[i][0], REID_HEAD_NONE, 1, &o);
        reid_desc d = net_desc(&file, 32, 32, &error);
        expect(reid_check_weights(&d, NULL, NULL, network), REID_OK, "");
        assert_string_equal(network, names[i][0]);
        if (i < 2) refuse(&d, REID_ERR_BN_VARIANCE, variance);
        free(file.bytes);
    }
}

/* A trunk is found by its tensors, or named; half a block of it is refused by the tensor's name. */
static void test_trunks(void **state) {
    static const struct {
        const char *network, *leave_out, *reshape, *extra, *asked, *message;
        reid_result code;
    } rows[] = {
        {"resnet50-ibn-nl-fastreid-gem", NULL, NULL, NULL, NULL, NULL, REID_OK},
        {"resnet50-nlhalf-multiscale", NULL, NULL, NULL, NULL, NULL, REID_OK},
        {"resnet50-ibnb", NULL, NULL, NULL, NULL, NULL, REID_OK},
        {"resnet50-ibn", NULL, NULL, NULL, "resnet50", NULL, REID_OK},
        {"resnet50-ibn", NULL, NULL, NULL, "resnet50-ibn", NULL, REID_OK},
        {"resnet101-ibn-fastreid-gem", NULL, NULL, NULL, NULL, NULL, REID_OK},
        {"resnet152", NULL, NULL, NULL, NULL, NULL, REID_OK},
        {"miewid", NULL, NULL, NULL, NULL, NULL, REID_OK},
        {"efficientnetv2_rw_s", NULL, NULL, NULL, NULL, NULL, REID_OK},
        {"efficientnet_v2_s", NULL, NULL, NULL, NULL, NULL, REID_OK},
        {"resnet50-ibn", "layer2.1.bn1.IN.bias", NULL, NULL, NULL, "layer2.1.bn1.IN.bias", REID_ERR_TENSOR_MISSING},
        {"resnet50-ibn", "layer1.0.bn1.IN.weight", NULL, NULL, NULL, "layer1.0.bn1.IN.weight",
         REID_ERR_TENSOR_MISSING},
        {"resnet50-ibn", NULL, "layer3.5.bn1.BN.weight", NULL, NULL, "shape is [129], [128] is needed",
         REID_ERR_TENSOR_SHAPE},
        {"resnet50", NULL, NULL, "layer1.0.bn1.IN.weight", NULL, "layer1.0.bn1.BN.weight", REID_ERR_TENSOR_MISSING},
        {"resnet50-nl", NULL, NULL, "NL_2.2.g.weight", NULL, "tensor NL_2.2.g.weight", REID_ERR_TENSOR_UNEXPECTED},
        {"resnet50-nl", "NL_3.1.W.1.running_var", NULL, NULL, NULL, "NL_3.1.W.1.running_var", REID_ERR_TENSOR_MISSING},
        {"resnet50-nl", NULL, "NL_3.1.phi.weight", NULL, NULL, "shape is [2, 1024, 1, 1]", REID_ERR_TENSOR_SHAPE},
        {"resnet50", NULL, NULL, NULL, "resnet50-ibn", "layer1.0.bn1.BN.weight", REID_ERR_TENSOR_MISSING},
        {"resnet50-ibn", NULL, NULL, NULL, "resnet50-ibnb", "layer1.0.bn1.weight", REID_ERR_TENSOR_MISSING},
        {"resnet101", NULL, NULL, NULL, "resnet50-nl", "NL_2.0.theta.weight", REID_ERR_TENSOR_MISSING},
        {"resnet152", NULL, NULL, NULL, "resnet152-nl", "no network is named", REID_ERR_UNKNOWN_NETWORK},
        {"resnet152", NULL, NULL, "NL_2.0.theta.weight", NULL, "NL_2.0.theta.weight", REID_ERR_TENSOR_UNEXPECTED},
        {"miewid", "pool_layer.p", NULL, NULL, NULL, "pool_layer.p", REID_ERR_TENSOR_MISSING},
        {"efficientnet_v2_s", "features.2.0.block.1.1.bias", NULL, NULL, NULL, "features.2.0.block.1.1.bias",
         REID_ERR_TENSOR_MISSING},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char network[REID_NETWORK_NAME];
        net_options o = {.leave_out = rows[i].leave_out, .reshape = rows[i].reshape, .extra = rows[i].extra};
        net_file file = net_for(rows[i].network, strstr(rows[i].network, "multi") ? REID_HEAD_FILE : REID_HEAD_NONE, 1,
                                &o);
        reid_desc d = net_desc(&file, 32, 32, &error);
        d.network = rows[i].asked;
        reid_result r = reid_check_weights(&d, NULL, NULL, network);
        if (r != rows[i].code || (r && !strstr(error.text, rows[i].message)))
            fail_msg("row %zu: %s: %s", i, reid_result_name(r), error.text);
        if (r == REID_OK) assert_string_equal(network, rows[i].network);
        free(file.bytes);
    }
}

/* Networks with the same tensors: the first is taken unless another is named. */
static void test_same_tensors(void **state) {
    static const char *const names[][2] = {{"tf_efficientnet_b0", "efficientnet_b0"},
                                           {"resnet50-fastreid", "resnet50-bnneck"}};
    (void)state;
    for (int i = 0; i < 2; i++) {
        char fingerprints[2][64];
        net_file file = net_for(names[i][0], REID_HEAD_NONE, 1, NULL);
        for (int named = 0; named < 2; named++) {
            reid_desc d = net_desc(&file, 33, 47, &error);
            reid_info info;
            reid_ctx *ctx;
            if (named) d.network = names[i][0];
            expect(reid_create(&d, &ctx), REID_OK, "");
            assert_int_equal(reid_query_desc(ctx, &info), REID_OK);
            assert_string_equal(info.network, names[i][1 - named]);
            snprintf(fingerprints[named], sizeof fingerprints[named], "%s", info.fingerprint);
            reid_destroy(ctx);
        }
        assert_string_not_equal(fingerprints[0], fingerprints[1]);
        free(file.bytes);
    }
}

static void count_unused(reid_log_level level, reid_result id, const char *message, void *user) {
    *(int *)user += level == REID_LOG_INFO && id == REID_ERR_TENSOR_UNEXPECTED && strstr(message, "neck.0.weight");
}

/* Extra tensors that are harmless, and one that is accepted. */
static void test_unused(void **state) {
    static const char *const names[] = {"classifier.1.bias", "fc.weight", "features.0.1.num_batches_tracked",
                                        "neck.0.weight"};
    reid_ctx *ctx;
    int logged = 0;
    (void)state;
    for (int i = 0; i < 4; i++) {
        net_options o = {.extra = names[i]};
        net_file extra = net_for("efficientnet_b0", REID_HEAD_NONE, 1, &o);
        reid_desc d = net_desc(&extra, 32, 32, &error);
        d.allow_unused = i == 3, d.log_fn = count_unused, d.log_user = &logged;
        expect(reid_create(&d, &ctx), REID_OK, "");
        reid_destroy(ctx);
        free(extra.bytes);
    }
    assert_int_equal(logged, 1);
    net_options deeper = {.extra = "features.6.9.block.0.0.weight"}; /* the rest fits, as ResNet-101 fits resnet50 */
    net_file other = net_for("efficientnet_b0", REID_HEAD_NONE, 1, &deeper);
    reid_desc d = net_desc(&other, 32, 32, &error);
    d.allow_unused = 1;
    refuse(&d, REID_ERR_TENSOR_UNEXPECTED, "features.6.9.block.0.0.weight");
    free(other.bytes);
}

typedef struct seen {
    int counts[5];
    char name[5][64], note[5][128];
} seen;

static void see(const char *name, reid_tensor_status status, const char *note, void *user) {
    seen *s = (seen *)user;
    s->counts[status]++;
    snprintf(s->name[status], 64, "%s", name);
    snprintf(s->note[status], 128, "%s", note);
}

static void test_check_weights(void **state) {
    net_options o = {.leave_out = FIRST, .reshape = SECOND, .extra = "neck.0.weight"};
    net_file bad = net_for("efficientnet_b0", REID_HEAD_FILE, 1, &o);
    reid_desc d = net_desc(&bad, 0, 0, &error);
    char network[REID_NETWORK_NAME];
    seen s = {{0}, {{0}}, {{0}}};
    (void)state;
    d.head = REID_HEAD_NONE; /* makes the projection an unused tensor */
    expect(reid_check_weights(&d, see, &s, network), REID_ERR_TENSOR_MISSING, FIRST);
    assert_string_equal(network, "efficientnet_b0");
    assert_int_equal(s.counts[REID_TENSOR_USED], 49 * 5 + 16 * 4 - 2);
    for (int status = REID_TENSOR_MISSING; status <= REID_TENSOR_UNEXPECTED; status++)
        assert_int_equal(s.counts[status], status == REID_TENSOR_IGNORED ? 2 : 1);
    assert_string_equal(s.name[REID_TENSOR_MISSING], FIRST);
    assert_says_all(s.note[REID_TENSOR_MISSING], "shape [32, 3, 3, 3] is needed");
    assert_string_equal(s.name[REID_TENSOR_MISMATCH], SECOND);
    assert_says(s.note[REID_TENSOR_MISMATCH], "[33, 1, 3, 3]");
    assert_string_equal(s.name[REID_TENSOR_UNEXPECTED], "neck.0.weight");
    free(bad.bytes);
    bad = net_for("efficientnet_b0", REID_HEAD_FILE, 1, NULL);
    d = net_desc(&bad, 0, 0, &error);
    expect(reid_check_weights(&d, NULL, NULL, NULL), REID_OK, "");
    free(bad.bytes);
    strcpy(network, "x");
    assert_int_equal(reid_check_weights(NULL, see, &s, network), REID_ERR_INVALID_ARG);
    assert_string_equal(network, "");
}

static void test_metadata(void **state) {
    net_options o = {.metadata = "\"reid.preset\":\"odd\",\"reid.last_stride\":\"3\""};
    net_file with = net_for("efficientnet_b0", REID_HEAD_NONE, 1, &o);
    reid_desc d = net_desc(&with, 32, 32, &error);
    char value[4] = "x";
    (void)state;
    refuse(&d, REID_ERR_INVALID_ARG, "\"3\"");
    d.preset = NULL, d.last_stride = 2;
    refuse(&d, REID_ERR_UNKNOWN_PRESET, "odd");
    expect(reid_weights_metadata(&d, "reid.preset", value, 4), REID_OK, "");
    assert_string_equal(value, "odd");
    expect(reid_weights_metadata(&d, "reid.nosuch", value, 4), REID_OK, "");
    assert_string_equal(value, "");
    expect(reid_weights_metadata(&d, "reid.preset", value, 3), REID_ERR_INVALID_ARG, "3 bytes");
    assert_string_equal(value, "");
    assert_int_equal(reid_weights_metadata(&d, NULL, value, 4), REID_ERR_INVALID_ARG);
    assert_int_equal(reid_weights_metadata(NULL, "a", value, 4), REID_ERR_INVALID_ARG);
    free(with.bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tensors),    cmocka_unit_test(test_neck),
        cmocka_unit_test(test_reductions), cmocka_unit_test(test_trunks), cmocka_unit_test(test_same_tensors),
        cmocka_unit_test(test_unused),
        cmocka_unit_test(test_check_weights),
        cmocka_unit_test(test_metadata),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
