/* ladder.cu - one 3x3 convolution in seven versions, each with one more idea. ladder.c checks and times every rung.

   NHWC, stride 1, padding 1. As a matrix product: M = images * SIDE * SIDE output pixels, N = OUTPUTS channels,
   K = 9 * INPUTS; row m of A is the 3x3 neighbourhood of pixel m, gathered while it is loaded, never stored ("implicit
   GEMM"). fp16 in and out, fp32 sums.

   rung               | what is new                                 | why it is faster
   -------------------+---------------------------------------------+--------------------------------------------------
   1 ladder_naive     | one thread per output                       | (it is not: 2 loads for every multiply-add)
   2 ladder_tiled     | 16x16 outputs share slices in shared memory | a value is fetched once for 16 outputs, not for 1
   3 ladder_registers | 4x4 outputs per thread                      | 8 shared loads feed 16 multiply-adds, not 2 feed 1
   4 ladder_vectors   | 16-byte loads, two buffers                  | 2 shared loads feed 16; the next slice is loaded
                      |                                             | while this one is multiplied
   5 ladder_tensor    | mma.sync fed by ldmatrix                    | one instruction of a warp is 2048 multiply-adds
   6 ladder_async     | cp.async, 4 stages, swizzle instead of pads | copies bypass the registers, three slices ahead
   7 ladder_wgmma     | wgmma, on Hopper only                       | one instruction of four warps is 65536; it reads
                      |                                             | both operands from shared memory by itself, and
                      |                                             | multiplies while its threads copy

   The host defines SIDE, INPUTS and OUTPUTS (multiples of 64). Weights are (OUTPUTS, 3, 3, INPUTS).
   The file includes nothing: it compiles under NVRTC, under nvcc, and in tests/emulator, which runs it on a CPU. */

#define DEVICE static __device__ __forceinline__
#define K_TOTAL (9 * INPUTS)

/* ---- one instruction each; the emulator has functions of the same names ---- */
#ifndef REID_EMULATOR
DEVICE unsigned short reid_f16_from_f32(float a) {
    unsigned short h;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(a));
    return h;
}
DEVICE float reid_f32_from_f16(unsigned short a) {
    float f;
    asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(a));
    return f;
}
DEVICE unsigned reid_shared_address(const void *pointer) { return (unsigned)__cvta_generic_to_shared(pointer); }
DEVICE void reid_ldmatrix_x4(unsigned r[4], unsigned row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(row)
                 : "memory");
}
DEVICE void reid_mma_m16n8k8(float d[4], const unsigned a[2], const unsigned b[1]) {
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(b[0]));
}
#if __CUDA_ARCH__ >= 800
DEVICE void reid_mma_m16n8k16(float d[4], const unsigned a[4], const unsigned b[2]) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                 "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
DEVICE void reid_cp_async_16(unsigned to, const void *from, unsigned source_bytes) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(source_bytes) : "memory");
}
DEVICE void reid_cp_async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int groups> DEVICE void reid_cp_async_wait() {
    asm volatile("cp.async.wait_group %0;" ::"n"(groups) : "memory");
}
#endif
#if __CUDA_ARCH__ == 900
DEVICE void reid_fence_proxy_async_shared() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
DEVICE void reid_wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
DEVICE void reid_wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int groups> DEVICE void reid_wgmma_wait() {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(groups) : "memory");
}
/* Keeps the compiler, which does not know that the result comes later, from moving uses of a sum past this point. */
DEVICE void reid_wgmma_hold(float &sum) { asm volatile("" : "+f"(sum)::"memory"); }
#define SUMS8(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]),           \
        "+f"(d[i + 6]), "+f"(d[i + 7])
template <int n>
DEVICE void reid_wgmma(float *d, unsigned long long a, unsigned long long b, bool accumulate) { /* n: 64 */
    asm volatile("{ .reg .pred p; setp.ne.b32 p, %34, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 "
                 "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,"
                 "%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31}, %32, %33, p, 1, 1, 0, 0; }"
                 : SUMS8(0), SUMS8(8), SUMS8(16), SUMS8(24)
                 : "l"(a), "l"(b), "r"((int)accumulate)
                 : "memory");
}
#endif
#endif /* REID_EMULATOR */

typedef unsigned short half_t;
extern __shared__ __align__(1024) unsigned char shared[];

/* ---- the convolution's geometry, which is all that distinguishes it from a matrix product ---- */
struct pixel {
    const half_t *image;
    int y, x;
};

DEVICE pixel find_pixel(const half_t *in, int m) {
    pixel p;
    p.image = in + (long long)(m / (SIDE * SIDE)) * (SIDE * SIDE * INPUTS);
    p.y = m % (SIDE * SIDE) / SIDE - 1;
    p.x = m % SIDE - 1;
    return p;
}

/* Returns element k of a pixel's row of A, with neighbours up to a multiple of INPUTS; null in the padding. */
DEVICE const half_t *find_input(const pixel &p, int k) {
    int tap = k / INPUTS, y = p.y + tap / 3, x = p.x + tap % 3;
    bool inside = y >= 0 && y < SIDE && x >= 0 && x < SIDE;
    return inside ? p.image + (y * SIDE + x) * INPUTS + k % INPUTS : 0;
}

DEVICE float input_value(const pixel &p, int k) {
    const half_t *x = find_input(p, k);
    return x ? reid_f32_from_f16(*x) : 0.0f;
}

/* ---- 1: one thread per output ---- */
extern "C" __global__ void ladder_naive(const half_t *in, const half_t *weights, half_t *out, int pixels) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, m = i / OUTPUTS, n = i % OUTPUTS;
    if (m >= pixels) return;
    pixel p = find_pixel(in, m);
    float sum = 0;
    for (int k = 0; k < K_TOTAL; k++)
        sum = fmaf(input_value(p, k), reid_f32_from_f16(weights[n * K_TOTAL + k]), sum);
    out[(long long)m * OUTPUTS + n] = reid_f16_from_f32(sum);
}

/* ---- 2: a block's 16x16 outputs read slices of 16 from shared memory. Rows have 17 floats, so that no two elements of
   a column share a bank. 256 threads, 2176 bytes. ---- */
extern "C" __global__ void __launch_bounds__(256)
ladder_tiled(const half_t *in, const half_t *weights, half_t *out, int pixels) {
    float(*a)[17] = (float(*)[17])shared, (*b)[17] = a + 16;
    int tx = threadIdx.x % 16, ty = threadIdx.x / 16, m = blockIdx.x * 16 + ty, n = blockIdx.y * 16;
    pixel p = find_pixel(in, m < pixels ? m : pixels - 1);
    float sum = 0;
    for (int k0 = 0; k0 < K_TOTAL; k0 += 16) {
        a[ty][tx] = input_value(p, k0 + tx);
        b[ty][tx] = reid_f32_from_f16(weights[(n + ty) * K_TOTAL + k0 + tx]);
        __syncthreads();
        for (int k = 0; k < 16; k++) sum = fmaf(a[ty][k], b[tx][k], sum);
        __syncthreads();
    }
    if (m < pixels) out[(long long)m * OUTPUTS + n + tx] = reid_f16_from_f32(sum);
}

/* ---- 3: 64x64 outputs per block, 4x4 per thread, held in registers. 256 threads, 8320 bytes. ---- */
extern "C" __global__ void __launch_bounds__(256)
ladder_registers(const half_t *in, const half_t *weights, half_t *out, int pixels) {
    float(*a)[65] = (float(*)[65])shared, (*b)[65] = a + 16; /* [k][row]: rows of 65 spread the stores over banks */
    int t = threadIdx.x, m0 = blockIdx.x * 64, n0 = blockIdx.y * 64, row = t / 16 * 4, column = t % 16 * 4;
    float sum[4][4] = {};
    for (int k0 = 0; k0 < K_TOTAL; k0 += 16) {
#pragma unroll
        for (int i = 0; i < 4; i++) {
            int r = t / 16 + i * 16, k = t % 16, m = m0 + r;
            a[k][r] = input_value(find_pixel(in, m < pixels ? m : pixels - 1), k0 + k);
            b[k][r] = reid_f32_from_f16(weights[(n0 + r) * K_TOTAL + k0 + k]);
        }
        __syncthreads();
#pragma unroll 4
        for (int k = 0; k < 16; k++)
#pragma unroll
            for (int i = 0; i < 4; i++)
#pragma unroll
                for (int j = 0; j < 4; j++) sum[i][j] = fmaf(a[k][row + i], b[k][column + j], sum[i][j]);
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < 4; i++)
#pragma unroll
        for (int j = 0; j < 4; j++)
            if (m0 + row + i < pixels)
                out[(long long)(m0 + row + i) * OUTPUTS + n0 + column + j] = reid_f16_from_f32(sum[i][j]);
}

/* Writes the eight halves of 16 bytes, as floats, down a column of a [16][64] tile. */
DEVICE void put_column(float (*tile)[64], int k, int row, uint4 v) {
    const unsigned pairs[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
    for (int i = 0; i < 4; i++) {
        tile[k + 2 * i][row] = reid_f32_from_f16((half_t)(pairs[i] & 0xffff));
        tile[k + 2 * i + 1][row] = reid_f32_from_f16((half_t)(pairs[i] >> 16));
    }
}

/* ---- 4: half of the threads fetch A, half fetch B, 16 bytes each. 256 threads, 16384 bytes. ---- */
extern "C" __global__ void __launch_bounds__(256)
ladder_vectors(const half_t *in, const half_t *weights, half_t *out, int pixels) {
    float(*tiles)[2][16][64] = (float(*)[2][16][64])shared; /* [buffer][A or B][k][row] */
    int t = threadIdx.x, m0 = blockIdx.x * 64, n0 = blockIdx.y * 64, row = t / 16 * 4, column = t % 16 * 4;
    int of_b = t / 128, r = t % 64, piece = t / 64 % 2 * 8; /* what this thread fetches: a warp stores to 32 banks */
    pixel p = find_pixel(in, m0 + r < pixels ? m0 + r : pixels - 1);
    float sum[4][4] = {};

    auto fetch = [&](int k) {
        const half_t *from = of_b ? weights + (n0 + r) * K_TOTAL + k + piece : find_input(p, k + piece);
        return from ? *(const uint4 *)from : make_uint4(0, 0, 0, 0);
    };
    put_column(tiles[0][of_b], piece, r, fetch(0));
    for (int k0 = 0, buffer = 0; k0 < K_TOTAL; k0 += 16, buffer ^= 1) {
        uint4 next = make_uint4(0, 0, 0, 0);
        __syncthreads(); /* this slice has arrived, and no thread reads the other buffer any more */
        if (k0 + 16 < K_TOTAL) next = fetch(k0 + 16);
#pragma unroll 8
        for (int k = 0; k < 16; k++) {
            float4 a = *(const float4 *)&tiles[buffer][0][k][row], b = *(const float4 *)&tiles[buffer][1][k][column];
            const float av[4] = {a.x, a.y, a.z, a.w}, bv[4] = {b.x, b.y, b.z, b.w};
#pragma unroll
            for (int i = 0; i < 4; i++)
#pragma unroll
                for (int j = 0; j < 4; j++) sum[i][j] = fmaf(av[i], bv[j], sum[i][j]);
        }
        if (k0 + 16 < K_TOTAL) put_column(tiles[buffer ^ 1][of_b], piece, r, next);
    }
#pragma unroll
    for (int i = 0; i < 4; i++)
        if (m0 + row + i < pixels)
            *(ushort4 *)(out + (long long)(m0 + row + i) * OUTPUTS + n0 + column) =
                make_ushort4(reid_f16_from_f32(sum[i][0]), reid_f16_from_f32(sum[i][1]), reid_f16_from_f32(sum[i][2]),
                             reid_f16_from_f32(sum[i][3]));
}

/* ---- tensor cores: 128x64 outputs per block of 4 warps, 64x32 per warp, slices of 32 halves ---- */
#define BM 128
#define BN 64
#define BK 32

DEVICE void mma16(float d[4], const unsigned a[4], const unsigned b[2]) {
#if __CUDA_ARCH__ >= 800
    reid_mma_m16n8k16(d, a, b);
#else
    reid_mma_m16n8k8(d, a, b);
    reid_mma_m16n8k8(d, a + 2, b + 1);
#endif
}

/* Multiplies a warp's 64 rows of A with its 32 rows of B. place(row, piece): the byte offset of 16 bytes in a slice. */
template <class place_t>
DEVICE void multiply_slice(float sum[4][4][4], const unsigned char *a, const unsigned char *b, place_t place) {
    int lane = threadIdx.x % 32, warp_m = threadIdx.x / 64 * 64, warp_n = threadIdx.x / 32 % 2 * 32;
#pragma unroll
    for (int piece = 0; piece < BK / 8; piece += 2) {
        unsigned af[4][4], bf[2][4];
#pragma unroll
        for (int i = 0; i < 4; i++) /* lanes 0-15: rows of the left 16 bytes, lanes 16-31: of the right */
            reid_ldmatrix_x4(af[i], reid_shared_address(a + place(warp_m + i * 16 + lane % 16, piece + lane / 16)));
#pragma unroll
        for (int j = 0; j < 2; j++) /* two n8 tiles at once: left and right of the first, then of the second */
            reid_ldmatrix_x4(bf[j], reid_shared_address(b + place(warp_n + j * 16 + lane / 16 * 8 + lane % 8,
                                                                 piece + lane / 8 % 2)));
#pragma unroll
        for (int i = 0; i < 4; i++)
#pragma unroll
            for (int j = 0; j < 4; j++) mma16(sum[i][j], af[i], bf[j / 2] + j % 2 * 2);
    }
}

/* Stores a warp's sums, two neighbours at a time, which is the layout of the m16n8 fragment. */
DEVICE void store_sums(const float sum[4][4][4], half_t *out, int pixels) {
    int lane = threadIdx.x % 32, m0 = blockIdx.x * BM + threadIdx.x / 64 * 64 + lane / 4;
    int n0 = blockIdx.y * BN + threadIdx.x / 32 % 2 * 32 + lane % 4 * 2;
#pragma unroll
    for (int i = 0; i < 8; i++)
#pragma unroll
        for (int j = 0; j < 4; j++) {
            const float *two = &sum[i / 2][j][i % 2 * 2];
            int m = m0 + i * 8;
            if (m < pixels)
                *(ushort2 *)(out + (long long)m * OUTPUTS + n0 + j * 8) =
                    make_ushort2(reid_f16_from_f32(two[0]), reid_f16_from_f32(two[1]));
        }
}

/* ---- 5: rows have 80 bytes instead of 64, so that the eight rows of an ldmatrix are in different banks. 128 threads,
   15360 bytes. ---- */
#define PADDED_ROW (BK * 2 + 16)
extern "C" __global__ void __launch_bounds__(128)
ladder_tensor(const half_t *in, const half_t *weights, half_t *out, int pixels) {
    unsigned char *a = shared, *b = shared + BM * PADDED_ROW;
    int t = threadIdx.x, piece = t % 4, first_row = t / 4;
    float sum[4][4][4] = {};
    auto place = [](int row, int at) { return row * PADDED_ROW + at * 16; };
    for (int k0 = 0; k0 < K_TOTAL; k0 += BK) {
#pragma unroll
        for (int row = first_row; row < BM; row += 32) {
            int m = blockIdx.x * BM + row;
            const half_t *x = find_input(find_pixel(in, m < pixels ? m : pixels - 1), k0 + piece * 8);
            *(uint4 *)(a + place(row, piece)) = x ? *(const uint4 *)x : make_uint4(0, 0, 0, 0);
        }
#pragma unroll
        for (int row = first_row; row < BN; row += 32)
            *(uint4 *)(b + place(row, piece)) =
                *(const uint4 *)(weights + (blockIdx.y * BN + row) * K_TOTAL + k0 + piece * 8);
        __syncthreads();
        multiply_slice(sum, a, b, place);
        __syncthreads();
    }
    store_sums(sum, out, pixels);
}

#if __CUDA_ARCH__ >= 800
/* Copies slices of `depth` halves of a block's tile by cp.async, 128 threads 16 bytes each. place(row, piece): as in
   multiply_slice. */
#define STAGES 4
template <int depth> struct slice_copies {
    static const int slices = K_TOTAL / depth, row_bytes = depth * 2, bytes = (BM + BN) * row_bytes; /* of a slice */
    static const int step = 128 / (depth / 8); /* rows that the threads copy at once */
    const half_t *in, *weights;
    int piece, first_row;
    pixel source[BM / step];

    __device__ __forceinline__ slice_copies(const half_t *from, const half_t *w, int pixels) : in(from), weights(w) {
        piece = threadIdx.x % (depth / 8), first_row = threadIdx.x / (depth / 8);
#pragma unroll
        for (int i = 0; i < BM / step; i++) {
            int m = blockIdx.x * BM + first_row + i * step;
            source[i] = find_pixel(in, m < pixels ? m : pixels - 1);
        }
    }
    /* Nothing after the last slice, so that the count in flight stays the same. */
    template <class place_t> __device__ __forceinline__ void begin(int slice, place_t place) const {
        unsigned to = reid_shared_address(shared + slice % STAGES * bytes);
        int k = slice * depth + piece * 8;
#pragma unroll
        for (int i = 0; i < BM / step && slice < slices; i++) {
            const half_t *x = find_input(source[i], k);
            reid_cp_async_16(to + place(first_row + i * step, piece), x ? x : in, x ? 16 : 0);
        }
#pragma unroll
        for (int row = first_row; row < BN && slice < slices; row += step)
            reid_cp_async_16(to + BM * row_bytes + place(row, piece),
                             weights + (blockIdx.y * BN + row) * K_TOTAL + k, 16);
        reid_cp_async_commit();
    }
};

/* ---- 6: piece p of row r is at position p ^ (r / 2 % 4), so that rows of 64 bytes have no bank conflicts or padding.
   128 threads, 49152 bytes. ---- */
extern "C" __global__ void __launch_bounds__(128)
ladder_async(const half_t *in, const half_t *weights, half_t *out, int pixels) {
    const slice_copies<BK> copies(in, weights, pixels);
    float sum[4][4][4] = {};
    auto place = [](int row, int at) { return row * BK * 2 + (at ^ (row >> 1 & 3)) * 16; };
    for (int s = 0; s < STAGES - 1; s++) copies.begin(s, place);
    for (int s = 0; s < copies.slices; s++) {
        reid_cp_async_wait<STAGES - 2>();
        __syncthreads(); /* slice s has arrived, and no thread reads the buffer of slice s - 1 any more */
        copies.begin(s + STAGES - 1, place);
        const unsigned char *a = shared + s % STAGES * copies.bytes;
        multiply_slice(sum, a, a + BM * BK * 2, place);
    }
    store_sums(sum, out, pixels);
}
#endif

#if __CUDA_ARCH__ == 900
/* ---- 7: slices of 64 halves, so that a row has 128 bytes; piece p of row r is at position p ^ (r % 8), as wgmma
   expects it of such rows. 128 threads, 98304 bytes. ---- */
#define WIDE_K 64
#define WIDE_ROW (WIDE_K * 2)

/* How wgmma finds an operand: its address and the distance of eight rows, both in units of 16 bytes, and the swizzle
   (PTX manual, "Matrix Descriptor Format"). */
DEVICE unsigned long long operand(unsigned address) {
    return (address & 0x3ffff) >> 4 | 8ull * WIDE_ROW / 16 << 32 | 1ull << 62;
}

/* Begins the products of a slice: two blocks of 64 pixels by 64 channels, 16 of K at a time. */
DEVICE void begin_products(float sum[2][32], unsigned a, unsigned b) {
#pragma unroll
    for (int i = 0; i < 64; i++) reid_wgmma_hold(sum[i / 32][i % 32]);
    reid_wgmma_fence();
#pragma unroll
    for (int step = 0; step < WIDE_K / 16; step++)
#pragma unroll
        for (int i = 0; i < 2; i++)
            reid_wgmma<64>(sum[i], operand(a + i * 64 * WIDE_ROW + step * 32), operand(b + step * 32), true);
    reid_wgmma_commit();
}

DEVICE void end_products(float sum[2][32]) {
    reid_wgmma_wait<0>();
#pragma unroll
    for (int i = 0; i < 64; i++) reid_wgmma_hold(sum[i / 32][i % 32]);
}

extern "C" __global__ void __launch_bounds__(128)
ladder_wgmma(const half_t *in, const half_t *weights, half_t *out, int pixels) {
    const slice_copies<WIDE_K> copies(in, weights, pixels);
    float sum[2][32] = {};
    auto place = [](int row, int at) { return row * WIDE_ROW + (at ^ row % 8) * 16; };
    for (int s = 0; s < STAGES - 1; s++) copies.begin(s, place);
    for (int s = 0; s < copies.slices; s++) {
        unsigned a = reid_shared_address(shared + s % STAGES * copies.bytes);
        reid_cp_async_wait<STAGES - 2>();
        reid_fence_proxy_async_shared(); /* wgmma sees what this thread has copied */
        end_products(sum);               /* the buffer of slice s - 1 has been read */
        __syncthreads();                 /* by all threads' instructions, and slice s has arrived */
        begin_products(sum, a, a + BM * WIDE_ROW);
        copies.begin(s + STAGES - 1, place);
    }
    end_products(sum);
    /* A warp has 16 pixels of each block; two neighbouring channels of a pixel are a thread's, as with mma.sync. */
    int t = threadIdx.x, lane = t % 32;
    int n0 = blockIdx.y * BN + lane % 4 * 2, m0 = blockIdx.x * BM + t / 32 * 16 + lane / 4;
#pragma unroll
    for (int i = 0; i < 4; i++)
#pragma unroll
        for (int j = 0; j < 8; j++) {
            const float *two = &sum[i / 2][j * 4 + i % 2 * 2];
            int m = m0 + i / 2 * 64 + i % 2 * 8;
            if (m < pixels)
                *(ushort2 *)(out + (long long)m * OUTPUTS + n0 + j * 8) =
                    make_ushort2(reid_f16_from_f32(two[0]), reid_f16_from_f32(two[1]));
        }
}

/* The peak of wgmma with operands in shared memory: one slice, again and again, whose pixels are also the channels. 256
   threads, that is, two warpgroups, 16384 bytes. */
extern "C" __global__ void __launch_bounds__(256) peak_wgmma(const unsigned *numbers, float *out, int rounds) {
    float sum[2][32] = {};
    unsigned a = reid_shared_address(shared);
    for (int i = threadIdx.x; i < 4096; i += 256) ((unsigned *)shared)[i] = numbers[i % 512];
    reid_fence_proxy_async_shared();
    __syncthreads();
    for (int r = 0; r < rounds; r++) {
        begin_products(sum, a, a);
        end_products(sum);
    }
    for (int i = 1; i < 64; i++) sum[0][0] += sum[i / 32][i % 32];
    out[blockIdx.x * 256 + threadIdx.x] = sum[0][0];
}
#endif

/* ---- the peaks of the other units: independent chains in registers and nothing else. 256 threads. ---- */
extern "C" __global__ void __launch_bounds__(256) peak_ffma(const float *numbers, float *out, int rounds) {
    float sum[16], a = numbers[threadIdx.x], b = numbers[threadIdx.x + 256];
#pragma unroll
    for (int i = 0; i < 16; i++) sum[i] = numbers[i];
#pragma unroll 8
    for (int r = 0; r < rounds; r++)
#pragma unroll
        for (int i = 0; i < 16; i++) sum[i] = fmaf(sum[i], a, b);
#pragma unroll
    for (int i = 1; i < 16; i++) sum[0] += sum[i];
    out[blockIdx.x * 256 + threadIdx.x] = sum[0];
}

extern "C" __global__ void __launch_bounds__(256) peak_mma(const unsigned *numbers, float *out, int rounds) {
    float sum[16][4] = {};
    unsigned a[4], b[2];
    for (int i = 0; i < 4; i++) a[i] = numbers[threadIdx.x + i];
    for (int i = 0; i < 2; i++) b[i] = numbers[threadIdx.x + 8 + i];
    for (int r = 0; r < rounds; r++)
#pragma unroll
        for (int i = 0; i < 16; i++) mma16(sum[i], a, b);
#pragma unroll
    for (int i = 1; i < 16; i++) sum[0][0] += sum[i][0] + sum[i][1] + sum[i][2] + sum[i][3];
    out[blockIdx.x * 256 + threadIdx.x] = sum[0][0];
}
