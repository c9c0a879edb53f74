/* t_threads.c: many threads on one handle, several handles at once, handles made and destroyed side by side. Every
   embedding equals the one that a single thread computed. Meant for ThreadSanitizer, too.

   cc -std=c99 -D_GNU_SOURCE -O2 -I. tests/core/t_threads.c tests/lib/test_impl.c -o build/t_threads -lcmocka -lm
      -lpthread */
#include "reid.h"
#include "../lib/test_net.h"
#include <setjmp.h>
#include <cmocka.h>

#define THREADS 32
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define CALLS 1 /* ten times as slow */
#define MOST 1
#define FEWEST_LANES 3
#else
#define CALLS 3
#define MOST PICTURES
#define FEWEST_LANES 1
#endif
#define PICTURES 5 /* of which a call has at most MOST */
#define DIM 512

static net_file file;
static reid_image pictures[PICTURES];
static float want[PICTURES][DIM];

static reid_ctx *create(int threads, int lanes, int batch) {
    reid_desc desc = net_desc(&file, 32, 32, NULL);
    reid_ctx *ctx = NULL;
    desc.threads = threads, desc.lanes = lanes, desc.batch = batch;
    return reid_create(&desc, &ctx) == REID_OK ? ctx : NULL;
}

/* The work of one thread, which counts its errors, because cmocka's assertions are only for the main thread. */
typedef struct worker {
    pthread_t thread;
    reid_ctx *ctx;
    int index, errors;
} worker;

static int embed(reid_ctx *ctx, int n, int first) {
    reid_image call[PICTURES];
    float out[PICTURES][DIM];
    int errors = 0;
    memset(call, 0, sizeof call);
    for (int i = 0; i < n; i++) call[i] = pictures[(first + i) % PICTURES];
    if (reid_embed(ctx, call, n, out[0]) != REID_OK) return 1;
    for (int i = 0; i < n; i++) errors += memcmp(out[i], want[(first + i) % PICTURES], sizeof want[0]) != 0;
    return errors;
}

static void *use(void *arg) {
    worker *w = (worker *)arg;
    reid_info info;
    reid_op_info op;
    uint8_t view[32 * 32 * 3];
    for (int i = 0; i < CALLS; i++) {
        w->errors += embed(w->ctx, 1 + (w->index + i) % MOST, w->index);
        w->errors += reid_preprocess(w->ctx, &pictures[0], view, NULL) != REID_OK;
        w->errors += reid_query_desc(w->ctx, &info) != REID_OK || info.dim != reid_dim(w->ctx);
        w->errors += reid_query_op(w->ctx, i, &op) != REID_OK;
    }
    return NULL;
}

static void *make_and_use(void *arg) {
    worker *w = (worker *)arg;
    for (int i = 0; i < 2; i++) {
        reid_ctx *ctx = create(1 + w->index % 3, 1 + i, 2);
        w->errors += ctx ? embed(ctx, MOST, w->index) : 1;
        reid_destroy(ctx);
    }
    return NULL;
}

static void run(worker *workers, int count, void *(*fn)(void *)) {
    for (int i = 0; i < count; i++) {
        workers[i].index = i, workers[i].errors = 0;
        assert_int_equal(pthread_create(&workers[i].thread, NULL, fn, &workers[i]), 0);
    }
    for (int i = 0; i < count; i++) assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
    for (int i = 0; i < count; i++) assert_int_equal(workers[i].errors, 0);
}

static void test_one_handle(void **state) {
    (void)state;
    for (int lanes = FEWEST_LANES; lanes <= 3; lanes += 2) {
        worker workers[THREADS];
        reid_ctx *ctx = create(2, lanes, 3);
        assert_non_null(ctx);
        for (int i = 0; i < THREADS; i++) workers[i].ctx = ctx;
        run(workers, THREADS, use);
        reid_destroy(ctx);
    }
}

static void test_several_handles(void **state) {
    worker workers[9];
    reid_ctx *handles[3];
    (void)state;
    for (int i = 0; i < 3; i++) assert_non_null(handles[i] = create(1 + i, 1, 1 + i));
    for (int i = 0; i < 9; i++) workers[i].ctx = handles[i % 3];
    run(workers, 9, use);
    for (int i = 0; i < 3; i++) reid_destroy(handles[i]);
}

static void test_create_in_parallel(void **state) {
    worker workers[6];
    (void)state;
    run(workers, 6, make_and_use);
}

/* A team of threads that slept for a while wakes up. */
static void test_sleep(void **state) {
    const struct timespec pause = {0, 30000000};
    reid_ctx *ctx = create(3, 1, 2);
    (void)state;
    assert_non_null(ctx);
    for (int i = 0; i < 4; i++) {
        nanosleep(&pause, NULL);
        assert_int_equal(embed(ctx, MOST, i), 0);
    }
    reid_destroy(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_handle),
        cmocka_unit_test(test_several_handles),
        cmocka_unit_test(test_create_in_parallel),
        cmocka_unit_test(test_sleep),
    };
    file = net_for("efficientnet_b0", REID_HEAD_FILE, 6, NULL);
    uint8_t *pixels = net_pixels(PICTURES, 40, 30, 6);
    for (int i = 0; i < PICTURES; i++) pictures[i] = net_image(pixels, i, 40, 30);
    reid_ctx *ctx = create(1, 1, 1);
    if (!ctx || reid_dim(ctx) != DIM || reid_embed(ctx, pictures, PICTURES, want[0]) != REID_OK) return 1;
    reid_destroy(ctx);
    alarm(300); /* a lost wake-up must not hang the test for ever */
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    free(pixels);
    free(file.bytes);
    return failed;
}
