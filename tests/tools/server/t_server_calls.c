/* t_server_calls.c: the server's room without HTTP: calls of every kind while each of their allocations is refused in
   turn, and then all that follow; hundreds at once, of which some are given up; time-outs, drains; models that are
   opened on demand, unloaded and loaded under way. Every call is over
   exactly once, with its own answer or with an error that says why, and nothing stays behind. A run takes a share of
   the allocations that REID_SEED chooses; REID_ALL=1 takes all.

   cc -std=c99 -D_GNU_SOURCE -O1 -I. -Itools tests/tools/server/t_server_calls.c tests/lib/test_impl.c tools/base/*.c
      tools/pictures/*.c tools/weights/*.c tools/embedding/*.c tools/gallery/*.c tools/tracks/*.c tools/scores/*.c
      tools/evaluate/*.c tools/journal/*.c tools/groups/*.c tools/heads/*.c tools/server/answer.c tools/server/call.c
      tools/server/form.c tools/server/job.c tools/server/keeper.c tools/server/mailbox.c tools/server/pool.c
      tools/server/repository.c tools/server/request.c tools/server/service.c
      -o build/t_server_calls -lcmocka -lm -lpthread -ldl
      -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc */
#include "reid.h"

#include "../../lib/test_net.h"
#include "base/clock.h"
#include "base/say.h"
#include "server/keeper.h"
#include "server/mailbox.h"

#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <time.h>

#include <cmocka.h>
#include "../../lib/test_refusals.h"
#include "../../lib/test_says.h"

/* --- the service -------------------------------------------------------------------------------------------------- */

enum { SIDE = 16, KINDS = 7, FORM = 5, INDEX = 6, PATH = 256 };

static net_file weights;
static service served, *asked = &served; /* asked: the service that `start` calls */
static char folder[PATH];
static text bodies[KINDS], answers[KINDS];
static size_t json_lens[KINDS];

static void ppm(text *t, int width, int height, unsigned seed) {
    text_printf(t, "P6\n%d %d\n255\n", width, height);
    for (int i = 0; i < width * height * 3; i++) text_putc(t, (int)((seed = seed * 1103515245u + 12345u) >> 16 & 255));
}

static reid_desc small_model(void) {
    reid_desc desc = REID_INIT;
    desc.weights_data = weights.bytes, desc.weights_size = weights.size;
    desc.network = "efficientnet_b0", desc.height = SIDE, desc.width = SIDE;
    desc.device = REID_DEVICE_CPU, desc.threads = 1, desc.batch = 4;
    return desc;
}

static void open_service(service *s, long long delay_us) {
    static const char *const names[] = {"one"};
    const reid_desc desc = small_model();
    gallery_request g = {folder, 0, {1, 1000000}};
    service_request r;
    memset(&r, 0, sizeof r);
    r.models = &desc, r.names = names, r.count = 1;
    r.decode.threads = 3, r.decode.max_pixels = 10000;
    r.gallery = &g, r.top = 2, r.threshold = 0.5, r.delay_us = delay_us, r.timed = 1;
    assert_true(service_open(s, &r));
}

/* Base64; the number of bytes must be a multiple of 3. */
static void add_base64(text *t, const text *bytes) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i + 2 < bytes->len; i += 3) {
        const unsigned char *b = (const unsigned char *)bytes->s + i;
        unsigned v = (unsigned)b[0] << 16 | (unsigned)b[1] << 8 | b[2];
        for (int k = 18; k >= 0; k -= 6) text_putc(t, digits[v >> k & 63]);
    }
}

static void make_bodies(void) {
    text picture = TEXT_INIT, photograph = TEXT_INIT; /* which has more pixels than the network's input */
    ppm(&picture, 13, 11, 5); /* 13 bytes of header, 429 of pixels */
    ppm(&photograph, 60, 50, 6);
    while (picture.len % 3) text_putc(&picture, 0);
    while (photograph.len % 3) text_putc(&photograph, 0);
    text_puts(&bodies[0], "{\"inputs\":[{\"name\":\"pixels\",\"datatype\":\"UINT8\",\"shape\":[3,2,2,3],\"parameters\":"
                          "{\"binary_data_size\":36}}],\"parameters\":{\"binary_data_output\":true}}");
    json_lens[0] = bodies[0].len;
    text_puts(&bodies[0], "abcdefghijklmnopqrstuvwxyz0123456789");
    text_puts(&bodies[1], "{\"id\":\"i\",\"inputs\":"
                          "[{\"name\":\"image\",\"datatype\":\"BYTES\",\"shape\":[2],\"data\":[\"");
    add_base64(&bodies[1], &photograph);
    text_puts(&bodies[1], "\",\"");
    add_base64(&bodies[1], &photograph);
    text_puts(&bodies[1], "\"]}]}");
    json_lens[1] = bodies[1].len;
    for (int i = 2; i < FORM; i++) text_join(&bodies[i], i == 3 ? &picture : &photograph);
    text_puts(&bodies[FORM], "--b\r\nContent-Disposition: form-data; name=file\r\n\r\n");
    text_join(&bodies[FORM], &photograph);
    text_puts(&bodies[FORM], "\r\n--b\r\nContent-Disposition: form-data; name=\"priority\"\r\n\r\n1\r\n--b--\r\n");
    text_puts(&bodies[INDEX], "{\"ready\":true}");
    text_free(&picture);
    text_free(&photograph);
}

/* --- calls -------------------------------------------------------------------------------------------------------- */

static mailbox finished;

typedef struct waiting {
    call *c;
    int done;  /* how often it was over */
    int taken; /* out of the mailbox */
} waiting;

static void on_done(call *c, void *user) {
    waiting *w = user;
    if (__atomic_add_fetch(&w->done, 1, __ATOMIC_SEQ_CST) == 1) mailbox_put(&finished, c);
}

/* Returns 0 when there is no memory even for that. */
static int start(waiting *w, int kind, long long timeout_us) {
    static const call_kind kinds[KINDS] = {CALL_INFER, CALL_INFER, CALL_EMBED, CALL_MATCH, CALL_MATCH, CALL_EMBED,
                                           CALL_INDEX};
    static const char *const queries[KINDS] = {[2] = "box=1,1,5,5&box=0,0,9,9&priority=0", [3] = "top=1"};
    memset(w, 0, sizeof *w);
    w->c = call_create(asked);
    if (!w->c) return 0;
    w->c->kind = kinds[kind], w->c->json_len = json_lens[kind];
    w->c->arrived = clock_seconds(), w->c->timeout_us = timeout_us;
    w->c->done = on_done, w->c->user = w;
    text_join(&w->c->body, &bodies[kind]);
    if (queries[kind]) text_puts(&w->c->query, queries[kind]);
    if (kind == FORM) text_puts(&w->c->boundary, "b");
    if (text_failed(&w->c->body) || text_failed(&w->c->query) || text_failed(&w->c->boundary)) {
        call_free(w->c);
        w->c = NULL;
        return 0;
    }
    call_start(w->c);
    return 1;
}

static int is_readable(const mailbox *m, int ms) {
    struct pollfd told = {m->fd, POLLIN, 0};
    return poll(&told, 1, ms) == 1;
}

static void wait_for(const waiting *w) {
    while (!w->taken) {
        assert_true(is_readable(&finished, 60000));
        for (call *c = mailbox_take(&finished); c; c = c->next) ((waiting *)c->user)->taken++;
    }
}

/* 1 if the whole answer is the expected one, with its binary part if it has one. */
static int is_answer(const call *c, int kind) {
    return c->status == STATUS_OK && !text_failed(&c->answer) && c->answer.len == answers[kind].len &&
           memcmp(c->answer.s, answers[kind].s, answers[kind].len) == 0;
}

static int beside; /* jobs that exist all the time */

static void nothing_is_left(void) {
    assert_int_equal(service_jobs(&served), beside);
    assert_int_equal(__atomic_load_n(&served.shared->held, __ATOMIC_SEQ_CST), 0);
    assert_int_equal(__atomic_load_n(&served.model[0]->pending, __ATOMIC_SEQ_CST), 0);
}

/* Makes one call in which allocation number `at` fails. Returns 1 if the call made that many. */
static int try_refusing(int kind, long at, int rest) {
    waiting w;
    refuse_from(at, rest);
    int started = start(&w, kind, 0);
    if (started) wait_for(&w);
    int reached = __atomic_load_n(&refusal.calls, __ATOMIC_SEQ_CST) >= at;
    refuse_from(0, 0);
    if (!started) return reached;
    assert_int_equal(w.done, 1);
    if (!is_answer(w.c, kind)) {
        if (w.c->status != STATUS_BUSY || !says(w.c->answer.s, "memory"))
            fail_msg("allocation %ld of kind %d: %d %s", at, kind, w.c->status, w.c->answer.s);
    }
    call_free(w.c);
    nothing_is_left();
    return reached;
}

static void memory_is_refused(void **state) {
    const char *every = getenv("REID_ALL"), *seed = getenv("REID_SEED");
    int all = every && *every == '1', step = all ? 1 : 18, first = all || !seed ? 1 : 1 + (int)(atol(seed) % step);
    call *other = call_create(&served); /* so that photographs do not stay large */
    (void)state;
    assert_non_null(other);
    beside = 1;
    for (int kind = 0; kind < KINDS; kind++)
        for (int rest = 0; rest < 2; rest++)
            for (long at = first; try_refusing(kind, at, rest) && at < 5000;) at += step;
    for (int kind = 0; kind < KINDS; kind++) assert_int_equal(try_refusing(kind, 1L << 40, 0), 0);
    call_free(other);
    beside = 0;
}

static void many_at_once(void **state) {
    enum { CALLS = 300 };
    static waiting calls[CALLS];
    unsigned seed = 9;
    int cancelled = 0, answered = 0;
    (void)state;
    for (int i = 0; i < CALLS; i++) {
        assert_true(start(&calls[i], i % KINDS, 0));
        int victim = (int)((seed = seed * 1103515245u + 12345u) >> 16) % (i + 1);
        if (i % 3 == 0) call_cancel(calls[victim].c), call_cancel(calls[i].c);
    }
    for (int i = 0; i < CALLS; i++) {
        wait_for(&calls[i]);
        assert_int_equal(calls[i].done, 1);
        if (is_answer(calls[i].c, i % KINDS)) answered++;
        else if (strstr(calls[i].c->answer.s, "cancelled")) cancelled++;
        else fail_msg("call %d: %d %s", i, calls[i].c->status, calls[i].c->answer.s);
        call_free(calls[i].c);
    }
    assert_true(answered > CALLS / 4 && cancelled > 0);
    nothing_is_left();
}

/* A batch of four requests of these kinds, filled by the last one. Returns the bytes held while they wait. */
static void wait_and_hold(service *slow, const int *kinds, const int *held, int count) {
    waiting calls[4];
    for (int i = 0, images = 0; i < count; i++) {
        reid_queue_stats q = {.waiting = 0};
        assert_true(start(&calls[i], kinds[i], 0));
        images += kinds[i] == 1 ? 2 : 1;
        while (i < count - 1 && q.waiting < images)
            assert_int_equal(reid_queue_query(slow->model[0]->queue, &q), REID_OK);
        if (i < count - 1) assert_int_equal(__atomic_load_n(&slow->shared->held, __ATOMIC_SEQ_CST), held[i]);
    }
    for (int i = 0; i < count; i++) {
        wait_for(&calls[i]);
        assert_true(is_answer(calls[i].c, kinds[i]));
        call_free(calls[i].c);
    }
    assert_int_equal(__atomic_load_n(&slow->shared->held, __ATOMIC_SEQ_CST), 0);
}

/* A waiting image takes the memory of the network's input, not of a photograph, unless it is a single one. */
static void photographs_wait_small(void **state) {
    enum { PIXELS = 3 * 60 * 50, INPUT = 3 * SIDE * SIDE, TENSOR = 1, ONE = 4 };
    static service slow;
    (void)state;
    open_service(&slow, 600000000); /* waits until the batch is full */
    asked = &slow;
    wait_and_hold(&slow, (int[]){ONE, ONE, ONE, ONE}, (int[]){PIXELS, PIXELS + INPUT, PIXELS + 2 * INPUT}, 4);
    wait_and_hold(&slow, (int[]){TENSOR, ONE, ONE}, (int[]){2 * INPUT, 3 * INPUT}, 3);
    asked = &served;
    service_close(&slow);
}

static void mailbox_keeps_order(void **state) {
    mailbox m;
    call three[3];
    (void)state;
    assert_true(mailbox_open(&m));
    assert_null(mailbox_take(&m));
    for (int i = 0; i < 3; i++) mailbox_put(&m, &three[i]);
    assert_true(is_readable(&m, 0));
    const call *c = mailbox_take(&m);
    for (int i = 0; i < 3; i++, c = c->next) assert_ptr_equal(c, &three[i]);
    assert_null(c);
    assert_false(is_readable(&m, 0));
    mailbox_wake(&m);
    assert_true(is_readable(&m, 0));
    assert_null(mailbox_take(&m));
    assert_false(is_readable(&m, 0));
    mailbox_close(&m);
}

static void time_is_up(void **state) {
    waiting w;
    (void)state;
    for (int kind = 0; kind < INDEX; kind++) {
        assert_true(start(&w, kind, 1));
        wait_for(&w);
        assert_int_equal(w.c->status, STATUS_EXPIRED);
        if (strncmp(w.c->answer.s, "{\"error\": \"timeout: the deadline ", 33) != 0)
            fail_msg("kind %d: %s", kind, w.c->answer.s);
        call_free(w.c);
    }
    nothing_is_left();
}

/* --- models on demand --------------------------------------------------------------------------------------------- */

enum { MODELS = 3 };

static void use_service(service *s, void *user) {
    (void)user;
    asked = s;
}

static void wake_nobody(void) {}

/* The keeper of three equal models, with memory for two of them. */
static keeper *open_keeper(int lazy, size_t memory) {
    static const char *const names[MODELS] = {"one", "two", "three"};
    static reid_desc descs[MODELS];
    keeper_request r;
    memset(&r, 0, sizeof r);
    for (int i = 0; i < MODELS; i++) descs[i] = small_model();
    r.r.models = descs, r.r.names = names, r.r.count = MODELS, r.r.memory = memory;
    r.r.decode.threads = 3, r.r.decode.max_pixels = 10000, r.r.timed = 1;
    r.lazy = lazy, r.control = 1, r.use = use_service, r.wake = wake_nobody;
    keeper *k = keeper_open(&r);
    assert_non_null(k);
    asked = keeper_now(k);
    return k;
}

/* Starts a call about one model. */
static void start_for(waiting *w, call_kind kind, int model) {
    memset(w, 0, sizeof *w);
    w->c = call_create(asked);
    assert_non_null(w->c);
    w->c->kind = kind, w->c->index = model, w->c->json_len = json_lens[0];
    w->c->arrived = clock_seconds();
    w->c->done = on_done, w->c->user = w;
    text_puts(&w->c->body, "");
    if (kind == CALL_INFER) text_join(&w->c->body, &bodies[0]);
    call_start(w->c);
}

static int end_of(keeper *k, waiting *w) {
    while (!w->taken) {
        keeper_work(k);
        if (!is_readable(&finished, 1)) continue;
        for (call *c = mailbox_take(&finished); c; c = c->next) ((waiting *)c->user)->taken++;
    }
    assert_int_equal(w->done, 1);
    return w->c->status;
}

static void ask_one(keeper *k, call_kind kind, int model, int status) {
    waiting w;
    start_for(&w, kind, model);
    if (end_of(k, &w) != status) fail_msg("%d, not %d: %s", w.c->status, status, w.c->answer.s);
    call_free(w.c);
}

static model_view view_of(int model) {
    model_view v;
    service_view(asked, model, &v);
    text_free(&v.reason);
    return v;
}

static void close_keeper(keeper *k) {
    keeper_work(k);
    assert_false(keeper_waits(k));
    keeper_close(k);
    asked = &served;
}

/* Many first requests at once open a model once, and all get its rows; other models are not opened. */
static void first_requests_open_once(void **state) {
    enum { CALLS = 60 };
    static waiting calls[CALLS];
    keeper *k = open_keeper(1, 0);
    (void)state;
    assert_int_equal(view_of(1).opened, 0);
    for (int i = 0; i < CALLS; i++) start_for(&calls[i], CALL_INFER, 1);
    for (int i = 0; i < CALLS; i++) {
        assert_int_equal(end_of(k, &calls[i]), STATUS_OK);
        assert_non_null(strstr(calls[i].c->answer.s, "\"model_name\": \"two\""));
        call_free(calls[i].c);
    }
    assert_int_equal(view_of(1).opened, 1);
    assert_null(asked->model[0]);
    ask_one(k, CALL_MODEL, 0, STATUS_OK);
    assert_int_equal(view_of(0).opened, 1);
    close_keeper(k);
}

/* Calls that have begun are finished by the model that they found, whatever happens to it. */
static void changes_lose_nothing(void **state) {
    enum { ROUNDS = 12, CALLS = 20 };
    static waiting calls[CALLS];
    keeper *k = open_keeper(0, 0);
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        waiting change;
        for (int i = 0; i < CALLS; i++) start_for(&calls[i], CALL_INFER, i % 2);
        start_for(&change, round % 2 ? CALL_LOAD : CALL_UNLOAD, 1);
        if (round % 3 == 2 && !keeper_has_old(k)) assert_true(keeper_reload(k));
        assert_int_equal(end_of(k, &change), STATUS_OK);
        call_free(change.c);
        for (int i = 0; i < CALLS; i++) {
            const int status = end_of(k, &calls[i]), was_unloaded = round % 2 && i % 2;
            if (status != STATUS_OK && !(was_unloaded && status == STATUS_BUSY))
                fail_msg("round %d, call %d: %d %s", round, i, status, calls[i].c->answer.s);
            call_free(calls[i].c);
        }
        keeper_work(k);
        assert_int_equal(view_of(1).state, round % 2 ? MODEL_READY : MODEL_UNAVAILABLE);
        if (!(round % 2)) ask_one(k, CALL_INFER, 1, STATUS_BUSY);
    }
    close_keeper(k);
}

/* What is idle for longest makes room; what is never large enough is refused, by requests and when loading. */
static void idle_models_make_room(void **state) {
    keeper *k = open_keeper(1, 0);
    (void)state;
    ask_one(k, CALL_INFER, 0, STATUS_OK);
    const size_t one = service_model_bytes(asked->model[0]);
    close_keeper(k);
    k = open_keeper(1, one * 5 / 2);
    for (int i = 0; i < MODELS; i++) ask_one(k, CALL_INFER, i, STATUS_OK);
    assert_null(asked->model[0]);
    assert_int_equal(view_of(0).made_room, 1);
    assert_int_equal(view_of(0).state, MODEL_READY);
    ask_one(k, CALL_INFER, 1, STATUS_OK);
    ask_one(k, CALL_INFER, 0, STATUS_OK);
    assert_null(asked->model[2]);
    close_keeper(k);
    k = open_keeper(1, one / 4);
    ask_one(k, CALL_INFER, 0, STATUS_BUSY);
    ask_one(k, CALL_LOAD, 0, STATUS_NO_ROOM);
    assert_int_equal(view_of(0).state, MODEL_UNAVAILABLE);
    close_keeper(k);
}

/* The end: calls that wait for a model are refused when they can wait no longer, and later ones at once. */
static void waiting_calls_end(void **state) {
    waiting w;
    keeper *k = open_keeper(1, 0);
    (void)state;
    start_for(&w, CALL_INFER, 2);
    keeper_stop(k);
    keeper_give_up(k);
    assert_int_equal(end_of(k, &w), STATUS_BUSY);
    assert_says_all(w.c->answer.s, "{\"error\": \"the server is stopping\"}\n");
    call_free(w.c);
    close_keeper(k);
}

/* The last test: accepted requests are finished, later ones are refused. */
static void it_stops(void **state) {
    enum { CALLS = 40 };
    static waiting calls[CALLS];
    waiting late;
    (void)state;
    for (int i = 0; i < CALLS; i++) assert_true(start(&calls[i], i % KINDS, 0));
    service_stop(&served);
    assert_true(start(&late, 0, 0));
    wait_for(&late);
    assert_int_equal(late.c->status, STATUS_BUSY);
    assert_says_all(late.c->answer.s, "{\"error\": \"the server is stopping\"}\n");
    call_free(late.c);
    service_give_up(&served);
    for (int i = 0; i < CALLS; i++) {
        wait_for(&calls[i]);
        if (!is_answer(calls[i].c, i % KINDS)) {
            assert_int_equal(calls[i].c->status, STATUS_BUSY);
            assert_says_all(calls[i].c->answer.s, "{\"error\": \"the queue is stopping\"}\n");
        }
        call_free(calls[i].c);
    }
    nothing_is_left();
}

static int set_up(void **state) {
    const char *root = getenv("TMPDIR");
    (void)state;
    snprintf(folder, sizeof folder, "%s/t_server_calls.XXXXXX", root ? root : "/tmp");
    assert_non_null(mkdtemp(folder));
    for (int i = 0; i < 2; i++) {
        char path[PATH + 32];
        text picture = TEXT_INIT;
        snprintf(path, sizeof path, "%s/%c.ppm", folder, 'a' + i);
        ppm(&picture, 9, 7, (unsigned)i);
        FILE *f = fopen(path, "wb");
        assert_non_null(f);
        assert_int_equal(fwrite(picture.s, 1, picture.len, f), picture.len);
        assert_int_equal(fclose(f), 0);
        text_free(&picture);
    }
    weights = net_for("efficientnet_b0", REID_HEAD_NONE, 7, NULL);
    open_service(&served, 0);
    assert_true(mailbox_open(&finished));
    make_bodies();
    for (int kind = 0; kind < KINDS; kind++) { /* alone, with all the memory there is */
        waiting w;
        assert_true(start(&w, kind, 0));
        wait_for(&w);
        assert_int_equal(w.c->status, STATUS_OK);
        text_join(&answers[kind], &w.c->answer);
        call_free(w.c);
    }
    return 0;
}

static int tear_down(void **state) {
    char command[PATH + 16];
    (void)state;
    service_close(&served);
    mailbox_close(&finished);
    free(weights.bytes);
    for (int i = 0; i < KINDS; i++) text_free(&bodies[i]), text_free(&answers[i]);
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_refused),
        cmocka_unit_test(many_at_once),
        cmocka_unit_test(photographs_wait_small),
        cmocka_unit_test(mailbox_keeps_order),
        cmocka_unit_test(time_is_up),
        cmocka_unit_test(first_requests_open_once),
        cmocka_unit_test(changes_lose_nothing),
        cmocka_unit_test(idle_models_make_room),
        cmocka_unit_test(waiting_calls_end),
        cmocka_unit_test(it_stops),
    };
    say_setup(SAY_QUIET);
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
