/* reid gallery: one file of templates with identities. The parts that need more room have files of their own. */
#include "commands/gallery_command.h"

#include "base/files.h"
#include "base/memory.h"
#include "base/results.h"
#include "base/say.h"
#include "base/when.h"
#include "commands/requests.h"
#include "gallery/gallery_file.h"
#include "gallery/gallery_host.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* --- create and set ----------------------------------------------------------------------------------------------- */

/* What --like names: a gallery, or a file of embeddings. */
static int meta_like(const char *path, store_meta *meta) {
    gallery_file file;
    if (store_is_gallery(path)) {
        gallery_store *s = gallery_store_open(path, 0);
        if (s) *meta = *store_info(s);
        store_close(s);
        return s != NULL;
    }
    int good = gallery_file_read(&file, path);
    if (good) *meta = file.makers;
    gallery_file_free(&file);
    return good;
}

static int meta_of_models(const options *o, store_meta *meta) {
    models all;
    if (!open_models(&all, o)) return 0;
    makers_of_models(&all, meta);
    models_close(&all);
    return 1;
}

static int create(options *o, const char *path) {
    store_meta meta;
    char why[STORE_WHY] = "";
    struct stat st;
    memset(&meta, 0, sizeof meta);
    if (!o->like == !o->models) {
        say_error("gallery create: either -m WEIGHTS or --like FILE says whose embeddings it will hold");
        return 2;
    }
    if (lstat(path, &st) == 0) { /* before the model is loaded; store_create makes sure */
        say_error("%s: exists already", shown(path));
        return 2;
    }
    if (!(o->like ? meta_like(o->like, &meta) : meta_of_models(o, &meta))) return 2;
    meta.threshold = o->threshold;
    meta.halves = o->fp16 != 0;
    if (store_create(path, &meta, why)) return 0;
    say_gallery_error(path, why);
    return 2;
}

static int set(options *o, const char *path) {
    char why[STORE_WHY] = "";
    if (isnan(o->threshold)) {
        say_error("gallery set: give --threshold T");
        return 2;
    }
    gallery_store *s = gallery_store_change(path);
    if (!s) return 2;
    int good = store_set_threshold(s, o->threshold, why) && store_commit(s, why);
    if (!good) say_gallery_error(path, why);
    store_close(s);
    return good ? 0 : 2;
}

/* --- remove ------------------------------------------------------------------------------------------------------- */

/* Every template of an identity; how many, or -1 after saying what is wrong. */
static long remove_identity(gallery_store *s, const char *path, const char *identity) {
    char why[STORE_WHY] = "";
    long n = 0;
    for (size_t i = 0; i < store_count(s); i++) {
        store_item item = store_at(s, i);
        if (strcmp(item.identity, identity) != 0 || store_find(s, item.id) != i) continue;
        if (!store_remove(s, item.id, why)) {
            say_gallery_error(path, why);
            return -1;
        }
        n++;
    }
    return n;
}

static int remove_templates(options *o, const char *path) {
    char why[STORE_WHY] = "";
    long total = 0;
    int failed = 0, good = 1;
    if (!o->operand_count) {
        say_error("gallery remove: which one? Give ids, or identities with --identity");
        return 2;
    }
    gallery_store *s = gallery_store_change(path);
    if (!s) return 2;
    for (int i = 0; i < o->operand_count && good; i++) {
        const char *name = o->operands[i];
        long n = o->identity ? remove_identity(s, path, name) : store_remove(s, name, why);
        if (n == 0) say_error("%s: is not in the gallery", shown(name));
        failed += n == 0;
        total += n > 0 ? n : 0;
        good = n >= 0;
    }
    int stop = failed && o->strict;
    good = good && !stop && (total == 0 || store_commit(s, why));
    if (!good && !stop) say_gallery_error(path, why);
    store_close(s);
    if (stop) say_error("nothing is removed (--strict)");
    if (!good || !total) return stop ? 1 : 2;
    text t = TEXT_INIT;
    text_printf(&t, o->json ? "{\"removed\": %ld}\n" : "removed %ld\n", total);
    return !results_print(&t) ? 2 : failed ? 1 : 0;
}

/* --- list --------------------------------------------------------------------------------------------------------- */

static void json_item_line(text *t, const store_item *item) {
    text_puts(t, "{\"id\": ");
    text_json(t, item->id);
    text_puts(t, ", \"identity\": ");
    text_json(t, item->identity);
    text_puts(t, ", \"camera\": ");
    if (*item->camera) text_json(t, item->camera);
    else text_puts(t, "null");
    text_puts(t, ", \"time\": ");
    if (item->time != STORE_NO_TIME) text_putc(t, '"'), when_text(t, item->time), text_putc(t, '"');
    else text_puts(t, "null");
    text_puts(t, ", \"source\": ");
    if (*item->source) text_json(t, item->source);
    else text_puts(t, "null");
    text_puts(t, "}\n");
}

/* Columns are separated by tabs, which no name can hold in this form. */
static void plain_item_line(text *t, const store_item *item) {
    text_visible(t, item->id);
    text_putc(t, '\t');
    text_visible(t, item->identity);
    text_putc(t, '\t');
    text_visible(t, item->camera);
    text_putc(t, '\t');
    if (item->time != STORE_NO_TIME) when_text(t, item->time);
    text_putc(t, '\n');
}

static int list_identities(const options *o, const gallery_store *s, text *t) {
    size_t n = store_identity_count(s), count = store_count(s);
    size_t *first = need_array(n, sizeof *first), *templates = first ? need_zeroed(n, sizeof *templates) : NULL;
    int good = templates != NULL;
    for (size_t i = 0; i < count && good; i++)
        if (templates[store_identities(s)[i]]++ == 0) first[store_identities(s)[i]] = i;
    for (size_t i = 0; i < n && good; i++) {
        const char *name = store_at(s, first[i]).identity;
        if (o->json) text_puts(t, "{\"identity\": "), text_json(t, name);
        else text_visible(t, name);
        text_printf(t, o->json ? ", \"templates\": %zu}\n" : "\t%zu\n", templates[i]);
    }
    free(first), free(templates);
    return good;
}

static int list(options *o, const char *path) {
    text t = TEXT_INIT;
    gallery_store *s = gallery_store_open(path, 0);
    int good = s != NULL;
    if (!good) return 2;
    results_begin(0);
    if (o->identity) good = list_identities(o, s, &t);
    for (size_t i = 0; !o->identity && good && i < store_count(s); i++) {
        store_item item = store_at(s, i);
        (o->json ? json_item_line : plain_item_line)(&t, &item);
        if (t.len < 1 << 16) continue;
        good = results_write(&t) && !interrupted();
        text_clear(&t);
    }
    good = good && results_write(&t);
    text_free(&t);
    store_close(s);
    return results_end(1) && good ? 0 : 2;
}

/* --- verify and compact ------------------------------------------------------------------------------------------- */

static void add_damage(const char *damage, void *user) {
    text *t = user;
    text_visible(t, damage);
    text_putc(t, '\n');
}

static void json_report(text *t, const store_report *r, const store_meta *meta, const text *damage) {
    text_printf(t, "{\"records\": %zu, \"damaged\": %zu, \"templates\": %zu, \"bytes\": %llu, \"unused\": %llu, "
                   "\"version\": %d, \"dim\": %d, \"precision\": \"%s\", \"fingerprints\": [", r->records, r->damaged,
                r->templates, (unsigned long long)r->bytes, (unsigned long long)r->unused, r->version, meta->dim,
                meta->halves ? "fp16" : "fp32");
    for (int i = 0; i < meta->models; i++) {
        if (i) text_puts(t, ", ");
        text_json(t, meta->model[i].fingerprint);
    }
    if (text_failed(damage)) text_no_memory(t);
    text_puts(t, "], \"threshold\": ");
    if (isnan(meta->threshold)) text_puts(t, "null");
    else text_printf(t, "%.9g", meta->threshold);
    text_puts(t, ", \"damage\": [");
    for (const char *at = damage->s; at && *at;) {
        size_t n = strcspn(at, "\n");
        text line = TEXT_INIT;
        text_add(&line, at, n);
        if (at != damage->s) text_puts(t, ", ");
        if (text_failed(&line)) text_no_memory(t);
        else text_json(t, line.s);
        text_free(&line);
        at += n + 1;
    }
    text_puts(t, "]}\n");
}

static void plain_report(text *t, const store_report *r, const store_meta *meta, const text *damage) {
    text_join(t, damage);
    text_printf(t, "%zu records, %zu damaged, %zu templates, %llu bytes", r->records, r->damaged, r->templates,
                (unsigned long long)r->bytes);
    if (r->unused) text_printf(t, ", %llu of them left by an interrupted writer", (unsigned long long)r->unused);
    for (int i = 0; i < meta->models; i++) {
        const store_model *m = &meta->model[i];
        text_printf(t, "\nmade by ");
        text_visible(t, m->fingerprint);
        text_puts(t, " (");
        text_visible(t, m->network);
        text_puts(t, ", ");
        text_visible(t, m->preset);
        text_printf(t, "), %d floats", m->dim);
    }
    text_printf(t, "\nkept as %s", meta->halves ? "fp16" : "fp32");
    if (!isnan(meta->threshold)) text_printf(t, ", threshold %.9g", meta->threshold);
    if (r->version == 1)
        text_puts(t, "\nformat 1, whose header has no copy; \"reid gallery compact\" makes format 2 of it");
    text_putc(t, '\n');
}

static int verify(options *o, const char *path) {
    char why[STORE_WHY] = "";
    store_report report;
    store_meta meta;
    text damage = TEXT_INIT, t = TEXT_INIT;
    int good = store_verify(path, &GALLERY_HOST, add_damage, &damage, &report, &meta, why);
    if (!good && !report.damaged) {
        say_error("%s: %s", shown(path), shown(why));
        text_free(&damage);
        return 2;
    }
    (o->json ? json_report : plain_report)(&t, &report, &meta, &damage);
    text_free(&damage);
    if (!good) say_error("%s: %s", shown(path), shown(why));
    return !results_print(&t) ? 2 : !good;
}

static void say_damage(const char *damage, void *user) { say_error("%s: %s", shown(user), shown(damage)); }

static int compact(options *o, const char *path) {
    char why[STORE_WHY] = "";
    struct stat before, after;
    size_t kept;
    text t = TEXT_INIT;
    memset(&before, 0, sizeof before);
    memset(&after, 0, sizeof after);
    stat(path, &before);
    if (!store_compact(path, o->salvage, &GALLERY_HOST, say_damage, (void *)(uintptr_t)path, &kept, why)) {
        say_gallery_error(path, why);
        return 2;
    }
    stat(path, &after);
    text_printf(&t, o->json ? "{\"templates\": %zu, \"bytes_before\": %lld, \"bytes\": %lld}\n"
                            : "%zu templates; %lld bytes before, %lld now\n", kept, (long long)before.st_size,
                (long long)after.st_size);
    return results_print(&t) ? 0 : 2;
}

/* --- which one ---------------------------------------------------------------------------------------------------- */

typedef struct part {
    const char *name;
    int (*run)(options *o, const char *path);
    int operands; /* 1: takes some behind the gallery */
} part;

static const part PARTS[] = {
    {"create", create, 0}, {"add", gallery_add, 1}, {"remove", remove_templates, 1}, {"list", list, 0},
    {"search", gallery_search, 1}, {"set", set, 0}, {"compact", compact, 0}, {"verify", verify, 0},
    {"export", gallery_export, 0}, {NULL, NULL, 0},
};

/* An option that only some parts have. Returns 0 after naming one that is at the wrong place. */
static int check_options(const options *o, const char *name) {
    const struct {
        int given;
        const char *option, *parts;
    } rules[] = {
        {o->models > 0, "-m", " create add search "},
        {o->fp16, "--fp16", " create "},
        {o->like != NULL, "--like", " create "},
        {!isnan(o->threshold), "--threshold", " create set search "},
        {o->list != NULL, "--list", " add "},
        {o->groups != NULL, "--groups", " add "},
        {o->camera != NULL, "--camera", " add search "},
        {o->time != NULL, "--time", " add "},
        {o->identity, "--identity", " remove list "},
        {o->by != REID_GROUP_MAX || o->best, "--by and --best", " search "},
        {o->other_camera, "--other-camera", " search "},
        {o->all_hits, "--all", " search "},
        {o->keep_self, "--keep-self", " search "},
        {o->weight_count, "--weights", " search "},
        {o->salvage, "--salvage", " compact "},
        {o->output != NULL, "-o", " export "},
        {o->boxes != NULL, "--boxes", " add search "},
        {o->stats, "--stats", " add search "},
        {o->strict, "--strict", " add remove search "},
    };
    char wanted[16];
    snprintf(wanted, sizeof wanted, " %s ", name);
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (rules[i].given && !strstr(rules[i].parts, wanted)) {
            say_error("gallery %s: %s belongs to%.*s", name, rules[i].option, (int)strlen(rules[i].parts) - 1,
                      rules[i].parts);
            return 0;
        }
    return 1;
}

int gallery_main(options *o) {
    const part *p = PARTS;
    if (!o->operand_count) {
        say_error("gallery: what? create, add, remove, list, search, set, compact, verify or export; "
                  "see \"reid help gallery\"");
        return 2;
    }
    while (p->name && strcmp(p->name, o->operands[0]) != 0) p++;
    if (!p->name) {
        say_error("gallery: no \"%s\"; see \"reid help gallery\"", shown(o->operands[0]));
        return 2;
    }
    if (o->operand_count < 2) {
        say_error("gallery %s: which gallery? Give its file", p->name);
        return 2;
    }
    if (!p->operands && o->operand_count > 2) {
        say_error("gallery %s: \"%s\" is one argument too many", p->name, shown(o->operands[2]));
        return 2;
    }
    if (!check_options(o, p->name)) return 2;
    options rest = *o;
    rest.operands += 2;
    rest.operand_count -= 2;
    return p->run(&rest, o->operands[1]);
}
