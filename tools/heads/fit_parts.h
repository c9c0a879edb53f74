/* The request and the result of a fit: linear layers for one or several input vectors of a head. */
#ifndef REID_TOOLS_FIT_PARTS_H
#define REID_TOOLS_FIT_PARTS_H

#include "heads/fit_space.h"

#include <stdint.h>

enum { FIT_MOST_PARTS = 4, FIT_FOLDS = 5, FIT_LEAST_TO_CHOOSE = 4 };

/* One input vector of a head: `dim` columns of a row, beginning at `first`. room: the largest number of directions that
   the layers after it can hold. */
typedef struct fit_part {
    size_t first, dim, room;
} fit_part;

typedef struct fit_request {
    const float *rows;      /* of `columns` floats each */
    size_t columns;
    const size_t *pick;     /* (count) the rows to use */
    size_t count;
    const size_t *identity; /* of each row, not of each pick; below `identities` */
    size_t identities;
    const size_t *camera;   /* of each row: crops of one individual and camera are not compared; NULL: all are */
    const fit_part *part;
    int parts;
    fit_method method;      /* FIT_AUTO: chosen with the shrinkage */
    double shrinkage;       /* 0 … 1; NAN: chosen by cross-validation over individuals */
    size_t dim;             /* directions of each part; 0: as many as possible, at most its room */
    uint64_t seed;          /* for distributing individuals over the folds of cross-validation */
} fit_request;

/* y = weight x + bias, for x of fit_part.dim floats. */
typedef struct fitted_part {
    double *weight; /* (found, dim) */
    double *bias;   /* (found) */
    size_t dim, found, axes;
    fit_method method;
    double shrinkage;
    double share;   /* weight of this part in a score; the shares of all parts add up to 1 */
    double map;     /* mean average precision of this part alone in cross-validation; NAN: there was none */
} fitted_part;

typedef struct fitted {
    fitted_part part[FIT_MOST_PARTS];
    int parts;
    size_t individuals, crops; /* individuals with two crops or more, and their crops */
    size_t single;             /* individuals with one crop, which are used only for the mean and the components */
    int folds;                 /* of the cross-validation; 0: there was nothing to choose */
    double map;                /* mean average precision of all parts together in it; NAN: there was none */
} fitted;

void fitted_free(fitted *f);

/* The number of floats that fit_apply writes for a row. */
size_t fitted_dim(const fitted *f);
/* Applies the heads to the parts of one row of the request; writes the results one after the other, not normalised. */
void fit_apply(const fitted *f, const fit_request *r, const float *row, float *out);

/* Sets turn[identity] to 0 … turns-1 for individuals with two picks or more, in a random order from the seed, and to -1
   for others. Returns the number of the former. */
size_t fit_turns(const fit_request *r, int turns, int *turn);

#endif
