/* What an ONNX file computes, as far as it decides which tensor is which: nodes in the order of computation. */
#ifndef REID_TOOLS_ONNX_GRAPH_H
#define REID_TOOLS_ONNX_GRAPH_H

#include <stddef.h>
#include <stdint.h>

enum { ONNX_INTS = 8 }; /* a border of an image: of batch, channels, rows, columns, at the start and at the end */

typedef enum onnx_pad { ONNX_PAD_GIVEN, ONNX_PAD_SAME_UPPER, ONNX_PAD_SAME_LOWER, ONNX_PAD_VALID } onnx_pad;

typedef struct onnx_node {
    char *name, *op;          /* op: "Conv"; with its domain in front where that is not ONNX's own */
    char **inputs, **outputs; /* names of values; "" for an input that is left out */
    size_t input_count, input_cap, output_count, output_cap;
    uint64_t strides[2], dilations[2], pads[4]; /* 1, 1 and 0 where they do not stand; pads: top, left, bottom, right */
    uint64_t group, kernel[2];                  /* kernel: 0 where it does not stand */
    uint64_t ceil_mode, transposed;             /* of Gemm: transB */
    int scaled;                 /* of Gemm: alpha, beta or transA are not what they are in a linear layer */
    uint64_t border[ONNX_INTS]; /* of Pad, where it is an attribute: border_count is 8, else 0 */
    size_t border_count;
    int reflects;               /* of Pad: its mode is another than "constant" */
    float fill;                 /* of Pad, where it is an attribute */
    onnx_pad pad;
    float epsilon;
} onnx_node;

/* A short list of integers, whole numbers of a node's input. */
typedef struct onnx_ints {
    char *name;
    uint64_t values[ONNX_INTS];
    size_t count;
} onnx_ints;

typedef struct onnx_graph {
    onnx_node *nodes;
    size_t count, cap;
    onnx_ints *ints;
    size_t int_count, int_cap;
} onnx_graph;

/* NULL is allowed. */
void onnx_graph_free(onnx_graph *g);

#endif
