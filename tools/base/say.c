#include "base/say.h"

#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int verbosity;

static struct {
    const char *label;
    size_t total;
    double started, drawn;
    int visible; /* a bar stands on the current line */
} bar;

void say_setup(int level) { verbosity = level; }

void progress_hide(void) {
    if (bar.visible) fputs("\r\033[K", stderr);
    bar.visible = 0;
}

static void print_line(const char *format, va_list args) {
    char line[4096]; /* no allocation: also used to report that there is no memory */
    vsnprintf(line, sizeof line, format, args);
    progress_hide();
    fprintf(stderr, "reid: %s\n", line);
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

void die(const char *format, ...) {
    PRINT_LINE(format);
    exit(2);
}

const char *shown(const char *name) {
    static text ring[4];
    static unsigned turn;
    text *t = &ring[turn++ % 4];
    text_clear(t);
    text_visible(t, name);
    return t->s ? t->s : "";
}

void say_log(reid_log_level level, reid_result id, const char *message, void *user) {
    int needed = level == REID_LOG_WARNING ? SAY_NORMAL : level == REID_LOG_INFO ? SAY_VERBOSE : SAY_DEBUG;
    (void)id, (void)user;
    if (verbosity >= needed) say_error("%s", message);
}

int may_colour(int fd) {
    const char *no_colour = getenv("NO_COLOR"), *term = getenv("TERM");
    return isatty(fd) && !(no_colour && *no_colour) && !(term && strcmp(term, "dumb") == 0);
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void progress_start(const char *label, size_t total) {
    const char *term = getenv("TERM");
    memset(&bar, 0, sizeof bar);
    if (verbosity < SAY_NORMAL || total == 0 || !isatty(2) || (term && strcmp(term, "dumb") == 0)) return;
    bar.label = label;
    bar.total = total;
    bar.started = now();
}

void progress_update(size_t done, size_t failed) {
    enum { WIDTH = 30 };
    char blocks[WIDTH + 1];
    double t = now(), pace = (double)done / (t - bar.started + 1e-9);
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
    progress_hide();
    bar.total = 0;
}
