/* From options to groups: what reid cluster and reid review have in common. */
#ifndef REID_TOOLS_INDIVIDUALS_H
#define REID_TOOLS_INDIVIDUALS_H

#include "cli/options.h"
#include "identity/calibration_file.h"
#include "identity/cluster_labels.h"
#include "identity/decisions.h"
#include "identity/earlier.h"

typedef struct individuals {
    const options *o;
    crops crops;
    calibration calibration;
    decisions decided;
    decision_state state;
    earlier earlier;
    uint32_t *frames, *tracks, *known; /* as clusters_request has them */
    clusters_request request;
    clusters found;
} individuals;

/* Reads the first `count` operands and what other options name, and groups them. Returns 0 after saying what is wrong,
   or without a word when interrupted(). Close it in any case. */
int individuals_open(individuals *g, const options *o, int count);
void individuals_close(individuals *g);

#endif
