/* demo_video: draws a video of deer that walk, cross and hide, to test a tracker. It writes raw RGB frames of 8 bits
   per channel to stdout, and to files the truth and the output of a simulated detector that makes mistakes.

     demo_video [--size 320x240] [--fps 10] [--seconds 10] [--scenes 1] [--animals 4] [--mistakes 1] [--seed 1]
                [--truth FILE] [--detections FILE] [--who FILE] [--cuts FILE] [--no-frames]
     demo_video … | ffmpeg -f rawvideo -pix_fmt rgb24 -s 320x240 -r 10 -i - film.mp4

   --truth and --detections are MOT text: frame (from 1), id, x, y, width, height, score, class, and visibility (truth)
   or -1. An id of the truth is 16 · scene + deer + 1. --who has a line for each detection: that id, or 0 for a mistake.
   --cuts has the frames, from 1, that begin a new scene. Frame i is at i / fps seconds. Everything comes from the seed.

   make build/demo_video */
#include "demo_program/walks.h"
#include "demo_program/walks_paint.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct wanted {
    film film;
    double fps;
    FILE *truth, *detections, *who, *cuts;
    int frames;
} wanted;

/* ---- options ----------------------------------------------------------------------------------------------------- */

static void stop(const char *what, const char *why) {
    fprintf(stderr, "demo_video: %s: %s\n", what, why);
    exit(2);
}

static void stop_value(const char *option, const char *value, const char *expected) {
    fprintf(stderr, "demo_video: %s: invalid value '%s'; expected %s\n", option, value, expected);
    exit(2);
}

static double number(const char *option, const char *s, double least, double most) {
    char *rest;
    double value = strtod(s, &rest);
    char range[80];
    snprintf(range, sizeof range, "a number from %g to %g", least, most);
    if (rest == s || *rest || !(value >= least && value <= most)) stop_value(option, s, range);
    return value;
}

static FILE *open_file(const char *path) {
    FILE *f = fopen(path, "w");
    if (!f) perror(path), exit(2);
    return f;
}

static void read_option(wanted *w, const char *option, const char *value) {
    int used = 0;
    film *f = &w->film;
    if (strcmp(option, "--size") == 0) {
        if (sscanf(value, "%dx%d%n", &f->width, &f->height, &used) != 2 || value[used] || f->width < 16 ||
            f->height < 16 || f->width > 4096 || f->height > 4096)
            stop_value(option, value, "WIDTHxHEIGHT from 16x16 to 4096x4096");
    } else if (strcmp(option, "--fps") == 0) w->fps = number(option, value, 0.01, 1000);
    else if (strcmp(option, "--seconds") == 0) f->seconds = number(option, value, 0.001, 1e5);
    else if (strcmp(option, "--scenes") == 0) f->scenes = (int)number(option, value, 1, 1000);
    else if (strcmp(option, "--animals") == 0) f->animals = (int)number(option, value, 0, WALKS_MOST);
    else if (strcmp(option, "--mistakes") == 0) f->mistakes = number(option, value, 0, 10);
    else if (strcmp(option, "--seed") == 0) f->seed = (uint64_t)number(option, value, 0, 1e15);
    else if (strcmp(option, "--truth") == 0) w->truth = open_file(value);
    else if (strcmp(option, "--detections") == 0) w->detections = open_file(value);
    else if (strcmp(option, "--who") == 0) w->who = open_file(value);
    else if (strcmp(option, "--cuts") == 0) w->cuts = open_file(value);
    else stop(option, "no such option");
}

/* ---- the other files --------------------------------------------------------------------------------------------- */

static int id_of(const film_scene *s, int scene, int at) { return at < 0 ? 0 : DEER * scene + s->walk[at].who + 1; }

static void tell(const wanted *w, const film_scene *s, int scene, double seconds, int frame) {
    seen list[SEEN_MOST];
    int count = w->truth ? film_truth(&w->film, s, seconds, list) : 0;
    for (int i = 0; i < count; i++)
        fprintf(w->truth, "%d,%d,%.3f,%.3f,%.3f,%.3f,1,1,%.3f\n", frame, id_of(s, scene, list[i].walk), list[i].box.x,
                list[i].box.y, list[i].box.w, list[i].box.h, list[i].visible);
    count = w->detections || w->who ? film_detections(&w->film, s, seconds, list) : 0;
    for (int i = 0; i < count; i++) {
        if (w->detections)
            fprintf(w->detections, "%d,-1,%.3f,%.3f,%.3f,%.3f,%.3f,-1,-1,-1\n", frame, list[i].box.x, list[i].box.y,
                    list[i].box.w, list[i].box.h, list[i].score);
        if (w->who) fprintf(w->who, "%d\n", id_of(s, scene, list[i].walk));
    }
}

static void close_file(FILE *f) {
    if (f && fclose(f)) perror("demo_video"), exit(1);
}

static void make_film(const wanted *w) {
    const film *f = &w->film;
    size_t size = (size_t)f->width * (size_t)f->height * 3;
    unsigned char *behind = malloc(size), *rgb = malloc(size);
    film_scene s;
    if (!behind || !rgb) stop("frames", "out of memory");
    for (int i = 0, scene = -1; i / w->fps < f->seconds; i++) {
        int now = (int)(i / w->fps / f->seconds * f->scenes);
        if (now != scene) {
            film_scene_make(&s, f, scene = now);
            if (w->frames) film_paint_place(f, &s, behind);
            if (w->cuts && i) fprintf(w->cuts, "%d\n", i + 1);
        }
        tell(w, &s, scene, i / w->fps, i + 1);
        if (!w->frames) continue;
        memcpy(rgb, behind, size);
        film_paint_animals(f, &s, i / w->fps, rgb);
        if (fwrite(rgb, 1, size, stdout) != size) perror("demo_video"), exit(1);
    }
    free(behind);
    free(rgb);
}

int main(int argc, char **argv) {
    wanted w = {.fps = 10, .frames = 1};
    const film usual = {
        .seed = 1, .width = 320, .height = 240, .seconds = 10, .scenes = 1, .animals = 4, .mistakes = 1};
    w.film = usual;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--no-frames") == 0) w.frames = 0;
        else if (i + 1 == argc) stop(argv[i], "its value is missing");
        else read_option(&w, argv[i], argv[i + 1]), i++;
    }
    make_film(&w);
    close_file(w.truth);
    close_file(w.detections);
    close_file(w.who);
    close_file(w.cuts);
    close_file(stdout);
    return 0;
}
