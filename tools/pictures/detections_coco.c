/* COCO: {"images": [{"id", "file_name", "frame_id", "video_id", "width", "height"}], "annotations": [{"image_id",
   "category_id", "bbox": [x, y, w, h], "score"}], "categories": [{"id", "name"}], "videos": [{"id", "name"}]}, in any
   order. frame_id counts from 0; the name of an image without it ends in the frame's number. Also a list of results
   alone, if each names its image as Ultralytics does:
   [{"image_id", "file_name", "category_id", "bbox", "score"}]. */
#include "pictures/detections_coco.h"

#include "base/json.h"
#include "base/memory.h"
#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An id that is text, and where the number that stands for it is needed. */
typedef struct named_id {
    char *s;
    size_t list, record, field; /* indices of the list and the record in it; offset in the record */
} named_id;

typedef struct named_ids {
    named_id *at;
    size_t count, cap;
} named_ids;

/* A row of any of the four lists: its keys that are needed, NAN if one is missing. */
typedef struct record {
    double id, other, category, frame, width, height, score, crowd; /* other: the image or the video */
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

enum { IMAGES, ANNOTATIONS, CATEGORIES, VIDEOS, LISTS };

typedef struct coco {
    records list[LISTS];
    named_ids words; /* by their texts, once all has been read */
    int bare;        /* the file is a list of annotations alone */
} coco;

/* An empty bbox is none: the annotation has an outline alone, or is about the whole image. */
static void read_box(json *j, record *r) {
    double extra;
    int n = 0;
    for (json_array(j); json_item(j); n++) json_number(j, n < 4 ? &r->box[n] : &extra);
    r->has_box = n == 4;
    if (n && n != 4) json_fail(j, "a bbox must have four numbers");
}

/* Reads an id that is text. One that is written like a number is that number: some programs put quotes around them in
   one of the lists alone. */
static void read_word(json *j, coco *c, int list, record *r, double *to) {
    text s = TEXT_INIT;
    long long number;
    char again[32];
    if (!json_string(j, &s) || text_failed(&s)) {
        json_fail(j, "out of memory");
    } else if (s.len && parse_int(s.s, 0, (long long)1 << 53, &number) &&
               snprintf(again, sizeof again, "%lld", number) > 0 && strcmp(again, s.s) == 0) {
        *to = (double)number;
    } else if (!GROW(c->words.at, c->words.count, c->words.cap)) {
        json_fail(j, "out of memory");
    } else {
        named_id *w = &c->words.at[c->words.count];
        *w = (named_id){mem_copy(s.s ? s.s : "", s.len), (size_t)list, c->list[list].count - 1,
                    (size_t)((char *)to - (char *)r)};
        if (w->s) c->words.count++;
        else json_fail(j, "out of memory");
    }
    text_free(&s);
}

static int by_text(const void *a, const void *b) { return strcmp(((const named_id *)a)->s, ((const named_id *)b)->s); }

/* Ids that are text become numbers that no other id is: 0.5, 1.5, ... in the order of the texts. */
static void number_words(coco *c) {
    named_ids *w = &c->words;
    size_t number = 0;
    if (w->count) qsort(w->at, w->count, sizeof *w->at, by_text);
    for (size_t i = 0; i < w->count; i++) {
        named_id *at = &w->at[i];
        if (i && strcmp(at->s, w->at[i - 1].s) != 0) number = i;
        const double value = (double)number + 0.5;
        memcpy((char *)&c->list[at->list].at[at->record] + at->field, &value, sizeof value);
    }
}

/* An id as it stands in the file. */
static const char *text_of(const coco *c, double id, char number[32]) {
    if (id != floor(id) && id > 0 && id < (double)c->words.count) return c->words.at[(size_t)id].s;
    snprintf(number, 32, "%.0f", id);
    return number;
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
static void read_record(json *j, coco *c, int list, record *r) {
    text key = TEXT_INIT;
    int crowd = 0;
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
        const int is_id = to && to >= &r->id && to <= &r->category;
        if (to && json_peek(j) == '0') json_number(j, to);
        else if (is_id && json_peek(j) == '"') read_word(j, c, list, r, to);
        else if (to == &r->crowd && json_peek(j) == 't' && json_bool(j, &crowd)) r->crowd = crowd;
        else if (strcmp(key.s, "bbox") == 0) read_box(j, r);
        else if ((strcmp(key.s, "name") == 0 || strcmp(key.s, "file_name") == 0) && json_peek(j) == '"')
            read_name(j, r);
        else json_skip(j);
    }
    text_free(&key);
}

static void read_list(json *j, coco *c, int list) {
    records *to = &c->list[list];
    for (json_array(j); json_item(j);) {
        if (!GROW(to->at, to->count, to->cap)) {
            json_fail(j, "out of memory");
            return;
        }
        record *r = &to->at[to->count++];
        memset(r, 0, sizeof *r);
        r->id = r->other = r->frame = r->category = r->width = r->height = r->score = NAN;
        r->at = j->at;
        read_record(j, c, list, r);
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
static int sort_by_id(json *j, const coco *c, records *r) {
    char what[160], number[32];
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
        snprintf(what, sizeof what, "two of %s have the id %.100s", r->what, text_of(c, r->at[i].id, number));
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
    const record *video = find(&c->list[VIDEOS], image->other);
    const char *name = video && video->name ? video->name : "";
    int by_name = d->photos || r->listed;
    if (by_name && !image->name) return refuse(why, "an image lacks file_name");
    if (by_name) return detections_picture(d, r, image->name, &image->owner, &image->frame, why);
    if (!isnan(image->frame)) image->owner = detections_name(&d->owners, name, strlen(name));
    else if (!image->name) return refuse(why, "an image has neither frame_id nor file_name");
    else if (!detections_picture(d, r, image->name, &image->owner, &image->frame, why)) return 0;
    else if (video) image->owner = detections_name(&d->owners, name, strlen(name));
    if (image->owner == UINT32_MAX) return text_no_memory(why);
    const stated_size size = stated_size_of(image->width, image->height);
    if (!d->width) d->width = size.width, d->height = size.height;
    return 1;
}

/* Returns the image of an annotation. NULL with the reason in why. */
static const record *image_of(detections *d, const detections_request *r, const coco *c, record *a, text *why) {
    const record *image = find(&c->list[IMAGES], a->other);
    if (image) return image;
    if (!c->bare) refuse(why, "an annotation has an unknown image_id");
    else if (!a->name)
        refuse(why, "a list of COCO results has only the ids of images, whose names are in the data set's file; merge "
                    "the two: jq --slurpfile r RESULTS.json '.annotations = $r[0]' DATASET.json >BOTH.json");
    else if (settle_image(d, r, c, a, why)) return a; /* a result that names its image */
    return NULL;
}

static int take(detections *d, const detections_request *r, const coco *c, record *a, text *why) {
    char number[32];
    const record *image = image_of(d, r, c, a, why);
    if (!image) return 0;
    if (a->crowd > 0) return 1; /* a box around a crowd, not around an individual */
    if (!a->has_box) return d->boxless++, 1;
    detection *at = detections_add(d);
    if (!at) return text_no_memory(why);
    const char *category = text_of(c, isnan(a->category) ? 1 : a->category, number);
    d->categorised += isnan(a->category) ? 0 : 1;
    at->owner = image->owner;
    at->category = detections_name(&d->categories, category, strlen(category));
    at->of = stated_size_of(image->width, image->height);
    if (at->category == UINT32_MAX) return text_no_memory(why);
    return detections_frame(at, r, image->frame, 0, why) && detections_box(d, at, a->box, a->score, why);
}

static const record *category_called(const coco *c, const char *name) {
    char number[32];
    const records *all = &c->list[CATEGORIES];
    for (size_t i = 0; i < all->count; i++)
        if (strcmp(text_of(c, all->at[i].id, number), name) == 0) return &all->at[i];
    return NULL;
}

static int label(detections *d, const coco *c) {
    d->labels = mem_zeroed(d->categories.count + 1, sizeof *d->labels);
    for (size_t i = 0; i < d->categories.count && d->labels; i++) {
        const record *category = category_called(c, d->categories.at[i]);
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
    number_words(c);
    if (!sort_by_id(j, c, &c->list[IMAGES]) || !sort_by_id(j, c, &c->list[CATEGORIES]) ||
        !sort_by_id(j, c, &c->list[VIDEOS]))
        return;
    for (size_t i = 0; i < c->list[IMAGES].count && !why.len; i++) {
        j->at = c->list[IMAGES].at[i].at;
        settle_image(d, r, c, &c->list[IMAGES].at[i], &why);
    }
    for (size_t i = 0; i < c->list[ANNOTATIONS].count && !why.len; i++) {
        j->at = c->list[ANNOTATIONS].at[i].at;
        take(d, r, c, &c->list[ANNOTATIONS].at[i], &why);
    }
    if (!why.len && !label(d, c)) text_no_memory(&why);
    if (why.len) json_fail(j, why.s);
    else j->at = end;
    text_free(&why);
}

static void read_lists(json *j, coco *c) {
    text key = TEXT_INIT;
    c->bare = json_peek(j) == '[';
    if (c->bare) {
        read_list(j, c, ANNOTATIONS);
        return;
    }
    for (json_object(j); json_key(j, &key);) {
        int list = -1;
        for (int i = 0; i < LISTS; i++)
            if (strcmp(key.s, c->list[i].what) == 0 && json_peek(j) == '[') list = i;
        if (list >= 0) read_list(j, c, list);
        else json_skip(j);
    }
    text_free(&key);
}

int detections_from_coco(detections *d, const detections_request *r, const text *file, text *why) {
    json j;
    coco c = {.list = {{.what = "images"}, {.what = "annotations"}, {.what = "categories"}, {.what = "videos"}}};
    json_begin(&j, file->s, file->len);
    read_lists(&j, &c);
    if (json_end(&j)) resolve(d, r, &c, &j);
    for (int i = 0; i < LISTS; i++) free_records(&c.list[i]);
    for (size_t i = 0; i < c.words.count; i++) free(c.words.at[i].s);
    free(c.words.at);
    return !j.error[0] || refuse(why, "%s", j.error);
}
