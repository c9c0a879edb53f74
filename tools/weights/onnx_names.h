/* Identifies the tensors of an ONNX file. Exporters fold batch norms into convolutions and number the results, so the
   tensors are identified by what the graph computes. */
#ifndef REID_TOOLS_ONNX_NAMES_H
#define REID_TOOLS_ONNX_NAMES_H

#include "weights/dialects.h"

/* What a graph says about the trunk of a ResNet: see trunk_of. */
void onnx_trunk_of(const checkpoint *c, char trunk[TRUNK_NAME]);

/* Finds the network whose convolutions are those of c, node by node, and gives the tensors of the convolutions and of
   their batch norms torchvision's names. Sets c->network and c->last_stride where padding and strides determine them. A
   batch norm that was folded into its convolution becomes one that only adds. Weights of linear layers are transposed
   to (outputs, inputs). The exponent of a generalised mean becomes pool_layer.p. The names of a ResNet whose first max
   pool is fast-reid's begin with "backbone.", as in its files. Does nothing to files that are not ONNX and to graphs of
   other networks. asked: the network's name, or NULL. Returns 0 with the reason in why if a node does not fit. */
int onnx_name_tensors(checkpoint *c, const network *networks, size_t count, const char *asked, text *why);

#endif
