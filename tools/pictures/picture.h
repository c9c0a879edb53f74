/* One image file, decoded to upright RGB. */
#ifndef REID_TOOLS_PICTURE_H
#define REID_TOOLS_PICTURE_H

#include "base/text.h"
#include "pictures/picture_facts.h"
#include "pictures/turbojpeg.h"

typedef struct picture {
    text file; /* the file's bytes, until it is decoded */
    unsigned char *rgb;
    int width, height;
    picture_facts facts; /* facts.jpeg.exif points into `file` */
    jpeg_decoder jpeg;
    size_t cost, budget; /* peak bytes of decoding, with the file; bytes that the decoder may hold */
} picture;

/* Limits that protect memory: the user's, and half of the machine's or the container's memory. */
typedef struct picture_limits {
    long long pixels;
    size_t bytes, file; /* of an image while it is decoded; of its file alone, at most 1 GiB */
    jpeg_decoder jpeg;
} picture_limits;

/* threads: how many files may be in memory at a time. */
picture_limits picture_limits_of(long long max_pixels, int threads);
/* Reads the file and its dimensions (as stored, before orientation). Free it in any case. */
int picture_open(picture *p, const char *path, const picture_limits *limits, text *why);
/* Copies a file that is in memory; otherwise like picture_open. Without a name it cannot be a TGA. */
int picture_open_bytes(picture *p, const void *bytes, size_t len, const picture_limits *limits, text *why);
/* Decodes the image and turns it upright; width and height are then those of rgb, with rows of 3 * width bytes. */
int picture_decode(picture *p, text *why);
void picture_free(picture *p);

#endif
