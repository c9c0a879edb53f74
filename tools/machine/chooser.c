#include "machine/chooser.h"

#include "base/memory.h"
#include "base/say.h"

#include <stdlib.h>
#include <string.h>

int tune_steps(int to[TUNE_STEPS], int most, int only) {
    int count = 0;
    if (only) {
        to[0] = only;
        return 1;
    }
    for (int n = 1; n < most && count < TUNE_STEPS - 1; n *= 2) to[count++] = n;
    to[count++] = most;
    return count;
}

double tune_pace(const tune_candidate *c) { return c->seconds > 0 ? c->items / c->seconds : 0; }

int tune_largest_batch(tune_fn measure, void *user, tune_setting at, int first, int most, double seconds,
                       double *spent) {
    int fits = 0;
    for (at.batch = first < most ? first : most; at.batch >= 1 && at.batch <= most;) {
        tune_measure m = {0, 0, 0, 0};
        tune_result r = measure(user, &at, seconds, &m);
        *spent += m.spent;
        if (r == TUNE_FAILED) return -1;
        if (r == TUNE_MEASURED) {
            fits = at.batch;
            if (at.batch < first) break; /* reached by halving */
            if (at.batch > most / 2) break;
            at.batch *= 2;
        } else {
            if (at.batch > first) break; /* doubled too often */
            at.batch /= 2;
        }
    }
    return fits;
}

/* --- measuring ---------------------------------------------------------------------------------------------------- */

enum { POOL = 12 }; /* most settings that are compared at the end */

typedef struct comparison {
    const tune_request *r;
    tune_choice *c;
    tune_goal goal; /* the goal of this part of the search */
    double spent;
} comparison;

/* Measures x once. Returns 0 when measuring failed. */
static int measure_one(comparison *k, tune_candidate *x, double seconds) {
    tune_measure m = {0, 0, 0, 0};
    tune_result r = k->r->measure(k->r->user, &x->at, seconds, &m);
    k->spent += m.spent;
    if (r == TUNE_FAILED) return 0;
    if (r == TUNE_TOO_LARGE) x->too_large = 1;
    else x->items += m.items, x->seconds += m.seconds, x->bytes = m.bytes, x->rounds++;
    return 1;
}

static int is_measured(const tune_candidate *x) { return x->rounds > 0 && !x->too_large; }

static double best_pace(const tune_choice *c) {
    double best = 0;
    for (size_t i = 0; i < c->count; i++)
        if (is_measured(&c->all[i]) && tune_pace(&c->all[i]) > best) best = tune_pace(&c->all[i]);
    return best;
}

/* 1 if a is better than b; both were measured. enough: the pace that TUNE_SMALLEST requires. */
static int is_better(tune_goal goal, const tune_candidate *a, const tune_candidate *b, double enough) {
    double pace = tune_pace(a), other = tune_pace(b);
    if (goal == TUNE_FASTEST || pace < enough || other < enough) return pace > other;
    return a->bytes != b->bytes ? a->bytes < b->bytes : pace > other;
}

/* The index of the best measured setting; count: none was measured. */
static size_t leader(const comparison *k) {
    const tune_choice *c = k->c;
    const double enough = TUNE_SHARE * best_pace(c);
    size_t best = c->count;
    for (size_t i = 0; i < c->count; i++)
        if (is_measured(&c->all[i]) &&
            (best == c->count || is_better(k->goal, &c->all[i], &c->all[best], enough))) best = i;
    return best;
}

/* --- climbing ----------------------------------------------------------------------------------------------------- */

/* Steps to neighbours, as changes of indices. Some change decoders and threads together, for when changing one alone
   only makes the other the bottleneck. */
static const int STEPS[][3] = {{0, 0, 1},  {0, 0, -1}, {0, -1, 0}, {-1, 0, 0}, {0, 1, 0},
                               {1, 0, 0},  {-1, -1, 0}, {1, -1, 0}, {-1, 1, 0}, {1, 1, 0}};
enum { NEIGHBOURS = sizeof STEPS / sizeof *STEPS };

/* The candidate one step away from index i; NULL: there is none. */
static tune_candidate *neighbour(const comparison *k, size_t i, const int step[3]) {
    const tune_space *s = &k->r->space;
    int decoder = (int)(i % (size_t)s->decoder_count) + step[0];
    int batch = (int)(i / (size_t)s->decoder_count % (size_t)s->batch_count) + step[2];
    int thread = (int)(i / (size_t)s->decoder_count / (size_t)s->batch_count) + step[1];
    if (decoder < 0 || decoder >= s->decoder_count || batch < 0 || batch >= s->batch_count || thread < 0 ||
        thread >= s->thread_count) return NULL;
    size_t to = ((size_t)thread * (size_t)s->batch_count + (size_t)batch) * (size_t)s->decoder_count + (size_t)decoder;
    return &k->c->all[to];
}

/* Moves from the best so far to better neighbours, until there are none, or `until` seconds are spent. A new best is
   measured again, so that it does not lead by luck. Returns 0 when measuring failed. */
static int climb(comparison *k, double seconds, double until) {
    tune_choice *c = k->c;
    for (size_t at = leader(k); at < c->count;) {
        int news = 0;
        c->hurried = 0;
        for (int n = 0; n < NEIGHBOURS; n++) {
            tune_candidate *x = neighbour(k, at, STEPS[n]);
            if (!x || x->too_large || x->rounds) continue;
            if ((c->hurried = k->spent >= until) != 0) return 1;
            if (!measure_one(k, x, seconds)) return 0;
            news = 1;
            if (leader(k) != at) break;
        }
        size_t next = leader(k);
        if (next != at && c->all[next].rounds < 2 && !measure_one(k, &c->all[next], seconds)) return 0;
        next = leader(k);
        if (next == at && !news) return 1;
        at = next;
    }
    return 1;
}

/* Measures the first setting: all decoders and threads, and the default batch. */
static int first_step(comparison *k, double seconds) {
    const tune_space *s = &k->r->space;
    size_t batch = 0;
    while (batch + 1 < (size_t)s->batch_count && s->batches[batch + 1] <= k->r->first_batch) batch++;
    for (size_t b = batch + 1; b-- > 0;) { /* smaller batches if this one does not fit */
        size_t at = ((size_t)(s->thread_count - 1) * (size_t)s->batch_count + b) * (size_t)s->decoder_count;
        tune_candidate *x = &k->c->all[at + (size_t)s->decoder_count - 1];
        if (!measure_one(k, x, seconds)) return 0;
        if (is_measured(x)) return 1;
    }
    return 1;
}

/* --- the end ------------------------------------------------------------------------------------------------------ */

/* Writes the best settings so far to pool, best first: those whose pace may turn out to be the best, or enough. Returns
   how many. */
static size_t gather(const comparison *k, size_t pool[POOL]) {
    static const double doubt = 0.85; /* possible error of a short measurement */
    const tune_choice *c = k->c;
    const double best = best_pace(c), enough = TUNE_SHARE * best;
    const double least = doubt * (k->goal == TUNE_FASTEST ? best : enough);
    size_t n = 0;
    for (size_t i = 0; i < c->count; i++) {
        size_t at = n;
        if (!is_measured(&c->all[i]) || tune_pace(&c->all[i]) < least) continue;
        while (at > 0 && is_better(k->goal, &c->all[i], &c->all[pool[at - 1]], doubt * enough)) at--;
        if (at == POOL) continue;
        n += n < POOL;
        for (size_t j = n - 1; j > at; j--) pool[j] = pool[j - 1];
        pool[at] = i;
    }
    for (size_t i = 0; k->goal == TUNE_SMALLEST && i < c->count && n; i++) /* the fastest, for comparison */
        if (is_measured(&c->all[i]) && tune_pace(&c->all[i]) >= best) pool[n - 1] = i;
    return n;
}

/* Each round climbs again, because the leader may have unmeasured neighbours, then measures the best settings in turn,
   so that a busy moment affects at most one measurement of each. The next round has half as many. Returns 0 when
   measuring failed. */
static int finals(comparison *k, double seconds) {
    enum { ROUNDS = 5, AT_LEAST = 3 };
    static const double shortest = 0.02;
    size_t pool[POOL];
    for (int round = 0; round < ROUNDS && k->spent < k->r->seconds; round++) {
        if (!climb(k, seconds, 0.9 * k->r->seconds)) return 0;
        size_t n = gather(k, pool), most = (size_t)POOL >> round;
        if (n > most && most >= AT_LEAST) n = most;
        else if (n > AT_LEAST && most < AT_LEAST) n = AT_LEAST;
        double share = (k->r->seconds - k->spent) / (ROUNDS - round) / (double)n;
        for (size_t i = 0; i < n && k->spent < k->r->seconds; i++)
            if (!measure_one(k, &k->c->all[pool[i]], share > shortest ? share : shortest)) return 0;
    }
    return 1;
}

/* Measures every setting, five times in turn. */
static int measure_all(comparison *k) {
    enum { ROUNDS = 5 };
    tune_choice *c = k->c;
    const double share = (k->r->seconds - k->spent) / (double)ROUNDS / (double)c->count;
    for (int round = 0; round < ROUNDS; round++)
        for (size_t i = 0; i < c->count; i++)
            if (!c->all[i].too_large && !measure_one(k, &c->all[i], share)) return 0;
    return 1;
}

/* --- the choice --------------------------------------------------------------------------------------------------- */

static long long effort(const tune_setting *s) { return (long long)(s->decoders + s->threads) * 65536 + s->batch; }

/* Picks, among settings with practically the same pace, the one with the fewest threads. Settings measured much shorter
   than the leader had dropped out earlier. */
static int pick(comparison *k) {
    static const double alike = 0.99;
    tune_choice *c = k->c;
    size_t best = leader(k);
    if (best == c->count) {
        say_error("no setting could be measured: not even the smallest one fits");
        return 0;
    }
    const double pace = tune_pace(&c->all[best]), seconds = c->all[best].seconds;
    for (size_t i = 0; k->goal == TUNE_FASTEST && i < c->count; i++) {
        const tune_candidate *x = &c->all[i];
        if (is_measured(x) && x->seconds >= 0.7 * seconds && tune_pace(x) >= alike * pace &&
            effort(&x->at) < effort(&c->all[best].at)) best = i;
    }
    c->best = best;
    return 1;
}

static int list_all(tune_choice *c, const tune_space *s) {
    size_t most = (size_t)s->decoder_count * (size_t)s->thread_count * (size_t)s->batch_count;
    c->all = need_zeroed(most, sizeof *c->all);
    if (!c->all) return 0;
    for (int t = 0; t < s->thread_count; t++)
        for (int b = 0; b < s->batch_count; b++)
            for (int d = 0; d < s->decoder_count; d++) {
                tune_candidate *x = &c->all[c->count++];
                x->at = (tune_setting){s->decoders[d], s->threads[t], s->batches[b]};
                x->too_large = c->largest_batch && s->batches[b] > c->largest_batch;
            }
    return 1;
}

/* Finds the largest batch if memory may run out. Returns 0 after saying that one image is too much, or when measuring
   failed. */
static int look_for_largest(comparison *k, double seconds) {
    const tune_space *s = &k->r->space;
    const tune_setting most = {s->decoders[s->decoder_count - 1], s->threads[s->thread_count - 1], 0};
    int largest = tune_largest_batch(k->r->measure, k->r->user, most, k->r->first_batch,
                                     s->batches[s->batch_count - 1], seconds, &k->spent);
    if (largest == 0) say_error("there is not enough memory for one image");
    k->c->largest_batch = largest;
    return largest > 0;
}

static int search(comparison *k, double seconds) {
    const tune_request *r = k->r;
    if (r->full) return measure_all(k);
    k->goal = TUNE_FASTEST;
    if (!first_step(k, seconds) || !climb(k, seconds, (r->goal == TUNE_FASTEST ? 0.6 : 0.4) * r->seconds)) return 0;
    k->goal = r->goal;
    return (r->goal == TUNE_FASTEST || climb(k, seconds, 0.7 * r->seconds)) && finals(k, seconds);
}

int tune_choose(const tune_request *r, tune_choice *out) {
    const double seconds = r->seconds / 80; /* for a measurement while climbing */
    comparison k = {r, out, r->goal, 0};
    memset(out, 0, sizeof *out);
    if (r->find_largest && r->space.batch_count > 1 && !look_for_largest(&k, seconds)) return 0;
    if (!list_all(out, &r->space) || !search(&k, seconds)) return 0;
    k.goal = r->goal;
    return pick(&k);
}

void tune_choice_free(tune_choice *c) {
    free(c->all);
    memset(c, 0, sizeof *c);
}
