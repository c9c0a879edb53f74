#include "gallery/gallery_store.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SECTOR = 4096, RECORD_HEAD = 16, TEMPLATE_HEAD = 32, HEADER_BYTES = 256, HEADER_EVERY = 1 << 20 };
enum { TEMPLATE = 1, REMOVAL, THRESHOLD, HEADER, DECODER };
enum { MAX_RECORD = TEMPLATE_HEAD + 4 * STORE_MAX_DIM + 4 * STORE_MAX_TEXT + 8, BUFFER = 1 << 20 };
static const char MAGIC[8] = {'r', 'e', 'i', 'd', 'g', 'a', 'l', '\n'};

/* Asks again what a signal has interrupted. */
#define UNINTERRUPTED(result, call) \
    do (result) = (call);           \
    while ((result) != 0 && errno == EINTR)

/* Where things stand in a version of the format. */
typedef struct layout {
    unsigned version;
    size_t block;       /* bytes of a header and of an end mark, with their checksum */
    int heads;
    uint64_t head[2], mark[2];
    uint64_t header_record, first; /* 0: none; of the records */
} layout;

static const layout LAYOUTS[] = {
    {1, 512, 1, {0, 0}, {512, 1024}, 0, 1536},
    {2, SECTOR, 2, {0, 3 * SECTOR}, {SECTOR, 2 * SECTOR}, 4 * SECTOR, 4 * SECTOR + RECORD_HEAD + HEADER_BYTES},
};
#define NEWEST (&LAYOUTS[1])

typedef struct entry {
    size_t text;                /* of the four texts, each ended by a 0, in `texts` */
    uint16_t length[4];
    int64_t time;
    uint64_t size, hash;
    uint32_t identity;
    int removed;
} entry;

/* The file as one long text, read in pieces. */
typedef struct view {
    int fd;
    uint64_t end;               /* nothing behind it is read */
    unsigned char *bytes;       /* [cap] */
    size_t cap, have;
    uint64_t at;                /* of bytes[0] */
} view;

typedef struct record {
    uint32_t type, size;        /* size: of the payload */
    const unsigned char *payload;
} record;

struct gallery_store {
    char *path;
    int fd, keep_rows, failed, in_memory;
    store_host host;
    store_meta meta;
    const layout *layout;
    int keep_tail;                              /* an end mark on disk may name what stands behind `end` */
    uint64_t sequence, end, records, file_size; /* what the valid end mark says */
    uint64_t tail, tail_records;                /* with what was added since */
    uint64_t next_header;                       /* a record of the header is due when the tail is here */
    entry *at;
    size_t count, cap, live;
    char *texts;
    size_t texts_len, texts_cap;
    unsigned char *rows;
    size_t rows_cap;                            /* in rows */
    uint32_t *ids, *names;                      /* hash tables: number of an entry + 1, 0 for none */
    size_t table;                               /* places in each, a power of two */
    uint32_t *identities;                       /* [count] */
    size_t identity_count, ids_used;
    unsigned char *pending;                     /* records that are not yet in the file */
    size_t pending_len, pending_cap;
};

/* --- bytes -------------------------------------------------------------------------------------------------------- */

static int fail(char why[STORE_WHY], const char *format, ...) __attribute__((format(printf, 2, 3)));
static int fail(char why[STORE_WHY], const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(why, STORE_WHY, format, args);
    va_end(args);
    return 0;
}

static int fail_errno(char why[STORE_WHY], const char *doing) { return fail(why, "%s: %s", doing, strerror(errno)); }

static void put(unsigned char *to, uint64_t value, int bytes) {
    for (int i = 0; i < bytes; i++) to[i] = (unsigned char)(value >> 8 * i);
}

static uint64_t get(const unsigned char *from, int bytes) {
    uint64_t value = 0;
    for (int i = 0; i < bytes; i++) value |= (uint64_t)from[i] << 8 * i;
    return value;
}

static uint64_t mix(uint64_t h, const unsigned char *bytes, size_t size) {
    for (size_t i = 0; i < size; i += 8) {
        uint64_t word;
        memcpy(&word, bytes + i, 8); /* get(bytes + i, 8), where it is as fast as memory */
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
        word = __builtin_bswap64(word);
#endif
        h = (h ^ word) * UINT64_C(0x9e3779b97f4a7c15);
        h ^= h >> 32;
    }
    return h;
}

/* Of `size` bytes that stand at `place` in the file, their checksum at `hole` left out. */
static uint64_t checksum(uint64_t place, const unsigned char *bytes, size_t size, size_t hole) {
    static const unsigned char zero[8] = {0};
    return mix(mix(mix(place, bytes, hole), zero, 8), bytes + hole + 8, size - hole - 8);
}

static size_t rounded(size_t size) { return (size + 7) & ~(size_t)7; }

static size_t row_bytes(const store_meta *meta) { return (size_t)meta->dim * (meta->halves ? 2 : 4); }

static int grow(void **block, size_t *cap, size_t wanted, size_t size, char why[STORE_WHY]) {
    size_t n = *cap ? *cap : 64;
    if (wanted <= *cap) return 1;
    while (n < wanted) n *= 2;
    void *more = n > SIZE_MAX / size ? NULL : realloc(*block, n * size);
    if (!more) return fail(why, "out of memory");
    *block = more;
    *cap = n;
    return 1;
}

static int write_at(int fd, const unsigned char *bytes, size_t size, uint64_t place, char why[STORE_WHY]) {
    while (size) {
        ssize_t n = pwrite(fd, bytes, size, (off_t)place);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return fail_errno(why, "cannot write");
        bytes += n, size -= (size_t)n, place += (uint64_t)n;
    }
    return 1;
}

static int sync_file(int fd, char why[STORE_WHY]) {
    int result;
    UNINTERRUPTED(result, fsync(fd));
    return result == 0 || fail_errno(why, "cannot write");
}

static int cut_file(int fd, uint64_t size) {
    int result;
    UNINTERRUPTED(result, ftruncate(fd, (off_t)size));
    return result == 0;
}

static int stopped(const store_host *host, char why[STORE_WHY]) {
    return host->stopped && host->stopped() && !fail(why, "interrupted");
}

/* `size` bytes at `place`, valid until the next call; NULL with a reason. */
static const unsigned char *view_at(view *v, uint64_t place, size_t size, char why[STORE_WHY]) {
    if (place >= v->at && place + size <= v->at + v->have) return v->bytes + (place - v->at);
    size_t wanted = v->end - place < BUFFER ? (size_t)(v->end - place) : BUFFER;
    if (wanted < size) wanted = size;
    v->have = 0;
    if (!grow((void **)&v->bytes, &v->cap, wanted, 1, why)) return NULL;
    v->at = place;
    while (v->have < wanted) {
        ssize_t n = pread(v->fd, v->bytes + v->have, wanted - v->have, (off_t)(place + v->have));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) fail_errno(why, "cannot read");
        if (n == 0) fail(why, "ended while it was read");
        if (n <= 0) return NULL;
        v->have += (size_t)n;
    }
    return v->bytes;
}

/* --- decoders of JPEG files --------------------------------------------------------------------------------------- */

static int is_decoder(const char *name, size_t length) {
    if (length < 1 || length >= STORE_DECODER || name[0] == ' ' || name[length - 1] == ' ') return 0;
    for (size_t i = 0; i < length; i++)
        if (name[i] < 0x20 || name[i] > 0x7e || name[i] == ',') return 0;
    return 1;
}

/* The place of the next name, behind one of this length; NULL: what follows is none. */
static const char *behind_decoder(const char *name, size_t length) {
    name += length;
    if (!*name) return name;
    return name[1] == ' ' && name[2] ? name + 2 : NULL;
}

/* One name among the others, which are in order. Returns 0 when there are enough. */
static int join_decoder(char to[STORE_JPEG], const char *name, size_t length) {
    size_t end = strlen(to), place = end;
    int count = 0;
    for (size_t at = 0, n; at < end; at += n + 2, count++) {
        n = strcspn(to + at, ",");
        int order = strncmp(name, to + at, n < length ? n : length);
        if (order == 0 && n == length) return 1;
        if (place == end && (order < 0 || (order == 0 && length < n))) place = at;
    }
    if (count == STORE_DECODERS) return 0;
    if (place < end) {
        memmove(to + place + length + 2, to + place, end - place + 1);
        memcpy(to + place + length, ", ", 2);
    } else {
        if (end) memcpy(to + end, ", ", 2), place += 2;
        to[place + length] = 0;
    }
    memcpy(to + place, name, length);
    return 1;
}

int store_join_decoders(char to[STORE_JPEG], const char *names) {
    char joined[STORE_JPEG];
    memcpy(joined, to, sizeof joined);
    for (const char *at = names; *at;) {
        size_t n = strcspn(at, ",");
        if (!is_decoder(at, n) || !join_decoder(joined, at, n)) return 0;
        at = behind_decoder(at, n);
        if (!at) return 0;
    }
    memcpy(to, joined, sizeof joined);
    return 1;
}

/* --- the head of the file ----------------------------------------------------------------------------------------- */

/* The header without its checksum: all but zeros of it. */
static void head_bytes(const store_meta *meta, unsigned char head[HEADER_BYTES]) {
    memset(head, 0, HEADER_BYTES);
    memcpy(head, MAGIC, sizeof MAGIC);
    put(head + 8, NEWEST->version, 4);
    put(head + 12, (uint64_t)meta->dim, 4);
    put(head + 16, meta->halves != 0, 4);
    put(head + 20, (uint64_t)meta->models, 4);
    memcpy(head + 24, &meta->threshold, 8);
    for (int i = 0; i < meta->models; i++) {
        const store_model *m = &meta->model[i];
        unsigned char *to = head + 32 + 112 * i;
        memcpy(to, m->fingerprint, strlen(m->fingerprint));
        memcpy(to + 32, m->network, strlen(m->network));
        memcpy(to + 64, m->preset, strlen(m->preset));
        memcpy(to + 96, m->precision, strlen(m->precision));
        put(to + 104, (uint64_t)m->dim, 4);
    }
}

/* A header or an end mark: its last 8 bytes are the checksum of the others. */
static void seal(const layout *l, uint64_t place, unsigned char *block) {
    put(block + l->block - 8, checksum(place, block, l->block, l->block - 8), 8);
}

static int is_sealed(const layout *l, uint64_t place, const unsigned char *block) {
    return get(block + l->block - 8, 8) == checksum(place, block, l->block, l->block - 8);
}

/* Dims that belong together, fingerprints that are some. */
static int meta_is_sound(const store_meta *meta) {
    int sum = 0;
    if (meta->models < 1 || meta->models > STORE_MODELS) return 0;
    for (int i = 0; i < meta->models; i++) {
        if (meta->model[i].dim < 1 || meta->model[i].dim > STORE_MAX_DIM || !meta->model[i].fingerprint[0]) return 0;
        sum += meta->model[i].dim;
    }
    return sum == meta->dim && sum <= STORE_MAX_DIM && !isinf(meta->threshold);
}

/* What a header says whose checksum is right. */
static int parse_head(const unsigned char head[HEADER_BYTES], store_meta *meta) {
    memset(meta, 0, sizeof *meta);
    meta->dim = (int)get(head + 12, 4);
    meta->halves = get(head + 16, 4) != 0;
    meta->models = (int)get(head + 20, 4);
    memcpy(&meta->threshold, head + 24, 8);
    for (int i = 0; i < meta->models && i < STORE_MODELS; i++) {
        const unsigned char *from = head + 32 + 112 * i;
        memcpy(meta->model[i].fingerprint, from, 32);
        memcpy(meta->model[i].network, from + 32, 32);
        memcpy(meta->model[i].preset, from + 64, 32);
        memcpy(meta->model[i].precision, from + 96, 8);
        meta->model[i].dim = (int)get(from + 104, 4);
    }
    return meta_is_sound(meta);
}

static void mark_bytes(const layout *l, uint64_t place, const uint64_t values[3], unsigned char mark[SECTOR]) {
    memset(mark, 0, l->block);
    for (int i = 0; i < 3; i++) put(mark + 8 * i, values[i], 8);
    seal(l, place, mark);
}

/* The newer end mark. Returns how many of the two are whole; one may be being written right now. */
static int parse_marks(gallery_store *s, const unsigned char *file) {
    int whole = 0;
    for (int i = 0; i < 2; i++) {
        const unsigned char *mark = file + s->layout->mark[i];
        if (!is_sealed(s->layout, s->layout->mark[i], mark)) continue;
        if (whole++ && get(mark, 8) <= s->sequence) continue;
        s->sequence = get(mark, 8), s->end = get(mark + 8, 8), s->records = get(mark + 16, 8);
    }
    return whole;
}

static int marks_are_sound(gallery_store *s, char why[STORE_WHY]) {
    if (s->end < s->layout->first || s->end % 8) return fail(why, "is damaged: its end mark contradicts itself");
    if (s->file_size < s->end)
        return fail(why, "is truncated: it has %llu bytes and had %llu", (unsigned long long)s->file_size,
                    (unsigned long long)s->end);
    return 1;
}

static int is_header_record(const unsigned char *bytes, uint64_t place) {
    return get(bytes, 4) == HEADER && get(bytes + 4, 4) == HEADER_BYTES && get(bytes + RECORD_HEAD + 8, 4) == 2 &&
           get(bytes + 8, 8) == checksum(place, bytes, RECORD_HEAD + HEADER_BYTES, 8);
}

/* All copies of the header, which must be whole and the same. file: what stands before the first record, or less. */
static int take_head(gallery_store *s, const unsigned char *file, size_t size, char why[STORE_WHY]) {
    static const char *const which[] = {"its header", "the copy of its header"};
    unsigned version = size < 12 ? 0 : (unsigned)get(file + 8, 4);
    if (size < sizeof MAGIC || memcmp(file, MAGIC, sizeof MAGIC) != 0) return fail(why, "is not a gallery");
    s->layout = version == 1 ? &LAYOUTS[0] : NEWEST;
    if (size >= 12 && version != s->layout->version)
        return fail(why, "has format version %u; this program reads versions 1 and 2", version);
    if (size < s->layout->first) return fail(why, "is truncated: it has %zu bytes, less than a header", size);
    for (int i = 0; i < s->layout->heads; i++)
        if (!is_sealed(s->layout, s->layout->head[i], file + s->layout->head[i]))
            return fail(why, "is damaged: the checksum of %s is wrong", which[i]);
    uint64_t again = s->layout->header_record;
    if (again && !is_header_record(file + again, again))
        return fail(why, "is damaged: the checksum of %s is wrong", which[1]);
    if (again && (memcmp(file, file + s->layout->head[1], HEADER_BYTES) != 0 ||
                  memcmp(file, file + again + RECORD_HEAD, HEADER_BYTES) != 0))
        return fail(why, "is damaged: its header and the copy of it differ");
    return parse_head(file, &s->meta) || fail(why, "is damaged: its header contradicts itself");
}

/* Any copy of the header that is left, wherever it stands. */
static int find_head(gallery_store *s, const unsigned char *file, size_t size, char why[STORE_WHY]) {
    view v = {s->fd, s->file_size, NULL, 0, 0, 0};
    int found = 0;
    for (int i = 0; i < 2 && !found; i++) {
        const layout *l = s->layout = &LAYOUTS[i];
        for (int k = 0; k < l->heads && !found && size >= l->head[k] + l->block; k++)
            found = is_sealed(l, l->head[k], file + l->head[k]) && get(file + l->head[k] + 8, 4) == l->version &&
                    parse_head(file + l->head[k], &s->meta);
    }
    for (uint64_t place = s->layout->header_record; !found; place += 8) {
        if (v.end < RECORD_HEAD + HEADER_BYTES || place > v.end - RECORD_HEAD - HEADER_BYTES) break;
        const unsigned char *bytes = view_at(&v, place, RECORD_HEAD + HEADER_BYTES, why);
        if (!bytes) break;
        found = is_header_record(bytes, place) && parse_head(bytes + RECORD_HEAD, &s->meta);
    }
    free(v.bytes);
    return found || fail(why, "is damaged: no copy of its header can be read");
}

static int read_head(gallery_store *s, int salvage, char why[STORE_WHY]) {
    unsigned char *file = malloc((size_t)NEWEST->first);
    struct stat st;
    int whole = 0, good = file != NULL || fail(why, "out of memory"), found = 0;
    for (int tries = 0; good && tries < 10 && whole < 2; tries++) { /* a writer may be at work on a mark */
        if (tries) usleep(1000);
        if (fstat(s->fd, &st) != 0) good = fail_errno(why, "cannot read");
        else if (!S_ISREG(st.st_mode)) good = fail(why, "is not a regular file");
        if (!good) break;
        ssize_t n = pread(s->fd, file, (size_t)NEWEST->first, 0);
        if (n < 0) good = fail_errno(why, "cannot read");
        if (!good) break;
        s->file_size = (uint64_t)st.st_size;
        found = take_head(s, file, (size_t)n, why);
        good = found || (salvage && find_head(s, file, (size_t)n, why));
        whole = good && (size_t)n >= s->layout->first ? parse_marks(s, file) : 0;
        if (!found) break;
    }
    free(file);
    if (!good) return 0;
    if (fstat(s->fd, &st) == 0) s->file_size = (uint64_t)st.st_size; /* not older than the mark */
    if (whole == 2 && (!salvage || (s->end >= s->layout->first && s->end <= s->file_size)))
        return marks_are_sound(s, why);
    if (salvage) { /* whatever records there are */
        s->end = s->file_size & ~(uint64_t)7;
        s->records = UINT64_MAX;
        return 1;
    }
    return fail(why, "is damaged: the checksum of %s is wrong", whole ? "an end mark" : "both end marks");
}

/* --- records ------------------------------------------------------------------------------------------------------ */

/* The four lengths of a template whose payload has this size, or 0 if they do not fit. */
static int template_lengths(const store_meta *meta, const unsigned char *payload, size_t size, size_t length[4]) {
    size_t sum = TEMPLATE_HEAD + row_bytes(meta);
    if (size < sum) return 0;
    for (int i = 0; i < 4; i++) sum += length[i] = get(payload + 2 * i, 2);
    return rounded(sum) == size && length[0] && length[1];
}

static int values_are_finite(const store_meta *meta, const unsigned char *row) {
    int bad = 0;
    if (meta->halves)
        for (int i = 0; i < meta->dim; i++) bad |= (row[2 * i + 1] & 0x7c) == 0x7c;
    else
        for (int i = 0; i < meta->dim; i++) bad |= ((row[4 * i + 3] & 0x7f) == 0x7f) & (row[4 * i + 2] >> 7);
    return !bad;
}

/* A header among the records says the same as the first one; the threshold may have changed. */
static int header_agrees(const store_meta *meta, const unsigned char *payload) {
    unsigned char ours[HEADER_BYTES];
    store_meta its;
    if (!parse_head(payload, &its)) return 0;
    its.threshold = meta->threshold;
    head_bytes(&its, ours);
    unsigned char wanted[HEADER_BYTES];
    head_bytes(meta, wanted);
    return memcmp(ours, wanted, sizeof ours) == 0;
}

/* One name, and zeros up to the end, of which there is one at least. */
static int is_decoder_record(const record *r) {
    const char *name = (const char *)r->payload;
    size_t n = strnlen(name, r->size);
    if (n == r->size || rounded(n + 1) != r->size || !is_decoder(name, n)) return 0;
    while (n < r->size)
        if (name[n++]) return 0;
    return 1;
}

/* What a checksum cannot vouch for: that whoever wrote the record was a gallery's writer. */
static int record_is_sound(const store_meta *meta, const record *r) {
    size_t length[4], text;
    switch (r->type) {
    case TEMPLATE:
        if (!template_lengths(meta, r->payload, r->size, length)) return 0;
        text = TEMPLATE_HEAD + row_bytes(meta);
        return values_are_finite(meta, r->payload + TEMPLATE_HEAD) &&
               !memchr(r->payload + text, 0, length[0] + length[1] + length[2] + length[3]);
    case REMOVAL: return r->size && r->payload[0] && memchr(r->payload + r->size - 8, 0, 8) != NULL;
    case HEADER: return r->size == HEADER_BYTES && header_agrees(meta, r->payload);
    case DECODER: return is_decoder_record(r);
    default: return r->type == THRESHOLD && r->size == 8;
    }
}

/* Returns 0 with the reason; `fatal` tells that the file cannot be read at all. */
static int read_record(view *v, const store_meta *meta, uint64_t place, record *r, int *fatal, char why[STORE_WHY]) {
    uint64_t left = v->end - place;
    const unsigned char *bytes;
    r->size = 0;
    *fatal = 0;
    if (left < RECORD_HEAD) return fail(why, "it is cut off");
    bytes = view_at(v, place, RECORD_HEAD, why);
    *fatal = !bytes;
    if (!bytes) return 0;
    r->type = (uint32_t)get(bytes, 4);
    size_t size = (size_t)get(bytes + 4, 4);
    if (size % 8 || size > MAX_RECORD || size > left - RECORD_HEAD) return fail(why, "its length is impossible");
    bytes = view_at(v, place, RECORD_HEAD + size, why);
    *fatal = !bytes;
    if (!bytes) return 0;
    r->size = (uint32_t)size;
    r->payload = bytes + RECORD_HEAD;
    if (get(bytes + 8, 8) != checksum(place, bytes, RECORD_HEAD + size, 8)) return fail(why, "its checksum is wrong");
    return record_is_sound(meta, r) || fail(why, "its contents are invalid");
}

/* The id that a damaged template seems to have, for a message; "" if there is none to be read. */
static void probable_id(const store_meta *meta, const record *r, char out[80]) {
    size_t length[4], n;
    out[0] = 0;
    if (!r->size || r->type != TEMPLATE || !template_lengths(meta, r->payload, r->size, length)) return;
    const unsigned char *id = r->payload + TEMPLATE_HEAD + row_bytes(meta);
    for (n = 0; n < length[0]; n++)
        if (id[n] < 0x20 || id[n] == 0x7f) return;
    snprintf(out, 80, " (\"%.*s\")", (int)(length[0] < 70 ? length[0] : 70), (const char *)id);
}

/* --- tables of ids and identities --------------------------------------------------------------------------------- */

static const char *text_of(const gallery_store *s, const entry *e, int which) {
    const char *text = s->texts + e->text;
    for (int i = 0; i < which; i++) text += e->length[i] + 1;
    return text;
}

static uint32_t *slot_of(const gallery_store *s, uint32_t *table, int which, const char *name) {
    uint64_t hash = 0xcbf29ce484222325;
    for (const char *c = name; *c; c++) hash = (hash ^ (unsigned char)*c) * 0x100000001b3;
    size_t at = (size_t)(hash ^ hash >> 32) & (s->table - 1);
    for (; table[at]; at = (at + 1) & (s->table - 1)) {
        const entry *e = &s->at[table[at] - 1];
        if (!(which == 0 && e->removed) && strcmp(text_of(s, e, which), name) == 0) break;
    }
    return &table[at];
}

/* Enters every entry into tables of twice the size. */
static int rebuild_tables(gallery_store *s, char why[STORE_WHY]) {
    size_t wanted = s->table ? s->table * 2 : 1024;
    while (wanted < 2 * s->count) wanted *= 2;
    uint32_t *ids = calloc(wanted, sizeof *ids), *names = calloc(wanted, sizeof *names);
    if (!ids || !names) {
        free(ids), free(names);
        return fail(why, "out of memory");
    }
    free(s->ids), free(s->names);
    s->ids = ids, s->names = names, s->table = wanted, s->ids_used = 0;
    for (size_t i = 0; i < s->count; i++) {
        uint32_t *name = slot_of(s, s->names, 1, text_of(s, &s->at[i], 1));
        if (!*name) *name = (uint32_t)i + 1;
        if (s->at[i].removed) continue;
        *slot_of(s, s->ids, 0, text_of(s, &s->at[i], 0)) = (uint32_t)i + 1;
        s->ids_used++;
    }
    return 1;
}

size_t store_find(const gallery_store *s, const char *id) {
    uint32_t at = s->table ? *slot_of(s, s->ids, 0, id) : 0;
    return at ? at - 1 : SIZE_MAX;
}

/* A new entry with these texts; its rows are the caller's business. NULL with a reason. */
static entry *new_entry(gallery_store *s, const char *const text[4], const size_t length[4], char why[STORE_WHY]) {
    size_t total = length[0] + length[1] + length[2] + length[3] + 4;
    if (s->count >= UINT32_MAX - 1) {
        fail(why, "has as many templates as a gallery can have");
        return NULL;
    }
    if (!grow((void **)&s->at, &s->cap, s->count + 1, sizeof *s->at, why) ||
        !grow((void **)&s->texts, &s->texts_cap, s->texts_len + total, 1, why)) return NULL;
    entry *e = &s->at[s->count];
    memset(e, 0, sizeof *e);
    e->text = s->texts_len;
    for (int i = 0; i < 4; i++) {
        memcpy(s->texts + s->texts_len, text[i], length[i]);
        s->texts[s->texts_len + length[i]] = 0;
        s->texts_len += length[i] + 1;
        e->length[i] = (uint16_t)length[i];
    }
    return e;
}

/* Makes the newest entry known; its id must be new. */
static int enter(gallery_store *s, char why[STORE_WHY]) {
    if (2 * (s->ids_used + 1) > s->table && !rebuild_tables(s, why)) return 0;
    entry *e = &s->at[s->count];
    uint32_t *name = slot_of(s, s->names, 1, text_of(s, e, 1));
    *slot_of(s, s->ids, 0, text_of(s, e, 0)) = (uint32_t)++s->count;
    if (!*name) *name = (uint32_t)s->count;
    s->ids_used++;
    s->live++;
    return 1;
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

static int take_template(gallery_store *s, const record *r, char why[STORE_WHY]) {
    const char *text[4];
    size_t length[4], bytes = row_bytes(&s->meta);
    if (!template_lengths(&s->meta, r->payload, r->size, length)) return fail(why, "its contents are invalid");
    text[0] = (const char *)r->payload + TEMPLATE_HEAD + bytes;
    for (int i = 1; i < 4; i++) text[i] = text[i - 1] + length[i - 1];
    entry *e = new_entry(s, text, length, why);
    if (!e) return -1;
    if (store_find(s, s->texts + e->text) != SIZE_MAX) {
        s->texts_len = e->text;
        return fail(why, "its id is in the gallery twice");
    }
    e->time = (int64_t)get(r->payload + 8, 8);
    e->size = get(r->payload + 16, 8);
    e->hash = get(r->payload + 24, 8);
    if (s->keep_rows) {
        if (!grow((void **)&s->rows, &s->rows_cap, s->count + 1, bytes, why)) return -1;
        memcpy(s->rows + s->count * bytes, r->payload + TEMPLATE_HEAD, bytes);
    }
    return enter(s, why) ? 1 : -1;
}

static void mark_removed(gallery_store *s, size_t at) {
    s->at[at].removed = 1;
    s->live--;
}

/* 1; 0 with a reason when the record is wrong; -1 when there is no memory. */
static int take(gallery_store *s, const record *r, char why[STORE_WHY]) {
    if (r->type == TEMPLATE) return take_template(s, r, why);
    if (r->type == REMOVAL) {
        size_t at = store_find(s, (const char *)r->payload);
        if (at != SIZE_MAX) mark_removed(s, at);
    } else if (r->type == THRESHOLD) {
        memcpy(&s->meta.threshold, r->payload, 8);
        if (isinf(s->meta.threshold)) return fail(why, "its threshold is infinite");
    } else if (r->type == DECODER) {
        if (!s->layout->header_record) return fail(why, "its contents are invalid"); /* version 1 has no such records */
        if (!store_join_decoders(s->meta.jpeg, (const char *)r->payload))
            return fail(why, "more than 4 JPEG decoders");
    }
    return 1;
}

/* After damage at `place`: where the next good record is, or the end. */
static uint64_t next_record(view *v, const store_meta *meta, uint64_t place, const record *damaged, int *fatal,
                            char why[STORE_WHY]) {
    record r;
    uint64_t next = place + RECORD_HEAD + damaged->size;
    if (damaged->size && (next == v->end || read_record(v, meta, next, &r, fatal, why))) return next;
    for (next = place + 8; next < v->end; next += 8)
        if (read_record(v, meta, next, &r, fatal, why) || *fatal) return next;
    return v->end;
}

/* Reads all records. Without fn the first damage ends it; fn hears of each, and the rest is read. */
static int walk(gallery_store *s, store_damage_fn fn, void *user, store_report *report, char why[STORE_WHY]) {
    view v = {s->fd, s->end, NULL, 0, 0, 0};
    char reason[STORE_WHY], text[STORE_WHY], id[80];
    int good = 1, fatal = 0;
    size_t number = 0;
    for (uint64_t place = s->layout->first; good && place < s->end; number++) {
        record r;
        if (number % 1024 == 0 && stopped(&s->host, why)) good = 0;
        if (!good) break;
        int taken = read_record(&v, &s->meta, place, &r, &fatal, reason) ? take(s, &r, reason) : 0;
        if (taken > 0) {
            place += RECORD_HEAD + r.size;
            continue;
        }
        if (taken < 0 || fatal) {
            good = fail(why, "%.*s", STORE_WHY - 1, reason);
            break;
        }
        probable_id(&s->meta, &r, id);
        snprintf(text, sizeof text, "record %zu at byte %llu%s is damaged: %.200s", number + 1,
                 (unsigned long long)place, id, reason);
        report->damaged++;
        if (!fn) good = fail(why, "%s", text);
        if (!fn) break;
        fn(text, user);
        place = next_record(&v, &s->meta, place, &r, &fatal, reason);
        if (fatal) good = fail(why, "%.*s", STORE_WHY - 1, reason);
    }
    report->records = number;
    if (good && number != s->records && s->records != UINT64_MAX && !report->damaged) {
        report->damaged++;
        snprintf(text, sizeof text, "is damaged: it has %zu records and should have %llu", number,
                 (unsigned long long)s->records);
        if (fn) fn(text, user);
        else good = fail(why, "%s", text);
    }
    free(v.bytes);
    return good;
}

/* Forgets removed entries and numbers the identities of the others. */
int store_settle(gallery_store *s, char why[STORE_WHY]) {
    size_t n = 0, bytes = row_bytes(&s->meta), cap = 0;
    for (size_t i = 0; i < s->count; i++) {
        if (s->at[i].removed) continue;
        if (n != i && s->keep_rows) memcpy(s->rows + n * bytes, s->rows + i * bytes, bytes);
        s->at[n++] = s->at[i];
    }
    s->count = n;
    if (!rebuild_tables(s, why) || !grow((void **)&s->identities, &cap, n, sizeof *s->identities, why)) return 0;
    for (size_t i = 0; i < n; i++) {
        size_t first = *slot_of(s, s->names, 1, text_of(s, &s->at[i], 1)) - 1;
        s->at[i].identity = first == i ? (uint32_t)s->identity_count++ : s->at[first].identity;
        s->identities[i] = s->at[i].identity;
    }
    return 1;
}

static gallery_store *new_store(const char *path, const store_host *host, char why[STORE_WHY]) {
    gallery_store *s = calloc(1, sizeof *s);
    char *copy = strdup(path);
    if (!s || !copy) {
        fail(why, "out of memory");
        free(s), free(copy);
        return NULL;
    }
    s->path = copy;
    s->fd = -1;
    if (host) s->host = *host;
    return s;
}

gallery_store *store_in_memory(const store_meta *meta, char why[STORE_WHY]) {
    gallery_store *s = new_store("", NULL, why);
    if (!s) return NULL;
    s->meta = *meta;
    s->in_memory = 1;
    if (meta_is_sound(meta)) return s;
    fail(why, "a gallery needs the fingerprint and the size of 1 or 2 models");
    store_close(s);
    return NULL;
}

/* Opens the file; a writer locks it, and takes the file that has the name once it is locked. */
static int open_file(gallery_store *s, int writer, char why[STORE_WHY]) {
    int told = 0;
    for (;;) {
        struct stat mine, named;
        s->fd = open(s->path, (writer ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NONBLOCK);
        if (s->fd < 0) return fail_errno(why, "cannot open");
        while (writer && flock(s->fd, told ? LOCK_EX : LOCK_EX | LOCK_NB) != 0) {
            if (errno == EINTR && !stopped(&s->host, why)) continue;
            if (errno != EWOULDBLOCK) return errno == EINTR ? 0 : fail_errno(why, "cannot lock");
            if (s->host.waiting) s->host.waiting(s->path);
            told = 1;
        }
        if (!writer) return 1;
        if (fstat(s->fd, &mine) == 0 && stat(s->path, &named) == 0 && mine.st_dev == named.st_dev &&
            mine.st_ino == named.st_ino) return 1;
        close(s->fd);
    }
}

static gallery_store *load(const char *path, int writer, int rows, const store_host *host, char why[STORE_WHY]) {
    store_report report;
    gallery_store *s = new_store(path, host, why);
    memset(&report, 0, sizeof report);
    if (!s) return NULL;
    s->keep_rows = rows;
    if (open_file(s, writer, why) && read_head(s, 0, why) && walk(s, NULL, NULL, &report, why) &&
        store_settle(s, why)) {
        s->tail = s->end;
        s->tail_records = s->records;
        s->next_header = s->end + HEADER_EVERY;
        if (!writer || s->file_size == s->end) return s;
        /* What is cut off may be named by an end mark that is on disk still, and was undone in memory only. */
        if (sync_file(s->fd, why)) {
            if (cut_file(s->fd, s->end)) return s;
            fail_errno(why, "cannot write");
        }
    }
    s->tail = s->end; /* nothing of ours to cut off */
    store_close(s);
    return NULL;
}

gallery_store *store_read(const char *path, int rows, const store_host *host, char why[STORE_WHY]) {
    gallery_store *s = load(path, 0, rows, host, why);
    if (!s) return NULL;
    close(s->fd);
    s->fd = -1;
    return s;
}

gallery_store *store_write(const char *path, const store_host *host, char why[STORE_WHY]) {
    return load(path, 1, 0, host, why);
}

void store_close(gallery_store *s) {
    if (!s) return;
    if (s->fd >= 0) {
        if (s->tail > s->end && !s->keep_tail) cut_file(s->fd, s->end); /* if not, the next writer will do it */
        close(s->fd);
    }
    free(s->path), free(s->at), free(s->texts), free(s->rows), free(s->ids), free(s->names), free(s->identities);
    free(s->pending);
    free(s);
}

int store_is_gallery(const char *path) {
    char magic[sizeof MAGIC];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return 0;
    int same = read(fd, magic, sizeof magic) == (ssize_t)sizeof magic && memcmp(magic, MAGIC, sizeof magic) == 0;
    close(fd);
    return same;
}

const store_meta *store_info(const gallery_store *s) { return &s->meta; }
size_t store_count(const gallery_store *s) { return s->count; }
const uint32_t *store_identities(const gallery_store *s) { return s->identities; }
size_t store_identity_count(const gallery_store *s) { return s->identity_count; }

const float *store_floats(const gallery_store *s) {
    return s->meta.halves ? NULL : (const float *)(const void *)s->rows;
}

const uint16_t *store_halves(const gallery_store *s) {
    return s->meta.halves ? (const uint16_t *)(const void *)s->rows : NULL;
}

store_item store_at(const gallery_store *s, size_t index) {
    const entry *e = &s->at[index];
    store_item item = {text_of(s, e, 0), text_of(s, e, 1), text_of(s, e, 2), text_of(s, e, 3), e->time, e->size,
                       e->hash};
    return item;
}

/* --- writing ------------------------------------------------------------------------------------------------------ */

static int flush(gallery_store *s, char why[STORE_WHY]) {
    int good = !s->pending_len || write_at(s->fd, s->pending, s->pending_len, s->tail, why);
    s->tail += s->pending_len; /* even after a failure: some of it may be in the file */
    s->pending_len = 0;
    if (!good) s->failed = 1;
    return good;
}

/* Room for a record behind those that wait. NULL with a reason. */
static unsigned char *begin_plain_record(gallery_store *s, uint32_t type, size_t size, char why[STORE_WHY]) {
    if (s->failed) {
        fail(why, "an earlier write failed");
        return NULL;
    }
    if (s->pending_len >= BUFFER && !flush(s, why)) return NULL;
    if (!grow((void **)&s->pending, &s->pending_cap, s->pending_len + RECORD_HEAD + size, 1, why)) return NULL;
    unsigned char *bytes = s->pending + s->pending_len;
    memset(bytes, 0, RECORD_HEAD + size);
    put(bytes, type, 4);
    put(bytes + 4, size, 4);
    return bytes + RECORD_HEAD;
}

static void end_record(gallery_store *s) {
    unsigned char *bytes = s->pending + s->pending_len;
    size_t size = RECORD_HEAD + (size_t)get(bytes + 4, 4);
    put(bytes + 8, checksum(s->tail + s->pending_len, bytes, size, 8), 8);
    s->pending_len += size;
    s->tail_records++;
}

/* The same, after a copy of the header where one is due. */
static unsigned char *begin_record(gallery_store *s, uint32_t type, size_t size, char why[STORE_WHY]) {
    if (s->layout->header_record && s->tail + s->pending_len >= s->next_header) {
        unsigned char *payload = begin_plain_record(s, HEADER, HEADER_BYTES, why);
        if (!payload) return NULL;
        head_bytes(&s->meta, payload);
        end_record(s);
        s->next_header = s->tail + s->pending_len + HEADER_EVERY;
    }
    return begin_plain_record(s, type, size, why);
}

/* What a file has of it stands in a record; memory keeps it with the entry. */
static int add_in_memory(gallery_store *s, entry *e, const store_item *item, const void *row, char why[STORE_WHY]) {
    size_t bytes = row_bytes(&s->meta);
    e->time = item->time, e->size = item->source_size, e->hash = item->source_hash;
    if (row) {
        if (!grow((void **)&s->rows, &s->rows_cap, s->count + 1, bytes, why)) return 0;
        memcpy(s->rows + s->count * bytes, row, bytes);
    }
    return enter(s, why);
}

int store_add(gallery_store *s, const store_item *item, const void *row, char why[STORE_WHY]) {
    const char *text[4] = {item->id, item->identity, item->camera, item->source};
    size_t length[4], bytes = row_bytes(&s->meta), total = TEMPLATE_HEAD + bytes;
    for (int i = 0; i < 4; i++) {
        total += length[i] = strlen(text[i]);
        if (length[i] > STORE_MAX_TEXT || (i < 2 && !length[i]))
            return fail(why, "a template's texts have 1 to %d bytes", STORE_MAX_TEXT);
    }
    if (store_find(s, item->id) != SIZE_MAX) return fail(why, "is already in the gallery");
    if (row && !values_are_finite(&s->meta, row)) return fail(why, "its embedding is not finite");
    if (s->in_memory) {
        entry *kept = new_entry(s, text, length, why);
        return kept && add_in_memory(s, kept, item, row, why);
    }
    unsigned char *payload = begin_record(s, TEMPLATE, rounded(total), why);
    entry *e = payload ? new_entry(s, text, length, why) : NULL;
    if (!e || !enter(s, why)) return 0;
    for (int i = 0; i < 4; i++) put(payload + 2 * i, length[i], 2);
    put(payload + 8, (uint64_t)item->time, 8);
    put(payload + 16, item->source_size, 8);
    put(payload + 24, item->source_hash, 8);
    memcpy(payload + TEMPLATE_HEAD, row, bytes);
    unsigned char *to = payload + TEMPLATE_HEAD + bytes;
    for (int i = 0; i < 4; to += length[i++]) memcpy(to, text[i], length[i]);
    end_record(s);
    return 1;
}

int store_remove(gallery_store *s, const char *id, char why[STORE_WHY]) {
    size_t at = store_find(s, id), length = strlen(id);
    if (at == SIZE_MAX) return fail(why, "is not in the gallery");
    unsigned char *payload = begin_record(s, REMOVAL, rounded(length + 1), why);
    if (!payload) return 0;
    memcpy(payload, id, length);
    end_record(s);
    mark_removed(s, at);
    return 1;
}

int store_set_threshold(gallery_store *s, double threshold, char why[STORE_WHY]) {
    unsigned char *payload;
    if (isinf(threshold)) return fail(why, "a threshold cannot be infinite");
    payload = begin_record(s, THRESHOLD, 8, why);
    if (!payload) return 0;
    memcpy(payload, &threshold, 8);
    end_record(s);
    s->meta.threshold = threshold;
    return 1;
}

/* Where the gallery has not got it yet. A file of version 1 is left without, because the programs that it may be for
   would refuse such a record. */
static int add_decoder(gallery_store *s, const char *name, size_t length, char why[STORE_WHY]) {
    char joined[STORE_JPEG];
    memcpy(joined, s->meta.jpeg, sizeof joined);
    join_decoder(joined, name, length);
    if (strcmp(joined, s->meta.jpeg) == 0) return 1;
    if (!s->in_memory) {
        if (!s->layout->header_record) return 1;
        unsigned char *payload = begin_record(s, DECODER, rounded(length + 1), why);
        if (!payload) return 0;
        memcpy(payload, name, length);
        end_record(s);
    }
    memcpy(s->meta.jpeg, joined, sizeof joined);
    return 1;
}

int store_add_decoders(gallery_store *s, const char *names, char why[STORE_WHY]) {
    char joined[STORE_JPEG];
    memcpy(joined, s->meta.jpeg, sizeof joined);
    if (!store_join_decoders(joined, names))
        return fail(why, "names of decoders of JPEG files have 1 to %d characters, and a gallery has up to %d",
                    STORE_DECODER - 1, STORE_DECODERS);
    for (const char *at = names; *at;) {
        size_t n = strcspn(at, ",");
        if (!add_decoder(s, at, n, why)) return 0;
        at = behind_decoder(at, n);
    }
    return 1;
}

/* The end mark of this sequence: the older of the two gets the new end. */
static int write_mark(int fd, const layout *l, uint64_t sequence, uint64_t end, uint64_t records,
                      char why[STORE_WHY]) {
    unsigned char mark[SECTOR];
    const uint64_t values[3] = {sequence, end, records};
    mark_bytes(l, l->mark[sequence % 2], values, mark);
    return write_at(fd, mark, l->block, l->mark[sequence % 2], why) && sync_file(fd, why);
}

/* A new end mark that did not reach the disk, or only perhaps: an older one takes its place again. Where that fails,
   too, the records stay, because either mark may be found. */
static void undo_mark(gallery_store *s) {
    char reason[STORE_WHY];
    s->keep_tail = !write_mark(s->fd, s->layout, s->sequence - 1, s->end, s->records, reason);
}

int store_commit(gallery_store *s, char why[STORE_WHY]) {
    if (s->failed) return fail(why, "an earlier write failed");
    if (!flush(s, why)) return 0;
    if (s->tail == s->end) return 1;
    s->failed = !sync_file(s->fd, why);
    if (s->failed) return 0;
    s->failed = !write_mark(s->fd, s->layout, s->sequence + 1, s->tail, s->tail_records, why);
    if (s->failed) undo_mark(s);
    if (s->failed) return 0;
    s->sequence++;
    s->end = s->tail;
    s->records = s->tail_records;
    return 1;
}

/* Headers and end marks of a file that has no records. */
static int write_head(int fd, const store_meta *meta, char why[STORE_WHY]) {
    const layout *l = NEWEST;
    unsigned char block[SECTOR] = {0}, copy[RECORD_HEAD + HEADER_BYTES] = {0};
    put(copy, HEADER, 4);
    put(copy + 4, HEADER_BYTES, 4);
    head_bytes(meta, copy + RECORD_HEAD);
    put(copy + 8, checksum(l->header_record, copy, sizeof copy, 8), 8);
    head_bytes(meta, block);
    for (int i = 0; i < l->heads; i++) {
        seal(l, l->head[i], block);
        if (!write_at(fd, block, sizeof block, l->head[i], why)) return 0;
    }
    return write_at(fd, copy, sizeof copy, l->header_record, why) &&
           write_mark(fd, l, 0, l->first, 0, why) && write_mark(fd, l, 1, l->first, 0, why);
}

/* Makes a name durable. Not every file system can, which is no error: the data itself is safe. */
static int sync_folder(const char *path, char why[STORE_WHY]) {
    char *copy = strdup(path), *slash = copy ? strrchr(copy, '/') : NULL;
    int good = 1;
    if (slash) slash[slash == copy] = 0;
    int fd = copy ? open(slash ? copy : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (fd >= 0) {
        good = sync_file(fd, why) || (errno != EIO && errno != ENOSPC);
        close(fd);
    }
    free(copy);
    return good;
}

/* PATH.new-NUMBER, opened empty; the name is the caller's to free. */
static int open_temporary(const char *path, long number, mode_t mode, char **name, char why[STORE_WHY]) {
    size_t size = strlen(path) + 32;
    int fd = -1;
    *name = malloc(size);
    if (!*name) {
        fail(why, "out of memory");
        return -1;
    }
    snprintf(*name, size, "%s.new-%ld", path, number);
    unlink(*name);
    fd = open(*name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
    if (fd < 0) fail_errno(why, "cannot write here");
    return fd;
}

int store_create(const char *path, const store_meta *meta, char why[STORE_WHY]) {
    char *name;
    if (!meta_is_sound(meta)) return fail(why, "a gallery needs the fingerprint and the size of 1 or 2 models");
    int fd = open_temporary(path, (long)getpid(), 0666, &name, why), good = fd >= 0 && write_head(fd, meta, why);
    int result = 0;
    if (good) UNINTERRUPTED(result, link(name, path));
    if (result != 0) {
        struct stat st;
        int exists = errno == EEXIST || lstat(path, &st) == 0; /* some file systems have no links */
        if (!exists) UNINTERRUPTED(result, rename(name, path));
        if (exists) good = fail(why, "exists already");
        else if (result != 0) good = fail_errno(why, "cannot write here");
    }
    if (fd >= 0) {
        unlink(name);
        close(fd);
    }
    if (good && !sync_folder(path, why)) {
        unlink(path); /* nobody was told of it */
        good = 0;
    }
    free(name);
    return good;
}

/* --- looking at everything, and writing it anew ------------------------------------------------------------------- */

int store_verify(const char *path, const store_host *host, store_damage_fn fn, void *user, store_report *report,
                 store_meta *meta, char why[STORE_WHY]) {
    gallery_store *s = new_store(path, host, why);
    memset(report, 0, sizeof *report);
    if (!s) return 0;
    int good = open_file(s, 0, why) && read_head(s, 0, why) && walk(s, fn, user, report, why);
    report->bytes = s->file_size;
    report->unused = s->file_size > s->end ? s->file_size - s->end : 0;
    report->templates = s->live;
    report->version = s->layout ? (int)s->layout->version : 0;
    if (meta) *meta = s->meta;
    if (good && report->damaged) good = fail(why, "%zu damaged records", report->damaged);
    store_close(s);
    return good;
}

/* The templates that are left, in their order, behind each other in `to`. */
static int copy_records(gallery_store *from, gallery_store *to, char why[STORE_WHY]) {
    view v = {from->fd, from->end, NULL, 0, 0, 0};
    size_t entry_number = 0;
    char reason[STORE_WHY];
    int good = 1, fatal = 0;
    for (uint64_t place = from->layout->first; good && place < from->end && entry_number < from->count;) {
        record r;
        if (!read_record(&v, &from->meta, place, &r, &fatal, reason)) {
            place = next_record(&v, &from->meta, place, &r, &fatal, reason);
            continue;
        }
        place += RECORD_HEAD + r.size;
        if (r.type != TEMPLATE) continue;
        const entry *e = &from->at[entry_number];
        const unsigned char *id = r.payload + TEMPLATE_HEAD + row_bytes(&from->meta);
        if (get(r.payload, 2) != e->length[0] || memcmp(id, text_of(from, e, 0), e->length[0]) != 0) continue;
        entry_number++;
        if (e->removed) continue;
        unsigned char *payload = begin_record(to, TEMPLATE, r.size, why);
        good = payload && !(entry_number % 1024 == 0 && stopped(&from->host, why));
        if (!good) break;
        memcpy(payload, r.payload, r.size);
        end_record(to);
    }
    free(v.bytes);
    if (fatal) good = fail(why, "%.*s", STORE_WHY - 1, reason);
    return good && store_commit(to, why);
}

/* Owner and mode of the old file, before anything is in the new one, which nobody else can read until then. Who may
   not give a file away keeps it; a group that would be another one than before has no more rights than anybody. */
static int keep_rights(int old, int fd, char why[STORE_WHY]) {
    struct stat st, mine;
    if (fstat(old, &st) != 0 || fstat(fd, &mine) != 0) return fail_errno(why, "cannot read");
    mode_t mode = st.st_mode & 0777;
    int result = 0;
    if (st.st_uid != mine.st_uid || st.st_gid != mine.st_gid) UNINTERRUPTED(result, fchown(fd, st.st_uid, st.st_gid));
    if (result != 0) UNINTERRUPTED(result, fchown(fd, (uid_t)-1, st.st_gid));
    if (result != 0) mode = (mode & ~(mode_t)070) | (mode & 07) << 3;
    UNINTERRUPTED(result, fchmod(fd, mode));
    return result == 0 || fail_errno(why, "cannot write");
}

/* The locked file's own path: a symbolic link to it stays one, or the link and the file would be two galleries. NULL
   with a reason. */
static char *own_path(const gallery_store *s, char why[STORE_WHY]) {
    struct stat mine, named;
    char *own = realpath(s->path, NULL);
    if (own && fstat(s->fd, &mine) == 0 && stat(own, &named) == 0) {
        if (mine.st_dev == named.st_dev && mine.st_ino == named.st_ino) return own;
        errno = ESTALE;
    }
    fail_errno(why, "cannot be replaced");
    free(own);
    return NULL;
}

static int write_anew(gallery_store *s, char why[STORE_WHY]) {
    char *name = NULL, *path = own_path(s, why);
    gallery_store *to = path ? new_store(path, &s->host, why) : NULL;
    free(path);
    if (!to) return 0;
    to->meta = s->meta;
    to->meta.jpeg[0] = 0; /* until they are written */
    to->layout = NEWEST;
    to->sequence = 1, to->end = to->tail = NEWEST->first;
    to->next_header = to->end + HEADER_EVERY;
    to->fd = open_temporary(to->path, 0, 0600, &name, why);
    int opened = to->fd >= 0;
    int good = opened && keep_rights(s->fd, to->fd, why) && write_head(to->fd, &s->meta, why) &&
               store_add_decoders(to, s->live ? s->meta.jpeg : "", why) && copy_records(s, to, why);
    if (good) {
        int result;
        UNINTERRUPTED(result, rename(name, to->path));
        good = result == 0 || fail_errno(why, "cannot rename the finished file");
    }
    if (good) good = sync_folder(to->path, why);
    else if (opened) unlink(name);
    free(name);
    store_close(to);
    return good;
}

int store_compact(const char *path, int salvage, const store_host *host, store_damage_fn fn, void *user, size_t *kept,
                  char why[STORE_WHY]) {
    store_report report;
    gallery_store *s = new_store(path, host, why);
    memset(&report, 0, sizeof report);
    if (!s) return 0;
    int good = open_file(s, 1, why) && read_head(s, salvage, why) &&
               walk(s, salvage ? fn : NULL, user, &report, why) && write_anew(s, why);
    *kept = s->live;
    s->tail = s->end;
    store_close(s);
    return good;
}

int store_hash_file(const char *path, uint64_t *size, uint64_t *hash) {
    unsigned char chunk[1 << 14];
    size_t have = 0;
    ssize_t n = 1;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    *size = *hash = 0;
    if (fd < 0) return 0;
    for (;;) {
        n = read(fd, chunk + have, sizeof chunk - have);
        if (n > 0) have += (size_t)n;
        if (n > 0 && have < sizeof chunk) continue;
        *size += have;
        memset(chunk + have, 0, rounded(have) - have);
        *hash = mix(*hash, chunk, rounded(have));
        if (n <= 0) break;
        have = 0;
    }
    close(fd);
    if (n < 0) *size = *hash = 0;
    return n == 0;
}
