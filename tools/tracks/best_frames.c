/* Which candidates can be forgotten: let f be a candidate, and H the candidates that are better. The frames chosen
   before f is considered are what would be chosen from H alone: members of H that are `apart` from each other, to which
   no other member of H can be added. So each member of H is chosen or less than `apart` from a chosen one. If H has
   `most` members that are pairwise at least 2 · apart from each other, no chosen frame is that near to two of them, so
   at least `most` frames are chosen before f. This stays true as more frames come in. So f is never chosen and can be
   forgotten, together with all worse candidates.

   How many are kept: all kept candidates but the worst lie in fewer than `most` intervals of 2 · apart (take the
   earliest and all less than 2 · apart later, then the earliest of the rest, ...). Such an interval meets at most 5
   slots of apart / 2, each of which has one candidate. That makes 5 (most - 1) + 1, and one more while a frame is
   added.

   H only grows. If a better frame replaces the candidate of its slot, that candidate is the latest of all, and the new
   frame is even later, so further from the others. Forgotten candidates are worse than all that are kept, so H is the
   same without them. A frame in the slot of a forgotten candidate is forgotten, too, or is better than that candidate.

   Times are compared with a tolerance of a microsecond, so that frames at 0.3 and 0.8 are 0.5 apart despite rounding.
   The proof then holds with an `apart` that is a microsecond shorter. */
#include "tracks/best_frames.h"

#include "base/invariant.h"
#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double ROUNDING = 1e-6, LEAST = 1e-3; /* seconds; LEAST: the least `apart` */

int best_begin(best_frames *b, int most, double apart, void (*forget)(void *)) {
    memset(b, 0, sizeof *b);
    b->most = most;
    b->apart = fmax(apart, LEAST);
    b->forget = forget;
    b->room = 5 * ((size_t)most - 1) + 2;
    b->at = need_array(b->room, sizeof *b->at);
    return b->at != NULL;
}

static double slot_of(const best_frames *b, double seconds) { return floor((seconds + ROUNDING) / (b->apart / 2)); }

static int far(const best_frames *b, double x, double y, double times) {
    return fabs(x - y) >= times * (b->apart - ROUNDING);
}

/* Index of the candidate in the slot of this time; b->count if there is none. */
static size_t rival_of(const best_frames *b, double seconds) {
    double slot = slot_of(b, seconds);
    size_t i = 0;
    while (i < b->count && slot_of(b, b->at[i].seconds) != slot) i++;
    return i;
}

/* 1 if x is better than y; of equally good frames, the earlier one is. */
static int better(const best_frame *x, const best_frame *y) {
    return x->quality != y->quality ? x->quality > y->quality : x->seconds <= y->seconds;
}

/* The largest number of candidates among the first `count` that are pairwise 2 · apart: starting with the earliest,
   takes the next one that is far enough from the last. */
static int spread_of(const best_frames *b, size_t count) {
    double last = -(double)INFINITY;
    for (int found = 0;; found++) {
        double next = (double)INFINITY;
        for (size_t i = 0; i < count; i++)
            if (b->at[i].seconds > last && far(b, b->at[i].seconds, last, 2) && b->at[i].seconds < next)
                next = b->at[i].seconds;
        if (isinf(next)) return found;
        last = next;
    }
}

/* The index that f would have among the candidates. */
static size_t rank_of(const best_frames *b, const best_frame *f) {
    size_t i = 0;
    while (i < b->count && better(&b->at[i], f)) i++;
    return i;
}

int best_wants(const best_frames *b, double seconds, double quality) {
    const best_frame f = {seconds, quality, NULL};
    size_t rival = rival_of(b, seconds), rank = rank_of(b, &f);
    return rival >= rank && spread_of(b, rank) < b->most;
}

static void forget(best_frames *b, size_t from, size_t end) {
    for (size_t i = from; i < end; i++)
        if (b->forget && b->at[i].kept) b->forget(b->at[i].kept);
    memmove(b->at + from, b->at + end, (b->count - end) * sizeof *b->at);
    b->count -= end - from;
}

void best_put(best_frames *b, double seconds, double quality, void *kept) {
    const best_frame f = {seconds, quality, kept};
    size_t rival = rival_of(b, seconds);
    if (rival < b->count) forget(b, rival, rival + 1);
    size_t rank = rank_of(b, &f), keep = 0;
    REID_ASSERT(b->count < b->room);
    memmove(b->at + rank + 1, b->at + rank, (b->count - rank) * sizeof *b->at);
    b->at[rank] = f;
    b->count++;
    while (keep < b->count && spread_of(b, keep) < b->most) keep++;
    if (keep == b->room) keep--; /* so that there is always room for the next frame */
    forget(b, keep, b->count);
}

size_t best_take(best_frames *b, best_frame *chosen) {
    size_t count = 0;
    for (size_t i = 0; i < b->count; i++) {
        size_t k = 0;
        int open = chosen && count < (size_t)b->most;
        while (open && k < count && far(b, b->at[i].seconds, chosen[k].seconds, 1)) k++;
        if (open && k == count) chosen[count++] = b->at[i];
        else if (b->forget && b->at[i].kept) b->forget(b->at[i].kept);
    }
    free(b->at);
    memset(b, 0, sizeof *b);
    return count;
}
