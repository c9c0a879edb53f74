#include "pictures/webp.h"

#include "base/library.h"
#include "base/source.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>

/* The part of webp/decode.h that is used here; it has been the same since version 0.1. */
static struct webp_library {
    int usable;
    int (*get_info)(const uint8_t *file, size_t len, int *width, int *height);
    uint8_t *(*decode_rgb_into)(const uint8_t *file, size_t len, uint8_t *to, size_t size, int stride);
} webp;

/* The library stays in memory until the process ends. */
static void look_for_webp(void) {
    void *library = dlopen("libwebp.so.7", RTLD_NOW | RTLD_LOCAL);
    const library_function functions[] = {{"WebPGetInfo", &webp.get_info},
                                          {"WebPDecodeRGBInto", &webp.decode_rgb_into}};
    if (!library) return;
    webp.usable = !library_find(library, functions, sizeof functions / sizeof *functions);
    if (!webp.usable) dlclose(library);
}

int webp_is_readable(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, look_for_webp);
    return webp.usable;
}

/* The chunks of an extended file. Those that its flags do not announce do not count, as in libwebp's demuxer. */
static const char *read_extended(const unsigned char *file, size_t end, webp_facts *out) {
    enum { FLAGS = 20, ANIMATED = 0x02, HAS_XMP = 0x04, HAS_EXIF = 0x08 };
    const int flags = file[FLAGS];
    if (flags & ANIMATED) return "an animated WebP image; extract the frame as PNG or JPEG";
    for (size_t at = 12, size; end - at >= 8; at += 8 + size + size % 2) {
        size = le32(file + at + 4);
        if (size > end - at - 8) return "the WebP file ends early";
        if (memcmp(file + at, "EXIF", 4) == 0 && flags & HAS_EXIF && !out->exif)
            out->exif = file + at + 8, out->exif_size = size;
        if (memcmp(file + at, "XMP ", 4) == 0 && flags & HAS_XMP && !out->xmp)
            out->xmp = file + at + 8, out->xmp_size = size;
        if (size + size % 2 >= end - at - 8) break;
    }
    return NULL;
}

const char *webp_problem(const unsigned char *file, size_t len, webp_facts *out) {
    enum { LEAST = 30 }; /* RIFF and its size, WEBP, one chunk of an image */
    memset(out, 0, sizeof *out);
    if (len < 16 || memcmp(file + 8, "WEBP", 4) != 0)
        return "a RIFF file that is not an image (perhaps a sound or a video)";
    if (!webp_is_readable()) return WEBP_NEEDS_LIBRARY;
    const size_t size = le32(file + 4);
    if (size < LEAST - 8) return "damaged WebP (size)";
    if (len < LEAST || size > len - 8) return "the WebP file ends early";
    const char *problem = memcmp(file + 12, "VP8X", 4) == 0 ? read_extended(file, size + 8, out) : NULL;
    if (!problem && !webp.get_info(file, len, &out->width, &out->height)) problem = "damaged WebP (header)";
    return problem;
}

int webp_decode(const unsigned char *file, size_t len, const webp_facts *facts, unsigned char *to) {
    const size_t stride = 3 * (size_t)facts->width;
    return webp.decode_rgb_into(file, len, to, stride * (size_t)facts->height, (int)stride) != NULL;
}
