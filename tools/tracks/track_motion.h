/* Where a track is, where it is expected, and how well a box fits that. */
#ifndef REID_TOOLS_TRACK_MOTION_H
#define REID_TOOLS_TRACK_MOTION_H

#include "tracks/kalman.h"
#include "tracks/track_box.h"

typedef struct track_motion {
    kalman x, y;          /* the centre, in pixels */
    kalman width, height; /* natural logarithms of pixels; they drift, but have no velocity */
} track_motion;

track_motion motion_begin(const track_box *b);
/* The state `seconds` later. */
track_motion motion_predict(const track_motion *m, double seconds);
/* The state after box b was seen; m: the prediction for that time. */
track_motion motion_update(const track_motion *m, const track_box *b);
/* The box at the means of the state; score and category are 0. */
track_box motion_box(const track_motion *m);

/* How well b fits the prediction: 1 at its mean, 0 at the limit of what is plausible and beyond. */
double motion_fit(const track_motion *m, const track_box *b);

#endif
