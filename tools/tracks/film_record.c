#include "tracks/film_record.h"

#include "base/crc32.h"
#include "base/memory.h"
#include "base/say.h"
#include "base/text.h"
#include "tracks/best_frames.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* A record: MAGIC, a head, the texts, boxes, scenes, tracks with their shots, rows, and the CRC-32 of all of these. */
static const char MAGIC[8] = "film 1\n";

/* The numbers of a film. */
typedef struct head {
    uint64_t frames, beyond, boxes, tracks, scenes, rows, dim;
    double seconds;
    int32_t width, height, streams, unused;
} head;

/* What film_make adds to a detection. */
typedef struct box_record {
    double box[4]; /* in pixels */
    uint64_t number;
} box_record;

static const uint64_t NO_FAILURE = UINT64_MAX;

/* --- writing ------------------------------------------------------------------------------------------------------ */

static void put_string(text *to, const char *s, size_t len) {
    uint64_t length = len;
    text_add(to, &length, sizeof length);
    text_add(to, s, len);
}

static void put_tracks(const film *f, size_t first, text *to) {
    for (size_t i = 0; i < f->count; i++) {
        const film_track *t = &f->tracks[i];
        const uint64_t numbers[] = {t->count, t->first_frame, t->last_frame};
        text_add(to, numbers, sizeof numbers);
        text_add(to, &t->track, sizeof t->track);
        for (size_t k = 0; k < t->count; k++) {
            film_shot shot = t->shots[k];
            shot.row -= first;
            text_add(to, &shot, sizeof shot);
        }
    }
}

static void put_row(const crop_rows *rows, size_t i, text *to) {
    const input *in = &rows->list.at[i];
    size_t dim = (size_t)rows->all->dim;
    put_string(to, in->id, strlen(in->id));
    if (in->failure) put_string(to, in->failure, strlen(in->failure));
    else text_add(to, &NO_FAILURE, sizeof NO_FAILURE);
    text_add(to, rows->rows + i * dim, dim * sizeof *rows->rows);
}

void film_record(const film *f, const crop_rows *rows, size_t first, text *bytes) {
    size_t count = 0;
    for (size_t i = 0; i < f->count; i++) count += f->tracks[i].count;
    const head h = {.frames = f->frames, .beyond = f->beyond, .boxes = f->found.count, .tracks = f->count,
                    .scenes = f->scene_count, .rows = count, .dim = (uint64_t)rows->all->dim, .seconds = f->seconds,
                    .width = f->width, .height = f->height, .streams = f->streams};
    text_clear(bytes);
    text_add(bytes, MAGIC, sizeof MAGIC);
    text_add(bytes, &h, sizeof h);
    put_string(bytes, f->decoder.s ? f->decoder.s : "", f->decoder.len);
    put_string(bytes, f->problem.s ? f->problem.s : "", f->problem.len);
    for (size_t i = 0; i < f->found.count; i++) {
        box_record b = {.number = f->numbers[i]};
        memcpy(b.box, f->found.at[i].box, sizeof b.box);
        text_add(bytes, &b, sizeof b);
    }
    for (size_t i = 0; i < f->scene_count; i++) text_add(bytes, &f->scenes[i], sizeof f->scenes[i]);
    put_tracks(f, first, bytes);
    for (size_t i = first; i < first + count; i++) put_row(rows, i, bytes);
    uint32_t crc = text_failed(bytes) ? 0 : crc32_more(0, bytes->s, bytes->len);
    text_add(bytes, &crc, sizeof crc);
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

typedef struct reading {
    const char *at;
    size_t left;
    film *f;
    crop_rows *rows;
    size_t first; /* the first row of the film */
    head h;
    text *why;    /* empty after a failure that was already reported */
} reading;

static int damaged(reading *r) { return refuse(r->why, "it is damaged"); }

static int take(reading *r, void *to, size_t size) {
    if (size > r->left) return damaged(r);
    if (size) memcpy(to, r->at, size);
    r->at += size, r->left -= size;
    return 1;
}

/* Checks that the remaining bytes can hold `count` elements of at least this size, before memory is reserved for
   them. */
static int there_are(reading *r, uint64_t count, size_t size) { return count <= r->left / size || damaged(r); }

static int take_text(reading *r, text *to) {
    uint64_t length = 0;
    if (!take(r, &length, sizeof length) || !there_are(r, length, 1)) return 0;
    text_clear(to);
    text_add(to, r->at, (size_t)length);
    r->at += length, r->left -= (size_t)length;
    return !text_failed(to) || text_no_memory(r->why);
}

static int take_head(reading *r, const text *bytes) {
    uint32_t crc;
    char magic[sizeof MAGIC] = "";
    if (bytes->len < sizeof crc) return damaged(r);
    memcpy(&crc, bytes->s + bytes->len - sizeof crc, sizeof crc);
    r->at = bytes->s, r->left = bytes->len - sizeof crc;
    if (crc32_more(0, r->at, r->left) != crc) return damaged(r);
    if (!take(r, magic, sizeof magic) || memcmp(magic, MAGIC, sizeof MAGIC) != 0) return damaged(r);
    if (!take(r, &r->h, sizeof r->h)) return 0;
    if (r->h.dim == (uint64_t)r->rows->all->dim && r->h.boxes == r->f->found.count) return 1;
    return refuse(r->why, "it was made with other models or detections");
}

static int take_boxes(reading *r) {
    film *f = r->f;
    f->numbers = mem_array(f->found.count + 1, sizeof *f->numbers);
    if (!f->numbers) return text_no_memory(r->why);
    for (size_t i = 0; i < f->found.count; i++) {
        box_record b;
        if (!take(r, &b, sizeof b)) return 0;
        if (b.number != UINT32_MAX && b.number >= r->h.tracks) return damaged(r);
        memcpy(f->found.at[i].box, b.box, sizeof b.box);
        f->numbers[i] = (uint32_t)b.number;
    }
    f->found.unit = BOX_PIXELS;
    return 1;
}

static int take_scenes(reading *r) {
    film *f = r->f;
    if (!there_are(r, r->h.scenes, sizeof *f->scenes)) return 0;
    f->scenes = mem_array((size_t)r->h.scenes + 1, sizeof *f->scenes);
    if (!f->scenes) return text_no_memory(r->why);
    f->scene_count = (size_t)r->h.scenes;
    return take(r, f->scenes, f->scene_count * sizeof *f->scenes);
}

static int take_track(reading *r, film_track *t) {
    uint64_t numbers[3];
    memset(t, 0, sizeof *t);
    if (!take(r, numbers, sizeof numbers) || !take(r, &t->track, sizeof t->track)) return 0;
    if (numbers[0] > BEST_MOST || t->track.first_box.category < 0 ||
        (size_t)t->track.first_box.category >= r->f->found.categories.count) return damaged(r);
    t->first_frame = (uint32_t)numbers[1], t->last_frame = (uint32_t)numbers[2];
    t->shots = mem_array((size_t)numbers[0] + 1, sizeof *t->shots);
    if (!t->shots) return text_no_memory(r->why);
    for (; t->count < numbers[0]; t->count++) {
        film_shot *shot = &t->shots[t->count];
        if (!take(r, shot, sizeof *shot)) return 0;
        if (shot->row >= r->h.rows) return damaged(r);
        shot->row += r->first;
    }
    return 1;
}

static int take_tracks(reading *r) {
    film *f = r->f;
    if (!there_are(r, r->h.tracks, sizeof f->tracks->track)) return 0;
    f->tracks = mem_array((size_t)r->h.tracks + 1, sizeof *f->tracks);
    if (!f->tracks) return text_no_memory(r->why);
    while (f->count < r->h.tracks)
        if (!take_track(r, &f->tracks[f->count++])) return 0;
    return 1;
}

/* Checks that the image of a crop exists; the interrupted run put it on disk before the record. */
static int has_picture(reading *r, const char *name) {
    struct stat st;
    text path = TEXT_INIT;
    text_printf(&path, "%s/%s", r->rows->folder, name);
    int good = !text_failed(&path) || text_no_memory(r->why);
    if (good && (lstat(path.s, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size == 0))
        good = refuse(r->why, "%.400s no longer exists", shown(path.s));
    text_free(&path);
    return good;
}

static int take_row(reading *r, float *row) {
    text id = TEXT_INIT, failure = TEXT_INIT;
    uint64_t none;
    int good = take_text(r, &id) && has_picture(r, id.s ? id.s : ""), failed = 0;
    if (good) good = r->left >= sizeof none || damaged(r);
    if (good) {
        memcpy(&none, r->at, sizeof none);
        failed = none != NO_FAILURE;
        good = failed ? take_text(r, &failure) : take(r, &none, sizeof none);
    }
    good = good && take(r, row, (size_t)r->rows->all->dim * sizeof *row);
    const char *reason = failure.s ? failure.s : "";
    good = good && crop_rows_recall(r->rows, id.s, failed ? reason : NULL, row);
    text_free(&id), text_free(&failure);
    return good;
}

static int take_rows(reading *r) {
    float *row = mem_array((size_t)r->rows->all->dim, sizeof *row);
    int good = row || text_no_memory(r->why);
    for (uint64_t i = 0; i < r->h.rows && good; i++) good = take_row(r, row);
    free(row);
    return good && (r->left == 0 || damaged(r));
}

int film_recall(film *f, const film_request *request, crop_rows *rows, const text *bytes, const char *name) {
    text why = TEXT_INIT;
    reading r = {.f = f, .rows = rows, .first = rows->list.count, .why = &why};
    f->r = request;
    int good = take_head(&r, bytes) && take_text(&r, &f->decoder) && take_text(&r, &f->problem) && take_boxes(&r) &&
               take_scenes(&r) && take_tracks(&r) && take_rows(&r);
    if (!good && why.len)
        say_error("%s, the record of an interrupted run: %s; remove it to have the video read again",
                  shown(name), why.s);
    text_free(&why);
    f->frames = (size_t)r.h.frames, f->beyond = (size_t)r.h.beyond, f->seconds = r.h.seconds;
    f->width = r.h.width, f->height = r.h.height, f->streams = r.h.streams;
    f->recalled = good;
    return good;
}
