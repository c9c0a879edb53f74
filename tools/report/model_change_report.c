#include "report/model_change_report.h"

#include "base/json_write.h"

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
    text_puts(t, "nearest has its identity            ");
    put_share(t, a->right, c->askable), put_share(t, b->right, c->askable);
    text_printf(t, "  of %zu with another image", c->askable);
    text_puts(t, "\nthreshold                           ");
    put_real(t, "  %10.6f", a->threshold), put_real(t, "  %8.6f", b->threshold);
    text_puts(t, isnan(b->makers.threshold) ? "  next: from the calibration" : "  as set");
    text_puts(t, "\nnearest reaches it, right identity  ");
    put_share(t, a->taken_right, c->count), put_share(t, b->taken_right, c->count);
    text_puts(t, "\nnearest reaches it, wrong identity  ");
    put_share(t, a->taken_wrong, c->count), put_share(t, b->taken_wrong, c->count);
    text_printf(t, "\n\ncalibration for a false-match rate of %g\n", r->fmr);
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
    text_printf(t, "%zu template%s of %zu identit%s", c->count, plural(c->count), c->identities,
                c->identities == 1 ? "y" : "ies");
    if (r->left_out) text_printf(t, "; left out: %zu without rows of both models", r->left_out);
    text_putc(t, '\n');
    put_figures(t, r);
    text_printf(t, "\nanswers that change: %zu of %zu\n", changes, c->count);
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

static void json_calibration(json_writer *w, const change_side *s, double fmr) {
    const operating_points *p = &s->points;
    if (s->why) {
        json_put_null(w, "calibration");
        json_put_string(w, "not_calibrated", s->why);
        return;
    }
    json_put_object(w, "calibration");
    json_put_number(w, "fmr", fmr, 9);
    json_put_fixed(w, "genuine", p->genuine, 0);
    json_put_fixed(w, "impostor", p->impostor, 0);
    json_put_number(w, "threshold", p->threshold, 9);
    json_put_number(w, "tmr", p->tmr, 9);
    json_put_number(w, "eer", p->eer, 9);
    json_put_number(w, "crossing", p->crossing, 9);
    json_put_end(w);
}

static void json_side(json_writer *w, const char *name, const change_side *s, double fmr) {
    json_put_object(w, name);
    json_put_array(w, "fingerprints");
    for (int m = 0; m < s->makers.models; m++) json_put_string(w, NULL, s->makers.model[m].fingerprint);
    json_put_end(w);
    json_put_count(w, "nearest_right", s->right);
    json_put_number(w, "set_threshold", s->makers.threshold, 9);
    json_put_number(w, "threshold", s->threshold, 9);
    json_put_count(w, "match_right", s->taken_right);
    json_put_count(w, "match_wrong", s->taken_wrong);
    json_calibration(w, s, fmr);
    json_put_end(w);
}

static void json_nearest(json_writer *w, const char *name, const model_change *c, const change_side *s, size_t i) {
    const nearest_template *n = &s->nearest[i];
    if (n->place == SIZE_MAX) {
        json_put_null(w, name);
        return;
    }
    json_put_object(w, name);
    json_put_string(w, "identity", c->at[n->place].identity);
    json_put_string(w, "id", c->at[n->place].id);
    json_put_number(w, "score", (double)n->score, 9);
    json_put_string(w, "decision", isnan(s->threshold) ? NULL : model_change_taken(s, i) ? "match" : "unknown");
    json_put_end(w);
}

void model_change_json(text *t, const model_change_report *r) {
    const model_change *c = r->change;
    json_writer w = json_write(t);
    json_put_object(&w, NULL);
    json_put_count(&w, "templates", c->count);
    json_put_count(&w, "left_out", r->left_out);
    json_put_count(&w, "identities", c->identities);
    json_put_count(&w, "with_another_picture", c->askable);
    for (int k = 0; k < 2; k++) json_side(&w, SIDES[k], &c->side[k], r->fmr);
    json_put_array(&w, "changes");
    for (size_t i = 0; i < c->count; i++) {
        if (!model_change_differs(c, i)) continue;
        json_put_line(&w, 2);
        json_put_object(&w, NULL);
        json_put_string(&w, "id", c->at[i].id);
        json_put_string(&w, "identity", c->at[i].identity);
        for (int k = 0; k < 2; k++) json_nearest(&w, SIDES[k], c, &c->side[k], i);
        json_put_end(&w);
    }
    json_put_finish(&w);
}
