/* What goes into the last linear layers of a network, which pictures make: the rows from which a head is fitted. */
#ifndef REID_TOOLS_HEAD_INPUTS_H
#define REID_TOOLS_HEAD_INPUTS_H

#include "embedding/models.h"
#include "embedding/stream.h"

enum { HEAD_LAYERS = 4 };

/* A pooled vector, flattened as PyTorch does it: channel, row, column. */
typedef struct head_vector {
    int op, height, width, channels;
    size_t first, dim; /* its columns in a row */
} head_vector;

/* A linear layer behind one of them. */
typedef struct head_layer {
    char name[64]; /* of its tensors, without .weight and .bias */
    char norm[64]; /* of the batch norm behind it; "": there is none */
    int op;        /* REID_OP_NONE: the model has none of these yet */
    int vector, rows;
    size_t first;  /* where its output begins in a row */
} head_layer;

typedef struct head_inputs {
    model m;
    const char *written; /* the network that a file with a fitted head is of */
    head_vector vector[HEAD_LAYERS];
    head_layer layer[HEAD_LAYERS];
    int vectors, layers;
    size_t dim;          /* floats in a row: the vectors, then what the model makes of them today, not normalised */
    size_t made_first, made;
} head_inputs;

/* On the CPU in FP32, whatever desc says. Layers that the file lacks are made by the seed. Returns 0 after saying what
   is wrong, which can be that the network has no such head; close it in any case. */
int head_inputs_open(head_inputs *h, const reid_desc *desc);
void head_inputs_close(head_inputs *h);

/* A row of h->dim floats for every picture of the list, as eval_source has it; user is a head_inputs. */
int head_inputs_run(void *user, const inputs *list, const decode_settings *how, stream_fn take, void *to);

#endif
