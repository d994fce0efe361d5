// Inverse square-root Jacobi (003's DiagInvScale; van der Sluis 1969): A x = b is iterated on as S A S y = S b, with
// S = diag(A)^-1/2 and x = S y. In exact arithmetic iterates of conjugate gradients are those with Jacobi, and an iteration
// reads neither 1 / diag(A) nor, where A is stored by diagonals, the main one, which is 1.
//
// Setup and update make one pass over the entries; a solve scales b and x once.
#pragma once
#include <span>

#include "sordino/base/large_array.hpp"
#include "sordino/linalg/csr_operator.hpp"
#include "sordino/precond/preconditioner.hpp"

namespace sordino {

/// Throws bad_argument, with the row, for a diagonal entry that is missing, zero, negative or not finite, or whose reciprocal
/// is not. Of the rows that are at hand.
void require_positive_diagonal(const CsrView& A);

/// S A S with the pattern of A: each entry is a_ij (s_i s_j), the same for (j, i) bit by bit where A's are, and 1 on the
/// diagonal. Memory: 8 B an entry and a row.
class ScaledMatrix {
 public:
  /// Of a real matrix, all of whose rows are here; its pattern must outlive this. Throws as require_positive_diagonal().
  explicit ScaledMatrix(const CsrView& A);
  /// New values for the same pattern: no allocation. If they are refused, the old ones stay.
  void update_values(const CsrView& A);

  /// What it holds for a rank.
  static i64 bytes_of(const CsrSlice& slice) { return i64(sizeof(double)) * (slice.entries + slice.rows); }
  CsrView view() const;                                                       // S A S
  std::span<const double> factors() const { return {s_.data(), s_.size()}; }  // [n] of S
  double least() const { return least_; }
  double most() const { return most_; }

 private:
  CsrView pattern_;
  LargeArray<double> s_, values_;
  double least_ = 1, most_ = 1;  // of S
};

class SqrtJacobi final : public Preconditioner {
 public:
  /// The rows that `space` holds.
  SqrtJacobi(Rank& rank, int space, const ScaledMatrix& A);
  void update_values(Rank& rank, const ScaledMatrix& A);
  Vec diagonal() const override { return {}; }
  const SymmetricScaling* scaling() const override { return &scaling_; }

 private:
  int space_;
  SymmetricScaling scaling_;
};

}  // namespace sordino
