/* --detections FILE: what a detector has found in the frames of a video, whatever the format:
   - MOT text: frame,id,x,y,w,h,score,x,y,z; frames and pixels are counted from 1, the id is not looked at;
   - MegaDetector's results for videos: fractions of the frame, frame_number from 0; also for pictures, one for each
     frame, whose names end in its number;
   - the JSON of Microsoft's MegaDetector, a list of pictures with corners in pixels and names of categories;
   - CSV with the header frame,x,y,w,h and perhaps score, category, video; frames from 0, pixels;
   - COCO: images with frame_id (from 0) or numbers in their names, annotations in pixels.
   Of photos, instead of a video's frames, they are found by the photos' names: MegaDetector's results for pictures,
   COCO with file_name, and CSV with the header path,x,y,width,height and perhaps score, category. */
#ifndef REID_TOOLS_DETECTIONS_H
#define REID_TOOLS_DETECTIONS_H

#include "pictures/detection_list.h"

/* All of these return 0 with the reason in why; free it in any case. */
int detections_read(detections *d, const detections_request *r, text *why);
/* The same for a file that is in memory. */
int detections_parse(detections *d, const detections_request *r, const text *file, text *why);
/* Of photos, the same in two steps, so that a file is read once for all cameras: what it says of all of them (the
   request's video is not looked at), and of that what is wanted of the one camera that is the request's video. */
int detections_read_all(detections *all, const detections_request *r, text *why);
int detections_of(detections *d, const detections *all, const detections_request *r, text *why);

#endif
