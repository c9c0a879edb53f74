/* Heads in closed form: the last linear layers of a network, from labelled rows of what goes into them. */
#ifndef REID_TOOLS_FIT_H
#define REID_TOOLS_FIT_H

#include "heads/fit_parts.h"

/* Method and shrinkage of each part, and the parts' shares, are those with the highest mean average precision when
   individuals are looked for that took no part in the fit: FIT_FOLDS turns, in each of which a fifth of the individuals
   is held out. The principal components alone, which know no labels, are of all rows. Returns 0 after saying what is
   wrong, or without a word when interrupted(); free it in any case. */
int fit_heads(fitted *f, const fit_request *r);

#endif
