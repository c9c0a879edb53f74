#include "scores/decision.h"

#include "base/say.h"

#include <math.h>

void decision_weights(double weights[MAX_MODELS], int models, const double *given, int count) {
    static const double ensemble[MAX_MODELS] = {0.6, 0.4};
    for (int i = 0; i < models; i++) weights[i] = count ? given[i] : models == 1 ? 1.0 : ensemble[i];
}

static const double OF_ENSEMBLES = 0.40;

double decision_cut(int models) {
    const double of_one = 0.65; /* strangers score less with most trained networks */
    return models > 1 ? OF_ENSEMBLES : of_one;
}

double decision_threshold(double asked, double learned, int models) {
    double threshold = !isnan(asked) ? asked : learned;
    if (isnan(threshold) && models > 1) threshold = OF_ENSEMBLES;
    if (isnan(threshold))
        say_warning("no decisions: one model has no default threshold, because its scores mean nothing until they are "
                    "calibrated; give --calibration or --threshold");
    return threshold;
}

const char *decide(double threshold, int found, double best) {
    if (isnan(threshold)) return NULL;
    return found && best >= threshold ? "match" : "unknown";
}

void decision_json(json_writer *w, const char *decision, int found, double best) {
    json_put_string(w, "decision", decision);
    json_put_number(w, "score", found ? best : (double)NAN, 9);
}

void threshold_json(json_writer *w, const char *decision, double threshold) {
    json_put_number(w, "threshold", decision ? threshold : (double)NAN, 9);
}
