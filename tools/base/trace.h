/* A timeline of a program as a file of Chrome's trace events (JSON), which ui.perfetto.dev shows: slices of threads,
   items on their way through stages ("async" events, which may overlap), counters. Events are written as they come, so
   memory does not grow and none is dropped. One thread writes, also on behalf of others; events may come in any order
   of time. With a NULL trace the functions do nothing. */
#ifndef REID_TOOLS_TRACE_H
#define REID_TOOLS_TRACE_H

#include "base/text.h"

#include <stddef.h>

typedef struct trace trace;

/* The file appears under its name at trace_end. An existing file that is not a trace stays, and is an error. program:
   the process's name in the trace. Returns NULL after reporting an error. */
trace *trace_open(const char *path, const char *program);

/* Times are those of clock_seconds. args: members of a JSON object without its braces, NULL or empty: none; a text that
   ran out of memory makes the trace fail. Names may contain any bytes; they are escaped like text_visible. */

void trace_thread(trace *t, int thread, const char *name);
/* Adds a slice. Slices of a thread follow each other or are nested. */
void trace_slice(trace *t, int thread, const char *name, double from, double to, const text *args);
/* phase: 'b' begins a stage of item number id, 'e' ends it, under the same name, 'n' marks a moment in it. Stages of
   one item follow each other or are nested. */
void trace_stage(trace *t, char phase, const char *kind, size_t id, const char *name, double at, const text *args);
/* args: the values. */
void trace_counter(trace *t, const char *name, double at, const text *args);

/* Makes the trace fail: there will be no file. The first reason is reported. */
void trace_fail(trace *t, const char *why);

/* Frees t. keep: the file gets its name; otherwise it is removed. Returns 0 after reporting why a file that was to be
   kept could not be written; there is none then. */
int trace_end(trace *t, int keep);

#endif
