/* Clusters of pictures: two belong together when a chain of scores ≥ a threshold joins them (single linkage, the greedy
   union-find clustering of wildlife-tools), and how well that agrees with the identities. */
#ifndef REID_TOOLS_LINKAGE_H
#define REID_TOOLS_LINKAGE_H

#include <stddef.h>

/* SLINK (Sibson 1973) without its relabelling, which orders a dendrogram and changes no cluster: rows of scores come
   one by one, and only 3 numbers for each picture are kept. */
typedef struct linkage {
    size_t count, rows;
    size_t *to;   /* picture i first joins a later one … */
    double *at;   /* … to[i], at this score */
    double *work;
} linkage;

/* Returns 0 after saying that there is no memory; free it in any case. */
int linkage_begin(linkage *l, size_t count);
/* Scores of the next picture (0, 1, 2, …) with those before it. */
void linkage_row(linkage *l, const float *scores);
void linkage_free(linkage *l);

typedef struct clustering {
    double threshold, ari;
    size_t clusters;
    int chosen; /* 1: the threshold with the best ARI on these very pictures, an upper bound */
} clustering;

/* The clusters at the threshold, NAN: at the best one. identity[i] < identities. Returns 0 after saying that
   there is no memory. */
int linkage_cut(clustering *out, const linkage *l, const size_t *identity, size_t identities, double threshold);

/* Adjusted Rand index (Hubert and Arabie 1985) from counts of pairs: together in both, in the clusters, in the
   identities, and all. 1 when there is nothing to disagree about, as scikit-learn has it. */
double adjusted_rand(double both, double clusters, double identities, double all);
/* How many pairs n pictures make. */
double pairs_of(size_t n);

#endif
