/* Recomputes the groups after decisions, in a thread of its own, while the page goes on with the present groups. The
   pairs in doubt are recomputed with them. */
#ifndef REID_TOOLS_REGROUP_H
#define REID_TOOLS_REGROUP_H

#include "groups/clusters.h"
#include "groups/earlier.h"

typedef struct regroup regroup;

typedef struct regroup_request {
    const clusters *first;       /* the groups to begin with, and */
    long long seq;               /* the number of decisions that they heed */
    const clusters_request *how; /* NULL: they stay as they are. decided and state are not looked at */
    const earlier *carry;        /* the groups whose numbers and names are kept; NULL: none */
} regroup_request;

/* All that a request points to outlives it. NULL after saying what is wrong. */
regroup *regroup_start(const regroup_request *r);
/* What is under way is given up. NULL is allowed. */
void regroup_stop(regroup *g);

typedef struct regroup_info {
    const clusters *groups;
    long long seq;     /* of the last decision that they heed */
    int version;       /* 1 for the first groups */
    int can, busy;     /* they can be made anew; are being made */
    const char *error; /* why the last attempt failed; "" if it did not */
} regroup_info;

/* How things are, until regroup_release, which has to follow soon. */
regroup_info regroup_hold(regroup *g);
void regroup_release(regroup *g);

/* Begins to make them anew, unless that is under way or impossible: with these decisions, whose texts outlive g.
   Returns 0 when there is no memory. */
int regroup_begin(regroup *g, const decision_list *decided);

#endif
