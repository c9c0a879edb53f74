/* How well a frame shows an individual, compared with other frames of the same track. Do not compare the numbers of
   different tracks: such hand-made measures tell poor images of one individual from good ones, but not those of two. */
#ifndef REID_TOOLS_QUALITY_H
#define REID_TOOLS_QUALITY_H

#include "tracks/track_box.h"

#include <stddef.h>
#include <stdint.h>

typedef struct quality_measures {
    double sharpness; /* quality_sharpness of the crop as the network gets it (reid_preprocess) */
    double side;      /* track_box_side: of the box in the frame, pixels */
    double input;     /* the same for the network's input: sqrt(width · height) */
    double score;     /* the detector's */
    double clipped;   /* quality_clipped */
    double covered;   /* quality_covered */
} quality_measures;

/* The variance of the Laplacian (4 neighbours) of the luma of width x height RGB pixels; 0 if smaller than 3 x 3. */
double quality_sharpness(const uint8_t *rgb, int width, int height);

/* The share of the box's outline that lies on the frame's border (within a pixel) or beyond it: 0 … 1. */
double quality_clipped(const track_box *b, int width, int height);

/* The largest share of boxes[at] that any one other box of the frame covers, 0 … 1. */
double quality_covered(const track_box *boxes, size_t count, size_t at);

/* The quality of a frame: 0 … 1, higher is better. */
double quality_of(const quality_measures *m);

#endif
