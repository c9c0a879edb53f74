#include "embedding/stream.h"

#include "base/clock.h"
#include "base/files.h"
#include "base/memory.h"
#include "base/say.h"
#include "embedding/pipeline.h"

#include <stdlib.h>
#include <string.h>

typedef struct collected {
    decoded is;
    double taken; /* when it was handed over, by clock_seconds */
} collected;

/* The images that wait for the next batch, and how many rows they have. */
typedef struct batch {
    const stream_job *job;
    pipeline *pipe;
    collected *pictures;
    size_t count, cap, bytes;
    size_t rows, done, failed;
    stream_result end; /* STREAM_DONE until something ends it early */
    size_t batches;
    double wait, compute, last; /* seconds, see stream_stats */
    double gathering; /* since when images have been collected for the next batch */
    stream_trace trace;
} batch;

/* One row of the batch: its image for the library, or why it failed. */
typedef struct row {
    size_t index;
    const decoded *of;
    reid_image image;
    reid_box box;
    const char *why;
} row;

/* Ends the stream; always returns 0. */
static int end_as(batch *b, stream_result end) {
    b->end = end;
    return 0;
}

static int report(batch *b, size_t index, const float *values, const char *why) {
    b->done++;
    if (!values) b->failed++;
    const double began = clock_seconds();
    int go_on = b->job->fn(b->job->user, index, values, why);
    b->last += clock_seconds() - began;
    progress_update(b->done, b->failed);
    return go_on || end_as(b, STREAM_STOPPED);
}

static const char *name_of(const batch *b, const decoded *d) { return b->job->list->at[d->first].path; }

/* Traces the images of rows that were computed from `began` to `computed` and are now handed out. */
static void trace_rows(batch *b, const row *rows, size_t n, double began, double computed) {
    const double now = clock_seconds();
    for (size_t i = 0, end; i < n && b->trace.to; i = end) {
        int any = 0;
        for (end = i; end < n && rows[end].of == rows[i].of; end++) any = any || !rows[end].why;
        const decoded *d = rows[i].of;
        stream_trace_row(&b->trace, d, any ? began : computed, computed, now);
        if (rows[end - 1].index + 1 == d->first + d->count) stream_trace_done(&b->trace, d, name_of(b, d), now);
    }
    stream_trace_out(&b->trace, computed, now, n);
}

/* Embeds the good rows together. If the library refuses one, the call fails, so each row is then embedded singly: its
   bits do not depend on the batch. */
static int embed_rows(batch *b, const row *rows, size_t n) {
    models *all = b->job->all;
    size_t good = 0, k = 0, dim = (size_t)all->dim;
    reid_image *images = need_array(n, sizeof *images);
    float *values = images ? need_array(n * dim, sizeof *values) : NULL;
    text why = TEXT_INIT;
    int go_on = 1;
    if (!values) {
        free(images);
        return end_as(b, STREAM_FAILED);
    }
    for (size_t i = 0; i < n; i++)
        if (!rows[i].why) images[good++] = rows[i].image;
    const double began = clock_seconds();
    int together = !good || models_embed(all, images, (int)good, values, &why);
    const double computed = clock_seconds();
    b->compute += computed - began;
    b->batches += good > 0;
    if (good) stream_trace_computed(&b->trace, began, computed, good);
    for (size_t i = 0; i < n && go_on; i++) {
        float *mine = values + k * dim;
        const char *problem = rows[i].why;
        if (!problem && !together && !models_embed(all, &images[k], 1, mine, &why)) problem = why.s;
        if (!rows[i].why) k++;
        if (problem) stream_trace_failure(&b->trace, rows[i].of, problem, clock_seconds());
        go_on = report(b, rows[i].index, problem ? NULL : mine, problem);
    }
    trace_rows(b, rows, n, began, computed);
    if (go_on) stream_trace_operations(&b->trace, images, good);
    free(images);
    free(values);
    text_free(&why);
    return go_on;
}

/* Traces that the collected images are about to be computed. */
static void trace_collected(batch *b) {
    if (!b->trace.to) return;
    stream_trace_gathered(&b->trace, b->gathering, clock_seconds(), b->count);
    for (size_t p = 0; p < b->count; p++)
        stream_trace_picture(&b->trace, &b->pictures[p].is, name_of(b, &b->pictures[p].is), b->pictures[p].taken);
    stream_trace_memory(&b->trace, b->pipe);
}

static void release_all(batch *b) {
    for (size_t p = 0; p < b->count; p++) pipeline_release(b->pipe, &b->pictures[p].is);
    b->count = b->bytes = b->rows = 0;
    stream_trace_memory(&b->trace, b->pipe);
    b->gathering = clock_seconds();
}

/* Computes everything that was collected. */
static int flush(batch *b) {
    row *rows = need_array(b->rows, sizeof *rows);
    size_t n = 0, limit = (size_t)b->job->all->batch, at = 0;
    int go_on = 1;
    if (!rows) return end_as(b, STREAM_FAILED);
    trace_collected(b);
    for (size_t p = 0; p < b->count; p++)
        for (size_t i = 0; i < b->pictures[p].is.count; i++) {
            const decoded *d = &b->pictures[p].is;
            row *r = &rows[n++];
            *r = (row){.index = d->first + i, .of = d};
            r->why = decoded_image(b->pipe, d, r->index, &r->image, &r->box);
        }
    for (; at < n && go_on && !interrupted(); at += limit)
        go_on = embed_rows(b, rows + at, n - at < limit ? n - at : limit);
    release_all(b);
    free(rows);
    return go_on;
}

/* Adds an image; d is taken over or released. */
static int collect(batch *b, decoded *d) {
    if (!NEED(b->pictures, b->count, b->cap)) {
        pipeline_release(b->pipe, d);
        return end_as(b, STREAM_FAILED);
    }
    b->pictures[b->count++] = (collected){*d, clock_seconds()};
    b->bytes += d->cost;
    b->rows += d->count;
    return 1;
}

/* Calls pipeline_next and measures how long it took. */
static int next(batch *b, decoded *d) {
    const double began = clock_seconds();
    int found = pipeline_next(b->pipe, d);
    b->wait += clock_seconds() - began;
    return found;
}

static void tell(const batch *b, double seconds, stream_stats *to) {
    pipeline_measured(b->pipe, to);
    to->seconds = seconds;
    to->rows = b->done;
    to->batches = b->batches;
    to->wait = b->wait, to->compute = b->compute, to->last = b->last;
}

stream_result stream_run(const stream_job *job) {
    batch b;
    decoded d;
    int go_on = 1;
    memset(&b, 0, sizeof b);
    b.job = job;
    if (job->stats) memset(job->stats, 0, sizeof *job->stats);
    const double began = clock_seconds();
    if (job->first == job->end) return STREAM_DONE;
    /* Two models may need different inputs. */
    const model *only = job->all->count == 1 && model_prepares(&job->all->at[0]) ? &job->all->at[0] : NULL;
    b.pipe = pipeline_start(job->list, job->first, job->end, &job->decode, only);
    if (!b.pipe) return STREAM_FAILED;
    b.trace = (stream_trace){.to = job->trace, .all = job->all, .last = job->last};
    stream_trace_begin(&b.trace, pipeline_threads(b.pipe));
    b.gathering = clock_seconds();
    progress_start(job->label, job->end - job->first);
    while (go_on && next(&b, &d)) {
        go_on = collect(&b, &d);
        if (go_on && (b.rows >= (size_t)job->all->batch || b.bytes >= pipeline_budget(b.pipe))) go_on = flush(&b);
    }
    if (go_on && !interrupted()) flush(&b);
    progress_stop();
    if (job->stats) tell(&b, clock_seconds() - began, job->stats);
    for (size_t p = 0; p < b.count; p++) pipeline_release(b.pipe, &b.pictures[p].is);
    pipeline_stop(b.pipe);
    stream_trace_end(&b.trace);
    free(b.pictures);
    return interrupted() ? STREAM_INTERRUPTED : b.end;
}
