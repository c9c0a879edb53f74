/* A chain is a sequence of tracks joined so far. Pairs of chains that may be joined wait in a heap, ordered by their
   mean cosine, which for chains with sums of unit rows A and B is A·B / (|A| |B|), |A| being the number of tracks in
   the chain. The best pair is taken out and examined. If one of its chains has changed since, the pair is stale and is
   dropped: the changed chain has put its pairs in again. If its chains do not fit, it is dropped, too, and comes back
   if one of them grows. So the heap always has every pair that could be joined. */
#include "tracks/track_joins.h"

#include "base/memory.h"
#include "base/say.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What can happen to an animal that is not seen for a while. Lengths are in sides of the larger box. At the edge of a
   tree, a box may show a part of the animal: its centre is off by half a side, and one of its sides is too short. */
static const double OFF = 0.5, WALK = 1.0; /* OFF: sides; WALK: sides per second, whatever its speed was */
static const double HASTE = 1.5;           /* and in addition this multiple of the speed at which it was seen moving */
static const double SIZE = 0.5, GROW = 0.2; /* log change of the side that changed less; GROW: per second */

#define NO_TRACK UINT32_MAX

/* Pairs of tracks, in both directions and sorted: one may follow the other, or they are in conflict. */
typedef struct pair {
    uint32_t a, b;
} pair;

typedef struct pairs {
    pair *at;
    size_t count, room;
    size_t *starts; /* [tracks + 1]: index of each track's first pair */
} pairs;

typedef struct waiting {
    double score;
    uint32_t a, b, a_version, b_version; /* chains, a < b */
} waiting;

/* The index of a chain is the lowest index of its tracks. */
typedef struct joining {
    const track_joins_request *r;
    double *sum;              /* (count, dim): the sum of a chain's unit rows */
    uint32_t *home;           /* [count]: the chain of a track */
    uint32_t *first, *next;   /* the first track of a chain; the next track in a track's chain, by time; or NO_TRACK */
    uint32_t *size, *version; /* of a chain; size 0: its embedding is unknown */
    uint32_t *turn;           /* a track's rank among all, by first time */
    pairs follows, conflicts;
    waiting *heap;
    size_t heap_count, heap_room;
} joining;

track_joins_settings track_joins_defaults(void) {
    const track_joins_settings s = {.threshold = 0.5, .gap = 10};
    return s;
}

/* ---- who may follow whom ----------------------------------------------------------------------------------------- */

static double speed_of(const double velocity[2]) { return hypot(velocity[0], velocity[1]); }

static int plausible(const track_joins_request *r, const track *a, const track *b) {
    double seconds = b->first - a->last;
    if (a->scene != b->scene || a->last_box.category != b->first_box.category) return 0;
    if (!(seconds > 0 && seconds <= r->settings.gap)) return 0;
    const track_box *from = &a->last_box, *to = &b->first_box;
    double grown = fmin(fabs(log(to->w / from->w)), fabs(log(to->h / from->h)));
    double side = fmax(track_box_side(from), track_box_side(to));
    double haste = HASTE * fmax(speed_of(a->last_velocity), speed_of(b->first_velocity));
    return grown <= SIZE + GROW * seconds &&
           track_box_distance(from, to) <= side * (OFF + WALK * seconds) + haste * seconds;
}

/* A track's sort key; with its index inside, the comparison needs no global variable. */
typedef struct beginning {
    double first;
    uint32_t at;
} beginning;

static int by_beginning(const void *a, const void *b) {
    const beginning *x = a, *y = b;
    if (x->first != y->first) return x->first < y->first ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

static int by_track(const void *a, const void *b) {
    const pair *x = a, *y = b;
    if (x->a != y->a) return x->a < y->a ? -1 : 1;
    return (x->b > y->b) - (x->b < y->b);
}

static int add_pair(pairs *p, uint32_t a, uint32_t b) {
    for (int way = 0; way < 2; way++) {
        if (!NEED(p->at, p->count, p->room)) return 0;
        p->at[p->count].a = way ? b : a;
        p->at[p->count++].b = way ? a : b;
    }
    return 1;
}

static int sort_pairs(pairs *p, size_t all) {
    p->starts = need_array(all + 1, sizeof *p->starts);
    if (!p->starts) return 0;
    if (p->count) qsort(p->at, p->count, sizeof *p->at, by_track);
    for (size_t i = 0, at = 0; i <= all; i++) {
        while (at < p->count && p->at[at].a < i) at++;
        p->starts[i] = at;
    }
    return 1;
}

/* Finds the pairs in which one track can follow the other. The longest track bounds how much earlier a track can have
   begun that ended less than the gap ago. */
static int find_follows(joining *j, const beginning *order) {
    const track_joins_request *r = j->r;
    double longest = 0;
    for (size_t i = 0; i < r->count; i++) longest = fmax(longest, r->tracks[i].last - r->tracks[i].first);
    for (size_t i = 0; i < r->count; i++)
        for (size_t k = i; k-- > 0 && order[i].first - order[k].first <= longest + r->settings.gap;)
            if (plausible(r, &r->tracks[order[k].at], &r->tracks[order[i].at]) &&
                !add_pair(&j->follows, order[k].at, order[i].at))
                return 0;
    return sort_pairs(&j->follows, r->count);
}

static int order_tracks(joining *j) {
    size_t n = j->r->count;
    beginning *order = need_array(n, sizeof *order);
    if (!order) return 0;
    for (uint32_t i = 0; i < n; i++) order[i].first = j->r->tracks[i].first, order[i].at = i;
    qsort(order, n, sizeof *order, by_beginning);
    for (uint32_t i = 0; i < n; i++) j->turn[order[i].at] = i;
    int good = find_follows(j, order);
    free(order);
    return good;
}

static int take_conflicts(joining *j) {
    const track_joins_request *r = j->r;
    for (size_t i = 0; i < r->conflicts_count; i++)
        if (!add_pair(&j->conflicts, r->conflicts[2 * i], r->conflicts[2 * i + 1])) return 0;
    return sort_pairs(&j->conflicts, r->count);
}

/* ---- the heap ---------------------------------------------------------------------------------------------------- */

static int before(const waiting *x, const waiting *y) {
    if (x->score != y->score) return x->score > y->score;
    if (x->a != y->a) return x->a < y->a;
    return x->b < y->b;
}

static int put_in(joining *j, const waiting *w) {
    if (!NEED(j->heap, j->heap_count, j->heap_room)) return 0;
    size_t at = j->heap_count++;
    for (; at && before(w, &j->heap[(at - 1) / 2]); at = (at - 1) / 2) j->heap[at] = j->heap[(at - 1) / 2];
    j->heap[at] = *w;
    return 1;
}

static waiting take_out(joining *j) {
    const waiting best = j->heap[0], last = j->heap[--j->heap_count];
    size_t at = 0;
    for (size_t k = 1; k < j->heap_count; k = 2 * at + 1) {
        if (k + 1 < j->heap_count && before(&j->heap[k + 1], &j->heap[k])) k++;
        if (!before(&j->heap[k], &last)) break;
        j->heap[at] = j->heap[k];
        at = k;
    }
    if (j->heap_count) j->heap[at] = last;
    return best;
}

/* ---- chains ------------------------------------------------------------------------------------------------------ */

static double score_of(const joining *j, uint32_t a, uint32_t b) {
    size_t dim = (size_t)j->r->dim;
    const double *x = j->sum + a * dim, *y = j->sum + b * dim;
    double product = 0;
    for (size_t k = 0; k < dim; k++) product += x[k] * y[k];
    return product / ((double)j->size[a] * (double)j->size[b]);
}

static int wait_for(joining *j, uint32_t x, uint32_t y) {
    uint32_t a = x < y ? x : y, b = x < y ? y : x;
    if (a == b || !j->size[a] || !j->size[b]) return 1;
    const waiting w = {score_of(j, a, b), a, b, j->version[a], j->version[b]};
    return w.score < j->r->settings.threshold || put_in(j, &w);
}

static int in_conflict(const joining *j, uint32_t a, uint32_t b) {
    for (uint32_t i = j->first[a]; i != NO_TRACK; i = j->next[i])
        for (size_t k = j->conflicts.starts[i]; k < j->conflicts.starts[i + 1]; k++)
            if (j->home[j->conflicts.at[k].b] == b) return 1;
    return 0;
}

/* Returns the earlier of the tracks at two positions in chains, and advances that position. */
static uint32_t earlier(const joining *j, uint32_t *x, uint32_t *y) {
    uint32_t *from = *y == NO_TRACK || (*x != NO_TRACK && j->turn[*x] < j->turn[*y]) ? x : y, now = *from;
    *from = j->next[now];
    return now;
}

/* 1 if each track of both chains can follow the one before it and they are not in conflict. */
static int fit(const joining *j, uint32_t a, uint32_t b) {
    const track *at = j->r->tracks;
    uint32_t x = j->first[a], y = j->first[b], last = earlier(j, &x, &y);
    while (x != NO_TRACK || y != NO_TRACK) {
        uint32_t now = earlier(j, &x, &y);
        if (!plausible(j->r, &at[last], &at[now])) return 0;
        last = now;
    }
    return !in_conflict(j, a, b);
}

/* Makes b a part of a, and puts all pairs of the new chain into the heap. */
static int join(joining *j, uint32_t a, uint32_t b) {
    size_t dim = (size_t)j->r->dim;
    uint32_t x = j->first[a], y = j->first[b], *link = &j->first[a];
    for (size_t k = 0; k < dim; k++) j->sum[a * dim + k] += j->sum[b * dim + k];
    j->size[a] += j->size[b];
    j->version[a]++, j->version[b]++;
    while (x != NO_TRACK || y != NO_TRACK) {
        *link = earlier(j, &x, &y);
        j->home[*link] = a;
        link = &j->next[*link];
    }
    for (uint32_t i = j->first[a]; i != NO_TRACK; i = j->next[i])
        for (size_t k = j->follows.starts[i]; k < j->follows.starts[i + 1]; k++)
            if (!wait_for(j, a, j->home[j->follows.at[k].b])) return 0;
    return 1;
}

static int join_all(joining *j) {
    for (size_t k = 0; k < j->follows.count; k++)
        if (j->follows.at[k].a < j->follows.at[k].b && !wait_for(j, j->follows.at[k].a, j->follows.at[k].b)) return 0;
    while (j->heap_count) {
        const waiting w = take_out(j);
        int stale = w.a_version != j->version[w.a] || w.b_version != j->version[w.b];
        if (!stale && fit(j, w.a, w.b) && !join(j, w.a, w.b)) return 0;
    }
    return 1;
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

/* Makes each track a chain, with its row scaled to length 1. */
static void begin_chains(joining *j) {
    size_t dim = (size_t)j->r->dim;
    for (uint32_t i = 0; i < j->r->count; i++) {
        double square = 0;
        for (size_t k = 0; k < dim; k++) {
            double value = (double)j->r->rows[i * dim + k];
            square += value * value;
        }
        for (size_t k = 0; k < dim; k++)
            j->sum[i * dim + k] = square > 0 ? (double)j->r->rows[i * dim + k] / sqrt(square) : 0;
        j->home[i] = j->first[i] = i;
        j->next[i] = NO_TRACK;
        j->size[i] = square > 0;
        j->version[i] = 0;
    }
}

static int make_room(joining *j) {
    size_t n = j->r->count;
    uint32_t **const lists[] = {&j->home, &j->first, &j->next, &j->size, &j->version, &j->turn};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        if (!(*lists[i] = need_array(n, sizeof **lists[i]))) return 0;
    j->sum = need_array(n, (size_t)j->r->dim * sizeof *j->sum);
    return j->sum != NULL;
}

static int request_good(const track_joins_request *r) {
    if (r->count >= NO_TRACK || r->dim < 0)
        say_error("joining tracks: invalid counts: %zu tracks of %d numbers", r->count, r->dim);
    else if (!isfinite(r->settings.threshold) || !(r->settings.gap >= 0))
        say_error("joining tracks: invalid threshold %g or gap %g s", r->settings.threshold, r->settings.gap);
    else {
        for (size_t i = 0; i < 2 * r->conflicts_count; i++) {
            if (r->conflicts[i] < r->count) continue;
            say_error("joining tracks: a conflict names track %u; there are %zu", r->conflicts[i], r->count);
            return 0;
        }
        for (size_t i = 0; i < r->count * (size_t)r->dim; i++) {
            if (isfinite(r->rows[i])) continue;
            say_error("joining tracks: the embedding of track %zu is not finite", i / (size_t)r->dim);
            return 0;
        }
        return 1;
    }
    return 0;
}

int track_joins_make(const track_joins_request *r, uint32_t *whole) {
    joining j;
    memset(&j, 0, sizeof j);
    j.r = r;
    int good = request_good(r) && make_room(&j);
    if (good) begin_chains(&j);
    good = good && order_tracks(&j) && take_conflicts(&j) && join_all(&j);
    for (uint32_t i = 0; i < r->count && good; i++) whole[i] = j.home[i];
    free(j.sum), free(j.home), free(j.first), free(j.next), free(j.size), free(j.version), free(j.turn);
    free(j.follows.at), free(j.follows.starts), free(j.conflicts.at), free(j.conflicts.starts), free(j.heap);
    return good;
}
