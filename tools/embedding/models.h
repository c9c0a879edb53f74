/* The models of a command: opened, asked together, described for output files. */
#ifndef REID_TOOLS_MODELS_H
#define REID_TOOLS_MODELS_H

#include "base/choices.h"
#include "base/json_write.h"
#include "reid.h"

typedef struct model {
    reid_ctx *ctx;
    reid_info info;
    const char *weights; /* what messages call them: the file */
    reid_result result; /* of the last call */
    reid_error error;
} model;

typedef struct models {
    model at[MAX_MODELS];
    int count;
    int dim;   /* floats in a row: the models' dims together */
    int batch; /* pictures worth collecting */
} models;

/* The detail of a failed call, or the text of its code. */
const char *reason_of(const reid_error *error, reid_result result);
/* Says it, with the name of the weights if the detail does not begin with that. */
void say_model_error(const char *weights, const reid_error *error, reid_result result);

/* The one way to a handle: reid_create with desc's error in m->error; m->info tells what came of it. Without a word: 0
   when m->result is not REID_OK. */
int model_create(model *m, const reid_desc *desc);
/* The same, after saying why. */
int model_open(model *m, const reid_desc *desc);
/* NULL handles are allowed. */
void model_close(model *m);

/* All of them: `count` descs with the weights' names, at most MAX_MODELS. Returns 0 after saying which one failed and
   why. */
int models_open(models *all, const reid_desc *descs, int count);
/* One more behind those that are open. */
int models_add(models *all, const reid_desc *desc);
void models_close(models *all);

/* What all of them have seen of INT8's ranges; zeros where nothing is counted. models_close warns of it. */
reid_saturation models_saturation(const models *all);

/* 1 where threads that decode had better make pictures small at once: a GPU does so itself. */
int model_prepares(const model *m);
/* Bytes of the network's input for one crop, (height, width, 3). */
size_t model_input_bytes(const model *m);
/* Number i of the inputs that model_prepare has made. */
reid_image model_prepared(const model *m, const unsigned char *made, size_t i);
/* The network's inputs for n crops of one picture, (n, height, width, 3), where these take less than its `bytes` of
   pixels. NULL where they do not, where memory runs out and where a crop is refused: whoever embeds it is told
   why. */
unsigned char *model_prepare(const model *m, const reid_image *crops, size_t n, size_t bytes);

/* n rows of all->dim floats, each model's part in its place. The error names the model when there are two. */
int models_embed(models *all, const reid_image *images, int n, float *rows, text *why);

/* Member "models": an array with one object per model, what the embeddings are a function of, then how they were
   computed. */
void models_json(const models *all, json_writer *w);

#endif
