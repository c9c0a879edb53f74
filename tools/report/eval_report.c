#include "report/eval_report.h"

#include "base/memory.h"
#include "base/say.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void text_number(text *t, double value) {
    if (isfinite(value)) text_printf(t, "%.9g", value);
    else text_puts(t, "null");
}

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
    text_printf(t, "%zu queries, %zu in the gallery", e->queries, e->galleries);
    if (e->distractors) text_printf(t, " (%zu of them distractors)", e->distractors);
    text_printf(t, ", %zu identities: %s\n", e->identities, set->labels.layout);
    text_printf(t, "left out of each query's gallery: the image itself%s\n",
                e->by_camera ? ", and those of its identity from its camera" : "");
    for (int m = 0; m < set->makers.models; m++) {
        const store_model *by = &set->makers.model[m];
        text_printf(t, "model %s, %s, %s", by->fingerprint, by->network, by->precision);
        text_printf(t, *set->device[m] ? " on %s\n" : "\n", set->device[m]);
    }
    if (o->expand) text_printf(t, "query expansion: %d nearest, alpha %g\n", o->expand, o->alpha);
    if (o->rerank) text_printf(t, "k-reciprocal re-ranking: k1 %d, k2 %d, lambda %g\n", o->k1, o->k2, o->lambda);
    if (set->labels.junk) text_printf(t, "%zu junk images (identity -1) left out\n", set->labels.junk);
    text_putc(t, '\n');
}

static void add_open(const evaluation *e, text *t) {
    char note[96];
    const open_set *s = &e->open;
    text_printf(t, "\nNew individuals: %zu queries of known ones, %zu of new ones\n", s->known, s->unknown);
    add_percent(t, "open-set AUC", s->auc, "");
    snprintf(note, sizeof note, "at threshold %.6g%s", s->threshold, s->chosen ? ", the best for these queries" : "");
    add_percent(t, "BAKS", s->baks, note);
    add_percent(t, "BAUS", s->baus, "");
    snprintf(note, sizeof note, "%zu clusters of queries at %.6g%s", e->clusters.clusters, e->clusters.threshold,
             e->clusters.chosen ? ", the best threshold for them" : "");
    add_percent(t, "ARI", e->clusters.ari, note);
}

void report_table(const evaluation *e, const eval_set *set, const evaluation_rules *o, text *t) {
    static const int ranks[] = {1, 5, 10};
    char note[64], name[32];
    add_what(e, set, o, t);
    text_printf(t, "Ranking, %zu queries that have a match\n", e->ranks.valid);
    for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++) {
        snprintf(name, sizeof name, "rank-%d", ranks[i]);
        add_percent(t, name, e->ranks.cmc[ranks[i] - 1], i ? "" : interval_note(note, e->rank1));
    }
    add_percent(t, "mAP", e->ranks.map, interval_note(note, e->map));
    add_percent(t, "mAP, trapezoid", e->ranks.map_trapezoid, "over all queries");
    add_percent(t, "mINP", e->ranks.minp, "");
    text_printf(t, "\nPairs, %llu of one identity and %llu of two\n", (unsigned long long)e->genuine,
                (unsigned long long)e->impostor);
    for (int i = 0; i < FPRS; i++) {
        snprintf(name, sizeof name, "TPR@FPR %g", FPR[i]);
        add_percent(t, name, e->tpr[i], (double)e->impostor * FPR[i] < 1 ? "fewer pairs than that" : "");
    }
    add_percent(t, "AUC", e->auc, "");
    add_percent(t, "EER", e->eer, "");
    add_open(e, t);
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */
static void add_value(text *t, const char *before, double value) {
    text_puts(t, before);
    text_number(t, value);
}

static void add_interval(text *t, const char *name, interval i) {
    text_printf(t, ", \"%s\": [", name);
    text_number(t, i.low);
    add_value(t, ", ", i.high);
    text_putc(t, ']');
}

static void add_ranking(const evaluation *e, text *t) {
    text_printf(t, "  \"ranking\": {\"queries\": %zu, \"valid_queries\": %zu", e->ranks.queries, e->ranks.valid);
    add_value(t, ", \"rank1\": ", e->ranks.cmc[0]);
    add_interval(t, "rank1_interval", e->rank1);
    add_value(t, ", \"rank5\": ", e->ranks.cmc[4]);
    add_value(t, ", \"rank10\": ", e->ranks.cmc[9]);
    add_value(t, ", \"map\": ", e->ranks.map);
    add_interval(t, "map_interval", e->map);
    add_value(t, ", \"map_trapezoid\": ", e->ranks.map_trapezoid);
    add_value(t, ", \"minp\": ", e->ranks.minp);
    text_puts(t, ",\n    \"cmc\": [");
    for (int k = 0; k < CMC_RANKS; k++) add_value(t, k ? ", " : "", e->ranks.cmc[k]);
    text_puts(t, "]},\n");
}

static void add_pairs(const evaluation *e, text *t) {
    text_printf(t, "  \"pairs\": {\"genuine\": %llu, \"impostor\": %llu, \"tpr_at_fpr\": {",
                (unsigned long long)e->genuine, (unsigned long long)e->impostor);
    for (int i = 0; i < FPRS; i++) {
        text_printf(t, "%s\"%g\": ", i ? ", " : "", FPR[i]);
        text_number(t, e->tpr[i]);
    }
    add_value(t, "}, \"auc\": ", e->auc);
    add_value(t, ", \"eer\": ", e->eer);
    text_puts(t, "},\n");
}

static void add_open_json(const evaluation *e, text *t) {
    const open_set *s = &e->open;
    text_printf(t, "  \"open_set\": {\"known_queries\": %zu, \"new_queries\": %zu", s->known, s->unknown);
    add_value(t, ", \"auc\": ", s->auc);
    add_value(t, ", \"threshold\": ", s->threshold);
    text_printf(t, ", \"threshold_from\": \"%s\"", s->chosen ? "best" : "given");
    add_value(t, ", \"baks\": ", s->baks);
    add_value(t, ", \"baus\": ", s->baus);
    text_printf(t, "},\n  \"clusters\": {\"pictures\": %zu, \"clusters\": %zu", e->queries, e->clusters.clusters);
    add_value(t, ", \"ari\": ", e->clusters.ari);
    add_value(t, ", \"threshold\": ", e->clusters.threshold);
    text_printf(t, ", \"threshold_from\": \"%s\"}\n}", e->clusters.chosen ? "best" : "given");
}

static void add_set(const eval_set *set, const double *weights, text *t) {
    text_puts(t, "  \"models\": [");
    for (int m = 0; m < set->makers.models; m++) {
        const store_model *by = &set->makers.model[m];
        text_printf(t, "%s{\"fingerprint\": ", m ? ", " : "");
        text_json(t, by->fingerprint);
        text_puts(t, ", \"network\": ");
        text_json(t, by->network);
        text_puts(t, ", \"precision\": ");
        text_json(t, by->precision);
        text_puts(t, ", \"device\": ");
        text_json(t, set->device[m]);
        add_value(t, ", \"weight\": ", weights[m]);
        text_putc(t, '}');
    }
    text_puts(t, "],\n");
}

void report_json(const evaluation *e, const eval_set *set, const evaluation_rules *o, const double *weights, text *t) {
    text_printf(t, "{\n  \"format\": \"reid-evaluation\", \"format_version\": 1, \"reid\": \"%s\",\n  \"layout\": ",
                reid_version_string());
    text_json(t, set->labels.layout);
    text_printf(t, ", \"queries\": %zu, \"gallery\": %zu, \"distractors\": %zu, \"identities\": %zu, \"junk\": %zu, "
                   "\"failed\": %zu, \"unlabelled\": %zu,\n", e->queries, e->galleries, e->distractors, e->identities,
                set->labels.junk, set->failed, set->unlabelled + set->labels.elsewhere);
    add_set(set, weights, t);
    text_printf(t, "  \"left_out\": \"%s\", \"rerank\": ", e->by_camera ? "camera" : "picture");
    if (o->rerank) {
        text_printf(t, "{\"k1\": %d, \"k2\": %d", o->k1, o->k2);
        add_value(t, ", \"lambda\": ", o->lambda);
        text_putc(t, '}');
    } else {
        text_puts(t, "null");
    }
    text_puts(t, ", \"expand\": ");
    if (o->expand) {
        text_printf(t, "{\"k\": %d", o->expand);
        add_value(t, ", \"alpha\": ", o->alpha);
        text_putc(t, '}');
    } else {
        text_puts(t, "null");
    }
    text_puts(t, ",\n");
    add_ranking(e, t);
    add_pairs(e, t);
    add_open_json(e, t);
}

/* ---- comparing --------------------------------------------------------------------------------------------------- */

/* Wholly on one side of -limit. */
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

void change_json(const change *c, text *t) {
    add_value(t, "{\"rank1\": ", c->rank1);
    add_interval(t, "rank1_interval", c->rank1_interval);
    add_value(t, ", \"map\": ", c->map);
    add_interval(t, "map_interval", c->map_interval);
    add_value(t, ", \"lowest_cosine\": ", c->lowest_cosine);
    text_printf(t, ", \"pass\": %s, \"certain\": %s}", c->fails ? "false" : "true", c->certain ? "true" : "false");
}
