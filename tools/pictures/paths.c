#include "pictures/paths.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

const char *path_last_part(const char *path) {
    const char *part = path;
    for (const char *s = path; *s; s++)
        if ((*s == '/' || *s == '\\') && s[1]) part = s + 1;
    return part;
}

int path_same_ends(const char *a, const char *b) {
    size_t n = strlen(a), m = strlen(b);
    while (n && m) {
        char x = a[--n], y = b[--m];
        if (x != y && !(x == '\\' && y == '/')) return 0;
    }
    return (!n || a[n - 1] == '/' || a[n - 1] == '\\') && (!m || b[m - 1] == '/');
}

char *path_camera(const char *folder, size_t len, size_t root_len) {
    const char *from = folder + root_len;
    size_t n = len - root_len;
    while (n && *from == '/') from++, n--;
    if (!n) {
        char *whole = mem_copy(folder, len);
        if (!whole) return NULL;
        const char *last = path_last_part(whole);
        char *own = mem_copy(last, strlen(last));
        free(whole);
        return own;
    }
    char *name = mem_copy(from, n);
    for (char *s = name; s && *s; s++)
        if (*s == '/') *s = '-';
    return name;
}

/* 1 if the folder is what path_camera calls camera. */
static int is_camera(const char *folder, size_t len, const char *camera) {
    for (size_t i = 0; i < len; i++)
        if (camera[i] != (folder[i] == '/' ? '-' : folder[i])) return 0;
    return camera[len] == 0;
}

const char *path_from_camera(const char *path, const char *camera) {
    const char *slash = strrchr(path, '/');
    for (const char *at = slash; camera && at; at = at > path ? at - 1 : NULL) {
        int begins = at == path || at[-1] == '/';
        if (begins && at < slash && is_camera(at, (size_t)(slash - at), camera)) return at;
    }
    return path;
}
