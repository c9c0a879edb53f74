#include "tracks/kalman.h"

kalman kalman_begin(double place, double noise, double velocity_variance) {
    const kalman k = {place, 0, noise, 0, velocity_variance};
    return k;
}

/* x += v t; P = F P F' + Q with F = (1 t; 0 1) and Q = change (t³/3 t²/2; t²/2 t). */
kalman kalman_predict(const kalman *k, double seconds, double change, double drift) {
    double t = seconds;
    kalman next = *k;
    next.place += k->velocity * t;
    next.place_variance +=
        2 * t * k->covariance + t * t * k->velocity_variance + change * t * t * t / 3 + drift * t;
    next.covariance += t * k->velocity_variance + change * t * t / 2;
    next.velocity_variance += change * t;
    return next;
}

kalman kalman_update(const kalman *k, double measured, double noise) {
    double whole = k->place_variance + noise, off = measured - k->place;
    double place_gain = k->place_variance / whole, velocity_gain = k->covariance / whole;
    kalman next = *k;
    next.place += place_gain * off;
    next.velocity += velocity_gain * off;
    next.place_variance = place_gain * noise; /* (1 - gain) P, written without a difference */
    next.covariance = noise / whole * k->covariance;
    next.velocity_variance -= velocity_gain * k->covariance;
    if (next.velocity_variance < 0) next.velocity_variance = 0; /* rounding */
    return next;
}
