/* The estimated number of individuals, as text and as JSON. */
#ifndef REID_TOOLS_COUNT_REPORT_H
#define REID_TOOLS_COUNT_REPORT_H

#include "groups/census_estimate.h"

typedef struct count_report {
    const census *sample;
    const census_result *result;
    const census_request *request;
    const store_meta *makers;
} count_report;

void count_lines(const count_report *r, text *t);
/* {"format": "reid-count", "format_version": 1, "reid": VERSION, "models": [...], "seed": N, "crops": N, "groups": N,
   "sample": N, "per_crop": N, "pairs": N, "open": N, "needed": N, "state": "good"|"too few answers"|"no match"|"poor
   scores", "counted_crops": N, "individuals": X|null, "low": X|null, "high": X|null, "matches": N, "reached": X|null,
   "sample_for_tenth": N|null}. groups: the number of groups by scores alone. individuals, low and high are null unless
   the state is good. */
void count_json(const count_report *r, text *t);

#endif
