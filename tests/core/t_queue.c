/* t_queue.c: the queue: every accepted request ends exactly once, with the bits of reid_embed, in the order of rank,
   deadline and arrival, whenever it is cancelled or expires, or the queue is drained. Also for ThreadSanitizer.

   The handle's thread pool has a gate: while it is closed, a batch that has begun does not end. So the test determines
   the order of events, however fast or busy the machine is.

   cc -std=c99 -D_GNU_SOURCE -O2 -I. tests/core/t_queue.c tests/lib/test_impl.c -o build/t_queue -lcmocka -lm
      -lpthread */
#include "reid.h"
#include "../lib/test_net.h"
#include <sched.h>
#include <setjmp.h>
#include <sys/wait.h>
#include <time.h>
#include <cmocka.h>
#include "../lib/test_util.h"

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define EACH 4    /* requests of a thread ... */
#define AT_MOST 1 /* ... and images of each: computing takes ten times as long */
#define CALLS 10
#define MOMENTS 2
#else
#define EACH 12
#define AT_MOST 3
#define CALLS 60
#define MOMENTS 6
#endif
#define DIM 512
#define PICTURES 9
#define SIDE 32
#define MOST 6 /* images in a request */

static net_file file;
static reid_image pictures[PICTURES];
static float want[PICTURES][DIM];

static int64_t now_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static void rest(int us) {
    const struct timespec pause = {us / 1000000, us % 1000000 * 1000};
    nanosleep(&pause, NULL);
}

/* --- the gate ----------------------------------------------------------------------------------------------------- */

static struct gate {
    pthread_mutex_t mutex;
    pthread_cond_t change;
    int closed, inside; /* inside: batches that wait at the gate */
} gate = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0};

static void gated(reid_task_fn fn, void *task, int count, void *user) {
    (void)user;
    pthread_mutex_lock(&gate.mutex);
    gate.inside++;
    pthread_cond_broadcast(&gate.change);
    while (gate.closed) pthread_cond_wait(&gate.change, &gate.mutex);
    gate.inside--;
    pthread_mutex_unlock(&gate.mutex);
    for (int i = 0; i < count; i++) fn(task, i);
}

static void gate_set(int closed) {
    pthread_mutex_lock(&gate.mutex);
    gate.closed = closed;
    pthread_cond_broadcast(&gate.change);
    pthread_mutex_unlock(&gate.mutex);
}

static void gate_wait(int batches) { /* until this many wait at the gate */
    pthread_mutex_lock(&gate.mutex);
    while (gate.inside < batches) pthread_cond_wait(&gate.change, &gate.mutex);
    pthread_mutex_unlock(&gate.mutex);
}

/* --- handles, queues, requests ------------------------------------------------------------------------------------ */

static reid_ctx *create(const net_file *net, int threads, int lanes, int batch) {
    reid_desc desc = net_desc(net, SIDE, SIDE, NULL);
    reid_ctx *ctx = NULL;
    desc.threads = threads, desc.lanes = lanes, desc.batch = batch;
    desc.parallel_fn = gated;
    assert_int_equal(reid_create(&desc, &ctx), REID_OK);
    return ctx;
}

/* Without ageing, with which the order would depend on the millisecond at which requests come. */
static reid_queue *open_queue(reid_ctx *ctx, int batch, int limit) {
    reid_queue_desc desc = REID_INIT;
    reid_queue *queue;
    desc.ctx = ctx, desc.batch = batch, desc.limit = limit, desc.ageing_us = -1;
    assert_int_equal(reid_queue_create(&desc, &queue), REID_OK);
    return queue;
}

/* One request and all that it needs. */
typedef struct call {
    reid_image images[MOST];
    int first;
    float out[MOST][DIM];
    reid_request request;
    reid_ticket ticket;
    int told;          /* how often `done` was called */
    reid_result result;
    int order;         /* its position among all that ended */
    int64_t arrived;
} call;

static int ended; /* calls so far */

static void done(reid_result result, void *user) {
    call *c = (call *)user;
    c->result = result;
    c->order = __atomic_fetch_add(&ended, 1, __ATOMIC_SEQ_CST);
    __atomic_fetch_add(&c->told, 1, __ATOMIC_SEQ_CST);
}

static void fill(call *c, int first, int n, int priority, int64_t deadline_us) {
    memset(c, 0, sizeof *c);
    c->first = first;
    for (int i = 0; i < n; i++) c->images[i] = pictures[(first + i) % PICTURES];
    memset(c->out, 0x55, sizeof c->out);
    c->request.images = c->images, c->request.n = n, c->request.out = c->out[0];
    c->request.priority = priority, c->request.deadline_us = deadline_us;
    c->request.done = done, c->request.user = c;
}

static reid_result submit(reid_queue *queue, call *c) {
    return reid_submit(queue, &c->request, &c->ticket, NULL);
}

static void send(reid_queue *queue, call *c, int first, int n, int priority, int64_t deadline_us) {
    fill(c, first, n, priority, deadline_us);
    assert_int_equal(submit(queue, c), REID_OK);
    assert_true(c->ticket != 0);
}

static void await(const call *c) {
    while (!__atomic_load_n(&c->told, __ATOMIC_SEQ_CST)) rest(200);
}

/* The number of rows that do not match the result. */
static int wrong_rows(const call *c, reid_result result) {
    static const float zero[DIM];
    int wrong = 0;
    for (int i = 0; i < c->request.n; i++) {
        const float *row = result == REID_OK ? want[(c->first + i) % PICTURES] : zero;
        wrong += memcmp(c->out[i], row, sizeof zero) != 0;
    }
    return wrong;
}

static void expect(const call *c, reid_result result) {
    await(c);
    assert_int_equal(c->result, result);
    assert_int_equal(__atomic_load_n(&c->told, __ATOMIC_SEQ_CST), 1);
    assert_int_equal(wrong_rows(c, result), 0);
}

static reid_queue_stats stats_of(reid_queue *queue) {
    reid_queue_stats stats;
    assert_int_equal(reid_queue_query(queue, &stats), REID_OK);
    return stats;
}

/* A handle with one lane, whose first batch, of `plug`, waits at the closed gate. */
typedef struct jam {
    reid_ctx *ctx;
    reid_queue *queue;
    call plug;
} jam;

static void jam_open(jam *j, int batch, int limit) {
    j->ctx = create(&file, 2, 1, batch);
    j->queue = open_queue(j->ctx, 0, limit);
    gate_set(1);
    send(j->queue, &j->plug, 0, 1, 0, 0);
    gate_wait(1);
}

static void jam_close(jam *j) {
    gate_set(0);
    expect(&j->plug, REID_OK);
    reid_queue_destroy(j->queue, -1);
    reid_destroy(j->ctx);
}

/* --- the tests ---------------------------------------------------------------------------------------------------- */

/* Rows have the bits of a separate reid_embed, whatever their batch, priority and order. */
static void test_replay(void **state) {
    static call calls[CALLS];
    uint64_t images = 0;
    (void)state;
    for (int lanes = 1; lanes <= 2; lanes++) {
        reid_ctx *ctx = create(&file, lanes, lanes, 4);
        reid_queue *queue = open_queue(ctx, 0, 0);
        images = 0;
        for (int i = 0; i < CALLS; i++) {
            send(queue, &calls[i], i * 7 % PICTURES, 1 + i * 5 % MOST, i % 8 - 3, i % 3 ? 0 : 600000000);
            images += (uint64_t)calls[i].request.n;
            if (i % 10 == 9) {
                call waits;
                fill(&waits, i, 3, 0, 0);
                waits.request.done = NULL;
                assert_int_equal(submit(queue, &waits), REID_OK);
                assert_int_equal(wrong_rows(&waits, REID_OK), 0);
                images += 3;
            }
        }
        for (int i = 0; i < CALLS; i++) expect(&calls[i], REID_OK);
        reid_queue_stats s = stats_of(queue);
        assert_int_equal(s.requests, CALLS + CALLS / 10);
        assert_int_equal(s.images, images);
        assert_int_equal(s.computed, images);
        assert_true(s.batches >= images / 4 && s.batches < images); /* some were computed together */
        assert_int_equal(s.expired + s.cancelled + s.stopped + s.failed + s.full + s.late, 0);
        assert_true(s.compute_ns > 0 && s.latency_ns > 0 && s.queue_ns > 0);
        uint64_t counted = 0;
        for (int i = 0; i < REID_LATENCIES; i++) counted += s.latencies[i];
        assert_int_equal(counted, s.requests);
        reid_queue_destroy(queue, 0);
        reid_destroy(ctx);
    }
}

static void test_order(void **state) {
    jam j;
    call last, plain, soon, sooner, first, later;
    (void)state;
    jam_open(&j, 1, 0);
    send(j.queue, &last, 1, 2, 4, 0);
    send(j.queue, &plain, 2, 1, 0, 0);
    send(j.queue, &soon, 3, 2, 0, 600000000);
    send(j.queue, &sooner, 4, 1, 0, 500000000);
    send(j.queue, &first, 5, 2, -3, 0);
    send(j.queue, &later, 6, 1, 0, 0);
    assert_int_equal(stats_of(j.queue).waiting, 9);
    assert_int_equal(stats_of(j.queue).computing, 1);
    gate_set(0);
    const call *order[] = {&j.plug, &first, &sooner, &soon, &plain, &later, &last};
    for (int i = 0; i < 7; i++) expect(order[i], REID_OK);
    for (int i = 1; i < 7; i++) assert_true(order[i]->order > order[i - 1]->order);
    assert_int_equal(stats_of(j.queue).waiting, 0);
    jam_close(&j);
}

/* A request ends at its deadline although every lane computes; one that is being computed ends with its batch. */
static void test_deadlines(void **state) {
    jam j;
    call waits, waits_longer, computed, half;
    (void)state;
    j.ctx = create(&file, 2, 1, 2);
    j.queue = open_queue(j.ctx, 0, 0);
    gate_set(1);
    send(j.queue, &j.plug, 0, 1, 0, 0);
    gate_wait(1);
    int64_t begin = now_us();
    send(j.queue, &waits_longer, 1, 3, 0, 60000);
    send(j.queue, &waits, 2, 2, -3, 30000);
    expect(&waits, REID_ERR_EXPIRED);
    assert_true(now_us() - begin >= 30000);
    expect(&waits_longer, REID_ERR_EXPIRED);
    assert_true(now_us() - begin >= 60000);
    assert_int_equal(j.plug.told, 0);
    assert_int_equal(stats_of(j.queue).waiting, 0);
    gate_set(0);
    expect(&j.plug, REID_OK);
    gate_set(1);
    send(j.queue, &computed, 3, 1, -1, 500000); /* they start together or one after the other, and wait there */
    send(j.queue, &half, 4, 3, 0, 500000);
    gate_wait(1);
    while (stats_of(j.queue).expired < 4) rest(1000);
    assert_int_equal(computed.told, 0);
    gate_set(0);
    expect(&computed, REID_ERR_EXPIRED);
    expect(&half, REID_ERR_EXPIRED);
    assert_int_equal(stats_of(j.queue).expired, 4);
    jam_close(&j);
}

static void test_cancel(void **state) {
    jam j;
    call waits, stays;
    (void)state;
    jam_open(&j, 2, 0);
    send(j.queue, &waits, 1, 3, 0, 600000000);
    send(j.queue, &stays, 4, 2, 1, 0);
    assert_int_equal(reid_cancel(j.queue, waits.ticket), REID_OK);
    expect(&waits, REID_ERR_CANCELLED);
    assert_int_equal(reid_cancel(j.queue, waits.ticket), REID_ERR_TICKET);
    assert_int_equal(reid_cancel(j.queue, UINT64_MAX), REID_ERR_TICKET);
    assert_int_equal(reid_cancel(j.queue, 0), REID_ERR_INVALID_ARG);
    assert_int_equal(reid_cancel(NULL, 1), REID_ERR_INVALID_ARG);
    assert_int_equal(reid_cancel(j.queue, j.plug.ticket), REID_OK); /* it is being computed: its batch ends first */
    rest(20000);
    assert_int_equal(j.plug.told, 0);
    assert_int_equal(reid_cancel(j.queue, j.plug.ticket), REID_ERR_TICKET);
    gate_set(0);
    expect(&j.plug, REID_ERR_CANCELLED);
    expect(&stays, REID_OK);
    assert_int_equal(stats_of(j.queue).cancelled, 2);
    assert_int_equal(stats_of(j.queue).requests, 1);
    reid_queue_destroy(j.queue, -1);
    reid_destroy(j.ctx);
}

static void test_full(void **state) {
    jam j;
    call some, more, refused;
    reid_error error;
    (void)state;
    jam_open(&j, 1, 4);
    send(j.queue, &some, 1, 3, 0, 0);
    send(j.queue, &more, 4, 1, 0, 0);
    fill(&refused, 5, 1, -3, 0);
    assert_int_equal(reid_submit(j.queue, &refused.request, &refused.ticket, &error), REID_ERR_FULL);
    assert_says_all(error.text, "images waiting: 4; 1 more would exceed the limit 4");
    assert_true(refused.ticket == 0);
    refused.request.n = 5;
    assert_int_equal(reid_submit(j.queue, &refused.request, NULL, &error), REID_ERR_INVALID_ARG);
    assert_says_all(error.text, "5 images; the queue's limit is 4");
    assert_int_equal(reid_cancel(j.queue, more.ticket), REID_OK); /* which makes room */
    expect(&more, REID_ERR_CANCELLED);
    send(j.queue, &more, 5, 1, 0, 0);
    gate_set(0);
    expect(&some, REID_OK);
    expect(&more, REID_OK);
    assert_int_equal(refused.told, 0);
    assert_int_equal(stats_of(j.queue).full, 1);
    jam_close(&j);
}

/* No request that arrives after another has risen to the first level is served before it. */
static void test_ageing(void **state) {
    enum { FLOOD = 4000, AGEING = 4000 };
    static call flood[FLOOD];
    call old;
    reid_queue_desc desc = REID_INIT;
    reid_queue *queue;
    int sent = 0;
    (void)state;
    desc.ctx = create(&file, 1, 1, 1), desc.ageing_us = AGEING;
    assert_int_equal(reid_queue_create(&desc, &queue), REID_OK);
    for (; sent < 8; sent++) send(queue, &flood[sent], sent, 1, -3, 0);
    int64_t arrived = now_us();
    send(queue, &old, 1, 1, 4, 0);
    while (!__atomic_load_n(&old.told, __ATOMIC_SEQ_CST) && sent < FLOOD) { /* always some that are more urgent */
        reid_queue_stats s = stats_of(queue);
        if (s.waiting > 6) {
            rest(100);
            continue;
        }
        fill(&flood[sent], sent, 1, -3, 0);
        flood[sent].arrived = now_us();
        assert_int_equal(submit(queue, &flood[sent]), REID_OK);
        sent++;
    }
    expect(&old, REID_OK);
    for (int i = 0; i < sent; i++) {
        expect(&flood[i], REID_OK);
        if (flood[i].arrived > arrived + 8 * AGEING) assert_true(flood[i].order > old.order);
    }
    reid_queue_destroy(queue, -1);
    reid_destroy(desc.ctx);
}

/* A request that is half a second older comes before one of the next level, unless nothing ages. */
static void test_half_a_second(void **state) {
    (void)state;
    const int64_t ageing[3] = {0, -1, INT64_MIN + 1};
    for (int i = 0; i < 3; i++) {
        jam j;
        call old, urgent;
        reid_queue_desc desc = REID_INIT;
        desc.ctx = j.ctx = create(&file, 2, 1, 1), desc.ageing_us = ageing[i];
        assert_int_equal(reid_queue_create(&desc, &j.queue), REID_OK);
        gate_set(1);
        send(j.queue, &j.plug, 0, 1, 0, 0);
        gate_wait(1);
        send(j.queue, &old, 1, 1, 1, 0);
        rest(500000);
        send(j.queue, &urgent, 1, 1, 0, 0);
        gate_set(0);
        expect(&old, REID_OK);
        expect(&urgent, REID_OK);
        assert_int_equal(old.order < urgent.order, i == 0);
        jam_close(&j);
    }
}

/* An idle lane waits for a batch to fill, and no longer than until it is full. */
static void test_delay(void **state) {
    reid_queue_desc desc = REID_INIT;
    reid_queue *queue;
    call a, b, c;
    (void)state;
    desc.ctx = create(&file, 1, 1, 3), desc.delay_us = 100000000;
    assert_int_equal(reid_queue_create(&desc, &queue), REID_OK);
    send(queue, &a, 0, 1, 0, 0);
    send(queue, &b, 1, 1, 0, 0);
    rest(20000);
    assert_int_equal(a.told + b.told, 0);
    send(queue, &c, 2, 1, 0, 0);
    expect(&a, REID_OK);
    expect(&b, REID_OK);
    expect(&c, REID_OK);
    assert_int_equal(stats_of(queue).batches, 1);
    send(queue, &a, 3, 1, 0, 0);
    assert_int_equal(reid_queue_drain(queue, -1), REID_OK); /* does not wait for more images */
    expect(&a, REID_OK);
    reid_queue_destroy(queue, 0);
    desc.delay_us = 10000;
    assert_int_equal(reid_queue_create(&desc, &queue), REID_OK);
    int64_t begin = now_us();
    send(queue, &a, 3, 1, 0, 0);
    expect(&a, REID_OK);
    assert_true(now_us() - begin >= 10000);
    reid_queue_destroy(queue, 0);
    reid_destroy(desc.ctx);
}

static void test_refuse_late(void **state) {
    reid_queue_desc desc = REID_INIT;
    reid_queue *queue;
    reid_error error;
    call a;
    (void)state;
    desc.ctx = create(&file, 1, 1, 2), desc.refuse_late = 1;
    assert_int_equal(reid_queue_create(&desc, &queue), REID_OK);
    send(queue, &a, 0, 3, 0, 600000000); /* its pace is not known yet */
    expect(&a, REID_OK);
    fill(&a, 0, 3, 0, 1);
    assert_int_equal(reid_submit(queue, &a.request, &a.ticket, &error), REID_ERR_EXPIRED);
    assert_says_all(error.text, "it could not be finished in 1 us");
    assert_int_equal(stats_of(queue).late, 1);
    assert_int_equal(stats_of(queue).waiting, 0);
    fill(&a, 0, 1, 0, -5);
    assert_int_equal(reid_submit(queue, &a.request, NULL, &error), REID_ERR_EXPIRED);
    assert_says_all(error.text, "the deadline was 5 us ago");
    send(queue, &a, 0, 6, 0, 600000000);
    expect(&a, REID_OK);
    reid_queue_destroy(queue, 0);
    reid_destroy(desc.ctx);
}

/* An image without a direction fails only its own request, not the others in its batch. */
static void test_isolation(void **state) {
    const net_options gains = {.gain = 10.53f}; /* noise overflows with it, but grey does not */
    net_file net = net_for("efficientnet_b0", REID_HEAD_FILE, 6, &gains);
    static uint8_t grey[SIDE * SIDE * 3];
    reid_image pair[2] = {pictures[0], pictures[1]};
    float alone[DIM];
    reid_error error;
    call bad, good;
    (void)state;
    reid_ctx *ctx = create(&net, 2, 1, 4);
    free(net.bytes);
    memset(grey, 120, sizeof grey);
    pair[1].pixels = grey, pair[1].width = pair[1].height = SIDE;
    assert_int_equal(reid_embed(ctx, &pair[0], 1, alone), REID_ERR_EMBEDDING);
    assert_int_equal(reid_embed(ctx, &pair[1], 1, alone), REID_OK);
    reid_queue *queue = open_queue(ctx, 0, 0);
    call plug;
    gate_set(1);
    send(queue, &plug, 0, 1, 0, 0);
    gate_wait(1);
    fill(&bad, 0, 2, 0, 0);
    fill(&good, 0, 2, 0, 0);
    memcpy(bad.images, pair, sizeof pair);
    good.images[0] = good.images[1] = pair[1];
    assert_int_equal(submit(queue, &bad), REID_OK);
    assert_int_equal(submit(queue, &good), REID_OK);
    gate_set(0);
    await(&plug);
    assert_int_equal(plug.result, REID_ERR_EMBEDDING);
    expect(&bad, REID_ERR_EMBEDDING);
    await(&good);
    assert_int_equal(good.result, REID_OK);
    assert_memory_equal(good.out[0], alone, sizeof alone);
    assert_memory_equal(good.out[1], alone, sizeof alone);
    assert_int_equal(stats_of(queue).failed, 2);
    assert_int_equal(stats_of(queue).batches, 2); /* they were computed together */
    bad.request.done = NULL;
    assert_int_equal(reid_submit(queue, &bad.request, NULL, &error), REID_ERR_EMBEDDING);
    assert_says_all(error.text, reid_result_string(REID_ERR_EMBEDDING));
    assert_int_equal(error.code, REID_ERR_EMBEDDING);
    reid_queue_destroy(queue, 0);
    reid_destroy(ctx);
}

/* --- draining ----------------------------------------------------------------------------------------------------- */

static void *open_gate_soon(void *arg) {
    (void)arg;
    rest(30000);
    gate_set(0);
    return NULL;
}

static void test_drain(void **state) {
    jam j;
    call waits, late;
    pthread_t thread;
    (void)state;
    jam_open(&j, 1, 0);
    send(j.queue, &waits, 1, 2, 0, 0);
    assert_int_equal(pthread_create(&thread, NULL, open_gate_soon, NULL), 0);
    assert_int_equal(reid_queue_drain(j.queue, -1), REID_OK);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(j.plug.told + waits.told, 2);
    expect(&waits, REID_OK);
    fill(&late, 1, 1, 0, 0);
    assert_int_equal(submit(j.queue, &late), REID_ERR_STOPPING);
    assert_int_equal(late.told, 0);
    jam_close(&j);

    jam_open(&j, 1, 0);
    send(j.queue, &waits, 1, 2, 0, 600000000);
    assert_int_equal(pthread_create(&thread, NULL, open_gate_soon, NULL), 0);
    assert_int_equal(reid_queue_drain(j.queue, 0), REID_ERR_STOPPING);
    assert_int_equal(pthread_join(thread, NULL), 0);
    expect(&waits, REID_ERR_STOPPING);
    expect(&j.plug, REID_ERR_STOPPING);
    assert_int_equal(stats_of(j.queue).stopped, 2);
    reid_queue_destroy(j.queue, 0);
    reid_destroy(j.ctx);
    assert_int_equal(reid_queue_drain(NULL, 0), REID_ERR_INVALID_ARG);
    reid_queue_destroy(NULL, 0);
}

/* `done` may submit the next request. */
typedef struct chain {
    reid_queue *queue;
    call calls[12];
    int at;
} chain;

static void next_link(reid_result result, void *user) {
    chain *c = (chain *)user;
    call *mine = &c->calls[c->at];
    done(result, mine);
    if (c->at == 11) return;
    if (submit(c->queue, &c->calls[++c->at]) != REID_OK) abort();
}

static void test_chain(void **state) {
    static chain c;
    reid_ctx *ctx = create(&file, 1, 1, 2);
    (void)state;
    c.queue = open_queue(ctx, 0, 1); /* a request no longer takes up room when its `done` is called */
    for (int i = 0; i < 12; i++) {
        fill(&c.calls[i], i, 1, 0, 0);
        c.calls[i].request.done = next_link, c.calls[i].request.user = &c;
    }
    assert_int_equal(submit(c.queue, &c.calls[0]), REID_OK);
    for (int i = 0; i < 12; i++) expect(&c.calls[i], REID_OK);
    reid_queue_destroy(c.queue, -1);
    reid_destroy(ctx);
}

/* --- many threads ------------------------------------------------------------------------------------------------- */

#define THREADS 64

typedef struct submitter {
    pthread_t thread;
    reid_queue *queue;
    call calls[EACH];
    int index, accepted, refused, errors;
} submitter;

static void *submit_many(void *arg) {
    submitter *s = (submitter *)arg;
    for (int i = 0; i < EACH; i++) {
        call *c = &s->calls[i];
        int kind = (s->index + i) % 4;
        fill(c, s->index + i, 1 + (s->index + i) % AT_MOST, (s->index + i) % 8 - 3,
             kind == 1 ? 1 + 700 * (s->index + i) : 0);
        if (kind == 2) c->request.done = NULL;
        reid_result r = submit(s->queue, c);
        int refusal = r == REID_ERR_FULL || r == REID_ERR_STOPPING;
        if (kind == 2 && r == REID_OK) s->errors += wrong_rows(c, REID_OK);
        if (kind == 2 && r != REID_OK && !refusal) s->errors++;
        if (kind != 2 && r != REID_OK && !refusal) s->errors++;
        s->accepted += kind == 2 ? c->ticket != 0 : r == REID_OK;
        if (kind == 3 && r == REID_OK) {
            r = reid_cancel(s->queue, c->ticket);
            s->errors += r != REID_OK && r != REID_ERR_TICKET;
        }
        s->refused += refusal && c->ticket == 0;
    }
    return NULL;
}

/* Drains the queue after drain_after microseconds (0: when all threads have submitted everything). */
static void many(int drain_after, int drain_ms, int lanes, int limit) {
    static submitter all[THREADS];
    uint64_t accepted = 0, told = 0, refused = 0;
    reid_ctx *ctx = create(&file, 1, lanes, 4);
    reid_queue *queue = open_queue(ctx, 0, limit);
    memset(all, 0, sizeof all);
    for (int i = 0; i < THREADS; i++) {
        all[i].queue = queue, all[i].index = i;
        assert_int_equal(pthread_create(&all[i].thread, NULL, submit_many, &all[i]), 0);
    }
    if (drain_after) {
        rest(drain_after);
        reid_result r = reid_queue_drain(queue, drain_ms);
        assert_true(r == REID_OK || r == REID_ERR_STOPPING);
    }
    for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_join(all[i].thread, NULL), 0);
    assert_int_equal(reid_queue_drain(queue, drain_after ? drain_ms : -1), REID_OK);
    reid_queue_stats s = stats_of(queue);
    reid_queue_destroy(queue, drain_ms);
    reid_destroy(ctx);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(all[i].errors, 0);
        accepted += (uint64_t)all[i].accepted, refused += (uint64_t)all[i].refused;
        for (int k = 0; k < EACH; k++) {
            const call *c = &all[i].calls[k];
            int waits = c->request.n && !c->request.done;
            told += (uint64_t)(c->told + (waits && c->ticket));
            if (c->request.done) assert_int_equal(c->told, c->ticket != 0);
            if (c->told) assert_int_equal(wrong_rows(c, c->result), 0);
        }
    }
    assert_int_equal(told, accepted);
    assert_int_equal(accepted + refused, THREADS * EACH);
    assert_int_equal(s.requests + s.expired + s.cancelled + s.stopped, accepted);
    assert_int_equal(s.failed + (uint64_t)s.waiting + (uint64_t)s.computing, 0);
    if (!drain_after) assert_int_equal(s.full, refused);
}

static void test_many_threads(void **state) {
    (void)state;
    many(0, -1, 2, 0);
    many(0, -1, 1, 8);
}

static void test_drain_at_any_moment(void **state) {
    (void)state;
    for (int i = 1; i <= MOMENTS; i++) many(i * i * 900, i % 2 ? 0 : 5, 1 + i % 2, 0);
}

/* --- refusals ----------------------------------------------------------------------------------------------------- */

static void no_queue(reid_queue_desc desc, reid_result want_result, const char *text) {
    reid_queue *queue = (reid_queue *)&desc;
    reid_error error;
    desc.error = &error;
    assert_int_equal(reid_queue_create(&desc, &queue), want_result);
    assert_null(queue);
    assert_says_all(error.text, text);
    desc.error = NULL;
    assert_int_equal(reid_queue_create(&desc, &queue), want_result);
}

static void no_request(reid_queue *queue, reid_request request, reid_result want_result, const char *text) {
    reid_ticket ticket = 7;
    reid_error error;
    assert_int_equal(reid_submit(queue, &request, &ticket, &error), want_result);
    assert_says_all(error.text, text);
    assert_true(ticket == 0);
    assert_int_equal(reid_submit(queue, &request, NULL, NULL), want_result);
}

static void test_refusals(void **state) {
    reid_ctx *ctx = create(&file, 1, 1, 4);
    reid_queue_desc good = REID_INIT, d;
    reid_queue_stats stats;
    reid_queue *queue;
    call c;
    (void)state;
    good.ctx = ctx;
    d = good, d.ctx = NULL;
    no_queue(d, REID_ERR_INVALID_ARG, "desc.ctx is NULL");
    d = good, d.batch = 5;
    no_queue(d, REID_ERR_INVALID_ARG, "desc.batch is 5; it must be 0 to 4, the handle's");
    d = good, d.batch = -1;
    no_queue(d, REID_ERR_INVALID_ARG, "desc.batch is -1; it must be 0 to 4, the handle's");
    d = good, d.limit = (1 << 20) + 1;
    no_queue(d, REID_ERR_INVALID_ARG, "desc.limit is 1048577; it must be 0 to 1048576");
    d = good, d.delay_us = -1;
    no_queue(d, REID_ERR_INVALID_ARG, "desc.delay_us is -1 (0 to 10^9), desc.ageing_us 0 (to 10^12)");
    d = good, d.ageing_us = 1000000000001;
    no_queue(d, REID_ERR_INVALID_ARG, "desc.delay_us is 0 (0 to 10^9), desc.ageing_us 1000000000001 (to 10^12)");
    assert_int_equal(reid_queue_create(&good, NULL), REID_ERR_INVALID_ARG);
    assert_int_equal(reid_queue_create(NULL, &queue), REID_ERR_INVALID_ARG);
    assert_null(queue);

    queue = open_queue(ctx, 0, 0);
    const char *needed = "a queue, a request, n >= 1, images and out are needed";
    fill(&c, 0, 1, 0, 0);
    no_request(NULL, c.request, REID_ERR_INVALID_ARG, needed);
    assert_int_equal(reid_submit(queue, NULL, NULL, NULL), REID_ERR_INVALID_ARG);
    c.request.n = 0;
    no_request(queue, c.request, REID_ERR_INVALID_ARG, needed);
    fill(&c, 0, 1, 0, 0), c.request.out = NULL;
    no_request(queue, c.request, REID_ERR_INVALID_ARG, needed);
    fill(&c, 0, 1, 0, 0), c.request.images = NULL;
    no_request(queue, c.request, REID_ERR_INVALID_ARG, needed);
    fill(&c, 0, 1, 5, 0);
    no_request(queue, c.request, REID_ERR_INVALID_ARG, "priority is 5; it must be -3 to 4");
    fill(&c, 0, 1, -4, 0);
    no_request(queue, c.request, REID_ERR_INVALID_ARG, "priority is -4; it must be -3 to 4");
    fill(&c, 0, 1, 0, INT64_MIN);
    no_request(queue, c.request, REID_ERR_EXPIRED, "the deadline was 9223372036854775808 us ago");
    fill(&c, 0, 2, 0, 0), c.images[1].width = 0;
    assert_int_equal(submit(queue, &c), REID_ERR_IMAGE);
    const reid_box outside = {SIDE, 0, 5, 5};
    fill(&c, 0, 2, 0, 0), c.images[1].box = &outside;
    assert_int_equal(submit(queue, &c), REID_ERR_BOX);
    assert_int_equal(c.told, 0);
    assert_int_equal(reid_queue_query(queue, NULL), REID_ERR_INVALID_ARG);
    assert_int_equal(reid_queue_query(NULL, &stats), REID_ERR_INVALID_ARG);
    stats = stats_of(queue);
    assert_int_equal(stats.lanes, 1);
    assert_int_equal(stats.batch, 4);
    assert_int_equal(stats.limit, 1024);
    assert_int_equal(stats.requests + stats.batches + stats.full, 0);
    reid_queue_destroy(queue, 0);
    reid_destroy(ctx);
}

static void test_bounds(void **state) {
    (void)state;
    assert_int_equal(reid_latency_bound(-1), 0);
    assert_int_equal(reid_latency_bound(0), 1250);
    assert_int_equal(reid_latency_bound(3), 2000);
    assert_int_equal(reid_latency_bound(43), 2048000);
    assert_true(reid_latency_bound(REID_LATENCIES - 1) == UINT64_MAX);
    assert_true(reid_latency_bound(INT32_MAX) == UINT64_MAX);
    for (int i = 1; i < REID_LATENCIES; i++) assert_true(reid_latency_bound(i) > reid_latency_bound(i - 1));
}

static void test_fork(void **state) {
    reid_ctx *ctx = create(&file, 1, 1, 4);
    reid_queue *queue = open_queue(ctx, 0, 0);
    reid_queue_stats stats;
    call c;
    (void)state;
    send(queue, &c, 0, 1, 0, 0);
    expect(&c, REID_OK);
    pid_t child = fork();
    if (child == 0) {
        reid_queue_desc desc = REID_INIT;
        reid_queue *other;
        desc.ctx = ctx;
        int wrong = submit(queue, &c) != REID_ERR_FORKED || reid_cancel(queue, 1) != REID_ERR_FORKED ||
                    reid_queue_query(queue, &stats) != REID_ERR_FORKED ||
                    reid_queue_drain(queue, -1) != REID_ERR_FORKED ||
                    reid_queue_create(&desc, &other) != REID_ERR_FORKED;
        reid_queue_destroy(queue, -1);
        _exit(wrong);
    }
    int status = 1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    send(queue, &c, 3, 2, 0, 0);
    expect(&c, REID_OK);
    reid_queue_destroy(queue, 0);
    reid_destroy(ctx);
}

int main(int argc, char **argv) { /* an argument: this test alone */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_replay),      cmocka_unit_test(test_order),
        cmocka_unit_test(test_deadlines),   cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_full),        cmocka_unit_test(test_ageing),
        cmocka_unit_test(test_half_a_second), cmocka_unit_test(test_delay),
        cmocka_unit_test(test_refuse_late), cmocka_unit_test(test_isolation),
        cmocka_unit_test(test_drain),       cmocka_unit_test(test_chain),
        cmocka_unit_test(test_many_threads), cmocka_unit_test(test_drain_at_any_moment),
        cmocka_unit_test(test_refusals),    cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_fork),
    };
    file = net_for("efficientnet_b0", REID_HEAD_FILE, 6, NULL);
    uint8_t *pixels = net_pixels(PICTURES, SIDE, SIDE, 6);
    for (int i = 0; i < PICTURES; i++) pictures[i] = net_image(pixels, i, SIDE, SIDE);
    reid_ctx *ctx = create(&file, 1, 1, 1);
    if (reid_dim(ctx) != DIM || reid_embed(ctx, pictures, PICTURES, want[0]) != REID_OK) return 1;
    reid_destroy(ctx);
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    alarm(280); /* a lost wake-up must not hang the test for ever */
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    free(pixels);
    free(file.bytes);
    return failed;
}
