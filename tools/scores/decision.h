/* From the scores of a query to an answer: how two models weigh, which threshold holds, and is it a match? */
#ifndef REID_TOOLS_DECISION_H
#define REID_TOOLS_DECISION_H

#include "base/choices.h"
#include "base/json_write.h"

/* The weights of the models' cosines in a score: those given, else 1 for a single model and 0.6, 0.4 for two. */
void decision_weights(double weights[MAX_MODELS], int models, const double *given, int count);

/* The threshold of a search: that of the user, else the one that was learned, else the one of an ensemble; NAN after
   warning that there is none. NAN stands for "not given" in each. */
double decision_threshold(double asked, double learned, int models);

/* "match" or "unknown", for the best score among `found`; NULL when there is no threshold. */
const char *decide(double threshold, int found, double best);

/* Members of an object: "decision" and "score"; "threshold". */
void decision_json(json_writer *w, const char *decision, int found, double best);
void threshold_json(json_writer *w, const char *decision, double threshold);

#endif
