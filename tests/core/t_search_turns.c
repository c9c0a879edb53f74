/* t_search_turns.c: calls of reid_search that wait for each other. Those that want the same are searched for together,
   the others one after another in their order; every call receives what it receives alone. So does reid_index_grow, and
   those searched for after it have its rows. Run it from the top.

   cc -std=c99 -D_GNU_SOURCE -O2 -I. tests/core/t_search_turns.c -o t_search_turns -lcmocka -lm -lpthread */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#define REID_STATIC
#define REID_IMPLEMENTATION
#include "reid.h"

enum { ROWS = 500, FEW = 450, DIM = 24, CALLS = 8, MOST = 1024, K = 5 };

static float rows[ROWS * DIM], queries[MOST * DIM];

/* A call of reid_search, or of reid_index_grow, on a thread of its own. */
typedef struct caller {
    pthread_t thread;
    reid_index *index;
    reid_search_desc search;
    int grows, few; /* it adds the last rows; it is searched for without them */
    int first, n; /* of queries */
    reid_result result;
    reid_hit hits[MOST * K];
    int found[MOST];
} caller;

static caller callers[CALLS];

/* The pool of the index. Its first job waits until `waiting` calls are in line. */
typedef struct gate {
    reid_index *index;
    int waiting, is_open;
    int searches, sizes[CALLS]; /* of each search, its queries */
} gate;

static int line_length(reid_index *index) {
    int length = 0;
    pthread_mutex_lock(&index->mutex);
    for (const reid__search_call *c = index->line; c; c = c->next) length++;
    pthread_mutex_unlock(&index->mutex);
    return length;
}

static int is_searching(reid_index *index) {
    pthread_mutex_lock(&index->mutex);
    int searching = index->searching;
    pthread_mutex_unlock(&index->mutex);
    return searching;
}

static void pool(reid_task_fn fn, void *task, int count, void *user) {
    gate *g = user;
    const reid__team *team = task;
    while (g->index && !g->is_open && line_length(g->index) < g->waiting) sched_yield();
    if (g->index) g->is_open = 1;
    if (g->index && team->fn == reid__scan_part && g->searches < CALLS)
        g->sizes[g->searches++] = ((const reid__search_chunk *)team->task)->n;
    for (int i = 0; i < count; i++) fn(task, i);
}

/* Larger blocks of memory are refused. */
static size_t refused_above = SIZE_MAX;

static void *some_memory(size_t size, void *user) {
    (void)user;
    return size > refused_above ? NULL : malloc(size);
}

static void free_memory(void *p, size_t size, void *user) {
    (void)size, (void)user;
    free(p);
}

static int is_odd(int query, size_t row, void *user) {
    (void)query, (void)user;
    return row % 2 == 1;
}

static void *call(void *arg) {
    const reid_rows all = {rows, NULL, ROWS, DIM, NULL};
    caller *c = arg;
    if (c->grows) c->result = reid_index_grow(c->index, &all, NULL);
    else c->result = reid_search(c->index, queries + c->first * DIM, c->n, &c->search, c->hits, c->found, NULL);
    return NULL;
}

static reid_index *open_index(gate *g, int few) {
    const reid_rows given = {rows, NULL, few ? FEW : ROWS, DIM, NULL};
    reid_desc desc = REID_INIT;
    desc.device = REID_DEVICE_CPU, desc.threads = 2, desc.parallel_fn = pool, desc.parallel_user = g;
    desc.alloc_fn = some_memory, desc.free_fn = free_memory;
    assert_int_equal(reid_index_create(&desc, &given, &g->index), REID_OK);
    return g->index;
}

static void set_caller(int i, int first, int n) {
    const reid_search_desc plain = REID_INIT;
    memset(&callers[i], 0, sizeof callers[i]);
    callers[i].first = first, callers[i].n = n, callers[i].search = plain, callers[i].search.k = K;
}

static void check(const caller *c) {
    gate none = {NULL, 0, 0, 0, {0}};
    caller *alone = malloc(sizeof *alone);
    assert_non_null(alone);
    *alone = *c, alone->index = open_index(&none, c->few), none.index = NULL;
    call(alone);
    assert_int_equal(alone->result, REID_OK);
    assert_memory_equal(c->found, alone->found, (size_t)c->n * sizeof *c->found);
    assert_memory_equal(c->hits, alone->hits, (size_t)c->n * (size_t)c->search.k * sizeof *c->hits);
    reid_index_destroy(alone->index);
    free(alone);
}

/* Calls 1 and later come, in order, while call 0 computes. */
static void run_all(gate *g) {
    reid_index *index = open_index(g, callers[0].few);
    g->waiting = CALLS - 1, g->is_open = 0;
    for (int i = 0; i < CALLS; i++) {
        callers[i].index = index;
        assert_int_equal(pthread_create(&callers[i].thread, NULL, call, &callers[i]), 0);
        while (i == 0 && !is_searching(index)) sched_yield();
        while (i > 0 && i < CALLS - 1 && line_length(index) < i) sched_yield();
    }
    for (int i = 0; i < CALLS; i++) pthread_join(callers[i].thread, NULL);
    assert_null(index->line);
    assert_int_equal(index->searching, 0);
    g->index = NULL;
    reid_index_destroy(index);
    for (int i = 0; i < CALLS; i++) assert_int_equal(callers[i].result, REID_OK);
    for (int i = 0; i < CALLS; i++)
        if (!callers[i].grows) check(&callers[i]);
}

static void expect_sizes(const gate *g, const int *sizes, int count) {
    assert_int_equal(g->searches, count);
    for (int i = 0; i < count; i++) assert_int_equal(g->sizes[i], sizes[i]);
}

static void test_alike(void **unused) {
    gate g = {NULL, 0, 0, 0, {0}};
    const int want[] = {2, 28}; /* 1 + 2 + ... + 7 */
    (void)unused;
    for (int i = 0; i < CALLS; i++) set_caller(i, 10 * i, i ? i : 2);
    run_all(&g);
    expect_sizes(&g, want, 2);
}

static void test_different(void **unused) {
    gate g = {NULL, 0, 0, 0, {0}};
    const int want[] = {1, 1 + 1 + 1, 1 + 1, 1, 1};
    (void)unused;
    for (int i = 0; i < CALLS; i++) set_caller(i, 10 * i, 1);
    callers[2].search.k = 3, callers[6].search.k = 3;
    callers[3].search.use_threshold = 1, callers[3].search.threshold = 0.25;
    callers[5].search.exclude = is_odd;
    run_all(&g);
    expect_sizes(&g, want, 5); /* 0; 1, 4 and 7; 2 and 6; 3; 5 */
}

static void test_thresholds(void **unused) {
    gate g = {NULL, 0, 0, 0, {0}};
    const int want[] = {1, 4, 3};
    (void)unused;
    for (int i = 0; i < CALLS; i++) {
        set_caller(i, 10 * i, 1);
        callers[i].search.use_threshold = 1, callers[i].search.threshold = i % 2 ? 0.1 : 0.2;
    }
    run_all(&g);
    expect_sizes(&g, want, 3);
}

/* A search takes at most 1,024 queries together: the fifth call no longer fits, the sixth does. */
static void test_large(void **unused) {
    gate g = {NULL, 0, 0, 0, {0}};
    const int sizes[CALLS] = {1, 500, 300, 100, 50, 100, 70, 9}, want[] = {1, 1020, 109};
    (void)unused;
    for (int i = 0; i < CALLS; i++) set_caller(i, i, sizes[i]);
    run_all(&g);
    expect_sizes(&g, want, 3);
}

static void test_memory(void **unused) {
    gate g = {NULL, 0, 0, 0, {0}};
    const int want[] = {1, 1, 1, 1, 1, 1, 1, 1};
    (void)unused;
    for (int i = 0; i < CALLS; i++) set_caller(i, i, 1);
    refused_above = 36000; /* bytes: one query takes 25,000, seven take 60,000 */
    run_all(&g);
    refused_above = SIZE_MAX;
    expect_sizes(&g, want, CALLS);
}

/* Calls behind it in line may still be searched for with those before it. */
static void test_growth(void **unused) {
    (void)unused;
    for (int at = 1; at <= 3; at += 2) {
        gate g = {NULL, 0, 0, 0, {0}};
        const int want[] = {2, 28 - at};
        for (int i = 0; i < CALLS; i++) {
            set_caller(i, 10 * i, i ? i : 2);
            callers[i].grows = i == at, callers[i].few = i == 0 || at > 1;
        }
        run_all(&g);
        expect_sizes(&g, want, 2);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_alike), cmocka_unit_test(test_different), cmocka_unit_test(test_thresholds),
        cmocka_unit_test(test_large), cmocka_unit_test(test_memory),    cmocka_unit_test(test_growth),
    };
    uint64_t state = 7;
    for (int i = 0; i < (ROWS + MOST) * DIM; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        float value = (float)(int32_t)(state >> 32) / 2147483648.0f;
        if (i < ROWS * DIM) rows[i] = value;
        else queries[i - ROWS * DIM] = value;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
