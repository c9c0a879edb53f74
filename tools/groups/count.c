#include "groups/count.h"

#include "base/random.h"

#include <math.h>
#include <string.h>

static const double BY_RANK = 0.6, BY_PROBABILITY = 0.3, BY_SIZE = 0.6; /* the rest is shared equally */
static const double FALL = 1.5;   /* shares by rank are rank^-FALL */
static const double LEAST = -0.5; /* lower bound for the factor of a match that was found */
static const double UNSEEN = 3;   /* rule of three: a property that none of n has is true of at most 3/n (95 %
                                     confidence) */

/* --- permanent random numbers ------------------------------------------------------------------------------------- */

/* The terminating 0 is hashed as well, so that the borders between two texts matter. */
uint64_t count_seed(uint64_t seed, const char *more) {
    return random_mix(hash_bytes(random_next(&seed) ^ HASH_START, more, strlen(more) + 1));
}

double count_number(uint64_t seed, const char *a, const char *b) {
    int swapped = b && strcmp(b, a) < 0;
    uint64_t hash = count_seed(seed, swapped ? b : a);
    if (b) hash = count_seed(hash, swapped ? a : b);
    return ((double)(hash >> 12) + 0.5) * 0x1p-52;
}

/* --- chances ------------------------------------------------------------------------------------------------------ */

/* The largest shares reach probability 1, one after the other, until x times the rest adds up to what is left. Each
   pass finds more of them; there are seldom more than five passes. */
void count_chances(double *share, size_t n, double expected) {
    double x = 0;
    size_t sure = 0;
    for (;;) {
        double rest = 0;
        size_t more = 0;
        for (size_t i = 0; i < n; i++)
            if (x * share[i] < 1) rest += share[i];
        x = rest > 0 && expected > (double)sure ? (expected - (double)sure) / rest : INFINITY;
        if ((double)n <= expected) x = INFINITY;
        for (size_t i = 0; i < n; i++) more += x * share[i] >= 1;
        if (more == sure || isinf(x)) break;
        sure = more;
    }
    for (size_t i = 0; i < n; i++) share[i] = x * share[i] >= 1 ? 1 : x * share[i];
}

void count_shares(double *share, const double *probability, size_t n) {
    double ranks = 0, sum = 0;
    for (size_t i = 0; i < n; i++) ranks += pow((double)i + 1, -FALL), sum += probability[i];
    double by_probability = sum > 0 ? BY_PROBABILITY : 0, by_rank = BY_RANK + BY_PROBABILITY - by_probability;
    for (size_t i = 0; i < n; i++) {
        share[i] = by_rank * pow((double)i + 1, -FALL) / ranks + (1 - BY_RANK - BY_PROBABILITY) / (double)n;
        if (sum > 0) share[i] += by_probability * probability[i] / sum;
    }
}

void count_crop_shares(double *share, const uint32_t *size, size_t n, size_t groups) {
    for (size_t i = 0; i < n; i++)
        share[i] = BY_SIZE / ((double)size[i] * (double)groups) + (1 - BY_SIZE) / (double)n;
}

/* --- one crop ----------------------------------------------------------------------------------------------------- */

static double product_at(double t, const double *chance, size_t found) {
    double product = 1;
    for (size_t i = 0; i < found; i++) {
        double factor = 1 - (1 - t) / chance[i];
        product *= factor > LEAST ? factor : LEAST;
    }
    return product;
}

/* With u = t^A, the integral of t^(A-1) f(t) becomes that of f(u^(1/A)) / A. f may fall steeply just below 1, so the
   pieces are halved towards 1; each sixteenth of a piece is integrated by Gauss-Legendre with five points. */
double count_part(size_t sure, const double *chance, size_t found) {
    static const double at[] = {0, 0.5384693101056831, 0.9061798459386640};
    static const double weight[] = {0.5688888888888889, 0.4786286704993665, 0.2369268850561891};
    enum { HALVINGS = 24, PARTS = 16 };
    double sum = 0, begin = 0;
    if (found == 0) return 1 / (double)sure;
    for (int piece = 0; piece < HALVINGS * PARTS; piece++) {
        double whole = ldexp(1, -(piece / PARTS) - 1), end = begin + whole / (double)PARTS;
        double middle = (begin + end) / 2, half = (end - begin) / 2;
        for (int i = -2; i <= 2; i++) {
            int k = i < 0 ? -i : i;
            double u = middle + (i < 0 ? -half : half) * at[k];
            sum += half * weight[k] * product_at(pow(u, 1 / (double)sure), chance, found);
        }
        begin = end;
    }
    return (sum + (1 - begin)) / (double)sure; /* at 1 the product is 1 */
}

/* --- all of them -------------------------------------------------------------------------------------------------- */

/* The expansion of Student's t in 1/v around the normal distribution (Abramowitz and Stegun 26.7.5). For few degrees of
   freedom it is too inaccurate: there a table is used, and between two entries the larger one. */
double count_quantile(double degrees) {
    static const double few[] = {12.706205, 4.302653, 3.182446, 2.776445, 2.570582, 2.446912, 2.364624, 2.306004};
    const double z = 1.959963984540054, z2 = z * z, v = degrees < 1 ? 1 : degrees;
    if (v < 9) return few[(int)v - 1];
    double t = z + z * (z2 + 1) / (4 * v) + z * ((5 * z2 + 16) * z2 + 3) / (96 * v * v);
    return t + z * (((3 * z2 + 19) * z2 + 17) * z2 - 15) / (384 * v * v * v);
}

/* With heavier tails a variance is known less well: its own variance is (k - 1)/n of its square for the kurtosis k, and
   2/v of it for v degrees of freedom. Setting the two equal gives v. */
static double degrees_of(double squares, double fourths, size_t n) {
    double most = (double)n - 1, k = squares > 0 ? (double)n * fourths / (squares * squares) : 3;
    double degrees = 2 * (double)n / (k - 1);
    return k > 3 && degrees < most ? degrees : most;
}

void count_estimate_of(count_estimate *e, const counted_crop *at, size_t n, size_t most) {
    double all = 0, fourths = 0, squares = 0, behind = 0;
    size_t real = 0, unknown = 0;
    memset(e, 0, sizeof *e);
    e->crops = n;
    for (size_t i = 0; i < n; i++) {
        e->count += at[i].part / at[i].chance;
        e->found += at[i].found, behind += at[i].behind;
        real += at[i].part != 0;
        unknown += !at[i].whole || at[i].chance < 1;
    }
    for (size_t i = 0; i < n; i++) {
        double off = at[i].part / at[i].chance - e->count / (double)n, square = off * off;
        all += square, fourths += square * square;
        squares += (at[i].whole ? 1 - at[i].chance : 1) * square;
    }
    e->half = count_quantile(degrees_of(all, fourths, n)) * sqrt(squares * (double)n / ((double)n - 1));
    double unseen = unknown ? UNSEEN / (double)n * e->count : 0;
    if (e->half < unseen) e->half = unseen;
    e->reached = behind > 0 ? (double)e->found / behind : (double)NAN;
    e->low = e->count - e->half;
    e->high = e->count > 0 ? e->count * exp(e->half / e->count) : e->half;
    if (e->low < (double)(real > 0)) e->low = real > 0;
    if (!(e->high < (double)most)) e->high = (double)most;
    if (e->high < e->low) e->high = e->low;
}
