#include "machine/libraries.h"

#include "base/child.h"
#include "base/clock.h"
#include "base/library.h"
#include "base/say.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* The file that a symbol was loaded from, with links resolved: its name contains the version, which no function
   returns. */
static const char *file_of(void *symbol, char path[PATH_MAX]) {
    Dl_info from;
    if (!symbol || !dladdr(symbol, &from) || !from.dli_fname) return "?";
    return realpath(from.dli_fname, path) ? path : from.dli_fname;
}

/* What the loader says, which may name the same file twice. */
static const char *loader_reason(void) {
    const char *reason = dlerror();
    return reason ? reason : "it lacks a function";
}

static void look_for_turbojpeg(findings *f, int wanted) {
    static const char remedy[] = HELP_HERE("apt-get install libturbojpeg0", "brew install jpeg-turbo",
                                           "libturbojpeg.dll next to reid.exe");
    char path[PATH_MAX];
    void *library = dlopen("libturbojpeg.so.0", RTLD_NOW | RTLD_LOCAL);
    void *symbol = library ? dlsym(library, "tjDecompress2") : NULL;
    if (symbol)
        findings_add(f, FOUND_GOOD, "libturbojpeg", NULL, "%s: JPEG pixels equal Pillow's", file_of(symbol, path));
    else
        findings_add(f, wanted ? FOUND_ERROR : FOUND_WARNING, "libturbojpeg", remedy,
                     "%s; JPEG is decoded by stb_image, in twice the time, and the pixels differ from Pillow's",
                     loader_reason());
    if (library) dlclose(library);
}

/* Calls `int function(void)` of a library. Returns -1, with the reason in loader_reason(), if that is not possible. */
static int call_library(const char *name, const char *function) {
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    int (*call)(void) = NULL, result = -1;
    void *symbol = library ? dlsym(library, function) : NULL;
    memcpy(&call, &symbol, sizeof call); /* C cannot convert an object pointer to a function pointer */
    if (call) result = call();
    if (library) dlclose(library);
    return result;
}

static void look_for_webp(findings *f) {
    int version = call_library("libwebp.so.7", "WebPGetDecoderVersion");
    if (version >= 0)
        findings_add(f, FOUND_GOOD, "libwebp", NULL, "version %d.%d.%d: WebP images can be read", version >> 16,
                     version >> 8 & 255, version & 255);
    else
        findings_add(f, FOUND_NOTE, "libwebp",
                     HELP_HERE("apt-get install libwebp7", "brew install webp", "libwebp-7.dll next to reid.exe"),
                     "%s; WebP images cannot be read", loader_reason());
}

/* libtiff reports its version as text: "LIBTIFF, Version 4.5.0", then the copyright. */
static void look_for_tiff(findings *f) {
    void *library = dlopen("libtiff.so.6", RTLD_NOW | RTLD_LOCAL);
    const char *(*version)(void) = NULL;
    if (!library) library = dlopen("libtiff.so.5", RTLD_NOW | RTLD_LOCAL);
    void *symbol = library ? dlsym(library, "TIFFGetVersion") : NULL;
    memcpy(&version, &symbol, sizeof version);
    const char *said = version ? version() : "", *number = strstr(said, "Version ");
    if (version)
        findings_add(f, FOUND_GOOD, "libtiff", NULL, "version %.*s: TIFF images can be read",
                     number ? (int)strcspn(number + 8, "\n") : 1, number ? number + 8 : "?");
    else
        findings_add(f, FOUND_NOTE, "libtiff",
                     HELP_HERE("apt-get install libtiff6", "brew install libtiff", "libtiff-6.dll next to reid.exe"),
                     "%s; TIFF images cannot be read", loader_reason());
    if (library) dlclose(library);
}

static void look_for_pq(findings *f, int wanted) {
    int version = call_library("libpq.so.5", "PQlibVersion");
    if (version >= 0)
        findings_add(f, FOUND_GOOD, "libpq", NULL, "version %d.%d: galleries in PostgreSQL can be used",
                     version / 10000, version % 10000);
    else
        findings_add(f, wanted ? FOUND_ERROR : FOUND_NOTE, "libpq",
                     HELP_HERE("apt-get install libpq5", "brew install libpq", "reid on Linux"),
                     "%s; galleries in PostgreSQL cannot be used", loader_reason());
}

static void look_for_http(findings *f, int compiled_in) {
    const char *(*version)(void) = NULL;
    void *symbol = dlsym(RTLD_DEFAULT, "MHD_get_version");
    memcpy(&version, &symbol, sizeof version);
    if (compiled_in)
        findings_add(f, FOUND_GOOD, "libmicrohttpd", NULL, "%s: reid serve and reid review can be used",
                     version ? version() : "compiled in");
    else
        findings_add(f, FOUND_NOTE, "libmicrohttpd",
                     HELP_HERE("apt-get install libmicrohttpd-dev, and compile reid again", "reid on Linux",
                               "reid on Linux"),
                     "not compiled in; reid serve and the page of reid review cannot be used");
}

/* Reads the first line that a child writes to stdout within a few seconds. Returns 1 if there is one. */
static int first_line_of(child *c, char *line, size_t size) {
    const double until = clock_seconds() + 5;
    size_t len = 0;
    while (len + 1 < size && clock_seconds() < until) {
        struct pollfd look = {c->fd[1], POLLIN, 0};
        if (poll(&look, 1, 100) < 0 && errno != EINTR) break;
        if (!look.revents) continue;
        ssize_t n = read(c->fd[1], line + len, size - 1 - len);
        if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) break;
        if (n > 0) len += (size_t)n;
        if (memchr(line, '\n', len)) break;
    }
    line[len] = 0;
    line[strcspn(line, "\n")] = 0;
    return line[0] != 0;
}

static void look_for_ffmpeg(findings *f, const char *given) {
    char name[PATH_MAX], line[256] = "";
    static char option[] = "-version";
    char *argv[] = {name, option, NULL};
    child c;
    int missing = 0;
    text why = TEXT_INIT;
    snprintf(name, sizeof name, "%s", given ? given : "ffmpeg");
    int started = child_start(&c, argv, 1u << 1, &missing, &why);
    int told = started && first_line_of(&c, line, sizeof line);
    if (started) child_end(&c, 1);
    if (told && strncmp(line, "ffmpeg version ", 15) == 0) {
        line[15 + strcspn(line + 15, " ")] = 0;
        findings_add(f, FOUND_GOOD, "ffmpeg", NULL, "version %s: reid track can read videos", line + 15);
    } else {
        findings_add(f, given ? FOUND_ERROR : FOUND_NOTE, "ffmpeg",
                     HELP_HERE("apt-get install ffmpeg", "brew install ffmpeg", "ffmpeg.exe in PATH") ", 4.4 or newer",
                     "%s: %s; reid track cannot read videos", shown(name),
                     started ? "it does not report its version" : why.s ? why.s : "it cannot be started");
    }
    text_free(&why);
}

void libraries_look(findings *f, const library_needs *needs) {
    look_for_turbojpeg(f, needs->turbo);
    look_for_webp(f);
    look_for_tiff(f);
    look_for_pq(f, needs->database);
    look_for_http(f, needs->http);
    look_for_ffmpeg(f, needs->ffmpeg);
}
