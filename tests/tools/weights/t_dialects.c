/* Names of tensors: every layout's names become torchvision's; prefixes and wrappers are found; origins determine the
   preset; what cannot be expressed is refused by name. Shapes and values do not matter here: each tensor is one float.

   cc -std=c99 -D_GNU_SOURCE -O1 -I. -Itools tests/tools/weights/t_dialects.c tools/weights/dialects.c
      tools/weights/checkpoint.c tools/weights/checkpoint_open.c tools/base/crc32.c tools/base/file_kind.c
      tools/base/memory.c tools/base/clock.c tools/weights/torch_file.c tools/weights/torch_state.c
      tools/weights/stated.c tools/weights/foreign_file.c tools/weights/onnx_file.c
      tools/weights/onnx_graph.c tools/weights/protobuf.c
      tools/weights/pickle.c tools/weights/zip.c tools/base/source.c
      tools/base/json.c tools/base/text.c tools/base/say.c -o t_dialects -lcmocka -lm && ./t_dialects */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "weights/checkpoint_open.h"
#include "weights/dialects.h"
#include "../../lib/test_says.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 600 };

typedef struct names {
    char at[MOST][80];
    int count;
} names;

static void add(names *n, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add(names *n, const char *format, ...) {
    va_list args;
    assert_true(n->count < MOST);
    va_start(args, format);
    vsnprintf(n->at[n->count++], sizeof n->at[0], format, args);
    va_end(args);
}

static void add_bn(names *n, const char *start, const char *name) {
    static const char *const parts[] = {"weight", "bias", "running_mean", "running_var"};
    for (int i = 0; i < 4; i++) add(n, "%s%s.%s", start, name, parts[i]);
}

/* The names of the parts of an EfficientNet in one layout, in torchvision's order. */
typedef struct spelling {
    const char *stem[2], *head[2];
    const char *first[6]; /* of blocks that do not expand: depthwise, bn, se, se, project, bn */
    const char *later[8]; /* expand, bn, depthwise, bn, se, se, project, bn */
} spelling;

static const spelling TORCHVISION = {
    {"features.0.0", "features.0.1"}, {"features.8.0", "features.8.1"},
    {"block.0.0", "block.0.1", "block.1.fc1", "block.1.fc2", "block.2.0", "block.2.1"},
    {"block.0.0", "block.0.1", "block.1.0", "block.1.1", "block.2.fc1", "block.2.fc2", "block.3.0", "block.3.1"}};
static const spelling TIMM = {
    {"conv_stem", "bn1"}, {"conv_head", "bn2"},
    {"conv_dw", "bn1", "se.conv_reduce", "se.conv_expand", "conv_pw", "bn2"},
    {"conv_pw", "bn1", "conv_dw", "bn2", "se.conv_reduce", "se.conv_expand", "conv_pwl", "bn3"}};
static const spelling LUKEMELAS = {
    {"_conv_stem", "_bn0"}, {"_conv_head", "_bn1"},
    {"_depthwise_conv", "_bn1", "_se_reduce", "_se_expand", "_project_conv", "_bn2"},
    {"_expand_conv", "_bn0", "_depthwise_conv", "_bn1", "_se_reduce", "_se_expand", "_project_conv", "_bn2"}};

static const spelling HUGGING_FACE = {
    {"embeddings.convolution", "embeddings.batchnorm"}, {"encoder.top_conv", "encoder.top_bn"},
    {"depthwise_conv.depthwise_conv", "depthwise_conv.depthwise_norm", "squeeze_excite.reduce",
     "squeeze_excite.expand", "projection.project_conv", "projection.project_bn"},
    {"expansion.expand_conv", "expansion.expand_bn", "depthwise_conv.depthwise_conv", "depthwise_conv.depthwise_norm",
     "squeeze_excite.reduce", "squeeze_excite.expand", "projection.project_conv", "projection.project_bn"}};

/* The tensors of an EfficientNet with these numbers of blocks in its stages. */
static void efficientnet(names *n, const spelling *s, const int *stages) {
    char block[40];
    add(n, "%s.weight", s->stem[0]);
    add_bn(n, "", s->stem[1]);
    for (int stage = 0, flat = 0; stage < 7; stage++)
        for (int i = 0; i < stages[stage]; i++, flat++) {
            const char *const *parts = stage ? s->later : s->first;
            if (s == &TORCHVISION) snprintf(block, sizeof block, "features.%d.%d.", stage + 1, i);
            else if (s == &TIMM) snprintf(block, sizeof block, "blocks.%d.%d.", stage, i);
            else snprintf(block, sizeof block, s == &LUKEMELAS ? "_blocks.%d." : "encoder.blocks.%d.", flat);
            for (int k = 0; k < (stage ? 8 : 6); k++) {
                int se = k == (stage ? 4 : 2) || k == (stage ? 5 : 3);
                if (se || k % 2 == 0) add(n, "%s%s.weight", block, parts[k]);
                if (se) add(n, "%s%s.bias", block, parts[k]);
                if (!se && k % 2) add_bn(n, block, parts[k]);
            }
        }
    add(n, "%s.weight", s->head[0]);
    add_bn(n, "", s->head[1]);
}

static void resnet(names *n) {
    static const int blocks[] = {3, 4, 6, 3};
    char start[40];
    add(n, "conv1.weight");
    add_bn(n, "", "bn1");
    for (int layer = 1; layer <= 4; layer++)
        for (int i = 0; i < blocks[layer - 1]; i++) {
            snprintf(start, sizeof start, "layer%d.%d.", layer, i);
            for (int k = 1; k <= 3; k++) {
                char bn[16];
                snprintf(bn, sizeof bn, "bn%d", k);
                add(n, "%sconv%d.weight", start, k);
                add_bn(n, start, bn);
            }
            if (i == 0) {
                add(n, "%sdownsample.0.weight", start);
                add_bn(n, start, "downsample.1");
            }
        }
}

/* The same tensors in the same order, as transformers' ResNetModel names them. */
static void hugging_face_resnet(names *n) {
    static const int blocks[] = {3, 4, 6, 3};
    char start[64];
    add(n, "embedder.embedder.convolution.weight");
    add_bn(n, "embedder.embedder.", "normalization");
    for (int stage = 0; stage < 4; stage++)
        for (int i = 0; i < blocks[stage]; i++)
            for (int k = 0; k < 3 + (i == 0); k++) {
                if (k == 3) snprintf(start, sizeof start, "encoder.stages.%d.layers.%d.shortcut.", stage, i);
                else snprintf(start, sizeof start, "encoder.stages.%d.layers.%d.layer.%d.", stage, i, k);
                add(n, "%sconvolution.weight", start);
                add_bn(n, start, "normalization");
            }
}

static int by_name(const void *a, const void *b) { return strcmp(((const want *)a)->name, ((const want *)b)->name); }

static void make_network(network *net, const char *name, names *n) {
    snprintf(net->name, sizeof net->name, "%s", name);
    snprintf(net->listed, sizeof net->listed, "%s", name);
    net->count = (size_t)n->count;
    net->wants = calloc(net->count, sizeof *net->wants);
    for (int i = 0; i < n->count; i++) net->wants[i] = (want){n->at[i], 1, {1}};
    qsort(net->wants, net->count, sizeof *net->wants, by_name);
}

static const int B0[] = {1, 2, 2, 3, 3, 4, 1}, B3[] = {2, 3, 3, 5, 5, 6, 2};
enum { NETS = 12, NECKED = 3 }; /* the networks from NECKED on have layers after the trunk */
static names r50_names, b0_names, b3_names, necked_names[NETS];
static network nets[NETS];

/* The ResNets with fast-reid's heads, and the little of MiewID that its names need. Shapes, which would tell a
   reduction from a batch norm, are all the same here, so the networks with a reduction come first. */
static void make_necked(void) {
    static const struct { const char *name; int norm, gem, reduction; } rows[NETS - NECKED] = {
        {"resnet50-fastreid-gem-512", 1, 1, 1}, {"resnet50-fastreid-512", 1, 0, 1}, {"resnet50-fastreid-gem", 1, 1, 0},
        {"resnet50-bnneck-gem", 1, 1, 0}, {"resnet50-bnneck", 1, 0, 0}, {"resnet50-fastreid", 1, 0, 0},
        {"resnet50-strongbaseline", 1, 0, 0}, {"resnet50-strongbaseline-gem", 1, 1, 0}, {"miewid", 1, 1, 0}};
    for (int i = NECKED; i < NETS; i++) {
        names *n = &necked_names[i];
        if (i < NETS - 1) *n = r50_names;
        else add(n, "features.0.0.weight"), add(n, "features.1.0.block.0.0.weight");
        if (rows[i - NECKED].norm) add_bn(n, "", "bottleneck");
        if (rows[i - NECKED].gem) add(n, "pool_layer.p");
        if (rows[i - NECKED].reduction) add(n, "reduction.weight");
        make_network(&nets[i], rows[i - NECKED].name, n);
    }
}

static int setup(void **state) {
    (void)state;
    resnet(&r50_names);
    efficientnet(&b0_names, &TORCHVISION, B0);
    efficientnet(&b3_names, &TORCHVISION, B3);
    make_network(&nets[0], "resnet50", &r50_names);
    make_network(&nets[1], "efficientnet_b0", &b0_names);
    make_network(&nets[2], "efficientnet_b3", &b3_names);
    make_necked();
    return 0;
}

static int teardown(void **state) {
    (void)state;
    for (int i = 0; i < NETS; i++) free(nets[i].wants);
    return 0;
}

/* A safetensors file with these tensors; tensor i holds the float i. */
static text file_of(const names *n, const char *prefix, const char *const *more) {
    text json = TEXT_INIT, out = TEXT_INIT;
    int i = 0;
    for (; i < n->count || (more && more[i - n->count]); i++) {
        const char *name = i < n->count ? n->at[i] : more[i - n->count];
        text_printf(&json, "%s\"%s%s\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[%d,%d]}", i ? "," : "{",
                    i < n->count ? prefix : "", name, 4 * i, 4 * i + 4);
    }
    text_putc(&json, '}');
    for (int k = 0; k < 8; k++) text_putc(&out, (int)(json.len >> 8 * k & 255));
    text_add(&out, json.s, json.len);
    for (int k = 0; k < i; k++) {
        float value = (float)k;
        text_add(&out, &value, 4);
    }
    text_free(&json);
    return out;
}

typedef struct found {
    text file, why;
    checkpoint c;
    mapping m;
    int good;
} found;

static found look(const names *n, const char *prefix, const char *const *more, const char *asked, const char *file) {
    found f;
    memset(&f, 0, sizeof f);
    f.file = file_of(n, prefix, more);
    if (!checkpoint_open_memory(&f.c, f.file.s, f.file.len, &f.why)) fail_msg("%s", f.why.s);
    f.good = mapping_find(&f.m, &f.c, nets, NETS, asked, NULL, file, &f.why);
    return f;
}

static void forget(found *f) {
    mapping_free(&f->m);
    checkpoint_close(&f->c);
    text_free(&f->file);
    text_free(&f->why);
}

/* Checks that each name of `from` becomes the name at the same index in `to`. */
static void maps(const char *what, const names *from, const names *to, const char *network_name, const char *layout) {
    static const char *const prefixes[] = {"", "module.", "a.b.c."};
    for (int p = 0; p < 3; p++) {
        found f = look(from, prefixes[p], NULL, NULL, "x.pth");
        if (!f.good) fail_msg("%s: %s", what, f.why.s);
        assert_string_equal(f.m.network->name, network_name);
        assert_string_equal(f.m.layout, layout);
        assert_string_equal(f.m.prefix, prefixes[p]);
        assert_int_equal(f.m.by_fate[FATE_USED], to->count);
        assert_int_equal(f.m.missing_count, 0);
        for (size_t i = 0; i < f.m.count; i++) {
            const storage *s = &f.c.storages[f.m.at[i].from->storage];
            float place;
            memcpy(&place, f.file.s + s->at, 4);
            assert_string_equal(f.m.at[i].name, to->at[(int)place]);
        }
        forget(&f);
    }
}

static names renamed(const names *n, const char *const *pairs) {
    names out = {{{0}}, 0};
    for (int i = 0; i < n->count; i++) {
        const char *const *p = pairs;
        while (*p && strncmp(n->at[i], *p, strlen(*p)) != 0) p += 2;
        if (*p) add(&out, "%s%s", p[1], n->at[i] + strlen(*p));
        else add(&out, "%s", n->at[i]);
    }
    return out;
}

static void test_layouts(void **state) {
    static const char *const children[] = {"conv1.", "0.", "bn1.", "1.", "layer1.", "4.", "layer2.", "5.", "layer3.",
                                           "6.", "layer4.", "7.", NULL};
    static const char *const features[] = {"features.", "0.", NULL};
    names n;
    (void)state;
    maps("torchvision ResNet", &r50_names, &r50_names, "resnet50", "torchvision ResNet");
    maps("torchvision B0", &b0_names, &b0_names, "efficientnet_b0", "torchvision EfficientNet");
    maps("torchvision B3", &b3_names, &b3_names, "efficientnet_b3", "torchvision EfficientNet");
    const struct { const int *stages; const names *to; const char *net; } sizes[] = {
        {B0, &b0_names, "efficientnet_b0"}, {B3, &b3_names, "efficientnet_b3"}};
    for (int i = 0; i < 2; i++) {
        memset(&n, 0, sizeof n);
        efficientnet(&n, &TIMM, sizes[i].stages);
        maps("timm", &n, sizes[i].to, sizes[i].net, "timm EfficientNet");
        memset(&n, 0, sizeof n);
        efficientnet(&n, &LUKEMELAS, sizes[i].stages);
        maps("lukemelas", &n, sizes[i].to, sizes[i].net, "EfficientNet-PyTorch (lukemelas)");
        memset(&n, 0, sizeof n);
        efficientnet(&n, &HUGGING_FACE, sizes[i].stages);
        maps("Hugging Face's EfficientNet", &n, sizes[i].to, sizes[i].net, "Hugging Face EfficientNet");
    }
    memset(&n, 0, sizeof n);
    hugging_face_resnet(&n);
    maps("Hugging Face's ResNet", &n, &r50_names, "resnet50", "Hugging Face ResNet");
    n = renamed(&r50_names, children);
    maps("children of ResNet", &n, &r50_names, "resnet50", "ResNet as Sequential(*children())");
    n = renamed(&b0_names, features);
    maps("children of EfficientNet", &n, &b0_names, "efficientnet_b0", "EfficientNet as Sequential(*children())");
}

/* Tensors in addition to the trunk, and the expected mapping. */
typedef struct origin_row {
    const char *prefix;
    const char *more[4];
    const char *file, *asked;
    const char *origin, *preset;
    int last_stride;
    const char *problem; /* NULL: none */
} origin_row;

static const origin_row ORIGIN_ROWS[] = {
    {"", {"fc.weight", "fc.bias", NULL}, "x.pth", NULL, NULL, NULL, 0, NULL},
    {"", {"fc.weight", NULL}, "resnet50-0676ba61.pth", NULL, NULL, "torchvision-v1", 0, NULL},
    {"", {"fc.weight", NULL}, "resnet50-11ad3fa6.pth", NULL, NULL, "torchvision-v2", 0, NULL},
    {"", {"fc.weight", NULL}, "resnet50-19c8e357.pth", NULL, NULL, "torchvision-v1", 0, NULL},
    {"module.", {"module.classifier.weight", NULL}, "x.pth", NULL, "torchreid", "torchreid", 2, NULL},
    {"base.", {"bottleneck.weight", "classifier.weight", NULL}, "x", NULL, "strong-baseline",
     "strongbaseline", 1, "strong-baseline's code has no ReLU after the first convolution, unlike network resnet50"},
    {"base.", {"bottleneck.weight", "classifier.weight", NULL}, "x", "resnet50", "strong-baseline", "strongbaseline", 1,
     NULL},
    {"model.", {"classifier.add_block.0.weight", NULL}, "x", NULL, "layumi", "fastreid", 2, NULL},
    {"backbone.", {"heads.weight", NULL}, "x", NULL, "fast-reid", "fastreid", 1, "max pool after the first"},
    {"backbone.", {"heads.weight", NULL}, "x", "resnet50", "fast-reid", "fastreid", 1, NULL},
    {"backbone.", {"backbone.layer1.0.bn1.IN.weight", "heads.weight", NULL}, "x", "resnet50", "fast-reid", "fastreid",
     1, "network resnet50 has no such layer"},
    {"backbone.", {"backbone.NL_3.1.theta.weight", "heads.weight", NULL}, "x", NULL, "fast-reid", "fastreid", 1,
     "network resnet50 has no such layer"},
    {"", {"layer1.0.se.fc1.weight", NULL}, "x", NULL, NULL, NULL, 0, "squeeze-excite blocks in a ResNet"},
    {"", {"layer3.6.conv1.weight", "layer3.22.conv1.weight", NULL}, "x", NULL, NULL, NULL, 0,
     "the file holds another network"},
    {"a.", {"a.layer5.0.conv1.weight", NULL}, "x", "resnet50", NULL, NULL, 0, "the file holds another network"},
    {"a.", {"b.layer5.0.conv1.weight", NULL}, "x", NULL, NULL, NULL, 0, NULL},
    {"", {"fc_fusion.0.weight", NULL}, "x", NULL, NULL, NULL, 0, "torchreid's resnet50mid"},
    {"", {"conv1.0.weight", "layer1.0.downsample.2.weight", NULL}, "x", NULL, NULL, NULL, 0,
     "the file holds a ResNet with a deep stem (timm's resnet50d"},
};

static void test_origins(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof ORIGIN_ROWS / sizeof *ORIGIN_ROWS; i++) {
        const origin_row *r = &ORIGIN_ROWS[i];
        found f = look(&r50_names, r->prefix, r->more, r->asked, r->file);
        if (!f.good) fail_msg("row %zu: %s", i, f.why.s);
        if (r->origin) assert_string_equal(f.m.origin, r->origin);
        else assert_null(f.m.origin);
        if (r->preset) assert_string_equal(f.m.preset, r->preset);
        else assert_null(f.m.preset);
        assert_int_equal(f.m.last_stride, r->last_stride);
        assert_int_equal(f.m.by_fate[FATE_USED], r50_names.count);
        if (!r->problem) assert_int_equal(f.m.problem.len, 0);
        else if (!f.m.problem.len || !says(f.m.problem.s, r->problem))
            fail_msg("row %zu: no \"%s\" in: %s", i, r->problem, f.m.problem.len ? f.m.problem.s : "");
        forget(&f);
    }
}

/* fast-reid's heads: its EmbeddingHead (fastreid/modeling/heads/embedding_head.py) has EMBEDDING_DIM and WITH_BNNECK,
   and one of the pools of fastreid/layers/pooling.py, of which only GeneralizedMeanPoolingP has a tensor. */
enum { NO_NECK, BNNECK, OLD_BNNECK, ZOO_BNNECK, REDUCTION, REDUCTION_BNNECK };

static const struct {
    int neck, learned; /* learned: the file has the pool's exponent */
    const char *asked, *network;
    double exponent;
    const char *problem; /* NULL: none */
} HEAD_ROWS[] = {
    {BNNECK, 1, NULL, "resnet50-fastreid-gem", 0, NULL},
    {OLD_BNNECK, 1, NULL, "resnet50-bnneck-gem", 0, NULL},
    {ZOO_BNNECK, 1, NULL, "resnet50-bnneck-gem", 0, NULL},
    {ZOO_BNNECK, 0, NULL, "resnet50-bnneck", 0, NULL},
    {OLD_BNNECK, 1, "resnet50-fastreid-gem", "resnet50-fastreid-gem", 0, NULL},
    {REDUCTION_BNNECK, 1, NULL, "resnet50-fastreid-gem-512", 0, NULL},
    {BNNECK, 0, NULL, "resnet50-fastreid", 0, "or give --net resnet50-fastreid if POOL_LAYER in its "
     "configuration is GlobalAvgPool, FastGlobalAvgPool or avgpool, --net resnet50-fastreid-gem if it is "
     "GeneralizedMeanPooling or gempool; other pools are not supported"},
    {OLD_BNNECK, 0, NULL, "resnet50-bnneck", 0, NULL},
    {REDUCTION_BNNECK, 0, NULL, "resnet50-fastreid-512", 0, "--net resnet50-fastreid-gem-512 if it is Generalized"},
    {BNNECK, 0, "resnet50-fastreid", "resnet50-fastreid", 0, NULL},
    {OLD_BNNECK, 0, "resnet50-fastreid", "resnet50-fastreid", 0, NULL},
    {REDUCTION_BNNECK, 0, "resnet50-fastreid-512", "resnet50-fastreid-512", 0, NULL},
    {BNNECK, 0, "resnet50-fastreid-gem", "resnet50-fastreid-gem", 3, NULL},
    {OLD_BNNECK, 0, "resnet50-fastreid-gem", "resnet50-fastreid-gem", 0, "tensor pool_layer.p is missing"},
    {REDUCTION_BNNECK, 0, "resnet50-fastreid-gem-512", "resnet50-fastreid-gem-512", 3, NULL},
    {BNNECK, 1, "resnet50-fastreid-gem", "resnet50-fastreid-gem", 0, NULL},
    {BNNECK, 0, "resnet50-fastreid-gem-512", "resnet50-fastreid-gem-512", 0, "tensor bottleneck.weight is missing"},
    {REDUCTION, 0, "resnet50-fastreid-512", "resnet50-fastreid-512", 0, "tensor bottleneck.bias is missing, and"},
    {REDUCTION, 1, "resnet50-fastreid-gem-512", "resnet50-fastreid-gem-512", 0, "tensor bottleneck.bias is missing"},
    {NO_NECK, 0, "resnet50-fastreid", "resnet50-fastreid", 0, "tensor bottleneck.bias is missing, and others"},
    {NO_NECK, 0, NULL, "resnet50", 0, "fast-reid's max pool after the first convolution has no padding"},
    {NO_NECK, 1, NULL, "resnet50", 0, "fast-reid's max pool after the first convolution has no padding"},
    {REDUCTION, 0, NULL, "resnet50", 0, "fast-reid's max pool after the first convolution has no padding"},
};

static void add_head(names *n, int neck, int learned) {
    if (neck == BNNECK || neck == ZOO_BNNECK) add_bn(n, "heads.", "bottleneck.0");
    if (neck == ZOO_BNNECK) add(n, "heads.bnneck.num_batches_tracked");
    if (neck == OLD_BNNECK) add_bn(n, "heads.", "bnneck");
    if (neck == REDUCTION || neck == REDUCTION_BNNECK) add(n, "heads.bottleneck.0.weight");
    if (neck == REDUCTION_BNNECK) add_bn(n, "heads.", "bottleneck.1");
    if (learned) add(n, "heads.pool_layer.p");
    add(n, "heads.weight");
}

static void test_heads(void **state) {
    static names whole;
    (void)state;
    for (size_t i = 0; i < sizeof HEAD_ROWS / sizeof *HEAD_ROWS; i++) {
        whole.count = 0;
        for (int k = 0; k < r50_names.count; k++) add(&whole, "backbone.%.60s", r50_names.at[k]);
        add_head(&whole, HEAD_ROWS[i].neck, HEAD_ROWS[i].learned);
        found f = look(&whole, "", NULL, HEAD_ROWS[i].asked, "model_final.pth");
        if (!f.good) fail_msg("row %zu: %s", i, f.why.s);
        assert_string_equal(f.m.network->name, HEAD_ROWS[i].network);
        /* Old ones have a padded max pool. */
        const int old = HEAD_ROWS[i].neck == OLD_BNNECK || HEAD_ROWS[i].neck == ZOO_BNNECK;
        const int other_pool = old ? strstr(HEAD_ROWS[i].network, "-fastreid") != NULL
                                   : strcmp(HEAD_ROWS[i].network, "resnet50") == 0;
        assert_string_equal(f.m.origin, old ? "fast-reid of 2020" : "fast-reid");
        assert_int_equal(f.m.differs[0] != 0, other_pool);
        assert_true(f.m.exponent >= HEAD_ROWS[i].exponent && f.m.exponent <= HEAD_ROWS[i].exponent);
        if (!HEAD_ROWS[i].problem && f.m.problem.len) fail_msg("row %zu: %s", i, f.m.problem.s);
        else if (HEAD_ROWS[i].problem && !(f.m.problem.len && says(f.m.problem.s, HEAD_ROWS[i].problem)))
            fail_msg("row %zu: no \"%s\" in: %s", i, HEAD_ROWS[i].problem, f.m.problem.len ? f.m.problem.s : "");
        forget(&f);
    }
}

/* strong-baseline's networks have no ReLU after the first convolution, unless they have IBN-a; AGW's are these with a
   generalised mean. Other code has torchvision's trunk. */
static const struct {
    const char *prefix, *more, *network;
    int unsure; /* 1: with a warning */
} BASELINE_ROWS[] = {
    {"base.", NULL, "resnet50-strongbaseline", 1},
    {"base.", "global_pool.p", "resnet50-strongbaseline-gem", 1},
    {"base.", "base.layer1.0.bn1.IN.weight", "resnet50-bnneck", 0},
    {"", NULL, "resnet50-bnneck", 0},
    {"", "global_pool.p", "resnet50-bnneck-gem", 0},
    {"net.", "pooling.p", "resnet50-bnneck-gem", 0},
};

static void test_baselines(void **state) {
    static names whole;
    (void)state;
    for (size_t i = 0; i < sizeof BASELINE_ROWS / sizeof *BASELINE_ROWS; i++) {
        whole.count = 0;
        for (int k = 0; k < r50_names.count; k++) add(&whole, "%s%.60s", BASELINE_ROWS[i].prefix, r50_names.at[k]);
        add_bn(&whole, "", "bottleneck");
        if (BASELINE_ROWS[i].more) add(&whole, "%s", BASELINE_ROWS[i].more);
        found f = look(&whole, "", NULL, NULL, "x.pth");
        if (!f.good) fail_msg("row %zu: %s", i, f.why.s);
        assert_string_equal(f.m.network->name, BASELINE_ROWS[i].network);
        assert_int_equal(strstr(f.m.ambiguous, "give --net resnet50-") != NULL, BASELINE_ROWS[i].unsure);
        assert_string_equal(f.m.differs, "");
        forget(&f);
    }
}

/* MiewID's pool is "pooling" in its code and "global_pool" of the trunk in the published file. */
static void test_miewid(void **state) {
    static const char *const pools[] = {"pooling.p", "backbone.global_pool.p"};
    (void)state;
    for (int i = 0; i < 2; i++) {
        names n = {{{0}}, 0};
        add(&n, "backbone.conv_stem.weight");
        add(&n, "backbone.blocks.0.0.conv_exp.weight");
        add(&n, "%s", pools[i]);
        add_bn(&n, "", "bn");
        add(&n, "final.weight");
        add(&n, "final.bias");
        found f = look(&n, "", NULL, NULL, "model.safetensors");
        if (!f.good || f.m.problem.len) fail_msg("%s: %s", pools[i], f.good ? f.m.problem.s : f.why.s);
        assert_string_equal(f.m.network->name, "miewid");
        assert_string_equal(f.m.origin, "MiewID");
        assert_string_equal(f.m.preset, "miewid");
        assert_int_equal(f.m.by_fate[FATE_USED], 7);
        assert_int_equal(f.m.by_fate[FATE_DROPPED], 2);
        forget(&f);
    }
}

/* timm's names do not reveal whether padding is TensorFlow's, so something else must. */
static void test_twins(void **state) {
    static const struct { const char *file, *asked; int ambiguous; } rows[] = {
        {"best.pth", NULL, 1}, {"tf_efficientnet_b0.pth", NULL, 0}, {"efficientnet_b0_ra-3dd342df.pth", NULL, 0},
        {"best.pth", "efficientnet_b0", 0}};
    static names timm;
    (void)state;
    memset(&timm, 0, sizeof timm);
    efficientnet(&timm, &TIMM, B0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        found f = look(&timm, "", NULL, rows[i].asked, rows[i].file);
        if (!f.good) fail_msg("row %zu: %s", i, f.why.s);
        assert_int_equal(f.m.ambiguous[0] != 0, rows[i].ambiguous);
        if (rows[i].ambiguous) assert_says(f.m.ambiguous, "--net efficientnet_b0 or --net tf_");
        forget(&f);
    }
}

static void test_leftovers(void **state) {
    static const struct { const char *name; fate what; } rows[] = {
        {"fc.weight", FATE_CARRIED}, {"classifier.1.weight", FATE_DROPPED},
        {"bn1.num_batches_tracked", FATE_CARRIED}, {"x.num_batches_tracked", FATE_DROPPED},
        {"classifier.weight", FATE_DROPPED}, {"module.fc.bias", FATE_DROPPED}, {"heads.weight", FATE_DROPPED},
        {"pixel_mean", FATE_DROPPED}, {"n_averaged", FATE_DROPPED}, {"criterion.centers", FATE_DROPPED},
        {"bottleneck.weight", FATE_NECK}, {"heads.bottleneck.0.bias", FATE_NECK}, {"heads.pool_layer.p", FATE_NECK},
        {"gem.p", FATE_NECK}, {"fc.0.weight", FATE_NECK}, {"classifier.add_block.1.weight", FATE_NECK},
        {"embedding.weight", FATE_NECK}, {"something.else", FATE_UNKNOWN}, {"layer5.0.conv1.weight", FATE_UNKNOWN},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *more[] = {rows[i].name, NULL};
        found f = look(&r50_names, "", more, "resnet50", "x");
        int seen = 0;
        for (size_t k = 0; k < f.m.count; k++) {
            if (strcmp(f.m.at[k].from->name, rows[i].name) != 0) continue;
            seen = 1;
            if (f.m.at[k].what != rows[i].what)
                fail_msg("%s is %s, not %s", rows[i].name, FATE_NAMES[f.m.at[k].what], FATE_NAMES[rows[i].what]);
        }
        assert_true(seen);
        forget(&f);
    }
}

static void test_strangers(void **state) {
    static const struct { const char *name, *message; } rows[] = {
        {"layers.0.blocks.0.attn.relative_position_bias_table", "a Swin transformer"},
        {"visual.transformer.resblocks.0.ln_1.weight", "CLIP"}, {"base.cls_token", "a vision transformer"},
        {"blocks.0.attn.qkv.weight", "a vision transformer"}, {"conv2.0.gate.fc1.weight", "OSNet"},
        {"layer1.0.prelu.weight", "an ArcFace ResNet"}, {"repeat_1.0.branch0.conv.weight", "FaceNet"},
        {"features.denseblock1.x", "DenseNet"},
        {"stage2.0.branches.0.0.conv1.weight", "HRNet"}, {"stages.0.blocks.0.gamma", "ConvNeXt"},
        {"downsample_layers.0.0.weight", "ConvNeXt"}, {"Mixed_5b.x", "Inception"},
        {"features.1.conv.0.0.weight", "MobileNetV2"}, {"features.1.block.0.0.weight", "MobileNetV3"},
        {"class_token", "a vision transformer"}, {"features.1.0.layer_scale", "ConvNeXt"},
        {"features.3.squeeze.weight", "SqueezeNet"}, {"stage2.0.branch1.0.weight", "ShuffleNetV2"},
        {"trunk_output.block1.x", "RegNet"}, {"features.0.weight", "VGG"},
        {"encoder.stages.3.layers.0.layer.1.convolution.weight", "ResNet-18 or ResNet-34"},
        {"regnet.encoder.stages.0.layers.0.layer.2.attention.0.weight", "RegNet"},
        {"layer4.0.conv1.weight", "ResNet-18 or ResNet-34"}, {"a", "no known network matches its 1 tensor name"},
    };
    static const names none = {{{0}}, 0};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *more[] = {rows[i].name, NULL};
        found f = look(&none, "", more, NULL, "x");
        assert_false(f.good);
        if (!says(f.why.s, rows[i].message)) fail_msg("%s: %s", rows[i].name, f.why.s);
        forget(&f);
    }
}

/* Most of ResNet-34's names are ResNet-50's. */
static void test_shallow(void **state) {
    static names n;
    (void)state;
    n.count = 0;
    for (int i = 0; i < r50_names.count; i++)
        if (!strstr(r50_names.at[i], "conv3") && !strstr(r50_names.at[i], "bn3")) add(&n, "%s", r50_names.at[i]);
    found f = look(&n, "", NULL, NULL, "x");
    assert_true(f.good);
    assert_string_equal(f.m.problem.s, "these are the tensors of ResNet-18 or ResNet-34, which is not supported");
    forget(&f);
}

static void test_trunk_names(void **state) {
    static const struct { const char *names[4], *trunk; } rows[] = {
        {{"conv1.weight", "layer3.5.conv1.weight", "layer2.3.conv1.weight"}, "50"},
        {{"backbone.layer3.6.conv1.weight", "backbone.layer1.0.bn1.IN.weight"}, "101-ibn"},
        {{"layer2.4.conv1.weight", "layer3.35.conv1.weight", "NL_2.0.theta.weight"}, "152"},
        {{"layer1.2.IN.weight", "layer2.3.IN.weight"}, "50-ibnb"},
        {{"base.layer1.0.bn1.BN.running_var"}, "50-ibn"},
        {{"encoder.stages.2.layers.6.layer.0.convolution.weight"}, "101"},
        {{"6.6.conv1.weight", "5.4.conv1.weight"}, "152"},
        {{"module.NL_2.0.theta.weight"}, "50-nl"}, /* the tensors here have one value each */
    };
    static const names none = {{{0}}, 0};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char trunk[TRUNK_NAME];
        found f = look(&none, "", rows[i].names, NULL, "x");
        trunk_of(&f.c, trunk);
        assert_string_equal(trunk, rows[i].trunk);
        forget(&f);
    }
}

/* Damage to one tensor among many. */
static void test_problems(void **state) {
    names n = r50_names;
    (void)state;
    snprintf(n.at[7], sizeof n.at[7], "other.weight");
    found f = look(&n, "", NULL, NULL, "x");
    assert_true(f.good && f.m.missing_count == 1 && f.m.by_fate[FATE_UNKNOWN] == 1);
    assert_says(f.m.problem.s, r50_names.at[7]);
    assert_says(f.m.problem.s, "is missing");
    forget(&f);

    const char *twice[] = {"ema.conv1.weight", NULL}; /* does not have the trunk's prefix, so it is only unknown */
    f = look(&r50_names, "model.", twice, NULL, "x");
    assert_int_equal(f.m.by_fate[FATE_UNKNOWN], 1);
    forget(&f);
    const char *both[] = {"layer1.0.conv1.weight", NULL};
    f = look(&r50_names, "model.", both, NULL, "x");
    assert_says(f.m.problem.s, "\"layer1.0.conv1.weight\" and \"model.layer1.0.conv1.weight\" both map to "
                               "layer1.0.conv1.weight");
    forget(&f);
    f = look(&r50_names, "", NULL, "efficientnet_b0", "x");
    assert_true(f.good && f.m.by_fate[FATE_USED] == 0); /* requested by name, so there is a report */
    assert_says(f.m.problem.s, "efficientnet_b0 has no such layer; the file holds another network");
    forget(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_twins), cmocka_unit_test(test_layouts), cmocka_unit_test(test_origins),
        cmocka_unit_test(test_leftovers), cmocka_unit_test(test_strangers), cmocka_unit_test(test_trunk_names),
        cmocka_unit_test(test_problems), cmocka_unit_test(test_heads), cmocka_unit_test(test_shallow),
        cmocka_unit_test(test_baselines),
        cmocka_unit_test(test_miewid),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
