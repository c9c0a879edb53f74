#include "embedding/shard.h"

#include "base/files.h"
#include "base/json.h"
#include "embedding/output.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_VALUES = 65536 }; /* of a model's embedding, as in galleries */
static const size_t MAX_META = (size_t)1 << 34;

/* --- members, one at a time; errors are set in the reader --- */

static int read_count(json *j, double *out) {
    if (!json_number(j, out)) return 0;
    if (*out < 0 || *out > 9007199254740992.0 || *out != (double)(uint64_t)*out)
        return json_fail(j, "expected a whole number");
    return 1;
}

static int read_int(json *j, int *out) {
    double value = 0;
    if (!read_count(j, &value)) return 0;
    if (value > 2147483647) return json_fail(j, "the number is too large");
    *out = (int)value;
    return 1;
}

static int read_name(json *j, char *out, size_t size) {
    text value = TEXT_INIT;
    int good = json_string(j, &value);
    if (good && snprintf(out, size, "%s", value.s) >= (int)size) good = json_fail(j, "the name is too long");
    text_free(&value);
    return good;
}

/* Reads a name that needs no quoting: a network, a fingerprint, ... */
static int read_word(json *j, char *out, size_t size) {
    static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.:-";
    return read_name(j, out, size) && (!out[strspn(out, allowed)] || json_fail(j, "expected a plain word"));
}

/* Reads a string, or null, which leaves *out NULL. */
static int read_optional(json *j, text *value, const char **out) {
    if (json_peek(j) == 'n') return json_skip(j);
    *out = json_string(j, value) ? value->s : NULL;
    return *out != NULL;
}

/* Like json_number, but exact beyond 2^53. */
static int read_seed(json *j, uint64_t *out) {
    double about;
    const char *digits = json_peek(j) == '0' ? j->text + j->at : "";
    *out = strtoull(digits, NULL, 10);
    return json_number(j, &about);
}

/* Reads sixteen hexadecimal digits. */
static int read_hash(json *j, uint64_t *out) {
    char digits[17];
    int used = 0;
    unsigned long long value = 0;
    if (!read_name(j, digits, sizeof digits)) return 0;
    if (sscanf(digits, "%16llx%n", &value, &used) != 1 || used != 16) return json_fail(j, "expected a hash");
    *out = value;
    return 1;
}

static int read_list(json *j, shard *s) {
    text key = TEXT_INIT;
    double listed = -1;
    int hashed = 0;
    for (json_object(j); json_key(j, &key);) {
        if (strcmp(key.s, "inputs") == 0) read_count(j, &listed);
        else if (strcmp(key.s, "hash") == 0) hashed = read_hash(j, &s->facts.hash);
        else json_fail(j, "unknown member of a list");
    }
    text_free(&key);
    if (listed < 0 || !hashed) return json_fail(j, "a list needs inputs and a hash");
    s->facts.listed = (size_t)listed;
    return 1;
}

/* Returns 1 if the member was read; 0 if it is unknown or invalid. */
static int read_info(json *j, const char *key, reid_info *info) {
    if (strcmp(key, "fingerprint") == 0) return read_word(j, info->fingerprint, sizeof info->fingerprint);
    if (strcmp(key, "network") == 0) return read_word(j, info->network, sizeof info->network);
    if (strcmp(key, "head") == 0) return read_word(j, info->head, sizeof info->head);
    if (strcmp(key, "head_seed") == 0) return read_seed(j, &info->head_seed);
    if (strcmp(key, "preset") == 0) return read_word(j, info->preset, sizeof info->preset);
    if (strcmp(key, "height") == 0) return read_int(j, &info->height);
    if (strcmp(key, "width") == 0) return read_int(j, &info->width);
    if (strcmp(key, "last_stride") == 0) return read_int(j, &info->last_stride);
    if (strcmp(key, "dim") == 0) return read_int(j, &info->dim);
    if (strcmp(key, "flip") == 0) return json_bool(j, &info->flip);
    if (strcmp(key, "raw") == 0) return json_bool(j, &info->raw);
    if (strcmp(key, "precision") == 0) return read_word(j, info->precision, sizeof info->precision);
    if (strcmp(key, "device") == 0) return read_word(j, info->device, sizeof info->device);
    if (strcmp(key, "chip") == 0) return read_name(j, info->chip, sizeof info->chip);
    if (strcmp(key, "isa") == 0) return read_word(j, info->isa, sizeof info->isa);
    return 0;
}

static void read_models(json *j, shard *s) {
    text key = TEXT_INIT;
    for (json_array(j); json_item(j);) {
        model *m = &s->makers.at[s->makers.count];
        if (s->makers.count == MAX_MODELS) {
            json_fail(j, "too many models");
            break;
        }
        for (json_object(j); json_key(j, &key);) {
            if (strcmp(key.s, "weights") == 0) json_string(j, &s->weights[s->makers.count]);
            else if (!read_info(j, key.s, &m->info)) json_fail(j, "unknown member of a model");
        }
        m->weights = s->weights[s->makers.count].s;
        if (!m->weights || !m->info.fingerprint[0] || !m->info.precision[0] || m->info.dim < 1)
            json_fail(j, "a model lacks weights, fingerprint, precision or dim");
        if (m->info.dim > MOST_VALUES) json_fail(j, "a model's dim is more than 65536");
        if (j->error[0]) break;
        s->makers.dim += m->info.dim;
        s->makers.count++;
    }
    text_free(&key);
}

/* Reads "2/3", or null for a run without --shard. */
static void read_place(json *j, output_request *made) {
    text value = TEXT_INIT;
    long long i, n;
    const char *words = NULL;
    if (read_optional(j, &value, &words) && words) {
        char *slash = strchr(value.s, '/');
        if (slash) *slash = 0;
        if (!slash || !parse_int(slash + 1, 1, 1000000, &n) || !parse_int(words, 1, n, &i))
            json_fail(j, "expected a shard I/N");
        else made->shard = (int)i, made->shards = (int)n;
    }
    text_free(&value);
}

static void read_options(json *j, shard *s) {
    text key = TEXT_INIT;
    output_request *made = &s->made;
    for (json_object(j); json_key(j, &key);) {
        if (strcmp(key.s, "flip") == 0) json_bool(j, &made->flip);
        else if (strcmp(key.s, "raw") == 0) json_bool(j, &made->raw);
        else if (strcmp(key.s, "strict") == 0) json_bool(j, &made->strict);
        else if (strcmp(key.s, "shard") == 0) read_place(j, made);
        else if (strcmp(key.s, "boxes") == 0) read_optional(j, &s->boxes, &made->boxes);
        else if (strcmp(key.s, "category") == 0) read_optional(j, &s->category, &made->category);
        else if (strcmp(key.s, "min_conf") == 0) json_number(j, &made->min_conf);
        else json_fail(j, "unknown option");
    }
    text_free(&key);
}

static void read_failures(json *j, shard *s) {
    text key = TEXT_INIT, id = TEXT_INIT, reason = TEXT_INIT;
    for (json_array(j); json_item(j);) {
        text_clear(&id);
        text_clear(&reason);
        for (json_object(j); json_key(j, &key);) {
            if (strcmp(key.s, "path") == 0) json_string(j, &id);
            else if (strcmp(key.s, "reason") == 0) json_string(j, &reason);
            else json_fail(j, "unknown member of a failure");
        }
        output_facts_failure(&s->facts, id.s ? id.s : "", reason.s ? reason.s : "");
    }
    text_free(&key);
    text_free(&id);
    text_free(&reason);
}

/* The last facts are numbers or null, all others strings. */
static int read_fact(json *j, row_fact which, text *value) {
    double number;
    text_clear(value);
    if (which < ROW_FACT_NUMBERS) return json_string(j, value);
    if (json_peek(j) == 'n') return json_skip(j);
    if (!json_number(j, &number)) return 0;
    text_printf(value, "%.9g", number);
    return 1;
}

static void read_facts(json *j, shard *s, row_fact which) {
    text value = TEXT_INIT;
    for (json_array(j); json_item(j) && read_fact(j, which, &value);)
        output_facts_add(&s->facts, which, value.len ? value.s : "");
    if (which == FACT_IDENTITY) s->facts.rows = s->facts.count[which];
    if (text_failed(&value)) text_no_memory(&s->facts.column[which]);
    text_free(&value);
}

static void read_decoder(json *j, shard *s) {
    char name[32];
    if (!read_word(j, name, sizeof name)) return;
    text_clear(&s->jpeg);
    text_puts(&s->jpeg, name);
    s->made.jpeg = s->jpeg.s;
}

/* --- the file --- */

/* Only the version that wrote a file knows all of its members. */
static void read_version(json *j) {
    char version[32], what[96];
    if (!read_name(j, version, sizeof version) || strcmp(version, reid_version_string()) == 0) return;
    snprintf(what, sizeof what, "written by reid %s, but this is %s", version, reid_version_string());
    json_fail(j, what);
}

static int read_member(json *j, const char *key, shard *s) {
    text ignored = TEXT_INIT;
    double version = 1;
    if (strcmp(key, "format") == 0) {
        if (json_string(j, &ignored) && strcmp(ignored.s, "reid-embeddings") != 0)
            json_fail(j, "not the metadata of embeddings; expected the format reid-embeddings");
    } else if (strcmp(key, "format_version") == 0) {
        if (json_number(j, &version) && version != 1) json_fail(j, "unknown format version; expected 1");
    } else if (strcmp(key, "reid") == 0) read_version(j);
    else if (strcmp(key, "output") == 0) json_string(j, &ignored);
    else if (strcmp(key, "rows") == 0) read_count(j, &s->rows);
    else if (strcmp(key, "dim") == 0) read_count(j, &s->dim);
    else if (strcmp(key, "inputs") == 0) read_count(j, &s->inputs);
    else if (strcmp(key, "failed") == 0) read_count(j, &s->failed);
    else if (strcmp(key, "list") == 0) read_list(j, s);
    else if (strcmp(key, "jpeg") == 0) read_decoder(j, s);
    else if (strcmp(key, "models") == 0) read_models(j, s);
    else if (strcmp(key, "options") == 0) read_options(j, s);
    else if (strcmp(key, "failures") == 0) read_failures(j, s);
    else {
        row_fact k = 0;
        while (k < ROW_FACTS && strcmp(key, ROW_FACT_NAMES[k]) != 0) k++;
        if (k < ROW_FACTS) read_facts(j, s, k);
        else json_fail(j, "unknown member, which reid embed does not write");
    }
    text_free(&ignored);
    return !j->error[0];
}

/* Checks that the required members exist and agree with each other. */
static void check(const shard *s, int listed, text *why) {
    const output_facts *f = &s->facts;
    size_t first, end;
    if (!s->makers.count) text_puts(why, "does not name the model that made the embeddings");
    else if (!s->made.shards) text_puts(why, "was not written by a run with --shard");
    else if (!listed) text_puts(why, "does not say which list it is a shard of");
    else if (!output_facts_whole(f)) text_no_memory(why);
    else if ((double)f->rows != s->rows || (double)f->failed != s->failed || s->rows + s->failed != s->inputs ||
             (double)s->makers.dim != s->dim)
        text_printf(why, "contradicts itself: %.0f rows and %.0f failures of %.0f inputs, %.0f floats a row, but %zu "
                         "identities, %zu failures and models of %d floats", s->rows, s->failed, s->inputs, s->dim,
                    f->rows, f->failed, s->makers.dim);
    for (row_fact k = 0; k < ROW_FACTS && !why->len; k++)
        if (f->count[k] && f->count[k] != f->rows)
            text_printf(why, "contradicts itself: %zu row%s, but %zu %s", f->rows, plural(f->rows), f->count[k],
                        ROW_FACT_NAMES[k]);
    if (why->len) return;
    shard_slice(s, &first, &end);
    if ((double)(end - first) != s->inputs)
        text_printf(why, "lists %.0f input%s, but shard %d/%d of %zu input%s has %zu", s->inputs,
                    plural((size_t)s->inputs), s->made.shard, s->made.shards, f->listed, plural(f->listed),
                    end - first);
}

static void read_meta(shard *s, const text *file, text *why) {
    json j;
    text key = TEXT_INIT;
    int listed = 0;
    json_begin(&j, file->s, file->len);
    for (json_object(&j); json_key(&j, &key);) {
        if (!read_member(&j, key.s, s)) break;
        listed |= strcmp(key.s, "list") == 0;
    }
    json_end(&j);
    text_clear(why);
    if (j.error[0]) text_puts(why, j.error);
    else check(s, listed, why);
    text_free(&key);
}

int shard_read(shard *s, const char *path, text *why) {
    text name = TEXT_INIT, file = TEXT_INIT, reason = TEXT_INIT;
    memset(s, 0, sizeof *s);
    s->path = path;
    s->made.min_conf = -1; /* none */
    output_side_name(&name, path, ".meta.json");
    if (text_failed(&name)) text_no_memory(&reason);
    else if (file_read(name.s, MAX_META, 1, &file, &reason)) read_meta(s, &file, &reason);
    text_clear(why);
    if (reason.len) text_printf(why, "%s: %s", name.s, reason.s);
    text_free(&name);
    text_free(&file);
    text_free(&reason);
    return why->len == 0;
}

void shard_free(shard *s) {
    for (int i = 0; i < MAX_MODELS; i++) text_free(&s->weights[i]);
    text_free(&s->boxes);
    text_free(&s->category);
    text_free(&s->jpeg);
    output_facts_free(&s->facts);
}

/* --- what shards must agree on --- */

void shard_slice(const shard *s, size_t *first, size_t *end) {
    const size_t count = s->facts.listed;
    output_slice(count, s->made.shard, s->made.shards, first, end);
}

static int same_name(const char *a, const char *b) { return a && b ? strcmp(a, b) == 0 : a == b; }

static int same_model(const reid_info *a, const reid_info *b) {
    return strcmp(a->network, b->network) == 0 && strcmp(a->head, b->head) == 0 && a->head_seed == b->head_seed &&
           strcmp(a->preset, b->preset) == 0 && a->height == b->height && a->width == b->width && a->dim == b->dim &&
           a->last_stride == b->last_stride && a->flip == b->flip && a->raw == b->raw;
}

const char *shard_differs(const shard *a, const shard *b) {
    if (a->makers.count != b->makers.count) return "a different number of models";
    for (int i = 0; i < a->makers.count; i++) {
        const reid_info *one = &a->makers.at[i].info, *other = &b->makers.at[i].info;
        if (strcmp(one->fingerprint, other->fingerprint) != 0) return "a different fingerprint";
        if (strcmp(one->precision, other->precision) != 0) return "a different precision";
        if (!same_model(one, other)) return "a different network";
    }
    if (a->made.shards != b->made.shards) return "a different number of shards";
    if (!same_name(a->made.jpeg, b->made.jpeg)) return "a different JPEG decoder";
    if (a->facts.listed != b->facts.listed || a->facts.hash != b->facts.hash) return "a different list of inputs";
    if (a->made.flip != b->made.flip || a->made.raw != b->made.raw || a->made.strict != b->made.strict ||
        !same_name(a->made.boxes, b->made.boxes) || !same_name(a->made.category, b->made.category) ||
        (a->made.min_conf < b->made.min_conf || a->made.min_conf > b->made.min_conf)) return "different options";
    return NULL;
}
