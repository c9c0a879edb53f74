/* What the parts of reid track share. */
#ifndef REID_TOOLS_TRACKING_H
#define REID_TOOLS_TRACKING_H

#include "base/folder.h"
#include "cli/options.h"
#include "scores/calibration_file.h"
#include "tracks/film_groups.h"

typedef struct tracking {
    const options *o;
    models all;
    calibration calibration;
    double threshold, weights[MAX_MODELS];
    film_request *requests; /* [count] */
    film *films;
    size_t count, groups;
    photos photos;          /* of the folders among the operands */
    uint32_t *cuts;
    size_t cut_count;
    int looks_for_cuts;
    crop_rows rows;
    folder folder;
    size_t *first_row;      /* [count + 1], of each film, as far as they are made */
    size_t recorded;        /* films before this one have a record, or get none */
    double saved;           /* when that was last looked after */
} tracking;

/* Says why, which it frees. Always returns 0. */
int tracking_say(const char *what, text *why);

/* What decodes JPEG files behind the crops; NULL: there are videos alone. */
const char *tracking_jpeg(const tracking *run);

/* Both return 0 after saying what is wrong. */

/* The folder of the output, which may be that of an interrupted run; refuses one that was begun otherwise. */
int tracking_folder(tracking *run);
/* All films, but those that the interrupted run has finished; each that is finished gets a record. */
int tracking_films(tracking *run);

#endif
