/* Fuzzer for reid convert's readers (zip, pickle, legacy streams, tar, safetensors, .wts) and for its mapping of names:
   accepted input must be consistent, refused input must come with a reason. Each input is tried as a file, and as the
   pickle of a zip archive that has two storages.

   clang -std=c99 -D_GNU_SOURCE -O1 -g -I. -fsanitize=fuzzer,address,undefined tests/fuzz/fuzz_checkpoint.c
         -o build/fuzz_checkpoint -lm
   build/fuzz_checkpoint -dict=tests/fuzz/checkpoint.dict CORPUS_DIRECTORY
   Run by hand for 21.3 million executions in all, the last 9.0 million without a finding; the corpus grew from 3124 to
   5482 inputs.
   With any compiler, to replay inputs: add tests/fuzz/fuzz_main.c and leave out -fsanitize=fuzzer. */
#include "weights/checkpoint.c"
#include "weights/checkpoint_open.c"
#include "base/clock.c"
#include "base/crc32.c"
#include "base/file_kind.c"
#include "weights/dialects.c"
#include "weights/foreign_file.c"
#include "base/json.c"
#include "base/memory.c"
#include "weights/onnx_file.c"
#include "weights/onnx_graph.c"
#include "weights/pickle.c"
#include "weights/protobuf.c"
#include "base/say.c"
#include "base/source.c"
#include "weights/stated.c"
#include "base/text.c"
#include "weights/torch_file.c"
#include "weights/torch_state.c"
#include "weights/zip.c"
#include "../lib/test_zip.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(condition) \
    if (!(condition)) fprintf(stderr, "violated: %s\n", #condition), abort()

enum { MOST_VALUES = 20000 };

static int count_bytes(void *user, const void *bytes, size_t size) {
    unsigned sum = 0;
    for (size_t i = 0; i < size; i++) sum += ((const unsigned char *)bytes)[i]; /* a sanitizer sees a wrong read */
    *(size_t *)user += size + (sum == 0xffffffffu);
    return 1;
}

static void check_tensors(const checkpoint *c) {
    text why = TEXT_INIT;
    for (size_t i = 0; i < c->tensor_count; i++) {
        const tensor *t = &c->tensors[i];
        size_t bytes = 0;
        MUST(t->name && strlen(t->name) <= MAX_NAME);
        MUST(t->group >= 0 && t->group < (int)c->group_count);
        MUST(i == 0 || by_group_and_name(t - 1, t) < 0);
        if (t->opaque) continue;
        MUST(t->storage < c->storage_count && t->type && t->ndim <= MAX_DIMS);
        const storage *s = &c->storages[t->storage];
        MUST(s->at <= c->source.size && s->bytes <= c->source.size - s->at);
        uint64_t count = 1;
        for (int k = 0; k < t->ndim; k++) count *= t->shape[k];
        MUST(t->ndim < 0 || count == t->count);
        if (t->count > MOST_VALUES) continue;
        MUST(checkpoint_values(c, t, count_bytes, &bytes, &why));
        MUST(bytes == t->count * (size_t)t->type->bytes);
    }
    text_free(&why);
}

static want wants[] = {
    {"bn1.bias", 1, {2}}, {"conv1.weight", 2, {2, 1}}, {"features.1.0.block.0.0.weight", 1, {3}},
    {"features.2.0.block.0.0.weight", 1, {2}}, {"layer4.0.conv1.weight", 1, {2}},
};

static void map(const checkpoint *c, const char *asked, const char *key) {
    static network nets[3] = {{"resnet50", "resnet50", wants, 5}, {"efficientnet_b0", "efficientnet_b0", wants + 2, 2},
                              {"other", "other", wants, 1}};
    mapping m;
    text why = TEXT_INIT;
    if (!mapping_find(&m, c, nets, 3, asked, key, "file.pth", &why)) {
        MUST(why.len && !m.count);
    } else {
        size_t all = 0;
        for (int f = 0; f < FATES; f++) all += m.by_fate[f];
        MUST(all == m.count && m.count == c->groups[m.group].tensors);
        MUST(m.missing_count <= m.network->count);
        for (size_t i = 0; i < m.count; i++) MUST(m.at[i].name && m.at[i].from->group == m.group);
    }
    mapping_free(&m);
    text_free(&why);
}

/* What a file states about pixels is either usable or refused with a reason. */
static void read_stated(const checkpoint *c) {
    stated s;
    MUST(c->stated.len <= 2 * MAX_STATED);
    int good = stated_read(&s, c->stated.s);
    MUST(good ? stated_is_possible(&s) && !s.problem[0] : !s.height || s.problem[0]);
    MUST(!s.filter || !s.has_other_filter);
    MUST(s.height >= 0 && s.height < 10000 && s.width >= 0 && s.width < 10000 && s.resize >= 0 && s.resize < 10000);
}

static void try_file(const void *data, size_t size) {
    checkpoint c;
    text why = TEXT_INIT;
    int unchecked;
    if (!checkpoint_open_memory(&c, data, size, &why)) {
        MUST(why.len > 0 && !c.tensors && !c.storages && !c.groups);
        text_free(&why);
        return;
    }
    MUST(c.tensor_count > 0 && c.format[0]);
    check_tensors(&c);
    for (size_t i = 0; i < c.storage_count; i++) c.storages[i].needed = 1;
    checkpoint_verify(&c, &unchecked, &why);
    read_stated(&c);
    map(&c, NULL, NULL);
    map(&c, "resnet50", NULL);
    map(&c, "efficientnet_b0", "model");
    checkpoint_close(&c);
    text_free(&why);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    test_zip z = {TEXT_INIT, TEXT_INIT, 0};
    static const char values[64] = {1, 2, 3, 4};
    try_file(data, size);
    test_zip_add(&z, "a/data.pkl", data, size);
    test_zip_add(&z, "a/data/0", values, sizeof values);
    test_zip_add(&z, "a/data/1", values, 8);
    test_zip_end(&z);
    try_file(z.file.s, z.file.len);
    text_free(&z.file);
    return 0;
}
