/* dlopen by the names of Linux: libtiff.so.6 is libtiff.6.dylib on macOS. */
#include <stdio.h>
#include <string.h>
#undef dlopen

void *macos_dlopen(const char *name, int flags) {
    /* dyld's own, then Homebrew's on arm64 and on x86-64, which keep libpq apart, and MacPorts' */
    static const char *const folders[] = {
        "", "/opt/homebrew/lib/", "/opt/homebrew/opt/libpq/lib/", "/usr/local/lib/", "/usr/local/opt/libpq/lib/",
        "/opt/local/lib/",
    };
    const char *ending = strstr(name, ".so.");
    if (!ending || strchr(name, '/')) return dlopen(name, flags);
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        char path[256];
        snprintf(path, sizeof path, "%s%.*s.%s.dylib", folders[i], (int)(ending - name), name, ending + 4);
        void *library = dlopen(path, flags);
        if (library) return library;
    }
    return NULL;
}
