/* What fitting needs of linear algebra, in double: products, eigenvectors of symmetric matrices, Cholesky's factor.
   Matrices lie row after row. Every sum runs in a fixed order on one thread, so that equal inputs have equal bits. */
#ifndef REID_TOOLS_FIT_ALGEBRA_H
#define REID_TOOLS_FIT_ALGEBRA_H

#include <stddef.h>

/* out (m, n) = a bᵀ, where a is (m, k) and b is (n, k). When a is b, half of the products are computed. Returns 0,
   without a word, when interrupted(). */
int product_of_rows(const double *a, size_t m, const double *b, size_t n, size_t k, double *out);

/* a (m, n) to out (n, m). */
void transpose(const double *a, size_t m, size_t n, double *out);

/* The eigenvalues of a (n, n), of which the triangle below the diagonal and the diagonal count, in descending order
   into value (n), and the eigenvectors of the first `wanted` into the first rows of a, each of length 1 and with its
   largest component above 0; of the other rows nothing is promised. Householder's reflections make a tridiagonal, then
   come QL steps with implicit shifts. Returns 0 after saying that there is no memory or that it does not converge,
   which only values that are not finite bring about, or without a word when interrupted(). */
int eigen_symmetric(double *a, size_t n, size_t wanted, double *value);

/* Cholesky's factor L, a = L Lᵀ, in the place of a's lower triangle; the one above becomes 0. Returns 0, without a
   word, when a is not positive definite. */
int cholesky(double *a, size_t n);
/* x = L⁻¹ x and x = L⁻ᵀ x, in place. */
void solve_lower(const double *l, size_t n, double *x);
void solve_lower_transposed(const double *l, size_t n, double *x);

#endif
