/* Computes a threshold, its error rates and probabilities from scores of labelled pairs: pure functions. A pair is
   genuine when both images show one identity, else it is an impostor pair. Scores ≥ the threshold are accepted. */
#ifndef REID_TOOLS_CALIBRATION_H
#define REID_TOOLS_CALIBRATION_H

#include "scores/metrics.h"

#include <stddef.h>
#include <stdint.h>

typedef struct scored_pair {
    float score;
    uint32_t a, b; /* identities; equal: genuine */
} scored_pair;

/* Highest score first. */
void pairs_sort(scored_pair *pairs, size_t count);

typedef struct operating_points {
    double genuine, impostor; /* weighted numbers of pairs */
    double crossing;   /* threshold where the two histograms cross: the sum of both error rates is smallest */
    double eer, eer_threshold; /* where both error rates are equal, interpolated linearly between neighbouring scores */
    double threshold;  /* the lowest that accepts at most the requested share of impostors */
    double fmr, tmr;   /* shares of impostor and genuine pairs that it accepts */
} operating_points;

/* pairs must be sorted. times[identity]: how often each was drawn; NULL: once. Values are NAN if there are no genuine
   pairs or no impostor pairs. */
operating_points points_of(const scored_pair *pairs, size_t count, const uint32_t *times, double fmr);

/* Shares of impostor and genuine pairs with a score ≥ threshold. */
void rates_at(const scored_pair *pairs, size_t count, double threshold, double *fmr, double *tmr);

typedef struct point_intervals {
    interval crossing, eer, threshold, tmr;
} point_intervals;

/* 95 % intervals by drawing identities with replacement: a genuine pair is weighted by how often its identity was
   drawn, an impostor pair by the product for both identities. Returns 0 after reporting that memory ran out, or
   silently if interrupted(). */
int point_intervals_of(const scored_pair *pairs, size_t count, size_t identities, double fmr, int draws,
                       point_intervals *out);

typedef struct spread {
    double mean, deviation;
} spread;

void spreads_of(const scored_pair *pairs, size_t count, spread *genuine, spread *impostor);

/* ---- score to probability ---------------------------------------------------------------------------------------- */
/* `prior` is the share of genuine pairs for which the probabilities hold: pairs are weighted to reach it. With 0, the
   logistic fits leave pairs unweighted. */

/* 1 / (1 + exp(-(slope · score + intercept))), by maximum likelihood with Platt's targets (Platt 1999), which keep the
   slope finite even if scores separate the pairs completely. */
typedef struct logistic {
    double slope, intercept;
} logistic;

logistic logistic_fit(const scored_pair *pairs, size_t count, double prior);
double logistic_at(const logistic *l, double score);

/* Fits two scores per pair; slopes go to slope[0 … 1]. Otherwise like logistic_fit. */
void logistic_fit_two(const float *first, const float *second, const scored_pair *pairs, size_t count, double prior,
                      double slope[2], double *intercept);

/* The ascending step function with the smallest squared error (pool adjacent violators), with straight lines between
   the ends of neighbouring steps, as in scikit-learn's IsotonicRegression. */
typedef struct isotonic {
    double *score, *probability; /* both ascending */
    size_t count;
} isotonic;

/* Returns 0 after reporting that memory ran out. */
int isotonic_fit(isotonic *f, const scored_pair *pairs, size_t count, double prior);
double isotonic_at(const isotonic *f, double score);
void isotonic_free(isotonic *f);

#endif
