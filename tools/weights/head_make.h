/* Layers behind the pooled features, under whatever names a file has for them, as the one that reid.h computes there:
   `projection.weight` (D, C) and `projection.bias` (D). */
#ifndef REID_TOOLS_HEAD_MAKE_H
#define REID_TOOLS_HEAD_MAKE_H

#include "weights/dialects.h"
#include "weights/new_tensors.h"

typedef struct made_head {
    checkpoint tensors;     /* in memory */
    text bytes;             /* what it looks into */
    uint64_t width;         /* D */
    const char *activation; /* "relu", "silu", "tanh" or NULL */
    size_t used;            /* tensors of the mapping that went into it: they are FATE_HEAD now */
} made_head;

/* layers: the order in which they are computed, with commas: one linear layer, batch norms before and after it, and an
   activation, "fc", "bnneck,fc" or "embedding.0,embedding.1,relu". A layer has the name of its tensors without .weight;
   what stands before the name may be left out where only one layer ends so. Batch norms are folded into the linear
   layer in double precision, with PyTorch's epsilon of 1e-5. features: C. Returns 0 with the reason in why; free it in
   any case. */
int head_make(made_head *h, const checkpoint *c, mapping *m, const char *layers, uint64_t features, text *why);
void head_free(made_head *h);

#endif
