/* Copies a weight file and replaces its last layers. */
#ifndef REID_TOOLS_HEAD_WRITE_H
#define REID_TOOLS_HEAD_WRITE_H

#include "base/files.h"
#include "weights/new_tensors.h"

typedef struct head_write_request {
    const char *from, *to;         /* safetensors */
    const new_tensor *tensors;
    size_t count;
    const char *const *replaced;   /* tensors whose names, without prefixes, begin with one of these are left out; ends
                                      with NULL */
    const char *const *metadata;   /* keys and values alternate; ends with NULL */
    /* Examines the finished file before it is renamed to `to`. Returns 0 with the reason in why. */
    int (*check)(void *user, const char *path, text *why);
    void *user;
} head_write_request;

/* All other tensors keep their names and bits. The file appears complete or not at all; *size: its bytes. Returns 0
   with the reason in why. */
int head_write(const head_write_request *r, uint64_t *size, text *why);

#endif
