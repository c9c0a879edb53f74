#include "groups/earlier.h"

#include "base/csv.h"
#include "base/files.h"
#include "base/memory.h"
#include "base/say.h"
#include "base/unicode.h"

#include <stdlib.h>
#include <string.h>

enum { ID, GROUP, NAME, MOST_NUMBER = 1000000000 };
static const char *const COLUMNS[] = {"id", "group", "name"};
static const size_t MOST_BYTES = (size_t)1 << 32;

/* --- the file ----------------------------------------------------------------------------------------------------- */

static void take_row(const csv *row, const int *column, void *user, text *why) {
    earlier *e = user;
    const char *id = csv_field(row, column[ID]), *group = csv_field(row, column[GROUP]);
    const char *name = csv_field(row, column[NAME]);
    long long number;
    if (!*group) return;
    if (!*id) {
        text_puts(why, "the id is empty");
    } else if (!parse_int(group, 0, MOST_NUMBER, &number)) {
        text_puts(why, "expected a group number from 0 to 1000000000, found ");
        text_visible(why, group);
    } else if (!GROW(e->at, e->count, e->cap)) {
        text_no_memory(why);
    } else {
        earlier_crop one = {mem_copy(id, strlen(id)), *name ? mem_copy(name, strlen(name)) : NULL, (uint32_t)number};
        e->at[e->count++] = one;
        if (!one.id || (*name && !one.name)) text_no_memory(why);
    }
}

static int by_id(const void *a, const void *b) {
    return name_order_spelled(((const earlier_crop *)a)->id, ((const earlier_crop *)b)->id);
}

int earlier_read(earlier *e, const char *path) {
    text file = TEXT_INIT, why = TEXT_INIT;
    const csv_table table = {COLUMNS, 3, 3, "", take_row, e};
    memset(e, 0, sizeof *e);
    int good = file_read(path, MOST_BYTES, 1, &file, &why) && csv_read(&table, &file, &why);
    if (good && e->count) qsort(e->at, e->count, sizeof *e->at, by_id);
    for (size_t i = 1; i < e->count && good; i++) {
        if (by_id(&e->at[i - 1], &e->at[i]) != 0) continue;
        text_visible(&why, e->at[i].id);
        text_puts(&why, " is listed twice");
        good = 0;
    }
    if (!good) say_error("%s: %s", shown(path), why.s);
    text_free(&file), text_free(&why);
    return good;
}

void earlier_free(earlier *e) {
    for (size_t i = 0; i < e->count; i++) free(e->at[i].id), free(e->at[i].name);
    free(e->at);
    memset(e, 0, sizeof *e);
}

/* --- overlaps ----------------------------------------------------------------------------------------------------- */

/* The number of crops that a group shares with an earlier one. */
typedef struct overlap {
    uint32_t earlier, group;
    size_t crops;
    const char *name; /* of the earlier group */
} overlap;

static int by_pair(const void *a, const void *b) {
    const overlap *x = a, *y = b;
    if (x->earlier != y->earlier) return x->earlier < y->earlier ? -1 : 1;
    return (x->group > y->group) - (x->group < y->group);
}

static int largest_first(const void *a, const void *b) {
    const overlap *x = a, *y = b;
    if (x->crops != y->crops) return x->crops < y->crops ? 1 : -1;
    return by_pair(a, b);
}

/* One overlap for each pair of groups that share crops. */
static size_t find_overlaps(const clusters *c, const crops *from, const earlier *e, overlap *out) {
    size_t found = 0, n = 0;
    for (size_t i = 0; i < e->count; i++) {
        size_t at = crops_find(from, e->at[i].id);
        if (at == SIZE_MAX || c->group[at] == CLUSTERS_NONE) continue;
        const overlap one = {e->at[i].group, c->group[at], 1, e->at[i].name};
        out[found++] = one;
    }
    qsort(out, found, sizeof *out, by_pair);
    for (size_t i = 0; i < found; i++) {
        if (n && by_pair(&out[n - 1], &out[i]) == 0) {
            out[n - 1].crops++;
            if (!out[n - 1].name) out[n - 1].name = out[i].name;
        } else {
            out[n++] = out[i];
        }
    }
    qsort(out, n, sizeof *out, largest_first);
    return n;
}

static int by_value(const void *a, const void *b) {
    const uint32_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* Marks a number as taken; returns 0 if it was taken before. known: the earlier numbers, ascending. */
static int take_number(uint32_t number, const uint32_t *known, size_t count, unsigned char *taken) {
    const uint32_t *at = bsearch(&number, known, count, sizeof *known, by_value);
    unsigned char *mark = at ? &taken[at - known] : NULL;
    return mark && !*mark ? *mark = 1 : 0;
}

static size_t list_numbers(const earlier *e, uint32_t *known) {
    size_t n = 0;
    for (size_t i = 0; i < e->count; i++) known[i] = e->at[i].group;
    qsort(known, e->count, sizeof *known, by_value);
    for (size_t i = 0; i < e->count; i++)
        if (!n || known[n - 1] != known[i]) known[n++] = known[i];
    return n;
}

/* Lists the names that decisions give, for name_find. */
static size_t list_given(const clusters *c, const char **given) {
    size_t n = 0;
    for (size_t k = 0; k < c->groups; k++)
        if (c->names[k]) given[n++] = c->names[k];
    qsort(given, n, sizeof *given, order_names);
    return n;
}

/* A group that keeps an earlier name has no name from a decision in force. So if a decision once gave one of its crops
   that very name, people have since taken it back, and the group loses it. */
static void take_back(clusters *c, const crops *from, const decision_list *decided, const unsigned char *carried) {
    for (size_t i = 0; decided && i < decided->count; i++) {
        const decision *d = &decided->at[i];
        for (size_t k = 0; k < d->count && d->kind == DECISION_NAME; k++) {
            size_t at = crops_find(from, d->crops[k]);
            uint32_t group = at == SIZE_MAX ? CLUSTERS_NONE : c->group[at];
            if (group == CLUSTERS_NONE || !carried[group] || !c->names[group]) continue;
            if (name_same(c->names[group], d->name)) c->names[group] = NULL;
        }
    }
}

/* Working memory of clusters_carry_on. */
typedef struct carrying {
    overlap *found;
    uint32_t *known;
    const char **given;
    unsigned char *taken, *called, *carried; /* earlier numbers in use; groups with a number, with an earlier name */
} carrying;

static int make_room(carrying *w, size_t before, size_t groups) {
    w->found = need_array(before + 1, sizeof *w->found);
    w->known = w->found ? need_array(before + 1, sizeof *w->known) : NULL;
    w->given = w->known ? need_array(groups + 1, sizeof *w->given) : NULL;
    w->taken = w->given ? need_zeroed(before + 1, 1) : NULL;
    w->called = w->taken ? need_zeroed(groups + 1, 1) : NULL;
    w->carried = w->called ? need_zeroed(groups + 1, 1) : NULL;
    return w->carried != NULL;
}

static void carry_on(clusters *c, const crops *from, const earlier *e, const carrying *w) {
    size_t count = find_overlaps(c, from, e, w->found), numbers = list_numbers(e, w->known);
    size_t names = list_given(c, w->given);
    uint32_t next = numbers ? w->known[numbers - 1] + 1 : 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t group = w->found[i].group;
        const char *name = w->found[i].name;
        if (w->called[group] || !take_number(w->found[i].earlier, w->known, numbers, w->taken)) continue;
        w->called[group] = 1;
        c->number[group] = w->found[i].earlier;
        if (c->names[group] || !name || name_find(name, w->given, names, sizeof *w->given)) continue;
        c->names[group] = name;
        w->carried[group] = 1;
    }
    for (size_t k = 0; k < c->groups; k++)
        if (!w->called[k]) c->number[k] = next++;
}

int clusters_carry_on(clusters *c, const crops *from, const earlier *e, const decision_list *decided) {
    carrying w = {0};
    int good = make_room(&w, e->count, c->groups);
    if (good) {
        carry_on(c, from, e, &w);
        take_back(c, from, decided, w.carried);
    }
    free(w.found), free(w.known), free(w.given), free(w.taken), free(w.called), free(w.carried);
    return good;
}
