/* The pictures that queries are compared with: a folder that is embedded now, a file from `reid embed`, or a gallery
   file. */
#ifndef REID_TOOLS_GALLERY_H
#define REID_TOOLS_GALLERY_H

#include "pictures/inputs.h"
#include "embedding/models.h"

#include <sys/types.h>

typedef struct gallery_image {
    char *path, *identity;
    size_t identity_index;
    int has_file; /* device and inode are known */
    dev_t device;
    ino_t inode;
} gallery_image;

typedef struct gallery {
    gallery_image *at;
    float *rows;            /* count × dim */
    size_t count, cap, rows_cap, identities, failed;
    int dim;
    double threshold;       /* the gallery's own; NAN: none */
} gallery;

/* Returns 0 after saying what is wrong. */
int gallery_open(gallery *g, const options *o, models *all);
void gallery_close(gallery *g);

#endif
