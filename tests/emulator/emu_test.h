/* emu_test.h: what the emulator's tests share. A failed check is printed and counted; main returns emu_done(). */
#ifndef EMU_TEST_H
#define EMU_TEST_H

#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cuda_api.h"

#define EMU_TEST_FN static __attribute__((unused))

static int emu_failures, emu_passes;

/* With -DREAL_GPU the same tests run on a GPU, which lacks these functions of the emulator. */
#ifdef REAL_GPU
size_t reid_emulator_live(void) { return 0; }
const char *reid_emulator_live_text(void) { return ""; }
const char *reid_emulator_report(void) { return "no report: this is a GPU"; }
enum { EMU_REAL = 1 };
#else
enum { EMU_REAL = 0 };
#endif

/* Tensor cores do not add one product after the other, as the emulator does unless REID_EMULATOR_SUMS makes it add like
   them (tensor_sum.h). */
EMU_TEST_FN int emu_adds_in_chains(void) {
    const char *sums = getenv("REID_EMULATOR_SUMS");
    return !EMU_REAL && (!sums || strcmp(sums, "tensor") != 0);
}

/* A GPU's approximate functions and its powf have errors that the emulator's do not have. */
EMU_TEST_FN double emu_loosened(double limit) { return EMU_REAL ? 4 * limit : limit; }

/* ---- cases: a test's operations and tiles, for tools/gpu/each_case.c, which runs each in its own process ---- */
static int emu_cases;

/* With EMU_LIST in the environment every case is named and none is run. */
EMU_TEST_FN int emu_listing(void) { return getenv("EMU_LIST") != NULL; }

/* Whether this run's halves are bf16: HALVES=bf16 in the environment. */
EMU_TEST_FN int emu_bf16(void) {
    static int is = -1;
    const char *halves = getenv("HALVES");
    if (is < 0) is = halves && strcmp(halves, "bf16") == 0;
    return is;
}

/* The name of the half type in names of cases. */
EMU_TEST_FN const char *emu_halves(void) { return emu_bf16() ? "bf16" : "f16"; }

/* Whether to run this case. All run, unless EMU_CASE is the number of the only one; a run in bf16 has only those with
   bf16 in their names, as the others would not differ. Make a case's operands after this check. */
EMU_TEST_FN __attribute__((format(printf, 1, 2))) int emu_case(const char *format, ...) {
    const char *only = getenv("EMU_CASE");
    int number = emu_cases++;
    char name[256];
    va_list more;
    va_start(more, format);
    vsnprintf(name, sizeof name, format, more);
    va_end(more);
    if (emu_bf16() && !strstr(name, "bf16")) return 0;
    if (emu_listing()) printf("case %d %s\n", number, name);
    return !emu_listing() && (!only || atoi(only) == number);
}

/* EMU_FIRST=1, for planted bugs, stops at the first failed check. */
EMU_TEST_FN void emu_failed(void) {
    emu_failures++;
    if (getenv("EMU_FIRST")) exit(1);
}

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (condition) emu_passes++;                                                                                   \
        else printf("%s:%d: failed: %s\n", __FILE__, __LINE__, #condition), emu_failed();                              \
    } while (0)
#define CHECK_IS(call, expected)                                                                                       \
    do {                                                                                                               \
        int is_ = (int)(call), want_ = (int)(expected);                                                                \
        if (is_ == want_) emu_passes++;                                                                                \
        else printf("%s:%d: %s is %d, not %d\n", __FILE__, __LINE__, #call, is_, want_), emu_failed();                 \
    } while (0)
#define OK(call) CHECK_IS(call, 0)
/* A test cannot go on without this. */
#define NEED(call)                                                                                                     \
    do {                                                                                                               \
        int is_ = (int)(call);                                                                                         \
        if (is_ == 0) break;                                                                                           \
        printf("%s:%d: %s is %d: %s\n", __FILE__, __LINE__, #call, is_, reid_emulator_report());                       \
        exit(1);                                                                                                       \
    } while (0)

EMU_TEST_FN int emu_done(const char *name) {
    printf("%s: %d checks passed, %d failed\n", name, emu_passes, emu_failures);
    return emu_failures != 0;
}

/* ---- a device ---- */
static CUcontext emu_test_context;

EMU_TEST_FN void emu_start(void) {
    NEED(cuInit(0));
    NEED(cuDevicePrimaryCtxRetain(&emu_test_context, 0));
    NEED(cuCtxPushCurrent_v2(emu_test_context));
}

/* ---- kernels ---- */
EMU_TEST_FN char *emu_read_file(const char *path) {
    FILE *f = fopen(path, "rb");
    if (!f) {
        perror(path);
        exit(1);
    }
    fseek(f, 0, SEEK_END);
    size_t size = (size_t)ftell(f);
    rewind(f);
    char *text = (char *)malloc(size + 1);
    if (!text || fread(text, 1, size, f) != size) exit(1);
    text[size] = 0;
    fclose(f);
    return text;
}

/* Works without cuInit. */
EMU_TEST_FN int emu_device_arch(void) {
    const char *arch = getenv("REID_EMULATOR_ARCH");
    return arch ? atoi(arch) : 90;
}

/* Compiles for the device, with one more option (or NULL). The cubin is malloc'ed; on failure the log is printed. */
EMU_TEST_FN nvrtcResult emu_compile(const char *text, const char *name, const char *option, char **cubin) {
    char arch[48], *log;
    const char *options[2] = {arch, option};
    nvrtcProgram program;
    size_t size = 0;
    snprintf(arch, sizeof arch, "--gpu-architecture=sm_%d%s", emu_device_arch(), emu_device_arch() == 90 ? "a" : "");
    NEED(nvrtcCreateProgram(&program, text, name, 0, NULL, NULL));
    nvrtcResult r = nvrtcCompileProgram(program, option ? 2 : 1, options);
    NEED(nvrtcGetProgramLogSize(program, &size));
    log = (char *)malloc(size);
    NEED(!log || nvrtcGetProgramLog(program, log));
    if (r) printf("%s: %s", nvrtcGetErrorString(r), log);
    free(log);
    *cubin = NULL;
    if (!r) {
        NEED(nvrtcGetCUBINSize(program, &size));
        *cubin = (char *)malloc(size);
        NEED(!*cubin || nvrtcGetCUBIN(program, *cubin));
    }
    NEED(nvrtcDestroyProgram(&program));
    return r;
}

/* path: the kernel file; before: a file whose text goes in front (for its PTX wrappers), or NULL. malloc'ed. */
EMU_TEST_FN char *emu_cubin_of(const char *before, const char *path, const char *option) {
    char *first = before ? emu_read_file(before) : NULL, *last = emu_read_file(path), *cubin;
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    size_t size = (first ? strlen(first) : 0) + strlen(last) + strlen(name) + 32;
    char *text = (char *)malloc(size);
    if (!text) exit(1);
    if (first) snprintf(text, size, "%s#line 1 \"%s\"\n%s", first, name, last);
    else snprintf(text, size, "%s", last);
    NEED(emu_compile(text, name, option, &cubin));
    free(first), free(last), free(text);
    return cubin;
}

EMU_TEST_FN CUmodule emu_module_of(const char *before, const char *path, const char *option) {
    CUmodule module;
    char *cubin = emu_cubin_of(before, path, option);
    NEED(cuModuleLoadData(&module, cubin));
    free(cubin);
    return module;
}

/* Releases everything; an object still alive is a leak of the emulator or of the test. */
EMU_TEST_FN void emu_stop(CUmodule module) {
    if (module) OK(cuModuleUnload(module));
    OK(cuCtxPopCurrent_v2(NULL));
    OK(cuDevicePrimaryCtxRelease_v2(0));
    if (reid_emulator_live()) printf("alive: %s\n", reid_emulator_live_text());
    CHECK_IS(reid_emulator_live(), 0);
}

EMU_TEST_FN CUfunction emu_function_of(CUmodule module, const char *name, unsigned shared) {
    CUfunction f;
    NEED(cuModuleGetFunction(&f, module, name));
    NEED(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)shared));
    return f;
}

/* Launches on the legacy stream, which runs at once. */
EMU_TEST_FN CUresult emu_launch_1d(CUfunction f, unsigned blocks, unsigned threads, unsigned shared, void **params) {
    return cuLaunchKernel(f, blocks, 1, 1, threads, 1, 1, shared, NULL, params, NULL);
}

EMU_TEST_FN void emu_download(void *to, CUdeviceptr from, size_t bytes) {
    NEED(cuMemcpyDtoH_v2(to, from, bytes));
    NEED(cuMemFree_v2(from));
}

EMU_TEST_FN CUdeviceptr emu_upload(const void *data, size_t bytes) {
    CUdeviceptr p;
    NEED(cuMemAlloc_v2(&p, bytes));
    if (data) NEED(cuMemcpyHtoD_v2(p, data, bytes));
    return p;
}

/* ---- planted bugs ---- */

/* Runs it in its own process. Returns how that ended; `said` receives its stderr. */
EMU_TEST_FN int emu_in_child(int (*run)(const char *name, const char *cubin), const char *name, const char *cubin,
                             char *said, size_t size) {
    int ends[2], status = 0;
    size_t used = 0;
    ssize_t n;
    fflush(stdout);
    if (pipe(ends)) exit(1);
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], 2);
        close(ends[0]), close(ends[1]);
        _exit(run(name, cubin));
    }
    close(ends[1]);
    while ((n = read(ends[0], said + used, size - 1 - used)) > 0) used += (size_t)n;
    said[used] = 0;
    close(ends[0]);
    waitpid(child, &status, 0);
    return status;
}

#define OUTPUT "the output is wrong" /* nothing is reported, but a comparison with the right result fails */

/* The expected report, in plain and AddressSanitizer mode, and in check mode: a text, or, depending on the order of
   events, the one after '|'. "right": no report. NULL: this mode cannot notice it. */
typedef struct emu_bug {
    const char *name, *plain, *check;
} emu_bug;

EMU_TEST_FN void emu_find_bugs(int (*run)(const char *name, const char *cubin), const emu_bug *bugs, size_t count,
                               const char *cubin) {
    const char *check = getenv("REID_EMULATOR_CHECK");
    for (const emu_bug *b = bugs; b < bugs + count; b++) {
        const char *want = check && *check == '1' ? b->check : b->plain;
        char said[16384], words[160], *other;
        if (!want) continue;
        int status = emu_in_child(run, b->name, cubin, said, sizeof said);
        snprintf(words, sizeof words, "%s", want);
        if ((other = strchr(words, '|')) != NULL) *other++ = 0;
        int noticed = strstr(said, words) || (other && strstr(said, other));
        noticed = noticed && (status != 0) == (strcmp(want, "right") != 0);
        if (strncmp(said, "reid emulator: kernel ", 22) == 0) /* the thread; a missing wait concerns the whole launch */
            noticed = noticed && strncmp(said + 22, b->name, strcspn(b->name, "_")) == 0 &&
                      (strstr(said, "block (") || strstr(said, "without griddepcontrol.wait"));
        if (!noticed) printf("%s: wanted \"%s\", got (status %d): %s\n", b->name, want, status, said);
        CHECK(noticed);
    }
}

/* The kernels of a test of Hopper's instructions, in the test's folder, after their wrappers. */
EMU_TEST_FN char *emu_hopper_cubin(int argc, char **argv, const char *file) {
    char wrappers[512], path[512];
    const char *folder = argc > 1 ? argv[1] : "tests/emulator";
    snprintf(wrappers, sizeof wrappers, "%s/hopper.cuh", folder);
    snprintf(path, sizeof path, "%s/%s", folder, file);
    return emu_cubin_of(wrappers, path, NULL);
}

/* ---- numbers ---- */
EMU_TEST_FN unsigned emu_next_random(unsigned *state) { return (*state = *state * 1664525u + 1013904223u) >> 8; }
EMU_TEST_FN float emu_uniform(unsigned *state) { /* -1 to 1, in steps that fp16 holds exactly */
    return ((float)(emu_next_random(state) % 1025) - 512.0f) / 512.0f;
}

/* A bound on the error of rounding to halves, given for fp16's 11 bits; bf16 has 8. */
EMU_TEST_FN double emu_half_bound(double bound) { return emu_bf16() ? 8 * bound : bound; }

/* The value of a half. */
EMU_TEST_FN double emu_half_value(uint16_t h) {
    const int bits = emu_bf16() ? 7 : 10, bias = emu_bf16() ? 127 : 15; /* digits after the point */
    int exponent = (h & 0x7fff) >> bits, fraction = h & ((1 << bits) - 1);
    double v = exponent == 2 * bias + 1 ? (fraction ? NAN : INFINITY)
               : exponent ? ldexp((1 << bits) + fraction, exponent - bias - bits)
                          : ldexp(fraction, 1 - bias - bits);
    return h >> 15 ? -v : v;
}

/* The nearest half, ties to even, found by search: slow, but plainly right. */
EMU_TEST_FN uint16_t emu_half_from(double v) {
    const int bits = emu_bf16() ? 7 : 10, bias = emu_bf16() ? 127 : 15;
    const unsigned infinite = (unsigned)(2 * bias + 1) << bits;
    const double end = ldexp(1, bias + 1); /* the value after the largest one */
    uint16_t sign = signbit(v) ? 0x8000 : 0;
    double a = fabs(v);
    if (isnan(v)) return 0x7fff;
    if (a >= end - ldexp(1, bias - bits - 1)) return (uint16_t)(sign | infinite);
    unsigned low = 0, high = infinite; /* magnitudes grow with the bit pattern */
    while (high - low > 1) {
        unsigned middle = (low + high) / 2;
        if (emu_half_value((uint16_t)middle) <= a) low = middle;
        else high = middle;
    }
    double below = emu_half_value((uint16_t)low), above = high == infinite ? end : emu_half_value((uint16_t)high);
    if (a - below > above - a || (a - below == above - a && low % 2)) low = high;
    return (uint16_t)(sign | low);
}

#endif
