/* ffmpeg's command line, and parsers for its output: the tables of frames, and its log. */
#ifndef REID_TOOLS_FFMPEG_H
#define REID_TOOLS_FFMPEG_H

#include "pictures/frame_ranges.h"
#include "pictures/frame_windows.h"

/* The descriptors that ffmpeg writes to. Each frame comes as rows of RGB; a table of its frames' widths and times, one
   of their heights (each is that of one row or column of pixels, whose bytes framecrc counts), and one of the numbers
   by which filters count them and how much each differs from the one before. */
enum { FFMPEG_PIXELS = 1, FFMPEG_LOG, FFMPEG_WIDTHS, FFMPEG_HEIGHTS, FFMPEG_NUMBERS, FFMPEG_PIPES };

/* How ffmpeg's versions spell the options that are used. */
typedef enum ffmpeg_dialect {
    FFMPEG_5, /* 5.1 to 8 */
    FFMPEG_9, /* the time base of the file is called demux */
    FFMPEG_4, /* 4.4 and 5.0: -vsync */
    FFMPEG_DIALECTS
} ffmpeg_dialect;

typedef struct ffmpeg_request {
    const char *program; /* NULL: ffmpeg */
    const char *path;    /* of the video; no name is mistaken for an option, an address or a pattern */
    int stream;          /* index among its video streams, from 0 */
    int cuts;            /* 1: also report how much successive frames differ */
    ffmpeg_dialect dialect;
    const frame_range *ranges; /* [range_count]: the frames whose pixels are wanted; NULL: all */
    size_t range_count;
    const frame_windows *windows; /* the part of those frames that is wanted; NULL: all of it */
} ffmpeg_request;

enum { FFMPEG_ARGUMENTS = 80 };

/* Sets argv, which ends with NULL; texts holds the arguments that were composed. Returns 0 if memory runs out. */
enum { FFMPEG_TEXTS = 3 };
int ffmpeg_arguments(const ffmpeg_request *r, char *argv[FFMPEG_ARGUMENTS], text texts[FFMPEG_TEXTS]);

/* A row of a table of frames. */
typedef struct ffmpeg_frame {
    long long pts;  /* in units of the table's time base */
    long long size; /* bytes: pixels of the row or column */
} ffmpeg_frame;

/* Parses a line of a table of frames. Returns 1 with *f for a frame, 2 with *num / *den for the time base, 0 for a line
   that is not needed, -1 for a malformed one. */
int ffmpeg_frame_line(const char *line, ffmpeg_frame *f, long long *num, long long *den);

/* Parses a line of the table of numbers. Returns 2 with the number of the next frame, which restarts at 0 if the size
   or format changes; 1 with its score (0 … 100; 0 if cuts were not requested); -1 for a malformed line. */
int ffmpeg_number_line(const char *line, long long *number, double *score);

/* The needed facts from the log; their size does not grow with the log. */
typedef struct ffmpeg_log {
    text version;
    int videos, others;   /* streams of the file: video without covers and thumbnails; sound and others */
    double duration;      /* seconds that the file declares; 0: none */
    int in_outputs;       /* 1: streams from here on are not the file's */
    int no_stream;        /* 1: the file does not have the requested video stream */
    int not_a_video;      /* 1: it is a playlist, a script or a pattern of names, which is not opened */
    int no_option;        /* 1: this version does not know an option ... */
    text option;          /* ... namely this one */
    int no_time_base;     /* 1: it does not know the name of the time base */
    size_t complaints;    /* errors that are about the file */
    text first;           /* the first of them */
} ffmpeg_log;

void ffmpeg_log_line(ffmpeg_log *log, const char *line);
void ffmpeg_log_free(ffmpeg_log *log);

#endif
