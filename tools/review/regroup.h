/* Computes groups again with new decisions, on a separate thread, while the page continues with the present groups. The
   doubtful pairs change with the groups. */
#ifndef REID_TOOLS_REGROUP_H
#define REID_TOOLS_REGROUP_H

#include "groups/clusters.h"
#include "groups/earlier.h"

typedef struct regroup regroup;

typedef struct regroup_request {
    const clusters *first;       /* the groups at the start */
    long long seq;               /* the number of decisions that they take into account */
    const clusters_request *how; /* NULL: the groups do not change. decided and state are ignored */
    const earlier *carry;        /* groups whose numbers and names are kept; NULL: none */
} regroup_request;

/* Everything that the request points to must outlive the result. Returns NULL after reporting an error. */
regroup *regroup_start(const regroup_request *r);
/* Cancels grouping that is in progress. NULL is allowed. */
void regroup_stop(regroup *g);

typedef struct regroup_info {
    const clusters *groups;
    long long seq;     /* of the last decision that they take into account */
    int version;       /* 1 for the first groups */
    int can, busy;     /* groups can be computed again; they are being computed */
    const char *error; /* why the last attempt failed; "": it did not */
} regroup_info;

/* Returns the present state, which is valid until regroup_release; call that soon. */
regroup_info regroup_hold(regroup *g);
void regroup_release(regroup *g);

/* Starts to compute the groups again with these decisions, unless this is in progress or impossible. The decisions'
   texts must outlive g. Returns 0 if memory runs out. */
int regroup_begin(regroup *g, const decision_list *decided);

#endif
