#include "cli/template.h"

#include "base/choices.h"
#include "base/files.h"
#include "base/say.h"
#include "base/threads.h"

#include <stdio.h>
#include <string.h>

const char *const TEMPLATE_KEY[TEMPLATE_KEYS] = {"device", "batch", "threads", "lanes", "decoders", "memory"};

int template_key(const char *name) {
    for (int i = 0; i < TEMPLATE_KEYS; i++)
        if (strcmp(TEMPLATE_KEY[i], name) == 0) return i;
    return -1;
}

static void set(settings_template *t, int key, const char *value) {
    snprintf(t->value[key], TEMPLATE_VALUE, "%s", value);
}

/* What can be said without measuring. throughput: a thread that decodes for every CPU, where the default has at most
   four. latency: nothing gathers, and all threads work on one picture. low-memory: one picture at a time. */
static void named(settings_template *t, int which) {
    enum { THROUGHPUT, LATENCY, LOW_MEMORY, CPU, MOST_DECODERS = 256 };
    char cpus[16];
    snprintf(cpus, sizeof cpus, "%d", threads_for(0, MOST_DECODERS));
    if (which == THROUGHPUT || which == CPU) set(t, TEMPLATE_DECODERS, cpus);
    if (which == CPU) set(t, TEMPLATE_DEVICE, "cpu");
    if (which == LATENCY || which == LOW_MEMORY) set(t, TEMPLATE_BATCH, "1"), set(t, TEMPLATE_LANES, "1");
    if (which == LOW_MEMORY) set(t, TEMPLATE_DECODERS, "1");
}

static int is_space(char c) { return c == ' ' || c == '\t' || c == '\r'; }

/* The text without white space at its ends; it is cut there. */
static char *trimmed(char *s) {
    while (is_space(*s)) s++;
    size_t n = strlen(s);
    while (n && is_space(s[n - 1])) n--;
    s[n] = 0;
    return s;
}

static int wrong(const char *path, int line, const char *what, const char *it) {
    say_error("%s, line %d: %s: \"%s\"", shown(path), line, what, shown(it));
    return 0;
}

/* One line, of which the end was cut off. */
static int read_line(settings_template *t, const char *path, int number, char *line) {
    char *key = trimmed(line), *value = strchr(key, '=');
    if (!*key || *key == '#') return 1;
    if (!value) return wrong(path, number, "neither KEY = VALUE nor a comment", key);
    *value++ = 0;
    key = trimmed(key), value = trimmed(value);
    int place = template_key(key);
    if (place < 0) return wrong(path, number, "no setting of a template (device, batch, threads, lanes, decoders, "
                                              "memory)", key);
    if (t->line[place]) return wrong(path, number, "a second time", key);
    if (!*value || strlen(value) >= TEMPLATE_VALUE) return wrong(path, number, "no value for that", value);
    set(t, place, value);
    t->line[place] = number;
    return 1;
}

static int read_lines(settings_template *t, const char *path, text *file) {
    if (memchr(file->s, 0, file->len)) {
        say_error("%s: no template: it has a zero byte", shown(path));
        return 0;
    }
    char *line = file->s + utf8_mark(file->s, file->len);
    for (int number = 1; line; number++) {
        char *end = strchr(line, '\n');
        if (end) *end = 0;
        if (!read_line(t, path, number, line)) return 0;
        line = end ? end + 1 : NULL;
    }
    return 1;
}

int template_read(settings_template *t, const char *name) {
    static const size_t most = (size_t)1 << 20;
    text file = TEXT_INIT, why = TEXT_INIT;
    int which = choice_index(TEMPLATES, name), good = 1;
    memset(t, 0, sizeof *t);
    if (which >= 0) {
        named(t, which);
        return 1;
    }
    if (!file_read(name, most, 1, &file, &why)) {
        say_error("--template: it is none of " TEMPLATES ", and as a file, %s: %s", shown(name), why.s);
        good = 0;
    } else if (file.len) {
        good = read_lines(t, name, &file);
    }
    text_free(&file), text_free(&why);
    return good;
}
