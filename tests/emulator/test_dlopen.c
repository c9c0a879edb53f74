/* test_dlopen.c: as an application does it: both libraries by dlopen and their names alone (LD_LIBRARY_PATH says where),
   every function through cuGetProcAddress, nothing linked. Usage: test_dlopen FOLDER */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define reid_emulator_live reid_emulator_live_of_no_library
#include "cuda_api.h"
#undef reid_emulator_live

#define FUNCTIONS(X)                                                                                                   \
    X(cuInit) X(cuDevicePrimaryCtxRetain) X(cuDevicePrimaryCtxRelease) X(cuCtxPushCurrent) X(cuCtxPopCurrent)          \
    X(cuMemAlloc) X(cuMemFree) X(cuMemcpyHtoD) X(cuMemcpyDtoH) X(cuModuleLoadData) X(cuModuleGetFunction)              \
    X(cuModuleUnload) X(cuLaunchKernel)

typedef struct driver {
#define X(name) void *name;
    FUNCTIONS(X)
#undef X
} driver;

/* A data pointer as a function of this type. */
#define CALL(type, pointer) (*(type *)(void *)&(pointer))

static void need(int ok, const char *what) {
    if (ok) return;
    printf("test_dlopen: %s: %s\n", what, dlerror());
    exit(1);
}

static void find(void *library, driver *d) {
    typedef CUresult (*get_fn)(const char *, void **, int, cuuint64_t, CUdriverProcAddressQueryResult *);
    void *get = dlsym(library, "cuGetProcAddress_v2");
    need(get != NULL, "cuGetProcAddress_v2");
#define X(name) need(CALL(get_fn, get)(#name, &d->name, 12000, 0, NULL) == CUDA_SUCCESS && d->name, #name);
    FUNCTIONS(X)
#undef X
}

static char *compile(void *library, const char *text) {
    typedef nvrtcResult (*create_fn)(nvrtcProgram *, const char *, const char *, int, const char *const *,
                                     const char *const *);
    typedef nvrtcResult (*compile_fn)(nvrtcProgram, int, const char *const *);
    typedef nvrtcResult (*size_fn)(nvrtcProgram, size_t *);
    typedef nvrtcResult (*get_fn)(nvrtcProgram, char *);
    void *create = dlsym(library, "nvrtcCreateProgram"), *run = dlsym(library, "nvrtcCompileProgram");
    void *size_of = dlsym(library, "nvrtcGetCUBINSize"), *get = dlsym(library, "nvrtcGetCUBIN");
    const char *options[] = {"--gpu-architecture=sm_90"};
    nvrtcProgram p;
    size_t size = 0;
    need(create && run && size_of && get, "the symbols of NVRTC");
    need(CALL(create_fn, create)(&p, text, "k.cu", 0, NULL, NULL) == NVRTC_SUCCESS, "create");
    need(CALL(compile_fn, run)(p, 1, options) == NVRTC_SUCCESS, "compile");
    need(CALL(size_fn, size_of)(p, &size) == NVRTC_SUCCESS && size, "size");
    char *cubin = (char *)malloc(size);
    need(cubin && CALL(get_fn, get)(p, cubin) == NVRTC_SUCCESS, "cubin");
    return cubin;
}

int main(void) {
    void *cuda = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL), *nvrtc = dlopen("libnvrtc.so.13", RTLD_NOW | RTLD_LOCAL);
    need(cuda && nvrtc, "dlopen");
    driver d;
    find(cuda, &d);
    char *cubin = compile(nvrtc, "extern \"C\" __global__ void twice(float *p) {\n"
                                 "    p[threadIdx.x] += __shfl_xor_sync(~0u, p[threadIdx.x], 0);\n}\n");
    CUcontext context;
    CUmodule module;
    CUfunction f;
    CUdeviceptr p;
    float v[32], got[32];
    for (int i = 0; i < 32; i++) v[i] = (float)i;
    void *params[] = {&p};
    int bad = CALL(CUresult(*)(unsigned), d.cuInit)(0) ||
              CALL(CUresult(*)(CUcontext *, CUdevice), d.cuDevicePrimaryCtxRetain)(&context, 0) ||
              CALL(CUresult(*)(CUcontext), d.cuCtxPushCurrent)(context) ||
              CALL(CUresult(*)(CUmodule *, const void *), d.cuModuleLoadData)(&module, cubin) ||
              CALL(CUresult(*)(CUfunction *, CUmodule, const char *), d.cuModuleGetFunction)(&f, module, "twice") ||
              CALL(CUresult(*)(CUdeviceptr *, size_t), d.cuMemAlloc)(&p, sizeof v) ||
              CALL(CUresult(*)(CUdeviceptr, const void *, size_t), d.cuMemcpyHtoD)(p, v, sizeof v) ||
              CALL(CUresult(*)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream,
                               void **, void **), d.cuLaunchKernel)(f, 1, 1, 1, 32, 1, 1, 0, NULL, params, NULL) ||
              CALL(CUresult(*)(void *, CUdeviceptr, size_t), d.cuMemcpyDtoH)(got, p, sizeof got) ||
              CALL(CUresult(*)(CUdeviceptr), d.cuMemFree)(p) ||
              CALL(CUresult(*)(CUmodule), d.cuModuleUnload)(module) ||
              CALL(CUresult(*)(CUcontext *), d.cuCtxPopCurrent)(&context) ||
              CALL(CUresult(*)(CUdevice), d.cuDevicePrimaryCtxRelease)(0);
    for (int i = 0; i < 32; i++) bad |= got[i] < v[i] * 2 || got[i] > v[i] * 2;
    void *live = dlsym(cuda, "reid_emulator_live");
    bad |= !live || CALL(size_t(*)(void), live)() != 0;
    free(cubin);
    printf("test_dlopen: %d checks passed, %d failed\n", !bad, bad);
    return bad != 0;
}
