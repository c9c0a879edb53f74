#include "scores/decision.h"

#include "base/say.h"

#include <math.h>

void decision_weights(double weights[MAX_MODELS], int models, const double *given, int count) {
    static const double ensemble[MAX_MODELS] = {0.6, 0.4};
    for (int i = 0; i < models; i++) weights[i] = count ? given[i] : models == 1 ? 1.0 : ensemble[i];
}

double decision_threshold(double asked, double learned, int models) {
    const double of_ensembles = 0.40;
    double threshold = !isnan(asked) ? asked : learned;
    if (isnan(threshold) && models > 1) threshold = of_ensembles;
    if (isnan(threshold))
        say_warning("no decisions: one model has no default threshold, because its scores mean nothing until they are "
                    "calibrated; give --calibration or --threshold");
    return threshold;
}

const char *decide(double threshold, int found, double best) {
    if (isnan(threshold)) return NULL;
    return found && best >= threshold ? "match" : "unknown";
}

void decision_json(text *t, const char *decision, int found, double best) {
    if (decision) text_printf(t, ", \"decision\": \"%s\"", decision);
    else text_puts(t, ", \"decision\": null");
    if (found) text_printf(t, ", \"score\": %.9g", best);
    else text_puts(t, ", \"score\": null");
}

void threshold_json(text *t, const char *decision, double threshold) {
    if (decision) text_printf(t, ", \"threshold\": %.9g", threshold);
    else text_puts(t, ", \"threshold\": null");
}
