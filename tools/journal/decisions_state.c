#include "journal/decisions_state.h"

#include "base/memory.h"
#include "base/unicode.h"
#include "base/union_find.h"
#include "base/when.h"

#include <stdlib.h>
#include <string.h>

/* --- decisions in force ------------------------------------------------------------------------------------------- */

void decision_state_free(decision_state *s) {
    free(s->same);
    free(s->different);
    free(s->names);
    free(s->no_crops);
    memset(s, 0, sizeof *s);
}

static int by_id(const void *a, const void *b) {
    const decided_id *x = a, *y = b;
    int order = name_order(x->id, y->id);
    return order ? order : (x->from > y->from) - (x->from < y->from);
}

static int by_pair(const void *a, const void *b) {
    const decided_pair *x = a, *y = b;
    int order = name_order(x->a, y->a);
    if (!order) order = name_order(x->b, y->b);
    return order ? order : (x->from > y->from) - (x->from < y->from);
}

/* Counts the decisions of a kind before later ones overrule earlier ones. */
static size_t most_of(const decision_list *d, decision_kind kind, size_t less) {
    size_t n = 0;
    for (size_t i = 0; i < d->count; i++)
        if (d->at[i].kind == kind) n += d->at[i].count - less;
    return n;
}

/* Keeps the last decision of each id; returns how many are left. */
static size_t last_of_ids(decided_id *list, size_t count) {
    size_t kept = 0;
    qsort(list, count, sizeof *list, by_id);
    for (size_t i = 0; i < count; i++)
        if (i + 1 == count || !name_same(list[i].id, list[i + 1].id)) list[kept++] = list[i];
    return kept;
}

static size_t last_of_pairs(decided_pair *list, size_t count) {
    size_t kept = 0;
    qsort(list, count, sizeof *list, by_pair);
    for (size_t i = 0; i < count; i++)
        if (i + 1 == count || !name_same(list[i].a, list[i + 1].a) || !name_same(list[i].b, list[i + 1].b))
            list[kept++] = list[i];
    return kept;
}

static size_t ids_of(decided_id *to, const decision_list *d, decision_kind kind) {
    size_t n = 0;
    for (size_t i = 0; i < d->count; i++) {
        const decision *at = &d->at[i];
        if (at->kind != kind || at->undone) continue;
        for (size_t k = 0; k < at->count; k++) to[n++] = (decided_id){at->crops[k], at->name, i};
    }
    return last_of_ids(to, n);
}

static int is_no_crop(const decision_state *s, const char *id) {
    const decided_id key = {id, NULL, 0};
    size_t lo = 0, hi = s->no_crop_count;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        int order = name_order(s->no_crops[mid].id, key.id);
        if (order == 0) return 1;
        if (order < 0) lo = mid + 1;
        else hi = mid;
    }
    return 0;
}

/* Sorts pairs of both kinds together, since one may overrule the other. */
static size_t pairs_of(decided_pair *to, const decision_list *d, const decision_state *s) {
    size_t n = 0;
    for (size_t i = 0; i < d->count; i++) {
        const decision *at = &d->at[i];
        if ((at->kind != DECISION_SAME && at->kind != DECISION_DIFFERENT) || at->undone) continue;
        if (is_no_crop(s, at->crops[0])) continue;
        for (size_t k = 1; k < at->count; k++) {
            const char *a = at->crops[0], *b = at->crops[k];
            if (is_no_crop(s, b)) continue;
            to[n++] = name_order(a, b) < 0 ? (decided_pair){a, b, i} : (decided_pair){b, a, i};
        }
    }
    return last_of_pairs(to, n);
}

static int fill(decision_state *s, const decision_list *d) {
    size_t pairs = most_of(d, DECISION_SAME, 1) + most_of(d, DECISION_DIFFERENT, 1);
    s->names = mem_array(most_of(d, DECISION_NAME, 0), sizeof *s->names);
    s->no_crops = mem_array(most_of(d, DECISION_NO_CROP, 0), sizeof *s->no_crops);
    s->same = mem_array(pairs, sizeof *s->same);
    s->different = mem_array(pairs, sizeof *s->different);
    if (!s->names || !s->no_crops || !s->same || !s->different) return 0;
    s->no_crop_count = ids_of(s->no_crops, d, DECISION_NO_CROP);
    size_t names = ids_of(s->names, d, DECISION_NAME);
    for (size_t i = 0; i < names; i++)
        if (*s->names[i].name && !is_no_crop(s, s->names[i].id)) s->names[s->name_count++] = s->names[i];
    pairs = pairs_of(s->same, d, s);
    for (size_t i = 0; i < pairs; i++) {
        if (d->at[s->same[i].from].kind == DECISION_SAME) s->same[s->sames++] = s->same[i];
        else s->different[s->differents++] = s->same[i];
    }
    return 1;
}

/* --- contradictions ----------------------------------------------------------------------------------------------- */

/* The graph of the pairs that are the same, in which chains are searched. Crops are numbered by their index in ids. */
typedef struct graph {
    const char **ids;
    size_t count;
    size_t *root;             /* see union_find.h */
    size_t *first, *next, *to; /* edges of crop i: first[i], next[edge] …, 2 for each pair; 0 ends, edge e is e - 1 */
    size_t *queue, *back;     /* for the breadth-first search; back: the edge that led here, + 1 */
} graph;

static size_t number_of(const graph *g, const char *id) {
    const char *const *found = name_find(id, g->ids, g->count, sizeof *g->ids);
    return (size_t)(found - g->ids);
}

static void graph_free(graph *g) {
    free(g->ids);
    free(g->root);
    free(g->first);
    free(g->next);
    free(g->to);
    free(g->queue);
    free(g->back);
}

static int collect_ids(graph *g, const decision_state *s) {
    size_t n = 0;
    g->ids = mem_array(2 * (s->sames + s->differents) + s->name_count, sizeof *g->ids);
    if (!g->ids) return 0;
    for (size_t i = 0; i < s->sames; i++) g->ids[n++] = s->same[i].a, g->ids[n++] = s->same[i].b;
    for (size_t i = 0; i < s->differents; i++) g->ids[n++] = s->different[i].a, g->ids[n++] = s->different[i].b;
    for (size_t i = 0; i < s->name_count; i++) g->ids[n++] = s->names[i].id;
    qsort(g->ids, n, sizeof *g->ids, order_names);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || !name_same(g->ids[i], g->ids[g->count - 1])) g->ids[g->count++] = g->ids[i];
    return 1;
}

static int graph_make(graph *g, const decision_state *s) {
    if (!collect_ids(g, s)) return 0;
    g->root = mem_array(g->count, sizeof *g->root);
    g->first = mem_zeroed(g->count, sizeof *g->first);
    g->queue = mem_array(g->count, sizeof *g->queue);
    g->back = mem_array(g->count, sizeof *g->back);
    g->next = mem_array(2 * s->sames, sizeof *g->next);
    g->to = mem_array(2 * s->sames, sizeof *g->to);
    if (!g->root || !g->first || !g->queue || !g->back || !g->next || !g->to) return 0;
    union_find_init(g->root, g->count);
    for (size_t i = 0; i < s->sames; i++) {
        size_t a = number_of(g, s->same[i].a), b = number_of(g, s->same[i].b);
        g->to[2 * i] = b, g->next[2 * i] = g->first[a], g->first[a] = 2 * i + 1;
        g->to[2 * i + 1] = a, g->next[2 * i + 1] = g->first[b], g->first[b] = 2 * i + 2;
        union_find_merge(g->root, a, b);
    }
    return 1;
}

/* Appends "(ann, 2026-05-31T06:30:00Z, decision 7)". */
static void add_source(text *why, const decision_list *d, size_t from) {
    text_puts(why, " (");
    text_visible(why, d->at[from].by);
    text_puts(why, ", ");
    when_text(why, d->at[from].when);
    text_printf(why, ", decision %lld)", d->at[from].seq);
}

static void add_id(text *why, const char *id) {
    text_putc(why, '"');
    text_visible(why, id);
    text_putc(why, '"');
}

/* Appends the shortest chain from a to b, which must be connected: `"a" = "b" (…), "b" = "c" (…)`. The search starts at
   b, so that the chain reads from a. */
static void add_chain(text *why, graph *g, const decision_state *s, const decision_list *d, size_t a, size_t b) {
    size_t head = 0, tail = 0;
    memset(g->back, 0, g->count * sizeof *g->back);
    g->queue[tail++] = b;
    while (head < tail && g->queue[head] != a) {
        size_t at = g->queue[head++];
        for (size_t e = g->first[at]; e; e = g->next[e - 1]) {
            size_t to = g->to[e - 1];
            if (to == b || g->back[to]) continue;
            g->back[to] = e;
            g->queue[tail++] = to;
        }
    }
    for (size_t at = a; at != b;) {
        size_t e = g->back[at] - 1, from = g->to[e ^ 1]; /* e ^ 1 is the same edge in the other direction */
        if (at != a) text_puts(why, ", ");
        add_id(why, g->ids[at]);
        text_puts(why, " = ");
        add_id(why, g->ids[from]);
        add_source(why, d, s->same[e / 2].from);
        at = from;
    }
}

static int find_different(graph *g, const decision_state *s, const decision_list *d, text *why) {
    for (size_t i = 0; i < s->differents; i++) {
        size_t a = number_of(g, s->different[i].a), b = number_of(g, s->different[i].b);
        if (union_find_root(g->root, a) != union_find_root(g->root, b)) continue;
        text_clear(why);
        text_puts(why, "a contradiction: ");
        add_id(why, g->ids[a]);
        text_puts(why, " and ");
        add_id(why, g->ids[b]);
        text_puts(why, " are different");
        add_source(why, d, s->different[i].from);
        text_puts(why, ", but also the same: ");
        add_chain(why, g, s, d, a, b);
        return 1;
    }
    return 0;
}

static void add_name(text *why, const decision_list *d, const decided_id *n) {
    add_id(why, n->id);
    text_puts(why, " is named ");
    add_id(why, n->name);
    add_source(why, d, n->from);
}

/* queue[root]: the first name of a chain, + 1. */
static int find_names(graph *g, const decision_state *s, const decision_list *d, text *why) {
    memset(g->queue, 0, g->count * sizeof *g->queue);
    for (size_t i = 0; i < s->name_count; i++) {
        size_t at = number_of(g, s->names[i].id), root = union_find_root(g->root, at);
        if (!g->queue[root]) g->queue[root] = i + 1;
        const decided_id *first = &s->names[g->queue[root] - 1];
        if (name_same(first->name, s->names[i].name)) continue;
        text_clear(why);
        text_puts(why, "a contradiction: ");
        add_name(why, d, first);
        text_puts(why, " and ");
        add_name(why, d, &s->names[i]);
        text_puts(why, ", but they are the same: ");
        add_chain(why, g, s, d, number_of(g, first->id), at);
        return 1;
    }
    return 0;
}

int decisions_state(decision_state *s, const decision_list *d, text *why) {
    graph g;
    memset(s, 0, sizeof *s);
    memset(&g, 0, sizeof g);
    int good = fill(s, d) && graph_make(&g, s) ? 1 : text_no_memory(why);
    if (good && (find_different(&g, s, d, why) || find_names(&g, s, d, why))) good = text_failed(why) ? 0 : -1;
    graph_free(&g);
    return good;
}
