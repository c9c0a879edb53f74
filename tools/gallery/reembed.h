/* A re-embedding worker. It claims templates of a gallery in PostgreSQL that lack a row of another embedder, and writes
   their rows or failures. Any number of workers, on any machines, share the templates. A worker that dies loses its
   claims; if the server is lost, workers wait for it. */
#ifndef REID_TOOLS_REEMBED_H
#define REID_TOOLS_REEMBED_H

#include "gallery/gallery_store.h"

#include <stddef.h>
#include <stdint.h>

/* A claimed template. */
typedef struct reembed_task {
    int64_t template_id;
    char *id, *source;   /* source: "" if it is not known; see pictures/box_text.h */
    uint64_t size, hash; /* of the image file when it was enrolled; 0, 0: unknown */
    char *failure;       /* why there is no row; NULL: there is one */
} reembed_task;

typedef struct reembed_batch {
    reembed_task *at;
    size_t count;
    float *rows; /* (count, dim) */
    size_t first_open; /* tasks from here on were not embedded; their claims are given up */
    size_t others;     /* when count is 0: templates that other workers have claimed, and may still give up */
} reembed_batch;

typedef struct reembed reembed;

typedef struct reembed_request {
    const char *url;
    const store_meta *makers; /* the models, which are registered if they are new; jpeg: the decoder in use here */
    double lease;             /* seconds without a heartbeat after which the worker counts as dead */
} reembed_request;

/* Counts as of one moment. */
typedef struct reembed_counts {
    size_t templates, missing, failed; /* missing: without a row, failed ones included */
} reembed_counts;

/* These return NULL or 0 after reporting an error. A lost connection counts as a failure only after a minute. After
   interrupted() only reembed_write and reembed_close may be called. */

/* Registers the models, the embedder and the worker. */
reembed *reembed_open(const reembed_request *r);
/* Up to `most` templates, in their order; none when all that remain are claimed. Free the previous batch first. */
int reembed_claim(reembed *w, size_t most, reembed_batch *b);
/* Reports that the worker is alive, if that is due. */
int reembed_beat(reembed *w);
/* Writes rows and failures of the tasks before first_open, in one transaction, and gives up the claims of the others.
   Templates whose claims were taken from this worker, or that were removed from the gallery, are left out. */
int reembed_write(reembed *w, const reembed_batch *b);
int reembed_count(reembed *w, reembed_counts *c);
/* How many rows and failures this worker has written. */
void reembed_totals(const reembed *w, size_t *made, size_t *failed);
void reembed_batch_free(reembed_batch *b);
/* Takes the worker out of the table. NULL is allowed. */
void reembed_close(reembed *w);

#endif
