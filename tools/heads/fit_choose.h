/* Chooses the method and shrinkage of a head, and the shares of several heads, by cross-validation over individuals. */
#ifndef REID_TOOLS_FIT_CHOOSE_H
#define REID_TOOLS_FIT_CHOOSE_H

#include "heads/fit_parts.h"

/* The inputs for choosing one part. identity and camera have one entry per pick. */
typedef struct fit_candidate {
    const fit_request *r;
    const fit_space *space;
    size_t room;
    const size_t *identity, *camera; /* camera: NULL as in the request */
    const int *turn;                 /* [identities] the fold that holds it out, from fit_turns; -1: none */
    int folds;
    size_t eligible;                 /* individuals with two picks or more */
} fit_candidate;

/* Both functions return 0 after reporting an error, or silently if interrupted(). */

/* Finds the best method and shrinkage of part p. */
int fit_choose(const fit_candidate *c, fitted_part *p);
/* Finds the best shares of all parts, and sets f->map to the mean average precision with them. */
int fit_choose_shares(const fit_candidate *c, fitted *f);

#endif
