/* Where a stream spent its time: its stages, which of them was the bottleneck, and what would help. */
#ifndef REID_TOOLS_STREAM_STATS_H
#define REID_TOOLS_STREAM_STATS_H

#include "base/text.h"
#include "pictures/turbojpeg.h"
#include "reid.h"

/* Pipeline and stream always count; it costs two clock readings per step of an image or batch. Seconds of the decoding
   threads are summed over all of them. */
typedef struct stream_stats {
    double seconds;                       /* from the first image to the last row */
    size_t pictures, rows, batches;       /* images opened; rows handed out, including failures; batches computed */
    int decoders;                         /* threads that read and decode */
    double read, decode, resize, room;    /* seconds of these threads; room: waiting for memory for an image */
    double wait, compute, last;           /* seconds of the thread that collects images; compute: with several lanes,
                                             its waiting for them; last: handing out rows */
    size_t ready, taken;                  /* decoded images that were waiting, summed over those that were taken */
} stream_stats;

/* The circumstances in which the numbers are judged. */
typedef struct stream_setting {
    int cpus, threads; /* CPUs of the machine; computing threads */
    int on_gpu, by_fp32;
    const char *last;  /* what is done with a row, in a word: write, search, store */
    jpeg_decoder jpeg;
    reid_saturation saturation; /* zeros: not counted */
} stream_setting;

/* Write a table for people with the bottleneck below it, in complete lines; or one line of JSON. */
void stream_stats_table(const stream_stats *s, const stream_setting *in, text *out);
void stream_stats_json(const stream_stats *s, const stream_setting *in, text *out);

#endif
