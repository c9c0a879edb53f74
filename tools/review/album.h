/* The crops that people are shown: where each one's picture is, and small JPEGs of it, made when they are asked for. */
#ifndef REID_TOOLS_ALBUM_H
#define REID_TOOLS_ALBUM_H

#include "base/text.h"
#include "pictures/inputs.h"

#include <stddef.h>

typedef enum album_size { ALBUM_SMALL, ALBUM_LARGE } album_size;

typedef struct album album;

typedef struct album_request {
    const char *const *ids; /* they outlive the album */
    size_t count;
    const char *folder;  /* that ids are paths from; NULL: the working directory */
    const inputs *boxes; /* crops and their boxes; any other id is the path of a whole image. NULL:
                            none. They outlive the album, too */
    long long max_pixels;
    size_t cache; /* bytes of JPEGs that are kept */
    int threads;  /* that may ask at a time */
} album_request;

/* NULL after saying that there is no memory. */
album *album_open(const album_request *r);
/* The JPEG of a crop, behind what is in out. Returns 0 with the reason in why. On any thread. */
int album_picture(album *a, size_t row, album_size size, text *out, text *why);
/* Bytes that are kept at this moment. */
size_t album_kept(album *a);
/* NULL is allowed. */
void album_close(album *a);

#endif
