/* t_rooms_calls.c: the rooms of tools/ as a server would call them: embedding into a file, joining shards, matching
   with a gallery, searching a gallery file, evaluating, a film to tracks. Allocations are counted, and each is refused
   in turn, once, and then together with all that follow: a call then either gives what it gives with memory, or fails
   and says that memory is lacking. Nothing ends the process, nothing leaks, nothing appears on stderr, and the call works the next time. A
   run takes a share of the allocations that REID_SEED chooses; REID_ALL=1 takes all.

   cc -std=c99 -D_GNU_SOURCE -O1 -I. -Itools tests/tools/t_rooms_calls.c tests/lib/test_impl.c tools/base/*.c
      tools/pictures/*.c tools/embedding/*.c tools/gallery/*.c tools/identity/*.c tools/report/*.c
      -o build/t_rooms_calls -lcmocka -lm -lpthread -ldl -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc */
#include "reid.h"

#include "../lib/test_net.h"
#include "base/files.h"
#include "base/memory.h"
#include "base/say.h"
#include "embedding/merge.h"
#include "embedding/output.h"
#include "embedding/stream.h"
#include "gallery/gallery.h"
#include "gallery/gallery_file.h"
#include "gallery/gallery_host.h"
#include "identity/decision.h"
#include "identity/evaluation.h"
#include "report/eval_report.h"
#include "report/film_report.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/stat.h>

#include <cmocka.h>
#include "../lib/test_refusals.h"

/* --- what a server has before the first request ------------------------------------------------------------------- */

enum { SIDE = 16, PICTURES = 4, PATH = 256 };

static char home[200];
static char folder[PATH], query[PATH], out_path[PATH], file_path[PATH], store_path[PATH], part_paths[2][PATH];
static net_file weights;
static models all;
static const decode_settings one_thread = {1, 1000000};

static void place(char to[PATH], const char *name) {
    assert_true(snprintf(to, PATH, "%s/%s", home, name) < PATH);
}

static void write_picture(const char *path, unsigned seed) {
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    fprintf(f, "P6\n9 7\n255\n");
    for (int i = 0; i < 9 * 7 * 3; i++) fputc((int)((seed = seed * 1103515245u + 12345u) >> 16 & 255), f);
    assert_int_equal(fclose(f), 0);
}

static void write_pictures(void) {
    char path[PATH + 32];
    assert_int_equal(mkdir(folder, 0700), 0);
    for (unsigned i = 0; i < PICTURES; i++) { /* two of each individual */
        snprintf(path, sizeof path, "%s/%c", folder, (char)('a' + i / 2));
        if (i % 2 == 0) assert_int_equal(mkdir(path, 0700), 0);
        snprintf(path, sizeof path, "%s/%c/%u.ppm", folder, (char)('a' + i / 2), i);
        write_picture(path, i);
    }
    write_picture(query, 1); /* as the second picture of the first individual */
}

/* Two models side by side: the same network with two seeds would say no more than with one. */
static void open_all(void) {
    reid_desc descs[MAX_MODELS];
    weights = net_for("efficientnet_b0", REID_HEAD_NONE, 7, NULL);
    for (int i = 0; i < MAX_MODELS; i++) {
        reid_desc desc = REID_INIT;
        desc.weights_data = weights.bytes, desc.weights_size = weights.size;
        desc.network = "efficientnet_b0", desc.height = SIDE, desc.width = SIDE;
        desc.device = REID_DEVICE_CPU, desc.threads = 1, desc.batch = 4;
        descs[i] = desc;
    }
    assert_true(models_open(&all, descs, MAX_MODELS));
}

/* --- the requests: each returns 1 with its answer, else 0 --------------------------------------------------------- */

/* Adds a file's bytes. */
static int add_file(text *answer, const char *path) {
    char chunk[4096];
    FILE *f = fopen(path, "rb");
    size_t n;
    if (!f) return 0;
    while ((n = fread(chunk, 1, sizeof chunk, f)) > 0) text_add(answer, chunk, n);
    fclose(f);
    return 1;
}

typedef struct writing {
    output *out;
    const inputs *list;
} writing;

static int take_row(void *user, size_t index, const float *row, const char *why) {
    writing *w = user;
    if (row) return output_row(w->out, index, row);
    say_error("%s: %s", shown(w->list->at[index].id), why);
    return output_failure(w->out, index, why);
}

static int embed_to(const char *path, int shard, int shards, text *answer) {
    output_request request;
    inputs list = {0};
    writing w = {NULL, &list};
    size_t first = 0, end = 0, done;
    memset(&request, 0, sizeof request);
    request.path = path, request.min_conf = (double)NAN, request.max_pixels = one_thread.max_pixels;
    request.shard = shard, request.shards = shards;
    int good = inputs_add_path(&list, folder);
    output_slice(list.count, shard, shards, &first, &end);
    w.out = good ? output_open(&request) : NULL;
    good = w.out && output_begin(w.out, &all, &list, first, end, &done);
    if (good) {
        stream_job job = {&all, &list, first, end, one_thread, "embedding", take_row, &w};
        stream_result end = stream_run(&job); /* STREAM_STOPPED: the output is broken, and its end says why */
        good = end != STREAM_FAILED && output_failures(w.out) == 0;
    }
    if (w.out && good) good = output_finish(w.out);
    else if (w.out) output_discard(w.out);
    inputs_free(&list);
    return good && add_file(answer, path);
}

static int embed(text *answer) { return embed_to(out_path, 0, 0, answer); }

static int merge(text *answer) {
    char *const shards[] = {part_paths[1], part_paths[0]};
    const merge_request request = {shards, 2, out_path};
    merge_result found;
    return merge_shards(&request, &found) && found.rows == PICTURES && add_file(answer, out_path);
}

typedef struct matching {
    const gallery *g;
    reid_index *index;
    double threshold;
    text *answer;
    int failed;
} matching;

static int match_one(void *user, size_t index, const float *row, const char *why) {
    matching *m = user;
    reid_search_desc search = REID_INIT;
    reid_error error;
    reid_hit hit;
    int found = 0;
    (void)index;
    if (!row) {
        say_error("%s", why);
        return m->failed = 1, 0;
    }
    search.k = 1;
    reid_result r = reid_search(m->index, row, 1, &search, &hit, &found, &error);
    if (r != REID_OK) {
        say_error("%s", reason_of(&error, r));
        return m->failed = 1, 0;
    }
    text_puts(m->answer, "{");
    decision_json(m->answer, decide(m->threshold, found, hit.score), found, hit.score);
    text_json(m->answer, m->g->at[hit.row].identity);
    return 1;
}

static int open_rows(reid_index **index, const reid_rows *rows) {
    reid_error error;
    reid_desc desc = REID_INIT;
    desc.device = REID_DEVICE_CPU, desc.threads = 1, desc.error = &error;
    reid_result r = reid_index_create(&desc, rows, index);
    if (r != REID_OK) say_error("%s: %s", reid_result_string(r), error.text);
    return r == REID_OK;
}

static int match(text *answer) {
    const gallery_request request = {folder, 1, one_thread};
    gallery g;
    inputs list = {0};
    matching m = {&g, NULL, 0.5, answer, 0};
    int good = gallery_open(&g, &request, &all) && inputs_add(&list, query, 0, query);
    if (good) {
        const reid_rows rows = {g.rows, NULL, g.count, g.dim, NULL};
        good = open_rows(&m.index, &rows);
    }
    if (good) {
        stream_job job = {&all, &list, 0, 1, one_thread, "matching", match_one, &m};
        good = stream_run(&job) == STREAM_DONE && !m.failed;
    }
    reid_index_destroy(m.index);
    inputs_free(&list);
    gallery_close(&g);
    return good;
}

/* The embeddings of a file against the templates of a gallery file. */
static int search(text *answer) {
    gallery_file f;
    reid_index *index = NULL;
    reid_hit hits[2 * PICTURES];
    int found[PICTURES];
    gallery_store *s = gallery_store_open(store_path, 1);
    int good = gallery_file_read(&f, file_path) && s &&
               makers_agree(&f.makers, file_path, store_info(s), NULL, store_path);
    if (good) {
        const reid_rows rows = {store_floats(s), NULL, store_count(s), store_info(s)->dim, store_identities(s)};
        good = open_rows(&index, &rows);
    }
    if (good) {
        reid_search_desc what = REID_INIT;
        reid_error error;
        what.k = 2;
        reid_result r = reid_search(index, f.rows, (int)f.count, &what, hits, found, &error);
        if (r != REID_OK) say_error("%s", reason_of(&error, r));
        good = r == REID_OK;
    }
    for (size_t q = 0; good && q < f.count; q++)
        for (int k = 0; k < found[q]; k++) text_json(answer, store_at(s, hits[2 * q + (size_t)k].row).id);
    reid_index_destroy(index);
    gallery_file_free(&f);
    store_close(s);
    return good;
}

static int eval(text *answer) {
    char *const operands[] = {file_path};
    const double equal[MAX_MODELS] = {0.5, 0.5};
    const evaluation_rules rules = {(double)NAN, LEAVE_OUT_PICTURE, 1, 2, 1, 0.3, 2, 3, 20, 1, REID_ISA_SCALAR};
    eval_request request;
    eval_set set;
    evaluation e;
    int status;
    memset(&request, 0, sizeof request);
    memset(&e, 0, sizeof e);
    request.operands = operands, request.operand_count = 1, request.strict = 1;
    int good = eval_set_open(&set, &request, NULL, &status) && evaluate(&e, &set, &rules, equal);
    if (good) report_json(&e, &set, &rules, equal, answer);
    evaluation_free(&e);
    eval_set_free(&set);
    return good;
}

/* A film of 8 frames, which a script in the place of ffmpeg plays, with two boxes in each of them. */
static void make_film(void) {
    enum { WIDTH = 40, HEIGHT = 30, FRAMES = 8 };
    static const char *const names[] = {"widths", "heights", "pixels", "boxes.csv", "play", "crops/film"};
    FILE *f[5];
    char path[PATH];
    place(path, "crops"), assert_int_equal(mkdir(path, 0700), 0);
    place(path, names[5]), assert_int_equal(mkdir(path, 0700), 0);
    for (int i = 0; i < 5; i++) place(path, names[i]), f[i] = fopen(path, "w"), assert_non_null(f[i]);
    fprintf(f[0], "#tb 0: 1/10\n"), fprintf(f[1], "#tb 0: 1/10\n"), fprintf(f[3], "frame,x,y,w,h\n");
    for (int n = 0; n < FRAMES; n++) {
        fprintf(f[0], "0, %d, %d, 1, %d, 0x0\n", n, n, WIDTH);
        fprintf(f[1], "0, %d, %d, 1, %d, 0x0\n", n, n, HEIGHT);
        for (int i = 0; i < 3 * WIDTH * HEIGHT; i++) fputc(i * (n + 7) % 251, f[2]);
        fprintf(f[3], "%d,%d,2,12,14\n%d,%d,12,12,15\n", n, 1 + n, n, 24 - n);
    }
    fprintf(f[4], "#!/bin/sh\ncd '%s' && cat widths >&3 && cat heights >&4 && cat pixels\n", home);
    for (int i = 0; i < 5; i++) assert_int_equal(fclose(f[i]), 0);
    place(path, "play"), assert_int_equal(chmod(path, 0700), 0);
}

static int watch(text *answer) {
    char play[PATH], boxes[PATH], rows_path[PATH];
    const double equal[MAX_MODELS] = {0.5, 0.5};
    const reid_desc search = {.device = REID_DEVICE_CPU, .threads = 1, .cpu_isa = REID_ISA_SCALAR};
    place(play, "play"), place(boxes, "boxes.csv"), place(rows_path, "embeddings.npy");
    const detections_request from = {.path = boxes, .video = play, .only = 1, .first = -1, .min_conf = (double)NAN};
    const film_request r = {.video = {.path = play, .program = play}, .name = "film", .best = 1, .apart = 0.5};
    film f = {0};
    crop_rows rows = {.all = &all, .folder = home};
    size_t groups = 0;
    text why = TEXT_INIT;
    int good = detections_read(&f.found, &from, &why);
    if (!good) say_error("%s", why.s);
    good = good && film_make(&f, &r, &rows) && crop_rows_flush(&rows);
    if (good && f.problem.len) say_error("%s", f.problem.s), good = 0;
    const film_groups_request g = {&f, 1, &rows, equal, 0.5, &search};
    good = good && film_groups_make(&g, &groups) && film_groups_name(&f, 1, &rows) &&
           crop_rows_write(&rows, 0, 0, one_thread.max_pixels) && add_file(answer, rows_path);
    const film_report report = {&f, 1, groups, &rows, "boxes.csv", 0.5};
    if (good) films_json(&report, answer), film_mot(&f, answer), film_page(&report, &f, answer);
    film_free(&f);
    crop_rows_free(&rows);
    text_free(&why);
    return good;
}

/* --- every allocation refused ------------------------------------------------------------------------------------- */

/* What a user who got no answer may be told. */
static int tells_of_memory(const char *said) {
    return strstr(said, "memory") != NULL; /* "out of memory", and errno's "Cannot allocate memory" */
}

/* One call in which call number `at` is refused. Returns 0 when the call did not come that far. */
static int refuse_one(int (*request)(text *answer), const text *wanted, long at, int rest) {
    char said[4096];
    text answer = TEXT_INIT;
    say_listen(said, sizeof said);
    refuse_from(at, rest);
    int good = request(&answer);
    refusal.at = 0;
    int reached = refusal.calls >= at;
    say_listen(NULL, 0);
    if (good && !text_failed(&answer)) {
        if (answer.len != wanted->len || memcmp(answer.s, wanted->s, wanted->len) != 0)
            fail_msg("refusing allocation %ld gives another answer: %s", at, said);
    } else if (!good && !tells_of_memory(said)) {
        fail_msg("refusing allocation %ld%s is told as: \"%s\"", at, rest ? " and what follows" : "", said);
    }
    text_free(&answer);
    return reached;
}

/* share: how many of the calls are tried in each way. */
static void refuse_all(int (*request)(text *answer), long share) {
    const char *every = getenv("REID_ALL"), *seed = getenv("REID_SEED");
    text wanted = TEXT_INIT, again = TEXT_INIT;
    refusal.calls = 0;
    assert_true(request(&wanted));
    long calls = refusal.calls, step = every && *every == '1' ? 1 : calls / share + 1, tried = 0;
    for (int rest = 0; rest < 2; rest++)
        for (long at = 1 + (seed ? atol(seed) : 0) % step; refuse_one(request, &wanted, at, rest); at += step) tried++;
    assert_true(tried >= share);
    assert_true(request(&again));
    assert_int_equal(again.len, wanted.len);
    assert_memory_equal(again.s, wanted.s, wanted.len);
    text_free(&wanted);
    text_free(&again);
}

static void embeds(void **state) { (void)state, refuse_all(embed, 6); }
static void merges(void **state) { (void)state, refuse_all(merge, 100); }
static void matches(void **state) { (void)state, refuse_all(match, 6); }
static void searches(void **state) { (void)state, refuse_all(search, 50); }
static void evaluates(void **state) { (void)state, refuse_all(eval, 50); }
static void watches(void **state) { (void)state, refuse_all(watch, 10); }

/* Errors that are none of memory reach the listener, too, and no thread hears another's. */
static void errors_are_told(void **state) {
    char said[256];
    const gallery_request nowhere = {"/nowhere/at/all", 0, {1, 1000}};
    gallery g;
    eval_set set;
    eval_request nothing;
    int status;
    (void)state;
    memset(&nothing, 0, sizeof nothing);
    say_listen(said, sizeof said);
    assert_false(gallery_open(&g, &nowhere, &all));
    gallery_close(&g);
    assert_non_null(strstr(said, "/nowhere/at/all: a gallery is a folder"));
    say_listen(said, sizeof said);
    assert_string_equal(said, "");
    assert_false(eval_set_open(&set, &nothing, NULL, &status));
    eval_set_free(&set);
    assert_string_equal(said, "no pictures: name a folder, --labels or a file of embeddings");
    assert_int_equal(status, 2);
    say_listen(said, 8); /* what does not fit is cut off */
    say_error("0123456789");
    assert_string_equal(said, "0123456");
    say_listen(NULL, 0);
}

/* --- the test ----------------------------------------------------------------------------------------------------- */

/* A gallery file with the rows of the embeddings file. */
static void make_store(void) {
    gallery_file f;
    char why[STORE_WHY];
    assert_true(gallery_file_read(&f, file_path));
    f.makers.threshold = (double)NAN;
    assert_true(store_create(store_path, &f.makers, why));
    gallery_store *s = gallery_store_change(store_path);
    assert_non_null(s);
    for (size_t i = 0; i < f.count; i++) {
        store_item item = {f.ids[i], f.identities[i], "", "", STORE_NO_TIME, 0, 0};
        assert_true(store_add(s, &item, f.rows + i * f.columns, why));
    }
    assert_true(store_commit(s, why));
    store_close(s);
    gallery_file_free(&f);
}

static int set_up(void **state) {
    text unused = TEXT_INIT;
    const char *root = getenv("TMPDIR");
    (void)state;
    snprintf(home, sizeof home, "%s/t_rooms_calls.XXXXXX", root ? root : "/tmp");
    assert_non_null(mkdtemp(home));
    place(folder, "gallery"), place(query, "query.ppm"), place(out_path, "out.npy");
    place(file_path, "rows.npy"), place(store_path, "known.gallery");
    write_pictures();
    open_all();
    place(part_paths[0], "part1.npy"), place(part_paths[1], "part2.npy");
    assert_true(embed_to(file_path, 0, 0, &unused));
    for (int i = 0; i < 2; i++) assert_true(embed_to(part_paths[i], i + 1, 2, &unused));
    text_free(&unused);
    make_store();
    make_film();
    return 0;
}

static int tear_down(void **state) {
    char command[PATH + 16];
    (void)state;
    models_close(&all);
    free(weights.bytes);
    snprintf(command, sizeof command, "rm -rf '%s'", home);
    return system(command);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(embeds), cmocka_unit_test(merges), cmocka_unit_test(matches), cmocka_unit_test(searches),
        cmocka_unit_test(evaluates), cmocka_unit_test(watches), cmocka_unit_test(errors_are_told),
    };
    say_setup(SAY_QUIET);
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
