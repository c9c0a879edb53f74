#include "groups/census.h"

#include "base/files.h"
#include "base/memory.h"
#include "base/say.h"
#include "base/union_find.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double TENTH = 0.1; /* of the scale: pairs down to this far below the threshold are doubtful */

/* The known relations of crops, as chains: crops of one individual have the same root. */
typedef struct known_crops {
    size_t *up;             /* [crops], see base/union_find.h */
    unsigned char *none;    /* [crops]: decided to be "not a crop" */
    uint32_t *apart;        /* pairs of roots that were decided to be different; the lower root first; sorted */
    size_t apart_count;
} known_crops;

/* A crop that another one may be compared with. */
typedef struct candidate {
    double score;
    uint32_t row;
    const char *id;
} candidate;

typedef struct census_run {
    const census_request *r;
    census *c;
    known_crops known;
    uint32_t *apart;       /* pairs of tracks, the lower one first; sorted */
    candidate *candidates; /* [rows] */
    double *probability, *share; /* [rows] */
    uint64_t seed;
} census_run;

/* --- known crops -------------------------------------------------------------------------------------------------- */

static uint32_t root_of(const known_crops *k, uint32_t i) { return (uint32_t)union_find_root(k->up, i); }

/* The lower of the two roots becomes the root of both. */
static void join(const known_crops *k, uint32_t a, uint32_t b) {
    uint32_t x = root_of(k, a), y = root_of(k, b);
    union_find_merge(k->up, x > y ? x : y, x > y ? y : x);
}

typedef struct tracked {
    uint32_t track, row;
} tracked;

static int by_track(const void *a, const void *b) {
    const tracked *x = a, *y = b;
    if (x->track != y->track) return x->track < y->track ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

static int join_tracks(census_run *run) {
    size_t n = run->r->crops->count;
    tracked *sorted = need_array(n, sizeof *sorted);
    for (uint32_t i = 0; i < n && sorted; i++) sorted[i].track = run->r->tracks[i], sorted[i].row = i;
    if (sorted) qsort(sorted, n, sizeof *sorted, by_track);
    for (size_t i = 1; i < n && sorted && sorted[i].track != UINT32_MAX; i++)
        if (sorted[i].track == sorted[i - 1].track) join(&run->known, sorted[i].row, sorted[i - 1].row);
    free(sorted);
    return sorted != NULL;
}

static int by_pair(const void *a, const void *b) {
    const uint32_t *x = a, *y = b;
    if (x[0] != y[0]) return x[0] < y[0] ? -1 : 1;
    return (x[1] > y[1]) - (x[1] < y[1]);
}

static void two_roots(const known_crops *k, uint32_t a, uint32_t b, uint32_t out[2]) {
    uint32_t x = root_of(k, a), y = root_of(k, b);
    out[0] = x < y ? x : y, out[1] = x < y ? y : x;
}

/* Finds both crops of a decided pair; returns 0 if one of them belongs to another file. */
static int both_rows(const crops *c, const decided_pair *p, uint32_t out[2]) {
    size_t a = crops_find(c, p->a), b = crops_find(c, p->b);
    out[0] = (uint32_t)a, out[1] = (uint32_t)b;
    return a != SIZE_MAX && b != SIZE_MAX;
}

static int take_decisions(census_run *run) {
    const decision_state *s = run->r->state;
    const crops *all = run->r->crops;
    known_crops *k = &run->known;
    uint32_t rows[2];
    for (size_t i = 0; i < s->no_crop_count; i++) {
        size_t at = crops_find(all, s->no_crops[i].id);
        if (at != SIZE_MAX) k->none[at] = 1;
    }
    for (size_t i = 0; i < s->sames; i++)
        if (both_rows(all, &s->same[i], rows)) join(k, rows[0], rows[1]);
    k->apart = need_array(s->differents + 1, 2 * sizeof *k->apart);
    for (size_t i = 0; i < s->differents && k->apart; i++)
        if (both_rows(all, &s->different[i], rows)) two_roots(k, rows[0], rows[1], k->apart + 2 * k->apart_count++);
    if (k->apart) qsort(k->apart, k->apart_count, 2 * sizeof *k->apart, by_pair);
    return k->apart != NULL;
}

static int know(census_run *run) {
    known_crops *k = &run->known;
    size_t n = run->r->crops->count;
    k->up = need_array(n, sizeof *k->up);
    k->none = k->up ? need_zeroed(n, 1) : NULL;
    if (k->none) union_find_init(k->up, n);
    return k->none && (!run->r->tracks || join_tracks(run)) && (!run->r->state || take_decisions(run));
}

/* Returns 1 for the same, 0 for different, -1 for unknown. */
static int answer_of(const census_run *run, uint32_t a, uint32_t b) {
    const known_crops *k = &run->known;
    uint32_t roots[2];
    if (k->none[a] || k->none[b]) return 0;
    two_roots(k, a, b, roots);
    if (roots[0] == roots[1]) return 1;
    return k->apart_count && bsearch(roots, k->apart, k->apart_count, sizeof roots, by_pair) ? 0 : -1;
}

/* --- sightings ---------------------------------------------------------------------------------------------------- */

/* Finds the crops that stand for sightings: the first one of each track, and those of no track. */
static int find_sightings(census_run *run) {
    const census_request *r = run->r;
    census *c = run->c;
    size_t n = r->crops->count;
    uint32_t most = 0;
    for (size_t i = 0; i < n && r->tracks; i++)
        if (r->tracks[i] != UINT32_MAX && r->tracks[i] >= most) most = r->tracks[i] + 1;
    unsigned char *seen = need_zeroed((size_t)most + 1, 1);
    c->stands = seen ? need_array(n, sizeof *c->stands) : NULL;
    for (uint32_t i = 0; i < n && c->stands; i++) {
        int of_track = r->tracks && r->tracks[i] != UINT32_MAX;
        if (of_track && seen[r->tracks[i]]) continue;
        if (of_track) seen[r->tracks[i]] = 1;
        c->stands[c->rows++] = i;
    }
    free(seen);
    run->apart = c->stands ? need_array(r->apart_count + 1, 2 * sizeof *run->apart) : NULL;
    for (size_t i = 0; i < r->apart_count && run->apart; i++) {
        uint32_t a = r->apart[2 * i], b = r->apart[2 * i + 1];
        run->apart[2 * i] = a < b ? a : b, run->apart[2 * i + 1] = a < b ? b : a;
    }
    if (run->apart && r->apart_count) qsort(run->apart, r->apart_count, 2 * sizeof *run->apart, by_pair);
    return run->apart != NULL;
}

/* Two crops of one image, or of tracks that share a frame, show different individuals: a question about them is none.
   */
static int are_apart(const census_run *run, uint32_t a, uint32_t b) {
    const census_request *r = run->r;
    if (r->frames && r->frames[a] == r->frames[b]) return 1;
    if (!r->apart_count || r->tracks[a] == UINT32_MAX || r->tracks[b] == UINT32_MAX) return 0;
    uint32_t x = r->tracks[a], y = r->tracks[b], both[2] = {x < y ? x : y, x < y ? y : x};
    return bsearch(both, run->apart, r->apart_count, sizeof both, by_pair) != NULL;
}

/* --- drawing crops ------------------------------------------------------------------------------------------------ */

typedef struct drawn {
    double key;
    uint32_t row;
} drawn;

static int by_key(const void *a, const void *b) {
    const drawn *x = a, *y = b;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

/* Sorts crops by number / share: the first n are a sample of size n, which contains each with a probability that is
   about proportional to its share. */
static int draw_crops(census_run *run) {
    const clusters *found = run->r->found;
    census *c = run->c;
    size_t n = c->rows;
    uint32_t *size = need_zeroed(found->groups + 1, sizeof *size);
    uint32_t *of = size ? need_array(n, sizeof *of) : NULL;
    drawn *sorted = of ? need_array(n, sizeof *sorted) : NULL;
    c->shares = sorted ? need_array(n, sizeof *c->shares) : NULL;
    c->order = c->shares ? need_array(n, sizeof *c->order) : NULL;
    for (size_t i = 0; i < n && c->order; i++) size[found->group[c->stands[i]]]++;
    for (size_t i = 0; i < n && c->order; i++) of[i] = size[found->group[c->stands[i]]];
    if (c->order) count_crop_shares(c->shares, of, n, found->groups);
    for (uint32_t i = 0; i < n && c->order; i++) {
        sorted[i].key = count_number(run->seed, found->ids[c->stands[i]], NULL) / c->shares[i];
        sorted[i].row = i;
    }
    if (c->order) qsort(sorted, n, sizeof *sorted, by_key);
    for (size_t i = 0; i < n && c->order; i++) c->order[i] = sorted[i].row;
    free(size), free(of), free(sorted);
    return c->order != NULL;
}

/* --- drawing pairs ------------------------------------------------------------------------------------------------ */

static int by_score(const void *a, const void *b) {
    const candidate *x = a, *y = b;
    if (x->score != y->score) return x->score > y->score ? -1 : 1;
    return strcmp(x->id, y->id);
}

/* The probability is 1/2 at the threshold and 1/10 at a tenth of the scale below it. */
static double probability_of(const census_request *r, double score) {
    if (r->calibration) return calibration_probability(r->calibration, score);
    return 1 / (1 + exp((r->found->threshold - score) * (log(9) / (TENTH * r->scale))));
}

/* Finds all sightings that may show the individual of `row` but are not known to; highest score first. */
static size_t find_candidates(census_run *run, uint32_t row) {
    const census_request *r = run->r;
    const float *rows = r->crops->rows;
    size_t dim = (size_t)r->crops->dim, n = 0;
    for (size_t k = 0; k < run->c->rows; k++) {
        uint32_t i = run->c->stands[k];
        if (i == row || are_apart(run, i, row)) continue;
        candidate *one = &run->candidates[n++];
        one->score = r->scale * reid_cosine(rows + row * dim, rows + i * dim, r->crops->dim);
        one->row = i, one->id = r->crops->ids[i];
    }
    qsort(run->candidates, n, sizeof *run->candidates, by_score);
    return n;
}

static int add_pair(census_run *run, census_crop *crop, const candidate *with, double chance) {
    census *c = run->c;
    if (!NEED(c->pairs, c->pair_count, c->pair_cap)) return 0;
    census_pair *p = &c->pairs[c->pair_count++];
    p->b = with->row, p->score = with->score, p->chance = chance;
    p->answer = crop->none ? 0 : answer_of(run, crop->row, with->row);
    crop->pairs++;
    crop->open += p->answer < 0;
    return 1;
}

static int draw_pairs(census_run *run, census_crop *crop) {
    size_t n = find_candidates(run, crop->row);
    double expected = (double)run->r->per_crop;
    const char *id = run->r->crops->ids[crop->row];
    for (size_t i = 0; i < n; i++) run->probability[i] = probability_of(run->r, run->candidates[i].score);
    count_shares(run->share, run->probability, n);
    count_chances(run->share, n, expected);
    crop->none = run->known.none[crop->row];
    crop->first = run->c->pair_count;
    for (size_t i = 0; i < n; i++)
        if (count_number(run->seed, id, run->candidates[i].id) < run->share[i] &&
            !add_pair(run, crop, &run->candidates[i], run->share[i]))
            return 0;
    crop->whole = crop->pairs == n && (n == 0 || run->share[n - 1] >= 1);
    return 1;
}

/* --- the census --------------------------------------------------------------------------------------------------- */

static void choose_seed(census_run *run) {
    const store_meta *makers = &run->r->crops->makers;
    run->seed = (uint64_t)run->r->seed;
    for (int i = 0; i < makers->models; i++) run->seed = count_seed(run->seed, makers->model[i].fingerprint);
}

static int room_for_pairs(census_run *run) {
    size_t n = run->c->rows;
    run->candidates = need_array(n, sizeof *run->candidates);
    run->probability = run->candidates ? need_array(n, sizeof *run->probability) : NULL;
    run->share = run->probability ? need_array(n, sizeof *run->share) : NULL;
    run->c->at = run->share ? need_zeroed(run->r->sample, sizeof *run->c->at) : NULL;
    return run->c->at != NULL;
}

int census_make(census *c, const census_request *r) {
    census_run run;
    census_request cut = *r;
    memset(&run, 0, sizeof run);
    memset(c, 0, sizeof *c);
    run.r = &cut, run.c = c;
    choose_seed(&run);
    int good = find_sightings(&run);
    if (cut.sample > c->rows) cut.sample = c->rows;
    good = good && know(&run) && draw_crops(&run) && room_for_pairs(&run);
    for (size_t i = 0; i < c->rows && good; i++) c->rows_left += !run.known.none[c->stands[i]];
    if (good) progress_start("pairs", cut.sample);
    for (size_t i = 0; i < cut.sample && good; i++) {
        c->at[i].place = c->order[i], c->at[i].row = c->stands[c->order[i]];
        good = !interrupted() && draw_pairs(&run, &c->at[c->count++]);
        progress_update(i + 1, 0);
    }
    progress_stop();
    free(run.known.up), free(run.known.none), free(run.known.apart);
    free(run.candidates), free(run.probability), free(run.share), free(run.apart);
    return good;
}

void census_free(census *c) {
    free(c->at), free(c->pairs), free(c->shares), free(c->order), free(c->stands);
    memset(c, 0, sizeof *c);
}
