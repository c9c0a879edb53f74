#include "groups/census_estimate.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* When less than REACHED of the matches were asked about and fewer than MANY_MATCHES were found for a crop, more than a
   tenth of the intervals miss the true number in simulations (t_count.c). */
static const double TENTH = 0.1, REACHED = 0.55, MANY_MATCHES = 5;

/* --- questions ---------------------------------------------------------------------------------------------------- */

typedef struct question {
    uint32_t a, b;
    size_t place;
    double score;
} question;

static int by_rows(const question *x, const question *y) {
    if (x->a != y->a) return x->a < y->a ? -1 : 1;
    return (x->b > y->b) - (x->b < y->b);
}

static int by_both(const void *a, const void *b) {
    const question *x = a, *y = b;
    int order = by_rows(x, y);
    return order ? order : (x->place > y->place) - (x->place < y->place);
}

static int by_place(const void *a, const void *b) {
    const question *x = a, *y = b;
    return (x->place > y->place) - (x->place < y->place);
}

static size_t list_questions(const census *c, question *all) {
    size_t n = 0, kept = 0;
    for (size_t i = 0; i < c->count; i++)
        for (size_t k = 0; k < c->at[i].pairs; k++) {
            const census_pair *p = &c->pairs[c->at[i].first + k];
            uint32_t a = c->at[i].row, b = p->b;
            const question one = {a < b ? a : b, a < b ? b : a, n, p->score};
            all[n++] = one;
        }
    qsort(all, n, sizeof *all, by_both);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || by_rows(&all[i], &all[kept - 1]) != 0) all[kept++] = all[i];
    qsort(all, kept, sizeof *all, by_place);
    return kept;
}

int census_questions(const census *c, doubtful_pair **questions, size_t *count) {
    question *all = need_array(c->pair_count + 1, sizeof *all);
    *questions = all ? need_array(c->pair_count + 1, sizeof **questions) : NULL;
    *count = *questions ? list_questions(c, all) : 0;
    for (size_t i = 0; i < *count; i++) {
        const doubtful_pair one = {all[i].a, all[i].b, all[i].score};
        (*questions)[i] = one;
    }
    free(all);
    return *questions != NULL;
}

/* --- the estimate ------------------------------------------------------------------------------------------------- */

/* chances: working memory for the probabilities of the crop's matches. */
static void count_crop(const census *c, const census_crop *crop, double *chances, counted_crop *out) {
    size_t sure = 1, rest = 0;
    for (size_t i = crop->first; i < crop->first + crop->pairs; i++) {
        const census_pair *p = &c->pairs[i];
        if (p->answer != 1) continue;
        out->found++, out->behind += 1 / p->chance;
        if (p->chance < 1) chances[rest++] = p->chance;
        else sure++;
    }
    out->whole = crop->none || crop->whole;
    out->part = crop->none ? 0 : count_part(sure, chances, rest);
}

static void judge(const census *c, size_t used, int all_whole, census_result *out) {
    const count_estimate *e = &out->e;
    double off = e->half / (TENTH * e->count);
    if (all_whole) out->state = CENSUS_GOOD;
    else if (e->found == 0) out->state = CENSUS_NO_MATCH;
    else if (e->reached < REACHED && (double)e->found < MANY_MATCHES * (double)used) out->state = CENSUS_POOR;
    if (out->state != CENSUS_GOOD || !(off > 1)) return;
    double wanted = ceil((double)used * off * off);
    out->crops_for_tenth = wanted < (double)c->rows ? (size_t)wanted : c->rows;
}

int census_estimate(const census *c, census_result *out) {
    size_t used = 0, least = c->count < CENSUS_LEAST ? c->count : CENSUS_LEAST, widest = 0;
    int all_whole = 1;
    memset(out, 0, sizeof *out);
    for (size_t i = 0; i < c->count; i++) {
        used += c->at[i].open == 0;
        out->open += c->at[i].open;
        if (c->at[i].pairs > widest) widest = c->at[i].pairs;
        if (i < least) out->needed += c->at[i].open;
    }
    if (used < least || used < 2) {
        out->state = CENSUS_TOO_FEW;
        out->e.crops = used;
        return 1;
    }
    out->needed = 0;
    counted_crop *counted = need_zeroed(used, sizeof *counted);
    double *chances = counted ? need_array(widest + 1, sizeof *chances) : NULL;
    double *share = chances ? need_array(c->rows, sizeof *share) : NULL;
    if (share) memcpy(share, c->shares, c->rows * sizeof *share);
    if (share) count_chances(share, c->rows, (double)used);
    for (size_t i = 0, n = 0; i < c->count && share; i++) {
        if (c->at[i].open) continue;
        counted[n].chance = share[c->at[i].place];
        count_crop(c, &c->at[i], chances, &counted[n]);
        all_whole &= counted[n++].whole;
    }
    if (share) count_estimate_of(&out->e, counted, used, c->rows_left);
    if (share) judge(c, used, all_whole, out);
    free(counted), free(chances), free(share);
    return share != NULL;
}
