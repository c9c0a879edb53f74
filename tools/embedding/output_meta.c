#include "embedding/output_meta.h"

#include <string.h>

/* FNV-1a, 64 bits: tells lists of inputs apart, nothing more. */
static uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t len) {
    const unsigned char *at = bytes;
    for (size_t i = 0; i < len; i++) hash = (hash ^ at[i]) * 0x100000001b3;
    return hash;
}

static uint64_t hash_inputs(const inputs *list, size_t first, size_t end) {
    uint64_t hash = 0xcbf29ce484222325;
    for (size_t i = first; i < end; i++) {
        const input *in = &list->at[i];
        unsigned char unit = (unsigned char)in->unit;
        hash = hash_bytes(hash, in->path, strlen(in->path) + 1);
        hash = hash_bytes(hash, in->id, strlen(in->id) + 1);
        hash = hash_bytes(hash, in->identity, strlen(in->identity) + 1);
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

void output_facts_identity(output_facts *f, const char *identity) {
    text_puts(&f->identities, f->rows++ ? ",\n    " : "\n    ");
    text_json(&f->identities, identity);
}

void output_facts_row(output_facts *f, const input *in) {
    text_id_line(&f->ids, in->id);
    output_facts_identity(f, in->identity);
}

void output_facts_failure(output_facts *f, const char *id, const char *why) {
    text_puts(&f->failures, f->failed++ ? ",\n    {\"path\": " : "\n    {\"path\": ");
    text_json(&f->failures, id);
    text_puts(&f->failures, ", \"reason\": ");
    text_json(&f->failures, why);
    text_putc(&f->failures, '}');
}

void output_facts_free(output_facts *f) {
    text_free(&f->ids);
    text_free(&f->identities);
    text_free(&f->failures);
}

int output_facts_whole(const output_facts *f) {
    return !text_failed(&f->ids) && !text_failed(&f->identities) && !text_failed(&f->failures);
}

void output_meta_key(const output_facts *f, const output_request *o, text *line) {
    text_printf(line, "{\"reid_part\": 1, \"version\": \"%s\", \"inputs\": %zu, \"hash\": \"%016llx\"",
                reid_version_string(), f->end - f->first, (unsigned long long)hash_inputs(f->list, f->first, f->end));
    text_printf(line, ", \"shard\": \"%d/%d\"", o->shard, o->shards);
    text_printf(line, ", \"strict\": %d, \"max_pixels\": %lld, \"jpeg\": \"%s\", \"models\": [", o->strict != 0,
                o->max_pixels, o->jpeg ? o->jpeg : "");
    for (int i = 0; i < f->all->count; i++) {
        const reid_info *info = &f->all->at[i].info;
        text_printf(line, "%s\"%s %s %s %s\"", i ? ", " : "", info->fingerprint, info->precision, info->device,
                    info->isa);
    }
    text_puts(line, "]}\n");
}

static void add_name(text *out, const char *key, const char *value) {
    text_printf(out, ", \"%s\": ", key);
    if (value) text_json(out, value);
    else text_puts(out, "null");
}

void output_meta_json(const output_facts *f, const output_request *o, text *out) {
    const char *slash = strrchr(o->path, '/');
    text_printf(out, "{\n  \"format\": \"reid-embeddings\", \"format_version\": 1, \"reid\": \"%s\"",
                reid_version_string());
    add_name(out, "output", slash ? slash + 1 : o->path);
    text_printf(out, ",\n  \"rows\": %zu, \"dim\": %d, \"inputs\": %zu, \"failed\": %zu,\n", f->rows, f->all->dim,
                f->end - f->first, f->failed);
    text_printf(out, "  \"list\": {\"inputs\": %zu, \"hash\": \"%016llx\"},\n", f->listed, (unsigned long long)f->hash);
    if (o->jpeg) text_printf(out, "  \"jpeg\": \"%s\",\n", o->jpeg);
    text_puts(out, "  \"models\": ");
    models_json(f->all, out);
    text_printf(out, ",\n  \"options\": {\"flip\": %s, \"raw\": %s, \"strict\": %s", o->flip ? "true" : "false",
                o->raw ? "true" : "false", o->strict ? "true" : "false");
    if (o->shards) text_printf(out, ", \"shard\": \"%d/%d\"", o->shard, o->shards);
    else text_puts(out, ", \"shard\": null");
    add_name(out, "boxes", o->boxes);
    add_name(out, "category", o->category);
    if (o->min_conf >= 0) text_printf(out, ", \"min_conf\": %.9g", o->min_conf);
    text_puts(out, "},\n  \"failures\": [");
    text_join(out, &f->failures);
    text_puts(out, f->failed ? "\n  ],\n  \"identities\": [" : "],\n  \"identities\": [");
    text_join(out, &f->identities);
    text_puts(out, f->rows ? "\n  ]\n}\n" : "]\n}\n");
}
