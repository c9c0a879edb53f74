/* Every measure of one set of embeddings. */
#ifndef REID_TOOLS_EVALUATION_H
#define REID_TOOLS_EVALUATION_H

#include "identity/eval_set.h"
#include "identity/linkage.h"
#include "identity/metrics.h"

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

/* Returns 0 after saying what is wrong; ends the program after a signal. The rows of the set are weighed with weights
   (one number a model) and, with --expand, replaced. */
int evaluate(evaluation *e, eval_set *set, const options *o, const double *weights);
/* --draws, or its default. */
int draws_of(const options *o);
void evaluation_free(evaluation *e);

#endif
