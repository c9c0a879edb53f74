/* What a file of detections is read into, whatever its format, and what the formats have in common. */
#ifndef REID_TOOLS_DETECTION_LIST_H
#define REID_TOOLS_DETECTION_LIST_H

#include "base/text.h"
#include "pictures/inputs.h"
#include "pictures/photos.h"

#include <stdint.h>

typedef struct detection {
    uint32_t frame;    /* from 0 */
    uint32_t owner;    /* of the names of videos that the file has; while it is read */
    uint32_t category; /* its place in the list of categories */
    double box[4];     /* x, y, width, height, from the left upper corner of the upright frame */
    double score;      /* 0 … 1; 1 where the detector does not say */
} detection;

/* Names that are few, in the order of their first use. */
typedef struct detection_names {
    char **at;
    size_t count, cap;
} detection_names;

typedef struct detections_request {
    const char *path;
    const char *video;    /* whose detections are wanted, where a file has those of several */
    int only;             /* no other video is asked for: what names none is about this one */
    int first;            /* the number of the first frame; -1: as the format has it */
    double min_conf;      /* NAN: whatever the confidence is */
    const char *category; /* only boxes of this one, by its name or number; NULL: all */
    const photos *photos; /* NULL: it is a video. Else `video` is the folder of the camera whose detections are wanted,
                             and its photos are the frames */
} detections_request;

typedef struct detections {
    detection *at;   /* by frames; within one, as in the file */
    size_t count, cap;
    box_unit unit;   /* of the boxes: pixels or fractions */
    detection_names categories, owners;
    char **labels;   /* [categories.count]: what people call them; NULL: as they are */
    uint32_t looked; /* one more than the last frame that the detector has looked at; 0: it does not say */
    size_t samples;  /* how many it has looked at; 0: it does not say */
    int looked_fit;  /* how well the name of the video fits that the two are about, see detections_fits */
    char *failure;   /* the same: why the detector has nothing to say about it; NULL: it has */
    int width, height; /* of the frames; 0: it does not say */
    int pictures;    /* it is about pictures of frames: folders stand for videos */
    size_t empty;    /* boxes without area, which are left out */
    const photos *photos; /* as in the request */
    size_t strangers; /* entries about photos that are not among these */
    size_t unlooked;  /* of all cameras: photos that the detector failed on */
    const char *format;
} detections;

void detections_free(detections *d);

/* The name of a category. */
const char *detections_category(const detections *d, uint32_t category);

/* The functions below are for the readers of the formats. They return 0 with the reason in why; NULL or UINT32_MAX when
   memory runs out. */

/* One more, zeroed but for the score of 1. */
detection *detections_add(detections *d);
/* The place of a name, which is added if it is new. */
uint32_t detections_name(detection_names *names, const char *name, size_t len);
/* Sets the frame from its number in the file, where the first one has `first` unless the request says otherwise. */
int detections_frame(detection *at, const detections_request *r, double number, int first, text *why);
/* Sets the box and the score (NAN: 1). unit: BOX_NORMALISED ones have to lie in the frame, but for rounding. */
int detections_box(detections *d, detection *at, const double box[4], double score, text *why);
/* How well a name in the file fits the video: 3 its path, 2 its name, 1 its name without the ending, 0 not at all. */
int detections_fits(const char *name, const char *video);
/* The video that a picture of a frame belongs to is its folder; the number is at the end of its name. Of photos, they
   are the camera's folder and the photo's place; a photo that is not there belongs to nobody, who is called "". */
int detections_picture(detections *d, const char *file, uint32_t *owner, double *number, text *why);

#endif
