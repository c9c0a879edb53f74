/* Says what people should know about a file of detections, in the same words for every command that reads one. */
#ifndef REID_TOOLS_DETECTIONS_TELL_H
#define REID_TOOLS_DETECTIONS_TELL_H

#include "pictures/detection_list.h"

/* Photos that were not found, boxes and annotations that are left out, scores that are not used, photos on which the
   detector failed, and what a threshold would keep if the request has none. None of this is a failure. */
void detections_tell(const detections *all, const detections_request *r);

#endif
