/* The storages and tensors that a pickle of torch names. */
#ifndef REID_TOOLS_TORCH_STATE_H
#define REID_TOOLS_TORCH_STATE_H

#include "weights/checkpoint.h"
#include "weights/pickle.h"

/* Tensors outside the pickle, by the text of their id: read_torch_tar knows them. */
typedef struct known_tensor {
    char *id;
    tensor what;
} known_tensor;

/* Storages that the pickle names: adds them to the checkpoint, sorted by key, with their sizes. */
int torch_storages(checkpoint *c, const pickle *p, text *why);
/* The storage of that key, or NULL. */
storage *torch_storage(checkpoint *c, const char *key, size_t len);
/* Adds every tensor that can be reached from the pickle's root. `known` is sorted by id. */
int torch_tensors(checkpoint *c, const pickle *p, known_tensor *known, size_t known_count, text *why);
/* The dtype of a storage class such as torch.FloatStorage; NULL with the reason in why. */
const dtype *torch_storage_type(const pickle *p, pickle_ref type, text *why);

#endif
