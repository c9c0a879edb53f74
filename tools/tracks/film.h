/* A film is a video, or the photos of one camera, with the boxes that a detector found in it. It is read once: boxes
   become tracks, and the crops of each track's best frames are embedded. Memory holds the boxes, the crops of open
   tracks and of one batch, and the data of ended tracks. */
#ifndef REID_TOOLS_FILM_H
#define REID_TOOLS_FILM_H

#include "pictures/detections.h"
#include "pictures/video.h"
#include "tracks/crop_rows.h"
#include "tracks/photo_frames.h"
#include "tracks/tracks.h"

typedef struct film_request {
    video_request video;
    const camera *photos;  /* NULL: a video. Otherwise these photos are the frames, and only `video.path` is used */
    double burst;          /* photos that follow each other within this many seconds are one scene */
    decode_settings decode;
    const char *name;      /* for file names */
    const uint32_t *cuts;  /* [cut_count], ascending: frames that begin a new scene */
    size_t cut_count;
    int best;              /* the most frames to keep of each track */
    double apart;          /* the least distance between two of them, in seconds */
} film_request;

/* One of the best frames of a track. */
typedef struct film_shot {
    uint32_t frame, place; /* place: index of the box within the frame, from 0 */
    double seconds;
    track_box box;         /* as the detector gave it */
    reid_box crop;         /* the part of it inside the frame, in whole pixels */
    double quality;
    size_t row;            /* index in crop_rows */
} film_shot;

typedef struct film_track {
    track track;
    film_shot *shots;      /* best first */
    size_t count;
    uint32_t first_frame, last_frame;
    uint32_t joined_to;    /* the lowest index of the tracks it was joined with; its own if none */
    uint32_t number;       /* 1, 2, ...: numbers whole tracks by their first frames */
    uint32_t group;        /* the individual, over all films */
} film_track;

typedef struct film_scene {
    uint32_t frame;
    double seconds;
} film_scene;

typedef struct film {
    const film_request *r;
    detections found;
    uint32_t *numbers;     /* [found.count]: the index of each box's track in tracks; UINT32_MAX: none */
    film_track *tracks;    /* the firm ones, in the order of their first boxes */
    size_t count, cap;
    film_scene *scenes;
    size_t scene_count, scene_cap;
    size_t frames, wholes, beyond; /* beyond: boxes after the last frame that could be read */
    int width, height, streams;    /* width, height: of the first frame; streams: video streams in the file */
    double seconds;        /* the time of the last frame */
    size_t unread;         /* photos with boxes that could not be decoded */
    text decoder, problem; /* problem: why the video is incomplete; empty: it is complete */
    int passing;           /* the problem may not occur next time: no ffmpeg, ffmpeg killed, no such file */
    int recalled;          /* from the record of an earlier run (film_record.h) */
} film;

/* Reads the film and adds its crops to rows. f->found must be set. A video that cannot be read, or only in part, is not
   a failure; f->problem then has the reason. Returns 0 after saying what is wrong, or without a message when
   interrupted(). */
int film_make(film *f, const film_request *r, crop_rows *rows);
void film_free(film *f);

#endif
