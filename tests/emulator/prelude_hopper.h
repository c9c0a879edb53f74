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
/* mbarrier.try_wait.parity: the same, and may wait a while. */
REID_EMULATOR_FN bool reid_mbarrier_try_wait(unsigned mbarrier, unsigned parity, REID_EMULATOR_LINE) {
    return reid_emulator.mbarrier(REID_EMULATOR_TRY_WAIT, mbarrier, parity, line) != 0;
}

/* ---- what threads did becomes visible to asynchronous copies and wgmma ---- */
REID_EMULATOR_FN void reid_fence_mbarrier_init(void) { /* fence.mbarrier_init.release.cluster */
    reid_emulator.fence_mbarrier_init();
}
REID_EMULATOR_FN void reid_fence_proxy_async(void) { reid_emulator.fence_proxy_async(); } /* fence.proxy.async */

/* ---- bulk copies: addresses and bytes are multiples of 16 ---- */
/* cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes */
REID_EMULATOR_FN void reid_bulk_load(unsigned to, const void *from, unsigned bytes, unsigned mbarrier,
                                     REID_EMULATOR_LINE) {
    reid_emulator.bulk_load(to, from, bytes, mbarrier, line);
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
#endif

#endif
