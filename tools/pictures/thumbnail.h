/* Small images for people to look at, never for a network. */
#ifndef REID_TOOLS_THUMBNAIL_H
#define REID_TOOLS_THUMBNAIL_H

#include "pictures/picture.h"
#include "reid.h"

typedef struct thumbnail {
    text jpeg;
    int width, height;
} thumbnail;

/* Makes a JPEG of the part of a decoded image inside box (NULL: all), whose longer side has at most `side` pixels; each
   pixel is the mean of those it replaces. The part of the box outside the image is left out. Returns 0 with the reason
   in why; free t->jpeg in any case. */
int thumbnail_make(thumbnail *t, const picture *p, const reid_box *box, int side, text *why);
/* Makes a JPEG of the whole image with an outline drawn around the box; otherwise like thumbnail_make. */
int thumbnail_mark(thumbnail *t, const picture *p, const reid_box *box, int side, text *why);

#endif
