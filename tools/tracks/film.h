/* A video with the boxes that a detector has found in it: read once, boxes to tracks, and of each track its best
   frames, whose crops are embedded. In memory are the boxes, the crops of open tracks, those of a batch, and what is
   known of the tracks that have ended. */
#ifndef REID_TOOLS_FILM_H
#define REID_TOOLS_FILM_H

#include "pictures/detections.h"
#include "pictures/video.h"
#include "tracks/crop_rows.h"
#include "tracks/photo_frames.h"
#include "tracks/tracks.h"

typedef struct film_request {
    video_request video;
    const camera *photos;  /* NULL: a video. Else frames are these photos, and of `video` only the path is used */
    double burst;          /* photos that follow each other within so many seconds are one scene */
    decode_settings decode;
    const char *name;      /* in file names */
    const uint32_t *cuts;  /* [cut_count], ascending: frames that begin another scene */
    size_t cut_count;
    int best;              /* frames kept of a track */
    double apart;          /* seconds between any two of them, at least */
} film_request;

/* One of the best frames of a track. */
typedef struct film_shot {
    uint32_t frame, place; /* which of the frame's boxes it is, from 0 */
    double seconds;
    track_box box;         /* as the detector has it */
    reid_box crop;         /* what of it is in the frame, in whole pixels */
    double quality;
    size_t row;            /* in the crop_rows */
} film_shot;

typedef struct film_track {
    track is;
    film_shot *shots;      /* best first */
    size_t count;
    uint32_t first_frame, last_frame;
    uint32_t whole;        /* its place among the tracks; lower when it continues another one, with which it is one */
    uint32_t number;       /* 1, 2, ... of whole tracks, in the order of their first frames */
    uint32_t group;        /* of all films together */
} film_track;

typedef struct film_scene {
    uint32_t frame;
    double seconds;
} film_scene;

typedef struct film {
    const film_request *r;
    detections found;
    uint32_t *numbers;     /* [found.count]: the place in tracks of each box, UINT32_MAX: of none */
    film_track *tracks;    /* those that are firm, in the order of their first boxes */
    size_t count, cap;
    film_scene *scenes;
    size_t scene_count, scene_cap;
    size_t frames, wholes, beyond; /* beyond: boxes after the last frame that could be read */
    int width, height, streams;    /* of the first frame; of the file */
    double seconds;        /* of the last frame */
    size_t unread;         /* photos with boxes that could not be decoded */
    text decoder, problem; /* problem: why the video is not complete; empty: it is */
    int passing;           /* what the problem is may be over the next time: no ffmpeg, killed, not there */
    int recalled;          /* from the record of another run (film_record.h) */
} film;

/* Reads the video; crops go to rows. found has to be there. Returns 0 after saying what is wrong (a video that cannot
   be read, or not to its end, is no reason: its problem is in f->problem), or without a word when interrupted(). */
int film_make(film *f, const film_request *r, crop_rows *rows);
void film_free(film *f);

#endif
