/* One request in progress: the service's threads decode its images, a queue computes them, and the rows come back. */
#ifndef REID_TOOLS_JOB_H
#define REID_TOOLS_JOB_H

#include "server/request.h"
#include "server/service.h"

typedef struct job job;

/* The request. Everything that it points to must stay valid until the job is over. */
typedef struct job_request {
    int first, models;       /* which of the service's models; a row has their parts side by side */
    const span *pictures;    /* [count] encoded images; NULL: rgb */
    const unsigned char *rgb; /* (count, height, width, 3) */
    size_t count;
    int height, width;
    const reid_box *boxes;   /* [box_count] in the only image, a row for each; none: a row for each image */
    size_t box_count;
    int priority;            /* PRIORITY_FIRST ... PRIORITY_LAST */
    long long timeout_us;    /* from `arrived` on; 0: none */
    double arrived;          /* clock_seconds */
    const char *field;       /* how an error names an image; one of several also gets its number */
    int brief;               /* 1: for one row, `done` takes no longer than waking a thread does */
} job_request;

/* Called once, on one of the service's threads or, for a brief one, of the queue's, when the job is over; then it may
   be freed. */
typedef void (*job_done_fn)(void *user);

/* The result. */
typedef struct job_result {
    int status;              /* STATUS_OK, else the reason is in why */
    text why;
    float *rows;             /* (n, dim) */
    size_t n;
    int dim;
    /* If the service is timed and a queue has computed the job; of several models those of the slowest. */
    double queued, computing; /* seconds in the queue, and of the batch that held the last image; negative: unknown */
    double batch, computed;   /* images in that batch; its end (clock_seconds) */
} job_result;

/* Returns NULL if memory runs out. The job counts as unfinished until it is freed. */
job *job_create(service *s);
/* Lets it count in another service instead, before it runs. */
void job_move(job *j, service *s);
/* Runs the job; call it on one of the service's threads, which takes part in the work. `done` is called in any case,
   perhaps before this returns. */
void job_run(job *j, const job_request *r, job_done_fn done, void *user);
/* Cancels the job, which is then over soon. Call it from any thread, at any time before job_free. */
void job_cancel(job *j);
job_result *job_answer(job *j);
void job_free(job *j);

#endif
