/* Chooses the pairs of crops that people are asked about so that the number of individuals can be estimated, and holds
   their answers (count.h has the mathematics). What is counted are sightings: crops of no track, and tracks, each of
   which is shown by its first crop, because another crop of it would be the same question. The choice depends on the
   crops' ids and rows, the models, the threshold or calibration, the links by images and tracks, the seed and the
   sizes of the sample, but never on an answer, so every run chooses the same pairs. */
#ifndef REID_TOOLS_CENSUS_H
#define REID_TOOLS_CENSUS_H

#include "groups/clusters.h"
#include "groups/count.h"
#include "scores/calibration_file.h"

typedef struct census_request {
    const crops *crops;
    const clusters *found;         /* groups made from scores, images and tracks, without decisions */
    const calibration *calibration; /* maps scores to probabilities; NULL: the groups' threshold is used instead */
    double scale;                  /* factor from cosines to scores */
    const uint32_t *frames, *tracks, *apart; /* as in clusters_request */
    size_t apart_count;
    const decision_state *state;   /* NULL: there are no decisions */
    long long seed;
    size_t sample, per_crop;       /* crops to draw; average number of pairs per crop */
} census_request;

typedef struct census_pair {
    uint32_t b;       /* the crop that the sampled crop is compared with */
    double score, chance; /* chance: probability that people are asked about this pair */
    int answer;       /* 1 the same, 0 different, -1 unknown */
} census_pair;

typedef struct census_crop {
    uint32_t row;
    size_t place;        /* in census.stands */
    size_t first, pairs; /* in census.pairs */
    size_t open;         /* pairs without an answer */
    int none, whole;     /* none: decided to be "not a crop"; whole: every possible pair is asked about */
} census_crop;

typedef struct census {
    census_crop *at;     /* in the order in which they were drawn: the first n are a sample of size n */
    size_t count;
    census_pair *pairs;  /* crop by crop, highest score first */
    size_t pair_count, pair_cap;
    uint32_t *stands;       /* [rows]: the crop that stands for each sighting */
    double *shares;         /* [rows] of all sightings; they give the chances in a sample of any size */
    uint32_t *order;        /* [rows]: the order in which sightings are drawn */
    size_t rows, rows_left; /* rows: sightings; rows_left: those that are not decided to be "not a crop" */
} census;

/* Returns 0 after reporting an error, or silently if interrupted(). Free it in any case. */
int census_make(census *c, const census_request *r);
void census_free(census *c);

#endif
