/* hopper_test.cu: kernels for test_hopper.c; they are compiled with hopper.cuh, which has the wrappers, in front of
   them. The kernels named unit_... show what the instructions do, the others have one bug each. The real NVRTC compiles
   them, too. */

#define WORDS ((float *)reid_shared)

__device__ __forceinline__ void wait_for(unsigned mbarrier, unsigned parity) {
    while (!reid_mbarrier_try_wait(mbarrier, parity)) continue;
}

/* ---- mbarrier: one thread asks after every step; the others wait. out: is parity 0 over, is parity 1 over ---- */
extern "C" __global__ void unit_mbarrier(const float *in, unsigned *out) {
    unsigned bar = reid_shared_address(reid_shared), to = bar + 1024, n = 0;
    if (threadIdx.x == 0) {
        reid_mbarrier_init(bar, 2);
        reid_fence_mbarrier_init();
        for (int step = 0; step < 8; step++) {
            if (step == 1 || step == 2 || step == 3 || step == 6) reid_mbarrier_arrive(bar);
            if (step == 4) reid_mbarrier_arrive_expect_tx(bar, 32); /* the last arrival, but 32 bytes are missing */
            if (step == 5) {
                reid_bulk_load(to, in, 16, bar), reid_bulk_load(to + 16, in + 4, 16, bar);
                wait_for(bar, 1);
            }
            if (step == 7) reid_mbarrier_arrive(bar);
            out[n++] = reid_mbarrier_test_wait(bar, 0);
            out[n++] = reid_mbarrier_test_wait(bar, 1);
        }
        reid_mbarrier_inval(bar);
        reid_mbarrier_init(bar, 1); /* a fresh one: phase 0 again */
        reid_fence_mbarrier_init();
        reid_mbarrier_expect_tx(bar, 16);
        reid_mbarrier_arrive(bar);
        out[n++] = reid_mbarrier_test_wait(bar, 0);
        reid_bulk_load(to + 32, in + 8, 16, bar);
    }
    __syncthreads();
    while (!reid_mbarrier_test_wait(bar, 0)) continue;
    out[32 + threadIdx.x] = threadIdx.x < 12 ? (unsigned)WORDS[256 + threadIdx.x] : 0;
}

/* A ring of two stages of 64 floats: the first warp loads, in two pieces, the second sums up. */
extern "C" __global__ void unit_ring(const float *in, float *out, int rounds) {
    unsigned base = reid_shared_address(reid_shared), full = base + 512, empty = base + 528;
    if (threadIdx.x < 2) reid_mbarrier_init(full + threadIdx.x * 8, 1), reid_mbarrier_init(empty + threadIdx.x * 8, 32);
    reid_fence_mbarrier_init();
    __syncthreads();
    in += blockIdx.x * rounds * 64;
    if (threadIdx.x == 0) {
        for (int i = 0; i < rounds; i++) {
            unsigned stage = (unsigned)i % 2, to = base + stage * 256, bar = full + stage * 8;
            wait_for(empty + stage * 8, (unsigned)(i / 2 + 1) % 2); /* the first two need no waiting */
            reid_mbarrier_arrive_expect_tx(bar, 256);
            reid_bulk_load(to, in + i * 64, 96, bar);
            reid_bulk_load(to + 96, in + i * 64 + 24, 160, bar);
        }
    } else if (threadIdx.x >= 32) {
        float sum = 0.0f;
        for (int i = 0; i < rounds; i++) {
            unsigned stage = (unsigned)i % 2;
            wait_for(full + stage * 8, (unsigned)(i / 2) % 2);
            sum = sum * 0.5f + WORDS[stage * 64 + threadIdx.x - 32] - WORDS[stage * 64 + 95 - threadIdx.x];
            reid_mbarrier_arrive(empty + stage * 8);
        }
        out[blockIdx.x * 32 + threadIdx.x - 32] = sum;
    }
}

/* Two groups of stores from one buffer, and one more that only the end of the block makes sure of. */
extern "C" __global__ void unit_bulk_store(float *out) {
    unsigned base = reid_shared_address(reid_shared);
    for (int i = 0; i < 3; i++) {
        WORDS[threadIdx.x] = (float)(i * 64 + (int)threadIdx.x);
        reid_fence_proxy_async();
        __syncthreads();
        if (threadIdx.x == 0) {
            reid_bulk_store(out + i * 64, base, 64);
            reid_bulk_store(out + i * 64 + 16, base + 64, 192);
            reid_bulk_commit();
            if (i == 1) reid_bulk_wait<0>();
            else reid_bulk_wait_read<0>();
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) out[192] = out[127];
}

/* ---- bugs. Blocks of 64 threads reverse 64 floats, after a bulk load; shared memory is 1024 bytes. ---- */
enum {
    FINE,
    NO_INIT,
    NO_INIT_FENCE,
    NO_INIT_BARRIER,
    TWO_INITS,
    NO_EXPECT,
    EXPECT_LESS,
    EXPECT_MORE,
    WRONG_PARITY,
    OLD_PARITY,
    ARRIVE_MORE,
    ARRIVE_LESS,
    OVERWRITTEN,
    NO_LOOP,
    NO_WAIT,
    ONE_WAITS,
    NO_ARRIVAL,
    MISALIGNED,
    OUTSIDE,
    NO_PROXY_FENCE,
    SHARED_FENCE,
    GLOBAL_FINE,
    LEFT_BEHIND,
    SPINS
};

template <int bug> __device__ __forceinline__ void load(const float *in, float *out) {
    unsigned base = reid_shared_address(reid_shared), bar = base + 512;
    const float *from = in + blockIdx.x * 64;
    float sum = 0.0f;
    if (bug == SHARED_FENCE || bug == GLOBAL_FINE) { /* out is read by the copies */
        out[blockIdx.x * 64 + threadIdx.x] = from[threadIdx.x];
        if (bug == SHARED_FENCE) reid_fence_proxy_async_shared();
        else reid_fence_proxy_async();
        from = out + blockIdx.x * 64;
    }
    if (threadIdx.x == 32 && bug != NO_INIT) {
        reid_mbarrier_init(bar, bug == ARRIVE_LESS || bug == SPINS ? 2 : 1);
        if (bug == TWO_INITS) reid_mbarrier_init(bar, 1);
        if (bug != NO_INIT_FENCE) reid_fence_mbarrier_init();
    }
    if (bug == NO_PROXY_FENCE) WORDS[threadIdx.x] = 0.0f;
    if (bug != NO_INIT_BARRIER) __syncthreads();
    if (bug == OVERWRITTEN && threadIdx.x == 5) WORDS[128] = 1.0f;
    for (int round = 0; round < 2; round++) {
        unsigned bytes = bug == EXPECT_LESS ? 128 : bug == EXPECT_MORE ? 512 : 256;
        if (threadIdx.x == 0) {
            if (bug == NO_EXPECT) reid_bulk_load(base, from, 256, bar), reid_mbarrier_arrive(bar);
            else if (bug != NO_ARRIVAL) reid_mbarrier_arrive_expect_tx(bar, bytes);
            else reid_mbarrier_expect_tx(bar, bytes);
            if (bug == ARRIVE_MORE) reid_mbarrier_arrive(bar);
            if (bug == EXPECT_LESS) reid_bulk_load(base + 128, from + 32, 128, bar);
            if (bug != NO_EXPECT)
                reid_bulk_load(base + (bug == MISALIGNED ? 8 : 0), from + (bug == OUTSIDE ? 16 : 0),
                               bug == EXPECT_LESS ? 128 : 256, bar);
        }
        unsigned parity = bug == WRONG_PARITY ? 1 - round : bug == OLD_PARITY ? 0 : round;
        while (bug == SPINS && !reid_mbarrier_test_wait(bar, parity)) continue;
        if (bug == NO_LOOP) reid_mbarrier_try_wait(bar, parity);
        else if (bug != NO_WAIT && (bug != ONE_WAITS || threadIdx.x % 32 == 0)) wait_for(bar, parity);
        sum += WORDS[63 - threadIdx.x];
        if (bug != NO_ARRIVAL) __syncthreads();
    }
    if (bug == LEFT_BEHIND && threadIdx.x == 0) {
        reid_mbarrier_arrive_expect_tx(bar, 256);
        reid_bulk_load(base, from, 256, bar);
    }
    out[blockIdx.x * 64 + threadIdx.x] = 0.5f * sum;
}
#define LOAD(name, bug) extern "C" __global__ void name(const float *in, float *out) { load<bug>(in, out); }
LOAD(load_fine, FINE)
LOAD(load_no_init, NO_INIT)
LOAD(load_no_init_fence, NO_INIT_FENCE)
LOAD(load_no_init_barrier, NO_INIT_BARRIER)
LOAD(load_two_inits, TWO_INITS)
LOAD(load_no_expect, NO_EXPECT)
LOAD(load_expect_less, EXPECT_LESS)
LOAD(load_expect_more, EXPECT_MORE)
LOAD(load_wrong_parity, WRONG_PARITY)
LOAD(load_old_parity, OLD_PARITY)
LOAD(load_arrive_more, ARRIVE_MORE)
LOAD(load_arrive_less, ARRIVE_LESS)
LOAD(load_overwritten, OVERWRITTEN)
LOAD(load_no_loop, NO_LOOP)
LOAD(load_no_wait, NO_WAIT)
LOAD(load_one_waits, ONE_WAITS)
LOAD(load_no_arrival, NO_ARRIVAL)
LOAD(load_misaligned, MISALIGNED)
LOAD(load_outside, OUTSIDE)
LOAD(load_no_proxy_fence, NO_PROXY_FENCE)
LOAD(load_shared_fence, SHARED_FENCE)
LOAD(load_global_fine, GLOBAL_FINE)
LOAD(load_left_behind, LEFT_BEHIND)
LOAD(load_spins, SPINS)

enum { STORE_FINE, STORE_NO_FENCE, STORE_NO_COMMIT, STORE_NO_WAIT, STORE_NO_READ, STORE_OVERWRITES };

template <int bug> __device__ __forceinline__ void store(const float *in, float *out) {
    float v = in[blockIdx.x * 64 + 63 - threadIdx.x];
    WORDS[threadIdx.x] = v;
    if (bug != STORE_NO_FENCE) reid_fence_proxy_async();
    __syncthreads();
    if (threadIdx.x == 0) {
        reid_bulk_store(out + blockIdx.x * 64, reid_shared_address(reid_shared), 256);
        if (bug != STORE_NO_COMMIT) reid_bulk_commit();
        if (bug == STORE_OVERWRITES) WORDS[7] = 0.0f;
        if (bug != STORE_NO_READ) reid_bulk_wait_read<0>();
        if (bug != STORE_NO_WAIT) out[128 + blockIdx.x] = v;
        else out[128 + blockIdx.x] = out[blockIdx.x * 64];
    }
    if (bug == STORE_NO_READ && threadIdx.x == 32) WORDS[40] = 0.0f;
}
#define STORE(name, bug) extern "C" __global__ void name(const float *in, float *out) { store<bug>(in, out); }
STORE(store_fine, STORE_FINE)
STORE(store_no_fence, STORE_NO_FENCE)
STORE(store_no_commit, STORE_NO_COMMIT)
STORE(store_no_wait, STORE_NO_WAIT)
STORE(store_no_read, STORE_NO_READ)
STORE(store_overwrites, STORE_OVERWRITES)

/* ---- wgmma: out (64 rows for every 128 threads, n columns) = a (those rows, 64) * b (n, 64)', in steps of 16 ---- */

/* Where 16-byte piece `piece` of a row of 64 halves is put, of a matrix of so many rows. */
__device__ __forceinline__ unsigned piece_at(unsigned row, unsigned piece, unsigned rows, bool swizzle) {
    if (swizzle) return row * 128 + (piece ^ row % 8) * 16;
    return piece * rows * 16 + row / 8 * 128 + row % 8 * 16;
}

__device__ __forceinline__ unsigned long long descriptor_of(unsigned at, unsigned k, unsigned rows, bool swizzle) {
    return swizzle ? reid_wgmma_descriptor(at + k * 32, 0, 1024, true)
                   : reid_wgmma_descriptor(at + k * 2 * rows * 16, rows * 16, 128, false);
}

__device__ __forceinline__ void fill(const unsigned short *from, unsigned rows, unsigned char *to, bool swizzle) {
    for (unsigned i = threadIdx.x; i < rows * 8; i += blockDim.x)
        *(uint4 *)(to + piece_at(i / 8, i % 8, rows, swizzle)) = *(const uint4 *)(from + i * 8);
}

template <int n> __device__ __forceinline__ void write_sums(const float *d, float *out) {
    unsigned row = threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4;
    for (unsigned i = 0; i < n / 2; i++)
        out[(row + i / 2 % 2 * 8) * n + i / 4 * 8 + threadIdx.x % 4 * 2 + i % 2] = d[i];
}

template <int n, bool swizzle, bool registers>
__device__ __forceinline__ void product(const unsigned short *a, const unsigned short *b, float *out) {
    unsigned rows = blockDim.x / 2, base = reid_shared_address(reid_shared), warp = threadIdx.x / 32;
    unsigned at = base + (swizzle ? threadIdx.x / 128 * 8192 : threadIdx.x / 128 * 1024), lane = threadIdx.x % 32;
    float d[n / 2];
    fill(a, rows, reid_shared, swizzle);
    fill(b, n, reid_shared + rows * 128, swizzle);
    reid_fence_proxy_async();
    __syncthreads();
    for (int i = 0; i < n / 2; i++) d[i] = 1000.0f; /* the first step does not add to it */
    unsigned r[4][4];
    a += (warp * 16 + lane / 4) * 64 + lane % 4 * 2;
    for (unsigned k = 0; k < 4 && registers; k++)
        for (unsigned i = 0; i < 4; i++) r[k][i] = *(const unsigned *)(a + i % 2 * 8 * 64 + k * 16 + i / 2 * 8);
    reid_wgmma_fence();
#pragma unroll
    for (unsigned k = 0; k < 4; k++) {
        unsigned long long second = descriptor_of(base + rows * 128, k, n, swizzle);
        if (registers) reid_wgmma_registers<n>(d, r[k], second, k > 0);
        else reid_wgmma<n>(d, descriptor_of(at, k, rows, swizzle), second, k > 0);
        if (k % 2) reid_wgmma_commit();
    }
    reid_wgmma_wait<1>(); /* of two groups */
    reid_wgmma_wait<0>();
    write_sums<n>(d, out);
}
#define PRODUCT(name, n, swizzle, registers)                                                                           \
    extern "C" __global__ void __launch_bounds__(256) name(const unsigned short *a, const unsigned short *b,           \
                                                           float *out) {                                               \
        product<n, swizzle, registers>(a, b, out);                                                                     \
    }
PRODUCT(unit_wgmma_8, 8, false, false)
PRODUCT(unit_wgmma_8_swizzled, 8, true, false)
PRODUCT(unit_wgmma_64, 64, false, false)
PRODUCT(unit_wgmma_64_registers, 64, false, true)
PRODUCT(unit_wgmma_128_swizzled, 128, true, false)
PRODUCT(unit_wgmma_128_swizzled_registers, 128, true, true)
PRODUCT(unit_wgmma_256_swizzled, 256, true, false)

/* ---- the same of bytes: out (64 rows, n columns) = a (64, K) * b (n, K)', rows of 128 or 64 bytes, swizzled ---- */
template <int n, int K>
__device__ __forceinline__ void product_of_bytes(const unsigned char *a, const unsigned char *b, int *out) {
    unsigned base = reid_shared_address(reid_shared), row = threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4;
    int d[n / 2];
    for (unsigned i = threadIdx.x; i < (64 + n) * (K / 16); i += blockDim.x) {
        unsigned at = i * 16; /* of the second matrix, too: 64 rows are whole patterns */
        at ^= (K == 128 ? at / 128 % 8 : at / 128 % 4) * 16;
        *(uint4 *)(reid_shared + at) = *(const uint4 *)(i < 64 * (K / 16) ? a + i * 16 : b + (i - 64 * (K / 16)) * 16);
    }
    reid_fence_proxy_async();
    __syncthreads();
    for (int i = 0; i < n / 2; i++) d[i] = 1000; /* the first step does not add to it */
    reid_wgmma_fence();
#pragma unroll
    for (unsigned k = 0; k < K; k += 32)
        reid_wgmma<n>(d, reid_wgmma_descriptor(base + k, 0, 8 * K, K == 128 ? 1 : 2),
                      reid_wgmma_descriptor(base + 64 * K + k, 0, 8 * K, K == 128 ? 1 : 2), k > 0);
    reid_wgmma_commit();
    reid_wgmma_wait<0>();
    for (unsigned i = 0; i < n / 2; i++)
        out[(row + i / 2 % 2 * 8) * n + i / 4 * 8 + threadIdx.x % 4 * 2 + i % 2] = d[i];
}
#define PRODUCT_OF_BYTES(name, n, K)                                                                                   \
    extern "C" __global__ void __launch_bounds__(128) name(const unsigned char *a, const unsigned char *b, int *out) { \
        product_of_bytes<n, K>(a, b, out);                                                                             \
    }
PRODUCT_OF_BYTES(unit_wgmma_64_bytes, 64, 128)
PRODUCT_OF_BYTES(unit_wgmma_128_bytes, 128, 128)
PRODUCT_OF_BYTES(unit_wgmma_64_short_bytes, 64, 64)
PRODUCT_OF_BYTES(unit_wgmma_128_short_bytes, 128, 64)

/* ---- bugs: one warpgroup, n 8, two steps in two groups ---- */
enum {
    WGMMA_FINE,
    WGMMA_NO_FENCE,
    WGMMA_NO_SECOND_FENCE,
    WGMMA_NO_PROXY_FENCE,
    WGMMA_NO_BARRIER,
    WGMMA_NO_COMMIT,
    WGMMA_NO_WAIT,
    WGMMA_WEAK_WAIT,
    WGMMA_WRITES_SUMS,
    WGMMA_OVERWRITES,
    WGMMA_LOST_WARP,
    WGMMA_OUTSIDE,
    WGMMA_SWIZZLE
};

template <int bug>
__device__ __forceinline__ void multiply(const unsigned short *a, const unsigned short *b, float *out) {
    unsigned base = reid_shared_address(reid_shared);
    float d[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    fill(a, 64, reid_shared, false);
    fill(b, 8, reid_shared + 8192, false);
    if (bug != WGMMA_NO_PROXY_FENCE) reid_fence_proxy_async();
    if (bug != WGMMA_NO_BARRIER) __syncthreads();
    if (bug != WGMMA_NO_FENCE) reid_wgmma_fence();
    if (bug == WGMMA_LOST_WARP && threadIdx.x / 32 == 2) return;
    for (unsigned k = 0; k < 4; k++) {
        unsigned at = base + (bug == WGMMA_OUTSIDE && k == 3 ? 8192 : 0);
        reid_wgmma<8>(d, descriptor_of(at, k, 64, false) + (bug == WGMMA_SWIZZLE ? 3ull << 62 : 0),
                      descriptor_of(base + 8192, k, 8, false), true);
        if (bug != WGMMA_NO_COMMIT) reid_wgmma_commit();
        if (bug == WGMMA_WRITES_SUMS && k == 1) d[2] = 0.0f;
        if (bug == WGMMA_NO_SECOND_FENCE && k == 1) {
            reid_wgmma_wait<0>();
            d[1] *= 1.5f;
        }
    }
    if (bug == WGMMA_OVERWRITES && threadIdx.x == 7) ((unsigned short *)reid_shared)[9] = 0x7c00;
    if (bug == WGMMA_WEAK_WAIT) reid_wgmma_wait<1>();
    else if (bug != WGMMA_NO_WAIT) reid_wgmma_wait<0>();
    write_sums<8>(d, out);
    if (bug == WGMMA_WEAK_WAIT) reid_wgmma_wait<0>();
}
#define MULTIPLY(name, bug)                                                                                            \
    extern "C" __global__ void name(const unsigned short *a, const unsigned short *b, float *out) {                    \
        multiply<bug>(a, b, out);                                                                                      \
    }
MULTIPLY(wgmma_fine, WGMMA_FINE)
MULTIPLY(wgmma_no_fence, WGMMA_NO_FENCE)
MULTIPLY(wgmma_no_second_fence, WGMMA_NO_SECOND_FENCE)
MULTIPLY(wgmma_no_proxy_fence, WGMMA_NO_PROXY_FENCE)
MULTIPLY(wgmma_no_barrier, WGMMA_NO_BARRIER)
MULTIPLY(wgmma_no_commit, WGMMA_NO_COMMIT)
MULTIPLY(wgmma_no_wait, WGMMA_NO_WAIT)
MULTIPLY(wgmma_weak_wait, WGMMA_WEAK_WAIT)
MULTIPLY(wgmma_writes_sums, WGMMA_WRITES_SUMS)
MULTIPLY(wgmma_overwrites, WGMMA_OVERWRITES)
MULTIPLY(wgmma_lost_warp, WGMMA_LOST_WARP)
MULTIPLY(wgmma_outside, WGMMA_OUTSIDE)
MULTIPLY(wgmma_swizzle, WGMMA_SWIZZLE)

/* ---- stmatrix: in[variant][lane][4] to out[variant][32 rows][8 halves]; row r lies at (31 - r) * 16 ---- */
extern "C" __global__ void unit_stmatrix(const unsigned *in, unsigned short *out) {
    int lane = threadIdx.x;
    unsigned row = reid_shared_address(reid_shared + (31 - lane) * 16), r[4];
    for (int variant = 0; variant < 4; variant++) {
        for (int i = 0; i < 8; i++) ((unsigned short *)reid_shared)[lane * 8 + i] = 0;
        for (int i = 0; i < 4; i++) r[i] = in[(variant * 32 + lane) * 4 + i];
        __syncwarp();
        if (variant == 0) reid_stmatrix_x1(row, r);
        if (variant == 1) reid_stmatrix_x2(row, r);
        if (variant == 2) reid_stmatrix_x4(row, r);
        if (variant == 3) reid_stmatrix_x4_trans(row, r);
        __syncwarp();
        for (int i = 0; i < 8; i++)
            out[(variant * 32 + lane) * 8 + i] = ((unsigned short *)reid_shared)[(31 - lane) * 8 + i];
        __syncwarp();
    }
}

extern "C" __global__ void stmatrix_misaligned(const unsigned *in, unsigned short *out) {
    unsigned r[1] = {in[threadIdx.x]};
    reid_stmatrix_x1(reid_shared_address(reid_shared) + threadIdx.x * 16 + (threadIdx.x == 6 ? 8 : 0), r);
    out[threadIdx.x] = 0;
}

/* ---- all together: a warpgroup multiplies what a thread of another one loads. Tiles of 64x64 halves lie in memory as
   wgmma wants them, a's and b's of every step one after the other; the sum, 64x64, leaves by way of shared memory.
   ---- */
enum { PIPELINE_FINE, PIPELINE_NO_EMPTY, PIPELINE_EARLY_RELEASE };
template <int bug>
__device__ __forceinline__ void pipeline(const unsigned char *tiles, float *out, int steps) {
    enum { STAGES = 3, STAGE_BYTES = 16384 };
    unsigned base = reid_shared_address(reid_shared), full = base + STAGES * STAGE_BYTES, empty = full + STAGES * 8;
    reid_griddepcontrol_wait();
    if (threadIdx.x < STAGES) {
        reid_mbarrier_init(full + threadIdx.x * 8, 1);
        reid_mbarrier_init(empty + threadIdx.x * 8, 128);
        reid_fence_mbarrier_init();
    }
    __syncthreads();
    if (threadIdx.x >= 128) {
        reid_setmaxnreg_dec<40>();
        for (int i = 0; i < steps && threadIdx.x == 128; i++) {
            unsigned stage = (unsigned)i % STAGES, parity = (unsigned)(i / STAGES) % 2, bar = full + stage * 8;
            if (bug != PIPELINE_NO_EMPTY) wait_for(empty + stage * 8, 1 - parity);
            reid_mbarrier_arrive_expect_tx(bar, STAGE_BYTES);
            for (unsigned at = 0; at < STAGE_BYTES; at += 4096)
                reid_bulk_load(base + stage * STAGE_BYTES + at, tiles + i * STAGE_BYTES + at, 4096, bar);
        }
        reid_griddepcontrol_launch_dependents();
        __syncthreads();
    } else {
        float d[32];
        reid_setmaxnreg_inc<232>();
        for (int i = 0; i < steps; i++) {
            unsigned stage = (unsigned)i % STAGES, a = base + stage * STAGE_BYTES;
            wait_for(full + stage * 8, (unsigned)(i / STAGES) % 2);
            reid_wgmma_fence();
            for (unsigned k = 0; k < 4; k++)
                reid_wgmma<64>(d, descriptor_of(a, k, 64, true), descriptor_of(a + 8192, k, 64, true), i > 0 || k > 0);
            reid_wgmma_commit();
            if (bug == PIPELINE_EARLY_RELEASE) reid_mbarrier_arrive(empty + stage * 8);
            reid_wgmma_wait<0>();
            if (bug != PIPELINE_EARLY_RELEASE) reid_mbarrier_arrive(empty + stage * 8);
        }
        __syncthreads(); /* all warps have read the last stage: its memory is free */
        write_sums<64>(d, (float *)reid_shared);
        reid_fence_proxy_async();
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        reid_bulk_store(out, base, 64 * 64 * 4);
        reid_bulk_commit();
        reid_bulk_wait<0>();
    }
}

#define PIPELINE(name, bug)                                                                                            \
    extern "C" __global__ void __launch_bounds__(256, 1) name(const unsigned char *tiles, float *out, int steps) {     \
        pipeline<bug>(tiles, out, steps);                                                                              \
    }
PIPELINE(unit_pipeline, PIPELINE_FINE)
PIPELINE(pipeline_no_empty, PIPELINE_NO_EMPTY)
PIPELINE(pipeline_early_release, PIPELINE_EARLY_RELEASE)

/* ---- setmaxnreg: three warpgroups want 80, 240 and 240; a single warp does it. ---- */
extern "C" __global__ void __launch_bounds__(384, 1) registers_too_many(float *out) {
    if (threadIdx.x < 128) reid_setmaxnreg_dec<80>();
    else reid_setmaxnreg_inc<240>();
    out[threadIdx.x] = 0.0f;
}
extern "C" __global__ void __launch_bounds__(384, 1) registers_of_a_warp(float *out) {
    if (threadIdx.x < 32) reid_setmaxnreg_dec<40>();
    out[threadIdx.x] = 0.0f;
}
