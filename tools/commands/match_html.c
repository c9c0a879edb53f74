#include "commands/match_html.h"

#include "base/files.h"
#include "base/memory.h"
#include "base/say.h"
#include "base/unicode.h"
#include "evaluate/eval_label_table.h"
#include "evaluate/eval_labels.h"
#include "gallery/gallery_file.h"
#include "pictures/box_text.h"
#include "pictures/crop_origin.h"
#include "pictures/photos.h"
#include "review/album.h"
#include "review/captions.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BEST = 3 };                                   /* images below a query */
static const size_t MOST_PICTURES = (size_t)256 << 20; /* bytes of a page, beyond which it shows no more images */
static const size_t KEPT = (size_t)32 << 20;         /* bytes of cached gallery images, which many queries may show */

static const unsigned char html[] = {
#include "build/commands/match_html.html.bytes"
};
static const page_markup HTML = {html, sizeof html};

struct match_html {
    match_html_request r;
    match_page page;
    label_set labels;              /* of --labels, sorted by id; empty without it */
    const char **names;            /* [identities] of the gallery, sorted */
    const char **query_ids, **image_paths;
    album *queries, *images;
    inputs boxes;                  /* of the gallery's crops */
    text failures;
    size_t failed, without;        /* without: images that the page has no room for */
};

/* --- true identities ---------------------------------------------------------------------------------------------- */

static int by_id(const void *a, const void *b) {
    return name_order_spelled(((const labelled *)a)->id, ((const labelled *)b)->id);
}

static int sort_names(match_html *h) {
    const gallery *g = h->r.g;
    h->names = need_array(g->identities, sizeof *h->names);
    if (!h->names) return 0;
    for (size_t i = 0; i < g->count; i++) h->names[g->at[i].identity_index] = g->at[i].identity;
    qsort(h->names, g->identities, sizeof *h->names, order_names);
    return 1;
}

static int is_enrolled(const match_html *h, const char *who) {
    return name_find(who, h->names, h->r.g->identities, sizeof *h->names) != NULL;
}

static const labelled *label_of(const match_html *h, const char *id) {
    return name_find(id, h->labels.at, h->labels.count, sizeof *h->labels.at);
}

/* Reads --labels, and checks that each image has one identity. */
static int read_labels(match_html *h) {
    const char *path = h->r.o->input.labels;
    label_set *set = &h->labels;
    size_t used = 0;
    if (!path) return 1;
    if (!labels_of_table(set, path, NULL)) return 0;
    if (set->count) qsort(set->at, set->count, sizeof *set->at, by_id);
    for (size_t i = 1; i < set->count; i++)
        if (name_same(set->at[i - 1].id, set->at[i].id) && !name_same(set->at[i - 1].identity, set->at[i].identity)) {
            say_error("%s: %s is both \"%s\" and \"%s\"", shown(path), shown(set->at[i].id),
                      shown(set->at[i - 1].identity), shown(set->at[i].identity));
            return 0;
        }
    for (size_t i = 0; i < h->r.queries->count; i++) used += label_of(h, h->r.queries->at[i].id) != NULL;
    if (!used) say_warning("%s: none of its paths is a query", shown(path));
    return 1;
}

/* Finds the true identity of a query, if it is known: from --labels, where an identity that is not in the gallery is a
   stranger; else from its folder, if that is named like an individual of the gallery or like --unknown. */
static void find_truth(const match_html *h, const input *in, page_query *q) {
    const labelled *l = label_of(h, in->id);
    q->who = l ? l->identity : in->identity;
    if (is_enrolled(h, q->who)) q->truth = PAGE_KNOWN;
    else if (l || (h->r.o->input.unknown && name_same(q->who, h->r.o->input.unknown))) q->truth = PAGE_STRANGER;
    else q->truth = PAGE_UNLABELLED;
}

/* --- opening ------------------------------------------------------------------------------------------------------ */

/* The folder to which the ids of a gallery are paths; NULL: the working directory. */
static const char *folder_of(const match_html *h) {
    const char *place = h->r.o->match.gallery;
    return gallery_file_is_folder(place) ? place : NULL;
}

static int list_box(match_html *h, const gallery_image *image) {
    box_unit unit = BOX_NONE;
    double box[4];
    size_t length = image->source ? box_text_split(image->source, &unit, box) : 0;
    if (unit == BOX_NONE) return 1;
    char *from = need_copy(image->source, length);
    input *in = from ? inputs_add(&h->boxes, from, 0, image->path) : NULL;
    free(from);
    if (in) in->unit = unit, memcpy(in->box, box, sizeof box);
    return in != NULL;
}

/* Crops of photos that have no file of their own are cut from the photos again. */
static int list_boxes(match_html *h) {
    const gallery *g = h->r.g;
    const char *folder = folder_of(h);
    text own = TEXT_INIT;
    int good = 1;
    for (size_t i = 0; i < g->count && good; i++) {
        if (!file_in_folder(&own, folder ? folder : ".", g->at[i].path)) good = list_box(h, &g->at[i]);
    }
    good = good && need_text(&own);
    text_free(&own);
    return good;
}

static int open_albums(match_html *h) {
    const inputs *list = h->r.queries;
    const gallery *g = h->r.g;
    h->query_ids = need_array(list->count, sizeof *h->query_ids);
    h->image_paths = h->query_ids ? need_array(g->count, sizeof *h->image_paths) : NULL;
    if (!h->image_paths) return 0;
    for (size_t i = 0; i < list->count; i++) h->query_ids[i] = list->at[i].id;
    for (size_t i = 0; i < g->count; i++) h->image_paths[i] = g->at[i].path;
    if (!list_boxes(h)) return 0;
    album_request r = {.ids = h->query_ids, .count = list->count, .boxes = list, .max_pixels = h->r.o->input.max_pixels,
                       .cache = 0, .threads = 1};
    h->queries = album_open(&r);
    r.ids = h->image_paths, r.count = g->count, r.boxes = &h->boxes, r.cache = KEPT;
    r.folder = folder_of(h);
    h->images = h->queries ? album_open(&r) : NULL;
    return h->images != NULL;
}

match_html *match_html_open(const match_html_request *r) {
    match_html *h = need_zeroed(1, sizeof *h);
    if (!h) return NULL;
    h->r = *r;
    h->page.threshold = r->asked->threshold;
    match_page_section(&h->page, "Queries", "Below each query, the most similar individuals, each by its most similar "
                                            "image.");
    if (sort_names(h) && read_labels(h) && open_albums(h)) return h;
    match_html_close(h);
    return NULL;
}

void match_html_close(match_html *h) {
    if (!h) return;
    album_close(h->queries), album_close(h->images);
    labels_free(&h->labels);
    inputs_free(&h->boxes);
    match_page_free(&h->page);
    text_free(&h->failures);
    free(h->names);
    free(h->query_ids), free(h->image_paths);
    free(h);
}

/* --- queries ------------------------------------------------------------------------------------------------------ */

/* Leaves jpeg empty if the image cannot be shown: those of a gallery may be elsewhere. */
static void add_picture(match_html *h, album *from, size_t row, text *jpeg) {
    text why = TEXT_INIT;
    if (h->page.cards.len > MOST_PICTURES) h->without++;
    else if (!album_picture(from, row, ALBUM_SMALL, jpeg, &why)) text_clear(jpeg);
    text_free(&why);
}

/* What people know an image by: its photo, camera and time, if any of these is known besides its name. Leaves the
   caption empty otherwise. file: the image, whose camera may have written the time into it. */
static void add_caption(text *to, caption_facts f, const char *file) {
    const int cut = f.source && crop_origin_of(f.source).boxed;
    int zone;
    if (f.when == STORE_NO_TIME && !photo_time(file, &f.when, &zone)) f.when = STORE_NO_TIME;
    if (cut || (f.camera && *f.camera) || f.when != STORE_NO_TIME) caption_add(to, &f);
}

static void caption_query(const input *in, text *to) {
    const caption_facts f = {in->path, NULL, in->camera, in->dated ? in->when : STORE_NO_TIME};
    add_caption(to, f, in->path);
}

static void caption_image(const gallery_image *image, text *to) {
    const caption_facts f = {image->source ? NULL : image->path, image->source, image->camera, image->when};
    add_caption(to, f, image->path);
}

int match_html_query(match_html *h, size_t query, const reid_hit *hits, int found) {
    const input *in = &h->r.queries->at[query];
    text jpeg = TEXT_INIT, pictures[BEST] = {TEXT_INIT}, caption = TEXT_INIT, known[BEST] = {TEXT_INIT};
    page_match best[BEST];
    page_query q = {.path = in->id, .jpeg = &jpeg, .best = best, .found = found < BEST ? found : BEST};
    find_truth(h, in, &q);
    caption_query(in, &caption);
    if (caption.len) q.path = caption.s;
    add_picture(h, h->queries, query, &jpeg);
    for (int i = 0; i < q.found; i++) {
        const gallery_image *image = &h->r.g->at[hits[i].row];
        const calibration *c = h->r.asked->c;
        add_picture(h, h->images, hits[i].row, &pictures[i]);
        caption_image(image, &known[i]);
        best[i] = (page_match){.who = image->identity, .path = image->path, .score = hits[i].score,
                               .caption = known[i].len ? known[i].s : NULL,
                               .probability = c ? calibration_probability(c, hits[i].score) : NAN,
                               .jpeg = &pictures[i]};
    }
    match_page_query(&h->page, &q);
    for (int i = 0; i < BEST; i++) text_free(&pictures[i]), text_free(&known[i]);
    text_free(&jpeg), text_free(&caption);
    return need_text(&h->page.cards);
}

void match_html_failure(match_html *h, size_t query, const char *why) {
    page_values v = {TEXT_INIT};
    h->failed++;
    page_set(&v, "path", "%s", h->r.queries->at[query].id);
    page_set(&v, "why", "%s", why);
    page_fill(&h->failures, &HTML, "failure", &v);
}

/* --- the page ----------------------------------------------------------------------------------------------------- */

static void add_introduction(const match_html *h, text *out) {
    const gallery *g = h->r.g;
    const page_counts *n = &h->page.n;
    page_values v = {TEXT_INIT};
    page_set(&v, "queries", "%zu %s", n->queries, n->queries == 1 ? "query" : "queries");
    page_set(&v, "pictures", "%zu image%s", g->count, plural(g->count));
    page_set(&v, "individuals", "%zu individual%s", g->identities, plural(g->identities));
    page_set(&v, "gallery", "%s", shown(h->r.o->match.gallery));
    page_fill(out, &HTML, "head", &v);
    for (int i = 0; i < h->r.o->models; i++) {
        if (i) text_puts(out, " and");
        page_set(&v, "weights", "%s", h->r.o->model[i].weights);
        page_fill(out, &HTML, "weights", &v);
    }
    page_set(&v, "version", "%s", reid_version_string());
    page_fill(out, &HTML, "version", &v);
    if (isnan(h->page.threshold)) page_fill(out, &HTML, "no threshold", NULL);
    if (n->judged) page_fill(out, &HTML, h->r.o->input.labels ? "labels" : "no labels", NULL);
}

static void add_failures(const match_html *h, text *out) {
    page_values v = {TEXT_INIT};
    if (!h->failed) return;
    page_set(&v, "count", "%zu", h->failed);
    page_fill(out, &HTML, "failures", &v);
    text_join(out, &h->failures);
    page_fill(out, &HTML, "failures end", NULL);
}

void match_html_write(match_html *h, text *out) {
    const page_head head = {.title = "Queries and their best matches"};
    match_page_section_end(&h->page);
    page_begin(out, &head);
    add_introduction(h, out);
    page_tiles(out);
    match_page_tiles(&h->page, out);
    page_tiles_end(out);
    match_page_queries(&h->page, out);
    add_failures(h, out);
    page_end(out);
    if (h->without)
        say_warning("the page is too large to show all images, and left out %zu: give fewer queries at a time",
                    h->without);
}
