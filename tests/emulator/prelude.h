/* prelude.h: the CUDA C++ that a kernel file sees when it runs on the CPU.

   THE CONTRACT FOR A KERNEL FILE
   1. It includes nothing and compiles as it is under NVRTC (11.2 to 13) and, with this file in front, under
      `g++ -std=gnu++17 -include prelude.h -x c++` and `clang++` likewise.
   2. Every inline-PTX instruction sits alone in a `__device__ __forceinline__` function named reid_..., inside one
      `#ifndef REID_EMULATOR ... #endif`. Here prelude_ptx.h supplies functions of the same names and meaning.
      Nothing else may test REID_EMULATOR: a kernel has one body.
   3. Kernels are `extern "C" __global__ void name(...)`, no templates (a template called by a kernel is fine), and are
      defined in the file. Parameters are passed by value: pointers, numbers, plain structs.
   4. Shared memory is one array at file scope, `extern __shared__ __align__(1024) unsigned char name[];`, carved up by
      the kernel. A static __shared__ variable is a compile error here.
   5. Blocks are a multiple of 32 threads. Warp-wide operations (shuffles, votes, mma, ldmatrix, __syncwarp) are reached
      by all 32 lanes, with the full mask. Barriers are reached by every thread that they count; if a thread has
      returned, or waits elsewhere, a deadlock is reported.
   6. No writable __device__ variable; tables are `__constant__` or `static const` with an initialiser. No float atomics
      (they make results depend on the order of threads), so only the integer ones exist here.
   7. `.shared` addresses (reid_shared_address) are opaque u32 offsets of a base aligned to 1024 bytes; zero is never
      valid. Memory is accessed through aligned pointers: a float4 at a multiple of 16.
   8. Data copied by cp.async exists after the thread's own wait and a barrier, not before; rows that an ldmatrix or an
      mma touches are written first (a copy with zero source bytes writes zeros), also where the result is unused.
   9. Blocks run in any order and must not wait for each other, unless they are of one cluster.
   10. Hopper: mbarrier.try_wait sits in a loop. Accumulators of wgmma are a local array of the kernel that lives until
      its wgmma.wait_group. The four warps of a warpgroup do the same wgmma and setmaxnreg.

   Supported besides the language: the declarations of this file, prelude_math.h, prelude_ptx.h and prelude_hopper.h. */
#ifndef REID_EMULATOR_PRELUDE_H
#define REID_EMULATOR_PRELUDE_H

#include "kernel_abi.h"

#ifndef REID_EMULATOR
#define REID_EMULATOR 1
#endif
#ifndef __CUDACC_RTC__
#define __CUDACC_RTC__ 1
#endif
#ifndef __CUDACC__
#define __CUDACC__ 1
#endif
#ifndef __CUDA_ARCH__
#define __CUDA_ARCH__ 900
#endif

/* ---- qualifiers ----
   While nvrtc_scan.c looks for kernels, the first three are left in the text: it reads and removes them. */
#ifndef REID_EMULATOR_SCAN
#define __global__
#define __launch_bounds__(...)
#define __shared__
#endif
#define __device__
#define __host__
#define __constant__ __attribute__((unused)) /* check mode reports a write to it */
#define __grid_constant__
#define __align__(n) __attribute__((aligned(n)))
#define __noinline__ __attribute__((noinline))
#ifdef REID_EMULATOR_DEBUG
#define __forceinline__ inline
#define REID_EMULATOR_FN static inline __attribute__((unused))
#else
#define __forceinline__ inline __attribute__((always_inline))
#define REID_EMULATOR_FN static inline __attribute__((always_inline, unused))
#endif
#define REID_EMULATOR_LINE int line = __builtin_LINE() /* the caller's line, for reports */

/* ---- types ---- */
typedef __SIZE_TYPE__ size_t;
typedef __PTRDIFF_TYPE__ ptrdiff_t;
typedef struct reid_emulator_uint3 uint3;
struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};
#define REID_EMULATOR_VECTORS(type, name)                                                                              \
    struct __attribute__((aligned(2 * sizeof(type)))) name##2 {                                                        \
        type x, y;                                                                                                     \
    };                                                                                                                 \
    struct __attribute__((aligned(4 * sizeof(type) > 16 ? 16 : 4 * sizeof(type)))) name##4 {                           \
        type x, y, z, w;                                                                                               \
    };                                                                                                                 \
    REID_EMULATOR_FN name##2 make_##name##2(type x, type y) { return name##2{x, y}; }                                  \
    REID_EMULATOR_FN name##4 make_##name##4(type x, type y, type z, type w) { return name##4{x, y, z, w}; }
REID_EMULATOR_VECTORS(signed char, char)
REID_EMULATOR_VECTORS(unsigned char, uchar)
REID_EMULATOR_VECTORS(short, short)
REID_EMULATOR_VECTORS(unsigned short, ushort)
REID_EMULATOR_VECTORS(int, int)
REID_EMULATOR_VECTORS(unsigned, uint)
REID_EMULATOR_VECTORS(float, float)
REID_EMULATOR_VECTORS(long long, longlong)
REID_EMULATOR_VECTORS(unsigned long long, ulonglong)
REID_EMULATOR_VECTORS(double, double)
#undef REID_EMULATOR_VECTORS
REID_EMULATOR_FN uint3 make_uint3(unsigned x, unsigned y, unsigned z) { return uint3{x, y, z}; }

/* ---- where a thread is: written by the scheduler before it runs a thread; in gdb, print threadIdx ---- */
static uint3 threadIdx, blockIdx;
static dim3 blockDim, gridDim;
static const int warpSize __attribute__((unused)) = 32;
static struct reid_emulator_calls reid_emulator; /* the emulator fills it in when it loads the module */

/* ---- barriers and warps ---- */
REID_EMULATOR_FN void __syncthreads(REID_EMULATOR_LINE) { reid_emulator.barrier(0, 0, line); }
REID_EMULATOR_FN void __threadfence(void) { reid_emulator.fence(); }
REID_EMULATOR_FN void __threadfence_block(void) {}
REID_EMULATOR_FN void __trap(REID_EMULATOR_LINE) { reid_emulator.trap(line); }

REID_EMULATOR_FN void __syncwarp(unsigned mask = 0xffffffffu, REID_EMULATOR_LINE) {
    struct reid_emulator_lane lane = {};
    reid_emulator.warp(REID_EMULATOR_SYNCWARP, mask, &lane, line);
}

template <class reid_t>
REID_EMULATOR_FN reid_t reid_emulator_shuffle(enum reid_emulator_op op, unsigned mask, reid_t value, unsigned other,
                                              int width, int line) {
    static_assert(sizeof(reid_t) == 4 || sizeof(reid_t) == 8, "a shuffle is of 32 or 64 bits");
    for (unsigned at = 0; at < sizeof(reid_t); at += 4) { /* a GPU, too, needs two instructions for 64 bits */
        struct reid_emulator_lane lane = {};
        __builtin_memcpy(&lane.value, (const char *)&value + at, 4);
        lane.lane = other;
        lane.width = (unsigned)width;
        reid_emulator.warp(op, mask, &lane, line);
        __builtin_memcpy((char *)&value + at, &lane.value, 4);
    }
    return value;
}

template <class reid_t>
REID_EMULATOR_FN reid_t __shfl_sync(unsigned mask, reid_t value, int from, int width = 32, REID_EMULATOR_LINE) {
    return reid_emulator_shuffle(REID_EMULATOR_SHFL_IDX, mask, value, (unsigned)from, width, line);
}

template <class reid_t>
REID_EMULATOR_FN reid_t __shfl_up_sync(unsigned mask, reid_t value, unsigned delta, int width = 32,
                                       REID_EMULATOR_LINE) {
    return reid_emulator_shuffle(REID_EMULATOR_SHFL_UP, mask, value, delta, width, line);
}

template <class reid_t>
REID_EMULATOR_FN reid_t __shfl_down_sync(unsigned mask, reid_t value, unsigned delta, int width = 32,
                                         REID_EMULATOR_LINE) {
    return reid_emulator_shuffle(REID_EMULATOR_SHFL_DOWN, mask, value, delta, width, line);
}

template <class reid_t>
REID_EMULATOR_FN reid_t __shfl_xor_sync(unsigned mask, reid_t value, int lanes, int width = 32, REID_EMULATOR_LINE) {
    return reid_emulator_shuffle(REID_EMULATOR_SHFL_XOR, mask, value, (unsigned)lanes, width, line);
}

REID_EMULATOR_FN unsigned __ballot_sync(unsigned mask, int predicate, REID_EMULATOR_LINE) {
    struct reid_emulator_lane lane = {};
    lane.value = predicate != 0;
    reid_emulator.warp(REID_EMULATOR_BALLOT, mask, &lane, line);
    return lane.value;
}

REID_EMULATOR_FN int __any_sync(unsigned mask, int predicate, REID_EMULATOR_LINE) {
    return __ballot_sync(mask, predicate, line) != 0;
}

REID_EMULATOR_FN int __all_sync(unsigned mask, int predicate, REID_EMULATOR_LINE) {
    return __ballot_sync(mask, !predicate, line) == 0;
}

/* ---- memory ---- */
template <class reid_t> REID_EMULATOR_FN reid_t __ldg(const reid_t *p) { return *p; }
template <class reid_t> REID_EMULATOR_FN reid_t __ldcg(const reid_t *p) { return *p; }
template <class reid_t> REID_EMULATOR_FN reid_t __ldcs(const reid_t *p) { return *p; }
template <class reid_t> REID_EMULATOR_FN void __stcg(reid_t *p, reid_t value) { *p = value; }
template <class reid_t> REID_EMULATOR_FN void __stcs(reid_t *p, reid_t value) { *p = value; }

#define REID_EMULATOR_ATOMICS(type)                                                                                    \
    REID_EMULATOR_FN type atomicAdd(type *p, type v, REID_EMULATOR_LINE) {                                             \
        return (type)reid_emulator.atomic(REID_EMULATOR_ADD, p, sizeof *p, (unsigned long long)v, 0, line);           \
    }                                                                                                                  \
    REID_EMULATOR_FN type atomicExch(type *p, type v, REID_EMULATOR_LINE) {                                            \
        return (type)reid_emulator.atomic(REID_EMULATOR_EXCHANGE, p, sizeof *p, (unsigned long long)v, 0, line);      \
    }                                                                                                                  \
    REID_EMULATOR_FN type atomicCAS(type *p, type compare, type v, REID_EMULATOR_LINE) {                               \
        return (type)reid_emulator.atomic(REID_EMULATOR_SWAP_IF, p, sizeof *p, (unsigned long long)v,                 \
                                           (unsigned long long)compare, line);                                         \
    }
REID_EMULATOR_ATOMICS(int)
REID_EMULATOR_ATOMICS(unsigned)
REID_EMULATOR_ATOMICS(unsigned long long)
#undef REID_EMULATOR_ATOMICS

REID_EMULATOR_FN unsigned atomicMax(unsigned *p, unsigned v, REID_EMULATOR_LINE) {
    return (unsigned)reid_emulator.atomic(REID_EMULATOR_MAX, p, 4, v, 0, line);
}
REID_EMULATOR_FN unsigned atomicMin(unsigned *p, unsigned v, REID_EMULATOR_LINE) {
    return (unsigned)reid_emulator.atomic(REID_EMULATOR_MIN, p, 4, v, 0, line);
}

extern "C" int printf(const char *, ...);

#include "prelude_math.h"
#include "prelude_ptx.h"
#include "prelude_hopper.h"
#include "prelude_hooks.h"

#endif
