/* reid gallery: known individuals in a file or in PostgreSQL. Larger parts have their own gallery_*.c. */
#include "commands/commands.h"
#include "commands/gallery_add.h"
#include "commands/gallery_export.h"
#include "commands/gallery_move.h"
#include "commands/gallery_reembed.h"
#include "commands/gallery_search.h"

#include "base/files.h"
#include "base/memory.h"
#include "base/results.h"
#include "base/say.h"
#include "base/when.h"
#include "commands/requests.h"
#include "gallery/gallery_file.h"
#include "gallery/gallery_host.h"
#include "gallery/schema.h"
#include "gallery/templates.h"
#include "report/gallery_report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- create and set ----------------------------------------------------------------------------------------------- */

/* Reads the models of --like: a gallery, or a file of embeddings. */
static int meta_like(const char *path, store_meta *meta) {
    gallery_file file;
    if (templates_is_place(path)) {
        gallery_store *s = templates_read(path, 0);
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
    memset(&meta, 0, sizeof meta);
    if (!o->gallery.like == !o->models) {
        say_error("gallery create: give either -m WEIGHTS or --like FILE, for the models of its embeddings");
        return 2;
    }
    if (!templates_may_create(path) ||
        !(o->gallery.like ? meta_like(o->gallery.like, &meta) : meta_of_models(o, &meta)))
        return 2;
    meta.threshold = o->match.threshold;
    meta.halves = o->gallery.fp16 != 0;
    return templates_create(path, &meta) ? 0 : 2;
}

static int set(options *o, const char *path) {
    char why[STORE_WHY] = "";
    if (isnan(o->match.threshold)) {
        say_error("gallery set: give --threshold T");
        return 2;
    }
    templates *t = templates_change(path);
    if (!t) return 2;
    int good = templates_set_threshold(t, o->match.threshold, why) == TEMPLATES_DONE &&
               templates_commit(t, &(commit_rules){.all_or_nothing = 1}, why) == TEMPLATES_DONE;
    if (!good) say_gallery_error(path, why);
    templates_close(t);
    return good ? 0 : 2;
}

/* --- remove ------------------------------------------------------------------------------------------------------- */

/* State and results of gallery remove. */
typedef struct removing {
    templates *from;
    size_t removed, failed;
} removing;

static void gone_meanwhile(void *user, size_t number, const char *id, const char *why) {
    removing *r = user;
    (void)number;
    say_error("%s: %s", shown(id), why);
    r->removed--, r->failed++;
}

/* Removes one id or identity. Returns 0 with the reason in why when nothing more can be removed. */
static int remove_one(removing *r, const char *name, int identity, char why[STORE_WHY]) {
    size_t n = 1;
    templates_result result = identity ? templates_remove_identity(r->from, name, &n, why)
                                       : templates_remove(r->from, name, why);
    if (result == TEMPLATES_FAILED) return 0;
    if (result == TEMPLATES_REFUSED) n = 0;
    if (n == 0) say_error("%s: is not in the gallery", shown(name));
    r->failed += n == 0;
    r->removed += n;
    return 1;
}

static int remove_templates(options *o, const char *path) {
    char why[STORE_WHY] = "";
    removing r = {NULL, 0, 0};
    int good = 1;
    if (!o->operand_count) {
        say_error("gallery remove: give ids, or identities with --identity");
        return 2;
    }
    r.from = templates_change(path);
    if (!r.from) return 2;
    for (int i = 0; i < o->operand_count && good; i++) good = remove_one(&r, o->operands[i], o->gallery.identity, why);
    int stop = r.failed && o->input.strict;
    if (good && !stop && r.removed) {
        const commit_rules rules = {o->input.strict, gone_meanwhile, &r};
        good = templates_commit(r.from, &rules, why) >= TEMPLATES_REFUSED;
        stop = r.failed && o->input.strict;
    }
    if (!good && !stop) say_gallery_error(path, why);
    templates_close(r.from);
    if (stop) say_error("nothing was removed (--strict)");
    if (!good || stop || !r.removed) return stop ? 1 : 2;
    text t = TEXT_INIT;
    (o->output.json ? gallery_removed_json : gallery_removed_line)(r.removed, &t);
    return !results_print(&t) ? 2 : r.failed ? 1 : 0;
}

/* --- list --------------------------------------------------------------------------------------------------------- */

static int list_identities(const options *o, const gallery_store *s, text *t) {
    size_t n = store_identity_count(s), count = store_count(s);
    size_t *first = need_array(n, sizeof *first), *count_of = first ? need_zeroed(n, sizeof *count_of) : NULL;
    int good = count_of != NULL;
    for (size_t i = 0; i < count && good; i++)
        if (count_of[store_identities(s)[i]]++ == 0) first[store_identities(s)[i]] = i;
    for (size_t i = 0; i < n && good; i++) {
        const char *name = store_at(s, first[i]).identity;
        (o->output.json ? gallery_identity_json : gallery_identity_line)(name, count_of[i], t);
    }
    free(first), free(count_of);
    return good;
}

static int list(options *o, const char *path) {
    text t = TEXT_INIT;
    gallery_store *s = templates_read(path, 0);
    int good = s != NULL;
    if (!good) return 2;
    results_begin(0);
    if (o->gallery.identity) good = list_identities(o, s, &t);
    for (size_t i = 0; !o->gallery.identity && good && i < store_count(s); i++) {
        store_item item = store_at(s, i);
        (o->output.json ? gallery_item_json : gallery_item_line)(&item, &t);
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

static int verify(options *o, const char *path) {
    char why[STORE_WHY] = "";
    store_report report;
    store_meta meta;
    text damage = TEXT_INIT, t = TEXT_INIT;
    int good = templates_verify(path, add_damage, &damage, &report, &meta, why);
    if (!good && !report.damaged) {
        say_error("%s: %s", shown(path), shown(why));
        text_free(&damage);
        return 2;
    }
    const gallery_check checked = {path, &report, &meta, &damage};
    (o->output.json ? gallery_check_json : gallery_check_lines)(&checked, &t);
    text_free(&damage);
    if (!good) say_error("%s: %s", shown(path), shown(why));
    return !results_print(&t) ? 2 : !good;
}

static void say_damage(const char *damage, void *user) { say_error("%s: %s", shown(user), shown(damage)); }

static int compact(options *o, const char *path) {
    char why[STORE_WHY] = "";
    compacted done;
    text t = TEXT_INIT;
    if (!templates_compact(path, o->gallery.salvage, say_damage, (void *)(uintptr_t)path, &done, why)) {
        say_gallery_error(path, why);
        return 2;
    }
    (o->output.json ? gallery_compacted_json : gallery_compacted_line)(&done, &t);
    return results_print(&t) ? 0 : 2;
}

/* --- sql ---------------------------------------------------------------------------------------------------------- */

/* Prints the SQL for creating the tables without `create`; from: the existing version, NULL for none. */
static int print_sql(options *o, const char *from) {
    long long version = 0;
    text t = TEXT_INIT;
    (void)o;
    if (from && !parse_int(from, 0, SCHEMA_VERSION, &version)) {
        say_error("gallery sql: \"%s\" is not a version of the tables; the newest is %d", shown(from),
                  SCHEMA_VERSION);
        return 2;
    }
    if (version == SCHEMA_VERSION) {
        say_error("gallery sql: version %d is the newest, so there is nothing to print", SCHEMA_VERSION);
        return 2;
    }
    schema_script(&t, (int)version);
    if (need_text(&t)) return results_print(&t) ? 0 : 2;
    text_free(&t);
    return 2;
}

/* --- the command -------------------------------------------------------------------------------------------------- */

typedef struct part {
    const char *name;
    int (*run)(options *o, const char *path);
    int operands; /* 1: takes operands after the gallery */
} part;

static const part PARTS[] = {
    {"create", create, 0}, {"add", gallery_add, 1}, {"remove", remove_templates, 1}, {"list", list, 0},
    {"search", gallery_search, 1}, {"set", set, 0}, {"compact", compact, 0}, {"verify", verify, 0},
    {"export", gallery_export, 0}, {"push", gallery_push_command, 1}, {"pull", gallery_pull_command, 1},
    {"sql", print_sql, 0}, {"reembed", gallery_reembed, 0}, {NULL, NULL, 0},
};

/* Checks options that only some parts take. Returns 0 after naming one that this part does not take. */
static int check_options(const options *o, const char *name) {
    const struct {
        int given;
        const char *option, *parts;
    } rules[] = {
        {o->models > 0, "-m", " create add search reembed "},
        {o->gallery.fp16, "--fp16", " create "},
        {o->gallery.like != NULL, "--like", " create "},
        {!isnan(o->match.threshold), "--threshold", " create set search reembed "},
        {o->gallery.list != NULL, "--list", " add "},
        {o->gallery.groups != NULL, "--groups", " add "},
        {o->input.unknown != NULL, "--unknown", " add "},
        {o->gallery.camera != NULL, "--camera", " add search "},
        {o->gallery.time != NULL, "--time", " add "},
        {o->gallery.identity, "--identity", " remove list "},
        {o->gallery.by != REID_GROUP_MAX || o->gallery.best, "--by and --best", " search "},
        {o->gallery.other_camera, "--other-camera", " search "},
        {o->gallery.all_hits, "--all", " search "},
        {o->gallery.only || o->gallery.in_camera || o->gallery.from || o->gallery.until,
         "--only, --in-camera, --from and --until", " search "},
        {o->gallery.exact || o->gallery.candidates, "--exact and --candidates", " search "},
        {o->match.keep_self, "--keep-self", " search "},
        {o->match.weight_count, "--score-weights", " search "},
        {o->gallery.salvage, "--salvage", " compact "},
        {o->output.path != NULL, "-o", " export "},
        {o->input.boxes != NULL, "--boxes", " add search "},
        {o->output.stats, "--stats", " add search "},
        {o->output.trace != NULL, "--trace", " add search "},
        {o->input.strict, "--strict", " add remove search push "},
        {o->reembed.root || o->reembed.lease != 60.0, "--root and --lease", " reembed "},
        {o->reembed.status || o->reembed.compare || o->reembed.switch_over || o->reembed.back || o->reembed.drop ||
             o->reembed.partial,
         "--status, --compare, --switch, --back, --drop and --partial", " reembed "},
        {!isnan(o->calibrate.fmr), "--fmr", " reembed "},
    };
    char wanted[16];
    snprintf(wanted, sizeof wanted, " %s ", name);
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (rules[i].given && !strstr(rules[i].parts, wanted)) {
            say_error("gallery %s: %s cannot be used here, only with%.*s",
                      name, rules[i].option, (int)strlen(rules[i].parts) - 1,
                      rules[i].parts);
            return 0;
        }
    return 1;
}

int gallery_main(options *o) {
    const part *p = PARTS;
    if (!o->operand_count) {
        say_error("gallery: expected create, add, remove, list, search, set, compact, verify, export, push, pull, sql "
                  "or reembed; see \"reid help gallery\"");
        return 2;
    }
    while (p->name && strcmp(p->name, o->operands[0]) != 0) p++;
    if (!p->name) {
        say_error("gallery: unknown part \"%s\"; see \"reid help gallery\"", shown(o->operands[0]));
        return 2;
    }
    if (o->operand_count < 2 && p->run != print_sql) {
        say_error("gallery %s: no gallery: give its file or postgresql://...", p->name);
        return 2;
    }
    if (!p->operands && o->operand_count > 2) {
        say_error("gallery %s: unexpected argument: %s", p->name, shown(o->operands[2]));
        return 2;
    }
    if (!check_options(o, p->name)) return 2;
    options rest = *o;
    int named = o->operand_count > 1;
    rest.operands += 1 + named;
    rest.operand_count -= 1 + named;
    return p->run(&rest, named ? o->operands[1] : NULL);
}
