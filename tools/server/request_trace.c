#include "server/request_trace.h"

#include "base/json_write.h"

static void put_word(json_writer *w, const char *key, const char *value) {
    if (value && *value) json_put_string(w, key, value);
}

static void describe(text *args, const access_entry *e) {
    json_writer w = json_write_inside(args, '{', 0);
    put_word(&w, "id", e->id);
    put_word(&w, "trace", e->trace);
    put_word(&w, "client", e->client);
    put_word(&w, "model", e->models[0]);
    json_put_count(&w, "status", e->status);
    if (e->images >= 0) json_put_int(&w, "images", e->images);
    if (e->batch >= 0) json_put_number(&w, "batch", e->batch, 4);
}

void request_trace_add(trace *t, const access_entry *e, size_t number, double ended) {
    static const char kind[] = "request";
    const double began = ended - e->seconds, computing = e->computed - e->compute;
    text name = TEXT_INIT, args = TEXT_INIT;
    if (!t) return;
    text_printf(&name, "%s %.*s", e->method ? e->method : "-", (int)(e->path_len < 64 ? e->path_len : 64),
                e->path ? e->path : "");
    describe(&args, e);
    trace_stage(t, 'b', kind, number, name.s, began, &args);
    if (e->queue >= 0) {
        trace_stage(t, 'b', kind, number, "wait for a batch", computing - e->queue, NULL);
        trace_stage(t, 'e', kind, number, "wait for a batch", computing, NULL);
        trace_stage(t, 'b', kind, number, "compute", computing, NULL);
        trace_stage(t, 'e', kind, number, "compute", e->computed, NULL);
    }
    trace_stage(t, 'e', kind, number, name.s, ended, NULL);
    text_free(&name);
    text_free(&args);
}
