#include "report/fit_report.h"

#include "base/json_write.h"
#include "base/say.h"

#include <math.h>

const char *fit_method_name(fit_method method) {
    static const char *const names[] = {"auto", "within", "lda", "pca"};
    return names[method];
}

/* ---- words ------------------------------------------------------------------------------------------------------- */
static void add_measured(text *t, const char *name, const measured *before, const measured *after,
                         const measured *gain) {
    const measured *const all[] = {before, after, gain};
    text_printf(t, "%-8s", name);
    for (int i = 0; i < 3; i++) {
        text_printf(t, i < 2 ? "  %6.2f %%" : "  %+6.2f", 100 * all[i]->value);
        if (isnan(all[i]->range.low)) text_printf(t, "%18s", "");
        else text_printf(t, i < 2 ? " (%5.2f to %5.2f) " : " (%+.2f to %+.2f)", 100 * all[i]->range.low,
                         100 * all[i]->range.high);
    }
    text_putc(t, '\n');
}

static void judged_table(const fit_judgement *j, text *t) {
    text_printf(t, "\n%zu held-out individual%s, %zu crop%s to find (%s; %zu individual%s in %s fit)\n",
                j->individuals, plural(j->individuals), j->queries, plural(j->queries),
                j->turns > 1 ? "held out in turns" : "held out", j->fitted, plural(j->fitted),
                j->turns > 1 ? "each" : "the");
    text_printf(t, "%-8s  %-26s  %-26s  %s\n", "", "without the fit", "with the fit", "gain");
    add_measured(t, "rank-1", &j->before.rank1, &j->after.rank1, &j->gain.rank1);
    add_measured(t, "mAP", &j->before.map, &j->after.map, &j->gain.map);
    add_measured(t, "AUC", &j->before.auc, &j->after.auc, &j->gain.auc);
    text_puts(t, "95 % intervals come from resampling individuals\n");
}

void fit_report_table(const fit_story *s, text *t) {
    const fitted *f = s->head;
    text_printf(t, "%zu crop%s of %zu individual%s", f->crops, plural(f->crops), f->individuals,
                plural(f->individuals));
    if (f->single) text_printf(t, ", and %zu individual%s with a single crop", f->single, plural(f->single));
    text_putc(t, '\n');
    for (int p = 0; p < f->parts; p++) {
        const fitted_part *part = &f->part[p];
        text_printf(t, "%-28s %zu value%s, %zu direction%s of %zu component%s: %s, shrinkage %g", s->part[p],
                    part->dim, plural(part->dim), part->found, plural(part->found), part->axes, plural(part->axes),
                    fit_method_name(part->method), part->shrinkage);
        if (f->parts > 1) text_printf(t, ", share %.3f", part->share);
        text_putc(t, '\n');
    }
    if (!isnan(f->map)) text_printf(t, "mAP %.2f %% in the cross-validation that chose these settings\n", 100 * f->map);
    if (s->judged) judged_table(s->judged, t);
    if (!s->output) return;
    text_puts(t, "\nwritten      ");
    text_visible(t, s->output);
    text_printf(t, "\nnetwork      %s\nfingerprint  %s\n", s->network, s->fingerprint);
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */
static void add_side(json_writer *w, const char *name, const fit_side *side) {
    const measured *const all[] = {&side->rank1, &side->map, &side->auc};
    static const char *const names[][2] = {
        {"rank1", "rank1_interval"}, {"map", "map_interval"}, {"auc", "auc_interval"}};
    json_put_line(w, 2);
    json_put_object(w, name);
    for (int i = 0; i < 3; i++) {
        json_put_number(w, names[i][0], all[i]->value, 9);
        json_put_array(w, names[i][1]);
        json_put_number(w, NULL, all[i]->range.low, 9);
        json_put_number(w, NULL, all[i]->range.high, 9);
        json_put_end(w);
    }
    json_put_end(w);
}

static void add_part(json_writer *w, const char *name, const fitted_part *p) {
    json_put_line(w, 2);
    json_put_object(w, NULL);
    json_put_string(w, "name", name);
    json_put_count(w, "values", p->dim);
    json_put_count(w, "components", p->axes);
    json_put_count(w, "directions", p->found);
    json_put_string(w, "method", fit_method_name(p->method));
    json_put_number(w, "shrinkage", p->shrinkage, 9);
    json_put_number(w, "share", p->share, 9);
    json_put_number(w, "map", p->map, 9);
    json_put_end(w);
}

static void add_judged(json_writer *w, const fit_judgement *j) {
    json_put_object(w, "report");
    json_put_int(w, "turns", j->turns);
    json_put_count(w, "individuals", j->individuals);
    json_put_count(w, "fitted_individuals", j->fitted);
    json_put_count(w, "queries", j->queries);
    add_side(w, "before", &j->before);
    add_side(w, "after", &j->after);
    add_side(w, "gain", &j->gain);
    json_put_end(w);
}

void fit_report_json(const fit_story *s, text *t) {
    const fitted *f = s->head;
    json_writer w = json_write(t);
    json_put_object(&w, NULL);
    json_put_count(&w, "individuals", f->individuals);
    json_put_count(&w, "crops", f->crops);
    json_put_count(&w, "single", f->single);
    json_put_int(&w, "turns", f->folds);
    json_put_number(&w, "map", f->map, 9);
    json_put_array(&w, "parts");
    for (int p = 0; p < f->parts; p++) add_part(&w, s->part[p], &f->part[p]);
    json_put_end(&w);
    json_put_line(&w, 1);
    if (s->judged) add_judged(&w, s->judged);
    else json_put_null(&w, "report");
    json_put_line(&w, 1);
    json_put_string(&w, "output", s->output);
    if (s->output) {
        json_put_string(&w, "network", s->network);
        json_put_string(&w, "fingerprint", s->fingerprint);
    }
    json_put_finish(&w);
}
