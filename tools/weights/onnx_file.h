/* Reads ONNX files, which are protobuf messages: the initialisers become tensors, and the nodes are kept for
   onnx_names.h. */
#ifndef REID_TOOLS_ONNX_FILE_H
#define REID_TOOLS_ONNX_FILE_H

#include "weights/checkpoint.h"

/* 1 if the bytes at the start of a file look like ONNX, which has no magic number. */
int is_onnx(const unsigned char *p, size_t size);
/* Returns 0 with the reason in why. */
int read_onnx(checkpoint *c, text *why);

#endif
