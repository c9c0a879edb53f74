/* Where the time of a stream went: its stages, which of them kept the others waiting, and what would help. */
#ifndef REID_TOOLS_STREAM_STATS_H
#define REID_TOOLS_STREAM_STATS_H

#include "base/text.h"
#include "pictures/turbojpeg.h"
#include "reid.h"

/* Counted by pipeline and stream, always: two looks at the clock for each step of a picture or batch. Seconds of
   threads that decode are those of all of them together. */
typedef struct stream_stats {
    double seconds;                       /* from the first picture to the last row */
    size_t pictures, rows, batches;       /* opened; given out, failures too; computed together */
    int decoders;                         /* threads that read and decode */
    double read, decode, resize, room;    /* of these threads; room: waiting until there is a place for a picture */
    double wait, compute, last;           /* of the one thread that computes and hands out: for pictures; … */
    size_t ready, taken;                  /* decoded pictures that waited, summed over those that were taken */
} stream_stats;

/* What the numbers are seen against. */
typedef struct stream_setting {
    int cpus, threads; /* of the machine; that compute */
    int on_gpu, by_fp32;
    const char *last;  /* what is done with a row, in a word: write, search, store */
    jpeg_decoder jpeg;
    reid_saturation saturation; /* zeros: not counted */
} stream_setting;

/* A table for people with the bottleneck below it, lines ended; or one line of JSON. */
void stream_stats_table(const stream_stats *s, const stream_setting *in, text *out);
void stream_stats_json(const stream_stats *s, const stream_setting *in, text *out);

#endif
