#include "gallery_file.h"

#include "files.h"
#include "json.h"
#include "npy.h"
#include "say.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const size_t MAX_SIDE_FILE = (size_t)1 << 34;

typedef struct meta {
    double rows, dim;
} meta;

static void read_model(json *j, made_by *m) {
    text key = TEXT_INIT;
    for (json_object(j); json_key(j, &key);) {
        if (strcmp(key.s, "fingerprint") == 0) json_string(j, &m->fingerprint);
        else if (strcmp(key.s, "precision") == 0) json_string(j, &m->precision);
        else if (strcmp(key.s, "network") == 0) json_string(j, &m->network);
        else if (strcmp(key.s, "preset") == 0) json_string(j, &m->preset);
        else if (strcmp(key.s, "device") == 0) json_string(j, &m->device);
        else if (strcmp(key.s, "dim") == 0) json_number(j, &m->dim);
        else if (strcmp(key.s, "raw") == 0) json_bool(j, &m->raw);
        else json_skip(j);
    }
    if (!m->fingerprint.len || !m->precision.len) json_fail(j, "a model without fingerprint or precision");
    text_free(&key);
}

static void read_models(json *j, gallery_file *f) {
    for (json_array(j); json_item(j); f->models++) {
        if (f->models < MAX_MODELS) read_model(j, &f->model[f->models]);
        else json_skip(j);
    }
}

static void read_identities(json *j, gallery_file *f) {
    text name = TEXT_INIT;
    for (json_array(j); json_item(j);) {
        if (!json_string(j, &name)) break;
        GROW(f->identities, f->identity_count, f->identity_cap);
        f->identities[f->identity_count++] = must_copy(name.s, name.len);
    }
    text_free(&name);
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
        else if (strcmp(key.s, "models") == 0) read_models(&j, f);
        else if (strcmp(key.s, "identities") == 0) read_identities(&j, f);
        else json_skip(&j);
    }
    json_end(&j);
    text_clear(why);
    if (j.error[0]) text_puts(why, j.error);
    else if (!format.len || strcmp(format.s, "reid-embeddings") != 0 || version != 1)
        text_puts(why, "is not the metadata of embeddings (format reid-embeddings, version 1)");
    text_free(&key);
    text_free(&format);
    return why->len == 0;
}

static int read_ids(const text *file, gallery_file *f, text *why) {
    text id = TEXT_INIT;
    int good = 1;
    for (size_t at = 0; good && at < file->len; at++) {
        char c = file->s[at];
        if (c == '\n') {
            GROW(f->ids, f->id_count, f->id_cap);
            f->ids[f->id_count++] = must_copy(id.s ? id.s : "", id.len);
            text_clear(&id);
        } else if (c == '\\') {
            c = file->s[++at]; /* the text ends with a 0 */
            good = c == '\\' || c == 'n';
            text_putc(&id, c == 'n' ? '\n' : c);
        } else {
            text_putc(&id, c);
        }
    }
    if (!good || id.len) {
        text_clear(why);
        text_puts(why, good ? "the last line is not ended" : "an unknown escape (only \\\\ and \\n are used)");
        good = 0;
    }
    text_free(&id);
    return good;
}

static int none_is_raw(const gallery_file *f, const char *path) {
    for (int i = 0; i < f->models && i < MAX_MODELS; i++) {
        if (!f->model[i].raw) continue;
        say_error("%s: holds raw embeddings, which have no unit length; make it again without --raw", shown(path));
        return 0;
    }
    return 1;
}

/* The same vectors would come out of `all`: fingerprints agree, in order. */
static int made_by_these(const gallery_file *f, const char *path, const models *all) {
    if (f->models != all->count) {
        say_error("%s: made with %d model(s), but %d are given with -m", shown(path), f->models, all->count);
        return 0;
    }
    if (!none_is_raw(f, path)) return 0;
    for (int i = 0; i < all->count; i++) {
        const made_by *by = &f->model[i];
        const reid_info *info = &all->at[i].info;
        if (strcmp(by->fingerprint.s, info->fingerprint) != 0) {
            say_error("%s was made by %s (%s, %s), but %s with these options makes %s (%s, %s): their embeddings "
                      "cannot be compared", shown(path), by->fingerprint.s, by->network.len ? by->network.s : "?",
                      by->preset.len ? by->preset.s : "?", shown(all->at[i].weights), info->fingerprint, info->network,
                      info->preset);
            return 0;
        }
        if (strcmp(by->precision.s, info->precision) != 0)
            say_warning("%s was computed in %s, queries are in %s: scores shift slightly", shown(path), by->precision.s,
                        info->precision);
    }
    return 1;
}

static double length_of(const float *v, int dim) {
    double sum = 0;
    for (int i = 0; i < dim; i++) sum += (double)v[i] * v[i];
    return sqrt(sum);
}

/* The parts of a row, as the file has them, make the whole row. */
static int parts_fit(const gallery_file *f, text *why) {
    double sum = 0;
    int good = f->models > 0 && f->models <= MAX_MODELS;
    for (int m = 0; m < f->models && good; m++) {
        sum += f->model[m].dim;
        good = f->model[m].dim >= 1 && f->model[m].dim <= (double)f->columns;
    }
    good = good && sum == (double)f->columns;
    text_clear(why);
    if (!good) text_printf(why, "its .meta.json does not name at most %d models that make %zu floats", MAX_MODELS,
                           f->columns);
    return good;
}

/* Every part of every row has length 1; NaN and damage fail this too. */
static int rows_are_unit(const gallery_file *f, text *why) {
    for (size_t i = 0; i < f->count; i++) {
        const float *part = f->rows + i * f->columns;
        for (int m = 0; m < f->models; part += (int)f->model[m++].dim) {
            double length = length_of(part, (int)f->model[m].dim);
            if (length > 0.999 && length < 1.001) continue;
            text_clear(why);
            if (isnan(length) || isinf(length))
                text_printf(why, "row %zu holds a number that is not finite: the file is damaged", i);
            else
                text_printf(why, "row %zu has length %g instead of 1: the file is damaged", i, length);
            return 0;
        }
    }
    return 1;
}

static int read_side_file(const char *path, const char *ending, text *name, text *content, text *why) {
    text_clear(name);
    text_printf(name, "%.*s%s", (int)strlen(path) - 4, path, ending);
    return file_read(name->s, MAX_SIDE_FILE, 1, content, why);
}

static int read_parts(gallery_file *f, const char *path, const models *all, meta *m, text *name, text *why) {
    text content = TEXT_INIT;
    int good = read_side_file(path, ".meta.json", name, &content, why);
    if (!good) text_puts(why, "; a .npy file without it cannot be used, for nothing says which model made it");
    good = good && read_meta(&content, f, m, why) && read_side_file(path, ".ids.txt", name, &content, why) &&
           read_ids(&content, f, why);
    text_free(&content);
    if (!good || !(all ? made_by_these(f, path, all) : none_is_raw(f, path))) return good; /* the latter have spoken */
    text_clear(name);
    text_puts(name, path);
    if (!npy_read(path, &f->rows, &f->count, &f->columns, why)) return 0;
    if (f->count != f->id_count || f->count != f->identity_count || (double)f->count != m->rows ||
        (all && f->columns != (size_t)all->dim) || (double)f->columns != m->dim) {
        text_printf(why, "%zu x %zu floats, but its .ids.txt has %zu rows and its .meta.json says %.0f x %.0f: these "
                         "files do not belong together", f->count, f->columns, f->id_count, m->rows, m->dim);
        return 0;
    }
    return parts_fit(f, why) && rows_are_unit(f, why);
}

int gallery_file_read(gallery_file *f, const char *path, const models *all) {
    text why = TEXT_INIT, name = TEXT_INIT;
    meta m;
    size_t len = strlen(path);
    memset(f, 0, sizeof *f);
    memset(&m, 0, sizeof m);
    text_puts(&name, path);
    if (len < 5 || strcmp(path + len - 4, ".npy") != 0)
        text_puts(&why, "a gallery is a folder or a .npy file written by reid embed");
    else if (!read_parts(f, path, all, &m, &name, &why) && !why.len)
        text_puts(&why, "cannot be used");
    if (why.len) say_error("%s: %s", shown(name.s), why.s);
    int good = !why.len && f->rows;
    text_free(&why);
    text_free(&name);
    return good;
}

void made_by_free(made_by *m) {
    text_free(&m->fingerprint);
    text_free(&m->precision);
    text_free(&m->network);
    text_free(&m->preset);
    text_free(&m->device);
}

void gallery_file_free(gallery_file *f) {
    for (size_t i = 0; i < f->id_count; i++) free(f->ids[i]);
    for (size_t i = 0; i < f->identity_count; i++) free(f->identities[i]);
    for (int i = 0; i < MAX_MODELS; i++) made_by_free(&f->model[i]);
    free(f->ids);
    free(f->identities);
    free(f->rows);
    memset(f, 0, sizeof *f);
}
