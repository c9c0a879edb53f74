/* Two ways to improve a ranking by looking at all images together: k-reciprocal re-ranking (Zhong et al. 2017) and
   query expansion. Both keep a few numbers per image, never a table of all pairs. */
#ifndef REID_TOOLS_RERANK_H
#define REID_TOOLS_RERANK_H

#include "scores/scores.h"

/* All images: queries come first, gallery images last; some may be both. */
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
    double lambda; /* 0.3: weight of the original distance */
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
    size_t count, near;   /* images; neighbours kept of each: min(k1 + 1, count) */
    size_t *neighbours;   /* count × near, nearest first, mostly the image itself */
    double *norm;         /* squared length of each row */
    double *farthest;     /* largest squared distance from each row, by which its distances are divided */
    sparse_row *features; /* of each image: its weights on others */
    sparse_row *columns;  /* the same cells by column, rows ascending: the images that give weight to this one */
    double *room;         /* threads × gallery: working memory of rerank_row */
} rerank;

/* Returns 0 after reporting that memory ran out, or silently if interrupted(); free it in any case. */
int rerank_begin(rerank *r, const picture_rows *all, const rerank_options *o);
/* Replaces the scores of one query with the gallery by its negated re-ranked distances. Several threads may call it,
   each with its own number `thread` below picture_rows.threads. */
void rerank_row(const rerank *r, int thread, size_t query, float *scores);
void rerank_free(rerank *r);

/* ---- query expansion --------------------------------------------------------------------------------------------- */
/* Every row, of queries and gallery, becomes the mean of its k nearest rows (itself among them), each weighted with its
   cosine to the power of alpha, and is brought back to length 1 (fast-reid's AQE; alpha-QE, Radenovic et al. 2019). In
   place. Rows have length 1. Returns 0 as rerank_begin does. */
int expand_rows(float *rows, const picture_rows *all, int k, double alpha);

#endif
