/* driver_context.c: contexts, each thread's stack of current contexts, and what is released with a context. */
#include "driver.h"

enum { STACK_DEPTH = 32, MAX_CONTEXTS = 64 };

/* The first ones are the devices' primary contexts. None is ever freed, so that a stale handle can be recognised. */
static emu_context emu_contexts[MAX_CONTEXTS];
static unsigned emu_context_count = EMU_MAX_DEVICES;
static __thread emu_context *emu_stack[STACK_DEPTH];
static __thread unsigned emu_depth;

emu_context *emu_current(void) { return emu_depth ? emu_stack[emu_depth - 1] : NULL; }

size_t emu_contexts_alive(void) {
    size_t count = 0;
    for (unsigned i = 0; i < emu_context_count; i++) count += emu_contexts[i].alive != 0;
    return count;
}

static int is_context(const void *handle) {
    for (unsigned i = 0; i < emu_context_count; i++)
        if (&emu_contexts[i] == handle) return 1;
    return 0;
}

void emu_context_destroy_objects(emu_context *context) {
    void *o;
    emu_drain_context(context);
    while ((o = emu_object_first(context, EMU_STREAM)) != NULL) {
        emu_stream_discard((emu_stream *)o);
        emu_capture_abandon((emu_stream *)o);
        emu_object_free(o);
    }
    while ((o = emu_object_first(context, EMU_EXEC)) != NULL) emu_exec_free((emu_exec *)o);
    while ((o = emu_object_first(context, EMU_GRAPH)) != NULL) emu_graph_free((emu_graph *)o);
    while ((o = emu_object_first(context, EMU_EVENT)) != NULL) emu_event_free((emu_event *)o);
    while ((o = emu_object_first(context, EMU_MODULE)) != NULL) emu_module_free((emu_module *)o);
    emu_release_all(context);
}

static void destroy(emu_context *context) {
    emu_count_leaks(context);
    emu_context_destroy_objects(context);
    context->alive = 0, context->references = 0;
    context->fault = CUDA_SUCCESS;
}

/* ---- primary contexts ---- */

static CUresult retain(CUcontext *handle, CUdevice device) {
    if (!handle) return CUDA_ERROR_INVALID_VALUE;
    if (device < 0 || device >= emu_get_settings()->devices) return CUDA_ERROR_INVALID_DEVICE;
    emu_context *c = &emu_contexts[device];
    c->device = device, c->primary = 1, c->alive = 1;
    c->references++;
    *handle = (CUcontext)(void *)c;
    return CUDA_SUCCESS;
}

EMU_API CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) { EMU_CALL(0, retain(context, device)); }

static CUresult release(CUdevice device) {
    if (device < 0 || device >= emu_get_settings()->devices) return CUDA_ERROR_INVALID_DEVICE;
    emu_context *c = &emu_contexts[device];
    if (!c->references) return CUDA_ERROR_INVALID_CONTEXT;
    if (--c->references == 0) destroy(c);
    return CUDA_SUCCESS;
}

EMU_API CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) { EMU_CALL(EMU_FREES, release(device)); }

static CUresult state(CUdevice device, unsigned *flags, int *active) {
    if (device < 0 || device >= emu_get_settings()->devices) return CUDA_ERROR_INVALID_DEVICE;
    if (flags) *flags = 0;
    if (active) *active = emu_contexts[device].alive;
    return CUDA_SUCCESS;
}

EMU_API CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned *flags, int *active) {
    EMU_CALL(0, state(device, flags, active));
}

/* ---- the stack ---- */

static CUresult push(CUcontext handle) {
    if (!is_context(handle)) return CUDA_ERROR_INVALID_CONTEXT;
    if (!((emu_context *)(void *)handle)->alive) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    if (emu_depth == STACK_DEPTH) return CUDA_ERROR_INVALID_VALUE;
    emu_stack[emu_depth++] = (emu_context *)(void *)handle;
    return CUDA_SUCCESS;
}

EMU_API CUresult cuCtxPushCurrent_v2(CUcontext context) { EMU_CALL(0, push(context)); }

static CUresult pop(CUcontext *handle) {
    if (!emu_depth) return CUDA_ERROR_INVALID_CONTEXT;
    emu_context *top = emu_stack[--emu_depth];
    if (handle) *handle = (CUcontext)(void *)top;
    return CUDA_SUCCESS;
}

EMU_API CUresult cuCtxPopCurrent_v2(CUcontext *context) { EMU_CALL(EMU_FREES, pop(context)); }

static CUresult set(CUcontext handle) {
    if (handle && !is_context(handle)) return CUDA_ERROR_INVALID_CONTEXT;
    if (emu_depth) emu_depth--;
    return handle ? push(handle) : CUDA_SUCCESS;
}

EMU_API CUresult cuCtxSetCurrent(CUcontext context) { EMU_CALL(0, set(context)); }

static CUresult get(CUcontext *handle) {
    if (!handle) return CUDA_ERROR_INVALID_VALUE;
    *handle = (CUcontext)(void *)emu_current();
    return CUDA_SUCCESS;
}

EMU_API CUresult cuCtxGetCurrent(CUcontext *context) { EMU_CALL(0, get(context)); }

static CUresult get_device(CUdevice *device) {
    if (!device) return CUDA_ERROR_INVALID_VALUE;
    *device = emu_current()->device;
    return CUDA_SUCCESS;
}

EMU_API CUresult cuCtxGetDevice(CUdevice *device) { EMU_CALL(EMU_CONTEXT, get_device(device)); }

EMU_API CUresult cuCtxSynchronize(void) {
    EMU_CALL(EMU_CONTEXT | EMU_UNSAFE, emu_drain_context(emu_current()));
}

/* ---- contexts that the caller creates ---- */

static CUresult create(CUcontext *handle, CUdevice device) {
    if (!handle) return CUDA_ERROR_INVALID_VALUE;
    if (device < 0 || device >= emu_get_settings()->devices) return CUDA_ERROR_INVALID_DEVICE;
    if (emu_context_count == MAX_CONTEXTS) return CUDA_ERROR_OUT_OF_MEMORY;
    emu_context *c = &emu_contexts[emu_context_count++];
    c->device = device, c->alive = 1;
    *handle = (CUcontext)(void *)c;
    return push(*handle);
}

EMU_API CUresult cuCtxCreate_v2(CUcontext *context, unsigned flags, CUdevice device) {
    (void)flags;
    EMU_CALL(0, create(context, device));
}

static CUresult destroy_own(CUcontext handle) {
    emu_context *c = (emu_context *)(void *)handle;
    if (!is_context(handle) || c->primary || !c->alive) return CUDA_ERROR_INVALID_CONTEXT;
    destroy(c);
    if (emu_current() == c) emu_depth--;
    return CUDA_SUCCESS;
}

EMU_API CUresult cuCtxDestroy_v2(CUcontext context) { EMU_CALL(EMU_FREES, destroy_own(context)); }
