#include "evaluate/labelled_pairs.h"

#include "base/csv.h"
#include "base/files.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/say.h"
#include "base/unicode.h"
#include "base/union_find.h"
#include "evaluate/eval_label_table.h"
#include "scores/scores.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- of a set ---------------------------------------------------------------------------------------------------- */
typedef struct collecting {
    labelled_pairs *p;
    const eval_set *set;
    int model;           /* the pairs are chosen while the first model's scores are computed */
    size_t next;
    uint64_t keep[2];    /* impostor, genuine: pairs with a hash up to this are kept */
    int no_memory;       /* a pair could not be kept; nothing more is collected then */
} collecting;

/* 1: a genuine pair; 0: an impostor pair; -1: not a pair, or counted with the roles exchanged. */
static int kind_of(const collecting *c, size_t q, size_t g) {
    const eval_image *a = &c->set->at[q], *b = &c->set->at[g];
    int other_way = g < c->set->queries && q >= c->set->gallery; /* it occurs again with the roles exchanged */
    if (a->picture == b->picture || (other_way && g < q)) return -1;
    if (a->identity != b->identity) return 0;
    return a->label->distractor || (c->p->by_camera && a->camera == b->camera) ? -1 : 1;
}

/* Returns 0, without a message, when memory runs out. */
static int add_pair(labelled_pairs *p, size_t a, size_t b) {
    size_t cap = p->cap;
    if (!GROW(p->at, p->count, cap)) return 0;
    for (int m = 0; m < MAX_MODELS; m++) { /* all arrays grow from the capacity that they share */
        size_t own = p->cap;
        if (!GROW(p->score[m], p->count, own)) return 0;
    }
    p->cap = cap;
    scored_pair *pair = &p->at[p->count++];
    pair->score = 0;
    pair->a = (uint32_t)a;
    pair->b = (uint32_t)b;
    ++*(a == b ? &p->genuine : &p->impostor);
    return 1;
}

static void collect(void *user, int thread, size_t query, float *scores) {
    collecting *c = user;
    const eval_set *set = c->set;
    (void)thread;
    for (size_t g = set->gallery; g < set->count; g++) {
        int genuine = kind_of(c, query, g);
        if (c->no_memory || genuine < 0 || random_of_pair(query, g) > c->keep[genuine]) continue;
        if (c->model == 0 && !add_pair(c->p, set->at[query].identity, set->at[g].identity)) {
            c->no_memory = 1;
            continue;
        }
        c->p->score[c->model][c->next++] = scores[g - set->gallery];
    }
}

static void count_all(collecting *c) {
    labelled_pairs *p = c->p;
    for (size_t q = 0; q < c->set->queries && !interrupted(); q++)
        for (size_t g = c->set->gallery; g < c->set->count; g++) {
            int genuine = kind_of(c, q, g);
            if (genuine >= 0) ++*(genuine ? &p->every_genuine : &p->every_impostor);
        }
    c->keep[0] = p->every_impostor <= MOST_PAIRS
                     ? UINT64_MAX : (uint64_t)(0x1p64 * ((double)MOST_PAIRS / (double)p->every_impostor));
    c->keep[1] = p->every_genuine <= MOST_PAIRS
                     ? UINT64_MAX : (uint64_t)(0x1p64 * ((double)MOST_PAIRS / (double)p->every_genuine));
}

/* Copies the columns of one model into separate rows; NULL after reporting that memory ran out. */
static float *part_of(const eval_set *set, size_t first, size_t dim) {
    float *part = need_array(set->count, dim * sizeof *part);
    for (size_t i = 0; i < set->count && part; i++)
        memcpy(part + i * dim, set->rows + i * set->dim + first, dim * sizeof *part);
    return part;
}

int pairs_of_set(labelled_pairs *p, const eval_set *set, const pair_rules *o) {
    collecting c = {p, set, 0, 0, {0, 0}, 0};
    size_t column = 0;
    int good = 1;
    memset(p, 0, sizeof *p);
    p->identities = set->identities;
    p->by_camera = set->every_camera && set->cameras > 1 && !o->with_same_camera;
    count_all(&c);
    for (; c.model < set->makers.models && good; c.model++) {
        size_t dim = (size_t)set->makers.model[c.model].dim;
        float *part = part_of(set, column, dim);
        if (!part) return 0;
        score_job job = {part, part + set->gallery * dim, set->queries, set->count - set->gallery, dim,
                         scores_threads(o->threads), o->isa, 0, 1, collect, &c, "pairs"};
        c.next = 0;
        good = scores_run(&job);
        if (good && c.no_memory) good = say_no_memory();
        free(part);
        column += dim;
    }
    return good;
}

/* ---- of a table -------------------------------------------------------------------------------------------------- */
typedef struct pair_row {
    char *path[2];
    size_t place[2], line;
    int same;
} pair_row;

typedef struct pair_rows {
    pair_row *at;
    size_t count, cap;
    const char *root;
} pair_rows;

static void read_row(const csv *c, const int *column, void *user, text *why) {
    pair_rows *rows = user;
    const char *same = csv_field(c, column[2]);
    if (!GROW(rows->at, rows->count, rows->cap)) {
        text_no_memory(why);
        return;
    }
    pair_row *row = &rows->at[rows->count];
    if (strcmp(same, "0") != 0 && strcmp(same, "1") != 0) {
        text_printf(why, "invalid \"%s\" in column \"same\"; expected 1 (the same) or 0 (different)", shown(same));
        return;
    }
    for (int k = 0; k < 2; k++)
        if (!*csv_field(c, column[k])) text_puts(why, "a path is empty");
    if (why->len) return;
    if (name_same(csv_field(c, column[0]), csv_field(c, column[1]))) text_puts(why, "an image is paired with itself");
    row->same = *same == '1';
    row->line = c->line;
    for (int k = 0; k < 2; k++) row->path[k] = label_path(csv_field(c, column[k]), rows->root);
    rows->count++;
    if (!row->path[0] || !row->path[1]) text_no_memory(why);
}

static int read_rows(pair_rows *rows, const text *file, text *why) {
    static const char *const names[] = {"first", "second", "same"};
    const csv_table table = {names, 3, 3, "", read_row, rows};
    text_clear(why);
    if (csv_read(&table, file, why) && !rows->count) text_puts(why, "line 1: no pairs");
    return why->len == 0;
}

typedef struct named_end {
    const char *path;
    size_t row;
    int end;
} named_end;

static int by_path(const void *a, const void *b) {
    const named_end *x = a, *y = b;
    int order = name_order(x->path, y->path);
    if (order) return order;
    if (x->row != y->row) return x->row < y->row ? -1 : 1;
    return x->end - y->end;
}

/* Lists every path once, in their order. ends: working memory for two per row. */
static size_t number_paths(pair_rows *rows, const char **name, named_end *ends) {
    size_t n = 0;
    for (size_t i = 0; i < 2 * rows->count; i++) {
        named_end end = {rows->at[i / 2].path[i % 2], i / 2, (int)(i % 2)};
        ends[i] = end;
    }
    qsort(ends, 2 * rows->count, sizeof *ends, by_path);
    for (size_t i = 0; i < 2 * rows->count; i++) {
        if (i == 0 || !name_same(ends[i].path, ends[i - 1].path)) name[n++] = ends[i].path;
        rows->at[ends[i].row].place[ends[i].end] = n - 1;
    }
    return n;
}

/* Makes identities from the pairs marked as the same, and checks that no pair marked as different contradicts them. */
static int join_rows(const pair_rows *rows, size_t *up, size_t count, text *why) {
    union_find_init(up, count);
    for (size_t i = 0; i < rows->count; i++)
        if (rows->at[i].same) union_find_merge(up, rows->at[i].place[0], rows->at[i].place[1]);
    for (size_t i = 0; i < rows->count; i++) {
        const pair_row *row = &rows->at[i];
        if (row->same || union_find_root(up, row->place[0]) != union_find_root(up, row->place[1])) continue;
        text_printf(why, "line %zu: %s and %s are marked different, but other pairs link them as the same", row->line,
                    shown(row->path[0]), shown(row->path[1]));
        return 0;
    }
    return 1;
}

/* Fills in the labels, and the indices of the pairs. up: working memory, one number per path. Returns 0 with the reason
   in why. */
static int add_labels(pair_table *t, label_set *labels, const pair_rows *rows, const char **name, size_t n, size_t *up,
                      text *why) {
    if (!join_rows(rows, up, n, why)) return 0;
    for (size_t i = 0; i < n; i++) {
        char identity[32];
        snprintf(identity, sizeof identity, "pairs-%zu", union_find_root(up, i));
        labelled *l = labels_add(labels, name[i], identity, strlen(identity));
        if (!l) return text_no_memory(why);
        l->query = l->gallery = 1;
    }
    t->at = mem_array(rows->count, sizeof *t->at);
    if (!t->at) return text_no_memory(why);
    for (; t->count < rows->count; t->count++) memcpy(t->at[t->count], rows->at[t->count].place, sizeof *t->at);
    return 1;
}

static int make_table(pair_table *t, label_set *labels, pair_rows *rows, text *why) {
    size_t most = 2 * rows->count + 1;
    const char **name = mem_array(most, sizeof *name);
    size_t *up = mem_array(most, sizeof *up);
    named_end *ends = mem_array(most, sizeof *ends);
    int good = name && up && ends;
    if (good) good = add_labels(t, labels, rows, name, number_paths(rows, name, ends), up, why);
    else text_no_memory(why);
    labels->layout = "a table of pairs";
    free(name);
    free(up);
    free(ends);
    return good;
}

int pair_table_read(pair_table *t, label_set *labels, const char *path, const char *root) {
    static const size_t max_file = (size_t)1 << 32;
    text file = TEXT_INIT, why = TEXT_INIT;
    pair_rows rows = {NULL, 0, 0, root};
    memset(t, 0, sizeof *t);
    memset(labels, 0, sizeof *labels);
    int good = file_read(path, max_file, 1, &file, &why) && read_rows(&rows, &file, &why) &&
               make_table(t, labels, &rows, &why);
    if (!good) say_error("%s: %s", shown(path), why.s);
    for (size_t i = 0; i < rows.count; i++) {
        free(rows.at[i].path[0]);
        free(rows.at[i].path[1]);
    }
    free(rows.at);
    text_free(&file);
    text_free(&why);
    return good;
}

void pair_table_free(pair_table *t) {
    free(t->at);
    memset(t, 0, sizeof *t);
}

/* In a table of pairs every image is query and gallery, so the labels kept their order. Images that failed have no
   entry in the set. */
int pairs_of_table(labelled_pairs *p, const eval_set *set, const pair_table *t) {
    size_t *image = need_array(set->labels.count + 1, sizeof *image), column = 0, dim;
    int good = image != NULL;
    memset(p, 0, sizeof *p);
    if (!good) return 0;
    p->identities = set->identities;
    for (size_t i = 0; i < set->labels.count; i++) image[i] = SIZE_MAX;
    for (size_t i = 0; i < set->count; i++) image[set->at[i].label - set->labels.at] = i;
    for (size_t i = 0; i < t->count && good && !interrupted(); i++) {
        size_t a = image[t->at[i][0]], b = image[t->at[i][1]];
        if (a == SIZE_MAX || b == SIZE_MAX) continue;
        if (!add_pair(p, set->at[a].identity, set->at[b].identity)) {
            good = say_no_memory();
            break;
        }
        column = 0;
        for (int m = 0; m < set->makers.models; m++, column += dim) {
            dim = (size_t)set->makers.model[m].dim;
            p->score[m][p->count - 1] = (float)reid_cosine(set->rows + a * set->dim + column,
                                                           set->rows + b * set->dim + column, (int)dim);
        }
    }
    p->every_genuine = p->genuine;
    p->every_impostor = p->impostor;
    free(image);
    return good && !interrupted();
}

/* ---- both -------------------------------------------------------------------------------------------------------- */
void pairs_weigh(labelled_pairs *p, int count, const double *weights) {
    for (size_t i = 0; i < p->count; i++) {
        double sum = 0;
        for (int m = 0; m < count; m++) sum += weights[m] * (double)p->score[m][i];
        p->at[i].score = (float)sum;
    }
}

void pairs_free(labelled_pairs *p) {
    for (int m = 0; m < MAX_MODELS; m++) free(p->score[m]);
    free(p->at);
    memset(p, 0, sizeof *p);
}
