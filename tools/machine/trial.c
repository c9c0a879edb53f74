#include "machine/trial.h"

#include "base/clock.h"
#include "base/files.h"
#include "base/memory.h"
#include "base/say.h"
#include "pictures/picture.h"

#include <stdlib.h>
#include <string.h>

enum { ROWS = 1 << 16, LOOKED_AT = 16 };

struct trial {
    trial_request r;
    inputs list;      /* the images, repeated so that no measurement runs out of them */
    models all;       /* opened with the setting `with`; empty: none are open */
    tune_setting with;
    reid_info info;   /* of the first model, opened with default settings */
    size_t of_picture; /* bytes for decoding the largest of the first images */
    double spent;
    char said[1024];
};

/* --- the list ----------------------------------------------------------------------------------------------------- */

/* Repeats the list. Adjacent rows of one image are decoded only once, so where the list starts again, no image may
   follow itself, if there are at least two. */
static int repeat_list(trial *t) {
    const inputs *from = t->r.list;
    size_t times = from->count < ROWS ? ROWS / from->count + 1 : 1;
    t->list.at = need_array(times * from->count, sizeof *t->list.at);
    if (!t->list.at) return 0;
    for (size_t i = 0; i < times; i++, t->list.count += from->count)
        memcpy(t->list.at + t->list.count, from->at, from->count * sizeof *from->at);
    return 1;
}

static int has_two(const inputs *list) {
    for (size_t i = 1; i < list->count; i++)
        if (strcmp(list->at[i].path, list->at[0].path) != 0) return 1;
    say_error("measuring settings needs at least two images, preferably a hundred");
    return 0;
}

/* Opens the first images, to check that they can be read, and how much memory they take. */
static int look_at_pictures(trial *t) {
    picture_limits limits = picture_limits_of(t->r.decode.max_pixels, 1);
    text why = TEXT_INIT, later = TEXT_INIT; /* for the first image; for others */
    limits.jpeg = t->r.decode.jpeg;
    for (size_t i = 0; i < t->r.list->count && i < LOOKED_AT; i++) {
        picture pic;
        const input *in = &t->r.list->at[i];
        if (in->failure) continue;
        if (picture_open(&pic, in->path, &limits, i ? &later : &why) && pic.cost > t->of_picture)
            t->of_picture = pic.cost;
        picture_free(&pic);
    }
    const input *first = t->r.list->at;
    if (!t->of_picture) say_error("%s: %s", shown(first->id), first->failure ? first->failure : why.s);
    text_free(&why), text_free(&later);
    return t->of_picture > 0;
}

/* --- models ------------------------------------------------------------------------------------------------------- */

static int is_memory(reid_result r) { return r == REID_ERR_OUT_OF_MEMORY || r == REID_ERR_MEMORY_LIMIT; }

/* Opens the models with this setting, unless they are already open with it. */
static tune_result open_with(trial *t, const tune_setting *at) {
    if (t->all.count && t->with.threads == at->threads && t->with.batch == at->batch) return TUNE_MEASURED;
    models_close(&t->all);
    memset(&t->all, 0, sizeof t->all);
    t->with = *at;
    for (int i = 0; i < t->r.model_count; i++) {
        reid_desc desc = t->r.models[i];
        desc.batch = at->batch, desc.threads = at->threads;
        say_listen(t->said, sizeof t->said);
        int good = models_add(&t->all, &desc);
        say_listen(NULL, 0);
        reid_result r = t->all.at[good ? i : t->all.count].result;
        int smaller = good && t->all.at[i].info.batch < at->batch;
        if (good && !smaller) continue;
        models_close(&t->all);
        if (smaller || is_memory(r)) return TUNE_TOO_LARGE;
        say_error("%s", t->said);
        return TUNE_FAILED;
    }
    return TUNE_MEASURED;
}

static size_t bytes_of(const trial *t, const tune_setting *at) {
    static const size_t of_one = (size_t)32 << 20; /* with larger images, decoders wait for each other */
    size_t bytes = 0, each = t->of_picture < of_one ? t->of_picture : of_one;
    for (int i = 0; i < t->all.count; i++) bytes += t->all.at[i].info.total_bytes;
    int waiting = t->all.count == 1 && model_prepares(&t->all.at[0]) ? 0 : 2 * models_lanes(&t->all); /* in full size */
    return bytes + (size_t)(at->decoders + waiting) * each;
}

/* --- a measurement ------------------------------------------------------------------------------------------------ */

/* Rows arrive in batches. The first batch includes one-time costs, so the clock starts when it is done, and stops after
   the time is over and at least one more batch is done. */
typedef struct watch {
    double seconds, began, last;
    size_t batch, rows, counted, good;
} watch;

static int take(void *user, size_t index, const float *row, const char *why) {
    watch *w = user;
    (void)index, (void)why;
    w->good += row != NULL;
    if (++w->rows % w->batch != 0) return 1;
    double now = clock_seconds();
    if (w->rows == w->batch) w->began = now;
    else w->counted = w->rows - w->batch, w->last = now;
    return !(w->counted && now - w->began >= w->seconds);
}

static void show_progress(trial *t, double spent) {
    const size_t all = (size_t)(t->r.seconds * 10) + 1;
    t->spent += spent;
    size_t done = (size_t)(t->spent * 10);
    progress_update(done < all ? done : all - 1, 0);
}

tune_result trial_measure(void *user, const tune_setting *at, double seconds, tune_measure *to) {
    trial *t = user;
    const double began = clock_seconds();
    tune_result r = open_with(t, at);
    watch w = {.seconds = seconds, .batch = (size_t)at->batch};
    memset(to, 0, sizeof *to);
    if (r == TUNE_MEASURED) {
        stream_job job = {.all = &t->all, .list = &t->list, .first = 0, .end = t->list.count, .decode = t->r.decode,
                          .label = "measuring", .fn = take, .user = &w};
        job.decode.threads = at->decoders;
        say_listen(t->said, sizeof t->said);
        stream_result end = stream_run(&job);
        say_listen(NULL, 0);
        if (end == STREAM_INTERRUPTED) return TUNE_FAILED;
        if (end == STREAM_FAILED) r = TUNE_TOO_LARGE;
        else if (!w.good || !w.counted) {
            say_error("no image could be embedded%s%s", *t->said ? ": " : "", t->said);
            return TUNE_FAILED;
        }
    }
    to->items = (double)w.counted, to->seconds = w.last - w.began;
    if (to->seconds < 1e-6) to->seconds = 1e-6;
    to->bytes = bytes_of(t, at);
    to->spent = clock_seconds() - began;
    show_progress(t, to->spent);
    return interrupted() ? TUNE_FAILED : r;
}

trial *trial_start(const trial_request *r) {
    if (!has_two(r->list)) return NULL;
    trial *t = need_zeroed(1, sizeof *t);
    if (!t) return NULL;
    t->r = *r;
    int good = repeat_list(t) && look_at_pictures(t) && models_open(&t->all, r->models, r->model_count);
    if (good) t->info = t->all.at[0].info;
    models_close(&t->all);
    if (!good) {
        trial_end(t);
        return NULL;
    }
    progress_start("measuring", (size_t)(r->seconds * 10) + 1);
    return t;
}

const reid_info *trial_info(const trial *t) { return &t->info; }

void trial_end(trial *t) {
    if (!t) return;
    progress_stop();
    models_close(&t->all);
    free(t->list.at);
    free(t);
}
