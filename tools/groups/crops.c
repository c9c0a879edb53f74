#include "groups/crops.h"

#include "base/memory.h"
#include "base/order.h"
#include "base/say.h"
#include "base/unicode.h"
#include "gallery/gallery_file.h"
#include "gallery/templates.h"
#include "reid.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- rows --------------------------------------------------------------------------------------------------------- */

/* Appends a row and returns its floats, or NULL after reporting that memory ran out. Copies both names. */
static float *add_crop(crops *c, const char *id, const char *identity) {
    size_t row = (size_t)c->dim * sizeof(float);
    if (!NEED(c->ids, c->count, c->id_cap) || !NEED(c->identities, c->count, c->identity_cap) ||
        !NEED(c->facts, c->count, c->facts_cap))
        return NULL;
    c->facts[c->count] = (crop_facts){
        .when = STORE_NO_TIME, .score = (double)NAN, .boxes = (double)NAN, .track = UINT32_MAX};
    if (c->count == c->row_cap) {
        size_t cap = c->row_cap ? 2 * c->row_cap : 256;
        float *rows = need_array(cap, row);
        if (!rows) return NULL;
        if (c->count) memcpy(rows, c->rows, c->count * row);
        free(c->rows);
        c->rows = rows, c->row_cap = cap;
    }
    c->ids[c->count] = need_copy(id, strlen(id));
    c->identities[c->count] = identity && *identity ? need_copy(identity, strlen(identity)) : NULL;
    if (!c->ids[c->count] || (identity && *identity && !c->identities[c->count])) {
        free(c->ids[c->count]), free(c->identities[c->count]);
        return NULL;
    }
    return c->rows + c->count++ * (size_t)c->dim;
}

/* Checks that the file was made by the same models as the files before it. */
static int take_makers(crops *c, const store_meta *makers, const char *path, const char *first) {
    if (c->dim) return makers_agree(makers, path, &c->makers, NULL, first);
    c->makers = *makers;
    c->makers.threshold = (double)NAN;
    c->dim = makers->dim;
    return 1;
}

/* Warns if the file names another JPEG decoder than the first file that names one. */
static void take_decoders(crops *c, const char *jpeg, const char *path) {
    if (!*jpeg) return;
    makers_note_decoders(jpeg, path, c->jpeg, c->jpeg_of);
    if (*c->jpeg) return;
    makers_note_mixture(jpeg, path);
    memcpy(c->jpeg, jpeg, sizeof c->jpeg);
    c->jpeg_of = path;
}

/* Appends the file's tracks, each once, in the order of their names. */
static int add_tracks(crops *c, const gallery_file *f) {
    char **sorted = need_array(f->track_count + 1, sizeof *sorted);
    int good = sorted != NULL;
    if (good && f->track_count) memcpy(sorted, f->tracks, f->track_count * sizeof *sorted);
    if (good && f->track_count) qsort(sorted, f->track_count, sizeof *sorted, order_texts);
    for (size_t i = 0; i < f->track_count && good; i++) {
        if (!*sorted[i] || (i && strcmp(sorted[i - 1], sorted[i]) == 0)) continue;
        good = NEED(c->tracks, c->track_count, c->track_cap) &&
               (c->tracks[c->track_count] = need_copy(sorted[i], strlen(sorted[i]))) != NULL;
        c->track_count += good != 0;
    }
    free(sorted);
    return good;
}

/* The index of a track among those from `first` on; UINT32_MAX: it has no crop. */
static uint32_t find_track(const crops *c, size_t first, char *name) {
    size_t n = c->track_count - first;
    char **found = n ? bsearch(&name, c->tracks + first, n, sizeof name, order_texts) : NULL;
    return found ? (uint32_t)(found - c->tracks) : UINT32_MAX;
}

static int add_apart(crops *c, const gallery_file *f, size_t first) {
    for (size_t i = 0; i + 1 < f->apart_count; i += 2) {
        uint32_t a = find_track(c, first, f->apart[i]), b = find_track(c, first, f->apart[i + 1]);
        if (a == UINT32_MAX || b == UINT32_MAX) continue;
        if (!NEED(c->apart, c->apart_count, c->apart_cap)) return 0;
        c->apart[c->apart_count][0] = a, c->apart[c->apart_count++][1] = b;
    }
    return 1;
}

static int copy_known(char **to, char *const *from, size_t i) {
    if (!from || !*from[i]) return 1;
    *to = need_copy(from[i], strlen(from[i]));
    return *to != NULL;
}

/* Stores what the file states about its rows, which are the last f->count crops. */
static int add_facts(crops *c, const gallery_file *f) {
    size_t first = c->track_count;
    int good = add_tracks(c, f) && add_apart(c, f, first);
    for (size_t i = 0; i < f->count && good; i++) {
        crop_facts *to = &c->facts[c->count - f->count + i];
        if (f->time_count) to->when = f->times[i];
        if (f->score_count) to->score = f->scores[i];
        if (f->box_count) to->boxes = f->boxes[i];
        if (f->track_count && *f->tracks[i]) to->track = find_track(c, first, f->tracks[i]);
        good = copy_known(&to->camera, f->camera_count ? f->cameras : NULL, i) &&
               copy_known(&to->source, f->source_count ? f->sources : NULL, i);
    }
    if (isnan(c->makers.threshold)) c->makers.threshold = f->threshold;
    if (!c->weight_count && f->weight_count == c->makers.models)
        memcpy(c->weights, f->weights, sizeof c->weights), c->weight_count = f->weight_count;
    return good;
}

static int add_file(crops *c, const char *path, const char *first) {
    gallery_file f;
    int good = gallery_file_read(&f, path) && take_makers(c, &f.makers, path, first);
    if (good) take_decoders(c, f.jpeg, path);
    for (size_t i = 0; i < f.count && good; i++) {
        float *row = add_crop(c, f.ids[i], f.identity_count ? f.identities[i] : NULL);
        good = row != NULL;
        if (good) memcpy(row, f.rows + i * f.columns, f.columns * sizeof *row);
    }
    good = good && add_facts(c, &f);
    gallery_file_free(&f);
    return good;
}

static int add_gallery(crops *c, const char *path, const char *first) {
    gallery_store *s = templates_read(path, 1);
    if (!s) return 0;
    const store_meta *meta = store_info(s);
    int good = take_makers(c, meta, path, first);
    if (good) take_decoders(c, meta->jpeg, path);
    for (size_t i = 0; i < store_count(s) && good; i++) {
        size_t at = i * (size_t)meta->dim;
        store_item item = store_at(s, i);
        float *row = add_crop(c, item.id, item.identity);
        good = row != NULL;
        if (good && meta->halves) reid_from_halves(store_halves(s) + at, row, (size_t)meta->dim);
        else if (good) memcpy(row, store_floats(s) + at, (size_t)meta->dim * sizeof *row);
    }
    if (!isnan(meta->threshold)) c->makers.threshold = meta->threshold;
    store_close(s);
    return good;
}

/* --- ids ---------------------------------------------------------------------------------------------------------- */

static int by_id(const void *a, const void *b) {
    return name_order_spelled(((const crop_place *)a)->id, ((const crop_place *)b)->id);
}

static int sort_ids(crops *c) {
    c->by_id = need_array(c->count, sizeof *c->by_id);
    if (!c->by_id) return 0;
    for (size_t i = 0; i < c->count; i++) c->by_id[i].id = c->ids[i], c->by_id[i].at = (uint32_t)i;
    qsort(c->by_id, c->count, sizeof *c->by_id, by_id);
    for (size_t i = 1; i < c->count; i++) {
        if (strcmp(c->by_id[i].id, c->by_id[i - 1].id) != 0) continue;
        say_error("the id \"%s\" is listed twice; ids must differ", shown(c->by_id[i].id));
        return 0;
    }
    return 1;
}

size_t crops_find(const crops *c, const char *id) {
    const crop_place *found = name_find(id, c->by_id, c->count, sizeof *found);
    return found ? found->at : SIZE_MAX;
}

size_t crop_picture_length(const char *id) {
    const char *hash = strrchr(id, '#');
    return hash && hash > id && hash[1] && strspn(hash + 1, "0123456789") == strlen(hash + 1) ? (size_t)(hash - id)
                                                                                             : strlen(id);
}

/* --- all of it ---------------------------------------------------------------------------------------------------- */

int crops_open(crops *c, char *const *paths, int count) {
    memset(c, 0, sizeof *c);
    for (int i = 0; i < count; i++)
        if (!(templates_is_place(paths[i]) ? add_gallery : add_file)(c, paths[i], paths[0])) return 0;
    if (c->count == 0) say_error("%s: contains no crops", shown(paths[0]));
    else if (c->count > UINT32_MAX - 2) say_error("more than 4294967293 crops");
    else return sort_ids(c);
    return 0;
}

void crops_close(crops *c) {
    for (size_t i = 0; i < c->count; i++) free(c->ids[i]), free(c->identities[i]);
    for (size_t i = 0; i < c->count; i++) free(c->facts[i].camera), free(c->facts[i].source);
    for (size_t i = 0; i < c->track_count; i++) free(c->tracks[i]);
    free(c->ids), free(c->identities), free(c->rows), free(c->by_id);
    free(c->facts), free(c->tracks), free(c->apart);
    memset(c, 0, sizeof *c);
}

double crops_weigh(crops *c, const double weights[MAX_MODELS]) {
    double sum = 0;
    float by[MAX_MODELS];
    for (int i = 0; i < c->makers.models; i++) by[i] = (float)sqrt(weights[i]), sum += weights[i];
    for (size_t i = 0; i < c->count && c->makers.models > 1; i++) {
        float *value = c->rows + i * (size_t)c->dim;
        for (int m = 0; m < c->makers.models; m++)
            for (int k = 0; k < c->makers.model[m].dim; k++) *value++ *= by[m];
    }
    return c->makers.models > 1 ? sum : weights[0];
}
