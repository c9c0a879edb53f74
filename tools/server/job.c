#include "server/job.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/text.h"
#include "embedding/image_inputs.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_HELPERS = 16 }; /* threads that decode images of one job */

/* One model's share of a job. */
typedef struct part {
    job *whole;
    reid_queue *queue;
    reid_ticket ticket; /* 0: not in a queue */
    reid_result result;
    float *rows; /* (n, the model's dim) */
    int accepted;
    double submitted, queued, computing, batch, computed; /* if the service is timed */
} part;

struct job {
    service *s;
    job_request r;
    job_done_fn done;
    void *user;
    job_result answer;
    pthread_mutex_t lock; /* protects cancelled, tickets and the first failure */
    int cancelled, counted; /* counted: its images count among its models' pending ones */
    picture *decoded;     /* [r.count], if images are encoded */
    unsigned char **prepared; /* [r.count]: model inputs made from them; NULL if the pixels stay */
    reid_image *images;   /* [answer.n] */
    size_t held;          /* bytes of images, which s->held includes */
    size_t next;          /* the next image to decode */
    int helpers, parts;   /* unfinished ones */
    part part[MAX_MODELS];
    pool_task helper[MOST_HELPERS], last;
};

/* --- failures ----------------------------------------------------------------------------------------------------- */

static void job_fail(job *j, int status, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Sets status and reason, unless an earlier failure has set them. */
static void job_fail(job *j, int status, const char *format, ...) {
    char message[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    pthread_mutex_lock(&j->lock);
    if (j->answer.status == STATUS_OK) {
        __atomic_store_n(&j->answer.status, status, __ATOMIC_SEQ_CST);
        refuse(&j->answer.why, "%s", message);
    }
    pthread_mutex_unlock(&j->lock);
}

static int failed(const job *j) { return __atomic_load_n(&j->answer.status, __ATOMIC_SEQ_CST) != STATUS_OK; }

static int status_of(reid_result result) {
    switch (result) {
    case REID_OK: return STATUS_OK;
    case REID_ERR_BOX:
    case REID_ERR_IMAGE: return STATUS_BAD;
    case REID_ERR_FULL:
    case REID_ERR_STOPPING:
    case REID_ERR_CANCELLED:
    case REID_ERR_OUT_OF_MEMORY: return STATUS_BUSY;
    case REID_ERR_EXPIRED: return STATUS_EXPIRED;
    default: return STATUS_FAILED;
    }
}

/* Like status_of; also tells the service if the GPU is lost, which affects all jobs. */
static int note_result(job *j, reid_result result) {
    if (result == REID_ERR_GPU) service_note_lost(j->s);
    return status_of(result);
}

/* Microseconds that are left; 0: no limit; negative: it is too late. */
static long long time_left(const job *j) {
    if (!j->r.timeout_us) return 0;
    long long left = j->r.timeout_us - (long long)((clock_seconds() - j->r.arrived) * 1e6);
    return left > 0 ? left : -1;
}

static int is_cancelled(job *j) {
    pthread_mutex_lock(&j->lock);
    int cancelled = j->cancelled;
    pthread_mutex_unlock(&j->lock);
    return cancelled;
}

/* 1 if nothing more has to be done for the job. */
static int is_over(job *j) {
    if (is_cancelled(j)) job_fail(j, STATUS_BUSY, "%s", reid_result_string(REID_ERR_CANCELLED));
    else if (time_left(j) < 0) job_fail(j, STATUS_EXPIRED, "timeout: %s", reid_result_string(REID_ERR_EXPIRED));
    return failed(j);
}

/* Adds the job's images to its models' pending ones, or subtracts them. Returns 0 if a model has too many: images that
   cannot be computed soon are not even decoded. */
static int count_images(job *j, int add) {
    int n = (int)j->answer.n, room = 1;
    for (int m = 0; m < j->r.models; m++) {
        service_model *of = j->s->model[j->r.first + m];
        int waiting = __atomic_add_fetch(&of->pending, add ? n : -n, __ATOMIC_SEQ_CST);
        if (waiting > of->most_pending) room = 0;
    }
    j->counted = add;
    return room;
}

/* Notes when its models were last used. */
static void note_time(job *j) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    for (int m = 0; m < j->r.models; m++)
        __atomic_store_n(&j->s->model[j->r.first + m]->last, now.tv_sec * 1000LL + now.tv_nsec / 1000000,
                         __ATOMIC_RELAXED);
}

/* --- the end ------------------------------------------------------------------------------------------------------ */

static void free_pictures(job *j) {
    for (size_t i = 0; j->decoded && i < j->r.count; i++) picture_free(&j->decoded[i]);
    for (size_t i = 0; j->prepared && i < j->r.count; i++) free(j->prepared[i]);
    free(j->decoded);
    free(j->prepared);
    free(j->images);
    j->decoded = NULL, j->prepared = NULL, j->images = NULL;
    __atomic_sub_fetch(&j->s->shared->held, j->held, __ATOMIC_SEQ_CST);
    j->held = 0;
}

/* Puts the models' rows side by side. */
static void join_rows(job *j) {
    job_result *a = &j->answer;
    if (j->r.models == 1) {
        a->rows = j->part[0].rows, j->part[0].rows = NULL;
        return;
    }
    a->rows = mem_array(a->n * (size_t)a->dim, sizeof *a->rows);
    if (!a->rows) {
        job_fail(j, STATUS_BUSY, "out of memory");
        return;
    }
    for (int m = 0, offset = 0; m < j->r.models; offset += j->s->model[j->r.first + m++]->info->dim) {
        size_t dim = (size_t)j->s->model[j->r.first + m]->info->dim;
        for (size_t i = 0; i < a->n; i++)
            memcpy(a->rows + i * (size_t)a->dim + offset, j->part[m].rows + i * dim, dim * sizeof *a->rows);
    }
}

/* The slowest model's times are the job's. */
static void take_times(job *j) {
    job_result *a = &j->answer;
    for (const part *p = j->part; p < j->part + j->r.models; p++)
        if (p->batch > 0 && p->queued + p->computing > a->queued + a->computing)
            a->queued = p->queued, a->computing = p->computing, a->batch = p->batch, a->computed = p->computed;
}

/* Runs on one of the service's threads, so that no thread of the queue waits for it, except for ends_at_once. */
static void finish(void *user) {
    job *j = user;
    take_times(j);
    if (j->counted) count_images(j, 0);
    for (int m = 0; m < j->r.models; m++)
        if (j->part[m].accepted && j->part[m].result != REID_OK)
            job_fail(j, note_result(j, j->part[m].result), "%s%s",
                     j->part[m].result == REID_ERR_EXPIRED ? "timeout: " : "", reid_result_string(j->part[m].result));
    free_pictures(j);
    if (!failed(j)) join_rows(j), note_time(j);
    for (int m = 0; m < j->r.models; m++) free(j->part[m].rows);
    j->done(j->user);
}

/* What is not computing is waiting; a request with more images than a batch also waits while others of it compute. */
static void note_times(part *p, service_model *of) {
    p->computed = clock_seconds();
    const double whole = p->computed - p->submitted;
    service_note_batch(of, &p->batch, &p->computing);
    if (p->computing > whole) p->computing = whole;
    p->queued = whole - p->computing;
}

/* 1 if the job may end on the queue's thread: that takes less time than waking another one, and no other job waits. */
static int ends_at_once(const job *j) { return j->r.brief && j->answer.n == 1 && service_jobs(j->s) == 1; }

static void part_done(reid_result result, void *user) {
    part *p = user;
    job *j = p->whole;
    p->result = result;
    if (j->s->shared->timed && result == REID_OK) note_times(p, j->s->model[j->r.first + (p - j->part)]);
    if (__atomic_sub_fetch(&j->parts, 1, __ATOMIC_SEQ_CST) != 0) return;
    if (ends_at_once(j)) finish(j);
    else pool_add(j->s->shared->workers, &j->last, 1);
}

/* --- queues ------------------------------------------------------------------------------------------------------- */

static void submit_part(job *j, int m) {
    part *p = &j->part[m];
    reid_request r = REID_INIT;
    reid_error error = REID_INIT;
    p->rows = mem_array(j->answer.n * (size_t)j->s->model[j->r.first + m]->info->dim, sizeof *p->rows);
    if (!p->rows) {
        job_fail(j, STATUS_BUSY, "out of memory");
        return;
    }
    r.images = j->images, r.n = (int)j->answer.n, r.out = p->rows;
    r.priority = j->r.priority - PRIORITY_USUAL;
    r.deadline_us = time_left(j);
    r.done = part_done, r.user = p;
    __atomic_add_fetch(&j->parts, 1, __ATOMIC_SEQ_CST);
    pthread_mutex_lock(&j->lock); /* a thread that cancels finds the ticket, or no ticket is made */
    reid_result result = REID_ERR_CANCELLED;
    p->accepted = 1;
    if (j->s->shared->timed) p->submitted = clock_seconds();
    p->queue = j->s->model[j->r.first + m]->queue;
    if (!j->cancelled) result = reid_submit(p->queue, &r, &p->ticket, &error);
    if (result != REID_OK) p->accepted = 0, p->ticket = 0;
    pthread_mutex_unlock(&j->lock);
    if (result == REID_OK) return;
    __atomic_sub_fetch(&j->parts, 1, __ATOMIC_SEQ_CST);
    const char *what = result == REID_ERR_BOX ? "box: " : result == REID_ERR_EXPIRED ? "timeout: " : "";
    job_fail(j, note_result(j, result), "%s%s", what, reason_of(&error, result));
}

static void give_up_parts(job *j) {
    pthread_mutex_lock(&j->lock);
    for (int m = 0; m < MAX_MODELS; m++)
        if (j->part[m].ticket) reid_cancel(j->part[m].queue, j->part[m].ticket);
    pthread_mutex_unlock(&j->lock);
}

/* Submits the job after its pixels are complete. `parts` also counts this function, so that the job is finished
   once. */
static void submit(job *j) {
    j->parts = 1;
    for (int m = 0; m < j->r.models && !failed(j); m++) submit_part(j, m);
    if (failed(j)) give_up_parts(j);
    if (__atomic_sub_fetch(&j->parts, 1, __ATOMIC_SEQ_CST) == 0) finish(j);
}

/* --- decoding ----------------------------------------------------------------------------------------------------- */

static void release_bytes(void *user, size_t bytes) {
    job *j = user;
    __atomic_sub_fetch(&j->s->shared->held, bytes, __ATOMIC_SEQ_CST);
    __atomic_sub_fetch(&j->held, bytes, __ATOMIC_SEQ_CST);
}

/* Counts bytes of images. If there is no room, the job fails, because jobs that wait for each other's memory would wait
   forever. An image that is alone may use as much as picture_limits allow. */
static int reserve_bytes(void *user, size_t bytes) {
    job *j = user;
    service_shared *s = j->s->shared;
    size_t before = __atomic_fetch_add(&s->held, bytes, __ATOMIC_SEQ_CST);
    size_t own = __atomic_fetch_add(&j->held, bytes, __ATOMIC_SEQ_CST);
    if (!before || before + bytes <= s->budget) return 1;
    release_bytes(j, bytes);
    if (own && own + bytes > s->budget)
        job_fail(j, STATUS_TOO_LARGE, "%s: together they need more than %zu MiB when decoded", j->r.field,
                 s->budget >> 20);
    else job_fail(j, STATUS_BUSY, "too many images are being decoded; try again later");
    return 0;
}

static void refuse_picture(job *j, size_t i, const text *why) {
    char number[32] = "";
    if (failed(j)) return; /* reserve_bytes has set the reason */
    if (j->r.count > 1) snprintf(number, sizeof number, "[%zu]", i);
    int memory = strstr(why->s, "out of memory") != NULL; /* not an error of the image */
    job_fail(j, memory ? STATUS_BUSY : STATUS_BAD, "%s%s: %s", j->r.field, number, why->s);
}

/* The number of crops of each image: one, or one for each box of the only image. */
static size_t images_of(const job *j) { return j->r.box_count ? j->r.box_count : 1; }

/* Describes the crops of image i, decoded or raw. */
static void describe(job *j, size_t i) {
    const job_request *r = &j->r;
    const picture *p = r->pictures ? &j->decoded[i] : NULL;
    for (size_t k = 0; k < images_of(j); k++) {
        reid_image *to = &j->images[i + k];
        memset(to, 0, sizeof *to);
        to->pixels = p ? p->rgb : r->rgb + 3 * i * (size_t)r->height * (size_t)r->width;
        to->width = p ? p->width : r->width;
        to->height = p ? p->height : r->height;
        to->format = REID_RGB8;
        to->box = r->box_count ? &r->boxes[k] : NULL;
    }
}

/* Replaces a photograph with the input of its only model, on a CPU, so that many can wait in little memory. An image
   that is alone does not wait, and all threads of its model resize it sooner. */
static void prepare(job *j, size_t i, const image_budget *budget) {
    const model *m = &j->s->model[j->r.first]->one.at[0];
    const size_t n = images_of(j);
    const double started = clock_seconds();
    if (j->r.models > 1 || !model_prepares(m)) return;
    if (j->r.count == 1 && service_jobs(j->s) == 1) return;
    j->prepared[i] = image_prepare(&j->decoded[i], m, &j->images[i], n, budget);
    if (!j->prepared[i]) return;
    for (size_t k = 0; k < n; k++) j->images[i + k] = model_prepared(m, j->prepared[i], k);
    __atomic_add_fetch(&j->s->shared->counts.resize_ns, (uint64_t)((clock_seconds() - started) * 1e9),
                       __ATOMIC_RELAXED);
}

static void decode(job *j, size_t i) {
    const image_budget budget = {reserve_bytes, release_bytes, j};
    service_counts *counts = &j->s->shared->counts;
    picture *p = &j->decoded[i];
    text why = TEXT_INIT;
    double started = clock_seconds();
    int good = picture_open_bytes(p, j->r.pictures[i].at, j->r.pictures[i].len, &j->s->shared->pictures, &why) &&
               image_decode(p, &budget, &why);
    if (!good) refuse_picture(j, i, &why);
    __atomic_add_fetch(good ? &counts->decoded : &counts->not_decoded, 1, __ATOMIC_RELAXED);
    __atomic_add_fetch(&counts->decode_ns, (uint64_t)((clock_seconds() - started) * 1e9), __ATOMIC_RELAXED);
    text_free(&why);
    if (!good) return;
    describe(j, i);
    prepare(j, i, &budget);
}

/* Decodes images until none is left; the last helper continues with the job. */
static void decode_pictures(void *user) {
    job *j = user;
    for (;;) {
        size_t i = __atomic_fetch_add(&j->next, 1, __ATOMIC_SEQ_CST);
        if (i >= j->r.count || is_over(j)) break;
        decode(j, i);
    }
    if (__atomic_sub_fetch(&j->helpers, 1, __ATOMIC_SEQ_CST) != 0) return;
    is_over(j); /* if so, the job has failed, which submit checks */
    submit(j);
}

static void start_helpers(job *j) {
    size_t most = (size_t)pool_threads(j->s->shared->workers);
    if (most > MOST_HELPERS) most = MOST_HELPERS;
    if (most > j->r.count) most = j->r.count;
    j->helpers = (int)most;
    for (size_t i = 1; i < most; i++) {
        j->helper[i] = (pool_task){decode_pictures, j, NULL};
        pool_add(j->s->shared->workers, &j->helper[i], 0);
    }
    decode_pictures(j);
}

/* --- jobs --------------------------------------------------------------------------------------------------------- */

job *job_create(service *s) {
    job *j = mem_zeroed(1, sizeof *j);
    if (!j) return NULL;
    pthread_mutex_init(&j->lock, NULL);
    j->s = s;
    j->answer.status = STATUS_OK;
    j->answer.queued = j->answer.computing = j->answer.batch = -1;
    __atomic_add_fetch(&s->jobs, 1, __ATOMIC_SEQ_CST);
    return j;
}

void job_move(job *j, service *s) {
    service *before = j->s;
    __atomic_add_fetch(&s->jobs, 1, __ATOMIC_SEQ_CST);
    j->s = s;
    __atomic_sub_fetch(&before->jobs, 1, __ATOMIC_SEQ_CST);
}

void job_run(job *j, const job_request *r, job_done_fn done, void *user) {
    j->r = *r, j->done = done, j->user = user;
    j->last = (pool_task){finish, j, NULL};
    j->answer.n = r->box_count ? r->box_count : r->count;
    for (int m = 0; m < r->models; m++) {
        j->part[m].whole = j;
        j->answer.dim += j->s->model[r->first + m]->info->dim;
    }
    j->images = mem_zeroed(j->answer.n, sizeof *j->images);
    if (r->pictures) j->decoded = mem_zeroed(r->count, sizeof *j->decoded);
    if (r->pictures) j->prepared = mem_zeroed(r->count, sizeof *j->prepared);
    if (!j->images || (r->pictures && !(j->decoded && j->prepared))) {
        job_fail(j, STATUS_BUSY, "out of memory");
        submit(j);
    } else if (!count_images(j, 1)) {
        job_fail(j, STATUS_BUSY, "%s", reid_result_string(REID_ERR_FULL));
        submit(j);
    } else if (r->pictures) {
        start_helpers(j);
    } else {
        for (size_t i = 0; i < r->count; i++) describe(j, i);
        submit(j);
    }
}

void job_cancel(job *j) {
    pthread_mutex_lock(&j->lock);
    j->cancelled = 1;
    pthread_mutex_unlock(&j->lock);
    give_up_parts(j);
}

job_result *job_answer(job *j) { return &j->answer; }

void job_free(job *j) {
    __atomic_sub_fetch(&j->s->jobs, 1, __ATOMIC_SEQ_CST);
    pthread_mutex_destroy(&j->lock);
    text_free(&j->answer.why);
    free(j->answer.rows);
    free(j);
}
