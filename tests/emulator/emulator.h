/* emulator.h: declarations shared by the parts of libcuda.so.1:
   settings.c   environment variables            report.c    fault reports, sticky faults, signals, ASan's last words
   threads.c    fibers: one per CUDA thread      launch.c    a block: scheduling, barriers, deadlocks
   grid.c       grids: order, overlap            cluster.c   clusters: their barrier, each other's shared memory
   warp.c       shuffles, mma, ldmatrix          copies.c    cp.async
   mbarrier.c   mbarriers, waits for a phase     bulk.c      cp.async.bulk, landing
   remote.c     stores to other blocks, becoming visible
   tensor.c     cp.async.bulk.tensor             wgmma.c     wgmma, setmaxnreg
   check.c      every load and store, races      memory.c    device and pinned memory
   driver_*.c   the CUDA driver API              calls.c     entering a driver call, fault injection, live objects */
#ifndef REID_EMULATOR_H
#define REID_EMULATOR_H

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_api.h"
#include "kernel_abi.h"

#if !defined(__x86_64__)
#error "the emulator switches fibers in x86-64 assembly"
#endif

#if defined(__SANITIZE_ADDRESS__) || defined(REID_EMULATOR_ASAN)
#define EMU_ASAN 1
#define EMU_MODE "asan"
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#else
#define EMU_ASAN 0
#define EMU_MODE "plain"
#endif

#define EMU_API __attribute__((visibility("default")))
#define EMU_PRINTF(text, first) __attribute__((format(printf, text, first)))
#define EMU_NORETURN __attribute__((noreturn))
#define EMU_MAX_DEVICES 8
#define EMU_MAX_WORKERS 16
#define EMU_MAX_THREADS 1024 /* of a block */
#define EMU_WARPS (EMU_MAX_THREADS / 32)
#define EMU_BARRIERS 16
#define EMU_MBARRIERS 128     /* of a block */
#define EMU_ASYNC EMU_WARPS   /* check.c: asynchronous copies in tables that have an entry per warp */
#define EMU_REMOTE (EMU_WARPS + 1) /* check.c: stores by other blocks of the cluster, in the same tables */
#define EMU_CLOCKS (EMU_WARPS + 2)

/* ---- settings.c ---- */
/* A device that takes time and computes nothing, see pace.c. */
typedef struct emu_pace {
    int on;
    double graph, kernel; /* microseconds of a launch */
    double gbs;           /* GB/s of a copy */
} emu_pace;
void emu_pace_read(emu_pace *pace, const char *text);

typedef struct emu_settings {
    int arch, sms, devices, driver_version, workers;
    int check; /* kernels are compiled with a call per load and store */
    int eager; /* stream work runs at once */
    emu_pace pace;
    int tensor_sums; /* tensor_sum.h instead of chains of multiply-adds */
    int trace, abort_on_report, print_live;
    size_t memory; /* bytes of a device */
    uint64_t seed; /* 0: threads and blocks in their natural order */
    const char *fail;
} emu_settings;
const emu_settings *emu_get_settings(void);
uint64_t emu_random(uint64_t *state);
const char *emu_mode(void); /* "plain", "check" or "asan": kernels of another mode are refused */

/* ---- memory.c ---- */
typedef struct emu_context emu_context;
typedef struct emu_word emu_word;
typedef struct emu_cell emu_cell;
typedef struct emu_allocation {
    uintptr_t base;
    size_t bytes;
    emu_context *context;
    unsigned long number;   /* counted from 1, for reports */
    int pinned;             /* host memory of cuMemHostAlloc */
    unsigned char *block;   /* what free() gets: the memory and its guards */
    emu_word *words;        /* check mode: the last write to every four bytes */
    unsigned char *filled;  /* check mode: a bit per four bytes that have been written */
} emu_allocation;
CUresult emu_allocate(emu_context *context, size_t bytes, int pinned, void **pointer);
CUresult emu_release(uintptr_t pointer, int pinned);
void emu_release_all(emu_context *context);
emu_allocation *emu_find(uintptr_t address);         /* device memory that contains the address, or NULL */
emu_allocation *emu_find_pinned(uintptr_t address);  /* pinned host memory that contains the address, or NULL */
void emu_describe(uintptr_t address, char *text, size_t size); /* "12 bytes past the end of allocation #3 (64 bytes)" */
void emu_mark_filled(uintptr_t address, size_t bytes);
size_t emu_bytes_used(int device); /* -1: of all devices */
size_t emu_allocations_of(const emu_context *context); /* NULL: of all; pinned ones too */
int emu_guards_intact(char *text, size_t size); /* 0: something wrote outside an allocation, which text names */
void emu_device_memory_open(int open);          /* ASan: device memory is poisoned while no device work runs */

/* ---- threads.c: a CUDA thread is a fiber of the worker's OS thread ---- */
typedef struct emu_worker emu_worker;
typedef struct emu_copy {
    unsigned to, bytes, source_bytes, group;
    const void *from;
    int taken; /* its source has been read */
    unsigned char data[16];
} emu_copy;
typedef enum {
    EMU_READY,
    EMU_AT_BARRIER,
    EMU_AT_WARP,
    EMU_AT_MBARRIER,
    EMU_AT_TRIGGER, /* griddepcontrol.launch_dependents: the next grid begins before it goes on */
    EMU_AT_GRID,    /* griddepcontrol.wait */
    EMU_AT_CLUSTER, /* barrier.cluster.wait */
    EMU_EXITED
} emu_state;
typedef struct emu_thread {
    void *stack_pointer, *fake_stack;
    unsigned index, warp, lane; /* in the block */
    struct reid_emulator_uint3 position;
    emu_state state;
    unsigned barrier;                    /* EMU_AT_BARRIER */
    enum reid_emulator_op op;            /* EMU_AT_WARP */
    struct reid_emulator_lane *operands; /* EMU_AT_WARP */
    unsigned mbarrier, parity;           /* EMU_AT_MBARRIER: its offset in shared memory, the parity waited for */
    int polls, gave_up;                  /* EMU_AT_MBARRIER: test_wait, which returns at once; or try_wait has just
                                            given up */
    int line;                            /* of the text, where it waits */
    emu_copy *copies;                    /* cp.async not landed yet, oldest first */
    unsigned copy_count, copy_capacity, groups;
    unsigned bulk_groups; /* committed */
    unsigned cluster_phase; /* of barrier.cluster: the phase it has arrived at, plus 1; 0: it has not */
} emu_thread;
int emu_stacks_create(emu_worker *worker);
void emu_stacks_destroy(emu_worker *worker);
void emu_thread_start(emu_worker *worker, unsigned index);
void emu_thread_resume(emu_worker *worker, emu_thread *thread); /* returns when it waits, exits or faults */
void emu_thread_yield(emu_worker *worker);                      /* to the next lane, or back to the scheduler */
EMU_NORETURN void emu_thread_abandon(emu_worker *worker);
enum { EMU_STACK_BYTES = EMU_ASAN ? 512 * 1024 : 128 * 1024 };

/* ---- launch.c ---- */
typedef struct emu_module emu_module;
typedef struct emu_function {
    emu_module *module;
    unsigned number; /* in the module's table */
    int max_dynamic_shared, carveout, large_clusters; /* clusters of up to 16 blocks */
} emu_function;
typedef struct emu_launch {
    const emu_function *function;
    unsigned grid[3], block[3], shared;
    unsigned cluster[3]; /* blocks; 0: no clusters */
    int programmatic; /* it may begin before the previous launch is over */
    void **params; /* own copies: param_count pointers, then the bytes */
    size_t params_bytes;
} emu_launch;
typedef struct emu_tensor emu_tensor; /* wgmma.c */
typedef struct emu_warp {
    unsigned members, arrived; /* lanes that exist; lanes that wait at `op` */
    enum reid_emulator_op op;
    emu_tensor *tensor; /* NULL: it has not used wgmma yet */
    /* check.c: this warp's time; when its lanes last met; for each warp, the time up to which this one is ordered after
       */
    uint32_t clock, met, seen[EMU_CLOCKS];
} emu_warp;
typedef struct emu_mbarrier {
    unsigned offset, expected, pending, phase; /* of shared memory; arrivals of a phase, still missing; from 0 */
    int tx;                                    /* bytes expected less bytes landed, of this phase */
    int fenced;                                /* its initialisation has been made visible to asynchronous copies */
    uint32_t arrived[EMU_CLOCKS], done[EMU_CLOCKS]; /* check.c: events before the end of this phase, and of the last one
                                                       */
} emu_mbarrier;
typedef struct emu_span { /* contiguous bytes of a bulk copy */
    uintptr_t global;
    unsigned offset, bytes; /* in shared memory */
    unsigned from, to;      /* the bytes in between are in the tensor; a load writes zeros for the others */
} emu_span;
typedef struct emu_bulk { /* a bulk copy under way */
    emu_span *spans;
    unsigned span_count, bytes, thread; /* bytes: of all spans */
    unsigned mbarrier, group;           /* a load's; a store's */
    emu_worker *to;                     /* a load's: the block whose shared memory it is */
    unsigned char *data;      /* a store's, once it has been read from shared memory */
    int line;
} emu_bulk;
typedef struct emu_bulks {
    emu_bulk *list; /* oldest first */
    unsigned count, capacity;
} emu_bulks;
typedef struct emu_remote { /* a store to another block's shared memory, or st.async, under way */
    emu_worker *to;
    unsigned offset, bytes, thread, words[4];
    unsigned mbarrier; /* offset of the mbarrier that counts it; a plain store has none */
    uint32_t clock;    /* check.c: of the storing warp */
    int line;
} emu_remote;
typedef struct emu_remotes {
    emu_remote *list;
    unsigned count, capacity;
} emu_remotes;
typedef struct emu_team { /* blocks that run at the same time: a cluster, or one */
    emu_worker *members[EMU_MAX_WORKERS];
    unsigned size;
    unsigned arrived, phase; /* of barrier.cluster */
    int relaxed;             /* a thread of this phase has arrived without .release */
} emu_team;
typedef struct emu_run { /* a launch in progress, shared by its workers */
    const emu_launch *launch;
    uint64_t blocks, next, stride, offset; /* clusters run in the order (i * stride + offset) % blocks */
    CUresult fault;
    emu_team team;      /* the workers that run its blocks, unless several OS threads do */
    int running;        /* blocks have begun and not ended */
    uint32_t number;    /* among all launches, from 1 */
    int followed;       /* launch_dependents lets the next launch begin */
    int early, alone;   /* it began before the previous launch was over; that is over now */
    int waited;         /* a thread has reached griddepcontrol.wait */
} emu_run;
struct emu_worker {
    emu_run *run;
    emu_team *team;
    unsigned rank; /* in the team */
    int begun;     /* a thread of the block has run */
    const struct reid_emulator_module *instance; /* this worker's copy of the module: its own shared array */
    const struct reid_emulator_kernel *kernel;
    unsigned thread_count, warp_count, shared_bytes;
    emu_thread *current; /* NULL: the scheduler runs */
    emu_thread threads[EMU_MAX_THREADS];
    emu_warp warps[EMU_WARPS];
    unsigned char lane_order[32], lane_place[32]; /* the order in which the lanes of a warp take turns; a lane's place
                                                     in it */
    unsigned barrier_arrived[EMU_BARRIERS], barrier_threads[EMU_BARRIERS], exited;
    emu_mbarrier mbarriers[EMU_MBARRIERS];
    unsigned mbarrier_count, idle_rounds;
    int landing; /* the thread that is resumed lands a copy first */
    emu_bulks loads, stores;
    emu_remotes sent, counted; /* remote.c: plain stores that no release has covered yet; st.async */
    uint32_t released[EMU_CLOCKS]; /* check.c: events before the end of this phase of barrier.cluster */
    uint32_t fenced[EMU_CLOCKS]; /* check.c: events covered by a fence.proxy.async of all state spaces */
    CUresult fault;
    void *scheduler_stack, *scheduler_fake_stack;
    const void *scheduler_bottom; /* ASan: the scheduler's own stack */
    size_t scheduler_bytes;
    unsigned char *stacks;
    void (*entry)(emu_worker *worker); /* what a fresh fiber runs */
    uint64_t random;
    emu_cell *cells; /* check mode: the last accesses to every two bytes of shared memory */
    uint32_t (*read_clocks)[EMU_WARPS]; /* check mode: when the warps read them */
    uint64_t *unfenced; /* check mode: a bit for every two bytes that may need a fence.proxy.async */
    uintptr_t module_base, module_bytes; /* the instance's own constants and variables */
    uint32_t clock, block_clock;
    uint32_t block_number; /* of the running block, among all blocks */
    int used_atomics;                 /* this block synchronises with others: no race reports between blocks */
    emu_allocation *recent[1024];     /* cache of emu_find by page */
    unsigned recent_version;
    char fault_text[256]; /* from a signal handler */
};
CUresult emu_module_instance(emu_module *module, emu_worker *worker, int number); /* driver_module.c */
const char *emu_kernel_name(const emu_function *function);
extern __thread emu_worker *emu_current_worker __attribute__((tls_model("initial-exec"))); /* NULL outside a kernel */
static inline emu_worker *emu_worker_now(void) { return emu_current_worker; }
void emu_block_begin(emu_worker *worker, uint64_t number);
void emu_block_end(emu_worker *worker);
unsigned emu_block_round(emu_worker *worker); /* every warp has a turn; 0: no thread could run */
unsigned emu_block_count(const emu_worker *worker, emu_state state); /* threads in it */
void emu_block_release(emu_worker *worker, emu_state state);         /* they go on */
void emu_block_deadlock(emu_worker *worker);
void emu_thread_main(emu_worker *worker);

/* ---- grid.c: launches that follow each other in a stream, all but the first of them programmatic ---- */
CUresult emu_run_launches(const emu_launch *const *launches, unsigned count);
void emu_grid_wait(int line);
void emu_grid_trigger(int line);
extern uint32_t emu_oldest_launch; /* those before it are over */
extern const struct reid_emulator_calls emu_kernel_calls;
emu_allocation *emu_worker_find(emu_worker *worker, uintptr_t address); /* device or pinned memory */

/* ---- cluster.c ---- */
unsigned emu_cluster_call(enum reid_emulator_cluster op, unsigned address, unsigned value, int line);
void emu_cluster_exit(emu_worker *worker); /* a thread has returned */
void emu_cluster_text(const emu_worker *worker, const emu_thread *thread, char *text, size_t size);
/* The block of the cluster whose shared memory is about to be accessed; a fault if it is not running. */
emu_worker *emu_cluster_member(emu_worker *worker, unsigned rank, const char *what, int line);
/* The block whose shared memory a .shared::cluster address is in; *address becomes the .shared address there. */
emu_worker *emu_cluster_resolve(emu_worker *worker, unsigned *address, const char *what, int line);

/* ---- warp.c, copies.c, check.c ---- */
void emu_warp_execute(emu_worker *worker, unsigned warp, enum reid_emulator_op op);
void emu_copy_async(unsigned to, const void *from, unsigned bytes, unsigned source_bytes, int line);
void emu_copy_commit(int line);
void emu_copy_wait(unsigned groups_left, int line);
void emu_copy_wait_all(int line);
void emu_copy_take(emu_thread *thread); /* the sources are read, though the copies land later */
void emu_access(const void *address, unsigned bytes, int is_write, void *pc);
void emu_undefined(enum reid_emulator_ub kind, const char *file, unsigned line, const void *address);
unsigned long long emu_atomic(enum reid_emulator_atomic op, void *address, unsigned bytes, unsigned long long value,
                              unsigned long long compare, int line);
enum {
    EMU_READ,
    EMU_WRITE,
    EMU_COPY_ISSUED,
    EMU_COPY_LANDED,
    EMU_ATOMIC,
    EMU_MBARRIER_INIT,
    EMU_MBARRIER_INVAL,
    EMU_MBARRIER_USE,
    EMU_BULK_ISSUED, /* a load: writes by the asynchronous proxy */
    EMU_BULK_LANDED,
    EMU_ASYNC_READ,  /* the asynchronous proxy may read from now on */
    EMU_ASYNC_DONE,  /* it has read, and this thread has waited for it */
    EMU_STORE_ISSUED, /* st.async: writes by the generic proxy, but later */
    EMU_STORE_LANDED
};
void emu_check_shared(emu_worker *worker, const emu_thread *thread, unsigned offset, unsigned bytes, int how, int line,
                      void *pc);
void emu_check_global(emu_worker *worker, const emu_thread *thread, emu_allocation *a, uintptr_t address,
                      unsigned bytes, int how, int line, void *pc);
int emu_check_allocation(emu_allocation *allocation); /* 0: out of memory */
int emu_check_begin(emu_worker *worker);              /* of a launch; 0: out of memory */
void emu_check_block(emu_worker *worker);
void emu_check_barrier(emu_worker *worker, const unsigned char *warps); /* a byte per warp: takes part */
void emu_check_warp(emu_worker *worker, unsigned warp);
void emu_check_release(emu_worker *worker, const emu_thread *thread, uint32_t *clocks); /* arrives: adds its past */
/* of_cluster: also acquires other blocks' stores. */
void emu_check_acquire(emu_worker *worker, const emu_thread *thread, const uint32_t *clocks, int of_cluster);
/* The time when something landed that no warp of the block wrote. what: EMU_ASYNC or EMU_REMOTE. */
void emu_check_landing(emu_worker *worker, uint32_t *clocks, unsigned what);
/* Whether a store of that time is ordered before this thread's present actions. */
int emu_check_before(const emu_worker *worker, const emu_thread *thread, unsigned by, uint32_t clock);
void emu_check_proxy_fence(emu_worker *worker, const emu_thread *thread, int shared_only);
void emu_check_remote(emu_worker *worker, unsigned offset, unsigned bytes, int how, int line); /* by another block */
void emu_check_cluster(emu_worker *worker, int relaxed); /* of a cluster whose barrier is complete */

/* ---- wgmma.c ---- */
void emu_wgmma_execute(emu_worker *worker, unsigned warp, enum reid_emulator_op op);
int emu_wgmma_owns(const emu_worker *worker, const emu_thread *thread, uintptr_t address, unsigned bytes);
void emu_wgmma_begin(emu_worker *worker); /* of a block */
void emu_wgmma_end(emu_worker *worker);

/* ---- mbarrier.c, bulk.c ---- */
unsigned emu_mbarrier_call(enum reid_emulator_mbarrier op, unsigned address, unsigned value, int line);
/* Another block arrives, or does so and expects bytes. */
void emu_mbarrier_remote(emu_worker *worker, enum reid_emulator_mbarrier op, unsigned address, unsigned value,
                         int releases, int line);
void emu_mbarrier_fence(void);
unsigned emu_mbarrier_for_copy(emu_worker *worker, unsigned address, const char *what, int line); /* its offset */
/* This many of the bytes that it counts have landed. remote: by another block's st.async. */
void emu_mbarrier_landed(emu_worker *worker, unsigned mbarrier, unsigned bytes, int remote);
void emu_mbarrier_text(const emu_worker *worker, const emu_thread *thread, char *text, size_t size);
int emu_mbarrier_land(emu_worker *worker); /* no thread can continue: lands a copy; 0: there is none */
int emu_mbarrier_poll(emu_worker *worker); /* lets test_wait end; 0: deadlock */
void emu_bulk_load(unsigned to, const void *from, unsigned bytes, unsigned mbarrier, unsigned mask, int line);
void emu_bulk_store(void *to, unsigned from, unsigned bytes, int line);
void emu_bulk_commit(void);
void emu_bulk_wait(unsigned groups_left, int read_only, int line);
void emu_bulk_land(emu_worker *worker); /* one load, any */
const emu_bulk *emu_bulk_load_for(const emu_worker *worker, unsigned mbarrier); /* one in flight, or NULL */
void emu_bulk_multicast(emu_worker *worker, emu_bulk *copy, unsigned mbarrier, unsigned mask); /* to these blocks */
/* A new copy by the running thread, with room for this many spans, which add_span appends; issue_... starts it. */
emu_bulk *emu_bulk_new(emu_bulks *copies, unsigned spans, int line);
void emu_bulk_add_span(emu_bulk *copy, const emu_span *span);
void emu_bulk_issue_load(emu_worker *worker, emu_bulk *copy, unsigned mbarrier);
void emu_bulk_issue_store(emu_worker *worker, emu_bulk *copy);
void emu_bulk_begin(emu_worker *worker); /* of a block */
void emu_bulk_end(emu_worker *worker);
void emu_fence_proxy_async(int shared_only);

/* ---- remote.c ---- */
void emu_remote_store(emu_worker *worker, emu_worker *to, unsigned offset, unsigned word, int line);
void emu_remote_release(emu_worker *worker); /* by the running thread, at the scope of the cluster */
void emu_remote_async(unsigned address, const unsigned *words, unsigned mbarrier, int line);
void emu_remote_land(emu_worker *worker);    /* all st.async of a block */
const emu_remote *emu_remote_for(const emu_worker *worker, unsigned mbarrier); /* an st.async in flight, or NULL */
void emu_remote_begin(emu_worker *worker);   /* of a block */
void emu_remote_end(emu_worker *worker);

/* ---- tensor.c, driver_tensor.c: our own contents of a CUtensorMap ---- */
enum { EMU_MAP_RANK = 5 };
typedef struct emu_map {
    uint64_t sum; /* checksum of the rest, to notice a map that the driver has not made */
    uint64_t address, strides[EMU_MAP_RANK - 1]; /* bytes; of dimension 1 and up */
    uint32_t last[EMU_MAP_RANK];                 /* of every dimension, innermost first: its last coordinate */
    uint16_t box[EMU_MAP_RANK];                  /* tiled: elements along every dimension; im2col: channels, pixels */
    int16_t lower[EMU_MAP_RANK - 2], upper[EMU_MAP_RANK - 2]; /* im2col: W first */
    uint8_t step[EMU_MAP_RANK], rank, element_bytes, im2col;
    uint8_t swizzle; /* 0, or the span in bytes */
} emu_map;
uint64_t emu_map_sum(const emu_map *map);
void emu_tensor_load(unsigned to, const void *map, unsigned rank, const int *coordinates, const int *offsets,
                     unsigned mbarrier, unsigned mask, int line);
void emu_tensor_store(const void *map, unsigned rank, const int *coordinates, unsigned from, int line);
void emu_tensor_prefetch(const void *map, int line);

/* ---- report.c ---- */
void emu_report(const char *format, ...) EMU_PRINTF(1, 2); /* not about one thread */
EMU_NORETURN void emu_fault(CUresult code, int line, void *pc, const char *format, ...) EMU_PRINTF(4, 5);
/* About a block whose threads have all returned: fails the launch. */
void emu_fail_block(emu_worker *worker, unsigned thread, int line, const char *format, ...) EMU_PRINTF(4, 5);
void emu_signals_begin(emu_worker *worker);
void emu_signals_end(emu_worker *worker);
void emu_where(const emu_worker *worker, const emu_thread *thread, char *text, size_t size);

#endif
