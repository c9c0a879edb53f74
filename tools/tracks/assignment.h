/* Pairs rows with columns so that the sum of the pairs' gains is as large as possible (the Hungarian method). */
#ifndef REID_TOOLS_ASSIGNMENT_H
#define REID_TOOLS_ASSIGNMENT_H

#include <stddef.h>
#include <stdint.h>

#define ASSIGNMENT_NONE UINT32_MAX

/* Memory that is reused between calls; zero it before the first. */
typedef struct assignment {
    double *row_price, *column_price, *slack; /* [room] */
    uint32_t *row_of, *before;                /* [room] */
    unsigned char *reached;                   /* [room] */
    size_t room;
} assignment;

/* gain: (rows, columns), finite; a pair whose gain is <= 0 is never made. Sets column[i] to the partner of row i or to
   ASSIGNMENT_NONE. Takes rows · columns · min(rows, columns) steps. If several solutions are best, it always chooses
   the same one. Returns 0 after reporting that memory ran out. */
int assignment_solve(assignment *a, const double *gain, size_t rows, size_t columns, uint32_t *column);
/* Reserves memory, so that assignment_solve needs none for up to this many rows and columns. Returns 0 after reporting
   that memory ran out. */
int assignment_room(assignment *a, size_t rows, size_t columns);
void assignment_free(assignment *a);

#endif
