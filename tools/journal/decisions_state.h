/* What holds of all that was decided: of decisions about one pair, or of names of one crop, the last that was not
   undone. A crop that is none belongs to no pair and has no name.

   A contradiction is a pair that is different although a chain of pairs that are the same joins it, or two names in one
   such chain. Its message names every crop and decision of the chain, with who and when. */
#ifndef REID_TOOLS_DECISIONS_STATE_H
#define REID_TOOLS_DECISIONS_STATE_H

#include "journal/decisions_list.h"

/* from: the decision is list.at[from]. */
typedef struct decided_pair {
    const char *a, *b; /* a is before b, as strcmp has it */
    size_t from;
} decided_pair;

typedef struct decided_id {
    const char *id, *name; /* name: of names, where it is not ""; else NULL */
    size_t from;
} decided_id;

/* Sorted by id; the texts are those of the decisions. */
typedef struct decision_state {
    decided_pair *same, *different;
    decided_id *names, *no_crops;
    size_t sames, differents, name_count, no_crop_count;
} decision_state;

/* 1; 0: there is no memory; -1: they contradict each other. The latter two with the reason in why. Free s in any
   case. */
int decisions_state(decision_state *s, const decision_list *d, text *why);
void decision_state_free(decision_state *s);

#endif
