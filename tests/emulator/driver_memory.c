/* driver_memory.c: allocation, copies, fills. Asynchronous operations go into the stream and happen later. */
#include "driver.h"

static CUresult allocate(CUdeviceptr *pointer, size_t bytes) {
    void *p;
    if (!pointer || !bytes) return CUDA_ERROR_INVALID_VALUE;
    *pointer = 0;
    size_t used = emu_bytes_used(emu_current()->device);
    if (bytes > emu_get_settings()->memory - used) return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult r = emu_allocate(emu_current(), bytes, 0, &p);
    *pointer = (CUdeviceptr)(uintptr_t)p;
    return r;
}

EMU_API CUresult cuMemAlloc_v2(CUdeviceptr *pointer, size_t bytes) {
    EMU_CALL(EMU_CONTEXT | EMU_UNSAFE, allocate(pointer, bytes));
}

/* Freeing waits for the device, as the driver's does. */
static CUresult release(uintptr_t pointer, int pinned) {
    if (!pointer) return pinned ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
    emu_drain_context(emu_current());
    return emu_release(pointer, pinned);
}

EMU_API CUresult cuMemFree_v2(CUdeviceptr pointer) {
    EMU_CALL(EMU_CONTEXT | EMU_UNSAFE | EMU_FREES, release((uintptr_t)pointer, 0));
}

static CUresult information(size_t *free_bytes, size_t *total_bytes) {
    size_t total = emu_get_settings()->memory;
    if (!free_bytes || !total_bytes) return CUDA_ERROR_INVALID_VALUE;
    *total_bytes = total;
    *free_bytes = total - emu_bytes_used(emu_current()->device);
    return CUDA_SUCCESS;
}

EMU_API CUresult cuMemGetInfo_v2(size_t *free_bytes, size_t *total_bytes) {
    EMU_CALL(EMU_CONTEXT, information(free_bytes, total_bytes));
}

static CUresult allocate_host(void **pointer, size_t bytes) {
    if (!pointer || !bytes) return CUDA_ERROR_INVALID_VALUE;
    return emu_allocate(emu_current(), bytes, 1, pointer);
}

EMU_API CUresult cuMemHostAlloc(void **pointer, size_t bytes, unsigned flags) {
    (void)flags;
    EMU_CALL(EMU_CONTEXT | EMU_UNSAFE, allocate_host(pointer, bytes));
}

EMU_API CUresult cuMemAllocHost_v2(void **pointer, size_t bytes) {
    EMU_CALL(EMU_CONTEXT | EMU_UNSAFE, allocate_host(pointer, bytes));
}

EMU_API CUresult cuMemFreeHost(void *pointer) {
    EMU_CALL(EMU_CONTEXT | EMU_UNSAFE | EMU_FREES, release((uintptr_t)pointer, 1));
}

/* ---- copies and fills ---- */

static int inside_device(uintptr_t pointer, size_t bytes) {
    emu_allocation *a = emu_find(pointer);
    return a && a->context == emu_current() && bytes <= a->bytes - (pointer - a->base);
}

/* A pending copy reads this host memory later, so it must keep its content. */
static int is_pending_source(uintptr_t from, size_t bytes) {
    for (emu_object *o = emu_object_first(emu_current(), EMU_STREAM); o; o = o->next) {
        if (o->kind != EMU_STREAM) continue;
        for (const emu_op *op = ((emu_stream *)(void *)o)->head; op; op = op->next) {
            if (op->kind == EMU_OP_GRAPH) return 1;
            if (op->kind != EMU_OP_COPY || op->direction != EMU_HOST_TO_DEVICE || op->staged) continue;
            if (op->from < from + bytes && from < op->from + op->bytes) return 1;
        }
    }
    return 0;
}

/* Host memory of an asynchronous copy: pinned memory is read late; pageable memory is read now. A destination is
   filled with 0xff until the copy lands, so that reading it too early shows. */
static CUresult prepare_host(emu_op *op, int capturing) {
    if (capturing || emu_get_settings()->pace.on) return CUDA_SUCCESS;
    if (op->direction == EMU_DEVICE_TO_HOST) {
        if (!is_pending_source(op->to, op->bytes)) memset((void *)op->to, 0xff, op->bytes);
    } else if (op->direction == EMU_HOST_TO_DEVICE && !emu_find_pinned(op->from)) {
        op->staged = malloc(op->bytes);
        if (!op->staged) return CUDA_ERROR_OUT_OF_MEMORY;
        memcpy(op->staged, (const void *)op->from, op->bytes);
    }
    return CUDA_SUCCESS;
}

static CUresult copy(emu_direction direction, uintptr_t to, uintptr_t from, size_t bytes, CUstream handle, int now) {
    emu_stream *stream;
    CUresult r = emu_stream_get(handle, &stream);
    if (r) return r;
    if (!bytes) return CUDA_SUCCESS;
    if (!to || !from) return CUDA_ERROR_INVALID_VALUE;
    if (direction != EMU_DEVICE_TO_HOST && !inside_device(to, bytes)) return CUDA_ERROR_INVALID_VALUE;
    if (direction != EMU_HOST_TO_DEVICE && !inside_device(from, bytes)) return CUDA_ERROR_INVALID_VALUE;
    emu_op *op = (emu_op *)calloc(1, sizeof *op);
    if (!op) return CUDA_ERROR_OUT_OF_MEMORY;
    op->kind = EMU_OP_COPY, op->direction = direction;
    op->to = to, op->from = from, op->bytes = bytes;
    if (!now && (r = prepare_host(op, stream && stream->capture)) != CUDA_SUCCESS) {
        emu_op_free(op);
        return r;
    }
    return emu_enqueue(handle, op);
}

EMU_API CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t bytes) {
    EMU_CALL(EMU_CONTEXT | EMU_UNSAFE, copy(EMU_HOST_TO_DEVICE, (uintptr_t)to, (uintptr_t)from, bytes, NULL, 1));
}
EMU_API CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t bytes) {
    EMU_CALL(EMU_CONTEXT | EMU_UNSAFE, copy(EMU_DEVICE_TO_HOST, (uintptr_t)to, (uintptr_t)from, bytes, NULL, 1));
}
EMU_API CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
    EMU_CALL(EMU_CONTEXT | EMU_UNSAFE, copy(EMU_DEVICE_TO_DEVICE, (uintptr_t)to, (uintptr_t)from, bytes, NULL, 1));
}
EMU_API CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes, CUstream stream) {
    EMU_CALL(EMU_CONTEXT, copy(EMU_HOST_TO_DEVICE, (uintptr_t)to, (uintptr_t)from, bytes, stream, 0));
}
EMU_API CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes, CUstream stream) {
    EMU_CALL(EMU_CONTEXT, copy(EMU_DEVICE_TO_HOST, (uintptr_t)to, (uintptr_t)from, bytes, stream, 0));
}
EMU_API CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
    EMU_CALL(EMU_CONTEXT, copy(EMU_DEVICE_TO_DEVICE, (uintptr_t)to, (uintptr_t)from, bytes, stream, 0));
}

static CUresult fill(uintptr_t to, unsigned value, unsigned width, size_t count, CUstream handle) {
    emu_stream *stream;
    CUresult r = emu_stream_get(handle, &stream);
    if (r) return r;
    if (!count) return CUDA_SUCCESS;
    if (count > (size_t)1 << 46 || to % width || !inside_device(to, count * width)) return CUDA_ERROR_INVALID_VALUE;
    emu_op *op = (emu_op *)calloc(1, sizeof *op);
    if (!op) return CUDA_ERROR_OUT_OF_MEMORY;
    op->kind = EMU_OP_SET;
    op->to = to, op->bytes = count * width, op->value = value, op->width = width;
    return emu_enqueue(handle, op);
}

EMU_API CUresult cuMemsetD8_v2(CUdeviceptr to, unsigned char value, size_t count) {
    EMU_CALL(EMU_CONTEXT | EMU_UNSAFE, fill((uintptr_t)to, value, 1, count, NULL));
}
EMU_API CUresult cuMemsetD16_v2(CUdeviceptr to, unsigned short value, size_t count) {
    EMU_CALL(EMU_CONTEXT | EMU_UNSAFE, fill((uintptr_t)to, value, 2, count, NULL));
}
EMU_API CUresult cuMemsetD32_v2(CUdeviceptr to, unsigned value, size_t count) {
    EMU_CALL(EMU_CONTEXT | EMU_UNSAFE, fill((uintptr_t)to, value, 4, count, NULL));
}
EMU_API CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count, CUstream stream) {
    EMU_CALL(EMU_CONTEXT, fill((uintptr_t)to, value, 1, count, stream));
}
EMU_API CUresult cuMemsetD16Async(CUdeviceptr to, unsigned short value, size_t count, CUstream stream) {
    EMU_CALL(EMU_CONTEXT, fill((uintptr_t)to, value, 2, count, stream));
}
EMU_API CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t count, CUstream stream) {
    EMU_CALL(EMU_CONTEXT, fill((uintptr_t)to, value, 4, count, stream));
}
