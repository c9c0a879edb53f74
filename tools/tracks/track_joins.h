/* Joins broken tracks: finds the finished tracks of a video that show one individual on one way through the scene. Two
   tracks are joined if their embeddings are similar and one individual can have moved from one to the other in the time
   between them. Tracks that are similar but fail that second test stay separate; grouping may still find that they show
   one individual.

   Two tracks are joined when
   - both are in one scene and of one category, and one ends before the other begins, so that they share no frame;
   - in the time between them, at most `gap` seconds, the last box of the first can have become the first box of the
     second, with a plausible speed and change of size;
   - the mean cosine of all pairs of embeddings, one from each, is at least `threshold`.
   The best pair is joined first; of equally good pairs, the one with the lower indices. Joined tracks count as one from
   then on, and each of them must plausibly continue in the next one. */
#ifndef REID_TOOLS_TRACK_JOINS_H
#define REID_TOOLS_TRACK_JOINS_H

#include "tracks/tracks.h"

typedef struct track_joins_settings {
    double threshold; /* a cosine: a score of the models divided by its scale */
    double gap;       /* seconds */
} track_joins_settings;

track_joins_settings track_joins_defaults(void);

typedef struct track_joins_request {
    track_joins_settings settings;
    const track *tracks; /* [count], in any order */
    size_t count;
    const float *rows;   /* (count, dim): each track's mean embedding, of any length; zeros: unknown, and the track is
                            not joined */
    int dim;
    const uint32_t *conflicts; /* [conflicts_count][2], indices into tracks: pairs that must stay separate */
    size_t conflicts_count;
} track_joins_request;

/* Sets whole[i] to the lowest index in `tracks` among the tracks that tracks[i] was joined with, or to i if there are
   none. Returns 0 after reporting that memory ran out or what is wrong with the request. */
int track_joins_make(const track_joins_request *r, uint32_t *whole);

#endif
