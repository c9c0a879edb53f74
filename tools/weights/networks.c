#include "weights/networks.h"

#include "base/memory.h"
#include "base/say.h"
#include "reid.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct collection {
    network *to;
    size_t cap;
    int failed; /* 1: a failure was reported */
} collection;

/* Records what a network needs: for a file without tensors, the library reports all of them as missing, each with the
   note "shape [64, 3, 7, 7] is needed". */
static void add_want(const char *name, reid_tensor_status status, const char *note, void *user) {
    collection *c = user;
    const char *at = note ? strchr(note, '[') : NULL;
    if (status != REID_TENSOR_MISSING || !at) return;
    if (c->failed || !NEED(c->to->wants, c->to->count, c->cap)) {
        c->failed = 1;
        return;
    }
    want *w = &c->to->wants[c->to->count++];
    memset(w, 0, sizeof *w);
    w->name = need_copy(name, strlen(name));
    c->failed = !w->name;
    while (*at != ']' && w->ndim < MAX_DIMS) {
        char *end;
        w->shape[w->ndim++] = strtoull(at + 1, &end, 10);
        if (end == at + 1) {
            say_error("networks: cannot read the shape of %s: %s", name, note);
            c->failed = 1;
            return;
        }
        at = *end == ',' ? end + 1 : end;
    }
    if (strncmp(name, "projection.", 11) == 0) w->shape[0] = 0; /* any width */
}

static int by_name(const void *a, const void *b) { return strcmp(((const want *)a)->name, ((const want *)b)->name); }

static void free_network(network *n) {
    for (size_t k = 0; k < n->count; k++) free(n->wants[k].name);
    free(n->wants);
}

static int add_network(networks *all, const char *listed, const char *name, reid_head head) {
    static const char nothing[] = "\2\0\0\0\0\0\0\0{}";
    reid_desc desc = REID_INIT;
    network n;
    collection c = {&n, 0, 0};
    memset(&n, 0, sizeof n);
    desc.weights_data = nothing;
    desc.weights_size = sizeof nothing - 1;
    desc.network = name;
    desc.head = head;
    reid_check_weights(&desc, add_want, &c, NULL); /* always fails */
    if (!c.failed && !n.count) return 1;
    if (c.failed || !NEED(all->at, all->count, all->cap)) {
        free_network(&n);
        return 0;
    }
    snprintf(n.name, sizeof n.name, "%s", name);
    snprintf(n.listed, sizeof n.listed, "%s", listed);
    qsort(n.wants, n.count, sizeof *n.wants, by_name);
    all->at[all->count++] = n;
    return 1;
}

int networks_list(networks *all, const char *trunk) {
    memset(all, 0, sizeof *all);
    for (int i = 0; reid_network_name(i); i++) {
        char name[REID_NETWORK_NAME];
        const char *listed = reid_network_name(i), *head = strncmp(listed, "resnet50", 8) == 0 ? listed + 8 : NULL;
        snprintf(name, sizeof name, "%s%s%s", head ? "resnet" : listed, head ? trunk : "", head ? head : "");
        if (!add_network(all, listed, name, REID_HEAD_NONE) || !add_network(all, listed, name, REID_HEAD_FILE))
            return 0;
    }
    return 1;
}

const char *networks_named(const networks *all, const char *name) {
    for (size_t i = 0; i < all->count; i++)
        if (strcmp(all->at[i].name, name) == 0 || strcmp(all->at[i].listed, name) == 0) return all->at[i].name;
    return NULL;
}

void networks_free(networks *all) {
    for (size_t i = 0; i < all->count; i++) free_network(&all->at[i]);
    free(all->at);
    memset(all, 0, sizeof *all);
}
