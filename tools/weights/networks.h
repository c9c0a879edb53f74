/* The tensors that the library's networks need, obtained from the library itself so that there is only one table. */
#ifndef REID_TOOLS_NETWORKS_H
#define REID_TOOLS_NETWORKS_H

#include "weights/dialects.h"

typedef struct networks {
    network *at;
    size_t count, cap;
} networks;

/* Lists all networks, the ResNets with this trunk: see trunk_of. Returns 0 after saying what is wrong; free it in any
   case. */
int networks_list(networks *all, const char *trunk);

/* The name of the network of this name, or of this name without its trunk; NULL if there is none. */
const char *networks_named(const networks *all, const char *name);
void networks_free(networks *all);

#endif
