#include "report/film_report.h"

#include "base/json_write.h"
#include "base/memory.h"
#include "base/when.h"
#include "report/page_fill.h"

#include <stdlib.h>
#include <string.h>

/* A whole track with the shots of all its parts, best first. */
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
    if (!w->parts++) w->first = part, w->first_frame = part->first_frame, w->begin = part->track.first;
    if (part->first_frame < w->first_frame) w->first_frame = part->first_frame, w->begin = part->track.first;
    if (part->last_frame >= w->last_frame) w->last_frame = part->last_frame, w->end = part->track.last;
    w->boxes += part->track.boxes;
    for (size_t i = 0; i < part->count; i++) w->shots[w->count++] = &part->shots[i];
}

/* Calls `each` for whole tracks 1, 2, ... with their parts. Returns 0 if memory runs out. */
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

/* The time by the camera's clock, whose time zone is unknown. */
static void camera_time(text *t, const photo *is) {
    text when = TEXT_INIT;
    when_text(&when, is->when);
    if (when.len && when.s[when.len - 1] == 'Z') when.s[--when.len] = 0;
    text_join(t, &when);
    text_free(&when);
}

/* Writes the path of the photo, and when it was taken. */
static void photo_json(json_writer *w, const photo *is) {
    json_put_string(w, "photo", is->path);
    if (!is->dated) {
        json_put_null(w, "time");
        return;
    }
    text_putc(json_put_value(w, "time"), '"');
    camera_time(w->out, is);
    text_putc(w->out, '"');
}

static void shot_json(json_writer *w, const film_report *r, const film *f, const film_shot *s) {
    const input *in = &r->rows->list.at[s->row];
    const double box[] = {s->box.x, s->box.y, s->box.w, s->box.h};
    const double crop[] = {s->crop.x, s->crop.y, s->crop.width, s->crop.height};
    size_t row = s->row;
    json_put_object(w, NULL);
    json_put_string(w, "path", in->id);
    for (size_t i = 0; i < s->row && r->rows->failed; i++)
        row -= r->rows->list.at[i].failure != NULL; /* they have no row in the file */
    if (in->failure) json_put_null(w, "row");
    else json_put_count(w, "row", row);
    if (f->r->photos) photo_json(w, &f->r->photos->at[s->frame]);
    json_put_count(w, "frame", s->frame);
    json_put_number(w, "seconds", s->seconds, 9);
    json_put_numbers(w, "box", box, 4, 9);
    json_put_numbers(w, "crop", crop, 4, 10);
    json_put_number(w, "score", s->box.score, 9);
    json_put_number(w, "quality", s->quality, 6);
    json_put_end(w);
}

typedef struct listing {
    const film_report *r;
    json_writer *w;
    size_t scene;
} listing;

static void track_json(const whole *all, void *user) {
    listing *l = user;
    json_writer *w = l->w;
    const film_track *first = all->first;
    if (first->track.scene != l->scene) return;
    json_put_line(w, 8);
    json_put_object(w, NULL);
    json_put_count(w, "track", first->number);
    if (first->group == FILM_NO_GROUP) json_put_null(w, "group");
    else json_put_count(w, "group", first->group);
    json_put_string(w, "category", detections_category(&all->f->found, (uint32_t)first->track.first_box.category));
    json_put_count(w, "boxes", all->boxes);
    json_put_count(w, "first_frame", all->first_frame);
    json_put_count(w, "last_frame", all->last_frame);
    json_put_number(w, "first", all->begin, 9);
    json_put_number(w, "last", all->end, 9);
    json_put_count(w, "parts", all->parts);
    json_put_array(w, "frames");
    for (size_t i = 0; i < all->count; i++) {
        json_put_line(w, 10);
        shot_json(w, l->r, all->f, all->shots[i]);
    }
    json_put_end(w);
    json_put_end(w);
}

static void found_json(json_writer *w, const film_report *r, const film *f) {
    json_put_line(w, 5);
    json_put_object(w, "detections");
    json_put_string(w, "file", r->detections);
    json_put_string(w, "format", f->found.format);
    json_put_count(w, "boxes", f->found.count);
    json_put_count(w, "without_area", f->found.empty);
    json_put_count(w, "beyond_the_end", f->beyond);
    json_put_end(w);
}

static void source_json(json_writer *w, const film *f) {
    text decoder = TEXT_INIT;
    json_put_string(w, "video", f->r->video.path);
    json_put_string(w, "name", f->r->name);
    if (f->r->photos) {
        json_put_null(w, "decoder");
        json_put_number(w, "burst", f->r->burst, 9);
        json_put_count(w, "without_time", f->r->photos->undated);
    } else {
        if (f->decoder.len) text_visible(&decoder, f->decoder.s);
        json_put_format(w, "decoder", "ffmpeg %s", decoder.s ? decoder.s : "");
        if (text_failed(&decoder)) text_no_memory(w->out);
    }
    json_put_int(w, "stream", f->r->video.stream);
    text_free(&decoder);
}

static void scenes_json(json_writer *w, const film_report *r, const film *f) {
    listing l = {.r = r, .w = w};
    json_put_line(w, 5);
    json_put_array(w, "scenes");
    for (; l.scene < f->scene_count; l.scene++) {
        const film_scene *s = &f->scenes[l.scene];
        json_put_line(w, 6);
        json_put_object(w, NULL);
        json_put_count(w, "scene", l.scene);
        json_put_count(w, "frame", s->frame);
        json_put_number(w, "seconds", s->seconds, 9);
        json_put_array(w, "tracks");
        if (!each_whole(f, track_json, &l)) text_no_memory(w->out);
        json_put_end(w);
        json_put_end(w);
    }
    json_put_end(w);
}

static void film_json(json_writer *w, const film_report *r, const film *f) {
    json_put_line(w, 4);
    json_put_object(w, NULL);
    source_json(w, f);
    json_put_line(w, 5);
    json_put_count(w, "frames", f->frames);
    json_put_int(w, "width", f->width);
    json_put_int(w, "height", f->height);
    json_put_number(w, "seconds", f->seconds, 9);
    json_put_bool(w, "complete", !f->problem.len);
    json_put_string(w, "problem", f->problem.len ? f->problem.s : NULL);
    found_json(w, r, f);
    scenes_json(w, r, f);
    json_put_end(w);
}

void films_json(const film_report *r, text *t) {
    json_writer w = json_write(t);
    json_put_object(&w, NULL);
    json_put_line(&w, 2);
    json_put_string(&w, "format", "reid-tracks");
    json_put_int(&w, "format_version", 1);
    json_put_string(&w, "reid", reid_version_string());
    json_put_line(&w, 2);
    json_put_number(&w, "threshold", r->threshold, 12);
    json_put_count(&w, "groups", r->groups);
    json_put_line(&w, 2);
    models_json(r->rows->all, &w);
    json_put_line(&w, 2);
    json_put_array(&w, "videos");
    for (size_t i = 0; i < r->count; i++) film_json(&w, r, &r->films[i]);
    json_put_line(&w, 2);
    json_put_end(&w);
    json_put_line(&w, 0);
    json_put_finish(&w);
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

static const unsigned char css[] = {
#include "build/report/film_page.css.bytes"
};
static const unsigned char html[] = {
#include "build/report/film_page.html.bytes"
};
static const page_markup HTML = {html, sizeof html};

/* Appends the path of a crop as a URL. */
static void add_address(text *t, const char *path) {
    for (; *path; path++) {
        unsigned char c = (unsigned char)*path;
        int plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || strchr("/-_.", c);
        if (plain) text_putc(t, c);
        else text_printf(t, "%%%02X", c);
    }
}

typedef struct page_listing {
    const film_report *r;
    text *t;
} page_listing;

/* Sets the time of a frame: of a photo the date, of a film the time since its beginning. */
static void set_time(page_values *v, const char *key, const film *f, uint32_t frame, double seconds) {
    const photo *is = f->r->photos ? &f->r->photos->at[frame] : NULL;
    text time = TEXT_INIT;
    if (is && is->dated) when_for_people(&time, is->when);
    else if (is) text_puts(&time, "no time");
    else seconds_for_people(&time, seconds);
    page_set(v, key, "%s", time.s ? time.s : "");
    if (text_failed(&time)) text_no_memory(&v->pairs);
    text_free(&time);
}

/* Sets when photos were taken, or how long a film is. Photos without a time are last. */
static void set_span(page_values *v, const film *f) {
    const camera *c = f->r->photos;
    const size_t dated = c ? c->count - c->undated : 0;
    text span = TEXT_INIT;
    if (!c) seconds_for_people(&span, f->seconds);
    if (dated) when_for_people(&span, c->at[0].when);
    if (dated > 1) text_puts(&span, " to "), when_for_people(&span, c->at[dated - 1].when);
    if (c && c->undated) text_printf(&span, "%s%zu without a time", dated ? ", " : "", c->undated);
    page_set(v, "span", "%s", span.s ? span.s : "");
    if (text_failed(&span)) text_no_memory(&v->pairs);
    text_free(&span);
}

static void add_shot(const page_listing *l, const whole *w, const film_shot *s) {
    const camera *taken = w->f->r->photos;
    page_values v = {TEXT_INIT};
    text path = TEXT_INIT;
    add_address(&path, l->r->rows->list.at[s->row].id);
    page_set(&v, "path", "%s", path.s ? path.s : "");
    page_set(&v, "number", "%u", w->first->number);
    set_time(&v, "time", w->f, s->frame, s->seconds);
    page_set(&v, "frame", "%u", s->frame);
    if (taken) page_set(&v, "photo", "%s", path_name(taken->at[s->frame].path));
    if (text_failed(&path)) text_no_memory(&v.pairs);
    page_fill(l->t, &HTML, taken ? "photo" : "shot", &v);
    text_free(&path);
}

static void track_section(const whole *w, void *user) {
    page_listing *l = user;
    page_values v = {TEXT_INIT};
    page_set(&v, "number", "%u", w->first->number);
    if (w->first->group != FILM_NO_GROUP) page_set(&v, "individual", ", individual %u", w->first->group);
    else page_set(&v, "individual", "%s", "");
    page_set(&v, "category", "%s", detections_category(&w->f->found, (uint32_t)w->first->track.first_box.category));
    page_set(&v, "scene", "%s %u", w->f->r->photos ? "burst" : "scene", w->first->track.scene);
    set_time(&v, "from", w->f, w->first_frame, w->begin);
    set_time(&v, "to", w->f, w->last_frame, w->end);
    page_set(&v, "boxes", "%zu %s", w->boxes, w->boxes == 1 ? "box" : "boxes");
    page_fill(l->t, &HTML, "track", &v);
    for (size_t i = 0; i < w->count; i++) add_shot(l, w, w->shots[i]);
    page_fill(l->t, &HTML, "track end", NULL);
}

void film_page(const film_report *r, const film *f, text *t) {
    page_values v = {TEXT_INIT};
    page_set(&v, "name", "%s", f->r->name);
    page_fill(t, &HTML, "head", &v);
    text_add(t, css, sizeof css);
    page_set(&v, "name", "%s", f->r->name);
    page_set(&v, "tracks", "%zu track%s", f->wholes, plural(f->wholes));
    page_set(&v, "scenes", "%zu %s%s", f->scene_count, f->r->photos ? "burst" : "scene", plural(f->scene_count));
    page_set(&v, "frames", "%zu %s%s", f->frames, f->r->photos ? "photo" : "frame", plural(f->frames));
    set_span(&v, f);
    page_fill(t, &HTML, "body", &v);
    if (f->problem.len) {
        page_set(&v, "problem", "%s", f->problem.s);
        page_fill(t, &HTML, "problem", &v);
    }
    page_listing l = {.r = r, .t = t};
    if (!each_whole(f, track_section, &l)) text_no_memory(t);
    page_fill(t, &HTML, "end", NULL);
}
