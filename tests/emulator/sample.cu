/* sample.cu: a kernel file as the emulator's contract wants it (prelude.h), small enough to read in one go.

   kernel      what                                              block  shared memory
   gemm_naive  C = A B', fp32, a thread per element              16x16  -
   gemm_tiled  C = A B', fp32, 64x64 tiles in shared memory      256    2 tiles of 64x16 floats, 8704 bytes
   gemm_f16    C = A B', fp16 in, fp32 out, tensor cores         128    STAGES * 8192 bytes
   row_norms   the length of every row, a warp per row           128    -

   A is (m, k), B is (n, k), both row-major; C is (m, n). */

/* ---- one PTX instruction each; on the CPU prelude_ptx.h has functions of the same names ---- */
#ifndef REID_EMULATOR
/* fp32 to fp16, to nearest even. */
__device__ __forceinline__ unsigned short reid_f16_from_f32(float a) {
    unsigned short r;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(r) : "f"(a));
    return r;
}

/* fp16 to fp32. */
__device__ __forceinline__ float reid_f32_from_f16(unsigned short a) {
    float r;
    asm("cvt.f32.f16 %0, %1;" : "=f"(r) : "h"(a));
    return r;
}

/* Two fp32 to a pair of fp16, the first in the low half. */
__device__ __forceinline__ unsigned reid_f16x2_from_f32(float low, float high) {
#if __CUDA_ARCH__ >= 800
    unsigned r;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
    return r;
#else
    return reid_f16_from_f32(low) | (unsigned)reid_f16_from_f32(high) << 16;
#endif
}

#if __CUDA_ARCH__ >= 800
/* The larger ones of two pairs of fp16; a NaN wins. */
__device__ __forceinline__ unsigned reid_max_f16x2(unsigned a, unsigned b) {
    unsigned r;
    asm("max.NaN.f16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    return r;
}
#endif

/* Two whole numbers cut off to what a byte can be, 0 ... 255 or -128 ... 127, then the lower half of rest. */
__device__ __forceinline__ unsigned reid_pack_u8(int high, int low, unsigned rest) {
    unsigned r;
    asm("cvt.pack.sat.u8.s32.b32 %0, %1, %2, %3;" : "=r"(r) : "r"(high), "r"(low), "r"(rest));
    return r;
}
__device__ __forceinline__ unsigned reid_pack_s8(int high, int low, unsigned rest) {
    unsigned r;
    asm("cvt.pack.sat.s8.s32.b32 %0, %1, %2, %3;" : "=r"(r) : "r"(high), "r"(low), "r"(rest));
    return r;
}

/* The first, the second of a pair of fp16 as fp32. */
__device__ __forceinline__ float reid_f32_from_f16x2_low(unsigned a) { return reid_f32_from_f16((unsigned short)a); }
__device__ __forceinline__ float reid_f32_from_f16x2_high(unsigned a) {
    return reid_f32_from_f16((unsigned short)(a >> 16));
}

/* 2^a, 1/a, tanh(a) by the special-function unit. */
__device__ __forceinline__ float reid_exp2_approx(float a) {
    float r;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(a));
    return r;
}
__device__ __forceinline__ float reid_rcp_approx(float a) {
    float r;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(a));
    return r;
}
__device__ __forceinline__ float reid_tanh_approx(float a) {
    float r;
    asm("tanh.approx.f32 %0, %1;" : "=f"(r) : "f"(a));
    return r;
}

/* d (16x8, fp32) += a (16x8, fp16) * b (8x8, fp16), by a warp. */
__device__ __forceinline__ void reid_mma_m16n8k8(float d[4], const unsigned a[2], const unsigned b[1]) {
    asm("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(b[0]));
}

/* Lane i gives the .shared address of row i % 8 of 8x8 matrix i / 8, and gets two neighbouring elements of each:
   row i / 4, columns 2 * (i % 4) and the next. */
__device__ __forceinline__ void reid_ldmatrix_x1(unsigned r[1], unsigned row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(r[0]) : "r"(row) : "memory");
}
__device__ __forceinline__ void reid_ldmatrix_x2(unsigned r[2], unsigned row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1}, [%2];"
                 : "=r"(r[0]), "=r"(r[1]) : "r"(row) : "memory");
}
__device__ __forceinline__ void reid_ldmatrix_x4(unsigned r[4], unsigned row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(row) : "memory");
}

/* The same of the transposed matrices: column i / 4, rows 2 * (i % 4) and the next. */
__device__ __forceinline__ void reid_ldmatrix_x1_trans(unsigned r[1], unsigned row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];" : "=r"(r[0]) : "r"(row) : "memory");
}
__device__ __forceinline__ void reid_ldmatrix_x2_trans(unsigned r[2], unsigned row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];"
                 : "=r"(r[0]), "=r"(r[1]) : "r"(row) : "memory");
}
__device__ __forceinline__ void reid_ldmatrix_x4_trans(unsigned r[4], unsigned row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(row) : "memory");
}

#if __CUDA_ARCH__ >= 800
/* d (16x8, fp32) += a (16x16, fp16) * b (16x8, fp16), by a warp. */
__device__ __forceinline__ void reid_mma_m16n8k32(int d[4], const unsigned a[4], const unsigned b[2]) {
    asm("mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
__device__ __forceinline__ void reid_mma_m16n8k16(float d[4], const unsigned a[4], const unsigned b[2]) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

/* Starts a copy of 4, 8 or 16 bytes from global to shared memory; only source_bytes are read, the rest becomes zero. */
__device__ __forceinline__ void reid_cp_async_4(unsigned to, const void *from, unsigned source_bytes) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to), "l"(from), "r"(source_bytes) : "memory");
}
__device__ __forceinline__ void reid_cp_async_8(unsigned to, const void *from, unsigned source_bytes) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(to), "l"(from), "r"(source_bytes) : "memory");
}
__device__ __forceinline__ void reid_cp_async_16(unsigned to, const void *from, unsigned source_bytes) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(source_bytes) : "memory");
}

/* Ends a group of this thread's copies; waits until at most so many of its groups are in flight; waits for all. */
__device__ __forceinline__ void reid_cp_async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int groups> __device__ __forceinline__ void reid_cp_async_wait() {
    asm volatile("cp.async.wait_group %0;" ::"n"(groups) : "memory");
}
__device__ __forceinline__ void reid_cp_async_wait_all() { asm volatile("cp.async.wait_all;" ::: "memory"); }
#endif

/* A pointer into shared memory as a .shared address. */
__device__ __forceinline__ unsigned reid_shared_address(const void *pointer) {
    return (unsigned)__cvta_generic_to_shared(pointer);
}

/* 16 bytes that nobody will want again: past the L1 cache. */
__device__ __forceinline__ uint4 reid_load_once_16(const void *from) {
    uint4 v;
    asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0,%1,%2,%3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(from));
    return v;
}

/* Barrier `id` (0 is __syncthreads) for the first `threads` threads to arrive, a multiple of 32. */
__device__ __forceinline__ void reid_bar_sync(unsigned id, unsigned threads) {
    asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

/* Nanoseconds. */
__device__ __forceinline__ unsigned long long reid_globaltimer() {
    unsigned long long t;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
    return t;
}
#endif

extern __shared__ __align__(1024) unsigned char reid_shared[];

/* ---- fp32 ---- */

extern "C" __global__ void gemm_naive(const float *a, const float *b, float *c, int m, int n, int k) {
    int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n) return;
    float sum = 0.0f;
    for (int i = 0; i < k; i++) sum = fmaf(a[row * k + i], b[column * k + i], sum);
    c[row * n + column] = sum;
}

/* 64x64 elements per block, 4x4 per thread; both tiles k-major, with rows of 68 floats: no bank conflicts, and every
   row at a multiple of 16 bytes. */
extern "C" __global__ void __launch_bounds__(256) gemm_tiled(const float *a, const float *b, float *c, int m, int n,
                                                             int k) {
    float(*tile_a)[68] = (float(*)[68])reid_shared, (*tile_b)[68] = tile_a + 16;
    int row = blockIdx.y * 64, column = blockIdx.x * 64;
    int my_row = threadIdx.x / 16 * 4, my_column = threadIdx.x % 16 * 4;
    float sum[4][4] = {};
    for (int k0 = 0; k0 < k; k0 += 16) {
        for (int i = threadIdx.x; i < 64 * 16; i += 256) {
            int r = i / 16, kk = i % 16;
            tile_a[kk][r] = row + r < m && k0 + kk < k ? a[(row + r) * k + k0 + kk] : 0.0f;
            tile_b[kk][r] = column + r < n && k0 + kk < k ? b[(column + r) * k + k0 + kk] : 0.0f;
        }
        __syncthreads();
#pragma unroll
        for (int kk = 0; kk < 16; kk++) {
            float4 x = *(const float4 *)&tile_a[kk][my_row], y = *(const float4 *)&tile_b[kk][my_column];
            float xs[4] = {x.x, x.y, x.z, x.w}, ys[4] = {y.x, y.y, y.z, y.w};
#pragma unroll
            for (int i = 0; i < 4; i++)
#pragma unroll
                for (int j = 0; j < 4; j++) sum[i][j] = fmaf(xs[i], ys[j], sum[i][j]);
        }
        __syncthreads();
    }
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++)
            if (row + my_row + i < m && column + my_column + j < n)
                c[(row + my_row + i) * n + column + my_column + j] = sum[i][j];
}

/* ---- fp16 ----
   64x64 elements per block, 32x32 per warp. A stage is 128 rows (64 of A, then 64 of B) of 32 halves, 64 bytes: four
   16-byte chunks, whose places within the row are swapped by the row's number so that the eight rows of an ldmatrix lie
   in different banks. STAGES of them are in flight. */
#ifndef STAGES
#define STAGES 3
#endif
#define STAGE_BYTES 8192

__device__ __forceinline__ int chunk_offset(int row, int chunk) { return row * 64 + (chunk ^ (row >> 1 & 3)) * 16; }

/* 16 bytes, or zeros where there is nothing to read. */
__device__ __forceinline__ void copy_16(unsigned char *to, const unsigned short *from, int inside) {
#if __CUDA_ARCH__ >= 800
    reid_cp_async_16(reid_shared_address(to), from, inside ? 16 : 0);
#else
    *(uint4 *)to = inside ? *(const uint4 *)from : make_uint4(0, 0, 0, 0);
#endif
}

__device__ __forceinline__ void load_stage(unsigned char *stage, const unsigned short *a, const unsigned short *b,
                                           int row, int column, int k0, int m, int n, int k) {
#pragma unroll
    for (int i = 0; i < 4; i++) {
        int at = threadIdx.x + i * 128, r = at / 4, chunk = at % 4, is_b = r >= 64;
        int from_row = is_b ? column + r - 64 : row + r, inside = from_row < (is_b ? n : m) && k0 + chunk * 8 < k;
        const unsigned short *from = is_b ? b : a;
        copy_16(stage + chunk_offset(r, chunk), inside ? from + (size_t)from_row * k + k0 + chunk * 8 : from, inside);
    }
#if __CUDA_ARCH__ >= 800
    reid_cp_async_commit();
#endif
}

/* A warp's 32x32 elements: += A's 32 rows times B's 32 rows, 16 of k at a time. */
__device__ __forceinline__ void multiply_stage(float sum[2][4][4], const unsigned char *stage, int warp_row,
                                               int warp_column, int lane) {
    unsigned base = reid_shared_address(stage);
#pragma unroll
    for (int kk = 0; kk < 2; kk++) {
        unsigned fa[2][4], fb[2][4]; /* fb: per pair of 8 columns, {k 0-7, k 8-15} of each */
#pragma unroll
        for (int i = 0; i < 2; i++) {
            reid_ldmatrix_x4(fa[i], base + chunk_offset(warp_row + i * 16 + lane % 16, kk * 2 + lane / 16));
            reid_ldmatrix_x4(fb[i], base + chunk_offset(64 + warp_column + i * 16 + lane / 16 * 8 + lane % 8,
                                                        kk * 2 + lane / 8 % 2));
        }
#pragma unroll
        for (int i = 0; i < 2; i++)
#pragma unroll
            for (int j = 0; j < 4; j++) {
                const unsigned *b = fb[j / 2] + j % 2 * 2;
#if __CUDA_ARCH__ >= 800
                reid_mma_m16n8k16(sum[i][j], fa[i], b);
#else
                reid_mma_m16n8k8(sum[i][j], fa[i], b);
                reid_mma_m16n8k8(sum[i][j], fa[i] + 2, b + 1);
#endif
            }
    }
}

extern "C" __global__ void __launch_bounds__(128, 2) gemm_f16(const unsigned short *a, const unsigned short *b,
                                                              float *c, int m, int n, int k) {
    int lane = threadIdx.x % 32, warp_row = threadIdx.x / 64 * 32, warp_column = threadIdx.x / 32 % 2 * 32;
    int row = blockIdx.y * 64, column = blockIdx.x * 64, tiles = (k + 31) / 32;
    float sum[2][4][4] = {};
    for (int t = 0; t < STAGES - 1; t++) load_stage(reid_shared + t * STAGE_BYTES, a, b, row, column, t * 32, m, n, k);
    for (int t = 0; t < tiles; t++) {
#if __CUDA_ARCH__ >= 800
        reid_cp_async_wait<STAGES - 2>(); /* tile t has landed, for this thread; */
#endif
        __syncthreads(); /* for all; and all are done with the slot that is filled next */
        int next = t + STAGES - 1;
        load_stage(reid_shared + next % STAGES * STAGE_BYTES, a, b, row, column, next * 32, m, n, k);
        multiply_stage(sum, reid_shared + t % STAGES * STAGE_BYTES, warp_row, warp_column, lane);
    }
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 4; j++)
            for (int e = 0; e < 4; e++) {
                int r = row + warp_row + i * 16 + lane / 4 + e / 2 * 8;
                int col = column + warp_column + j * 8 + lane % 4 * 2 + e % 2;
                if (r < m && col < n) c[(size_t)r * n + col] = sum[i][j][e];
            }
}

/* ---- reduction ---- */

extern "C" __global__ void __launch_bounds__(128) row_norms(const float *a, float *norms, int m, int k) {
    int lane = threadIdx.x % 32, row = blockIdx.x * 4 + threadIdx.x / 32;
    float sum = 0.0f;
    for (int i = lane; i < k && row < m; i += 32) sum = fmaf(a[row * k + i], a[row * k + i], sum);
    for (int lanes = 16; lanes > 0; lanes /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, lanes);
    if (lane == 0 && row < m) norms[row] = sqrtf(sum);
}
