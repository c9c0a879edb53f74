/* Estimates the number of individuals from the answers about the pairs of a census. */
#ifndef REID_TOOLS_CENSUS_ESTIMATE_H
#define REID_TOOLS_CENSUS_ESTIMATE_H

#include "groups/census.h"

/* Lists the pairs as questions, crop by crop, highest score first. Pairs that already have an answer are included, and
   each pair appears once. The caller frees *questions. Returns 0 after reporting that memory ran out. */
int census_questions(const census *c, doubtful_pair **questions, size_t *count);

typedef enum census_state {
    CENSUS_GOOD,
    CENSUS_TOO_FEW,  /* fewer than CENSUS_LEAST crops have all of their answers */
    CENSUS_NO_MATCH, /* no answer was "the same", and not every possible pair was asked about */
    CENSUS_POOR      /* few matches were found, and too many matches were probably never asked about */
} census_state;

enum { CENSUS_LEAST = 10 }; /* crops that need all of their answers before there is an estimate */

typedef struct census_result {
    census_state state;
    count_estimate e;    /* from the crops that have all of their answers; all 0 if there are none */
    size_t open;         /* pairs without an answer */
    size_t needed;       /* answers still missing until CENSUS_LEAST crops, or all crops, have all of theirs */
    size_t crops_for_tenth; /* sample size for about ± 10 %; 0: this sample is large enough, or it is unknown */
} census_result;

/* Returns 0 after reporting that memory ran out. */
int census_estimate(const census *c, census_result *out);

#endif
