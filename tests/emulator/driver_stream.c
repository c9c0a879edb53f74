/* driver_stream.c: streams are queues, and nothing in them happens before a call that waits for it. A program that
   forgets to wait sees old data. If several streams have work, they take turns in a random order. */
#include <time.h>

#include "driver.h"

static uint64_t emu_order;

CUresult emu_stream_get(CUstream handle, emu_stream **stream) {
    *stream = NULL;
    if (!handle || handle == CU_STREAM_LEGACY) return CUDA_SUCCESS;
    if (!emu_object_is(handle, EMU_STREAM)) return CUDA_ERROR_INVALID_HANDLE;
    *stream = (emu_stream *)(void *)handle;
    return (*stream)->object.context == emu_current() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

/* ---- one operation ---- */

void emu_op_free(emu_op *op) {
    if (!op) return;
    if (op->mark) emu_mark_release(op->mark);
    free(op->staged), free(op->launch.params), free(op->after), free(op);
}

static int still_there(uintptr_t pointer, size_t bytes) {
    emu_allocation *a = emu_find(pointer);
    return a && bytes <= a->bytes - (pointer - a->base);
}

static CUresult run_copy(const emu_op *op) {
    char place[200];
    uintptr_t to = op->to, from = op->from;
    uintptr_t gone = op->direction != EMU_DEVICE_TO_HOST && !still_there(to, op->bytes)     ? to
                     : op->direction != EMU_HOST_TO_DEVICE && !still_there(from, op->bytes) ? from
                                                                                            : 0;
    if (gone) {
        emu_describe(gone, place, sizeof place);
        emu_report("a queued or captured copy of %zu bytes uses 0x%zx, %s", op->bytes, (size_t)gone, place);
        return CUDA_ERROR_ILLEGAL_ADDRESS;
    }
    memmove((void *)to, op->staged ? op->staged : (const void *)from, op->bytes);
    emu_mark_filled(to, op->bytes);
    return CUDA_SUCCESS;
}

static CUresult run_set(const emu_op *op) {
    if (!still_there(op->to, op->bytes)) {
        emu_report("a captured memset of %zu bytes uses freed memory", op->bytes);
        return CUDA_ERROR_ILLEGAL_ADDRESS;
    }
    if (op->width == 1) memset((void *)op->to, (int)op->value, op->bytes);
    else
        for (size_t i = 0; i < op->bytes; i += op->width) memcpy((char *)op->to + i, &op->value, op->width);
    emu_mark_filled(op->to, op->bytes);
    return CUDA_SUCCESS;
}

int emu_may_overlap(const emu_op *op, const emu_op *next) {
    return op->kind == EMU_OP_KERNEL && next->kind == EMU_OP_KERNEL && next->launch.programmatic;
}

CUresult emu_kernels_run(emu_op *const *ops, unsigned count) {
    const emu_launch *launches[EMU_MOST_KERNELS];
    for (unsigned i = 0; i < count; i++) {
        launches[i] = &ops[i]->launch;
        if (emu_function_get((CUfunction)(void *)launches[i]->function)) continue;
        emu_report("a graph launches a kernel of a module that has been unloaded");
        return CUDA_ERROR_INVALID_HANDLE;
    }
    return emu_run_launches(launches, count);
}

CUresult emu_op_run(emu_context *context, emu_op *op) {
    struct timespec now;
    switch (op->kind) {
    case EMU_OP_KERNEL: return emu_kernels_run(&op, 1);
    case EMU_OP_COPY: return run_copy(op);
    case EMU_OP_SET: return run_set(op);
    case EMU_OP_GRAPH: return emu_exec_run(context, op->exec);
    case EMU_OP_RECORD:
        clock_gettime(CLOCK_MONOTONIC, &now);
        op->mark->time = (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
        op->mark->done = 1;
        return CUDA_SUCCESS;
    case EMU_OP_WAIT: break;
    }
    return CUDA_SUCCESS;
}

/* ---- queues ---- */

static void pop(emu_stream *stream) {
    emu_op *op = stream->head;
    stream->head = op->next;
    if (!stream->head) stream->tail = NULL;
    emu_op_free(op);
}

void emu_stream_discard(emu_stream *stream) {
    while (stream->head) {
        if (stream->head->kind == EMU_OP_RECORD) stream->head->mark->done = 1;
        pop(stream);
    }
}

int emu_step(emu_stream *stream) {
    emu_context *context = stream->object.context;
    emu_op *op = stream->head;
    if (context->fault) emu_stream_discard(stream);
    if (context->fault || !op) return 0;
    if (op->kind == EMU_OP_WAIT && !op->mark->done) return 0;
    emu_op *ops[EMU_MOST_KERNELS] = {op};
    unsigned count = 1;
    for (; count < EMU_MOST_KERNELS && op->next && emu_may_overlap(op, op->next); op = op->next)
        ops[count++] = op->next;
    CUresult r = count > 1 ? emu_kernels_run(ops, count) : emu_op_run(context, op);
    if (r && !context->fault) context->fault = r;
    while (count-- > 0) pop(stream);
    return 1;
}

/* Runs one operation of the stream, with the following kernels that overlap it; first the operations of other streams
   for which it waits. */
static void advance(emu_stream *stream) {
    if (!emu_step(stream) && stream->head) emu_mark_finish(stream->head->mark);
}

void emu_mark_finish(emu_mark *mark) {
    while (!mark->done && mark->stream->head) advance(mark->stream);
}

CUresult emu_drain_stream(emu_stream *stream) {
    emu_device_memory_open(1);
    while (stream->head) advance(stream);
    emu_device_memory_open(0);
    return stream->object.context->fault;
}

/* A random one of the streams that have work; only blocking ones if asked. */
static emu_stream *pick(const emu_context *context, int blocking_only) {
    emu_stream *chosen = NULL;
    unsigned seen = 0;
    for (emu_object *o = emu_object_first(context, EMU_STREAM); o; o = o->next) {
        emu_stream *s = (emu_stream *)(void *)o;
        if (o->kind != EMU_STREAM || o->context != context || !s->head) continue;
        if (blocking_only && s->flags & CU_STREAM_NON_BLOCKING) continue;
        if (emu_random(&emu_order) % ++seen == 0) chosen = s;
    }
    return chosen;
}

static CUresult drain(emu_context *context, int blocking_only) {
    emu_stream *s;
    if (!emu_order) emu_order = emu_get_settings()->seed;
    emu_device_memory_open(1);
    while ((s = pick(context, blocking_only)) != NULL) advance(s);
    emu_device_memory_open(0);
    return context->fault;
}

CUresult emu_drain_context(emu_context *context) { return drain(context, 0); }
CUresult emu_drain_blocking(emu_context *context) { return drain(context, 1); }

/* The legacy stream waits for all blocking streams, and they for it: its work is done at once. */
static CUresult run_legacy(emu_op *op) {
    emu_context *context = emu_current();
    if (emu_captures_legacy(context)) {
        emu_op_free(op);
        return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    }
    CUresult r = emu_drain_blocking(context);
    emu_device_memory_open(1);
    if (!r && op->kind == EMU_OP_WAIT) emu_mark_finish(op->mark);
    if (!r) r = emu_op_run(context, op);
    emu_device_memory_open(0);
    if (r && !context->fault) context->fault = r;
    emu_op_free(op);
    return r;
}

CUresult emu_enqueue(CUstream handle, emu_op *op) {
    emu_stream *stream;
    CUresult r = emu_stream_get(handle, &stream);
    if (r) {
        emu_op_free(op);
        return r;
    }
    if (!stream) return run_legacy(op);
    if (stream->capture) return emu_capture_op(stream, op);
    if (emu_get_settings()->pace.on) {
        emu_pace_op(stream, op);
        return CUDA_SUCCESS;
    }
    if (stream->tail) stream->tail->next = op;
    else stream->head = op;
    stream->tail = op;
    return emu_get_settings()->eager ? emu_drain_stream(stream) : CUDA_SUCCESS;
}

/* ---- the API ---- */

static CUresult create(CUstream *handle, unsigned flags) {
    if (!handle || flags > CU_STREAM_NON_BLOCKING) return CUDA_ERROR_INVALID_VALUE;
    emu_stream *s = (emu_stream *)emu_object_new(EMU_STREAM, sizeof *s);
    if (!s) return CUDA_ERROR_OUT_OF_MEMORY;
    s->flags = flags;
    *handle = (CUstream)(void *)s;
    return CUDA_SUCCESS;
}

EMU_API CUresult cuStreamCreate(CUstream *stream, unsigned flags) { EMU_CALL(EMU_CONTEXT, create(stream, flags)); }

EMU_API CUresult cuStreamCreateWithPriority(CUstream *stream, unsigned flags, int priority) {
    (void)priority;
    EMU_CALL(EMU_CONTEXT, create(stream, flags));
}

static CUresult destroy(CUstream handle) {
    emu_stream *s;
    CUresult r = emu_stream_get(handle, &s);
    if (r || !s) return CUDA_ERROR_INVALID_HANDLE;
    emu_capture_abandon(s);
    emu_drain_stream(s);
    emu_object_free(s);
    return CUDA_SUCCESS;
}

EMU_API CUresult cuStreamDestroy_v2(CUstream stream) { EMU_CALL(EMU_CONTEXT | EMU_FREES, destroy(stream)); }

/* Waiting for a stream that is being captured is an error, and invalidates the capture. */
static CUresult captured(emu_stream *s) {
    if (!s) return emu_captures_legacy(emu_current()) ? CUDA_ERROR_STREAM_CAPTURE_IMPLICIT : CUDA_SUCCESS;
    if (!s->capture) return CUDA_SUCCESS;
    emu_capture_invalidate(s->capture);
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

static CUresult synchronize(CUstream handle) {
    emu_stream *s;
    CUresult r = emu_stream_get(handle, &s);
    if (r || (r = captured(s)) != CUDA_SUCCESS) return r;
    if (s) emu_pace_wait(s->ready);
    return s ? emu_drain_stream(s) : emu_drain_blocking(emu_current());
}

EMU_API CUresult cuStreamSynchronize(CUstream stream) { EMU_CALL(EMU_CONTEXT, synchronize(stream)); }

/* Each query lets one operation happen, so that polling comes to an end. */
void emu_poll(emu_stream *stream) {
    emu_device_memory_open(1);
    if (stream->head) advance(stream);
    emu_device_memory_open(0);
}

static CUresult query(CUstream handle) {
    emu_stream *s;
    CUresult r = emu_stream_get(handle, &s);
    if (r || (r = captured(s)) != CUDA_SUCCESS) return r;
    if (!s) return emu_drain_blocking(emu_current());
    if (!s->head) return CUDA_SUCCESS;
    emu_poll(s);
    return s->object.context->fault ? s->object.context->fault : CUDA_ERROR_NOT_READY;
}

EMU_API CUresult cuStreamQuery(CUstream stream) { EMU_CALL(EMU_CONTEXT, query(stream)); }
