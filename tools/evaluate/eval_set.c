#include "evaluate/eval_set.h"

#include "base/memory.h"
#include "base/say.h"
#include "base/spelling.h"
#include "base/unicode.h"
#include "embedding/models.h"
#include "embedding/stream.h"
#include "evaluate/eval_label_table.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- names to numbers -------------------------------------------------------------------------------------------- */
typedef struct named {
    const char *name;
    size_t place;
} named;

static int by_name(const void *a, const void *b) {
    const named *x = a, *y = b;
    int order = name_order_spelled(x->name, y->name);
    return order ? order : (x->place > y->place) - (x->place < y->place);
}

/* Numbers names from 0 in their order; equal names get equal numbers. Returns how many different ones there are.
   sorted: working memory for count names. */
static size_t number_names(const named *names, size_t count, size_t *number, named *sorted) {
    size_t distinct = 0;
    memcpy(sorted, names, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, by_name);
    for (size_t i = 0; i < count; i++) {
        distinct += i > 0 && !name_same(sorted[i].name, sorted[i - 1].name);
        number[sorted[i].place] = distinct;
    }
    return count ? distinct + 1 : 0;
}

static int number_all(eval_set *set) {
    named *names = need_array(set->count + 1, 2 * sizeof *names);
    size_t *number = names ? need_array(set->count + 1, sizeof *number) : NULL, n = 0;
    if (!number) {
        free(names);
        return 0;
    }
    named *room = names + set->count;
    for (size_t i = 0; i < set->count; i++) {
        names[i].place = i;
        names[i].name = set->at[i].label->identity;
    }
    set->identities = number_names(names, set->count, number, room);
    for (size_t i = 1; i < set->count && !name_warn_of_forms(room[i - 1].name, room[i].name); i++) {}
    for (size_t i = 0; i < set->count; i++) {
        set->at[i].identity = number[i];
        names[i].name = set->at[i].label->id;
    }
    number_names(names, set->count, number, room);
    for (size_t i = 0; i < set->count; i++) {
        set->at[i].picture = number[i];
        set->at[i].camera = SIZE_MAX;
        if (!set->at[i].label->camera) continue;
        names[n].place = n;
        names[n++].name = set->at[i].label->camera;
    }
    set->cameras = number_names(names, n, number, room);
    set->every_camera = n == set->count;
    for (size_t i = 0, k = 0; i < set->count; i++)
        if (set->at[i].label->camera) set->at[i].camera = number[k++];
    free(names);
    free(number);
    return 1;
}

/* Checks that no id has two rows in one role, which could not be distinguished, and that no image has two
   identities. */
static int ids_differ(const label_set *labels) {
    named *sorted = need_array(labels->count + 1, sizeof *sorted);
    const char *twice = NULL, *two = NULL;
    if (!sorted) return 0;
    for (size_t i = 0; i < labels->count; i++) {
        sorted[i].name = labels->at[i].id;
        sorted[i].place = i;
    }
    qsort(sorted, labels->count, sizeof *sorted, by_name);
    for (size_t i = 1; i < labels->count && !twice; i++) {
        const labelled *a = &labels->at[sorted[i - 1].place], *b = &labels->at[sorted[i].place];
        int same_role = (a->query && b->query) || (a->gallery && b->gallery);
        if (!name_same(a->id, b->id)) continue;
        if (same_role) twice = a->id;
        if (!name_same(a->identity, b->identity)) two = a->id;
    }
    free(sorted);
    if (two && !twice) say_error("%s: is given two identities", shown(two));
    if (twice) say_error("%s: is listed twice; an image can be a query once and in the gallery once", shown(twice));
    return !twice && !two;
}

/* ---- building ---------------------------------------------------------------------------------------------------- */
static int begin(eval_set *set, size_t dim) {
    size_t most = set->labels.count;
    if (!labels_order_by_role(&set->labels)) return 0;
    set->dim = dim;
    set->at = need_array(most + 1, sizeof *set->at);
    set->rows = set->at ? need_array(most + 1, dim * sizeof *set->rows) : NULL;
    return set->rows != NULL;
}

static void add(eval_set *set, const labelled *l, const float *row) {
    memcpy(set->rows + set->count * set->dim, row, set->dim * sizeof *row);
    set->at[set->count++].label = l;
    set->queries += l->query != 0;
    set->gallery += !l->gallery;
}

typedef struct filling {
    eval_set *set;
    int strict;
} filling;

static int take_row(void *user, size_t index, const float *row, const char *why) {
    filling *f = user;
    const labelled *l = &f->set->labels.at[index];
    if (row) {
        add(f->set, l, row);
        return 1;
    }
    say_error("%s: %s", shown(l->id), why);
    f->set->failed++;
    return !f->strict;
}

static int list_labels(inputs *list, const label_set *labels) {
    for (size_t i = 0; i < labels->count; i++)
        if (!inputs_add(list, labels->at[i].id, 0, labels->at[i].id)) return 0;
    return 1;
}

static int take_from(eval_set *set, const eval_request *r) {
    const eval_source *from = r->source;
    inputs list = {0};
    filling f = {set, r->strict};
    int good = begin(set, from->dim) && list_labels(&list, &set->labels) &&
               from->run(from->user, &list, &r->decode, take_row, &f);
    set->makers = *from->makers;
    inputs_free(&list);
    return good;
}

static int embed(eval_set *set, const eval_request *r) {
    inputs list = {0};
    models all;
    filling f = {set, r->strict};
    if (!models_open(&all, r->models, r->model_count)) return 0;
    int good = begin(set, (size_t)all.dim) && list_labels(&list, &set->labels);
    makers_of_models(&all, &set->makers);
    for (int i = 0; i < all.count; i++) memcpy(set->device[i], all.at[i].info.device, sizeof set->device[i]);
    if (good) {
        stream_job job = {.all = &all, .list = &list, .first = 0, .end = list.count, .decode = r->decode,
                          .label = "embedding", .fn = take_row, .user = &f};
        stream_result end = stream_run(&job);
        good = end == STREAM_DONE || end == STREAM_STOPPED;
    }
    inputs_free(&list);
    models_close(&all);
    return good;
}

/* ---- embeddings files -------------------------------------------------------------------------------------------- */
typedef struct row_place {
    const char *id;
    int file;
    const float *row;
} row_place;

static int by_id(const void *a, const void *b) {
    const row_place *x = a, *y = b;
    int order = name_order(x->id, y->id);
    return order ? order : x->file - y->file;
}

/* Finds the row of an id; if there are two files, in that of the queries (0) or of the gallery (1). */
static const float *find_row(const row_place *rows, size_t count, const labelled *l, int files) {
    row_place wanted = {l->id, files == 2 && l->gallery ? 1 : 0, NULL};
    const row_place *found = bsearch(&wanted, rows, count, sizeof *rows, by_id);
    return found ? found->row : NULL;
}

static int take_rows(eval_set *set, int strict, const gallery_file *file, int files) {
    size_t count = 0, total = file[0].count + (files == 2 ? file[1].count : 0);
    row_place *rows = begin(set, file[0].columns) ? need_array(total + 1, sizeof *rows) : NULL;
    if (!rows) return 0;
    for (int f = 0; f < files; f++)
        for (size_t i = 0; i < file[f].count; i++) {
            row_place place = {file[f].ids[i], f, file[f].rows + i * file[f].columns};
            rows[count++] = place;
        }
    qsort(rows, count, sizeof *rows, by_id);
    for (size_t i = 0; i < set->labels.count && !(strict && set->failed); i++) {
        const labelled *l = &set->labels.at[i];
        const float *row = find_row(rows, count, l, files);
        if (row) {
            add(set, l, row);
            continue;
        }
        say_error("%s: has a label, but no embedding", shown(l->id));
        set->failed++;
    }
    size_t used = set->count + set->labels.junk + set->labels.elsewhere;
    set->unlabelled = count > used ? count - used : 0;
    free(rows);
    return 1;
}

static int ids_are_unique(const gallery_file *f, const char *path) {
    named *sorted = need_array(f->count + 1, sizeof *sorted);
    size_t twice = 0;
    if (!sorted) return 0;
    for (size_t i = 0; i < f->count; i++) {
        sorted[i].name = f->ids[i];
        sorted[i].place = i;
    }
    qsort(sorted, f->count, sizeof *sorted, by_name);
    for (size_t i = 1; i < f->count && !twice; i++)
        if (name_same(sorted[i].name, sorted[i - 1].name)) twice = i;
    if (twice) say_error("%s: the id %s is in row %zu and in row %zu", shown(path), shown(sorted[twice].name),
                         sorted[twice - 1].place, sorted[twice].place);
    free(sorted);
    return !twice;
}

typedef struct sources {
    const char *folder, *embeddings[2];
    int files;
    label_set *labels; /* given */
} sources;

/* Takes labels from the ids of one file, or of two, the second of which is the gallery. */
static int label_by_ids(eval_set *set, const eval_request *r, const sources *from, const gallery_file *file) {
    const int files = from->files;
    size_t first = file[0].count, total = first + (files == 2 ? file[1].count : 0);
    known_row *rows = need_array(total + 1, sizeof *rows);
    if (!rows) return 0;
    size_t n = 0, queries = 0;
    for (size_t i = 0; i < total; i++) {
        const gallery_file *f = i < first ? &file[0] : &file[1];
        size_t k = i < first ? i : i - first;
        known_row row = {f->ids[k], f->identities[k], f->camera_count ? f->cameras[k] : ""};
        if (!*row.identity) continue;
        queries += i < first;
        rows[n++] = row;
    }
    int good = n > 0 || !total;
    if (!good)
        say_error("%s: its %zu crop%s no identities%s; give %s",
                  shown(from->embeddings[0]), total, total == 1 ? " has" : "s have", makers_nameless(&file[0].makers),
                  r->ways ? r->ways : "--labels FILE.csv");
    if (good) good = files == 2 ? labels_of_two(&set->labels, rows, queries, n) : labels_of_ids(&set->labels, rows, n);
    free(rows);
    return good && labels_strangers(&set->labels, r->unknown);
}

static int label_by_request(eval_set *set, const eval_request *r, sources *from) {
    if (from->labels) {
        set->labels = *from->labels;
        memset(from->labels, 0, sizeof *from->labels);
        return 1;
    }
    return (r->labels ? labels_of_table(&set->labels, r->labels, from->folder)
                      : labels_of_folder(&set->labels, from->folder)) &&
           labels_strangers(&set->labels, r->unknown);
}

static int open_files(eval_set *set, const eval_request *r, sources *from) {
    gallery_file file[2];
    int good = 1, opened = 0;
    memset(file, 0, sizeof file);
    for (; opened < from->files && good; opened++)
        good = (r->raw ? gallery_file_read_raw : gallery_file_read)(&file[opened], from->embeddings[opened]) &&
               ids_are_unique(&file[opened], from->embeddings[opened]);
    if (good && from->files == 2)
        good = makers_agree(&file[0].makers, from->embeddings[0], &file[1].makers, NULL, from->embeddings[1]);
    if (good && from->files == 2)
        makers_note_decoders(file[0].jpeg, from->embeddings[0], file[1].jpeg, from->embeddings[1]);
    else if (good) makers_note_mixture(file[0].jpeg, from->embeddings[0]);
    if (good) good = r->labels || from->folder || from->labels ? label_by_request(set, r, from)
                                               : label_by_ids(set, r, from, file);
    if (good && ids_differ(&set->labels)) {
        good = take_rows(set, r->strict, file, from->files);
        set->makers = file[0].makers;
    } else {
        good = 0;
    }
    for (int i = 0; i < opened; i++) gallery_file_free(&file[i]);
    return good;
}

/* ---- operands ---------------------------------------------------------------------------------------------------- */
static int sort_operands(const eval_request *r, sources *from) {
    struct stat st;
    for (int i = 0; i < r->operand_count; i++) {
        const char *name = r->operands[i];
        if (gallery_file_is_one(name)) {
            if (from->files == 2) say_error("%s: too many files; give at most two, queries and gallery", shown(name));
            if (from->files == 2) return 0;
            from->embeddings[from->files++] = name;
        } else if (from->folder || stat(name, &st) != 0 || !S_ISDIR(st.st_mode)) {
            say_error(from->folder ? "%s: only one folder can be given"
                                   : "%s: is neither a folder nor an embeddings file (.npy, .fvecs, .jsonl)",
                      shown(name));
            return 0;
        } else {
            from->folder = name;
        }
    }
    if (!from->files && !from->folder && !r->labels && !from->labels)
        say_error("no images: give a folder, --labels or an embeddings file");
    else if (from->files && r->model_count) say_error("this file already has embeddings; remove -m");
    else return 1;
    return 0;
}

const char *eval_set_folder(const eval_request *r) {
    for (int i = 0; i < r->operand_count; i++)
        if (!gallery_file_is_one(r->operands[i])) return r->operands[i];
    return NULL;
}

int eval_set_open(eval_set *set, const eval_request *r, label_set *given, int *status) {
    sources from = {NULL, {NULL, NULL}, 0, given};
    memset(set, 0, sizeof *set);
    *status = 2;
    if (!sort_operands(r, &from)) return 0;
    if (from.files) {
        if (!open_files(set, r, &from)) return 0;
    } else if (!label_by_request(set, r, &from) || !ids_differ(&set->labels) ||
               !(r->source ? take_from : embed)(set, r)) {
        return 0;
    }
    if (r->strict && set->failed) {
        say_error("stopped at the first failed image (--strict)");
        *status = 1;
        return 0;
    }
    if (!set->count) say_error("no labelled image has an embedding");
    return set->count > 0 && number_all(set);
}

void eval_set_free(eval_set *set) {
    labels_free(&set->labels);
    free(set->at);
    free(set->rows);
    memset(set, 0, sizeof *set);
}
