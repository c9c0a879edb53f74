/* t_gallery_faults.c: whichever system call of a gallery's writers fails, once or from then on, with whatever error,
   and wherever the writer is killed: the gallery can be read and holds what was acknowledged, and the next writer can
   go on.

   cc -std=c99 -D_GNU_SOURCE -O2 -I. -Itools tests/tools/gallery/t_gallery_faults.c
      tools/gallery/gallery_store.c tools/gallery/store_*.c tools/base/*.c -o build/t_gallery_faults
      -Wl,--wrap=fsync,--wrap=pwrite,--wrap=ftruncate,--wrap=rename,--wrap=unlink,--wrap=link,--wrap=fchmod
      -Wl,--wrap=fchown -lcmocka -lm */
#include "gallery/gallery_store.h"
#include <stdarg.h>
#include <setjmp.h>
#include <cmocka.h>
#include <glob.h>
#include <math.h>
#include <sys/stat.h>
#include "../../lib/test_faults.h"
#include "../../lib/test_util.h"

enum { DIM = 4, STEPS = 7 };
static char path[256];

#define STB "stb_image"
#define BOTH "libjpeg-turbo, stb_image"

/* State after each step: one bit per template, whether a threshold was set, and decoders of JPEG files. */
static const struct {
    unsigned templates;
    int threshold;
    const char *jpeg;
} AFTER[STEPS + 1] = {{0, 0, ""},   {0, 0, ""},   {6, 0, STB},  {14, 0, STB},
                      {10, 0, STB}, {10, 1, STB}, {10, 1, STB}, {26, 1, BOTH}};

typedef struct shared {
    int done; /* number of acknowledged steps */
    char why[STORE_WHY];
} shared;
static shared *told;

static int add(gallery_store *s, int number, char why[STORE_WHY]) {
    char id[16];
    float row[DIM] = {(float)number, 1, 2, 3};
    snprintf(id, sizeof id, "%d", number);
    store_item item = {id, "ann", "", "", STORE_NO_TIME, 0, 0};
    return store_add(s, &item, row, why);
}

/* Runs step `number` on an open gallery. */
static int change(gallery_store *s, int number, char why[STORE_WHY]) {
    switch (number) {
    case 1: return add(s, 1, why) && store_add_decoders(s, STB, why) && add(s, 2, why);
    case 2: return add(s, 3, why);
    case 3: return store_remove(s, "2", why);
    case 4: return store_set_threshold(s, 0.5, why);
    default: return add(s, 4, why) && store_add_decoders(s, BOTH, why);
    }
}

static int step(int number, char why[STORE_WHY]) {
    store_meta meta;
    size_t kept;
    if (number == 5) return store_compact(path, 0, NULL, NULL, NULL, &kept, why);
    if (number == 0) {
        memset(&meta, 0, sizeof meta);
        strcpy(meta.model[0].fingerprint, "0123456789abcdef0123456789abcdef");
        meta.model[0].dim = meta.dim = DIM, meta.models = 1;
        meta.threshold = (double)NAN;
        return store_create(path, &meta, why);
    }
    gallery_store *s = store_write(path, NULL, why);
    int good = s && change(s, number, why) && store_commit(s, why);
    store_close(s);
    return good;
}

/* Runs all steps up to the first that fails. Returns 0 if none failed, 1 after saying which did. */
static int work(void *user) {
    (void)user;
    for (told->done = 0; told->done < STEPS; told->done++)
        if (!step(told->done, told->why)) return 1;
    return 0;
}

/* Checks that the gallery has its contents after `done` steps. */
static int holds(const gallery_store *s, int done) {
    unsigned templates = 0;
    for (size_t i = 0; i < store_count(s); i++) {
        int number = atoi(store_at(s, i).id);
        templates |= 1u << number;
        if (store_floats(s)[i * DIM] != (float)number) return 0;
    }
    return templates == AFTER[done].templates && (store_info(s)->threshold == 0.5) == AFTER[done].threshold &&
           strcmp(store_info(s)->jpeg, AFTER[done].jpeg) == 0;
}

static void fresh(void) {
    char pattern[300];
    glob_t found;
    snprintf(pattern, sizeof pattern, "%s*", path);
    if (glob(pattern, 0, NULL, &found) == 0)
        for (size_t i = 0; i < found.gl_pathc; i++) unlink(found.gl_pathv[i]);
    globfree(&found);
    memset(told, 0, sizeof *told);
}

static size_t files(void) {
    char pattern[300];
    glob_t found;
    snprintf(pattern, sizeof pattern, "%s*", path);
    size_t n = glob(pattern, 0, NULL, &found) == 0 ? found.gl_pathc : 0;
    globfree(&found);
    return n;
}

/* may_be_more: one unacknowledged step may be stored, completely. */
static void check(const char *what, int may_be_more) {
    char why[STORE_WHY] = "";
    int done = told->done;
    if (done == 0 && access(path, F_OK) != 0) return;
    if (done == 0 && !may_be_more) fail_msg("%s: a gallery that was not made is there", what);
    gallery_store *s = store_read(path, 1, NULL, why);
    if (!s) fail_msg("%s, after %d steps: %s", what, done, why);
    int as_told = holds(s, done), as_next = done < STEPS && may_be_more && holds(s, done + 1);
    if (!as_told && !as_next) fail_msg("%s: other templates than after %d steps", what, done);
    size_t before = store_count(s);
    store_close(s);
    s = store_write(path, NULL, why); /* the next writer */
    if (!s || !add(s, 9, why) || !store_commit(s, why)) fail_msg("%s: the next writer: %s", what, why);
    store_close(s);
    s = store_read(path, 0, NULL, why);
    if (!s || store_count(s) != before + 1) fail_msg("%s, after the next writer: %s", what, why);
    store_close(s);
}

static int count_calls(void) {
    int calls;
    fresh();
    assert_int_equal(fault_run(FAULT_NONE, 0, 0, work, NULL, &calls), 0);
    assert_true(calls > 40 && told->done == STEPS);
    return calls;
}

static void test_errors(void **state) {
    static const int errors[] = {EIO, ENOSPC, EINTR};
    static const fault_kind kinds[] = {FAULT_ONCE, FAULT_TWICE, FAULT_REST};
    int calls = count_calls(), ignored, failed = 0, left = 0;
    char what[80];
    (void)state;
    for (int e = 0; e < 3; e++)
        for (int at = 1; at <= calls; at++)
            for (int k = 0; k < 3; k++) {
                const fault_kind kind = kinds[k];
                if (errors[e] == EINTR && kind == FAULT_REST) continue; /* the writer would retry forever */
                if (errors[e] != EIO && kind == FAULT_TWICE) continue;
                snprintf(what, sizeof what, "call %d%s fails: %s", at,
                         kind == FAULT_REST ? " and all that follow" : kind == FAULT_TWICE ? " and the next" : "",
                         strerror(errors[e]));
                fresh();
                int status = fault_run(kind, at, errors[e], work, NULL, &ignored);
                if (status == 1 && errors[e] == EINTR) fail_msg("%s: was given up: %s", what, told->why);
                if (status == 1 && !told->why[0]) fail_msg("%s: without a reason", what);
                if (status != 0 && status != 1) fail_msg("%s: exit status %d", what, status);
                check(what, kind != FAULT_ONCE);
                left += files() > 1;
                failed += status == 1;
            }
    assert_true(failed > calls);
    assert_true(left < failed / 4); /* a temporary file may remain only if unlink failed */
}

static void test_kills(void **state) {
    (void)state;
    fault_kill_each(count_calls(), work, fresh, check);
}

/* Compacting keeps the mode, and until the new file has its name, only its owner can read it. */
static mode_t widest;
static int watch(void) {
    struct stat st;
    char name[300];
    snprintf(name, sizeof name, "%s.reid.part", path);
    if (stat(name, &st) == 0) widest |= st.st_mode & 0777;
    return 0;
}

static void test_modes(void **state) {
    static const mode_t modes[] = {0600, 0640, 0664};
    const store_host host = {NULL, watch};
    char why[STORE_WHY];
    struct stat st;
    size_t kept;
    (void)state;
    mode_t before = umask(022);
    for (int i = 0; i < 3; i++) {
        fresh();
        for (int k = 0; k < 3; k++) assert_int_equal(step(k, why), 1);
        gallery_store *s = store_write(path, NULL, why);
        for (int k = 100; k < 1200; k++) assert_int_equal(add(s, k, why), 1);
        assert_int_equal(store_commit(s, why), 1);
        store_close(s);
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(st.st_mode & 0777, 0644);
        assert_int_equal(chmod(path, modes[i]), 0);
        if (geteuid() == 0) assert_int_equal(chown(path, 12345, 23456), 0);
        widest = 0;
        assert_int_equal(store_compact(path, 0, &host, NULL, NULL, &kept, why), 1);
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(st.st_mode & 0777, modes[i]);
        assert_int_equal(widest, 0600);
        if (geteuid() == 0) assert_true(st.st_uid == 12345 && st.st_gid == 23456);
    }
    umask(before);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_errors), cmocka_unit_test(test_kills),
                                       cmocka_unit_test(test_modes)};
    test_temp_path(path, "faults.gallery");
    told = mmap(NULL, sizeof *told, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    fresh();
    return failed;
}
