#include "tracks/track_motion.h"

#include <math.h>

/* Standard deviations. Lengths are in sides of the box (the root of its area), so that they hold at every resolution
   and distance. Sizes are logarithms: 0.1 is about a tenth. The values were chosen on drawn films (tools/peers/track)
   with other seeds than those of the published results. EDGE is narrow: at high frame rates, a track that continues
   with another animal's box costs more than a track that breaks, because broken tracks are joined again by their
   embeddings. */
static const double MEASURED = 0.06, MEASURED_SIZE = 0.15; /* of a detector's box around the animal */
static const double SPEED = 1.0;                           /* per second, before anything is known about the velocity */
static const double CHANGE = 0.25;                         /* of the velocity, after one second */
static const double DRIFT = 0.05, DRIFT_SIZE = 0.07;       /* after one second; poses change the box, too */
static const double EDGE = 2;                              /* boxes further off are not matched */

static double square(double x) { return x * x; }

static double side_of(const track_motion *m) { return exp((m->width.place + m->height.place) / 2); }

track_motion motion_begin(const track_box *b) {
    double side = track_box_side(b), noise = square(MEASURED * side), velocity = square(SPEED * side);
    const track_motion m = {
        kalman_begin(b->x + b->w / 2, noise, velocity),
        kalman_begin(b->y + b->h / 2, noise, velocity),
        kalman_begin(log(b->w), square(MEASURED_SIZE), 0),
        kalman_begin(log(b->h), square(MEASURED_SIZE), 0),
    };
    return m;
}

track_motion motion_predict(const track_motion *m, double seconds) {
    double side = side_of(m), change = square(CHANGE * side), drift = square(DRIFT * side);
    const track_motion next = {
        kalman_predict(&m->x, seconds, change, drift),
        kalman_predict(&m->y, seconds, change, drift),
        kalman_predict(&m->width, seconds, 0, square(DRIFT_SIZE)),
        kalman_predict(&m->height, seconds, 0, square(DRIFT_SIZE)),
    };
    return next;
}

track_motion motion_update(const track_motion *m, const track_box *b) {
    double noise = square(MEASURED * side_of(m));
    const track_motion next = {
        kalman_update(&m->x, b->x + b->w / 2, noise),
        kalman_update(&m->y, b->y + b->h / 2, noise),
        kalman_update(&m->width, log(b->w), square(MEASURED_SIZE)),
        kalman_update(&m->height, log(b->h), square(MEASURED_SIZE)),
    };
    return next;
}

track_box motion_box(const track_motion *m) {
    track_box b = {.w = exp(m->width.place), .h = exp(m->height.place)};
    b.x = m->x.place - b.w / 2;
    b.y = m->y.place - b.h / 2;
    return b;
}

/* The squared number of standard deviations by which a measurement is off. */
static double off(const kalman *k, double measured, double noise) {
    return square(measured - k->place) / (k->place_variance + noise);
}

double motion_fit(const track_motion *m, const track_box *b) {
    double noise = square(MEASURED * side_of(m)), size = square(MEASURED_SIZE);
    double place = off(&m->x, b->x + b->w / 2, noise) + off(&m->y, b->y + b->h / 2, noise);
    double shape = off(&m->width, log(b->w), size) + off(&m->height, log(b->h), size);
    double edge = square(EDGE);
    return place < edge && shape < edge ? 1 - (place + shape) / (2 * edge) : 0;
}
