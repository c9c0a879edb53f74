/* ceilings.cu: the best speeds of one GPU, with a kernel for each. The benchmark's percentages refer to these.

     nvcc -O2 -std=c++17 -gencode arch=compute_90a,code=sm_90a -DSM90A ceilings.cu -o ceilings -ldl  (Hopper)
     nvcc -O2 -std=c++17 -arch=native ceilings.cu -o ceilings -ldl                                  (others, from sm_80)
     ./ceilings --groups      the names of the groups of measurements
     ./ceilings GROUP         JSON lines on stdout, a table on stderr
     ./ceilings --start       only: how long the driver takes to start, as JSON

   Every figure is the median of many timings by events, after a warm-up, on random numbers: zeros toggle fewer wires
   and run faster. */
#include "measure.h"

#include <dlfcn.h>
#include <time.h>

#ifdef SM90A
#include "wgmma.h"
#endif

static double now_ms() {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

/* Times cuInit and the primary context, the part of a cold start that no library can avoid. Call it before any other
   call. Returns 0 when there is no driver. */
static int start_driver(double ms[2]) {
    int (*init)(unsigned), (*retain)(void **, int);
    void *context, *driver = dlopen("libcuda.so.1", RTLD_NOW), *symbols[2] = {NULL, NULL};
    if (driver) symbols[0] = dlsym(driver, "cuInit"), symbols[1] = dlsym(driver, "cuDevicePrimaryCtxRetain");
    if (!symbols[0] || !symbols[1]) return 0;
    memcpy(&init, &symbols[0], sizeof init);
    memcpy(&retain, &symbols[1], sizeof retain);
    double from = now_ms();
    if (init(0) != 0) return 0;
    ms[0] = now_ms() - from;
    if (retain(&context, 0) != 0) return 0;
    ms[1] = now_ms() - from - ms[0];
    return 1;
}

/* ---- memory ---- */
__global__ void fill_random(uint4 *p, size_t count, unsigned seed) {
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count; i += (size_t)gridDim.x * blockDim.x) {
        unsigned x[4];
        for (int k = 0; k < 4; k++) {
            unsigned h = (unsigned)i * 4 + k + seed;
            h = (h ^ h >> 16) * 0x7feb352du;
            h = (h ^ h >> 15) * 0x846ca68bu;
            x[k] = h ^ h >> 16;
        }
        p[i] = make_uint4(x[0], x[1], x[2], x[3]);
    }
}

/* Pairs of fp16 in +-(0.25 … 0.5): finite, and sums stay small. */
__global__ void fill_halves(unsigned *p, size_t count) {
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count; i += (size_t)gridDim.x * blockDim.x)
        p[i] = (p[i] & 0x83ff83ffu) | 0x34003400u;
}

__global__ void copy(const uint4 *from, uint4 *to, size_t count) {
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count; i += (size_t)gridDim.x * blockDim.x)
        to[i] = from[i];
}

/* Reads p repeatedly, bypassing the L1 caches, with eight loads in flight in each thread. Each pass begins elsewhere,
   so that no multiprocessor reads the same lines again. */
__global__ void __launch_bounds__(512) read_l2(const uint4 *p, unsigned count, unsigned loads, unsigned *out) {
    unsigned sum = 0, step = gridDim.x * 512, at = blockIdx.x * 512 + threadIdx.x, i = at;
    for (unsigned k = 0; k < loads; k += 8) {
        uint4 v[8];
#pragma unroll
        for (int u = 0; u < 8; u++) {
            v[u] = __ldcg(p + i);
            i += step;
            if (i >= count) i -= count;
        }
#pragma unroll
        for (int u = 0; u < 8; u++) sum ^= v[u].x ^ v[u].y ^ v[u].z ^ v[u].w;
    }
    out[at] = sum;
}

__global__ void __launch_bounds__(1024) read_shared(const unsigned *numbers, unsigned rounds, unsigned *out) {
    __shared__ uint4 tile[2048];
    uint4 sum = make_uint4(0, 0, 0, 0);
    for (unsigned i = threadIdx.x; i < 2048; i += 1024)
        tile[i] = make_uint4(numbers[i], numbers[i + 1], numbers[i + 2], numbers[i + 3]);
    __syncthreads();
    unsigned base = (unsigned)__cvta_generic_to_shared(tile), at = threadIdx.x * 16;
#pragma unroll 8
    for (unsigned k = 0; k < rounds; k++) {
        uint4 v;
        asm volatile("ld.shared.v4.u32 {%0,%1,%2,%3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                     : "r"(base + ((at + k * 512) & 32767)));
        sum.x ^= v.x, sum.y ^= v.y, sum.z ^= v.z, sum.w ^= v.w;
    }
    out[blockIdx.x * 1024 + threadIdx.x] = sum.x ^ sum.y ^ sum.z ^ sum.w;
}

static void measure_memory(const gpu &g) {
    size_t free_bytes, total, bytes = (size_t)1 << 30;
    char *from, *to, name[64], what[96];
    CHECK(cudaMemGetInfo(&free_bytes, &total));
    while (bytes * 3 > free_bytes) bytes /= 2;
    CHECK(cudaMalloc(&from, bytes));
    CHECK(cudaMalloc(&to, bytes));
    fill_random<<<g.multiprocessors * 8, 256>>>((uint4 *)from, bytes / 16, 1);
    fill_random<<<g.multiprocessors * 8, 256>>>((uint4 *)to, bytes / 16, 2);
    double ms = median_ms(15, [&] { CHECK(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice)); });
    result("copy_driver", 2e-9 * (double)bytes / ms, "TB/s", "cudaMemcpy on the device, read plus written");
    ms = median_ms(15, [&] { copy<<<g.multiprocessors * 16, 512>>>((uint4 *)from, (uint4 *)to, bytes / 16); });
    result("copy_kernel", 2e-9 * (double)bytes / ms, "TB/s", "a kernel of 16-byte loads and stores");
    result("dram_bytes_per_second", 2e3 * (double)bytes / ms, "bytes/s", "the same, read plus written");
    for (int mb = 10; mb <= 40; mb *= 2) {
        unsigned blocks = (unsigned)g.multiprocessors * 2, loads = 400, count = ((unsigned)mb << 20) / 16;
        ms = median_ms(15, [&] { read_l2<<<blocks, 512>>>((uint4 *)from, count, loads, (unsigned *)to); });
        snprintf(name, sizeof name, "l2_read_%dmb", mb);
        snprintf(what, sizeof what, "%d MiB read again and again; L2 is %.0f MB", mb, 1e-6 * g.l2_bytes);
        result(name, 16e-9 * blocks * 512.0 * loads / ms, "TB/s", what);
    }
    unsigned rounds = 20000, blocks = (unsigned)g.multiprocessors * 2;
    ms = median_ms(15, [&] { read_shared<<<blocks, 1024>>>((unsigned *)from, rounds, (unsigned *)to); });
    result("shared_read", 16e-9 * blocks * 1024.0 * rounds / ms, "TB/s", "16-byte loads, all multiprocessors");
    CHECK(cudaFree(from));
    CHECK(cudaFree(to));
}

/* ---- arithmetic ---- */
__global__ void __launch_bounds__(256) run_ffma(const float *numbers, float *out, int rounds) {
    float sum[16], a = numbers[threadIdx.x], b = numbers[threadIdx.x + 256];
#pragma unroll
    for (int i = 0; i < 16; i++) sum[i] = numbers[i];
#pragma unroll 8
    for (int r = 0; r < rounds; r++)
#pragma unroll
        for (int i = 0; i < 16; i++) sum[i] = fmaf(sum[i], a, b);
#pragma unroll
    for (int i = 1; i < 16; i++) sum[0] += sum[i];
    out[blockIdx.x * 256 + threadIdx.x] = sum[0];
}

__device__ static float silu_exp(float x) { /* x / (1 + 2^(-x log2 e)): two special-function instructions */
    float e, r;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(e) : "f"(-1.4426950409f * x));
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(1.0f + e));
    return x * r;
}

__device__ static float silu_tanh(float x) { /* x / 2 (1 + tanh(x / 2)): one */
    float t, h = 0.5f * x;
    asm("tanh.approx.f32 %0, %1;" : "=f"(t) : "f"(h));
    return fmaf(h, t, h);
}

template <bool by_tanh> __global__ void __launch_bounds__(256) run_silu(const float *numbers, float *out, int rounds) {
    float x[8], b = numbers[threadIdx.x + 256];
#pragma unroll
    for (int i = 0; i < 8; i++) x[i] = numbers[threadIdx.x + i];
#pragma unroll 4
    for (int r = 0; r < rounds; r++)
#pragma unroll
        for (int i = 0; i < 8; i++) x[i] = (by_tanh ? silu_tanh(x[i]) : silu_exp(x[i])) + b;
#pragma unroll
    for (int i = 1; i < 8; i++) x[0] += x[i];
    out[blockIdx.x * 256 + threadIdx.x] = x[0];
}

__global__ void __launch_bounds__(256) run_mma(const unsigned *numbers, float *out, int rounds) {
    float d[16][4] = {};
    unsigned a[4], b[2];
    for (int i = 0; i < 4; i++) a[i] = numbers[threadIdx.x + i * 256];
    for (int i = 0; i < 2; i++) b[i] = numbers[threadIdx.x + 1024 + i * 256];
#pragma unroll 2
    for (int r = 0; r < rounds; r++)
#pragma unroll
        for (int i = 0; i < 16; i++)
            asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                         "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                         : "+f"(d[i][0]), "+f"(d[i][1]), "+f"(d[i][2]), "+f"(d[i][3])
                         : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#pragma unroll
    for (int i = 1; i < 16; i++) d[0][0] += d[i][0] + d[i][1] + d[i][2] + d[i][3];
    out[blockIdx.x * 256 + threadIdx.x] = d[0][0];
}

#ifdef SM90A
/* Two warpgroups each multiply their own 64 x 64 slices of A with an n x 64 slice of B, from three stages in turn, all
   in the 128-byte swizzle; or with A in registers. There are no copies: this measures the tensor cores and their reads
   alone. */
template <int n, bool registers, bool brain> __global__ void __launch_bounds__(256)
run_wgmma(const uint4 *numbers, float *out, int rounds) {
    extern __shared__ __align__(1024) unsigned char slices[];
    const unsigned a_bytes = 64 * 128, b_bytes = n * 128, stage = 2 * a_bytes + b_bytes;
    for (unsigned i = threadIdx.x; i < 3 * stage / 16; i += blockDim.x) ((uint4 *)slices)[i] = numbers[i % 65536];
    fence_async_proxy();
    __syncthreads();
    float d[n / 2];
    unsigned base = (unsigned)__cvta_generic_to_shared(slices), a[4];
#pragma unroll
    for (int i = 0; i < n / 2; i++) d[i] = 0;
    for (int i = 0; i < 4; i++) a[i] = ((const unsigned *)numbers)[threadIdx.x * 4 + i];
    for (int r = 0; r < rounds; r++) {
        unsigned at = base + r % 3 * stage;
        descriptor a_at = describe(at + threadIdx.x / 128 * a_bytes, 16, 1024, true);
        descriptor b_at = describe(at + 2 * a_bytes, 16, 1024, true);
        wgmma_fence();
#pragma unroll
        for (int k = 0; k < 4; k++) { /* 16 halves are 32 bytes further: 2 in a descriptor */
            if (registers) wgmma<n, brain>::from_registers(d, a, b_at + 2 * k);
            else wgmma<n, brain>::from_shared(d, a_at + 2 * k, b_at + 2 * k);
        }
        wgmma_commit();
        wgmma_wait<1>(); /* the tensor cores have the next group before this one is done */
    }
    wgmma_wait<0>();
#pragma unroll
    for (int i = 1; i < n / 2; i++) d[0] += d[i];
    out[blockIdx.x * blockDim.x + threadIdx.x] = d[0];
}

template <int n, bool registers, bool brain>
static void measure_wgmma(const gpu &g, const uint4 *halves, float *out) {
    char name[64];
    int rounds = 4000, threads = 256, shared = 3 * (2 * 64 * 128 + n * 128), per_multiprocessor = 0;
    auto *kernel = run_wgmma<n, registers, brain>;
    CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared));
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_multiprocessor, kernel, threads, shared));
    int blocks = g.multiprocessors * std::max(1, per_multiprocessor);
    double ms = median_ms(11, [&] { kernel<<<blocks, threads, shared>>>(halves, out, rounds); });
    snprintf(name, sizeof name, "wgmma_n%d_%s%s", n, registers ? "registers" : "shared", brain ? "_bf16" : "");
    result(name, 2e-9 * 64 * n * 64 * rounds * blocks * 2 / ms, "TFLOP/s",
           registers ? "m64nNk16, A in registers" : "m64nNk16, A in shared memory");
}
#endif

static void measure_arithmetic(const gpu &g) {
    unsigned *halves;
    float *numbers, *out;
    std::vector<float> small(1024);
    int blocks = g.multiprocessors * 8, rounds = 4096;
    for (size_t i = 0; i < small.size(); i++) small[i] = 0.25f + 0.5f * (float)(i * 2654435761u % 65536) / 65536;
    CHECK(cudaMalloc(&halves, 1 << 20));
    CHECK(cudaMalloc(&numbers, small.size() * sizeof(float)));
    CHECK(cudaMalloc(&out, (size_t)blocks * 256 * sizeof(float)));
    CHECK(cudaMemcpy(numbers, small.data(), small.size() * sizeof(float), cudaMemcpyHostToDevice));
    fill_random<<<64, 256>>>((uint4 *)halves, (1 << 20) / 16, 3);
    fill_halves<<<64, 256>>>(halves, (1 << 20) / 4);
    double each = (double)blocks * 256 * rounds;
    double ms = median_ms(15, [&] { run_ffma<<<blocks, 256>>>(numbers, out, rounds); });
    result("ffma", 2e-9 * each * 16 / ms, "TFLOP/s", "fp32 multiply-adds from registers");
    ms = median_ms(15, [&] { run_silu<false><<<blocks, 256>>>(numbers, out, rounds / 4); });
    result("silu_ex2_rcp", 1e-9 * each / 4 * 8 / ms, "T/s", "SiLU by ex2 and rcp, evaluations");
    ms = median_ms(15, [&] { run_silu<true><<<blocks, 256>>>(numbers, out, rounds / 4); });
    result("silu_tanh", 1e-9 * each / 4 * 8 / ms, "T/s", "SiLU by tanh.approx, evaluations");
    ms = median_ms(15, [&] { run_mma<<<blocks, 256>>>(halves, out, rounds); });
    result("mma_m16n8k16", 2e-9 * each / 32 * 16 * 16 * 8 * 16 / ms, "TFLOP/s", "mma.sync fp16 to fp32 from registers");
#ifdef SM90A
    const uint4 *operands = (const uint4 *)halves;
    measure_wgmma<64, false, false>(g, operands, out);
    measure_wgmma<128, false, false>(g, operands, out);
    measure_wgmma<256, false, false>(g, operands, out);
    measure_wgmma<64, true, false>(g, operands, out);
    measure_wgmma<128, true, false>(g, operands, out);
    measure_wgmma<256, true, false>(g, operands, out);
    measure_wgmma<256, false, true>(g, operands, out); /* the same halves as bf16: as fast, if data has no effect */
#endif
    CHECK(cudaFree(halves));
    CHECK(cudaFree(numbers));
    CHECK(cudaFree(out));
}

/* ---- launching ---- */
__global__ void trivial(unsigned *p) {
    if (threadIdx.x == 0) p[blockIdx.x]++;
}

/* Like trivial, with programmatic dependent launch: the next kernel may start at once, and waits before it touches
   memory. */
__global__ void trivial_dependent(unsigned *p) {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
    if (threadIdx.x == 0) p[blockIdx.x]++;
}

static void launch_trivial(cudaStream_t stream, unsigned blocks, bool dependent, unsigned *p) {
    cudaLaunchConfig_t config = {};
    cudaLaunchAttribute attribute = {};
    config.gridDim = dim3(blocks), config.blockDim = dim3(128), config.stream = stream;
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    config.attrs = &attribute, config.numAttrs = dependent ? 1 : 0;
    CHECK(cudaLaunchKernelEx(&config, dependent ? trivial_dependent : trivial, p));
}

/* Microseconds for each node of a chain of 200 trivial kernels in one graph. */
static double graph_node_us(unsigned blocks, bool dependent, unsigned *p) {
    enum { NODES = 200 };
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    cudaEvent_t from, to;
    std::vector<float> times;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    for (int i = 0; i < NODES; i++) launch_trivial(stream, blocks, dependent, p);
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiateWithFlags(&executable, graph, 0));
    CHECK(cudaEventCreate(&from));
    CHECK(cudaEventCreate(&to));
    for (int i = -5; i < 31; i++) {
        float ms;
        CHECK(cudaEventRecord(from, stream));
        CHECK(cudaGraphLaunch(executable, stream));
        CHECK(cudaEventRecord(to, stream));
        CHECK(cudaEventSynchronize(to));
        CHECK(cudaEventElapsedTime(&ms, from, to));
        if (i >= 0) times.push_back(ms);
    }
    CHECK(cudaEventDestroy(from));
    CHECK(cudaEventDestroy(to));
    CHECK(cudaGraphExecDestroy(executable));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaStreamDestroy(stream));
    std::sort(times.begin(), times.end());
    return 1e3 * times[times.size() / 2] / NODES;
}

/* All blocks are resident (a cooperative launch): each arrives, then waits until all blocks have arrived in this
   round. */
__global__ void grid_barriers(unsigned *arrived, unsigned rounds) {
    volatile unsigned *seen = arrived;
    for (unsigned r = 1; r <= rounds; r++) {
        __syncthreads();
        if (threadIdx.x == 0) {
            __threadfence();
            atomicAdd(arrived, 1);
            while (*seen < r * gridDim.x) {
            }
            __threadfence();
        }
        __syncthreads();
    }
}

static void measure_launching(const gpu &g) {
    unsigned *p, rounds = 1000, all = (unsigned)g.multiprocessors;
    int cooperative;
    CHECK(cudaMalloc(&p, 1 << 20));
    CHECK(cudaMemset(p, 0, 1 << 20));
    result("graph_node_1", graph_node_us(1, false, p), "us", "a node of a graph, one block");
    result("graph_node_all", graph_node_us(all, false, p), "us", "a node of a graph, a block on each multiprocessor");
    if (g.major >= 9) {
        result("graph_node_pdl_1", graph_node_us(1, true, p), "us", "with programmatic dependent launch, one block");
        result("graph_node_pdl_all", graph_node_us(all, true, p), "us", "with programmatic dependent launch, all");
    }
    double ms = median_ms(15, [&] {
        for (int i = 0; i < 1000; i++) trivial<<<1, 128>>>(p);
    });
    result("launch_throughput", ms, "us", "a kernel launched after another, on a stream"); /* 1000 of them: ms is us */
    CHECK(cudaDeviceSynchronize());
    std::vector<double> waits;
    for (int i = 0; i < 200; i++) {
        double from = now_ms();
        trivial<<<1, 128>>>(p);
        CHECK(cudaDeviceSynchronize());
        waits.push_back(1e3 * (now_ms() - from));
    }
    std::sort(waits.begin(), waits.end());
    result("launch_and_wait", waits[waits.size() / 2], "us", "one launch and its synchronisation, seen by the host");
    CHECK(cudaDeviceGetAttribute(&cooperative, cudaDevAttrCooperativeLaunch, 0));
    if (cooperative) {
        void *arguments[] = {&p, &rounds};
        ms = median_ms(15, [&] {
            CHECK(cudaMemsetAsync(p, 0, 4));
            CHECK(cudaLaunchCooperativeKernel((const void *)grid_barriers, dim3(all), dim3(256), arguments, 0, 0));
        });
        result("grid_barrier", 1e3 * ms / rounds, "us", "a barrier of all blocks, one on each multiprocessor");
    }
    CHECK(cudaFree(p));
}

/* Reports what start_driver measured. */
static void measure_start(const double ms[2]) {
    result("cuinit", ms[0], "ms", "cuInit, first call of the process");
    result("retain", ms[1], "ms", "cuDevicePrimaryCtxRetain after it");
}

static const struct {
    const char *name;
    void (*measure)(const gpu &g); /* NULL: the driver's start */
} GROUPS[] = {{"start", NULL}, {"memory", measure_memory}, {"arithmetic", measure_arithmetic},
              {"launching", measure_launching}};
enum { GROUP_COUNT = sizeof GROUPS / sizeof GROUPS[0] };

int main(int argc, char **argv) {
    double start[2];
    const char *what = argc == 2 ? argv[1] : "";
    int group = 0;
    if (!strcmp(what, "--groups")) {
        for (int i = 0; i < GROUP_COUNT; i++) puts(GROUPS[i].name);
        return 0;
    }
    while (group < GROUP_COUNT && strcmp(what, GROUPS[group].name) != 0) group++;
    if (group == GROUP_COUNT && strcmp(what, "--start") != 0) {
        fprintf(stderr, "usage: %s --groups | --start | GROUP\n", argv[0]);
        return 2;
    }
    if (!start_driver(start)) {
        fprintf(stderr, "ceilings: there is no NVIDIA driver here, or it finds no GPU\n");
        return 1;
    }
    if (group == GROUP_COUNT) {
        printf("{\"cuinit_ms\": %.3f, \"retain_ms\": %.3f}\n", start[0], start[1]);
        return 0;
    }
    if (GROUPS[group].measure) GROUPS[group].measure(open_gpu());
    else measure_start(start);
    CHECK(cudaDeviceSynchronize());
    return 0;
}
