/* Tracks that broke, joined again: which finished tracks of a video show one individual on one way through the scene.
   An embedding tells whether two are alike; that one could have become the other in the time between them tells whether
   they are joined. What is alike but cannot be told so stays apart here, and is left to groups.

   Two tracks are joined when
   - both are of one scene and one category, and one ends before the other begins: tracks that share a frame never are;
   - in that time, at most `gap` seconds, the last box of the one can have moved to the first box of the other, with
     a plausible speed and change of size;
   - the mean cosine of all pairs of their tracks' embeddings is at least `threshold`.
   Best first, equals by the lower places; what is joined counts as one from then on, and must be plausible from each
   of its tracks to the next one. */
#ifndef REID_TOOLS_TRACK_JOINS_H
#define REID_TOOLS_TRACK_JOINS_H

#include "tracks/tracks.h"

typedef struct track_joins_settings {
    double threshold; /* a cosine, or score / scale of what made the rows */
    double gap;       /* seconds */
} track_joins_settings;

track_joins_settings track_joins_defaults(void);

typedef struct track_joins_request {
    track_joins_settings settings;
    const track *tracks; /* [count], in any order */
    size_t count;
    const float *rows;   /* (count, dim): the mean embedding of each, of any length; zeros: nothing is known of it, and
                            it is joined with none */
    int dim;
    const uint32_t *conflicts; /* [conflicts_count][2], places in tracks: never one, for reasons of the caller's */
    size_t conflicts_count;
} track_joins_request;

/* Sets whole[i] to the lowest place in `tracks` among those that tracks[i] was joined with, i itself if there are none.
   Returns 0 after reporting that memory ran out, or what is wrong with the request. */
int track_joins_make(const track_joins_request *r, uint32_t *whole);

#endif
