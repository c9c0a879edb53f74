/* The best frames of a track, chosen while it runs, with bounded memory. What is chosen is defined by all its frames:

       Time is cut into slots of half of `apart`: [0, apart/2), [apart/2, apart), … seconds. In each slot, the frame of
       the best quality is a candidate (of equals the first). Of the candidates, the best is chosen, then, as long as
       there are fewer than `most`, the best one that is at least `apart` seconds from all that are chosen. Equals: the
       earlier one.

   best_frames.c shows that candidates may be forgotten so early that at most 5 (most - 1) + 1 are kept.

       best_frames b;
       best_begin(&b, 3, 0.5, free);
       for each frame of the track:
           if (best_wants(&b, seconds, quality)) best_put(&b, seconds, quality, crop);   it owns the crop now
       count = best_take(&b, chosen);   chosen[i].kept are the caller's again */
#ifndef REID_TOOLS_BEST_FRAMES_H
#define REID_TOOLS_BEST_FRAMES_H

#include <stddef.h>

enum { BEST_MOST = 100 };

typedef struct best_frame {
    double seconds, quality;
    void *kept; /* the caller's: the crop, and what it wants to know later */
} best_frame;

typedef struct best_frames {
    best_frame *at; /* candidates, best first */
    size_t count, room;
    int most;
    double apart;
    void (*forget)(void *); /* frees what is not kept any more */
} best_frames;

/* 1 <= most <= BEST_MOST; apart: seconds, less than a millisecond counts as one. forget may be NULL. Returns 0 after
   reporting that memory ran out. Take them in any case. */
int best_begin(best_frames *b, int most, double apart, void (*forget)(void *));

/* 1 if this frame would be a candidate now. Frames come in the order of time; quality is a number. */
int best_wants(const best_frames *b, double seconds, double quality);

/* Adds a frame that best_wants, and forgets candidates that can no longer be chosen. */
void best_put(best_frames *b, double seconds, double quality, void *kept);

/* The end of the track: sets chosen, of room for `most`, to the frames, best first, whose `kept` are the caller's from
   now on; all else is forgotten. chosen NULL: all is. Returns how many there are. Zeroed ones are allowed. */
size_t best_take(best_frames *b, best_frame *chosen);

#endif
