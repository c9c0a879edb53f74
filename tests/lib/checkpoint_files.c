/* checkpoint_files.c: PyTorch's files without Python, for the t_cli tests, made of a safetensors file.

   cc -std=c99 -D_GNU_SOURCE -O1 -I. -Itools tests/lib/checkpoint_files.c tools/weights/checkpoint.c
      tools/weights/checkpoint_open.c tools/base/crc32.c tools/base/file_kind.c tools/base/memory.c tools/base/clock.c
      tools/weights/torch_file.c tools/weights/torch_state.c tools/weights/stated.c tools/weights/foreign_file.c
      tools/weights/zip.c tools/base/source.c tools/base/json.c tools/base/text.c tools/base/say.c -o
      build/checkpoint_files tools/weights/pickle.c -lm

   checkpoint_files zip|stream|tar|wts IN.safetensors OUT [PREFIX [KEY]]
       PREFIX goes before every name; if KEY is given, the dict of tensors is under KEY of another dict */
#include "weights/checkpoint_open.h"
#include "../lib/test_zip.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void need(int good, const char *what) {
    if (good) return;
    fprintf(stderr, "checkpoint_files: %s\n", what);
    exit(1);
}

static int take(void *user, const void *bytes, size_t size) {
    text_add(user, bytes, size);
    return 1;
}

static text values_of(const checkpoint *c, const tensor *t) {
    text values = TEXT_INIT, why = TEXT_INIT;
    text_puts(&values, "");
    need(checkpoint_values(c, t, take, &values, &why), why.s);
    return values;
}

static void put_text(text *p, const char *s) {
    text_putc(p, 'X');
    test_number(p, strlen(s), 4);
    text_puts(p, s);
}

static void put_int(text *p, uint64_t n) {
    text_putc(p, 'J');
    test_number(p, n, 4);
}

static void put_tuple(text *p, const uint64_t *sides, int count) {
    text_putc(p, '(');
    for (int i = 0; i < count; i++) put_int(p, sides[i]);
    text_putc(p, 't');
}

static void storage_class(text *p, const tensor *t) { text_printf(p, "ctorch\n%s\n", t->type->storage); }

/* torch._utils._rebuild_tensor_v2(storage, 0, shape, stride, False, OrderedDict()); the legacy stream's storage ids end
   with None. */
static void put_tensor(text *p, const tensor *t, const char *key, int stream) {
    text_puts(p, "ctorch._utils\n_rebuild_tensor_v2\n((");
    put_text(p, "storage");
    storage_class(p, t);
    put_text(p, key);
    put_text(p, "cpu");
    put_int(p, t->count);
    text_puts(p, stream ? "NtQ" : "tQ");
    put_int(p, 0);
    put_tuple(p, t->shape, t->ndim);
    put_tuple(p, t->stride, t->ndim);
    text_puts(p, "\x89" "ccollections\nOrderedDict\n)RtR");
}

static void key_of(char key[16], size_t i) { snprintf(key, 16, "%d", 100 + (int)i); }

/* The dict of all tensors; in tar files a tensor is only an id. */
static text object(const checkpoint *c, const char *prefix, const char *under, const char *format) {
    text p = TEXT_INIT;
    text_add(&p, "\x80\2", 2);
    if (under) {
        text_puts(&p, "}");
        put_text(&p, under);
    }
    text_puts(&p, "ccollections\nOrderedDict\n)R(");
    for (size_t i = 0; i < c->tensor_count; i++) {
        char key[16];
        text name = TEXT_INIT;
        key_of(key, i);
        text_printf(&name, "%s%s", prefix, c->tensors[i].name);
        put_text(&p, name.s);
        if (*format == 't') put_text(&p, key), text_puts(&p, "Q");
        else put_tensor(&p, &c->tensors[i], key, *format == 's');
        text_free(&name);
    }
    text_puts(&p, under ? "us." : "u.");
    return p;
}

static text make_zip(const checkpoint *c, const text *p) {
    test_zip z = {TEXT_INIT, TEXT_INIT, 0};
    test_zip_add(&z, "archive/data.pkl", p->s, p->len);
    for (size_t i = 0; i < c->tensor_count; i++) {
        char key[16], name[40];
        text values = values_of(c, &c->tensors[i]);
        key_of(key, i);
        snprintf(name, sizeof name, "archive/data/%s", key);
        test_zip_add(&z, name, values.s, values.len);
        text_free(&values);
    }
    test_zip_add(&z, "archive/version", "3\n", 2);
    test_zip_end(&z);
    return z.file;
}

static void put_facts(text *p) {
    text_add(p, "\x80\2}", 3);
    put_text(p, "little_endian");
    text_add(p, "\x88s.", 3);
}

static text make_stream(const checkpoint *c, const text *p) {
    text out = TEXT_INIT;
    char key[16];
    text_add(&out, "\x80\2\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.\x80\2M\xe9\3.", 21);
    put_facts(&out);
    text_add(&out, p->s, p->len);
    text_add(&out, "\x80\2](", 4);
    for (size_t i = 0; i < c->tensor_count; i++) key_of(key, i), put_text(&out, key);
    text_puts(&out, "e.");
    for (size_t i = 0; i < c->tensor_count; i++) {
        text values = values_of(c, &c->tensors[i]);
        test_number(&out, c->tensors[i].count, 8);
        text_add(&out, values.s, values.len);
        text_free(&values);
    }
    return out;
}

static void tar_add(text *out, const char *name, text *data) {
    char header[512] = {0};
    snprintf(header, 100, "%s", name);
    snprintf(header + 124, 12, "%011lo", (unsigned long)data->len);
    memcpy(header + 257, "ustar", 6);
    text_add(out, header, sizeof header);
    text_add(out, data->s, data->len);
    while (out->len % 512) text_putc(out, 0);
    text_free(data);
}

static text make_tar(const checkpoint *c, text *p) {
    text out = TEXT_INIT, facts = TEXT_INIT, storages = TEXT_INIT, tensors = TEXT_INIT;
    put_facts(&facts);
    text_add(&storages, "\x80\2", 2);
    put_int(&storages, c->tensor_count);
    text_puts(&storages, ".");
    text_add(&tensors, storages.s, storages.len);
    for (size_t i = 0; i < c->tensor_count; i++) {
        const tensor *t = &c->tensors[i];
        text values = values_of(c, t);
        char key[16];
        key_of(key, i);
        text_add(&storages, "\x80\2(", 3);
        put_int(&storages, 5000 + i);
        put_text(&storages, "cpu");
        storage_class(&storages, t);
        text_puts(&storages, "t.");
        test_number(&storages, t->count, 8);
        text_add(&storages, values.s, values.len);
        text_add(&tensors, "\x80\2(", 3);
        put_text(&tensors, key);
        put_int(&tensors, 5000 + i);
        text_puts(&tensors, "Nt.");
        test_number(&tensors, (uint64_t)t->ndim, 8);
        for (int k = 0; k < t->ndim; k++) test_number(&tensors, t->shape[k], 8);
        for (int k = 0; k < t->ndim; k++) test_number(&tensors, t->stride[k], 8);
        test_number(&tensors, 0, 8);
        text_free(&values);
    }
    text_add(&storages, "\x80\2].", 4);
    tar_add(&out, "sys_info", &facts);
    tar_add(&out, "pickle", p);
    tar_add(&out, "tensors", &tensors);
    tar_add(&out, "storages", &storages);
    for (int i = 0; i < 1024; i++) text_putc(&out, 0);
    return out;
}

/* Every number as float32; integers are counters of zero. */
static text make_wts(const checkpoint *c, const char *prefix) {
    text out = TEXT_INIT;
    text_printf(&out, "%zu\n", c->tensor_count);
    for (size_t i = 0; i < c->tensor_count; i++) {
        const tensor *t = &c->tensors[i];
        text values = values_of(c, t);
        text_printf(&out, "%s%s %llu", prefix, t->name, (unsigned long long)t->count);
        for (uint64_t k = 0; k < t->count; k++) {
            char word[16];
            snprintf(word, sizeof word, " %08x",
                     t->type->bytes == 4 ? le32((const unsigned char *)values.s + 4 * k) : 0u);
            text_puts(&out, word);
        }
        text_puts(&out, "\n");
        text_free(&values);
    }
    return out;
}

int main(int argc, char **argv) {
    checkpoint c;
    text why = TEXT_INIT, p = TEXT_INIT, out = TEXT_INIT;
    need(argc >= 4 && argc <= 6, "usage: checkpoint_files zip|stream|tar|wts IN.safetensors OUT [PREFIX [KEY]]");
    need(checkpoint_open(&c, argv[2], &why), why.s ? why.s : "");
    const char *format = argv[1], *prefix = argc > 4 ? argv[4] : "";
    if (*format != 'w') p = object(&c, prefix, argc > 5 ? argv[5] : NULL, format);
    if (*format == 'z') out = make_zip(&c, &p);
    if (*format == 's') out = make_stream(&c, &p);
    if (*format == 't') out = make_tar(&c, &p);
    if (*format == 'w') out = make_wts(&c, prefix);
    FILE *f = fopen(argv[3], "wb");
    need(f && out.len && fwrite(out.s, 1, out.len, f) == out.len && fclose(f) == 0, argv[3]);
    checkpoint_close(&c);
    text_free(&p);
    text_free(&out);
    return 0;
}
