/* The groups of an earlier run, so that a later run can keep their numbers and names. */
#ifndef REID_TOOLS_EARLIER_H
#define REID_TOOLS_EARLIER_H

#include "groups/clusters.h"

typedef struct earlier_crop {
    char *id, *name; /* name: that of its group; NULL if it had none */
    uint32_t group;
} earlier_crop;

typedef struct earlier {
    earlier_crop *at;
    size_t count, cap;
} earlier;

/* Reads the CSV that reid cluster wrote: the columns id, group and name. Crops without a group are skipped. Returns 0
   after reporting an error; free it in any case. */
int earlier_read(earlier *e, const char *path);
void earlier_free(earlier *e);

/* Gives each group the number and the name of the earlier group with which it shares most crops. The largest overlap
   comes first; of equal ones, the earlier group with the lower number, then the group whose first crop comes first. No
   number is given twice; groups without an overlap get new numbers above all earlier ones. Names from decisions stay;
   an earlier name is dropped if people have given it to another group or have taken it back. decided: the decisions, or
   NULL. Returns 0 after reporting that memory ran out. e must outlive c. */
int clusters_carry_on(clusters *c, const crops *from, const earlier *e, const decision_list *decided);

#endif
