#include "tracks/film_groups.h"

#include "base/files.h"
#include "base/memory.h"
#include "base/say.h"
#include "pictures/box_text.h"
#include "pictures/paths.h"
#include "tracks/track_joins.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Two whole tracks of a film that share a frame, or two rows. */
typedef struct pair {
    uint32_t a, b;
} pair;

typedef struct pairs {
    pair *at;
    size_t count, cap;
} pairs;

typedef struct grouping {
    const film_groups_request *r;
    const float *rows;     /* (used, dim), weighted: r->rows or own */
    float *own;
    double scale;          /* a score is a cosine times scale */
    uint32_t *place, used; /* [rows.list.count]: a row's index among the rows to group; UINT32_MAX: it failed */
    pairs must, cannot;    /* of such indices */
} grouping;

/* --- rows --------------------------------------------------------------------------------------------------------- */

/* The cosine of two weighted rows is the weighted sum of their models' cosines over the sum of the weights. */
static void weigh_row(const grouping *g, const float *in, float *out) {
    const models *all = g->r->rows->all;
    for (int m = 0; m < all->count; m++) {
        float by = all->count > 1 ? (float)sqrt(g->r->weights[m]) : 1;
        for (int k = 0; k < all->at[m].info.dim; k++) *out++ = by * *in++;
    }
}

/* Uses the rows of a single model without a copy if none has failed: for hours of film, a copy would be the largest
   block of memory. */
static int weigh(grouping *g) {
    const crop_rows *from = g->r->rows;
    size_t dim = (size_t)from->all->dim, n = from->list.count;
    int as_they_are = from->all->count == 1 && !from->failed && from->rows;
    g->place = need_array(n + 1, sizeof *g->place);
    g->own = g->place && !as_they_are ? need_array(n + 1, dim * sizeof *g->own) : NULL;
    if (!g->place || (!as_they_are && !g->own)) return 0;
    for (size_t i = 0; i < n; i++) {
        g->place[i] = from->list.at[i].failure ? UINT32_MAX : g->used++;
        if (g->own && g->place[i] != UINT32_MAX) weigh_row(g, from->rows + i * dim, g->own + g->place[i] * dim);
    }
    g->rows = g->own ? g->own : from->rows;
    for (int m = 0; m < from->all->count; m++) g->scale += g->r->weights[m];
    return 1;
}

/* The sum of the rows of a track; zeros when all of them failed. */
static void mean_of(const grouping *g, const film_track *t, float *out) {
    size_t dim = (size_t)g->r->rows->all->dim;
    memset(out, 0, dim * sizeof *out);
    for (size_t i = 0; i < t->count; i++) {
        uint32_t place = g->place[t->shots[i].row];
        for (size_t k = 0; k < dim && place != UINT32_MAX; k++) out[k] += g->rows[place * dim + k];
    }
}

/* --- joins -------------------------------------------------------------------------------------------------------- */

static int by_first_frame(const void *a, const void *b) {
    const film_track *const *x = a, *const *y = b;
    if ((*x)->first_frame != (*y)->first_frame) return (*x)->first_frame < (*y)->first_frame ? -1 : 1;
    return (*x > *y) - (*x < *y);
}

/* Numbers the whole tracks 1, 2, ... in the order of their first frames. */
static int number_wholes(film *f) {
    film_track **order = need_array(f->count + 1, sizeof *order);
    if (!order) return 0;
    for (size_t i = 0; i < f->count; i++)
        if (f->tracks[i].whole == i) order[f->wholes++] = &f->tracks[i];
    if (f->wholes) qsort(order, f->wholes, sizeof *order, by_first_frame);
    for (size_t i = 0; i < f->wholes; i++) order[i]->number = (uint32_t)i + 1;
    for (size_t i = 0; i < f->count; i++) f->tracks[i].number = f->tracks[f->tracks[i].whole].number;
    free(order);
    return 1;
}

static int join(const grouping *g, film *f) {
    size_t dim = (size_t)g->r->rows->all->dim;
    track *all = need_array(f->count + 1, sizeof *all);
    float *means = all ? need_array(f->count + 1, dim * sizeof *means) : NULL;
    uint32_t *whole = means ? need_array(f->count + 1, sizeof *whole) : NULL;
    int good = whole != NULL;
    for (size_t i = 0; i < f->count && good; i++) {
        all[i] = f->tracks[i].is;
        mean_of(g, &f->tracks[i], means + i * dim);
    }
    track_joins_request request = {.settings = track_joins_defaults(), .tracks = all, .count = f->count,
                                   .rows = means, .dim = (int)dim};
    request.settings.threshold = g->r->threshold / g->scale;
    good = good && (f->count == 0 || track_joins_make(&request, whole));
    for (size_t i = 0; i < f->count && good; i++) f->tracks[i].whole = whole[i];
    free(all), free(means), free(whole);
    return good && number_wholes(f);
}

/* --- links -------------------------------------------------------------------------------------------------------- */

static int add_pair(pairs *to, uint32_t a, uint32_t b) {
    if (!NEED(to->at, to->count, to->cap)) return 0;
    to->at[to->count++] = (pair){a < b ? a : b, a < b ? b : a};
    return 1;
}

static int by_places(const void *a, const void *b) {
    const pair *x = a, *y = b;
    if (x->a != y->a) return x->a < y->a ? -1 : 1;
    return (x->b > y->b) - (x->b < y->b);
}

static void drop_doubles(pairs *p) {
    size_t kept = 0;
    if (p->count) qsort(p->at, p->count, sizeof *p->at, by_places);
    for (size_t i = 0; i < p->count; i++)
        if (!kept || by_places(&p->at[kept - 1], &p->at[i]) != 0) p->at[kept++] = p->at[i];
    p->count = kept;
}

/* Finds the pairs of whole tracks that share a frame, each once, as indices into f->tracks. */
static int find_conflicts(const film *f, pairs *out) {
    size_t most = 4096; /* pairs, including duplicates, after which duplicates are removed */
    const detection *d = f->found.at;
    for (size_t i = 0; i < f->found.count; i++) {
        if (f->numbers[i] == UINT32_MAX) continue;
        for (size_t k = i + 1; k < f->found.count && d[k].frame == d[i].frame; k++) {
            if (f->numbers[k] == UINT32_MAX) continue;
            uint32_t a = f->tracks[f->numbers[i]].whole, b = f->tracks[f->numbers[k]].whole;
            if (a != b && !add_pair(out, a, b)) return 0;
        }
        if (out->count < most) continue;
        drop_doubles(out);
        if (out->count > most / 2) most = 2 * out->count;
    }
    drop_doubles(out);
    return 1;
}

/* Links the rows of each whole track to its first row, first[whole]. */
static int link_film(grouping *g, const film *f) {
    pairs conflicts = {0};
    uint32_t *first = need_array(f->count + 1, sizeof *first);
    int good = first && find_conflicts(f, &conflicts);
    for (size_t i = 0; i < f->count && first; i++) first[i] = UINT32_MAX;
    for (size_t i = 0; i < f->count && good; i++) {
        const film_track *t = &f->tracks[i];
        for (size_t k = 0; k < t->count && good; k++) {
            uint32_t at = g->place[t->shots[k].row];
            if (at == UINT32_MAX) continue;
            if (first[t->whole] == UINT32_MAX) first[t->whole] = at;
            else good = add_pair(&g->must, first[t->whole], at);
        }
    }
    for (size_t i = 0; i < conflicts.count && good; i++) {
        uint32_t a = first[conflicts.at[i].a], b = first[conflicts.at[i].b];
        if (a != UINT32_MAX && b != UINT32_MAX) good = add_pair(&g->cannot, a, b);
    }
    free(first), free(conflicts.at);
    return good;
}

/* --- groups ------------------------------------------------------------------------------------------------------- */

static int stopped(void *user) {
    (void)user;
    return interrupted();
}

/* Groups the rows. group: [used], the group of each row. */
static int ask(const grouping *g, uint32_t *group) {
    reid_error error;
    reid_desc desc = *g->r->search;
    reid_group_desc d = REID_INIT;
    const reid_rows all = {g->rows, NULL, g->used, g->r->rows->all->dim, NULL};
    desc.error = &error;
    d.threshold = g->r->threshold / g->scale;
    d.threshold = d.threshold < -2 ? -2 : d.threshold > 2 ? 2 : d.threshold; /* cosines lie in -1 … 1 */
    d.must_link = g->must.count ? &g->must.at[0].a : NULL, d.must_links = g->must.count;
    d.cannot_link = g->cannot.count ? &g->cannot.at[0].a : NULL, d.cannot_links = g->cannot.count;
    d.stop_fn = stopped;
    reid_result result = reid_group(&desc, &all, &d, group, NULL, NULL);
    if (result == REID_ERR_OUT_OF_MEMORY) say_error("grouping: out of memory: %s", reason_of(&error, result));
    else if (result != REID_OK && result != REID_ERR_CANCELLED) say_error("grouping: %s", reason_of(&error, result));
    return result == REID_OK;
}

/* Gives every track the group of its whole track's rows. */
static int hand_out(const grouping *g, const uint32_t *group, size_t *groups) {
    *groups = 0;
    for (uint32_t i = 0; i < g->used; i++)
        if (group[i] >= *groups) *groups = group[i] + 1;
    for (size_t f = 0; f < g->r->count; f++) {
        film *it = &g->r->films[f];
        for (size_t i = 0; i < it->count; i++) it->tracks[i].group = FILM_NO_GROUP;
        for (size_t i = 0; i < it->count; i++)
            for (size_t k = 0; k < it->tracks[i].count; k++) {
                uint32_t at = g->place[it->tracks[i].shots[k].row];
                if (at != UINT32_MAX) it->tracks[it->tracks[i].whole].group = group[at];
            }
        for (size_t i = 0; i < it->count; i++) it->tracks[i].group = it->tracks[it->tracks[i].whole].group;
    }
    return 1;
}

int film_groups_make(const film_groups_request *r, size_t *groups) {
    grouping g = {.r = r};
    int good = weigh(&g);
    for (size_t i = 0; i < r->count && good; i++) good = join(&g, &r->films[i]) && link_film(&g, &r->films[i]);
    uint32_t *group = good ? need_array((size_t)g.used + 1, sizeof *group) : NULL;
    good = group && (g.used == 0 || ask(&g, group)) && hand_out(&g, group, groups);
    free(group), free(g.own), free(g.place), free(g.must.at), free(g.cannot.at);
    return good;
}

/* The photo and the box, as box_text writes them; of a video, the crop itself is what can be opened again. */
static int set_source(const film *f, const film_shot *shot, input *in) {
    text source = TEXT_INIT;
    input from = {.path = f->r->photos->at[shot->frame].path, .unit = BOX_PIXELS};
    from.box[0] = shot->box.x, from.box[1] = shot->box.y, from.box[2] = shot->box.w, from.box[3] = shot->box.h;
    box_text(&source, &from);
    in->source = need_text(&source) ? need_copy(source.s, source.len) : NULL;
    text_free(&source);
    return in->source != NULL;
}

static int tell_crop(const film *f, const film_shot *shot, const char *place, input *in) {
    if (!input_set_identity(in, "") || !input_set_camera(in, place)) return 0;
    const photo *taken = f->r->photos ? &f->r->photos->at[shot->frame] : NULL;
    if (taken) in->dated = taken->dated, in->when = taken->when;
    return !taken || set_source(f, shot, in);
}

/* The camera of a video is its folder, as that of a photo, else the video itself. */
static char *camera_of(const film *f) {
    const char *path = f->r->video.path, *slash = f->r->photos ? NULL : strrchr(path, '/');
    if (f->r->photos || !slash) return need_copy(f->r->name, strlen(f->r->name));
    while (path < slash && (strncmp(path, "./", 2) == 0 || *path == '/')) path += *path == '/' ? 1 : 2;
    char *name = path < slash ? path_camera(path, (size_t)(slash - path), 0) : mem_copy(f->r->name, strlen(f->r->name));
    if (!name) say_no_memory();
    return name;
}

int film_groups_tell(const film *films, size_t count, crop_rows *rows) {
    uint32_t first = 0; /* number of the film's first track */
    int good = 1;
    for (size_t f = 0; f < count && good; f++) {
        char *place = camera_of(&films[f]);
        good = place != NULL;
        for (size_t i = 0; i < films[f].count && good; i++) {
            const film_track *t = &films[f].tracks[i];
            for (size_t k = 0; k < t->count && good; k++) {
                input *in = &rows->list.at[t->shots[k].row];
                good = tell_crop(&films[f], &t->shots[k], place, in);
                in->track = first + t->number - 1;
            }
        }
        first += (uint32_t)films[f].wholes;
        free(place);
    }
    return good;
}
