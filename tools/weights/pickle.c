#include "weights/pickle.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/* Every instruction takes at least one byte and makes a few entries at most, so the file's size bounds the memory.
   These limits apply in addition. A checkpoint with optimizer state makes a few hundred thousand entries. */
enum { MAX_OBJECTS = 1 << 22, CHUNK = 1 << 16 };
#define MAX_BYTES ((uint64_t)256 << 20)

enum { NO_VALUE, VALUE_NONE, VALUE_TRUE, VALUE_FALSE, VALUE_EMPTY_TUPLE, FIXED_VALUES };

typedef struct machine {
    pickle *p;
    const source *source;
    uint64_t begin, limit; /* offsets in the source */
    size_t at, loaded;     /* offsets in p->bytes */
    size_t value_cap, cell_cap, byte_cap;
    pickle_ref *stack;
    size_t height, stack_cap;
    size_t *marks;         /* heights of the stack */
    size_t mark_count, mark_cap;
    pickle_ref *memo;
    size_t memo_count, memo_cap, memoized;
    size_t op_at;          /* of the current instruction, for messages */
    const char *op_name;
    int done;
    text *why;
} machine;

typedef struct operand {
    uint64_t n;
    pickle_string s, s2;
} operand;

static int bad(machine *m, const char *what) {
    refuse(m->why, "pickle, byte %zu (%s): %s", m->op_at, m->op_name, what);
    return 0;
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

/* Makes sure that the next n bytes of the pickle are in memory. */
static int load(machine *m, uint64_t n) {
    uint64_t total = m->limit - m->begin;
    if (n <= m->loaded - m->at) return 1;
    if (n > total - m->at)
        return refuse(m->why, "pickle, byte %zu (%s): the pickle ends early; was the file downloaded completely?",
                      m->op_at, m->op_name);
    if (m->at + n > MAX_BYTES) return bad(m, "the pickle is longer than 256 MiB");
    size_t need = m->at + (size_t)n, want = need + CHUNK;
    if (want > total) want = (size_t)total;
    if (want > m->byte_cap) {
        size_t cap = want > 2 * m->byte_cap ? want : 2 * m->byte_cap;
        char *grown = realloc(m->p->bytes, cap);
        if (!grown) return text_no_memory(m->why);
        m->p->bytes = grown;
        m->byte_cap = cap;
    }
    if (!source_read(m->source, m->begin + m->loaded, m->p->bytes + m->loaded, want - m->loaded, m->why)) return 0;
    m->loaded = want;
    return 1;
}

static int take_number(machine *m, int bytes, uint64_t *n) {
    if (!load(m, (uint64_t)bytes)) return 0;
    *n = 0;
    for (int i = 0; i < bytes; i++) *n |= (uint64_t)(unsigned char)m->p->bytes[m->at++] << 8 * i;
    return 1;
}

static int take_string(machine *m, uint64_t len, pickle_string *s) {
    if (!load(m, len)) return 0;
    s->at = (uint32_t)m->at;
    s->len = (uint32_t)len;
    m->at += (size_t)len;
    return 1;
}

static int take_line(machine *m, pickle_string *s) {
    s->at = (uint32_t)m->at;
    do
        if (!load(m, 1)) return 0;
    while (m->p->bytes[m->at++] != '\n');
    s->len = (uint32_t)(m->at - 1 - s->at);
    return 1;
}

/* --- values ------------------------------------------------------------------------------------------------------- */

enum { MOST_ADDED = 16 }; /* the most values that one instruction adds, or that exist from the start */

/* Makes room for what the next instruction adds, so that add_value cannot fail. */
static int make_room(machine *m) {
    while (m->value_cap < m->p->value_count + MOST_ADDED)
        if (!mem_grow(&m->p->values, sizeof *m->p->values, &m->value_cap)) return text_no_memory(m->why);
    return 1;
}

static pickle_ref add_value(machine *m, pickle_kind kind) {
    pickle_value *v = &m->p->values[m->p->value_count];
    memset(v, 0, sizeof *v);
    v->kind = (unsigned char)kind;
    return (pickle_ref)m->p->value_count++;
}

static pickle_value *value(machine *m, pickle_ref ref) { return &m->p->values[ref]; }

static int add_item(machine *m, pickle_ref container, pickle_ref key, pickle_ref item) {
    pickle_value *v = value(m, container);
    if (!GROW(m->p->cells, m->p->cell_count, m->cell_cap)) return text_no_memory(m->why);
    uint32_t cell = (uint32_t)m->p->cell_count++;
    m->p->cells[cell] = (pickle_cell){key, item, 0};
    if (v->as.has.last) m->p->cells[v->as.has.last].next = cell;
    else v->as.has.first = cell;
    v->as.has.last = cell;
    v->count++;
    return 1;
}

static int push(machine *m, pickle_ref ref) {
    if (!GROW(m->stack, m->height, m->stack_cap)) return text_no_memory(m->why);
    m->stack[m->height++] = ref;
    return 1;
}

static size_t floor_of(const machine *m) { return m->mark_count ? m->marks[m->mark_count - 1] : 0; }

/* Checks that n values are on the stack above the last mark, and sets *first to the index of the lowest. They stay
   there. */
static int top(machine *m, size_t n, size_t *first) {
    *first = 0;
    if (m->height - floor_of(m) < n) return bad(m, "the stack is empty here");
    *first = m->height - n;
    return 1;
}

/* Removes the last mark and sets *first to the height of the stack at that mark. */
static int take_mark(machine *m, size_t *first) {
    *first = 0;
    if (!m->mark_count) return bad(m, "there is no mark on the stack");
    *first = m->marks[--m->mark_count];
    return 1;
}

/* --- instructions: each gets its operand and the `row` of its table entry ----------------------------------------- */

static int op_unsupported(machine *m, const operand *o, int what) {
    static const char *const reasons[] = {"an instruction of protocol 0 or 1, which is not supported",
                                          "extension codes are not supported",
                                          "buffers outside the pickle are not supported"};
    (void)o;
    return bad(m, reasons[what]);
}

static int op_proto(machine *m, const operand *o, int unused) {
    (void)unused;
    m->p->protocol = (int)o->n;
    return o->n <= 5 || bad(m, "protocols above 5 are not supported");
}

static int op_frame(machine *m, const operand *o, int unused) {
    (void)unused;
    return o->n <= m->limit - m->begin - m->at || bad(m, "the frame is longer than the file");
}

static int op_stop(machine *m, const operand *o, int unused) {
    (void)o, (void)unused;
    if (m->mark_count || m->height != 1) return bad(m, "the stack does not hold exactly one object at the end");
    m->p->root = m->stack[0];
    m->done = 1;
    return 1;
}

static int op_fixed(machine *m, const operand *o, int ref) {
    (void)o;
    return push(m, (pickle_ref)ref);
}

static int op_integer(machine *m, const operand *o, int bits) {
    pickle_ref ref = add_value(m, PICKLE_INT);
    value(m, ref)->as.integer = bits == 32 ? (int64_t)(int32_t)(uint32_t)o->n : (int64_t)o->n;
    return push(m, ref);
}

static int op_long(machine *m, const operand *o, int unused) {
    const unsigned char *p = (const unsigned char *)m->p->bytes + o->s.at;
    uint64_t n = 0;
    (void)unused;
    pickle_ref ref = add_value(m, o->s.len <= 8 ? PICKLE_INT : PICKLE_BIG);
    value(m, ref)->as.string[0] = o->s;
    if (o->s.len <= 8) {
        for (uint32_t i = 0; i < o->s.len; i++) n |= (uint64_t)p[i] << 8 * i;
        if (o->s.len && o->s.len < 8 && p[o->s.len - 1] & 0x80) n |= UINT64_MAX << 8 * o->s.len;
        value(m, ref)->as.integer = (int64_t)n;
    }
    return push(m, ref);
}

static int op_real(machine *m, const operand *o, int unused) {
    pickle_ref ref = add_value(m, PICKLE_REAL);
    uint64_t bits = 0;
    (void)unused;
    for (int i = 0; i < 8; i++) bits = bits << 8 | (o->n >> 8 * i & 255); /* the operand is big-endian */
    memcpy(&value(m, ref)->as.real, &bits, sizeof bits);
    return push(m, ref);
}

static int op_string(machine *m, const operand *o, int kind) {
    pickle_ref ref = add_value(m, (pickle_kind)kind);
    value(m, ref)->as.string[0] = o->s;
    return push(m, ref);
}

static int op_empty(machine *m, const operand *o, int kind) {
    (void)o;
    return push(m, add_value(m, (pickle_kind)kind));
}

static int op_mark(machine *m, const operand *o, int unused) {
    (void)o, (void)unused;
    if (!GROW(m->marks, m->mark_count, m->mark_cap)) return text_no_memory(m->why);
    m->marks[m->mark_count++] = m->height;
    return 1;
}

static int op_pop(machine *m, const operand *o, int unused) {
    (void)o, (void)unused;
    if (m->height == floor_of(m)) return m->mark_count ? take_mark(m, &m->height) : bad(m, "the stack is empty here");
    m->height--;
    return 1;
}

static int op_pop_mark(machine *m, const operand *o, int unused) {
    (void)o, (void)unused;
    return take_mark(m, &m->height);
}

static int op_dup(machine *m, const operand *o, int unused) {
    size_t first;
    (void)o, (void)unused;
    return top(m, 1, &first) && push(m, m->stack[first]);
}

/* Makes a container of the values above `first`. */
static int collect(machine *m, size_t first, pickle_kind kind) {
    pickle_ref ref = add_value(m, kind);
    if (kind == PICKLE_DICT && (m->height - first) % 2) return bad(m, "a key has no value");
    for (size_t i = first; i < m->height; i++) {
        pickle_ref key = kind == PICKLE_DICT ? m->stack[i++] : 0;
        if (!add_item(m, ref, key, m->stack[i])) return 0;
    }
    m->height = first;
    return push(m, ref);
}

static int op_tuple(machine *m, const operand *o, int count) {
    size_t first;
    (void)o;
    return top(m, (size_t)count, &first) && collect(m, first, PICKLE_TUPLE);
}

static int op_collect(machine *m, const operand *o, int kind) {
    size_t first;
    (void)o;
    return take_mark(m, &first) && collect(m, first, (pickle_kind)kind);
}

/* Moves the values above `first` into the container below them. */
static int fill(machine *m, size_t first, pickle_kind kind) {
    if (first == floor_of(m)) return bad(m, "the stack is empty here");
    pickle_ref ref = m->stack[first - 1];
    pickle_kind have = (pickle_kind)value(m, ref)->kind;
    if (have != kind && have != PICKLE_OBJECT) return bad(m, "this value cannot hold items");
    if (kind == PICKLE_DICT && (m->height - first) % 2) return bad(m, "a key has no value");
    for (size_t i = first; i < m->height; i++) {
        pickle_ref key = kind == PICKLE_DICT ? m->stack[i++] : 0;
        if (!add_item(m, ref, key, m->stack[i])) return 0;
    }
    m->height = first;
    return 1;
}

static int op_fill_one(machine *m, const operand *o, int kind) {
    size_t first;
    (void)o;
    return top(m, kind == PICKLE_DICT ? 2 : 1, &first) && fill(m, first, (pickle_kind)kind);
}

static int op_fill(machine *m, const operand *o, int kind) {
    size_t first;
    (void)o;
    return take_mark(m, &first) && fill(m, first, (pickle_kind)kind);
}

static pickle_ref add_global(machine *m, pickle_string module, pickle_string name) {
    pickle_ref ref = add_value(m, PICKLE_GLOBAL);
    value(m, ref)->as.string[0] = module;
    value(m, ref)->as.string[1] = name;
    return ref;
}

static int op_global(machine *m, const operand *o, int unused) {
    (void)unused;
    return push(m, add_global(m, o->s, o->s2));
}

static int op_stack_global(machine *m, const operand *o, int unused) {
    size_t first;
    (void)o, (void)unused;
    if (!top(m, 2, &first)) return 0;
    const pickle_value *module = value(m, m->stack[first]), *name = value(m, m->stack[first + 1]);
    if (module->kind != PICKLE_TEXT || name->kind != PICKLE_TEXT) return bad(m, "a class must be named by two strings");
    m->height = first;
    return push(m, add_global(m, module->as.string[0], name->as.string[0]));
}

/* Adds a list of pairs to a dict, as Python 2 writes the items of an OrderedDict. */
static int add_pairs(machine *m, pickle_ref dict, pickle_ref list) {
    if (!pickle_as(m->p, list, PICKLE_LIST)) return bad(m, "an OrderedDict is made from a list of pairs");
    for (uint32_t c = value(m, list)->as.has.first; c; c = m->p->cells[c].next) {
        pickle_ref pair = m->p->cells[c].value, key = pickle_item(m->p, pair, 0), item = pickle_item(m->p, pair, 1);
        if (!key || !item) return bad(m, "an OrderedDict is made from a list of pairs");
        if (!add_item(m, dict, key, item)) return 0;
    }
    return 1;
}

/* Records the call callable(*args) instead of executing it. */
static int make_object(machine *m, pickle_ref callable, pickle_ref args) {
    pickle_kind kind = (pickle_kind)value(m, callable)->kind;
    uint32_t count = value(m, args)->count;
    if (kind != PICKLE_GLOBAL && kind != PICKLE_OBJECT && kind != PICKLE_ID)
        return bad(m, "the object called is not a class");
    if (value(m, args)->kind != PICKLE_TUPLE) return bad(m, "arguments must be a tuple");
    if (pickle_is_global(m->p, callable, "collections", "OrderedDict") && count <= 1) {
        pickle_ref dict = add_value(m, PICKLE_DICT);
        return (count == 0 || add_pairs(m, dict, pickle_item(m->p, args, 0))) && push(m, dict);
    }
    pickle_ref ref = add_value(m, PICKLE_OBJECT);
    value(m, ref)->as.has.callable = callable;
    value(m, ref)->as.has.args = args;
    return push(m, ref);
}

/* The stack holds the callable and its arguments; with count 3 also keyword arguments, which are ignored. */
static int op_call(machine *m, const operand *o, int count) {
    size_t first;
    (void)o;
    if (!top(m, (size_t)count, &first)) return 0;
    m->height = first;
    return make_object(m, m->stack[first], m->stack[first + 1]);
}

/* Handles old-style classes: the instruction names the class, or it is the lowest value above the mark. */
static int op_instance(machine *m, const operand *o, int named) {
    size_t first;
    if (!take_mark(m, &first)) return 0;
    pickle_ref callable = named ? add_global(m, o->s, o->s2) : 0;
    if (!named && first == m->height) return bad(m, "the stack is empty here");
    if (!named) callable = m->stack[first];
    if (!collect(m, first + (named ? 0 : 1), PICKLE_TUPLE)) return 0;
    pickle_ref args = m->stack[--m->height];
    m->height = first;
    return make_object(m, callable, args);
}

static int op_build(machine *m, const operand *o, int unused) {
    size_t first;
    (void)o, (void)unused;
    if (!top(m, 2, &first)) return 0;
    pickle_value *v = value(m, m->stack[first]);
    int holds = v->kind == PICKLE_OBJECT || v->kind == PICKLE_DICT || v->kind == PICKLE_LIST || v->kind == PICKLE_SET;
    if (!holds) return bad(m, "this value cannot have a state");
    v->as.has.state = m->stack[first + 1];
    m->height--;
    return 1;
}

static int op_id(machine *m, const operand *o, int unused) {
    size_t first;
    (void)o, (void)unused;
    if (!top(m, 1, &first)) return 0;
    pickle_ref ref = add_value(m, PICKLE_ID);
    value(m, ref)->as.has.args = m->stack[first];
    m->stack[first] = ref;
    return 1;
}

static int op_id_line(machine *m, const operand *o, int kind) { return op_string(m, o, kind) && op_id(m, o, 0); }

static int remember(machine *m, uint64_t index) {
    size_t first;
    if (!top(m, 1, &first)) return 0;
    if (index >= m->at) return bad(m, "a memo index that is larger than the pickle so far");
    while (m->memo_count <= index) {
        if (!GROW(m->memo, m->memo_count, m->memo_cap)) return text_no_memory(m->why);
        m->memo[m->memo_count++] = NO_VALUE;
    }
    m->memoized += m->memo[index] == NO_VALUE;
    m->memo[index] = m->stack[first];
    return 1;
}

static int op_put(machine *m, const operand *o, int unused) {
    (void)unused;
    return remember(m, o->n);
}

static int op_memoize(machine *m, const operand *o, int unused) {
    (void)o, (void)unused;
    return remember(m, m->memoized);
}

static int op_get(machine *m, const operand *o, int unused) {
    (void)unused;
    if (o->n >= m->memo_count || m->memo[o->n] == NO_VALUE) return bad(m, "the memo has no such entry");
    return push(m, m->memo[o->n]);
}

/* --- the instructions as a table ---------------------------------------------------------------------------------- */

typedef enum operand_kind {
    NOTHING, NUMBER1, NUMBER2, NUMBER4, NUMBER8,
    STRING1, STRING4, STRING8, /* preceded by their length in this many bytes */
    LINE, LINES                /* one line; two lines */
} operand_kind;

typedef struct instruction {
    const char *name;
    operand_kind takes;
    int (*run)(machine *m, const operand *o, int row);
    int row;
} instruction;

static const instruction INSTRUCTIONS[256] = {
    [0x80] = {"PROTO", NUMBER1, op_proto, 0},
    [0x95] = {"FRAME", NUMBER8, op_frame, 0},
    ['.'] = {"STOP", NOTHING, op_stop, 0},

    ['N'] = {"NONE", NOTHING, op_fixed, VALUE_NONE},
    [0x88] = {"NEWTRUE", NOTHING, op_fixed, VALUE_TRUE},
    [0x89] = {"NEWFALSE", NOTHING, op_fixed, VALUE_FALSE},
    [')'] = {"EMPTY_TUPLE", NOTHING, op_fixed, VALUE_EMPTY_TUPLE},
    ['J'] = {"BININT", NUMBER4, op_integer, 32},
    ['K'] = {"BININT1", NUMBER1, op_integer, 8},
    ['M'] = {"BININT2", NUMBER2, op_integer, 16},
    [0x8a] = {"LONG1", STRING1, op_long, 0},
    [0x8b] = {"LONG4", STRING4, op_long, 0},
    ['G'] = {"BINFLOAT", NUMBER8, op_real, 0},

    ['U'] = {"SHORT_BINSTRING", STRING1, op_string, PICKLE_TEXT}, /* Python 2's str */
    ['T'] = {"BINSTRING", STRING4, op_string, PICKLE_TEXT},
    [0x8c] = {"SHORT_BINUNICODE", STRING1, op_string, PICKLE_TEXT},
    ['X'] = {"BINUNICODE", STRING4, op_string, PICKLE_TEXT},
    [0x8d] = {"BINUNICODE8", STRING8, op_string, PICKLE_TEXT},
    ['C'] = {"SHORT_BINBYTES", STRING1, op_string, PICKLE_BYTES},
    ['B'] = {"BINBYTES", STRING4, op_string, PICKLE_BYTES},
    [0x8e] = {"BINBYTES8", STRING8, op_string, PICKLE_BYTES},
    [0x96] = {"BYTEARRAY8", STRING8, op_string, PICKLE_BYTES},

    ['('] = {"MARK", NOTHING, op_mark, 0},
    ['0'] = {"POP", NOTHING, op_pop, 0},
    ['1'] = {"POP_MARK", NOTHING, op_pop_mark, 0},
    ['2'] = {"DUP", NOTHING, op_dup, 0},

    [0x85] = {"TUPLE1", NOTHING, op_tuple, 1},
    [0x86] = {"TUPLE2", NOTHING, op_tuple, 2},
    [0x87] = {"TUPLE3", NOTHING, op_tuple, 3},
    ['t'] = {"TUPLE", NOTHING, op_collect, PICKLE_TUPLE},
    ['l'] = {"LIST", NOTHING, op_collect, PICKLE_LIST},
    ['d'] = {"DICT", NOTHING, op_collect, PICKLE_DICT},
    [0x91] = {"FROZENSET", NOTHING, op_collect, PICKLE_SET},
    [']'] = {"EMPTY_LIST", NOTHING, op_empty, PICKLE_LIST},
    ['}'] = {"EMPTY_DICT", NOTHING, op_empty, PICKLE_DICT},
    [0x8f] = {"EMPTY_SET", NOTHING, op_empty, PICKLE_SET},
    ['a'] = {"APPEND", NOTHING, op_fill_one, PICKLE_LIST},
    ['e'] = {"APPENDS", NOTHING, op_fill, PICKLE_LIST},
    ['s'] = {"SETITEM", NOTHING, op_fill_one, PICKLE_DICT},
    ['u'] = {"SETITEMS", NOTHING, op_fill, PICKLE_DICT},
    [0x90] = {"ADDITEMS", NOTHING, op_fill, PICKLE_SET},

    ['c'] = {"GLOBAL", LINES, op_global, 0},
    [0x93] = {"STACK_GLOBAL", NOTHING, op_stack_global, 0},
    ['R'] = {"REDUCE", NOTHING, op_call, 2},
    [0x81] = {"NEWOBJ", NOTHING, op_call, 2},
    [0x92] = {"NEWOBJ_EX", NOTHING, op_call, 3},
    ['i'] = {"INST", LINES, op_instance, 1},
    ['o'] = {"OBJ", NOTHING, op_instance, 0},
    ['b'] = {"BUILD", NOTHING, op_build, 0},
    ['Q'] = {"BINPERSID", NOTHING, op_id, 0},
    ['P'] = {"PERSID", LINE, op_id_line, PICKLE_TEXT},

    ['q'] = {"BINPUT", NUMBER1, op_put, 0},
    ['r'] = {"LONG_BINPUT", NUMBER4, op_put, 0},
    [0x94] = {"MEMOIZE", NOTHING, op_memoize, 0},
    ['h'] = {"BINGET", NUMBER1, op_get, 0},
    ['j'] = {"LONG_BINGET", NUMBER4, op_get, 0},

    ['I'] = {"INT", LINE, op_unsupported, 0},
    ['L'] = {"LONG", LINE, op_unsupported, 0},
    ['F'] = {"FLOAT", LINE, op_unsupported, 0},
    ['S'] = {"STRING", LINE, op_unsupported, 0},
    ['V'] = {"UNICODE", LINE, op_unsupported, 0},
    ['p'] = {"PUT", LINE, op_unsupported, 0},
    ['g'] = {"GET", LINE, op_unsupported, 0},
    [0x82] = {"EXT1", NUMBER1, op_unsupported, 1},
    [0x83] = {"EXT2", NUMBER2, op_unsupported, 1},
    [0x84] = {"EXT4", NUMBER4, op_unsupported, 1},
    [0x97] = {"NEXT_BUFFER", NOTHING, op_unsupported, 2},
    [0x98] = {"READONLY_BUFFER", NOTHING, op_unsupported, 2},
};

static int take_operand(machine *m, operand_kind kind, operand *o) {
    static const int sizes[] = {0, 1, 2, 4, 8, 1, 4, 8, 0, 0}; /* of the number, or of the length before a string */
    memset(o, 0, sizeof *o);
    if (kind == LINE || kind == LINES) return take_line(m, &o->s) && (kind == LINE || take_line(m, &o->s2));
    if (!take_number(m, sizes[kind], &o->n)) return 0;
    return kind < STRING1 || take_string(m, o->n, &o->s);
}

static int step(machine *m) {
    m->op_at = m->at;
    m->op_name = "instruction";
    if (!load(m, 1)) return 0;
    int code = (unsigned char)m->p->bytes[m->at++];
    const instruction *i = &INSTRUCTIONS[code];
    operand o;
    if (!i->run)
        return refuse(m->why, "pickle, byte %zu: 0x%02x is not an instruction; the file is damaged or not a pickle",
                      m->op_at, (unsigned)code);
    m->op_name = i->name;
    if (m->p->value_count + m->p->cell_count + m->height + m->mark_count + m->memo_count > MAX_OBJECTS)
        return bad(m, "more than four million objects");
    return make_room(m) && take_operand(m, i->takes, &o) && i->run(m, &o, i->row);
}

int pickle_read(pickle *p, const source *s, uint64_t at, uint64_t end, text *why) {
    static const unsigned char fixed[FIXED_VALUES] = {PICKLE_NONE, PICKLE_NONE, PICKLE_BOOL, PICKLE_BOOL, PICKLE_TUPLE};
    machine m;
    memset(p, 0, sizeof *p);
    memset(&m, 0, sizeof m);
    m.p = p;
    m.source = s;
    m.begin = at < s->size ? at : s->size;
    m.limit = end < s->size ? end : s->size;
    if (m.limit < m.begin) m.limit = m.begin;
    m.why = why;
    if (!make_room(&m) || !GROW(p->cells, p->cell_count, m.cell_cap)) {
        pickle_close(p);
        return text_no_memory(why);
    }
    for (int i = 0; i < FIXED_VALUES; i++) add_value(&m, (pickle_kind)fixed[i]);
    value(&m, VALUE_TRUE)->as.integer = 1;
    p->cell_count = 1; /* 0 means "no cell" */
    memset(p->cells, 0, sizeof *p->cells);
    while (!m.done && step(&m)) {}
    p->end = m.begin + m.at;
    free(m.stack);
    free(m.marks);
    free(m.memo);
    if (!m.done) pickle_close(p);
    return m.done;
}

void pickle_close(pickle *p) {
    free(p->bytes);
    free(p->values);
    free(p->cells);
    memset(p, 0, sizeof *p);
}

/* --- looking at values -------------------------------------------------------------------------------------------- */

const pickle_value *pickle_as(const pickle *p, pickle_ref ref, pickle_kind kind) {
    return ref && p->values[ref].kind == kind ? &p->values[ref] : NULL;
}

static int string_is(const pickle *p, pickle_string have, const char *s) {
    return strlen(s) == have.len && memcmp(p->bytes + have.at, s, have.len) == 0;
}

int pickle_is_text(const pickle *p, pickle_ref ref, const char *s) {
    const pickle_value *v = pickle_as(p, ref, PICKLE_TEXT);
    return v && string_is(p, v->as.string[0], s);
}

int pickle_is_global(const pickle *p, pickle_ref ref, const char *module, const char *name) {
    const pickle_value *v = pickle_as(p, ref, PICKLE_GLOBAL);
    return v && string_is(p, v->as.string[0], module) && string_is(p, v->as.string[1], name);
}

static int has_items(const pickle_value *v) {
    return v->kind == PICKLE_TUPLE || v->kind == PICKLE_LIST || v->kind == PICKLE_SET || v->kind == PICKLE_DICT ||
           v->kind == PICKLE_OBJECT;
}

pickle_ref pickle_item(const pickle *p, pickle_ref ref, uint32_t i) {
    const pickle_value *v = &p->values[ref];
    if (v->kind != PICKLE_TUPLE && v->kind != PICKLE_LIST) return 0;
    uint32_t cell = i < v->count ? v->as.has.first : 0;
    while (cell && i--) cell = p->cells[cell].next;
    return cell ? p->cells[cell].value : 0;
}

pickle_ref pickle_key(const pickle *p, pickle_ref ref, const char *key) {
    if (!ref || !has_items(&p->values[ref])) return 0;
    for (uint32_t cell = p->values[ref].as.has.first; cell; cell = p->cells[cell].next)
        if (p->cells[cell].key && pickle_is_text(p, p->cells[cell].key, key)) return p->cells[cell].value;
    return 0;
}

static void add_global_name(const pickle *p, const pickle_value *v, text *out) {
    text_add(out, p->bytes + v->as.string[0].at, v->as.string[0].len < 100 ? v->as.string[0].len : 100);
    text_putc(out, '.');
    text_add(out, p->bytes + v->as.string[1].at, v->as.string[1].len < 100 ? v->as.string[1].len : 100);
}

void pickle_describe(const pickle *p, pickle_ref ref, text *out) {
    static const char *const names[] = {"None", "a bool", "an integer", "an integer", "a float", "a string", "bytes",
                                        "a tuple", "a list", "a set", "a dict", "", "", "an object outside the pickle"};
    const pickle_value *v = &p->values[ref];
    text_puts(out, names[v->kind]);
    if (v->kind == PICKLE_GLOBAL) {
        text_puts(out, "the class ");
        add_global_name(p, v, out);
    }
    for (int depth = 0; v->kind == PICKLE_OBJECT && depth < 8; depth++) {
        pickle_ref callable = v->as.has.callable;
        int wraps = pickle_is_global(p, callable, "copyreg", "_reconstructor") ||
                    pickle_is_global(p, callable, "copy_reg", "_reconstructor");
        if (wraps) callable = pickle_item(p, v->as.has.args, 0); /* the class is the first argument */
        const pickle_value *id = pickle_as(p, callable, PICKLE_ID);
        if (id) callable = pickle_item(p, id->as.has.args, 1); /* ('module', class, file, source) */
        v = &p->values[callable];
        if (v->kind == PICKLE_GLOBAL) {
            text_puts(out, "an object of class ");
            add_global_name(p, v, out);
        } else if (v->kind != PICKLE_OBJECT) {
            text_puts(out, "an object");
        }
    }
}
