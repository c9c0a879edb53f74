#include "evaluate/linkage.h"

#include "base/memory.h"
#include "base/union_find.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int linkage_begin(linkage *l, size_t count) {
    l->count = count;
    l->rows = 0;
    l->to = need_array(count + 1, sizeof *l->to);
    l->at = l->to ? need_array(count + 1, sizeof *l->at) : NULL;
    l->work = l->at ? need_array(count + 1, sizeof *l->work) : NULL;
    return l->work != NULL;
}

void linkage_free(linkage *l) {
    free(l->to);
    free(l->at);
    free(l->work);
    memset(l, 0, sizeof *l);
}

static double larger(double a, double b) { return a > b ? a : b; }

void linkage_row(linkage *l, const float *scores) {
    size_t n = l->rows++;
    double *work = l->work;
    l->to[n] = n;
    l->at[n] = (double)-INFINITY;
    for (size_t i = 0; i < n; i++) work[i] = (double)scores[i];
    for (size_t i = 0; i < n; i++) {
        size_t to = l->to[i];
        if (l->at[i] <= work[i]) {
            work[to] = larger(work[to], l->at[i]);
            l->at[i] = work[i];
            l->to[i] = n;
        } else {
            work[to] = larger(work[to], work[i]);
        }
    }
}

/* ---- agreement --------------------------------------------------------------------------------------------------- */
double adjusted_rand(double both, double clusters, double identities, double all) {
    double expected = all > 0 ? clusters * identities / all : 0, most = (clusters + identities) / 2;
    return most == expected ? 1 : (both - expected) / (most - expected);
}

/* How many images of one identity a cluster contains; sorted by identity. */
typedef struct share {
    size_t identity, count;
} share;

typedef struct cluster {
    share *shares;
    size_t kinds, size;
} cluster;

typedef struct merging {
    cluster *cluster; /* of each root */
    size_t *parent, clusters;
    double both, together, identities, all; /* pairs */
} merging;

double pairs_of(size_t n) { return (double)n * ((double)n - 1) / 2; }

static int join(merging *m, size_t a, size_t b) {
    cluster *x = &m->cluster[a], *y = &m->cluster[b], joined = {NULL, 0, x->size + y->size};
    joined.shares = need_array(x->kinds + y->kinds, sizeof *joined.shares);
    if (!joined.shares) return 0;
    for (size_t i = 0, k = 0; i < x->kinds || k < y->kinds;) {
        share *to = &joined.shares[joined.kinds++];
        int left = i < x->kinds && (k == y->kinds || x->shares[i].identity <= y->shares[k].identity);
        int right = k < y->kinds && (i == x->kinds || y->shares[k].identity <= x->shares[i].identity);
        to->identity = left ? x->shares[i].identity : y->shares[k].identity;
        to->count = (left ? x->shares[i].count : 0) + (right ? y->shares[k].count : 0);
        if (left && right) m->both += (double)x->shares[i].count * (double)y->shares[k].count;
        i += left != 0;
        k += right != 0;
    }
    m->together += (double)x->size * (double)y->size;
    m->clusters--;
    free(x->shares);
    free(y->shares);
    y->shares = NULL;
    *x = joined;
    m->parent[b] = a;
    return 1;
}

static void merging_free(merging *m, size_t count) {
    for (size_t i = 0; m->cluster && i < count; i++) free(m->cluster[i].shares);
    free(m->cluster);
    free(m->parent);
}

/* Starts with every image in its own cluster. Free it in any case. */
static int merging_begin(merging *m, const size_t *identity, size_t count, size_t identities) {
    size_t *sizes = need_zeroed(identities + 1, sizeof *sizes);
    memset(m, 0, sizeof *m);
    m->clusters = count;
    m->cluster = sizes ? need_zeroed(count + 1, sizeof *m->cluster) : NULL;
    m->parent = m->cluster ? need_array(count + 1, sizeof *m->parent) : NULL;
    int good = m->parent != NULL;
    for (size_t i = 0; i < count && good; i++) {
        m->cluster[i].shares = need_alloc(sizeof(share));
        good = m->cluster[i].shares != NULL;
        if (!good) break;
        m->cluster[i].shares->identity = identity[i];
        m->cluster[i].shares->count = m->cluster[i].kinds = m->cluster[i].size = 1;
        m->parent[i] = i;
        sizes[identity[i]]++;
    }
    for (size_t i = 0; i < identities && good; i++) m->identities += pairs_of(sizes[i]);
    m->all = pairs_of(count);
    free(sizes);
    return good;
}

typedef struct edge {
    double score;
    size_t from;
} edge;

static int highest_first(const void *a, const void *b) {
    const edge *x = a, *y = b;
    if (x->score != y->score) return x->score < y->score ? 1 : -1;
    return (x->from > y->from) - (x->from < y->from);
}

/* Highest score first; NULL after reporting that memory ran out. */
static edge *sorted_edges(const linkage *l) {
    edge *edges = need_array(l->count, sizeof *edges);
    if (!edges) return NULL;
    for (size_t i = 0; i < l->count; i++) {
        edges[i].score = l->at[i]; /* the last image has no later one: -INFINITY */
        edges[i].from = i;
    }
    qsort(edges, l->count, sizeof *edges, highest_first);
    return edges;
}

int linkage_cut(clustering *out, const linkage *l, const size_t *identity, size_t identities, double threshold) {
    clustering best = {threshold, (double)NAN, 0, isnan(threshold)};
    merging m;
    *out = best;
    if (!l->count) return 1;
    edge *edges = sorted_edges(l);
    if (!edges) return 0;
    int good = merging_begin(&m, identity, l->count, identities);
    for (size_t i = 0; i < l->count && good; i++) { /* first without joins, then after all edges of a score */
        double ari = adjusted_rand(m.both, m.together, m.identities, m.all);
        int whole = i == 0 || edges[i].score < edges[i - 1].score;
        int wanted = best.chosen ? whole && !(ari <= best.ari) : i == 0 || edges[i - 1].score >= threshold;
        if (wanted) {
            best.ari = ari;
            best.clusters = m.clusters;
            if (best.chosen) best.threshold = i ? edges[i - 1].score : nextafter(edges[0].score, 1e30);
        }
        size_t from = edges[i].from;
        if (i + 1 < l->count) good = join(&m, union_find_root(m.parent, from), union_find_root(m.parent, l->to[from]));
    }
    merging_free(&m, l->count);
    free(edges);
    *out = best;
    return good;
}
