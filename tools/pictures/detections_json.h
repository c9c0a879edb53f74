/* Reads --detections FILE in MegaDetector's JSON. */
#ifndef REID_TOOLS_DETECTIONS_JSON_H
#define REID_TOOLS_DETECTIONS_JSON_H

#include "pictures/detection_list.h"

/* Returns 0 with the reason in why. */
int detections_from_megadetector(detections *d, const detections_request *r, const text *file, text *why);

#endif
