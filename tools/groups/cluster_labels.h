/* How well clusters agree with who the crops really show. */
#ifndef REID_TOOLS_CLUSTER_LABELS_H
#define REID_TOOLS_CLUSTER_LABELS_H

#include "groups/clusters.h"
#include "groups/partition.h"

/* Puts the identities of a table (columns path and identity, see eval_labels.h) in place of those that the files know;
   crops that are not in it have none. Returns 0 after saying what is wrong. */
int crops_label(crops *c, const char *table);
/* Over the crops that have an identity and a group. Returns 0 after saying what is wrong: also when there are none. */
int clusters_agree(const clusters *c, const crops *from, agreement *out);

#endif
