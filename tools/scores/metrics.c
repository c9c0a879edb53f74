#include "scores/metrics.h"

#include "base/memory.h"
#include "base/order.h"
#include "base/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- one query --------------------------------------------------------------------------------------------------- */
typedef struct place {
    float score;
    size_t at;
} place;

static int best_first(const void *a, const void *b) {
    const place *x = a, *y = b;
    if (x->score != y->score) return x->score < y->score ? 1 : -1;
    return (x->at > y->at) - (x->at < y->at);
}

static int before(const float *scores, size_t at, const place *p) {
    float score = scores[at];
    return score > p->score || (score == p->score && at < p->at);
}

/* How many of the sorted matches come before gallery image `at`. */
static size_t matches_before(const float *scores, size_t at, const place *sorted, size_t matches) {
    size_t low = 0, high = matches;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (before(scores, at, &sorted[middle])) high = middle;
        else low = middle + 1;
    }
    return low;
}

int rank_matches(const float *scores, size_t count, const size_t *match, size_t matches, size_t *ranks) {
    if (!matches) return 1;
    place *sorted = mem_array(matches, sizeof *sorted);
    if (!sorted) return 0;
    for (size_t i = 0; i < matches; i++) {
        sorted[i].score = scores[match[i]];
        sorted[i].at = match[i];
        ranks[i] = 0;
    }
    qsort(sorted, matches, sizeof *sorted, best_first);
    const place *last = &sorted[matches - 1];
    for (size_t at = 0; at < count; at++) { /* ranks[i]: images, matches too, between matches i-1 and i */
        if (!before(scores, at, last)) continue;
        ranks[matches_before(scores, at, sorted, matches)]++;
    }
    for (size_t i = 1; i < matches; i++) ranks[i] += ranks[i - 1];
    for (size_t i = 0; i < matches; i++) ranks[i]++;
    free(sorted);
    return 1;
}

query_result query_measure(const size_t *ranks, size_t matches) {
    query_result r = {matches, 0, 0, 0, 0};
    if (!matches) return r;
    for (size_t i = 0; i < matches; i++) {
        double rank = (double)ranks[i], found = (double)i;
        r.ap += (found + 1) / rank;
        r.ap_trapezoid += ((found + 1) / rank + (ranks[i] > 1 ? found / (rank - 1) : 1.0)) / 2;
    }
    r.ap /= (double)matches;
    r.ap_trapezoid /= (double)matches;
    r.first = ranks[0];
    r.inp = (double)matches / (double)ranks[matches - 1];
    return r;
}

retrieval retrieval_of(const query_result *results, size_t queries) {
    retrieval sum;
    memset(&sum, 0, sizeof sum);
    sum.queries = queries;
    for (size_t i = 0; i < queries; i++) {
        const query_result *r = &results[i];
        if (!r->matches) continue;
        sum.valid++;
        sum.map += r->ap;
        sum.minp += r->inp;
        sum.map_trapezoid += r->ap_trapezoid;
        if (r->first <= CMC_RANKS) sum.cmc[r->first - 1]++;
    }
    double valid = sum.valid ? (double)sum.valid : (double)NAN;
    for (int k = 1; k < CMC_RANKS; k++) sum.cmc[k] += sum.cmc[k - 1];
    for (int k = 0; k < CMC_RANKS; k++) sum.cmc[k] /= valid;
    sum.map /= valid;
    sum.minp /= valid;
    sum.map_trapezoid = sum.valid ? sum.map_trapezoid / (double)queries : (double)NAN;
    return sum;
}

/* ---- pairs ------------------------------------------------------------------------------------------------------- */
int roc_begin(roc *r, double reach) {
    r->reach = reach;
    r->steps = (double)ROC_STEPS * 0.5 / reach;
    r->genuine = need_zeroed(ROC_STEPS, sizeof *r->genuine);
    r->impostor = r->genuine ? need_zeroed(ROC_STEPS, sizeof *r->impostor) : NULL;
    return r->impostor != NULL;
}

void roc_free(roc *r) {
    free(r->genuine);
    free(r->impostor);
    memset(r, 0, sizeof *r);
}

static size_t step_of(const roc *r, float score) {
    double step = ((double)score + r->reach) * r->steps;
    return step <= 0 ? 0 : step >= ROC_STEPS - 1 ? ROC_STEPS - 1 : (size_t)step;
}

void roc_add(roc *r, float score, int genuine) { (genuine ? r->genuine : r->impostor)[step_of(r, score)]++; }

void roc_move(roc *r, float score) {
    size_t at = step_of(r, score);
    r->impostor[at]--;
    r->genuine[at]++;
}

void roc_merge(roc *into, const roc *from) {
    for (size_t i = 0; i < ROC_STEPS; i++) {
        into->genuine[i] += from->genuine[i];
        into->impostor[i] += from->impostor[i];
    }
}

void roc_totals(const roc *r, uint64_t *genuine, uint64_t *impostor) {
    *genuine = *impostor = 0;
    for (size_t i = 0; i < ROC_STEPS; i++) {
        *genuine += r->genuine[i];
        *impostor += r->impostor[i];
    }
}

double roc_tpr(const roc *r, double fpr) {
    uint64_t genuine, impostor, accepted = 0, wrong = 0;
    roc_totals(r, &genuine, &impostor);
    if (!genuine || !impostor) return (double)NAN;
    for (size_t i = ROC_STEPS; i-- > 0;) {
        wrong += r->impostor[i];
        if ((double)wrong / (double)impostor > fpr) break;
        accepted += r->genuine[i];
    }
    return (double)accepted / (double)genuine;
}

double roc_auc(const roc *r) {
    uint64_t genuine, impostor, below = 0;
    double won = 0;
    roc_totals(r, &genuine, &impostor);
    if (!genuine || !impostor) return (double)NAN;
    for (size_t i = 0; i < ROC_STEPS; i++) {
        won += (double)r->genuine[i] * ((double)below + (double)r->impostor[i] / 2);
        below += r->impostor[i];
    }
    return won / (double)genuine / (double)impostor;
}

double roc_eer(const roc *r) {
    uint64_t genuine, impostor;
    double fpr = 0, fnr = 1;
    roc_totals(r, &genuine, &impostor);
    if (!genuine || !impostor) return (double)NAN;
    for (size_t i = ROC_STEPS; i-- > 0;) {
        double up = (double)r->impostor[i] / (double)impostor, down = (double)r->genuine[i] / (double)genuine;
        if (fpr + up >= fnr - down) { /* the two lines meet inside this step */
            double part = up + down > 0 ? (fnr - fpr) / (up + down) : 0;
            return fpr + part * up;
        }
        fpr += up;
        fnr -= down;
    }
    return fpr;
}

static int by_value(const void *a, const void *b) {
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

double auc_of(float *high, size_t highs, float *low, size_t lows) {
    double won = 0;
    size_t below = 0, equal;
    if (!highs || !lows) return (double)NAN;
    qsort(high, highs, sizeof *high, by_value);
    qsort(low, lows, sizeof *low, by_value);
    for (size_t i = 0; i < highs; i++) {
        while (below < lows && low[below] < high[i]) below++;
        for (equal = below; equal < lows && low[equal] == high[i];) equal++;
        won += (double)below + (double)(equal - below) / 2;
    }
    return won / (double)highs / (double)lows;
}

/* ---- open set ---------------------------------------------------------------------------------------------------- */

/* How much one query adds to BAKS if it is accepted, and to BAUS if it is called new. */
typedef struct gain {
    float score;
    double known, unknown; /* to BAKS when accepted; to BAUS when not */
} gain;

static int by_score(const void *a, const void *b) {
    const gain *x = a, *y = b;
    return (x->score > y->score) - (x->score < y->score);
}

static int weigh(const open_query *q, size_t count, size_t identities, gain *gains, open_set *s) {
    size_t *seen = need_zeroed(identities, 2 * sizeof *seen), kinds[2] = {0, 0};
    if (!seen) return 0;
    for (size_t i = 0; i < count; i++) {
        size_t *n = &seen[2 * q[i].identity + (q[i].known ? 0 : 1)];
        kinds[q[i].known ? 0 : 1] += *n == 0;
        ++*n;
    }
    for (size_t i = 0; i < count; i++) {
        double share = 1 / (double)seen[2 * q[i].identity + (q[i].known ? 0 : 1)];
        gains[i].score = q[i].score;
        gains[i].known = q[i].known && q[i].correct ? share / (double)kinds[0] : 0;
        gains[i].unknown = q[i].known ? 0 : share / (double)kinds[1];
        s->known += q[i].known != 0;
    }
    s->unknown = count - s->known;
    free(seen);
    return 1;
}

static double balance(const open_set *s, double baks, double baus) {
    return !s->unknown ? baks : !s->known ? baus : sqrt(baks > 0 && baus > 0 ? baks * baus : 0);
}

/* Tries all thresholds, from the one that accepts all queries to the one that accepts none. gains must be sorted. */
static void choose_threshold(const gain *gains, size_t count, open_set *s) {
    double baks = 0, baus = 0, best = -1;
    for (size_t i = 0; i < count; i++) baks += gains[i].known;
    for (size_t i = 0; i <= count; i++) {
        int new_value = i == 0 || i == count || gains[i].score > gains[i - 1].score;
        if (new_value && balance(s, baks, baus) > best + 1e-12) {
            best = balance(s, baks, baus);
            s->threshold = i < count ? (double)gains[i].score : count ? nextafter(gains[count - 1].score, 1e30) : 0;
        }
        if (i == count) break;
        baks -= gains[i].known;
        baus += gains[i].unknown;
    }
}

static int area(const open_query *q, size_t count, open_set *s) {
    float *scores = need_array(count + 1, sizeof *scores);
    if (!scores) return 0;
    size_t known = 0, unknown = s->known;
    for (size_t i = 0; i < count; i++) scores[q[i].known ? known++ : unknown++] = q[i].score;
    s->auc = auc_of(scores, s->known, scores + s->known, s->unknown);
    free(scores);
    return 1;
}

int open_set_of(open_set *out, const open_query *queries, size_t count, size_t identities, double threshold) {
    open_set s = {0, 0, (double)NAN, threshold, isnan(threshold), 0, 0};
    gain *gains = need_array(count + 1, sizeof *gains);
    if (!gains || !weigh(queries, count, identities, gains, &s) || !area(queries, count, &s)) {
        free(gains);
        return 0;
    }
    qsort(gains, count, sizeof *gains, by_score);
    if (s.chosen) choose_threshold(gains, count, &s);
    for (size_t i = 0; i < count; i++) {
        if ((double)gains[i].score >= s.threshold) s.baks += gains[i].known;
        else s.baus += gains[i].unknown;
    }
    if (!s.known) s.baks = (double)NAN;
    if (!s.unknown) s.baus = (double)NAN;
    free(gains);
    *out = s;
    return 1;
}

/* ---- chance ------------------------------------------------------------------------------------------------------ */

static double quantile(const double *sorted, size_t count, double share) {
    double at = share * (double)(count - 1);
    size_t low = (size_t)at;
    if (low + 1 >= count) return sorted[count - 1];
    return sorted[low] + (at - (double)low) * (sorted[low + 1] - sorted[low]);
}

interval middle_95(double *values, size_t count) {
    interval i = {(double)NAN, (double)NAN};
    if (!count) return i;
    qsort(values, count, sizeof *values, order_reals);
    i.low = quantile(values, count, 0.025);
    i.high = quantile(values, count, 0.975);
    return i;
}

/* Computes the means of `draws` draws; sum and size belong to the `present` groups that have a value. */
static void draw_means(const double *sum, const size_t *size, size_t present, double *means, int draws) {
    uint64_t state = 1;
    for (int d = 0; d < draws && present; d++) {
        double total = 0;
        size_t values = 0;
        for (size_t i = 0; i < present; i++) {
            size_t g = random_below(&state, present);
            total += sum[g];
            values += size[g];
        }
        means[d] = total / (double)values;
    }
}

int mean_interval(interval *out, const double *value, const size_t *group, size_t count, size_t groups, int draws) {
    double *sum = need_zeroed(groups + 1, sizeof *sum), *means = sum ? need_array((size_t)draws, sizeof *means) : NULL;
    size_t *size = means ? need_zeroed(groups + 1, sizeof *size) : NULL, present = 0;
    for (size_t i = 0; i < count && size; i++) {
        sum[group[i]] += value[i];
        size[group[i]]++;
    }
    for (size_t g = 0; g < groups && size; g++) { /* those that have a value come first */
        if (!size[g]) continue;
        sum[present] = sum[g];
        size[present++] = size[g];
    }
    if (size) {
        draw_means(sum, size, present, means, draws);
        *out = middle_95(means, present > 1 ? (size_t)draws : 0);
    }
    int good = size != NULL;
    free(sum);
    free(means);
    free(size);
    return good;
}
