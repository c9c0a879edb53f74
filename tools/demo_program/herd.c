#include "demo_program/herd.h"

#include "base/random.h"

#include <math.h>

/* ---- the herd ---------------------------------------------------------------------------------------------------- */
const deer herd[DEER] = {
    {"Alder",   1, {.44, .24, .10}, {.98, .95, .86}, SPOTS,   .115, .44, 1, 0},
    {"Birch",   1, {.96, .94, .90}, {.10, .09, .09}, PATCHES, .190, .50, 0, 1},
    {"Cedar",   1, {.90, .36, .08}, {.10, .04, .03}, BRINDLE, .075, .45, 1, 0},
    {"Dogwood", 1, {.94, .78, .46}, {.22, .11, .05}, BARS,    .100, .45, 0, 0},
    {"Elm",     1, {.08, .08, .10}, {.92, .90, .87}, BARS,    .210, .38, 1, 1},
    {"Fir",     1, {.78, .82, .86}, {.14, .17, .22}, NET,     .060, .60, 0, 0},
    {"Hazel",   1, {.56, .22, .06}, {.98, .96, .91}, CHECKS,  .105, .50, 1, 1},
    {"Juniper", 1, {.12, .07, .05}, {.98, .50, .10}, SPOTS,   .180, .52, 0, 0},
    {"Larch",   1, {.98, .90, .70}, {.72, .14, .04}, SPOTS,   .070, .48, 1, 0},
    {"Maple",   1, {.66, .12, .04}, {.98, .92, .76}, BANDS,   .130, .45, 0, 1},
    {"Oak",     1, {.80, .62, .38}, {.06, .05, .05}, PATCHES, .050, .50, 1, 0},
    {"Poplar",  1, {.95, .96, .98}, {.28, .42, .58}, BRINDLE, .125, .45, 0, 0},
    {"Spruce",  1, {.14, .13, .14}, {.86, .84, .80}, BANDS,   .065, .40, 1, 0},
    {"Rowan",   0, {.97, .94, .88}, {.80, .30, .06}, BARS,    .068, .50, 1, 0},
    {"Willow",  0, {.16, .30, .58}, {.96, .97, .98}, BARS,    .056, .45, 0, 1},
    {"Yew",     0, {.98, .68, .10}, {.08, .07, .10}, CHECKS,  .070, .50, 1, 0},
};

/* ---- random numbers from hashes, the same on every machine ------------------------------------------------------- */
double unit(uint64_t z) { return (double)(random_mix(z) >> 11) * 0x1p-53; }

double between(uint64_t *state, double low, double high) {
    return low + (high - low) * random_unit(state);
}

uint64_t cell(int x, int y, uint64_t seed) {
    return random_mix(seed ^ random_mix((uint64_t)(uint32_t)x << 32 | (uint32_t)y));
}

double noise(double x, double y, uint64_t seed) {
    int x0 = (int)floor(x), y0 = (int)floor(y);
    double u = x - x0, v = y - y0;
    u = u * u * (3 - 2 * u);
    v = v * v * (3 - 2 * v);
    double a = unit(cell(x0, y0, seed)), b = unit(cell(x0 + 1, y0, seed));
    double c = unit(cell(x0, y0 + 1, seed)), d = unit(cell(x0 + 1, y0 + 1, seed));
    return (a + (b - a) * u) * (1 - v) + (c + (d - c) * u) * v;
}

color blend(color a, color b, double t) {
    color c = {a.r + (b.r - a.r) * t, a.g + (b.g - a.g) * t, a.b + (b.b - a.b) * t};
    return c;
}

color times(color a, double k) {
    color c = {a.r * k, a.g * k, a.b * k};
    return c;
}

unsigned char level(double v) { return (unsigned char)(v <= 0 ? 0 : v >= 1 ? 255 : v * 255 + 0.5); }

uint64_t coat_of(int who, uint64_t seed) { return random_mix(seed * 1000 + (uint64_t)who); }

/* ---- coats ------------------------------------------------------------------------------------------------------- */

/* Returns 1 if the pattern covers this point of the body. */
static int marked(const deer *d, point p, uint64_t seed) {
    double x = p.x / d->size, y = p.y / d->size;
    double wobble = noise(x * 0.8, y * 0.8, seed) - 0.5;
    switch (d->kind) {
    case SPOTS: {
        int cx = (int)floor(x), cy = (int)floor(y);
        uint64_t at = cell(cx, cy, seed);
        double dx = x - cx - 0.35 - 0.3 * unit(at + 1), dy = y - cy - 0.35 - 0.3 * unit(at + 2);
        return dx * dx + dy * dy < 0.28 * d->cover * (0.6 + 0.8 * unit(at + 3));
    }
    case BARS: return fabs(fmod(x + wobble + 64, 1.0) - 0.5) < d->cover / 2;
    case BANDS: return fabs(fmod(y + wobble + 64, 1.0) - 0.5) < d->cover / 2;
    case CHECKS: return ((int)floor(x + wobble + 64) ^ (int)floor(y + wobble + 64)) & 1;
    case PATCHES: return noise(x, y, seed) < 0.25 + d->cover * 0.5;
    case NET: return fabs(noise(x, y, seed) - 0.5) < d->cover * 0.25;
    default: return fabs(fmod(x + y + wobble + 64, 1.0) - 0.5) < d->cover / 2; /* BRINDLE */
    }
}

/* ---- the animal: tapered strokes, front to back, in body lengths; x towards the head, y up ----------------------- */
static point put(body *d, point a, double dx, double dy, double ra, double rb, skin s, double shade) {
    double r = fmax(ra, rb);
    point b = {a.x + dx, a.y + dy}, low = {fmin(a.x, b.x) - r, fmin(a.y, b.y) - r};
    point high = {fmax(a.x, b.x) + r, fmax(a.y, b.y) + r};
    stroke part = {a, b, ra, rb, s, shade, low, high, 1 / (dx * dx + dy * dy)};
    if (d->count < STROKES) d->part[d->count++] = part;
    return b;
}

static void add_leg(body *d, double x, double y, double swing, const deer *who, double shade) {
    point hip = {x, y};
    point knee = put(d, hip, 0.14 * swing, -0.27, 0.085, 0.045, COAT, shade);
    point foot = put(d, knee, -0.04 - 0.10 * swing, -0.25, 0.040, 0.030, who->socks ? SOCK : COAT, shade);
    put(d, foot, 0.03, -0.01, 0.033, 0.025, DARK, shade);
}

static void add_antler(body *d, point root, double lean, double shade) {
    point a = put(d, root, -0.05 + lean, 0.16, 0.020, 0.017, HORN, shade);
    point b = put(d, a, 0.07 + lean, 0.14, 0.017, 0.012, HORN, shade);
    put(d, b, 0.06, 0.06, 0.012, 0.007, HORN, shade);
    put(d, a, 0.11, 0.03, 0.014, 0.007, HORN, shade);
    put(d, b, -0.06, 0.07, 0.012, 0.007, HORN, shade);
}

void pose(body *d, const deer *who, double neck, double step) {
    point chest = {0.36, 0.05}, rump = {-0.40, 0.03}, withers = {0.40, 0.10}, at;
    d->count = 0;
    at = withers;
    at.x += 0.24;
    at.y += 0.10 + 0.34 * neck;
    point eye = {at.x + 0.02, at.y + 0.035}, crown = {at.x - 0.02, at.y + 0.06};
    put(d, eye, 0.005, 0, 0.018, 0.018, DARK, 0.6);
    if (who->antlers) add_antler(d, crown, 0.0, 1.0);
    put(d, crown, -0.09, 0.07, 0.030, 0.014, COAT, 0.9);
    point nose = put(d, at, 0.19, -0.06 - 0.10 * (1 - neck), 0.080, 0.048, COAT, 1.05);
    put(d, nose, 0.03, -0.005, 0.036, 0.030, DARK, 0.8);
    point loin = put(d, rump, 0.26, 0.035, 0.185, 0.165, COAT, 1.0);
    put(d, loin, chest.x - loin.x, chest.y - loin.y, 0.165, 0.210, COAT, 1.0);
    put(d, withers, at.x - withers.x, at.y - withers.y, 0.130, 0.080, COAT, 1.0);
    add_leg(d, 0.30, -0.10, step, who, 0.95);
    add_leg(d, -0.36, -0.08, -step, who, 0.95);
    put(d, rump, -0.15, -0.02 - 0.04 * step, 0.055, 0.025, COAT, 1.1);
    add_leg(d, 0.36, -0.10, -0.8 * step, who, 0.7);
    add_leg(d, -0.30, -0.08, 0.8 * step, who, 0.7);
    if (who->antlers) add_antler(d, crown, 0.05, 0.7);
}

int paint_deer(const body *d, const deer *who, point p, uint64_t coat_seed, color *out) {
    static const color horn = {.80, .72, .58}, dark = {.07, .06, .06};
    for (int i = 0; i < d->count; i++) {
        const stroke *s = &d->part[i];
        if (p.x < s->low.x || p.x > s->high.x || p.y < s->low.y || p.y > s->high.y) continue;
        double ex = s->b.x - s->a.x, ey = s->b.y - s->a.y, px = p.x - s->a.x, py = p.y - s->a.y;
        double t = (px * ex + py * ey) * s->per_length;
        t = t < 0 ? 0 : t > 1 ? 1 : t;
        double dx = px - t * ex, dy = py - t * ey, r = s->ra + (s->rb - s->ra) * t;
        double inside = (dx * dx + dy * dy) / (r * r);
        if (inside > 1) continue;
        color c = s->skin == HORN ? horn : s->skin == DARK ? dark : s->skin == SOCK ? who->mark : who->coat;
        if (s->skin == COAT && marked(who, p, coat_seed)) c = who->mark;
        double round = (1.0 - 0.28 * inside) * (1.0 + 0.18 * dy / r);
        *out = times(c, s->shade * round * (0.94 + 0.12 * noise(p.x * 60, p.y * 60, coat_seed + 9)));
        return 1;
    }
    return 0;
}

/* ---- where it stands --------------------------------------------------------------------------------------------- */
const place places[PLACES] = {
    {{.70, .78, .84}, {.46, .54, .30}, {.36, .45, .22}, 0.0}, /* meadow */
    {{.42, .48, .38}, {.38, .36, .24}, {.26, .24, .18}, 0.6}, /* wood */
    {{.76, .79, .84}, {.80, .82, .86}, {.62, .66, .72}, 0.3}, /* snow */
    {{.78, .66, .52}, {.54, .44, .26}, {.44, .33, .17}, 0.2}, /* autumn */
    {{.55, .60, .64}, {.52, .50, .46}, {.40, .39, .37}, 0.0}, /* rock */
    {{.62, .70, .72}, {.40, .50, .36}, {.50, .58, .30}, 0.4}, /* marsh */
};

color paint_place(const place *w, double x, double y, double horizon, uint64_t seed) {
    if (y < horizon) {
        color sky = times(w->sky, 0.92 + 0.16 * noise(x * 4, y * 7, seed));
        double trunk = noise(x * 14, 0.5, seed + 5) - 0.04 * noise(x * 40, y * 9, seed + 6);
        return trunk < w->trees * 0.5 ? blend(sky, w->detail, 0.4) : sky;
    }
    double depth = y - horizon;
    double blades = noise(x * 40, depth * 25, seed + 1) * 0.6 + noise(x * 9, depth * 9, seed + 2) * 0.4;
    return times(blend(w->ground, w->detail, 0.6 * blades), 0.86 + 0.28 * depth);
}
