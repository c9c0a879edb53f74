/* The crops that people see: finds the image of each crop, and the photo that it was cut from, and makes small JPEGs of
   them on request. */
#ifndef REID_TOOLS_ALBUM_H
#define REID_TOOLS_ALBUM_H

#include "base/text.h"
#include "pictures/inputs.h"

#include <stddef.h>

typedef enum album_size {
    ALBUM_SMALL, ALBUM_LARGE,
    ALBUM_PHOTO, ALBUM_PHOTO_SMALL /* the whole photo with its box; of a crop without one, the crop's image */
} album_size;

typedef struct album album;

typedef struct album_request {
    const char *const *ids; /* must outlive the album */
    size_t count;
    const char *folder;  /* to which ids are relative paths; NULL: the working directory */
    const inputs *boxes; /* crops and their boxes; an id that is not among them is the path of a whole image. NULL:
                            there are no boxes. Must outlive the album */
    const input *const *photos; /* [count] the photo and the box of each crop, or NULL; NULL: none is known */
    long long max_pixels;
    size_t cache; /* bytes of JPEGs to keep */
    int threads;  /* that may call album_picture at the same time */
} album_request;

/* Returns NULL after reporting that memory ran out. */
album *album_open(const album_request *r);
/* Appends a JPEG of a crop, or of its photo, to out. Returns 0 with the reason in why. May be called on any thread. */
int album_picture(album *a, size_t row, album_size size, text *out, text *why);
/* 1 if the photo that the crop was cut from is known. */
int album_has_photo(const album *a, size_t row);
/* Bytes of JPEGs that are kept now. */
size_t album_kept(album *a);
/* NULL is allowed. */
void album_close(album *a);

#endif
