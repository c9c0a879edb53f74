/* The pictures that queries are compared with: a folder that is embedded now, a file from `reid embed`, or a gallery
   file. */
#ifndef REID_TOOLS_GALLERY_H
#define REID_TOOLS_GALLERY_H

#include "embedding/stream.h"

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

typedef struct gallery_request {
    const char *path;
    int strict;             /* the first picture of a folder that fails ends it */
    decode_settings decode; /* of a folder's pictures */
    const char *unknown;    /* what strangers are called, who are left out; NULL: nobody is one */
} gallery_request;

/* Returns 0 after saying what is wrong, or without a word when interrupted(). Close it in any case: `failed` is told
   then, too. */
int gallery_open(gallery *g, const gallery_request *r, models *all);
void gallery_close(gallery *g);

#endif
