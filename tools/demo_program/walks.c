#include "demo_program/walks.h"

#include "base/random.h"

#include <math.h>
#include <string.h>

enum { GRID = 24 }; /* points per side of a box at which visibility is tested */

/* ---- scenes ------------------------------------------------------------------------------------------------------ */

static void make_walk(walk *w, const film *f, const film_scene *s, uint64_t *r) {
    double length = f->seconds / f->scenes;
    w->depth = between(r, 0, 1);
    w->scale = f->width * (0.10 + 0.12 * w->depth);
    w->y = f->height * (s->horizon + (0.92 - s->horizon) * (0.25 + 0.6 * w->depth)) - 0.2 * w->scale;
    double across = f->width * between(r, -0.15, 1.15);
    w->speed = w->scale * between(r, 0.1, 0.9) * (between(r, 0, 1) < 0.5 ? -1 : 1);
    w->x = across - w->speed * between(r, 0.2, 0.8) * length; /* so that it is in view in the middle of the scene */
    w->pace = between(r, 0.6, 2.0);
    w->sway = w->scale * between(r, 0.1, 0.8) / w->pace;
    w->from = between(r, 0, 6.28);
    w->neck = between(r, 0.25, 1.0);
}

void film_scene_make(film_scene *s, const film *f, int number) {
    uint64_t r = random_mix(f->seed * 7919 + (uint64_t)number);
    int deck[DEER];
    memset(s, 0, sizeof *s);
    s->seed = r;
    s->begins = f->seconds / f->scenes * number;
    s->where = &places[(int)between(&r, 0, PLACES)];
    s->horizon = between(&r, 0.20, 0.40);
    s->trees = (int)between(&r, 1, TREES_MOST + 1);
    for (int i = 0; i < s->trees; i++) {
        double width = f->width * between(&r, 0.04, 0.22);
        const spot tree = {f->width * between(&r, 0, 1) - width / 2, 0, width, f->height};
        s->tree[i] = tree;
    }
    for (int i = 0; i < DEER; i++) deck[i] = i;
    for (int i = 0; i < f->animals; i++) {
        int k = i + (int)between(&r, 0, DEER - i), who = deck[k];
        deck[k] = deck[i];
        s->walk[i].who = who;
        make_walk(&s->walk[i], f, s, &r);
    }
    s->walks = f->animals;
}

/* ---- one animal -------------------------------------------------------------------------------------------------- */

static double place_at(const walk *w, double t) { return w->x + w->speed * t + w->sway * sin(w->pace * t + w->from); }

void walk_stand(stand *s, const film_scene *scene, const walk *w, double seconds) {
    double t = seconds - scene->begins, low_x = 9, high_x = -9, low_y = 9, high_y = -9;
    double velocity = w->speed + w->sway * w->pace * cos(w->pace * t + w->from);
    s->facing = velocity < 0 ? -1 : 1;
    s->cx = place_at(w, t);
    s->cy = w->y;
    s->scale = w->scale;
    pose(&s->shape, &herd[w->who], w->neck + 0.15 * sin(0.7 * t + w->from), sin(s->cx / w->scale * 4));
    for (int i = 0; i < s->shape.count; i++) {
        const stroke *part = &s->shape.part[i];
        low_x = fmin(low_x, part->low.x), high_x = fmax(high_x, part->high.x);
        low_y = fmin(low_y, part->low.y), high_y = fmax(high_y, part->high.y);
    }
    s->box.x = s->cx + w->scale * (s->facing > 0 ? low_x : -high_x);
    s->box.y = s->cy - w->scale * high_y;
    s->box.w = w->scale * (high_x - low_x);
    s->box.h = w->scale * (high_y - low_y);
}

/* ---- what can be seen -------------------------------------------------------------------------------------------- */

static int within(const spot *b, double x, double y) {
    return x >= b->x && x < b->x + b->w && y >= b->y && y < b->y + b->h;
}

/* Tests GRID x GRID points of a box, and sets out to the part of it around the visible ones. */
static void look(const film *f, const film_scene *s, const stand *stands, int at, seen *out) {
    const spot all = {0, 0, f->width, f->height}, box = stands[at].box;
    int first_x = GRID, last_x = -1, first_y = GRID, last_y = -1, count = 0;
    for (int i = 0; i < GRID * GRID; i++) {
        int across = i % GRID, down = i / GRID;
        double x = box.x + box.w * (across + 0.5) / GRID, y = box.y + box.h * (down + 0.5) / GRID;
        int hidden = !within(&all, x, y);
        for (int k = 0; k < s->trees && !hidden; k++) hidden = within(&s->tree[k], x, y);
        for (int k = 0; k < s->walks && !hidden; k++)
            hidden = s->walk[k].depth > s->walk[at].depth && within(&stands[k].box, x, y);
        if (hidden) continue;
        count++;
        if (across < first_x) first_x = across;
        if (across > last_x) last_x = across;
        if (down < first_y) first_y = down;
        if (down > last_y) last_y = down;
    }
    double left = fmax(0, box.x + box.w * first_x / GRID), right = box.x + box.w * (last_x + 1) / GRID;
    double top = fmax(0, box.y + box.h * first_y / GRID), bottom = box.y + box.h * (last_y + 1) / GRID;
    const spot part = {left, top, fmin(right, f->width) - left, fmin(bottom, f->height) - top};
    out->walk = at;
    out->visible = (double)count / (GRID * GRID);
    out->box = part;
    out->score = 1;
}

static int look_at_all(const film *f, const film_scene *s, double seconds, double least, seen *out) {
    stand stands[WALKS_MOST];
    int count = 0;
    for (int i = 0; i < s->walks; i++) walk_stand(&stands[i], s, &s->walk[i], seconds);
    for (int i = 0; i < s->walks; i++) {
        look(f, s, stands, i, &out[count]);
        if (out[count].visible >= least && out[count].box.w >= 4 && out[count].box.h >= 4) count++;
    }
    return count;
}

int film_truth(const film *f, const film_scene *s, double seconds, seen *out) {
    return look_at_all(f, s, seconds, 0.2, out);
}

/* ---- mistakes ---------------------------------------------------------------------------------------------------- */

/* Approximately normal, with mean 0 and variance 1. */
static double normal(uint64_t *r) {
    double sum = 0;
    for (int i = 0; i < 12; i++) sum += between(r, -0.5, 0.5);
    return sum;
}

/* Makes a slightly imprecise box, with a lower score if less is visible. Misses occur singly, and in runs of most of a
   second in which a pose is not recognised. */
static int detect(const film *f, const film_scene *s, double seconds, seen *d) {
    uint64_t who = s->seed + (uint64_t)d->walk * 104729, r = random_mix(who + (uint64_t)(int64_t)floor(seconds * 1e6));
    uint64_t spell = random_mix(who + 31 * (uint64_t)(int64_t)floor(seconds / 0.8));
    double side = sqrt(d->box.w * d->box.h), m = f->mistakes;
    int missed = unit(spell) < 0.05 * m || between(&r, 0, 1) < 0.04 * m || (m > 0 && d->visible < 0.25);
    d->box.x += 0.02 * m * side * normal(&r);
    d->box.y += 0.02 * m * side * normal(&r);
    d->box.w *= exp(0.03 * m * normal(&r));
    d->box.h *= exp(0.03 * m * normal(&r));
    d->score = 0.95 - fmin(m, 1) * (0.15 * between(&r, 0, 1) + 0.7 * fmax(0, 0.9 - d->visible));
    d->score = fmax(0.05, fmin(0.99, d->score + 0.05 * m * normal(&r)));
    return !missed;
}

static int invent(const film *f, const film_scene *s, double seconds, seen *d) {
    uint64_t r = random_mix(s->seed + 77 + (uint64_t)(int64_t)floor(seconds * 1e6));
    if (between(&r, 0, 1) >= 0.12 * f->mistakes) return 0;
    d->walk = -1;
    d->visible = 0;
    d->box.w = f->width * between(&r, 0.05, 0.2);
    d->box.h = d->box.w * between(&r, 0.6, 1.2);
    d->box.x = between(&r, 0, 1) * (f->width - d->box.w);
    d->box.y = between(&r, 0, 1) * (f->height - d->box.h);
    d->score = between(&r, 0.05, 0.6);
    return 1;
}

int film_detections(const film *f, const film_scene *s, double seconds, seen *out) {
    int all = look_at_all(f, s, seconds, 0.2, out), count = 0;
    for (int i = 0; i < all; i++) {
        out[count] = out[i];
        count += detect(f, s, seconds, &out[count]);
    }
    return count + invent(f, s, seconds, &out[count]);
}
