#include "server/answer.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

static unsigned long long long_of(uint64_t n) { return n; }

void answer_error(text *t, const char *why) {
    text_puts(t, "{\"error\": ");
    text_json(t, why);
    text_puts(t, "}\n");
}

size_t answer_infer(text *t, const service *s, int index, const char *id, const job_result *rows, int binary) {
    size_t count = rows->n * (size_t)rows->dim;
    text_puts(t, "{\"model_name\": ");
    text_json(t, s->model[index].name);
    text_puts(t, ", \"model_version\": \"1\"");
    if (id) text_puts(t, ", \"id\": "), text_json(t, id);
    text_printf(t, ", \"parameters\": {\"fingerprint\": \"%s\"}", s->all.at[index].info.fingerprint);
    text_printf(t, ", \"outputs\": [{\"name\": \"embedding\", \"datatype\": \"FP32\", \"shape\": [%zu, %d], ", rows->n,
                rows->dim);
    if (binary) {
        text_printf(t, "\"parameters\": {\"binary_data_size\": %zu}}]}", count * sizeof *rows->rows);
        size_t json_len = t->len;
        text_add(t, rows->rows, count * sizeof *rows->rows);
        return json_len;
    }
    text_puts(t, "\"data\": [");
    for (size_t i = 0; i < rows->n; i++) {
        if (i) text_putc(t, ',');
        text_floats(t, rows->rows + i * (size_t)rows->dim, rows->dim);
    }
    text_puts(t, "]}]}\n");
    return t->len;
}

void answer_embed(text *t, const service *s, int index, const job_result *rows) {
    text_printf(t, "{\"fingerprint\": \"%s\", \"embeddings\": [", s->all.at[index].info.fingerprint);
    for (size_t i = 0; i < rows->n; i++) {
        text_puts(t, i ? ",\n[" : "[");
        text_floats(t, rows->rows + i * (size_t)rows->dim, rows->dim);
        text_putc(t, ']');
    }
    text_puts(t, "]}\n");
}

size_t answer_embed_floats(text *t, const service *s, int index, const job_result *rows) {
    text_printf(t, "{\"fingerprint\": \"%s\", \"shape\": [%zu, %d]}", s->all.at[index].info.fingerprint, rows->n,
                rows->dim);
    size_t json_len = t->len;
    text_add(t, rows->rows, rows->n * (size_t)rows->dim * sizeof *rows->rows);
    return json_len;
}

int answer_match(text *t, service *s, const job_result *rows, int top, text *why) {
    size_t most = (size_t)top < s->g.identities ? (size_t)top : s->g.identities;
    reid_hit *hits = mem_array(most, sizeof *hits);
    float *scratch = mem_array((size_t)rows->dim, sizeof *scratch);
    int found = hits && scratch ? 0 : -1;
    if (found < 0) text_no_memory(why);
    text_puts(t, "{\"fingerprint");
    text_puts(t, s->all.count > 1 ? "s\": [" : "\": ");
    for (int i = 0; i < s->all.count; i++) text_printf(t, "%s\"%s\"", i ? ", " : "", s->all.at[i].info.fingerprint);
    text_puts(t, s->all.count > 1 ? "], \"queries\": [" : ", \"queries\": [");
    for (size_t i = 0; i < rows->n && found >= 0; i++) {
        found = ask_rank(&s->asked, rows->rows + i * (size_t)rows->dim, (int)most, NULL, NULL, scratch, hits, why);
        if (found < 0) break;
        text_printf(t, "%s{\"query\": %zu", i ? ",\n" : "", i);
        ask_json(&s->asked, hits, found, t);
        text_putc(t, '}');
        __atomic_add_fetch(&s->counts.matched, 1, __ATOMIC_RELAXED);
    }
    text_puts(t, "]}\n");
    free(hits);
    free(scratch);
    return found >= 0;
}

void answer_server(text *t) {
    text_printf(t,
                "{\"name\": \"reid\", \"version\": \"%s\", \"extensions\": [\"binary_tensor_data\", "
                "\"model_configuration\", \"schedule_policy\", \"statistics\"]}\n",
                reid_version_string());
}

void answer_model(text *t, const service *s, int index) {
    const reid_info *info = &s->all.at[index].info;
    text_puts(t, "{\"name\": ");
    text_json(t, s->model[index].name);
    text_printf(t,
                ", \"versions\": [\"1\"], \"platform\": \"reid\", \"inputs\": ["
                "{\"name\": \"image\", \"datatype\": \"BYTES\", \"shape\": [-1]}, "
                "{\"name\": \"pixels\", \"datatype\": \"UINT8\", \"shape\": [-1, -1, -1, 3]}], \"outputs\": ["
                "{\"name\": \"embedding\", \"datatype\": \"FP32\", \"shape\": [-1, %d]}], "
                "\"parameters\": {\"fingerprint\": \"%s\", \"network\": \"%s\", \"preset\": \"%s\", "
                "\"precision\": \"%s\", \"device\": \"%s\"}}\n",
                info->dim, info->fingerprint, info->network, info->preset, info->precision, info->device);
}

/* Both inputs are optional, because exactly one is given. */
void answer_config(text *t, const service *s, int index) {
    const reid_info *info = &s->all.at[index].info;
    text_puts(t, "{\"name\": ");
    text_json(t, s->model[index].name);
    text_printf(t,
                ", \"platform\": \"reid\", \"backend\": \"reid\", \"max_batch_size\": 0, \"input\": ["
                "{\"name\": \"image\", \"data_type\": \"TYPE_STRING\", \"dims\": [-1], \"optional\": true}, "
                "{\"name\": \"pixels\", \"data_type\": \"TYPE_UINT8\", \"dims\": [-1, -1, -1, 3], "
                "\"optional\": true}], \"output\": ["
                "{\"name\": \"embedding\", \"data_type\": \"TYPE_FP32\", \"dims\": [-1, %d]}], "
                "\"parameters\": {\"fingerprint\": {\"string_value\": \"%s\"}}}\n",
                info->dim, info->fingerprint);
}

static void add_duration(text *t, const char *name, uint64_t count, uint64_t ns, const char *behind) {
    text_printf(t, "\"%s\": {\"count\": %llu, \"ns\": %llu}%s", name, long_of(count), long_of(ns), behind);
}

/* Counts are of images where the protocol has inferences, and of requests where it has successes. */
static void add_stats(text *t, const service *s, int index) {
    reid_queue_stats q;
    reid_queue_query(s->model[index].queue, &q);
    text_puts(t, "{\"name\": ");
    text_json(t, s->model[index].name);
    text_printf(t,
                ", \"version\": \"1\", \"last_inference\": %lld, \"inference_count\": %llu, \"execution_count\": %llu, "
                "\"inference_stats\": {",
                __atomic_load_n(&s->model[index].last, __ATOMIC_RELAXED), long_of(q.images), long_of(q.batches));
    add_duration(t, "success", q.requests, q.latency_ns, ", ");
    add_duration(t, "fail", q.expired + q.cancelled + q.stopped + q.failed + q.full + q.late, 0, ", ");
    add_duration(t, "queue", q.computed, q.queue_ns, ", ");
    add_duration(t, "compute_input", q.batches, 0, ", ");
    add_duration(t, "compute_infer", q.batches, q.compute_ns, ", ");
    add_duration(t, "compute_output", q.batches, 0, ", ");
    add_duration(t, "cache_hit", 0, 0, ", ");
    add_duration(t, "cache_miss", 0, 0, "}, \"batch_stats\": []}");
}

void answer_stats(text *t, const service *s, int index) {
    text_puts(t, "{\"model_stats\": [");
    for (int i = 0; i < s->all.count; i++) {
        if (index >= 0 && i != index) continue;
        if (index < 0 && i) text_puts(t, ", ");
        add_stats(t, s, i);
    }
    text_puts(t, "]}\n");
}

void answer_help(text *t, const service *s) {
    text_printf(t, "reid %s\n\n", reid_version_string());
    text_puts(t, "POST /embed?box=x,y,w,h     an image as the body: its embedding, or one for each box\nPOST "
                 "/match                the same: who is it?\nPOST /v2/models/M/infer    the Open Inference Protocol: "
                 "input image or pixels, output embedding\nGET  /v2, /v2/health/live, /v2/health/ready, "
                 "/v2/models/M[/ready|/config|/stats], /v2/models/stats\nGET  /metrics              for "
                 "Prometheus\n\nM is one of:\n");
    for (int i = 0; i < s->all.count; i++) {
        const reid_info *info = &s->all.at[i].info;
        text_puts(t, "  ");
        text_visible(t, s->model[i].name);
        text_printf(t, "  %s, %s, %d floats, %s %s, fingerprint %s\n", info->network, info->preset, info->dim,
                    info->device, info->precision, info->fingerprint);
    }
    text_puts(t, s->has_gallery ? "There is a gallery.\n" : "There is no gallery.\n");
}
