/* reid_kernels.cu - the GPU kernels of reid.h.

   Compiled at run time by NVRTC, one program for each distinct operation: shapes, strides, tiles and epilogues are
   constants given by -D; the batch is an argument. The file includes nothing, so it needs NVRTC but no toolkit.
   Public domain or MIT-0, as you prefer: see LICENSE.

   Activations are NHWC with channels padded to a multiple of 16; the padding is zero. fp16 numbers are unsigned shorts.
   With VALUE_BF16, read bf16 wherever a name or comment says f16, FP16 or half: the kernels are the same, sums fp32.
   M = images * OH * OW output pixels, N = output channels, K = kernel positions * input channels.
   One -D chooses a program: a kernel's name in capitals; REID_SEARCH chooses the three of a search, REID_DEPTHWISE with
   EXPAND is reid_expand, and a convolution with APART includes reid_join.

   kernel           | what                                     | bytes moved, FLOPs        | block      | shared memory
   -----------------+------------------------------------------+---------------------------+------------+---------------
   reid_pack        | a weight tensor into a kernel's order    | in + out                  | 256        | none
   reid_resize      | boxes to the view, as Pillow rounds      | box + out, 6 per weight   | 256        | see there
   reid_input       | the view, normalised, in a zero border   | in + out                  | 256        | none
   reid_conv_plain  | convolution as written: the reference    | 2K reads per output, 2MNK | 256        | none
   reid_conv_f32    | implicit GEMM on FFMA units              | in + weights + out, 2MNK  | 64 ... 128 | see below
   reid_conv_f16    | implicit GEMM on tensor cores, fp32 sums | half of that, 2MNK        | 32 * warps | see below
                    | or in INT8: bytes, s32 sums              | a quarter of that, 2MNK   | 32 * warps | see below
   reid_stem        | EfficientNet's first convolution         | in + out, 2MNK            | 256        | see there
   reid_stem_pool   | a ResNet's, its input and its max pool   | view + pool, 2MNK         | 384        | see there
   reid_join        | adds parts of K that are in memory       | 4 SPLIT in + out          | 256        | none
   reid_conv_wgmma  | on Hopper, one to three convolutions     | as reid_conv_f16          | 384        | see there
   reid_project     | 1x1 on Hopper, of inputs times factors   | as reid_conv_f16          | 384        | see there
   reid_depthwise   | depthwise convolution, sums of its tiles | in + out, 2 KH KW / value | 128, 256   | see there
   reid_expand      | a 1x1 convolution and that one on Hopper | in + out, both            | 512, 640   | see there
   reid_squeeze     | squeeze-excite factors from those sums   | sums + two small matrices | 1024, 256  | see there
   reid_maxpool     | max pool                                 | in + out                  | 256        | none
   reid_pool        | adaptive average pool, to fp32           | in + out                  | 256        | none
   reid_instance    | instance norm, activation, residual      | in + out, or 3 in + out   | 256        | see there
   reid_nonlocal    | (query key^T) value / pixels of an image | 3 in + out, 4 C per value | 256        | 64 C
   reid_linear      | fully connected, four images a warp      | weights / 4 images, 2MNK  | 256        | none
   reid_normalise   | L2 of one embedding a block, in double   | in + out                  | 256        | 2048
   reid_search_queries | queries as halves or bytes            | in + 10 K per query       | 128        | 1024
   reid_search      | best product of 32 rows and a query      | rows, 2 rows queries K    | 128, 384   | see there
   reid_search_best | the k best rows or groups of a query     | maxima, few rows          | 256        | see there

   Shared memory is dynamic, in bytes. reid_conv_f32's is 64 STAGES (BM + BN) and, if blocks share K, at least 4 BM BN;
   reid_conv_f16's is the larger of 64 STAGES (BM + BN) and 4 BM (BN + 4).

   Each kernel has one parameter, a structure of pointers and numbers. Its members are named once, in >>cuda_jit of
   reid.h under "the arguments of the kernels", with a comment for each: the host makes a C struct of them, and gives
   the compiler a text that precedes this one and defines MEMBERS_OF_name and, in LAYOUT_OF_name, the host's offsets.
   STRUCT makes a structure of both once its types are known; a pointer that a launch does not need is 0. For nvcc,
   `nvrtc_matrix contract` of tests/gpu prints that text; include it before this file (nvcc -include).

   Constants that a program needs by -D besides its kernel's name; those in brackets default to 0, and SPLIT to 1:

   kernel           | constants
   -----------------+---------------------------------------------------------------------------------------------------
   with values      | VALUE_F16, VALUE_BF16 (from sm_80 on) or VALUE_U8: halves or bytes; else FP32
   reid_input       | H W ROWS COLUMNS BORDER_Y BORDER_X
   a convolution    | IH IW IC OH OW OC_PADDED KH KW STRIDE PAD_Y PAD_X ACT RESIDUAL
   reid_conv_plain  | a convolution's, OC OUT_STRIDE CHANNEL SCALE
   reid_conv_f32    | those, BM BN BK STAGES EACH_M EACH_N [SPLIT] [APART]
   reid_conv_f16    | reid_conv_plain's, BM BN BK STAGES WARPS_M WARPS_N ROW_SUMS [SPLIT] [APART]
                    | [BYTES SIGNED REST_SIGNED] [MORE_C MORE_STRIDE MORE_IH MORE_IW] [FETCHED]
                    | [HIDDEN CHANNELS TILES]
   reid_stem        | a convolution's, BK R
   reid_conv_wgmma  | a convolution's, BLOCKS_M GROUPS BN STAGES SLOTS RESIDENT SPLIT LIGHT ROW_SUMS NEXT MORE_C
                    | MORE_STRIDE [THEN THEN_ACT DIRECT] [BYTES SIGNED REST_SIGNED]
   reid_stem_pool   | a convolution's, H W BORDER_Y BORDER_X POOL_H POOL_W POOL_PAD_Y POOL_PAD_X STAGES [BYTES]
   reid_project     | OH OW IC OC_PADDED ACT RESIDUAL SCALED BN STAGES RESIDENT LIGHT
   reid_depthwise   | IH IW OH OW C KH KW STRIDE PAD_Y PAD_X ACT COLS TILE_H, and SLIDE or SPREAD
   reid_expand      | reid_depthwise's with SLIDE, EXPAND IC ROW SHARED SLICE IMAGES ROWS WARPS MORE
   reid_squeeze     | C CHANNELS HIDDEN OH OW TILES IMAGES [SPLIT]
   reid_maxpool     | IH IW OH OW C KH KW STRIDE PAD_Y PAD_X
   reid_pool        | those, PER GEM NORM
   reid_instance    | OH OW C NORMED ACT RESIDUAL [KEPT]
   reid_nonlocal    | OH OW C
   reid_linear      | K OC OUT_STRIDE CHANNEL ACT [SPLIT]
   reid_normalise   | DIM RAW FLIP
   reid_search      | K BN, and BK or HOPPER STAGES; BK: values of 64 bytes

   Every output of a convolution is one chain of additions in the order of K, whatever the tile and the batch, and sums
   over pixels go in an order that only the layer decides, so the bits of an embedding do not depend on its batch.
   Resizing and packing give the same bits as reid.h on the CPU.

   SPLIT: K of a tile is cut into this many parts, whatever the batch; each is a separate chain, in one block of a
   cluster. Then the parts are added, first part first, and every block finishes a share of the tile's outputs. (In
   reid_linear the parts are warps of a block.) A small batch has fewer tiles than there are multiprocessors.
   APART: the blocks of a tile do not form a cluster, because chips before sm_90 have none. Parts go to memory, and a
   second launch, reid_join, adds them in the same order.

   From sm_90 on, a launch of a pass may begin before the previous one is over ("programmatic dependent launch"). So
   each kernel lets the next one begin at once, and waits before it reads another kernel's output or overwrites its
   input; packed weights and biases it may read before. Every kernel must wait, even if its own data does not require
   it: the end of a launch means that all previous ones have ended. __ldg, which assumes that memory is constant during
   the launch (ld.global.nc), is only for packed weights, biases and tables, never for another kernel's output.

   The pixels of a batch (M), the values of one image and those of one weight tensor fit 31 bits; the values of a batch
   may not, and are counted in 64. gridDim.y is the image in some kernels, and is at most 65535. */

#ifndef REID_CONTRACT
#error "reid_kernels.cu needs the text of reid.h that defines its structures: see the comment at the top of this file"
#endif
#if defined(__CUDACC_RTC__) && !defined(REID_EMULATOR) /* NVRTC has no offsetof, only this builtin */
#define OFFSET_OF(type, member) __INTADDR__(&((type *)0)->member)
#else
#define OFFSET_OF(type, member) __builtin_offsetof(type, member)
#endif
#define STRUCT(name)                                                                                                   \
    struct name {                                                                                                      \
        MEMBERS_OF_##name                                                                                              \
    };                                                                                                                 \
    LAYOUT_OF_##name

/* Keeps a kernel's parameter in constant memory even if its address is taken. NVRTC supports it since 11.7. */
#if __CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__ >= 1107
#define GRID_CONSTANT __grid_constant__
#else
#define GRID_CONSTANT
#endif

#define DEVICE __device__ __forceinline__ /* not static: NVRTC warns about unused static functions */

#ifdef VALUE_BF16
#define VALUE_F16
#define HALF "bf16"
#define reid_f16_from_f32 reid_bf16_from_f32 /* the names that an emulator sees */
#define reid_f32_from_f16 reid_f32_from_bf16
#define reid_f16x2_from_f32 reid_bf16x2_from_f32
#define reid_max_f16x2 reid_max_bf16x2
#define reid_mma_m16n8k16 reid_mma_m16n8k16_bf16
#define reid_wgmma reid_wgmma_bf16
#define reid_wgmma_registers reid_wgmma_registers_bf16
#else
#define HALF "f16"
#endif

/* The type of sums of products. */
#ifdef VALUE_U8
typedef int sum_t;
DEVICE unsigned bits_of(int sum) { return (unsigned)sum; }
DEVICE int sum_of(unsigned bits) { return (int)bits; }
#else
typedef float sum_t;
DEVICE unsigned bits_of(float sum) { return __float_as_uint(sum); }
DEVICE float sum_of(unsigned bits) { return __uint_as_float(bits); }
#endif

/* --------------------------------------------------------------------------------------------------------------------
   Instructions. Each inline-PTX instruction is one function, which an emulator can implement on the CPU.
   ------------------------------------------------------------------------------------------------------------------ */
#ifndef REID_EMULATOR
DEVICE unsigned short reid_f16_from_f32(float a) {
    unsigned short h;
    asm("cvt.rn." HALF ".f32 %0, %1;" : "=h"(h) : "f"(a));
    return h;
}
DEVICE unsigned reid_f16x2_from_f32(float low, float high) {
#if __CUDA_ARCH__ >= 800
    unsigned pair;
    asm("cvt.rn." HALF "x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    return pair;
#else
    return reid_f16_from_f32(low) | (unsigned)reid_f16_from_f32(high) << 16;
#endif
}
DEVICE float reid_f32_from_f16(unsigned short a) {
#ifdef VALUE_BF16
    return __uint_as_float((unsigned)a << 16);
#else
    float f;
    asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(a));
    return f;
#endif
}
DEVICE float reid_exp2_approx(float a) {
    float r;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(a));
    return r;
}
DEVICE float reid_rcp_approx(float a) {
    float r;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(a));
    return r;
}
/* One store, where the compiler (CUDA 13.0) makes four of an assignment. */
DEVICE void reid_store_16(void *to, uint4 v) {
    asm volatile("st.global.v4.u32 [%0], {%1,%2,%3,%4};" ::"l"(to), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w) : "memory");
}
/* *p += v, atomically; v is 0 in most threads, which then do nothing, without a branch. */
DEVICE void reid_add_nonzero(unsigned *p, unsigned v) {
    asm volatile("{ .reg .pred some; setp.ne.u32 some, %1, 0; @some red.global.add.u32 [%0], %1; }" ::"l"(p), "r"(v)
                 : "memory");
}
DEVICE unsigned reid_shared_address(const void *pointer) { return (unsigned)__cvta_generic_to_shared(pointer); }
DEVICE void reid_mma_m16n8k8(float d[4], const unsigned a[2], const unsigned b[1]) {
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(b[0]));
}
DEVICE void reid_ldmatrix_x4(unsigned r[4], unsigned row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(row)
                 : "memory");
}
#if __CUDA_ARCH__ >= 900
DEVICE void reid_griddepcontrol_wait() { asm volatile("griddepcontrol.wait;" ::: "memory"); }
DEVICE void reid_griddepcontrol_launch_dependents() { asm volatile("griddepcontrol.launch_dependents;" ::: "memory"); }
/* After the wait the cluster's threads see this thread's writes. On Hopper this costs a MEMBAR.ALL.GPU, hundreds of
   clocks. */
DEVICE void reid_cluster_arrive() { asm volatile("barrier.cluster.arrive.release;" ::: "memory"); }
/* Arrives without that fence: it orders no writes. PTX manual, "barrier.cluster", uses this form after
   fence.mbarrier_init, which itself releases the mbarriers of a block. */
DEVICE void reid_cluster_arrive_relaxed() { asm volatile("barrier.cluster.arrive.relaxed;" ::: "memory"); }
DEVICE void reid_cluster_wait() { asm volatile("barrier.cluster.wait.acquire;" ::: "memory"); }
DEVICE unsigned reid_cluster_map(unsigned shared, unsigned rank) {
    unsigned address;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(address) : "r"(shared), "r"(rank));
    return address;
}
/* Signals another block that this one has read data that the other may overwrite. It passes on no data, so a release at
   the scope of this block is enough, and needs no MEMBAR. The overwrite cannot overtake a read: a value from shared
   memory has been used by then (added up), operands of wgmma have been read when its wait_group returns (PTX manual,
   "wgmma.wait_group"), and the other block writes only after it has seen the arrival. A thread that passes on values
   needs .release.cluster or reid_cluster_store_async instead: "Release and Acquire Patterns" requires a scope that
   includes both threads. */
DEVICE void reid_cluster_mbarrier_arrive_cta(unsigned mbarrier) {
    asm volatile("mbarrier.arrive.release.cta.shared::cluster.b64 _, [%0];" ::"r"(mbarrier) : "memory");
}
DEVICE uint4 reid_cluster_load_16(unsigned address) {
    uint4 v;
    asm volatile("ld.shared::cluster.v4.u32 {%0,%1,%2,%3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "r"(address) : "memory");
    return v;
}
DEVICE void reid_cluster_store(unsigned address, unsigned word) {
    asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(address), "r"(word) : "memory");
}
/* Stores sixteen bytes in a block's shared memory; an mbarrier of that block counts them. It needs no fence: counting
   is itself a release of these bytes at the scope of the cluster (PTX manual, "st.async"), and a thread that waits for
   the mbarrier with .acquire.cluster sees them. It writes through the generic proxy, like a plain store. */
DEVICE void reid_cluster_store_async(unsigned address, const unsigned v[4], unsigned mbarrier) {
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1,%2,%3,%4}, [%5];"
                 ::"r"(address), "r"(v[0]), "r"(v[1]), "r"(v[2]), "r"(v[3]), "r"(mbarrier) : "memory");
}
DEVICE bool reid_cluster_mbarrier_try_wait(unsigned mbarrier, unsigned parity) {
    unsigned over;
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2;\n"
                 "selp.u32 %0, 1, 0, p; }" : "=r"(over) : "r"(mbarrier), "r"(parity) : "memory");
    return over != 0;
}
#endif
#ifdef REID_SEARCH
/* sum + the four products of an unsigned byte and a signed one. */
DEVICE int reid_dp4a(unsigned a, unsigned b, int sum) {
    asm("dp4a.u32.s32 %0, %1, %2, %3;" : "=r"(sum) : "r"(a), "r"(b), "r"(sum));
    return sum;
}
#endif
#if __CUDA_ARCH__ >= 800
DEVICE void reid_mma_m16n8k16(float d[4], const unsigned a[4], const unsigned b[2]) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." HALF "." HALF ".f32 "
                 "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
DEVICE void reid_mma_m16n8k32(int d[4], const unsigned a[4], const unsigned b[2]) {
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32 "
                 "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
DEVICE void reid_cp_async_16(unsigned to, const void *from, unsigned source_bytes) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(source_bytes) : "memory");
}
DEVICE void reid_cp_async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int groups> DEVICE void reid_cp_async_wait() {
    asm volatile("cp.async.wait_group %0;" ::"n"(groups) : "memory");
}
#endif
#if defined(REID_CONV_WGMMA) || defined(REID_PROJECT) || defined(REID_STEM_POOL) || defined(EXPAND) || defined(HOPPER)
DEVICE void reid_bar_sync(unsigned id, unsigned threads) {
    asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}
DEVICE unsigned reid_max_f16x2(unsigned a, unsigned b) {
    unsigned pair;
    asm("max.NaN." HALF "x2 %0, %1, %2;" : "=r"(pair) : "r"(a), "r"(b));
    return pair;
}
DEVICE unsigned reid_pack_u8(int high, int low, unsigned rest) {
    unsigned bytes;
    asm("cvt.pack.sat.u8.s32.b32 %0, %1, %2, %3;" : "=r"(bytes) : "r"(high), "r"(low), "r"(rest));
    return bytes;
}
DEVICE unsigned reid_pack_s8(int high, int low, unsigned rest) {
    unsigned bytes;
    asm("cvt.pack.sat.s8.s32.b32 %0, %1, %2, %3;" : "=r"(bytes) : "r"(high), "r"(low), "r"(rest));
    return bytes;
}
DEVICE void reid_stmatrix_x4(unsigned row, const unsigned r[4]) {
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1,%2,%3,%4};"
                 ::"r"(row), "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]) : "memory");
}
DEVICE void reid_mbarrier_init(unsigned mbarrier, unsigned count) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(mbarrier), "r"(count) : "memory");
}
DEVICE void reid_mbarrier_arrive(unsigned mbarrier) {
    asm volatile("mbarrier.arrive.release.cta.shared::cta.b64 _, [%0];" ::"r"(mbarrier) : "memory");
}
DEVICE void reid_mbarrier_arrive_expect_tx(unsigned mbarrier, unsigned bytes) {
    asm volatile("mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%0], %1;" ::"r"(mbarrier), "r"(bytes)
                 : "memory");
}
DEVICE bool reid_mbarrier_try_wait(unsigned mbarrier, unsigned parity) {
    unsigned over;
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 p, [%1], %2;\n"
                 "selp.u32 %0, 1, 0, p; }" : "=r"(over) : "r"(mbarrier), "r"(parity) : "memory");
    return over != 0;
}
DEVICE void reid_fence_mbarrier_init() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
/* Orders this thread's stores to shared memory, and those that a barrier has made visible to it, before later reads by
   wgmma and bulk copies (PTX manual, "Async Proxy" and "membar/fence", .proxykind). Only the block's own shared memory:
   the asynchronous proxy reads nothing else that these kernels write before the launch is over, and the form for all
   state spaces would also wait for global memory (MEMBAR.ALL.GPU). */
DEVICE void reid_fence_proxy_async_shared() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
DEVICE void reid_tensor_prefetch(const void *map) { asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory"); }
DEVICE void reid_tensor_load_2d(unsigned to, const void *map, int x, int y, unsigned mbarrier) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%2, %3}], [%4];" ::"r"(to), "l"(map), "r"(x), "r"(y), "r"(mbarrier) : "memory");
}
DEVICE void reid_tensor_load_im2col_4d(unsigned to, const void *map, int c, int w, int h, int n,
                                       unsigned short offset_w, unsigned short offset_h, unsigned mbarrier) {
    asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%2, %3, %4, %5}], [%6], {%7, %8};"
                 ::"r"(to), "l"(map), "r"(c), "r"(w), "r"(h), "r"(n), "r"(mbarrier), "h"(offset_w), "h"(offset_h)
                 : "memory");
}
DEVICE void reid_bulk_load(unsigned to, const void *from, unsigned bytes, unsigned mbarrier) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                 ::"r"(to), "l"(from), "r"(bytes), "r"(mbarrier) : "memory");
}
DEVICE void reid_tensor_store_2d(const void *map, int x, int y, unsigned from) {
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];"
                 ::"l"(map), "r"(x), "r"(y), "r"(from) : "memory");
}
DEVICE void reid_bulk_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
template <int groups> DEVICE void reid_bulk_wait_read() {
    asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(groups) : "memory");
}
template <int count> DEVICE void reid_setmaxnreg_inc() {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(count));
}
template <int count> DEVICE void reid_setmaxnreg_dec() {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(count));
}
DEVICE void reid_wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
DEVICE void reid_wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int groups> DEVICE void reid_wgmma_wait() {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(groups) : "memory");
}
/* reid_wgmma_hold keeps the compiler, which does not know asynchronous results, from moving uses of a sum past it. */
#ifdef VALUE_U8
#define SUM "+r"
#define PRODUCT "k32.s32.u8.s8"
#define SCALES ", p; }"
#else
#define SUM "+f"
#define PRODUCT "k16.f32." HALF "." HALF
#define SCALES ", p, 1, 1, 0, 0; }"
#endif
DEVICE void reid_wgmma_hold(sum_t &sum) { asm volatile("" : SUM(sum)::"memory"); }
DEVICE void reid_wgmma_hold(unsigned &operand) { asm volatile("" : "+r"(operand)::"memory"); }
/* The list of sums, as operands and as text. */
#define SUMS4(d, i) SUM(d[i]), SUM(d[i + 1]), SUM(d[i + 2]), SUM(d[i + 3])
#define SUMS8(d) SUMS4(d, 0), SUMS4(d, 4)
#define SUMS16(d, i) SUMS4(d, i), SUMS4(d, i + 4), SUMS4(d, i + 8), SUMS4(d, i + 12)
#define SUMS32(d) SUMS16(d, 0), SUMS16(d, 16)
#define SUMS56(d) SUMS32(d), SUMS16(d, 32), SUMS4(d, 48), SUMS4(d, 52)
#define SUMS64(d) SUMS32(d), SUMS16(d, 32), SUMS16(d, 48)
#define SUMS128(d) SUMS64(d), SUMS16(d, 64), SUMS16(d, 80), SUMS16(d, 96), SUMS16(d, 112)
#define TEN(t) "%" t "0,%" t "1,%" t "2,%" t "3,%" t "4,%" t "5,%" t "6,%" t "7,%" t "8,%" t "9,"
#define TEXT32 TEN("") TEN("1") TEN("2") "%30,%31"
#define TEXT60 TEN("") TEN("1") TEN("2") TEN("3") TEN("4") TEN("5")
#define TEXT64 TEXT60 "%60,%61,%62,%63"
#define TEXT128 TEXT60 TEN("6") TEN("7") TEN("8") TEN("9") TEN("10") TEN("11") "%120,%121,%122,%123,%124,%125,%126," \
                "%127"
template <int n> DEVICE void reid_wgmma(sum_t *d, unsigned long long a, unsigned long long b, bool accumulate);
#define REID_WGMMA(n, sums, text, p0, p1, p2)                                                                          \
    template <> DEVICE void reid_wgmma<n>(sum_t *d, unsigned long long a, unsigned long long b, bool accumulate) {     \
        asm volatile("{ .reg .pred p; setp.ne.b32 p, " p2 ", 0;\n"                                                     \
                     "wgmma.mma_async.sync.aligned.m64n" #n PRODUCT " {" text "}, " p0 ", " p1 SCALES                  \
                     : sums : "l"(a), "l"(b), "r"((int)accumulate) : "memory");                                        \
    }
REID_WGMMA(64, SUMS32(d), TEXT32, "%32", "%33", "%34")
REID_WGMMA(128, SUMS64(d), TEXT64, "%64", "%65", "%66")
REID_WGMMA(256, SUMS128(d), TEXT128, "%128", "%129", "%130")
#ifndef VALUE_U8
/* The same with A in registers, as mma.m16n8k16 has it. */
template <int n> DEVICE void reid_wgmma_registers(sum_t *d, const unsigned *a, unsigned long long b, bool accumulate);
#define REID_WGMMA_REGISTERS(n, sums, text, p0, p1, p2, p3, p4, p5)                                                    \
    template <> DEVICE void reid_wgmma_registers<n>(sum_t *d, const unsigned *a, unsigned long long b,                 \
                                                    bool accumulate) {                                                 \
        asm volatile("{ .reg .pred p; setp.ne.b32 p, " p5 ", 0;\n"                                                     \
                     "wgmma.mma_async.sync.aligned.m64n" #n PRODUCT " {" text "}, {" p0 "," p1 "," p2 "," p3 "}, " p4  \
                     ", p, 1, 1, 0; }"                                                                                 \
                     : sums : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"((int)accumulate) : "memory");    \
    }
REID_WGMMA_REGISTERS(16, SUMS8(d), "%0,%1,%2,%3,%4,%5,%6,%7", "%8", "%9", "%10", "%11", "%12", "%13")
REID_WGMMA_REGISTERS(32, SUMS16(d, 0), TEN("") "%10,%11,%12,%13,%14,%15", "%16", "%17", "%18", "%19", "%20", "%21")
REID_WGMMA_REGISTERS(64, SUMS32(d), TEXT32, "%32", "%33", "%34", "%35", "%36", "%37")
REID_WGMMA_REGISTERS(112, SUMS56(d), TEN("") TEN("1") TEN("2") TEN("3") TEN("4") "%50,%51,%52,%53,%54,%55", "%56",
                     "%57", "%58", "%59", "%60", "%61")
REID_WGMMA_REGISTERS(128, SUMS64(d), TEXT64, "%64", "%65", "%66", "%67", "%68", "%69")
#endif
#endif
#endif /* REID_EMULATOR */

/* let_next_begin lets the next launch begin; wait_for_last waits until all previous ones are over. */
DEVICE void let_next_begin() {
#if __CUDA_ARCH__ >= 900
    reid_griddepcontrol_launch_dependents();
#endif
}
DEVICE void wait_for_last() {
#if __CUDA_ARCH__ >= 900
    reid_griddepcontrol_wait();
#endif
}
DEVICE void take_turn() {
    let_next_begin();
    wait_for_last();
}

/* --------------------------------------------------------------------------------------------------------------------
   Values: four neighbouring channels at a time, as floats. VALUE_F16 and VALUE_U8 choose their type in memory; bytes
   are INT8's, in steps that the manual of reid.h defines.
   ------------------------------------------------------------------------------------------------------------------ */
#ifdef VALUE_F16
typedef unsigned short value_t;
DEVICE float4 load4(const value_t *p) {
    ushort4 h = *(const ushort4 *)p;
    return make_float4(reid_f32_from_f16(h.x), reid_f32_from_f16(h.y), reid_f32_from_f16(h.z), reid_f32_from_f16(h.w));
}
DEVICE void store4(value_t *p, float4 v) {
    *(ushort4 *)p = make_ushort4(reid_f16_from_f32(v.x), reid_f16_from_f32(v.y), reid_f16_from_f32(v.z),
                                 reid_f16_from_f32(v.w));
}
DEVICE float load1(const value_t *p) { return reid_f32_from_f16(*p); }
DEVICE void store1(value_t *p, float v) { *p = reid_f16_from_f32(v); }
#elif defined VALUE_U8
typedef unsigned char value_t;
DEVICE float4 load4(const value_t *p) {
    unsigned v = *(const unsigned *)p;
    return make_float4((float)(v & 255), (float)(v >> 8 & 255), (float)(v >> 16 & 255), (float)(v >> 24));
}
DEVICE void store4(value_t *p, float4 v) {
    *(unsigned *)p = (unsigned)v.x | (unsigned)v.y << 8 | (unsigned)v.z << 16 | (unsigned)v.w << 24;
}
DEVICE float load1(const value_t *p) { return *p; }
DEVICE void store1(value_t *p, float v) { *p = (value_t)v; }
#else
typedef float value_t;
DEVICE float4 load4(const value_t *p) { return *(const float4 *)p; }
DEVICE void store4(value_t *p, float4 v) { *(float4 *)p = v; }
DEVICE float load1(const value_t *p) { return *p; }
DEVICE void store1(value_t *p, float v) { *p = v; }
#endif

/* Two halves times squeeze-excite factors. */
DEVICE unsigned scale_pair(unsigned pair, float low, float high) {
    return reid_f16x2_from_f32(reid_f32_from_f16((unsigned short)(pair & 0xffff)) * low,
                               reid_f32_from_f16((unsigned short)(pair >> 16)) * high);
}

#define ACT_NONE 0
#define ACT_RELU 1
#define ACT_SILU 2
#define ACT_TANH 3 /* only in reid_linear */
#ifndef ACT
#define ACT ACT_NONE
#endif

/* The sum over a warp's lanes, in all of them, by a fixed tree. */
template <class value> DEVICE value sum_of_warp(value mine) {
    for (int offset = 16; offset > 0; offset /= 2) mine += __shfl_xor_sync(0xffffffffu, mine, offset);
    return mine;
}

DEVICE float full_sigmoid(float x) { return 1.0f / (1.0f + expf(-x)); }

/* For halves, with 11 or 8 bits, two instructions of the special-function unit suffice, which err in the 22nd bit. */
DEVICE float sigmoid(float x) {
#ifdef VALUE_F16
    return reid_rcp_approx(1.0f + reid_exp2_approx(-1.44269504f * x));
#else
    return full_sigmoid(x);
#endif
}
DEVICE float act(float x) { /* ReLU: reid_conv_wgmma and reid_stem_pool take two halves at once, with the same bits */
#if ACT == ACT_RELU
    return x < 0.0f ? 0.0f : x; /* in this order a NaN stays a NaN */
#elif ACT == ACT_SILU
    return x * sigmoid(x);
#elif ACT == ACT_TANH /* reid__tanh of reid.h, with its bits */
    double v = x > 9.02f ? 9.02 : x < -9.02f ? -9.02 : x, square = v * v, part = 31;
    for (int odd = 29; odd > 0; odd -= 2) part = odd + square / part;
    return (float)(v / part);
#else
    return x;
#endif
}

/* The number of this thread in the launch: more than 31 bits if there is a thread for each value of a batch. */
DEVICE unsigned long long thread_index() { return (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x; }

extern __shared__ __align__(1024) unsigned char shared[];

/* --------------------------------------------------------------------------------------------------------------------
   Hopper: tensor maps, rings of places in shared memory that a thread fills and warpgroups empty, operands of wgmma.
   ------------------------------------------------------------------------------------------------------------------ */
/* Filled in by cuTensorMapEncode... */
struct __align__(128) tensor_map {
    unsigned long long opaque[16];
};
static_assert(sizeof(tensor_map) == 128 && alignof(tensor_map) == 128, "as cuda.h and reid.h have it");

#if defined(REID_CONV_WGMMA) || defined(REID_PROJECT) || defined(REID_STEM_POOL) || defined(EXPAND) || defined(HOPPER)
/* A place in a ring and the parity of its mbarriers' phase. */
template <int places> struct cursor {
    int at = 0;
    unsigned parity = 0;
    DEVICE void advance(int by) {
        at += by;
        parity ^= at / places & 1;
        at %= places;
    }
};

DEVICE void wait_for(unsigned mbarrier, unsigned parity) {
    while (!reid_mbarrier_try_wait(mbarrier, parity)) continue;
}

/* The descriptor of an operand of wgmma: its address, swizzled rows of 128 or 64 bytes, the distance of eight rows (PTX
   manual, "Matrix Descriptor Format"). */
template <int row> DEVICE unsigned long long operand(unsigned address) {
    return (unsigned long long)((address & 0x3ffff) >> 4) | (row / 2ull) << 32 | (row == 128 ? 1ull : 2ull) << 62;
}
/* Without swizzle: pieces of 16 bytes, whose neighbours along K and along M or N are 16 bytes further. */
DEVICE unsigned long long windows(unsigned address) {
    return (unsigned long long)((address & 0x3ffff) >> 4) | 1ull << 16 | 8ull << 32;
}
#endif

#if defined(REID_PROJECT) || defined(REID_STEM_POOL)
/* Adds the products of 16 of K to sums of 64 by n: of A in registers and of the operand b, whose rows are `row` bytes
   apart. n is a sum of instructions' widths; if it is 128, of two of 64, because ptxas (CUDA 13.0) makes each of 128
   wait for the one before if the last slice is short. */
template <int n, int row, int width = 128, int from = 0>
DEVICE void add_products(float *d, const unsigned *a, unsigned long long b) {
    static_assert(n % 16 == 0 && n < 256, "a sum of instructions' widths");
    if constexpr (n == 128 && width == 128) {
        reid_wgmma_registers<64>(d, a, b, true);
        reid_wgmma_registers<64>(d + 32, a, b + 64 * row / 16, true);
    } else if constexpr ((n & width) != 0)
        reid_wgmma_registers<width>(d + from / 2, a, b + from * row / 16, true);
    if constexpr (width > 16) add_products<n, row, width / 2, from + (n & width)>(d, a, b);
}
#endif

/* --------------------------------------------------------------------------------------------------------------------
   Packing, once per network: from raw tensors to the order in which kernels read them. Batch norm becomes a factor for
   a channel's weights and a bias, which the host computes. Here and in the next section every operation is rounded
   separately (__dmul_rn and so on): a fused multiply-add by the compiler would give other bits than the CPU.
   ------------------------------------------------------------------------------------------------------------------ */
#ifdef REID_PACK
STRUCT(pack_arguments);

/* Packs raw weights, multiplied by the factors of their output channels, if any. The padding between the strides was
   zeroed before. The threads stride over the values. */
extern "C" __global__ void reid_pack(const GRID_CONSTANT pack_arguments a) {
    unsigned taps = (unsigned)(a.kh * a.kw), row = (unsigned)a.ic * taps; /* of one output channel: fits 32 bits */
    unsigned long long count = (unsigned long long)a.n * row, step = (unsigned long long)gridDim.x * blockDim.x;
    for (unsigned long long i = thread_index(); i < count; i += step) {
        unsigned channel = (unsigned)(i / row), inside = (unsigned)(i % row), tap = inside % taps;
        int c = (int)(inside / taps), y = (int)tap / a.kw, x = (int)tap % a.kw;
        float from = a.from[i], w = a.factors ? (float)__dmul_rn((double)from, a.factors[channel]) : from;
        store1(a.to + (long long)channel * a.stride_n + (long long)c * a.stride_c + (long long)y * a.stride_y +
                   (long long)x * a.stride_x, w);
    }
}
#endif

/* --------------------------------------------------------------------------------------------------------------------
   From boxes to the view, with Pillow's pixels: the integer arithmetic of >>image in reid.h, where the formulas are
   explained, so that GPU and CPU compute the same. Images of a batch differ in size: blockIdx.y is the image, whose
   tiles of p.columns x p.lines pixels of the view the blocks share.

       the box, where the tile's windows are              in shared memory                        the view
       +------------------------+     along x, rounded     +-----------+     along y, rounded     +-----------+
       |     source rows x      | -----------------------> | source    | -----------------------> | p.lines x |
       |     source columns     |   taps of each column    | rows x    |   taps of each line      | p.columns |
       +------------------------+                          | p.columns |                          +-----------+
                                                           +-----------+
   Source rows that the windows of two tiles share are resized along x for each of them: with 16 lines and a bicubic
   filter, 1.25 times the work. In shared memory: the windows of a tile's columns and lines, their taps, and the source
   rows. reid__resize_tile of reid.h chooses tiles for which it suffices.
   ------------------------------------------------------------------------------------------------------------------ */
#ifdef REID_RESIZE
#define TAP_BITS 22

/* One direction of a resize and a centre crop, one image of the batch. */
STRUCT(gpu_axis);
STRUCT(gpu_picture);
STRUCT(resize_arguments);

/* The source pixels first ... end - 1 that make up one line. */
struct resize_window {
    int first, end;
};

/* The triangle, and Keys' cubic convolution with a = -1/2. */
DEVICE double filter_at(int bicubic, double x) {
    x = x < 0.0 ? -x : x;
    if (!bicubic) return x < 1.0 ? __dsub_rn(1.0, x) : 0.0;
    if (x < 1.0) return __dadd_rn(__dmul_rn(__dmul_rn(__dsub_rn(__dmul_rn(1.5, x), 2.5), x), x), 1.0);
    if (x < 2.0) return __dmul_rn(__dsub_rn(__dmul_rn(__dadd_rn(__dmul_rn(__dsub_rn(x, 5.0), x), 8.0), x), 4.0), -0.5);
    return 0.0;
}

DEVICE double weight(const gpu_axis &a, double center, int at) {
    return filter_at(a.filter, __dmul_rn(__dadd_rn(__dsub_rn((double)at, center), 0.5), a.shrink));
}

/* The window of one line, and its taps, `apart` from one to the next. The sum of the weights is one chain in their
   order, so every weight is computed twice. */
DEVICE resize_window set_taps(const gpu_axis &a, int index, int *to, int apart) {
    long long at = a.skipped + index;
    resize_window w = {0, 0}; /* for padding: empty, at the end of the source next to it */
    if (at >= a.resized) w.first = w.end = a.source;
    if (at < 0 || at >= a.resized) return w;
    double center = __dmul_rn(__dadd_rn((double)at, 0.5), a.scale), sum = 0.0;
    w.first = max((int)__dadd_rn(__dsub_rn(center, a.support), 0.5), 0);
    w.end = min((int)__dadd_rn(__dadd_rn(center, a.support), 0.5), a.source);
    for (int i = w.first; i < w.end; i++) sum = __dadd_rn(sum, weight(a, center, i));
    for (int i = w.first; i < w.end; i++, to += apart) { /* to fixed point, rounding half away from zero */
        double tap = __dmul_rn(__ddiv_rn(weight(a, center, i), sum), (double)(1 << TAP_BITS));
        *to = (int)(tap < 0.0 ? __dsub_rn(tap, 0.5) : __dadd_rn(tap, 0.5));
    }
    return w;
}

/* Sums of weighted pixels. They begin with one half, so that shifting, which leaves 10 bits, rounds. */
struct rgb_sums {
    int r, g, b;
};
DEVICE rgb_sums one_half() { return {1 << (TAP_BITS - 1), 1 << (TAP_BITS - 1), 1 << (TAP_BITS - 1)}; }
DEVICE unsigned char round_sum(int sum) { return (unsigned char)min(max(sum >> TAP_BITS, 0), 255); }
DEVICE void store_rgb(unsigned char *to, rgb_sums s) {
    to[0] = round_sum(s.r), to[1] = round_sum(s.g), to[2] = round_sum(s.b);
}

/* The view is (images, height, width, RGB), mirrored left to right if `flip`. */
DEVICE unsigned char *view_at(const resize_arguments &g, int y, int x) {
    return g.view + (((long long)blockIdx.y * g.height + y) * g.width + (g.flip ? g.width - 1 - x : x)) * 3;
}

/* An image that the CPU resized, or that has the view's size. */
DEVICE void copy_view(const resize_arguments &g, const gpu_picture &p) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < g.width * g.height; i += gridDim.x * blockDim.x) {
        const unsigned char *from = g.staging + p.pixels + (long long)i * 3;
        unsigned char *to = view_at(g, i / g.width, i % g.width);
        to[0] = from[0], to[1] = from[1], to[2] = from[2];
    }
}

/* A tile of at most p.columns x p.lines pixels, whose first is (x0, y0). taps_x is (taps, columns), so that neighbours
   read neighbours, taps_y (lines, taps), and rows (source rows, columns, RGB). */
DEVICE void resize_tile(const resize_arguments &g, const gpu_picture &p, int x0, int y0, int columns, int lines) {
    resize_window *windows_x = reinterpret_cast<resize_window *>(shared), *windows_y = windows_x + p.columns;
    int *taps_x = reinterpret_cast<int *>(windows_y + p.lines), *taps_y = taps_x + p.x.most * p.columns;
    unsigned char *rows = reinterpret_cast<unsigned char *>(taps_y + p.y.most * p.lines);
    for (int i = threadIdx.x; i < columns + lines; i += blockDim.x) {
        int line = i - columns;
        if (i < columns) windows_x[i] = set_taps(p.x, x0 + i, taps_x + i, p.columns);
        else windows_y[line] = set_taps(p.y, y0 + line, taps_y + line * p.y.most, 1);
    }
    __syncthreads();
    const int first = windows_y[0].first, end = windows_y[lines - 1].end;
    for (int i = threadIdx.x; i < (end - first) * columns; i += blockDim.x) {
        int y = first + i / columns, x = i % columns;
        const resize_window w = windows_x[x];
        const unsigned char *from = g.staging + p.pixels + (long long)y * p.stride + (long long)w.first * p.bytes;
        const int *tap = taps_x + x;
        rgb_sums sums = one_half();
        for (int k = w.first; k < w.end; k++, tap += p.columns, from += p.bytes)
            sums.r += *tap * from[p.r], sums.g += *tap * from[p.g], sums.b += *tap * from[p.b];
        store_rgb(rows + i * 3, sums);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < lines * columns; i += blockDim.x) {
        int y = i / columns, x = i % columns;
        const resize_window w = windows_y[y];
        const unsigned char *from = rows + ((w.first - first) * columns + x) * 3;
        const int *tap = taps_y + y * p.y.most;
        rgb_sums sums = one_half();
        for (int k = w.first; k < w.end; k++, tap++, from += columns * 3)
            sums.r += *tap * from[0], sums.g += *tap * from[1], sums.b += *tap * from[2];
        store_rgb(view_at(g, y0 + y, x0 + x), sums);
    }
}

extern "C" __global__ void reid_resize(const GRID_CONSTANT resize_arguments g) {
    take_turn();
    const gpu_picture p = g.pictures[blockIdx.y];
    if (!p.bytes) {
        copy_view(g, p);
        return;
    }
    const int across = (g.width + p.columns - 1) / p.columns, down = (g.height + p.lines - 1) / p.lines;
    for (int tile = blockIdx.x; tile < across * down; tile += gridDim.x) {
        int x0 = tile % across * p.columns, y0 = tile / across * p.lines;
        resize_tile(g, p, x0, y0, min(p.columns, g.width - x0), min(p.lines, g.height - y0));
        __syncthreads(); /* before the next tile's windows replace these */
    }
}
#endif

#ifdef REID_INPUT
/* Converts the view to the network's input, (images, ROWS, COLUMNS, 4): a border of zeros around H x W pixels, channel
   3 zero. A thread writes one pixel. */
STRUCT(input_arguments);
extern "C" __global__ void reid_input(const GRID_CONSTANT input_arguments a) {
    take_turn();
    unsigned long long i = thread_index();
    if (i >= (unsigned long long)a.images * (ROWS * COLUMNS)) return;
    int inside = (int)(i % (ROWS * COLUMNS)), y = inside / COLUMNS - BORDER_Y, x = inside % COLUMNS - BORDER_X;
    float4 v = make_float4(0, 0, 0, 0);
    if (y >= 0 && y < H && x >= 0 && x < W) {
        const unsigned char *rgb = a.view + ((long long)(i / (ROWS * COLUMNS)) * (H * W) + y * W + x) * 3;
        int first = a.bgr ? 2 : 0;
        v = make_float4(__ldg(a.lut + rgb[first]), __ldg(a.lut + 256 + rgb[1]), __ldg(a.lut + 512 + rgb[2 - first]), 0);
    }
    store4(a.image + i * 4, v);
}
#endif

/* --------------------------------------------------------------------------------------------------------------------
   Convolution. Weights are packed (OC padded, K padded) for tensor cores, (K padded, OC padded) otherwise; K runs over
   (ky, kx, c). The stem's image has 4 channels and a stored border, and its kernel is widened to an even number of
   columns with zero weights, so it is an ordinary convolution whose 16-byte pieces never straddle a border.
   ------------------------------------------------------------------------------------------------------------------ */
#ifndef SPLIT
#define SPLIT 1
#endif
#ifndef APART
#define APART 0
#endif
#define CLUSTERED (SPLIT > 1 && !APART) /* its blocks share K */
#ifndef BYTES
#define BYTES 0
#define SIGNED 0
#define REST_SIGNED 0
#endif
#ifndef SPREAD
#define SPREAD 0
#endif
#ifndef MORE_C
#define MORE_C 0
#endif

#if defined(REID_CONV_F32) || defined(REID_CONV_F16) || defined(REID_CONV_WGMMA) || defined(REID_SQUEEZE)
/* A barrier of the block's threads, or of its cluster's, after which they see each other's writes. */
DEVICE void block_barrier() {
#if CLUSTERED
    reid_cluster_arrive();
    reid_cluster_wait();
#else
    __syncthreads();
#endif
}

/* A barrier that does not make a cluster's writes visible: its blocks have begun, or have finished reading others. */
DEVICE void block_meeting() {
#if CLUSTERED
    reid_cluster_arrive_relaxed();
    reid_cluster_wait();
#else
    __syncthreads();
#endif
}
#endif

#if defined(REID_CONV_F32) || defined(REID_CONV_F16) || defined(REID_CONV_WGMMA) || defined(REID_STEM_POOL)

#if BYTES
/* Clamps to the range of a byte, and adds 12582912, which leaves the nearest whole number in the low bits of the float:
   see REID__MAGIC in reid.h. */
DEVICE float nearest(float v) {
    return fmaxf(fminf(v, SIGNED ? 127.0f : 255.0f), SIGNED ? -128.0f : 0.0f) + 12582912.0f;
}
#endif

/* Four neighbouring sums, in shared memory: the parts that the blocks of a cluster have at this place, added. */
DEVICE void join(const sum_t *part, sum_t *sums) {
#if CLUSTERED
    const unsigned at = reid_shared_address(part);
    uint4 parts[SPLIT];
#pragma unroll
    for (int i = 0; i < SPLIT; i++) parts[i] = reid_cluster_load_16(reid_cluster_map(at, i));
#pragma unroll
    for (int i = 0; i < SPLIT; i++) {
        const unsigned words[4] = {parts[i].x, parts[i].y, parts[i].z, parts[i].w};
#pragma unroll
        for (int c = 0; c < 4; c++) sums[c] = i ? sums[c] + sum_of(words[c]) : sum_of(words[c]);
    }
#else
#pragma unroll
    for (int c = 0; c < 4; c++) sums[c] = part[c];
#endif
}
#endif

#if defined(REID_CONV_F16) || defined(REID_CONV_WGMMA)
/* INT8: saturated outputs, bytes of 255, are counted for each image, after a ReLU without a residual: see INT8 in
   reid.h. full_bytes counts them in a word; count_full adds their number to the image of pixel m. */
#define COUNTED (BYTES && !SIGNED && !RESIDUAL)
DEVICE unsigned full_bytes(unsigned word) {
    return (unsigned)__popc(((word & 0x7f7f7f7f) + 0x01010101) & word & 0x80808080);
}
DEVICE void count_full(unsigned *full, int m, unsigned count) {
    reid_add_nonzero(full + m / (OH * OW), count);
}
#endif

#if defined(REID_CONV_F32) || defined(REID_CONV_F16)
/* Least number of blocks on a multiprocessor, for __launch_bounds__. 1 if the input is scaled, in FP32 also if K is cut
   into parts or a tile is small, else on sm_75: without a request (0) the compiler (CUDA 13.0) saves registers by
   moving one to local memory. */
#ifdef REID_CONV_F32
#define BLOCKS_ASKED_FOR (SPLIT > 1 || SCALE || BM * BN < 64 * 128 ? 1 : 0)
#else
#define BLOCKS_ASKED_FOR (SCALE || __CUDA_ARCH__ < 800 ? 1 : 0)
#endif

/* Neighbouring blocks have tiles of the same pixels, and among these the parts of a tile, so that blocks that run at
   the same time share inputs, which exceed the L2 cache, rather than weights. */
#define ACROSS ((OC_PADDED + BN - 1) / BN)
DEVICE int row_of_block() { return blockIdx.x / (ACROSS * SPLIT); }
DEVICE int column_of_block() { return blockIdx.x / SPLIT % ACROSS; }
#endif

#if defined(REID_CONV_PLAIN) || defined(REID_CONV_F32) || defined(REID_CONV_F16) || defined(REID_STEM)
STRUCT(conv_arguments); /* also for reid_join */

#define K_TOTAL (KH * KW * IC)
#define K_PADDED ((K_TOTAL + BK - 1) / BK * BK)

/* Whether no window reaches beyond the image, or a slice of K beyond its end. */
#define INSIDE_Y (PAD_Y == 0 && (OH - 1) * STRIDE + KH <= IH)
#define INSIDE_X (PAD_X == 0 && (OW - 1) * STRIDE + KW <= IW)
#ifdef BK
#define WHOLE_SLICES (K_TOTAL % BK == 0)
#else
#define WHOLE_SLICES 0
#endif

/* One output pixel: `first` is the input under kernel position (0, 0), at (y, x), which may be outside the image. */
struct pixel {
    const value_t *first;
    int image_index, y, x;
};

DEVICE pixel find_pixel(const value_t *in, int m) {
    pixel p;
    int inside = m % (OH * OW);
    p.image_index = m / (OH * OW);
    p.y = inside / OW * STRIDE - PAD_Y;
    p.x = inside % OW * STRIDE - PAD_X;
    p.first = in + (long long)p.image_index * (IH * IW * IC) + (p.y * IW + p.x) * IC;
    return p;
}

/* Whether input k of a pixel is inside the image; *input is then its address. This also holds for its neighbours up to
   a multiple of IC, or of 8. */
DEVICE bool find_input(const pixel &p, int k, const value_t **input) {
    int tap = k / IC, y = tap / KW, x = tap % KW;
    *input = p.first + (y * IW + x) * IC + k % IC;
    return (WHOLE_SLICES || k < K_TOTAL) && (INSIDE_Y || (unsigned)(p.y + y) < IH) &&
           (INSIDE_X || (unsigned)(p.x + x) < IW);
}
#endif

#ifdef REID_CONV_PLAIN
/* The convolution without any of the others' tricks: one thread for each output. */
extern "C" __global__ void reid_conv_plain(const GRID_CONSTANT conv_arguments a) {
    take_turn();
    unsigned long long i = thread_index();
    int m = (int)(i / OC), n = (int)(i % OC);
    if (m >= a.pixels) return;
    pixel p = find_pixel(a.in, m);
    float sum = a.bias[n];
    for (int k = 0; k < K_TOTAL; k++) {
        const value_t *x;
        float value = find_input(p, k, &x) ? load1(x) : 0.0f;
        if (SCALE) value *= a.factors[p.image_index * IC + k % IC];
        sum = fmaf(value, load1(a.weights + k * OC_PADDED + n), sum);
    }
    if (RESIDUAL) sum += load1(a.residual + (long long)m * OC_PADDED + n);
    store1(a.out + (long long)m * OUT_STRIDE + CHANNEL + n, act(sum));
}
#endif

#if defined(REID_CONV_F32) || defined(REID_CONV_F16) || defined(REID_STEM) || defined(REID_SEARCH)
/* Slices of matrices in shared memory. A slice's rows have ROW_BYTES = 64, BK = 16 floats, 32 halves or 64 bytes, in
   four 16-byte pieces of EACH values; piece p of row r is at place p ^ (r / 2 % 4), so that the eight rows of an
   ldmatrix use eight different groups of banks. */
#define ROW_BYTES 64
#define EACH (16 / (int)sizeof(value_t))

/* Byte offset of a piece in a slice. */
DEVICE unsigned place(int row, int piece) { return (unsigned)(row * ROW_BYTES + (piece ^ (row >> 1 & 3)) * 16); }

/* Copies 16 bytes to shared memory; zeros, and without reading `from`, if it is not `inside`. */
DEVICE void copy_piece(unsigned char *to, bool inside, const value_t *from, const value_t *anywhere) {
#if __CUDA_ARCH__ >= 800
    reid_cp_async_16(reid_shared_address(to), inside ? from : anywhere, inside ? 16 : 0);
#else
    (void)anywhere;
    *(uint4 *)to = inside ? *(const uint4 *)from : make_uint4(0, 0, 0, 0);
#endif
}

/* Multiplies the slices from `begin` to `end` of a tile, stages - 1 of which are on their way. */
template <int stages, class tile_t> DEVICE void multiply_slices(tile_t &tile, int begin, int end) {
    for (int s = begin; s < begin + stages - 1; s++) {
        if (s < end) tile.copy_slice(s);
#if __CUDA_ARCH__ >= 800
        reid_cp_async_commit();
#endif
    }
#pragma unroll 1
    for (int s = begin; s < end; s++) { /* not unrolled, because ptxas would then run out of registers in FP32 */
#if __CUDA_ARCH__ >= 800
        reid_cp_async_wait<stages - 2>();
#endif
        __syncthreads(); /* all threads see slice s, and have read slice s - 1, whose place is filled next */
        if (s + stages - 1 < end) tile.copy_slice(s + stages - 1);
#if __CUDA_ARCH__ >= 800
        reid_cp_async_commit();
#endif
        tile.multiply(s);
    }
#if __CUDA_ARCH__ >= 800
    reid_cp_async_wait<0>();
#endif
}
#endif

#if defined(REID_CONV_F16) || defined(REID_STEM) || defined(REID_SEARCH)
DEVICE void mma16(float d[4], const unsigned a[4], const unsigned b[2]) {
#if __CUDA_ARCH__ >= 800
    reid_mma_m16n8k16(d, a, b);
#else
    reid_mma_m16n8k8(d, a, b);
    reid_mma_m16n8k8(d, a + 2, b + 1);
#endif
}
#ifdef VALUE_U8 /* from sm_80 on; the fragments have the same bytes, and twice the depth */
DEVICE void mma16(int d[4], const unsigned a[4], const unsigned b[2]) { reid_mma_m16n8k32(d, a, b); }
#endif
#endif

#ifdef REID_CONV_F32
/* A block computes BM pixels times BN channels, a thread EACH_M x EACH_N of them. STAGES slices of A (BM, BK) and of B
   (BK, BN) are in shared memory: one is multiplied while the others arrive by cp.async (sm_75 copies through
   registers). A warp's 16-byte read from shared memory takes four clocks, as long as four FFMA of each quarter of the
   multiprocessor: with 8 x 16 sums a thread has six reads for 128 FFMA, so the FFMA are the limit; with 4 x 4 sums it
   has two reads for 16 FFMA, so the reads are the limit.

   A warp's threads are 4 x 8. The four threads of a column read the same four channels of B, and the eight columns read
   neighbouring channels. The eight threads of a row read four values of K of the same pixel, and the four rows are
   neighbouring pixels. So neither read has bank conflicts. Two warps interleave their groups of four rows: then all
   rows of a thread are swizzled alike by `place`. */
#define THREADS (BM * BN / (EACH_M * EACH_N))
#define WARPS_N (BN / (8 * EACH_N))
#define FOURS_N (EACH_N / 4)
#define A_BYTES (BM * ROW_BYTES)
#define STAGE_BYTES ((BM + BN) * ROW_BYTES)
#define A_PIECES (BM * 4 / THREADS)
#define B_PIECES (BN * 4 / THREADS)
#define TOGETHER 4

/* Finishes and stores the sums of four channels of pixel m, from n on. */
DEVICE void store_sums(const conv_arguments &a, const sum_t *sums, int m, int n) {
    float4 v = make_float4(sums[0], sums[1], sums[2], sums[3]);
    if (RESIDUAL) {
        float4 r = load4(a.residual + (long long)m * OC_PADDED + n);
        v = make_float4(v.x + r.x, v.y + r.y, v.z + r.z, v.w + r.w);
    }
    store4(a.out + (long long)m * OUT_STRIDE + CHANNEL + n, make_float4(act(v.x), act(v.y), act(v.z), act(v.w)));
}

/* Like copy_piece, times squeeze-excite factors: through registers on every chip. */
DEVICE void copy_scaled(unsigned char *to, bool inside, const float *from, const float *factors) {
    float4 v = make_float4(0, 0, 0, 0);
    if (inside) {
        float4 s = load4(factors);
        v = load4(from);
        v = make_float4(v.x * s.x, v.y * s.y, v.z * s.z, v.w * s.w);
    }
    *(float4 *)to = v;
}

/* Row i of thread t's pixels in a tile, and the first channel of its four number j. */
DEVICE int row_of(int t, int i) {
    int warp = t / 32 / WARPS_N;
    return warp / 2 * (8 * EACH_M) + warp % 2 * 4 + t % 32 / 8 + 8 * i;
}
DEVICE int column_of(int t, int j) {
    return t / 32 % WARPS_N * (8 * EACH_N) + t % 8 * 4 + 32 * j;
}

/* One thread's part of a block's tile. */
struct f32_tile {
    const conv_arguments &g;
    int t, part, m0, n0;
    float acc[EACH_M][EACH_N];
    pixel source[A_PIECES];

    DEVICE f32_tile(const conv_arguments &arguments) : g(arguments) {
        t = threadIdx.x, part = blockIdx.x % SPLIT, m0 = row_of_block() * BM, n0 = column_of_block() * BN;
#pragma unroll
        for (int i = 0; i < A_PIECES; i++)
            source[i] = find_pixel(g.in, min(m0 + t / 4 + i * (THREADS / 4), g.pixels - 1));
#pragma unroll
        for (int j = 0; j < EACH_N; j++) {
            int n = n0 + column_of(t, j / 4) + j % 4;
            float bias = !part && n < OC ? g.bias[n] : 0.0f;
#pragma unroll
            for (int i = 0; i < EACH_M; i++) acc[i][j] = bias;
        }
    }

    DEVICE void copy_slice(int slice) const {
        unsigned char *a = shared + slice % STAGES * STAGE_BYTES, *b = a + A_BYTES;
        const int piece = t % 4, k = slice * BK + piece * EACH;
#pragma unroll
        for (int i = 0; i < A_PIECES; i++) {
            unsigned char *to = a + place(t / 4 + i * (THREADS / 4), piece);
            const float *x;
            bool inside = find_input(source[i], k, &x);
            if (SCALE) copy_scaled(to, inside, x, g.factors + source[i].image_index * IC + k);
            else copy_piece(to, inside, x, g.in);
        }
#pragma unroll
        for (int i = 0; i < B_PIECES; i++) {
            int at = t + i * THREADS, n = n0 + at % (BN / 4) * 4;
            const float *w = g.weights + (slice * BK + at / (BN / 4)) * OC_PADDED + n;
            copy_piece(b + at * 16, n < OC_PADDED, w, g.weights);
        }
    }

    DEVICE void multiply(int slice) {
        const unsigned char *stage = shared + slice % STAGES * STAGE_BYTES, *a = stage + row_of(t, 0) * ROW_BYTES;
        const unsigned char *b = stage + A_BYTES + column_of(t, 0) * 4;
        const int moved = row_of(t, 0) >> 1 & 3; /* see `place` */
        const int together = K_PADDED > BK ? 4 : 1; /* as registers allow: one slice is in one piece with the stores */
#pragma unroll together
        for (int piece = 0; piece < 4; piece++) {
            float four_a[EACH_M][4];
#pragma unroll
            for (int i = 0; i < EACH_M; i++)
                *(float4 *)four_a[i] = *(const float4 *)(a + (piece ^ moved) * 16 + i * 8 * ROW_BYTES);
#pragma unroll
            for (int k = 0; k < 4; k++) {
                float all_b[EACH_N];
#pragma unroll
                for (int j = 0; j < FOURS_N; j++)
                    *(float4 *)(all_b + j * 4) = *(const float4 *)(b + (piece * 4 + k) * BN * 4 + j * 128);
#pragma unroll
                for (int i = 0; i < EACH_M; i++)
#pragma unroll
                    for (int j = 0; j < EACH_N; j++) acc[i][j] = fmaf(four_a[i][k], all_b[j], acc[i][j]);
            }
        }
    }

    /* Stores the sums as outputs, as parts of a cluster, or as parts in memory. */
    DEVICE void store() const {
#pragma unroll
        for (int i = 0; i < EACH_M; i++)
#pragma unroll
            for (int j = 0; j < FOURS_N; j++) {
                const float *sums = acc[i] + j * 4;
                const int m = m0 + row_of(t, i), n = n0 + column_of(t, j);
                const float4 v = make_float4(sums[0], sums[1], sums[2], sums[3]);
                if (CLUSTERED) ((float4 *)shared)[(i * FOURS_N + j) * THREADS + t] = v; /* [BM * BN / 4] */
                else if (m >= g.pixels || n >= OC_PADDED) continue;
                else if (APART) store4(g.parts + ((long long)part * g.pixels + m) * OC_PADDED + n, v);
                else store_sums(g, sums, m, n);
            }
    }

    /* Finishes and stores a block's share of a cluster's outputs. */
    DEVICE void store_share() const {
        const int each = BM * BN / 4 / SPLIT;
#pragma unroll 1
        for (int at = part * each + t; at < (part + 1) * each; at += THREADS) {
            float sums[4];
            join((const float *)((float4 *)shared + at), sums);
            const int owner = at % THREADS, place_of = at / THREADS;
            const int m = m0 + row_of(owner, place_of / FOURS_N), n = n0 + column_of(owner, place_of % FOURS_N);
            if (m < g.pixels && n < OC_PADDED) store_sums(g, sums, m, n);
        }
    }
};

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS_ASKED_FOR)
reid_conv_f32(const GRID_CONSTANT conv_arguments a) {
    let_next_begin();
    f32_tile tile(a);
    wait_for_last();
    const int begin = K_PADDED / BK * tile.part / SPLIT, end = K_PADDED / BK * (tile.part + 1) / SPLIT; /* slices */
    multiply_slices<STAGES>(tile, begin, end);
    if (CLUSTERED) __syncthreads(); /* the sums go where the last slices are */
    tile.store();
    if (!CLUSTERED) return;
    block_barrier();
    tile.store_share();
    block_meeting(); /* others may still read this block's shared memory */
}
#endif

#ifdef REID_CONV_F16
/* A block computes BM pixels times BN channels with WARPS_M x WARPS_N warps. STAGES slices of A (BM, BK) and B (BN, BK)
   are in shared memory: one is multiplied while the others arrive by cp.async. sm_75 has neither cp.async nor the k16
   MMA: pieces go through registers, and an MMA of depth 16 is two of depth 8, which add in the same order.

   BYTES: the outputs are bytes, the sums whole numbers. VALUE_U8: bytes times signed bytes; halves only for INT8's
   first convolution, with sums in FP32. SIGNED: -128 ... 127; REST_SIGNED: the residual is signed. full: see
   count_full.

   ROW_SUMS: only a global average of the outputs is needed. Tiles end at the end of a row, and the sum of each row is
   stored, left to right, (images * OH, OC) in fp32, as reid_pool begins.

   MORE_C: K continues with this many channels, in whole slices, of another input, `more` (MORE_IH, MORE_IW), for a 1x1
   convolution with MORE_STRIDE whose result the network adds. Not with BYTES or SCALE.

   FETCHED: with SCALE in a small batch, the inputs and factors of this many slices are loaded into registers at once,
   while as many slices before them are multiplied; STAGES is twice that. Otherwise every slice waits for its own.

   HIDDEN: with FETCHED and little weights, there is no launch of reid_squeeze: every block computes the factors of its
   pixels' images itself, from the sums of TILES tiles, while its first inputs are on their way. CHANNELS, and the order
   of all additions: as in reid_squeeze. Shared memory behind the slices: both matrices, an image's sums, its means, its
   hidden units, and the factors of all images that a tile can reach into. */
#ifndef FETCHED
#define FETCHED 0
#endif
#ifndef HIDDEN
#define HIDDEN 0
#endif
static_assert(!HIDDEN || (FETCHED && SPLIT == 1 && KH * KW == 1), "a block computes the factors of all of its inputs");
#define K_ALL (K_PADDED + MORE_C)
#define THREADS (32 * WARPS_M * WARPS_N)
#define A_BYTES (BM * ROW_BYTES)
#define STAGE_BYTES ((BM + BN) * ROW_BYTES)
#define A_PIECES (BM * 4 / THREADS)
#define TILES_M (BM / WARPS_M / 16)
#define TILES_N (BN / WARPS_N / 8)
#define TILE_PIXELS (ROW_SUMS ? BM / OW * OW : BM)
#define TOGETHER 8

#if BYTES
/* Converts a sum of channel n to steps of the output; rest: the residual's byte. */
DEVICE float in_steps(const conv_arguments &a, sum_t sum, int n, int rest) {
    float v = fmaf((float)sum, a.scales[n], a.bias[n]);
    return RESIDUAL ? fmaf((float)rest, a.scales[OC_PADDED], v) : v;
}

/* Finishes eight channels of a pixel, from n on. */
DEVICE uint2 eight_bytes(const conv_arguments &a, const sum_t *sums, int n, const void *residual) {
    uint2 rest = RESIDUAL ? *(const uint2 *)residual : make_uint2(0, 0), out = make_uint2(0, 0);
#pragma unroll
    for (int c = 0; c < 8; c++) {
        unsigned r = (c < 4 ? rest.x : rest.y) >> c % 4 * 8 & 255;
        float byte = nearest(in_steps(a, sums[c], n + c, REST_SIGNED ? (int)(signed char)r : (int)r));
        (c < 4 ? out.x : out.y) |= (__float_as_uint(byte) & 255) << c % 4 * 8;
    }
    return out;
}
#else
DEVICE uint4 eight_halves(const sum_t *sums, const void *residual) {
    uint4 r = RESIDUAL ? *(const uint4 *)residual : make_uint4(0, 0, 0, 0);
    const unsigned rest[4] = {r.x, r.y, r.z, r.w};
    unsigned packed[4];
#pragma unroll
    for (int c = 0; c < 4; c++) {
        float low = sums[2 * c], high = sums[2 * c + 1];
        if (RESIDUAL) {
            low += reid_f32_from_f16((unsigned short)(rest[c] & 0xffff));
            high += reid_f32_from_f16((unsigned short)(rest[c] >> 16));
        }
        packed[c] = (unsigned)reid_f16_from_f32(act(low)) | (unsigned)reid_f16_from_f32(act(high)) << 16;
    }
    return make_uint4(packed[0], packed[1], packed[2], packed[3]);
}
#endif

/* Finishes and stores the sums of eight channels of pixel m, from n on. */
DEVICE void store_sums(const conv_arguments &a, const sum_t *sums, int m, int n) {
    const void *rest = (const unsigned char *)a.residual + ((long long)m * OC_PADDED + n) * (BYTES ? 1 : 2);
    long long to = (long long)m * OUT_STRIDE + CHANNEL + n;
#if BYTES
    uint2 bytes = eight_bytes(a, sums, n, rest);
    *(uint2 *)((unsigned char *)a.out + to) = bytes;
    if (COUNTED) count_full(a.full, m, full_bytes(bytes.x) + full_bytes(bytes.y));
#else
    *(uint4 *)(a.out + to) = eight_halves(sums, rest);
#endif
}

/* A piece times its squeeze-excite factors, which passes through registers on every chip. */
struct scaled_piece {
    uint4 v;
    float4 s, u;
    DEVICE void load(bool inside, const value_t *from) {
        v = inside ? *(const uint4 *)from : make_uint4(0, 0, 0, 0);
    }
    DEVICE void load_factors(bool inside, const float *factors) {
        s = u = make_float4(0, 0, 0, 0);
        if (inside) s = *(const float4 *)factors, u = *(const float4 *)(factors + 4);
    }
    DEVICE void store(unsigned char *to) const {
        *(uint4 *)to = make_uint4(scale_pair(v.x, s.x, s.y), scale_pair(v.y, s.z, s.w), scale_pair(v.z, u.x, u.y),
                                  scale_pair(v.w, u.z, u.w));
    }
};

#if HIDDEN
/* HIDDEN: the factors of a block's images, computed by its 32 WARPS_M WARPS_N threads. */
struct squeeze {
    const conv_arguments &g;
    DEVICE float *w1() const { return (float *)(shared + STAGES * STAGE_BYTES); } /* (HIDDEN, IC) */
    DEVICE float *w2() const { return w1() + HIDDEN * IC; }                       /* (HIDDEN, IC) */
    DEVICE float *sums() const { return w2() + HIDDEN * IC; }                     /* (TILES, IC) */
    DEVICE float *means() const { return sums() + TILES * IC; }
    DEVICE float *units() const { return means() + IC; }
    DEVICE float *factors(int i) const { return units() + (HIDDEN + 3) / 4 * 4 + i * IC; } /* of the block's image i */

    DEVICE void copy_weights() const {
        for (int i = threadIdx.x * 4; i < HIDDEN * IC; i += THREADS * 4) {
            reid_cp_async_16(reid_shared_address(w1() + i), g.w1 + i, 16);
            reid_cp_async_16(reid_shared_address(w2() + i), g.w2 + i, 16);
        }
    }

    /* Ends with the block's threads together. */
    DEVICE void compute(int first, int last) const {
        const int t = threadIdx.x;
        reid_cp_async_wait<0>();
        for (int image = first; image <= last; image++) {
            const float *from = g.sums + (long long)image * TILES * IC;
#pragma unroll 8
            for (int i = t * 4; i < TILES * IC; i += THREADS * 4) *(float4 *)(sums() + i) = *(const float4 *)(from + i);
            __syncthreads();
            for (int c = t; c < IC; c += THREADS) {
                float total = 0.0f;
#pragma unroll 16
                for (int tile = 0; tile < TILES; tile++) total += sums()[tile * IC + c];
                means()[c] = total / (float)(OH * OW);
            }
            __syncthreads();
            for (int h = t / 32; h < HIDDEN; h += THREADS / 32) {
                float sum = 0.0f;
#pragma unroll
                for (int c = t % 32; c < CHANNELS; c += 32) sum = fmaf(means()[c], w1()[h * IC + c], sum);
                sum = sum_of_warp(sum) + g.b1[h];
                if (t % 32 == 0) units()[h] = sum * full_sigmoid(sum); /* factors are FP32 */
            }
            __syncthreads();
            for (int c = t; c < IC; c += THREADS) {
                float sum = g.b2[c];
#pragma unroll
                for (int h = 0; h < HIDDEN; h++) sum = fmaf(units()[h], w2()[h * IC + c], sum);
                factors(image - first)[c] = full_sigmoid(sum);
            }
        }
        __syncthreads();
    }
};
#endif

#if MORE_C
/* Address of the other input of output pixel m. */
DEVICE const value_t *find_more(const value_t *more, int m) {
    int image = m / (OH * OW), y = m % (OH * OW) / OW * MORE_STRIDE, x = m % OW * MORE_STRIDE;
    return more + ((long long)image * MORE_IH * MORE_IW + y * MORE_IW + x) * MORE_C;
}
#endif

/* One thread's part of a block's tile. */
struct f16_tile {
    const conv_arguments &g;
    int t, lane, part, m0, n0, warp_m, warp_n;
    int piece, first_row; /* the part of each slice that this thread copies */
    sum_t acc[TILES_M][TILES_N][4];
    pixel source[A_PIECES];
#if MORE_C
    const value_t *more[A_PIECES];
#endif
#if FETCHED
    scaled_piece fetched[FETCHED][A_PIECES];
#endif
#if HIDDEN
    const squeeze squeezed = {g};
#endif

    DEVICE f16_tile(const conv_arguments &arguments) : g(arguments) {
        t = threadIdx.x, lane = t % 32, part = blockIdx.x % SPLIT;
        m0 = row_of_block() * TILE_PIXELS, n0 = column_of_block() * BN;
        warp_m = t / 32 / WARPS_N * (BM / WARPS_M), warp_n = t / 32 % WARPS_N * (BN / WARPS_N);
        piece = t % 4, first_row = t / 4;
#pragma unroll
        for (int i = 0; i < A_PIECES; i++) {
            int m = min(m0 + first_row + i * (THREADS / 4), g.pixels - 1);
            source[i] = find_pixel(g.in, m);
#if MORE_C
            more[i] = find_more(g.more, m);
#endif
        }
#pragma unroll
        for (int i = 0; i < TILES_M; i++)
#pragma unroll
            for (int j = 0; j < TILES_N; j++)
#pragma unroll
                for (int c = 0; c < 4; c++) {
                    int n = n0 + warp_n + j * 8 + lane % 4 * 2 + c % 2; /* as in an m16n8 fragment */
                    acc[i][j][c] = (sum_t)(!BYTES && !part && n < OC_PADDED ? g.bias[n] : 0); /* for bytes: later */
                    if (MORE_C && !part && n < OC_PADDED) acc[i][j][c] += (sum_t)g.more_bias[n];
                }
    }

    DEVICE void copy_slice(int slice) const {
        unsigned char *a = shared + slice % STAGES * STAGE_BYTES;
        int k = slice * BK + piece * EACH;
#pragma unroll
        for (int i = 0; i < A_PIECES; i++) {
            int row = first_row + i * (THREADS / 4);
            const value_t *x;
            bool inside = find_input(source[i], k, &x);
#if MORE_C
            if (k >= K_PADDED) x = more[i] + (k - K_PADDED), inside = true;
#endif
            if (SCALE) {
                scaled_piece p;
                p.load(inside, x), p.load_factors(inside, g.factors + source[i].image_index * IC + k);
                p.store(a + place(row, piece));
            } else copy_piece(a + place(row, piece), inside, x, g.in);
        }
        copy_weights(slice);
    }

    DEVICE void copy_weights(int slice) const {
        unsigned char *b = shared + slice % STAGES * STAGE_BYTES + A_BYTES;
#pragma unroll
        for (int row = first_row; row < BN; row += THREADS / 4)
            copy_piece(b + place(row, piece), n0 + row < OC_PADDED,
                       g.weights + (n0 + row) * K_ALL + slice * BK + piece * EACH, g.weights);
    }

#if FETCHED
    /* Inputs of the slices from `slice` on: to registers, and from there to shared memory; and their weights. */
    DEVICE void fetch(int slice, int end) {
#pragma unroll
        for (int i = 0; i < FETCHED * A_PIECES; i++) {
            int k = (slice + i / A_PIECES) * BK + piece * EACH;
            const pixel &p = source[i % A_PIECES];
            const value_t *x;
            bool inside = find_input(p, k, &x) && slice + i / A_PIECES < end;
            scaled_piece &to = fetched[i / A_PIECES][i % A_PIECES];
            to.load(inside, x);
            if (!HIDDEN) to.load_factors(inside, g.factors + p.image_index * IC + k);
        }
    }
    DEVICE void put_fetched(int slice) {
#pragma unroll
        for (int i = 0; i < FETCHED * A_PIECES; i++) {
            unsigned char *a = shared + (slice + i / A_PIECES) % STAGES * STAGE_BYTES;
            scaled_piece &from = fetched[i / A_PIECES][i % A_PIECES];
#if HIDDEN
            int k = (slice + i / A_PIECES) * BK + piece * EACH;
            from.load_factors(k < IC, squeezed.factors(source[i % A_PIECES].image_index - m0 / (OH * OW)) + k);
#endif
            from.store(a + place(first_row + i % A_PIECES * (THREADS / 4), piece));
        }
    }
    DEVICE void copy_fetched_weights(int slice, int end) const {
        for (int s = slice; s < slice + FETCHED && s < end; s++) copy_weights(s);
#if __CUDA_ARCH__ >= 800
        reid_cp_async_commit();
#endif
    }
    DEVICE void multiply_fetched(int begin, int end) {
        fetch(begin, end);
#if HIDDEN
        squeezed.compute(m0 / (OH * OW), (min(m0 + BM, g.pixels) - 1) / (OH * OW));
#endif
#pragma unroll 1
        for (int s = begin; s < end; s += FETCHED) {
            put_fetched(s);
#if __CUDA_ARCH__ >= 800
            reid_cp_async_wait<0>();
#endif
            __syncthreads(); /* all threads see these slices, and have read the last ones, whose places come next */
            fetch(s + FETCHED, end);
            copy_fetched_weights(s + FETCHED, end);
            for (int k = s; k < s + FETCHED && k < end; k++) multiply(k);
        }
    }
#endif

    DEVICE void multiply(int slice) {
        unsigned a_base = reid_shared_address(shared + slice % STAGES * STAGE_BYTES), b_base = a_base + A_BYTES;
#pragma unroll
        for (int step = 0; step < ROW_BYTES / 32; step++) {
            unsigned a[TILES_M][4], b[TILES_N][2];
#pragma unroll
            for (int i = 0; i < TILES_M; i++) /* 16 x 16 of A: rows 0-7, 8-15, then those of the right half */
                reid_ldmatrix_x4(a[i], a_base + place(warp_m + i * 16 + lane % 16, step * 2 + lane / 16));
#pragma unroll
            for (int j = 0; j < TILES_N; j += 2) { /* 16 channels of B: both halves of eight, then of the other eight */
                unsigned r[4];
                reid_ldmatrix_x4(r, b_base + place(warp_n + j * 8 + lane / 16 * 8 + lane % 8, step * 2 + lane / 8 % 2));
                b[j][0] = r[0], b[j][1] = r[1], b[j + 1][0] = r[2], b[j + 1][1] = r[3];
            }
#pragma unroll
            for (int i = 0; i < TILES_M; i++)
#pragma unroll
                for (int j = 0; j < TILES_N; j++) mma16(acc[i][j], a[i], b[j]);
        }
    }

#if APART
    /* Stores the sums as this part of K in memory. */
    DEVICE void store_part() const {
#pragma unroll
        for (int i = 0; i < TILES_M * TILES_N * 2; i++) {
            const sum_t *pair = acc[i / 2 / TILES_N][i / 2 % TILES_N] + i % 2 * 2;
            int m = m0 + warp_m + i / 2 / TILES_N * 16 + lane / 4 + i % 2 * 8, n = n0 + warp_n + i / 2 % TILES_N * 8;
            sum_t *to = g.parts + ((long long)part * g.pixels + m) * OC_PADDED + n + lane % 4 * 2;
            if (m < g.pixels && n < OC_PADDED) *(uint2 *)to = make_uint2(bits_of(pair[0]), bits_of(pair[1]));
        }
    }
#else
    /* [BM]. Fragments hold pairs of channels; through shared memory every thread gets eight, for one 16-byte access. */
    DEVICE static sum_t (*tile())[BN + 4] { return (sum_t(*)[BN + 4])shared; }
    DEVICE void put_sums() const {
#pragma unroll
        for (int i = 0; i < TILES_M; i++)
#pragma unroll
            for (int j = 0; j < TILES_N; j++)
#pragma unroll
                for (int c = 0; c < 4; c++)
                    tile()[warp_m + i * 16 + lane / 4 + c / 2 * 8][warp_n + j * 8 + lane % 4 * 2 + c % 2] =
                        acc[i][j][c];
    }

    /* Stores the block's share of the outputs; with ROW_SUMS they stay in shared memory, rounded. */
    DEVICE void store() const {
        const int each = BM * BN / 8 / SPLIT;
        for (int at = part * each + t; at < (part + 1) * each; at += THREADS) {
            int row = at / (BN / 8), m = m0 + row, n = n0 + at % (BN / 8) * 8;
            if (m >= g.pixels || n >= OC_PADDED) continue;
            sum_t sums[8];
#pragma unroll
            for (int c = 0; c < 8; c += 4) join(&tile()[row][n - n0 + c], sums + c);
#if BYTES
            store_sums(g, sums, m, n);
#else
            if (!ROW_SUMS) store_sums(g, sums, m, n);
            uint4 v = ROW_SUMS ? eight_halves(sums, g.residual + (long long)m * OC_PADDED + n) : make_uint4(0, 0, 0, 0);
            const unsigned packed[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
            for (int c = 0; c < 8 && ROW_SUMS; c++)
                tile()[row][n - n0 + c] = reid_f32_from_f16((unsigned short)(packed[c / 2] >> c % 2 * 16));
#endif
        }
    }

    DEVICE void sum_rows() const {
        for (int at = t; at < TILE_PIXELS / OW * BN && ROW_SUMS; at += THREADS) {
            int row = at / BN, n = at % BN;
            float total = 0.0f;
            if (m0 + row * OW >= g.pixels || n0 + n >= OC_PADDED) continue;
            for (int x = 0; x < OW; x++) total += tile()[row * OW + x][n];
            ((float *)g.out)[(long long)(m0 / OW + row) * OC_PADDED + n0 + n] = total;
        }
    }
#endif
};

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS_ASKED_FOR)
reid_conv_f16(const GRID_CONSTANT conv_arguments g) {
    let_next_begin();
    f16_tile tile(g);
    const int begin = K_ALL / BK * tile.part / SPLIT, end = K_ALL / BK * (tile.part + 1) / SPLIT;
#if HIDDEN
    tile.squeezed.copy_weights();
#endif
#if FETCHED
    tile.copy_fetched_weights(begin, end);
    wait_for_last();
    tile.multiply_fetched(begin, end);
#else
    wait_for_last();
    multiply_slices<STAGES>(tile, begin, end);
#endif
#if APART
    tile.store_part();
#else
    __syncthreads();
    tile.put_sums();
    block_barrier();
    tile.store();
    if (CLUSTERED) block_meeting(); /* others may still read this block's shared memory */
    if (ROW_SUMS) __syncthreads();
    tile.sum_rows();
#endif
}
#endif

#ifdef REID_STEM
/* The first convolution of an EfficientNet in halves: 3x3, stride 2, the image (IH, IW, 4) with its border, a fourth
   column of zero weights. A block computes R rows of outputs, a divisor of OH, with all channels, from the 2 R + 1 rows
   of the image under them, which it copies to shared memory as they are: the four pixels of a window's row are 32
   bytes, 16 of K, and those of the next output begin 16 bytes later, so ldmatrix reads windows in place, eight of them
   from eight different groups of banks. Behind the rows are 512 bytes of zeros. A warp computes 16 outputs at a time;
   the weights stay in its registers, in an order that leaves a thread EACH_LANE neighbouring channels of two outputs.
   The bits are those of reid_conv_f16. */
#define EACH_LANE (OC_PADDED / 4)
#define ROWS_IN (2 * R + KH - 2)
#define ACROSS_ROW ((OW + 15) / 16) /* groups of 16 outputs; the last one of a row may read into the next */

/* The channel of column n of eight in group j of a product. */
DEVICE int channel_of(int j, int n) { return n / 2 * EACH_LANE + j * 2 + n % 2; }

extern "C" __global__ void __launch_bounds__(256)
reid_stem(const GRID_CONSTANT conv_arguments g) {
    const int lane = threadIdx.x % 32, q = lane % 4, row0 = blockIdx.x * R; /* row0: over all images */
    const int bytes = ROWS_IN * IW * 8, image = row0 / OH, y0 = row0 % OH;
    unsigned b[KH][OC_PADDED / 8][2];
    float2 bias[OC_PADDED / 8];
    let_next_begin();
#pragma unroll
    for (int j = 0; j < OC_PADDED / 8; j++) {
        const unsigned *w = (const unsigned *)(g.weights + (long long)channel_of(j, lane / 4) * K_PADDED);
#pragma unroll
        for (int ky = 0; ky < KH; ky++) b[ky][j][0] = __ldg(w + ky * 8 + q), b[ky][j][1] = __ldg(w + ky * 8 + q + 4);
        bias[j] = __ldg((const float2 *)(g.bias + channel_of(j, 2 * q)));
    }
    wait_for_last();
    const value_t *from = g.in + ((long long)image * IH + 2 * y0) * IW * 4;
    for (int i = threadIdx.x * 16; i < bytes; i += 256 * 16) copy_piece(shared + i, true, from + i / 2, from);
    if (threadIdx.x < 32) *(uint4 *)(shared + bytes + threadIdx.x * 16) = make_uint4(0, 0, 0, 0);
#if __CUDA_ARCH__ >= 800
    reid_cp_async_commit();
    reid_cp_async_wait<0>();
#endif
    __syncthreads();
    for (int i = threadIdx.x / 32; i < R * ACROSS_ROW; i += 8) {
        const int y = i / ACROSS_ROW, x0 = i % ACROSS_ROW * 16;
        const unsigned at = reid_shared_address(shared) + 2 * y * IW * 8 + (x0 + lane % 16) * 16 + lane / 16 * 16;
        float d[OC_PADDED / 8][4];
#pragma unroll
        for (int j = 0; j < OC_PADDED / 8; j++) d[j][0] = d[j][2] = bias[j].x, d[j][1] = d[j][3] = bias[j].y;
#pragma unroll
        for (int ky = 0; ky < KH; ky++) {
            unsigned a[4];
            reid_ldmatrix_x4(a, at + ky * IW * 8);
#pragma unroll
            for (int j = 0; j < OC_PADDED / 8; j++) mma16(d[j], a, b[ky][j]);
        }
#pragma unroll
        for (int below = 0; below < 2; below++) {
            const int x = x0 + lane / 4 + below * 8;
            value_t *to = g.out + (((long long)row0 + y) * OW + x) * OC_PADDED + q * EACH_LANE;
            unsigned words[OC_PADDED / 8];
#pragma unroll
            for (int j = 0; j < OC_PADDED / 8; j++)
                words[j] = reid_f16x2_from_f32(act(d[j][below * 2]), act(d[j][below * 2 + 1]));
            if (x >= OW) continue;
#if OC_PADDED % 32 == 0
#pragma unroll
            for (int j = 0; j < OC_PADDED / 8; j += 4)
                reid_store_16(to + j * 2, make_uint4(words[j], words[j + 1], words[j + 2], words[j + 3]));
#else
#pragma unroll
            for (int j = 0; j < OC_PADDED / 8; j += 2) *(uint2 *)(to + j * 2) = make_uint2(words[j], words[j + 1]);
#endif
        }
    }
}
#endif

#if APART
/* The second launch of a convolution whose parts of K are in memory, (SPLIT, pixels, OC_PADDED): adds them, first part
   first, as the blocks of a cluster do. A thread has TOGETHER channels of a pixel. */
extern "C" __global__ void __launch_bounds__(256)
reid_join(const GRID_CONSTANT conv_arguments a) {
    take_turn();
    unsigned long long i = thread_index();
    int m = (int)(i / (OC_PADDED / TOGETHER)), n = (int)(i % (OC_PADDED / TOGETHER)) * TOGETHER;
    if (m >= a.pixels) return;
    sum_t sums[TOGETHER];
#pragma unroll
    for (int k = 0; k < SPLIT * TOGETHER / 4; k++) {
        int part = k / (TOGETHER / 4), c = k % (TOGETHER / 4) * 4;
        uint4 v = *(const uint4 *)(a.parts + ((long long)part * a.pixels + m) * OC_PADDED + n + c);
        const unsigned words[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
        for (int j = 0; j < 4; j++) sums[c + j] = part ? sums[c + j] + sum_of(words[j]) : sum_of(words[j]);
    }
    store_sums(a, sums, m, n);
}
#endif

#ifdef REID_CONV_WGMMA
/* The convolution for Hopper. A block stays on its multiprocessor and takes tile after tile of BM pixels by BN
   channels; blocks take tiles of the same pixels at the same time, so that inputs are read from memory once. Of its
   three warpgroups two multiply; a thread of the third copies the operands into a ring of STAGES slices of depth BK,
   (BM, BK) of the input and (BN, BK) of the weights, by tensor maps, whose im2col mode handles stride and zeros of a
   window. Other threads copy residuals. Everything in shared memory has rows of 64 halves, or of 128 or 64 bytes, whose
   16-byte pieces are permuted by the row number: the 128- or 64-byte swizzle of copies and of wgmma. mbarriers hand
   over the ring's places.

   BYTES, VALUE_U8, SIGNED, REST_SIGNED, full: as in reid_conv_f16. The weights of 16 output channels come in the order
   that leaves a thread four neighbours: reid__wgmma_row in reid.h.

   GROUPS 2: both warpgroups work on one tile, a half of its pixels each. GROUPS 1: they take turns, and one multiplies
   while the other one stores. A warpgroup has BLOCKS_M blocks of 64 pixels. RESIDENT: the weights of a block's channels
   fit and stay; gridDim.x is then a multiple of the tiles side by side. BN is 64, 128 or 256, which is also the width
   of the instruction; with 256 BLOCKS_M is 1, because a thread's sums must fit its registers. Outputs go through SLOTS
   places of 64 pixels by 64 channels for each warpgroup, into which residuals are copied first; each warp stores 16
   pixels. MORE_C: K continues with this many channels of another input, for a 1x1 convolution with MORE_STRIDE whose
   result the network adds.
   SHORTCUT, for bytes, whose scales differ: that convolution has weights and sums of its own, which become the bytes
   that would be stored, and then the residual; only with BLOCKS_M 1, without SPLIT.

   NEXT: the outputs, whose channels fit one tile, are not stored but go through a second, 1x1 convolution to NEXT
   channels, 128 in each of PASSES; slices of its weights follow in the ring, without inputs, or are resident. One pass
   is multiplied while the one before it is stored. DIRECT: there is no first convolution; a tile's slices are the input
   of NEXT, and stay in the ring for all passes.

   THEN: the outputs of NEXT also go through a 1x1 convolution to THEN channels, the first one of the next block, which
   otherwise would only read them again. Its activation is THEN_ACT: the same, or none. A slot of outputs on its way to
   memory is also a slice of the input: wgmma reads it where it is, and THEN's sums grow from slot to slot. They take
   the registers of a second pass, so passes come one by one. When all of NEXT is stored, the sums pass the slots, too:

       ring -> [first convolution -> inner] -> NEXT + residual -> slot -> memory
                                                                   |
                                                                   +---> sums of THEN -> slot -> memory
   Only with RESIDENT, and with BLOCKS_M 1.

   SPLIT: a cluster takes a tile, and each block its own slices. It sends its sums to the slots of the blocks whose
   share they are, thread to thread, by stores that `filled` counts; `stored` returns the slots. Residuals are read from
   `residual`, and outputs go straight to memory. Not with RESIDENT, NEXT or ROW_SUMS, and only with BLOCKS_M 1.

   LIGHT: two blocks fit a multiprocessor, so that the next launch may begin beside this one.

   ROW_SUMS: as in reid_conv_f16, by one warpgroup a tile.

   Shared memory, in this order: the slices, resident weights, those of NEXT, of THEN, inputs of NEXT, slots,
   mbarriers. */
#ifndef THEN
#define THEN 0
#define THEN_ACT ACT
#define DIRECT 0
#endif
#define SHORTCUT (BYTES && MORE_C)
#define ADDS (RESIDUAL || SHORTCUT)
#ifdef VALUE_U8
#define VALUE 1
#define BK (IC < 128 ? 64 : 128)
#else
#define VALUE 2
#define BK 64
#endif
#define SLICE_ROW (BK * VALUE) /* bytes */
#define BM (64 * BLOCKS_M * GROUPS)
#define TILE_PIXELS (ROW_SUMS ? BM / OW * OW : BM)
#define C_CHUNKS ((IC + BK - 1) / BK) /* the missing channels of the last one have zero weights */
#define OWN_CHUNKS (KH * KW * C_CHUNKS)
#define CHUNKS (OWN_CHUNKS + (MORE_C + BK - 1) / BK)
#define TILES_N (DIRECT ? 1 : (OC_PADDED + BN - 1) / BN)
#define A_BYTES (BM * SLICE_ROW)
#define B_BYTES (DIRECT ? 0 : BN * SLICE_ROW)
#define STAGE_BYTES (A_BYTES + (RESIDENT ? 0 : B_BYTES))
#define BLOCK_BYTES (64 * SLICE_ROW)
#define PASSES (NEXT / 128)
#define NEXT_ROW (DIRECT ? CHUNKS : NEXT ? BN / BK : 1) /* slices of K of NEXT */
#define NEXT_CHUNKS (NEXT ? NEXT_ROW : 0)
#define NEXT_BYTES (128 * SLICE_ROW)
#define RING_CHUNKS (CHUNKS + (RESIDENT ? 0 : PASSES * NEXT_CHUNKS)) /* of a tile */
#define AHEAD (RESIDENT ? 0 : STAGES < CHUNKS / SPLIT ? STAGES : CHUNKS / SPLIT)
#define SHARE (BN / 2 / SPLIT) /* sums of a thread */
#define OUT_N (NEXT ? 128 : BN) /* channels of a tile's outputs, at once */
#define SLOT_N (VALUE == 1 ? OUT_N < 128 ? OUT_N : 128 : 64) /* rows of a slot have 128 bytes at most */
#define SLOT_BYTES (64 * SLOT_N * VALUE)
#define THEN_N (THEN < SLOT_N ? THEN : SLOT_N) /* channels of a slot of its outputs */
#define THEN_CHUNKS (THEN ? NEXT / SLOT_N : 0) /* a slot is a slice of its K */
#define THEN_BYTES (THEN * 128)
#define NEXT_AT (STAGES * STAGE_BYTES + (RESIDENT ? CHUNKS * B_BYTES : 0))
#define THEN_AT (NEXT_AT + (RESIDENT ? PASSES * NEXT_CHUNKS * NEXT_BYTES : 0))
#define INNER_AT (THEN_AT + THEN_CHUNKS * THEN_BYTES)
#define SLOTS_AT (INNER_AT + (DIRECT ? 0 : 2 * NEXT_CHUNKS * BLOCKS_M * BLOCK_BYTES))
#define BARRIERS_AT (SLOTS_AT + 2 * SLOTS * SLOT_BYTES)

STRUCT(wgmma_arguments);

/* Addresses in shared memory. */
struct layout {
    unsigned base;
    DEVICE unsigned barrier(int i) const { return base + BARRIERS_AT + 8 * i; }
    DEVICE unsigned stage(int i) const { return base + i * STAGE_BYTES; }
    DEVICE unsigned full(int i) const { return barrier(i); }
    DEVICE unsigned empty(int i) const { return barrier(STAGES + i); }
    DEVICE unsigned weights(int chunk) const { return base + STAGES * STAGE_BYTES + chunk * B_BYTES; }
    DEVICE unsigned next(int chunk) const { return base + NEXT_AT + chunk * NEXT_BYTES; }
    DEVICE unsigned then(int chunk) const { return base + THEN_AT + chunk * THEN_BYTES; }
    DEVICE unsigned inner(int group) const { return base + INNER_AT + group * NEXT_CHUNKS * BLOCKS_M * BLOCK_BYTES; }
    DEVICE unsigned resident() const { return barrier(2 * STAGES); }
    DEVICE unsigned slot(int group, int i) const { return base + SLOTS_AT + (group * SLOTS + i) * SLOT_BYTES; }
    DEVICE unsigned turn(int group) const { return barrier(2 * STAGES + 1 + group); }
    DEVICE unsigned filled(int group, int i) const { return barrier(2 * STAGES + 3 + group * SLOTS + i); }
    DEVICE unsigned stored(int group, int i) const { return barrier(2 * STAGES + 3 + (2 + group) * SLOTS + i); }
};

/* SPLIT: the slices of a block's part, from first_slice(part) to first_slice(part + 1). */
DEVICE int first_slice(int part) { return CHUNKS * part / SPLIT; }
DEVICE int own_part() { return blockIdx.x % SPLIT; }

/* Like wait_for, and makes writes of the cluster's blocks visible. */
DEVICE void wait_for_cluster(unsigned mbarrier, unsigned parity) {
    while (!reid_cluster_mbarrier_try_wait(mbarrier, parity)) continue;
}

/* Signals that a warp has read this slot: all blocks of the cluster may send the next sums. */
DEVICE void take_more(unsigned stored) {
    __syncwarp();
    for (int i = 0; i < SPLIT && threadIdx.x % 32 == 0; i++)
        reid_cluster_mbarrier_arrive_cta(reid_cluster_map(stored, i));
}

/* Row and column of a tile: its pixels and its channels, in tiles. */
DEVICE int row_of(int tile) { return tile / TILES_N; }
DEVICE int column_of(int tile) { return tile % TILES_N; }

/* The tiles on which a warpgroup works. */
DEVICE int first_tile(int group) { return (blockIdx.x + (GROUPS == 1 ? group * gridDim.x : 0)) / SPLIT; }
DEVICE int tile_step() { return (GROUPS == 1 ? 2 : 1) * gridDim.x / SPLIT; }
/* The first pixel of a warpgroup's part of a tile. */
DEVICE int pixel_of(int tile, int group) {
    return row_of(tile) * TILE_PIXELS + (GROUPS == 1 ? 0 : group * 64 * BLOCKS_M);
}

/* Copies the operands of all tiles of the block, in one thread. Resident weights, and those of the first AHEAD slices,
   do not wait for the previous launch. */
DEVICE void copy_operands(const wgmma_arguments &a, layout l, int tiles) {
    const tensor_map *in = &a.in_map, *more = &a.more_map, *weights = &a.weights_map, *next = &a.next_map;
    const int next_bytes = PASSES * NEXT_CHUNKS * NEXT_BYTES + THEN_CHUNKS * THEN_BYTES;
    cursor<STAGES> s;
    auto load_slice = [&](unsigned to, const tensor_map *own, int k, int n, unsigned full) {
        bool others = SHORTCUT && k >= OWN_CHUNKS;
        reid_tensor_load_2d(to, others ? &a.more_weights_map : own, (others ? k - OWN_CHUNKS : k) * BK, n, full);
    };
    reid_tensor_prefetch(in);
    reid_tensor_prefetch(weights);
    if (RESIDENT) {
        reid_mbarrier_arrive_expect_tx(l.resident(), CHUNKS * B_BYTES + next_bytes);
        for (int k = 0; k < CHUNKS && !DIRECT; k++)
            load_slice(l.weights(k), weights, k, blockIdx.x % TILES_N * BN, l.resident());
        for (int k = 0; k < PASSES * NEXT_CHUNKS; k++)
            load_slice(l.next(k), next, k % NEXT_ROW, k / NEXT_ROW * 128, l.resident());
        for (int k = 0; k < THEN_CHUNKS; k++)
            reid_tensor_load_2d(l.then(k), &a.then_map, k * SLOT_N, 0, l.resident());
    }
    auto begin_slice = [&](int tile, int k, int stage) {
        reid_mbarrier_arrive_expect_tx(l.full(stage), STAGE_BYTES);
        if (RESIDENT) return;
        load_slice(l.stage(stage) + A_BYTES, weights, k, column_of(tile) * BN, l.full(stage));
    };
    const int own = first_slice(own_part()), end = first_slice(own_part() + 1), first = blockIdx.x / SPLIT;
    for (int k = 0; k < AHEAD; k++) begin_slice(first, own + k, k);
    wait_for_last();
    for (int tile = first; tile < tiles; tile += gridDim.x / SPLIT) {
        int m0 = row_of(tile) * TILE_PIXELS, image = m0 / (OH * OW);
        int row = m0 % (OH * OW) / OW, column = m0 % OW;
        for (int k = own; k < end; k++, s.advance(1)) {
            int c = k % C_CHUNKS * BK, tap = k / C_CHUNKS, c_more = (k - OWN_CHUNKS) * BK;
            unsigned to = l.stage(s.at), full = l.full(s.at);
            wait_for(l.empty(s.at), s.parity ^ 1);
            if (tile != first || k >= own + AHEAD) begin_slice(tile, k, s.at);
            bool of_in = k < OWN_CHUNKS;
            if (of_in ? KH * KW * STRIDE == 1 : MORE_STRIDE == 1)
                reid_tensor_load_2d(to, of_in ? in : more, of_in ? c : c_more, m0, full);
            else if (of_in)
                reid_tensor_load_im2col_4d(to, in, c, column * STRIDE - PAD_X, row * STRIDE - PAD_Y, image, tap % KW,
                                           tap / KW, full);
            else
                reid_tensor_load_im2col_4d(to, more, c_more, column * MORE_STRIDE, row * MORE_STRIDE, image, 0, 0,
                                           full);
        }
        for (int k = 0; k < RING_CHUNKS - CHUNKS; k++, s.advance(1)) {
            wait_for(l.empty(s.at), s.parity ^ 1);
            reid_mbarrier_arrive_expect_tx(l.full(s.at), NEXT_BYTES);
            reid_tensor_load_2d(l.stage(s.at) + A_BYTES, next, k % NEXT_ROW * BK, k / NEXT_ROW * 128, l.full(s.at));
        }
    }
}

/* Copies the residuals of a warpgroup, in one thread, in the order in which it stores. The outputs of THEN, which come
   after a tile's others, have none. */
DEVICE void copy_residuals(const tensor_map *residual, layout l, int tiles, int group) {
    cursor<SLOTS> s;
    wait_for_last();
    for (int tile = first_tile(group); tile < tiles; tile += tile_step()) {
        for (int i = 0; i < (NEXT ? PASSES : 1) * BLOCKS_M * (OUT_N / SLOT_N); i++, s.advance(1)) {
            int pass = i / (BLOCKS_M * (OUT_N / SLOT_N)), block = i / (OUT_N / SLOT_N) % BLOCKS_M;
            wait_for(l.stored(group, s.at), s.parity ^ 1);
            reid_mbarrier_arrive_expect_tx(l.filled(group, s.at), SLOT_BYTES);
            reid_tensor_load_2d(l.slot(group, s.at), residual,
                                (NEXT ? pass : column_of(tile)) * OUT_N + i % (OUT_N / SLOT_N) * SLOT_N,
                                pixel_of(tile, group) + block * 64, l.filled(group, s.at));
        }
        for (int i = 0; i < (THEN ? THEN / THEN_N : 0); i++, s.advance(1)) {
            wait_for(l.stored(group, s.at), s.parity ^ 1);
            reid_mbarrier_arrive(l.filled(group, s.at));
        }
    }
}

/* Offset of a piece of a row of `bytes` bytes with that swizzle. */
template <int bytes> DEVICE unsigned place(int row, int piece) {
    unsigned at = (unsigned)(row * bytes + piece * 16);
    return at ^ at / 128 % (bytes / 16) * 16;
}

/* A warpgroup's sums, (64 BLOCKS_M pixels, n channels). */
template <int n> struct sums {
    sum_t d[BLOCKS_M][n / 2];
    DEVICE void hold() {
#pragma unroll
        for (int i = 0; i < BLOCKS_M * n / 2; i++) reid_wgmma_hold(d[i / (n / 2)][i % (n / 2)]);
    }
    /* Sets the sums to the bias of the channels from n0 on; for bytes to 0, because the bias comes later. */
    DEVICE void begin(const float *bias, const float *more_bias, int n0, int channels) {
#pragma unroll
        for (int j = 0; j < n / 8; j++) {
            int c = n0 + j * 8 + threadIdx.x % 4 * 2;
            float2 b = !BYTES && c < channels ? __ldg((const float2 *)(bias + c)) : make_float2(0, 0);
            float2 m = more_bias && c < channels ? __ldg((const float2 *)(more_bias + c)) : make_float2(0, 0);
            if (more_bias) b = make_float2(b.x + m.x, b.y + m.y);
#pragma unroll
            for (int i = 0; i < BLOCKS_M; i++)
                d[i][4 * j] = d[i][4 * j + 2] = (sum_t)b.x, d[i][4 * j + 1] = d[i][4 * j + 3] = (sum_t)b.y;
        }
    }
    /* Adds the products of a slice, in rows of `row` bytes: of the blocks at a, of 64 rows each, and of the n channels
       at b. */
    template <int row = SLICE_ROW> DEVICE void add_slice(unsigned a, unsigned b) {
        hold();
        reid_wgmma_fence();
#pragma unroll
        for (int step = 0; step < row / 32; step++)
#pragma unroll
            for (int i = 0; i < BLOCKS_M; i++)
                reid_wgmma<n>(d[i], operand<row>(a + i * 64 * row + step * 32), operand<row>(b + step * 32), true);
        reid_wgmma_commit();
        hold();
    }
};

/* How sums become outputs: channels from n on, below `end`. rest: steps of the output per step of the residual.
   is_linear: without an activation. */
struct finish {
    const float *scale, *bias;
    float rest;
    int n, end;
    bool is_linear;
    unsigned *full; /* see count_full */
    int pixels, m;  /* all; the first of 64 */
    const float *more_scale, *more_bias; /* SHORTCUT */
    DEVICE finish of_shortcut() const {
        finish other = *this;
        other.scale = more_scale, other.bias = more_bias;
        return other;
    }
};

/* How the sums of a word's channels become values. */
#define PER_WORD (4 / VALUE)
struct word {
#ifdef VALUE_U8
    float4 scale, bias;
    float rest;
#else
    bool is_linear;
#endif
    DEVICE word(const finish &f, int c) {
#ifdef VALUE_U8
        scale = c < f.end ? __ldg((const float4 *)(f.scale + c)) : make_float4(0, 0, 0, 0);
        bias = c < f.end ? __ldg((const float4 *)(f.bias + c)) : make_float4(0, 0, 0, 0);
        rest = f.rest;
#else
        (void)c; /* the sums started with the bias */
        is_linear = f.is_linear;
#endif
    }
    /* The values of a pixel, with its residuals if `adds`. A residual's byte becomes a float as low bits of 2^23. */
    template <bool adds, bool is_signed> DEVICE unsigned of(const sum_t (&sums)[PER_WORD], unsigned residuals) const {
#ifdef VALUE_U8
        const float scales[4] = {scale.x, scale.y, scale.z, scale.w}, biases[4] = {bias.x, bias.y, bias.z, bias.w};
        int v[4];
        if (REST_SIGNED) residuals ^= 0x80808080;
#pragma unroll
        for (int i = 0; i < 4; i++) {
            float sum = fmaf((float)sums[i], scales[i], biases[i]);
            float r = __uint_as_float(__byte_perm(residuals, 0x4b000000, 0x7440 + i)) -
                      (8388608.0f + 128 * REST_SIGNED);
            v[i] = __float2int_rn(adds ? fmaf(r, rest, sum) : sum);
        }
        return is_signed ? reid_pack_s8(v[1], v[0], reid_pack_s8(v[3], v[2], 0))
                         : reid_pack_u8(v[1], v[0], reid_pack_u8(v[3], v[2], 0));
#else
        float low = sums[0], high = sums[1];
        if (adds) {
            low += reid_f32_from_f16((unsigned short)(residuals & 0xffff));
            high += reid_f32_from_f16((unsigned short)(residuals >> 16));
        }
        if (is_linear) return reid_f16x2_from_f32(low, high);
        /* Two values at once, which rounding does not carry across zero. */
        if (ACT == ACT_RELU) return reid_max_f16x2(reid_f16x2_from_f32(low, high), 0);
        return reid_f16x2_from_f32(act(low), act(high));
#endif
    }
};

/* A thread's sums form words of PER_WORD channels: the index in d of channel i of word j of its pixel or, if `below`,
   of the pixel eight further on. */
DEVICE int sum_at(int j, int below, int i) {
#ifdef VALUE_U8
    return j * 8 + below * 2 + i / 2 * 4 + i % 2; /* a row of 16 channels is two of wgmma's */
#else
    return j * 4 + below * 2 + i;
#endif
}

template <bool adds, bool is_signed>
DEVICE void words_of(const sum_t *d, int j, const unsigned *rest, const finish &f, unsigned *r) {
#pragma unroll
    for (int i = 0; i < 4; i += 2) {
        int row = 2 * j + i / 2;
        const word w(f, f.n + (row * 4 + threadIdx.x % 4) * PER_WORD);
#pragma unroll
        for (int below = 0; below < 2; below++) {
            sum_t sums[PER_WORD];
#pragma unroll
            for (int k = 0; k < PER_WORD; k++) sums[k] = d[sum_at(row, below, k)];
            r[i + below] = w.of<adds, is_signed>(sums, adds ? rest[i + below] : 0);
        }
    }
}

/* Stores a warp's sums of 16 pixels by `channels` as values in a slot, over the residual if `adds`, or with that of
   SHORTCUT, from its sums `other`. wgmma leaves them as 8x8 matrices, which ldmatrix and stmatrix move: d[8 j ...] are
   pixels 0-7 and 8-15 of 8 channels, then of the next 8. With bytes a word has four channels, and a matrix 16. */
template <bool adds, int channels>
DEVICE void put_sums(const sum_t *d, const sum_t *other, unsigned slot, const finish &f) {
    const bool counted = BYTES && !SIGNED && !adds;
    int lane = threadIdx.x % 32, row = threadIdx.x / 32 % 4 * 16 + lane % 16;
    unsigned rest[channels * VALUE / 32][4], full[2] = {0, 0};
#pragma unroll
    for (int j = 0; j < channels * VALUE / 32 && adds && RESIDUAL; j++)
        reid_ldmatrix_x4(rest[j], slot + place<channels * VALUE>(row, j * 2 + lane / 16));
#pragma unroll
    for (int j = 0; j < channels * VALUE / 32; j++) {
        unsigned r[4];
        if (adds && SHORTCUT) words_of<false, REST_SIGNED>(other, j, 0, f.of_shortcut(), rest[j]);
        words_of<adds, SIGNED>(d, j, rest[j], f, r);
        reid_stmatrix_x4(slot + place<channels * VALUE>(row, j * 2 + lane / 16), r);
#pragma unroll
        for (int i = 0; i < 4 && counted; i++) full[i % 2] += full_bytes(r[i]);
    }
#pragma unroll
    for (int i = 0; i < 2 && counted; i++) {
        int m = f.m + row / 16 * 16 + lane / 4 + i * 8;
        if (m < f.pixels) count_full(f.full, m, full[i]);
    }
}

/* The sum of a row of an image, in the channels of a lane. */
struct __align__(16 / VALUE) row_sum {
    float v[4 / VALUE];
};

/* State of a warpgroup. */
struct consumer {
    layout l;
    int group;
    cursor<STAGES> s;
    cursor<SLOTS> o;
    bool stores; /* it has stored before */
    void *to; /* row sums, or with SPLIT outputs */
    int pixels;
    DEVICE bool leader() const { return threadIdx.x % 128 == 0; }

    /* The inputs of a slice of NEXT. */
    DEVICE unsigned input(int k) const {
        if (!DIRECT) return l.inner(group) + k * BLOCKS_M * BLOCK_BYTES;
        return l.stage((s.at + k) % STAGES) + (GROUPS == 1 ? 0 : group * BLOCKS_M * BLOCK_BYTES);
    }

    /* Adds the products of `count` slices of the ring, whose resident weights begin with slice `first`. hand_over: then
       it is the other warpgroup's turn. */
    template <int n> DEVICE void multiply(sums<n> &acc, int first, int count, bool hand_over) {
        bool first_lane = threadIdx.x % 32 == 0;
        int last = 0;
        for (int k = 0; k < count; k++) {
            unsigned stage = l.stage(s.at), a = stage + (GROUPS == 1 ? 0 : group * BLOCKS_M * BLOCK_BYTES);
            wait_for(l.full(s.at), s.parity);
            acc.add_slice(a, RESIDENT ? l.weights(first + k) : stage + A_BYTES);
            if (k) reid_wgmma_wait<1>();
            if (k && first_lane) reid_mbarrier_arrive(l.empty(last)); /* the previous slice has been read */
            last = s.at, s.advance(1);
        }
        if (hand_over && first_lane) reid_mbarrier_arrive(l.turn(1 - group));
        reid_wgmma_wait<0>();
        acc.hold();
        if (first_lane) reid_mbarrier_arrive(l.empty(last));
    }

    /* Begins the products of a pass of NEXT; those of SHORTCUT go to `other`. */
    DEVICE void begin_pass(const wgmma_arguments &a, sums<128> &acc, sums<128> &other, const finish &f, int pass) {
        cursor<STAGES> slice = s;
        /* In what follows ptxas finds branches, except for bytes with residuals; products would run one by one. */
        if (THEN && !(BYTES && RESIDUAL)) reid_wgmma_wait<0>();
        acc.begin(f.bias, DIRECT && MORE_C && !SHORTCUT ? a.more_bias : 0, pass * 128, NEXT);
        if (SHORTCUT) other.begin(0, 0, 0, 0);
#pragma unroll
        for (int k = 0; k < NEXT_CHUNKS; k++, slice.advance(1)) {
            if (!RESIDENT) wait_for(l.full(slice.at), slice.parity);
            (SHORTCUT && k >= OWN_CHUNKS ? other : acc)
                .add_slice(input(k), RESIDENT ? l.next(pass * NEXT_CHUNKS + k) : l.stage(slice.at) + A_BYTES);
        }
        if (GROUPS == 1 && !RESIDENT && pass == PASSES - 1 && threadIdx.x % 32 == 0)
            reid_mbarrier_arrive(l.turn(1 - group));
    }

    /* Ends them, and gives the slices of weights back. */
    DEVICE void end_pass(sums<128> &acc, sums<128> &other) {
        reid_wgmma_wait<0>();
        acc.hold();
        if (SHORTCUT) other.hold();
        for (int k = 0; k < NEXT_CHUNKS && !RESIDENT; k++, s.advance(1))
            if (threadIdx.x % 32 == 0) reid_mbarrier_arrive(l.empty(s.at));
    }

    /* Sums the rows of an image that end in the 64 pixels of a slot, which begin with the tile's pixel `first`: a lane
       has two channels, or four, from c on. carry: a row's sum over the previous slot. */
    DEVICE void sum_rows(unsigned slot, int first, int m0, int c, row_sum &carry) {
        int lane = threadIdx.x % 32, own = c + lane * (4 / VALUE);
        for (int row = threadIdx.x / 32 % 4; row < TILE_PIXELS / OW && lane * 4 < SLOT_N * VALUE; row += 4) {
            int from = max(row * OW - first, 0), end = row * OW + OW - first;
            row_sum total = row * OW < first ? carry : row_sum();
            if (end <= 0) continue;
            for (int m = from; m < min(end, 64); m++) {
                unsigned at = slot - l.base + place<SLOT_N * VALUE>(m, lane / 4) + lane % 4 * 4;
                unsigned v = *(unsigned *)(shared + at);
#pragma unroll
                for (int k = 0; k < 4 / VALUE; k++)
                    total.v[k] += VALUE == 1 ? (float)(v >> 8 * k & 255)
                                             : reid_f32_from_f16((unsigned short)(v >> 16 * k));
            }
            if (end > 64) carry = from < 64 ? total : carry;
            else if (m0 + row * OW < pixels && own < OC_PADDED)
                *(row_sum *)((float *)to + (long long)(m0 / OW + row) * OC_PADDED + own) = total;
        }
    }

#if SPLIT > 1
    /* Sends a block its share of the sums, four at a time. The arriving bytes complete the phase of its `filled`. A
       thread has the same outputs in all blocks. */
    DEVICE void send_share(const sums<BN> &acc, int share, unsigned parts, unsigned filled) const {
#pragma unroll
        for (int i = share * SHARE; i < (share + 1) * SHARE; i += 4) {
            unsigned v[4];
#pragma unroll
            for (int j = 0; j < 4; j++) {
                int of = i + j;
                v[j] = bits_of(acc.d[0][sum_at(of / PER_WORD / 2, of / PER_WORD % 2, of % PER_WORD)]);
            }
            reid_cluster_store_async(parts + (own_part() * SHARE + i % SHARE) * 512, v, filled);
        }
    }

    /* SPLIT: stores this block's share of the channels from f.n and the pixels from m0 on. */
    DEVICE void store_share(const sums<BN> &acc, const value_t *residual, const finish &f, int m0) {
        int lane = threadIdx.x % 32, part = own_part();
        unsigned parts = l.slot(group, 0) + threadIdx.x % 128 * 16, filled = l.filled(group, 0); /* see `from` */
        if (leader()) reid_mbarrier_arrive_expect_tx(filled, SPLIT * SHARE * 512);
        wait_for(l.stored(group, 0), o.parity ^ 1);
        /* Each block begins with its own share, so that they do not all send to the same block. Sums are in registers,
           which have no index, so every block has code of its own. */
#pragma unroll
        for (int i = 0; i < SPLIT * SPLIT; i++) {
            const int first = i / SPLIT, to = (first + i) % SPLIT;
            if (first == part) send_share(acc, to, reid_cluster_map(parts, to), reid_cluster_map(filled, to));
        }
        wait_for_cluster(filled, o.parity);
        const uint4 *from = (const uint4 *)(shared + (parts - l.base)); /* [SPLIT][SHARE / 4][128] */
#pragma unroll
        for (int i = 0; i < SHARE; i += 4) {
            sum_t sums[4 / PER_WORD][PER_WORD];
#pragma unroll
            for (int k = 0; k < SPLIT; k++) {
                uint4 v = from[(k * SHARE + i) * 32];
                const unsigned words[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
                for (int j = 0; j < 4; j++) {
                    sum_t &sum = sums[j / PER_WORD][j % PER_WORD];
                    sum = k ? sum + sum_of(words[j]) : sum_of(words[j]);
                }
            }
#pragma unroll
            for (int j = 0; j < 4 / PER_WORD; j++) {
                int word_index = (part * SHARE + i) / PER_WORD + j;
                int c = f.n + (word_index / 2 * 4 + lane % 4) * PER_WORD;
                int m = m0 + threadIdx.x / 32 % 4 * 16 + lane / 4 + word_index % 2 * 8;
                long long at = (long long)m * OC_PADDED + c;
                if (m >= pixels || c >= OC_PADDED) continue;
                unsigned residuals = RESIDUAL ? *(const unsigned *)(residual + at) : 0;
                unsigned values = word(f, c).of<RESIDUAL, SIGNED>(sums[j], residuals);
                *(unsigned *)((value_t *)to + at) = values;
                if (COUNTED) count_full(f.full, m, full_bytes(values));
            }
        }
        take_more(l.stored(group, 0));
        o.parity ^= 1;
    }
#endif

    /* RESIDUAL: a warp has read its pixels of a slot, into which the next residual may come. */
    DEVICE void give_slot(int slot) const {
        if (!RESIDUAL) return;
        reid_fence_proxy_async_shared();
        __syncwarp();
        if (threadIdx.x % 32 == 0) reid_mbarrier_arrive(l.stored(group, slot));
    }

    /* Stores a warp's 16 pixels of a slot, which it has written itself, to `out`, (pixels, row): 16 bytes a lane, in
       whole lines of memory. By TMA, all warps would wait for the one that issues the store, and it for the store
       before: 800 clocks a slot on an H200, by the model of time. */
    template <int channels, int row> DEVICE void store_slot(unsigned slot, value_t *out, const finish &f) const {
        const int each = 16 / VALUE, pieces = channels / each, count = pieces / 2; /* of a pixel; of a lane */
        const int lane = threadIdx.x % 32, first = threadIdx.x / 32 % 4 * 16 + lane / pieces, piece = lane % pieces;
        uint4 *to = (uint4 *)out + (long long)(f.m + first) * (row / each) + f.n / each + piece;
        uint4 v[count];
#pragma unroll
        for (int i = 0; i < count; i++)
            v[i] = *(const uint4 *)(shared + (slot - l.base) + place<channels * VALUE>(first + i * 32 / pieces, piece));
        if (!THEN) give_slot(o.at); /* with THEN, wgmma reads it, too */
#pragma unroll
        for (int i = 0; i < count; i++)
            if (f.m + first + i * 32 / pieces < pixels && (row % OUT_N == 0 || f.n + piece * each < row))
                to[i * 32 / pieces * (row / each)] = v[i];
        if (!RESIDUAL) __syncwarp(); /* before the next values come */
    }

    /* Stores the sums of the channels from f.n and the pixels from m0 on, through slots of `channels`, to `out`, whose
       pixels have `row` of them. If the residual `adds`, or, with SHORTCUT, what `other` becomes. then() goes on with a
       slot by wgmma: its place beside others, and its address. */
    template <int channels, bool adds, int row, int n, typename after>
    DEVICE void store(const sums<n> &acc, const sums<n> &other, value_t *out, finish f, int m0, after then) {
        const int slots = n / channels, n0 = f.n; /* side by side */
        row_sum carry[slots] = {};
#pragma unroll
        for (int i = 0; i < BLOCKS_M * slots; i++) {
            const unsigned slot = l.slot(group, o.at);
            const int m = i / slots * 64, at = i % slots * (channels / 2);
            if (RESIDUAL) wait_for(l.filled(group, o.at), o.parity);
            f.n = n0 + i % slots * channels, f.m = m0 + m;
            put_sums<adds, channels>(acc.d[i / slots] + at, other.d[i / slots] + at, slot, f);
            if (THEN) reid_fence_proxy_async_shared();
            if (THEN) reid_wgmma_wait<0>(); /* the slot before has been read */
            if (THEN || ROW_SUMS) reid_bar_sync(1 + group, 128);
            else __syncwarp();
            if (THEN && stores) give_slot((o.at + SLOTS - 1) % SLOTS);
            if (ROW_SUMS) sum_rows(slot, m, m0, f.n, carry[i % slots]), give_slot(o.at);
            else store_slot<channels, row>(slot, out, f);
            then(i % slots, slot);
            stores = true;
            o.advance(1);
        }
    }

    /* Puts the outputs where they are the input of NEXT. */
    DEVICE void put_inner(const sums<BN> &acc, finish f, int m0) {
#pragma unroll
        for (int i = 0; i < BLOCKS_M * NEXT_CHUNKS; i++) {
            f.n = i / BLOCKS_M * BK, f.m = m0 + i % BLOCKS_M * 64;
            put_sums<false, BK>(acc.d[i % BLOCKS_M] + i / BLOCKS_M * (BK / 2), 0, l.inner(group) + i * BLOCK_BYTES, f);
        }
        reid_fence_proxy_async_shared();
        reid_bar_sync(1 + group, 128);
    }

    /* DIRECT: waits for the slices of a tile; or gives them back. */
    DEVICE void take_slices() const {
        cursor<STAGES> slice = s;
        for (int k = 0; k < CHUNKS; k++, slice.advance(1)) wait_for(l.full(slice.at), slice.parity);
    }
    DEVICE void give_slices() {
        for (int k = 0; k < CHUNKS; k++, s.advance(1))
            if (threadIdx.x % 32 == 0) reid_mbarrier_arrive(l.empty(s.at));
    }

    /* Computes and stores NEXT, and THEN. Without THEN registers have room for the sums of two passes, and one is
       multiplied while the one before it is stored; in a loop ptxas would wait for it. */
    DEVICE void go_on(const wgmma_arguments &a, finish f, int m0) {
        const int both = THEN ? 1 : 2, unrolled = THEN || !NEXT ? 1 : PASSES; /* nvcc knows no macros in pragmas */
        sums<128> next[both], other;
        sums<THEN ? THEN : 8> last;
        if (THEN) last.begin(a.then_bias, 0, 0, THEN);
        else begin_pass(a, next[0], other, f, 0);
#pragma unroll(unrolled)
        for (int pass = 0; pass < PASSES; pass++) {
            sums<128> &acc = next[pass % both];
            if (THEN) begin_pass(a, acc, other, f, pass);
            end_pass(acc, other);
            if (!THEN && pass + 1 < PASSES) begin_pass(a, next[(pass + 1) % both], other, f, pass + 1);
            f.n = pass * 128;
            store<SLOT_N, ADDS, NEXT>(acc, other, (value_t *)a.out, f, m0, [&](int slice, unsigned slot) {
#if THEN
                last.template add_slice<128>(slot, l.then(pass * (128 / SLOT_N) + slice));
#endif
            });
        }
#if THEN
        const finish f_last = {a.then_scales, a.then_bias, 0, 0, THEN, THEN_ACT != ACT, a.full, a.pixels, 0, 0, 0};
        reid_wgmma_wait<0>();
        last.hold();
        store<THEN_N, false, THEN>(last, last, (value_t *)a.then_out, f_last, m0, [](int, unsigned) {});
#endif
    }
};

/* Computes and stores the tiles of a warpgroup. */
DEVICE void compute_tiles(const wgmma_arguments &a, finish f, finish next, consumer c, int tiles) {
    const layout l = c.l;
    int group = c.group, part = own_part(), count = first_slice(part + 1) - first_slice(part);
    int ring = count + RING_CHUNKS - CHUNKS; /* slices of a tile */
    unsigned turn = 1 - group;
    if (GROUPS == 1) c.s.advance(group * ring);
    for (int tile = first_tile(group); tile < tiles; tile += tile_step(), turn ^= 1) {
        int m0 = pixel_of(tile, group);
        /* They take turns, because a parity distinguishes only one round of the ring. */
#if DIRECT
        if (GROUPS == 1) wait_for(l.turn(group), turn);
        c.take_slices();
        if (GROUPS == 1 && threadIdx.x % 32 == 0) reid_mbarrier_arrive(l.turn(1 - group));
        c.go_on(a, next, m0);
        c.give_slices();
#else
        const bool hands_over = GROUPS == 1 && (!NEXT || RESIDENT);
        sums<BN> acc, other;
        f.n = column_of(tile) * BN;
        acc.begin(f.bias, MORE_C && !SHORTCUT ? a.more_bias : 0, f.n, part ? 0 : OC_PADDED);
        if (GROUPS == 1) wait_for(l.turn(group), turn);
        c.multiply(acc, 0, SHORTCUT ? OWN_CHUNKS : count, hands_over && !SHORTCUT);
        if (SHORTCUT) {
            other.begin(0, 0, 0, 0);
            c.multiply(other, OWN_CHUNKS, CHUNKS - OWN_CHUNKS, hands_over);
        }
#if SPLIT > 1
        c.store_share(acc, a.residual, f, m0);
#elif NEXT
        c.put_inner(acc, f, m0);
        c.go_on(a, next, m0);
#else
        c.store<SLOT_N, ADDS, OC_PADDED>(acc, other, (value_t *)a.out, f, m0, [](int, unsigned) {});
#endif
#endif
        if (GROUPS == 1) c.s.advance(ring); /* past the other warpgroup's slices */
    }
    /* Before the block and its shared memory end, others' last arrivals must have come. */
    if (SPLIT > 1 && c.leader()) wait_for(l.stored(group, 0), c.o.parity ^ 1);
}

/* For __launch_bounds__: three warpgroups, and two blocks on a multiprocessor with LIGHT. */
#define THREADS 384
#define BLOCKS_ASKED_FOR (LIGHT ? 2 : 1)
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS_ASKED_FOR)
reid_conv_wgmma(const GRID_CONSTANT wgmma_arguments a) {
    const layout l = {reid_shared_address(shared)};
    let_next_begin();
    const int group = threadIdx.x / 128, tiles = (a.pixels + TILE_PIXELS - 1) / TILE_PIXELS * TILES_N;
    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; i++) {
            reid_mbarrier_init(l.full(i), 1);
            reid_mbarrier_init(l.empty(i), 4 * GROUPS); /* the warps that read it */
        }
        reid_mbarrier_init(l.resident(), 1);
        for (int i = 0; i < 2; i++) reid_mbarrier_init(l.turn(i), 4);
        for (int i = 0; i < 2 * SLOTS; i++) {
            reid_mbarrier_init(l.filled(0, i), 1);
            reid_mbarrier_init(l.stored(0, i), 4 * SPLIT); /* the warps that read it */
        }
        reid_fence_mbarrier_init();
    }
    block_meeting();
    if (group == 2) {
        if (!LIGHT) reid_setmaxnreg_dec<40>();
        if (threadIdx.x == 256) copy_operands(a, l, tiles);
        if (RESIDUAL && SPLIT == 1 && threadIdx.x == 288) copy_residuals(&a.residual_map, l, tiles, 0);
        if (RESIDUAL && SPLIT == 1 && threadIdx.x == 320) copy_residuals(&a.residual_map, l, tiles, 1);
    } else {
        if (!LIGHT) reid_setmaxnreg_inc<232>();
        wait_for_last();
        if (RESIDENT) wait_for(l.resident(), 0);
        consumer c = {l, group, {}, {}, false, a.out, a.pixels};
        const bool adds = BYTES && ADDS;
        const float rest = adds && !NEXT ? a.scales[OC_PADDED] : 0, next_rest = adds && NEXT ? a.next_scales[NEXT] : 0;
        finish f = {a.scales, a.bias, rest, 0, OC_PADDED, false, a.full, a.pixels, 0, a.more_scales, a.more_bias};
        finish next = {a.next_scales, a.next_bias, next_rest, 0, NEXT, false, a.full, a.pixels, 0, a.more_scales,
                       a.more_bias};
        compute_tiles(a, f, next, c, tiles);
    }
}
#endif

/* --------------------------------------------------------------------------------------------------------------------
   A ResNet's input, first convolution, 7x7 with stride 2, and max pool, 3x3 with stride 2, on Hopper. The product is
   turned round: channels are wgmma's rows, and the OW outputs of a row of the image its columns.

       weights (64, KH, 8, 4)     in the registers of a warpgroup, for the whole launch                          A
       view (H, W, RGB), bytes    become halves (IH, IW, 4) as by reid_input, in a ring of pairs of rows. The    B
                                  1x8 window of an output is 64 bytes, and that of the next output, two pixels
                                  on, begins 16 bytes later; without swizzle wgmma takes 16-byte pieces at any
                                  distance.
       sums (64, OW)              a thread has channels c and c + 8, which become a word of two halves, of
                                  outputs 8 j + 2 q and 8 j + 2 q + 1: q = lane % 4, and c counts lane / 4
       pool, along a row          the larger of these two and of one neighbour's, for pixel 4 j + q of the pool
       pool, down the columns     in registers, from one row of outputs to the next
       a pooled row (POOL_W, 64)  through shared memory, to be stored in pieces of 16 bytes

   Two warpgroups multiply; two warps of the third fill the ring of each. A warpgroup takes strip after strip of pooled
   rows of an image; neighbouring strips both compute the row of outputs that they share. Sums are in the order of K and
   begin with the bias; BYTES: with 0, and scale and bias come at the end, then the pool works on halves of 0 ... 255.

   Shared memory, in this order: both rings, a pooled row of each warpgroup, mbarriers, the table of halves.
   ------------------------------------------------------------------------------------------------------------------ */
#ifdef REID_STEM_POOL
STRUCT(stem_pool_arguments);

#define BN ((OW + 15) / 16 * 16)            /* a sum of instructions' widths */
#define GROUPS_OF_8 (BN / 8)
#define ROW_BYTES (IW * 8)
#define PITCH (ROW_BYTES + (BN - OW) * 16)  /* of rows in the ring: with zeros for windows beyond the last output's */
#define PAIRS_READ ((KH + 1) / 2)           /* by a row of outputs */
#define VALUE_BYTES (BYTES ? 1 : 2)          /* of outputs */
#define POOLED_PITCH (64 * VALUE_BYTES + 16) /* so that the words of a warp go to different banks */
#define POOLED_AT (2 * STAGES * 2 * PITCH)
#define BARRIERS_AT (POOLED_AT + 2 * POOL_W * POOLED_PITCH)
#define TABLE_AT (BARRIERS_AT + 4 * STAGES * 8)
#define HALF_255 0x5bf8 /* 255 as a half */
static_assert(OC_PADDED == 64 && KH == 7 && KW == 8 && STRIDE == 2, "a ResNet's");
static_assert(POOL_PAD_X >= 0 && POOL_PAD_X < 2 && POOL_PAD_X == POOL_PAD_Y, "of a window of three");

/* Addresses in shared memory, of one ring. */
struct layout {
    unsigned base;
    int ring;
    DEVICE unsigned pair(int i) const { return base + (ring * STAGES + i) * (2 * PITCH); }
    DEVICE unsigned full(int i) const { return base + BARRIERS_AT + 8 * (2 * ring * STAGES + i); }
    DEVICE unsigned empty(int i) const { return full(STAGES + i); }
};

/* A strip: the image, its pooled rows and the rows of outputs that these need, up to `last`. */
struct pool_strip {
    int image, pooled, first, last;
    DEVICE pool_strip(int index, int rows) {
        const int strips = (POOL_H + rows - 1) / rows;
        image = index / strips, pooled = index % strips * rows;
        first = max(pooled * 2 - POOL_PAD_Y, 0), last = min(min(pooled + rows, POOL_H) * 2 - POOL_PAD_Y, OH - 1);
    }
};

#define TOGETHER 4 /* pixels of a lane, as many as its registers hold */

/* Writes a row of the view as halves, by a warp: a lane has every 32nd pixel. row: the bytes of its first pixel, or of
   another row's if all of it is border; table: (3, 256), the halves of the channels' bytes, of which the first channel
   has number `first` of a pixel. The bytes are on their way while the warp waits for the place. */
DEVICE void fill_row(const unsigned char *row, bool inside, int first, const value_t *table, unsigned char *to,
                     unsigned empty, unsigned parity) {
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int from = 0; from < IW; from += TOGETHER * 32) {
        unsigned char bytes[TOGETHER][3];
#pragma unroll
        for (int i = 0; i < TOGETHER; i++) {
            const int x = from + i * 32 + lane - BORDER_X;
            if (from + i * 32 >= IW || !inside || x < 0 || x >= W) continue;
            bytes[i][0] = row[x * 3 + first], bytes[i][1] = row[x * 3 + 1], bytes[i][2] = row[x * 3 + 2 - first];
        }
        if (!from) wait_for(empty, parity);
#pragma unroll
        for (int i = 0; i < TOGETHER; i++) {
            const int column = from + i * 32 + lane, x = column - BORDER_X;
            if (from + i * 32 >= IW || column >= IW) continue;
            uint2 v = make_uint2(0, 0);
            if (inside && x >= 0 && x < W) {
                v.x = table[bytes[i][0]] | (unsigned)table[256 + bytes[i][1]] << 16;
                v.y = table[512 + bytes[i][2]];
            }
            *(uint2 *)(to + column * 8) = v;
        }
    }
}

/* Fills a warpgroup's ring with the rows of its strips, by two warps. Row y of outputs needs the pairs of rows y to
   y + 3. */
DEVICE void fill_ring(const stem_pool_arguments &a, layout l, int strips, const value_t *table) {
    const int second = threadIdx.x / 32 % 2;
    cursor<STAGES> s;
    for (int i = blockIdx.x + l.ring * gridDim.x; i < strips; i += 2 * gridDim.x) {
        const pool_strip strip(i, a.strip_rows);
        for (int pair = strip.first; pair < strip.last + PAIRS_READ; pair++, s.advance(1)) {
            const int y = 2 * pair + second - BORDER_Y;
            const bool inside = y >= 0 && y < H;
            const unsigned char *row = a.view + ((long long)strip.image * H + (inside ? y : 0)) * (W * 3);
            fill_row(row, inside, a.bgr ? 2 : 0, table, shared + (l.pair(s.at) - l.base) + second * PITCH,
                     l.empty(s.at), s.parity ^ 1);
            reid_fence_proxy_async_shared();
            __syncwarp();
            if (threadIdx.x % 32 == 0) reid_mbarrier_arrive(l.full(s.at));
        }
    }
}

/* A warpgroup, and a thread's part of its rows. */
struct stem {
    layout l;
    cursor<STAGES> next, oldest; /* pairs of rows: to wait for, and to read first */
    int lane, q, channel;        /* of the thread: the first of two channels, eight apart */
    unsigned w[KH * 2][4];       /* weights, for 16 of K at a time */
    float bias[2], scale[2];
    float d[BN / 2];

    DEVICE void begin(const stem_pool_arguments &a) {
        lane = threadIdx.x % 32, q = lane % 4, channel = threadIdx.x / 32 % 4 * 16 + lane / 4;
#pragma unroll
        for (int i = 0; i < 4 * KH * 2; i++) { /* channels c and c + 8 of values 2 q and 2 q + 1, then of those 8 on */
            const int c = channel + i % 2 * 8, k = i / 4 * 16 + i / 2 % 2 * 8 + q * 2;
            w[i / 4][i % 4] = __ldg((const unsigned *)(a.weights + c * (KH * KW * 4) + k));
        }
#pragma unroll
        for (int i = 0; i < 2; i++) {
            bias[i] = __ldg(a.bias + channel + i * 8);
            scale[i] = BYTES ? __ldg(a.scales + channel + i * 8) : 1;
        }
    }

    DEVICE void hold() {
#pragma unroll
        for (int i = 0; i < BN / 2; i++) reid_wgmma_hold(d[i]);
    }

    /* Computes the sums of a row of outputs, from the oldest pair of rows on, which is then free. */
    DEVICE void multiply() {
        unsigned pair[PAIRS_READ];
#pragma unroll
        for (int i = 0; i < PAIRS_READ; i++) pair[i] = l.pair((oldest.at + i) % STAGES);
#pragma unroll
        for (int i = 0; i < BN / 2; i++) d[i] = BYTES ? 0 : bias[i / 2 % 2];
        hold();
        reid_wgmma_fence();
#pragma unroll
        for (int k = 0; k < KH * 2; k++) {
            const unsigned long long b = windows(pair[k / 4] + k / 2 % 2 * PITCH + k % 2 * 32);
            if constexpr (BN == 112) reid_wgmma_registers<112>(d, w[k], b, true);
            else add_products<BN, 16>(d, w[k], b);
        }
        reid_wgmma_commit();
        hold();
        reid_wgmma_wait<0>();
        hold();
        give_back();
    }

    DEVICE void give_back() {
        if (lane == 0) reid_mbarrier_arrive(l.empty(oldest.at));
        oldest.advance(1);
    }

    /* The halves of two channels' sums, c and c + 8. */
    DEVICE unsigned halves_of(float low, float high) const {
#if BYTES
        return reid_f16x2_from_f32(nearest(fmaf(low, scale[0], bias[0])) - 12582912.0f,
                                   nearest(fmaf(high, scale[1], bias[1])) - 12582912.0f);
#else
        return reid_f16x2_from_f32(low, high); /* ReLU comes after the pool, which makes it the same */
#endif
    }

    /* Pools a row along itself: pixel 4 j + q to row[j]. Returns the number of outputs that are 255. */
    DEVICE unsigned pool_row(unsigned (&row)[GROUPS_OF_8]) const {
        const int from = (lane & ~3) | ((lane + (POOL_PAD_X ? 3 : 1)) & 3); /* the lane of the neighbour */
        unsigned cut = 0, kept = 0;
#pragma unroll
        for (int i = 0; i < GROUPS_OF_8; i++) {
            const int j = POOL_PAD_X ? i : GROUPS_OF_8 - 1 - i, x = 8 * j + 2 * q;
            const unsigned even = halves_of(d[4 * j], d[4 * j + 2]), odd = halves_of(d[4 * j + 1], d[4 * j + 3]);
            const unsigned second = 8 * j + 7 < OW || x + 1 < OW ? odd : even; /* beyond the row: the same once more */
            /* With padding the window begins with the odd output before `even`, else it ends with the even one after
               `odd`; at the end of four lanes it is in the group of 8 before, or after. */
            const unsigned own = POOL_PAD_X ? odd : even;
            const unsigned third = __shfl_sync(0xffffffffu, q == (POOL_PAD_X ? 3 : 0) ? kept : own, from);
            const bool outside = POOL_PAD_X ? j == 0 && q == 0 : 8 * j + 8 >= OW && x + 2 >= OW;
            row[j] = reid_max_f16x2(reid_max_f16x2(even, second), outside ? even : third);
            if (ACT == ACT_RELU && !BYTES) row[j] = reid_max_f16x2(row[j], 0);
            kept = own;
            if (BYTES && (8 * j + 7 < OW || x < OW)) cut += ((even & 0xffff) == HALF_255) + (even >> 16 == HALF_255);
            if (BYTES && (8 * j + 7 < OW || x + 1 < OW)) cut += ((odd & 0xffff) == HALF_255) + (odd >> 16 == HALF_255);
        }
        return cut;
    }

    /* Stores a pooled row, whose first value is at `to`. */
    DEVICE void store(const unsigned (&row)[GROUPS_OF_8], unsigned char *to) const {
        unsigned char *pooled = shared + POOLED_AT + l.ring * (POOL_W * POOLED_PITCH);
        reid_bar_sync(1 + l.ring, 128); /* what was here before has been read */
#pragma unroll
        for (int j = 0; j < GROUPS_OF_8; j++) {
            unsigned char *at = pooled + (4 * j + q) * POOLED_PITCH + channel * VALUE_BYTES;
            if (4 * j + 3 >= POOL_W && 4 * j + q >= POOL_W) continue;
#if BYTES
            at[0] = (unsigned char)reid_f32_from_f16((unsigned short)row[j]);
            at[8] = (unsigned char)reid_f32_from_f16((unsigned short)(row[j] >> 16));
#else
            ((value_t *)at)[0] = (value_t)row[j], ((value_t *)at)[8] = (value_t)(row[j] >> 16);
#endif
        }
        reid_bar_sync(1 + l.ring, 128);
        for (int i = threadIdx.x % 128; i < POOL_W * 4 * VALUE_BYTES; i += 128) {
            const int x = i / (4 * VALUE_BYTES), piece = i % (4 * VALUE_BYTES) * 16;
            *(uint4 *)(to + i * 16) = *(const uint4 *)(pooled + x * POOLED_PITCH + piece);
        }
    }

    DEVICE void compute(const stem_pool_arguments &a, const pool_strip &strip) {
        unsigned best[GROUPS_OF_8], now[GROUPS_OF_8];
        for (int i = 1; i < PAIRS_READ; i++, next.advance(1)) wait_for(l.full(next.at), next.parity);
        for (int y = strip.first; y <= strip.last; y++) {
            const int row = y - (strip.pooled * 2 - POOL_PAD_Y); /* the last of a window if it is even */
            wait_for(l.full(next.at), next.parity);
            next.advance(1);
            multiply();
            unsigned cut = pool_row(now);
            if (BYTES && (row || !strip.pooled)) reid_add_nonzero(a.full + strip.image, cut); /* once in all strips */
#pragma unroll
            for (int j = 0; j < GROUPS_OF_8; j++)
                best[j] = y == strip.first ? now[j] : reid_max_f16x2(best[j], now[j]);
            if ((row % 2 || !row) && y < strip.last) continue;
            const long long pooled = (long long)strip.image * POOL_H + strip.pooled + (row + 1) / 2 - 1;
            store(best, (unsigned char *)a.out + pooled * (POOL_W * 64 * VALUE_BYTES));
#pragma unroll
            for (int j = 0; j < GROUPS_OF_8; j++) best[j] = now[j];
        }
        for (int i = 1; i < PAIRS_READ; i++) give_back();
    }
};

extern "C" __global__ void __launch_bounds__(384, 1)
reid_stem_pool(const GRID_CONSTANT stem_pool_arguments a) {
    layout l = {reid_shared_address(shared), (int)threadIdx.x / 128};
    const int strips = a.images * ((POOL_H + a.strip_rows - 1) / a.strip_rows);
    let_next_begin();
    for (int i = threadIdx.x * 4; BN > OW && i < 4 * STAGES * PITCH; i += 384 * 4)
        if (i % PITCH >= ROW_BYTES) *(unsigned *)(shared + i) = 0;
    if (BN > OW) reid_fence_proxy_async_shared();
    if (threadIdx.x == 0) {
        for (int i = 0; i < 2 * STAGES; i++) {
            const layout ring = {l.base, i / STAGES};
            reid_mbarrier_init(ring.full(i % STAGES), 2), reid_mbarrier_init(ring.empty(i % STAGES), 4);
        }
        reid_fence_mbarrier_init();
    }
    __syncthreads();
    if (l.ring == 2) {
        value_t *table = (value_t *)(shared + TABLE_AT);
        reid_setmaxnreg_dec<88>();
        for (int i = threadIdx.x % 128; i < 3 * 256; i += 128) table[i] = reid_f16_from_f32(__ldg(a.lut + i));
        reid_bar_sync(3, 128);
        l.ring = threadIdx.x / 64 % 2;
        wait_for_last();
        fill_ring(a, l, strips, table);
        return;
    }
    reid_setmaxnreg_inc<208>();
    stem s;
    s.l = l, s.next = s.oldest = cursor<STAGES>();
    s.begin(a);
    wait_for_last();
    for (int i = blockIdx.x + l.ring * gridDim.x; i < strips; i += 2 * gridDim.x)
        s.compute(a, pool_strip(i, a.strip_rows));
}
#endif

/* --------------------------------------------------------------------------------------------------------------------
   1x1 convolutions of large batches on Hopper that reid_conv_wgmma does not suit: of few channels, or behind a squeeze
   (SCALED), which multiplies the input by the factors of image and channel, so that A goes through registers. A block
   takes BN channels, all if they fit, of 128 pixels, tile after tile. For each slice of 64 of K:

       a thread of warpgroup 2        inputs (128, 64), factors (FACTOR_ROWS, 64), weights (BN, 64) -> a place of a ring
       warps of warpgroups 0 and 1    16 pixels by ldmatrix, times factors, rounded to halves       -> registers
                                      wgmma with A from there and the weights                       -> sums of 64 x BN
       at the end of the tile         sums + residual, through 16 rows of shared memory for a warp  -> one bulk store

   FACTOR_ROWS: images that 128 pixels can touch. RESIDENT: all weights fit and stay; BN is then OC_PADDED. LIGHT: two
   blocks fit a multiprocessor. A tile's sums begin with the bias, and additions are in the order of K, as in
   reid_conv_f16, which small batches use: they need smaller tiles.

   Shared memory, in this order: the ring, resident weights, outputs (128, BN), mbarriers.
   ------------------------------------------------------------------------------------------------------------------ */
#ifdef REID_PROJECT
STRUCT(project_arguments);

#define BM 128
#define CHUNKS ((IC + 63) / 64)
#define TILES_N ((OC_PADDED + BN - 1) / BN)
#define FACTOR_ROWS (SCALED ? (BM - 2) / (OH * OW) + 2 : 0)
#define FACTORS_AT (BM * 128) /* in a place of the ring */
#define WEIGHTS_AT (FACTORS_AT + (FACTOR_ROWS * 256 + 1023) / 1024 * 1024)
#define B_BYTES (BN * 128)
#define STAGE_BYTES (WEIGHTS_AT + (RESIDENT ? 0 : B_BYTES))
#define RESIDENT_AT (STAGES * STAGE_BYTES)
#define OUT_AT (RESIDENT_AT + (RESIDENT ? CHUNKS * B_BYTES : 0))
#define BARRIERS_AT (OUT_AT + BM * BN * 2)

/* Addresses in shared memory. */
struct layout {
    unsigned base;
    DEVICE unsigned stage(int i) const { return base + i * STAGE_BYTES; }
    DEVICE unsigned weights(int chunk) const { return base + RESIDENT_AT + chunk * B_BYTES; }
    DEVICE unsigned full(int i) const { return base + BARRIERS_AT + 8 * i; }
    DEVICE unsigned empty(int i) const { return full(STAGES + i); }
    DEVICE unsigned resident() const { return full(2 * STAGES); }
};

/* Copies the operands of all tiles of the block, in one thread. Resident weights do not wait for the last launch. */
DEVICE void copy_operands(const project_arguments &a, layout l, int tiles) {
    cursor<STAGES> s;
    if (RESIDENT) {
        reid_mbarrier_arrive_expect_tx(l.resident(), CHUNKS * B_BYTES);
        for (int k = 0; k < CHUNKS; k++) reid_tensor_load_2d(l.weights(k), &a.weights_map, k * 64, 0, l.resident());
    }
    wait_for_last();
    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        const int m0 = tile / TILES_N * BM, image = m0 / (OH * OW);
        for (int k = 0; k < CHUNKS; k++, s.advance(1)) {
            const unsigned to = l.stage(s.at), full = l.full(s.at), bytes = min(IC - k * 64, 64) * 4;
            wait_for(l.empty(s.at), s.parity ^ 1);
            reid_mbarrier_arrive_expect_tx(full, FACTORS_AT + FACTOR_ROWS * bytes + (RESIDENT ? 0 : B_BYTES));
            reid_tensor_load_2d(to, &a.in_map, k * 64, m0, full);
            for (int i = 0; i < FACTOR_ROWS; i++) /* the last image again, if the tile has fewer */
                reid_bulk_load(to + FACTORS_AT + i * 256,
                               a.factors + (long long)min(image + i, a.images - 1) * IC + k * 64, bytes, full);
            if (!RESIDENT)
                reid_tensor_load_2d(to + WEIGHTS_AT, &a.weights_map, k * 64, tile % TILES_N * BN, full);
        }
    }
}

/* A warp's 16 pixels of a tile, from pixel m0 on; a lane has two, `m` and the eighth after it. */
struct projection {
    layout l;
    cursor<STAGES> s;
    int lane, row, held; /* row: of the warp in the tile; held: the place that products still read, or -1 */
    const float *factors[2]; /* of its pixels' images, in the first place of the ring, from its channels on */
    float d[BN / 2];
    unsigned rest[RESIDUAL ? BN / 4 : 1];

    DEVICE void hold() {
#pragma unroll
        for (int i = 0; i < BN / 2; i++) reid_wgmma_hold(d[i]);
    }

    DEVICE void give_back() {
        if (held >= 0 && lane == 0) reid_mbarrier_arrive(l.empty(held));
    }

    /* Starts the sums with the bias, and loads residuals, which are needed at the end of the tile. What is beyond the
       last pixel or channel repeats others', and is not stored. */
    DEVICE void begin(const project_arguments &a, int m0, int n0) {
#pragma unroll
        for (int j = 0; j < BN / 8; j++) {
            const int c = min(n0 + j * 8, OC_PADDED - 8) + lane % 4 * 2;
            float2 b = __ldg((const float2 *)(a.bias + c));
            d[4 * j] = d[4 * j + 2] = b.x, d[4 * j + 1] = d[4 * j + 3] = b.y;
#pragma unroll
            for (int below = 0; below < 2 && RESIDUAL; below++) {
                const int m = min(m0 + row + lane / 4 + below * 8, a.pixels - 1);
                rest[RESIDUAL ? j * 2 + below : 0] = *(const unsigned *)(a.residual + (long long)m * OC_PADDED + c);
            }
        }
        const int image = m0 / (OH * OW);
#pragma unroll
        for (int below = 0; below < 2 && SCALED; below++) {
            int m = m0 + row + lane / 4 + below * 8;
            factors[below] = (const float *)(shared + FACTORS_AT) + (m / (OH * OW) - image) * 64 + lane % 4 * 2;
        }
    }

    /* Multiplies the next slice, of which `steps` times 16 channels exist. a: registers that products before the last
       slice's have read. */
    template <int steps> DEVICE void add_slice(unsigned *a, int k) {
        const unsigned stage = l.stage(s.at), b = RESIDENT ? l.weights(k) : stage + WEIGHTS_AT;
        wait_for(l.full(s.at), s.parity);
#pragma unroll
        for (int i = 0; i < steps; i++) {
            unsigned *r = a + 4 * i;
            reid_ldmatrix_x4(r, stage + (row + lane % 16) * 128 + ((i * 2 + lane / 16) ^ lane % 8) * 16);
#pragma unroll
            for (int j = 0; j < 4 && SCALED; j++) { /* pixels 0-7 and 8-15 of eight channels, then of the next eight */
                float2 f = *(const float2 *)(factors[j % 2] + s.at * (STAGE_BYTES / 4) + i * 16 + j / 2 * 8);
                r[j] = scale_pair(r[j], f.x, f.y);
            }
        }
#pragma unroll
        for (int i = 0; i < 4 * steps; i++) reid_wgmma_hold(a[i]); /* all are computed before the first product */
        hold();
        reid_wgmma_fence();
#pragma unroll
        for (int i = 0; i < steps; i++) add_products<BN, 128>(d, a + 4 * i, operand<128>(b + i * 32));
        reid_wgmma_commit();
        hold();
        reid_wgmma_wait<1>();
        give_back(); /* the previous slice has been read */
        held = s.at, s.advance(1);
    }

    DEVICE void add_slices() {
        unsigned a[2][16];
        held = -1;
#pragma unroll 1
        for (int k = 0; k + 2 < CHUNKS; k += 2) add_slice<4>(a[0], k), add_slice<4>(a[1], k + 1);
        if (CHUNKS % 2 == 0) add_slice<4>(a[0], CHUNKS - 2);
        add_slice<(IC - (CHUNKS - 1) * 64) / 16>(a[CHUNKS % 2 == 0], CHUNKS - 1);
        reid_wgmma_wait<0>();
        hold();
        give_back();
    }

    DEVICE void store(const tensor_map *out, int m0, int n0) {
        const unsigned at = OUT_AT + row * (BN * 2);
        if (lane == 0) reid_bulk_wait_read<0>(); /* the rows of the last tile have left */
        __syncwarp();
#pragma unroll
        for (int i = 0; i < BN / 4; i++) {
            float low = d[2 * i], high = d[2 * i + 1];
            if (RESIDUAL) {
                low += reid_f32_from_f16((unsigned short)(rest[RESIDUAL ? i : 0] & 0xffff));
                high += reid_f32_from_f16((unsigned short)(rest[RESIDUAL ? i : 0] >> 16));
            }
            *(unsigned *)(shared + at + (lane / 4 + i % 2 * 8) * (BN * 2) + i / 2 * 16 + lane % 4 * 4) =
                reid_f16x2_from_f32(act(low), act(high));
        }
        reid_fence_proxy_async_shared();
        __syncwarp();
        if (lane == 0) reid_tensor_store_2d(out, n0, m0 + row, l.base + at);
        if (lane == 0) reid_bulk_commit();
    }
};

#define BLOCKS_ASKED_FOR (LIGHT ? 2 : 1)
extern "C" __global__ void __launch_bounds__(384, BLOCKS_ASKED_FOR)
reid_project(const GRID_CONSTANT project_arguments a) {
    const layout l = {reid_shared_address(shared)};
    const int tiles = (a.pixels + BM - 1) / BM * TILES_N, warp = threadIdx.x / 32;
    let_next_begin();
    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; i++) reid_mbarrier_init(l.full(i), 1), reid_mbarrier_init(l.empty(i), 8);
        reid_mbarrier_init(l.resident(), 1);
        reid_fence_mbarrier_init();
    }
    __syncthreads();
    if (warp >= 8) {
        reid_setmaxnreg_dec<(LIGHT ? 24 : 40)>();
        if (threadIdx.x == 256) copy_operands(a, l, tiles);
        return;
    }
    reid_setmaxnreg_inc<(LIGHT ? 104 : 232)>();
    wait_for_last();
    if (RESIDENT) wait_for(l.resident(), 0);
    projection p;
    p.l = l, p.lane = threadIdx.x % 32, p.row = warp * 16;
    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        const int m0 = tile / TILES_N * BM, n0 = tile % TILES_N * BN;
        p.begin(a, m0, n0);
        p.add_slices();
        p.store(&a.out_map, m0, n0);
    }
    if (p.lane == 0) reid_bulk_wait_read<0>(); /* before the block and its shared memory end */
}
#endif

/* --------------------------------------------------------------------------------------------------------------------
   Depthwise convolution, and for the squeeze the sums of its outputs over tiles of TILE_H x COLS pixels: rows from left
   to right, then the rows of a tile from the top. Tiles at the right and at the bottom may be smaller. Weights are (KH,
   KW, C). Every output is one chain of multiply-adds in the order of the window, which begins with the bias.

   A thread has two channels of a strip of COLS columns and slides down SLIDE rows of outputs. Of the input it has one
   row, the part that its outputs need:

       raw      | . . . . . . |  row y + 1, on its way while row y is added
       v        | x x x x x x |  row y as floats: each is converted once for all outputs that it touches
       acc[0]   |   o o o o   |  row y is row KH - 1 of their windows: after it they are complete, and are stored
       acc[1]   |   o o o o   |  row y is in the middle of their windows
       acc[2]   |   o o o o   |  row y is the first of their windows

   In the next row of outputs acc[0] begins again. So the loop over rows is unrolled by PERIOD, after which all is as it
   was, and indices are constants. Rows outside the image are left out; columns outside it are zeros, which are added.

   SPREAD: for small batches, which have few strips. A block takes a tile and SPREAD times four channels, a thread one
   of their outputs after the other; weights and outputs are in shared memory, where the tile is then summed as above.
   The bits are the same.
   ------------------------------------------------------------------------------------------------------------------ */
#ifdef REID_DEPTHWISE
STRUCT(depthwise_arguments);

#define STRIPS ((OW + COLS - 1) / COLS)
#define TILES_Y ((OH + TILE_H - 1) / TILE_H)

#if SPREAD
/* Sums, not fused with an activation's product, because only some of the kernels could do that. */
DEVICE float4 add4(float4 a, float4 b) {
    return make_float4(__fadd_rn(a.x, b.x), __fadd_rn(a.y, b.y), __fadd_rn(a.z, b.z), __fadd_rn(a.w, b.w));
}

/* Four channels of an output whose window begins at (y0, x0). x: the image's first pixel; b: the bias; w: the weight of
   position k at w[k * SPREAD]. */
DEVICE float4 window_of(const value_t *x, int y0, int x0, float4 b, const float4 *w) {
    float4 sum = b;
#pragma unroll
    for (int ky = 0; ky < KH; ky++)
#pragma unroll
        for (int kx = 0; kx < KW; kx++) {
            if (y0 + ky < 0 || y0 + ky >= IH || x0 + kx < 0 || x0 + kx >= IW) continue;
            float4 v = load4(x + ((y0 + ky) * IW + x0 + kx) * C), k = w[(ky * KW + kx) * SPREAD];
            sum = make_float4(fmaf(v.x, k.x, sum.x), fmaf(v.y, k.y, sum.y), fmaf(v.z, k.z, sum.z),
                              fmaf(v.w, k.w, sum.w));
        }
    return make_float4(act(sum.x), act(sum.y), act(sum.z), act(sum.w));
}

/* At least one block on a multiprocessor, as a small batch has no more. Without a request the compiler saves registers
   so that more fit, and puts one of them into local memory (CUDA 13.0). */
#define BLOCKS_ASKED_FOR 1
extern "C" __global__ void __launch_bounds__(256, BLOCKS_ASKED_FOR)
reid_depthwise(const GRID_CONSTANT depthwise_arguments a) {
    const int across = (C / 4 + SPREAD - 1) / SPREAD; /* blocks that share a tile */
    const int row = COLS * SPREAD;                    /* places of a row */
    float4 *w = (float4 *)shared, *values = w + KH * KW * SPREAD; /* [KH * KW][SPREAD], [TILE_H][COLS][SPREAD] */
    int t = threadIdx.x, tile = blockIdx.x / across, first = blockIdx.x % across * (SPREAD * 4);
    int image = tile / (TILES_Y * STRIPS), left = tile % STRIPS * COLS, top = tile / STRIPS % TILES_Y * TILE_H;
    const int columns = min(COLS, OW - left), rows = min(TILE_H, OH - top), channels = min(SPREAD * 4, C - first);
    let_next_begin();
    for (int i = t; i < KH * KW * SPREAD; i += 256)
        if (i % SPREAD * 4 < channels) w[i] = *(const float4 *)(a.weights + i / SPREAD * C + first + i % SPREAD * 4);
    __syncthreads();
    wait_for_last();
    for (int i = t; i < TILE_H * row && image < a.images; i += 256) {
        int q = i % SPREAD, c = first + q * 4, x = i % row / SPREAD, y = i / row, oy = top + y, ox = left + x;
        if (q * 4 >= channels || x >= columns || y >= rows) continue;
        values[i] = window_of(a.in + (long long)image * IH * IW * C + c, oy * STRIDE - PAD_Y, ox * STRIDE - PAD_X,
                              *(const float4 *)(a.bias + c), w + q);
        store4(a.out + (((long long)image * OH + oy) * OW + ox) * C + c, values[i]);
    }
    __syncthreads();
    for (int i = t; i < rows * SPREAD; i += 256) { /* a row's sum takes the place of its first value */
        float4 *from = values + i / SPREAD * row + i % SPREAD, total = make_float4(0, 0, 0, 0);
        if (i % SPREAD * 4 >= channels) continue;
        for (int x = 0; x < columns; x++) total = add4(total, from[x * SPREAD]);
        *from = total;
    }
    __syncthreads();
    if (t * 4 >= channels || image >= a.images) return;
    float4 total = make_float4(0, 0, 0, 0);
    for (int y = 0; y < rows; y++) total = add4(total, values[y * row + t]);
    *(float4 *)(a.sums + (long long)tile * C + first + t * 4) = total;
}
#else
#define PAIRS (C / 2)
#define NEEDED ((COLS - 1) * STRIDE + KW) /* inputs of a row */
#define FLIGHT ((KH + STRIDE - 1) / STRIDE) /* rows of outputs that a row of inputs touches */
#define PERIOD (FLIGHT * STRIDE)

/* Two neighbouring channels in memory. */
#ifdef VALUE_F16
typedef unsigned pair_t;
DEVICE float2 wide(pair_t v) {
    return make_float2(reid_f32_from_f16((unsigned short)v), reid_f32_from_f16((unsigned short)(v >> 16)));
}
DEVICE pair_t narrow(float2 v) { return reid_f16x2_from_f32(v.x, v.y); }
#else
typedef float2 pair_t;
DEVICE float2 wide(pair_t v) { return v; }
DEVICE pair_t narrow(float2 v) { return v; }
#endif

/* Sums, not fused with an activation's product, because only some of the kernels could do that. */
DEVICE float2 add2(float2 a, float2 b) {
    return make_float2(__fadd_rn(a.x, b.x), __fadd_rn(a.y, b.y));
}

/* The outputs of a thread: two channels of a strip, from row `top` to before row `end`. */
struct strip {
    int top, end, columns; /* columns: that exist, at least 1 */
    bool stored;           /* else it repeats another thread's work */
    pair_t *out;           /* the next row of outputs */
    float2 *sums;          /* the next tile's */
    float2 bias, total, w[KH * KW], acc[FLIGHT][COLS];

    /* The last row of inputs that the outputs need, counted from the first. */
    DEVICE int last() const { return (end - 1 - top) * STRIDE + KH - 1; }

    /* Sets all but the rows and `stored`, for columns from `left` on. */
    DEVICE void begin(const depthwise_arguments &a, int image, int left, int pair) {
        const int tile = (image * TILES_Y + top / TILE_H) * STRIPS + left / COLS;
        columns = OW - left, bias = ((const float2 *)a.bias)[pair], total = make_float2(0, 0);
#pragma unroll
        for (int i = 0; i < KH * KW; i++) w[i] = ((const float2 *)a.weights)[i * PAIRS + pair];
        out = (pair_t *)a.out + (((long long)image * OH + top) * OW + left) * PAIRS + pair;
        sums = (float2 *)a.sums + (long long)tile * PAIRS + pair;
    }

    /* Begins the outputs whose windows begin with row i of a period. */
    DEVICE void begin_row(int i) {
#pragma unroll
        for (int x = 0; x < COLS && i % STRIDE == 0; x++) acc[i / STRIDE][x] = bias;
    }

    /* Adds row i of a period to all outputs whose windows it is in. */
    DEVICE void add_row(int i, const float2 *v) {
#pragma unroll
        for (int slot = 0; slot < FLIGHT; slot++) {
            const int ky = (i - slot * STRIDE + PERIOD) % PERIOD;
#pragma unroll
            for (int x = 0; x < COLS && ky < KH; x++)
#pragma unroll
                for (int kx = 0; kx < KW; kx++) {
                    float2 input = v[x * STRIDE + kx], k = w[ky * KW + kx], &sum = acc[slot][x];
                    sum = make_float2(fmaf(input.x, k.x, sum.x), fmaf(input.y, k.y, sum.y));
                }
        }
    }

    /* Stores a row of outputs. Returns its sum. */
    DEVICE float2 store(int slot) const {
        float2 sum = make_float2(0, 0);
#pragma unroll
        for (int i = 0; i < COLS; i++) {
            if (OW % COLS && i >= columns) continue;
            float2 v = make_float2(act(acc[slot][i].x), act(acc[slot][i].y));
            sum = add2(sum, v);
            if (stored) out[i * PAIRS] = narrow(v);
        }
        return sum;
    }

    /* Stores the outputs whose windows end with row base + i, and the sum of a tile that they complete. */
    DEVICE void end_row(int base, int i) {
#pragma unroll
        for (int slot = 0; slot < FLIGHT; slot++) {
            const int ky = (i - slot * STRIDE + PERIOD) % PERIOD;
            if (ky != KH - 1 || base + i < KH - 1) continue;
            const int y = top + (base + i - ky) / STRIDE; /* of the output */
            total = add2(total, store(slot));
            out += OW * PAIRS;
            if ((y + 1) % TILE_H && y + 1 < end) continue;
            if (stored) *sums = total;
            sums += STRIPS * PAIRS, total = make_float2(0, 0);
        }
    }
};

#ifndef EXPAND
#define CHUNKS ((OH + SLIDE - 1) / SLIDE) /* that threads have of a strip */
/* As many as fit without putting registers into memory. */
#define BLOCKS_ASKED_FOR (sizeof(value_t) == 4 ? 2 : KH == 3 ? 5 - STRIDE : STRIDE == 1 && COLS <= 4 ? 3 : 2)

/* The inputs of a strip: a row that is on its way. */
struct row_of_inputs {
    const pair_t *next; /* the row to load next, at the strip's first input */
    int y;              /* its number */
    unsigned inside;    /* bit i: input i of a row is in the image */
    pair_t raw[NEEDED];

    DEVICE void load() {
        const bool there = y >= 0 && y < IH;
#pragma unroll
        for (int i = 0; i < NEEDED; i++) {
            raw[i] = pair_t();
            if (there && inside >> i & 1) raw[i] = next[i * PAIRS];
        }
        next += IW * PAIRS, y++;
    }
};

extern "C" __global__ void __launch_bounds__(128, BLOCKS_ASKED_FOR)
reid_depthwise(const GRID_CONSTANT depthwise_arguments a) {
    let_next_begin();
    const unsigned long long thread = thread_index();
    const int pair = (int)(thread % PAIRS), place = (int)(thread / PAIRS), left = place % STRIPS * COLS;
    const int image = place / (STRIPS * CHUNKS), top = place / STRIPS % CHUNKS * SLIDE;
    if (image >= a.images) return;
    const int x0 = left * STRIDE - PAD_X, y0 = top * STRIDE - PAD_Y;
    strip s;
    s.top = top, s.end = min(top + SLIDE, OH), s.stored = true;
    s.begin(a, image, left, pair);
    row_of_inputs in = {(const pair_t *)a.in + ((long long)image * IH * IW + y0 * IW + x0) * PAIRS + pair, y0, 0, {}};
#pragma unroll
    for (int i = 0; i < NEEDED; i++) in.inside |= (unsigned)(x0 + i >= 0 && x0 + i < IW) << i;
    const int last = s.last();
    wait_for_last();
    in.load();
#pragma unroll 1
    for (int base = 0; base <= last; base += PERIOD) {
#pragma unroll
        for (int i = 0; i < PERIOD; i++) { /* row base + i of the chunk's inputs */
            if (base + i > last) break;
            s.begin_row(i);
            float2 v[NEEDED];
#pragma unroll
            for (int k = 0; k < NEEDED; k++) v[k] = wide(in.raw[k]);
            const bool there = y0 + base + i >= 0 && y0 + base + i < IH; /* else all zeros */
            in.load();
            if (there) s.add_row(i, v);
            s.end_row(base, i);
        }
    }
}
#endif
#endif
#endif

/* --------------------------------------------------------------------------------------------------------------------
   A depthwise convolution of large batches on Hopper, together with the 1x1 convolution of fewer than 64 channels
   before it, whose outputs, several times as many as its inputs, never leave the chip. A share of the work is SLICE of
   the C channels, of some rows of outputs, of IMAGES images; a block takes one share after the other. It has two kinds
   of warps, which work at the same time:

       MORE warps, each with 16 pixels    inputs, from memory while the 16 before are multiplied -> registers
                                          times resident weights, activated                      -> a place of the ring
       WARPS warps, whose threads have    a row of the ring, as the row `v` of reid_depthwise    -> sums
       a strip and two channels           activated sums, as there                               -> memory

   A place of the ring has ROWS rows of inputs of each image, from the left pixel to the right, with the zeros beside
   them that windows need. Rows above and below the image are left out. A place is full when all its GROUPS of 16 pixels
   have come, and empty when all warps that add have read it:

       row      | 0 x x x x x x x gap x x x x x x x x gap x 0 |    x: SLICE channels of a pixel, PIXEL_BYTES apart
                  strip 0             strip 1             ...      strips begin STEP_X pixels and a gap apart

   PIXEL_BYTES are an odd multiple of 16, so that eight pixels are stored to different banks. Gaps place strips as far
   apart as if each strip's pairs of channels followed those of the strip before, modulo the banks, so that no two
   threads of a warp load from the same bank. Rows of weights are an odd multiple of 16 bytes apart, too, for ldmatrix.

   The bits are those of the two convolutions. Shared memory, in this order: weights (C, IC); biases, each pair twice,
   as sums begin; mbarriers; the ring.
   ------------------------------------------------------------------------------------------------------------------ */
#ifdef EXPAND
#define MEMBERS (SLICE / 2)            /* threads of a strip */
#define BUSY ((IMAGES * STRIPS * MEMBERS + 31) / 32) /* of WARPS */
#define STEPS (IC / 16)
#define GROUPS ((ROWS * IW + 15) / 16) /* of an image */
#define STEP_X (COLS * STRIDE)
#define COLUMNS ((STRIPS - 1) * STEP_X + NEEDED)
#define PIXEL_BYTES (SLICE * 2 + (SLICE / 8 % 2 ? 0 : 16))
#define GAP ((SLICE * 2 + 128 - STEP_X * PIXEL_BYTES % 128) % 128)
#define AT_X(x) ((x) * PIXEL_BYTES + (x) / STEP_X * GAP) /* bytes to column x of a row */
#define ROW_BYTES (AT_X(COLUMNS - 1) + PIXEL_BYTES)
#define PLACE_BYTES (IMAGES * ROWS * ROW_BYTES)
#define WEIGHT_BYTES (IC * 2 + 16)
#define BIAS_AT (C * WEIGHT_BYTES)
#define BARRIERS_AT (BIAS_AT + C * 8)
#define RING_AT (BARRIERS_AT + 128)
#define PLACES ((SHARED - RING_AT) / PLACE_BYTES < 8 ? (SHARED - RING_AT) / PLACE_BYTES : 8)
static_assert(C % SLICE == 0 && SLICE % 8 == 0 && IC % 16 == 0 && BUSY <= WARPS && PLACES >= 3, "as reid.h has them");

/* Of a thread of either kind, by setmaxnreg: together no more than the block was launched with. */
#define REGISTERS (WARPS + MORE == 20 ? 104 : WARPS == 12 ? 136 : 152)
#define MORE_REGISTERS (WARPS + MORE == 20 ? 80 : 104)

DEVICE unsigned full_barrier(int place) { return reid_shared_address(shared) + BARRIERS_AT + place * 8; }
DEVICE unsigned empty_barrier(int place) { return full_barrier(8 + place); }

/* A share: channels from `channel` on, images from `image` on, rows of outputs from `top` to before `end`, which need
   the rows `first` to `last` of the image. */
struct share {
    int channel, image, top, end, first, last;
    DEVICE share(int number, int rows) {
        const int chunks = (OH + rows - 1) / rows, of_image = C / SLICE * chunks;
        channel = number % (C / SLICE) * SLICE, image = number / of_image * IMAGES;
        top = number / (C / SLICE) % chunks * rows, end = min(top + rows, OH);
        first = max(top * STRIDE - PAD_Y, 0), last = min((end - 1) * STRIDE - PAD_Y + KH - 1, IH - 1);
    }
};

/* A group of sixteen pixels: of an image's ROWS rows from `row` on, for a place of the ring. */
struct sixteen {
    int number; /* of the share */
    share s;
    int row, group; /* group: of the first image, then of the second */
    cursor<PLACES> place;

    /* Goes on by so many groups, perhaps to the next places and shares. */
    DEVICE void advance(int by, int rows) {
        for (group += by; group >= IMAGES * GROUPS; group -= IMAGES * GROUPS) {
            place.advance(1), row += ROWS;
            if (row <= s.last) continue;
            number += gridDim.x, s = share(number, rows), row = s.first;
        }
    }

    /* The number of pixel i in those rows, and how many these are: less at the end of a share. */
    DEVICE int pixel(int i) const { return group % GROUPS * 16 + i; }
    DEVICE int pixels() const { return min(s.last + 1 - row, ROWS) * IW; }

    /* Loads a lane's inputs, as mma.m16n8k16 has them. Pixels beyond the last repeat it, and are not stored. */
    DEVICE void load(const depthwise_arguments &a, unsigned *r) const {
        const int lane = threadIdx.x % 32, image = min(s.image + group / GROUPS, a.images - 1);
        const value_t *from = a.in + ((long long)image * IH + row) * (IW * IC) + lane % 4 * 2;
#pragma unroll
        for (int i = 0; i < 4 * STEPS; i++) {
            const int p = min(pixel(lane / 4 + i % 2 * 8), pixels() - 1);
            r[i] = *(const unsigned *)(from + p * IC + i / 2 * 8);
        }
    }

    /* Multiplies them by the share's weights, 48 channels at a time, and stores what becomes of a lane's two pixels. */
    DEVICE void expand(const unsigned *a) const {
        const int lane = threadIdx.x % 32;
        int to[2];
        bool stored[2];
#pragma unroll
        for (int i = 0; i < 2; i++) {
            const int p = pixel(lane / 4 + i * 8), x = p % IW + PAD_X, y = group / GROUPS * ROWS + p / IW;
            to[i] = RING_AT + place.at * PLACE_BYTES + y * ROW_BYTES + AT_X(x) + lane % 4 * 4;
            stored[i] = p < pixels() && x < COLUMNS; /* windows may need no column at the right */
        }
        const float4 *bias = (const float4 *)(shared + BIAS_AT) + s.channel / 2 + lane % 4;
        const unsigned w = reid_shared_address(shared) + (s.channel + lane % 8) * WEIGHT_BYTES + lane / 8 % 2 * 16;
#pragma unroll
        for (int from = 0; from < SLICE; from += 48) {
            float d[6][4];
#pragma unroll
            for (int j = 0; j < 6 && from + j * 8 < SLICE; j++) {
                const float4 b = bias[(from + j * 8) / 2];
                d[j][0] = b.x, d[j][1] = b.y, d[j][2] = b.z, d[j][3] = b.w;
            }
#pragma unroll
            for (int k = 0; k < STEPS; k++)
#pragma unroll
                for (int j = 0; j < 6 && from + j * 8 < SLICE; j += 2) {
                    unsigned b[4];
                    const bool both = from + j * 8 + 8 < SLICE; /* else the next eight channels are another share's */
                    reid_ldmatrix_x4(b, w + (from + j * 8 + (both ? lane / 16 * 8 : 0)) * WEIGHT_BYTES + k * 32);
                    reid_mma_m16n8k16(d[j], a + 4 * k, b);
                    if (both) reid_mma_m16n8k16(d[j + 1], a + 4 * k, b + 2);
                }
#pragma unroll
            for (int i = 0; i < 12 && from + i / 2 * 8 < SLICE; i++) {
                const float *v = d[i / 2] + i % 2 * 2;
                unsigned pair = reid_f16x2_from_f32(act(v[0]), act(v[1]));
                if (stored[i % 2]) *(unsigned *)(shared + to[i % 2] + (from + i / 2 * 8) * 2) = pair;
            }
        }
    }
};

/* Fills the ring for all of the block's shares. The warps take turns with groups, whatever places these are for. */
DEVICE void fill_ring(const depthwise_arguments &a, int warp, int numbers) {
    unsigned now[4 * STEPS], next[4 * STEPS];
    const share first(blockIdx.x, a.rows);
    sixteen at = {(int)blockIdx.x, first, first.first, 0, {}};
    at.advance(warp, a.rows);
    if (at.number < numbers) at.load(a, next);
    while (at.number < numbers) {
#pragma unroll
        for (int i = 0; i < 4 * STEPS; i++) now[i] = next[i];
        const sixteen here = at;
        at.advance(MORE, a.rows);
        if (at.number < numbers) at.load(a, next);
        wait_for(empty_barrier(here.place.at), here.place.parity ^ 1);
        if (here.pixel(0) < here.pixels()) here.expand(now);
        __syncwarp();
        if (threadIdx.x % 32 == 0) reid_mbarrier_arrive(full_barrier(here.place.at));
    }
}

/* The rows of the ring, one after the other, at the first input of a thread's strip. */
struct ring_rows {
    const unsigned char *first, *next; /* the strip in the first place of the ring; in the next row */
    cursor<PLACES> place;
    int row, left; /* rows that have been read of the place; that are left of the share */

    DEVICE void read(float2 *v) {
        if (row == 0) wait_for(full_barrier(place.at), place.parity);
#pragma unroll
        for (int i = 0; i < NEEDED; i++) v[i] = wide(*(const pair_t *)(next + AT_X(i)));
        next += ROW_BYTES, row++, left--;
        if (row < ROWS && left) return;
        __syncwarp();
        if (threadIdx.x % 32 == 0) reid_mbarrier_arrive(empty_barrier(place.at));
        place.advance(1), next = first + place.at * PLACE_BYTES, row = 0;
    }
};

/* Adds up a strip of a share. */
DEVICE void add_rows(strip &s, ring_rows &in) {
    const int last = s.last(), y0 = s.top * STRIDE - PAD_Y;
#pragma unroll 1
    for (int base = 0; base <= last; base += PERIOD) {
#pragma unroll
        for (int i = 0; i < PERIOD; i++) { /* row base + i of the share's inputs */
            if (base + i > last) break;
            s.begin_row(i);
            if (y0 + base + i >= 0 && y0 + base + i < IH) {
                float2 v[NEEDED];
                in.read(v);
                s.add_row(i, v);
            }
            s.end_row(base, i);
        }
    }
}

extern "C" __global__ void __launch_bounds__((WARPS + MORE) * 32, 1)
reid_expand(const GRID_CONSTANT depthwise_arguments a) {
    const int t = threadIdx.x, warp = t / 32, chunks = (OH + a.rows - 1) / a.rows;
    const int numbers = (a.images + IMAGES - 1) / IMAGES * chunks * (C / SLICE); /* of shares */
    let_next_begin();
    for (int i = t; i < C * (IC / 8); i += blockDim.x)
        *(uint4 *)(shared + i / (IC / 8) * WEIGHT_BYTES + i % (IC / 8) * 16) =
            *(const uint4 *)(a.expansion + i / (IC / 8) * ROW + i % (IC / 8) * 8);
    for (int i = t; i < C * 2; i += blockDim.x) ((float *)(shared + BIAS_AT))[i] = a.expansion_bias[i / 4 * 2 + i % 2];
    for (int i = t * 16; i < PLACES * PLACE_BYTES; i += blockDim.x * 16)
        *(uint4 *)(shared + RING_AT + i) = make_uint4(0, 0, 0, 0);
    if (t == 0) {
        for (int i = 0; i < PLACES; i++)
            reid_mbarrier_init(full_barrier(i), IMAGES * GROUPS), reid_mbarrier_init(empty_barrier(i), BUSY);
        reid_fence_mbarrier_init();
    }
    __syncthreads();
    wait_for_last();
    if (warp >= WARPS) {
        reid_setmaxnreg_dec<MORE_REGISTERS>();
        fill_ring(a, warp - WARPS, numbers);
        return;
    }
    reid_setmaxnreg_inc<REGISTERS>();
    if (warp >= BUSY) return;
    /* Threads beyond the last strip, of the last warp, repeat others' work. */
    const int unit = min(t / MEMBERS, IMAGES * STRIPS - 1), column = unit % STRIPS, pair = t % MEMBERS;
    const unsigned char *first = shared + RING_AT + unit / STRIPS * ROWS * ROW_BYTES + AT_X(column * STEP_X) + pair * 4;
    ring_rows in = {first, first, {}, 0, 0};
    for (int number = blockIdx.x; number < numbers; number += gridDim.x) {
        const share mine(number, a.rows);
        const int image = mine.image + unit / STRIPS;
        strip s;
        s.top = mine.top, s.end = mine.end, s.stored = image < a.images && t < IMAGES * STRIPS * MEMBERS;
        s.begin(a, image, column * COLS, mine.channel / 2 + pair);
        in.left = mine.last + 1 - mine.first;
        add_rows(s, in);
    }
}
#endif

/* --------------------------------------------------------------------------------------------------------------------
   Squeeze-excite factors: sums (TILES, C) of an image -> mean -> linear, SiLU -> linear, sigmoid. A block takes IMAGES
   images, so that weights are read once for all of them: four of a large batch, where there are clusters. A warp
   computes a hidden unit: its lanes sum strided parts, and a fixed tree adds these. A small batch only waits for loads,
   so loops are unrolled to have many loads in flight.

   SPLIT: a cluster takes the images, because one block would wait for up to 442 KB of weights. Each block computes a
   share of the means and of the hidden units, which it sends to all, and of the factors. The sums are the same.

   AHEAD: the weights of a small batch fit the registers: of a hidden unit for each warp, and of a factor for each
   thread. They are loaded while the previous launch computes.
   ------------------------------------------------------------------------------------------------------------------ */
#ifdef REID_SQUEEZE
/* Stores a value at the same place in all blocks, its own first, so that they do not all send to the same block. */
DEVICE void send(float *to, float value) {
#if SPLIT > 1
#pragma unroll
    for (int i = 0; i < SPLIT; i++)
        reid_cluster_store(reid_cluster_map(reid_shared_address(to), (blockIdx.x + i) % SPLIT), bits_of(value));
#else
    *to = value;
#endif
}

STRUCT(squeeze_arguments);
#define THREADS (SPLIT > 1 && (HIDDEN <= 64 || IMAGES > 1) ? 256 : 1024) /* of a block */
#define BLOCKS_ASKED_FOR (SPLIT > 1 && IMAGES > 1 ? 4 : 1) /* many images, many clusters: all begin at once */
#define STEPS ((CHANNELS + 31) / 32) /* of a hidden unit's sum */
#define AHEAD (SPLIT > 1 && IMAGES == 1 && HIDDEN <= 64 && C <= 256 * SPLIT && STEPS + HIDDEN <= 112)

/* Weights loaded before the means are there. */
struct squeeze_weights {
    float hidden[AHEAD ? STEPS : 1], factor[AHEAD ? HIDDEN : 1];
    DEVICE squeeze_weights(const squeeze_arguments &a, int unit, int channel, bool inside) {
        const int lane = threadIdx.x % 32;
#pragma unroll
        for (int i = 0; i < STEPS && AHEAD; i++)
            hidden[i] = unit < HIDDEN && lane + i * 32 < CHANNELS ? a.w1[unit * C + lane + i * 32] : 0.0f;
#pragma unroll
        for (int i = 0; i < HIDDEN && AHEAD; i++) factor[i] = inside ? a.w2[i * C + channel] : 0.0f;
    }
};

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS_ASKED_FOR)
reid_squeeze(const GRID_CONSTANT squeeze_arguments a) {
    float *mean = (float *)shared, *hidden = mean + C * IMAGES; /* [C][IMAGES], [HIDDEN][IMAGES] */
    int t = threadIdx.x, lane = t % 32, part = blockIdx.x % SPLIT, image = blockIdx.x / SPLIT * IMAGES;
    const int first = C * part / SPLIT, end = C * (part + 1) / SPLIT; /* this block's channels */
    const int loads = IMAGES > 1 ? 8 : AHEAD ? 112 : THREADS > 256 ? 16 : 48; /* in flight, as registers allow */
    let_next_begin();
    const squeeze_weights weights(a, t / 32 * SPLIT + part, first + t, first + t < end); /* AHEAD */
    wait_for_last();
    if (SPLIT > 1) block_meeting(); /* all blocks have begun, so their memory can be written */
#pragma unroll 1
    for (int i = t; i < (end - first) * IMAGES; i += blockDim.x) {
        int c = first + i % (end - first), k = i / (end - first); /* neighbours in memory for neighbouring threads */
        const float *in = a.sums + (long long)min(image + k, a.images - 1) * TILES * C + c;
        float total = 0.0f;
#pragma unroll 16
        for (int tile = 0; tile < TILES; tile++) total += in[tile * C];
        send(mean + c * IMAGES + k, total / (float)(OH * OW));
    }
    block_barrier();
    for (int h = t / 32 * SPLIT + part; h < HIDDEN; h += blockDim.x / 32 * SPLIT) { /* w1 is (HIDDEN, C) */
        float sum[IMAGES] = {};
#pragma unroll loads
        for (int i = 0; i < STEPS; i++) {
            const int c = lane + i * 32;
            if (c >= CHANNELS) continue;
            float w = AHEAD ? weights.hidden[AHEAD ? i : 0] : a.w1[h * C + c];
#pragma unroll
            for (int k = 0; k < IMAGES; k++) sum[k] = fmaf(mean[c * IMAGES + k], w, sum[k]);
        }
#pragma unroll
        for (int k = 0; k < IMAGES; k++) {
            float unit = sum_of_warp(sum[k]) + a.b1[h];
            if (lane == k) send(hidden + h * IMAGES + k, unit * full_sigmoid(unit));
        }
    }
    block_barrier();
    for (int c = first + t; c < end; c += blockDim.x) { /* w2 is (HIDDEN, C) */
        float sum[IMAGES];
#pragma unroll
        for (int k = 0; k < IMAGES; k++) sum[k] = a.b2[c];
#pragma unroll loads
        for (int h = 0; h < HIDDEN; h++) {
            float w = AHEAD ? weights.factor[AHEAD ? h : 0] : a.w2[h * C + c];
#pragma unroll
            for (int k = 0; k < IMAGES; k++) sum[k] = fmaf(hidden[h * IMAGES + k], w, sum[k]);
        }
#pragma unroll
        for (int k = 0; k < IMAGES; k++)
            if (image + k < a.images) a.factors[(long long)(image + k) * C + c] = full_sigmoid(sum[k]);
    }
}
#endif

/* --------------------------------------------------------------------------------------------------------------------
   Pools: a thread computes four channels of one output pixel.
   ------------------------------------------------------------------------------------------------------------------ */
#ifdef REID_MAXPOOL
/* The larger of two numbers; NaN if one is NaN, so that an overflow does not go unnoticed. */
DEVICE float larger(float a, float b) { return a > b || a != a ? a : b; }

STRUCT(maxpool_arguments);
extern "C" __global__ void reid_maxpool(const GRID_CONSTANT maxpool_arguments a) {
    take_turn();
    unsigned long long i = thread_index();
    int c = (int)(i % (C / 4)) * 4, m = (int)(i / (C / 4));
    if (m >= a.pixels) return;
    int image = m / (OH * OW), y0 = m % (OH * OW) / OW * STRIDE - PAD_Y, x0 = m % OW * STRIDE - PAD_X;
    const value_t *x = a.in + (long long)image * IH * IW * C + c;
    const float lowest = -__int_as_float(0x7f800000);
    float4 best = make_float4(lowest, lowest, lowest, lowest);
    for (int y = max(y0, 0); y < min(y0 + KH, IH); y++)
        for (int column = max(x0, 0); column < min(x0 + KW, IW); column++) {
            float4 v = load4(x + (y * IW + column) * C);
            best = make_float4(larger(best.x, v.x), larger(best.y, v.y), larger(best.z, v.z), larger(best.w, v.w));
        }
    store4(a.out + (long long)m * C + c, best);
}
#endif

#ifdef REID_POOL
#if GEM
/* Written so that a NaN stays a NaN. */
DEVICE float power(float x, float least, float p) { return powf(x < least ? least : x, p); }
DEVICE float4 power4(float4 v, float least, float p) {
    return make_float4(power(v.x, least, p), power(v.y, least, p), power(v.z, least, p), power(v.w, least, p));
}
#endif

/* Bin (by, bx) covers rows floor(by IH / OH) to ceil((by + 1) IH / OH), and columns by the same formula; rows are
   summed first. The output is always fp32. PER: a value is already the sum of this many pixels of a row. GEM: the
   generalised mean mean(x^p)^(1/p). NORM: then batch norm. */
#define AT_ONCE 8 /* values of a thread on their way */
STRUCT(pool_arguments);
extern "C" __global__ void reid_pool(const GRID_CONSTANT pool_arguments a) {
    take_turn();
    const float step = a.step;
    unsigned long long i = thread_index();
    int c = (int)(i % (C / 4)) * 4, m = (int)(i / (C / 4));
    if (m >= a.bins) return;
    int image = m / (OH * OW), by = m % (OH * OW) / OW, bx = m % OW;
    int top = by * IH / OH, bottom = ((by + 1) * IH + OH - 1) / OH;
    int left = bx * IW / OW, right = ((bx + 1) * IW + OW - 1) / OW;
    const int width = right - left, pixels = (bottom - top) * width;
    const value_t *x = a.in + (((long long)image * IH + top) * IW + left) * C + c;
    float4 total = make_float4(0, 0, 0, 0), row = total;
    for (int first = 0; first < pixels; first += AT_ONCE) {
        float4 values[AT_ONCE];
#pragma unroll
        for (int j = 0; j < AT_ONCE; j++) {
            const int p = min(first + j, pixels - 1);
            values[j] = load4(x + (p / width * IW + p % width) * C);
        }
#pragma unroll
        for (int j = 0; j < AT_ONCE; j++) {
            float4 v = values[j];
            if (first + j >= pixels) continue;
#if GEM
            v = power4(make_float4(v.x * step, v.y * step, v.z * step, v.w * step), 1e-6f, *a.exponent);
#endif
            row = make_float4(row.x + v.x, row.y + v.y, row.z + v.z, row.w + v.w);
            if ((first + j + 1) % width) continue;
            total = make_float4(total.x + row.x, total.y + row.y, total.z + row.z, total.w + row.w);
            row = make_float4(0, 0, 0, 0);
        }
    }
#if !GEM
    total = make_float4(total.x * step, total.y * step, total.z * step, total.w * step);
#endif
    float count = (float)(pixels * PER);
    total = make_float4(total.x / count, total.y / count, total.z / count, total.w / count);
#if GEM
    total = power4(total, 0, 1 / *a.exponent);
#endif
#if NORM
    const double *f = a.factors + c;
    const float *b = a.bias + c;
    total = make_float4(fmaf(total.x, (float)f[0], b[0]), fmaf(total.y, (float)f[1], b[1]),
                        fmaf(total.z, (float)f[2], b[2]), fmaf(total.w, (float)f[3], b[3]));
#endif
    *(float4 *)(a.out + (long long)m * C + c) = total;
}
#endif

/* --------------------------------------------------------------------------------------------------------------------
   Instance norm, and what a non-local block does between its convolutions. A block has 16 channels of one image.
   ------------------------------------------------------------------------------------------------------------------ */
#define PIXELS (OH * OW)
#ifdef REID_INSTANCE
STRUCT(instance_arguments);

DEVICE float4 add4(float4 a, float4 b) { return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w); }

/* The sum of 64 threads' values, of those with the same t % 4, in a fixed tree. All threads of the block take part. */
DEVICE float4 sum_of_all(float4 mine) {
    float4 *sums = (float4 *)shared; /* [256] */
    int t = threadIdx.x;
    __syncthreads(); /* everyone has read the last sum */
    sums[t] = mine;
    for (int half = 128; half >= 4; half /= 2) {
        __syncthreads();
        if (t < half) sums[t] = add4(sums[t], sums[t + half]);
    }
    __syncthreads();
    return sums[t % 4];
}

#ifndef KEPT
#define KEPT 0
#endif
#ifdef VALUE_F16
typedef ushort4 stored4; /* four values as they are in memory */
#else
typedef float4 stored4;
#endif

/* out = act(norm(in)) + residual, where norm, of the first NORMED channels, is (x - mean) / sqrt(variance + epsilon) *
   weight + bias with mean and variance over an image's pixels. A thread takes four channels of every 64th pixel, three
   times: for the mean, the variance and the output. With KEPT it reads them from memory once, and keeps them in shared
   memory behind the sums; no other thread reads them there. */
extern "C" __global__ void __launch_bounds__(256)
reid_instance(const GRID_CONSTANT instance_arguments a) {
    take_turn();
    int t = threadIdx.x, c = blockIdx.x % (C / 16) * 16 + t % 4 * 4;
    long long from = (long long)(blockIdx.x / (C / 16)) * PIXELS * C + c;
    const value_t *x = a.in + from;
    stored4 *kept = (stored4 *)(shared + 4096) + t % 4; /* [PIXELS][4] */
    float4 mean = make_float4(0, 0, 0, 0), factor = make_float4(1, 1, 1, 1), bias = mean;
    const bool normed = c / 16 * 16 < NORMED; /* the same for all threads of a block: NORMED is a multiple of 16 */
    auto value = [&](int p) { return load4(KEPT && normed ? (const value_t *)&kept[p * 4] : x + (long long)p * C); };
    if (normed) {
        float4 sum = mean;
#pragma unroll 8
        for (int p = t / 4; p < PIXELS; p += 64) {
            const stored4 v = *(const stored4 *)(x + (long long)p * C);
            if (KEPT) kept[p * 4] = v;
            sum = add4(sum, load4((const value_t *)&v));
        }
        sum = sum_of_all(sum);
        const float n = (float)PIXELS;
        mean = make_float4(sum.x / n, sum.y / n, sum.z / n, sum.w / n);
        sum = make_float4(0, 0, 0, 0);
        for (int p = t / 4; p < PIXELS; p += 64) {
            float4 v = value(p);
            v = make_float4(v.x - mean.x, v.y - mean.y, v.z - mean.z, v.w - mean.w);
            sum = make_float4(fmaf(v.x, v.x, sum.x), fmaf(v.y, v.y, sum.y), fmaf(v.z, v.z, sum.z),
                              fmaf(v.w, v.w, sum.w));
        }
        sum = sum_of_all(sum);
        auto spread = [&](float squares, int i) {
            return (float)(1.0 / sqrt((double)(squares / n) + a.epsilon)) * a.weights[c + i];
        };
        factor = make_float4(spread(sum.x, 0), spread(sum.y, 1), spread(sum.z, 2), spread(sum.w, 3));
        bias = *(const float4 *)(a.bias + c);
    }
#pragma unroll 4
    for (int p = t / 4; p < PIXELS; p += 64) {
        long long at = (long long)p * C;
        float4 v = value(p);
        v = make_float4(act(fmaf(v.x - mean.x, factor.x, bias.x)), act(fmaf(v.y - mean.y, factor.y, bias.y)),
                        act(fmaf(v.z - mean.z, factor.z, bias.z)), act(fmaf(v.w - mean.w, factor.w, bias.w)));
        if (RESIDUAL) v = add4(v, load4(a.residual + from + at));
        store4(a.out + from + at, v);
    }
}
#endif

#ifdef REID_NONLOCAL
STRUCT(nonlocal_arguments);

/* square = key^T value, (C, 16) for the block's channels, then out = query square / PIXELS. Every sum is one chain. */
extern "C" __global__ void __launch_bounds__(256)
reid_nonlocal(const GRID_CONSTANT nonlocal_arguments a) {
    take_turn();
    float *square = (float *)shared; /* [C][16] */
    int t = threadIdx.x, v = t % 16, c = blockIdx.x % (C / 16) * 16 + v;
    long long image = (long long)(blockIdx.x / (C / 16)) * PIXELS * C;
    for (int i = t / 16; i < C; i += 16) {
        float sum = 0.0f;
        for (int p = 0; p < PIXELS; p++)
            sum = fmaf(load1(a.key + image + p * C + i), load1(a.value + image + p * C + c), sum);
        square[i * 16 + v] = sum;
    }
    __syncthreads();
    for (int p = t / 16; p < PIXELS; p += 16) {
        float sum = 0.0f;
        for (int i = 0; i < C; i++) sum = fmaf(load1(a.query + image + p * C + i), square[i * 16 + v], sum);
        store1(a.out + image + p * C + c, sum / (float)PIXELS);
    }
}
#endif

/* --------------------------------------------------------------------------------------------------------------------
   Fully connected: in (images, K), weights (OC, K), K a multiple of 16. A warp computes one output of four images, so
   that each weight is read once for them; its lanes sum strided parts, and a fixed tree adds these. A result does not
   depend on the other images. With SPLIT 8 all warps of a block share an output.
   ------------------------------------------------------------------------------------------------------------------ */
#ifdef REID_LINEAR
STRUCT(linear_arguments);
extern "C" __global__ void __launch_bounds__(256)
reid_linear(const GRID_CONSTANT linear_arguments g) {
    take_turn();
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, part = warp % SPLIT, image = blockIdx.y * 4;
    int n = (blockIdx.x * 8 + warp) / SPLIT;
    if (n >= OC) return; /* SPLIT 8: never */
    const float *w = g.weights + (long long)n * K, *x[4];
    float sum[4] = {0, 0, 0, 0};
#pragma unroll
    for (int i = 0; i < 4; i++) x[i] = g.in + (long long)min(image + i, g.images - 1) * K; /* or the last one again */
    for (int k = (part * 32 + lane) * 4; k < K; k += SPLIT * 128) {
        float4 a = __ldg((const float4 *)(w + k));
#pragma unroll
        for (int i = 0; i < 4; i++) {
            float4 b = *(const float4 *)(x[i] + k);
            sum[i] = fmaf(a.w, b.w, fmaf(a.z, b.z, fmaf(a.y, b.y, fmaf(a.x, b.x, sum[i]))));
        }
    }
#pragma unroll
    for (int i = 0; i < 4; i++) {
        sum[i] = sum_of_warp(sum[i]);
#if SPLIT > 1
        float *parts = (float *)shared; /* [4][8] */
        if (lane == 0) parts[i * 8 + warp] = sum[i];
        __syncthreads();
        sum[i] = parts[i * 8];
        for (int k = 1; k < SPLIT; k++) sum[i] += parts[i * 8 + k];
#endif
        if (lane == 0 && part == 0 && image + i < g.images)
            g.out[(long long)(image + i) * OUT_STRIDE + CHANNEL + n] = act(sum[i] + __ldg(g.bias + n));
    }
}
#endif

/* --------------------------------------------------------------------------------------------------------------------
   Normalisation: (images, DIM) to rows of unit length. Every thread sums a strided part, and a fixed tree adds these.
   FLIP averages with `first`; RAW keeps the length.
   ------------------------------------------------------------------------------------------------------------------ */
#ifdef REID_NORMALISE
STRUCT(normalise_arguments);
extern "C" __global__ void __launch_bounds__(256)
reid_normalise(const GRID_CONSTANT normalise_arguments a) {
    take_turn();
    double *sums = (double *)shared;
    long long row = (long long)blockIdx.x * DIM;
    int t = threadIdx.x;
    auto value = [&](int i) { return FLIP ? 0.5f * (a.first[row + i] + a.in[row + i]) : a.in[row + i]; };
    if (RAW) {
        for (int i = t; i < DIM; i += 256) a.out[row + i] = value(i);
        return;
    }
    double sum = 0.0;
    for (int i = t; i < DIM; i += 256) sum += (double)value(i) * (double)value(i);
    sums[t] = sum;
    __syncthreads();
    for (int half = 128; half > 0; half /= 2) {
        if (t < half) sums[t] += sums[t + half];
        __syncthreads();
    }
    /* The host must notice a row without a direction. Zero times infinity is NaN, and an infinite norm gives NaN. */
    double norm = sqrt(sums[0]), scale = norm < 1e300 ? 1.0 / norm : norm - norm;
    for (int i = t; i < DIM; i += 256) a.out[row + i] = (float)((double)value(i) * scale);
}
#endif

/* --------------------------------------------------------------------------------------------------------------------
   Search, exactly, in three launches. Rows and queries exist in full precision, and in less, which a scout reads: as
   halves, scaled to lengths of at most 1, or as bytes (VALUE_U8). Byte b of a row stands for its scale times b - 128,
   signed byte c of a query for the query's scale times c. K, a multiple of 32 or of 64 bytes, is the number of
   components, the last ones 0. The sum of a row and a query begins at FIRST_SUM less 128 times the query's sum, so that
   its bits are those of the float FIRST_VALUE + sum and need no conversion. Scales are large enough that no bytes are
   longer than LONGEST_BYTES and, by rounding, half of sqrt(K), so that the sum is less than 2^22.

   reid_search_queries    queries to what the scout multiplies, and how far its products can be from a score
   reid_search            for each query the best product with each tile of 32 rows: its maximum. Blocks that have
                          different queries and the same rows are neighbours, so that rows are read from memory once
   reid_search_best       scores only what can be among the k best according to the scout, in double

   A score is one chain of additions in the order of the components, as in reid.h on the CPU, so it has the same bits.
   ------------------------------------------------------------------------------------------------------------------ */
#ifdef REID_SEARCH
#define BM 128 /* rows of a block */
#define LOWEST (-3.4e38f)
#define FIRST_SUM 0x4b400000
#define FIRST_VALUE 12582912.0f /* 1.5 * 2^23 */
#define LONGEST_BYTES 1900.0
STRUCT(search_hit);
STRUCT(search_arguments);

/* The sum, or the largest, of what the 128 threads of a block have; values: [128], shared. */
template <bool LARGEST> DEVICE double all_of_block(double *values, double mine) {
    int t = threadIdx.x;
    __syncthreads(); /* the result before this one has been read */
    values[t] = mine;
    __syncthreads();
    for (int half = 64; half > 0; half /= 2) {
        if (t < half) values[t] = LARGEST ? fmax(values[t], values[t + half]) : values[t] + values[t + half];
        __syncthreads();
    }
    return values[0];
}

/* One query per block; those after the last query, which fill up reid_search's block, become zeros. */
extern "C" __global__ void __launch_bounds__(128, 8)
reid_search_queries(const GRID_CONSTANT search_arguments g) {
    double *values = (double *)shared, square = 0.0;
    int t = threadIdx.x, q = blockIdx.x, dim = q < g.n ? g.dim : 0;
    const float *given = g.given + (long long)q * g.dim;
    value_t *query = g.queries + (long long)q * K;
    for (int i = t; i < dim; i += 128) square += (double)given[i] * (double)given[i];
    double length = sqrt(all_of_block<false>(values, square));
#ifdef VALUE_U8
    double most = 0.0, total = 0.0, rest = 0.0; /* rest: squared length of what the bytes leave out */
    for (int i = t; i < dim; i += 128) most = fmax(most, fabs((double)given[i]));
    double unit = fmax(all_of_block<true>(values, most) * (1.0 / 127.0), length * (1.0 / LONGEST_BYTES));
    double inverse = unit > 1e-30 ? (double)__fdividef(1.0f, (float)unit) : 0.0; /* which byte is near is not exact */
    for (int i = t; i < K; i += 128) {
        double value = i < dim ? (double)given[i] : 0.0, whole = rint(value * inverse);
        query[i] = (value_t)(int)whole;
        total += whole, rest += (value - whole * unit) * (value - whole * unit);
    }
    total = all_of_block<false>(values, total), rest = all_of_block<false>(values, rest);
    if (t == 0) g.first_sums[q] = FIRST_SUM - 128 * (int)total;
    double slack = g.slack * length + g.reach * sqrt(rest);
#else
    double scale = length > 0.0 ? 1.0 / length : 0.0, unit = g.step * length, slack = g.slack * length;
    for (int i = t; i < K; i += 128) query[i] = reid_f16_from_f32(i < dim ? (float)((double)given[i] * scale) : 0.0f);
#endif
    for (int i = t; q < g.n && i < K; i += 128) g.wide[(long long)q * K + i] = i < dim ? (double)given[i] : 0.0;
    if (t == 0 && q < g.n) g.scales[2 * q] = unit, g.scales[2 * q + 1] = slack;
}

#ifdef VALUE_U8
DEVICE sum_t first_sum(const search_arguments &g, int query) { return g.first_sums[query]; }
DEVICE float scale_of_row(const search_arguments &g, long long row) { return g.row_scales[row]; }
DEVICE float product_of(sum_t sum, float scale) { return (__uint_as_float(bits_of(sum)) - FIRST_VALUE) * scale; }
#else
DEVICE sum_t first_sum(const search_arguments &, int) { return 0.0f; }
DEVICE float scale_of_row(const search_arguments &, long long) { return 1.0f; }
DEVICE float product_of(sum_t sum, float) { return sum; }
#endif

/* v: the best products of a thread's rows with N queries. Lanes whose numbers are equal modulo 4 have other rows of the
   same queries; afterwards each has the best of all rows for N / 8 of the queries, from the one that is returned on. */
template <int N> DEVICE int best_of_rows(float (&v)[N]) {
    static_assert(N % 8 == 0, "a lane keeps an eighth of the queries");
    int first = 0;
#pragma unroll
    for (int offset = 4, half = N / 2; offset < 32; offset *= 2, half /= 2) {
        bool upper = threadIdx.x & offset;
        first += upper ? half : 0;
#pragma unroll
        for (int i = 0; i < N / 2; i++) {
            if (i >= half) continue;
            float mine = upper ? v[i + half] : v[i], other = upper ? v[i] : v[i + half];
            v[i] = fmaxf(mine, __shfl_xor_sync(0xffffffffu, other, offset));
        }
    }
    return first;
}

#ifndef HOPPER
#define STAGES 4
#define A_BYTES (BM * ROW_BYTES)
#define STAGE_BYTES ((BM + BN) * ROW_BYTES)

/* One thread's part of a block's tile: 128 rows, of which a warp has 32, times BN queries. */
struct rows_tile {
    const search_arguments &g;
    int lane, warp, piece, first_row; /* piece, first_row: the part of each slice that this thread copies */
    const value_t *a_from, *b_from;
    sum_t acc[2][BN / 8][4];

    DEVICE rows_tile(const search_arguments &arguments, int block, int part) : g(arguments) {
        lane = threadIdx.x % 32, warp = threadIdx.x / 32, piece = threadIdx.x % 4, first_row = threadIdx.x / 4;
        a_from = g.rows + ((long long)block * BM + first_row) * K + piece * EACH;
        b_from = g.queries + (long long)(part * BN + first_row) * K + piece * EACH;
#pragma unroll
        for (int i = 0; i < BN / 4; i++) {
            sum_t first = first_sum(g, part * BN + i / 2 * 8 + lane % 4 * 2 + i % 2);
            for (int j = 0; j < 4; j++) acc[j / 2][i / 2][j % 2 * 2 + i % 2] = first;
        }
    }

    DEVICE void copy_slice(int slice) const {
        unsigned char *a = shared + slice % STAGES * STAGE_BYTES, *b = a + A_BYTES;
#pragma unroll
        for (int i = 0; i < BM; i += 32)
            copy_piece(a + place(first_row + i, piece), true, a_from + slice * BK + i * K, g.rows);
#pragma unroll
        for (int i = 0; i < BN; i += 32)
            if (first_row + i < BN)
                copy_piece(b + place(first_row + i, piece), true, b_from + slice * BK + i * K, g.rows);
    }

    DEVICE void multiply(int slice) {
        unsigned a_base = reid_shared_address(shared + slice % STAGES * STAGE_BYTES), b_base = a_base + A_BYTES;
#pragma unroll
        for (int step = 0; step < ROW_BYTES / 32; step++) {
            unsigned a[2][4], b[4]; /* b: 16 queries, as in reid_conv_f16 */
#pragma unroll
            for (int i = 0; i < 2; i++)
                reid_ldmatrix_x4(a[i], a_base + place(warp * 32 + i * 16 + lane % 16, step * 2 + lane / 16));
#pragma unroll
            for (int j = 0; j < BN / 8; j += 2) {
                reid_ldmatrix_x4(b, b_base + place(j * 8 + lane / 16 * 8 + lane % 8, step * 2 + lane / 8 % 2));
#pragma unroll
                for (int i = 0; i < 4; i++) mma16(acc[i % 2][j + i / 2], a[i % 2], b + i / 2 * 2);
            }
        }
    }

    /* A thread has 4 rows of every second pair of queries; lanes with the same lane % 4 have the other rows. */
    DEVICE void store_maxima(int block, int part) const {
        float scales[4], best[BN / 4];
        for (int i = 0; i < 4; i++) scales[i] = scale_of_row(g, (long long)block * BM + warp * 32 + i * 8 + lane / 4);
#pragma unroll
        for (int i = 0; i < BN / 4; i++) {
            best[i] = LOWEST;
            for (int r = 0; r < 4; r++)
                best[i] = fmaxf(best[i], product_of(acc[r / 2][i / 2][r % 2 * 2 + i % 2], scales[r]));
        }
        int first = best_of_rows(best);
#pragma unroll
        for (int i = 0; i < BN / 32; i++) {
            int query = part * BN + (first + i) / 2 * 8 + lane % 4 * 2 + (first + i) % 2;
            if (query < g.n) g.maxima[(long long)query * g.tiles + block * 4 + warp] = best[i];
        }
    }
};

/* Rows are padded to 128 and queries to BN. Slices of 64 bytes of each row arrive as in reid_conv_f16. */
extern "C" __global__ void __launch_bounds__(128, 3)
reid_search(const GRID_CONSTANT search_arguments g) {
    int parts = (g.n + BN - 1) / BN, block = blockIdx.x / parts, part = blockIdx.x % parts;
    rows_tile tile(g, block, part);
    multiply_slices<STAGES>(tile, 0, K / BK);
    tile.store_maxima(block, part);
}
#else
/* With Hopper's instructions: a block keeps BN queries, and rows pass through a ring of STAGES places of 128 bytes of
   128 rows. One thread copies; each of two warpgroups multiplies 64 of the rows. */
#define CHUNK (128 / (int)sizeof(value_t))
#define CHUNKS ((K + CHUNK - 1) / CHUNK)
#define A_BYTES (BM * 128)
#define B_BYTES (BN * 128)
#define HALVES_AT (STAGES * A_BYTES + CHUNKS * B_BYTES) /* floats, (8 warps, BN): the best of 16 rows */
#define BARRIERS_AT (HALVES_AT + 8 * BN * 4)

/* Copies the queries of a part, and then the rows of every step-th block from `first` on. */
DEVICE void copy_rows(const search_arguments &g, int part, int first, int step, unsigned base, unsigned full) {
    unsigned resident = full + 16 * STAGES;
    cursor<STAGES> s;
    reid_mbarrier_arrive_expect_tx(resident, CHUNKS * B_BYTES);
    for (int k = 0; k < CHUNKS; k++)
        reid_tensor_load_2d(base + STAGES * A_BYTES + k * B_BYTES, &g.queries_map, k * CHUNK, part * BN, resident);
    for (int block = first; block < g.tiles / 4; block += step)
        for (int k = 0; k < CHUNKS; k++, s.advance(1)) {
            wait_for(full + 8 * (STAGES + s.at), s.parity ^ 1);
            reid_mbarrier_arrive_expect_tx(full + 8 * s.at, A_BYTES);
            reid_tensor_load_2d(base + s.at * A_BYTES, &g.rows_map, k * CHUNK, block * BM, full + 8 * s.at);
        }
}

/* A thread has 2 rows of every second pair of queries. The warps of a pair have the halves of a tile. */
DEVICE void store_maxima(const search_arguments &g, const sum_t (&d)[BN / 2], const float (&scales)[2], int block,
                         int part) {
    float *halves = (float *)(shared + HALVES_AT) + threadIdx.x / 128 * (4 * BN);
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4, group = threadIdx.x / 128;
    float of_rows[BN / 4];
#pragma unroll
    for (int i = 0; i < BN / 4; i++) {
        const sum_t *two = &d[i / 2 * 4 + i % 2];
        of_rows[i] = fmaxf(product_of(two[0], scales[0]), product_of(two[2], scales[1]));
    }
    int at = best_of_rows(of_rows);
#pragma unroll
    for (int i = 0; i < BN / 32; i++)
        halves[warp * BN + (at + i) / 2 * 8 + lane % 4 * 2 + (at + i) % 2] = of_rows[i];
    reid_bar_sync(1 + group, 128);
    for (int i = threadIdx.x % 128; i < 2 * BN; i += 128) {
        int tile = i % 2, query = i / 2;
        float best = fmaxf(halves[2 * tile * BN + query], halves[(2 * tile + 1) * BN + query]);
        query += part * BN;
        if (query < g.n) g.maxima[(long long)query * g.tiles + block * 4 + group * 2 + tile] = best;
    }
    reid_bar_sync(1 + group, 128); /* before the next maxima replace these, all have been read */
}

extern "C" __global__ void __launch_bounds__(384, 1)
reid_search(const GRID_CONSTANT search_arguments g) {
    const unsigned base = reid_shared_address(shared), full = base + BARRIERS_AT, empty = full + 8 * STAGES;
    int parts = (g.n + BN - 1) / BN, part = blockIdx.x % parts, first = blockIdx.x / parts, step = gridDim.x / parts;
    int group = threadIdx.x / 128, lane = threadIdx.x % 32;
    cursor<STAGES> s;
    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; i++) {
            reid_mbarrier_init(full + 8 * i, 1);
            reid_mbarrier_init(empty + 8 * i, 8); /* the warps that read it */
        }
        reid_mbarrier_init(empty + 8 * STAGES, 1);
        reid_fence_mbarrier_init();
    }
    __syncthreads();
    if (group == 2) {
        if (threadIdx.x == 256) copy_rows(g, part, first, step, base, full);
        return;
    }
    wait_for(empty + 8 * STAGES, 0);
    for (int block = first; block < g.tiles / 4; block += step) {
        long long row = (long long)block * BM + threadIdx.x / 32 * 16 + lane / 4;
        const float scales[2] = {scale_of_row(g, row), scale_of_row(g, row + 8)};
        sum_t d[BN / 2];
#pragma unroll
        for (int i = 0; i < BN / 2; i++) d[i] = first_sum(g, part * BN + i / 4 * 8 + lane % 4 * 2 + i % 2);
        for (int k = 0; k < CHUNKS; k++, s.advance(1)) {
            unsigned a = base + s.at * A_BYTES + group * 64 * 128, b = base + STAGES * A_BYTES + k * B_BYTES;
            wait_for(full + 8 * s.at, s.parity);
#pragma unroll
            for (int i = 0; i < BN / 2; i++) reid_wgmma_hold(d[i]);
            reid_wgmma_fence();
#pragma unroll
            for (int i = 0; i < 4; i++) reid_wgmma<BN>(d, operand<128>(a + i * 32), operand<128>(b + i * 32), true);
            reid_wgmma_commit();
            reid_wgmma_wait<0>();
#pragma unroll
            for (int i = 0; i < BN / 2; i++) reid_wgmma_hold(d[i]);
            if (lane == 0) reid_mbarrier_arrive(empty + 8 * s.at);
        }
        store_maxima(g, d, scales, block, part);
    }
}
#endif

/* What the threads of a block of reid_search_best share. A unit is what is ranked: a row, or the rows of a group, which
   are neighbours. */
struct best_state {
    double score;      /* a unit must score more to be listed, or as much ... */
    unsigned row;      /* ... with a row before this one */
    int count;         /* units in the list; the first k may be sorted */
    int queued, total; /* tiles in the queue; a sum over the block */
};
#define BEST_THREADS 256
#define WINDOW 4096 /* tiles that are looked at before those in the queue are scored */
#define ROUND (BEST_THREADS / 32 * 33) /* units that the warps can list before they meet: rows and ends of a tile */
#define NOTHING (-1e300)

DEVICE bool is_better(double score, unsigned row, double other_score, unsigned other_row) {
    return score > other_score || (score == other_score && row < other_row);
}

/* A block of reid_search_best, seen by one thread. If there are few queries, g.parts blocks share the tiles of each:
   each has every g.parts-th one. */
struct best_of_query {
    const search_arguments &g;
    const float *maxima; /* [g.tiles] */
    const double *query; /* [K] */
    double step, slack;  /* score per unit of a maximum; most by which a score can exceed it */
    search_hit *list;    /* [g.room], which is a power of two */
    unsigned short *queue; /* [WINDOW] */
    best_state *state;

#ifdef VALUE_U8
    /* The scout's product of a row. */
    DEVICE float product_at(unsigned place) const {
        int number = (int)blockIdx.x / g.parts, sum = first_sum(g, number); /* of the query */
        const uint4 *row = (const uint4 *)(g.rows + (long long)place * K);
        const uint4 *bytes = (const uint4 *)(g.queries + (long long)number * K);
#pragma unroll 8
        for (int i = 0; i < K / 16; i++) {
            const uint4 a = row[i], b = bytes[i];
            sum = reid_dp4a(a.w, b.w, reid_dp4a(a.z, b.z, reid_dp4a(a.y, b.y, reid_dp4a(a.x, b.x, sum))));
        }
        return product_of(sum, g.row_scales[place]);
    }
#endif

    /* Rows are read sixteen bytes at a time. If there are only bytes, the most that the score can be. */
    DEVICE double score_of(unsigned place) const {
        double sum = 0.0;
#ifdef VALUE_U8
        if (!g.floats && !g.halves) return (double)product_at(place) * step + slack;
#endif
        if (g.floats) {
            const float4 *row = (const float4 *)(g.floats + (long long)place * K);
#pragma unroll 8
            for (int i = 0; i < K / 4; i++) {
                const float4 v = row[i];
                const float values[4] = {v.x, v.y, v.z, v.w};
                for (int j = 0; j < 4; j++) sum = fma((double)values[j], query[i * 4 + j], sum);
            }
            return sum;
        }
        const uint4 *row = (const uint4 *)(g.halves + (long long)place * K);
#pragma unroll 8
        for (int i = 0; i < K / 8; i++) {
            const uint4 v = row[i];
            const unsigned pairs[4] = {v.x, v.y, v.z, v.w};
            for (int j = 0; j < 8; j++) {
                unsigned short half = (unsigned short)(pairs[j / 2] >> j % 2 * 16);
                sum = fma((double)reid_f32_from_f16(half), query[i * 8 + j], sum);
            }
        }
        return sum;
    }
    DEVICE unsigned row_at(unsigned place) const { return g.order ? g.order[place] : place; }
    DEVICE bool can_matter(float product) const { return (double)product * step + slack >= state->score; }

    /* Whether a row of a tile whose maximum can matter can do so itself, by the scout's product. Bytes are a quarter of
       what the score reads; halves are too much to be read twice. */
    DEVICE bool row_can_matter(unsigned place) const {
#ifdef VALUE_U8
        return can_matter(product_at(place));
#else
        return true;
#endif
    }

    DEVICE void list_unit(double score, unsigned row, unsigned unit) {
        if (!is_better(score, row, state->score, state->row)) return;
        search_hit &hit = list[atomicAdd(&state->count, 1)];
        hit.score = score, hit.row = row, hit.unit = unit;
    }

    /* The sum of `mine` over all threads. */
    DEVICE int total_of(int mine) {
        __syncthreads();
        if (threadIdx.x == 0) state->total = 0;
        __syncthreads();
        mine = sum_of_warp(mine);
        if (threadIdx.x % 32 == 0) atomicAdd(&state->total, mine);
        __syncthreads();
        return state->total;
    }

    /* Sorts the list, best first (bitonic sort), keeps k units, and raises the score that others must beat. */
    DEVICE void settle() {
        __syncthreads();
        int t = threadIdx.x, count = state->count, width = 2;
        while (width < count) width *= 2;
        for (int i = count + t; i < width; i += BEST_THREADS)
            list[i].score = NOTHING, list[i].row = 0xffffffffu, list[i].unit = 0;
        for (int size = 2; size <= width; size *= 2)
            for (int apart = size / 2; apart > 0; apart /= 2) {
                __syncthreads();
                for (int i = t; i < width / 2; i += BEST_THREADS) {
                    int at = i / apart * apart * 2 + i % apart, down = at & size;
                    search_hit a = list[at], b = list[at + apart];
                    if (down ? is_better(a.score, a.row, b.score, b.row) : is_better(b.score, b.row, a.score, a.row))
                        list[at] = b, list[at + apart] = a;
                }
            }
        __syncthreads();
        if (t == 0 && count >= g.k)
            state->count = g.k, state->score = list[g.k - 1].score, state->row = list[g.k - 1].row;
        __syncthreads();
    }

    /* The score of the unit of places from ... end - 1, by a warp: the mean of its g.top best rows, added best first.
       Lanes keep the 64 best, in order: slot `lane` and slot 32 + lane. Sets the place of the best row. */
    DEVICE double unit_score(unsigned from, unsigned end, unsigned *best_place) {
        int lane = threadIdx.x % 32;
        double first = NOTHING, second = NOTHING, sum = 0.0;
        for (unsigned start = from; start < end; start += 32) {
            bool counts = start + lane < end && (g.top > 1 || row_can_matter(start + lane));
            double mine = counts ? score_of(start + lane) : NOTHING;
            for (int i = 0; i < 32 && start + i < end; i++) {
                double score = __shfl_sync(0xffffffffu, mine, i);
                int slot = __popc(__ballot_sync(0xffffffffu, first >= score)) +
                           __popc(__ballot_sync(0xffffffffu, second >= score));
                if (slot == 0) *best_place = start + i;
                if (slot >= g.top) continue;
                double last = __shfl_sync(0xffffffffu, first, 31);
                double before = __shfl_up_sync(0xffffffffu, first, 1), later = __shfl_up_sync(0xffffffffu, second, 1);
                if (slot <= lane) first = slot == lane ? score : before;
                if (slot <= lane + 32) second = slot == lane + 32 ? score : lane == 0 ? last : later;
            }
        }
        int rows = (int)min(end - from, (unsigned)g.top);
        for (int i = 0; i < rows; i++) sum += __shfl_sync(0xffffffffu, i < 32 ? first : second, i % 32);
        return sum / (double)rows;
    }

    /* Of the tiles that a group reaches into, only the first one with the highest maximum scores it. */
    DEVICE bool is_scored_in(unsigned from, unsigned end, unsigned tile) const {
        float most = LOWEST;
        unsigned first = from / 32, last = (end - 1) / 32, at = first;
        for (unsigned i = first + threadIdx.x % 32; i <= last; i += 32)
            if (maxima[i] > most) most = maxima[i], at = i;
        for (int offset = 16; offset > 0 && first < last; offset /= 2) {
            float other = __shfl_xor_sync(0xffffffffu, most, offset);
            unsigned other_at = __shfl_xor_sync(0xffffffffu, at, offset);
            if (other > most || (other == most && other_at < at)) most = other, at = other_at;
        }
        return at == tile;
    }

    /* Lists the units of a tile that beat the k-th best, by a warp. */
    DEVICE void score_tile(unsigned tile) {
        unsigned place = tile * 32 + threadIdx.x % 32;
        if (!g.starts) {
            if (place < g.count && row_can_matter(place)) list_unit(score_of(place), row_at(place), place);
            return;
        }
        unsigned unit = 0, best = 0;
        for (unsigned stop = g.groups; stop - unit > 1;) { /* to the group of the tile's first row */
            unsigned middle = unit + (stop - unit) / 2;
            if (g.starts[middle] <= tile * 32) unit = middle;
            else stop = middle;
        }
        for (; unit < g.groups && g.starts[unit] < tile * 32 + 32; unit++) {
            unsigned from = g.starts[unit], end = g.starts[unit + 1];
            if (!is_scored_in(from, end, tile)) continue;
            double score = unit_score(from, end, &best);
            if (threadIdx.x % 32 == 0) list_unit(score, row_at(best), unit);
        }
    }

    /* Scores the block's tiles with maxima from `cut` to below `last` that can still matter. */
    DEVICE void take_tiles(float cut, float last) {
        int t = threadIdx.x, step = WINDOW * g.parts;
        for (int start = (int)blockIdx.x % g.parts; start < g.tiles; start += step) {
            __syncthreads();
            if (t == 0) state->queued = 0;
            __syncthreads();
#pragma unroll
            for (int i = t; i < WINDOW; i += BEST_THREADS) {
                int tile = start + i * g.parts;
                float maximum = tile < g.tiles ? maxima[tile] : LOWEST;
                if (tile < g.tiles && maximum >= cut && maximum < last && can_matter(maximum))
                    queue[atomicAdd(&state->queued, 1)] = (unsigned short)i;
            }
            __syncthreads();
            for (int i = t / 32, queued = state->queued; i - t / 32 < queued; i += BEST_THREADS / 32) {
                int tile = i < queued ? start + queue[i] * g.parts : 0;
                if (i < queued && can_matter(maxima[tile])) score_tile((unsigned)tile);
                __syncthreads();
                bool full = state->count > g.room - ROUND;
                __syncthreads(); /* before the next tile adds to the count, all have seen it */
                if (full) settle();
            }
        }
    }

    /* A maximum that at least `want` of all maxima reach, but few more. Each thread has the best of some tiles: these
       pieces suffice if `want` is small beside their number. */
    DEVICE float cut_for(int want, const float (&pieces)[4]) {
        if (want >= g.tiles) return LOWEST;
        bool few = want <= BEST_THREADS && g.tiles >= 4 * BEST_THREADS;
        unsigned low = 0; /* a key: a float's bits, changed so that keys are in the order of the floats */
        auto float_of = [](unsigned key) { return __uint_as_float(key >> 31 ? key & 0x7fffffffu : ~key); };
        for (unsigned bit = 0x80000000u; bit >= 0x100u; bit /= 2) {
            float cut = float_of(low | bit);
            int reached = 0;
            for (int i = 0; few && i < 4; i++) reached += pieces[i] >= cut;
            for (int i = threadIdx.x; !few && i < g.tiles; i += BEST_THREADS) reached += maxima[i] >= cut;
            if (total_of(reached) >= want) low |= bit;
        }
        return float_of(low);
    }

    /* One block for the query scores all above a cut, which a few more than k tiles reach, then all between it and the
       next, lower cut, until the rest cannot matter. Several do not know each other's scores. But of the g.reaching
       tiles that reach a cut, k have a row of a unit of their own, so the k-th best unit scores at least the cut, less
       its error: they score all that can. */
    DEVICE void run() {
        float pieces[4] = {LOWEST, LOWEST, LOWEST, LOWEST}, last = 3.4e38f, cut;
#pragma unroll 4
        for (int i = threadIdx.x; i < g.tiles; i += 4 * BEST_THREADS)
#pragma unroll
            for (int j = 0; j < 4; j++)
                if (i + j * BEST_THREADS < g.tiles) pieces[j] = fmaxf(pieces[j], maxima[i + j * BEST_THREADS]);
        if (g.parts > 1) {
            cut = cut_for(g.reaching, pieces);
            if (threadIdx.x == 0 && cut > LOWEST) state->score = fmax(state->score, (double)cut * step - slack);
            __syncthreads();
            take_tiles(LOWEST, last);
            settle();
            return;
        }
        for (int want = g.k;; want = min(want, g.tiles) * 4, last = cut) {
            cut = cut_for(want, pieces);
            take_tiles(cut, last);
            settle();
            if (cut == LOWEST || !can_matter(cut)) return;
        }
    }
};

/* g.parts blocks for each query; each has k of the hits, (n, g.parts, k), best first. */
extern "C" __global__ void __launch_bounds__(BEST_THREADS, sizeof(value_t) == 1 ? 2 : 3)
reid_search_best(const GRID_CONSTANT search_arguments g) {
    long long q = blockIdx.x / g.parts, at = blockIdx.x;
    search_hit *list = (search_hit *)shared;
    unsigned short *queue = (unsigned short *)(list + g.room);
    best_state *state = (best_state *)(queue + WINDOW);
    if (threadIdx.x == 0) state->score = g.least, state->row = 0xffffffffu, state->count = 0;
    __syncthreads();
    best_of_query best = {g, g.maxima + q * g.tiles, g.wide + q * K, g.scales[2 * q], g.scales[2 * q + 1],
                          list, queue, state};
    best.run();
    int found = min(state->count, g.k);
    for (int i = threadIdx.x; i < found; i += BEST_THREADS) g.hits[at * g.k + i] = list[i];
    if (threadIdx.x == 0) g.found[at] = found;
}
#endif
