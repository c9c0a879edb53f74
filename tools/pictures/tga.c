#include "pictures/tga.h"

#include "base/source.h"

#include <string.h>

enum { TGA_HEADER = 18, RUNS = 8 };

static const char *tga_table_fields(const unsigned char *head, tga_header *out) {
    out->first = le16(head + 3), out->colours = le16(head + 5);
    out->entry = head[7] / 8u;
    if (head[7] != 16 && head[7] != 24 && head[7] != 32)
        return "a TGA with an unusual table of colours, which is not supported; convert it to PNG or JPEG";
    return out->colours && out->first + out->colours <= 256 ? NULL : "damaged TGA (table of colours)";
}

/* Whether this type may have pixels of so many bits: colours of a table, RGB, or grey. */
static int tga_is_depth(int type, int bits) {
    if (type == 1) return bits == 8;
    if (type == 2) return bits == 16 || bits == 24 || bits == 32;
    return bits == 8 || bits == 16;
}

const char *tga_read_header(const unsigned char *file, size_t len, tga_header *out) {
    enum { FROM_THE_RIGHT = 0x10, FROM_THE_TOP = 0x20, IN_PARTS = 0xc0 };
    static const char unread[] = "not a TGA image, or of an unsupported kind; convert it to PNG or JPEG";
    memset(out, 0, sizeof *out);
    if (len < TGA_HEADER) return "the TGA file ends early";
    const int type = file[2] & ~RUNS, flags = file[17];
    out->is_packed = file[2] & RUNS, out->is_grey = type == 3;
    if (type < 1 || type > 3 || file[1] != (type == 1) || !tga_is_depth(type, file[16]) || flags & IN_PARTS)
        return unread;
    out->width = (int)le16(file + 12), out->height = (int)le16(file + 14), out->bytes = file[16] / 8;
    out->from_top = (flags & FROM_THE_TOP) != 0, out->from_right = (flags & FROM_THE_RIGHT) != 0;
    out->table = TGA_HEADER + (size_t)file[0]; /* the first byte is the length of a comment */
    const char *problem = type == 1 ? tga_table_fields(file, out) : NULL;
    out->data = out->table + out->colours * out->entry;
    return problem;
}

/* A colour of 2 bytes has 5 bits a channel, one of 3 or 4 begins with blue. */
static void tga_read_colour(const unsigned char *at, size_t bytes, unsigned char to[3]) {
    for (int c = 0; c < 3; c++)
        to[c] = bytes == 2 ? (unsigned char)((le16(at) >> (10 - 5 * c) & 31) * 255 / 31) : at[2 - c];
}

/* Colours before the table's first and behind its last are black, as in Pillow. */
static void tga_table(const unsigned char *file, const tga_header *h, unsigned char table[256][3]) {
    memset(table, 0, 256 * sizeof *table);
    for (size_t i = 0; i < h->colours; i++)
        tga_read_colour(file + h->table + i * h->entry, h->entry, table[h->first + i]);
}

static void tga_read_pixel(const unsigned char *at, const tga_header *h, unsigned char table[256][3],
                           unsigned char *to) {
    if (h->colours) memcpy(to, table[*at], 3);
    else if (h->is_grey) memset(to, *at, 3);
    else tga_read_colour(at, (size_t)h->bytes, to);
}

int tga_decode(const unsigned char *file, size_t len, const tga_header *h, unsigned char *to) {
    unsigned char table[256][3];
    const size_t width = (size_t)h->width, pixels = width * (size_t)h->height, bytes = (size_t)h->bytes;
    size_t at = h->data, run = h->is_packed ? 0 : pixels; /* pixels left of a run, or of a sequence of different ones */
    int repeats = 0;
    if (at > len) return 0;
    if (h->colours) tga_table(file, h, table);
    for (size_t i = 0; i < pixels; i++) {
        if (run == 0) {
            if (at == len) return 0;
            repeats = file[at] >> 7, run = 1u + (file[at] & 127);
            at++;
        }
        if (bytes > len - at) return 0;
        const size_t x = i % width, y = i / width, row = h->from_top ? y : (size_t)h->height - 1 - y;
        tga_read_pixel(file + at, h, table, to + 3 * (row * width + x));
        if (--run == 0 || !repeats) at += bytes;
    }
    return 1;
}
