/* Who goes with whom, so that the sum of what the pairs gain is the largest (the Hungarian method). */
#ifndef REID_TOOLS_ASSIGNMENT_H
#define REID_TOOLS_ASSIGNMENT_H

#include <stddef.h>
#include <stdint.h>

#define ASSIGNMENT_NONE UINT32_MAX

/* What is reused from one call to the next; zero it before the first. */
typedef struct assignment {
    double *row_price, *column_price, *slack; /* [room] */
    uint32_t *row_of, *before;                /* [room] */
    unsigned char *reached;                   /* [room] */
    size_t room;
} assignment;

/* gain: (rows, columns), finite; what gains nothing (<= 0) is no pair. Sets column[i] to the partner of row i or to
   ASSIGNMENT_NONE. Takes rows · columns · min(rows, columns) steps; of several best answers, it is always the same.
   Returns 0 after reporting that memory ran out. */
int assignment_solve(assignment *a, const double *gain, size_t rows, size_t columns, uint32_t *column);
/* After it, assignment_solve of as many rows and columns, or fewer, needs no memory. Returns 0 after saying that there
   is none. */
int assignment_room(assignment *a, size_t rows, size_t columns);
void assignment_free(assignment *a);

#endif
