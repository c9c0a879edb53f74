/* Fuzzer for image files: the first byte chooses the file's name, whether a PNG's checksums are corrected, and whether
   libturbojpeg, if installed, decodes JPEG files; the other bytes are the file. A file that opens is decoded within a
   budget; one that does not comes with a reason.

   clang -std=c99 -D_GNU_SOURCE -O1 -g -fwrapv -fsanitize=fuzzer,address,undefined -I. tests/fuzz/fuzz_picture.c
         -o build/fuzz_picture -lpthread -ldl -lm
   build/fuzz_picture -max_len=2000 CORPUS_DIRECTORY */
#include <stdint.h>

#if defined(__clang__) /* -fwrapv defines these sums */
#pragma clang attribute push(__attribute__((no_sanitize("signed-integer-overflow", "shift"))), apply_to = function)
#endif
#include "pictures/stb_image_impl.c"
#if defined(__clang__)
#pragma clang attribute pop
#endif
#include "base/files.c"
#include "base/text.c"
#include "base/clock.c"
#include "base/crc32.c"
#include "base/file_kind.c"
#define bytes_of memory_bytes_of
#include "base/library.c"
#include "base/memory.c"
#undef bytes_of
#include "base/say.c"
#include "base/source.c"
#include "base/replace.c"
#include "base/container.c"
#include "base/threads.c"
#include "base/when.c"
#include "pictures/bmp.c"
#include "pictures/decoder_memory.c"
#include "pictures/exif.c"
#include "pictures/jpeg.c"
#include "pictures/picture.c"
#include "pictures/picture_facts.c"
#undef STB_IMAGE_IMPLEMENTATION /* it is in this file already */
#include "pictures/png_palette.c"
#include "pictures/png_text.c"
#include "pictures/pnm.c"
#include "pictures/tga.c"
#include "pictures/tiff.c"
#include "pictures/turbojpeg.c"
#include "pictures/webp.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(condition) \
    if (!(condition)) fprintf(stderr, "violated: %s\n", #condition), abort()

static void put32(unsigned char *to, uint32_t value) {
    for (int i = 0; i < 4; i++) to[i] = (unsigned char)(value >> (24 - 8 * i));
}

static void repair_png(unsigned char *file, size_t len) {
    for (size_t at = 8; at <= len && len - at >= 12;) {
        size_t n = be32(file + at);
        if (n > len - at - 12) break;
        put32(file + at + 8 + n, crc32_more(0, file + at + 4, n + 4));
        at += 12 + n;
    }
}

/* Does what picture_open does, without a file on disk. */
static int open_bytes(picture *p, const char *name, const picture_limits *limits, text *why) {
    if (!picture_facts_read(&p->facts, bytes_of(p), p->file.len, name, why) || !read_size(p, why)) return 0;
    long long when;
    int zone;
    if (exif_time(bytes_of(p), p->file.len, &when, &zone) &&
        (when < -62135596800000 || when > 253402300799999))
        abort();
    return p->width > 0 && p->height > 0 && (long long)p->width * p->height <= limits->pixels;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const picture_limits limits = {1 << 16, 1 << 24, 1 << 20};
    picture p;
    text why = TEXT_INIT;
    if (size < 1) return 0;
    memset(&p, 0, sizeof p);
    text_add(&p.file, data + 1, size - 1);
    p.jpeg = data[0] & 4 ? JPEG_AUTO : JPEG_STB;
    if (data[0] & 2) repair_png((unsigned char *)p.file.s, p.file.len);
    text_clear(&why);
    if (open_bytes(&p, data[0] & 1 ? "a.tga" : "a", &limits, &why)) {
        int width = p.width, height = p.height, turned = p.facts.orientation >= 5;
        p.budget = decoder_need(&p.facts, p.file.len, width, height, p.facts.orientation != 1, 0) * 3 / 2;
        int good = picture_decode(&p, &why);
        MUST(good ? p.rgb && p.width == (turned ? height : width) && p.height == (turned ? width : height) : why.len);
        unsigned sum = 0;
        for (size_t i = 0; good && i < 3 * (size_t)p.width * (size_t)p.height; i++) sum += p.rgb[i];
        MUST(sum <= 255u * 3 * (1 << 16));
    }
    picture_free(&p);
    text_free(&why);
    return 0;
}
