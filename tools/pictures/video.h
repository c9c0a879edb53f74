/* Reads a video frame by frame through ffmpeg: a child process reads the file once, from beginning to end. */
#ifndef REID_TOOLS_VIDEO_H
#define REID_TOOLS_VIDEO_H

#include "base/text.h"
#include "pictures/frame_windows.h"

#include <stddef.h>
#include <stdint.h>

typedef struct video_request {
    const char *path;
    const char *program;  /* NULL: ffmpeg, from PATH */
    int stream;           /* index among its video streams, from 0, without covers and thumbnails */
    long long max_pixels; /* larger frames are refused; 0: no limit */
    double timeout;       /* seconds without a frame after which ffmpeg is stopped; 0: 60 */
    double cut;           /* a frame that differs this much from the one before begins a new scene (ffmpeg's scdet,
                             whose own default is 10; 0 … 100); 0: cuts are not detected */
    const uint32_t *wanted; /* [wanted_count], ascending, from 0: the frames whose pixels are needed; NULL: all */
    size_t wanted_count;
    const frame_area *areas; /* [wanted_count]: the needed part of each; NULL: all of it */
    int parts;               /* 1: areas are in units of 1 / FRAME_PARTS, not in pixels */
} video_request;

typedef struct video_frame {
    size_t index;             /* from 0 */
    long long pts, num, den;  /* its time is pts * num / den seconds, exactly; the file begins at 0 */
    double seconds;
    int width, height;        /* upright; may change from frame to frame */
    int cut;                  /* 1: it begins a new scene, or its size has changed */
    const unsigned char *rgb; /* (part.height, part.width, 3), until the next call; may be NULL for an unwanted frame */
    reid_box part;            /* the part of the frame that rgb holds: all of it, or at least the area */
} video_frame;

typedef enum video_end {
    VIDEO_GOING,       /* not yet at the end */
    VIDEO_WHOLE,
    VIDEO_DAMAGED,     /* read to its end, but something in it is damaged, or its end is missing */
    VIDEO_BROKEN_OFF,  /* ffmpeg was killed, hangs, or cannot go on: later frames are unknown */
    VIDEO_FAILED,      /* this program cannot go on: out of memory, a frame too large, an unknown ffmpeg */
    VIDEO_INTERRUPTED  /* interrupted() */
} video_end;

typedef struct video video;

/* Starts ffmpeg and waits for the first frame. Returns NULL with the reason in why if there is none; NULL without a
   reason if interrupted(). */
video *video_open(const video_request *r, text *why);
/* Returns 1 with the next frame; 0 at the end of a complete video; -1 with the reason in why for any other end. The
   frames before it are good, as far as a decoder can tell. */
int video_next(video *v, video_frame *frame, text *why);
video_end video_how_it_ended(const video *v);
/* How many video streams the file has, and the version of ffmpeg. */
int video_streams(const video *v);
const char *video_decoder(const video *v);
/* NULL is allowed. */
void video_close(video *v);

#endif
