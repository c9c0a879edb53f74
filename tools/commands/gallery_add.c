/* reid gallery add: adds images, lists of images and files of embeddings as templates. */
#include "base/clock.h"
#include "base/csv.h"
#include "base/files.h"
#include "base/json_write.h"
#include "base/memory.h"
#include "base/results.h"
#include "base/say.h"
#include "base/when.h"
#include "commands/gallery_add.h"
#include "base/unicode.h"
#include "commands/gallery_groups.h"
#include "commands/requests.h"
#include "evaluate/eval_labels.h"
#include "gallery/gallery_file.h"
#include "gallery/templates.h"
#include "pictures/box_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COMMIT_EVERY = 256 }; /* templates, or as many as come in a second */

/* Camera and time of an input; camera NULL: use --camera. */
typedef struct camera_time {
    char *camera;
    long long time;
} camera_time;

/* The line to print about a template once it is stored. */
typedef struct pending_message {
    size_t end; /* end of the line in the pending output */
    int refused;
} pending_message;

typedef struct adding {
    const options *o;
    const char *path;
    templates *to;
    const inputs *list;
    camera_time *of;          /* [list->count], or NULL */
    long long time;            /* --time */
    const char *hashed;        /* the file that size and hash belong to */
    uint64_t size, hash;
    uint16_t *half_row;        /* [dim] */
    const char *jpeg;          /* the decoder of the JPEG files behind added templates; "": unknown */
    text said;                 /* output about templates not yet stored, one line each */
    text source;               /* of the last image */
    pending_message *lines;          /* [waiting], with --json */
    size_t line_cap, waiting, late, added, failed, strangers; /* late: waiting ones that a commit has refused */
    size_t identities;         /* of images, by their folders; 0: not counted */
    double saved;
    int broken, untraced;      /* untraced: --trace could not be written */
    int warned;                /* 1: warned of an individual called "unknown" */
} adding;

static int count_failure(adding *a) {
    a->failed++;
    return !a->o->input.strict;
}

static int refuse_one(adding *a, const char *id, const char *why) {
    say_error("%s: %s", shown(id), why);
    return count_failure(a);
}

/* Reports an id that another writer has added since it was looked up. */
static void refuse_late(void *user, size_t number, const char *id, const char *why) {
    adding *a = user;
    refuse_one(a, id, why);
    a->late++;
    if (a->o->output.json) a->lines[number].refused = 1;
}

/* Prints the lines about stored templates. Returns 0 when stdout cannot be written. */
static int tell_stored(adding *a) {
    text t = TEXT_INIT;
    for (size_t i = 0, at = 0; i < a->waiting; at = a->lines[i++].end)
        if (!a->lines[i].refused && !text_failed(&a->said)) text_add(&t, a->said.s + at, a->lines[i].end - at);
    if (text_failed(&a->said)) text_no_memory(&t);
    int good = results_write(&t) && fflush(stdout) == 0;
    text_free(&t);
    return good;
}

/* Says that nothing more can be stored. Always returns 0. */
static int give_up(adding *a, templates_result result, const char *why) {
    say_error(result == TEMPLATES_UNKNOWN ? "%s: %s; %zu template%s had been added before"
                                          : "%s: %s; the gallery is unchanged except for %zu template%s added before",
              shown(a->path), why, a->added, plural(a->added));
    a->broken = 1;
    return 0;
}

/* Stores pending templates, then reports them. */
static int commit(adding *a) {
    char why[STORE_WHY] = "";
    const commit_rules rules = {a->o->input.strict, refuse_late, a};
    a->saved = clock_seconds();
    if (a->broken || !a->waiting) return !a->broken;
    a->late = 0;
    templates_result result = templates_commit(a->to, &rules, why);
    if (result < TEMPLATES_REFUSED) return give_up(a, result, why);
    if (result == TEMPLATES_DONE) {
        a->added += a->waiting - a->late;
        if (a->o->output.json && !tell_stored(a)) a->broken = 1;
    }
    a->waiting = 0;
    text_clear(&a->said);
    return !a->broken;
}

/* Prepares the line to print once the newest template is stored. */
static int prepare_line(adding *a, const store_item *item) {
    if (!NEED(a->lines, a->waiting, a->line_cap)) return 0;
    json_writer w = json_write(&a->said);
    json_put_object(&w, NULL);
    json_put_string(&w, "added", item->id);
    json_put_string(&w, "identity", item->identity);
    json_put_finish(&w);
    a->lines[a->waiting] = (pending_message){a->said.len, 0};
    return 1;
}

/* Adds one template. Returns 0 to stop. */
static int add_one(adding *a, const store_item *item, const float *row) {
    char why[STORE_WHY] = "";
    const char *identity;
    const store_meta *meta = templates_info(a->to);
    if (a->o->input.unknown && name_same(item->identity, a->o->input.unknown)) {
        a->strangers++;
        return 1;
    }
    if (!a->o->input.unknown && !a->warned) a->warned = warn_of_strangers(item->identity);
    if (meta->halves) reid_to_halves(row, a->half_row, (size_t)meta->dim); /* too large for a half: becomes infinite */
    templates_result result = templates_add(a->to, item, meta->halves ? (const void *)a->half_row : row, why);
    if (result == TEMPLATES_DONE) {
        templates_result named = templates_add_decoders(a->to, a->jpeg, why);
        if (named != TEMPLATES_DONE) return give_up(a, named, why);
        if (a->o->output.json && !prepare_line(a, item)) return a->broken = 1, 0;
        a->waiting++;
        if (a->o->input.strict || (a->waiting < COMMIT_EVERY && clock_seconds() - a->saved < 1)) return 1;
        return commit(a);
    }
    if (result == TEMPLATES_FAILED) return give_up(a, result, why);
    int go_on = refuse_one(a, item->id, why);
    /* If the id is not in the gallery yet, the disk may be the reason; then committing fails, too. */
    return go_on && (templates_find(a->to, item->id, &identity, why) == TEMPLATES_DONE || commit(a));
}

/* --- images ------------------------------------------------------------------------------------------------------- */

static int add_picture(void *user, size_t index, const float *row, const char *why) {
    adding *a = user;
    const input *in = &a->list->at[index];
    if (!row) return inputs_say_failure(in, why), count_failure(a);
    if (!a->hashed || strcmp(a->hashed, in->path) != 0) store_hash_file(in->path, &a->size, &a->hash);
    a->hashed = in->path; /* boxes of one image are adjacent */
    const char *camera = a->of && a->of[index].camera ? a->of[index].camera
                         : a->o->gallery.camera       ? a->o->gallery.camera
                         : in->camera                 ? in->camera
                                                      : "";
    long long time = a->of && a->of[index].time != STORE_NO_TIME ? a->of[index].time : a->time;
    text_clear(&a->source);
    box_text(&a->source, in);
    if (!need_text(&a->source)) return a->broken = 1, 0;
    store_item item = {in->id, in->identity, camera, a->source.s, time, a->size, a->hash};
    return add_one(a, &item, row);
}

/* --- lists -------------------------------------------------------------------------------------------------------- */

enum { PATH, IDENTITY, CAMERA, TIME, ID, COLUMNS };

static int find_columns(const csv *c, int column[COLUMNS], text *why) {
    static const char *const names[COLUMNS] = {"path", "identity", "camera", "time", "id"};
    for (int k = 0; k < COLUMNS; k++) column[k] = -1;
    for (int i = 0; i < c->count; i++) {
        int k = 0;
        while (k < COLUMNS && !csv_is_named(c, i, names[k])) k++;
        if (k == COLUMNS || column[k] >= 0) {
            text_printf(why, "line %zu: \"%.60s\" is not a column, or is given twice; the columns are path, identity, "
                             "camera, time and id", c->line, csv_field(c, i));
            return 0;
        }
        column[k] = i;
    }
    if (column[PATH] >= 0 && column[IDENTITY] >= 0) return 1;
    text_puts(why, "the first line must name the columns, including path and identity");
    return 0;
}

static const char *cell(const csv *c, const int column[COLUMNS], int which) {
    return column[which] < 0 ? "" : csv_field(c, column[which]);
}

static int take_record(csv *c, const int column[COLUMNS], int columns, inputs *list, camera_time *to,
                       text *why) {
    const char *path = cell(c, column, PATH), *id = cell(c, column, ID), *time = cell(c, column, TIME);
    const char *camera = cell(c, column, CAMERA), *identity = cell(c, column, IDENTITY);
    to->time = STORE_NO_TIME;
    to->camera = NULL;
    if (!csv_has_fields(c, columns))
        text_printf(why, "line %zu: expected %d fields, found %d", c->line, columns, c->count);
    else if (!*path || !*identity) text_printf(why, "line %zu: no path or no identity", c->line);
    else if (*time && !when_parse(time, &to->time))
        text_printf(why, "line %zu: \"%.60s\" is not a valid time", c->line, time);
    if (why->len) return 0;
    char *who = mem_copy(identity, strlen(identity)), *where = *camera ? mem_copy(camera, strlen(camera)) : NULL;
    input *in = who && !*camera == !where ? inputs_add(list, path, 0, *id ? id : path) : NULL;
    if (!in) {
        free(who), free(where);
        return text_no_memory(why);
    }
    free(in->identity);
    in->identity = who;
    to->camera = where;
    return 1;
}

/* Reads --list. Returns 0 after saying what is wrong. */
static int read_list(adding *a, inputs *list) {
    text content = TEXT_INIT, why = TEXT_INIT;
    csv c;
    int column[COLUMNS], columns = 0;
    size_t cap = 0;
    int good = file_read(a->o->gallery.list, (size_t)1 << 32, 0, &content, &why);
    csv_begin_table(&c, content.s ? content.s : "", content.len);
    if (good) {
        text_clear(&why);
        if (csv_record(&c)) good = find_columns(&c, column, &why), columns = c.count;
        else if (!c.error) text_puts(&why, "the list is empty");
        while (good && !why.len && csv_record(&c)) {
            good = GROW(a->of, list->count, cap) ? 1 : text_no_memory(&why);
            good = good && take_record(&c, column, columns, list, &a->of[list->count], &why);
        }
        if (c.error) text_printf(&why, "line %zu: %s", c.line, c.error);
        good = !why.len;
    }
    if (!good) say_error("%s: %s", shown(a->o->gallery.list), shown(why.s));
    csv_free(&c);
    text_free(&content);
    text_free(&why);
    return good;
}

static void free_circumstances(adding *a, size_t count) {
    for (size_t i = 0; a->of && i < count; i++) free(a->of[i].camera);
    free(a->of);
}

/* --- the command -------------------------------------------------------------------------------------------------- */

/* Refuses boxes without identities: their folders are cameras. Says where identities come from otherwise. */
static int check_identities(adding *a, const inputs *list) {
    size_t unnamed;
    if (!inputs_identities(list, &a->identities, &unnamed)) return 0;
    if (!unnamed) return 1;
    say_error("%s: %zu box%s no identity, because folders of photos are cameras; name the individuals in a CSV file "
              "with a column identity, or embed the boxes, group them with reid cluster, and give --groups FILE.csv",
              shown(a->o->input.boxes), unnamed, unnamed == 1 ? " has" : "es have");
    return 0;
}

static int collect(adding *a, inputs *list) {
    if (a->o->gallery.list) return read_list(a, list);
    return collect_inputs(list, a->o) && check_identities(a, list);
}

static int add_pictures(adding *a, const store_meta *meta) {
    inputs list = {0};
    models all;
    store_meta ours;
    int good = 0;
    if (a->o->gallery.list && (a->o->operand_count || a->o->input.boxes))
        say_error("gallery add: --list names the images: remove the other arguments");
    else if (!a->o->gallery.list && !a->o->operand_count && !a->o->input.boxes)
        say_error("gallery add: nothing to add: give images, folders, --list, --boxes or a file of embeddings");
    else if (collect(a, &list) && open_models(&all, a->o)) {
        makers_of_models(&all, &ours);
        if (makers_agree(meta, a->path, &ours, &all, NULL)) {
            int traced;
            a->jpeg = jpeg_decoder_name((jpeg_decoder)a->o->input.jpeg);
            makers_note_decoders(meta->jpeg, a->path, a->jpeg, NULL);
            stream_job job = {.all = &all, .list = &list, .first = 0, .end = list.count, .decode = decoding(a->o),
                              .label = "adding", .fn = add_picture, .user = a, .last = "store"};
            a->list = &list;
            stream_result end = run_stream(a->o, &job, &traced);
            if (end == STREAM_INTERRUPTED && !a->o->input.strict) commit(a);
            if (end == STREAM_FAILED) a->broken = 1;
            if (!traced) a->untraced = 1;
            good = end != STREAM_INTERRUPTED;
        }
        models_close(&all);
    }
    free_circumstances(a, list.count);
    inputs_free(&list);
    a->list = NULL;
    return good;
}

static int add_file(adding *a, const store_meta *meta, const char *name) {
    gallery_file f;
    int good = gallery_file_read(&f, name) && makers_agree(&f.makers, name, meta, NULL, a->path), go_on = 1;
    a->jpeg = f.jpeg;
    size_t unnamed = good ? gallery_file_unnamed(&f) : 0;
    if (unnamed) {
        say_error("%s: %zu of its %zu crop%s no identity%s; name the individuals with --groups FILE.csv (from "
                  "reid cluster and reid review)", shown(name), unnamed, f.count, f.count == 1 ? " has" : "s have",
                  makers_nameless(&f.makers));
        good = 0;
    }
    if (good) makers_note_decoders(f.jpeg, name, templates_info(a->to)->jpeg, a->path);
    for (size_t i = 0; good && go_on && i < f.count && !interrupted(); i++) {
        const char *camera = f.cameras && *f.cameras[i] ? f.cameras[i]
                             : a->o->gallery.camera     ? a->o->gallery.camera
                                                        : "";
        long long time = f.times && f.times[i] != STORE_NO_TIME ? f.times[i] : a->time;
        store_item item = {f.ids[i], f.identities[i], camera, "", time, 0, 0};
        go_on = add_one(a, &item, f.rows + i * f.columns);
    }
    if (!good) a->failed++;
    a->jpeg = "";
    gallery_file_free(&f);
    return go_on && (good || !a->o->input.strict);
}

static int all_are_files(const options *o) {
    for (int i = 0; i < o->operand_count; i++)
        if (!gallery_file_is_one(o->operands[i])) return 0;
    return o->operand_count > 0;
}

static int finish(adding *a, int begun) {
    text t = TEXT_INIT;
    if (begun && !(a->o->input.strict && a->failed)) commit(a);
    int strict_failure = a->o->input.strict && a->failed;
    if (strict_failure) say_error("stopped at the first failed input; nothing was added (--strict)");
    if (begun && !a->o->output.json && !strict_failure) {
        text_printf(&t, "added %zu\n", a->added);
        if (a->identities && !a->o->input.boxes)
            text_printf(&t, "%zu identit%s, from folders\n", a->identities, a->identities == 1 ? "y" : "ies");
        if (a->strangers) text_printf(&t, "left out %zu image%s of strangers\n", a->strangers, plural(a->strangers));
        results_write(&t);
    }
    text_free(&t);
    if (!results_end(1)) return 2;
    if (strict_failure) return 1;
    if (a->untraced) return 2;
    return a->added ? a->failed || a->broken : begun && !a->failed && !a->broken ? 0 : 2;
}

int gallery_add(options *o, const char *path) {
    adding a;
    if (o->gallery.groups && o->input.unknown) {
        say_error("gallery add: --groups leaves out crops without a name; --unknown is for images and files");
        return 2;
    }
    if (o->gallery.groups) return gallery_add_groups(o, path);
    memset(&a, 0, sizeof a);
    a.o = o, a.path = path, a.jpeg = "", a.time = STORE_NO_TIME, a.saved = clock_seconds();
    if (o->gallery.time && !when_parse(o->gallery.time, &a.time)) {
        say_error("gallery add: --time takes 2024-05-31T06:30:00Z, 2024-05-31 or seconds since 1970, not \"%s\"",
                  shown(o->gallery.time));
        return 2;
    }
    int files = !o->models && all_are_files(o), begun = 1;
    if (files && o->output.trace) {
        say_error("gallery add: --trace needs images; files of embeddings are only copied");
        return 2;
    }
    a.to = templates_change(path);
    if (!a.to) return 2;
    store_meta meta = *templates_info(a.to);
    a.half_row = need_array((size_t)meta.dim, sizeof *a.half_row);
    if (!a.half_row) {
        templates_close(a.to);
        return 2;
    }
    results_begin(0);
    for (int i = 0; files && i < o->operand_count; i++)
        if (!add_file(&a, &meta, o->operands[i])) break;
    if (!files) begun = add_pictures(&a, &meta);
    int status = interrupted() && !files ? 2 : finish(&a, begun);
    text_free(&a.said);
    text_free(&a.source);
    free(a.lines);
    free(a.half_row);
    templates_close(a.to);
    return status;
}
