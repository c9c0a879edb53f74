/* Which pairs of crops people have to be asked about to know how many individuals there are, and what their answers say
   (count.h has the mathematics). Which pairs these are depends on the crops' ids and rows, the models, the threshold or
   calibration, the links of pictures and tracks, the seed and the sizes of the sample, never on an answer: so they are
   the same whoever asks. */
#ifndef REID_TOOLS_CENSUS_H
#define REID_TOOLS_CENSUS_H

#include "groups/clusters.h"
#include "groups/count.h"
#include "scores/calibration_file.h"

typedef struct census_request {
    const crops *crops;
    const clusters *found;         /* groups that scores, pictures and tracks have made, without decisions */
    const calibration *calibration; /* what scores mean; NULL: they are judged by the threshold of the groups */
    double scale;                  /* of cosines to scores */
    const uint32_t *frames, *tracks; /* as in clusters_request */
    const decision_state *state;   /* NULL: nobody has decided anything */
    long long seed;
    size_t sample, per_crop;       /* crops to be drawn; pairs of each, on average */
} census_request;

typedef struct census_pair {
    uint32_t b;       /* with whom the crop of the sample is compared */
    double score, chance; /* chance: to be asked about */
    int answer;       /* 1 the same, 0 different, -1 nobody knows */
} census_pair;

typedef struct census_crop {
    uint32_t row;
    size_t first, pairs; /* in census.pairs */
    size_t sure;         /* crops of its individual that tracks tell of, itself among them */
    size_t open;         /* pairs without an answer */
    int none, whole;     /* it was decided to be no crop; every pair that could be asked is */
} census_crop;

typedef struct census {
    census_crop *at;     /* in the order in which they were drawn: the first n are a sample of n */
    size_t count;
    census_pair *pairs;  /* the most alike first, crop by crop */
    size_t pair_count, pair_cap;
    double *shares;      /* [rows] of all crops, for chances in samples of any size */
    uint32_t *order;     /* [rows]: the order in which crops are drawn */
    size_t rows, rows_left; /* rows_left: those that are crops, as far as it is known */
} census;

/* Returns 0 after saying what is wrong, or without a word when interrupted(). Free it in any case. */
int census_make(census *c, const census_request *r);
void census_free(census *c);

#endif
