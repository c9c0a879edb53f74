/* Fuzzer for reid convert's reader of ONNX (protobuf, initialisers, nodes) and for the names that onnx_names finds for
   three small networks: accepted input must be consistent, refused input must come with a reason.

   clang -std=c99 -D_GNU_SOURCE -O1 -g -I. -Itools -fsanitize=fuzzer,address,undefined tests/fuzz/fuzz_onnx.c
         -o build/fuzz_onnx -lm
   python3 tests/tools/weights/onnx_files.py seeds CORPUS_DIRECTORY
   build/fuzz_onnx -max_len=8192 -dict=tests/fuzz/onnx.dict CORPUS_DIRECTORY
   With any compiler, to replay inputs: add tests/fuzz/fuzz_main.c and leave out -fsanitize=fuzzer. */
#include "base/clock.c"
#include "base/crc32.c"
#include "base/file_kind.c"
#include "base/json.c"
#include "base/memory.c"
#include "base/say.c"
#include "base/source.c"
#include "weights/stated.c"
#include "base/text.c"
#include "weights/checkpoint.c"
#include "weights/checkpoint_open.c"
#include "weights/dialects.c"
#include "weights/foreign_file.c"
#include "weights/onnx_file.c"
#include "weights/onnx_graph.c"
#include "weights/onnx_names.c"
#include "weights/pickle.c"
#include "weights/protobuf.c"
#include "weights/torch_file.c"
#include "weights/torch_state.c"
#include "weights/zip.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(condition) \
    if (!(condition)) fprintf(stderr, "violated: %s\n", #condition), abort()

enum { MOST_VALUES = 20000 };

/* The networks of `onnx_files.py seeds`, sorted by name. */
#define NORM(name, n) {name ".bias", 1, {n}}, {name ".running_mean", 1, {n}}, {name ".running_var", 1, {n}}, \
    {name ".weight", 1, {n}}
static want resnet[] = {
    NORM("bn1", 2), {"conv1.weight", 4, {2, 3, 1, 1}}, NORM("layer1.0.bn1", 2), NORM("layer1.0.bn2", 2),
    NORM("layer1.0.bn3", 4), {"layer1.0.conv1.weight", 4, {2, 2, 1, 1}}, {"layer1.0.conv2.weight", 4, {2, 2, 3, 3}},
    {"layer1.0.conv3.weight", 4, {4, 2, 1, 1}}, {"layer1.0.downsample.0.weight", 4, {4, 2, 1, 1}},
    NORM("layer1.0.downsample.1", 4),
};
#define FACTORS(name, n, in) {name ".bias", 1, {n}}, {name ".weight", 4, {n, in, 1, 1}}
static want blocks[] = { /* IBN-a, a non-local block and fast-reid's head */
    FACTORS("NL_1.0.W.0", 4, 1), NORM("NL_1.0.W.1", 4), FACTORS("NL_1.0.g", 1, 4), FACTORS("NL_1.0.phi", 1, 4),
    FACTORS("NL_1.0.theta", 1, 4), NORM("bn1", 2), NORM("bottleneck", 4), {"conv1.weight", 4, {2, 3, 1, 1}},
    NORM("layer1.0.bn1.BN", 1), {"layer1.0.bn1.IN.bias", 1, {1}}, {"layer1.0.bn1.IN.weight", 1, {1}},
    NORM("layer1.0.bn2", 2), NORM("layer1.0.bn3", 4), {"layer1.0.conv1.weight", 4, {2, 2, 1, 1}},
    {"layer1.0.conv2.weight", 4, {2, 2, 3, 3}}, {"layer1.0.conv3.weight", 4, {4, 2, 1, 1}},
    {"layer1.0.downsample.0.weight", 4, {4, 2, 1, 1}}, NORM("layer1.0.downsample.1", 4), {"pool_layer.p", 1, {1}},
};
#define BLOCK "features.1.0.block."
static want efficientnet[] = {
    {"features.0.0.weight", 4, {2, 3, 3, 3}}, NORM("features.0.1", 2), {BLOCK "0.0.weight", 4, {2, 1, 3, 3}},
    NORM(BLOCK "0.1", 2), {BLOCK "1.fc1.bias", 1, {1}}, {BLOCK "1.fc1.weight", 4, {1, 2, 1, 1}},
    {BLOCK "1.fc2.bias", 1, {2}}, {BLOCK "1.fc2.weight", 4, {2, 1, 1, 1}}, {BLOCK "2.0.weight", 4, {1, 2, 1, 1}},
    NORM(BLOCK "2.1", 1), {"features.8.0.weight", 4, {4, 1, 1, 1}}, NORM("features.8.1", 4),
};
#define COUNT(list) (sizeof(list) / sizeof *(list))
static const network NETWORKS[] = {
    {"resnet50", "resnet50", resnet, COUNT(resnet)},
    {"resnet50-ibn-nl-fastreid-gem", "resnet50-fastreid-gem", blocks, COUNT(blocks)},
    {"efficientnet_b0", "efficientnet_b0", efficientnet, COUNT(efficientnet)},
    {"tf_efficientnet_b0", "tf_efficientnet_b0", efficientnet, COUNT(efficientnet)},
};

static int count_bytes(void *user, const void *bytes, size_t size) {
    unsigned sum = 0;
    for (size_t i = 0; i < size; i++) sum += ((const unsigned char *)bytes)[i]; /* a sanitizer sees a wrong read */
    *(size_t *)user += size + (sum == 0xffffffffu);
    return 1;
}

static void check_tensors(const checkpoint *c) {
    text why = TEXT_INIT;
    MUST(c->tensor_count > 0 && c->format[0] && c->groups[0].tensors == c->tensor_count);
    for (size_t i = 0; i < c->tensor_count; i++) {
        const tensor *t = &c->tensors[i];
        size_t bytes = 0;
        uint64_t count = 1;
        MUST(t->name && strlen(t->name) <= MAX_NAME + sizeof ".weight");
        MUST(i == 0 || by_group_and_name(t - 1, t) < 0);
        MUST(!t->opaque && t->storage < c->storage_count && t->type && t->ndim >= 0 && t->ndim <= MAX_DIMS);
        const storage *s = &c->storages[t->storage];
        MUST(s->is_value || (s->at <= c->source.size && s->bytes <= c->source.size - s->at));
        for (int k = 0; k < t->ndim; k++) count *= t->shape[k];
        MUST(count == t->count);
        if (t->count > MOST_VALUES) continue;
        MUST(checkpoint_values(c, t, count_bytes, &bytes, &why));
        MUST(bytes == t->count * (size_t)t->type->bytes);
    }
    text_free(&why);
}

/* Reads the input, names its tensors for the given network, and maps them. */
static void try_file(const uint8_t *data, size_t size, const char *asked) {
    checkpoint c;
    mapping m;
    text why = TEXT_INIT;
    if (!checkpoint_open_memory(&c, data, size, &why)) {
        MUST(why.len > 0 && !c.tensors && !c.storages && !c.groups && !c.graph);
        text_free(&why);
        return;
    }
    check_tensors(&c);
    char trunk[TRUNK_NAME];
    if (c.graph) onnx_trunk_of(&c, trunk);
    if (!onnx_name_tensors(&c, NETWORKS, COUNT(NETWORKS), asked, &why)) {
        MUST(why.len > 0);
    } else {
        check_tensors(&c);
        const char *net = asked ? asked : c.network;
        int found = mapping_find(&m, &c, NETWORKS, COUNT(NETWORKS), net, NULL, "x.onnx", &why);
        MUST(found || why.len > 0);
        mapping_free(&m);
    }
    checkpoint_close(&c);
    text_free(&why);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (!is_onnx(data, size)) return 0;
    try_file(data, size, NULL);
    try_file(data, size, "efficientnet_b0");
    return 0;
}
