/* The orientation and the time that a camera wrote into a JPEG file. */
#ifndef REID_TOOLS_EXIF_H
#define REID_TOOLS_EXIF_H

#include <stddef.h>

/* Of TIFF data: 1 ... 8 as in the EXIF standard; 1 (upright) when it has no valid orientation. */
int exif_orientation(const unsigned char *tiff, size_t len);

/* DateTimeOriginal with its fractions of a second, in milliseconds since 1970 as if the camera's clock were UTC. The
   head of the file is enough. Returns 0 when it is not there, or is no time. */
int exif_time(const unsigned char *file, size_t len, long long *when);

/* How to read an upright picture out of a stored one of width × height: pixel (x, y) of the upright one is stored at
   start + x * step_x + y * step_y, counted in pixels. */
typedef struct exif_view {
    int width, height;
    ptrdiff_t start, step_x, step_y;
} exif_view;

exif_view exif_upright(int orientation, int width, int height);

#endif
