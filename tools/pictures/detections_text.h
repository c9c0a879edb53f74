/* Reads --detections FILE in MOT text or CSV. */
#ifndef REID_TOOLS_DETECTIONS_TEXT_H
#define REID_TOOLS_DETECTIONS_TEXT_H

#include "pictures/detection_list.h"

/* All return 0 with the reason in why. */
int detections_from_mot(detections *d, const detections_request *r, const text *file, text *why);
int detections_from_csv(detections *d, const detections_request *r, const text *file, text *why);
int detections_of_photos_from_csv(detections *d, const detections_request *r, const text *file, text *why);
/* 1 if the header names the column frame, but not path. */
int detections_csv_has_frames(const text *file);

#endif
