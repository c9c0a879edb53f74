#include "weights/zip.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

enum {
    END_SIZE = 22,     /* the record at the end of the archive, without its comment */
    END64_SIZE = 56,
    LOCATOR_SIZE = 20, /* holds the offset of the zip64 record and comes before the end record */
    ENTRY_SIZE = 46,   /* in the directory, without name, extra field and comment */
    LOCAL_SIZE = 30,
    MAX_COMMENT = 65535
};
#define ALL16 0xffffu
#define ALL32 0xffffffffu /* the number is in a zip64 field instead */
#define MAX_DIRECTORY ((uint64_t)256 << 20)

typedef struct end_record {
    uint64_t at, entries, size, offset;
} end_record;

static int has_signature(const unsigned char *p, const char *letters) {
    return p[0] == 'P' && p[1] == 'K' && p[2] == (unsigned char)letters[0] && p[3] == (unsigned char)letters[1];
}

/* Finds the end record: it ends the file, or is followed by a comment that does. */
static int find_end(const source *s, end_record *e, text *why) {
    uint64_t tail = s->size < END_SIZE + MAX_COMMENT ? s->size : END_SIZE + MAX_COMMENT;
    unsigned char *bytes = mem_alloc((size_t)tail);
    int found = 0;
    if (!bytes) return text_no_memory(why);
    if (!source_read(s, s->size - tail, bytes, (size_t)tail, why)) {
        free(bytes);
        return 0;
    }
    for (size_t back = END_SIZE; back <= tail && !found; back++) {
        const unsigned char *p = bytes + (tail - back);
        if (!has_signature(p, "\5\6") || le16(p + 20) != back - END_SIZE) continue;
        found = 1;
        e->at = s->size - back;
        e->entries = le16(p + 10);
        e->size = le32(p + 12);
        e->offset = le32(p + 16);
        if (le16(p + 4) != 0 && le16(p + 4) != ALL16) found = -1;
    }
    free(bytes);
    if (found > 0) return 1;
    if (found < 0) return refuse(why, "this is one part of a multi-part zip archive");
    return refuse(why, "the zip archive has no directory at its end; was it downloaded completely?");
}

static int find_end64(const source *s, end_record *e, text *why) {
    unsigned char locator[LOCATOR_SIZE], record[END64_SIZE];
    if (e->at < LOCATOR_SIZE) return 1;
    if (!source_read(s, e->at - LOCATOR_SIZE, locator, sizeof locator, why)) return 0;
    if (!has_signature(locator, "\6\7")) return 1;
    uint64_t at = le64(locator + 8);
    if (at > e->at - LOCATOR_SIZE || e->at - LOCATOR_SIZE - at < END64_SIZE)
        return refuse(why, "the zip archive's zip64 record lies outside the file");
    if (!source_read(s, at, record, sizeof record, why)) return 0;
    if (!has_signature(record, "\6\6")) return refuse(why, "the zip archive's zip64 record is damaged");
    e->at = at;
    e->entries = le64(record + 32);
    e->size = le64(record + 40);
    e->offset = le64(record + 48);
    return 1;
}

/* Reads sizes and offset that do not fit in 32 bits from the entry's extra field. */
static int read_zip64(zip_member *m, uint64_t *packed, const unsigned char *extra, size_t size) {
    uint64_t *wanted[] = {&m->size, packed, &m->header};
    while (size >= 4) {
        size_t n = le16(extra + 2);
        if (n > size - 4) return 0;
        if (le16(extra) == 1) {
            const unsigned char *p = extra + 4;
            for (int i = 0; i < 3; i++) {
                if (*wanted[i] != ALL32) continue;
                if (n < 8) return 0;
                *wanted[i] = le64(p);
                p += 8;
                n -= 8;
            }
            return 1;
        }
        extra += 4 + n;
        size -= 4 + n;
    }
    return m->size != ALL32 && *packed != ALL32 && m->header != ALL32;
}

/* Reads the entry at p, of which at most `left` bytes exist. Returns its length; 0 with the reason in why. Moves the
   name one byte towards the front to make room for a terminating 0 byte; the byte that it overwrites was read
   before. */
static size_t read_entry(zip *z, char *entry, size_t left, text *why) {
    const unsigned char *p = (const unsigned char *)entry;
    if (left < ENTRY_SIZE || !has_signature(p, "\1\2"))
        return (size_t)refuse(why, "entry %zu of the zip archive's directory is damaged", z->count);
    size_t name = le16(p + 28), extra = le16(p + 30), length = ENTRY_SIZE + name + extra + le16(p + 32);
    if (length > left) return (size_t)refuse(why, "entry %zu of the zip archive's directory is cut off", z->count);
    zip_member m;
    memset(&m, 0, sizeof m);
    m.flags = le16(p + 8);
    m.method = le16(p + 10);
    m.crc = le32(p + 16);
    uint64_t packed = le32(p + 20);
    m.size = le32(p + 24);
    m.header = le32(p + 42);
    if (memchr(p + ENTRY_SIZE, 0, name)) return (size_t)refuse(why, "a zip member's name contains a zero byte");
    if (!read_zip64(&m, &packed, p + ENTRY_SIZE + name, extra))
        return (size_t)refuse(why, "entry %zu of the zip archive's directory has a damaged zip64 field", z->count);
    memmove(entry + ENTRY_SIZE - 1, entry + ENTRY_SIZE, name);
    entry[ENTRY_SIZE - 1 + name] = 0;
    m.name = entry + ENTRY_SIZE - 1;
    if (m.method == 0 && packed != m.size)
        return (size_t)refuse(why, "zip member \"%.200s\" is stored, but has two different sizes", m.name);
    if (m.header > z->directory_at)
        return (size_t)refuse(why, "zip member \"%.200s\" lies outside the file", m.name);
    z->members[z->count++] = m;
    return length;
}

static int by_name(const void *a, const void *b) {
    return strcmp(((const zip_member *)a)->name, ((const zip_member *)b)->name);
}

static int read_directory(zip *z, const source *s, const end_record *e, text *why) {
    if (e->offset > e->at || e->size > e->at - e->offset)
        return refuse(why, "the zip archive's directory lies outside the file; was it downloaded completely?");
    if (e->size > MAX_DIRECTORY) return refuse(why, "the zip archive's directory has %llu bytes; the limit is %llu",
                                               (unsigned long long)e->size, (unsigned long long)MAX_DIRECTORY);
    if (e->entries > e->size / ENTRY_SIZE)
        return refuse(why, "%llu members do not fit into the zip archive's directory of %llu bytes",
                      (unsigned long long)e->entries, (unsigned long long)e->size);
    z->directory = mem_alloc((size_t)e->size);
    z->directory_at = e->offset;
    z->members = mem_array((size_t)e->entries, sizeof *z->members);
    if (!z->directory || !z->members) return text_no_memory(why);
    if (!source_read(s, e->offset, z->directory, (size_t)e->size, why)) return 0;
    for (size_t at = 0; z->count < e->entries;) {
        size_t n = read_entry(z, z->directory + at, (size_t)e->size - at, why);
        if (!n) return 0;
        at += n;
    }
    qsort(z->members, z->count, sizeof *z->members, by_name);
    for (size_t i = 1; i < z->count; i++)
        if (by_name(z->members + i - 1, z->members + i) == 0)
            return refuse(why, "the zip archive has two members named \"%.200s\"", z->members[i].name);
    return 1;
}

int zip_open(zip *z, const source *s, text *why) {
    end_record e;
    memset(&e, 0, sizeof e);
    memset(z, 0, sizeof *z);
    if (find_end(s, &e, why) && find_end64(s, &e, why) && read_directory(z, s, &e, why)) return 1;
    zip_close(z);
    return 0;
}

void zip_close(zip *z) {
    free(z->members);
    free(z->directory);
    memset(z, 0, sizeof *z);
}

zip_member *zip_find(const zip *z, const char *name) {
    zip_member key = {0};
    key.name = name;
    return z->count ? bsearch(&key, z->members, z->count, sizeof key, by_name) : NULL;
}

int zip_locate(const zip *z, const source *s, zip_member *m, text *why) {
    unsigned char local[LOCAL_SIZE];
    if (m->flags & 1) return refuse(why, "zip member \"%.200s\" is encrypted", m->name);
    if (m->method != 0)
        return refuse(why, "zip member \"%.200s\" is compressed (%s), which torch.save never does; unpack the archive "
                      "and repack it with zip -0 -r", m->name, m->method == 8 ? "deflate" : "another method");
    if (z->directory_at - m->header < LOCAL_SIZE)
        return refuse(why, "zip member \"%.200s\" overlaps the directory", m->name);
    if (!source_read(s, m->header, local, sizeof local, why)) return 0;
    if (!has_signature(local, "\3\4")) return refuse(why, "zip member \"%.200s\" has no local header", m->name);
    m->at = m->header + LOCAL_SIZE + le16(local + 26) + le16(local + 28); /* the directory's lengths can differ */
    if (m->at > z->directory_at || m->size > z->directory_at - m->at)
        return refuse(why, "zip member \"%.200s\" overlaps the directory", m->name);
    return 1;
}
