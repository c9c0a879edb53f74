/* t_json_write.c: the JSON writer: every kind of value to the byte, layouts, escapes, numbers that read back; the
   reader reads back what was written; a text that cannot grow fails, whichever allocation fails; calls in a wrong order
   end the program.

   cc -std=c99 -D_GNU_SOURCE -O2 -I. -Itools tests/tools/base/t_json_write.c tools/base/json_write.c tools/base/json.c
      tools/base/text.c tools/base/decimal.c -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc -o build/t_json_write
      -lcmocka -lm */
#include "base/json.h"
#include "base/json_write.h"
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../../lib/test_texts.h"

/* --- values ------------------------------------------------------------------------------------------------------- */

static void put_values(text *t) {
    static const float floats[] = {0.5f, -1, 0.1f};
    static const double numbers[] = {1, 0.25, (double)NAN};
    json_writer w = json_write(t);
    json_put_object(&w, NULL);
    json_put_string(&w, "string", "a \"b\"");
    json_put_string(&w, "none", NULL);
    json_put_format(&w, "format", "%dx%d \"", 3, 4);
    json_put_int(&w, "int", -9223372036854775807LL - 1);
    json_put_count(&w, "count", 18446744073709551615ULL);
    json_put_number(&w, "number", 0.123456789123, 9);
    json_put_fixed(&w, "fixed", 2, 3);
    json_put_exact(&w, "exact", 0.1 + 0.2);
    json_put_bool(&w, "yes", 2);
    json_put_bool(&w, "no", 0);
    json_put_null(&w, "null");
    json_put_floats(&w, "floats", floats, 3);
    json_put_numbers(&w, "numbers", numbers, 3, 9);
    text_puts(json_put_value(&w, "value"), "[7]");
    json_put_object(&w, "object");
    json_put_end(&w);
    json_put_array(&w, "array");
    json_put_array(&w, NULL);
    json_put_end(&w);
    json_put_int(&w, NULL, 1);
    json_put_end(&w);
    json_put_end(&w);
}

static const char VALUES[] =
    "{\"string\": \"a \\\"b\\\"\", \"none\": null, \"format\": \"3x4 \\\"\", \"int\": -9223372036854775808, "
    "\"count\": 18446744073709551615, \"number\": 0.123456789, \"fixed\": 2.000, \"exact\": 0.30000000000000004, "
    "\"yes\": true, \"no\": false, \"null\": null, \"floats\": [0.5,-1,0.100000001], \"numbers\": [1, 0.25, null], "
    "\"value\": [7], \"object\": {}, \"array\": [[], 1]}";

static void test_values(void **state) {
    text t = TEXT_INIT;
    (void)state;
    put_values(&t);
    assert_string_equal(t.s, VALUES);
    text_free(&t);
}

/* Every kind of value by itself, outside objects and arrays. */
static void test_alone(void **state) {
    text t = TEXT_INIT;
    json_writer w = json_write(&t);
    (void)state;
    json_put_int(&w, NULL, 1);
    text_putc(&t, '\n');
    json_put_string(&w, NULL, "two");
    text_putc(&t, '\n');
    json_put_array(&w, NULL);
    json_put_finish(&w);
    assert_string_equal(t.s, "1\n\"two\"\n[]\n");
    text_free(&t);
}

static void test_what_is_not_finite(void **state) {
    static const double values[] = {(double)NAN, (double)INFINITY, -(double)INFINITY};
    text t = TEXT_INIT;
    json_writer w = json_write(&t);
    (void)state;
    json_put_array(&w, NULL);
    for (int i = 0; i < 3; i++) {
        json_put_number(&w, NULL, values[i], 9);
        json_put_fixed(&w, NULL, values[i], 2);
        json_put_exact(&w, NULL, values[i]);
    }
    json_put_end(&w);
    assert_string_equal(t.s, "[null, null, null, null, null, null, null, null, null]");
    text_free(&t);
}

/* --- layouts ------------------------------------------------------------------------------------------------------ */

static void test_lines(void **state) {
    text t = TEXT_INIT;
    json_writer w = json_write(&t);
    (void)state;
    json_put_object(&w, NULL);
    json_put_line(&w, 2);
    json_put_int(&w, "a", 1);
    json_put_int(&w, "b", 2);
    json_put_line(&w, 2);
    json_put_array(&w, "c");
    for (int i = 0; i < 2; i++) json_put_line(&w, 4), json_put_int(&w, NULL, i);
    json_put_line(&w, 2);
    json_put_end(&w);
    json_put_line(&w, 0);
    json_put_finish(&w);
    assert_string_equal(t.s, "{\n  \"a\": 1, \"b\": 2,\n  \"c\": [\n    0,\n    1\n  ]\n}\n");
    text_free(&t);
}

static void test_tight(void **state) {
    text t = TEXT_INIT;
    json_writer w = json_write(&t);
    (void)state;
    json_put_object(&w, NULL);
    json_put_int(&w, "a", 1);
    json_put_array(&w, "b");
    w.tight = 1;
    for (int i = 0; i < 3; i++) json_put_int(&w, NULL, i);
    json_put_object(&w, NULL);
    json_put_int(&w, "c", 1);
    json_put_end(&w);
    w.tight = 0;
    json_put_end(&w);
    json_put_int(&w, "d", 1);
    json_put_finish(&w);
    assert_string_equal(t.s, "{\"a\": 1, \"b\": [0,1,2,{\"c\":1}], \"d\": 1}\n");
    text_free(&t);
}

/* Members added one by one from separate writers. */
static void test_inside(void **state) {
    text t = TEXT_INIT, items = TEXT_INIT, members = TEXT_INIT, none = TEXT_INIT;
    (void)state;
    for (int i = 0; i < 3; i++) {
        json_writer w = json_write_inside(&items, '[', i > 0);
        json_put_line(&w, 1);
        json_put_int(&w, NULL, i);
    }
    json_writer inner = json_write_inside(&members, '{', 0), w = json_write(&t);
    json_put_int(&inner, "x", 1);
    json_put_int(&inner, "y", 2);
    json_put_object(&w, NULL);
    json_put_array(&w, "items");
    json_put_inside(&w, &items);
    json_put_int(&w, NULL, 3);
    json_put_end(&w);
    json_put_object(&w, "members");
    json_put_inside(&w, &members);
    json_put_end(&w);
    json_put_array(&w, "none");
    json_put_inside(&w, &none);
    json_put_int(&w, NULL, 4);
    json_put_finish(&w);
    assert_string_equal(t.s, "{\"items\": [\n 0,\n 1,\n 2, 3], \"members\": {\"x\": 1, \"y\": 2}, \"none\": [4]}\n");
    text_free(&t), text_free(&items), text_free(&members);
}

/* The deepest nesting, with arrays and objects in turn. */
static void test_depth(void **state) {
    text t = TEXT_INIT;
    json_writer w = json_write(&t);
    (void)state;
    for (int i = 0; i < JSON_WRITE_DEPTH; i++) {
        if (i % 2) json_put_object(&w, NULL);
        else json_put_array(&w, i ? "k" : NULL);
    }
    json_put_int(&w, "last", 1);
    json_put_finish(&w);
    assert_int_equal(strncmp(t.s, "[{\"k\": [{\"k\": [{", 16), 0);
    assert_int_equal(strncmp(t.s + t.len - 6, "]}]}]\n", 6), 0);
    json j;
    json_begin(&j, t.s, t.len);
    assert_int_equal(json_skip(&j) && json_end(&j), 1);
    text_free(&t);
}

/* --- reading back ------------------------------------------------------------------------------------------------- */

/* Every byte, in strings and in keys, including bytes that are not UTF-8. */
static void test_strings_read_back(void **state) {
    text t = TEXT_INIT, key = TEXT_INIT, value = TEXT_INIT;
    char all[256];
    (void)state;
    for (int i = 1; i < 256; i++) all[i - 1] = (char)i;
    all[255] = 0;
    const char *const strings[] = {"", "plain", "\xc3\xa9 \xf0\x9f\x98\x80", "</script>", "\xe2\x80\xae", all};
    json_writer w = json_write(&t);
    json_put_object(&w, NULL);
    for (size_t i = 0; i < sizeof strings / sizeof *strings; i++) json_put_string(&w, strings[i], strings[i]);
    json_put_end(&w);
    for (size_t i = 0; i < t.len; i++) assert_true((unsigned char)t.s[i] >= 0x20);
    json j;
    size_t n = 0;
    json_begin(&j, t.s, t.len);
    for (json_object(&j); json_key(&j, &key); n++) {
        assert_int_equal(json_string(&j, &value), 1);
        assert_string_equal(key.s, strings[n]);
        assert_string_equal(value.s ? value.s : "", strings[n]);
    }
    assert_int_equal(json_end(&j), 1);
    assert_int_equal(n, sizeof strings / sizeof *strings);
    text_free(&t), text_free(&key), text_free(&value);
}

/* exact: the same double; 9 digits: the same float. */
static void test_numbers_read_back(void **state) {
    static const double values[] = {0,       0.1,     1.0 / 3, 0.1 + 0.2,   123456,
                                    1234567, DBL_MAX, DBL_MIN, DBL_EPSILON, -1e-300};
    text t = TEXT_INIT;
    (void)state;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        double exact, digits;
        float narrow = (float)values[i], read;
        json j;
        json_writer w = json_write(&t);
        text_clear(&t);
        json_put_array(&w, NULL);
        json_put_exact(&w, NULL, values[i]);
        if (isfinite(narrow)) json_put_number(&w, NULL, (double)narrow, 9);
        else json_put_int(&w, NULL, 0);
        json_put_floats(&w, NULL, &narrow, isfinite(narrow));
        json_put_end(&w);
        json_begin(&j, t.s, t.len);
        assert_true(json_array(&j) && json_item(&j) && json_number(&j, &exact) && json_item(&j) &&
                    json_number(&j, &digits));
        assert_true(exact == values[i]);
        read = (float)digits;
        assert_true(!isfinite(narrow) || read == narrow);
        assert_true(json_item(&j) && json_skip(&j) && !json_item(&j) && json_end(&j));
    }
    text_clear(&t);
    json_writer w = json_write(&t);
    json_put_exact(&w, NULL, 0.5);
    text_putc(&t, ' ');
    json_put_exact(&w, NULL, 0.1);
    assert_string_equal(t.s, "0.5 0.1"); /* the shortest digits */
    text_free(&t);
}

/* --- memory ------------------------------------------------------------------------------------------------------- */

static void test_no_memory(void **state) {
    text t = TEXT_INIT;
    (void)state;
    assert_refusals_fail(put_values);
    put_values(&t);
    assert_string_equal(t.s, VALUES);
    text_free(&t);
}

/* If a separately written part could not grow, the whole text fails. */
static void test_inside_without_memory(void **state) {
    text t = TEXT_INIT, items = TEXT_INIT;
    json_writer w = json_write(&t);
    (void)state;
    text_no_memory(&items);
    json_put_array(&w, NULL);
    json_put_inside(&w, &items);
    json_put_end(&w);
    assert_int_equal(text_failed(&t), 1);
    text_free(&t), text_free(&items);
}

/* --- mistakes ----------------------------------------------------------------------------------------------------- */

static void no_key(text *t) {
    json_writer w = json_write(t);
    json_put_object(&w, NULL);
    json_put_int(&w, NULL, 1);
}

static void key_in_array(text *t) {
    json_writer w = json_write(t);
    json_put_array(&w, NULL);
    json_put_int(&w, "key", 1);
}

static void key_of_nothing(text *t) {
    json_writer w = json_write(t);
    json_put_int(&w, "key", 1);
}

static void end_too_many(text *t) {
    json_writer w = json_write(t);
    json_put_array(&w, NULL);
    json_put_end(&w);
    json_put_end(&w);
}

static void key_after_the_inner_object(text *t) {
    json_writer w = json_write(t);
    json_put_array(&w, NULL);
    json_put_object(&w, NULL);
    json_put_end(&w);
    json_put_int(&w, "key", 1);
}

static void too_deep(text *t) {
    json_writer w = json_write(t);
    for (int i = 0; i <= JSON_WRITE_DEPTH; i++) json_put_array(&w, NULL);
}

static void inside_behind_a_member(text *t) {
    json_writer w = json_write(t);
    text members = TEXT_INIT;
    json_put_array(&w, NULL);
    json_put_int(&w, NULL, 1);
    json_put_inside(&w, &members);
}

static void no_mistake(text *t) {
    json_writer w = json_write(t);
    json_put_array(&w, NULL);
    json_put_int(&w, NULL, 1);
    json_put_end(&w);
}

static void test_mistakes(void **state) {
    (void)state;
    assert_int_equal(signal_of(no_key), SIGABRT);
    assert_int_equal(signal_of(key_in_array), SIGABRT);
    assert_int_equal(signal_of(key_of_nothing), SIGABRT);
    assert_int_equal(signal_of(end_too_many), SIGABRT);
    assert_int_equal(signal_of(key_after_the_inner_object), SIGABRT);
    assert_int_equal(signal_of(too_deep), SIGABRT);
    assert_int_equal(signal_of(inside_behind_a_member), SIGABRT);
    assert_int_equal(signal_of(no_mistake), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_alone),
        cmocka_unit_test(test_what_is_not_finite),
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_tight),
        cmocka_unit_test(test_inside),
        cmocka_unit_test(test_depth),
        cmocka_unit_test(test_strings_read_back),
        cmocka_unit_test(test_numbers_read_back),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_inside_without_memory),
        cmocka_unit_test(test_mistakes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
