/* t_gallery_store.c: the gallery's file: what comes back is what was added, whatever was done in between; every
   truncation and every flipped bit is noticed and named; writers wait for each other; a full disk costs nothing.

   cc -std=c99 -D_GNU_SOURCE -O2 -I. -Itools tests/tools/gallery/t_gallery_store.c
      tools/gallery/gallery_store.c tools/gallery/store_*.c tools/base/*.c -o build/t_gallery_store -lcmocka -lm */
#include "gallery/gallery_store.h"
#include <stdarg.h>
#include <setjmp.h>
#include <cmocka.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include "../../lib/test_util.h"

enum { DIM = 6, SECTOR = 4096, FIRST = 16656, TEMPLATE_AT = 16 + 32 };
static char path[256], why[STORE_WHY];

static store_meta meta_for(int halves) {
    store_meta meta;
    memset(&meta, 0, sizeof meta);
    strcpy(meta.model[0].fingerprint, "0123456789abcdef0123456789abcdef");
    strcpy(meta.model[0].network, "resnet50");
    strcpy(meta.model[0].preset, "torchreid");
    strcpy(meta.model[0].precision, "fp32");
    strcpy(meta.model[1].fingerprint, "ffffffffffffffff0123456789abcdef");
    meta.model[0].dim = DIM - 2, meta.model[1].dim = 2;
    meta.models = 2, meta.dim = DIM, meta.halves = halves;
    meta.threshold = (double)NAN;
    return meta;
}

static void fresh(int halves) {
    store_meta meta = meta_for(halves);
    unlink(path);
    assert_int_equal(store_create(path, &meta, why), 1);
}

static void values(int number, float out[DIM]) {
    for (int i = 0; i < DIM; i++) out[i] = (float)(number * 10 + i) / 16;
}

/* Of those values: positive, and neither too large nor too small. */
static void to_halves(const float in[DIM], uint16_t out[DIM]) {
    for (int i = 0; i < DIM; i++) {
        uint32_t bits;
        memcpy(&bits, &in[i], 4);
        out[i] = (uint16_t)((bits - 0x38000000) >> 13);
    }
}

static uint64_t little_endian(const unsigned char *p, int bytes) {
    uint64_t value = 0;
    for (int i = 0; i < bytes; i++) value |= (uint64_t)p[i] << 8 * i;
    return value;
}

static int add(gallery_store *s, int number, const char *identity) {
    char id[40];
    float row[DIM];
    snprintf(id, sizeof id, "crops/%s/%d.png", identity, number);
    store_item item = {id, identity, number % 2 ? "cam1" : "", id + 6, number * 1000, (uint64_t)number, 77};
    uint16_t halves[DIM];
    values(number, row);
    to_halves(row, halves);
    return store_add(s, &item, store_info(s)->halves ? (const void *)halves : row, why);
}

static gallery_store *writer(void) {
    gallery_store *s = store_write(path, NULL, why);
    if (!s) fail_msg("%s", why);
    return s;
}

static gallery_store *reader(void) {
    gallery_store *s = store_read(path, 1, NULL, why);
    if (!s) fail_msg("%s", why);
    return s;
}

static void commit(gallery_store *s) {
    if (!store_commit(s, why)) fail_msg("%s", why);
    store_close(s);
}

/* Templates first … last of "ann" and "bob", in turn. */
static void fill(int halves, int last) {
    fresh(halves);
    gallery_store *s = writer();
    for (int i = 1; i <= last; i++) assert_int_equal(add(s, i, i % 3 ? "ann" : "bob"), 1);
    commit(s);
}

/* The gallery holds exactly these, in this order. */
static void holds(const int *numbers, size_t count) {
    gallery_store *s = reader();
    assert_int_equal(store_count(s), count);
    for (size_t i = 0; i < count; i++) {
        char id[40];
        float row[DIM];
        int n = numbers[i];
        store_item item = store_at(s, i);
        snprintf(id, sizeof id, "crops/%s/%d.png", n % 3 ? "ann" : "bob", n);
        values(n, row);
        assert_string_equal(item.id, id);
        assert_string_equal(item.source, id + 6);
        assert_string_equal(item.identity, n % 3 ? "ann" : "bob");
        assert_string_equal(item.camera, n % 2 ? "cam1" : "");
        assert_true(item.time == n * 1000 && item.source_size == (uint64_t)n && item.source_hash == 77);
        assert_int_equal(store_find(s, id), i);
        if (store_floats(s)) {
            assert_memory_equal(store_floats(s) + i * DIM, row, sizeof row);
        } else {
            uint16_t halves[DIM];
            to_halves(row, halves);
            assert_memory_equal(store_halves(s) + i * DIM, halves, sizeof halves);
        }
    }
    store_close(s);
}

static test_bytes contents(void) {
    test_bytes f;
    FILE *file = fopen(path, "rb");
    test_need(file != NULL, path);
    fseek(file, 0, SEEK_END);
    f.size = (size_t)ftell(file);
    f.data = malloc(f.size);
    rewind(file);
    test_need(fread(f.data, 1, f.size, file) == f.size, path);
    fclose(file);
    return f;
}

/* --- what is put in comes out ------------------------------------------------------------------------------------ */

static void test_round_trip(void **state) {
    static const int all[] = {1, 2, 3, 4, 5}, some[] = {1, 3, 5, 2};
    (void)state;
    for (int halves = 0; halves < 2; halves++) {
        size_t kept;
        fill(halves, 5);
        holds(all, 5);
        gallery_store *s = reader();
        const store_meta *meta = store_info(s);
        assert_true(meta->dim == DIM && meta->models == 2 && meta->halves == halves && isnan(meta->threshold));
        assert_string_equal(meta->model[0].fingerprint, "0123456789abcdef0123456789abcdef");
        assert_string_equal(meta->model[0].preset, "torchreid");
        assert_int_equal(meta->model[1].dim, 2);
        assert_int_equal(store_identity_count(s), 2);
        assert_true(store_identities(s)[0] == 0 && store_identities(s)[2] == 1 && store_identities(s)[4] == 0);
        store_close(s);
        s = writer();
        assert_int_equal(store_remove(s, "crops/ann/2.png", why), 1);
        assert_int_equal(store_remove(s, "crops/ann/4.png", why), 1);
        assert_int_equal(store_remove(s, "crops/ann/4.png", why), 0);
        assert_says_all(why, "is not in the gallery");
        assert_int_equal(add(s, 2, "ann"), 1); /* again, at the end */
        assert_int_equal(add(s, 2, "ann"), 0);
        assert_says_all(why, "is already in the gallery");
        assert_int_equal(store_set_threshold(s, 0.625, why), 1);
        commit(s);
        holds(some, 4);
        test_bytes before = contents();
        assert_int_equal(store_compact(path, 0, NULL, NULL, NULL, &kept, why), 1);
        assert_int_equal(kept, 4);
        holds(some, 4);
        test_bytes after = contents();
        assert_true(after.size < before.size);
        s = reader();
        assert_true(store_info(s)->threshold == 0.625);
        store_close(s);
        free(before.data), free(after.data);
    }
}

/* Enough templates to grow every table, over several commits; uncommitted ones are not stored. */
static void test_many(void **state) {
    enum { MANY = 5000 };
    int numbers[MANY];
    (void)state;
    fresh(1);
    for (int i = 0; i < MANY;) {
        gallery_store *s = writer();
        for (int k = 0; k < 700 && i < MANY; k++, i++)
            if (!add(s, i + 1, (i + 1) % 3 ? "ann" : "bob")) fail_msg("%d: %s", i, why);
        assert_int_equal(store_commit(s, why), 1);
        assert_int_equal(add(s, 50000 + i, "late"), 1);
        store_close(s);
    }
    for (int i = 0; i < MANY; i++) numbers[i] = i + 1;
    holds(numbers, MANY);
}

static void test_refused_arguments(void **state) {
    store_item item = {"id", "who", "", "", STORE_NO_TIME, 0, 0};
    store_meta meta = meta_for(1);
    char *huge = malloc(70000);
    (void)state;
    fresh(1);
    assert_int_equal(store_create(path, &meta, why), 0);
    assert_says_all(why, "already exists");
    meta.dim = 5;
    assert_int_equal(store_create("/nowhere/x", &meta, why), 0);
    assert_says(why, "1 or 2 models");
    gallery_store *s = writer();
    uint16_t halves[DIM] = {0x3c00, 0, 1, 0x7c00, 0xfbff, 0};
    assert_int_equal(store_add(s, &item, halves, why), 0);
    assert_says_all(why, "its embedding is not finite");
    halves[3] = 0xfe01;
    assert_int_equal(store_add(s, &item, halves, why), 0);
    halves[3] = 0x7bff;
    item.identity = "";
    assert_int_equal(store_add(s, &item, halves, why), 0);
    memset(huge, 'x', 70000);
    huge[69999] = 0;
    item.identity = huge;
    assert_int_equal(store_add(s, &item, halves, why), 0);
    assert_says(why, "1 to 65535 bytes");
    assert_int_equal(store_set_threshold(s, (double)INFINITY, why), 0);
    commit(s);
    s = reader();
    assert_int_equal(store_count(s), 0);
    store_close(s);
    fresh(0);
    s = writer();
    const float bad[2][DIM] = {{0, 0, NAN}, {0, 0, 0, 0, 0, -INFINITY}};
    item.identity = "who";
    assert_int_equal(store_add(s, &item, bad[0], why), 0);
    assert_int_equal(store_add(s, &item, bad[1], why), 0);
    assert_says_all(why, "its embedding is not finite");
    store_close(s);
    free(huge);
}

/* --- damage ------------------------------------------------------------------------------------------------------ */

static void refuses(const char *text) {
    gallery_store *s = store_read(path, 1, NULL, why);
    if (s) fail_msg("read, and should have said: %s", text);
    if (!says(why, text)) fail_msg("said \"%s\", not \"%s\"", why, text);
    s = store_write(path, NULL, why);
    assert_null(s);
    assert_says(why, text);
}

static void hear(const char *text, void *user) {
    char *all = user;
    snprintf(all + strlen(all), 4000 - strlen(all), "%s\n", text);
}

static size_t record_at(const test_bytes *f, int number) {
    size_t at = FIRST;
    while (--number > 0) at += 16 + (size_t)little_endian(f->data + at + 4, 4);
    return at;
}

/* Corrects the checksums of a record, so that only its contents are invalid. */
static void resum(test_bytes *f, size_t at) {
    uint64_t h = at;
    size_t size = 16 + (size_t)little_endian(f->data + at + 4, 4);
    for (size_t i = 0; i < size; i += 8) {
        h = (h ^ (i == 8 ? 0 : little_endian(f->data + at + i, 8))) * UINT64_C(0x9e3779b97f4a7c15);
        h ^= h >> 32;
    }
    for (int i = 0; i < 8; i++) f->data[at + 8 + (size_t)i] = (unsigned char)(h >> 8 * i);
}

typedef struct damage {
    int record, offset; /* byte `offset` of a record; record 0: of the file */
    unsigned char with; /* is XORed with this */
    int resum;          /* and the checksum made right */
    const char *says;
} damage;

static void test_damage(void **state) {
    static const damage cases[] = {
        {0, 0, 1, 0, "is not a gallery"},
        {0, 8, 1, 0, "has format version 3; this program reads version 2"},
        {0, 8, 3, 0, "has format version 1; this program reads version 2"},
        {0, 12, 1, 0, "is damaged: the checksum of its header is wrong"},
        {0, 40, 1, 0, "is damaged: the checksum of its header is wrong"},
        {0, SECTOR - 1, 1, 0, "is damaged: the checksum of its header is wrong"},
        {0, 3 * SECTOR + 12, 1, 0, "is damaged: the checksum of the copy of its header is wrong"},
        {0, 4 * SECTOR, 1, 0, "is damaged: the checksum of the copy of its header is wrong"},
        {0, FIRST - 1, 1, 0, "is damaged: the checksum of the copy of its header is wrong"},
        {0, SECTOR + 8, 8, 0, "is damaged: the checksum of an end mark is wrong"},
        {0, 2 * SECTOR, 1, 0, "is damaged: the checksum of an end mark is wrong"},
        {1, 0, 2, 0, "record 1 at byte 16656 is damaged: its checksum is wrong"},
        {2, 5, 64, 0, "record 2 at byte 16760 is damaged: its length is impossible"},
        {2, 4, 1, 0, "record 2 at byte 16760 is damaged: its length is impossible"},
        {2, 8, 1, 0, "record 2 at byte 16760 (\"crops/ann/2.png\") is damaged: its checksum is wrong"},
        {3, 50, 4, 0, "record 3 at byte 16864 (\"crops/bob/3.png\") is damaged: its checksum is wrong"},
        {3, TEMPLATE_AT + 4 * DIM + 1, 64, 0, "record 3 at byte 16864 (\"c2ops/bob/3.png\") is damaged"},
        {3, TEMPLATE_AT + 4 * DIM + 1, 'r', 1, "record 3 at byte 16864 is damaged: its contents are invalid"},
        {3, 0, 9, 1, "record 3 at byte 16864 is damaged: its contents are invalid"},
        {3, 17, 1, 1, "record 3 at byte 16864 is damaged: its contents are invalid"},
        {2, TEMPLATE_AT + 3, 0x40, 1, "record 2 at byte 16760 (\"crops/ann/2.png\") is damaged: its contents are "
                                      "invalid"},
        {2, TEMPLATE_AT + 4 * DIM + 10, '2' ^ '1', 1,
         "(\"crops/ann/1.png\") is damaged: its id is in the gallery twice"},
    };
    (void)state;
    fill(0, 4);
    test_bytes f = contents();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const damage *d = &cases[i];
        size_t at = d->record ? record_at(&f, d->record) : 0, byte = at + (size_t)d->offset;
        unsigned char *copy = malloc(f.size);
        memcpy(copy, f.data, f.size);
        f.data[byte] ^= d->with;
        if (d->resum) resum(&f, at);
        test_write_file(path, f.data, f.size);
        memcpy(f.data, copy, f.size);
        free(copy);
        refuses(d->says);
    }
    free(f.data);
}

/* Every flipped bit is noticed by the reader, the writer and verify. */
static void test_every_bit(void **state) {
    store_report report;
    (void)state;
    fill(1, 3);
    test_bytes f = contents();
    for (size_t bit = 0; bit < f.size * 8; bit++) {
        char heard[4000] = "";
        f.data[bit / 8] ^= (unsigned char)(1 << bit % 8);
        test_write_file(path, f.data, f.size);
        gallery_store *s = store_read(path, 0, NULL, why);
        if (s) fail_msg("bit %zu of byte %zu was not noticed", bit % 8, bit / 8);
        if (bit / 8 >= FIRST) {
            assert_int_equal(store_verify(path, NULL, hear, heard, &report, NULL, why), 0);
            assert_true(heard[0] && report.damaged >= 1 && report.templates == 2);
        }
        f.data[bit / 8] ^= (unsigned char)(1 << bit % 8);
        size_t place = bit / 8 % SECTOR, is_mark = bit / 8 / SECTOR == 1 || bit / 8 / SECTOR == 2;
        if (bit / 8 < FIRST && (is_mark || place >= 256)) bit += 8 * 389; /* these are read repeatedly: only a sample */
    }
    free(f.data);
}

static void test_every_truncation(void **state) {
    (void)state;
    fill(0, 2);
    test_bytes f = contents();
    for (size_t size = 0; size < f.size; size += size < FIRST - 9 && size > 20 ? 7 : 1) {
        test_write_file(path, f.data, size);
        gallery_store *s = store_read(path, 0, NULL, why);
        if (s) fail_msg("%zu of %zu bytes were accepted", size, f.size);
        const char *text = size < 8 ? "is not a gallery" : size < FIRST ? "less than a header" : "bytes and had";
        if (!says(why, text)) fail_msg("%zu bytes: \"%s\", not \"%s\"", size, why, text);
    }
    free(f.data);
}

/* Bytes after the end: readers ignore them, the next writer cuts them off. */
static void test_torn_tail(void **state) {
    static const int two[] = {1, 2}, three[] = {1, 2, 4};
    store_report report;
    (void)state;
    fill(0, 3);
    test_bytes long_file = contents();
    size_t end = record_at(&long_file, 3);
    for (size_t size = end; size <= long_file.size; size += 7) {
        fill(0, 2);
        test_bytes f = contents();
        assert_int_equal(f.size, end);
        memcpy(long_file.data, f.data, end);
        test_write_file(path, long_file.data, size);
        holds(two, 2);
        assert_int_equal(store_verify(path, NULL, NULL, NULL, &report, NULL, why), 1);
        assert_true(report.unused == size - end && report.records == 2 && report.bytes == size);
        gallery_store *s = writer();
        assert_int_equal(add(s, 4, "ann"), 1);
        commit(s);
        holds(three, 3);
        free(f.data);
    }
    free(long_file.data);
}

static void test_salvage(void **state) {
    static const int left[] = {1, 3, 5}, cut[] = {1, 2, 3};
    char heard[4000] = "";
    size_t kept;
    (void)state;
    fill(0, 5);
    test_bytes f = contents();
    size_t second = record_at(&f, 2), fourth = record_at(&f, 4);
    f.data[second + 30] ^= 1;   /* in its payload: the next record is found by its length */
    f.data[fourth + 4] ^= 0x80; /* its length: found by looking for one */
    test_write_file(path, f.data, f.size);
    assert_int_equal(store_compact(path, 0, NULL, hear, heard, &kept, why), 0);
    assert_says(why, "record 2 at byte");
    test_bytes same = contents();
    assert_true(same.size == f.size && memcmp(same.data, f.data, f.size) == 0);
    assert_int_equal(store_compact(path, 1, NULL, hear, heard, &kept, why), 1);
    assert_int_equal(kept, 3);
    assert_says(heard, "record 2 at byte 16760 (\"crops/ann/2.png\") is damaged: its checksum is wrong\n");
    assert_says(heard, "record 4 at byte 16968 is damaged: its ");
    holds(left, 3);
    fill(0, 5);
    free(f.data);
    f = contents();
    f.data[SECTOR + 88] ^= 1; /* an end mark, and the last records cut off */
    test_write_file(path, f.data, fourth + 20);
    refuses("the checksum of an end mark is wrong");
    assert_int_equal(store_compact(path, 1, NULL, hear, heard, &kept, why), 1);
    holds(cut, 3);
    free(f.data), free(same.data);
}

/* Damage anywhere before the records loses none of them. */
static void test_salvage_without_head(void **state) {
    static const int all[] = {1, 2, 3, 4, 5};
    size_t kept;
    (void)state;
    fill(1, 5);
    test_bytes f = contents();
    for (size_t at = 0; at < FIRST; at += at % SECTOR < 256 ? 37 : 397) {
        f.data[at] ^= (unsigned char)(1 << at % 8);
        test_write_file(path, f.data, f.size);
        if (!store_compact(path, 1, NULL, NULL, NULL, &kept, why)) fail_msg("byte %zu: %s", at, why);
        holds(all, 5);
        f.data[at] ^= (unsigned char)(1 << at % 8);
    }
    for (size_t copy = 0; copy < 5; copy += copy ? 1 : 3) { /* only what begins in this sector is left */
        test_bytes one = {malloc(f.size), f.size};
        memcpy(one.data, f.data, f.size);
        memset(one.data, 0xA5, copy * SECTOR);
        if (copy < 4) memset(one.data + (copy + 1) * SECTOR, 0xA5, FIRST - (copy + 1) * SECTOR);
        test_write_file(path, one.data, one.size);
        if (!store_compact(path, 1, NULL, NULL, NULL, &kept, why)) fail_msg("the copy in sector %zu: %s", copy, why);
        holds(all, 5);
        free(one.data);
    }
    memset(f.data, 0xA5, FIRST);
    test_write_file(path, f.data, f.size);
    assert_int_equal(store_compact(path, 1, NULL, NULL, NULL, &kept, why), 0);
    assert_says_all(why, "is damaged: no copy of its header can be read");
    free(f.data);
}

/* A large gallery repeats its header among the records. */
static void test_salvage_records_alone(void **state) {
    enum { MANY = 11000 };
    size_t kept;
    store_report report;
    (void)state;
    fill(0, MANY);
    assert_int_equal(store_verify(path, NULL, NULL, NULL, &report, NULL, why), 1);
    assert_true(report.records == MANY + 1 && report.templates == MANY && report.version == 2);
    test_bytes f = contents();
    memset(f.data, 0, FIRST);
    test_write_file(path, f.data, f.size);
    if (!store_compact(path, 1, NULL, NULL, NULL, &kept, why)) fail_msg("%s", why);
    assert_int_equal(kept, MANY);
    gallery_store *s = reader();
    assert_int_equal(store_count(s), MANY);
    assert_string_equal(store_info(s)->model[0].preset, "torchreid");
    store_close(s);
    free(f.data);
}

/* --- decoders of JPEG files --------------------------------------------------------------------------------------- */

static void test_joining_decoders(void **state) {
    static const struct {
        const char *before, *names, *after; /* after: NULL where it is refused */
    } cases[] = {
        {"", "", ""}, {"", "b", "b"}, {"b", "b", "b"}, {"b", "", "b"}, {"b", "a", "a, b"}, {"b", "c", "b, c"},
        {"b", "bb", "b, bb"}, {"bb", "b", "b, bb"}, {"a, c", "b", "a, b, c"}, {"a, c", "d, b, a", "a, b, c, d"},
        {"", "c, a, b, c", "a, b, c"}, {"a, b, c", "d, e", NULL}, {"a, b, c, d", "e", NULL},
        {"a, b, c, d", "c", "a, b, c, d"}, {"", "turbo 3.1", "turbo 3.1"}, {"a", ",", NULL}, {"a", "b,", NULL},
        {"a", "b, ", NULL}, {"a", ", b", NULL}, {"a", "b,c", NULL}, {"a", "b,  c", NULL}, {"a", " b", NULL},
        {"a", "b ", NULL}, {"a", "b\tc", NULL}, {"a", "b\x7f", NULL}, {"a", "b\xc3\xa4", NULL}, {"a", "b, c\n", NULL},
        {"a", "1234567890123456789012345678901", "1234567890123456789012345678901, a"},
        {"a", "12345678901234567890123456789012", NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char names[STORE_JPEG] = "";
        strcpy(names, cases[i].before);
        int joined = store_join_decoders(names, cases[i].names);
        const char *wanted = cases[i].after ? cases[i].after : cases[i].before;
        if (joined != (cases[i].after != NULL) || strcmp(names, wanted) != 0)
            fail_msg("\"%s\" and \"%s\": \"%s\"", cases[i].before, cases[i].names, names);
    }
    char longest[STORE_JPEG] = "", name[STORE_DECODER] = "";
    for (int i = 0; i < STORE_DECODERS; i++) {
        memset(name, 'z' - i, STORE_DECODER - 1);
        assert_int_equal(store_join_decoders(longest, name), 1);
    }
    assert_int_equal(strlen(longest), STORE_DECODERS * (STORE_DECODER - 1) + 2 * (STORE_DECODERS - 1));
}

static void has_decoders(const char *names) {
    gallery_store *s = reader();
    assert_string_equal(store_info(s)->jpeg, names);
    store_close(s);
}

static void test_decoders(void **state) {
    static const int three[] = {1, 2, 3};
    store_meta meta;
    store_report report;
    size_t kept;
    (void)state;
    fill(0, 3);
    has_decoders("");
    test_bytes before = contents();
    gallery_store *s = writer();
    assert_int_equal(store_add_decoders(s, "", why), 1);
    assert_int_equal(store_add_decoders(s, "a,b", why), 0);
    assert_says_all(why, "names of decoders of JPEG files have 1 to 31 characters, and a gallery has up to 4");
    commit(s);
    test_bytes same = contents();
    assert_true(same.size == before.size);
    s = writer();
    assert_int_equal(store_add_decoders(s, "stb_image", why), 1);
    store_close(s);
    has_decoders("");
    s = writer();
    for (int i = 0; i < 3; i++) assert_int_equal(store_add_decoders(s, "stb_image, libjpeg-turbo", why), 1);
    assert_string_equal(store_info(s)->jpeg, "libjpeg-turbo, stb_image");
    commit(s);
    has_decoders("libjpeg-turbo, stb_image");
    holds(three, 3);
    assert_int_equal(store_verify(path, NULL, NULL, NULL, &report, &meta, why), 1);
    assert_int_equal(report.records, 5);
    assert_string_equal(meta.jpeg, "libjpeg-turbo, stb_image");
    assert_int_equal(store_compact(path, 0, NULL, NULL, NULL, &kept, why), 1);
    has_decoders("libjpeg-turbo, stb_image");
    holds(three, 3);
    test_bytes once = contents();
    assert_int_equal(store_compact(path, 0, NULL, NULL, NULL, &kept, why), 1);
    test_bytes twice = contents();
    assert_true(once.size == twice.size && memcmp(once.data, twice.data, once.size) == 0);
    s = writer();
    assert_true(store_remove(s, "crops/ann/1.png", why) && store_remove(s, "crops/ann/2.png", why) &&
                store_remove(s, "crops/bob/3.png", why));
    commit(s);
    has_decoders("libjpeg-turbo, stb_image");
    assert_int_equal(store_compact(path, 0, NULL, NULL, NULL, &kept, why), 1);
    has_decoders(""); /* of no template */
    free(before.data), free(same.data), free(once.data), free(twice.data);
}

/* A record of type 5 with a correct checksum but invalid contents. */
static void test_damaged_decoders(void **state) {
    static const char bad[] = "is damaged: its contents are invalid";
    static const struct {
        int offset;
        unsigned char with;
        const char *says;
    } cases[] = {
        {16, 's' ^ '\t', bad}, {16, 's' ^ ' ', bad},  {16, 's', bad},        {24, 'e' ^ ',', bad},
        {24, 'e' ^ 0x80, bad},  {24, 'e' ^ 0x7f, bad}, {24, 'e' ^ ' ', bad},  {17, 't', bad},
        {31, 1, bad},           {0, 5 ^ 6, bad},       {0, 5 ^ 3, bad},       {4, 16 ^ 24, "damaged"},
        {20, 'i', bad},
    };
    size_t kept;
    char heard[4000] = "";
    static const int three[] = {1, 2, 3};
    (void)state;
    fill(0, 3);
    gallery_store *s = writer();
    assert_int_equal(store_add_decoders(s, "stb_image", why), 1);
    commit(s);
    test_bytes f = contents();
    size_t at = record_at(&f, 4);
    assert_true(f.size == at + 32 && f.data[at] == 5 && memcmp(f.data + at + 16, "stb_image\0\0\0\0\0\0", 16) == 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        f.data[at + (size_t)cases[i].offset] ^= cases[i].with;
        if (cases[i].offset != 4) resum(&f, at);
        test_write_file(path, f.data, f.size);
        refuses(cases[i].says);
        assert_int_equal(store_compact(path, 1, NULL, hear, heard, &kept, why), 1);
        holds(three, 3);
        has_decoders("");
        f.data[at + (size_t)cases[i].offset] ^= cases[i].with;
        resum(&f, at);
    }
    test_write_file(path, f.data, f.size);
    has_decoders("stb_image");
    free(f.data);
}

/* All records are valid, but there is one decoder too many; salvaging keeps the first ones. */
static void test_many_decoders(void **state) {
    size_t kept;
    char heard[4000] = "";
    (void)state;
    fill(0, 1);
    gallery_store *s = writer();
    assert_int_equal(store_add_decoders(s, "a, b, c, d", why), 1);
    assert_int_equal(store_add_decoders(s, "e", why), 0);
    assert_int_equal(store_add_decoders(s, "b, d", why), 1);
    commit(s);
    has_decoders("a, b, c, d");
    s = writer();
    assert_int_equal(store_remove(s, "crops/ann/1.png", why), 1); /* whose record becomes one of a fifth decoder */
    assert_int_equal(add(s, 2, "ann"), 1);
    commit(s);
    test_bytes f = contents();
    size_t at = record_at(&f, 6);
    memset(f.data + at + 16, 0, (size_t)little_endian(f.data + at + 4, 4));
    memcpy(f.data + at + 16, "eeeeeeeeeeeeeee", 15);
    f.data[at] = 5;
    resum(&f, at);
    test_write_file(path, f.data, f.size);
    refuses("is damaged: more than 4 JPEG decoders");
    assert_int_equal(store_compact(path, 1, NULL, hear, heard, &kept, why), 1);
    assert_says(heard, "record 6 at byte");
    assert_int_equal(kept, 2);
    has_decoders("a, b, c, d");
    free(f.data);
}

static void has_bytes(size_t size, uint64_t wanted) {
    test_bytes f = contents();
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < f.size; i++) hash = (hash ^ f.data[i]) * UINT64_C(0x100000001b3);
    if (f.size != size || hash != wanted) fail_msg("{%zu, UINT64_C(0x%llx)}", f.size, (unsigned long long)hash);
    free(f.data);
}

/* The bytes of a gallery with every kind of record, by FNV-1a: what changes them needs a new version of the format. */
static void test_format(void **state) {
    static const struct {
        size_t size;
        uint64_t hash;
    } as_written[2] = {{17056, UINT64_C(0x9dc60e2c5d015cde)}, {17024, UINT64_C(0x2f8ff2b37c2477a7)}},
      compacted[2] = {{16896, UINT64_C(0x131f39063e406d82)}, {16880, UINT64_C(0xf445fe344bcdbc57)}};
    (void)state;
    for (int halves = 0; halves < 2; halves++) {
        size_t kept;
        fill(halves, 3);
        gallery_store *s = writer();
        assert_int_equal(store_add_decoders(s, "stb_image", why), 1);
        assert_int_equal(store_set_threshold(s, 0.625, why), 1);
        assert_int_equal(store_remove(s, "crops/ann/2.png", why), 1);
        commit(s);
        has_bytes(as_written[halves].size, as_written[halves].hash);
        assert_int_equal(store_compact(path, 0, NULL, NULL, NULL, &kept, why), 1);
        has_bytes(compacted[halves].size, compacted[halves].hash);
    }
}

/* --- several processes, signals, a full disk ---------------------------------------------------------------------- */

static void test_two_writers(void **state) {
    enum { WRITERS = 4, EACH = 40 };
    (void)state;
    fresh(0);
    pid_t children[WRITERS + 1];
    for (int w = 0; w <= WRITERS; w++) {
        children[w] = fork();
        if (children[w]) continue;
        size_t kept;
        for (int i = 0; i < EACH; i++) { /* the last writer compacts meanwhile */
            gallery_store *s = w < WRITERS ? store_write(path, NULL, why) : NULL;
            if (w == WRITERS ? !store_compact(path, 0, NULL, NULL, NULL, &kept, why)
                             : !s || !add(s, 1 + w * EACH + i, "ann") || !store_commit(s, why)) _exit(1);
            store_close(s);
        }
        _exit(0);
    }
    size_t before = 0;
    for (int i = 0; i < 100; i++) { /* a reader sees whole records, and never fewer than before */
        gallery_store *s = reader();
        assert_true(store_count(s) >= before);
        before = store_count(s);
        store_close(s);
    }
    for (int w = 0; w <= WRITERS; w++) {
        int status;
        assert_int_equal(waitpid(children[w], &status, 0), children[w]);
        assert_int_equal(status, 0);
    }
    gallery_store *s = reader();
    assert_int_equal(store_count(s), WRITERS * EACH);
    store_close(s);
}

static int waited, stop_now;
static void waiting(const char *name) { waited += strcmp(name, path) == 0; }
static int stop(void) { return stop_now; }
static void on_alarm(int number) { stop_now = number; }

static void test_stopping(void **state) {
    const store_host host = {waiting, stop};
    struct sigaction action;
    size_t kept;
    store_report report;
    (void)state;
    fill(0, 3);
    test_bytes before = contents();
    stop_now = 1;
    assert_null(store_read(path, 0, &host, why));
    assert_says_all(why, "interrupted");
    assert_int_equal(store_compact(path, 0, &host, NULL, NULL, &kept, why), 0);
    assert_int_equal(store_verify(path, &host, NULL, NULL, &report, NULL, why), 0);
    stop_now = 0;
    gallery_store *s = writer();
    memset(&action, 0, sizeof action);
    action.sa_handler = on_alarm;
    sigaction(SIGALRM, &action, NULL);
    struct itimerval soon = {{0, 0}, {0, 50000}};
    setitimer(ITIMER_REAL, &soon, NULL);
    assert_null(store_write(path, &host, why)); /* waits for s */
    assert_says_all(why, "interrupted");
    assert_int_equal(waited, 1);
    stop_now = 0;
    store_close(s);
    test_bytes after = contents();
    assert_true(after.size == before.size && memcmp(after.data, before.data, after.size) == 0);
    free(before.data), free(after.data);
}

/* A disk that fills up at any byte causes an error, and the gallery stays unchanged for readers and the next writer. */
static void test_full_disk(void **state) {
    static const int two[] = {1, 2};
    struct rlimit none, limit;
    size_t kept;
    (void)state;
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &none);
    fill(0, 2);
    test_bytes before = contents();
    for (size_t more = 0; more < 200; more += 13) {
        limit = none;
        limit.rlim_cur = before.size + more;
        gallery_store *s = writer();
        for (int i = 4; i < 8; i++) assert_int_equal(add(s, i, "ann"), 1);
        setrlimit(RLIMIT_FSIZE, &limit);
        int committed = store_commit(s, why), again = store_commit(s, why);
        store_close(s);
        limit.rlim_cur = FIRST + 100;
        setrlimit(RLIMIT_FSIZE, &limit);
        int compacted = store_compact(path, 0, NULL, NULL, NULL, &kept, why);
        store_meta meta = meta_for(0);
        char other[300];
        snprintf(other, sizeof other, "%s.other", path);
        limit.rlim_cur = 1000;
        setrlimit(RLIMIT_FSIZE, &limit);
        int created = store_create(other, &meta, why);
        setrlimit(RLIMIT_FSIZE, &none);
        assert_false(committed || again || compacted || created);
        assert_says(why, "cannot write: File too large");
        assert_true(access(other, F_OK) != 0);
        holds(two, 2);
        test_bytes after = contents();
        assert_true(after.size == before.size && memcmp(after.data, before.data, after.size) == 0);
        free(after.data);
    }
    free(before.data);
    snprintf(why, sizeof why, "%s.reid.part", path);
    assert_true(access(why, F_OK) != 0);
}

/* In a folder that several users share, the temporary file of another user's killed command is named. */
static void test_left_by_others(void **state) {
    char left[300];
    size_t kept;
    int status;
    (void)state;
    if (geteuid() != 0) skip();
    fill(0, 3);
    assert_int_equal(chmod(path, 0666), 0);
    snprintf(left, sizeof left, "%s.reid.part", path);
    test_write_file(left, "left", 4);
    assert_int_equal(chmod(left, 0600), 0);
    pid_t child = fork();
    if (child == 0) {
        if (seteuid(12345) != 0) _exit(2);
        if (store_compact(path, 0, NULL, NULL, NULL, &kept, why)) _exit(3);
        _exit(strstr(why, "another user is writing ") && strstr(why, left) ? 0 : 4);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(store_compact(path, 0, NULL, NULL, NULL, &kept, why), 1); /* root may replace it */
    assert_true(access(left, F_OK) != 0);
}

static void test_file_hash(void **state) {
    uint64_t size, hash, again;
    unsigned char *bytes = malloc(100000);
    (void)state;
    for (size_t n = 0; n < 100000; n++) bytes[n] = (unsigned char)(n * 7 + n / 256);
    for (size_t n = 0; n < 100000; n = n * 3 + 1) {
        test_write_file(path, bytes, n);
        assert_int_equal(store_hash_file(path, &size, &hash), 1);
        assert_int_equal(size, n);
        bytes[n / 2] ^= 1;
        test_write_file(path, bytes, n);
        assert_int_equal(store_hash_file(path, &size, &again), 1);
        assert_true(n == 0 || hash != again);
    }
    assert_int_equal(store_hash_file("/nowhere", &size, &hash), 0);
    assert_true(size == 0 && hash == 0);
    assert_int_equal(store_is_gallery(path), 0);
    fresh(0);
    assert_int_equal(store_is_gallery(path), 1);
    free(bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),        cmocka_unit_test(test_many),
        cmocka_unit_test(test_refused_arguments), cmocka_unit_test(test_damage),
        cmocka_unit_test(test_every_bit),         cmocka_unit_test(test_every_truncation),
        cmocka_unit_test(test_torn_tail),         cmocka_unit_test(test_salvage),
        cmocka_unit_test(test_salvage_without_head), cmocka_unit_test(test_salvage_records_alone),
        cmocka_unit_test(test_joining_decoders),
        cmocka_unit_test(test_decoders),          cmocka_unit_test(test_damaged_decoders),
        cmocka_unit_test(test_many_decoders),     cmocka_unit_test(test_format),
        cmocka_unit_test(test_two_writers),       cmocka_unit_test(test_stopping),
        cmocka_unit_test(test_full_disk),         cmocka_unit_test(test_left_by_others),
        cmocka_unit_test(test_file_hash),
    };
    test_temp_path(path, "store.gallery");
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(path);
    return failed;
}
