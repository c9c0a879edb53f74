/* A film of deer that walk, turn, cross each other and pass behind trees, in scenes with cuts between them: who is
   where at any time, what of it can be seen, and what a detector that makes mistakes would say of it. All of it comes
   from the seed and the time alone, so that a film has the same walks at every frame rate. */
#ifndef REID_TOOLS_WALKS_H
#define REID_TOOLS_WALKS_H

#include "demo_program/herd.h"

enum { WALKS_MOST = 12, TREES_MOST = 4, SEEN_MOST = WALKS_MOST + 4 };

typedef struct film {
    uint64_t seed;
    int width, height;  /* pixels */
    double seconds;     /* of all */
    int scenes, animals; /* animals: in each scene; at most WALKS_MOST */
    double mistakes;    /* of the detector: 0 none, 1 what can be expected, 2 twice as many */
} film;

typedef struct spot { double x, y, w, h; } spot; /* pixels */

typedef struct walk {
    int who;                 /* in the herd */
    double depth;            /* 0 far … 1 near; nearer ones are in front */
    double scale, y;         /* pixels per body length; of the body's centre */
    double x, speed;         /* at the scene's beginning, pixels; pixels a second */
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
    spot tree[TREES_MOST]; /* in front of all */
    int trees;
} film_scene;

/* Scene `number`, counted from 0. */
void film_scene_make(film_scene *s, const film *f, int number);

/* An animal at a time of the film. Facing: 1 to the right, -1 to the left. */
typedef struct stand {
    body shape;
    double cx, cy, scale;
    int facing;
    spot box; /* of all of it, also beyond the frame */
} stand;
void walk_stand(stand *s, const film_scene *scene, const walk *w, double seconds);

/* What is to be seen, in the order of the walks. */
typedef struct seen {
    int walk;      /* -1: nothing, a mistake */
    spot box;      /* of what can be seen of it, within the frame */
    double visible; /* the share of its box */
    double score;  /* of a detection */
} seen;

/* What is true: at least a fifth of it can be seen. Returns how many; room for SEEN_MOST. */
int film_truth(const film *f, const film_scene *s, double seconds, seen *out);
/* What the detector says. */
int film_detections(const film *f, const film_scene *s, double seconds, seen *out);

#endif
