/* t_server_form.c: how the server reads forms (multipart/form-data): a right one becomes exactly its parts, every
   malformed one is refused with a reason, also when it is cut anywhere, and changed bytes never lead outside the body.

   cc -std=c99 -D_GNU_SOURCE -O1 -I. -Itools tests/tools/server/t_server_form.c tools/server/form.c
      tools/base/text.c tools/base/say.c tools/base/memory.c tools/base/clock.c tools/base/random.c
      -o build/t_server_form -lcmocka -lm */
#include "base/random.h"
#include "server/form.h"

#include <stdarg.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../../lib/test_util.h"

enum { MOST = 4 };

static form got;
static text why;

/* Reads a form from a block of exactly its size, so that a step too far is seen. The block is kept until the next
   call. */
static int read_bytes(const char *bytes, size_t len, const char *boundary) {
    static unsigned char *body;
    text b = TEXT_INIT;
    form_free(&got);
    free(body);
    body = malloc(len + !len);
    assert_non_null(body);
    memcpy(body, bytes, len);
    text_puts(&b, boundary);
    text_clear(&why);
    int good = form_read(&got, body, len, &b, MOST, &why);
    text_free(&b);
    return good;
}

#define PART(name) "--b\r\nContent-Disposition: form-data; name=" name "\r\n\r\n"
#define END "\r\n--b--\r\n"

static void part_is(size_t i, const char *name, const char *content) {
    assert_string_equal(got.parts[i].name.s, name);
    assert_int_equal(got.parts[i].content.len, strlen(content));
    assert_memory_equal(got.parts[i].content.at, content, strlen(content));
}

static void test_right_ones(void **state) {
    static const char *const whole[] = {
        PART("file") "abc" END, /* and without the last line end, and as different programs write it */
        PART("file") "abc\r\n--b--",
        PART("\"file\"") "abc" END,
        "--b\r\ncontent-disposition:form-data;name=file;filename=\"a \\\"b\\\" ; name=x.jpg\"\r\n\r\nabc" END,
        "--b\r\nContent-Type: image/jpeg\r\nContent-Disposition: form-data; filename=a.jpg; name=\"file\"; "
        "filename*=UTF-8''a%20b.jpg\r\nContent-Length: 3\r\nX: y\r\n\r\nabc" END,
        "--b\r\nContent-Disposition: form-data; name=file;\r\nContent-Transfer-Encoding: BINARY\r\n\r\nabc" END,
    };
    (void)state;
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++) {
        assert_true(read_bytes(whole[i], strlen(whole[i]), "b"));
        assert_int_equal(got.count, 1);
        part_is(0, "file", "abc");
    }
    const char *three = PART("a") "\r\n" PART("\"b c\"") "\r\n--bx\r\n--\r\n--b \r\n" PART("a") "--b\r\n" "\r\n--b--";
    assert_true(read_bytes(three, strlen(three), "b"));
    assert_int_equal(got.count, 3);
    part_is(0, "a", "");
    part_is(1, "b c", "\r\n--bx\r\n--\r\n--b ");
    part_is(2, "a", "--b\r\n");
    assert_true(read_bytes("--b--\r\n", 7, "b")); /* which has no part */
    assert_int_equal(got.count, 0);
}

static const struct {
    const char *body, *why;
} REFUSED[] = {
    {"", "form: does not begin with its boundary"},
    {"--", "form: does not begin with its boundary"},
    {"abc\r\n" PART("a") END, "form: does not begin with its boundary"},
    {"--c\r\n", "form: does not begin with its boundary"},
    {"--b", "form: part 0: expected a line end after the boundary"},
    {"--bc\r\n", "form: part 0: expected a line end after the boundary"},
    {"--b\n\n", "form: part 0: expected a line end after the boundary"},
    {"--b\r\n", "form: part 0: a header field is too long, or the form ends early"},
    {"--b\r\n\r\nabc" END, "form: part 0: Content-Disposition is missing"},
    {"--b\r\nContent-Type: image/png\r\n\r\nabc" END, "form: part 0: Content-Disposition is missing"},
    {"--b\r\nnonsense\r\n\r\nabc" END, "form: part 0: expected a header field, NAME: VALUE"},
    {"--b\r\nX: a\nb\r\n\r\nabc" END, "form: part 0: a header field contains a control character"},
    {"--b\r\nContent-Disposition: form-data; name=a\r\nContent-Disposition: form-data; name=b\r\n\r\nabc" END,
     "form: part 0: Content-Disposition is given twice"},
    {"--b\r\nContent-Disposition: attachment; name=a\r\n\r\nabc" END,
     "form: part 0: Content-Disposition: expected form-data"},
    {"--b\r\nContent-Disposition:\r\n\r\nabc" END, "form: part 0: Content-Disposition: expected form-data"},
    {"--b\r\nContent-Disposition: form-data\r\n\r\nabc" END,
     "form: part 0: Content-Disposition: the part has no name"},
    {PART("\"\"") "abc" END, "form: part 0: Content-Disposition: the part has no name"},
    {PART("") "abc" END, "form: part 0: Content-Disposition: malformed parameters"},
    {PART("\"a") "abc" END, "form: part 0: Content-Disposition: malformed parameters"},
    {PART("a b") "abc" END, "form: part 0: Content-Disposition: malformed parameters"},
    {PART("a; name=b") "abc" END, "form: part 0: Content-Disposition: malformed parameters"},
    {PART("\"a\\") "abc" END, "form: part 0: Content-Disposition: malformed parameters"},
    {PART("a") "1\r\n" PART("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa") "abc" END,
     "form: part 1: Content-Disposition: invalid name"},
    {"--b\r\nContent-Disposition: form-data; name=a\r\nContent-Transfer-Encoding: base64\r\n\r\nYWJj" END,
     "form: part 0: Content-Transfer-Encoding: only binary is supported"},
    {"--b\r\nContent-Disposition: form-data; name=a\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n--c--" END,
     "form: part 0: Content-Type: a form within a form is not supported"},
    {PART("a") "abc", "form: part 0: the form ends within it"},
    {PART("a") "abc\r\n--b", "form: part 0: the form ends within it"},
    {PART("a") "abc\n--b--", "form: part 0: the form ends within it"},
    {PART("a") "abc\r\n--b--x", "form: bytes after its end"},
    {PART("a") "abc\r\n--b--\r\n\r\n", "form: bytes after its end"},
};

static void test_refused(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof REFUSED / sizeof *REFUSED; i++) {
        if (read_bytes(REFUSED[i].body, strlen(REFUSED[i].body), "b")) fail_msg("accepted: %s", REFUSED[i].body);
        assert_string_equal(why.s, REFUSED[i].why);
        assert_int_equal(got.status, STATUS_BAD);
    }
    /* A zero byte in a name, which would end it early. */
    const char zero[] = PART("\"a\0b\"") "abc" END;
    assert_false(read_bytes(zero, sizeof zero - 1, "b"));
    assert_string_equal(why.s, "form: part 0: a header field contains a control character");
}

/* Many parts, fields and long lines: refused, and in a time that grows with the size alone. */
static void test_too_many(void **state) {
    text body = TEXT_INIT;
    (void)state;
    for (int i = 0; i <= MOST; i++) text_printf(&body, "%s--b\r\nContent-Disposition: form-data; name=a\r\n\r\n%d",
                                                i ? "\r\n" : "", i);
    text_puts(&body, END);
    assert_false(read_bytes(body.s, body.len, "b"));
    assert_string_equal(why.s, "form: more than 4 parts");
    assert_int_equal(got.status, STATUS_TOO_LARGE);
    text_clear(&body);
    text_puts(&body, "--b\r\nContent-Disposition: form-data; name=a\r\n");
    for (int i = 0; i < 16; i++) text_puts(&body, "X: y\r\n");
    text_puts(&body, "\r\nabc" END);
    assert_false(read_bytes(body.s, body.len, "b"));
    assert_string_equal(why.s, "form: part 0: more than 16 header fields");
    text_clear(&body);
    text_puts(&body, "--b\r\nX: ");
    for (int i = 0; i < 5000; i++) text_putc(&body, 'y');
    text_puts(&body, "\r\n\r\nabc" END);
    assert_false(read_bytes(body.s, body.len, "b"));
    assert_string_equal(why.s, "form: part 0: a header field is too long, or the form ends early");
    text_clear(&body);
    text_puts(&body, PART("a"));
    for (int i = 0; i < 100000; i++) text_puts(&body, "\r\n--b\r"); /* almost delimiters */
    assert_false(read_bytes(body.s, body.len, "b"));
    assert_string_equal(why.s, "form: part 0: the form ends within it");
    text_free(&body);
}

static const char SAMPLE[] = "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a\\\"b.jpg\"\r\n"
                             "Content-Type: image/jpeg\r\n\r\n\377\330\0\r\n-\r\n--\r\n--a\r\n"
                             PART("box") "1,2,3,4" END;

static void test_cut(void **state) {
    (void)state;
    assert_true(read_bytes(SAMPLE, sizeof SAMPLE - 1, "b"));
    assert_int_equal(got.count, 2);
    for (size_t len = 0; len + 3 < sizeof SAMPLE; len++) {
        assert_false(read_bytes(SAMPLE, len, "b"));
        assert_true(why.len > 0);
    }
}

/* Whatever the bytes, the parts lie in the body, in their order. */
static void test_changed(void **state) {
    static const char special[] = "\r\n-b\";:= \\\0f";
    uint64_t seed = getenv("REID_SEED") ? strtoull(getenv("REID_SEED"), NULL, 10) : 1;
    (void)state;
    for (int round = 0; round < 4000; round++) {
        char body[sizeof SAMPLE - 1];
        memcpy(body, SAMPLE, sizeof body);
        for (int k = 0; k < 3; k++)
            body[random_below(&seed, sizeof body)] = special[random_below(&seed, sizeof special - 1)];
        const int good = read_bytes(body, sizeof body, "b");
        assert_true(good || why.len > 0);
        for (size_t i = 1; i < got.count; i++)
            assert_true(got.parts[i].content.at >= got.parts[i - 1].content.at + got.parts[i - 1].content.len);
        for (size_t i = 0; i < got.count; i++)
            for (size_t k = 0; k < got.parts[i].content.len; k++) seed += got.parts[i].content.at[k];
    }
}

static const struct {
    const char *type, *boundary; /* NULL: refused */
} TYPES[] = {
    {"multipart/form-data; boundary=b", "b"},
    {"Multipart/Form-Data;BOUNDARY=\"a b\"", "a b"},
    {"multipart/form-data; charset=utf-8; boundary=----WebKitFormBoundary7MA4YWxkTrZu0gW",
     "----WebKitFormBoundary7MA4YWxkTrZu0gW"},
    {"multipart/form-data;  boundary=b ;", "b"},
    {"multipart/form-data", NULL},
    {"multipart/form-data;", NULL},
    {"multipart/form-data; boundary=", NULL},
    {"multipart/form-data; boundary=\"\"", NULL},
    {"multipart/form-data; boundary=\"a ", NULL},
    {"multipart/form-data; boundary=\"a \"", NULL},
    {"multipart/form-data; boundary=\"a\r\n\"", NULL},
    {"multipart/form-data; boundary=a; boundary=b", NULL},
    {"multipart/form-data boundary=a", NULL},
    {"multipart/form-data; boundary=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", NULL},
};

static void test_boundaries(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof TYPES / sizeof *TYPES; i++) {
        text boundary = TEXT_INIT;
        text_clear(&why);
        assert_true(form_is_type(TYPES[i].type));
        assert_int_equal(form_boundary(&boundary, TYPES[i].type, &why), TYPES[i].boundary != NULL);
        if (TYPES[i].boundary) assert_string_equal(boundary.s, TYPES[i].boundary);
        else assert_memory_equal(why.s, "Content-Type: ", 14);
        text_free(&boundary);
    }
    assert_false(form_is_type(NULL));
    assert_false(form_is_type("multipart/form-datax"));
    assert_false(form_is_type("multipart/mixed; boundary=b"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_right_ones), cmocka_unit_test(test_refused), cmocka_unit_test(test_too_many),
        cmocka_unit_test(test_cut), cmocka_unit_test(test_changed), cmocka_unit_test(test_boundaries),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    read_bytes("", 0, "b");
    form_free(&got);
    text_free(&why);
    return failed;
}
