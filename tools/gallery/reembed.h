/* A worker of a re-embedding: it claims templates of a gallery in PostgreSQL that have no row of another embedder yet,
   and writes what becomes of them. Any number of workers, on any machines, share the templates. One that dies loses
   its claims; a server that goes away is waited for. */
#ifndef REID_TOOLS_REEMBED_H
#define REID_TOOLS_REEMBED_H

#include "gallery/gallery_store.h"

#include <stddef.h>
#include <stdint.h>

/* What a worker embeds next. */
typedef struct reembed_task {
    int64_t template_id;
    char *id, *source;   /* source: "" if it is not known; see pictures/box_text.h */
    uint64_t size, hash; /* of the picture's file when it was enrolled, 0, 0: unknown */
    char *failure;       /* why there is no row, NULL: there is one */
} reembed_task;

typedef struct reembed_batch {
    reembed_task *at;
    size_t count;
    float *rows; /* (count, dim) */
    size_t first_open; /* tasks from here on were not embedded: they are given back */
    size_t others;     /* when count is 0: what other workers have claimed, and may yet give back */
} reembed_batch;

typedef struct reembed reembed;

typedef struct reembed_request {
    const char *url;
    const store_meta *makers; /* the models, as they are registered if they are not yet; jpeg: what decodes here */
    double lease;             /* seconds without a sign of life after which the worker counts as dead */
} reembed_request;

/* What is there at a moment. */
typedef struct reembed_counts {
    size_t templates, missing, failed; /* missing: without a row, failed ones among them */
} reembed_counts;

/* All of these say what is wrong and return NULL or 0 then; the lost connection to a server is no failure for the first
   minute. After interrupted() only reembed_write and reembed_close may be called. */

/* Registers models, embedder and worker. */
reembed *reembed_open(const reembed_request *r);
/* Up to `most` templates, in their order; none when there are none that nobody has claimed. Free what it held first. */
int reembed_claim(reembed *w, size_t most, reembed_batch *b);
/* Shows that the worker is alive, if it is time for that. */
int reembed_beat(reembed *w);
/* Rows and failures of the tasks before first_open, in one transaction; the others' claims are given up. What was
   taken away from this worker in the meantime, or removed from the gallery, is left out. */
int reembed_write(reembed *w, const reembed_batch *b);
int reembed_count(reembed *w, reembed_counts *c);
/* What this worker has written. */
void reembed_totals(const reembed *w, size_t *made, size_t *failed);
void reembed_batch_free(reembed_batch *b);
/* Takes the worker out of the table. NULL is allowed. */
void reembed_close(reembed *w);

#endif
