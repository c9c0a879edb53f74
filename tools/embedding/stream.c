#include "embedding/stream.h"

#include "base/clock.h"
#include "base/files.h"
#include "base/memory.h"
#include "base/say.h"
#include "embedding/computers.h"
#include "embedding/pipeline.h"

#include <stdlib.h>
#include <string.h>

typedef struct collected {
    decoded is;
    double taken; /* when it was handed over, by clock_seconds */
} collected;

/* One row of a batch: its image for the library, or why it failed. */
typedef struct row {
    size_t index;
    const decoded *of;
    reid_image image;
    reid_box box;
    const char *why;
} row;

/* Images that are computed together, in calls of at most models.batch rows. */
typedef struct batch {
    collected *pictures;
    size_t count, cap, bytes, rows; /* of the pictures: number, capacity, bytes, rows of the list */
    row *row;                       /* [rows] */
    reid_image *images;             /* of the rows that did not fail */
    float *values;                  /* (images, dim) */
    batch_calls calls;
} batch;

/* Batch number n is ring[n % places]. Number `given` is being collected; those from `taken` on are being computed. */
typedef struct stream {
    const stream_job *job;
    pipeline *pipe;
    computers *computers;
    batch ring[MOST_LANES + 1];
    size_t places, given, taken;
    size_t done, failed, batches;
    stream_result end; /* STREAM_DONE until something ends it early */
    double wait, compute, last; /* seconds, see stream_stats */
    double gathering; /* since when images have been collected for the next batch */
    double out;       /* when the last rows had been handed out */
    stream_trace trace;
} stream;

/* Ends the stream; always returns 0. */
static int end_as(stream *s, stream_result end) {
    s->end = end;
    return 0;
}

static int report(stream *s, size_t index, const float *values, const char *why) {
    s->done++;
    if (!values) s->failed++;
    const double began = clock_seconds();
    int go_on = s->job->fn(s->job->user, index, values, why);
    s->last += clock_seconds() - began;
    progress_update(s->done, s->failed);
    return go_on || end_as(s, STREAM_STOPPED);
}

static const char *name_of(const stream *s, const decoded *d) { return s->job->list->at[d->first].path; }

/* --- a batch before it is computed -------------------------------------------------------------------------------- */

/* Traces that the collected images are about to be computed. */
static void trace_collected(stream *s, const batch *b) {
    if (!s->trace.to) return;
    stream_trace_gathered(&s->trace, s->gathering, clock_seconds(), b->count);
    for (size_t p = 0; p < b->count; p++)
        stream_trace_picture(&s->trace, &b->pictures[p].is, name_of(s, &b->pictures[p].is), b->pictures[p].taken);
    stream_trace_memory(&s->trace, s->pipe);
}

/* Describes the images of each row for the library, and cuts the rows into calls. */
static void set_calls(const stream *s, batch *b) {
    size_t n = 0, good = 0, limit = (size_t)s->job->all->batch;
    for (size_t p = 0; p < b->count; p++)
        for (size_t i = 0; i < b->pictures[p].is.count; i++) {
            row *r = &b->row[n++];
            *r = (row){.index = b->pictures[p].is.first + i, .of = &b->pictures[p].is};
            r->why = decoded_image(s->pipe, r->of, r->index, &r->image, &r->box);
        }
    for (size_t at = 0; at < n; at += limit) {
        batch_call *call = &b->calls.at[b->calls.count++];
        *call = (batch_call){.images = b->images + good, .rows = b->values + good * (size_t)s->job->all->dim};
        for (size_t i = at; i < n && i < at + limit; i++)
            if (!b->row[i].why) b->images[good++] = b->row[i].image, call->count++;
    }
}

static void free_rows(batch *b) {
    free(b->row);
    free(b->images);
    free(b->values);
    free(b->calls.at);
    b->row = NULL, b->images = NULL, b->values = NULL;
    b->calls = (batch_calls){NULL, 0, 0, 0};
}

/* Hands over the batch that was collected. */
static int give(stream *s) {
    batch *b = &s->ring[s->given % s->places];
    const size_t limit = (size_t)s->job->all->batch;
    b->row = need_array(b->rows, sizeof *b->row);
    b->images = b->row ? need_array(b->rows, sizeof *b->images) : NULL;
    b->values = b->images ? need_array(b->rows, (size_t)s->job->all->dim * sizeof *b->values) : NULL;
    b->calls.at = b->values ? need_array((b->rows + limit - 1) / limit, sizeof *b->calls.at) : NULL;
    if (!b->calls.at) return end_as(s, STREAM_FAILED);
    trace_collected(s, b);
    set_calls(s, b);
    s->given++;
    computers_give(s->computers, &b->calls);
    s->gathering = clock_seconds();
    return 1;
}

/* --- a batch after it was computed -------------------------------------------------------------------------------- */

/* Traces the images of rows that `call` computed and that were handed out from `began` on. */
static void trace_rows(stream *s, const row *rows, size_t n, const batch_call *call, double began) {
    const double now = clock_seconds();
    for (size_t i = 0, end; i < n && s->trace.to; i = end) {
        int any = 0;
        for (end = i; end < n && rows[end].of == rows[i].of; end++) any = any || !rows[end].why;
        const decoded *d = rows[i].of;
        /* Other lanes may have computed this before the image's earlier rows were handed out. */
        const double computed = call->computed > s->out ? call->computed : s->out;
        const double from = any && call->began > s->out ? call->began : any ? s->out : computed;
        stream_trace_row(&s->trace, d, from, computed, now);
        if (rows[end - 1].index + 1 == d->first + d->count) stream_trace_done(&s->trace, d, name_of(s, d), now);
    }
    stream_trace_out(&s->trace, began, now, n);
    s->out = now;
}

/* Hands out the n rows of a call. If the library refused an image, the call failed, so each of its images is embedded
   singly: a row's bits do not depend on the batch. */
static int report_rows(stream *s, const row *rows, size_t n, const batch_call *call, int lane) {
    size_t k = 0, dim = (size_t)s->job->all->dim;
    const double began = clock_seconds();
    text why = TEXT_INIT;
    int go_on = 1;
    s->batches += call->count > 0;
    if (call->count) stream_trace_computed(&s->trace, lane, call->began, call->computed, call->count);
    for (size_t i = 0; i < n && go_on; i++) {
        float *mine = call->rows + k * dim;
        const char *problem = rows[i].why;
        if (!problem && !call->good && !models_embed(s->job->all, &call->images[k], 1, mine, &why)) problem = why.s;
        if (!rows[i].why) k++;
        if (problem) stream_trace_failure(&s->trace, rows[i].of, problem, clock_seconds());
        go_on = report(s, rows[i].index, problem ? NULL : mine, problem);
    }
    trace_rows(s, rows, n, call, began);
    if (go_on) stream_trace_operations(&s->trace, call->images, call->count);
    text_free(&why);
    return go_on;
}

static void release(stream *s, batch *b) {
    for (size_t p = 0; p < b->count; p++) pipeline_release(s->pipe, &b->pictures[p].is);
    b->count = b->bytes = b->rows = 0;
    free_rows(b);
}

/* Waits for the oldest batch, hands out its rows and releases its images. */
static int take(stream *s) {
    batch *b = &s->ring[s->taken % s->places];
    const size_t limit = (size_t)s->job->all->batch;
    int go_on = 1;
    for (size_t i = 0; i < b->calls.count && go_on && !interrupted(); i++) {
        const size_t at = i * limit, n = b->rows - at < limit ? b->rows - at : limit;
        const double began = clock_seconds();
        computers_wait(s->computers, &b->calls, i);
        s->compute += clock_seconds() - began;
        go_on = report_rows(s, b->row + at, n, &b->calls.at[i], b->calls.lane);
    }
    /* After an early end the batch may still be under way: stream_run waits for it and releases it. */
    if (!go_on || interrupted()) return go_on;
    s->taken++;
    release(s, b);
    stream_trace_memory(&s->trace, s->pipe);
    s->gathering = clock_seconds();
    return go_on;
}

/* --- the stream --------------------------------------------------------------------------------------------------- */

/* Adds an image to the batch that is being collected; d is taken over or released. */
static int collect(stream *s, decoded *d) {
    batch *b = &s->ring[s->given % s->places];
    if (!NEED(b->pictures, b->count, b->cap)) {
        pipeline_release(s->pipe, d);
        return end_as(s, STREAM_FAILED);
    }
    b->pictures[b->count++] = (collected){*d, clock_seconds()};
    b->bytes += d->cost;
    b->rows += d->count;
    return 1;
}

/* Calls pipeline_next and measures how long it took. */
static int next(stream *s, decoded *d) {
    const double began = clock_seconds();
    int found = pipeline_next(s->pipe, d);
    s->wait += clock_seconds() - began;
    return found;
}

/* Collects images, hands over full batches and takes those that are done, until the list or the stream ends. */
static int run(stream *s) {
    const size_t under_way = s->places - 1, room = pipeline_budget(s->pipe);
    decoded d;
    int go_on = 1;
    while (go_on && next(s, &d)) {
        go_on = collect(s, &d);
        const batch *b = &s->ring[s->given % s->places];
        const int full = b->rows >= (size_t)s->job->all->batch || b->bytes >= room;
        if (go_on && full && s->given - s->taken == under_way) go_on = take(s);
        if (go_on && full && !interrupted()) go_on = give(s); /* a signal may have ended `take` without a free place */
        while (go_on && !interrupted() && s->taken < s->given &&
               !computers_busy(s->computers, &s->ring[s->taken % s->places].calls)) go_on = take(s);
    }
    if (go_on && !interrupted() && s->given - s->taken == under_way) go_on = take(s);
    if (go_on && !interrupted() && s->ring[s->given % s->places].rows) go_on = give(s);
    while (go_on && !interrupted() && s->taken < s->given) go_on = take(s);
    return go_on;
}

static void tell(const stream *s, double seconds, stream_stats *to) {
    pipeline_measured(s->pipe, to);
    to->seconds = seconds;
    to->rows = s->done;
    to->batches = s->batches;
    to->wait = s->wait, to->compute = s->compute, to->last = s->last;
}

static int start(stream *s) {
    const stream_job *job = s->job;
    s->places = (size_t)models_lanes(job->all) + 1; /* those under way and the one that is being collected */
    s->pipe = pipeline_start(job->list, job->first, job->end, &job->decode, job->all);
    s->computers = s->pipe ? computers_start(job->all, (int)s->places - 1) : NULL;
    if (s->computers) return 1;
    if (s->pipe) pipeline_stop(s->pipe);
    return 0;
}

stream_result stream_run(const stream_job *job) {
    stream s;
    memset(&s, 0, sizeof s);
    s.job = job;
    if (job->stats) memset(job->stats, 0, sizeof *job->stats);
    const double began = clock_seconds();
    if (job->first == job->end) return STREAM_DONE;
    if (!start(&s)) return STREAM_FAILED;
    s.trace = (stream_trace){.to = job->trace, .all = job->all, .last = job->last};
    stream_trace_begin(&s.trace, pipeline_threads(s.pipe), (int)s.places - 1);
    s.gathering = clock_seconds();
    progress_start(job->label, job->end - job->first);
    run(&s);
    computers_stop(s.computers);
    progress_stop();
    if (job->stats) tell(&s, clock_seconds() - began, job->stats);
    for (size_t i = 0; i < s.places; i++) {
        release(&s, &s.ring[i]);
        free(s.ring[i].pictures);
    }
    pipeline_stop(s.pipe);
    stream_trace_end(&s.trace);
    return interrupted() ? STREAM_INTERRUPTED : s.end;
}
