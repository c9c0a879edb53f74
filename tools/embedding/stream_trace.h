/* A stream as events of a trace: pictures on their way through the stages, what each thread does, operations of some
   batches, memory. Everything is written by the thread that computes. */
#ifndef REID_TOOLS_STREAM_TRACE_H
#define REID_TOOLS_STREAM_TRACE_H

#include "base/trace.h"
#include "embedding/models.h"
#include "embedding/pipeline.h"

/* What of a stream's events are told. to may be NULL: nothing is, and no call below does anything. */
typedef struct stream_trace {
    trace *to;
    models *all;
    const char *last; /* what is done with a row, in a word */
    size_t batches;   /* so far */
    text args;
} stream_trace;

void stream_trace_begin(stream_trace *s, int decoders);
void stream_trace_end(stream_trace *s);

/* A picture that is about to be computed: all that has happened to it since a thread took it up at its turn, and that
   it was handed over at `taken`. name: what it is called. */
void stream_trace_picture(stream_trace *s, const decoded *d, const char *name, double taken);
/* Why there is no embedding of it, or of one of its boxes. */
void stream_trace_failure(stream_trace *s, const decoded *d, const char *why, double at);
/* It, or those of its boxes that were in one batch, was computed and handed out. */
void stream_trace_row(stream_trace *s, const decoded *d, double compute, double computed, double out);
/* The last of it was. A stream that ends early leaves pictures without: its trace is not to be kept. */
void stream_trace_done(stream_trace *s, const decoded *d, const char *name, double at);

/* What the computing thread did. */
void stream_trace_gathered(stream_trace *s, double from, double to, size_t pictures);
void stream_trace_computed(stream_trace *s, double from, double to, size_t images);
void stream_trace_out(stream_trace *s, double from, double to, size_t rows);
void stream_trace_memory(stream_trace *s, pipeline *p);
/* After a batch of n images: of some batches, operations are measured by doing them again, and so is the resizing of
   pictures that were not prepared. */
void stream_trace_operations(stream_trace *s, const reid_image *images, size_t n);

#endif
