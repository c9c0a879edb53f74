#include "gallery/store_handle.h"

#include "base/files.h"
#include "gallery/store_entries.h"
#include "gallery/store_file.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

gallery_store *store_new(const char *path, const store_host *host, char why[STORE_WHY]) {
    gallery_store *s = calloc(1, sizeof *s);
    char *copy = strdup(path);
    if (!s || !copy) {
        store_fail(why, "out of memory");
        free(s), free(copy);
        return NULL;
    }
    s->path = copy;
    s->fd = -1;
    if (host) s->host = *host;
    return s;
}

void store_close(gallery_store *s) {
    if (!s) return;
    if (s->fd >= 0) {
        if (s->tail > s->end && !s->keep_tail) file_cut(s->fd, s->end); /* if this fails, the next writer does it */
        close(s->fd);
    }
    free(s->path), free(s->at), free(s->texts), free(s->rows), free(s->ids), free(s->names), free(s->identities);
    free(s->pending);
    free(s);
}
