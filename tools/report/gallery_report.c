#include "report/gallery_report.h"

#include "base/json_write.h"
#include "base/when.h"

#include <math.h>
#include <string.h>

/* --- templates ---------------------------------------------------------------------------------------------------- */

void gallery_item_line(const store_item *item, text *t) {
    text_visible(t, item->id);
    text_putc(t, '\t');
    text_visible(t, item->identity);
    text_putc(t, '\t');
    text_visible(t, item->camera);
    text_putc(t, '\t');
    if (item->time != STORE_NO_TIME) when_text(t, item->time);
    text_putc(t, '\n');
}

void gallery_item_json(const store_item *item, text *t) {
    json_writer w = json_write(t);
    json_put_object(&w, NULL);
    json_put_string(&w, "id", item->id);
    json_put_string(&w, "identity", item->identity);
    json_put_string(&w, "camera", *item->camera ? item->camera : NULL);
    if (item->time == STORE_NO_TIME) {
        json_put_null(&w, "time");
    } else {
        text_putc(json_put_value(&w, "time"), '"');
        when_text(t, item->time);
        text_putc(t, '"');
    }
    json_put_string(&w, "source", *item->source ? item->source : NULL);
    json_put_finish(&w);
}

void gallery_identity_line(const char *name, size_t count, text *t) {
    text_visible(t, name);
    text_printf(t, "\t%zu\n", count);
}

void gallery_identity_json(const char *name, size_t count, text *t) {
    json_writer w = json_write(t);
    json_put_object(&w, NULL);
    json_put_string(&w, "identity", name);
    json_put_count(&w, "templates", count);
    json_put_finish(&w);
}

void gallery_removed_line(size_t removed, text *t) { text_printf(t, "removed %zu\n", removed); }

void gallery_removed_json(size_t removed, text *t) {
    json_writer w = json_write(t);
    json_put_object(&w, NULL);
    json_put_count(&w, "removed", removed);
    json_put_finish(&w);
}

/* --- verify and compact ------------------------------------------------------------------------------------------- */

void gallery_check_lines(const gallery_check *c, text *t) {
    const store_report *r = c->report;
    const store_meta *meta = c->meta;
    text_join(t, c->damage);
    text_printf(t, "%zu record%s, %zu damaged, %zu template%s, %llu bytes", r->records, plural(r->records), r->damaged,
                r->templates, plural(r->templates), (unsigned long long)r->bytes);
    if (r->unused) text_printf(t, ", %llu of them left unused by an interrupted writer", (unsigned long long)r->unused);
    for (int i = 0; i < meta->models; i++) {
        const store_model *m = &meta->model[i];
        text_printf(t, "\nmade by ");
        text_visible(t, m->fingerprint);
        text_puts(t, " (");
        text_visible(t, m->network);
        text_puts(t, ", ");
        text_visible(t, m->preset);
        text_printf(t, "), %d float%s", m->dim, plural((size_t)m->dim));
    }
    text_printf(t, "\nstored as %s", meta->halves ? "fp16" : "fp32");
    if (!isnan(meta->threshold)) text_printf(t, ", threshold %.9g", meta->threshold);
    if (*meta->jpeg) text_printf(t, "\nJPEG files decoded by %s", meta->jpeg);
    if (strchr(meta->jpeg, ',')) text_puts(t, ", so scores among its templates shift slightly");
    if (is_database_url(c->place)) text_printf(t, "\ntables of version %d", r->version);
    text_putc(t, '\n');
}

static void put_lines(json_writer *w, const char *key, const text *lines) {
    json_put_array(w, key);
    if (text_failed(lines)) text_no_memory(w->out);
    for (const char *at = lines->s; at && *at;) {
        size_t n = strcspn(at, "\n");
        json_put_format(w, NULL, "%.*s", (int)n, at);
        at += n + 1;
    }
    json_put_end(w);
}

void gallery_check_json(const gallery_check *c, text *t) {
    const store_report *r = c->report;
    const store_meta *meta = c->meta;
    json_writer w = json_write(t);
    json_put_object(&w, NULL);
    json_put_count(&w, "records", r->records);
    json_put_count(&w, "damaged", r->damaged);
    json_put_count(&w, "templates", r->templates);
    json_put_count(&w, "bytes", r->bytes);
    json_put_count(&w, "unused", r->unused);
    json_put_int(&w, "version", r->version);
    json_put_int(&w, "dim", meta->dim);
    json_put_string(&w, "precision", meta->halves ? "fp16" : "fp32");
    json_put_array(&w, "fingerprints");
    for (int i = 0; i < meta->models; i++) json_put_string(&w, NULL, meta->model[i].fingerprint);
    json_put_end(&w);
    json_put_string(&w, "jpeg", *meta->jpeg ? meta->jpeg : NULL);
    json_put_number(&w, "threshold", meta->threshold, 9);
    put_lines(&w, "damage", c->damage);
    json_put_finish(&w);
}

void gallery_compacted_line(const compacted *done, text *t) {
    text_printf(t, "%zu template%s; %llu bytes before, %llu now\n", done->templates, plural(done->templates),
                (unsigned long long)done->bytes_before, (unsigned long long)done->bytes);
}

void gallery_compacted_json(const compacted *done, text *t) {
    json_writer w = json_write(t);
    json_put_object(&w, NULL);
    json_put_count(&w, "templates", done->templates);
    json_put_count(&w, "bytes_before", done->bytes_before);
    json_put_count(&w, "bytes", done->bytes);
    json_put_finish(&w);
}

/* --- push and pull ------------------------------------------------------------------------------------------------ */

static double rate(size_t rows, double seconds) { return seconds > 0 ? (double)rows / seconds : 0; }

void gallery_push_line(const push_report *r, text *t) {
    text_printf(t, "pushed %zu", r->pushed);
    if (r->equal) text_printf(t, "; already there: %zu", r->equal);
    if (r->refused) text_printf(t, "; refused: %zu", r->refused);
    text_printf(t, ", in %.1f s (%.0f rows/s)", r->seconds, rate(r->pushed + r->equal, r->seconds));
    if (r->index_seconds > 0) text_printf(t, "; the index took %.1f s", r->index_seconds);
    text_putc(t, '\n');
}

void gallery_push_json(const push_report *r, text *t) {
    json_writer w = json_write(t);
    json_put_object(&w, NULL);
    json_put_count(&w, "pushed", r->pushed);
    json_put_count(&w, "equal", r->equal);
    json_put_count(&w, "refused", r->refused);
    json_put_bool(&w, "created", r->created);
    json_put_fixed(&w, "seconds", r->seconds, 3);
    json_put_fixed(&w, "rows_per_second", rate(r->pushed + r->equal, r->seconds), 0);
    json_put_fixed(&w, "index_seconds", r->index_seconds, 3);
    json_put_finish(&w);
}

void gallery_pull_line(size_t pulled, double seconds, text *t) {
    text_printf(t, "pulled %zu, in %.1f s (%.0f rows/s)\n", pulled, seconds, rate(pulled, seconds));
}

void gallery_pull_json(size_t pulled, double seconds, text *t) {
    json_writer w = json_write(t);
    json_put_object(&w, NULL);
    json_put_count(&w, "pulled", pulled);
    json_put_fixed(&w, "seconds", seconds, 3);
    json_put_fixed(&w, "rows_per_second", rate(pulled, seconds), 0);
    json_put_finish(&w);
}
