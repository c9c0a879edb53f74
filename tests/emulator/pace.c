/* pace.c: with REID_EMULATOR_PACE=GRAPH,KERNEL,GBS the device takes time and computes nothing: a launch of a graph
   takes GRAPH microseconds, one of a kernel KERNEL, and a copy its bytes at GBS gigabytes per second. Kernels share one
   engine and each direction of copies has its own, as on a GPU, so a program that overlaps them is faster. Memory is
   zero. */
#include <stdio.h>
#include <time.h>

#include "driver.h"

enum { KERNELS, UPLOADS, DOWNLOADS, ENGINES };
static double engine_free[ENGINES];       /* when its last work ends, in microseconds */
static __thread double sleep_until;       /* of the call in progress on this thread */

static double now_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

static double later(double a, double b) { return a > b ? a : b; }

void emu_pace_read(emu_pace *pace, const char *text) {
    if (!text || !*text) return;
    char rest;
    pace->on = sscanf(text, "%lf,%lf,%lf%c", &pace->graph, &pace->kernel, &pace->gbs, &rest) == 3 && pace->graph >= 0 &&
               pace->kernel >= 0 && pace->gbs > 0;
    if (!pace->on) fprintf(stderr, "reid emulator: REID_EMULATOR_PACE=%s is not GRAPH,KERNEL,GBS\n", text);
}

/* Charges an operation to its stream and its engine, and frees it. */
void emu_pace_op(emu_stream *stream, emu_op *op) {
    const emu_pace *pace = &emu_get_settings()->pace;
    double begin = later(stream->ready, now_us()), takes = 0;
    int engine = KERNELS;
    switch (op->kind) {
    case EMU_OP_KERNEL: takes = pace->kernel; break;
    case EMU_OP_GRAPH: takes = pace->graph; break;
    case EMU_OP_COPY:
        takes = (double)op->bytes / (pace->gbs * 1e3);
        engine = op->direction == EMU_HOST_TO_DEVICE ? UPLOADS : DOWNLOADS;
        if (op->direction == EMU_DEVICE_TO_DEVICE) engine = KERNELS;
        break;
    case EMU_OP_WAIT: begin = later(begin, op->mark->time * 1e3); break;
    case EMU_OP_RECORD:
    case EMU_OP_SET: break;
    }
    if (takes > 0) begin = later(begin, engine_free[engine]), engine_free[engine] = begin + takes;
    stream->ready = begin + takes;
    if (op->kind == EMU_OP_RECORD) op->mark->time = stream->ready * 1e-3, op->mark->done = 1;
    emu_op_free(op);
}

/* Lets the call in progress return at `us`, or if that is past at once. */
void emu_pace_wait(double us) { sleep_until = later(sleep_until, us); }

/* Called at the end of every call, without the lock. */
void emu_pace_sleep(void) {
    const double left = sleep_until - now_us();
    sleep_until = 0;
    if (left <= 0) return;
    struct timespec time = {(time_t)(left * 1e-6), (long)(left * 1e3) % 1000000000};
    nanosleep(&time, NULL);
}
