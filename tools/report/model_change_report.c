#include "report/model_change_report.h"

#include <math.h>

static const char *const SIDES[] = {"now", "next"};

static size_t count_changes(const model_change *c) {
    size_t n = 0;
    for (size_t i = 0; i < c->count; i++) n += model_change_differs(c, i) != 0;
    return n;
}

/* --- for people --------------------------------------------------------------------------------------------------- */

static void put_models(text *t, const change_side *s) {
    for (int m = 0; m < s->makers.models; m++) {
        text_printf(t, m ? " + %s (" : " %s (", s->makers.model[m].fingerprint);
        text_visible(t, s->makers.model[m].network);
        text_putc(t, ')');
    }
    text_putc(t, '\n');
}

static void put_share(text *t, size_t part, size_t of) {
    if (of) text_printf(t, "  %8.2f %%", 100 * (double)part / (double)of);
    else text_puts(t, "         - ");
}

static void put_real(text *t, const char *format, double value) {
    if (isnan(value)) text_puts(t, "         - ");
    else text_printf(t, format, value);
}

static void put_figures(text *t, const model_change_report *r) {
    const model_change *c = r->change;
    const change_side *a = &c->side[0], *b = &c->side[1];
    text_puts(t, "\n                                             now       next\n");
    text_puts(t, "nearest is of its identity          ");
    put_share(t, a->right, c->askable), put_share(t, b->right, c->askable);
    text_printf(t, "  of %zu that have another image", c->askable);
    text_puts(t, "\nthreshold                           ");
    put_real(t, "  %10.6f", a->threshold), put_real(t, "  %8.6f", b->threshold);
    text_puts(t, isnan(b->makers.threshold) ? "  next: by the calibration" : "  as they are set");
    text_puts(t, "\nnearest reaches it and is right     ");
    put_share(t, a->taken_right, c->count), put_share(t, b->taken_right, c->count);
    text_puts(t, "\nnearest reaches it and is wrong     ");
    put_share(t, a->taken_wrong, c->count), put_share(t, b->taken_wrong, c->count);
    text_printf(t, "\n\na calibration for a false-match rate of %g\n", r->fmr);
    for (int k = 0; k < 2; k++) {
        const change_side *s = &c->side[k];
        text_printf(t, "%-4s", SIDES[k]);
        if (s->why) text_printf(t, "  none: %s\n", s->why);
        else
            text_printf(t, "  threshold %.6f, accepts %.2f %% of pairs of one identity; equal error rate %.2f %%\n",
                        s->points.threshold, 100 * s->points.tmr, 100 * s->points.eer);
    }
}

static void put_nearest(text *t, const model_change *c, const change_side *s, size_t i) {
    const nearest_template *n = &s->nearest[i];
    text_putc(t, '\t');
    if (n->place == SIZE_MAX) {
        text_puts(t, "\t\t");
        return;
    }
    text_visible(t, c->at[n->place].identity);
    text_printf(t, "\t%.4f\t%s", (double)n->score, isnan(s->threshold) ? "" : model_change_taken(s, i) ? "match"
                                                                                                       : "unknown");
}

void model_change_table(text *t, const model_change_report *r) {
    const model_change *c = r->change;
    size_t changes = count_changes(c);
    for (int k = 0; k < 2; k++) {
        text_printf(t, "%-4s", SIDES[k]);
        put_models(t, &c->side[k]);
    }
    text_printf(t, "%zu templates of %zu identities", c->count, c->identities);
    if (r->left_out) text_printf(t, "; %zu without a row of both are left out", r->left_out);
    text_putc(t, '\n');
    put_figures(t, r);
    text_printf(t, "\n%zu of %zu answers change\n", changes, c->count);
    if (changes) text_puts(t, "ID\tIDENTITY\tNOW\tSCORE\tDECISION\tNEXT\tSCORE\tDECISION\n");
    for (size_t i = 0; i < c->count; i++) {
        if (!model_change_differs(c, i)) continue;
        text_visible(t, c->at[i].id);
        text_putc(t, '\t');
        text_visible(t, c->at[i].identity);
        for (int k = 0; k < 2; k++) put_nearest(t, c, &c->side[k], i);
        text_putc(t, '\n');
    }
}

/* --- for programs ------------------------------------------------------------------------------------------------- */

static void json_real(text *t, const char *name, double value) {
    text_printf(t, isnan(value) ? ", \"%s\": null" : ", \"%s\": %.9g", name, value);
}

static void json_calibration(text *t, const change_side *s, double fmr) {
    const operating_points *p = &s->points;
    text_puts(t, ", \"calibration\": ");
    if (s->why) {
        text_puts(t, "null, \"not_calibrated\": ");
        text_json(t, s->why);
        return;
    }
    text_printf(t, "{\"fmr\": %.9g, \"genuine\": %.0f, \"impostor\": %.0f", fmr, p->genuine, p->impostor);
    json_real(t, "threshold", p->threshold);
    json_real(t, "tmr", p->tmr);
    json_real(t, "eer", p->eer);
    json_real(t, "crossing", p->crossing);
    text_putc(t, '}');
}

static void json_side(text *t, const change_side *s, double fmr) {
    text_puts(t, "{\"fingerprints\": [");
    for (int m = 0; m < s->makers.models; m++) {
        if (m) text_puts(t, ", ");
        text_json(t, s->makers.model[m].fingerprint);
    }
    text_printf(t, "], \"nearest_right\": %zu", s->right);
    json_real(t, "set_threshold", s->makers.threshold);
    json_real(t, "threshold", s->threshold);
    text_printf(t, ", \"match_right\": %zu, \"match_wrong\": %zu", s->taken_right, s->taken_wrong);
    json_calibration(t, s, fmr);
    text_putc(t, '}');
}

static void json_nearest(text *t, const model_change *c, const change_side *s, size_t i) {
    const nearest_template *n = &s->nearest[i];
    if (n->place == SIZE_MAX) {
        text_puts(t, "null");
        return;
    }
    text_puts(t, "{\"identity\": ");
    text_json(t, c->at[n->place].identity);
    text_puts(t, ", \"id\": ");
    text_json(t, c->at[n->place].id);
    text_printf(t, ", \"score\": %.9g, \"decision\": %s}", (double)n->score,
                isnan(s->threshold) ? "null" : model_change_taken(s, i) ? "\"match\"" : "\"unknown\"");
}

void model_change_json(text *t, const model_change_report *r) {
    const model_change *c = r->change;
    const char *comma = "";
    text_printf(t, "{\"templates\": %zu, \"left_out\": %zu, \"identities\": %zu, \"with_another_picture\": %zu",
                c->count, r->left_out, c->identities, c->askable);
    for (int k = 0; k < 2; k++) {
        text_printf(t, ", \"%s\": ", SIDES[k]);
        json_side(t, &c->side[k], r->fmr);
    }
    text_puts(t, ", \"changes\": [");
    for (size_t i = 0; i < c->count; i++) {
        if (!model_change_differs(c, i)) continue;
        text_printf(t, "%s\n  {\"id\": ", comma);
        text_json(t, c->at[i].id);
        text_puts(t, ", \"identity\": ");
        text_json(t, c->at[i].identity);
        for (int k = 0; k < 2; k++) {
            text_printf(t, ", \"%s\": ", SIDES[k]);
            json_nearest(t, c, &c->side[k], i);
        }
        text_putc(t, '}');
        comma = ",";
    }
    text_puts(t, "]}\n");
}
