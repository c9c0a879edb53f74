/* Fits heads, the last linear layers of a network, in closed form from labelled rows of their inputs. */
#ifndef REID_TOOLS_FIT_H
#define REID_TOOLS_FIT_H

#include "heads/fit_parts.h"

/* Chooses the method and shrinkage of each part, and the parts' shares, by the highest mean average precision on
   held-out individuals: FIT_FOLDS folds, each of which holds out a fifth of the individuals. Only the principal
   components, which use no labels, are computed from all rows. Returns 0 after reporting an error, or silently when
   interrupted(); free it in any case. */
int fit_heads(fitted *f, const fit_request *r);

#endif
