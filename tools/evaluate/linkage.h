/* Clusters images by single linkage and compares the clusters with the identities. Two images are in one cluster
   when a chain of scores ≥ a threshold joins them, as in the greedy union-find clustering of wildlife-tools. */
#ifndef REID_TOOLS_LINKAGE_H
#define REID_TOOLS_LINKAGE_H

#include <stddef.h>

/* SLINK (Sibson 1973) without its relabelling, which orders a dendrogram but changes no cluster. Rows of scores come
   one by one, and only 3 numbers for each image are kept. */
typedef struct linkage {
    size_t count, rows;
    size_t *to;   /* image i first joins the later image to[i] … */
    double *at;   /* … at this score */
    double *work;
} linkage;

/* Returns 0 after reporting that memory ran out; free it in any case. */
int linkage_begin(linkage *l, size_t count);
/* Adds the next image (0, 1, 2, …); scores are those with the images before it. */
void linkage_row(linkage *l, const float *scores);
void linkage_free(linkage *l);

typedef struct clustering {
    double threshold, ari;
    size_t clusters;
    int chosen; /* 1: the threshold was optimised for the best ARI on these images, so ari is an upper bound */
} clustering;

/* Computes the clusters at the threshold; NAN: at the best one. identity[i] < identities. Returns 0 after reporting
   that memory ran out. */
int linkage_cut(clustering *out, const linkage *l, const size_t *identity, size_t identities, double threshold);

/* The adjusted Rand index (Hubert and Arabie 1985) from numbers of pairs: together in both, in the clusters, in the
   identities, and all pairs. 1 if no disagreement is possible, as in scikit-learn. */
double adjusted_rand(double both, double clusters, double identities, double all);
/* The number of pairs of n images. */
double pairs_of(size_t n);

#endif
