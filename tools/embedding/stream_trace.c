#include "embedding/stream_trace.h"

#include "base/clock.h"
#include "base/json_write.h"
#include "base/memory.h"
#include "base/resident.h"

#include <stdlib.h>
#include <string.h>

/* Threads of the trace: the one that collects images, and computes them if there is one lane; the decoding ones; those
   of several lanes; and for each GPU one with the times of its events. */
enum { COLLECTS = 1, FIRST_DECODER = 2, FIRST_LANE = 900, FIRST_GPU = 1000 };
/* Operations are measured for the first batches and then every EVERY-th. This costs more than twice a batch's time, a
   few percent overall. */
enum { FIRST_BATCHES = 3, EVERY = 64 };
static const char PICTURE[] = "picture";

static json_writer begin_args(stream_trace *s) {
    text_clear(&s->args);
    return json_write_inside(&s->args, '{', 0);
}

static const text *args_of(stream_trace *s, const char *name, size_t value) {
    json_writer w = begin_args(s);
    json_put_count(&w, name, value);
    return &s->args;
}

static int on_gpu(const model *m) { return strcmp(m->info.device, "cpu") != 0; }

/* --- threads ------------------------------------------------------------------------------------------------------ */

void stream_trace_begin(stream_trace *s, int decoders, int lanes) {
    if (!s->to) return;
    text name = TEXT_INIT;
    s->lanes = lanes;
    text_printf(&name, "%s, %s", lanes > 1 ? "collect" : "compute", s->last);
    trace_thread(s->to, COLLECTS, text_failed(&name) ? "compute" : name.s);
    for (int i = 0; i < lanes && lanes > 1; i++) {
        text_clear(&name);
        text_printf(&name, "compute, lane %d", i + 1);
        trace_thread(s->to, FIRST_LANE + i, text_failed(&name) ? "lane" : name.s);
    }
    for (int i = 0; i < decoders; i++) {
        text_clear(&name);
        text_printf(&name, "decoder %d", i + 1);
        trace_thread(s->to, FIRST_DECODER + i, text_failed(&name) ? "decoder" : name.s);
    }
    for (int i = 0; i < s->all->count; i++) {
        if (!on_gpu(&s->all->at[i])) continue;
        text_clear(&name);
        text_printf(&name, "%s, its own time, model %d", s->all->at[i].info.device, i + 1);
        trace_thread(s->to, FIRST_GPU + i, text_failed(&name) ? "GPU" : name.s);
    }
    text_free(&name);
}

void stream_trace_end(stream_trace *s) { text_free(&s->args); }

void stream_trace_gathered(stream_trace *s, double from, double to, size_t pictures) {
    if (s->to) trace_slice(s->to, COLLECTS, "wait for images", from, to, args_of(s, "pictures", pictures));
}

void stream_trace_computed(stream_trace *s, int lane, double from, double to, size_t images) {
    const int thread = s->lanes > 1 ? FIRST_LANE + lane : COLLECTS;
    if (s->to) trace_slice(s->to, thread, "compute", from, to, args_of(s, "images", images));
}

void stream_trace_out(stream_trace *s, double from, double to, size_t rows) {
    if (s->to) trace_slice(s->to, COLLECTS, s->last, from, to, args_of(s, "rows", rows));
}

void stream_trace_memory(stream_trace *s, pipeline *p) {
    size_t bytes, ready, held = 0;
    if (!s->to) return;
    const double now = clock_seconds();
    pipeline_now(p, &bytes, &ready);
    for (int i = 0; i < s->all->count; i++) {
        reid_memory memory;
        if (reid_memory_report(s->all->at[i].ctx, &memory) == REID_OK) held += memory.total;
    }
    json_writer w = begin_args(s);
    json_put_count(&w, "process", mem_resident());
    json_put_count(&w, "pictures", bytes);
    json_put_count(&w, "models", held);
    trace_counter(s->to, "bytes", now, &s->args);
    trace_counter(s->to, "decoded images", now, args_of(s, "waiting", ready));
}

/* --- images ------------------------------------------------------------------------------------------------------- */

/* Writes one stage of the image. */
static void stage(stream_trace *s, const decoded *d, const char *name, double from, double to) {
    trace_stage(s->to, 'b', PICTURE, d->first, name, from, NULL);
    trace_stage(s->to, 'e', PICTURE, d->first, name, to, NULL);
}

/* Writes what a decoding thread did: a stage of the image and a slice of the thread. It ends where the next one begins,
   or when the image fails. from 0: the image did not reach this stage. */
static void decoder_did(stream_trace *s, const decoded *d, const char *name, double from, double to) {
    if (from <= 0) return;
    const double end = to > 0 ? to : d->when.end;
    stage(s, d, name, from, end);
    trace_slice(s->to, FIRST_DECODER + d->when.thread, name, from, end, args_of(s, "picture", d->first));
}

void stream_trace_picture(stream_trace *s, const decoded *d, const char *name, double taken) {
    const decode_times *t = &d->when;
    if (!s->to) return;
    trace_stage(s->to, 'b', PICTURE, d->first, name, t->begun, args_of(s, "rows", d->count));
    decoder_did(s, d, "read", t->begun, t->opened);
    decoder_did(s, d, "wait for room", t->opened, t->room);
    decoder_did(s, d, "decode", t->room, t->decoded);
    if (d->prepared) decoder_did(s, d, "resize", t->decoded, t->end);
    trace_stage(s->to, 'b', PICTURE, d->first, "wait", t->end, NULL);
    trace_stage(s->to, 'n', PICTURE, d->first, "taken", taken, NULL);
    trace_stage(s->to, 'e', PICTURE, d->first, "wait", clock_seconds(), NULL);
}

void stream_trace_failure(stream_trace *s, const decoded *d, const char *why, double at) {
    text shown = TEXT_INIT;
    if (!s->to) return;
    text_visible(&shown, why);
    json_writer w = begin_args(s);
    json_put_string(&w, "why", shown.s ? shown.s : "");
    if (text_failed(&shown)) text_no_memory(&s->args);
    trace_stage(s->to, 'n', PICTURE, d->first, "failed", at, &s->args);
    text_free(&shown);
}

void stream_trace_row(stream_trace *s, const decoded *d, double compute, double computed, double out) {
    if (!s->to) return;
    stage(s, d, "compute", compute, computed);
    stage(s, d, s->last, computed, out);
}

void stream_trace_done(stream_trace *s, const decoded *d, const char *name, double at) {
    if (s->to) trace_stage(s->to, 'e', PICTURE, d->first, name, at, NULL);
}

/* --- operations --------------------------------------------------------------------------------------------------- */

static void resize_again(stream_trace *s, const model *m, const reid_image *images, size_t n) {
    unsigned char *view = mem_array((size_t)m->info.height * (size_t)m->info.width, 3);
    if (!view) trace_fail(s->to, "out of memory for measuring how images are resized");
    for (size_t i = 0; i < n && view; i++) {
        if (images[i].format == REID_PREPARED) continue; /* measured when it was resized */
        const double from = clock_seconds();
        reid_preprocess(m->ctx, &images[i], view, NULL); /* a refused image takes time, too */
        trace_slice(s->to, COLLECTS, "resize", from, clock_seconds(), NULL);
    }
    free(view);
}

static const text *args_of_op(stream_trace *s, const reid_op_info *op, size_t n) {
    json_writer w = begin_args(s);
    json_put_string(&w, "kind", op->kind);
    json_put_string(&w, "kernel", op->kernel);
    json_put_format(&w, "output", "%dx%dx%d", op->out_h, op->out_w, op->out_c);
    json_put_int(&w, "multiply-adds", op->macs * (long long)n);
    return &s->args;
}

/* Lays out the times of the last run of reid_profile one after another so that they end at `end`, as the run did. */
static void lay_out(stream_trace *s, int which, const float *times, size_t n, double from, double end) {
    const model *m = &s->all->at[which];
    const int count = reid_op_count(m->ctx), thread = on_gpu(m) ? FIRST_GPU + which : COLLECTS;
    double sum = 0;
    for (int i = 0; i < count; i++) sum += 1e-6 * (double)times[i];
    double at = end - sum > from ? end - sum : from;
    for (int i = 0; i < count; i++) {
        reid_op_info op;
        const double next = at + 1e-6 * (double)times[i];
        if (reid_query_op(m->ctx, i, &op) == REID_OK && op.computed_by == i) /* else it is another operation's */
            trace_slice(s->to, thread, op.name, at, next < end ? next : end, args_of_op(s, &op, n));
        at = next < end ? next : end;
    }
}

static void operations_again(stream_trace *s, int which, size_t n) {
    model *m = &s->all->at[which];
    float *times = mem_array((size_t)reid_op_count(m->ctx), sizeof *times);
    if (n > (size_t)m->info.batch) n = (size_t)m->info.batch;
    const double from = clock_seconds();
    const reid_result r = times ? reid_profile(m->ctx, (int)n, 1, times, NULL, &m->error) : REID_ERR_OUT_OF_MEMORY;
    const double end = clock_seconds();
    if (!times) trace_fail(s->to, "out of memory for measuring operations");
    else if (r != REID_OK) trace_fail(s->to, reason_of(&m->error, r));
    else {
        trace_slice(s->to, COLLECTS, "operations, again on noise", from, end, args_of(s, "images", n));
        lay_out(s, which, times, n, from, end);
    }
    free(times);
}

void stream_trace_operations(stream_trace *s, const reid_image *images, size_t n) {
    if (!s->to || !n || (s->batches++ >= FIRST_BATCHES && s->batches % EVERY != 0)) return;
    const double from = clock_seconds();
    for (int i = 0; i < s->all->count; i++) {
        resize_again(s, &s->all->at[i], images, n);
        operations_again(s, i, n);
    }
    trace_slice(s->to, COLLECTS, "measured again", from, clock_seconds(), args_of(s, "images", n));
}
