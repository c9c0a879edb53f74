#include "pictures/pnm.h"

#include "base/text.h"

#include <math.h>
#include <string.h>

static int pnm_is_one(const unsigned char *file, size_t len) {
    return len >= 2 && file[0] == 'P' && (file[1] == '5' || file[1] == '6');
}

/* Skips white space and comments, which end at a carriage return or a newline. Returns how many bytes it skipped. */
static size_t skip_space(const unsigned char *file, size_t len, size_t at) {
    size_t start = at;
    int comment = 0;
    for (; at < len && (comment || is_white(file[at]) || file[at] == '#'); at++) {
        if (file[at] == '\n' || file[at] == '\r') comment = 0;
        else if (file[at] == '#') comment = 1;
    }
    return at - start;
}

const char *pnm_read_header(const unsigned char *file, size_t len, pnm_header *out) {
    static const char damaged[] = "damaged PPM or PGM header";
    size_t at = 2;
    int number[3] = {0, 0, 0}; /* width, height, the largest value */
    if (!pnm_is_one(file, len)) return damaged;
    for (int field = 0; field < 3; field++) {
        int digits = 0;
        size_t space = skip_space(file, len, at);
        at += space;
        for (; at < len && file[at] >= '0' && file[at] <= '9' && digits < 9; digits++)
            number[field] = 10 * number[field] + (file[at++] - '0');
        if (!space || !digits || at == len || !is_white(file[at])) return damaged;
    }
    if (number[2] < 1 || number[2] > 65535) return "damaged PPM or PGM header (its largest value must be 1 to 65535)";
    out->width = number[0];
    out->height = number[1];
    out->channels = file[1] == '6' ? 3 : 1;
    out->most = number[2];
    out->bytes = number[2] > 255 ? 2 : 1;
    out->data = at + 1; /* exactly one byte of white space, because the first sample may look like one */
    return NULL;
}

/* Scales a sample (high byte first) of a file whose largest value is `most` to 255 as Pillow does for a PPM: in double,
   to the nearest, of two to the even one. Pillow does not scale a PGM whose largest value exceeds 255 (everything above
   255 turns white in RGB); here both are scaled. */
static unsigned char narrowed(const unsigned char *at, int bytes, int most) {
    const int v = bytes == 2 ? at[0] << 8 | at[1] : *at;
    return v < most ? (unsigned char)nearbyint((double)v / most * 255) : 255;
}

int pnm_decode(const unsigned char *file, size_t len, const pnm_header *h, unsigned char *out) {
    size_t left = len - h->data, row = (size_t)h->width * (size_t)h->channels * (size_t)h->bytes;
    size_t pixels = (size_t)h->width * (size_t)h->height;
    const unsigned char *from = file + h->data;
    if (row == 0 || left / row < (size_t)h->height) return 0;
    if (h->channels == 3 && h->most == 255) {
        memcpy(out, from, pixels * 3);
        return 1;
    }
    for (size_t i = 0; i < pixels; i++, out += 3)
        for (int c = 0; c < 3; c++) {
            const unsigned char *sample = from;
            if (h->channels == 3 || c == 2) from += h->bytes;
            out[c] = h->most == 255 ? *sample : narrowed(sample, h->bytes, h->most);
        }
    return 1;
}
