/* Where the time went while films became tracks, rows and individuals, for --stats. */
#ifndef REID_TOOLS_FILM_STATS_H
#define REID_TOOLS_FILM_STATS_H

#include "base/text.h"
#include "tracks/crop_rows.h"

typedef struct film_setting {
    double seconds;           /* of the whole run */
    double group;             /* for joining tracks and finding individuals */
    size_t tracks;
    int photos;               /* 1: some of the films are photos */
    int cpus, threads, on_gpu; /* cpus: of the machine; threads: that compute */
} film_setting;

/* Writes a table for people, or one line of JSON. */
void film_stats_table(const crop_work *w, const film_setting *in, text *out);
void film_stats_json(const crop_work *w, const film_setting *in, text *out);

#endif
