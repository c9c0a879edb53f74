/* Fuzzer for the reader of weight files: accepted files must be consistent.

   clang -std=c99 -D_GNU_SOURCE -O1 -g -I. -fsanitize=fuzzer,address,undefined tests/fuzz/fuzz_safetensors.c
         -o build/fuzz_safetensors -lm -lpthread -ldl
   build/fuzz_safetensors -dict=tests/fuzz/safetensors.dict CORPUS_DIRECTORY
   With any compiler, to replay inputs: add tests/fuzz/fuzz_main.c and leave out -fsanitize=fuzzer. */
#define REID_IMPLEMENTATION
#define REID_STATIC
#include "reid.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(condition) \
    if (!(condition)) fprintf(stderr, "violated: %s\n", #condition), abort()

static void open_and_check(const uint8_t *data, size_t size) {
    reid_desc desc = REID_INIT;
    reid_error error;
    reid__mem mem;
    reid__weights w;
    float values[64];
    desc.weights_data = data, desc.weights_size = size;
    reid__mem_init(&mem, &desc);
    reid__clear_error(&error);
    reid_result r = reid__weights_open(&w, &desc, &mem, &error);
    if (r) {
        MUST(mem.used == 0 && w.tensors == NULL && error.code == r && strlen(error.text) > strlen("weights_data: "));
        return;
    }
    uint64_t total = 0;
    for (size_t i = 0; i < w.count; i++) {
        const reid__tensor *t = &w.tensors[i];
        uint64_t bits = (uint64_t)reid__dtypes[t->dtype].bits;
        MUST(t->begin <= t->end && t->end <= size - w.data_start);
        for (int k = 0; k < t->ndim; k++) bits *= t->shape[k];
        MUST(bits == 8 * (t->end - t->begin));
        MUST(reid__weights_find(&w, t->name) == t);
        MUST(strlen(t->file_name) <= 511 && strstr(t->file_name, t->name));
        MUST(i == 0 || strcmp(w.tensors[i - 1].name, t->name) < 0);
        total += t->end - t->begin;
        for (size_t first = 0; first < t->count; first += 64) {
            size_t n = t->count - first < 64 ? t->count - first : 64;
            r = reid__weights_read(&w, t, first, n, values, &error);
            MUST(r == REID_OK || r == REID_ERR_NOT_FINITE || r == REID_ERR_TENSOR_DTYPE);
            for (size_t k = 0; r == REID_OK && k < n; k++) MUST(values[k] - values[k] == 0);
            if (r == REID_ERR_TENSOR_DTYPE) break;
        }
    }
    MUST(total == size - w.data_start);
    for (size_t i = 0; i < w.count; i++) /* no two tensors share a byte */
        for (size_t k = 0; k < i && i < 100; k++)
            MUST(w.tensors[i].end <= w.tensors[k].begin || w.tensors[k].end <= w.tensors[i].begin ||
                 w.tensors[i].begin == w.tensors[i].end || w.tensors[k].begin == w.tensors[k].end);
    for (size_t i = 0; i < w.meta_count; i++) MUST(reid__weights_meta(&w, w.meta[i].key) == w.meta[i].value);
    reid__weights_close(&w, &mem);
    MUST(mem.used == 0);
}

/* Tries the input as a file, and again with a correct length: its last byte is then the number of bytes of data. Few
   random changes keep the length correct. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    open_and_check(data, size);
    if (size < 10) return 0;
    size_t data_size = data[size - 1] < size - 9 ? data[size - 1] : 0;
    uint8_t *file = (uint8_t *)malloc(size - 1);
    if (!file) return 0;
    memcpy(file, data, size - 1);
    for (int i = 0; i < 8; i++) file[i] = (uint8_t)((uint64_t)(size - 9 - data_size) >> 8 * i);
    open_and_check(file, size - 1);
    free(file);
    return 0;
}
