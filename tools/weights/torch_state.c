/* Interprets the symbolic values of a pickle as torch does: which are storages, which are tensors, and their names.
   Names of classes are compared, never imported. */
#include "weights/torch_state.h"

#include "base/memory.h"
#include "weights/stated.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_NESTING = 32, /* of dicts in dicts, or of modules in a pickled model */
    MAX_WRAPS = 8   /* of calls around a tensor, such as Parameter(...) */
};

/* --- storages ----------------------------------------------------------------------------------------------------- */

const dtype *torch_storage_type(const pickle *p, pickle_ref type, text *why) {
    static const char *const modules[] = {"torch", "torch.cuda", "torch.storage"};
    for (const dtype *d = DTYPES; d->bytes; d++)
        for (size_t i = 0; i < sizeof modules / sizeof *modules; i++)
            if (pickle_is_global(p, type, modules[i], d->storage)) return d;
    text name = TEXT_INIT;
    pickle_describe(p, type, &name);
    refuse(why, "a storage has an unknown type: %.200s", name.s);
    text_free(&name);
    return NULL;
}

/* ('storage', type, key, location, elements[, view]) */
static int is_storage_id(const pickle *p, pickle_ref ref) {
    const pickle_value *id = pickle_as(p, ref, PICKLE_ID);
    return id && pickle_as(p, id->as.has.args, PICKLE_TUPLE) &&
           pickle_is_text(p, pickle_item(p, id->as.has.args, 0), "storage");
}

static int add_storage(checkpoint *c, const pickle *p, pickle_ref args, text *why) {
    const pickle_value *key = pickle_as(p, pickle_item(p, args, 2), PICKLE_TEXT);
    const pickle_value *count = pickle_as(p, pickle_item(p, args, 4), PICKLE_INT);
    uint64_t bytes;
    if (!key || !count) return refuse(why, "a storage in the pickle has no key or no size");
    const char *name = p->bytes + key->as.string[0].at;
    size_t len = key->as.string[0].len;
    if (len > MAX_NAME || memchr(name, 0, len)) return refuse(why, "a storage in the pickle has an invalid key");
    const dtype *type = torch_storage_type(p, pickle_item(p, args, 1), why);
    if (!type) return 0;
    if (count->as.integer < 0 || !checked_mul((uint64_t)count->as.integer, (uint64_t)type->bytes, &bytes))
        return refuse(why, "storage \"%.*s\" has an invalid number of elements: %lld", (int)len, name,
                      (long long)count->as.integer);
    if (!GROW(c->storages, c->storage_count, c->storage_cap)) return text_no_memory(why);
    storage *s = &c->storages[c->storage_count];
    memset(s, 0, sizeof *s);
    s->key = mem_copy(name, len);
    if (!s->key) return text_no_memory(why);
    c->storage_count++;
    s->bytes = bytes;
    s->element = type->bytes;
    return 1;
}

static int by_key(const void *a, const void *b) { return strcmp(((const storage *)a)->key, ((const storage *)b)->key); }

int torch_storages(checkpoint *c, const pickle *p, text *why) {
    size_t kept = 0;
    for (size_t i = 0; i < p->value_count; i++)
        if (is_storage_id(p, (pickle_ref)i) && !add_storage(c, p, p->values[i].as.has.args, why)) return 0;
    if (c->storage_count) qsort(c->storages, c->storage_count, sizeof *c->storages, by_key);
    for (size_t i = 0; i < c->storage_count; i++) {
        storage *s = &c->storages[i];
        if (kept && by_key(s, s - (i - kept + 1)) == 0) { /* several tensors share it */
            int same = s->bytes == c->storages[kept - 1].bytes;
            if (!same) return refuse(why, "storage \"%.200s\" has two different sizes", s->key);
            free(s->key);
            s->key = NULL;
            continue;
        }
        storage one = *s;
        s->key = NULL;
        c->storages[kept++] = one;
    }
    c->storage_count = kept;
    return 1;
}

storage *torch_storage(checkpoint *c, const char *key, size_t len) {
    storage wanted = {0};
    char name[MAX_NAME + 1];
    if (len > MAX_NAME || memchr(key, 0, len) || !c->storage_count) return NULL;
    memcpy(name, key, len);
    name[len] = 0;
    wanted.key = name;
    return bsearch(&wanted, c->storages, c->storage_count, sizeof wanted, by_key);
}

/* --- tensors ------------------------------------------------------------------------------------------------------ */

/* What a call in the pickle means for a tensor: its arguments describe a view of a storage, or it wraps another
   call. */
typedef enum meaning {
    PLAIN,       /* storage, offset, size, stride, ... */
    WITH_DTYPE,  /* the same, with the dtype at [6] */
    FIRST,       /* the tensor is argument 0 */
    FUNCTION,    /* argument 0 is called with argument 2 */
    SOMEWHERE    /* the tensor is among the arguments or in the state */
} meaning;

static const struct {
    const char *module, *name;
    meaning what;
} CALLS[] = {
    {"torch._utils", "_rebuild_tensor_v2", PLAIN},
    {"torch._utils", "_rebuild_tensor", PLAIN},
    {"torch._utils", "_rebuild_tensor_v3", WITH_DTYPE},
    {"torch._utils", "_rebuild_parameter", FIRST},
    {"torch._utils", "_rebuild_parameter_with_state", FIRST},
    {"torch._tensor", "_rebuild_from_type_v2", FUNCTION},
    {"torch._tensor", "_rebuild_from_type", FUNCTION},
    {"torch.tensor", "_rebuild_from_type", FUNCTION},
    {"torch.nn.parameter", "Parameter", SOMEWHERE},
    {"torch.autograd.variable", "Variable", SOMEWHERE},
};

enum { ENTERED = 1, NO_MODEL = 2 };

typedef struct state {
    checkpoint *c;
    const pickle *p;
    known_tensor *known;
    size_t known_count;
    unsigned char *seen; /* for each value: ENTERED, NO_MODEL */
    text *why;
} state;

static int call_meaning(const pickle *p, pickle_ref callable) {
    for (size_t i = 0; i < sizeof CALLS / sizeof *CALLS; i++)
        if (pickle_is_global(p, callable, CALLS[i].module, CALLS[i].name)) return (int)CALLS[i].what;
    return -1;
}

/* Reads a tuple of integers >= 0, or torch.Size of one. */
static int read_sides(const pickle *p, pickle_ref ref, uint64_t *sides, int *count) {
    const pickle_value *v = pickle_as(p, ref, PICKLE_OBJECT);
    if (v && pickle_is_global(p, v->as.has.callable, "torch", "Size")) ref = pickle_item(p, v->as.has.args, 0);
    v = pickle_as(p, ref, PICKLE_TUPLE);
    if (!v || v->count > MAX_DIMS) return 0;
    *count = (int)v->count;
    int i = 0;
    for (uint32_t cell = v->as.has.first; cell; cell = p->cells[cell].next) {
        const pickle_value *side = pickle_as(p, p->cells[cell].value, PICKLE_INT);
        if (!side || side->as.integer < 0) return 0;
        sides[i++] = (uint64_t)side->as.integer;
    }
    return 1;
}

/* Reads a dtype such as torch.float32; NULL if it is unknown. */
static const dtype *read_dtype(const pickle *p, pickle_ref ref) {
    for (const dtype *d = DTYPES; d->bytes; d++)
        if (pickle_is_global(p, ref, "torch", d->torch)) return d;
    return NULL;
}

/* Finds the storage of a tensor and, in legacy streams, the part of it: (key, offset, elements). */
static int read_storage(state *st, pickle_ref ref, tensor *t, uint64_t *base) {
    const pickle *p = st->p;
    if (!is_storage_id(p, ref)) return refuse(st->why, "tensor \"%.200s\" has no storage", t->name);
    pickle_ref args = pickle_at(p, ref)->as.has.args;
    pickle_string key = pickle_at(p, pickle_item(p, args, 2))->as.string[0];
    const storage *s = torch_storage(st->c, p->bytes + key.at, key.len);
    t->type = torch_storage_type(p, pickle_item(p, args, 1), st->why);
    if (!s || !t->type) return refuse(st->why, "tensor \"%.200s\" has no storage", t->name);
    t->storage = (size_t)(s - st->c->storages);
    const pickle_value *view = pickle_as(p, pickle_item(p, args, 5), PICKLE_TUPLE);
    *base = 0;
    if (!view) return 1;
    const pickle_value *offset = pickle_as(p, pickle_item(p, pickle_item(p, args, 5), 1), PICKLE_INT);
    if (!offset || offset->as.integer < 0)
        return refuse(st->why, "tensor \"%.200s\" covers an invalid part of its storage", t->name);
    *base = (uint64_t)offset->as.integer;
    return 1;
}

static int read_view(state *st, pickle_ref args, int with_dtype, tensor *t) {
    const pickle *p = st->p;
    int strides;
    uint64_t base, elements = 1;
    if (!read_storage(st, pickle_item(p, args, 0), t, &base)) return 0;
    const pickle_value *offset = pickle_as(p, pickle_item(p, args, 1), PICKLE_INT);
    if (!offset || offset->as.integer < 0 || (uint64_t)offset->as.integer > UINT64_MAX - base)
        return refuse(st->why, "tensor \"%.200s\" has an invalid offset", t->name);
    t->offset = base + (uint64_t)offset->as.integer;
    if (!read_sides(p, pickle_item(p, args, 2), t->shape, &t->ndim) ||
        !read_sides(p, pickle_item(p, args, 3), t->stride, &strides) || strides != t->ndim)
        return refuse(st->why, "tensor \"%.200s\" has an invalid shape or stride (at most %d dimensions)", t->name,
                      MAX_DIMS);
    for (int i = 0; i < t->ndim; i++)
        if (!checked_mul(elements, t->shape[i], &elements))
            return refuse(st->why, "tensor \"%.200s\": its size overflows", t->name);
    t->count = elements;
    if (!with_dtype) return 1;
    const dtype *type = read_dtype(p, pickle_item(p, args, 6));
    if (!type) return refuse(st->why, "tensor \"%.200s\" has an unknown dtype", t->name);
    t->type = type;
    return 1;
}

static int by_id(const void *a, const void *b) {
    return strcmp(((const known_tensor *)a)->id, ((const known_tensor *)b)->id);
}

/* Finds a tensor outside the pickle, as in tar files; its id is a text or a number. */
static const known_tensor *find_known(const state *st, pickle_ref ref) {
    const pickle_value *id = pickle_as(st->p, ref, PICKLE_ID);
    char name[MAX_NAME + 1]; /* long enough: key_text of torch_file.c refuses longer ids */
    if (!id || !st->known_count) return NULL;
    const pickle_value *v = pickle_at(st->p, id->as.has.args);
    if (v->kind == PICKLE_TEXT && v->as.string[0].len <= MAX_NAME)
        snprintf(name, sizeof name, "%.*s", (int)v->as.string[0].len, st->p->bytes + v->as.string[0].at);
    else if (v->kind == PICKLE_INT) snprintf(name, sizeof name, "%lld", (long long)v->as.integer);
    else return NULL;
    known_tensor wanted;
    memset(&wanted, 0, sizeof wanted);
    wanted.id = name;
    if (!st->known_count) return NULL;
    return bsearch(&wanted, st->known, st->known_count, sizeof wanted, by_id);
}

static pickle_ref find_inside(const state *st, pickle_ref container);

/* Finds the call or the id that makes a tensor, inside what wraps it; 0 if ref is not a tensor. *args: of the call. */
static pickle_ref find_maker(const state *st, pickle_ref ref, int *what, pickle_ref *args) {
    const pickle *p = st->p;
    for (int i = 0; i < MAX_WRAPS && ref; i++) {
        const pickle_value *v = pickle_at(p, ref);
        *what = -1;
        if (v->kind == PICKLE_ID) return find_known(st, ref) ? ref : 0;
        if (v->kind != PICKLE_OBJECT) return 0;
        pickle_ref callable = v->as.has.callable;
        *args = v->as.has.args;
        *what = call_meaning(p, callable);
        if (*what == FUNCTION) {
            callable = pickle_item(p, *args, 0);
            *args = pickle_item(p, *args, 2);
            *what = *args && callable ? call_meaning(p, callable) : -1;
        }
        if (*what == PLAIN || *what == WITH_DTYPE) return ref;
        if (*what == FIRST) ref = pickle_item(p, *args, 0);
        else if (*what == SOMEWHERE) ref = find_inside(st, *args) ? find_inside(st, *args)
                                                                   : find_inside(st, v->as.has.state);
        else return 0;
    }
    return 0;
}

/* The first of the first few items that may make a tensor. */
static pickle_ref find_inside(const state *st, pickle_ref container) {
    const pickle *p = st->p;
    for (uint32_t i = 0; container && i < 4; i++) {
        pickle_ref item = pickle_item(p, container, i);
        if (!item) return 0;
        const pickle_value *v = pickle_at(p, item);
        if (v->kind == PICKLE_OBJECT && call_meaning(p, v->as.has.callable) >= 0) return item;
        if (v->kind == PICKLE_ID && find_known(st, item)) return item;
    }
    return 0;
}

/* 1 for an object whose class is named like a tensor's (sparse, quantized, without values, NumPy's) but is not in
   CALLS; -1 if memory ran out. */
static int is_other_tensor(const pickle *p, pickle_ref ref) {
    text name = TEXT_INIT;
    const pickle_value *v = pickle_as(p, ref, PICKLE_OBJECT);
    if (!v) return 0;
    pickle_describe(p, v->as.has.callable, &name);
    int other = text_failed(&name) ? -1
              : strstr(name.s, "._rebuild_") || strstr(name.s, "multiarray._reconstruct");
    text_free(&name);
    return other;
}

/* Says why add_group failed. */
static int refuse_group(const state *st) {
    if (st->c->group_count < MAX_GROUPS) return text_no_memory(st->why);
    return refuse(st->why, "tensors are spread over more than %d dicts", MAX_GROUPS);
}

/* Returns 1 if it added the tensor to *group, which is made if it is -1; 0 if ref is not a tensor; -1 with the reason
   in why. */
static int take_tensor(state *st, pickle_ref ref, int *group, const text *path, const text *name) {
    tensor t;
    int what = -1, good = 1;
    pickle_ref args = 0, maker = find_maker(st, ref, &what, &args);
    int other = maker ? 0 : is_other_tensor(st->p, ref);
    if (!maker && !other) return 0;
    memset(&t, 0, sizeof t);
    if (other < 0) {
        text_no_memory(st->why);
        return -1;
    }
    if (name->len > MAX_NAME || memchr(name->s, 0, name->len)) {
        refuse(st->why, "the name of a tensor has more than %d bytes or contains a zero byte", MAX_NAME);
        return -1;
    }
    if (maker && what < 0) t = find_known(st, maker)->what;
    if (*group < 0 && !text_failed(path)) *group = add_group(st->c, path->s);
    if (*group < 0) {
        refuse_group(st);
        return -1;
    }
    t.name = text_failed(name) ? NULL : mem_copy(name->s, name->len);
    t.group = *group;
    if (!t.name) good = text_no_memory(st->why);
    else if (maker && what >= 0) {
        good = read_view(st, args, what == WITH_DTYPE, &t);
    } else if (!maker) {
        text class = TEXT_INIT;
        pickle_describe(st->p, ref, &class);
        if (text_failed(&class)) good = text_no_memory(st->why);
        else t.opaque = class.s;
    }
    if (good && add_tensor(st->c, &t, st->why)) return 1;
    free(t.name);
    free(t.opaque);
    return -1;
}

/* --- the walk through dicts, lists and whole models, with an explicit stack --------------------------------------- */

typedef struct frame {
    pickle_ref container;
    uint32_t cell, index; /* the next cell, and its index */
    int group;            /* -1: none yet */
    int in_model;         /* 1: part of a pickled module, not a dict of tensors */
    size_t path, name;    /* the lengths of walk.path and walk.name at this container */
} frame;

typedef struct walk {
    state *st;
    frame frames[MAX_NESTING];
    int depth;
    text path; /* keys on the way to the group */
    text name; /* modules inside a pickled model */
} walk;

/* Computed once for each object: its state may be long, and the object may occur in many places. */
static int is_model(const state *st, pickle_ref ref) {
    const pickle_value *v = pickle_as(st->p, ref, PICKLE_OBJECT);
    if (!v || !v->as.has.state || st->seen[ref] & NO_MODEL) return 0;
    if (st->seen[ref] || pickle_key(st->p, v->as.has.state, "_modules")) return 1;
    st->seen[ref] |= NO_MODEL;
    return 0;
}

static int is_container(const pickle_value *v) {
    return v->kind == PICKLE_DICT || v->kind == PICKLE_LIST || v->kind == PICKLE_TUPLE ||
           (v->kind == PICKLE_OBJECT && v->count);
}

/* Enters a container, once: when it occurs again, it holds the same tensors under other names. */
static int enter(walk *w, pickle_ref ref, int group, int in_model) {
    for (int i = 0; i < w->depth; i++)
        if (w->frames[i].container == ref) return refuse(w->st->why, "a container in the pickle contains itself");
    if (w->depth == MAX_NESTING || w->st->seen[ref] & ENTERED) return 1;
    if (w->path.len > MAX_NAME || w->name.len > MAX_NAME) return 1;
    w->st->seen[ref] |= ENTERED;
    uint32_t first = pickle_at(w->st->p, ref)->as.has.first;
    w->frames[w->depth++] = (frame){ref, first, 0, group, in_model, w->path.len, w->name.len};
    return 1;
}

/* Enters the dicts of a module: its own tensors and its children. group -1: it is the outermost module. */
static int enter_model(walk *w, pickle_ref ref, int group) {
    static const char *const parts[] = {"_modules", "_buffers", "_parameters"}; /* the last is walked first */
    const pickle *p = w->st->p;
    if (w->st->seen[ref] & ENTERED || w->depth + 3 > MAX_NESTING) return 1;
    w->st->seen[ref] |= ENTERED;
    if (group < 0) {
        text class = TEXT_INIT;
        group = text_failed(&w->path) ? -1 : add_group(w->st->c, w->path.s);
        if (group < 0) return refuse_group(w->st);
        pickle_describe(p, ref, &class);
        if (text_failed(&class)) return text_no_memory(w->st->why);
        w->st->c->groups[group].model = class.s;
    }
    for (int i = 0; i < 3; i++) {
        pickle_ref part = pickle_key(p, pickle_at(p, ref)->as.has.state, parts[i]);
        if (part && is_container(pickle_at(p, part)) && !enter(w, part, group, 1)) return 0;
    }
    return 1;
}

static void add_key(const pickle *p, pickle_ref key, uint32_t index, text *out) {
    const pickle_value *v = pickle_at(p, key);
    uint32_t len = v->as.string[0].len <= MAX_NAME ? v->as.string[0].len : MAX_NAME + 1;
    if (!key) text_printf(out, "%lu", (unsigned long)index);
    else if (v->kind == PICKLE_TEXT || v->kind == PICKLE_BYTES) text_add(out, p->bytes + v->as.string[0].at, len);
    else if (v->kind == PICKLE_INT) text_printf(out, "%lld", (long long)v->as.integer);
    else text_puts(out, "?");
}

static void cut(text *t, size_t len) {
    if (text_failed(t)) return;
    t->len = len;
    t->s[len] = 0;
}

/* Visits an item of _parameters, _buffers or _modules. */
static int visit_in_model(walk *w, const frame *f, pickle_ref key, pickle_ref item) {
    int group = f->group;
    add_key(w->st->p, key, f->index, &w->name);
    if (!is_model(w->st, item)) return take_tensor(w->st, item, &group, &w->path, &w->name) >= 0;
    text_putc(&w->name, '.');
    return enter_model(w, item, group);
}

static int visit_item(walk *w, frame *f, pickle_ref key, pickle_ref item) {
    const pickle *p = w->st->p;
    add_key(p, key, f->index, &w->name);
    int taken = take_tensor(w->st, item, &f->group, &w->path, &w->name);
    if (taken) return taken > 0;
    if (w->path.len) text_putc(&w->path, '.');
    text_add(&w->path, w->name.s, w->name.len);
    cut(&w->name, 0);
    if (is_model(w->st, item)) return enter_model(w, item, -1);
    return !is_container(pickle_at(p, item)) || enter(w, item, -1, 0);
}

/* Visits the next item of the container on top of the stack. */
static int visit(walk *w) {
    frame *f = &w->frames[w->depth - 1];
    if (!f->cell) {
        w->depth--;
        return 1;
    }
    const pickle_cell *cell = &w->st->p->cells[f->cell];
    cut(&w->path, f->path);
    cut(&w->name, f->name);
    f->cell = cell->next;
    int good = f->in_model ? visit_in_model(w, f, cell->key, cell->value) : visit_item(w, f, cell->key, cell->value);
    f->index++;
    if (text_failed(&w->path) || text_failed(&w->name)) return text_no_memory(w->st->why);
    return good;
}

static int note_keys(checkpoint *c, const pickle *p) {
    const pickle_value *root = pickle_as(p, p->root, PICKLE_DICT);
    for (uint32_t cell = root ? root->as.has.first : 0; cell && c->key_count < 64; cell = p->cells[cell].next) {
        const pickle_value *key = pickle_as(p, p->cells[cell].key, PICKLE_TEXT);
        if (!key || key->as.string[0].len > MAX_NAME) continue;
        char *copy = mem_copy(p->bytes + key->as.string[0].at, key->as.string[0].len);
        if (!copy || !GROW(c->keys, c->key_count, c->key_cap)) {
            free(copy);
            return 0;
        }
        c->keys[c->key_count++] = copy;
    }
    const pickle_value *arch = pickle_as(p, pickle_key(p, p->root, "arch"), PICKLE_TEXT);
    if (!arch || arch->as.string[0].len > MAX_NAME) return 1;
    c->arch = mem_copy(p->bytes + arch->as.string[0].at, arch->as.string[0].len);
    return c->arch != NULL;
}

/* --- the preprocessing that a pickle states ----------------------------------------------------------------------- */

/* Writes a constant, a number, a text or a list of up to four numbers as Python would; other values are left out. */
static void add_plain(const pickle *p, pickle_ref ref, text *out) {
    const pickle_value *v = pickle_at(p, ref);
    if (v->kind == PICKLE_INT) text_printf(out, "%lld", (long long)v->as.integer);
    else if (v->kind == PICKLE_NONE) text_puts(out, "None");
    else if (v->kind == PICKLE_BOOL) text_puts(out, v->as.integer ? "True" : "False");
    else if (v->kind == PICKLE_REAL) text_printf(out, "%.17g", v->as.real);
    else if (v->kind == PICKLE_TEXT && v->as.string[0].len < 64)
        text_add(out, p->bytes + v->as.string[0].at, v->as.string[0].len);
    else if ((v->kind == PICKLE_LIST || v->kind == PICKLE_TUPLE) && v->count <= 4)
        for (uint32_t cell = v->as.has.first; cell; cell = p->cells[cell].next) {
            const pickle_value *item = pickle_at(p, p->cells[cell].value);
            if (item->kind == PICKLE_INT || item->kind == PICKLE_REAL) add_plain(p, p->cells[cell].value, out);
            text_putc(out, p->cells[cell].next ? ',' : ' ');
        }
    else if (v->kind == PICKLE_OBJECT && pickle_as(p, v->as.has.args, PICKLE_TUPLE))
        for (uint32_t i = 0; i < 2; i++) /* an enumeration's member: Class(value) or getattr(Class, name) */
            if (pickle_as(p, pickle_item(p, v->as.has.args, i), PICKLE_TEXT))
                add_plain(p, pickle_item(p, v->as.has.args, i), out);
}

/* Adds the fields of a dict, or of the state of an object such as torchvision's Normalize. */
static void add_record(checkpoint *c, const pickle *p, const pickle_value *dict) {
    const size_t start = c->stated.len;
    for (uint32_t cell = dict->as.has.first; cell && c->stated.len < MAX_STATED; cell = p->cells[cell].next) {
        const pickle_value *key = pickle_as(p, p->cells[cell].key, PICKLE_TEXT);
        if (!key || !stated_has_key(p->bytes + key->as.string[0].at, key->as.string[0].len)) continue;
        if (key->as.string[0].len > MAX_NAME) continue;
        text_printf(&c->stated, "%.*s=", (int)key->as.string[0].len, p->bytes + key->as.string[0].at);
        add_plain(p, p->cells[cell].value, &c->stated);
        text_putc(&c->stated, '\n');
    }
    if (c->stated.len > start) text_putc(&c->stated, '\f');
}

/* The class of an object of torchvision, or the class itself; NULL if the value is neither. */
static const pickle_value *vision_class(const pickle *p, pickle_ref ref) {
    static const char module[] = "torchvision.";
    const pickle_value *v = pickle_as(p, ref, PICKLE_OBJECT);
    const pickle_value *class = pickle_as(p, v ? v->as.has.callable : ref, PICKLE_GLOBAL);
    if (!class || class->as.string[0].len < sizeof module - 1 || class->as.string[1].len > MAX_NAME) return NULL;
    return memcmp(p->bytes + class->as.string[0].at, module, sizeof module - 1) == 0 ? class : NULL;
}

static void add_class(checkpoint *c, const pickle *p, const pickle_value *class, const char *after) {
    text_printf(&c->stated, "%.*s%s", (int)class->as.string[1].len, p->bytes + class->as.string[1].at, after);
}

/* Adds a step of a Compose as Python prints it. */
static void add_step(checkpoint *c, const pickle *p, pickle_ref step) {
    static const char *const names[] = {"size", "interpolation", "max_size", "antialias", "mean", "std"};
    const pickle_value *object = pickle_as(p, step, PICKLE_OBJECT), *class = object ? vision_class(p, step) : NULL;
    if (class) add_class(c, p, class, "(");
    else text_puts(&c->stated, "unknown(");
    for (size_t i = 0; class && object->as.has.state && i < sizeof names / sizeof *names; i++) {
        pickle_ref value = pickle_key(p, object->as.has.state, names[i]);
        if (!value) continue;
        text_printf(&c->stated, "%s=", names[i]);
        add_plain(p, value, &c->stated);
        text_putc(&c->stated, ' ');
    }
    text_puts(&c->stated, ")\n");
}

/* Adds a Compose, and marks its steps in `told`. */
static void add_chain(checkpoint *c, const pickle *p, pickle_ref ref, char *told) {
    const pickle_value *object = pickle_as(p, ref, PICKLE_OBJECT), *class = object ? vision_class(p, ref) : NULL;
    static const char name[] = "Compose";
    if (!class || class->as.string[1].len != sizeof name - 1 || !object->as.has.state ||
        memcmp(p->bytes + class->as.string[1].at, name, sizeof name - 1) != 0) return;
    const pickle_value *list = pickle_as(p, pickle_key(p, object->as.has.state, "transforms"), PICKLE_LIST);
    if (!list) return;
    text_puts(&c->stated, "Compose(");
    for (uint32_t cell = list->as.has.first; cell && c->stated.len < MAX_STATED; cell = p->cells[cell].next) {
        told[p->cells[cell].value] = 1;
        add_step(c, p, p->cells[cell].value);
    }
    text_puts(&c->stated, ")\f");
    told[ref] = 1;
}

/* Collects what stated.h reads: from every dict, wherever it is, chains of torchvision's transforms, and the names of
   its classes that are used otherwise. */
static int collect_stated(checkpoint *c, const pickle *p) {
    char *told = mem_zeroed(p->value_count, 1); /* values that are already in c->stated, or that need not be */
    if (!told) return 0;
    for (size_t i = 0; i < p->value_count && c->stated.len < MAX_STATED; i++)
        add_chain(c, p, (pickle_ref)i, told);
    for (size_t i = 0; i < p->value_count; i++)
        if (p->values[i].kind == PICKLE_OBJECT && p->values[i].as.has.callable) told[p->values[i].as.has.callable] = 1;
    for (size_t i = 0; i < p->value_count && c->stated.len < MAX_STATED; i++) {
        const pickle_value *v = &p->values[i], *class = told[i] ? NULL : vision_class(p, (pickle_ref)i);
        if (v->kind == PICKLE_DICT) add_record(c, p, v);
        if (class) add_class(c, p, class, "()\f");
    }
    free(told);
    return !text_failed(&c->stated);
}

int torch_tensors(checkpoint *c, const pickle *p, known_tensor *known, size_t known_count, text *why) {
    state st = {c, p, known, known_count, mem_zeroed(p->value_count, 1), why};
    walk w;
    int what, good = 1, group = -1;
    pickle_ref args;
    memset(&w, 0, sizeof w);
    if (!st.seen) return text_no_memory(why);
    w.st = &st;
    text_puts(&w.path, "");
    text_puts(&w.name, "");
    int noted = note_keys(c, p) && collect_stated(c, p);
    if (!noted || text_failed(&w.path) || text_failed(&w.name)) good = text_no_memory(why);
    else if (find_maker(&st, p->root, &what, &args))
        c->is_lone = 1, good = take_tensor(&st, p->root, &group, &w.path, &w.name) > 0;
    else if (is_model(&st, p->root)) good = enter_model(&w, p->root, -1);
    else if (is_container(pickle_at(p, p->root))) good = enter(&w, p->root, -1, 0);
    while (good && w.depth) good = visit(&w);
    if (good && !c->tensor_count) {
        text class = TEXT_INIT;
        pickle_describe(p, p->root, &class);
        const int is_object = pickle_as(p, p->root, PICKLE_OBJECT) != NULL;
        good = refuse(why, "it contains no tensors: the pickle holds %.200s%s", class.s,
                      is_object ? "; save the network's tensors: torch.save(model.state_dict(), \"weights.pth\")" : "");
        text_free(&class);
    }
    free(st.seen);
    text_free(&w.path);
    text_free(&w.name);
    return good;
}
