/* t_output_faults.c: the files of reid embed: whichever system call fails, or wherever the program is killed, --resume
   then completes them to the same bytes; a failure leaves all of the old files, and without --resume nothing else.
   Files of other users are never used as temporary files, and a replaced file keeps its mode.

   cc -std=c99 -D_GNU_SOURCE -O2 -I. -Itools tests/tools/embedding/t_output_faults.c tools/embedding/output.c
      tools/embedding/output_kinds.c tools/embedding/output_meta.c tools/base/random.c tools/base/files.c
      tools/base/replace.c tools/base/source.c tools/base/file_kind.c tools/embedding/npy.c tools/base/text.c
      tools/pictures/box_text.c tools/base/when.c tools/base/say.c tools/base/memory.c tools/base/clock.c
      tools/base/results.c tools/base/json_write.c tools/base/decimal.c -o build/t_output_faults
      -Wl,--wrap=fsync,--wrap=pwrite,--wrap=ftruncate,--wrap=rename,--wrap=unlink,--wrap=link,--wrap=fchmod
      -Wl,--wrap=fchown,--wrap=clock_seconds -lcmocka -lm */
#include "base/files.h"
#include "embedding/output.h"
#include <stdarg.h>
#include <math.h>
#include <setjmp.h>
#include <cmocka.h>
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include "../../lib/test_faults.h"
#include "../../lib/test_util.h"

enum { INPUTS = 5, FAILS = 2, DIM = 3, MOST_FILES = 3 };
static char folder[256], home[4096];

/* Stands in for the models that output_meta.c describes. */
void models_json(const models *all, json_writer *w) { json_put_int(w, "models", all->dim); }
const char *reid_version_string(void) { return "1"; }

static input the_inputs[INPUTS];
static models the_models;
static const char *const NAMES[3] = {"x.npy", "x.jsonl", "x.csv"};

typedef struct job {
    const char *name;
    int resume, flip, complete; /* complete: all rows must exist, and none may be computed again */
} job;

static void set_up(void) {
    static char ids[INPUTS][8];
    for (int i = 0; i < INPUTS; i++) {
        snprintf(ids[i], sizeof ids[i], "%d.png", i);
        the_inputs[i].path = the_inputs[i].id = ids[i];
        the_inputs[i].identity = ids[i];
    }
    the_models.count = 1;
    the_models.dim = the_models.at[0].info.dim = DIM;
    strcpy(the_models.at[0].info.fingerprint, "0123456789abcdef0123456789abcdef");
}

static double the_time;

double __wrap_clock_seconds(void);
double __wrap_clock_seconds(void) { return the_time; }

/* Runs reid embed without models. Returns the exit status. */
static int embed(void *user) {
    const job *j = user;
    output_request o;
    inputs list = {0};
    size_t done;
    memset(&o, 0, sizeof o);
    if (!freopen("/dev/null", "w", stderr)) return 9; /* hundreds of reasons */
    o.path = j->name, o.resume = j->resume != 0, o.shard = 1, o.shards = 0, o.strict = j->flip != 0, o.min_conf = NAN;
    list.at = the_inputs, list.count = INPUTS;
    output *out = output_open(&o);
    if (!out) return 2;
    if (!output_begin(out, &the_models, &list, 0, INPUTS, &done)) {
        output_discard(out);
        return 2;
    }
    if (j->complete && done != INPUTS) return 3;
    for (size_t i = done; i < INPUTS; i++) {
        float row[DIM] = {(float)i, 0.5f, -1};
        if (i == 1 || i == FAILS) the_time += 2; /* finished rows are saved every second */
        int good = i == FAILS ? output_failure(out, i, "a reason\\with\na newline") : output_row(out, i, row);
        if (!good) break;
    }
    return output_finish(out) ? 0 : 2;
}

/* Lists the folder without the files of an unfinished run. Returns the number of those files. */
typedef struct picture_of_folder {
    int leftovers, count;
    char name[MOST_FILES + 1][32];
    text content[MOST_FILES + 1];
    mode_t mode[MOST_FILES + 1];
} folder_state;

static int by_name(const struct dirent **a, const struct dirent **b) { return strcmp((*a)->d_name, (*b)->d_name); }

static folder_state look(void) {
    folder_state f;
    struct dirent **entries;
    text why = TEXT_INIT;
    memset(&f, 0, sizeof f);
    int n = scandir(".", &entries, NULL, by_name);
    for (int i = 0; i < n; i++) {
        const char *name = entries[i]->d_name;
        struct stat st;
        if (strstr(name, ".part")) f.leftovers++;
        else if (name[0] != '.' && f.count <= MOST_FILES) {
            snprintf(f.name[f.count], sizeof f.name[0], "%.31s", name);
            if (!file_read(name, 1 << 20, 1, &f.content[f.count], &why)) fail_msg("%s: %s", name, why.s);
            assert_int_equal(stat(name, &st), 0);
            f.mode[f.count++] = st.st_mode & 0777;
        }
        free(entries[i]);
    }
    free(entries);
    text_free(&why);
    return f;
}

static void forget(folder_state *f) {
    for (int i = 0; i < f->count; i++) text_free(&f->content[i]);
}

static void empty(void) {
    struct dirent **entries;
    int n = scandir(".", &entries, NULL, by_name);
    for (int i = 0; i < n; i++) {
        if (strcmp(entries[i]->d_name, ".") && strcmp(entries[i]->d_name, "..")) unlink(entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
}

static int same(const folder_state *a, const folder_state *b, int modes) {
    if (a->count != b->count) return 0;
    for (int i = 0; i < a->count; i++)
        if (strcmp(a->name[i], b->name[i]) || a->content[i].len != b->content[i].len ||
            (modes && a->mode[i] != b->mode[i]) || memcmp(a->content[i].s, b->content[i].s, a->content[i].len) != 0)
            return 0;
    return 1;
}

/* An older output of one row, which only its owner may read. */
static void put_old(const char *name) {
    static const char header[] = "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1), }";
    static const char lines[] = "{\"path\": \"old\", \"embeddings\": [", side[] = "{\"format\": \"reid-embeddings\"}";
    char npy[132], meta[64];
    int is_npy = strcmp(name, "x.npy") == 0;
    memset(npy, ' ', 127), memset(npy + 127, 0, 5);
    memcpy(npy, "\x93NUMPY\x01\x00\x76\x00", 10), memcpy(npy + 10, header, sizeof header - 1), npy[127] = '\n';
    snprintf(meta, sizeof meta, "%.*s.meta.json", (int)strlen(name) - (is_npy ? 4 : 0), name);
    test_write_file(name, is_npy ? npy : lines, is_npy ? sizeof npy : sizeof lines - 1);
    test_write_file(meta, side, sizeof side - 1);
    if (is_npy) test_write_file("x.ids.txt", "old\n", 4);
    assert_int_equal(chmod(name, 0600) | chmod(meta, 0600), 0);
    assert_true(!is_npy || chmod("x.ids.txt", 0600) == 0);
}

/* 1 when the log of the killed run says that all rows exist. */
static int log_is_complete(const char *name) {
    char log[32];
    text content = TEXT_INIT, why = TEXT_INIT;
    snprintf(log, sizeof log, "%s.part.log", name);
    int found = file_read(log, 1 << 20, 1, &content, &why) && strstr(content.s, "\ncomplete ");
    text_free(&content);
    text_free(&why);
    return found;
}

/* Runs with one fault, then with --resume as often as needed. */
static void one(const job *first, fault_kind kind, int at, int error, const folder_state *wanted, const char *what) {
    job j = *first, again = {first->name, 1, 0, 0};
    folder_state before = look();
    int calls, status = fault_run(kind, at, error, embed, &j, &calls);
    folder_state f = look();
    if (kind == FAULT_ONCE && status == 2 && !same(&f, &before, 1)) fail_msg("%s: the old files are not there", what);
    forget(&before);
    if (kind == FAULT_ONCE && status == 2 && !j.resume && f.leftovers > 1) fail_msg("%s: left over", what);
    if (kind == FAULT_ONCE && status == 0 && !same(&f, wanted, 1)) fail_msg("%s: other files", what);
    if (error == EINTR && status != 0) fail_msg("%s: was given up", what);
    if (status != 0 && status != 2 && status != -1) fail_msg("%s: status %d", what, status);
    forget(&f);
    again.complete = status == -1 && log_is_complete(first->name);
    status = fault_run(FAULT_NONE, 0, 0, embed, &again, &calls);
    if (status == 3) fail_msg("%s: --resume computes existing rows again", what);
    if (status != 0) fail_msg("%s: --resume refuses", what);
    f = look();
    if (!same(&f, wanted, 1)) fail_msg("%s: other files after --resume", what);
    if (f.leftovers) fail_msg("%s: left over after --resume", what);
    forget(&f);
}

static void all_ways(const char *name, int resume, int old) {
    static const int errors[] = {EIO, ENOSPC, EINTR};
    job j = {name, resume, 0, 0};
    char what[120];
    int calls, ignored;
    empty();
    if (old) put_old(name);
    assert_int_equal(fault_run(FAULT_NONE, 0, 0, embed, &j, &calls), 0);
    assert_true(calls > 15);
    folder_state wanted = look();
    assert_int_equal(wanted.count, strcmp(name, "x.npy") == 0 ? 3 : 2);
    assert_int_equal(wanted.leftovers, 0);
    for (int at = 1; at <= calls; at++) {
        for (int kind = 0; kind < 5; kind++) {
            if (kind == 4 && at < calls) continue; /* after one call is before the next */
            snprintf(what, sizeof what, "%s%s%s, call %d of %d, %s", name, resume ? " --resume" : "",
                     old ? " over an old one" : "", at, calls,
                     kind < 3 ? strerror(errors[kind]) : kind == 3 ? "killed before" : "killed after");
            empty();
            if (old) put_old(name);
            one(&j, kind < 3 ? FAULT_ONCE : kind == 3 ? FAULT_BEFORE : FAULT_AFTER, at, kind < 3 ? errors[kind] : 0,
                &wanted, what);
        }
    }
    /* Killed twice, the second time while --resume completes the run. */
    for (int at = calls * 2 / 3; at <= calls; at += 2)
        for (int second = 1; second < 20; second += 3) {
            job again = {name, 1, 0, 0};
            snprintf(what, sizeof what, "%s killed at call %d, then at call %d", name, at, second);
            empty();
            if (old) put_old(name);
            fault_run(FAULT_AFTER, at, 0, embed, &j, &ignored);
            one(&again, FAULT_AFTER, second, 0, &wanted, what);
        }
    forget(&wanted);
}

static void test_npy(void **state) {
    (void)state;
    all_ways(NAMES[0], 1, 0);
    all_ways(NAMES[0], 0, 1);
}

static void test_lines(void **state) {
    (void)state;
    all_ways(NAMES[1], 1, 1);
    all_ways(NAMES[2], 0, 0);
}

/* Every truncation of the log, as a failing disk may leave it, with all rows and with none. */
static void test_torn_log(void **state) {
    job j = {NAMES[0], 1, 0, 0}, other = {NAMES[0], 1, 1, 0};
    int calls;
    text log = TEXT_INIT, rows = TEXT_INIT, why = TEXT_INIT;
    (void)state;
    empty();
    assert_int_equal(fault_run(FAULT_NONE, 0, 0, embed, &j, &calls), 0);
    folder_state wanted = look();
    empty();
    while (rows.len < 128 + 4 * DIM * 4 || !log.len) {
        empty();
        if (fault_run(FAULT_AFTER, calls--, 0, embed, &j, &(int){0}) == 0) fail_msg("it was not killed");
        file_read("x.npy.part", 1 << 20, 1, &rows, &why);
        file_read("x.npy.part.log", 1 << 20, 1, &log, &why);
    }
    assert_non_null(strstr(log.s, "ok "));
    for (size_t size = 0; size <= log.len; size += size < log.len - 60 ? 5 : 1)
        for (int with_rows = 0; with_rows < 2; with_rows++) {
            empty();
            test_write_file("x.npy.part.log", log.s, size);
            test_write_file("x.npy.part", rows.s, with_rows ? rows.len : 0);
            assert_int_equal(chmod("x.npy.part.log", 0600) | chmod("x.npy.part", 0600), 0);
            if (size > log.len - 3 && fault_run(FAULT_NONE, 0, 0, embed, &other, &calls) != 2)
                fail_msg("other options are not refused");
            if (fault_run(FAULT_NONE, 0, 0, embed, &j, &calls) != 0) fail_msg("%zu bytes of the log", size);
            folder_state f = look();
            if (!same(&f, &wanted, 1) || f.leftovers) fail_msg("%zu bytes of the log: other files", size);
            forget(&f);
        }
    forget(&wanted);
    text_free(&log), text_free(&rows), text_free(&why);
}

/* A temporary name that is a link to another file: that file stays unchanged. */
static void test_taken_names(void **state) {
    static const char *const temporary[] = {"x.npy.part", "x.npy.part.log", "x.ids.txt.reid.part",
                                            "x.meta.json.reid.part"};
    int calls;
    (void)state;
    for (int resume = 0; resume < 2; resume++)
        for (int i = 0; i < 4; i++)
            for (int symbolic = 0; symbolic < 2; symbolic++) {
                job j = {NAMES[0], resume, 0, 0};
                text content = TEXT_INIT, why = TEXT_INIT;
                empty();
                test_write_file("precious", "precious", 8);
                assert_int_equal(symbolic ? symlink("precious", temporary[i]) : link("precious", temporary[i]), 0);
                int status = fault_run(FAULT_NONE, 0, 0, embed, &j, &calls);
                assert_int_equal(file_read("precious", 100, 1, &content, &why), 1);
                assert_string_equal(content.s, "precious");
                assert_int_equal(status, symbolic || i < 2 ? 2 : 0);
                text_free(&content);
                text_free(&why);
            }
    /* --resume refuses another user's file, one that others may write to, and one that has a second name. */
    for (int kind = 0; kind < 4; kind++) {
        job j = {NAMES[0], 1, 0, 0}, fresh = {NAMES[0], 0, 0, 0};
        struct stat st;
        if (kind == 0 && geteuid() != 0) continue;
        empty();
        test_write_file("x.npy.part", "", 0);
        assert_int_equal(chmod("x.npy.part", kind == 1 ? 0620 : kind == 2 ? 0602 : 0600), 0);
        if (kind == 0) assert_int_equal(chown("x.npy.part", 12345, (gid_t)-1), 0);
        if (kind == 3) assert_int_equal(link("x.npy.part", "second"), 0);
        assert_int_equal(fault_run(FAULT_NONE, 0, 0, embed, &j, &calls), 2);
        assert_int_equal(fault_run(FAULT_NONE, 0, 0, embed, &fresh, &calls), 0);
        assert_true(stat("x.npy", &st) == 0 && st.st_uid == geteuid());
    }
}

/* What other programs call FILE.part is not touched. */
static void test_other_parts(void **state) {
    static const struct {
        const char *part, *log;
        int refused;
    } cases[] = {
        {"a download", NULL, 1},
        {"a download", "what it has done", 1},
        {NULL, "{\"other\": 1}\n", 1},
        {"", NULL, 0},
        {"rows", "", 0},
        {"rows", "{\"reid_pa", 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int resume = 0; resume < 2; resume++) {
            job j = {NAMES[0], resume, 0, 0};
            text content = TEXT_INIT, why = TEXT_INIT;
            int calls;
            empty();
            if (cases[i].part) test_write_file("x.npy.part", cases[i].part, strlen(cases[i].part));
            if (cases[i].log) test_write_file("x.npy.part.log", cases[i].log, strlen(cases[i].log));
            if (chmod("x.npy.part", 0600) | chmod("x.npy.part.log", 0600)) {} /* as --resume wants them */
            assert_int_equal(fault_run(FAULT_NONE, 0, 0, embed, &j, &calls), cases[i].refused ? 2 : 0);
            if (!cases[i].refused) continue;
            const char *name = cases[i].part ? "x.npy.part" : "x.npy.part.log";
            assert_int_equal(file_read(name, 100, 1, &content, &why), 1);
            assert_string_equal(content.s, cases[i].part ? cases[i].part : cases[i].log);
            text_free(&content), text_free(&why);
        }
}

/* A call that is interrupted without end has failed. */
static void test_interrupted(void **state) {
    job j = {NAMES[0], 0, 0, 0};
    int calls, ignored;
    (void)state;
    empty();
    assert_int_equal(fault_run(FAULT_NONE, 0, 0, embed, &j, &calls), 0);
    for (int at = 1; at < calls - 6; at++) { /* the last ones remove what is not needed any more */
        empty();
        assert_int_equal(fault_run(FAULT_REST, at, EINTR, embed, &j, &ignored), 2);
    }
}

static mode_t mode_of(const char *name) {
    struct stat st;
    assert_int_equal(stat(name, &st), 0);
    return st.st_mode & 0777;
}

static void test_modes(void **state) {
    static const mode_t masks[] = {022, 077, 002}, modes[] = {0600, 0640, 0666};
    job j = {NAMES[0], 0, 0, 0};
    struct stat st;
    int calls, ignored;
    (void)state;
    mode_t before = umask(0);
    for (int i = 0; i < 3; i++) {
        empty();
        umask(masks[i]);
        assert_int_equal(fault_run(FAULT_NONE, 0, 0, embed, &j, &calls), 0);
        assert_int_equal(mode_of("x.npy"), 0666 & ~masks[i]);
        assert_int_equal(mode_of("x.meta.json"), 0666 & ~masks[i]);
        assert_int_equal(chmod("x.npy", modes[i]), 0);
        if (geteuid() == 0) assert_int_equal(chown("x.npy", 12345, 23456), 0);
        for (int at = 1; at < calls; at += 3) { /* while it is written, no other user can read it */
            fault_run(FAULT_AFTER, at, 0, embed, &j, &ignored);
            if (access("x.npy.part", F_OK) == 0 && mode_of("x.npy.part") & 077)
                assert_int_equal(mode_of("x.npy.part"), modes[i]);
        }
        assert_int_equal(fault_run(FAULT_NONE, 0, 0, embed, &j, &ignored), 0);
        assert_int_equal(mode_of("x.npy"), modes[i]);
        assert_true(stat("x.npy", &st) == 0 && (geteuid() != 0 || (st.st_uid == 12345 && st.st_gid == 23456)));
    }
    umask(before);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_npy),         cmocka_unit_test(test_lines), cmocka_unit_test(test_torn_log),
        cmocka_unit_test(test_taken_names), cmocka_unit_test(test_other_parts), cmocka_unit_test(test_interrupted),
        cmocka_unit_test(test_modes),
    };
    test_need(getcwd(home, sizeof home) != NULL, "getcwd");
    test_temp_path(folder, "outputs");
    test_need(mkdir(folder, 0700) == 0 && chdir(folder) == 0, folder);
    set_up();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    empty();
    test_need(chdir(home) == 0 && rmdir(folder) == 0, folder);
    return failed;
}
