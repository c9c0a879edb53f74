/* test_gemm.c: the sample kernels against sums in double, at awkward sizes. Usage: test_gemm sample.cu [SIZE] */
#include <time.h>

#include "emu_test.h"

typedef struct problem {
    int m, n, k;
    float *a, *b, *c;
    uint16_t *ha, *hb;
    double *want;
    CUdeviceptr da, db, dc, dha, dhb;
} problem;

static void make(problem *p, int m, int n, int k) {
    unsigned random = (unsigned)(m * 31 + n * 7 + k);
    size_t an = (size_t)m * (size_t)k, bn = (size_t)n * (size_t)k, cn = (size_t)m * (size_t)n;
    p->m = m, p->n = n, p->k = k;
    p->a = (float *)malloc(an * sizeof(float)), p->b = (float *)malloc(bn * sizeof(float));
    p->c = (float *)malloc(cn * sizeof(float)), p->want = (double *)calloc(cn, sizeof(double));
    p->ha = (uint16_t *)malloc(an * 2), p->hb = (uint16_t *)malloc(bn * 2);
    for (size_t i = 0; i < an; i++) p->a[i] = emu_uniform(&random), p->ha[i] = emu_half_from((double)p->a[i]);
    for (size_t i = 0; i < bn; i++) p->b[i] = emu_uniform(&random), p->hb[i] = emu_half_from((double)p->b[i]);
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++)
            for (int x = 0; x < k; x++) p->want[i * n + j] += (double)p->a[i * k + x] * (double)p->b[j * k + x];
    p->da = emu_upload(p->a, an * sizeof(float)), p->db = emu_upload(p->b, bn * sizeof(float));
    p->dha = emu_upload(p->ha, an * 2), p->dhb = emu_upload(p->hb, bn * 2);
    p->dc = emu_upload(NULL, cn * sizeof(float));
}

static void drop(problem *p) {
    NEED(cuMemFree_v2(p->da) || cuMemFree_v2(p->db) || cuMemFree_v2(p->dc) || cuMemFree_v2(p->dha) ||
         cuMemFree_v2(p->dhb));
    free(p->a), free(p->b), free(p->c), free(p->ha), free(p->hb), free(p->want);
}

/* The largest difference of sums whose terms are exact in fp32, so that only the order of additions differs. */
static double difference(problem *p) {
    size_t cn = (size_t)p->m * (size_t)p->n;
    double worst = 0;
    NEED(cuMemcpyDtoH_v2(p->c, p->dc, cn * sizeof(float)));
    for (size_t i = 0; i < cn; i++) {
        double d = fabs((double)p->c[i] - p->want[i]);
        if (d > worst || d != d) worst = d; /* a NaN stays */
    }
    return worst;
}

static void forget(problem *p) { NEED(cuMemsetD8_v2(p->dc, 0xff, (size_t)p->m * (size_t)p->n * sizeof(float))); }

static void run_all(CUmodule module, int m, int n, int k) {
    problem p;
    make(&p, m, n, k);
    unsigned across = (unsigned)(n + 63) / 64, down = (unsigned)(m + 63) / 64;
    CUfunction naive = emu_function_of(module, "gemm_naive", 0), tiled = emu_function_of(module, "gemm_tiled", 8704),
               f16 = emu_function_of(module, "gemm_f16", 3 * 8192);
    void *params[] = {&p.da, &p.db, &p.dc, &m, &n, &k}, *halves[] = {&p.dha, &p.dhb, &p.dc, &m, &n, &k};
    OK(cuLaunchKernel(naive, (unsigned)(n + 15) / 16, (unsigned)(m + 15) / 16, 1, 16, 16, 1, 0, NULL, params, NULL));
    CHECK(difference(&p) < 1e-4);
    forget(&p);
    OK(cuLaunchKernel(tiled, across, down, 1, 256, 1, 1, 8704, NULL, params, NULL));
    CHECK(difference(&p) < 1e-4);
    forget(&p);
    if (k % 8 == 0) { /* gemm_f16 reads 16 bytes at a time */
        OK(cuLaunchKernel(f16, across, down, 1, 128, 1, 1, 3 * 8192, NULL, halves, NULL));
        CHECK(difference(&p) < 1e-4);
    }
    drop(&p);
}

static void norms(CUmodule module, int m, int k) {
    problem p;
    make(&p, m, 1, k);
    CUfunction f = emu_function_of(module, "row_norms", 0);
    void *params[] = {&p.da, &p.dc, &m, &k};
    OK(emu_launch_1d(f, (unsigned)(m + 3) / 4, 128, 0, params));
    NEED(cuMemcpyDtoH_v2(p.c, p.dc, (size_t)m * sizeof(float)));
    for (int i = 0; i < m; i++) {
        double sum = 0;
        for (int x = 0; x < k; x++) sum += (double)p.a[i * k + x] * (double)p.a[i * k + x];
        CHECK(fabs((double)p.c[i] - sqrt(sum)) < 1e-4);
    }
    drop(&p);
}

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Measures multiply-adds per second of each kernel. */
static void speed(CUmodule module, int size) {
    static const char *const names[] = {"gemm_naive", "gemm_tiled", "gemm_f16"};
    unsigned blocks = (unsigned)size / 64;
    problem p;
    make(&p, size, size, size);
    for (int i = 0; i < 3; i++) {
        CUfunction f = emu_function_of(module, names[i], 3 * 8192);
        void *params[] = {i == 2 ? &p.dha : &p.da, i == 2 ? &p.dhb : &p.db, &p.dc, &size, &size, &size};
        double begin = seconds();
        if (i == 0) OK(cuLaunchKernel(f, blocks * 4, blocks * 4, 1, 16, 16, 1, 0, NULL, params, NULL));
        else OK(cuLaunchKernel(f, blocks, blocks, 1, i == 1 ? 256 : 128, 1, 1, 3 * 8192, NULL, params, NULL));
        double took = seconds() - begin;
        printf("%s: %.0f M multiply-adds/s (%.3f s)\n", names[i], (double)size * size * size / took * 1e-6, took);
        CHECK(difference(&p) < 1e-3);
    }
    drop(&p);
}

int main(int argc, char **argv) {
    emu_start();
    CUmodule module = emu_module_of(NULL, argc > 1 ? argv[1] : "tests/emulator/sample.cu", NULL);
    if (argc > 2) speed(module, atoi(argv[2]));
    else {
        run_all(module, 64, 64, 64);
        run_all(module, 65, 70, 40);
        run_all(module, 1, 3, 8);
        run_all(module, 100, 130, 72);
        run_all(module, 7, 9, 33);
        norms(module, 5, 100);
    }
    emu_stop(module);
    return emu_done("test_gemm");
}
