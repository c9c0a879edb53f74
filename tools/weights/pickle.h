/* Reads Python's pickles, protocols 2 to 5, as data, with a stack machine and a memo that import nothing and call
   nothing. A class becomes its name, and a call becomes a record of the callable and its arguments. Only
   collections.OrderedDict becomes what it would be in Python: a dict. */
#ifndef REID_TOOLS_PICKLE_H
#define REID_TOOLS_PICKLE_H

#include "base/source.h"

typedef uint32_t pickle_ref; /* index of a value; 0: none */

typedef enum pickle_kind {
    PICKLE_NONE,
    PICKLE_BOOL,   /* integer */
    PICKLE_INT,    /* integer */
    PICKLE_BIG,    /* string: two's complement, little-endian, more than 8 bytes */
    PICKLE_REAL,   /* real */
    PICKLE_TEXT,   /* string */
    PICKLE_BYTES,  /* string */
    PICKLE_TUPLE,  /* items */
    PICKLE_LIST,   /* items */
    PICKLE_SET,    /* items */
    PICKLE_DICT,   /* items with keys; state: the argument of __setstate__ */
    PICKLE_GLOBAL, /* string: module, string2: name */
    PICKLE_OBJECT, /* callable, args; items and state if they were added afterwards */
    PICKLE_ID      /* args: the file's id of an object that is stored outside the pickle */
} pickle_kind;

typedef struct pickle_string {
    uint32_t at, len; /* in pickle.bytes; not 0-terminated */
} pickle_string;

typedef struct pickle_value {
    unsigned char kind;
    uint32_t count; /* items */
    union {
        int64_t integer;
        double real;
        pickle_string string[2];
        struct {
            uint32_t first, last; /* cells; 0: none */
            pickle_ref callable, args, state;
        } has;
    } as;
} pickle_value;

/* An item of a container; key is 0 except in dicts. */
typedef struct pickle_cell {
    pickle_ref key, value;
    uint32_t next;
} pickle_cell;

typedef struct pickle {
    char *bytes; /* the pickle as far as it was read */
    pickle_value *values;
    pickle_cell *cells;
    size_t value_count, cell_count;
    int protocol;
    pickle_ref root;
    uint64_t end; /* offset in the source of the first byte after it */
} pickle;

/* Reads one pickle that starts at `at` and ends before `end`. Returns 0 with the reason in why, and *p zeroed. */
int pickle_read(pickle *p, const source *s, uint64_t at, uint64_t end, text *why);
/* Zeroed ones are allowed. */
void pickle_close(pickle *p);

static inline const pickle_value *pickle_at(const pickle *p, pickle_ref ref) { return &p->values[ref]; }
/* NULL if the value is of another kind. */
const pickle_value *pickle_as(const pickle *p, pickle_ref ref, pickle_kind kind);
int pickle_is_text(const pickle *p, pickle_ref ref, const char *s);
int pickle_is_global(const pickle *p, pickle_ref ref, const char *module, const char *name);
/* Item i of a tuple or list; 0 if i is past the end. */
pickle_ref pickle_item(const pickle *p, pickle_ref ref, uint32_t i);
/* The value of a text key in a dict, or in an object to which items were added; 0 if there is none. */
pickle_ref pickle_key(const pickle *p, pickle_ref ref, const char *key);
/* "a dict", "collections.deque", "an object of class a.B": for messages. */
void pickle_describe(const pickle *p, pickle_ref ref, text *out);

#endif
