/* How many individuals do crops show, when people can be asked about some pairs of them: pure functions.

   The number of individuals is the sum over all crops of 1/d, where d is the number of crops of that crop's individual,
   itself among them. So it is estimated from a sample of crops, and each d from a sample of the pairs that the crop is
   part of: nested importance sampling (Perez, Sheldon, Van Horn and Maji, "Human-in-the-Loop Visual Re-ID for
   Population Size Estimation", ECCV 2024, arXiv 2312.05287). Crops are drawn in proportion to a guess of 1/d (by the
   sizes of the groups that scores alone make), pairs the more often the more alike they are. Where the guess is poor,
   more has to be asked; the estimate stays what it is.

   Three things are done otherwise than there.
     - Crops and pairs are drawn without replacement, by permanent random numbers (Ohlsson 1998, sequential Poisson
       sampling): a number in (0, 1) belongs to a crop or a pair by its ids and the seed, for ever. A larger sample
       holds the smaller one, further crops change little of it, and nothing is asked twice.
     - 1/d is not estimated by 1 over an estimate of d, which is too high as often as matches are missed. With A crops
       that are surely of the individual and R others, 1/(A + R) is the integral over t in 0 … 1 of t^(A-1) t^R. A
       match that is asked about with the chance p, and then found, puts the factor 1 - (1 - t)/p in the place of t; one
       that is not asked about, the factor 1. On average that is t, so the integral is 1/d on average, whatever the
       chances.
     - Factors below -1/2 become -1/2. Without that, many matches that were asked about with small chances make the
       integral very large or very small. The average of a factor is then max(t, 1 - 3p/2): nothing changes down to
       p = 2/3; below, the estimate of 1/d is too high by at most (1 - 3p/2)^d / A, which is little for large d. */
#ifndef REID_TOOLS_COUNT_H
#define REID_TOOLS_COUNT_H

#include <stddef.h>
#include <stdint.h>

/* A seed of its own for what the text names: the seed, then each fingerprint, and so on. */
uint64_t count_seed(uint64_t seed, const char *more);
/* The permanent random number, above 0 and below 1, of a crop (b: NULL), or of two crops in either order. */
double count_number(uint64_t seed, const char *a, const char *b);

/* Shares, all above 0, to chances min(1, x · share) that add up to `expected`; to 1 when expected ≥ n. In place. */
void count_chances(double *share, size_t n, double expected);
/* Shares, which add up to 1, of the crops that one may be compared with, the most alike first. probability: that each
   is the same individual, as good as it is known. Six tenths fall off with the rank alone, so that scores that mean
   nothing on their own scale do little harm, three follow the probabilities, one is the same for all. */
void count_shares(double *share, const double *probability, size_t n);
/* The same for crops to be drawn: those of small groups first. size: [n] of the group of each. */
void count_crop_shares(double *share, const uint32_t *size, size_t n, size_t groups);

/* What a crop adds to the number of individuals, 1/d on average: `sure` crops are of its individual, itself among them,
   and `found` more, which were asked about with the chances chance[]. */
double count_part(size_t sure, const double *chance, size_t found);

/* A crop of the sample. */
typedef struct counted_crop {
    double chance;  /* to be in the sample */
    double part;    /* count_part; 0 for what is no crop */
    int whole;      /* everything that there is to ask about it was asked */
    size_t found;   /* matches that questions found */
    double behind;  /* how many matches those stand for: the sum of 1/chance */
} counted_crop;

typedef struct count_estimate {
    size_t crops;     /* of the sample */
    double count, low, high; /* individuals; bounds of the 95 % interval */
    double half;      /* of the interval below count, before it is cut to what is possible */
    size_t found;     /* matches that questions found */
    double reached;   /* share of the matches that there were to be found; NAN: none was found */
} count_estimate;

/* n ≥ 2; most: crops that there are. The variance between crops is that of drawing with replacement, which is too
   large rather than too small and contains what comes from not asking everything; crops that were sure to be in the
   sample and of which everything is known add nothing to it. Parts are skewed: a sample without its rarest, largest
   ones has a count and a variance that are too small. So the upper bound is that of an interval of the logarithm, and
   Student's t has the fewer degrees of freedom the heavier the tails are. And where all parts are as they were guessed,
   3/n of the crops may still be in groups that are really two individuals, say: the interval is at least so wide. */
void count_estimate_of(count_estimate *e, const counted_crop *at, size_t n, size_t most);

/* Student's t at 97.5 %. */
double count_quantile(double degrees);

#endif
