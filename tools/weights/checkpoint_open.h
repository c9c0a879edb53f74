/* Opens a checkpoint from a file or from bytes in memory, in any of these formats:

       torch.save since 1.6     a zip archive with data.pkl                     torch_file.c
       torch.save 0.2 to 1.5    pickles, then storages ("legacy stream")        torch_file.c
       torch.save before that   a tar archive                                   torch_file.c
       safetensors, .wts                                                        foreign_file.c
       ONNX, whose tensors onnx_names.c names                                   onnx_file.c
   torch_state.c interprets the pickles: which values are storages and tensors. */
#ifndef REID_TOOLS_CHECKPOINT_OPEN_H
#define REID_TOOLS_CHECKPOINT_OPEN_H

#include "weights/checkpoint.h"

/* All return 0 with the reason in why; *c is then zeroed. */
int checkpoint_open(checkpoint *c, const char *path, text *why);
int checkpoint_open_memory(checkpoint *c, const void *bytes, size_t size, text *why);
/* Accepts a single tensor, too, which the others refuse because it is not the weights of a network. */
int checkpoint_open_tensor(checkpoint *c, const char *path, text *why);
/* Sorts the tensors. Fails if there are none, or if a name is repeated within a group. Call it after adding tensors. */
int checkpoint_sort(checkpoint *c, text *why);

#endif
