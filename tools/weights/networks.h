/* What the library's networks need, asked of the library itself, so that there is one table of them. */
#ifndef REID_TOOLS_NETWORKS_H
#define REID_TOOLS_NETWORKS_H

#include "weights/dialects.h"

typedef struct networks {
    network *at;
    size_t count, cap;
} networks;

void networks_list(networks *all);
void networks_free(networks *all);

#endif
