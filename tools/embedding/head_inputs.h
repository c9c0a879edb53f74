/* The inputs of a network's last linear layers, computed from images: the rows from which a head is fitted. */
#ifndef REID_TOOLS_HEAD_INPUTS_H
#define REID_TOOLS_HEAD_INPUTS_H

#include "embedding/models.h"
#include "embedding/stream.h"

enum { HEAD_LAYERS = 4 };

/* A pooled vector, flattened in PyTorch's order: channel, row, column. */
typedef struct head_vector {
    int op, height, width, channels;
    size_t first, dim; /* its columns in a row */
} head_vector;

/* A linear layer that follows a pooled vector. */
typedef struct head_layer {
    char name[64]; /* its tensors' name without .weight and .bias */
    char norm[64]; /* the following batch norm's; "": none */
    int op;        /* REID_OP_NONE: the model does not have this layer yet */
    int vector, rows;
    size_t first;  /* the first column of its output in a row */
} head_layer;

typedef struct head_inputs {
    model m;
    const char *written; /* the network that a file with a fitted head is for */
    head_vector vector[HEAD_LAYERS];
    head_layer layer[HEAD_LAYERS];
    int vectors, layers;
    size_t dim;          /* floats in a row: the vectors, then the model's present output, not normalised */
    size_t made_first, made;
} head_inputs;

/* Opens the model on the CPU in FP32, whatever desc says. Layers that the file lacks are generated from the seed.
   Returns 0 after reporting an error, for example that the network has no such head; close it in any case. */
int head_inputs_open(head_inputs *h, const reid_desc *desc);
void head_inputs_close(head_inputs *h);

/* Computes a row of h->dim floats for every image of the list, as an eval_source; user is a head_inputs. */
int head_inputs_run(void *user, const inputs *list, const decode_settings *how, stream_fn take, void *to);

#endif
