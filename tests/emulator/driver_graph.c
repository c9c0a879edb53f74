/* driver_graph.c: stream capture and graphs. A graph stores which node follows which, and runs them in a random order
   that respects this, so an edge that is missing because an event was not waited for is noticed. */
#include "driver.h"

static emu_capture *emu_captures;

/* ---- sets of nodes ---- */

int emu_nodes_add(emu_nodes *nodes, const emu_nodes *more) {
    for (unsigned i = 0; i < more->count; i++) {
        unsigned k = 0;
        while (k < nodes->count && nodes->numbers[k] != more->numbers[i]) k++;
        if (k < nodes->count) continue;
        unsigned *grown = (unsigned *)realloc(nodes->numbers, (nodes->count + 1) * sizeof *grown);
        if (!grown) return 0;
        nodes->numbers = grown;
        nodes->numbers[nodes->count++] = more->numbers[i];
    }
    return 1;
}

void emu_nodes_clear(emu_nodes *nodes) {
    free(nodes->numbers);
    nodes->numbers = NULL, nodes->count = 0;
}

/* ---- capture ---- */

void emu_capture_invalidate(emu_capture *capture) { capture->invalid = 1; }

/* Allocation and the like: a capture in global mode forbids it to every thread, one in thread-local mode to its own. */
int emu_capture_forbids(void) {
    int forbidden = 0;
    for (emu_capture *c = emu_captures; c; c = c->next) {
        if (c->mode == CU_STREAM_CAPTURE_MODE_RELAXED) continue;
        if (c->mode == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL && !pthread_equal(c->thread, pthread_self())) continue;
        c->invalid = forbidden = 1;
    }
    return forbidden;
}

int emu_captures_legacy(const emu_context *context) {
    for (emu_object *o = emu_object_first(context, EMU_STREAM); o; o = o->next) {
        emu_stream *s = (emu_stream *)(void *)o;
        if (o->kind != EMU_STREAM || !s->capture || s->flags & CU_STREAM_NON_BLOCKING) continue;
        s->capture->invalid = 1;
        return 1;
    }
    return 0;
}

CUresult emu_capture_op(emu_stream *stream, emu_op *op) {
    emu_graph *g = stream->capture->graph;
    if (stream->capture->invalid) {
        emu_op_free(op);
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    }
    if (op->kind == EMU_OP_GRAPH) { /* child graphs are not emulated */
        emu_op_free(op);
        stream->capture->invalid = 1;
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    if (g->count == g->capacity) {
        unsigned capacity = g->capacity ? 2 * g->capacity : 64;
        emu_op **grown = (emu_op **)realloc(g->nodes, capacity * sizeof *grown);
        if (!grown) {
            emu_op_free(op);
            return CUDA_ERROR_OUT_OF_MEMORY;
        }
        g->nodes = grown, g->capacity = capacity;
    }
    unsigned number = g->count;
    emu_nodes self = {&number, 1};
    op->after = stream->frontier.numbers, op->after_count = stream->frontier.count;
    stream->frontier.numbers = NULL, stream->frontier.count = 0;
    g->nodes[g->count++] = op;
    return emu_nodes_add(&stream->frontier, &self) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult emu_capture_record(emu_stream *stream, emu_event *event) {
    emu_nodes_clear(&event->frontier);
    event->capture = stream->capture;
    event->was_captured = 1;
    return emu_nodes_add(&event->frontier, &stream->frontier) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

/* A stream that waits for a captured event joins the capture. */
CUresult emu_capture_wait(emu_stream *stream, emu_event *event) {
    if (stream->capture && !event->capture) {
        stream->capture->invalid = 1;
        return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
    }
    if (stream->capture && stream->capture != event->capture) {
        stream->capture->invalid = event->capture->invalid = 1;
        return CUDA_ERROR_STREAM_CAPTURE_MERGE;
    }
    if (!stream->capture && stream->head) emu_drain_stream(stream);
    stream->capture = event->capture;
    return emu_nodes_add(&stream->frontier, &event->frontier) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult begin(CUstream handle, CUstreamCaptureMode mode) {
    emu_stream *s;
    CUresult r = emu_stream_get(handle, &s);
    if (r) return r;
    if (!s) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    if ((unsigned)mode > CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_ERROR_INVALID_VALUE;
    if (s->capture) return CUDA_ERROR_ILLEGAL_STATE;
    emu_capture *c = (emu_capture *)calloc(1, sizeof *c);
    emu_graph *g = (emu_graph *)emu_object_new(EMU_GRAPH, sizeof *g);
    if (!c || !g) {
        free(c);
        if (g) emu_object_free(g);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    c->origin = s, c->graph = g, c->mode = mode;
    c->thread = pthread_self();
    c->next = emu_captures;
    emu_captures = c;
    s->capture = c;
    return CUDA_SUCCESS;
}

EMU_API CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode) {
    EMU_CALL(EMU_CONTEXT, begin(stream, mode));
}

/* Every node without a successor must be in the frontier of the stream where the capture began. */
static int joined(const emu_graph *g, const emu_nodes *frontier) {
    for (unsigned n = 0; n < g->count; n++) {
        int reached = 0;
        for (unsigned k = 0; k < frontier->count; k++) reached |= frontier->numbers[k] == n;
        for (unsigned m = n + 1; m < g->count && !reached; m++)
            for (unsigned k = 0; k < g->nodes[m]->after_count; k++) reached |= g->nodes[m]->after[k] == n;
        if (!reached) return 0;
    }
    return 1;
}

/* Removes the capture from every stream and event that refers to it. */
static void forget(emu_capture *c) {
    const emu_context *context = c->origin->object.context;
    for (emu_object *o = emu_object_first(context, EMU_STREAM); o; o = o->next) {
        emu_stream *s = (emu_stream *)(void *)o;
        if (o->kind != EMU_STREAM || s->capture != c) continue;
        s->capture = NULL;
        emu_nodes_clear(&s->frontier);
    }
    for (emu_object *o = emu_object_first(context, EMU_EVENT); o; o = o->next) {
        emu_event *e = (emu_event *)(void *)o;
        if (o->kind != EMU_EVENT || e->capture != c) continue;
        e->capture = NULL;
        emu_nodes_clear(&e->frontier);
    }
    for (emu_capture **link = &emu_captures; *link; link = &(*link)->next) {
        if (*link != c) continue;
        *link = c->next;
        break;
    }
    free(c);
}

void emu_capture_abandon(emu_stream *stream) {
    if (!stream->capture) return;
    emu_graph_free(stream->capture->graph);
    forget(stream->capture);
}

static CUresult end(CUstream handle, CUgraph *graph) {
    emu_stream *s;
    CUresult r = emu_stream_get(handle, &s);
    if (r || !graph) return r ? r : CUDA_ERROR_INVALID_VALUE;
    *graph = NULL;
    if (!s || !s->capture) return CUDA_ERROR_ILLEGAL_STATE;
    emu_capture *c = s->capture;
    if (c->mode != CU_STREAM_CAPTURE_MODE_RELAXED && !pthread_equal(c->thread, pthread_self()))
        return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
    if (c->origin != s) {
        c->invalid = 1;
        return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
    }
    r = c->invalid                           ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
        : !joined(c->graph, &s->frontier) ? CUDA_ERROR_STREAM_CAPTURE_UNJOINED
                                             : CUDA_SUCCESS;
    if (r) emu_graph_free(c->graph);
    else *graph = (CUgraph)(void *)c->graph;
    forget(c);
    return r;
}

EMU_API CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph) { EMU_CALL(EMU_CONTEXT, end(stream, graph)); }

static CUresult status(CUstream handle, CUstreamCaptureStatus *to) {
    emu_stream *s;
    CUresult r = emu_stream_get(handle, &s);
    if (r || !to) return r ? r : CUDA_ERROR_INVALID_VALUE;
    *to = !s || !s->capture    ? CU_STREAM_CAPTURE_STATUS_NONE
          : s->capture->invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                                : CU_STREAM_CAPTURE_STATUS_ACTIVE;
    return CUDA_SUCCESS;
}

EMU_API CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *to) {
    EMU_CALL(EMU_CONTEXT, status(stream, to));
}
