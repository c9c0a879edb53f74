/* From scores of labelled pairs to a threshold, its error rates and probabilities: pure functions. A pair is genuine
   when both pictures show one identity, else an impostor pair. Accepted is a score ≥ the threshold. */
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
    double genuine, impostor; /* how many pairs, weights counted */
    double crossing;   /* where the two histograms cross: the smallest sum of both error rates */
    double eer, eer_threshold; /* both error rates are equal; a straight line between neighbouring scores */
    double threshold;  /* the lowest that accepts at most the asked share of impostors */
    double fmr, tmr;   /* shares of impostor and genuine pairs accepted there */
} operating_points;

/* pairs are sorted. times[identity]: how often each was drawn, NULL: once. NAN where a side is empty. */
operating_points points_of(const scored_pair *pairs, size_t count, const uint32_t *times, double fmr);

/* Shares of impostor and genuine pairs with a score ≥ threshold. */
void rates_at(const scored_pair *pairs, size_t count, double threshold, double *fmr, double *tmr);

typedef struct point_intervals {
    interval crossing, eer, threshold, tmr;
} point_intervals;

/* 95 % intervals by drawing identities with replacement: a genuine pair counts as often as its identity was drawn, an
   impostor pair as the product of both. Returns 0 after saying that there is no memory, or without a
   word when interrupted(). */
int point_intervals_of(const scored_pair *pairs, size_t count, size_t identities, double fmr, int draws,
                       point_intervals *out);

typedef struct spread {
    double mean, deviation;
} spread;

void spreads_of(const scored_pair *pairs, size_t count, spread *genuine, spread *impostor);

/* ---- score to probability ---------------------------------------------------------------------------------------- */
/* `prior` is the share of genuine pairs that the probabilities are for: the pairs are weighted to make it so. For the
   logistic fits, 0 takes them as they are. */

/* 1 / (1 + exp(-(slope · score + intercept))), by maximum likelihood with Platt's targets (Platt 1999), which keep
   pairs that can be told apart completely from driving the slope to infinity. */
typedef struct logistic {
    double slope, intercept;
} logistic;

logistic logistic_fit(const scored_pair *pairs, size_t count, double prior);
double logistic_at(const logistic *l, double score);

/* The same with two scores a pair; slopes go to slope[0 … 1]. */
void logistic_fit_two(const float *first, const float *second, const scored_pair *pairs, size_t count, double prior,
                      double slope[2], double *intercept);

/* The rising steps that fit best by least squares (pool adjacent violators), straight lines between the ends of
   neighbouring steps, as scikit-learn's IsotonicRegression. */
typedef struct isotonic {
    double *score, *probability; /* both ascend */
    size_t count;
} isotonic;

/* Returns 0 after saying that there is no memory. */
int isotonic_fit(isotonic *f, const scored_pair *pairs, size_t count, double prior);
double isotonic_at(const isotonic *f, double score);
void isotonic_free(isotonic *f);

#endif
