// Jacobi: M = diag(A). Setup and update read the local diagonal once; applying it is fused into the solvers' updates.
#pragma once
#include "sordino/base/large_array.hpp"
#include "sordino/linalg/csr.hpp"
#include "sordino/precond/preconditioner.hpp"

namespace sordino {

class Identity final : public Preconditioner {
 public:
  Vec diagonal() const override { return {}; }
};

/// A vector of the inverse diagonal, of `own`, that of the rank's rows, which lies on the host or on a GPU.
Vec inverse_diagonal_of(Rank& rank, int space, const double* own);

class Jacobi final : public Preconditioner {
 public:
  /// 1 / diag(A) for the rows that `space` holds, of a complex A as the method's factors are: of words 1 / Re diag(A), for
  /// both words of a row. Throws bad_argument if a diagonal entry is missing or zero.
  Jacobi(Rank& rank, const CsrView& A, int space, Factors factors = Factors::of_words);
  void update_values(Rank& rank, const CsrView& A);
  Vec diagonal() const override { return d_; }

 private:
  Vec d_;
  int space_;
  Factors factors_;
  LargeArray<double> host_;  // [rows], kept so that updates allocate nothing
};

}  // namespace sordino
