/* The orientation and the time that a camera wrote into an image file. */
#ifndef REID_TOOLS_EXIF_H
#define REID_TOOLS_EXIF_H

#include <stddef.h>

/* The orientation in TIFF data, with or without "Exif\0\0" before it, as Pillow reads it, whatever type the number has:
   1 ... 8 as in the EXIF standard, 1 (upright) for a value that is none of these, 0 without the field. */
int exif_orientation(const unsigned char *tiff, size_t len);
/* The tiff:Orientation in XMP, 1 if it has none: it counts where EXIF has no orientation. */
int xmp_orientation(const char *xmp, size_t len);

/* DateTimeOriginal, else DateTimeDigitized, else DateTime, with its fractions of a second, in milliseconds since 1970
   as if the camera's clock were UTC. *zone: the zone that the camera wrote to it, in minutes, or WHEN_NO_ZONE of
   base/when.h. The beginning of the file is enough. Returns 0 if none is a valid time. */
int exif_time(const unsigned char *file, size_t len, long long *when, int *zone);

/* How to read an upright image from a stored one of width × height: pixel (x, y) of the upright image is stored at
   start + x * step_x + y * step_y, counted in pixels. */
typedef struct exif_view {
    int width, height;
    ptrdiff_t start, step_x, step_y;
} exif_view;

exif_view exif_upright(int orientation, int width, int height);

#endif
