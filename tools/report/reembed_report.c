#include "report/reembed_report.h"

#include "base/json_write.h"

#include <math.h>

enum { FAILURES_SHOWN = 10 }; /* of each embedder, in the text */

static const char *const ROLES[] = {"now", "before", "other"};

/* --- words -------------------------------------------------------------------------------------------------------- */

static int failure_line(void *user, const char *id, const char *why) {
    text *t = user;
    text_puts(t, "        ");
    text_visible(t, id);
    text_puts(t, ": ");
    text_visible(t, why);
    text_putc(t, '\n');
    return 1;
}

static int embedder_lines(embedder_list *l, const embedder *e, text *t) {
    char name[2 * 33];
    embedder_name(e, name);
    text_printf(t, "%-6s  %s (", ROLES[e->role], name);
    for (int m = 0; m < e->makers.models; m++) {
        if (m) text_puts(t, " + ");
        text_visible(t, e->makers.model[m].network);
    }
    text_printf(t, "): %zu row%s, %zu missing", e->rows, plural(e->rows), e->missing);
    if (e->failed) text_printf(t, ", %zu of them failed", e->failed);
    if (e->claimed) text_printf(t, ", %zu claimed", e->claimed);
    if (isnan(e->makers.threshold)) text_puts(t, "; no threshold\n");
    else text_printf(t, "; threshold %.9g\n", e->makers.threshold);
    if (*e->makers.jpeg) text_printf(t, "        JPEG files decoded by %s\n", e->makers.jpeg);
    int good = !e->failed || embedders_failures(l, e, FAILURES_SHOWN, failure_line, t);
    if (e->failed > FAILURES_SHOWN)
        text_printf(t, "        and %zu more; --json lists all\n", e->failed - FAILURES_SHOWN);
    return good;
}

int reembed_status_lines(embedder_list *l, text *t) {
    text_printf(t, "%zu template%s\n", l->templates, plural(l->templates));
    for (size_t i = 0; i < l->count; i++)
        if (!embedder_lines(l, &l->at[i], t)) return 0;
    for (size_t i = 0; i < l->workers; i++) {
        const embedder_worker *w = &l->worker[i];
        text_puts(t, "worker  ");
        text_visible(t, w->name);
        text_printf(t, ": %zu embedded, %zu failed, seen %.0f s ago%s\n", w->made, w->failed, w->silent,
                    w->silent > w->lease ? ", dead" : "");
    }
    return 1;
}

void reembed_done_line(const reembed_counts *c, size_t made, size_t failed, text *t) {
    text_printf(t, "embedded %zu, failed %zu; templates with a row of these models: %zu of %zu\n", made, failed,
                c->templates - c->missing, c->templates);
}

void reembed_change_line(const char *what, const char *name, text *t) { text_printf(t, "%s %s\n", what, name); }

/* --- JSON --------------------------------------------------------------------------------------------------------- */

static int failure_json(void *user, const char *id, const char *why) {
    json_writer *w = user;
    json_put_object(w, NULL);
    json_put_string(w, "id", id);
    json_put_string(w, "why", why);
    json_put_end(w);
    return 1;
}

static int embedder_json(embedder_list *l, const embedder *e, json_writer *w) {
    json_put_object(w, NULL);
    json_put_string(w, "role", ROLES[e->role]);
    json_put_array(w, "fingerprints");
    for (int m = 0; m < e->makers.models; m++) json_put_string(w, NULL, e->makers.model[m].fingerprint);
    json_put_end(w);
    json_put_count(w, "rows", e->rows);
    json_put_count(w, "missing", e->missing);
    json_put_count(w, "failed", e->failed);
    json_put_count(w, "claimed", e->claimed);
    json_put_number(w, "threshold", e->makers.threshold, 9);
    json_put_string(w, "jpeg", *e->makers.jpeg ? e->makers.jpeg : NULL);
    json_put_array(w, "failures");
    int good = embedders_failures(l, e, e->failed, failure_json, w);
    json_put_end(w);
    json_put_end(w);
    return good;
}

int reembed_status_json(embedder_list *l, text *t) {
    json_writer w = json_write(t);
    json_put_object(&w, NULL);
    json_put_count(&w, "templates", l->templates);
    json_put_array(&w, "embedders");
    for (size_t i = 0; i < l->count; i++) {
        if (i) json_put_line(&w, 2);
        if (!embedder_json(l, &l->at[i], &w)) return 0;
    }
    json_put_end(&w);
    json_put_line(&w, 2);
    json_put_array(&w, "workers");
    for (size_t i = 0; i < l->workers; i++) {
        const embedder_worker *one = &l->worker[i];
        json_put_object(&w, NULL);
        json_put_string(&w, "name", one->name);
        json_put_count(&w, "embedded", one->made);
        json_put_count(&w, "failed", one->failed);
        json_put_fixed(&w, "silent", one->silent, 3);
        json_put_fixed(&w, "lease", one->lease, 3);
        json_put_end(&w);
    }
    json_put_finish(&w);
    return 1;
}

void reembed_done_json(const reembed_counts *c, size_t made, size_t failed, text *t) {
    json_writer w = json_write(t);
    json_put_object(&w, NULL);
    json_put_count(&w, "embedded", made);
    json_put_count(&w, "failed", failed);
    json_put_count(&w, "templates", c->templates);
    json_put_count(&w, "rows", c->templates - c->missing);
    json_put_count(&w, "missing", c->missing);
    json_put_finish(&w);
}

void reembed_change_json(const char *what, const char *name, text *t) {
    json_writer w = json_write(t);
    json_put_object(&w, NULL);
    json_put_string(&w, what, name);
    json_put_finish(&w);
}
