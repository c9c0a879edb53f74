#include "server/keeper.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/say.h"
#include "server/call.h"
#include "server/mailbox.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* For so many seconds after a failure, requests do not try to open the model again: the first is for lack of memory,
   which may soon be free, the second for other reasons. */
static const double SHORT_REST = 0.2, REST = 5;

enum { SAID = 1024 }; /* bytes of the reason why a model could not be opened */

/* A model, open or not. The lock protects what other threads read. */
typedef struct kept {
    int loading, unloaded;    /* unloaded: by a client, so that requests do not open it again */
    char said[SAID];          /* why it could not be opened the last time, else "" */
    double rests_until;       /* requests do not open it before */
    uint64_t opened, failed, made_room;
    /* Used only by the owner's thread. */
    call *first, *last;       /* the calls that wait for it */
    size_t tried;             /* bytes in use when there was no room for it; SIZE_MAX: not tried yet */
    long long since;          /* when it was opened, as service_model.last */
} kept;

/* A service that finishes its requests. */
typedef struct old_service {
    service *s;
    struct old_service *next;
} old_service;

struct keeper {
    service_keeper face; /* what services know of it */
    keeper_request q;
    char *wanted;
    kept *model;       /* [q.r.count] */
    service *now;
    old_service *old;
    mailbox asked;
    int shut;          /* 1: no more calls are taken; protected by the lock */
    pthread_mutex_t lock;
};

/* --- services ----------------------------------------------------------------------------------------------------- */

static void free_service(service *s) {
    if (!s) return;
    service_close(s);
    free(s);
}

/* Closes old services that have no requests left. What they free lies between what is still in use, so that alone does
   not make the process smaller. */
static void sweep(keeper *k) {
    int any = 0;
    for (old_service **at = &k->old; *at;) {
        old_service *o = *at;
        if (service_jobs(o->s)) {
            at = &o->next;
            continue;
        }
        *at = o->next;
        free_service(o->s);
        free(o);
        any = 1;
    }
    if (any) mem_trim();
}

/* Calls that wait for a model do not keep an old service, whose models may be in the way of theirs. */
static void move_waiting(const keeper *k) {
    for (int i = 0; i < k->q.r.count; i++)
        for (call *c = k->model[i].first; c; c = c->next) call_move(c, k->now);
}

/* Returns 0 after reporting that memory ran out; then the present service stays, and the fresh one is closed. */
static int use(keeper *k, service *fresh) {
    old_service *o = fresh ? need_zeroed(1, sizeof *o) : NULL;
    if (!o) {
        free_service(fresh);
        return 0;
    }
    *o = (old_service){k->now, k->old};
    k->old = o;
    k->now = fresh;
    k->q.use(fresh, k->q.user);
    move_waiting(k);
    return 1;
}

static int is_present(const keeper *k, const service_model *m) {
    for (int i = 0; i < k->now->count; i++)
        if (k->now->model[i] == m) return 1;
    return 0;
}

/* Bytes of the models that only old services have, each counted once: they become free when requests have ended. Models
   that another one has replaced are left out, so one that is being reloaded may use its memory twice. */
static size_t leaving_bytes(const keeper *k) {
    size_t sum = 0;
    for (const old_service *o = k->old; o; o = o->next)
        for (int i = 0; i < o->s->count; i++) {
            const service_model *m = o->s->model[i];
            int counted = !m || m->replaced || is_present(k, m);
            for (const old_service *p = k->old; p != o && !counted; p = p->next) counted = p->s->model[i] == m;
            if (!counted) sum += service_model_bytes(m);
        }
    return sum;
}

/* Bytes of all models but this one. */
static size_t used_bytes(const keeper *k, int without) {
    size_t sum = leaving_bytes(k);
    for (int i = 0; i < k->now->count; i++)
        if (i != without && k->now->model[i]) sum += service_model_bytes(k->now->model[i]);
    return sum;
}

static size_t left_bytes(const keeper *k, int index) {
    const size_t most = k->q.r.memory, used = used_bytes(k, index);
    return !most ? SIZE_MAX : used < most ? most - used : 0;
}

/* --- what other threads see --------------------------------------------------------------------------------------- */

static void note_loading(keeper *k, kept *e, int loading) {
    pthread_mutex_lock(&k->lock);
    e->loading = loading;
    pthread_mutex_unlock(&k->lock);
}

static long long now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return t.tv_sec * 1000LL + t.tv_nsec / 1000000;
}

static void note_opened(keeper *k, kept *e) {
    pthread_mutex_lock(&k->lock);
    e->loading = e->unloaded = 0;
    e->said[0] = 0;
    e->rests_until = 0;
    e->opened++;
    pthread_mutex_unlock(&k->lock);
    e->since = now_ms();
}

/* Joins the lines of the message, because answers and the index of models show it as one. */
static void note_failed(keeper *k, kept *e, const char *said, double rest) {
    pthread_mutex_lock(&k->lock);
    size_t n = 0;
    for (; said[n] && n + 1 < SAID; n++) e->said[n] = said[n] == '\n' ? ' ' : said[n];
    while (n && e->said[n - 1] == ' ') n--;
    e->said[n] = 0;
    e->loading = 0;
    e->rests_until = clock_seconds() + rest;
    e->failed++;
    pthread_mutex_unlock(&k->lock);
}

static void note_unloaded(keeper *k, kept *e) {
    pthread_mutex_lock(&k->lock);
    e->unloaded = 1;
    e->said[0] = 0;
    e->rests_until = 0;
    pthread_mutex_unlock(&k->lock);
}

static void note_made_room(keeper *k, kept *e) {
    pthread_mutex_lock(&k->lock);
    e->made_room++;
    pthread_mutex_unlock(&k->lock);
}

/* The state of a model as this service, perhaps an old one, has it. */
static void view(service_keeper *face, const service *s, int index, model_view *out) {
    keeper *k = (keeper *)face;
    const kept *e = &k->model[index];
    const int open = s->model[index] != NULL;
    pthread_mutex_lock(&k->lock);
    out->opened = e->opened, out->failed = e->failed, out->made_room = e->made_room;
    if (e->said[0]) text_printf(&out->reason, "%s%s", open ? "could not be loaded again: " : "", e->said);
    else if (!open) text_puts(&out->reason, e->unloaded ? "unloaded" : "opened at its next request");
    if (!open) out->state = e->loading ? MODEL_LOADING : e->unloaded || e->said[0] ? MODEL_UNAVAILABLE : MODEL_READY;
    pthread_mutex_unlock(&k->lock);
}

static int take(service_keeper *face, call *c) {
    keeper *k = (keeper *)face;
    pthread_mutex_lock(&k->lock);
    const int good = !k->shut;
    if (good) mailbox_put(&k->asked, c);
    pthread_mutex_unlock(&k->lock);
    if (good) k->q.wake();
    return good;
}

/* --- calls -------------------------------------------------------------------------------------------------------- */

/* Ends all calls that wait for the model, or starts those again that need it open. */
static void answer_waiting(kept *e, int status, const char *why) {
    for (call *c = e->first, *next; c; c = next) {
        next = c->next;
        if (status != STATUS_OK) call_end(c, c->kind == CALL_LOAD ? status : STATUS_BUSY, why);
        else if (c->kind == CALL_LOAD) call_end(c, STATUS_OK, NULL);
        else call_again(c);
    }
    e->first = e->last = NULL;
}

static void add_waiting(kept *e, call *c) {
    c->next = NULL;
    if (e->last) e->last->next = c;
    else e->first = c, e->tried = SIZE_MAX;
    e->last = c;
}

/* Ends those of the waiting calls whose time is up. */
static void expire(kept *e) {
    for (call **at = &e->first, *before = NULL; *at;) {
        call *c = *at;
        if (!call_is_late(c)) {
            before = c, at = &c->next;
            continue;
        }
        *at = c->next;
        if (e->last == c) e->last = before;
        call_end(c, STATUS_EXPIRED, "timeout: the deadline has passed before the model was open");
    }
}

static void refuse_shown(call *c, int status, const char *format, const char *name, const char *what) {
    text why = TEXT_INIT;
    text_printf(&why, format, name, what);
    call_end(c, text_failed(&why) ? STATUS_BUSY : status, why.s);
    text_free(&why);
}

/* --- opening ------------------------------------------------------------------------------------------------------ */

static int lacks_memory(reid_result r) { return r == REID_ERR_MEMORY_LIMIT || r == REID_ERR_OUT_OF_MEMORY; }

static int is_idle(const keeper *k, int i) {
    return k->now->model[i] && !k->model[i].first &&
           __atomic_load_n(&k->now->model[i]->pending, __ATOMIC_SEQ_CST) == 0;
}

/* When the model was last used, or else opened. */
static long long last_use(const keeper *k, int i) {
    const long long last = __atomic_load_n(&k->now->model[i]->last, __ATOMIC_RELAXED);
    return last > k->model[i].since ? last : k->model[i].since;
}

/* Leaves out the idle model that was used least recently. Returns 0 if there is none. */
static int put_out_one(keeper *k, int except) {
    int oldest = -1;
    for (int i = 0; k->q.lazy && i < k->now->count; i++)
        if (i != except && is_idle(k, i) && (oldest < 0 || last_use(k, i) < last_use(k, oldest))) oldest = i;
    if (oldest < 0 || !use(k, service_with(k->now, oldest, NULL))) return 0;
    note_made_room(k, &k->model[oldest]);
    say_info("model %s was closed to make room for %s", shown(k->q.r.names[oldest]), shown(k->q.r.names[except]));
    sweep(k);
    return 1;
}

/* Returns 1 if there is more room now, or will be when requests have ended. */
static int make_room(keeper *k, int index) {
    kept *e = &k->model[index];
    e->tried = used_bytes(k, index);
    if (leaving_bytes(k)) return 1;
    return put_out_one(k, index);
}

static void add_limit(keeper *k, int index, char said[SAID]) {
    text t = TEXT_INIT;
    text_printf(&t, "model %s does not fit: --memory allows %zu bytes for all models, and open ones use %zu; ",
                k->q.r.names[index], k->q.r.memory, used_bytes(k, index));
    text_puts(&t, said);
    if (!text_failed(&t)) {
        const size_t n = t.len < SAID - 1 ? t.len : SAID - 1;
        memcpy(said, t.s, n), said[n] = 0;
    }
    text_free(&t);
}

static void fail_to_open(keeper *k, int index, reid_result result, char said[SAID]) {
    kept *e = &k->model[index];
    if (result == REID_ERR_MEMORY_LIMIT) add_limit(k, index, said);
    if (!said[0]) strcpy(said, "out of memory");
    note_failed(k, e, said, lacks_memory(result) ? SHORT_REST : REST);
    say_warning("model %s could not be opened: %s", shown(k->q.r.names[index]), e->said);
    answer_waiting(e, lacks_memory(result) ? STATUS_NO_ROOM : STATUS_BAD, e->said);
}

/* Takes the model into the service. Returns 0 if memory runs out. */
static int take_in(keeper *k, int index, service_model *m) {
    service_model *before = k->now->model[index];
    service *fresh = service_with(k->now, index, m);
    if (!fresh) service_model_close(m);
    if (!use(k, fresh)) return 0;
    if (before) before->replaced = 1;
    return 1;
}

/* Opens a model for which calls are waiting, unless room has yet to be made. Its messages go to the answers. */
static void open_model(keeper *k, int index) {
    kept *e = &k->model[index];
    char said[SAID];
    reid_result result;
    if (e->tried != SIZE_MAX && leaving_bytes(k) && used_bytes(k, index) >= e->tried) return;
    note_loading(k, e, 1);
    say_listen(said, sizeof said);
    service_model *m = service_model_open(&k->q.r, index, left_bytes(k, index), &result);
    say_listen(NULL, 0);
    if (!m && lacks_memory(result) && make_room(k, index)) return;
    if (m && take_in(k, index, m)) {
        note_opened(k, e);
        answer_waiting(e, STATUS_OK, NULL);
    } else {
        fail_to_open(k, index, m ? REID_ERR_OUT_OF_MEMORY : result, said);
    }
}

/* --- requests of clients ------------------------------------------------------------------------------------------ */

static void unload(keeper *k, call *c) {
    const int index = c->index;
    kept *e = &k->model[index];
    if (k->now->model[index] && !use(k, service_with(k->now, index, NULL))) {
        call_end(c, STATUS_BUSY, "out of memory");
        return;
    }
    note_loading(k, e, 0);
    note_unloaded(k, e);
    answer_waiting(e, STATUS_BUSY, "the model was unloaded meanwhile");
    call_end(c, STATUS_OK, NULL);
}

/* A request whose model is not open in its service. */
static void wait_for_model(keeper *k, call *c) {
    kept *e = &k->model[c->index];
    const char *name = k->q.r.names[c->index];
    if (k->now->model[c->index]) call_again(c);
    else if (e->unloaded) refuse_shown(c, STATUS_BUSY, "model %s is not loaded%s", name, "");
    else if (clock_seconds() < e->rests_until && !e->first)
        refuse_shown(c, STATUS_BUSY, "model %s could not be opened: %s", name, e->said);
    else add_waiting(e, c);
}

static void load(keeper *k, call *c) {
    if (k->now->shared->has_gallery)
        refuse_shown(c, STATUS_BAD, "model %s belongs to the gallery; to reload both, send SIGHUP%s",
                     k->q.r.names[c->index], "");
    else if (c->kind == CALL_UNLOAD) unload(k, c);
    else add_waiting(&k->model[c->index], c);
}

static void take_calls(keeper *k) {
    for (call *c = mailbox_take(&k->asked), *next; c; c = next) {
        next = c->next;
        call_move(c, k->now);
        if (c->kind == CALL_LOAD || c->kind == CALL_UNLOAD) load(k, c);
        else wait_for_model(k, c);
    }
}

/* --- the owner's thread ------------------------------------------------------------------------------------------- */

void keeper_work(keeper *k) {
    int progress;
    take_calls(k);
    sweep(k);
    do {
        progress = 0;
        for (int i = 0; i < k->q.r.count; i++) {
            kept *e = &k->model[i];
            expire(e);
            if (!e->first) {
                if (e->loading) note_loading(k, e, 0);
                continue;
            }
            const size_t before = used_bytes(k, i);
            open_model(k, i);
            progress |= !e->first || used_bytes(k, i) < before;
        }
        take_calls(k);
        sweep(k);
    } while (progress);
}

int keeper_waits(const keeper *k) {
    for (int i = 0; i < k->q.r.count; i++)
        if (k->model[i].first) return 1;
    return k->old != NULL;
}

int keeper_has_old(const keeper *k) { return k->old != NULL; }

service *keeper_now(const keeper *k) { return k->now; }

static service *open_service(keeper *k) {
    service *s = need_zeroed(1, sizeof *s);
    service_request r = k->q.r;
    r.wanted = k->wanted, r.keeper = &k->face;
    if (s && service_open(s, &r)) return s;
    free_service(s);
    return NULL;
}

static void note_all_opened(keeper *k) {
    for (int i = 0; i < k->q.r.count; i++)
        if (k->wanted[i]) note_opened(k, &k->model[i]);
}

int keeper_reload(keeper *k) {
    for (int i = 0; i < k->q.r.count; i++) k->wanted[i] = k->now->model[i] != NULL;
    service *fresh = open_service(k), *before = k->now;
    if (!fresh) return 0;
    fresh->shared->started = before->shared->started;
    if (!use(k, fresh)) return 0;
    for (int i = 0; i < before->count; i++)
        if (before->model[i]) before->model[i]->replaced = 1;
    for (int i = 0; i < k->q.r.count; i++) k->model[i].rests_until = 0;
    note_all_opened(k);
    return 1;
}

keeper *keeper_open(const keeper_request *r) {
    keeper *k = need_zeroed(1, sizeof *k);
    if (!k) return NULL;
    k->face = (service_keeper){take, view, r->control};
    k->q = *r;
    k->asked.fd = -1;
    pthread_mutex_init(&k->lock, NULL);
    k->wanted = need_zeroed((size_t)r->r.count + 1, 1);
    k->model = need_zeroed((size_t)r->r.count + 1, sizeof *k->model);
    if (k->wanted) memset(k->wanted, !r->lazy, (size_t)r->r.count);
    if (k->wanted && k->model && mailbox_open(&k->asked) && (k->now = open_service(k)) != NULL) {
        note_all_opened(k);
        return k;
    }
    keeper_close(k);
    return NULL;
}

void keeper_close(keeper *k) {
    if (!k) return;
    sweep(k);
    free_service(k->now);
    if (k->asked.fd >= 0) mailbox_close(&k->asked);
    pthread_mutex_destroy(&k->lock);
    free(k->wanted), free(k->model);
    free(k);
}

void keeper_stop(keeper *k) {
    service_stop(k->now);
    for (const old_service *o = k->old; o; o = o->next) service_stop(o->s);
}

/* Also refuses the calls that wait for models, and those that still come. */
void keeper_give_up(keeper *k) {
    pthread_mutex_lock(&k->lock);
    k->shut = 1;
    pthread_mutex_unlock(&k->lock);
    take_calls(k);
    for (int i = 0; i < k->q.r.count; i++) answer_waiting(&k->model[i], STATUS_BUSY, "the server is stopping");
    service_give_up(k->now);
    for (const old_service *o = k->old; o; o = o->next) service_give_up(o->s);
}
