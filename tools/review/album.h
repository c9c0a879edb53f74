/* The crops that people see: finds each crop's image and makes small JPEGs of it on request. */
#ifndef REID_TOOLS_ALBUM_H
#define REID_TOOLS_ALBUM_H

#include "base/text.h"
#include "pictures/inputs.h"

#include <stddef.h>

typedef enum album_size { ALBUM_SMALL, ALBUM_LARGE } album_size;

typedef struct album album;

typedef struct album_request {
    const char *const *ids; /* must outlive the album */
    size_t count;
    const char *folder;  /* to which ids are relative paths; NULL: the working directory */
    const inputs *boxes; /* crops and their boxes; an id that is not among them is the path of a whole image. NULL:
                            there are no boxes. Must outlive the album */
    long long max_pixels;
    size_t cache; /* bytes of JPEGs to keep */
    int threads;  /* that may call album_picture at the same time */
} album_request;

/* Returns NULL after reporting that memory ran out. */
album *album_open(const album_request *r);
/* Appends the JPEG of a crop to out. Returns 0 with the reason in why. May be called on any thread. */
int album_picture(album *a, size_t row, album_size size, text *out, text *why);
/* Bytes of JPEGs that are kept now. */
size_t album_kept(album *a);
/* NULL is allowed. */
void album_close(album *a);

#endif
