#include "embedding/output_meta.h"

#include "base/json_write.h"
#include "base/random.h"
#include "base/when.h"
#include "pictures/box_text.h"

#include <math.h>
#include <string.h>

const char *const ROW_FACT_NAMES[ROW_FACTS] = {"identities", "cameras", "times", "sources", "tracks", "scores",
                                               "boxes"};

/* Hashes every field of every input, strings with their final 0, to distinguish lists. Not cryptographic. */
static uint64_t hash_inputs(const inputs *list, size_t first, size_t end) {
    uint64_t hash = HASH_START;
    for (size_t i = first; i < end; i++) {
        const input *in = &list->at[i];
        unsigned char unit = (unsigned char)in->unit;
        hash = hash_bytes(hash, in->path, strlen(in->path) + 1);
        hash = hash_bytes(hash, in->id, strlen(in->id) + 1);
        hash = hash_bytes(hash, in->identity, strlen(in->identity) + 1);
        if (in->camera) hash = hash_bytes(hash, in->camera, strlen(in->camera) + 1);
        hash = hash_bytes(hash, &unit, 1);
        hash = hash_bytes(hash, in->box, sizeof in->box);
    }
    return hash;
}

void output_slice(size_t count, int shard, int shards, size_t *first, size_t *end) {
    size_t i = shards ? (size_t)shard : 1, n = shards ? (size_t)shards : 1;
    *first = count / n * (i - 1) + count % n * (i - 1) / n;
    *end = count / n * i + count % n * i / n;
}

void output_facts_begin(output_facts *f, const models *all, const inputs *list, size_t first, size_t end) {
    memset(f, 0, sizeof *f);
    f->all = all;
    f->list = list;
    f->first = first;
    f->end = end;
    f->listed = list->count;
    f->hash = hash_inputs(list, 0, list->count);
}

void output_facts_add(output_facts *f, row_fact which, const char *value) {
    json_writer w = json_write_inside(&f->column[which], '[', f->count[which]++ > 0);
    json_put_line(&w, 4);
    if (which < ROW_FACT_NUMBERS) json_put_string(&w, NULL, value);
    else if (*value) text_puts(json_put_value(&w, NULL), value);
    else json_put_null(&w, NULL);
    f->known[which] += *value != 0;
}

/* Rows before the first one of which the fact is known have no value yet. */
static void complete_column(output_facts *f, row_fact which) {
    while (f->count[which] < f->rows) output_facts_add(f, which, "");
}

static void add_fact(output_facts *f, row_fact which, const text *value) {
    if (text_failed(value)) text_no_memory(&f->column[which]);
    if (!value->len && !f->known[which]) return;
    complete_column(f, which);
    output_facts_add(f, which, value->len ? value->s : "");
}

/* The time of the camera's clock, without a zone, because it has none. */
static void time_text(const input *in, text *out) {
    if (in->dated) when_text(out, in->when);
    if (out->len && out->s[out->len - 1] == 'Z') out->s[--out->len] = 0;
}

static void source_text(const input *in, text *out) {
    if (in->source) text_puts(out, in->source);
    else if (in->unit != BOX_NONE) box_text(out, in);
}

void output_facts_row(output_facts *f, const input *in) {
    text_id_line(&f->ids, in->id);
    output_facts_add(f, FACT_IDENTITY, in->identity);
    text value = TEXT_INIT;
    if (in->camera) text_puts(&value, in->camera);
    add_fact(f, FACT_CAMERA, &value);
    text_clear(&value), time_text(in, &value), add_fact(f, FACT_TIME, &value);
    text_clear(&value), source_text(in, &value), add_fact(f, FACT_SOURCE, &value);
    text_clear(&value);
    if (in->track) text_puts(&value, in->track);
    add_fact(f, FACT_TRACK, &value);
    text_clear(&value);
    if (!isnan(in->score)) text_printf(&value, "%.9g", in->score);
    add_fact(f, FACT_SCORE, &value);
    text_clear(&value);
    if (in->boxes) text_printf(&value, "%zu", in->boxes);
    add_fact(f, FACT_BOXES, &value);
    text_free(&value);
    f->rows++;
}

void output_facts_join(output_facts *f, const output_facts *from) {
    if (f->failed && from->failed) text_putc(&f->failures, ',');
    text_join(&f->failures, &from->failures);
    for (row_fact k = 0; k < ROW_FACTS; k++) {
        if (from->known[k]) complete_column(f, k);
        if (f->count[k] && from->count[k]) text_putc(&f->column[k], ',');
        text_join(&f->column[k], &from->column[k]);
        f->known[k] += from->known[k], f->count[k] += from->count[k];
    }
    f->rows += from->rows;
    f->failed += from->failed;
    for (row_fact k = 0; k < ROW_FACTS; k++)
        if (f->known[k]) complete_column(f, k);
}

void output_facts_failure(output_facts *f, const char *id, const char *why) {
    json_writer w = json_write_inside(&f->failures, '[', f->failed++ > 0);
    json_put_line(&w, 4);
    json_put_object(&w, NULL);
    json_put_string(&w, "path", id);
    json_put_string(&w, "reason", why);
    json_put_end(&w);
}

void output_facts_free(output_facts *f) {
    text_free(&f->ids);
    text_free(&f->failures);
    for (int k = 0; k < ROW_FACTS; k++) text_free(&f->column[k]);
}

int output_facts_whole(const output_facts *f) {
    int whole = !text_failed(&f->ids) && !text_failed(&f->failures);
    for (int k = 0; k < ROW_FACTS; k++) whole = whole && !text_failed(&f->column[k]);
    return whole;
}

void output_meta_key(const output_facts *f, const output_request *o, text *line) {
    json_writer w = json_write(line);
    json_put_object(&w, NULL);
    json_put_int(&w, "reid_part", 1);
    json_put_string(&w, "version", reid_version_string());
    json_put_count(&w, "inputs", f->end - f->first);
    json_put_format(&w, "hash", "%016llx", (unsigned long long)hash_inputs(f->list, f->first, f->end));
    json_put_format(&w, "shard", "%d/%d", o->shard, o->shards);
    json_put_int(&w, "strict", o->strict != 0);
    json_put_int(&w, "max_pixels", o->max_pixels);
    json_put_string(&w, "jpeg", o->jpeg ? o->jpeg : "");
    json_put_array(&w, "models");
    for (int i = 0; i < f->all->count; i++) {
        const reid_info *info = &f->all->at[i].info;
        json_put_format(&w, NULL, "%s %s %s %s", info->fingerprint, info->precision, info->device, info->isa);
    }
    json_put_finish(&w);
}

static void put_options(json_writer *w, const output_request *o) {
    json_put_line(w, 2);
    json_put_object(w, "options");
    json_put_bool(w, "flip", o->flip);
    json_put_bool(w, "raw", o->raw);
    json_put_bool(w, "strict", o->strict);
    if (o->shards) json_put_format(w, "shard", "%d/%d", o->shard, o->shards);
    else json_put_null(w, "shard");
    json_put_string(w, "boxes", o->boxes);
    json_put_string(w, "category", o->category);
    if (o->min_conf >= 0) json_put_number(w, "min_conf", o->min_conf, 9);
    json_put_end(w);
}

static void put_lines(json_writer *w, const char *key, const text *lines) {
    json_put_line(w, 2);
    json_put_array(w, key);
    json_put_inside(w, lines);
    if (lines->len) json_put_line(w, 2);
    json_put_end(w);
}

/* What is known of the rows together. */
static void put_knowledge(json_writer *w, const output_facts *f, const output_request *o) {
    if (o->source_root) json_put_line(w, 2), json_put_string(w, "source_root", o->source_root);
    if (o->threshold) json_put_line(w, 2), json_put_exact(w, "threshold", *o->threshold);
    if (o->weights) {
        json_put_line(w, 2);
        json_put_numbers(w, "score_weights", o->weights, (size_t)f->all->count, 17);
    }
    if (!o->apart_count) return;
    json_put_line(w, 2);
    json_put_array(w, "apart");
    for (size_t i = 0; i < o->apart_count; i++) {
        json_put_line(w, 4);
        json_put_array(w, NULL);
        json_put_string(w, NULL, o->apart[i].a);
        json_put_string(w, NULL, o->apart[i].b);
        json_put_end(w);
    }
    json_put_line(w, 2);
    json_put_end(w);
}

void output_meta_json(const output_facts *f, const output_request *o, text *out) {
    json_writer w = json_write(out);
    json_put_object(&w, NULL);
    json_put_line(&w, 2);
    json_put_string(&w, "format", "reid-embeddings");
    json_put_int(&w, "format_version", 1);
    json_put_string(&w, "reid", reid_version_string());
    json_put_string(&w, "output", path_name(o->path));
    json_put_line(&w, 2);
    json_put_count(&w, "rows", f->rows);
    json_put_int(&w, "dim", f->all->dim);
    json_put_count(&w, "inputs", f->end - f->first);
    json_put_count(&w, "failed", f->failed);
    json_put_line(&w, 2);
    json_put_object(&w, "list");
    json_put_count(&w, "inputs", f->listed);
    json_put_format(&w, "hash", "%016llx", (unsigned long long)f->hash);
    json_put_end(&w);
    json_put_line(&w, 2);
    if (o->jpeg) json_put_string(&w, "jpeg", o->jpeg), json_put_line(&w, 2);
    models_json(f->all, &w);
    put_options(&w, o);
    put_lines(&w, "failures", &f->failures);
    for (row_fact k = 0; k < ROW_FACTS; k++)
        if (k == FACT_IDENTITY || f->known[k]) put_lines(&w, ROW_FACT_NAMES[k], &f->column[k]);
    put_knowledge(&w, f, o);
    json_put_line(&w, 0);
    json_put_finish(&w);
}
