/* measure.h: code shared by the programs of this folder: checked calls, JSON, medians of event timings. */
#ifndef REID_GPU_MEASURE_H
#define REID_GPU_MEASURE_H

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define CHECK(call)                                                                                                    \
    do {                                                                                                               \
        cudaError_t result = (call);                                                                                   \
        if (result != cudaSuccess) {                                                                                   \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(result));                 \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

struct gpu {
    int multiprocessors, l2_bytes, shared_optin, major, minor;
    char name[256];
};

/* Prints a line of JSON to stdout, unbuffered, and a line of a table to stderr. */
static inline void result(const char *name, double value, const char *unit, const char *what) {
    printf("{\"name\": \"%s\", \"value\": %.6g, \"unit\": \"%s\", \"what\": \"%s\"}\n", name, value, unit, what);
    fflush(stdout);
    fprintf(stderr, "%-38s %12.4g %-10s %s\n", name, value, unit, what);
}

static inline gpu open_gpu() {
    gpu g;
    cudaDeviceProp properties;
    CHECK(cudaSetDevice(0));
    CHECK(cudaGetDeviceProperties(&properties, 0));
    snprintf(g.name, sizeof g.name, "%s", properties.name);
    g.major = properties.major, g.minor = properties.minor;
    CHECK(cudaDeviceGetAttribute(&g.multiprocessors, cudaDevAttrMultiProcessorCount, 0));
    CHECK(cudaDeviceGetAttribute(&g.l2_bytes, cudaDevAttrL2CacheSize, 0));
    CHECK(cudaDeviceGetAttribute(&g.shared_optin, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
    return g;
}

/* Milliseconds: median of `runs` timings of work() by events, after three warm-up runs. */
template <class work_t> static double median_ms(int runs, work_t work) {
    cudaEvent_t from, to;
    std::vector<float> ms;
    CHECK(cudaEventCreate(&from));
    CHECK(cudaEventCreate(&to));
    for (int i = -3; i < runs; i++) {
        float taken;
        CHECK(cudaEventRecord(from));
        work();
        CHECK(cudaEventRecord(to));
        CHECK(cudaEventSynchronize(to));
        CHECK(cudaGetLastError());
        CHECK(cudaEventElapsedTime(&taken, from, to));
        if (i >= 0) ms.push_back(taken);
    }
    CHECK(cudaEventDestroy(from));
    CHECK(cudaEventDestroy(to));
    std::sort(ms.begin(), ms.end());
    return ms[ms.size() / 2];
}

#endif
