/* A Kalman filter of one coordinate that moves at a constant velocity apart from random changes: the means and
   covariances of place and velocity. Time is continuous: two predictions in a row equal one over the sum of their
   times. */
#ifndef REID_TOOLS_KALMAN_H
#define REID_TOOLS_KALMAN_H

typedef struct kalman {
    double place, velocity;
    double place_variance, covariance, velocity_variance;
} kalman;

/* The state after a first measurement with variance `noise`; of the velocity, only its variance is known. */
kalman kalman_begin(double place, double noise, double velocity_variance);

/* Predicts the state `seconds` later. The variance of the velocity grows by `change` per second (white-noise
   acceleration); that of the place grows accordingly and, in addition, by `drift` per second. */
kalman kalman_predict(const kalman *k, double seconds, double change, double drift);

/* The state after a measurement with variance `noise`. */
kalman kalman_update(const kalman *k, double measured, double noise);

#endif
