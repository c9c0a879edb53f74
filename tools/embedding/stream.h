/* Inputs to embeddings: decodes ahead, collects batches, hands every row out in order. */
#ifndef REID_TOOLS_STREAM_H
#define REID_TOOLS_STREAM_H

#include "pictures/inputs.h"
#include "embedding/models.h"

/* Called once for every input in order: with its row, or with NULL and the reason of its failure. Returns 0 to stop. */
typedef int (*stream_fn)(void *user, size_t index, const float *row, const char *why);

/* Rows first … end-1 of list. Returns 0 when fn stopped it. Ends the program after a signal, through on_signal. */
typedef struct stream_job {
    models *all;
    const inputs *list;
    size_t first, end;
    const options *o;
    const char *label; /* for the progress bar */
    stream_fn fn;
    void (*on_signal)(void *user); /* NULL: nothing to save */
    void *user;
} stream_job;

int stream_run(const stream_job *job);

#endif
