/* Measures how well groups that were found without names agree with known identities. */
#ifndef REID_TOOLS_PARTITION_H
#define REID_TOOLS_PARTITION_H

#include <stddef.h>
#include <stdint.h>

typedef struct agreement {
    size_t rows, groups, identities;
    size_t alone; /* groups of a single row */
    /* BCubed (Bagga and Baldwin 1998; Amigó et al. 2009), as means over the rows. Precision: the share of a row's group
       that has its identity; recall: the share of its identity that is in its group, both including the row itself; f
       is their harmonic mean. NAN without rows. */
    double bcubed_precision, bcubed_recall, bcubed_f;
    /* Precision: of the pairs in one group, the share with one identity; recall: of the pairs with one identity, the
       share in one group. NAN without such pairs. f is their harmonic mean; 0 if only one side has pairs. */
    double pair_precision, pair_recall, pair_f;
    /* Adjusted Rand index, and adjusted mutual information (Vinh, Epps and Bailey 2010) normalised by the mean of the
       two entropies. As in scikit-learn, chance gives 0 and equal partitions give 1, also without any rows. */
    double ari, ami;
} agreement;

/* Row i is in group[i] and shows identity[i]; any numbers will do. The caller leaves out rows without an identity.
   count is at most UINT32_MAX. Takes up to 48 bytes per row while it runs. Returns 0 after reporting that memory ran
   out. */
int agreement_of(agreement *out, const uint32_t *group, const uint32_t *identity, size_t count);

#endif
