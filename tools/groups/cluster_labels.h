/* Measures how well clusters agree with the true identities of the crops. */
#ifndef REID_TOOLS_CLUSTER_LABELS_H
#define REID_TOOLS_CLUSTER_LABELS_H

#include "groups/clusters.h"
#include "groups/partition.h"

/* Replaces the identities from the files by those of a table (columns path and identity, see eval_labels.h). Crops that
   are not in the table have no identity then. Returns 0 after reporting an error. */
int crops_label(crops *c, const char *table);
/* Compares the crops that have both an identity and a group. Returns 0 after reporting an error, also if there are no
   such crops. */
int clusters_agree(const clusters *c, const crops *from, agreement *out);

#endif
