#include "report/fit_report.h"

#include "base/say.h"
#include "report/eval_report.h"

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
    text_printf(t, "\n%zu held-out individuals, %zu crops to find (%s; %zu individuals in %s fit)\n",
                j->individuals, j->queries, j->turns > 1 ? "in turns, among those held out with them" : "held out",
                j->fitted, j->turns > 1 ? "each" : "the");
    text_printf(t, "%-8s  %-26s  %-26s  %s\n", "", "without the fit", "with it", "gain");
    add_measured(t, "rank-1", &j->before.rank1, &j->after.rank1, &j->gain.rank1);
    add_measured(t, "mAP", &j->before.map, &j->after.map, &j->gain.map);
    add_measured(t, "AUC", &j->before.auc, &j->after.auc, &j->gain.auc);
    text_puts(t, "95 % intervals come from drawing individuals\n");
}

void fit_report_table(const fit_story *s, text *t) {
    const fitted *f = s->head;
    text_printf(t, "%zu crops of %zu individuals", f->crops, f->individuals);
    if (f->single) text_printf(t, ", and %zu of which there is only one", f->single);
    text_putc(t, '\n');
    for (int p = 0; p < f->parts; p++) {
        const fitted_part *part = &f->part[p];
        text_printf(t, "%-28s %zu values, %zu directions of %zu components: %s, shrinkage %g", s->part[p], part->dim,
                    part->found, part->axes, fit_method_name(part->method), part->shrinkage);
        if (f->parts > 1) text_printf(t, ", share %.3f", part->share);
        text_putc(t, '\n');
    }
    if (!isnan(f->map)) text_printf(t, "mAP %.2f %% in the cross-validation that chose this\n", 100 * f->map);
    if (s->judged) judged_table(s->judged, t);
    if (!s->output) return;
    text_puts(t, "\nwritten      ");
    text_visible(t, s->output);
    text_printf(t, "\nnetwork      %s\nfingerprint  %s\n", s->network, s->fingerprint);
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */
static void add_value(text *t, const char *name, double value) {
    text_printf(t, ", \"%s\": ", name);
    text_number(t, value);
}

static void add_side(text *t, const char *name, const fit_side *side) {
    const measured *const all[] = {&side->rank1, &side->map, &side->auc};
    static const char *const names[] = {"rank1", "map", "auc"};
    text_printf(t, ",\n  \"%s\": {", name);
    for (int i = 0; i < 3; i++) {
        text_printf(t, "%s\"%s\": ", i ? ", " : "", names[i]);
        text_number(t, all[i]->value);
        text_printf(t, ", \"%s_interval\": [", names[i]);
        text_number(t, all[i]->range.low);
        text_puts(t, ", ");
        text_number(t, all[i]->range.high);
        text_putc(t, ']');
    }
    text_putc(t, '}');
}

static void add_part(text *t, const char *name, const fitted_part *p) {
    text_puts(t, "{\"name\": ");
    text_json(t, name);
    text_printf(t, ", \"values\": %zu, \"components\": %zu, \"directions\": %zu, \"method\": \"%s\"", p->dim, p->axes,
                p->found, fit_method_name(p->method));
    add_value(t, "shrinkage", p->shrinkage);
    add_value(t, "share", p->share);
    add_value(t, "map", p->map);
    text_putc(t, '}');
}

void fit_report_json(const fit_story *s, text *t) {
    const fitted *f = s->head;
    text_printf(t, "{\"individuals\": %zu, \"crops\": %zu, \"single\": %zu, \"turns\": %d", f->individuals, f->crops,
                f->single, f->folds);
    add_value(t, "map", f->map);
    text_puts(t, ", \"parts\": [");
    for (int p = 0; p < f->parts; p++) {
        text_puts(t, p ? ",\n  " : "\n  ");
        add_part(t, s->part[p], &f->part[p]);
    }
    text_puts(t, "],\n \"report\": ");
    if (s->judged) {
        const fit_judgement *j = s->judged;
        text_printf(t, "{\"turns\": %d, \"individuals\": %zu, \"fitted_individuals\": %zu, \"queries\": %zu", j->turns,
                    j->individuals, j->fitted, j->queries);
        add_side(t, "before", &j->before);
        add_side(t, "after", &j->after);
        add_side(t, "gain", &j->gain);
        text_putc(t, '}');
    } else {
        text_puts(t, "null");
    }
    text_puts(t, ",\n \"output\": ");
    if (s->output) text_json(t, s->output);
    else text_puts(t, "null");
    if (s->output) text_printf(t, ", \"network\": \"%s\", \"fingerprint\": \"%s\"", s->network, s->fingerprint);
    text_puts(t, "}\n");
}
