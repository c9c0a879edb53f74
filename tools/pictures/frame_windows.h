/* Which part of wanted frames is needed: windows that all have one size, each from a frame on, as ffmpeg's filter crop
   cuts them out, so that the rest of a frame is not sent. */
#ifndef REID_TOOLS_FRAME_WINDOWS_H
#define REID_TOOLS_FRAME_WINDOWS_H

#include "base/text.h"
#include "pictures/frame_ranges.h"
#include "reid.h"

#include <stddef.h>
#include <stdint.h>

/* What is needed of a frame, from x0 and y0 to before x1 and y1: in pixels, or where the size of frames is not known
   before, in parts of the frame, of which there are FRAME_PARTS from one side to the other. A power of two: ffmpeg
   and we come to the same pixels then, because nothing is rounded before the end. */
enum { FRAME_PARTS = 1 << 16, FRAME_SIDE_MOST = 1 << 20 };
typedef struct frame_area {
    uint32_t x0, y0, x1, y1;
} frame_area;

typedef struct frame_window {
    uint32_t from; /* the first frame that it is for, counting those alone that are sent */
    uint32_t x, y;
} frame_window;

typedef struct frame_windows {
    frame_window *at;
    size_t count;
    uint32_t width, height;
    int parts; /* all of it in parts of the frame; 0: in pixels */
} frame_windows;

/* So many fit into an argument of ffmpeg beside FRAME_RANGES. */
enum { FRAME_WINDOWS = 600 };

/* `most` windows at most, for n frames, which ascend: where there are more frames, several in a row share one, which
   has room for the areas of all. The ranges are of the frames that are sent. The caller frees w->at. Returns 0 when
   memory runs out. */
int frame_windows_of(const uint32_t *frames, const frame_area *areas, size_t n, const frame_range *ranges,
                     size_t range_count, size_t most, frame_windows *w);

/* The filter. */
void frame_windows_filter(const frame_windows *w, text *out);

/* Where in a frame of this size it cuts, for the frame that is sent as `number`, from 0. */
reid_box frame_windows_place(const frame_windows *w, uint32_t number, int width, int height);

#endif
