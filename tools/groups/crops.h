/* Crops that are to be told apart: the rows of files of embeddings and of galleries, behind each other. */
#ifndef REID_TOOLS_CROPS_H
#define REID_TOOLS_CROPS_H

#include "base/choices.h"
#include "gallery/gallery_store.h"

typedef struct crop_place {
    const char *id;
    uint32_t at;
} crop_place;

typedef struct crops {
    char **ids;             /* [count], no two equal */
    char **identities;      /* [count]: what the file calls each; NULL where it does not say */
    float *rows;            /* (count, dim) */
    crop_place *by_id;      /* [count], in the order of ids */
    size_t count, id_cap, identity_cap, row_cap;
    int dim;
    char jpeg[STORE_JPEG];  /* what decoded JPEG files for the first file that says so; "": none does */
    const char *jpeg_of;    /* that file */
    store_meta makers;      /* its threshold is that of the galleries; NAN: they have none, or several */
} crops;

/* Returns 0 after saying what is wrong: files of different models, an id that is there twice, no row. Close it in any
   case. */
int crops_open(crops *c, char *const *paths, int count);
void crops_close(crops *c);

/* Scales the parts of the rows, so that the cosine of two rows is the weighted sum of their models' cosines over the
   sum of the weights, which it returns. */
double crops_weigh(crops *c, const double weights[MAX_MODELS]);

/* The place of an id; SIZE_MAX: there is none. */
size_t crops_find(const crops *c, const char *id);

/* The length of the part of an id that names its picture: of PATH#0, PATH#1 ... that is PATH, else it is all of it. */
size_t crop_picture_length(const char *id);

#endif
