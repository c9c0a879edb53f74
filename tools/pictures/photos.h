/* Photos of cameras with their times. In a folder with everything below it, each folder that contains photos is a
   camera. A photo's time is EXIF's DateTimeOriginal or comes from a table; it is the camera's own clock. */
#ifndef REID_TOOLS_PHOTOS_H
#define REID_TOOLS_PHOTOS_H

#include "base/text.h"

#include <stddef.h>

typedef struct photo {
    char *path;     /* the file to open */
    char *key;      /* the path with all characters decomposed, if that may differ; otherwise NULL */
    long long when; /* milliseconds since 1970, by the camera's clock */
    int dated;      /* 0: its time is unknown */
    int zone;       /* of its time, in minutes; WHEN_NO_ZONE of base/when.h: not stated */
} photo;

typedef struct camera {
    char *folder;   /* its path */
    char *name;     /* for file names: its path below the requested folder, or that folder's own name */
    photo *at;      /* [count]: by time, then by path; photos without a time come last */
    size_t count, cap, undated;
    size_t root_len; /* how much of the folder is the requested one */
} camera;

/* The camera and index of a photo. */
typedef struct photo_place {
    const char *path;
    const char *key; /* the path with all characters decomposed (base/unicode.h); may be the same pointer */
    size_t camera, photo;
    double number;  /* in which the name of the file ends; -1: in none */
} photo_place;

typedef struct photos {
    camera *at;     /* [count], in the order of their folders */
    size_t count, cap;
    photo_place *places; /* [place_count], sorted by their keys, compared from the end */
    photo_place *numbers; /* [place_count], sorted by number */
    size_t place_count;
} photos;

/* All of these return 0 with the reason in why; free p in any case. */

/* Adds a folder with everything below it. */
int photos_add(photos *p, const char *folder, text *why);
/* After the last folder: reads times from `table` (CSV with the columns path and time; NULL: none) and from the photos
   that are not in it, and sorts everything. *strangers: rows for photos that are not in the list. */
int photos_finish(photos *p, const char *table, size_t *strangers, text *why);
/* In place of photos_finish if no times are needed. */
int photos_index(photos *p, text *why);
void photos_free(photos *p);
/* The time and its zone that a camera wrote into a photo, as in exif.h. Returns 0 if there is none. */
int photo_time(const char *path, long long *when, int *zone);

/* Finds the photo that a file calls `name`: the name is its path below the requested folder, or else all parts of one
   path are the last parts of the other. Returns NULL with an empty why if there is none, with a reason if several match
   or memory runs out. */
const photo_place *photos_find(const photos *p, const char *name, text *why);
/* Finds the photo whose name, without extension, ends in this number. Returns NULL as photos_find does. */
const photo_place *photos_numbered(const photos *p, double number, text *why);

#endif
