/* t_oddfiles.c: other files given as weight files, which are refused with a hint; and unusual weight files, which are
   accepted.

   cc -std=c99 -D_GNU_SOURCE -O2 -I. tests/core/t_oddfiles.c -o build/t_oddfiles -lcmocka -lm -lpthread -ldl */
#define REID_IMPLEMENTATION
#define REID_STATIC
#include "reid.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../lib/test_files.h"

/* Files that are something else, or whose first eight bytes are wrong. The bytes are followed by zeros up to `size`. */
static void mistaken_files(void **state) {
    static const struct {
        const char *what, *start;
        size_t start_size, size;
        reid_result want;
        const char *detail;
    } rows[] = {
#define S(text) text, sizeof text - 1
        {"empty", S(""), 0, REID_ERR_NOT_SAFETENSORS, "empty"},
        {"zip checkpoint", S("PK\3\4\0\0\10\10"), 4000, REID_ERR_NOT_SAFETENSORS, "reid convert"},
        {"legacy checkpoint", S("\200\2\212\12l\374\234F\371 j\250P\31."), 4000, REID_ERR_NOT_SAFETENSORS,
         "reid convert"},
        {"pickle, protocol 2", S("\200\2}q\0X\7\0\0\0"), 4000, REID_ERR_NOT_SAFETENSORS, "reid convert"},
        {"pickle, protocol 4", S("\200\4\225\7\1\0\0\0"), 4000, REID_ERR_NOT_SAFETENSORS, "reid convert"},
        {"LFS pointer", S("version https://git-lfs.github.com/spec/v1\noid sha256:0"), 130, REID_ERR_NOT_SAFETENSORS,
         "git lfs pull"},
        {"web page", S("<!DOCTYPE html>"), 900, REID_ERR_NOT_SAFETENSORS, "web page"},
        {"web page, small letters", S("<!doctype html>"), 900, REID_ERR_NOT_SAFETENSORS, "web page"},
        {"web page without doctype", S("<html>"), 6, REID_ERR_NOT_SAFETENSORS, "web page"},
        {"XML error", S("<?xml version=\"1.0\"?><Error>"), 300, REID_ERR_NOT_SAFETENSORS, "web page"},
        {"gzip", S("\37\213\10\0abcd"), 300, REID_ERR_NOT_SAFETENSORS, "unpack"},
        {"HDF5", S("\211HDF\r\n\32\n"), 300, REID_ERR_NOT_SAFETENSORS, "HDF5"},
        {"ONNX", S("\10\10\22\7pytorch"), 300, REID_ERR_NOT_SAFETENSORS, "ONNX"},
        {"GGUF", S("GGUF\3\0\0\0"), 300, REID_ERR_NOT_SAFETENSORS, "GGUF"},
        {".wts", S("267\nconv1.weight 9408 3c9a"), 300, REID_ERR_NOT_SAFETENSORS, ".wts"},
        {"digits only", S("1234567890"), 10, REID_ERR_NOT_SAFETENSORS, "text"},
        {"a text file", S("conv1\tis\nhere\n"), 14, REID_ERR_NOT_SAFETENSORS, "text"},
        {"text with a byte that is none", S("conv1 is here\1"), 14, REID_ERR_HEADER_SIZE, NULL},
        {"index.json", S("{\n  \"metadata\": {}}"), 300, REID_ERR_NOT_SAFETENSORS, "index"},
        {"JPEG", S("\377\330\377\340\0\20JFIF"), 300, REID_ERR_NOT_SAFETENSORS, "it looks like an image"},
        {"seven bytes", S("\2\0\0\0\0\0\0"), 7, REID_ERR_HEADER_SIZE, "7 bytes"},
        {"length 0", S("\0\0\0\0\0\0\0\0{}"), 10, REID_ERR_HEADER_SIZE, "header length 0"},
        {"length only", S("\2\0\0\0\0\0\0\0"), 8, REID_ERR_HEADER_SIZE, "header length 2"},
        {"one byte missing", S("\3\0\0\0\0\0\0\0{}"), 10, REID_ERR_HEADER_SIZE, "header length 3"},
        {"length 2^64 - 1", S("\377\377\377\377\377\377\377\377{}"), 10, REID_ERR_HEADER_SIZE, "18446744073709551615"},
        {"length 2^64 - 8, which wraps to 0", S("\370\377\377\377\377\377\377\377{}"), 10, REID_ERR_HEADER_SIZE, NULL},
        {"length 2^32 + 2", S("\2\0\0\0\1\0\0\0{}"), 10, REID_ERR_HEADER_SIZE, "4294967298"},
        {"16 MiB promised, 100 bytes there", S("\0\0\0\1\0\0\0\0{}"), 100, REID_ERR_HEADER_SIZE, "16777216"},
        {"640 promised, which starts like a pickle", S("\200\2\0\0\0\0\0\0{}"), 100, REID_ERR_HEADER_SIZE, "640"},
        {"zeros", S(""), 100, REID_ERR_HEADER_SIZE, NULL},
        {"NUL in the header", S("\4\0\0\0\0\0\0\0{}\0 "), 12, REID_ERR_HEADER_JSON, "only spaces"},
        {"NUL in a name", S("\10\0\0\0\0\0\0\0{\"a\0b\":1"), 16, REID_ERR_HEADER_JSON, "control"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        test_bytes f = {(unsigned char *)calloc(rows[i].size + 1, 1), rows[i].size};
        test_need(f.data != NULL, "calloc");
        memcpy(f.data, rows[i].start, rows[i].start_size);
        check(rows[i].what, f, rows[i].want, rows[i].detail);
    }
    test_bytes tar = {(unsigned char *)calloc(10240, 1), 10240};
    test_need(tar.data != NULL, "calloc");
    memcpy(tar.data, "sys_info", 8), memcpy(tar.data + 257, "ustar", 5);
    check("tar checkpoint", tar, REID_ERR_NOT_SAFETENSORS, "reid convert");
}

/* Files that a strict reader must accept. `name` must be found, with its first element at byte `begin`. */
static void odd_but_valid(void **state) {
    static const struct {
        const char *json;
        size_t data_size;
        const char *name, *file_name;
        uint64_t begin;
    } rows[] = {
        {"{" A8 "}", 8, "a", "a", 0},
        {"{" A8 "}     ", 8, "a", "a", 0},
        {"{\r\n\t'a' : { 'dtype' : 'F32' , 'shape' : [ 2 ] , 'data_offsets' : [ 0 , 8 ] } } ", 8, "a", "a", 0},
        {"{'a':{'data_offsets':[0,8],'shape':[2],'dtype':'F32'}}", 8, "a", "a", 0},
        {"{" T("b", "F32", "[1]", "[8,12]") "," A8 "}", 12, "b", "b", 8},
        {"{" T("b", "U8", "[3]", "[0,3]") "," T("a", "F32", "[2]", "[3,11]") "}", 11, "a", "a", 3}, /* unaligned */
        {"{" T("s", "F32", "[]", "[0,4]") "}", 4, "s", "s", 0},
        {"{" T("e", "F32", "[0]", "[0,0]") "," A8 "}", 8, "e", "e", 0},
        {"{" A8 "," T("e", "F32", "[5,0,7]", "[8,8]") "}", 8, "e", "e", 8},
        {"{" A8 "," T("e", "I8", "[0]", "[8,8]") "," T("f", "I8", "[0]", "[8,8]") "," T("b", "U8", "[1]", "[8,9]") "}",
         9, "b", "b", 8},
        {"{" T("module.a", "F32", "[2]", "[0,8]") "}", 8, "a", "module.a", 0},
        {"{" T("_orig_mod.module.backbone.model.module.a", "F32", "[2]", "[0,8]") "}", 8, "a",
         "_orig_mod.module.backbone.model.module.a", 0},
        {"{" T("models.a", "F32", "[2]", "[0,8]") "}", 8, "models.a", "models.a", 0},
        {"{" T("a.module.b", "F32", "[2]", "[0,8]") "}", 8, "a.module.b", "a.module.b", 0},
        {"{" T("l\\u0061yer\\u00e9\\ud83d\\ude00\\/\\\\", "F32", "[2]", "[0,8]") "}", 8,
         "layer\303\251\360\237\230\200/\\", "layer\303\251\360\237\230\200/\\", 0},
        {"{" T("\303\251\357\277\277\364\217\277\277", "F32", "[2]", "[0,8]") "}", 8,
         "\303\251\357\277\277\364\217\277\277",
         "\303\251\357\277\277\364\217\277\277", 0},
        {"{" T("", "F32", "[2]", "[0,8]") "}", 8, "", "", 0},
        {"{'__metadata__':{}," A8 "}", 8, "a", "a", 0},
        {"{" A8 ",'__metadata__':{'k':'v','':'','n':'\\n\\t\\u00e9'}}", 8, "a", "a", 0},
        {"{" T("x", "F6_E3M2", "[4]", "[0,3]") "," T("y", "F4", "[2]", "[3,4]") "," T("z", "C64", "[1]", "[4,12]") "}",
         12, "z", "z", 4},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        test_bytes f = test_quoted_file(rows[i].json, rows[i].data_size);
        reid_desc desc = REID_INIT;
        reid_error error;
        reid__mem mem;
        reid__weights w;
        desc.weights_data = f.data, desc.weights_size = f.size;
        reid__mem_init(&mem, &desc);
        if (reid__weights_open(&w, &desc, &mem, &error)) fail_msg("row %zu: %s", i, error.text);
        const reid__tensor *t = reid__weights_find(&w, rows[i].name);
        assert_non_null(t);
        assert_string_equal(t->file_name, rows[i].file_name);
        assert_true(t->begin == rows[i].begin);
        assert_null(reid__weights_find(&w, "no such tensor"));
        assert_null(reid__weights_meta(&w, "no such key"));
        if (w.meta_count) {
            assert_string_equal(reid__weights_meta(&w, "k"), "v");
            assert_string_equal(reid__weights_meta(&w, ""), "");
            assert_string_equal(reid__weights_meta(&w, "n"), "\n\t\303\251");
        }
        reid__weights_close(&w, &mem);
        check(rows[i].json, f, REID_OK, NULL);
    }
    check("no tensors at all", test_quoted_file("{}", 0), REID_OK, NULL);
}

/* Both sources or none, and a long path, whose end must be in the message. */
static void sources(void **state) {
    char path[1000];
    reid_desc desc = REID_INIT;
    reid_error error;
    reid__mem mem;
    reid__weights w;
    (void)state;
    reid__mem_init(&mem, &desc);
    assert_int_equal(reid__weights_open(&w, &desc, &mem, &error), REID_ERR_INVALID_ARG);
    desc.weights = "a", desc.weights_data = "b";
    assert_int_equal(reid__weights_open(&w, &desc, &mem, &error), REID_ERR_INVALID_ARG);
    desc.weights_data = NULL;
    memset(path, '/', sizeof path);
    snprintf(path + 900, 100, "no/such.safetensors");
    desc.weights = path;
    assert_int_equal(reid__weights_open(&w, &desc, &mem, &error), REID_ERR_FILE_OPEN);
    assert_says(error.text, "no/such.safetensors: no such file (errno 2)");
    reid__weights_close(&w, &mem);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mistaken_files), cmocka_unit_test(odd_but_valid), cmocka_unit_test(sources),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
