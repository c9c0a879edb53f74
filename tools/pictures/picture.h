/* One picture file, decoded to upright RGB. */
#ifndef REID_TOOLS_PICTURE_H
#define REID_TOOLS_PICTURE_H

#include "base/text.h"
#include "pictures/picture_facts.h"
#include "pictures/turbojpeg.h"

typedef struct picture {
    text file; /* its bytes, until it is decoded */
    unsigned char *rgb;
    int width, height;
    picture_facts facts; /* of the file; facts.jpeg.exif points into it */
    jpeg_decoder jpeg;
    size_t cost, budget; /* bytes that decoding takes at its peak, with the file; those that the decoder may hold */
} picture;

/* What guards the memory: the user's limit, and half of what the machine or the container has. */
typedef struct picture_limits {
    long long pixels;
    size_t bytes, file; /* of a picture while it is decoded; of its file alone, at most 1 GiB */
    jpeg_decoder jpeg;
} picture_limits;

/* threads: how many files may be in memory at a time. */
picture_limits picture_limits_of(long long max_pixels, int threads);
/* Reads the file and its dimensions (as stored, before orientation). Free it in any case. */
int picture_open(picture *p, const char *path, const picture_limits *limits, text *why);
/* The same for a file that is in memory; it is copied. Without a name it cannot be a TGA. */
int picture_open_bytes(picture *p, const void *bytes, size_t len, const picture_limits *limits, text *why);
/* Decodes and turns it upright; width and height are then those of rgb, rows of 3 * width bytes. */
int picture_decode(picture *p, text *why);
void picture_free(picture *p);

#endif
