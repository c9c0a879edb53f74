/* Crops to individuals that nobody has named: groups by reid_group, with what people decided and what pictures rule
   out; and the pairs of crops about which it is worth asking somebody. */
#ifndef REID_TOOLS_CLUSTERS_H
#define REID_TOOLS_CLUSTERS_H

#include "groups/crops.h"
#include "journal/decisions_state.h"
#include "pictures/inputs.h"
#include "reid.h"

#define CLUSTERS_NONE UINT32_MAX /* group of what is no crop */

typedef struct clusters_request {
    const crops *crops;
    double scale;            /* of cosines to scores: what crops_weigh said */
    double threshold;        /* groups are joined down to this mean score */
    int single;              /* single linkage instead of average; then there are no links of any kind */
    double doubt;            /* joins down to this one, and as far above the threshold, are worth a question */
    const reid_desc *search; /* device and threads */
    const uint32_t *frames;  /* [crops]: crops of one picture are not the same individual; NULL: nothing is known */
    const uint32_t *tracks;  /* [crops]: crops of one track are; UINT32_MAX: of none; NULL: there are none */
    const uint32_t *known;   /* [crops]: the individual that a crop is known to be, and stays; UINT32_MAX: it is new.
                                NULL: all are */
    const decision_list *decided; /* with its state; both or neither */
    const decision_state *state;
    const int *stop;         /* grouping ends, as when interrupted(), once another thread sets it; NULL: none does */
} clusters_request;

/* Two crops that may be the same individual, and the mean score of their groups. */
typedef struct doubtful_pair {
    uint32_t a, b;
    double score;
} doubtful_pair;

typedef struct clusters {
    size_t rows, groups;
    const char *const *ids; /* those of the crops, which outlive it */
    uint32_t *group;        /* [rows]: 0, 1, ... in the order of first crops, or CLUSTERS_NONE */
    double *score;          /* [rows]: mean score with the rest of its group; NAN: it is alone */
    uint32_t *suggested;    /* [groups], NULL without `known`: the known individual that a new group may be, by scores
                               between doubt and threshold; else UINT32_MAX */
    uint32_t *number;       /* [groups]: what the group is called; the same, unless earlier groups had other numbers */
    const char **names;     /* [groups], NULL where nobody has named it; they belong to others, who outlive it */
    doubtful_pair *doubtful; /* nearest to the threshold first */
    size_t doubts;
    reid_merge *merges;     /* all that were made, down to doubt: those of must_links, then from the best score down */
    size_t merged;
    double threshold;
    double seconds;         /* that clusters_make took */
} clusters;

/* Returns 0 after saying what is wrong, or without a word when interrupted(). A contradiction is said with its chain.
   Free it in any case. */
int clusters_make(clusters *c, const clusters_request *r);
void clusters_free(clusters *c);

/* Numbers crops by their pictures: the path of a crop's box, or what its id says. boxes: [crops], NULL where it is not
   known; or NULL. Returns NULL after saying that there is no memory. */
uint32_t *clusters_frames(const crops *c, const input *const *boxes);

#endif
