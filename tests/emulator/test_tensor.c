/* test_tensor.c: tensor maps and tensor copies against the manuals of the driver and of PTX: every byte of a box
   against a plain loop, every rule of the maps, and planted bugs, as in test_hopper.c.
   Usage: test_tensor FOLDER, which holds hopper.cuh and tensor_test.cu */
#include "emu_test.h"

enum { RANK = 5, BARRIER = 32768, SHARED = BARRIER + 8 };

static CUmodule module;

typedef struct request { /* of tensor_test.cu */
    int rank, im2col, at[5], offsets[3];
    unsigned place, bytes;
} request;

typedef struct tensor { /* dimensions innermost first; between its rows there is padding */
    unsigned rank, size; /* of an element, bytes */
    cuuint64_t dims[RANK], strides[RANK - 1];
    size_t bytes;
    unsigned char *data;
    CUdeviceptr device;
} tensor;

static CUtensorMapDataType type_of(unsigned size) {
    return size == 1   ? CU_TENSOR_MAP_DATA_TYPE_UINT8
           : size == 2 ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16
           : size == 4 ? CU_TENSOR_MAP_DATA_TYPE_FLOAT32
                       : CU_TENSOR_MAP_DATA_TYPE_INT64;
}

static unsigned char *new_bytes(size_t count) {
    unsigned char *bytes = (unsigned char *)calloc(1, count);
    if (!bytes) exit(1);
    return bytes;
}

static tensor new_tensor(unsigned rank, unsigned size, const int *dims) {
    tensor t = {.rank = rank, .size = size};
    unsigned random = rank * 7 + size;
    size_t bytes = ((size_t)dims[0] * size + 15) / 16 * 16;
    for (unsigned i = 0; i < rank; i++) t.dims[i] = (cuuint64_t)dims[i];
    for (unsigned i = 1; i < rank; i++) {
        t.strides[i - 1] = bytes + 16 * i;
        bytes = t.strides[i - 1] * (cuuint64_t)dims[i];
    }
    t.bytes = bytes, t.data = new_bytes(bytes);
    for (size_t i = 0; i < bytes; i++) t.data[i] = (unsigned char)(1 + emu_next_random(&random) % 255);
    t.device = emu_upload(t.data, bytes);
    return t;
}

static void free_tensor(tensor *t) {
    free(t->data);
    NEED(cuMemFree_v2(t->device));
}

static void *address_of(const tensor *t) { return (void *)(uintptr_t)t->device; }

/* Where the element at these coordinates is in memory; SIZE_MAX: nowhere. */
static size_t place_of(const tensor *t, const int *at) {
    size_t place = 0;
    for (unsigned i = 0; i < t->rank; i++) {
        if (at[i] < 0 || (cuuint64_t)at[i] >= t->dims[i]) return SIZE_MAX;
        place += (cuuint64_t)at[i] * (i ? t->strides[i - 1] : t->size);
    }
    return place;
}

/* The destination of byte `i` of a box that begins at `place` of shared memory. The 16-byte pieces of a row, which is
   as long as the swizzle, are permuted by the number of its 128-byte line. */
static size_t swizzled(size_t i, unsigned place, unsigned swizzle) {
    size_t at = place + i, line = at / 128, piece = swizzle ? at % swizzle / 16 : 0;
    if (!swizzle) return i;
    return at / swizzle * swizzle + (piece ^ line % (swizzle / 16)) * 16 + at % 16 - place;
}

static CUtensorMapSwizzle swizzle_of(unsigned bytes) {
    return bytes == 128  ? CU_TENSOR_MAP_SWIZZLE_128B
           : bytes == 64 ? CU_TENSOR_MAP_SWIZZLE_64B
           : bytes == 32 ? CU_TENSOR_MAP_SWIZZLE_32B
                         : CU_TENSOR_MAP_SWIZZLE_NONE;
}

static CUtensorMap tiled_map(const tensor *t, const cuuint32_t *box, const cuuint32_t *steps, unsigned swizzle) {
    CUtensorMap map;
    NEED(cuTensorMapEncodeTiled(&map, type_of(t->size), t->rank, address_of(t), t->dims, t->strides, box, steps,
                                CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle_of(swizzle), CU_TENSOR_MAP_L2_PROMOTION_NONE,
                                CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
    return map;
}

/* ---- loads ---- */

/* Runs the request; returns the number of bytes that differ from `wanted`, which is in the order of the box. */
static int wrong_bytes(CUtensorMap *map, request *r, const unsigned char *want, unsigned swizzle) {
    unsigned char *got = new_bytes(r->bytes);
    CUdeviceptr out = emu_upload(NULL, r->bytes);
    void *params[] = {map, r, &out};
    int wrong = 0;
    OK(emu_launch_1d(emu_function_of(module, "unit_tensor_load", SHARED), 1, 64, SHARED, params));
    emu_download(got, out, r->bytes);
    for (size_t i = 0; i < r->bytes; i++) wrong += got[swizzled(i, r->place, swizzle)] != want[i];
    free(got);
    return wrong;
}

typedef struct tile {
    unsigned rank, size;
    int dims[RANK], at[RANK];
    cuuint32_t box[RANK], steps[RANK];
    unsigned swizzle, place;
} tile;

/* The element of the box with this number: its coordinates. */
static void tile_element(const tile *c, unsigned number, int *at) {
    for (unsigned i = 0; i < c->rank; i++) {
        unsigned count = (c->box[i] + c->steps[i] - 1) / c->steps[i];
        at[i] = c->at[i] + (int)(number % count * c->steps[i]);
        number /= count;
    }
}

static unsigned tile_elements(const tile *c) {
    unsigned count = 1;
    for (unsigned i = 0; i < c->rank; i++) count *= (c->box[i] + c->steps[i] - 1) / c->steps[i];
    return count;
}

static request tile_request(const tile *c) {
    request r = {.rank = (int)c->rank, .place = c->place, .bytes = tile_elements(c) * c->size};
    memcpy(r.at, c->at, sizeof r.at);
    return r;
}

static void test_load(const tile *c) {
    tensor t = new_tensor(c->rank, c->size, c->dims);
    CUtensorMap map = tiled_map(&t, c->box, c->steps, c->swizzle);
    request r = tile_request(c);
    unsigned char *want = new_bytes(r.bytes);
    for (unsigned i = 0; i < r.bytes / c->size; i++) {
        int at[RANK];
        tile_element(c, i, at);
        size_t place = place_of(&t, at);
        if (place != SIZE_MAX) memcpy(want + i * c->size, t.data + place, c->size);
    }
    CHECK_IS(wrong_bytes(&map, &r, want, c->swizzle), 0);
    free(want), free_tensor(&t);
}

static const tile loads[] = {
    {2, 2, {50, 13}, {0, 0}, {32, 8}, {1, 1}, 0, 0},
    {2, 2, {50, 13}, {24, 9}, {32, 8}, {1, 1}, 64, 0},       /* leaves it at the end of both dimensions */
    {2, 2, {50, 13}, {-5, -3}, {64, 11}, {1, 1}, 128, 1024}, /* and at the beginning */
    {2, 4, {9, 5}, {-3, 2}, {8, 2}, {1, 1}, 32, 384},        /* swizzles go by the address */
    {2, 4, {9, 5}, {1, 1}, {16, 3}, {1, 1}, 64, 128},
    {2, 1, {200, 7}, {60, -20}, {128, 20}, {1, 1}, 128, 640}, /* nothing but zeros */
    {2, 8, {3, 3}, {1, 0}, {4, 3}, {1, 1}, 32, 0},
    {2, 2, {64, 300}, {0, 0}, {8, 256}, {1, 2}, 0, 0}, /* every other row */
    {3, 2, {40, 7, 5}, {8, -1, 1}, {16, 5, 3}, {1, 1, 1}, 32, 0},
    {3, 2, {40, 9, 9}, {0, -2, 1}, {32, 7, 8}, {1, 2, 3}, 64, 256},
    {4, 2, {64, 7, 5, 3}, {0, -1, -1, 1}, {64, 4, 3, 2}, {1, 1, 1, 1}, 128, 0},
    {4, 2, {24, 7, 7, 3}, {8, 1, 0, 0}, {16, 6, 7, 3}, {1, 2, 2, 1}, 32, 0},
    {5, 2, {24, 4, 3, 3, 2}, {8, 1, -1, 1, -1}, {24, 3, 4, 3, 3}, {1, 1, 1, 1, 1}, 0, 0},
    {5, 4, {8, 5, 4, 3, 3}, {0, 0, 0, -1, 0}, {8, 5, 4, 3, 4}, {1, 2, 3, 1, 2}, 32, 0},
};

/* ---- stores: what is outside is not written ---- */

static const tile stores[] = {
    {2, 2, {50, 13}, {8, 2}, {32, 8}, {1, 1}, 64, 0},
    {2, 2, {50, 13}, {-5, 9}, {64, 8}, {1, 1}, 128, 128},
    {3, 4, {10, 5, 4}, {4, -2, 2}, {8, 4, 3}, {1, 1, 1}, 32, 0},
    {4, 2, {24, 5, 4, 3}, {8, 2, -1, 1}, {24, 4, 3, 3}, {1, 1, 1, 1}, 0, 0},
    {5, 2, {24, 4, 3, 3, 2}, {8, 1, -1, 1, -1}, {24, 3, 4, 3, 3}, {1, 1, 1, 1, 1}, 0, 0},
    {2, 2, {50, 13}, {0, 13}, {32, 8}, {1, 1}, 64, 0}, /* nothing at all */
};

static void test_store(const tile *c) {
    tensor t = new_tensor(c->rank, c->size, c->dims);
    CUtensorMap map = tiled_map(&t, c->box, c->steps, c->swizzle);
    request r = tile_request(c);
    unsigned char *in = new_bytes(r.bytes), *got = new_bytes(t.bytes);
    unsigned random = 5;
    for (unsigned i = 0; i < r.bytes; i++) in[i] = (unsigned char)emu_next_random(&random);
    for (unsigned i = 0; i < r.bytes; i++) {
        int at[RANK];
        tile_element(c, i / c->size, at);
        size_t place = place_of(&t, at);
        if (place != SIZE_MAX) t.data[place + i % c->size] = in[swizzled(i, c->place, c->swizzle)];
    }
    CUdeviceptr din = emu_upload(in, r.bytes);
    void *params[] = {&map, &r, &din};
    OK(emu_launch_1d(emu_function_of(module, "unit_tensor_store", SHARED), 1, 64, SHARED, params));
    NEED(cuMemcpyDtoH_v2(got, t.device, t.bytes));
    CHECK(memcmp(got, t.data, t.bytes) == 0);
    NEED(cuMemFree_v2(din));
    free(in), free(got), free_tensor(&t);
}

/* ---- im2col: as a convolution uses it. Row i of the box is the input of output pixel first + i, for one element of
   the filter. Spatial dimensions W, H, D; an image that does not exist, and padding, are zeros. ---- */

typedef struct convolution {
    unsigned spatial, swizzle;
    int channels, images, in[3], filter[3], stride[3], padding[3], dilation[3];
    cuuint32_t box_channels, pixels;
    int first_channel, first_pixel;
} convolution;

static int output_size(const convolution *c, unsigned i) {
    return (c->in[i] + 2 * c->padding[i] - (c->filter[i] - 1) * c->dilation[i] - 1) / c->stride[i] + 1;
}

static CUtensorMap im2col_map(const convolution *c, const tensor *t) {
    CUtensorMap map;
    int lower[3], upper[3];
    cuuint32_t steps[RANK] = {1, 1, 1, 1, 1};
    for (unsigned i = 0; i < c->spatial; i++) {
        lower[i] = -c->padding[i], steps[i + 1] = (cuuint32_t)c->stride[i];
        upper[i] = (output_size(c, i) - 1) * c->stride[i] + 1 - c->in[i] - c->padding[i];
    }
    NEED(cuTensorMapEncodeIm2col(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, c->spatial + 2, address_of(t), t->dims,
                                 t->strides, lower, upper, c->box_channels, c->pixels, steps,
                                 CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle_of(c->swizzle),
                                 CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
    return map;
}

/* Output pixel `pixel` of the batch, W fastest: the coordinates of the filter's corner in the input. */
static void corner_of(const convolution *c, int pixel, int *at) {
    for (unsigned i = 0; i < c->spatial; i++) {
        at[i + 1] = pixel % output_size(c, i) * c->stride[i] - c->padding[i];
        pixel /= output_size(c, i);
    }
    at[c->spatial + 1] = pixel;
}

static void test_filter_element(const convolution *c, const tensor *t, CUtensorMap *map, int element) {
    request r = {.rank = (int)c->spatial + 2, .im2col = 1, .bytes = c->box_channels * c->pixels * 2};
    unsigned char *want = new_bytes(r.bytes);
    corner_of(c, c->first_pixel, r.at);
    r.at[0] = c->first_channel;
    for (unsigned i = 0; i < c->spatial; element /= c->filter[i++])
        r.offsets[i] = element % c->filter[i] * c->dilation[i];
    for (unsigned k = 0; k < c->pixels * c->box_channels; k++) {
        int at[RANK];
        corner_of(c, c->first_pixel + (int)(k / c->box_channels), at);
        at[0] = c->first_channel + (int)(k % c->box_channels);
        for (unsigned i = 0; i < c->spatial; i++) at[i + 1] += r.offsets[i];
        size_t place = place_of(t, at);
        if (place != SIZE_MAX) memcpy(want + k * 2, t->data + place, 2);
    }
    CHECK_IS(wrong_bytes(map, &r, want, c->swizzle), 0);
    free(want);
}

static void test_convolution(const convolution *c) {
    int dims[RANK] = {c->channels}, elements = 1;
    for (unsigned i = 0; i < c->spatial; i++) dims[i + 1] = c->in[i], elements *= c->filter[i];
    dims[c->spatial + 1] = c->images;
    tensor t = new_tensor(c->spatial + 2, 2, dims);
    CUtensorMap map = im2col_map(c, &t);
    for (int element = 0; element < elements; element++) test_filter_element(c, &t, &map, element);
    free_tensor(&t);
}

static const convolution convolutions[] = {
    {2, 128, 64, 3, {9, 7}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, 64, 128, 0, 0},  /* W 9, H 7; two images and a bit */
    {2, 128, 64, 3, {9, 7}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, 64, 41, 0, 17},  /* stride 2, beyond the last image */
    {2, 64, 56, 2, {10, 8}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, 32, 30, 32, 3},  /* even sizes; channels run out */
    {2, 32, 16, 2, {7, 7}, {1, 1}, {2, 2}, {0, 0}, {1, 1}, 16, 20, 0, 5},    /* 1x1, stride 2 */
    {2, 0, 24, 2, {11, 6}, {5, 3}, {1, 2}, {2, 0}, {2, 1}, 24, 16, 0, 1},    /* other along W than along H; dilation */
    {1, 32, 16, 4, {13}, {3}, {2}, {1}, {1}, 16, 33, 0, 2},                  /* NWC */
    {3, 0, 8, 2, {5, 4, 3}, {3, 2, 2}, {1, 2, 1}, {1, 0, 1}, {1, 1, 1}, 8, 50, 0, 7}, /* NDHWC */
};

/* ---- the rules of the maps ---- */

typedef struct encoding { /* a valid one, of which a row of `rules` changes one thing */
    int type, rank, interleave, swizzle, promotion, fill;
    cuuint64_t dims[RANK], strides[RANK - 1];
    cuuint32_t box[RANK], steps[RANK];
    int lower[3], upper[3];
    unsigned misaligned, address_offset; /* bytes */
} encoding;

static const encoding valid = {CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 4, 0, CU_TENSOR_MAP_SWIZZLE_128B, 0, 0,
                               {64, 9, 7, 3}, {128, 1152, 8064}, {64, 4, 4, 1}, {1, 1, 1, 1}, {-1, -1}, {-1, -1}, 0, 0};

static CUresult encode(const encoding *e, int im2col, CUdeviceptr device) {
    static CUtensorMap maps[2];
    CUtensorMap *map = (CUtensorMap *)(void *)((char *)maps + e->misaligned);
    void *address = (void *)(uintptr_t)(device + e->address_offset);
    if (im2col)
        return cuTensorMapEncodeIm2col(map, (CUtensorMapDataType)e->type, (cuuint32_t)e->rank, address, e->dims,
                                       e->strides, e->lower, e->upper, e->box[0], e->box[1], e->steps,
                                       (CUtensorMapInterleave)e->interleave, (CUtensorMapSwizzle)e->swizzle,
                                       (CUtensorMapL2promotion)e->promotion, (CUtensorMapFloatOOBfill)e->fill);
    return cuTensorMapEncodeTiled(map, (CUtensorMapDataType)e->type, (cuuint32_t)e->rank, address, e->dims,
                                  e->strides, e->box, e->steps, (CUtensorMapInterleave)e->interleave,
                                  (CUtensorMapSwizzle)e->swizzle, (CUtensorMapL2promotion)e->promotion,
                                  (CUtensorMapFloatOOBfill)e->fill);
}

#define BAD CUDA_ERROR_INVALID_VALUE
#define UNKNOWN CUDA_ERROR_NOT_SUPPORTED
/* The result of encoding with this change, tiled and im2col. */
#define RULE(change, tiled, im2col)                                                                                    \
    do {                                                                                                               \
        encoding e = valid;                                                                                            \
        change;                                                                                                        \
        CHECK_IS(encode(&e, 0, device), tiled);                                                                        \
        CHECK_IS(encode(&e, 1, device), im2col);                                                                       \
    } while (0)

static void test_rules_of_both(CUdeviceptr device) {
    RULE((void)0, 0, 0);
    RULE(e.misaligned = 32, BAD, BAD);
    RULE(e.address_offset = 8, BAD, BAD);
    RULE(e.address_offset = 16, 0, 0);
    RULE(e.type = 99, BAD, BAD);
    RULE(e.type = 13, UNKNOWN, UNKNOWN); /* packed */
    RULE(e.rank = 0, BAD, BAD);
    RULE(e.rank = 2, 0, BAD);
    RULE(e.rank = 6, BAD, BAD);
    RULE(e.dims[2] = 0, BAD, BAD);
    RULE(e.dims[3] = 1ull << 32, 0, 0);
    RULE(e.dims[3] = (1ull << 32) + 1, BAD, BAD);
    RULE(e.strides[0] = 136, BAD, BAD);
    RULE(e.strides[2] = 1ull << 40, BAD, BAD);
    RULE(e.strides[2] = (1ull << 40) - 16, 0, 0);
    RULE(e.strides[1] = 0, BAD, BAD);
    RULE(e.steps[1] = 0, BAD, BAD);
    RULE(e.steps[1] = 9, BAD, BAD);
    RULE(e.steps[1] = e.steps[2] = 8, 0, 0);
    RULE(e.interleave = CU_TENSOR_MAP_INTERLEAVE_16B, UNKNOWN, UNKNOWN);
    RULE(e.interleave = 3, BAD, BAD);
    RULE(e.swizzle = 4, UNKNOWN, UNKNOWN);
    RULE(e.swizzle = 7, BAD, BAD);
    RULE(e.promotion = 4, BAD, BAD);
    RULE(e.promotion = CU_TENSOR_MAP_L2_PROMOTION_L2_256B, 0, 0);
    RULE(e.fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA, UNKNOWN, UNKNOWN);
    RULE(e.fill = 2, BAD, BAD);
    RULE(e.box[0] = 72, BAD, BAD); /* 144 bytes: more than the swizzle */
    RULE((e.box[0] = 72, e.swizzle = 0), 0, 0);
    RULE((e.box[0] = 257, e.type = CU_TENSOR_MAP_DATA_TYPE_UINT8, e.swizzle = 0), BAD, BAD);
    RULE(e.box[0] = 60, BAD, BAD); /* not a multiple of 16 bytes */
    RULE(e.box[0] = 0, BAD, BAD);
}

static void test_rules(void) {
    CUdeviceptr device = emu_upload(NULL, 65536);
    CUtensorMap map;
    test_rules_of_both(device);
    RULE(e.box[1] = 0, BAD, BAD);
    RULE(e.box[1] = 256, 0, 0);
    RULE(e.box[1] = 257, BAD, 0);
    RULE(e.box[1] = 1025, BAD, BAD);
    RULE(e.box[3] = 257, BAD, 0);
    RULE((e.lower[0] = -128, e.upper[1] = 127), 0, 0);
    RULE(e.lower[1] = -129, 0, BAD);
    RULE(e.upper[0] = 128, 0, BAD);
    RULE((e.lower[0] = 0, e.upper[0] = -8), 0, 0);
    RULE((e.lower[0] = 0, e.upper[0] = -9), 0, BAD); /* no area */
    RULE((e.rank = 3, e.lower[0] = -32768), 0, 0);
    RULE((e.rank = 3, e.upper[0] = 32768), 0, BAD);
    RULE((e.rank = 5, e.dims[4] = 2, e.strides[3] = 24192, e.box[4] = e.steps[4] = 1, e.lower[2] = -16), 0, 0);
    RULE((e.rank = 5, e.dims[4] = 2, e.strides[3] = 24192, e.box[4] = e.steps[4] = 1, e.upper[0] = -17), 0, BAD);
    CHECK_IS(cuTensorMapEncodeTiled(NULL, CU_TENSOR_MAP_DATA_TYPE_UINT8, 1, &map, valid.dims, NULL, valid.box,
                                    valid.steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
                                    CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE), BAD);
    NEED(cuMemFree_v2(device));
}

/* ---- bugs ---- */

static const emu_bug bugs[] = {
    {"tensor_fine", "right", "right"},
    {"tensor_no_wait", OUTPUT, "read of shared memory offset"},
    {"tensor_expect_less", "transaction count -512)", "transaction count -512)"},
    {"tensor_expect_more", "transaction count 1024)", "transaction count 1024)"},
    {"tensor_misaligned", "at shared offset 64, not a multiple of 128", "at shared offset 64, not a multiple"},
    {"tensor_outside", "of 1024 bytes at shared offset 32256 of", "of 1024 bytes at shared offset 32256 of"},
    {"tensor_garbage", "no tensor map of cuTensorMapEncodeTiled", "no tensor map of cuTensorMapEncodeTiled"},
    {"tensor_garbage_prefetch", "prefetch.tensormap: no tensor map", "prefetch.tensormap: no tensor map"},
    {"tensor_wrong_rank", "cp.async.bulk.tensor.3d with a tensor map of rank 2", "with a tensor map of rank 2"},
    {"tensor_wrong_mode", "in im2col mode with a tensor map of the other", "in im2col mode with a tensor map"},
    {"tensor_other_mode", "in tile mode with a tensor map of the other", "in tile mode with a tensor map of the other"},
    {"tensor_no_base", "coordinate 11 of dimension 1 is outside the bounding box, -1 to 10", "the bounding box"},
    {"tensor_far_offset", "offset 256: 0 to 255 are possible", "offset 256: 0 to 255 are possible"},
    {"tensor_short", "0 bytes past the end of allocation #1", "0 bytes past the end of allocation #1"},
    {"tensor_store_fine", "right", "right"},
    {"tensor_store_no_fence", NULL, "there is no fence.proxy.async"},
    {"tensor_store_no_wait", "it may not have been read", "it may not have been read"},
    {"tensor_store_im2col", "to global memory with a tensor map of im2col mode", "with a tensor map of im2col mode"},
};

/* tensor_short is tensor_fine in memory that ends before the map does; far_offset needs an im2col map of rank 4. */
static int run(const char *name, const char *cubin) {
    static const cuuint64_t dims[4] = {64, 12, 1, 1}, strides[3] = {128, 1536, 1536};
    static const cuuint32_t box[2] = {64, 8}, steps[4] = {1, 1, 1, 1};
    static const int lower[2] = {-1, 0}, upper[2] = {-1, 0};
    uint16_t in[12 * 64], out[8 * 64];
    CUtensorMap tiled, im2col;
    int wrong = 0, is_short = strcmp(name, "tensor_short") == 0, stored = strncmp(name, "tensor_store", 12) == 0;
    emu_start();
    for (int i = 0; i < 12 * 64; i++) in[i] = (uint16_t)(1000 + i);
    CUdeviceptr din = emu_upload(in, is_short ? 10 * 128 : sizeof in), dout = emu_upload(NULL, sizeof out);
    NEED(cuTensorMapEncodeTiled(&tiled, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, (void *)(uintptr_t)din, dims, strides,
                                box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
                                CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
    NEED(cuTensorMapEncodeIm2col(&im2col, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, strstr(name, "far") ? 4 : 3,
                                 (void *)(uintptr_t)din, dims, strides, lower, upper, 64, 8, steps,
                                 CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
                                 CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
    NEED(cuModuleLoadData(&module, cubin));
    CUfunction f = emu_function_of(module, is_short ? "tensor_fine" : name, SHARED);
    void *params[] = {&tiled, &im2col, &dout};
    if (emu_launch_1d(f, 1, 64, SHARED, params)) return 1;
    NEED(cuMemcpyDtoH_v2(out, stored ? din : dout, sizeof out));
    for (int i = 0; i < 8 * 64; i++) wrong += out[i] != (stored ? i : 1000 + 4 * 64 + i);
    fprintf(stderr, wrong ? OUTPUT "\n" : "the output is right\n");
    return wrong != 0;
}

int main(int argc, char **argv) {
    char *cubin = emu_hopper_cubin(argc, argv, "tensor_test.cu");
    emu_find_bugs(run, bugs, sizeof bugs / sizeof *bugs, cubin);
    emu_start();
    NEED(cuModuleLoadData(&module, cubin));
    test_rules();
    for (size_t i = 0; i < sizeof loads / sizeof *loads; i++) test_load(&loads[i]);
    for (size_t i = 0; i < sizeof stores / sizeof *stores; i++) test_store(&stores[i]);
    for (size_t i = 0; i < sizeof convolutions / sizeof *convolutions; i++) test_convolution(&convolutions[i]);
    emu_stop(module);
    free(cubin);
    return emu_done("test_tensor");
}
