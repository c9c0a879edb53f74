/* Pairs of pictures that are known to show one identity or two, with a score by each model. */
#ifndef REID_TOOLS_LABELLED_PAIRS_H
#define REID_TOOLS_LABELLED_PAIRS_H

#include "base/choices.h"
#include "evaluate/eval_set.h"
#include "scores/calibration.h"

/* Of either kind: more pairs say little more, and all of a large set would not fit into memory. */
enum { MOST_PAIRS = 2000000 };

typedef struct labelled_pairs {
    scored_pair *at;          /* scores are filled in by pairs_weigh */
    float *score[MAX_MODELS]; /* of each pair */
    size_t count, cap, identities;
    uint64_t genuine, impostor;             /* pairs that are kept */
    uint64_t every_genuine, every_impostor; /* that there are; where more, each kept one was drawn by a hash */
    int by_camera;                          /* genuine pairs of one camera were left out */
} labelled_pairs;

typedef struct pair_rules {
    int with_same_camera; /* 0: where all cameras are known, genuine pairs are of two cameras */
    int threads;          /* 0: as many as are worth it */
    reid_isa isa;
} pair_rules;

/* Both return 0 after saying that there is no memory, or without a word when interrupted(); free p in any case. */

/* Every query with every gallery picture, none with itself, no two distractors. */
int pairs_of_set(labelled_pairs *p, const eval_set *set, const pair_rules *o);

/* A table with the columns first,second,same (1 or 0); paths start from root (NULL: they stand as they are). The
   pictures become labels, joined to identities by the pairs that are the same. Returns 0 after saying what is wrong. */
typedef struct pair_table {
    size_t (*at)[2]; /* places in the labels */
    size_t count, cap;
} pair_table;

int pair_table_read(pair_table *t, label_set *labels, const char *path, const char *root);
int pairs_of_table(labelled_pairs *p, const eval_set *set, const pair_table *t);
void pair_table_free(pair_table *t);

/* The score of each pair: the sum of the cosines of `count` models times weights. */
void pairs_weigh(labelled_pairs *p, int count, const double *weights);
void pairs_free(labelled_pairs *p);

#endif
