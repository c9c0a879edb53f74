#include "gallery/store_head.h"

#include "gallery/store_file.h"
#include "gallery/store_format.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* Places of the two headers and the two end marks. */
static uint64_t head_at(unsigned i) { return i ? HEAD_1 : HEAD_0; }
static uint64_t mark_at(unsigned i) { return i ? MARK_1 : MARK_0; }

int store_open(gallery_store *s, int writer, char why[STORE_WHY]) {
    int told = 0;
    for (;;) {
        struct stat mine, named;
        s->fd = open(s->path, (writer ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NONBLOCK);
        if (s->fd < 0) return store_fail_errno(why, "cannot open");
        while (writer && flock(s->fd, told ? LOCK_EX : LOCK_EX | LOCK_NB) != 0) {
            if (errno == EINTR && !store_stopped(&s->host, why)) continue;
            if (errno != EWOULDBLOCK) return errno == EINTR ? 0 : store_fail_errno(why, "cannot lock");
            if (s->host.waiting) s->host.waiting(s->path);
            told = 1;
        }
        if (!writer) return 1;
        if (fstat(s->fd, &mine) == 0 && stat(s->path, &named) == 0 && mine.st_dev == named.st_dev &&
            mine.st_ino == named.st_ino) return 1;
        close(s->fd);
    }
}

/* Takes the newer end mark. Returns how many of the two are intact; a writer may be writing one right now. */
static int parse_marks(gallery_store *s, const unsigned char *file) {
    int whole = 0;
    for (unsigned i = 0; i < 2; i++) {
        const unsigned char *mark = file + mark_at(i);
        if (!block_is_sealed(mark_at(i), mark)) continue;
        if (whole++ && bytes_get(mark, 8) <= s->sequence) continue;
        s->sequence = bytes_get(mark, 8), s->end = bytes_get(mark + 8, 8), s->records = bytes_get(mark + 16, 8);
    }
    return whole;
}

static int marks_are_sound(gallery_store *s, char why[STORE_WHY]) {
    if (s->end < FIRST_RECORD || s->end % 8) return store_fail(why, "is damaged: its end mark contradicts itself");
    if (s->file_size < s->end)
        return store_fail(why, "is truncated: it has %llu bytes and had %llu", (unsigned long long)s->file_size,
                          (unsigned long long)s->end);
    return 1;
}

/* Takes the header, of which all copies must be intact and equal. file: the bytes before the first record, or fewer. */
static int take_head(gallery_store *s, const unsigned char *file, size_t size, char why[STORE_WHY]) {
    static const char *const which[] = {"its header", "the copy of its header"};
    unsigned version = size < 12 ? 0 : (unsigned)bytes_get(file + 8, 4);
    if (size < STORE_MAGIC || memcmp(file, STORE_MAGIC_BYTES, STORE_MAGIC) != 0)
        return store_fail(why, "is not a gallery");
    if (size >= 12 && version != STORE_VERSION)
        return store_fail(why, "has format version %u; this program reads version %d", version, STORE_VERSION);
    if (size < FIRST_RECORD) return store_fail(why, "is truncated: it has %zu bytes, less than a header", size);
    for (unsigned i = 0; i < 2; i++)
        if (!block_is_sealed(head_at(i), file + head_at(i)))
            return store_fail(why, "is damaged: the checksum of %s is wrong", which[i]);
    if (!header_is_record(file + HEADER_RECORD, HEADER_RECORD))
        return store_fail(why, "is damaged: the checksum of %s is wrong", which[1]);
    if (memcmp(file, file + head_at(1), HEADER_BYTES) != 0 ||
        memcmp(file, file + HEADER_RECORD + RECORD_HEAD, HEADER_BYTES) != 0)
        return store_fail(why, "is damaged: its header and the copy of it differ");
    return header_parse(file, &s->meta) || store_fail(why, "is damaged: its header contradicts itself");
}

/* Finds any intact copy of the header, wherever it is. */
static int find_head(gallery_store *s, const unsigned char *file, size_t size, char why[STORE_WHY]) {
    view v = {s->fd, s->file_size, NULL, 0, 0, 0};
    int found = 0;
    for (unsigned i = 0; i < 2 && !found && size >= head_at(i) + SECTOR; i++)
        found = block_is_sealed(head_at(i), file + head_at(i)) &&
                bytes_get(file + head_at(i) + 8, 4) == STORE_VERSION && header_parse(file + head_at(i), &s->meta);
    for (uint64_t place = HEADER_RECORD; !found; place += 8) {
        if (v.end < RECORD_HEAD + HEADER_BYTES || place > v.end - RECORD_HEAD - HEADER_BYTES) break;
        const unsigned char *bytes = store_view_at(&v, place, RECORD_HEAD + HEADER_BYTES, why);
        if (!bytes) break;
        found = header_is_record(bytes, place) && header_parse(bytes + RECORD_HEAD, &s->meta);
    }
    free(v.bytes);
    return found || store_fail(why, "is damaged: no copy of its header can be read");
}

int store_read_head(gallery_store *s, int salvage, char why[STORE_WHY]) {
    unsigned char *file = malloc(FIRST_RECORD);
    struct stat st;
    int whole = 0, good = file != NULL || store_fail(why, "out of memory"), found = 0;
    for (int tries = 0; good && tries < 10 && whole < 2; tries++) { /* a writer may be writing a mark */
        if (tries) usleep(1000);
        if (fstat(s->fd, &st) != 0) good = store_fail_errno(why, "cannot read");
        else if (!S_ISREG(st.st_mode)) good = store_fail(why, "is not a regular file");
        if (!good) break;
        ssize_t n = pread(s->fd, file, FIRST_RECORD, 0);
        if (n < 0) good = store_fail_errno(why, "cannot read");
        if (!good) break;
        s->file_size = (uint64_t)st.st_size;
        found = take_head(s, file, (size_t)n, why);
        good = found || (salvage && find_head(s, file, (size_t)n, why));
        whole = good && (size_t)n >= FIRST_RECORD ? parse_marks(s, file) : 0;
        if (!found) break;
    }
    free(file);
    if (!good) return 0;
    if (fstat(s->fd, &st) == 0) s->file_size = (uint64_t)st.st_size; /* at least as new as the mark */
    if (whole == 2 && (!salvage || (s->end >= FIRST_RECORD && s->end <= s->file_size)))
        return marks_are_sound(s, why);
    if (salvage) { /* take all records that exist */
        s->end = s->file_size & ~(uint64_t)7;
        s->records = UINT64_MAX;
        return 1;
    }
    return store_fail(why, "is damaged: the checksum of %s is wrong", whole ? "an end mark" : "both end marks");
}

int store_write_mark(int fd, uint64_t sequence, uint64_t end, uint64_t records, char why[STORE_WHY]) {
    unsigned char mark[SECTOR] = {0};
    const uint64_t values[3] = {sequence, end, records}, place = mark_at(sequence % 2);
    for (int i = 0; i < 3; i++) bytes_put(mark + 8 * i, values[i], 8);
    block_seal(place, mark);
    return store_write_at(fd, mark, sizeof mark, place, why) && store_sync(fd, why);
}

int store_write_head(int fd, const store_meta *meta, char why[STORE_WHY]) {
    unsigned char block[SECTOR] = {0}, copy[RECORD_HEAD + HEADER_BYTES] = {0};
    bytes_put(copy, HEADER, 4);
    bytes_put(copy + 4, HEADER_BYTES, 4);
    header_write(meta, copy + RECORD_HEAD);
    bytes_put(copy + 8, bytes_checksum(HEADER_RECORD, copy, sizeof copy, 8), 8);
    header_write(meta, block);
    for (unsigned i = 0; i < 2; i++) {
        block_seal(head_at(i), block);
        if (!store_write_at(fd, block, sizeof block, head_at(i), why)) return 0;
    }
    return store_write_at(fd, copy, sizeof copy, HEADER_RECORD, why) &&
           store_write_mark(fd, 0, FIRST_RECORD, 0, why) && store_write_mark(fd, 1, FIRST_RECORD, 0, why);
}
