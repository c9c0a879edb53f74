/* test_net.h: seeded weights for any plan, as the bytes of a safetensors file in memory. Include it after reid.h: after
   its implementation, or in a program that links test_impl.c.

   Every value has at most 8 significant bits, so that F32, F64 and BF16 files of one seed hold exactly the same
   numbers. A value depends only on seed, tensor name and index, so a test that checks a result can compute it again. */
#ifndef TEST_NET_H
#define TEST_NET_H

#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Differences from the plain file. All zero: none. */
typedef struct net_options {
    const char *prefix;                     /* put before every tensor name */
    const char *dtype;                      /* "F64" or "BF16" instead of "F32" */
    const char *metadata;                   /* members of __metadata__: "\"reid.preset\":\"torchreid\"" */
    int reversed;                           /* tensors in the opposite order */
    const char *leave_out;                  /* this tensor is not written */
    const char *extra;                      /* a tensor of this name, shape [1], is written too */
    const char *reshape, *retype;           /* this tensor has another first dimension; is I32 */
    const char *poke;                       /* element poke_index of this tensor is poke_value */
    size_t poke_index;
    float poke_value;
    int zero;                               /* every weight is zero, every variance one */
    int width;                              /* of the projection; 0: 512 */
    float gain;                             /* batch norm's weights are multiplied by this: a network that diverged */
} net_options;

static inline uint64_t net_hash(uint64_t seed, const char *name) {
    for (; *name; name++) seed = (seed ^ (unsigned char)*name) * 0x100000001b3u;
    return seed;
}

/* Uniform in -1 … 1, 8 significant bits. */
static inline float net_random(uint64_t hash, size_t i) {
    uint64_t z = hash + (uint64_t)(i + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 29)) * 0xbf58476d1ce4e5b9u;
    return (float)((int)(z >> 40 & 0x1ff) - 256) / 256.0f;
}

static inline float net_coarse(float x) { /* to 8 significant bits, towards zero */
    uint32_t bits;
    memcpy(&bits, &x, 4);
    bits &= 0xffff0000u;
    memcpy(&x, &bits, 4);
    return x;
}

typedef struct net_file {
    unsigned char *bytes;
    size_t size;
} net_file;

#if !defined(REID_IMPLEMENTATION) || defined(TEST_IMPL) /* defined in test_impl.c */
#define NET_FOR extern
extern net_file net_for(const char *network, reid_head head, uint64_t seed, const net_options *o);
extern const char *net_isa(int isa); /* its name; NULL: not on this CPU */
extern int net_networks(void);
extern void net_head_values(uint64_t seed, const char *name, size_t first, size_t count, size_t inputs, float *out);
#else
#define NET_FOR static inline
#endif

#ifdef REID_IMPLEMENTATION
static inline size_t net_count(const reid__needed_tensor *want) {
    size_t count = 1;
    for (int d = 0; d < want->ndim; d++) count *= want->shape[d];
    return count;
}

static inline int net_ends(const char *text, const char *suffix) {
    size_t n = strlen(text), m = strlen(suffix);
    return n >= m && strcmp(text + n - m, suffix) == 0;
}

/* The values of one tensor. Weights keep the scale of what flows through them; vectors are near 0 or 1. */
static inline void net_values(const reid__needed_tensor *want, uint64_t seed, const net_options *o, float *out) {
    size_t count = net_count(want), inputs = count / want->shape[0];
    uint64_t hash = net_hash(seed, want->name);
    int variance = net_ends(want->name, ".running_var");
    int one = variance || net_ends(want->name, ".p") || (want->ndim == 1 && net_ends(want->name, ".weight"));
    float scale = want->ndim > 1 ? (float)sqrt(4.0 / (double)inputs) : 0.25f;
    for (size_t i = 0; i < count; i++) {
        out[i] = net_coarse(scale * net_random(hash, i));
        if (one) out[i] = net_coarse(0.75f + out[i]);
        if (o && o->gain != 0 && one && !variance) out[i] *= o->gain;
        if (o && o->zero) out[i] = variance ? 1.0f : 0.0f;
    }
    if (o && o->poke && strcmp(o->poke, want->name) == 0) out[o->poke_index] = o->poke_value;
}

static inline size_t net_store(const float *values, size_t count, const char *dtype, unsigned char *to) {
    size_t each = strcmp(dtype, "F64") == 0 ? 8 : strcmp(dtype, "BF16") == 0 ? 2 : 4;
    for (size_t i = 0; i < count; i++) {
        double wide = values[i];
        if (each == 8) memcpy(to + 8 * i, &wide, 8);
        else memcpy(to + each * i, (const char *)&values[i] + 4 - each, each); /* BF16: the upper half */
    }
    return count * each;
}

/* All tensors that a plan needs. */
static inline int net_wants(const reid__plan *p, reid__needed_tensor *wants) {
    int count = 0;
    for (int i = 0; i < p->op_count; i++) count += reid__needed_tensors(&p->ops[i], wants + count);
    return count;
}

/* One header entry. */
static inline int net_entry(char *to, const char *prefix, const reid__needed_tensor *w, const char *dtype, size_t begin,
                            size_t end) {
    int at = sprintf(to, "\"%s%s\":{\"dtype\":\"%s\",\"shape\":[", prefix, w->name, dtype);
    for (int d = 0; d < w->ndim; d++) at += sprintf(to + at, "%s%zu", d ? "," : "", w->shape[d]);
    return at + sprintf(to + at, "],\"data_offsets\":[%zu,%zu]},", begin, end);
}

/* The file for a plan; free its bytes with free(). o may be NULL. */
static inline net_file net_for_plan(const reid__plan *p, uint64_t seed, const net_options *o) {
    static const net_options none;
    static const float zero;
    if (!o) o = &none;
    reid__needed_tensor *wants = (reid__needed_tensor *)calloc((size_t)p->op_count * 5 + 1, sizeof *wants);
    int count = net_wants(p, wants);
    size_t header = 512 + 256 * (size_t)count, room = 4, most = 1, data = 0, at = 9;
    for (int i = 0; i < count; i++) {
        size_t n = net_count(&wants[i]);
        room += 8 * (n + n / wants[i].shape[0]);
        if (2 * n > most) most = 2 * n;
    }
    float *values = (float *)malloc(most * sizeof *values);
    unsigned char *bytes = (unsigned char *)malloc(8 + header + room), *body = bytes + 8 + header;
    char *json = (char *)bytes;
    json[8] = '{';
    if (o->metadata) at += (size_t)sprintf(json + at, "\"__metadata__\":{%s},", o->metadata);
    if (o->extra) {
        reid__needed_tensor extra;
        reid__needed_add(&extra, o->extra, "", 1, 1, 0, 0, 0);
        data = net_store(&zero, 1, "F32", body);
        at += (size_t)net_entry(json + at, "", &extra, "F32", 0, data);
    }
    for (int i = 0; i < count; i++) {
        reid__needed_tensor *w = &wants[o->reversed ? count - 1 - i : i];
        const char *dtype = o->dtype ? o->dtype : "F32";
        if (o->leave_out && strcmp(o->leave_out, w->name) == 0) continue;
        if (o->retype && strcmp(o->retype, w->name) == 0) dtype = "I32";
        if (o->reshape && strcmp(o->reshape, w->name) == 0) w->shape[0]++;
        net_values(w, seed, o, values);
        size_t size = net_store(values, net_count(w), dtype, body + data);
        at += (size_t)net_entry(json + at, o->prefix ? o->prefix : "", w, dtype, data, data + size);
        data += size;
    }
    json[at - 1] = '}'; /* over the last comma */
    memset(json + at, ' ', 8 + header - at);
    for (int i = 0; i < 8; i++) bytes[i] = (unsigned char)(header >> 8 * i);
    free(values);
    free(wants);
    net_file file = {bytes, 8 + header + data};
    return file;
}

/* The file of a network that reid.h knows. head: NONE or FILE; o: may be NULL. */
NET_FOR net_file net_for(const char *network, reid_head head, uint64_t seed, const net_options *o) {
    reid__plan *p = (reid__plan *)malloc(sizeof *p);
    net_file file = {NULL, 0};
    const reid__projection wide = {o ? o->width : 0, REID__LINEAR_ACT}, *projection = wide.width ? &wide : NULL;
    reid__arch arch;
    if (reid__arch_named(network, &arch) && reid__plan_build(p, &arch, 224, 224, 2, head, projection))
        file = net_for_plan(p, seed, o);
    free(p);
    return file;
}
#endif

/* A desc for the file with a small input, one thread and the error buffer. */
static inline reid_desc net_desc(const net_file *file, int height, int width, reid_error *error) {
    reid_desc desc = REID_INIT;
    desc.weights_data = file->bytes, desc.weights_size = file->size;
    desc.preset = "torchreid";
    desc.height = height, desc.width = width;
    desc.threads = 1;
    desc.error = error;
    return desc;
}

/* n images of noise, height x width RGB8, in one block. */
static inline uint8_t *net_pixels(int n, int height, int width, uint64_t seed) {
    size_t size = (size_t)n * (size_t)height * (size_t)width * 3;
    uint8_t *pixels = (uint8_t *)malloc(size);
    for (size_t i = 0; i < size; i++) pixels[i] = (uint8_t)((int)(net_random(seed, i) * 127.0f) + 128);
    return pixels;
}

static inline reid_image net_image(const uint8_t *pixels, int index, int height, int width) {
    reid_image image;
    memset(&image, 0, sizeof image);
    image.pixels = pixels + (size_t)index * (size_t)height * (size_t)width * 3;
    image.width = width, image.height = height;
    return image;
}
#endif
