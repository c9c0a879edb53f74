#include "embedding/head_inputs.h"

#include "base/files.h"
#include "base/memory.h"
#include "base/say.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- layers ----------------------------------------------------------------------------------------------------- */

/* Networks that end with their last pool, and the layer that a fit adds to them. */
typedef struct added_head {
    const char *network, *written, *layer, *norm;
} added_head;

enum { ADDED_ROWS = 512 };

static const added_head *added_to(const char *network) {
    static const added_head plain = {"resnet50", "resnet50-layumi", "classifier.add_block.0", "classifier.add_block.1"};
    static const added_head efficientnet = {NULL, NULL, "projection", ""};
    if (strcmp(network, plain.network) == 0) return &plain;
    return strstr(network, "efficientnet_b") ? &efficientnet : NULL;
}

/* Returns the number of an operation's output vector; adds the vector if it is new. */
static int vector_of(head_inputs *h, int op, const reid_op_info *info) {
    for (int i = 0; i < h->vectors; i++)
        if (h->vector[i].op == op) return i;
    head_vector *v = &h->vector[h->vectors];
    v->op = op;
    v->height = info->out_h, v->width = info->out_w, v->channels = info->out_c;
    v->dim = (size_t)v->height * (size_t)v->width * (size_t)v->channels;
    return h->vectors++;
}

static int add_linear(head_inputs *h, int op, const reid_op_info *info) {
    reid_op_info before;
    if (h->layers == HEAD_LAYERS || info->input == REID_OP_NONE || info->activation[0] ||
        reid_query_op(h->m.ctx, info->input, &before) != REID_OK) return 0;
    head_layer *l = &h->layer[h->layers++];
    snprintf(l->name, sizeof l->name, "%s", info->name);
    snprintf(l->norm, sizeof l->norm, "%s", info->norm);
    l->op = op;
    l->rows = info->out_c;
    l->vector = vector_of(h, info->input, &before);
    return 1;
}

/* Adds the layer that the network lacks, after its last pool. */
static int add_missing(head_inputs *h) {
    const added_head *added = added_to(h->m.info.network);
    reid_op_info info;
    int last = reid_op_count(h->m.ctx) - 2; /* the normalisation follows it */
    if (!added || last < 0 || reid_query_op(h->m.ctx, last, &info) != REID_OK || strcmp(info.kind, "pool") != 0)
        return 0;
    head_layer *l = &h->layer[h->layers++];
    snprintf(l->name, sizeof l->name, "%s", added->layer);
    snprintf(l->norm, sizeof l->norm, "%s", added->norm);
    l->op = REID_OP_NONE;
    l->rows = ADDED_ROWS;
    l->vector = vector_of(h, last, &info);
    if (added->written) h->written = added->written;
    return 1;
}

static int find_layers(head_inputs *h) {
    int count = reid_op_count(h->m.ctx), good = 1;
    h->written = h->m.info.network;
    for (int i = 0; i < count && good; i++) {
        reid_op_info info;
        good = reid_query_op(h->m.ctx, i, &info) == REID_OK;
        if (good && strcmp(info.kind, "linear") == 0) good = add_linear(h, i, &info);
    }
    /* A reduction without a bias cannot subtract a mean. */
    if (good && h->layers && strcmp(h->layer[0].name, "reduction") == 0) good = 0;
    if (good && !h->layers) good = add_missing(h);
    if (!good)
        say_error("%s: the head of network %s cannot be fitted; only those of resnet50, resnet50-layumi, "
                  "resnet50-multiscale and the EfficientNets can", shown(h->m.weights), h->m.info.network);
    for (int i = 0; i < h->vectors; i++) {
        h->vector[i].first = h->dim;
        h->dim += h->vector[i].dim;
    }
    h->made_first = h->dim;
    for (int i = 0; i < h->layers; i++) {
        h->layer[i].first = h->dim;
        h->dim += h->layer[i].op == REID_OP_NONE ? 0 : (size_t)h->layer[i].rows;
    }
    h->made = h->dim - h->made_first;
    if (!h->made) { /* without the layer, the embedding is the vector itself */
        h->made_first = 0;
        h->made = h->dim;
    }
    return good;
}

int head_inputs_open(head_inputs *h, const reid_desc *desc) {
    reid_desc d = *desc;
    memset(h, 0, sizeof *h);
    d.device = REID_DEVICE_CPU;
    d.precision = REID_FP32;
    d.ranges = NULL;
    d.flip = d.raw = d.latency = d.fallback = 0;
    d.lanes = 1;
    if (!model_create(&h->m, &d) && d.head == REID_HEAD_AUTO && h->m.result == REID_ERR_TENSOR_MISSING) {
        model first = h->m;
        d.head = REID_HEAD_SEEDED;
        if (!model_create(&h->m, &d)) h->m = first;
    }
    if (h->m.result == REID_OK) return find_layers(h);
    say_model_error(h->m.weights, &h->m.error, h->m.result);
    return 0;
}

void head_inputs_close(head_inputs *h) {
    model_close(&h->m);
    memset(h, 0, sizeof *h);
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */
typedef struct observing {
    const head_inputs *h;
    int op;      /* the next one */
    float *row;
} observing;

/* Operations come in order, except those that a later one computes. */
static void observe(const reid_op_info *info, const float *values, void *user) {
    observing *o = user;
    const head_inputs *h = o->h;
    reid_op_info at;
    while (reid_query_op(h->m.ctx, o->op, &at) == REID_OK && at.computed_by != o->op) o->op++;
    for (int i = 0; i < h->vectors; i++) {
        const head_vector *v = &h->vector[i];
        if (v->op != o->op) continue;
        int pixels = v->height * v->width;
        for (int p = 0; p < pixels; p++)
            for (int c = 0; c < v->channels; c++)
                o->row[v->first + (size_t)(c * pixels + p)] = values[(size_t)p * (size_t)v->channels + (size_t)c];
    }
    for (int i = 0; i < h->layers; i++)
        if (h->layer[i].op == o->op)
            memcpy(o->row + h->layer[i].first, values, (size_t)info->out_c * sizeof *values);
    o->op++;
}

int head_inputs_run(void *user, const inputs *list, const decode_settings *how, stream_fn take, void *to) {
    const head_inputs *h = user;
    decoded d;
    reid_error error;
    size_t failed = 0;
    int go_on = 1;
    float *row = need_zeroed(h->dim + 1, sizeof *row);
    pipeline *p = row ? pipeline_start(list, 0, list->count, how, NULL) : NULL;
    if (!p) {
        free(row);
        return 0;
    }
    progress_start("features", list->count);
    while (go_on && pipeline_next(p, &d)) {
        reid_image image = {d.pic.rgb, d.pic.width, d.pic.height, 0, REID_RGB8, NULL};
        observing o = {h, 0, row};
        int good = d.pic.rgb && reid_observe(h->m.ctx, &image, observe, &o, &error) == REID_OK;
        failed += !good;
        for (size_t i = 0; i < d.count && go_on; i++)
            go_on = take(to, d.first + i, good ? row : NULL, good ? NULL : d.pic.rgb ? error.text : d.why.s);
        progress_update(d.first + d.count, failed);
        pipeline_release(p, &d);
    }
    progress_stop();
    pipeline_stop(p);
    free(row);
    return !interrupted();
}
