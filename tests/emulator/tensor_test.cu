/* tensor_test.cu: kernels for test_tensor.c; they are compiled with hopper.cuh, which has the wrappers, in front of
   them. The kernels named unit_... do what the host asks for, the others have one bug each. The real NVRTC compiles
   them, too. */

struct __align__(64) tensor_map { /* a CUtensorMap */
    unsigned long long opaque[16];
};

struct request { /* of test_tensor.c */
    int rank, im2col, at[5], offsets[3];
    unsigned place, bytes; /* of the box, in shared memory */
};

enum { BARRIER = 32768 }; /* its offset in shared memory, behind every box */

__device__ __forceinline__ void wait_for(unsigned mbarrier, unsigned parity) {
    while (!reid_mbarrier_try_wait(mbarrier, parity)) continue;
}

__device__ __forceinline__ void load(const tensor_map &map, const request &r, unsigned to, unsigned bar) {
    const int *c = r.at, *o = r.offsets;
    unsigned short ow = (unsigned short)o[0], oh = (unsigned short)o[1], od = (unsigned short)o[2];
    if (!r.im2col) {
        if (r.rank == 2) reid_tensor_load_2d(to, &map, c[0], c[1], bar);
        if (r.rank == 3) reid_tensor_load_3d(to, &map, c[0], c[1], c[2], bar);
        if (r.rank == 4) reid_tensor_load_4d(to, &map, c[0], c[1], c[2], c[3], bar);
        if (r.rank == 5) reid_tensor_load_5d(to, &map, c[0], c[1], c[2], c[3], c[4], bar);
    } else {
        if (r.rank == 3) reid_tensor_load_im2col_3d(to, &map, c[0], c[1], c[2], ow, bar);
        if (r.rank == 4) reid_tensor_load_im2col_4d(to, &map, c[0], c[1], c[2], c[3], ow, oh, bar);
        if (r.rank == 5) reid_tensor_load_im2col_5d(to, &map, c[0], c[1], c[2], c[3], c[4], ow, oh, od, bar);
    }
}

__device__ __forceinline__ unsigned barrier_of_one(void) {
    unsigned bar = reid_shared_address(reid_shared) + BARRIER;
    if (threadIdx.x == 0) reid_mbarrier_init(bar, 1), reid_fence_mbarrier_init();
    __syncthreads();
    return bar;
}

/* out: the box as it lies in shared memory */
extern "C" __global__ void unit_tensor_load(const __grid_constant__ tensor_map map, const request r,
                                            unsigned char *out) {
    unsigned bar = barrier_of_one();
    if (threadIdx.x == 0) {
        reid_tensor_prefetch(&map);
        reid_mbarrier_arrive_expect_tx(bar, r.bytes);
        load(map, r, reid_shared_address(reid_shared) + r.place, bar);
    }
    wait_for(bar, 0);
    for (unsigned i = threadIdx.x; i < r.bytes; i += blockDim.x) out[i] = reid_shared[r.place + i];
}

/* in: the box as it shall lie in shared memory */
extern "C" __global__ void unit_tensor_store(const __grid_constant__ tensor_map map, const request r,
                                             const unsigned char *in) {
    unsigned from = reid_shared_address(reid_shared) + r.place;
    const int *c = r.at;
    for (unsigned i = threadIdx.x; i < r.bytes; i += blockDim.x) reid_shared[r.place + i] = in[i];
    reid_fence_proxy_async();
    __syncthreads();
    if (threadIdx.x) return;
    if (r.rank == 2) reid_tensor_store_2d(&map, c[0], c[1], from);
    if (r.rank == 3) reid_tensor_store_3d(&map, c[0], c[1], c[2], from);
    if (r.rank == 4) reid_tensor_store_4d(&map, c[0], c[1], c[2], c[3], from);
    if (r.rank == 5) reid_tensor_store_5d(&map, c[0], c[1], c[2], c[3], c[4], from);
    reid_bulk_commit();
    reid_bulk_wait<0>();
}

/* ---- bugs: an 8x64 box of halves, of a tensor of 12 rows of 64, is added up; im2col: 8 pixels of 64 channels ---- */
enum {
    FINE,
    NO_WAIT,
    EXPECT_LESS,
    EXPECT_MORE,
    MISALIGNED,
    OUTSIDE,
    GARBAGE,
    GARBAGE_PREFETCH,
    WRONG_RANK,
    WRONG_MODE,
    OTHER_MODE,
    NO_BASE,
    FAR_OFFSET,
    STORE_FINE,
    STORE_NO_FENCE,
    STORE_NO_WAIT,
    STORE_IM2COL
};

template <int bug>
__device__ __forceinline__ void bug_load(const tensor_map &tile, const tensor_map &im2col, unsigned to, unsigned bar) {
    if (bug == GARBAGE) reid_tensor_load_2d(to, reid_shared + 16384, 0, 0, bar);
    else if (bug == WRONG_RANK) reid_tensor_load_3d(to, &tile, 0, 0, 0, bar);
    else if (bug == WRONG_MODE) reid_tensor_load_im2col_3d(to, &tile, 0, 0, 0, 0, bar);
    else if (bug == OTHER_MODE) reid_tensor_load_3d(to, &im2col, 0, 0, 0, bar);
    else if (bug == NO_BASE) reid_tensor_load_im2col_3d(to, &im2col, 0, 11, 0, 0, bar);
    else if (bug == FAR_OFFSET) reid_tensor_load_im2col_4d(to, &im2col, 0, 0, 0, 0, 0, 256, bar);
    else if (bug == MISALIGNED) reid_tensor_load_2d(to + 64, &tile, 0, 0, bar);
    else if (bug == OUTSIDE) reid_tensor_load_2d(to + BARRIER - 512, &tile, 0, 0, bar);
    else reid_tensor_load_2d(to, &tile, 0, 4, bar);
}

template <int bug>
__device__ __forceinline__ void bugs(const tensor_map &tile, const tensor_map &im2col, unsigned short *out) {
    unsigned bar = barrier_of_one(), to = reid_shared_address(reid_shared);
    unsigned short *box = (unsigned short *)reid_shared;
    if (bug < STORE_FINE) {
        if (threadIdx.x == 0) {
            if (bug == GARBAGE_PREFETCH) reid_tensor_prefetch(reid_shared);
            reid_mbarrier_arrive_expect_tx(bar, bug == EXPECT_LESS ? 512 : bug == EXPECT_MORE ? 2048 : 1024);
            bug_load<bug>(tile, im2col, to, bar);
        }
        if (bug != NO_WAIT) wait_for(bar, 0);
        for (int i = 0; i < 8; i++) out[i * 64 + threadIdx.x] = box[i * 64 + threadIdx.x];
        __syncthreads();
        if (bug == NO_WAIT) wait_for(bar, 0);
        return;
    }
    for (int i = 0; i < 8; i++) box[i * 64 + threadIdx.x] = (unsigned short)(i * 64 + threadIdx.x);
    if (bug != STORE_NO_FENCE) reid_fence_proxy_async();
    __syncthreads();
    if (threadIdx.x == 0) {
        if (bug == STORE_IM2COL) reid_tensor_store_3d(&im2col, 0, 0, 0, to);
        else reid_tensor_store_2d(&tile, 0, 0, to);
        reid_bulk_commit();
        if (bug != STORE_NO_WAIT) reid_bulk_wait<0>();
    }
}
#define BUG(name, bug)                                                                                                 \
    extern "C" __global__ void name(const __grid_constant__ tensor_map tile, const __grid_constant__ tensor_map im2col,\
                                    unsigned short *out) {                                                             \
        bugs<bug>(tile, im2col, out);                                                                                  \
    }
BUG(tensor_fine, FINE)
BUG(tensor_no_wait, NO_WAIT)
BUG(tensor_expect_less, EXPECT_LESS)
BUG(tensor_expect_more, EXPECT_MORE)
BUG(tensor_misaligned, MISALIGNED)
BUG(tensor_outside, OUTSIDE)
BUG(tensor_garbage, GARBAGE)
BUG(tensor_garbage_prefetch, GARBAGE_PREFETCH)
BUG(tensor_wrong_rank, WRONG_RANK)
BUG(tensor_wrong_mode, WRONG_MODE)
BUG(tensor_other_mode, OTHER_MODE)
BUG(tensor_no_base, NO_BASE)
BUG(tensor_far_offset, FAR_OFFSET)
BUG(tensor_store_fine, STORE_FINE)
BUG(tensor_store_no_fence, STORE_NO_FENCE)
BUG(tensor_store_no_wait, STORE_NO_WAIT)
BUG(tensor_store_im2col, STORE_IM2COL)
