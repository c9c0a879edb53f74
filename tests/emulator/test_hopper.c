/* test_hopper.c: Hopper's instructions against the PTX manual, and planted bugs, each of which must be reported or
   visible in the output, as in test_bugs.c.
   Usage: test_hopper FOLDER, which holds hopper.cuh and hopper_test.cu */
#include "emu_test.h"

static CUmodule module;

static CUfunction function(const char *name, unsigned shared) { return emu_function_of(module, name, shared); }

/* ---- mbarrier, bulk copies ---- */

static void test_mbarrier(void) {
    /* After every step of unit_mbarrier, two arrivals being a phase: is parity 0 over, is parity 1? */
    static const unsigned want[17] = {0, 1, 0, 1, 1, 0, 1, 0, 1, 0, 0, 1, 0, 1, 1, 0, 0};
    float in[12];
    unsigned out[96];
    for (int i = 0; i < 12; i++) in[i] = (float)(i * 3 + 1);
    CUdeviceptr din = emu_upload(in, sizeof in), dout = emu_upload(NULL, sizeof out);
    void *params[] = {&din, &dout};
    OK(emu_launch_1d(function("unit_mbarrier", 2048), 1, 64, 2048, params));
    emu_download(out, dout, sizeof out);
    for (int i = 0; i < 17; i++) CHECK_IS(out[i], want[i]);
    for (int i = 0; i < 12; i++) CHECK_IS(out[32 + i], in[i]);
    NEED(cuMemFree_v2(din));
}

static void test_ring(void) {
    enum { ROUNDS = 7, BLOCKS = 3 };
    float in[BLOCKS][ROUNDS][64], out[BLOCKS][32];
    unsigned random = 11;
    int rounds = ROUNDS;
    for (int i = 0; i < BLOCKS * ROUNDS * 64; i++) in[i / 64 / ROUNDS][i / 64 % ROUNDS][i % 64] = emu_uniform(&random);
    CUdeviceptr din = emu_upload(in, sizeof in), dout = emu_upload(NULL, sizeof out);
    void *params[] = {&din, &dout, &rounds};
    OK(emu_launch_1d(function("unit_ring", 544), BLOCKS, 64, 544, params));
    emu_download(out, dout, sizeof out);
    for (int b = 0; b < BLOCKS; b++)
        for (int i = 0; i < 32; i++) {
            double sum = 0;
            for (int r = 0; r < ROUNDS; r++) sum = sum * 0.5 + (double)(in[b][r][i] - in[b][r][63 - i]);
            CHECK(fabs((double)out[b][i] - sum) < 1e-5);
        }
    NEED(cuMemFree_v2(din));
}

static void test_bulk_store(void) {
    float out[256];
    CUdeviceptr dout = emu_upload(NULL, sizeof out);
    void *params[] = {&dout};
    OK(emu_launch_1d(function("unit_bulk_store", 256), 1, 64, 256, params));
    emu_download(out, dout, sizeof out);
    for (int i = 0; i < 192; i++) CHECK_IS(out[i], i);
    CHECK_IS(out[192], 127);
}

/* ---- wgmma ---- */

typedef struct matrices { /* a (rows, 64), b (n, 64), their product */
    unsigned rows, n;
    uint16_t a[128][64], b[256][64];
    float out[128 * 256];
    CUdeviceptr da, db, dout;
    void *params[3];
} matrices;

static matrices *new_matrices(unsigned rows, unsigned n) {
    unsigned random = rows + n;
    matrices *m = (matrices *)calloc(1, sizeof *m);
    if (!m) exit(1);
    m->rows = rows, m->n = n;
    for (unsigned i = 0; i < rows * 64; i++) m->a[i / 64][i % 64] = emu_half_from((double)emu_uniform(&random));
    for (unsigned i = 0; i < n * 64; i++) m->b[i / 64][i % 64] = emu_half_from((double)emu_uniform(&random));
    m->da = emu_upload(m->a, rows * 128), m->db = emu_upload(m->b, n * 128);
    m->dout = emu_upload(NULL, rows * n * sizeof(float));
    m->params[0] = &m->da, m->params[1] = &m->db, m->params[2] = &m->dout;
    return m;
}

/* Number of wrong elements of the product. Releases everything. */
static int wrong_elements(matrices *m) {
    int wrong = 0;
    emu_download(m->out, m->dout, m->rows * m->n * sizeof(float));
    for (unsigned i = 0; i < m->rows * m->n; i++) {
        double sum = 0;
        for (unsigned k = 0; k < 64; k++)
            sum += emu_half_value(m->a[i / m->n][k]) * emu_half_value(m->b[i % m->n][k]);
        wrong += !(fabs((double)m->out[i] - sum) < 1e-4);
    }
    NEED(cuMemFree_v2(m->da) || cuMemFree_v2(m->db));
    free(m);
    return wrong;
}

static void test_wgmma(const char *name, unsigned n) {
    for (unsigned threads = 128; threads <= 256; threads += 128) {
        unsigned shared = threads * 64 + n * 128;
        matrices *m = new_matrices(threads / 2, n);
        OK(emu_launch_1d(function(name, shared), 1, threads, shared, m->params));
        CHECK_IS(wrong_elements(m), 0);
    }
}

/* a (64, depth) of 0 ... 255 times b (n, depth) of -128 ... 127. */
static void test_wgmma_bytes(const char *name, unsigned n, unsigned depth) {
    static uint8_t a[64 * 128];
    static int8_t b[128 * 128];
    static int out[64 * 128];
    unsigned random = n + depth, shared = (64 + n) * depth;
    int wrong = 0;
    for (unsigned i = 0; i < sizeof a; i++) a[i] = (uint8_t)emu_next_random(&random);
    for (unsigned i = 0; i < sizeof b; i++) b[i] = (int8_t)emu_next_random(&random);
    a[0] = a[1] = 255, b[0] = b[1] = -128;
    CUdeviceptr da = emu_upload(a, sizeof a), db = emu_upload(b, sizeof b), dout = emu_upload(NULL, 64 * n * 4);
    void *params[] = {&da, &db, &dout};
    OK(emu_launch_1d(function(name, shared), 1, 128, shared, params));
    emu_download(out, dout, 64 * n * 4);
    for (unsigned i = 0; i < 64 * n; i++) {
        int sum = 0;
        for (unsigned k = 0; k < depth; k++) sum += a[i / n * depth + k] * b[i % n * depth + k];
        wrong += out[i] != sum;
    }
    CHECK_IS(wrong, 0);
    NEED(cuMemFree_v2(da) || cuMemFree_v2(db));
}

/* ---- stmatrix ---- */

static void test_stmatrix(void) {
    static const int counts[4] = {1, 2, 4, 4};
    uint32_t in[4][32][4];
    uint16_t out[4][32][8], want[4][32][8] = {{{0}}};
    unsigned random = 17;
    for (int i = 0; i < 512; i++) in[i / 128][i / 4 % 32][i % 4] = emu_next_random(&random) * 257u;
    for (int v = 0; v < 4; v++)
        for (int lane = 0; lane < 32; lane++)
            for (int i = 0; i < counts[v] * 2; i++) { /* half i % 2 of register i / 2, of matrix i / 2 */
                uint16_t half = (uint16_t)(in[v][lane][i / 2] >> (i % 2 ? 16 : 0));
                int row = lane / 4, column = lane % 4 * 2 + i % 2;
                want[v][i / 2 * 8 + (v == 3 ? column : row)][v == 3 ? row : column] = half;
            }
    CUdeviceptr din = emu_upload(in, sizeof in), dout = emu_upload(NULL, sizeof out);
    void *params[] = {&din, &dout};
    OK(emu_launch_1d(function("unit_stmatrix", 512), 1, 32, 512, params));
    emu_download(out, dout, sizeof out);
    CHECK(memcmp(out, want, sizeof out) == 0);
    NEED(cuMemFree_v2(din));
}

/* ---- all together ---- */

/* Returns the number of wrong sums, or -1 if the launch fails. */
static int run_pipeline(const char *name, int steps) {
    size_t bytes = (size_t)steps * 16384;
    uint16_t *tiles = (uint16_t *)malloc(bytes);
    double *want = (double *)calloc(64 * 64, sizeof *want);
    static float out[64 * 64];
    unsigned random = (unsigned)steps;
    if (!tiles || !want) exit(1);
    for (size_t i = 0; i < bytes / 2; i++) tiles[i] = emu_half_from((double)emu_uniform(&random));
    for (int i = 0; i < steps * 64 * 64 * 64; i++) {
        int k = i % 64, column = i / 64 % 64, row = i / 4096 % 64;
        const uint16_t *a = tiles + i / 262144 * 8192, *b = a + 4096; /* 128-byte rows, their pieces exchanged */
        want[row * 64 + column] += emu_half_value(a[row * 64 + (k / 8 ^ row % 8) * 8 + k % 8]) *
                                   emu_half_value(b[column * 64 + (k / 8 ^ column % 8) * 8 + k % 8]);
    }
    CUdeviceptr din = emu_upload(tiles, bytes), dout = emu_upload(NULL, sizeof out);
    void *params[] = {&din, &dout, &steps};
    if (emu_launch_1d(function(name, 3 * 16384 + 48), 1, 256, 3 * 16384 + 48, params)) return -1;
    emu_download(out, dout, sizeof out);
    int wrong = 0;
    for (int i = 0; i < 64 * 64; i++) wrong += !(fabs((double)out[i] - want[i]) < 1e-3);
    NEED(cuMemFree_v2(din));
    free(tiles), free(want);
    return wrong;
}

/* ---- bugs ---- */

static const emu_bug bugs[] = {
    {"load_fine", "right", "right"},
    {"load_no_init", "which is no mbarrier: mbarrier.init is missing", "which is no mbarrier"},
    {"load_no_init_fence", "no fence.mbarrier_init", "no fence.mbarrier_init"},
    {"load_no_init_barrier", NULL, "mbarrier"},
    {"load_two_inits", "which is an mbarrier already", "which is an mbarrier already"},
    {"load_no_expect", "thread (0,0,0): phase 0 of the mbarrier at shared offset 512 completes while a bulk copy",
     "were not expected"},
    {"load_expect_less", "were not expected", "were not expected"},
    {"load_expect_more", "for parity 0 of shared offset 512 (phase 0: 0 of 1 arrivals pending, transaction count 256)",
     "deadlock, no thread can go on: threads 0-63 at mbarrier.try_wait"},
    {"load_wrong_parity", "arrives too often", "shared memory offset"},
    {"load_old_parity", "the block ends while a bulk copy", "shared memory offset"},
    {"load_arrive_more", "arrives too often at the mbarrier at shared offset 512 (phase 0: 0 of 1 arrivals pending",
     "arrives too often"},
    {"load_arrive_less", "(phase 0: 1 of 2 arrivals pending, transaction count 0)", "deadlock"},
    {"load_spins", "threads 0-63 at mbarrier.test_wait for parity 0", "deadlock"},
    {"load_overwritten", "has been overwritten", "(5,0,0): write of shared memory offset 512, where an mbarrier"},
    {"load_no_loop", "arrives too often", "shared memory offset"},
    {"load_no_wait", "arrives too often", "shared memory offset"},
    {"load_one_waits", OUTPUT, "shared memory offset"},
    {"load_no_arrival", "(phase 0: 1 of 1 arrivals pending, transaction count 0)", "deadlock"},
    {"load_misaligned", "between shared offset 8", "all have to be multiples of 16"},
    {"load_outside", "0 bytes past the end of allocation #1", "0 bytes past the end of allocation #1"},
    {"load_no_proxy_fence", NULL, "there is no fence.proxy.async"},
    {"load_shared_fence", NULL, "there is no fence.proxy.async of global memory"},
    {"load_global_fine", "right", "right"},
    {"load_left_behind", "the block ends while a bulk copy to shared offset 0 is under way", "the block ends while"},
    {"store_fine", "right", "right"},
    {"store_no_fence", NULL, "there is no fence.proxy.async"},
    {"store_no_commit", "it may not have been read", "it may not have been read"},
    {"store_no_wait", OUTPUT, "which nothing has written"},
    {"store_no_read", "it may not have been read", "asynchronous read of"},
    {"store_overwrites", OUTPUT, "while an asynchronous read of it"},
    {"wgmma_fine", "right", "right"},
    {"wgmma_no_fence", "wgmma without a wgmma.fence before it", "wgmma without a wgmma.fence"},
    {"wgmma_no_second_fence", "its accumulators have been written since", "have been written since"},
    {"wgmma_no_proxy_fence", NULL, "there is no fence.proxy.async"},
    {"wgmma_no_barrier", OUTPUT, "shared memory offset"},
    {"wgmma_no_commit", "before the wgmma.wait_group", "of an accumulator of wgmma before its wgmma.wait_group"},
    {"wgmma_no_wait", "before the wgmma.wait_group", "read of an accumulator of wgmma before its wgmma.wait_group"},
    {"wgmma_weak_wait", OUTPUT, "read of an accumulator of wgmma before its wgmma.wait_group"},
    {"wgmma_writes_sums", "was written before the wgmma.wait_group", "write of an accumulator of wgmma"},
    {"wgmma_overwrites", OUTPUT, "shared memory offset 18"},
    {"wgmma_lost_warp", "the four warps of a warpgroup did not do the same", "did not do the same"},
    {"wgmma_outside", "wgmma reads row", "wgmma reads row"},
    {"wgmma_swizzle", "with swizzle 3", "with swizzle 3"},
    {"stmatrix_misaligned", "thread (6,0,0): stmatrix row at shared offset 104", "stmatrix row at shared offset 104"},
    {"pipeline_no_empty", "arrives too often", "arrives too often"},
    {"pipeline_early_release", NULL, "shared memory offset"},
    {"registers_too_many", "setmaxnreg gives the block 71680 registers", "setmaxnreg gives the block 71680 registers"},
    {"registers_of_a_warp", "the four warps of a warpgroup did not do the same", "did not do the same"},
};

static int run(const char *name, const char *cubin) {
    float in[128], out[384];
    int wrong = 0;
    emu_start();
    for (int i = 0; i < 128; i++) in[i] = (float)(i + 1);
    CUdeviceptr din = emu_upload(in, sizeof in), dout = emu_upload(NULL, sizeof out);
    void *params[] = {&din, &dout};
    NEED(cuModuleLoadData(&module, cubin));
    if (*name == 'w') {
        matrices *m = new_matrices(64, 8);
        if (emu_launch_1d(function(name, 9216), 1, 128, 9216, m->params)) return 1;
        wrong = wrong_elements(m);
        fprintf(stderr, wrong ? OUTPUT "\n" : "the output is right\n");
        return wrong != 0;
    }
    if (*name == 'p') {
        wrong = run_pipeline(name, 8);
        fprintf(stderr, wrong ? OUTPUT "\n" : "the output is right\n");
        return wrong != 0;
    }
    if (*name == 'r') return emu_launch_1d(function(name, 0), 1, 384, 0, (void *[]){&dout}) != CUDA_SUCCESS;
    if (strcmp(name, "stmatrix_misaligned") == 0)
        return emu_launch_1d(function(name, 1024), 1, 32, 1024, params) != CUDA_SUCCESS;
    if (emu_launch_1d(function(name, 1024), 2, 64, 1024, params)) return 1;
    NEED(cuMemcpyDtoH_v2(out, dout, sizeof out));
    for (int i = 0; i < 128; i++) wrong += !(fabsf(out[i] - in[i / 64 * 64 + 63 - i % 64]) < 0.5f);
    if (*name == 's') wrong += out[128] != out[0] || out[129] != out[64];
    fprintf(stderr, wrong ? OUTPUT "\n" : "the output is right\n");
    return wrong != 0;
}

int main(int argc, char **argv) {
    char *cubin = emu_hopper_cubin(argc, argv, "hopper_test.cu");
    emu_find_bugs(run, bugs, sizeof bugs / sizeof *bugs, cubin);
    emu_start();
    NEED(cuModuleLoadData(&module, cubin));
    test_mbarrier();
    test_ring();
    test_bulk_store();
    test_wgmma("unit_wgmma_8", 8), test_wgmma("unit_wgmma_8_swizzled", 8);
    test_wgmma("unit_wgmma_64", 64), test_wgmma("unit_wgmma_64_registers", 64);
    test_wgmma("unit_wgmma_128_swizzled", 128), test_wgmma("unit_wgmma_128_swizzled_registers", 128);
    test_wgmma("unit_wgmma_256_swizzled", 256);
    test_wgmma_bytes("unit_wgmma_64_bytes", 64, 128), test_wgmma_bytes("unit_wgmma_128_bytes", 128, 128);
    test_wgmma_bytes("unit_wgmma_64_short_bytes", 64, 64), test_wgmma_bytes("unit_wgmma_128_short_bytes", 128, 64);
    test_stmatrix();
    for (int steps = 1; steps < 9; steps += 2) CHECK_IS(run_pipeline("unit_pipeline", steps), 0);
    emu_stop(module);
    free(cubin);
    return emu_done("test_hopper");
}
