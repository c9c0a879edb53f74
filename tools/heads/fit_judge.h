/* How good is a fitted head for individuals that it has not seen, beside what the network makes without it? */
#ifndef REID_TOOLS_FIT_JUDGE_H
#define REID_TOOLS_FIT_JUDGE_H

#include "evaluate/eval_set.h"
#include "heads/fit_parts.h"
#include "scores/metrics.h"

enum { FIT_JUDGE_TURNS = 3, FIT_LEAST_TO_JUDGE = 6 };

typedef struct fit_judge_rules {
    double holdout; /* share of the individuals that is held out, once; NAN: FIT_JUDGE_TURNS turns, each holds out one
                       part of them */
    size_t made_first, made; /* columns with what the network makes of a crop without a fit, not normalised */
    int by_camera;  /* 1: crops of one individual and camera are not compared */
    int draws, threads;
} fit_judge_rules;

/* A measure in parts of 1 with its 95 % interval, from drawing individuals. */
typedef struct measured {
    double value;
    interval range;
} measured;

typedef struct fit_side {
    measured rank1, map, auc;
} fit_side;

typedef struct fit_judgement {
    int turns;
    size_t individuals, fitted; /* that were held out, each once; that the fits had, on average */
    size_t queries;             /* held-out crops that have another one of their individual to be found */
    fit_side before, after, gain; /* gain: after less before, of the same crops */
} fit_judgement;

/* Individuals that are held out take no part in the fit at all, nor in choosing. A crop looks for its individual among
   the crops that are held out with it. Returns 0 after saying what is wrong, or without a word when interrupted(). */
int fit_judge(fit_judgement *j, const eval_set *set, const fit_request *r, const fit_judge_rules *rules);

#endif
