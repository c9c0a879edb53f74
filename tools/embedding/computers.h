/* Computes batches beside the thread that collects them. A GPU's handle has several lanes, so several batches are under
   way: while one is computed, the pixels of the next are copied and uploaded. */
#ifndef REID_TOOLS_COMPUTERS_H
#define REID_TOOLS_COMPUTERS_H

#include "embedding/models.h"

/* A call of models_embed. The caller sets the first three. */
typedef struct batch_call {
    const reid_image *images; /* [count]; count 0: there is nothing to compute */
    size_t count;
    float *rows;              /* (count, dim): the result, if good */
    int good;                 /* 0: the library refused an image, and so the call */
    double began, computed;   /* by clock_seconds */
} batch_call;

/* Calls that one thread makes, one after the other. */
typedef struct batch_calls {
    batch_call *at;           /* [count] */
    size_t count;
    int lane;                 /* which thread made them, from 0 */
    size_t done;              /* for computers.c: how many were made */
} batch_calls;

typedef struct computers computers;

/* Starts `count` threads, or none if it is 1: computers_wait then computes. Returns NULL after reporting that memory
   ran out or that no thread started. */
computers *computers_start(models *all, int count);
/* Starts a batch, which must stay until its last call was waited for. At most `count` batches may be under way. */
void computers_give(computers *c, batch_calls *calls);
/* Whether waiting for the batch would only make the caller wait for other threads. */
int computers_busy(computers *c, const batch_calls *calls);
/* Waits for call number i of the batch, after those before it. */
void computers_wait(computers *c, batch_calls *calls, size_t i);
/* Waits for the calls that are being made, ends the threads and frees c, which may be NULL. */
void computers_stop(computers *c);

#endif
