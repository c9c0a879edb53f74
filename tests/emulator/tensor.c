/* tensor.c: cp.async.bulk.tensor (PTX manual, "Tensors" and "Data Movement and Conversion Instructions: Tensor copy").
   The box of a tensor map becomes a list of spans, which bulk.c copies as it does any bulk copy. Where a box leaves its
   tensor, a load fills with zeros and a store writes nothing; the bytes that an mbarrier counts are those of the whole
   box. Shared memory is addressed as by the matrix descriptors of wgmma: the swizzles are functions of the address. */
#include "emulator.h"

enum { BOX_ALIGNMENT = 128 }; /* of a box in shared memory */

uint64_t emu_map_sum(const emu_map *map) {
    const unsigned char *bytes = (const unsigned char *)map;
    uint64_t sum = 0x7e4501;
    for (size_t i = sizeof map->sum; i < sizeof *map; i++) sum = (sum ^ bytes[i]) * 0x100000001b3u;
    return sum;
}

static emu_map read_map(const void *pointer, const char *what, int line) {
    emu_map m;
    if ((uintptr_t)pointer % 64)
        emu_fault(CUDA_ERROR_MISALIGNED_ADDRESS, line, NULL, "%s: a tensor map at 0x%zx, not a multiple of 64", what,
                  (size_t)(uintptr_t)pointer);
    memcpy(&m, pointer, sizeof m);
    if (m.sum != emu_map_sum(&m))
        emu_fault(CUDA_ERROR_ILLEGAL_INSTRUCTION, line, NULL, "%s: no tensor map of cuTensorMapEncodeTiled or "
                  "cuTensorMapEncodeIm2col at 0x%zx", what, (size_t)(uintptr_t)pointer);
    return m;
}

/* State of copying a box: rows are runs along dimension 0. */
typedef struct box {
    const emu_map *map;
    emu_bulk *copy;
    unsigned shared, row_bytes, rows; /* its offset in shared memory; rows so far */
} box;

static unsigned swizzled(unsigned offset, unsigned swizzle) {
    return offset ^ ((offset >> 7 & (swizzle / 16 - 1)) << 4);
}

/* The next row, which begins at these coordinates. */
static void add_row(box *b, const int64_t at[EMU_MAP_RANK]) {
    const emu_map *m = b->map;
    int64_t size = m->element_bytes, first = -at[0] * size, end = ((int64_t)m->last[0] + 1 - at[0]) * size;
    uint64_t global = m->address + (uint64_t)(at[0] * size);
    for (unsigned i = 1; i < m->rank; i++) {
        global += (uint64_t)at[i] * m->strides[i - 1];
        if (at[i] < 0 || at[i] > m->last[i]) end = 0;
    }
    unsigned offset = b->shared + b->rows++ * b->row_bytes, step = m->swizzle ? 16 : b->row_bytes;
    for (unsigned k = 0; k < b->row_bytes; k += step) {
        emu_span s = {global + k, m->swizzle ? swizzled(offset + k, m->swizzle) : offset + k, step, 0, 0};
        int64_t from = first - k, to = end - k;
        s.from = (unsigned)(from < 0 ? 0 : from > step ? step : from);
        s.to = (unsigned)(to < s.from ? s.from : to > step ? step : to);
        emu_bulk_add_span(b->copy, &s);
    }
}

/* ---- tile mode: coordinates of the box's first element ---- */

static unsigned count_along(const emu_map *m, unsigned i) { return (m->box[i] + m->step[i] - 1u) / m->step[i]; }

static unsigned tile_rows(const emu_map *m) {
    unsigned rows = 1;
    for (unsigned i = 1; i < m->rank; i++) rows *= count_along(m, i);
    return rows;
}

static void add_tile(box *b, const int *coordinates) {
    const emu_map *m = b->map;
    int64_t at[EMU_MAP_RANK] = {coordinates[0]};
    for (unsigned row = 0, rows = tile_rows(m); row < rows; row++) {
        unsigned rest = row;
        for (unsigned i = 1; i < m->rank; rest /= count_along(m, i++))
            at[i] = coordinates[i] + (int64_t)(rest % count_along(m, i)) * m->step[i];
        add_row(b, at);
    }
}

/* ---- im2col mode: a base, {C, W, H, D, N}, walks over W, H, D within the bounding box, then N; pixels are read at the
   base plus the offsets. The bounding box reaches from `lower` to `upper` behind the last coordinate. ---- */

static void check_base(const emu_map *m, const int *coordinates, const int *offsets, int line) {
    static const int offset_limits[EMU_MAP_RANK + 1] = {0, 0, 0, 65535, 255, 31}; /* by rank */
    for (unsigned i = 1; i + 1 < m->rank; i++) {
        int64_t upper = (int64_t)m->last[i] + m->upper[i - 1];
        if (coordinates[i] < m->lower[i - 1] || coordinates[i] > upper)
            emu_fault(CUDA_ERROR_LAUNCH_FAILED, line, NULL, "cp.async.bulk.tensor.im2col: coordinate %d of dimension "
                      "%u is outside the bounding box, %d to %lld", coordinates[i], i, m->lower[i - 1],
                      (long long)upper);
        if (offsets[i - 1] < 0 || offsets[i - 1] > offset_limits[m->rank])
            emu_fault(CUDA_ERROR_LAUNCH_FAILED, line, NULL, "cp.async.bulk.tensor.im2col: offset %d: 0 to %d are "
                      "possible", offsets[i - 1], offset_limits[m->rank]);
    }
}

static void add_pixels(box *b, const int *coordinates, const int *offsets) {
    const emu_map *m = b->map;
    unsigned n = m->rank - 1u;
    int64_t base[EMU_MAP_RANK], at[EMU_MAP_RANK];
    for (unsigned i = 0; i < m->rank; i++) base[i] = coordinates[i];
    for (unsigned pixel = 0; pixel < m->box[1]; pixel++) {
        for (unsigned i = 0; i < m->rank; i++) at[i] = base[i] + (i > 0 && i < n ? offsets[i - 1] : 0);
        add_row(b, at);
        unsigned i = 1;
        for (; i < n; i++) {
            base[i] += m->step[i];
            if (base[i] <= (int64_t)m->last[i] + m->upper[i - 1]) break;
            base[i] = m->lower[i - 1];
        }
        if (i == n) base[n]++;
    }
}

/* ---- the instructions ---- */

static box begin(emu_worker *w, const emu_map *m, emu_bulks *copies, unsigned rank, unsigned shared, int line) {
    box b = {m, NULL, shared - REID_EMULATOR_SHARED_BASE, m->box[0] * (unsigned)m->element_bytes, 0};
    unsigned rows = m->im2col ? m->box[1] : tile_rows(m);
    if (rank != m->rank)
        emu_fault(CUDA_ERROR_ILLEGAL_INSTRUCTION, line, NULL, "cp.async.bulk.tensor.%ud with a tensor map of rank %u",
                  rank, m->rank);
    if (b.shared % BOX_ALIGNMENT)
        emu_fault(CUDA_ERROR_MISALIGNED_ADDRESS, line, NULL, "cp.async.bulk.tensor at shared offset %u, not a multiple "
                  "of %d", b.shared, BOX_ALIGNMENT);
    if (b.shared > w->shared_bytes || (uint64_t)rows * b.row_bytes > w->shared_bytes - b.shared)
        emu_fault(CUDA_ERROR_ILLEGAL_ADDRESS, line, NULL, "cp.async.bulk.tensor of %llu bytes at shared offset %u of "
                  "%u bytes", (unsigned long long)rows * b.row_bytes, b.shared, w->shared_bytes);
    if (m->swizzle && m->swizzle != b.row_bytes)
        emu_fault(CUDA_ERROR_LAUNCH_FAILED, line, NULL, "cp.async.bulk.tensor of rows of %u bytes with the %u-byte "
                  "swizzle: the emulator knows rows of the swizzle's length", b.row_bytes, m->swizzle);
    b.copy = emu_bulk_new(copies, rows * (m->swizzle ? b.row_bytes / 16 : 1), line);
    return b;
}

void emu_tensor_load(unsigned to, const void *map, unsigned rank, const int *coordinates, const int *offsets,
                     unsigned mbarrier, unsigned mask, int line) {
    emu_worker *w = emu_worker_now();
    emu_map m = read_map(map, "cp.async.bulk.tensor", line);
    if (!offsets != !m.im2col)
        emu_fault(CUDA_ERROR_ILLEGAL_INSTRUCTION, line, NULL, "cp.async.bulk.tensor in %s mode with a tensor map of "
                  "the other one", offsets ? "im2col" : "tile");
    box b = begin(w, &m, &w->loads, rank, to, line);
    if (offsets) check_base(&m, coordinates, offsets, line), add_pixels(&b, coordinates, offsets);
    else add_tile(&b, coordinates);
    if (mask) emu_bulk_multicast(w, b.copy, mbarrier, mask & 0xffff);
    else emu_bulk_issue_load(w, b.copy, mbarrier);
}

void emu_tensor_store(const void *map, unsigned rank, const int *coordinates, unsigned from, int line) {
    emu_worker *w = emu_worker_now();
    emu_map m = read_map(map, "cp.async.bulk.tensor", line);
    int strided = 0;
    for (unsigned i = 1; i < m.rank; i++) strided |= m.step[i] != 1;
    if (m.im2col || strided)
        emu_fault(CUDA_ERROR_LAUNCH_FAILED, line, NULL, "cp.async.bulk.tensor to global memory with a tensor map of "
                  "%s: the emulator knows tiles without strides", m.im2col ? "im2col mode" : "element strides");
    box b = begin(w, &m, &w->stores, rank, from, line);
    add_tile(&b, coordinates);
    emu_bulk_issue_store(w, b.copy);
}

void emu_tensor_prefetch(const void *map, int line) { (void)read_map(map, "prefetch.tensormap", line); }
