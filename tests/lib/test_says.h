/* Compares messages with a test's expected texts. `sh tests/run --write` renews these in the tests' sources, see
   tests/README.md; for that a comparison writes a record (tests/lib/renew.py) to the file that REID_WRITE names, and
   succeeds.

       says(message, part)           whether a message has this part
       says_all(message, text)       whether it is this text
       assert_says(message, part), assert_says_all(message, text)      the same with cmocka */
#ifndef TEST_SAYS_H
#define TEST_SAYS_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(__linux__) && defined(__GLIBC__)
#include <execinfo.h>
#include <fcntl.h>
#include <unistd.h>
#endif

#define says(message, part) test_says_((message), (part), 0, __FILE__, __LINE__)
#define says_all(message, text) test_says_((message), (text), 1, __FILE__, __LINE__)
#define assert_says(message, part)                                                                                     \
    do {                                                                                                               \
        if (!says(message, part)) fail_msg("said \"%s\", not \"%s\"", test_text_(message), (part));                    \
    } while (0)
#define assert_says_all(message, text)                                                                                 \
    do {                                                                                                               \
        if (!says_all(message, text)) fail_msg("said \"%s\", and not \"%s\"", test_text_(message), (text));            \
    } while (0)

#if defined(__linux__) && defined(__GLIBC__)
extern char __executable_start[]; /* of the linker's */

typedef struct test_record {
    char text[65536];
    size_t used;
} test_record;

static inline void test_record_add_(test_record *r, const char *format, ...) {
    va_list arguments;
    size_t left = sizeof r->text - r->used - 8; /* "end" fits behind what does not fit any more */
    va_start(arguments, format);
    int n = vsnprintf(r->text + r->used, left, format, arguments);
    va_end(arguments);
    if (n > 0 && (size_t)n < left) r->used += (size_t)n;
}

static inline void test_record_lines_(test_record *r, const char *word, const char *text) {
    for (;;) {
        size_t size = strcspn(text, "\n");
        test_record_add_(r, "%s %.*s\n", word, (int)size, text);
        if (!text[size]) return;
        text += size + 1;
    }
}

/* The callers, as addresses for addr2line: a position-independent program is linked to begin at 0. */
static inline void test_record_callers_(test_record *r) {
    void *callers[24];
    char path[512];
    size_t start = (size_t)__executable_start;
    ssize_t size = readlink("/proc/self/exe", path, sizeof path);
    int count = backtrace(callers, 24);
    test_record_add_(r, "program %.*s\n", (int)size, path);
    for (int i = 1; i < count; i++)
        test_record_add_(r, "frame 0x%zx\n", (size_t)callers[i] - 1 - (start < 0x1000000 ? 0 : start));
}

static inline void test_record_(const char *path, const char *message, const char *text, const char *what,
                                const char *file, int line) {
    test_record record = {"", 0}, *r = &record; /* an allocation could be one that the test refuses */
    test_record_add_(r, "record %s\nat %s %d\n", what, file, line);
    test_record_callers_(r);
    test_record_lines_(r, "want", text);
    test_record_lines_(r, "got", message);
    r->used += (size_t)snprintf(r->text + r->used, 5, "end\n");
    int out = open(path, O_WRONLY | O_APPEND | O_CREAT, 0600);
    if (out < 0 || write(out, r->text, r->used) < 0) perror(path); /* in one write: others may write there, too */
    if (out >= 0) close(out);
}
#endif

static inline const char *test_text_(const char *text) { return text ? text : ""; }

static inline int test_says_(const char *message, const char *text, int all, const char *file, int line) {
    message = test_text_(message);
    int held = all ? strcmp(message, text) == 0 : strstr(message, text) != NULL;
#if defined(__linux__) && defined(__GLIBC__)
    const char *path = getenv("REID_WRITE");
    if (path && *path) {
        static const char *const what[2][2] = {{"fixed differs", "fixed held"}, {"exact differs", "exact held"}};
        test_record_(path, message, text, what[all][held], file, line);
        return 1;
    }
#endif
    (void)file, (void)line;
    return held;
}

#endif
