/* The graph of an ONNX file, as far as it is needed to identify tensors: nodes in the order of computation. */
#ifndef REID_TOOLS_ONNX_GRAPH_H
#define REID_TOOLS_ONNX_GRAPH_H

#include <stddef.h>
#include <stdint.h>

enum { ONNX_INTS = 8 }; /* the widths of a Pad: batch, channels, rows, columns, first at the start, then at the end */

typedef enum onnx_pad { ONNX_PAD_GIVEN, ONNX_PAD_SAME_UPPER, ONNX_PAD_SAME_LOWER, ONNX_PAD_VALID } onnx_pad;

typedef struct onnx_node {
    char *name, *op;          /* op: such as "Conv", after the node's domain if that is not ONNX's own */
    char **inputs, **outputs; /* names of values; "" for an omitted input */
    size_t input_count, input_cap, output_count, output_cap;
    uint64_t strides[2], dilations[2], pads[4]; /* default to 1, 1 and 0; pads: top, left, bottom, right */
    uint64_t group, kernel[2];                  /* kernel: 0 if not stated */
    uint64_t ceil_mode, transposed;             /* transposed: transB of a Gemm */
    uint64_t axis;                              /* of a Concat or Split */
    uint64_t list[ONNX_INTS];                   /* perm of a Transpose, split of a Split; list_count numbers */
    size_t list_count;
    int scaled;                 /* 1: alpha, beta or transA of a Gemm are not those of a linear layer */
    uint64_t border[ONNX_INTS]; /* of a Pad whose border is an attribute: border_count is 8, else 0 */
    size_t border_count;
    int reflects;               /* 1: the mode of a Pad is not "constant" */
    float fill;                 /* of a Pad, if it is an attribute */
    onnx_pad pad;
    float epsilon;
} onnx_node;

/* An input that is a short list of whole numbers. */
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
