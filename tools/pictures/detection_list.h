/* The list that a file of detections of any format is read into, and functions that the formats share. */
#ifndef REID_TOOLS_DETECTION_LIST_H
#define REID_TOOLS_DETECTION_LIST_H

#include "base/text.h"
#include "pictures/inputs.h"
#include "pictures/photos.h"
#include "pictures/stated_size.h"

#include <stdint.h>

#define DETECTION_NO_NAME UINT32_MAX

typedef struct detection {
    uint32_t frame;    /* from 0 */
    uint32_t owner;    /* index of the video's name in `owners`, while the file is read; of a list of images, the
                          image's name, "" if only its number is known, which is then `frame` */
    uint32_t category; /* index in `categories` */
    double box[4];     /* x, y, width, height, from the upper left corner of the upright frame */
    double score;      /* 0 … 1; 1 if the detector gives none */
    uint32_t id, identity; /* indices in `ids` and `identities`; DETECTION_NO_NAME: the file names none */
    stated_size of;        /* of the photo or listed image */
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
    int listed;           /* without photos: the detections are of any images, and keep the file's order. Only
                             for detections_read_all */
} detections_request;

typedef struct detections {
    detection *at;   /* by frames; within one, as in the file */
    size_t count, cap;
    box_unit unit;   /* of the boxes: pixels or fractions */
    detection_names categories, owners, ids, identities;
    detection_names failed, reasons; /* photos on which the detector failed, and why */
    size_t scored, categorised; /* detections of which the file names the score, the category */
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
    size_t videos;    /* videos among the images of a list, whose boxes are left out */
    const char *format;
    size_t all, sure; /* boxes of the wanted category before --min-conf; those with the usual score or more */
    double lowest;    /* score among them; 1: there are none */
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
/* Adds a name, even if it is there, and returns its index. */
uint32_t detections_add_name(detection_names *names, const char *name, size_t len);
/* Returns the index of a name, which is added unless it is the latest one: for thousands of names that hardly recur. */
uint32_t detections_name_latest(detection_names *names, const char *name, size_t len);
/* Sets the frame from its number in the file, whose first frame is number `first` unless the request says otherwise. */
int detections_frame(detection *at, const detections_request *r, double number, int first, text *why);
/* Sets the box and the score (NAN: 1). unit: BOX_NORMALISED boxes must be inside the frame, apart from rounding. */
int detections_box(detections *d, detection *at, const double box[4], double score, text *why);
/* How well a name in the file matches the video: 3 its path, 2 its name, 1 its name without the extension, 0 not. */
int detections_fits(const char *name, const char *video);
/* The folder of a frame's image is its video; the frame's number ends the image's name. Of photos, *owner is the
   camera's folder and *number the photo's index; a photo that is not in the list has the owner "". Of a list of images
   it is the image's own name, and *number is 0. */
int detections_picture(detections *d, const detections_request *r, const char *file, uint32_t *owner, double *number,
                       text *why);
/* Frame `number` of a file that knows only numbers: among photos, the one whose name ends in it. *number becomes the
   photo's index. */
int detections_numbered(detections *d, const detections_request *r, uint32_t *owner, double *number, text *why);

#endif
