#include "server/answer.h"

#include "base/json_write.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

void answer_error(text *t, const char *why) {
    json_writer w = json_write(t);
    json_put_object(&w, NULL);
    json_put_string(&w, "error", why);
    json_put_finish(&w);
}

void answer_state(text *t, const char *what, int is) {
    json_writer w = json_write(t);
    json_put_object(&w, NULL);
    json_put_bool(&w, what, is);
    json_put_finish(&w);
}

void answer_model_state(text *t, const char *name, int ready) {
    json_writer w = json_write(t);
    json_put_object(&w, NULL);
    json_put_string(&w, "name", name);
    json_put_bool(&w, "ready", ready);
    json_put_finish(&w);
}

static void put_fingerprint(json_writer *w, const service *s, int index) {
    json_put_object(w, "parameters");
    json_put_string(w, "fingerprint", s->model[index]->info->fingerprint);
    json_put_end(w);
}

static void put_shape(json_writer *w, const job_result *rows) {
    json_put_array(w, "shape");
    json_put_count(w, NULL, rows->n);
    json_put_int(w, NULL, rows->dim);
    json_put_end(w);
}

size_t answer_infer(text *t, const service *s, int index, const char *id, const job_result *rows, int binary) {
    size_t count = rows->n * (size_t)rows->dim;
    json_writer w = json_write(t);
    json_put_object(&w, NULL);
    json_put_string(&w, "model_name", s->names[index]);
    json_put_string(&w, "model_version", "1");
    if (id) json_put_string(&w, "id", id);
    put_fingerprint(&w, s, index);
    json_put_array(&w, "outputs");
    json_put_object(&w, NULL);
    json_put_string(&w, "name", "embedding");
    json_put_string(&w, "datatype", "FP32");
    put_shape(&w, rows);
    if (binary) {
        json_put_object(&w, "parameters");
        json_put_count(&w, "binary_data_size", count * sizeof *rows->rows);
        json_put_end(&w);
    } else {
        json_put_floats(&w, "data", rows->rows, count);
    }
    while (w.depth) json_put_end(&w);
    size_t json_len = t->len;
    if (binary) text_add(t, rows->rows, count * sizeof *rows->rows);
    else text_putc(t, '\n');
    return binary ? json_len : t->len;
}

void answer_embed(text *t, const service *s, int index, const job_result *rows) {
    json_writer w = json_write(t);
    json_put_object(&w, NULL);
    json_put_string(&w, "fingerprint", s->model[index]->info->fingerprint);
    json_put_array(&w, "embeddings");
    for (size_t i = 0; i < rows->n; i++) {
        if (i) json_put_line(&w, 0);
        json_put_floats(&w, NULL, rows->rows + i * (size_t)rows->dim, (size_t)rows->dim);
    }
    json_put_finish(&w);
}

size_t answer_embed_floats(text *t, const service *s, int index, const job_result *rows) {
    json_writer w = json_write(t);
    json_put_object(&w, NULL);
    json_put_string(&w, "fingerprint", s->model[index]->info->fingerprint);
    put_shape(&w, rows);
    json_put_end(&w);
    size_t json_len = t->len;
    text_add(t, rows->rows, rows->n * (size_t)rows->dim * sizeof *rows->rows);
    return json_len;
}

/* Writes "fingerprint" of one model or "fingerprints" of several. */
static void put_fingerprints(json_writer *w, const service *s) {
    int several = s->count > 1;
    if (several) json_put_array(w, "fingerprints");
    for (int i = 0; i < s->count; i++)
        json_put_string(w, several ? NULL : "fingerprint", s->model[i]->info->fingerprint);
    if (several) json_put_end(w);
}

int answer_match(text *t, service *s, const job_result *rows, int top, text *why) {
    const ask *asked = &s->shared->asked;
    size_t most = (size_t)top < s->shared->g.identities ? (size_t)top : s->shared->g.identities;
    reid_hit *hits = mem_array(most, sizeof *hits);
    float *scratch = mem_array((size_t)rows->dim, sizeof *scratch);
    int found = hits && scratch ? 0 : -1;
    json_writer w = json_write(t);
    if (found < 0) text_no_memory(why);
    json_put_object(&w, NULL);
    put_fingerprints(&w, s);
    json_put_array(&w, "queries");
    for (size_t i = 0; i < rows->n && found >= 0; i++) {
        found = ask_rank(asked, rows->rows + i * (size_t)rows->dim, (int)most, NULL, NULL, scratch, hits, why);
        if (found < 0) break;
        if (i) json_put_line(&w, 0);
        json_put_object(&w, NULL);
        json_put_count(&w, "query", i);
        ask_json(asked, hits, found, &w);
        json_put_end(&w);
        __atomic_add_fetch(&s->shared->counts.matched, 1, __ATOMIC_RELAXED);
    }
    json_put_finish(&w);
    free(hits);
    free(scratch);
    return found >= 0;
}

void answer_server(text *t) {
    static const char *const extensions[] = {"binary_tensor_data", "model_configuration", "model_repository",
                                             "schedule_policy", "statistics"};
    json_writer w = json_write(t);
    json_put_object(&w, NULL);
    json_put_string(&w, "name", "reid");
    json_put_string(&w, "version", reid_version_string());
    json_put_array(&w, "extensions");
    for (size_t i = 0; i < sizeof extensions / sizeof *extensions; i++) json_put_string(&w, NULL, extensions[i]);
    json_put_finish(&w);
}

/* A tensor of the protocol. */
typedef struct tensor_form {
    const char *name, *type;
    const char *config;        /* the type's name in a configuration; NULL: the same */
    int input, ndim, shape[4]; /* shape: 0 means the embedding's size */
} tensor_form;

static const tensor_form INPUTS[] = {
    {"image", "BYTES", "STRING", 1, 1, {-1}},
    {"pixels", "UINT8", NULL, 1, 4, {-1, -1, -1, 3}},
};
static const tensor_form OUTPUT = {"embedding", "FP32", NULL, 0, 2, {-1, 0}};

/* The names that metadata and configuration use for the same members. */
typedef struct tensor_words {
    const char *type, *prefix, *shape;
} tensor_words;

static void put_tensors(json_writer *w, const char *key, const tensor_words *words, const tensor_form *at, int count,
                        int dim) {
    json_put_array(w, key);
    for (int i = 0; i < count; i++) {
        int is_config = *words->prefix != 0;
        json_put_object(w, NULL);
        json_put_string(w, "name", at[i].name);
        json_put_format(w, words->type, "%s%s", words->prefix, is_config && at[i].config ? at[i].config : at[i].type);
        json_put_array(w, words->shape);
        for (int d = 0; d < at[i].ndim; d++) json_put_int(w, NULL, at[i].shape[d] ? at[i].shape[d] : dim);
        json_put_end(w);
        if (is_config && at[i].input) json_put_bool(w, "optional", 1);
        json_put_end(w);
    }
    json_put_end(w);
}

void answer_model(text *t, const service *s, int index) {
    static const tensor_words words = {"datatype", "", "shape"};
    const reid_info *info = s->model[index]->info;
    json_writer w = json_write(t);
    json_put_object(&w, NULL);
    json_put_string(&w, "name", s->names[index]);
    json_put_array(&w, "versions");
    json_put_string(&w, NULL, "1");
    json_put_end(&w);
    json_put_string(&w, "platform", "reid");
    put_tensors(&w, "inputs", &words, INPUTS, 2, 0);
    put_tensors(&w, "outputs", &words, &OUTPUT, 1, info->dim);
    json_put_object(&w, "parameters");
    json_put_string(&w, "fingerprint", info->fingerprint);
    json_put_string(&w, "network", info->network);
    json_put_string(&w, "preset", info->preset);
    json_put_string(&w, "precision", info->precision);
    json_put_string(&w, "device", info->device);
    json_put_finish(&w);
}

/* Both inputs are optional, because exactly one is given. */
void answer_config(text *t, const service *s, int index) {
    static const tensor_words words = {"data_type", "TYPE_", "dims"};
    const reid_info *info = s->model[index]->info;
    json_writer w = json_write(t);
    json_put_object(&w, NULL);
    json_put_string(&w, "name", s->names[index]);
    json_put_string(&w, "platform", "reid");
    json_put_string(&w, "backend", "reid");
    json_put_int(&w, "max_batch_size", 0);
    put_tensors(&w, "input", &words, INPUTS, 2, 0);
    put_tensors(&w, "output", &words, &OUTPUT, 1, info->dim);
    json_put_object(&w, "parameters");
    json_put_object(&w, "fingerprint");
    json_put_string(&w, "string_value", info->fingerprint);
    json_put_finish(&w);
}

static void add_duration(json_writer *w, const char *name, uint64_t count, uint64_t ns) {
    json_put_object(w, name);
    json_put_count(w, "count", count);
    json_put_count(w, "ns", ns);
    json_put_end(w);
}

/* Where the protocol counts inferences, this counts images; where it counts successes, this counts requests. */
static void add_stats(json_writer *w, const service *s, int index) {
    const service_model *m = s->model[index];
    reid_queue_stats q = {.requests = 0};
    if (m) reid_queue_query(m->queue, &q);
    json_put_object(w, NULL);
    json_put_string(w, "name", s->names[index]);
    json_put_string(w, "version", "1");
    json_put_int(w, "last_inference", m ? __atomic_load_n(&m->last, __ATOMIC_RELAXED) : 0);
    json_put_count(w, "inference_count", q.images);
    json_put_count(w, "execution_count", q.batches);
    json_put_object(w, "inference_stats");
    add_duration(w, "success", q.requests, q.latency_ns);
    add_duration(w, "fail", q.expired + q.cancelled + q.stopped + q.failed + q.full + q.late, 0);
    add_duration(w, "queue", q.computed, q.queue_ns);
    add_duration(w, "compute_input", q.batches, 0);
    add_duration(w, "compute_infer", q.batches, q.compute_ns);
    add_duration(w, "compute_output", q.batches, 0);
    add_duration(w, "cache_hit", 0, 0);
    add_duration(w, "cache_miss", 0, 0);
    json_put_end(w);
    json_put_array(w, "batch_stats");
    json_put_end(w);
    json_put_end(w);
}

void answer_stats(text *t, const service *s, int index) {
    json_writer w = json_write(t);
    json_put_object(&w, NULL);
    json_put_array(&w, "model_stats");
    for (int i = 0; i < s->count; i++)
        if (index < 0 || i == index) add_stats(&w, s, i);
    json_put_finish(&w);
}
