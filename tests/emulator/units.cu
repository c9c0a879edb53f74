/* units.cu: one kernel per thing that the prelude supplies, for test_units.c and test_numbers.c, which put sample.cu
   with its PTX wrappers in front. The real NVRTC compiles them, too, so every name here is one that NVRTC knows. */

extern "C" __global__ void unit_halves(const float *in, unsigned short *halves, float *back, unsigned *pairs, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    halves[i] = reid_f16_from_f32(in[i]);
    back[i] = reid_f32_from_f16((unsigned short)i);
    unsigned pair = reid_f16x2_from_f32(in[i], in[n - 1 - i]);
    pairs[i] = pair;
    pairs[n + i] = __float_as_uint(reid_f32_from_f16x2_low(pair) + reid_f32_from_f16x2_high(pair));
}

/* The larger halves of two pairs. */
extern "C" __global__ void unit_max(const unsigned *a, const unsigned *b, unsigned *out, int n) {
#if __CUDA_ARCH__ >= 800
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = reid_max_f16x2(a[i], b[i]);
#endif
}

/* Four numbers to bytes, and to signed ones. */
extern "C" __global__ void unit_pack(const int *in, unsigned *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const int *v = in + 4 * i;
    out[2 * i] = reid_pack_u8(v[1], v[0], reid_pack_u8(v[3], v[2], 0x7fff));
    out[2 * i + 1] = reid_pack_s8(v[1], v[0], reid_pack_s8(v[3], v[2], 0x7fff));
}

/* Fragments come from and go to memory as the test has laid them out: a[lane][4], b[lane][2], d[lane][4]. */
extern "C" __global__ void unit_mma_k8(const unsigned *a, const unsigned *b, float *d) {
    int lane = threadIdx.x;
    float sum[4];
    for (int i = 0; i < 4; i++) sum[i] = d[lane * 4 + i];
    reid_mma_m16n8k8(sum, a + lane * 4, b + lane * 2);
    for (int i = 0; i < 4; i++) d[lane * 4 + i] = sum[i];
}

extern "C" __global__ void unit_mma_k16(const unsigned *a, const unsigned *b, float *d) {
#if __CUDA_ARCH__ >= 800
    int lane = threadIdx.x;
    float sum[4];
    for (int i = 0; i < 4; i++) sum[i] = d[lane * 4 + i];
    reid_mma_m16n8k16(sum, a + lane * 4, b + lane * 2);
    for (int i = 0; i < 4; i++) d[lane * 4 + i] = sum[i];
#endif
}

extern "C" __global__ void unit_mma_u8(const unsigned *a, const unsigned *b, int *d) {
#if __CUDA_ARCH__ >= 800
    int lane = threadIdx.x;
    int sum[4];
    for (int i = 0; i < 4; i++) sum[i] = d[lane * 4 + i];
    reid_mma_m16n8k32(sum, a + lane * 4, b + lane * 2);
    for (int i = 0; i < 4; i++) d[lane * 4 + i] = sum[i];
#endif
}

/* 32 rows of 8 halves; row r lies at (31 - r) * 16, so that order and address differ. out[variant][lane][4]. */
extern "C" __global__ void unit_ldmatrix(const unsigned short *rows, unsigned *out) {
    int lane = threadIdx.x;
    unsigned r[4] = {0, 0, 0, 0};
    for (int i = 0; i < 8; i++) ((unsigned short *)reid_shared)[(31 - lane) * 8 + i] = rows[lane * 8 + i];
    __syncwarp();
    unsigned row = reid_shared_address(reid_shared + (31 - lane) * 16);
    for (int variant = 0; variant < 6; variant++) {
        if (variant == 0) reid_ldmatrix_x1(r, row);
        if (variant == 1) reid_ldmatrix_x2(r, row);
        if (variant == 2) reid_ldmatrix_x4(r, row);
        if (variant == 3) reid_ldmatrix_x1_trans(r, row);
        if (variant == 4) reid_ldmatrix_x2_trans(r, row);
        if (variant == 5) reid_ldmatrix_x4_trans(r, row);
        for (int i = 0; i < 4; i++) out[(variant * 32 + lane) * 4 + i] = r[i];
    }
}

/* out[variant][lane] */
extern "C" __global__ void unit_shuffles(const int *in, int *out) {
    int lane = threadIdx.x, v = in[lane], n = 0;
    unsigned all = 0xffffffffu;
    out[n++ * 32 + lane] = __shfl_sync(all, v, 5);
    out[n++ * 32 + lane] = __shfl_sync(all, v, lane * 7);
    out[n++ * 32 + lane] = __shfl_sync(all, v, 3, 8);
    out[n++ * 32 + lane] = __shfl_up_sync(all, v, 1);
    out[n++ * 32 + lane] = __shfl_up_sync(all, v, 3, 8);
    out[n++ * 32 + lane] = __shfl_down_sync(all, v, 1);
    out[n++ * 32 + lane] = __shfl_down_sync(all, v, 5, 16);
    out[n++ * 32 + lane] = __shfl_xor_sync(all, v, 16);
    out[n++ * 32 + lane] = __shfl_xor_sync(all, v, 9, 8);
    out[n++ * 32 + lane] = (int)__float_as_uint(__shfl_xor_sync(all, __uint_as_float((unsigned)v & 0x7fffffu), 1));
    out[n++ * 32 + lane] = (int)__ballot_sync(all, v > 0);
    out[n++ * 32 + lane] = __any_sync(all, v == in[7]) * 2 + __any_sync(all, v == 123456789);
    out[n++ * 32 + lane] = __all_sync(all, v != 123456789) * 2 + __all_sync(all, v == in[7]);
}

extern "C" __global__ void unit_math(const float *a, const float *b, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float x = a[i], y = b[i], p = fabsf(x) + 0.5f, r[] = {
        fmaf(x, y, p), fminf(x, y), fmaxf(x, y), sqrtf(p), rsqrtf(p), expf(x), exp2f(x), logf(p), log2f(p), tanhf(x),
        floorf(x), ceilf(x), truncf(x), rintf(x), roundf(x), copysignf(p, y), fabsf(x), powf(p, y), __expf(x),
        __logf(p), __fdividef(x, p), __frcp_rn(p), __fsqrt_rn(p), __fdiv_rn(x, p), __fadd_rn(__fmul_rn(x, y), p),
        __fsub_rn(__fmul_rn(x, y), p), __fmaf_rn(x, y, p), __saturatef(x), reid_exp2_approx(x), reid_rcp_approx(p),
        reid_tanh_approx(x), min(x, y), max(x, y), fmodf(x, p), sinf(x), cosf(x),
        (float)fma((double)x, (double)y, 1.0)};
    for (int k = 0; k < (int)(sizeof r / sizeof *r); k++) out[k * n + i] = r[k];
}

/* What a compiler would like to make fused multiply-adds of, and must not: out[operation][n]. */
extern "C" __global__ void unit_doubles(const double *a, const double *b, double *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double x = a[i], y = b[i], r[] = {
        __dadd_rn(x, y), __dsub_rn(x, y), __dmul_rn(x, y), __ddiv_rn(x, y), __dsqrt_rn(x * x),
        __dadd_rn(x * y, x), __dsub_rn(__dmul_rn(x, y), x), __dmul_rn(x, y) + x, __dsub_rn(x, x * y),
        (double)__fadd_rn((float)x * (float)y, (float)x), (double)((int)(x * 1000.0))};
    for (int k = 0; k < (int)(sizeof r / sizeof *r); k++) out[k * n + i] = r[k];
}

extern "C" __global__ void unit_bits(const unsigned *a, const float *f, unsigned *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned x = a[i], y = a[n - 1 - i], r[] = {
        (unsigned)__popc(x), (unsigned)__clz((int)x), (unsigned)__ffs((int)x), __brev(x), __umulhi(x, y),
        (unsigned)__mulhi((int)x, (int)y), __byte_perm(x, y, 0x5a31u), __funnelshift_l(x, y, i),
        __funnelshift_r(x, y, i), min(x, y), max(x, y), (unsigned)min((int)x, (int)y), (unsigned)max((int)x, (int)y),
        (unsigned)abs((int)(x >> 1)), (unsigned)__float2int_rn(f[i]), (unsigned)__float2int_rz(f[i]),
        (unsigned)__float2int_rd(f[i]), (unsigned)__float2int_ru(f[i]), __float2uint_rn(f[i]),
        __float_as_uint(__int2float_rn((int)x)), __float_as_uint(__uint2float_rn(x)), (unsigned)__float_as_int(f[i]),
        __float_as_uint(__int_as_float((int)x))};
    for (int k = 0; k < (int)(sizeof r / sizeof *r); k++) out[k * n + i] = r[k];
}

extern "C" __global__ void unit_atomics(unsigned *u, int *s, unsigned long long *l) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(&u[0], (unsigned)i);
    atomicMax(&u[1], (unsigned)i * 37u % 101u);
    atomicMin(&u[2], (unsigned)i * 37u % 101u + 5u);
    if (i == 3) atomicExch(&u[3], 77u);
    atomicCAS(&u[4], (unsigned)i, (unsigned)i + 1u);
    atomicAdd(s, -i);
    atomicAdd(l, 1ull << 33);
}

/* Copies of 4, 8 and 16 bytes, whole and cut short, in three groups. */
extern "C" __global__ void unit_copies(const unsigned char *from, unsigned char *out) {
#if __CUDA_ARCH__ >= 800
    int i = threadIdx.x;
    unsigned to = reid_shared_address(reid_shared);
    reid_cp_async_16(to + i * 16, from + i * 16, (unsigned)(i % 17));
    reid_cp_async_commit();
    reid_cp_async_8(to + 512 + i * 8, from + i * 8, (unsigned)(i % 9));
    reid_cp_async_commit();
    reid_cp_async_4(to + 768 + i * 4, from + i * 4, (unsigned)(i % 5));
    reid_cp_async_wait<1>();
    __syncthreads();
    for (int k = 0; k < 16; k++) out[i * 16 + k] = reid_shared[i * 16 + k];
    reid_cp_async_wait_all();
    __syncthreads();
    for (int k = i; k < 384; k += 32) out[512 + k] = reid_shared[512 + k];
#endif
}

/* Two pairs of warps, each with a barrier of its own, 0 and 1 writing for each other, 2 and 3 too. */
extern "C" __global__ void unit_named_barriers(int *out) {
    int *words = (int *)reid_shared, i = threadIdx.x, half = i / 64;
    for (int round = 0; round < 4; round++) {
        words[i] = i * 10 + round;
        reid_bar_sync((unsigned)half + 1, 64);
        out[round * 128 + i] = words[i ^ 32];
        reid_bar_sync((unsigned)half + 1, 64);
    }
}

struct unit_pair {
    float a;
    unsigned char b[5];
};
__constant__ int unit_table[4] = {10, 20, 30, 40};

/* Indices in three dimensions, a struct by value, vector loads, constants, time. */
extern "C" __global__ void unit_language(unit_pair pair, const float4 *in, float4 *out, unsigned *where) {
    unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    unsigned i = block * blockDim.x * blockDim.y * blockDim.z + thread;
    where[i] = i;
    if (i) return;
    float4 v = __ldg(in);
    uint4 raw = reid_load_once_16(in + 1);
    out[0] = make_float4(v.x + pair.a, v.y + pair.b[4], v.z + unit_table[2], v.w + warpSize);
    float2 low = make_float2(__uint_as_float(raw.x), __uint_as_float(raw.y));
    out[1] = make_float4(low.x, low.y, __uint_as_float(raw.z), __uint_as_float(raw.w));
    unsigned long long t0 = reid_globaltimer(), t1 = reid_globaltimer();
    out[2] = make_float4(t1 >= t0, (float)sizeof(size_t), (float)__CUDA_ARCH__, 0.0f);
}
