/* How good a frame shows an individual, in comparison with other frames of the same track. The number means nothing
   across tracks: measures made by hand tell poor pictures of one from good ones, not those of two. */
#ifndef REID_TOOLS_QUALITY_H
#define REID_TOOLS_QUALITY_H

#include "tracks/track_box.h"

#include <stddef.h>
#include <stdint.h>

typedef struct quality_measures {
    double sharpness; /* quality_sharpness of the crop as the network gets it (reid_preprocess) */
    double side;      /* track_box_side: of the box in the frame, pixels */
    double input;     /* the same of the network's input: sqrt(width · height) */
    double score;     /* of the detector */
    double clipped;   /* quality_clipped */
    double covered;   /* quality_covered */
} quality_measures;

/* The variance of the Laplacian (4 neighbours) of the luma of width x height RGB pixels; 0 below 3 x 3. */
double quality_sharpness(const uint8_t *rgb, int width, int height);

/* The share of the box's outline that lies on, or beyond, the border of the frame (within a pixel): 0 … 1. */
double quality_clipped(const track_box *b, int width, int height);

/* The largest share of boxes[at] that another box of the frame covers, 0 … 1. */
double quality_covered(const track_box *boxes, size_t count, size_t at);

/* 0 … 1, higher is better. */
double quality_of(const quality_measures *m);

#endif
