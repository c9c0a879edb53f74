/* One picture file, decoded to upright RGB. */
#ifndef REID_TOOLS_PICTURE_H
#define REID_TOOLS_PICTURE_H

#include "base/text.h"

typedef struct picture {
    text file; /* its bytes, until it is decoded */
    unsigned char *rgb;
    int width, height, orientation;
} picture;

/* What guards the memory: the user's limit, and half of what the machine or the container has. */
typedef struct picture_limits {
    long long pixels;
    size_t bytes;
} picture_limits;

picture_limits picture_limits_of(long long max_pixels);
/* Reads the file and its dimensions (as stored, before orientation). */
int picture_open(picture *p, const char *path, const picture_limits *limits, text *why);
/* Bytes that decoding will take at its peak. */
size_t picture_cost(const picture *p);
/* Decodes and turns it upright; width and height are then those of rgb, rows of 3 * width bytes. */
int picture_decode(picture *p, text *why);
void picture_free(picture *p);

#endif
