#include "review/album.h"

#include "base/memory.h"
#include "base/unicode.h"
#include "pictures/boxes.h"
#include "pictures/thumbnail.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { SIDES = 4 };
static const int SIDE[SIDES] = {200, 720, 1600, 640}; /* pixels of the longer side, by album_size */

#define NOWHERE SIZE_MAX

/* A JPEG that is kept. They form a list, the most recently used first. */
typedef struct kept {
    text jpeg;
    size_t newer, older; /* indices into album.kept, NOWHERE at the ends */
    size_t key;          /* index into album.at */
    size_t next_unused;  /* the list of unused entries */
} kept;

struct album {
    album_request r;
    const input **box; /* [count]; NULL: a whole image */
    picture_limits limits;
    pthread_mutex_t lock; /* of all below */
    size_t *at;           /* [SIDES * count]: index into kept, or NOWHERE */
    kept *kept;
    size_t kept_count, kept_cap, unused, newest, oldest, bytes;
};

/* --- paths and boxes ---------------------------------------------------------------------------------------------- */

typedef struct named_box {
    const char *id;
    const input *box;
} named_box;

/* Finds the box of every row. */
static int find_boxes(album *a) {
    const inputs *boxes = a->r.boxes;
    a->box = need_zeroed(a->r.count, sizeof *a->box);
    if (!a->box || !boxes) return a->box != NULL;
    named_box *sorted = need_array(boxes->count, sizeof *sorted);
    if (!sorted) return 0;
    for (size_t i = 0; i < boxes->count; i++) sorted[i] = (named_box){boxes->at[i].id, &boxes->at[i]};
    qsort(sorted, boxes->count, sizeof *sorted, order_names);
    for (size_t i = 0; i < a->r.count; i++) {
        const named_box *found = name_find(a->r.ids[i], sorted, boxes->count, sizeof *sorted);
        if (found) a->box[i] = found->box;
    }
    free(sorted);
    return 1;
}

album *album_open(const album_request *r) {
    album *a = need_zeroed(1, sizeof *a);
    if (!a) return NULL;
    a->r = *r;
    a->limits = picture_limits_of(r->max_pixels, r->threads);
    a->unused = a->newest = a->oldest = NOWHERE;
    pthread_mutex_init(&a->lock, NULL);
    a->at = r->count < SIZE_MAX / SIDES ? need_array(SIDES * r->count, sizeof *a->at) : NULL;
    if (!a->at || !find_boxes(a)) {
        album_close(a);
        return NULL;
    }
    for (size_t i = 0; i < SIDES * r->count; i++) a->at[i] = NOWHERE;
    return a;
}

void album_close(album *a) {
    if (!a) return;
    for (size_t i = 0; i < a->kept_count; i++) text_free(&a->kept[i].jpeg);
    free(a->kept);
    free(a->at);
    free(a->box);
    pthread_mutex_destroy(&a->lock);
    free(a);
}

/* --- the cache, under the lock ------------------------------------------------------------------------------------ */

static void take_out(album *a, size_t place) {
    kept *k = &a->kept[place];
    if (k->newer != NOWHERE) a->kept[k->newer].older = k->older;
    else a->newest = k->older;
    if (k->older != NOWHERE) a->kept[k->older].newer = k->newer;
    else a->oldest = k->newer;
}

static void put_first(album *a, size_t place) {
    kept *k = &a->kept[place];
    k->newer = NOWHERE;
    k->older = a->newest;
    if (a->newest != NOWHERE) a->kept[a->newest].newer = place;
    else a->oldest = place;
    a->newest = place;
}

static void forget_oldest(album *a) {
    size_t place = a->oldest;
    kept *k = &a->kept[place];
    take_out(a, place);
    a->at[k->key] = NOWHERE;
    a->bytes -= k->jpeg.len;
    text_free(&k->jpeg);
    k->next_unused = a->unused;
    a->unused = place;
}

/* Returns an unused entry; NOWHERE when memory runs out. */
static size_t new_place(album *a) {
    size_t place = a->unused;
    if (place != NOWHERE) {
        a->unused = a->kept[place].next_unused;
        return place;
    }
    return GROW(a->kept, a->kept_count, a->kept_cap) ? a->kept_count++ : NOWHERE;
}

/* Keeps a copy of jpeg. If memory runs out, the JPEG is made again at the next request. */
static void keep(album *a, size_t key, const text *jpeg) {
    if (a->at[key] != NOWHERE || jpeg->len > a->r.cache) return;
    size_t place = new_place(a);
    if (place == NOWHERE) return;
    kept *k = &a->kept[place];
    memset(k, 0, sizeof *k);
    text_add(&k->jpeg, jpeg->s, jpeg->len);
    if (text_failed(&k->jpeg)) {
        text_free(&k->jpeg);
        k->next_unused = a->unused;
        a->unused = place;
        return;
    }
    k->key = key;
    a->at[key] = place;
    a->bytes += k->jpeg.len;
    put_first(a, place);
    while (a->bytes > a->r.cache) forget_oldest(a);
}

static int look_up(album *a, size_t key, text *out) {
    size_t place = a->at[key];
    if (place == NOWHERE) return 0;
    text_join(out, &a->kept[place].jpeg);
    take_out(a, place);
    put_first(a, place);
    return 1;
}

size_t album_kept(album *a) {
    pthread_mutex_lock(&a->lock);
    size_t bytes = a->bytes;
    pthread_mutex_unlock(&a->lock);
    return bytes;
}

/* --- making a JPEG ------------------------------------------------------------------------------------------------ */

static void path_of(const album *a, size_t row, const input *in, text *path) {
    const char *id = a->r.ids[row];
    if (!in && a->r.folder && !path_is_absolute(id)) text_printf(path, "%s/", a->r.folder);
    text_puts(path, in ? in->path : id);
}

int album_has_photo(const album *a, size_t row) { return a->r.photos && a->r.photos[row]; }

static int make(const album *a, size_t row, album_size size, thumbnail *t, text *why) {
    const input *in = size >= ALBUM_PHOTO && album_has_photo(a, row) ? a->r.photos[row] : a->box[row];
    text path = TEXT_INIT;
    picture p;
    reid_box box;
    memset(&p, 0, sizeof p);
    path_of(a, row, in, &path);
    int good = text_failed(&path) ? text_no_memory(why)
                                  : picture_open(&p, path.s, &a->limits, why) && picture_decode(&p, why);
    int boxed = in && in->unit != BOX_NONE;
    if (good && in && in->failure) text_puts(why, in->failure), good = 0;
    else if (good && boxed && !box_in_pixels(in, p.width, p.height, &box))
        text_puts(why, "the box is outside the image"), good = 0;
    if (good && boxed && size >= ALBUM_PHOTO) good = thumbnail_mark(t, &p, &box, SIDE[size], why);
    else if (good) good = thumbnail_make(t, &p, boxed ? &box : NULL, SIDE[size], why);
    picture_free(&p);
    text_free(&path);
    return good;
}

int album_picture(album *a, size_t row, album_size size, text *out, text *why) {
    size_t key = row * SIDES + size;
    thumbnail t;
    memset(&t, 0, sizeof t);
    pthread_mutex_lock(&a->lock);
    int good = look_up(a, key, out);
    pthread_mutex_unlock(&a->lock);
    if (!good && make(a, row, size, &t, why)) {
        good = 1;
        text_join(out, &t.jpeg);
        pthread_mutex_lock(&a->lock);
        keep(a, key, &t.jpeg);
        pthread_mutex_unlock(&a->lock);
    }
    text_free(&t.jpeg);
    return good && (!text_failed(out) || text_no_memory(why));
}
