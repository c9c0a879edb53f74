/* Boxes to tracks, one moment after another. Each step matches the boxes of a frame with the open tracks: by how much
   they overlap where a constant-velocity Kalman filter expects the track, and where they do not overlap, as at low
   frame rates, by the distance, within a reach that grows with the seconds since the track was seen. Boxes of low score
   can continue a track, after the others have been matched, but begin none. All is in seconds, nothing in frames: 30 or
   1 a second, and bursts of pictures with gaps, go the same way.

       tracks_settings settings = tracks_defaults();
       tracks *t = tracks_create(&settings);
       for each frame:
           if (it is the first of another scene && !tracks_cut(t)) …
           if (!tracks_step(t, seconds, boxes, count, numbers)) …   numbers[i]: the track of boxes[i], or TRACK_NONE
           const track *ended = tracks_ended(t, &count);             before the next step, which forgets them
       tracks_cut(t), tracks_ended(t, &count);                       those that were open at the end
       tracks_free(t);

   The memory is that of the open tracks and of the boxes of one frame. The same boxes give the same tracks. */
#ifndef REID_TOOLS_TRACKS_H
#define REID_TOOLS_TRACKS_H

#include "tracks/track_box.h"

#include <stddef.h>
#include <stdint.h>

#define TRACK_NONE UINT32_MAX

typedef struct tracks_settings {
    double low, high; /* scores: below low a box is left out; from high on it is matched first, and can begin a track */
    double overlap;   /* least IoU of a box with where its track is expected, where the distance does not decide */
    double patience;  /* seconds: a track that frames have not shown for longer has ended, and so has one for more than
                         twice as long as it was seen before; but one frame may miss it at every frame rate */
    double gap;       /* seconds without any frame after which all tracks have ended */
    double evidence;  /* the scores of a track that is firm add up to this */
} tracks_settings;

tracks_settings tracks_defaults(void);

typedef struct track {
    uint32_t number; /* 0, 1, … in the order of first boxes; those that do not become firm have numbers, too */
    uint32_t scene;  /* how many cuts came before it */
    int firm;        /* there was enough of it; what is not firm is likely nothing: leave it out */
    size_t boxes;
    double first, last;                         /* seconds of its first and its last box */
    track_box first_box, last_box;
    double first_velocity[2], last_velocity[2]; /* x, y of the centre, pixels a second; 0 with one box */
} track;

typedef struct tracks tracks;

/* NULL after saying what is wrong with the settings, or that memory ran out. */
tracks *tracks_create(const tracks_settings *settings);
/* NULL is allowed. */
void tracks_free(tracks *t);

/* The boxes of the next frame; seconds never go back. Sets number[i] for each box. A frame without boxes is a frame:
   it does not show the open tracks. Returns 0 after saying what is wrong (a box without area, a time before the last
   one) or that memory ran out; the tracks are then as they were. */
int tracks_step(tracks *t, double seconds, const track_box *boxes, size_t count, uint32_t *number);

/* What comes next is another scene, or nothing: all open tracks end. Returns 0 after reporting that memory ran out. */
int tracks_cut(tracks *t);

/* The tracks that have ended with the last step or cut, by their numbers; a step after a cut hands out those of the
   cut, too, unless they were asked for. Valid until the next call with t. */
const track *tracks_ended(tracks *t, size_t *count);

/* How many are open. */
size_t tracks_open(const tracks *t);

#endif
