/* Which frames of a video are wanted, as ranges that ffmpeg can be told in an argument of its command line. */
#ifndef REID_TOOLS_FRAME_RANGES_H
#define REID_TOOLS_FRAME_RANGES_H

#include "base/text.h"

#include <stddef.h>
#include <stdint.h>

typedef struct frame_range {
    uint32_t first, last;
} frame_range;

/* The most ranges whose expression is certain to fit into an argument (128 KiB on Linux). */
enum { FRAME_RANGES = 1500 };

/* Ascending ranges, `most` at most, that hold all of the n frames, which ascend: where they would be more, those with
   the fewest frames between them become one. The caller frees *ranges. Returns 0 when memory runs out. */
int frame_ranges_of(const uint32_t *frames, size_t n, size_t most, frame_range **ranges, size_t *count);

/* An expression of ffmpeg that is not 0 for the frames of the ranges, n being the number of a frame, from 0; it looks
   at about log2(count) of them. */
void frame_ranges_expression(const frame_range *ranges, size_t count, text *out);

#endif
