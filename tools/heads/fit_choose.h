/* Method and shrinkage of a head, and shares of several, by cross-validation over individuals. */
#ifndef REID_TOOLS_FIT_CHOOSE_H
#define REID_TOOLS_FIT_CHOOSE_H

#include "heads/fit_parts.h"

/* One part on its way. identity and camera are those of the picks, one each. */
typedef struct fit_candidate {
    const fit_request *r;
    const fit_space *space;
    size_t room;
    const size_t *identity, *camera; /* camera: NULL as in the request */
    const int *turn;                 /* of each individual, from fit_turns; -1: always in the fit */
    int folds;
    size_t eligible;                 /* individuals with two picks or more */
} fit_candidate;

/* Both return 0 after saying what is wrong, or without a word when interrupted(). */

/* The best method and shrinkage of part p. */
int fit_choose(const fit_candidate *c, fitted_part *p);
/* The best shares of all parts and the mean average precision with them into f->map. */
int fit_choose_shares(const fit_candidate *c, fitted *f);

#endif
