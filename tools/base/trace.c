#include "base/trace.h"

#include "base/clock.h"
#include "base/files.h"
#include "base/memory.h"
#include "base/say.h"
#include "base/source.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PROCESS = 1, CHUNK = 1 << 16 }; /* bytes that are written together */
static const char START[] = "{\"displayTimeUnit\": \"ms\", \"traceEvents\": [\n";

struct trace {
    pending file;
    text events, name; /* not yet written; for names */
    size_t written;
    double began;
    int failed;
    text why;
};

/* --- the file ----------------------------------------------------------------------------------------------------- */

/* Only a trace is replaced, or what is empty: behind an option whose value was forgotten comes a picture. */
static int may_replace(const char *path, text *why) {
    char start[sizeof START];
    const size_t n = sizeof START - 1;
    source old;
    if (access(path, F_OK) != 0) return 1;
    int good = source_open(&old, path, why) &&
               (!old.size || (source_read(&old, 0, start, n, why) && memcmp(start, START, n) == 0));
    source_close(&old);
    return good || refuse(why, "exists and is not a trace, so it is not replaced");
}

static int open_file(trace *t, const char *path) {
    text temp = TEXT_INIT;
    text_printf(&temp, "%s.part", path);
    int good = text_failed(&temp) ? text_no_memory(&t->why) : pending_open(&t->file, path, temp.s, 0, &t->why);
    if (good && !may_replace(path, &t->why)) good = 0, pending_close(&t->file);
    text_free(&temp);
    return good;
}

/* The first failure stays; what comes after it is dropped. */
static void flush(trace *t) {
    if (!t->failed && text_failed(&t->events)) t->failed = 1, text_no_memory(&t->why);
    if (!t->failed && !pending_write(&t->file, t->events.s, t->events.len, t->written, &t->why)) t->failed = 1;
    t->written += t->events.len;
    text_clear(&t->events);
}

trace *trace_open(const char *path, const char *program) {
    trace *t = need_zeroed(1, sizeof *t);
    if (!t) return NULL;
    t->began = clock_seconds();
    if (!open_file(t, path)) {
        say_error("%s: %s", shown(path), t->why.s);
        text_free(&t->why);
        free(t);
        return NULL;
    }
    text_puts(&t->events, START);
    text_printf(&t->events, "{\"ph\": \"M\", \"pid\": %d, \"name\": \"process_name\", \"args\": {\"name\": ", PROCESS);
    text_json(&t->events, program);
    text_puts(&t->events, "}}");
    return t;
}

void trace_fail(trace *t, const char *why) {
    if (!t || t->failed) return;
    t->failed = 1;
    text_clear(&t->why);
    text_puts(&t->why, why);
}

static int finish_file(trace *t) {
    text_puts(&t->events, "\n]}\n");
    flush(t);
    return !t->failed && pending_sync(&t->file, &t->why) && pending_rename(&t->file, &t->why);
}

int trace_end(trace *t, int keep) {
    if (!t) return 1;
    int good = !keep || finish_file(t);
    if (!good) say_error("%s: the trace was not written: %s", shown(t->file.path), t->why.s);
    pending_close(&t->file);
    text_free(&t->events), text_free(&t->name), text_free(&t->why);
    free(t);
    return good;
}

/* --- events ------------------------------------------------------------------------------------------------------- */

/* As people read them: readers of JSON differ in what they make of a string that is not Unicode. */
static void add_name(trace *t, const char *name) {
    text_clear(&t->name);
    text_visible(&t->name, name);
    if (text_failed(&t->name)) text_no_memory(&t->events);
    text_puts(&t->events, ", \"name\": ");
    text_json(&t->events, t->name.s ? t->name.s : "");
}

/* Nanoseconds since the trace was opened. Whole ones: what lies within another slice still does when it is rounded. */
static long long moment(const trace *t, double at) { return at > t->began ? llrint(1e9 * (at - t->began)) : 0; }

/* In microseconds. */
static void add_time(trace *t, const char *what, long long nanoseconds) {
    text_printf(&t->events, ", \"%s\": %lld.%03lld", what, nanoseconds / 1000, nanoseconds % 1000);
}

static void add_args(trace *t, const text *args) {
    if (args && args->len) {
        text_puts(&t->events, ", \"args\": {");
        text_join(&t->events, args);
        text_putc(&t->events, '}');
    }
    text_putc(&t->events, '}');
    if (t->events.len >= CHUNK || text_failed(&t->events)) flush(t);
}

static int begin(trace *t, char phase, int thread) {
    if (!t || t->failed) return 0;
    text_printf(&t->events, ",\n{\"ph\": \"%c\", \"pid\": %d, \"tid\": %d", phase, PROCESS, thread);
    return 1;
}

void trace_thread(trace *t, int thread, const char *name) {
    if (!begin(t, 'M', thread)) return;
    text_puts(&t->events, ", \"name\": \"thread_name\", \"args\": {\"name\": ");
    text_json(&t->events, name);
    text_puts(&t->events, "}}");
}

void trace_slice(trace *t, int thread, const char *name, double from, double to, const text *args) {
    if (!begin(t, 'X', thread)) return;
    add_name(t, name);
    add_time(t, "ts", moment(t, from));
    add_time(t, "dur", to > from ? moment(t, to) - moment(t, from) : 0);
    add_args(t, args);
}

void trace_stage(trace *t, char phase, const char *kind, size_t id, const char *name, double at, const text *args) {
    if (!begin(t, phase, PROCESS)) return;
    text_printf(&t->events, ", \"cat\": \"%s\", \"id\": \"0x%zx\"", kind, id);
    add_name(t, name);
    add_time(t, "ts", moment(t, at));
    add_args(t, args);
}

void trace_counter(trace *t, const char *name, double at, const text *args) {
    if (!begin(t, 'C', PROCESS)) return;
    add_name(t, name);
    add_time(t, "ts", moment(t, at));
    add_args(t, args);
}
