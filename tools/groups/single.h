/* Single linkage, for comparison: two rows are in one group when a chain of pairs, each with a score at or above a
   threshold, connects them, so groups are the connected components of the graph of these pairs. One wrong pair merges
   two individuals completely, which is why reid_group uses mean scores. */
#ifndef REID_TOOLS_SINGLE_H
#define REID_TOOLS_SINGLE_H

#include "reid.h"

/* merges: [rows->count], highest score first, of equal scores the lower rows first; a < b are the rows of a pair. Their
   number goes to *merged. The result is exact, and no matrix of scores is kept. Returns REID_ERR_CANCELLED if stop_fn
   returns true. */
reid_result single_linkage(const reid_desc *desc, const reid_rows *rows, double threshold, int (*stop_fn)(void *user),
                           void *user, reid_merge *merges, size_t *merged);

#endif
