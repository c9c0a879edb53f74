/* reid gallery search: ranks templates or identities for queries with reid_search, over all templates, or over those
   that the index of a large database finds. */
#include "base/clock.h"
#include "base/files.h"
#include "base/json_write.h"
#include "base/memory.h"
#include "base/results.h"
#include "base/say.h"
#include "base/when.h"
#include "commands/gallery_search.h"
#include "base/unicode.h"
#include "commands/requests.h"
#include "gallery/gallery_file.h"
#include "gallery/nearest.h"
#include "gallery/templates.h"
#include "scores/decision.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TOGETHER = 64, MAX_HITS = 1 << 22 }; /* queries searched together; most pending hits */

typedef struct query {
    char *id;
    const char *camera;  /* "" if it is not known */
    uint64_t size, hash; /* of its image file; 0, 0 for embeddings, which are recognised by their id */
} query;

/* Statistics of a search by an index. */
typedef struct looking {
    size_t queries, candidates, too_few; /* candidates: of all queries; too_few: queries */
    double *seconds;                     /* [queries], for -v */
    size_t cap;
} looking;

typedef struct searching {
    const options *o;
    template_filter filter;
    nearest_request near_request;
    nearest *near;              /* NULL: `store` holds all templates */
    store_meta meta;
    gallery_store *store;       /* with near: templates to compare with the current query */
    reid_index *index;
    int too_few;                /* of the current query */
    looking looked;
    const inputs *list;
    double weights[MAX_MODELS], threshold; /* threshold: NAN for no decision */
    reid_search_desc what;
    int most, waiting, header;  /* most: limit of pending queries */
    query queries[TOGETHER];
    float *rows;                /* (most, dim), each part times its model's weight */
    float *plain;               /* with near: [dim], the current query without weights */
    reid_hit *hits;             /* (most, k) */
    int found[TOGETHER];
    size_t done, failed;
    text line;
    int broken;
} searching;

/* --- results ------------------------------------------------------------------------------------------------------ */

static double best_of(const searching *s, int q) {
    return s->found[q] ? s->hits[(ptrdiff_t)q * s->what.k].score : 0;
}

static void json_result(searching *s, int q) {
    const reid_hit *hits = s->hits + (ptrdiff_t)q * s->what.k;
    const char *decision = decide(s->threshold, s->found[q], best_of(s, q));
    json_writer w = json_write(&s->line);
    json_put_object(&w, NULL);
    json_put_string(&w, "query", s->queries[q].id);
    decision_json(&w, decision, s->found[q], best_of(s, q));
    threshold_json(&w, decision, s->threshold);
    if (s->near) {
        json_put_count(&w, "candidates", store_count(s->store));
        json_put_bool(&w, "too_few", s->too_few);
    }
    json_put_array(&w, "matches");
    for (int i = 0; i < s->found[q]; i++) {
        store_item item = store_at(s->store, hits[i].row);
        json_put_object(&w, NULL);
        json_put_string(&w, "identity", item.identity);
        json_put_number(&w, "score", hits[i].score, 9);
        json_put_string(&w, "id", item.id);
        json_put_end(&w);
    }
    json_put_finish(&w);
}

/* Prints a table with tabs between columns; a query without hits has one line, too. */
static void plain_result(searching *s, int q) {
    const reid_hit *hits = s->hits + (ptrdiff_t)q * s->what.k;
    const char *decision = decide(s->threshold, s->found[q], best_of(s, q));
    text *t = &s->line;
    if (!s->header) text_puts(t, decision ? "QUERY\tDECISION\tIDENTITY\tSCORE\tTEMPLATE\n"
                                          : "QUERY\tIDENTITY\tSCORE\tTEMPLATE\n");
    s->header = 1;
    for (int i = 0; i < s->found[q] || i == 0; i++) {
        text_visible(t, s->queries[q].id);
        if (decision) text_printf(t, "\t%s", decision);
        if (i < s->found[q]) {
            store_item item = store_at(s->store, hits[i].row);
            text_putc(t, '\t');
            text_visible(t, item.identity);
            text_printf(t, "\t%.4f\t", hits[i].score);
            text_visible(t, item.id);
        } else {
            text_puts(t, "\t\t\t");
        }
        text_putc(t, '\n');
    }
}

/* --- searching ---------------------------------------------------------------------------------------------------- */

/* 1 for templates that a filter leaves out, and those of the query's own image or camera. */
static int exclude(int number, size_t row, void *user) {
    const searching *s = user;
    const query *q = &s->queries[number];
    store_item item = store_at(s->store, row);
    if (!filter_takes(&s->filter, &item)) return 1;
    if (s->o->gallery.other_camera && name_same(item.camera, q->camera)) return 1;
    if (s->o->match.keep_self) return 0;
    return q->size ? q->size == item.source_size && q->hash == item.source_hash : name_same(q->id, item.id);
}

static int open_index(searching *s, int threads) {
    const options *o = s->o;
    reid_error error;
    reid_desc desc = model_desc(o, &o->every, &error);
    static const uint32_t none = 0; /* stands for the identities of an empty result */
    reid_rows rows = {store_floats(s->store), store_halves(s->store), store_count(s->store), s->meta.dim,
                      store_count(s->store) ? store_identities(s->store) : &none};
    if (threads) desc.threads = threads, desc.device = REID_DEVICE_CPU;
    reid_result r = reid_index_create(&desc, &rows, &s->index);
    if (r != REID_OK) say_error("gallery search: %s", reason_of(&error, r));
    return r == REID_OK;
}

static void close_index(searching *s) {
    reid_index_destroy(s->index);
    store_close(s->store);
    s->index = NULL;
    s->store = NULL;
}

/* Fetches the templates to compare with the pending query. Returns 0 after saying why that failed. */
static int look(searching *s) {
    const query *q = &s->queries[0];
    const nearest_query asked = {.row = s->plain, .other_camera = s->o->gallery.other_camera ? q->camera : NULL,
                                 .id = s->o->match.keep_self || q->size ? NULL : q->id,
                                 .size = s->o->match.keep_self ? 0 : q->size, .hash = q->hash};
    s->store = nearest_of(s->near, &asked, &s->too_few);
    if (!s->store || !open_index(s, 1)) return 0;
    s->looked.candidates += store_count(s->store);
    s->looked.too_few += s->too_few != 0;
    return 1;
}

/* Searches with the pending queries. Returns 0 to stop. */
static int flush_queries(searching *s) {
    reid_error error;
    double start = clock_seconds();
    if (!s->waiting || s->broken) return !s->broken;
    s->broken = s->near && !look(s);
    if (!s->broken) {
        reid_result r = reid_search(s->index, s->rows, s->waiting, &s->what, s->hits, s->found, &error);
        if (r != REID_OK) say_error("gallery search: %s", reason_of(&error, r));
        s->broken = r != REID_OK;
    }
    for (int q = 0; q < s->waiting; q++) {
        if (!s->broken) (s->o->output.json ? json_result : plain_result)(s, q);
        free(s->queries[q].id);
    }
    if (!s->broken && !results_write(&s->line)) s->broken = 1;
    if (s->near) close_index(s);
    if (s->near && say_is_verbose() && GROW(s->looked.seconds, s->looked.queries, s->looked.cap))
        s->looked.seconds[s->looked.queries++] = clock_seconds() - start;
    s->done += (size_t)s->waiting;
    s->waiting = 0;
    text_clear(&s->line);
    return !s->broken;
}

static int count_failure(searching *s) {
    s->failed++;
    return !s->o->input.strict;
}

static int refuse_query(searching *s, const char *id, const char *why) {
    say_error("%s: %s", shown(id), why);
    return count_failure(s);
}

/* Adds a query; path: of its image, or NULL. Returns 0 to stop. */
static int add_query(searching *s, const char *id, const char *camera, const char *path, const float *row) {
    const store_meta *meta = &s->meta;
    query *q = &s->queries[s->waiting];
    float *to = s->rows + (ptrdiff_t)s->waiting * meta->dim;
    if (s->o->gallery.other_camera && !*camera) return refuse_query(s, id, "its camera is not known; give --camera");
    if (s->near) memcpy(s->plain, row, (size_t)meta->dim * sizeof *row);
    for (int m = 0; m < meta->models; m++)
        for (int i = 0; i < meta->model[m].dim; i++) *to++ = (float)(s->weights[m] * *row++);
    q->id = need_copy(id, strlen(id));
    if (!q->id) return s->broken = 1, 0;
    q->camera = camera;
    q->size = q->hash = 0;
    if (path) store_hash_file(path, &q->size, &q->hash);
    return ++s->waiting < s->most || flush_queries(s);
}

static int take_picture(void *user, size_t index, const float *row, const char *why) {
    searching *s = user;
    const input *in = &s->list->at[index];
    if (!row) return inputs_say_failure(in, why), count_failure(s);
    return add_query(s, in->id, s->o->gallery.camera ? s->o->gallery.camera : "", in->path, row);
}

static int search_pictures(searching *s, const char *path) {
    inputs list = {0};
    models all;
    store_meta ours;
    int begun = 0;
    if (collect_inputs(&list, s->o) && open_models(&all, s->o)) {
        makers_of_models(&all, &ours);
        if (makers_agree(&s->meta, path, &ours, &all, NULL)) {
            int traced;
            makers_note_decoders(s->meta.jpeg, path, jpeg_decoder_name((jpeg_decoder)s->o->input.jpeg), NULL);
            stream_job job = {.all = &all, .list = &list, .first = 0, .end = list.count, .decode = decoding(s->o),
                              .label = "searching", .fn = take_picture, .user = s, .last = "search"};
            s->list = &list;
            stream_result end = run_stream(s->o, &job, &traced);
            if (end == STREAM_DONE) flush_queries(s);
            if (end == STREAM_FAILED || !traced) s->broken = 1;
            begun = end != STREAM_INTERRUPTED;
        }
        models_close(&all);
    }
    inputs_free(&list);
    s->list = NULL;
    return begun;
}

static int search_file(searching *s, const char *path, const char *name) {
    gallery_file f;
    int good = gallery_file_read(&f, name) && makers_agree(&f.makers, name, &s->meta, NULL, path);
    int go_on = good;
    if (good) makers_note_decoders(f.jpeg, name, s->meta.jpeg, path);
    for (size_t i = 0; go_on && i < f.count && !interrupted(); i++) {
        const char *camera = f.cameras && *f.cameras[i] ? f.cameras[i]
                             : s->o->gallery.camera     ? s->o->gallery.camera
                                                        : "";
        go_on = add_query(s, f.ids[i], camera, NULL, f.rows + i * f.columns);
    }
    if (go_on) flush_queries(s);
    if (!good) s->failed++;
    gallery_file_free(&f);
    return good;
}

/* --- the command -------------------------------------------------------------------------------------------------- */

/* Returns 0 after reporting that memory ran out. */
static int prepare(searching *s) {
    const options *o = s->o;
    const store_meta *meta = &s->meta;
    size_t count = s->near ? (size_t)o->match.top_k : store_count(s->store);
    decision_weights(s->weights, meta->models, o->match.weights, o->match.weight_count);
    s->threshold = decision_threshold(o->match.threshold, meta->threshold, meta->models);
    s->what.k =
        o->gallery.all_hits || (size_t)o->match.top_k > count ? count < INT_MAX ? (int)count : INT_MAX : o->match.top_k;
    s->what.scoring = (reid_scoring)o->gallery.by;
    s->what.top = o->gallery.best ? o->gallery.best : 3;
    s->what.use_threshold = o->gallery.all_hits;
    s->what.threshold = s->threshold;
    s->what.exclude = exclude;
    s->what.exclude_user = s;
    if (s->what.k < 1) s->what.k = 1;
    s->most = s->near ? 1 : s->what.k > MAX_HITS / TOGETHER ? MAX_HITS / s->what.k : TOGETHER;
    if (s->most < 1) s->most = 1;
    s->plain = need_array((size_t)meta->dim, sizeof *s->plain);
    if (!s->plain) return 0;
    s->rows = need_array((size_t)s->most * (size_t)meta->dim, sizeof *s->rows);
    s->hits = s->rows ? need_array((size_t)s->most * (size_t)s->what.k, sizeof *s->hits) : NULL;
    return s->hits != NULL;
}

static int check_options(const searching *s, const char *path) {
    const options *o = s->o;
    int parts = s->meta.models;
    if (!s->near && !store_count(s->store) && !filter_is_set(&s->filter))
        say_error("%s: the gallery is empty", shown(path));
    else if (!o->operand_count && !o->input.boxes)
        say_error("gallery search: nothing to search for: give images with -m, or a file of embeddings");
    else if (o->match.weight_count && o->match.weight_count != parts)
        say_error("gallery search: --score-weights gives %d share%s for %d model%s", o->match.weight_count,
                  plural((size_t)o->match.weight_count), parts, plural((size_t)parts));
    else if (o->gallery.all_hits && isnan(o->match.threshold) && isnan(s->meta.threshold) && parts == 1)
        say_error("gallery search: --all needs a --threshold");
    else if (o->gallery.best && o->gallery.by != REID_GROUP_TOP)
        say_error("gallery search: --best needs --by top");
    else if (!o->models && o->output.trace)
        say_error("gallery search: --trace needs a model, -m WEIGHTS, and images");
    else if (!o->models && o->input.boxes) say_error("gallery search: --boxes needs a model, -m WEIGHTS");
    else return 1;
    return 0;
}

static int search_all(searching *s, const char *path) {
    const options *o = s->o;
    int begun = 0, strict_failure;
    if (!prepare(s) || !results_begin(o->input.strict)) return 2;
    if (o->models) begun = search_pictures(s, path);
    for (int i = 0; !o->models && i < o->operand_count && !(o->input.strict && s->failed); i++)
        begun |= search_file(s, path, o->operands[i]);
    if (o->models && interrupted()) {
        results_abandon();
        return 2;
    }
    strict_failure = o->input.strict && s->failed;
    if (!results_end(!strict_failure && !s->broken) || s->broken) return 2;
    if (strict_failure) say_error("stopped at the first failed query (--strict)");
    if (strict_failure && begun) return 1;
    return !begun || !s->done ? 2 : s->failed ? 1 : 0;
}

static int parse_time(const char *name, const char *value, int64_t *to) {
    long long when = STORE_NO_TIME;
    if (value && !when_parse(value, &when)) {
        say_error("gallery search: --%s takes 2024-05-31T06:30:00Z, 2024-05-31 or seconds since 1970, not \"%s\"", name,
                  shown(value));
        return 0;
    }
    *to = when;
    return 1;
}

static int parse_filter(searching *s) {
    const options *o = s->o;
    s->filter.identity = o->gallery.only;
    s->filter.camera = o->gallery.in_camera;
    return parse_time("from", o->gallery.from, &s->filter.from) &&
           parse_time("until", o->gallery.until, &s->filter.until);
}

/* The request to a database's index. If identities are scored by several of their templates, the best ones need not
   have the best single templates, so more identities are examined. */
static nearest_request near_request(const searching *s, const char *url) {
    enum { MORE = 4 };
    const options *o = s->o;
    int several = o->gallery.by == REID_GROUP_MEAN || o->gallery.by == REID_GROUP_TOP;
    nearest_request r = {.url = url,
                         .filter = s->filter,
                         .candidates = o->gallery.candidates,
                         .templates = o->match.top_k,
                         .identities = o->gallery.by == REID_ROWS ? 0
                                       : several                  ? MORE * o->match.top_k
                                                                  : o->match.top_k,
                         .whole = several};
    return r;
}

/* Reads everything from files and from databases with few templates, and if all templates are requested. */
static int read_gallery(searching *s, const char *path) {
    nearest_close(s->near);
    s->near = NULL;
    s->store = templates_read(path, 1);
    if (s->store) s->meta = *store_info(s->store);
    return s->store && check_options(s, path) && open_index(s, 0);
}

static int open_gallery(searching *s, const char *path) {
    const options *o = s->o;
    if (!is_database_url(path) || o->gallery.exact || o->gallery.all_hits || o->match.top_k > NEAREST_MOST)
        return read_gallery(s, path);
    s->near_request = near_request(s, path);
    s->near = nearest_open(&s->near_request);
    if (!s->near) return 0;
    s->meta = *nearest_info(s->near);
    int few = o->gallery.candidates ? 0 : nearest_are_few(s->near, 0);
    if (few > 0) return read_gallery(s, path);
    if (few == 0 && !o->gallery.candidates && filter_is_set(&s->filter)) few = nearest_are_few(s->near, 1);
    if (few <= 0) return few == 0 && check_options(s, path);
    s->store = nearest_all(s->near);
    nearest_close(s->near);
    s->near = NULL;
    return s->store && check_options(s, path) && open_index(s, 0);
}

static int by_value(const void *a, const void *b) {
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* Says how many templates a search by an index has examined, and warns if they were too few. */
static void say_looked(searching *s) {
    looking *l = &s->looked;
    if (!s->near || !s->done) return;
    if (l->too_few)
        say_warning("too few identities were found for %zu of %zu %s, among %zu templates from the index on average; "
                    "--exact compares all templates", l->too_few, s->done, s->done == 1 ? "query" : "queries",
                    l->candidates / s->done);
    if (!l->queries) return;
    qsort(l->seconds, l->queries, sizeof *l->seconds, by_value);
    say_info("%zu %s, each compared with %.1f templates from the index on average; %.2f ms for the median query, "
             "%.2f ms for the slowest in a hundred", l->queries, l->queries == 1 ? "query" : "queries",
             (double)l->candidates / (double)s->done,
             1e3 * l->seconds[l->queries / 2], 1e3 * l->seconds[l->queries - 1 - l->queries / 100]);
}

int gallery_search(options *o, const char *path) {
    searching s;
    int status = 2;
    memset(&s, 0, sizeof s);
    s.o = o;
    if (o->gallery.exact && o->gallery.candidates) {
        say_error("gallery search: give either --exact or --candidates, not both");
        return 2;
    }
    if (!parse_filter(&s)) return 2;
    if (open_gallery(&s, path)) status = search_all(&s, path);
    say_looked(&s);
    for (int q = 0; q < s.waiting; q++) free(s.queries[q].id);
    close_index(&s);
    nearest_close(s.near);
    free(s.rows), free(s.plain), free(s.hits), free(s.looked.seconds);
    text_free(&s.line);
    return status;
}
