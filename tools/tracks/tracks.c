#include "tracks/tracks.h"

#include "base/memory.h"
#include "base/say.h"
#include "tracks/assignment.h"
#include "tracks/track_motion.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct open_track {
    track so_far;
    double evidence;       /* the sum of its scores */
    track_motion motion;   /* at its last box */
    track_motion expected; /* now */
    track_box box;         /* the expected box */
    uint32_t partner;      /* index of its box in this step, or TRACK_NONE */
    int missed;            /* frames since its last box: 0, 1, or 2 for more */
} open_track;

struct tracks {
    tracks_settings settings;
    open_track *open; /* in the order of their numbers */
    size_t count, room;
    track *ended;
    size_t ended_count, ended_room;
    int told;         /* tracks_ended was called; the next call forgets ended */
    uint32_t next, scene;
    double now;       /* seconds of the last step; -INFINITY before the first */
    assignment work;
    double *gain;     /* (tracks, boxes) in one stage of matching */
    uint32_t *column; /* the solution for gain */
    uint32_t *tracks_here, *boxes_here; /* indices of those that take part in the stage */
    size_t gain_room, column_room, tracks_room, boxes_room;
};

static const double STILL = 0.5; /* seconds over which the first velocity is measured */
/* These two were chosen on drawn films, like the numbers of track_motion. A track that was missed in the last frame is
   expected in a large area, where many boxes fit by chance, so a track that was seen in it takes precedence. */
static const double LOST = 0.6;     /* factor on the gain of a track that was missed */
static const double REMEMBERED = 2; /* it may be missed for this multiple of the time for which it was seen */

/* ---- settings and memory ----------------------------------------------------------------------------------------- */

tracks_settings tracks_defaults(void) {
    const tracks_settings s = {.low = 0.1, .high = 0.3, .overlap = 0.15, .patience = 1, .gap = 3, .evidence = 0.8};
    return s;
}

static int settings_good(const tracks_settings *s) {
    if (!(s->low >= 0 && s->low <= s->high && s->high <= 1))
        say_error("tracks: invalid scores low %g and high %g; expected 0 <= low <= high <= 1", s->low, s->high);
    else if (!(s->overlap > 0 && s->overlap <= 1))
        say_error("tracks: invalid overlap %g; expected more than 0, at most 1", s->overlap);
    else if (!(s->patience >= 0 && s->gap >= 0 && isfinite(s->patience) && isfinite(s->gap)))
        say_error("tracks: invalid patience %g s or gap %g s; expected finite numbers >= 0", s->patience, s->gap);
    else if (!(s->evidence >= 0 && isfinite(s->evidence)))
        say_error("tracks: invalid evidence %g; expected a finite number >= 0", s->evidence);
    else return 1;
    return 0;
}

tracks *tracks_create(const tracks_settings *settings) {
    tracks *t = settings_good(settings) ? need_zeroed(1, sizeof *t) : NULL;
    if (!t) return NULL;
    t->settings = *settings;
    t->now = -(double)INFINITY;
    return t;
}

void tracks_free(tracks *t) {
    if (!t) return;
    assignment_free(&t->work);
    free(t->open), free(t->ended), free(t->gain), free(t->column), free(t->tracks_here), free(t->boxes_here);
    free(t);
}

#define ROOM(array, count, room) room_for(&(array), sizeof *(array), count, &(room))
static int room_for(void *array, size_t size, size_t count, size_t *room) {
    while (*room < count)
        if (!mem_grow(array, size, room)) return say_no_memory();
    return 1;
}

/* Reserves all memory that a step may need, so that nothing has changed if memory runs out. */
static int make_room(tracks *t, size_t boxes) {
    if (boxes >= TRACK_NONE - t->next) {
        say_error("tracks: %zu boxes are too many", boxes);
        return 0;
    }
    if (boxes && t->count > SIZE_MAX / 2 / boxes) return say_no_memory();
    return ROOM(t->open, t->count + boxes, t->room) && ROOM(t->ended, t->ended_count + t->count, t->ended_room) &&
           ROOM(t->gain, t->count * boxes, t->gain_room) && ROOM(t->column, t->count, t->column_room) &&
           ROOM(t->tracks_here, t->count, t->tracks_room) && ROOM(t->boxes_here, boxes, t->boxes_room) &&
           assignment_room(&t->work, t->count, boxes);
}

static void forget_ended(tracks *t) {
    if (t->told) t->ended_count = 0;
    t->told = 0;
}

/* ---- one track --------------------------------------------------------------------------------------------------- */

static void begin(tracks *t, double seconds, const track_box *b) {
    open_track *o = &t->open[t->count++];
    memset(o, 0, sizeof *o);
    o->so_far.number = t->next++;
    o->so_far.scene = t->scene;
    o->so_far.boxes = 1;
    o->so_far.first = o->so_far.last = seconds;
    o->so_far.first_box = o->so_far.last_box = *b;
    o->evidence = b->score;
    o->motion = motion_begin(b);
}

static void go_on(open_track *o, double seconds, const track_box *b) {
    track *so_far = &o->so_far;
    o->motion = motion_update(&o->expected, b);
    o->missed = 0;
    o->evidence += b->score;
    so_far->boxes++;
    if (seconds > so_far->first && (so_far->last <= so_far->first || seconds - so_far->first <= STILL)) {
        double passed = seconds - so_far->first;
        const track_box *from = &so_far->first_box;
        so_far->first_velocity[0] = (b->x + b->w / 2 - from->x - from->w / 2) / passed;
        so_far->first_velocity[1] = (b->y + b->h / 2 - from->y - from->h / 2) / passed;
    }
    so_far->last = seconds;
    so_far->last_box = *b;
    so_far->last_velocity[0] = o->motion.x.velocity;
    so_far->last_velocity[1] = o->motion.y.velocity;
}

static void end(tracks *t, const open_track *o) {
    track *out = &t->ended[t->ended_count++];
    *out = o->so_far;
    out->firm = o->evidence >= t->settings.evidence;
}

/* 1 if the track ends now. A track that was seen only briefly ends sooner: little is known of it, and it would continue
   with any other animal that comes by. */
static int is_lost(const tracks *t, const open_track *o, double seconds) {
    double patience = fmin(t->settings.patience, REMEMBERED * (o->so_far.last - o->so_far.first));
    return (o->missed > 1 && t->now - o->so_far.last > patience) || seconds - t->now > t->settings.gap;
}

/* Ends the lost tracks; the others keep their order. */
static void end_lost(tracks *t, double seconds) {
    size_t kept = 0;
    for (size_t i = 0; i < t->count; i++) {
        if (is_lost(t, &t->open[i], seconds)) end(t, &t->open[i]);
        else t->open[kept++] = t->open[i];
    }
    t->count = kept;
}

/* ---- one step ---------------------------------------------------------------------------------------------------- */

/* The gain of matching box b with the track. Both terms are at most 1, so that a fitting position and an overlap count
   alike. */
static double gain_of(const tracks *t, const open_track *o, const track_box *b) {
    if (b->category != o->so_far.last_box.category) return 0;
    double fit = motion_fit(&o->expected, b), overlap = track_box_iou(&o->box, b);
    double gain = fit > 0 || overlap >= t->settings.overlap ? fit + overlap : 0;
    return o->missed ? LOST * gain : gain;
}

/* Matches the boxes with low <= score < high with the tracks that have no box yet. */
static void match(tracks *t, const track_box *boxes, size_t count, double low, double high, uint32_t *number) {
    size_t here = 0, wanted = 0;
    for (size_t k = 0; k < count; k++)
        if (boxes[k].score >= low && boxes[k].score < high) t->boxes_here[wanted++] = (uint32_t)k;
    for (size_t i = 0; i < t->count; i++)
        if (t->open[i].partner == TRACK_NONE) t->tracks_here[here++] = (uint32_t)i;
    for (size_t i = 0; i < here; i++)
        for (size_t k = 0; k < wanted; k++)
            t->gain[i * wanted + k] = gain_of(t, &t->open[t->tracks_here[i]], &boxes[t->boxes_here[k]]);
    (void)assignment_solve(&t->work, t->gain, here, wanted, t->column); /* there is room */
    for (size_t i = 0; i < here; i++) {
        if (t->column[i] == ASSIGNMENT_NONE) continue;
        open_track *o = &t->open[t->tracks_here[i]];
        o->partner = t->boxes_here[t->column[i]];
        number[o->partner] = o->so_far.number;
    }
}

static int boxes_good(const tracks *t, double seconds, const track_box *boxes, size_t count) {
    if (!isfinite(seconds) || seconds < t->now) {
        say_error("tracks: a frame at %g s after one at %g s; times must not decrease", seconds, t->now);
        return 0;
    }
    for (size_t k = 0; k < count; k++) {
        if (track_box_good(&boxes[k])) continue;
        say_error("tracks: box %zu at %g s: %g x %g at %g, %g with a score of %g is not a valid box", k, seconds,
                  boxes[k].w, boxes[k].h, boxes[k].x, boxes[k].y, boxes[k].score);
        return 0;
    }
    return 1;
}

/* Predicts where the open tracks are. */
static void expect(tracks *t, double seconds) {
    for (size_t i = 0; i < t->count; i++) {
        open_track *o = &t->open[i];
        o->expected = motion_predict(&o->motion, seconds - o->so_far.last);
        o->box = motion_box(&o->expected);
        o->partner = TRACK_NONE;
    }
}

int tracks_step(tracks *t, double seconds, const track_box *boxes, size_t count, uint32_t *number) {
    if (!boxes_good(t, seconds, boxes, count)) return 0;
    forget_ended(t);
    if (!make_room(t, count)) return 0;
    end_lost(t, seconds);
    expect(t, seconds);
    for (size_t k = 0; k < count; k++) number[k] = TRACK_NONE;
    match(t, boxes, count, t->settings.high, (double)INFINITY, number);
    match(t, boxes, count, t->settings.low, t->settings.high, number);
    for (size_t i = 0; i < t->count; i++) {
        open_track *o = &t->open[i];
        if (o->partner != TRACK_NONE) go_on(o, seconds, &boxes[o->partner]);
        else if (o->missed < 2) o->missed++;
    }
    for (size_t k = 0; k < count; k++) {
        if (number[k] != TRACK_NONE || boxes[k].score < t->settings.high) continue;
        number[k] = t->next;
        begin(t, seconds, &boxes[k]);
    }
    t->now = seconds;
    return 1;
}

int tracks_cut(tracks *t) {
    forget_ended(t);
    if (!make_room(t, 0)) return 0;
    for (size_t i = 0; i < t->count; i++) end(t, &t->open[i]);
    t->count = 0;
    t->scene++;
    return 1;
}

const track *tracks_ended(tracks *t, size_t *count) {
    t->told = 1;
    *count = t->ended_count;
    return t->ended;
}

size_t tracks_open(const tracks *t) { return t->count; }
