/* wgmma.h: Hopper's warpgroup MMA, one instruction per function, for the measuring programs of this folder. Compile for
   sm_90a with -DSM90A. m64nNk16, fp16 or bf16 in, fp32 sums; A from shared memory or from registers, B from shared
   memory, both K-major. The layouts are those of the PTX manual, "Asynchronous warpgroup-level matrix instructions". */
#ifndef REID_GPU_WGMMA_H
#define REID_GPU_WGMMA_H

typedef unsigned long long descriptor;

/* Describes where a K-major operand is. Without swizzle it is made of 8x8 core matrices of 128 contiguous bytes;
   `leading` is the distance of neighbours along K, `stride` along M or N. With the 128-byte swizzle a row is 64 halves,
   `leading` is ignored, and eight rows are 1024 bytes. */
static __device__ __forceinline__ descriptor describe(unsigned shared, unsigned leading, unsigned stride,
                                                      bool swizzle_128) {
    return (descriptor)((shared & 0x3ffff) >> 4) | (descriptor)(leading >> 4) << 16 | (descriptor)(stride >> 4) << 32 |
           (swizzle_128 ? 1ull << 62 : 0);
}

static __device__ __forceinline__ void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
static __device__ __forceinline__ void wgmma_commit() {
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
template <int groups> static __device__ __forceinline__ void wgmma_wait() {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(groups) : "memory");
}
/* Makes ordinary stores to shared memory visible to wgmma. Each writing thread calls it, before a barrier. */
static __device__ __forceinline__ void fence_async_proxy() {
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/* The list of sums, as operands and as text. */
#define SUMS4(d, i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define SUMS16(d, i) SUMS4(d, i), SUMS4(d, i + 4), SUMS4(d, i + 8), SUMS4(d, i + 12)
#define SUMS32(d) SUMS16(d, 0), SUMS16(d, 16)
#define SUMS64(d) SUMS32(d), SUMS16(d, 32), SUMS16(d, 48)
#define SUMS128(d) SUMS64(d), SUMS16(d, 64), SUMS16(d, 80), SUMS16(d, 96), SUMS16(d, 112)
#define TEN(t) "%" t "0,%" t "1,%" t "2,%" t "3,%" t "4,%" t "5,%" t "6,%" t "7,%" t "8,%" t "9,"
#define TEXT32 TEN("") TEN("1") TEN("2") "%30,%31"
#define TEXT64 TEN("") TEN("1") TEN("2") TEN("3") TEN("4") TEN("5") "%60,%61,%62,%63"
#define TEXT128 TEN("") TEN("1") TEN("2") TEN("3") TEN("4") TEN("5") TEN("6") TEN("7") TEN("8") TEN("9") TEN("10") \
    TEN("11") "%120,%121,%122,%123,%124,%125,%126,%127"

/* d += A B. d[4 j + 2 h + i] is row 16 warp + lane / 4 + 8 h, column 8 j + lane % 4 * 2 + i. brain: bf16. */
template <int n, bool brain = false> struct wgmma;
#define DEFINE_WGMMA(n, brain, type, sums, text, p0, p1, p2, p3, p4, p5)                                               \
    template <> struct wgmma<n, brain> {                                                                               \
        static __device__ __forceinline__ void from_shared(float *d, descriptor a, descriptor b) {                     \
            asm volatile("{ .reg .pred p; setp.ne.b32 p, " p2 ", 0;\n"                                                 \
                         "wgmma.mma_async.sync.aligned.m64n" #n "k16.f32." type "." type " {" text "}, " p0 ", " p1    \
                         ", p, 1, 1, 0, 0; }"                                                                          \
                         : sums(d)                                                                                     \
                         : "l"(a), "l"(b), "r"(1));                                                                    \
        }                                                                                                              \
        static __device__ __forceinline__ void from_registers(float *d, const unsigned a[4], descriptor b) {           \
            asm volatile("{ .reg .pred p; setp.ne.b32 p, " p5 ", 0;\n"                                                 \
                         "wgmma.mma_async.sync.aligned.m64n" #n "k16.f32." type "." type " {" text "}, "               \
                         "{" p0 "," p1 "," p2 "," p3 "}, " p4 ", p, 1, 1, 0; }"                                        \
                         : sums(d)                                                                                     \
                         : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(1));                                \
        }                                                                                                              \
    };
#define DEFINE_WGMMAS(brain, type)                                                                                     \
    DEFINE_WGMMA(64, brain, type, SUMS32, TEXT32, "%32", "%33", "%34", "%35", "%36", "%37")                            \
    DEFINE_WGMMA(128, brain, type, SUMS64, TEXT64, "%64", "%65", "%66", "%67", "%68", "%69")                           \
    DEFINE_WGMMA(256, brain, type, SUMS128, TEXT128, "%128", "%129", "%130", "%131", "%132", "%133")
DEFINE_WGMMAS(false, "f16")
DEFINE_WGMMAS(true, "bf16")

#endif
