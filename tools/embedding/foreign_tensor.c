#include "embedding/foreign_tensor.h"

#include "base/memory.h"
#include "weights/checkpoint_open.h"

#include <stdlib.h>
#include <string.h>

static int is_zip(const unsigned char *start, size_t size) { return size >= 4 && memcmp(start, "PK\3\4", 4) == 0; }

/* Protocols 2 to 5; earlier ones have no signature. The third byte of a pickle is never zero, unlike that of a .fvecs
   file whose rows have 640 values. */
static int is_pickle(const unsigned char *start, size_t size) {
    return size >= 3 && start[0] == 0x80 && start[1] >= 2 && start[1] <= 5 && start[2];
}

/* The start of files of torch.save before version 1.6: a pickle of a magic number. */
static int is_torch_stream(const unsigned char *start, size_t size) {
    static const char magic[] = "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19";
    return size >= sizeof magic - 1 && memcmp(start, magic, sizeof magic - 1) == 0;
}

static int is_safetensors(const unsigned char *start, size_t size) {
    return size > 8 && start[8] == '{' && le64(start) <= MAX_HEADER;
}

int foreign_tensor_is(const unsigned char *start, size_t size) {
    return is_safetensors(start, size) || is_zip(start, size) || is_pickle(start, size);
}

static int take_type(foreign_rows *f, const tensor *t, text *why) {
    static const char *const names[] = {"F16", "BF16", "F32", "F64"}; /* by number_type */
    if (t->opaque) return refuse(why, "is a file whose values are %.200s; expected a dense tensor", t->opaque);
    for (int i = 0; i < 4; i++)
        if (t->type->name && strcmp(t->type->name, names[i]) == 0) return f->type = (number_type)i, 1;
    return refuse(why, "is a tensor of %s; expected float16, bfloat16, float32 or float64: save rows.float()",
                  t->type->torch);
}

static int collect(void *user, const void *bytes, size_t size) {
    text_add(user, bytes, size);
    return !text_failed(user);
}

/* Copies the values, which may have any strides in the file, into memory row by row. */
static int take_values(foreign_rows *f, checkpoint *c, const tensor *t, text *why) {
    text values = TEXT_INIT;
    int unchecked;
    c->storages[t->storage].needed = 1;
    int good = checkpoint_verify(c, &unchecked, why) &&
               (checkpoint_values(c, t, collect, &values, why) || (why->len ? 0 : text_no_memory(why)));
    if (!good) return text_free(&values), 0;
    source_close(&f->from);
    source_memory(&f->from, values.s, values.len);
    f->memory = values.s;
    return foreign_rows_shape(f, 0, values.len, 0, why);
}

static int take_tensor(foreign_rows *f, checkpoint *c, text *why) {
    const tensor *t = c->tensors;
    f->what = "a tensor";
    if (c->tensor_count != 1)
        return refuse(why, "is a file with %zu tensors (%.100s, %.100s ...); expected one: save only that of the rows",
                      c->tensor_count, t[0].name, t[1].name);
    if (!take_type(f, t, why)) return 0;
    if (t->ndim != 2)
        return refuse(why, "is a tensor of %d dimension%s; expected two, a row for each image", t->ndim,
                      plural((size_t)t->ndim));
    f->rows = (size_t)t->shape[0], f->columns = (size_t)t->shape[1];
    if (c->storages[t->storage].is_value || t->count > c->storages[t->storage].bytes / (uint64_t)t->type->bytes)
        return refuse(why, "is a tensor that repeats its values; save rows.contiguous()");
    return f->rows && f->columns ? take_values(f, c, t, why) : foreign_rows_shape(f, 0, 0, 0, why);
}

int foreign_tensor_read(foreign_rows *f, const char *path, const unsigned char *start, size_t size, text *why) {
    checkpoint c;
    if (is_pickle(start, size) && !is_torch_stream(start, size))
        return refuse(why,
                      "is a pickle, as written by FeatureDataset.save of wildlife-tools, and is not read, because "
                      "reading a pickle can run any code; save its rows in Python: numpy.save(\"rows.npy\", "
                      "numpy.stack(dataset.features)), and its names: "
                      "dataset.metadata.to_csv(\"ids.csv\", index=False)");
    int good = checkpoint_open_tensor(&c, path, why);
    if (good) {
        good = take_tensor(f, &c, why);
        checkpoint_close(&c);
    } else if (is_zip(start, size)) {
        text inner = *why;
        *why = (text)TEXT_INIT;
        refuse(why, "is a zip archive, but not one written by numpy.savez or torch.save: %s", inner.s);
        text_free(&inner);
    }
    return good;
}
