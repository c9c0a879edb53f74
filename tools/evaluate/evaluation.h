/* Every measure of one set of embeddings. */
#ifndef REID_TOOLS_EVALUATION_H
#define REID_TOOLS_EVALUATION_H

#include "evaluate/eval_set.h"
#include "evaluate/linkage.h"
#include "scores/metrics.h"

enum { FPRS = 3 };
extern const double FPR[FPRS]; /* 1e-4, 1e-3, 1e-2 */

typedef struct evaluation {
    size_t queries, galleries, distractors; /* pictures */
    int by_camera;         /* 1: gallery pictures of the query's identity and camera took no part */
    query_result *results; /* of each query */
    size_t *identity;      /* of each query */
    size_t identities;
    retrieval ranks;
    interval rank1, map;   /* 95 %, by drawing identities */
    uint64_t genuine, impostor; /* pairs that took part */
    double tpr[FPRS], auc, eer;
    open_set open;
    clustering clusters;
} evaluation;

typedef enum leave_out { LEAVE_OUT_AUTO, LEAVE_OUT_CAMERA, LEAVE_OUT_PICTURE } leave_out;

/* How to measure. */
typedef struct evaluation_rules {
    double threshold;        /* above which two are one individual; NAN: the best for these pictures */
    leave_out leave_out;     /* what a query is not compared with; auto: its camera where all are known */
    int rerank, k1, k2;      /* k-reciprocal re-ranking, see rerank.h */
    double lambda;
    int expand;              /* query expansion with so many rows; 0: none */
    double alpha;
    int draws;               /* for the intervals */
    int threads;             /* 0: as many as are worth it */
    reid_isa isa;
} evaluation_rules;

/* Returns 0 after saying what is wrong, or without a word when interrupted(); free it in any case. The rows of the set
   are weighed with weights (one number a model) and, when expanding, replaced. */
int evaluate(evaluation *e, eval_set *set, const evaluation_rules *o, const double *weights);
void evaluation_free(evaluation *e);

#endif
