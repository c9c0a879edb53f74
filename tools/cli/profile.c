#include "cli/profile.h"

#include "base/choices.h"
#include "base/say.h"
#include "base/threads.h"
#include "cli/key_lines.h"

#include <stdio.h>
#include <string.h>

const char *const PROFILE_KEY[PROFILE_KEYS] = {"device", "batch", "threads", "lanes", "decoders", "memory"};

int profile_key(const char *name) {
    for (int i = 0; i < PROFILE_KEYS; i++)
        if (strcmp(PROFILE_KEY[i], name) == 0) return i;
    return -1;
}

static void set(profile *p, int key, const char *value) {
    snprintf(p->value[key], PROFILE_VALUE, "%s", value);
}

/* The predefined profiles. throughput: a decoding thread per CPU; the default is at most four. latency: no batching,
   all threads work on one image. low-memory: one image at a time. */
static void named(profile *p, int which) {
    enum { THROUGHPUT, LATENCY, LOW_MEMORY, CPU, MOST_DECODERS = 256 };
    char cpus[16];
    snprintf(cpus, sizeof cpus, "%d", threads_for(0, MOST_DECODERS));
    if (which == THROUGHPUT || which == CPU) set(p, PROFILE_DECODERS, cpus);
    if (which == CPU) set(p, PROFILE_DEVICE, "cpu");
    if (which == LATENCY || which == LOW_MEMORY) set(p, PROFILE_BATCH, "1"), set(p, PROFILE_LANES, "1");
    if (which == LOW_MEMORY) set(p, PROFILE_DECODERS, "1");
}

static int wrong(const char *path, int line, const char *what, const char *it) {
    say_error("%s, line %d: %s: \"%s\"", shown(path), line, what, shown(it));
    return 0;
}

static int read_line(profile *p, const char *path, const key_line *line) {
    const int number = line->number, place = profile_key(line->key);
    if (!line->value) return wrong(path, number, "expected KEY = VALUE or a comment, found", line->key);
    if (place < 0) return wrong(path, number, "unknown setting; expected device, batch, threads, lanes, decoders or "
                                              "memory, found", line->key);
    if (p->line[place]) return wrong(path, number, "this setting is given twice", line->key);
    if (!*line->value || strlen(line->value) >= PROFILE_VALUE)
        return wrong(path, number, "missing or too long value", line->value);
    set(p, place, line->value);
    p->line[place] = number;
    return 1;
}

static int read_lines(profile *p, const char *path, char *file) {
    key_line line;
    for (int number = 0; key_lines_next(&file, &number, &line);)
        if (!read_line(p, path, &line)) return 0;
    return 1;
}

int profile_read(profile *p, const char *name) {
    text file = TEXT_INIT, why = TEXT_INIT;
    int which = choice_index(PROFILES, name), good = 1;
    memset(p, 0, sizeof *p);
    if (which >= 0) {
        named(p, which);
        return 1;
    }
    if (!key_lines_open(&file, name, "a profile", &why)) {
        say_error("--profile takes " PROFILES " or a file; %s: %s", shown(name), why.s);
        good = 0;
    } else if (file.len) {
        good = read_lines(p, name, file.s);
    }
    text_free(&file), text_free(&why);
    return good;
}
