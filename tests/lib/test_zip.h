/* A zip archive of stored members, made in memory. Include it after tools/weights/zip.h. */
#ifndef TEST_ZIP_H
#define TEST_ZIP_H

#include "base/crc32.h"
#include "base/text.h"
#include "weights/zip.h"

#include <string.h>

typedef struct test_zip {
    text file, directory;
    int count;
} test_zip;

static void test_number(text *t, uint64_t n, int bytes) {
    for (int i = 0; i < bytes; i++) text_putc(t, (int)(n >> 8 * i & 255));
}

static void test_zip_add(test_zip *z, const char *name, const void *bytes, size_t size) {
    uint32_t crc = crc32_more(0, bytes, size);
    size_t header = z->file.len;
    text_add(&z->file, "PK\3\4\0\0\0\0\0\0\0\0\0\0", 14);
    test_number(&z->file, crc, 4);
    test_number(&z->file, size, 4);
    test_number(&z->file, size, 4);
    test_number(&z->file, strlen(name), 2);
    test_number(&z->file, 0, 2);
    text_puts(&z->file, name);
    text_add(&z->file, bytes, size);
    text_add(&z->directory, "PK\1\2\0\0\0\0\0\0\0\0\0\0\0\0", 16);
    test_number(&z->directory, crc, 4);
    test_number(&z->directory, size, 4);
    test_number(&z->directory, size, 4);
    test_number(&z->directory, strlen(name), 2);
    test_number(&z->directory, 0, 8); /* extra field, comment, disk, attributes */
    test_number(&z->directory, 0, 4);
    test_number(&z->directory, header, 4);
    text_puts(&z->directory, name);
    z->count++;
}

/* Appends the directory and the end of the archive; frees the directory. */
static void test_zip_end(test_zip *z) {
    size_t at = z->file.len;
    text_add(&z->file, z->directory.s, z->directory.len);
    text_add(&z->file, "PK\5\6\0\0\0\0", 8);
    test_number(&z->file, (uint64_t)z->count, 2);
    test_number(&z->file, (uint64_t)z->count, 2);
    test_number(&z->file, z->directory.len, 4);
    test_number(&z->file, at, 4);
    test_number(&z->file, 0, 2);
    text_free(&z->directory);
}

#endif
