/* MegaDetector's results, in both forms:
       {"images": [{"file", "frame_rate", "frames_processed": [0, 20], "detections":
           [{"category": "1", "conf": 0.9, "bbox": [x, y, w, h], "frame_number": 20}]}],
        "detection_categories": {"1": "animal"}}
   with fractions of the frame, and Microsoft's
       [{"file", "detections": [{"category": "animal", "confidence": 0.9, "bbox": [x1, y1, x2, y2]}]}]
   with pixels. In either form, a file may also be an image of a frame, whose name ends in the frame's number. */
#include "pictures/detections_json.h"

#include "base/json.h"
#include "base/memory.h"
#include "base/say.h"
#include "base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct reading {
    detections *d;
    const detections_request *r;
    json *j;
    int corners;     /* Microsoft's */
    text why;
} reading;

/* An entry of the list: a video, or an image of a frame. */
typedef struct entry {
    text file, failure;
    int is_video;    /* it has a key that only videos have */
    int passed_over; /* an image that is not a frame */
    int has_boxes;
    uint32_t owner;
    double number;   /* number of the frame that the image shows */
    double width, height;
} entry;

/* Reports the error in `why` through json_fail, which knows the line. Always returns 0. */
static int fail(reading *to) { return json_fail(to->j, text_failed(&to->why) ? "out of memory" : to->why.s); }

static int read_numbers(json *j, double *out, int wanted, const char *what) {
    double extra;
    int n = 0;
    for (json_array(j); json_item(j); n++) json_number(j, n < wanted ? &out[n] : &extra);
    return n == wanted || json_fail(j, what);
}

/* --- a detection -------------------------------------------------------------------------------------------------- */

typedef struct found {
    double box[4], score, number;
    int has_box;
    text category;
} found;

/* The keys of detection_categories are strings; programs that write their own JSON repeat them as numbers. */
static void read_category(json *j, text *category) {
    double number;
    if (json_peek(j) == '"') json_string(j, category);
    else if (json_peek(j) != '0') json_fail(j, "the category of a detection must be a string, such as \"1\"");
    else if (json_number(j, &number)) text_printf(category, "%.15g", number);
}

static void read_keys(reading *to, found *f) {
    json *j = to->j;
    text key = TEXT_INIT;
    const char *score = to->corners ? "confidence" : "conf", *other = to->corners ? "conf" : "confidence";
    for (json_object(j); json_key(j, &key);) {
        if (strcmp(key.s, "bbox") == 0) f->has_box = read_numbers(j, f->box, 4, "a bbox must have four numbers");
        else if (strcmp(key.s, score) == 0) json_number(j, &f->score);
        else if (strcmp(key.s, "category") == 0) read_category(j, &f->category);
        else if (strcmp(key.s, "frame_number") == 0) json_number(j, &f->number);
        else if (strcmp(key.s, other) == 0)
            json_fail(j, to->corners
                             ? "\"conf\" in a list of images: expected \"confidence\", as in Microsoft's MegaDetector"
                             : "\"confidence\" in an object of images: expected \"conf\", as in MegaDetector");
        else json_skip(j);
    }
    text_free(&key);
    if (!f->has_box) json_fail(j, "a detection lacks bbox");
    else if (isnan(f->score)) json_fail(j, to->corners ? "a detection lacks confidence" : "a detection lacks conf");
    else if (!f->category.len) json_fail(j, "a detection lacks category");
    if (to->corners) f->box[2] -= f->box[0], f->box[3] -= f->box[1];
}

/* Decides from the first detection what the entry is: if it has a frame_number, the entry is a video. */
static int settle(reading *to, entry *e, int numbered) {
    if (numbered) e->is_video = 1;
    if (e->is_video && to->r->listed) {
        e->passed_over = 1;
        to->d->videos++;
        return 1;
    }
    if (e->is_video) {
        e->owner = detections_name(&to->d->owners, e->file.s, e->file.len);
        return e->owner != UINT32_MAX || json_fail(to->j, "out of memory");
    }
    if (detections_picture(to->d, to->r, e->file.s, &e->owner, &e->number, &to->why)) return 1;
    if (to->r->photos || text_failed(&to->why) || detections_fits(e->file.s, to->r->video)) return fail(to);
    text_clear(&to->why);
    e->passed_over = 1;
    return 1;
}

static int read_detection(reading *to, entry *e, int first) {
    found f = {.score = NAN, .number = NAN, .category = TEXT_INIT};
    read_keys(to, &f);
    int good = !to->j->error[0] && (!first || settle(to, e, !isnan(f.number)));
    e->has_boxes = 1;
    if (good && e->is_video && isnan(f.number)) good = json_fail(to->j, "a detection lacks frame_number");
    if (good && !e->passed_over) {
        detection *at = detections_add(to->d);
        if (!at) text_no_memory(&to->why);
        else {
            at->owner = e->owner;
            at->of = stated_size_of(e->width, e->height);
            at->category = detections_name(&to->d->categories, f.category.s, f.category.len);
            if (at->category == UINT32_MAX) text_no_memory(&to->why);
            to->d->categorised++;
        }
        good = !to->why.len && detections_frame(at, to->r, e->is_video ? f.number : e->number, 0, &to->why) &&
               detections_box(to->d, at, f.box, f.score, &to->why);
        if (!good) fail(to);
    }
    text_free(&f.category);
    return good;
}

/* --- an entry ----------------------------------------------------------------------------------------------------- */

/* Finds the name, the size, and the keys that distinguish a video from an image, anywhere in the object; j does not
   move. */
static void look_ahead(reading *to, entry *e) {
    json look = *to->j;
    text key = TEXT_INIT;
    for (json_object(&look); json_key(&look, &key);) {
        const int is_number = json_peek(&look) == '0';
        if (strcmp(key.s, "file") == 0) json_string(&look, &e->file);
        else if (is_number && strcmp(key.s, "width") == 0) json_number(&look, &e->width);
        else if (is_number && strcmp(key.s, "height") == 0) json_number(&look, &e->height);
        else json_skip(&look);
        if (strcmp(key.s, "frame_rate") == 0 || strcmp(key.s, "frames_processed") == 0) e->is_video = 1;
    }
    text_free(&key);
}

/* Reads which frames the detector has processed. */
static void read_looked(reading *to, const entry *e) {
    json *j = to->j;
    int fit = detections_fits(e->file.s, to->r->video);
    uint32_t most = 0;
    size_t n = 0;
    detection one;
    for (json_array(j); json_item(j); n++) {
        double number = 0;
        json_number(j, &number);
        if (j->error[0] || !detections_frame(&one, to->r, number, 0, &to->why)) break;
        if (one.frame >= most) most = one.frame + 1;
    }
    if (to->why.len) fail(to);
    if (fit > to->d->looked_fit) to->d->looked_fit = fit, to->d->looked = most, to->d->samples = n;
}

static void read_members(reading *to, entry *e, int *has_detections) {
    json *j = to->j;
    text key = TEXT_INIT;
    for (json_object(j); json_key(j, &key);) {
        if (strcmp(key.s, "failure") == 0 && json_peek(j) == '"') {
            json_string(j, &e->failure);
        } else if (strcmp(key.s, "frames_processed") == 0 && json_peek(j) == '[') {
            read_looked(to, e);
        } else if (strcmp(key.s, "detections") == 0 && json_peek(j) == '[') {
            int first = !*has_detections;
            *has_detections = 1;
            for (json_array(j); json_item(j); first = 0)
                if (!read_detection(to, e, first)) break;
            if (first) settle(to, e, 0); /* the list is empty */
        } else {
            json_skip(j);
        }
    }
    text_free(&key);
}

/* A photo on which the detector failed. */
static void note_failure(reading *to, const entry *e) {
    detections *d = to->d;
    int good = !text_failed(&e->failure) &&
               detections_add_name(&d->failed, e->file.s, e->file.len) != UINT32_MAX &&
               detections_add_name(&d->reasons, e->failure.s, e->failure.len) != UINT32_MAX;
    if (!good) json_fail(to->j, "out of memory");
}

static int read_entry(reading *to) {
    entry e = {.file = TEXT_INIT};
    int has_detections = 0;
    look_ahead(to, &e);
    if (!e.file.len) json_fail(to->j, "an entry lacks \"file\"");
    else if (text_failed(&e.file)) json_fail(to->j, "out of memory");
    else read_members(to, &e, &has_detections);
    if (!to->j->error[0] && !has_detections && !e.failure.len)
        json_fail(to->j, "an entry has neither \"detections\" nor \"failure\"");
    int failed = !to->j->error[0] && (has_detections ? e.failure.len && !e.has_boxes : settle(to, &e, 0));
    if (failed && (to->r->photos || to->r->listed)) {
        note_failure(to, &e);
    } else if (failed && detections_fits(e.file.s, to->r->video) && !to->d->failure) {
        to->d->failure = text_failed(&e.failure) ? NULL : mem_copy(e.failure.s, e.failure.len);
        if (!to->d->failure) json_fail(to->j, "out of memory");
    }
    text_free(&e.file), text_free(&e.failure);
    return !to->j->error[0];
}

/* --- the file ----------------------------------------------------------------------------------------------------- */

/* Reads the categories' names for people, except of categories that no detection has. */
static void read_categories(json *j, text *names) {
    text key = TEXT_INIT, name = TEXT_INIT;
    for (json_object(j); json_key(j, &key);) {
        if (!json_string(j, &name)) break;
        text_add(names, key.s ? key.s : "", key.len + 1);
        text_add(names, name.s ? name.s : "", name.len + 1);
    }
    text_free(&key), text_free(&name);
}

static int label(detections *d, const text *names) {
    d->labels = mem_zeroed(d->categories.count + 1, sizeof *d->labels);
    if (!d->labels || text_failed(names)) return 0;
    for (size_t at = 0; at < names->len;) {
        const char *key = names->s + at, *name = key + strlen(key) + 1;
        for (size_t i = 0; i < d->categories.count; i++) {
            if (strcmp(d->categories.at[i], key) != 0 || d->labels[i]) continue;
            d->labels[i] = mem_copy(name, strlen(name));
            if (!d->labels[i]) return 0;
        }
        at = (size_t)(name + strlen(name) + 1 - names->s);
    }
    return 1;
}

int detections_from_megadetector(detections *d, const detections_request *r, const text *file, text *why) {
    json j;
    text key = TEXT_INIT, names = TEXT_INIT;
    reading to = {.d = d, .r = r, .j = &j};
    int has_images = 0;
    json_begin(&j, file->s, file->len);
    to.corners = json_peek(&j) == '[';
    if (!to.corners) d->unit = BOX_NORMALISED;
    if (to.corners) {
        has_images = 1;
        for (json_array(&j); json_item(&j);) read_entry(&to);
    } else {
        for (json_object(&j); json_key(&j, &key);) {
            if (strcmp(key.s, "predictions") == 0)
                json_fail(&j, "this is SpeciesNet's JSON; convert it to MegaDetector's with SpeciesNet's own script: "
                              "python -m speciesnet.scripts.speciesnet_to_md IN.json OUT.json");
            if (strcmp(key.s, "images") == 0) {
                has_images = 1;
                for (json_array(&j); json_item(&j);) read_entry(&to);
            } else if (strcmp(key.s, "detection_categories") == 0) {
                read_categories(&j, &names);
            } else {
                json_skip(&j);
            }
        }
    }
    json_end(&j);
    if (!has_images) json_fail(&j, "neither \"images\" nor \"annotations\": not a known format of detections");
    if (!j.error[0] && !label(d, &names)) json_fail(&j, "out of memory");
    text_free(&key), text_free(&names), text_free(&to.why);
    return !j.error[0] || refuse(why, "%s", j.error);
}
