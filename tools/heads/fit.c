#include "heads/fit.h"

#include "base/memory.h"
#include "base/say.h"
#include "heads/fit_choose.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct fitting {
    const fit_request *r;
    fitted *f;
    fit_space space[FIT_MOST_PARTS];
    size_t *identity, *camera; /* of each pick */
    int *turn;                 /* of each individual */
    size_t eligible;           /* individuals with two crops or more */
} fitting;

/* ---- checks ------------------------------------------------------------------------------------------------------ */

static int gather(fitting *t) {
    const fit_request *r = t->r;
    t->identity = need_array(r->count + 1, sizeof *t->identity);
    t->camera = t->identity && r->camera ? need_array(r->count + 1, sizeof *t->camera) : NULL;
    t->turn = t->identity ? need_array(r->identities + 1, sizeof *t->turn) : NULL;
    if (!t->turn || (r->camera && !t->camera)) return 0;
    for (size_t i = 0; i < r->count; i++) {
        t->identity[i] = r->identity[r->pick[i]];
        if (t->camera) t->camera[i] = r->camera[r->pick[i]];
    }
    t->eligible = fit_turns(r, FIT_FOLDS, t->turn);
    return 1;
}

static int all_finite(const fit_request *r) {
    for (size_t i = 0; i < r->count; i++)
        for (size_t k = 0; k < r->columns; k++)
            if (!isfinite(r->rows[r->pick[i] * r->columns + k])) {
                say_error("row %zu contains a value that is not finite", r->pick[i]);
                return 0;
            }
    return 1;
}

/* Returns 0 after saying that there are too few individuals for the request. */
static int can_be_fitted(const fitting *t) {
    const fit_request *r = t->r;
    size_t n = t->eligible;
    int choosing = isnan(r->shrinkage) || r->method == FIT_AUTO;
    if (n < 2) say_error("%zu individual%s with two crops or more: fit needs at least two", n, plural(n));
    else if (choosing && n < FIT_LEAST_TO_CHOOSE)
        say_error("%zu individuals with two crops or more are too few for cross-validation, which needs %d; give "
                  "--method and --shrinkage", n, FIT_LEAST_TO_CHOOSE);
    else return 1;
    return 0;
}

/* ---- one part ---------------------------------------------------------------------------------------------------- */

static int make_space(fitting *t, int p) {
    const fit_request *r = t->r;
    const float **row = need_array(r->count + 1, sizeof *row);
    for (size_t i = 0; i < r->count && row; i++) row[i] = r->rows + r->pick[i] * r->columns + r->part[p].first;
    int good = row && fit_space_make(&t->space[p], row, r->count, r->part[p].dim);
    free(row);
    if (good && !t->space[p].axes)
        say_error("all %zu crops have the same features, so individuals cannot be distinguished", r->count);
    return good && t->space[p].axes;
}

/* Computes weight and bias from directions in the space, scaled so that the mean square of y over all rows is the
   share. */
static int compose(const fitting *t, int p, const fit_scatter *s, const double *direction) {
    const fit_space *space = &t->space[p];
    fitted_part *to = &t->f->part[p];
    size_t axes = space->axes, dim = space->dim;
    double sum = 0;
    to->weight = need_zeroed(to->found + 1, dim * sizeof *to->weight);
    to->bias = to->weight ? need_zeroed(to->found + 1, sizeof *to->bias) : NULL;
    if (!to->bias) return 0;
    for (size_t j = 0; j < to->found; j++) {
        const double *d = direction + j * axes;
        double *w = to->weight + j * dim;
        for (size_t k = 0; k < axes; k++) {
            for (size_t i = 0; i < dim; i++) w[i] += d[k] * space->axis[k * dim + i];
            to->bias[j] -= d[k] * s->centre[k];
        }
        for (size_t i = 0; i < dim; i++) to->bias[j] -= w[i] * space->mean[i];
        for (size_t i = 0; i < space->count; i++) {
            double y = 0;
            for (size_t k = 0; k < axes; k++) y += d[k] * (space->at[i * axes + k] - s->centre[k]);
            sum += y * y;
        }
    }
    double scale = sum > 0 ? sqrt(to->share * (double)space->count / sum) : 0;
    for (size_t i = 0; i < to->found * dim; i++) to->weight[i] *= scale;
    for (size_t j = 0; j < to->found; j++) to->bias[j] *= scale;
    return 1;
}

/* Checks that at least one method gives as many directions as requested. */
static int dim_fits(const fitting *t, int p) {
    const fit_request *r = t->r;
    size_t rank = fit_rank(r->method, t->space[p].axes, t->eligible), room = r->part[p].room;
    if (r->dim <= room && r->dim <= rank) return 1;
    if (r->dim > room) say_error("--dim %zu: the head holds at most %zu", r->dim, room);
    else say_error("--dim %zu: %zu crop%s of %zu individual%s give only %zu", r->dim, r->count,
                   plural(r->count), t->eligible, plural(t->eligible), rank);
    return 0;
}

static int finish_part(fitting *t, int p) {
    const fit_space *space = &t->space[p];
    fitted_part *to = &t->f->part[p];
    size_t most = t->r->dim ? t->r->dim : t->r->part[p].room;
    double *direction = need_array(most, (space->axes + 1) * sizeof *direction);
    fit_scatter s;
    memset(&s, 0, sizeof s);
    int good = direction && fit_scatter_make(&s, space, t->identity, t->r->identities, NULL) &&
               fit_directions(space, &s, to->method, to->shrinkage, most, direction, &to->found) &&
               compose(t, p, &s, direction);
    t->f->individuals = s.individuals;
    t->f->crops = s.crops;
    fit_scatter_free(&s);
    free(direction);
    return good;
}

/* ---- all --------------------------------------------------------------------------------------------------------- */

static int choose(fitting *t) {
    const fit_request *r = t->r;
    fitted *f = t->f;
    int choosing = isnan(r->shrinkage) || r->method == FIT_AUTO;
    fit_candidate c[FIT_MOST_PARTS];
    if (t->eligible >= FIT_LEAST_TO_CHOOSE) f->folds = t->eligible < 2 * FIT_FOLDS ? 2 : FIT_FOLDS;
    if (!choosing && f->parts == 1) f->folds = 0;
    if (f->folds && f->folds < FIT_FOLDS) fit_turns(r, f->folds, t->turn);
    for (int p = 0; p < f->parts; p++) {
        size_t room = r->dim ? r->dim : r->part[p].room;
        const fit_candidate one = {r, &t->space[p], room, t->identity, t->camera, t->turn, f->folds,
                                   t->eligible};
        c[p] = one;
        if (choosing && !fit_choose(&c[p], &f->part[p])) return 0;
    }
    return f->parts == 1 || !f->folds || fit_choose_shares(c, f);
}

static void begin(fitted *f, const fit_request *r) {
    memset(f, 0, sizeof *f);
    f->parts = r->parts;
    f->map = (double)NAN;
    for (int p = 0; p < r->parts; p++) {
        f->part[p].dim = r->part[p].dim;
        f->part[p].method = r->method;
        f->part[p].shrinkage = r->shrinkage;
        f->part[p].share = 1.0 / r->parts;
        f->part[p].map = (double)NAN;
    }
}

int fit_heads(fitted *f, const fit_request *r) {
    fitting t;
    memset(&t, 0, sizeof t);
    t.r = r;
    t.f = f;
    begin(f, r);
    int good = all_finite(r) && gather(&t) && can_be_fitted(&t);
    for (int p = 0; p < r->parts && good; p++) {
        good = make_space(&t, p) && dim_fits(&t, p);
        f->part[p].axes = t.space[p].axes;
    }
    good = good && choose(&t);
    for (int p = 0; p < r->parts && good; p++) good = finish_part(&t, p);
    if (good && f->parts == 1) f->map = f->part[0].map;
    f->single = r->count - f->crops;
    for (int p = 0; p < r->parts; p++) fit_space_free(&t.space[p]);
    free(t.identity);
    free(t.camera);
    free(t.turn);
    return good;
}
