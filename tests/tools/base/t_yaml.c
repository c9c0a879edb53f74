/* t_yaml.c: the YAML reader: maps, lists and scalars in each of their forms, as PyYAML writes them and as people do;
   what is malformed or not supported is refused with its line; the limits; every allocation that fails is reported.

   cc -std=c99 -D_GNU_SOURCE -O2 -I. -Itools tests/tools/base/t_yaml.c tools/base/yaml.c tools/base/text.c
      tools/base/memory.c tools/base/say.c tools/base/clock.c -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc
      -o build/t_yaml -lcmocka -lm */
#include "base/yaml.h"
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include "../../lib/test_says.h"
#include "../../lib/test_texts.h"

/* Writes one line for each entry: "PATH LINE {}", "PATH LINE text", or "PATH LINE [a|b]". */
static void put_entries(const yaml *y, text *out) {
    for (size_t i = 0; i < y->count; i++) {
        const yaml_entry *e = &y->at[i];
        assert_ptr_equal(yaml_find(y, yaml_path(y, e)), e);
        text_printf(out, "%s%s %d ", i ? "\n" : "", yaml_path(y, e), e->line);
        if (e->kind == YAML_MAP) text_puts(out, "{}");
        else if (e->kind == YAML_SCALAR) text_puts(out, yaml_item(y, e, 0));
        else {
            for (size_t k = 0; k < e->count; k++) text_printf(out, "%c%s", k ? '|' : '[', yaml_item(y, e, k));
            text_puts(out, e->count ? "]" : "[]");
        }
    }
}

static void assert_reads(const char *file, const char *entries) {
    text out = TEXT_INIT, why = TEXT_INIT;
    yaml y;
    if (!yaml_read(&y, file, strlen(file), &why)) fail_msg("refused: %s\n%s", why.s, file);
    put_entries(&y, &out);
    assert_string_equal(out.s ? out.s : "", entries);
    yaml_free(&y);
    text_free(&out), text_free(&why);
}

static void test_maps(void **state) {
    (void)state;
    assert_reads("", "");
    assert_reads("\n# nothing\n   # but comments\n\t\n", "");
    assert_reads("A: 1\nB:\n  C: 2\n  D:\n      E: x y\n  F: 3\nG:\nH: # nothing\n",
                 "A 1 1\nB 2 {}\nB.C 3 2\nB.D 4 {}\nB.D.E 5 x y\nB.F 6 3\nG 7 \nH 8 ");
    assert_reads("---\n_BASE_: ../Base-AGW.yml\n", "_BASE_ 2 ../Base-AGW.yml");
    assert_reads("\xef\xbb\xbf" "A: 1\r\n\r\nB:\r\n  c-2: x\r\n", "A 1 1\nB 3 {}\nB.c-2 4 x");
    assert_reads("A: {ENABLED: false, B: {C: [1, 2], D: 'x, y'},\n    # comment\n  E: 3}  # comment\nF: {}",
                 "A 1 {}\nA.ENABLED 1 false\nA.B 1 {}\nA.B.C 1 [1|2]\nA.B.D 1 x, y\nA.E 3 3\nF 4 {}");
}

static void test_lists(void **state) {
    (void)state;
    assert_reads("A:\n- x\n- y z\nB:\n  - 1 # one\n\n  # two\n  - '2'\nC: 3\n", "A 1 [x|y z]\nB 4 [1|2]\nC 9 3");
    assert_reads("S:\n  T:\n  - 256\n  - 128\n  U: 1\n", "S 1 {}\nS.T 2 [256|128]\nS.U 5 1");
    assert_reads("A: [ 384, 128 ]\nB: []\nC: [a b,\n 'c', # comment\n \"d\",]\nD: [ ]\n",
                 "A 1 [384|128]\nB 2 []\nC 3 [a b|c|d]\nD 6 []");
}

static void test_scalars(void **state) {
    (void)state;
    assert_reads("A: (\"CrossEntropyLoss\", \"TripletLoss\",)\nB: logs/a:b#c\nC: -1.5e-05   # comment\nD: http://x\n",
                 "A 1 (\"CrossEntropyLoss\", \"TripletLoss\",)\nB 2 logs/a:b#c\nC 3 -1.5e-05\nD 4 http://x");
    assert_reads("A: one\n  two\n    three # end\nB:\n- four\n  five\n", "A 1 one two three\nB 4 [four five]");
    assert_reads("A: ''\nB: 'it''s # no: comment'\nC: \"\"\nD: '\\n'\n", "A 1 \nB 2 it's # no: comment\nC 3 \nD 4 \\n");
    assert_reads("A: \"\\x41\\u4e2d\\U0001F600\\\\\\\"\\/\\ \\t\"", "A 1 A\xe4\xb8\xad\xf0\x9f\x98\x80\\\"/ \t");
    assert_reads("A: 'one  \n   two\n\n\n  three'\nB: x\n", "A 1 one two\n\nthree\nB 6 x");
    assert_reads("A: \"one \\\n  \\ two\\n\n  three\"\n", "A 1 one  two\n three");
}

#define UNKNOWN_ESCAPE                                                                                                 \
    "line 1: unknown escape after a backslash; the known ones are \\\\ \\\" \\/ \\n \\t \\r \\x \\u \\U"

/* Files that are refused, and why. */
static const char *const REFUSED[][2] = {
    {"A: 1\nB\n", "line 2: expected KEY: value, with a key of letters, digits, _ and -"},
    {"A:1", "line 1: expected a space after the colon"},
    {"- A", "line 1: expected KEY: value, with a key of letters, digits, _ and -"},
    {"'A': 1", "line 1: expected KEY: value, with a key of letters, digits, _ and -"},
    {"A.B: 1", "line 1: expected KEY: value, with a key of letters, digits, _ and -"},
    {"? A", "line 1: expected KEY: value, with a key of letters, digits, _ and -"},
    {"-: 1", "line 1: expected KEY: value, with a key of letters, digits, _ and -"},
    {"{A: 1}", "line 1: expected KEY: value, with a key of letters, digits, _ and -"},
    {"%YAML 1.1\n---\nA: 1", "line 1: expected KEY: value, with a key of letters, digits, _ and -"},
    {"A: 1\n---\nB: 1", "line 2: expected KEY: value, with a key of letters, digits, _ and -"},
    {" A: 1", "line 1: the first key is indented by 1 spaces; expected none"},
    {"A: 1\n  B: 2", "line 2: a value that contains a colon and a space must be quoted"},
    {"A: 1\n\n  B: 2", "line 3: the line is indented by 2 spaces; expected 0"},
    {"A:\n    B: 2\n  C: 3", "line 3: the line is indented by 2 spaces; expected 0"},
    {"A:\n  B: 2 # two\n   C: 3", "line 3: the line is indented by 3 spaces; expected 2"},
    {"A:\n\tB: 2", "line 2: the line begins with a tab; indent it with spaces"},
    {"A:\n - x\n  - y", "line 3: expected a value; one that begins with - must be quoted"},
    {"A: 1\nB: 2\nA: 3", "line 3: A is given twice; the first one is in line 1"},
    {"A: {B: 1,\nB: 2}", "line 2: A.B is given twice; the first one is in line 1"},
    {"A: b: c", "line 1: a value that contains a colon and a space must be quoted"},
    {"A: b:", "line 1: a value that contains a colon and a space must be quoted"},
    {"A:\n- b: c", "line 2: a value that contains a colon and a space must be quoted"},
    {"A: &id001\n- 1", "line 1: an anchor (&) is not supported; write out the value"},
    {"A: *id001", "line 1: an alias (*) is not supported; write out the value"},
    {"A: !!python/tuple\n- 1", "line 1: a tag (!) is not supported; write out the value"},
    {"A: !!python/object/apply:os.system [ls]", "line 1: a tag (!) is not supported; write out the value"},
    {"A: |\n  text", "line 1: a block of text (|) is not supported; write out the value"},
    {"A: >-\n  text", "line 1: a block of text (>) is not supported; write out the value"},
    {"A: @b", "line 1: expected a value; one that begins with @ must be quoted"},
    {"A: ]", "line 1: expected a value; one that begins with ] must be quoted"},
    {"A: - b", "line 1: expected a value; one that begins with - must be quoted"},
    {"A: 'b' c", "line 1: expected the end of the line after the value"},
    {"A: 'b'#c", "line 1: expected the end of the line after the value"},
    {"A: [b] c", "line 1: expected the end of the line after the value"},
    {"A: 'b\n\nC: d", "line 1: the quoted text has no end"},
    {"A: \"b\\", UNKNOWN_ESCAPE},
    {"A: \"\\q\"", UNKNOWN_ESCAPE},
    {"A: \"\\u12\"", "line 1: expected 4 hexadecimal digits after the backslash and its letter"},
    {"A: \"\\x00\"", "line 1: the escaped character 0 does not exist in text"},
    {"A: \"\\ud800\"", "line 1: the escaped character d800 does not exist in text"},
    {"A: \"\\U00110000\"", "line 1: the escaped character 110000 does not exist in text"},
    {"A: [1, 2", "line 1: expected a comma or ]"},
    {"A: [1,\n", "line 2: the text ends within brackets"},
    {"A: [1 2\n3]", "line 2: expected a comma or ]"},
    {"A: [1, [2]]", "line 1: a list's items must be scalars"},
    {"A: [1, {B: 2}]", "line 1: a list's items must be scalars"},
    {"A: [1,, 2]", "line 1: expected a value; one that begins with , must be quoted"},
    {"A: [b: 1]", "line 1: a value that contains a colon and a space must be quoted"},
    {"A:\n- [1]", "line 2: a list's items must be scalars"},
    {"A:\n- - 1", "line 2: a list's items must be scalars"},
    {"A:\n-\n  b", "line 2: expected a value after -"},
    {"A: {B: 1", "line 1: expected a comma or }"},
    {"A: {B:\n", "line 2: the text ends within brackets"},
    {"A: {B: 1]", "line 1: expected a comma or }"},
    {"A: {B}", "line 1: expected KEY: value, with a key of letters, digits, _ and -"},
    {"A: {B: }", "line 1: expected a value; one that begins with } must be quoted"},
    {"A: 1\nB: \x01", "line 2: there is a byte 01, which text does not have"},
    {"A: 1\rB: 2", "line 1: there is a byte 0d, which text does not have"},
    {"A: \xff", "it is not UTF-8"},
};

static void test_refused(void **state) {
    text why = TEXT_INIT;
    yaml y;
    (void)state;
    for (size_t i = 0; i < sizeof REFUSED / sizeof *REFUSED; i++) {
        if (yaml_read(&y, REFUSED[i][0], strlen(REFUSED[i][0]), &why)) fail_msg("accepted: %s", REFUSED[i][0]);
        assert_says_all(why.s, REFUSED[i][1]);
        yaml_free(&y);
    }
    assert_int_equal(yaml_read(&y, "A: 1\nB\0: 2", 10, &why), 0);
    assert_says_all(why.s, "line 2: there is a byte 00, which text does not have");
    yaml_free(&y), text_free(&why);
}

/* Reads `count` repetitions of a format with one %d, whose number rises. */
static int reads(const char *format, int count, const char *end, text *why) __attribute__((format(printf, 1, 0)));
static int reads(const char *format, int count, const char *end, text *why) {
    text file = TEXT_INIT;
    yaml y;
    for (int i = 0; i < count; i++) text_printf(&file, format, i);
    text_puts(&file, end);
    const int good = yaml_read(&y, file.s, file.len, why);
    yaml_free(&y);
    text_free(&file);
    return good;
}

static void test_limits(void **state) {
    text why = TEXT_INIT, nested = TEXT_INIT;
    yaml y;
    (void)state;
    assert_true(reads("K%d: 1\n", YAML_ENTRIES, "", &why));
    assert_false(reads("K%d: 1\n", YAML_ENTRIES + 1, "", &why));
    assert_says_all(why.s, "line 1025: there are more than 1024 keys");
    assert_true(reads("#%064d\n", (YAML_BYTES - 4) / 66, "A: 1", &why));
    assert_false(reads("#%064d\n", YAML_BYTES / 66 + 1, "", &why));
    assert_says_all(why.s, "it is larger than 256 KiB");
    assert_true(reads("A: {K%d: 1}\n", 1, "", &why));
    for (int depth = 0; depth <= YAML_DEPTH; depth++) text_printf(&nested, "%*sA:\n", depth, "");
    assert_true(yaml_read(&y, nested.s, nested.len, &why));
    yaml_free(&y);
    text_printf(&nested, "%*sA: {B: {C: 1}}\n", YAML_DEPTH + 1, "");
    assert_false(yaml_read(&y, nested.s, nested.len, &why));
    assert_says_all(why.s, "line 18: maps are nested more than 16 deep");
    yaml_free(&y);
    assert_false(reads("A%d: {A: {A: {A: {A: {A: {A: {A: {A: {A: ", 1, "{A: {A: {A: {A: {A: {A: {A: {A: 1", &why));
    assert_says_all(why.s, "line 1: maps are nested more than 16 deep");
    text_free(&why), text_free(&nested);
}

/* Reads a file of every form, and writes the reason of a failure. One key is too long for the first allocation of a
   text. */
static void read_all_forms(text *out) {
    static const char file[] = "A:\n  B: {C: [1, 'x'], D: \"\\u4e2d\",\n    "
        "a_long_key_of_a_map_in_braces_whose_path_does_not_fit_into_64_bytes: 1}\n  E:\n  - y\n  - 'z'\n  F:\n";
    text why = TEXT_INIT;
    yaml y;
    if (yaml_read(&y, file, sizeof file - 1, &why)) text_puts(out, "read");
    else text_join(out, &why);
    yaml_free(&y);
    text_free(&why);
}

static void test_memory(void **state) {
    (void)state;
    assert_refusals_fail(read_all_forms);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_maps),    cmocka_unit_test(test_lists),  cmocka_unit_test(test_scalars),
        cmocka_unit_test(test_refused), cmocka_unit_test(test_limits), cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
