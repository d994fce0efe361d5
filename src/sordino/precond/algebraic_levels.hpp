// The levels of algebraic multigrid that a caller brings, as PyAMG makes them (smoothed aggregation: Vanek, Mandel, Brezina
// 1996; Ruge and Stueben 1987), or that aggregation makes here (aggregation.hpp): matrices of coarse levels, and interpolation
// P between them.
//
// Ranks own consecutive rows of every level. So coarse rows are put in another order first: each to the rank that has the fine
// row it counts most in, else as they were. Then most of P stays inside a rank, and what does not, travels by a halo each way.
// Levels below the first one of few rows are left out, as are those with fewer rows than ranks own any: a dense inverse is
// faster.
#pragma once
#include <vector>

#include "sordino/precond/map_transfers.hpp"

namespace sordino {

/// A level below the first one. Its arrays are the caller's.
struct GivenLevel {
  MapView P;  // to the level above, from this one
  CsrView A;  // P^T times the matrix above times P, or what the caller takes for it
};

/// Throws bad_argument about the first row that is held whose diagonal is not positive: `what` needs it to be.
void require_positive_diagonal(const CsrView& A, const std::string& what);
/// Throws bad_argument with one sentence if the levels do not chain, or hold what cannot be used: NaN or Inf, a diagonal that
/// is not positive, a matrix that is not symmetric to rounding. Cost: a pass over the arrays, and a search an entry.
void validate(const CsrView& A, const std::vector<GivenLevel>& given);

class AlgebraicLevels final : public MultigridLevels {
 public:
  /// Of levels that are valid. Throws bad_argument if the last one has too many rows to be inverted. Cost: copies of the
  /// levels' arrays and of P^T, which are held, and what estimated_bound() and inverse_of() take.
  AlgebraicLevels(const CsrView& A, const std::vector<GivenLevel>& given, const Partition& first);
  /// Of those that aggregated_levels() makes of A, symmetric with a positive diagonal, on the GPU with this CUDA number if
  /// there is one. Throws as that does.
  AlgebraicLevels(const CsrView& A, const Partition& first, int gpu = -1);
  /// The same of a matrix that is itself of a coarse level, where rounding hides whether the first one is closed
  /// (dense_inverse.hpp).
  AlgebraicLevels(const CsrView& A, const Partition& first, bool closed, int gpu);
  /// A caller's coarse levels, and P, stay. Of aggregates, which stay, too, coarse matrices are made anew. M is another
  /// preconditioner than new levels would give, symmetric and positive all the same.
  void update(const CsrView& A) override;
  void update(const CsrView& A, bool closed);

  int count() const override { return int(levels_.size()); }
  CsrView matrix(int l) const override { return l == 0 ? given_ : level(l).A.view(); }
  const Partition& partition(int l) const override { return level(l).partition; }
  const Diagonals& diagonals(int) const override { return by_rows_; }
  double bound(int l) const override { return level(l).bound; }
  double interval() const override { return 10; }  // an aggregate has more rows than a pair of cells
  int degree() const override { return 3; }
  const CsrMatrix& last_inverse() const override { return last_inverse_; }
  std::unique_ptr<LevelTransfer> transfer(Rank& rank, int l, LevelSpace fine, LevelSpace coarse) const override;
  i64 transfer_bytes(int l, int rank, bool device) const override;

 private:
  AlgebraicLevels(const CsrView& A, const std::vector<GivenLevel>& given, const Partition& first, bool closed);
  struct Level {
    CsrMatrix A = {};          // of the first level empty
    MapMatrix P = {}, R = {};  // from the next level, and to it; of the last one empty
    Partition partition = {};
    double bound = 0;
  };
  const Level& level(int l) const { return levels_[std::size_t(l)]; }
  LevelMaps maps(int l) const;

  CsrView given_;
  std::vector<Level> levels_;
  bool aggregated_ = false;  // of aggregated_levels(): then all rows are in the order in which these are
  CsrMatrix last_inverse_;
  Diagonals by_rows_;
};

}  // namespace sordino
