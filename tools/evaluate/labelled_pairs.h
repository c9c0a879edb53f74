/* Pairs of images that are known to show one identity or two different ones, with a score from each model. */
#ifndef REID_TOOLS_LABELLED_PAIRS_H
#define REID_TOOLS_LABELLED_PAIRS_H

#include "base/choices.h"
#include "evaluate/eval_set.h"
#include "scores/calibration.h"

/* Of each kind: more pairs add little information, and all pairs of a large set would not fit into memory. */
enum { MOST_PAIRS = 2000000 };

typedef struct labelled_pairs {
    scored_pair *at;          /* scores are filled in by pairs_weigh */
    float *score[MAX_MODELS]; /* of each pair */
    size_t count, cap, identities;
    uint64_t genuine, impostor;             /* pairs that are kept */
    uint64_t every_genuine, every_impostor; /* all pairs; if these are more, a hash chose the ones that are kept */
    int by_camera;                          /* genuine pairs of one camera were left out */
} labelled_pairs;

typedef struct pair_rules {
    int with_same_camera; /* 0: if all cameras are known, genuine pairs must be from two cameras */
    int threads;          /* 0: as many as are useful */
    reid_isa isa;
} pair_rules;

/* pairs_of_set and pairs_of_table return 0 after reporting that memory ran out, or silently if interrupted(); free p
   in any case. */

/* Pairs every query with every gallery image, but no image with itself and no two distractors. */
int pairs_of_set(labelled_pairs *p, const eval_set *set, const pair_rules *o);

/* A table with the columns first,second,same (1 or 0). Paths are relative to root (NULL: they are used unchanged). The
   images become labels, and pairs marked as the same join them to identities. pair_table_read returns 0 after
   reporting an error. */
typedef struct pair_table {
    size_t (*at)[2]; /* indices into the labels */
    size_t count, cap;
} pair_table;

int pair_table_read(pair_table *t, label_set *labels, const char *path, const char *root);
int pairs_of_table(labelled_pairs *p, const eval_set *set, const pair_table *t);
void pair_table_free(pair_table *t);

/* Sets the score of each pair to the weighted sum of the cosines of `count` models. */
void pairs_weigh(labelled_pairs *p, int count, const double *weights);
void pairs_free(labelled_pairs *p);

#endif
