#include "heads/fit_choose.h"

#include "base/files.h"
#include "base/memory.h"
#include "base/say.h"
#include "heads/fit_algebra.h"
#include "scores/metrics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double SHRINKAGES[] = {1, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001};
static const double SHARES[] = {1, 0.5, 2, 0.25, 4, 0};
static const fit_method METHODS[] = {FIT_WITHIN, FIT_LDA, FIT_PCA};
enum {
    N_SHRINKAGES = sizeof SHRINKAGES / sizeof *SHRINKAGES,
    N_SHARES = sizeof SHARES / sizeof *SHARES,
    N_METHODS = sizeof METHODS / sizeof *METHODS
};

/* ---- a fold ------------------------------------------------------------------------------------------------------ */

/* The held-out crops of one fold, and the scatter of the others. */
typedef struct fold {
    const fit_candidate *c;
    size_t *held, count; /* picks */
    char *left_out;      /* of each individual */
    fit_scatter scatter;
} fold;

static void fold_end(fold *t) {
    free(t->held);
    free(t->left_out);
    fit_scatter_free(&t->scatter);
}

static int fold_begin(fold *t, const fit_candidate *c, int number) {
    memset(t, 0, sizeof *t);
    t->c = c;
    t->held = need_array(c->r->count + 1, sizeof *t->held);
    t->left_out = t->held ? need_zeroed(c->r->identities + 1, 1) : NULL;
    if (!t->left_out) return 0;
    for (size_t i = 0; i < c->r->identities; i++) t->left_out[i] = c->turn[i] == number;
    for (size_t i = 0; i < c->r->count; i++)
        if (t->left_out[c->identity[i]]) t->held[t->count++] = i;
    return fit_scatter_make(&t->scatter, c->space, c->identity, c->r->identities, t->left_out);
}

/* Inner products of the held-out crops after the head that was fitted to the others, (count, count). */
static int fold_products(const fold *t, fit_method method, double shrinkage, double *products) {
    const fit_space *space = t->c->space;
    size_t axes = space->axes, n = t->count, found = 0;
    size_t most = t->c->room < axes ? t->c->room : axes;
    double *direction = need_array(most + 1, axes * sizeof *direction), *y = NULL;
    double *at = direction ? need_array(n + 1, axes * sizeof *at) : NULL;
    int good = at && fit_directions(space, &t->scatter, method, shrinkage, most, direction, &found);
    for (size_t i = 0; i < n && good; i++)
        for (size_t k = 0; k < axes; k++)
            at[i * axes + k] = space->at[t->held[i] * axes + k] - t->scatter.centre[k];
    y = good ? need_array(n + 1, (found + 1) * sizeof *y) : NULL;
    good = y && product_of_rows(at, n, direction, found, axes, y) && product_of_rows(y, n, y, n, found, products);
    free(direction);
    free(at);
    free(y);
    return good;
}

/* ---- average precision ------------------------------------------------------------------------------------------- */
typedef struct precision {
    double sum;
    size_t queries;
} precision;

/* The average precision of every held-out crop among the others, from the cosines of products (n, n). */
static int add_precision(const fold *t, const double *products, precision *to) {
    size_t n = t->count, *match = need_array(n + 1, 2 * sizeof *match);
    float *scores = match ? need_array(n + 1, sizeof *scores) : NULL;
    const size_t *who = t->c->identity, *camera = t->c->camera;
    int good = scores != NULL;
    for (size_t q = 0; q < n && good; q++) {
        size_t matches = 0, a = t->held[q];
        for (size_t g = 0; g < n; g++) {
            size_t b = t->held[g];
            double length = sqrt(products[q * n + q] * products[g * n + g]);
            int same = who[a] == who[b], no_part = g == q || (same && camera && camera[a] == camera[b]);
            scores[g] = no_part ? (float)-INFINITY : length > 0 ? (float)(products[q * n + g] / length) : 0;
            if (same && !no_part) match[matches++] = g;
        }
        if (!matches) continue;
        good = rank_matches(scores, n, match, matches, match + n) || say_no_memory();
        if (good) to->sum += query_measure(match + n, matches).ap;
        to->queries++;
    }
    free(match);
    free(scores);
    return good;
}

static double mean_of(const precision *p) { return p->queries ? p->sum / (double)p->queries : 0; }

/* ---- method and shrinkage ---------------------------------------------------------------------------------------- */

/* Returns 0 if the method was not requested or gives fewer directions than requested. */
static int is_wanted(const fit_candidate *c, int m, int s) {
    const fit_request *r = c->r;
    return (r->method == FIT_AUTO || r->method == METHODS[m]) && (isnan(r->shrinkage) || !s) &&
           (r->method != FIT_AUTO || fit_rank(METHODS[m], c->space->axes, c->eligible) >= r->dim);
}

static int try_all(const fit_candidate *c, precision (*tried)[N_SHRINKAGES]) {
    const fit_request *r = c->r;
    int good = 1;
    for (int number = 0; number < c->folds && good; number++) {
        fold t;
        good = fold_begin(&t, c, number);
        double *products = good ? need_array(t.count + 1, (t.count + 1) * sizeof *products) : NULL;
        good = products != NULL;
        for (int m = 0; m < N_METHODS && good; m++)
            for (int s = 0; s < N_SHRINKAGES && good && !interrupted(); s++) {
                double shrinkage = isnan(r->shrinkage) ? SHRINKAGES[s] : r->shrinkage;
                if (!is_wanted(c, m, s)) continue;
                good = fold_products(&t, METHODS[m], shrinkage, products) && add_precision(&t, products, &tried[m][s]);
            }
        free(products);
        fold_end(&t);
    }
    return good && !interrupted();
}

int fit_choose(const fit_candidate *c, fitted_part *p) {
    precision tried[N_METHODS][N_SHRINKAGES];
    memset(tried, 0, sizeof tried);
    p->map = -1;
    if (!try_all(c, tried)) return 0;
    for (int m = 0; m < N_METHODS; m++)
        for (int s = 0; s < N_SHRINKAGES; s++) { /* of equal ones, the first */
            if (!tried[m][s].queries || mean_of(&tried[m][s]) <= p->map) continue;
            p->map = mean_of(&tried[m][s]);
            p->method = METHODS[m];
            p->shrinkage = isnan(c->r->shrinkage) ? SHRINKAGES[s] : c->r->shrinkage;
        }
    if (p->map >= 0) return 1;
    say_error("no individual has two crops%s, so there is nothing to cross-validate with",
              c->camera ? " from different cameras" : "");
    return 0;
}

/* ---- shares of the parts ----------------------------------------------------------------------------------------- */

/* The products of each part and fold, scaled so that the mean square length in the fold is 1. */
typedef struct sharing {
    const fit_candidate *c;
    const fitted *f;
    fold fold[FIT_FOLDS];
    double *products[FIT_FOLDS][FIT_MOST_PARTS], *sum;
} sharing;

static int prepare(sharing *s, int number) {
    fold *t = &s->fold[number];
    for (int p = 0; p < s->f->parts; p++) {
        fold one;
        if (!fold_begin(&one, &s->c[p], number)) {
            fold_end(&one);
            return 0;
        }
        size_t n = one.count;
        double length = 0, *to = s->products[number][p] = need_array(n + 1, (n + 1) * sizeof *to);
        int good = to && fold_products(&one, s->f->part[p].method, s->f->part[p].shrinkage, to);
        for (size_t i = 0; i < n && good; i++) length += to[i * n + i] / (double)n;
        for (size_t i = 0; i < n * n && good && length > 0; i++) to[i] /= length;
        fit_scatter_free(&one.scatter);
        if (p == 0) *t = one;
        else fold_end(&one);
        if (!good) return 0;
    }
    return 1;
}

static int try_shares(const sharing *s, const double *share, double *map) {
    precision sum = {0, 0};
    for (int number = 0; number < s->f->folds; number++) {
        const fold *t = &s->fold[number];
        memset(s->sum, 0, t->count * t->count * sizeof *s->sum);
        for (int p = 0; p < s->f->parts; p++)
            for (size_t i = 0; i < t->count * t->count; i++) s->sum[i] += share[p] * s->products[number][p][i];
        if (!add_precision(t, s->sum, &sum) || interrupted()) return 0;
    }
    *map = mean_of(&sum);
    return 1;
}

/* Twice, each part in turn gets the share that is best with the present shares of the others. */
static int climb(const sharing *s, double *share, double *best) {
    if (!try_shares(s, share, best)) return 0;
    for (int p = 0; p < 2 * s->f->parts; p++) {
        double *one = &share[p % s->f->parts], kept = *one, found = *best;
        for (int k = 0; k < N_SHARES; k++) {
            *one = SHARES[k];
            if (!try_shares(s, share, &found)) return 0;
            if (found > *best) *best = found, kept = *one;
        }
        *one = kept;
    }
    return 1;
}

int fit_choose_shares(const fit_candidate *c, fitted *f) {
    sharing s;
    double share[FIT_MOST_PARTS], sum = 0;
    size_t most = 0;
    int good = 1;
    memset(&s, 0, sizeof s);
    s.c = c;
    s.f = f;
    for (int number = 0; number < f->folds && good; number++) {
        good = prepare(&s, number);
        if (s.fold[number].count > most) most = s.fold[number].count;
    }
    s.sum = good ? need_array(most + 1, (most + 1) * sizeof *s.sum) : NULL;
    for (int p = 0; p < f->parts; p++) share[p] = 1;
    good = s.sum && climb(&s, share, &f->map);
    for (int p = 0; p < f->parts; p++) sum += share[p];
    for (int p = 0; p < f->parts && good; p++) f->part[p].share = share[p] / sum;
    for (int number = 0; number < f->folds; number++) {
        for (int p = 0; p < f->parts; p++) free(s.products[number][p]);
        fold_end(&s.fold[number]);
    }
    free(s.sum);
    return good;
}
