// ILU(0) and IC(0) of what each rank has of a matrix, as an operator z = M^-1 r: block Jacobi with one block a rank. Couplings
// between ranks are dropped.
//
// An application is one command: no halo, no reduction of its own, and a second command for dot products of its result. One
// thread of a host substitutes row by row, forward and backward; with e entries of the block, of IC(0) of its lower triangle,
// and n rows it moves 12 e + 52 n or 24 (e - n) + 64 n bytes, and takes 2 e or 4 e - 2 n operations. On a GPU it is two
// kernels by levels (incomplete_device.hpp), with the same bits, and 12 (e - n) + 104 n or 24 (e - n) + 112 n bytes.
#pragma once
#include <memory>
#include <vector>

#include "sordino/linalg/csr.hpp"
#include "sordino/linalg/operator.hpp"
#include "sordino/trsv/incomplete.hpp"
#include "sordino/trsv/incomplete_device.hpp"

namespace sordino::trsv {

class IncompleteOperator final : public Operator {
 public:
  /// Of the rows that `space` has. Nothing is factorized yet. `A` is real.
  IncompleteOperator(Rank& rank, const CsrView& A, int space, Incomplete kind);

  /// Factorizes, by the rank's thread, on a host; a GPU is then given the factors. Returns the row of the matrix whose pivot is
  /// missing, zero or, of ic0, not positive, or where entries overflow; what is stored is then of no use. -1: there is none.
  /// Cost: of each row its entries times those of rows that it needs.
  i64 factorize(Rank& rank, const CsrView& A);

  void apply(Rank& rank, Vec r, Vec z, const StartDots& epilogue = {}) const override;
  int space() const override { return space_; }
  Vec operand(Rank& rank, const char* name) const override { return rank.vector(name, space_); }
  Vec result(Rank& rank, const char* name) const override { return rank.vector(name, space_); }

  /// What it holds for the rows of a rank where the engine computes: `device` is a GPU.
  static i64 bytes_of(const CsrView& A, i64 first_row, i32 rows, Incomplete kind, bool device);
  /// On a host.
  i64 bytes() const { return block_.bytes(); }

 private:
  /// The block's entries that the factors have.
  struct Block {
    std::vector<i64> begin;
    std::vector<i32> columns, diagonal;  // diagonal: where U begins in a row, counted from the row's begin
    Block(const CsrView& A, i64 first_row, i32 rows, Incomplete kind);
    IncompletePattern pattern() const { return {i32(diagonal.size()), begin.data(), columns.data(), diagonal.data()}; }
    i64 bytes() const;
  };

  int space_, one_row_;  // a space of one row a rank, over which the command runs
  i64 first_row_;
  Incomplete kind_;
  Block block_;
  std::vector<double> values_, inverse_pivots_;
  std::unique_ptr<IncompleteDevice> device_;  // where the engine is one
};

}  // namespace sordino::trsv
