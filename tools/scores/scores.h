/* Computes the scores of every query with every gallery row in float32, a few queries at a time, so the table of all
   scores never exists. Use reid_search if only the best scores are needed; it computes in double. */
#ifndef REID_TOOLS_SCORES_H
#define REID_TOOLS_SCORES_H

#include "reid.h"

#include <stddef.h>

/* A score is the dot product of two rows in float32: SCORE_CHUNK products are summed in the order of the columns, and
   these sums are added in that order. So a score depends only on the two rows and the instruction set, not on the
   position of a row, the other rows or the threads: equal rows have equal scores, and score(a, b) = score(b, a).
   Products are fused with the addition (AVX2, AVX-512) or rounded (scalar); the results differ in the last bits. */
enum { SCORE_CHUNK = 256 };

typedef struct score_job {
    const float *query, *gallery; /* rows of dim floats; they may be the same array */
    size_t queries, galleries, dim;
    int threads;                  /* from scores_threads */
    reid_isa isa;
    int below_diagonal;           /* 1: the two are one array, and row i needs only the scores with rows 0 … i-1 */
    int in_order;                 /* 1: fn is called for rows 0, 1, 2, … one at a time; 0: from several threads */
    void (*fn)(void *user, int thread, size_t query, float *scores); /* it may write into scores */
    void *user;
    const char *label;            /* of the progress bar; NULL: none */
} score_job;

/* The number of threads to use when `wanted` were requested; 0 requests as many as threads_here returns. */
int scores_threads(int wanted);

/* Returns 0 after reporting that memory ran out, or silently if interrupted(). */
int scores_run(const score_job *job);

#endif
