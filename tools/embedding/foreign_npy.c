/* The format is that of NumPy's documentation, "numpy.lib.format": a signature, a version, a length, and the literal of
   a Python dictionary with the keys descr, fortran_order and shape. */
#include "embedding/foreign_npy.h"

#include "base/crc32.h"
#include "base/memory.h"
#include "base/say.h"
#include "weights/zip.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST_HEADER = 1 << 16, MOST_SIDES = 32 };

#define AS_FLOATS "save it in Python: numpy.save(\"rows.npy\", numpy.asarray(rows, \"float32\"))"

/* --- the dictionary ----------------------------------------------------------------------------------------------- */

typedef struct header {
    char type[32]; /* descr: byte order, kind, bytes; "" for a structured array */
    int by_column;
    uint64_t side[MOST_SIDES];
    int sides;
    int has_type, has_order, has_shape;
} header;

static const char *after_blanks(const char *at) { return at + strspn(at, " \n"); }

/* Reads 'text' or "text" into out. Returns where it ends; NULL if there is none or it is too long. */
static const char *read_text(const char *at, char *out, size_t size) {
    char quote = *at++;
    const char *end = quote == '\'' || quote == '"' ? strchr(at, quote) : NULL;
    if (!end || (size_t)(end - at) >= size) return NULL;
    memcpy(out, at, (size_t)(end - at));
    out[end - at] = 0;
    return end + 1;
}

/* Reads (2, 3), (5,) or (). */
static const char *read_shape(const char *at, header *h) {
    if (*at++ != '(') return NULL;
    for (at = after_blanks(at); *at != ')'; at = after_blanks(at)) {
        char digits[24];
        size_t n = strspn(at, "0123456789");
        if (!n || n >= sizeof digits || h->sides == MOST_SIDES) return NULL;
        memcpy(digits, at, n);
        digits[n] = 0;
        size_t side;
        if (!parse_size(digits, SIZE_MAX, &side)) return NULL;
        h->side[h->sides++] = side;
        at = after_blanks(at + n);
        if (*at == ',') at++;
        else if (*at != ')') return NULL;
    }
    return at + 1;
}

/* Reads the value of a key; each key may be given once. Returns where the value ends; NULL if it is invalid. */
static const char *read_value(const char *at, const char *key, header *h) {
    if (strcmp(key, "shape") == 0 && !h->has_shape++) return read_shape(at, h);
    if (strcmp(key, "fortran_order") == 0 && !h->has_order++) {
        h->by_column = strncmp(at, "True", 4) == 0;
        return h->by_column ? at + 4 : strncmp(at, "False", 5) == 0 ? at + 5 : NULL;
    }
    if (strcmp(key, "descr") != 0 || h->has_type++) return NULL;
    if (*at != '[') return read_text(at, h->type, sizeof h->type);
    int open = 0; /* a list of fields, which contains further lists and tuples */
    do open += *at == '[' ? 1 : *at == ']' ? -1 : 0;
    while (*at++ && open);
    return open ? NULL : at;
}

static int read_header(const char *at, header *h, text *why) {
    memset(h, 0, sizeof *h);
    at = after_blanks(at);
    const char *rest = *at == '{' ? after_blanks(at + 1) : NULL;
    while (rest && *rest != '}') {
        char key[32];
        rest = read_text(rest, key, sizeof key);
        if (rest) rest = after_blanks(rest);
        rest = rest && *rest == ':' ? read_value(after_blanks(rest + 1), key, h) : NULL;
        if (rest) rest = after_blanks(rest);
        if (rest && *rest == ',') rest = after_blanks(rest + 1);
        else if (rest && *rest != '}') rest = NULL;
    }
    if (rest && !*after_blanks(rest + 1) && h->has_type && h->has_order && h->has_shape) return 1;
    return refuse(why, "is a NumPy array with a header that cannot be read; " AS_FLOATS);
}

/* --- the array ---------------------------------------------------------------------------------------------------- */

static const char *kind_of(const char *type) {
    static const struct {
        char letter;
        const char *what;
    } kinds[] = {
        {'i', "integers"}, {'u', "integers"}, {'b', "booleans"}, {'c', "complex numbers"}, {'O', "Python objects"},
        {'U', "strings"},  {'S', "strings"},  {'M', "times"},    {'m', "durations"},       {'f', "floats"},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds && type[0]; i++)
        if (type[1] == kinds[i].letter) return kinds[i].what;
    return type[0] ? "another type" : "several fields";
}

static int take_type(foreign_rows *f, const header *h, text *why) {
    const char *size = h->type[0] ? h->type + 1 : "";
    int known = h->type[0] == '<' || h->type[0] == '>';
    f->big_endian = h->type[0] == '>';
    if (known && strcmp(size, "f2") == 0) f->type = NUMBER_F16;
    else if (known && strcmp(size, "f4") == 0) f->type = NUMBER_F32;
    else if (known && strcmp(size, "f8") == 0) f->type = NUMBER_F64;
    else
        return refuse(why, "is a NumPy array of %s (%s); expected float16, float32 or float64: " AS_FLOATS,
                      kind_of(h->type), h->type[0] ? shown(h->type) : "a structured type");
    return 1;
}

static int take_shape(foreign_rows *f, const header *h, text *why) {
    if (h->sides != 2) {
        text sides = TEXT_INIT;
        for (int i = 0; i < h->sides; i++)
            text_printf(&sides, "%s%llu", i ? " x " : "", (unsigned long long)h->side[i]);
        refuse(why, "is a NumPy array of %d dimension%s%s%s; expected two, a row for each image", h->sides,
               plural((size_t)h->sides), sides.len ? ": " : "", sides.len ? sides.s : "");
        text_free(&sides);
        return 0;
    }
    f->rows = (size_t)h->side[0], f->columns = (size_t)h->side[1];
    return 1;
}

/* Reads the array in the bytes from `at` to `end` of the file. */
static int read_array(foreign_rows *f, uint64_t at, uint64_t end, text *why) {
    unsigned char start[12];
    header h;
    f->what = "a NumPy array";
    if (end - at < 10) return refuse(why, "is %s whose header is cut off; was it written completely?", f->what);
    size_t have = end - at < sizeof start ? (size_t)(end - at) : sizeof start;
    if (!source_read(&f->from, at, start, have, why)) return 0;
    if (start[6] < 1 || start[6] > 3) return refuse(why, "is %s of version %d; expected 1 to 3", f->what, start[6]);
    uint64_t before = start[6] == 1 ? 10 : 12, size = start[6] == 1 ? le16(start + 8)
                                                      : have == 12  ? le32(start + 8)
                                                                    : 0;
    if (size > LONGEST_HEADER || end - at < before || size > end - at - before)
        return refuse(why, "is %s whose header is cut off or too long; was it written completely?", f->what);
    char *literal = mem_zeroed((size_t)size + 1, 1);
    if (!literal) return text_no_memory(why);
    int good = source_read(&f->from, at + before, literal, (size_t)size, why) && read_header(literal, &h, why) &&
               take_type(f, &h, why) && take_shape(f, &h, why);
    free(literal);
    return good && foreign_rows_shape(f, at + before + size, end, h.by_column, why);
}

int foreign_npy_read(foreign_rows *f, text *why) { return read_array(f, 0, f->from.size, why); }

/* --- .npz --------------------------------------------------------------------------------------------------------- */

static int is_array(const zip_member *m) { return text_ends_with(m->name, ".npy"); }

int foreign_npz_is(const foreign_rows *f) {
    zip z;
    text why = TEXT_INIT;
    int found = 0;
    if (zip_open(&z, &f->from, &why)) {
        for (size_t i = 0; i < z.count; i++) found |= is_array(&z.members[i]);
        zip_close(&z);
    }
    text_free(&why);
    return found;
}

static int refuse_several(const zip *z, text *why) {
    text names = TEXT_INIT;
    for (size_t i = 0; i < z->count && i < 8; i++)
        text_printf(&names, "%s%.*s", i ? ", " : "",
                    is_array(&z->members[i]) ? (int)strlen(z->members[i].name) - 4 : 99, z->members[i].name);
    refuse(why,
           "is an .npz file with %zu members (%s%s); expected one array: save only that of the rows, with numpy.save",
           z->count, names.s ? shown(names.s) : "", z->count > 8 ? ", ..." : "");
    text_free(&names);
    return 0;
}

static int is_undamaged(const foreign_rows *f, const zip_member *m, text *why) {
    unsigned char block[1 << 14];
    uint32_t crc = 0;
    for (uint64_t done = 0; done < m->size;) {
        size_t n = m->size - done < sizeof block ? (size_t)(m->size - done) : sizeof block;
        if (!source_read(&f->from, m->at + done, block, n, why)) return 0;
        crc = crc32_more(crc, block, n);
        done += n;
    }
    return crc == m->crc || refuse(why, "is an .npz file with a wrong checksum: it is damaged");
}

int foreign_npz_read(foreign_rows *f, text *why) {
    zip z;
    if (!zip_open(&z, &f->from, why)) return 0;
    zip_member *m = z.members;
    int good;
    if (z.count != 1) good = refuse_several(&z, why);
    else if (m->method)
        good = refuse(why, "is a compressed .npz file; write it with numpy.savez, or its array with numpy.save");
    else
        good =
            zip_locate(&z, &f->from, m, why) && is_undamaged(f, m, why) && read_array(f, m->at, m->at + m->size, why);
    zip_close(&z);
    return good;
}
