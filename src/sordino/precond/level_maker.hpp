// Who makes a level of algebraic multigrid from the one above: threads of the host, or a GPU, with the same bits.
#pragma once
#include <memory>
#include <vector>

#include "sordino/linalg/csr_map.hpp"
#include "sordino/precond/aggregate_rules.hpp"

namespace sordino {

/// Which aggregate each row is in.
struct Aggregates {
  std::vector<i32> of;    // [rows], or `outside`
  std::vector<i64> cuts;  // [parts + 1] the first aggregate of each part of the rows, and the first one behind them
  i64 behind = 0;         // how many there are, which are of others' rows

  i64 count() const { return cuts.back() + behind; }
  bool leaves_more_than(double part) const { return double(count()) > part * double(of.size()); }
};

/// P: a 1 for each row of an aggregate.
MapMatrix interpolation(const Aggregates& aggregates);

class LevelMaker {
 public:
  virtual ~LevelMaker() = default;
  /// Aggregates of about four rows of a part each, numbered as their first rows are; parts begin where `cuts` says. A is what
  /// coarse() returned last, or any matrix at first.
  virtual Aggregates aggregates(const CsrView& A, const std::vector<i64>& cuts) = 0;
  /// P^T A P / 1.6, where P is of the last aggregates() of A.
  virtual CsrMatrix coarse(const CsrView& A, const MapView& P) = 0;
};

/// By threads.
std::unique_ptr<LevelMaker> host_levels();
/// By the GPU with this CUDA number (cuda/device_levels.hpp); null for -1, or where there is no code for GPUs.
std::unique_ptr<LevelMaker> levels_by(int gpu);

}  // namespace sordino
