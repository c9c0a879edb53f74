/* What a fit is asked for and what it gives: linear layers for one or several vectors that go into a head. */
#ifndef REID_TOOLS_FIT_PARTS_H
#define REID_TOOLS_FIT_PARTS_H

#include "heads/fit_space.h"

#include <stdint.h>

enum { FIT_MOST_PARTS = 4, FIT_FOLDS = 5, FIT_LEAST_TO_CHOOSE = 4 };

/* One vector that goes into a head, `dim` columns of a row from `first` on, and the most directions that the layers
   behind it can hold. */
typedef struct fit_part {
    size_t first, dim, room;
} fit_part;

typedef struct fit_request {
    const float *rows;      /* of `columns` floats each */
    size_t columns;
    const size_t *pick;     /* (count) the rows that take part */
    size_t count;
    const size_t *identity; /* of each row, not of each pick; below `identities` */
    size_t identities;
    const size_t *camera;   /* of each row: crops of one individual and camera are not compared; NULL: they are */
    const fit_part *part;
    int parts;
    fit_method method;      /* FIT_AUTO: chosen with the shrinkage */
    double shrinkage;       /* 0 … 1; NAN: chosen by cross-validation over individuals */
    size_t dim;             /* directions of each part; 0: as many as there are, at most its room */
    uint64_t seed;          /* of which individuals fall together in cross-validation */
} fit_request;

/* y = weight x + bias, for x of fit_part.dim floats. */
typedef struct fitted_part {
    double *weight; /* (found, dim) */
    double *bias;   /* (found) */
    size_t dim, found, axes;
    fit_method method;
    double shrinkage;
    double share;   /* of this part in a score, against the others; over all parts they are 1 */
    double map;     /* mean average precision in cross-validation, alone; NAN: there was none */
} fitted_part;

typedef struct fitted {
    fitted_part part[FIT_MOST_PARTS];
    int parts;
    size_t individuals, crops; /* that tell how crops of one individual differ: those with two crops or more */
    size_t single;             /* individuals with one crop, which count for the mean and the components alone */
    int folds;                 /* of the cross-validation; 0: nothing was to be chosen */
    double map;                /* in it, of all parts together; NAN without */
} fitted;

void fitted_free(fitted *f);

/* Floats that fit_apply makes of a row. */
size_t fitted_dim(const fitted *f);
/* The parts of one row of the request behind their heads, side by side, not normalised. */
void fit_apply(const fitted *f, const fit_request *r, const float *row, float *out);

/* turn[identity] = 0 … turns-1 for those with two picks or more, in an order drawn from the seed; -1 for others.
   Returns how many of them there are. */
size_t fit_turns(const fit_request *r, int turns, int *turn);

#endif
