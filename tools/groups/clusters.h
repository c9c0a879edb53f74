/* Groups crops without names into individuals with reid_group, respecting people's decisions and what images rule
   out, and finds the doubtful pairs of crops that people should be asked about. */
#ifndef REID_TOOLS_CLUSTERS_H
#define REID_TOOLS_CLUSTERS_H

#include "groups/crops.h"
#include "journal/decisions_state.h"
#include "pictures/inputs.h"
#include "reid.h"

#define CLUSTERS_NONE UINT32_MAX /* the group of a row that was decided to be "not a crop" */

typedef struct clusters_request {
    const crops *crops;
    double scale;            /* factor from cosines to scores, as returned by crops_weigh */
    double threshold;        /* groups are joined as long as their mean score is at least this */
    int single;              /* use single linkage instead of average linkage; then all links are ignored */
    double doubt;            /* joins with scores from here to equally far above the threshold become questions */
    const reid_desc *search; /* device and threads */
    const uint32_t *frames;  /* [crops]: crops with equal numbers are of one image, so they show different
                                individuals; NULL: unknown */
    const uint32_t *tracks;  /* [crops]: crops with equal numbers are of one track, so they show the same individual;
                                UINT32_MAX: of no track; NULL: there are no tracks */
    const uint32_t *apart;   /* [2 * apart_count]: pairs of tracks that share a frame, so they show different
                                individuals */
    size_t apart_count;
    const uint32_t *known;   /* [crops]: the known individual that a crop belongs to, which does not change; UINT32_MAX:
                                a new crop; NULL: all crops are new */
    const decision_list *decided; /* with its state; give both or neither */
    const decision_state *state;
    const int *stop;         /* another thread may set it, which ends grouping like interrupted(); NULL: not used */
} clusters_request;

/* Two crops that may be the same individual, and the mean score of their groups. */
typedef struct doubtful_pair {
    uint32_t a, b;
    double score;
} doubtful_pair;

typedef struct clusters {
    size_t rows, groups;
    const char *const *ids; /* ids of the crops, which must outlive this struct */
    uint32_t *group;        /* [rows]: 0, 1, ... in the order of first crops, or CLUSTERS_NONE */
    double *score;          /* [rows]: mean score with the rest of its group; NAN: it is alone */
    uint32_t *suggested;    /* [groups], NULL without `known`: the known individual that a new group may be, by scores
                               between doubt and threshold; else UINT32_MAX */
    uint32_t *number;       /* [groups]: the number shown to people: the index, or the number in an earlier run */
    const char **names;     /* [groups], NULL where a group has no name; not owned, must outlive this struct */
    doubtful_pair *doubtful; /* nearest to the threshold first */
    size_t doubts;
    reid_merge *merges;     /* all joins down to doubt: first those by links, then by score, highest first */
    size_t merged;
    double threshold;
    double seconds;         /* duration of clusters_make */
} clusters;

/* Returns 0 after reporting an error, or silently if interrupted(). If decisions contradict each other, the message
   lists the chain of them. Free it in any case. */
int clusters_make(clusters *c, const clusters_request *r);
void clusters_free(clusters *c);

/* Numbers crops by their images; an image is known from the path of the crop's box or else from the crop's id.
   boxes: [crops], NULL where a box is unknown; or NULL. Returns NULL after reporting that memory ran out. */
uint32_t *clusters_frames(const crops *c, const input *const *boxes);

#endif
