#include "scores/mixture.h"

#include "base/files.h"
#include "base/memory.h"
#include "base/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    BINS = 512,
    MOST_ROUNDS = 300,
    LEAST_OF_A_KIND = 200 /* pairs, for distributions of their own */
};

/* Beta(2, 50): one pair of one individual, and 49 of two, besides those that are seen. */
static const double PRIOR_SAME = 1, PRIOR_ALL = 50;
/* Equal images have a cosine of 1, whose transformation is infinite. */
static const double MOST_COSINE = 0.9995;
/* A narrower distribution of the same pairs would be a coincidence of a few of them. */
static const double LEAST_DEVIATION = 0.25; /* of that of different pairs */

double mixture_place(double score, double scale) { return atanh(fmax(-MOST_COSINE, fmin(MOST_COSINE, score / scale))); }

double mixture_score(double place, double scale) { return scale * tanh(place); }

/* ---- histograms -------------------------------------------------------------------------------------------------- */

typedef struct histogram {
    double low, width;
    double count[PAIR_KNOWNS][BINS];
} histogram;

typedef struct fitting {
    const mixture_request *r;
    uint16_t *bin; /* [count] of each pair */
    histogram *of; /* [parts] */
    int parts;
} fitting;

static double middle_of(const histogram *h, int bin) { return h->low + (bin + 0.5) * h->width; }

static double total_of(const histogram *h) {
    double sum = 0;
    for (int k = 0; k < PAIR_KNOWNS; k++)
        for (int i = 0; i < BINS; i++) sum += h->count[k][i];
    return sum;
}

/* times[unit]: how often each was drawn; NULL: once. */
static void count_pairs(fitting *f, const uint32_t *times) {
    for (int k = 0; k < f->parts; k++) memset(f->of[k].count, 0, sizeof f->of[k].count);
    for (size_t i = 0; i < f->r->count; i++) {
        const mixture_pair *p = &f->r->pairs[i];
        double many = times ? (double)times[p->a] * (double)times[p->b] : 1;
        f->of[f->parts > 1 ? p->kind : 0].count[p->known][f->bin[i]] += many;
    }
}

static int make_histograms(fitting *f) {
    const mixture_request *r = f->r;
    double low = INFINITY, high = -INFINITY;
    size_t of_kind[MIXTURE_KINDS] = {0};
    for (size_t i = 0; i < r->count; i++) {
        double z = mixture_place((double)r->pairs[i].score, r->scale);
        low = fmin(low, z), high = fmax(high, z);
        of_kind[r->pairs[i].kind]++;
    }
    f->parts = MIXTURE_KINDS;
    for (int k = 0; k < MIXTURE_KINDS; k++)
        if (of_kind[k] < LEAST_OF_A_KIND) f->parts = 1;
    f->bin = need_array(r->count, sizeof *f->bin);
    f->of = f->bin ? need_zeroed(MIXTURE_KINDS, sizeof *f->of) : NULL;
    if (!f->of) return 0;
    double width = fmax((high - low) / (double)BINS, 1e-9);
    for (int k = 0; k < MIXTURE_KINDS; k++) f->of[k].low = low, f->of[k].width = width;
    for (size_t i = 0; i < r->count; i++) {
        double at = (mixture_place((double)r->pairs[i].score, r->scale) - low) / width;
        f->bin[i] = (uint16_t)fmin(at, BINS - 1);
    }
    return 1;
}

/* ---- expectation maximisation ------------------------------------------------------------------------------------ */

static double density(double x, double mean, double deviation) {
    const double root = 2.50662827463100050242; /* of 2 pi */
    double t = (x - mean) / deviation;
    return exp(-t * t / 2) / (deviation * root);
}

/* Sums of a weighted sample. */
typedef struct moments {
    double n, sum, squares;
} moments;

static void add(moments *m, double weight, double x) {
    m->n += weight, m->sum += weight * x, m->squares += weight * x * x;
}

static double deviation_of(const moments *m) {
    double mean = m->sum / m->n, variance = m->squares / m->n - mean * mean;
    return variance > 0 ? sqrt(variance) : 0;
}

/* The probability that an unknown pair of this place is the same. */
static double same_at(const mixture_part *p, double x) {
    if (x < p->different) return 0;
    double different = (1 - p->share) * density(x, p->different, p->different_deviation);
    double same = p->share * density(x, p->same, p->same_deviation);
    return different + same > 0 ? same / (different + same) : x > (p->different + p->same) / 2;
}

/* One step. effect: how much one pair counts, in units. */
static void step(mixture_part *p, const histogram *h, double effect) {
    moments different = {0, 0, 0}, same = {0, 0, 0};
    for (int i = 0; i < BINS; i++) {
        double x = middle_of(h, i), part = same_at(p, x), unknown = h->count[PAIR_UNKNOWN][i];
        add(&different, (1 - part) * unknown + h->count[PAIR_DIFFERENT][i], x);
        add(&same, part * unknown + h->count[PAIR_SAME][i], x);
    }
    double all = different.n + same.n;
    p->same_pairs = same.n;
    p->share = (PRIOR_SAME + effect * same.n) / (PRIOR_ALL + effect * all);
    if (different.n > 0) {
        p->different = different.sum / different.n;
        p->different_deviation = fmax(deviation_of(&different), h->width);
    }
    if (same.n > 1e-9 * all) {
        p->same = same.sum / same.n;
        p->same_deviation = deviation_of(&same);
    }
    p->same_deviation = fmax(p->same_deviation, LEAST_DEVIATION * p->different_deviation);
}

/* The logarithm of the posterior density, up to a constant. */
static double fit_of(const mixture_part *p, const histogram *h, double effect) {
    const double least = 1e-300;
    double sum = PRIOR_SAME * log(p->share) + (PRIOR_ALL - PRIOR_SAME) * log(1 - p->share);
    for (int i = 0; i < BINS; i++) {
        double x = middle_of(h, i), different = (1 - p->share) * density(x, p->different, p->different_deviation);
        double same = p->share * density(x, p->same, p->same_deviation);
        sum += effect *
               (h->count[PAIR_UNKNOWN][i] * log(different + same + least) +
                h->count[PAIR_DIFFERENT][i] * log(different + least) + h->count[PAIR_SAME][i] * log(same + least));
    }
    return sum;
}

/* By how much the logarithm of the likelihood of the unknown pairs is higher than with a single normal distribution. */
static double gain_of(const mixture_part *p, const histogram *h, double effect) {
    const double least = 1e-300;
    moments all = {0, 0, 0};
    double gain = 0;
    for (int i = 0; i < BINS; i++) add(&all, h->count[PAIR_UNKNOWN][i], middle_of(h, i));
    if (all.n <= 0) return 0;
    double deviation = fmax(deviation_of(&all), h->width);
    for (int i = 0; i < BINS; i++) {
        double x = middle_of(h, i), two = (1 - p->share) * density(x, p->different, p->different_deviation) +
                                          p->share * density(x, p->same, p->same_deviation);
        double one = density(x, all.sum / all.n, deviation);
        gain += effect * h->count[PAIR_UNKNOWN][i] * log((two + least) / (one + least));
    }
    return gain;
}

static void climb(mixture_part *p, const histogram *h, double effect) {
    for (int i = 0; i < MOST_ROUNDS; i++) {
        double before = p->share, place = p->different;
        step(p, h, effect);
        if (fabs(p->share - before) < 1e-7 && fabs(p->different - place) < 1e-7) break;
    }
}

/* Begins with the highest `share` of the pairs as the same ones. */
static void begin(mixture_part *p, const histogram *h, double share) {
    moments low = {0, 0, 0}, high = {0, 0, 0};
    double wanted = share * total_of(h);
    for (int i = BINS - 1; i >= 0; i--) {
        double n = 0;
        for (int k = 0; k < PAIR_KNOWNS; k++) n += h->count[k][i];
        add(high.n < wanted ? &high : &low, n, middle_of(h, i));
    }
    if (low.n <= 0) low = high;
    p->share = share;
    p->different = low.sum / low.n, p->same = high.sum / high.n;
    p->different_deviation = fmax(deviation_of(&low), h->width);
    p->same_deviation = fmax(deviation_of(&high), h->width);
}

/* Expectation maximisation climbs to the top of the hill where it begins, so it begins on several. */
static void fit_part(mixture_part *p, const histogram *h, double effect) {
    static const double shares[] = {0.02, 0.05, 0.1, 0.2};
    double best = -INFINITY;
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++) {
        mixture_part now = {.pairs = total_of(h)};
        begin(&now, h, shares[i]);
        climb(&now, h, effect);
        double fit = fit_of(&now, h, effect);
        if (fit > best || i == 0) best = fit, *p = now;
    }
}

/* ---- the threshold ----------------------------------------------------------------------------------------------- */

static double above(double x, double mean, double deviation) {
    return erfc((x - mean) / (deviation * 1.41421356237309504880)) / 2;
}

/* The share of the different, or the same, pairs of all kinds whose place is above x. */
static double share_above(const mixture *m, double x, int same) {
    double all = 0, sum = 0;
    for (int k = 0; k < m->parts; k++) {
        const mixture_part *p = &m->part[k];
        double n = p->pairs * (same ? p->share : 1 - p->share);
        all += n;
        sum += n * (same ? above(x, p->same, p->same_deviation) : above(x, p->different, p->different_deviation));
    }
    return sum / all;
}

static double place_with_above(const mixture *m, double share, int same) {
    double low = -20, high = 20;
    for (int i = 0; i < 60; i++) {
        double middle = (low + high) / 2;
        if (share_above(m, middle, same) > share) low = middle;
        else high = middle;
    }
    return (low + high) / 2;
}

spread mixture_different(const mixture *m) {
    double all = 0, sum = 0, squares = 0;
    for (int k = 0; k < m->parts; k++) {
        const mixture_part *p = &m->part[k];
        double n = p->pairs * (1 - p->share);
        all += n, sum += n * p->different;
        squares += n * (p->different * p->different + p->different_deviation * p->different_deviation);
    }
    double mean = sum / all;
    return (spread){mean, sqrt(fmax(squares / all - mean * mean, 0))};
}

static void summarize(mixture *m, double fmr) {
    double all = 0, place = place_with_above(m, fmr, 0);
    m->share = 0;
    for (int k = 0; k < m->parts; k++) all += m->part[k].pairs, m->share += m->part[k].same_pairs;
    m->share /= all;
    m->threshold = mixture_score(place, m->scale);
    m->accepted = share_above(m, place, 1);
}

static double effect_of(const fitting *f) {
    double all = 0;
    for (int k = 0; k < f->parts; k++) all += total_of(&f->of[k]);
    return (double)f->r->units / all;
}

/* The threshold of units drawn with replacement; the climb begins where that of all pairs ended. */
static double draw_threshold(fitting *f, const mixture *all, uint32_t *times, uint64_t *state) {
    mixture m = *all;
    memset(times, 0, f->r->units * sizeof *times);
    for (size_t i = 0; i < f->r->units; i++) times[random_below(state, f->r->units)]++;
    count_pairs(f, times);
    double effect = effect_of(f);
    for (int k = 0; k < m.parts; k++) {
        m.part[k].pairs = total_of(&f->of[k]);
        if (m.part[k].pairs > 0) climb(&m.part[k], &f->of[k], effect);
    }
    summarize(&m, f->r->fmr);
    return m.threshold;
}

static int find_interval(fitting *f, mixture *m) {
    size_t draws = (size_t)f->r->draws;
    double *value = need_array(draws + 1, sizeof *value);
    uint32_t *times = value ? need_array(f->r->units + 1, sizeof *times) : NULL;
    uint64_t state = 1;
    for (size_t i = 0; i < draws && times && !interrupted(); i++) value[i] = draw_threshold(f, m, times, &state);
    if (times) m->interval = middle_95(value, draws);
    int good = times && !interrupted();
    free(value), free(times);
    return good;
}

int mixture_fit(mixture *m, const mixture_request *r) {
    fitting f = {.r = r};
    memset(m, 0, sizeof *m);
    m->scale = r->scale;
    int good = make_histograms(&f);
    if (good) {
        count_pairs(&f, NULL);
        m->parts = f.parts;
        double effect = effect_of(&f);
        for (int k = 0; k < f.parts; k++) fit_part(&m->part[k], &f.of[k], effect);
        for (int k = 0; k < f.parts; k++) m->gain += gain_of(&m->part[k], &f.of[k], effect);
        summarize(m, r->fmr);
        good = find_interval(&f, m);
    }
    free(f.bin), free(f.of);
    return good;
}

void mixture_sample(const mixture *m, scored_pair *out, size_t each) {
    for (size_t i = 0; i < 2 * each; i++) {
        int same = i >= each;
        double place = place_with_above(m, ((double)(i % each) + 0.5) / (double)each, same);
        out[i] = (scored_pair){(float)mixture_score(place, m->scale), 0, !same};
    }
    pairs_sort(out, 2 * each);
}
