#include "pictures/png.h"

#include "base/crc32.h"
#include "base/text.h"

#include <string.h>

static void big_endian(unsigned char out[4], uint32_t value) {
    for (int i = 0; i < 4; i++) out[i] = (unsigned char)(value >> (24 - 8 * i));
}

static void add_number(text *out, uint32_t value) {
    unsigned char bytes[4];
    big_endian(bytes, value);
    text_add(out, bytes, sizeof bytes);
}

/* A chunk begins with its length and its name, and ends with the checksum of the name and what follows it. */
static size_t begin_chunk(text *out, const char name[5], size_t len) {
    add_number(out, (uint32_t)len);
    text_add(out, name, 4);
    return out->len - 4;
}

static void end_chunk(text *out, size_t name) {
    if (!text_failed(out)) add_number(out, crc32_more(0, out->s + name, out->len - name));
}

static void add_header(text *out, int width, int height) {
    static const unsigned char kind[] = {8, 2, 0, 0, 0}; /* 8 bits, RGB, the only compression and filters, not
                                                            interlaced */
    size_t chunk = begin_chunk(out, "IHDR", 13);
    add_number(out, (uint32_t)width);
    add_number(out, (uint32_t)height);
    text_add(out, kind, sizeof kind);
    end_chunk(out, chunk);
}

/* zlib's checksum (RFC 1950). */
static uint32_t adler32(uint32_t adler, const unsigned char *bytes, size_t len) {
    enum { PRIME = 65521, SAFE = 5552 }; /* this many bytes cannot overflow a 32-bit sum */
    uint32_t a = adler & 0xffff, b = adler >> 16;
    while (len) {
        size_t n = len < SAFE ? len : SAFE;
        len -= n;
        while (n--) b += a += *bytes++;
        a %= PRIME, b %= PRIME;
    }
    return b << 16 | a;
}

/* The stream of rows, each preceded by a 0 (not filtered), in stored blocks (RFC 1951, 3.2.4). */
typedef struct stream {
    text *out;
    size_t left, block; /* remaining bytes of the stream; of the current block */
    uint32_t adler;
} stream;

static void add_bytes(stream *s, const unsigned char *bytes, size_t len) {
    enum { LONGEST = 65535 };
    s->adler = adler32(s->adler, bytes, len);
    while (len) {
        if (!s->block) {
            size_t n = s->block = s->left < LONGEST ? s->left : LONGEST;
            const unsigned char head[5] = {n == s->left, (unsigned char)n, (unsigned char)(n >> 8),
                                           (unsigned char)~n, (unsigned char)(~n >> 8)};
            text_add(s->out, head, sizeof head);
        }
        size_t n = len < s->block ? len : s->block;
        text_add(s->out, bytes, n);
        bytes += n, len -= n, s->block -= n, s->left -= n;
    }
}

static size_t stored(size_t bytes) { return bytes + 5 * ((bytes + 65534) / 65535); }

static void add_pixels(text *out, const unsigned char *rgb, int width, int height) {
    static const unsigned char zlib[] = {0x78, 0x01}, unfiltered = 0;
    size_t row = 3 * (size_t)width;
    stream s = {.out = out, .left = (row + 1) * (size_t)height, .adler = 1};
    size_t chunk = begin_chunk(out, "IDAT", sizeof zlib + stored(s.left) + 4);
    text_add(out, zlib, sizeof zlib);
    for (int y = 0; y < height; y++) {
        add_bytes(&s, &unfiltered, 1);
        add_bytes(&s, rgb + (size_t)y * row, row);
    }
    add_number(out, s.adler);
    end_chunk(out, chunk);
}

int png_make(text *out, const unsigned char *rgb, int width, int height, text *why) {
    const long long most = (long long)1 << 28; /* pixels, because a chunk has less than 2^31 bytes */
    text_clear(out);
    text_clear(why);
    if (width < 1 || height < 1 || (long long)width * height > most)
        return refuse(why, "%d x %d pixels are too many for a PNG", width, height);
    text_add(out, "\x89PNG\r\n\x1a\n", 8);
    add_header(out, width, height);
    add_pixels(out, rgb, width, height);
    end_chunk(out, begin_chunk(out, "IEND", 0));
    return !text_failed(out) || text_no_memory(why);
}
