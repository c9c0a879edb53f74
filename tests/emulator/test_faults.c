/* test_faults.c: calls that are made to fail, live objects, memory running out, fork. A small program of driver calls
   is run with a fault at the first call, then at the second, and so on. Usage: test_faults FOLDER */
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "emu_test.h"

static char *cubin;

#define TRY(call)                                                                                                      \
    if ((r = (call)) != CUDA_SUCCESS) goto out

/* Calls the driver like a library, and releases everything whatever happens. Returns the first error. */
static CUresult program(void) {
    CUcontext context = NULL;
    CUmodule module = NULL;
    CUfunction f;
    CUdeviceptr in = 0, out = 0;
    CUstream s = NULL;
    CUevent e = NULL;
    CUgraph g = NULL;
    CUgraphExec x = NULL;
    void *host = NULL;
    int n = 128, pushed = 0, capturing = 0;
    void *params[] = {&in, &out, &n};
    CUresult r;
    TRY(cuInit(0));
    TRY(cuDevicePrimaryCtxRetain(&context, 0));
    TRY(cuCtxPushCurrent_v2(context));
    pushed = 1;
    TRY(cuModuleLoadData(&module, cubin));
    TRY(cuModuleGetFunction(&f, module, "fine"));
    TRY(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1024));
    TRY(cuMemAlloc_v2(&in, 512));
    TRY(cuMemAlloc_v2(&out, 512));
    TRY(cuMemHostAlloc(&host, 512, 0));
    TRY(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    TRY(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
    TRY(cuMemsetD8Async(in, 0, 512, s));
    TRY(cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    capturing = 1;
    TRY(cuLaunchKernel(f, 2, 1, 1, 64, 1, 1, 256, s, params, NULL));
    TRY(cuMemcpyDtoHAsync_v2(host, out, 512, s));
    r = cuStreamEndCapture(s, &g);
    capturing = r == CUDA_ERROR_UNKNOWN; /* not done at all */
    if (r) goto out;
    TRY(cuGraphInstantiateWithFlags(&x, g, 0));
    TRY(cuGraphLaunch(x, s));
    TRY(cuEventRecord(e, s));
    TRY(cuEventSynchronize(e));
    TRY(cuStreamSynchronize(s));
out:
    if (capturing) cuStreamEndCapture(s, &g);
    if (x) cuGraphExecDestroy(x);
    if (g) cuGraphDestroy(g);
    if (e) cuEventDestroy_v2(e);
    if (s) cuStreamDestroy_v2(s);
    if (host) cuMemFreeHost(host);
    if (out) cuMemFree_v2(out);
    if (in) cuMemFree_v2(in);
    if (module) cuModuleUnload(module);
    if (pushed) cuCtxPopCurrent_v2(NULL);
    if (context) cuDevicePrimaryCtxRelease_v2(0);
    return r;
}

static void test_every_call(void) {
    char specification[32];
    reid_emulator_fail(NULL);
    OK(program());
    size_t calls = reid_emulator_calls();
    CHECK(calls > 20);
    for (size_t i = 1; i <= calls; i++) {
        snprintf(specification, sizeof specification, "any:%zu", i);
        reid_emulator_fail(specification);
        CHECK(program() != CUDA_SUCCESS);
        CHECK_IS(reid_emulator_live(), 0);
    }
    reid_emulator_fail(NULL);
    OK(program());
}

static void test_named_call(void) {
    reid_emulator_fail("cuMemAlloc:2");
    CHECK_IS(program(), CUDA_ERROR_OUT_OF_MEMORY);
    reid_emulator_fail("cuMemAlloc:3");
    OK(program());
    reid_emulator_fail("cuStreamSynchronize:1:700");
    CHECK_IS(program(), CUDA_ERROR_ILLEGAL_ADDRESS);
    emu_start();
    CUdeviceptr p;
    reid_emulator_fail("cuMemGetInfo:1:719"); /* a lost device stays lost */
    CHECK_IS(cuMemGetInfo_v2(&(size_t){0}, &(size_t){0}), CUDA_ERROR_LAUNCH_FAILED);
    CHECK_IS(cuMemAlloc_v2(&p, 16), CUDA_ERROR_LAUNCH_FAILED);
    CHECK_IS(cuCtxSynchronize(), CUDA_ERROR_LAUNCH_FAILED);
    emu_stop(NULL);
    reid_emulator_fail(NULL);
    CHECK_IS(reid_emulator_live(), 0);
}

/* Leaked objects are counted, even after their context is gone. */
static void test_leaks(void) {
    pid_t child = fork(); /* the leak would stay counted */
    if (child == 0) {
        CUdeviceptr p;
        CUstream s;
        emu_start();
        NEED(cuMemAlloc_v2(&p, 100) || cuStreamCreate(&s, 0));
        if (reid_emulator_live() != 3) _exit(1); /* and the context */
        if (strstr(reid_emulator_live_text(), "1 allocations (100 bytes), 0 modules, 1 streams") == NULL) _exit(2);
        NEED(cuCtxPopCurrent_v2(NULL) || cuDevicePrimaryCtxRelease_v2(0));
        _exit(reid_emulator_live() == 2 ? 0 : 3);
    }
    int status = -1;
    waitpid(child, &status, 0);
    CHECK_IS(status, 0);
}

/* REID_EMULATOR_MEMORY sets the size of memory. */
static void test_out_of_memory(void) {
    pid_t child = fork();
    if (child == 0) {
        CUdeviceptr p[5];
        setenv("REID_EMULATOR_MEMORY", "4194304", 1);
        setenv("REID_EMULATOR_DEVICES", "2", 1);
        emu_start();
        for (int i = 0; i < 4; i++) OK(cuMemAlloc_v2(&p[i], 1 << 20));
        CHECK_IS(cuMemAlloc_v2(&p[4], 1), CUDA_ERROR_OUT_OF_MEMORY);
        OK(cuMemFree_v2(p[0]));
        OK(cuMemAlloc_v2(&p[4], 1 << 20));
        CUcontext second; /* the other device has memory of its own */
        OK(cuDevicePrimaryCtxRetain(&second, 1));
        OK(cuCtxPushCurrent_v2(second));
        OK(cuMemAlloc_v2(&p[0], 4 << 20));
        _exit(emu_failures);
    }
    int status = -1;
    waitpid(child, &status, 0);
    CHECK_IS(status, 0);
    child = fork();
    if (child == 0) {
        setenv("REID_EMULATOR_DEVICES", "0", 1);
        _exit(cuInit(0) == CUDA_ERROR_NO_DEVICE ? 0 : 1);
    }
    waitpid(child, &status, 0);
    CHECK_IS(status, 0);
}

/* A child of a process that has used CUDA cannot use it. */
static void test_fork(void) {
    emu_start();
    pid_t child = fork();
    if (child == 0) {
        CUdeviceptr p;
        if (cuMemAlloc_v2(&p, 16) != CUDA_ERROR_NOT_INITIALIZED) _exit(1);
        _exit(cuInit(0) == CUDA_ERROR_NOT_INITIALIZED ? 0 : 2);
    }
    int status = -1;
    waitpid(child, &status, 0);
    CHECK_IS(status, 0);
    emu_stop(NULL);
}

/* Many threads on one context: each call is whole. */
static void *worker(void *result) {
    CUdeviceptr p;
    CUstream s;
    unsigned char bytes[256], number = (unsigned char)(uintptr_t)result;
    if (cuCtxPushCurrent_v2(emu_test_context) || cuStreamCreate(&s, CU_STREAM_NON_BLOCKING)) return result;
    for (int i = 0; i < 200; i++) {
        if (cuMemAlloc_v2(&p, 256) || cuMemsetD8Async(p, number, 256, s) || cuMemcpyDtoHAsync_v2(bytes, p, 256, s) ||
            cuStreamSynchronize(s) || bytes[0] != number || bytes[255] != number || cuMemFree_v2(p))
            return result;
    }
    return cuStreamDestroy_v2(s) || cuCtxPopCurrent_v2(NULL) ? result : NULL;
}

static void test_threads(void) {
    pthread_t threads[8];
    void *failed;
    emu_start();
    for (uintptr_t i = 0; i < 8; i++) pthread_create(&threads[i], NULL, worker, (void *)(i + 1));
    for (int i = 0; i < 8; i++) {
        pthread_join(threads[i], &failed);
        CHECK(failed == NULL);
    }
    emu_stop(NULL);
}

int main(int argc, char **argv) {
    char sample[512], path[512];
    const char *folder = argc > 1 ? argv[1] : "tests/emulator";
    snprintf(sample, sizeof sample, "%s/sample.cu", folder);
    snprintf(path, sizeof path, "%s/bugs.cu", folder);
    cubin = emu_cubin_of(sample, path, NULL);
    test_leaks(); /* the tests in a child come first: after cuInit a child can do nothing */
    test_out_of_memory();
    test_every_call();
    test_named_call();
    test_threads();
    test_fork();
    free(cubin);
    return emu_done("test_faults");
}
