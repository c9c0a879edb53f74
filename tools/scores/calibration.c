#include "scores/calibration.h"

#include "base/files.h"
#include "base/memory.h"
#include "base/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int highest_first(const void *a, const void *b) {
    const scored_pair *x = a, *y = b;
    if (x->score != y->score) return x->score < y->score ? 1 : -1;
    if (x->a != y->a) return x->a < y->a ? -1 : 1;
    return (x->b > y->b) - (x->b < y->b);
}

void pairs_sort(scored_pair *pairs, size_t count) { qsort(pairs, count, sizeof *pairs, highest_first); }

/* ---- operating points -------------------------------------------------------------------------------------------- */
static double times_of(const scored_pair *p, const uint32_t *times) {
    if (!times) return 1;
    return p->a == p->b ? (double)times[p->a] : (double)times[p->a] * (double)times[p->b];
}

/* The state of one pass from the highest score down. */
typedef struct descent {
    operating_points *out;
    double wanted;       /* false-match rate */
    double fmr, fnr;     /* with the threshold that accepts all pairs passed so far */
    double last;         /* the previous score, INFINITY at first */
    double best;         /* smallest sum of both rates */
    int crossed, beyond; /* the two rates have met; the false-match rate is above the wanted one */
} descent;

/* Handles all pairs of one score, which raise the false-match rate by `up` and lower the false-non-match rate by
   `down`. */
static void pass(descent *d, double score, double up, double down) {
    operating_points *out = d->out;
    if (!d->crossed && d->fmr + up >= d->fnr - down) {
        double part = up + down > 0 ? (d->fnr - d->fmr) / (up + down) : 0;
        out->eer = d->fmr + part * up;
        out->eer_threshold = isinf(d->last) ? score : d->last + part * (score - d->last);
        d->crossed = 1;
    }
    if (!d->beyond && d->fmr + up > d->wanted) {
        out->threshold = (double)nextafterf((float)score, INFINITY); /* just above: this score would exceed the rate */
        d->beyond = 1;
    }
    d->fmr += up;
    d->fnr -= down;
    if (!d->beyond) {
        out->threshold = score;
        out->fmr = d->fmr;
        out->tmr = 1 - d->fnr;
    }
    d->last = score;
}

/* The middle between the last accepted score and the next one; any threshold between them has the same error rates. */
static void keep_crossing(descent *d, double next) {
    if (d->fmr + d->fnr >= d->best - 1e-12) return;
    d->best = d->fmr + d->fnr;
    d->out->crossing = (d->last + next) / 2;
}

operating_points points_of(const scored_pair *pairs, size_t count, const uint32_t *times, double fmr) {
    operating_points out = {0, 0, (double)NAN, (double)NAN, (double)NAN, (double)NAN, (double)NAN, (double)NAN};
    descent d = {&out, fmr, 0, 1, (double)INFINITY, 2, 0, 0};
    for (size_t i = 0; i < count; i++)
        *(pairs[i].a == pairs[i].b ? &out.genuine : &out.impostor) += times_of(&pairs[i], times);
    if (out.genuine <= 0 || out.impostor <= 0) return out;
    out.fmr = out.tmr = 0;
    for (size_t i = 0; i < count;) {
        float score = pairs[i].score;
        double genuine = 0, impostor = 0;
        for (; i < count && pairs[i].score == score; i++)
            *(pairs[i].a == pairs[i].b ? &genuine : &impostor) += times_of(&pairs[i], times);
        if (genuine + impostor <= 0) continue;
        if (!isinf(d.last)) keep_crossing(&d, (double)score);
        pass(&d, (double)score, impostor / out.impostor, genuine / out.genuine);
    }
    return out;
}

void rates_at(const scored_pair *pairs, size_t count, double threshold, double *fmr, double *tmr) {
    double total[2] = {0, 0}, accepted[2] = {0, 0};
    for (size_t i = 0; i < count; i++) {
        int genuine = pairs[i].a == pairs[i].b;
        total[genuine]++;
        accepted[genuine] += (double)pairs[i].score >= threshold;
    }
    *fmr = total[0] > 0 ? accepted[0] / total[0] : (double)NAN;
    *tmr = total[1] > 0 ? accepted[1] / total[1] : (double)NAN;
}

/* ---- intervals --------------------------------------------------------------------------------------------------- */
int point_intervals_of(const scored_pair *pairs, size_t count, size_t identities, double fmr, int draws,
                       point_intervals *out) {
    enum { CROSSING, EER, THRESHOLD, TMR, KINDS };
    double *value = need_array((size_t)draws, KINDS * sizeof *value);
    uint32_t *times = value ? need_array(identities + 1, sizeof *times) : NULL;
    uint64_t state = 1;
    size_t kept = 0, all = (size_t)draws;
    if (!times) {
        free(value);
        return 0;
    }
    for (int d = 0; d < draws && !interrupted(); d++) {
        memset(times, 0, (identities + 1) * sizeof *times);
        for (size_t i = 0; i < identities; i++) times[random_below(&state, identities)]++;
        operating_points p = points_of(pairs, count, times, fmr);
        if (isnan(p.eer)) continue; /* the draw has no genuine pairs, or only one identity */
        value[CROSSING * all + kept] = p.crossing;
        value[EER * all + kept] = p.eer;
        value[THRESHOLD * all + kept] = p.threshold;
        value[TMR * all + kept++] = p.tmr;
    }
    out->crossing = middle_95(value + CROSSING * all, kept);
    out->eer = middle_95(value + EER * all, kept);
    out->threshold = middle_95(value + THRESHOLD * all, kept);
    out->tmr = middle_95(value + TMR * all, kept);
    free(value);
    free(times);
    return !interrupted();
}

void spreads_of(const scored_pair *pairs, size_t count, spread *genuine, spread *impostor) {
    double n[2] = {0, 0}, sum[2] = {0, 0}, squares[2] = {0, 0};
    for (size_t i = 0; i < count; i++) {
        n[pairs[i].a == pairs[i].b]++;
        sum[pairs[i].a == pairs[i].b] += (double)pairs[i].score;
    }
    for (size_t i = 0; i < count; i++) {
        int side = pairs[i].a == pairs[i].b;
        squares[side] += pow((double)pairs[i].score - sum[side] / n[side], 2);
    }
    genuine->mean = n[1] > 0 ? sum[1] / n[1] : (double)NAN;
    impostor->mean = n[0] > 0 ? sum[0] / n[0] : (double)NAN;
    genuine->deviation = n[1] > 0 ? sqrt(squares[1] / n[1]) : (double)NAN;
    impostor->deviation = n[0] > 0 ? sqrt(squares[0] / n[0]) : (double)NAN;
}

/* ---- logistic ---------------------------------------------------------------------------------------------------- */
enum { MOST_TERMS = 3 }; /* two slopes and the intercept */

typedef struct regression {
    const float *x[2];
    const scored_pair *pairs;
    size_t count, terms;
    double target[2], weight[2]; /* of impostor and genuine pairs */
} regression;

static double sigmoid(double t) { return t >= 0 ? 1 / (1 + exp(-t)) : exp(t) / (1 + exp(t)); }

/* log(1 + exp(t)) without overflow. */
static double softplus(double t) { return t > 0 ? t + log1p(exp(-t)) : log1p(exp(t)); }

static double term(const regression *r, size_t pair, size_t k) {
    return k + 1 == r->terms ? 1 : r->x[k] ? (double)r->x[k][pair] : (double)r->pairs[pair].score;
}

/* Minus the log likelihood, with its gradient and curvature when wanted. */
static double loss_of(const regression *r, const double *b, double *gradient, double curve[MOST_TERMS][MOST_TERMS]) {
    double loss = 0;
    if (gradient) memset(gradient, 0, MOST_TERMS * sizeof *gradient);
    if (gradient) memset(curve, 0, MOST_TERMS * sizeof *curve);
    for (size_t i = 0; i < r->count; i++) {
        int genuine = r->pairs[i].a == r->pairs[i].b;
        double x[MOST_TERMS], t = 0, y = r->target[genuine], w = r->weight[genuine];
        for (size_t k = 0; k < r->terms; k++) t += b[k] * (x[k] = term(r, i, k));
        loss += w * (softplus(t) - y * t);
        if (!gradient) continue;
        double p = sigmoid(t);
        for (size_t k = 0; k < r->terms; k++) {
            gradient[k] += w * (p - y) * x[k];
            for (size_t c = 0; c < r->terms; c++) curve[k][c] += w * p * (1 - p) * x[k] * x[c];
        }
    }
    return loss;
}

/* Solves curve · step = gradient by elimination; curve is positive definite up to rounding. */
static void solve(size_t n, double curve[MOST_TERMS][MOST_TERMS], const double *gradient, double *step) {
    memcpy(step, gradient, n * sizeof *step);
    for (size_t k = 0; k < n; k++) curve[k][k] += 1e-12 + 1e-10 * curve[k][k];
    for (size_t k = 0; k < n; k++)
        for (size_t i = k + 1; i < n; i++) {
            double factor = curve[i][k] / curve[k][k];
            for (size_t c = k; c < n; c++) curve[i][c] -= factor * curve[k][c];
            step[i] -= factor * step[k];
        }
    for (size_t k = n; k-- > 0;) {
        for (size_t c = k + 1; c < n; c++) step[k] -= curve[k][c] * step[c];
        step[k] /= curve[k][k];
    }
}

/* Newton's method; a step that does not help is halved. */
static void regress(regression *r, double prior, double *b) {
    double n[2] = {0, 0}, gradient[MOST_TERMS], curve[MOST_TERMS][MOST_TERMS], step[MOST_TERMS], next[MOST_TERMS];
    for (size_t i = 0; i < r->count; i++) n[r->pairs[i].a == r->pairs[i].b]++;
    r->target[1] = (n[1] + 1) / (n[1] + 2);
    r->target[0] = 1 / (n[0] + 2);
    r->weight[1] = prior > 0 ? prior / n[1] : 1 / (n[0] + n[1]);
    r->weight[0] = prior > 0 ? (1 - prior) / n[0] : 1 / (n[0] + n[1]);
    for (size_t k = 0; k < r->terms; k++) b[k] = 0;
    for (int round = 0; round < 100; round++) {
        double loss = loss_of(r, b, gradient, curve), size = 1, largest = 0;
        solve(r->terms, curve, gradient, step);
        for (int halving = 0; halving < 40; halving++, size /= 2) {
            for (size_t k = 0; k < r->terms; k++) next[k] = b[k] - size * step[k];
            if (loss_of(r, next, NULL, NULL) <= loss) break;
        }
        for (size_t k = 0; k < r->terms; k++) {
            largest = fmax(largest, fabs(next[k] - b[k]) / (1 + fabs(b[k])));
            b[k] = next[k];
        }
        if (largest < 1e-10) break;
    }
}

logistic logistic_fit(const scored_pair *pairs, size_t count, double prior) {
    regression r = {{NULL, NULL}, pairs, count, 2, {0, 0}, {0, 0}};
    double b[MOST_TERMS];
    regress(&r, prior, b);
    logistic l = {b[0], b[1]};
    return l;
}

double logistic_at(const logistic *l, double score) { return sigmoid(l->slope * score + l->intercept); }

void logistic_fit_two(const float *first, const float *second, const scored_pair *pairs, size_t count, double prior,
                      double slope[2], double *intercept) {
    regression r = {{first, second}, pairs, count, 3, {0, 0}, {0, 0}};
    double b[MOST_TERMS];
    regress(&r, prior, b);
    slope[0] = b[0];
    slope[1] = b[1];
    *intercept = b[2];
}

/* ---- isotonic ---------------------------------------------------------------------------------------------------- */
typedef struct step {
    double first, last; /* scores */
    double sum, weight; /* of the pairs in it: the probability is sum / weight */
} step;

int isotonic_fit(isotonic *f, const scored_pair *pairs, size_t count, double prior) {
    double n[2] = {0, 0};
    size_t steps = 0;
    step *s = need_array(count + 1, sizeof *s);
    if (!s) return 0;
    for (size_t i = 0; i < count; i++) n[pairs[i].a == pairs[i].b]++;
    for (size_t i = count; i-- > 0;) { /* from the lowest score; equal scores are one step */
        int genuine = pairs[i].a == pairs[i].b;
        double weight = genuine ? prior / n[1] : (1 - prior) / n[0], score = (double)pairs[i].score;
        if (steps && s[steps - 1].last == score && s[steps - 1].first == score) {
            s[steps - 1].sum += genuine ? weight : 0;
            s[steps - 1].weight += weight;
        } else {
            step fresh = {score, score, genuine ? weight : 0, weight};
            s[steps++] = fresh;
        }
    }
    size_t kept = 0;
    for (size_t i = 0; i < steps; i++) {
        step now = s[i];
        while (kept && s[kept - 1].sum * now.weight >= now.sum * s[kept - 1].weight) {
            kept--;
            now.first = s[kept].first;
            now.sum += s[kept].sum;
            now.weight += s[kept].weight;
        }
        s[kept++] = now;
    }
    f->count = 0;
    f->score = need_array(2 * kept + 1, sizeof *f->score);
    f->probability = f->score ? need_array(2 * kept + 1, sizeof *f->probability) : NULL;
    int good = f->probability != NULL;
    for (size_t i = 0; i < kept && good; i++)
        for (int end = 0; end < (s[i].last > s[i].first ? 2 : 1); end++) {
            f->score[f->count] = end ? s[i].last : s[i].first;
            f->probability[f->count++] = s[i].sum / s[i].weight;
        }
    free(s);
    return good;
}

double isotonic_at(const isotonic *f, double score) {
    size_t low = 0, high = f->count;
    if (!f->count) return (double)NAN;
    if (score <= f->score[0]) return f->probability[0];
    if (score >= f->score[f->count - 1]) return f->probability[f->count - 1];
    while (high - low > 1) { /* score[low] ≤ score < score[high] */
        size_t middle = low + (high - low) / 2;
        if (f->score[middle] <= score) low = middle;
        else high = middle;
    }
    double part = (score - f->score[low]) / (f->score[high] - f->score[low]);
    return f->probability[low] + part * (f->probability[high] - f->probability[low]);
}

void isotonic_free(isotonic *f) {
    free(f->score);
    free(f->probability);
    memset(f, 0, sizeof *f);
}
