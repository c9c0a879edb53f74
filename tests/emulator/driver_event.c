/* driver_event.c: events. As in CUDA, a wait is for the recording that was the last one when the wait was called, so
   each recording is a separate object, a mark. */
#include "driver.h"

void emu_mark_release(emu_mark *mark) {
    if (--mark->references == 0) free(mark);
}

void emu_event_free(emu_event *event) {
    if (event->mark) emu_mark_release(event->mark);
    emu_nodes_clear(&event->frontier);
    emu_object_free(event);
}

static CUresult get(CUevent handle, emu_event **event) {
    *event = (emu_event *)(void *)handle;
    if (!emu_object_is(handle, EMU_EVENT)) return CUDA_ERROR_INVALID_HANDLE;
    return (*event)->object.context == emu_current() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

static CUresult create(CUevent *handle, unsigned flags) {
    if (!handle || flags > 7) return CUDA_ERROR_INVALID_VALUE;
    emu_event *e = (emu_event *)emu_object_new(EMU_EVENT, sizeof *e);
    if (!e) return CUDA_ERROR_OUT_OF_MEMORY;
    e->flags = flags;
    *handle = (CUevent)(void *)e;
    return CUDA_SUCCESS;
}

EMU_API CUresult cuEventCreate(CUevent *event, unsigned flags) { EMU_CALL(EMU_CONTEXT, create(event, flags)); }

static CUresult destroy(CUevent handle) {
    emu_event *e;
    CUresult r = get(handle, &e);
    if (!r) emu_event_free(e);
    return r;
}

EMU_API CUresult cuEventDestroy_v2(CUevent event) { EMU_CALL(EMU_CONTEXT | EMU_FREES, destroy(event)); }

static CUresult enqueue_mark(emu_op_kind kind, emu_mark *mark, CUstream stream) {
    emu_op *op = (emu_op *)calloc(1, sizeof *op);
    if (!op) return CUDA_ERROR_OUT_OF_MEMORY;
    op->kind = kind, op->mark = mark;
    mark->references++;
    return emu_enqueue(stream, op);
}

static CUresult record(CUevent handle, CUstream stream_handle) {
    emu_event *e;
    emu_stream *s;
    CUresult r = get(handle, &e);
    if (r || (r = emu_stream_get(stream_handle, &s)) != CUDA_SUCCESS) return r;
    if (s && s->capture) return emu_capture_record(s, e);
    emu_mark *mark = (emu_mark *)calloc(1, sizeof *mark);
    if (!mark) return CUDA_ERROR_OUT_OF_MEMORY;
    mark->references = 1;
    mark->stream = s;
    r = enqueue_mark(EMU_OP_RECORD, mark, stream_handle);
    if (r) {
        emu_mark_release(mark);
        return r;
    }
    if (e->mark) emu_mark_release(e->mark);
    e->mark = mark;
    e->capture = NULL;
    e->was_captured = 0;
    return CUDA_SUCCESS;
}

EMU_API CUresult cuEventRecord(CUevent event, CUstream stream) { EMU_CALL(EMU_CONTEXT, record(event, stream)); }

static CUresult wait(CUstream stream_handle, CUevent handle, unsigned flags) {
    emu_event *e;
    emu_stream *s;
    CUresult r = get(handle, &e);
    if (r || (r = emu_stream_get(stream_handle, &s)) != CUDA_SUCCESS) return r;
    if (flags) return CUDA_ERROR_INVALID_VALUE;
    if ((s && s->capture) || e->capture) return s ? emu_capture_wait(s, e) : CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    if (e->was_captured) return CUDA_ERROR_CAPTURED_EVENT;
    return e->mark ? enqueue_mark(EMU_OP_WAIT, e->mark, stream_handle) : CUDA_SUCCESS;
}

EMU_API CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags) {
    EMU_CALL(EMU_CONTEXT, wait(stream, event, flags));
}

/* The host must not wait for an operation that is only being captured: that invalidates the capture. */
static CUresult get_waitable(CUevent handle, emu_event **e) {
    CUresult r = get(handle, e);
    if (r || (!(*e)->capture && !(*e)->was_captured)) return r;
    if ((*e)->capture) emu_capture_invalidate((*e)->capture);
    return CUDA_ERROR_CAPTURED_EVENT;
}

static CUresult synchronize(CUevent handle) {
    emu_event *e;
    CUresult r = get_waitable(handle, &e);
    if (r || !e->mark) return r;
    if (emu_get_settings()->pace.on) emu_pace_wait(e->mark->time * 1e3);
    emu_device_memory_open(1);
    emu_mark_finish(e->mark);
    emu_device_memory_open(0);
    return CUDA_SUCCESS;
}

EMU_API CUresult cuEventSynchronize(CUevent event) { EMU_CALL(EMU_CONTEXT, synchronize(event)); }

/* As with streams, a query lets one operation happen. */
static CUresult query(CUevent handle) {
    emu_event *e;
    CUresult r = get_waitable(handle, &e);
    if (r || !e->mark || e->mark->done) return r;
    emu_poll(e->mark->stream);
    return CUDA_ERROR_NOT_READY;
}

EMU_API CUresult cuEventQuery(CUevent event) { EMU_CALL(EMU_CONTEXT, query(event)); }

static CUresult elapsed(float *milliseconds, CUevent from_handle, CUevent to_handle) {
    emu_event *from, *to;
    CUresult r = get(from_handle, &from);
    if (r || (r = get(to_handle, &to)) != CUDA_SUCCESS) return r;
    if (!milliseconds) return CUDA_ERROR_INVALID_VALUE;
    if ((from->flags | to->flags) & CU_EVENT_DISABLE_TIMING || !from->mark || !to->mark)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!from->mark->done || !to->mark->done) return CUDA_ERROR_NOT_READY;
    *milliseconds = (float)(to->mark->time - from->mark->time);
    return CUDA_SUCCESS;
}

EMU_API CUresult cuEventElapsedTime(float *milliseconds, CUevent from, CUevent to) {
    EMU_CALL(EMU_CONTEXT, elapsed(milliseconds, from, to));
}
EMU_API CUresult cuEventElapsedTime_v2(float *milliseconds, CUevent from, CUevent to) {
    EMU_CALL(EMU_CONTEXT, elapsed(milliseconds, from, to));
}
