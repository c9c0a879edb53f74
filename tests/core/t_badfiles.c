/* t_badfiles.c: weight files that must be refused, each with its exact error.

   cc -std=c99 -D_GNU_SOURCE -O2 -I. tests/core/t_badfiles.c -o build/t_badfiles -lcmocka -lm -lpthread -ldl */
#define REID_IMPLEMENTATION
#define REID_STATIC
#include "reid.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../lib/test_files.h"

#define BAD_JSON REID_ERR_HEADER_JSON
#define FIELD REID_ERR_HEADER_FIELD
#define SIZE REID_ERR_TENSOR_SIZE
#define LAYOUT REID_ERR_DATA_LAYOUT
#define TWICE REID_ERR_DUPLICATE_TENSOR

static const struct {
    const char *what, *json; /* ' stands for " */
    size_t data_size;
    reid_result want;
    const char *detail;
} headers[] = {
    /* JSON */
    {"not an object", "[" A8 "]", 8, BAD_JSON, "'{'"},
    {"space before the object", " {" A8 "}", 8, BAD_JSON, "'{'"},
    {"byte order mark", "\357\273\277{" A8 "}", 8, BAD_JSON, "'{'"},
    {"object not closed", "{" A8, 8, BAD_JSON, "end of the list"},
    {"entry not closed", "{'a':{'dtype':'F32','shape':[2],'data_offsets':[0,8]", 8, BAD_JSON, "tensor \"a\""},
    {"string not closed", "{'a", 0, BAD_JSON, "no closing quote"},
    {"only a brace", "{", 0, BAD_JSON, "expected a name"},
    {"garbage after the object", "{" A8 "}x", 8, BAD_JSON, "only spaces"},
    {"second object", "{" A8 "}{}", 8, BAD_JSON, "only spaces"},
    {"newline as padding", "{" A8 "}\n", 8, BAD_JSON, "only spaces"},
    {"comma before the end", "{" A8 ",}", 8, BAD_JSON, "expected a name"},
    {"comma at the start", "{," A8 "}", 8, BAD_JSON, "expected a name"},
    {"no comma", "{" A8 A8 "}", 8, BAD_JSON, "expected ','"},
    {"no colon", "{'a' {'dtype':'F32','shape':[2],'data_offsets':[0,8]}}", 8, BAD_JSON, "expected ':'"},
    {"name without quotes", "{a:1}", 0, BAD_JSON, "expected a name"},
    {"number as name", "{1:2}", 0, BAD_JSON, "expected a name"},
    {"comment", "{/**/" A8 "}", 8, BAD_JSON, "expected a name"},
    {"comma before ]", "{" T("a", "F32", "[2,]", "[0,8]") "}", 8, BAD_JSON, NULL},
    {"two commas", "{" T("a", "F32", "[2,,1]", "[0,8]") "}", 8, BAD_JSON, NULL},
    {"number starts with 0", "{" T("a", "F32", "[02]", "[0,8]") "}", 8, BAD_JSON, "starts with 0"},
    {"plus sign", "{" T("a", "F32", "[+2]", "[0,8]") "}", 8, BAD_JSON, NULL},
    {"hexadecimal", "{" T("a", "F32", "[0x2]", "[0,8]") "}", 8, BAD_JSON, NULL},
    {"unknown escape", "{'\\x':1}", 0, BAD_JSON, "escape"},
    {"short \\u", "{'\\u12':1}", 0, BAD_JSON, "four hexadecimal"},
    {"\\u at the end", "{'\\u", 0, BAD_JSON, "four hexadecimal"},
    {"backslash at the end", "{'\\", 0, BAD_JSON, "escape"},
    {"low surrogate alone", "{'\\udc00':1}", 0, BAD_JSON, "surrogate"},
    {"high surrogate alone", "{'\\ud800x':1}", 0, BAD_JSON, "surrogate"},
    {"high surrogate and a letter", "{'\\ud800\\ue000':1}", 0, BAD_JSON, "surrogate"},
    {"two high surrogates", "{'\\ud800\\ud800':1}", 0, BAD_JSON, "surrogate"},
    {"escaped NUL in a name", "{'a\\u0000b':1}", 0, BAD_JSON, "NUL"},
    {"escaped NUL in metadata", "{'__metadata__':{'a':'\\u0000'}}", 0, BAD_JSON, "NUL"},
    {"escaped newline in a name", "{'a\\nb':1}", 0, BAD_JSON, "control"},
    {"terminal escape in a name", "{'a\\u001b[2J':1}", 0, BAD_JSON, "control"},
    {"DEL in a name", "{'a\177':1}", 0, BAD_JSON, "control"},
    {"C1 control in a name", "{'a\\u009b':1}", 0, BAD_JSON, "control"},
    {"raw tab in a name", "{'a\tb':1}", 0, BAD_JSON, "control"},
    {"raw newline in metadata", "{'__metadata__':{'a':'\n'}}", 0, BAD_JSON, "control"},
    {"UTF-8: continuation first", "{'\200':1}", 0, BAD_JSON, "UTF-8"},
    {"UTF-8: overlong /", "{'\300\257':1}", 0, BAD_JSON, "UTF-8"},
    {"UTF-8: overlong, 3 bytes", "{'\340\200\257':1}", 0, BAD_JSON, "UTF-8"},
    {"UTF-8: overlong, 4 bytes", "{'\360\200\200\257':1}", 0, BAD_JSON, "UTF-8"},
    {"UTF-8: surrogate", "{'\355\240\200':1}", 0, BAD_JSON, "UTF-8"},
    {"UTF-8: above U+10FFFF", "{'\364\220\200\200':1}", 0, BAD_JSON, "UTF-8"},
    {"UTF-8: cut short", "{'\303':1}", 0, BAD_JSON, "UTF-8"},
    {"UTF-8: cut short at the end", "{'\360\237\230", 0, BAD_JSON, "UTF-8"},
    {"Latin-1 in metadata", "{'__metadata__':{'a':'\344'}}", 0, BAD_JSON, "UTF-8"},
    /* fields */
    {"empty entry", "{'a':{}}", 0, FIELD, "missing field \"dtype\""},
    {"no dtype", "{'a':{'shape':[2],'data_offsets':[0,8]}}", 8, FIELD, "\"dtype\""},
    {"no shape", "{'a':{'dtype':'F32','data_offsets':[0,8]}}", 8, FIELD, "\"shape\""},
    {"no data_offsets", "{'a':{'dtype':'F32','shape':[2]}}", 8, FIELD, "\"data_offsets\""},
    {"dtype twice", "{'a':{'dtype':'F32','dtype':'F32','shape':[2],'data_offsets':[0,8]}}", 8, FIELD,
     "second field \"dtype\""},
    {"shape twice, one escaped", "{'a':{'dtype':'F32','shape':[2],'sh\\u0061pe':[2],'data_offsets':[0,8]}}", 8, FIELD,
     "second field \"shape\""},
    {"unknown field", "{'a':{'dtype':'F32','shape':[2],'data_offsets':[0,8],'x':1}}", 8, FIELD, "unknown field \"x\""},
    {"field in other case", "{'a':{'DType':'F32','shape':[2],'data_offsets':[0,8]}}", 8, FIELD, "\"DType\""},
    {"entry is null", "{'a':null}", 0, FIELD, "tensor \"a\""},
    {"entry is a list", "{'a':[]}", 0, FIELD, "tensor \"a\""},
    {"dtype is a number", "{'a':{'dtype':32,'shape':[2],'data_offsets':[0,8]}}", 8, FIELD, "dtype"},
    {"shape is a number", "{" T("a", "F32", "2", "[0,8]") "}", 8, FIELD, "list"},
    {"shape in a list", "{" T("a", "F32", "[[2]]", "[0,8]") "}", 8, FIELD, "integer"},
    {"shape is text", "{" T("a", "F32", "['2']", "[0,8]") "}", 8, FIELD, "integer"},
    {"negative side", "{" T("a", "F32", "[-2]", "[0,8]") "}", 8, FIELD, "integer"},
    {"fraction", "{" T("a", "F32", "[2.0]", "[0,8]") "}", 8, FIELD, "fraction"},
    {"exponent", "{" T("a", "F32", "[2e0]", "[0,8]") "}", 8, FIELD, "exponent"},
    {"side of 2^63", "{" T("a", "F32", "[9223372036854775808]", "[0,8]") "}", 8, FIELD, "63 bits"},
    {"side of 2^64 + 2", "{" T("a", "F32", "[18446744073709551618]", "[0,8]") "}", 8, FIELD, "63 bits"},
    {"one offset", "{" T("a", "F32", "[2]", "[8]") "}", 8, FIELD, "two integers"},
    {"three offsets", "{" T("a", "F32", "[2]", "[0,8,8]") "}", 8, FIELD, "two integers"},
    {"no offsets", "{" T("a", "F32", "[2]", "[]") "}", 8, FIELD, "two integers"},
    {"offset of 2^64", "{" T("a", "F32", "[2]", "[18446744073709551616,8]") "}", 8, FIELD, "63 bits"},
    {"metadata is a list", "{'__metadata__':[]}", 0, FIELD, "object of strings"},
    {"metadata value is a number", "{'__metadata__':{'a':1}}", 0, FIELD, "expected a string"},
    {"metadata value is an object", "{'__metadata__':{'a':{}}}", 0, FIELD, "expected a string"},
    {"metadata twice", "{'__metadata__':{},'__metadata__':{}}", 0, FIELD, "second \"__metadata__\""},
    {"metadata key twice", "{'__metadata__':{'k':'1','k':'2'}}", 0, FIELD, "second \"k\""},
    {"metadata key twice, escaped", "{'__metadata__':{'k':'1','\\u006b':'1'}}", 0, FIELD, "second \"k\""},
    /* names */
    {"name twice", "{" A8 "," A8 "}", 8, TWICE, "\"a\" and \"a\""},
    {"name twice, one range each", "{" A8 "," T("a", "F32", "[2]", "[8,16]") "}", 16, TWICE, "\"a\" and \"a\""},
    {"name twice, one escaped", "{" A8 "," T("\\u0061", "F32", "[2]", "[8,16]") "}", 16, TWICE, "\"a\" and \"a\""},
    {"empty tensor twice", "{" T("e", "F32", "[0]", "[0,0]") "," T("e", "F32", "[0]", "[0,0]") "}", 0, TWICE, NULL},
    {"with and without prefix", "{" A8 "," T("module.a", "F32", "[2]", "[8,16]") "}", 16, TWICE, "\"module.a\""},
    {"two prefixes", "{" T("model.a", "U8", "[8]", "[0,8]") "," T("module._orig_mod.a", "F32", "[2]", "[8,16]") "}",
     16, TWICE, "\"module._orig_mod.a\""},
    /* dtypes, sizes */
    {"unknown dtype", "{" T("a", "F99", "[2]", "[0,8]") "}", 8, REID_ERR_UNKNOWN_DTYPE, "\"F99\""},
    {"unknown dtype, empty tensor", "{" T("a", "F99", "[0]", "[0,0]") "}", 0, REID_ERR_UNKNOWN_DTYPE, "\"a\""},
    {"dtype in small letters", "{" T("a", "f32", "[2]", "[0,8]") "}", 8, REID_ERR_UNKNOWN_DTYPE, "\"f32\""},
    {"dtype without text", "{" T("a", "", "[2]", "[0,8]") "}", 8, REID_ERR_UNKNOWN_DTYPE, "\"\""},
    {"too few bytes", "{" T("a", "F32", "[3]", "[0,8]") "}", 8, SIZE, "3 elements of F32"},
    {"too many bytes", "{" T("a", "F32", "[1]", "[0,8]") "}", 8, SIZE, "tensor \"a\""},
    {"end before begin", "{" T("a", "F32", "[2]", "[8,0]") "}", 8, SIZE, "8 to 0"},
    {"scalar with no bytes", "{" T("a", "F32", "[]", "[0,0]") "}", 0, SIZE, "1 elements"},
    {"side 0 with bytes", "{" T("a", "F32", "[0]", "[0,8]") "}", 8, SIZE, "0 elements"},
    {"half a byte", "{" T("a", "F4", "[3]", "[0,1]") "}", 1, SIZE, "3 elements of F4"},
    {"three quarters of a byte", "{" T("a", "F6_E2M3", "[1]", "[0,1]") "}", 1, SIZE, NULL},
    {"product is 2^64", "{" T("a", "F32", "[4294967296,4294967296]", "[0,0]") "}", 0, SIZE, "overflows"},
    {"product is 2^64 + 2^32", "{" T("a", "U8", "[4294967297,4294967296]", "[0,4294967296]") "}", 8, SIZE, "overflows"},
    {"third side wraps", "{" T("a", "F32", "[2097152,4194304,4194304]", "[0,0]") "}", 0, SIZE, "overflows"},
    {"bits wrap to 0", "{" T("a", "F64", "[288230376151711744]", "[0,0]") "}", 0, SIZE, "overflows"},
    {"bits wrap to 64", "{" T("a", "F64", "[288230376151711745]", "[0,8]") "}", 8, SIZE, "overflows"},
    {"overflow, then 0", "{" T("a", "F32", "[9223372036854775807,3,0]", "[0,0]") "}", 0, SIZE, "overflows"},
    /* layout */
    {"data without tensors", "{}", 8, LAYOUT, "has 8"},
    {"metadata only, data there", "{'__metadata__':{}}", 1, LAYOUT, NULL},
    {"bytes after the last tensor", "{" A8 "}", 9, LAYOUT, "8 bytes of data, but it has 9"},
    {"data cut short", "{" A8 "}", 7, LAYOUT, "downloaded completely"},
    {"no data", "{" A8 "}", 0, LAYOUT, "downloaded completely"},
    {"range far outside", "{" T("a", "U8", "[9223372036854775807]", "[0,9223372036854775807]") "}", 8, SIZE, NULL},
    {"range of 2^59 bytes", "{" T("a", "U8", "[576460752303423488]", "[0,576460752303423488]") "}", 8, LAYOUT,
     "completely"},
    {"range at the end of 63 bits", "{" T("a", "F32", "[2]", "[9223372036854775799,9223372036854775807]") "}", 8,
     LAYOUT, NULL},
    {"does not start at 0", "{" T("a", "F32", "[2]", "[8,16]") "}", 16, LAYOUT, "starts at byte 8"},
    {"hole", "{" A8 "," T("b", "F32", "[2]", "[12,20]") "}", 20, LAYOUT, "tensor \"b\""},
    {"overlap", "{" A8 "," T("b", "F32", "[2]", "[4,12]") "}", 12, LAYOUT, "tensor \"b\" starts at byte 4"},
    {"same range twice", "{" A8 "," T("b", "F32", "[2]", "[0,8]") "}", 8, LAYOUT, NULL},
    {"one inside another", "{" T("a", "F32", "[4]", "[0,16]") "," T("b", "F32", "[1]", "[4,8]") "}", 16, LAYOUT, NULL},
    {"empty tensor inside another", "{" A8 "," T("e", "F32", "[0]", "[4,4]") "}", 8, LAYOUT, "tensor \"e\""},
    {"empty tensor past the end", "{" A8 "," T("e", "F32", "[0]", "[12,12]") "}", 8, LAYOUT, "tensor \"e\""},
    {"hole and overlap cancel",
     "{" T("a", "U8", "[4]", "[0,4]") "," T("b", "U8", "[4]", "[2,6]") "," T("c", "U8", "[2]", "[8,10]") "}", 10,
     LAYOUT, "tensor \"b\""},
};

static void malformed_headers(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++)
        check(headers[i].what, test_quoted_file(headers[i].json, headers[i].data_size), headers[i].want,
              headers[i].detail);
}

/* A header of `count` copies of `entry`, with # replaced by the copy's number, between `before` and `after`. */
static test_bytes repeated(const char *before, const char *entry, size_t count, const char *after) {
    size_t room = (strlen(entry) + 24) * count + strlen(before) + strlen(after) + 1, used = strlen(before);
    char *json = (char *)malloc(room);
    test_need(json != NULL, "malloc");
    memcpy(json, before, used + 1);
    for (size_t i = 0; i < count; i++) {
        char name[24];
        const char *at = strchr(entry, '#');
        snprintf(name, sizeof name, "%zu", i);
        used += (size_t)snprintf(json + used, room - used, "%s%.*s%s%s", i ? "," : "", (int)(at - entry), entry, name,
                                 at + 1);
    }
    snprintf(json + used, room - used, "%s", after);
    test_bytes f = test_quoted_file(json, 0);
    free(json);
    return f;
}

static void limits(void **state) {
    char name[600], text[800];
    (void)state;
    check("16384 tensors", repeated("{", T("#", "F4", "[0]", "[0,0]"), 16384, "}"), REID_OK, NULL);
    check("16385 tensors", repeated("{", T("#", "F4", "[0]", "[0,0]"), 16385, "}"), REID_ERR_HEADER_LIMIT, "tensors");
    check("1024 keys", repeated("{'__metadata__':{", "'#':''", 1024, "}}"), REID_OK, NULL);
    check("1025 keys", repeated("{'__metadata__':{", "'#':''", 1025, "}}"), REID_ERR_HEADER_LIMIT, "keys");
    check("8 dimensions", test_quoted_file("{" T("a", "F32", "[1,1,1,2,1,1,1,1]", "[0,8]") "}", 8), REID_OK, NULL);
    check("9 dimensions", test_quoted_file("{" T("a", "F32", "[1,1,1,2,1,1,1,1,1]", "[0,8]") "}", 8),
          REID_ERR_HEADER_LIMIT, "dimensions");
    memset(name, 'n', sizeof name);
    for (int n = 511; n <= 512; n++) {
        snprintf(text, sizeof text, "{'%.*s':{'dtype':'F32','shape':[2],'data_offsets':[0,8]}}", n, name);
        check("long name", test_quoted_file(text, 8), n == 511 ? REID_OK : REID_ERR_HEADER_LIMIT, "name is too long");
    }
    for (int over = 0; over < 2; over++) {
        size_t size = ((size_t)1 << 24) + (size_t)over;
        char *json = (char *)malloc(size);
        test_need(json != NULL, "malloc");
        memset(json, ' ', size);
        memcpy(json, "{}", 2);
        check("16 MiB", test_file_bytes(json, size, NULL, 0), over ? REID_ERR_HEADER_SIZE : REID_OK, "limit: 16777216");
        free(json);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(malformed_headers), cmocka_unit_test(limits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
