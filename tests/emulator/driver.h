/* driver.h: the objects behind the driver API's handles, and how a call enters and leaves.
   One lock is held during every call, so nothing below is called by two threads at once. */
#ifndef REID_EMULATOR_DRIVER_H
#define REID_EMULATOR_DRIVER_H

#include "emulator.h"

/* ---- calls.c: EMU_CALL is the body of every function of the API ---- */
enum {
    EMU_BEFORE_INIT = 1, /* works without cuInit */
    EMU_CONTEXT = 2,     /* needs a current context, and returns its fault ever after a kernel failed */
    EMU_UNSAFE = 4,      /* forbidden while this thread captures a stream */
    EMU_FREES = 8        /* releases something: always carried out, never made to fail by `any` */
};
CUresult emu_enter(const char *name, int flags);
CUresult emu_leave(const char *name, int flags, CUresult result);
int emu_forked(void); /* since cuInit */
void emu_mark_initialised(void);
#define EMU_CALL(flags, expression)                                                                                    \
    if (emu_forked()) return CUDA_ERROR_NOT_INITIALIZED;                                                               \
    CUresult emu_result = emu_enter(__func__, flags);                                                                  \
    if (!emu_result) emu_result = (expression);                                                                        \
    return emu_leave(__func__, flags, emu_result)

/* ---- objects ---- */
typedef enum { EMU_MODULE, EMU_STREAM, EMU_EVENT, EMU_GRAPH, EMU_EXEC, EMU_KINDS } emu_kind;
typedef struct emu_object {
    emu_kind kind;
    emu_context *context;
    struct emu_object *next;
} emu_object;
void *emu_object_new(emu_kind kind, size_t size); /* zeroed, of the current context; NULL: out of memory */
void emu_object_free(void *object);
int emu_object_is(const void *handle, emu_kind kind);         /* of any context; a wild pointer is not touched */
emu_object *emu_object_first(const emu_context *context, emu_kind kind);
size_t emu_objects_of(const emu_context *context);

struct emu_context {
    int device, alive, primary;
    unsigned references;
    CUresult fault; /* set by a kernel that failed: every later call returns it */
};
emu_context *emu_current(void); /* of this thread, or NULL */
size_t emu_contexts_alive(void);
void emu_context_destroy_objects(emu_context *context);
void emu_count_leaks(const emu_context *context); /* objects left in a context when it is released */

/* ---- work: an operation in a stream, or a node of a graph ---- */
typedef enum { EMU_OP_KERNEL, EMU_OP_COPY, EMU_OP_SET, EMU_OP_RECORD, EMU_OP_WAIT, EMU_OP_GRAPH } emu_op_kind;
typedef enum { EMU_HOST_TO_DEVICE, EMU_DEVICE_TO_HOST, EMU_DEVICE_TO_DEVICE } emu_direction;
typedef struct emu_mark emu_mark;
typedef struct emu_event emu_event;
typedef struct emu_graph emu_graph;
typedef struct emu_exec emu_exec;
typedef struct emu_stream emu_stream;

typedef struct emu_op {
    emu_op_kind kind;
    emu_launch launch;              /* kernel */
    emu_direction direction;        /* copy */
    uintptr_t to, from;             /* copy, set */
    size_t bytes;                   /* copy, set */
    unsigned value, width;          /* set */
    void *staged;                   /* copy from pageable memory: the bytes, taken when the call was made */
    emu_mark *mark;                 /* record, wait */
    emu_exec *exec;                 /* graph */
    unsigned *after, after_count;   /* node: the nodes that must have run */
    struct emu_op *next;            /* in a stream */
} emu_op;

typedef struct emu_nodes { /* a set of nodes of a capture */
    unsigned *numbers, count;
} emu_nodes;
int emu_nodes_add(emu_nodes *nodes, const emu_nodes *more); /* 0: out of memory */
void emu_nodes_clear(emu_nodes *nodes);

typedef struct emu_capture { /* streams that are being captured into one graph */
    emu_stream *origin;
    emu_graph *graph;
    CUstreamCaptureMode mode;
    pthread_t thread;
    int invalid;
    struct emu_capture *next;
} emu_capture;

struct emu_stream {
    emu_object object;
    unsigned flags;
    emu_op *head, *tail;
    emu_capture *capture;
    emu_nodes frontier; /* when capturing: the nodes that precede the next one */
    double ready;       /* pace.c: when its work ends, in microseconds */
};

struct emu_mark { /* one recording of an event, shared by the event, its record operation and every wait */
    unsigned references;
    int done;
    emu_stream *stream; /* where it was recorded; NULL: the legacy stream */
    double time;        /* in ms, once done */
};

struct emu_event {
    emu_object object;
    unsigned flags;
    emu_mark *mark;       /* the last recording, NULL: none */
    emu_capture *capture; /* when capturing: the nodes that it represents */
    emu_nodes frontier;
    int was_captured; /* last recorded in a capture: it cannot be waited for by the host */
};

struct emu_graph {
    emu_object object;
    emu_op **nodes;
    unsigned count, capacity;
};

struct emu_exec {
    emu_object object;
    emu_op **nodes;
    unsigned count;
};

CUresult emu_stream_get(CUstream handle, emu_stream **stream); /* the legacy stream is NULL */
CUresult emu_enqueue(CUstream handle, emu_op *op);             /* takes the operation */
CUresult emu_op_run(emu_context *context, emu_op *op);
enum { EMU_MOST_KERNELS = 64 };
CUresult emu_kernels_run(emu_op *const *ops, unsigned count); /* one after the other; they may overlap */
int emu_may_overlap(const emu_op *op, const emu_op *next);     /* next began to wait when op was the last one */
void emu_op_free(emu_op *op);
void emu_stream_discard(emu_stream *stream);
CUresult emu_drain_stream(emu_stream *stream);
CUresult emu_drain_context(emu_context *context);
CUresult emu_drain_blocking(emu_context *context); /* the streams that the legacy stream waits for */
int emu_step(emu_stream *stream);                  /* one operation; 0: nothing could run */
void emu_mark_release(emu_mark *mark);
void emu_mark_finish(emu_mark *mark); /* runs streams until it is done */
void emu_poll(emu_stream *stream);    /* lets one operation happen */
void emu_event_free(emu_event *event);

/* ---- pace.c ---- */
void emu_pace_op(emu_stream *stream, emu_op *op);
void emu_pace_wait(double us);
void emu_pace_sleep(void);

/* ---- driver_graph.c ---- */
CUresult emu_capture_op(emu_stream *stream, emu_op *op);
CUresult emu_capture_wait(emu_stream *stream, emu_event *event);
CUresult emu_capture_record(emu_stream *stream, emu_event *event);
int emu_capture_forbids(void); /* an unsafe call by this thread: invalidates the capture */
void emu_capture_invalidate(emu_capture *capture);
int emu_captures_legacy(const emu_context *context); /* a blocking stream is being captured */
CUresult emu_exec_run(emu_context *context, emu_exec *exec);
void emu_exec_free(emu_exec *exec);
void emu_graph_free(emu_graph *graph);
void emu_capture_abandon(emu_stream *stream);

/* ---- driver_module.c, driver_launch.c ---- */
void **emu_params_copy(const emu_launch *launch);
emu_function *emu_function_get(CUfunction handle); /* NULL: no function of a loaded module */
void emu_module_free(emu_module *module);
const struct reid_emulator_kernel *emu_kernel_of(const emu_function *function);

/* ---- driver_device.c ---- */
int emu_shared_limit(int optin);  /* bytes of shared memory that a block may have */

/* ---- failing.c, also part of libnvrtc ---- */
typedef struct emu_failing {
    char name[64];
    size_t at, code, any_calls, named_calls;
    int later; /* and every one after it */
} emu_failing;
void emu_failing_set(emu_failing *failing, const char *specification);
int emu_failing_now(emu_failing *failing, const char *call, int counts_as_any, int *code);

#endif
