#include "pictures/bmp.h"

#include "base/source.h"

#include <string.h>

/* Bytes of the file's header, and of the shortest and the usual one of the headers that may follow it. */
enum { BMP_START = 14, BMP_CORE = 12, BMP_INFO = 40 };
static const char BMP_DAMAGED[] = "damaged BMP header";

/* Which byte holds the channel of this mask; -1 if the mask is not one whole byte. */
static int place_of(uint32_t mask) {
    for (int i = 0; i < 4; i++)
        if (mask == (uint32_t)255 << 8 * i) return i;
    return -1;
}

/* Pillow knows these layouts and no others. */
static const char *bmp_read_masks(const unsigned char *at, bmp_header *out) {
    static const char unknown[] = "a BMP with unusual bit fields, which is not supported; convert it to PNG or JPEG";
    const uint32_t r = le32(at), g = le32(at + 4), b = le32(at + 8);
    if (out->bits == 16) {
        out->is_565 = r == 0xf800 && g == 0x7e0;
        return b == 0x1f && (out->is_565 || (r == 0x7c00 && g == 0x3e0)) ? NULL : unknown;
    }
    if (out->bits != 24 && out->bits != 32) return unknown;
    if (!r && !g && !b && out->bits == 32) return NULL;
    out->place[0] = place_of(r), out->place[1] = place_of(g), out->place[2] = place_of(b);
    for (int i = 0; i < 3; i++)
        if (out->place[i] < 0 || out->place[i] >= out->bits / 8 || out->place[i] == out->place[(i + 1) % 3])
            return unknown;
    return NULL;
}

static const char *unread_coding(uint32_t coding) {
    switch (coding) {
    case 0:
    case 3: return NULL;
    case 1:
    case 2: return "a run-length coded BMP, which is not supported; convert it to PNG or JPEG";
    case 4:
    case 5: return "a BMP that contains a JPEG or PNG, which is not supported; convert it to PNG or JPEG";
    default: return "a BMP with unknown compression, which is not supported; convert it to PNG or JPEG";
    }
}

/* The fields of the header at BMP_START. */
static const char *bmp_read_info(const unsigned char *info, size_t size, size_t left, bmp_header *out,
                                 uint32_t *coding) {
    if (size == BMP_CORE) {
        out->width = (int)le16(info + 4), out->height = (int)le16(info + 6);
        out->bits = (int)le16(info + 10);
        return NULL;
    }
    const uint32_t width = le32(info + 4), height = le32(info + 8), used = le32(info + 32);
    out->from_top = (height >> 31) != 0;
    const uint32_t rows = out->from_top ? 0 - height : height;
    if (width > INT32_MAX || rows > INT32_MAX || used > INT32_MAX) return BMP_DAMAGED;
    out->width = (int)width, out->height = (int)rows;
    out->bits = (int)le16(info + 14);
    out->colours = used;
    *coding = le32(info + 16);
    const char *problem = unread_coding(*coding);
    if (problem || *coding == 0) return problem;
    return left < BMP_INFO + 12 ? BMP_DAMAGED : bmp_read_masks(info + BMP_INFO, out);
}

static int bmp_is_size(size_t size) {
    static const int sizes[] = {BMP_CORE, BMP_INFO, 52, 56, 64, 108, 124};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (size == (size_t)sizes[i]) return 1;
    return 0;
}

/* Where the table of colours and the pixels are. */
static const char *bmp_find_parts(size_t offset, size_t end, bmp_header *out) {
    out->data = offset;
    if (out->bits <= 8) {
        if (!out->colours) out->colours = (size_t)1 << out->bits;
        if (out->colours > 256) return BMP_DAMAGED;
        out->table = end;
        if (offset == end) out->data += out->colours * out->entry; /* some writers forget the table; so does Pillow */
    }
    return out->data < end ? BMP_DAMAGED : NULL;
}

const char *bmp_read_header(const unsigned char *file, size_t len, bmp_header *out) {
    uint32_t coding = 0;
    memset(out, 0, sizeof *out);
    out->place[0] = 2, out->place[1] = 1;
    if (len < BMP_START + BMP_CORE) return "the BMP file ends early";
    const size_t size = le32(file + BMP_START);
    if (!bmp_is_size(size)) return "a BMP with an unknown header, which is not supported; convert it to PNG or JPEG";
    if (len - BMP_START < size) return "the BMP file ends early";
    out->entry = size == BMP_CORE ? 3 : 4;
    const char *problem = bmp_read_info(file + BMP_START, size, len - BMP_START, out, &coding);
    if (problem) return problem;
    if (out->bits != 1 && out->bits != 4 && out->bits != 8 && out->bits != 16 && out->bits != 24 && out->bits != 32)
        return "a BMP with unusual bits per pixel (not 1, 4, 8, 16, 24 or 32); convert it to PNG or JPEG";
    return bmp_find_parts(le32(file + 10), BMP_START + size + (coding == 3 && size == BMP_INFO ? 12 : 0), out);
}

/* Colours that the table lacks are black, as in Pillow. */
static void bmp_table(const unsigned char *file, const bmp_header *h, unsigned char table[256][3]) {
    memset(table, 0, 256 * sizeof *table);
    for (size_t i = 0; i < h->colours; i++)
        for (size_t c = 0; c < 3; c++) table[i][c] = file[h->table + i * h->entry + 2 - c];
}

static void bmp_read_row(const unsigned char *row, const bmp_header *h, unsigned char table[256][3],
                         unsigned char *to) {
    for (int x = 0; x < h->width; x++, to += 3) {
        if (h->bits <= 8) {
            const size_t bit = (size_t)x * (size_t)h->bits;
            const int index = row[bit / 8] >> (8 - h->bits - (int)(bit % 8)) & ((1 << h->bits) - 1);
            memcpy(to, table[index], 3);
        } else if (h->bits == 16) {
            const unsigned v = le16(row + 2 * (size_t)x), green = h->is_565 ? 63 : 31;
            to[0] = (unsigned char)((v >> (h->is_565 ? 11 : 10) & 31) * 255 / 31);
            to[1] = (unsigned char)((v >> 5 & green) * 255 / green);
            to[2] = (unsigned char)((v & 31) * 255 / 31);
        } else {
            const unsigned char *pixel = row + (size_t)x * (size_t)(h->bits / 8);
            for (int c = 0; c < 3; c++) to[c] = pixel[h->place[c]];
        }
    }
}

int bmp_decode(const unsigned char *file, size_t len, const bmp_header *h, unsigned char *to) {
    unsigned char table[256][3];
    const size_t bits = (size_t)h->width * (size_t)h->bits, stride = (bits + 31) / 32 * 4, row = (bits + 7) / 8;
    const size_t before = stride * (size_t)(h->height - 1); /* the last row need not be padded */
    if (h->bits <= 8) {
        if (h->table + h->colours * h->entry > len) return 0;
        bmp_table(file, h, table);
    }
    if (h->data > len || before > len - h->data || row > len - h->data - before) return 0;
    for (int y = 0; y < h->height; y++) {
        const int stored = h->from_top ? y : h->height - 1 - y;
        bmp_read_row(file + h->data + stride * (size_t)stored, h, table, to + 3 * (size_t)h->width * (size_t)y);
    }
    return 1;
}
