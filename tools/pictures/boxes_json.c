/* MegaDetector's batch format: {"images": [{"file", "detections": [{"category", "conf", "bbox": [x, y, w, h]}]}]} with
   fractions of the picture. The dialect with pixel corners and "confidence" is refused, and so is what could be
   either. */
#include "pictures/boxes_json.h"

#include "base/json.h"

#include <stdio.h>
#include <string.h>

static int wrong_dialect(json *j, const char *picture) {
    char what[400];
    snprintf(what, sizeof what,
             "%.100s: a bbox must be [x, y, width, height] as fractions of the image (MegaDetector's batch format). "
             "This looks like pixels or corners [x1, y1, x2, y2]; convert it, or give pixels in a CSV file with the "
             "header path,x,y,width,height", picture);
    return json_fail(j, what);
}

static int read_bbox(json *j, const char *picture, double box[4]) {
    const double slack = 0.01; /* detectors round */
    double extra;
    int n = 0;
    for (json_array(j); json_item(j); n++) json_number(j, n < 4 ? &box[n] : &extra);
    if (j->error[0]) return 0;
    if (n != 4) return json_fail(j, "a bbox must have four numbers");
    for (n = 0; n < 4; n++)
        if (box[n] < -slack || box[n] > 1 + slack) return wrong_dialect(j, picture);
    if (box[0] + box[2] > 1 + slack || box[1] + box[3] > 1 + slack) return wrong_dialect(j, picture);
    return 1;
}

static int read_detection(box_rows *rows, json *j, const char *picture) {
    text key = TEXT_INIT, category = TEXT_INIT;
    double conf = -1;
    int has_box = 0;
    box_row *row = box_rows_add(rows, picture);
    if (!row) return json_fail(j, "out of memory");
    for (json_object(j); json_key(j, &key);) {
        if (strcmp(key.s, "bbox") == 0) has_box = read_bbox(j, picture, row->box);
        else if (strcmp(key.s, "conf") == 0) json_number(j, &conf);
        else if (strcmp(key.s, "category") == 0) json_string(j, &category);
        else if (strcmp(key.s, "confidence") == 0) wrong_dialect(j, picture); /* the other dialect's word */
        else json_skip(j);
    }
    if (!has_box) json_fail(j, "a detection without bbox");
    if (rows->from->min_conf >= 0 && conf < 0) json_fail(j, "a detection without conf, which --min-conf needs");
    if (rows->from->min_conf >= 0 && conf < rows->from->min_conf) row->wanted = 0;
    if (rows->from->category && (!category.s || strcmp(category.s, rows->from->category) != 0)) row->wanted = 0;
    text_free(&key);
    text_free(&category);
    return !j->error[0];
}

/* The value of "file", wherever it stands in the object; j does not move. */
static int find_file(const json *j, text *path) {
    json look = *j;
    text key = TEXT_INIT;
    int found = 0;
    for (json_object(&look); json_key(&look, &key);) {
        if (strcmp(key.s, "file") == 0) found = json_string(&look, path);
        else json_skip(&look);
    }
    text_free(&key);
    return found && path->len;
}

static int read_image(box_rows *rows, json *j) {
    text path = TEXT_INIT, key = TEXT_INIT, why = TEXT_INIT;
    int has_file = find_file(j, &path), has_detections = 0;
    for (json_object(j); json_key(j, &key);) {
        if (has_file && strcmp(key.s, "failure") == 0 && json_peek(j) == '"') {
            json_string(j, &why);
        } else if (has_file && strcmp(key.s, "detections") == 0 && json_peek(j) == '[') {
            has_detections = 1;
            for (json_array(j); json_item(j);) read_detection(rows, j, path.s);
        } else {
            json_skip(j);
        }
    }
    if (text_failed(&path)) json_fail(j, "out of memory");
    if (!has_file) json_fail(j, "an image without \"file\"");
    else if (!has_detections && !why.len) json_fail(j, "an image without \"detections\" or \"failure\"");
    if (!j->error[0] && why.len) {
        text note = TEXT_INIT;
        text_printf(&note, "the detector failed on it: %s", why.s);
        box_row *row = text_failed(&note) ? NULL : box_rows_add(rows, path.s);
        if (row) row->failure = note.s;
        else text_free(&note), json_fail(j, "out of memory");
    }
    text_free(&path);
    text_free(&key);
    text_free(&why);
    return !j->error[0];
}

int boxes_from_megadetector(box_rows *rows, const text *file, text *why) {
    json j;
    text key = TEXT_INIT;
    int has_images = 0;
    json_begin(&j, file->s, file->len);
    if (json_peek(&j) == '[') wrong_dialect(&j, "a bare list");
    for (json_object(&j); json_key(&j, &key);) {
        if (strcmp(key.s, "predictions") == 0)
            json_fail(&j, "this is SpeciesNet's JSON; convert it to MegaDetector's with SpeciesNet's own script: "
                          "python -m speciesnet.scripts.speciesnet_to_md IN.json OUT.json");
        if (strcmp(key.s, "images") == 0) {
            has_images = 1;
            for (json_array(&j); json_item(&j);) read_image(rows, &j);
        } else {
            json_skip(&j);
        }
    }
    json_end(&j);
    if (!has_images) json_fail(&j, "no \"images\": this is not MegaDetector's batch format");
    text_free(&key);
    text_clear(why);
    text_puts(why, j.error);
    return !j.error[0];
}
