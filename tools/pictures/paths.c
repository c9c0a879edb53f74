#include "pictures/paths.h"

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
