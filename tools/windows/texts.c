/* Functions on texts that MinGW-w64 lacks. */
#include "windows/posix.h"

#include <fnmatch.h>

void *windows_memmem(const void *in, size_t size, const void *what, size_t length) {
    const char *at = in, *first = what;
    if (!length) return (void *)(uintptr_t)in;
    while (size >= length) {
        const char *found = memchr(at, *first, size - length + 1);
        if (!found) return NULL;
        if (memcmp(found, what, length) == 0) return (void *)(uintptr_t)found;
        size -= (size_t)(found + 1 - at);
        at = found + 1;
    }
    return NULL;
}

/* Whether the set that begins after [ contains the byte; moves *pattern past its ]. A set without ] has none. */
static int in_set(const char **pattern, unsigned char byte) {
    const char *p = *pattern;
    const int inverted = *p == '!' || *p == '^';
    int found = 0;
    p += inverted;
    for (const char *first = p; *p && (*p != ']' || p == first); p++) {
        const unsigned char low = (unsigned char)*p;
        unsigned char high = low;
        if (p[1] == '-' && p[2] && p[2] != ']') high = (unsigned char)p[2], p += 2;
        found |= low <= byte && byte <= high;
    }
    if (!*p) return 0;
    *pattern = p + 1;
    return found != inverted;
}

/* 0 if the name matches. After a mismatch the last * takes one byte more. */
int fnmatch(const char *pattern, const char *name, int flags) {
    const char *star = NULL, *retry = NULL;
    (void)flags;
    for (;;) {
        const char *p = pattern + 1;
        if (*pattern == '*') {
            star = ++pattern, retry = name;
            continue;
        }
        if (!*name && !*pattern) return 0;
        if (*name && (*pattern == '?' || (*pattern == '[' && in_set(&p, (unsigned char)*name)) ||
                      (*pattern == '\\' && pattern[1] == *name && p++) || (*pattern == *name && *pattern != '['))) {
            pattern = p, name++;
            continue;
        }
        if (!star || !*retry) return 1;
        pattern = star, name = ++retry;
    }
}
