/* What a program did when, as a file of Chrome's trace events (JSON), which ui.perfetto.dev shows: slices of threads,
   things on their way through stages ("async" events, which may overlap), counters. Events go to disk as they come, so
   memory does not grow with them and none is dropped. One thread writes, also on behalf of others: events may come in
   any order of time. Where trace is NULL, nothing happens. */
#ifndef REID_TOOLS_TRACE_H
#define REID_TOOLS_TRACE_H

#include "base/text.h"

#include <stddef.h>

typedef struct trace trace;

/* The file appears under its name at trace_end; one that is there and is no trace stays, and is an error. program: what
   the trace calls the process. NULL after saying why. */
trace *trace_open(const char *path, const char *program);

/* Moments are those of clock_seconds. args: members of a JSON object without its braces, NULL or empty: none; a text
   that ran out of memory makes the trace fail. Names may have any bytes; they are shown as text_visible shows them. */

void trace_thread(trace *t, int thread, const char *name);
/* Slices of a thread lie beside or within each other. */
void trace_slice(trace *t, int thread, const char *name, double from, double to, const text *args);
/* phase: 'b' begins a stage of thing number id, 'e' ends it, under the same name, 'n' is a moment in it. Stages of one
   thing lie beside or within each other. */
void trace_stage(trace *t, char phase, const char *kind, size_t id, const char *name, double at, const text *args);
/* args: the values. */
void trace_counter(trace *t, const char *name, double at, const text *args);

/* There will be no file, for this reason; the first one counts. */
void trace_fail(trace *t, const char *why);

/* keep: the file gets its name; else it goes. Frees t. Returns 0 after saying why the file, which was to be kept,
   could not be written: then there is none. */
int trace_end(trace *t, int keep);

#endif
