/* From the answers about the pairs of a census to the number of individuals. */
#ifndef REID_TOOLS_CENSUS_ESTIMATE_H
#define REID_TOOLS_CENSUS_ESTIMATE_H

#include "groups/census.h"

/* The pairs as questions, crop by crop, the most alike first; those with an answer, too, each only once. *questions is
   the caller's to free. Returns 0 after saying that there is no memory. */
int census_questions(const census *c, doubtful_pair **questions, size_t *count);

typedef enum census_state {
    CENSUS_GOOD,
    CENSUS_TOO_FEW,  /* crops with all of their answers */
    CENSUS_NO_MATCH, /* no question found two crops of one individual, and not all that there are were asked */
    CENSUS_POOR      /* too many matches were not asked about, and few were */
} census_state;

enum { CENSUS_LEAST = 10 }; /* crops with all of their answers */

typedef struct census_result {
    census_state state;
    count_estimate e;    /* of the crops with all of their answers; without them, all 0 */
    size_t open;         /* pairs without an answer */
    size_t needed;       /* pairs that still have to be answered until CENSUS_LEAST crops, or all, have their answers */
    size_t crops_for_tenth; /* crops in a sample with about ± a tenth; 0: this one does, or it is unknown */
} census_result;

/* Returns 0 after saying that there is no memory. */
int census_estimate(const census *c, census_result *out);

#endif
