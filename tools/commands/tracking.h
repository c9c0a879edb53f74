/* The state that the parts of reid track share. */
#ifndef REID_TOOLS_TRACKING_H
#define REID_TOOLS_TRACKING_H

#include "base/folder.h"
#include "cli/options.h"
#include "commands/grouping.h"
#include "scores/calibration_file.h"
#include "tracks/film_groups.h"

typedef struct tracking {
    const options *o;
    models all;
    calibration calibration;
    double threshold, weights[MAX_MODELS];
    int unknown;            /* the threshold is a guess until it is made without labels */
    film_request *requests; /* [count] */
    film *films;
    size_t count;
    grouping groups;        /* of the crops in DIR/embeddings.npy, as reid cluster makes them */
    int grouped;            /* there are crops */
    photos photos;          /* of the folders among the operands */
    uint32_t *cuts;
    size_t cut_count;
    int looks_for_cuts;
    crop_rows rows;
    folder folder;
    size_t *first_row;      /* [count + 1]: first row of each film, as far as it is known */
    size_t recorded;        /* films before this one are recorded, or will not be */
    double saved;           /* when films were last recorded */
} tracking;

#endif
