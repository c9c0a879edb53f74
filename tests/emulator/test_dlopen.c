/* test_dlopen.c: uses the libraries as an application does: both by dlopen of their names (found by LD_LIBRARY_PATH),
   every driver function through cuGetProcAddress, nothing linked. `test_dlopen killed` kills itself after the launch.
   */
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_api.h" /* for the types of the functions; none of them is called by name */

/* X(base name, exported name) */
#define FUNCTIONS(X)                                                                                                   \
    X(cuInit, cuInit)                                                                                                  \
    X(cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain)                                                              \
    X(cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2)                                                         \
    X(cuCtxPushCurrent, cuCtxPushCurrent_v2)                                                                           \
    X(cuCtxPopCurrent, cuCtxPopCurrent_v2)                                                                             \
    X(cuMemAlloc, cuMemAlloc_v2)                                                                                       \
    X(cuMemFree, cuMemFree_v2)                                                                                         \
    X(cuMemcpyHtoD, cuMemcpyHtoD_v2)                                                                                   \
    X(cuMemcpyDtoH, cuMemcpyDtoH_v2)                                                                                   \
    X(cuModuleLoadData, cuModuleLoadData)                                                                              \
    X(cuModuleGetFunction, cuModuleGetFunction)                                                                        \
    X(cuModuleUnload, cuModuleUnload)                                                                                  \
    X(cuLaunchKernel, cuLaunchKernel)
#define COMPILER(X)                                                                                                    \
    X(nvrtcCreateProgram, nvrtcCreateProgram)                                                                          \
    X(nvrtcCompileProgram, nvrtcCompileProgram)                                                                        \
    X(nvrtcGetCUBINSize, nvrtcGetCUBINSize)                                                                            \
    X(nvrtcGetCUBIN, nvrtcGetCUBIN)                                                                                    \
    X(nvrtcDestroyProgram, nvrtcDestroyProgram)

typedef struct functions {
#define X(base, symbol) __typeof__(&symbol) base;
    FUNCTIONS(X)
    COMPILER(X)
#undef X
    __typeof__(&reid_emulator_live) live;
} functions;

static void need(int ok, const char *what) {
    if (ok) return;
    printf("test_dlopen: %s does not work\n", what);
    exit(1);
}

static void from_library(void *library, const char *name, void *to) {
    void *symbol = library ? dlsym(library, name) : NULL;
    need(symbol != NULL, name);
    memcpy(to, &symbol, sizeof symbol);
}

static void find(functions *f) {
    void *cuda = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    void *nvrtc = dlopen("libnvrtc.so.13", RTLD_NOW | RTLD_LOCAL), *pointer;
    __typeof__(&cuGetProcAddress_v2) get;
    from_library(cuda, "cuGetProcAddress_v2", &get);
    from_library(cuda, "reid_emulator_live", &f->live);
#define X(base, symbol)                                                                                                \
    need(get(#base, &pointer, 12000, 0, NULL) == CUDA_SUCCESS && pointer, #base);                                      \
    memcpy(&f->base, &pointer, sizeof pointer);
    FUNCTIONS(X)
#undef X
#define X(base, symbol) from_library(nvrtc, #symbol, &f->base);
    COMPILER(X)
#undef X
}

static char *compile(const functions *f, const char *text) {
    const char *options[] = {"--gpu-architecture=sm_90"};
    nvrtcProgram p;
    size_t size = 0;
    need(f->nvrtcCreateProgram(&p, text, "k.cu", 0, NULL, NULL) == NVRTC_SUCCESS, "nvrtcCreateProgram");
    need(f->nvrtcCompileProgram(p, 1, options) == NVRTC_SUCCESS, "nvrtcCompileProgram");
    need(f->nvrtcGetCUBINSize(p, &size) == NVRTC_SUCCESS && size, "nvrtcGetCUBINSize");
    char *cubin = (char *)malloc(size);
    need(cubin && f->nvrtcGetCUBIN(p, cubin) == NVRTC_SUCCESS, "nvrtcGetCUBIN");
    need(f->nvrtcDestroyProgram(&p) == NVRTC_SUCCESS, "nvrtcDestroyProgram");
    return cubin;
}

int main(int argc, char **argv) {
    functions f;
    CUcontext context;
    CUmodule module;
    CUfunction kernel;
    CUdeviceptr p;
    float v[32], got[32];
    void *params[] = {&p};
    find(&f);
    char *cubin = compile(&f, "extern \"C\" __global__ void twice(float *p) {\n"
                              "    p[threadIdx.x] += __shfl_xor_sync(~0u, p[threadIdx.x], 0);\n}\n");
    for (int i = 0; i < 32; i++) v[i] = (float)i;
    int bad = f.cuInit(0) || f.cuDevicePrimaryCtxRetain(&context, 0) || f.cuCtxPushCurrent(context) ||
              f.cuModuleLoadData(&module, cubin) || f.cuModuleGetFunction(&kernel, module, "twice") ||
              f.cuMemAlloc(&p, sizeof v) || f.cuMemcpyHtoD(p, v, sizeof v) ||
              f.cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, NULL, params, NULL) ||
              f.cuMemcpyDtoH(got, p, sizeof got);
    if (argc > 1 && strcmp(argv[1], "killed") == 0) raise(bad ? SIGABRT : SIGKILL);
    bad = bad || f.cuMemFree(p) || f.cuModuleUnload(module) || f.cuCtxPopCurrent(&context) ||
          f.cuDevicePrimaryCtxRelease(0) || f.live() != 0;
    for (int i = 0; i < 32 && !bad; i++) bad |= got[i] < v[i] * 2 || got[i] > v[i] * 2;
    free(cubin);
    printf("test_dlopen: %d checks passed, %d failed\n", !bad, bad);
    return bad != 0;
}
