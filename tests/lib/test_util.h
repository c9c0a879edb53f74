/* What several tests share: safetensors bytes made in memory, temporary files, an allocator that counts and can fail.
   Include it after reid.h. */
#ifndef TEST_UTIL_H
#define TEST_UTIL_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "test_says.h"

#define TEST_FN static __attribute__((unused))

/* A test cannot go on without memory or a temporary file. */
TEST_FN void test_need(int ok, const char *what) {
    if (ok) return;
    perror(what);
    exit(1);
}

/* --- allocator: desc.alloc_fn = test_heap_alloc, desc.free_fn = test_heap_free, desc.alloc_user = &heap --- */
typedef struct test_heap {
    size_t live, peak;  /* bytes */
    size_t calls;       /* of test_heap_alloc */
    size_t fail_at;     /* the call that gets NULL, counted from 1; 0: none */
    int fail_rest;      /* 1: and so does every later call */
    int wrong_size;     /* frees with another size than was allocated */
    unsigned char fill; /* the bytes of fresh memory; 0: 0xff, which makes NaNs */
} test_heap;

TEST_FN void *test_heap_alloc(size_t size, void *user) {
    test_heap *heap = (test_heap *)user;
    size_t call = ++heap->calls;
    if (heap->fail_at && (call == heap->fail_at || (heap->fail_rest && call > heap->fail_at))) return NULL;
    char *block = (char *)malloc(size + 16);
    test_need(block != NULL, "malloc");
    memset(block, heap->fill ? heap->fill : 0xff, size + 16);
    memcpy(block, &size, sizeof size);
    heap->live += size;
    if (heap->live > heap->peak) heap->peak = heap->live;
    return block + 16;
}

TEST_FN void test_heap_free(void *ptr, size_t size, void *user) {
    test_heap *heap = (test_heap *)user;
    size_t allocated;
    memcpy(&allocated, (char *)ptr - 16, sizeof allocated);
    if (allocated != size) heap->wrong_size++;
    heap->live -= allocated;
    free((char *)ptr - 16);
}

/* --- bytes and files --- */
typedef struct test_bytes {
    unsigned char *data; /* malloc'ed with exactly `size` bytes, so that a sanitizer sees any byte read beyond it */
    size_t size;
} test_bytes;

/* Length, JSON and data. data == NULL: bytes that make finite floats of every width. */
TEST_FN test_bytes test_file_bytes(const char *json, size_t json_size, const void *data, size_t data_size) {
    test_bytes f;
    f.size = 8 + json_size + data_size;
    f.data = (unsigned char *)malloc(f.size);
    test_need(f.data != NULL, "malloc");
    for (size_t i = 0; i < 8; i++) f.data[i] = (unsigned char)((uint64_t)json_size >> 8 * i);
    memcpy(f.data + 8, json, json_size);
    for (size_t i = 0; i < data_size; i++)
        f.data[8 + json_size + i] = data ? ((const unsigned char *)data)[i] : (unsigned char)(i * 37 % 60);
    return f;
}

/* Makes a file from a C string in which ' stands for ", so that JSON stays readable in C. */
TEST_FN test_bytes test_quoted_file(const char *json, size_t data_size) {
    size_t size = strlen(json);
    test_bytes f = test_file_bytes(json, size, NULL, data_size);
    for (size_t i = 8; i < 8 + size; i++)
        if (f.data[i] == '\'') f.data[i] = '"';
    return f;
}

TEST_FN void test_temp_path(char path[256], const char *name) {
    const char *dir = getenv("TMPDIR");
    snprintf(path, 256, "%.150s/reid-%ld-%.60s", dir ? dir : "/tmp", (long)getpid(), name);
}

TEST_FN void test_write_file(const char *path, const void *data, size_t size) {
    FILE *f = fopen(path, "wb");
    test_need(f != NULL, path);
    test_need(fwrite(data, 1, size, f) == size, path);
    test_need(fclose(f) == 0, path);
}

/* --- a weight file, tensor by tensor: test_weights w = {0}; test_weights_add(…); … test_weights_finish(&w) --- */
typedef struct test_weights {
    char *json;
    unsigned char *data;
    size_t json_size, data_size, room; /* room: bytes allocated for json and for data */
} test_weights;

/* dtype as in the file ("F32"); size: bytes of values. */
TEST_FN void test_weights_add(test_weights *w, const char *name, const char *dtype, const size_t *shape, int ndim,
                              const void *values, size_t size) {
    size_t most = strlen(name) + 300, need = (w->json_size > w->data_size ? w->json_size : w->data_size) + most + size;
    if (need > w->room) {
        w->room = 2 * need;
        w->json = (char *)realloc(w->json, w->room);
        w->data = (unsigned char *)realloc(w->data, w->room);
        test_need(w->json && w->data, "realloc");
    }
    char *to = w->json + w->json_size, *start = to;
    to += sprintf(to, "%c\"%s\":{\"dtype\":\"%s\",\"shape\":[", w->json_size ? ',' : '{', name, dtype);
    for (int i = 0; i < ndim; i++) to += sprintf(to, "%s%zu", i ? "," : "", shape[i]);
    to += sprintf(to, "],\"data_offsets\":[%zu,%zu]}", w->data_size, w->data_size + size);
    w->json_size += (size_t)(to - start);
    if (size) memcpy(w->data + w->data_size, values, size);
    w->data_size += size;
}

/* The whole file; frees w's memory. */
TEST_FN test_bytes test_weights_finish(test_weights *w) {
    test_need(w->json_size > 0, "test_weights_finish: no tensors");
    w->json[w->json_size] = '}';
    test_bytes f = test_file_bytes(w->json, w->json_size + 1, w->data, w->data_size);
    free(w->json);
    free(w->data);
    memset(w, 0, sizeof *w);
    return f;
}

#endif
