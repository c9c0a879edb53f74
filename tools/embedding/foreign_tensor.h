/* A tensor of PyTorch or safetensors as rows. */
#ifndef REID_TOOLS_FOREIGN_TENSOR_H
#define REID_TOOLS_FOREIGN_TENSOR_H

#include "embedding/foreign_rows.h"

/* 1 for the first bytes of a zip archive, a pickle or safetensors. */
int foreign_tensor_is(const unsigned char *start, size_t size);
/* Returns 0 with the reason in why. */
int foreign_tensor_read(foreign_rows *f, const char *path, const unsigned char *start, size_t size, text *why);

#endif
