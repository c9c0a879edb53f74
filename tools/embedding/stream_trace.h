/* Writes a stream as events of a trace: images on their way through the stages, what each thread does, the operations
   of some batches, memory. The thread that collects images writes all events. */
#ifndef REID_TOOLS_STREAM_TRACE_H
#define REID_TOOLS_STREAM_TRACE_H

#include "base/trace.h"
#include "embedding/models.h"
#include "embedding/pipeline.h"

/* The events of one stream. If to is NULL, none are written and the calls below do nothing. */
typedef struct stream_trace {
    trace *to;
    models *all;
    const char *last; /* what is done with a row, in a word */
    int lanes;
    size_t batches;   /* so far */
    text args;
} stream_trace;

/* lanes: threads that compute; 1: the one that collects images and hands out rows. */
void stream_trace_begin(stream_trace *s, int decoders, int lanes);
void stream_trace_end(stream_trace *s);

/* Writes the stages of an image that is about to be computed, from when a thread started on it until it was handed over
   at `taken`. name: the image's name. */
void stream_trace_picture(stream_trace *s, const decoded *d, const char *name, double taken);
/* Writes why the image, or one of its boxes, has no embedding. */
void stream_trace_failure(stream_trace *s, const decoded *d, const char *why, double at);
/* The image, or those of its boxes that were in one batch, was computed and handed out. */
void stream_trace_row(stream_trace *s, const decoded *d, double compute, double computed, double out);
/* The last box of the image was handed out. If a stream ends early, this is missing for some images, so the caller does
   not keep the trace. */
void stream_trace_done(stream_trace *s, const decoded *d, const char *name, double at);

/* Write what the thread that collects, or a computing one, did. */
void stream_trace_gathered(stream_trace *s, double from, double to, size_t pictures);
void stream_trace_computed(stream_trace *s, int lane, double from, double to, size_t images);
void stream_trace_out(stream_trace *s, double from, double to, size_t rows);
void stream_trace_memory(stream_trace *s, pipeline *p);
/* Called after each batch, of n images. For some batches it measures the operations by running them again, and likewise
   the resizing of images that were not prepared. */
void stream_trace_operations(stream_trace *s, const reid_image *images, size_t n);

#endif
