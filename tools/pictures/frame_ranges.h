/* The wanted frames of a video, as ranges that fit into an argument of ffmpeg's command line. */
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

/* At most `most` ascending ranges that contain all of the n ascending frames. If there would be more, the ranges with
   the smallest gaps are joined. The caller frees *ranges. Returns 0 if memory runs out. */
int frame_ranges_of(const uint32_t *frames, size_t n, size_t most, frame_range **ranges, size_t *count);

/* An ffmpeg expression that is not 0 for the frames of the ranges, where n is a frame's number, from 0. It compares
   with about log2(count) ranges. */
void frame_ranges_expression(const frame_range *ranges, size_t count, text *out);

#endif
