#include "pictures/thumbnail.h"

#include "base/memory.h"

#include <stdlib.h>

#define STB_IMAGE_WRITE_IMPLEMENTATION
#define STB_IMAGE_WRITE_STATIC
#include <stb/stb_image_write.h>

enum { QUALITY = 80 };

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

int thumbnail_make(thumbnail *t, const picture *p, const reid_box *box, int side, text *why) {
    reid_box from = clip(p, box);
    t->jpeg = (text)TEXT_INIT;
    if (from.width < 1 || from.height < 1) {
        text_clear(why);
        text_puts(why, "the box is outside the image");
        return 0;
    }
    int longer = from.width > from.height ? from.width : from.height, most = longer < side ? longer : side;
    int w = scaled(from.width, most, longer), h = scaled(from.height, most, longer);
    t->width = w = w < 1 ? 1 : w;
    t->height = h = h < 1 ? 1 : h;
    unsigned char *small = mem_array((size_t)w * (size_t)h, 3), *to = small;
    if (!small) return text_no_memory(why);
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++, to += 3)
            mean_of(p, from.x + scaled(x, from.width, w), from.x + scaled(x + 1, from.width, w),
                    from.y + scaled(y, from.height, h), from.y + scaled(y + 1, from.height, h), to);
    stbi_write_jpg_to_func(collect_bytes, &t->jpeg, w, h, 3, small, QUALITY);
    free(small);
    return !text_failed(&t->jpeg) || text_no_memory(why);
}
