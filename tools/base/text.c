#include "base/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* The content of a text that could not grow; it is never written to and has no capacity. */
static char out_of_memory[] = "out of memory";

int text_failed(const text *t) { return t->s == out_of_memory; }

int text_no_memory(text *t) {
    text_free(t);
    t->s = out_of_memory;
    t->len = sizeof out_of_memory - 1;
    return 0;
}

/* Makes room for `more` bytes and a final 0. */
static int reserve(text *t, size_t more) {
    size_t cap = t->cap;
    if (text_failed(t)) return 0;
    if (cap - t->len > more) return 1;
    while (cap - t->len <= more) {
        if (cap > SIZE_MAX / 4) return text_no_memory(t);
        cap = cap ? cap * 2 : 64;
    }
    char *grown = realloc(t->s, cap);
    if (!grown) return text_no_memory(t);
    t->s = grown;
    t->cap = cap;
    return 1;
}

void text_add(text *t, const void *bytes, size_t len) {
    if (!reserve(t, len)) return;
    if (len) memcpy(t->s + t->len, bytes, len);
    t->len += len;
    t->s[t->len] = 0;
}

void text_join(text *t, const text *more) {
    if (text_failed(more)) text_no_memory(t);
    else if (more->len) text_add(t, more->s, more->len);
}

void text_puts(text *t, const char *s) { text_add(t, s, strlen(s)); }

void text_putc(text *t, int c) {
    char byte = (char)c;
    text_add(t, &byte, 1);
}

void text_vprintf(text *t, const char *format, va_list list) {
    va_list again;
    const size_t room = text_failed(t) ? 0 : t->cap - t->len; /* usually enough */
    va_copy(again, list);
    int n = vsnprintf(room ? t->s + t->len : NULL, room, format, list);
    if (room && (n < 0 || (size_t)n >= room)) t->s[t->len] = 0;
    if (n > 0 && (size_t)n < room) {
        t->len += (size_t)n;
    } else if (n > 0 && reserve(t, (size_t)n)) {
        vsnprintf(t->s + t->len, (size_t)n + 1, format, again);
        t->len += (size_t)n;
    }
    va_end(again);
}

void text_printf(text *t, const char *format, ...) {
    va_list list;
    va_start(list, format);
    text_vprintf(t, format, list);
    va_end(list);
}

void text_clear(text *t) {
    if (text_failed(t)) t->s = NULL;
    t->len = 0;
    if (t->s) t->s[0] = 0;
}

void text_free(text *t) {
    if (!text_failed(t)) free(t->s);
    memset(t, 0, sizeof *t);
}

int refuse(text *why, const char *format, ...) {
    char message[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    text_clear(why);
    text_puts(why, message);
    return 0;
}

int refuse_errno(text *why, const char *doing) { return refuse(why, "%s: %s", doing, strerror(errno)); }

static int is_tail(const char *s, int i) { return ((unsigned char)s[i] & 0xC0) == 0x80; }

int is_white(int c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

int text_ends_with(const char *s, const char *end) {
    size_t n = strlen(s), m = strlen(end);
    return n >= m && strcmp(s + n - m, end) == 0;
}

#ifdef _WIN32
void path_given(char *path) {
    while ((path = strchr(path, '\\')) != NULL) *path = '/';
}

int path_is_absolute(const char *path) {
    return *path == '/' || (((*path | 32) >= 'a' && (*path | 32) <= 'z') && path[1] == ':' && path[2] == '/');
}
#else
void path_given(char *path) { (void)path; }

int path_is_absolute(const char *path) { return *path == '/'; }
#endif

const char *path_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

size_t path_stem(const char *name) {
    const char *dot = strrchr(name, '.');
    return dot && dot > name ? (size_t)(dot - name) : strlen(name);
}

void path_folder(text *folder, const char *path) {
    text_clear(folder);
    size_t len = (size_t)(path_name(path) - path);
    if (!len) text_puts(folder, ".");
    else text_add(folder, path, len > 1 ? len - 1 : 1);
}

int path_has_ending(const char *path, const char *ending) {
    const char *name = path_name(path);
    return strlen(name) > strlen(ending) && text_ends_with(name, ending);
}

int utf8_length(const char *s) {
    unsigned a = (unsigned char)s[0], b = a ? (unsigned char)s[1] : 0;
    if (a < 0x80) return a ? 1 : 0;
    if (a < 0xC2 || a > 0xF4) return 0;
    if (!is_tail(s, 1)) return 0;
    if (a < 0xE0) return 2;
    if ((a == 0xE0 && b < 0xA0) || (a == 0xED && b > 0x9F)) return 0; /* overlong, surrogate */
    if ((a == 0xF0 && b < 0x90) || (a == 0xF4 && b > 0x8F)) return 0; /* overlong, beyond U+10FFFF */
    if (!is_tail(s, 2)) return 0;
    if (a < 0xF0) return 3;
    return is_tail(s, 3) ? 4 : 0;
}

int utf8_valid(const char *s) {
    for (int n; *s; s += n)
        if (!(n = utf8_length(s))) return 0;
    return 1;
}

size_t utf8_mark(const char *bytes, size_t len) { return len >= 3 && memcmp(bytes, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0; }

int text_is_utf16(const char *bytes, size_t len) {
    return len >= 2 && (memcmp(bytes, "\xFF\xFE", 2) == 0 || memcmp(bytes, "\xFE\xFF", 2) == 0);
}

int text_add_utf16(text *t, const char *bytes, size_t len) {
    const unsigned char *at = (const unsigned char *)bytes;
    const int low = at[0] == 0xFF ? 0 : 1; /* where the low byte of a unit is */
    for (size_t i = 2; i + 1 < len && !text_failed(t); i += 2) {
        unsigned unit = (unsigned)at[i + (size_t)(1 - low)] << 8 | at[i + (size_t)low];
        if (unit >= 0xD800 && unit < 0xDC00 && i + 3 < len) {
            unsigned next = (unsigned)at[i + (size_t)(3 - low)] << 8 | at[i + (size_t)(2 + low)];
            if (next < 0xDC00 || next > 0xDFFF) return 0;
            unit = 0x10000 + ((unit - 0xD800) << 10 | (next - 0xDC00));
            i += 2;
        }
        if ((unit >= 0xD800 && unit < 0xE000) || !unit) return 0;
        text_utf8(t, unit);
    }
    return len % 2 == 0 && !text_failed(t);
}

int text_from_utf16(text *file, text *why) {
    text converted = TEXT_INIT;
    if (!text_is_utf16(file->s, file->len)) return 1;
    int good = text_add_utf16(&converted, file->s, file->len);
    if (!good) {
        text_clear(why);
        text_puts(why, text_failed(&converted) ? "out of memory" : "UTF-16 text that is damaged; save it as UTF-8");
        text_free(&converted);
        return 0;
    }
    text_free(file);
    *file = converted;
    text_puts(file, "");
    return 1;
}

void text_utf8(text *t, unsigned code) {
    if (code < 0x80) {
        text_putc(t, (int)code);
    } else if (code >= 0xDC80 && code <= 0xDCFF) {
        text_putc(t, (int)(code & 0xFF));
    } else if (code < 0x800) {
        text_putc(t, (int)(0xC0 | code >> 6));
        text_putc(t, (int)(0x80 | (code & 0x3F)));
    } else {
        if (code < 0x10000) {
            text_putc(t, (int)(0xE0 | code >> 12));
        } else {
            text_putc(t, (int)(0xF0 | code >> 18));
            text_putc(t, (int)(0x80 | (code >> 12 & 0x3F)));
        }
        text_putc(t, (int)(0x80 | (code >> 6 & 0x3F)));
        text_putc(t, (int)(0x80 | (code & 0x3F)));
    }
}

unsigned utf8_code(const char *s, int n) {
    unsigned code = (unsigned char)s[0] & (n == 1 ? 0x7Fu : 0xFFu >> (n + 1));
    for (int i = 1; i < n; i++) code = code << 6 | ((unsigned char)s[i] & 0x3Fu);
    return code;
}

/* 1 for a character with an effect instead of a glyph: control characters, line separators, and marks that change the
   direction of writing. */
static int is_invisible(unsigned code) {
    return code < 0x20 || (code >= 0x7F && code < 0xA0) || code == 0x061C || code == 0x200E || code == 0x200F ||
           (code >= 0x2028 && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
}

/* The length of the part of s that JSON takes as it is. */
static size_t plain_length(const char *s) {
    size_t n = 0;
    while (s[n] >= ' ' && s[n] < 0x7F && s[n] != '"' && s[n] != '\\') n++;
    return n;
}

void text_json(text *t, const char *s) {
    text_putc(t, '"');
    while (*s) {
        size_t plain = plain_length(s);
        text_add(t, s, plain);
        s += plain;
        if (!*s) break;
        unsigned char c = (unsigned char)*s;
        int n = utf8_length(s);
        if (n == 0) text_printf(t, "\\udc%02x", c);
        else if (c == '"' || c == '\\') text_printf(t, "\\%c", c);
        else if (c == '\n') text_puts(t, "\\n");
        else if (c == '\t') text_puts(t, "\\t");
        else if (is_invisible(utf8_code(s, n))) text_printf(t, "\\u%04x", utf8_code(s, n));
        else text_add(t, s, (size_t)n);
        s += n ? n : 1;
    }
    text_putc(t, '"');
}

int text_is_formula(const char *s) {
    const char *first = s + strspn(s, "'");
    return *first && strchr("=+-@\t\r", *first) != NULL;
}

void text_csv(text *t, const char *s) {
    int shielded = text_is_formula(s), quoted = strpbrk(s, ",\"\r\n") != NULL;
    if (quoted) text_putc(t, '"');
    if (shielded) text_putc(t, '\'');
    for (; *s; s++) {
        if (*s == '"') text_putc(t, '"');
        text_putc(t, *s);
    }
    if (quoted) text_putc(t, '"');
}

void text_id_line(text *t, const char *s) {
    for (; *s; s++) {
        if (*s == '\\') text_puts(t, "\\\\");
        else if (*s == '\n') text_puts(t, "\\n");
        else text_putc(t, *s);
    }
    text_putc(t, '\n');
}

void text_base64(text *t, const void *bytes, size_t len) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *from = bytes;
    for (size_t i = 0; i < len; i += 3) {
        unsigned v = (unsigned)from[i] << 16 | (i + 1 < len ? (unsigned)from[i + 1] << 8 : 0) |
                     (i + 2 < len ? (unsigned)from[i + 2] : 0);
        char group[4] = {digits[v >> 18], digits[v >> 12 & 63], digits[v >> 6 & 63], digits[v & 63]};
        if (i + 1 >= len) group[2] = '=';
        if (i + 2 >= len) group[3] = '=';
        text_add(t, group, 4);
    }
}

int visible_character(const char *s, char out[8]) {
    unsigned char c = (unsigned char)*s;
    int n = utf8_length(s);
    unsigned code = n ? utf8_code(s, n) : c;
    if (c == '\n') strcpy(out, "\\n");
    else if (c == '\t') strcpy(out, "\\t");
    else if (c == '\r') strcpy(out, "\\r");
    else if (n == 0 || c < 0x20 || c == 0x7F) snprintf(out, 8, "\\x%02x", c);
    else if (is_invisible(code)) snprintf(out, 8, "\\u%04x", code & 0xFFFFu);
    else snprintf(out, 8, "%.*s", n, s);
    return n ? n : 1;
}

void text_visible(text *t, const char *s) {
    char seen[8];
    while (*s) {
        s += visible_character(s, seen);
        text_puts(t, seen);
    }
}

size_t visible(char *out, size_t size, const char *s) {
    char one[8];
    size_t at = 0, len;
    while (*s) {
        s += visible_character(s, one);
        len = strlen(one);
        if (len >= size - at) break;
        memcpy(out + at, one, len);
        at += len;
    }
    out[at] = 0;
    return at;
}

/* Returns the part after a database's scheme; NULL if place is not such a URL. */
static const char *after_scheme(const char *place) {
    static const char *const SCHEMES[] = {"postgresql://", "postgres://"};
    for (int i = 0; i < 2; i++)
        if (strncmp(place, SCHEMES[i], strlen(SCHEMES[i])) == 0) return place + strlen(SCHEMES[i]);
    return NULL;
}

int is_database_url(const char *place) { return after_scheme(place) != NULL; }

/* Appends the part of s before `end`, as far as it fits. */
static size_t visible_part(char *out, size_t size, size_t at, const char *s, const char *end) {
    char one[8];
    while (s < end) {
        s += visible_character(s, one);
        size_t len = strlen(one);
        if (len >= size - at) break;
        memcpy(out + at, one, len);
        at += len;
    }
    out[at] = 0;
    return at;
}

static size_t visible_word(char *out, size_t size, size_t at, const char *word) {
    return visible_part(out, size, at, word, word + strlen(word));
}

/* 1 for a parameter whose value may be a secret: its name ends in "password", or contains a %. */
static int is_secret(const char *name, size_t len) {
    static const char WORD[] = "password";
    size_t n = sizeof WORD - 1;
    return (len >= n && strncasecmp(name + len - n, WORD, n) == 0) || memchr(name, '%', len) != NULL;
}

/* 1 if the text is host:port,[host]:port … with numeric ports. */
static int are_hosts(const char *s, const char *end) {
    while (s < end) {
        if (*s == '[') s += strcspn(s, "]");
        if (s < end && *s++ == ':') s += strspn(s, "0123456789");
        else continue;
        if (s < end && *s != ',') return 0;
    }
    return 1;
}

int is_plain_url(const char *place) {
    const char *rest = after_scheme(place), *at_sign = rest ? strchr(rest, '@') : NULL;
    const char *end = rest ? rest + strcspn(rest, "/?") : NULL;
    if (!rest || (at_sign && (at_sign > end || strchr(at_sign + 1, '@')))) return 0;
    return are_hosts(at_sign ? at_sign + 1 : rest, end);
}

size_t visible_place(char *out, size_t size, const char *place) {
    const char *rest = after_scheme(place), *from = place;
    size_t at = 0;
    out[0] = 0;
    if (!rest) return visible(out, size, place);
    if (!is_plain_url(place)) return visible_word(out, size, visible_part(out, size, 0, place, rest), "***");
    const char *at_sign = strchr(rest, '@'), *colon = at_sign ? strchr(rest, ':') : NULL;
    if (colon && colon < at_sign) {
        at = visible_part(out, size, at, place, colon);
        at = visible_word(out, size, at, ":***");
        from = at_sign;
    }
    for (const char *p = from; *p;) {
        size_t n = strcspn(p, "?&"), name = strcspn(p, "=");
        int secret = p != from && name < n && is_secret(p, name);
        at = visible_part(out, size, at, p, p + (secret ? name : n));
        if (secret) at = visible_word(out, size, at, "=***");
        p += n;
        if (*p) at = visible_part(out, size, at, p, p + 1), p++;
    }
    return at;
}

int parse_int(const char *s, long long lo, long long hi, long long *out) {
    char *end;
    const char *digits = *s == '-' ? s + 1 : s;
    if (*digits < '0' || *digits > '9') return 0;
    errno = 0;
    long long value = strtoll(s, &end, 10);
    if (errno || *end || value < lo || value > hi) return 0;
    *out = value;
    return 1;
}

int parse_size(const char *s, size_t most, size_t *out) {
    enum { DIGITS = 20 }; /* digits of the largest 64-bit number */
    size_t value = 0, n = strspn(s, "0123456789");
    if (!n || n > DIGITS || s[n]) return 0;
    for (; *s; s++) {
        size_t digit = (size_t)(*s - '0');
        if (value > (SIZE_MAX - digit) / 10) return 0;
        value = value * 10 + digit;
    }
    *out = value;
    return value <= most;
}

int parse_real(const char *s, double lo, double hi, double *out) {
    char *end;
    if (!*s || s[strspn(s, "0123456789+-.eE")]) return 0; /* no hexadecimal, no inf, no nan, no spaces */
    double value = strtod(s, &end);
    if (end == s || *end || !(value >= lo && value <= hi)) return 0;
    *out = value;
    return 1;
}

int parse_bytes(const char *s, size_t *out) {
    static const char units[] = "KMG";
    size_t len = strlen(s);
    const char *unit = len ? strchr(units, s[len - 1]) : NULL;
    int shift = unit && *unit ? 10 * (int)(unit - units + 1) : 0;
    long long value;
    char number[32];
    if (shift) len--;
    if (len >= sizeof number) return 0;
    memcpy(number, s, len);
    number[len] = 0;
    if (!parse_int(number, 1, (long long)(SIZE_MAX >> 1 >> shift), &value)) return 0;
    *out = (size_t)value << shift;
    return 1;
}

void text_html(text *t, const char *s) {
    while (*s) {
        int n = utf8_length(s);
        unsigned char c = (unsigned char)*s;
        if (c == '<') text_puts(t, "&lt;");
        else if (c == '&') text_puts(t, "&amp;");
        else if (c == '"') text_puts(t, "&quot;");
        else if (n == 0 || c < 0x20) text_putc(t, '?');
        else text_add(t, s, (size_t)n);
        s += n ? n : 1;
    }
}

const char *plural(size_t n) { return n == 1 ? "" : "s"; }
