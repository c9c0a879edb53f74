/* Reads the boxes that a detector found, for --detections and --boxes, in any of these formats:
   - MOT text: frame,id,x,y,w,h,score,x,y,z, or without the last three, or frame,id,x,y,w,h,flag,class,visibility;
     frames and pixels are counted from 1, the id is ignored;
   - MegaDetector's results for videos: fractions of the frame, frame_number from 0; also for images, one per
     frame, whose names end in the frame's number;
   - the JSON of Microsoft's MegaDetector, a list of images with corners in pixels and names of categories;
   - CSV with the header frame,x,y,w,h and perhaps score, category, video; frames from 0, pixels;
   - COCO: images with frame_id (from 0) or numbers in their names, annotations in pixels.
   For photos instead of a video's frames, detections are matched by the photos' names: MegaDetector's results for
   images, COCO with file_name, and CSV with the header path,x,y,width,height and perhaps score, category, id, identity.
   In MOT text and CSV with frames, a frame's number is the number at the end of its photo's name. */
#ifndef REID_TOOLS_DETECTIONS_H
#define REID_TOOLS_DETECTIONS_H

#include "pictures/detection_list.h"

/* All of these return 0 with the reason in why; free d in any case. */
int detections_read(detections *d, const detections_request *r, text *why);
/* Reads a file that is already in memory; otherwise like detections_read. */
int detections_parse(detections *d, const detections_request *r, const text *file, text *why);
/* 1 if the request's --min-conf and --category do not exclude the detection. */
int detections_wants(const detections *d, const detections_request *r, const detection *at);
/* For photos, in two steps, so that a file is read once for all cameras: detections_read_all reads those of all cameras
   or those of listed images, and ignores the request's video, --min-conf and --category; detections_of picks those of
   the one camera that the request's video names. */
int detections_read_all(detections *all, const detections_request *r, text *why);
int detections_of(detections *d, const detections *all, const detections_request *r, text *why);

#endif
