#include "pictures/thumbnail.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

#define STB_IMAGE_WRITE_IMPLEMENTATION
#define STB_IMAGE_WRITE_STATIC
#include <stb/stb_image_write.h>

enum { QUALITY = 80, LINES = 5 /* of the outline of a box */ };

static void collect_bytes(void *user, void *bytes, int n) { text_add(user, bytes, (size_t)n); }

/* Sets rgb to the mean of the pixels in x0 … x1-1, y0 … y1-1. */
static void mean_of(const picture *p, int x0, int x1, int y0, int y1, unsigned char rgb[3]) {
    unsigned long sum[3] = {0, 0, 0}, n = (unsigned long)(x1 - x0) * (unsigned long)(y1 - y0);
    for (int y = y0; y < y1; y++) {
        const unsigned char *from = p->rgb + 3 * ((size_t)y * (size_t)p->width + (size_t)x0);
        for (int x = x0; x < x1; x++, from += 3)
            for (int c = 0; c < 3; c++) sum[c] += from[c];
    }
    for (int c = 0; c < 3; c++) rgb[c] = (unsigned char)((sum[c] + n / 2) / n);
}

static int scaled(int at, int size, int to) { return (int)((long long)at * size / to); }

/* Returns the part of the box that is inside the image. */
static reid_box clip(const picture *p, const reid_box *box) {
    reid_box all = {0, 0, p->width, p->height};
    if (!box) return all;
    long long right = (long long)box->x + box->width, bottom = (long long)box->y + box->height;
    all.x = box->x > 0 ? box->x : 0;
    all.y = box->y > 0 ? box->y : 0;
    all.width = (int)((right < p->width ? right : p->width) - all.x);
    all.height = (int)((bottom < p->height ? bottom : p->height) - all.y);
    return all;
}

/* Shrinks a part of the image, and sets the size of t. Returns NULL with the reason in why. */
static unsigned char *shrink(thumbnail *t, const picture *p, const reid_box *from, int side, text *why) {
    if (from->width < 1 || from->height < 1) {
        text_clear(why);
        text_puts(why, "the box is outside the image");
        return NULL;
    }
    int longer = from->width > from->height ? from->width : from->height, most = longer < side ? longer : side;
    int w = scaled(from->width, most, longer), h = scaled(from->height, most, longer);
    t->width = w = w < 1 ? 1 : w;
    t->height = h = h < 1 ? 1 : h;
    unsigned char *small = mem_array((size_t)w * (size_t)h, 3), *to = small;
    if (!small) text_no_memory(why);
    for (int y = 0; y < h && small; y++)
        for (int x = 0; x < w; x++, to += 3)
            mean_of(p, from->x + scaled(x, from->width, w), from->x + scaled(x + 1, from->width, w),
                    from->y + scaled(y, from->height, h), from->y + scaled(y + 1, from->height, h), to);
    return small;
}

static int encode(thumbnail *t, const unsigned char *small, text *why) {
    stbi_write_jpg_to_func(collect_bytes, &t->jpeg, t->width, t->height, 3, small, QUALITY);
    return !text_failed(&t->jpeg) || text_no_memory(why);
}

int thumbnail_make(thumbnail *t, const picture *p, const reid_box *box, int side, text *why) {
    reid_box from = clip(p, box);
    t->jpeg = (text)TEXT_INIT;
    unsigned char *small = shrink(t, p, &from, side, why);
    int good = small && encode(t, small, why);
    free(small);
    return good;
}

/* Draws the outline of a rectangle, of which only a part may be inside the image. */
static void outline(const thumbnail *t, unsigned char *rgb, const reid_box *at, const unsigned char colour[3]) {
    const int right = at->x + at->width - 1, bottom = at->y + at->height - 1;
    for (int y = at->y < 0 ? 0 : at->y; y <= bottom && y < t->height; y++) {
        const int step = y == at->y || y == bottom || right == at->x ? 1 : right - at->x;
        for (int x = at->x; x <= right; x += step)
            if (x >= 0 && x < t->width) memcpy(rgb + 3 * ((size_t)y * (size_t)t->width + (size_t)x), colour, 3);
    }
}

static int most(int a, int b) { return a > b ? a : b; }
static int least(int a, int b) { return a < b ? a : b; }

/* Draws a bright line between two dark ones, which is visible on any background, around the box; where the box reaches
   the edge of the image, just inside the edge. */
static void mark(const thumbnail *t, unsigned char *rgb, const reid_box *box) {
    static const unsigned char dark[3] = {20, 20, 20}, bright[3] = {255, 214, 60};
    for (int i = 1; i <= LINES; i++) {
        const int inside = LINES - i, left = most(box->x - i, inside), top = most(box->y - i, inside);
        const reid_box at = {left, top, least(box->x + box->width + i, t->width - inside) - left,
                             least(box->y + box->height + i, t->height - inside) - top};
        outline(t, rgb, &at, i == 1 || i == LINES ? dark : bright);
    }
}

int thumbnail_mark(thumbnail *t, const picture *p, const reid_box *box, int side, text *why) {
    const reid_box all = clip(p, NULL), part = clip(p, box);
    t->jpeg = (text)TEXT_INIT;
    unsigned char *small = shrink(t, p, part.width < 1 || part.height < 1 ? &part : &all, side, why);
    if (!small) return 0;
    const int left = scaled(part.x, t->width, p->width), top = scaled(part.y, t->height, p->height);
    const reid_box at = {left, top, scaled(part.x + part.width, t->width, p->width) - left,
                         scaled(part.y + part.height, t->height, p->height) - top};
    mark(t, small, &at);
    int good = encode(t, small, why);
    free(small);
    return good;
}
