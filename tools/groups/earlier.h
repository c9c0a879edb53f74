/* The groups of an earlier run, so that a later one can go on calling them the same. */
#ifndef REID_TOOLS_EARLIER_H
#define REID_TOOLS_EARLIER_H

#include "groups/clusters.h"

typedef struct earlier_crop {
    char *id, *name; /* name: of its group, NULL where it had none */
    uint32_t group;
} earlier_crop;

typedef struct earlier {
    earlier_crop *at;
    size_t count, cap;
} earlier;

/* Reads what reid cluster wrote as CSV: the columns id, group and name; a crop without a group is passed over. Returns
   0 after saying what is wrong; free it in any case. */
int earlier_read(earlier *e, const char *path);
void earlier_free(earlier *e);

/* Gives groups the number and the name of the earlier ones with which they share most crops: the largest overlap first,
   of equals the earlier group with the lower number, then the group whose first crop comes first. No number is given
   twice; groups without an overlap get new ones, above all that there were. A name that was decided stays; an earlier
   one is not carried on where people have given it to another group or have taken it back. decided: what they decided,
   NULL: nothing. Returns 0 after saying that there is no memory. e outlives c. */
int clusters_carry_on(clusters *c, const crops *from, const earlier *e, const decision_list *decided);

#endif
