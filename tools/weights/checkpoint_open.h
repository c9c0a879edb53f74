/* A file or bytes in memory to a checkpoint, whatever wrote it:

       torch.save since 1.6     a zip archive with data.pkl                     torch_file.c
       torch.save 0.2 to 1.5    pickles, then storages ("legacy stream")        torch_file.c
       torch.save before that   a tar archive                                   torch_file.c
       safetensors, .wts                                                        foreign_file.c
       ONNX, whose tensors are named by onnx_names.c                            onnx_file.c
   What a pickle says about tensors is read by torch_state.c. */
#ifndef REID_TOOLS_CHECKPOINT_OPEN_H
#define REID_TOOLS_CHECKPOINT_OPEN_H

#include "weights/checkpoint.h"

/* Return 0 with the reason in why; *c is zeroed then. */
int checkpoint_open(checkpoint *c, const char *path, text *why);
int checkpoint_open_memory(checkpoint *c, const void *bytes, size_t size, text *why);
/* Sorts the tensors. Fails if there are none, or if a name is repeated within a group. Call it after adding tensors. */
int checkpoint_sort(checkpoint *c, text *why);

#endif
