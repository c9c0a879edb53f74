/* t_api.c: arguments and errors of the API. Every result code is produced here or by the test that `elsewhere` names;
   errors name what is at fault; after a failure every out-parameter is zero. Run it from the top of the repository.

   cc -std=c99 -D_GNU_SOURCE -O2 -I. tests/core/t_api.c tests/lib/test_impl.c -o build/t_api -lcmocka -lm -lpthread */
#include "reid.h"
#include "../lib/test_net.h"
#include "../lib/test_says.h"
#include <setjmp.h>
#include <cmocka.h>
#include <limits.h>

static net_file file; /* a good EfficientNet-B0 */
static reid_error error;
static int produced[128]; /* [-code]: times that it was the result */

static void expect(reid_result have, reid_result want, const char *in_text) {
    if (have != want) fail_msg("%s (%s) instead of %s", reid_result_name(have), error.text, reid_result_name(want));
    assert_int_equal(error.code, want);
    if (!says(error.text, in_text)) fail_msg("\"%s\" does not say \"%s\"", error.text, in_text);
    produced[-(int)want]++;
}

static reid_desc good(void) { return net_desc(&file, 32, 32, &error); }

static void refuse(const reid_desc *desc, reid_result want, const char *in_text) {
    reid_ctx *ctx = (reid_ctx *)(void *)&file;
    memset(&error, 'x', sizeof error);
    expect(reid_create(desc, &ctx), want, in_text);
    assert_null(ctx);
}

static void accept(const reid_desc *desc, reid_info *info) {
    reid_ctx *ctx;
    reid_result r = reid_create(desc, &ctx);
    if (r != REID_OK) fail_msg("%s: %s", reid_result_name(r), error.text);
    assert_int_equal(reid_query_desc(ctx, info), REID_OK);
    reid_destroy(ctx);
}

/* --- reid_create: fields of the desc ------------------------------------------------------------------------------ */

static void *no_alloc(size_t size, void *user) { return (void)size, user; }

#define REFUSE(change, id, text)                                                                                       \
    do {                                                                                                               \
        reid_desc d = good();                                                                                          \
        change;                                                                                                        \
        refuse(&d, id, text);                                                                                          \
    } while (0)

/* 1 on a machine without a GPU. With one, this program still lacks the kernels' text. */
static int cuda_lacks_a_driver(void) {
    reid_desc d = REID_INIT;
    reid_gpu_info gpu;
    return reid_query_gpu(&d, &gpu) == REID_ERR_DEVICE && gpu.name[0] == 0;
}

static void test_desc(void **state) {
    static const char other[] = "\x34\0\0\0\0\0\0\0{\"a\":{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[0,1]}}x";
    reid_ctx *ctx = (reid_ctx *)(void *)&file;
    reid_desc plain = good();
    (void)state;
    assert_int_equal(reid_create(NULL, &ctx), REID_ERR_INVALID_ARG);
    assert_null(ctx);
    expect(reid_create(&plain, NULL), REID_ERR_INVALID_ARG, "out");
    REFUSE(d.weights_data = NULL, REID_ERR_INVALID_ARG, "weights");
    REFUSE(d.weights = "a", REID_ERR_INVALID_ARG, "weights");
    REFUSE((d.weights = "/no/such/file", d.weights_data = NULL), REID_ERR_FILE_OPEN, "/no/such/file");
    REFUSE(d.alloc_fn = no_alloc, REID_ERR_INVALID_ARG, "free_fn");
    REFUSE(d.head = (reid_head)9, REID_ERR_INVALID_ARG, "head is 9");
    REFUSE(d.head = (reid_head)-1, REID_ERR_INVALID_ARG, "head is -1");
    REFUSE(d.last_stride = 3, REID_ERR_INVALID_ARG, "last_stride is 3");
    REFUSE(d.last_stride = -1, REID_ERR_INVALID_ARG, "last_stride is -1");
    REFUSE(d.batch = -1, REID_ERR_INVALID_ARG, "batch is -1");
    REFUSE(d.batch = 4097, REID_ERR_INVALID_ARG, "batch is 4097");
    REFUSE(d.threads = 1025, REID_ERR_INVALID_ARG, "threads 1025");
    REFUSE(d.lanes = -7, REID_ERR_INVALID_ARG, "lanes -7");
    REFUSE(d.device = (reid_device)3, REID_ERR_INVALID_ARG, "device is 3");
    if (cuda_lacks_a_driver()) REFUSE(d.device = REID_DEVICE_CUDA, REID_ERR_DEVICE, "CUDA");
    else REFUSE(d.device = REID_DEVICE_CUDA, REID_ERR_NO_KERNELS, "kernels_src");
    REFUSE(d.precision = REID_FP16, REID_ERR_PRECISION, "FP32");
    REFUSE((d.precision = REID_BF16, d.cpu_isa = REID_ISA_AVX2), REID_ERR_PRECISION, "avx2");
    REFUSE(d.cpu_isa = REID_ISA_AMX_BF16, REID_ERR_PRECISION, "amx_bf16");
    REFUSE(d.cpu_isa = (reid_isa)9, REID_ERR_INVALID_ARG, "cpu_isa is 9");
    REFUSE(d.cpu_isa = (reid_isa)-1, REID_ERR_INVALID_ARG, "cpu_isa is -1");
    REFUSE(d.cpu_isa = REID_ISA_AMX_INT8, REID_ERR_PRECISION,
           "amx_int8 was requested, but it does not compute in FP32");
    REFUSE(d.precision = REID_INT8, REID_ERR_RANGES, "reid calibrate --int8");
    REFUSE(d.precision = (reid_precision)5, REID_ERR_INVALID_ARG, "precision is 5");
    REFUSE(d.precision = (reid_precision)-1, REID_ERR_INVALID_ARG, "precision is -1");
    REFUSE(d.network = "vgg", REID_ERR_UNKNOWN_NETWORK, "vgg");
    REFUSE((d.weights_data = other, d.weights_size = sizeof other - 1), REID_ERR_UNKNOWN_NETWORK, "reid convert");
    REFUSE(d.network = "resnet50", REID_ERR_TENSOR_MISSING, "conv1.weight");
    REFUSE((d.network = "resnet50-fc512", d.head = REID_HEAD_FILE), REID_ERR_HEAD, "resnet50-fc512");
    REFUSE((d.network = "resnet50-multiscale", d.head = REID_HEAD_NONE), REID_ERR_HEAD, "resnet50");
    REFUSE(d.head = REID_HEAD_FILE, REID_ERR_TENSOR_MISSING, "projection.weight");
    REFUSE(d.preset = "nosuch", REID_ERR_UNKNOWN_PRESET, "nosuch");
    REFUSE(d.width = 0, REID_ERR_INPUT_SIZE, "32 x 0");
    REFUSE(d.height = -4, REID_ERR_INPUT_SIZE, "-4 x 32");
    REFUSE(d.height = REID_MAX_INPUT + 1, REID_ERR_INPUT_SIZE, "4097 x 32");
}

static void test_isa(void **state) {
    static const char *const names[] = {"scalar", "avx2", "avx512", "avx512_bf16", "amx_bf16"};
    reid_info info;
    reid_desc d = good();
    char before[32] = "";
    (void)state;
    if (getenv("REID_CPU_ISA")) snprintf(before, sizeof before, "%s", getenv("REID_CPU_ISA"));
    setenv("REID_CPU_ISA", "mmx", 1);
    refuse(&d, REID_ERR_ISA, "REID_CPU_ISA is \"mmx\"");
    for (int isa = REID_ISA_SCALAR; isa <= REID_ISA_AMX_BF16; isa++) {
        int bf16 = isa >= REID_ISA_AVX512_BF16;
        setenv("REID_CPU_ISA", names[isa - 1], 1);
        d.precision = REID_PRECISION_DEFAULT;
        if (bf16) refuse(&d, REID_ERR_PRECISION, names[isa - 1]);
        d.precision = bf16 ? REID_BF16 : REID_PRECISION_DEFAULT;
        if (net_isa(isa)) {
            accept(&d, &info);
            assert_string_equal(info.isa, names[isa - 1]);
            assert_string_equal(info.precision, bf16 ? "bf16" : "fp32");
            if (bf16) continue;
            d.cpu_isa = REID_ISA_SCALAR; /* the desc comes before the environment */
            accept(&d, &info);
            assert_string_equal(info.isa, "scalar");
            d.cpu_isa = REID_ISA_AUTO;
        } else {
            refuse(&d, REID_ERR_ISA, names[isa - 1]);
        }
    }
    setenv("REID_CPU_ISA", before, 1);
}

/* --- calls on a handle -------------------------------------------------------------------------------------------- */

/* Calls that take a description as well, but no handle. */
static void test_other_descs(void **state) {
    reid_desc d = good();
    reid_rows rows = REID_INIT;
    reid_queue_desc queue = REID_INIT;
    char value[8];
    (void)state;
    queue.error = &error;
    expect(reid_weights_metadata(&d, NULL, value, sizeof value), REID_ERR_INVALID_ARG, "a key");
    expect(reid_query_gpu(&d, NULL), REID_ERR_INVALID_ARG, "reid_gpu_info");
    expect(reid_index_create(&d, &rows, NULL), REID_ERR_INVALID_ARG, "out");
    expect(reid_queue_create(&queue, NULL), REID_ERR_INVALID_ARG, "out");
    expect(reid_pack_kernels(&d, NULL, NULL, NULL, NULL), REID_ERR_INVALID_ARG, "a chip");
    d.network = "resnet50", d.last_stride = 3;
    expect(reid_pack_kernels(&d, "sm_90", NULL, NULL, NULL), REID_ERR_INVALID_ARG, "last_stride is 3");
    d.last_stride = 0, d.batch = -1;
    expect(reid_pack_kernels(&d, "sm_90", NULL, NULL, NULL), REID_ERR_INVALID_ARG, "batch is -1");
    d.batch = 0, d.precision = (reid_precision)5;
    expect(reid_pack_kernels(&d, "sm_90", NULL, NULL, NULL), REID_ERR_INVALID_ARG, "precision is 5");
}

static void zeros(const void *memory, size_t size) {
    for (size_t i = 0; i < size; i++) assert_true(((const unsigned char *)memory)[i] == 0);
}

static void test_calls(void **state) {
    uint8_t *pixels = net_pixels(2, 20, 20, 1), view[32 * 32 * 3];
    reid_image images[2] = {net_image(pixels, 0, 20, 20), net_image(pixels, 1, 20, 20)};
    const reid_box outside = {20, 0, 5, 5};
    float *out = (float *)malloc(2 * 1280 * sizeof *out), times[1000];
    reid_desc d = good();
    reid_ctx *ctx;
    reid_info info;
    reid_op_info op;
    (void)state;
    assert_int_equal(reid_create(&d, &ctx), REID_OK);
    expect(reid_embed_ex(NULL, images, 2, out, &error), REID_ERR_INVALID_ARG, "handle");
    expect(reid_embed_ex(ctx, images, -1, out, &error), REID_ERR_INVALID_ARG, "n >= 0");
    expect(reid_embed_ex(ctx, NULL, 1, out, &error), REID_ERR_INVALID_ARG, "images");
    expect(reid_embed_ex(ctx, images, 1, NULL, &error), REID_ERR_INVALID_ARG, "out");
    expect(reid_embed_ex(ctx, NULL, 0, NULL, &error), REID_OK, "");
    assert_int_equal(reid_embed(ctx, images, 2, out), REID_OK);
    assert_true(fabs(reid_cosine(out, out, 1280) - 1) < 1e-6);
    images[1].box = &outside;
    expect(reid_embed_ex(ctx, images, 2, out, &error), REID_ERR_BOX, "image 1");
    for (int i = 0; i < 2 * 1280; i++) assert_true(out[i] == 0);
    images[1].box = NULL, images[1].pixels = NULL;
    expect(reid_embed_ex(ctx, images, 2, out, &error), REID_ERR_IMAGE, "image 1");
    memset(view, 1, sizeof view);
    expect(reid_preprocess(ctx, &images[1], view, &error), REID_ERR_IMAGE, "pixels");
    zeros(view, sizeof view);
    expect(reid_preprocess(ctx, NULL, view, &error), REID_ERR_INVALID_ARG, "images");
    expect(reid_preprocess(ctx, images, NULL, &error), REID_ERR_INVALID_ARG, "out");
    expect(reid_preprocess(NULL, images, view, &error), REID_ERR_INVALID_ARG, "handle");
    expect(reid_preprocess(ctx, images, view, &error), REID_OK, "");
    memset(times, 1, sizeof times);
    expect(reid_profile(ctx, 0, 1, times, NULL, &error), REID_ERR_INVALID_ARG, "n is 0");
    zeros(times, (size_t)reid_op_count(ctx) * sizeof *times);

    memset(&info, 1, sizeof info), memset(&op, 1, sizeof op);
    assert_int_equal(reid_query_desc(NULL, &info), REID_ERR_INVALID_ARG);
    assert_true(info.dim == 0 && info.fingerprint[0] == 0);
    assert_int_equal(reid_query_desc(ctx, NULL), REID_ERR_INVALID_ARG);
    assert_int_equal(reid_query_op(ctx, -1, &op), REID_ERR_INVALID_ARG);
    assert_int_equal(reid_query_op(ctx, reid_op_count(ctx), &op), REID_ERR_INVALID_ARG);
    assert_true(op.macs == 0 && op.in_h == 0);
    assert_int_equal(reid_query_op(ctx, 0, NULL), REID_ERR_INVALID_ARG);
    assert_int_equal(reid_query_op(NULL, 0, &op), REID_ERR_INVALID_ARG);
    assert_true(reid_dim(ctx) == 1280 && reid_dim(NULL) == 0 && reid_op_count(ctx) > 60 && reid_op_count(NULL) == 0);
    reid_destroy(ctx);
    free(pixels), free(out);
}

/* --- names -------------------------------------------------------------------------------------------------------- */

static void test_names(void **state) {
    reid_info info;
    int i;
    (void)state;
#define CHECK(id, value, text)                                                                                         \
    assert_string_equal(reid_result_name((reid_result)(value)), #id);                                                  \
    assert_string_equal(reid_result_string(id), text);
    REID_RESULTS(CHECK)
#undef CHECK
    assert_string_equal(reid_result_name((reid_result)-999), "REID_ERR_UNKNOWN");
    assert_true(strlen(reid_result_string((reid_result)1)) > 0);
    for (i = 0; reid_preset_name(i); i++) {
        reid_desc d = good();
        d.preset = reid_preset_name(i);
        accept(&d, &info);
        assert_string_equal(info.preset, reid_preset_name(i));
    }
    assert_true(i >= 8 && !reid_preset_name(-1) && !reid_preset_name(i + 1));
    for (i = 0; reid_network_name(i); i++) {}
    assert_true(i == net_networks() && !reid_network_name(-1) && !reid_network_name(i + 1));
}

static void set_refuses(reid_desc *desc, const char *key, const void *value, const char *what) {
    reid_error error;
    reid_desc before = *desc;
    assert_int_equal(reid_set(desc, key, value, &error), REID_ERR_INVALID_ARG);
    assert_int_equal(error.code, REID_ERR_INVALID_ARG);
    if (!says(error.text, what)) fail_msg("\"%s\" does not say \"%s\"", error.text, what);
    assert_memory_equal(desc, &before, sizeof before);
}

/* Fields by name: some that a C program would set, and invalid ones. tests/shown/python_tests.py has all of them. */
static void test_set(void **state) {
    (void)state;
    reid_desc desc = REID_INIT, same = REID_INIT;
    reid_error error;
    static const char *const pairs[][2] = {{"weights", "file"}, {"height", "256"}, {"width", "2147483647"},
        {"precision", "bf16"}, {"cpu_isa", "amx_int8"}, {"device", "cpu"}, {"head", "seeded"},
        {"head_seed", "18446744073709551615"}, {"memory_limit", "18446744073709551615"}, {"lanes", "007"}};
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
        assert_int_equal(reid_set(&desc, pairs[i][0], pairs[i][1], &error), REID_OK);
    same.weights = pairs[0][1], same.height = 256, same.width = INT_MAX, same.precision = REID_BF16;
    same.cpu_isa = REID_ISA_AMX_INT8, same.device = REID_DEVICE_CPU, same.head = REID_HEAD_SEEDED;
    same.head_seed = UINT64_MAX, same.memory_limit = SIZE_MAX, same.lanes = 7;
    assert_memory_equal(&desc, &same, sizeof same);
    assert_int_equal(reid_set(&desc, "threads", "-2147483647", &error), REID_OK); /* reid_create refuses it */
    assert_int_equal(desc.threads, -INT_MAX);
    desc.threads = 0;
    static const char *const wrong[] = {"", "-", " 1", "--1", "+1", "1 ", "1.0", "0x1", "2147483648", "-2147483648"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) set_refuses(&desc, "batch", wrong[i], "whole number");
    set_refuses(&desc, "head_seed", "-1", "whole number");
    set_refuses(&desc, "head_seed", "18446744073709551616", "at most 18446744073709551615");
    static const char *const words[] = {"", "bf1", "bf166", "FP32", "fp32 fp16", " "};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        set_refuses(&desc, "precision", words[i], "it can be: default fp32 fp16 bf16 int8");
    set_refuses(&desc, "weight", "file", "no field \"weight\"");
    set_refuses(&desc, NULL, "file", "key");
    assert_int_equal(reid_set(NULL, "batch", "1", NULL), REID_ERR_INVALID_ARG);
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
        assert_int_equal(reid_set(&desc, pairs[i][0], NULL, NULL), REID_OK);
    memset(&same, 0, sizeof same);
    assert_memory_equal(&desc, &same, sizeof same);
    assert_int_equal(reid_size("reid_desc"), sizeof(reid_desc));
    assert_int_equal(reid_size("reid_info"), sizeof(reid_info));
    assert_true(reid_size("reid_ctx") == 0 && reid_size("") == 0 && reid_size(NULL) == 0);
}

/* Codes that other tests produce. */
static const struct {
    reid_result code;
    const char *test;
} elsewhere[] = {
    {REID_ERR_OUT_OF_MEMORY, "core/t_oom"},               {REID_ERR_SYSTEM, "core/t_oom"},
    {REID_ERR_FORKED, "core/t_behaviour"},                {REID_ERR_MEMORY_LIMIT, "core/t_behaviour"},
    {REID_ERR_EMBEDDING, "core/t_behaviour"},             {REID_ERR_FILE_READ, "core/t_io"},
    {REID_ERR_FILE_SHORT, "core/t_io"},                   {REID_ERR_NOT_SAFETENSORS, "core/t_oddfiles"},
    {REID_ERR_HEADER_SIZE, "core/t_badfiles"},            {REID_ERR_HEADER_JSON, "core/t_badfiles"},
    {REID_ERR_HEADER_FIELD, "core/t_badfiles"},           {REID_ERR_HEADER_LIMIT, "core/t_badfiles"},
    {REID_ERR_DUPLICATE_TENSOR, "core/t_badfiles"},       {REID_ERR_UNKNOWN_DTYPE, "core/t_badfiles"},
    {REID_ERR_TENSOR_SIZE, "core/t_badfiles"},            {REID_ERR_DATA_LAYOUT, "core/t_badfiles"},
    {REID_ERR_TENSOR_UNEXPECTED, "core/t_tensors"},       {REID_ERR_TENSOR_SHAPE, "core/t_tensors"},
    {REID_ERR_TENSOR_DTYPE, "core/t_tensors"},            {REID_ERR_NOT_FINITE, "core/t_tensors"},
    {REID_ERR_BN_VARIANCE, "core/t_tensors"},             {REID_ERR_FILE_WRITE, "gpu/cuda_cache"},
    {REID_ERR_KERNEL_PACK, "gpu/cuda_cache"},             {REID_ERR_NO_KERNELS, "gpu/cuda_cache"},
    {REID_ERR_KERNEL_COMPILE, "gpu/cuda_cache"},          {REID_ERR_GPU, "gpu/cuda_faults"},
    {REID_ERR_EXPONENT, "core/t_tensors"},                {REID_ERR_LEFT_OUT, "core/t_compile"},
    {REID_ERR_FULL, "core/t_queue"},                      {REID_ERR_EXPIRED, "core/t_queue"},
    {REID_ERR_CANCELLED, "core/t_queue"},                 {REID_ERR_STOPPING, "core/t_queue"},
    {REID_ERR_CONTRADICTION, "core/t_group"},             {REID_WARN_NOT_OPTIMISED, "shown/t_library"},
    {REID_WARN_SCALAR, "core/t_neon"},
    {REID_ERR_TICKET, "core/t_queue"},
};

static int source_has(const char *test, const char *text) {
    char path[64], line[512];
    int found = 0;
    snprintf(path, sizeof path, "tests/%s.c", test);
    FILE *f = fopen(path, "r");
    if (!f) snprintf(path, sizeof path, "tests/%s.sh", test), f = fopen(path, "r");
    while (f && fgets(line, sizeof line, f)) found |= strstr(line, text) != NULL;
    if (f) fclose(f);
    return found;
}

static void check_code(int code, const char *name) {
    if (produced[-code]) return;
    for (size_t i = 0; i < sizeof elsewhere / sizeof elsewhere[0]; i++) {
        const char *test = elsewhere[i].test;
        if ((int)elsewhere[i].code != code) continue;
        if (!source_has(test, name)) fail_msg("tests/%s.c does not speak of %s", test, name);
        return;
    }
    fail_msg("no test produces %s", name);
}

static void test_every_code(void **state) {
    (void)state;
#define CHECK(id, value, text) check_code(value, #id);
    REID_RESULTS(CHECK)
#undef CHECK
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_desc),  cmocka_unit_test(test_isa),        cmocka_unit_test(test_calls),
        cmocka_unit_test(test_other_descs),
        cmocka_unit_test(test_names), cmocka_unit_test(test_set),        cmocka_unit_test(test_every_code),
    };
    file = net_for("efficientnet_b0", REID_HEAD_NONE, 1, NULL);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    free(file.bytes);
    return failed;
}
