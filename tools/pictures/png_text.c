#include "pictures/png_text.h"

#include "base/memory.h"
#include <stb/stb_image.h>
#include <stdlib.h>
#include <string.h>

/* Uncompresses to at most 1 MiB, like Pillow. */
static void inflate(const unsigned char *data, size_t size, text *out) {
    enum { MOST = 1 << 20 };
    char *to = size < MOST ? mem_alloc(MOST) : NULL;
    int len = to ? stbi_zlib_decode_buffer(to, MOST, (const char *)data, (int)size) : -1;
    if (len > 0) text_add(out, to, (size_t)len);
    free(to);
}

/* Moves *at behind the next 0 byte. */
static int skip_string(const unsigned char *data, size_t size, size_t *at) {
    const unsigned char *end = *at < size ? memchr(data + *at, 0, size - *at) : NULL;
    if (!end) return 0;
    *at = (size_t)(end - data) + 1;
    return 1;
}

int png_text(const unsigned char *type, const unsigned char *data, size_t size, const char *keyword, text *out) {
    int is_plain = memcmp(type, "tEXt", 4) == 0, is_packed = memcmp(type, "zTXt", 4) == 0;
    int is_long = memcmp(type, "iTXt", 4) == 0;
    size_t at = strlen(keyword) + 1; /* with its 0 */
    if ((!is_plain && !is_packed && !is_long) || size < at || memcmp(data, keyword, at) != 0) return 0;
    if (is_long) { /* compression flag and method, language, translated keyword */
        if (size - at < 2) return 0;
        is_packed = data[at] != 0;
        if (is_packed && data[at + 1] != 0) return 0;
        at += 2;
        if (!skip_string(data, size, &at) || !skip_string(data, size, &at)) return 0;
    } else if (is_packed) {
        at++; /* the method */
    }
    text_clear(out);
    if (at < size && is_packed) inflate(data + at, size - at, out);
    else if (at < size) text_add(out, data + at, size - at);
    return 1;
}

static int digit(int c) {
    static const char digits[] = "0123456789abcdef0123456789ABCDEF";
    const char *found = c ? strchr(digits, c) : NULL;
    return found ? (int)(found - digits) % 16 : -1;
}

int png_profile(text *t) {
    size_t from = 0, to = 0;
    int high = -1;
    for (int line = 0; line < 3; line++) {
        char *end = from < t->len ? memchr(t->s + from, '\n', t->len - from) : NULL;
        if (!end) return 0;
        from = (size_t)(end - t->s) + 1;
    }
    for (; from < t->len; from++) {
        int value = digit((unsigned char)t->s[from]);
        if (value < 0 && !strchr(" \t\r\n", t->s[from])) return 0;
        if (value < 0) continue;
        if (high >= 0) t->s[to++] = (char)(16 * high + value);
        high = high < 0 ? value : -1;
    }
    t->len = to;
    return high < 0;
}
