#include "tracks/track_box.h"

#include <math.h>

int track_box_good(const track_box *b) {
    double all = b->x + b->y + b->w + b->h + b->score; /* not finite if any of them is not, or is far too large */
    return isfinite(all) && isfinite(b->w * b->h) && b->w > 0 && b->h > 0;
}

static double shared_length(double a, double a_length, double b, double b_length) {
    double length = fmin(a + a_length, b + b_length) - fmax(a, b);
    return length > 0 ? length : 0;
}

static double shared_area(const track_box *a, const track_box *b) {
    return shared_length(a->x, a->w, b->x, b->w) * shared_length(a->y, a->h, b->y, b->h);
}

double track_box_iou(const track_box *a, const track_box *b) {
    double both = shared_area(a, b), all = a->w * a->h + b->w * b->h - both;
    return all > 0 ? fmin(1, both / all) : 0;
}

double track_box_covered(const track_box *a, const track_box *b) {
    return a->w * a->h > 0 ? fmin(1, shared_area(a, b) / (a->w * a->h)) : 0;
}

double track_box_side(const track_box *b) { return sqrt(b->w * b->h); }

double track_box_distance(const track_box *a, const track_box *b) {
    return hypot(a->x + a->w / 2 - b->x - b->w / 2, a->y + a->h / 2 - b->y - b->h / 2);
}
