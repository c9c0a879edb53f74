/* Combines layers after the pooled features, whatever names the file gives them, into the single layer that reid.h
   computes there: `projection.weight` (D, C) and `projection.bias` (D). */
#ifndef REID_TOOLS_HEAD_MAKE_H
#define REID_TOOLS_HEAD_MAKE_H

#include "weights/dialects.h"
#include "weights/new_tensors.h"

typedef struct made_head {
    checkpoint tensors;     /* in memory */
    text bytes;             /* the bytes that `tensors` refers to */
    uint64_t width;         /* D */
    const char *activation; /* "relu", "silu", "tanh" or NULL */
    size_t used;            /* the number of tensors of the mapping that were used; they are now FATE_HEAD */
} made_head;

/* layers: the layers in the order of computation, separated by commas: one linear layer, batch norms before and after
   it, and an activation, such as "fc", "bnneck,fc" or "embedding.0,embedding.1,relu". A layer's name is that of its
   tensors without .weight; its first parts may be omitted if only one layer ends with the rest. Batch norms are folded
   into the linear layer in double precision, with PyTorch's epsilon of 1e-5 unless an ONNX file states another.
   features: C. Returns 0 with the reason in why; free it in any case. */
int head_make(made_head *h, const checkpoint *c, mapping *m, const char *layers, uint64_t features, text *why);
void head_free(made_head *h);

#endif
