/* What answers, behind the server and the worker: models with their queues, a gallery, and threads that decode. */
#ifndef REID_TOOLS_SERVICE_H
#define REID_TOOLS_SERVICE_H

#include "embedding/gpu_state.h"
#include "embedding/models.h"
#include "embedding/pipeline.h"
#include "gallery/gallery.h"
#include "scores/ask.h"
#include "server/pool.h"

typedef struct service_request {
    const reid_desc *models;        /* [count] */
    const char *const *names;       /* [count] what clients call them */
    int count;
    int limit;                      /* images that may wait for a model; 0: the queue's default */
    long long delay_us;             /* how long a free lane waits for a batch to fill */
    decode_settings decode;
    const gallery_request *gallery; /* NULL: there is none */
    const char *calibration;        /* path, or NULL */
    const double *weights;          /* as for ask_request */
    int weight_count, top;          /* top: identities that a client hears of unless it asks for another number */
    double threshold;
} service_request;

/* Counted since the start, by any thread. */
typedef struct service_counts {
    uint64_t decoded, not_decoded; /* pictures */
    uint64_t decode_ns, resize_ns; /* over both; to make them small before they wait for a model */
    uint64_t matched;              /* queries */
} service_counts;

typedef struct service_model {
    char *name;
    reid_queue *queue;
    int limit;                 /* images that may wait in it */
    long long last;            /* milliseconds since 1970 of the last row; 0: there was none */
    int pending, most_pending; /* images of jobs that are not over, those that are being decoded, too */
} service_model;

typedef struct service {
    models all;
    service_model model[MAX_MODELS]; /* beside all.at */
    pool *workers;
    int no_threads;                  /* 1: they could not be started */
    picture_limits pictures;
    size_t budget, held;             /* bytes of pictures, decoded or being decoded */
    gallery g;
    ask asked;
    calibration c;
    gpu_watch *gpu;                  /* of the first model; NULL: it is on the CPU, or there is no NVML */
    int has_gallery, top;
    int jobs, stopping;              /* jobs that are not over; 1: no more of them */
    int lost;                        /* 1: the GPU has reported an error */
    service_counts counts;
    double started;
} service;

/* Opens everything. Returns 0 after saying what is wrong; close it in any case. */
int service_open(service *s, const service_request *r);
/* No job may be running. */
void service_close(service *s);

/* The model with that name, or -1. */
int service_find(const service *s, const char *name);

/* No new jobs from now on. */
void service_stop(service *s);
int service_stopping(const service *s);
/* 1 when the GPU has reported an error: what comes after it may fail as well, until a new process begins. */
int service_lost(const service *s);
void service_note_lost(service *s);
/* Why service_open has failed, asked before service_close: 1 when it could succeed another time (no memory, a GPU that
   is in use or broken), 0 when it could not (wrong weights, wrong options). */
int service_may_open_later(const service *s);
/* How many jobs are not over. */
int service_jobs(const service *s);
/* Those that are not over end now, with STATUS_BUSY. */
void service_give_up(service *s);

#endif
