#include "heads/fit_algebra.h"

#include "base/files.h"
#include "base/memory.h"
#include "base/say.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TILE = 4, MOST_STEPS = 60 };

/* ---- products ---------------------------------------------------------------------------------------------------- */

/* Computes 4 x 4 inner products at once, so each loaded value is used four times. */
static void tile_of_products(const double *const *a, const double *const *b, size_t k, double sum[TILE][TILE]) {
    double s[TILE][TILE] = {{0}};
    for (size_t i = 0; i < k; i++)
        for (int r = 0; r < TILE; r++)
            for (int c = 0; c < TILE; c++) s[r][c] += a[r][i] * b[c][i];
    memcpy(sum, s, sizeof s);
}

int product_of_rows(const double *a, size_t m, const double *b, size_t n, size_t k, double *out) {
    const double *x[TILE], *y[TILE];
    double sum[TILE][TILE];
    int same = a == b && m == n;
    for (size_t i = 0; i < m; i += TILE) {
        if (interrupted()) return 0;
        for (size_t j = 0; j < n && (!same || j <= i); j += TILE) {
            for (size_t t = 0; t < TILE; t++) { /* beyond the end, the last row is repeated */
                x[t] = a + (i + t < m ? i + t : m - 1) * k;
                y[t] = b + (j + t < n ? j + t : n - 1) * k;
            }
            tile_of_products(x, y, k, sum);
            for (size_t r = 0; r < TILE && i + r < m; r++)
                for (size_t c = 0; c < TILE && j + c < n; c++) {
                    out[(i + r) * n + j + c] = sum[r][c];
                    if (same) out[(j + c) * n + i + r] = sum[r][c];
                }
        }
    }
    return 1;
}

void transpose(const double *a, size_t m, size_t n, double *out) {
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++) out[j * m + i] = a[i * n + j];
}

/* ---- eigenvectors ------------------------------------------------------------------------------------------------ */
typedef struct tridiagonal {
    double *a;         /* (n, n): below the diagonal, the part left to reduce; above, reflection vectors by row */
    size_t n;
    double *diagonal, *beside; /* beside[i] couples i and i + 1 */
    double *beta;      /* one for each reflection 1 - beta v vᵀ */
    double *room;
} tridiagonal;

/* room = beta · A v, minus the part along v that makes the two-sided update symmetric. A is the square that begins at
   `first`; only its lower triangle is read. */
static void reflect_vector(tridiagonal *t, const double *v, size_t first, double beta) {
    double *p = t->room, along = 0;
    for (size_t i = first; i < t->n; i++) p[i] = 0;
    for (size_t i = first; i < t->n; i++) {
        const double *row = t->a + i * t->n;
        double sum = row[i] * v[i], vi = v[i];
        for (size_t j = first; j < i; j++) {
            sum += row[j] * v[j];
            p[j] += row[j] * vi;
        }
        p[i] += sum;
    }
    for (size_t i = first; i < t->n; i++) {
        p[i] *= beta;
        along += p[i] * v[i];
    }
    for (size_t i = first; i < t->n; i++) p[i] -= beta / 2 * along * v[i];
}

/* Column k below the diagonal becomes (beside, 0, 0, …) by a reflection, which is applied from both sides. */
static void reduce_column(tridiagonal *t, size_t k) {
    size_t n = t->n, first = k + 1;
    double *v = t->a + k * n, sum = 0; /* the row above the diagonal is free */
    for (size_t i = first; i < n; i++) {
        v[i] = t->a[i * n + k];
        if (i > first) sum += v[i] * v[i];
    }
    t->diagonal[k] = v[k];
    t->beside[k] = v[first];
    t->beta[k] = 0;
    if (sum == 0) return;
    double length = sqrt(sum + v[first] * v[first]), to = v[first] > 0 ? -length : length;
    v[first] -= to;
    t->beside[k] = to;
    t->beta[k] = 2 / (sum + v[first] * v[first]);
    reflect_vector(t, v, first, t->beta[k]);
    for (size_t i = first; i < n; i++) {
        double *row = t->a + i * n, vi = v[i], pi = t->room[i];
        for (size_t j = first; j <= i; j++) row[j] -= vi * t->room[j] + pi * v[j];
    }
}

static int reduce(tridiagonal *t) {
    for (size_t k = 0; k + 2 < t->n; k++) {
        if (interrupted()) return 0;
        reduce_column(t, k);
    }
    for (size_t k = t->n > 2 ? t->n - 2 : 0; k < t->n; k++) {
        t->diagonal[k] = t->a[k * t->n + k];
        t->beside[k] = k + 1 < t->n ? t->a[(k + 1) * t->n + k] : 0;
        t->beta[k] = 0;
    }
    return 1;
}

/* One plane rotation of two rows. */
static void rotate(double *upper, double *lower, size_t n, double c, double s) {
    for (size_t k = 0; k < n; k++) {
        double u = upper[k], l = lower[k];
        lower[k] = s * u + c * l;
        upper[k] = c * u - s * l;
    }
}

/* One QL step on the rows l to m. The shift is the eigenvalue of the leading 2 x 2 block that is nearer to its corner
   element. */
static void ql_step(tridiagonal *t, double *vectors, size_t l, size_t m) {
    double *d = t->diagonal, *e = t->beside, c = 1, s = 1, shrunk = 0;
    double half = (d[l + 1] - d[l]) / (2 * e[l]), root = hypot(half, 1);
    double g = d[m] - d[l] + e[l] / (half + copysign(root, half));
    for (size_t i = m; i-- > l;) {
        double f = s * e[i], b = c * e[i], r = hypot(f, g);
        e[i + 1] = r;
        if (r == 0) { /* the matrix splits here */
            d[i + 1] -= shrunk;
            e[m] = 0;
            return;
        }
        s = f / r, c = g / r;
        g = d[i + 1] - shrunk;
        r = (d[i] - g) * s + 2 * c * b;
        shrunk = s * r;
        d[i + 1] = g + shrunk;
        g = c * r - b;
        rotate(vectors + i * t->n, vectors + (i + 1) * t->n, t->n, c, s);
    }
    d[l] -= shrunk;
    e[l] = g;
    e[m] = 0;
}

/* Computes the eigenvalues into the diagonal, and the tridiagonal matrix's eigenvectors into the rows of `vectors`. */
static int iterate(tridiagonal *t, double *vectors) {
    double largest = 0;
    for (size_t i = 0; i < t->n; i++) largest = fmax(largest, fabs(t->diagonal[i]) + fabs(t->beside[i]));
    for (size_t l = 0; l < t->n; l++)
        for (int steps = 0;; steps++) {
            size_t m = l; /* elements as small as rounding errors count as 0 */
            while (m + 1 < t->n && !(fabs(t->beside[m]) <= DBL_EPSILON * largest)) m++;
            if (m == l) break;
            if (interrupted()) return 0;
            if (steps == MOST_STEPS) {
                say_error("eigenvalues do not converge; check that all values are finite");
                return 0;
            }
            ql_step(t, vectors, l, m);
        }
    return 1;
}

/* Turns an eigenvector of the tridiagonal matrix into one of the original matrix. */
static void reflect_back(const tridiagonal *t, double *row) {
    for (size_t k = t->n > 2 ? t->n - 2 : 0; k-- > 0;) {
        const double *v = t->a + k * t->n;
        double along = 0;
        for (size_t i = k + 1; i < t->n; i++) along += v[i] * row[i];
        along *= t->beta[k];
        for (size_t i = k + 1; i < t->n; i++) row[i] -= along * v[i];
    }
}

typedef struct ordered {
    double value;
    size_t place;
} ordered;

static int largest_first(const void *a, const void *b) {
    const ordered *x = a, *y = b;
    if (x->value != y->value) return x->value < y->value ? 1 : -1;
    return (x->place > y->place) - (x->place < y->place);
}

/* Chooses the sign of an eigenvector so that its largest component is positive; of equal ones the first counts. */
static void fix_sign(double *row, size_t n) {
    size_t most = 0;
    for (size_t i = 1; i < n; i++)
        if (fabs(row[i]) > fabs(row[most])) most = i;
    if (row[most] >= 0) return;
    for (size_t i = 0; i < n; i++) row[i] = -row[i];
}

static void put_in_order(const tridiagonal *t, double *vectors, size_t wanted, ordered *order, double *value) {
    for (size_t i = 0; i < t->n; i++) {
        order[i].value = t->diagonal[i];
        order[i].place = i;
    }
    qsort(order, t->n, sizeof *order, largest_first);
    for (size_t i = 0; i < t->n; i++) value[i] = order[i].value;
    for (size_t i = 0; i < wanted; i++) {
        reflect_back(t, vectors + order[i].place * t->n);
        fix_sign(vectors + order[i].place * t->n, t->n);
    }
    for (size_t i = 0; i < wanted; i++) /* the reflections are no longer needed */
        memcpy(t->a + i * t->n, vectors + order[i].place * t->n, t->n * sizeof *vectors);
}

int eigen_symmetric(double *a, size_t n, size_t wanted, double *value) {
    double *vectors = need_zeroed(n, n * sizeof *vectors), *room = need_array(4 * n + 1, sizeof *room);
    ordered *order = need_array(n + 1, sizeof *order);
    int good = vectors && room && order;
    if (good) {
        tridiagonal t = {a, n, room, room + n, room + 2 * n, room + 3 * n};
        for (size_t i = 0; i < n; i++) vectors[i * n + i] = 1;
        good = reduce(&t) && iterate(&t, vectors);
        if (good) put_in_order(&t, vectors, wanted < n ? wanted : n, order, value);
    }
    free(vectors);
    free(room);
    free(order);
    return good;
}

/* ---- Cholesky ---------------------------------------------------------------------------------------------------- */
int cholesky(double *a, size_t n) {
    for (size_t i = 0; i < n; i++) {
        double *row = a + i * n;
        for (size_t j = 0; j <= i; j++) {
            const double *other = a + j * n;
            double sum = row[j];
            for (size_t k = 0; k < j; k++) sum -= row[k] * other[k];
            if (j < i) row[j] = sum / other[j];
            else if (sum > 0) row[j] = sqrt(sum);
            else return 0;
        }
        for (size_t j = i + 1; j < n; j++) row[j] = 0;
    }
    return 1;
}

void solve_lower(const double *l, size_t n, double *x) {
    for (size_t i = 0; i < n; i++) {
        double sum = x[i];
        for (size_t j = 0; j < i; j++) sum -= l[i * n + j] * x[j];
        x[i] = sum / l[i * n + i];
    }
}

void solve_lower_transposed(const double *l, size_t n, double *x) {
    for (size_t i = n; i-- > 0;) {
        x[i] /= l[i * n + i];
        for (size_t j = 0; j < i; j++) x[j] -= l[i * n + j] * x[i];
    }
}
