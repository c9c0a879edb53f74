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

/* Creates the model's queue. */
static int open_queue(service *s, int index, const service_request *r) {
    service_model *m = &s->model[index];
    model *behind = &s->all.at[index];
    reid_queue_desc desc = REID_INIT;
    reid_queue_stats stats;
    pthread_mutex_init(&m->recent.lock, NULL);
    m->name = need_copy(r->names[index], strlen(r->names[index]));
    if (!m->name) return 0;
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
    return result == REID_OK;
}

static int open_gallery(service *s, const service_request *r) {
    store_meta ours;
    if (r->calibration) {
        makers_of_models(&s->all, &ours);
        if (!calibration_read(&s->c, r->calibration) ||
            !makers_agree(&s->c.makers, r->calibration, &ours, &s->all, NULL)) return 0;
    }
    const ask_request asked = {&s->all, &s->g, r->calibration ? &s->c : NULL, r->weights, r->weight_count, r->threshold,
                               &r->models[0]};
    s->has_gallery = gallery_open(&s->g, r->gallery, &s->all);
    return s->has_gallery && ask_open(&s->asked, &asked);
}

/* Opens a monitor of the GPU's load, if possible. */
static void watch_gpu(service *s) {
    reid_gpu_info gpu;
    text why = TEXT_INIT;
    s->gpu = gpu_watch_open(s->all.at[0].info.device, &gpu, &why);
    if (why.len) say_info("%s: its load is unknown: %s", gpu.name, why.s);
    text_free(&why);
}

int service_open(service *s, const service_request *r) {
    memset(s, 0, sizeof *s);
    s->started = clock_seconds();
    s->top = r->top;
    s->timed = r->timed;
    if (!jpeg_decoder_ready(r->decode.jpeg) || !models_open(&s->all, r->models, r->count)) return 0;
    watch_gpu(s);
    if (r->gallery && !open_gallery(s, r)) return 0;
    for (int i = 0; i < r->count; i++)
        if (!open_queue(s, i, r)) return 0;
    const int threads = models_decoders(&s->all, r->decode.threads, MOST_DECODERS);
    s->pictures = picture_limits_of(r->decode.max_pixels, threads);
    s->pictures.jpeg = r->decode.jpeg;
    s->budget = s->pictures.bytes < MOST_HELD ? s->pictures.bytes : MOST_HELD;
    s->workers = pool_start(threads);
    s->no_threads = !s->workers;
    return s->workers != NULL;
}

void service_close(service *s) {
    for (int i = 0; i < MAX_MODELS; i++) reid_queue_destroy(s->model[i].queue, 0);
    pool_stop(s->workers);
    for (int i = 0; i < MAX_MODELS; i++) {
        if (s->model[i].name) pthread_mutex_destroy(&s->model[i].recent.lock);
        free(s->model[i].name);
    }
    ask_close(&s->asked);
    gallery_close(&s->g);
    calibration_free(&s->c);
    gpu_watch_close(s->gpu);
    models_close(&s->all);
    memset(s, 0, sizeof *s);
}

int service_find(const service *s, const char *name) {
    for (int i = 0; i < s->all.count; i++)
        if (strcmp(s->model[i].name, name) == 0) return i;
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

void service_stop(service *s) { __atomic_store_n(&s->stopping, 1, __ATOMIC_SEQ_CST); }
int service_stopping(const service *s) { return __atomic_load_n(&s->stopping, __ATOMIC_SEQ_CST); }
int service_jobs(const service *s) { return __atomic_load_n(&s->jobs, __ATOMIC_SEQ_CST); }

int service_lost(const service *s) { return __atomic_load_n(&s->lost, __ATOMIC_SEQ_CST); }
void service_note_lost(service *s) { __atomic_store_n(&s->lost, 1, __ATOMIC_SEQ_CST); }

int service_may_open_later(const service *s) {
    for (int i = 0; i < MAX_MODELS; i++) {
        reid_result why = s->all.at[i].error.code;
        if (why == REID_ERR_OUT_OF_MEMORY || why == REID_ERR_GPU || why == REID_ERR_SYSTEM) return 1;
    }
    return s->no_threads;
}

void service_give_up(service *s) {
    for (int i = 0; i < s->all.count; i++) reid_queue_drain(s->model[i].queue, 0);
}
