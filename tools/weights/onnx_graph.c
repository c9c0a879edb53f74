#include "weights/onnx_graph.h"

#include <stdlib.h>

void onnx_graph_free(onnx_graph *g) {
    if (!g) return;
    for (size_t i = 0; i < g->count; i++) {
        onnx_node *n = &g->nodes[i];
        for (size_t k = 0; k < n->input_count; k++) free(n->inputs[k]);
        for (size_t k = 0; k < n->output_count; k++) free(n->outputs[k]);
        free(n->inputs);
        free(n->outputs);
        free(n->name);
        free(n->op);
    }
    for (size_t i = 0; i < g->int_count; i++) free(g->ints[i].name);
    free(g->nodes);
    free(g->ints);
    free(g);
}
