/* test_units.c: operations of a warp and of a block, against the PTX manual, and arithmetic that must round after every
   operation. The fragment formulas below are the manual's ("Matrix Fragments for mma.m16n8k8 / mma.m16n8k16 with
   floating point type").
   Usage: test_units FOLDER, which holds sample.cu and units.cu */
#include "emu_test.h"

static CUmodule module;

static CUfunction function(const char *name, unsigned shared) { return emu_function_of(module, name, shared); }

/* ---- mma ---- */

/* Row and column of element i of a lane's fragment. */
static void place_a(int lane, int i, int k, int *row, int *column) {
    int group = lane >> 2, thread = lane % 4;
    if (k == 16) *row = (i >= 0 && i < 2) || (i >= 4 && i < 6) ? group : group + 8;
    else *row = i < 2 ? group : group + 8;
    *column = i < 4 ? thread * 2 + (i & 1) : thread * 2 + (i & 1) + 8;
}
static void place_b(int lane, int i, int *row, int *column) {
    *row = i < 2 ? lane % 4 * 2 + (i & 1) : lane % 4 * 2 + (i & 1) + 8;
    *column = lane >> 2;
}
static void place_c(int lane, int i, int *row, int *column) {
    *row = i < 2 ? lane >> 2 : (lane >> 2) + 8;
    *column = lane % 4 * 2 + (i & 1);
}

static void test_mma(int k, const char *name) {
    uint16_t a[16][16], b[16][8];
    double want[16][8];
    uint16_t ra[32][8] = {{0}}, rb[32][4] = {{0}};
    float c[32][4];
    unsigned random = (unsigned)k;
    int row, column;
    for (int i = 0; i < 256; i++) a[i / 16][i % 16] = emu_half_from((double)emu_uniform(&random));
    for (int i = 0; i < 128; i++) b[i / 8][i % 8] = emu_half_from((double)emu_uniform(&random));
    for (int lane = 0; lane < 32; lane++) {
        for (int i = 0; i < k / 2; i++) place_a(lane, i, k, &row, &column), ra[lane][i] = a[row][column];
        for (int i = 0; i < k / 4; i++) place_b(lane, i, &row, &column), rb[lane][i] = b[row][column];
        for (int i = 0; i < 4; i++) {
            place_c(lane, i, &row, &column);
            c[lane][i] = emu_uniform(&random);
            want[row][column] = (double)c[lane][i];
            for (int x = 0; x < k; x++) want[row][column] += emu_half_value(a[row][x]) * emu_half_value(b[x][column]);
        }
    }
    CUdeviceptr da = emu_upload(ra, sizeof ra), db = emu_upload(rb, sizeof rb), dc = emu_upload(c, sizeof c);
    void *params[] = {&da, &db, &dc};
    OK(emu_launch_1d(function(name, 0), 1, 32, 0, params));
    emu_download(c, dc, sizeof c);
    for (int lane = 0; lane < 32; lane++)
        for (int i = 0; i < 4; i++) {
            place_c(lane, i, &row, &column);
            CHECK(fabs((double)c[lane][i] - want[row][column]) < 1e-5);
        }
    NEED(cuMemFree_v2(da) || cuMemFree_v2(db));
}

/* "Matrix Fragments for mma.m16n8k32": row and column of element i. Every sum is exact. */
static void test_mma_bytes(void) {
    uint8_t a[16][32], ra[32][16], rb[32][8];
    int8_t b[32][8];
    int c[32][4], want[32][4];
    unsigned random = 11;
    for (int i = 0; i < 512; i++) a[i / 32][i % 32] = (uint8_t)emu_next_random(&random);
    for (int i = 0; i < 256; i++) b[i / 8][i % 8] = (int8_t)emu_next_random(&random);
    for (int lane = 0; lane < 32; lane++) {
        int group = lane >> 2, thread = lane % 4;
        for (int i = 0; i < 16; i++) {
            int row = i < 4 || (i >= 8 && i < 12) ? group : group + 8;
            int column = i < 8 ? thread * 4 + (i & 3) : thread * 4 + (i & 3) + 16;
            ra[lane][i] = a[row][column];
        }
        for (int i = 0; i < 8; i++)
            rb[lane][i] = (uint8_t)b[i < 4 ? thread * 4 + (i & 3) : thread * 4 + (i & 3) + 16][group];
        for (int i = 0; i < 4; i++) {
            int row = i < 2 ? group : group + 8, column = thread * 2 + (i & 1);
            c[lane][i] = want[lane][i] = (int)(emu_next_random(&random) % 100000) - 50000;
            for (int k = 0; k < 32; k++) want[lane][i] += a[row][k] * b[k][column];
        }
    }
    CUdeviceptr da = emu_upload(ra, sizeof ra), db = emu_upload(rb, sizeof rb), dc = emu_upload(c, sizeof c);
    void *params[] = {&da, &db, &dc};
    OK(emu_launch_1d(function("unit_mma_u8", 0), 1, 32, 0, params));
    emu_download(c, dc, sizeof c);
    CHECK(memcmp(c, want, sizeof c) == 0);
    NEED(cuMemFree_v2(da) || cuMemFree_v2(db));
}

/* ---- ldmatrix ---- */

static void test_ldmatrix(void) {
    static const int counts[3] = {1, 2, 4};
    uint16_t rows[32][8];
    uint32_t got[6][32][4];
    unsigned random = 3;
    for (int i = 0; i < 256; i++) rows[i / 8][i % 8] = (uint16_t)emu_next_random(&random);
    CUdeviceptr in = emu_upload(rows, sizeof rows), out = emu_upload(NULL, sizeof got);
    void *params[] = {&in, &out};
    OK(emu_launch_1d(function("unit_ldmatrix", 512), 1, 32, 512, params));
    emu_download(got, out, sizeof got);
    for (int variant = 0; variant < 6; variant++)
        for (int lane = 0; lane < 32; lane++)
            for (int m = 0; m < counts[variant % 3]; m++) { /* lanes 8m to 8m + 7 gave matrix m's rows */
                int r = lane / 4, c = lane % 4 * 2, low, high;
                if (variant < 3) low = rows[m * 8 + r][c], high = rows[m * 8 + r][c + 1];
                else low = rows[m * 8 + c][r], high = rows[m * 8 + c + 1][r];
                CHECK(got[variant][lane][m] == ((uint32_t)low | (uint32_t)high << 16));
            }
    NEED(cuMemFree_v2(in));
}

/* ---- shuffles and votes ---- */

static void test_shuffles(void) {
    int in[32], out[13][32], positive = 0;
    unsigned random = 5;
    for (int i = 0; i < 32; i++) {
        in[i] = (int)(emu_next_random(&random) % 1000000) - 500000;
        positive |= in[i] > 0 ? 1 << i : 0;
    }
    CUdeviceptr din = emu_upload(in, sizeof in), dout = emu_upload(NULL, sizeof out);
    void *params[] = {&din, &dout};
    OK(emu_launch_1d(function("unit_shuffles", 0), 1, 32, 0, params));
    emu_download(out, dout, sizeof out);
    for (int i = 0; i < 32; i++) {
        CHECK_IS(out[0][i], in[5]);
        CHECK_IS(out[1][i], in[i * 7 % 32]);
        CHECK_IS(out[2][i], in[i / 8 * 8 + 3]);
        CHECK_IS(out[3][i], in[i < 1 ? i : i - 1]);
        CHECK_IS(out[4][i], in[i % 8 < 3 ? i : i - 3]);
        CHECK_IS(out[5][i], in[i == 31 ? i : i + 1]);
        CHECK_IS(out[6][i], in[i % 16 + 5 > 15 ? i : i + 5]);
        CHECK_IS(out[7][i], in[i ^ 16]);
        CHECK_IS(out[8][i], in[(i ^ 9) / 8 > i / 8 ? i : i ^ 9]); /* a later segment cannot be read */
        CHECK_IS(out[9][i], in[i ^ 1] & 0x7fffff);
        CHECK_IS(out[10][i], positive);
        CHECK_IS(out[11][i], 2);
        CHECK_IS(out[12][i], 2);
    }
    NEED(cuMemFree_v2(din));
}

/* ---- cp.async, barriers ---- */

static void test_copies(void) {
    unsigned char from[512], out[896];
    for (int i = 0; i < 512; i++) from[i] = (unsigned char)(i * 7 + 1);
    CUdeviceptr din = emu_upload(from, sizeof from), dout = emu_upload(from, sizeof from);
    NEED(cuMemFree_v2(dout));
    dout = emu_upload(NULL, sizeof out);
    void *params[] = {&din, &dout};
    OK(emu_launch_1d(function("unit_copies", 896), 1, 32, 896, params));
    emu_download(out, dout, sizeof out);
    for (int i = 0; i < 32; i++) {
        for (int k = 0; k < 16; k++) CHECK_IS(out[i * 16 + k], k < i % 17 ? from[i * 16 + k] : 0);
        for (int k = 0; k < 8; k++) CHECK_IS(out[512 + i * 8 + k], k < i % 9 ? from[i * 8 + k] : 0);
        for (int k = 0; k < 4; k++) CHECK_IS(out[768 + i * 4 + k], k < i % 5 ? from[i * 4 + k] : 0);
    }
    NEED(cuMemFree_v2(din));
}

static void test_named_barriers(void) {
    int out[4][128];
    CUdeviceptr dout = emu_upload(NULL, sizeof out);
    void *params[] = {&dout};
    OK(emu_launch_1d(function("unit_named_barriers", 512), 1, 128, 512, params));
    emu_download(out, dout, sizeof out);
    for (int i = 0; i < 512; i++) CHECK_IS(out[i / 128][i % 128], (i % 128 ^ 32) * 10 + i / 128);
}

/* ---- doubles: each operation rounded; here a volatile store does it ---- */

static void test_doubles(void) {
    enum { N = 256, OPERATIONS = 11 };
    static double a[N], b[N], out[OPERATIONS][N];
    unsigned random = 4;
    int n = N, wrong = 0, fused = 0;
    for (int i = 0; i < N; i++) {
        a[i] = (double)emu_uniform(&random) + (double)emu_next_random(&random) * 1e-9;
        b[i] = 1.0 + (double)emu_next_random(&random) * 1e-8;
    }
    CUdeviceptr da = emu_upload(a, sizeof a), db = emu_upload(b, sizeof b), dout = emu_upload(NULL, sizeof out);
    void *params[] = {&da, &db, &dout, &n};
    OK(emu_launch_1d(function("unit_doubles", 0), N / 64, 64, 0, params));
    emu_download(out, dout, sizeof out);
    for (int i = 0; i < N; i++) {
        double x = a[i], y = b[i];
        volatile double product = x * y, square = x * x;
        volatile float short_product = (float)x * (float)y;
        double want[OPERATIONS] = {x + y, x - y, product, x / y, sqrt(square), product + x, product - x, product + x,
                                   x - product, (double)(short_product + (float)x), (double)(int)(x * 1000.0)};
        for (int k = 0; k < OPERATIONS; k++) wrong += memcmp(&out[k][i], &want[k], sizeof want[k]) != 0;
        fused += fma(x, y, x) != product + x;
    }
    CHECK_IS(wrong, 0);
    CHECK(fused > 0); /* or nothing was tested */
    NEED(cuMemFree_v2(da) || cuMemFree_v2(db));
}

/* ---- the language ---- */

static void test_language(void) {
    struct {
        float a;
        unsigned char b[5];
    } pair = {0.5f, {1, 2, 3, 4, 5}};
    float in[8] = {1, 2, 3, 4, 5, 6, 7, 8}, out[12];
    unsigned where[2 * 3 * 4 * 64];
    CUdeviceptr din = emu_upload(in, sizeof in), dout = emu_upload(NULL, sizeof out);
    CUdeviceptr dwhere = emu_upload(NULL, sizeof where);
    void *params[] = {&pair, &din, &dout, &dwhere};
    OK(cuLaunchKernel(function("unit_language", 0), 2, 3, 4, 8, 4, 2, 0, NULL, params, NULL));
    emu_download(out, dout, sizeof out), emu_download(where, dwhere, sizeof where);
    for (unsigned i = 0; i < 2 * 3 * 4 * 64; i++) CHECK(where[i] == i);
    float want[12] = {1.5f, 7, 33, 36, 5, 6, 7, 8, 1, 8, (float)emu_device_arch() * 10, 0};
    for (int i = 0; i < 12; i++) CHECK(out[i] == want[i]);
    NEED(cuMemFree_v2(din));
}

int main(int argc, char **argv) {
    char sample[512], units[512];
    const char *folder = argc > 1 ? argv[1] : "tests/emulator";
    snprintf(sample, sizeof sample, "%s/sample.cu", folder);
    snprintf(units, sizeof units, "%s/units.cu", folder);
    emu_start();
    module = emu_module_of(sample, units, NULL);
    test_mma(8, "unit_mma_k8");
    test_ldmatrix();
    test_shuffles();
    test_named_barriers();
    test_doubles();
    test_language();
    if (emu_device_arch() >= 80) {
        test_mma(16, "unit_mma_k16");
        test_mma_bytes();
        test_copies();
    }
    emu_stop(module);
    return emu_done("test_units");
}
