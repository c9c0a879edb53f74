#include "weights/new_tensors.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

int new_tensors(checkpoint *c, const new_tensor *list, size_t count, text *bytes, text *why) {
    c->source.fd = -1;
    if (add_group(c, "") < 0) return text_no_memory(why);
    for (size_t i = 0; i < count; i++) {
        const new_tensor *from = &list[i];
        tensor t;
        memset(&t, 0, sizeof t);
        t.type = dtype_named("F32");
        t.ndim = from->ndim;
        memcpy(t.shape, from->shape, sizeof from->shape);
        t.storage = c->storage_count;
        t.name = mem_copy(from->name, strlen(from->name));
        if (!t.name || !GROW(c->storages, c->storage_count, c->storage_cap) || !set_contiguous(&t)) {
            free(t.name);
            return text_no_memory(why);
        }
        storage *s = &c->storages[c->storage_count++];
        memset(s, 0, sizeof *s);
        s->at = bytes->len;
        s->bytes = 4 * t.count;
        for (uint64_t k = 0; k < t.count; k++) {
            uint32_t bits;
            memcpy(&bits, &from->values[k], 4);
            for (int shift = 0; shift < 32; shift += 8) text_putc(bytes, (char)(bits >> shift & 255));
        }
        if (!add_tensor(c, &t, why)) {
            free(t.name);
            return 0;
        }
    }
    if (text_failed(bytes)) return text_no_memory(why);
    source_memory(&c->source, bytes->s, bytes->len);
    return 1;
}
