/* Computes a threshold from the scores of pairs that hardly anyone has labelled: a pure function.

   The scores of all pairs are a mixture of two distributions, those of pairs that show one individual and of pairs that
   show two. Both are taken as normal after Fisher's transformation of a correlation, z = atanh(score) (Fisher,
   "Frequency distribution of the values of the correlation coefficient", Biometrika 10, 1915), and fitted by
   expectation maximisation (Dempster, Laird and Rubin 1977), in which pairs that are known stay what they are
   known to be. Brümmer and Garcia-Romero calibrate scores of speakers in the same way ("Generative Modelling for
   Unsupervised Score Calibration", ICASSP 2014, arXiv 1311.0707). Five details are our own:
     - The threshold is the score that a share `fmr` of the pairs of two individuals exceeds, as in a calibration from
       labels. It depends only on the lower, larger distribution. The distribution of pairs of one individual,
       of which too few are seen and too many are of one burst, decides only where the lower one ends.
     - Pairs of one kind (of one camera, say, whose background makes all its images alike) have distributions of their
       own. The threshold is that of all kinds together.
     - Pairs are not independent, because each unit is part of many. Together they count as much as there are units.
     - The share of pairs that show one individual has the prior Beta(2, 50), whose mode is 2 %. Without it, individuals
       that resemble each other pass as one where there are few units.
     - Below the middle of the distribution of different pairs, an unknown pair is never the same.
   The interval is from drawing units with replacement (Snijders and Borgatti, "Non-parametric standard errors and tests
   for network statistics", Connections 22, 1999). */
#ifndef REID_TOOLS_MIXTURE_H
#define REID_TOOLS_MIXTURE_H

#include "scores/calibration.h"

typedef enum pair_known { PAIR_UNKNOWN, PAIR_DIFFERENT, PAIR_SAME, PAIR_KNOWNS } pair_known;

enum { MIXTURE_KINDS = 2 };

/* Two units, such as two tracks. */
typedef struct mixture_pair {
    float score;
    uint32_t a, b;             /* indices of the units */
    unsigned char known, kind; /* a pair_known; below MIXTURE_KINDS */
} mixture_pair;

typedef struct mixture_request {
    const mixture_pair *pairs; /* [count] */
    size_t count, units;
    double scale; /* scores are cosines times scale */
    double fmr;
    int draws; /* for the interval */
} mixture_request;

/* The distributions of one kind of pairs. Means and deviations are those of atanh(score / scale). */
typedef struct mixture_part {
    double pairs;      /* how many there are */
    double share;      /* that shows one individual, with the prior */
    double same_pairs; /* how many show one individual, without the prior */
    double different, different_deviation, same, same_deviation;
} mixture_part;

typedef struct mixture {
    mixture_part part[MIXTURE_KINDS];
    int parts; /* 1: all pairs have the same distributions, because one kind has too few */
    double scale, threshold;
    double share;      /* of all pairs, that shows one individual, without the prior */
    double accepted;   /* the share of pairs of one individual that the threshold accepts */
    double gain;       /* of the logarithm of the likelihood over a single distribution of each kind */
    interval interval; /* 95 %, of the threshold */
} mixture;

/* Returns 0 after reporting that memory ran out, or silently if interrupted(). There must be at least one pair. */
int mixture_fit(mixture *m, const mixture_request *r);

/* The transformation of a score, and back. */
double mixture_place(double score, double scale);
double mixture_score(double place, double scale);
/* Mean and standard deviation of the places of different pairs, over all kinds. */
spread mixture_different(const mixture *m);

/* Fills out[2 * each] with scores at even quantiles of both distributions, highest first, as if they had been seen and
   labelled. */
void mixture_sample(const mixture *m, scored_pair *out, size_t each);

#endif
