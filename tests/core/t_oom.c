/* t_oom.c: nothing leaks and nothing crashes when any allocation, thread or lock is refused.
   Allocations are counted; each is refused in turn, once, and then together with all that follow.

   cc -std=c99 -D_GNU_SOURCE -O2 -I. tests/core/t_oom.c tests/lib/test_impl.c -o build/t_oom -lcmocka -lm -lpthread
      -Wl,--wrap=pthread_create,--wrap=pthread_mutex_init,--wrap=pthread_cond_init,--wrap=malloc,--wrap=calloc */
#include "reid.h"
#include "../lib/test_net.h"
#include <errno.h>
#include <setjmp.h>
#include <cmocka.h>
#include "../lib/test_util.h"

static net_file file;
static uint8_t *pixels;
static reid_image images[3];

/* --- refusals: the call that fails, counted from 1, 0 for none ---------------------------------------------------- */

static int threads_left = -1, locks_left, mallocs; /* -1: no limit */

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *), void *arg);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *), void *arg);
int __real_pthread_mutex_init(pthread_mutex_t *mutex, const pthread_mutexattr_t *attr);
int __wrap_pthread_mutex_init(pthread_mutex_t *mutex, const pthread_mutexattr_t *attr);
int __real_pthread_cond_init(pthread_cond_t *cond, const pthread_condattr_t *attr);
int __wrap_pthread_cond_init(pthread_cond_t *cond, const pthread_condattr_t *attr);
void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *), void *arg) {
    if (threads_left == 0) return EAGAIN;
    if (threads_left > 0) threads_left--;
    return __real_pthread_create(thread, attr, fn, arg);
}

int __wrap_pthread_mutex_init(pthread_mutex_t *mutex, const pthread_mutexattr_t *attr) {
    return locks_left && --locks_left == 0 ? EAGAIN : __real_pthread_mutex_init(mutex, attr);
}

int __wrap_pthread_cond_init(pthread_cond_t *cond, const pthread_condattr_t *attr) {
    return locks_left && --locks_left == 0 ? EAGAIN : __real_pthread_cond_init(cond, attr);
}

void *__wrap_malloc(size_t size) {
    mallocs++;
    return __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size) {
    mallocs++;
    return __real_calloc(count, size);
}

/* ------------------------------------------------------------------------------------------------------------------ */

static reid_desc counted(test_heap *heap, reid_error *error) {
    reid_desc desc = net_desc(&file, 32, 32, error);
    memset(heap, 0, sizeof *heap);
    memset(error, 0, sizeof *error);
    desc.alloc_fn = test_heap_alloc, desc.free_fn = test_heap_free, desc.alloc_user = heap;
    desc.threads = 3, desc.lanes = 2, desc.batch = 2;
    return desc;
}

static void assert_clean(const test_heap *heap) {
    assert_int_equal(heap->live, 0);
    assert_int_equal(heap->wrong_size, 0);
}

static void test_balance(void **state) {
    test_heap heap;
    reid_error error;
    reid_info info;
    reid_ctx *ctx;
    float out[3 * 512];
    uint8_t view[32 * 32 * 3];
    reid_desc desc = counted(&heap, &error);
    (void)state;
    assert_int_equal(reid_create(&desc, &ctx), REID_OK);
    assert_int_equal(reid_query_desc(ctx, &info), REID_OK);
    assert_int_equal(heap.live, info.total_bytes);
    assert_true(info.total_bytes >= info.weight_bytes + info.arena_bytes);
    size_t calls = heap.calls;
    int before = mallocs;
    for (int n = 0; n <= 3; n++) assert_int_equal(reid_embed_ex(ctx, images, n, out, &error), REID_OK);
    assert_int_equal(reid_preprocess(ctx, images, view, &error), REID_OK);
    assert_int_equal(heap.calls, calls); /* embedding allocates nothing at all */
    assert_int_equal(mallocs, before);
    reid_destroy(ctx);
    assert_clean(&heap);
    reid_destroy(NULL);
}

static reid_result do_create(const reid_desc *desc) {
    reid_ctx *ctx = (reid_ctx *)(void *)&file;
    reid_result r = reid_create(desc, &ctx);
    assert_true((r == REID_OK) == (ctx != NULL));
    reid_destroy(ctx);
    return r;
}

static reid_result do_check(const reid_desc *desc) { return reid_check_weights(desc, NULL, NULL, NULL); }

static reid_result do_metadata(const reid_desc *desc) {
    char value[16] = "x";
    reid_result r = reid_weights_metadata(desc, "no such key", value, sizeof value);
    assert_string_equal(value, "");
    return r;
}

static void refuse_memory(reid_result (*operation)(const reid_desc *desc), size_t at_least) {
    for (int rest = 0; rest < 2; rest++)
        for (size_t at = 1;; at++) {
            test_heap heap;
            reid_error error;
            reid_desc desc = counted(&heap, &error);
            heap.fail_at = at, heap.fail_rest = rest;
            reid_result r = operation(&desc);
            assert_clean(&heap);
            if (heap.calls < at) {
                assert_int_equal(r, REID_OK);
                assert_true(at > at_least);
                break;
            }
            assert_int_equal(r, REID_ERR_OUT_OF_MEMORY);
            assert_int_equal(error.code, r);
            assert_true(strlen(error.text) > 0);
        }
}

static void test_memory(void **state) {
    (void)state;
    refuse_memory(do_create, 10);
    refuse_memory(do_check, 3);
    refuse_memory(do_metadata, 1);
}

static void test_locks(void **state) {
    (void)state;
    for (int at = 1;; at++) { /* the handle's mutex and condition, then those of each lane */
        test_heap heap;
        reid_error error;
        reid_desc desc = counted(&heap, &error);
        locks_left = at;
        reid_result r = do_create(&desc);
        int refused = locks_left == 0;
        locks_left = 0;
        assert_clean(&heap);
        if (!refused) {
            assert_int_equal(r, REID_OK);
            assert_true(at > 4);
            break;
        }
        assert_int_equal(r, REID_ERR_SYSTEM);
        assert_int_equal(error.code, r);
    }
}

static void count_warnings(reid_log_level level, reid_result id, const char *message, void *user) {
    if (level == REID_LOG_WARNING && id == REID_ERR_SYSTEM && strstr(message, "threads")) ++*(int *)user;
}

/* Fewer threads than requested is not an error: it is logged and reported, and changes no bit. */
static void test_threads(void **state) {
    float want[3 * 512], have[3 * 512];
    (void)state;
    for (int left = 4; left >= 0; left--) { /* two lanes start two threads each */
        test_heap heap;
        reid_error error;
        reid_info info;
        reid_ctx *ctx;
        int warnings = 0;
        reid_desc desc = counted(&heap, &error);
        desc.log_fn = count_warnings, desc.log_user = &warnings;
        threads_left = left;
        assert_int_equal(reid_create(&desc, &ctx), REID_OK);
        threads_left = -1;
        assert_int_equal(reid_query_desc(ctx, &info), REID_OK);
        assert_int_equal(info.threads, left >= 2 ? 3 : 1 + left);
        assert_int_equal(warnings, left == 4 ? 0 : left >= 2 ? 1 : 2);
        assert_int_equal(reid_embed(ctx, images, 3, have), REID_OK);
        if (left == 4) memcpy(want, have, sizeof want);
        assert_memory_equal(have, want, sizeof want);
        reid_destroy(ctx);
        assert_clean(&heap);
    }
}

/* A queue's memory comes from its handle's allocator; a refusal leaves nothing behind. */
static void refuse_queue(reid_ctx *ctx, test_heap *heap, reid_result want) {
    size_t live = heap->live;
    reid_error error;
    reid_queue_desc desc = REID_INIT;
    reid_queue *queue;
    desc.ctx = ctx, desc.error = &error;
    assert_int_equal(reid_queue_create(&desc, &queue), want);
    assert_int_equal(queue != NULL, want == REID_OK);
    assert_int_equal(error.code, want);
    assert_int_equal(strlen(error.text) > 0, want != REID_OK);
    heap->fail_at = 0, threads_left = -1, locks_left = 0;
    if (queue) {
        float out[3 * 512];
        reid_request request = REID_INIT;
        request.images = images, request.n = 3, request.out = out;
        size_t calls = heap->calls;
        int before = mallocs;
        assert_int_equal(reid_submit(queue, &request, NULL, &error), REID_OK);
        assert_int_equal(heap->calls, calls); /* only creating a queue allocates */
        assert_int_equal(mallocs, before);
    }
    reid_queue_destroy(queue, 0);
    assert_int_equal(heap->live, live);
}

static void test_queue(void **state) {
    test_heap heap;
    reid_error error;
    reid_ctx *ctx;
    reid_desc desc = counted(&heap, &error);
    (void)state;
    assert_int_equal(reid_create(&desc, &ctx), REID_OK);
    for (size_t at = 1; at <= 2; at++) {
        heap.fail_at = heap.calls + at;
        refuse_queue(ctx, &heap, REID_ERR_OUT_OF_MEMORY);
    }
    for (int left = 0; left < 3; left++) { /* the clock and two lanes */
        threads_left = left;
        refuse_queue(ctx, &heap, REID_ERR_SYSTEM);
    }
    for (int at = 1; at <= 4; at++) {
        locks_left = at;
        refuse_queue(ctx, &heap, REID_ERR_SYSTEM);
    }
    refuse_queue(ctx, &heap, REID_OK);
    reid_destroy(ctx);
    assert_clean(&heap);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_balance),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_locks),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_queue),
    };
    file = net_for("efficientnet_b0", REID_HEAD_FILE, 5, NULL);
    pixels = net_pixels(3, 40, 30, 5);
    for (int i = 0; i < 3; i++) images[i] = net_image(pixels, i, 40, 30);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    free(pixels);
    free(file.bytes);
    return failed;
}
