/* bugs.cu: kernels with one bug each, for test_bugs.c, which also has the expected reports. It is compiled with
   sample.cu, which has the PTX wrappers, in front of it. All run with 2 blocks of 64 threads; `in` and `out` hold 128
   floats. */

#define INDEX (blockIdx.x * 64 + threadIdx.x)
#define WORDS ((float *)reid_shared)

/* Nothing wrong: what the others would do without their bug. */
extern "C" __global__ void fine(const float *in, float *out, int n) {
    WORDS[threadIdx.x] = in[INDEX];
    __syncthreads();
    out[INDEX] = WORDS[63 - threadIdx.x];
}

/* ---- addresses ---- */

extern "C" __global__ void global_write(const float *in, float *out, int n) {
    out[INDEX] = in[INDEX];
    if (INDEX == 77) out[n] = 0.0f;
}

extern "C" __global__ void global_read(const float *in, float *out, int n) { out[INDEX] = in[INDEX + 1]; }

extern "C" __global__ void shared_write(const float *in, float *out, int n) {
    out[INDEX] = in[INDEX];
    if (INDEX == 77) WORDS[64] = 0.0f;
}

/* A row of the wrong buffer of a plan: far from where it should be. */
extern "C" __global__ void neighbour_write(const float *in, float *out, int n) {
    out[INDEX] = in[INDEX];
    if (INDEX == 77) out[n * 1000] = 0.0f;
}

extern "C" __global__ void misaligned(const float *in, float *out, int n) {
    float4 v = *(const float4 *)(in + threadIdx.x + (INDEX == 77));
    out[INDEX] = v.x;
}

extern "C" __global__ void freed(const float *in, float *out, int n) { out[INDEX] = in[INDEX]; }

extern "C" __global__ void host_pointer(const float *in, float *out, int n) { out[INDEX] = in[INDEX]; }

extern "C" __global__ void local_index(const float *in, float *out, int n) {
    float values[4] = {1.0f, 2.0f, 3.0f, 4.0f};
    int last = n == 128 && INDEX == 77 ? 4 : 3;
    for (int i = 0; i <= last; i++) values[i] *= in[INDEX];
    out[INDEX] = values[0] + values[n % 4] + values[(n + 1) % 4];
}

extern "C" __global__ void copy_misaligned(const float *in, float *out, int n) {
    float *to = WORDS + threadIdx.x / 4 * 4 + (INDEX == 77);
    if (threadIdx.x % 4 == 1) reid_cp_async_16(reid_shared_address(to), in, 16);
    reid_cp_async_wait_all();
}

extern "C" __global__ void copy_outside(const float *in, float *out, int n) {
    reid_cp_async_4(reid_shared_address(WORDS + threadIdx.x), in + INDEX + (INDEX == 127), 4);
    reid_cp_async_wait_all();
}

extern "C" __global__ void ldmatrix_outside(const float *in, float *out, int n) {
    unsigned r[4];
    for (int i = 0; i < 64; i += 64) WORDS[i + threadIdx.x] = 0.0f;
    __syncthreads();
    reid_ldmatrix_x4(r, reid_shared_address(reid_shared) + threadIdx.x % 16 * 16 + (INDEX == 77 ? 256 : 0));
    out[INDEX] = (float)r[0];
}

/* ---- order ---- */

extern "C" __global__ void no_barrier(const float *in, float *out, int n) {
    WORDS[threadIdx.x] = in[INDEX];
    out[INDEX] = WORDS[63 - threadIdx.x];
}

extern "C" __global__ void no_second_barrier(const float *in, float *out, int n) {
    float sum = 0.0f;
    for (int round = 0; round < 8; round++) {
        WORDS[threadIdx.x] = in[INDEX] + (float)round;
        __syncthreads();
        sum += WORDS[63 - threadIdx.x] - (float)round;
    }
    out[INDEX] = sum / 8.0f;
}

extern "C" __global__ void no_syncwarp(const float *in, float *out, int n) {
    WORDS[threadIdx.x] = in[INDEX];
    out[INDEX] = WORDS[threadIdx.x ^ 31];
}

extern "C" __global__ void no_copy_wait(const float *in, float *out, int n) {
    reid_cp_async_4(reid_shared_address(WORDS + threadIdx.x), in + INDEX, 4);
    reid_cp_async_commit();
    __syncthreads();
    out[INDEX] = WORDS[63 - threadIdx.x];
}

extern "C" __global__ void weak_copy_wait(const float *in, float *out, int n) {
    reid_cp_async_4(reid_shared_address(WORDS + threadIdx.x), in + INDEX, 4);
    reid_cp_async_commit();
    reid_cp_async_wait<1>(); /* as if another group had been committed */
    __syncthreads();
    out[INDEX] = WORDS[63 - threadIdx.x];
}

extern "C" __global__ void no_copy_barrier(const float *in, float *out, int n) {
    reid_cp_async_4(reid_shared_address(WORDS + threadIdx.x), in + INDEX, 4);
    reid_cp_async_wait_all();
    out[INDEX] = WORDS[63 - threadIdx.x];
}

/* Two stages; the one that other threads may still read is filled again. 512 bytes of shared memory. */
extern "C" __global__ void stage_overwritten(const float *in, float *out, int n) {
    float sum = 0.0f;
    reid_cp_async_4(reid_shared_address(WORDS + threadIdx.x), in + INDEX, 4);
    reid_cp_async_commit();
    for (int round = 0; round < 8; round++) {
        reid_cp_async_4(reid_shared_address(WORDS + (round + 1) % 2 * 64 + threadIdx.x), in + INDEX, 4);
        reid_cp_async_commit();
        reid_cp_async_wait<1>();
        __syncthreads();
        sum += WORDS[round % 2 * 64 + 63 - threadIdx.x]; /* a barrier is missing after this */
    }
    out[INDEX] = sum / 8.0f;
}

extern "C" __global__ void divergent_barrier(const float *in, float *out, int n) {
    if (threadIdx.x % 2 == 0) __syncthreads();
    out[INDEX] = in[INDEX];
}

extern "C" __global__ void early_return(const float *in, float *out, int n) {
    if (threadIdx.x >= 32) return;
    __syncthreads();
    out[INDEX] = in[INDEX];
}

extern "C" __global__ void lost_lane(const float *in, float *out, int n) {
    float v = in[INDEX];
    if (threadIdx.x % 32 != 3) v += __shfl_xor_sync(0xffffffffu, v, 1);
    out[INDEX] = v;
}

extern "C" __global__ void blocks_race(const float *in, float *out, int n) { out[threadIdx.x] = in[INDEX]; }

/* ---- values ---- */

extern "C" __global__ void uninitialised(const float *in, float *out, int n) { out[INDEX] = in[INDEX] * 0.0f; }

extern "C" __global__ void uninitialised_shared(const float *in, float *out, int n) {
    if (threadIdx.x < 60) WORDS[threadIdx.x] = in[INDEX];
    __syncthreads();
    out[INDEX] = fmaxf(WORDS[threadIdx.x] - 1000.0f, WORDS[threadIdx.x]);
}

extern "C" __global__ void division(const float *in, float *out, int n) { out[INDEX] = (float)(100 / (n - 128)); }

extern "C" __global__ void trapped(const float *in, float *out, int n) {
    if (INDEX == 77) __trap();
}
