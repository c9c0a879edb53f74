/* Code shared by reid cluster --count and reid review --count: the crops and pairs from which the number of individuals
   is estimated. */
#ifndef REID_TOOLS_COUNTING_H
#define REID_TOOLS_COUNTING_H

#include "commands/grouping.h"
#include "groups/bursts.h"
#include "groups/census.h"

typedef struct counting {
    clusters blind; /* the groups without decisions, because questions must not depend on answers */
    bursts bursts;  /* the tracks and bursts that are asked about once */
    census_request request;
    census sample;
} counting;

/* Returns 0 after saying what is wrong. */
int counting_options(const options *o, const char *who);
/* Call it after grouping_make; run must outlive it. Returns 0 after saying what is wrong, or without a message when
   interrupted(). Free it in either case. */
int counting_make(counting *c, const grouping *run);
void counting_free(counting *c);

#endif
