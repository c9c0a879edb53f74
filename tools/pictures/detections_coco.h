/* Reads --detections FILE in COCO. */
#ifndef REID_TOOLS_DETECTIONS_COCO_H
#define REID_TOOLS_DETECTIONS_COCO_H

#include "pictures/detection_list.h"

/* Returns 0 with the reason in why. */
int detections_from_coco(detections *d, const detections_request *r, const text *file, text *why);

#endif
