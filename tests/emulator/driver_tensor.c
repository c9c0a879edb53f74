/* driver_tensor.c: tensor maps for cp.async.bulk.tensor. Arguments that the driver's manual forbids are invalid values;
   those that it allows but the emulator does not implement (interleaved layouts, packed types, OOB-NaN) are not
   supported. */
#include "driver.h"

typedef char emu_map_fits[sizeof(emu_map) <= sizeof(CUtensorMap) ? 1 : -1];

enum { MAX_BOX = 256, MAX_PIXELS = 1024, MAX_STEP = 8 };

typedef struct wanted { /* for both kinds of maps */
    int type, interleave, swizzle, promotion, fill;
    cuuint32_t rank;
    void *address;
    const cuuint64_t *dims, *strides;
    const cuuint32_t *steps;
} wanted;

static CUresult check_modes(const wanted *t) {
    if (t->type < 0 || t->type > 15 || t->interleave < 0 || t->interleave > CU_TENSOR_MAP_INTERLEAVE_32B ||
        t->swizzle < 0 || t->swizzle > 6 || t->promotion < 0 || t->promotion > CU_TENSOR_MAP_L2_PROMOTION_L2_256B ||
        t->fill < 0 || t->fill > CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA)
        return CUDA_ERROR_INVALID_VALUE;
    if (emu_get_settings()->arch < 90 || t->type > CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ || t->interleave ||
        t->swizzle > CU_TENSOR_MAP_SWIZZLE_128B || t->fill)
        return CUDA_ERROR_NOT_SUPPORTED;
    return CUDA_SUCCESS;
}

/* The tensor in global memory. */
static CUresult fill_tensor(emu_map *m, const wanted *t) {
    static const uint8_t bytes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4}; /* by type */
    if (!t->address || (uintptr_t)t->address % 16 || !t->dims || (!t->strides && t->rank > 1) || !t->steps)
        return CUDA_ERROR_INVALID_VALUE;
    m->address = (uintptr_t)t->address;
    m->rank = (uint8_t)t->rank, m->element_bytes = bytes[t->type];
    m->swizzle = (uint8_t)(t->swizzle ? 16 << t->swizzle : 0);
    for (unsigned i = 0; i < t->rank; i++) {
        if (t->dims[i] == 0 || t->dims[i] > (cuuint64_t)1 << 32 || t->steps[i] == 0 || t->steps[i] > MAX_STEP)
            return CUDA_ERROR_INVALID_VALUE;
        m->last[i] = (uint32_t)(t->dims[i] - 1), m->step[i] = (uint8_t)t->steps[i];
        if (i + 1 == t->rank) break;
        if (t->strides[i] % 16 || t->strides[i] >= (cuuint64_t)1 << 40 || t->strides[i] < t->dims[i])
            return CUDA_ERROR_INVALID_VALUE;
        m->strides[i] = t->strides[i];
    }
    return CUDA_SUCCESS;
}

/* Both kinds: the elements of a box along dimension 0. */
static int valid_row(const emu_map *m, cuuint32_t elements) {
    unsigned bytes = elements * m->element_bytes;
    return elements > 0 && elements <= MAX_BOX && bytes % 16 == 0 && (!m->swizzle || bytes <= m->swizzle);
}

static CUresult finish(CUtensorMap *map, emu_map *m) {
    m->sum = emu_map_sum(m);
    memset(map, 0, sizeof *map);
    memcpy(map, m, sizeof *m);
    return CUDA_SUCCESS;
}

static CUresult encode_tiled(CUtensorMap *map, const wanted *t, const cuuint32_t *box) {
    emu_map m;
    memset(&m, 0, sizeof m);
    if (!map || (uintptr_t)map % 64 || t->rank < 1 || t->rank > EMU_MAP_RANK || !box) return CUDA_ERROR_INVALID_VALUE;
    CUresult r = check_modes(t);
    if (!r) r = fill_tensor(&m, t);
    if (r) return r;
    for (unsigned i = 0; i < t->rank; i++) {
        if (box[i] == 0 || box[i] > MAX_BOX) return CUDA_ERROR_INVALID_VALUE;
        m.box[i] = (uint16_t)box[i];
    }
    return valid_row(&m, box[0]) ? finish(map, &m) : CUDA_ERROR_INVALID_VALUE;
}

/* The corners' order is that of the dimensions, W first. */
static CUresult encode_im2col(CUtensorMap *map, const wanted *t, const int *lower, const int *upper,
                              cuuint32_t channels, cuuint32_t pixels) {
    static const int limits[EMU_MAP_RANK + 1] = {0, 0, 0, 32768, 128, 16}; /* of corners, by rank */
    emu_map m;
    memset(&m, 0, sizeof m);
    if (!map || (uintptr_t)map % 64 || t->rank < 3 || t->rank > EMU_MAP_RANK || !lower || !upper)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult r = check_modes(t);
    if (!r) r = fill_tensor(&m, t);
    if (r) return r;
    for (unsigned i = 0; i < t->rank - 2; i++) {
        int limit = limits[t->rank];
        if (lower[i] < -limit || lower[i] >= limit || upper[i] < -limit || upper[i] >= limit ||
            lower[i] > (int64_t)m.last[i + 1] + upper[i])
            return CUDA_ERROR_INVALID_VALUE;
        m.lower[i] = (int16_t)lower[i], m.upper[i] = (int16_t)upper[i];
    }
    if (!valid_row(&m, channels) || pixels == 0 || pixels > MAX_PIXELS) return CUDA_ERROR_INVALID_VALUE;
    if (m.step[t->rank - 1] != 1) return CUDA_ERROR_NOT_SUPPORTED; /* the manual has strides along D, H and W */
    m.box[0] = (uint16_t)channels, m.box[1] = (uint16_t)pixels, m.im2col = 1;
    return finish(map, &m);
}

#define EMU_WANTED                                                                                                     \
    {(int)type, (int)interleave, (int)swizzle, (int)promotion, (int)fill, rank, address, dims, strides, element_strides}

EMU_API CUresult cuTensorMapEncodeTiled(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank, void *address,
                                        const cuuint64_t *dims, const cuuint64_t *strides, const cuuint32_t *box,
                                        const cuuint32_t *element_strides, CUtensorMapInterleave interleave,
                                        CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
                                        CUtensorMapFloatOOBfill fill) {
    wanted tensor = EMU_WANTED;
    EMU_CALL(EMU_CONTEXT, encode_tiled(map, &tensor, box));
}

EMU_API CUresult cuTensorMapEncodeIm2col(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank, void *address,
                                         const cuuint64_t *dims, const cuuint64_t *strides, const int *lower,
                                         const int *upper, cuuint32_t channels, cuuint32_t pixels,
                                         const cuuint32_t *element_strides, CUtensorMapInterleave interleave,
                                         CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
                                         CUtensorMapFloatOOBfill fill) {
    wanted tensor = EMU_WANTED;
    EMU_CALL(EMU_CONTEXT, encode_im2col(map, &tensor, lower, upper, channels, pixels));
}
