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

/* Two whole tracks of a film that share a frame. */
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
    f->wholes = 0;
    for (size_t i = 0; i < f->count; i++)
        if (f->tracks[i].joined_to == i) order[f->wholes++] = &f->tracks[i];
    if (f->wholes) qsort(order, f->wholes, sizeof *order, by_first_frame);
    for (size_t i = 0; i < f->wholes; i++) order[i]->number = (uint32_t)i + 1;
    for (size_t i = 0; i < f->count; i++) f->tracks[i].number = f->tracks[f->tracks[i].joined_to].number;
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
        all[i] = f->tracks[i].track;
        mean_of(g, &f->tracks[i], means + i * dim);
    }
    track_joins_request request = {.settings = track_joins_defaults(), .tracks = all, .count = f->count,
                                   .rows = means, .dim = (int)dim};
    request.settings.threshold = g->r->threshold / g->scale;
    for (uint32_t i = 0; i < f->count && good; i++) whole[i] = i;
    good = good && (f->count == 0 || isinf(g->r->threshold) || track_joins_make(&request, whole));
    for (size_t i = 0; i < f->count && good; i++) f->tracks[i].joined_to = whole[i];
    free(all), free(means), free(whole);
    return good && number_wholes(f);
}

int film_groups_join(const film_groups_request *r) {
    grouping g = {.r = r};
    int good = weigh(&g);
    for (size_t i = 0; i < r->count && good; i++) good = join(&g, &r->films[i]);
    free(g.own), free(g.place);
    return good;
}

/* --- tracks that share a frame ------------------------------------------------------------------------------------ */

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
            uint32_t a = f->tracks[f->numbers[i]].joined_to, b = f->tracks[f->numbers[k]].joined_to;
            if (a != b && !add_pair(out, a, b)) return 0;
        }
        if (out->count < most) continue;
        drop_doubles(out);
        if (out->count > most / 2) most = 2 * out->count;
    }
    drop_doubles(out);
    return 1;
}

/* --- what is known ------------------------------------------------------------------------------------------------ */

/* The photo or video and the box, as box_text writes a photo's. Of a video it is a fragment of W3C's Media Fragments.
 */
static int set_source(const film *f, const film_shot *shot, input *in) {
    const photo *taken = f->r->photos ? &f->r->photos->at[shot->frame] : NULL;
    const track_box *b = &shot->box;
    text source = TEXT_INIT;
    input from = {.path = taken ? taken->path : NULL, .unit = BOX_PIXELS, .box = {b->x, b->y, b->w, b->h}};
    if (taken) box_text(&source, &from);
    else text_printf(&source, "%s#t=%.3f&xywh=%.9g,%.9g,%.9g,%.9g", f->r->video.path, shot->seconds, b->x, b->y, b->w,
                     b->h);
    free(in->source);
    in->source = need_text(&source) ? need_copy(source.s, source.len) : NULL;
    text_free(&source);
    return in->source != NULL;
}

static int tell_crop(const film *f, const film_shot *shot, const char *place, const char *name, input *in) {
    const photo *taken = f->r->photos ? &f->r->photos->at[shot->frame] : NULL;
    if (taken) in->dated = taken->dated, in->when = taken->when;
    in->score = shot->box.score;
    return input_set_identity(in, "") && input_set_camera(in, place) && input_set_track(in, name) &&
           set_source(f, shot, in);
}

/* The camera of a video is its folder, as for a photo, or else the video itself. */
static char *camera_of(const film *f) {
    const char *path = f->r->video.path, *slash = f->r->photos ? NULL : strrchr(path, '/');
    if (f->r->photos || !slash) return need_copy(f->r->name, strlen(f->r->name));
    while (path < slash && (strncmp(path, "./", 2) == 0 || *path == '/')) path += *path == '/' ? 1 : 2;
    char *name = path < slash ? path_camera(path, (size_t)(slash - path), 0) : mem_copy(f->r->name, strlen(f->r->name));
    if (!name) say_no_memory();
    return name;
}

static int tell_track(const film *f, const film_track *t, size_t boxes, const char *place, crop_rows *rows) {
    text name = TEXT_INIT;
    text_printf(&name, "%s/%u", f->r->name, t->number);
    int good = need_text(&name);
    for (size_t k = 0; k < t->count && good; k++) {
        input *in = &rows->list.at[t->shots[k].row];
        in->boxes = boxes;
        good = tell_crop(f, &t->shots[k], place, name.s, in);
    }
    text_free(&name);
    return good;
}

static int tell_film(const film *f, crop_rows *rows) {
    char *place = camera_of(f);
    size_t *boxes = need_zeroed(f->count + 1, sizeof *boxes); /* of whole tracks, by joined_to */
    int good = place && boxes;
    for (size_t i = 0; i < f->count && good; i++) boxes[f->tracks[i].joined_to] += f->tracks[i].track.boxes;
    for (size_t i = 0; i < f->count && good; i++)
        good = tell_track(f, &f->tracks[i], boxes[f->tracks[i].joined_to], place, rows);
    free(place), free(boxes);
    return good;
}

int film_groups_tell(const film *films, size_t count, crop_rows *rows) {
    int good = 1;
    for (size_t f = 0; f < count && good; f++) good = tell_film(&films[f], rows);
    return good;
}

/* names: [f->count], of whole tracks that have a row. */
static void find_names(const film *f, const crop_rows *rows, const char **names) {
    for (size_t i = 0; i < f->count; i++) names[i] = NULL;
    for (size_t i = 0; i < f->count; i++)
        for (size_t k = 0; k < f->tracks[i].count; k++) {
            const input *in = &rows->list.at[f->tracks[i].shots[k].row];
            if (!in->failure) names[f->tracks[i].joined_to] = in->track;
        }
}

int film_groups_apart(const film *films, size_t count, const crop_rows *rows, track_pair **out, size_t *out_count) {
    size_t cap = 0;
    int good = 1;
    *out = NULL, *out_count = 0;
    for (size_t f = 0; f < count && good; f++) {
        pairs conflicts = {0};
        const char **names = need_array(films[f].count + 1, sizeof *names);
        good = names && find_conflicts(&films[f], &conflicts);
        if (good) find_names(&films[f], rows, names);
        for (size_t i = 0; i < conflicts.count && good; i++) {
            const char *a = names[conflicts.at[i].a], *b = names[conflicts.at[i].b];
            if (!a || !b) continue;
            good = NEED(*out, *out_count, cap) != 0;
            if (good) (*out)[(*out_count)++] = (track_pair){a, b};
        }
        free(conflicts.at), free(names);
    }
    return good;
}

void film_groups_take(film *films, size_t count, const uint32_t *group) {
    for (size_t f = 0; f < count; f++) {
        film *it = &films[f];
        for (size_t i = 0; i < it->count; i++) it->tracks[i].group = FILM_NO_GROUP;
        for (size_t i = 0; i < it->count; i++)
            for (size_t k = 0; k < it->tracks[i].count; k++) {
                uint32_t of = group[it->tracks[i].shots[k].row];
                if (of != FILM_NO_GROUP) it->tracks[it->tracks[i].joined_to].group = of;
            }
        for (size_t i = 0; i < it->count; i++) it->tracks[i].group = it->tracks[it->tracks[i].joined_to].group;
    }
}
