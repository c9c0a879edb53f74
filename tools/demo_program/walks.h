/* A video of deer that walk, turn, cross each other and pass behind trees, in scenes with cuts between them: where each
   deer is at any time, how much of it is visible, and what a detector that makes mistakes would report. Everything
   depends on the seed and the time alone, so a video has the same walks at every frame rate. */
#ifndef REID_TOOLS_WALKS_H
#define REID_TOOLS_WALKS_H

#include "demo_program/herd.h"

enum { WALKS_MOST = 12, TREES_MOST = 4, SEEN_MOST = WALKS_MOST + 4 };

typedef struct film {
    uint64_t seed;
    int width, height;  /* pixels */
    double seconds;     /* of the whole video */
    int scenes, animals; /* animals: in each scene; at most WALKS_MOST */
    double mistakes;    /* of the detector: 0 none, 1 as many as usual, 2 twice as many */
} film;

typedef struct spot { double x, y, w, h; } spot; /* pixels */

typedef struct walk {
    int who;                 /* in the herd */
    double depth;            /* 0 far … 1 near; nearer ones are in front */
    double scale, y;         /* pixels per body length; the body's centre, in pixels */
    double x, speed;         /* in pixels, when the scene begins; pixels per second */
    double sway, pace, from; /* added to x: sway · sin(pace · t + from) */
    double neck;
} walk;

typedef struct film_scene {
    double begins;
    uint64_t seed;
    const place *where;
    double horizon;
    walk walk[WALKS_MOST];
    int walks;
    spot tree[TREES_MOST]; /* in front of all animals */
    int trees;
} film_scene;

/* Fills in scene `number`, counted from 0. */
void film_scene_make(film_scene *s, const film *f, int number);

/* An animal at one moment of the video. Facing: 1 to the right, -1 to the left. */
typedef struct stand {
    body shape;
    double cx, cy, scale;
    int facing;
    spot box; /* of the whole animal, including parts outside the frame */
} stand;
void walk_stand(stand *s, const film_scene *scene, const walk *w, double seconds);

/* A visible animal or a detection, in the order of the walks. */
typedef struct seen {
    int walk;      /* -1: no animal, a mistake of the detector */
    spot box;      /* of the visible part, within the frame */
    double visible; /* the visible share of its box */
    double score;  /* of a detection */
} seen;

/* Lists the animals that are at least one fifth visible. out needs room for SEEN_MOST. Returns how many there are. */
int film_truth(const film *f, const film_scene *s, double seconds, seen *out);
/* Lists the detections in the same way. */
int film_detections(const film *f, const film_scene *s, double seconds, seen *out);

#endif
