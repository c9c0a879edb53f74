/* A video, frame by frame, as ffmpeg decodes it: a child process reads the file once, from its beginning to its end. */
#ifndef REID_TOOLS_VIDEO_H
#define REID_TOOLS_VIDEO_H

#include "base/text.h"
#include "pictures/frame_windows.h"

#include <stddef.h>
#include <stdint.h>

typedef struct video_request {
    const char *path;
    const char *program;  /* NULL: ffmpeg, from PATH */
    int stream;           /* which of its video streams, from 0; covers and thumbnails are none */
    long long max_pixels; /* larger frames are refused; 0: no limit */
    double timeout;       /* seconds without a frame after which ffmpeg is given up; 0: 60 */
    double cut;           /* a frame that differs so much from the one before begins another scene (ffmpeg's scdet,
                             whose own default is 10; 0 … 100); 0: nothing is looked for */
    const uint32_t *wanted; /* [wanted_count], ascending, from 0: of other frames no pixels are needed; NULL: of all */
    size_t wanted_count;
    const frame_area *areas; /* [wanted_count]: what is needed of each of them; NULL: all of it */
    int parts;               /* areas are in parts of the frame instead of pixels */
} video_request;

typedef struct video_frame {
    size_t index;             /* from 0 */
    long long pts, num, den;  /* its time is pts * num / den seconds, exactly; the file begins at 0 */
    double seconds;
    int width, height;        /* upright; may change from frame to frame */
    int cut;                  /* it begins another scene, also because its size is another one */
    const unsigned char *rgb; /* (part.height, part.width, 3), until the next call; may be NULL if it is not wanted */
    reid_box part;            /* the pixels of the frame that rgb has: all of them, or at least the area */
} video_frame;

typedef enum video_end {
    VIDEO_GOING,       /* not there yet */
    VIDEO_WHOLE,
    VIDEO_DAMAGED,     /* read to its end, but something in it is not as it should be, or its end is missing */
    VIDEO_BROKEN_OFF,  /* ffmpeg was killed, hangs, or cannot go on: what comes after the frames so far is not known */
    VIDEO_FAILED,      /* we cannot go on: no memory, a frame too large, an ffmpeg that is not understood */
    VIDEO_INTERRUPTED  /* interrupted() */
} video_end;

typedef struct video video;

/* Starts ffmpeg and waits for the first frame. NULL with the reason in why when there is none; NULL without a reason
   when interrupted(). */
video *video_open(const video_request *r, text *why);
/* The next frame: 1. 0 when a whole video is over. -1 with the reason in why for any other end: the frames before it
   are good, as far as a decoder can tell. */
int video_next(video *v, video_frame *frame, text *why);
video_end video_how_it_ended(const video *v);
/* How many video streams the file has, and the version of ffmpeg. */
int video_streams(const video *v);
const char *video_decoder(const video *v);
/* NULL is allowed. */
void video_close(video *v);

#endif
