/* Tensors that were computed, as a checkpoint in memory, so that they are written as those of a file are. */
#ifndef REID_TOOLS_NEW_TENSORS_H
#define REID_TOOLS_NEW_TENSORS_H

#include "weights/checkpoint.h"

typedef struct new_tensor {
    char name[80];
    int ndim;
    uint64_t shape[2];
    const float *values;
} new_tensor;

/* *c must be zeroed, and looks into bytes from then on. Returns 0 with the reason in why; free both in any case. */
int new_tensors(checkpoint *c, const new_tensor *list, size_t count, text *bytes, text *why);

#endif
