/* t_server_request.c: how a server reads requests: every malformed one is refused with the name of its field, a
   right one becomes exactly its images or pixels, and numbers of an answer read back to the same float32.

   cc -std=c99 -D_GNU_SOURCE -O1 -I. -Itools tests/tools/server/t_server_request.c tools/server/request.c
      tools/base/json.c tools/base/text.c tools/base/decimal.c tools/base/say.c tools/base/memory.c tools/base/clock.c
      tools/base/source.c -o build/t_server_request -lcmocka -lm */
#include "base/decimal.h"
#include "server/request.h"
#include <stdarg.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../../lib/test_util.h"

enum { MOST = 8 };

static infer_request got;
static text why;

/* Reads JSON with bytes behind it, from a block of exactly that size, so that a step too far is seen. The block is
   kept until the next call: a request points into it. */
static int read_body(const char *json, const void *bytes, size_t n) {
    static unsigned char *body;
    size_t len = strlen(json);
    infer_free(&got);
    free(body);
    body = malloc(len + n + !(len + n));
    assert_non_null(body);
    memcpy(body, json, len);
    if (n) memcpy(body + len, bytes, n);
    return infer_read(&got, body, len + n, len, MOST, &why);
}

#define INPUT(rest) "{\"inputs\":[{\"name\":\"image\",\"datatype\":\"BYTES\"," rest "}]}"
#define PIXELS(rest) "{\"inputs\":[{\"name\":\"pixels\",\"datatype\":\"UINT8\"," rest "}]}"
#define ONE "{\"name\":\"image\",\"datatype\":\"BYTES\",\"shape\":[1],\"data\":[\"QUI=\"]}"
#define WITH(rest) "{\"inputs\":[" ONE "]," rest "}"

static const struct {
    const char *json, *bytes;
    size_t n;
    int status;
    const char *why;
} REFUSED[] = {
    {"", "", 0, 400, "request: line 1: expected an object { … }"},
    {"{", "", 0, 400, "request: line 1: the text ends early"},
    {"[]", "", 0, 400, "request: line 1: expected an object { … }"},
    {"{}", "", 0, 400, "inputs: is missing"},
    {"{}x", "", 0, 400, "request: line 1: text after the end of the value"},
    {"{\"input\":[]}", "", 0, 400, "request: \"input\" is unknown"},
    {"{\"inputs\":{}}", "", 0, 400, "inputs: line 1: expected an array [ … ]"},
    {"{\"inputs\":[]}", "", 0, 400, "inputs: expected one tensor, image or pixels"},
    {"{\"inputs\":[" ONE "," ONE "]}", "", 0, 400, "inputs: expected one tensor, image or pixels"},
    {"{\"inputs\":[" ONE "],\"inputs\":[]}", "", 0, 400, "inputs: is given twice"},
    {"{\"inputs\":[{}]}", "", 0, 400, "inputs[0].name: is missing"},
    {"{\"inputs\":[{\"name\":\"x\"}]}", "", 0, 400, "inputs[0].name: must be image or pixels, not \"x\""},
    {"{\"inputs\":[{\"name\":7}]}", "", 0, 400, "inputs[0].name: line 1: expected a string"},
    {"{\"inputs\":[{\"name\":\"image\"}]}", "", 0, 400, "inputs[0].datatype: is missing"},
    {"{\"inputs\":[{\"name\":\"image\",\"datatype\":\"UINT8\"}]}", "", 0, 400,
     "inputs[0].datatype: of image is BYTES, not \"UINT8\""},
    {"{\"inputs\":[{\"name\":\"pixels\",\"datatype\":\"FP32\"}]}", "", 0, 400,
     "inputs[0].datatype: of pixels is UINT8, not \"FP32\""},
    {"{\"inputs\":[{\"name\":\"image\",\"name\":\"image\"}]}", "", 0, 400, "inputs[0].name: is given twice"},
    {"{\"inputs\":[{\"name\":\"image\",\"datatype\":\"BYTES\"}]}", "", 0, 400, "inputs[0].shape: is missing"},
    {INPUT("\"colour\":1"), "", 0, 400, "inputs[0]: \"colour\" is unknown"},
    {INPUT("\"shape\":[]"), "", 0, 400, "inputs[0].shape: has no dimensions"},
    {INPUT("\"shape\":[1,1,1,1,1]"), "", 0, 400, "inputs[0].shape: more than 4 dimensions"},
    {INPUT("\"shape\":[-1]"), "", 0, 400, "inputs[0].shape: expected an integer from 0 to 9007199254740992"},
    {INPUT("\"shape\":[1.5]"), "", 0, 400, "inputs[0].shape: expected an integer from 0 to 9007199254740992"},
    {INPUT("\"shape\":[1e300]"), "", 0, 400, "inputs[0].shape: expected an integer from 0 to 9007199254740992"},
    {INPUT("\"shape\":[18446744073709551617]"), "", 0, 400,
     "inputs[0].shape: expected an integer from 0 to 9007199254740992"},
    {INPUT("\"shape\":[0],\"data\":[]"), "", 0, 400, "inputs[0].shape: has no images"},
    {INPUT("\"shape\":[9],\"data\":[]"), "", 0, 413, "inputs[0].shape: 9 images are over the limit of 8"},
    {INPUT("\"shape\":[9007199254740992],\"data\":[]"), "", 0, 413,
     "inputs[0].shape: 9007199254740992 images are over the limit of 8"},
    {INPUT("\"shape\":[2,2],\"data\":[]"), "", 0, 400, "inputs[0].shape: of image must be [n] or [n, 1]"},
    {INPUT("\"shape\":[1]"), "", 0, 400,
     "inputs[0].data: is missing; give it or parameters.binary_data_size"},
    {INPUT("\"shape\":[1],\"data\":[\"QUI=\"],\"parameters\":{\"binary_data_size\":0}"), "", 0, 400,
     "inputs[0].data: cannot be combined with parameters.binary_data_size"},
    {INPUT("\"shape\":[1],\"data\":[\"QUI=\"]"), "x", 1, 400, "body: expected 0 bytes after the JSON, found 1"},
    {INPUT("\"shape\":[2],\"data\":[\"QUI=\"]"), "", 0, 400, "inputs[0].data: has 1 element, but the shape needs 2"},
    {INPUT("\"shape\":[1],\"data\":[\"QUI=\",\"QUI=\"]"), "", 0, 400,
     "inputs[0].data: has 2 elements, but the shape needs 1"},
    {INPUT("\"shape\":[1],\"data\":\"QUI=\""), "", 0, 400, "inputs[0].data: line 1: expected an array [ … ]"},
    {INPUT("\"shape\":[1],\"data\":[7]"), "", 0, 400, "inputs[0].data[0]: line 1: expected a string"},
    {INPUT("\"shape\":[1],\"data\":[\"QUI\"]"), "", 0, 400, "inputs[0].data[0]: is not base64 with padding"},
    {INPUT("\"shape\":[1],\"data\":[\"QUJ=\"]"), "", 0, 400, "inputs[0].data[0]: is not base64 with padding"},
    {INPUT("\"shape\":[1],\"data\":[\"QQ=Q\"]"), "", 0, 400, "inputs[0].data[0]: is not base64 with padding"},
    {INPUT("\"shape\":[1],\"data\":[\"Q===\"]"), "", 0, 400, "inputs[0].data[0]: is not base64 with padding"},
    {INPUT("\"shape\":[1],\"data\":[\"QU-_\"]"), "", 0, 400, "inputs[0].data[0]: is not base64 with padding"},
    {INPUT("\"shape\":[2],\"data\":[\"QUI=\",\"QUI =\"]"), "", 0, 400,
     "inputs[0].data[1]: is not base64 with padding"},
    {INPUT("\"shape\":[1],\"data\":[\"QUI=\\nQUI=\"]"), "", 0, 400, "inputs[0].data[0]: is not base64 with padding"},
    {INPUT("\"shape\":[1],\"data\":[\"QUJD\\r\\nQU\"]"), "", 0, 400, "inputs[0].data[0]: is not base64 with padding"},
    {INPUT("\"shape\":[1],\"data\":[[[[[[[[[[\"QUI=\"]]]]]]]]]]"), "", 0, 400, "inputs[0].data: is nested too deeply"},
    {INPUT("\"shape\":[1],\"parameters\":{\"binary_data_size\":4}"), "\0\0\0", 3, 400,
     "inputs[0].parameters.binary_data_size: expected 4 bytes after the JSON, found 3"},
    {INPUT("\"shape\":[1],\"parameters\":{\"binary_data_size\":3}"), "\0\0\0", 3, 400,
     "inputs[0]: its bytes: ends inside the length of element 0"},
    {INPUT("\"shape\":[1],\"parameters\":{\"binary_data_size\":5}"), "\2\0\0\0A", 5, 400,
     "inputs[0]: its bytes: element 0 has 2 bytes, but only 1 are left"},
    {INPUT("\"shape\":[1],\"parameters\":{\"binary_data_size\":4}"), "\377\377\377\377", 4, 400,
     "inputs[0]: its bytes: element 0 has 4294967295 bytes, but only 0 are left"},
    {INPUT("\"shape\":[1],\"parameters\":{\"binary_data_size\":8}"), "\0\0\0\0\0\0\0\0", 8, 400,
     "inputs[0]: its bytes: has 2 elements, but the shape needs 1"},
    {INPUT("\"shape\":[2],\"parameters\":{\"binary_data_size\":4}"), "\0\0\0\0", 4, 400,
     "inputs[0]: its bytes: has 1 element, but the shape needs 2"},
    {INPUT("\"shape\":[1],\"parameters\":{\"binary_data_size\":-1}"), "", 0, 400,
     "inputs[0].parameters.binary_data_size: expected an integer from 0 to 9007199254740992"},
    {INPUT("\"shape\":[1],\"parameters\":{\"shared_memory_region\":\"r\"}"), "", 0, 400,
     "inputs[0].parameters: shared_memory_region: shared memory is not supported"},
    {INPUT("\"shape\":[1],\"parameters\":{\"x\":1}"), "", 0, 400,
     "inputs[0].data: is missing; give it or parameters.binary_data_size"},
    {INPUT("\"shape\":[1],\"data\":[\"QUI=\"],\"parameters\":{\"x\":[1,}}"), "", 0, 400,
     "inputs[0].parameters: line 1: expected a value"},
    {INPUT("\"shape\":[1],\"data\":[\"QUI=\"],\"parameters\":{\"content_type\":\"datetime\"}"), "", 0, 400,
     "inputs[0].parameters.content_type: expected \"base64\", not \"datetime\""},
    {INPUT("\"shape\":[1],\"data\":[\"QUI=\"],\"parameters\":{\"content_type\":1}"), "", 0, 400,
     "inputs[0].parameters.content_type: line 1: expected a string"},
    {INPUT("\"shape\":[1],\"parameters\":{\"content_type\":\"np\",\"content_type\":\"np\"}"), "", 0, 400,
     "inputs[0].parameters.content_type: is given twice"},
    {PIXELS("\"shape\":[1,1,1,3],\"data\":[1,2,3],\"parameters\":{\"content_type\":\"base64\"}"), "", 0, 400,
     "inputs[0].parameters.content_type: expected \"np\", not \"base64\""},
    {WITH("\"parameters\":{\"content_type\":\"datetime\"}"), "", 0, 400,
     "parameters.content_type: expected \"np\", not \"datetime\""},
    {WITH("\"outputs\":[{\"name\":\"embedding\",\"parameters\":{\"content_type\":\"base64\"}}]"), "", 0, 400,
     "outputs[0].parameters.content_type: expected \"np\", not \"base64\""},
    {PIXELS("\"shape\":[1,2,3],\"data\":[]"), "", 0, 400, "inputs[0].shape: of pixels must be [n, height, width, 3]"},
    {PIXELS("\"shape\":[1,2,3,4],\"data\":[]"), "", 0, 400, "inputs[0].shape: of pixels must be [n, height, width, 3]"},
    {PIXELS("\"shape\":[1,0,3,3],\"data\":[]"), "", 0, 400,
     "inputs[0].shape: a side must have 1 to 1000000 pixels, not 0"},
    {PIXELS("\"shape\":[1,1000001,1,3],\"data\":[]"), "", 0, 400,
     "inputs[0].shape: a side must have 1 to 1000000 pixels, not 1000001"},
    {PIXELS("\"shape\":[8,1000000,1000000,3],\"data\":[1]"), "", 0, 400,
     "inputs[0].data: has 1 element, but the shape needs 24000000000000"},
    {PIXELS("\"shape\":[1,4294967296,4294967296,3],\"data\":[]"), "", 0, 400,
     "inputs[0].shape: a side must have 1 to 1000000 pixels, not 4294967296"},
    {PIXELS("\"shape\":[1,1,2,3],\"data\":[1,2,3,4,5]"), "", 0, 400,
     "inputs[0].data: has 5 elements, but the shape needs 6"},
    {PIXELS("\"shape\":[1,1,1,3],\"data\":[1,2,256]"), "", 0, 400,
     "inputs[0].data[2]: expected an integer from 0 to 255"},
    {PIXELS("\"shape\":[1,1,1,3],\"data\":[1,-2,3]"), "", 0, 400,
     "inputs[0].data[1]: expected an integer from 0 to 255"},
    {PIXELS("\"shape\":[1,1,1,3],\"data\":[0.5,2,3]"), "", 0, 400,
     "inputs[0].data[0]: expected an integer from 0 to 255"},
    {PIXELS("\"shape\":[1,1,1,3],\"parameters\":{\"binary_data_size\":2}"), "ab", 2, 400,
     "inputs[0]: its bytes: has 2 elements, but the shape needs 3"},
    {WITH("\"outputs\":[{\"name\":\"x\"}]"), "", 0, 400, "outputs[0].name: must be embedding, not \"x\""},
    {WITH("\"outputs\":[{}]"), "", 0, 400, "outputs[0].name: is missing"},
    {WITH("\"outputs\":[{\"name\":\"embedding\"},{\"name\":\"embedding\"}]"), "", 0, 400,
     "outputs: there is only one: embedding"},
    {WITH("\"outputs\":[{\"name\":\"embedding\",\"parameters\":{\"classification\":2}}]"), "", 0, 400,
     "outputs[0].parameters: classification: is not supported, because there are no classes"},
    {WITH("\"outputs\":[{\"name\":\"embedding\",\"parameters\":{\"shared_memory_offset\":2}}]"), "", 0, 400,
     "outputs[0].parameters: shared_memory_offset: shared memory is not supported"},
    {WITH("\"outputs\":[{\"name\":\"embedding\",\"parameters\":{\"binary_data\":1}}]"), "", 0, 400,
     "outputs[0].parameters.binary_data: line 1: expected true or false"},
    {WITH("\"parameters\":{\"priority\":8}"), "", 0, 400, "parameters.priority: expected an integer from 0 to 7"},
    {WITH("\"parameters\":{\"priority\":\"1\"}"), "", 0, 400, "parameters.priority: line 1: expected a number"},
    {WITH("\"parameters\":{\"timeout\":-5}"), "", 0, 400,
     "parameters.timeout: expected an integer from 0 to 9007199254740992"},
    {WITH("\"parameters\":{\"sequence_id\":5}"), "", 0, 400, "parameters: sequence_id: sequences are not supported"},
    {WITH("\"parameters\":{\"shared_memory_region\":5}"), "", 0, 400,
     "parameters: shared_memory_region: shared memory is not supported"},
    {WITH("\"parameters\":{\"best\":5,\"priority\":9}"), "", 0, 400,
     "parameters.priority: expected an integer from 0 to 7"},
    {WITH("\"parameters\":{\"priority\":1,\"priority\":1}"), "", 0, 400, "parameters.priority: is given twice"},
    {WITH("\"id\":5"), "", 0, 400, "id: line 1: expected a string"},
    {WITH("\"id\":\"a\\u0000b\""), "", 0, 400, "id: line 1: a zero byte in a string"},
};

static void test_refused(void **state) {
    int wrong = 0;
    (void)state;
    for (size_t i = 0; i < sizeof REFUSED / sizeof *REFUSED; i++) {
        int accepted = read_body(REFUSED[i].json, REFUSED[i].bytes, REFUSED[i].n);
        if (!accepted && got.status == REFUSED[i].status && says_all(why.s, REFUSED[i].why)) continue;
        print_error("%s\n    gives %d \"%s\"\n    not   %d \"%s\"\n", REFUSED[i].json, got.status,
                    accepted ? "" : why.s, REFUSED[i].status, REFUSED[i].why);
        wrong++;
    }
    assert_int_equal(wrong, 0);
}

/* Every prefix of a valid request is refused, too. */
static void test_truncated(void **state) {
    static const char json[] = WITH("\"id\":\"7\",\"parameters\":{\"priority\":0,\"timeout\":5,"
                                    "\"binary_data_output\":true},\"outputs\":[{\"name\":\"embedding\"}]");
    (void)state;
    assert_int_equal(read_body(json, "", 0), 1);
    for (size_t n = 0; n < sizeof json - 1; n++) {
        char *cut = strndup(json, n);
        assert_int_equal(read_body(cut, "", 0), 0);
        assert_true(why.len > 0);
        free(cut);
    }
}

static void test_id_too_long(void **state) {
    text json = TEXT_INIT;
    (void)state;
    text_puts(&json, "{\"id\":\"");
    for (int i = 0; i < 1025; i++) text_putc(&json, 'x');
    text_puts(&json, "\"}");
    assert_int_equal(read_body(json.s, "", 0), 0);
    assert_says_all(why.s, "id: is longer than 1024 bytes");
    text_free(&json);
}

static void test_header_length(void **state) {
    const unsigned char body[] = "{}";
    (void)state;
    infer_free(&got);
    assert_int_equal(infer_read(&got, body, 2, 3, MOST, &why), 0);
    assert_says_all(why.s, "Inference-Header-Content-Length: 3, but the body has 2 bytes");
}

static void is_picture(size_t i, const char *bytes, size_t n) {
    assert_int_equal(got.pictures[i].len, n);
    assert_memory_equal(got.pictures[i].at, bytes, n);
}

static void test_pictures(void **state) {
    (void)state;
    assert_int_equal(read_body(INPUT("\"data\":[\"QUI=\",[\"QUJDRA==\"],\"/+8w\"],\"shape\":[3]"), "", 0), 1);
    assert_int_equal(got.count, 3);
    is_picture(0, "AB", 2);
    is_picture(1, "ABCD", 4);
    is_picture(2, "\xff\xef\x30", 3);
    assert_int_equal(got.priority, 3);
    assert_int_equal(got.timeout_us, 0);
    assert_int_equal(got.binary, 0);
    assert_null(got.id.s);
    /* Line ends as base64, MIME libraries and PEM write them, and none at all. */
    assert_int_equal(read_body(INPUT("\"data\":[\"QUJD\\nRA==\\n\",\"\\r\\nQ\\r\\nUI\\r\\n=\\r\\n\",\"\\n\"],"
                                     "\"shape\":[3]"), "", 0), 1);
    is_picture(0, "ABCD", 4);
    is_picture(1, "AB", 2);
    is_picture(2, "", 0);
    assert_int_equal(read_body(INPUT("\"shape\":[2,1],\"parameters\":{\"binary_data_size\":11}"),
                               "\1\0\0\0A\2\0\0\0BC", 11), 1);
    assert_int_equal(got.count, 2);
    is_picture(0, "A", 1);
    is_picture(1, "BC", 2);
}

static void test_pixels(void **state) {
    (void)state;
    assert_int_equal(read_body(PIXELS("\"shape\":[1,1,2,3],\"data\":[[[0,1,2],[253,254,255]]]"), "", 0), 1);
    assert_null(got.pictures);
    assert_int_equal(got.height, 1);
    assert_int_equal(got.width, 2);
    assert_memory_equal(got.rgb, "\0\1\2\xfd\xfe\xff", 6);
    assert_int_equal(read_body(PIXELS("\"shape\":[2,1,1,3],\"parameters\":{\"binary_data_size\":6}"), "abcdef", 6), 1);
    assert_int_equal(got.count, 2);
    assert_memory_equal(got.rgb, "abcdef", 6);
}

/* What other servers define is ignored, wherever it is; content types of MLServer are accepted where they fit. */
static void test_foreign_parameters(void **state) {
    static const char *const types[] = {"base64", "str", "np"};
    (void)state;
    for (int i = 0; i < 3; i++) {
        text json = TEXT_INIT;
        text_printf(&json, "{\"inputs\":[{\"name\":\"image\",\"datatype\":\"BYTES\",\"shape\":[1],\"parameters\":{"
                           "\"x\":{\"y\":[1,null]},\"content_type\":\"%s\"},\"data\":[\"QUI=\"]}]}", types[i]);
        assert_int_equal(read_body(json.s, "", 0), 1);
        is_picture(0, "AB", 2);
        text_free(&json);
    }
    assert_int_equal(read_body(PIXELS("\"shape\":[1,1,1,3],\"data\":[1,2,3],"
                                      "\"parameters\":{\"content_type\":\"np\",\"z\":true}"), "", 0), 1);
    assert_memory_equal(got.rgb, "\1\2\3", 3);
    assert_int_equal(read_body(WITH("\"parameters\":{\"headers\":{\"X-A\":\"b\"},\"priority\":1,"
                                    "\"content_type\":\"np\",\"dataset\":\"x\",\"headers\":1},"
                                    "\"outputs\":[{\"name\":\"embedding\",\"parameters\":{\"other\":null,"
                                    "\"content_type\":\"np\",\"binary_data\":true}}]"), "", 0), 1);
    assert_int_equal(got.priority, 1);
    assert_int_equal(got.binary, 1);
}

/* The setting of an output overrides that of the request, in either order. */
static void test_parameters(void **state) {
    (void)state;
    assert_int_equal(
        read_body(WITH("\"parameters\":{\"binary_data_output\":true,\"priority\":0,\"timeout\":12}"), "", 0), 1);
    assert_int_equal(got.binary, 1);
    assert_int_equal(got.priority, 0);
    assert_int_equal(got.timeout_us, 12);
    assert_int_equal(read_body("{\"outputs\":[{\"name\":\"embedding\",\"parameters\":{\"binary_data\":false}}],"
                               "\"id\":\"é\\\"\",\"parameters\":{\"binary_data_output\":true},\"inputs\":[" ONE
                               "]}", "", 0), 1);
    assert_int_equal(got.binary, 0);
    assert_string_equal(got.id.s, "é\"");
}

static const struct {
    const char *query, *why; /* NULL: right */
} QUERIES[] = {
    {NULL, NULL},
    {"", NULL},
    {"box=1,2,3,4", NULL},
    {"box=-1,-2,3,4&box=0,0,1,1&priority=7&timeout=1&model=a%2eb&top=3", NULL},
    {"box", "\"box\" in the query string has no value"},
    {"box=1,2,3", "box: expected x,y,width,height in whole pixels, width and height at least 1"},
    {"box=1,2,3,4,5", "box: expected x,y,width,height in whole pixels, width and height at least 1"},
    {"box=1,2,0,4", "box: expected x,y,width,height in whole pixels, width and height at least 1"},
    {"box=1,2,3,-4", "box: expected x,y,width,height in whole pixels, width and height at least 1"},
    {"box=1.5,2,3,4", "box: expected x,y,width,height in whole pixels, width and height at least 1"},
    {"box=1,2,3,99999999999", "box: expected x,y,width,height in whole pixels, width and height at least 1"},
    {"box=,,,", "box: expected x,y,width,height in whole pixels, width and height at least 1"},
    {"box=%31,2,3,4&box=%3", "a malformed % in the query string"},
    {"model=a%00b", "a malformed % in the query string"},
    {"model=a&model=b", "model: is given twice"},
    {"priority=8", "priority: expected an integer from 0 to 7"},
    {"priority=1&priority=1", "priority: is given twice"},
    {"timeout=-1", "timeout: expected an integer from 0 to 9007199254740992"},
    {"top=0", "top: expected an integer from 1 to 10000"},
    {"boxes=1,2,3,4", "\"boxes\" is unknown in the query string"},
    {"box=0,0,1,1&box=0,0,1,1&box=0,0,1,1&box=0,0,1,1&box=0,0,1,1&box=0,0,1,1&box=0,0,1,1&box=0,0,1,1&box=0,0,1,1",
     "box: more than 8 boxes"},
};

static void test_queries(void **state) {
    plain_request p;
    (void)state;
    for (size_t i = 0; i < sizeof QUERIES / sizeof *QUERIES; i++) {
        assert_int_equal(plain_read(&p, QUERIES[i].query, 1, MOST, &why), QUERIES[i].why == NULL);
        if (QUERIES[i].why) assert_says_all(why.s, QUERIES[i].why);
        plain_free(&p);
    }
    assert_int_equal(plain_read(&p, QUERIES[3].query, 1, MOST, &why), 1);
    assert_int_equal(p.count, 2);
    assert_int_equal(p.boxes[0].y, -2);
    assert_int_equal(p.boxes[1].width, 1);
    assert_string_equal(p.model.s, "a.b");
    assert_int_equal(p.top, 3);
    assert_int_equal(p.priority, 7);
    plain_free(&p);
    assert_int_equal(plain_read(&p, "top=3", 0, MOST, &why), 0); /* only where there is a gallery to ask */
    plain_free(&p);
}

static void test_sizes(void **state) {
    size_t n;
    (void)state;
    assert_true(parse_size("18446744073709551615", SIZE_MAX, &n) && n == SIZE_MAX);
    assert_false(parse_size("18446744073709551616", SIZE_MAX, &n));
    assert_false(parse_size("99999999999999999999999", SIZE_MAX, &n));
    assert_true(parse_size("0", 0, &n));
    assert_false(parse_size("1", 0, &n));
    for (const char **bad = (const char *[]){"", "-1", "+1", " 1", "1 ", "0x1", "1,1", NULL}; *bad; bad++)
        assert_false(parse_size(*bad, SIZE_MAX, &n));
}

/* Every 9973rd float32, and the value that a parser reads from its text. */
static void test_floats(void **state) {
    (void)state;
    for (uint64_t bits = 0; bits < (uint64_t)1 << 32; bits += 9973) {
        uint32_t in = (uint32_t)bits, back;
        float value, read;
        text t = TEXT_INIT;
        memcpy(&value, &in, sizeof value);
        if ((in >> 23 & 255) == 255) continue; /* no embedding holds them */
        decimal_floats(&t, &value, 1);
        read = strtof(t.s, NULL);
        memcpy(&back, &read, sizeof back);
        assert_int_equal(in, back);
        text_free(&t);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refused), cmocka_unit_test(test_truncated), cmocka_unit_test(test_id_too_long),
        cmocka_unit_test(test_header_length), cmocka_unit_test(test_pictures), cmocka_unit_test(test_pixels),
        cmocka_unit_test(test_foreign_parameters),
        cmocka_unit_test(test_parameters), cmocka_unit_test(test_queries), cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_floats),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    read_body("", "", 0);
    infer_free(&got);
    text_free(&why);
    return failed;
}
