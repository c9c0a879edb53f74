/* t_determinism.c: the bits of an embedding depend on its pixels alone: not on the batch it came in, its place there,
   desc.batch, threads, lanes, the caller's thread pool, earlier calls or the caller's floating-point settings. AVX2 and
   AVX-512 give the same bits, too.

   cc -std=c99 -D_GNU_SOURCE -O2 -I. tests/core/t_determinism.c tests/lib/test_impl.c -o build/t_determinism \
      -lcmocka -lm -lpthread
   build/t_determinism [NAME OF ONE TEST] */
#include "reid.h"
#include "../lib/test_net.h"
#include <errno.h>
#include <setjmp.h>
#include <cmocka.h>
#include "../lib/fp.h"

/* With a sanitizer everything takes ten times as long: fewer images, one network. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define SLOW 1
#define IMAGES 7
#else
#define SLOW 0
#define IMAGES 32
#endif
#define PIXELS_H 53 /* size of the images; the networks' input is 64x48, or 33x32 if that would take too long */
#define PIXELS_W 31

typedef struct config {
    int batch, threads, lanes, pool;
} config;

static reid_image images[IMAGES];

/* A thread pool as bad as is allowed: last task first, every other one on a thread with odd floating-point settings. */
typedef struct pool_task {
    reid_task_fn fn;
    void *task;
    int index;
} pool_task;

static void *pool_thread(void *arg) {
    pool_task *t = (pool_task *)arg;
    set_fp(ROUND_UP_AND_FLUSH);
    t->fn(t->task, t->index);
    return NULL;
}

static void pool_run(reid_task_fn fn, void *task, int count, void *user) {
    for (int i = count - 1; i >= 0; i--) {
        pool_task t = {fn, task, i};
        pthread_t thread;
        if (i % 2 == 0 || pthread_create(&thread, NULL, pool_thread, &t) != 0) fn(task, i);
        else pthread_join(thread, NULL);
    }
    ++*(int *)user;
}

static reid_ctx *create(const net_file *file, const config *c, reid_isa isa, int small, int *pool_calls) {
    reid_error error;
    reid_desc desc = net_desc(file, small ? 33 : 64, small ? 32 : 48, &error);
    reid_ctx *ctx;
    desc.batch = c->batch, desc.threads = c->threads, desc.lanes = c->lanes, desc.cpu_isa = isa;
    desc.precision = isa >= REID_ISA_AVX512_BF16 ? REID_BF16 : REID_FP32;
    if (c->pool) desc.parallel_fn = pool_run, desc.parallel_user = pool_calls;
    if (reid_create(&desc, &ctx) != REID_OK) fail_msg("%s", error.text);
    return ctx;
}

/* Embeds n images, starting with image `shift`, and compares every row with that image's row in `want`. */
static void embed_and_compare(reid_ctx *ctx, int n, int shift, const float *want, const char *what) {
    reid_image call[IMAGES];
    int dim = reid_dim(ctx);
    float *out = (float *)malloc((size_t)n * (size_t)dim * sizeof *out);
    assert_non_null(out);
    for (int i = 0; i < n; i++) call[i] = images[(i + shift) % IMAGES];
    assert_int_equal(reid_embed(ctx, call, n, out), REID_OK);
    for (int i = 0; i < n; i++)
        if (memcmp(out + i * dim, want + (i + shift) % IMAGES * dim, (size_t)dim * sizeof *out) != 0)
            fail_msg("%s: image %d of %d, picture %d, has other bits", what, i, n, (i + shift) % IMAGES);
    free(out);
}

/* The reference: one image at a time, one thread. */
static float *reference(const net_file *file, reid_isa isa, int small) {
    const config single = {1, 1, 1, 0};
    reid_ctx *ctx = create(file, &single, isa, small, NULL);
    int dim = reid_dim(ctx);
    float *rows = (float *)malloc((size_t)(IMAGES * dim) * sizeof *rows);
    assert_non_null(rows);
    for (int i = 0; i < IMAGES; i++) assert_int_equal(reid_embed(ctx, &images[i], 1, rows + i * dim), REID_OK);
    assert_memory_not_equal(rows, rows + dim, (size_t)dim * sizeof *rows);
    reid_destroy(ctx);
    return rows;
}

static void check_config(const net_file *file, const config *c, reid_isa isa, int small, const float *want) {
    static const int counts[] = {1, 2, 3, 7, 32};
    char what[128];
    int pool_calls = 0;
    reid_ctx *ctx = create(file, c, isa, small, &pool_calls);
    reid_info info;
    reid_query_desc(ctx, &info);
    snprintf(what, sizeof what, "%s, %s, batch %d, threads %d, lanes %d%s", info.network, info.isa, info.batch,
             info.threads, info.lanes, c->pool ? ", the caller's pool" : "");
    for (int k = 0; k < (small ? 4 : 5); k++) embed_and_compare(ctx, counts[k], 5 * k, want, what);
    embed_and_compare(ctx, 3, 1, want, what); /* once more, after others */
    assert_true(!c->pool || pool_calls > 0);
    reid_destroy(ctx);
}

static void check_network(const char *network, reid_head head) {
    static const config configs[] = {{3, 2, 1, 0}, {8, 5, 3, 0}, {1, 3, 1, 0}, {3, 2, 1, 1}, {32, 1, 1, 0}};
    net_file file = net_for(network, head, 11, NULL);
    float *avx2 = NULL;
    int dim = 512, small = SLOW, vectors = net_isa(REID_ISA_AVX2) != NULL;
    for (int isa = REID_ISA_SCALAR; isa <= REID_ISA_AMX_BF16; isa++) {
        if (!net_isa(isa)) continue;
        int scalar = isa == REID_ISA_SCALAR;
        if (SLOW && scalar && vectors) continue;
        float *want = reference(&file, (reid_isa)isa, small || scalar);
        for (int i = 0; i < (scalar || (SLOW && isa >= REID_ISA_AVX512) ? 2 : 5); i++)
            check_config(&file, &configs[i], (reid_isa)isa, small || scalar, want);
        if (isa == REID_ISA_AVX512) assert_memory_equal(want, avx2, (size_t)(IMAGES * dim) * sizeof *want);
        free(avx2);
        avx2 = want;
    }
    free(avx2);
    free(file.bytes);
}

#if !SLOW
/* Its trunk, and one of its pools, are resnet50's; it has every operation that a ResNet can have. */
static void test_multiscale(void **state) {
    (void)state;
    check_network("resnet50-ibn-nl-multiscale", REID_HEAD_FILE);
}
#endif

static void test_efficientnet(void **state) {
    (void)state;
    check_network("efficientnet_b0", REID_HEAD_FILE);
}

/* The caller's rounding mode and flush-to-zero change no bit, and are restored; errno is unchanged. */
static void test_environment(void **state) {
    const config c = {3, 2, 1, 0};
    reid_error error;
    net_file file = net_for("efficientnet_b0", REID_HEAD_FILE, 11, NULL);
    float *want = reference(&file, REID_ISA_AUTO, 1);
    unsigned before = set_fp(ROUND_UP_AND_FLUSH);
    (void)state;
    errno = 77;
    reid_ctx *ctx = create(&file, &c, REID_ISA_AUTO, 1, NULL);
    embed_and_compare(ctx, 7, 3, want, "rounding up, flushing to zero");
    uint8_t *pixels = (uint8_t *)malloc(33 * 32 * 3);
    assert_int_equal(reid_preprocess(ctx, &images[0], pixels, &error), REID_OK);
    free(pixels);
    reid_destroy(ctx);
    assert_int_equal(errno, 77);

    reid_desc desc = REID_INIT;
    desc.weights = "/no/such/file", desc.error = &error;
    char network[REID_NETWORK_NAME];
    assert_int_equal(reid_create(&desc, &ctx), REID_ERR_FILE_OPEN);
    assert_int_equal(reid_check_weights(&desc, NULL, NULL, network), REID_ERR_FILE_OPEN);
    assert_int_equal(reid_weights_metadata(&desc, "a", network, sizeof network), REID_ERR_FILE_OPEN);
    assert_int_equal(errno, 77);
    unsigned after = set_fp(before);
    assert_int_equal(after & ~0x3fu, ROUND_UP_AND_FLUSH & ~0x3fu); /* the lowest bits are flags, not settings */
    free(want);
    free(file.bytes);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_efficientnet),
        cmocka_unit_test(test_environment),
#if !SLOW
        cmocka_unit_test(test_multiscale),
#endif
    };
    uint8_t *pixels = net_pixels(IMAGES, PIXELS_H, PIXELS_W, 3);
    for (int i = 0; i < IMAGES; i++) images[i] = net_image(pixels, i, PIXELS_H, PIXELS_W);
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    free(pixels);
    return failed;
}
