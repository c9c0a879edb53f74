/* Turns boxes into tracks, one frame after another. Each step matches the boxes of a frame with the open tracks: by how
   much they overlap the place where a constant-velocity Kalman filter expects the track and, where they do not overlap,
   as at low frame rates, by distance, with a tolerance that grows with the time since the track was last seen. Boxes
   with a low score can continue a track, after the others were matched, but cannot begin one. All times are in seconds,
   never in frames, so that 30 frames per second, 1 frame per second and bursts of photos are treated alike.

       tracks_settings settings = tracks_defaults();
       tracks *t = tracks_create(&settings);
       for each frame:
           if (it is the first of another scene && !tracks_cut(t)) …
           if (!tracks_step(t, seconds, boxes, count, numbers)) …   numbers[i]: the track of boxes[i], or TRACK_NONE
           const track *ended = tracks_ended(t, &count);             before the next step, which forgets them
       tracks_cut(t), tracks_ended(t, &count);                       those that were open at the end
       tracks_free(t);

   Memory holds the open tracks and the boxes of one frame. The same boxes always give the same tracks. */
#ifndef REID_TOOLS_TRACKS_H
#define REID_TOOLS_TRACKS_H

#include "tracks/track_box.h"

#include <stddef.h>
#include <stdint.h>

#define TRACK_NONE UINT32_MAX

typedef struct tracks_settings {
    double low, high; /* scores: boxes below low are ignored; those from high on match first and can begin a track */
    double overlap;   /* the least IoU of a box with its track's expected box, unless the distance matches them */
    double patience;  /* seconds: a track ends when it was not seen for longer than this, or for more than twice as long
                         as it had been seen before; but at every frame rate it may be missed in one frame */
    double gap;       /* seconds without any frame after which all tracks have ended */
    double evidence;  /* a track is firm when its boxes' scores add up to at least this */
} tracks_settings;

tracks_settings tracks_defaults(void);

typedef struct track {
    uint32_t number; /* 0, 1, … in the order of first boxes; tracks that do not become firm have numbers, too */
    uint32_t scene;  /* the number of cuts before it */
    int firm;        /* 0: too little evidence; it is probably a false detection, so ignore it */
    size_t boxes;
    double first, last;                         /* the times of its first and last box, in seconds */
    track_box first_box, last_box;
    double first_velocity[2], last_velocity[2]; /* x, y of the centre, pixels per second; 0 for a single box */
} track;

typedef struct tracks tracks;

/* Returns NULL after saying what is wrong with the settings, or that memory ran out. */
tracks *tracks_create(const tracks_settings *settings);
/* NULL is allowed. */
void tracks_free(tracks *t);

/* Adds the boxes of the next frame; seconds must not decrease. Sets number[i] for each box. A frame without boxes
   counts: no open track was seen in it. Returns 0, with the tracks unchanged, after saying what is wrong (a box without
   area, a time before the last one) or that memory ran out. */
int tracks_step(tracks *t, double seconds, const track_box *boxes, size_t count, uint32_t *number);

/* Ends all open tracks, before a new scene or at the end. Returns 0 after reporting that memory ran out. */
int tracks_cut(tracks *t);

/* The tracks that ended in the last step or cut, in the order of their numbers. Tracks that a cut has ended remain in
   the list after the next step, unless this function was called in between. Valid until the next call with t. */
const track *tracks_ended(tracks *t, size_t *count);

/* The number of open tracks. */
size_t tracks_open(const tracks *t);

#endif
