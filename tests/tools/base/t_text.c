/* t_text.c: the name or contents of a file cannot harm a terminal, a JSON reader or a spreadsheet.

   cc -std=c99 -D_GNU_SOURCE -O2 -I. -Itools tests/tools/base/t_text.c tools/base/text.c tools/base/say.c
      tools/base/memory.c tools/base/clock.c tools/base/csv.c -o build/t_text -lcmocka */
#include "base/csv.h"
#include "base/say.h"
#include "base/text.h"
#include <stdarg.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "../../lib/test_util.h"

static const struct {
    const char *raw, *visible, *json;
} CASES[] = {
    {"plain é 漢", "plain é 漢", "\"plain é 漢\""},
    {"\x1b[31m", "\\x1b[31m", "\"\\u001b[31m\""},
    {"a\x7f", "a\\x7f", "\"a\\u007f\""},
    {"\r\n\t", "\\r\\n\\t", "\"\\u000d\\n\\t\""},
    {"\xc2\x9b" "31m", "\\u009b31m", "\"\\u009b31m\""},                   /* the 8-bit control sequence introducer */
    {"a\xe2\x80\xaegnp.b", "a\\u202egnp.b", "\"a\\u202egnp.b\""},         /* right to left from here on */
    {"\xe2\x80\xaa\xe2\x81\xa6\xe2\x81\xa9", "\\u202a\\u2066\\u2069", "\"\\u202a\\u2066\\u2069\""},
    {"\xe2\x80\x8f\xd8\x9c\xe2\x80\xa8", "\\u200f\\u061c\\u2028", "\"\\u200f\\u061c\\u2028\""},
    {"\xe2\x80\xa7\xe2\x80\xaf\xe2\x81\xa5\xe2\x81\xaa", "\xe2\x80\xa7\xe2\x80\xaf\xe2\x81\xa5\xe2\x81\xaa",
     "\"\xe2\x80\xa7\xe2\x80\xaf\xe2\x81\xa5\xe2\x81\xaa\""},             /* their neighbours */
    {"\xff\xe2\x80", "\\xff\\xe2\\x80", "\"\\udcff\\udce2\\udc80\""},
    {"\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80", "\"\xf0\x9f\x98\x80\""},
};

static void test_escapes(void **state) {
    text t = TEXT_INIT;
    (void)state;
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        text_clear(&t);
        text_visible(&t, CASES[i].raw);
        assert_string_equal(t.s, CASES[i].visible);
        text_clear(&t);
        text_json(&t, CASES[i].json ? CASES[i].raw : "");
        assert_string_equal(t.s, CASES[i].json);
    }
    text_free(&t);
}

/* Messages are escaped even if a caller forgot to; already escaped text and log lines stay unchanged. */
static void test_messages(void **state) {
    char line[300], name[300];
    int saved = dup(2);
    (void)state;
    test_temp_path(name, "messages");
    test_need(freopen(name, "w+", stderr) != NULL, name);
    say_error("%s: %s", "\x1b[2Jred\xe2\x80\xae", shown("\x1b[31m"));
    say_error("one\n\ttwo");
    char *longest = malloc(9001);
    memset(longest, 0x1b, 9000);
    longest[9000] = 0;
    say_error("%s", longest);
    free(longest);
    fflush(stderr);
    FILE *f = fopen(name, "r");
    test_need(f != NULL && fgets(line, sizeof line, f) != NULL, name);
    assert_string_equal(line, "reid: \\x1b[2Jred\\u202e: \\x1b[31m\n");
    test_need(fgets(line, sizeof line, f) != NULL, name);
    assert_string_equal(line, "reid: one\n");
    test_need(fgets(line, sizeof line, f) != NULL, name);
    assert_string_equal(line, "\ttwo\n");
    while (fgets(line, sizeof line, f)) assert_null(strchr(line, 0x1b));
    fclose(f);
    fflush(stderr);
    dup2(saved, 2);
    close(saved);
    unlink(name);
}

static void test_csv(void **state) {
    static const char *const cells[][2] = {
        {"plain", "plain"}, {"", ""}, {"a,b", "\"a,b\""}, {"a\"b", "\"a\"\"b\""}, {"=1+1", "'=1+1"},
        {"+1", "'+1"}, {"-dash.png", "'-dash.png"}, {"@x", "'@x"}, {"=a,b", "\"'=a,b\""}, {"\tx", "'\tx"},
        {"'=x", "''=x"}, {"''=x", "'''=x"}, {"'x", "'x"}, {"a=b", "a=b"}, {"'", "'"},
    };
    (void)state;
    text all = TEXT_INIT;
    size_t n = sizeof cells / sizeof *cells;
    for (size_t i = 0; i < n; i++) {
        text one = TEXT_INIT;
        text_csv(&one, cells[i][0]);
        assert_string_equal(one.s ? one.s : "", cells[i][1]);
        text_puts(&all, i ? "," : "");
        text_puts(&all, one.s ? one.s : "");
        text_free(&one);
    }
    text_putc(&all, '\n');
    csv c;
    csv_begin(&c, all.s, all.len);
    assert_int_equal(csv_record(&c), 1);
    assert_int_equal(c.count, n);
    for (size_t i = 0; i < n; i++) assert_string_equal(csv_field(&c, (int)i), cells[i][0]);
    csv_free(&c);
    text_free(&all);
}

/* The name, the folder and the stem of a path, and which endings it has. */
static void test_paths(void **state) {
    static const struct {
        const char *path, *folder, *name;
        size_t stem;
        int is_npy;
    } paths[] = {
        {"a.npy", ".", "a.npy", 1, 1},         {"/a.npy", "/", "a.npy", 1, 1}, {"b/c/a.npy", "b/c", "a.npy", 1, 1},
        {"b.npy/a", "b.npy", "a", 1, 0},       {"b/.npy", "b", ".npy", 4, 0},  {"b/", "b", "", 0, 0},
        {"b/a.npy.part", "b", "a.npy.part", 5, 0},
    };
    text folder = TEXT_INIT;
    (void)state;
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        path_folder(&folder, paths[i].path);
        assert_string_equal(folder.s, paths[i].folder);
        assert_string_equal(path_name(paths[i].path), paths[i].name);
        assert_int_equal(path_stem(paths[i].name), paths[i].stem);
        assert_int_equal(path_has_ending(paths[i].path, ".npy"), paths[i].is_npy);
    }
    text_free(&folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_escapes), cmocka_unit_test(test_messages),
                                       cmocka_unit_test(test_csv), cmocka_unit_test(test_paths)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
