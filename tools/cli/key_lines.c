#include "cli/key_lines.h"

#include "base/files.h"

#include <string.h>

int key_lines_open(text *file, const char *path, const char *kind, text *why) {
    static const size_t most = (size_t)1 << 20;
    if (!file_read(path, most, 1, file, why)) return 0;
    if (file->len && memchr(file->s, 0, file->len)) return refuse(why, "not %s: contains a zero byte", kind);
    return 1;
}

/* Removes white space at both ends, in place. */
static char *trimmed(char *s) {
    while (is_white(*s)) s++;
    size_t n = strlen(s);
    while (n && is_white(s[n - 1])) n--;
    s[n] = 0;
    return s;
}

/* Cuts off the first line. NULL at the end. */
static char *take_line(char **rest) {
    char *line = *rest, *end = line ? strchr(line, '\n') : NULL;
    if (end) *end = 0;
    *rest = end ? end + 1 : NULL;
    return line;
}

int key_lines_next(char **rest, int *number, key_line *line) {
    for (char *s; (s = take_line(rest)) != NULL;) {
        if (!(*number)++) s += utf8_mark(s, strlen(s));
        line->number = *number;
        line->key = trimmed(s);
        line->value = strchr(line->key, '=');
        if (!*line->key || *line->key == '#') continue;
        if (!line->value) return 1;
        *line->value++ = 0;
        line->key = trimmed(line->key), line->value = trimmed(line->value);
        return 1;
    }
    return 0;
}
