/* Shortest augmenting paths with prices (Kuhn 1955, Munkres 1957; for rectangles Bourgeois and Lassalle 1971). The
   smaller side is called rows here, whatever the caller calls it. Every row first gets a column, at a cost of
   minus its gain, or 0 if the gain is negative. In the end, pairs without a gain are dropped: they add nothing to the
   sum, so the sum of the others is the largest possible. */
#include "tracks/assignment.h"

#include "base/invariant.h"
#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct costs {
    const double *gain;
    size_t rows, columns; /* rows <= columns; indices begin at 1, and column 0 means "none yet" */
    size_t row_step, column_step;
} costs;

static double cost_of(const costs *c, size_t row, size_t column) {
    double gain = c->gain[(row - 1) * c->row_step + (column - 1) * c->column_step];
    return gain > 0 ? -gain : 0;
}

int assignment_room(assignment *a, size_t rows, size_t columns) {
    size_t places = (rows > columns ? rows : columns) + 1;
    if (places <= a->room) return 1;
    assignment_free(a);
    a->row_price = need_array(places, sizeof *a->row_price);
    a->column_price = a->row_price ? need_array(places, sizeof *a->column_price) : NULL;
    a->slack = a->column_price ? need_array(places, sizeof *a->slack) : NULL;
    a->row_of = a->slack ? need_array(places, sizeof *a->row_of) : NULL;
    a->before = a->row_of ? need_array(places, sizeof *a->before) : NULL;
    a->reached = a->before ? need_array(places, 1) : NULL;
    a->room = a->reached ? places : 0;
    return a->reached != NULL;
}

/* Returns the nearest column that no path has reached yet, the first of equally near ones. Lowers every column's slack
   to what a path through `from`, the column reached last, allows. */
static size_t nearest(assignment *a, const costs *c, size_t from, double *distance) {
    size_t row = a->row_of[from], best = 0;
    *distance = (double)INFINITY;
    for (size_t k = 1; k <= c->columns; k++) {
        if (a->reached[k]) continue;
        double slack = cost_of(c, row, k) - a->row_price[row] - a->column_price[k];
        if (slack < a->slack[k]) a->slack[k] = slack, a->before[k] = (uint32_t)from;
        if (a->slack[k] < *distance) *distance = a->slack[k], best = k;
    }
    return best;
}

/* Finds a column for one more row, along the shortest path of changes to the rows that already have one. */
static void add_row(assignment *a, const costs *c, size_t row) {
    size_t at = 0;
    a->row_of[0] = (uint32_t)row;
    memset(a->reached, 0, c->columns + 1);
    for (size_t k = 0; k <= c->columns; k++) a->slack[k] = (double)INFINITY;
    while (a->row_of[at]) {
        double distance;
        a->reached[at] = 1;
        size_t next = nearest(a, c, at, &distance);
        REID_ASSERT(next); /* there are at least as many columns as rows */
        for (size_t k = 0; k <= c->columns; k++) {
            if (!a->reached[k]) a->slack[k] -= distance;
            else a->row_price[a->row_of[k]] += distance, a->column_price[k] -= distance;
        }
        at = next;
    }
    while (at) {
        a->row_of[at] = a->row_of[a->before[at]];
        at = a->before[at];
    }
}

int assignment_solve(assignment *a, const double *gain, size_t rows, size_t columns, uint32_t *column) {
    int turned = rows > columns;
    const costs c = {gain, turned ? columns : rows, turned ? rows : columns,
                     turned ? 1 : columns, turned ? columns : 1};
    for (size_t i = 0; i < rows; i++) column[i] = ASSIGNMENT_NONE;
    if (!c.rows) return 1;
    if (!assignment_room(a, rows, columns)) return 0;
    memset(a->row_price, 0, (c.rows + 1) * sizeof *a->row_price);
    memset(a->column_price, 0, (c.columns + 1) * sizeof *a->column_price);
    memset(a->row_of, 0, (c.columns + 1) * sizeof *a->row_of);
    for (size_t row = 1; row <= c.rows; row++) add_row(a, &c, row);
    for (size_t k = 1; k <= c.columns; k++) {
        size_t row = a->row_of[k];
        if (!row || cost_of(&c, row, k) >= 0) continue;
        if (turned) column[k - 1] = (uint32_t)(row - 1);
        else column[row - 1] = (uint32_t)(k - 1);
    }
    return 1;
}

void assignment_free(assignment *a) {
    free(a->row_price);
    free(a->column_price);
    free(a->slack);
    free(a->row_of);
    free(a->before);
    free(a->reached);
    memset(a, 0, sizeof *a);
}
