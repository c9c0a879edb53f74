/* t_truncate.c: a valid weight file cut at every length, and with every byte of its length and header changed to every
   other value: an error or an equal result, never a crash.

   cc -std=c99 -D_GNU_SOURCE -O2 -I. tests/core/t_truncate.c -o build/t_truncate -lcmocka -lm -lpthread -ldl */
#define REID_IMPLEMENTATION
#define REID_STATIC
#include "reid.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../lib/test_files.h"

#define DATA_SIZE 58
static const char tiny[] =
    "{'__metadata__':{'k':'v\\n'}," T("module.conv.weight", "F32", "[2,3]", "[0,24]") ","
    T("n", "I64", "[]", "[24,32]") "," T("caf\\u00e9.bias", "F16", "[5]", "[32,42]") ","
    T("none", "F32", "[0,7]", "[42,42]") ", " T("d", "F64", "[2]", "[42,58]") "}  ";

static reid_result open_bytes(reid__weights *w, reid__mem *mem, test_heap *heap, const unsigned char *data,
                              size_t size) {
    reid_desc desc = REID_INIT;
    desc.weights_data = data, desc.weights_size = size;
    desc.alloc_fn = test_heap_alloc, desc.free_fn = test_heap_free, desc.alloc_user = heap;
    reid__mem_init(mem, &desc);
    return reid__weights_open(w, &desc, mem, NULL);
}

/* Compares an accepted changed file with the original: only names, metadata and a dtype's kind, which can change from
   F32 to I32, may differ. Tensors that are still floats must be readable. */
static uint64_t summary(const reid__weights *w) {
    reid__digest d;
    float values[6];
    uint64_t hash[2];
    reid__digest_init(&d);
    for (uint64_t at = 0; at < DATA_SIZE;) { /* in order of offset, because a changed name sorts elsewhere */
        size_t i = 0;
        while (i < w->count && !(w->tensors[i].begin == at && w->tensors[i].end > at)) i++;
        assert_true(i < w->count);
        const reid__tensor *t = &w->tensors[i];
        reid__digest_update(&d, &t->ndim, sizeof t->ndim);
        reid__digest_update(&d, t->shape, (size_t)t->ndim * sizeof t->shape[0]);
        reid__digest_update(&d, &t->count, sizeof t->count);
        reid_result r = reid__weights_read(w, t, 0, t->count, values, NULL);
        assert_true(r == (strchr("FB", reid__dtypes[t->dtype].name[0]) ? REID_OK : REID_ERR_TENSOR_DTYPE));
        at = t->end;
    }
    reid__digest_final(&d, hash);
    return hash[0] + w->count + w->meta_count;
}

static void every_length(void **state) {
    test_bytes f = test_quoted_file(tiny, DATA_SIZE);
    (void)state;
    for (size_t size = 0; size <= f.size; size++) {
        test_heap heap = {0, 0, 0, 0, 0, 0, 0};
        reid__weights w;
        reid__mem mem;
        unsigned char *cut = (unsigned char *)malloc(size ? size : 1); /* exact, so that a sanitizer sees an overrun */
        test_need(cut != NULL, "malloc");
        memcpy(cut, f.data, size);
        reid_result want = size == 0 ? REID_ERR_NOT_SAFETENSORS : size < f.size - DATA_SIZE ? REID_ERR_HEADER_SIZE
                           : size < f.size ? REID_ERR_DATA_LAYOUT : REID_OK;
        assert_int_equal(open_bytes(&w, &mem, &heap, cut, size), want);
        reid__weights_close(&w, &mem);
        assert_int_equal(heap.live, 0);
        free(cut);
    }
    free(f.data);
}

static void every_byte(void **state) {
    test_bytes f = test_quoted_file(tiny, DATA_SIZE);
    test_heap heap = {0, 0, 0, 0, 0, 0, 0};
    reid__weights w;
    reid__mem mem;
    size_t accepted = 0;
    (void)state;
    assert_int_equal(open_bytes(&w, &mem, &heap, f.data, f.size), REID_OK);
    uint64_t original = summary(&w);
    reid__weights_close(&w, &mem);
    for (size_t i = 0; i < f.size - DATA_SIZE; i++) {
        unsigned char was = f.data[i];
        for (int other = 0; other < 256; other++) {
            f.data[i] = (unsigned char)other;
            if (open_bytes(&w, &mem, &heap, f.data, f.size) == REID_OK) {
                accepted++;
                if (i < 8) assert_int_equal(other, was); /* no other length fits */
                assert_true(summary(&w) == original);
            } else {
                assert_int_not_equal(other, was);
            }
            reid__weights_close(&w, &mem);
            assert_int_equal(heap.live, 0);
        }
        f.data[i] = was;
    }
    assert_true(accepted > f.size - DATA_SIZE && accepted < 255 * (f.size - DATA_SIZE) / 10); /* names, metadata */
    free(f.data);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_length), cmocka_unit_test(every_byte)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
