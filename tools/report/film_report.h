/* The tracks of films as JSON, as MOT text, and as a page. */
#ifndef REID_TOOLS_FILM_REPORT_H
#define REID_TOOLS_FILM_REPORT_H

#include "tracks/film_groups.h"

typedef struct film_report {
    const film *films;
    size_t count, groups;
    const crop_rows *rows;
    const char *detections; /* the file */
    double threshold;
} film_report;

/* {"format": "reid-tracks", "format_version": 1, "reid": VERSION, "threshold": T, "groups": N, "models": [...],
   "videos": [{"video": PATH, "name": NAME, "decoder": TEXT, "frames": N, "width": W, "height": H, "seconds": S,
   "complete": true|false, "problem": TEXT|null, "detections": {...}, "scenes": [{"scene": N, "frame": F, "seconds": S,
   "tracks": [{"track": N, "group": G|null, "category": TEXT, "boxes": N, "first_frame": F, "last_frame": F, "first": S,
   "last": S, "parts": N, "frames": [{"path": P, "row": R|null, "frame": F, "seconds": S, "box": [x, y, w, h],
   "crop": [x, y, w, h], "score": S, "quality": Q}]}]}]}]}. Frames, scenes, groups and rows count from 0; tracks count
   from 1, as in the MOT text. A track's frames are sorted by quality, best first, with those of all its parts together.
   For photos, a video is a camera, with decoder null and the additional members "burst": S, "without_time": N; a scene
   is a burst, and a frame also has "photo": PATH, "time": T|null. */
void films_json(const film_report *r, text *t);

/* Lines of frame,track,x,y,w,h,score,-1,-1,-1, in pixels; frames and pixels count from 1. */
void film_mot(const film *f, text *t);

/* A page with the best frames of every track. It must be saved next to the folder of the crops. */
void film_page(const film_report *r, const film *f, text *t);

#endif
