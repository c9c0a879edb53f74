/* demo_images: draws the demo's images, deer from the side that differ in their coats, and writes them as PNG.

     demo_images DIR [SEED]        DIR/NAME/view-1.png …; deer that are never enrolled are in DIR/unknown/NAME/

   A coat is fixed to the animal; pose, distance, direction, background, light and noise change with every view, so that
   two views have only the animal in common. Everything comes from the seed: the same call draws the same images.

   make build/demo_images */
#include "base/random.h"
#include "demo_program/herd.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define STB_IMAGE_WRITE_IMPLEMENTATION
#define STB_IMAGE_WRITE_STATIC
#include <stb/stb_image_write.h>

#define VIEWS 6
#define SAMPLES 2 /* per pixel, each way */

/* ---- one image --------------------------------------------------------------------------------------------------- */
typedef struct scene {
    int width, height;
    double scale;      /* pixels per body length */
    double cx, cy;     /* body centre, pixels */
    double turn_x, turn_y; /* cosine and sine of the tilt */
    int mirror;
    const place *where;
    double horizon;
    double gain, warm, grain;
    uint64_t seed;
} scene;

static scene choose_scene(uint64_t seed) {
    scene s;
    uint64_t r = random_mix(seed);
    s.seed = seed;
    s.width = (int)between(&r, 250, 290);
    s.height = (int)between(&r, 240, 270);
    s.scale = between(&r, 0.52, 0.62) * s.width;
    s.mirror = between(&r, 0, 1) < 0.5;
    s.cx = s.width * (0.5 + between(&r, -0.04, 0.04)) - (s.mirror ? -0.14 : 0.14) * s.scale;
    s.cy = s.height * between(&r, 0.50, 0.58);
    double tilt = between(&r, -0.09, 0.09);
    s.turn_x = cos(tilt);
    s.turn_y = sin(tilt);
    s.where = &places[(int)between(&r, 0, PLACES)];
    s.horizon = between(&r, 0.25, 0.50);
    s.gain = between(&r, 0.80, 1.18);
    s.warm = between(&r, -0.07, 0.07);
    s.grain = between(&r, 0.01, 0.04);
    return s;
}

/* The mean of a pixel's samples. The background is smooth: one sample is enough, and only where it shows. */
static color paint_pixel(const scene *s, const body *d, const deer *who, int x, int y, uint64_t coat_seed) {
    color sum = {0, 0, 0}, c;
    int hits = 0;
    for (int i = 0; i < SAMPLES * SAMPLES; i++) {
        double dx = (x + (i % SAMPLES + 0.5) / SAMPLES - s->cx) / s->scale;
        int row = i / SAMPLES;
        double dy = (s->cy - y - (row + 0.5) / SAMPLES) / s->scale;
        point p = {dx * s->turn_x + dy * s->turn_y, dy * s->turn_x - dx * s->turn_y};
        if (s->mirror) p.x = -p.x;
        if (p.x < -0.8 || p.x > 1.1 || p.y < -0.75 || p.y > 1.1 || !paint_deer(d, who, p, coat_seed, &c)) continue;
        sum.r += c.r, sum.g += c.g, sum.b += c.b;
        hits++;
    }
    if (hits == SAMPLES * SAMPLES) return times(sum, 1.0 / hits);
    c = paint_place(s->where, (double)x / s->width, (double)y / s->height, s->horizon, s->seed);
    return hits ? blend(c, times(sum, 1.0 / hits), (double)hits / (SAMPLES * SAMPLES)) : c;
}

static void develop(const scene *s, color c, int x, int y, unsigned char rgb[3]) {
    double grain = s->grain * (2 * unit(cell(x, y, s->seed + 77)) - 1);
    rgb[0] = level(c.r * s->gain * (1 + s->warm) + grain);
    rgb[1] = level(c.g * s->gain + grain);
    rgb[2] = level(c.b * s->gain * (1 - s->warm) + grain);
}

static int draw(const char *path, int who, int view, uint64_t seed) {
    uint64_t coat_seed = coat_of(who, seed), r = random_mix(coat_seed + 100 + (uint64_t)view);
    scene s = choose_scene(r);
    body d;
    pose(&d, &herd[who], between(&r, 0.25, 1.0), between(&r, -1.0, 1.0));
    unsigned char *pixels = malloc((size_t)s.width * (size_t)s.height * 3);
    if (!pixels) return 0;
    for (int y = 0; y < s.height; y++)
        for (int x = 0; x < s.width; x++) {
            color c = paint_pixel(&s, &d, &herd[who], x, y, coat_seed);
            develop(&s, c, x, y, pixels + 3 * ((size_t)y * (size_t)s.width + (size_t)x));
        }
    int ok = stbi_write_png(path, s.width, s.height, 3, pixels, s.width * 3);
    free(pixels);
    return ok;
}

static int make_folder(const char *path) {
    if (mkdir(path, 0777) == 0 || errno == EEXIST) return 1;
    fprintf(stderr, "demo_images: %s: %s\n", path, strerror(errno));
    return 0;
}

int main(int argc, char **argv) {
    char folder[3000], path[4000];
    if (argc < 2 || argc > 3 || strlen(argv[1]) > 2000) {
        fprintf(stderr, "usage: demo_images DIR [SEED]\n");
        return 2;
    }
    uint64_t seed = argc == 3 ? strtoull(argv[2], NULL, 10) : 1;
    snprintf(folder, sizeof folder, "%s/unknown", argv[1]);
    if (!make_folder(argv[1]) || !make_folder(folder)) return 1;
    for (int i = 0; i < DEER; i++) {
        snprintf(folder, sizeof folder, "%s/%s%s", argv[1], herd[i].enrolled ? "" : "unknown/", herd[i].name);
        if (!make_folder(folder)) return 1;
        for (int view = 1; view <= VIEWS; view++) {
            snprintf(path, sizeof path, "%s/view-%d.png", folder, view);
            if (!draw(path, i, view, seed)) {
                fprintf(stderr, "demo_images: cannot write %s\n", path);
                return 1;
            }
        }
    }
    return 0;
}
