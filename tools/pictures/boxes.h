/* --boxes FILE: one row per box, in the order of the file. */
#ifndef REID_TOOLS_BOXES_H
#define REID_TOOLS_BOXES_H

#include "base/text.h"
#include "pictures/inputs.h"
#include "reid.h"

typedef struct box_file {
    const char *path, *category; /* category: only such boxes; NULL: all */
    double min_conf;             /* NAN: whatever the detector's confidence is */
} box_file;

/* Appends the boxes of a file to list; paths in it start from root (NULL: the working directory). Returns 0 after
   saying what is wrong. */
int boxes_read(inputs *list, const box_file *file, const char *root);

/* The box of `in` in whole pixels of its upright picture. Fractions are rounded at both edges, half to even, as
   Pillow's crop does. Returns 0 when the numbers are beyond any picture. */
int box_in_pixels(const input *in, int width, int height, reid_box *out);

/* What the two file formats are read into. */
typedef struct box_row {
    char *path, *id, *failure; /* id: NULL for path#n; failure: NULL when there is a box */
    char *identity;            /* who is in it; NULL: what the path says. Its box is called identity/id */
    double box[4];             /* x, y, width, height */
    long n;                    /* place among the boxes of its picture */
    int wanted;                /* 0: counted, but left out by --min-conf or --category */
} box_row;

typedef struct box_rows {
    box_row *at;
    size_t count, cap;
    const box_file *from;
} box_rows;

/* NULL when there is no memory. */
box_row *box_rows_add(box_rows *rows, const char *path);

/* Both return 0 with the reason in why. */
int boxes_from_megadetector(box_rows *rows, const text *file, text *why); /* fractions of the picture */
int boxes_from_csv(box_rows *rows, const text *file, text *why);          /* pixels */

#endif
