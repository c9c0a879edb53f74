#include "base/unicode.h"

#include "base/random.h"
#include "base/text.h"
#include "base/unicode_table.h"

#include <stdlib.h>
#include <string.h>

/* Hangul syllables are computed: The Unicode Standard, section 3.12. */
enum { SYLLABLES = 0xAC00, LEADING = 0x1100, VOWELS = 0x1161, TRAILING = 0x11A7,
       LEADING_COUNT = 19, VOWEL_COUNT = 21, TRAILING_COUNT = 28, PAIRS = VOWEL_COUNT * TRAILING_COUNT,
       SYLLABLE_COUNT = LEADING_COUNT * PAIRS };
enum { FIRST_COMBINING = 0x300, MOST_PARTS = 4, NO_CLASS = 255 };
#define ROWS(array) (sizeof(array) / sizeof *(array))

/* --- characters --------------------------------------------------------------------------------------------------- */

static int by_code(const void *key, const void *row) {
    uint32_t code = *(const uint32_t *)key, other = *(const uint32_t *)row;
    return (code > other) - (code < other);
}

static int by_range(const void *key, const void *row) {
    const uint32_t code = *(const uint32_t *)key, *range = row;
    return code < range[0] ? -1 : code > range[1];
}

static int class_of(uint32_t code) {
    if (code < FIRST_COMBINING) return 0;
    const uint32_t *range = bsearch(&code, CLASSES, ROWS(CLASSES), sizeof *CLASSES, by_range);
    return range ? (int)range[2] : 0;
}

/* Decomposes a character fully. Returns the number of parts. */
static int decompose(uint32_t code, uint32_t parts[MOST_PARTS]) {
    uint32_t syllable = code - SYLLABLES;
    if (code >= SYLLABLES && syllable < SYLLABLE_COUNT) {
        parts[0] = LEADING + syllable / PAIRS;
        parts[1] = VOWELS + syllable % PAIRS / TRAILING_COUNT;
        parts[2] = TRAILING + syllable % TRAILING_COUNT;
        return parts[2] == TRAILING ? 2 : 3;
    }
    int n = 0;
    uint32_t tail[MOST_PARTS];
    const uint32_t *row;
    while (n < MOST_PARTS - 1 &&
           (row = bsearch(&code, DECOMPOSITIONS, ROWS(DECOMPOSITIONS), sizeof *DECOMPOSITIONS, by_code)) != NULL) {
        if (row[2]) tail[n++] = row[2];
        code = row[1];
    }
    parts[0] = code;
    for (int i = 0; i < n; i++) parts[1 + i] = tail[n - 1 - i];
    return n + 1;
}

/* Returns the character that two compose into, 0: none. */
static uint32_t compose(uint32_t a, uint32_t b) {
    if (a - LEADING < LEADING_COUNT && b - VOWELS < VOWEL_COUNT)
        return SYLLABLES + ((a - LEADING) * VOWEL_COUNT + (b - VOWELS)) * TRAILING_COUNT;
    if (a - SYLLABLES < SYLLABLE_COUNT && (a - SYLLABLES) % TRAILING_COUNT == 0 && b > TRAILING &&
        b - TRAILING < TRAILING_COUNT)
        return a + (b - TRAILING);
    for (size_t i = 0; i < ROWS(DECOMPOSITIONS); i++) {
        const uint32_t *row = DECOMPOSITIONS[i];
        if (row[1] == a && row[2] == b && !bsearch(row, EXCLUDED, ROWS(EXCLUDED), sizeof *EXCLUDED, by_code))
            return row[0];
    }
    return 0;
}

/* --- a name, part by part ----------------------------------------------------------------------------------------- */

/* The parts in the order of the name. */
typedef struct part_cursor {
    const char *at; /* after the character that parts were made of */
    uint32_t parts[MOST_PARTS];
    int count, next;
} part_cursor;

/* Returns 0 at the end. A byte that is not UTF-8 is U+DC00 + byte, as text_utf8 takes it. */
static uint32_t next_part(part_cursor *c) {
    if (c->next == c->count) {
        int n = utf8_length(c->at);
        uint32_t code = n ? utf8_code(c->at, n) : *c->at ? 0xDC00u + (unsigned char)*c->at : 0;
        c->at += n ? n : *c->at != 0;
        c->count = decompose(code, c->parts);
        c->next = 0;
    }
    return c->parts[c->next++];
}

/* The parts in canonical order: of parts that combine, a run without any other, those of lower classes come first.
   The run is read once for each of its classes, so that it may have any length. */
typedef struct code_reader {
    part_cursor at, run;
    int class; /* whose parts are given; 0: outside a run */
} code_reader;

/* The lowest class above `class` in the run; 0: none. */
static int class_above(part_cursor run, int class) {
    int found = NO_CLASS;
    for (int own; (own = class_of(next_part(&run))) != 0;)
        if (own > class && own < found) found = own;
    return found == NO_CLASS ? 0 : found;
}

static uint32_t next_code(code_reader *r) {
    for (;;) {
        part_cursor before = r->at;
        uint32_t code = next_part(&r->at);
        int own = class_of(code);
        if (own == r->class) return code;
        if (own && r->class) continue;
        if (own) r->run = before;
        r->class = class_above(r->run, r->class);
        r->at = r->class ? r->run : before;
    }
}

static code_reader reader_of(const char *s) {
    code_reader r = {.at = {.at = s}};
    return r;
}

/* --- comparing ---------------------------------------------------------------------------------------------------- */

int name_order(const char *a, const char *b) {
    size_t same = 0;
    while (a[same] == b[same] && a[same]) same++;
    const unsigned char x = (unsigned char)a[same], y = (unsigned char)b[same];
    if (x < 0x80 && y < 0x80) return (x > y) - (x < y); /* ASCII begins a new character in either */
    while (same && (unsigned char)a[same - 1] >= 0x80) same--;
    if (same) same--;
    code_reader left = reader_of(a + same), right = reader_of(b + same);
    for (;;) {
        uint32_t one = next_code(&left), other = next_code(&right);
        if (one != other) return one < other ? -1 : 1;
        if (!one) return 0;
    }
}

int name_order_spelled(const char *a, const char *b) {
    int order = name_order(a, b);
    return order ? order : strcmp(a, b);
}

int name_same(const char *a, const char *b) { return name_order(a, b) == 0; }

int order_names(const void *a, const void *b) {
    return name_order_spelled(*(const char *const *)a, *(const char *const *)b);
}

static const char *name_of_element(const void *array, size_t size, size_t i) {
    return *(const char *const *)(const void *)((const char *)array + i * size);
}

const void *name_find(const char *name, const void *array, size_t count, size_t size) {
    size_t from = 0, to = count;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (name_order(name_of_element(array, size, middle), name) < 0) from = middle + 1;
        else to = middle;
    }
    size_t other = SIZE_MAX;
    for (; from < count && name_same(name_of_element(array, size, from), name); from++) {
        if (strcmp(name_of_element(array, size, from), name) == 0) return (const char *)array + from * size;
        if (other == SIZE_MAX) other = from;
    }
    return other == SIZE_MAX ? NULL : (const char *)array + other * size;
}

int name_has_forms(const char *name) {
    while (*name && (unsigned char)*name < 0x80) name++;
    return *name != 0;
}

/* Writes a character as text_utf8 does. Returns its length. */
static size_t put_utf8(uint32_t code, unsigned char out[4]) {
    if (code < 0x80 || (code >= 0xDC80 && code <= 0xDCFF)) return out[0] = (unsigned char)(code & 0xFF), 1;
    size_t n = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (size_t i = n; i-- > 1; code >>= 6) out[i] = (unsigned char)(0x80 | (code & 0x3F));
    out[0] = (unsigned char)((0xF00 >> n & 0xF0) | code);
    return n;
}

uint64_t name_hash(uint64_t hash, const char *name) {
    unsigned char bytes[4];
    if (!name_has_forms(name)) return hash_bytes(hash, name, strlen(name));
    code_reader r = reader_of(name);
    for (uint32_t code; (code = next_code(&r)) != 0;) hash = hash_bytes(hash, bytes, put_utf8(code, bytes));
    return hash;
}

/* --- forms -------------------------------------------------------------------------------------------------------- */

void text_nfd(text *t, const char *s) {
    code_reader r = reader_of(s);
    if (!name_has_forms(s)) text_puts(t, s);
    else
        for (uint32_t code; (code = next_code(&r)) != 0;) text_utf8(t, code);
}

/* Writes a character that others combine with, and those that did not. */
static void put_composed(text *t, uint32_t starter, const text *rest) {
    if (starter) text_utf8(t, starter);
    text_join(t, rest);
}

/* A part combines with the last starter unless one of its own class, or a higher one, stands between them (D115 of the
   standard). */
void text_nfc(text *t, const char *s) {
    code_reader r = reader_of(s);
    uint32_t starter = 0;
    text rest = TEXT_INIT;
    int last = 0;
    if (!name_has_forms(s)) {
        text_puts(t, s);
        return;
    }
    for (uint32_t code; (code = next_code(&r)) != 0;) {
        int class = class_of(code);
        uint32_t both = starter && (!rest.len || (class && last < class)) ? compose(starter, code) : 0;
        if (both) {
            starter = both;
        } else if (class) {
            text_utf8(&rest, code);
            last = class;
        } else {
            put_composed(t, starter, &rest);
            text_clear(&rest);
            starter = code, last = 0;
        }
    }
    put_composed(t, starter, &rest);
    text_free(&rest);
}

char *name_decomposed(const char *name) {
    text t = TEXT_INIT;
    text_nfd(&t, name);
    if (text_failed(&t)) text_free(&t);
    return t.s;
}
