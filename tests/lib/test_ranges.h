/* test_ranges.h: INT8 in tests: observes a network's activations, and makes ranges from them. Include it after the
   implementation of reid.h. */
#ifndef TEST_RANGES_H
#define TEST_RANGES_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void ranges_need(int good) {
    if (good) return;
    perror("a file or memory for ranges");
    exit(1);
}

/* Activations from reid_observe, by operation of the plan. */
typedef struct seen {
    reid_ctx *ctx;
    float *values[REID__MAX_OPS];
    int *bytes[REID__MAX_OPS]; /* of activations that INT8 stores as bytes */
} seen;

static double step_of(const reid__plan *p, int buffer) {
    return (double)p->buffers[buffer].range / (p->buffers[buffer].is_signed ? 127 : 255);
}

static void keep(const reid_op_info *op, const float *values, void *user) {
    seen *s = (seen *)user;
    const reid__plan *p = s->ctx->plan;
    size_t count = (size_t)op->out_h * (size_t)op->out_w * (size_t)op->out_c;
    int i = 0;
    while (strcmp(s->ctx->plan->ops[i].name, op->name) != 0 || s->values[i]) i++; /* pools share a name */
    s->values[i] = (float *)malloc(count * sizeof *values);
    s->bytes[i] = (int *)calloc(count, sizeof(int));
    ranges_need(s->values[i] && s->bytes[i]);
    memcpy(s->values[i], values, count * sizeof *values);
    double step = step_of(p, p->ops[i].out);
    for (size_t k = 0; k < count && p->buffers[p->ops[i].out].bytes == 1; k++)
        s->bytes[i][k] = (int)lrint((double)values[k] / step);
}

static void forget(seen *s) {
    for (int i = 0; i < REID__MAX_OPS; i++) free(s->values[i]), free(s->bytes[i]);
    reid_destroy(s->ctx);
}

/* The activations that a new handle for d computes for one image. */
static void look(seen *s, const reid_desc *d, reid_image image) {
    reid_error error;
    memset(s, 0, sizeof *s);
    if (reid_create(d, &s->ctx) != REID_OK || reid_observe(s->ctx, &image, keep, s, &error) != REID_OK) {
        printf("%s\n", d->error->text);
        exit(1);
    }
}

/* Differences from plain ranges. All zero: none. */
typedef struct odd {
    const char *leave_out, *extra, *retype, *poke;
    float value; /* of the range that `poke` names */
    float share; /* part of the largest observed value; 0: nine tenths */
    const char *made_for;
    int no_metadata, in_vector;
} odd;

static size_t size_of(const reid__op *op) { return (size_t)op->oh * (size_t)op->ow * (size_t)op->oc; }

/* Ranges for `s`, the activations in FP32. */
static void write_ranges(const char *path, const seen *s, const odd *o) {
    static char text[16384];
    float values[REID__MAX_OPS];
    const reid__plan *p = s->ctx->plan;
    size_t at = 8, count = 0;
    at += (size_t)sprintf(text + at, "{");
    if (!o->no_metadata)
        at += (size_t)sprintf(text + at, "\"__metadata__\":{\"reid.fingerprint\":\"%s\"},",
                              o->made_for ? o->made_for : s->ctx->info.fingerprint);
    for (int i = 0; i <= p->op_count; i++) {
        const char *name = i < p->op_count ? p->ops[i].name : o->extra, *type = "F32";
        float most = 1;
        if (!name || (i < p->op_count && p->ops[i].kind != REID__CONV)) continue;
        if (o->leave_out && strcmp(name, o->leave_out) == 0) continue;
        if (o->retype && strcmp(name, o->retype) == 0) type = "I32";
        for (size_t k = 0; i < p->op_count && k < size_of(&p->ops[i]); k++)
            most = fmaxf(most, (o->share > 0 ? o->share : 0.9f) * fabsf(s->values[i][k]));
        if (o->poke && strcmp(name, o->poke) == 0) most = o->value;
        at += (size_t)sprintf(text + at, "\"%s\":{\"dtype\":\"%s\",\"shape\":[%s],\"data_offsets\":[%zu,%zu]},", name,
                              type, o->in_vector ? "1" : "", 4 * count, 4 * count + 4);
        values[count++] = most;
    }
    text[at - 1] = '}';
    for (int i = 0; i < 8; i++) text[i] = (char)((at - 8) >> 8 * i & 255);
    FILE *file = fopen(path, "wb");
    ranges_need(file && fwrite(text, 1, at, file) + fwrite(values, 4, count, file) == at + count);
    fclose(file);
}
#endif
