/* t_picture.c: image files made to break a decoder. Files that are incomplete, have a wrong name or unpack to more than
   their pixels are refused with the reason, within the announced memory; unusual but valid files give the right pixels.
   -fwrapv: as the Makefile compiles stb_image.

   cc -std=c99 -D_GNU_SOURCE -O1 -fwrapv -I. -Itools tests/tools/pictures/t_picture.c tools/pictures/picture.c
      tools/pictures/turbojpeg.c tools/pictures/webp.c tools/pictures/picture_facts.c tools/pictures/png_text.c
      tools/pictures/png_palette.c tools/pictures/bmp.c tools/pictures/tga.c tools/pictures/tiff.c
      tools/pictures/jpeg.c tools/pictures/pnm.c tools/pictures/exif.c tools/pictures/decoder_memory.c
      tools/base/files.c tools/base/replace.c tools/base/source.c tools/base/text.c tools/base/say.c tools/base/memory.c
      tools/base/clock.c tools/base/when.c tools/base/crc32.c tools/base/file_kind.c tools/base/threads.c
      tools/base/container.c tools/pictures/stb_image_impl.c tools/base/library.c
      -o build/t_picture -lcmocka -lm -lpthread -ldl */
#include "base/when.h"
#include "pictures/decoder_memory.h"
#include "pictures/exif.h"
#include "pictures/picture.h"
#include "pictures/png_palette.h"
#include "pictures/tiff.h"
#include <stdarg.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "../../lib/test_util.h"

static picture_limits LIMITS = {1000000000, (size_t)8 << 30, (size_t)1 << 30, JPEG_STB};
static char path[300];
static text file, why;

static void name_is(const char *ending) {
    const char *dir = getenv("TMPDIR");
    snprintf(path, sizeof path, "%.200s/t_picture%s", dir ? dir : "/tmp", ending);
}

static int by_turbo(void) { return jpeg_is_by_turbo(LIMITS.jpeg); }

static void put_bytes(const char *bytes, size_t n) { text_add(&file, bytes, n); }
static void put_number(unsigned value, int bytes) {
    while (bytes-- > 0) text_putc(&file, (int)(value >> 8 * bytes & 255));
}
static void zeros(size_t n) {
    static const char zero[4096];
    for (; n > sizeof zero; n -= sizeof zero) text_add(&file, zero, sizeof zero);
    text_add(&file, zero, n);
}

/* Decodes the contents of `file` and clears it. Returns 1 with the image, 0 with the reason in why. */
static int decode(picture *p, const picture_limits *limits) {
    memset(p, 0, sizeof *p);
    test_write_file(path, (unsigned char *)file.s, file.len);
    text_clear(&file);
    text_clear(&why);
    int good = picture_open(p, path, limits, &why) && picture_decode(p, &why);
    unlink(path);
    return good;
}

static void refused(const char *reason) {
    picture p;
    int good = decode(&p, &LIMITS);
    picture_free(&p);
    if (good) fail_msg("decoded, and should have said: %s", reason);
    if (!says(why.s, reason)) fail_msg("said \"%s\", not \"%s\"", why.s, reason);
}

static void decoded(int width, int height, const unsigned char *rgb, const char *what) {
    picture p;
    int good = decode(&p, &LIMITS);
    if (!good) picture_free(&p);
    if (!good) fail_msg("%s: %s", what, why.s);
    if (p.width != width || p.height != height) fail_msg("%s: %d x %d pixels", what, p.width, p.height);
    for (int i = 0; rgb && i < 3 * width * height; i++)
        if (p.rgb[i] != rgb[i]) fail_msg("%s: sample %d is %d, not %d", what, i, p.rgb[i], rgb[i]);
    picture_free(&p);
}

/* --- PPM and PGM ------------------------------------------------------------------------------------------------- */

/* The values are those that Pillow 13 gives for the same 16-bit PPM. */
static void test_pnm_pixels(void **state) {
    static const unsigned wide[8] = {0, 128, 129, 385, 386, 32767, 32768, 65535};
    static const unsigned char narrow[8] = {0, 0, 1, 1, 2, 127, 128, 255};
    unsigned char rgb[24];
    (void)state;
    for (int i = 0; i < 24; i++) rgb[i] = narrow[i / 3];
    text_puts(&file, "P5\n8 1\n65535\n");
    for (int i = 0; i < 8; i++) put_number(wide[i], 2);
    decoded(8, 1, rgb, "16-bit PGM");
    for (int i = 0; i < 24; i++) rgb[i] = narrow[i % 8];
    text_puts(&file, "P6 4 2 65535 ");
    for (int i = 0; i < 24; i++) put_number(wide[i % 8], 2);
    decoded(4, 2, rgb, "16-bit PPM");
    for (int i = 0; i < 24; i++) rgb[i] = (unsigned char)(100 + i / 3);
    text_puts(&file, "P5#\r4 # four\n\t2 #\n255\n");
    for (int i = 0; i < 8; i++) put_number(100 + (unsigned)i, 1);
    put_number(77, 1); /* a second image may follow */
    decoded(4, 2, rgb, "comments");
    for (int i = 0; i < 6; i++) rgb[i] = (unsigned char)(10 + i);
    text_puts(&file, "P6 1 2 255\n");
    put_bytes("\n\13\14\r\16\17", 6); /* samples that look like white space */
    rgb[3] = 13;
    decoded(1, 2, rgb, "white samples");
}

static void test_pnm_refusals(void **state) {
    static const struct {
        const char *header;
        size_t data;
        const char *says;
    } cases[] = {
        {"P5 500 500 65535\n", 250000, "ends early"},
        {"P5 500 500 65535\n", 499999, "ends early"},
        {"P6 500 500 65535\n", 1499999, "ends early"},
        {"P5 500 500 255\n", 249999, "ends early"},
        {"P6 2 2 255\n", 11, "ends early"},
        {"P5\n#\r64 64 300 \n1 1 255\n", 4096, "ends early"},
        {"P5\n#\n64 64 300 \n1 1 255\n", 4096, "ends early"},
        {"P5 2 2 254\n", 3, "ends early"},
        {"P5 2 2 0\n", 4, "largest value"},
        {"P5 2 2 65536\n", 8, "largest value"},
        {"P5 -2 2 255\n", 4, "damaged PPM or PGM header"},
        {"P5 +2 2 255\n", 4, "damaged PPM or PGM header"},
        {"P52 2 255\n", 4, "damaged PPM or PGM header"},
        {"P5 2x2 255\n", 4, "damaged PPM or PGM header"},
        {"P5 2 2 255#\n", 4, "damaged PPM or PGM header"},
        {"P5 1234567890 2 255\n", 4, "damaged PPM or PGM header"},
        {"P5 2 2 255", 0, "damaged PPM or PGM header"},
        {"P5 2 2", 0, "damaged PPM or PGM header"},
        {"P5 #", 0, "damaged PPM or PGM header"},
        {"P6", 0, "damaged PPM or PGM header"},
        {"P5 0 2 255\n", 4, "has no pixels"},
        {"P6 2 0 255\n", 4, "has no pixels"},
        {"P6 999999999 999999999 65535\n", 9, "999999999 x 999999999 pixels: sides must be at most 1000000"},
        {"P6 60000 60000 65535\n", 9, "60000 x 60000 pixels exceed the limit"},
        {"P1 2 2\n", 4, "a bitmap (PBM)"},
        {"P2 2 2 255\n", 9, "text form"},
        {"P3 2 2 255\n", 9, "text form"},
        {"P4 2 2\n", 4, "a bitmap (PBM)"},
        {"P7\nWIDTH 2\n", 4, "not an image"},
    };
    (void)state;
    for (int tga = 0; tga < 2; tga++) {
        name_is(tga ? ".tga" : ".pgm"); /* the name must not select another decoder */
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            if (tga && strcmp(cases[i].says, "not an image") == 0) continue;
            text_puts(&file, cases[i].header);
            zeros(cases[i].data);
            refused(cases[i].says);
        }
    }
}

/* --- JPEG -------------------------------------------------------------------------------------------------------- */

static void segment(int marker, const char *bytes, size_t n) {
    put_number(0xFF00u | (unsigned)marker, 2);
    put_number((unsigned)n + 2, 2);
    put_bytes(bytes, n);
}

/* Writes everything before the scans. The Huffman tables have one code of one bit: DC `dc`, AC `ac`. sampling: of the
   first component; the others are 1 x 1. */
static void jpeg_head(int marker, unsigned width, unsigned height, int components, unsigned sampling, int dc, int ac) {
    char quant[65] = {0}, table[18] = {0}, frame[18] = {8};
    memset(quant + 1, 1, 64);
    put_number(0xFFD8, 2);
    if (components == 4) segment(0xEE, "Adobe\0\144\0\0\0\0", 12); /* CMYK */
    segment(0xDB, quant, 65);
    for (int kind = 0; kind < 2; kind++) {
        table[0] = (char)(kind << 4);
        table[1] = 1;
        table[17] = (char)(kind ? ac : dc);
        segment(0xC4, table, 18);
    }
    frame[1] = (char)(height >> 8), frame[2] = (char)height, frame[3] = (char)(width >> 8), frame[4] = (char)width;
    frame[5] = (char)components;
    for (int i = 0; i < components; i++) {
        frame[6 + 3 * i] = (char)(i + 1);
        frame[7 + 3 * i] = (char)(i ? 0x11 : sampling);
    }
    segment(marker, frame, 6 + 3 * (size_t)components);
}

/* Writes a scan of the components first … last without data; the decoder reads zeros. */
static void jpeg_scan(int first, int last, int from, int to, int shift) {
    char scan[16];
    size_t n = 0;
    scan[n++] = (char)(last - first + 1);
    for (int i = first; i <= last; i++) scan[n++] = (char)(i + 1), scan[n++] = 0;
    scan[n++] = (char)from, scan[n++] = (char)to, scan[n++] = (char)shift;
    segment(0xDA, scan, n);
}

static void jpeg_end(void) { put_number(0xFFD9, 2); }

/* Writes zeros for the blocks of a frame, each of which needs at least one bit. */
static void jpeg_blocks(int width, int height, int components) {
    zeros((size_t)((width + 7) / 8) * (size_t)((height + 7) / 8) * (size_t)components / 8 + 1);
}

/* FF D8 alone selects the decoder, not the name of the file. */
static void test_jpeg_by_another_name(void **state) {
    (void)state;
    for (int i = 0; i < 3; i++) {
        name_is(i == 0 ? ".tga" : i == 1 ? ".TGA" : ".jpg");
        put_bytes("\xFF\xD8\0\0\0", 5); /* bytes that a decoder skips, then a scan without tables */
        jpeg_scan(0, 0, 0, 63, 0);
        zeros(100);
        jpeg_end();
        refused("damaged JPEG");
        put_bytes("\xFF\xFF\xD8\xFF", 4);
        zeros(100);
        refused("not an image");
    }
}

/* Known gaps in checks of stb_image: CVE-2021-37789, -2022-28042: missing tables, and sampling factors that are not
   multiples of each other; -2022-28041, -28048: shifts and sums beyond 32 bits. */
static void test_jpeg_structure(void **state) {
    (void)state;
    name_is(".jpg");
    put_number(0xFFD8, 2);
    jpeg_scan(0, 0, 0, 63, 0);
    jpeg_end();
    refused("damaged JPEG (scan header)");
    jpeg_head(0xC0, 16, 16, 3, 0x11, 0, 0);
    file.s[file.len - 1] = 4; /* the third component's quantisation table */
    jpeg_scan(0, 2, 0, 63, 0);
    jpeg_end();
    refused("damaged JPEG");
    jpeg_head(0xC0, 16, 16, 3, 0x11, 0, 0);
    file.s[file.len - 1] = 2; /* which is not defined */
    jpeg_scan(0, 2, 0, 63, 0);
    jpeg_end();
    refused("without its tables");
    jpeg_head(0xC0, 16, 16, 3, 0x51, 0, 0);
    refused("damaged JPEG (frame header)");
    jpeg_head(0xC0, 16, 16, 3, 0x31, 0, 0);
    file.s[file.len - 5] = 0x21; /* 3 and 2 */
    jpeg_scan(0, 2, 0, 63, 0);
    jpeg_end();
    refused(by_turbo() ? "Fractional sampling" : "Corrupt JPEG");
    jpeg_head(0xC2, 16, 16, 1, 0x11, 0, 0);
    jpeg_scan(0, 0, 0, 0, 14); /* a shift by 14 */
    jpeg_end();
    refused(by_turbo() ? "Invalid progressive parameters" : "Corrupt JPEG");
    jpeg_head(0xC2, 128, 8, 1, 0x11, 15, 0); /* DC differences of 15 bits, 2^13-fold, add up beyond 2^31 */
    jpeg_scan(0, 0, 0, 0, 13);
    for (int i = 0; i < 16; i++) put_number(0x7F7F, 2);
    jpeg_end();
    decoded(128, 8, NULL, "DC beyond 32 bits");
}

static void test_jpeg_scans(void **state) {
    (void)state;
    name_is(".jpg");
    for (int scans = 100; scans <= 101; scans++) {
        jpeg_head(0xC2, 64, 64, 1, 0x11, 0, 0);
        jpeg_scan(0, 0, 0, 0, 0);
        for (int i = 1; i < scans; i++) jpeg_scan(0, 0, 1, 63, 0);
        jpeg_end();
        if (scans <= 100) decoded(64, 64, NULL, "100 scans");
        else refused("a JPEG with too many scans");
    }
    jpeg_head(0xC2, 16000, 16000, 1, 0x11, 0, 0);
    for (int i = 0; i < 21; i++) jpeg_scan(0, 0, i ? 1 : 0, i ? 63 : 0, 0);
    jpeg_end();
    refused("a JPEG with too many scans");
    jpeg_head(0xC0, 16, 16, 3, 0x11, 0, 0);
    for (int i = 0; i < 4; i++) jpeg_scan(i % 3, i % 3, 0, 63, 0);
    jpeg_end();
    refused("a JPEG with too many scans");
}

/* Without Adobe's marker, or with ids that contradict another marker, stb_image gives other colours than libjpeg. */
static void test_jpeg_colours(void **state) {
    (void)state;
    name_is(".jpg");
    for (int named = 0; named < 2; named++) {
        jpeg_head(0xC0, 16, 16, named ? 3 : 4, 0x11, 0, 0);
        if (named) {
            unsigned char *frame = (unsigned char *)file.s + file.len - 9; /* the three components */
            frame[0] = 'R', frame[3] = 'G', frame[6] = 'B';
            segment(0xE0, "JFIF\0\1\1\0\0\1\0\1\0\0", 14);
            put_bytes("\xFF\xDA\0\014\3R\0G\0B\0\0\077\0", 14);
        } else {
            memcpy(file.s + 6, "other", 5);
            jpeg_scan(0, 3, 0, 63, 0);
        }
        zeros(200);
        jpeg_end();
        if (by_turbo()) decoded(16, 16, NULL, "a JPEG with unusual markers");
        else refused("whose colours only libturbojpeg decodes correctly");
    }
    jpeg_head(0xC0, 16, 16, 1, 0x11, 0, 0);
    file.s[file.len - 9] = 12;
    refused("a JPEG whose samples do not have 8 bits");
}

/* --- BMP --------------------------------------------------------------------------------------------------------- */

/* Rows from the top, for a negative height, and from the bottom. */
static void test_bmp_rows(void **state) {
    static const unsigned char head[54] = {'B', 'M', 70, 0, 0, 0, 0, 0, 0, 0, 54, 0, 0, 0, 40, 0, 0, 0, 2, 0, 0, 0,
                                           0, 0, 0, 0, 1, 0, 24};
    static const unsigned char rows[16] = {1, 2, 3, 4, 5, 6, 0, 0, 7, 8, 9, 10, 11, 12, 0, 0}; /* B, G, R */
    static const unsigned char first[12] = {3, 2, 1, 6, 5, 4, 9, 8, 7, 12, 11, 10};
    static const unsigned char last[12] = {9, 8, 7, 12, 11, 10, 3, 2, 1, 6, 5, 4};
    (void)state;
    name_is(".bmp");
    for (int down = 0; down < 2; down++) {
        put_bytes((const char *)head, sizeof head);
        memcpy(file.s + 22, down ? "\376\377\377\377" : "\2\0\0\0", 4);
        put_bytes((const char *)rows, sizeof rows);
        decoded(2, 2, down ? first : last, down ? "a BMP from the top" : "a BMP from the bottom");
    }
    put_bytes((const char *)head, sizeof head);
    memcpy(file.s + 22, "\0\0\0\200", 4);
    refused("damaged BMP header");
    put_bytes((const char *)head, sizeof head);
    refused("has no pixels");
}

/* --- PNG --------------------------------------------------------------------------------------------------------- */

static unsigned crc(const char *bytes, size_t n) {
    unsigned c = 0xffffffffu;
    for (size_t i = 0; i < n; i++) {
        c ^= (unsigned char)bytes[i];
        for (int k = 0; k < 8; k++) c = c >> 1 ^ (c & 1 ? 0xedb88320u : 0);
    }
    return ~c;
}

static void chunk(const char *type, const char *bytes, size_t n) {
    put_number((unsigned)n, 4);
    size_t start = file.len;
    put_bytes(type, 4);
    put_bytes(bytes, n);
    put_number(crc(file.s + start, n + 4), 4);
}

typedef struct png_kind {
    int depth, colour, interlaced, transparent;
} png_kind;

static void png_head(unsigned width, unsigned height, const png_kind *k) {
    char head[13] = {0}, palette[12] = {0};
    for (int i = 0; i < 4; i++) head[i] = (char)(width >> (24 - 8 * i)), head[4 + i] = (char)(height >> (24 - 8 * i));
    head[8] = (char)k->depth, head[9] = (char)k->colour, head[12] = (char)k->interlaced;
    put_bytes("\x89PNG\r\n\x1a\n", 8);
    chunk("IHDR", head, 13);
    if (k->colour == 3) chunk("PLTE", palette, 12);
    if (k->transparent) chunk("tRNS", palette, k->colour == 2 ? 6 : k->colour ? 4 : 2);
}

/* Makes a deflate stream of n zeros or a few more: one literal, then copies of 258. */
static text deflate_zeros(size_t n) {
    text out = TEXT_INIT;
    unsigned long bits = 0;
    int have = 0;
    text_add(&out, "\x78\x01", 2);
#define BITS(value, count) \
    for (bits |= (unsigned long)(value) << have, have += (count); have >= 8; bits >>= 8, have -= 8) \
        text_putc(&out, (int)(bits & 255))
    BITS(3, 3);          /* the last block, with the standard's fixed codes */
    BITS(0x0C, 8);       /* literal 0: 00110000, first bit first */
    for (size_t at = 1; at < n; at += 258) {
        BITS(0xA3, 8);   /* length 258: 11000101 */
        BITS(0, 5);      /* distance 1 */
    }
    BITS(0, 7);          /* the end */
    BITS(0, 8);
#undef BITS
    text_add(&out, "\0\0\0\0", 4);
    return out;
}

static void png_data(size_t unpacked) {
    text data = deflate_zeros(unpacked);
    chunk("IDAT", data.s, data.len);
    chunk("IEND", "", 0);
    text_free(&data);
}

/* Returns the bytes of all rows, each with its filter byte. */
static size_t png_rows(size_t width, size_t height, const png_kind *k) {
    static const size_t channels[7] = {1, 0, 3, 1, 2, 0, 4};
    static const size_t x0[7] = {0, 4, 0, 2, 0, 1, 0}, y0[7] = {0, 0, 4, 0, 2, 0, 1};
    static const size_t dx[7] = {8, 8, 4, 4, 2, 2, 1}, dy[7] = {8, 8, 8, 4, 4, 2, 2};
    size_t bits = channels[k->colour] * (size_t)k->depth, sum = 0;
    if (!k->interlaced) return height * ((width * bits + 7) / 8 + 1);
    for (int pass = 0; pass < 7; pass++) {
        size_t w = (width - x0[pass] + dx[pass] - 1) / dx[pass], h = (height - y0[pass] + dy[pass] - 1) / dy[pass];
        sum += h * ((w * bits + 7) / 8 + 1);
    }
    return sum;
}

static const png_kind KINDS[] = {
    {1, 0, 0, 0}, {8, 0, 0, 0}, {16, 0, 0, 0}, {8, 0, 0, 1}, {16, 0, 1, 1}, {8, 2, 0, 0}, {8, 2, 1, 0}, {8, 2, 0, 1},
    {16, 2, 0, 0}, {16, 2, 1, 1}, {1, 3, 0, 0}, {4, 3, 1, 1}, {8, 3, 0, 0}, {8, 3, 1, 1}, {8, 4, 0, 0}, {16, 4, 1, 0},
    {8, 6, 0, 0}, {8, 6, 1, 0}, {16, 6, 0, 0}, {16, 6, 1, 0},
};

/* PNG files have an orientation, too. */
static void test_png_orientation(void **state) {
    static const char exif[] = "MM\0*\0\0\0\10\0\1\1\22\0\3\0\0\0\1\0\6\0\0\0\0\0\0";
    (void)state;
    name_is(".png");
    for (int cut = 0; cut < 2; cut++) {
        png_head(5, 3, &KINDS[5]);
        chunk("eXIf", exif, sizeof exif - 1 - (cut ? 10 : 0)); /* without the value, it is upright */
        png_data(png_rows(5, 3, &KINDS[5]));
        decoded(cut ? 5 : 3, cut ? 3 : 5, NULL, "a PNG with EXIF");
    }
}

/* stb_image would take missing colours from memory that was never set. */
static void test_png_palette(void **state) {
    static const char three[] = "abcdefghi";
    (void)state;
    put_bytes("\x89PNG\r\n\x1a\n", 8);
    chunk("IHDR", "\0\0\0\4\0\0\0\4\010\3\0\0\0", 13);
    chunk("PLTE", three, 9);
    png_data(png_rows(4, 4, &KINDS[12]));
    size_t before = file.len;
    const size_t table = 8 + 25 + 8, missing = 768 - 9;
    assert_true(png_complete_palette(&file));
    assert_int_equal(file.len, before + missing);
    assert_memory_equal(file.s + table - 8, "\0\0\3\0PLTEabcdefghi", 17);
    for (size_t i = 9; i < 768; i++) assert_int_equal(file.s[table + i], 0);
    assert_memory_equal(file.s + table + 768 + 8, "IDAT", 4);
    assert_true(png_complete_palette(&file));
    assert_int_equal(file.len, before + missing);
    text_clear(&file);
}

/* Samples of 12 bits in 16, in a PNG and in a PGM; a black image is not one. */
static void test_unscaled(void **state) {
    (void)state;
    name_is(".pgm");
    for (unsigned largest = 0; largest <= 4369; largest += 257) {
        text_puts(&file, "P5 2 2 65535\n");
        zeros(6);
        put_number(largest, 2);
        if (largest > 0 && largest < 4096) refused("its 16-bit samples are all below 4096");
        else decoded(2, 2, NULL, "a 16-bit PGM");
    }
}

/* Rows from the top or the bottom, columns from the left or the right. */
static void test_tga_order(void **state) {
    unsigned char head[18] = {[2] = 2, [12] = 2, [14] = 2, [16] = 24}, rgb[12];
    (void)state;
    name_is(".tga");
    for (int from_right = 0; from_right < 2; from_right++)
        for (int from_top = 0; from_top < 2; from_top++) {
            head[17] = (unsigned char)(from_right << 4 | from_top << 5);
            put_bytes((const char *)head, sizeof head);
            for (int i = 0; i < 12; i++) { /* B, G, R of the stored pixel i / 3 */
                int x = i / 3 % 2 ^ from_right, y = i / 6 ^ !from_top;
                rgb[3 * (2 * y + x) + 2 - i % 3] = (unsigned char)(i + 1);
                put_number((unsigned)i + 1, 1);
            }
            decoded(2, 2, rgb, from_right ? "a TGA from the right" : "a TGA from the left");
        }
}

/* Every kind of image is decoded within its announced memory, which is little more than needed. */
static void test_needs_suffice(void **state) {
    char name[80];
    (void)state;
    name_is(".png");
    for (size_t i = 0; i < sizeof KINDS / sizeof *KINDS; i++) {
        const png_kind *k = &KINDS[i];
        snprintf(name, sizeof name, "PNG of %d bits, colour %d, interlaced %d", k->depth, k->colour, k->interlaced);
        png_head(1201, 803, k);
        png_data(png_rows(1201, 803, k));
        decoded(1201, 803, NULL, name);
    }
    name_is(".jpg");
    for (int components = 1; components <= 4; components += components == 1 ? 2 : 1)
        for (int progressive = 0; progressive < 2; progressive++)
            for (unsigned sampling = 0x11; sampling <= 0x44; sampling += 0x33) {
                if (by_turbo() && components > 1 && sampling == 0x44) sampling = 0x22; /* at most 10 blocks per unit */
                jpeg_head(progressive ? 0xC2 : 0xC0, 1201, 803, components, sampling, 0, 0);
                if (progressive) jpeg_scan(0, components - 1, 0, 0, 0);
                else jpeg_scan(0, components - 1, 0, 63, 0);
                jpeg_blocks(1201, 803, components);
                jpeg_end();
                decoded(1201, 803, NULL, progressive ? "a progressive JPEG" : "a JPEG");
            }
    name_is(".tga");
    for (int bits = 24; bits <= 32; bits += 8) {
        char head[18] = {0, 0, 2};
        head[12] = (char)(1201 & 255), head[13] = 1201 >> 8, head[14] = (char)(803 & 255), head[15] = 803 >> 8;
        head[16] = (char)bits;
        put_bytes(head, 18);
        zeros(1201 * 803 * (size_t)bits / 8);
        decoded(1201, 803, NULL, "a TGA");
    }
}

/* A JPEG whose scan is too short for its blocks, by a byte and by a gigabyte; decoders take missing blocks for
   zeros. */
static void test_short_jpeg(void **state) {
    (void)state;
    name_is(".jpg");
    for (int missing = 0; missing < 2; missing++) { /* bytes, for four components of 128 x 128 blocks */
        jpeg_head(0xC2, 1024, 1024, 4, 0x11, 0, 0);
        jpeg_scan(0, 3, 0, 0, 0);
        zeros(4 * 128 * 128 / 8 - file.len - 2 - (size_t)missing);
        jpeg_end();
        if (missing) refused("the JPEG file is too short for its size");
        else decoded(1024, 1024, NULL, "a JPEG of one bit per block");
    }
    jpeg_head(0xC2, 14000, 14000, 3, 0x22, 0, 0);
    jpeg_scan(0, 2, 0, 0, 0);
    jpeg_end();
    refused("the JPEG file is too short for its size");
}

/* A TGA with fewer pixels than its header says: the rest would be old contents of memory. */
static void test_short_tga(void **state) {
    (void)state;
    name_is(".tga");
    for (int kind = 0; kind < 3; kind++) { /* true colour, run-length coded true colour, a palette */
        char head[18] = {0, 0, 2};
        if (kind) head[2] = kind == 1 ? 10 : 1;
        if (kind == 2) head[1] = 1, head[5] = 4, head[7] = 24;
        head[12] = head[14] = 100;
        head[16] = kind == 2 ? 8 : 24;
        put_bytes(head, 18);
        zeros(kind == 2 ? 12 + 9999 : kind == 1 ? 300 : 29999);
        refused("the file ends early");
    }
}

/* 8 x 8 pixels and a directory with more entries, which all name the same bytes at the start. */
static void named_often(unsigned more, unsigned size) {
    static const unsigned entries[][2] = {{256, 8}, {257, 8}, {258, 8}, {259, 1}, {262, 1},
                                          {273, 8}, {277, 1}, {278, 8}, {279, 64}};
    enum { LONG = 4, BYTES = 7, OWN = sizeof entries / sizeof *entries };
    put_bytes("MM\0*", 4);
    put_number(8 + size, 4);
    zeros(size);
    put_number(OWN + more, 2);
    for (unsigned i = 0; i < OWN + more; i++) {
        put_number(i < OWN ? entries[i][0] : 40000 + i, 2);
        put_number(i < OWN ? LONG : BYTES, 2);
        put_number(i < OWN ? 1 : size, 4);
        put_number(i < OWN ? entries[i][1] : 8, 4);
    }
    zeros(4);
}

/* libtiff would copy the bytes for each entry that names them. */
static void test_tiff_directory(void **state) {
    (void)state;
    if (!tiff_is_readable()) skip();
    name_is(".tif");
    named_often(1, 5000);
    decoded(8, 8, NULL, "bytes that one entry names");
    named_often(2, 5000);
    refused("damaged TIFF (directory)");
    named_often(4000, 1 << 20);
    refused("damaged TIFF (directory)");
}

static size_t need_of(size_t *pixels) {
    picture p;
    test_write_file(path, (unsigned char *)file.s, file.len);
    text_clear(&file);
    if (!picture_open(&p, path, &LIMITS, &why)) fail_msg("%s", why.s);
    *pixels = (size_t)p.width * (size_t)p.height;
    size_t need = p.cost;
    picture_free(&p);
    unlink(path);
    return need;
}

/* The memory for a small file is known from its header; if there is not enough, the file is refused. */
static void test_needs_are_told(void **state) {
    static const png_kind wide = {16, 6, 0, 0};
    picture_limits small = {1000000000, (size_t)1 << 30, (size_t)1 << 30, LIMITS.jpeg};
    picture p;
    size_t pixels, need;
    (void)state;
    name_is(".png");
    png_head(14000, 14000, &wide);
    png_data(1);
    need = need_of(&pixels);
    assert_true(need >= 16 * pixels && need < 17 * pixels);
    png_head(14000, 14000, &wide);
    png_data(1);
    assert_int_equal(decode(&p, &small), 0);
    assert_says(why.s, "14000 x 14000 pixels need more than half of this machine's memory");
    picture_free(&p);
    name_is(".jpg");
    jpeg_head(0xC2, 14000, 14000, 3, 0x11, 0, 0);
    jpeg_scan(0, 2, 0, 0, 0);
    jpeg_blocks(14000, 14000, 3);
    jpeg_end();
    need = need_of(&pixels);
    assert_in_range(need, (by_turbo() ? 9 : 12) * pixels, (by_turbo() ? 10 : 13) * pixels);
    jpeg_head(0xC0, 14000, 14000, 3, 0x22, 0, 0);
    jpeg_scan(0, 2, 0, 63, 0);
    jpeg_blocks(14000, 14000, 3);
    jpeg_end();
    need = need_of(&pixels);
    assert_in_range(need, (by_turbo() ? 6 : 9) * pixels / 2, (by_turbo() ? 7 : 10) * pixels / 2);
}

/* An image may take half of the available memory; files in memory at the same time share that half. */
static void test_limits(void **state) {
    long long memory = (long long)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
    picture_limits one = picture_limits_of(5, 1), many = picture_limits_of(5, 1000);
    (void)state;
    assert_true(one.pixels == 5 && one.bytes > 0 && one.bytes <= (size_t)memory / 2 && many.bytes == one.bytes);
    assert_true(one.file <= one.bytes && one.file <= (size_t)1 << 30 && many.file <= one.bytes / 1000);
}

/* A few pixels whose data unpack to 64 MB. */
static void test_bomb(void **state) {
    (void)state;
    name_is(".png");
    for (size_t i = 0; i < sizeof KINDS / sizeof *KINDS; i += 3) {
        png_head(10, 10, &KINDS[i]);
        png_data(64 << 20);
        refused("cannot be decoded: it unpacks to far more than its pixels");
    }
}

static void test_budget(void **state) {
    (void)state;
    decoder_begin(1000);
    char *a = decoder_alloc(NULL, 600), *b = decoder_alloc(NULL, 400);
    assert_true(a && b && !decoder_wanted_too_much());
    assert_null(decoder_alloc(NULL, 1));
    assert_true(decoder_wanted_too_much() && !decoder_had_no_memory());
    assert_null(decoder_alloc(b, 401));
    b = decoder_alloc(b, 100);
    memset(b, 1, 100);
    a[599] = 1;
    assert_non_null(b);
    decoder_free(a);
    assert_null(decoder_alloc(NULL, (size_t)-1));
    a = decoder_alloc(NULL, 900);
    assert_true(a && a[0] == 0 && a[899] == 0);
    decoder_free(b);
    decoder_begin(10); /* another image, while blocks of the last one are still alive */
    decoder_free(a);
    a = decoder_alloc(NULL, 10);
    assert_non_null(a);
    assert_null(decoder_alloc(NULL, 1));
    decoder_free(a);
    decoder_free(NULL);
}

/* Large blocks are reused, and are cleared again. */
static void test_reuse(void **state) {
    enum { LARGE = 3 << 20 };
    (void)state;
    decoder_trim(); /* frees the blocks of earlier images */
    decoder_begin(4 * (size_t)LARGE);
    unsigned char *a = decoder_alloc(NULL, LARGE), *b;
    assert_non_null(a);
    memset(a, 255, LARGE);
    decoder_free(a);
    b = decoder_alloc(NULL, LARGE - 1000);
    assert_ptr_equal(a, b);
    for (int i = 0; i < LARGE - 1000; i++) if (b[i]) fail();
    assert_ptr_not_equal(a = decoder_alloc(NULL, LARGE), b); /* b is still in use */
    decoder_free(a);
    a = decoder_alloc(NULL, LARGE / 2); /* the kept block is too large for it */
    assert_non_null(a);
    for (int i = 0; i < LARGE / 2; i++) if (a[i]) fail();
    decoder_free(a);
    decoder_free(b);
    decoder_trim();
}

/* --- times -------------------------------------------------------------------------------------------------------- */

/* An entry of a directory at *entry, whose text is appended to the file. Offsets count from the byte at `tiff`. */
static void put_text_entry(unsigned char *tiff, size_t *entry, size_t *end, unsigned tag, unsigned type,
                           const char *value) {
    const size_t n = strlen(value) + 1;
    const unsigned char head[] = {tag >> 8, tag & 255, type >> 8, type & 255, 0, 0, 0, (unsigned char)n,
                                  0, 0, (unsigned char)(*end >> 8), (unsigned char)(*end & 255)};
    memcpy(tiff + *entry, head, sizeof head);
    if (n <= 4) memcpy(tiff + *entry + 8, value, n);
    else memcpy(tiff + *end, value, n), *end += n;
    *entry += sizeof head;
}

/* A JPEG up to its EXIF: tag 0x0132 and a pointer in the first directory, the others in the second. NULL: no tag. */
static size_t dated_jpeg(unsigned char out[400], const unsigned tags[6], const char *const values[6], unsigned type) {
    enum { TIFF = 12, FIRST = 8, SECOND = 60, TEXTS = 160, ALL = 380 };
    static const unsigned char head[] = {0xFF, 0xD8, 0xFF, 0xE1, (ALL - 4) >> 8, (ALL - 4) & 255, 'E', 'x', 'i', 'f',
                                         0, 0, 'M', 'M', 0, 42, 0, 0, 0, FIRST};
    static const unsigned char pointer[] = {0x87, 0x69, 0, 4, 0, 0, 0, 1, 0, 0, 0, SECOND};
    memset(out, 0, 400);
    memcpy(out, head, sizeof head);
    unsigned char *tiff = out + TIFF;
    size_t entry = FIRST + 2, end = TEXTS;
    tiff[FIRST + 1] = values[0] ? 2 : 1;
    if (values[0]) put_text_entry(tiff, &entry, &end, tags[0], type, values[0]);
    memcpy(tiff + entry, pointer, sizeof pointer);
    entry = SECOND + 2;
    for (int i = 1; i < 6; i++) {
        if (!values[i]) continue;
        put_text_entry(tiff, &entry, &end, tags[i], type, values[i]);
        tiff[SECOND + 1]++;
    }
    return ALL;
}

/* Which of the three times a photo has, with the fraction that belongs to it. */
static void test_times(void **state) {
    static const unsigned tags[6] = {0x0132, 0x9003, 0x9004, 0x9290, 0x9291, 0x9011};
    static const struct {
        const char *value[6], *wanted; /* NULL: no time */
        int zone;
    } cases[] = {
        {{"2024:05:31 06:30:00", "2023:01:02 03:04:05", "2022:01:02 03:04:05", "1", "25", NULL},
         "2023-01-02T03:04:05.250Z", WHEN_NO_ZONE},
        {{"2024:05:31 06:30:00", NULL, "2022:01:02 03:04:05", "1", "25", "+01:00"},
         "2022-01-02T03:04:05Z", WHEN_NO_ZONE}, /* the zone is that of another time */
        {{"2024:05:31 06:30:00", NULL, NULL, "125", "25", NULL}, "2024-05-31T06:30:00.125Z", WHEN_NO_ZONE},
        {{"2024:05:31 06:30:00", "0000:00:00 00:00:00", "    :  :     :  :  ", NULL, NULL, NULL},
         "2024-05-31T06:30:00Z", WHEN_NO_ZONE},
        {{NULL, "2024:02:29 24:00:00", NULL, NULL, NULL, NULL}, "2024-03-01T00:00:00Z", WHEN_NO_ZONE},
        {{NULL, "2024:02:29 24:00:01", NULL, NULL, NULL, NULL}, NULL, 0},
        {{NULL, "2024:02:29 25:00:00", NULL, NULL, NULL, NULL}, NULL, 0},
        {{NULL, "9999:12:31 24:00:00", NULL, NULL, NULL, NULL}, NULL, 0},
        {{NULL, NULL, NULL, "1", "2", NULL}, NULL, 0},
        {{NULL, "2023:01:02 03:04:05", NULL, NULL, "25", "+02:00"}, "2023-01-02T03:04:05.250Z", 120},
        {{NULL, "2023:01:02 03:04:05", NULL, NULL, NULL, "-03:30"}, "2023-01-02T03:04:05Z", -210},
        {{NULL, "2023:01:02 03:04:05", NULL, NULL, NULL, "   :  "}, "2023-01-02T03:04:05Z", WHEN_NO_ZONE},
        {{NULL, "2023:01:02 03:04:05", NULL, NULL, NULL, "+99:00"}, "2023-01-02T03:04:05Z", WHEN_NO_ZONE},
    };
    unsigned char jpeg[400];
    long long when;
    int zone;
    (void)state;
    for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; i++) {
        const size_t at = i / 2, len = dated_jpeg(jpeg, tags, cases[at].value, i % 2 ? 129 : 2); /* UTF-8, ASCII */
        text found = TEXT_INIT;
        if (exif_time(jpeg, len, &when, &zone)) {
            when_text(&found, when);
            assert_int_equal(zone, cases[at].zone);
        }
        assert_string_equal(found.len ? found.s : "none", cases[at].wanted ? cases[at].wanted : "none");
        text_free(&found);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pnm_pixels),     cmocka_unit_test(test_pnm_refusals),
        cmocka_unit_test(test_jpeg_by_another_name), cmocka_unit_test(test_jpeg_structure),
        cmocka_unit_test(test_jpeg_scans),     cmocka_unit_test(test_needs_suffice),
        cmocka_unit_test(test_png_orientation), cmocka_unit_test(test_bmp_rows),
        cmocka_unit_test(test_tga_order),      cmocka_unit_test(test_png_palette),
        cmocka_unit_test(test_jpeg_colours),   cmocka_unit_test(test_unscaled),
        cmocka_unit_test(test_tiff_directory),
        cmocka_unit_test(test_short_tga),      cmocka_unit_test(test_needs_are_told),
        cmocka_unit_test(test_short_jpeg),
        cmocka_unit_test(test_bomb),           cmocka_unit_test(test_budget),
        cmocka_unit_test(test_limits),         cmocka_unit_test(test_reuse),
        cmocka_unit_test(test_times),
    };
    name_is(".ppm");
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    LIMITS.jpeg = JPEG_AUTO; /* the same tests by libturbojpeg if it is installed */
    failed += cmocka_run_group_tests_name("by the decoder that is found", tests, NULL, NULL);
    text_free(&file);
    text_free(&why);
    return failed;
}
