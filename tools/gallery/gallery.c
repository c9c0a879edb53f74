#include "gallery/gallery.h"

#include "gallery/gallery_file.h"
#include "gallery/gallery_host.h"
#include "embedding/makers.h"
#include "base/say.h"
#include "embedding/stream.h"
#include "base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int by_identity_then_place(const void *a, const void *b) {
    const gallery_image *const *x = a, *const *y = b;
    int order = strcmp((*x)->identity, (*y)->identity);
    return order ? order : (*x > *y) - (*x < *y);
}

/* Images of one identity get one index. */
static void index_identities(gallery *g) {
    gallery_image **sorted = must_alloc(g->count * sizeof *sorted);
    for (size_t i = 0; i < g->count; i++) sorted[i] = &g->at[i];
    qsort(sorted, g->count, sizeof *sorted, by_identity_then_place);
    for (size_t i = 0; i < g->count; i++) {
        int is_new = i == 0 || strcmp(sorted[i]->identity, sorted[i - 1]->identity) != 0;
        g->identities += is_new != 0;
        sorted[i]->identity_index = g->identities - 1;
    }
    free(sorted);
}

/* Device and inode of the file behind a row, whose name may end in "#7" for a box. */
static void find_file(gallery_image *image, const char *path) {
    struct stat st;
    char *name = must_copy(path, strlen(path)), *hash = strrchr(name, '#');
    int found = stat(name, &st) == 0;
    if (!found && hash && hash[1] && hash[1 + strspn(hash + 1, "0123456789")] == 0) {
        *hash = 0;
        found = stat(name, &st) == 0;
    }
    free(name);
    image->has_file = found;
    if (!found) return;
    image->device = st.st_dev;
    image->inode = st.st_ino;
}

static void add_image(gallery *g, const char *id, const char *identity, const char *path) {
    GROW(g->at, g->count, g->cap);
    gallery_image *image = &g->at[g->count++];
    memset(image, 0, sizeof *image);
    image->path = must_copy(id, strlen(id));
    image->identity = must_copy(identity, strlen(identity));
    find_file(image, path);
}

typedef struct enrolment {
    gallery *g;
    const inputs *list;
    const options *o;
} enrolment;

static int enrol(void *user, size_t index, const float *row, const char *why) {
    enrolment *e = user;
    gallery *g = e->g;
    const input *in = &e->list->at[index];
    if (!row) {
        say_error("%s: %s", shown(in->id), why);
        g->failed++;
        return !e->o->strict;
    }
    if (g->count == g->rows_cap) {
        g->rows_cap = g->rows_cap ? g->rows_cap * 2 : 64;
        g->rows = must_realloc(g->rows, g->rows_cap * (size_t)g->dim * sizeof *g->rows);
    }
    memcpy(g->rows + g->count * (size_t)g->dim, row, (size_t)g->dim * sizeof *row);
    add_image(g, in->id, in->identity, in->path);
    return 1;
}

static void open_folder(gallery *g, const options *o, models *all) {
    inputs list = {0};
    enrolment e = {g, &list, o};
    inputs_add_path(&list, o->gallery);
    stream_job job = {all, &list, 0, list.count, o, "gallery", enrol, NULL, &e};
    stream_run(&job);
    inputs_free(&list);
    if (!g->count && !(o->strict && g->failed)) say_error("%s: the gallery is empty", shown(o->gallery));
}

static void open_file(gallery *g, const options *o, const models *all) {
    gallery_file file;
    store_meta ours;
    makers_of_models(all, &ours);
    if (gallery_file_read(&file, o->gallery) && makers_agree(&file.makers, o->gallery, &ours, all, NULL)) {
        for (size_t i = 0; i < file.count; i++) add_image(g, file.ids[i], file.identities[i], file.ids[i]);
        g->rows = file.rows;
        file.rows = NULL;
        if (!g->count) say_error("%s: the gallery is empty", shown(o->gallery));
    }
    gallery_file_free(&file);
}

static void take_store(gallery *g, const gallery_store *s) {
    size_t values = store_count(s) * (size_t)g->dim;
    g->rows = must_alloc(values * sizeof *g->rows);
    if (store_halves(s)) reid_from_halves(store_halves(s), g->rows, values);
    else if (values) memcpy(g->rows, store_floats(s), values * sizeof *g->rows);
    for (size_t i = 0; i < store_count(s); i++) {
        store_item item = store_at(s, i);
        add_image(g, item.id, item.identity, *item.source ? item.source : item.id);
    }
    g->threshold = store_info(s)->threshold;
}

static void open_store(gallery *g, const options *o, const models *all) {
    gallery_store *s = gallery_store_open(o->gallery, 1);
    store_meta ours;
    makers_of_models(all, &ours);
    if (s && makers_agree(store_info(s), o->gallery, &ours, all, NULL)) {
        take_store(g, s);
        if (!g->count) say_error("%s: the gallery is empty", shown(o->gallery));
    }
    store_close(s);
}

int gallery_open(gallery *g, const options *o, models *all) {
    struct stat st;
    memset(g, 0, sizeof *g);
    g->dim = all->dim;
    g->threshold = (double)NAN;
    if (stat(o->gallery, &st) == 0 && S_ISDIR(st.st_mode)) open_folder(g, o, all);
    else if (store_is_gallery(o->gallery)) open_store(g, o, all);
    else if (gallery_file_is_one(o->gallery)) open_file(g, o, all);
    else say_error("%s: a gallery is a folder or a .npy file written by reid embed, or a file of reid gallery",
                   shown(o->gallery));
    if (!g->count || (o->strict && g->failed)) return 0;
    index_identities(g);
    return 1;
}

void gallery_close(gallery *g) {
    for (size_t i = 0; i < g->count; i++) {
        free(g->at[i].path);
        free(g->at[i].identity);
    }
    free(g->at);
    free(g->rows);
    memset(g, 0, sizeof *g);
}
