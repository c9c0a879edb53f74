/* Borůvka's minimum spanning tree (1926): in each round, every group finds the best pair that leads out of it, and all
   these pairs are joined, until there are none. Each round at least halves the number of groups that can be joined. */
#include "groups/single.h"

#include "base/memory.h"
#include "base/union_find.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 4096 }; /* queries per search */

typedef struct spanning {
    const reid_rows *rows;
    reid_merge *best;   /* [count]: at the home of each group, the best pair that leads out of the group */
    uint32_t *home;     /* [count]: union-find; leads to the row that represents the group */
    reid_hit hits[CHUNK];
    int found[CHUNK];
    size_t at;          /* first row of the current chunk */
} spanning;

static int is_of_one_group(int query, size_t row, void *user) {
    const spanning *s = user;
    return s->home[s->at + (size_t)query] == s->home[row];
}

/* An order without ties, so that Borůvka's rounds cannot make a cycle. */
static int is_better(const reid_merge *x, const reid_merge *y) {
    if (x->score != y->score) return x->score > y->score;
    return x->a != y->a ? x->a < y->a : x->b < y->b;
}

static int by_rank(const void *a, const void *b) { return is_better(b, a) - is_better(a, b); }

/* Finds every group's best pair; its score is minus infinity if no pair leads out of the group. */
static reid_result look_around(spanning *s, reid_index *index, double threshold, reid_error *error) {
    size_t count = s->rows->count, dim = (size_t)s->rows->dim;
    reid_search_desc search = REID_INIT;
    reid_result r = REID_OK;
    search.k = 1, search.use_threshold = 1, search.threshold = threshold;
    search.exclude = is_of_one_group, search.exclude_user = s;
    for (uint32_t i = 0; i < count; i++)
        s->best[i].score = (double)-INFINITY, s->home[i] = union_find_root32(s->home, i);
    for (s->at = 0; s->at < count && r == REID_OK; s->at += CHUNK) {
        int n = count - s->at < CHUNK ? (int)(count - s->at) : CHUNK;
        r = reid_search(index, s->rows->floats + s->at * dim, n, &search, s->hits, s->found, error);
        for (int q = 0; q < n && r == REID_OK; q++) {
            uint32_t one = (uint32_t)(s->at + (size_t)q), other = (uint32_t)s->hits[q].row;
            const reid_merge pair = {one < other ? one : other, one < other ? other : one, 0, s->hits[q].score};
            reid_merge *best = &s->best[s->home[one]];
            if (s->found[q] && is_better(&pair, best)) *best = pair;
        }
    }
    return r;
}

/* Joins the groups along their best pairs. Returns how many joins were made. */
static size_t join(spanning *s, reid_merge *merges, size_t merged) {
    size_t before = merged;
    for (size_t i = 0; i < s->rows->count; i++) {
        const reid_merge *m = &s->best[i];
        if (!(m->score > (double)-INFINITY)) continue;
        uint32_t a = union_find_root32(s->home, m->a), b = union_find_root32(s->home, m->b);
        if (a == b) continue; /* the other group has found the same pair */
        s->home[a > b ? a : b] = a > b ? b : a;
        merges[merged++] = *m;
    }
    return merged - before;
}

reid_result single_linkage(const reid_desc *desc, const reid_rows *rows, double threshold, int (*stop_fn)(void *user),
                           void *user, reid_merge *merges, size_t *merged) {
    spanning *s = mem_zeroed(1, sizeof *s);
    reid_index *index = NULL;
    size_t joined = 1;
    *merged = 0;
    if (s) s->rows = rows, s->best = mem_array(rows->count + 1, sizeof *s->best);
    if (s) s->home = mem_array(rows->count + 1, sizeof *s->home);
    reid_result r = s && s->best && s->home ? REID_OK : REID_ERR_OUT_OF_MEMORY;
    for (size_t i = 0; i < rows->count && r == REID_OK; i++) s->home[i] = (uint32_t)i;
    if (r == REID_OK) r = reid_index_create(desc, rows, &index);
    while (r == REID_OK && joined) {
        r = stop_fn && stop_fn(user) ? REID_ERR_CANCELLED : look_around(s, index, threshold, desc->error);
        joined = r == REID_OK ? join(s, merges, *merged) : 0;
        *merged += joined;
    }
    qsort(merges, *merged, sizeof *merges, by_rank);
    reid_index_destroy(index);
    if (s) free(s->best), free(s->home);
    free(s);
    return r;
}
