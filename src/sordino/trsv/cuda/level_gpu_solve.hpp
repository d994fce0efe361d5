// Substitution by a plan of levels on GPUs of this process: one kernel a rank.
#pragma once
#include <memory>
#include <vector>

#include "sordino/trsv/cuda/gpu_solve.hpp"
#include "sordino/trsv/level_factor.hpp"
#include "sordino/trsv/level_plan.hpp"

namespace sordino::trsv {

template <class V>
class LevelGpuSolve {
 public:
  /// The factor's values are copied; its rows of the plan's direction have been prepared, and plan and rows must outlive it.
  /// Throws Error, `unsupported` with a sentence where this machine has too few GPUs, or too little memory.
  LevelGpuSolve(const LevelFactor<V>& factor, const Plan& plan, const GpuOptions& options = {});
  ~LevelGpuSolve();

  /// As GpuSolve::solve(). The bits are those of LevelHostSolve, on any number of GPUs.
  bool solve(const V* b, V* x, i64 columns = 1, bool conjugate = false, const InStream& in = {});
  /// Until all solves have ended; throws as solve().
  void settle();
  bool has_failed() const;  // another one is to be made
  /// The factor's values anew, after LevelFactor::update().
  void update(const LevelFactor<V>& factor);

  /// Seconds of each of so many solves of the same b, from the first rank's begin to the last one's end, without copies from or
  /// to the host.
  std::vector<double> time(const V* b, i64 columns, int repeats);
  GpuMemory memory(int rank) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sordino::trsv
