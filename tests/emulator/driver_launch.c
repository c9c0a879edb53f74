/* driver_launch.c: functions, their attributes and their launches. */
#include "driver.h"

enum { LAST_ATTRIBUTE = 16 };         /* of CUDA 13.0 */
enum { PROGRAMMATIC_EDGES = 12030 }; /* graphs have them since this version */

/* ---- parameters: one block with the pointers, then the values, aligned for tensor maps ---- */

enum { PARAM_ALIGN = 128 };
static size_t aligned(size_t bytes) { return (bytes + PARAM_ALIGN - 1) & ~(size_t)(PARAM_ALIGN - 1); }

static CUresult pack_params(emu_launch *l, void **params) {
    const struct reid_emulator_kernel *k = emu_kernel_of(l->function);
    size_t bytes = aligned((k->param_count + 1) * sizeof(void *));
    for (unsigned i = 0; i < k->param_count; i++) bytes += aligned(k->param_bytes[i]);
    l->params = (void **)aligned_alloc(PARAM_ALIGN, bytes);
    if (!l->params) return CUDA_ERROR_OUT_OF_MEMORY;
    l->params_bytes = bytes;
    unsigned char *to = (unsigned char *)l->params + aligned((k->param_count + 1) * sizeof(void *));
    for (unsigned i = 0; i < k->param_count; to += aligned(k->param_bytes[i++])) {
        if (!params[i]) return CUDA_ERROR_INVALID_VALUE;
        l->params[i] = memcpy(to, params[i], k->param_bytes[i]);
    }
    return CUDA_SUCCESS;
}

void **emu_params_copy(const emu_launch *l) {
    if (!l->params) return NULL;
    void **copy = (void **)aligned_alloc(PARAM_ALIGN, l->params_bytes);
    if (!copy) return NULL;
    memcpy(copy, l->params, l->params_bytes);
    for (unsigned i = 0; i < emu_kernel_of(l->function)->param_count; i++)
        copy[i] = (char *)copy + ((char *)l->params[i] - (char *)l->params);
    return copy;
}

/* ---- launches ---- */

static int max_threads(const emu_function *f) {
    unsigned bound = emu_kernel_of(f)->max_threads;
    return bound && bound < EMU_MAX_THREADS ? (int)bound : EMU_MAX_THREADS;
}

static int valid_shape(const emu_launch *l) {
    const unsigned *g = l->grid, *b = l->block;
    if (!g[0] || !g[1] || !g[2] || !b[0] || !b[1] || !b[2]) return 0;
    if (g[0] > 2147483647u || g[1] > 65535 || g[2] > 65535) return 0;
    if (b[0] > EMU_MAX_THREADS || b[1] > EMU_MAX_THREADS || b[2] > 64) return 0;
    return (uint64_t)b[0] * b[1] * b[2] <= (uint64_t)max_threads(l->function);
}

/* Up to 8 blocks on every chip, up to 16 if the function allows it; a grid is made of whole clusters. */
static CUresult check_cluster(const emu_launch *l) {
    const unsigned *c = l->cluster;
    if (!c[0]) return CUDA_SUCCESS;
    uint64_t size = (uint64_t)c[0] * c[1] * c[2], most = l->function->large_clusters ? 16 : 8;
    if (c[0] > most || c[1] > most || c[2] > most || size > most) return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    return l->grid[0] % c[0] || l->grid[1] % c[1] || l->grid[2] % c[2] ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

/* Reads the attributes of a launch. Refuses those that the emulator does not know. */
static CUresult read_attributes(emu_launch *l, const CUlaunchConfig *config) {
    if (!config || (config->numAttrs && !config->attrs)) return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < config->numAttrs; i++) {
        const CUlaunchAttribute *a = &config->attrs[i];
        int wanted = 0;
        switch ((int)a->id) {
        case CU_LAUNCH_ATTRIBUTE_IGNORE: break;
        case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
            l->cluster[0] = a->value.clusterDim.x, l->cluster[1] = a->value.clusterDim.y;
            l->cluster[2] = a->value.clusterDim.z;
            if (!l->cluster[0] || !l->cluster[1] || !l->cluster[2]) return CUDA_ERROR_INVALID_VALUE;
            wanted = 1;
            break;
        case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
            wanted = l->programmatic = a->value.programmaticStreamSerializationAllowed != 0;
            break;
        default: return (unsigned)a->id > LAST_ATTRIBUTE ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_NOT_SUPPORTED;
        }
        if (wanted && emu_get_settings()->arch < 90) return CUDA_ERROR_NOT_SUPPORTED;
    }
    return CUDA_SUCCESS;
}

static CUresult launch(emu_op *op, CUfunction handle, CUstream stream_handle, void **params, void **extra) {
    emu_stream *stream;
    emu_launch *l = &op->launch;
    emu_function *f = emu_function_get(handle);
    CUresult r = emu_stream_get(stream_handle, &stream);
    if (!f || r) return CUDA_ERROR_INVALID_HANDLE;
    l->function = f;
    if (extra) return CUDA_ERROR_NOT_SUPPORTED;
    if ((r = check_cluster(l)) != CUDA_SUCCESS) return r;
    if (l->programmatic && stream && stream->capture && emu_get_settings()->driver_version < PROGRAMMATIC_EDGES)
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    if (!valid_shape(l) || l->shared > (unsigned)f->max_dynamic_shared) return CUDA_ERROR_INVALID_VALUE;
    if (!params && emu_kernel_of(f)->param_count) return CUDA_ERROR_INVALID_VALUE;
    return pack_params(l, params);
}

static CUresult enqueue_launch(const emu_launch *shape, CUfunction function, CUstream stream, void **params,
                               void **extra) {
    emu_op *op = (emu_op *)calloc(1, sizeof *op);
    if (!op) return CUDA_ERROR_OUT_OF_MEMORY;
    op->kind = EMU_OP_KERNEL;
    op->launch = *shape;
    CUresult r = launch(op, function, stream, params, extra);
    if (!r) return emu_enqueue(stream, op);
    emu_op_free(op);
    return r;
}

EMU_API CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared, CUstream stream,
                                void **params, void **extra) {
    emu_launch shape = {.grid = {grid_x, grid_y, grid_z}, .block = {block_x, block_y, block_z}, .shared = shared};
    EMU_CALL(EMU_CONTEXT, enqueue_launch(&shape, function, stream, params, extra));
}

static CUresult launch_ex(const CUlaunchConfig *c, CUfunction function, void **params, void **extra) {
    emu_launch shape = {.function = NULL};
    CUresult r = read_attributes(&shape, c);
    if (r) return r;
    const unsigned grid[3] = {c->gridDimX, c->gridDimY, c->gridDimZ};
    const unsigned block[3] = {c->blockDimX, c->blockDimY, c->blockDimZ};
    memcpy(shape.grid, grid, sizeof grid), memcpy(shape.block, block, sizeof block);
    shape.shared = c->sharedMemBytes;
    return enqueue_launch(&shape, function, c->hStream, params, extra);
}

EMU_API CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **params, void **extra) {
    EMU_CALL(EMU_CONTEXT, launch_ex(config, function, params, extra));
}

/* ---- attributes ---- */

static CUresult get_attribute(int *value, int attribute, CUfunction handle) {
    emu_function *f = emu_function_get(handle);
    if (!f) return CUDA_ERROR_INVALID_HANDLE;
    if (!value) return CUDA_ERROR_INVALID_VALUE;
    switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *value = max_threads(f); break;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
    case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
    case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA: *value = 0; break;
    case CU_FUNC_ATTRIBUTE_NUM_REGS: *value = 64; break; /* unknown */
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION: *value = emu_get_settings()->arch; break;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: *value = f->max_dynamic_shared; break;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT: *value = f->carveout; break;
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED: *value = f->large_clusters; break;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

EMU_API CUresult cuFuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction function) {
    EMU_CALL(EMU_CONTEXT, get_attribute(value, (int)attribute, function));
}

static CUresult set_attribute(CUfunction handle, int attribute, int value) {
    emu_function *f = emu_function_get(handle);
    if (!f) return CUDA_ERROR_INVALID_HANDLE;
    if (attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) {
        if (value < 0 || value > emu_shared_limit(1)) return CUDA_ERROR_INVALID_VALUE;
        f->max_dynamic_shared = value;
    } else if (attribute == CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT) {
        if (value < -1 || value > 100) return CUDA_ERROR_INVALID_VALUE;
        f->carveout = value;
    } else if (attribute == CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED) {
        if (value < 0 || value > 1) return CUDA_ERROR_INVALID_VALUE;
        if (emu_get_settings()->arch < 90) return CUDA_ERROR_NOT_SUPPORTED;
        f->large_clusters = value;
    } else return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

EMU_API CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value) {
    EMU_CALL(EMU_CONTEXT, set_attribute(function, (int)attribute, value));
}

static CUresult occupancy(int *blocks, CUfunction handle, int threads, size_t shared) {
    emu_function *f = emu_function_get(handle);
    int resident = emu_get_settings()->arch == 75 ? 1024 : 1536, reserved = 1024;
    if (!f) return CUDA_ERROR_INVALID_HANDLE;
    if (!blocks || threads <= 0 || threads > max_threads(f)) return CUDA_ERROR_INVALID_VALUE;
    size_t by_shared = (size_t)(emu_shared_limit(1) + reserved) / (shared + (size_t)reserved);
    *blocks = resident / threads;
    if ((size_t)*blocks > by_shared) *blocks = (int)by_shared;
    if (shared > (size_t)f->max_dynamic_shared) *blocks = 0;
    return CUDA_SUCCESS;
}

EMU_API CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction function, int threads,
                                                             size_t shared) {
    EMU_CALL(EMU_CONTEXT, occupancy(blocks, function, threads, shared));
}

/* Clusters that run at once: a cluster's blocks are in one part of the chip (a GPC), here of 18 multiprocessors; the
   last part has the remaining ones. */
static CUresult active_clusters(int *clusters, CUfunction handle, const CUlaunchConfig *config) {
    enum { PART = 18 };
    emu_launch l = {.function = emu_function_get(handle)};
    int blocks = 0, left = emu_get_settings()->sms;
    if (!l.function) return CUDA_ERROR_INVALID_HANDLE;
    if (!clusters) return CUDA_ERROR_INVALID_VALUE;
    CUresult r = read_attributes(&l, config);
    if (r) return r;
    l.grid[0] = config->gridDimX, l.grid[1] = config->gridDimY, l.grid[2] = config->gridDimZ;
    if ((r = check_cluster(&l)) != CUDA_SUCCESS) return r;
    r = occupancy(&blocks, handle, (int)(config->blockDimX * config->blockDimY * config->blockDimZ),
                  config->sharedMemBytes);
    int size = l.cluster[0] ? (int)(l.cluster[0] * l.cluster[1] * l.cluster[2]) : 1;
    for (*clusters = 0; left > 0 && !r; left -= PART) *clusters += (left < PART ? left : PART) * blocks / size;
    return r;
}

EMU_API CUresult cuOccupancyMaxActiveClusters(int *clusters, CUfunction function, const CUlaunchConfig *config) {
    EMU_CALL(EMU_CONTEXT, active_clusters(clusters, function, config));
}
