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
    int done;                 /* for computers.c */
} batch_calls;

typedef struct computers computers;

/* Starts `count` threads, or none if it is 1: computers_give then computes. Returns NULL after reporting that memory
   ran out or that no thread started. */
computers *computers_start(models *all, int count);
/* Starts a batch, which must stay until computers_wait has returned. At most `count` batches may be under way. */
void computers_give(computers *c, batch_calls *calls);
int computers_done(computers *c, const batch_calls *calls);
void computers_wait(computers *c, const batch_calls *calls);
/* Waits for the batches that are under way, ends the threads and frees c, which may be NULL. */
void computers_stop(computers *c);

#endif
