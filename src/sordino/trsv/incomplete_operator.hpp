// ILU(0) and IC(0) of what each rank has of a matrix, as an operator z = M^-1 r: block Jacobi with one block a rank. Couplings
// between ranks are dropped.
//
// An application is one command: no halo, no reduction of its own, and a second command for dot products of its result. One
// thread of a host substitutes row by row, forward and backward; GPUs, which need levels, have no kernel of it yet. With e
// entries of the block, of IC(0) of its lower triangle, and n rows it moves 12 e + 52 n or 24 (e - n) + 64 n bytes, and takes
// 2 e or 4 e - 2 n operations.
#pragma once
#include <vector>

#include "sordino/linalg/csr.hpp"
#include "sordino/linalg/operator.hpp"
#include "sordino/trsv/incomplete.hpp"

namespace sordino::trsv {

/// L L^T of a symmetric matrix, or L U with a unit diagonal of L.
enum class Incomplete { ic0, ilu0 };

class IncompleteOperator final : public Operator {
 public:
  /// Of the rows that `space` has. Nothing is factorized yet. `A` is real; the rank's engine is not that of a device.
  IncompleteOperator(Rank& rank, const CsrView& A, int space, Incomplete kind);

  /// Factorizes, by the rank's thread. Returns the row of the matrix whose pivot is missing, zero or, of ic0, not positive, or
  /// where entries overflow; what is stored is then of no use. -1: there is none. Cost: of each row its entries times those of
  /// rows that it needs.
  i64 factorize(Rank& rank, const CsrView& A);

  void apply(Rank& rank, Vec r, Vec z, const StartDots& epilogue = {}) const override;
  int space() const override { return space_; }
  Vec operand(Rank& rank, const char* name) const override { return rank.vector(name, space_); }
  Vec result(Rank& rank, const char* name) const override { return rank.vector(name, space_); }

  /// What it holds for the rows of a rank.
  static i64 bytes_of(const CsrView& A, i64 first_row, i32 rows, Incomplete kind);

 private:
  /// `visit(row of the block, entry of A)` for each entry of the block that the factor has.
  template <class Visit>
  void each_entry(const CsrView& A, const Visit& visit) const;

  int space_, one_row_;  // a space of one row a rank, over which the command runs
  i64 first_row_;
  i32 rows_;
  Incomplete kind_;
  std::vector<i64> begin_;
  std::vector<i32> columns_, diagonal_;  // diagonal_: where U begins in a row, counted from the row's begin
  std::vector<double> values_, inverse_pivots_;
};

}  // namespace sordino::trsv
