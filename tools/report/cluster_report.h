/* Groups as CSV, as JSON and as text. */
#ifndef REID_TOOLS_CLUSTER_REPORT_H
#define REID_TOOLS_CLUSTER_REPORT_H

#include "groups/clusters.h"
#include "scores/calibration_file.h"

/* Columns id, group, name, score, status, suggested; one row per crop, in the order of the inputs. score: mean score
   with the rest of the group, empty if it is alone. status: "not a crop"; with `known` also known, joined (a new crop
   of a known individual), suggested or new; else empty. group is empty if the row is "not a crop". */
void clusters_csv(const clusters *c, const uint32_t *known, text *t);
/* {"format": "reid-groups", "format_version": 1, "reid": VERSION, "threshold": T, "models": [...], "groups": [{"group":
   N, "name": NAME|null, "suggested": N|null, "crops": [{"id": ID, "score": S|null}]}], "not_crops": [...], "joins":
   [{"a": ID, "b": ID, "score": S, "reason": "score"|"link"}]}: joins down to the threshold. */
void clusters_json(const clusters *c, const store_meta *makers, text *t);
/* Explains why two crops are, or are not, in one group: lists the joins that lead to it, one per line. by: for
   probabilities, or NULL. Returns 0 after reporting that memory ran out. */
int clusters_explain(const clusters *c, uint32_t a, uint32_t b, const calibration *by, text *t);

#endif
