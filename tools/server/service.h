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

typedef enum model_state { MODEL_READY, MODEL_LOADING, MODEL_UNAVAILABLE } model_state;

typedef struct model_view {
    model_state state; /* MODEL_READY: requests are answered, perhaps after the model was opened for them */
    text reason;       /* "" if there is none */
    uint64_t opened, failed, made_room; /* how often it was opened, could not be, and was closed for another model */
} model_view;

struct call;
struct service;

/* What opens and closes models while they are served; see keeper.h. Any thread may call these. */
typedef struct service_keeper {
    /* Takes a call that needs a model that is not open, or asks to load or unload one. Later it starts the call again,
       or ends it. Returns 0 if it takes no more calls. */
    int (*take)(struct service_keeper *k, struct call *c);
    void (*view)(struct service_keeper *k, const struct service *s, int index, model_view *out);
    int controlled; /* 1: clients may load and unload models */
} service_keeper;

typedef struct service_request {
    const reid_desc *models;        /* [count] */
    const char *const *names;       /* [count] their names for clients, which must outlive the service */
    const char *wanted;             /* [count] 1: opened by service_open; NULL: all are */
    int count;
    size_t memory;                  /* bytes that the models may use together; 0: no limit */
    int limit;                      /* images that may wait for a model; 0: the queue's default */
    long long delay_us;             /* how long a free lane waits for a batch to fill */
    decode_settings decode;
    const gallery_request *gallery; /* NULL: there is none; else all models are opened, and there are at most two */
    const char *calibration;        /* path, or NULL */
    const double *weights;          /* as for ask_request */
    int weight_count, top;          /* top: identities in an answer, unless the client asks for another number */
    double threshold;
    int timed;                      /* see service_shared */
    service_keeper *keeper;         /* opens models on demand; NULL: all models are open */
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

/* An open model with its queue. Several services may have it. */
typedef struct service_model {
    models one;
    const reid_info *info;     /* that of its only model */
    reid_queue *queue;
    int limit;                 /* images that may wait in it */
    long long last;            /* time of the last row in milliseconds since 1970; 0: there was none */
    int pending, most_pending; /* images of unfinished jobs, including those being decoded */
    service_batches recent;    /* used if the service is timed */
    int users;                 /* services that have it */
    int replaced;              /* 1: another one has taken its place */
} service_model;

/* What a service shares with those that replace it when a model is opened or closed. */
typedef struct service_shared {
    pool *workers;
    int no_threads;                  /* 1: threads could not be started */
    int may_open_later;              /* 1: a model could not be opened for lack of something that may be there later */
    picture_limits pictures;
    size_t budget, held;             /* bytes of images, decoded or being decoded */
    gallery g;
    ask asked;
    calibration c;
    models together;                 /* the models of the gallery; their owners are service_models */
    gpu_watch *gpu;                  /* the first model's GPU; NULL: it uses the CPU, or there is no NVML */
    int has_gallery, top;
    int timed;                       /* 1: each job's time in the queue and its batch are noted */
    int stopping;                    /* 1: new jobs are refused */
    int lost;                        /* 1: the GPU has reported an error */
    service_counts counts;
    double started;
    service_keeper *keeper;
    int users;                       /* services */
} service_shared;

/* The models that new requests find. They are not changed: to open or close one, a new service replaces this one, which
   finishes the requests that have begun. */
typedef struct service {
    service_shared *shared;
    const char *const *names; /* [count] */
    service_model **model;    /* [count]; NULL: the model is not open */
    int count;
    int jobs;                 /* unfinished jobs */
} service;

/* Opens everything. Returns 0 after reporting an error; close it in any case. */
int service_open(service *s, const service_request *r);
/* No job may be running. Closes what no other service has. */
void service_close(service *s);

/* Opens a model for one service or more, within `left` bytes (SIZE_MAX: no limit). Returns NULL after reporting an
   error, with the result in *result. */
service_model *service_model_open(const service_request *r, int index, size_t left, reid_result *result);
/* Closes a model that no service has; NULL is allowed. */
void service_model_close(service_model *m);
/* Bytes that it holds. */
size_t service_model_bytes(const service_model *m);
/* Makes a service that differs from another one in one model; m: NULL to leave it out. Returns NULL after reporting
   that memory ran out. Free it after service_close. */
service *service_with(const service *s, int index, service_model *m);

/* The state of a model; the caller frees the reason. */
void service_view(const service *s, int index, model_view *out);

/* The model with that name, or -1. */
int service_find(const service *s, const char *name);

/* Called on a thread of the model's queue when a request has ended: sets the mean size and seconds of the batches that
   have ended since the last call; if none has, those of the last call. */
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
