/* test_cluster.c: clusters, their barrier, distributed shared memory and multicast against the PTX manual and the
   driver's manual, and planted bugs, each of which must be reported or visible in the output, as in test_bugs.c.
   Usage: test_cluster FOLDER, which holds hopper.cuh and cluster_test.cu */
#include "emu_test.h"

static CUmodule module;

static CUresult launch(CUfunction f, const unsigned grid[3], const unsigned cluster[3], unsigned threads,
                       void **params) {
    CUlaunchAttribute a;
    memset(&a, 0, sizeof a);
    a.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    a.value.clusterDim.x = cluster[0], a.value.clusterDim.y = cluster[1], a.value.clusterDim.z = cluster[2];
    CUlaunchConfig c = {grid[0], grid[1], grid[2], threads, 1, 1, 2048, NULL, &a, 1};
    return cuLaunchKernelEx(&c, f, params, NULL);
}

static CUresult launch_1d(CUfunction f, unsigned blocks, unsigned cluster, unsigned threads, void **params) {
    const unsigned grid[3] = {blocks, 1, 1}, shape[3] = {cluster, 1, 1};
    return launch(f, grid, shape, threads, params);
}

/* ---- launches ---- */

static void test_sizes(void) {
    static const struct { unsigned grid[3], cluster[3]; int large; CUresult want; } rows[] = {
        {{8, 1, 1}, {8, 1, 1}, 0, CUDA_SUCCESS},
        {{8, 1, 1}, {0, 1, 1}, 0, CUDA_ERROR_INVALID_VALUE},
        {{8, 1, 1}, {2, 1, 0}, 0, CUDA_ERROR_INVALID_VALUE},
        {{9, 1, 1}, {2, 1, 1}, 0, CUDA_ERROR_INVALID_VALUE},
        {{8, 1, 1}, {2, 2, 1}, 0, CUDA_ERROR_INVALID_VALUE},
        {{8, 2, 3}, {2, 2, 3}, 0, CUDA_ERROR_INVALID_CLUSTER_SIZE},
        {{9, 1, 1}, {9, 1, 1}, 0, CUDA_ERROR_INVALID_CLUSTER_SIZE},
        {{16, 1, 1}, {16, 1, 1}, 0, CUDA_ERROR_INVALID_CLUSTER_SIZE},
        {{16, 1, 1}, {16, 1, 1}, 1, CUDA_SUCCESS},
        {{17, 1, 1}, {17, 1, 1}, 1, CUDA_ERROR_INVALID_CLUSTER_SIZE},
    };
    CUfunction f = emu_function_of(module, "unit_ranks", 2048);
    CUdeviceptr out = emu_upload(NULL, 1024);
    void *params[] = {&out};
    int large = 9;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        OK(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, rows[i].large));
        CHECK_IS(launch(f, rows[i].grid, rows[i].cluster, 32, params), rows[i].want);
    }
    OK(cuFuncGetAttribute(&large, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, f));
    CHECK_IS(large, 1);
    OK(cuDeviceGetAttribute(&large, CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH, 0));
    CHECK_IS(large, 1);
    NEED(cuMemFree_v2(out));
}

static void test_ranks(void) {
    static const unsigned grid[3] = {4, 6, 2}, cluster[3] = {2, 3, 1};
    unsigned out[48];
    CUdeviceptr device = emu_upload(NULL, sizeof out);
    void *params[] = {&device};
    OK(launch(emu_function_of(module, "unit_ranks", 2048), grid, cluster, 32, params));
    NEED(cuMemcpyDtoH_v2(out, device, sizeof out));
    for (unsigned i = 0; i < 48; i++) CHECK_IS(out[i], (i % 4 % 2 + i / 4 % 6 % 3 * 2) << 8 | 6);
    OK(emu_launch_1d(emu_function_of(module, "unit_ranks", 2048), 3, 32, 2048, params)); /* a block is a cluster */
    emu_download(out, device, sizeof out);
    for (unsigned i = 0; i < 3; i++) CHECK_IS(out[i], 1);
}

static void test_barrier(void) {
    unsigned out[6][3][64];
    CUdeviceptr device = emu_upload(NULL, sizeof out);
    void *params[] = {&device};
    OK(launch_1d(emu_function_of(module, "unit_barrier", 2048), 6, 3, 96, params));
    emu_download(out, device, sizeof out);
    for (unsigned b = 0; b < 6; b++)
        for (unsigned i = 0; i < 192; i++)
            if (i != 128 + 40) CHECK_IS(out[b][i / 64][i % 64], (b % 3 + 1) % 3 * 1000 + i / 64 * 100 + i % 64);
}

/* ---- multicast ---- */

enum { ROUNDS = 7, MOST = 4 };

/* Number of wrong sums of `size` blocks, or -1 for a fault. */
static int run_share(const char *name, unsigned size) {
    float in[ROUNDS][32 * MOST], out[2 * MOST][32];
    const cuuint64_t dims[2] = {32 * size, ROUNDS}, stride = sizeof in[0];
    const cuuint32_t box[2] = {32, 1}, steps[2] = {1, 1};
    CUtensorMap map;
    unsigned random = size;
    int rounds = ROUNDS, wrong = 0;
    for (int i = 0; i < ROUNDS * 32 * MOST; i++) in[i / (32 * MOST)][i % (32 * MOST)] = emu_uniform(&random);
    CUdeviceptr din = emu_upload(in, sizeof in), dout = emu_upload(NULL, sizeof out);
    NEED(cuTensorMapEncodeTiled(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, (void *)(uintptr_t)din, dims, &stride, box,
                                steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
                                CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
    void *params[] = {&map, &dout, &rounds};
    if (launch_1d(emu_function_of(module, name, 2048), 2 * size, size, 64, params)) return -1;
    NEED(cuMemcpyDtoH_v2(out, dout, sizeof out));
    for (unsigned i = 0; i < 2 * size * 32; i++) {
        double sum = 0;
        for (int r = 0; r < ROUNDS; r++) {
            sum *= 0.5;
            for (unsigned k = 0; k < size; k++) sum += (double)in[r][k * 32 + i % 32];
        }
        wrong += !(fabs((double)out[i / 32][i % 32] - sum) < 1e-5);
    }
    NEED(cuMemFree_v2(din) || cuMemFree_v2(dout));
    return wrong;
}

static void test_im2col(void) {
    float in[4][8][32], out[4][8][32]; /* rows, columns, channels; eight pixels from column 2 of row 1 on */
    const cuuint64_t dims[4] = {32, 8, 4, 1}, strides[3] = {128, 1024, 4096};
    const cuuint32_t steps[4] = {1, 1, 1, 1};
    const int corners[2] = {0, 0};
    CUtensorMap map;
    int mask = 5;
    for (int i = 0; i < 1024; i++) in[i / 256][i / 32 % 8][i % 32] = (float)i;
    CUdeviceptr din = emu_upload(in, sizeof in), dout = emu_upload(NULL, sizeof out);
    NEED(cuTensorMapEncodeIm2col(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4, (void *)(uintptr_t)din, dims, strides,
                                 corners, corners, 32, 8, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
                                 CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                                 CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
    void *params[] = {&map, &dout, &mask};
    OK(launch_1d(emu_function_of(module, "unit_im2col", 2048), 4, 4, 64, params));
    emu_download(out, dout, sizeof out);
    for (int i = 0; i < 1024; i++) {
        float want = mask >> i / 256 & 1 ? (float)(256 + 64 + i % 256) : -1.0f;
        CHECK(fabsf(out[i / 256][i / 32 % 8][i % 32] - want) < 0.5f);
    }
    NEED(cuMemFree_v2(din));
}

/* Number of wrong words that the first block sends to those of the mask, or -1 for a fault. */
static int run_send(const char *name, int mask) {
    enum { SIZE = 4 };
    unsigned in[ROUNDS][32], out[SIZE][ROUNDS][32];
    int rounds = ROUNDS, wrong = 0;
    for (unsigned i = 0; i < ROUNDS * 32; i++) in[i / 32][i % 32] = 100 + i;
    CUdeviceptr din = emu_upload(in, sizeof in), dout = emu_upload(NULL, sizeof out);
    void *params[] = {&din, &dout, &mask, &rounds};
    if (launch_1d(emu_function_of(module, name, 2048), SIZE, SIZE, 32, params)) return -1;
    emu_download(out, dout, sizeof out);
    for (unsigned i = 0; i < SIZE * ROUNDS * 32; i++) {
        unsigned block = i / (ROUNDS * 32), at = i % (ROUNDS * 32);
        wrong += out[block][at / 32][at % 32] != (mask >> block & 1 ? in[at / 32][at % 32] : 7);
    }
    NEED(cuMemFree_v2(din));
    return wrong;
}

/* ---- distributed shared memory ---- */

static int run_tell(const char *name) {
    enum { SIZE = 4, BLOCKS = 8 };
    unsigned out[BLOCKS][SIZE];
    CUdeviceptr device = emu_upload(NULL, sizeof out);
    void *params[] = {&device};
    int wrong = 0;
    if (launch_1d(emu_function_of(module, name, 2048), BLOCKS, SIZE, 64, params)) return -1;
    emu_download(out, device, sizeof out);
    for (unsigned i = 0; i < BLOCKS * SIZE; i++) wrong += out[i / SIZE][i % SIZE] != i % SIZE * 10 + i / SIZE % SIZE;
    return wrong;
}

/* ---- bugs ---- */

#define ENDS "which has ended: there is no barrier.cluster|the block ends while a "

static const emu_bug bugs[] = {
    {"tell_fine", "right", "right"},
    {"tell_no_first_barrier", "which may not have begun: there is no barrier.cluster", "may not have begun"},
    {"tell_no_last_barrier", "in shared memory of block 0 of the cluster, which has ended", "which has ended"},
    {"tell_no_wait", OUTPUT, "of shared memory offset"},
    {"tell_arrives_twice", "thread (5,0,0): barrier.cluster.arrive a second time", "arrive a second time"},
    {"tell_waits_only", "barrier.cluster.wait without barrier.cluster.arrive", "without barrier.cluster.arrive"},
    {"tell_one_stays_away", "at barrier.cluster.wait (255 of 256 threads of 4 blocks have arrived)",
     "at barrier.cluster.wait (255 of 256 threads of 4 blocks have arrived)"},
    {"tell_no_such_block", "mapa: block 4 of a cluster of 4", "mapa: block 4 of a cluster of 4"},
    {"tell_outside", "at shared offset 2048 of 2048 bytes", "at shared offset 2048 of 2048 bytes"},
    {"tell_misaligned", "four bytes at shared offset 2", "four bytes at shared offset 2"},
    {"tell_not_a_cta_address", "an mbarrier at shared offset", "an mbarrier at shared offset"},
    {"tell_arrives_too_often", OUTPUT, "of shared memory offset"},
    {"tell_no_arrival", "(phase 0: 1 of 4 arrivals pending", "(phase 0: 1 of 4 arrivals pending"},
    {"tell_releases_cta", OUTPUT, "shared memory offset"},
    {"tell_acquires_cta", NULL, "by another block of the cluster have no barrier between them"},
    {"tell_meet_fine", "right", "right"},
    {"tell_meet_relaxed", OUTPUT, "shared memory offset"},
    {"tell_meet_own_relaxed", NULL, "race on shared memory offset"},
    {"tell_count_fine", "right", "right"},
    {"tell_count_expects_less", "an st.async for it, at line", "an st.async for it, at line"},
    {"tell_count_misaligned", "st.async of 16 bytes to shared offset", "st.async of 16 bytes to shared offset"},
    {"tell_count_outside", "st.async of 16 bytes to shared offset 2", "st.async of 16 bytes to shared offset 2"},
    {"tell_count_other_mbarrier", "with an mbarrier of another one", "with an mbarrier of another one"},
    {"tell_count_no_init_fence", "st.async to the mbarrier at shared offset 512: no fence.mbarrier_init",
     "race on shared memory offset|no fence.mbarrier_init"},
    {"tell_count_acquires_cta", NULL, "by another block of the cluster have no barrier between them"},
    {"tell_count_no_wait", "has ended|is under way|" OUTPUT, "shared memory offset|before the wait for the st.async"},
    {"send_fine", "right", "right"},
    {"send_expects_less", "transaction count -64", "transaction count -64"},
    {"share_fine", "right", "right"},
    {"share_no_first_barrier", "which may not have begun: there is no barrier.cluster", "may not have begun"},
    {"share_no_last_barrier", ENDS, ENDS},
    {"share_no_release", "were not expected|" OUTPUT, "shared memory offset|were not expected"},
    {"share_no_expect", "were not expected|deadlock", "shared memory offset|were not expected"},
    {"share_mask_too_large", "a multicast: block", "a multicast: block"},
    {"share_empty_mask", "a multicast to no block", "a multicast to no block"},
    {"share_early_exit", ENDS, ENDS},
};

static int run(const char *name, const char *cubin) {
    emu_start();
    NEED(cuModuleLoadData(&module, cubin));
    int wrong = 0;
    for (int i = 0; i < 30 && !wrong; i++)
        wrong = *name == 't' ? run_tell(name) : strncmp(name, "send", 4) ? run_share(name, 2) : run_send(name, 13);
    fprintf(stderr, wrong > 0 ? OUTPUT "\n" : wrong ? "" : "the output is right\n");
    return wrong != 0;
}

int main(int argc, char **argv) {
    char *cubin = emu_hopper_cubin(argc, argv, "cluster_test.cu");
    emu_find_bugs(run, bugs, sizeof bugs / sizeof *bugs, cubin);
    emu_start();
    NEED(cuModuleLoadData(&module, cubin));
    test_sizes();
    test_ranks();
    test_barrier();
    test_im2col();
    for (unsigned size = 1; size <= MOST; size++) CHECK_IS(run_share("share_fine", size), 0);
    for (int mask = 1; mask < 16; mask++) CHECK_IS(run_send("send_fine", mask), 0);
    emu_stop(module);
    free(cubin);
    return emu_done("test_cluster");
}
