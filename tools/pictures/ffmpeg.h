/* What ffmpeg is asked for, and what it says: its command line, the tables that tell of each frame, and its log. */
#ifndef REID_TOOLS_FFMPEG_H
#define REID_TOOLS_FFMPEG_H

#include "pictures/frame_ranges.h"
#include "pictures/frame_windows.h"

/* The descriptors that ffmpeg writes to. Each frame comes as rows of RGB; a table of its frames' widths and times, one
   of their heights (each is that of one row or column of pixels, whose bytes framecrc counts), and one of the numbers
   by which filters count them and how much each differs from the one before. */
enum { FFMPEG_PIXELS = 1, FFMPEG_LOG, FFMPEG_WIDTHS, FFMPEG_HEIGHTS, FFMPEG_NUMBERS, FFMPEG_PIPES };

/* How versions name what is asked of them. */
typedef enum ffmpeg_dialect {
    FFMPEG_5, /* 5.1 to 8 */
    FFMPEG_9, /* the time base of the file is called demux */
    FFMPEG_4, /* 4.4 and 5.0: -vsync */
    FFMPEG_DIALECTS
} ffmpeg_dialect;

typedef struct ffmpeg_request {
    const char *program; /* NULL: ffmpeg */
    const char *path;    /* of the video: any name, none is taken for an option, an address or a pattern */
    int stream;          /* which of its video streams, from 0 */
    int cuts;            /* also tell how much frames differ */
    ffmpeg_dialect dialect;
    const frame_range *ranges; /* [range_count]: the frames whose pixels are wanted; NULL: all */
    size_t range_count;
    const frame_windows *windows; /* of those frames: what is wanted of them; NULL: all */
} ffmpeg_request;

enum { FFMPEG_ARGUMENTS = 64 };

/* The arguments, the last one NULL, in argv; texts has those that had to be made. Returns 0 when memory runs out. */
enum { FFMPEG_TEXTS = 3 };
int ffmpeg_arguments(const ffmpeg_request *r, char *argv[FFMPEG_ARGUMENTS], text texts[FFMPEG_TEXTS]);

/* A row of a table of frames. */
typedef struct ffmpeg_frame {
    long long pts;  /* in units of the table's time base */
    long long size; /* bytes: pixels of the row or column */
} ffmpeg_frame;

/* A line of a table of frames: 1 with *f for a frame, 2 with *num / *den for the time base, 0 for what tells nothing
   that is needed, -1 for what is no such line. */
int ffmpeg_frame_line(const char *line, ffmpeg_frame *f, long long *num, long long *den);

/* A line of the table of numbers: 2 with the number of the next frame, which begins again at 0 when its size or format
   is another one; 1 with its score (0 … 100; 0 where cuts are not looked for); -1 as above. */
int ffmpeg_number_line(const char *line, long long *number, double *score);

/* What the log has said, as far as it is needed; its size does not grow with the log. */
typedef struct ffmpeg_log {
    text version;
    int videos, others;   /* streams of the file: video, without covers and thumbnails; sound and so on */
    double duration;      /* seconds that the file promises; 0: it does not say */
    int in_outputs;       /* streams that come now are not those of the file */
    int no_stream;        /* there is no such video stream */
    int no_option;        /* an option is not known to this version ... */
    text option;          /* ... this one */
    int no_time_base;     /* the name of the time base is not */
    size_t complaints;    /* errors that are about the file */
    text first;           /* the first of them */
} ffmpeg_log;

void ffmpeg_log_line(ffmpeg_log *log, const char *line);
void ffmpeg_log_free(ffmpeg_log *log);

#endif
