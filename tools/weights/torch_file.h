/* Checkpoints that torch.save wrote, in its three forms. */
#ifndef REID_TOOLS_TORCH_FILE_H
#define REID_TOOLS_TORCH_FILE_H

#include "weights/checkpoint.h"

/* They return 0 with the reason in why. The checkpoint is closed by their caller. */
int read_torch_zip(checkpoint *c, text *why);
int read_torch_stream(checkpoint *c, text *why);
int read_torch_tar(checkpoint *c, text *why);

#endif
