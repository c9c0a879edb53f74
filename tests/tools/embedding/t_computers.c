/* t_computers.c: batches that several threads compute: every call is made once, calls of a batch in order and batches
   in parallel, and stopping leaves none under way. Also for ThreadSanitizer.

   cc -std=c99 -D_GNU_SOURCE -O1 -I. -Itools tests/tools/embedding/t_computers.c tools/embedding/computers.c
      tools/base/threads.c tools/base/container.c tools/base/clock.c tools/base/memory.c tools/base/say.c
      tools/base/text.c -o build/t_computers -lcmocka -lm -lpthread */
#include "embedding/computers.h"
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

enum { DIM = 2, CALLS = 3, LANES = 3, BATCHES = 40 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int under_way, most_under_way, made, wanted_at_once;

/* In place of the models: waits until `wanted_at_once` calls are under way, and computes the image's width. A width of
   0 is refused. */
int models_embed(const models *all, const reid_image *images, int n, float *rows, text *why) {
    int good = 1;
    (void)all, (void)why;
    pthread_mutex_lock(&lock);
    made++;
    under_way++;
    if (under_way > most_under_way) most_under_way = under_way;
    pthread_cond_broadcast(&changed);
    while (most_under_way < wanted_at_once) pthread_cond_wait(&changed, &lock);
    under_way--;
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < n; i++) {
        rows[i * DIM] = rows[i * DIM + 1] = (float)images[i].width;
        good = good && images[i].width;
    }
    return good;
}

typedef struct a_batch {
    reid_image images[CALLS][2];
    float rows[CALLS][2][DIM];
    batch_call at[CALLS];
    batch_calls calls;
} a_batch;

/* Batch number n; its images are n * 10 + call * 2 and that plus 1 wide. */
static void set(a_batch *b, int n) {
    b->calls = (batch_calls){.at = b->at, .count = CALLS};
    for (int i = 0; i < CALLS; i++) {
        for (int k = 0; k < 2; k++) b->images[i][k] = (reid_image){.width = n * 10 + i * 2 + k};
        b->at[i] = (batch_call){.images = b->images[i], .count = 2, .rows = b->rows[i][0]};
    }
}

static void check(computers *c, a_batch *b, int n) {
    for (int i = 0; i < CALLS; i++) {
        computers_wait(c, &b->calls, (size_t)i);
        assert_int_equal(b->at[i].good, n + i > 0); /* the first image of all has no width */
        assert_true(b->at[i].began > 0 && b->at[i].computed >= b->at[i].began);
        if (i) assert_true(b->at[i].began >= b->at[i - 1].computed);
        for (int k = 0; k < 2; k++) assert_true(b->rows[i][k][1] == (float)(n * 10 + i * 2 + k));
    }
    assert_int_equal(computers_busy(c, &b->calls), 0);
    assert_in_range(b->calls.lane, 0, LANES - 1);
}

static void run(int lanes, int at_once) {
    static a_batch ring[LANES];
    models all = {.dim = DIM};
    computers *c = computers_start(&all, lanes);
    assert_non_null(c);
    made = most_under_way = 0, wanted_at_once = at_once;
    for (int n = 0; n < BATCHES + lanes; n++) {
        if (n >= lanes) check(c, &ring[n % lanes], n - lanes);
        set(&ring[n % lanes], n);
        if (n < BATCHES) computers_give(c, &ring[n % lanes].calls);
    }
    computers_stop(c);
    assert_int_equal(made, BATCHES * CALLS);
    assert_int_equal(most_under_way, at_once);
}

static void test_one_lane(void **state) {
    (void)state;
    run(1, 1);
}

/* The calls of the first batches end only when one of each lane is under way. */
static void test_lanes(void **state) {
    (void)state;
    run(LANES, LANES);
}

/* Batches that nobody waits for are not begun after the stop, and those that were begun have ended. */
static void test_stop(void **state) {
    static a_batch all[LANES];
    models none = {.dim = DIM};
    (void)state;
    made = most_under_way = wanted_at_once = 0;
    for (int turn = 0; turn < 20; turn++) {
        computers *c = computers_start(&none, LANES);
        assert_non_null(c);
        for (int i = 0; i < LANES; i++) {
            set(&all[i], i + 1);
            computers_give(c, &all[i].calls);
        }
        computers_stop(c);
        assert_int_equal(under_way, 0);
    }
    computers_stop(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_one_lane), cmocka_unit_test(test_lanes),
                                       cmocka_unit_test(test_stop)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
