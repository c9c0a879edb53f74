/* Fuzzer for gallery files: tries the bytes unchanged, and with corrected checksums of header, end marks and records,
   so that the code after these checks is reached. Accepted files must be consistent, refused ones must come with a
   reason, and salvaged ones must be accepted.

   clang -std=c99 -D_GNU_SOURCE -O1 -g -I. -Itools -fsanitize=fuzzer,address,undefined
         tests/fuzz/fuzz_gallery.c -o build/fuzz_gallery -lm -lpthread -ldl
   build/fuzz_gallery CORPUS_DIRECTORY
   With any compiler, to replay inputs: add tests/fuzz/fuzz_main.c and leave out -fsanitize=fuzzer. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(condition) \
    if (!(condition)) fprintf(stderr, "violated: %s\n", #condition), abort()

/* The disk, with the gallery and the file that replaces it. It is in memory, because syncing a real one would take
   longer than everything else. */
enum { GALLERY = 100, TEMPORARY, DISK = 1 << 18 };
static struct {
    uint8_t bytes[DISK];
    size_t size;
    int exists;
} disk[2];

static int disk_open(void) {
    if (disk[0].exists) return GALLERY;
    errno = ENOENT;
    return -1;
}

static ssize_t disk_pread(int fd, void *to, size_t n, off_t at) {
    size_t size = disk[fd - GALLERY].size, left = (size_t)at < size ? size - (size_t)at : 0;
    if (n > left) n = left;
    if (n) memcpy(to, disk[fd - GALLERY].bytes + at, n);
    return (ssize_t)n;
}

int file_write_at(int fd, const void *bytes, size_t len, uint64_t offset) {
    size_t end = (size_t)offset + len;
    MUST(end <= DISK);
    if (end > disk[fd - GALLERY].size) {
        memset(disk[fd - GALLERY].bytes + disk[fd - GALLERY].size, 0, end - disk[fd - GALLERY].size);
        disk[fd - GALLERY].size = end;
    }
    memcpy(disk[fd - GALLERY].bytes + offset, bytes, len);
    return 1;
}

static int disk_stat(int fd, struct stat *st) {
    memset(st, 0, sizeof *st);
    st->st_mode = S_IFREG | 0644;
    st->st_ino = (ino_t)fd;
    st->st_size = (off_t)disk[fd - GALLERY].size;
    return 0;
}

int file_sync(int fd) { return fd > 0; }

int file_cut(int fd, uint64_t size) {
    disk[fd - GALLERY].size = (size_t)size;
    return 1;
}

int pending_begin(pending *p, const char *path, const output_kind *kind, text *why) {
    MUST(path && !kind && why);
    memset(p, 0, sizeof *p);
    p->fd = TEMPORARY;
    disk[1].exists = 1, disk[1].size = 0;
    return 1;
}

int pending_rename(pending *p, text *why) {
    MUST(p->fd == TEMPORARY && disk[1].exists && why);
    memcpy(disk[0].bytes, disk[1].bytes, disk[1].size);
    disk[0].size = disk[1].size;
    p->renamed = 1;
    return 1;
}

int pending_rename_new(pending *p, text *why) { return pending_rename(p, why); }
void pending_close(pending *p) { p->fd = -1, disk[1].exists = 0; }
int sync_folder_of(const char *path) { return path != NULL; }

#define open(path, flags) disk_open()
#define pread disk_pread
#define fstat(fd, st) disk_stat(fd, st)
#define stat(path, st) disk_stat(GALLERY, st)
#define flock(fd, how) ((void)(fd), 0)
#define close(fd) ((void)(fd), 0)
#define usleep(time) ((void)0)
#define realpath(path, to) strdup(path)
#include "base/text.c"
#include "base/random.c"
#include "base/unicode.c"
#include "gallery/store_file.c"
#include "gallery/store_format.c"
#include "gallery/store_decoders.c"
#include "gallery/store_record.c"
#include "gallery/store_entries.c"
#include "gallery/store_handle.c"
#include "gallery/store_head.c"
#include "gallery/store_walk.c"
#include "gallery/store_append.c"
#include "gallery/store_rewrite.c"
#include "gallery/gallery_store.c"

static const char *scratch_path(void) { return "/fuzz.gallery"; }

static void count_damage(const char *text, void *user) {
    MUST(text[0]);
    ++*(size_t *)user;
}

static void write_file(const uint8_t *data, size_t size) {
    disk[0].exists = 1;
    disk[0].size = size;
    if (size) memcpy(disk[0].bytes, data, size);
}

/* Checks a gallery that was accepted. */
static void check_store(const gallery_store *s) {
    const store_meta *meta = store_info(s);
    MUST(meta->dim >= 1 && meta->dim <= STORE_MAX_DIM && meta->models >= 1 && meta->models <= STORE_MODELS);
    MUST(store_identity_count(s) <= store_count(s));
    char names[STORE_JPEG] = "";
    MUST(store_join_decoders(names, meta->jpeg) && strcmp(names, meta->jpeg) == 0);
    for (size_t i = 0; i < store_count(s); i++) {
        store_item item = store_at(s, i);
        MUST(item.id[0] && item.identity[0] && strlen(item.camera) <= STORE_MAX_TEXT && item.source);
        MUST(store_find(s, item.id) == i && store_identities(s)[i] < store_identity_count(s));
        for (int k = 0; k < meta->dim; k++) {
            size_t at = i * (size_t)meta->dim + (size_t)k;
            MUST(meta->halves ? (store_halves(s)[at] & 0x7c00) != 0x7c00 : isfinite(store_floats(s)[at]));
        }
    }
}

static void try_file(const uint8_t *data, size_t size) {
    char why[STORE_WHY] = "";
    size_t heard = 0, kept = 0;
    store_report report;
    write_file(data, size);
    gallery_store *s = store_read(scratch_path(), 1, NULL, why);
    MUST(s || why[0]);
    int sound = store_verify(scratch_path(), NULL, count_damage, &heard, &report, NULL, why);
    MUST(sound == (s != NULL) && report.damaged == heard);
    if (s) check_store(s);
    store_close(s);
    if (size && data[size - 1] % 4) return; /* the rest takes longer, so it is done for a quarter of the inputs */
    if (store_compact(scratch_path(), 1, NULL, count_damage, &heard, &kept, why)) {
        s = store_write(scratch_path(), NULL, why);
        MUST(s && store_count(s) == kept && (kept || !store_info(s)->jpeg[0]));
        MUST(store_set_threshold(s, 0.5, why) && store_commit(s, why));
        store_close(s);
    }
}

/* Corrects the checksums wherever lengths allow it, and makes the copies of the header equal. */
static void repair(uint8_t *data, size_t size) {
    size_t records = 0;
    uint8_t *copy = data + HEADER_RECORD;
    if (size < FIRST_RECORD) return;
    memcpy(data, STORE_MAGIC_BYTES, STORE_MAGIC);
    bytes_put(data + 8, STORE_VERSION, 4);
    for (unsigned i = 0; i < 2; i++) {
        memmove(data + head_at(i), data, SECTOR);
        block_seal(head_at(i), data + head_at(i));
    }
    bytes_put(copy, HEADER, 4);
    bytes_put(copy + 4, HEADER_BYTES, 4);
    memcpy(copy + RECORD_HEAD, data, HEADER_BYTES);
    bytes_put(copy + 8, bytes_checksum(HEADER_RECORD, copy, RECORD_HEAD + HEADER_BYTES, 8), 8);
    for (size_t at = FIRST_RECORD; at + RECORD_HEAD <= size; records++) {
        size_t length = (size_t)bytes_get(data + at + 4, 4);
        if (length % 8 || length > size - at - RECORD_HEAD) break;
        bytes_put(data + at + 8, bytes_checksum(at, data + at, RECORD_HEAD + length, 8), 8);
        at += RECORD_HEAD + length;
    }
    for (unsigned i = 0; i < 2; i++) {
        const uint64_t values[3] = {i + 1, size & ~(size_t)7, records};
        uint8_t *mark = data + mark_at(i);
        memset(mark, 0, SECTOR);
        for (int k = 0; k < 3; k++) bytes_put(mark + 8 * k, values[k], 8);
        block_seal(mark_at(i), mark);
    }
}

/* Puts the input's records after a valid header: a type, a size and that many bytes each. Then changes one byte of the
   file and salvages what is left. */
static void try_records(const uint8_t *data, size_t size) {
    enum { ROOM = 1 << 16 };
    static uint8_t file[ROOM];
    store_meta meta;
    memset(&meta, 0, sizeof meta);
    strcpy(meta.model[0].fingerprint, "f");
    meta.models = 1, meta.dim = meta.model[0].dim = 1 + (size ? data[0] & 3 : 0), meta.halves = size && data[0] & 4;
    meta.threshold = 0;
    memset(file, 0, FIRST_RECORD);
    header_write(&meta, file);
    size_t at = FIRST_RECORD;
    for (size_t i = 1; i + 2 <= size && at + RECORD_HEAD + 256 < ROOM;) {
        size_t length = data[i + 1] & 0x78, n = length < size - i - 2 ? length : size - i - 2;
        memset(file + at, 0, RECORD_HEAD + length);
        bytes_put(file + at, data[i] & 7, 4);
        bytes_put(file + at + 4, length, 4);
        memcpy(file + at + RECORD_HEAD, data + i + 2, n);
        at += RECORD_HEAD + length;
        i += 2 + n;
    }
    repair(file, at);
    try_file(file, at);
    if (size < 3) return;
    file[((size_t)data[1] << 8 | data[2]) % at] ^= data[0] | 1;
    try_file(file, at);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static uint8_t copy[1 << 15];
    if (size > sizeof copy) return 0;
    try_file(data, size);
    if (size >= FIRST_RECORD) {
        memcpy(copy, data, size);
        repair(copy, size);
        try_file(copy, size);
    }
    try_records(data, size);
    return 0;
}
