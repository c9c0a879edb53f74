#include "weights/head_write.h"

#include "base/memory.h"
#include "weights/checkpoint_open.h"
#include "weights/safetensors_write.h"

#include <stdlib.h>
#include <string.h>

/* The tensor's name without the prefixes that the library ignores, too. */
static const char *behind_prefixes(const char *name) {
    static const char *const prefixes[] = {"module.", "model.", "backbone.", "_orig_mod."};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes;) {
        size_t n = strlen(prefixes[i]);
        int found = strncmp(name, prefixes[i], n) == 0;
        name += found ? n : 0;
        i = found ? 0 : i + 1;
    }
    return name;
}

static int is_replaced(const head_write_request *r, const char *name) {
    const char *own = behind_prefixes(name);
    for (int i = 0; r->replaced[i]; i++)
        if (strncmp(own, r->replaced[i], strlen(r->replaced[i])) == 0) return 1;
    return 0;
}

/* Lists the old tensors that stay, then the new ones; NULL with the reason in why. */
static outgoing *list_tensors(const head_write_request *r, const checkpoint *old, const checkpoint *added,
                              size_t *count, text *why) {
    outgoing *list = mem_zeroed(old->tensor_count + added->tensor_count + 1, sizeof *list);
    const checkpoint *both[2] = {old, added};
    *count = 0;
    if (!list) text_no_memory(why);
    for (int c = 0; c < 2 && list; c++)
        for (size_t i = 0; i < both[c]->tensor_count; i++) {
            const tensor *t = &both[c]->tensors[i];
            if (c == 0 && is_replaced(r, t->name)) continue;
            outgoing *out = &list[(*count)++];
            out->name = t->name;
            out->from = t;
            out->of = both[c];
            out->ndim = t->ndim;
            memcpy(out->shape, t->shape, sizeof out->shape);
        }
    return list;
}

static int write_file(const head_write_request *r, const checkpoint *old, const checkpoint *added, uint64_t *size,
                      text *why) {
    pending p;
    size_t count;
    outgoing *list = list_tensors(r, old, added, &count, why);
    int opened = list && pending_begin(&p, r->to, &WEIGHTS_FILE, why);
    int good = opened && safetensors_write(&p, list, count, r->metadata, size, why) &&
               r->check(r->user, p.temp, why) && pending_sync(&p, why) && pending_rename(&p, why);
    if (good) sync_folder_of(r->to);
    if (opened) pending_close(&p);
    free(list);
    return good;
}

int head_write(const head_write_request *r, uint64_t *size, text *why) {
    checkpoint old, added;
    text bytes = TEXT_INIT;
    memset(&added, 0, sizeof added);
    if (!checkpoint_open(&old, r->from, why)) return 0;
    int good = new_tensors(&added, r->tensors, r->count, &bytes, why) && write_file(r, &old, &added, size, why);
    checkpoint_close(&added);
    checkpoint_close(&old);
    text_free(&bytes);
    return good;
}
