/* Which tensor of an ONNX file is which: exporters join batch norms with convolutions and number what comes out, so
   names are found from what is computed. */
#ifndef REID_TOOLS_ONNX_NAMES_H
#define REID_TOOLS_ONNX_NAMES_H

#include "weights/dialects.h"

/* Gives the tensors of the convolutions in c, and of their batch norms, torchvision's names for the network whose
   convolutions they are, node by node, and says in c->network and c->last_stride what strides and padding decide. A
   batch norm that was joined with its convolution becomes one that only adds. Linear layers are turned to (outputs,
   inputs). Does nothing to other files and to graphs of other networks. asked: the network's name, or NULL. Returns 0
   with the reason in why: then a node does not fit. */
int onnx_name_tensors(checkpoint *c, const network *networks, size_t count, const char *asked, text *why);

#endif
