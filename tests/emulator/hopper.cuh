/* hopper.cuh: Hopper's instructions, one PTX instruction in each function; on the CPU prelude_hopper.h has functions of
   the same names. It is compiled in front of hopper_test.cu and others; a kernel file that needs a function copies it
   unchanged. */
extern __shared__ __align__(1024) unsigned char reid_shared[];

#ifndef REID_EMULATOR
__device__ __forceinline__ unsigned reid_shared_address(const void *pointer) {
    return (unsigned)__cvta_generic_to_shared(pointer);
}

/* ---- mbarrier: eight aligned bytes of shared memory. A phase is over when `count` arrivals and the bytes that were
   expected have come; the phases' parities are 0, 1, 0, ... ---- */
__device__ __forceinline__ void reid_mbarrier_init(unsigned mbarrier, unsigned count) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(mbarrier), "r"(count) : "memory");
}
__device__ __forceinline__ void reid_mbarrier_inval(unsigned mbarrier) {
    asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(mbarrier) : "memory");
}
__device__ __forceinline__ void reid_mbarrier_arrive(unsigned mbarrier) {
    asm volatile("mbarrier.arrive.release.cta.shared::cta.b64 _, [%0];" ::"r"(mbarrier) : "memory");
}
__device__ __forceinline__ void reid_mbarrier_expect_tx(unsigned mbarrier, unsigned bytes) {
    asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(mbarrier), "r"(bytes) : "memory");
}
__device__ __forceinline__ void reid_mbarrier_arrive_expect_tx(unsigned mbarrier, unsigned bytes) {
    asm volatile("mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%0], %1;" ::"r"(mbarrier), "r"(bytes)
                 : "memory");
}

/* Whether the phase of that parity is over. try_wait may wait a while, and has to be called again if it is not. */
__device__ __forceinline__ bool reid_mbarrier_test_wait(unsigned mbarrier, unsigned parity) {
    unsigned over;
    asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.acquire.cta.shared::cta.b64 p, [%1], %2;\n"
                 "selp.u32 %0, 1, 0, p; }" : "=r"(over) : "r"(mbarrier), "r"(parity) : "memory");
    return over != 0;
}
__device__ __forceinline__ bool reid_mbarrier_try_wait(unsigned mbarrier, unsigned parity) {
    unsigned over;
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 p, [%1], %2;\n"
                 "selp.u32 %0, 1, 0, p; }" : "=r"(over) : "r"(mbarrier), "r"(parity) : "memory");
    return over != 0;
}

/* What this thread did becomes visible to asynchronous copies and wgmma: its mbarrier.init; all its writes. */
__device__ __forceinline__ void reid_fence_mbarrier_init() {
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
__device__ __forceinline__ void reid_fence_proxy_async() { asm volatile("fence.proxy.async;" ::: "memory"); }
__device__ __forceinline__ void reid_fence_proxy_async_shared() {
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/* ---- bulk copies: addresses and bytes are multiples of 16. A load tells the mbarrier how many bytes have landed;
   stores are waited for in groups, as cp.async is. ---- */
__device__ __forceinline__ void reid_bulk_load(unsigned to, const void *from, unsigned bytes, unsigned mbarrier) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                 ::"r"(to), "l"(from), "r"(bytes), "r"(mbarrier) : "memory");
}
/* To every block of the mask, at the same place, counted by its mbarrier at the same place. */
__device__ __forceinline__ void reid_bulk_load_multicast(unsigned to, const void *from, unsigned bytes,
                                                         unsigned mbarrier, unsigned short mask) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
                 "[%0], [%1], %2, [%3], %4;"
                 ::"r"(to), "l"(from), "r"(bytes), "r"(mbarrier), "h"(mask) : "memory");
}
__device__ __forceinline__ void reid_bulk_store(void *to, unsigned from, unsigned bytes) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(from), "r"(bytes)
                 : "memory");
}
__device__ __forceinline__ void reid_bulk_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
template <int groups> __device__ __forceinline__ void reid_bulk_wait() {
    asm volatile("cp.async.bulk.wait_group %0;" ::"n"(groups) : "memory");
}
template <int groups> __device__ __forceinline__ void reid_bulk_wait_read() { /* until the sources have been read */
    asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(groups) : "memory");
}

/* ---- tensor copies: a box of a tensor map (cuTensorMapEncodeTiled, ...Im2col), whose address this is, from or to
   shared memory at a multiple of 128. Coordinates of its first element, innermost first; in im2col mode C, W, H, D, N
   of the filter's corner and the offsets of the filter's element along W, H, D. Loads and stores end as those of bulk
   copies do. */
#define TENSOR_LOAD "shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, "
#define TENSOR_LOAD_IM2COL "shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%0], [%1, "
#define TENSOR_STORE "global.shared::cta.tile.bulk_group [%0, "
__device__ __forceinline__ void reid_tensor_load_2d(unsigned to, const void *map, int x, int y, unsigned mbarrier) {
    asm volatile("cp.async.bulk.tensor.2d." TENSOR_LOAD "{%2, %3}], [%4];"
                 ::"r"(to), "l"(map), "r"(x), "r"(y), "r"(mbarrier) : "memory");
}
__device__ __forceinline__ void reid_tensor_load_3d(unsigned to, const void *map, int x, int y, int z,
                                                    unsigned mbarrier) {
    asm volatile("cp.async.bulk.tensor.3d." TENSOR_LOAD "{%2, %3, %4}], [%5];"
                 ::"r"(to), "l"(map), "r"(x), "r"(y), "r"(z), "r"(mbarrier) : "memory");
}
__device__ __forceinline__ void reid_tensor_load_4d(unsigned to, const void *map, int x, int y, int z, int u,
                                                    unsigned mbarrier) {
    asm volatile("cp.async.bulk.tensor.4d." TENSOR_LOAD "{%2, %3, %4, %5}], [%6];"
                 ::"r"(to), "l"(map), "r"(x), "r"(y), "r"(z), "r"(u), "r"(mbarrier) : "memory");
}
__device__ __forceinline__ void reid_tensor_load_5d(unsigned to, const void *map, int x, int y, int z, int u, int v,
                                                    unsigned mbarrier) {
    asm volatile("cp.async.bulk.tensor.5d." TENSOR_LOAD "{%2, %3, %4, %5, %6}], [%7];"
                 ::"r"(to), "l"(map), "r"(x), "r"(y), "r"(z), "r"(u), "r"(v), "r"(mbarrier) : "memory");
}
__device__ __forceinline__ void reid_tensor_load_im2col_3d(unsigned to, const void *map, int c, int w, int n,
                                                           unsigned short offset_w, unsigned mbarrier) {
    asm volatile("cp.async.bulk.tensor.3d." TENSOR_LOAD_IM2COL "{%2, %3, %4}], [%5], {%6};"
                 ::"r"(to), "l"(map), "r"(c), "r"(w), "r"(n), "r"(mbarrier), "h"(offset_w) : "memory");
}
__device__ __forceinline__ void reid_tensor_load_im2col_4d(unsigned to, const void *map, int c, int w, int h, int n,
                                                           unsigned short offset_w, unsigned short offset_h,
                                                           unsigned mbarrier) {
    asm volatile("cp.async.bulk.tensor.4d." TENSOR_LOAD_IM2COL "{%2, %3, %4, %5}], [%6], {%7, %8};"
                 ::"r"(to), "l"(map), "r"(c), "r"(w), "r"(h), "r"(n), "r"(mbarrier), "h"(offset_w), "h"(offset_h)
                 : "memory");
}
__device__ __forceinline__ void reid_tensor_load_im2col_5d(unsigned to, const void *map, int c, int w, int h, int d,
                                                           int n, unsigned short offset_w, unsigned short offset_h,
                                                           unsigned short offset_d, unsigned mbarrier) {
    asm volatile("cp.async.bulk.tensor.5d." TENSOR_LOAD_IM2COL "{%2, %3, %4, %5, %6}], [%7], {%8, %9, %10};"
                 ::"r"(to), "l"(map), "r"(c), "r"(w), "r"(h), "r"(d), "r"(n), "r"(mbarrier), "h"(offset_w),
                 "h"(offset_h), "h"(offset_d) : "memory");
}
#define MULTICAST ".multicast::cluster "
/* To every block of the cluster whose bit is in the mask, at the same place of its shared memory; each has an mbarrier
   at the same place, which counts the bytes of its own copy. */
__device__ __forceinline__ void reid_tensor_load_2d_multicast(unsigned to, const void *map, int x, int y,
                                                              unsigned mbarrier, unsigned short mask) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes" MULTICAST
                 "[%0], [%1, {%2, %3}], [%4], %5;"
                 ::"r"(to), "l"(map), "r"(x), "r"(y), "r"(mbarrier), "h"(mask) : "memory");
}
__device__ __forceinline__ void reid_tensor_load_im2col_4d_multicast(unsigned to, const void *map, int c, int w, int h,
                                                                     int n, unsigned short offset_w,
                                                                     unsigned short offset_h, unsigned mbarrier,
                                                                     unsigned short mask) {
    asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes" MULTICAST
                 "[%0], [%1, {%2, %3, %4, %5}], [%6], {%7, %8}, %9;"
                 ::"r"(to), "l"(map), "r"(c), "r"(w), "r"(h), "r"(n), "r"(mbarrier), "h"(offset_w), "h"(offset_h),
                 "h"(mask) : "memory");
}
__device__ __forceinline__ void reid_tensor_store_2d(const void *map, int x, int y, unsigned from) {
    asm volatile("cp.async.bulk.tensor.2d." TENSOR_STORE "{%1, %2}], [%3];"
                 ::"l"(map), "r"(x), "r"(y), "r"(from) : "memory");
}
__device__ __forceinline__ void reid_tensor_store_3d(const void *map, int x, int y, int z, unsigned from) {
    asm volatile("cp.async.bulk.tensor.3d." TENSOR_STORE "{%1, %2, %3}], [%4];"
                 ::"l"(map), "r"(x), "r"(y), "r"(z), "r"(from) : "memory");
}
__device__ __forceinline__ void reid_tensor_store_4d(const void *map, int x, int y, int z, int u, unsigned from) {
    asm volatile("cp.async.bulk.tensor.4d." TENSOR_STORE "{%1, %2, %3, %4}], [%5];"
                 ::"l"(map), "r"(x), "r"(y), "r"(z), "r"(u), "r"(from) : "memory");
}
__device__ __forceinline__ void reid_tensor_store_5d(const void *map, int x, int y, int z, int u, int v,
                                                     unsigned from) {
    asm volatile("cp.async.bulk.tensor.5d." TENSOR_STORE "{%1, %2, %3, %4, %5}], [%6];"
                 ::"l"(map), "r"(x), "r"(y), "r"(z), "r"(u), "r"(v), "r"(from) : "memory");
}
__device__ __forceinline__ void reid_tensor_prefetch(const void *map) {
    asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

/* ---- stmatrix: 8x8 matrices of halves; lane i gives the .shared address of row i % 8 of matrix i / 8, and has
   elements 2 * (i % 4) and the next of row i / 4 (of column i / 4 with trans) of each ---- */
__device__ __forceinline__ void reid_stmatrix_x1(unsigned row, const unsigned r[1]) {
    asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};" ::"r"(row), "r"(r[0]) : "memory");
}
__device__ __forceinline__ void reid_stmatrix_x2(unsigned row, const unsigned r[2]) {
    asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1,%2};" ::"r"(row), "r"(r[0]), "r"(r[1]) : "memory");
}
__device__ __forceinline__ void reid_stmatrix_x4(unsigned row, const unsigned r[4]) {
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1,%2,%3,%4};"
                 ::"r"(row), "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]) : "memory");
}
__device__ __forceinline__ void reid_stmatrix_x4_trans(unsigned row, const unsigned r[4]) {
    asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1,%2,%3,%4};"
                 ::"r"(row), "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]) : "memory");
}

/* ---- clusters: blocks that run at the same time and reach each other's shared memory, by addresses of mapa. All of a
   cluster's threads that have not returned take part in its barrier; a thread arrives, and then waits. A block has to
   be running when its memory is used: a barrier ensures that it has begun and has not ended. ---- */
__device__ __forceinline__ unsigned reid_cluster_rank() {
    unsigned rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}
__device__ __forceinline__ unsigned reid_cluster_size() {
    unsigned size;
    asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(size));
    return size;
}
__device__ __forceinline__ void reid_cluster_arrive() { asm volatile("barrier.cluster.arrive.release;" ::: "memory"); }
__device__ __forceinline__ void reid_cluster_arrive_relaxed() {
    asm volatile("barrier.cluster.arrive.relaxed;" ::: "memory");
}
__device__ __forceinline__ void reid_cluster_wait() { asm volatile("barrier.cluster.wait.acquire;" ::: "memory"); }
__device__ __forceinline__ unsigned reid_cluster_map(unsigned shared, unsigned rank) {
    unsigned address;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(address) : "r"(shared), "r"(rank));
    return address;
}
__device__ __forceinline__ unsigned reid_cluster_load(unsigned address) {
    unsigned value;
    asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(value) : "r"(address) : "memory");
    return value;
}
__device__ __forceinline__ void reid_cluster_store(unsigned address, unsigned value) {
    asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(address), "r"(value) : "memory");
}
__device__ __forceinline__ void reid_cluster_store_async(unsigned address, const unsigned v[4], unsigned mbarrier) {
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1,%2,%3,%4}, [%5];"
                 ::"r"(address), "r"(v[0]), "r"(v[1]), "r"(v[2]), "r"(v[3]), "r"(mbarrier) : "memory");
}
__device__ __forceinline__ void reid_cluster_mbarrier_arrive_cta(unsigned mbarrier) { /* of any block, for its own */
    asm volatile("mbarrier.arrive.release.cta.shared::cluster.b64 _, [%0];" ::"r"(mbarrier) : "memory");
}
__device__ __forceinline__ void reid_cluster_mbarrier_arrive(unsigned mbarrier) { /* of any block */
    asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(mbarrier) : "memory");
}
__device__ __forceinline__ void reid_cluster_mbarrier_arrive_expect_tx(unsigned mbarrier, unsigned bytes) {
    asm volatile("mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64 _, [%0], %1;" ::"r"(mbarrier),
                 "r"(bytes) : "memory");
}
__device__ __forceinline__ bool reid_cluster_mbarrier_try_wait(unsigned mbarrier, unsigned parity) { /* of this one */
    unsigned over;
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2;\n"
                 "selp.u32 %0, 1, 0, p; }" : "=r"(over) : "r"(mbarrier), "r"(parity) : "memory");
    return over != 0;
}

/* ---- programmatic dependent launch: waits for the kernel before; lets the kernel behind begin ---- */
__device__ __forceinline__ void reid_griddepcontrol_wait() { asm volatile("griddepcontrol.wait;" ::: "memory"); }
__device__ __forceinline__ void reid_griddepcontrol_launch_dependents() {
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

/* ---- registers of a thread, for a whole warpgroup ---- */
template <int count> __device__ __forceinline__ void reid_setmaxnreg_inc() {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(count));
}
template <int count> __device__ __forceinline__ void reid_setmaxnreg_dec() {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(count));
}

/* ---- wgmma: 128 threads, d (64xn, fp32) = a (64x16, fp16) * b (16xn, fp16), to which d is added if `accumulate`.
   d[4 j + 2 h + i] is row 16 * warp + lane / 4 + 8 h, column 8 j + lane % 4 * 2 + i; registers of A are those of
   mma.m16n8k16. Operands in shared memory are given by reid_wgmma_descriptor. ---- */
__device__ __forceinline__ void reid_wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void reid_wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int groups> __device__ __forceinline__ void reid_wgmma_wait() {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(groups) : "memory");
}
/* Keeps the compiler from moving a use of the sum past this place: it does not know that results are asynchronous. */
__device__ __forceinline__ void reid_wgmma_hold(float &sum) { asm volatile("" : "+f"(sum)::"memory"); }
__device__ __forceinline__ void reid_wgmma_hold(int &sum) { asm volatile("" : "+r"(sum)::"memory"); }
#define SUMS4(t, d, i) "+" t(d[i]), "+" t(d[i + 1]), "+" t(d[i + 2]), "+" t(d[i + 3])
#define SUMS16(t, d, i) SUMS4(t, d, i), SUMS4(t, d, i + 4), SUMS4(t, d, i + 8), SUMS4(t, d, i + 12)
#define SUMS32(t, d) SUMS16(t, d, 0), SUMS16(t, d, 16)
#define SUMS64(t, d) SUMS32(t, d), SUMS16(t, d, 32), SUMS16(t, d, 48)
#define SUMS128(t, d) SUMS64(t, d), SUMS16(t, d, 64), SUMS16(t, d, 80), SUMS16(t, d, 96), SUMS16(t, d, 112)
#define TEN(t) "%" t "0,%" t "1,%" t "2,%" t "3,%" t "4,%" t "5,%" t "6,%" t "7,%" t "8,%" t "9,"
#define TEXT32 TEN("") TEN("1") TEN("2") "%30,%31"
#define TEXT64 TEN("") TEN("1") TEN("2") TEN("3") TEN("4") TEN("5") "%60,%61,%62,%63"
#define TEXT128 TEN("") TEN("1") TEN("2") TEN("3") TEN("4") TEN("5") TEN("6") TEN("7") TEN("8") TEN("9") TEN("10") \
    TEN("11") "%120,%121,%122,%123,%124,%125,%126,%127"

template <int n> __device__ void reid_wgmma(float *d, unsigned long long a, unsigned long long b, bool accumulate);
template <int n> __device__ void reid_wgmma_registers(float *d, const unsigned a[4], unsigned long long b,
                                                      bool accumulate);
#define REID_WGMMA(n, sums, text, p0, p1, p2, p3, p4, p5)                                                              \
    template <> __device__ __forceinline__ void reid_wgmma<n>(float *d, unsigned long long a, unsigned long long b,    \
                                                              bool accumulate) {                                       \
        asm volatile("{ .reg .pred p; setp.ne.b32 p, " p2 ", 0;\n"                                                     \
                     "wgmma.mma_async.sync.aligned.m64n" #n "k16.f32.f16.f16 {" text "}, " p0 ", " p1                  \
                     ", p, 1, 1, 0, 0; }" : sums : "l"(a), "l"(b), "r"((int)accumulate) : "memory");                   \
    }                                                                                                                  \
    template <> __device__ __forceinline__ void reid_wgmma_registers<n>(float *d, const unsigned a[4],                 \
                                                                        unsigned long long b, bool accumulate) {       \
        asm volatile("{ .reg .pred p; setp.ne.b32 p, " p5 ", 0;\n"                                                     \
                     "wgmma.mma_async.sync.aligned.m64n" #n "k16.f32.f16.f16 {" text "}, "                             \
                     "{" p0 "," p1 "," p2 "," p3 "}, " p4 ", p, 1, 1, 0; }" : sums                                     \
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"((int)accumulate) : "memory");           \
    }
/* d (64xn, s32) = a (64x32, u8) * b (32xn, s8) likewise. */
template <int n> __device__ void reid_wgmma(int *d, unsigned long long a, unsigned long long b, bool accumulate);
#define REID_WGMMA_BYTES(n, sums, text, p0, p1, p2)                                                                    \
    template <> __device__ __forceinline__ void reid_wgmma<n>(int *d, unsigned long long a, unsigned long long b,      \
                                                              bool accumulate) {                                       \
        asm volatile("{ .reg .pred p; setp.ne.b32 p, " p2 ", 0;\n"                                                     \
                     "wgmma.mma_async.sync.aligned.m64n" #n "k32.s32.u8.s8 {" text "}, " p0 ", " p1 ", p; }" : sums    \
                     : "l"(a), "l"(b), "r"((int)accumulate) : "memory");                                               \
    }
REID_WGMMA_BYTES(64, SUMS32("r", d), TEXT32, "%32", "%33", "%34")
REID_WGMMA_BYTES(128, SUMS64("r", d), TEXT64, "%64", "%65", "%66")
REID_WGMMA(8, SUMS4("f", d, 0), "%0,%1,%2,%3", "%4", "%5", "%6", "%7", "%8", "%9")
REID_WGMMA(64, SUMS32("f", d), TEXT32, "%32", "%33", "%34", "%35", "%36", "%37")
REID_WGMMA(128, SUMS64("f", d), TEXT64, "%64", "%65", "%66", "%67", "%68", "%69")
REID_WGMMA(256, SUMS128("f", d), TEXT128, "%128", "%129", "%130", "%131", "%132", "%133")
#endif

/* Where a K-major operand lies (PTX manual, "Matrix Descriptor Format"). Without swizzle it is made of 8x8 core
   matrices of 128 contiguous bytes; `leading` is the distance of neighbours along K, `stride` along M or N. With the
   128-byte swizzle a row is 64 halves, whose 16-byte pieces are exchanged by the row number, `leading` is ignored, and
   eight rows are 1024 bytes, aligned to as many; with the 64-byte swizzle (2) rows are half as long, and neighbours are
   exchanged alike. */
__device__ __forceinline__ unsigned long long reid_wgmma_descriptor(unsigned shared, unsigned leading, unsigned stride,
                                                                    unsigned swizzle) {
    return (unsigned long long)((shared & 0x3ffff) >> 4) | (unsigned long long)(leading >> 4) << 16 |
           (unsigned long long)(stride >> 4) << 32 | (unsigned long long)swizzle << 62;
}
