/* The linear algebra for fitting, in double: products, eigenvectors of symmetric matrices, Cholesky's factor. Matrices
   are stored row by row. Every sum is computed in a fixed order on one thread, so equal inputs give equal bits. */
#ifndef REID_TOOLS_FIT_ALGEBRA_H
#define REID_TOOLS_FIT_ALGEBRA_H

#include <stddef.h>

/* out (m, n) = a bᵀ, where a is (m, k) and b is (n, k). If a and b are the same array, only half of the products are
   computed. Returns 0 silently if interrupted(). */
int product_of_rows(const double *a, size_t m, const double *b, size_t n, size_t k, double *out);

/* a (m, n) to out (n, m). */
void transpose(const double *a, size_t m, size_t n, double *out);

/* Computes the eigenvalues of a (n, n), of which only the diagonal and the triangle below it are read, into value (n)
   in descending order. The eigenvectors of the first `wanted` ones go to the first rows of a, each of length 1 and with
   its largest component above 0; the other rows are undefined afterwards. Householder's reflections make a tridiagonal,
   then QL steps with implicit shifts follow. Returns 0 after reporting that memory ran out or that the values do not
   converge, which happens only if they are not finite, or silently if interrupted(). */
int eigen_symmetric(double *a, size_t n, size_t wanted, double *value);

/* Replaces a's lower triangle by Cholesky's factor L, a = L Lᵀ, and the upper one by zeros. Returns 0, without a
   message, when a is not positive definite. */
int cholesky(double *a, size_t n);
/* x = L⁻¹ x and x = L⁻ᵀ x, in place. */
void solve_lower(const double *l, size_t n, double *x);
void solve_lower_transposed(const double *l, size_t n, double *x);

#endif
