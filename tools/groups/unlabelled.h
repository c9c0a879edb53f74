/* Makes a calibration from crops without labels, from what is known of them anyway: boxes of one image, and tracks
   that share a frame, show different individuals; boxes of one track show the same one; and most of all pairs show
   two. People's decisions are used if there are any. mixture.h has the mathematics.

   It compares sightings: a track, by the mean of its rows, or a crop without a track. Pairs within a track are left
   out, because they look more alike than two sightings of one individual: a threshold from them would be too
   high. They only show whether the scores can recognise anything at all. Pairs of sightings at one camera, which share
   a background, and of two cameras are two kinds. */
#ifndef REID_TOOLS_UNLABELLED_H
#define REID_TOOLS_UNLABELLED_H

#include "groups/crops.h"
#include "journal/decisions_state.h"
#include "scores/calibration_file.h"
#include "scores/mixture.h"

typedef struct unlabelled_request {
    const crops *crops;                      /* weighed */
    double scale;                            /* factor from cosines to scores, as returned by crops_weigh */
    const uint32_t *tracks, *frames, *apart; /* as in clusters_request, each may be NULL */
    size_t apart_count;
    const decision_state *state; /* NULL: there are no decisions */
    double same_time;  /* crops of two cameras at most this many seconds apart show different individuals; NAN:
                                 they may show the same one */
    double fmr, prior; /* as in calibration */
    int method, draws;
} unlabelled_request;

typedef enum unlabelled_verdict {
    UNLABELLED_GOOD,
    UNLABELLED_NO_TIMES,  /* same_time was given, but no two cameras have times */
    UNLABELLED_ONE_BURST, /* everything was seen at one time */
    UNLABELLED_FEW,       /* too few sightings or pairs */
    UNLABELLED_BLIND,     /* pairs of one track look hardly more alike than other pairs */
    UNLABELLED_ALIKE,     /* pairs that are known to differ look less alike than most others */
    UNLABELLED_MIXED      /* nothing is known to differ, and the scores of all pairs look like one distribution */
} unlabelled_verdict;

typedef struct unlabelled {
    unlabelled_verdict verdict;
    mixture fit;              /* unless there are too few pairs, whatever the verdict */
    size_t sightings, tracks; /* tracks: sightings of at least two crops */
    uint64_t pairs, every;    /* compared pairs; all pairs */
    uint64_t same, different; /* of the compared pairs, known to be so */
    double within;            /* mean score of pairs within a track; NAN: there are none */
    double apart;             /* mean score of pairs that are known to be different; NAN: there are none */
} unlabelled;

/* Returns 0 after reporting that memory ran out, or silently if interrupted(). */
int unlabelled_make(unlabelled *u, const unlabelled_request *r);

/* Says, for a verdict that is not good, what is missing and what to do. Returns a sentence without an end. */
void unlabelled_reason(const unlabelled *u, text *t);

/* Makes a calibration as if the two distributions had been seen, also of each model alone if there are two. Call it
   with a good verdict. weights: the models' shares, with which the crops were weighed. Returns 0 after reporting that
   memory ran out, or silently if interrupted(); free c in any case. */
int unlabelled_calibration(const unlabelled *u, const unlabelled_request *r, const double *weights, calibration *c);

#endif
