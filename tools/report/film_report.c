#include "report/film_report.h"

#include "base/memory.h"
#include "base/when.h"

#include <stdlib.h>
#include <string.h>

/* The shots of a whole track, those of all its parts together, best first. */
typedef struct whole {
    const film *f;
    const film_shot **shots;
    size_t count, boxes, parts;
    const film_track *first;
    uint32_t first_frame, last_frame;
    double begin, end; /* seconds */
} whole;

static int by_quality(const void *a, const void *b) {
    const film_shot *const *x = a, *const *y = b;
    if ((*x)->quality != (*y)->quality) return (*x)->quality > (*y)->quality ? -1 : 1;
    return ((*x)->frame > (*y)->frame) - ((*x)->frame < (*y)->frame);
}

static void add_part(whole *w, const film_track *part) {
    if (!w->parts++) w->first = part, w->first_frame = part->first_frame, w->begin = part->is.first;
    if (part->first_frame < w->first_frame) w->first_frame = part->first_frame, w->begin = part->is.first;
    if (part->last_frame >= w->last_frame) w->last_frame = part->last_frame, w->end = part->is.last;
    w->boxes += part->is.boxes;
    for (size_t i = 0; i < part->count; i++) w->shots[w->count++] = &part->shots[i];
}

/* Calls `each` for whole tracks 1, 2, ... with their parts. Returns 0 when there is no memory. */
static int each_whole(const film *f, void (*each)(const whole *w, void *user), void *user) {
    size_t shots = 0;
    for (size_t i = 0; i < f->count; i++) shots += f->tracks[i].count;
    const film_shot **room = mem_array(shots + 1, sizeof *room);
    const film_track **of = mem_array(f->count + 1, sizeof *of); /* tracks, by their numbers */
    size_t *at = mem_zeroed(f->wholes + 2, sizeof *at);
    int good = room && of && at;
    for (size_t i = 0; i < f->count && good; i++) at[f->tracks[i].number + 1]++;
    for (size_t n = 1; n < f->wholes + 2 && good; n++) at[n] += at[n - 1];
    for (size_t i = 0; i < f->count && good; i++) of[at[f->tracks[i].number]++] = &f->tracks[i];
    for (size_t n = 1, i = 0; n <= f->wholes && good; n++) {
        whole w = {.f = f, .shots = room};
        for (; i < f->count && of[i]->number == n; i++) add_part(&w, of[i]);
        if (w.count) qsort(room, w.count, sizeof *room, by_quality);
        each(&w, user);
    }
    free(room), free(of), free(at);
    return good;
}

/* --- JSON --------------------------------------------------------------------------------------------------------- */

/* By the camera's clock, which says nothing of time zones. */
static void camera_time(text *t, const photo *is) {
    text when = TEXT_INIT;
    when_text(&when, is->when);
    if (when.len && when.s[when.len - 1] == 'Z') when.s[--when.len] = 0;
    text_join(t, &when);
    text_free(&when);
}

/* Which photo it is, and when it was taken. */
static void photo_json(text *t, const photo *is) {
    text_puts(t, ", \"photo\": ");
    text_json(t, is->path);
    text_puts(t, is->dated ? ", \"time\": \"" : ", \"time\": null");
    if (is->dated) camera_time(t, is), text_puts(t, "\"");
}

static void shot_json(text *t, const film_report *r, const film *f, const film_shot *s) {
    const input *in = &r->rows->list.at[s->row];
    size_t row = s->row;
    text_puts(t, "{\"path\": ");
    text_json(t, in->id);
    for (size_t i = 0; i < s->row && r->rows->failed; i++)
        row -= r->rows->list.at[i].failure != NULL; /* they have no row in the file */
    if (in->failure) text_puts(t, ", \"row\": null");
    else text_printf(t, ", \"row\": %zu", row);
    if (f->r->photos) photo_json(t, &f->r->photos->at[s->frame]);
    text_printf(t, ", \"frame\": %u, \"seconds\": %.9g, \"box\": [%.9g, %.9g, %.9g, %.9g], \"crop\": [%d, %d, %d, %d]",
                s->frame, s->seconds, s->box.x, s->box.y, s->box.w, s->box.h, s->crop.x, s->crop.y, s->crop.width,
                s->crop.height);
    text_printf(t, ", \"score\": %.9g, \"quality\": %.6g}", s->box.score, s->quality);
}

typedef struct listing {
    const film_report *r;
    text *t;
    size_t scene, listed;
} listing;

static void track_json(const whole *w, void *user) {
    listing *l = user;
    text *t = l->t;
    if (w->first->is.scene != l->scene) return;
    text_printf(t, "%s\n        {\"track\": %u, \"group\": ", l->listed++ ? "," : "", w->first->number);
    if (w->first->group == FILM_NO_GROUP) text_puts(t, "null");
    else text_printf(t, "%u", w->first->group);
    text_puts(t, ", \"category\": ");
    text_json(t, detections_category(&w->f->found, (uint32_t)w->first->is.first_box.category));
    text_printf(t, ", \"boxes\": %zu, \"first_frame\": %u, \"last_frame\": %u, \"first\": %.9g, \"last\": %.9g, "
                   "\"parts\": %zu, \"frames\": [", w->boxes, w->first_frame, w->last_frame, w->begin, w->end,
                w->parts);
    for (size_t i = 0; i < w->count; i++) {
        text_puts(t, i ? ",\n          " : "\n          ");
        shot_json(t, l->r, w->f, w->shots[i]);
    }
    text_puts(t, "]}");
}

static void found_json(text *t, const film_report *r, const film *f) {
    text_puts(t, "     \"detections\": {\"file\": ");
    text_json(t, r->detections);
    text_printf(t, ", \"format\": \"%s\", \"boxes\": %zu, \"without_area\": %zu, \"beyond_the_end\": %zu},\n",
                f->found.format, f->found.count, f->found.empty, f->beyond);
}

static void film_json(text *t, const film_report *r, const film *f) {
    text_puts(t, "    {\"video\": ");
    text_json(t, f->r->video.path);
    text_puts(t, ", \"name\": ");
    text_json(t, f->r->name);
    if (f->r->photos) {
        text_printf(t, ", \"decoder\": null, \"burst\": %.9g, \"without_time\": %zu", f->r->burst,
                    f->r->photos->undated);
    } else {
        text_puts(t, ", \"decoder\": \"ffmpeg ");
        if (f->decoder.len) text_visible(t, f->decoder.s);
        text_puts(t, "\"");
    }
    text_printf(t, ", \"stream\": %d,\n     \"frames\": %zu, \"width\": %d, \"height\": %d, \"seconds\": %.9g, "
                   "\"complete\": %s, \"problem\": ", f->r->video.stream, f->frames, f->width, f->height, f->seconds,
                f->problem.len ? "false" : "true");
    if (f->problem.len) text_json(t, f->problem.s);
    else text_puts(t, "null");
    text_puts(t, ",\n");
    found_json(t, r, f);
    text_puts(t, "     \"scenes\": [");
    listing l = {.r = r, .t = t};
    for (; l.scene < f->scene_count; l.scene++) {
        const film_scene *s = &f->scenes[l.scene];
        text_printf(t, "%s\n      {\"scene\": %zu, \"frame\": %u, \"seconds\": %.9g, \"tracks\": [", l.scene ? "," : "",
                    l.scene, s->frame, s->seconds);
        l.listed = 0;
        if (!each_whole(f, track_json, &l)) text_no_memory(t);
        text_puts(t, "]}");
    }
    text_puts(t, "]}");
}

void films_json(const film_report *r, text *t) {
    text_printf(t, "{\n  \"format\": \"reid-tracks\", \"format_version\": 1, \"reid\": \"%s\",\n",
                reid_version_string());
    text_printf(t, "  \"threshold\": %.12g, \"groups\": %zu,\n  \"models\": ", r->threshold, r->groups);
    models_json(r->rows->all, t);
    text_puts(t, ",\n  \"videos\": [\n");
    for (size_t i = 0; i < r->count; i++) {
        if (i) text_puts(t, ",\n");
        film_json(t, r, &r->films[i]);
    }
    text_puts(t, "\n  ]\n}\n");
}

/* --- MOT ---------------------------------------------------------------------------------------------------------- */

typedef struct mot_row {
    uint32_t number;
    const detection *of;
} mot_row;

static int by_track(const void *a, const void *b) {
    const mot_row *x = a, *y = b;
    if (x->of->frame != y->of->frame) return x->of->frame < y->of->frame ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}

void film_mot(const film *f, text *t) {
    mot_row *rows = mem_array(f->found.count + 1, sizeof *rows);
    size_t n = 0;
    if (!rows) text_no_memory(t);
    for (size_t i = 0; i < f->found.count && rows; i++)
        if (f->numbers[i] != UINT32_MAX)
            rows[n++] = (mot_row){f->tracks[f->numbers[i]].number, &f->found.at[i]};
    if (n) qsort(rows, n, sizeof *rows, by_track);
    for (size_t i = 0; i < n; i++) {
        const detection *d = rows[i].of;
        text_printf(t, "%u,%u,%.9g,%.9g,%.9g,%.9g,%.9g,-1,-1,-1\n", d->frame + 1, rows[i].number, d->box[0] + 1,
                    d->box[1] + 1, d->box[2], d->box[3], d->score);
    }
    free(rows);
}

/* --- a page ------------------------------------------------------------------------------------------------------- */

static const char STYLE[] =
    "body{font:15px/1.5 system-ui,sans-serif;margin:2em auto;max-width:72em;padding:0 1em;color:#222;background:#fff}"
    "section{border-top:1px solid #ccc;padding:.6em 0}h2{font-size:1em;margin:0}p{margin:0;color:#555}"
    "figure{display:inline-block;margin:.4em .8em .4em 0;vertical-align:top}img{height:9em;max-width:18em;"
    "object-fit:contain;background:#eee}figcaption{font-size:.85em;color:#555}"
    "@media(prefers-color-scheme:dark){body{color:#ddd;background:#181818}p,figcaption{color:#aaa}"
    "section{border-color:#444}img{background:#333}}";

/* The path of a crop as an address. */
static void add_address(text *t, const char *path) {
    for (; *path; path++) {
        unsigned char c = (unsigned char)*path;
        int plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || strchr("/-_.", c);
        if (plain) text_putc(t, c);
        else text_printf(t, "%%%02X", c);
    }
}

/* A photo's own name, and when it was taken. */
static void photo_caption(text *t, const photo *is) {
    const char *slash = strrchr(is->path, '/');
    text_html(t, slash ? slash + 1 : is->path);
    text_puts(t, "<br>");
    if (is->dated) camera_time(t, is);
    else text_puts(t, "no time");
}

static void track_section(const whole *w, void *user) {
    listing *l = user;
    text *t = l->t;
    text_printf(t, "<section><h2>Track %u", w->first->number);
    if (w->first->group != FILM_NO_GROUP) text_printf(t, ", individual %u", w->first->group);
    text_puts(t, "</h2><p>Category ");
    text_html(t, detections_category(&w->f->found, (uint32_t)w->first->is.first_box.category));
    text_printf(t, ", scene %u, %.2f to %.2f s, %zu boxes</p>\n", w->first->is.scene, w->begin, w->end, w->boxes);
    for (size_t i = 0; i < w->count; i++) {
        const film_shot *s = w->shots[i];
        text_puts(t, "<figure><img src=\"");
        add_address(t, l->r->rows->list.at[s->row].id);
        text_printf(t, "\" alt=\"track %u at %.2f s\" loading=\"lazy\"><figcaption>", w->first->number, s->seconds);
        if (w->f->r->photos) photo_caption(t, &w->f->r->photos->at[s->frame]);
        else text_printf(t, "%.2f s, frame %u", s->seconds, s->frame);
        text_puts(t, "</figcaption></figure>\n");
    }
    text_puts(t, "</section>\n");
}

void film_page(const film_report *r, const film *f, text *t) {
    text_puts(t, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
                 "content=\"width=device-width\"><title>");
    text_html(t, f->r->name);
    text_printf(t, "</title><style>%s</style></head><body>\n<h1>", STYLE);
    text_html(t, f->r->name);
    text_printf(t, "</h1>\n<p>%zu tracks in %zu %s, %zu %s, %.1f s</p>\n", f->wholes, f->scene_count,
                f->r->photos ? "bursts" : "scenes", f->frames, f->r->photos ? "photos" : "frames", f->seconds);
    if (f->problem.len) text_puts(t, "<p><strong>"), text_html(t, f->problem.s), text_puts(t, "</strong></p>\n");
    listing l = {.r = r, .t = t};
    if (!each_whole(f, track_section, &l)) text_no_memory(t);
    text_puts(t, "</body></html>\n");
}
