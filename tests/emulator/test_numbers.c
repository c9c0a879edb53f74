/* test_numbers.c: conversions, built-in functions and atomics, against plain C. Usage: test_numbers FOLDER */
#include <float.h>

#include "emu_test.h"

enum { N = 1024 };
static CUmodule module;

static CUfunction function(const char *name) { return emu_function_of(module, name, 0); }

static uint32_t bits(float f) {
    uint32_t u;
    memcpy(&u, &f, 4);
    return u;
}
static float from_bits(uint32_t u) {
    float f;
    memcpy(&f, &u, 4);
    return f;
}

/* ---- fp16: all 65536 values to fp32, and as many fp32 values of every kind to fp16 ---- */

static void test_halves(void) {
    enum { COUNT = 65536 };
    float *in = (float *)malloc(COUNT * 4), *back = (float *)malloc(COUNT * 4);
    uint16_t *halves = (uint16_t *)malloc(COUNT * 2);
    uint32_t *pairs = (uint32_t *)malloc(COUNT * 8);
    unsigned random = 1;
    int n = COUNT;
    for (int i = 0; i < COUNT; i++) {
        float near_half = (float)emu_half_value((uint16_t)i);
        uint32_t wild = emu_next_random(&random) << 16 ^ emu_next_random(&random);
        if (i % 4 == 0) in[i] = from_bits(wild);                                         /* anything */
        else if (i % 4 == 1) in[i] = near_half;                                          /* exact */
        else if (i % 4 == 2) in[i] = from_bits(bits(near_half) + 0x1000);                /* a tie, if it is normal */
        else in[i] = from_bits(bits(near_half) + emu_next_random(&random) % 8192 - 4096); /* near */
    }
    CUdeviceptr din = emu_upload(in, COUNT * 4), dh = emu_upload(NULL, COUNT * 2), db = emu_upload(NULL, COUNT * 4);
    CUdeviceptr dp = emu_upload(NULL, COUNT * 8);
    void *params[] = {&din, &dh, &db, &dp, &n};
    OK(emu_launch_1d(function("unit_halves"), COUNT / 128, 128, 0, params));
    emu_download(halves, dh, COUNT * 2), emu_download(back, db, COUNT * 4), emu_download(pairs, dp, COUNT * 8);
    int wrong_to = 0, wrong_back = 0, wrong_pairs = 0;
    for (int i = 0; i < COUNT; i++) {
        double value = emu_half_value((uint16_t)i);
        wrong_to += halves[i] != emu_half_from((double)in[i]);
        wrong_back += isnan(value) ? !isnan(back[i]) : bits(back[i]) != bits((float)value);
        wrong_pairs += pairs[i] != (halves[i] | (uint32_t)halves[COUNT - 1 - i] << 16);
        float sum = (float)emu_half_value(halves[i]) + (float)emu_half_value(halves[COUNT - 1 - i]);
        wrong_pairs += isnan(sum) ? 0 : pairs[COUNT + i] != bits(sum);
    }
    CHECK_IS(wrong_to, 0);
    CHECK_IS(wrong_back, 0);
    CHECK_IS(wrong_pairs, 0);
    NEED(cuMemFree_v2(din));
    free(in), free(back), free(halves), free(pairs);
}

/* The larger of two halves: a NaN becomes 0x7fff, -0 is less than 0. */
static uint16_t larger(uint16_t a, uint16_t b) {
    double x = emu_half_value(a), y = emu_half_value(b);
    if (isnan(x) || isnan(y)) return 0x7fff;
    return x > y || (x == y && !signbit(x)) ? a : b;
}

static void test_pack(void) {
    enum { COUNT = 1024 };
    int in[COUNT][4], n = COUNT, wrong = 0;
    uint8_t out[COUNT][2][4];
    unsigned random = 1;
    for (int i = 0; i < COUNT * 4; i++) in[i / 4][i % 4] = (int)(emu_next_random(&random) % 1024) - 512;
    in[0][0] = INT32_MAX, in[0][3] = INT32_MIN;
    CUdeviceptr din = emu_upload(in, sizeof in), dout = emu_upload(NULL, sizeof out);
    void *params[] = {&din, &dout, &n};
    OK(emu_launch_1d(function("unit_pack"), COUNT / 128, 128, 0, params));
    emu_download(out, dout, sizeof out);
    for (int i = 0; i < COUNT * 4; i++) {
        int v = in[i / 4][i % 4];
        wrong += out[i / 4][0][i % 4] != (v < 0 ? 0 : v > 255 ? 255 : v);
        wrong += (int8_t)out[i / 4][1][i % 4] != (v < -128 ? -128 : v > 127 ? 127 : v);
    }
    CHECK_IS(wrong, 0);
    NEED(cuMemFree_v2(din));
}

static void test_max(void) {
    enum { COUNT = 65536 };
    uint32_t *values = (uint32_t *)malloc(COUNT * 12), *b = values + COUNT, *got = values + 2 * COUNT;
    unsigned random = 1;
    int n = COUNT, wrong = 0;
    for (int i = 0; i < COUNT; i++) {
        uint32_t any = emu_next_random(&random) << 16 ^ emu_next_random(&random);
        values[i] = (uint32_t)i << 16 | (uint32_t)(COUNT - 1 - i);
        b[i] = i % 2 ? any : values[i] ^ (i % 4 ? 0x80008000 : 0x00018000); /* anything, or nearly the same */
    }
    CUdeviceptr da = emu_upload(values, COUNT * 4), db = emu_upload(b, COUNT * 4), dout = emu_upload(NULL, COUNT * 4);
    void *params[] = {&da, &db, &dout, &n};
    OK(emu_launch_1d(function("unit_max"), COUNT / 128, 128, 0, params));
    emu_download(got, dout, COUNT * 4);
    for (int i = 0; i < COUNT; i++) {
        uint32_t high = larger((uint16_t)(values[i] >> 16), (uint16_t)(b[i] >> 16));
        wrong += got[i] != (high << 16 | larger((uint16_t)values[i], (uint16_t)b[i]));
    }
    CHECK_IS(wrong, 0);
    NEED(cuMemFree_v2(da) || cuMemFree_v2(db));
    free(values);
}

/* ---- floating point ---- */

static int close_to(float got, double want) {
    if (isnan(want)) return isnan(got) != 0;
    return fabs((double)got - want) <= 4e-7 * fabs(want) + 1e-12;
}

static void test_math(void) {
    static float a[N], b[N], out[37][N];
    unsigned random = 9;
    int n = N, wrong[37] = {0};
    for (int i = 0; i < N; i++) a[i] = emu_uniform(&random) * 8, b[i] = emu_uniform(&random) * 3;
    a[0] = NAN, b[1] = NAN, a[2] = -0.0f, a[3] = 2.5f, a[4] = -2.5f;
    CUdeviceptr da = emu_upload(a, sizeof a), db = emu_upload(b, sizeof b), dout = emu_upload(NULL, sizeof out);
    void *params[] = {&da, &db, &dout, &n};
    OK(emu_launch_1d(function("unit_math"), N / 64, 64, 0, params));
    emu_download(out, dout, sizeof out);
    for (int i = 0; i < N; i++) {
        float xf = a[i], yf = b[i], pf = fabsf(xf) + 0.5f, product = xf * yf;
        double x = (double)xf, y = (double)yf, p = (double)pf;
        double want[37] = {(double)fmaf(xf, yf, pf), fmin(x, y), fmax(x, y), sqrt(p), 1 / sqrt(p), exp(x), exp2(x),
                           log(p), log2(p), tanh(x), floor(x), ceil(x), trunc(x), rint(x), round(x), copysign(p, y),
                           fabs(x), pow(p, y), exp(x), log(p), x / p, 1 / p, (double)sqrtf(pf), (double)(xf / pf),
                           (double)(float)((double)product + p), (double)(float)((double)product - p),
                           (double)fmaf(xf, yf, pf), fmin(fmax(x, 0), 1), exp2(x), 1 / p, tanh(x), fmin(x, y),
                           fmax(x, y), fmod(x, p), sin(x), cos(x), x * y + 1};
        for (int k = 0; k < 37; k++) {
            int exact = (k >= 10 && k <= 16) || (k >= 22 && k <= 27);
            if (exact && !isnan(want[k])) wrong[k] += bits(out[k][i]) != bits((float)want[k]);
            else wrong[k] += !close_to(out[k][i], want[k]);
        }
    }
    for (int k = 0; k < 37; k++) {
        if (wrong[k]) printf("unit_math: function %d is wrong %d times\n", k, wrong[k]);
        CHECK(wrong[k] == 0);
    }
    NEED(cuMemFree_v2(da) || cuMemFree_v2(db));
}

/* ---- integers ---- */

static unsigned count_leading(unsigned x) {
    unsigned n = 0;
    while (n < 32 && !(x >> (31 - n) & 1)) n++;
    return n;
}
static unsigned reversed(unsigned x) {
    unsigned r = 0;
    for (int i = 0; i < 32; i++) r |= (x >> i & 1) << (31 - i);
    return r;
}
static int saturated(double v) {
    if (isnan(v)) return 0;
    return v >= 2147483647.0 ? INT32_MAX : v <= -2147483648.0 ? INT32_MIN : (int)v;
}

static void test_bits(void) {
    static unsigned a[N], out[23][N];
    static float f[N];
    unsigned random = 2, wrong[23] = {0};
    int n = N;
    for (int i = 0; i < N; i++) {
        a[i] = (emu_next_random(&random) << 16 ^ emu_next_random(&random)) >> (i % 32);
        f[i] = emu_uniform(&random) * (i % 3 ? 100.0f : 5e9f);
    }
    f[0] = NAN, f[1] = INFINITY, f[2] = -INFINITY, f[3] = 2.5f, f[4] = -0.5f, f[5] = FLT_MAX;
    CUdeviceptr da = emu_upload(a, sizeof a), df = emu_upload(f, sizeof f), dout = emu_upload(NULL, sizeof out);
    void *params[] = {&da, &df, &dout, &n};
    OK(emu_launch_1d(function("unit_bits"), N / 64, 64, 0, params));
    emu_download(out, dout, sizeof out);
    for (int i = 0; i < N; i++) {
        unsigned x = a[i], y = a[N - 1 - i], ones = 0, s = (unsigned)i % 32;
        uint64_t yx = (uint64_t)y << 32 | x;
        double v = (double)f[i], r = rint(v);
        for (int k = 0; k < 32; k++) ones += x >> k & 1;
        unsigned bytes = 0; /* selector 0x5a31: bytes 1, 3, sign of 2, 5 */
        bytes |= (unsigned)(yx >> 8 & 255) | (unsigned)(yx >> 24 & 255) << 8 | (yx >> 23 & 1 ? 255u : 0) << 16;
        bytes |= (unsigned)(yx >> 40 & 255) << 24;
        unsigned want[23] = {ones, count_leading(x), x ? 32 - count_leading(x & -x) : 0, reversed(x),
                             (unsigned)((uint64_t)x * y >> 32), (unsigned)((int64_t)(int)x * (int)y >> 32), bytes,
                             (unsigned)(yx << s >> 32), (unsigned)(yx >> s), x < y ? x : y, x < y ? y : x,
                             (int)x < (int)y ? x : y, (int)x < (int)y ? y : x, x >> 1, (unsigned)saturated(r),
                             (unsigned)saturated(trunc(v)), (unsigned)saturated(floor(v)), (unsigned)saturated(ceil(v)),
                             !(r > 0) ? 0 : r >= 4294967295.0 ? 4294967295u : (unsigned)r, bits((float)(int)x),
                             bits((float)x), bits(f[i]), x};
        for (int k = 0; k < 23; k++) wrong[k] += out[k][i] != want[k];
    }
    for (int k = 0; k < 23; k++) {
        if (wrong[k]) printf("unit_bits: function %d is wrong %u times\n", k, wrong[k]);
        CHECK(wrong[k] == 0);
    }
    NEED(cuMemFree_v2(da) || cuMemFree_v2(df));
}

static void test_atomics(void) {
    unsigned u[5] = {0, 0, 1000, 5, 0};
    int s = 0;
    unsigned long long l = 0;
    CUdeviceptr du = emu_upload(u, sizeof u), ds = emu_upload(&s, sizeof s), dl = emu_upload(&l, sizeof l);
    void *params[] = {&du, &ds, &dl};
    OK(emu_launch_1d(function("unit_atomics"), 4, 64, 0, params));
    emu_download(u, du, sizeof u), emu_download(&s, ds, sizeof s), emu_download(&l, dl, sizeof l);
    CHECK_IS(u[0], 255 * 256 / 2);
    CHECK_IS(u[1], 100);
    CHECK_IS(u[2], 5);
    CHECK_IS(u[3], 77);
    CHECK(u[4] >= 1 && u[4] <= 256); /* how far the chain of exchanges gets depends on the order */
    CHECK_IS(s, -255 * 256 / 2);
    CHECK(l == 256ull << 33);
}

int main(int argc, char **argv) {
    char sample[512], units[512];
    const char *folder = argc > 1 ? argv[1] : "tests/emulator";
    snprintf(sample, sizeof sample, "%s/sample.cu", folder);
    snprintf(units, sizeof units, "%s/units.cu", folder);
    emu_start();
    module = emu_module_of(sample, units, NULL);
    test_halves();
    if (emu_device_arch() >= 80) test_max();
    test_pack();
    test_math();
    test_bits();
    test_atomics();
    emu_stop(module);
    return emu_done("test_numbers");
}
