/* The decisions in force: for each pair and for the name of each crop, the last decision that was not undone. A row
   that was decided to be "not a crop" is in no pair and has no name.

   It is a contradiction if a pair is different although a chain of pairs that are the same connects it, or if there are
   two names in such a chain. The message names every crop and decision of the chain, with the person and the time. */
#ifndef REID_TOOLS_DECISIONS_STATE_H
#define REID_TOOLS_DECISIONS_STATE_H

#include "journal/decisions_list.h"

/* from: the decision is list.at[from]. */
typedef struct decided_pair {
    const char *a, *b; /* a sorts before b with strcmp */
    size_t from;
} decided_pair;

typedef struct decided_id {
    const char *id, *name; /* name: only in decision_state.names, never ""; else NULL */
    size_t from;
} decided_id;

/* Sorted by id; the texts belong to the decisions. */
typedef struct decision_state {
    decided_pair *same, *different;
    decided_id *names, *no_crops;
    size_t sames, differents, name_count, no_crop_count;
} decision_state;

/* Returns 1; 0 if memory runs out; -1 if decisions contradict each other. The latter two put the reason in why. Free s
   in any case. */
int decisions_state(decision_state *s, const decision_list *d, text *why);
void decision_state_free(decision_state *s);

#endif
