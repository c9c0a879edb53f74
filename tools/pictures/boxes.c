#include "pictures/boxes.h"

#include "base/memory.h"
#include "base/say.h"
#include "base/text.h"
#include "pictures/detections.h"
#include "pictures/detections_tell.h"
#include "pictures/paths.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* An image that the file names or numbers. */
typedef struct listed_image {
    char *path;      /* to be opened */
    size_t root_len; /* how much of it is root */
    size_t id_from;  /* where in it the name of its rows begins */
    size_t boxes;    /* that have been numbered so far */
} listed_image;

typedef struct reading {
    const char *root; /* NULL: none */
    detections found;
    photos below;     /* images below root, once they are needed */
    int looked;
    listed_image *of_owner, *of_box; /* [owners]; [boxes], for those that only have a number, else NULL */
    listed_image **image;            /* [boxes] */
} reading;

/* --- images ------------------------------------------------------------------------------------------------------- */

static int is_file(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && !S_ISDIR(st.st_mode);
}

/* Returns "root/path"; sets *root_len to the length of the root in it. NULL if memory runs out. */
static char *join(const char *root, const char *path, size_t *root_len) {
    text out = TEXT_INIT;
    size_t n = strlen(root);
    while (n > 1 && root[n - 1] == '/') n--;
    text_add(&out, root, n);
    if (root[n - 1] != '/') text_putc(&out, '/');
    text_puts(&out, path);
    *root_len = n;
    char *whole = text_failed(&out) ? NULL : mem_copy(out.s, out.len);
    text_free(&out);
    return whole;
}

static void turn_slashes(char *path) {
    for (; *path; path++)
        if (*path == '\\') *path = '/';
}

static int look_below(reading *b, text *why) {
    if (b->looked) return 1;
    b->looked = 1;
    if (!photos_add(&b->below, b->root, why) || !photos_index(&b->below, why)) return 0;
    text_clear(why);
    return 1;
}

static int take_place(reading *b, const photo_place *place, listed_image *to, text *why) {
    to->path = mem_copy(place->path, strlen(place->path));
    if (!to->path) return text_no_memory(why);
    to->root_len = b->below.at[place->camera].root_len;
    return 1;
}

/* Whether a part of the path is "..", also if it is a path of Windows. */
static int climbs(const char *path) {
    for (const char *part = path; *part; part += strcspn(part, "/\\"), part += *part != 0)
        if (strncmp(part, "..", 2) == 0 && (!part[2] || strchr("/\\", part[2]))) return 1;
    return 0;
}

/* Finds an image below root as reid track finds photos: by its path there, or by the end of a path. */
static int find_below(reading *b, const char *name, listed_image *to, text *why) {
    text reason = TEXT_INIT;
    while (strncmp(name, "./", 2) == 0) name += 2;
    if (!path_is_absolute(name) && !climbs(name)) {
        to->path = join(b->root, name, &to->root_len);
        if (!to->path) return text_no_memory(why);
        path_given(to->path);
        if (is_file(to->path)) return 1;
        free(to->path), to->path = NULL, to->root_len = 0;
    }
    if (!look_below(b, why)) return 0;
    const photo_place *place = photos_find(&b->below, name, &reason);
    if (reason.len) text_clear(why), text_join(why, &reason);
    text_free(&reason);
    return place ? take_place(b, place, to, why) : !why->len;
}

/* An image that is not found keeps its name, so that opening it reports which file is missing. Its path is taken below
   root, because a file of boxes must not make the command read other files. */
static int find_image(reading *b, const char *name, listed_image *to, text *why) {
    text_clear(why);
    if (b->root && !find_below(b, name, to, why)) return 0;
    if (to->path) return 1;
    if (b->root && climbs(name))
        return refuse(why, "the image %.300s is outside %.300s; give the folder that contains all images, or none",
                      shown(name), shown(b->root));
    to->path = b->root ? join(b->root, name + strspn(name, "/"), &to->root_len) : mem_copy(name, strlen(name));
    if (!to->path) return text_no_memory(why);
    if (b->root || is_file(name)) return 1;
    turn_slashes(to->path);
    if (!is_file(to->path)) memcpy(to->path, name, strlen(name));
    return 1;
}

static int find_number(reading *b, uint32_t number, listed_image *to, text *why) {
    text reason = TEXT_INIT;
    text_clear(why);
    if (!b->root) return refuse(why, "it identifies images only by number: give the folder that contains them");
    if (!look_below(b, why)) return 0;
    const photo_place *place = photos_numbered(&b->below, number, &reason);
    if (reason.len) text_clear(why), text_join(why, &reason);
    else if (!place) refuse(why, "no image below %.300s has a name that ends in %u", shown(b->root), (unsigned)number);
    text_free(&reason);
    return place && take_place(b, place, to, why);
}

static int find_images(reading *b, text *why) {
    const detections *d = &b->found;
    b->of_owner = mem_zeroed(d->owners.count + 1, sizeof *b->of_owner);
    b->of_box = mem_zeroed(d->count + 1, sizeof *b->of_box);
    b->image = mem_zeroed(d->count + 1, sizeof *b->image);
    int good = (b->of_owner && b->of_box && b->image) || text_no_memory(why);
    for (size_t i = 0; i < d->count && good; i++) {
        const char *name = d->owners.at[d->at[i].owner];
        b->image[i] = *name ? &b->of_owner[d->at[i].owner] : &b->of_box[i];
        if (b->image[i]->path) continue;
        good = *name ? find_image(b, name, b->image[i], why) : find_number(b, d->at[i].frame, b->image[i], why);
        if (!good) break;
        b->image[i]->id_from = b->image[i]->root_len + strspn(b->image[i]->path + b->image[i]->root_len, "/");
        if (!b->image[i]->root_len) b->image[i]->id_from = 0;
    }
    return good;
}

/* --- names -------------------------------------------------------------------------------------------------------- */

static int by_path(const void *a, const void *b) {
    listed_image *const *const *x = a, *const *const *y = b;
    int order = strcmp((**x)->path, (**y)->path);
    return order ? order : (*x > *y) - (*x < *y);
}

/* An image's boxes need not be adjacent in the file: one image gets all of them, so that they are numbered in the
   file's order. */
static int join_images(reading *b) {
    size_t n = b->found.count;
    listed_image ***sorted = need_array(n + 1, sizeof *sorted);
    if (!sorted) return 0;
    for (size_t i = 0; i < n; i++) sorted[i] = &b->image[i];
    if (n) qsort(sorted, n, sizeof *sorted, by_path);
    for (size_t i = 1; i < n; i++)
        if (strcmp((*sorted[i])->path, (*sorted[i - 1])->path) == 0) *sorted[i] = *sorted[i - 1];
    free(sorted);
    return 1;
}

static const char *name_at(const detection_names *names, uint32_t at) {
    return at == DETECTION_NO_NAME ? NULL : names->at[at];
}

/* Adds box i, box n of its image. Its id is IDENTITY/ID, or PATH#n for a box without an id. */
static int add_row(const reading *b, inputs *list, size_t i, size_t n) {
    const detection *at = &b->found.at[i];
    const listed_image *image = b->image[i];
    const char *id = name_at(&b->found.ids, at->id), *identity = name_at(&b->found.identities, at->identity);
    const char *slash = strrchr(image->path, '/');
    text name = TEXT_INIT;
    if (identity) text_printf(&name, "%s/", identity);
    if (id) text_puts(&name, id);
    else text_printf(&name, "%s#%zu", image->path + image->id_from, n);
    input *in = need_text(&name) ? inputs_add(list, image->path, 0, name.s) : NULL;
    text_free(&name);
    if (!in || !input_set_identity(in, identity ? identity : "")) return 0;
    if (b->found.categorised && !input_set_category(in, detections_category(&b->found, at->category))) return 0;
    if (b->found.scored) in->score = at->score;
    in->of = at->of;
    in->unit = b->found.unit, memcpy(in->box, at->box, sizeof in->box);
    if (!slash) return 1;
    in->camera = path_camera(image->path, (size_t)(slash - image->path), image->root_len);
    return in->camera != NULL || say_no_memory();
}

static int add_rows(const reading *b, inputs *list, const detections_request *r) {
    size_t empty = 0;
    for (size_t i = 0; i < b->found.count; i++) {
        const detection *at = &b->found.at[i];
        size_t n = b->image[i]->boxes++;
        if (!detections_wants(&b->found, r, at)) continue;
        if (!(at->box[2] > 0 && at->box[3] > 0)) empty++;
        else if (!add_row(b, list, i, n)) return 0;
    }
    if (empty) say_warning("%s: %zu box%s without area %s left out", shown(r->path), empty, empty == 1 ? "" : "es",
                           empty == 1 ? "is" : "are");
    return 1;
}

static int by_id(const void *a, const void *b) {
    return strcmp((*(const input *const *)a)->id, (*(const input *const *)b)->id);
}

/* An id belongs to one box. If one was meant to name an individual, this would otherwise be noticed much later. */
static int ids_differ(const inputs *list, size_t first, const char *file) {
    size_t n = list->count - first, at = 1;
    const input **sorted = need_array(n + 1, sizeof *sorted);
    if (!sorted) return 0;
    for (size_t i = 0; i < n; i++) sorted[i] = &list->at[first + i];
    if (n) qsort(sorted, n, sizeof *sorted, by_id);
    while (at < n && by_id(&sorted[at - 1], &sorted[at]) != 0) at++;
    if (at < n)
        say_error("%s: the id \"%s\" is given twice; ids of boxes must differ. Name the individual in a column "
                  "\"identity\"", shown(file), shown(sorted[at]->id));
    free(sorted);
    return at >= n;
}

/* --- the file ----------------------------------------------------------------------------------------------------- */

static void free_reading(reading *b) {
    for (size_t i = 0; i < b->found.owners.count && b->of_owner; i++) free(b->of_owner[i].path);
    for (size_t i = 0; i < b->found.count && b->of_box; i++) free(b->of_box[i].path);
    free(b->of_owner), free(b->of_box), free(b->image);
    photos_free(&b->below);
    detections_free(&b->found);
}

int boxes_read(inputs *list, const box_file *from, const char *root) {
    const detections_request r = {.path = from->path, .video = "", .first = -1, .min_conf = from->min_conf,
                                  .category = from->category, .listed = 1};
    reading b = {.root = root};
    size_t first = list->count;
    text why = TEXT_INIT;
    int good = detections_read_all(&b.found, &r, &why) && find_images(&b, &why);
    if (!good) say_error("%s: %s", shown(from->path), why.s);
    if (good) detections_tell(&b.found, &r);
    good = good && join_images(&b) && add_rows(&b, list, &r) && ids_differ(list, first, from->path);
    free_reading(&b);
    text_free(&why);
    return good;
}
