/* calls.c: what happens at the beginning and the end of every driver call; the list of live objects. */
#include <stdio.h>
#include <unistd.h>

#include "driver.h"

static pthread_mutex_t emu_lock = PTHREAD_MUTEX_INITIALIZER;
static pid_t emu_process; /* that called cuInit */
static emu_failing emu_fail;
static int emu_fail_read;
static emu_object *emu_objects;
static size_t emu_leaked; /* objects left in released contexts */

int emu_forked(void) { return emu_process && emu_process != getpid(); }

static void print_live(void) {
    if (!emu_forked()) fprintf(stderr, "reid emulator: alive at exit: %s\n", reid_emulator_live_text());
}

void emu_mark_initialised(void) {
    if (!emu_process && emu_get_settings()->print_live) atexit(print_live);
    emu_process = getpid();
}

static void set_failing(const char *specification) {
    emu_failing_set(&emu_fail, specification);
    emu_fail_read = 1;
}

EMU_API void reid_emulator_fail(const char *specification) {
    pthread_mutex_lock(&emu_lock);
    set_failing(specification);
    pthread_mutex_unlock(&emu_lock);
}

EMU_API size_t reid_emulator_calls(void) { return emu_fail.any_calls; }

/* The error of a call that is made to fail: out of memory if it allocates. */
static CUresult usual_failure(const char *name) {
    return strstr(name, "Alloc") || strstr(name, "Load") || strstr(name, "Create") || strstr(name, "Instantiate") ||
                   strstr(name, "Retain")
               ? CUDA_ERROR_OUT_OF_MEMORY
               : CUDA_ERROR_UNKNOWN;
}

CUresult emu_enter(const char *name, int flags) {
    pthread_mutex_lock(&emu_lock);
    if (!emu_fail_read) set_failing(emu_get_settings()->fail);
    int code = (int)usual_failure(name);
    emu_context *context = emu_current();
    if (emu_failing_now(&emu_fail, name, !(flags & EMU_FREES), &code)) {
        int sticks = code >= CUDA_ERROR_ILLEGAL_ADDRESS && code <= CUDA_ERROR_LAUNCH_FAILED;
        if (sticks && context && !context->fault) context->fault = (CUresult)code; /* as if the device were lost */
        return (CUresult)code;
    }
    if (!(flags & EMU_BEFORE_INIT) && !emu_process) return CUDA_ERROR_NOT_INITIALIZED;
    if (flags & EMU_CONTEXT && !context) return CUDA_ERROR_INVALID_CONTEXT;
    if (flags & EMU_CONTEXT && !context->alive) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    if (flags & EMU_CONTEXT && !(flags & EMU_FREES) && context->fault) return context->fault;
    if (flags & EMU_UNSAFE && emu_capture_forbids()) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    return CUDA_SUCCESS;
}

CUresult emu_leave(const char *name, int flags, CUresult result) {
    emu_context *context = emu_current();
    if (!result && flags & EMU_CONTEXT && context && context->alive) result = context->fault;
    if (emu_get_settings()->trace) fprintf(stderr, "reid emulator: %s = %d\n", name, (int)result);
    pthread_mutex_unlock(&emu_lock);
    if (emu_get_settings()->pace.on) emu_pace_sleep();
    return result;
}

/* ---- objects ---- */

void *emu_object_new(emu_kind kind, size_t size) {
    emu_object *o = (emu_object *)calloc(1, size);
    if (!o) return NULL;
    o->kind = kind;
    o->context = emu_current();
    o->next = emu_objects;
    emu_objects = o;
    return o;
}

void emu_object_free(void *object) {
    for (emu_object **link = &emu_objects; *link; link = &(*link)->next) {
        if (*link != object) continue;
        *link = (*link)->next;
        free(object);
        return;
    }
}

int emu_object_is(const void *handle, emu_kind kind) {
    for (const emu_object *o = emu_objects; o; o = o->next)
        if (o == handle) return o->kind == kind;
    return 0;
}

emu_object *emu_object_first(const emu_context *context, emu_kind kind) {
    for (emu_object *o = emu_objects; o; o = o->next)
        if (o->context == context && o->kind == kind) return o;
    return NULL;
}

size_t emu_objects_of(const emu_context *context) {
    size_t count = 0;
    for (const emu_object *o = emu_objects; o; o = o->next) count += !context || o->context == context;
    return count;
}

void emu_count_leaks(const emu_context *context) {
    size_t count = emu_objects_of(context) + emu_allocations_of(context);
    if (!count) return;
    emu_leaked += count;
    fprintf(stderr, "reid emulator: a context was released with %zu objects alive: %s\n", count,
            reid_emulator_live_text());
}

EMU_API size_t reid_emulator_live(void) {
    return emu_objects_of(NULL) + emu_allocations_of(NULL) + emu_contexts_alive() + emu_leaked;
}

EMU_API const char *reid_emulator_live_text(void) {
    static char text[256];
    size_t counts[EMU_KINDS] = {0};
    for (const emu_object *o = emu_objects; o; o = o->next) counts[o->kind]++;
    snprintf(text, sizeof text,
             "%zu allocations (%zu bytes), %zu modules, %zu streams, %zu events, %zu graphs, %zu executable graphs, "
             "%zu contexts, %zu leaked",
             emu_allocations_of(NULL), emu_bytes_used(-1), counts[EMU_MODULE], counts[EMU_STREAM], counts[EMU_EVENT],
             counts[EMU_GRAPH], counts[EMU_EXEC], emu_contexts_alive(), emu_leaked);
    return text;
}
