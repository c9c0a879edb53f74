/* Detections as lines of numbers: MOT text and CSV. */
#include "pictures/detections_text.h"

#include "base/csv.h"
#include "base/memory.h"
#include "base/say.h"
#include "base/source.h"

#include <math.h>
#include <string.h>

/* --- MOT ---------------------------------------------------------------------------------------------------------- */

enum { MOT_FRAME, MOT_X = 2, MOT_SCORE = 6, MOT_COLUMNS = 10 };

static int mot_numbers(const csv *c, double value[MOT_COLUMNS], text *why) {
    if (c->count != MOT_COLUMNS)
        return refuse(why, "%d column%s; expected the 10 of MOT text: frame,id,x,y,w,h,score,x,y,z", c->count,
                      plural((size_t)c->count));
    for (int k = 0; k < MOT_COLUMNS; k++) {
        const char *cell = csv_field(c, k);
        cell += strspn(cell, " ");
        if (!parse_real(cell, -1e12, 1e12, &value[k])) return refuse(why, "\"%.100s\" is not a number", shown(cell));
    }
    return 1;
}

static int mot_row(detections *d, const detections_request *r, const csv *c, text *why) {
    double value[MOT_COLUMNS];
    if (!mot_numbers(c, value, why)) return 0;
    detection *at = detections_add(d);
    if (!at) return text_no_memory(why);
    const double box[4] = {value[MOT_X] - 1, value[MOT_X + 1] - 1, value[MOT_X + 2], value[MOT_X + 3]};
    const double score = value[MOT_SCORE] == -1 ? NAN : value[MOT_SCORE]; /* -1: unknown */
    int by_name = d->photos || r->listed; /* then the number is the one in an image's name */
    if (by_name && !detections_numbered(d, r, &at->owner, &value[MOT_FRAME], why)) return 0;
    return detections_frame(at, r, value[MOT_FRAME], !by_name, why) && detections_box(d, at, box, score, why);
}

int detections_from_mot(detections *d, const detections_request *r, const text *file, text *why) {
    csv c;
    text reason = TEXT_INIT;
    int good = (detections_name(&d->categories, "1", 1) != UINT32_MAX && /* MOT text has neither category nor video */
                detections_name(&d->owners, "", 0) != UINT32_MAX) || text_no_memory(&reason);
    csv_begin(&c, file->s, file->len);
    while (good && csv_record(&c)) good = mot_row(d, r, &c, &reason);
    if (good && c.error) good = refuse(&reason, "%s", c.error);
    if (!good) refuse(why, "line %zu: %s", c.line ? c.line : 1, reason.s);
    csv_free(&c);
    text_free(&reason);
    return good;
}

/* --- CSV ---------------------------------------------------------------------------------------------------------- */

enum { CSV_FRAME, CSV_X, CSV_SCORE = 5, CSV_CATEGORY, CSV_VIDEO, CSV_COLUMNS };

typedef struct reading {
    detections *d;
    const detections_request *r;
} reading;

/* Sets *place to the index of a cell's text in `names`; without the column, of the usual text. */
static int name_of(detection_names *names, const csv *c, int column, const char *usual, uint32_t *place, text *why) {
    const char *name = column >= 0 ? csv_field(c, column) : usual;
    *place = detections_name(names, name, strlen(name));
    return *place != UINT32_MAX || text_no_memory(why);
}

static void take_row(const csv *c, const int *column, void *user, text *why) {
    static const double most = 1e12;
    const reading *to = user;
    double number = 0, box[4] = {0}, score = NAN;
    detection *at = detections_add(to->d);
    if (!at) {
        text_no_memory(why);
        return;
    }
    for (int k = CSV_FRAME; k <= CSV_SCORE; k++) {
        double *value = k == CSV_FRAME ? &number : k == CSV_SCORE ? &score : &box[k - CSV_X];
        const char *cell = column[k] >= 0 ? csv_field(c, column[k]) : NULL;
        if (!cell || (k == CSV_SCORE && !*cell) || parse_real(cell, -most, most, value)) continue;
        refuse(why, "\"%.100s\" is not a number", shown(cell));
        return;
    }
    int by_name = to->d->photos || to->r->listed;
    to->d->categorised += column[CSV_CATEGORY] >= 0;
    if (by_name && !detections_numbered(to->d, to->r, &at->owner, &number, why)) return;
    if (!detections_frame(at, to->r, number, 0, why) || !detections_box(to->d, at, box, score, why)) return;
    if (by_name) name_of(&to->d->categories, c, column[CSV_CATEGORY], "1", &at->category, why);
    else if (name_of(&to->d->categories, c, column[CSV_CATEGORY], "1", &at->category, why))
        name_of(&to->d->owners, c, column[CSV_VIDEO], "", &at->owner, why);
}

int detections_from_csv(detections *d, const detections_request *r, const text *file, text *why) {
    static const char *const names[CSV_COLUMNS] = {"frame", "x", "y", "w", "h", "score", "category", "video"};
    reading to = {d, r};
    const csv_table table = {names, CSV_COLUMNS, CSV_SCORE,
                             "; frames are counted from 0, boxes are in pixels from the top left corner", take_row,
                             &to};
    return csv_read(&table, file, why);
}

/* --- CSV of photos ------------------------------------------------------------------------------------------------ */

enum { PHOTO_PATH, PHOTO_X, PHOTO_SCORE = 5, PHOTO_CATEGORY, PHOTO_ID, PHOTO_IDENTITY, PHOTO_COLUMNS };

/* Reads the columns id and identity; in a column that exists, no cell may be empty. */
static int take_names(const reading *to, const csv *c, const int *column, detection *at, text *why) {
    const char *id = column[PHOTO_ID] >= 0 ? csv_field(c, column[PHOTO_ID]) : NULL;
    const char *identity = column[PHOTO_IDENTITY] >= 0 ? csv_field(c, column[PHOTO_IDENTITY]) : NULL;
    if ((id && !*id) || (identity && !*identity)) return refuse(why, "an empty %s", id && !*id ? "id" : "identity");
    if (identity && strchr(identity, '/')) return refuse(why, "the identity \"%s\" has a slash", shown(identity));
    if (id) at->id = detections_name_latest(&to->d->ids, id, strlen(id));
    if (identity) at->identity = detections_name_latest(&to->d->identities, identity, strlen(identity));
    return ((!id || at->id != UINT32_MAX) && (!identity || at->identity != UINT32_MAX)) || text_no_memory(why);
}

static int take_box(const csv *c, const int *column, double box[4], double *score, text *why) {
    static const double most = 1e12;
    for (int k = PHOTO_X; k <= PHOTO_SCORE; k++) {
        const char *cell = column[k] >= 0 ? csv_field(c, column[k]) : "";
        double *value = k == PHOTO_SCORE ? score : &box[k - PHOTO_X];
        if ((k == PHOTO_SCORE && !*cell) || parse_real(cell, -most, most, value)) continue;
        return refuse(why, "\"%.100s\" is not a number", shown(cell));
    }
    return 1;
}

static void take_photo_row(const csv *c, const int *column, void *user, text *why) {
    const reading *to = user;
    const char *path = csv_field(c, column[PHOTO_PATH]);
    double number, box[4], score = NAN;
    detection *at = detections_add(to->d);
    to->d->categorised += column[PHOTO_CATEGORY] >= 0;
    if (!at) text_no_memory(why);
    else if (!*path) refuse(why, "an empty path");
    else if (take_box(c, column, box, &score, why) && take_names(to, c, column, at, why) &&
             detections_picture(to->d, to->r, path, &at->owner, &number, why) &&
             detections_frame(at, to->r, number, 0, why) && detections_box(to->d, at, box, score, why))
        name_of(&to->d->categories, c, column[PHOTO_CATEGORY], "1", &at->category, why);
}

int detections_of_photos_from_csv(detections *d, const detections_request *r, const text *file, text *why) {
    static const char *const names[PHOTO_COLUMNS] = {"path",     "x",  "y",       "width", "height", "score",
                                                     "category", "id", "identity"};
    reading to = {d, r};
    const csv_table table = {names, PHOTO_COLUMNS, PHOTO_SCORE,
                             "; boxes are in pixels from the top left corner. Corners (x1,y1,x2,y2) must be converted",
                             take_photo_row, &to};
    return csv_read(&table, file, why);
}

int detections_csv_has_frames(const text *file) {
    csv c;
    int frames = 0, paths = 0;
    csv_begin(&c, file->s ? file->s : "", file->len);
    if (csv_record(&c))
        for (int i = 0; i < c.count; i++) {
            frames |= strcmp(csv_field(&c, i), "frame") == 0;
            paths |= strcmp(csv_field(&c, i), "path") == 0;
        }
    csv_free(&c);
    return frames && !paths;
}
