#include "weights/onnx_names.h"

#include "base/memory.h"
#include "weights/checkpoint_open.h"
#include "weights/onnx_graph.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_CONVS = 256, NOWHERE = -1 };

/* A convolution that a network has. */
typedef struct expected {
    const want *weight;
    char name[MAX_NAME + 1]; /* without .weight */
    int depth;               /* the most convolutions on a path from the image to it, including itself */
    int stride;
    int strides_on;          /* 1: its stride may be 1 or 2; in re-ID, ResNet's layer4 often has 1 */
    int node;                /* the file's node; NOWHERE: none fits */
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

/* ResNet-50 has three convolutions per block and, in parallel, the shortcut's, which is as deep as the first. */
static void place_resnet(expected *e) {
    static const int before[] = {0, 0, 3, 7, 13}; /* blocks before a layer */
    int layer = 0, block = 0, conv = 0;
    e->depth = e->stride = 0;
    if (strcmp(e->name, "conv1") == 0) e->depth = 1, e->stride = 2;
    else if (sscanf(e->name, "layer%1d.%1d.conv%1d", &layer, &block, &conv) == 3 && layer >= 1 && layer <= 4)
        e->depth = 1 + 3 * (before[layer] + block) + conv;
    else if (sscanf(e->name, "layer%1d.0.downsample.%1d", &layer, &conv) == 2 && layer >= 1 && layer <= 4)
        e->depth = 2 + 3 * before[layer], conv = 2;
    if (!layer) return;
    int strides = layer > 1 && block == 0 && conv == 2;
    e->stride = strides ? 2 : 1;
    e->strides_on = strides && layer == 4;
}

/* EfficientNet's convolutions follow each other in the order of their sorted names; its shortcuts have none. */
static void place_efficientnet(expected *e, int place) {
    static const int strides[] = {2, 1, 2, 2, 2, 1, 2, 1, 1}; /* of features.0 to 8 */
    int stage = e->name[strlen("features.")] - '0', depthwise = e->weight->shape[1] == 1 && e->weight->shape[2] > 1;
    int first = stage == 0 || strstr(e->name, ".0.block.") == e->name + strlen("features.0");
    e->depth = place + 1;
    e->stride = first && (depthwise || stage == 0) && stage >= 0 && stage <= 8 ? strides[stage] : 1;
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
        e->node = NOWHERE;
    }
    if (n->conv_count) qsort(n->convs, n->conv_count, sizeof *n->convs, by_numbers);
    for (size_t i = 0; i < n->conv_count; i++)
        if (is_resnet(net)) place_resnet(&n->convs[i]);
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
            if (e->node != NOWHERE || e->depth != n->depth[i] || !has_shape(e, weight)) continue;
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
    for (int i = 0; i < 4; i++)
        if (node->pads[i] != 1 || node->strides[i / 2] != 2 || node->kernel[i / 2] != 3 || node->ceil_mode)
            return unfit(n, node, "a different pool");
    return 1;
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
            int from = maker_of(n, node->inputs[k]);
            if (from != NOWHERE) needed[from] = 1;
        }
        int makes_tensor = is_op(node, "Identity") && node->input_count && maker_of(n, node->inputs[0]) == NOWHERE;
        good = makes_tensor || check_node(n, node, n->depth[i], &have);
    }
    free(needed);
    if (!good) return 0;
    for (size_t k = 0; k < n->conv_count; k++) { /* what follows each convolution but the last */
        const char *name = n->convs[k].name, *end = name + strlen(name);
        int projects = strstr(name, ".block.") && !(n->convs[k].weight->shape[1] == 1 && end[-1] == '0') &&
                       strncmp(end - 3, "0.0", 3) != 0 && !strstr(name, ".fc");
        if (is_resnet(n->net)) need.relu += !strstr(name, "downsample"), need.add += strstr(name, "conv3") != NULL;
        else if (!projects) need.sigmoid++, need.mul++;
        else need.mean++, need.add += !strstr(name, ".0.block.");
    }
    if (is_resnet(n->net)) need.relu--, need.add--, need.maxpool = 1;
    else need.sigmoid--, need.mul--;
    if (memcmp(&have, &need, sizeof have) == 0) return 1;
    return refuse(n->why, "between its convolutions the graph has %d Relu, %d Add, %d MaxPool, %d Sigmoid, %d Mul and "
                  "%d mean%s, but network %s has %d, %d, %d, %d, %d and %d", have.relu, have.add, have.maxpool,
                  have.sigmoid, have.mul, have.mean, plural((size_t)have.mean), n->net->name, need.relu, need.add,
                  need.maxpool, need.sigmoid, need.mul, need.mean);
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
            !is_op(node, "Identity")) break;
        at = last->node;
    }
    if (at == last->node) return 1; /* the graph ends there */
    for (size_t i = 0; i < sizeof means / sizeof *means; i++) good |= is_op(&n->g->nodes[at], means[i]);
    return good || unfit(n, &n->g->nodes[at], "not the mean over all pixels after the last convolution");
}

/* --- naming tensors ----------------------------------------------------------------------------------------------- */

static int add_named(naming *n, const tensor *from, const char *start, const char *end) {
    tensor t = *from;
    text name = TEXT_INIT;
    text_printf(&name, "%s%s", start, end);
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

/* Makes "layer1.0.bn2" of "layer1.0.conv2" and "features.0.1" of "features.0.0". */
static void norm_name(const char *conv, char out[MAX_NAME + 1]) {
    const char *dot = strrchr(conv, '.'), *last = dot ? dot + 1 : conv;
    int start = (int)(last - conv);
    if (strncmp(last, "conv", 4) == 0) snprintf(out, MAX_NAME + 1, "%.*sbn%s", start, conv, last + 4);
    else snprintf(out, MAX_NAME + 1, "%.*s1", start, conv);
}

static int add_norm(naming *n, const onnx_node *node, const char *name) {
    static const char *const ends[] = {"", ".weight", ".bias", ".running_mean", ".running_var"};
    float epsilon = strncmp(n->net->name, "tf_", 3) == 0 ? 1e-3f : 1e-5f;
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
    float epsilon = strncmp(n->net->name, "tf_", 3) == 0 ? 1e-3f : 1e-5f;
    return (bias ? add_named(n, bias, name, ".bias") : add_repeated(n, 0, count, name, ".bias")) &&
           add_repeated(n, 1, count, name, ".weight") && add_repeated(n, 0, count, name, ".running_mean") &&
           add_repeated(n, 1 - epsilon, count, name, ".running_var");
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
    if (strstr(e->name, ".fc"))
        return found ? add_named(n, found, e->name, ".bias")
                     : add_repeated(n, 0, e->weight->shape[0], e->name, ".bias");
    norm_name(e->name, norm);
    int next = next_node(n, e->node, "BatchNormalization");
    if (next == NOWHERE || !is_op(&n->g->nodes[next], "BatchNormalization"))
        return add_joined(n, found, e->weight->shape[0], norm);
    if (found) return unfit(n, node, "a bias before a batch norm");
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
    if (asked)
        return refuse(n->why, "its padding is TensorFlow's: the network is tf_%.40s, not %s", n->net->name, asked);
    snprintf(name, sizeof name, "tf_%s", n->net->name);
    for (size_t i = 0; i < count; i++)
        if (strcmp(networks[i].name, name) == 0) n->net = &networks[i];
    n->c->network = mem_copy(n->net->name, strlen(n->net->name));
    return n->c->network != NULL || text_no_memory(n->why);
}

static int name_all(naming *n, const network *networks, size_t count, const char *asked) {
    const expected *last = &n->convs[0];
    int good = 1;
    for (size_t i = 0; i < n->conv_count; i++) {
        if (n->convs[i].node == NOWHERE) return refuse_missing(n, &n->convs[i]);
        if (n->convs[i].depth > last->depth) last = &n->convs[i];
    }
    for (size_t i = 0; i < n->conv_count && good; i++) good = check_conv(n, &n->convs[i]);
    good = good && check_between(n, last) && check_end(n, last) && take_twin(n, networks, count, asked);
    for (size_t i = 0; i < n->conv_count && good; i++) good = name_conv(n, &n->convs[i]);
    for (size_t i = 0; i < n->g->count && good; i++)
        if (is_op(&n->g->nodes[i], "Gemm") || is_op(&n->g->nodes[i], "MatMul")) good = name_linear(n, &n->g->nodes[i]);
        else if (is_op(&n->g->nodes[i], "BatchNormalization"))
            good = check_neck(n, &n->g->nodes[i], networks, count);
    if (!good) return 0;
    drop_used(n);
    return checkpoint_sort(n->c, n->why);
}

int onnx_name_tensors(checkpoint *c, const network *networks, size_t count, const char *asked, text *why) {
    naming n;
    if (!c->graph || !c->tensor_count) return 1;
    memset(&n, 0, sizeof n);
    n.c = c, n.g = c->graph, n.why = why, n.tensors = c->tensor_count;
    n.depth = mem_zeroed(n.g->count + 1, sizeof *n.depth);
    n.used = mem_zeroed(n.tensors + 1, 1);
    n.convs = mem_zeroed(MAX_CONVS, sizeof *n.convs);
    int good = n.depth && n.used && n.convs ? 1 : text_no_memory(why);
    good = good && list_values(&n) && find_depths(&n);
    if (good && choose_network(&n, networks, count, asked)) good = name_all(&n, networks, count, asked);
    free(n.values);
    free(n.depth);
    free(n.used);
    free(n.convs);
    return good;
}
