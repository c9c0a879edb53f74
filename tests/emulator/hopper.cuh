/* hopper.cuh: Hopper's instructions, one PTX instruction in each function; on the CPU prelude_hopper.h has functions of
   the same names. It stands in front of hopper_test.cu. A kernel file that needs one of these takes it over as it is. */
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

/* Is the phase of that parity over? try_wait may wait a while, and has to be asked again when it says no. */
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

/* ---- bulk copies: addresses and bytes are multiples of 16. A load tells the mbarrier how many bytes have landed; stores
   are waited for in groups, as cp.async is. ---- */
__device__ __forceinline__ void reid_bulk_load(unsigned to, const void *from, unsigned bytes, unsigned mbarrier) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                 ::"r"(to), "l"(from), "r"(bytes), "r"(mbarrier) : "memory");
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
#endif
