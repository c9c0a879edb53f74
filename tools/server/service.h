/* The part that the server and the worker share: models with their queues, a gallery, and decoding threads. */
#ifndef REID_TOOLS_SERVICE_H
#define REID_TOOLS_SERVICE_H

#include "embedding/gpu_state.h"
#include "embedding/models.h"
#include "embedding/pipeline.h"
#include "gallery/gallery.h"
#include "scores/ask.h"
#include "server/pool.h"

#include <pthread.h>

typedef struct service_request {
    const reid_desc *models;        /* [count] */
    const char *const *names;       /* [count] their names for clients */
    int count;
    int limit;                      /* images that may wait for a model; 0: the queue's default */
    long long delay_us;             /* how long a free lane waits for a batch to fill */
    decode_settings decode;
    const gallery_request *gallery; /* NULL: there is none */
    const char *calibration;        /* path, or NULL */
    const double *weights;          /* as for ask_request */
    int weight_count, top;          /* top: identities in an answer, unless the client asks for another number */
    double threshold;
    int timed;                      /* see service */
} service_request;

/* Counted since the start, by all threads. */
typedef struct service_counts {
    uint64_t decoded, not_decoded; /* encoded images */
    uint64_t decode_ns, resize_ns; /* decode: of both kinds; resize: shrinking before they wait for a model */
    uint64_t matched;              /* queries */
} service_counts;

/* The batches of a model that have ended most recently. */
typedef struct service_batches {
    pthread_mutex_t lock;
    uint64_t batches, images, compute_ns; /* those of the queue when they were last read */
    double size, seconds;                 /* mean over the batches that ended between the last two readings */
} service_batches;

typedef struct service_model {
    char *name;
    reid_queue *queue;
    int limit;                 /* images that may wait in it */
    long long last;            /* time of the last row in milliseconds since 1970; 0: there was none */
    int pending, most_pending; /* images of unfinished jobs, including those being decoded */
    service_batches recent;    /* used if the service is timed */
} service_model;

typedef struct service {
    models all;
    service_model model[MAX_MODELS]; /* same indices as all.at */
    pool *workers;
    int no_threads;                  /* 1: threads could not be started */
    picture_limits pictures;
    size_t budget, held;             /* bytes of images, decoded or being decoded */
    gallery g;
    ask asked;
    calibration c;
    gpu_watch *gpu;                  /* the first model's GPU; NULL: it uses the CPU, or there is no NVML */
    int has_gallery, top;
    int timed;                       /* 1: each job's time in the queue and its batch are noted */
    int jobs, stopping;              /* unfinished jobs; 1: new jobs are refused */
    int lost;                        /* 1: the GPU has reported an error */
    service_counts counts;
    double started;
} service;

/* Opens everything. Returns 0 after reporting an error; close it in any case. */
int service_open(service *s, const service_request *r);
/* No job may be running. */
void service_close(service *s);

/* The model with that name, or -1. */
int service_find(const service *s, const char *name);

/* Called on a thread of the model's queue when a request has ended: sets the mean size of the batches that have ended
   since the last call, or of the last ones before, and their mean seconds. */
void service_note_batch(service_model *m, double *size, double *seconds);

/* Refuses new jobs from now on. */
void service_stop(service *s);
int service_stopping(const service *s);
/* Returns 1 if the GPU has reported an error: everything after it may fail, too, until the process is restarted. */
int service_lost(const service *s);
void service_note_lost(service *s);
/* After service_open has failed, and before service_close: 1 if it may succeed later (out of memory, a GPU that is in
   use or broken), 0 if it cannot (wrong weights, wrong options). */
int service_may_open_later(const service *s);
/* The number of unfinished jobs. */
int service_jobs(const service *s);
/* Ends all unfinished jobs now, with STATUS_BUSY. */
void service_give_up(service *s);

#endif
