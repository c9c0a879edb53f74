/* The tensors that the library's networks need, obtained from the library itself so that there is only one table. */
#ifndef REID_TOOLS_NETWORKS_H
#define REID_TOOLS_NETWORKS_H

#include "weights/dialects.h"

typedef struct networks {
    network *at;
    size_t count, cap;
} networks;

/* Returns 0 after saying what is wrong; free it in any case. */
int networks_list(networks *all);
void networks_free(networks *all);

#endif
