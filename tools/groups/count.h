/* Estimates how many individuals the crops show, from people's answers about some pairs of crops: pure functions.

   The number of individuals is the sum over all crops of 1/d, where d is the number of crops that show that crop's
   individual, including itself. The sum is estimated from a sample of crops, and each d from a sample of the pairs that
   the crop is part of: nested importance sampling (Perez, Sheldon, Van Horn and Maji, "Human-in-the-Loop Visual Re-ID
   for Population Size Estimation", ECCV 2024, arXiv 2312.05287). Crops are drawn in proportion to a guess of 1/d (from
   the sizes of the groups that scores alone make); similar pairs are drawn more often. Where the guess is poor, more
   questions are needed, but the estimate stays unbiased.

   This implementation differs from that paper in three ways.
     - Crops and pairs are drawn without replacement, by permanent random numbers (Ohlsson 1998, sequential Poisson
       sampling): the ids and the seed alone give each crop and pair its number in (0, 1). A larger sample contains the
       smaller one, additional crops change little in it, and nothing is asked twice.
     - 1/d is not estimated as 1 over an estimate of d, which is too high whenever matches are missed. With A crops that
       certainly show the individual and R others, 1/(A + R) is the integral over t in 0 … 1 of t^(A-1) t^R. A match
       that is asked about with probability p, and then found, contributes the factor 1 - (1 - t)/p instead of t; one
       that is not asked about contributes the factor 1. The expectation is t, so the expectation of the integral is
       1/d for any probabilities.
     - Factors below -1/2 become -1/2. Otherwise many matches that were asked about with small probabilities would make
       the integral very large or very small. The expectation of a factor is then max(t, 1 - 3p/2): unchanged down to
       p = 2/3; below that, the estimate of 1/d is too high by at most (1 - 3p/2)^d / A, which is small for large d. */
#ifndef REID_TOOLS_COUNT_H
#define REID_TOOLS_COUNT_H

#include <stddef.h>
#include <stdint.h>

/* Mixes a text into a seed and returns the new seed. Call it for each fingerprint, and so on. */
uint64_t count_seed(uint64_t seed, const char *more);
/* The permanent random number, above 0 and below 1, of a crop (b: NULL) or of two crops in either order. */
double count_number(uint64_t seed, const char *a, const char *b);

/* Turns shares, all above 0, into probabilities min(1, x · share) that add up to `expected`; all become 1 when
   expected ≥ n. In place. */
void count_chances(double *share, size_t n, double expected);
/* Computes the shares, which add up to 1, of the crops that one crop may be compared with, highest score first.
   probability: estimates that each shows the same individual. Six tenths depend on the rank alone, so that poorly
   scaled scores do little harm; three tenths follow the probabilities; one tenth is the same for all. */
void count_shares(double *share, const double *probability, size_t n);
/* Computes the shares by which crops are drawn; small groups get larger ones. size: [n] of each crop's group. */
void count_crop_shares(double *share, const uint32_t *size, size_t n, size_t groups);

/* The contribution of a crop to the number of individuals, whose expectation is 1/d: `sure` crops are known to show its
   individual, including itself, and `found` more were found by questions, asked with probabilities chance[]. */
double count_part(size_t sure, const double *chance, size_t found);

/* A crop of the sample. */
typedef struct counted_crop {
    double chance;  /* probability of being in the sample */
    double part;    /* count_part; 0 if it was decided to be "not a crop" */
    int whole;      /* every possible pair of it was asked about */
    size_t found;   /* matches found by questions */
    double behind;  /* estimated number of all matches: the sum of 1/chance over those found */
} counted_crop;

typedef struct count_estimate {
    size_t crops;     /* in the sample */
    double count, low, high; /* individuals; bounds of the 95 % interval */
    double half;      /* width of the interval below count, before it is clipped to possible values */
    size_t found;     /* matches found by questions */
    double reached;   /* estimated share of all matches that was found; NAN: none was found */
} count_estimate;

/* n ≥ 2; most: the number of all crops. The variance between crops is computed as if they were drawn with replacement,
   which errs on the large side, and includes the variance from asking only about some pairs. Crops that
   were certain to be in the sample and of which everything is known add nothing to it. Parts are skewed: if the sample
   lacks the rare large ones, both the count and the variance are too small. So the upper bound comes from an interval
   of the logarithm, and Student's t has fewer degrees of freedom if the tails are heavier. Even if all parts are as
   guessed, up to 3/n of the crops may be in groups that are really two individuals, say; the interval is at least wide
   enough for that. */
void count_estimate_of(count_estimate *e, const counted_crop *at, size_t n, size_t most);

/* Student's t at 97.5 %. */
double count_quantile(double degrees);

#endif
