#include "weights/head_make.h"

#include "base/memory.h"
#include "reid.h"
#include "weights/onnx_graph.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double EPSILON = 1e-5; /* of PyTorch's batch norms; only ONNX files state it */

/* The layers processed so far: y = weight (x * scale + shift) + bias. */
typedef struct affine {
    const checkpoint *c;
    mapping *m;
    text *why;
    uint64_t width, features;
    double *scale, *shift;    /* [features]: batch norms before the linear layer */
    double *weight, *bias;    /* (width, features) and [width]; NULL: the linear layer is still to come */
    const char *activation;
} affine;

/* --- values ------------------------------------------------------------------------------------------------------- */

static double from_half(uint32_t bits) {
    int exponent = (int)(bits >> 10 & 31);
    double fraction = (double)(bits & 1023) / 1024, sign = bits >> 15 ? -1 : 1;
    if (exponent == 31) return bits & 1023 ? NAN : sign * INFINITY;
    return sign * (exponent ? ldexp(1 + fraction, exponent - 15) : ldexp(fraction, -14));
}

static double from_bits(uint64_t bits, const char *type) {
    uint32_t low = (uint32_t)bits << (strcmp(type, "BF16") == 0 ? 16 : 0);
    float single;
    double value;
    if (strcmp(type, "F16") == 0) return from_half(low);
    memcpy(&single, &low, sizeof single);
    memcpy(&value, &bits, sizeof value);
    return strcmp(type, "F64") == 0 ? value : single;
}

typedef struct filling {
    double *to;
    const dtype *type;
} filling;

static int fill(void *user, const void *bytes, size_t size) {
    filling *f = user;
    const unsigned char *at = bytes;
    size_t element = (size_t)f->type->bytes;
    for (; size >= element; size -= element, at += element) {
        uint64_t bits = 0;
        for (size_t i = element; i-- > 0;) bits = bits << 8 | at[i];
        *f->to++ = from_bits(bits, f->type->name);
    }
    return 1;
}

/* Reads the `count` values of a tensor; if it is NULL, all of them are `otherwise`. NULL with the reason in why. */
static double *values_of(affine *a, mapped *from, uint64_t count, double otherwise) {
    static const char *const good[] = {"F32", "F16", "BF16", "F64"};
    double *to = mem_array((size_t)count, sizeof *to);
    if (!to) text_no_memory(a->why);
    for (uint64_t i = 0; i < count && to && !from; i++) to[i] = otherwise;
    if (!to || !from) return to;
    const tensor *t = from->from;
    filling f = {to, t->type};
    int known = 0;
    for (size_t i = 0; i < sizeof good / sizeof *good && !t->opaque; i++)
        known |= t->type->name && strcmp(t->type->name, good[i]) == 0;
    if (!known || t->count != count)
        refuse(a->why, "tensor %s of the head must have %llu value%s of type float32, float16, bfloat16 or float64",
               t->name, (unsigned long long)count, plural((size_t)count));
    else if (checkpoint_values(a->c, t, fill, &f, a->why)) return to;
    free(to);
    return NULL;
}

/* --- names -------------------------------------------------------------------------------------------------------- */

/* Finds the tensor named layer and part: exactly, after the network's prefix, or after any prefix. NULL if there is
   none, or with the reason in why if there are two. */
static mapped *find_part(affine *a, const char *layer, const char *part) {
    char name[MAX_NAME + 32];
    mapped *found = NULL;
    size_t n = (size_t)snprintf(name, sizeof name, "%s%s", layer, part), prefix = strlen(a->m->prefix);
    for (size_t i = 0; i < a->m->count; i++) {
        const char *is = a->m->at[i].from->name;
        if (strcmp(is, name) == 0 || (strncmp(is, a->m->prefix, prefix) == 0 && strcmp(is + prefix, name) == 0))
            return &a->m->at[i];
    }
    for (size_t i = 0; i < a->m->count; i++) {
        mapped *one = &a->m->at[i];
        size_t len = strlen(one->from->name);
        if (len <= n || one->from->name[len - n - 1] != '.' || strcmp(one->from->name + len - n, name) != 0) continue;
        if (found) {
            refuse(a->why, "the head's layer \"%s\" may be %s or %s; give the full name", layer, found->from->name,
                   one->from->name);
            return NULL;
        }
        found = one;
    }
    return found;
}

/* Marks a tensor as part of the head. Tensors of the network itself cannot be part of it. */
static int take(affine *a, mapped *part) {
    const tensor *t = part ? part->from : NULL;
    if (!part) return 1;
    if (part->what == FATE_HEAD) return refuse(a->why, "tensor %s is used twice in the head", t->name);
    if (part->wanted && strncmp(part->name, "projection.", 11) != 0)
        return refuse(a->why, "tensor %s is part of network %s, so it cannot be part of a head", t->name,
                      a->m->network->name);
    if (t->opaque)
        return refuse(a->why, "tensor %s is %.120s, which is not stored as plain values", t->name, t->opaque);
    a->m->by_fate[part->what]--;
    a->m->by_fate[FATE_HEAD]++;
    part->what = FATE_HEAD;
    part->note[0] = 0;
    return 1;
}

/* --- layers ------------------------------------------------------------------------------------------------------- */

static int add_linear(affine *a, const char *layer, mapped *weight, mapped *bias) {
    const tensor *t = weight->from;
    uint64_t count;
    if (a->weight) return refuse(a->why, "the head has a second linear layer, \"%s\"; only one is allowed", layer);
    if (t->ndim < 2 || t->shape[0] < 1 || t->shape[0] > REID_MAX_DIM || t->count != t->shape[0] * a->features)
        return refuse(a->why, "tensor %s of the head has %llu x %llu values; expected 1 to %d x %llu, the number of "
                      "features of %s", t->name, (unsigned long long)(t->ndim < 1 ? 0 : t->shape[0]),
                      (unsigned long long)(t->ndim < 1 || !t->shape[0] ? t->count : t->count / t->shape[0]),
                      REID_MAX_DIM, (unsigned long long)a->features, a->m->network->name);
    a->width = t->shape[0];
    if (!checked_mul(a->width, a->features, &count)) return text_no_memory(a->why);
    a->weight = take(a, weight) && take(a, bias) ? values_of(a, weight, count, 0) : NULL;
    a->bias = a->weight ? values_of(a, bias, a->width, 0) : NULL;
    if (!a->bias) return 0;
    for (uint64_t d = 0; d < a->width; d++)
        for (uint64_t f = 0; f < a->features; f++) {
            double *w = &a->weight[d * a->features + f];
            a->bias[d] += *w * a->shift[f];
            *w *= a->scale[f];
        }
    return 1;
}

/* Multiplies channel i of the output so far by factor and adds offset. */
static void scale_channel(affine *a, uint64_t i, double factor, double offset) {
    if (!a->weight) {
        a->scale[i] *= factor;
        a->shift[i] = a->shift[i] * factor + offset;
        return;
    }
    for (uint64_t f = 0; f < a->features; f++) a->weight[i * a->features + f] *= factor;
    a->bias[i] = a->bias[i] * factor + offset;
}

/* What is added to a batch norm's variance; ONNX files state it. */
static double epsilon_of(const affine *a, const mapped *variance) {
    const onnx_graph *g = a->c->graph;
    for (size_t i = 0; g && i < g->count; i++) {
        const onnx_node *n = &g->nodes[i];
        if (strcmp(n->op, "BatchNormalization") == 0 && n->input_count > 4 &&
            strcmp(n->inputs[4], variance->from->name) == 0) return (double)n->epsilon;
    }
    return EPSILON;
}

static int add_norm(affine *a, const char *layer) {
    static const char *const names[] = {".weight", ".bias", ".running_mean", ".running_var"};
    double *values[4] = {NULL, NULL, NULL, NULL};
    uint64_t count = a->weight ? a->width : a->features;
    double epsilon = EPSILON;
    int good = 1;
    for (int k = 0; k < 4 && good; k++) {
        mapped *part = find_part(a, layer, names[k]);
        if (k >= 2 && !part) refuse(a->why, "the head's batch norm \"%s\" has no %s", layer, names[k] + 1);
        good = (part || k < 2) && !a->why->len && take(a, part);
        values[k] = good ? values_of(a, part, count, k == 0) : NULL;
        if (good && k == 3) epsilon = epsilon_of(a, part);
        good = values[k] != NULL;
    }
    for (uint64_t i = 0; i < count && good; i++) {
        double variance = values[3][i] + epsilon, factor = variance > 0 ? values[0][i] / sqrt(variance) : 0;
        if (!(variance > 0))
            good = refuse(a->why, "the head's batch norm \"%s\" has the invalid variance %g in channel %llu", layer,
                          values[3][i], (unsigned long long)i);
        else scale_channel(a, i, factor, values[1][i] - values[2][i] * factor);
    }
    mapped *counter = good ? find_part(a, layer, ".num_batches_tracked") : NULL;
    if (counter) good = take(a, counter);
    for (int k = 0; k < 4; k++) free(values[k]);
    return good;
}

static int add_activation(affine *a, const char *word) {
    static const char *const known[][2] = {{"relu", "relu"}, {"silu", "silu"}, {"swish", "silu"}, {"tanh", "tanh"}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(word, known[i][0]) == 0) a->activation = known[i][1];
    if (a->activation) return 1;
    return refuse(a->why, "\"%s\" is neither a layer in the file (%s.weight) nor an activation that may follow a head "
                  "(relu, silu, tanh)", word, word);
}

static int add_layer(affine *a, const char *layer) {
    if (a->activation) return refuse(a->why, "the head's activation must come last, but \"%s\" follows it", layer);
    mapped *weight = find_part(a, layer, ".weight"), *mean = find_part(a, layer, ".running_mean");
    if (a->why->len) return 0; /* several layers have this name */
    if (mean) return add_norm(a, layer);
    mapped *bias = find_part(a, layer, ".bias");
    if (a->why->len) return 0;
    return weight ? add_linear(a, layer, weight, bias) : add_activation(a, layer);
}

static int add_layers(affine *a, const char *layers) {
    char name[MAX_NAME + 1];
    for (const char *at = layers;; at++) {
        size_t n = strcspn(at, ",");
        if (n == 0 || n > MAX_NAME)
            return refuse(a->why, "invalid head \"%s\"; expected names of layers, separated by commas", layers);
        memcpy(name, at, n);
        name[n] = 0;
        if (!add_layer(a, name)) return 0;
        at += n;
        if (!*at) break;
    }
    return a->weight ? 1 : refuse(a->why, "the head \"%s\" has no linear layer", layers);
}

/* --- the result --------------------------------------------------------------------------------------------------- */

static float *rounded(const double *from, uint64_t count, text *why) {
    float *to = mem_array((size_t)count, sizeof *to);
    if (!to) text_no_memory(why);
    for (uint64_t i = 0; i < count && to; i++) to[i] = (float)from[i];
    return to;
}

static int finish_head(made_head *h, const affine *a) {
    float *weight = rounded(a->weight, a->width * a->features, a->why), *bias = rounded(a->bias, a->width, a->why);
    const new_tensor list[] = {
        {.name = "projection.weight", .ndim = 2, .shape = {a->width, a->features}, .values = weight},
        {.name = "projection.bias", .ndim = 1, .shape = {a->width, 0}, .values = bias}};
    int good = weight && bias && new_tensors(&h->tensors, list, 2, &h->bytes, a->why);
    h->width = a->width;
    h->activation = a->activation;
    h->used = a->m->by_fate[FATE_HEAD];
    free(weight);
    free(bias);
    return good;
}

int head_make(made_head *h, const checkpoint *c, mapping *m, const char *layers, uint64_t features, text *why) {
    affine a;
    memset(h, 0, sizeof *h);
    memset(&a, 0, sizeof a);
    a.c = c, a.m = m, a.why = why, a.features = features;
    text_clear(why);
    a.scale = values_of(&a, NULL, features, 1);
    a.shift = a.scale ? values_of(&a, NULL, features, 0) : NULL;
    int good = a.shift && add_layers(&a, layers) && finish_head(h, &a);
    free(a.scale);
    free(a.shift);
    free(a.weight);
    free(a.bias);
    return good;
}

void head_free(made_head *h) {
    checkpoint_close(&h->tensors);
    text_free(&h->bytes);
    memset(h, 0, sizeof *h);
}
