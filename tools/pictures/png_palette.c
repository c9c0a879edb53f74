#include "pictures/png_palette.h"

#include "base/source.h"

#include <string.h>

enum { SIGNATURE = 8, AROUND = 12, COLOURS = 256 }; /* AROUND: a chunk's length, name and checksum */

/* Lengthens the chunk PLTE at `at`, of `size` bytes. stb_image does not read its checksum, which stays as it was. */
static int lengthen(text *file, size_t at, size_t size) {
    static const char zeros[3 * COLOURS];
    const size_t end = at + 8 + size, more = 3 * COLOURS - size, behind = file->len - end;
    text_add(file, zeros, more);
    if (text_failed(file)) return 0;
    memmove(file->s + end + more, file->s + end, behind);
    memset(file->s + end, 0, more);
    file->s[at + 2] = 3 * COLOURS >> 8, file->s[at + 3] = 0;
    return 1;
}

int png_complete_palette(text *file) {
    for (size_t at = SIGNATURE; file->len - at >= AROUND;) {
        size_t size = be32((const unsigned char *)file->s + at);
        if (size > file->len - at - AROUND || memcmp(file->s + at + 4, "IDAT", 4) == 0) break;
        if (memcmp(file->s + at + 4, "PLTE", 4) == 0 && size < 3 * COLOURS && size % 3 == 0 && size) {
            if (!lengthen(file, at, size)) return 0;
            size = 3 * COLOURS;
        }
        at += AROUND + size;
    }
    return 1;
}
