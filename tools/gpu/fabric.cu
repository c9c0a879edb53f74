/* fabric.cu: how fast a Hopper feeds its tensor cores: the copy engine from L2 to shared memory, other blocks' shared
   memory, fences and barriers, products while copies arrive. Results that the cost model of tiles in reid.h uses have
   its names.

     nvcc -O2 -std=c++17 -gencode arch=compute_90a,code=sm_90a fabric.cu -o fabric -ldl
     ./fabric --groups        the names of the groups of measurements
     ./fabric GROUP           JSON lines on stdout, a table on stderr

   Clocks are a multiprocessor's own (clock64), from the first measured instruction of a block to the last; the median
   over all blocks and five launches. One block runs on each multiprocessor, all at once, on data that fits in L2. */
#include "measure.h"

#include <cuda.h>
#include <dlfcn.h>

#include "../../tests/emulator/hopper.cuh"

/* ---- results ---- */
struct block_times {
    long long *clocks;
    int blocks;
};

static block_times times_of(int blocks) {
    block_times t = {NULL, blocks};
    CHECK(cudaMalloc(&t.clocks, sizeof(long long) * (size_t)blocks));
    return t;
}

/* The median over blocks and launches, after a warm-up launch. */
template <class launch_t> static double median_clocks(const block_times &t, launch_t launch) {
    std::vector<long long> all, some((size_t)t.blocks);
    for (int i = -1; i < 5; i++) {
        launch();
        CHECK(cudaGetLastError());
        CHECK(cudaDeviceSynchronize());
        CHECK(cudaMemcpy(some.data(), t.clocks, sizeof(long long) * some.size(), cudaMemcpyDeviceToHost));
        if (i >= 0) all.insert(all.end(), some.begin(), some.end());
    }
    std::sort(all.begin(), all.end());
    return (double)all[all.size() / 2];
}

/* Launches `blocks` blocks in clusters of `cluster`. */
template <class... parameters_t, class... arguments_t>
static void launch_clusters(void (*kernel)(parameters_t...), int blocks, int threads, int shared, int cluster,
                            arguments_t... arguments) {
    cudaLaunchConfig_t config = {};
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = (unsigned)cluster, attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
    config.gridDim = dim3((unsigned)blocks), config.blockDim = dim3((unsigned)threads);
    config.dynamicSmemBytes = (size_t)shared, config.attrs = &attribute, config.numAttrs = 1;
    CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared));
    CHECK(cudaLaunchKernelEx(&config, kernel, parameters_t(arguments)...));
}

/* ---- tensor maps of 16-byte pieces of halves ---- */
enum { WIDTH = 64, BOX = 128, BOX_BYTES = WIDTH * BOX * 2, STAGES = 8 };
enum { COLUMNS = 256, ROWS = 40960, PIXELS = 56 * 56, IMAGES = 50 }; /* 21 and 20 MB */

template <class function_t> static function_t driver_function(const char *name) {
    void *driver = dlopen("libcuda.so.1", RTLD_NOW), *symbol = driver ? dlsym(driver, name) : NULL;
    function_t function;
    if (!symbol) {
        fprintf(stderr, "fabric: the driver has no %s\n", name);
        exit(1);
    }
    memcpy(&function, &symbol, sizeof function);
    return function;
}

static void need(CUresult result, const char *what) {
    if (result == CUDA_SUCCESS) return;
    fprintf(stderr, "fabric: %s: error %d\n", what, (int)result);
    exit(1);
}

/* (ROWS, COLUMNS) in boxes of (box, WIDTH). */
static CUtensorMap matrix_map(void *data, int box) {
    CUtensorMap map;
    const cuuint64_t sizes[2] = {COLUMNS, ROWS}, stride = COLUMNS * 2;
    const cuuint32_t boxes[2] = {WIDTH, (cuuint32_t)box}, steps[2] = {1, 1};
    need(driver_function<decltype(&cuTensorMapEncodeTiled)>("cuTensorMapEncodeTiled")(
             &map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, data, sizes, &stride, boxes, steps,
             CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
             CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE), "cuTensorMapEncodeTiled");
    return map;
}

/* (IMAGES, 56, 56, WIDTH) under a 3x3 window with a pixel of padding, in boxes of BOX pixels. */
static CUtensorMap image_map(void *data) {
    CUtensorMap map;
    const cuuint64_t sizes[4] = {WIDTH, 56, 56, IMAGES}, row = WIDTH * 2;
    const cuuint64_t strides[3] = {row, row * 56, row * PIXELS};
    const int lower[2] = {-1, -1}, upper[2] = {-1, -1};
    const cuuint32_t steps[4] = {1, 1, 1, 1};
    need(driver_function<decltype(&cuTensorMapEncodeIm2col)>("cuTensorMapEncodeIm2col")(
             &map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 4, data, sizes, strides, lower, upper, WIDTH, BOX, steps,
             CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
             CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE), "cuTensorMapEncodeIm2col");
    return map;
}

/* Random halves of +-(0.25 … 0.5). */
static void *random_halves(size_t bytes) {
    std::vector<unsigned> x(bytes / 4);
    void *p;
    unsigned state = 1;
    for (unsigned &v : x) v = ((state = state * 1664525u + 1013904223u) & 0x83ff83ffu) | 0x34003400u;
    CHECK(cudaMalloc(&p, bytes));
    CHECK(cudaMemcpy(p, x.data(), bytes, cudaMemcpyHostToDevice));
    return p;
}

/* ---- L2 to shared memory ---- */
enum load_kind { TILE, IM2COL, BOTH };

__device__ static void wait_for(unsigned mbarrier, unsigned parity) {
    while (!reid_mbarrier_try_wait(mbarrier, parity)) {
    }
}
__device__ static void wait_for_cluster(unsigned mbarrier, unsigned parity) {
    while (!reid_cluster_mbarrier_try_wait(mbarrier, parity)) {
    }
}
__device__ static void all_of_cluster() {
    reid_cluster_arrive();
    reid_cluster_wait();
}

/* Loads box number i of the data, in a different order in each block. */
template <int kind>
__device__ static void load_box(const CUtensorMap *map, unsigned to, unsigned i, unsigned mbarrier) {
    if (kind == IM2COL) {
        unsigned pixel = i / 9 % (PIXELS * IMAGES / BOX) * BOX, tap = i % 9;
        reid_tensor_load_im2col_4d(to, map, 0, (int)(pixel % 56) - 1, (int)(pixel % PIXELS / 56) - 1,
                                   (int)(pixel / PIXELS), (unsigned short)(tap % 3), (unsigned short)(tap / 3),
                                   mbarrier);
    } else if (kind == BOTH) { /* this block's half of the pair's box, to both */
        unsigned half = reid_cluster_rank(), box = i % (ROWS / BOX * 4);
        reid_tensor_load_2d_multicast(to + half * (BOX_BYTES / 2), map, (int)(box % 4 * WIDTH),
                                      (int)(box / 4 * BOX + half * (BOX / 2)), mbarrier, 3);
    } else {
        unsigned box = i % (ROWS / BOX * 4);
        reid_tensor_load_2d(to, map, (int)(box % 4 * WIDTH), (int)(box / 4 * BOX), mbarrier);
    }
}

/* One thread keeps STAGES boxes in flight; `same` neighbouring blocks load the same ones. With BOTH, each block of a
   pair loads half of every box for both; a stage is filled again once both have seen it. */
template <int kind> __global__ void __launch_bounds__(32)
load_boxes(const __grid_constant__ CUtensorMap map, unsigned same, unsigned rounds, long long *clocks) {
    extern __shared__ __align__(1024) unsigned char stages[];
    __shared__ __align__(8) unsigned long long mbarriers[2 * STAGES];
    unsigned base = (unsigned)__cvta_generic_to_shared(stages);
    unsigned full = (unsigned)__cvta_generic_to_shared(mbarriers), empty = full + 8 * STAGES;
    if (threadIdx.x == 0) {
        for (unsigned i = 0; i < 2 * STAGES; i++) reid_mbarrier_init(full + 8 * i, i < STAGES ? 1 : 2);
        reid_fence_mbarrier_init();
    }
    __syncwarp();
    if (kind == BOTH) all_of_cluster();
    if (threadIdx.x == 0) {
        unsigned first = blockIdx.x / same * 97;
        long long begin = clock64();
        for (unsigned r = 0; r < rounds + STAGES; r++) {
            unsigned at = r % STAGES, parity = (r / STAGES - 1) & 1;
            if (r >= STAGES) wait_for(full + 8 * at, parity);
            if (kind == BOTH && r >= STAGES)
                for (unsigned other = 0; other < 2; other++)
                    reid_cluster_mbarrier_arrive(reid_cluster_map(empty + 8 * at, other));
            if (r >= rounds) continue;
            if (kind == BOTH && r >= STAGES) wait_for_cluster(empty + 8 * at, parity);
            reid_mbarrier_arrive_expect_tx(full + 8 * at, BOX_BYTES);
            load_box<kind>(&map, base + at * BOX_BYTES, first + r, full + 8 * at);
        }
        clocks[blockIdx.x] = clock64() - begin;
    }
    __syncwarp();
    if (kind == BOTH) all_of_cluster();
}

template <int kind> static double load_rate(const gpu &g, const CUtensorMap &map, unsigned same) {
    const unsigned rounds = 2000;
    const int blocks = g.multiprocessors / 2 * 2;
    block_times t = times_of(blocks);
    double clocks = median_clocks(t, [&] {
        launch_clusters(load_boxes<kind>, blocks, 32, STAGES * BOX_BYTES, kind == BOTH ? 2 : 1, map, same,
                        rounds, t.clocks);
    });
    return (double)BOX_BYTES * rounds / clocks;
}

static void measure_tile(const gpu &g) {
    void *data = random_halves((size_t)ROWS * COLUMNS * 2);
    const CUtensorMap map = matrix_map(data, BOX);
    result("l2_to_shared_bytes_per_clock", load_rate<TILE>(g, map, 1), "bytes",
           "the copy engine in tile mode, a clock and multiprocessor, all at once");
    result("l2_to_shared_two_bytes_per_clock", load_rate<TILE>(g, map, 2), "bytes",
           "the same if blocks 2 i and 2 i + 1 load the same");
    result("l2_to_shared_same_bytes_per_clock", load_rate<TILE>(g, map, (unsigned)g.multiprocessors), "bytes",
           "the same if all blocks load the same");
}
static void measure_im2col(const gpu &g) {
    void *data = random_halves((size_t)IMAGES * PIXELS * WIDTH * 2);
    result("l2_to_shared_im2col_bytes_per_clock", load_rate<IM2COL>(g, image_map(data), 1), "bytes",
           "the same in im2col mode, a 3x3 window, 56x56 pixels");
}
static void measure_multicast(const gpu &g) {
    void *data = random_halves((size_t)ROWS * COLUMNS * 2);
    result("l2_to_shared_multicast_bytes_per_clock", load_rate<BOTH>(g, matrix_map(data, BOX / 2), 2), "bytes",
           "arriving in tile mode, each block of a pair loads half for both");
}

/* ---- fences and barriers ---- */
enum { REPEATS = 256 };

/* stores: each fence waits for a store to global memory; otherwise for one to shared memory. */
template <bool stores> __global__ void run_membar(unsigned *p, long long *clocks) {
    __shared__ volatile unsigned here[1024];
    long long begin = clock64();
    for (unsigned i = 0; i < REPEATS; i++) {
        if (stores) ((volatile unsigned *)p)[blockIdx.x * blockDim.x + threadIdx.x] = i;
        else here[threadIdx.x] = i;
        asm volatile("fence.acq_rel.gpu;" ::: "memory");
    }
    __syncthreads();
    if (threadIdx.x == 0) clocks[blockIdx.x] = clock64() - begin;
}

__global__ void run_cluster_barrier(long long *clocks) {
    all_of_cluster();
    long long begin = clock64();
    for (unsigned i = 0; i < REPEATS; i++) all_of_cluster();
    if (threadIdx.x == 0) clocks[blockIdx.x] = clock64() - begin;
}

static void measure_fences(const gpu &g) {
    unsigned *p;
    block_times t = times_of(g.multiprocessors);
    CHECK(cudaMalloc(&p, 4096 * (size_t)g.multiprocessors));
    double clocks = median_clocks(t, [&] { run_membar<false><<<g.multiprocessors, 32>>>(p, t.clocks); });
    result("membar_gpu_clocks", clocks / REPEATS, "clocks", "fence.acq_rel.gpu, stores to shared memory, one warp");
    clocks = median_clocks(t, [&] { run_membar<false><<<g.multiprocessors, 256>>>(p, t.clocks); });
    result("membar_gpu_8_warps_clocks", clocks / REPEATS, "clocks", "the same by eight warps at once, all done");
    clocks = median_clocks(t, [&] { run_membar<true><<<g.multiprocessors, 32>>>(p, t.clocks); });
    result("membar_gpu_stores_clocks", clocks / REPEATS, "clocks", "behind a store to global memory, one warp");
}

static void measure_cluster_barriers(const gpu &g) {
    for (int cluster = 2; cluster <= 8; cluster *= 2) {
        int blocks = g.multiprocessors / 2 / cluster * cluster; /* clusters do not fill every group of processors */
        block_times t = times_of(blocks);
        char name[64];
        double clocks = median_clocks(t, [&] {
            launch_clusters(run_cluster_barrier, blocks, 256, 0, cluster, t.clocks);
        });
        snprintf(name, sizeof name, cluster == 2 ? "cluster_barrier_clocks" : "cluster_barrier_%d_clocks", cluster);
        result(name, clocks / REPEATS, "clocks", "barrier.cluster arrive and wait, 256 threads a block");
    }
}

/* ---- another block's shared memory ---- */
__global__ void __launch_bounds__(256) run_dsmem(unsigned *out, long long *clocks) {
    extern __shared__ uint4 mine[]; /* 32 KB */
    for (unsigned i = threadIdx.x; i < 2048; i += 256) mine[i] = make_uint4(i, i * 3, i * 5, i * 7);
    all_of_cluster();
    unsigned theirs = reid_cluster_map((unsigned)__cvta_generic_to_shared(mine), reid_cluster_rank() ^ 1);
    uint4 sum = make_uint4(0, 0, 0, 0);
    long long begin = clock64();
    for (unsigned r = 0; r < REPEATS; r++) {
        uint4 v[8];
#pragma unroll
        for (unsigned i = 0; i < 8; i++)
            asm volatile("ld.shared::cluster.v4.u32 {%0,%1,%2,%3}, [%4];"
                         : "=r"(v[i].x), "=r"(v[i].y), "=r"(v[i].z), "=r"(v[i].w)
                         : "r"(theirs + (i * 256 + threadIdx.x) * 16) : "memory");
#pragma unroll
        for (unsigned i = 0; i < 8; i++) sum.x ^= v[i].x + r, sum.y ^= v[i].y, sum.z ^= v[i].z, sum.w ^= v[i].w;
    }
    __syncthreads();
    if (threadIdx.x == 0) clocks[blockIdx.x] = clock64() - begin;
    out[blockIdx.x * 256 + threadIdx.x] = sum.x ^ sum.y ^ sum.z ^ sum.w;
    all_of_cluster(); /* the other block may still read */
}

/* Eight blocks send each other 4 KB, a thread 16 bytes to each, wait for their own 32 KB, and meet. in_turn: each
   begins with itself, and no two send to the same block at the same time; else all begin with the first. */
enum { EIGHT = 8, SENT_BYTES = EIGHT * 256 * 16 };
template <bool in_turn> __global__ void __launch_bounds__(256) exchange(long long *clocks) {
    extern __shared__ uint4 theirs[]; /* [EIGHT][256] */
    __shared__ __align__(8) unsigned long long arrived;
    const unsigned rank = reid_cluster_rank(), v[4] = {rank, 1, 2, 3};
    const unsigned to = (unsigned)__cvta_generic_to_shared(theirs + rank * 256 + threadIdx.x);
    const unsigned mbarrier = (unsigned)__cvta_generic_to_shared(&arrived);
    if (threadIdx.x == 0) reid_mbarrier_init(mbarrier, 1), reid_fence_mbarrier_init();
    all_of_cluster();
    long long begin = clock64();
    for (unsigned r = 0; r < REPEATS; r++) {
        if (threadIdx.x == 0) reid_mbarrier_arrive_expect_tx(mbarrier, SENT_BYTES);
#pragma unroll
        for (unsigned i = 0; i < EIGHT; i++) {
            const unsigned block = in_turn ? (rank + i) % EIGHT : i;
            reid_cluster_store_async(reid_cluster_map(to, block), v, reid_cluster_map(mbarrier, block));
        }
        wait_for_cluster(mbarrier, r & 1);
        all_of_cluster();
    }
    if (threadIdx.x == 0) clocks[blockIdx.x] = clock64() - begin;
}

template <bool in_turn> static double exchange_clocks(const gpu &g) {
    const int blocks = g.multiprocessors / 2 / EIGHT * EIGHT; /* as many as run at once */
    block_times t = times_of(blocks);
    return median_clocks(t, [&] { launch_clusters(exchange<in_turn>, blocks, 256, SENT_BYTES, EIGHT, t.clocks); }) /
           REPEATS;
}

static void measure_dsmem(const gpu &g) {
    int blocks = g.multiprocessors / 2 * 2;
    unsigned *out;
    block_times t = times_of(blocks);
    CHECK(cudaMalloc(&out, 1024 * (size_t)blocks));
    result("exchange_clocks", exchange_clocks<true>(g), "clocks",
           "eight blocks send each other 4 KB by st.async, each beginning with itself, wait, and meet");
    result("exchange_same_order_clocks", exchange_clocks<false>(g), "clocks", "the same if all begin with the first");
    double clocks = median_clocks(t, [&] { launch_clusters(run_dsmem, blocks, 256, 32768, 2, out, t.clocks); });
    result("dsmem_bytes_per_clock", 32768.0 * REPEATS / clocks, "bytes",
           "16-byte loads from the other block of a pair, a clock and multiprocessor");
}

/* ---- products, alone and while their operands arrive ---- */
enum { SLICE_BYTES = 3 * BOX_BYTES, SLICES = 4 }; /* 128 x 64 of A, 256 x 64 of B */

/* Two warpgroups multiply, each 64 rows of A by 256 columns; the first thread of a third one fills the slices. filled:
   all slices are filled at the start, and none is filled again. */
template <bool filled> __global__ void __launch_bounds__(384, 1)
multiply(const __grid_constant__ CUtensorMap map, unsigned rounds, float *out, long long *clocks) {
    extern __shared__ __align__(1024) unsigned char slices[];
    __shared__ __align__(8) unsigned long long mbarriers[2 * SLICES];
    unsigned base = (unsigned)__cvta_generic_to_shared(slices), group = threadIdx.x / 128;
    unsigned full = (unsigned)__cvta_generic_to_shared(mbarriers), empty = full + 8 * SLICES;
    if (threadIdx.x == 0) {
        for (unsigned i = 0; i < 2 * SLICES; i++) reid_mbarrier_init(full + 8 * i, i < SLICES ? 1 : 8); /* warps */
        reid_fence_mbarrier_init();
    }
    __syncthreads();
    long long begin = clock64();
    if (group == 2) {
        for (unsigned r = 0; threadIdx.x == 256 && r < (filled ? SLICES : rounds); r++) {
            unsigned at = r % SLICES;
            if (r >= SLICES) wait_for(empty + 8 * at, (r / SLICES - 1) & 1);
            reid_mbarrier_arrive_expect_tx(full + 8 * at, SLICE_BYTES);
            for (unsigned i = 0; i < 3; i++)
                load_box<TILE>(&map, base + at * SLICE_BYTES + i * BOX_BYTES, blockIdx.x * 97 + 3 * r + i,
                               full + 8 * at);
        }
        return;
    }
    float d[128];
#pragma unroll
    for (int i = 0; i < 128; i++) d[i] = 0;
    for (unsigned r = 0; r < rounds; r++) {
        unsigned at = r % SLICES, a = base + at * SLICE_BYTES + group * (BOX_BYTES / 2);
        if (!filled || r < SLICES) wait_for(full + 8 * at, r / SLICES & 1);
        unsigned long long a_at = reid_wgmma_descriptor(a, 16, 1024, 1);
        unsigned long long b_at = reid_wgmma_descriptor(base + at * SLICE_BYTES + BOX_BYTES, 16, 1024, 1);
        reid_wgmma_fence();
#pragma unroll
        for (int k = 0; k < 4; k++) reid_wgmma<256>(d, a_at + 2 * k, b_at + 2 * k, true);
        reid_wgmma_commit();
        reid_wgmma_wait<1>();
        if (!filled && r && threadIdx.x % 32 == 0) reid_mbarrier_arrive(empty + 8 * ((r - 1) % SLICES));
    }
    reid_wgmma_wait<0>();
#pragma unroll
    for (int i = 0; i < 128; i++) reid_wgmma_hold(d[i]);
    if (threadIdx.x == 0) clocks[blockIdx.x] = clock64() - begin;
#pragma unroll
    for (int i = 1; i < 128; i++) d[0] += d[i];
    out[blockIdx.x * 256 + threadIdx.x] = d[0];
}

template <bool filled> static double product_clocks(const gpu &g, double *bytes) {
    const unsigned rounds = 2000;
    float *out;
    block_times t = times_of(g.multiprocessors);
    CUtensorMap map = matrix_map(random_halves((size_t)ROWS * COLUMNS * 2), BOX);
    CHECK(cudaMalloc(&out, 1024 * (size_t)g.multiprocessors));
    double clocks = median_clocks(t, [&] {
        launch_clusters(multiply<filled>, g.multiprocessors, 384, SLICES * SLICE_BYTES, 1, map, rounds, out, t.clocks);
    });
    *bytes = (double)SLICE_BYTES * rounds / clocks;
    return clocks / rounds / 8; /* two warpgroups, four products each */
}

static void measure_products(const gpu &g) {
    double bytes;
    result("wgmma_clocks_m64n256k16", product_clocks<true>(g, &bytes), "clocks",
           "a product of 64 x 256 x 16 halves, operands in shared memory, two warpgroups");
    result("wgmma_filled_clocks_m64n256k16", product_clocks<false>(g, &bytes), "clocks",
           "the same while the copy engine brings every slice from L2: 48 KB for eight products");
    result("wgmma_filled_bytes_per_clock", bytes, "bytes", "what it brings then, a clock and multiprocessor");
}

static const struct {
    const char *name;
    void (*measure)(const gpu &g);
} GROUPS[] = {{"tile", measure_tile}, {"im2col", measure_im2col}, {"multicast", measure_multicast},
              {"fences", measure_fences}, {"cluster_barriers", measure_cluster_barriers}, {"dsmem", measure_dsmem},
              {"products", measure_products}};

int main(int argc, char **argv) {
    for (const auto &group : GROUPS) {
        if (argc == 2 && !strcmp(argv[1], "--groups")) puts(group.name);
        else if (argc == 2 && !strcmp(argv[1], group.name)) return group.measure(open_gpu()), 0;
    }
    if (argc == 2 && !strcmp(argv[1], "--groups")) return 0;
    fprintf(stderr, "usage: %s --groups | GROUP\n", argv[0]);
    return 2;
}
