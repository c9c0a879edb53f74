/* t_page_fill.c: pieces of markup are found and filled: values as text or as markup, line ends to the byte; a text that
   cannot grow says so, whichever allocation fails; a piece or a key that is not there ends the program.

   cc -std=c99 -D_GNU_SOURCE -O2 -I. -Itools tests/tools/report/t_page_fill.c tools/report/page_fill.c tools/base/text.c
      -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc -o build/t_page_fill -lcmocka -lm */
#include "report/page_fill.h"
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../../lib/test_texts.h"

static const char FILE_OF_PIECES[] = "{{#first}}\n<b>{{a}}</b>\n{{#with a line end}}\n<i>{{b c}}{{&b c}}</i>\n\n"
                                     "{{#two lines}}\n1\n2\n{{#none}}\n\n{{#first again}}\n{{a}}{{a}}\n"
                                     "{{#open}}\n{{a\n{{#last}}\nend\n";
static const page_markup MARKUP = {(const unsigned char *)FILE_OF_PIECES, sizeof FILE_OF_PIECES - 1};

static void expect(const char *piece, page_values *v, const char *wanted) {
    text t = TEXT_INIT;
    page_fill(&t, &MARKUP, piece, v);
    assert_string_equal(t.s ? t.s : "", wanted);
    text_free(&t);
}

static void test_pieces(void **state) {
    page_values v = {TEXT_INIT};
    (void)state;
    page_set(&v, "a", "%d", 1);
    expect("first", &v, "<b>1</b>");
    page_set(&v, "b c", "%s", "<&\">");
    expect("with a line end", &v, "<i>&lt;&amp;&quot;><&\"></i>\n");
    expect("two lines", NULL, "1\n2");
    expect("none", NULL, "");
    page_set(&v, "other", "%s", "a");
    page_set(&v, "a", "%s", "x");
    expect("first again", &v, "xx");
    page_set(&v, "a", "%s", "");
    expect("first again", &v, "");
    expect("last", NULL, "end\n");
}

/* As text, a value can neither end an attribute nor control how the page is shown; braces in it have no meaning. */
static void test_values(void **state) {
    static const char *const cases[][2] = {
        {"\x1b[31m", "\\x1b[31m"}, {"\xff", "\\xff"},  {"a\nb", "a\\nb"},          {"\xe2\x80\xae", "\\u202e"},
        {"\xc3\xa9", "\xc3\xa9"},  {"{{a}}", "{{a}}"}, {"{{#last}}", "{{#last}}"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char wanted[64];
        page_values v = {TEXT_INIT};
        page_set(&v, "a", "%s", cases[i][0]);
        snprintf(wanted, sizeof wanted, "<b>%s</b>", cases[i][1]);
        expect("first", &v, wanted);
    }
}

static void fill_all(text *t) {
    page_values v = {TEXT_INIT};
    char longer[1001];
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = 0;
    page_set(&v, "b c", "%s", longer);
    page_fill(t, &MARKUP, "with a line end", &v);
}

static void test_no_memory(void **state) {
    text t = TEXT_INIT;
    (void)state;
    fill_all(&t);
    assert_int_equal(t.len, 2000 + 8);
    text_free(&t);
    assert_refusals_fail(fill_all);
}

static void no_such_piece(text *t) { page_fill(t, &MARKUP, "firs", NULL); }
static void no_values(text *t) { page_fill(t, &MARKUP, "first", NULL); }
static void no_end_of_the_key(text *t) {
    page_values v = {TEXT_INIT};
    page_set(&v, "a", "1");
    page_fill(t, &MARKUP, "open", &v);
}

static void no_such_key(text *t) {
    page_values v = {TEXT_INIT};
    page_set(&v, "aa", "1");
    page_set(&v, "b", "a"); /* a value is not a key */
    page_fill(t, &MARKUP, "first", &v);
}

static void no_mistake(text *t) { page_fill(t, &MARKUP, "two lines", NULL); }

static void test_mistakes(void **state) {
    (void)state;
    assert_int_equal(signal_of(no_such_piece), SIGABRT);
    assert_int_equal(signal_of(no_values), SIGABRT);
    assert_int_equal(signal_of(no_such_key), SIGABRT);
    assert_int_equal(signal_of(no_end_of_the_key), SIGABRT);
    assert_int_equal(signal_of(no_mistake), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_mistakes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
