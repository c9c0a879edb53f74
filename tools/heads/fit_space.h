/* Rows in the coordinates of their principal components, and the directions there that distinguish individuals. */
#ifndef REID_TOOLS_FIT_SPACE_H
#define REID_TOOLS_FIT_SPACE_H

#include <stddef.h>

/* The time grows with the cube of the number of components, and later components contain noise. Components are computed
   from at most FIT_MOST_ROWS evenly picked rows, which limits the largest matrix whose eigenvectors are needed. */
enum { FIT_MOST_AXES = 512, FIT_MOST_ROWS = 2048 };

typedef enum fit_method { FIT_AUTO, FIT_WITHIN, FIT_LDA, FIT_PCA } fit_method; /* as in FIT_METHODS */

/* Principal components: a row x is mean + Σ at[i] · axis[i] + a remainder. */
typedef struct fit_space {
    size_t dim, axes, count;
    double *mean;     /* (dim) of all rows */
    double *axis;     /* (axes, dim), orthonormal, largest variance first */
    double *variance; /* (axes) of the rows along each axis */
    double *at;       /* (count, axes) */
} fit_space;

/* Computes the components of `count` rows of `dim` floats. axes becomes their rank, at most FIT_MOST_AXES; 0 if all
   rows are equal. Returns 0 after reporting that memory ran out, or silently if interrupted(); free it in any
   case. */
int fit_space_make(fit_space *s, const float *const *row, size_t count, size_t dim);
void fit_space_free(fit_space *s);

/* How individuals differ from each other, and the crops of an individual among themselves; from individuals with two
   crops or more. */
typedef struct fit_scatter {
    size_t axes, individuals, crops;
    double *centre;  /* (axes) mean of the rows */
    double *within;  /* (axes, axes) covariance of crops about their individual's mean, over crops - individuals */
    double *between; /* (axes, axes) covariance of the individuals' means, each counted once, over individuals */
} fit_scatter;

/* Leaves out the rows of individuals with left_out[identity] set; NULL: uses all. Returns 0 after reporting that memory
   ran out, or silently if interrupted(); free it in any case. */
int fit_scatter_make(fit_scatter *s, const fit_space *space, const size_t *identity, size_t identities,
                     const char *left_out);
void fit_scatter_free(fit_scatter *s);

/* The number of directions that a method gives. */
size_t fit_rank(fit_method method, size_t axes, size_t individuals);

/* Computes the first `found` = min(most, fit_rank) directions as rows of out (most, axes), the most important first.
   Each has variance 1 in C = (1 - shrinkage) S + shrinkage · trace(S) / axes · 1, where S is the covariance within
   individuals, or for PCA that of all rows.
       LDA      largest variance between individuals: Fisher's, one fewer than individuals
       within   largest variance within and between individuals together: as many as there are axes
       PCA      the components, whitened; individuals are ignored
   Returns 0 after reporting an error, or silently if interrupted(). */
int fit_directions(const fit_space *space, const fit_scatter *s, fit_method method, double shrinkage, size_t most,
                   double *out, size_t *found);

#endif
