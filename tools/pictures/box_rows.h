/* What the formats of --boxes are read into: one row per box, in the order of the file. */
#ifndef REID_TOOLS_BOX_ROWS_H
#define REID_TOOLS_BOX_ROWS_H

#include <stddef.h>

typedef struct box_file {
    const char *path, *category; /* category: only such boxes; NULL: all */
    double min_conf;             /* NAN: whatever the detector's confidence is */
} box_file;

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

/* NULL when memory runs out. */
box_row *box_rows_add(box_rows *rows, const char *path);

#endif
