/* The models of a command: opened from its options, asked together, described for output files. */
#ifndef REID_TOOLS_MODELS_H
#define REID_TOOLS_MODELS_H

#include "cli/options.h"
#include "base/text.h"

typedef struct model {
    reid_ctx *ctx;
    reid_info info;
    const char *weights;
    reid_result result; /* of reid_create */
    reid_error error;
} model;

typedef struct models {
    model at[MAX_MODELS];
    int count;
    int dim;   /* floats in a row: the models' dims together */
    int batch; /* pictures worth collecting */
} models;

/* What reid_create is asked for. */
reid_desc model_desc(const options *o, const model_options *m, reid_error *error);
/* The detail of a failed call, or the text of its code. */
const char *reason_of(const reid_error *error, reid_result result);
/* Says it, with the name of the weights if the detail does not begin with that. */
void say_model_error(const char *weights, const reid_error *error, reid_result result);

/* Opens all of them. Returns 0 after saying which one failed and why. */
int models_open(models *all, const options *o);
void models_close(models *all);

/* n rows of all->dim floats, each model's part in its place. The error names the model when there are two. */
int models_embed(models *all, const reid_image *images, int n, float *rows, text *why);

/* A JSON array with one object per model: what the embeddings are a function of, then how they were computed. */
void models_json(const models *all, text *out);

#endif
