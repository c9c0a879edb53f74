/* The crops to be grouped: the rows of all given embeddings files and galleries, one after the other. */
#ifndef REID_TOOLS_CROPS_H
#define REID_TOOLS_CROPS_H

#include "base/choices.h"
#include "gallery/gallery_store.h"

typedef struct crop_place {
    const char *id;
    uint32_t at;
} crop_place;

/* What a file of embeddings states about a crop. */
typedef struct crop_facts {
    char *camera, *source;  /* NULL: unknown; source: its photo and box, as in box_text.h */
    long long when;         /* STORE_NO_TIME: unknown */
    double score;           /* the detector's; NAN: unknown */
    double boxes;           /* the detector's boxes in its track; NAN: unknown */
    uint32_t track;         /* index in `tracks`; UINT32_MAX: unknown */
} crop_facts;

typedef struct crops {
    char **ids;             /* [count], all different */
    char **identities;      /* [count]: the identity in the file; NULL where it has none */
    float *rows;            /* (count, dim) */
    crop_facts *facts;      /* [count] */
    char **tracks;          /* [track_count]: names; those of each file one after the other, sorted */
    uint32_t (*apart)[2];   /* [apart_count]: tracks that show different individuals */
    double weights[MAX_MODELS]; /* [weight_count]: the models' shares that the first file names; 0: none */
    size_t facts_cap, track_count, track_cap, apart_count, apart_cap;
    int weight_count;
    crop_place *by_id;      /* [count], in the order of ids */
    size_t count, id_cap, identity_cap, row_cap;
    int dim;
    char jpeg[STORE_JPEG];  /* the JPEG decoder named by the first file that names one; "": no file does */
    const char *jpeg_of;    /* that file */
    store_meta makers;      /* its threshold is the files' or galleries'; NAN: they have none */
} crops;

/* Returns 0 after reporting an error: files of different models, an id that is listed twice, no rows. Close it in any
   case. */
int crops_open(crops *c, char *const *paths, int count);
void crops_close(crops *c);

/* Scales each model's part of the rows so that the cosine of two rows becomes the weighted mean of their models'
   cosines. Returns the sum of the weights. */
double crops_weigh(crops *c, const double weights[MAX_MODELS]);

/* The index of an id, or SIZE_MAX if it is not there. */
size_t crops_find(const crops *c, const char *id);

/* The length of the part of an id that names its image: PATH for the ids PATH#0, PATH#1 ..., else the whole id. */
size_t crop_picture_length(const char *id);

#endif
