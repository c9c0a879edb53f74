/* The contents of a file of embeddings. */
#ifndef REID_TOOLS_GALLERY_CONTENTS_H
#define REID_TOOLS_GALLERY_CONTENTS_H

#include "gallery/makers.h"

typedef struct gallery_file {
    store_meta makers;
    char jpeg[STORE_JPEG]; /* the decoders of its JPEG images, as in store_meta; "": unknown */
    float *rows; /* count × columns */
    size_t count, columns;
    char **ids, **identities, **cameras; /* no cameras or times: unknown; an identity or a camera "": unknown */
    long long *times;                    /* milliseconds since 1970, STORE_NO_TIME where unknown */
    char **sources, **tracks;            /* photo and box as in box_text.h, track; no elements, or "": unknown */
    double *scores, *boxes;              /* the detector's; boxes in the track; NAN: unknown */
    char *source_root;                   /* source_root.h; NULL: unknown */
    char **apart;                        /* [apart_count], an even number: each two tracks show different individuals */
    double weights[STORE_MODELS];        /* [weight_count]: the models' shares in a score, if some were chosen */
    size_t source_count, source_cap, track_count, track_cap, score_count, score_cap, box_count, box_cap;
    size_t apart_count, apart_cap;
    int weight_count;
    double threshold;                    /* that was chosen for these rows; NAN: none */
    size_t id_count, id_cap, identity_count, identity_cap, camera_count, camera_cap, time_count, time_cap, row_cap;
} gallery_file;

#endif
