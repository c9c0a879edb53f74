/* The three containers that torch.save has used: finds the pickles and the storages in them. */
#include "weights/torch_file.h"

#include "base/memory.h"
#include "weights/torch_state.h"
#include "weights/zip.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- zip, since 1.6: ROOT/data.pkl, ROOT/data/KEY for every storage, ROOT/byteorder ------------------------------- */

/* Other kinds of zip archives, by the end of a member's name. */
static const struct {
    const char *end, *what;
} OTHER_ARCHIVES[] = {
    {"/constants.pkl", "a TorchScript archive (torch.jit.save), which contains a program; in Python: "
                       "torch.save(torch.jit.load(FILE).state_dict(), \"weights.pth\")"},
    {"/serialized_exported_program.json", "a program that torch.export saved; save the model's state_dict instead"},
    {".npy", "a NumPy archive (.npz), not a checkpoint"},
    {"model.weights.h5", "a Keras model, not a PyTorch checkpoint"},
    {".pth", "a zip archive with a checkpoint inside; unpack it first"},
    {".pt", "a zip archive with a checkpoint inside; unpack it first"},
    {".safetensors", "a zip archive with a checkpoint inside; unpack it first"},
};

static int refuse_other(const zip *z, const char *otherwise, text *why) {
    for (size_t k = 0; k < sizeof OTHER_ARCHIVES / sizeof *OTHER_ARCHIVES; k++)
        for (size_t i = 0; i < z->count; i++)
            if (text_ends_with(z->members[i].name, OTHER_ARCHIVES[k].end))
                return refuse(why, "this is %s", OTHER_ARCHIVES[k].what);
    return otherwise ? refuse(why, "%s", otherwise) : 1;
}

/* Finds the shortest name that is data.pkl or ends in /data.pkl. */
static zip_member *find_pickle(const zip *z) {
    zip_member *best = NULL;
    for (size_t i = 0; i < z->count; i++) {
        zip_member *m = &z->members[i];
        if (strcmp(m->name, "data.pkl") != 0 && !text_ends_with(m->name, "/data.pkl")) continue;
        if (!best || strlen(m->name) < strlen(best->name)) best = m;
    }
    return best;
}

static int place_storage(const zip *z, const source *s, const char *root, storage *st, text *why) {
    text name = TEXT_INIT;
    text_printf(&name, "%sdata/%s", root, st->key);
    int no_memory = text_failed(&name);
    zip_member *m = no_memory ? NULL : zip_find(z, name.s);
    text_free(&name);
    if (no_memory) return text_no_memory(why);
    if (!m) return refuse(why, "the zip archive has no member \"%.200sdata/%.200s\"", root, st->key);
    if (!zip_locate(z, s, m, why)) return 0;
    if (m->size != st->bytes)
        return refuse(why, "zip member \"%.200s\" has %llu bytes, but its tensors need %llu", m->name,
                      (unsigned long long)m->size, (unsigned long long)st->bytes);
    st->at = m->at;
    st->crc = m->crc;
    st->has_crc = 1;
    return 1;
}

static int by_place(const void *a, const void *b) {
    const storage *x = *(storage *const *)a, *y = *(storage *const *)b;
    return x->at != y->at ? (x->at < y->at ? -1 : 1) : x->bytes < y->bytes ? -1 : x->bytes > y->bytes;
}

/* Checks that no two storages share bytes of the file. */
static int check_overlap(const checkpoint *c, text *why) {
    storage **in_order = mem_array(c->storage_count, sizeof *in_order);
    int good = 1;
    if (!in_order) return text_no_memory(why);
    for (size_t i = 0; i < c->storage_count; i++) in_order[i] = &c->storages[i];
    if (c->storage_count) qsort(in_order, c->storage_count, sizeof *in_order, by_place);
    for (size_t i = 1; i < c->storage_count && good; i++)
        if (in_order[i - 1]->at + in_order[i - 1]->bytes > in_order[i]->at)
            good = refuse(why, "storages \"%.200s\" and \"%.200s\" overlap in the file", in_order[i - 1]->key,
                          in_order[i]->key);
    free(in_order);
    return good;
}

static int read_byte_order(checkpoint *c, const zip *z, const char *root, text *why) {
    char order[6] = "";
    text name = TEXT_INIT;
    text_printf(&name, "%sbyteorder", root);
    int no_memory = text_failed(&name);
    zip_member *m = no_memory ? NULL : zip_find(z, name.s);
    text_free(&name);
    if (no_memory) return text_no_memory(why);
    if (!m) return 1; /* written by a torch before 2.0 */
    if (!zip_locate(z, &c->source, m, why)) return 0;
    if (m->size <= sizeof order && !source_read(&c->source, m->at, order, (size_t)m->size, why)) return 0;
    c->big_endian = m->size == 3 && memcmp(order, "big", 3) == 0;
    if (c->big_endian || (m->size == 6 && memcmp(order, "little", 6) == 0)) return 1;
    return refuse(why, "zip member \"%.200s\" must contain little or big", m->name);
}

static int read_zip_parts(checkpoint *c, const zip *z, zip_member *pkl, const char *root, text *why) {
    pickle p;
    if (!zip_locate(z, &c->source, pkl, why) || !read_byte_order(c, z, root, why)) return 0;
    c->pickle_at = pkl->at;
    c->pickle_bytes = pkl->size;
    c->pickle_crc = pkl->crc;
    c->has_pickle_crc = 1;
    if (!pickle_read(&p, &c->source, pkl->at, pkl->at + pkl->size, why)) return 0;
    text_clear(why);
    snprintf(c->format, sizeof c->format, "PyTorch zip, pickle protocol %d", p.protocol);
    int good = torch_storages(c, &p, why);
    for (size_t i = 0; i < c->storage_count && good; i++)
        good = place_storage(z, &c->source, root, &c->storages[i], why);
    good = good && check_overlap(c, why) && torch_tensors(c, &p, NULL, 0, why);
    pickle_close(&p);
    return good;
}

int read_torch_zip(checkpoint *c, text *why) {
    zip z;
    if (!zip_open(&z, &c->source, why)) return 0;
    zip_member *pkl = find_pickle(&z);
    int good;
    if (!pkl) {
        good = refuse_other(&z, "this is a zip archive without data.pkl, so it is not a PyTorch checkpoint", why);
    } else {
        char *root = mem_copy(pkl->name, strlen(pkl->name) - strlen("data.pkl"));
        text name = TEXT_INIT;
        text_printf(&name, "%sconstants.pkl", root ? root : "");
        good = root && !text_failed(&name) ? 1 : text_no_memory(why);
        good = good && (!zip_find(&z, name.s) || refuse_other(&z, NULL, why)) && read_zip_parts(c, &z, pkl, root, why);
        text_free(&name);
        free(root);
    }
    zip_close(&z);
    return good;
}

/* --- stream, 0.2 to 1.5: pickles of a magic number, a version, facts about the machine, the object and the keys of its
   storages; then, for each key, the number of elements as an int64 and the values --- */

static int is_magic(const pickle *p) {
    const pickle_value *v = pickle_as(p, p->root, PICKLE_BIG);
    return v && v->as.string[0].len == 10 &&
           memcmp(p->bytes + v->as.string[0].at, "\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19", 10) == 0;
}

/* Reads a pickle and ignores it. */
static int skip_pickle(const source *s, uint64_t *at, text *why) {
    pickle p;
    if (!pickle_read(&p, s, *at, s->size, why)) return 0;
    *at = p.end;
    pickle_close(&p);
    return 1;
}

static int read_number(const source *s, uint64_t *at, uint64_t *n, text *why) {
    unsigned char bytes[8];
    if (!source_read(s, *at, bytes, sizeof bytes, why)) return 0;
    *at += sizeof bytes;
    *n = le64(bytes);
    return 1;
}

/* Reads the number of elements; their bytes follow and must lie in the file. */
static int place_values(const source *s, uint64_t *at, uint64_t end, uint64_t element, storage *st, text *why) {
    uint64_t count, bytes;
    if (!read_number(s, at, &count, why)) return 0;
    if (!checked_mul(count, element, &bytes) || *at > end || bytes > end - *at)
        return refuse(why, "storage \"%.200s\" has %llu elements, more than the file holds; was it downloaded "
                      "completely?", st->key, (unsigned long long)count);
    st->at = *at;
    st->bytes = bytes;
    *at += bytes;
    return 1;
}

/* Reads the facts about the machine, of which only the byte order matters. */
static int read_facts(checkpoint *c, uint64_t *at, text *why) {
    pickle p;
    if (!pickle_read(&p, &c->source, *at, c->source.size, why)) return 0;
    const pickle_value *little = pickle_as(&p, pickle_key(&p, p.root, "little_endian"), PICKLE_BOOL);
    c->big_endian = little && !little->as.integer;
    *at = p.end;
    pickle_close(&p);
    return 1;
}

static int stream_storage(checkpoint *c, const pickle *p, const pickle_value *key, uint64_t *at, text *why) {
    const char *name = key ? p->bytes + key->as.string[0].at : "";
    storage *s = key ? torch_storage(c, name, key->as.string[0].len) : NULL;
    if (!s) return refuse(why, "the list of storages has a key that no tensor uses");
    if (s->at) return refuse(why, "the list of storages names \"%.200s\" twice", s->key);
    uint64_t wanted = s->bytes;
    if (!place_values(&c->source, at, c->source.size, (uint64_t)s->element, s, why)) return 0;
    if (s->bytes == wanted) return 1;
    return refuse(why, "storage \"%.200s\" has %llu bytes, but its tensors need %llu", s->key,
                  (unsigned long long)s->bytes, (unsigned long long)wanted);
}

static int stream_storages(checkpoint *c, uint64_t at, text *why) {
    pickle p;
    if (!pickle_read(&p, &c->source, at, c->source.size, why)) return 0;
    const pickle_value *list = pickle_as(&p, p.root, PICKLE_LIST);
    int good = list ? 1 : refuse(why, "the list of storages is missing");
    at = p.end;
    for (uint32_t cell = list ? list->as.has.first : 0; cell && good; cell = p.cells[cell].next)
        good = stream_storage(c, &p, pickle_as(&p, p.cells[cell].value, PICKLE_TEXT), &at, why);
    for (size_t i = 0; i < c->storage_count && good; i++)
        if (!c->storages[i].at) good = refuse(why, "the values of storage \"%.200s\" are missing", c->storages[i].key);
    pickle_close(&p);
    return good;
}

/* Refuses a pickle that torch.save did not write. */
static int refuse_plain(const pickle *p, text *why) {
    text what = TEXT_INIT;
    pickle_describe(p, p->root, &what);
    refuse(why, "this is a plain Python pickle of %.200s, not a torch.save file; in Python: "
           "torch.save(STATE_DICT, FILE)", what.s);
    text_free(&what);
    return 0;
}

int read_torch_stream(checkpoint *c, text *why) {
    pickle p;
    uint64_t at;
    if (!pickle_read(&p, &c->source, 0, c->source.size, why)) return 0;
    int magic = is_magic(&p) || refuse_plain(&p, why);
    at = p.end;
    pickle_close(&p);
    if (!magic || !skip_pickle(&c->source, &at, why) || !read_facts(c, &at, why)) return 0;
    if (!pickle_read(&p, &c->source, at, c->source.size, why)) return 0;
    snprintf(c->format, sizeof c->format, "PyTorch before 1.6 (stream), pickle protocol %d", p.protocol);
    int good = torch_storages(c, &p, why) && stream_storages(c, p.end, why) && torch_tensors(c, &p, NULL, 0, why);
    pickle_close(&p);
    return good;
}

/* --- tar, before 0.2: members storages, tensors and pickle -------------------------------------------------------- */

enum { BLOCK = 512 };

typedef struct part {
    uint64_t at, end;
} part;

static int read_octal(const unsigned char *p, size_t size, uint64_t *n) {
    size_t i = 0;
    *n = 0;
    while (i < size && p[i] == ' ') i++;
    for (; i < size && p[i] >= '0' && p[i] <= '7'; i++) *n = *n * 8 + (uint64_t)(p[i] - '0');
    return i > 0 && (i == size || p[i] == 0 || p[i] == ' ');
}

static int find_parts(const source *s, const char *const *names, part *parts, int count, text *why) {
    unsigned char header[BLOCK];
    uint64_t size;
    memset(parts, 0, (size_t)count * sizeof *parts);
    for (uint64_t at = 0; at < s->size && s->size - at >= BLOCK;) {
        if (!source_read(s, at, header, sizeof header, why)) return 0;
        if (!header[0]) break; /* the end of the archive */
        at += BLOCK;
        if (memcmp(header + 257, "ustar", 5) != 0 || !read_octal(header + 124, 12, &size))
            return refuse(why, "the tar archive has a damaged header at byte %llu", (unsigned long long)(at - BLOCK));
        header[100] = 0; /* the field of the name ends here */
        const char *name = (const char *)header;
        if (name[0] == '.' && name[1] == '/') name += 2;
        if (size > s->size - at)
            return refuse(why, "tar member \"%.100s\" is cut off; was the file downloaded completely?", name);
        for (int i = 0; i < count; i++)
            if (strcmp(name, names[i]) == 0) parts[i] = (part){at, at + size};
        at += (size + BLOCK - 1) / BLOCK * BLOCK;
    }
    for (int i = 0; i < count; i++)
        if (!parts[i].end)
            return refuse(why, "this is a tar archive without the member \"%s\", so it is not a checkpoint; if it "
                          "contains one, unpack it first", names[i]);
    return 1;
}

/* The key of a storage or a tensor as text; NULL with the reason in why. */
static char *key_text(const pickle *p, pickle_ref ref, text *why) {
    const pickle_value *v = pickle_at(p, ref);
    text name = TEXT_INIT;
    if (v->kind == PICKLE_INT) text_printf(&name, "%lld", (long long)v->as.integer);
    else if (v->kind == PICKLE_TEXT && v->as.string[0].len <= MAX_NAME)
        text_add(&name, p->bytes + v->as.string[0].at, v->as.string[0].len);
    if (!name.s) refuse(why, "a storage or tensor has no key");
    if (!text_failed(&name)) return name.s;
    text_no_memory(why);
    return NULL;
}

static int read_count(const source *s, part *in, uint64_t *count, text *why) {
    pickle p;
    if (!pickle_read(&p, s, in->at, in->end, why)) return 0;
    const pickle_value *v = pickle_as(&p, p.root, PICKLE_INT);
    int good = v && v->as.integer >= 0 ? 1 : refuse(why, "the number of storages or tensors is missing");
    if (good) *count = (uint64_t)v->as.integer;
    in->at = p.end;
    pickle_close(&p);
    return good;
}

/* The types of the storages, in the same order. */
typedef struct tar_types {
    const dtype **of;
    size_t cap;
} tar_types;

static int tar_storage(checkpoint *c, part *in, tar_types *types, text *why) {
    pickle p;
    if (!pickle_read(&p, &c->source, in->at, in->end, why)) return 0; /* (key, location, type) */
    if (!GROW(c->storages, c->storage_count, c->storage_cap) || !GROW(types->of, c->storage_count, types->cap)) {
        pickle_close(&p);
        return text_no_memory(why);
    }
    storage *s = &c->storages[c->storage_count];
    memset(s, 0, sizeof *s);
    s->order = (int)c->storage_count;
    s->key = key_text(&p, pickle_item(&p, p.root, 0), why);
    const dtype *type = s->key ? torch_storage_type(&p, pickle_item(&p, p.root, 2), why) : NULL;
    types->of[c->storage_count] = type;
    c->storage_count++;
    in->at = p.end;
    pickle_close(&p);
    return s->key && type && place_values(&c->source, &in->at, in->end, (uint64_t)type->bytes, s, why);
}

static int storage_by_key(const void *a, const void *b) {
    return strcmp(((const storage *)a)->key, ((const storage *)b)->key);
}

/* Reads all storages. A list of storages that are parts of others follows, [(key, root key, offset, elements), ...];
   only an empty one is supported. */
static int tar_storages(checkpoint *c, part in, tar_types *types, text *why) {
    uint64_t count;
    pickle p;
    if (!read_count(&c->source, &in, &count, why)) return 0;
    for (uint64_t i = 0; i < count; i++)
        if (!tar_storage(c, &in, types, why)) return 0;
    if (c->storage_count) qsort(c->storages, c->storage_count, sizeof *c->storages, storage_by_key);
    for (size_t i = 1; i < c->storage_count; i++)
        if (storage_by_key(c->storages + i - 1, c->storages + i) == 0)
            return refuse(why, "two storages have the key \"%.200s\"", c->storages[i].key);
    if (!pickle_read(&p, &c->source, in.at, in.end, why)) return 0;
    int good = pickle_as(&p, p.root, PICKLE_LIST) && !pickle_at(&p, p.root)->count;
    pickle_close(&p);
    return good || refuse(why, "storages that are parts of others are not supported in tar files");
}

typedef struct known_list {
    known_tensor *at;
    size_t count, cap;
} known_list;

/* Reads a tensor: a pickle, then int32 dimensions, 4 unused bytes, and int64 sizes, strides, offset. */
static int tar_tensor(checkpoint *c, part *in, const tar_types *types, known_list *known, text *why) {
    pickle p;
    unsigned char start[8];
    tensor t;
    memset(&t, 0, sizeof t);
    if (!pickle_read(&p, &c->source, in->at, in->end, why)) return 0; /* (key, storage's key, type) */
    char *id = key_text(&p, pickle_item(&p, p.root, 0), why), *key = key_text(&p, pickle_item(&p, p.root, 1), why);
    storage *s = id && key ? torch_storage(c, key, strlen(key)) : NULL;
    int good = s != NULL;
    if (!good && !text_failed(why)) refuse(why, "tensor %.100s has no storage", id ? id : "?");
    in->at = p.end;
    pickle_close(&p);
    free(key);
    if (good) good = in->end - in->at >= sizeof start ? source_read(&c->source, in->at, start, sizeof start, why)
                                                      : refuse(why, "the list of tensors ends early");
    if (good) {
        in->at += sizeof start;
        t.ndim = le32(start) <= MAX_DIMS ? (int)le32(start) : -1;
        t.storage = (size_t)(s - c->storages);
        t.type = types->of[s->order];
        if (t.ndim < 0)
            good = refuse(why, "tensor %.100s has %lu dimensions; at most %d are supported", id,
                          (unsigned long)le32(start), MAX_DIMS);
        else if ((in->end - in->at) / 8 < 2 * (uint64_t)t.ndim + 1)
            good = refuse(why, "the list of tensors ends early");
    }
    for (int i = 0; i < t.ndim && good; i++) good = read_number(&c->source, &in->at, &t.shape[i], why);
    for (int i = 0; i < t.ndim && good; i++) good = read_number(&c->source, &in->at, &t.stride[i], why);
    if (good) good = read_number(&c->source, &in->at, &t.offset, why);
    t.count = 1;
    for (int i = 0; i < t.ndim && good; i++)
        if (!checked_mul(t.count, t.shape[i], &t.count))
            good = refuse(why, "tensor %.100s: its size overflows", id);
    if (good && !GROW(known->at, known->count, known->cap)) good = text_no_memory(why);
    if (!good) {
        free(id);
        return 0;
    }
    known->at[known->count].id = id;
    known->at[known->count++].what = t;
    return 1;
}

static int known_by_id(const void *a, const void *b) {
    return strcmp(((const known_tensor *)a)->id, ((const known_tensor *)b)->id);
}

static int tar_object(checkpoint *c, part in, known_list *known, text *why) {
    pickle p;
    if (known->count) qsort(known->at, known->count, sizeof *known->at, known_by_id);
    for (size_t i = 1; i < known->count; i++)
        if (known_by_id(known->at + i - 1, known->at + i) == 0)
            return refuse(why, "two tensors have the key \"%.200s\"", known->at[i].id);
    if (!pickle_read(&p, &c->source, in.at, in.end, why)) return 0;
    snprintf(c->format, sizeof c->format, "PyTorch before 0.2 (tar), pickle protocol %d", p.protocol);
    int good = torch_tensors(c, &p, known->at, known->count, why);
    pickle_close(&p);
    return good;
}

int read_torch_tar(checkpoint *c, text *why) {
    static const char *const names[] = {"storages", "tensors", "pickle", "sys_info"};
    part parts[4];
    tar_types types = {NULL, 0};
    known_list known = {NULL, 0, 0};
    uint64_t count = 0;
    int good = find_parts(&c->source, names, parts, 4, why);
    good = good && read_facts(c, &parts[3].at, why) && tar_storages(c, parts[0], &types, why);
    good = good && read_count(&c->source, &parts[1], &count, why);
    for (uint64_t i = 0; i < count && good; i++) good = tar_tensor(c, &parts[1], &types, &known, why);
    good = good && tar_object(c, parts[2], &known, why);
    for (size_t i = 0; i < known.count; i++) free(known.at[i].id);
    free(known.at);
    free(types.of);
    return good;
}
