/* Bursts of photos as sightings, for questions that people are asked: photos of one camera that follow each other
   within seconds most likely show one animal, and asking about two of them would say nothing about how many there are.
   A burst counts as one track if no two of its crops are known to differ (crops of one photo, tracks that share a
   frame) and its tracks lie wholly in it. Crops without a camera or a time belong to no burst. */
#ifndef REID_TOOLS_BURSTS_H
#define REID_TOOLS_BURSTS_H

#include "groups/crops.h"

enum { BURST_SECONDS = 5 }; /* between photos of a burst, at most; also the default of reid track */

typedef struct bursts_request {
    const crops *crops;
    const uint32_t *frames, *tracks, *apart; /* as in clusters_request; frames, tracks: NULL: unknown */
    size_t apart_count;
} bursts_request;

typedef struct bursts {
    uint32_t *tracks; /* [crops] the sighting of each crop that shares one with others; UINT32_MAX: a sighting alone */
    uint32_t *apart;  /* [2 * apart_count]: pairs of sightings that show different individuals */
    size_t apart_count;
} bursts;

/* Returns 0 after reporting that memory ran out. Free it in any case. */
int bursts_find(bursts *b, const bursts_request *r);
void bursts_free(bursts *b);

#endif
