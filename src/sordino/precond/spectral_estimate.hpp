// How large the eigenvalues of diag(A)^-1 A are, for smoothers of matrices whose rows' sums say nothing: of coarse algebraic
// levels Gershgorin's bound may be off by ten orders of magnitude.
#pragma once
#include <functional>
#include <vector>

#include "sordino/linalg/csr.hpp"

namespace sordino {

/// A tenth more than the largest Ritz value of 15 Lanczos steps of D^-1/2 A D^-1/2 from a fixed vector (Golub and Van Loan,
/// Matrix Computations, 2013, algorithm 10.1.1, without reorthogonalization), or spectral_bound(), whichever is less. It is no
/// bound, but what a polynomial that is least on a tenth of it or more needs: that stays below 1 up to another tenth beyond.
/// All rows are to be at hand. Throws as spectral_bound(). Cost: 15 products, on several threads.
double estimated_bound(const CsrView& A);

/// What those who hold some rows each of a matrix tell each other. All of it is collective.
struct OthersRows {
  i64 first = 0;                                       // of the own rows, in the whole
  std::function<void(std::vector<double>&)> complete;  // sets what stands in [A.n] of others' rows
  std::function<double(double)> sum, most;             // of a number of each: the same bits for all
};

/// The same of rows of which others hold some: A has its own, of A.n that these touch. Cost: 16 messages to and from each
/// neighbour and 31 numbers of all, besides.
double estimated_bound(const CsrView& A, const OthersRows& others);

/// The same of M^-1 A, where solve(r, z) makes z = M^-1 r, [n] each, M symmetric positive definite: Lanczos in the inner
/// product of A. Cost: 15 products and applications.
double estimated_bound(const CsrView& A, const std::function<void(const double*, double*)>& solve);

}  // namespace sordino
