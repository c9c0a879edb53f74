/* cluster_test.cu: kernels for test_cluster.c; they are compiled with hopper.cuh, which has the wrappers, in front of
   them. The kernels named unit_... show what the instructions do, the others have one bug each. The real NVRTC compiles
   them, too. */
struct __align__(64) tensor_map { /* a CUtensorMap */
    unsigned long long opaque[16];
};

__device__ __forceinline__ void cluster_barrier() {
    reid_cluster_arrive();
    reid_cluster_wait();
}

__device__ __forceinline__ void wait_for(unsigned mbarrier, unsigned parity) {
    while (!reid_cluster_mbarrier_try_wait(mbarrier, parity)) continue;
}

/* out, for each block in the order of its index: its rank and its cluster's size */
extern "C" __global__ void unit_ranks(unsigned *out) {
    unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    if (threadIdx.x == 0) out[block] = reid_cluster_rank() << 8 | reid_cluster_size();
}

/* The barrier counts threads that have not returned, and the code between arriving and waiting need not have run
   yet. */
extern "C" __global__ void unit_barrier(unsigned *out) {
    unsigned *words = (unsigned *)reid_shared, base = reid_shared_address(reid_shared), rank = reid_cluster_rank();
    if (threadIdx.x >= 64) return;
    for (unsigned round = 0; round < 3; round++) {
        words[threadIdx.x] = rank * 1000 + round * 100 + threadIdx.x;
        reid_cluster_arrive();
        if (threadIdx.x == 40 && round == 2) return; /* it has arrived: nobody waits for it */
        reid_cluster_wait();
        unsigned next = reid_cluster_map(base + threadIdx.x * 4, (rank + 1) % reid_cluster_size());
        out[(blockIdx.x * 3 + round) * 64 + threadIdx.x] = reid_cluster_load(next);
        cluster_barrier();
    }
}

/* ---- blocks write their rank and a value into every block's memory, and say so to its mbarrier ---- */
enum {
    FINE,
    NO_FIRST_BARRIER,
    NO_LAST_BARRIER,
    NO_WAIT,
    ARRIVES_TWICE,
    WAITS_ONLY,
    ONE_STAYS_AWAY,
    NO_SUCH_BLOCK,
    OUTSIDE,
    MISALIGNED,
    NOT_A_CTA_ADDRESS,
    ARRIVES_TOO_OFTEN,
    NO_ARRIVAL,
    NO_RELEASE,
    NO_EXPECT,
    MASK_TOO_LARGE,
    EMPTY_MASK,
    EARLY_EXIT,
    EXPECTS_LESS,
    RELEASES_CTA,
    RELEASES_BARRIER,
    OWN_RELAXED,
    ACQUIRES_CTA,
    OTHER_MBARRIER,
    NO_INIT_FENCE
};

template <int bug> __device__ __forceinline__ void tell(unsigned *out) {
    unsigned *words = (unsigned *)reid_shared, base = reid_shared_address(reid_shared), bar = base + 512;
    unsigned rank = reid_cluster_rank(), size = reid_cluster_size(), t = threadIdx.x;
    if (t == 0) reid_mbarrier_init(bar, bug == ARRIVES_TOO_OFTEN ? size - 1 : size);
    __syncthreads();
    if (bug == NO_FIRST_BARRIER) {
    } else if (bug == ONE_STAYS_AWAY && t == 3 && rank == 1) wait_for(bar, 0);
    else if (bug == WAITS_ONLY) reid_cluster_wait();
    else {
        reid_cluster_arrive();
        if (bug == ARRIVES_TWICE && t == 5) reid_cluster_arrive();
        reid_cluster_wait();
    }
    if (t < size) {
        unsigned place = base + (bug == OUTSIDE ? 2048 : bug == MISALIGNED ? 2 : 4 * rank);
        unsigned to = bug == NO_SUCH_BLOCK ? t + 1 : t;
        reid_cluster_store(reid_cluster_map(place, to), rank * 10 + t);
        if (bug == NOT_A_CTA_ADDRESS) reid_mbarrier_arrive(reid_cluster_map(bar, t));
        else if (bug == RELEASES_CTA) reid_cluster_mbarrier_arrive_cta(reid_cluster_map(bar, t));
        else if (bug != NO_ARRIVAL || rank) reid_cluster_mbarrier_arrive(reid_cluster_map(bar, t));
    }
    if (bug == ACQUIRES_CTA) while (!reid_mbarrier_try_wait(bar, 0)) continue;
    else if (bug != NO_WAIT) wait_for(bar, 0);
    if (t < size) out[blockIdx.x * 4 + t] = words[t];
    if (bug != NO_LAST_BARRIER) cluster_barrier();
    else if (rank) for (int i = 0; i < 3; i++) __syncthreads(); /* later than the first block */
    if (bug == NO_LAST_BARRIER && rank && t == 0) out[blockIdx.x * 4] = reid_cluster_load(reid_cluster_map(base, 0));
}

/* The same by a barrier of the cluster; OWN_RELAXED: each block tells itself, in reverse order. */
template <int bug> __device__ __forceinline__ void meet(unsigned *out) {
    unsigned *words = (unsigned *)reid_shared, base = reid_shared_address(reid_shared);
    unsigned rank = reid_cluster_rank(), size = reid_cluster_size(), t = threadIdx.x;
    reid_cluster_arrive_relaxed();
    reid_cluster_wait();
    if (t < size && bug != OWN_RELAXED) reid_cluster_store(reid_cluster_map(base + 4 * rank, t), rank * 10 + t);
    if (bug == OWN_RELAXED && t >= 32 && t < 32 + size) words[t - 32] = (t - 32) * 10 + rank;
    if (bug == FINE) reid_cluster_arrive();
    else reid_cluster_arrive_relaxed();
    reid_cluster_wait();
    if (t < size) out[blockIdx.x * 4 + t] = words[t];
}

/* The same by st.async, of 16 bytes from every block to every block. */
template <int bug> __device__ __forceinline__ void count(unsigned *out) {
    unsigned *words = (unsigned *)reid_shared, base = reid_shared_address(reid_shared), bar = base + 512;
    unsigned rank = reid_cluster_rank(), size = reid_cluster_size(), t = threadIdx.x;
    if (t == 0) {
        reid_mbarrier_init(bar, 1);
        if (bug != NO_INIT_FENCE) reid_fence_mbarrier_init();
    }
    reid_cluster_arrive_relaxed();
    reid_cluster_wait();
    if (t == 0) reid_mbarrier_arrive_expect_tx(bar, (size - (bug == EXPECTS_LESS)) * 16);
    if (t < size) {
        unsigned place = base + 16 * rank + (bug == MISALIGNED ? 8 : bug == OUTSIDE ? 2048 : 0);
        unsigned v[4] = {rank * 10 + t, 7, 7, 7}, other = bug == OTHER_MBARRIER ? (t + 1) % size : t;
        reid_cluster_store_async(reid_cluster_map(place, t), v, reid_cluster_map(bar, other));
    }
    if (bug == ACQUIRES_CTA) while (!reid_mbarrier_try_wait(bar, 0)) continue;
    else if (bug != NO_WAIT) wait_for(bar, 0);
    if (t < size) out[blockIdx.x * 4 + t] = words[t * 4];
}

/* ---- tiles that a cluster shares: each block loads a part of a row and sends it to all. Two stages; a row is 32
   floats for each block, and a block sums rows up. ---- */
template <int bug> __device__ __forceinline__ void share(const tensor_map &map, float *out, int rounds) {
    const float *words = (const float *)reid_shared;
    unsigned base = reid_shared_address(reid_shared), full = base + 1024, empty = base + 1040;
    unsigned rank = reid_cluster_rank(), size = reid_cluster_size(), lane = threadIdx.x % 32;
    unsigned all = bug == MASK_TOO_LARGE ? 2 << size : bug == EMPTY_MASK ? 0 : (1 << size) - 1;
    unsigned short mask = (unsigned short)all;
    if (threadIdx.x == 0) {
        for (unsigned i = 0; i < 2; i++) reid_mbarrier_init(full + 8 * i, 1), reid_mbarrier_init(empty + 8 * i, size);
        reid_fence_mbarrier_init();
    }
    if (bug == NO_FIRST_BARRIER) __syncthreads();
    else cluster_barrier();
    if (threadIdx.x == 0) {
        for (int i = 0; i < rounds; i++) {
            unsigned stage = (unsigned)i % 2, to = base + stage * 512 + rank * 128;
            wait_for(empty + stage * 8, (unsigned)(i / 2 + 1) % 2);
            if (bug == NO_EXPECT && rank) reid_mbarrier_arrive(full + stage * 8);
            else reid_mbarrier_arrive_expect_tx(full + stage * 8, 128 * size);
            reid_tensor_load_2d_multicast(to, &map, (int)rank * 32, i, full + stage * 8, mask);
            if (bug == EARLY_EXIT && rank && i == rounds - 1) return;
        }
    } else if (threadIdx.x >= 32) {
        float sum = 0.0f;
        for (int i = 0; i < rounds; i++) {
            unsigned stage = (unsigned)i % 2;
            wait_for(full + stage * 8, (unsigned)(i / 2) % 2);
            sum *= 0.5f;
            for (unsigned k = 0; k < size; k++) sum += words[stage * 128 + k * 32 + lane];
            __syncwarp();
            if (bug == NO_RELEASE && lane < size) reid_mbarrier_arrive(empty + stage * 8);
            else if (lane < size) reid_cluster_mbarrier_arrive(reid_cluster_map(empty + stage * 8, lane));
        }
        out[blockIdx.x * 32 + lane] = sum;
    }
    if (bug != NO_LAST_BARRIER && bug != EARLY_EXIT) cluster_barrier();
}

/* The first block sends pixels to those of the mask; out: what came to each, or -1. */
extern "C" __global__ void unit_im2col(const __grid_constant__ tensor_map map, float *out, int mask) {
    float *words = (float *)reid_shared;
    unsigned base = reid_shared_address(reid_shared), bar = base + 1024, rank = reid_cluster_rank();
    for (int i = threadIdx.x; i < 256; i += 64) words[i] = -1.0f;
    if (threadIdx.x == 0) {
        reid_mbarrier_init(bar, 1);
        reid_fence_mbarrier_init();
    }
    reid_fence_proxy_async();
    cluster_barrier();
    if (threadIdx.x == 0 && mask >> rank & 1) reid_mbarrier_arrive_expect_tx(bar, 1024);
    if (threadIdx.x == 0 && rank == 0)
        reid_tensor_load_im2col_4d_multicast(base, &map, 0, 2, 1, 0, 0, 0, bar, (unsigned short)mask);
    if (mask >> rank & 1) wait_for(bar, 0);
    for (int i = threadIdx.x; i < 256; i += 64) out[blockIdx.x * 256 + i] = words[i];
    cluster_barrier();
}

/* The first block sends rows of 32 words to those of the mask, whose mbarriers it tells how much to expect; out: what
   came to each, or 7. */
template <int bug> __device__ __forceinline__ void send(const unsigned *in, unsigned *out, int mask, int rounds) {
    unsigned *words = (unsigned *)reid_shared, base = reid_shared_address(reid_shared), bar = base + 1024;
    unsigned rank = reid_cluster_rank(), size = reid_cluster_size();
    words[threadIdx.x] = 7;
    if (threadIdx.x == 0) {
        reid_mbarrier_init(bar, 1);
        reid_fence_mbarrier_init();
    }
    reid_fence_proxy_async();
    cluster_barrier();
    for (int i = 0; i < rounds; i++) {
        if (threadIdx.x == 0 && rank == 0) {
            for (unsigned k = 0; k < size; k++)
                if (mask >> k & 1)
                    reid_cluster_mbarrier_arrive_expect_tx(reid_cluster_map(bar, k), bug == EXPECTS_LESS ? 64 : 128);
            reid_bulk_load_multicast(base, in + i * 32, 128, bar, (unsigned short)mask);
        }
        if (mask >> rank & 1) wait_for(bar, (unsigned)i % 2);
        out[(blockIdx.x * rounds + i) * 32 + threadIdx.x] = words[threadIdx.x];
        cluster_barrier();
    }
}

#define TELL(name, bug)                                                                                                \
    extern "C" __global__ void name(unsigned *out) { tell<bug>(out); }
TELL(tell_fine, FINE)
TELL(tell_no_first_barrier, NO_FIRST_BARRIER)
TELL(tell_no_last_barrier, NO_LAST_BARRIER)
TELL(tell_no_wait, NO_WAIT)
TELL(tell_arrives_twice, ARRIVES_TWICE)
TELL(tell_waits_only, WAITS_ONLY)
TELL(tell_one_stays_away, ONE_STAYS_AWAY)
TELL(tell_no_such_block, NO_SUCH_BLOCK)
TELL(tell_outside, OUTSIDE)
TELL(tell_misaligned, MISALIGNED)
TELL(tell_not_a_cta_address, NOT_A_CTA_ADDRESS)
TELL(tell_arrives_too_often, ARRIVES_TOO_OFTEN)
TELL(tell_no_arrival, NO_ARRIVAL)
TELL(tell_releases_cta, RELEASES_CTA)
TELL(tell_acquires_cta, ACQUIRES_CTA)
#define MEET(name, bug)                                                                                                \
    extern "C" __global__ void name(unsigned *out) { meet<bug>(out); }
MEET(tell_meet_fine, FINE)
MEET(tell_meet_relaxed, RELEASES_BARRIER)
MEET(tell_meet_own_relaxed, OWN_RELAXED)
#define COUNT(name, bug)                                                                                               \
    extern "C" __global__ void name(unsigned *out) { count<bug>(out); }
COUNT(tell_count_fine, FINE)
COUNT(tell_count_expects_less, EXPECTS_LESS)
COUNT(tell_count_misaligned, MISALIGNED)
COUNT(tell_count_outside, OUTSIDE)
COUNT(tell_count_other_mbarrier, OTHER_MBARRIER)
COUNT(tell_count_no_init_fence, NO_INIT_FENCE)
COUNT(tell_count_acquires_cta, ACQUIRES_CTA)
COUNT(tell_count_no_wait, NO_WAIT)
#define SEND(name, bug)                                                                                                \
    extern "C" __global__ void name(const unsigned *in, unsigned *out, int mask, int rounds) {                         \
        send<bug>(in, out, mask, rounds);                                                                              \
    }
SEND(send_fine, FINE)
SEND(send_expects_less, EXPECTS_LESS)
#define SHARE(name, bug)                                                                                               \
    extern "C" __global__ void name(const __grid_constant__ tensor_map map, float *out, int rounds) {                  \
        share<bug>(map, out, rounds);                                                                                  \
    }
SHARE(share_fine, FINE)
SHARE(share_no_first_barrier, NO_FIRST_BARRIER)
SHARE(share_no_last_barrier, NO_LAST_BARRIER)
SHARE(share_no_release, NO_RELEASE)
SHARE(share_no_expect, NO_EXPECT)
SHARE(share_mask_too_large, MASK_TOO_LARGE)
SHARE(share_empty_mask, EMPTY_MASK)
SHARE(share_early_exit, EARLY_EXIT)
