/* A box of a frame as tracks see it: in pixels of the upright frame, with the detector's confidence. */
#ifndef REID_TOOLS_TRACK_BOX_H
#define REID_TOOLS_TRACK_BOX_H

typedef struct track_box {
    double x, y, w, h; /* left and top edge, width, height; may reach beyond the frame */
    double score;      /* 0 … 1; 1 where the detector has said nothing */
    int category;      /* boxes of two categories are never one track */
} track_box;

/* 1 if all is finite and there is an area. */
int track_box_good(const track_box *b);
/* Area in common over the area of both together, 0 … 1. */
double track_box_iou(const track_box *a, const track_box *b);
/* The share of `a` that `b` covers, 0 … 1. */
double track_box_covered(const track_box *a, const track_box *b);
/* The side of the square with the same area, pixels. */
double track_box_side(const track_box *b);
/* Between the centres, pixels. */
double track_box_distance(const track_box *a, const track_box *b);

#endif
