#include "pictures/turbojpeg.h"

#include "base/library.h"
#include "base/say.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* The part of turbojpeg.h that is used here; it is the same in versions 2 and 3. */
enum { PIXELS_RGB = 0, PIXELS_CMYK = 11, ACCURATE_DCT = 4096, STOP_ON_WARNING = 8192, A_WARNING = 0 };

typedef void *tj_handle;

static struct library {
    int usable;
    char why_not[256];
    tj_handle (*init)(void);
    int (*read_header)(tj_handle h, const unsigned char *file, unsigned long len, int *width, int *height,
                       int *subsampling, int *colours);
    int (*decompress)(tj_handle h, const unsigned char *file, unsigned long len, unsigned char *to, int width,
                      int pitch, int height, int pixels, int flags);
    char *(*error_text)(tj_handle h);
    int (*error_kind)(tj_handle h);
    int (*destroy)(tj_handle h);
} turbo;

/* The library stays in memory until the process ends. */
static void look_for_it(void) {
    static const char name[] = "libturbojpeg.so.0";
    const library_function functions[] = {
        {"tjInitDecompress", &turbo.init},     {"tjDecompressHeader3", &turbo.read_header},
        {"tjDecompress2", &turbo.decompress},  {"tjGetErrorStr2", &turbo.error_text},
        {"tjGetErrorCode", &turbo.error_kind}, {"tjDestroy", &turbo.destroy},
    };
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    const char *missing = library ? library_find(library, functions, sizeof functions / sizeof *functions) : NULL;
    turbo.usable = library && !missing;
    if (!library) snprintf(turbo.why_not, sizeof turbo.why_not, "%s", dlerror());
    if (missing) snprintf(turbo.why_not, sizeof turbo.why_not, "%s has no %s", name, missing), dlclose(library);
}

static int find_it(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, look_for_it);
    return turbo.usable;
}

int jpeg_is_by_turbo(jpeg_decoder wanted) { return wanted != JPEG_STB && find_it(); }

int jpeg_decoder_ready(jpeg_decoder wanted) {
    if (wanted != JPEG_TURBO || find_it()) return 1;
    say_error("--jpeg turbo: libturbojpeg (Debian: libturbojpeg0) cannot be used: %s", turbo.why_not);
    return 0;
}

const char *jpeg_decoder_name(jpeg_decoder wanted) {
    return jpeg_is_by_turbo(wanted) ? "libjpeg-turbo" : "stb_image";
}

size_t turbojpeg_room(int width, int height, int components) {
    return (size_t)width * (size_t)height * (components == 4 ? 4 : 3);
}

/* Returns x * y / 255, rounded, for x and y up to 255. */
static int share_of(int x, int y) {
    int product = x * y + 128;
    return (product + (product >> 8)) >> 8;
}

/* Converts in place: a pixel's four bytes are read before its three are written. Files hold 255 minus each ink: the
   byte for black is the white that is left, and each other byte is the share that its ink leaves of it. */
static void cmyk_to_rgb(unsigned char *pixels, size_t count) {
    const unsigned char *from = pixels;
    for (unsigned char *to = pixels; count > 0; count--, from += 4, to += 3) {
        int white = from[3], cyan = 255 - from[0], magenta = 255 - from[1], yellow = 255 - from[2];
        int inks[3] = {share_of(cyan, white), share_of(magenta, white), share_of(yellow, white)};
        for (int c = 0; c < 3; c++) to[c] = (unsigned char)(white - inks[c]);
    }
}

/* Checks the size again: the library reads the header itself, and would scale a larger image. */
static int has_this_size(tj_handle h, const turbo_job *job) {
    int width = -1, height = -1, subsampling, colours;
    turbo.read_header(h, job->file, (unsigned long)job->len, &width, &height, &subsampling, &colours);
    return width == job->width && height == job->height; /* the call may fail for subsampling that can be decoded */
}

/* The library reports one reason: the first warning, or the error that stopped it. After an accepted warning, both have
   the kind of a warning; an error is then recognised by its different text. */
static turbo_result decode(tj_handle h, const turbo_job *job, const char *accepted, text *why) {
    int is_cmyk = job->components == 4, flags = ACCURATE_DCT | (accepted ? 0 : STOP_ON_WARNING);
    if (!has_this_size(h, job)) {
        text_puts(why, "damaged JPEG (frame header)");
        return TURBO_FAILED;
    }
    int failed = turbo.decompress(h, job->file, (unsigned long)job->len, job->to, job->width, 0, job->height,
                                  is_cmyk ? PIXELS_CMYK : PIXELS_RGB, flags);
    if (failed) {
        const char *reason = turbo.error_text(h);
        text_puts(why, reason);
        if (turbo.error_kind(h) != A_WARNING) return TURBO_FAILED;
        if (!accepted) return TURBO_DOUBTED;
        if (strcmp(reason, accepted) != 0) return TURBO_FAILED;
    }
    if (is_cmyk) cmyk_to_rgb(job->to, (size_t)job->width * (size_t)job->height);
    text_clear(why);
    return TURBO_DONE;
}

turbo_result turbojpeg_decode(const turbo_job *job, const char *accepted, text *why) {
    text_clear(why);
    tj_handle h = turbo.init();
    if (!h) {
        text_no_memory(why);
        return TURBO_FAILED;
    }
    turbo_result result = decode(h, job, accepted, why);
    turbo.destroy(h);
    return result;
}
