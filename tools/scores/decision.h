/* Turns the scores of a query into a decision: the weights of two models, the threshold in force, match or unknown. */
#ifndef REID_TOOLS_DECISION_H
#define REID_TOOLS_DECISION_H

#include "base/choices.h"
#include "base/json_write.h"

/* Sets the weights of the models' cosines in a score: those given, else 1 for one model and 0.6, 0.4 for two. */
void decision_weights(double weights[MAX_MODELS], int models, const double *given, int count);

/* The threshold of a search: the user's, else the learned one, else the default for an ensemble. Returns NAN after
   warning that there is none. NAN means "not given" in both arguments. */
double decision_threshold(double asked, double learned, int models);

/* Where groups are cut if no threshold is known: a guess, of which the caller says that it is one. */
double decision_cut(int models);

/* "match" or "unknown", for the best score among `found`; NULL when there is no threshold. */
const char *decide(double threshold, int found, double best);

/* Write members of an object: "decision" and "score"; "threshold". */
void decision_json(json_writer *w, const char *decision, int found, double best);
void threshold_json(json_writer *w, const char *decision, double threshold);

#endif
