#include "pictures/decoder_memory.h"

#include "pictures/jpeg.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { PREFIX = 16 }; /* before every block, which stays aligned: its size */

static __thread size_t limit, held;
static __thread int no_memory, too_much;

void decoder_begin(size_t budget) {
    limit = budget;
    held = 0;
    no_memory = too_much = 0;
}

int decoder_had_no_memory(void) { return no_memory; }
int decoder_wanted_too_much(void) { return too_much; }

static size_t size_of(const void *block) {
    size_t size = 0;
    if (block) memcpy(&size, (const char *)block - PREFIX, sizeof size);
    return size;
}

/* A block may be freed on a thread that did not count it. */
static void give_back(size_t size) { held -= size < held ? size : held; }

void *decoder_alloc(void *block, size_t size) {
    size_t before = size_of(block);
    if (size > limit || held - (before < held ? before : held) > limit - size) {
        too_much = 1;
        return NULL;
    }
    char *p = block ? realloc((char *)block - PREFIX, PREFIX + size) : calloc(1, PREFIX + size);
    if (!p) {
        no_memory = 1;
        return NULL;
    }
    memcpy(p, &size, sizeof size);
    give_back(before);
    held += size;
    return p + PREFIX;
}

void decoder_free(void *block) {
    if (!block) return;
    give_back(size_of(block));
    free((char *)block - PREFIX);
}

/* --- what a kind of file needs ------------------------------------------------------------------------------------ */

static size_t larger(size_t a, size_t b) { return a > b ? a : b; }

/* A plane of 8-bit samples per component, in whole units of the coarsest component; a progressive one also keeps
   16-bit coefficients, and so does libturbojpeg where a scan does not hold all components. Then some rows of both
   decoders, and the RGB result. */
static size_t jpeg_need(const jpeg_frame *f, size_t rgb, int width, int upright) {
    size_t planes = 0, units_x, units_y;
    int h_max = 1, v_max = 1;
    for (int i = 0; i < f->components; i++) {
        if (f->h[i] > h_max) h_max = f->h[i];
        if (f->v[i] > v_max) v_max = f->v[i];
    }
    units_x = ((size_t)f->width + (size_t)h_max * 8 - 1) / ((size_t)h_max * 8);
    units_y = ((size_t)f->height + (size_t)v_max * 8 - 1) / ((size_t)v_max * 8);
    for (int i = 0; i < f->components; i++) planes += units_x * f->h[i] * 8 * (units_y * f->v[i] * 8);
    int copies = f->progressive ? 3 : f->first_scan < f->components ? 2 : 1;
    return larger(planes * (size_t)copies + rgb + 64 * (size_t)width, upright ? 2 * rgb : 0);
}

/* The inflated rows (of an interlaced one, in a block that has grown to twice their size) and the samples, with an
   alpha channel that transparency adds; a palette's colours beside both, or another number of channels after both. */
static size_t png_need(const unsigned char *file, size_t len, size_t pixels, size_t rgb, int height) {
    static const unsigned char channels_of[8] = {1, 0, 3, 1, 2, 0, 4, 0};
    size_t bits = len > 25 ? file[24] : 8, colour = len > 25 ? file[25] & 7 : 6, interlaced = len > 28 && file[28];
    size_t channels = channels_of[colour], bytes = bits == 16 ? 2 : 1;
    size_t rows = (pixels * channels * bits + 7) / 8 + 2 * (size_t)height; /* a filter byte, and bits to fill a byte */
    size_t samples = pixels * (channels + (channels & 1)) * bytes;
    size_t filtering = (interlaced ? 2 * rows : rows) + samples + (interlaced ? samples / 2 : 0);
    return 2 * len + larger(filtering + (colour == 3 ? 4 * pixels : 0), samples + rgb * bytes);
}

size_t decoder_need(const unsigned char *file, size_t len, int width, int height, int upright) {
    static const size_t tables = 256 << 10;
    size_t pixels = (size_t)width * (size_t)height, rgb = 3 * pixels;
    jpeg_frame frame;
    if (jpeg_find_frame(file, len, &frame)) return tables + jpeg_need(&frame, rgb, width, upright);
    if (len > 1 && file[0] == 0x89 && file[1] == 'P') return tables + png_need(file, len, pixels, rgb, height);
    if (len > 1 && file[0] == 'P') return tables + rgb;
    if (len > 1 && file[0] == 'B' && file[1] == 'M') return tables + rgb;
    return tables + 4 * pixels + rgb; /* TGA: up to four channels, then RGB */
}
