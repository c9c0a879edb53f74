#include "groups/unlabelled.h"

#include "base/files.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/unicode.h"
#include "base/union_find.h"
#include "reid.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    LEAST_SIGHTINGS = 20,
    LEAST_PAIRS = 100,   /* unknown ones */
    LEAST_KNOWN = 10,    /* tracks, or pairs that are known to be different, before they can contradict the fit */
    MOST_PAIRS = 500000, /* more add little, because there are as many independent ones as sightings */
    SAMPLE = 2000        /* scores of each distribution in a calibration */
};
static const double BURST = 60;         /* seconds: all photos within this time are of one burst */
static const double LEAST_DISTANCE = 2; /* standard deviations between what differs and what is of one track */
static const double LEAST_GAIN = 3;     /* by which two distributions must be more likely than one: that has three
                                          parameters less (Akaike, IEEE Transactions on Automatic Control 19, 1974) */
static const double MOST_BELOW = 1.5;   /* standard deviations by which different pairs may be below the fitted ones */

/* A track, or a crop of no track. */
typedef struct sighting {
    uint32_t crops, camera; /* camera: UINT32_MAX: unknown */
    uint32_t root;          /* sightings with equal roots were decided to be the same */
    const char *name;       /* of the root, given by people; NULL: none */
    double length;          /* of the mean of its rows, each of length 1 */
} sighting;

typedef struct two {
    uint32_t a, b; /* a < b */
} two;

typedef struct learning {
    unlabelled *u;
    const unlabelled_request *r;
    uint32_t *of; /* [crops]: its sighting; UINT32_MAX: not a crop */
    sighting *at; /* [u->sightings] */
    float *means; /* (sightings, dim) */
    two *apart;   /* sorted: roots of different individuals */
    size_t apart_count, apart_cap;
    mixture_pair *pairs;
    size_t pair_count, pair_cap;
    size_t unknown;
    double within; /* sum of the places of tracks */
} learning;

/* ---- sightings --------------------------------------------------------------------------------------------------- */

static int find_sightings(learning *l) {
    const crops *c = l->r->crops;
    const uint32_t *tracks = l->r->tracks;
    uint32_t most = 0, *track;
    l->of = need_zeroed(c->count + 1, sizeof *l->of);
    for (size_t i = 0; i < c->count && tracks; i++)
        if (tracks[i] != UINT32_MAX && tracks[i] >= most) most = tracks[i] + 1;
    track = l->of ? need_array((size_t)most + 1, sizeof *track) : NULL;
    if (!track) return 0;
    memset(track, 0xff, ((size_t)most + 1) * sizeof *track);
    for (size_t i = 0; l->r->state && i < l->r->state->no_crop_count; i++) {
        size_t at = crops_find(c, l->r->state->no_crops[i].id);
        if (at != SIZE_MAX) l->of[at] = UINT32_MAX;
    }
    for (size_t i = 0; i < c->count; i++) {
        uint32_t *number = tracks && tracks[i] != UINT32_MAX ? &track[tracks[i]] : NULL;
        if (l->of[i] == UINT32_MAX) continue;
        l->of[i] = number && *number != UINT32_MAX ? *number : (uint32_t)l->u->sightings++;
        if (number) *number = l->of[i];
    }
    free(track);
    return 1;
}

typedef struct camera_of {
    const char *name;
    uint32_t sighting;
} camera_of;

static int by_name(const void *a, const void *b) {
    return name_order(((const camera_of *)a)->name, ((const camera_of *)b)->name);
}

static int number_cameras(learning *l) {
    const crops *c = l->r->crops;
    camera_of *sorted = need_array(c->count + 1, sizeof *sorted);
    size_t n = 0;
    uint32_t number = 0;
    for (size_t i = 0; i < c->count && sorted; i++)
        if (l->of[i] != UINT32_MAX && c->facts[i].camera) sorted[n++] = (camera_of){c->facts[i].camera, l->of[i]};
    if (sorted && n) qsort(sorted, n, sizeof *sorted, by_name);
    for (size_t i = 0; i < n; i++) {
        if (i && by_name(&sorted[i], &sorted[i - 1]) != 0) number++;
        l->at[sorted[i].sighting].camera = number;
    }
    free(sorted);
    return sorted != NULL;
}

static double length_of(const float *row, size_t dim) {
    double sum = 0;
    for (size_t k = 0; k < dim; k++) sum += (double)row[k] * (double)row[k];
    return sqrt(sum);
}

/* Sums the rows of each sighting, each divided by its length, and turns the sums into means. The mean cosine of the
   pairs within n rows of length 1 is (s² - n) / (n (n - 1)), where s is the length of their sum. */
static int find_means(learning *l) {
    const crops *c = l->r->crops;
    unlabelled *u = l->u;
    size_t dim = (size_t)c->dim;
    l->at = need_zeroed(u->sightings + 1, sizeof *l->at);
    l->means = l->at ? need_zeroed(u->sightings + 1, dim * sizeof *l->means) : NULL;
    if (!l->means) return 0;
    for (size_t i = 0; i < c->count; i++) {
        if (l->of[i] == UINT32_MAX) continue;
        const float *row = c->rows + i * dim;
        float *mean = l->means + l->of[i] * dim, by = (float)(1 / fmax(length_of(row, dim), 1e-30));
        for (size_t k = 0; k < dim; k++) mean[k] += by * row[k];
        l->at[l->of[i]].crops++;
    }
    for (size_t i = 0; i < u->sightings; i++) {
        sighting *s = &l->at[i];
        double sum = length_of(l->means + i * dim, dim), n = s->crops;
        s->length = sum / n, s->camera = UINT32_MAX, s->root = (uint32_t)i;
        if (n < 2) continue;
        u->tracks++;
        l->within += mixture_place((sum * sum - n) / (n * (n - 1)), 1);
    }
    u->within = u->tracks ? mixture_score(l->within / (double)u->tracks, l->r->scale) : (double)NAN;
    return number_cameras(l);
}

/* ---- what is known ----------------------------------------------------------------------------------------------- */

static int sighting_of(const learning *l, const char *id, uint32_t *out) {
    size_t at = crops_find(l->r->crops, id);
    *out = at == SIZE_MAX ? UINT32_MAX : l->of[at];
    return *out != UINT32_MAX;
}

/* Pairs that were decided to be the same, and sightings with one name, get one root. */
static int join_decided(learning *l) {
    const decision_state *s = l->r->state;
    size_t *up = s ? need_array(l->u->sightings + 1, sizeof *up) : NULL;
    uint32_t a, b;
    if (!s || !up) return !s;
    union_find_init(up, l->u->sightings);
    for (size_t i = 0; i < s->sames; i++)
        if (sighting_of(l, s->same[i].a, &a) && sighting_of(l, s->same[i].b, &b)) union_find_merge(up, a, b);
    camera_of *named = need_array(s->name_count + 1, sizeof *named);
    size_t n = 0;
    for (size_t i = 0; i < s->name_count && named; i++)
        if (sighting_of(l, s->names[i].id, &a)) named[n++] = (camera_of){s->names[i].name, a};
    if (named && n) qsort(named, n, sizeof *named, by_name);
    for (size_t i = 1; i < n; i++)
        if (by_name(&named[i], &named[i - 1]) == 0) union_find_merge(up, named[i].sighting, named[i - 1].sighting);
    for (size_t i = 0; i < l->u->sightings; i++) l->at[i].root = (uint32_t)union_find_root(up, i);
    for (size_t i = 0; i < n; i++) l->at[l->at[named[i].sighting].root].name = named[i].name;
    free(named), free(up);
    return named != NULL;
}

/* Two sightings of different individuals; either may be UINT32_MAX. */
static int part(learning *l, uint32_t a, uint32_t b) {
    if (a == UINT32_MAX || b == UINT32_MAX) return 1;
    uint32_t x = l->at[a].root, y = l->at[b].root;
    if (x == y) return 1; /* people say otherwise */
    if (!NEED(l->apart, l->apart_count, l->apart_cap)) return 0;
    l->apart[l->apart_count++] = x < y ? (two){x, y} : (two){y, x};
    return 1;
}

typedef struct placed {
    long long at; /* a frame, or a time */
    uint32_t crop;
} placed;

static int by_place(const void *a, const void *b) {
    const placed *x = a, *y = b;
    if (x->at != y->at) return x->at < y->at ? -1 : 1;
    return (x->crop > y->crop) - (x->crop < y->crop);
}

/* Parts crops whose places are at most `most` apart; with `cameras`, only those of two known cameras. */
static int part_placed(learning *l, placed *at, size_t count, long long most, int cameras) {
    int good = 1;
    if (count) qsort(at, count, sizeof *at, by_place);
    for (size_t i = 0; i < count && good; i++)
        for (size_t k = i + 1; k < count && at[k].at - at[i].at <= most && good && !interrupted(); k++) {
            uint32_t a = l->of[at[i].crop], b = l->of[at[k].crop];
            if (a != b && (!cameras || l->at[a].camera != l->at[b].camera)) good = part(l, a, b);
        }
    return good;
}

static int part_frames(learning *l) {
    const crops *c = l->r->crops;
    placed *at = l->r->frames ? need_array(c->count + 1, sizeof *at) : NULL;
    size_t n = 0;
    for (uint32_t i = 0; i < c->count && at; i++)
        if (l->of[i] != UINT32_MAX) at[n++] = (placed){l->r->frames[i], i};
    int good = (at || !l->r->frames) && part_placed(l, at, n, 0, 0);
    free(at);
    return good;
}

/* Crops of two cameras that are far from each other, at one time. */
static int part_times(learning *l) {
    const crops *c = l->r->crops;
    if (isnan(l->r->same_time)) return 1;
    placed *at = need_array(c->count + 1, sizeof *at);
    size_t n = 0, cameras = 0;
    for (uint32_t i = 0; i < c->count && at; i++) {
        if (l->of[i] == UINT32_MAX || c->facts[i].when == STORE_NO_TIME || !c->facts[i].camera) continue;
        cameras += n && l->at[l->of[i]].camera != l->at[l->of[at[0].crop]].camera;
        at[n++] = (placed){c->facts[i].when, i};
    }
    if (!cameras) l->u->verdict = UNLABELLED_NO_TIMES;
    int good = at && part_placed(l, at, n, (long long)(1000 * l->r->same_time), 1);
    free(at);
    return good;
}

static int part_decided(learning *l) {
    const decision_state *s = l->r->state;
    int good = 1;
    for (size_t i = 0; s && i < s->differents && good; i++) {
        uint32_t a, b;
        if (sighting_of(l, s->different[i].a, &a) && sighting_of(l, s->different[i].b, &b)) good = part(l, a, b);
    }
    return good;
}

static int part_tracks(learning *l) {
    const unlabelled_request *r = l->r;
    uint32_t most = 0, *of;
    int good = 1;
    if (!r->tracks || !r->apart_count) return 1;
    for (size_t i = 0; i < r->crops->count; i++)
        if (r->tracks[i] != UINT32_MAX && r->tracks[i] >= most) most = r->tracks[i] + 1;
    of = need_array((size_t)most + 1, sizeof *of);
    if (!of) return 0;
    memset(of, 0xff, ((size_t)most + 1) * sizeof *of);
    for (size_t i = 0; i < r->crops->count; i++)
        if (r->tracks[i] != UINT32_MAX && l->of[i] != UINT32_MAX) of[r->tracks[i]] = l->of[i];
    for (size_t i = 0; i < r->apart_count && good; i++)
        if (r->apart[2 * i] < most && r->apart[2 * i + 1] < most)
            good = part(l, of[r->apart[2 * i]], of[r->apart[2 * i + 1]]);
    free(of);
    return good;
}

static int by_two(const void *a, const void *b) {
    const two *x = a, *y = b;
    if (x->a != y->a) return x->a < y->a ? -1 : 1;
    return (x->b > y->b) - (x->b < y->b);
}

static int know(learning *l) {
    if (!join_decided(l) || !part_tracks(l) || !part_frames(l) || !part_times(l) || !part_decided(l)) return 0;
    if (l->apart_count) qsort(l->apart, l->apart_count, sizeof *l->apart, by_two);
    return 1;
}

static pair_known known_of(const learning *l, uint32_t a, uint32_t b) {
    uint32_t x = l->at[a].root, y = l->at[b].root;
    two roots = x < y ? (two){x, y} : (two){y, x};
    if (x == y) return PAIR_SAME;
    if (l->at[x].name && l->at[y].name) return PAIR_DIFFERENT; /* equal names have one root */
    return l->apart_count && bsearch(&roots, l->apart, l->apart_count, sizeof roots, by_two) ? PAIR_DIFFERENT
                                                                                             : PAIR_UNKNOWN;
}

/* ---- pairs ------------------------------------------------------------------------------------------------------- */

static int add_pair(learning *l, uint32_t a, uint32_t b) {
    size_t dim = (size_t)l->r->crops->dim;
    if (!NEED(l->pairs, l->pair_count, l->pair_cap)) return 0;
    mixture_pair *p = &l->pairs[l->pair_count++];
    double cosine = reid_cosine(l->means + a * dim, l->means + b * dim, (int)dim) * l->at[a].length * l->at[b].length;
    *p = (mixture_pair){.score = (float)(l->r->scale * cosine), .a = a, .b = b};
    p->known = (unsigned char)known_of(l, a, b);
    p->kind = l->at[a].camera != l->at[b].camera;
    l->u->same += p->known == PAIR_SAME, l->u->different += p->known == PAIR_DIFFERENT;
    l->unknown += p->known == PAIR_UNKNOWN;
    return 1;
}

/* All pairs of sightings; if there are too many, a hash chooses among those that were not decided to be the same. */
static int find_pairs(learning *l) {
    unlabelled *u = l->u;
    size_t n = u->sightings;
    int good = 1;
    u->every = (uint64_t)n * (n - (n > 0)) / 2;
    double keep = (double)MOST_PAIRS / ((double)u->every + 1);
    uint64_t most = keep >= 1 ? UINT64_MAX : (uint64_t)(0x1p64 * keep);
    for (uint32_t a = 0; a < n && good && !interrupted(); a++)
        for (uint32_t b = a + 1; b < n && good; b++)
            if (random_of_pair(a, b) <= most || l->at[a].root == l->at[b].root) good = add_pair(l, a, b);
    u->pairs = l->pair_count;
    return good && !interrupted();
}

/* ---- the verdict ------------------------------------------------------------------------------------------------- */

/* All crops have a time, and all are of one burst. */
static int one_burst(const learning *l) {
    const crops *c = l->r->crops;
    long long first = 0, last = 0;
    for (size_t i = 0; i < c->count; i++) {
        long long when = c->facts[i].when;
        if (when == STORE_NO_TIME) return 0;
        if (i == 0 || when < first) first = when;
        if (i == 0 || when > last) last = when;
    }
    return (double)(last - first) <= 1000 * BURST;
}

/* The mean place of pairs that are known to be different; NAN: there are none. */
static double mean_apart(const learning *l) {
    double sum = 0;
    for (size_t i = 0; i < l->pair_count; i++)
        if (l->pairs[i].known == PAIR_DIFFERENT) sum += mixture_place((double)l->pairs[i].score, l->r->scale);
    return l->u->different ? sum / (double)l->u->different : (double)NAN;
}

static void judge(learning *l) {
    unlabelled *u = l->u;
    const spread bulk = mixture_different(&u->fit);
    double apart = mean_apart(l);
    int tracks = u->tracks >= LEAST_KNOWN, different = u->different >= LEAST_KNOWN;
    u->apart = mixture_score(apart, l->r->scale);
    if (tracks && l->within / (double)u->tracks - bulk.mean < LEAST_DISTANCE * bulk.deviation)
        u->verdict = UNLABELLED_BLIND;
    else if (different && apart < bulk.mean - MOST_BELOW * bulk.deviation) u->verdict = UNLABELLED_ALIKE;
    else if (!different && u->fit.gain < LEAST_GAIN * u->fit.parts) u->verdict = UNLABELLED_MIXED;
}

static int learn(learning *l) {
    unlabelled *u = l->u;
    const unlabelled_request *r = l->r;
    if (!find_sightings(l) || !find_means(l) || !know(l)) return 0;
    if (u->verdict != UNLABELLED_GOOD || !find_pairs(l)) return u->verdict != UNLABELLED_GOOD;
    if (one_burst(l) || (u->sightings > 1 && l->unknown == 0)) u->verdict = UNLABELLED_ONE_BURST;
    else if (u->sightings < LEAST_SIGHTINGS || l->unknown < LEAST_PAIRS) u->verdict = UNLABELLED_FEW;
    if (u->verdict != UNLABELLED_GOOD) return 1;
    const mixture_request fit = {l->pairs, l->pair_count, u->sightings, r->scale, r->fmr, r->draws};
    if (!mixture_fit(&u->fit, &fit)) return 0;
    judge(l);
    return 1;
}

int unlabelled_make(unlabelled *u, const unlabelled_request *r) {
    learning l = {.u = u, .r = r};
    memset(u, 0, sizeof *u);
    u->within = u->apart = (double)NAN;
    int good = learn(&l);
    free(l.of), free(l.at), free(l.means), free(l.apart), free(l.pairs);
    return good;
}

void unlabelled_reason(const unlabelled *u, text *t) {
    switch (u->verdict) {
    case UNLABELLED_NO_TIMES:
        text_puts(t, "--same-time needs crops of two cameras with times: photos with EXIF, or reid track --times");
        break;
    case UNLABELLED_ONE_BURST:
        text_puts(t,
                  "all crops are of one burst, so nothing is seen a second time; photos of other hours and days "
                  "are needed");
        break;
    case UNLABELLED_FEW:
        text_printf(t,
                    "%zu sighting%s (tracks, and crops without a track) are too few; at least %d from several times "
                    "are needed",
                    u->sightings, plural(u->sightings), LEAST_SIGHTINGS);
        break;
    case UNLABELLED_BLIND:
        text_printf(t,
                    "pairs within one track score %.4g, hardly more than other pairs: the crops show one individual, "
                    "or these models cannot tell these individuals apart",
                    u->within);
        break;
    case UNLABELLED_ALIKE:
        text_printf(t,
                    "pairs that are known to be different score %.4g, far less than most pairs: nearly all crops seem "
                    "to show one individual",
                    u->apart);
        break;
    default:
        text_puts(t,
                  "the scores of all pairs look like one distribution: the crops show one individual, or none of them "
                  "was seen twice, or these models cannot tell them apart; crops that are known to differ would help, "
                  "such as several animals in one photo");
    }
}

/* ---- a calibration ----------------------------------------------------------------------------------------------- */

static int take_facts(score_facts *f, const mixture *fit, const unlabelled_request *r) {
    scored_pair *sample = need_array(2 * SAMPLE, sizeof *sample);
    const interval none = {(double)NAN, (double)NAN};
    if (!sample) return 0;
    mixture_sample(fit, sample, SAMPLE);
    spreads_of(sample, 2 * SAMPLE, &f->genuine, &f->impostor);
    f->points = points_of(sample, 2 * SAMPLE, NULL, r->fmr);
    f->points.threshold = fit->threshold;
    f->points.fmr = r->fmr, f->points.tmr = fit->accepted;
    f->intervals = (point_intervals){none, none, fit->interval, none};
    f->curve = logistic_fit(sample, 2 * SAMPLE, r->prior);
    int good = isotonic_fit(&f->steps, sample, 2 * SAMPLE, r->prior);
    free(sample);
    return good;
}

/* The facts of one model's cosines: its columns, from `first` on, are crops of one model. */
static int take_model(score_facts *f, const unlabelled_request *r, size_t first, int dim) {
    const crops *c = r->crops;
    crops alone = *c;
    unlabelled_request of = *r;
    unlabelled u;
    alone.dim = dim, alone.rows = need_array(c->count + 1, (size_t)dim * sizeof *alone.rows);
    for (size_t i = 0; i < c->count && alone.rows; i++)
        memcpy(alone.rows + i * (size_t)dim, c->rows + i * (size_t)c->dim + first, (size_t)dim * sizeof *alone.rows);
    of.crops = &alone, of.scale = 1;
    int good = alone.rows && unlabelled_make(&u, &of) && take_facts(f, &u.fit, &of);
    free(alone.rows);
    return good;
}

int unlabelled_calibration(const unlabelled *u, const unlabelled_request *r, const double *weights, calibration *c) {
    const store_meta *makers = &r->crops->makers;
    size_t first = 0;
    memset(c, 0, sizeof *c);
    c->makers = *makers;
    for (int m = 0; m < makers->models; m++) c->weights[m] = weights[m];
    c->method = r->method, c->fmr = r->fmr, c->prior = r->prior;
    c->genuine = c->every_genuine = u->same, c->impostor = c->every_impostor = u->different;
    c->sightings = u->sightings, c->compared = u->pairs;
    int good = take_facts(&c->score, &u->fit, r);
    c->threshold = u->fit.threshold;
    for (int m = 0; m < makers->models && makers->models > 1 && good; m++) {
        good = take_model(&c->each[m], r, first, makers->model[m].dim);
        first += (size_t)makers->model[m].dim;
    }
    return good;
}
