#include "cli/option_setters.h"

#include "base/say.h"
#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

int option_set_flag(options *o, const option *spec, void *slot, const char *value) {
    (void)o, (void)spec, (void)value;
    ++*(int *)slot;
    return 1;
}

int option_set_text(options *o, const option *spec, void *slot, const char *value) {
    (void)o, (void)spec;
    *(const char **)slot = value;
    return *value != 0;
}

int option_set_int(options *o, const option *spec, void *slot, const char *value) {
    long long n;
    (void)o;
    if (!parse_int(value, spec->lo, spec->hi, &n)) return 0;
    *(int *)slot = (int)n;
    return 1;
}

int option_set_int_or_auto(options *o, const option *spec, void *slot, const char *value) {
    if (strcmp(value, "auto") != 0) return option_set_int(o, spec, slot, value);
    *(int *)slot = 0;
    return 1;
}

int option_set_long(options *o, const option *spec, void *slot, const char *value) {
    (void)o;
    return parse_int(value, spec->lo, spec->hi, (long long *)slot);
}

int option_set_real(options *o, const option *spec, void *slot, const char *value) {
    (void)o;
    return parse_real(value, (double)spec->lo, (double)spec->hi, (double *)slot);
}

/* A score of unit embeddings: a cosine, or a sum of cosines by shares. The lower limit is lo. */
int option_set_score(options *o, const option *spec, void *slot, const char *value) {
    (void)o;
    return parse_real(value, (double)spec->lo, 1, (double *)slot);
}

/* A share: above 0, below 1. */
int option_set_share(options *o, const option *spec, void *slot, const char *value) {
    double *share = slot;
    (void)o, (void)spec;
    return parse_real(value, 0, 1, share) && *share > 0 && *share < 1;
}

int option_set_bytes(options *o, const option *spec, void *slot, const char *value) {
    (void)o, (void)spec;
    return parse_bytes(value, (size_t *)slot);
}

/* A choice: the position of value in spec->arg, plus spec->lo. */
int option_set_choice(options *o, const option *spec, void *slot, const char *value) {
    int index = choice_index(spec->arg, value);
    (void)o;
    if (index >= 0) *(int *)slot = index + (int)spec->lo;
    return index >= 0;
}

/* Copies the first n bytes of s, which may be a number. Returns 0 when they are too many for one. */
static int cut(const char *s, size_t n, char out[256]) {
    if (n >= 256) return 0;
    memcpy(out, s, n);
    out[n] = 0;
    return 1;
}

static int split_int(const char *value, char separator, long long lo, long long hi, long long out[2]) {
    const char *second = strchr(value, separator);
    char first[256];
    return second && cut(value, (size_t)(second - value), first) && parse_int(first, lo, hi, &out[0]) &&
           parse_int(second + 1, lo, hi, &out[1]);
}

int option_set_size(options *o, const option *spec, void *slot, const char *value) {
    model_options *m = slot;
    long long hw[2];
    (void)o;
    if (!split_int(value, 'x', spec->lo, spec->hi, hw)) return 0;
    m->height = (int)hw[0];
    m->width = (int)hw[1];
    return 1;
}

/* Sets a field of the preset by its name in reid.h; the library checks the value. */
int option_set_field(options *o, const option *spec, void *slot, const char *value) {
    model_options *m = slot;
    size_t at = strlen(m->fields), size = sizeof m->fields - at;
    (void)o;
    if (!*value || strpbrk(value, " =")) return 0;
    int n = snprintf(m->fields + at, size, "%s%s=%s", at ? " " : "", spec->name, value);
    return n > 0 && (size_t)n < size;
}

int option_set_head(options *o, const option *spec, void *slot, const char *value) {
    model_options *m = slot;
    long long seed = 0;
    (void)o;
    if (strcmp(value, "none") == 0) m->head = REID_HEAD_NONE;
    else if (strcmp(value, "file") == 0) m->head = REID_HEAD_FILE;
    else if (strncmp(value, "seeded", 6) != 0) return 0;
    else if (value[6] && (value[6] != ':' || !parse_int(value + 7, spec->lo, spec->hi, &seed))) return 0;
    else m->head = REID_HEAD_SEEDED;
    m->head_seed = (uint64_t)seed;
    return 1;
}

int option_device(options *o, const char *value) {
    long long index = 0;
    if (strncmp(value, "cuda", 4) == 0) {
        if (value[4] && (value[4] != ':' || !parse_int(value + 5, 0, MAX_DEVICE_INDEX, &index))) return 0;
        o->compute.device = REID_DEVICE_CUDA;
    } else {
        if (strcmp(value, "auto") != 0 && strcmp(value, "cpu") != 0) return 0;
        o->compute.device = *value == 'a' ? REID_DEVICE_AUTO : REID_DEVICE_CPU;
    }
    o->compute.device_index = (int)index;
    return 1;
}

int option_set_device(options *o, const option *spec, void *slot, const char *value) {
    (void)spec, (void)slot;
    return option_device(o, value);
}

int option_set_shard(options *o, const option *spec, void *slot, const char *value) {
    long long of[2];
    (void)slot;
    if (!split_int(value, '/', spec->lo, spec->hi, of) || of[0] > of[1]) return 0;
    o->input.shard = (int)of[0];
    o->input.shards = (int)of[1];
    return 1;
}

int option_set_weights(options *o, const option *spec, void *slot, const char *value) {
    double *weights = slot, sum = 0;
    o->match.weight_count = 0;
    for (const char *at = value; at;) {
        size_t n = strcspn(at, ",");
        char number[256];
        if (o->match.weight_count == MAX_MODELS || !cut(at, n, number) ||
            !parse_real(number, (double)spec->lo, (double)spec->hi, &weights[o->match.weight_count])) return 0;
        sum += weights[o->match.weight_count++];
        at = at[n] ? at + n + 1 : NULL;
    }
    return fabs(sum - 1) < 1e-6;
}

int option_set_batches(options *o, const option *spec, void *slot, const char *value) {
    int *list = slot;
    o->bench.batch_count = 0;
    for (const char *at = value; at;) {
        size_t n = strcspn(at, ",");
        char number[256];
        long long batch;
        if (o->bench.batch_count == MAX_BATCHES || !cut(at, n, number)) return 0;
        if (!parse_int(number, spec->lo, spec->hi, &batch)) return 0;
        list[o->bench.batch_count++] = (int)batch;
        at = at[n] ? at + n + 1 : NULL;
    }
    return 1;
}

int option_set_model(options *o, const option *spec, void *slot, const char *value) {
    (void)slot;
    if (o->models == spec->hi) {
        say_error("at most %d models can be used together: leave out -m %s", o->models, shown(value));
        return -1;
    }
    model_options *m = &o->model[o->models++];
    *m = o->every;
    m->weights = value;
    return *value != 0;
}

const char *option_expects(const option *spec) {
    if (spec->set == option_set_score) return "a cosine, at most 1, for example 0.62";
    if (spec->set == option_set_weights) return "shares that add up to 1, for example 0.6,0.4";
    return spec->arg;
}
