#include "base/say.h"

#include "base/clock.h"
#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MESSAGE = 4096 }; /* bytes */

static int verbosity;

static __thread struct { /* receives this thread's messages */
    char *buffer;        /* NULL: they go to stderr */
    size_t size, len;
} listener;

static struct {
    const char *label;
    size_t total;
    double started, drawn;
    int visible; /* the current line shows the bar */
} bar;

void say_setup(int level) { verbosity = level; }
int say_is_verbose(void) { return verbosity >= SAY_VERBOSE; }

void progress_hide(void) {
    if (bar.visible) fputs("\r\033[K", stderr);
    bar.visible = 0;
}

/* Escapes the message, because it may contain text from a file; newlines and tabs stay for a compiler's log. It does
   not allocate, because it also reports that memory ran out. */
static void print_line(const char *format, va_list args) {
    char line[MESSAGE], seen[4 * sizeof line + 8], one[8];
    size_t len = 0;
    vsnprintf(line, sizeof line, format, args);
    for (const char *s = line; *s;) {
        int plain = *s == '\n' || *s == '\t', n = visible_character(s, one);
        len += (size_t)snprintf(seen + len, sizeof seen - len, "%.*s", plain ? 1 : 7, plain ? s : one);
        s += n;
    }
    seen[len] = 0;
    if (listener.buffer) {
        size_t room = listener.size - listener.len;
        int n = snprintf(listener.buffer + listener.len, room, listener.len ? "\n%s" : "%s", seen);
        listener.len += n > 0 && (size_t)n < room ? (size_t)n : n > 0 ? room - 1 : 0;
        return;
    }
    progress_hide();
    fprintf(stderr, "reid: %s\n", seen);
}

#define PRINT_LINE(format)        \
    do {                          \
        va_list args;             \
        va_start(args, format);   \
        print_line(format, args); \
        va_end(args);             \
    } while (0)

void say_error(const char *format, ...) { PRINT_LINE(format); }

void say_warning(const char *format, ...) {
    if (verbosity >= SAY_NORMAL) PRINT_LINE(format);
}

void say_info(const char *format, ...) {
    if (verbosity >= SAY_VERBOSE) PRINT_LINE(format);
}

void say_text(const text *t) {
    progress_hide();
    if (text_failed(t)) say_error("out of memory");
    else fwrite(t->s, 1, t->len, stderr);
}

void say_listen(char *buffer, size_t size) {
    listener.buffer = buffer;
    listener.size = size;
    listener.len = 0;
    if (buffer) buffer[0] = 0;
}

const char *shown(const char *name) {
    static __thread char ring[4][MESSAGE];
    static __thread unsigned turn;
    char *to = ring[turn++ % 4];
    visible_place(to, MESSAGE, name);
    return to;
}

void say_at(int level, const char *message) {
    if (verbosity >= level) say_error("%s", message);
}

int may_colour(int fd) {
    const char *no_colour = getenv("NO_COLOR"), *term = getenv("TERM");
    return isatty(fd) && !(no_colour && *no_colour) && !(term && strcmp(term, "dumb") == 0);
}

void progress_start(const char *label, size_t total) {
    const char *term = getenv("TERM");
    if (listener.buffer) return;
    memset(&bar, 0, sizeof bar);
    if (verbosity < SAY_NORMAL || total == 0 || !isatty(2) || (term && strcmp(term, "dumb") == 0)) return;
    bar.label = label;
    bar.total = total;
    bar.started = clock_seconds();
}

void progress_update(size_t done, size_t failed) {
    enum { WIDTH = 30 };
    char blocks[WIDTH + 1];
    if (listener.buffer) return;
    double t = clock_seconds(), pace = (double)done / (t - bar.started + 1e-9);
    if (!bar.total || (t - bar.drawn < 0.1 && done < bar.total)) return;
    int filled = (int)(WIDTH * done / bar.total);
    for (int i = 0; i < WIDTH; i++) blocks[i] = i < filled ? '#' : '.';
    blocks[WIDTH] = 0;
    fprintf(stderr, "\r%s [%s] %zu/%zu  %.1f/s  %.0f s left", bar.label, blocks, done, bar.total, pace,
            done ? (double)(bar.total - done) / pace : 0.0);
    if (failed) fprintf(stderr, may_colour(2) ? "  \033[31m%zu failed\033[0m" : "  %zu failed", failed);
    fputs("\033[K", stderr);
    bar.drawn = t;
    bar.visible = 1;
}

void progress_stop(void) {
    if (listener.buffer) return;
    progress_hide();
    bar.total = 0;
}
