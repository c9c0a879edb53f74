/* The rows that a --boxes file of any format is read into: one row per box, in the file's order. */
#ifndef REID_TOOLS_BOX_ROWS_H
#define REID_TOOLS_BOX_ROWS_H

#include <stddef.h>

typedef struct box_file {
    const char *path, *category; /* category: only boxes of this category; NULL: all */
    double min_conf;             /* NAN: any confidence */
} box_file;

typedef struct box_row {
    char *path, *id, *failure; /* id: NULL for path#n; failure: NULL when there is a box */
    char *identity;            /* NULL: unknown. Otherwise the box is named identity/id */
    double box[4];             /* x, y, width, height */
    long n;                    /* index among the boxes of its image */
    int wanted;                /* 0: counted, but excluded by --min-conf or --category */
} box_row;

typedef struct box_rows {
    box_row *at;
    size_t count, cap;
    const box_file *from;
} box_rows;

/* NULL when memory runs out. */
box_row *box_rows_add(box_rows *rows, const char *path);

#endif
