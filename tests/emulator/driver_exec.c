/* driver_exec.c: executable graphs: copies of a graph's nodes, and how they run. */
#include "driver.h"

static uint64_t emu_order;

static void free_nodes(emu_op **nodes, unsigned count) {
    for (unsigned i = 0; i < count; i++) emu_op_free(nodes[i]);
    free(nodes);
}

void emu_graph_free(emu_graph *graph) {
    free_nodes(graph->nodes, graph->count);
    emu_object_free(graph);
}

void emu_exec_free(emu_exec *exec) {
    free_nodes(exec->nodes, exec->count);
    emu_object_free(exec);
}

static emu_op *duplicate(const emu_op *op) {
    emu_op *copy = (emu_op *)malloc(sizeof *copy);
    if (!copy) return NULL;
    *copy = *op;
    copy->after = (unsigned *)malloc((op->after_count + 1) * sizeof *copy->after);
    copy->launch.params = emu_params_copy(&op->launch);
    copy->staged = NULL;
    if (!copy->after || (op->launch.params && !copy->launch.params)) {
        emu_op_free(copy);
        return NULL;
    }
    if (op->after_count) memcpy(copy->after, op->after, op->after_count * sizeof *copy->after);
    return copy;
}

static CUresult instantiate(CUgraphExec *handle, CUgraph graph_handle) {
    emu_graph *g = (emu_graph *)(void *)graph_handle;
    if (!handle || !emu_object_is(g, EMU_GRAPH)) return CUDA_ERROR_INVALID_VALUE;
    emu_exec *e = (emu_exec *)emu_object_new(EMU_EXEC, sizeof *e);
    if (!e) return CUDA_ERROR_OUT_OF_MEMORY;
    e->nodes = (emu_op **)calloc(g->count + 1, sizeof *e->nodes);
    while (e->nodes && e->count < g->count && (e->nodes[e->count] = duplicate(g->nodes[e->count])) != NULL) e->count++;
    if (!e->nodes || e->count < g->count) {
        emu_exec_free(e);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *handle = (CUgraphExec)(void *)e;
    return CUDA_SUCCESS;
}

EMU_API CUresult cuGraphInstantiateWithFlags(CUgraphExec *exec, CUgraph graph, unsigned long long flags) {
    EMU_CALL(EMU_CONTEXT, flags ? CUDA_ERROR_NOT_SUPPORTED : instantiate(exec, graph));
}

EMU_API CUresult cuGraphInstantiate_v2(CUgraphExec *exec, CUgraph graph, CUgraphNode *bad_node, char *log,
                                       size_t size) {
    if (bad_node) *bad_node = NULL;
    if (log && size) *log = 0;
    EMU_CALL(EMU_CONTEXT, instantiate(exec, graph));
}

static CUresult get_nodes(CUgraph handle, CUgraphNode *nodes, size_t *count) {
    emu_graph *g = (emu_graph *)(void *)handle;
    if (!count || !emu_object_is(g, EMU_GRAPH)) return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; nodes && i < *count; i++) nodes[i] = i < g->count ? (CUgraphNode)(void *)g->nodes[i] : NULL;
    if (!nodes || *count > g->count) *count = g->count;
    return CUDA_SUCCESS;
}

EMU_API CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode *nodes, size_t *count) {
    EMU_CALL(EMU_CONTEXT, get_nodes(graph, nodes, count));
}

/* Runs a node and those that programmatic edges join to it, one after the other, and marks them as done. */
static unsigned overlapping(const emu_exec *exec, unsigned last, unsigned char *done, emu_op **ops) {
    unsigned count = 1;
    done[last] = 1;
    for (unsigned n = 0; n < exec->count && count < EMU_MOST_KERNELS; n++) {
        emu_op *op = exec->nodes[n];
        int follows = op->after_count == 1 && op->after[0] == last;
        if (done[n] || !follows || !emu_may_overlap(exec->nodes[last], op)) continue;
        ops[count++] = op;
        done[n] = 1, last = n; /* numbers rise along the edges */
    }
    return count;
}

/* Runs the nodes in a random order that respects the edges. Seed 0: in the order of capture. */
CUresult emu_exec_run(emu_context *context, emu_exec *exec) {
    if (!emu_order) emu_order = emu_get_settings()->seed;
    unsigned char *done = (unsigned char *)calloc(exec->count + 1, 1);
    CUresult r = done ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    for (unsigned ran = 0; ran < exec->count && !r; ran++) {
        unsigned chosen = 0, ready = 0;
        for (unsigned n = 0; n < exec->count; n++) {
            int waits = done[n];
            for (unsigned k = 0; k < exec->nodes[n]->after_count; k++) waits |= !done[exec->nodes[n]->after[k]];
            if (waits) continue;
            ready++;
            if (ready == 1 || (emu_get_settings()->seed && emu_random(&emu_order) % ready == 0)) chosen = n;
        }
        emu_op *ops[EMU_MOST_KERNELS] = {exec->nodes[chosen]};
        unsigned count = overlapping(exec, chosen, done, ops);
        r = count > 1 ? emu_kernels_run(ops, count) : emu_op_run(context, ops[0]);
        ran += count - 1;
    }
    free(done);
    return r;
}

static CUresult launch(CUgraphExec handle, CUstream stream) {
    emu_stream *s;
    emu_exec *e = (emu_exec *)(void *)handle;
    CUresult r = emu_stream_get(stream, &s);
    if (r) return r;
    if (!emu_object_is(e, EMU_EXEC)) return CUDA_ERROR_INVALID_VALUE;
    if (e->object.context != emu_current()) return CUDA_ERROR_INVALID_CONTEXT;
    emu_op *op = (emu_op *)calloc(1, sizeof *op);
    if (!op) return CUDA_ERROR_OUT_OF_MEMORY;
    op->kind = EMU_OP_GRAPH, op->exec = e;
    return emu_enqueue(stream, op);
}

EMU_API CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream) { EMU_CALL(EMU_CONTEXT, launch(exec, stream)); }

static CUresult upload(CUgraphExec handle, CUstream stream) {
    emu_stream *s;
    return emu_object_is(handle, EMU_EXEC) ? emu_stream_get(stream, &s) : CUDA_ERROR_INVALID_VALUE;
}

EMU_API CUresult cuGraphUpload(CUgraphExec exec, CUstream stream) { EMU_CALL(EMU_CONTEXT, upload(exec, stream)); }

static CUresult destroy_exec(CUgraphExec handle) {
    if (!emu_object_is(handle, EMU_EXEC)) return CUDA_ERROR_INVALID_VALUE;
    emu_drain_context(emu_current()); /* launches of it may still be queued */
    emu_exec_free((emu_exec *)(void *)handle);
    return CUDA_SUCCESS;
}

EMU_API CUresult cuGraphExecDestroy(CUgraphExec exec) { EMU_CALL(EMU_CONTEXT | EMU_FREES, destroy_exec(exec)); }

static CUresult destroy_graph(CUgraph handle) {
    if (!emu_object_is(handle, EMU_GRAPH)) return CUDA_ERROR_INVALID_VALUE;
    emu_graph_free((emu_graph *)(void *)handle);
    return CUDA_SUCCESS;
}

EMU_API CUresult cuGraphDestroy(CUgraph graph) { EMU_CALL(EMU_CONTEXT | EMU_FREES, destroy_graph(graph)); }
