/* t_fingerprint.c: what the fingerprint depends on, and what not; the seeded head; the file's metadata.

   cc -std=c99 -D_GNU_SOURCE -O2 -I. tests/core/t_fingerprint.c tests/lib/test_impl.c -o build/t_fingerprint \
      -lcmocka -lm -lpthread */
#include "reid.h"
#include "../lib/test_net.h"
#include <setjmp.h>
#include <cmocka.h>

#define SEED 21

static net_file file;
static reid_error error;
static uint8_t *pixels;

/* Creates, fills info, embeds one image if out is not NULL. */
static void use(const reid_desc *desc, reid_info *info, float *out) {
    reid_image image = net_image(pixels, 0, 40, 30);
    reid_ctx *ctx;
    reid_result r = reid_create(desc, &ctx);
    if (r != REID_OK) fail_msg("%s: %s", reid_result_name(r), error.text);
    assert_int_equal(reid_query_desc(ctx, info), REID_OK);
    assert_int_equal(strlen(info->fingerprint), 32);
    assert_int_equal(strspn(info->fingerprint, "0123456789abcdef"), 32);
    if (out) assert_int_equal(reid_embed(ctx, &image, 1, out), REID_OK);
    reid_destroy(ctx);
}

static reid_desc plain(void) { return net_desc(&file, 32, 32, &error); }

static void fingerprint_of_file(const net_options *options, char out[33]) {
    net_file other = net_for("efficientnet_b0", REID_HEAD_NONE, SEED, options);
    reid_desc d = net_desc(&other, 32, 32, &error);
    reid_info info;
    use(&d, &info, NULL);
    memcpy(out, info.fingerprint, 33);
    free(other.bytes);
}

/* The same numbers in another dtype, order or wrapping are the same model. */
static void test_same(void **state) {
    static const net_options same[] = {
        {.dtype = "F64"}, {.dtype = "BF16"}, {.reversed = 1}, {.prefix = "module.backbone."}, {.extra = "fc.weight"},
        {.metadata = "\"by\":\"somebody\""},
    };
    char want[33], have[33];
    (void)state;
    fingerprint_of_file(NULL, want);
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++) {
        fingerprint_of_file(&same[i], have);
        if (strcmp(have, want) != 0) fail_msg("variant %zu: %s, not %s", i, have, want);
    }
    for (int isa = REID_ISA_SCALAR; isa <= REID_ISA_AVX512; isa++) {
        reid_info info;
        reid_desc d = plain();
        if (!net_isa(isa)) continue;
        d.cpu_isa = (reid_isa)isa, d.threads = isa, d.batch = 3 * isa, d.lanes = isa;
        use(&d, &info, NULL);
        assert_string_equal(info.fingerprint, want);
    }
}

/* Everything that changes an embedding changes the fingerprint, and no two of these are equal. */
static void test_different(void **state) {
    static const net_options changed[] = {
        {.poke = "features.8.0.weight", .poke_index = 409599, .poke_value = 0.5f},
        {.poke = "features.0.1.running_mean", .poke_value = 1},
        {.poke = "features.1.0.block.1.fc2.bias", .poke_index = 31, .poke_value = 1},
    };
    char seen[16][33];
    reid_info info;
    int count = 0;
    (void)state;
    for (int i = 0; i < 3; i++) fingerprint_of_file(&changed[i], seen[count++]);
    for (int i = 0; i < 11; i++) {
        reid_desc d = plain();
        if (i == 1) d.preset = "fastreid";
        if (i == 2) d.preset = "tao";
        if (i == 3) d.preset = "openvino-bgr";
        if (i == 4) d.preset = "torchvision-v1";
        if (i == 5) d.height = 33;
        if (i == 6) d.flip = 1;
        if (i == 7) d.raw = 1;
        if (i == 8) d.latency = 1;
        if (i >= 9) d.head = REID_HEAD_SEEDED, d.head_seed = (uint64_t)i;
        use(&d, &info, NULL);
        assert_true(info.flip == (i == 6) && info.raw == (i == 7) && info.latency == (i == 8));
        memcpy(seen[count++], info.fingerprint, 33);
    }
    for (int i = 0; i < count; i++)
        for (int k = 0; k < i; k++)
            if (strcmp(seen[i], seen[k]) == 0) fail_msg("fingerprints %d and %d are both %s", k, i, seen[i]);
}

static void test_presets_alike(void **state) { /* a preset's name is not part of it, its values are */
    reid_info torchreid, strongbaseline;
    reid_desc d = plain();
    (void)state;
    use(&d, &torchreid, NULL);
    d.preset = "strongbaseline";
    use(&d, &strongbaseline, NULL);
    assert_string_equal(strongbaseline.preset, "strongbaseline");
    assert_string_equal(torchreid.fingerprint, strongbaseline.fingerprint);
}

static void test_seeded_head(void **state) {
    float a[512], b[512], c[512];
    reid_info info_a, info_b, info_c;
    reid_desc d = plain();
    (void)state;
    d.head = REID_HEAD_SEEDED, d.head_seed = 5;
    use(&d, &info_a, a);
    assert_string_equal(info_a.head, "seeded");
    assert_true(info_a.dim == 512 && info_a.head_seed == 5);
    d.threads = 3, d.batch = 2;
    use(&d, &info_b, b);
    assert_memory_equal(a, b, sizeof a);
    assert_string_equal(info_a.fingerprint, info_b.fingerprint);
    d.head_seed = 6;
    use(&d, &info_c, c);
    assert_memory_not_equal(a, c, sizeof a);
    assert_string_not_equal(info_a.fingerprint, info_c.fingerprint);

    float v[4]; /* the manual defines the generator, so its first values are fixed */
    net_head_values(1, "projection.weight", 0, 4, 1280, v);
    for (int i = 0; i < 4; i++) assert_true(fabsf(v[i]) <= 1 / sqrtf(1280) && v[i] != v[(i + 1) % 4]);
    float shifted[2];
    net_head_values(1, "projection.weight", 2, 2, 1280, shifted);
    assert_memory_equal(shifted, v + 2, sizeof shifted);
}

/* The multi-scale head can be seeded, too: four layers, each with its own numbers. */
static void test_seeded_multiscale(void **state) {
    net_file trunk = net_for("resnet50", REID_HEAD_NONE, SEED, NULL);
    reid_desc d = net_desc(&trunk, 32, 32, &error);
    reid_info info;
    float out[512];
    (void)state;
    d.network = "resnet50-multiscale", d.head = REID_HEAD_SEEDED;
    use(&d, &info, out);
    assert_true(info.dim == 512);
    assert_string_equal(info.network, "resnet50-multiscale");
    assert_memory_not_equal(out + 256, out + 384, 128 * sizeof *out);
    d.network = NULL, d.head = REID_HEAD_AUTO;
    float whole[2048];
    use(&d, &info, whole);
    assert_string_equal(info.network, "resnet50");
    assert_string_equal(info.head, "none");
    assert_int_equal(info.last_stride, 2);

    char two[33];
    memcpy(two, info.fingerprint, 33);
    d.last_stride = 1, d.height = 64, d.width = 64; /* at 32x32 the strides would differ only in the map */
    use(&d, &info, NULL);
    assert_int_equal(info.last_stride, 1);
    assert_string_not_equal(info.fingerprint, two);
    free(trunk.bytes);
}

static void test_metadata(void **state) {
    net_options o = {.metadata = "\"reid.preset\":\"fastreid\",\"reid.last_stride\":\"1\""};
    net_file with = net_for("resnet50", REID_HEAD_NONE, SEED, &o);
    reid_desc d = REID_INIT;
    reid_info info;
    (void)state;
    d.weights_data = with.bytes, d.weights_size = with.size, d.threads = 2, d.error = &error, d.batch = 1;
    use(&d, &info, NULL);
    assert_string_equal(info.preset, "fastreid");
    assert_true(info.last_stride == 1 && info.height == 256 && info.width == 128 && info.resize_edge == 0);
    d.preset = "torchvision-v1", d.last_stride = 2; /* the desc overrides the file */
    use(&d, &info, NULL);
    assert_string_equal(info.preset, "torchvision-v1");
    assert_true(info.last_stride == 2 && info.height == 224 && info.width == 224 && info.resize_edge == 256);
    free(with.bytes);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same),          cmocka_unit_test(test_different),
        cmocka_unit_test(test_presets_alike), cmocka_unit_test(test_seeded_head),
        cmocka_unit_test(test_seeded_multiscale), cmocka_unit_test(test_metadata),
    };
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    file = net_for("efficientnet_b0", REID_HEAD_NONE, SEED, NULL);
    pixels = net_pixels(1, 40, 30, SEED);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    free(pixels);
    free(file.bytes);
    return failed;
}
