/* families.cu: whether the ways to multiply fp16 matrices (bf16 with -DVALUE_BF16) with fp32 sums give the same bits.

     nvcc -O2 -std=c++17 -gencode arch=compute_90a,code=sm_90a -DSM90A families.cu -o families      (Hopper)
     nvcc -O2 -std=c++17 -arch=sm_80 families.cu -o families                                        (from sm_80 on)
     ./families > families.json

   The same 64 x 256 dot products are computed by every family as one chain in the order of K. JSON goes to stdout: for
   every kind of numbers, every K and every pair of families, whether all bits are equal, how many outputs differ and by
   how many units in the last place at most; and every family's largest error compared with double, in 2^-24 of the sum
   of the products' magnitudes. A summary goes to stderr. The predicted families come from tensor_sum.h. A library that
   promises the same bits for every batch may change the family with the batch only if the bits are equal. */
#include "measure.h"

#include <cmath>
#include <cstdint>
#include <string>

#include "../../tests/emulator/tensor_sum.h"
#ifdef SM90A
#include "wgmma.h"
#endif

enum { M = 64, N = 256 };
typedef unsigned short half_t;

/* The number type: fraction bits, exponent bias. */
#ifdef VALUE_BF16
#define HALF "bf16"
enum { BRAIN = 1, DIGITS = 7, BIAS = 127, LEAST = TENSOR_LEAST_BF16 };
#else
#define HALF "f16"
enum { BRAIN = 0, DIGITS = 10, BIAS = 15, LEAST = TENSOR_LEAST_F16 };
#endif

/* ---- the families: c (M, N) = a (M, k) times the transpose of b (N, k) ---- */
__device__ static float value_of(half_t h) {
#ifdef VALUE_BF16
    return __uint_as_float((unsigned)h << 16);
#else
    float f;
    asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(h));
    return f;
#endif
}

__global__ void by_fma(const half_t *a, const half_t *b, float *c, int k) {
    int m = blockIdx.x, n = threadIdx.x;
    float sum = 0;
    for (int i = 0; i < k; i++) sum = fmaf(value_of(a[m * k + i]), value_of(b[n * k + i]), sum);
    c[m * N + n] = sum;
}

/* Products of halves are exact in double; their sum is rounded to fp32 once. */
__global__ void by_double(const half_t *a, const half_t *b, float *c, int k) {
    int m = blockIdx.x, n = threadIdx.x;
    double sum = 0;
    for (int i = 0; i < k; i++) sum += (double)value_of(a[m * k + i]) * value_of(b[n * k + i]);
    c[m * N + n] = (float)sum;
}

__device__ static unsigned pair_at(const half_t *x, int k, int row, int column) {
    return *(const unsigned *)(x + row * k + column);
}

__device__ static void mma_k8(float d[4], unsigned a0, unsigned a1, unsigned b0) {
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32." HALF "." HALF ".f32 "
                 "{%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a0), "r"(a1), "r"(b0));
}

__device__ static void mma_k16(float d[4], const unsigned a[4], const unsigned b[2]) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." HALF "." HALF ".f32 "
                 "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

/* One warp computes 16 rows of x times 8 rows of y. Fragments come straight from memory: lane 4 g + t has rows g and
   g + 8 of x, row g of y, columns 2 t and 2 t + 1. */
template <int depth> __device__ static void mma_tile(const half_t *x, const half_t *y, int k, int row0, int column0,
                                                     float d[4]) {
    int g = threadIdx.x / 4, t = threadIdx.x % 4 * 2;
    for (int i = 0; i < k; i += 16) {
        const unsigned a[4] = {pair_at(x, k, row0 + g, i + t), pair_at(x, k, row0 + g + 8, i + t),
                               pair_at(x, k, row0 + g, i + t + 8), pair_at(x, k, row0 + g + 8, i + t + 8)};
        const unsigned b[2] = {pair_at(y, k, column0 + g, i + t), pair_at(y, k, column0 + g, i + t + 8)};
        if (depth == 16) {
            mma_k16(d, a, b);
        } else {
            mma_k8(d, a[0], a[1], b[0]);
            mma_k8(d, a[2], a[3], b[1]);
        }
    }
}

template <int depth> __global__ void by_mma(const half_t *a, const half_t *b, float *c, int k) {
    int row0 = blockIdx.x * 16, column0 = blockIdx.y * 8, g = threadIdx.x / 4, t = threadIdx.x % 4 * 2;
    float d[4] = {0, 0, 0, 0};
    mma_tile<depth>(a, b, k, row0, column0, d);
    for (int i = 0; i < 4; i++) c[(row0 + g + i / 2 * 8) * N + column0 + t + i % 2] = d[i];
}

template <int depth> __global__ void by_swapped_mma(const half_t *a, const half_t *b, float *c, int k) {
    int row0 = blockIdx.x * 16, column0 = blockIdx.y * 8, g = threadIdx.x / 4, t = threadIdx.x % 4 * 2;
    float d[4] = {0, 0, 0, 0};
    mma_tile<depth>(b, a, k, row0, column0, d); /* rows are n, columns are m */
    for (int i = 0; i < 4; i++) c[(column0 + t + i % 2) * N + row0 + g + i / 2 * 8] = d[i];
}

#ifdef SM90A
/* rows x 16 halves as core matrices: 8 rows of 16 bytes each; the two along K are adjacent. */
__device__ static void put_slice(unsigned char *to, const half_t *x, int k, int row0, int rows, int k0) {
    for (int i = threadIdx.x; i < rows * 2; i += blockDim.x) {
        int row = i / 2, piece = i % 2;
        *(uint4 *)(to + row / 8 * 256 + piece * 128 + row % 8 * 16) =
            *(const uint4 *)(x + (row0 + row) * k + k0 + piece * 8);
    }
}

/* A warpgroup multiplies 64 rows of x by n rows of y. */
template <int n, bool registers> __device__ static void wgmma_tile(const half_t *x, const half_t *y, int k, int row0,
                                                                   int column0, float *d) {
    __shared__ __align__(1024) unsigned char a_slice[64 * 32], b_slice[n * 32];
    int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4 * 2, row = row0 + threadIdx.x / 32 * 16 + g;
    descriptor a_at = describe((unsigned)__cvta_generic_to_shared(a_slice), 128, 256, false);
    descriptor b_at = describe((unsigned)__cvta_generic_to_shared(b_slice), 128, 256, false);
    for (int i = 0; i < k; i += 16) {
        const unsigned a[4] = {pair_at(x, k, row, i + t), pair_at(x, k, row + 8, i + t), pair_at(x, k, row, i + t + 8),
                               pair_at(x, k, row + 8, i + t + 8)};
        put_slice(a_slice, x, k, row0, 64, i);
        put_slice(b_slice, y, k, column0, n, i);
        fence_async_proxy();
        __syncthreads();
        wgmma_fence();
        if (registers) wgmma<n, BRAIN>::from_registers(d, a, b_at);
        else wgmma<n, BRAIN>::from_shared(d, a_at, b_at);
        wgmma_commit();
        wgmma_wait<0>();
        __syncthreads();
    }
}

template <int n, bool registers> __global__ void __launch_bounds__(128)
by_wgmma(const half_t *a, const half_t *b, float *c, int k) {
    float d[n / 2];
#pragma unroll
    for (int i = 0; i < n / 2; i++) d[i] = 0;
    wgmma_tile<n, registers>(a, b, k, 0, blockIdx.x * n, d);
#pragma unroll
    for (int i = 0; i < n / 2; i++) {
        int row = threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4 + i % 4 / 2 * 8;
        c[row * N + blockIdx.x * n + i / 4 * 8 + threadIdx.x % 4 * 2 + i % 2] = d[i];
    }
}

__global__ void __launch_bounds__(128) by_swapped_wgmma(const half_t *a, const half_t *b, float *c, int k) {
    float d[32];
#pragma unroll
    for (int i = 0; i < 32; i++) d[i] = 0;
    wgmma_tile<64, false>(b, a, k, blockIdx.x * 64, 0, d);
#pragma unroll
    for (int i = 0; i < 32; i++) {
        int row = blockIdx.x * 64 + threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4 + i % 4 / 2 * 8;
        c[(i / 4 * 8 + threadIdx.x % 4 * 2 + i % 2) * N + row] = d[i];
    }
}
#endif

struct family {
    const char *name;
    void (*kernel)(const half_t *a, const half_t *b, float *c, int k); /* NULL: `predicted`, on the CPU */
    dim3 grid;
    int threads; /* of predicted families: K of the instruction */
};

static const family FAMILIES[] = {
    {"double", by_double, dim3(M), N},
    {"fma chain", by_fma, dim3(M), N},
    {"predicted k8", NULL, dim3(1), 8},
    {"predicted k16", NULL, dim3(1), 16},
    {"mma m16n8k8", by_mma<8>, dim3(M / 16, N / 8), 32},
    {"mma m16n8k16", by_mma<16>, dim3(M / 16, N / 8), 32},
    {"mma m16n8k8 swapped", by_swapped_mma<8>, dim3(N / 16, M / 8), 32},
    {"mma m16n8k16 swapped", by_swapped_mma<16>, dim3(N / 16, M / 8), 32},
#ifdef SM90A
    {"wgmma m64n64k16", by_wgmma<64, false>, dim3(N / 64), 128},
    {"wgmma m64n128k16", by_wgmma<128, false>, dim3(N / 128), 128},
    {"wgmma m64n256k16", by_wgmma<256, false>, dim3(N / 256), 128},
    {"wgmma m64n64k16 A in registers", by_wgmma<64, true>, dim3(N / 64), 128},
    {"wgmma m64n128k16 A in registers", by_wgmma<128, true>, dim3(N / 128), 128},
    {"wgmma m64n256k16 A in registers", by_wgmma<256, true>, dim3(N / 256), 128},
    {"wgmma m64n64k16 swapped", by_swapped_wgmma, dim3(N / 64), 128},
#endif
};
enum { COUNT = sizeof FAMILIES / sizeof FAMILIES[0] };

/* ---- numbers ---- */
static const char *const KINDS[] = {"uniform", "cancelling", "wide", "activations"};
static const int DEPTHS[] = {16, 32, 64, 160, 576, 1152, 2304, 4608};

static double uniform(uint64_t *state) { /* -1 … 1 */
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(int64_t)*state * (1.0 / 9223372036854775808.0);
}

static half_t half_of(double v) { /* to nearest even, of normal numbers; smaller ones become zero */
    int e;
    double m = std::frexp(std::fabs(v), &e);
    unsigned bits = (unsigned)std::nearbyint(m * (2 << DIGITS));
    if (bits == 2u << DIGITS) bits = 1u << DIGITS, e++;
    if (m == 0 || e < 2 - BIAS) return 0;
    return (half_t)((v < 0 ? 0x8000u : 0u) | (unsigned)(e + BIAS - 1) << DIGITS | (bits & ((1u << DIGITS) - 1)));
}

static double half_value(half_t h) {
    int e = (h & 0x7fff) >> DIGITS, m = h & ((1 << DIGITS) - 1);
    double v = e ? std::ldexp((1 << DIGITS) + m, e - BIAS - DIGITS) : std::ldexp(m, 1 - BIAS - DIGITS);
    return h & 0x8000 ? -v : v;
}

static void draw(int kind, int k, std::vector<half_t> &a, std::vector<half_t> &b) {
    uint64_t state = (uint64_t)(kind * 10000 + k + 1);
    a.resize((size_t)M * k), b.resize((size_t)N * k);
    for (std::vector<half_t> *x : {&a, &b})
        for (size_t i = 0; i < x->size(); i++) {
            double v = uniform(&state);
            if (kind == 1 && i % 2 && uniform(&state) < 0.5) { /* with the element before it: a b - a b */
                (*x)[i] = (half_t)((*x)[i - 1] ^ (x == &b ? 0x8000 : 0));
                continue;
            }
            if (kind == 2) v = std::ldexp(v, (int)(8 * uniform(&state)) - 2);
            if (kind == 3) v = x == &a ? (v < 0 ? 0 : 4 * v) : 0.05 * v; /* after a ReLU; weights */
            (*x)[i] = half_of(v);
        }
}

/* ---- comparison ---- */
static int64_t ordered(float x) { /* neighbouring floats are neighbouring numbers */
    int32_t bits;
    memcpy(&bits, &x, 4);
    return bits < 0 ? -(int64_t)(bits & 0x7fffffff) : bits;
}

struct difference {
    long outputs, units;
};

static difference compare(const std::vector<float> &x, const std::vector<float> &y) {
    difference d = {0, 0};
    for (size_t i = 0; i < x.size(); i++) {
        if (memcmp(&x[i], &y[i], 4) == 0) continue;
        d.outputs++;
        d.units = std::max(d.units, (long)std::llabs(ordered(x[i]) - ordered(y[i])));
    }
    return d;
}

/* The largest error in 2^-24 of the sum of |a b|: 1 is half a unit in the last place of that sum. */
static double error_of(const std::vector<float> &c, const std::vector<half_t> &a, const std::vector<half_t> &b, int k) {
    double worst = 0;
    for (int m = 0; m < M; m++)
        for (int n = 0; n < N; n += 16) { /* a sixteenth is enough */
            double sum = 0, magnitude = 0;
            for (int i = 0; i < k; i++) {
                double p = half_value(a[(size_t)m * k + i]) * half_value(b[(size_t)n * k + i]);
                sum += p, magnitude += std::fabs(p);
            }
            double error = std::fabs(c[(size_t)m * N + n] - sum) / (magnitude + 1e-300) * 16777216;
            if (error > worst || error != error) worst = error; /* a NaN stays */
        }
    return worst;
}

/* Predicts the sums of the chip's tensor cores, for instructions of this K. */
static void predicted(const gpu &g, const std::vector<half_t> &a, const std::vector<half_t> &b, float *c, int k,
                      int each) {
    std::vector<float> x(a.size()), y(b.size());
    const int arch = g.major * 10 + g.minor, terms = tensor_terms(arch, each), bits = tensor_bits(arch);
    for (size_t i = 0; i < a.size(); i++) x[i] = (float)half_value(a[i]);
    for (size_t i = 0; i < b.size(); i++) y[i] = (float)half_value(b[i]);
    for (int m = 0; m < M; m++)
        for (int n = 0; n < N; n++) {
            float sum = 0;
            for (int i = 0; i < k; i += terms)
                sum = tensor_sum(sum, &x[(size_t)m * k + i], &y[(size_t)n * k + i], 1, terms, LEAST, bits);
            c[m * N + n] = sum;
        }
}

static difference totals[COUNT][COUNT];
static double worst_errors[COUNT];
static int wrong;

static void one_case(const gpu &g, int kind, int k, const char *separator) {
    std::vector<half_t> a, b;
    std::vector<float> c[COUNT];
    half_t *d_a, *d_b;
    float *d_c;
    draw(kind, k, a, b);
    CHECK(cudaMalloc(&d_a, a.size() * 2));
    CHECK(cudaMalloc(&d_b, b.size() * 2));
    CHECK(cudaMalloc(&d_c, M * N * sizeof(float)));
    CHECK(cudaMemcpy(d_a, a.data(), a.size() * 2, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(d_b, b.data(), b.size() * 2, cudaMemcpyHostToDevice));
    printf("%s    {\"numbers\": \"%s\", \"k\": %d, \"errors\": [", separator, KINDS[kind], k);
    for (int f = 0; f < COUNT; f++) {
        c[f].resize(M * N);
        CHECK(cudaMemset(d_c, 0xff, M * N * sizeof(float))); /* NaN shows outputs that were not written */
        if (FAMILIES[f].kernel) {
            FAMILIES[f].kernel<<<FAMILIES[f].grid, FAMILIES[f].threads>>>(d_a, d_b, d_c, k);
            CHECK(cudaGetLastError());
            CHECK(cudaMemcpy(c[f].data(), d_c, M * N * sizeof(float), cudaMemcpyDeviceToHost));
        } else {
            predicted(g, a, b, c[f].data(), k, FAMILIES[f].threads);
        }
        double error = error_of(c[f], a, b, k);
        if (error > worst_errors[f] || error != error) worst_errors[f] = error;
        if (!(error <= 16 + k)) wrong++; /* far more than any order of summing gives: a wrong program, not rounding */
        printf("%s%.4g", f ? ", " : "", std::isfinite(error) ? error : -1.0);
    }
    printf("], \"pairs\": [");
    for (int i = 0; i < COUNT; i++)
        for (int j = i + 1; j < COUNT; j++) {
            difference d = compare(c[i], c[j]);
            totals[i][j].outputs += d.outputs;
            totals[i][j].units = std::max(totals[i][j].units, d.units);
            printf("%s[%d, %d, %s, %ld, %ld]", i || j > 1 ? ", " : "", i, j, d.outputs ? "false" : "true", d.outputs,
                   d.units);
        }
    printf("]}");
    CHECK(cudaFree(d_a));
    CHECK(cudaFree(d_b));
    CHECK(cudaFree(d_c));
}

static void summary(long outputs) {
    fprintf(stderr, "%-34s %10s  equal bits with\n", "family", "error");
    for (int i = 0; i < COUNT; i++) {
        fprintf(stderr, "%2d %-31s %10.3g ", i, FAMILIES[i].name, worst_errors[i]);
        for (int j = 0; j < COUNT; j++)
            if (i != j && totals[std::min(i, j)][std::max(i, j)].outputs == 0) fprintf(stderr, " %d", j);
        fputc('\n', stderr);
    }
    fprintf(stderr, "pairs that differ, of %ld outputs:\n", outputs);
    for (int i = 1; i < COUNT; i++)
        for (int j = i + 1; j < COUNT; j++)
            if (totals[i][j].outputs)
                fprintf(stderr, "  %-31s %-31s %8ld, at most %ld units\n", FAMILIES[i].name, FAMILIES[j].name,
                        totals[i][j].outputs, totals[i][j].units);
}

int main() {
    gpu g = open_gpu();
    int kinds = sizeof KINDS / sizeof KINDS[0], depths = sizeof DEPTHS / sizeof DEPTHS[0];
    printf("{\n  \"chip\": \"%s\", \"arch\": \"sm_%d%d\", \"type\": \"" HALF "\",\n  \"families\": [", g.name, g.major,
           g.minor);
    for (int f = 0; f < COUNT; f++) printf("%s\"%s\"", f ? ", " : "", FAMILIES[f].name);
    printf("],\n  \"pair\": [\"family\", \"family\", \"equal bits\", \"differing outputs\", \"most units in the last "
           "place\"],\n  \"outputs\": %d,\n  \"cases\": [\n", M * N);
    for (int kind = 0; kind < kinds; kind++)
        for (int i = 0; i < depths; i++) one_case(g, kind, DEPTHS[i], kind || i ? ",\n" : "");
    printf("\n  ],\n  \"wrong\": %d\n}\n", wrong);
    summary((long)M * N * kinds * depths);
    if (wrong) fprintf(stderr, "%d results are not sums of these products: an operand layout is wrong\n", wrong);
    return wrong != 0;
}
