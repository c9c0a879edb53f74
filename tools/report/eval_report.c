#include "report/eval_report.h"

#include "base/json_write.h"
#include "base/memory.h"
#include "base/say.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- words ------------------------------------------------------------------------------------------------------- */
static void add_percent(text *t, const char *name, double value, const char *note) {
    text_printf(t, "%-16s", name);
    if (isnan(value)) text_puts(t, "       -");
    else text_printf(t, "%6.2f %%", 100 * value);
    if (*note) text_printf(t, "  %s", note);
    text_putc(t, '\n');
}

static const char *interval_note(char note[64], interval i) {
    note[0] = 0;
    if (!isnan(i.low)) snprintf(note, 64, "(95 %% interval %.2f to %.2f)", 100 * i.low, 100 * i.high);
    return note;
}

static void add_what(const evaluation *e, const eval_set *set, const evaluation_rules *o, text *t) {
    text_printf(t, "%zu %s, %zu in the gallery", e->queries, e->queries == 1 ? "query" : "queries", e->galleries);
    if (e->distractors) text_printf(t, " (%zu distractor%s)", e->distractors, plural(e->distractors));
    text_printf(t, ", %zu %s: %s\n", e->identities, e->identities == 1 ? "identity" : "identities", set->labels.layout);
    text_printf(t, "left out of each query's gallery: the image itself%s\n",
                e->by_camera ? ", and images of the same identity and camera" : "");
    for (int m = 0; m < set->makers.models; m++) {
        const store_model *by = &set->makers.model[m];
        text_printf(t, "model %s, %s, %s", by->fingerprint, by->network, by->precision);
        text_printf(t, *set->device[m] ? " on %s\n" : "\n", set->device[m]);
    }
    if (o->expand) text_printf(t, "query expansion: %d nearest, alpha %g\n", o->expand, o->alpha);
    if (o->rerank) text_printf(t, "k-reciprocal re-ranking: k1 %d, k2 %d, lambda %g\n", o->k1, o->k2, o->lambda);
    if (set->labels.junk) text_printf(t, "%zu junk image%s (identity -1) left out\n", set->labels.junk,
                                      plural(set->labels.junk));
    text_putc(t, '\n');
}

static void add_open(const evaluation *e, text *t) {
    char note[96];
    const open_set *s = &e->open;
    text_printf(t, "\nNew individuals: %zu %s of known individuals, %zu of new ones\n", s->known,
                s->known == 1 ? "query" : "queries", s->unknown);
    add_percent(t, "open-set AUC", s->auc, "");
    snprintf(note, sizeof note, "at threshold %.6g%s", s->threshold, s->chosen ? ", the best for these queries" : "");
    add_percent(t, "BAKS", s->baks, note);
    add_percent(t, "BAUS", s->baus, "");
    snprintf(note, sizeof note, "%zu cluster%s of queries at %.6g%s", e->clusters.clusters,
             plural(e->clusters.clusters), e->clusters.threshold,
             e->clusters.chosen ? ", the best threshold for them" : "");
    add_percent(t, "ARI", e->clusters.ari, note);
}

void report_table(const evaluation *e, const eval_set *set, const evaluation_rules *o, text *t) {
    static const int ranks[] = {1, 5, 10};
    char note[64], name[32];
    add_what(e, set, o, t);
    text_printf(t, "Ranking, %zu %s with a match\n", e->ranks.valid, e->ranks.valid == 1 ? "query" : "queries");
    for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++) {
        snprintf(name, sizeof name, "rank-%d", ranks[i]);
        add_percent(t, name, e->ranks.cmc[ranks[i] - 1], i ? "" : interval_note(note, e->rank1));
    }
    add_percent(t, "mAP", e->ranks.map, interval_note(note, e->map));
    add_percent(t, "mAP, trapezoid", e->ranks.map_trapezoid, "over all queries");
    add_percent(t, "mINP", e->ranks.minp, "");
    text_printf(t, "\nPairs, %llu of the same identity and %llu of two\n", (unsigned long long)e->genuine,
                (unsigned long long)e->impostor);
    for (int i = 0; i < FPRS; i++) {
        snprintf(name, sizeof name, "TPR@FPR %g", FPR[i]);
        add_percent(t, name, e->tpr[i], (double)e->impostor * FPR[i] < 1 ? "too few pairs" : "");
    }
    add_percent(t, "AUC", e->auc, "");
    add_percent(t, "EER", e->eer, "");
    add_open(e, t);
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */
static void add_interval(json_writer *w, const char *name, interval i) {
    json_put_array(w, name);
    json_put_number(w, NULL, i.low, 9);
    json_put_number(w, NULL, i.high, 9);
    json_put_end(w);
}

static void add_ranking(const evaluation *e, json_writer *w) {
    json_put_line(w, 2);
    json_put_object(w, "ranking");
    json_put_count(w, "queries", e->ranks.queries);
    json_put_count(w, "valid_queries", e->ranks.valid);
    json_put_number(w, "rank1", e->ranks.cmc[0], 9);
    add_interval(w, "rank1_interval", e->rank1);
    json_put_number(w, "rank5", e->ranks.cmc[4], 9);
    json_put_number(w, "rank10", e->ranks.cmc[9], 9);
    json_put_number(w, "map", e->ranks.map, 9);
    add_interval(w, "map_interval", e->map);
    json_put_number(w, "map_trapezoid", e->ranks.map_trapezoid, 9);
    json_put_number(w, "minp", e->ranks.minp, 9);
    json_put_line(w, 4);
    json_put_numbers(w, "cmc", e->ranks.cmc, CMC_RANKS, 9);
    json_put_end(w);
}

static void add_pairs(const evaluation *e, json_writer *w) {
    char name[32];
    json_put_line(w, 2);
    json_put_object(w, "pairs");
    json_put_count(w, "genuine", e->genuine);
    json_put_count(w, "impostor", e->impostor);
    json_put_object(w, "tpr_at_fpr");
    for (int i = 0; i < FPRS; i++) {
        snprintf(name, sizeof name, "%g", FPR[i]);
        json_put_number(w, name, e->tpr[i], 9);
    }
    json_put_end(w);
    json_put_number(w, "auc", e->auc, 9);
    json_put_number(w, "eer", e->eer, 9);
    json_put_end(w);
}

static void add_open_json(const evaluation *e, json_writer *w) {
    const open_set *s = &e->open;
    json_put_line(w, 2);
    json_put_object(w, "open_set");
    json_put_count(w, "known_queries", s->known);
    json_put_count(w, "new_queries", s->unknown);
    json_put_number(w, "auc", s->auc, 9);
    json_put_number(w, "threshold", s->threshold, 9);
    json_put_string(w, "threshold_from", s->chosen ? "best" : "given");
    json_put_number(w, "baks", s->baks, 9);
    json_put_number(w, "baus", s->baus, 9);
    json_put_end(w);
    json_put_line(w, 2);
    json_put_object(w, "clusters");
    json_put_count(w, "pictures", e->queries);
    json_put_count(w, "clusters", e->clusters.clusters);
    json_put_number(w, "ari", e->clusters.ari, 9);
    json_put_number(w, "threshold", e->clusters.threshold, 9);
    json_put_string(w, "threshold_from", e->clusters.chosen ? "best" : "given");
    json_put_end(w);
}

static void add_set(const eval_set *set, const double *weights, json_writer *w) {
    json_put_line(w, 2);
    json_put_array(w, "models");
    for (int m = 0; m < set->makers.models; m++) {
        const store_model *by = &set->makers.model[m];
        json_put_object(w, NULL);
        json_put_string(w, "fingerprint", by->fingerprint);
        json_put_string(w, "network", by->network);
        json_put_string(w, "precision", by->precision);
        json_put_string(w, "device", set->device[m]);
        json_put_number(w, "weight", weights[m], 9);
        json_put_end(w);
    }
    json_put_end(w);
}

/* Writes what is left out of each ranking, and how scores were changed before it. */
static void add_rules(const evaluation *e, const evaluation_rules *o, json_writer *w) {
    json_put_line(w, 2);
    json_put_string(w, "left_out", e->by_camera ? "camera" : "picture");
    if (o->rerank) {
        json_put_object(w, "rerank");
        json_put_int(w, "k1", o->k1);
        json_put_int(w, "k2", o->k2);
        json_put_number(w, "lambda", o->lambda, 9);
        json_put_end(w);
    } else {
        json_put_null(w, "rerank");
    }
    if (o->expand) {
        json_put_object(w, "expand");
        json_put_int(w, "k", o->expand);
        json_put_number(w, "alpha", o->alpha, 9);
        json_put_end(w);
    } else {
        json_put_null(w, "expand");
    }
}

void report_json(const evaluation *e, const eval_set *set, const evaluation_rules *o, const double *weights,
                 json_writer *w, const char *key) {
    json_put_object(w, key);
    json_put_line(w, 2);
    json_put_string(w, "format", "reid-evaluation");
    json_put_int(w, "format_version", 1);
    json_put_string(w, "reid", reid_version_string());
    json_put_line(w, 2);
    json_put_string(w, "layout", set->labels.layout);
    json_put_count(w, "queries", e->queries);
    json_put_count(w, "gallery", e->galleries);
    json_put_count(w, "distractors", e->distractors);
    json_put_count(w, "identities", e->identities);
    json_put_count(w, "junk", set->labels.junk);
    json_put_count(w, "failed", set->failed);
    json_put_count(w, "unlabelled", set->unlabelled + set->labels.elsewhere);
    add_set(set, weights, w);
    add_rules(e, o, w);
    add_ranking(e, w);
    add_pairs(e, w);
    add_open_json(e, w);
    json_put_line(w, 0);
    json_put_end(w);
}

/* ---- comparing --------------------------------------------------------------------------------------------------- */

/* Returns 1 if the interval is completely on one side of -limit. */
static int is_certain(interval i, double limit) { return i.low >= -limit || i.high < -limit; }

int change_of(change *out, const evaluation *e, const evaluation *reference, double limit, int draws) {
    double *rank1 = need_array(e->queries + 1, 2 * sizeof *rank1), *ap = rank1 ? rank1 + e->queries : NULL;
    size_t *group = rank1 ? need_array(e->queries + 1, sizeof *group) : NULL, n = 0;
    change c;
    memset(&c, 0, sizeof c);
    for (size_t i = 0; i < e->queries && group; i++) {
        const query_result *now = &e->results[i], *then = &reference->results[i];
        if (!now->matches) continue;
        rank1[n] = (now->first == 1) - (then->first == 1);
        ap[n] = now->ap - then->ap;
        group[n++] = e->identity[i];
    }
    c.rank1 = e->ranks.cmc[0] - reference->ranks.cmc[0];
    c.map = e->ranks.map - reference->ranks.map;
    int good = group && mean_interval(&c.rank1_interval, rank1, group, n, e->identities, draws) &&
               mean_interval(&c.map_interval, ap, group, n, e->identities, draws);
    c.fails = c.rank1 < -limit || c.map < -limit;
    c.certain = is_certain(c.rank1_interval, limit) && is_certain(c.map_interval, limit);
    c.lowest_cosine = (double)NAN;
    free(rank1);
    free(group);
    *out = c;
    return good;
}

static void add_change(text *t, double value, interval i) {
    text_printf(t, "  %+7.2f", 100 * value);
    if (isnan(i.low)) text_printf(t, " %-18s", "");
    else text_printf(t, " (%+.2f to %+.2f)", 100 * i.low, 100 * i.high);
}

void change_table(const change *c, const char *name, int width, text *t) {
    text_printf(t, "%-*s", width, shown(name));
    add_change(t, c->rank1, c->rank1_interval);
    add_change(t, c->map, c->map_interval);
    if (!isnan(c->lowest_cosine)) text_printf(t, "  %.7f", c->lowest_cosine);
    text_printf(t, "  %s%s\n", c->fails ? "FAIL" : "pass", c->certain ? "" : " (uncertain: too few identities)");
}

void change_json(const change *c, json_writer *w, const char *key) {
    json_put_object(w, key);
    json_put_number(w, "rank1", c->rank1, 9);
    add_interval(w, "rank1_interval", c->rank1_interval);
    json_put_number(w, "map", c->map, 9);
    add_interval(w, "map_interval", c->map_interval);
    json_put_number(w, "lowest_cosine", c->lowest_cosine, 9);
    json_put_bool(w, "pass", !c->fails);
    json_put_bool(w, "certain", c->certain);
    json_put_end(w);
}
