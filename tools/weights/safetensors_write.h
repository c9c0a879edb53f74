/* Writes a safetensors file: the header, then the values as the checkpoint delivers them. */
#ifndef REID_TOOLS_SAFETENSORS_WRITE_H
#define REID_TOOLS_SAFETENSORS_WRITE_H

#include "weights/checkpoint.h"
#include "base/files.h"

typedef struct outgoing {
    const char *name;
    const tensor *from;
    const checkpoint *of; /* the tensor's checkpoint */
    int ndim;
    uint64_t shape[MAX_DIMS];
} outgoing;

extern const output_kind WEIGHTS_FILE; /* the kind of these files, for pending_open */

/* Sorts the tensors (large elements first, then by name, so that all are aligned) and writes them to p. metadata: keys
   and values alternate; ends with NULL. *size: the file's bytes. Returns 0 with the reason in why. */
int safetensors_write(pending *p, outgoing *tensors, size_t count, const char *const *metadata, uint64_t *size,
                      text *why);

#endif
