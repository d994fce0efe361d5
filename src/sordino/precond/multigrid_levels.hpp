// What a multigrid cycle (multigrid.hpp) knows of its levels, whichever way they came about.
#pragma once
#include <memory>

#include "sordino/base/singles.hpp"
#include "sordino/linalg/diagonals.hpp"
#include "sordino/linalg/made_rows.hpp"
#include "sordino/linalg/operator.hpp"
#include "sordino/linalg/partition.hpp"
#include "sordino/precond/level_smoother.hpp"
#include "sordino/runtime/rank.hpp"

namespace sordino {

/// The vectors of a level on one rank.
struct LevelSpace {
  int id = -1;
  bool single = false;  // a word holds two rows in single precision (linalg/single_operator.hpp)
};

/// P and P^T between two levels, on one rank.
class LevelTransfer {
 public:
  virtual ~LevelTransfer() = default;
  /// After MultigridLevels::update().
  virtual void update_values(Rank&) {}
  /// The vector in which restrict_residual() wants what a level's smoother has left, and that in which add_correction() wants
  /// what the coarse level has found: pushed by the commands that write them. Of one visit, which add_correction() ends.
  virtual Vec residual() const = 0;
  virtual Vec correction() const = 0;
  /// Records to = P^T residual, of the coarse level.
  virtual void restrict_residual(Rank& rank, Vec residual, Vec to) const = 0;
  /// Records to = x + P e, of the fine one. `to` is another vector than x, whose ghosts a neighbour may still read.
  virtual void add_correction(Rank& rank, Vec e, Vec x, Vec to) const = 0;
  /// What its matrices take on this rank.
  virtual i64 bytes() const { return 0; }
};

/// All levels, for all ranks of this process, 0 the finest one.
class MultigridLevels {
 public:
  virtual ~MultigridLevels() = default;
  /// The same levels for other values of the first one's matrix. Throws bad_argument, and leaves all as it was, for a diagonal
  /// that is not positive.
  virtual void update(const CsrView& A) = 0;
  /// Whether cycles that are recorded are good for the values of the last update(), too, and need not be made anew.
  virtual bool fits() const { return true; }

  virtual int count() const = 0;
  virtual CsrView matrix(int l) const = 0;  // of the first level as it was given
  /// The same where nobody has it as CSR, and matrix(l) has no rows; else none.
  virtual MadeRows made(int /*l*/) const { return {}; }
  /// What is made stays until this is called, when operators and vectors have it.
  virtual void release() {}
  virtual const Partition& partition(int l) const = 0;
  virtual const Diagonals& diagonals(int l) const = 0;  // by which the matrix is stored; of the first level the caller's choice
  /// In what cycles keep a level's matrix and vectors: in lower precision down to some level. Where that is so, matrices are
  /// divided by 2^exponent(), so that of the first one's diagonals, the least and the largest are as far from 1: by who stores
  /// them in lower precision, and those of levels below are given so.
  virtual CyclePrecision precision(int /*l*/) const { return CyclePrecision::full; }
  virtual int exponent() const { return 0; }
  virtual double bound(int l) const = 0;  // of the eigenvalues of diag(A)^-1 A
  virtual double interval() const = 0;    // the ratio of the ends of what smoothers are least on
  virtual int degree() const = 0;         // of their polynomials before a correction, and one less behind it
  /// Collective. Of level l, whose matrix A is, and which is not the last one; `inverse_diagonal`: of A in lower precision, and
  /// else none. This and A outlive it.
  virtual std::unique_ptr<LevelSmoother> smoother(Rank& rank, int l, const Operator& A, Vec inverse_diagonal) const;
  /// Of a rank, in double; `ghosts`: of A's operands.
  virtual SmootherSize smoother_size(int l, int rank, i64 ghosts, bool device) const;
  /// A generalized inverse of the last level's matrix, divided as it is; all rows of it, by entries.
  virtual const CsrMatrix& last_inverse() const = 0;

  /// Collective. Between level l, whose vectors are on that space, and the next one. This outlives it.
  virtual std::unique_ptr<LevelTransfer> transfer(Rank& rank, int l, LevelSpace fine, LevelSpace coarse) const = 0;
  /// Of the rank's vectors that such a transfer makes, and of its matrices.
  virtual i64 transfer_bytes(int l, int rank, bool device) const = 0;
};

}  // namespace sordino
