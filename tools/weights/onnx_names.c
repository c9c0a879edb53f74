#include "weights/onnx_names.h"

#include "base/memory.h"
#include "weights/checkpoint_open.h"
#include "weights/onnx_graph.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_CONVS = 512, NOWHERE = -1, LAYERS = 4, MAX_STEPS = 64 };

/* A convolution that a network has. */
typedef struct expected {
    const want *weight;
    char name[MAX_NAME + 1]; /* without .weight */
    int depth;               /* the most convolutions on a path from the image to it, including itself */
    int stride;
    int strides_on;          /* 1: its stride may be 1 or 2; in re-ID, ResNet's layer4 often has 1 */
    int inside;              /* 1: theta, phi or g of a non-local block, which only what uses them tells apart */
    int node;                /* the file's node; NOWHERE: none fits */
    int instance, batch;     /* the nodes of the instance norm behind it, and of IBN-a's batch norm; NOWHERE: none */
} expected;

/* A value's name, and the node that outputs it. */
typedef struct made_by {
    const char *name;
    int node;
} made_by;

typedef struct naming {
    checkpoint *c;
    const onnx_graph *g;
    text *why;
    made_by *values; /* sorted by name */
    size_t value_count;
    int *depth;      /* of each node */
    char *used;      /* of each tensor of the file: 1 if it is now in the result under its network's name */
    size_t tensors;  /* the number of tensors in the file */
    const network *net;
    expected *convs;
    size_t conv_count;
    int same;        /* 1: a node has TensorFlow's padding */
    int bare_pool;   /* 1: the first max pool is fast-reid's: no padding, and its size rounded up */
    int bare_stem;   /* 1: there is no ReLU before the first max pool, as in strong-baseline's code */
    char *explained; /* of each node: 1 if it is part of an instance norm, a non-local block or a generalised mean */
    double exponent; /* of a generalised mean at the end; 0: none */
} naming;

/* --- values and the nodes that output them ------------------------------------------------------------------------ */

static int by_value_name(const void *a, const void *b) {
    return strcmp(((const made_by *)a)->name, ((const made_by *)b)->name);
}

/* The node that outputs a value, or NOWHERE. */
static int maker_of(const naming *n, const char *value) {
    const made_by key = {value, 0};
    const made_by *found =
        n->value_count ? bsearch(&key, n->values, n->value_count, sizeof key, by_value_name) : NULL;
    return found ? found->node : NOWHERE;
}

static int list_values(naming *n) {
    size_t cap = 0;
    for (size_t i = 0; i < n->g->count; i++)
        for (size_t k = 0; k < n->g->nodes[i].output_count; k++) {
            if (!n->g->nodes[i].outputs[k][0]) continue;
            if (!GROW(n->values, n->value_count, cap)) return text_no_memory(n->why);
            n->values[n->value_count++] = (made_by){n->g->nodes[i].outputs[k], (int)i};
        }
    if (n->value_count) qsort(n->values, n->value_count, sizeof *n->values, by_value_name);
    for (size_t i = 1; i < n->value_count; i++)
        if (by_value_name(&n->values[i - 1], &n->values[i]) == 0)
            return refuse(n->why, "two nodes output the value \"%.200s\"", n->values[i].name);
    return 1;
}

static int is_op(const onnx_node *node, const char *op) { return strcmp(node->op, op) == 0; }

/* Sets the depth of every node. ONNX requires nodes to follow those whose outputs they use, so one pass is enough, and
   there are no cycles. */
static int find_depths(naming *n) {
    for (size_t i = 0; i < n->g->count; i++) {
        const onnx_node *node = &n->g->nodes[i];
        for (size_t k = 0; k < node->input_count; k++) {
            int from = maker_of(n, node->inputs[k]);
            if (from == NOWHERE) continue;
            if (from >= (int)i)
                return refuse(n->why, "node \"%.200s\" (%.60s) uses the output of a later node", node->name, node->op);
            if (n->depth[from] > n->depth[i]) n->depth[i] = n->depth[from];
        }
        n->depth[i] += is_op(node, "Conv");
    }
    return 1;
}

static int by_tensor_name(const void *a, const void *b) {
    return strcmp(((const tensor *)a)->name, ((const tensor *)b)->name);
}

/* The tensor that is input number `input` of the node. Looks through Identity nodes, which exporters write for equal
   tensors. NULL: the input is computed or omitted. The file has one group of tensors, sorted by name. */
static tensor *tensor_of(const naming *n, const onnx_node *node, size_t input) {
    const char *name = input < node->input_count ? node->inputs[input] : "";
    tensor key = {0};
    for (int from = maker_of(n, name); from != NOWHERE; from = maker_of(n, name)) {
        const onnx_node *maker = &n->g->nodes[from];
        if (!is_op(maker, "Identity") || !maker->input_count) break;
        name = maker->inputs[0];
    }
    key.name = (char *)name; /* bsearch only compares */
    if (!n->tensors) return NULL;
    return bsearch(&key, n->c->tensors, n->tensors, sizeof key, by_tensor_name);
}

/* --- what a network expects --------------------------------------------------------------------------------------- */

static int is_wanted(const network *net, const char *name) {
    size_t low = 0, high = net->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(net->wants[middle].name, name);
        if (!order) return 1;
        if (order < 0) low = middle + 1;
        else high = middle;
    }
    return 0;
}

static int is_wanted_after(const network *net, const char *start, const char *end) {
    char name[MAX_NAME + 64];
    snprintf(name, sizeof name, "%s%s", start, end);
    return is_wanted(net, name);
}

/* The blocks of a ResNet's layers, and how many of the last ones of each have a non-local block behind them. */
typedef struct layers {
    int blocks[LAYERS + 1], nonlocals[LAYERS + 1];
} layers;

static layers layers_of(const network *net) {
    layers l = {{0}, {0}};
    char name[40];
    for (int i = 1; i <= LAYERS; i++) {
        while (snprintf(name, sizeof name, "layer%d.%d.conv1.weight", i, l.blocks[i]) > 0 && is_wanted(net, name))
            l.blocks[i]++;
        while (snprintf(name, sizeof name, "NL_%d.%d.g.weight", i, l.nonlocals[i]) > 0 && is_wanted(net, name))
            l.nonlocals[i]++;
    }
    return l;
}

/* The depth before a block: three convolutions for each block before it, and two for each non-local block. */
static int depth_before(const layers *l, int layer, int block) {
    int depth = 1 + 3 * block, behind = block - (l->blocks[layer] - l->nonlocals[layer]);
    for (int i = 1; i < layer; i++) depth += 3 * l->blocks[i] + 2 * l->nonlocals[i];
    return depth + (behind > 0 ? 2 * behind : 0);
}

/* A ResNet has three convolutions per block and, in parallel, the shortcut's, which is as deep as the first. A
   non-local block has three in parallel, then one. */
static void place_resnet(expected *e, const layers *l) {
    int layer = 0, block = 0, conv = 0, end = 0;
    e->depth = e->stride = 0;
    if (strcmp(e->name, "conv1") == 0) e->depth = 1, e->stride = 2;
    else if (sscanf(e->name, "layer%1d.%2d.conv%1d", &layer, &block, &conv) == 3 && layer >= 1 && layer <= LAYERS)
        e->depth = depth_before(l, layer, block) + conv;
    else if (sscanf(e->name, "layer%1d.0.downsample.%1d", &layer, &conv) == 2 && layer >= 1 && layer <= LAYERS)
        e->depth = depth_before(l, layer, 0) + 1, conv = 2;
    else if (sscanf(e->name, "NL_%1d.%2d.%n", &layer, &block, &end) == 2 && end && layer >= 1 && layer <= LAYERS) {
        e->inside = e->name[end] != 'W';
        block += l->blocks[layer] - l->nonlocals[layer];
        e->depth = depth_before(l, layer, block) + (e->inside ? 4 : 5);
    }
    if (!layer) return;
    int strides = layer > 1 && block == 0 && conv == 2;
    e->stride = strides ? 2 : 1;
    e->strides_on = strides && layer == 4;
}

/* The stride of stage features.0 to 8. V2's stages have the strides of B0's. */
static int stage_stride(const char *name) {
    static const int strides[] = {2, 1, 2, 2, 2, 1, 2, 1, 1};
    int stage = name[strlen("features.")] - '0';
    return stage >= 0 && stage <= 8 ? strides[stage] : 1;
}

static int is_first_block(const char *name) { return strstr(name, ".0.block.") == name + strlen("features.0"); }

/* EfficientNet's convolutions follow each other in the order of their sorted names; its shortcuts have none. The one
   that is larger than 1x1 has the stride. */
static void place_efficientnet(expected *e, int place) {
    int first = e->name[strlen("features.")] == '0' || is_first_block(e->name);
    e->depth = place + 1;
    e->stride = first && e->weight->shape[2] > 1 ? stage_stride(e->name) : 1;
}

static int is_resnet(const network *net) { return strncmp(net->name, "resnet", 6) == 0; }

/* Sorts longer numbers after shorter ones, so that "10" comes after "9". */
static int by_numbers(const void *a, const void *b) {
    const char *x = ((const expected *)a)->name, *y = ((const expected *)b)->name;
    for (; *x && *x == *y; x++, y++) {}
    size_t i = strspn(x, "0123456789"), k = strspn(y, "0123456789");
    if (i != k && i && k) return i < k ? -1 : 1;
    return strcmp(x, y);
}

static int expect_convs(naming *n, const network *net) {
    size_t tail = strlen(".weight");
    n->net = net;
    n->conv_count = 0;
    for (size_t i = 0; i < net->count; i++) {
        size_t len = strlen(net->wants[i].name);
        if (net->wants[i].ndim != 4 || len <= tail || len > MAX_NAME || n->conv_count == MAX_CONVS) continue;
        expected *e = &n->convs[n->conv_count++];
        memset(e, 0, sizeof *e);
        e->weight = &net->wants[i];
        memcpy(e->name, net->wants[i].name, len - tail);
        e->node = e->instance = e->batch = NOWHERE;
    }
    layers l = layers_of(net);
    if (n->conv_count) qsort(n->convs, n->conv_count, sizeof *n->convs, by_numbers);
    for (size_t i = 0; i < n->conv_count; i++)
        if (is_resnet(net)) place_resnet(&n->convs[i], &l);
        else place_efficientnet(&n->convs[i], (int)i);
    return n->conv_count > 0;
}

static int has_shape(const expected *e, const tensor *weight) {
    return weight && weight->ndim == 4 && memcmp(weight->shape, e->weight->shape, 4 * sizeof *weight->shape) == 0;
}

/* Finds for each convolution of the network the node of its depth and shape. Returns how many have one. */
static size_t match_convs(naming *n) {
    size_t found = 0;
    for (size_t i = 0; i < n->g->count; i++) {
        const onnx_node *node = &n->g->nodes[i];
        if (!is_op(node, "Conv")) continue;
        const tensor *weight = tensor_of(n, node, 1);
        for (size_t k = 0; k < n->conv_count; k++) {
            expected *e = &n->convs[k];
            if (e->node != NOWHERE || e->inside || e->depth != n->depth[i] || !has_shape(e, weight)) continue;
            e->node = (int)i;
            found++;
            break;
        }
    }
    return found;
}

/* Chooses the network with the most convolutions in the graph. Returns 0 if no network has more than half of its own
   there. */
static int choose_network(naming *n, const network *networks, size_t count, const char *asked) {
    size_t best = 0, most = 0;
    for (size_t i = 0; i < count; i++) {
        if (asked && strcmp(asked, networks[i].name) != 0) continue;
        size_t found = expect_convs(n, &networks[i]) ? match_convs(n) : 0;
        if (2 * found > n->conv_count && found > most) most = found, best = i;
    }
    if (!most) return 0;
    expect_convs(n, &networks[best]);
    match_convs(n);
    return 1;
}

/* --- checks that the nodes compute the network -------------------------------------------------------------------- */

static int unfit(const naming *n, const onnx_node *node, const char *what) {
    return refuse(n->why, "node \"%.200s\" (%.60s): %s, unlike network %s", node->name, node->op, what,
                  n->net->name);
}

static void shape_text(char *out, size_t size, const tensor *t) {
    size_t at = (size_t)snprintf(out, size, "[");
    for (int i = 0; i < t->ndim && at < size; i++)
        at += (size_t)snprintf(out + at, size - at, "%s%llu", i ? ", " : "", (unsigned long long)t->shape[i]);
    if (at < size) snprintf(out + at, size - at, "]");
}

/* Names the first convolution without a node, and the node that is in its place. */
static int refuse_missing(const naming *n, const expected *e) {
    for (size_t i = 0; i < n->g->count; i++) {
        const onnx_node *node = &n->g->nodes[i];
        int taken = 0;
        char have[120] = "computed";
        for (size_t k = 0; k < n->conv_count; k++) taken |= n->convs[k].node == (int)i;
        if (taken || n->depth[i] != e->depth || !is_op(node, "Conv")) continue;
        const tensor *weight = tensor_of(n, node, 1);
        if (weight) shape_text(have, sizeof have, weight);
        return refuse(n->why, "node \"%.200s\" (Conv): its weights are %s, but network %s needs [%llu, %llu, %llu, "
                      "%llu] there (%s)", node->name, have, n->net->name, (unsigned long long)e->weight->shape[0],
                      (unsigned long long)e->weight->shape[1], (unsigned long long)e->weight->shape[2],
                      (unsigned long long)e->weight->shape[3], e->name);
    }
    return refuse(n->why, "the graph has no convolution for %s (network %s)", e->name, n->net->name);
}

/* Accepts padding on both sides, or TensorFlow's, whose odd pixel is at the end. */
static int check_padding(naming *n, const onnx_node *node, const expected *e) {
    uint64_t k = e->weight->shape[2], around = (k - 1) / 2;
    int given = node->pad == ONNX_PAD_GIVEN, even = 1, odd = 1, none = k == 1;
    for (int i = 0; i < 4; i++) {
        even &= node->pads[i] == around;
        odd &= node->pads[i] == (i < 2 ? (k - 2) / 2 : (k - 1) / 2);
    }
    if ((given && even) || (none && (node->pad == ONNX_PAD_VALID || node->pad == ONNX_PAD_SAME_UPPER))) return 1;
    if (node->pad == ONNX_PAD_SAME_UPPER && e->stride == 1) return 1; /* it is then the same on both sides */
    if ((given && odd && e->stride == 2 && k > 1) || node->pad == ONNX_PAD_SAME_UPPER) {
        n->same = 1;
        return !is_resnet(n->net) || unfit(n, node, "TensorFlow's padding");
    }
    return unfit(n, node, "different padding");
}

/* The list of integers with that name; NULL: it is computed, too long or not unique. */
static const onnx_ints *ints_of(const naming *n, const char *name) {
    const onnx_ints *found = NULL;
    for (size_t i = 0; i < n->g->int_count; i++) {
        if (strcmp(n->g->ints[i].name, name) != 0) continue;
        if (found) return NULL;
        found = &n->g->ints[i];
    }
    return found;
}

static int take_fill(void *user, const void *bytes, size_t size) {
    memcpy(user, bytes, size < 8 ? size : 8);
    return 1;
}

/* Reads the value with which a Pad fills its border. *zero: it is 0; *lowest: it is FP32's -inf. */
static int read_fill(const naming *n, const onnx_node *pad, int *zero, int *lowest) {
    unsigned char bytes[8] = {0}, none[8] = {0};
    const float infinity = -INFINITY;
    size_t size = sizeof infinity;
    memcpy(bytes, &pad->fill, size);
    if (pad->input_count > 2 && pad->inputs[2][0]) {
        const tensor *t = tensor_of(n, pad, 2);
        if (!t || t->count != 1) return unfit(n, pad, "a computed border value");
        if (!checkpoint_values(n->c, t, take_fill, bytes, n->why)) return 0;
        size = (size_t)t->type->bytes;
    }
    *zero = memcmp(bytes, none, size) == 0;
    *lowest = size == sizeof infinity && memcmp(bytes, &infinity, size) == 0;
    return 1;
}

/* Reads the widths of a Pad that does nothing else and whose output only `user` reads. `user` must be able to pad in
   the same way: a convolution pads with zeros, a maximum with -inf, or with zeros if its input has no negative
   values. */
static int read_border(const naming *n, const onnx_node *pad, const onnx_node *user, uint64_t border[ONNX_INTS]) {
    const onnx_ints *list = pad->input_count > 1 ? ints_of(n, pad->inputs[1]) : NULL;
    int uses = 0, zero = 0, lowest = 0, maker = pad->input_count ? maker_of(n, pad->inputs[0]) : NOWHERE;
    if (pad->reflects || pad->output_count != 1) return unfit(n, pad, "a border that is not constant");
    if (pad->input_count > 3 && pad->inputs[3][0]) return unfit(n, pad, "a Pad with axes");
    if (pad->border_count) memcpy(border, pad->border, sizeof pad->border);
    else if (list && list->count == ONNX_INTS) memcpy(border, list->values, sizeof list->values);
    else return unfit(n, pad, "a border that is not given as eight numbers");
    for (int i = 0; i < ONNX_INTS; i++) {
        if (border[i] > 64) return unfit(n, pad, "a negative or large border");
        if (border[i] && i % 4 < 2) return unfit(n, pad, "a border in the batch or channel dimension");
    }
    for (size_t i = 0; i < n->g->count; i++)
        for (size_t k = 0; k < n->g->nodes[i].input_count; k++)
            uses += strcmp(n->g->nodes[i].inputs[k], pad->outputs[0]) == 0;
    if (uses != 1) return unfit(n, pad, "a border that several nodes use");
    if (!read_fill(n, pad, &zero, &lowest)) return 0;
    int good = is_op(user, "Conv") ? zero : lowest || (zero && maker != NOWHERE && is_op(&n->g->nodes[maker], "Relu"));
    return good || unfit(n, pad, "a border with other values");
}

/* Turns a Pad before a convolution or a pool, as TensorFlow's exporters write it, into padding of that node; the Pad
   becomes an Identity. */
static int join_pad(naming *n, onnx_node *user) {
    static const int places[4] = {2, 3, 6, 7}; /* top, left, bottom, right */
    uint64_t border[ONNX_INTS];
    int from = user->input_count ? maker_of(n, user->inputs[0]) : NOWHERE;
    onnx_node *pad = from == NOWHERE ? NULL : &n->c->graph->nodes[from];
    if (!pad || !is_op(pad, "Pad")) return 1;
    if (!read_border(n, pad, user, border)) return 0;
    if (user->pad != ONNX_PAD_GIVEN && user->pad != ONNX_PAD_VALID)
        return unfit(n, pad, "a border combined with auto_pad");
    user->pad = ONNX_PAD_GIVEN;
    for (int i = 0; i < 4; i++) user->pads[i] += border[places[i]];
    char *op = mem_copy("Identity", strlen("Identity"));
    if (!op) return text_no_memory(n->why);
    free(pad->op);
    pad->op = op;
    return 1;
}

/* The node that uses the output of node `from`, preferably one with this operation; NOWHERE: none. */
static int next_node(const naming *n, int from, const char *op) {
    const onnx_node *node = &n->g->nodes[from];
    int found = NOWHERE;
    for (size_t i = (size_t)from + 1; i < n->g->count && node->output_count; i++)
        for (size_t k = 0; k < n->g->nodes[i].input_count; k++)
            if (strcmp(n->g->nodes[i].inputs[k], node->outputs[0]) == 0 &&
                (found == NOWHERE || is_op(&n->g->nodes[i], op)))
                found = (int)i;
    return found;
}

/* Makes "layer1.0.bn2" of "layer1.0.conv2" and "features.0.1" of "features.0.0". */
static void norm_name(const char *conv, char out[MAX_NAME + 1]) {
    const char *dot = strrchr(conv, '.'), *last = dot ? dot + 1 : conv;
    int start = (int)(last - conv);
    if (strncmp(last, "conv", 4) == 0) snprintf(out, MAX_NAME + 1, "%.*sbn%s", start, conv, last + 4);
    else snprintf(out, MAX_NAME + 1, "%.*s1", start, conv);
}

/* --- instance norm, non-local blocks and generalised means -------------------------------------------------------- */

/* The only node that uses the value, if it has this operation and one output; else NOWHERE. */
static int user_of(const naming *n, const char *value, const char *op) {
    int found = NOWHERE, uses = 0;
    for (size_t i = 0; i < n->g->count; i++)
        for (size_t k = 0; k < n->g->nodes[i].input_count; k++)
            if (strcmp(n->g->nodes[i].inputs[k], value) == 0) found = (int)i, uses++;
    return uses == 1 && is_op(&n->g->nodes[found], op) && n->g->nodes[found].output_count == 1 ? found : NOWHERE;
}

/* 1 if input number `input` is the list of one number, which is then in *value. */
static int read_int(const naming *n, const onnx_node *node, size_t input, uint64_t *value) {
    const onnx_ints *list = input < node->input_count ? ints_of(n, node->inputs[input]) : NULL;
    if (!list || list->count != 1) return 0;
    *value = list->values[0];
    return 1;
}

static int take_values(void *user, const void *bytes, size_t size) { return text_add(user, bytes, size), 1; }

/* Reads a single number that the file has as an FP32 or FP64 tensor. */
static int read_real(const naming *n, const onnx_node *node, size_t input, double *value) {
    const tensor *t = tensor_of(n, node, input);
    text bytes = TEXT_INIT, why = TEXT_INIT;
    float single = 0;
    int is_double = t && t->type->name && strcmp(t->type->name, "F64") == 0;
    int good = t && t->count == 1 && t->type->name && (is_double || strcmp(t->type->name, "F32") == 0) &&
               checkpoint_values(n->c, t, take_values, &bytes, &why) && bytes.len == (is_double ? 8u : 4u);
    if (good && is_double) memcpy(value, bytes.s, 8);
    if (good && !is_double) memcpy(&single, bytes.s, 4), *value = (double)single;
    text_free(&bytes), text_free(&why);
    return good;
}

/* Reads a number that is a constant, or computed from constants as exporters write 1 / p. */
static int read_computed(const naming *n, const onnx_node *node, size_t input, int steps, double *value) {
    double a, b = 1;
    if (read_real(n, node, input, value)) return 1;
    int at = input < node->input_count ? maker_of(n, node->inputs[input]) : NOWHERE;
    const onnx_node *from = at == NOWHERE ? NULL : &n->g->nodes[at];
    int inverse = from && is_op(from, "Reciprocal"), product = from && is_op(from, "Mul");
    if (!from || steps == 4 || !(inverse || product || is_op(from, "Div"))) return 0;
    if (!read_computed(n, from, 0, steps + 1, &a) || (!inverse && !read_computed(n, from, 1, steps + 1, &b))) return 0;
    *value = inverse ? 1 / a : product ? a * b : a / b;
    return 1;
}

static void explain(naming *n, int node) { n->explained[node] = 1; }

/* The values of both halves of the channels of a value, by a Split or by two Slices, or 0. */
static int find_halves(naming *n, const char *value, uint64_t channels, const char *half[2]) {
    half[0] = half[1] = NULL;
    for (size_t i = 0; i < n->g->count; i++) {
        const onnx_node *node = &n->g->nodes[i];
        uint64_t from = 0, to = 0, axis = 0, step = 1;
        if (!node->input_count || strcmp(node->inputs[0], value) != 0) continue;
        const onnx_ints *sizes = node->input_count > 1 ? ints_of(n, node->inputs[1]) : NULL;
        if (is_op(node, "Split") && node->output_count == 2 && node->axis == 1) {
            const uint64_t *size = sizes ? sizes->values : node->list;
            size_t count = sizes ? sizes->count : node->list_count;
            if (count && (count != 2 || size[0] != channels / 2 || size[1] != channels / 2)) return 0;
            half[0] = node->outputs[0], half[1] = node->outputs[1];
        } else if (is_op(node, "Slice") && node->output_count == 1 && read_int(n, node, 1, &from) &&
                   read_int(n, node, 2, &to) && read_int(n, node, 3, &axis) && axis == 1 &&
                   (node->input_count < 5 || (read_int(n, node, 4, &step) && step == 1))) {
            if (from == 0 && to == channels / 2) half[0] = node->outputs[0];
            else if (from == channels / 2 && to >= channels && to <= INT64_MAX) half[1] = node->outputs[0];
            else return 0;
        } else {
            return 0;
        }
        explain(n, (int)i);
    }
    return half[0] && half[1];
}

static int check_instance(naming *n, const onnx_node *node) {
    if (fabsf(node->epsilon - 1e-5f) > 1e-7f) return unfit(n, node, "a different epsilon");
    return (tensor_of(n, node, 1) && tensor_of(n, node, 2)) || unfit(n, node, "computed factors");
}

/* IBN-a: instance norm of the first half of a convolution's channels and batch norm of the second, then both joined. */
static int find_ibn_a(naming *n, expected *e) {
    const onnx_node *conv = &n->g->nodes[e->node];
    const char *half[2];
    if (conv->output_count != 1 || !find_halves(n, conv->outputs[0], e->weight->shape[0], half))
        return unfit(n, conv, "its channels are not split into two halves");
    e->instance = user_of(n, half[0], "InstanceNormalization");
    e->batch = user_of(n, half[1], "BatchNormalization");
    if (e->instance == NOWHERE || e->batch == NOWHERE)
        return unfit(n, conv, "not instance norm of the first half of its channels and batch norm of the second");
    const onnx_node *a = &n->g->nodes[e->instance], *b = &n->g->nodes[e->batch];
    int joined = user_of(n, a->outputs[0], "Concat");
    const onnx_node *both = joined == NOWHERE ? NULL : &n->g->nodes[joined];
    if (!both || both->axis != 1 || both->input_count != 2 || strcmp(both->inputs[0], a->outputs[0]) != 0 ||
        strcmp(both->inputs[1], b->outputs[0]) != 0)
        return unfit(n, a, "its halves are not joined in order");
    explain(n, e->instance), explain(n, e->batch), explain(n, joined);
    return check_instance(n, a);
}

/* IBN-b: instance norm behind the first convolution, or behind the addition at the end of a block. */
static int find_ibn_b(naming *n, expected *e, int adds) {
    int at = e->node;
    for (int steps = 0; adds && steps < 3 && at != NOWHERE && !is_op(&n->g->nodes[at], "Add"); steps++)
        at = next_node(n, at, "Add");
    int next = at == NOWHERE ? NOWHERE : next_node(n, at, "InstanceNormalization");
    if (next == NOWHERE || !is_op(&n->g->nodes[next], "InstanceNormalization"))
        return unfit(n, &n->g->nodes[e->node], adds ? "no instance norm after the addition that follows"
                                                    : "no instance norm after it");
    e->instance = next;
    explain(n, next);
    return check_instance(n, &n->g->nodes[next]);
}

/* Goes back from a value through nodes that only rearrange it; *turns: how often they exchange channels and positions.
   Returns the node that computes the value, or NOWHERE. */
static int source_of(naming *n, const char *value, int *turns) {
    *turns = 0;
    for (int steps = 0; steps < MAX_STEPS; steps++) {
        int at = maker_of(n, value);
        const onnx_node *node = at == NOWHERE ? NULL : &n->g->nodes[at];
        if (!node || !node->input_count) return NOWHERE;
        if (is_op(node, "Transpose")) {
            if (node->list_count != 3 || node->list[0] != 0 || node->list[1] != 2 || node->list[2] != 1)
                return NOWHERE;
            ++*turns;
        } else if (!is_op(node, "Reshape") && !is_op(node, "Identity") && !is_op(node, "Flatten")) {
            return at;
        }
        explain(n, at);
        value = node->inputs[0];
    }
    return NOWHERE;
}

/* 1 if the value is a constant or depends on the shapes of others alone, by no more than *steps nodes. */
static int is_size(const naming *n, const char *value, int *steps) {
    static const char *const ops[] = {"Gather", "Slice", "Cast", "Identity", "Unsqueeze", "Squeeze", "Mul", "Constant",
                                      "ReduceProd", "Concat"};
    int at = maker_of(n, value), good = 0;
    if (at == NOWHERE) return 1;
    if (--*steps < 0) return 0;
    const onnx_node *node = &n->g->nodes[at];
    if (is_op(node, "Shape") || is_op(node, "Size")) return 1;
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) good |= is_op(node, ops[i]);
    for (size_t k = 0; k < node->input_count && good; k++) good = is_size(n, node->inputs[k], steps);
    return good;
}

/* The convolution of the network with this name, which is one. */
static expected *conv_named(naming *n, const char *start, const char *end) {
    size_t len = strlen(start);
    for (size_t i = 0; i < n->conv_count; i++)
        if (strncmp(n->convs[i].name, start, len) == 0 && strcmp(n->convs[i].name + len, end) == 0)
            return &n->convs[i];
    return &n->convs[0];
}

/* A non-local block: with the positions of theta, phi and g as rows, W(theta phi' / positions * g) + x. Finds theta,
   phi and g from W. */
static int find_nonlocal(naming *n, expected *w) {
    static const char *const parts[] = {"theta", "phi", "g"}, not_one[] = "its input is not that of a non-local block";
    static const int wanted[] = {1, 0, 1};
    const onnx_node *last = &n->g->nodes[w->node];
    int turns, at = source_of(n, last->inputs[0], &turns), from[3], turned[3];
    const onnx_node *second = at == NOWHERE ? NULL : &n->g->nodes[at];
    if (!second || turns != 1 || !is_op(second, "MatMul") || second->input_count != 2) return unfit(n, last, not_one);
    explain(n, at);
    from[2] = source_of(n, second->inputs[1], &turned[2]);
    at = source_of(n, second->inputs[0], &turns);
    const onnx_node *div = at == NOWHERE ? NULL : &n->g->nodes[at];
    double divisor = 1;
    if (!div || turns || !is_op(div, "Div") || div->input_count != 2) return unfit(n, last, not_one);
    int constant = read_real(n, div, 1, &divisor), steps = MAX_STEPS;
    int whole = constant && divisor >= 1 && divisor <= floor(divisor);
    if (!whole && (constant || tensor_of(n, div, 1) || !is_size(n, div->inputs[1], &steps)))
        return unfit(n, div, "not divided by the number of positions");
    explain(n, at);
    at = source_of(n, div->inputs[0], &turns);
    const onnx_node *first = at == NOWHERE ? NULL : &n->g->nodes[at];
    if (!first || turns || !is_op(first, "MatMul") || first->input_count != 2) return unfit(n, last, not_one);
    explain(n, at);
    for (int i = 0; i < 2; i++) from[i] = source_of(n, first->inputs[i], &turned[i]);
    for (int i = 0; i < 3; i++) {
        const onnx_node *conv = from[i] == NOWHERE ? NULL : &n->g->nodes[from[i]];
        char start[MAX_NAME + 1];
        snprintf(start, sizeof start, "%.*s", (int)(strrchr(w->name, 'W') - w->name), w->name);
        expected *e = conv_named(n, start, parts[i]);
        if (!conv || turned[i] != wanted[i] || !is_op(conv, "Conv") || !has_shape(e, tensor_of(n, conv, 1)) ||
            n->depth[from[i]] != e->depth || strcmp(conv->inputs[0], n->g->nodes[from[0]].inputs[0]) != 0)
            return unfit(n, last, not_one);
        e->node = from[i];
    }
    return 1;
}

/* Finds the parts of the network that have no convolutions of their own depth and shape. */
static int find_special(naming *n) {
    int good = 1;
    for (size_t i = 0; i < n->conv_count && good && is_resnet(n->net); i++) {
        expected *e = &n->convs[i];
        size_t len = strlen(e->name);
        char norm[MAX_NAME + 1], block[MAX_NAME + 1];
        norm_name(e->name, norm);
        snprintf(block, sizeof block, "%.*s", (int)(len > 5 ? len - 5 : 0), e->name); /* "layer1.2." of ".conv3" */
        if (e->inside) continue;
        if (strncmp(e->name, "NL_", 3) == 0) good = find_nonlocal(n, e);
        else if (is_wanted_after(n->net, norm, ".IN.weight")) good = find_ibn_a(n, e);
        else if (len > 5 && strcmp(e->name + len - 5, "conv3") == 0 && is_wanted_after(n->net, block, "IN.weight"))
            good = find_ibn_b(n, e, 1);
        else if (strcmp(e->name, "conv1") == 0 && !is_wanted(n->net, "bn1.running_var")) good = find_ibn_b(n, e, 0);
    }
    return good;
}

/* A generalised mean with exponent p, as Clip, Pow, mean and Pow: the mean of x^p, to the power of 1/p, where no x is
   below 1e-6. Starts at the node behind the last activation; returns the mean's, or NOWHERE after saying what is
   wrong. */
static int find_gem(naming *n, int at) {
    const onnx_node *clip = &n->g->nodes[at];
    double least = 0, p = 0, root = 0;
    int power = next_node(n, at, "Pow");
    const onnx_node *up = power == NOWHERE ? clip : &n->g->nodes[power];
    if (!(is_op(clip, "Clip") || is_op(clip, "Max")) || !read_real(n, clip, 1, &least) || fabs(least - 1e-6) > 1e-9 ||
        !is_op(up, "Pow") || !read_real(n, up, 1, &p) || !(p > 0.001 && p < 1000))
        return unfit(n, clip, "not a mean or a generalised mean over all pixels"), NOWHERE;
    int mean = next_node(n, power, ""), down = mean == NOWHERE ? NOWHERE : next_node(n, mean, "Pow");
    for (int steps = 0; steps < 3 && down != NOWHERE && !is_op(&n->g->nodes[down], "Pow"); steps++)
        down = next_node(n, down, "Pow");
    const onnx_node *end = down == NOWHERE ? up : &n->g->nodes[down];
    if (end == up || !read_computed(n, end, 1, 0, &root) || !(fabs(root * p - 1) < 1e-5))
        return unfit(n, up, "no power of the inverse exponent after the mean"), NOWHERE;
    n->exponent = p;
    return mean;
}

/* --- checks of each node ------------------------------------------------------------------------------------------ */

static int check_conv(naming *n, const expected *e) {
    const onnx_node *node = &n->g->nodes[e->node];
    if (!join_pad(n, &n->c->graph->nodes[e->node])) return 0;
    uint64_t groups = e->weight->shape[1] == 1 && e->weight->shape[0] > 1 && e->weight->shape[2] > 1
                          ? e->weight->shape[0] : 1, stride = node->strides[0];
    if (node->group != groups) return unfit(n, node, "a different number of groups");
    if (node->dilations[0] != 1 || node->dilations[1] != 1) return unfit(n, node, "dilation");
    if (e->strides_on && stride == node->strides[1] && (stride == 1 || stride == 2)) {
        char *last = n->c->last_stride;
        if (last && *last != (char)('0' + stride)) return unfit(n, node, "a stride that differs from its neighbour's");
        if (!last) n->c->last_stride = mem_copy(stride == 1 ? "1" : "2", 1);
        if (!n->c->last_stride) return text_no_memory(n->why);
    } else if (stride != (uint64_t)e->stride || node->strides[1] != (uint64_t)e->stride) {
        return unfit(n, node, "a different stride");
    }
    return check_padding(n, node, e);
}

typedef struct tally {
    int relu, add, maxpool, sigmoid, mul, mean;
} tally;

/* Checks a node that the last convolution depends on. Nodes before the first convolution must not change the pixels,
   because the preset does that. */
static int check_node(naming *n, const onnx_node *node, int depth, tally *t) {
    static const char *const silent[] = {"Conv", "BatchNormalization", "Identity", "Constant", "Reshape", "Squeeze",
                                         "Unsqueeze", "Transpose", "Cast"};
    static const char *const same[] = {"Reshape", "Squeeze", "Unsqueeze"};
    const int swish = is_op(node, "Swish");
    if (n->explained[node - n->g->nodes]) return 1;
    if (depth == 0 && !is_op(node, "Transpose") && !is_op(node, "Cast") && !is_op(node, "Identity") &&
        !is_op(node, "Constant"))
        return refuse(n->why, "node \"%.200s\" (%.60s) changes the pixels before the first convolution; the preset "
                      "does that here, so export the network without it", node->name, node->op);
    if (is_op(node, "Relu")) t->relu++;
    else if (is_op(node, "Add")) t->add++;
    else if (is_op(node, "MaxPool")) t->maxpool++;
    else if (is_op(node, "GlobalAveragePool") || is_op(node, "ReduceMean")) t->mean++;
    else if (swish || is_op(node, "Sigmoid") || is_op(node, "Mul"))
        t->sigmoid += swish || is_op(node, "Sigmoid"), t->mul += !is_op(node, "Sigmoid");
    else {
        int good = 0;
        for (size_t i = 0; i < sizeof silent / sizeof *silent; i++) good |= is_op(node, silent[i]);
        for (size_t i = 0; i < 3; i++) good &= !(is_op(node, same[i]) && is_resnet(n->net));
        return good || unfit(n, node, "an unexpected operation");
    }
    if (!is_op(node, "MaxPool")) return 1;
    if (t->maxpool == 1 && !join_pad(n, &n->c->graph->nodes[node - n->g->nodes])) return 0;
    n->bare_pool = node->ceil_mode == 1 && !(node->pads[0] || node->pads[1] || node->pads[2] || node->pads[3]) &&
                   is_resnet(n->net);
    for (int i = 0; i < 4; i++)
        if ((node->pads[i] != 1 && !n->bare_pool) || node->strides[i / 2] != 2 || node->kernel[i / 2] != 3 ||
            node->ceil_mode != (uint64_t)n->bare_pool)
            return unfit(n, node, "a different pool");
    return 1;
}

/* 1 if a node computes with its input number k; its other inputs are shapes, widths or factors. */
static int computes_with(const onnx_node *node, size_t k) {
    static const char *const single[] = {"Reshape", "Slice", "Split", "Squeeze", "Unsqueeze", "ReduceMean", "Div"};
    for (size_t i = 0; i < sizeof single / sizeof *single; i++)
        if (is_op(node, single[i])) return k == 0;
    return 1;
}

/* Adds what follows convolution number k, which is not the last one, to the operations that the network needs. */
static void count_resnet(const naming *n, size_t k, tally *need) {
    const expected *e = &n->convs[k];
    if (e->inside) return;
    need->relu += !strstr(e->name, "downsample") && e->name[0] != 'N';
    need->add += strstr(e->name, "conv3") != NULL || e->name[0] == 'N';
}

/* The number of convolutions of a block before, or from, number k. */
static int is_in_block_of(const naming *n, size_t k, size_t other) {
    const char *at = strstr(n->convs[k].name, ".block.");
    return at && other < n->conv_count &&
           strncmp(n->convs[k].name, n->convs[other].name, (size_t)(at - n->convs[k].name) + strlen(".block.")) == 0;
}

static void count_efficientnet(const naming *n, size_t k, tally *need) {
    const char *name = n->convs[k].name;
    size_t first = k;
    while (first && is_in_block_of(n, k, first - 1)) first--;
    int ends = strstr(name, ".block.") && !is_in_block_of(n, k, k + 1);
    const want *in = n->convs[first].weight, *out = n->convs[k].weight;
    uint64_t channels = in->shape[1] == 1 ? in->shape[0] : in->shape[1]; /* of a depthwise convolution: its outputs */
    need->mean += strstr(name, ".fc1") != NULL;
    need->add += ends && channels == out->shape[0] && (!is_first_block(name) || stage_stride(name) == 1);
    if (!ends || first == k) need->sigmoid++, need->mul++;
}

/* 1 if the max pool reads what the first convolution, or its batch norm, computes. */
static int is_stem_bare(const naming *n) {
    int at = NOWHERE, next;
    for (size_t k = 0; k < n->conv_count; k++)
        if (strcmp(n->convs[k].name, "conv1") == 0) at = n->convs[k].node;
    next = at == NOWHERE ? NOWHERE : next_node(n, at, "BatchNormalization");
    if (next != NOWHERE && is_op(&n->g->nodes[next], "BatchNormalization")) next = next_node(n, next, "MaxPool");
    while (next != NOWHERE && is_op(&n->g->nodes[next], "Identity")) next = next_node(n, next, "MaxPool"); /* a Pad */
    return next != NOWHERE && is_op(&n->g->nodes[next], "MaxPool");
}

/* Checks that the last convolution depends only on operations of the network, and on as many of each as there. */
static int check_between(naming *n, const expected *last) {
    char *needed = mem_zeroed(n->g->count + 1, 1);
    tally have = {0}, need = {0};
    int good = needed ? 1 : text_no_memory(n->why);
    if (needed) needed[last->node] = 1;
    for (size_t i = (size_t)last->node + 1; good && i-- > 0;) {
        const onnx_node *node = &n->g->nodes[i];
        if (!needed[i]) continue;
        for (size_t k = 0; k < node->input_count; k++) {
            int from = computes_with(node, k) ? maker_of(n, node->inputs[k]) : NOWHERE;
            if (from != NOWHERE) needed[from] = 1;
        }
        int makes_tensor = is_op(node, "Identity") && node->input_count && maker_of(n, node->inputs[0]) == NOWHERE;
        good = makes_tensor || check_node(n, node, n->depth[i], &have);
    }
    free(needed);
    if (!good) return 0;
    for (size_t k = 0; k < n->conv_count; k++)
        if (is_resnet(n->net)) count_resnet(n, k, &need);
        else count_efficientnet(n, k, &need);
    if (is_resnet(n->net)) need.relu--, need.add--, need.maxpool = 1;
    else need.sigmoid--, need.mul--;
    n->bare_stem = is_resnet(n->net) && is_stem_bare(n);
    need.relu -= n->bare_stem;
    if (memcmp(&have, &need, sizeof have) == 0) return 1;
    return refuse(n->why, "between its convolutions the graph has %d Relu, %d Add, %d MaxPool, %d Sigmoid, %d Mul and "
                  "%d mean%s, but network %s has %d, %d, %d, %d, %d and %d", have.relu, have.add, have.maxpool,
                  have.sigmoid, have.mul, have.mean, plural((size_t)have.mean), n->net->name, need.relu, need.add,
                  need.maxpool, need.sigmoid, need.mul, need.mean);
}

/* Checks what follows the last convolution: its batch norm and activation, then the mean over all pixels, or
   nothing. */
static int check_end(naming *n, const expected *last) {
    static const char *const means[] = {"GlobalAveragePool", "ReduceMean", "AveragePool"};
    const char *act = is_resnet(n->net) ? "Add" : "Mul";
    int at = last->node, good = 0;
    for (int from = at; (from = next_node(n, from, act)) != NOWHERE;) {
        const onnx_node *node = &n->g->nodes[from];
        at = from;
        if (!is_op(node, "BatchNormalization") && !is_op(node, act) && !is_op(node, "Relu") && !is_op(node, "Swish") &&
            !is_op(node, "Identity") && !is_op(node, "InstanceNormalization")) break;
        at = last->node;
    }
    if (at == last->node) return 1; /* the graph ends there */
    if (is_op(&n->g->nodes[at], "Clip") || is_op(&n->g->nodes[at], "Max")) at = find_gem(n, at);
    if (at == NOWHERE) return 0;
    for (size_t i = 0; i < sizeof means / sizeof *means; i++) good |= is_op(&n->g->nodes[at], means[i]);
    return good || unfit(n, &n->g->nodes[at], "not the mean over all pixels after the last convolution");
}

/* --- naming tensors ----------------------------------------------------------------------------------------------- */

static int add_named(naming *n, const tensor *from, const char *start, const char *end) {
    tensor t = *from;
    text name = TEXT_INIT;
    const char *origin = n->bare_pool ? "backbone." : n->bare_stem ? "base." : ""; /* see ORIGINS of dialects.c */
    text_printf(&name, "%s%s%s", strncmp(start, "heads.", 6) != 0 ? origin : "", start, end);
    if (text_failed(&name)) return text_no_memory(n->why);
    t.name = name.s;
    if (from >= n->c->tensors && from < n->c->tensors + n->tensors) n->used[from - n->c->tensors] = 1;
    if (add_tensor(n->c, &t, n->why)) return 1;
    free(name.s);
    return 0;
}

/* Adds a tensor that repeats one value and has no bytes in the file. */
static int add_repeated(naming *n, float value, uint64_t count, const char *start, const char *end) {
    tensor t;
    memset(&t, 0, sizeof t);
    if (!GROW(n->c->storages, n->c->storage_count, n->c->storage_cap)) return text_no_memory(n->why);
    storage *s = &n->c->storages[n->c->storage_count];
    memset(s, 0, sizeof *s);
    s->bytes = sizeof s->value, s->is_value = 1, s->value = value;
    t.type = dtype_named("F32");
    t.ndim = 1, t.shape[0] = count, t.count = count, t.storage = n->c->storage_count++;
    return add_named(n, &t, start, end);
}

/* What the network's batch norms add to the variance, as reid__archs has it. */
static float epsilon_of(const network *net) {
    static const char *const large[] = {"tf_", "efficientnet_v2_", "efficientnet_b5", "efficientnet_b6",
                                        "efficientnet_b7"};
    for (size_t i = 0; i < sizeof large / sizeof *large; i++)
        if (strncmp(net->name, large[i], strlen(large[i])) == 0) return 1e-3f;
    return 1e-5f;
}

static int add_norm(naming *n, const onnx_node *node, const char *name) {
    static const char *const ends[] = {"", ".weight", ".bias", ".running_mean", ".running_var"};
    float epsilon = epsilon_of(n->net);
    if (fabsf(node->epsilon - epsilon) > 0.01f * epsilon) return unfit(n, node, "a different epsilon");
    for (size_t i = 1; i < 5; i++) {
        const tensor *t = tensor_of(n, node, i);
        if (!t) return unfit(n, node, "computed statistics");
        if (!add_named(n, t, name, ends[i])) return 0;
    }
    return 1;
}

/* Adds a batch norm for one that was folded into its convolution: it only adds the convolution's bias. Its variance
   plus the network's epsilon is 1, so its factor is 1. */
static int add_joined(naming *n, const tensor *bias, uint64_t count, const char *name) {
    float epsilon = epsilon_of(n->net);
    return (bias ? add_named(n, bias, name, ".bias") : add_repeated(n, 0, count, name, ".bias")) &&
           add_repeated(n, 1, count, name, ".weight") && add_repeated(n, 0, count, name, ".running_mean") &&
           add_repeated(n, 1 - epsilon, count, name, ".running_var");
}

/* Names the factors of the instance norm behind a convolution: IBN-a's, or IBN-b's of the stem or of a block. */
static int name_instance(naming *n, const expected *e, const char *norm) {
    const onnx_node *node = &n->g->nodes[e->instance];
    size_t len = strlen(e->name);
    char start[MAX_NAME + 1];
    if (e->batch != NOWHERE) snprintf(start, sizeof start, "%.*s.IN", MAX_NAME - 3, norm);
    else if (strcmp(e->name, "conv1") == 0) snprintf(start, sizeof start, "bn1");
    else snprintf(start, sizeof start, "%.*sIN", (int)(len - strlen("conv3")), e->name);
    return add_named(n, tensor_of(n, node, 1), start, ".weight") &&
           add_named(n, tensor_of(n, node, 2), start, ".bias");
}

/* Names the tensors of a convolution and its batch norm. add_tensor may move the tensors, so earlier pointers are
   invalid after it. */
static int name_conv(naming *n, const expected *e) {
    const onnx_node *node = &n->g->nodes[e->node];
    char norm[MAX_NAME + 1];
    const tensor *found = tensor_of(n, node, 1);
    if (!add_named(n, found, e->name, ".weight")) return 0;
    int has_bias = node->input_count > 2 && node->inputs[2][0];
    found = tensor_of(n, node, 2);
    if (has_bias && !found) return unfit(n, node, "a computed bias");
    if (strstr(e->name, ".fc") || e->inside)
        return found ? add_named(n, found, e->name, ".bias")
                     : add_repeated(n, 0, e->weight->shape[0], e->name, ".bias");
    norm_name(e->name, norm);
    if (e->instance != NOWHERE && !name_instance(n, e, norm)) return 0;
    if (e->instance != NOWHERE && strcmp(e->name, "conv1") == 0) /* IBN-b's has no batch norm */
        return !found || unfit(n, node, "a bias before an instance norm");
    if (e->batch != NOWHERE) {
        snprintf(norm, sizeof norm, "%.*sbn1.BN", (int)(strlen(e->name) - strlen("conv1")), e->name);
        return found ? unfit(n, node, "a bias before an instance norm")
                     : add_norm(n, &n->g->nodes[e->batch], norm);
    }
    int own = is_wanted_after(n->net, e->name, ".bias"); /* a non-local block's W has a bias and a batch norm */
    int next = next_node(n, e->node, "BatchNormalization");
    if (next == NOWHERE || !is_op(&n->g->nodes[next], "BatchNormalization"))
        return (!own || add_repeated(n, 0, e->weight->shape[0], e->name, ".bias")) &&
               add_joined(n, tensor_of(n, node, 2), e->weight->shape[0], norm);
    if (own && !(found ? add_named(n, found, e->name, ".bias")
                       : add_repeated(n, 0, e->weight->shape[0], e->name, ".bias"))) return 0;
    if (found && !own) return unfit(n, node, "a bias before a batch norm");
    return add_norm(n, &n->g->nodes[next], norm);
}

/* The bias that an Add after a MatMul adds to each output, as TensorFlow's exporters write it; NULL: none. */
static const tensor *added_to(const naming *n, const onnx_node *node, uint64_t outputs) {
    int next = next_node(n, (int)(node - n->g->nodes), "Add");
    for (size_t i = 0; next != NOWHERE && is_op(&n->g->nodes[next], "Add") && i < 2; i++) {
        const tensor *t = tensor_of(n, &n->g->nodes[next], i);
        if (t && t->ndim == 1 && t->count == outputs) return t;
    }
    return NULL;
}

/* Transposes the weights of a linear layer, which are (inputs, outputs) in MatMul and in Gemm unless it sets transB,
   and names them .weight and .bias, so that --head finds them. */
static int name_linear(naming *n, const onnx_node *node) {
    const tensor *weight = tensor_of(n, node, 1), *bias = is_op(node, "Gemm") ? tensor_of(n, node, 2) : NULL;
    char stem[MAX_NAME + 1];
    if (!weight || weight->ndim != 2) return 1;
    if (node->scaled && is_op(node, "Gemm")) return unfit(n, node, "factors or transposed inputs");
    size_t len = strlen(weight->name), tail = strlen(".weight");
    int named = len > tail && strcmp(weight->name + len - tail, ".weight") == 0;
    snprintf(stem, sizeof stem, "%.*s", (int)(named ? len - tail : len), weight->name);
    if (n->used[weight - n->c->tensors]) return 1; /* shared by two nodes */
    tensor turned = *weight;
    if (is_op(node, "MatMul") || !node->transposed)
        turned.shape[0] = weight->shape[1], turned.shape[1] = weight->shape[0],
        turned.stride[0] = weight->stride[1], turned.stride[1] = weight->stride[0];
    n->used[weight - n->c->tensors] = 1;
    if (is_op(node, "MatMul")) bias = added_to(n, node, weight->shape[1]);
    tensor second = bias ? *bias : turned;
    if (bias) n->used[bias - n->c->tensors] = 1;
    return add_named(n, &turned, stem, ".weight") && (!bias || add_named(n, &second, stem, ".bias"));
}

/* Checks the epsilon of a batch norm after the last pool. It keeps its names, which may identify another network, and
   that network's epsilon is 1e-5. */
static int check_neck(const naming *n, const onnx_node *node, const network *networks, size_t count) {
    const tensor *variance = tensor_of(n, node, 4);
    const size_t len = variance ? strlen(variance->name) : 0;
    if (!variance || n->used[variance - n->c->tensors] || fabsf(node->epsilon - 1e-5f) <= 1e-7f) return 1;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < networks[i].count; k++) {
            const char *name = networks[i].wants[k].name;
            size_t own = strlen(name);
            if (own > len || strcmp(variance->name + len - own, name) != 0) continue;
            if (own < len && variance->name[len - own - 1] != '.') continue;
            return refuse(n->why, "node \"%.200s\" (%.60s): a different epsilon, unlike network %s", node->name,
                          node->op, networks[i].name);
        }
    return 1;
}

/* Drops the tensors that were renamed, and single numbers, which are constants of the graph. */
static void drop_used(naming *n) {
    size_t kept = 0;
    for (size_t i = 0; i < n->c->tensor_count; i++) {
        tensor *t = &n->c->tensors[i];
        if (i >= n->tensors || (!n->used[i] && t->count > 1)) n->c->tensors[kept++] = *t;
        else free(t->name);
    }
    n->c->tensor_count = n->c->groups[0].tensors = kept;
}

/* Switches to the network with the same convolutions and TensorFlow's padding if a node has that padding. */
static int take_twin(naming *n, const network *networks, size_t count, const char *asked) {
    char name[64];
    if (strncmp(n->net->name, "tf_", 3) == 0 || !n->same) return 1;
    if (sscanf(n->net->name, "efficientnet_v2_%1[sml]", name) == 1) {
        char size = name[0];
        snprintf(name, sizeof name, "tf_efficientnetv2_%c", size);
    } else {
        snprintf(name, sizeof name, "tf_%s", n->net->name);
    }
    if (asked) return refuse(n->why, "its padding is TensorFlow's: the network is %s, not %s", name, asked);
    for (size_t i = 0; i < count; i++)
        if (strcmp(networks[i].name, name) == 0) n->net = &networks[i];
    n->c->network = mem_copy(n->net->name, strlen(n->net->name));
    return n->c->network != NULL || text_no_memory(n->why);
}

/* The first ReLU and the max pool have no tensors, so the names must tell them apart, or the option. */
static int check_stem(const naming *n, const char *asked) {
    if (asked && !n->bare_pool != !strstr(asked, "-fastreid"))
        return refuse(n->why, "its max pool after the first convolution is %s, unlike network %s",
                      n->bare_pool ? "fast-reid's" : "not fast-reid's", asked);
    if (asked && !n->bare_stem != !strstr(asked, "-strongbaseline"))
        return refuse(n->why, "it has %s ReLU after the first convolution, unlike network %s",
                      n->bare_stem ? "no" : "a", asked);
    for (size_t i = 0; i < n->tensors && n->bare_pool; i++)
        if (strncmp(n->c->tensors[i].name, "heads.", 6) == 0) return 1;
    return !n->bare_pool || asked ||
           refuse(n->why, "its max pool after the first convolution is fast-reid's, but no tensor has the name of its "
                  "head (heads.*); give --net resnet50-fastreid, for example");
}

static int name_all(naming *n, const network *networks, size_t count, const char *asked) {
    const expected *last = &n->convs[0];
    int good = 1;
    for (size_t i = 0; i < n->conv_count; i++) {
        if (n->convs[i].inside) continue;
        if (n->convs[i].node == NOWHERE) return refuse_missing(n, &n->convs[i]);
        if (n->convs[i].depth > last->depth) last = &n->convs[i];
    }
    good = find_special(n);
    for (size_t i = 0; i < n->conv_count && good; i++) good = check_conv(n, &n->convs[i]);
    good = good && check_between(n, last) && check_end(n, last) && take_twin(n, networks, count, asked) &&
           check_stem(n, asked);
    for (size_t i = 0; i < n->conv_count && good; i++) good = name_conv(n, &n->convs[i]);
    if (good && n->exponent > 0)
        good = add_repeated(n, (float)n->exponent, 1, n->bare_pool ? "heads.pool_layer" : "global_pool", ".p");
    for (size_t i = 0; i < n->g->count && good; i++)
        if (is_op(&n->g->nodes[i], "Gemm") || is_op(&n->g->nodes[i], "MatMul")) good = name_linear(n, &n->g->nodes[i]);
        else if (is_op(&n->g->nodes[i], "BatchNormalization"))
            good = check_neck(n, &n->g->nodes[i], networks, count);
    if (!good) return 0;
    drop_used(n);
    return checkpoint_sort(n->c, n->why);
}

void onnx_trunk_of(const checkpoint *c, char trunk[TRUNK_NAME]) {
    static const int stems = 3, deep[] = {104, 155}; /* instance norms of IBN-b; convolutions of ResNet-101 and 152 */
    static const char *const names[] = {"50", "101", "152"};
    int convs = 0, instances = 0, products = 0, narrow = 0;
    for (size_t i = 0; i < c->graph->count; i++) {
        const onnx_node *node = &c->graph->nodes[i];
        convs += is_op(node, "Conv"), instances += is_op(node, "InstanceNormalization");
        products += is_op(node, "Div"); /* a non-local block divides by the number of positions */
    }
    for (size_t i = 0; i < c->tensor_count; i++) {
        const tensor *t = &c->tensors[i];
        narrow |= t->ndim == 4 && t->shape[0] == 1 && t->shape[1] == 512 && t->shape[2] == 1;
    }
    snprintf(trunk, TRUNK_NAME, "%s%s%s", names[(convs >= deep[0]) + (convs >= deep[1])],
             !instances ? "" : instances <= stems ? "-ibnb" : "-ibn",
             convs >= deep[1] || !products ? "" : narrow ? "-nl" : "-nlhalf");
}

int onnx_name_tensors(checkpoint *c, const network *networks, size_t count, const char *asked, text *why) {
    naming n;
    if (!c->graph || !c->tensor_count) return 1;
    memset(&n, 0, sizeof n);
    n.c = c, n.g = c->graph, n.why = why, n.tensors = c->tensor_count;
    n.depth = mem_zeroed(n.g->count + 1, sizeof *n.depth);
    n.used = mem_zeroed(n.tensors + 1, 1);
    n.convs = mem_zeroed(MAX_CONVS, sizeof *n.convs);
    n.explained = mem_zeroed(n.g->count + 1, 1);
    int good = n.depth && n.used && n.convs && n.explained ? 1 : text_no_memory(why);
    good = good && list_values(&n) && find_depths(&n);
    if (good && choose_network(&n, networks, count, asked)) good = name_all(&n, networks, count, asked);
    free(n.values);
    free(n.depth);
    free(n.used);
    free(n.convs);
    free(n.explained);
    return good;
}
