/* COCO: {"images": [{"id", "file_name", "frame_id", "video_id", "width", "height"}], "annotations": [{"image_id",
   "category_id", "bbox": [x, y, w, h], "score"}], "categories": [{"id", "name"}], "videos": [{"id", "name"}]}, in any
   order. frame_id counts from 0; the name of an image without it ends in the frame's number. */
#include "pictures/detections_coco.h"

#include "base/json.h"
#include "base/memory.h"
#include "base/source.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A row of any of the four lists: its keys that are needed, NAN if one is missing. */
typedef struct record {
    double id, other, frame, category, width, height, score, crowd; /* other: the image or the video */
    double box[4];
    int has_box;
    char *name;
    size_t at;       /* its offset in the file, for messages */
    uint32_t owner;  /* of an image */
} record;

typedef struct records {
    record *at;
    size_t count, cap;
    const char *what;
} records;

typedef struct coco {
    records images, annotations, categories, videos;
} coco;

static void read_box(json *j, record *r) {
    double extra;
    int n = 0;
    for (json_array(j); json_item(j); n++) json_number(j, n < 4 ? &r->box[n] : &extra);
    r->has_box = n == 4 || json_fail(j, "a bbox must have four numbers");
}

static void read_name(json *j, record *r) {
    text name = TEXT_INIT;
    if (json_string(j, &name)) {
        free(r->name);
        r->name = text_failed(&name) ? NULL : mem_copy(name.s ? name.s : "", name.len);
        if (!r->name) json_fail(j, "out of memory");
    }
    text_free(&name);
}

/* Reads the known keys; a value of another type, usually null, is skipped. */
static void read_record(json *j, record *r) {
    text key = TEXT_INIT;
    for (json_object(j); json_key(j, &key);) {
        const struct {
            const char *key;
            double *to;
        } numbers[] = {{"id", &r->id}, {"image_id", &r->other}, {"video_id", &r->other}, {"frame_id", &r->frame},
                       {"category_id", &r->category}, {"width", &r->width}, {"height", &r->height},
                       {"score", &r->score}, {"iscrowd", &r->crowd}};
        double *to = NULL;
        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
            if (strcmp(key.s, numbers[i].key) == 0) to = numbers[i].to;
        if (to && json_peek(j) == '0') json_number(j, to);
        else if (strcmp(key.s, "bbox") == 0) read_box(j, r);
        else if ((strcmp(key.s, "name") == 0 || strcmp(key.s, "file_name") == 0) && json_peek(j) == '"')
            read_name(j, r);
        else json_skip(j);
    }
    text_free(&key);
}

static void read_list(json *j, records *to) {
    for (json_array(j); json_item(j);) {
        if (!GROW(to->at, to->count, to->cap)) {
            json_fail(j, "out of memory");
            return;
        }
        record *r = &to->at[to->count++];
        memset(r, 0, sizeof *r);
        r->id = r->other = r->frame = r->category = r->width = r->height = r->score = NAN;
        r->at = j->at;
        read_record(j, r);
    }
}

static void free_records(records *r) {
    for (size_t i = 0; i < r->count; i++) free(r->at[i].name);
    free(r->at);
}

/* --- references --------------------------------------------------------------------------------------------------- */

static int by_id(const void *a, const void *b) {
    const record *x = a, *y = b;
    return (x->id > y->id) - (x->id < y->id);
}

/* Sorts by ids, which must differ. */
static int sort_by_id(json *j, records *r) {
    char what[64];
    for (size_t i = 0; i < r->count; i++) {
        if (!isnan(r->at[i].id)) continue;
        j->at = r->at[i].at;
        snprintf(what, sizeof what, "one of %s lacks an id", r->what);
        return json_fail(j, what);
    }
    if (r->count) qsort(r->at, r->count, sizeof *r->at, by_id);
    for (size_t i = 1; i < r->count; i++) {
        if (r->at[i].id != r->at[i - 1].id) continue;
        j->at = r->at[i].at > r->at[i - 1].at ? r->at[i].at : r->at[i - 1].at;
        snprintf(what, sizeof what, "two of %s have the id %.0f", r->what, r->at[i].id);
        return json_fail(j, what);
    }
    return 1;
}

static record *find(const records *r, double id) {
    const record key = {.id = id};
    return r->count && !isnan(id) ? bsearch(&key, r->at, r->count, sizeof key, by_id) : NULL;
}

/* Finds the owner of an image and the number of its frame, which is stored in `frame`. */
static int settle_image(detections *d, const detections_request *r, const coco *c, record *image, text *why) {
    const record *video = find(&c->videos, image->other);
    const char *name = video && video->name ? video->name : "";
    int by_name = d->photos || r->listed;
    if (by_name && !image->name) return refuse(why, "an image lacks file_name");
    if (by_name) return detections_picture(d, r, image->name, &image->owner, &image->frame, why);
    if (!isnan(image->frame)) image->owner = detections_name(&d->owners, name, strlen(name));
    else if (!image->name) return refuse(why, "an image has neither frame_id nor file_name");
    else if (!detections_picture(d, r, image->name, &image->owner, &image->frame, why)) return 0;
    else if (video) image->owner = detections_name(&d->owners, name, strlen(name));
    if (image->owner == UINT32_MAX) return text_no_memory(why);
    if (image->width > 0 && image->height > 0 && image->width < 1e9 && image->height < 1e9 && !d->width)
        d->width = (int)image->width, d->height = (int)image->height;
    return 1;
}

static int take(detections *d, const detections_request *r, const coco *c, const record *a, text *why) {
    char number[32];
    const record *image = find(&c->images, a->other);
    if (!image) return refuse(why, "an annotation has an unknown image_id");
    if (!a->has_box) return refuse(why, "an annotation lacks bbox");
    if (a->crowd > 0) return 1; /* a box around a crowd, not around an individual */
    detection *at = detections_add(d);
    if (!at) return text_no_memory(why);
    snprintf(number, sizeof number, "%.0f", isnan(a->category) ? 1 : a->category);
    d->categorised += isnan(a->category) ? 0 : 1;
    at->owner = image->owner;
    at->category = detections_name(&d->categories, number, strlen(number));
    if (at->category == UINT32_MAX) return text_no_memory(why);
    return detections_frame(at, r, image->frame, 0, why) && detections_box(d, at, a->box, a->score, why);
}

static int label(detections *d, const coco *c) {
    d->labels = mem_zeroed(d->categories.count + 1, sizeof *d->labels);
    for (size_t i = 0; i < d->categories.count && d->labels; i++) {
        const record *category = find(&c->categories, strtod(d->categories.at[i], NULL));
        if (!category || !category->name) continue;
        d->labels[i] = mem_copy(category->name, strlen(category->name));
        if (!d->labels[i]) return 0;
    }
    return d->labels != NULL;
}

/* Turns the lists into detections. An error is set in j, with the line that it is about. */
static void resolve(detections *d, const detections_request *r, coco *c, json *j) {
    text why = TEXT_INIT;
    size_t end = j->at;
    if (!sort_by_id(j, &c->images) || !sort_by_id(j, &c->categories) || !sort_by_id(j, &c->videos)) return;
    for (size_t i = 0; i < c->images.count && !why.len; i++) {
        j->at = c->images.at[i].at;
        settle_image(d, r, c, &c->images.at[i], &why);
    }
    for (size_t i = 0; i < c->annotations.count && !why.len; i++) {
        j->at = c->annotations.at[i].at;
        take(d, r, c, &c->annotations.at[i], &why);
    }
    if (!why.len && !label(d, c)) text_no_memory(&why);
    if (why.len) json_fail(j, why.s);
    else j->at = end;
    text_free(&why);
}

int detections_from_coco(detections *d, const detections_request *r, const text *file, text *why) {
    json j;
    text key = TEXT_INIT;
    coco c = {{.what = "images"}, {.what = "annotations"}, {.what = "categories"}, {.what = "videos"}};
    records *const lists[] = {&c.images, &c.annotations, &c.categories, &c.videos};
    json_begin(&j, file->s, file->len);
    if (json_peek(&j) == '[')
        json_fail(&j,
                  "a bare list of COCO results does not say which frame an image is; give the form with \"images\"");
    for (json_object(&j); json_key(&j, &key);) {
        records *list = NULL;
        for (int i = 0; i < 4; i++)
            if (strcmp(key.s, lists[i]->what) == 0 && json_peek(&j) == '[') list = lists[i];
        if (list) read_list(&j, list);
        else json_skip(&j);
    }
    if (json_end(&j)) resolve(d, r, &c, &j);
    for (int i = 0; i < 4; i++) free_records(lists[i]);
    text_free(&key);
    return !j.error[0] || refuse(why, "%s", j.error);
}
