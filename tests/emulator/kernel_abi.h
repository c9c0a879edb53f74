/* kernel_abi.h: the interface between a compiled kernel file and the emulator.
   It is the first part of the prelude (so it includes nothing), and the emulator includes it. C99 and C++17. */
#ifndef REID_EMULATOR_KERNEL_ABI_H
#define REID_EMULATOR_KERNEL_ABI_H

#define REID_EMULATOR_ABI 6                      /* increased whenever a struct of this file changes */
#define REID_EMULATOR_SHARED_BYTES (228 * 1024)  /* storage behind the `extern __shared__` array */
#define REID_EMULATOR_SHARED_BASE 1024u          /* the .shared address of its first byte; zero is never valid */
#define REID_EMULATOR_RANK_BIT 24 /* a .shared::cluster address: rank + 1 is above it, 0 for the block itself */

/* Warp-wide operations: every lane of the warp must arrive at the same one. */
enum reid_emulator_op {
    REID_EMULATOR_SYNCWARP,
    REID_EMULATOR_SHFL_IDX,
    REID_EMULATOR_SHFL_UP,
    REID_EMULATOR_SHFL_DOWN,
    REID_EMULATOR_SHFL_XOR,
    REID_EMULATOR_BALLOT,
    REID_EMULATOR_MMA_K8,
    REID_EMULATOR_MMA_K16,
    REID_EMULATOR_MMA_U8S8,
    REID_EMULATOR_LDMATRIX,
    REID_EMULATOR_LDMATRIX_TRANS,
    REID_EMULATOR_STMATRIX,
    REID_EMULATOR_STMATRIX_TRANS,
    REID_EMULATOR_WGMMA,
    REID_EMULATOR_WGMMA_FENCE,
    REID_EMULATOR_WGMMA_COMMIT,
    REID_EMULATOR_WGMMA_WAIT,
    REID_EMULATOR_SETMAXNREG
};

/* Atomic operations, on 4 or 8 bytes, unsigned. */
enum reid_emulator_atomic {
    REID_EMULATOR_ADD,
    REID_EMULATOR_EXCHANGE,
    REID_EMULATOR_SWAP_IF,
    REID_EMULATOR_MAX,
    REID_EMULATOR_MIN
};

/* Operations on an mbarrier: its .shared address, and a count, bytes or a parity. */
enum reid_emulator_mbarrier {
    REID_EMULATOR_INIT,
    REID_EMULATOR_INVAL,
    REID_EMULATOR_ARRIVE,
    REID_EMULATOR_EXPECT_TX,
    REID_EMULATOR_ARRIVE_EXPECT_TX,
    REID_EMULATOR_TEST_WAIT,
    REID_EMULATOR_TRY_WAIT,
    REID_EMULATOR_TRY_WAIT_CLUSTER /* with .acquire.cluster: other blocks' writes become visible, too */
};

/* Operations on a cluster: ranks, its barrier, shared memory of any of its blocks by a .shared::cluster address. */
enum reid_emulator_cluster {
    REID_EMULATOR_RANK,
    REID_EMULATOR_SIZE,
    REID_EMULATOR_CLUSTER_ARRIVE,
    REID_EMULATOR_CLUSTER_ARRIVE_RELAXED,
    REID_EMULATOR_CLUSTER_WAIT,
    REID_EMULATOR_MAP,   /* a .shared address and a rank to a .shared::cluster address */
    REID_EMULATOR_LOAD,  /* four bytes */
    REID_EMULATOR_STORE,
    REID_EMULATOR_REMOTE_ARRIVE,          /* at an mbarrier, with .release.cluster */
    REID_EMULATOR_REMOTE_ARRIVE_CTA,      /* with .release.cta: makes nothing visible to the other block */
    REID_EMULATOR_REMOTE_ARRIVE_EXPECT_TX /* arrives there, and expects this many bytes */
};

/* Undefined behaviour that g++'s own checks found in a kernel. */
enum reid_emulator_ub { REID_EMULATOR_MISALIGNED, REID_EMULATOR_INDEX, REID_EMULATOR_SHIFT, REID_EMULATOR_ARITHMETIC };

/* The operands and results of one lane in a warp-wide operation.
   shuffle: value, lane (index, delta or mask), width -> value.   ballot: value (0 or 1) -> value (the mask).
   mma: a, b, d (in and out), width (2: of bf16).
   ldmatrix: value (.shared address of this lane's row), count (1, 2, 4), r.
   stmatrix: value and count likewise, a.   wgmma.wait_group: value (groups that may stay in flight).
   wgmma: first and second (descriptors of A and B), a (registers instead of A's descriptor, or NULL), d, count (n),
   width (1: of bytes, and the sums' bits are integers'; 2: of bf16), value (0: d is not added to).
   setmaxnreg: value, count (1: inc, 0: dec). */
struct reid_emulator_lane {
    unsigned value, lane, width, count;
    const unsigned *a, *b;
    float *d;
    unsigned *r;
    unsigned long long first, second;
};

/* The emulator's functions, called by the prelude. `line`: of the kernel text. None of them returns after a fault. */
struct reid_emulator_calls {
    void (*barrier)(unsigned id, unsigned threads, int line); /* threads == 0: all of the block */
    void (*warp)(enum reid_emulator_op op, unsigned mask, struct reid_emulator_lane *lane, int line);
    unsigned (*shared_address)(const void *pointer, int line);
    void (*copy_async)(unsigned destination, const void *source, unsigned bytes, unsigned source_bytes, int line);
    void (*copy_commit)(int line);
    void (*copy_wait)(unsigned groups_left, int line);
    void (*copy_wait_all)(int line);
    unsigned long long (*timer)(void);
    void (*fence)(void);
    unsigned long long (*atomic)(enum reid_emulator_atomic op, void *address, unsigned bytes, unsigned long long value,
                                 unsigned long long compare, int line); /* returns the previous value */
    void (*trap)(int line);
    void (*access)(const void *address, unsigned bytes, int is_write, void *pc); /* an ordinary load or store */
    void (*undefined)(enum reid_emulator_ub kind, const char *file, unsigned line, const void *address);
    unsigned (*mbarrier)(enum reid_emulator_mbarrier op, unsigned address, unsigned value, int line); /* wait: done? */
    void (*fence_mbarrier_init)(void);
    void (*fence_proxy_async)(int shared_only); /* of the block's own shared memory, or of everything */
    /* mask: of the blocks of the cluster that get it, by rank; 0: this one. */
    void (*bulk_load)(unsigned destination, const void *source, unsigned bytes, unsigned mbarrier, unsigned mask,
                      int line);
    void (*bulk_store)(void *destination, unsigned source, unsigned bytes, int line);
    void (*bulk_commit)(void);
    void (*bulk_wait)(unsigned groups_left, int read_only, int line); /* read_only: until the sources have been read */
    /* A box of a tensor map; rank coordinates, innermost first; offsets: rank - 2 of them, or NULL in tile mode. mask:
       as above. */
    void (*tensor_load)(unsigned destination, const void *map, unsigned rank, const int *coordinates,
                        const int *offsets, unsigned mbarrier, unsigned mask, int line);
    void (*tensor_store)(const void *map, unsigned rank, const int *coordinates, unsigned source, int line);
    void (*tensor_prefetch)(const void *map, int line);
    void (*grid_wait)(int line);
    void (*grid_launch_dependents)(int line);
    unsigned (*cluster)(enum reid_emulator_cluster op, unsigned address, unsigned value, int line);
    /* 16 bytes and the mbarrier that counts them, both by .shared::cluster addresses of one block. */
    void (*cluster_store_async)(unsigned address, const unsigned *words, unsigned mbarrier, int line);
};

struct reid_emulator_uint3 {
    unsigned x, y, z;
};

struct reid_emulator_kernel {
    const char *name;
    void (*call)(void **params);
    const unsigned *param_bytes;
    unsigned param_count;
    unsigned max_threads; /* of __launch_bounds__; 0: not given */
};

/* The one symbol that the emulator looks up in a module. */
struct reid_emulator_module {
    unsigned abi;
    const char *meta; /* "arch=90a mode=plain nvrtc=13.0 options=..." */
    const struct reid_emulator_kernel *kernels;
    unsigned kernel_count;
    unsigned char *shared; /* NULL: the file declares no shared array */
    struct reid_emulator_uint3 *thread_index, *block_index, *block_dim, *grid_dim;
    struct reid_emulator_calls *calls; /* filled in when the module is loaded */
};

#endif
