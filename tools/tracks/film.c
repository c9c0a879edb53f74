#include "tracks/film.h"

#include "base/clock.h"
#include "base/files.h"
#include "base/invariant.h"
#include "base/memory.h"
#include "base/say.h"
#include "tracks/best_frames.h"
#include "tracks/quality.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A crop that may become one of the best frames. */
typedef struct candidate {
    film_shot shot;
    unsigned char *rgb;
} candidate;

typedef struct open_track {
    uint32_t number;
    best_frames best;
} open_track;

typedef struct filming {
    film *f;
    const film_request *r;
    crop_rows *rows;
    tracks *tracker;
    open_track *open;
    size_t open_count, open_cap;
    size_t next;           /* index of the first box in this frame or a later one */
    size_t next_cut;       /* index in r->cuts */
    uint32_t stride;       /* the detector has processed one frame in this many */
    track_box *boxes;      /* the frame's boxes, their parts inside the frame, and their tracks */
    reid_box *crops;
    uint32_t *numbers;
    size_t boxes_cap, crops_cap, numbers_cap;
    unsigned char *small;  /* the network's input for a crop */
    double seconds;        /* the time of the last frame; it never decreases, even if the file's times do */
} filming;

static void forget(void *kept) {
    candidate *c = kept;
    free(c->rgb);
    free(c);
}

/* --- boxes -------------------------------------------------------------------------------------------------------- */

static uint32_t greatest_divisor(uint32_t a, uint32_t b) {
    while (b) {
        uint32_t rest = a % b;
        a = b, b = rest;
    }
    return a;
}

/* The number of frames from one that the detector has processed to the next: the greatest common divisor of the
   distances between frames with boxes. Frames in between say nothing about tracks. */
static uint32_t stride_of(const detections *d) {
    uint32_t stride = 0;
    for (size_t i = 1; i < d->count; i++) stride = greatest_divisor(stride, d->at[i].frame - d->at[0].frame);
    return stride ? stride : 1;
}

/* Clips a box along one axis to 0 ... size. Returns 0 if nothing is left. */
static int clip(double from, double to, int size, int *at, int *length) {
    from = rint(from), to = rint(to); /* half to even, as boxes_read and Pillow's crop do */
    if (from < 0) from = 0;
    if (to > size) to = size;
    if (!(to > from)) return 0;
    *at = (int)from, *length = (int)(to - from);
    return 1;
}

static int outside(const filming *run, const detection *at, const track_box *b, const video_frame *v) {
    if (run->r->photos) {
        say_error("%s: the box x %g, y %g, width %g, height %g has no pixel of the %d x %d photo; are these the "
                  "detections of another photo?", shown(run->r->photos->at[at->frame].path), b->x, b->y, b->w, b->h,
                  v->width, v->height);
        return 0;
    }
    say_error("%s: frame %u: the box x %g, y %g, width %g, height %g has no pixel of the %d x %d frame; are these the "
              "detections of another video?", shown(run->r->video.path), at->frame, b->x, b->y, b->w, b->h, v->width,
              v->height);
    return 0;
}

/* Reports a photo whose size is not the one that the detector's file states. */
static int is_other_size(const filming *run, const detection *at, const video_frame *v) {
    const int is_fraction = run->f->found.unit == BOX_NORMALISED;
    text why = TEXT_INIT;
    if (!run->r->photos || stated_size_fits(at->of, is_fraction, v->width, v->height, &why)) return 0;
    say_error("%s: %s", shown(run->r->photos->at[at->frame].path), why.s);
    text_free(&why);
    return 1;
}

/* Takes the detection as box i of the frame. Returns 0 after saying that it lies outside, or is of another photo. */
static int take_box(filming *run, detection *at, const video_frame *v, size_t i) {
    double across = run->f->found.unit == BOX_NORMALISED ? v->width : 1;
    double down = run->f->found.unit == BOX_NORMALISED ? v->height : 1;
    track_box *b = &run->boxes[i];
    reid_box *c = &run->crops[i];
    if (is_other_size(run, at, v)) return 0;
    *b = (track_box){.x = at->box[0] * across, .y = at->box[1] * down, .w = at->box[2] * across,
                     .h = at->box[3] * down, .score = at->score, .category = (int)at->category};
    memset(c, 0, sizeof *c);
    at->box[0] = b->x, at->box[1] = b->y, at->box[2] = b->w, at->box[3] = b->h; /* in pixels from now on */
    if (clip(b->x, b->x + b->w, v->width, &c->x, &c->width) && clip(b->y, b->y + b->h, v->height, &c->y, &c->height))
        return 1;
    c->width = c->height = 0;
    if (b->x < v->width && b->y < v->height && b->x + b->w > 0 && b->y + b->h > 0) return 1; /* less than a pixel */
    return outside(run, at, b, v);
}

/* --- tracks ------------------------------------------------------------------------------------------------------- */

static open_track *find_open(filming *run, uint32_t number) {
    for (size_t i = 0; i < run->open_count; i++)
        if (run->open[i].number == number) return &run->open[i];
    return NULL;
}

/* Sends the crops of an ended track to be embedded. */
static int keep_shots(filming *run, film_track *to, best_frame *chosen, size_t n) {
    text name = TEXT_INIT;
    int good = 1;
    to->shots = need_array(n, sizeof *to->shots);
    for (size_t i = 0; i < n; i++) {
        candidate *c = chosen[i].kept;
        film_shot *shot = &c->shot;
        good = good && to->shots;
        text_clear(&name);
        text_printf(&name, "crops/%s/%06u-%u.png", run->r->name, shot->frame, shot->place);
        if (good && need_text(&name)) {
            unsigned char *rgb = c->rgb;
            c->rgb = NULL;
            good = crop_rows_add(run->rows, name.s, rgb, shot->crop.width, shot->crop.height, &shot->row);
            to->shots[to->count++] = *shot;
        } else {
            good = 0;
        }
        forget(c);
    }
    text_free(&name);
    return good;
}

static int end_track(filming *run, const track *ended) {
    open_track *open = find_open(run, ended->number);
    best_frame chosen[BEST_MOST];
    film *f = run->f;
    if (!open) return 1; /* none of its boxes had a pixel */
    best_frames best = open->best;
    *open = run->open[--run->open_count];
    if (!ended->firm) return best_take(&best, NULL) == 0;
    size_t n = best_take(&best, chosen);
    REID_ASSERT(n <= BEST_MOST);
    if (!NEED(f->tracks, f->count, f->cap)) {
        for (size_t i = 0; i < n; i++) forget(chosen[i].kept);
        return 0;
    }
    film_track *to = &f->tracks[f->count++];
    memset(to, 0, sizeof *to);
    to->track = *ended;
    return keep_shots(run, to, chosen, n);
}

static int take_ended(filming *run) {
    size_t count;
    const track *ended = tracks_ended(run->tracker, &count);
    for (size_t i = 0; i < count; i++)
        if (!end_track(run, &ended[i])) return 0;
    return 1;
}

/* --- the best frames ---------------------------------------------------------------------------------------------- */

/* A box of the frame, relative to the part of the frame whose pixels are in memory. */
static reid_box within(const video_frame *v, const reid_box *box) {
    return (reid_box){box->x - v->part.x, box->y - v->part.y, box->width, box->height};
}

static unsigned char *cut_out(const video_frame *v, const reid_box *of) {
    const reid_box box = within(v, of);
    const size_t row = 3 * (size_t)box.width, wide = (size_t)v->part.width;
    REID_ASSERT(box.x >= 0 && box.width > 0 && box.width <= v->part.width - box.x);
    REID_ASSERT(box.y >= 0 && box.height > 0 && box.height <= v->part.height - box.y);
    unsigned char *rgb = need_array((size_t)box.height, row);
    for (int y = 0; y < box.height && rgb; y++)
        memcpy(rgb + (size_t)y * row, v->rgb + 3 * ((size_t)(box.y + y) * wide + (size_t)box.x), row);
    return rgb;
}

/* The quality of box i for its track; -1 after saying what is wrong. */
static double quality_in(filming *run, const video_frame *v, size_t count, size_t i) {
    const model *m = &run->rows->all->at[0];
    const reid_box box = within(v, &run->crops[i]);
    const reid_image image = {
        .pixels = v->rgb, .width = v->part.width, .height = v->part.height, .format = REID_RGB8, .box = &box};
    reid_error error;
    reid_result result = reid_preprocess(m->ctx, &image, run->small, &error);
    if (result != REID_OK) {
        say_error("%s: frame %zu: %s", shown(run->r->video.path), v->index, reason_of(&error, result));
        return -1;
    }
    const quality_measures q = {.sharpness = quality_sharpness(run->small, m->info.width, m->info.height),
                                .side = track_box_side(&run->boxes[i]),
                                .input = sqrt((double)m->info.width * m->info.height),
                                .score = run->boxes[i].score,
                                .clipped = quality_clipped(&run->boxes[i], v->width, v->height),
                                .covered = quality_covered(run->boxes, count, i)};
    return quality_of(&q);
}

/* Offers the frame to the track of box i, which keeps it as a candidate if it is good enough. */
static int offer(filming *run, const video_frame *v, size_t count, size_t i) {
    open_track *open = find_open(run, run->numbers[i]);
    if (run->crops[i].width == 0) return 1;
    if (!open) {
        if (!NEED(run->open, run->open_count, run->open_cap)) return 0;
        open = &run->open[run->open_count++];
        memset(open, 0, sizeof *open);
        open->number = run->numbers[i];
        if (!best_begin(&open->best, run->r->best, run->r->apart, forget)) return 0;
    }
    double quality = quality_in(run, v, count, i);
    if (quality < 0) return 0;
    if (!best_wants(&open->best, run->seconds, quality)) return 1;
    candidate *c = need_zeroed(1, sizeof *c);
    if (!c) return 0;
    c->shot = (film_shot){.frame = (uint32_t)v->index, .place = (uint32_t)i, .seconds = v->seconds,
                          .box = run->boxes[i],
                          .crop = run->crops[i], .quality = quality};
    const double began = clock_seconds();
    c->rgb = cut_out(v, &run->crops[i]);
    run->rows->work.crop += clock_seconds() - began;
    run->rows->work.crops++;
    if (!c->rgb) return forget(c), 0;
    best_put(&open->best, run->seconds, quality, c);
    return 1;
}

/* --- frames ------------------------------------------------------------------------------------------------------- */

static int begin_scene(filming *run, const video_frame *v) {
    film *f = run->f;
    int listed = run->next_cut < run->r->cut_count && run->r->cuts[run->next_cut] == v->index;
    run->next_cut += (size_t)listed;
    if (v->index && !listed && !v->cut) return 1;
    if (!NEED(f->scenes, f->scene_count, f->scene_cap)) return 0;
    f->scenes[f->scene_count++] = (film_scene){(uint32_t)v->index, v->seconds};
    return !v->index || (tracks_cut(run->tracker) && take_ended(run));
}

/* The frames that the detector processed must be as large as the video's, if the detections state their size. */
static int size_fits(const filming *run, const video_frame *v) {
    const detections *d = &run->f->found;
    if (!d->width || v->index || (d->width == v->width && d->height == v->height)) return 1;
    say_error("%s: its frames have %d x %d pixels, but those of the detections %d x %d; are these the detections of "
              "another video?", shown(run->r->video.path), v->width, v->height, d->width, d->height);
    return 0;
}

static int make_room(filming *run, size_t count) {
    while (run->boxes_cap < count || run->crops_cap < count || run->numbers_cap < count)
        if (!NEED(run->boxes, run->boxes_cap, run->boxes_cap) || !NEED(run->crops, run->crops_cap, run->crops_cap) ||
            !NEED(run->numbers, run->numbers_cap, run->numbers_cap)) return 0;
    return 1;
}

static int take_frame(filming *run, const video_frame *v) {
    film *f = run->f;
    const detections *d = &f->found;
    size_t count = 0, first = run->next;
    while (first + count < d->count && d->at[first + count].frame == v->index) count++;
    run->next += count;
    run->rows->work.boxes += count;
    if (v->seconds > run->seconds) run->seconds = v->seconds;
    f->frames = v->index + 1, f->seconds = run->seconds;
    if (!size_fits(run, v) || !begin_scene(run, v) || !make_room(run, count)) return 0;
    if (!count && (!d->count || v->index % run->stride != d->at[0].frame % run->stride)) return 1;
    for (size_t i = 0; i < count; i++)
        if (!take_box(run, &d->at[first + i], v, i)) return 0;
    if (!tracks_step(run->tracker, run->seconds, run->boxes, count, run->numbers)) return 0;
    for (size_t i = 0; i < count; i++) {
        f->numbers[first + i] = run->numbers[i];
        if (run->numbers[i] != TRACK_NONE && !offer(run, v, count, i)) return 0;
    }
    return take_ended(run);
}

/* The time of the stages that may run while a frame is taken. They are counted separately. */
static double crop_seconds(const crop_work *w) { return w->crop + w->compute + w->write; }

static int take_timed(filming *run, const video_frame *v) {
    crop_work *w = &run->rows->work;
    const double began = clock_seconds(), before = crop_seconds(w);
    const int good = take_frame(run, v);
    w->frames++;
    w->choose += clock_seconds() - began - (crop_seconds(w) - before);
    return good;
}

/* --- the end ------------------------------------------------------------------------------------------------------ */

static int by_number(const void *a, const void *b) {
    const film_track *x = a, *y = b;
    return (x->track.number > y->track.number) - (x->track.number < y->track.number);
}

/* Sorts the tracks by their first boxes, and replaces the tracker's numbers of the boxes by indices into tracks. */
static void put_in_order(film *f) {
    if (f->count) qsort(f->tracks, f->count, sizeof *f->tracks, by_number);
    for (size_t k = 0; k < f->count; k++) f->tracks[k].first_frame = UINT32_MAX;
    for (size_t i = 0; i < f->found.count; i++) {
        const film_track key = {.track = {.number = f->numbers[i]}};
        film_track *t = f->count && f->numbers[i] != TRACK_NONE
                            ? bsearch(&key, f->tracks, f->count, sizeof key, by_number) : NULL;
        f->numbers[i] = t ? (uint32_t)(t - f->tracks) : UINT32_MAX;
        if (!t) continue;
        if (t->first_frame == UINT32_MAX) t->first_frame = f->found.at[i].frame;
        t->last_frame = f->found.at[i].frame;
    }
}

/* If the video was read to its end, detections of later frames are an error. */
static int fits_end(const filming *run) {
    film *f = run->f;
    uint32_t last = f->found.count ? f->found.at[f->found.count - 1].frame : 0;
    if (f->found.looked > last) last = f->found.looked - 1;
    f->beyond = f->found.count - run->next;
    if (f->problem.len || last < f->frames || (!f->found.count && !f->found.looked)) return 1;
    say_error("%s: it has %zu frame%s, but there are detections of frame %u (from 0); are these the detections of "
              "another video?", shown(run->r->video.path), f->frames, plural(f->frames), last);
    return 0;
}

static int next_frame(filming *run, video *v, video_frame *frame, text *why) {
    const double began = clock_seconds();
    const int result = video_next(v, frame, why);
    run->rows->work.read += clock_seconds() - began;
    return result;
}

/* Reads all frames that can be read. */
static int read_frames(filming *run, video *v) {
    film *f = run->f;
    video_frame frame;
    text why = TEXT_INIT;
    int result, good = 1;
    while ((result = next_frame(run, v, &frame, &why)) == 1 && good) {
        if (!frame.index) f->width = frame.width, f->height = frame.height;
        good = take_timed(run, &frame) && !interrupted();
    }
    video_end end = video_how_it_ended(v);
    text_puts(&f->decoder, video_decoder(v));
    f->streams = video_streams(v);
    if (good && end == VIDEO_INTERRUPTED) good = 0;
    if (good && end == VIDEO_FAILED) say_error("%s: %s", shown(run->r->video.path), why.s), good = 0;
    if (good && result < 0) text_join(&f->problem, &why), f->passing = end == VIDEO_BROKEN_OFF;
    text_free(&why);
    return good && tracks_cut(run->tracker) && take_ended(run) && fits_end(run);
}

/* Reports a photo that cannot be decoded. It says nothing about tracks. */
static int pass_over(filming *run, const video_frame *v, const text *why) {
    film *f = run->f;
    say_error("%s: %s", shown(run->r->photos->at[v->index].path), why->s);
    while (run->next < f->found.count && f->found.at[run->next].frame == v->index) {
        memset(f->found.at[run->next].box, 0, sizeof f->found.at[run->next].box); /* its size in pixels is unknown */
        run->next++;
    }
    f->unread++;
    f->frames = v->index + 1;
    if (v->seconds > run->seconds) run->seconds = v->seconds;
    f->seconds = run->seconds;
    return begin_scene(run, v);
}

static int next_photo(filming *run, photo_frames *p, video_frame *frame, text *why) {
    const double began = clock_seconds();
    const int result = photo_frames_next(p, frame, why);
    run->rows->work.read += clock_seconds() - began;
    return result;
}

static int read_photos(filming *run, const uint32_t *wanted, size_t count) {
    film *f = run->f;
    video_frame frame;
    text why = TEXT_INIT;
    photo_frames *p = photo_frames_open(run->r->photos, wanted, count, run->r->burst, &run->r->decode);
    int good = p != NULL;
    while (good && next_photo(run, p, &frame, &why)) {
        if (frame.rgb && !f->width) f->width = frame.width, f->height = frame.height;
        good = why.len ? pass_over(run, &frame, &why) : take_timed(run, &frame);
    }
    photo_frames_close(p);
    text_free(&why);
    if (f->unread)
        text_printf(&f->problem, "%zu of %zu photo%s could not be read", f->unread, run->r->photos->count,
                    plural(run->r->photos->count));
    return good && !interrupted() && tracks_cut(run->tracker) && take_ended(run);
}

static int start(filming *run) {
    const model *m = &run->rows->all->at[0];
    tracks_settings settings = tracks_defaults();
    if (run->r->photos) { /* there may be only one photo of an animal */
        settings.gap = run->r->burst;
        settings.evidence = settings.high;
    }
    run->f->numbers = need_array(run->f->found.count + 1, sizeof *run->f->numbers);
    for (size_t i = 0; i < run->f->found.count && run->f->numbers; i++) run->f->numbers[i] = TRACK_NONE;
    run->small = need_array((size_t)m->info.width * (size_t)m->info.height, 3);
    run->stride = run->r->photos ? 1 : stride_of(&run->f->found);
    run->tracker = run->f->numbers && run->small ? tracks_create(&settings) : NULL;
    return run->tracker != NULL;
}

/* The frames whose pixels are needed, and the needed part of each. */
typedef struct needed {
    uint32_t *frames;  /* [count] */
    frame_area *areas; /* [count] */
    size_t count;
} needed;

/* An edge of a box in whole units, `units` of which are 1 in the box's own; an end is rounded up, a start down. */
static uint32_t whole_units(double at, double units, double most, int is_end) {
    at = is_end ? ceil(at * units) : floor(at * units);
    return (uint32_t)(at > most ? most : at > 0 ? at : 0);
}

static frame_area area_of(const detection *d, box_unit unit) {
    const double units = unit == BOX_NORMALISED ? FRAME_PARTS : 1;
    const double most = unit == BOX_NORMALISED ? FRAME_PARTS : FRAME_SIDE_MOST;
    return (frame_area){whole_units(d->box[0], units, most, 0), whole_units(d->box[1], units, most, 0),
                        whole_units(d->box[0] + d->box[2], units, most, 1),
                        whole_units(d->box[1] + d->box[3], units, most, 1)};
}

static void widen(frame_area *a, const frame_area *by) {
    if (by->x0 < a->x0) a->x0 = by->x0;
    if (by->y0 < a->y0) a->y0 = by->y0;
    if (by->x1 > a->x1) a->x1 = by->x1;
    if (by->y1 > a->y1) a->y1 = by->y1;
}

/* Returns 0 after reporting that memory ran out. */
static int find_needed(needed *n, const detections *d) {
    n->frames = need_array(d->count + 1, sizeof *n->frames);
    n->areas = n->frames ? need_array(d->count + 1, sizeof *n->areas) : NULL;
    for (size_t i = 0; i < d->count && n->areas; i++) {
        const frame_area area = area_of(&d->at[i], d->unit);
        if (i && d->at[i].frame == d->at[i - 1].frame) {
            widen(&n->areas[n->count - 1], &area);
            continue;
        }
        n->areas[n->count] = area;
        n->frames[n->count++] = d->at[i].frame;
    }
    return n->areas != NULL;
}

int film_make(film *f, const film_request *r, crop_rows *rows) {
    filming run = {.f = f, .r = r, .rows = rows};
    f->r = r;
    int good = start(&run);
    video_request wanted = r->video;
    needed pixels = {0};
    good = good && find_needed(&pixels, &f->found);
    wanted.wanted = pixels.frames, wanted.wanted_count = pixels.count;
    wanted.areas = pixels.areas, wanted.parts = f->found.unit == BOX_NORMALISED;
    const double began = clock_seconds();
    video *v = good && !r->photos ? video_open(&wanted, &f->problem) : NULL;
    rows->work.read += clock_seconds() - began; /* ffmpeg examines the file first */
    if (good && r->photos) good = read_photos(&run, pixels.frames, pixels.count);
    else if (v) good = read_frames(&run, v);
    else if (good && !f->problem.len) good = 0; /* interrupted */
    else f->passing = 1;
    if (good && (text_failed(&f->problem) || text_failed(&f->decoder))) good = say_no_memory();
    if (good) put_in_order(f);
    f->found.unit = BOX_PIXELS;
    const double closed = clock_seconds();
    video_close(v);
    rows->work.read += clock_seconds() - closed;
    for (size_t i = 0; i < run.open_count; i++) best_take(&run.open[i].best, NULL);
    tracks_free(run.tracker);
    free(run.open), free(run.boxes), free(run.crops), free(run.numbers), free(run.small);
    free(pixels.frames), free(pixels.areas);
    return good;
}

void film_free(film *f) {
    for (size_t i = 0; i < f->count; i++) free(f->tracks[i].shots);
    free(f->tracks), free(f->scenes), free(f->numbers);
    detections_free(&f->found);
    text_free(&f->decoder), text_free(&f->problem);
    memset(f, 0, sizeof *f);
}
