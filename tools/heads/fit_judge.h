/* Measures how well a fitted head works on held-out individuals, compared with the network without the fit. */
#ifndef REID_TOOLS_FIT_JUDGE_H
#define REID_TOOLS_FIT_JUDGE_H

#include "evaluate/eval_set.h"
#include "heads/fit_parts.h"
#include "scores/metrics.h"

enum { FIT_JUDGE_TURNS = 3, FIT_LEAST_TO_JUDGE = 6 };

typedef struct fit_judge_rules {
    double holdout; /* share of the individuals to hold out once; NAN: FIT_JUDGE_TURNS turns, each of which holds out
                       another part of them */
    size_t made_first, made; /* the first column of the network's own embedding, and how many; not normalised */
    int by_camera;  /* 1: crops of one individual and camera are not compared */
    int draws, threads;
} fit_judge_rules;

/* A metric as a fraction of 1, with its 95 % interval from drawing individuals. */
typedef struct measured {
    double value;
    interval range;
} measured;

typedef struct fit_side {
    measured rank1, map, auc;
} fit_side;

typedef struct fit_judgement {
    int turns;
    size_t individuals, fitted; /* held out, each once; used by a fit, on average */
    size_t queries;             /* held-out crops whose individual has another held-out crop to be found */
    fit_side before, after, gain; /* gain: after minus before, on the same crops */
} fit_judgement;

/* Held-out individuals are used neither for fitting nor for choosing. Each held-out crop is searched for among the
   crops that are held out with it. Returns 0 after reporting an error, or silently if interrupted(). */
int fit_judge(fit_judgement *j, const eval_set *set, const fit_request *r, const fit_judge_rules *rules);

#endif
