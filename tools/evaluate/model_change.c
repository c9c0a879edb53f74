#include "evaluate/model_change.h"

#include "base/memory.h"
#include "base/unicode.h"
#include "evaluate/labelled_pairs.h"
#include "scores/decision.h"
#include "scores/scores.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- templates ---------------------------------------------------------------------------------------------------- */

void model_change_begin(model_change *c, const store_meta *now, const store_meta *next) {
    memset(c, 0, sizeof *c);
    for (int k = 0; k < 2; k++) {
        change_side *s = &c->side[k];
        s->makers = k ? *next : *now;
        decision_weights(s->weights, s->makers.models, NULL, 0);
    }
}

static void free_template(changed_template *t) { free(t->id), free(t->identity), free(t->camera); }

/* Makes room for one more row of a side; 0 after reporting that memory ran out. */
static int need_row(model_change *c, int k) {
    change_side *s = &c->side[k];
    size_t cap = c->rows_cap[k] ? 2 * c->rows_cap[k] : 256;
    if (c->count < c->rows_cap[k]) return 1;
    float *rows = need_array(cap, (size_t)s->makers.dim * sizeof *rows);
    if (!rows) return 0;
    if (c->count) memcpy(rows, s->rows, c->count * (size_t)s->makers.dim * sizeof *rows);
    free(s->rows);
    s->rows = rows;
    c->rows_cap[k] = cap;
    return 1;
}

int model_change_add(model_change *c, const changed_template *t, const float *const rows[2]) {
    if (!NEED(c->at, c->count, c->cap) || !need_row(c, 0) || !need_row(c, 1)) return 0;
    changed_template *to = &c->at[c->count];
    memset(to, 0, sizeof *to);
    to->size = t->size, to->hash = t->hash;
    to->id = need_copy(t->id, strlen(t->id));
    to->identity = to->id ? need_copy(t->identity, strlen(t->identity)) : NULL;
    to->camera = to->identity ? need_copy(t->camera, strlen(t->camera)) : NULL;
    if (!to->camera) {
        free_template(to);
        return 0;
    }
    for (int k = 0; k < 2; k++) {
        size_t dim = (size_t)c->side[k].makers.dim;
        memcpy(c->side[k].rows + c->count * dim, rows[k], dim * sizeof **rows);
    }
    c->count++;
    return 1;
}

void model_change_free(model_change *c) {
    for (size_t i = 0; i < c->count; i++) free_template(&c->at[i]);
    free(c->at);
    for (int k = 0; k < 2; k++) free(c->side[k].rows), free(c->side[k].nearest);
    memset(c, 0, sizeof *c);
}

/* --- numbers ------------------------------------------------------------------------------------------------------ */

static int by_identity(const void *a, const void *b) {
    const changed_template *const *x = a, *const *y = b;
    return name_order((*x)->identity, (*y)->identity);
}

static int by_camera(const void *a, const void *b) {
    const changed_template *const *x = a, *const *y = b;
    return name_order((*x)->camera, (*y)->camera);
}

static int by_picture(const void *a, const void *b) {
    const changed_template *const *x = a, *const *y = b;
    if ((*x)->hash != (*y)->hash) return (*x)->hash < (*y)->hash ? -1 : 1;
    return ((*x)->size > (*y)->size) - ((*x)->size < (*y)->size);
}

/* Gives templates that are equal by `order` the same number. */
static size_t give_numbers(changed_template **sorted, size_t n, int (*order)(const void *, const void *), int which) {
    size_t number = 0;
    qsort(sorted, n, sizeof *sorted, order);
    for (size_t i = 0; i < n; i++) {
        changed_template *t = sorted[i];
        int alone = which == 1 && !t->size && !t->hash; /* nothing is known about its image */
        number += i > 0 && (alone || order(&sorted[i - 1], &sorted[i]) != 0);
        if (which == 0) t->who = number;
        else if (which == 1) t->picture = number;
        else t->where = *t->camera ? number : SIZE_MAX;
    }
    return n ? number + 1 : 0;
}

/* Counts templates whose identity has a template from another image. They are sorted by identity, then image: if
   the first and the last image of an identity differ, all of its templates count. */
static int by_identity_and_picture(const void *a, const void *b) {
    const changed_template *const *x = a, *const *y = b;
    if ((*x)->who != (*y)->who) return (*x)->who < (*y)->who ? -1 : 1;
    return ((*x)->picture > (*y)->picture) - ((*x)->picture < (*y)->picture);
}

static size_t count_askable(changed_template **sorted, size_t n) {
    size_t askable = 0;
    qsort(sorted, n, sizeof *sorted, by_identity_and_picture);
    for (size_t first = 0, end; first < n; first = end) {
        for (end = first; end < n && sorted[end]->who == sorted[first]->who;) end++;
        if (sorted[first]->picture != sorted[end - 1]->picture) askable += end - first;
    }
    return askable;
}

static int number_all(model_change *c) {
    changed_template **sorted = need_array(c->count + 1, sizeof *sorted);
    if (!sorted) return 0;
    for (size_t i = 0; i < c->count; i++) sorted[i] = &c->at[i];
    c->identities = give_numbers(sorted, c->count, by_identity, 0);
    give_numbers(sorted, c->count, by_picture, 1);
    c->cameras = give_numbers(sorted, c->count, by_camera, 2);
    c->askable = count_askable(sorted, c->count);
    free(sorted);
    return 1;
}

/* --- nearest ones ------------------------------------------------------------------------------------------------- */

typedef struct looking {
    const model_change *c;
    change_side *s;
} looking;

static void look(void *user, int thread, size_t query, float *scores) {
    const looking *k = user;
    const changed_template *at = k->c->at;
    nearest_template best = {SIZE_MAX, 0};
    (void)thread;
    for (size_t i = 0; i < k->c->count; i++) {
        if (at[i].picture == at[query].picture || (best.place != SIZE_MAX && scores[i] <= best.score)) continue;
        best.place = i;
        best.score = scores[i];
    }
    k->s->nearest[query] = best;
}

/* Returns the rows with each model's part multiplied by its weight, or the rows themselves if there is one model. */
static float *weighted_rows(const model_change *c, const change_side *s) {
    size_t dim = (size_t)s->makers.dim, first = (size_t)s->makers.model[0].dim;
    if (s->makers.models == 1) return s->rows;
    float *rows = need_array(c->count, dim * sizeof *rows);
    for (size_t i = 0; rows && i < c->count * dim; i++)
        rows[i] = (float)(s->weights[i % dim >= first] * (double)s->rows[i]);
    return rows;
}

static int find_nearest(const model_change *c, change_side *s, const change_rules *rules, const char *label) {
    looking k = {c, s};
    float *queries = weighted_rows(c, s);
    s->nearest = queries ? need_array(c->count + 1, sizeof *s->nearest) : NULL;
    const score_job job = {queries, s->rows, c->count, c->count, (size_t)s->makers.dim, scores_threads(rules->threads),
                           rules->isa, 0, 0, look, &k, label};
    int good = s->nearest && scores_run(&job);
    if (queries != s->rows) free(queries);
    return good;
}

/* --- calibration -------------------------------------------------------------------------------------------------- */

/* Every template is both a query and in the gallery, as in `reid calibrate`. */
static int labelled_rows(const model_change *c, const change_side *s, eval_set *set) {
    static const labelled PLAIN;
    memset(set, 0, sizeof *set);
    set->at = need_zeroed(c->count + 1, sizeof *set->at);
    if (!set->at) return 0;
    set->every_camera = 1;
    for (size_t i = 0; i < c->count; i++) {
        const changed_template *t = &c->at[i];
        set->at[i] = (eval_image){.label = &PLAIN, .picture = t->picture, .identity = t->who, .camera = t->where};
        if (t->where == SIZE_MAX) set->every_camera = 0;
    }
    set->rows = s->rows;
    set->count = set->queries = c->count;
    set->dim = (size_t)s->makers.dim;
    set->identities = c->identities;
    set->cameras = c->cameras;
    set->makers = s->makers;
    return 1;
}

static int points_of_side(change_side *s, labelled_pairs *p, double fmr) {
    s->why = !p->genuine ? "no two images of one identity"
             : (double)p->impostor * fmr < 1 ? "too few pairs of two identities for this false-match rate" : NULL;
    if (s->why) return 1;
    pairs_weigh(p, s->makers.models, s->weights);
    pairs_sort(p->at, p->count);
    s->points = points_of(p->at, p->count, NULL, fmr);
    return 1;
}

static int calibrate(const model_change *c, change_side *s, const change_rules *rules) {
    const pair_rules how = {0, rules->threads, rules->isa};
    labelled_pairs pairs;
    eval_set set;
    memset(&pairs, 0, sizeof pairs);
    int good = labelled_rows(c, s, &set) && pairs_of_set(&pairs, &set, &how) && points_of_side(s, &pairs, rules->fmr);
    pairs_free(&pairs);
    free(set.at);
    return good;
}

/* --- all ---------------------------------------------------------------------------------------------------------- */

int model_change_taken(const change_side *s, size_t place) {
    const nearest_template *n = &s->nearest[place];
    return n->place != SIZE_MAX && (double)n->score >= s->threshold; /* never, when that is NAN */
}

static void judge(const model_change *c, change_side *s) {
    s->threshold = !isnan(s->makers.threshold) ? s->makers.threshold : s->why ? (double)NAN : s->points.threshold;
    for (size_t i = 0; i < c->count; i++) {
        const nearest_template *n = &s->nearest[i];
        int right = n->place != SIZE_MAX && c->at[n->place].who == c->at[i].who;
        s->right += right != 0;
        if (model_change_taken(s, i)) ++*(right ? &s->taken_right : &s->taken_wrong);
    }
}

int model_change_compute(model_change *c, const change_rules *rules) {
    static const char *const LABELS[] = {"comparing, now", "comparing, next"};
    if (!number_all(c)) return 0;
    for (int k = 0; k < 2; k++) {
        if (!find_nearest(c, &c->side[k], rules, LABELS[k]) || !calibrate(c, &c->side[k], rules)) return 0;
        judge(c, &c->side[k]);
    }
    return 1;
}

int model_change_differs(const model_change *c, size_t place) {
    size_t now = c->side[0].nearest[place].place, next = c->side[1].nearest[place].place;
    if (now == SIZE_MAX || next == SIZE_MAX) return now != next;
    return c->at[now].who != c->at[next].who ||
           model_change_taken(&c->side[0], place) != model_change_taken(&c->side[1], place);
}
