/* t_rooms_calls.c: the rooms of tools/ as a server would call them: embedding into a file, joining shards, matching
   with a gallery, writing a trace, searching a gallery file, evaluating, fitting a head and writing it, grouping,
   counting individuals, exporting, a film to tracks. Allocations are counted, and each is refused in turn, once, and
   then together with all that follow: a call then either gives what it gives with memory, or fails and says that memory
   is lacking. Nothing ends the process, nothing leaks, nothing appears on stderr, and the call works the next time. A
   run takes a share of the allocations that REID_SEED chooses; REID_ALL=1 takes all.

   cc -std=c99 -D_GNU_SOURCE -O1 -I. -Itools tests/tools/t_rooms_calls.c tests/lib/test_impl.c tools/base/*.c
      tools/pictures/*.c tools/weights/*.c tools/embedding/*.c tools/gallery/*.c tools/tracks/*.c tools/scores/*.c
      tools/evaluate/*.c tools/journal/*.c tools/groups/*.c tools/heads/*.c tools/report/*.c
      -o build/t_rooms_calls -lcmocka -lm -lpthread -ldl -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc */
#include "reid.h"

#include "../lib/test_says.h"
#include "../lib/test_net.h"
#include "base/decimal.h"
#include "base/files.h"
#include "base/memory.h"
#include "base/say.h"
#include "embedding/head_inputs.h"
#include "embedding/merge.h"
#include "embedding/output.h"
#include "embedding/stream.h"
#include "evaluate/evaluation.h"
#include "gallery/gallery.h"
#include "gallery/gallery_file.h"
#include "gallery/templates.h"
#include "groups/census_estimate.h"
#include "heads/fit_judge.h"
#include "report/camtrap_export.h"
#include "report/count_report.h"
#include "report/eval_report.h"
#include "report/film_report.h"
#include "scores/decision.h"
#include "weights/head_write.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include "../lib/test_refusals.h"

/* --- what a server has before the first request ------------------------------------------------------------------- */

enum { SIDE = 16, PICTURES = 4, PATH = 256 };

static char home[200];
static char folder[PATH], query[PATH], out_path[PATH], trace_path[PATH];
static char file_path[PATH], store_path[PATH], part_paths[2][PATH];
static char weights_path[PATH], head_path[PATH];
static char package[PATH], export_path[PATH], observations[PATH];
static net_file weights;
static models all;
static head_inputs heads;
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
    write_picture(query, 1); /* as the second image of the first individual */
}

/* Two models side by side: two different networks, because two seeds of one would test no more. */
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
    assert_true(head_inputs_open(&heads, &descs[0]));
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
        stream_job job = {.all = &all, .list = &list, .first = first, .end = end, .decode = one_thread,
                          .label = "embedding", .fn = take_row, .user = &w};
        stream_result end = stream_run(&job); /* STREAM_STOPPED: the output is broken, and its end says why */
        good = end != STREAM_FAILED && output_failures(w.out) == 0;
    }
    if (w.out && good) good = output_finish(w.out);
    else if (w.out) output_discard(w.out);
    inputs_free(&list);
    return good && add_file(answer, path);
}

static int embed(text *answer) { return embed_to(out_path, 0, 0, answer); }

static int take_any(void *user, size_t index, const float *row, const char *why) {
    (void)index;
    if (!row) say_error("%s", why);
    return *(int *)user = *(int *)user && row, row != NULL;
}

/* Counts the events of each kind in a trace, because its times differ. */
static int trace_one(text *answer) {
    inputs list = {0};
    text content = TEXT_INIT, why = TEXT_INIT;
    int rows = 1, kinds[128] = {0};
    trace *t = trace_open(trace_path, "test");
    int good = t && inputs_add(&list, query, 0, query);
    stream_job job = {.all = &all, .list = &list, .first = 0, .end = 1, .decode = one_thread, .label = "tracing",
                      .fn = take_any, .user = &rows, .last = "test", .trace = t};
    good = good && stream_run(&job) == STREAM_DONE && rows;
    good = trace_end(t, good) && good;
    inputs_free(&list);
    if (!good) return 0;
    file_read(trace_path, 1 << 20, 1, &content, &why);
    for (const char *at = content.s; at && (at = strstr(at, "{\"ph\": \"")) != NULL; at += 8) kinds[at[8] & 127]++;
    for (int i = 0; i < 128; i++)
        if (kinds[i]) text_printf(answer, "%c %d ", i, kinds[i]);
    good = content.len > 0;
    if (!good) say_error("%s", why.s);
    text_free(&content), text_free(&why);
    return good;
}

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
    json_writer w = json_write(m->answer);
    json_put_object(&w, NULL);
    decision_json(&w, decide(m->threshold, found, hit.score), found, hit.score);
    json_put_string(&w, "identity", m->g->at[hit.row].identity);
    json_put_end(&w);
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
    const gallery_request request = {.path = folder, .strict = 1, .decode = one_thread};
    gallery g;
    inputs list = {0};
    matching m = {&g, NULL, 0.5, answer, 0};
    int good = gallery_open(&g, &request, &all) && inputs_add(&list, query, 0, query);
    if (good) {
        const reid_rows rows = {g.rows, NULL, g.count, g.dim, NULL};
        good = open_rows(&m.index, &rows);
    }
    if (good) {
        stream_job job = {.all = &all, .list = &list, .first = 0, .end = 1, .decode = one_thread,
                          .label = "matching", .fn = match_one, .user = &m};
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
    gallery_store *s = templates_read(store_path, 1);
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
    json_writer w = json_write(answer);
    if (good) report_json(&e, &set, &rules, equal, &w, NULL);
    evaluation_free(&e);
    eval_set_free(&set);
    return good;
}

/* The inputs of a head for the folder's images. */
static int features(text *answer) {
    char *const operands[] = {folder};
    const store_meta one = {.models = 1};
    const eval_source source = {heads.dim, &one, head_inputs_run, &heads};
    eval_request request;
    eval_set set;
    int status;
    memset(&request, 0, sizeof request);
    request.operands = operands, request.operand_count = 1, request.strict = 1, request.decode = one_thread;
    request.source = &source;
    int good = eval_set_open(&set, &request, NULL, &status) && set.count == PICTURES;
    if (good) decimal_floats(answer, set.rows, set.count * set.dim);
    eval_set_free(&set);
    return good;
}

/* A report on twelve rows of six individuals. */
static int fit(text *answer) {
    enum { ROWS = 12, DIM = 6 };
    static labelled nobody;
    static eval_image at[ROWS];
    float rows[ROWS * DIM];
    size_t pick[ROWS], who[ROWS];
    const fit_part part = {0, DIM, DIM};
    for (size_t i = 0; i < ROWS; i++) {
        const eval_image image = {&nobody, i, i / 2, SIZE_MAX};
        at[i] = image, pick[i] = i, who[i] = i / 2;
        for (size_t k = 0; k < DIM; k++) rows[i * DIM + k] = (float)((i / 2 * (k + 3) + i * (k + 1)) % 7);
    }
    const eval_set set = {.at = at, .rows = rows, .count = ROWS, .dim = DIM, .identities = ROWS / 2, .queries = ROWS};
    const fit_request request = {.rows = rows, .columns = DIM, .pick = pick, .count = ROWS, .identity = who,
                                 .identities = ROWS / 2, .part = &part, .parts = 1, .shrinkage = (double)NAN};
    const fit_judge_rules rules = {.holdout = 0.34, .made = DIM, .draws = 20, .threads = 1};
    fit_judgement j;
    if (!fit_judge(&j, &set, &request, &rules)) return 0;
    text_printf(answer, "%zu %zu %.9g %.9g %.9g", j.individuals, j.queries, j.after.map.value, j.before.auc.value,
                j.after.auc.range.high);
    return 1;
}

static int look_at(void *user, const char *path, text *why) {
    FILE *f = fopen(path, "rb");
    (void)user;
    if (f) return fclose(f) == 0;
    text_no_memory(why); /* for stdio, whose allocations can fail, too */
    return 0;
}

static int write_head(text *answer) {
    static const float values[4] = {1, 2, 3, 4};
    static const new_tensor tensors[] = {{"projection.weight", 2, {2, 2}, values}};
    static const char *const replaced[] = {"projection", NULL}, *const metadata[] = {"reid.source", "here", NULL};
    const head_write_request request = {weights_path, head_path, tensors, 1, replaced, metadata, look_at, NULL};
    uint64_t size = 0;
    text why = TEXT_INIT;
    int good = head_write(&request, &size, &why);
    if (!good) say_error("%s", why.s);
    if (good) text_printf(answer, "%llu", (unsigned long long)size);
    text_free(&why);
    return good;
}

/* A film of 8 frames with two boxes in each, played by a script in place of ffmpeg. Like ffmpeg, the script sends only
   a window of each frame, with room for both boxes even where they are furthest apart. */
static void make_film(void) {
    enum { WIDTH = 40, HEIGHT = 30, FRAMES = 8, WINDOW = 35 * 25 };
    static const char *const names[] = {"widths", "heights", "pixels", "boxes.csv", "play", "numbers", "crops/film"};
    FILE *f[6];
    char path[PATH];
    place(path, "crops"), assert_int_equal(mkdir(path, 0700), 0);
    place(path, names[6]), assert_int_equal(mkdir(path, 0700), 0);
    for (int i = 0; i < 6; i++) place(path, names[i]), f[i] = fopen(path, "w"), assert_non_null(f[i]);
    fprintf(f[0], "#tb 0: 1/10\n"), fprintf(f[1], "#tb 0: 1/10\n"), fprintf(f[3], "frame,x,y,w,h\n");
    for (int n = 0; n < FRAMES; n++) {
        fprintf(f[0], "0, %d, %d, 1, %d, 0x0\n", n, n, WIDTH);
        fprintf(f[1], "0, %d, %d, 1, %d, 0x0\n", n, n, HEIGHT);
        for (int i = 0; i < 3 * WINDOW; i++) fputc(i * (n + 7) % 251, f[2]);
        fprintf(f[5], "frame:%d pts:%d\nreid=0\n", n, n);
        fprintf(f[3], "%d,%d,2,12,14\n%d,%d,12,12,15\n", n, 1 + n, n, 24 - n);
    }
    fprintf(f[4], "#!/bin/sh\ncd '%s' && cat widths >&3 && cat heights >&4 && cat numbers >&5 && cat pixels\n", home);
    for (int i = 0; i < 6; i++) assert_int_equal(fclose(f[i]), 0);
    place(path, "play"), assert_int_equal(chmod(path, 0700), 0);
}

static int watch(text *answer) {
    char play[PATH], boxes[PATH], rows_path[PATH];
    const double equal[MAX_MODELS] = {0.5, 0.5};
    place(play, "play"), place(boxes, "boxes.csv"), place(rows_path, "embeddings.npy");
    const detections_request from = {.path = boxes, .video = play, .only = 1, .first = -1, .min_conf = (double)NAN};
    const film_request r = {.video = {.path = play, .program = play}, .name = "film", .best = 1, .apart = 0.5};
    film f = {0};
    crop_rows rows = {.all = &all, .folder = home};
    text why = TEXT_INIT;
    int good = detections_read(&f.found, &from, &why);
    if (!good) say_error("%s", why.s);
    good = good && film_make(&f, &r, &rows) && crop_rows_flush(&rows);
    if (good && f.problem.len) say_error("%s", f.problem.s), good = 0;
    const film_groups_request g = {&f, 1, &rows, equal, 0.5};
    track_pair *apart = NULL;
    output_request how = {.max_pixels = one_thread.max_pixels, .min_conf = (double)NAN, .threshold = &g.threshold};
    good = good && film_groups_join(&g) && film_groups_tell(&f, 1, &rows) &&
           film_groups_apart(&f, 1, &rows, &apart, &how.apart_count);
    how.apart = apart;
    good = good && crop_rows_write(&rows, &how) && add_file(answer, rows_path);
    free(apart);
    const uint32_t group[] = {0, 1, 1, 1};
    assert_true(rows.list.count <= sizeof group / sizeof *group);
    if (good) film_groups_take(&f, 1, group);
    const film_report report = {&f, 1, 2, &rows, "boxes.csv", 0.5};
    if (good) films_json(&report, answer), film_mot(&f, answer), film_page(&report, &f, answer);
    film_free(&f);
    crop_rows_free(&rows);
    text_free(&why);
    return good;
}

/* The rows of a file, grouped. Returns 0 after saying what is wrong; close and free them in any case. */
static int group(crops *c, clusters *found, reid_desc *search) {
    char *const paths[] = {file_path};
    clusters_request r;
    memset(found, 0, sizeof *found);
    memset(&r, 0, sizeof r);
    search->device = REID_DEVICE_CPU, search->threads = 1;
    r.crops = c, r.scale = 1, r.threshold = r.doubt = 0.9, r.search = search;
    return crops_open(c, paths, 1) && clusters_make(found, &r);
}

static int count(text *answer) {
    crops c;
    clusters found;
    census sample;
    census_result result;
    doubtful_pair *questions = NULL;
    reid_desc search = REID_INIT;
    size_t asked = 0;
    memset(&sample, 0, sizeof sample);
    int good = group(&c, &found, &search);
    const census_request r = {.crops = &c, .found = &found, .scale = 1, .sample = PICTURES, .per_crop = PICTURES};
    good = good && census_make(&sample, &r) && census_questions(&sample, &questions, &asked);
    for (size_t i = 0; i < sample.count && good; i++) sample.at[i].open = 0;
    for (size_t i = 0; i < sample.pair_count && good; i++) sample.pairs[i].answer = i % 2;
    good = good && census_estimate(&sample, &result);
    const count_report report = {&sample, &result, &r, &c.makers};
    if (good) count_json(&report, answer), count_lines(&report, answer), text_printf(answer, "%zu\n", asked);
    free(questions);
    census_free(&sample);
    clusters_free(&found);
    crops_close(&c);
    return good;
}

/* Every crop is a whole image, as a box in pixels, so the image's size has to be looked up. */
static int export_groups(text *answer) {
    static const char *const files[] = {"datapackage.json", "deployments.csv", "media.csv", "observations.csv"};
    char path[2 * PATH];
    crops c;
    clusters found;
    reid_desc search = REID_INIT;
    input boxes[PICTURES];
    const input *each[PICTURES];
    size_t written = 0;
    int good = group(&c, &found, &search);
    memset(boxes, 0, sizeof boxes);
    for (size_t i = 0; i < PICTURES && good; i++) {
        boxes[i].path = c.ids[i], boxes[i].unit = BOX_PIXELS, boxes[i].box[2] = boxes[i].box[3] = 5;
        each[i] = &boxes[i];
    }
    const camtrap_request r = {.package = package, .out = export_path, .found = &found, .crops = &c, .boxes = each,
                               .species = "Felis catus", .now = 1700000000000};
    good = good && camtrap_export(&r, &written) && written == PICTURES && add_file(answer, observations);
    assert_true(good || access(export_path, F_OK) != 0); /* whole or not there */
    for (int i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "%s/%s", export_path, files[i]);
        unlink(path);
    }
    rmdir(export_path);
    clusters_free(&found);
    crops_close(&c);
    return good;
}

/* --- every allocation refused ------------------------------------------------------------------------------------- */

/* Accepted messages when a call fails. */
static int tells_of_memory(const char *said) {
    return strstr(said, "memory") != NULL; /* "out of memory", and errno's "Cannot allocate memory" */
}

/* One call in which call number `at` is refused. Returns 0 when the call made fewer. */
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
            fail_msg("refusing allocation %ld gives another answer: %s, not %s; %s", at, answer.s, wanted->s, said);
    } else if (!good && !tells_of_memory(said)) {
        fail_msg("refusing allocation %ld%s is told as: \"%s\"", at, rest ? " and what follows" : "", said);
    }
    text_free(&answer);
    return reached;
}

/* share: fraction of the calls that are tried in each way. */
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
static void traces(void **state) { (void)state, refuse_all(trace_one, 20); }
static void merges(void **state) { (void)state, refuse_all(merge, 100); }
static void matches(void **state) { (void)state, refuse_all(match, 6); }
static void searches(void **state) { (void)state, refuse_all(search, 50); }
static void evaluates(void **state) { (void)state, refuse_all(eval, 50); }
static void observes(void **state) { (void)state, refuse_all(features, 6); }
static void fits(void **state) { (void)state, refuse_all(fit, 20); }
static void writes_heads(void **state) { (void)state, refuse_all(write_head, 20); }
static void counts(void **state) { (void)state, refuse_all(count, 50); }
static void exports(void **state) { (void)state, refuse_all(export_groups, 60); }
static void watches(void **state) { (void)state, refuse_all(watch, 10); }

/* Other errors than lack of memory reach the listener, too, and each thread gets only its own. */
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
    assert_says(said, "/nowhere/at/all: a gallery is a folder");
    say_listen(said, sizeof said);
    assert_string_equal(said, "");
    assert_false(eval_set_open(&set, &nothing, NULL, &status));
    eval_set_free(&set);
    assert_says_all(said, "no images: give a folder, --labels or an embeddings file");
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
    templates *t = templates_change(store_path);
    assert_non_null(t);
    for (size_t i = 0; i < f.count; i++) {
        store_item item = {f.ids[i], f.identities[i], "", "", STORE_NO_TIME, 0, 0};
        assert_int_equal(templates_add(t, &item, f.rows + i * f.columns, why), TEMPLATES_DONE);
    }
    assert_int_equal(templates_commit(t, &(commit_rules){.all_or_nothing = 1}, why), TEMPLATES_DONE);
    templates_close(t);
    gallery_file_free(&f);
}

static void make_file(const char *name, const char *content) {
    char path[2 * PATH];
    snprintf(path, sizeof path, "%s/%s", package, name);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    fputs(content, f);
    assert_int_equal(fclose(f), 0);
}

static void make_package(void) {
    assert_int_equal(mkdir(package, 0700), 0);
    make_file("datapackage.json", "{\"profile\": \"https://example.org/camtrap-dp/1.0.2/camtrap-dp-profile.json\", "
                                  "\"resources\": [{\"name\": \"deployments\", \"path\": \"deployments.csv\"}, "
                                  "{\"name\": \"media\", \"path\": \"media.csv\"}, "
                                  "{\"name\": \"observations\", \"path\": \"observations.csv\"}]}");
    make_file("deployments.csv", "deploymentID\nd\n");
    make_file("media.csv", "mediaID,deploymentID,timestamp,filePath\nm0,d,2024-01-01T00:00:00Z,a/0.ppm\n"
                           "m1,d,2024-01-01T00:00:00Z,a/1.ppm\nm2,d,2024-01-01T00:00:00Z,b/2.ppm\n"
                           "m3,d,2024-01-01T00:00:00Z,b/3.ppm\n");
    make_file("observations.csv", "observationID,deploymentID\n\"an, old one\",d\n");
}

static int set_up(void **state) {
    text unused = TEXT_INIT;
    const char *root = getenv("TMPDIR");
    (void)state;
    snprintf(home, sizeof home, "%s/t_rooms_calls.XXXXXX", root ? root : "/tmp");
    assert_non_null(mkdtemp(home));
    place(folder, "gallery"), place(query, "query.ppm"), place(out_path, "out.npy");
    place(trace_path, "trace.json");
    place(file_path, "rows.npy"), place(store_path, "known.gallery");
    write_pictures();
    open_all();
    place(part_paths[0], "part1.npy"), place(part_paths[1], "part2.npy");
    place(weights_path, "weights.safetensors"), place(head_path, "head.safetensors");
    FILE *f = fopen(weights_path, "wb");
    assert_true(f && fwrite(weights.bytes, 1, weights.size, f) == weights.size && fclose(f) == 0);
    assert_true(embed_to(file_path, 0, 0, &unused));
    for (int i = 0; i < 2; i++) assert_true(embed_to(part_paths[i], i + 1, 2, &unused));
    text_free(&unused);
    make_store();
    place(package, "package"), place(export_path, "export"), place(observations, "export/observations.csv");
    make_package();
    make_film();
    return 0;
}

static int tear_down(void **state) {
    char command[PATH + 16];
    (void)state;
    models_close(&all);
    head_inputs_close(&heads);
    free(weights.bytes);
    snprintf(command, sizeof command, "rm -rf '%s'", home);
    return system(command);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(embeds), cmocka_unit_test(traces), cmocka_unit_test(merges), cmocka_unit_test(matches),
        cmocka_unit_test(searches),
        cmocka_unit_test(evaluates), cmocka_unit_test(observes), cmocka_unit_test(fits), cmocka_unit_test(writes_heads),
        cmocka_unit_test(counts), cmocka_unit_test(exports), cmocka_unit_test(watches),
        cmocka_unit_test(errors_are_told),
    };
    say_setup(SAY_QUIET);
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
