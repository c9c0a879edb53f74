#include "report/camtrap_export.h"

#include "base/csv.h"
#include "base/files.h"
#include "base/folder.h"
#include "base/memory.h"
#include "base/say.h"
#include "base/text.h"
#include "base/when.h"
#include "embedding/imported.h"
#include "pictures/paths.h"
#include "pictures/picture.h"
#include "report/camtrap_package.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const size_t MOST_BYTES = (size_t)1 << 32;
static const long long MOST_PIXELS = 1000000000000; /* for an image whose size alone is read */
static const char OURS[] = "reid:";

/* The table of observations, in the order of its schema. */
enum {
    OBSERVATION, DEPLOYMENT, MEDIUM, EVENT, START, END, LEVEL, TYPE, SETUP, SPECIES, COUNT, STAGE, SEX, BEHAVIOR,
    INDIVIDUAL, RADIUS, ANGLE, SPEED, BOX_X, BOX_Y, BOX_WIDTH, BOX_HEIGHT, METHOD, BY, WHEN, PROBABILITY, TAGS,
    COMMENTS, COLUMNS
};
static const char *const NAMES[COLUMNS] = {
    "observationID", "deploymentID", "mediaID", "eventID", "eventStart", "eventEnd", "observationLevel",
    "observationType", "cameraSetupType", "scientificName", "count", "lifeStage", "sex", "behavior", "individualID",
    "individualPositionRadius", "individualPositionAngle", "individualSpeed", "bboxX", "bboxY", "bboxWidth",
    "bboxHeight", "classificationMethod", "classifiedBy", "classificationTimestamp", "classificationProbability",
    "observationTags", "observationComments"};

typedef struct export {
    const camtrap_request *r;
    camtrap_package package;
    size_t *decision;      /* [crops]: 1 + the index of the last decision about each; 0: none */
    text machine;          /* classifiedBy of crops without a decision */
    const char *sized;     /* the last image whose size was read */
    int width, height;
    text table, why;
} export;

/* --- cells -------------------------------------------------------------------------------------------------------- */

/* Quotes as in RFC 4180 only. A mark that protects against formulas in spreadsheets would end up in the data of those
   who read the package. */
static void add_cell(text *t, const char *s) {
    int quoted = s[strcspn(s, ",\"\r\n")] != 0 || *s == ' ' || text_ends_with(s, " ");
    if (quoted) text_putc(t, '"');
    for (; *s; s++) {
        if (*s == '"') text_putc(t, '"');
        text_putc(t, *s);
    }
    if (quoted) text_putc(t, '"');
}

static void add_row(text *t, const char *const cells[COLUMNS]) {
    for (int k = 0; k < COLUMNS; k++) {
        if (k) text_putc(t, ',');
        if (cells[k]) add_cell(t, cells[k]);
    }
    text_putc(t, '\n');
}

/* --- observations of the package ---------------------------------------------------------------------------------- */

static int find_columns(const csv *c, int from[COLUMNS], text *why) {
    for (int k = 0; k < COLUMNS; k++) from[k] = -1;
    for (int i = 0; i < c->count; i++) {
        int k = 0;
        while (k < COLUMNS && strcmp(csv_field(c, i), NAMES[k]) != 0) k++;
        if (k == COLUMNS || from[k] >= 0)
            return refuse(why, "line %zu: \"%.60s\" is not a column of observations, or is given twice", c->line,
                          csv_field(c, i));
        from[k] = i;
    }
    return from[OBSERVATION] >= 0 || refuse(why, "line %zu: observationID is missing", c->line);
}

static int keep_rows(export *e, const text *file) {
    csv c;
    int from[COLUMNS], columns = 0;
    csv_begin(&c, file->s ? file->s : "", file->len);
    c.verbatim = 1;
    int good = !csv_record(&c) || find_columns(&c, from, &e->why);
    columns = c.count;
    while (good && csv_record(&c)) {
        const char *cells[COLUMNS];
        if (c.count != columns)
            good = refuse(&e->why, "line %zu: expected %d fields, found %d", c.line, columns, c.count);
        for (int k = 0; k < COLUMNS && good; k++) cells[k] = from[k] < 0 ? NULL : csv_field(&c, from[k]);
        if (good && strncmp(cells[OBSERVATION], OURS, strlen(OURS)) != 0) add_row(&e->table, cells);
    }
    if (good && c.error) good = refuse(&e->why, "line %zu: %s", c.line, c.error);
    csv_free(&c);
    return good;
}

/* Copies the observations of the package, which may have none yet. */
static int keep_observations(export *e) {
    text path = TEXT_INIT, file = TEXT_INIT;
    camtrap_path(&e->package, e->package.observations_file, &path);
    int good = need_text(&path);
    if (good && (access(path.s, F_OK) == 0 || errno != ENOENT)) {
        good = file_read(path.s, MOST_BYTES, 1, &file, &e->why) && keep_rows(e, &file);
        if (!good) say_error("%s: %s", shown(path.s), e->why.s);
    }
    text_free(&path), text_free(&file);
    return good;
}

/* --- classification ----------------------------------------------------------------------------------------------- */

static void mark(export *e, const char *id, size_t from) {
    size_t at = crops_find(e->r->crops, id);
    if (at != SIZE_MAX && e->decision[at] < from + 1) e->decision[at] = from + 1;
}

static int find_people(export *e) {
    const decision_state *s = e->r->state;
    const store_meta *makers = &e->r->crops->makers;
    e->decision = need_zeroed(e->r->crops->count, sizeof *e->decision);
    for (size_t i = 0; s && i < s->sames && e->decision; i++) {
        mark(e, s->same[i].a, s->same[i].from);
        mark(e, s->same[i].b, s->same[i].from);
    }
    for (size_t i = 0; s && i < s->name_count && e->decision; i++) mark(e, s->names[i].id, s->names[i].from);
    text_printf(&e->machine, "reid %s", reid_version_string());
    for (int i = 0; i < makers->models; i++) {
        const store_model *m = &makers->model[i];
        text_printf(&e->machine, "%s %s %.8s", i ? " and" : ",", m->network,
                    is_imported(m->fingerprint) ? m->preset : m->fingerprint);
    }
    return e->decision && need_text(&e->machine);
}

/* --- boxes -------------------------------------------------------------------------------------------------------- */

static int find_size(export *e, const char *path) {
    const picture_limits limits = picture_limits_of(MOST_PIXELS, 1);
    picture p;
    if (e->sized && strcmp(e->sized, path) == 0) return 1;
    memset(&p, 0, sizeof p);
    int good = picture_open(&p, path, &limits, &e->why), turned = p.facts.orientation >= 5; /* stored rotated */
    e->width = turned ? p.height : p.width, e->height = turned ? p.width : p.height;
    e->sized = good ? path : NULL;
    picture_free(&p);
    return good;
}

/* Computes the box as fractions of the image, cut at its edges: left, top, width and height. Returns 0 with the
   reason in why. */
static int share_box(export *e, const input *in, double out[4]) {
    if (in->unit == BOX_PIXELS && !find_size(e, in->path)) return 0;
    for (int k = 0; k < 2; k++) {
        double size = in->unit == BOX_PIXELS ? (k ? e->height : e->width) : 1;
        double begin = in->box[k] / size, end = (in->box[k] + in->box[k + 2]) / size;
        out[k] = begin < 0 ? 0 : begin;
        out[k + 2] = (end > 1 ? 1 : end) - out[k];
        if (!(out[k] < 1) || !(out[k + 2] > 1e-9)) return refuse(&e->why, "its box is outside the image");
    }
    return 1;
}

/* --- one crop ----------------------------------------------------------------------------------------------------- */

typedef struct row_text {
    text id, individual, box[4], when, probability;
} row_text;

static void classify(const export *e, size_t row, row_text *t, const char *cells[COLUMNS]) {
    const camtrap_request *r = e->r;
    const decision *by = e->decision[row] ? &r->decided->at[e->decision[row] - 1] : NULL;
    long long when = by ? by->when : r->now;
    when_text(&t->when, when - (when % 1000 + 1000) % 1000); /* the format has only whole seconds */
    cells[WHEN] = t->when.s;
    cells[METHOD] = by ? "human" : "machine";
    cells[BY] = by ? by->by : e->machine.s;
    if (by || !r->calibration || isnan(r->found->score[row])) return;
    double probability = calibration_probability(r->calibration, r->found->score[row]);
    text_printf(&t->probability, "%.6f", probability < 0 ? 0 : probability > 1 ? 1 : probability);
    cells[PROBABILITY] = t->probability.s;
}

/* The path without root and without a leading ./. */
static const char *below(const char *path, const char *root) {
    size_t n = root ? strlen(root) : 0;
    while (n > 0 && root[n - 1] == '/') n--;
    if (n > 0 && strncmp(path, root, n) == 0 && path[n] == '/') path += n + 1;
    while (strncmp(path, "./", 2) == 0) path += 2;
    return path;
}

/* Refuses two images with the same medium: the medium of one of them must be missing. */
static camtrap_medium *find_medium(export *e, const char *crop, const char *path, size_t length) {
    camtrap_medium *m = camtrap_find(&e->package, path, length, &e->why);
    if (!m) return NULL;
    if (m->crop && (m->path_length != length || memcmp(m->path_of_crop, path, length) != 0)) {
        refuse(&e->why, "its medium would be %s, but that belongs to %s", shown(m->id), shown(m->crop));
        return NULL;
    }
    m->crop = crop, m->path_of_crop = path, m->path_length = length;
    return m;
}

static int locate(export *e, size_t row, row_text *t, const char *cells[COLUMNS]) {
    const char *id = e->r->crops->ids[row];
    const input *in = e->r->boxes ? e->r->boxes[row] : NULL;
    const char *whole = below(in ? in->path : id, e->r->root);
    const char *path = in ? path_from_camera(whole, e->r->crops->facts[row].camera) : whole;
    const camtrap_medium *m = find_medium(e, id, path, in ? strlen(path) : crop_picture_length(path));
    double box[4];
    if (!m) return 0;
    cells[DEPLOYMENT] = m->deployment, cells[MEDIUM] = m->id, cells[START] = cells[END] = m->time;
    if (!in || in->unit == BOX_NONE) return 1;
    if (!share_box(e, in, box)) return 0;
    for (int k = 0; k < 4; k++) {
        text_printf(&t->box[k], "%.9f", box[k]);
        cells[BOX_X + k] = t->box[k].s;
    }
    return 1;
}

static int add_crop(export *e, size_t row, row_text *t) {
    const clusters *c = e->r->found;
    const char *cells[COLUMNS] = {NULL}, *name = c->names[c->group[row]];
    text_clear(&t->id), text_clear(&t->individual), text_clear(&t->when), text_clear(&t->probability);
    for (int k = 0; k < 4; k++) text_clear(&t->box[k]);
    text_printf(&t->id, "%s%s", OURS, c->ids[row]);
    if (name && *name) text_puts(&t->individual, name);
    else text_printf(&t->individual, "group-%u", (unsigned)c->number[c->group[row]]);
    cells[OBSERVATION] = t->id.s, cells[INDIVIDUAL] = t->individual.s;
    cells[LEVEL] = "media", cells[TYPE] = "animal", cells[COUNT] = "1", cells[SPECIES] = e->r->species;
    if (!locate(e, row, t, cells)) {
        say_error("%s: %s", shown(c->ids[row]), e->why.s);
        return 0;
    }
    classify(e, row, t, cells);
    int good = need_text(&t->id) && need_text(&t->individual) && need_text(&t->when) && need_text(&t->probability);
    for (int k = 0; k < 4; k++) good = good && need_text(&t->box[k]);
    if (good) add_row(&e->table, cells);
    return good;
}

static int add_crops(export *e, size_t *written) {
    row_text t;
    int good = 1;
    memset(&t, 0, sizeof t);
    *written = 0;
    for (size_t i = 0; i < e->r->found->rows && good; i++) {
        if (e->r->found->group[i] == CLUSTERS_NONE) continue;
        good = !interrupted() && add_crop(e, i, &t);
        *written += (size_t)good;
    }
    text_free(&t.id), text_free(&t.individual), text_free(&t.when), text_free(&t.probability);
    for (int k = 0; k < 4; k++) text_free(&t.box[k]);
    return good && need_text(&e->table);
}

/* --- the folder --------------------------------------------------------------------------------------------------- */

static int copy_file(export *e, const char *name, const char *to_folder) {
    text from = TEXT_INIT, to = TEXT_INIT, file = TEXT_INIT;
    int ours = strcmp(name, e->package.observations_file) == 0;
    camtrap_path(&e->package, name, &from);
    text_printf(&to, "%s/%s", to_folder, name);
    int good = need_text(&from) && need_text(&to);
    if (good && !ours && !file_read(from.s, MOST_BYTES, 1, &file, &e->why)) {
        say_error("%s: %s", shown(from.s), e->why.s);
        good = 0;
    }
    if (good && !file_write(to.s, NULL, ours ? &e->table : &file, &e->why)) {
        say_error("%s: %s", shown(to.s), e->why.s);
        good = 0;
    }
    text_free(&from), text_free(&to), text_free(&file);
    return good;
}

/* Makes the folder appear under its name when it is complete, or not at all. */
static int write_folder(export *e) {
    folder out = {0};
    int made = folder_begin(&out, e->r->out, &e->why), good = made && copy_file(e, "datapackage.json", out.temp);
    for (size_t i = 0; i < e->package.file_count && good; i++) good = copy_file(e, e->package.files[i], out.temp);
    good = good && !interrupted();
    int finished = good && folder_finish(&out, &e->why);
    if (!made || good != finished) say_error("%s: %s", shown(e->r->out), e->why.s);
    folder_end(&out);
    return finished;
}

/* --- the export --------------------------------------------------------------------------------------------------- */

int camtrap_export(const camtrap_request *r, size_t *written) {
    export e;
    struct stat there;
    memset(&e, 0, sizeof e);
    e.r = r;
    if (lstat(r->out, &there) == 0) {
        say_error("%s: already exists", shown(r->out));
        return 0;
    }
    add_row(&e.table, NAMES);
    int good = camtrap_open(&e.package, r->package) && find_people(&e) && keep_observations(&e) &&
               add_crops(&e, written) && write_folder(&e);
    camtrap_free(&e.package);
    free(e.decision);
    text_free(&e.machine), text_free(&e.table), text_free(&e.why);
    return good;
}
