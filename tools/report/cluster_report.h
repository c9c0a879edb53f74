/* Groups as CSV, as JSON and in words. */
#ifndef REID_TOOLS_CLUSTER_REPORT_H
#define REID_TOOLS_CLUSTER_REPORT_H

#include "groups/clusters.h"
#include "scores/calibration_file.h"

/* Columns id, group, name, score, status, suggested; a row for each crop, in the order of the inputs. score: mean score
   with the rest of the group, empty for one that is alone. status: "not a crop", and with `known` known, joined (a new
   crop of a known individual), suggested or new; else empty. group is empty for what is no crop. */
void clusters_csv(const clusters *c, const uint32_t *known, text *t);
/* {"format": "reid-groups", "format_version": 1, "reid": VERSION, "threshold": T, "models": [...], "groups": [{"group":
   N, "name": NAME|null, "suggested": N|null, "crops": [{"id": ID, "score": S|null}]}], "not_crops": [...], "joins":
   [{"a": ID, "b": ID, "score": S, "reason": "score"|"link"}]}: joins down to the threshold. */
void clusters_json(const clusters *c, const store_meta *makers, text *t);
/* Why two crops are in one group, or are not: the joins that brought each into it, a line each. by: NULL when scores
   are only scores. Returns 0 after saying that there is no memory. */
int clusters_explain(const clusters *c, uint32_t a, uint32_t b, const calibration *by, text *t);

#endif
