#include "server/service.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/say.h"
#include "base/threads.h"
#include "gallery/makers.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_DECODERS = 256 };

static const size_t MOST_HELD = (size_t)1 << 30; /* bytes of decoded images */

/* --- models ------------------------------------------------------------------------------------------------------- */

/* Creates the model's queue. */
static reid_result open_queue(service_model *m, const service_request *r) {
    model *behind = &m->one.at[0];
    reid_queue_desc desc = REID_INIT;
    reid_queue_stats stats;
    desc.ctx = behind->ctx;
    desc.limit = r->limit;
    desc.delay_us = r->delay_us;
    desc.error = &behind->error;
    reid_result result = reid_queue_create(&desc, &m->queue);
    if (result == REID_OK) result = reid_queue_query(m->queue, &stats);
    if (result == REID_OK) {
        m->limit = stats.limit;
        m->most_pending = stats.limit + stats.lanes * stats.batch;
    } else {
        say_model_error(behind->weights, &behind->error, result);
    }
    return result;
}

service_model *service_model_open(const service_request *r, int index, size_t left, reid_result *result) {
    service_model *m = need_zeroed(1, sizeof *m);
    reid_desc desc = r->models[index];
    *result = REID_ERR_OUT_OF_MEMORY;
    if (!m) return NULL;
    if (left != SIZE_MAX) desc.memory_limit = left ? left : 1;
    pthread_mutex_init(&m->recent.lock, NULL);
    m->info = &m->one.at[0].info;
    if (models_open(&m->one, &desc, 1)) *result = open_queue(m, r);
    else *result = m->one.at[0].result;
    if (*result == REID_OK) return m;
    service_model_close(m);
    return NULL;
}

void service_model_close(service_model *m) {
    if (!m) return;
    reid_queue_destroy(m->queue, 0);
    models_close(&m->one);
    pthread_mutex_destroy(&m->recent.lock);
    free(m);
}

size_t service_model_bytes(const service_model *m) { return m->info->total_bytes; }

/* Opens the models that are wanted, one after the other: each may use what those before it leave. */
static int open_models(service *s, const service_request *r) {
    size_t used = 0;
    reid_result result;
    for (int i = 0; i < r->count; i++) {
        if (r->wanted && !r->wanted[i]) continue;
        const size_t left = !r->memory ? SIZE_MAX : used < r->memory ? r->memory - used : 0;
        service_model *m = s->model[i] = service_model_open(r, i, left, &result);
        if (m) {
            m->users = 1;
            used += service_model_bytes(m);
            continue;
        }
        s->shared->may_open_later =
            result == REID_ERR_OUT_OF_MEMORY || result == REID_ERR_GPU || result == REID_ERR_SYSTEM;
        if (result == REID_ERR_MEMORY_LIMIT)
            say_error("model %s does not fit: --memory allows %zu bytes for all models, and those before it use %zu",
                      shown(r->names[i]), r->memory, used);
        return 0;
    }
    return 1;
}

/* --- what services share ------------------------------------------------------------------------------------------ */

/* Lists the models without owning them. */
static void list_together(models *to, const service *s) {
    memset(to, 0, sizeof *to);
    for (int i = 0; i < s->count; i++) {
        const models *one = &s->model[i]->one;
        to->at[to->count++] = one->at[0];
        to->dim += one->dim;
        if (one->batch > to->batch) to->batch = one->batch;
    }
}

static int open_gallery(service *s, const service_request *r) {
    service_shared *h = s->shared;
    store_meta ours;
    list_together(&h->together, s);
    if (r->calibration) {
        makers_of_models(&h->together, &ours);
        if (!calibration_read(&h->c, r->calibration) ||
            !makers_agree(&h->c.makers, r->calibration, &ours, &h->together, NULL)) return 0;
    }
    const ask_request asked = {&h->together, &h->g, r->calibration ? &h->c : NULL, r->weights, r->weight_count,
                               r->threshold, &r->models[0]};
    h->has_gallery = gallery_open(&h->g, r->gallery, &h->together);
    return h->has_gallery && ask_open(&h->asked, &asked);
}

/* Opens a monitor of the GPU's load, if possible. */
static void watch_gpu(service_shared *h, const service_model *m) {
    reid_gpu_info gpu;
    text why = TEXT_INIT;
    if (h->gpu) return;
    __atomic_store_n(&h->gpu, gpu_watch_open(m->info->device, &gpu, &why), __ATOMIC_RELEASE);
    if (why.len) say_info("%s: its load is unknown: %s", gpu.name, why.s);
    text_free(&why);
}

static int start_threads(service_shared *h, const service *s, const service_request *r) {
    const models *first = NULL;
    for (int i = s->count; i-- > 0;)
        if (s->model[i]) first = &s->model[i]->one;
    const int threads = models_decoders(first, r->decode.threads, MOST_DECODERS);
    h->pictures = picture_limits_of(r->decode.max_pixels, threads);
    h->pictures.jpeg = r->decode.jpeg;
    h->budget = h->pictures.bytes < MOST_HELD ? h->pictures.bytes : MOST_HELD;
    h->workers = pool_start(threads);
    h->no_threads = !h->workers;
    return h->workers != NULL;
}

static service_shared *shared_open(const service_request *r) {
    service_shared *h = need_zeroed(1, sizeof *h);
    if (!h) return NULL;
    h->started = clock_seconds();
    h->top = r->top;
    h->timed = r->timed;
    h->keeper = r->keeper;
    h->users = 1;
    return h;
}

static void shared_close(service_shared *h) {
    pool_stop(h->workers);
    ask_close(&h->asked);
    gallery_close(&h->g);
    calibration_free(&h->c);
    gpu_watch_close(h->gpu);
    free(h);
}

/* --- services ----------------------------------------------------------------------------------------------------- */

int service_open(service *s, const service_request *r) {
    memset(s, 0, sizeof *s);
    s->shared = shared_open(r);
    s->names = r->names;
    s->model = need_zeroed((size_t)r->count + 1, sizeof *s->model);
    if (!s->shared || !s->model) return 0;
    s->count = r->count;
    if (!jpeg_decoder_ready(r->decode.jpeg) || !open_models(s, r)) return 0;
    for (int i = 0; i < s->count; i++)
        if (s->model[i]) watch_gpu(s->shared, s->model[i]);
    return (!r->gallery || open_gallery(s, r)) && start_threads(s->shared, s, r);
}

/* Queues end before the threads to which they give their last results. */
void service_close(service *s) {
    service_shared *h = s->shared;
    if (!h) return;
    const int last = --h->users == 0;
    for (int i = 0; i < s->count; i++) {
        service_model *m = s->model[i];
        if (!m || --m->users) continue;
        reid_queue_destroy(m->queue, 0);
        m->queue = NULL;
    }
    if (last) shared_close(h);
    for (int i = 0; i < s->count; i++)
        if (s->model[i] && !s->model[i]->users) service_model_close(s->model[i]);
    free(s->model);
    memset(s, 0, sizeof *s);
}

service *service_with(const service *s, int index, service_model *m) {
    service *fresh = need_zeroed(1, sizeof *fresh);
    service_model **list = need_zeroed((size_t)s->count + 1, sizeof *list);
    if (!fresh || !list) {
        free(fresh), free(list);
        return NULL;
    }
    memcpy(list, s->model, (size_t)s->count * sizeof *list);
    list[index] = m;
    for (int i = 0; i < s->count; i++)
        if (list[i]) list[i]->users++;
    *fresh = (service){.shared = s->shared, .names = s->names, .model = list, .count = s->count};
    s->shared->users++;
    if (m) watch_gpu(s->shared, m);
    return fresh;
}

void service_view(const service *s, int index, model_view *out) {
    service_keeper *k = s->shared->keeper;
    *out = (model_view){.state = MODEL_READY, .reason = TEXT_INIT};
    text_puts(&out->reason, "");
    if (k) k->view(k, s, index, out);
}

int service_find(const service *s, const char *name) {
    for (int i = 0; i < s->count; i++)
        if (strcmp(s->names[i], name) == 0) return i;
    return -1;
}

/* The queue reports sums over all batches, so the difference between two readings is that of the batches in between.
   Requests that end with one batch read the same sums one after the other. */
void service_note_batch(service_model *m, double *size, double *seconds) {
    service_batches *r = &m->recent;
    reid_queue_stats q;
    pthread_mutex_lock(&r->lock);
    reid_queue_query(m->queue, &q);
    const double batches = (double)(q.batches - r->batches);
    if (batches > 0) {
        r->size = (double)(q.computed - r->images) / batches;
        r->seconds = (double)(q.compute_ns - r->compute_ns) * 1e-9 / batches;
        r->batches = q.batches, r->images = q.computed, r->compute_ns = q.compute_ns;
    }
    *size = r->size, *seconds = r->seconds;
    pthread_mutex_unlock(&r->lock);
}

void service_stop(service *s) { __atomic_store_n(&s->shared->stopping, 1, __ATOMIC_SEQ_CST); }
int service_stopping(const service *s) { return __atomic_load_n(&s->shared->stopping, __ATOMIC_SEQ_CST); }
int service_jobs(const service *s) { return __atomic_load_n(&s->jobs, __ATOMIC_SEQ_CST); }

int service_lost(const service *s) { return __atomic_load_n(&s->shared->lost, __ATOMIC_SEQ_CST); }
void service_note_lost(service *s) { __atomic_store_n(&s->shared->lost, 1, __ATOMIC_SEQ_CST); }

int service_may_open_later(const service *s) {
    return !s->shared || s->shared->may_open_later || s->shared->no_threads;
}

void service_give_up(service *s) {
    for (int i = 0; i < s->count; i++)
        if (s->model[i]) reid_queue_drain(s->model[i]->queue, 0);
}
