/* test_api.c: misuse of the driver API: each call must fail as in NVIDIA's driver, and harm nothing.
   Usage: test_api FOLDER */
#include <pthread.h>

#include "emu_test.h"

static CUmodule module;

static void test_before_init(void) {
    int n = -1;
    CUdeviceptr p;
    OK(cuDriverGetVersion(&n));
    CHECK_IS(n, 13000);
    CHECK_IS(cuDeviceGetCount(&n), CUDA_ERROR_NOT_INITIALIZED);
    CHECK_IS(cuMemAlloc_v2(&p, 16), CUDA_ERROR_NOT_INITIALIZED);
    CHECK_IS(cuInit(1), CUDA_ERROR_INVALID_VALUE);
    OK(cuInit(0));
    OK(cuInit(0));
}

static void test_devices(void) {
    int n = 0;
    size_t bytes = 0;
    char name[64];
    const char *text = NULL;
    CUdevice device;
    CUuuid uuid;
    OK(cuDeviceGetCount(&n));
    CHECK_IS(n, 1);
    OK(cuDeviceGet(&device, 0));
    CHECK_IS(cuDeviceGet(&device, 1), CUDA_ERROR_INVALID_DEVICE);
    CHECK_IS(cuDeviceGet(&device, -1), CUDA_ERROR_INVALID_DEVICE);
    OK(cuDeviceGetName(name, sizeof name, 0));
    CHECK(strstr(name, "reid emulator") != NULL);
    OK(cuDeviceGetName(name, 5, 0));
    CHECK(strlen(name) == 4);
    OK(cuDeviceGetUuid_v2(&uuid, 0));
    OK(cuDeviceTotalMem_v2(&bytes, 0));
    CHECK(bytes == (size_t)4 << 30);
    OK(cuDeviceGetAttribute(&n, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0));
    CHECK_IS(n, 9);
    OK(cuDeviceGetAttribute(&n, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 0));
    CHECK_IS(n, 227 * 1024);
    CHECK_IS(cuDeviceGetAttribute(&n, (CUdevice_attribute)0, 0), CUDA_ERROR_INVALID_VALUE);
    CHECK_IS(cuDeviceGetAttribute(&n, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 7), CUDA_ERROR_INVALID_DEVICE);
    OK(cuGetErrorName(CUDA_ERROR_OUT_OF_MEMORY, &text));
    CHECK(text && strcmp(text, "CUDA_ERROR_OUT_OF_MEMORY") == 0);
    OK(cuGetErrorString(CUDA_ERROR_ILLEGAL_ADDRESS, &text));
    CHECK(text && strstr(text, "illegal") != NULL);
    CHECK_IS(cuGetErrorName((CUresult)12345, &text), CUDA_ERROR_INVALID_VALUE);
    CHECK(text == NULL);
}

static void *other_thread(void *result) {
    CUcontext context = NULL;
    CUdeviceptr p;
    *(CUresult *)result = cuMemAlloc_v2(&p, 16); /* a context is current to one thread, not to all */
    OK(cuCtxGetCurrent(&context));
    CHECK(context == NULL);
    return NULL;
}

static void test_contexts(void) {
    CUcontext primary, again, own, got = NULL;
    CUdeviceptr p;
    CUdevice device = 7;
    unsigned flags;
    int active = 7;
    CUresult in_thread = CUDA_SUCCESS;
    pthread_t thread;
    CHECK_IS(cuMemAlloc_v2(&p, 16), CUDA_ERROR_INVALID_CONTEXT);
    CHECK_IS(cuCtxPopCurrent_v2(&got), CUDA_ERROR_INVALID_CONTEXT);
    CHECK_IS(cuDevicePrimaryCtxRelease_v2(0), CUDA_ERROR_INVALID_CONTEXT);
    OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
    CHECK_IS(active, 0);
    OK(cuDevicePrimaryCtxRetain(&primary, 0));
    OK(cuDevicePrimaryCtxRetain(&again, 0));
    CHECK(primary == again);
    OK(cuDevicePrimaryCtxRelease_v2(0));
    OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
    CHECK_IS(active, 1);
    CHECK_IS(cuMemAlloc_v2(&p, 16), CUDA_ERROR_INVALID_CONTEXT); /* retained is not current */
    CHECK_IS(cuCtxPushCurrent_v2((CUcontext)&p), CUDA_ERROR_INVALID_CONTEXT);
    OK(cuCtxPushCurrent_v2(primary));
    OK(cuMemAlloc_v2(&p, 16));
    pthread_create(&thread, NULL, other_thread, &in_thread);
    pthread_join(thread, NULL);
    CHECK_IS(in_thread, CUDA_ERROR_INVALID_CONTEXT);
    OK(cuCtxCreate_v2(&own, 0, 0));
    OK(cuCtxGetCurrent(&got));
    CHECK(got == own);
    OK(cuCtxGetDevice(&device));
    CHECK_IS(device, 0);
    CHECK_IS(cuMemsetD8_v2(p, 0, 16), CUDA_ERROR_INVALID_VALUE); /* the other context's memory */
    OK(cuCtxDestroy_v2(own));
    OK(cuCtxGetCurrent(&got));
    CHECK(got == primary);
    CHECK_IS(cuCtxPushCurrent_v2(own), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    OK(cuCtxSetCurrent(NULL));
    OK(cuCtxGetCurrent(&got));
    CHECK(got == NULL);
    OK(cuCtxSetCurrent(primary));
    OK(cuMemFree_v2(p));
}

static void test_memory(void) {
    CUdeviceptr p, q;
    void *host;
    char bytes[64] = {0};
    size_t before, after, total;
    OK(cuMemGetInfo_v2(&before, &total));
    CHECK_IS(cuMemAlloc_v2(&p, 0), CUDA_ERROR_INVALID_VALUE);
    CHECK_IS(cuMemAlloc_v2(NULL, 8), CUDA_ERROR_INVALID_VALUE);
    CHECK_IS(cuMemAlloc_v2(&p, (size_t)5 << 30), CUDA_ERROR_OUT_OF_MEMORY);
    CHECK_IS(cuMemAlloc_v2(&p, (size_t)-1), CUDA_ERROR_OUT_OF_MEMORY);
    OK(cuMemAlloc_v2(&p, 64));
    OK(cuMemGetInfo_v2(&after, &total));
    CHECK(before - after == 64);
    CHECK(p % 256 == 0);
    OK(cuMemcpyDtoH_v2(bytes, p, 64));
    CHECK(bytes[0] == -1 && bytes[63] == -1); /* fresh memory is all ones */
    CHECK_IS(cuMemcpyHtoD_v2(p, bytes, 65), CUDA_ERROR_INVALID_VALUE);
    CHECK_IS(cuMemcpyHtoD_v2(p + 1, bytes, 64), CUDA_ERROR_INVALID_VALUE);
    CHECK_IS(cuMemcpyHtoD_v2((CUdeviceptr)(uintptr_t)bytes, bytes, 8), CUDA_ERROR_INVALID_VALUE);
    CHECK_IS(cuMemcpyDtoH_v2(bytes, 0, 8), CUDA_ERROR_INVALID_VALUE);
    CHECK_IS(cuMemsetD32_v2(p + 2, 0, 1), CUDA_ERROR_INVALID_VALUE); /* misaligned */
    OK(cuMemsetD16_v2(p, 0x1234, 32));
    OK(cuMemsetD8_v2(p, 0x56, 1));
    OK(cuMemAlloc_v2(&q, 64));
    OK(cuMemcpyDtoD_v2(q, p, 64));
    OK(cuMemcpyDtoH_v2(bytes, q, 64));
    CHECK(bytes[0] == 0x56 && bytes[1] == 0x12 && bytes[62] == 0x34);
    CHECK_IS(cuMemFree_v2(p + 8), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemFree_v2(p));
    CHECK_IS(cuMemFree_v2(p), CUDA_ERROR_INVALID_VALUE);
    CHECK_IS(cuMemcpyHtoD_v2(p, bytes, 8), CUDA_ERROR_INVALID_VALUE); /* freed */
    OK(cuMemFree_v2(0));
    OK(cuMemHostAlloc(&host, 128, 0));
    CHECK_IS(cuMemFree_v2((CUdeviceptr)(uintptr_t)host), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemFreeHost(host));
    CHECK_IS(cuMemFreeHost(host), CUDA_ERROR_INVALID_VALUE);
    CHECK_IS(cuMemFreeHost(bytes), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemFree_v2(q));
}

static void test_launches(void) {
    CUfunction f;
    CUdeviceptr in = emu_upload(NULL, 1 << 20), out = emu_upload(NULL, 1 << 20);
    int n = 0, value = 0;
    void *params[] = {&in, &out, &n}, *hole[] = {&in, NULL, &n};
    CHECK_IS(cuModuleGetFunction(&f, module, "no_such_kernel"), CUDA_ERROR_NOT_FOUND);
    CHECK_IS(cuModuleGetFunction(&f, (CUmodule)params, "fine"), CUDA_ERROR_INVALID_HANDLE);
    OK(cuMemsetD8_v2(in, 0, 1 << 20));
    OK(cuModuleGetFunction(&f, module, "fine"));
    OK(cuLaunchKernel(f, 2, 1, 1, 64, 1, 1, 256, NULL, params, NULL));
    CHECK_IS(cuLaunchKernel(f, 0, 1, 1, 64, 1, 1, 256, NULL, params, NULL), CUDA_ERROR_INVALID_VALUE);
    CHECK_IS(cuLaunchKernel(f, 1, 65536, 1, 64, 1, 1, 256, NULL, params, NULL), CUDA_ERROR_INVALID_VALUE);
    CHECK_IS(cuLaunchKernel(f, 1, 1, 1, 1025, 1, 1, 256, NULL, params, NULL), CUDA_ERROR_INVALID_VALUE);
    CHECK_IS(cuLaunchKernel(f, 1, 1, 1, 64, 32, 1, 256, NULL, params, NULL), CUDA_ERROR_INVALID_VALUE);
    CHECK_IS(cuLaunchKernel(f, 1, 1, 1, 1, 1, 65, 256, NULL, params, NULL), CUDA_ERROR_INVALID_VALUE);
    CHECK_IS(cuLaunchKernel(f, 1, 1, 1, 64, 1, 1, 49153, NULL, params, NULL), CUDA_ERROR_INVALID_VALUE);
    CHECK_IS(cuLaunchKernel(f, 1, 1, 1, 64, 1, 1, 256, NULL, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
    CHECK_IS(cuLaunchKernel(f, 1, 1, 1, 64, 1, 1, 256, NULL, hole, NULL), CUDA_ERROR_INVALID_VALUE);
    CHECK_IS(cuLaunchKernel((CUfunction)params, 1, 1, 1, 64, 1, 1, 256, NULL, params, NULL), CUDA_ERROR_INVALID_HANDLE);
    CHECK_IS(cuLaunchKernel(f, 1, 1, 1, 64, 1, 1, 256, (CUstream)params, params, NULL), CUDA_ERROR_INVALID_HANDLE);
    OK(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 227 * 1024));
    CHECK_IS(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 227 * 1024 + 1),
             CUDA_ERROR_INVALID_VALUE);
    CHECK_IS(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_NUM_REGS, 1), CUDA_ERROR_INVALID_VALUE);
    OK(cuLaunchKernel(f, 1, 1, 1, 64, 1, 1, 227 * 1024, NULL, params, NULL));
    OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, f));
    CHECK_IS(value, 227 * 1024);
    OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, f));
    CHECK_IS(value, 0);
    OK(cuModuleGetFunction(&f, module, "row_norms")); /* __launch_bounds__(128) */
    OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, f));
    CHECK_IS(value, 128);
    CHECK_IS(cuLaunchKernel(f, 1, 1, 1, 160, 1, 1, 0, NULL, params, NULL), CUDA_ERROR_INVALID_VALUE);
    OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&value, f, 128, 40000));
    CHECK(value >= 1 && value <= 16);
    CUlaunchAttribute cluster;
    memset(&cluster, 0, sizeof cluster);
    cluster.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    cluster.value.clusterDim.x = 8, cluster.value.clusterDim.y = cluster.value.clusterDim.z = 1;
    CUlaunchConfig c = {8, 1, 1, 128, 1, 1, 0, NULL, &cluster, 1};
    int clusters = 0, most, parts, last;
    if (cuOccupancyMaxActiveClusters(&clusters, f, &c) == CUDA_ERROR_NOT_SUPPORTED) clusters = -1; /* before sm_90 */
    OK(cuDeviceGetAttribute(&most, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0));
    OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&value, f, 128, 0));
    parts = most / 18, last = most % 18; /* parts of 18 multiprocessors, and one with the rest */
    CHECK(clusters == parts * (18 * value / 8) + last * value / 8 || clusters == -1);
    c.gridDimX = 9;
    CHECK(cuOccupancyMaxActiveClusters(&clusters, f, &c) != CUDA_SUCCESS);
    OK(cuMemFree_v2(in));
    OK(cuMemFree_v2(out));
}

typedef CUresult (*alloc_fn)(CUdeviceptr *, size_t);

static void test_symbols(void) {
    union {
        void *pointer;
        alloc_fn alloc;
    } f = {NULL};
    CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SUCCESS;
    OK(cuGetProcAddress("cuMemAlloc", &f.pointer, 11040, 0));
    CHECK(f.alloc == cuMemAlloc_v2);
    OK(cuGetProcAddress_v2("cuMemAlloc", &f.pointer, 12000, 0, &status));
    CHECK(f.alloc == cuMemAlloc_v2 && status == CU_GET_PROC_ADDRESS_SUCCESS);
    CHECK_IS(cuGetProcAddress("cuNoSuchCall", &f.pointer, 12000, 0), CUDA_ERROR_NOT_FOUND);
    OK(cuGetProcAddress_v2("cuNoSuchCall", &f.pointer, 12000, 0, &status)); /* success, with a null pointer */
    CHECK(f.pointer == NULL && status == CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
    OK(cuGetProcAddress_v2("cuGraphInstantiateWithFlags", &f.pointer, 11000, 0, &status));
    CHECK(f.pointer == NULL && status == CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
    OK(cuGetProcAddress_v2("cuGraphInstantiateWithFlags", &f.pointer, 11040, 0, NULL));
    CHECK(f.pointer != NULL);
    CHECK_IS(cuGetProcAddress_v2("cuMemAlloc", &f.pointer, 14000, 0, &status), CUDA_ERROR_INVALID_VALUE);
}

int main(int argc, char **argv) {
    char sample[512], path[512];
    const char *folder = argc > 1 ? argv[1] : "tests/emulator";
    snprintf(sample, sizeof sample, "%s/sample.cu", folder);
    snprintf(path, sizeof path, "%s/bugs.cu", folder);
    test_before_init();
    test_devices();
    test_contexts();
    module = emu_module_of(sample, path, NULL);
    test_memory();
    test_launches();
    test_symbols();
    CHECK_IS(reid_emulator_reports(), 0);
    CHECK_IS(cuModuleUnload((CUmodule)&module), CUDA_ERROR_INVALID_HANDLE);
    emu_stop(module);
    return emu_done("test_api");
}
