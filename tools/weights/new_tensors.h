/* Makes a checkpoint in memory from computed tensors, so that they can be written like those of a file. */
#ifndef REID_TOOLS_NEW_TENSORS_H
#define REID_TOOLS_NEW_TENSORS_H

#include "weights/checkpoint.h"

typedef struct new_tensor {
    char name[80];
    int ndim;
    uint64_t shape[2];
    const float *values;
} new_tensor;

/* *c must be zeroed; it refers to `bytes` afterwards. Returns 0 with the reason in why; free both in any case. */
int new_tensors(checkpoint *c, const new_tensor *list, size_t count, text *bytes, text *why);

#endif
