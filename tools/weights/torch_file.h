/* Reads checkpoints that torch.save wrote, in its three formats. */
#ifndef REID_TOOLS_TORCH_FILE_H
#define REID_TOOLS_TORCH_FILE_H

#include "weights/checkpoint.h"

/* All of them return 0 with the reason in why; the caller closes the checkpoint in any case. */
int read_torch_zip(checkpoint *c, text *why);
int read_torch_stream(checkpoint *c, text *why);
int read_torch_tar(checkpoint *c, text *why);

#endif
