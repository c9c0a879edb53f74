/* Single linkage, for comparison: two rows are in one group when a chain of pairs with scores at or above a threshold
   leads from one to the other. Groups are so the components of the graph of these pairs. One wrong pair joins all of
   two individuals, which is why reid_group takes means. */
#ifndef REID_TOOLS_SINGLE_H
#define REID_TOOLS_SINGLE_H

#include "reid.h"

/* merges: [rows->count], best score first, a < b the two rows of a pair; of equal scores the lower rows. Their number
   goes to *merged. Exact: no pair is passed over, and no matrix is kept. REID_ERR_CANCELLED when stop_fn says so. */
reid_result single_linkage(const reid_desc *desc, const reid_rows *rows, double threshold, int (*stop_fn)(void *user),
                           void *user, reid_merge *merges, size_t *merged);

#endif
