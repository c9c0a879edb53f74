/* Demonstrates how to make a convolution fast on a GPU, step by step: tests and times the seven kernels of ladder.cu.

     cc -O2 ladder.c -o ladder -lm
     ./ladder ladder.cu [--small] [--images N]

   The default is a 3x3 convolution with 14x14 pixels, 256 to 256 channels and 32 images. Each rung is first compared
   with a sum in double and then timed. The L2 cache is emptied before every run, as in a network whose activations are
   larger than the cache. The program prints for every rung: the error, the median time in milliseconds, TFLOP/s, and
   their share of the peak of the unit that it uses, which the last kernels of ladder.cu measure.
   The program needs only the driver and NVRTC (REID_NVRTC names a libnvrtc that is not on the usual paths). On the
   emulator of tests/ it checks every rung but does not time them. */
#define _GNU_SOURCE 1
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 14, TIMED = 21, CHECKED = 20000 }; /* pixels; timed runs; outputs that are checked, at most */

/* ---- the functions of the driver and of NVRTC, declared here so that no toolkit is needed ---- */
typedef unsigned long long device_pointer;
typedef unsigned short half_t;

#define DRIVER(X)                                                                                                      \
    X(cuInit, (unsigned flags))                                                                                        \
    X(cuDeviceGet, (int *device, int ordinal))                                                                         \
    X(cuDeviceGetName, (char *name, int size, int device))                                                             \
    X(cuDeviceGetAttribute, (int *value, int attribute, int device))                                                   \
    X(cuDevicePrimaryCtxRetain, (void **context, int device))                                                          \
    X(cuDevicePrimaryCtxRelease_v2, (int device))                                                                      \
    X(cuCtxSetCurrent, (void *context))                                                                                \
    X(cuCtxSynchronize, (void))                                                                                        \
    X(cuMemAlloc_v2, (device_pointer * pointer, size_t bytes))                                                         \
    X(cuMemFree_v2, (device_pointer pointer))                                                                          \
    X(cuMemcpyHtoD_v2, (device_pointer to, const void *from, size_t bytes))                                            \
    X(cuMemcpyDtoH_v2, (void *to, device_pointer from, size_t bytes))                                                  \
    X(cuMemsetD8Async, (device_pointer to, unsigned char value, size_t bytes, void *stream))                           \
    X(cuModuleLoadData, (void **module, const void *image))                                                            \
    X(cuModuleUnload, (void *module))                                                                                  \
    X(cuModuleGetFunction, (void **function, void *module, const char *name))                                          \
    X(cuFuncSetAttribute, (void *function, int attribute, int value))                                                  \
    X(cuLaunchKernel, (void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,   \
                       unsigned shared, void *stream, void **params, void **extra))                                    \
    X(cuEventCreate, (void **event, unsigned flags))                                                                   \
    X(cuEventDestroy_v2, (void *event))                                                                                \
    X(cuEventRecord, (void *event, void *stream))                                                                      \
    X(cuEventSynchronize, (void *event))                                                                               \
    X(cuEventElapsedTime, (float *milliseconds, void *from, void *to))
#define NVRTC(X)                                                                                                       \
    X(nvrtcCreateProgram, (void **program, const char *text, const char *name, int headers, const char *const *texts,  \
                           const char *const *names))                                                                  \
    X(nvrtcCompileProgram, (void *program, int count, const char *const *options))                                     \
    X(nvrtcGetProgramLogSize, (void *program, size_t *size))                                                           \
    X(nvrtcGetProgramLog, (void *program, char *log))                                                                  \
    X(nvrtcGetCUBINSize, (void *program, size_t *size))                                                                \
    X(nvrtcGetCUBIN, (void *program, char *cubin))                                                                     \
    X(nvrtcDestroyProgram, (void **program))

#define DECLARE(name, parameters) static int(*name) parameters;
DRIVER(DECLARE)
NVRTC(DECLARE)

enum { MULTIPROCESSORS = 16, L2_BYTES = 38, MAJOR = 75, MINOR = 76, MAX_DYNAMIC_SHARED = 8 }; /* attributes */

/* What multiplies: a rung is compared with its peak. */
typedef enum unit { FFMA, MMA, WGMMA, UNITS } unit;
static const char *const UNIT_NAMES[] = {"FFMA", "mma.sync", "wgmma"};
enum { HOPPER = 90 }; /* the only chip with wgmma */

typedef struct rung {
    const char *name, *step;
    int tile_m, tile_n, threads, shared, arch; /* arch: the oldest; HOPPER: the only one */
    unit uses;
} rung;

static const rung RUNGS[] = {
    {"ladder_naive", "one thread per output", 256, 0, 256, 0, 75, FFMA}, /* tile_n 0: 256 consecutive outputs */
    {"ladder_tiled", "shared-memory tile", 16, 16, 256, 2176, 75, FFMA},
    {"ladder_registers", "4x4 outputs per thread", 64, 64, 256, 8320, 75, FFMA},
    {"ladder_vectors", "16-byte loads, two buffers", 64, 64, 256, 16384, 75, FFMA},
    {"ladder_tensor", "tensor cores, ldmatrix", 128, 64, 128, 15360, 75, MMA},
    {"ladder_async", "cp.async, 4 stages, swizzle", 128, 64, 128, 49152, 80, MMA},
    {"ladder_wgmma", "wgmma from shared memory", 128, 64, 128, 98304, HOPPER, WGMMA},
};

typedef struct problem {
    int images, channels, arch, multiprocessors;
    void *module, *context;
    half_t *in, *weights, *out;
    device_pointer d_in, d_weights, d_out, d_flush;
    size_t in_count, weight_count, out_count, flush_bytes;
} problem;

static void fail(const char *what, const char *why) {
    fprintf(stderr, "ladder: %s%s%s\n", what, why ? ": " : "", why ? why : "");
    exit(1);
}

static void need(int result, const char *call) {
    char text[64];
    snprintf(text, sizeof text, "error %d", result);
    if (result != 0) fail(call, text);
}
#define NEED(call) need(call, #call)

static void *open_library(const char *const *names, const char *what) {
    for (; *names; names++) {
        void *library = **names ? dlopen(*names, RTLD_NOW) : NULL;
        if (library) return library;
    }
    fail(what, "not found");
    return NULL;
}

/* Returns 1 on the emulator. */
static int load_libraries(void) {
    const char *given = getenv("REID_NVRTC");
    const char *const drivers[] = {"libcuda.so.1", NULL};
    const char *const compilers[] = {given ? given : "", "libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2",
                                     "/usr/local/cuda/lib64/libnvrtc.so", NULL};
    void *driver = open_library(drivers, "libcuda.so.1, which comes with the NVIDIA driver");
    void *nvrtc = open_library(compilers, "libnvrtc, NVIDIA's run-time compiler");
    void *symbol;
#define LOAD(library, name)                                  \
    symbol = dlsym(library, #name);                          \
    if (!symbol) fail(#name, "missing from the library");    \
    memcpy(&name, &symbol, sizeof symbol);
#define LOAD_DRIVER(name, parameters) LOAD(driver, name)
#define LOAD_NVRTC(name, parameters) LOAD(nvrtc, name)
    DRIVER(LOAD_DRIVER)
    NVRTC(LOAD_NVRTC)
    return dlsym(driver, "reid_emulator_reports") != NULL;
}

static char *read_file(const char *path) {
    FILE *f = fopen(path, "rb");
    char *text = (char *)malloc(1 << 20);
    size_t n = f && text ? fread(text, 1, (1 << 20) - 1, f) : 0;
    if (f) fclose(f);
    if (n == 0) fail(path, "cannot be read");
    text[n] = 0;
    return text;
}

/* Compiles the kernels for this GPU and these channels. */
static void compile(problem *p, const char *path) {
    char arch[40], side[40], inputs[40], outputs[40], *text = read_file(path);
    const char *const options[] = {arch, side, inputs, outputs, "--std=c++17"};
    void *program;
    size_t size;
    snprintf(arch, sizeof arch, "--gpu-architecture=sm_%d%s", p->arch, p->arch == HOPPER ? "a" : ""); /* a: wgmma */
    snprintf(side, sizeof side, "-DSIDE=%d", SIDE);
    snprintf(inputs, sizeof inputs, "-DINPUTS=%d", p->channels);
    snprintf(outputs, sizeof outputs, "-DOUTPUTS=%d", p->channels);
    NEED(nvrtcCreateProgram(&program, text, "ladder.cu", 0, NULL, NULL));
    int result = nvrtcCompileProgram(program, 5, options);
    NEED(nvrtcGetProgramLogSize(program, &size));
    char *log = (char *)calloc(size + 1, 1);
    NEED(nvrtcGetProgramLog(program, log));
    if (result != 0) fail("ladder.cu does not compile", log);
    NEED(nvrtcGetCUBINSize(program, &size));
    char *cubin = (char *)malloc(size);
    NEED(nvrtcGetCUBIN(program, cubin));
    NEED(cuModuleLoadData(&p->module, cubin));
    NEED(nvrtcDestroyProgram(&program));
    free(cubin), free(log), free(text);
}

/* ---- fp16 and the reference ---- */

/* Exact, because v is a multiple of 2^-13 below 2 with nine bits. */
static half_t half_of(double v) {
    int e;
    unsigned bits = (unsigned)(2048 * frexp(fabs(v), &e)); /* 1024 … 2047 */
    return (half_t)(v == 0 ? 0 : (v < 0 ? 0x8000u : 0u) | (unsigned)(e + 14) << 10 | (bits & 1023));
}

static double half_value(half_t h) {
    int e = h >> 10 & 31, m = h & 1023;
    double v = e == 31 ? (double)NAN : e ? ldexp(1024 + m, e - 25) : ldexp(m, -24);
    return h & 0x8000 ? -v : v;
}

static void fill(half_t *values, size_t count, double scale, unsigned seed) {
    for (size_t i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        values[i] = half_of(scale * ((int)(seed >> 16 & 511) - 256) / 256);
    }
}

/* Computes output n of pixel m by the definition of a convolution. */
static double reference(const problem *p, int m, int n) {
    int image = m / (SIDE * SIDE), y = m % (SIDE * SIDE) / SIDE, x = m % SIDE, c = p->channels;
    double sum = 0;
    for (int ky = 0; ky < 3; ky++)
        for (int kx = 0; kx < 3; kx++) {
            int iy = y + ky - 1, ix = x + kx - 1;
            if (iy < 0 || iy >= SIDE || ix < 0 || ix >= SIDE) continue;
            const half_t *a = p->in + (size_t)((image * SIDE + iy) * SIDE + ix) * (size_t)c;
            const half_t *b = p->weights + (size_t)(n * 9 + ky * 3 + kx) * (size_t)c;
            for (int k = 0; k < c; k++) sum += half_value(a[k]) * half_value(b[k]);
        }
    return sum;
}

/* Returns the largest error of all outputs, or of CHECKED of them, relative above 1. NaN if one was not written. */
static double compare(const problem *p) {
    size_t step = p->out_count / CHECKED + 1;
    double worst = 0;
    for (size_t i = 0; i < p->out_count; i++)
        if ((p->out[i] & 0x7c00) == 0x7c00) return (double)NAN;
    for (size_t i = 0; i < p->out_count; i += step) {
        size_t at = i + i / step % step; /* not always the same channel */
        if (at >= p->out_count) break;
        double want = reference(p, (int)(at / (size_t)p->channels), (int)(at % (size_t)p->channels));
        double error = fabs(half_value(p->out[at]) - want) / (1 + fabs(want));
        if (error > worst) worst = error;
    }
    return worst;
}

/* ---- running ---- */
static void launch(problem *p, const rung *r, void *function) {
    int pixels = p->images * SIDE * SIDE;
    unsigned gx = (unsigned)((pixels + r->tile_m - 1) / r->tile_m), gy = 1;
    void *params[] = {&p->d_in, &p->d_weights, &p->d_out, &pixels};
    if (r->tile_n) gy = (unsigned)(p->channels / r->tile_n);
    else gx = (unsigned)((p->out_count + 255) / 256);
    NEED(cuLaunchKernel(function, gx, gy, 1, (unsigned)r->threads, 1, 1, (unsigned)r->shared, NULL, params, NULL));
}

static int ascending(const void *a, const void *b) {
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

enum { PEAK_SHARED = 16384 }; /* bytes: a slice for wgmma */

/* Returns the median milliseconds of a launch; what = NULL: of a kernel that measures a peak. */
static double measure(problem *p, const rung *what, void *function, void **peak_params) {
    void *from, *to;
    float ms[TIMED];
    unsigned peak_blocks = (unsigned)p->multiprocessors * 8;
    NEED(cuEventCreate(&from, 0));
    NEED(cuEventCreate(&to, 0));
    for (int i = -3; i < TIMED; i++) { /* three to warm up */
        if (what) NEED(cuMemsetD8Async(p->d_flush, (unsigned char)i, p->flush_bytes, NULL));
        NEED(cuEventRecord(from, NULL));
        if (what) launch(p, what, function);
        else NEED(cuLaunchKernel(function, peak_blocks, 1, 1, 256, 1, 1, PEAK_SHARED, NULL, peak_params, NULL));
        NEED(cuEventRecord(to, NULL));
        NEED(cuEventSynchronize(to));
        NEED(cuEventElapsedTime(&ms[i < 0 ? 0 : i], from, to));
    }
    NEED(cuEventDestroy_v2(from));
    NEED(cuEventDestroy_v2(to));
    qsort(ms, TIMED, sizeof *ms, ascending);
    return (double)ms[TIMED / 2];
}

/* Returns the TFLOP/s of a unit. Its operands are random, because zeros would use less power. */
static double peak(problem *p, const char *name, double flops_per_warp_round) {
    float numbers[512];
    half_t halves[1024];
    int rounds = 2048;
    device_pointer d_numbers, d_out;
    void *function;
    size_t out_bytes = (size_t)p->multiprocessors * 8 * 256 * sizeof(float);
    fill(halves, 1024, 1, 7);
    for (int i = 0; i < 512; i++) numbers[i] = (float)(0.9 * half_value(halves[i]));
    NEED(cuMemAlloc_v2(&d_numbers, sizeof halves));
    NEED(cuMemAlloc_v2(&d_out, out_bytes));
    NEED(cuMemcpyHtoD_v2(d_numbers, strcmp(name, "peak_ffma") ? (void *)halves : (void *)numbers, sizeof halves));
    NEED(cuModuleGetFunction(&function, p->module, name));
    void *params[] = {&d_numbers, &d_out, &rounds};
    double ms = measure(p, NULL, function, params);
    NEED(cuMemFree_v2(d_numbers));
    NEED(cuMemFree_v2(d_out));
    return flops_per_warp_round * rounds * p->multiprocessors * 8 * 8 / ms * 1e-9;
}

/* Returns 1 if the rung is right. peaks: of the units; 0: nothing is timed. */
static int climb(problem *p, const rung *r, int number, const double peaks[UNITS]) {
    void *function;
    printf("%d  %-27s ", number, r->step);
    if (p->arch < r->arch || (r->arch == HOPPER && p->arch != HOPPER)) {
        printf("skipped: needs sm_%d, this is sm_%d\n", r->arch, p->arch);
        return 1;
    }
    NEED(cuModuleGetFunction(&function, p->module, r->name));
    NEED(cuFuncSetAttribute(function, MAX_DYNAMIC_SHARED, r->shared));
    NEED(cuMemsetD8Async(p->d_out, 0xff, p->out_count * sizeof *p->out, NULL)); /* NaN shows unwritten outputs */
    launch(p, r, function);
    NEED(cuCtxSynchronize());
    NEED(cuMemcpyDtoH_v2(p->out, p->d_out, p->out_count * sizeof *p->out));
    double error = compare(p), limit = 1e-3; /* fp16 outputs round by 5e-4 */
    if (!(error <= limit)) {
        printf("WRONG: an error of %g, the limit is %g\n", error, limit);
        return 0;
    }
    printf("%.1e", error);
    if (peaks[FFMA] > 0) {
        double ms = measure(p, r, function, NULL);
        double tflops = 2e-9 * (double)p->out_count * 9 * p->channels / ms;
        printf("  %8.4f  %8.2f  %5.1f %% of %s", ms, tflops, 100 * tflops / peaks[r->uses], UNIT_NAMES[r->uses]);
    }
    putchar('\n');
    return 1;
}

static void open_problem(problem *p, const char *path, char name[100]) {
    int device, major, minor, l2;
    NEED(cuInit(0));
    NEED(cuDeviceGet(&device, 0));
    NEED(cuDeviceGetName(name, 100, device));
    NEED(cuDeviceGetAttribute(&major, MAJOR, device));
    NEED(cuDeviceGetAttribute(&minor, MINOR, device));
    NEED(cuDeviceGetAttribute(&p->multiprocessors, MULTIPROCESSORS, device));
    NEED(cuDeviceGetAttribute(&l2, L2_BYTES, device));
    NEED(cuDevicePrimaryCtxRetain(&p->context, device));
    NEED(cuCtxSetCurrent(p->context));
    p->arch = major * 10 + minor;
    compile(p, path);
    size_t c = (size_t)p->channels;
    p->in_count = p->out_count = (size_t)p->images * SIDE * SIDE * c;
    p->weight_count = c * 9 * c;
    p->flush_bytes = 2 * (size_t)l2 + 1024;
    p->in = (half_t *)malloc(p->in_count * 2);
    p->weights = (half_t *)malloc(p->weight_count * 2);
    p->out = (half_t *)malloc(p->out_count * 2);
    if (!p->in || !p->weights || !p->out) fail("out of memory", NULL);
    fill(p->in, p->in_count, 1, 1);
    fill(p->weights, p->weight_count, 1.0 / 32, 2);
    NEED(cuMemAlloc_v2(&p->d_in, p->in_count * 2));
    NEED(cuMemAlloc_v2(&p->d_weights, p->weight_count * 2));
    NEED(cuMemAlloc_v2(&p->d_out, p->out_count * 2));
    NEED(cuMemAlloc_v2(&p->d_flush, p->flush_bytes));
    NEED(cuMemcpyHtoD_v2(p->d_in, p->in, p->in_count * 2));
    NEED(cuMemcpyHtoD_v2(p->d_weights, p->weights, p->weight_count * 2));
}

static void close_problem(problem *p) {
    NEED(cuMemFree_v2(p->d_in));
    NEED(cuMemFree_v2(p->d_weights));
    NEED(cuMemFree_v2(p->d_out));
    NEED(cuMemFree_v2(p->d_flush));
    NEED(cuModuleUnload(p->module));
    NEED(cuCtxSetCurrent(NULL));
    NEED(cuDevicePrimaryCtxRelease_v2(0));
    free(p->in), free(p->weights), free(p->out);
}

int main(int argc, char **argv) {
    problem p;
    const char *path = NULL;
    char name[100], rest;
    double peaks[UNITS] = {0, 0, 0};
    int right = 0, given, rungs = (int)(sizeof RUNGS / sizeof *RUNGS);
    memset(&p, 0, sizeof p);
    p.images = 32, p.channels = 256;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--small") == 0) p.images = 1, p.channels = 64;
        else if (i + 1 < argc && strcmp(argv[i], "--images") == 0)
            p.images = sscanf(argv[++i], "%d%c", &given, &rest) == 1 ? given : 0;
        else if (argv[i][0] != '-' && !path) path = argv[i];
        else argc = 0;
    }
    if (argc == 0 || !path || p.images < 1 || p.images > 1024) {
        fprintf(stderr, "usage: %s LADDER.cu [--small] [--images 1...1024]\n", argv[0]);
        return 2;
    }
    int emulated = load_libraries();
    open_problem(&p, path, name);
    printf("%s, sm_%d: 3x3 convolution, %d x %dx%dx%d to %d channels, %.2f GFLOP\n", name, p.arch, p.images, SIDE, SIDE,
           p.channels, p.channels, 2e-9 * (double)p.out_count * 9 * p.channels);
    if (emulated) {
        puts("This is the emulator, where times mean nothing, so none are printed.");
        puts("   rung                        error");
    } else {
        peaks[FFMA] = peak(&p, "peak_ffma", 32 * 16 * 2);
        peaks[MMA] = peak(&p, "peak_mma", 16 * 2 * 16 * 8 * 16);
        if (p.arch == HOPPER) peaks[WGMMA] = peak(&p, "peak_wgmma", 2 * 128 * 64 * 64 / 4);
        printf("measured peaks, TFLOP/s:");
        for (int i = 0; i < UNITS && peaks[i] > 0; i++) printf("%s %s %.1f", i ? "," : "", UNIT_NAMES[i], peaks[i]);
        putchar('\n');
        puts("   rung                        error          ms   TFLOP/s  share of the peak");
    }
    for (int i = 0; i < rungs; i++) right += climb(&p, &RUNGS[i], i + 1, peaks);
    close_problem(&p);
    return right != rungs;
}
