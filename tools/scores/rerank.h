/* Two ways to make a ranking better by looking at all pictures together: k-reciprocal re-ranking (Zhong et al. 2017)
   and query expansion. Both keep a few numbers a picture; the table of all pairs never exists. */
#ifndef REID_TOOLS_RERANK_H
#define REID_TOOLS_RERANK_H

#include "scores/scores.h"

/* All pictures: those that are queries stand first, those in the gallery last; some may be both. */
typedef struct picture_rows {
    const float *rows;       /* count × dim */
    size_t count, dim;
    size_t queries, gallery; /* rows 0 … queries-1, and gallery … count-1 */
    int threads;
    reid_isa isa;
} picture_rows;

/* ---- k-reciprocal re-ranking ------------------------------------------------------------------------------------- */
typedef struct rerank_options {
    int k1, k2;    /* 20, 6 */
    double lambda; /* 0.3: share of the distance itself */
} rerank_options;

typedef struct sparse_cell {
    size_t column;
    double value;
} sparse_cell;

typedef struct sparse_row {
    sparse_cell *cells; /* columns ascend */
    size_t count;
} sparse_row;

typedef struct rerank {
    rerank_options o;
    const picture_rows *all;
    size_t count, near;   /* pictures; neighbours kept of each: min(k1 + 1, count) */
    size_t *neighbours;   /* count × near, nearest first, mostly the picture itself */
    double *norm;         /* squared length of each row */
    double *farthest;     /* largest squared distance from each, by which its row is divided */
    sparse_row *features; /* of each picture: its weights on others */
    sparse_row *columns;  /* the same cells by column, rows ascending: who gives weight to this picture */
    double *room;         /* threads × gallery: what rerank_row works in */
} rerank;

/* Returns 0 after saying that there is no memory, or without a word when interrupted(); free it in any case. */
int rerank_begin(rerank *r, const picture_rows *all, const rerank_options *o);
/* Turns the scores of one query with the gallery into minus its re-ranked distances. From several threads:
   thread is below picture_rows.threads, and no two that run at once have the same. */
void rerank_row(const rerank *r, int thread, size_t query, float *scores);
void rerank_free(rerank *r);

/* ---- query expansion --------------------------------------------------------------------------------------------- */
/* Every row, of queries and gallery, becomes the mean of its k nearest rows (itself among them), each weighted with its
   cosine to the power of alpha, and is brought back to length 1 (fast-reid's AQE; alpha-QE, Radenovic et al. 2019). In
   place. Rows have length 1. Returns 0 as rerank_begin does. */
int expand_rows(float *rows, const picture_rows *all, int k, double alpha);

#endif
