#include "groups/partition.h"

#include "base/invariant.h"
#include "base/memory.h"
#include "evaluate/linkage.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One of the two partitions: the groups or the identities. */
typedef struct parts {
    size_t count;
    uint32_t *label; /* [count], ascending */
    uint32_t *size;  /* [count]: rows of each */
    size_t kinds;    /* number of different sizes: many[k] parts have sizes[k] rows each */
    uint32_t *sizes, *many;
} parts;

static int ascending_32(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static int ascending_64(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Sorts `values` and removes duplicates; times[i] is how often values[i] occurred. Returns how many remain. */
static size_t tally(uint32_t *values, uint32_t *times, size_t count) {
    size_t kept = 0;
    qsort(values, count, sizeof *values, ascending_32);
    for (size_t i = 0; i < count; i++) {
        if (!kept || values[kept - 1] != values[i]) {
            values[kept] = values[i];
            times[kept++] = 0;
        }
        times[kept - 1]++;
    }
    return kept;
}

/* Free it in any case. */
static int parts_of(parts *p, const uint32_t *label, size_t count) {
    memset(p, 0, sizeof *p);
    p->label = need_array(count, sizeof *p->label);
    p->size = p->label ? need_array(count, sizeof *p->size) : NULL;
    if (!p->size) return 0;
    for (size_t i = 0; i < count; i++) p->label[i] = label[i];
    p->count = tally(p->label, p->size, count);
    p->sizes = need_array(p->count, sizeof *p->sizes);
    p->many = p->sizes ? need_array(p->count, sizeof *p->many) : NULL;
    if (!p->many) return 0;
    for (size_t i = 0; i < p->count; i++) p->sizes[i] = p->size[i];
    p->kinds = tally(p->sizes, p->many, p->count);
    return 1;
}

static void parts_free(parts *p) {
    free(p->label);
    free(p->size);
    free(p->sizes);
    free(p->many);
}

static double size_of(const parts *p, uint32_t label) {
    const uint32_t *at = bsearch(&label, p->label, p->count, sizeof label, ascending_32);
    REID_ASSERT(at);
    return (double)p->size[at - p->label];
}

static double pairs_in(const parts *p) {
    double sum = 0;
    for (size_t k = 0; k < p->kinds; k++) sum += (double)p->many[k] * pairs_of(p->sizes[k]);
    return sum;
}

/* ---- mutual information ------------------------------------------------------------------------------------------

   Let a be the size of a group, b the size of an identity, n the number of rows they share, and N the number of all
   rows. The mutual information is Σ n/N log(N n / (a b)), and an entropy is -Σ a/N log(a/N). In
   AMI = (MI - E[MI]) / ((H + H') / 2 - E[MI]) the terms with log N cancel, and in the numerator also those with log a
   and log b, which leaves

       AMI = (Σ n log n - E) / ((Σ a log a + Σ b log b) / 2 - E),    E = Σ over a and b of E[n log n]

   without rounding errors from large equal terms. Groups of a single row contribute exactly 0. */

static double x_log_x(double x) { return x > 0 ? x * log(x) : 0; }

static double sizes_log(const parts *p) {
    double sum = 0;
    for (size_t k = 0; k < p->kinds; k++) sum += (double)p->many[k] * x_log_x((double)p->sizes[k]);
    return sum;
}

/* E[n log n], where n is how many of `a` rows drawn from `all` are among `b` given ones (hypergeometric distribution).
   Starting at the most frequent n, each weight follows from its neighbour by a ratio, in both directions. In the end
   they are divided by their sum, so no factorial is needed. Weights below 1e-60 are lost in rounding. */
static double expected_log(double a, double b, double all) {
    double least = a + b > all ? a + b - all : 0, most = a < b ? a : b;
    double middle = fmax(least, fmin(most, floor((a + 1) * (b + 1) / (all + 2))));
    double weight = 1, weights = 1, sum = x_log_x(middle);
    for (double n = middle; n < most && weight > 1e-60; n++) {
        weight *= (a - n) * (b - n) / ((n + 1) * (all - a - b + n + 1));
        weights += weight;
        sum += weight * x_log_x(n + 1);
    }
    weight = 1;
    for (double n = middle; n > least && weight > 1e-60; n--) {
        weight *= n * (all - a - b + n) / ((a - n + 1) * (b - n + 1));
        weights += weight;
        sum += weight * x_log_x(n - 1);
    }
    return sum / weights;
}

/* It depends on the sizes alone, and there are few different sizes: at most the square root of twice the rows. */
static double adjusted_information(const parts *groups, const parts *identities, double shared_log, size_t count) {
    double expected = 0, most = (sizes_log(groups) + sizes_log(identities)) / 2;
    if (groups->count == 1 || identities->count == 1) return 0; /* a single part says nothing about the other side */
    for (size_t i = 0; i < groups->kinds; i++)
        for (size_t k = 0; k < identities->kinds; k++)
            expected += (double)groups->many[i] * (double)identities->many[k] *
                        expected_log((double)groups->sizes[i], (double)identities->sizes[k], (double)count);
    /* Unless the partitions are equal, `expected` is less than `most`; only rounding could violate that. */
    return most > expected ? (shared_log - expected) / (most - expected) : 0;
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

typedef struct shared {
    size_t cells;             /* pairs of a group and an identity with common rows */
    double precision, recall; /* sums over the rows */
    double pairs, log;        /* pairs of rows that share both; Σ n log n */
} shared;

static shared shared_of(const parts *groups, const parts *identities, const uint64_t *both, size_t count) {
    shared s = {0, 0, 0, 0, 0};
    for (size_t i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && both[end] == both[i];) end++;
        double n = (double)(end - i);
        s.cells++;
        s.precision += n * n / size_of(groups, (uint32_t)(both[i] >> 32));
        s.recall += n * n / size_of(identities, (uint32_t)both[i]);
        s.pairs += pairs_of(end - i);
        s.log += x_log_x(n);
    }
    return s;
}

static void measure(agreement *out, const parts *groups, const parts *identities, const shared *s) {
    double rows = (double)out->rows, in_groups = pairs_in(groups), in_identities = pairs_in(identities);
    out->groups = groups->count;
    out->identities = identities->count;
    out->alone = groups->kinds && groups->sizes[0] == 1 ? groups->many[0] : 0;
    out->bcubed_precision = out->rows ? s->precision / rows : (double)NAN;
    out->bcubed_recall = out->rows ? s->recall / rows : (double)NAN;
    out->bcubed_f = out->rows ? 2 * s->precision * s->recall / (s->precision + s->recall) / rows : (double)NAN;
    out->pair_precision = in_groups > 0 ? s->pairs / in_groups : (double)NAN;
    out->pair_recall = in_identities > 0 ? s->pairs / in_identities : (double)NAN;
    out->pair_f = in_groups + in_identities > 0 ? 2 * s->pairs / (in_groups + in_identities) : (double)NAN;
    out->ari = adjusted_rand(s->pairs, in_groups, in_identities, pairs_of(out->rows));
    int same = s->cells == out->groups && s->cells == out->identities;
    out->ami = same ? 1 : adjusted_information(groups, identities, s->log, out->rows);
}

int agreement_of(agreement *out, const uint32_t *group, const uint32_t *identity, size_t count) {
    parts groups = {0, NULL, NULL, 0, NULL, NULL}, identities = groups;
    memset(out, 0, sizeof *out);
    out->rows = count;
    uint64_t *both = need_array(count, sizeof *both);
    int good = both && parts_of(&groups, group, count) && parts_of(&identities, identity, count);
    if (good) {
        for (size_t i = 0; i < count; i++) both[i] = (uint64_t)group[i] << 32 | identity[i];
        qsort(both, count, sizeof *both, ascending_64);
        shared s = shared_of(&groups, &identities, both, count);
        measure(out, &groups, &identities, &s);
    }
    parts_free(&groups);
    parts_free(&identities);
    free(both);
    return good;
}
