/* The list that a file of detections of any format is read into, and functions that the formats share. */
#ifndef REID_TOOLS_DETECTION_LIST_H
#define REID_TOOLS_DETECTION_LIST_H

#include "base/text.h"
#include "pictures/inputs.h"
#include "pictures/photos.h"

#include <stdint.h>

typedef struct detection {
    uint32_t frame;    /* from 0 */
    uint32_t owner;    /* index of the video's name in `owners`, while the file is read */
    uint32_t category; /* index in `categories` */
    double box[4];     /* x, y, width, height, from the upper left corner of the upright frame */
    double score;      /* 0 … 1; 1 if the detector gives none */
    int of_width, of_height; /* of the photo, as the file says; 0: it does not */
} detection;

/* A few names, in the order of their first use. */
typedef struct detection_names {
    char **at;
    size_t count, cap;
} detection_names;

typedef struct detections_request {
    const char *path;
    const char *video;    /* the video whose detections are read, if a file has those of several */
    int only;             /* no other video is requested: entries that name no video belong to this one */
    int first;            /* the number of the first frame; -1: the format's own */
    double min_conf;      /* NAN: any confidence */
    const char *category; /* only boxes of this category, by name or number; NULL: all */
    const photos *photos; /* NULL: a video. Otherwise `video` is the folder of the camera whose detections are read,
                             and its photos are the frames */
} detections_request;

typedef struct detections {
    detection *at;   /* by frames; within one, as in the file */
    size_t count, cap;
    box_unit unit;   /* of the boxes: pixels or fractions */
    detection_names categories, owners;
    char **labels;   /* [categories.count]: names for people; NULL: the categories themselves */
    uint32_t looked; /* one more than the last frame that the detector has processed; 0: unknown */
    size_t samples;  /* frames that it has processed; 0: unknown */
    int looked_fit;  /* how well the video's name matches the one that these two are for: detections_fits */
    char *failure;   /* why the detector could not process the video; NULL: it could */
    int width, height; /* of the frames; 0: unknown */
    int pictures;    /* 1: frames are image files, and folders stand for videos */
    size_t empty;    /* boxes without area, which are skipped */
    size_t flagged;  /* boxes of a ground truth that it marks as not to be considered, which are skipped */
    size_t boxless;  /* annotations without a box, which are skipped */
    int any_scale;   /* scores are taken whatever their range: no confidence was asked for */
    int other_scale; /* a score was not from 0 to 1, so that all of them count as unknown */
    const photos *photos; /* as in the request */
    size_t strangers; /* entries for photos that are not in `photos` */
    size_t unlooked;  /* photos of all cameras on which the detector failed */
    const char *format;
} detections;

void detections_free(detections *d);

/* The name of a category. */
const char *detections_category(const detections *d, uint32_t category);

/* The functions below are for the readers of the formats. They return 0 with the reason in why; NULL or UINT32_MAX when
   memory runs out. */

/* Appends a detection, zeroed except for its score of 1. */
detection *detections_add(detections *d);
/* Returns the index of a name, and adds it if it is new. */
uint32_t detections_name(detection_names *names, const char *name, size_t len);
/* Sets the frame from its number in the file, whose first frame is number `first` unless the request says otherwise. */
int detections_frame(detection *at, const detections_request *r, double number, int first, text *why);
/* Sets the box and the score (NAN: 1). unit: BOX_NORMALISED boxes must be inside the frame, apart from rounding. */
int detections_box(detections *d, detection *at, const double box[4], double score, text *why);
/* How well a name in the file matches the video: 3 its path, 2 its name, 1 its name without the extension, 0 not. */
int detections_fits(const char *name, const char *video);
/* The folder of a frame's image is its video; the frame's number ends the image's name. Of photos, *owner is the
   camera's folder and *number the photo's index; a photo that is not in the list has the owner "". */
int detections_picture(detections *d, const char *file, uint32_t *owner, double *number, text *why);

#endif
