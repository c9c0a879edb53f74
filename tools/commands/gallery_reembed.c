/* reid gallery reembed: embeds the templates of a gallery in PostgreSQL with another model, on many workers, and
   switches between models. */
#include "base/clock.h"
#include "base/files.h"
#include "base/memory.h"
#include "base/results.h"
#include "base/say.h"
#include "commands/gallery_reembed.h"
#include "commands/requests.h"
#include "gallery/embedders.h"
#include "gallery/makers.h"
#include "gallery/pq.h"
#include "gallery/reembed.h"
#include "pictures/box_text.h"
#include "report/model_change_report.h"
#include "report/reembed_report.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BATCHES = 8 }; /* batches per claim */

/* --- a worker: from tasks to images ------------------------------------------------------------------------------- */

typedef struct working {
    const options *o;
    models all;
    reembed *worker;
    reembed_batch batch;
    inputs list;        /* images of the batch that exist here */
    size_t *task;       /* [list.count]: their tasks in the batch */
} working;

/* Records that a task failed. Returns 0 when memory for the reason runs out. */
static int refuse_task(reembed_task *t, const char *why) {
    say_error("%s: %s", shown(t->id), shown(why));
    t->failure = need_copy(why, strlen(why));
    return t->failure != NULL;
}

/* Writes the path of an image: below --root, even if it begins with a slash; unchanged without --root. */
static void put_path(text *t, const char *root, const char *source, size_t len) {
    if (root) {
        text_puts(t, root);
        if (!text_ends_with(root, "/") && source[0] != '/') text_putc(t, '/');
    }
    text_add(t, source, len);
}

/* 1 for a template that was added before sources included the box: the id is "image.jpg#2", the source only
   ".../image.jpg". Embedding the whole image would be wrong. */
static int box_is_lost(const reembed_task *t) {
    const char *mark = strrchr(t->id, '#');
    if (!mark || !mark[1] || mark[1 + strspn(mark + 1, "0123456789")]) return 0;
    size_t len = (size_t)(mark - t->id), source = strlen(t->source);
    return len <= source && strncmp(t->source + source - len, t->id, len) == 0;
}

/* Looks for the image of a task; *path is its name on this machine. Returns 0 with the reason in why. */
static int find_picture(const working *k, const reembed_task *t, text *path, box_unit *unit, double box[4],
                        text *why) {
    uint64_t size, hash;
    *unit = BOX_NONE;
    if (!*t->source) return text_puts(why, "the gallery has no path for its image"), 0;
    put_path(path, k->o->reembed.root, t->source, strlen(t->source));
    if (!text_failed(path) && access(path->s, F_OK) != 0) {
        text_clear(path);
        put_path(path, k->o->reembed.root, t->source, box_text_split(t->source, unit, box));
    }
    if (text_failed(path)) return text_no_memory(why);
    if (*unit == BOX_NONE && box_is_lost(t)) {
        text_puts(why, "is a box of an image, but the gallery has no box for it; add it again with --boxes");
        return 0;
    }
    int known = store_hash_file(path->s, &size, &hash);
    if (!known) text_printf(why, "%s: cannot open: %s", path->s, strerror(errno ? errno : EIO));
    else if ((t->size || t->hash) && (size != t->size || hash != t->hash))
        text_printf(why, "%s: the image has changed since it was added (%llu bytes, then %llu)", path->s,
                    (unsigned long long)size, (unsigned long long)t->size);
    return why->len == 0;
}

/* Puts a task's image on the list, or says why it cannot. Returns 0 when memory runs out. */
static int prepare_task(working *k, size_t place) {
    reembed_task *t = &k->batch.at[place];
    text path = TEXT_INIT, why = TEXT_INIT;
    box_unit unit;
    double box[4] = {0, 0, 0, 0};
    int good;
    errno = 0;
    if (find_picture(k, t, &path, &unit, box, &why)) {
        input *in = inputs_add(&k->list, path.s, 0, t->id);
        good = in != NULL;
        if (good) {
            in->unit = unit;
            memcpy(in->box, box, sizeof in->box);
            k->task[k->list.count - 1] = place;
        }
    } else {
        good = refuse_task(t, why.s ? why.s : "out of memory");
    }
    text_free(&path);
    text_free(&why);
    return good;
}

static int prepare(working *k) {
    inputs_free(&k->list);
    free(k->task);
    k->task = need_array(k->batch.count, sizeof *k->task);
    for (size_t i = 0; i < k->batch.count; i++)
        if (!k->task || !prepare_task(k, i)) return 0;
    return 1;
}

/* --- a worker: from images to rows -------------------------------------------------------------------------------- */

static int take_row(void *user, size_t index, const float *row, const char *why) {
    working *k = user;
    size_t place = k->task[index];
    if (row) memcpy(k->batch.rows + place * (size_t)k->all.dim, row, (size_t)k->all.dim * sizeof *row);
    else if (!refuse_task(&k->batch.at[place], why)) return 0;
    k->batch.first_open = place + 1;
    return reembed_beat(k->worker);
}

/* Embeds and writes what was claimed. Returns 0 when that ended early; rows made until then are still written. */
static int embed_claimed(working *k) {
    int good = prepare(k);
    stream_job job = {.all = &k->all, .list = &k->list, .end = k->list.count, .decode = decoding(k->o),
                      .label = "embedding", .fn = take_row, .user = k};
    if (good && k->list.count) good = stream_run(&job) == STREAM_DONE;
    if (good) k->batch.first_open = k->batch.count;
    return reembed_write(k->worker, &k->batch) && good;
}

/* Waits while only templates claimed by other workers are left, because this worker takes them over if those die. */
static int wait_for_others(working *k, int *told) {
    if (!*told) say_info("waiting for %zu template%s claimed by other workers", k->batch.others,
                         plural(k->batch.others));
    *told = 1;
    poll(NULL, 0, 500);
    return interrupted() || reembed_beat(k->worker);
}

/* Works until no template is left. Returns 0 after a failure, or when interrupted(). */
static int work(working *k) {
    size_t most = BATCHES * (size_t)k->all.batch;
    int told = 0, good = 1;
    double start = clock_seconds();
    while (good && !interrupted()) {
        good = reembed_claim(k->worker, most, &k->batch);
        if (!good || (!k->batch.count && !k->batch.others)) break;
        good = k->batch.count ? embed_claimed(k) : wait_for_others(k, &told);
        if (k->batch.count && say_is_verbose()) {
            size_t made, failed;
            reembed_totals(k->worker, &made, &failed);
            say_info("%zu template%s embedded, %zu failed, %.1f s", made, plural(made), failed,
                     clock_seconds() - start);
        }
    }
    return good && !interrupted();
}

/* --- a worker: the whole run -------------------------------------------------------------------------------------- */

/* Reports the state at the end, by all workers together. Returns the exit status. */
static int tell_worker(const working *k, const reembed_counts *c) {
    size_t made, failed;
    text t = TEXT_INIT;
    reembed_totals(k->worker, &made, &failed);
    (k->o->output.json ? reembed_done_json : reembed_done_line)(c, made, failed, &t);
    return !results_print(&t) ? 2 : c->missing ? 1 : 0;
}

static int work_all(working *k, const char *url) {
    reembed_counts counts;
    store_meta makers;
    int status = 2;
    memset(&makers, 0, sizeof makers);
    makers_of_models(&k->all, &makers);
    snprintf(makers.jpeg, sizeof makers.jpeg, "%s", jpeg_decoder_name((jpeg_decoder)k->o->input.jpeg));
    const reembed_request r = {url, &makers, k->o->reembed.lease};
    k->worker = reembed_open(&r);
    if (k->worker && work(k) && reembed_count(k->worker, &counts)) status = tell_worker(k, &counts);
    reembed_close(k->worker);
    reembed_batch_free(&k->batch);
    inputs_free(&k->list);
    free(k->task);
    return status;
}

static int run_worker(const options *o, const char *url) {
    working k;
    memset(&k, 0, sizeof k);
    k.o = o;
    if (o->reembed.root && access(o->reembed.root, X_OK) != 0) {
        say_error("--root %s: %s", shown(o->reembed.root), strerror(errno));
        return 2;
    }
    if (!open_models(&k.all, o)) return 2;
    int status = work_all(&k, url);
    models_close(&k.all);
    return status;
}

/* --- choosing an embedder ----------------------------------------------------------------------------------------- */

/* The embedder of -m, or the only one that is neither the current nor the previous one. NULL after saying what is
   wrong. */
static const embedder *choose(const embedder_list *l, const options *o, const char *what) {
    const embedder *found = NULL, *before = NULL;
    size_t others = 0;
    if (o->models) {
        models all;
        store_meta makers;
        memset(&makers, 0, sizeof makers);
        if (!open_models(&all, o)) return NULL;
        makers_of_models(&all, &makers);
        models_close(&all);
        found = embedders_of(l, &makers);
        if (!found) say_error("%s: no template was embedded by these models; run without %s to embed them", what, what);
        else if (found->role == EMBEDDER_NOW) say_error("%s: the gallery uses these models", what);
        return found && found->role != EMBEDDER_NOW ? found : NULL;
    }
    for (size_t i = 0; i < l->count; i++) {
        if (l->at[i].role == EMBEDDER_BEFORE) before = &l->at[i];
        if (l->at[i].role == EMBEDDER_OTHER) found = &l->at[i], others++;
    }
    if (others == 1) return found;
    if (others) say_error("%s: there are %zu other models; choose one with -m", what, others);
    else if (before) say_error("%s: the only other models are those before the last switch; --back returns to them",
                               what);
    else say_error("%s: there is no other model: run \"reid gallery reembed\" with -m first", what);
    return NULL;
}

/* --- status ------------------------------------------------------------------------------------------------------- */

static int show_status(const options *o, const char *url) {
    embedder_list l;
    text t = TEXT_INIT;
    int good = embedders_open(&l, url, 1) && (o->output.json ? reembed_status_json : reembed_status_lines)(&l, &t);
    embedders_close(&l);
    if (good) return results_print(&t) ? 0 : 2;
    text_free(&t);
    return 2;
}

/* --- compare ------------------------------------------------------------------------------------------------------ */

static int take_template(void *user, const embedder_row *row) {
    const float *const rows[] = {row->one, row->other};
    changed_template t = {.size = row->size, .hash = row->hash};
    t.id = (char *)(uintptr_t)row->id; /* copied before this returns */
    t.identity = (char *)(uintptr_t)row->identity;
    t.camera = (char *)(uintptr_t)row->camera;
    return model_change_add(user, &t, rows);
}

static int compare_embedders(const options *o, embedder_list *l, const embedder *next) {
    model_change c;
    text t = TEXT_INIT;
    const change_rules rules = {false_match_rate(o), o->compute.threads, (reid_isa)o->compute.isa};
    model_change_begin(&c, &l->at[0].makers, &next->makers);
    int good = embedders_rows(l, &l->at[0], next, take_template, &c);
    const model_change_report report = {&c, l->templates - c.count, false_match_rate(o)};
    if (good && !c.count) {
        say_error("--compare: no template has rows for both models");
        good = 0;
    }
    good = good && model_change_compute(&c, &rules);
    if (good) (o->output.json ? model_change_json : model_change_table)(&t, &report);
    good = good && results_print(&t);
    text_free(&t);
    model_change_free(&c);
    return good ? 0 : 2;
}

static int compare(const options *o, const char *url) {
    embedder_list l;
    int status = 2;
    if (embedders_open(&l, url, 1)) {
        const embedder *next = choose(&l, o, "--compare");
        if (next) status = compare_embedders(o, &l, next);
    }
    embedders_close(&l);
    return status;
}

/* --- switch, back, drop ------------------------------------------------------------------------------------------- */

static int tell_change(const options *o, const char *what, const embedder *e) {
    char name[2 * 33];
    text t = TEXT_INIT;
    embedder_name(e, name);
    (o->output.json ? reembed_change_json : reembed_change_line)(what, name, &t);
    return results_print(&t) ? 0 : 2;
}

static const embedder *before_of(const embedder_list *l) {
    for (size_t i = 0; i < l->count; i++)
        if (l->at[i].role == EMBEDDER_BEFORE) return &l->at[i];
    say_error("--back: the gallery was never switched, or its previous models were dropped");
    return NULL;
}

static int switch_over(const options *o, const char *url) {
    embedder_list l;
    int status = 2;
    if (embedders_open(&l, url, 0)) {
        const embedder *to = o->reembed.back ? before_of(&l) : choose(&l, o, "--switch");
        if (to && embedders_switch(&l, to, o->match.threshold, o->reembed.partial)) status = tell_change(o, "now", to);
    }
    embedders_close(&l);
    return status;
}

static int drop(const options *o, const char *url) {
    embedder_list l;
    int status = 2;
    if (embedders_open(&l, url, 0)) {
        const embedder *gone = embedders_named(&l, o->reembed.drop);
        if (!gone) say_error("--drop: the gallery has no models \"%s\"; --status lists them", shown(o->reembed.drop));
        else if (embedders_drop(&l, gone)) status = tell_change(o, "dropped", gone);
    }
    embedders_close(&l);
    return status;
}

/* --- the command -------------------------------------------------------------------------------------------------- */

/* Returns 0 after naming options that exclude each other. */
static int check_options(const options *o) {
    int modes = !!o->reembed.status + !!o->reembed.compare + !!o->reembed.switch_over + !!o->reembed.back +
                (o->reembed.drop != NULL);
    if (modes > 1) say_error("gallery reembed: give only one of --status, --compare, --switch, --back and --drop");
    else if (!modes && !o->models) say_error("gallery reembed: no model: give -m");
    else if (o->models && (o->reembed.status || o->reembed.back || o->reembed.drop))
        say_error("gallery reembed: -m is for embedding, --compare and --switch");
    else if (modes && (o->reembed.root || o->reembed.lease != 60.0))
        say_error("gallery reembed: --root and --lease are for embedding");
    else if ((o->reembed.partial || !isnan(o->match.threshold)) && !o->reembed.switch_over && !o->reembed.back)
        say_error("gallery reembed: --partial and --threshold belong to --switch and --back");
    else return 1;
    return 0;
}

int gallery_reembed(options *o, const char *path) {
    if (!pq_is_url(path)) {
        say_error("%s: reembed is for a gallery in PostgreSQL; for a file, make another one with gallery create and "
                  "gallery add", shown(path));
        return 2;
    }
    if (!check_options(o)) return 2;
    if (o->reembed.status) return show_status(o, path);
    if (o->reembed.compare) return compare(o, path);
    if (o->reembed.switch_over || o->reembed.back) return switch_over(o, path);
    if (o->reembed.drop) return drop(o, path);
    return run_worker(o, path);
}
