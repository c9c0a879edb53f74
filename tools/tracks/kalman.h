/* A Kalman filter of one coordinate that moves with a constant velocity but for random changes: what is known of place
   and velocity, as means and covariances. Time is continuous: two predictions are one over both times. */
#ifndef REID_TOOLS_KALMAN_H
#define REID_TOOLS_KALMAN_H

typedef struct kalman {
    double place, velocity;
    double place_variance, covariance, velocity_variance;
} kalman;

/* After a first measurement with the variance `noise`; nothing but its spread is known of the velocity. */
kalman kalman_begin(double place, double noise, double velocity_variance);

/* `seconds` later. The velocity's variance grows by `change` a second (white-noise acceleration), the place's, apart
   from what follows from that, by `drift`. */
kalman kalman_predict(const kalman *k, double seconds, double change, double drift);

/* After a measurement with the variance `noise`. */
kalman kalman_update(const kalman *k, double measured, double noise);

#endif
