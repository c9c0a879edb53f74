/* Finds the storages and tensors that a pickle of torch refers to. */
#ifndef REID_TOOLS_TORCH_STATE_H
#define REID_TOOLS_TORCH_STATE_H

#include "weights/checkpoint.h"
#include "weights/pickle.h"

/* A tensor outside the pickle, with the text of its id, as read_torch_tar finds it. */
typedef struct known_tensor {
    char *id;
    tensor what;
} known_tensor;

/* Adds the storages that the pickle refers to, with their sizes, and sorts them by key. Returns 0 with the reason in
   why. */
int torch_storages(checkpoint *c, const pickle *p, text *why);
/* Finds the storage with that key; NULL if there is none. */
storage *torch_storage(checkpoint *c, const char *key, size_t len);
/* Adds every tensor that can be reached from the pickle's root. `known` must be sorted by id. Returns 0 with the reason
   in why. */
int torch_tensors(checkpoint *c, const pickle *p, known_tensor *known, size_t known_count, text *why);
/* The dtype of a storage class such as torch.FloatStorage; NULL with the reason in why. */
const dtype *torch_storage_type(const pickle *p, pickle_ref type, text *why);

#endif
