/* Fuzzer for gallery files: bytes as they are, and with the checksums of header, end marks and records made right, so
   that what stands behind them is reached. Whatever is accepted must hold together, whatever is refused must say why,
   and what is salvaged must be accepted.

   clang -std=c99 -D_GNU_SOURCE -O1 -g -I. -fsanitize=fuzzer,address,undefined tests/fuzz/fuzz_gallery.c
         -o build/fuzz_gallery -lm -lpthread -ldl
   build/fuzz_gallery CORPUS_DIRECTORY
   With any compiler, to replay inputs: add tests/fuzz/fuzz_main.c and leave out -fsanitize=fuzzer. */
#include "gallery/gallery_store.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(condition) \
    if (!(condition)) fprintf(stderr, "violated: %s\n", #condition), abort()

static const char *scratch_path(void) {
    static char path[256];
    const char *dir = getenv("TMPDIR");
    if (!path[0]) snprintf(path, sizeof path, "%.200s/fuzz-%ld.gallery", dir ? dir : "/tmp", (long)getpid());
    return path;
}

static void count_damage(const char *text, void *user) {
    MUST(text[0]);
    ++*(size_t *)user;
}

static void write_file(const uint8_t *data, size_t size) {
    int fd = open(scratch_path(), O_RDWR | O_CREAT | O_TRUNC, 0600);
    char why[STORE_WHY];
    MUST(fd >= 0 && write_at(fd, data, size, 0, why));
    close(fd);
}

/* A gallery that was accepted. */
static void check_store(const gallery_store *s) {
    const store_meta *meta = store_info(s);
    MUST(meta->dim >= 1 && meta->dim <= STORE_MAX_DIM && meta->models >= 1 && meta->models <= STORE_MODELS);
    MUST(store_identity_count(s) <= store_count(s));
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
    if (store_compact(scratch_path(), 1, NULL, count_damage, &heard, &kept, why)) {
        s = store_write(scratch_path(), NULL, why);
        MUST(s && store_count(s) == kept);
        MUST(store_set_threshold(s, 0.5, why) && store_commit(s, why));
        store_close(s);
    }
}

/* Right checksums wherever lengths allow it. */
static void repair(uint8_t *data, size_t size) {
    if (size < FIRST_RECORD) return;
    memcpy(data, MAGIC, sizeof MAGIC);
    put(data + 8, VERSION, 4);
    for (size_t at = 0; at < FIRST_RECORD; at += BLOCK) {
        if (at) {
            memset(data + at, 0, BLOCK);
            put(data + at, at / BLOCK, 8);
            put(data + at + 8, size & ~(size_t)7, 8);
        }
        put(data + at + BLOCK - 8, checksum(at, data + at, BLOCK, BLOCK - 8), 8);
    }
    size_t records = 0;
    for (size_t at = FIRST_RECORD; at + RECORD_HEAD <= size; records++) {
        size_t length = (size_t)get(data + at + 4, 4);
        if (length % 8 || length > size - at - RECORD_HEAD) break;
        put(data + at + 8, checksum(at, data + at, RECORD_HEAD + length, 8), 8);
        at += RECORD_HEAD + length;
    }
    for (size_t at = BLOCK; at < FIRST_RECORD; at += BLOCK) {
        put(data + at + 16, records, 8);
        put(data + at + BLOCK - 8, checksum(at, data + at, BLOCK, BLOCK - 8), 8);
    }
}

/* Records of the input behind a sound header: a type, a size and that many bytes each. */
static void try_records(const uint8_t *data, size_t size) {
    enum { ROOM = 1 << 16 };
    static uint8_t file[ROOM];
    store_meta meta;
    memset(&meta, 0, sizeof meta);
    strcpy(meta.model[0].fingerprint, "f");
    meta.models = 1, meta.dim = meta.model[0].dim = 1 + (size ? data[0] & 3 : 0), meta.halves = size && data[0] & 4;
    meta.threshold = 0;
    memset(file, 0, sizeof file);
    head_bytes(&meta, file);
    size_t at = FIRST_RECORD;
    for (size_t i = 1; i + 2 <= size && at + RECORD_HEAD + 256 < ROOM;) {
        size_t length = data[i + 1] & 0x78, n = length < size - i - 2 ? length : size - i - 2;
        put(file + at, data[i] & 3, 4);
        put(file + at + 4, length, 4);
        memcpy(file + at + RECORD_HEAD, data + i + 2, n);
        at += RECORD_HEAD + length;
        i += 2 + n;
    }
    repair(file, at);
    try_file(file, at);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    uint8_t *copy = malloc(size + 1);
    MUST(copy);
    if (size) memcpy(copy, data, size);
    try_file(data, size);
    repair(copy, size);
    try_file(copy, size);
    try_records(data, size);
    free(copy);
    unlink(scratch_path());
    return 0;
}
