/* Photos of cameras and when they were taken: of a folder with everything below it, each folder that has photos is a
   camera. A photo's time is EXIF's DateTimeOriginal, or what a table says; it is the camera's own clock. */
#ifndef REID_TOOLS_PHOTOS_H
#define REID_TOOLS_PHOTOS_H

#include "base/text.h"

#include <stddef.h>

typedef struct photo {
    char *path;     /* what to open */
    long long when; /* milliseconds since 1970, by the camera's clock */
    int dated;      /* 0: nobody knows when */
} photo;

typedef struct camera {
    char *folder;   /* its path */
    char *name;     /* in file names: below the folder that was asked for, or that one's own */
    photo *at;      /* [count]: by time, then by path; those without a time come last */
    size_t count, cap, undated;
} camera;

/* Where a photo is. */
typedef struct photo_place {
    const char *path;
    size_t camera, photo;
} photo_place;

typedef struct photos {
    camera *at;     /* [count], in the order of their folders */
    size_t count, cap;
    photo_place *places; /* [place_count], by their paths from the ends on */
    size_t place_count;
} photos;

/* All of them return 0 with the reason in why; free it in any case. */

/* One more folder, with everything below it. */
int photos_add(photos *p, const char *folder, text *why);
/* When no folder is to come any more: reads times from `table` (CSV with the columns path and time; NULL: there is
   none) and from the photos that it leaves out, and puts all in order. *strangers: rows about photos that are not
   here. */
int photos_finish(photos *p, const char *table, size_t *strangers, text *why);
void photos_free(photos *p);

/* The photo that a file calls `name`: a path whose end is the photo's, in whole parts, or the other way round. NULL
   with an empty why when there is none, with a reason when there are several that it could be, or no memory. */
const photo_place *photos_find(const photos *p, const char *name, text *why);

#endif
