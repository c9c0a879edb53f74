/* Detections as lines of numbers: MOT text and CSV. */
#include "pictures/detections_text.h"

#include "base/csv.h"
#include "base/memory.h"
#include "base/say.h"
#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* --- MOT ---------------------------------------------------------------------------------------------------------- */

/* Columns: frame, id, x, y, width, height, then the score alone (7), or with three numbers that do not matter (10), or,
   in the ground truth of MOT16 and later, a flag, a class and a visibility (9). Between them are commas, semicolons or
   blanks. */
enum { MOT_FRAME, MOT_ID, MOT_X, MOT_SCORE = 6, MOT_CLASS, MOT_VISIBILITY, MOT_COLUMNS = 10 };

typedef struct mot_line {
    double value[MOT_COLUMNS];
    int count;
} mot_line;

/* Takes a line apart. Returns 0 with the reason in why. */
static int mot_numbers(char *line, mot_line *to, text *why) {
    static const char between[] = " \t,;";
    to->count = 0;
    for (char *at = line + strspn(line, " \t"), *end; *at; at = end) {
        size_t len = strcspn(at, between);
        end = at + len + strspn(at + len, " \t");
        if (*end && strchr(",;", *end)) end += 1 + strspn(end + 1, " \t");
        const char separator = at[len];
        at[len] = 0;
        if (to->count < MOT_COLUMNS && !parse_real(at, -1e12, 1e12, &to->value[to->count]))
            return refuse(why, "\"%.100s\" is not a number", shown(at));
        to->count++;
        if (!separator) break;
    }
    return to->count == 7 || to->count == 9 || to->count == 10 ||
           refuse(why, "%d column%s; expected the 10 of MOT text: frame,id,x,y,w,h,score,x,y,z; or 7: up to the "
                       "score; or 9: frame,id,x,y,w,h,flag,class,visibility", to->count, plural((size_t)to->count));
}

/* 1 if a line may be one of a ground truth with nine columns: a flag, a class and a visibility from 0 to 1. */
static int may_be_truth(const mot_line *l) {
    const double *v = l->value;
    return l->count == 9 && (v[MOT_SCORE] == 0 || v[MOT_SCORE] == 1) && v[MOT_CLASS] >= 1 &&
           v[MOT_CLASS] == floor(v[MOT_CLASS]) && v[MOT_VISIBILITY] >= 0 && v[MOT_VISIBILITY] <= 1;
}

static int take_mot(detections *d, const detections_request *r, const mot_line *l, int is_truth, text *why) {
    char category[32] = "1";
    const double *v = l->value;
    if (is_truth && v[MOT_SCORE] == 0) return d->flagged++, 1; /* which evaluations ignore */
    detection *at = detections_add(d);
    if (!at) return text_no_memory(why);
    d->categorised += is_truth != 0;
    if (is_truth) snprintf(category, sizeof category, "%.0f", v[MOT_CLASS]);
    at->category = detections_name(&d->categories, category, strlen(category));
    if (at->category == UINT32_MAX) return text_no_memory(why);
    const double box[4] = {v[MOT_X] - 1, v[MOT_X + 1] - 1, v[MOT_X + 2], v[MOT_X + 3]};
    const double score = is_truth || v[MOT_SCORE] == -1 ? NAN : v[MOT_SCORE]; /* -1: unknown */
    double number = v[MOT_FRAME];
    int by_name = d->photos || r->listed; /* then the number is the one in an image's name */
    if (by_name && !detections_numbered(d, r, &at->owner, &number, why)) return 0;
    return detections_frame(at, r, number, !by_name, why) && detections_box(d, at, box, score, why);
}

/* Calls take for each line that is not empty. Returns 0 with its number in *number. */
static int each_mot_line(const text *file, size_t *number, text *why,
                         int (*take)(void *user, const mot_line *l, text *why), void *user) {
    text line = TEXT_INIT;
    mot_line l;
    int good = 1;
    *number = 0;
    for (size_t at = utf8_mark(file->s, file->len), end; good && at < file->len; at = end + 1) {
        for (end = at; end < file->len && file->s[end] != '\n'; end++) continue;
        ++*number;
        text_clear(&line);
        text_add(&line, file->s + at, end - at);
        while (line.len && strchr("\r \t", line.s[line.len - 1])) line.s[--line.len] = 0;
        if (text_failed(&line)) good = text_no_memory(why);
        else if (line.len) good = mot_numbers(line.s, &l, why) && take(user, &l, why);
    }
    text_free(&line);
    return good;
}

typedef struct mot_reading {
    detections *d;
    const detections_request *r;
    int is_truth;
} mot_reading;

static int look_at_mot(void *user, const mot_line *l, text *why) {
    mot_reading *m = user;
    (void)why;
    m->is_truth = m->is_truth && may_be_truth(l);
    return 1;
}

static int read_mot(void *user, const mot_line *l, text *why) {
    mot_reading *m = user;
    return take_mot(m->d, m->r, l, m->is_truth, why);
}

/* In two passes: whether it is a ground truth shows in all lines together. */
int detections_from_mot(detections *d, const detections_request *r, const text *file, text *why) {
    mot_reading m = {d, r, 1};
    size_t number;
    text reason = TEXT_INIT;
    int good = (detections_name(&d->categories, "1", 1) != UINT32_MAX && /* unless it is a ground truth */
                detections_name(&d->owners, "", 0) != UINT32_MAX) || text_no_memory(why);
    if (good && (!each_mot_line(file, &number, &reason, look_at_mot, &m) ||
                 !each_mot_line(file, &number, &reason, read_mot, &m)))
        good = refuse(why, "line %zu: %s", number, reason.s);
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
        if (!cell || (k == CSV_SCORE && !*cell) || csv_number(c, column[k], -most, most, value)) continue;
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
        if ((k == PHOTO_SCORE && !*cell) || csv_number(c, column[k], -most, most, value)) continue;
        return refuse(why, "\"%.100s\" is not a number", shown(cell));
    }
    if (box[2] > 0 && box[3] > 0 && box[2] <= 1 && box[3] <= 1 && (box[2] < 1 || box[3] < 1))
        return refuse(why, "a box of %g x %g looks like fractions of the image, but boxes in CSV are in pixels", box[2],
                      box[3]);
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
    csv_begin_table(&c, file->s ? file->s : "", file->len);
    if (csv_record(&c))
        for (int i = 0; i < c.count; i++) {
            frames |= csv_is_named(&c, i, "frame");
            paths |= csv_is_named(&c, i, "path");
        }
    csv_free(&c);
    return frames && !paths;
}
