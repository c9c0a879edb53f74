/* tracks and track_joins, as the program that tools/peers/track.py compares with others.

     track_ours FPS DETECTIONS WHO OUT [JOINED]

   DETECTIONS and WHO are those of demo_video. OUT, and JOINED after broken tracks were joined, are MOT text: frame,
   track, box, 1, -1, -1, -1. There is no network here: an embedding is the direction of an animal plus
   noise, so that two boxes of one animal have a cosine of about SAME.

   sh tools/peers/track compiles it */
#include "base/memory.h"
#include "base/random.h"
#include "demo_program/herd.h"
#include "tracks/track_joins.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { DIM = 128 };
static const double SAME = 0.6;

typedef struct found {
    int frame, who;
    track_box box;
    uint32_t number;
} found;

typedef struct run {
    double fps;
    found *at;
    size_t count, cap;
    track *ended;
    size_t ended_count, ended_cap;
} run;

static void stop(const char *why) {
    fprintf(stderr, "track_ours: %s\n", why);
    exit(2);
}

static void read_found(run *r, const char *detections, const char *who) {
    FILE *f = fopen(detections, "r"), *g = fopen(who, "r");
    found one = {.frame = 0};
    if (!f || !g) stop("cannot open DETECTIONS or WHO");
    while (fscanf(f, "%d,-1,%lf,%lf,%lf,%lf,%lf,-1,-1,-1", &one.frame, &one.box.x, &one.box.y, &one.box.w, &one.box.h,
                  &one.box.score) == 6 &&
           fscanf(g, "%d", &one.who) == 1) {
        if (!NEED(r->at, r->count, r->cap)) exit(1);
        r->at[r->count++] = one;
    }
    if (!feof(f)) stop("DETECTIONS and WHO must be files that demo_video wrote");
    fclose(f), fclose(g);
}

static void keep_ended(run *r, tracks *t) {
    size_t count;
    const track *ended = tracks_ended(t, &count);
    for (size_t i = 0; i < count; i++) {
        if (!NEED(r->ended, r->ended_count, r->ended_cap)) exit(1);
        r->ended[r->ended_count++] = ended[i];
    }
}

static void run_tracks(run *r) {
    tracks_settings settings = tracks_defaults();
    tracks *t = tracks_create(&settings);
    track_box *boxes = need_array(r->count, sizeof *boxes);
    uint32_t *number = need_array(r->count, sizeof *number);
    if (!t || !boxes || !number) exit(1);
    int frame = 1;
    for (size_t i = 0, end; i < r->count; i = end, frame++) { /* frames without boxes count, too */
        for (end = i; end < r->count && r->at[end].frame == frame; end++) boxes[end - i] = r->at[end].box;
        if (!tracks_step(t, (frame - 1) / r->fps, boxes, end - i, number)) exit(1);
        for (size_t k = i; k < end; k++) r->at[k].number = number[k - i];
        keep_ended(r, t);
    }
    if (!tracks_cut(t)) exit(1);
    keep_ended(r, t);
    tracks_free(t), free(boxes), free(number);
}

/* Approximately normal. Every deer has a direction, and every mistake its own. */
static void add_embedding(float *row, const found *d, size_t at) {
    uint64_t who = d->who ? (uint64_t)d->who : 1000 + at, r = random_mix(at * 7919 + 13);
    for (int k = 0; k < DIM; k++) {
        double centre = 0, noise = 0;
        for (int i = 0; i < 4; i++) centre += unit(random_mix(who * DIM + (uint64_t)k) + (uint64_t)i) - 0.5;
        for (int i = 0; i < 4; i++) noise += between(&r, -0.5, 0.5);
        row[k] += (float)(sqrt(SAME) * centre + sqrt(1 - SAME) * noise);
    }
}

static void write_tracks(const run *r, const char *path, const uint32_t *whole, const uint32_t *where) {
    FILE *f = fopen(path, "w");
    if (!f) stop("cannot write OUT or JOINED");
    for (size_t i = 0; i < r->count; i++) {
        const found *d = &r->at[i];
        if (d->number == TRACK_NONE || !r->ended[where[d->number]].firm) continue;
        uint32_t at = where[d->number], number = whole ? r->ended[whole[at]].number : d->number;
        fprintf(f, "%d,%u,%.3f,%.3f,%.3f,%.3f,1,-1,-1,-1\n", d->frame, number + 1, d->box.x, d->box.y, d->box.w,
                d->box.h);
    }
    if (fclose(f)) stop("cannot write OUT or JOINED");
}

int main(int argc, char **argv) {
    run r = {.fps = argc > 1 ? atof(argv[1]) : 0};
    if (argc < 5 || argc > 6 || !(r.fps > 0)) stop("usage: track_ours FPS DETECTIONS WHO OUT [JOINED]");
    read_found(&r, argv[2], argv[3]);
    run_tracks(&r);
    uint32_t *where = need_array(r.ended_count, sizeof *where), *whole = need_array(r.ended_count, sizeof *whole);
    float *rows = need_zeroed(r.ended_count, DIM * sizeof *rows);
    if (!where || !whole || !rows) exit(1);
    for (uint32_t i = 0; i < r.ended_count; i++) where[r.ended[i].number] = i;
    for (size_t i = 0; i < r.count; i++)
        if (r.at[i].number != TRACK_NONE && r.ended[where[r.at[i].number]].firm)
            add_embedding(rows + (size_t)DIM * where[r.at[i].number], &r.at[i], i);
    const track_joins_request request = {track_joins_defaults(), r.ended, r.ended_count, rows, DIM, NULL, 0};
    if (argc == 6 && !track_joins_make(&request, whole)) exit(1);
    write_tracks(&r, argv[4], NULL, where);
    if (argc == 6) write_tracks(&r, argv[5], whole, where);
    free(r.at), free(r.ended), free(where), free(whole), free(rows);
    return 0;
}
