/* prelude_ptx.h: the CPU meaning of the kernel file's one-instruction PTX wrappers. Part of prelude.h.
   A wrapper exists for the architectures whose PTX has its instruction, so that a kernel for sm_75 that uses cp.async
   does not compile here either. `.shared` addresses come from reid_shared_address. */
#ifndef REID_EMULATOR_PRELUDE_PTX_H
#define REID_EMULATOR_PRELUDE_PTX_H

/* ---- halves: fp16 or bf16 is `unsigned short`, a pair is `unsigned` with the first value in the low half ---- */
typedef float reid_emulator_v4f __attribute__((vector_size(16)));
typedef short reid_emulator_v8s __attribute__((vector_size(16)));

/* cvt.rn.f16.f32: to nearest even; every NaN becomes 0x7fff. */
REID_EMULATOR_FN unsigned short reid_f16_from_f32(float a) {
    if (a != a) return 0x7fff;
    reid_emulator_v4f v = {a, 0.0f, 0.0f, 0.0f};
    return (unsigned short)((reid_emulator_v8s)__builtin_ia32_vcvtps2ph(v, 0))[0];
}

/* cvt.f32.f16: exact. */
REID_EMULATOR_FN float reid_f32_from_f16(unsigned short a) {
    reid_emulator_v8s v = {(short)a, 0, 0, 0, 0, 0, 0, 0};
    return ((reid_emulator_v4f)__builtin_ia32_vcvtph2ps(v))[0];
}

/* cvt.rn.f16x2.f32 (two cvt.rn.f16.f32 on sm_75): first in the low half. */
REID_EMULATOR_FN unsigned reid_f16x2_from_f32(float low, float high) {
    return reid_f16_from_f32(low) | (unsigned)reid_f16_from_f32(high) << 16;
}

/* red.global.add.u32, where there is something to add. */
REID_EMULATOR_FN void reid_add_nonzero(unsigned *p, unsigned v, REID_EMULATOR_LINE) {
    if (v) (void)atomicAdd(p, v, line);
}

/* cvt.f32.f16 of the low and of the high half. */
REID_EMULATOR_FN float reid_f32_from_f16x2_low(unsigned a) { return reid_f32_from_f16((unsigned short)a); }
REID_EMULATOR_FN float reid_f32_from_f16x2_high(unsigned a) { return reid_f32_from_f16((unsigned short)(a >> 16)); }

#if __CUDA_ARCH__ >= 800
/* max.NaN.f16x2: of the low halves and of the high ones; -0 is less than 0, a NaN wins and becomes 0x7fff. */
REID_EMULATOR_FN unsigned short reid_emulator_max_f16(unsigned short a, unsigned short b) {
    float x = reid_f32_from_f16(a), y = reid_f32_from_f16(b);
    if (x != x || y != y) return 0x7fff;
    return x > y || (x == y && b >> 15) ? a : b;
}
REID_EMULATOR_FN unsigned reid_max_f16x2(unsigned a, unsigned b) {
    return reid_emulator_max_f16((unsigned short)a, (unsigned short)b) |
           (unsigned)reid_emulator_max_f16((unsigned short)(a >> 16), (unsigned short)(b >> 16)) << 16;
}
#endif

#if __CUDA_ARCH__ >= 800
/* The same of bf16: cvt.rn.bf16.f32, a shift (a bf16 is the upper half of a float), cvt.rn.bf16x2.f32,
   max.NaN.bf16x2. */
REID_EMULATOR_FN unsigned short reid_bf16_from_f32(float a) {
    unsigned bits = __float_as_uint(a);
    return a != a ? 0x7fff : (unsigned short)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
REID_EMULATOR_FN float reid_f32_from_bf16(unsigned short a) { return __uint_as_float((unsigned)a << 16); }
REID_EMULATOR_FN unsigned reid_bf16x2_from_f32(float low, float high) {
    return reid_bf16_from_f32(low) | (unsigned)reid_bf16_from_f32(high) << 16;
}
REID_EMULATOR_FN unsigned short reid_emulator_max_bf16(unsigned short a, unsigned short b) {
    float x = reid_f32_from_bf16(a), y = reid_f32_from_bf16(b);
    if (x != x || y != y) return 0x7fff;
    return x > y || (x == y && b >> 15) ? a : b;
}
REID_EMULATOR_FN unsigned reid_max_bf16x2(unsigned a, unsigned b) {
    return reid_emulator_max_bf16((unsigned short)a, (unsigned short)b) |
           (unsigned)reid_emulator_max_bf16((unsigned short)(a >> 16), (unsigned short)(b >> 16)) << 16;
}
#endif

/* cvt.pack.sat.u8.s32.b32, cvt.pack.sat.s8.s32.b32: low, high, then the lower half of rest. */
REID_EMULATOR_FN unsigned reid_pack_u8(int high, int low, unsigned rest) {
    return (unsigned)max(min(low, 255), 0) | (unsigned)max(min(high, 255), 0) << 8 | rest << 16;
}
REID_EMULATOR_FN unsigned reid_pack_s8(int high, int low, unsigned rest) {
    return ((unsigned)max(min(low, 127), -128) & 255) | ((unsigned)max(min(high, 127), -128) & 255) << 8 | rest << 16;
}

/* ---- one special-function instruction each; a GPU's last bits differ ---- */
REID_EMULATOR_FN float reid_exp2_approx(float a) { return exp2f(a); }  /* ex2.approx.ftz.f32 */
REID_EMULATOR_FN float reid_rcp_approx(float a) { return 1.0f / a; }   /* rcp.approx.ftz.f32 */
REID_EMULATOR_FN float reid_tanh_approx(float a) { return tanhf(a); }  /* tanh.approx.f32, sm_75 */

/* ---- tensor cores: d += a * b for a warp; layouts as in the PTX manual ---- */
#if __CUDA_ARCH__ >= 750
/* mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32: a 16x8, b 8x8, d 16x8. */
REID_EMULATOR_FN void reid_mma_m16n8k8(float d[4], const unsigned a[2], const unsigned b[1], REID_EMULATOR_LINE) {
    struct reid_emulator_lane lane = {};
    lane.a = a, lane.b = b, lane.d = d;
    reid_emulator.warp(REID_EMULATOR_MMA_K8, 0xffffffffu, &lane, line);
}

/* ldmatrix.sync.aligned.m8n8.x{1,2,4}[.trans].shared.b16: lane i gives the address of row i % 8 of matrix i / 8. */
REID_EMULATOR_FN void reid_emulator_ldmatrix(enum reid_emulator_op op, unsigned count, unsigned *r, unsigned row,
                                             int line) {
    struct reid_emulator_lane lane = {};
    lane.value = row, lane.count = count, lane.r = r;
    reid_emulator.warp(op, 0xffffffffu, &lane, line);
}
REID_EMULATOR_FN void reid_ldmatrix_x1(unsigned r[1], unsigned row, REID_EMULATOR_LINE) {
    reid_emulator_ldmatrix(REID_EMULATOR_LDMATRIX, 1, r, row, line);
}
REID_EMULATOR_FN void reid_ldmatrix_x2(unsigned r[2], unsigned row, REID_EMULATOR_LINE) {
    reid_emulator_ldmatrix(REID_EMULATOR_LDMATRIX, 2, r, row, line);
}
REID_EMULATOR_FN void reid_ldmatrix_x4(unsigned r[4], unsigned row, REID_EMULATOR_LINE) {
    reid_emulator_ldmatrix(REID_EMULATOR_LDMATRIX, 4, r, row, line);
}
REID_EMULATOR_FN void reid_ldmatrix_x1_trans(unsigned r[1], unsigned row, REID_EMULATOR_LINE) {
    reid_emulator_ldmatrix(REID_EMULATOR_LDMATRIX_TRANS, 1, r, row, line);
}
REID_EMULATOR_FN void reid_ldmatrix_x2_trans(unsigned r[2], unsigned row, REID_EMULATOR_LINE) {
    reid_emulator_ldmatrix(REID_EMULATOR_LDMATRIX_TRANS, 2, r, row, line);
}
REID_EMULATOR_FN void reid_ldmatrix_x4_trans(unsigned r[4], unsigned row, REID_EMULATOR_LINE) {
    reid_emulator_ldmatrix(REID_EMULATOR_LDMATRIX_TRANS, 4, r, row, line);
}
#endif

#if __CUDA_ARCH__ >= 800
/* mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32: a 16x16, b 16x8, d 16x8; and of bf16. */
REID_EMULATOR_FN void reid_mma_m16n8k16(float d[4], const unsigned a[4], const unsigned b[2], REID_EMULATOR_LINE) {
    struct reid_emulator_lane lane = {};
    lane.a = a, lane.b = b, lane.d = d;
    reid_emulator.warp(REID_EMULATOR_MMA_K16, 0xffffffffu, &lane, line);
}
REID_EMULATOR_FN void reid_mma_m16n8k16_bf16(float d[4], const unsigned a[4], const unsigned b[2], REID_EMULATOR_LINE) {
    struct reid_emulator_lane lane = {};
    lane.a = a, lane.b = b, lane.d = d, lane.width = 2;
    reid_emulator.warp(REID_EMULATOR_MMA_K16, 0xffffffffu, &lane, line);
}

/* dp4a.u32.s32: sum + four products of an unsigned byte and a signed one. */
REID_EMULATOR_FN int reid_dp4a(unsigned a, unsigned b, int sum) {
    for (unsigned i = 0; i < 32; i += 8) sum += (int)(a >> i & 255) * (int)(signed char)(b >> i & 255);
    return sum;
}

/* mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32: a 16x32, b 32x8, d 16x8. */
REID_EMULATOR_FN void reid_mma_m16n8k32(int d[4], const unsigned a[4], const unsigned b[2], REID_EMULATOR_LINE) {
    struct reid_emulator_lane lane = {};
    lane.a = a, lane.b = b, lane.d = (float *)d;
    reid_emulator.warp(REID_EMULATOR_MMA_U8S8, 0xffffffffu, &lane, line);
}

/* ---- asynchronous copies, global to shared: 4, 8 or 16 bytes of which the first source_bytes are read, the rest
   zero. They land at the issuing thread's wait; until then the destination holds a NaN pattern. ---- */
REID_EMULATOR_FN void reid_cp_async_4(unsigned to, const void *from, unsigned source_bytes, REID_EMULATOR_LINE) {
    reid_emulator.copy_async(to, from, 4, source_bytes, line); /* cp.async.ca.shared.global [to], [from], 4, n */
}
REID_EMULATOR_FN void reid_cp_async_8(unsigned to, const void *from, unsigned source_bytes, REID_EMULATOR_LINE) {
    reid_emulator.copy_async(to, from, 8, source_bytes, line); /* cp.async.ca.shared.global [to], [from], 8, n */
}
REID_EMULATOR_FN void reid_cp_async_16(unsigned to, const void *from, unsigned source_bytes, REID_EMULATOR_LINE) {
    reid_emulator.copy_async(to, from, 16, source_bytes, line); /* cp.async.cg.shared.global [to], [from], 16, n */
}
REID_EMULATOR_FN void reid_cp_async_commit(REID_EMULATOR_LINE) { /* cp.async.commit_group */
    reid_emulator.copy_commit(line);
}
template <int reid_groups> REID_EMULATOR_FN void reid_cp_async_wait(REID_EMULATOR_LINE) { /* cp.async.wait_group N */
    static_assert(reid_groups >= 0, "a count of groups that may stay in flight");
    reid_emulator.copy_wait((unsigned)reid_groups, line);
}
REID_EMULATOR_FN void reid_cp_async_wait_all(REID_EMULATOR_LINE) { /* cp.async.wait_all: committed or not */
    reid_emulator.copy_wait_all(line);
}
#endif

/* ---- addresses, barriers, time ---- */
REID_EMULATOR_FN unsigned reid_shared_address(const void *pointer, REID_EMULATOR_LINE) { /* generic to .shared */
    return reid_emulator.shared_address(pointer, line);
}
REID_EMULATOR_FN uint4 reid_load_once_16(const void *from) { /* ld.global.nc.L1::no_allocate.v4.u32 */
    return *(const uint4 *)from;
}
REID_EMULATOR_FN void reid_store_16(void *to, uint4 v) { *(uint4 *)to = v; } /* st.global.v4.u32 */
REID_EMULATOR_FN void reid_bar_sync(unsigned id, unsigned threads, REID_EMULATOR_LINE) { /* bar.sync id, threads */
    reid_emulator.barrier(id, threads, line);
}
REID_EMULATOR_FN unsigned long long reid_globaltimer(void) { /* mov.u64 %0, %globaltimer: nanoseconds */
    return reid_emulator.timer();
}

#endif
