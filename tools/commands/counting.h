/* What reid cluster --count and reid review --count have in common: the crops and pairs that the number of individuals
   is estimated from. */
#ifndef REID_TOOLS_COUNTING_H
#define REID_TOOLS_COUNTING_H

#include "commands/grouping.h"
#include "groups/census.h"

typedef struct counting {
    clusters blind; /* the groups as they are without decisions: what is asked must not depend on answers */
    census_request request;
    census sample;
} counting;

/* Returns 0 after saying what is wrong. */
int counting_options(const options *o, const char *who);
/* The groups are made. Returns 0 after saying what is wrong, or without a word when interrupted(). Free it in any case;
   run outlives it. */
int counting_make(counting *c, const grouping *run);
void counting_free(counting *c);

#endif
