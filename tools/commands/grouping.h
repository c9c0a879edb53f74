/* Code shared by reid cluster and reid review: crops, groups, and the options for both. */
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
    const char *who; /* messages begin with it */
    crops crops;
    calibration calibration;
    decisions decided; /* as of when the groups were made */
    decision_state state;
    earlier earlier;
    inputs boxes;      /* of --boxes, in the order of the file */
    const input **box; /* [crops] the box of each crop or NULL; NULL without --boxes */
    uint32_t *frames, *tracks, *known;
    clusters_request request;
    clusters found;
} grouping;

/* Groups the crops of the first `files` operands. Returns 0 after saying what is wrong, or without a message when
   interrupted(). Free it in either case. */
int grouping_make(grouping *run, const options *o, int files, const char *who);
void grouping_free(grouping *run);

#endif
