/* The list of rows to compute: images and boxes in images. pictures/collect.h makes it from arguments. */
#ifndef REID_TOOLS_INPUTS_H
#define REID_TOOLS_INPUTS_H

#include "pictures/stated_size.h"
#include "reid.h"

#include <stddef.h>

typedef enum box_unit { BOX_NONE, BOX_PIXELS, BOX_NORMALISED } box_unit;

/* One row: an image or one box of it. */
typedef struct input {
    char *path;     /* the file to open */
    char *id;       /* the row's name; may be the same pointer as path */
    char *identity; /* "": unknown */
    char *camera;   /* NULL: unknown */
    char *source;   /* the photo and the box that the image was cut from, as in box_text.h; NULL: path and box below */
    char *failure;  /* why the row has no image; otherwise NULL */
    long long when; /* milliseconds since 1970, by the camera's clock; valid if dated */
    int dated;
    char *track;    /* rows of one track show one individual; NULL: unknown */
    size_t boxes;   /* of the detector, in the track; 0: unknown */
    char *category; /* the detector's name for what it found; NULL: unknown */
    double score;   /* the detector's; NAN: unknown */
    const char *unread; /* the kind of a folder's image that is not read, "a WebP image"; otherwise NULL */
    box_unit unit;
    double box[4];  /* x, y, width, height */
    stated_size of; /* of the image, by the file that has the box */
} input;

typedef struct inputs {
    input *at;
    size_t count, cap;
    size_t beside; /* images in formats that are not read, each next to a readable one of the same name; not rows */
} inputs;

/* All of these return 0 or NULL after reporting that memory ran out. */

/* Appends a row and returns it, zeroed except for copies of the three names. root_len: length of the part of path that
   is the requested folder; 0 if the file itself was requested. */
input *inputs_add(inputs *list, const char *path, size_t root_len, const char *id);
/* Replaces the identity, which is the first folder below root, else the file's name without its extension. */
int input_set_identity(input *in, const char *identity);
int input_set_camera(input *in, const char *camera);
int input_set_track(input *in, const char *track);
int input_set_category(input *in, const char *category);
/* Adds an argument: a folder with everything below it, or a file. Images in formats that are not read become rows that
   fail, and one line on stderr counts them. */
int inputs_add_path(inputs *list, const char *path);
/* Reports why a row has failed, unless that line has already done so. */
void inputs_say_failure(const input *in, const char *why);
void inputs_free(inputs *list);
/* Counts different identities. *unnamed: rows that have none, without counting those that have failed. Returns 0 after
   reporting that memory ran out. */
int inputs_identities(const inputs *list, size_t *identities, size_t *unnamed);

/* The box of `in` in whole pixels of its upright image. Both edges are rounded, half to even, like Pillow's crop.
   Returns 0 if the numbers are too large for any image. */
int box_in_pixels(const input *in, int width, int height, reid_box *out);

#endif
