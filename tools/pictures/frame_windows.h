/* The parts of the wanted frames that are needed: windows of one size, each for the frames from a given one on, which
   ffmpeg's filter crop cuts out, so that the rest of a frame is not sent. */
#ifndef REID_TOOLS_FRAME_WINDOWS_H
#define REID_TOOLS_FRAME_WINDOWS_H

#include "base/text.h"
#include "pictures/frame_ranges.h"
#include "reid.h"

#include <stddef.h>
#include <stdint.h>

/* The needed part of a frame, x0 <= x < x1 and y0 <= y < y1: in pixels or, if the size of frames is not known in
   advance, in units of 1 / FRAME_PARTS of the frame's width and height. FRAME_PARTS is a power of two, so that ffmpeg
   and this program compute the same pixels: nothing is rounded before the end. */
enum { FRAME_PARTS = 1 << 16, FRAME_SIDE_MOST = 1 << 20 };
typedef struct frame_area {
    uint32_t x0, y0, x1, y1;
} frame_area;

typedef struct frame_window {
    uint32_t from; /* the first frame it is for, counting only frames that are sent */
    uint32_t x, y;
} frame_window;

typedef struct frame_windows {
    frame_window *at;
    size_t count;
    uint32_t width, height;
    int parts; /* 1: in units of 1 / FRAME_PARTS; 0: in pixels */
} frame_windows;

/* The most windows that fit into an argument of ffmpeg next to FRAME_RANGES. */
enum { FRAME_WINDOWS = 600 };

/* Makes at most `most` windows for n ascending frames; if there are more frames, several in a row share a window that
   contains all of their areas. ranges: those of the frames that are sent. The caller frees w->at. Returns 0 if memory
   runs out. */
int frame_windows_of(const uint32_t *frames, const frame_area *areas, size_t n, const frame_range *ranges,
                     size_t range_count, size_t most, frame_windows *w);

/* Writes the filter for ffmpeg. */
void frame_windows_filter(const frame_windows *w, text *out);

/* The box that the filter cuts out of a frame of this size, for the frame sent as `number`, from 0. */
reid_box frame_windows_place(const frame_windows *w, uint32_t number, int width, int height);

#endif
