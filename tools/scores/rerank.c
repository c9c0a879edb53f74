#include "scores/rerank.h"

#include "base/files.h"
#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the nearest rows of every row ------------------------------------------------------------------------------- */

/* Nearest first; equal scores in the order of the rows. */
typedef struct nearest {
    size_t near, count;
    const double *norm; /* squared lengths, since neighbours are ordered by distance, not by score; NULL: all are 1 */
    size_t *rows;       /* count × near */
    float *score;       /* the same shape, or NULL */
    double *farthest;   /* of each row: the largest squared distance; NULL if not wanted */
    double *room;       /* threads × near: working memory of keep_nearest */
} nearest;

static double distance(const nearest *n, size_t a, size_t b, float score) {
    return n->norm ? n->norm[a] + n->norm[b] - 2 * (double)score : 2 - 2 * (double)score;
}

static void keep_nearest(void *user, int thread, size_t row, float *scores) {
    nearest *n = user;
    size_t *best = n->rows + row * n->near, held = 0;
    double far = 0, limit = (double)INFINITY;
    double *d = n->room + (size_t)thread * n->near;
    for (size_t at = 0; at < n->count; at++) {
        double here = distance(n, row, at, scores[at]);
        if (here > far) far = here;
        if (held == n->near && here >= limit) continue;
        size_t place = held < n->near ? held++ : held - 1;
        for (; place > 0 && d[place - 1] > here; place--) {
            d[place] = d[place - 1];
            best[place] = best[place - 1];
        }
        d[place] = here;
        best[place] = at;
        limit = d[held - 1];
    }
    for (size_t i = 0; i < held && n->score; i++) n->score[row * n->near + i] = scores[best[i]];
    if (n->farthest) n->farthest[row] = far;
}

static int find_nearest(nearest *n, const picture_rows *all) {
    score_job job = {all->rows, all->rows, n->count, n->count, all->dim, all->threads, all->isa, 0, 0, keep_nearest, n,
                     "neighbours"};
    n->room = need_array((size_t)all->threads * n->near, sizeof *n->room);
    int good = n->room && scores_run(&job);
    free(n->room);
    n->room = NULL;
    return good;
}

/* ---- k-reciprocal sets ------------------------------------------------------------------------------------------- */
static int is_near(const rerank *r, size_t of, size_t wanted, size_t depth) {
    const size_t *near = r->neighbours + of * r->near;
    for (size_t i = 0; i < depth; i++)
        if (near[i] == wanted) return 1;
    return 0;
}

/* Finds those of the first `depth` neighbours of i that have i among their own. Returns how many. */
static size_t reciprocal(const rerank *r, size_t i, size_t depth, size_t *set) {
    size_t n = 0;
    if (depth > r->near) depth = r->near;
    for (size_t k = 0; k < depth; k++) {
        size_t other = r->neighbours[i * r->near + k];
        if (is_near(r, other, i, depth)) set[n++] = other;
    }
    return n;
}

static size_t common(const size_t *a, size_t na, const size_t *b, size_t nb) {
    size_t n = 0;
    for (size_t i = 0; i < na; i++)
        for (size_t k = 0; k < nb; k++) n += a[i] == b[k];
    return n;
}

static int by_number(const void *a, const void *b) {
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return (x > y) - (x < y);
}

/* The reciprocal neighbours of i, and the sets of those neighbours that share more than two thirds of theirs with it.
   Sorted, without duplicates. */
static size_t expanded(const rerank *r, size_t i, size_t *set, size_t *mine, size_t *theirs) {
    size_t half = (size_t)nearbyint(r->o.k1 / 2.0); /* NumPy's around: half to even */
    size_t n = reciprocal(r, i, (size_t)r->o.k1 + 1, mine), count = n, unique = 0;
    memcpy(set, mine, n * sizeof *set);
    for (size_t k = 0; k < n; k++) {
        size_t found = reciprocal(r, mine[k], half + 1, theirs);
        if (3 * common(theirs, found, mine, n) <= 2 * found) continue;
        memcpy(set + count, theirs, found * sizeof *set);
        count += found;
    }
    qsort(set, count, sizeof *set, by_number);
    for (size_t k = 0; k < count; k++)
        if (k == 0 || set[k] != set[unique - 1]) set[unique++] = set[k];
    return unique;
}

static double dot(const float *a, const float *b, size_t dim) {
    double sum = 0;
    for (size_t k = 0; k < dim; k++) sum += (double)a[k] * (double)b[k];
    return sum;
}

/* The squared distance of two images, divided by the largest one from `a`. For copies of one image it may be below
   0 by a rounding error; if all images are copies, there are only such errors. */
static double share_of_farthest(const rerank *r, size_t a, size_t b, double score) {
    double square = r->norm[a] + r->norm[b] - 2 * score;
    return square > 0 && r->farthest[a] > 1e-6 * r->norm[a] ? fmin(square / r->farthest[a], 1) : 0;
}

/* The next two functions return cells = NULL after reporting that memory ran out. */
static sparse_row weights_of(const rerank *r, size_t i, size_t *set, size_t *mine, size_t *theirs) {
    const float *rows = r->all->rows;
    size_t dim = r->all->dim;
    sparse_row row = {NULL, expanded(r, i, set, mine, theirs)};
    double sum = 0;
    row.cells = need_array(row.count + 1, sizeof *row.cells);
    if (!row.cells) return row;
    for (size_t k = 0; k < row.count; k++) {
        double score = dot(rows + i * dim, rows + set[k] * dim, dim);
        row.cells[k].column = set[k];
        row.cells[k].value = exp(-share_of_farthest(r, i, set[k], score));
        sum += row.cells[k].value;
    }
    for (size_t k = 0; k < row.count; k++) row.cells[k].value /= sum;
    return row;
}

/* ---- sparse rows ------------------------------------------------------------------------------------------------- */
static int by_column(const void *a, const void *b) {
    const sparse_cell *x = a, *y = b;
    return (x->column > y->column) - (x->column < y->column);
}

/* The mean of the rows of the k2 nearest images, including the image itself. */
static sparse_row mean_of_near(const rerank *r, size_t i) {
    size_t total = 0, depth = (size_t)r->o.k2 < r->near ? (size_t)r->o.k2 : r->near, n = 0;
    const size_t *near = r->neighbours + i * r->near;
    sparse_row mean = {NULL, 0};
    for (size_t k = 0; k < depth; k++) total += r->features[near[k]].count;
    mean.cells = need_array(total + 1, sizeof *mean.cells);
    if (!mean.cells) return mean;
    for (size_t k = 0; k < depth; k++) {
        const sparse_row *one = &r->features[near[k]];
        memcpy(mean.cells + n, one->cells, one->count * sizeof *one->cells);
        n += one->count;
    }
    qsort(mean.cells, n, sizeof *mean.cells, by_column);
    for (size_t k = 0; k < n; k++) {
        sparse_cell *last = mean.count ? &mean.cells[mean.count - 1] : NULL;
        if (last && last->column == mean.cells[k].column) last->value += mean.cells[k].value;
        else mean.cells[mean.count++] = mean.cells[k];
    }
    for (size_t k = 0; k < mean.count; k++) mean.cells[k].value /= (double)depth;
    return mean;
}

static void free_rows(sparse_row *rows, size_t count) {
    for (size_t i = 0; rows && i < count; i++) free(rows[i].cells);
    free(rows);
}

static sparse_row *empty_rows(size_t count) { return need_zeroed(count + 1, sizeof(sparse_row)); }

static int turn_over(rerank *r) {
    r->columns = empty_rows(r->count);
    if (!r->columns) return 0;
    for (size_t i = 0; i < r->count; i++)
        for (size_t k = 0; k < r->features[i].count; k++) r->columns[r->features[i].cells[k].column].count++;
    for (size_t i = 0; i < r->count; i++) {
        r->columns[i].cells = need_array(r->columns[i].count + 1, sizeof *r->columns[i].cells);
        r->columns[i].count = 0;
        if (!r->columns[i].cells) return 0;
    }
    for (size_t i = 0; i < r->count; i++)
        for (size_t k = 0; k < r->features[i].count; k++) {
            sparse_row *column = &r->columns[r->features[i].cells[k].column];
            sparse_cell cell = {i, r->features[i].cells[k].value};
            column->cells[column->count++] = cell;
        }
    return 1;
}

static int weigh_neighbours(rerank *r) {
    size_t half = (size_t)nearbyint(r->o.k1 / 2.0) + 1, most = r->near + r->near * half;
    size_t *set = need_array(most, sizeof *set), *mine = set ? need_array(r->near, sizeof *mine) : NULL;
    size_t *theirs = mine ? need_array(r->near, sizeof *theirs) : NULL;
    int good = theirs != NULL;
    for (size_t i = 0; i < r->count && good && !interrupted(); i++) {
        r->features[i] = weights_of(r, i, set, mine, theirs);
        good = r->features[i].cells != NULL;
    }
    free(set);
    free(mine);
    free(theirs);
    return good && !interrupted();
}

static int make_features(rerank *r) {
    r->features = empty_rows(r->count);
    if (!r->features || !weigh_neighbours(r)) return 0;
    if (r->o.k2 <= 1) return 1;
    sparse_row *means = empty_rows(r->count);
    int good = means != NULL;
    for (size_t i = 0; i < r->count && good; i++) {
        means[i] = mean_of_near(r, i);
        good = means[i].cells != NULL;
    }
    free_rows(r->features, r->count);
    r->features = means;
    return good && !interrupted();
}

int rerank_begin(rerank *r, const picture_rows *all, const rerank_options *o) {
    memset(r, 0, sizeof *r);
    r->o = *o;
    r->all = all;
    r->count = all->count;
    r->near = (size_t)(o->k1 > o->k2 - 1 ? o->k1 : o->k2 - 1) + 1;
    if (r->near > r->count) r->near = r->count;
    size_t pairs = r->near && r->count > SIZE_MAX / r->near ? SIZE_MAX : r->count * r->near;
    r->neighbours = need_array(pairs, sizeof *r->neighbours);
    r->norm = r->neighbours ? need_array(r->count, sizeof *r->norm) : NULL;
    r->farthest = r->norm ? need_array(r->count, sizeof *r->farthest) : NULL;
    r->room = r->farthest ? need_array((size_t)all->threads * (all->count - all->gallery), sizeof *r->room) : NULL;
    if (!r->room) return 0;
    for (size_t i = 0; i < r->count; i++)
        r->norm[i] = dot(all->rows + i * all->dim, all->rows + i * all->dim, all->dim);
    nearest n = {r->near, r->count, r->norm, r->neighbours, NULL, r->farthest, NULL};
    return find_nearest(&n, all) && make_features(r) && turn_over(r);
}

void rerank_row(const rerank *r, int thread, size_t query, float *scores) {
    size_t first = r->all->gallery, galleries = r->count - first;
    const sparse_row *mine = &r->features[query];
    double *shared = r->room + (size_t)thread * galleries;
    for (size_t g = 0; g < galleries; g++) shared[g] = 0;
    for (size_t k = 0; k < mine->count; k++) {
        const sparse_row *column = &r->columns[mine->cells[k].column];
        for (size_t i = 0; i < column->count; i++) {
            const sparse_cell *theirs = &column->cells[i];
            if (theirs->column < first) continue; /* here a column is the row that the cell came from */
            shared[theirs->column - first] += fmin(mine->cells[k].value, theirs->value);
        }
    }
    for (size_t g = 0; g < galleries; g++) {
        double jaccard = 1 - shared[g] / (2 - shared[g]);
        double plain = share_of_farthest(r, query, first + g, (double)scores[g]);
        scores[g] = (float)-((1 - r->o.lambda) * jaccard + r->o.lambda * plain);
    }
}

void rerank_free(rerank *r) {
    free(r->neighbours);
    free(r->norm);
    free(r->farthest);
    free(r->room);
    free_rows(r->features, r->count);
    free_rows(r->columns, r->count);
    memset(r, 0, sizeof *r);
}

/* ---- query expansion --------------------------------------------------------------------------------------------- */
/* mean: working memory for dim numbers. */
static void expand_one(float *to, double *mean, const picture_rows *all, const nearest *n, size_t row, double alpha) {
    double sum = 0;
    for (size_t k = 0; k < all->dim; k++) mean[k] = 0;
    for (size_t i = 0; i < n->near; i++) {
        const float *from = all->rows + n->rows[row * n->near + i] * all->dim;
        double cosine = (double)n->score[row * n->near + i], weight = pow(cosine, alpha);
        if (isnan(weight)) weight = 0; /* a negative cosine to a fractional power */
        for (size_t k = 0; k < all->dim; k++) mean[k] += weight * (double)from[k];
    }
    for (size_t k = 0; k < all->dim; k++) sum += mean[k] * mean[k];
    double length = sum > 0 ? sqrt(sum) : 1;
    for (size_t k = 0; k < all->dim; k++) to[k] = (float)(mean[k] / length);
}

int expand_rows(float *rows, const picture_rows *all, int k, double alpha) {
    nearest n = {(size_t)k, all->count, NULL, NULL, NULL, NULL, NULL};
    if (n.near > n.count) n.near = n.count;
    size_t values = n.count * all->dim;
    n.rows = need_array(n.count * n.near, sizeof *n.rows);
    n.score = n.rows ? need_array(n.count * n.near, sizeof *n.score) : NULL;
    float *fresh = n.score ? need_array(values, sizeof *fresh) : NULL;
    double *mean = fresh ? need_array(all->dim, sizeof *mean) : NULL;
    int good = mean && find_nearest(&n, all);
    for (size_t i = 0; i < n.count && good; i++) expand_one(fresh + i * all->dim, mean, all, &n, i, alpha);
    if (good) memcpy(rows, fresh, values * sizeof *rows);
    free(mean);
    free(fresh);
    free(n.rows);
    free(n.score);
    return good;
}
