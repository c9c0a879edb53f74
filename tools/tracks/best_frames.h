/* Chooses the best frames of a track while it runs, in bounded memory. The frames of the whole track determine the
   choice:

       Time is cut into slots of half of `apart`: [0, apart/2), [apart/2, apart), … seconds. In each slot, the frame
       with the best quality is the candidate. The best candidate is chosen; then, while fewer than `most` are chosen,
       the best one that is at least `apart` seconds from all chosen ones. Of equally good ones, the earliest wins.

   best_frames.c proves that candidates can be forgotten so early that at most 5 (most - 1) + 1 are kept.

       best_frames b;
       best_begin(&b, 3, 0.5, free);
       for each frame of the track:
           if (best_wants(&b, seconds, quality)) best_put(&b, seconds, quality, crop);   b owns the crop now
       count = best_take(&b, chosen);   the caller owns chosen[i].kept again */
#ifndef REID_TOOLS_BEST_FRAMES_H
#define REID_TOOLS_BEST_FRAMES_H

#include <stddef.h>

enum { BEST_MOST = 100 };

typedef struct best_frame {
    double seconds, quality;
    void *kept; /* the caller's data: the crop and what belongs to it */
} best_frame;

typedef struct best_frames {
    best_frame *at; /* candidates, best first */
    size_t count, room;
    int most;
    double apart;
    void (*forget)(void *); /* frees the `kept` of a forgotten candidate */
} best_frames;

/* 1 <= most <= BEST_MOST; apart: seconds, at least a millisecond (less counts as one). forget may be NULL. Returns 0
   after reporting that memory ran out. Call best_take in any case. */
int best_begin(best_frames *b, int most, double apart, void (*forget)(void *));

/* 1 if this frame would be a candidate now. Frames must come in order of time; quality must not be NaN. */
int best_wants(const best_frames *b, double seconds, double quality);

/* Adds a frame that best_wants accepted, and forgets the candidates that can no longer be chosen. */
void best_put(best_frames *b, double seconds, double quality, void *kept);

/* Ends the track: sets chosen, which has room for `most`, to the chosen frames, best first. The caller owns their
   `kept` from now on; all others are forgotten. If chosen is NULL, all are forgotten. Returns the number of chosen
   frames. A zeroed best_frames is allowed. */
size_t best_take(best_frames *b, best_frame *chosen);

#endif
