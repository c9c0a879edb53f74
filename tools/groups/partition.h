/* How well groups that were found without names agree with the identities that are known. */
#ifndef REID_TOOLS_PARTITION_H
#define REID_TOOLS_PARTITION_H

#include <stddef.h>
#include <stdint.h>

typedef struct agreement {
    size_t rows, groups, identities;
    size_t alone; /* rows that are all of their group */
    /* BCubed (Bagga and Baldwin 1998; Amigó et al. 2009): mean over the rows of the share of a row's group that has its
       identity, and of the share of its identity that is in its group, each with the row itself; f is their harmonic
       mean. NAN without rows. */
    double bcubed_precision, bcubed_recall, bcubed_f;
    /* Of the pairs that share a group, those that share an identity; of those that share an identity, those that share
       a group: NAN without such pairs. f is their harmonic mean, 0 when one side alone has pairs. */
    double pair_precision, pair_recall, pair_f;
    /* Adjusted Rand index, and adjusted mutual information (Vinh, Epps and Bailey 2010) over the mean of the two
       entropies: 0 is what chance gives, 1 is the same partition (which no rows are, too), as scikit-learn has it. */
    double ari, ami;
} agreement;

/* Row i is in group[i] and shows identity[i]; the numbers may be any. Rows that nobody has labelled are to be left out
   by the caller; they are at most UINT32_MAX. Takes up to 48 bytes a row while it runs. Returns 0 after saying that
   there is no memory. */
int agreement_of(agreement *out, const uint32_t *group, const uint32_t *identity, size_t count);

#endif
