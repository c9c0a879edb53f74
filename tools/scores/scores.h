/* Scores of every query with every gallery row, a few queries at a time: the table of all of them never exists. They
   are float32 and all wanted; reid_search is for the best ones, in double. */
#ifndef REID_TOOLS_SCORES_H
#define REID_TOOLS_SCORES_H

#include "reid.h"

#include <stddef.h>

/* A score is the dot product of two rows: float32, sums of SCORE_CHUNK products in the order of the columns, and these
   sums added in that order. So it depends on the two rows and the instructions alone, never on the place of a row, the
   other rows or the threads: equal rows have equal scores, and score(a, b) = score(b, a). Products are fused with the
   addition (AVX2, AVX-512) or rounded (scalar), which differ in the last bits. */
enum { SCORE_CHUNK = 256 };

typedef struct score_job {
    const float *query, *gallery; /* rows of dim floats; they may be the same array */
    size_t queries, galleries, dim;
    int threads;                  /* from scores_threads */
    reid_isa isa;
    int below_diagonal;           /* 1: the two are one array, and row i needs only the scores with rows 0 … i-1 */
    int in_order;                 /* 1: fn is called for row 0, 1, 2, … one at a time; else from several threads */
    void (*fn)(void *user, int thread, size_t query, float *scores); /* it may write into scores */
    void *user;
    const char *label;            /* of the progress bar; NULL: none */
} score_job;

/* How many threads to use when `wanted` were asked for; 0: as many as threads_here says. */
int scores_threads(int wanted);

/* Returns 0 after saying that there is no memory, or without a word when interrupted(). */
int scores_run(const score_job *job);

#endif
