/* A box in a frame, as tracks use it: in pixels of the upright frame, with the detector's score. */
#ifndef REID_TOOLS_TRACK_BOX_H
#define REID_TOOLS_TRACK_BOX_H

typedef struct track_box {
    double x, y, w, h; /* left and top edge, width, height; may extend beyond the frame */
    double score;      /* 0 … 1; 1 if the detector gave none */
    int category;      /* boxes of different categories are never one track */
} track_box;

/* 1 if all numbers are finite and the area is positive. */
int track_box_good(const track_box *b);
/* Intersection over union, 0 … 1. */
double track_box_iou(const track_box *a, const track_box *b);
/* The share of `a` that `b` covers, 0 … 1. */
double track_box_covered(const track_box *a, const track_box *b);
/* The side of a square with the same area, in pixels. */
double track_box_side(const track_box *b);
/* The distance between the centres, in pixels. */
double track_box_distance(const track_box *a, const track_box *b);

#endif
