/* Where a track is, where it will be, and how well a box fits that. */
#ifndef REID_TOOLS_TRACK_MOTION_H
#define REID_TOOLS_TRACK_MOTION_H

#include "tracks/kalman.h"
#include "tracks/track_box.h"

typedef struct track_motion {
    kalman x, y;          /* of the centre, pixels */
    kalman width, height; /* natural logarithms of pixels; they drift, but do not move */
} track_motion;

track_motion motion_begin(const track_box *b);
/* `seconds` later. */
track_motion motion_predict(const track_motion *m, double seconds);
/* After `b` was seen where m was predicted. */
track_motion motion_update(const track_motion *m, const track_box *b);
/* The box in the middle of what is predicted; without score or category. */
track_box motion_box(const track_motion *m);

/* How well `b` fits the prediction: 1 in its middle, 0 at the edge of what is believed, and beyond. */
double motion_fit(const track_motion *m, const track_box *b);

#endif
