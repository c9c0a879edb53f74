/* The images that queries are compared with: a folder that is embedded now, a file from `reid embed`, or a gallery in a
   file or a database. */
#ifndef REID_TOOLS_GALLERY_H
#define REID_TOOLS_GALLERY_H

#include "embedding/stream.h"

#include <sys/types.h>

typedef struct gallery_image {
    char *path, *identity;
    char *camera, *source; /* source: its photo and box, as in box_text.h; NULL: unknown */
    long long when;        /* milliseconds since 1970; STORE_NO_TIME: unknown */
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
    int strict;             /* stop at the first image of a folder that fails */
    decode_settings decode; /* of a folder's images */
    const char *unknown;    /* the identity of strangers, whose images are left out; NULL: there are none */
} gallery_request;

/* Returns 0 after reporting an error, or without a message if interrupted(). `failed` is set in either case; close the
   gallery in either case. */
int gallery_open(gallery *g, const gallery_request *r, models *all);
void gallery_close(gallery *g);

#endif
