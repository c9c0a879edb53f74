#include "demo_program/walks_paint.h"

#include <math.h>

static void put_pixel(unsigned char *rgb, color c) {
    rgb[0] = level(c.r);
    rgb[1] = level(c.g);
    rgb[2] = level(c.b);
}

void film_paint_place(const film *f, const film_scene *s, unsigned char *rgb) {
    for (int y = 0; y < f->height; y++)
        for (int x = 0; x < f->width; x++, rgb += 3)
            put_pixel(rgb, paint_place(s->where, (double)x / f->width, (double)y / f->height, s->horizon, s->seed));
}

static void draw_animal(const film *f, const stand *s, int who, unsigned char *rgb) {
    int left = (int)fmax(0, floor(s->box.x)), right = (int)fmin(f->width - 1, ceil(s->box.x + s->box.w));
    int top = (int)fmax(0, floor(s->box.y)), bottom = (int)fmin(f->height - 1, ceil(s->box.y + s->box.h));
    uint64_t coat = coat_of(who, f->seed);
    color c;
    for (int y = top; y <= bottom; y++)
        for (int x = left; x <= right; x++) {
            const point p = {s->facing * (x + 0.5 - s->cx) / s->scale, (s->cy - y - 0.5) / s->scale};
            if (paint_deer(&s->shape, &herd[who], p, coat, &c)) put_pixel(rgb + 3 * (y * f->width + x), c);
        }
}

static void draw_tree(const film *f, const film_scene *s, const spot *tree, unsigned char *rgb) {
    color wood = blend(s->where->detail, s->where->ground, 0.3);
    int left = (int)fmax(0, ceil(tree->x - 0.5)), right = (int)fmin(f->width, ceil(tree->x + tree->w - 0.5));
    for (int y = 0; y < f->height; y++)
        for (int x = left; x < right; x++) {
            double bark = noise((x - tree->x) / f->width * 60, (double)y / f->height * 12, s->seed + 3);
            put_pixel(rgb + 3 * (y * f->width + x), times(wood, 0.4 + 0.4 * bark));
        }
}

void film_paint_animals(const film *f, const film_scene *s, double seconds, unsigned char *rgb) {
    stand at;
    int order[WALKS_MOST];
    for (int i = 0; i < s->walks; i++) {
        int k = i;
        for (; k > 0 && s->walk[order[k - 1]].depth > s->walk[i].depth; k--) order[k] = order[k - 1];
        order[k] = i;
    }
    for (int i = 0; i < s->walks; i++) {
        walk_stand(&at, s, &s->walk[order[i]], seconds);
        draw_animal(f, &at, s->walk[order[i]].who, rgb);
    }
    for (int i = 0; i < s->trees; i++) draw_tree(f, s, &s->tree[i], rgb);
}
