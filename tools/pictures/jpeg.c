#include "pictures/jpeg.h"

#include <string.h>

enum { SOI = 0xD8, EOI = 0xD9, SOS = 0xDA, DQT = 0xDB, DHT = 0xC4, APP0 = 0xE0, APP1 = 0xE1, APP14 = 0xEE };

static int is_restart(int marker) { return marker >= 0xD0 && marker <= 0xD7; }

void jpeg_begin(jpeg_walk *w, const unsigned char *file, size_t len) {
    memset(w, 0, sizeof *w);
    w->file = file;
    w->len = len;
    w->at = len >= 2 && file[0] == 0xFF && file[1] == SOI ? 2 : len;
}

/* Moves to the next marker: 0xFF, perhaps repeated, then a byte that is neither 0 (a stuffed 0xFF in compressed data)
   nor a restart. Bytes before it are skipped, as decoders do. */
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

/* The tables defined so far, as bits (quantisation 0 to 3; Huffman DC 0 to 3, AC 4 to 7), the frame that uses them, and
   the number of scans found. */
typedef struct tables {
    unsigned quant, huffman;
    jpeg_facts *is;
    int scans;
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

static int is_frame(int marker) { return marker >= 0xC0 && marker <= 0xC2; }

static const char *read_frame(const jpeg_walk *w, jpeg_frame *f) {
    static const char damaged[] = "damaged JPEG (frame header)";
    if (f->components) return "damaged JPEG (two frames)";
    if (w->size < 6 || w->data[5] < 1 || w->data[5] > 4 || w->size != 6 + 3 * (size_t)w->data[5]) return damaged;
    if (w->data[0] != 8)
        return "a JPEG whose samples do not have 8 bits, which is not supported; convert it to PNG or JPEG";
    f->height = w->data[1] << 8 | w->data[2];
    f->width = w->data[3] << 8 | w->data[4];
    f->progressive = w->marker == 0xC2;
    for (int i = 0; i < w->data[5]; i++) {
        const unsigned char *component = w->data + 6 + 3 * i;
        f->id[i] = component[0];
        f->h[i] = component[1] >> 4;
        f->v[i] = component[1] & 15;
        f->quant[i] = component[2];
        if (f->h[i] < 1 || f->h[i] > 4 || f->v[i] < 1 || f->v[i] > 4) return damaged;
    }
    f->components = w->data[5];
    return NULL;
}

/* The payload of the current APP1 segment behind this tag. */
static const unsigned char *behind_tag(const jpeg_walk *w, const char *tag, size_t len, size_t *size) {
    if (w->marker != APP1 || w->size < len || memcmp(w->data, tag, len) != 0) return NULL;
    *size = w->size - len;
    return w->data + len;
}

const unsigned char *jpeg_exif(const jpeg_walk *w, size_t *size) { return behind_tag(w, "Exif\0", 6, size); }

/* Facts in segments of applications, before the first scan. */
static void read_application(const jpeg_walk *w, jpeg_facts *out) {
    static const char tag[] = "http://ns.adobe.com/xap/1.0/";
    size_t size;
    if (w->marker == APP0 && w->size >= 14 && memcmp(w->data, "JFIF", 5) == 0) out->is_jfif = 1;
    if (w->marker == APP14 && w->size >= 12 && memcmp(w->data, "Adobe", 5) == 0)
        out->is_adobe = 1, out->transform = w->data[11];
    const unsigned char *xmp = behind_tag(w, tag, sizeof tag, &size);
    if (xmp) out->xmp = xmp, out->xmp_size = size;
    else if (!out->exif) out->exif = jpeg_exif(w, &out->exif_size);
}

/* How many scans a frame may have. A sequential frame codes each component once. Encoders write 6 to 20 for a
   progressive one; a scan costs time for every block even if it holds no bits for it, so large images may have
   fewer. */
static int most_scans(const jpeg_frame *f) {
    enum { FEW = 20, MANY = 100 };
    const long long visits = 2000000000; /* pixels, summed over all scans */
    long long pixels = (long long)f->width * f->height, scans = visits / (pixels + 1);
    if (!f->progressive) return f->components;
    return scans < FEW ? FEW : scans > MANY ? MANY : (int)scans;
}

/* Checks that every table used by the scan's components is defined. */
static const char *check_scan(const jpeg_walk *w, tables *t) {
    jpeg_frame *f = &t->is->frame;
    static const char damaged[] = "damaged JPEG (scan header)";
    size_t count = w->size ? w->data[0] : 0;
    if (!f->components || count < 1 || count > 4 || w->size != 4 + 2 * count) return damaged;
    if (++t->scans > most_scans(f)) return "a JPEG with too many scans";
    if (t->scans == 1) f->first_scan = (int)count;
    int needs_dc = !f->progressive || w->data[w->size - 3] == 0, needs_ac = !f->progressive || !needs_dc;
    for (size_t i = 0; i < count; i++) {
        int which = 0;
        unsigned dc = w->data[2 + 2 * i] >> 4, ac = w->data[2 + 2 * i] & 15;
        while (which < f->components && f->id[which] != w->data[1 + 2 * i]) which++;
        if (which == f->components || f->quant[which] > 3 || dc > 3 || ac > 3) return damaged;
        unsigned is_defined = t->quant >> f->quant[which] & 1;
        if (needs_dc) is_defined &= t->huffman >> dc & 1;
        if (needs_ac) is_defined &= t->huffman >> (4 + ac) & 1;
        if (!is_defined) return "a JPEG without its tables (perhaps a frame cut out of a video)";
    }
    return NULL;
}

/* 1 if the file has fewer bits than its frame has blocks. Each block takes at least one bit, the Huffman code of its
   first coefficient. A decoder takes a missing one for zero, so a hundred bytes could request gigabytes. */
static int is_too_short(const jpeg_frame *f, size_t len) {
    long long blocks = 0;
    int h = 1, v = 1;
    for (int i = 0; i < f->components; i++) {
        if (f->h[i] > h) h = f->h[i];
        if (f->v[i] > v) v = f->v[i];
    }
    for (int i = 0; i < f->components; i++) {
        int across = (f->width * f->h[i] + 8 * h - 1) / (8 * h), down = (f->height * f->v[i] + 8 * v - 1) / (8 * v);
        blocks += (long long)across * down;
    }
    return (unsigned long long)blocks / 8 > len;
}

const char *jpeg_problem(const unsigned char *file, size_t len, jpeg_facts *out) {
    jpeg_walk w;
    tables t;
    const char *problem = NULL;
    memset(out, 0, sizeof *out);
    memset(&t, 0, sizeof t);
    t.is = out;
    jpeg_begin(&w, file, len);
    while (!problem && jpeg_next(&w)) {
        if (w.marker == EOI) return is_too_short(&out->frame, len) ? "the JPEG file is too short for its size" : NULL;
        if (w.marker == DQT) problem = read_quantisation(&w, &t);
        else if (w.marker == DHT) problem = read_huffman(&w, &t);
        else if (w.marker == SOS) problem = check_scan(&w, &t);
        else if (is_frame(w.marker)) problem = read_frame(&w, &out->frame);
        else if (w.marker > 0xC2 && w.marker <= 0xCF && w.marker != 0xC8)
            problem = "a lossless, hierarchical or arithmetic JPEG, which is not supported; convert it";
        else if (!t.scans) read_application(&w, out);
    }
    return problem ? problem : "the JPEG file ends early";
}

/* stb_image goes by the components' ids before the markers, and takes four components without Adobe's marker, or with
   one that is not for CMYK, for YCbCr and something to be ignored. */
const char *jpeg_stb_problem(const jpeg_facts *is) {
    static const char needs_library[] =
        "a JPEG with unusual markers, whose colours only libturbojpeg decodes correctly (Debian: libturbojpeg0)";
    const int components = is->frame.components;
    if (components == 4 && !(is->is_adobe && (is->transform == 0 || is->transform == 2))) return needs_library;
    const int named_rgb = components == 3 && memcmp(is->frame.id, "RGB", 3) == 0;
    return named_rgb && (is->is_jfif || (is->is_adobe && is->transform != 0)) ? needs_library : NULL;
}
