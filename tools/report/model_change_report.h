/* What changes for a gallery with another model, as a table for people and as JSON for programs. */
#ifndef REID_TOOLS_MODEL_CHANGE_REPORT_H
#define REID_TOOLS_MODEL_CHANGE_REPORT_H

#include "base/text.h"
#include "evaluate/model_change.h"

typedef struct model_change_report {
    const model_change *change;
    size_t left_out; /* templates without a row of one of the models */
    double fmr;
} model_change_report;

/* Writes the figures, then a line for each template whose answer changes: its id and identity, and for each model the
   nearest identity, the score and whether it reaches the threshold. */
void model_change_table(text *t, const model_change_report *r);
void model_change_json(text *t, const model_change_report *r);

#endif
