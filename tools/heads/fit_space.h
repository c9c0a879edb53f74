/* Rows in the coordinates of their principal components, and the directions in them that tell individuals apart. */
#ifndef REID_TOOLS_FIT_SPACE_H
#define REID_TOOLS_FIT_SPACE_H

#include <stddef.h>

/* More components cost time (its cube) and hold noise; components come from so many rows, evenly picked where there are
   more, which bounds the largest matrix of which eigenvectors are wanted. */
enum { FIT_MOST_AXES = 512, FIT_MOST_ROWS = 2048 };

typedef enum fit_method { FIT_AUTO, FIT_WITHIN, FIT_LDA, FIT_PCA } fit_method; /* as in FIT_METHODS */

/* Principal components: a row x is mean + Σ at[i] · axis[i] + what the components leave out. */
typedef struct fit_space {
    size_t dim, axes, count;
    double *mean;     /* (dim) of all rows */
    double *axis;     /* (axes, dim), orthonormal, that of the largest variance first */
    double *variance; /* (axes) of the rows along them */
    double *at;       /* (count, axes) */
} fit_space;

/* Of `count` rows of `dim` floats. axes is their rank, at most FIT_MOST_AXES; 0 when all rows are equal. Returns 0
   after saying that there is no memory, or without a word when interrupted(); free it in any case. */
int fit_space_make(fit_space *s, const float *const *row, size_t count, size_t dim);
void fit_space_free(fit_space *s);

/* How individuals differ and what one individual's crops do, from those individuals that have two crops or more. */
typedef struct fit_scatter {
    size_t axes, individuals, crops;
    double *centre;  /* (axes) mean of the rows */
    double *within;  /* (axes, axes) covariance of crops about their individual's mean, over crops - individuals */
    double *between; /* (axes, axes) covariance of the individuals' means, each counted once, over individuals */
} fit_scatter;

/* Rows of individuals with left_out[identity] are left out; NULL: of none. Returns 0 after saying that there is no
   memory, or without a word when interrupted(); free it in any case. */
int fit_scatter_make(fit_scatter *s, const fit_space *space, const size_t *identity, size_t identities,
                     const char *left_out);
void fit_scatter_free(fit_scatter *s);

/* How many directions there are. */
size_t fit_rank(fit_method method, size_t axes, size_t individuals);

/* The first `found` = min(most, fit_rank) directions, rows of out (most, axes), that of the largest share first. With
   C = (1 - shrinkage) S + shrinkage · trace(S) / axes · 1, where S is the covariance within individuals, of PCA that of
   all rows, each has variance 1 in C.
       LDA      between individuals they have the largest variance: Fisher's, one fewer than individuals
       within   within and between individuals together they have it: as many as there are axes
       PCA      the components, whitened; individuals do not matter
   Returns 0 after saying what is wrong, or without a word when interrupted(). */
int fit_directions(const fit_space *space, const fit_scatter *s, fit_method method, double shrinkage, size_t most,
                   double *out, size_t *found);

#endif
