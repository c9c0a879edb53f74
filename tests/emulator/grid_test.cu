/* grid_test.cu: kernels for test_grid.c; they are compiled with hopper.cuh, which has the wrappers, in front of them.
   The kernels named unit_... show what the instructions do, the others have one bug each. The real NVRTC compiles them,
   too. */

#ifndef REID_EMULATOR
__device__ __forceinline__ void reid_cp_async_4(unsigned to, const void *from, unsigned source_bytes) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to), "l"(from), "r"(source_bytes) : "memory");
}
__device__ __forceinline__ void reid_cp_async_wait_all() { asm volatile("cp.async.wait_all;" ::: "memory"); }
#endif

/* ---- launches that overlap. Each reverses n values and adds one: out[i] = in[n - 1 - i] + 1. Blocks of 64. ---- */
enum { FINE, NO_WAIT, LATE_WAIT, SOME_WAIT, EARLY_WRITE, EARLY_COPY, EARLY_BULK, NO_TRIGGER, OLD_READ, WAIT_TWICE };

template <int bug> __device__ __forceinline__ void step(const float *in, const float *more, float *out, int n) {
    float *words = (float *)reid_shared;
    unsigned base = reid_shared_address(reid_shared), bar = base + 512;
    int i = blockIdx.x * 64 + threadIdx.x, from = n - 1 - i, first = n - 64 - blockIdx.x * 64;
    float early = 0.0f;
    if (bug != NO_TRIGGER) reid_griddepcontrol_launch_dependents();
    if (threadIdx.x == 0) reid_mbarrier_init(bar, 1);
    reid_fence_mbarrier_init();
    __syncthreads();
    if (bug == LATE_WAIT) early = in[from];
    if (bug == OLD_READ) early = more[i];
    if (bug == EARLY_WRITE) out[i] = 0.0f;
    if (bug == EARLY_COPY) reid_cp_async_4(base + threadIdx.x * 4, in + from, 4);
    if (bug == EARLY_BULK && threadIdx.x == 0) {
        reid_mbarrier_arrive_expect_tx(bar, 256);
        reid_bulk_load(base, in + first, 256, bar);
    }
    if (bug == SOME_WAIT ? threadIdx.x < 32 : bug != NO_WAIT && bug != NO_TRIGGER) reid_griddepcontrol_wait();
    if (bug == WAIT_TWICE) reid_griddepcontrol_wait();
    if (bug == EARLY_COPY) {
        reid_cp_async_wait_all();
        out[i] = words[threadIdx.x] + 1.0f;
    } else if (bug == EARLY_BULK) {
        while (!reid_mbarrier_try_wait(bar, 0)) continue;
        out[i] = words[63 - threadIdx.x] + 1.0f;
    } else if (bug == OLD_READ) {
        out[i] = in[from] + 1.0f + (early - more[i]);
    } else {
        out[i] = (bug == LATE_WAIT ? early : in[from]) + 1.0f;
    }
}

#define STEP(name, bug)                                                                                                \
    extern "C" __global__ void name(const float *in, const float *more, float *out, int n) {                           \
        step<bug>(in, more, out, n);                                                                                   \
    }
STEP(step_fine, FINE)
STEP(step_no_wait, NO_WAIT)
STEP(step_late_wait, LATE_WAIT)
STEP(step_some_wait, SOME_WAIT)
STEP(step_early_write, EARLY_WRITE)
STEP(step_early_copy, EARLY_COPY)
STEP(step_early_bulk, EARLY_BULK)
STEP(step_no_trigger, NO_TRIGGER)
STEP(step_old_read, OLD_READ)
STEP(step_wait_twice, WAIT_TWICE)

/* Says when its blocks begin and when they are behind the wait; log[0] counts. */
extern "C" __global__ void unit_order(unsigned *log, unsigned which, int trigger) {
    if (threadIdx.x) return;
    if (trigger) reid_griddepcontrol_launch_dependents();
    log[1 + atomicAdd(log, 1u)] = which * 4;
    reid_griddepcontrol_wait();
    log[1 + atomicAdd(log, 1u)] = which * 4 + 1;
}
