#include "embedding/pipeline.h"

#include "base/clock.h"
#include "base/files.h"
#include "base/invariant.h"
#include "base/memory.h"
#include "base/say.h"
#include "base/threads.h"
#include "embedding/image_inputs.h"
#include "pictures/boxes.h"
#include "pictures/decoder_memory.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAX_THREADS = 256, SLOTS = 256 };

/* The budget for all images that are decoded or being decoded: so much for each thread, and twice as much for each
   batch that is under way. The image that the consumer needs next is exempt, so that it never waits for later ones. The
   peak is therefore this budget, plus the pixels of a large image at the consumer and a large image that is being
   decoded. */
static const size_t OF_ONE = (size_t)32 << 20, MOST_BYTES = (size_t)512 << 20; /* 32 MiB: 11 million pixels */

typedef struct slot {
    decoded what;
    int ready;
} slot;

struct pipeline {
    const inputs *list;
    const model *prepare_for;
    picture_limits limits;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    size_t at, end;          /* the next row to hand to a thread */
    size_t started, taken;   /* images given to threads; images taken by the consumer */
    size_t ahead;            /* by how much `started` may exceed `taken` */
    size_t bytes;            /* of images that are decoded or being decoded */
    size_t budget, batches;  /* batches: that the consumer has under way */
    size_t ready;            /* images in the ring */
    stream_stats measured;
    int stop;
    slot ring[SLOTS];        /* image number n is in slot n % SLOTS */
    pthread_t thread[MAX_THREADS];
    int threads, numbered;   /* threads started; threads that have taken their number */
};

size_t pipeline_budget(const pipeline *p) { return p->budget / (p->batches + 1); }

int pipeline_threads(const pipeline *p) { return p->threads; }

static int is_same_picture(const input *a, const input *b) {
    return strcmp(a->path, b->path) == 0 && !a->failure == !b->failure && a->of.width == b->of.width &&
           a->of.height == b->of.height;
}

static size_t rows_of_one_picture(const inputs *list, size_t first, size_t end) {
    size_t n = 1;
    while (first + n < end && is_same_picture(&list->at[first], &list->at[first + n])) n++;
    return n;
}

/* Claims the next image for the calling thread: sets its number, or returns 0 with *d untouched if none is left. */
static int claim(pipeline *p, decoded *d, size_t *number) {
    const double began = clock_seconds();
    pthread_mutex_lock(&p->lock);
    while (!p->stop && p->at < p->end && p->started >= p->taken + p->ahead) pthread_cond_wait(&p->changed, &p->lock);
    int found = !p->stop && p->at < p->end;
    if (found) {
        memset(d, 0, sizeof *d);
        d->first = p->at;
        d->count = rows_of_one_picture(p->list, p->at, p->end);
        p->at += d->count;
        *number = p->started++;
        p->measured.room += clock_seconds() - began;
    }
    pthread_mutex_unlock(&p->lock);
    return found;
}

/* An image that a thread decodes: the user of its budget. */
typedef struct decoding {
    pipeline *p;
    decoded *d;
    size_t number;
} decoding;

/* Waits until there is room; returns 0 if the pipeline stops. */
static int wait_for_room(void *user, size_t bytes) {
    const decoding *is = user;
    pipeline *p = is->p;
    pthread_mutex_lock(&p->lock);
    while (!p->stop && is->number != p->taken && p->bytes + bytes > p->budget)
        pthread_cond_wait(&p->changed, &p->lock);
    int good = !p->stop;
    if (good) p->bytes += bytes, is->d->cost += bytes;
    pthread_mutex_unlock(&p->lock);
    is->d->when.room = clock_seconds();
    return good;
}

static void release_room(void *user, size_t bytes) {
    const decoding *is = user;
    pthread_mutex_lock(&is->p->lock);
    is->p->bytes -= bytes;
    is->d->cost -= bytes;
    pthread_cond_broadcast(&is->p->changed);
    pthread_mutex_unlock(&is->p->lock);
}

const char *decoded_image(const pipeline *p, const decoded *d, size_t index, reid_image *image, reid_box *box) {
    const input *in = &p->list->at[index];
    *image = (reid_image){d->pic.rgb, d->pic.width, d->pic.height, 0, REID_RGB8, NULL};
    if (!d->pic.rgb && !d->prepared) return d->why.len ? d->why.s : "unknown failure";
    if (in->unit != BOX_NONE && !box_in_pixels(in, d->pic.width, d->pic.height, box))
        return "the box lies outside any image";
    if (d->prepared) *image = model_prepared(p->prepare_for, d->prepared, index - d->first);
    else if (in->unit != BOX_NONE) image->box = box;
    return NULL;
}

/* Replaces the pixels with the network's input for each row, if that takes less memory. */
static void prepare(const pipeline *p, decoded *d, const image_budget *room) {
    reid_image *crops = p->prepare_for ? mem_array(d->count, sizeof *crops) : NULL;
    reid_box *boxes = crops ? mem_array(d->count, sizeof *boxes) : NULL;
    int good = boxes != NULL; /* if memory runs out, the pixels stay */
    for (size_t i = 0; i < d->count && good; i++) good = !decoded_image(p, d, d->first + i, &crops[i], &boxes[i]);
    if (good) d->prepared = image_prepare(&d->pic, p->prepare_for, crops, d->count, room);
    free(boxes);
    free(crops);
}

/* Decodes an image, which fails if its boxes are for another one. */
static int decode_listed(decoded *d, const input *in, const image_budget *room) {
    return image_decode(&d->pic, room, &d->why) &&
           stated_size_fits(in->of, in->unit == BOX_NORMALISED, d->pic.width, d->pic.height, &d->why);
}

static void decode(pipeline *p, decoded *d, size_t number) {
    const input *in = &p->list->at[d->first];
    decoding user = {p, d, number};
    const image_budget room = {wait_for_room, release_room, &user};
    int good = 0;
    d->when.begun = clock_seconds();
    if (in->failure) {
        text_puts(&d->why, in->failure);
    } else if (picture_open(&d->pic, in->path, &p->limits, &d->why)) {
        d->when.opened = clock_seconds();
        good = decode_listed(d, in, &room);
        d->when.decoded = clock_seconds();
        if (good) prepare(p, d, &room);
    }
    if (!good) picture_free(&d->pic);
    d->when.end = clock_seconds();
}

/* The time of a file that could not be opened is not counted. */
static void measure(stream_stats *to, const decode_times *t) {
    to->pictures++;
    if (t->opened <= 0) return;
    to->read += t->opened - t->begun;
    to->room += t->room - t->opened;
    to->decode += t->decoded - t->room;
    to->resize += t->end - t->decoded;
}

static void *work(void *user) {
    pipeline *p = user;
    decoded d;
    size_t number;
    const int mine = __atomic_fetch_add(&p->numbered, 1, __ATOMIC_RELAXED);
    while (claim(p, &d, &number)) {
        decode(p, &d, number);
        d.when.thread = mine;
        pthread_mutex_lock(&p->lock);
        measure(&p->measured, &d.when);
        REID_ASSERT(!p->ring[number % SLOTS].ready && number >= p->taken && number < p->taken + SLOTS);
        p->ready++;
        p->ring[number % SLOTS].what = d;
        p->ring[number % SLOTS].ready = 1;
        pthread_cond_broadcast(&p->changed);
        pthread_mutex_unlock(&p->lock);
    }
    return NULL;
}

pipeline *pipeline_start(const inputs *list, size_t first, size_t end, const decode_settings *how, const models *all) {
    pipeline *p = jpeg_decoder_ready(how->jpeg) ? need_zeroed(1, sizeof *p) : NULL;
    int wanted = models_decoders(all, how->threads, MAX_THREADS);
    if (!p) return NULL;
    p->list = list;
    /* Two models may need different inputs. */
    p->prepare_for = all && all->count == 1 && model_prepares(&all->at[0]) ? &all->at[0] : NULL;
    p->limits = picture_limits_of(how->max_pixels, wanted);
    p->limits.jpeg = how->jpeg;
    p->at = first;
    p->end = end;
    p->ahead = all ? 2 * ((size_t)all->batch + (size_t)wanted) : SLOTS / 4; /* a batch and a reserve */
    if (p->ahead > SLOTS) p->ahead = SLOTS;
    p->batches = all ? (size_t)models_lanes(all) : 1;
    p->budget = OF_ONE * ((size_t)wanted + 2 * p->batches);
    if (p->budget > MOST_BYTES) p->budget = MOST_BYTES;
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->changed, NULL);
    while (p->threads < wanted && thread_start(&p->thread[p->threads], work, p)) p->threads++;
    if (p->threads) return p;
    say_error("cannot start a thread to decode images");
    pipeline_stop(p);
    return NULL;
}

int pipeline_next(pipeline *p, decoded *out) {
    pthread_mutex_lock(&p->lock);
    slot *s = &p->ring[p->taken % SLOTS];
    while (!interrupted() && !s->ready && (p->at < p->end || p->started > p->taken)) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += 100000000; /* wakes up regularly to check for a signal */
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&p->changed, &p->lock, &until);
    }
    int found = s->ready && !interrupted();
    if (found) {
        *out = s->what;
        s->ready = 0;
        p->measured.ready += p->ready--;
        p->measured.taken = ++p->taken;
        pthread_cond_broadcast(&p->changed);
    }
    pthread_mutex_unlock(&p->lock);
    return found;
}

void pipeline_release(pipeline *p, decoded *d) {
    pthread_mutex_lock(&p->lock);
    p->bytes -= d->cost;
    pthread_cond_broadcast(&p->changed);
    pthread_mutex_unlock(&p->lock);
    picture_free(&d->pic);
    free(d->prepared);
    text_free(&d->why);
    memset(d, 0, sizeof *d);
}

void pipeline_measured(pipeline *p, stream_stats *out) {
    pthread_mutex_lock(&p->lock);
    *out = p->measured;
    pthread_mutex_unlock(&p->lock);
    out->decoders = p->threads;
}

void pipeline_now(pipeline *p, size_t *bytes, size_t *ready) {
    pthread_mutex_lock(&p->lock);
    *bytes = p->bytes;
    *ready = p->ready;
    pthread_mutex_unlock(&p->lock);
}

void pipeline_stop(pipeline *p) {
    pthread_mutex_lock(&p->lock);
    p->stop = 1;
    pthread_cond_broadcast(&p->changed);
    pthread_mutex_unlock(&p->lock);
    for (int i = 0; i < p->threads; i++) pthread_join(p->thread[i], NULL);
    for (int i = 0; i < SLOTS; i++)
        if (p->ring[i].ready) pipeline_release(p, &p->ring[i].what);
    pthread_mutex_destroy(&p->lock);
    pthread_cond_destroy(&p->changed);
    free(p);
    decoder_trim();
}
