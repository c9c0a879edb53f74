/* test_streams.c: work in a stream happens late, in order, and not before it is waited for.
   Usage: test_streams FOLDER */
#include "emu_test.h"

enum { N = 128 };
static CUmodule module;
static CUfunction reverse;
static CUdeviceptr in, out;
static float *pinned;

static CUresult launch(CUstream stream) {
    int n = N;
    void *params[] = {&in, &out, &n};
    return cuLaunchKernel(reverse, 2, 1, 1, 64, 1, 1, 256, stream, params, NULL);
}

static int is_fresh(const float *p) { /* what the emulator fills a pending destination with */
    uint32_t u;
    memcpy(&u, p, 4);
    return u == 0xffffffffu;
}

static void fill(float *p, float start) {
    for (int i = 0; i < N; i++) p[i] = start + (float)i;
}

static int holds_reversed(const float *p, float start) {
    for (int i = 0; i < N; i++)
        if (fabsf(p[i] - (start + (float)(i / 64 * 64 + 63 - i % 64))) > 0.0f) return 0;
    return 1;
}

static void test_late(void) {
    CUstream s;
    float pageable[N], got[N];
    OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    fill(pinned, 100), fill(got, 0);
    OK(cuMemcpyHtoDAsync_v2(in, pinned, N * 4, s)); /* pinned: read when the copy happens */
    OK(launch(s));
    OK(cuMemcpyDtoHAsync_v2(got, out, N * 4, s));
    CHECK(is_fresh(&got[0]) && is_fresh(&got[N - 1]));
    fill(pinned, 200); /* too early: the copy will see it */
    CHECK_IS(cuStreamQuery(s), CUDA_ERROR_NOT_READY);
    OK(cuStreamSynchronize(s));
    CHECK(holds_reversed(got, 200));
    OK(cuStreamQuery(s));

    fill(pageable, 300);
    OK(cuMemcpyHtoDAsync_v2(in, pageable, N * 4, s)); /* pageable: taken at once */
    fill(pageable, 400);
    OK(launch(s));
    OK(cuMemcpyDtoHAsync_v2(pinned, out, N * 4, s));
    CHECK(is_fresh(pinned));
    while (cuStreamQuery(s) == CUDA_ERROR_NOT_READY) continue; /* polling comes to an end */
    CHECK(holds_reversed(pinned, 300));
    OK(cuStreamDestroy_v2(s));
    CHECK_IS(cuStreamSynchronize(s), CUDA_ERROR_INVALID_HANDLE);
}

/* The legacy stream waits for blocking streams, and for no others. */
static void test_legacy(void) {
    CUstream blocking, free_running;
    float got[N];
    OK(cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
    OK(cuStreamCreateWithPriority(&free_running, CU_STREAM_NON_BLOCKING, 0));
    CHECK_IS(cuStreamCreate(&blocking, 2), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemsetD8_v2(out, 0, N * 4));
    OK(cuMemsetD32Async(out, 0x3f800000, N, free_running));
    OK(cuMemcpyDtoH_v2(got, out, N * 4));
    CHECK(fabsf(got[5]) <= 0.0f); /* the memset has not happened */
    OK(cuMemsetD32Async(out, 0x40000000, N, blocking));
    OK(cuMemcpyDtoH_v2(got, out, N * 4));
    CHECK(fabsf(got[5] - 2.0f) <= 0.0f);
    OK(cuCtxSynchronize()); /* all streams */
    OK(cuMemcpyDtoH_v2(got, out, N * 4));
    CHECK(fabsf(got[5] - 1.0f) <= 0.0f);
    OK(cuStreamDestroy_v2(blocking));
    OK(cuStreamDestroy_v2(free_running));
}

static void test_events(void) {
    CUstream a, b;
    CUevent e, timed, never;
    float got[N], ms = -1;
    OK(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
    OK(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
    OK(cuEventCreate(&timed, CU_EVENT_DEFAULT));
    OK(cuEventCreate(&never, CU_EVENT_DEFAULT));
    OK(cuMemsetD32Async(out, 0x3f800000, N, a));
    OK(cuEventRecord(e, a));
    OK(cuMemsetD32Async(out, 0x40400000, N, a)); /* after the event: b does not wait for it */
    OK(cuStreamWaitEvent(b, e, 0));
    OK(cuEventRecord(e, b)); /* recorded again: b's wait is for the first recording */
    OK(cuMemcpyDtoHAsync_v2(got, out, N * 4, b));
    CHECK_IS(cuEventQuery(e), CUDA_ERROR_NOT_READY);
    OK(cuStreamSynchronize(b));
    CHECK(fabsf(got[7] - 1.0f) <= 0.0f);
    OK(cuEventQuery(e));
    OK(cuEventQuery(never));
    OK(cuEventSynchronize(never));
    OK(cuStreamWaitEvent(a, never, 0));
    OK(cuEventRecord(timed, a));
    OK(cuEventRecord(never, a));
    CHECK_IS(cuEventElapsedTime(&ms, timed, never), CUDA_ERROR_NOT_READY);
    OK(cuEventSynchronize(never));
    OK(cuEventElapsedTime(&ms, timed, never));
    CHECK(ms >= 0 && ms < 1000);
    CHECK_IS(cuEventElapsedTime_v2(&ms, e, never), CUDA_ERROR_INVALID_HANDLE);
    OK(cuMemcpyDtoH_v2(got, out, N * 4));
    CHECK(fabsf(got[7] - 3.0f) <= 0.0f);
    OK(cuEventRecord(e, a));
    OK(cuEventDestroy_v2(e)); /* while its recording is pending */
    CHECK_IS(cuEventRecord(e, a), CUDA_ERROR_INVALID_HANDLE);
    OK(cuStreamDestroy_v2(a));
    OK(cuStreamDestroy_v2(b));
    OK(cuEventDestroy_v2(timed));
    OK(cuEventDestroy_v2(never));
}

/* Without the event, the order of two streams is undefined, and some seed must show the wrong one. */
static void test_missing_event(void) {
    CUstream a, b;
    int early = 0;
    float got[N];
    OK(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
    for (int i = 0; i < 40; i++) {
        OK(cuMemsetD8_v2(out, 0, N * 4));
        OK(cuMemsetD32Async(out, 0x3f800000, N, a));
        OK(cuMemcpyDtoHAsync_v2(got, out, N * 4, b));
        OK(cuCtxSynchronize());
        early += fabsf(got[0]) <= 0.0f;
    }
    CHECK(early > 0 && early < 40);
    OK(cuStreamDestroy_v2(a));
    OK(cuStreamDestroy_v2(b));
}

/* A destination that a pending copy still reads from keeps its content. */
static void test_staging_reuse(void) {
    CUstream s;
    OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    fill(pinned, 500);
    OK(cuMemcpyHtoDAsync_v2(in, pinned, N * 4, s));
    OK(launch(s));
    OK(cuMemcpyDtoHAsync_v2(pinned, out, N * 4, s));
    OK(cuStreamSynchronize(s));
    CHECK(holds_reversed(pinned, 500));
    OK(cuStreamDestroy_v2(s));
}

int main(int argc, char **argv) {
    char sample[512], path[512];
    const char *folder = argc > 1 ? argv[1] : "tests/emulator";
    snprintf(sample, sizeof sample, "%s/sample.cu", folder);
    snprintf(path, sizeof path, "%s/bugs.cu", folder);
    emu_start();
    module = emu_module_of(sample, path, NULL);
    reverse = emu_function_of(module, "fine", 256);
    in = emu_upload(NULL, N * 4), out = emu_upload(NULL, N * 4);
    NEED(cuMemHostAlloc((void **)&pinned, N * 4, 0));
    test_late();
    test_legacy();
    test_events();
    test_missing_event();
    test_staging_reuse();
    OK(cuMemFreeHost(pinned));
    OK(cuMemFree_v2(in));
    OK(cuMemFree_v2(out));
    CHECK_IS(reid_emulator_reports(), 0);
    emu_stop(module);
    return emu_done("test_streams");
}
