#include "gallery/gallery_file.h"

#include "base/files.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/say.h"
#include "base/when.h"
#include "embedding/npy.h"
#include "embedding/source_root.h"
#include "gallery/gallery_jsonl.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const size_t MAX_SIDE_FILE = (size_t)1 << 34;

/* Fields of a meta.json that gallery_file does not have. */
typedef struct meta {
    double rows, dim;
    int raw;
} meta;

static void read_name(json *j, char *out, size_t size) {
    text value = TEXT_INIT;
    if (json_string(j, &value) && snprintf(out, size, "%s", value.s) >= (int)size) json_fail(j, "the name is too long");
    text_free(&value);
}

static void read_decoders(json *j, char to[STORE_JPEG]) {
    text names = TEXT_INIT;
    to[0] = 0;
    if (json_string(j, &names) && (strlen(names.s) != names.len || !store_join_decoders(to, names.s)))
        json_fail(j, "invalid name of a JPEG decoder");
    text_free(&names);
}

static void read_model(json *j, store_model *m, meta *of) {
    text key = TEXT_INIT;
    double dim = 0;
    int raw = 0;
    for (json_object(j); json_key(j, &key);) {
        if (strcmp(key.s, "fingerprint") == 0) read_name(j, m->fingerprint, sizeof m->fingerprint);
        else if (strcmp(key.s, "precision") == 0) read_name(j, m->precision, sizeof m->precision);
        else if (strcmp(key.s, "network") == 0) read_name(j, m->network, sizeof m->network);
        else if (strcmp(key.s, "preset") == 0) read_name(j, m->preset, sizeof m->preset);
        else if (strcmp(key.s, "dim") == 0) json_number(j, &dim);
        else if (strcmp(key.s, "raw") == 0) json_bool(j, &raw);
        else json_skip(j);
    }
    m->dim = dim >= 1 && dim <= (double)STORE_MAX_DIM ? (int)dim : 0;
    if (!m->fingerprint[0] || !m->precision[0]) json_fail(j, "a model lacks fingerprint or precision");
    if (!m->dim) json_fail(j, "a model lacks dim");
    of->raw |= raw;
    text_free(&key);
}

static void read_models(json *j, gallery_file *f, meta *m) {
    store_meta *to = &f->makers;
    for (json_array(j); json_item(j); to->models++) {
        if (to->models >= STORE_MODELS) {
            json_fail(j, "more models than can be used together (2)");
            break;
        }
        read_model(j, &to->model[to->models], m);
        to->dim += to->model[to->models].dim;
    }
}

/* Appends a name. */
static int keep_name(json *j, const text *name, char ***names, size_t *count, size_t *cap) {
    char *copy = GROW(*names, *count, *cap) ? mem_copy(name->s ? name->s : "", name->len) : NULL;
    if (!copy) return json_fail(j, "out of memory");
    (*names)[(*count)++] = copy;
    return 1;
}

static void read_names(json *j, char ***names, size_t *count, size_t *cap) {
    text name = TEXT_INIT;
    for (json_array(j); json_item(j);)
        if (!json_string(j, &name) || !keep_name(j, &name, names, count, cap)) break;
    text_free(&name);
}

/* Pairs of tracks, one after the other. */
static void read_apart(json *j, gallery_file *f) {
    for (json_array(j); json_item(j);) {
        size_t before = f->apart_count;
        read_names(j, &f->apart, &f->apart_count, &f->apart_cap);
        if (!j->error[0] && f->apart_count != before + 2) json_fail(j, "expected two tracks");
    }
}

static void read_numbers(json *j, double **numbers, size_t *count, size_t *cap) {
    for (json_array(j); json_item(j);) {
        double number = (double)NAN;
        if (json_peek(j) == 'n' ? !json_skip(j) : !json_number(j, &number)) break;
        if (GROW(*numbers, *count, *cap)) (*numbers)[(*count)++] = number;
        else json_fail(j, "out of memory");
    }
}

static void read_weights(json *j, gallery_file *f) {
    double value;
    for (json_array(j); json_item(j) && json_number(j, &value);) {
        if (f->weight_count < STORE_MODELS) f->weights[f->weight_count++] = value;
        else json_fail(j, "too many shares");
    }
}

static void read_times(json *j, gallery_file *f) {
    text when = TEXT_INIT;
    for (json_array(j); json_item(j);) {
        long long time = STORE_NO_TIME;
        if (!json_string(j, &when)) break;
        if (when.len && !when_parse(when.s, &time)) json_fail(j, "not a valid time");
        if (GROW(f->times, f->time_count, f->time_cap)) f->times[f->time_count++] = time;
        else json_fail(j, "out of memory");
    }
    text_free(&when);
}

static void read_root(json *j, gallery_file *f) {
    text root = TEXT_INIT;
    if (json_string(j, &root)) {
        free(f->source_root);
        f->source_root = mem_copy(root.s, root.len);
        if (!f->source_root) json_fail(j, "out of memory");
    }
    text_free(&root);
}

/* Reads a member about the rows. Returns 0 if the member has another name. */
static int read_knowledge(json *j, const char *key, gallery_file *f) {
    if (strcmp(key, "identities") == 0) read_names(j, &f->identities, &f->identity_count, &f->identity_cap);
    else if (strcmp(key, "cameras") == 0) read_names(j, &f->cameras, &f->camera_count, &f->camera_cap);
    else if (strcmp(key, "sources") == 0) read_names(j, &f->sources, &f->source_count, &f->source_cap);
    else if (strcmp(key, "tracks") == 0) read_names(j, &f->tracks, &f->track_count, &f->track_cap);
    else if (strcmp(key, "times") == 0) read_times(j, f);
    else if (strcmp(key, "scores") == 0) read_numbers(j, &f->scores, &f->score_count, &f->score_cap);
    else if (strcmp(key, "boxes") == 0) read_numbers(j, &f->boxes, &f->box_count, &f->box_cap);
    else if (strcmp(key, "apart") == 0) read_apart(j, f);
    else if (strcmp(key, "score_weights") == 0) read_weights(j, f);
    else if (strcmp(key, "threshold") == 0) json_number(j, &f->threshold);
    else if (strcmp(key, "source_root") == 0) read_root(j, f);
    else return 0;
    return 1;
}

static int read_meta(const text *file, gallery_file *f, meta *m, text *why) {
    json j;
    text key = TEXT_INIT, format = TEXT_INIT;
    double version = 0;
    json_begin(&j, file->s, file->len);
    for (json_object(&j); json_key(&j, &key);) {
        if (strcmp(key.s, "format") == 0) json_string(&j, &format);
        else if (strcmp(key.s, "format_version") == 0) json_number(&j, &version);
        else if (strcmp(key.s, "rows") == 0) json_number(&j, &m->rows);
        else if (strcmp(key.s, "dim") == 0) json_number(&j, &m->dim);
        else if (strcmp(key.s, "models") == 0) read_models(&j, f, m);
        else if (strcmp(key.s, "jpeg") == 0) read_decoders(&j, f->jpeg);
        else if (!read_knowledge(&j, key.s, f)) json_skip(&j);
    }
    json_end(&j);
    text_clear(why);
    if (j.error[0]) text_puts(why, j.error);
    else if (!format.len || strcmp(format.s, "reid-embeddings") != 0 || version != 1)
        text_puts(why, "is not the metadata of embeddings (format reid-embeddings, version 1)");
    else if (f->makers.models < 1) text_puts(why, "does not name the model that made the embeddings");
    text_free(&key);
    text_free(&format);
    return why->len == 0;
}

static int read_ids(const text *file, gallery_file *f, text *why) {
    text id = TEXT_INIT;
    size_t returns = 0; /* ids that end in a CR */
    int good = 1;
    for (size_t at = 0; good && !text_failed(&id) && at < file->len; at++) {
        char c = file->s[at];
        if (c == '\n') {
            returns += id.len && id.s[id.len - 1] == '\r';
            char *copy = GROW(f->ids, f->id_count, f->id_cap) ? mem_copy(id.s ? id.s : "", id.len) : NULL;
            if (copy) f->ids[f->id_count++] = copy, text_clear(&id);
            else text_no_memory(&id);
        } else if (c == '\\') {
            c = file->s[++at]; /* safe at the end, where there is a 0 */
            good = c == '\\' || c == 'n';
            text_putc(&id, c == 'n' ? '\n' : c);
        } else {
            text_putc(&id, c);
        }
    }
    if (text_failed(&id)) {
        text_free(&id);
        return text_no_memory(why);
    }
    if (!good || id.len) {
        text_clear(why);
        text_puts(why, good ? "the last line does not end in a newline"
                            : "an unknown escape (only \\\\ and \\n are used)");
        good = 0;
    }
    if (good && returns && returns == f->id_count) { /* real ids do not all end in a CR */
        text_clear(why);
        text_puts(why, "its lines end in CR LF instead of LF, which would change every id; convert it back");
        good = 0;
    }
    text_free(&id);
    return good;
}

/* Checks that every model's part of every row has length 1, which NaN and damage fail, too. */
static int rows_are_unit(const gallery_file *f, text *why) {
    text reason = TEXT_INIT;
    for (size_t i = 0; i < f->count && !reason.len; i++) {
        if (row_is_unit(&f->makers, f->rows + i * f->columns, &reason)) continue;
        text_clear(why);
        text_printf(why, "row %zu %s: the file is damaged", i, reason.s);
    }
    int good = !reason.len;
    text_free(&reason);
    return good;
}

int gallery_file_is_folder(const char *path) {
    static const char *const files[] = {"crops.csv", "embeddings.npy", "embeddings.meta.json"};
    text name = TEXT_INIT;
    int found = 0;
    for (int i = 0; i < 3; i++) found += file_in_folder(&name, path, files[i]);
    text_free(&name);
    return found == 3;
}

int gallery_file_is_one(const char *path) {
    return gallery_file_is_folder(path) || path_has_ending(path, ".npy") || path_has_ending(path, ".fvecs") ||
           path_has_ending(path, ".jsonl");
}

/* Reads a file that belongs to path: a.npy has a.meta.json, a.jsonl has a.jsonl.meta.json. */
static int read_side_file(const char *path, const char *ending, text *name, text *content, text *why) {
    int cut = path_has_ending(path, ".npy") ? 4 : path_has_ending(path, ".fvecs") ? 6 : 0;
    text_clear(name);
    text_printf(name, "%.*s%s", (int)strlen(path) - cut, path, ending);
    if (text_failed(name)) return text_no_memory(why);
    return file_read(name->s, MAX_SIDE_FILE, 1, content, why);
}

/* Reads .fvecs. Each row is its number of floats as int32, then the floats. */
static int fvecs_read(const text *file, gallery_file *f, text *why) {
    size_t row = 4 + 4 * f->columns;
    text_clear(why);
    f->count = file->len / row;
    if (file->len % row) text_printf(why, "its %zu bytes are not whole rows of %zu floats", file->len, f->columns);
    f->rows = mem_array(f->count * f->columns, sizeof *f->rows);
    if (!f->rows) return text_no_memory(why);
    for (size_t i = 0; i < f->count && !why->len; i++) {
        int32_t dim;
        memcpy(&dim, file->s + i * row, 4);
        if ((size_t)dim != f->columns) text_printf(why, "row %zu has %d floats, not %zu", i, (int)dim, f->columns);
        memcpy(f->rows + i * f->columns, file->s + i * row + 4, 4 * f->columns);
    }
    return why->len == 0;
}

static int read_rows(gallery_file *f, const char *path, text *why) {
    text file = TEXT_INIT;
    if (path_has_ending(path, ".npy")) return npy_read(path, &f->rows, &f->count, &f->columns, why);
    f->columns = (size_t)f->makers.dim;
    int good = file_read(path, MAX_SIDE_FILE << 6, 1, &file, why) &&
               (path_has_ending(path, ".fvecs") ? fvecs_read(&file, f, why) : gallery_jsonl_read(f, &file, why));
    text_free(&file);
    return good;
}

static void free_all(char **names, size_t count) {
    for (size_t i = 0; i < count; i++) free(names[i]);
}

static void forget_names(gallery_file *f) {
    free_all(f->identities, f->identity_count), free_all(f->cameras, f->camera_count);
    f->identity_count = f->camera_count = f->time_count = 0;
}

/* Checks that rows, ids and metadata have one shape. Returns 0 with the reason in why. */
static int rows_fit(const gallery_file *f, const meta *m, text *why) {
    if (f->count != f->id_count || (double)f->count != m->rows || (double)f->columns != m->dim)
        return refuse(why,
                      "%zu x %zu floats, but its .ids.txt has %zu rows and its .meta.json says %.0f x %.0f: these "
                      "files do not belong together",
                      f->count, f->columns, f->id_count, m->rows, m->dim);
    return f->columns == (size_t)f->makers.dim ||
           refuse(why, "%zu x %zu floats, but the models in its .meta.json make %d: these files do not belong together",
                  f->count, f->columns, f->makers.dim);
}

/* Checks that each array is missing or has one element for each row. Returns 0 with the reason in why. */
static int columns_fit(const gallery_file *f, text *why) {
    const struct {
        const char *name;
        size_t count;
    } arrays[] = {
        {"identities", f->identity_count}, {"cameras", f->camera_count}, {"times", f->time_count},
        {"sources", f->source_count},      {"tracks", f->track_count},   {"scores", f->score_count},
        {"boxes", f->box_count},
    };
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        if (arrays[i].count && arrays[i].count != f->count)
            return refuse(why, "%zu row%s, but its .meta.json has %zu %s: these files do not belong together", f->count,
                          plural(f->count), arrays[i].count, arrays[i].name);
    return 1;
}

/* Metadata without the member `identities` name no individual. */
static int complete_identities(gallery_file *f, text *why) {
    while (f->identity_count < f->count) {
        char *none = GROW(f->identities, f->identity_count, f->identity_cap) ? mem_copy("", 0) : NULL;
        if (!none) return text_no_memory(why);
        f->identities[f->identity_count++] = none;
    }
    return 1;
}

static int read_parts(gallery_file *f, const char *path, int raw, meta *m, text *name, text *why) {
    text content = TEXT_INIT;
    int has_ids = !path_has_ending(path, ".jsonl");
    int good = read_side_file(path, ".meta.json", name, &content, why);
    if (!good && !text_failed(why))
        text_printf(why, "; without it a %s file cannot be used, because its model is unknown",
                    strrchr(path, '.'));
    good = good && read_meta(&content, f, m, why);
    if (good && m->raw != raw) {
        text_clear(name);
        text_puts(name, path);
        text_puts(why, raw ? "contains embeddings of unit length, but a head needs raw features; compute it again with "
                             "--raw --head none"
                           : "contains raw embeddings, not of unit length; compute it again without --raw");
        good = 0;
    }
    if (!has_ids) forget_names(f); /* the lines have them, too */
    good = good && (!has_ids || (read_side_file(path, ".ids.txt", name, &content, why) && read_ids(&content, f, why)));
    text_free(&content);
    if (!good) return 0;
    text_clear(name);
    text_puts(name, path);
    if (!read_rows(f, path, why)) return 0;
    if (!rows_fit(f, m, why) || !columns_fit(f, why) || !complete_identities(f, why)) return 0;
    if (!raw && !rows_are_unit(f, why)) return 0;
    return !f->source_root || source_root_apply(f->source_root, path, f->sources, f->source_count) ||
           text_no_memory(why);
}

/* The file itself, or the one with the rows in a folder of reid track. */
static void add_rows_path(text *t, const char *given) {
    text_printf(t, gallery_file_is_folder(given) ? "%s/embeddings.npy" : "%s", given);
}

static int read_file(gallery_file *f, const char *given, int raw) {
    text why = TEXT_INIT, name = TEXT_INIT, file = TEXT_INIT;
    meta m = {0, 0, 0};
    memset(f, 0, sizeof *f);
    f->threshold = (double)NAN;
    add_rows_path(&file, given);
    const char *path = text_failed(&file) ? given : file.s;
    text_puts(&name, path);
    if (!gallery_file_is_one(path)) text_puts(&why, "expected a .npy, .fvecs or .jsonl file");
    else if (!read_parts(f, path, raw, &m, &name, &why) && !why.len) text_puts(&why, "cannot be used");
    if (why.len) say_error("%s: %s", shown(name.s), why.s);
    int good = !why.len;
    text_free(&why);
    text_free(&name);
    text_free(&file);
    return good;
}

int gallery_file_read(gallery_file *f, const char *path) { return read_file(f, path, 0); }

int gallery_file_read_raw(gallery_file *f, const char *path) { return read_file(f, path, 1); }

int gallery_file_is_nameless(const char *path) {
    gallery_file f;
    meta m = {0, 0, 0};
    text file = TEXT_INIT, name = TEXT_INIT, content = TEXT_INIT, why = TEXT_INIT;
    memset(&f, 0, sizeof f);
    add_rows_path(&file, path);
    int nameless = !text_failed(&file) && gallery_file_is_one(file.s) &&
                   read_side_file(file.s, ".meta.json", &name, &content, &why) && read_meta(&content, &f, &m, &why) &&
                   m.rows > 0;
    if (nameless && path_has_ending(file.s, ".jsonl")) { /* its lines have the names */
        forget_names(&f);
        nameless = read_rows(&f, file.s, &why);
    }
    for (size_t i = 0; i < f.identity_count; i++) nameless = nameless && !*f.identities[i];
    gallery_file_free(&f);
    text_free(&file), text_free(&name), text_free(&content), text_free(&why);
    return nameless;
}

size_t gallery_file_unnamed(const gallery_file *f) {
    size_t unnamed = 0;
    for (size_t i = 0; i < f->count; i++) unnamed += !*f->identities[i];
    return unnamed;
}

void gallery_file_free(gallery_file *f) {
    for (size_t i = 0; i < f->id_count; i++) free(f->ids[i]);
    forget_names(f);
    free(f->ids);
    free(f->identities);
    free(f->cameras);
    free(f->times);
    free_all(f->sources, f->source_count), free_all(f->tracks, f->track_count), free_all(f->apart, f->apart_count);
    free(f->source_root), free(f->sources), free(f->tracks), free(f->apart), free(f->scores), free(f->boxes);
    free(f->rows);
    memset(f, 0, sizeof *f);
}
