/* Checkpoints that torch.save did not write. */
#ifndef REID_TOOLS_FOREIGN_FILE_H
#define REID_TOOLS_FOREIGN_FILE_H

#include "weights/checkpoint.h"

/* Both return 0 with the reason in why; the caller closes the checkpoint in any case. */
int read_safetensors(checkpoint *c, text *why);
int read_wts(checkpoint *c, text *why);

#endif
