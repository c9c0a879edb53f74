/* Turns inputs into embeddings: decodes ahead, collects batches, hands out every row in order. */
#ifndef REID_TOOLS_STREAM_H
#define REID_TOOLS_STREAM_H

#include "embedding/models.h"
#include "embedding/pipeline.h"
#include "embedding/stream_trace.h"
#include "pictures/inputs.h"

/* Called once for every input in order: with its row, or with NULL and the reason why it failed. Returns 0 to stop. */
typedef int (*stream_fn)(void *user, size_t index, const float *row, const char *why);

/* Rows first … end-1 of list. */
typedef struct stream_job {
    models *all;
    const inputs *list;
    size_t first, end;
    decode_settings decode;
    const char *label; /* for the progress bar */
    stream_fn fn;
    void *user;
    const char *last;    /* what fn does with a row, in a word: write, search, store */
    stream_stats *stats; /* receives how long each stage took; may be NULL */
    trace *trace;        /* receives the timeline; may be NULL */
} stream_job;

typedef enum stream_result {
    STREAM_DONE,        /* every row was handed out */
    STREAM_STOPPED,     /* fn returned 0 */
    STREAM_INTERRUPTED, /* interrupted(): rows are missing, without a message */
    STREAM_FAILED       /* memory ran out or a thread did not start, which was reported; rows are missing */
} stream_result;

stream_result stream_run(const stream_job *job);

#endif
