/* The photo, or the place in a film, that a crop was cut from, as files of embeddings name it. */
#ifndef REID_TOOLS_CROP_ORIGIN_H
#define REID_TOOLS_CROP_ORIGIN_H

#include <stddef.h>

typedef struct crop_origin {
    size_t length;  /* of the path, at the start of the text */
    double seconds; /* in a film; NAN: a photo */
    int boxed;      /* box is in pixels */
    double box[4];  /* x, y, width, height */
} crop_origin;

/* source: FILM#t=SECONDS&xywh=X,Y,WIDTH,HEIGHT, or a photo and its box as in box_text.h. */
crop_origin crop_origin_of(const char *source);

#endif
