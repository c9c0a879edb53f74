/* Checkpoints that torch.save did not write: safetensors, and the text form .wts of tensorrtx and FastRT. */
#include "weights/foreign_file.h"

#include "base/json.h"
#include "base/memory.h"
#include "weights/stated.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- safetensors: u64 header length, JSON, data ------------------------------------------------------------------- */

static int integer(json *j, uint64_t *n) {
    double value;
    if (!json_number(j, &value)) return 0;
    if (!(value >= 0 && value <= 9007199254740992.0 && value == (double)(uint64_t)value))
        return json_fail(j, "expected a whole number");
    *n = (uint64_t)value;
    return 1;
}

static int integers(json *j, uint64_t *numbers, int most, int *count) {
    *count = 0;
    for (json_array(j); json_item(j);) {
        if (*count == most) return json_fail(j, "the list is too long");
        if (!integer(j, &numbers[(*count)++])) return 0;
    }
    return !j->error[0];
}

typedef struct header {
    checkpoint *c;
    json j;
    uint64_t data_at;
    text key, name, value;
    text *why;
} header;

static int header_metadata(header *h) {
    for (json_object(&h->j); json_key(&h->j, &h->key);) {
        if (!json_string(&h->j, &h->value)) return 0;
        char **to = strcmp(h->key.s, "reid.preset") == 0        ? &h->c->preset
                    : strcmp(h->key.s, "reid.last_stride") == 0 ? &h->c->last_stride
                    : strcmp(h->key.s, "reid.network") == 0     ? &h->c->network
                    : strcmp(h->key.s, "reid.head_activation") == 0 ? &h->c->head_activation
                                                                    : NULL;
        if (!to && strncmp(h->key.s, "reid.", 5) != 0 && h->c->stated.len + h->key.len + h->value.len < MAX_STATED)
            text_printf(&h->c->stated, "%s=%s\n", h->key.s, h->value.s);
        if (!to) continue;
        free(*to);
        *to = mem_copy(h->value.s, h->value.len);
        if (!*to) return json_fail(&h->j, "out of memory");
    }
    return text_failed(&h->c->stated) ? json_fail(&h->j, "out of memory") : !h->j.error[0];
}

/* {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]} */
static int header_tensor(header *h, tensor *t) {
    uint64_t range[2] = {0, 0}, bytes;
    int count = 0, seen = 0;
    for (json_object(&h->j); json_key(&h->j, &h->key);) {
        int field = strcmp(h->key.s, "dtype") == 0 ? 1 : strcmp(h->key.s, "shape") == 0 ? 2
                  : strcmp(h->key.s, "data_offsets") == 0 ? 4 : 0;
        if (!field || seen & field) return json_fail(&h->j, "expected dtype, shape and data_offsets, each once");
        seen |= field;
        if (field == 1) {
            if (!json_string(&h->j, &h->value)) return 0;
            t->type = dtype_named(h->value.s);
            if (!t->type) return json_fail(&h->j, "unknown dtype");
        } else if (field == 2 ? !integers(&h->j, t->shape, MAX_DIMS, &t->ndim) : !integers(&h->j, range, 2, &count)) {
            return 0;
        }
    }
    if (h->j.error[0]) return 0;
    if (seen != 7 || count != 2) return json_fail(&h->j, "expected dtype, shape and data_offsets, each once");
    uint64_t size = h->c->source.size - h->data_at;
    if (!set_contiguous(t) || !checked_mul(t->count, (uint64_t)t->type->bytes, &bytes) || range[0] > range[1] ||
        range[1] - range[0] != bytes)
        return json_fail(&h->j, "the tensor's bytes do not match its shape");
    if (range[1] > size)
        return json_fail(&h->j, "the tensor's bytes extend past the end of the file; was it downloaded completely?");
    if (!GROW(h->c->storages, h->c->storage_count, h->c->storage_cap)) return json_fail(&h->j, "out of memory");
    t->storage = h->c->storage_count++;
    storage *s = &h->c->storages[t->storage];
    memset(s, 0, sizeof *s);
    s->at = h->data_at + range[0];
    s->bytes = bytes;
    return 1;
}

static int header_entries(header *h) {
    int all = add_group(h->c, ""), good = 1;
    if (all < 0) return text_no_memory(h->why);
    for (json_object(&h->j); good && json_key(&h->j, &h->name);) {
        tensor t;
        if (strcmp(h->name.s, "__metadata__") == 0) {
            good = header_metadata(h);
            continue;
        }
        memset(&t, 0, sizeof t);
        t.group = all;
        if (h->name.len > MAX_NAME) return json_fail(&h->j, "a name is too long");
        if (!header_tensor(h, &t)) return 0;
        t.name = mem_copy(h->name.s, h->name.len);
        if (!t.name) return text_no_memory(h->why);
        good = add_tensor(h->c, &t, h->why);
        if (!good) free(t.name);
    }
    return good && json_end(&h->j);
}

int read_safetensors(checkpoint *c, text *why) {
    unsigned char start[8];
    header h;
    if (!source_read(&c->source, 0, start, sizeof start, why)) return 0;
    uint64_t length = le64(start);
    if (length > c->source.size - 8 || length > MAX_HEADER)
        return refuse(why, "the safetensors header should have %llu bytes, but the file has %llu; was it downloaded "
                      "completely?", (unsigned long long)length, (unsigned long long)c->source.size);
    char *bytes = mem_alloc((size_t)length);
    if (!bytes) return text_no_memory(why);
    memset(&h, 0, sizeof h);
    h.c = c;
    h.why = why;
    h.data_at = 8 + length;
    snprintf(c->format, sizeof c->format, "safetensors");
    int good = source_read(&c->source, 8, bytes, (size_t)length, why);
    if (good) {
        json_begin(&h.j, bytes, (size_t)length);
        good = header_entries(&h);
        if (h.j.error[0])
            good = refuse(why, "safetensors header: %s%s%.200s%s", h.j.error, h.name.s ? " (tensor \"" : "",
                          h.name.s ? h.name.s : "", h.name.s ? "\")" : "");
    }
    free(bytes);
    text_free(&h.key);
    text_free(&h.name);
    text_free(&h.value);
    return good;
}

/* --- .wts: the number of tensors, then a line for each: name, number of values, values in hexadecimal --------------
   The file has no shapes, so ndim is -1 until a network determines them. */

/* Reads the next word into out and sets `at` to its start. Returns 0 at the end of the text. */
static int next_word(cursor *c, text *out, uint64_t *at) {
    int byte;
    text_clear(out);
    do {
        *at = cursor_at(c);
        byte = cursor_next(c);
    } while (is_white(byte));
    for (; byte >= 0 && !is_white(byte) && out->len <= MAX_NAME; byte = cursor_next(c)) text_putc(out, byte);
    return out->len > 0 && !text_failed(out);
}

static int is_hex(const char *s) {
    size_t n = strspn(s, "0123456789abcdefABCDEF");
    return n > 0 && n <= 8 && !s[n];
}

static int wts_tensor(checkpoint *c, cursor *in, text *word, uint64_t number, text *why) {
    uint64_t at, end;
    long long count = 0;
    tensor t;
    memset(&t, 0, sizeof t);
    if (!next_word(in, word, &at)) return refuse(why, "tensor %llu is missing; was the file downloaded completely?",
                                                 (unsigned long long)number);
    if (word->len > MAX_NAME || strlen(word->s) != word->len)
        return refuse(why, "tensor %llu has an invalid name", (unsigned long long)number);
    t.name = mem_copy(word->s, word->len);
    if (!t.name) return text_no_memory(why);
    int good = next_word(in, word, &at) && parse_int(word->s, 0, 1LL << 40, &count);
    if (!good) refuse(why, "tensor \"%.200s\" has no number of values", t.name);
    end = cursor_at(in);
    uint64_t start = end;
    for (long long i = 0; i < count && good; i++) {
        good = next_word(in, word, &at) && is_hex(word->s);
        if (!good) refuse(why, "tensor \"%.200s\": value %lld of %lld is not a hexadecimal word", t.name, i, count);
        end = cursor_at(in);
    }
    if (good) {
        good = GROW(c->storages, c->storage_count, c->storage_cap) || text_no_memory(why);
    }
    if (good) {
        storage *s = &c->storages[c->storage_count];
        memset(s, 0, sizeof *s);
        s->at = start;
        s->bytes = end - start;
        t.storage = c->storage_count++;
        t.type = dtype_named("F32");
        t.ndim = -1;
        t.count = (uint64_t)count;
        t.is_text = 1;
        good = add_tensor(c, &t, why);
    }
    if (!good) free(t.name);
    return good;
}

int read_wts(checkpoint *c, text *why) {
    cursor *in = mem_alloc(sizeof *in);
    text word = TEXT_INIT;
    uint64_t at;
    long long count = 0;
    if (!in) return text_no_memory(why);
    cursor_begin(in, &c->source, 0, c->source.size, why);
    int good = next_word(in, &word, &at) && parse_int(word.s, 1, 1 << 24, &count);
    if (!good) refuse(why, "this looks like .wts text, but does not begin with the number of tensors");
    snprintf(c->format, sizeof c->format, ".wts text");
    if (good && add_group(c, "") < 0) good = text_no_memory(why);
    for (long long i = 0; i < count && good; i++) good = wts_tensor(c, in, &word, (uint64_t)i, why);
    if (good && next_word(in, &word, &at))
        good = refuse(why, "text follows the last of %lld tensor%s", count, plural((size_t)count));
    text_free(&word);
    free(in);
    return good;
}
