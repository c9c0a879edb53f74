/* The models of a command: opens them, runs them together, describes them for output files. */
#ifndef REID_TOOLS_MODELS_H
#define REID_TOOLS_MODELS_H

#include "base/choices.h"
#include "base/json_write.h"
#include "reid.h"

typedef struct model {
    reid_ctx *ctx;
    reid_info info;
    const char *weights; /* the file, for messages */
    reid_result result; /* of the last call */
    reid_error error;
} model;

typedef struct models {
    model at[MAX_MODELS];
    int count;
    int dim;   /* floats in a row: the models' dims together */
    int batch; /* how many images to collect for one call */
} models;

/* The error text of a failed call, or else the text of its code. */
const char *reason_of(const reid_error *error, reid_result result);
/* Reports the error, after the name of the weights unless the error text begins with it. */
void say_model_error(const char *weights, const reid_error *error, reid_result result);

/* For reid_desc.log_fn: reports what the library logs. */
void say_log(reid_log_level level, reid_result id, const char *message, void *user);

/* Calls reid_create, with the error in m->error, and sets m->info. Prints nothing. Returns 0 if m->result is not
   REID_OK. */
int model_create(model *m, const reid_desc *desc);
/* Like model_create, but reports an error. */
int model_open(model *m, const reid_desc *desc);
/* NULL handles are allowed. */
void model_close(model *m);

/* Opens `count` models, at most MAX_MODELS, each desc with the name of its weights. Returns 0 after reporting which one
   failed and why. */
int models_open(models *all, const reid_desc *descs, int count);
/* Opens another model after those that are open. */
int models_add(models *all, const reid_desc *desc);
void models_close(models *all);

/* INT8's saturation counts of all models together; zeros if nothing is counted. models_close warns about them. */
reid_saturation models_saturation(const models *all);

/* 1 if decoding threads should resize images at once; on a GPU the GPU does so. */
int model_prepares(const model *m);
/* Bytes of the network's input for one crop, (height, width, 3). */
size_t model_input_bytes(const model *m);
/* Input i of those that model_prepare returned. */
reid_image model_prepared(const model *m, const unsigned char *made, size_t i);
/* The network's inputs for n crops of one image, (n, height, width, 3), if these take less than the image's `bytes` of
   pixels. NULL if they do not, if memory runs out or if a crop is refused; embedding the crop then reports why. */
unsigned char *model_prepare(const model *m, const reid_image *crops, size_t n, size_t bytes);

/* How many batches should be under way at once: on GPUs as many as each model has lanes, at most MOST_LANES, otherwise
   1. */
enum { MOST_LANES = 7 };
int models_lanes(const models *all);
/* Threads that should decode images: `wanted`, at most `most`. If it is 0: on GPUs all CPUs but one for each lane, to
   feed it; otherwise a few, because models on a CPU need the others. all: NULL if no model uses the images. */
int models_decoders(const models *all, int wanted, int most);

/* Computes n rows of all->dim floats, in which the models' parts follow each other. If there are two models, the error
   names the one that failed. Several threads may call it at once. */
int models_embed(const models *all, const reid_image *images, int n, float *rows, text *why);

/* Writes the member "models": an array with one object per model, first what determines the embeddings, then how they
   were computed. */
void models_json(const models *all, json_writer *w);

#endif
