#include "base/trace.h"

#include "base/clock.h"
#include "base/files.h"
#include "base/json_write.h"
#include "base/memory.h"
#include "base/say.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PROCESS = 1, CHUNK = 1 << 16 }; /* CHUNK: bytes per write */
#define START "{\"displayTimeUnit\": \"ms\", \"traceEvents\": [\n"

struct trace {
    pending file;
    text events, name; /* events not yet written; space for names */
    json_writer w;     /* writes to `events`, inside their array */
    size_t written;
    double began;
    int failed;
    text why;
};

/* --- the file ----------------------------------------------------------------------------------------------------- */

static const output_kind TRACE_FILE = {.what = "a trace", .start = START};

static int open_file(trace *t, const char *path) {
    int good = pending_begin(&t->file, path, &TRACE_FILE, &t->why);
    return good;
}

/* Writes the events. After the first failure, whose reason is kept, all are dropped. */
static void flush(trace *t) {
    if (!t->failed && text_failed(&t->events)) t->failed = 1, text_no_memory(&t->why);
    if (!t->failed && !pending_write(&t->file, t->events.s, t->events.len, t->written, &t->why)) t->failed = 1;
    t->written += t->events.len;
    text_clear(&t->events);
}

/* Writes the rest of an event that names a process or thread. */
static void put_title(trace *t, const char *what, const char *name) {
    json_put_string(&t->w, "name", what);
    json_put_object(&t->w, "args");
    json_put_string(&t->w, "name", name);
    json_put_end(&t->w);
    json_put_end(&t->w);
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
    t->w = json_write_inside(&t->events, '[', 0);
    json_put_object(&t->w, NULL);
    json_put_string(&t->w, "ph", "M");
    json_put_int(&t->w, "pid", PROCESS);
    put_title(t, "process_name", program);
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

/* Writes a name made printable, because readers of JSON differ in how they treat strings that are not Unicode. */
static void add_name(trace *t, const char *name) {
    text_clear(&t->name);
    text_visible(&t->name, name);
    if (text_failed(&t->name)) text_no_memory(&t->events);
    json_put_string(&t->w, "name", t->name.s ? t->name.s : "");
}

/* Whole nanoseconds since the trace was opened: a slice inside another one stays inside after rounding. */
static long long moment(const trace *t, double at) { return at > t->began ? llrint(1e9 * (at - t->began)) : 0; }

/* Writes a time in microseconds. */
static void add_time(trace *t, const char *what, long long nanoseconds) {
    text_printf(json_put_value(&t->w, what), "%lld.%03lld", nanoseconds / 1000, nanoseconds % 1000);
}

static void add_args(trace *t, const text *args) {
    if (args && args->len) {
        json_put_object(&t->w, "args");
        json_put_inside(&t->w, args);
        json_put_end(&t->w);
    }
    json_put_end(&t->w);
    if (t->events.len >= CHUNK || text_failed(&t->events)) flush(t);
}

static int begin(trace *t, char phase, int thread) {
    if (!t || t->failed) return 0;
    json_put_line(&t->w, 0);
    json_put_object(&t->w, NULL);
    json_put_format(&t->w, "ph", "%c", phase);
    json_put_int(&t->w, "pid", PROCESS);
    json_put_int(&t->w, "tid", thread);
    return 1;
}

void trace_thread(trace *t, int thread, const char *name) {
    if (begin(t, 'M', thread)) put_title(t, "thread_name", name);
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
    json_put_string(&t->w, "cat", kind);
    json_put_format(&t->w, "id", "0x%zx", id);
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
