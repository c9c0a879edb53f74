/* The metrics of re-identification, as pure functions of scores, ranks and labels. Higher scores are better; equal
   scores keep the order of the gallery. */
#ifndef REID_TOOLS_METRICS_H
#define REID_TOOLS_METRICS_H

#include <stddef.h>
#include <stdint.h>

enum { CMC_RANKS = 50 };

/* ---- one query --------------------------------------------------------------------------------------------------- */

/* Computes the ranks, from 1, of the `matches` gallery images `match` (indices into `scores`), best first. A gallery
   image that is left out for this query has the score -INFINITY. Returns 0, without a message, if memory runs out. */
int rank_matches(const float *scores, size_t count, const size_t *match, size_t matches, size_t *ranks);

typedef struct query_result {
    size_t matches;      /* 0: there is nothing to find, so the query does not count */
    size_t first;        /* rank of the best match */
    double ap;           /* mean over the matches of the precision at each (torchreid, fast-reid) */
    double ap_trapezoid; /* the precision before and at each match, averaged (Oxford's compute_ap; layumi's baseline) */
    double inp;          /* matches / rank of the last one (mINP is its mean; Ye et al. 2021) */
} query_result;

query_result query_measure(const size_t *ranks, size_t matches);

typedef struct retrieval {
    size_t queries, valid;  /* valid: those with a match */
    double cmc[CMC_RANKS];  /* [k-1]: share of valid queries whose best match has rank ≤ k */
    double map, minp;       /* over valid queries */
    double map_trapezoid;   /* over all queries, as its authors define it: a query without a match counts as 0 */
} retrieval;

retrieval retrieval_of(const query_result *results, size_t queries);

/* ---- pairs: genuine (one identity) against impostor (two) -------------------------------------------------------- */

/* A histogram with steps of 2·reach / ROC_STEPS, about the noise of a float32 score. Scores outside -reach … reach are
   counted in the first or last step. */
enum { ROC_STEPS = 1 << 20 };

typedef struct roc {
    double reach, steps;          /* scores are in -reach … reach; steps: number of steps per unit of score */
    uint64_t *genuine, *impostor; /* ROC_STEPS each */
} roc;

/* Returns 0 after reporting that memory ran out; free it in any case. */
int roc_begin(roc *r, double reach);
void roc_free(roc *r);
void roc_add(roc *r, float score, int genuine);
/* Moves a score that was added as an impostor to the genuine ones. */
void roc_move(roc *r, float score);
void roc_merge(roc *into, const roc *from);

/* Share of genuine pairs accepted at the lowest threshold that accepts at most `fpr` of the impostors; NAN when a side
   is empty. */
double roc_tpr(const roc *r, double fpr);
/* Area under the curve: the chance that a genuine pair scores above an impostor pair, ties half. */
double roc_auc(const roc *r);
/* The equal error rate, where the share of accepted impostors equals the share of rejected genuine pairs; interpolated
   linearly between neighbouring thresholds. */
double roc_eer(const roc *r);
void roc_totals(const roc *r, uint64_t *genuine, uint64_t *impostor);

/* The same area for a few values: the chance that one of `high` is above one of `low`, ties half. Sorts both arrays. */
double auc_of(float *high, size_t highs, float *low, size_t lows);

/* ---- open set: known or new -------------------------------------------------------------------------------------- */

typedef struct open_query {
    float score;     /* of the best gallery image; -INFINITY when nothing was left to compare with */
    size_t identity; /* the true one, below the number of identities */
    int known;       /* the gallery held this identity */
    int correct;     /* the best gallery image shows it */
} open_query;

typedef struct open_set {
    size_t known, unknown; /* queries */
    double auc;            /* of known against new queries by the best score; NAN unless there are both */
    double threshold;      /* used by baks and baus: score ≥ threshold gives the best image's identity, else new */
    int chosen;            /* 1: the threshold was optimised on these queries, so the results are upper bounds */
    double baks;           /* mean over identities of the share of known queries named correctly; NAN if none */
    double baus;           /* mean over identities of the share of new queries called new; NAN if none */
} open_set;

/* threshold = NAN chooses the threshold with the largest sqrt(BAKS·BAUS); if only one of the two exists, with the
   largest value of that. Returns 0 after reporting that memory ran out. */
int open_set_of(open_set *out, const open_query *queries, size_t count, size_t identities, double threshold);

/* ---- chance ------------------------------------------------------------------------------------------------------ */

typedef struct interval {
    double low, high; /* NAN when it cannot be computed */
} interval;

/* The middle 95 % of `count` values, interpolated as NumPy's percentile does; sorts them. */
interval middle_95(double *values, size_t count);

/* 95 % interval of a mean by drawing identities, not queries, with replacement: images of one individual are not
   independent. group[i] < groups is the identity of value[i]. Returns 0 after reporting that memory ran out. */
int mean_interval(interval *out, const double *value, const size_t *group, size_t count, size_t groups, int draws);

#endif
