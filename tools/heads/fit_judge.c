#include "heads/fit_judge.h"

#include "base/files.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/say.h"
#include "evaluate/evaluation.h"
#include "evaluate/labelled_pairs.h"
#include "heads/fit.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The results of all turns: queries, and pairs with the highest score first; [0] without the fit, [1] with it. */
typedef struct judging {
    const eval_set *set;
    const fit_request *r;
    const fit_judge_rules *rules;
    int *turn;        /* of each individual; -1: always in the fit */
    int turns;
    double *rank1[2], *ap[2];
    size_t *who, queries, most;
    labelled_pairs pairs[FIT_JUDGE_TURNS][2];
} judging;

/* ---- one turn ---------------------------------------------------------------------------------------------------- */

static int is_held(const judging *j, size_t i, int number) {
    return j->set->at[i].label->distractor || j->turn[j->set->at[i].identity] == number;
}

/* The held-out part of the set, without rows. */
static int part_of_set(const judging *j, int number, size_t dim, eval_set *part) {
    const eval_set *set = j->set;
    *part = *set;
    memset(&part->labels, 0, sizeof part->labels);
    part->count = part->queries = part->gallery = 0;
    part->dim = dim;
    part->makers.models = 1;
    part->makers.dim = part->makers.model[0].dim = (int)dim;
    part->at = need_array(set->count + 1, sizeof *part->at);
    part->rows = part->at ? need_array(set->count + 1, (dim + 1) * sizeof *part->rows) : NULL;
    for (size_t i = 0; i < set->count && part->rows; i++) {
        if (!is_held(j, i, number)) continue;
        part->queries += i < set->queries;
        part->gallery += i < set->gallery;
        part->at[part->count++] = set->at[i];
    }
    return part->rows != NULL;
}

static void normalise(float *row, size_t dim) {
    double sum = 0;
    for (size_t k = 0; k < dim; k++) sum += (double)row[k] * (double)row[k];
    for (size_t k = 0; k < dim && sum > 0; k++) row[k] = (float)((double)row[k] / sqrt(sum));
}

/* f = NULL: the network's own embeddings, without the fit. */
static void fill_rows(const judging *j, int number, const fitted *f, eval_set *part) {
    size_t n = 0;
    for (size_t i = 0; i < j->set->count; i++) {
        if (!is_held(j, i, number)) continue;
        const float *row = j->r->rows + i * j->r->columns;
        float *to = part->rows + n++ * part->dim;
        if (f) fit_apply(f, j->r, row, to);
        else memcpy(to, row + j->rules->made_first, part->dim * sizeof *to);
        normalise(to, part->dim);
    }
}

static void take_results(judging *j, const evaluation *e, int side) {
    size_t n = 0;
    for (size_t q = 0; q < e->queries; q++) {
        if (!e->results[q].matches) continue;
        size_t at = j->queries + n++;
        j->rank1[side][at] = e->results[q].first == 1;
        j->ap[side][at] = e->results[q].ap;
        j->who[at] = e->identity[q];
    }
    if (side) j->queries += n;
}

static int judge_side(judging *j, int number, const fitted *f, int side) {
    const pair_rules pairs = {!j->rules->by_camera, j->rules->threads, REID_ISA_AUTO};
    const evaluation_rules rules = {.threshold = (double)NAN, .draws = 10, .threads = j->rules->threads,
                                    .leave_out = j->rules->by_camera ? LEAVE_OUT_CAMERA : LEAVE_OUT_PICTURE};
    labelled_pairs *to = &j->pairs[number][side];
    const double alone = 1;
    evaluation e;
    eval_set part;
    memset(&e, 0, sizeof e);
    int good = part_of_set(j, number, f ? fitted_dim(f) : j->rules->made, &part);
    if (good) fill_rows(j, number, f, &part);
    good = good && evaluate(&e, &part, &rules, &alone) && pairs_of_set(to, &part, &pairs);
    if (good) {
        take_results(j, &e, side);
        pairs_weigh(to, 1, &alone);
        pairs_sort(to->at, to->count);
    }
    evaluation_free(&e);
    free(part.at);
    free(part.rows);
    return good;
}

static int judge_turn(judging *j, int number) {
    fit_request r = *j->r;
    size_t *pick = need_array(r.count + 1, sizeof *pick);
    fitted f;
    memset(&f, 0, sizeof f);
    r.count = 0;
    r.pick = pick;
    for (size_t i = 0; i < j->r->count && pick; i++)
        if (j->turn[r.identity[j->r->pick[i]]] != number) pick[r.count++] = j->r->pick[i];
    int good = pick && fit_heads(&f, &r) && judge_side(j, number, NULL, 0) && judge_side(j, number, &f, 1);
    fitted_free(&f);
    free(pick);
    return good;
}

/* ---- all turns --------------------------------------------------------------------------------------------------- */

/* The chance that a pair of one individual scores above a pair of two, ties half. Pairs are weighted by how often their
   individuals were drawn; NULL: each once. */
static double area(const judging *j, int side, const uint32_t *times) {
    double right = 0, all = 0;
    for (int number = 0; number < j->turns; number++) {
        const labelled_pairs *p = &j->pairs[number][side];
        double genuine = 0, impostor = 0;
        for (size_t i = 0, end = 0; i < p->count; i = end) {
            double here[2] = {0, 0};
            for (; end < p->count && p->at[end].score == p->at[i].score; end++) {
                const scored_pair *one = &p->at[end];
                int same = one->a == one->b;
                here[same] += !times ? 1 : same ? times[one->a] : (double)times[one->a] * times[one->b];
            }
            right += here[0] * (genuine + here[1] / 2);
            genuine += here[1];
            impostor += here[0];
        }
        all += genuine * impostor;
    }
    return all > 0 ? right / all : (double)NAN;
}

/* More pairs would make each draw slower, but the intervals hardly better. */
static int draws_for(const judging *j) {
    double pairs = 1;
    for (int number = 0; number < j->turns; number++) pairs += 2 * (double)j->pairs[number][0].count;
    double fit = 4e8 / pairs;
    return fit > j->rules->draws ? j->rules->draws : fit < 100 ? 100 : (int)fit;
}

static int areas(const judging *j, const size_t *held, size_t count, fit_judgement *to) {
    int draws = draws_for(j), good;
    uint32_t *times = need_array(j->set->identities + 1, sizeof *times);
    double *value = need_array((size_t)draws, 3 * sizeof *value);
    uint64_t state = 1;
    good = times && value;
    for (int d = 0; d < draws && good; d++) {
        memset(times, 0, j->set->identities * sizeof *times);
        for (size_t k = 0; k < count; k++) times[held[random_below(&state, count)]]++;
        value[d] = area(j, 0, times);
        value[draws + d] = area(j, 1, times);
        value[2 * draws + d] = value[draws + d] - value[d];
        good = !interrupted();
    }
    fit_side *const side[3] = {&to->before, &to->after, &to->gain};
    for (int s = 0; s < 3 && good; s++) {
        int n = 0;
        double *from = value + s * draws;
        for (int d = 0; d < draws; d++)
            if (!isnan(from[d])) from[n++] = from[d]; /* a draw can have no pair of one individual */
        side[s]->auc.value = s < 2 ? area(j, s, NULL) : to->after.auc.value - to->before.auc.value;
        side[s]->auc.range = middle_95(from, count > 1 ? (size_t)n : 0);
    }
    free(times);
    free(value);
    return good;
}

static int mean_of(const judging *j, const double *value, measured *to) {
    to->value = 0;
    for (size_t i = 0; i < j->queries; i++) to->value += value[i] / (double)j->queries;
    return mean_interval(&to->range, value, j->who, j->queries, j->set->identities, j->rules->draws);
}

static int summarise(judging *j, fit_judgement *to) {
    size_t *held = need_array(j->set->identities + 1, sizeof *held), count = 0;
    int good = held != NULL;
    for (size_t c = 0; c < j->set->identities && good; c++)
        if (j->turn[c] >= 0) held[count++] = c;
    to->turns = j->turns;
    to->individuals = count;
    to->queries = j->queries;
    good = good && mean_of(j, j->rank1[0], &to->before.rank1) && mean_of(j, j->ap[0], &to->before.map) &&
           mean_of(j, j->rank1[1], &to->after.rank1) && mean_of(j, j->ap[1], &to->after.map);
    for (size_t i = 0; i < j->queries && good; i++) {
        j->rank1[1][i] -= j->rank1[0][i];
        j->ap[1][i] -= j->ap[0][i];
    }
    good = good && mean_of(j, j->rank1[1], &to->gain.rank1) && mean_of(j, j->ap[1], &to->gain.map) &&
           areas(j, held, count, to);
    free(held);
    return good;
}

/* Decides which individuals each turn holds out. Returns 0 after saying that there are too few. */
static int hold_out(judging *j, fit_judgement *to) {
    const fit_judge_rules *rules = j->rules;
    j->turns = isnan(rules->holdout) ? FIT_JUDGE_TURNS : 1;
    size_t n = fit_turns(j->r, j->turns > 1 ? j->turns : INT_MAX, j->turn);
    size_t held = j->turns > 1 ? n / FIT_JUDGE_TURNS : (size_t)(rules->holdout * (double)n + 0.5);
    if (n < FIT_LEAST_TO_JUDGE || held < 2 || n - held < 2) {
        say_error("%zu individual%s with two crops or more %s too few for a report: it needs at least %d, two of them "
                  "held out", n, plural(n), n == 1 ? "is" : "are", FIT_LEAST_TO_JUDGE);
        return 0;
    }
    for (size_t c = 0; c < j->set->identities && j->turns == 1; c++)
        j->turn[c] = j->turn[c] >= 0 && (size_t)j->turn[c] < held ? 0 : -1;
    to->fitted = j->turns == 1 ? n - held : n - n / FIT_JUDGE_TURNS;
    return 1;
}

int fit_judge(fit_judgement *to, const eval_set *set, const fit_request *r, const fit_judge_rules *rules) {
    judging j = {.set = set, .r = r, .rules = rules};
    memset(to, 0, sizeof *to);
    j.turn = need_array(r->identities + 1, sizeof *j.turn);
    double *room = j.turn ? need_array(set->count + 1, 4 * sizeof *room) : NULL;
    j.who = room ? need_array(set->count + 1, sizeof *j.who) : NULL;
    for (int i = 0; i < 4 && room; i++) *(i < 2 ? &j.rank1[i] : &j.ap[i - 2]) = room + (size_t)i * (set->count + 1);
    int good = j.who && hold_out(&j, to);
    for (int number = 0; number < j.turns && good; number++) good = judge_turn(&j, number);
    good = good && summarise(&j, to);
    for (int number = 0; number < FIT_JUDGE_TURNS; number++)
        for (int side = 0; side < 2; side++) pairs_free(&j.pairs[number][side]);
    free(j.turn);
    free(room);
    free(j.who);
    return good;
}
