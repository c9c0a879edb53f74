#include "evaluate/evaluation.h"

#include "base/files.h"
#include "base/memory.h"
#include "base/say.h"
#include "scores/rerank.h"
#include "scores/scores.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const double FPR[FPRS] = {1e-4, 1e-3, 1e-2};

typedef struct judging {
    const eval_set *set;
    evaluation *e;
    const rerank *better;   /* NULL: plain scores */
    open_query *open;       /* of each query */
    size_t *start, *member; /* gallery images of identity k: member[start[k]] … member[start[k + 1] - 1] */
    roc *counts;            /* of each thread */
    size_t **room;          /* of each thread: indices of the matches, then their ranks */
    size_t most;            /* largest number of gallery images of one identity */
    char *no_memory;        /* of each thread: 1 if a query could not be judged */
} judging;

/* Lists gallery images by identity, in their order. */
static int group_gallery(judging *j) {
    const eval_set *set = j->set;
    size_t n = set->identities;
    j->start = need_zeroed(n + 2, sizeof *j->start);
    j->member = j->start ? need_array(set->count + 1, sizeof *j->member) : NULL;
    if (!j->member) return 0;
    for (size_t i = set->gallery; i < set->count; i++) j->start[set->at[i].identity + 2]++;
    for (size_t k = 0; k < n; k++) {
        if (j->start[k + 2] > j->most) j->most = j->start[k + 2];
        j->start[k + 2] += j->start[k + 1];
    }
    for (size_t i = set->gallery; i < set->count; i++)
        j->member[j->start[set->at[i].identity + 1]++] = i - set->gallery;
    return 1;
}

/* Finds the query's matches; images that are left out get the score -INFINITY. */
static size_t find_matches(const judging *j, size_t query, float *scores, size_t *match) {
    const eval_set *set = j->set;
    const eval_image *q = &set->at[query];
    size_t n = 0;
    for (size_t i = j->start[q->identity]; i < j->start[q->identity + 1]; i++) {
        const eval_image *g = &set->at[set->gallery + j->member[i]];
        int same_camera = j->e->by_camera && g->camera == q->camera;
        if (g->picture == q->picture || (same_camera && !g->label->distractor))
            scores[j->member[i]] = (float)-INFINITY;
        else if (!g->label->distractor)
            match[n++] = j->member[i];
    }
    return n;
}

/* First counts all compared pairs as impostors, then moves the matches to the genuine ones. */
static void count_pairs(roc *r, const float *scores, size_t count, const size_t *match, size_t matches) {
    for (size_t i = 0; i < count; i++)
        if (!isinf(scores[i])) roc_add(r, scores[i], 0);
    for (size_t i = 0; i < matches; i++) roc_move(r, scores[match[i]]);
}

static void judge(void *user, int thread, size_t query, float *scores) {
    judging *j = user;
    const eval_set *set = j->set;
    size_t count = j->e->galleries, *match = j->room[thread], *ranks = match + j->most + 1, best = 0;
    if (j->better) rerank_row(j->better, thread, query, scores);
    size_t matches = find_matches(j, query, scores, match);
    count_pairs(&j->counts[thread], scores, count, match, matches);
    if (!rank_matches(scores, count, match, matches, ranks)) {
        j->no_memory[thread] = 1;
        return;
    }
    j->e->results[query] = query_measure(ranks, matches);
    for (size_t i = 1; i < count; i++)
        if (scores[i] > scores[best]) best = i;
    open_query *o = &j->open[query];
    o->score = scores[best];
    o->identity = set->at[query].identity;
    o->known = matches > 0;
    o->correct = matches && ranks[0] == 1;
}

/* Allocates the working memory of each thread. */
static int make_room(judging *j, int threads, double reach) {
    j->counts = need_zeroed((size_t)threads, sizeof *j->counts);
    j->room = j->counts ? need_zeroed((size_t)threads, sizeof *j->room) : NULL;
    j->no_memory = j->room ? need_zeroed((size_t)threads, 1) : NULL;
    if (!j->no_memory) return 0;
    for (int i = 0; i < threads; i++) {
        j->room[i] = need_array(j->most + 1, 2 * sizeof **j->room);
        if (!j->room[i] || !roc_begin(&j->counts[i], reach)) return 0;
    }
    return 1;
}

static void free_room(judging *j, int threads) {
    for (int i = 0; i < threads && j->counts; i++) roc_free(&j->counts[i]);
    for (int i = 0; i < threads && j->room; i++) free(j->room[i]);
    free(j->counts);
    free(j->room);
    free(j->no_memory);
}

static int judge_all(judging *j, const evaluation_rules *o, double reach) {
    const eval_set *set = j->set;
    int threads = scores_threads(o->threads);
    score_job job = {set->rows, set->rows + set->gallery * set->dim, set->queries, set->count - set->gallery, set->dim,
                     threads, o->isa, 0, 0, judge, j, "ranking"};
    int good = make_room(j, threads, reach) && scores_run(&job);
    for (int i = 0; i < threads && good; i++)
        if (j->no_memory[i]) good = say_no_memory();
    if (good) {
        for (int i = 1; i < threads; i++) roc_merge(&j->counts[0], &j->counts[i]);
        for (int i = 0; i < FPRS; i++) j->e->tpr[i] = roc_tpr(&j->counts[0], FPR[i]);
        j->e->auc = roc_auc(&j->counts[0]);
        j->e->eer = roc_eer(&j->counts[0]);
        roc_totals(&j->counts[0], &j->e->genuine, &j->e->impostor);
    }
    free_room(j, threads);
    return good;
}

static void link_row(void *user, int thread, size_t query, float *scores) {
    (void)thread, (void)query;
    linkage_row(user, scores);
}

/* Clusters the queries by their plain scores. */
static int cluster_queries(evaluation *e, const eval_set *set, const evaluation_rules *o) {
    linkage l;
    score_job job = {set->rows, set->rows, set->queries, set->queries, set->dim, scores_threads(o->threads),
                     o->isa, 1, 1, link_row, &l, "clustering"};
    int good = linkage_begin(&l, set->queries) && scores_run(&job) &&
               linkage_cut(&e->clusters, &l, e->identity, set->identities, o->rerank ? (double)NAN : o->threshold);
    linkage_free(&l);
    return good;
}

static int summarise(evaluation *e, judging *j, const evaluation_rules *o) {
    double *rank1 = need_array(e->queries + 1, 2 * sizeof *rank1), *ap = rank1 ? rank1 + e->queries : NULL;
    size_t *group = rank1 ? need_array(e->queries + 1, sizeof *group) : NULL, n = 0;
    e->ranks = retrieval_of(e->results, e->queries);
    for (size_t i = 0; i < e->queries && group; i++) {
        if (!e->results[i].matches) continue;
        rank1[n] = e->results[i].first == 1;
        ap[n] = e->results[i].ap;
        group[n++] = e->identity[i];
    }
    int good = group && mean_interval(&e->rank1, rank1, group, n, e->identities, o->draws) &&
               mean_interval(&e->map, ap, group, n, e->identities, o->draws) &&
               open_set_of(&e->open, j->open, e->queries, e->identities, o->threshold);
    free(rank1);
    free(group);
    return good;
}

/* Multiplies each model's part of the rows by the square root of its weight, so a dot product is the weighted score. */
static void weigh(eval_set *set, const double *weights) {
    size_t column = 0;
    for (int m = 0; m < set->makers.models; m++) {
        float factor = (float)sqrt(weights[m]);
        size_t end = column + (size_t)set->makers.model[m].dim;
        for (size_t i = 0; i < set->count && factor != 1.0f; i++)
            for (size_t k = column; k < end; k++) set->rows[i * set->dim + k] *= factor;
        column = end;
    }
}

/* Decides which gallery images are left out; 0 after saying why the requested rule is impossible. */
static int choose_rule(evaluation *e, const eval_set *set, const evaluation_rules *o) {
    e->by_camera = o->leave_out == LEAVE_OUT_CAMERA ||
                   (o->leave_out == LEAVE_OUT_AUTO && set->every_camera && set->cameras > 1);
    for (size_t i = 0; i < set->count && e->by_camera; i++) {
        if (set->at[i].label->camera) continue;
        say_error("%s: its camera is unknown, so --leave-out camera cannot be used",
                  shown(set->at[i].label->id));
        return 0;
    }
    return 1;
}

static int count_pictures(evaluation *e, const eval_set *set) {
    e->queries = set->queries;
    e->galleries = set->count - set->gallery;
    e->identities = set->identities;
    for (size_t i = set->gallery; i < set->count; i++) e->distractors += set->at[i].label->distractor != 0;
    e->results = need_array(e->queries + 1, sizeof *e->results);
    e->identity = e->results ? need_array(e->queries + 1, sizeof *e->identity) : NULL;
    for (size_t i = 0; i < e->queries && e->identity; i++) e->identity[i] = set->at[i].identity;
    return e->identity != NULL;
}

static int compute(evaluation *e, eval_set *set, const evaluation_rules *o, judging *j, double reach) {
    picture_rows all = {set->rows, set->count, set->dim, set->queries, set->gallery, scores_threads(o->threads),
                        o->isa};
    rerank_options how = {o->k1, o->k2, o->lambda};
    rerank better;
    if (o->expand && !expand_rows(set->rows, &all, o->expand, o->alpha)) return 0;
    if (!o->rerank) return judge_all(j, o, reach) && cluster_queries(e, set, o);
    j->better = &better;
    int good = rerank_begin(&better, &all, &how) && judge_all(j, o, 1.0);
    rerank_free(&better);
    j->better = NULL;
    return good && cluster_queries(e, set, o);
}

int evaluate(evaluation *e, eval_set *set, const evaluation_rules *o, const double *weights) {
    judging j = {set, e, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL};
    double reach = 0;
    memset(e, 0, sizeof *e);
    if (!set->queries || set->gallery == set->count) {
        say_error(set->queries ? "the gallery is empty" : "there are no queries");
        return 0;
    }
    if (!choose_rule(e, set, o)) return 0;
    for (int m = 0; m < set->makers.models; m++) reach += weights[m];
    if (o->expand) reach = 1; /* expanded rows have length 1, whatever the weights */
    weigh(set, weights);
    int good = count_pictures(e, set) && group_gallery(&j);
    j.open = good ? need_array(e->queries + 1, sizeof *j.open) : NULL;
    good = j.open && compute(e, set, o, &j, reach) && summarise(e, &j, o);
    free(j.open);
    free(j.start);
    free(j.member);
    if (good && !e->ranks.valid)
        say_error("no query has a match in the gallery%s: each identity needs two images%s",
                  e->by_camera ? " from another camera" : "", e->by_camera ? " from different cameras" : "");
    return good && e->ranks.valid > 0;
}

void evaluation_free(evaluation *e) {
    free(e->results);
    free(e->identity);
    memset(e, 0, sizeof *e);
}
