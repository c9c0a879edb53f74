/* prelude_hopper.h: the CPU meaning of the PTX wrappers that need sm_90, or sm_90a. Part of prelude.h. Every comment
   names the instruction; the PTX manual describes it under that name. */
#ifndef REID_EMULATOR_PRELUDE_HOPPER_H
#define REID_EMULATOR_PRELUDE_HOPPER_H

#if __CUDA_ARCH__ >= 900
/* ---- mbarrier: eight aligned bytes of shared memory, by their .shared address ---- */
REID_EMULATOR_FN void reid_mbarrier_init(unsigned mbarrier, unsigned count, REID_EMULATOR_LINE) { /* mbarrier.init */
    reid_emulator.mbarrier(REID_EMULATOR_INIT, mbarrier, count, line);
}
REID_EMULATOR_FN void reid_mbarrier_inval(unsigned mbarrier, REID_EMULATOR_LINE) { /* mbarrier.inval */
    reid_emulator.mbarrier(REID_EMULATOR_INVAL, mbarrier, 0, line);
}
REID_EMULATOR_FN void reid_mbarrier_arrive(unsigned mbarrier, REID_EMULATOR_LINE) { /* mbarrier.arrive.release.cta */
    reid_emulator.mbarrier(REID_EMULATOR_ARRIVE, mbarrier, 1, line);
}
REID_EMULATOR_FN void reid_mbarrier_expect_tx(unsigned mbarrier, unsigned bytes, REID_EMULATOR_LINE) {
    reid_emulator.mbarrier(REID_EMULATOR_EXPECT_TX, mbarrier, bytes, line); /* mbarrier.expect_tx.relaxed.cta */
}
REID_EMULATOR_FN void reid_mbarrier_arrive_expect_tx(unsigned mbarrier, unsigned bytes, REID_EMULATOR_LINE) {
    reid_emulator.mbarrier(REID_EMULATOR_ARRIVE_EXPECT_TX, mbarrier, bytes, line); /* mbarrier.arrive.expect_tx */
}
/* mbarrier.test_wait.parity: whether the phase of that parity is over. */
REID_EMULATOR_FN bool reid_mbarrier_test_wait(unsigned mbarrier, unsigned parity, REID_EMULATOR_LINE) {
    return reid_emulator.mbarrier(REID_EMULATOR_TEST_WAIT, mbarrier, parity, line) != 0;
}
/* mbarrier.try_wait.parity: like test_wait, but may wait a while. */
REID_EMULATOR_FN bool reid_mbarrier_try_wait(unsigned mbarrier, unsigned parity, REID_EMULATOR_LINE) {
    return reid_emulator.mbarrier(REID_EMULATOR_TRY_WAIT, mbarrier, parity, line) != 0;
}

/* ---- fences: threads' writes become visible to asynchronous copies and wgmma ---- */
REID_EMULATOR_FN void reid_fence_mbarrier_init(void) { /* fence.mbarrier_init.release.cluster */
    reid_emulator.fence_mbarrier_init();
}
REID_EMULATOR_FN void reid_fence_proxy_async(void) { reid_emulator.fence_proxy_async(0); } /* fence.proxy.async */
REID_EMULATOR_FN void reid_fence_proxy_async_shared(void) { /* fence.proxy.async.shared::cta */
    reid_emulator.fence_proxy_async(1);
}

/* ---- bulk copies: addresses and bytes are multiples of 16 ---- */
/* cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes */
REID_EMULATOR_FN void reid_bulk_load(unsigned to, const void *from, unsigned bytes, unsigned mbarrier,
                                     REID_EMULATOR_LINE) {
    reid_emulator.bulk_load(to, from, bytes, mbarrier, 0, line);
}
/* ....multicast::cluster: to every block of the mask, at the same place, counted by its mbarrier at the same place */
REID_EMULATOR_FN void reid_bulk_load_multicast(unsigned to, const void *from, unsigned bytes, unsigned mbarrier,
                                               unsigned short mask, REID_EMULATOR_LINE) {
    reid_emulator.bulk_load(to, from, bytes, mbarrier, mask | 0x10000u, line);
}
/* cp.async.bulk.global.shared::cta.bulk_group */
REID_EMULATOR_FN void reid_bulk_store(void *to, unsigned from, unsigned bytes, REID_EMULATOR_LINE) {
    reid_emulator.bulk_store(to, from, bytes, line);
}
REID_EMULATOR_FN void reid_bulk_commit(void) { reid_emulator.bulk_commit(); } /* cp.async.bulk.commit_group */
template <int reid_groups> REID_EMULATOR_FN void reid_bulk_wait(REID_EMULATOR_LINE) { /* cp.async.bulk.wait_group N */
    static_assert(reid_groups >= 0, "a count of groups that may stay in flight");
    reid_emulator.bulk_wait((unsigned)reid_groups, 0, line);
}
/* cp.async.bulk.wait_group.read N: until the sources have been read */
template <int reid_groups> REID_EMULATOR_FN void reid_bulk_wait_read(REID_EMULATOR_LINE) {
    static_assert(reid_groups >= 0, "a count of groups that may stay in flight");
    reid_emulator.bulk_wait((unsigned)reid_groups, 1, line);
}

/* ---- tensor copies: the address of a 64-byte aligned CUtensorMap, coordinates innermost first ---- */
/* cp.async.bulk.tensor.Nd.shared::cluster.global.tile.mbarrier::complete_tx::bytes */
REID_EMULATOR_FN void reid_tensor_load_2d(unsigned to, const void *map, int x, int y, unsigned mbarrier,
                                          REID_EMULATOR_LINE) {
    const int at[2] = {x, y};
    reid_emulator.tensor_load(to, map, 2, at, 0, mbarrier, 0, line);
}
REID_EMULATOR_FN void reid_tensor_load_3d(unsigned to, const void *map, int x, int y, int z, unsigned mbarrier,
                                          REID_EMULATOR_LINE) {
    const int at[3] = {x, y, z};
    reid_emulator.tensor_load(to, map, 3, at, 0, mbarrier, 0, line);
}
REID_EMULATOR_FN void reid_tensor_load_4d(unsigned to, const void *map, int x, int y, int z, int u, unsigned mbarrier,
                                          REID_EMULATOR_LINE) {
    const int at[4] = {x, y, z, u};
    reid_emulator.tensor_load(to, map, 4, at, 0, mbarrier, 0, line);
}
REID_EMULATOR_FN void reid_tensor_load_5d(unsigned to, const void *map, int x, int y, int z, int u, int v,
                                          unsigned mbarrier, REID_EMULATOR_LINE) {
    const int at[5] = {x, y, z, u, v};
    reid_emulator.tensor_load(to, map, 5, at, 0, mbarrier, 0, line);
}
/* cp.async.bulk.tensor.Nd.shared::cluster.global.im2col.mbarrier::complete_tx::bytes: coordinates C, W, H, D, N and
   offsets along W, H, D */
REID_EMULATOR_FN void reid_tensor_load_im2col_3d(unsigned to, const void *map, int c, int w, int n,
                                                 unsigned short offset_w, unsigned mbarrier, REID_EMULATOR_LINE) {
    const int at[3] = {c, w, n}, offsets[1] = {offset_w};
    reid_emulator.tensor_load(to, map, 3, at, offsets, mbarrier, 0, line);
}
REID_EMULATOR_FN void reid_tensor_load_im2col_4d(unsigned to, const void *map, int c, int w, int h, int n,
                                                 unsigned short offset_w, unsigned short offset_h, unsigned mbarrier,
                                                 REID_EMULATOR_LINE) {
    const int at[4] = {c, w, h, n}, offsets[2] = {offset_w, offset_h};
    reid_emulator.tensor_load(to, map, 4, at, offsets, mbarrier, 0, line);
}
REID_EMULATOR_FN void reid_tensor_load_im2col_5d(unsigned to, const void *map, int c, int w, int h, int d, int n,
                                                 unsigned short offset_w, unsigned short offset_h,
                                                 unsigned short offset_d, unsigned mbarrier, REID_EMULATOR_LINE) {
    const int at[5] = {c, w, h, d, n}, offsets[3] = {offset_w, offset_h, offset_d};
    reid_emulator.tensor_load(to, map, 5, at, offsets, mbarrier, 0, line);
}
/* ....multicast::cluster, as of bulk copies */
REID_EMULATOR_FN void reid_tensor_load_2d_multicast(unsigned to, const void *map, int x, int y, unsigned mbarrier,
                                                    unsigned short mask, REID_EMULATOR_LINE) {
    const int at[2] = {x, y};
    reid_emulator.tensor_load(to, map, 2, at, 0, mbarrier, mask | 0x10000u, line);
}
REID_EMULATOR_FN void reid_tensor_load_im2col_4d_multicast(unsigned to, const void *map, int c, int w, int h, int n,
                                                           unsigned short offset_w, unsigned short offset_h,
                                                           unsigned mbarrier, unsigned short mask,
                                                           REID_EMULATOR_LINE) {
    const int at[4] = {c, w, h, n}, offsets[2] = {offset_w, offset_h};
    reid_emulator.tensor_load(to, map, 4, at, offsets, mbarrier, mask | 0x10000u, line);
}
/* cp.async.bulk.tensor.Nd.global.shared::cta.tile.bulk_group */
REID_EMULATOR_FN void reid_tensor_store_2d(const void *map, int x, int y, unsigned from, REID_EMULATOR_LINE) {
    const int at[2] = {x, y};
    reid_emulator.tensor_store(map, 2, at, from, line);
}
REID_EMULATOR_FN void reid_tensor_store_3d(const void *map, int x, int y, int z, unsigned from, REID_EMULATOR_LINE) {
    const int at[3] = {x, y, z};
    reid_emulator.tensor_store(map, 3, at, from, line);
}
REID_EMULATOR_FN void reid_tensor_store_4d(const void *map, int x, int y, int z, int u, unsigned from,
                                           REID_EMULATOR_LINE) {
    const int at[4] = {x, y, z, u};
    reid_emulator.tensor_store(map, 4, at, from, line);
}
REID_EMULATOR_FN void reid_tensor_store_5d(const void *map, int x, int y, int z, int u, int v, unsigned from,
                                           REID_EMULATOR_LINE) {
    const int at[5] = {x, y, z, u, v};
    reid_emulator.tensor_store(map, 5, at, from, line);
}
REID_EMULATOR_FN void reid_tensor_prefetch(const void *map, REID_EMULATOR_LINE) { /* prefetch.tensormap */
    reid_emulator.tensor_prefetch(map, line);
}

/* ---- stmatrix.sync.aligned.m8n8.x{1,2,4}[.trans].shared.b16: lane i gives the address of row i % 8 of matrix
   i / 8 ---- */
REID_EMULATOR_FN void reid_emulator_stmatrix(enum reid_emulator_op op, unsigned count, unsigned row, const unsigned *r,
                                             int line) {
    struct reid_emulator_lane lane = {};
    lane.value = row, lane.count = count, lane.a = r;
    reid_emulator.warp(op, 0xffffffffu, &lane, line);
}
REID_EMULATOR_FN void reid_stmatrix_x1(unsigned row, const unsigned r[1], REID_EMULATOR_LINE) {
    reid_emulator_stmatrix(REID_EMULATOR_STMATRIX, 1, row, r, line);
}
REID_EMULATOR_FN void reid_stmatrix_x2(unsigned row, const unsigned r[2], REID_EMULATOR_LINE) {
    reid_emulator_stmatrix(REID_EMULATOR_STMATRIX, 2, row, r, line);
}
REID_EMULATOR_FN void reid_stmatrix_x4(unsigned row, const unsigned r[4], REID_EMULATOR_LINE) {
    reid_emulator_stmatrix(REID_EMULATOR_STMATRIX, 4, row, r, line);
}
REID_EMULATOR_FN void reid_stmatrix_x4_trans(unsigned row, const unsigned r[4], REID_EMULATOR_LINE) {
    reid_emulator_stmatrix(REID_EMULATOR_STMATRIX_TRANS, 4, row, r, line);
}

/* ---- clusters: a rank in the cluster; its barrier; shared memory of another block, by mapa's address ---- */
REID_EMULATOR_FN unsigned reid_cluster_rank(REID_EMULATOR_LINE) { /* %cluster_ctarank */
    return reid_emulator.cluster(REID_EMULATOR_RANK, 0, 0, line);
}
REID_EMULATOR_FN unsigned reid_cluster_size(REID_EMULATOR_LINE) { /* %cluster_nctarank */
    return reid_emulator.cluster(REID_EMULATOR_SIZE, 0, 0, line);
}
REID_EMULATOR_FN void reid_cluster_arrive(REID_EMULATOR_LINE) { /* barrier.cluster.arrive.release */
    reid_emulator.cluster(REID_EMULATOR_CLUSTER_ARRIVE, 0, 0, line);
}
REID_EMULATOR_FN void reid_cluster_arrive_relaxed(REID_EMULATOR_LINE) { /* barrier.cluster.arrive.relaxed */
    reid_emulator.cluster(REID_EMULATOR_CLUSTER_ARRIVE_RELAXED, 0, 0, line);
}
REID_EMULATOR_FN void reid_cluster_wait(REID_EMULATOR_LINE) { /* barrier.cluster.wait.acquire */
    reid_emulator.cluster(REID_EMULATOR_CLUSTER_WAIT, 0, 0, line);
}
REID_EMULATOR_FN unsigned reid_cluster_map(unsigned shared, unsigned rank, REID_EMULATOR_LINE) { /* mapa */
    return reid_emulator.cluster(REID_EMULATOR_MAP, shared, rank, line);
}
REID_EMULATOR_FN unsigned reid_cluster_load(unsigned address, REID_EMULATOR_LINE) { /* ld.shared::cluster.u32 */
    return reid_emulator.cluster(REID_EMULATOR_LOAD, address, 0, line);
}
REID_EMULATOR_FN uint4 reid_cluster_load_16(unsigned address, REID_EMULATOR_LINE) { /* ld.shared::cluster.v4.u32 */
    unsigned v[4];
    for (unsigned i = 0; i < 4; i++) v[i] = reid_emulator.cluster(REID_EMULATOR_LOAD, address + 4 * i, 0, line);
    return make_uint4(v[0], v[1], v[2], v[3]);
}
REID_EMULATOR_FN void reid_cluster_store(unsigned address, unsigned value, REID_EMULATOR_LINE) {
    reid_emulator.cluster(REID_EMULATOR_STORE, address, value, line); /* st.shared::cluster.u32 */
}
/* st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 */
REID_EMULATOR_FN void reid_cluster_store_async(unsigned address, const unsigned v[4], unsigned mbarrier,
                                               REID_EMULATOR_LINE) {
    reid_emulator.cluster_store_async(address, v, mbarrier, line);
}
/* mbarrier.arrive.release.cta.shared::cluster */
REID_EMULATOR_FN void reid_cluster_mbarrier_arrive_cta(unsigned mbarrier, REID_EMULATOR_LINE) {
    reid_emulator.cluster(REID_EMULATOR_REMOTE_ARRIVE_CTA, mbarrier, 0, line);
}
/* mbarrier.arrive and .arrive.expect_tx with .release.cluster.shared::cluster; .try_wait.parity.acquire.cluster */
REID_EMULATOR_FN void reid_cluster_mbarrier_arrive(unsigned mbarrier, REID_EMULATOR_LINE) {
    reid_emulator.cluster(REID_EMULATOR_REMOTE_ARRIVE, mbarrier, 0, line);
}
REID_EMULATOR_FN void reid_cluster_mbarrier_arrive_expect_tx(unsigned mbarrier, unsigned bytes, REID_EMULATOR_LINE) {
    reid_emulator.cluster(REID_EMULATOR_REMOTE_ARRIVE_EXPECT_TX, mbarrier, bytes, line);
}
REID_EMULATOR_FN bool reid_cluster_mbarrier_try_wait(unsigned mbarrier, unsigned parity, REID_EMULATOR_LINE) {
    return reid_emulator.mbarrier(REID_EMULATOR_TRY_WAIT_CLUSTER, mbarrier, parity, line) != 0;
}

/* ---- griddepcontrol: waits for the previous launch; lets the next one begin ---- */
REID_EMULATOR_FN void reid_griddepcontrol_wait(REID_EMULATOR_LINE) { reid_emulator.grid_wait(line); }
REID_EMULATOR_FN void reid_griddepcontrol_launch_dependents(REID_EMULATOR_LINE) {
    reid_emulator.grid_launch_dependents(line);
}
#endif

#ifdef __CUDA_ARCH_FEAT_SM90_ALL /* sm_90a */
/* ---- wgmma, for one warp; whether the warpgroup's four warps did the same is checked when the block has ended ---- */
REID_EMULATOR_FN void reid_emulator_warpgroup(enum reid_emulator_op op, unsigned value, unsigned count, int line) {
    struct reid_emulator_lane lane = {};
    lane.value = value, lane.count = count;
    reid_emulator.warp(op, 0xffffffffu, &lane, line);
}
REID_EMULATOR_FN void reid_wgmma_fence(REID_EMULATOR_LINE) { /* wgmma.fence.sync.aligned */
    reid_emulator_warpgroup(REID_EMULATOR_WGMMA_FENCE, 0, 0, line);
}
REID_EMULATOR_FN void reid_wgmma_commit(REID_EMULATOR_LINE) { /* wgmma.commit_group.sync.aligned */
    reid_emulator_warpgroup(REID_EMULATOR_WGMMA_COMMIT, 0, 0, line);
}
template <int reid_groups> REID_EMULATOR_FN void reid_wgmma_wait(REID_EMULATOR_LINE) { /* wgmma.wait_group N */
    static_assert(reid_groups >= 0 && reid_groups <= 7, "a count of groups that may stay in flight");
    reid_emulator_warpgroup(REID_EMULATOR_WGMMA_WAIT, (unsigned)reid_groups, 0, line);
}
/* wgmma.mma_async.sync.aligned.m64nNk16.f32.f16.f16, both operands K-major; A in shared memory or in registers. */
template <int reid_n>
REID_EMULATOR_FN void reid_wgmma(float *d, unsigned long long a, unsigned long long b, bool accumulate,
                                 REID_EMULATOR_LINE) {
    static_assert(reid_n % 8 == 0 && reid_n >= 8 && reid_n <= 256, "n is a multiple of 8 up to 256");
    struct reid_emulator_lane lane = {};
    lane.first = a, lane.second = b, lane.d = d, lane.count = reid_n, lane.value = accumulate;
    reid_emulator.warp(REID_EMULATOR_WGMMA, 0xffffffffu, &lane, line);
}
/* The same instruction for bf16. */
template <int reid_n>
REID_EMULATOR_FN void reid_wgmma_bf16(float *d, unsigned long long a, unsigned long long b, bool accumulate,
                                      REID_EMULATOR_LINE) {
    static_assert(reid_n % 8 == 0 && reid_n >= 8 && reid_n <= 256, "n is a multiple of 8 up to 256");
    struct reid_emulator_lane lane = {};
    lane.first = a, lane.second = b, lane.d = d, lane.count = reid_n, lane.value = accumulate, lane.width = 2;
    reid_emulator.warp(REID_EMULATOR_WGMMA, 0xffffffffu, &lane, line);
}
/* wgmma.mma_async.sync.aligned.m64nNk32.s32.u8.s8, both operands K-major, in shared memory. */
template <int reid_n>
REID_EMULATOR_FN void reid_wgmma(int *d, unsigned long long a, unsigned long long b, bool accumulate,
                                 REID_EMULATOR_LINE) {
    static_assert((reid_n % 16 == 0 || reid_n == 8 || reid_n == 24) && reid_n >= 8 && reid_n <= 256, "n is 8, 24 or a "
                  "multiple of 16 up to 256");
    struct reid_emulator_lane lane = {};
    lane.first = a, lane.second = b, lane.d = (float *)d, lane.count = reid_n, lane.value = accumulate, lane.width = 1;
    reid_emulator.warp(REID_EMULATOR_WGMMA, 0xffffffffu, &lane, line);
}
template <int reid_n>
REID_EMULATOR_FN void reid_wgmma_registers(float *d, const unsigned a[4], unsigned long long b, bool accumulate,
                                           REID_EMULATOR_LINE) {
    static_assert(reid_n % 8 == 0 && reid_n >= 8 && reid_n <= 256, "n is a multiple of 8 up to 256");
    struct reid_emulator_lane lane = {};
    lane.a = a, lane.second = b, lane.d = d, lane.count = reid_n, lane.value = accumulate;
    reid_emulator.warp(REID_EMULATOR_WGMMA, 0xffffffffu, &lane, line);
}

template <int reid_n>
REID_EMULATOR_FN void reid_wgmma_registers_bf16(float *d, const unsigned a[4], unsigned long long b, bool accumulate,
                                                REID_EMULATOR_LINE) {
    static_assert(reid_n % 8 == 0 && reid_n >= 8 && reid_n <= 256, "n is a multiple of 8 up to 256");
    struct reid_emulator_lane lane = {};
    lane.a = a, lane.second = b, lane.d = d, lane.count = reid_n, lane.value = accumulate, lane.width = 2;
    reid_emulator.warp(REID_EMULATOR_WGMMA, 0xffffffffu, &lane, line);
}

/* Keeps the compiler from moving a use of the sum or operand; here nothing moves. */
REID_EMULATOR_FN void reid_wgmma_hold(float &) {}
REID_EMULATOR_FN void reid_wgmma_hold(int &) {}
REID_EMULATOR_FN void reid_wgmma_hold(unsigned &) {}

/* setmaxnreg.{inc,dec}.sync.aligned.u32 */
template <int reid_count> REID_EMULATOR_FN void reid_setmaxnreg_inc(REID_EMULATOR_LINE) {
    static_assert(reid_count % 8 == 0 && reid_count >= 24 && reid_count <= 256, "a multiple of 8 from 24 to 256");
    reid_emulator_warpgroup(REID_EMULATOR_SETMAXNREG, (unsigned)reid_count, 1, line);
}
template <int reid_count> REID_EMULATOR_FN void reid_setmaxnreg_dec(REID_EMULATOR_LINE) {
    static_assert(reid_count % 8 == 0 && reid_count >= 24 && reid_count <= 256, "a multiple of 8 from 24 to 256");
    reid_emulator_warpgroup(REID_EMULATOR_SETMAXNREG, (unsigned)reid_count, 0, line);
}
#endif

#endif
