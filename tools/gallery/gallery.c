#include "gallery/gallery.h"

#include "base/files.h"
#include "base/memory.h"
#include "base/say.h"
#include "base/spelling.h"
#include "base/unicode.h"
#include "gallery/gallery_file.h"
#include "gallery/makers.h"
#include "gallery/templates.h"
#include "pictures/box_text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int by_identity_then_place(const void *a, const void *b) {
    const gallery_image *const *x = a, *const *y = b;
    int order = name_order_spelled((*x)->identity, (*y)->identity);
    return order ? order : (*x > *y) - (*x < *y);
}

/* Gives images of the same identity the same index. */
static int index_identities(gallery *g) {
    gallery_image **sorted = need_array(g->count, sizeof *sorted);
    int warned = 0;
    if (!sorted) return 0;
    for (size_t i = 0; i < g->count; i++) sorted[i] = &g->at[i];
    qsort(sorted, g->count, sizeof *sorted, by_identity_then_place);
    for (size_t i = 0; i < g->count; i++) {
        int is_new = i == 0 || !name_same(sorted[i]->identity, sorted[i - 1]->identity);
        g->identities += is_new != 0;
        warned = warned || (!is_new && name_warn_of_forms(sorted[i - 1]->identity, sorted[i]->identity));
        sorted[i]->identity_index = g->identities - 1;
    }
    free(sorted);
    return 1;
}

/* Finds device and inode of the file behind a row. The row's name may end in a box, or in "#7" for the number of
   one. */
static int find_file(gallery_image *image, const char *path) {
    struct stat st;
    box_unit unit;
    double box[4];
    char *name = need_copy(path, stat(path, &st) == 0 ? strlen(path) : box_text_split(path, &unit, box));
    if (!name) return 0;
    char *hash = strrchr(name, '#');
    int found = stat(name, &st) == 0;
    if (!found && hash && hash[1] && hash[1 + strspn(hash + 1, "0123456789")] == 0) {
        *hash = 0;
        found = stat(name, &st) == 0;
    }
    free(name);
    image->has_file = found;
    if (!found) return 1;
    image->device = st.st_dev;
    image->inode = st.st_ino;
    return 1;
}

static void free_image(gallery_image *image) {
    free(image->path);
    free(image->identity);
    free(image->camera);
    free(image->source);
}

/* What files and galleries state about an image; NULL or "": unknown. */
typedef struct image_facts {
    const char *camera, *source;
    long long when;
} image_facts;

static int copy_known(char **to, const char *from) {
    if (!from || !*from) return 1;
    *to = need_copy(from, strlen(from));
    return *to != NULL;
}

static int add_image(gallery *g, const char *id, const char *identity, const char *path, const image_facts *facts) {
    if (!NEED(g->at, g->count, g->cap)) return 0;
    gallery_image *image = &g->at[g->count];
    memset(image, 0, sizeof *image);
    image->path = need_copy(id, strlen(id));
    if (image->path) image->identity = need_copy(identity, strlen(identity));
    image->when = facts->when;
    int good = image->identity && copy_known(&image->camera, facts->camera) &&
               copy_known(&image->source, facts->source) && find_file(image, path);
    if (!good) free_image(image);
    g->count += good != 0;
    return good;
}

typedef struct enrolment {
    gallery *g;
    const inputs *list;
    int strict, no_memory;
} enrolment;

/* Appends a row; the caller then adds its image. */
static int keep_row(gallery *g, const float *row) {
    size_t dim = (size_t)g->dim;
    if (g->count == g->rows_cap && !mem_grow(&g->rows, dim * sizeof *g->rows, &g->rows_cap)) return say_no_memory();
    memcpy(g->rows + g->count * dim, row, dim * sizeof *row);
    return 1;
}

static int enrol(void *user, size_t index, const float *row, const char *why) {
    enrolment *e = user;
    gallery *g = e->g;
    const input *in = &e->list->at[index];
    if (!row) {
        inputs_say_failure(in, why);
        g->failed++;
        return !e->strict;
    }
    const image_facts facts = {in->camera, NULL, in->dated ? in->when : STORE_NO_TIME};
    if (!keep_row(g, row) || !add_image(g, in->id, in->identity, in->path, &facts)) {
        e->no_memory = 1;
        return 0;
    }
    return 1;
}

/* The functions below return 0 after reporting an error. */

static int is_filled(const gallery *g, const gallery_request *r) {
    if (!g->count) say_error("%s: the gallery is empty", shown(r->path));
    return g->count > 0;
}

static int open_folder(gallery *g, const gallery_request *r, models *all) {
    inputs list = {0};
    enrolment e = {g, &list, r->strict, 0};
    int good = inputs_add_path(&list, r->path);
    if (good) {
        stream_job job = {.all = all, .list = &list, .first = 0, .end = list.count, .decode = r->decode,
                          .label = "gallery", .fn = enrol, .user = &e};
        stream_result end = stream_run(&job);
        good = end == STREAM_DONE || (end == STREAM_STOPPED && !e.no_memory);
    }
    inputs_free(&list);
    return good && !(r->strict && g->failed) && is_filled(g, r);
}

static int open_file(gallery *g, const gallery_request *r, const models *all) {
    gallery_file file;
    store_meta ours;
    makers_of_models(all, &ours);
    int good = gallery_file_read(&file, r->path) && makers_agree(&file.makers, r->path, &ours, all, NULL);
    if (good) makers_note_decoders(file.jpeg, r->path, jpeg_decoder_name(r->decode.jpeg), NULL);
    size_t unnamed = good ? gallery_file_unnamed(&file) : 0;
    if (unnamed) {
        say_error("%s: %zu of its %zu crop%s no identity, because folders of photos are cameras; a gallery needs "
                  "individuals: name them with reid review, then reid gallery add --groups", shown(r->path), unnamed,
                  file.count, file.count == 1 ? " has" : "s have");
        good = 0;
    }
    for (size_t i = 0; good && i < file.count; i++) {
        const image_facts facts = {file.camera_count ? file.cameras[i] : NULL,
                                   file.source_count ? file.sources[i] : NULL,
                                   file.time_count ? file.times[i] : STORE_NO_TIME};
        good = add_image(g, file.ids[i], file.identities[i], file.ids[i], &facts);
    }
    if (good) {
        g->rows = file.rows;
        file.rows = NULL;
    }
    gallery_file_free(&file);
    return good && is_filled(g, r);
}

static int take_store(gallery *g, const gallery_store *s) {
    size_t values = store_count(s) * (size_t)g->dim;
    g->rows = need_array(values, sizeof *g->rows);
    if (!g->rows) return 0;
    if (store_halves(s)) reid_from_halves(store_halves(s), g->rows, values);
    else if (values) memcpy(g->rows, store_floats(s), values * sizeof *g->rows);
    g->threshold = store_info(s)->threshold;
    for (size_t i = 0; i < store_count(s); i++) {
        store_item item = store_at(s, i);
        const image_facts facts = {item.camera, item.source, item.time};
        if (!add_image(g, item.id, item.identity, *item.source ? item.source : item.id, &facts)) return 0;
    }
    return 1;
}

static int open_store(gallery *g, const gallery_request *r, const models *all) {
    gallery_store *s = templates_read(r->path, 1);
    store_meta ours;
    makers_of_models(all, &ours);
    int good = s && makers_agree(store_info(s), r->path, &ours, all, NULL) && take_store(g, s) && is_filled(g, r);
    if (good) makers_note_decoders(store_info(s)->jpeg, r->path, jpeg_decoder_name(r->decode.jpeg), NULL);
    store_close(s);
    return good;
}

/* Removes the strangers. Returns 0 after saying that the gallery is empty. */
static int leave_out_strangers(gallery *g, const gallery_request *r) {
    size_t kept = 0, dim = (size_t)g->dim;
    for (size_t i = 0; i < g->count; i++) {
        if (name_same(g->at[i].identity, r->unknown)) {
            free_image(&g->at[i]);
            continue;
        }
        if (kept < i) memcpy(g->rows + kept * dim, g->rows + i * dim, dim * sizeof *g->rows);
        g->at[kept++] = g->at[i];
    }
    g->count = kept;
    return is_filled(g, r);
}

int gallery_open(gallery *g, const gallery_request *r, models *all) {
    struct stat st;
    int good = 0;
    memset(g, 0, sizeof *g);
    g->dim = all->dim;
    g->threshold = (double)NAN;
    if (gallery_file_is_folder(r->path)) good = open_file(g, r, all);
    else if (stat(r->path, &st) == 0 && S_ISDIR(st.st_mode)) good = open_folder(g, r, all);
    else if (templates_is_place(r->path)) good = open_store(g, r, all);
    else if (gallery_file_is_one(r->path)) good = open_file(g, r, all);
    else say_error("%s: a gallery is a folder, a .npy, .fvecs or .jsonl file of reid embed, or a file or URL of "
                   "reid gallery", shown(r->path));
    if (good && r->unknown) good = leave_out_strangers(g, r);
    return good && index_identities(g);
}

void gallery_close(gallery *g) {
    for (size_t i = 0; i < g->count; i++) free_image(&g->at[i]);
    free(g->at);
    free(g->rows);
    memset(g, 0, sizeof *g);
}
