/* The list of rows to make: pictures and boxes of pictures. pictures/collect.h makes it from arguments. */
#ifndef REID_TOOLS_INPUTS_H
#define REID_TOOLS_INPUTS_H

#include "reid.h"

#include <stddef.h>

typedef enum box_unit { BOX_NONE, BOX_PIXELS, BOX_NORMALISED } box_unit;

/* One row: a picture or one box of it. */
typedef struct input {
    char *path;     /* what to open */
    char *id;       /* what the row is called; may be the same pointer as path */
    char *identity;
    char *failure;  /* why there is nothing to open, else NULL */
    box_unit unit;
    double box[4];  /* x, y, width, height */
} input;

typedef struct inputs {
    input *at;
    size_t count, cap;
} inputs;

/* All of these return 0 or NULL after reporting that memory ran out. */

/* Appends a row and returns it, zeroed but for copies of the three names. root_len: how many bytes of path belong to
   the folder that was asked for, 0 when the file itself was. */
input *inputs_add(inputs *list, const char *path, size_t root_len, const char *id);
/* One argument: a folder with everything below it, else a file. */
int inputs_add_path(inputs *list, const char *path);
void inputs_free(inputs *list);

/* The box of `in` in whole pixels of its upright picture. Fractions are rounded at both edges, half to even, as
   Pillow's crop does. Returns 0 when the numbers are beyond any picture. */
int box_in_pixels(const input *in, int width, int height, reid_box *out);

#endif
