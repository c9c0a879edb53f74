#include "pictures/jpeg.h"

#include <string.h>

enum { SOI = 0xD8, EOI = 0xD9, SOS = 0xDA, DQT = 0xDB, DHT = 0xC4 };

static int is_restart(int marker) { return marker >= 0xD0 && marker <= 0xD7; }

void jpeg_begin(jpeg_walk *w, const unsigned char *file, size_t len) {
    memset(w, 0, sizeof *w);
    w->file = file;
    w->len = len;
    w->at = len >= 2 && file[0] == 0xFF && file[1] == SOI ? 2 : len;
}

/* Stands on the next marker: 0xFF, perhaps repeated, then a byte that is neither 0 (a stuffed 0xFF in compressed data)
   nor a restart. Whatever comes before it is skipped, as decoders do. */
static int find_marker(jpeg_walk *w) {
    while (w->at + 1 < w->len) {
        int byte = w->file[w->at + 1];
        if (w->file[w->at] == 0xFF && byte != 0 && byte != 0xFF && !is_restart(byte)) return 1;
        w->at++;
    }
    return 0;
}

int jpeg_next(jpeg_walk *w) {
    if (!find_marker(w)) return 0;
    w->marker = w->file[w->at + 1];
    w->at += 2;
    w->size = 0;
    if (w->marker == EOI) {
        w->at = w->len;
        return 1;
    }
    if (w->len - w->at < 2) return 0;
    size_t size = (size_t)w->file[w->at] << 8 | w->file[w->at + 1];
    if (size < 2 || size > w->len - w->at) return 0;
    w->data = w->file + w->at + 2;
    w->size = size - 2;
    w->at += size;
    return 1;
}

/* Which tables exist, as bits (quantisation 0 to 3; Huffman DC 0 to 3, AC 4 to 7), and what the frame's components
   use. */
typedef struct tables {
    unsigned quant, huffman;
    int progressive, components;
    unsigned char id[4], quant_of[4];
} tables;

static const char *read_quantisation(const jpeg_walk *w, tables *t) {
    for (size_t at = 0; at < w->size;) {
        unsigned precision = w->data[at] >> 4, id = w->data[at] & 15;
        if (precision > 1 || id > 3) return "damaged JPEG (quantisation table)";
        t->quant |= 1u << id;
        at += precision ? 129 : 65;
        if (at > w->size) return "damaged JPEG (quantisation table)";
    }
    return NULL;
}

static const char *read_huffman(const jpeg_walk *w, tables *t) {
    for (size_t at = 0; at < w->size;) {
        unsigned kind = w->data[at] >> 4, id = w->data[at] & 15;
        size_t codes = 0;
        if (kind > 1 || id > 3 || w->size - at < 17) return "damaged JPEG (Huffman table)";
        for (size_t i = 1; i <= 16; i++) codes += w->data[at + i];
        at += 17 + codes;
        if (codes > 256 || at > w->size) return "damaged JPEG (Huffman table)";
        t->huffman |= 1u << (4 * kind + id);
    }
    return NULL;
}

static const char *read_frame(const jpeg_walk *w, tables *t) {
    if (t->components) return "damaged JPEG (two frames)";
    if (w->size < 6 || w->data[5] < 1 || w->data[5] > 4 || w->size != 6 + 3 * (size_t)w->data[5])
        return "damaged JPEG (frame header)";
    t->progressive = w->marker == 0xC2;
    t->components = w->data[5];
    for (int i = 0; i < t->components; i++) {
        t->id[i] = w->data[6 + 3 * i];
        t->quant_of[i] = w->data[8 + 3 * i];
    }
    return NULL;
}

/* Every table that the scan's components name must exist. */
static const char *check_scan(const jpeg_walk *w, const tables *t) {
    static const char damaged[] = "damaged JPEG (scan header)";
    size_t count = w->size ? w->data[0] : 0;
    if (!t->components || count < 1 || count > 4 || w->size != 4 + 2 * count) return damaged;
    int needs_dc = !t->progressive || w->data[w->size - 3] == 0, needs_ac = !t->progressive || !needs_dc;
    for (size_t i = 0; i < count; i++) {
        int which = 0;
        unsigned dc = w->data[2 + 2 * i] >> 4, ac = w->data[2 + 2 * i] & 15;
        while (which < t->components && t->id[which] != w->data[1 + 2 * i]) which++;
        if (which == t->components || t->quant_of[which] > 3 || dc > 3 || ac > 3) return damaged;
        unsigned is_defined = t->quant >> t->quant_of[which] & 1;
        if (needs_dc) is_defined &= t->huffman >> dc & 1;
        if (needs_ac) is_defined &= t->huffman >> (4 + ac) & 1;
        if (!is_defined) return "a JPEG without its tables (a frame cut out of a video?)";
    }
    return NULL;
}

const char *jpeg_problem(const unsigned char *file, size_t len) {
    jpeg_walk w;
    tables t;
    const char *problem = NULL;
    memset(&t, 0, sizeof t);
    jpeg_begin(&w, file, len);
    while (!problem && jpeg_next(&w)) {
        if (w.marker == EOI) return NULL;
        if (w.marker == DQT) problem = read_quantisation(&w, &t);
        else if (w.marker == DHT) problem = read_huffman(&w, &t);
        else if (w.marker == SOS) problem = check_scan(&w, &t);
        else if (w.marker >= 0xC0 && w.marker <= 0xC2) problem = read_frame(&w, &t);
        else if (w.marker > 0xC2 && w.marker <= 0xCF && w.marker != 0xC8)
            problem = "a lossless, hierarchical or arithmetic JPEG, which is not supported; convert it";
    }
    return problem ? problem : "the JPEG file ends early";
}
