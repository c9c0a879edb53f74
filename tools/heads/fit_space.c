#include "heads/fit_space.h"

#include "base/files.h"
#include "base/memory.h"
#include "base/say.h"
#include "heads/fit_algebra.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Components with a smaller share of the largest variance are rounding errors, because rows are float32. */
static const double LEAST_VARIANCE = 1e-10;

/* ---- principal components ---------------------------------------------------------------------------------------- */

/* Picks rows evenly and subtracts the mean. */
static double *centred_rows(const fit_space *s, const float *const *row, size_t picked) {
    double *x = need_array(picked, s->dim * sizeof *x);
    for (size_t i = 0; i < picked && x; i++) {
        const float *from = row[i * s->count / picked];
        for (size_t k = 0; k < s->dim; k++) x[i * s->dim + k] = (double)from[k] - s->mean[k];
    }
    return x;
}

static size_t rank_of(const double *value, size_t count) {
    size_t rank = 0;
    while (rank < count && rank < FIT_MOST_AXES && value[rank] > 0 && value[rank] > LEAST_VARIANCE * value[0]) rank++;
    return rank;
}

/* Computes the eigenvectors of the covariance, (dim, dim), or if there are fewer rows, those of the rows' inner
   products, (picked, picked), which give the same components: axis = xᵀ u / |xᵀ u|. */
static int find_axes(fit_space *s, const double *x, size_t picked) {
    int by_rows = picked < s->dim;
    size_t side = by_rows ? picked : s->dim;
    double *square = need_array(side, side * sizeof *square), *value = need_array(side + 1, sizeof *value);
    double *turned = need_array(picked, s->dim * sizeof *turned);
    int good = square && value && turned;
    if (good) transpose(x, picked, s->dim, turned);
    if (good) good = by_rows ? product_of_rows(x, picked, x, picked, s->dim, square)
                             : product_of_rows(turned, s->dim, turned, s->dim, picked, square);
    good = good && eigen_symmetric(square, side, FIT_MOST_AXES, value);
    s->axes = good ? rank_of(value, side) : 0;
    s->axis = good ? need_array(s->axes + 1, s->dim * sizeof *s->axis) : NULL;
    good = s->axis != NULL;
    if (good && !by_rows) memcpy(s->axis, square, s->axes * s->dim * sizeof *square);
    if (good && by_rows) good = product_of_rows(square, s->axes, turned, s->dim, picked, s->axis);
    for (size_t i = 0; i < s->axes && good && by_rows; i++)
        for (size_t k = 0; k < s->dim; k++) s->axis[i * s->dim + k] /= sqrt(value[i]);
    free(square);
    free(value);
    free(turned);
    return good;
}

/* Computes the coordinates of all rows, a few at a time. */
static int place_rows(fit_space *s, const float *const *row) {
    enum { AT_ONCE = 64 };
    double *some = need_array(AT_ONCE, s->dim * sizeof *some);
    s->at = some ? need_array(s->count, (s->axes + 1) * sizeof *s->at) : NULL;
    s->variance = s->at ? need_zeroed(s->axes + 1, sizeof *s->variance) : NULL;
    int good = s->variance != NULL;
    for (size_t first = 0; first < s->count && good; first += AT_ONCE) {
        size_t n = s->count - first < AT_ONCE ? s->count - first : AT_ONCE;
        for (size_t i = 0; i < n; i++)
            for (size_t k = 0; k < s->dim; k++) some[i * s->dim + k] = (double)row[first + i][k] - s->mean[k];
        good = product_of_rows(some, n, s->axis, s->axes, s->dim, s->at + first * s->axes);
    }
    for (size_t i = 0; i < s->count && good; i++)
        for (size_t k = 0; k < s->axes; k++) s->variance[k] += s->at[i * s->axes + k] * s->at[i * s->axes + k];
    for (size_t k = 0; k < s->axes && good; k++) s->variance[k] /= (double)s->count;
    free(some);
    return good;
}

int fit_space_make(fit_space *s, const float *const *row, size_t count, size_t dim) {
    size_t picked = count < FIT_MOST_ROWS ? count : FIT_MOST_ROWS;
    memset(s, 0, sizeof *s);
    s->dim = dim;
    s->count = count;
    s->mean = need_zeroed(dim, sizeof *s->mean);
    for (size_t i = 0; i < count && s->mean; i++)
        for (size_t k = 0; k < dim; k++) s->mean[k] += (double)row[i][k];
    for (size_t k = 0; k < dim && s->mean; k++) s->mean[k] /= (double)count;
    double *x = s->mean ? centred_rows(s, row, picked) : NULL;
    int good = x && find_axes(s, x, picked);
    free(x);
    return good && place_rows(s, row);
}

void fit_space_free(fit_space *s) {
    free(s->mean);
    free(s->axis);
    free(s->variance);
    free(s->at);
    memset(s, 0, sizeof *s);
}

/* ---- scatter ----------------------------------------------------------------------------------------------------- */
typedef struct spreading {
    const fit_space *space;
    const size_t *identity;
    size_t identities, rows;
    const char *left_out;
    size_t *crops;    /* of each individual; 0 for those that are left out */
    double *means;    /* (identities, axes) */
    double *apart;    /* rows minus their individual's mean, then means minus the overall mean, by column */
} spreading;

static int takes_part(const spreading *p, size_t i) { return !p->left_out || !p->left_out[p->identity[i]]; }

static void find_means(const spreading *p, fit_scatter *s) {
    size_t axes = s->axes, n = 0;
    for (size_t i = 0; i < p->space->count; i++) {
        const double *at = p->space->at + i * axes;
        if (!takes_part(p, i)) continue;
        n++;
        p->crops[p->identity[i]]++;
        for (size_t k = 0; k < axes; k++) p->means[p->identity[i] * axes + k] += at[k];
        for (size_t k = 0; k < axes; k++) s->centre[k] += at[k];
    }
    for (size_t k = 0; k < axes && n; k++) s->centre[k] /= (double)n;
    for (size_t c = 0; c < p->identities; c++) {
        if (p->crops[c] < 2) continue;
        s->individuals++;
        s->crops += p->crops[c];
        for (size_t k = 0; k < axes; k++) p->means[c * axes + k] /= (double)p->crops[c];
    }
}

/* The covariance of n vectors in the columns of p->apart (axes, n), divided by `over`. */
static int covariance(const spreading *p, size_t axes, size_t n, size_t over, double *out) {
    if (!product_of_rows(p->apart, axes, p->apart, axes, n, out)) return 0;
    for (size_t i = 0; i < axes * axes; i++) out[i] /= (double)over;
    return 1;
}

static int spread(const spreading *p, fit_scatter *s) {
    size_t axes = s->axes, n = 0;
    for (size_t i = 0; i < p->space->count; i++) {
        size_t who = p->identity[i];
        if (!takes_part(p, i) || p->crops[who] < 2) continue;
        for (size_t k = 0; k < axes; k++)
            p->apart[k * s->crops + n] = p->space->at[i * axes + k] - p->means[who * axes + k];
        n++;
    }
    if (!covariance(p, axes, s->crops, s->crops - s->individuals, s->within)) return 0;
    for (size_t k = 0; k < axes; k++) {
        double mean = 0;
        size_t at = 0;
        for (size_t c = 0; c < p->identities; c++) mean += p->crops[c] < 2 ? 0 : p->means[c * axes + k];
        for (size_t c = 0; c < p->identities; c++)
            if (p->crops[c] >= 2)
                p->apart[k * s->individuals + at++] = p->means[c * axes + k] - mean / (double)s->individuals;
    }
    return covariance(p, axes, s->individuals, s->individuals, s->between);
}

int fit_scatter_make(fit_scatter *s, const fit_space *space, const size_t *identity, size_t identities,
                     const char *left_out) {
    size_t axes = space->axes;
    spreading p = {space, identity, identities, space->count, left_out, NULL, NULL, NULL};
    memset(s, 0, sizeof *s);
    s->axes = axes;
    p.crops = need_zeroed(identities + 1, sizeof *p.crops);
    p.means = p.crops ? need_zeroed(identities + 1, axes * sizeof *p.means) : NULL;
    p.apart = p.means ? need_array(space->count + 1, axes * sizeof *p.apart) : NULL;
    s->centre = p.apart ? need_zeroed(axes + 1, sizeof *s->centre) : NULL;
    s->within = s->centre ? need_zeroed(axes + 1, axes * sizeof *s->within) : NULL;
    s->between = s->within ? need_zeroed(axes + 1, axes * sizeof *s->between) : NULL;
    int good = s->between != NULL;
    if (good) find_means(&p, s);
    if (good && s->individuals) good = spread(&p, s);
    free(p.crops);
    free(p.means);
    free(p.apart);
    return good;
}

void fit_scatter_free(fit_scatter *s) {
    free(s->centre);
    free(s->within);
    free(s->between);
    memset(s, 0, sizeof *s);
}

/* ---- directions -------------------------------------------------------------------------------------------------- */
size_t fit_rank(fit_method method, size_t axes, size_t individuals) {
    size_t most = individuals ? individuals - 1 : 0;
    return method == FIT_LDA && most < axes ? most : axes;
}

static void whiten_components(const fit_space *space, double shrinkage, size_t most, double *out) {
    double mean = 0;
    for (size_t k = 0; k < space->axes; k++) mean += space->variance[k] / (double)space->axes;
    memset(out, 0, most * space->axes * sizeof *out);
    for (size_t k = 0; k < most; k++)
        out[k * space->axes + k] = 1 / sqrt((1 - shrinkage) * space->variance[k] + shrinkage * mean);
}

/* Computes Cholesky's factor of the shrunk covariance within individuals. 0 after saying that it has no inverse. */
static int shrunk_factor(const fit_scatter *s, double shrinkage, double *factor) {
    size_t n = s->axes;
    double trace = 0;
    for (size_t i = 0; i < n; i++) trace += s->within[i * n + i];
    for (size_t i = 0; i < n * n; i++) factor[i] = (1 - shrinkage) * s->within[i];
    for (size_t i = 0; i < n; i++) factor[i * n + i] += shrinkage * trace / (double)n;
    if (trace > 0 && cholesky(factor, n)) return 1;
    if (trace > 0) say_error("with shrinkage %g the crops of individuals do not vary along all %zu components; use "
                             "more shrinkage, or more crops", shrinkage, n);
    else say_error("all crops of each individual are equal, so there is no variation to learn from");
    return 0;
}

/* a = L⁻¹ a L⁻ᵀ for a symmetric a. turned: working memory of the same size. */
static void whiten_both_sides(const double *factor, size_t n, double *a, double *turned) {
    for (size_t i = 0; i < n; i++) solve_lower(factor, n, a + i * n);
    transpose(a, n, n, turned);
    for (size_t i = 0; i < n; i++) solve_lower(factor, n, turned + i * n);
    memcpy(a, turned, n * n * sizeof *a);
}

int fit_directions(const fit_space *space, const fit_scatter *s, fit_method method, double shrinkage, size_t most,
                   double *out, size_t *found) {
    size_t n = space->axes, rank = fit_rank(method, n, s->individuals);
    *found = most < rank ? most : rank;
    if (method == FIT_PCA) {
        whiten_components(space, shrinkage, *found, out);
        return 1;
    }
    double *factor = need_array(n, n * sizeof *factor), *spread = need_array(n, n * sizeof *spread);
    double *room = need_array(n + 1, n * sizeof *room);
    int good = factor && spread && room && shrunk_factor(s, shrinkage, factor);
    if (good) {
        for (size_t i = 0; i < n * n; i++) spread[i] = s->between[i] + (method == FIT_WITHIN ? s->within[i] : 0);
        whiten_both_sides(factor, n, spread, room);
        good = eigen_symmetric(spread, n, *found, room);
    }
    for (size_t i = 0; i < *found && good; i++) {
        memcpy(out + i * n, spread + i * n, n * sizeof *out);
        solve_lower_transposed(factor, n, out + i * n);
    }
    free(factor);
    free(spread);
    free(room);
    return good;
}
