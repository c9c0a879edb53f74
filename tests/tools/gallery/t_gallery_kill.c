/* t_gallery_kill.c: 240 writers of one gallery are killed (SIGKILL) at any moment, while they add, remove or compact:
   what was acknowledged is there, a commit is there whole or not at all, and nothing is ever damaged.

   cc -std=c99 -D_GNU_SOURCE -O2 -I. -Itools tests/tools/gallery/t_gallery_kill.c
      tools/gallery/gallery_store.c tools/gallery/store_*.c tools/base/*.c -o build/t_gallery_kill -lcmocka -lm */
#include "gallery/gallery_store.h"
#include <stdarg.h>
#include <setjmp.h>
#include <cmocka.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sys/wait.h>
#include "../../lib/test_util.h"

enum { KILLS = 240, DIM = 4, MOST = 100000, SECONDS = 25 };
enum { ADDING, REMOVING, DONE }; /* what a writer reports: its next commit, and that the commit succeeded */

typedef struct message {
    int kind, first, count; /* templates first … first + count - 1 */
} message;

static char path[256], why[STORE_WHY];
static signed char there[MOST]; /* 1: it must be there, 0: it must not, -1: it may */
static uint64_t seed = 1;

static unsigned random_below(unsigned n) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(seed >> 33) % n;
}

static void id_of(int number, char id[32]) { snprintf(id, 32, "template %d", number); }

static void tell(int fd, int kind, int first, int count) {
    message m = {kind, first, count};
    if (write(fd, &m, sizeof m) != (ssize_t)sizeof m) _exit(3);
}

/* One commit of a writer. */
static int change(gallery_store *s, int fd, int *next) {
    int count = 1 + (int)random_below(6), removing = *next > 50 && random_below(5) == 0, done = 1;
    int first = removing ? (int)random_below((unsigned)*next - 10) : *next;
    char id[32];
    tell(fd, removing ? REMOVING : ADDING, first, count);
    for (int i = first; i < first + count; i++) {
        float row[DIM] = {(float)i, 1, 2, 3};
        id_of(i, id);
        store_item item = {id, i % 3 ? "odd" : "even", "camera", "some/where.png", i, 5, 6};
        if (!removing) done &= store_add(s, &item, row, why);
        else if (store_find(s, id) != SIZE_MAX) done &= store_remove(s, id, why);
    }
    if (!removing) *next += count;
    if (!done || !store_commit(s, why)) return 0;
    tell(fd, DONE, first, count);
    return 1;
}

/* Until it is killed. */
static void work(int fd, int next) {
    for (;;) {
        size_t kept;
        gallery_store *s = store_write(path, NULL, why);
        for (int i = 0; s && i < 6; i++)
            if (!change(s, fd, &next)) _exit(1);
        store_close(s);
        if (!s || (random_below(3) == 0 && !store_compact(path, 0, NULL, NULL, NULL, &kept, why))) _exit(2);
    }
}

/* Reads the reports of the writer before it died. Returns the next unused template number. */
static int listen(int fd, int next) {
    message m, pending = {DONE, 0, 0};
    while (read(fd, &m, sizeof m) == (ssize_t)sizeof m) {
        if (m.kind != DONE) {
            pending = m;
            if (m.kind == ADDING) next = m.first + m.count;
            continue;
        }
        for (int i = m.first; i < m.first + m.count; i++) there[i] = pending.kind == ADDING;
        pending.kind = DONE;
    }
    for (int i = pending.first; pending.kind != DONE && i < pending.first + pending.count; i++)
        if (pending.kind == ADDING || there[i]) there[i] = -1;
    return next;
}

static void check(int next, int kill) {
    store_report report;
    if (!store_verify(path, NULL, NULL, NULL, &report, NULL, why)) fail_msg("kill %d: %s", kill, why);
    gallery_store *s = store_read(path, 1, NULL, why);
    if (!s) fail_msg("kill %d: %s", kill, why);
    size_t found = 0;
    int open = 0, whole = 0; /* of the unacknowledged commit: its templates, and how many are stored */
    for (int i = 0; i < next; i++) {
        char id[32];
        id_of(i, id);
        size_t at = store_find(s, id);
        found += at != SIZE_MAX;
        if (there[i] == 1 && at == SIZE_MAX) fail_msg("kill %d: %s was acknowledged and is lost", kill, id);
        if (there[i] == 0 && at != SIZE_MAX) fail_msg("kill %d: %s is back", kill, id);
        if (there[i] == -1) open++, whole += at != SIZE_MAX, there[i] = at != SIZE_MAX;
        if (at != SIZE_MAX && store_floats(s)[at * DIM] != (float)i) fail_msg("kill %d: %s has another row", kill, id);
    }
    if (whole && whole != open) fail_msg("kill %d: %d of a commit's %d templates are there", kill, whole, open);
    assert_int_equal(found, store_count(s));
    store_close(s);
}

static void test_kills(void **state) {
    struct timespec start, now;
    int next = 0, kills = 0;
    (void)state;
    clock_gettime(CLOCK_MONOTONIC, &start);
    for (; kills < KILLS; kills++) {
        int ends[2], status;
        assert_int_equal(pipe(ends), 0);
        pid_t child = fork();
        if (child == 0) {
            seed += (uint64_t)kills * 77777;
            close(ends[0]);
            work(ends[1], next);
        }
        close(ends[1]);
        usleep(random_below(kills % 4 ? 20000 : 80000));
        gallery_store *s = store_read(path, 1, NULL, why); /* while it is being written */
        if (!s) fail_msg("a reader beside writer %d: %s", kills, why);
        store_close(s);
        kill(child, SIGKILL);
        assert_int_equal(waitpid(child, &status, 0), child);
        if (!WIFSIGNALED(status)) fail_msg("writer %d ended by itself: %d", kills, status);
        next = listen(ends[0], next);
        close(ends[0]);
        assert_true(next < MOST - 100);
        check(next, kills);
        clock_gettime(CLOCK_MONOTONIC, &now);
        if (now.tv_sec - start.tv_sec > SECONDS && kills > 200) break;
    }
    print_message("%d kills, %d templates were about to be added\n", kills, next);
    assert_true(next > kills); /* there was something to lose */
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_kills)};
    store_meta meta;
    test_temp_path(path, "kill.gallery");
    unlink(path);
    memset(&meta, 0, sizeof meta);
    strcpy(meta.model[0].fingerprint, "0123456789abcdef0123456789abcdef");
    meta.model[0].dim = meta.dim = DIM, meta.models = 1;
    meta.threshold = (double)NAN;
    if (!store_create(path, &meta, why)) return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(path);
    snprintf(why, sizeof why, "%s.reid.part", path); /* left by a writer that was killed while compacting */
    unlink(why);
    return failed;
}
