/* One request on its way: pictures to pixels on the service's threads, pixels to a queue, rows back. */
#ifndef REID_TOOLS_JOB_H
#define REID_TOOLS_JOB_H

#include "server/request.h"
#include "server/service.h"

typedef struct job job;

/* What is wanted. Everything that is pointed at stays until the job is over. */
typedef struct job_request {
    int first, models;       /* which of the service's models: their parts of a row stand side by side */
    const span *pictures;    /* [count] encoded pictures; NULL: rgb */
    const unsigned char *rgb; /* (count, height, width, 3) */
    size_t count;
    int height, width;
    const reid_box *boxes;   /* [box_count] of the one picture: a row for each; none: a row for each picture */
    size_t box_count;
    int priority;            /* PRIORITY_FIRST ... PRIORITY_LAST */
    long long timeout_us;    /* from `arrived` on; 0: none */
    double arrived;          /* clock_seconds */
    const char *field;       /* what an error calls a picture; one of several gets its number behind it */
} job_request;

/* Told once, on one of the service's threads, when it is over; then the job may be freed. */
typedef void (*job_done_fn)(void *user);

/* What came of it. */
typedef struct job_result {
    int status;              /* STATUS_OK, else the reason is in why */
    text why;
    float *rows;             /* (n, dim) */
    size_t n;
    int dim;
} job_result;

/* NULL if memory runs out. It counts as one that is not over until it is freed. */
job *job_create(service *s);
/* On one of the service's threads, on which it works, too. `done` is called in any case, perhaps before this
   returns. */
void job_run(job *j, const job_request *r, job_done_fn done, void *user);
/* Nobody wants it any more: it is over soon. From any thread, at any time before job_free. */
void job_cancel(job *j);
job_result *job_answer(job *j);
void job_free(job *j);

#endif
