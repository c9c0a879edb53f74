/* t_decisions.c: the journal of decisions: every malformed line with its exact error, what overrules what, chains that
   contradict, torn ends, foreign files, calls that fail, several writers, writers that are killed.

   cc -std=c99 -D_GNU_SOURCE -O2 -I. -Itools tests/tools/journal/t_decisions.c tools/journal/decisions.c
      tools/journal/decisions_line.c tools/journal/decisions_list.c tools/journal/decisions_state.c
      tools/base/union_find.c tools/journal/decisions_table.c tools/gallery/database.c tools/gallery/gallery_store.c
      tools/gallery/store_*.c tools/gallery/pq.c tools/gallery/pq_binary.c tools/gallery/schema.c tools/base/source.c
      tools/base/json.c tools/base/threads.c tools/base/container.c tools/base/json_write.c tools/base/text.c
      tools/base/decimal.c tools/base/memory.c tools/base/say.c tools/base/clock.c
      tools/base/files.c tools/base/replace.c tools/base/file_kind.c tools/base/crc32.c tools/base/when.c
      tools/base/random.c tools/base/unicode.c -o build/t_decisions
      -Wl,--wrap=fsync,--wrap=pwrite,--wrap=ftruncate,--wrap=rename,--wrap=unlink,--wrap=link,--wrap=fchmod
      -Wl,--wrap=fchown,--wrap=write,--wrap=malloc,--wrap=calloc,--wrap=realloc -lcmocka -lm -lpthread -ldl

   With the address of a gallery in PostgreSQL as its argument (t_decisions_database.sh), what does not belong to files
   is tested with that. */
#include "journal/decisions.h"
#include "journal/decisions_state.h"

#include "base/crc32.h"
#include "base/files.h"
#include "base/memory.h"
#include "gallery/pq.h"

#include <stdarg.h>
#include <setjmp.h>
#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#define FAULT_WRITE
#include "../../lib/test_faults.h"
#include "../../lib/test_refusals.h"
#include "../../lib/test_util.h"

#define PRINT "0123456789abcdef0123456789abcdef"
#define REST "\"by\": \"ann\", \"when\": \"2026-05-31T06:30:00Z\", \"models\": [\"" PRINT "\"]"
#define SAME "\"what\": \"same\", \"crops\": [\"a\", \"b\"], " REST

static char path[256], torn_path[300];

static pq *base; /* NULL: decisions are in a file */

static void sql(const char *statement) {
    text why = TEXT_INIT;
    if (!pq_script(base, statement, &why)) fail_msg("%s: %s", statement, why.s);
    text_free(&why);
}

static void clean(void) {
    if (base) {
        sql("DELETE FROM reid.decision");
        return;
    }
    unlink(path);
    unlink(torn_path);
}

/* Appends whole lines, like another program. */
static void put_lines(const text *lines) {
    text why = TEXT_INIT;
    long long seq = 1;
    if (!base) assert_true(file_write(path, NULL, lines, &why));
    for (char *line = lines->s; base && *line; line = strchr(line, 0) + 1) {
        *strchr(line, '\n') = 0;
        pq_number number = pq_number_of(seq++);
        const pq_argument arguments[] = {pq_text(number.s), pq_text(line)};
        if (!pq_do(base, "INSERT INTO reid.decision VALUES ($1::bigint, $2::json)", arguments, 2, &why))
            fail_msg("%s", why.s);
    }
    text_free(&why);
}

/* --- lines -------------------------------------------------------------------------------------------------------- */

/* The line with its checksum. */
static void sealed(text *out, const char *body) {
    text_puts(out, body);
    text_printf(out, ", \"crc\": \"%08x\"}\n", (unsigned)crc32_more(0, body, strlen(body)));
}

static const struct {
    const char *body, *error; /* error: NULL: it is good */
} LINES[] = {
    {"{\"seq\": 1, " SAME, NULL},
    {"{" SAME ", \"seq\":1", NULL}, /* in any order */
    {"{\"seq\": 1, \"what\": \"not a crop\", \"crops\": [\"\\udcff\xC3\xA4\\n\"], " REST, NULL},
    {"{\"seq\": 1, \"what\": \"name\", \"crops\": [\"a\"], \"name\": \"\", " REST, NULL},
    {"", "line 1: does not begin with {"},
    {"[1", "line 1: does not begin with {"},
    {"\xEF\xBB\xBF{\"seq\": 1, " SAME, "line 1: does not begin with {"},
    {" {\"seq\": 1, " SAME, "line 1: does not begin with {"},
    {"{\"seq\": 2, " SAME, "line 1: \"seq\": found 2, expected 1"},
    {"{\"seq\": 0, " SAME, "line 1: \"seq\": expected a whole number from 1"},
    {"{\"seq\": 1.5, " SAME, "line 1: \"seq\": expected a whole number from 1"},
    {"{\"seq\": 1e400, " SAME, "line 1: \"seq\": expected a whole number from 1"},
    {"{\"seq\": \"1\", " SAME, "line 1: \"seq\": expected a number"},
    {"{\"seq\": 01, " SAME, "line 1: \"seq\": a malformed number"},
    {"{\"seq\": 1, \"seq\": 1, " SAME, "line 1: duplicate field \"seq\""},
    {"{\"seq\": 1, \"why\": 1, " SAME, "line 1: unknown field \"why\""},
    {"{\"seq\": 1, \"crc\": \"0\", " SAME, "line 1: duplicate field \"crc\""},
    {"{" SAME, "line 1: \"seq\" is missing"},
    {"{\"seq\": 1, \"crops\": [\"a\", \"b\"], " REST, "line 1: \"what\" is missing"},
    {"{\"seq\": 1, \"what\": \"Same\", \"crops\": [\"a\", \"b\"], " REST,
     "line 1: \"what\": must be same, different, not a crop, name or undo"},
    {"{\"seq\": 1, \"what\": 1, \"crops\": [\"a\", \"b\"], " REST, "line 1: \"what\": expected a string"},
    {"{\"seq\": 1, \"what\": \"same\", " REST, "line 1: \"crops\" is missing"},
    {"{\"seq\": 1, \"what\": \"same\", \"crops\": [\"a\"], " REST,
     "line 1: \"crops\": \"same\" needs at least 2, but there is 1"},
    {"{\"seq\": 1, \"what\": \"not a crop\", \"crops\": [], " REST,
     "line 1: \"crops\": \"not a crop\" needs at least 1, but there are 0"},
    {"{\"seq\": 1, \"what\": \"same\", \"crops\": [\"a\", \"a\"], " REST, "line 1: \"crops\": an id is given twice"},
    {"{\"seq\": 1, \"what\": \"same\", \"crops\": [\"a\", \"\"], " REST, "line 1: \"crops\": an id is empty"},
    {"{\"seq\": 1, \"what\": \"same\", \"crops\": [\"a\", 2], " REST, "line 1: \"crops\": expected a string"},
    {"{\"seq\": 1, \"what\": \"same\", \"crops\": \"a\", " REST,
     "line 1: \"crops\": expected an array [ … ]"},
    {"{\"seq\": 1, \"name\": \"x\", " SAME, "line 1: \"name\" is not allowed for \"same\""},
    {"{\"seq\": 1, \"undoes\": 1, " SAME, "line 1: \"undoes\" is not allowed for \"same\""},
    {"{\"seq\": 1, \"what\": \"name\", \"crops\": [\"a\"], " REST, "line 1: \"name\" is missing"},
    {"{\"seq\": 1, \"what\": \"name\", \"crops\": [\"a\"], \"name\": \"a\\tb\", " REST,
     "line 1: \"name\": has a control character"},
    {"{\"seq\": 1, \"what\": \"name\", \"crops\": [\"a\"], \"name\": \"a\\u0000\", " REST,
     "line 1: \"name\": a zero byte in a string"},
    {"{\"seq\": 1, \"what\": \"undo\", " REST, "line 1: \"undoes\" is missing"},
    {"{\"seq\": 1, \"what\": \"undo\", \"undoes\": 1, " REST, "line 1: \"undoes\": 1 is not an earlier line"},
    {"{\"seq\": 1, \"what\": \"undo\", \"undoes\": 1, \"crops\": [\"a\"], " REST,
     "line 1: \"crops\" is not allowed for \"undo\""},
    {"{\"seq\": 1, \"what\": \"not a crop\", \"crops\": [\"\xFF\"], " REST, "line 1: is not UTF-8"},
    {"{\"seq\": 1, \"what\": \"not a crop\", \"crops\": [\"\xED\xA0\x80\"], " REST, "line 1: is not UTF-8"},
    {"{\"seq\": 1, \"what\": \"not a crop\", \"crops\": [\"\\ud800\"], " REST,
     "line 1: \"crops\": a lone surrogate"},
    {"{\"seq\": 1, \"what\": \"not a crop\", \"crops\": [\"a\"], \"by\": \"\", \"when\": \"2026-05-31T06:30Z\", "
     "\"models\": [\"" PRINT "\"]", "line 1: \"by\": is empty"},
    {"{\"seq\": 1, \"what\": \"not a crop\", \"crops\": [\"a\"], \"by\": \"x\", \"when\": \"2026-05-31\", "
     "\"models\": [\"" PRINT "\"]", "line 1: \"when\": is not a valid time; expected one like 2026-05-31T06:30:00Z"},
    {"{\"seq\": 1, \"what\": \"not a crop\", \"crops\": [\"a\"], \"by\": \"x\", \"when\": \"2026-05-32T00:00Z\", "
     "\"models\": [\"" PRINT "\"]", "line 1: \"when\": is not a valid time; expected one like 2026-05-31T06:30:00Z"},
    {"{\"seq\": 1, \"what\": \"not a crop\", \"crops\": [\"a\"], \"by\": \"x\", \"when\": \"2026-05-31T00:00Z\", "
     "\"models\": []", "line 1: \"models\": expected at least one fingerprint"},
    {"{\"seq\": 1, \"what\": \"not a crop\", \"crops\": [\"a\"], \"by\": \"x\", \"when\": \"2026-05-31T00:00Z\", "
     "\"models\": [\"0123\"]", "line 1: \"models\": expected a fingerprint of 32 hexadecimal digits"},
    {"{\"seq\": 1, \"what\": \"not a crop\", \"crops\": [\"a\"], \"by\": \"x\", \"when\": \"2026-05-31T00:00Z\", "
     "\"models\": [\"" PRINT "\", \"" PRINT "\", \"" PRINT "\"]", "line 1: \"models\": more than two models"},
    {"{\"seq\": 1, {}, " SAME, "line 1: expected a string"},
    {"{\"seq\": 1 " SAME, "line 1: expected a comma"},
    {"{\"seq\": 1}, " SAME, "line 1: text after the end of the value"},
};

static void refuses(const char *bytes, size_t len, const char *error) {
    decision_list d;
    text why = TEXT_INIT;
    int good = decision_list_read(&d, bytes, len, &why);
    decision_list_free(&d);
    if (error ? good || !says_all(why.s, error) : !good)
        fail_msg("%.200s: \"%s\" instead of \"%s\"", bytes, why.s ? why.s : "no error", error ? error : "none");
    text_free(&why);
}

static void test_lines(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof LINES / sizeof *LINES; i++) {
        text line = TEXT_INIT;
        sealed(&line, LINES[i].body);
        refuses(line.s, line.len, LINES[i].error);
        text_free(&line);
    }
    refuses("", 0, NULL);
    refuses("x", 1, "line 1: is incomplete, or its checksum is wrong");
    refuses("\n\n", 2, "line 1: \"crc\": the checksum at its end is wrong: the line is damaged");
}

/* Two good lines, and a third with a change of one byte anywhere, or an end anywhere. */
static void test_damage(void **state) {
    text file = TEXT_INIT;
    char error[200];
    (void)state;
    sealed(&file, "{\"seq\": 1, " SAME);
    size_t first = file.len;
    sealed(&file, "{\"seq\": 2, \"what\": \"undo\", \"undoes\": 1, " REST);
    refuses(file.s, file.len, NULL);
    for (size_t i = 0; i < file.len; i++) {
        char kept = file.s[i];
        file.s[i] = (char)(kept ^ 1);
        decision_list d;
        text why = TEXT_INIT;
        assert_false(decision_list_read(&d, file.s, file.len, &why));
        snprintf(error, sizeof error, "line %d: ", i < first ? 1 : 2);
        if (strncmp(why.s, error, strlen(error)) != 0) fail_msg("byte %zu: %s", i, why.s);
        decision_list_free(&d);
        text_free(&why);
        file.s[i] = kept;
    }
    sealed(&file, "{\"seq\": 3, \"what\": \"undo\", \"undoes\": 1, " REST);
    refuses(file.s, file.len, "line 3: \"undoes\": line 1 was already undone by line 2");
    text_free(&file);
    sealed(&file, "{\"seq\": 1, " SAME);
    sealed(&file, "{\"seq\": 2, \"what\": \"undo\", \"undoes\": 1, " REST);
    sealed(&file, "{\"seq\": 3, \"what\": \"undo\", \"undoes\": 2, " REST);
    refuses(file.s, file.len, "line 3: \"undoes\": line 2 is itself an undo");
    text_free(&file);
}

static void test_limits(void **state) {
    text body = TEXT_INIT, line = TEXT_INIT;
    (void)state;
    for (int over = 0; over < 2; over++) {
        text_clear(&body), text_clear(&line);
        text_puts(&body, "{\"seq\": 1, \"what\": \"not a crop\", \"crops\": [\"");
        for (int i = 0; i < DECISION_ID + over; i++) text_putc(&body, 'x');
        text_puts(&body, "\"], " REST);
        sealed(&line, body.s);
        refuses(line.s, line.len, over ? "line 1: \"crops\": an id is longer than 8192 bytes" : NULL);
        text_clear(&body), text_clear(&line);
        text_puts(&body, "{\"seq\": 1, \"what\": \"not a crop\", \"crops\": [\"first\"");
        for (int i = 1; i < DECISION_CROPS + over; i++) text_printf(&body, ", \"%d\"", i);
        text_puts(&body, "], " REST);
        sealed(&line, body.s);
        refuses(line.s, line.len, over ? "line 1: \"crops\": more than 1000 crops" : NULL);
        text_clear(&body), text_clear(&line);
        text_puts(&body, "{\"seq\": 1, \"what\": \"name\", \"crops\": [\"a\"], \"name\": \"");
        for (int i = 0; i < DECISION_WORDS + over; i++) text_putc(&body, 'x');
        text_puts(&body, "\", " REST);
        sealed(&line, body.s);
        refuses(line.s, line.len, over ? "line 1: \"name\": is longer than 256 bytes" : NULL);
        text_clear(&body), text_clear(&line);
        text_puts(&body, "{\"seq\": 1, " SAME);
        while (body.len + 21 < DECISION_LINE + (size_t)over) text_putc(&body, ' ');
        sealed(&line, body.s);
        assert_int_equal(line.len, DECISION_LINE + over);
        refuses(line.s, line.len, over ? "line 1: is longer than 1048576 bytes" : NULL);
    }
    for (size_t i = 0; i < line.len; i++) line.s[i] = 'x'; /* no newline at all */
    text_putc(&line, 'x');
    line.s[0] = '{';
    refuses(line.s, line.len, "line 1: is longer than 1048576 bytes");
    text_free(&body);
    text_free(&line);
}

/* --- what holds --------------------------------------------------------------------------------------------------- */

static char *plain[] = {"a", "b", "c", "d"};

static decision about(decision_kind kind, char **crops, size_t count) {
    decision d;
    memset(&d, 0, sizeof d);
    d.kind = kind, d.crops = crops, d.count = count;
    d.by = "ann", d.when = 1780209000000LL;
    strcpy(d.models[0], PRINT);
    d.model_count = 1;
    return d;
}

/* "same a b", "name a Bob", "undo 3" …: ids are a to d. Returns the result of decisions_append; prints an unexpected
   reason. */
static int say(decisions *d, const char *what, text *why) {
    char kind[16], x[8] = "", y[16] = "";
    sscanf(what, "%15s %7s %15s", kind, x, y);
    char *pair[] = {x, y};
    decision one = about(decision_kind_of(strcmp(kind, "none") == 0 ? "not a crop" : kind), pair, 1);
    if (one.kind == DECISION_SAME || one.kind == DECISION_DIFFERENT) one.count = 2;
    if (one.kind == DECISION_NAME) one.name = strcmp(y, "-") == 0 ? "" : y;
    if (one.kind == DECISION_UNDO) one.count = 0, one.undoes = atoi(x);
    return decisions_append(d, &one, why);
}

/* The current state in short form: a=b a!c b:Bob -d. */
static void told(const decisions *d, char *out) {
    decision_state s;
    text why = TEXT_INIT;
    int good = decisions_state(&s, &d->list, &why);
    *out = 0;
    if (good != 1) strcat(out, why.s);
    for (size_t i = 0; good == 1 && i < s.sames; i++) sprintf(out + strlen(out), "%s=%s ", s.same[i].a, s.same[i].b);
    for (size_t i = 0; good == 1 && i < s.differents; i++)
        sprintf(out + strlen(out), "%s!%s ", s.different[i].a, s.different[i].b);
    for (size_t i = 0; good == 1 && i < s.name_count; i++)
        sprintf(out + strlen(out), "%s:%s ", s.names[i].id, s.names[i].name);
    for (size_t i = 0; good == 1 && i < s.no_crop_count; i++) sprintf(out + strlen(out), "-%s ", s.no_crops[i].id);
    decision_state_free(&s);
    text_free(&why);
}

#define SAID "(ann, 2026-05-31T06:30:00Z, decision "

/* Runs steps separated by commas, then compares the state, or the error of the last step. */
static const struct {
    const char *steps, *holds, *error;
} STATES[] = {
    {"same b a", "a=b ", NULL},
    {"same a b,different b a", "a!b ", NULL}, /* the later one overrules */
    {"same a b,different b a,undo 2", "a=b ", NULL},
    {"same a b,different b a,undo 1", "a!b ", NULL},
    {"same a b,undo 1", "", NULL},
    {"name a Bob,name a Cid", "a:Cid ", NULL},
    {"name a Bob,name a -", "", NULL},
    {"name a Bob,name a -,undo 2", "a:Bob ", NULL},
    {"same a b,same b c,none b", "-b ", NULL}, /* the chain led through it */
    {"same a b,same b c,none b,different a c", "a!c -b ", NULL},
    {"name b Bob,none b,undo 2", "b:Bob ", NULL},
    {"same a b,name a Bob,name b Bob", "a=b a:Bob b:Bob ", NULL},
    {"same a b,same b c,different a c", "a=b b=c ",
     "a contradiction: \"a\" and \"c\" are different " SAID "3), but also the same: \"a\" = \"b\" " SAID
     "1), \"b\" = \"c\" " SAID "2)"},
    {"same a b,different a c,same c d,same b d", "a=b c=d a!c ",
     "a contradiction: \"a\" and \"c\" are different " SAID "2), but also the same: \"a\" = \"b\" " SAID
     "1), \"b\" = \"d\" " SAID "4), \"d\" = \"c\" " SAID "3)"},
    {"name a Bob,name c Cid,same a b,same b c", "a=b a:Bob c:Cid ",
     "a contradiction: \"a\" is named \"Bob\" " SAID "1) and \"c\" is named \"Cid\" " SAID
     "2), but they are the same: \"a\" = \"b\" " SAID "3), \"b\" = \"c\" " SAID "4)"},
    {"same a a", "", "\"crops\": an id is given twice"},
    {"undo 1", "", "\"undoes\": 1 is not an earlier line"},
    {"same a b,undo 1,undo 1", "", "\"undoes\": line 1 was already undone by line 2"},
    {"same a b,undo 1,undo 2", "", "\"undoes\": line 2 is itself an undo"},
};

static void test_states(void **state) {
    char steps[200], holds[2000];
    (void)state;
    for (size_t i = 0; i < sizeof STATES / sizeof *STATES; i++) {
        decisions d, again;
        text why = TEXT_INIT;
        int done = 1;
        clean();
        if (!decisions_open(&d, path, 1, &why)) fail_msg("%s", why.s);
        strcpy(steps, STATES[i].steps);
        for (char *step = strtok(steps, ","); step; step = strtok(NULL, ",")) done = say(&d, step, &why);
        if (done != (STATES[i].error ? -1 : 1)) fail_msg("%s: %d, %s", STATES[i].steps, done, why.s);
        if (STATES[i].error) assert_says_all(why.s, STATES[i].error);
        told(&d, holds);
        assert_says_all(holds, STATES[i].holds);
        if (!decisions_open(&again, path, 0, &why)) fail_msg("%s", why.s); /* and it is stored like this */
        assert_int_equal(again.list.count, d.list.count);
        told(&again, holds);
        assert_says_all(holds, STATES[i].holds);
        decisions_close(&again);
        decisions_close(&d);
        text_free(&why);
    }
}

/* same and different relate the first crop to each of the others. */
static void test_many(void **state) {
    decisions d;
    text why = TEXT_INIT;
    char holds[200];
    (void)state;
    clean();
    assert_true(decisions_open(&d, path, 1, &why));
    decision one = about(DECISION_DIFFERENT, plain, 4);
    assert_int_equal(decisions_append(&d, &one, &why), 1);
    told(&d, holds);
    assert_string_equal(holds, "a!b a!c a!d ");
    one = about(DECISION_NAME, plain + 1, 2);
    one.name = "<script>";
    assert_int_equal(decisions_append(&d, &one, &why), 1);
    told(&d, holds);
    assert_string_equal(holds, "a!b a!c a!d b:<script> c:<script> ");
    decisions_close(&d);
    text_free(&why);
}

/* A contradiction written by other programs is read and reported, and can be undone. */
static void test_contradicting_file(void **state) {
    decisions d;
    text why = TEXT_INIT, file = TEXT_INIT;
    char holds[2000];
    (void)state;
    clean();
    sealed(&file, "{\"seq\": 1, " SAME);
    sealed(&file, "{\"seq\": 2, \"what\": \"name\", \"crops\": [\"a\"], \"name\": \"Bob\", " REST);
    sealed(&file, "{\"seq\": 3, \"what\": \"name\", \"crops\": [\"b\"], \"name\": \"Cid\", " REST);
    put_lines(&file);
    if (!decisions_open(&d, path, 1, &why)) fail_msg("%s", why.s);
    told(&d, holds);
    assert_says_all(holds, "a contradiction: \"a\" is named \"Bob\" " SAID "2) and \"b\" is named \"Cid\" " SAID
                           "3), but they are the same: \"a\" = \"b\" " SAID "1)");
    assert_int_equal(say(&d, "same c d", &why), -1);
    assert_int_equal(say(&d, "undo 3", &why), 1);
    assert_int_equal(say(&d, "same c d", &why), 1);
    decisions_close(&d);
    text_free(&file);
    text_free(&why);
}

/* --- files -------------------------------------------------------------------------------------------------------- */

static void put(const char *bytes, size_t len) {
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0644);
    assert_true(fd >= 0 && write(fd, bytes, len) == (ssize_t)len);
    close(fd);
}

static size_t size_of(const char *name) {
    struct stat st;
    return stat(name, &st) == 0 ? (size_t)st.st_size : 0;
}

/* Two lines and every prefix of a third: readers see two; the next writer sets the rest aside and continues. */
static void test_torn(void **state) {
    text line = TEXT_INIT, why = TEXT_INIT;
    (void)state;
    sealed(&line, "{\"seq\": 3, " SAME);
    for (size_t n = 0; n <= line.len; n += n + 2 < line.len && n > 2 ? 7 : 1) {
        decisions d;
        clean();
        assert_true(decisions_open(&d, path, 1, &why));
        assert_true(say(&d, "same a b", &why) == 1 && say(&d, "name a Bob", &why) == 1);
        decisions_close(&d);
        size_t whole = size_of(path);
        if (n == line.len) line.s[5] ^= 1; /* the whole line, but damaged */
        put(line.s, n);
        assert_true(decisions_open(&d, path, 0, &why));
        assert_true(d.list.count == 2 && d.torn == n && d.read == whole);
        decisions_close(&d);
        assert_true(decisions_open(&d, path, 1, &why)); /* opening alone does not cut it off */
        assert_int_equal(size_of(path), whole + n);
        if (say(&d, "none c", &why) != 1) fail_msg("%s", why.s);
        assert_true(d.list.count == 3 && d.torn == 0 && d.read == size_of(path));
        decisions_close(&d);
        assert_int_equal(size_of(torn_path), n);
        assert_true(decisions_open(&d, path, 0, &why) && d.list.count == 3 && !d.torn);
        decisions_close(&d);
    }
    text_free(&line);
    text_free(&why);
}

static void cannot_open(int writes, const char *error) {
    decisions d;
    text why = TEXT_INIT;
    assert_false(decisions_open(&d, path, writes, &why));
    assert_says_all(why.s, error);
    decisions_close(&d);
    text_free(&why);
}

static void test_files(void **state) {
    decisions d;
    struct stat st;
    text why = TEXT_INIT;
    char other[300];
    (void)state;
    snprintf(other, sizeof other, "%s.other", path);
    clean();
    assert_true(decisions_open(&d, path, 0, &why)); /* no file: no decisions */
    assert_int_equal(d.list.count, 0);
    assert_int_equal(say(&d, "same a b", &why), 0);
    decisions_close(&d);
    assert_true(access(path, F_OK) != 0);
    mode_t before = umask(0);
    assert_true(decisions_open(&d, path, 1, &why));
    umask(before);
    assert_true(stat(path, &st) == 0 && (st.st_mode & 0777) == 0664);
    assert_int_equal(say(&d, "same a b", &why), 1);
    assert_int_equal(link(path, other), 0);
    assert_int_equal(say(&d, "same b c", &why), 0);
    assert_says_all(why.s, "is a hard link; a journal of decisions must have one name only");
    cannot_open(0, "is a hard link; a journal of decisions must have one name only");
    assert_int_equal(unlink(path), 0);
    assert_int_equal(say(&d, "same b c", &why), 0);
    assert_says_all(why.s, "was replaced or removed while it was in use");
    assert_int_equal(symlink(other, path), 0);
    cannot_open(0, "is a symbolic link: give the file itself");
    cannot_open(1, "is a symbolic link: give the file itself");
    assert_int_equal(rename(other, path), 0);
    assert_int_equal(say(&d, "same b c", &why), 1);
    assert_int_equal(chmod(path, 0666), 0);
    cannot_open(0, "is writable by all users: chmod o-w");
    assert_int_equal(chmod(path, 0644), 0);
    assert_int_equal(truncate(path, 10), 0);
    assert_int_equal(say(&d, "same c d", &why), 0);
    assert_says_all(why.s, "became shorter while it was in use");
    decisions_close(&d);
    clean();
    assert_int_equal(mkfifo(path, 0600), 0);
    cannot_open(0, "is not a regular file");
    cannot_open(1, "is not a regular file");
    clean();
    assert_int_equal(mkdir(path, 0700), 0);
    cannot_open(0, "is a folder; expected a journal of decisions");
    assert_int_equal(rmdir(path), 0);
    put("{}\n{}\n", 6);
    cannot_open(0, "line 1: \"crc\": the checksum at its end is wrong: the line is damaged");
    clean();
    put("a note", 6); /* one line without an end is torn only if it begins like a decision */
    cannot_open(0, "is not a journal of decisions");
    cannot_open(1, "is not a journal of decisions");
    text_free(&why);
}

/* A torn end is never written through a planted link. */
static void test_torn_link(void **state) {
    decisions d;
    text why = TEXT_INIT;
    char other[300];
    (void)state;
    snprintf(other, sizeof other, "%s.other", path);
    clean();
    put("{\"se", 4);
    assert_int_equal(symlink(other, torn_path), 0);
    assert_true(decisions_open(&d, path, 1, &why));
    assert_int_equal(say(&d, "same a b", &why), 0);
    assert_true(strncmp(why.s, "its incomplete last line cannot be moved aside", 32) == 0);
    assert_true(access(other, F_OK) != 0 && size_of(path) == 4);
    decisions_close(&d);
    text_free(&why);
}

/* --- a table ------------------------------------------------------------------------------------------------------ */

/* Changes by others to rows that should never change. */
static const struct {
    const char *does, *error;
} TABLES[] = {
    {"DELETE FROM reid.decision WHERE seq = 3", "became shorter while it was in use"},
    {"DELETE FROM reid.decision", "became shorter while it was in use"},
    {"UPDATE reid.decision SET line = (SELECT line FROM reid.decision WHERE seq = 2) WHERE seq = 3",
     "was replaced or removed while it was in use"},
    {"INSERT INTO reid.decision VALUES (4, '{}')",
     "line 4: \"crc\": the checksum at its end is wrong: the line is damaged"},
    {"INSERT INTO reid.decision SELECT 4, line FROM reid.decision WHERE seq = 3",
     "line 4: \"seq\": found 3, expected 4"},
};

static void test_tables(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof TABLES / sizeof *TABLES; i++) {
        decisions d;
        text why = TEXT_INIT;
        clean();
        assert_true(decisions_open(&d, path, 1, &why));
        assert_int_equal(say(&d, "same a b", &why), 1);
        assert_int_equal(say(&d, "same b c", &why), 1);
        assert_int_equal(say(&d, "same c d", &why), 1);
        sql(TABLES[i].does);
        assert_int_equal(say(&d, "none a", &why), 0);
        assert_says_all(why.s, TABLES[i].error);
        assert_int_equal(d.list.count, 3);
        assert_false(decisions_refresh(&d, &why));
        decisions_close(&d);
        text_free(&why);
    }
    decisions d;
    text why = TEXT_INIT;
    clean();
    assert_true(decisions_open(&d, path, 1, &why) && say(&d, "same a b", &why) == 1 && say(&d, "none c", &why) == 1);
    decisions_close(&d);
    sql("UPDATE reid.decision SET seq = 7 WHERE seq = 2");
    assert_false(decisions_open(&d, path, 0, &why));
    assert_says_all(why.s, "line 2: the table has it as number 7");
    decisions_close(&d);
    text_free(&why);
}

/* Another session ends every connection: each line is stored once. Ids that are not UTF-8 are kept. */
static void test_lost(void **state) {
    static const char end_others[] =
        "SELECT pg_terminate_backend(pid, 1000) FROM pg_stat_activity WHERE datname = current_database() "
        "AND pid <> pg_backend_pid()";
    char odd[] = "\xff\xc3.png";
    char *crop = odd;
    decisions d, reader;
    text why = TEXT_INIT;
    (void)state;
    clean();
    assert_true(decisions_open(&d, path, 1, &why) && decisions_open(&reader, path, 0, &why));
    assert_int_equal(say(&reader, "same a b", &why), 0);
    assert_says_all(why.s, "was opened for reading");
    for (int i = 1; i <= 5; i++) {
        decision one = about(DECISION_NO_CROP, &crop, 1);
        sql(end_others);
        if (decisions_append(&d, &one, &why) != 1) fail_msg("%s", why.s);
        if (!decisions_refresh(&reader, &why)) fail_msg("%s", why.s);
        assert_int_equal(reader.list.count, i);
        assert_string_equal(reader.list.at[i - 1].crops[0], odd);
    }
    decisions_close(&reader);
    decisions_close(&d);
    text_free(&why);
}

/* --- calls that fail, and kills ----------------------------------------------------------------------------------- */

enum { STEPS = 4 };
static const char *const STEP[STEPS] = {"same a b", "name a Bob", "undo 1", "none c"};

typedef struct shared {
    int done;
    char why[200];
} shared;
static shared *seen;

/* The journal begins with a torn end. */
static int work(void *user) {
    decisions d;
    text why = TEXT_INIT;
    (void)user;
    seen->done = 0;
    int good = decisions_open(&d, path, 1, &why);
    while (good == 1 && seen->done < STEPS) {
        good = say(&d, STEP[seen->done], &why);
        if (good == 1) seen->done++;
    }
    snprintf(seen->why, sizeof seen->why, "%s", why.s ? why.s : "");
    decisions_close(&d);
    text_free(&why);
    return good == 1 ? 0 : 1;
}

/* more: an unacknowledged line may be stored. */
static void check_journal(const char *what, int more) {
    decisions d;
    text why = TEXT_INIT;
    if (!decisions_open(&d, path, 1, &why)) fail_msg("%s, after %d steps: %s", what, seen->done, why.s);
    int count = (int)d.list.count;
    if (count < seen->done || count > seen->done + more) fail_msg("%s: %d of %d lines", what, count, seen->done);
    if (count == 0 && size_of(path) == 0 && size_of(torn_path) < 4) fail_msg("%s: the torn end is lost", what);
    if (say(&d, "same c d", &why) != 1) fail_msg("%s: the next writer: %s", what, why.s);
    decisions_close(&d);
    if (!decisions_open(&d, path, 0, &why) || d.torn || (int)d.list.count != count + 1)
        fail_msg("%s, after the next writer: %s", what, why.s ? why.s : "");
    if (size_of(torn_path) < 4) fail_msg("%s: the torn end is lost", what);
    decisions_close(&d);
    text_free(&why);
}

static void fresh(void) {
    clean();
    put("{\"se", 4);
    memset(seen, 0, sizeof *seen);
}

static int count_calls(void) {
    int calls;
    fresh();
    assert_int_equal(fault_run(FAULT_NONE, 0, 0, work, NULL, &calls), 0);
    assert_true(calls >= 2 * STEPS + 3 && seen->done == STEPS);
    return calls;
}

static void test_errors(void **state) {
    static const int errors[] = {EIO, ENOSPC, EINTR};
    int calls = count_calls(), ignored, failed = 0;
    char what[80];
    (void)state;
    for (int e = 0; e < 3; e++)
        for (int at = 1; at <= calls; at++)
            for (fault_kind kind = FAULT_ONCE; kind <= FAULT_REST; kind++) {
                if (errors[e] == EINTR && kind == FAULT_REST) continue; /* the writer would retry forever */
                snprintf(what, sizeof what, "call %d%s fails: %s", at, kind == FAULT_REST ? " and all that follow" : "",
                         strerror(errors[e]));
                fresh();
                int status = fault_run(kind, at, errors[e], work, NULL, &ignored);
                if (status == 1 && !seen->why[0]) fail_msg("%s: without a reason", what);
                if (status != (seen->done < STEPS) || (status && errors[e] == EINTR)) /* folders need not be synced */
                    fail_msg("%s: exit status %d after %d steps", what, status, seen->done);
                check_journal(what, kind == FAULT_REST);
                failed += status == 1;
            }
    assert_true(failed > 2 * calls);
}

static void test_kills(void **state) {
    (void)state;
    fault_kill_each(count_calls(), work, fresh, check_journal);
}

/* Each allocation fails in turn, alone and with all later ones: either the result is as usual, or the reason is lack of
   memory, and the journal has the acknowledged lines. */
static void test_memory(void **state) {
    (void)state;
    for (int rest = 0; rest < 2; rest++) {
        int done = 0;
        for (long at = 1; !done; at++) {
            decisions d;
            decision_state s;
            text why = TEXT_INIT;
            clean();
            if (!base) put("{\"se", 4);
            memset(&s, 0, sizeof s);
            refuse_from(at, rest);
            int good = decisions_open(&d, path, 1, &why) ? 1 : 0, told_of = 0;
            for (; good == 1 && told_of < STEPS; told_of += good == 1) good = say(&d, STEP[told_of], &why);
            if (good == 1) good = decisions_state(&s, &d.list, &why);
            done = __atomic_load_n(&refusal.calls, __ATOMIC_SEQ_CST) < at;
            refuse_from(0, 0);
            if (good != 1 && (good != 0 || !text_failed(&why))) fail_msg("allocation %ld: %d, %s", at, good, why.s);
            assert_true(!done || good == 1);
            decision_state_free(&s);
            decisions_close(&d);
            text_free(&why);
            if (!decisions_open(&d, path, 0, &why)) fail_msg("allocation %ld: %s", at, why.s);
            assert_int_equal(d.list.count, told_of);
            decisions_close(&d);
            assert_true(at < 10000);
        }
    }
}

/* Concurrent writers, each killed at a random moment: the acknowledged lines of each are stored, in order. */
enum { WRITERS = 3, ROUNDS = 25, MOST = 100000 };

typedef struct promise {
    int count[WRITERS]; /* acknowledged lines of writer w, over all rounds */
} promise;

static void write_on(int w, promise *p) {
    decisions d;
    text why = TEXT_INIT;
    char id[32];
    char *crop = id;
    if (!decisions_open(&d, path, 1, &why)) _exit(2);
    for (;;) {
        snprintf(id, sizeof id, "%d:%d", w, p->count[w]);
        decision one = about(DECISION_NO_CROP, &crop, 1);
        if (decisions_append(&d, &one, &why) != 1) _exit(3);
        __atomic_add_fetch(&p->count[w], 1, __ATOMIC_SEQ_CST);
    }
}

/* Checks that every acknowledged line of every writer is stored; an unacknowledged one at most twice. */
static void check_promises(const promise *p, int round) {
    decisions d;
    text why = TEXT_INIT;
    int next[WRITERS] = {0, 0, 0};
    if (!decisions_open(&d, path, 0, &why)) fail_msg("round %d: %s", round, why.s);
    for (size_t i = 0; i < d.list.count; i++) {
        int w, n;
        assert_int_equal(sscanf(d.list.at[i].crops[0], "%d:%d", &w, &n), 2);
        if (n != next[w] && n != next[w] - 1) fail_msg("round %d: %d follows %d of writer %d", round, n, next[w], w);
        next[w] = n + 1;
    }
    for (int w = 0; w < WRITERS; w++)
        if (next[w] < p->count[w]) fail_msg("round %d: writer %d was told %d, %d are there", round, w, p->count[w],
                                            next[w]);
    decisions_close(&d);
    text_free(&why);
}

static void test_writers(void **state) {
    promise *p = mmap(NULL, sizeof *p, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int status, lines = 0;
    (void)state;
    clean();
    for (int round = 0; round < ROUNDS; round++) {
        pid_t child[WRITERS];
        for (int w = 0; w < WRITERS; w++)
            if ((child[w] = fork()) == 0) write_on(w, p);
        usleep(20000 + 7919u * (unsigned)round % 30000);
        for (int w = 0; w < WRITERS; w++) {
            kill(child[w], SIGKILL);
            assert_int_equal(waitpid(child[w], &status, 0), child[w]);
            if (!WIFSIGNALED(status)) fail_msg("writer %d ended by itself: %d", w, WEXITSTATUS(status));
        }
        check_promises(p, round);
    }
    for (int w = 0; w < WRITERS; w++) lines += p->count[w];
    print_message("%d lines of %d writers, %d kills\n", lines, WRITERS, WRITERS * ROUNDS);
    assert_true(lines > ROUNDS);
    munmap(p, sizeof *p);
}

static int test_base(const char *url) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_states), cmocka_unit_test(test_many),   cmocka_unit_test(test_contradicting_file),
        cmocka_unit_test(test_tables), cmocka_unit_test(test_lost),   cmocka_unit_test(test_memory),
        cmocka_unit_test(test_writers),
    };
    int missing;
    text why = TEXT_INIT;
    snprintf(path, sizeof path, "%s", url);
    base = pq_open(url, &missing, &why);
    if (!base) fail_msg("%s", why.s);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    pq_close(base);
    return failed;
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),  cmocka_unit_test(test_damage), cmocka_unit_test(test_limits),
        cmocka_unit_test(test_states), cmocka_unit_test(test_many),   cmocka_unit_test(test_contradicting_file),
        cmocka_unit_test(test_torn),   cmocka_unit_test(test_files),  cmocka_unit_test(test_torn_link),
        cmocka_unit_test(test_errors), cmocka_unit_test(test_kills),  cmocka_unit_test(test_memory),
        cmocka_unit_test(test_writers),
    };
    if (argc > 1) return test_base(argv[1]);
    test_temp_path(path, "decisions.jsonl");
    snprintf(torn_path, sizeof torn_path, "%s.torn", path);
    seen = mmap(NULL, sizeof *seen, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    clean();
    return failed;
}
