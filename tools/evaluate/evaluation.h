/* Computes all metrics of one set of embeddings. */
#ifndef REID_TOOLS_EVALUATION_H
#define REID_TOOLS_EVALUATION_H

#include "evaluate/eval_set.h"
#include "evaluate/linkage.h"
#include "scores/metrics.h"

enum { FPRS = 3 };
extern const double FPR[FPRS]; /* 1e-4, 1e-3, 1e-2 */

typedef struct evaluation {
    size_t queries, galleries, distractors; /* images */
    int by_camera;         /* 1: gallery images with the query's identity and camera were left out */
    query_result *results; /* of each query */
    size_t *identity;      /* of each query */
    size_t identities;
    retrieval ranks;
    interval rank1, map;   /* 95 %, by drawing identities */
    uint64_t genuine, impostor; /* pairs that were compared */
    double tpr[FPRS], auc, eer;
    open_set open;
    clustering clusters;
} evaluation;

typedef enum leave_out { LEAVE_OUT_AUTO, LEAVE_OUT_CAMERA, LEAVE_OUT_PICTURE } leave_out;

/* How to measure. */
typedef struct evaluation_rules {
    double threshold;        /* scores from here on mean one individual; NAN: the best threshold for these images */
    leave_out leave_out;     /* what a query is not compared with; auto: its own camera if all cameras are known */
    int rerank, k1, k2;      /* k-reciprocal re-ranking, see rerank.h */
    double lambda;
    int expand;              /* query expansion with this many rows; 0: none */
    double alpha;
    int draws;               /* for the intervals */
    int threads;             /* 0: as many as are useful */
    reid_isa isa;
} evaluation_rules;

/* Returns 0 after reporting an error, or silently if interrupted(); free it in any case. Changes the rows of the set:
   multiplies them by weights (one number per model) and, when expanding, replaces them. */
int evaluate(evaluation *e, eval_set *set, const evaluation_rules *o, const double *weights);
void evaluation_free(evaluation *e);

#endif
