/* What reid cluster and reid review have in common: crops, groups, and the options about both. */
#ifndef REID_TOOLS_GROUPING_H
#define REID_TOOLS_GROUPING_H

#include "commands/requests.h"
#include "groups/clusters.h"
#include "groups/earlier.h"
#include "journal/decisions.h"
#include "pictures/inputs.h"
#include "scores/calibration_file.h"

typedef struct grouping {
    const options *o;
    const char *who; /* how messages begin */
    crops crops;
    calibration calibration;
    decisions decided; /* as they are when the groups are made */
    decision_state state;
    earlier earlier;
    inputs boxes;      /* of --boxes, in the order of the file */
    const input **box; /* [crops] those of the crops, NULL where there is none; NULL without --boxes */
    uint32_t *frames, *tracks, *known;
    clusters_request request;
    clusters found;
} grouping;

/* The first `files` operands, grouped. Returns 0 after saying what is wrong, or without a word when interrupted(). Free
   it in any case. */
int grouping_make(grouping *run, const options *o, int files, const char *who);
void grouping_free(grouping *run);

#endif
