/* test_graphs.c: capture, its rules, and graphs. Usage: test_graphs FOLDER */
#include <pthread.h>

#include "emu_test.h"

enum { N = 128 };
static CUmodule module;
static CUfunction reverse;
static CUdeviceptr x, y, z;
static CUstream s, t;

static CUresult launch(CUstream stream, CUdeviceptr from, CUdeviceptr to) {
    int n = N;
    void *params[] = {&from, &to, &n};
    return cuLaunchKernel(reverse, 2, 1, 1, 64, 1, 1, 256, stream, params, NULL);
}

static CUresult begin(CUstream stream) { return cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL); }

static void upload(CUdeviceptr to, float start) {
    float v[N];
    for (int i = 0; i < N; i++) v[i] = start + (float)i;
    NEED(cuMemcpyHtoD_v2(to, v, sizeof v));
}

static float first(CUdeviceptr from) {
    float v[N];
    NEED(cuMemcpyDtoH_v2(v, from, sizeof v));
    return v[0];
}

static void test_capture_and_launch(void) {
    CUgraph g;
    CUgraphExec e;
    CUstreamCaptureStatus status;
    size_t count = 0;
    OK(begin(s));
    OK(cuStreamIsCapturing(s, &status));
    CHECK_IS(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
    OK(launch(s, x, y));
    OK(launch(s, y, z));
    OK(cuStreamEndCapture(s, &g));
    OK(cuStreamIsCapturing(s, &status));
    CHECK_IS(status, CU_STREAM_CAPTURE_STATUS_NONE);
    OK(cuGraphGetNodes(g, NULL, &count));
    CHECK_IS(count, 2);
    OK(cuGraphInstantiateWithFlags(&e, g, 0));
    OK(cuGraphDestroy(g)); /* the executable graph is a copy */
    CHECK_IS(cuGraphDestroy(g), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemsetD8_v2(z, 0, N * 4));
    for (int i = 0; i < 3; i++) {
        upload(x, (float)i * 1000);
        OK(cuGraphUpload(e, s));
        OK(cuGraphLaunch(e, s));
        CHECK(fabsf(first(z) - (i ? (float)(i - 1) * 1000 : 0)) <= 0.0f); /* late: the result is the last one's */
        OK(cuStreamSynchronize(s));
        CHECK(fabsf(first(z) - (float)i * 1000) <= 0.0f); /* twice reversed */
    }
    OK(cuGraphExecDestroy(e));
    CHECK_IS(cuGraphLaunch(e, s), CUDA_ERROR_INVALID_VALUE);
}

/* Two branches: t joins the capture through an event and is joined again. Without the second join, the capture is
   refused. */
static void test_fork_and_join(void) {
    CUgraph g;
    CUgraphExec e;
    CUevent fork, join;
    OK(cuEventCreate(&fork, CU_EVENT_DISABLE_TIMING));
    OK(cuEventCreate(&join, CU_EVENT_DISABLE_TIMING));
    OK(begin(s));
    OK(launch(s, x, y));
    OK(cuEventRecord(fork, s));
    OK(cuStreamWaitEvent(t, fork, 0));
    OK(launch(t, y, z));
    CHECK_IS(cuEventSynchronize(fork), CUDA_ERROR_CAPTURED_EVENT);
    CHECK_IS(cuStreamEndCapture(s, &g), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    OK(begin(s));
    OK(launch(s, x, y));
    OK(cuEventRecord(fork, s));
    OK(cuStreamWaitEvent(t, fork, 0));
    OK(launch(t, y, z));
    CHECK_IS(cuStreamEndCapture(s, &g), CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
    OK(begin(s));
    OK(launch(s, x, y));
    OK(cuEventRecord(fork, s));
    OK(cuStreamWaitEvent(t, fork, 0));
    OK(launch(t, y, z));
    OK(cuEventRecord(join, t));
    OK(cuStreamWaitEvent(s, join, 0));
    OK(cuStreamEndCapture(s, &g));
    OK(cuGraphInstantiate_v2(&e, g, NULL, NULL, 0));
    for (int i = 0; i < 10; i++) { /* whatever the order, z comes after y */
        upload(x, (float)i);
        OK(cuMemsetD8_v2(y, 0, N * 4));
        OK(cuGraphLaunch(e, s));
        OK(cuStreamSynchronize(s));
        CHECK(fabsf(first(z) - (float)i) <= 0.0f);
    }
    OK(cuGraphExecDestroy(e));
    OK(cuGraphDestroy(g));
    OK(cuEventDestroy_v2(fork));
    OK(cuEventDestroy_v2(join));
}

static void *end_elsewhere(void *result) {
    CUgraph g;
    NEED(cuCtxPushCurrent_v2(emu_test_context));
    *(CUresult *)result = cuStreamEndCapture(s, &g);
    CUdeviceptr p; /* allocation is forbidden to the capturing thread only */
    OK(cuMemAlloc_v2(&p, 16));
    OK(cuMemFree_v2(p));
    NEED(cuCtxPopCurrent_v2(NULL));
    return NULL;
}

/* Calls that are forbidden while capturing, and invalidate the capture. */
static void test_violations(void) {
    CUgraph g;
    CUdeviceptr p;
    CUevent e;
    CUresult elsewhere = CUDA_SUCCESS;
    pthread_t thread;
    float v[N];
    CHECK_IS(begin(NULL), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    CHECK_IS(cuStreamEndCapture(s, &g), CUDA_ERROR_ILLEGAL_STATE);
    OK(begin(s));
    CHECK_IS(begin(s), CUDA_ERROR_ILLEGAL_STATE);
    CHECK_IS(cuMemAlloc_v2(&p, 16), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    CHECK_IS(launch(s, x, y), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    CHECK_IS(cuStreamEndCapture(s, &g), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    CHECK(g == NULL);
    OK(begin(s));
    CHECK_IS(cuStreamSynchronize(s), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    CHECK_IS(cuStreamEndCapture(s, &g), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    OK(begin(s));
    CHECK_IS(cuMemcpyDtoH_v2(v, x, sizeof v), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    CHECK_IS(cuStreamEndCapture(s, &g), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    OK(begin(s));
    CHECK_IS(cuCtxSynchronize(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    CHECK_IS(cuStreamEndCapture(s, &g), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    OK(begin(t)); /* t is a blocking stream: the legacy stream may not be used beside it */
    CHECK_IS(launch(NULL, x, y), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    CHECK_IS(cuStreamEndCapture(t, &g), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    OK(cuEventCreate(&e, 0));
    OK(cuEventRecord(e, t));
    OK(begin(s));
    CHECK_IS(cuStreamWaitEvent(s, e, 0), CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
    CHECK_IS(cuStreamEndCapture(s, &g), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    OK(cuEventDestroy_v2(e));
    OK(begin(s));
    pthread_create(&thread, NULL, end_elsewhere, &elsewhere);
    pthread_join(thread, NULL);
    CHECK_IS(elsewhere, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
    OK(cuStreamEndCapture(s, &g)); /* an empty graph */
    OK(cuGraphDestroy(g));
}

/* A graph whose memory is gone: reported when it runs. */
static void test_freed_memory(void) {
    CUgraph g;
    CUgraphExec e;
    CUdeviceptr gone = emu_upload(NULL, N * 4);
    OK(begin(s));
    OK(cuMemcpyDtoDAsync_v2(y, gone, N * 4, s));
    OK(cuStreamEndCapture(s, &g));
    OK(cuGraphInstantiateWithFlags(&e, g, 0));
    OK(cuMemFree_v2(gone));
    OK(cuGraphLaunch(e, s));
    CHECK_IS(cuStreamSynchronize(s), CUDA_ERROR_ILLEGAL_ADDRESS);
    CHECK(strstr(reid_emulator_report(), "has been freed") != NULL);
    CHECK_IS(cuGraphLaunch(e, s), CUDA_ERROR_ILLEGAL_ADDRESS); /* sticky */
    CHECK_IS(cuGraphExecDestroy(e), CUDA_ERROR_ILLEGAL_ADDRESS); /* and yet given back */
    CHECK_IS(cuGraphDestroy(g), CUDA_ERROR_ILLEGAL_ADDRESS);
}

int main(int argc, char **argv) {
    char sample[512], path[512];
    const char *folder = argc > 1 ? argv[1] : "tests/emulator";
    snprintf(sample, sizeof sample, "%s/sample.cu", folder);
    snprintf(path, sizeof path, "%s/bugs.cu", folder);
    emu_start();
    module = emu_module_of(sample, path, NULL);
    reverse = emu_function_of(module, "fine", 256);
    x = emu_upload(NULL, N * 4), y = emu_upload(NULL, N * 4), z = emu_upload(NULL, N * 4);
    OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&t, CU_STREAM_DEFAULT));
    test_capture_and_launch();
    test_fork_and_join();
    test_violations();
    CHECK_IS(reid_emulator_reports(), 0);
    test_freed_memory();
    CUresult sticks = CUDA_ERROR_ILLEGAL_ADDRESS;
    CHECK_IS(cuStreamDestroy_v2(s), sticks);
    CHECK_IS(cuStreamDestroy_v2(t), sticks);
    CHECK_IS(cuMemFree_v2(x), sticks);
    CHECK_IS(cuMemFree_v2(y), sticks);
    CHECK_IS(cuMemFree_v2(z), sticks);
    CHECK_IS(cuModuleUnload(module), sticks);
    emu_stop(NULL);
    emu_start(); /* a new context has no fault */
    x = emu_upload(NULL, 16);
    OK(cuMemFree_v2(x));
    emu_stop(NULL);
    return emu_done("test_graphs");
}
