/* seeded.h: complete checkpoints generated from a seed, for tests and for the demo. They are not trained.

   seeded_file returns the bytes of a safetensors file with torchvision's tensor names. Every number is an integer, from
   a hash of the tensor's name, the element's index and the seed, times one IEEE double. The only library function is
   sqrt, and all sums are of integers, so that tests/golden/seeded.py makes the same bytes with numpy.

   Plain random weights would be of little use: such a network gives nearly the same embedding for every image. These
   weights imitate the properties of a trained network that make embeddings differ:
   - filters whose weights sum to zero over their inputs, for every tap: the positive mean that ReLU and SiLU give all
     channels, and its edge where the image is padded, cancel instead of growing from layer to layer;
   - smooth 3x3 filters, and depthwise filters that sum to one: fine detail averages out, texture remains;
   - a first layer that ignores flat areas, and of which one half sees colour contrasts, as in trained networks;
   - batch-norm statistics that match the activations, and vary by channel. */
#ifndef SEEDED_H
#define SEEDED_H

#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum seeded_dtype { SEEDED_F32, SEEDED_F16, SEEDED_BF16, SEEDED_F64 } seeded_dtype;

#define SEEDED_EXTRAS 1     /* option: also num_batches_tracked and the classifier */
#define SEEDED_PROJECTION 2 /* option: EfficientNet's linear head, `projection` to 512 */
#define SEEDED_LOUD 4       /* option: the output of every layer is 32768 times as large and may exceed FP16's 65504.
                               A ResNet without a head still gives the same embeddings, bit for bit in FP32 and bf16 */

static const char *const seeded_nets[] = {
    "resnet50",           "resnet50-multiscale", "resnet50-bnneck",    "resnet50-fastreid",  "resnet50-fastreid-gem",
    "efficientnet_b0",    "efficientnet_b1",     "efficientnet_b2",    "efficientnet_b3",    "tf_efficientnet_b0",
    "tf_efficientnet_b1", "tf_efficientnet_b2",  "tf_efficientnet_b3", "resnet50-fastreid-512",
    "resnet50-fastreid-gem-512", "resnet50-layumi", "resnet50-fc512", "efficientnet_b4", "efficientnet_v2_s",
    "tf_efficientnetv2_s", "efficientnetv2_rw_t", "efficientnetv2_rw_s", "miewid", "resnet50-ibn-bnneck",
    "resnet50-ibnb", "resnet50-ibn-nl-fastreid-gem", "resnet50-nlhalf-bnneck", "resnet101-ibn-fastreid-gem",
    "resnet50-bnneck-gem", "resnet50-strongbaseline", "resnet50-nlhalf-strongbaseline-gem", NULL,
};

/* ---- tensors ----------------------------------------------------------------------------------------------------- */
typedef enum seeded_rule {
    SEEDED_FILTERS,   /* (out, in, taps): smooth over taps, sum over inputs zero for every tap */
    SEEDED_STEM,      /* (out, 3, taps): sum over taps zero; the first half: sum over colours zero too */
    SEEDED_DEPTHWISE, /* (channels, 1, taps): sum over taps one */
    SEEDED_PLAIN,     /* (out, 1, 1): uniform */
    SEEDED_SPREAD,    /* scale * (middle +- width), in thousandths */
    SEEDED_COUNT      /* one int64 */
} seeded_rule;

typedef struct seeded_tensor {
    char name[64];
    size_t shape[4];
    int ndim;
    seeded_rule rule;
    size_t outs, ins, taps; /* what the shape means to the rule */
    int middle, width;
    double scale;
} seeded_tensor;

typedef struct seeded_net {
    const char *preset, *network; /* network: NULL if the tensors identify it */
    int extras, loud;
    int count, room;
    seeded_tensor *tensors;
} seeded_net;

static void *seeded_memory(void *block, size_t size) {
    block = realloc(block, size);
    if (block) return block;
    fprintf(stderr, "seeded: out of memory\n");
    exit(1);
}

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
static const char *seeded_name(char name[64], const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(name, 64, format, args);
    va_end(args);
    return name;
}

static seeded_tensor *seeded_add(seeded_net *net, const char *name, const char *suffix, seeded_rule rule, int ndim) {
    if (net->count == net->room) {
        net->room = net->room ? 2 * net->room : 128;
        net->tensors = (seeded_tensor *)seeded_memory(net->tensors, (size_t)net->room * sizeof *net->tensors);
    }
    seeded_tensor *t = &net->tensors[net->count++];
    memset(t, 0, sizeof *t);
    seeded_name(t->name, "%s%s", name, suffix);
    t->rule = rule;
    t->ndim = ndim;
    return t;
}

static void seeded_spread(seeded_net *net, const char *name, const char *suffix, size_t n, int middle, int width,
                          double scale) {
    seeded_tensor *t = seeded_add(net, name, suffix, SEEDED_SPREAD, 1);
    t->shape[0] = t->outs = n;
    t->ins = t->taps = 1;
    t->middle = middle;
    t->width = width;
    t->scale = scale;
}

/* gain 1: He's scale, which keeps the variance behind a ReLU. */
static void seeded_conv(seeded_net *net, const char *name, seeded_rule rule, size_t out, size_t in, size_t k,
                        double gain) {
    seeded_tensor *t = seeded_add(net, name, ".weight", rule, 4);
    t->shape[0] = t->outs = out;
    t->shape[1] = t->ins = in;
    t->shape[2] = t->shape[3] = k;
    t->taps = k * k;
    t->scale = gain * sqrt(6.0 / (double)(in * k * k));
}

/* taps: adjacent inputs that belong to one channel (the bins of an adaptive pool). */
static void seeded_matrix(seeded_net *net, const char *name, size_t out, size_t in, size_t taps, double gain) {
    seeded_tensor *t = seeded_add(net, name, ".weight", SEEDED_FILTERS, 2);
    t->shape[0] = t->outs = out;
    t->shape[1] = in;
    t->ins = in / taps;
    t->taps = taps;
    t->scale = gain * sqrt(6.0 / (double)in);
}

static void seeded_linear(seeded_net *net, const char *name, size_t out, size_t in, size_t taps, double gain) {
    seeded_matrix(net, name, out, in, taps, gain);
    seeded_spread(net, name, ".bias", out, 0, 20, 1.0);
}

/* gamma, beta: in thousandths. var: of the output of the previous convolution, see tests/golden/check_seeded.py. */
static void seeded_norm(seeded_net *net, const char *name, size_t c, int gamma, int beta, double var) {
    double gain = net->loud ? 32768.0 : 1.0;
    int first = net->count == 1; /* only the first convolution precedes it, so its input is not louder yet */
    seeded_spread(net, name, ".weight", c, gamma, gamma / 5, first ? gain : 1.0);
    seeded_spread(net, name, ".bias", c, beta, 60, gain);
    seeded_spread(net, name, ".running_mean", c, 0, 60, first ? sqrt(var) : gain * sqrt(var));
    seeded_spread(net, name, ".running_var", c, 1000, 250, var);
    if (net->extras) seeded_add(net, name, ".num_batches_tracked", SEEDED_COUNT, 0);
}

/* Instance norm, whose statistics are the image's own. */
static void seeded_instance(seeded_net *net, const char *name, size_t c, int beta) {
    seeded_spread(net, name, ".weight", c, 1000, 200, 1.0);
    seeded_spread(net, name, ".bias", c, beta, 60, 1.0);
}

/* ---- the networks, with torchvision's names and shapes ----------------------------------------------------------- */
/* ibn: 'a' or 'b' if this block has IBN-a or IBN-b, else 0. */
static void seeded_bottleneck(seeded_net *net, const char *block, size_t in, size_t mid, int index, int ibn) {
    char name[64];
    const double vars[3] = {index ? 0.75 + 0.17 * index : 1.35, 2.9, 0.68};
    for (int i = 0; i < 3; i++) {
        size_t from = i == 0 ? in : mid, to = i == 2 ? 4 * mid : mid;
        int half = i == 0 && ibn == 'a';
        seeded_conv(net, seeded_name(name, "%s.conv%d", block, i + 1), SEEDED_FILTERS, to, from, i == 1 ? 3 : 1, 1.0);
        if (half) seeded_instance(net, seeded_name(name, "%s.bn1.IN", block), to / 2, 0);
        seeded_name(name, "%s.bn%d%s", block, i + 1, half ? ".BN" : "");
        seeded_norm(net, name, half ? to / 2 : to, i == 2 ? 600 : 1000, i == 2 ? -100 : 0, vars[i]);
    }
    if (ibn == 'b') seeded_instance(net, seeded_name(name, "%s.IN", block), 4 * mid, 0);
    if (index) return;
    seeded_conv(net, seeded_name(name, "%s.downsample.0", block), SEEDED_FILTERS, 4 * mid, in, 1, 1.0);
    seeded_norm(net, seeded_name(name, "%s.downsample.1", block), 4 * mid, 1000, 0, vars[0]);
}

/* A head after ResNet-50's trunk. */
typedef struct seeded_tail {
    const char *name, *preset;
    int multiscale, gem;        /* gem: the exponent of a generalised mean */
    const char *linear, *norm;  /* names, or NULL */
    int biased, named;          /* named: its tensors have the names of another network */
} seeded_tail;

static const seeded_tail seeded_tails[] = {
    {"resnet50", "torchvision-v1", 0, 0, NULL, NULL, 0, 0},
    {"resnet50-multiscale", "torchvision-v1", 1, 0, NULL, NULL, 0, 0},
    {"resnet50-bnneck", "strongbaseline", 0, 0, NULL, "bottleneck", 0, 0},
    {"resnet50-strongbaseline", "strongbaseline", 0, 0, NULL, "bottleneck", 0, 1},
    {"resnet50-fastreid", "fastreid", 0, 0, NULL, "bottleneck", 0, 1},
    {"resnet50-fastreid-gem", "fastreid", 0, 1, NULL, "bottleneck", 0, 0},
    {"resnet50-bnneck-gem", "fastreid", 0, 1, NULL, "bottleneck", 0, 1},
    {"resnet50-strongbaseline-gem", "strongbaseline", 0, 1, NULL, "bottleneck", 0, 1},
    {"resnet50-fastreid-512", "fastreid", 0, 0, "reduction", "bottleneck", 0, 0},
    {"resnet50-fastreid-gem-512", "fastreid", 0, 1, "reduction", "bottleneck", 0, 0},
    {"resnet50-layumi", "fastreid", 0, 0, "classifier.add_block.0", "classifier.add_block.1", 1, 0},
    {"resnet50-fc512", "torchreid", 0, 0, "fc.0", "fc.1", 1, 0},
};

/* A trunk, between "resnet" and the tail of a name. */
typedef struct seeded_trunk {
    const char *name;
    int blocks[4], ibn, nonlocal[4]; /* nonlocal: blocks at the end of each layer */
    int half;                        /* their channels: 1: half of their input's; 0: one */
} seeded_trunk;

static const seeded_trunk seeded_trunks[] = { /* before those that begin them */
    {"50-ibn-nl", {3, 4, 6, 3}, 'a', {0, 2, 3, 0}, 0}, {"50-nlhalf", {3, 4, 6, 3}, 0, {0, 2, 3, 0}, 1},
    {"50-ibnb", {3, 4, 6, 3}, 'b', {0, 0, 0, 0}, 0},   {"50-ibn", {3, 4, 6, 3}, 'a', {0, 0, 0, 0}, 0},
    {"101-ibn", {3, 4, 23, 3}, 'a', {0, 0, 0, 0}, 0},  {"50", {3, 4, 6, 3}, 0, {0, 0, 0, 0}, 0},
};

static void seeded_nonlocal(seeded_net *net, const char *block, size_t in, size_t channels) {
    static const char *const parts[3] = {"theta", "phi", "g"};
    char name[64];
    int wide = channels > 1;
    for (int i = 0; i < 3; i++) {
        seeded_name(name, "%s.%s", block, parts[i]);
        seeded_conv(net, name, SEEDED_FILTERS, channels, in, 1, wide ? 0.3 : 1.0);
        seeded_spread(net, name, ".bias", channels, 0, 200, 1.0);
    }
    seeded_conv(net, seeded_name(name, "%s.W.0", block), wide ? SEEDED_FILTERS : SEEDED_PLAIN, in, channels, 1, 1.0);
    seeded_spread(net, name, ".bias", in, 0, 200, 1.0);
    seeded_norm(net, seeded_name(name, "%s.W.1", block), in, 300, 0, wide ? 2.0 : 0.2);
}

static void seeded_resnet(seeded_net *net, const seeded_trunk *trunk, const seeded_tail *tail) {
    static const char *const heads[4] = {"reduce_layer2", "reduce_layer3", "reduce_layer4", "reduce_avgpool"};
    static const size_t inputs[4] = {8192, 4096, 2048, 2048}, taps[4] = {16, 4, 1, 1};
    static const double gains[4] = {0.4, 0.6, 1.1, 1.1}; /* so that no part outweighs the others */
    char name[64];
    size_t in = 64;
    net->preset = tail->preset;
    if (tail->named) net->network = tail->name;
    seeded_conv(net, "conv1", SEEDED_STEM, 64, 3, 7, 1.0);
    if (trunk->ibn == 'b') seeded_instance(net, "bn1", 64, -1000);
    else seeded_norm(net, "bn1", 64, 1000, -1000, 1.45);
    for (int layer = 0; layer < 4; layer++) {
        size_t mid = (size_t)64 << layer;
        int blocks = trunk->blocks[layer];
        for (int b = 0; b < blocks; b++) {
            int has = trunk->ibn == 'a' ? layer < 3 : layer < 2 && b == blocks - 1;
            seeded_name(name, "layer%d.%d", layer + 1, b);
            seeded_bottleneck(net, name, in, mid, b, has ? trunk->ibn : 0);
            in = 4 * mid;
        }
        for (int b = 0; b < trunk->nonlocal[layer]; b++)
            seeded_nonlocal(net, seeded_name(name, "NL_%d.%d", layer + 1, b), in, trunk->half ? in / 2 : 1);
    }
    for (int i = 0; tail->multiscale && i < 4; i++) seeded_linear(net, heads[i], 128, inputs[i], taps[i], gains[i]);
    if (tail->gem) seeded_spread(net, "pool_layer", ".p", 1, 3000, 300, 1.0);
    if (tail->linear) seeded_matrix(net, tail->linear, 512, 2048, 1, 1.0);
    if (tail->biased) seeded_spread(net, tail->linear, ".bias", 512, 0, 200, 1.0);
    if (tail->norm) seeded_norm(net, tail->norm, tail->linear ? 512 : 2048, 1000, 0, 0.3);
    if (net->extras && !tail->multiscale && !tail->linear) seeded_linear(net, "fc", 1000, 2048, 1, 1.0);
}

/* One inverted bottleneck with squeeze-excite. A block that adds its input to its output adds little (gamma 0.3). */
static void seeded_mbconv(seeded_net *net, const char *block, size_t in, size_t out, int expand, size_t k,
                          int residual) {
    char name[64];
    int at = 0;
    size_t mid = in * (size_t)expand, squeeze = in / 4 ? in / 4 : 1;
    double spatial = expand != 1 ? k == 3 ? 0.42 : 0.35 : residual ? 0.6 : 0.12;
    if (expand != 1) {
        seeded_conv(net, seeded_name(name, "%s.%d.0", block, at), SEEDED_FILTERS, mid, in, 1, 1.0);
        seeded_norm(net, seeded_name(name, "%s.%d.1", block, at++), mid, 1000, 500, 2.2);
    }
    seeded_conv(net, seeded_name(name, "%s.%d.0", block, at), SEEDED_DEPTHWISE, mid, 1, k, 1.0);
    seeded_norm(net, seeded_name(name, "%s.%d.1", block, at++), mid, 1000, 200, spatial);
    seeded_conv(net, seeded_name(name, "%s.%d.fc1", block, at), SEEDED_FILTERS, squeeze, mid, 1, 0.3);
    seeded_spread(net, name, ".bias", squeeze, 0, 200, 1.0);
    seeded_conv(net, seeded_name(name, "%s.%d.fc2", block, at++), SEEDED_FILTERS, mid, squeeze, 1, 0.3);
    seeded_spread(net, name, ".bias", mid, 0, 200, 1.0);
    seeded_conv(net, seeded_name(name, "%s.%d.0", block, at), SEEDED_FILTERS, out, mid, 1, 1.0);
    seeded_norm(net, seeded_name(name, "%s.%d.1", block, at), out, residual ? 300 : 1000, 0, 0.44);
}

/* expand k x k, project 1x1; or, if `single`, one convolution. var: of the first convolution's output. */
static void seeded_fused(seeded_net *net, const char *block, size_t in, size_t out, int expand, size_t k, int single,
                         int residual, double var) {
    char name[64];
    size_t mid = single ? out : in * (size_t)expand;
    seeded_conv(net, seeded_name(name, "%s.0.0", block), SEEDED_FILTERS, mid, in, k, 1.0);
    seeded_norm(net, seeded_name(name, "%s.0.1", block), mid, single && residual ? 600 : 1000, single ? 0 : 500, var);
    if (single) return;
    seeded_conv(net, seeded_name(name, "%s.1.0", block), SEEDED_FILTERS, out, mid, 1, 1.0);
    seeded_norm(net, seeded_name(name, "%s.1.1", block), out, residual ? 300 : 1000, 0, 1.4);
}

/* Rounds channels to a multiple of eight, at most a tenth lower than requested. */
static size_t seeded_channels(size_t base, double width) {
    double want = (double)base * width;
    size_t c = (size_t)(want + 4) / 8 * 8;
    if (c < 8) c = 8;
    return (double)c < 0.9 * want ? c + 8 : c;
}

/* A stage; fused: 0: with depthwise convolutions, 1: without, 2: without, and always two convolutions. */
typedef struct seeded_stage { int fused, expand, k, stride, out, repeats; } seeded_stage;

static const seeded_stage seeded_b[] = {{0, 1, 3, 1, 16, 1},  {0, 6, 3, 2, 24, 2},  {0, 6, 5, 2, 40, 2},
                                        {0, 6, 3, 2, 80, 3},  {0, 6, 5, 1, 112, 3}, {0, 6, 5, 2, 192, 4},
                                        {0, 6, 3, 1, 320, 1}, {0, 0, 0, 0, 0, 0}};
static const seeded_stage seeded_v2_s[] = {{1, 1, 3, 1, 24, 2},  {1, 4, 3, 2, 48, 4},  {1, 4, 3, 2, 64, 4},
                                           {0, 4, 3, 2, 128, 6}, {0, 6, 3, 1, 160, 9}, {0, 6, 3, 2, 256, 15},
                                           {0, 0, 0, 0, 0, 0}};
static const seeded_stage seeded_rw_s[] = {{2, 1, 3, 1, 24, 2},  {1, 4, 3, 2, 48, 4},  {1, 4, 3, 2, 64, 4},
                                           {0, 4, 3, 2, 128, 6}, {0, 6, 3, 1, 160, 9}, {0, 6, 3, 2, 272, 15},
                                           {0, 0, 0, 0, 0, 0}};
static const seeded_stage seeded_rw_m[] = {{2, 1, 3, 1, 24, 3},  {1, 4, 3, 2, 48, 5},   {1, 4, 3, 2, 64, 5},
                                           {0, 4, 3, 2, 128, 8}, {0, 6, 3, 1, 160, 15}, {0, 6, 3, 2, 272, 24},
                                           {0, 0, 0, 0, 0, 0}};

/* An EfficientNet; named: its tensors have the names of another network; neck: it ends with a generalised mean and
   batch norm. */
typedef struct seeded_efficient {
    const char *name, *preset;
    const seeded_stage *stages;
    size_t stem, head;
    double width, depth;
    int named, neck;
} seeded_efficient;

static const seeded_efficient seeded_efficients[] = {
    {"efficientnet_b0", "effnet-b0", seeded_b, 32, 1280, 1.0, 1.0, 0, 0},
    {"efficientnet_b1", "effnet-b1", seeded_b, 32, 1280, 1.0, 1.1, 0, 0},
    {"efficientnet_b2", "effnet-b2", seeded_b, 32, 1280, 1.1, 1.2, 0, 0},
    {"efficientnet_b3", "effnet-b3", seeded_b, 32, 1280, 1.2, 1.4, 0, 0},
    {"efficientnet_b4", "effnet-b4", seeded_b, 32, 1280, 1.4, 1.8, 0, 0},
    {"tf_efficientnet_b0", "effnet-b0", seeded_b, 32, 1280, 1.0, 1.0, 1, 0},
    {"tf_efficientnet_b1", "effnet-b1", seeded_b, 32, 1280, 1.0, 1.1, 1, 0},
    {"tf_efficientnet_b2", "effnet-b2", seeded_b, 32, 1280, 1.1, 1.2, 1, 0},
    {"tf_efficientnet_b3", "effnet-b3", seeded_b, 32, 1280, 1.2, 1.4, 1, 0},
    {"efficientnet_v2_s", "effnet-v2", seeded_v2_s, 24, 1280, 1.0, 1.0, 0, 0},
    {"tf_efficientnetv2_s", "timm-inception size=384x384 crop=1", seeded_v2_s, 24, 1280, 1.0, 1.0, 1, 0},
    {"efficientnetv2_rw_t", "timm-0.95 size=288x288 crop=1", seeded_v2_s, 24, 1280, 0.8, 0.9, 0, 0},
    {"efficientnetv2_rw_s", "timm-0.95 size=384x384 crop=1", seeded_rw_s, 24, 1792, 1.0, 1.0, 0, 0},
    {"miewid", "miewid", seeded_rw_m, 24, 1792, 1.2, 1.0, 0, 1},
};

static void seeded_efficientnet(seeded_net *net, const seeded_efficient *e, int projection) {
    char name[64];
    size_t in = seeded_channels(e->stem, e->width), last = seeded_channels(e->head, e->width);
    int stage = 0;
    net->preset = e->preset;
    if (e->named) net->network = e->name;
    seeded_conv(net, "features.0.0", SEEDED_STEM, in, 3, 3, 1.0);
    seeded_norm(net, "features.0.1", in, 1000, -1000, 0.11);
    for (const seeded_stage *s = e->stages; s->repeats; s++) {
        size_t out = seeded_channels((size_t)s->out, e->width);
        int repeats = (int)ceil(s->repeats * e->depth);
        stage++;
        for (int b = 0; b < repeats; b++, in = out) {
            int residual = in == out && (b > 0 || s->stride == 1);
            int single = s->fused == 1 && s->expand == 1;
            double var = b ? 9.0 : stage == 1 ? 1.0 : 4.0;
            seeded_name(name, "features.%d.%d.block", stage, b);
            if (!s->fused) seeded_mbconv(net, name, in, out, s->expand, (size_t)s->k, residual);
            else seeded_fused(net, name, in, out, s->expand, (size_t)s->k, single, residual, var);
        }
    }
    seeded_conv(net, seeded_name(name, "features.%d.0", stage + 1), SEEDED_FILTERS, last, in, 1, 1.0);
    seeded_norm(net, seeded_name(name, "features.%d.1", stage + 1), last, 600, -150, 2.2);
    if (e->neck) seeded_spread(net, "pool_layer", ".p", 1, 3000, 300, 1.0);
    if (e->neck) seeded_norm(net, "bottleneck", last, 1000, 0, 0.3);
    if (net->extras) seeded_linear(net, "classifier.1", 1000, last, 1, 1.0);
    if (projection) seeded_linear(net, "projection", 512, last, 1, 1.0);
}

/* The ResNet of that name. Returns 0 if there is none. */
static int seeded_resnet_named(seeded_net *net, const char *name) {
    if (strncmp(name, "resnet", 6) != 0) return 0;
    for (size_t i = 0; i < sizeof seeded_trunks / sizeof *seeded_trunks; i++) {
        const seeded_trunk *trunk = &seeded_trunks[i];
        size_t n = strlen(trunk->name);
        if (strncmp(name + 6, trunk->name, n) != 0) continue;
        for (size_t k = 0; k < sizeof seeded_tails / sizeof *seeded_tails; k++)
            if (strcmp(name + 6 + n, seeded_tails[k].name + 8) == 0)
                return seeded_resnet(net, trunk, &seeded_tails[k]), 1;
    }
    return 0;
}

/* Returns 0 for a name that is not in seeded_nets. */
static int seeded_list(seeded_net *net, const char *name, int options) {
    memset(net, 0, sizeof *net);
    net->extras = (options & SEEDED_EXTRAS) != 0, net->loud = (options & SEEDED_LOUD) != 0;
    if (seeded_resnet_named(net, name)) return 1;
    for (size_t i = 0; i < sizeof seeded_efficients / sizeof *seeded_efficients; i++)
        if (strcmp(name, seeded_efficients[i].name) == 0)
            return seeded_efficientnet(net, &seeded_efficients[i], (options & SEEDED_PROJECTION) != 0), 1;
    return 0;
}

/* ---- numbers ----------------------------------------------------------------------------------------------------- */
#define SEEDED_ONE ((int64_t)1 << 23) /* integers run from -SEEDED_ONE to SEEDED_ONE - 1 */

/* The start of splitmix64 for this tensor: FNV-1a of the name, changed by the seed. */
static uint64_t seeded_start(const char *name, uint64_t seed) {
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (; *name; name++) h = (h ^ (unsigned char)*name) * UINT64_C(0x100000001b3);
    return h + seed * UINT64_C(0xd1342543de82ef95);
}

static int64_t seeded_integer(uint64_t start, uint64_t index) {
    uint64_t z = start + (index + 1) * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (int64_t)((z ^ (z >> 31)) >> 40) - SEEDED_ONE;
}

/* SEEDED_FILTERS: one filter, (ins, taps). */
static void seeded_filter(int64_t *k, size_t ins, size_t taps) {
    for (size_t i = 0; taps > 1 && i < ins; i++) {
        int64_t sum = 0;
        for (size_t t = 0; t < taps; t++) sum += k[i * taps + t];
        for (size_t t = 0; t < taps; t++) k[i * taps + t] += sum;
    }
    for (size_t t = 0; t < taps; t++) {
        int64_t sum = 0;
        for (size_t i = 0; i < ins; i++) sum += k[i * taps + t];
        for (size_t i = 0; i < ins; i++) k[i * taps + t] = (int64_t)ins * k[i * taps + t] - sum;
    }
}

/* Binomial blur of one side x side plane, along x for step 1 and along y for step side. */
static void seeded_blur(int64_t *k, int side, int step) {
    static const int binomial[5] = {1, 4, 6, 4, 1};
    int other = step == 1 ? side : 1;
    for (int line = 0; line < side; line++) {
        int64_t out[7];
        for (int x = 0; x < side; x++) {
            out[x] = 0;
            for (int d = -2; d <= 2; d++)
                if (x + d >= 0 && x + d < side) out[x] += binomial[d + 2] * k[line * other + (x + d) * step];
        }
        for (int x = 0; x < side; x++) k[line * other + x * step] = out[x];
    }
}

/* SEEDED_STEM: one filter, (3, taps), blurred if it is large enough. */
static void seeded_stem(int64_t *k, size_t taps, int colour) {
    for (size_t c = 0; taps == 49 && c < 3; c++) {
        seeded_blur(k + c * taps, 7, 1);
        seeded_blur(k + c * taps, 7, 7);
    }
    for (size_t t = 0; t < taps; t++) {
        int64_t grey = colour ? k[t] + k[taps + t] + k[2 * taps + t] : 0;
        for (size_t c = 0; c < 3; c++) k[c * taps + t] = (colour ? 2 : 1) * (3 * k[c * taps + t] - grey);
    }
    for (size_t c = 0; c < 3; c++) {
        int64_t sum = 0;
        for (size_t t = 0; t < taps; t++) sum += k[c * taps + t];
        for (size_t t = 0; t < taps; t++) k[c * taps + t] = (int64_t)taps * k[c * taps + t] - sum;
    }
}

/* SEEDED_DEPTHWISE: one filter. Each tap is 1 / taps, plus or minus at most as much. */
static void seeded_depthwise(int64_t *k, size_t taps) {
    int64_t sum = 0;
    for (size_t t = 0; t < taps; t++) sum += k[t];
    for (size_t t = 0; t < taps; t++) k[t] = (int64_t)taps * (SEEDED_ONE + k[t]) - sum;
}

/* The factor for an integer after its rule: scale / its standard deviation, in units of SEEDED_ONE. */
static double seeded_unit(const seeded_tensor *t) {
    double one = (double)SEEDED_ONE, ins = (double)t->ins, taps = (double)t->taps;
    switch (t->rule) {
    case SEEDED_FILTERS: return t->scale / (one * ins * sqrt(t->taps > 1 ? taps + 3 : 1.0));
    case SEEDED_STEM: return t->scale / (one * 3 * taps * (t->taps == 49 ? 70 : 1));
    case SEEDED_DEPTHWISE: return 1.0 / (one * taps * taps);
    case SEEDED_PLAIN: return t->scale / one;
    default: return t->scale / (one * 1000);
    }
}

/* Filter o of t, as integers, in k. */
static void seeded_integers(const seeded_tensor *t, size_t o, uint64_t start, int64_t *k) {
    size_t n = t->ins * t->taps;
    for (size_t i = 0; i < n; i++) k[i] = seeded_integer(start, o * n + i);
    switch (t->rule) {
    case SEEDED_FILTERS: seeded_filter(k, t->ins, t->taps); break;
    case SEEDED_STEM: seeded_stem(k, t->taps, o < t->outs / 2); break;
    case SEEDED_DEPTHWISE: seeded_depthwise(k, t->taps); break;
    case SEEDED_PLAIN: break;
    default: k[0] = t->middle * SEEDED_ONE + t->width * k[0]; break;
    }
}

/* ---- the file ---------------------------------------------------------------------------------------------------- */
static size_t seeded_width(seeded_dtype dtype) { return dtype == SEEDED_F64 ? 8 : dtype == SEEDED_F32 ? 4 : 2; }

/* Nearest half, ties to even; all weights here are far below the largest half. */
static uint16_t seeded_half(float value) {
    uint32_t bits, sign, rest;
    memcpy(&bits, &value, 4);
    sign = bits >> 16 & 0x8000;
    bits &= 0x7fffffff;
    if (bits >= 0x38800000) return (uint16_t)(sign | ((bits - 0x38000000 + 0xfff + (bits >> 13 & 1)) >> 13));
    int shift = 126 - (int)(bits >> 23); /* a subnormal half: multiples of 2^-24 */
    if (shift > 24) return (uint16_t)sign;
    bits = (bits & 0x7fffff) | 0x800000;
    rest = bits & (((uint32_t)1 << shift) - 1);
    bits >>= shift;
    if (rest > (uint32_t)1 << (shift - 1) || (rest == (uint32_t)1 << (shift - 1) && (bits & 1))) bits++;
    return (uint16_t)(sign | bits);
}

static uint16_t seeded_bfloat(float value) {
    uint32_t bits;
    memcpy(&bits, &value, 4);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static void seeded_store(unsigned char *at, seeded_dtype dtype, float value) {
    uint16_t half = dtype == SEEDED_F16 ? seeded_half(value) : seeded_bfloat(value);
    double twice = value;
    if (dtype == SEEDED_F32) memcpy(at, &value, 4);
    else if (dtype == SEEDED_F64) memcpy(at, &twice, 8);
    else memcpy(at, &half, 2);
}

static size_t seeded_bytes(const seeded_tensor *t, seeded_dtype dtype) {
    return t->rule == SEEDED_COUNT ? 8 : t->outs * t->ins * t->taps * seeded_width(dtype);
}

static void seeded_fill(const seeded_tensor *t, uint64_t seed, seeded_dtype dtype, unsigned char *at) {
    uint64_t start = seeded_start(t->name, seed);
    size_t n = t->ins * t->taps, width = seeded_width(dtype);
    double unit = seeded_unit(t);
    if (t->rule == SEEDED_COUNT) {
        int64_t batches = 1000;
        memcpy(at, &batches, 8);
        return;
    }
    int64_t *k = (int64_t *)seeded_memory(NULL, n * sizeof *k);
    for (size_t o = 0; o < t->outs; o++) {
        seeded_integers(t, o, start, k);
        for (size_t i = 0; i < n; i++, at += width) seeded_store(at, dtype, (float)((double)k[i] * unit));
    }
    free(k);
}

/* Writes the JSON header, padded with spaces to a multiple of 8, and returns its length. */
static size_t seeded_header(const seeded_net *net, uint64_t seed, seeded_dtype dtype, char *header, size_t size) {
    static const char *const names[] = {"F32", "F16", "BF16", "F64"};
    size_t at = 0, offset = 0;
    at += (size_t)snprintf(header, size,
                           "{\"__metadata__\":{\"reid.note\":\"synthetic: made from seed %llu, trained on nothing\","
                           "\"reid.preset\":\"%s\"%s%s%s}",
                           (unsigned long long)seed, net->preset, net->network ? ",\"reid.network\":\"" : "",
                           net->network ? net->network : "", net->network ? "\"" : "");
    for (int i = 0; i < net->count; i++) {
        const seeded_tensor *t = &net->tensors[i];
        size_t end = offset + seeded_bytes(t, dtype);
        at += (size_t)snprintf(header + at, size - at, ",\"%s\":{\"dtype\":\"%s\",\"shape\":[", t->name,
                               t->rule == SEEDED_COUNT ? "I64" : names[dtype]);
        for (int d = 0; d < t->ndim; d++)
            at += (size_t)snprintf(header + at, size - at, d ? ",%zu" : "%zu", t->shape[d]);
        at += (size_t)snprintf(header + at, size - at, "],\"data_offsets\":[%zu,%zu]}", offset, end);
        offset = end;
    }
    at += (size_t)snprintf(header + at, size - at, "}");
    while (at % 8) header[at++] = ' ';
    return at;
}

/* The whole file, for free(). NULL for an unknown network. */
static unsigned char *seeded_file(const char *name, uint64_t seed, seeded_dtype dtype, int options, size_t *size) {
    seeded_net net;
    if (!seeded_list(&net, name, options)) return NULL;
    size_t room = 512 + (size_t)net.count * 192, at;
    char *header = (char *)seeded_memory(NULL, room);
    size_t length = seeded_header(&net, seed, dtype, header, room);
    *size = 8 + length;
    for (int i = 0; i < net.count; i++) *size += seeded_bytes(&net.tensors[i], dtype);
    unsigned char *file = (unsigned char *)seeded_memory(NULL, *size);
    for (int i = 0; i < 8; i++) file[i] = (unsigned char)((uint64_t)length >> 8 * i);
    memcpy(file + 8, header, length);
    at = 8 + length;
    for (int i = 0; i < net.count; i++) {
        seeded_fill(&net.tensors[i], seed, dtype, file + at);
        at += seeded_bytes(&net.tensors[i], dtype);
    }
    free(header);
    free(net.tensors);
    return file;
}

#endif
