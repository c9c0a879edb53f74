/* kernels_test.h: code shared by the tests of reid_kernels.cu: compiles one kernel with its constants, after the
   structures of reid.h, and launches it with one of them. */
#ifndef KERNELS_TEST_H
#define KERNELS_TEST_H

#ifndef REID_IMPLEMENTATION
#define REID_STATIC
#define REID_IMPLEMENTATION
#define REID_NO_VECTORS
#include "reid.h"
#endif

#include "emu_test.h"

typedef struct constant {
    const char *name;
    int value;
} constant;

static char *kernels_text;

/* The text that NVRTC reads before the kernels. */
static const char *contract_text(void) {
    static char text[1 << 15];
    reid__text c = {text, sizeof text, 0};
    reid__contract_text(&c);
    NEED(c.length >= sizeof text);
    return text;
}

/* Compiles the program with these n options and two more, for which there is room after them. */
static CUmodule program_with(const char *name, const char **options, int n) {
    static const char *const header_names[] = {"reid_contract.h"};
    const char *const headers[] = {contract_text()};
    char *cubin, *log, arch[48];
    nvrtcProgram program;
    CUmodule module;
    size_t size;
    snprintf(arch, sizeof arch, "--gpu-architecture=sm_%d%s", emu_device_arch(), emu_device_arch() == 90 ? "a" : "");
    options[n++] = arch;
    options[n++] = "--pre-include=reid_contract.h";
    NEED(nvrtcCreateProgram(&program, kernels_text, "reid_kernels.cu", 1, headers, header_names));
    nvrtcResult r = nvrtcCompileProgram(program, n, options);
    NEED(nvrtcGetProgramLogSize(program, &size));
    log = (char *)malloc(size);
    NEED(!log || nvrtcGetProgramLog(program, log));
    if (r) printf("%s: %s", name, log);
    NEED(r);
    NEED(nvrtcGetCUBINSize(program, &size));
    cubin = (char *)malloc(size);
    NEED(!cubin || nvrtcGetCUBIN(program, cubin));
    NEED(cuModuleLoadData(&module, cubin));
    NEED(nvrtcDestroyProgram(&program));
    free(log), free(cubin);
    return module;
}

/* The program `name`: REID_NAME, VALUE_F16 or VALUE_BF16 (emu_bf16) if half is 1, VALUE_U8 if it is 2, and these
   constants defined; the list ends with a NULL name. */
EMU_TEST_FN CUmodule program_of(const char *name, int half, const constant *constants) {
    char text[40][48];
    const char *options[42];
    int n = 0;
    snprintf(text[n], 48, "-D%s", name);
    for (char *c = text[n++] + 2; *c; c++)
        if (*c >= 'a' && *c <= 'z') *c = (char)(*c - 'a' + 'A');
    if (half) snprintf(text[n++], 48, half == 2 ? "-DVALUE_U8" : emu_bf16() ? "-DVALUE_BF16" : "-DVALUE_F16");
    for (; constants->name; constants++) snprintf(text[n++], 48, "-D%s=%d", constants->name, constants->value);
    for (int i = 0; i < n; i++) options[i] = text[i];
    return program_with(name, options, n);
}

/* The kernel of the same name as its program. */
EMU_TEST_FN CUfunction kernel_of(const char *name, int half, const constant *constants, unsigned shared) {
    return emu_function_of(program_of(name, half, constants), name, shared);
}

/* Runs a kernel on grid_x x grid_y blocks, in clusters if these are more than one block, and reports a fault with the
   emulator's message. arguments: its structure. */
EMU_TEST_FN void run_clusters(CUfunction f, int grid_x, int grid_y, int threads, unsigned shared, void *arguments,
                              int cluster) {
    void *params[] = {arguments};
    CUlaunchAttribute as = {.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION};
    CUlaunchConfig c = {(unsigned)grid_x, (unsigned)grid_y, 1, (unsigned)threads, 1, 1, shared, NULL, &as, cluster > 1};
    as.value.clusterDim.x = (unsigned)cluster, as.value.clusterDim.y = as.value.clusterDim.z = 1;
    NEED(cuLaunchKernelEx(&c, f, params, NULL));
    NEED(cuCtxSynchronize());
}
EMU_TEST_FN void run_kernel(CUfunction f, int grid_x, int grid_y, int threads, unsigned shared, void *arguments) {
    run_clusters(f, grid_x, grid_y, threads, shared, arguments, 1);
}

/* A tensor in the host's double and on the device as fp32 or halves, the same values. */
typedef struct tensor {
    double *host;
    CUdeviceptr device;
    size_t count;
    int half;
} tensor;

EMU_TEST_FN tensor tensor_of(size_t count, int half, unsigned *seed, double scale) {
    tensor t = {(double *)malloc(count * sizeof(double)), 0, count, half};
    char *raw = (char *)malloc(count * 4);
    for (size_t i = 0; i < count; i++) {
        float v = (float)(emu_uniform(seed) * scale);
        uint16_t h = emu_half_from(v);
        t.host[i] = half ? emu_half_value(h) : v;
        if (half) memcpy(raw + 2 * i, &h, 2);
        else memcpy(raw + 4 * i, &v, 4);
    }
    t.device = emu_upload(raw, count * (half ? 2 : 4));
    free(raw);
    return t;
}

/* Room for results, not initialised. */
EMU_TEST_FN tensor result_of(size_t count, int half) {
    tensor t = {(double *)malloc(count * sizeof(double)), emu_upload(NULL, count * (half ? 2 : 4)), count, half};
    return t;
}

EMU_TEST_FN void fetch(tensor *t) {
    char *raw = (char *)malloc(t->count * 4);
    NEED(cuMemcpyDtoH_v2(raw, t->device, t->count * (t->half ? 2 : 4)));
    for (size_t i = 0; i < t->count; i++) {
        float v;
        uint16_t h;
        memcpy(&v, raw + 4 * (t->half ? 0 : i), 4);
        memcpy(&h, raw + 2 * (t->half ? i : 0), 2);
        t->host[i] = t->half ? emu_half_value(h) : v;
    }
    free(raw);
}

EMU_TEST_FN void drop(tensor *t) {
    NEED(cuMemFree_v2(t->device));
    free(t->host);
}

EMU_TEST_FN double activation(double x, int act) {
    return act == 1 ? (x > 0 ? x : 0) : act == 2 ? x / (1 + exp(-x)) : x;
}

/* Adds one result to the largest error seen, relative above 1; a NaN is the largest of all. */
EMU_TEST_FN void compare(double *worst, double got, double want) {
    double error = fabs(got - want) / (1 + fabs(want));
    if (error > *worst || error != error) *worst = error;
}

#endif
