// Paper 004's Algorithm 1 (Ding et al. 2021), as corrected, on GPUs of this process: L x = b. The baseline of trsv::GpuSolve,
// with which it shares the supernodes and the memory that all ranks reach, and nothing else.
//
// A rank has the kernel SOLVE, with a thread block of 256 threads for each of its block columns, on one stream, and on another
// WAIT, with two thread blocks, whose threads share the masks. WAIT is launched first; SOLVE when the host sees flag_w. A team
// of one rank awaits nothing, and has no WAIT.
//
// Beside what the errata say (docs/theory/004.md), this is not the paper's: block columns are taken by ticket (004-E11); a
// rank's blocks of a block column stand on each other, so that 256 threads have work even if blocks are low; messages are
// stores to peers' memory, followed by a fence and a flag, instead of NVSHMEM's.
#pragma once
#include <memory>
#include <vector>

#include "sordino/trsv/cuda/gpu_solve.hpp"
#include "sordino/trsv/paper_factor.hpp"

namespace sordino::trsv::paper {

struct GpuOptions {
  std::vector<int> devices = {};  // one a rank; empty: the first ones
  int blocks = 0;                 // of SOLVE, on each rank; each takes several block columns then. 0: one a block column
  double timeout = 10;            // seconds that a wait on a GPU may take; 0: forever
};

/// Of one solve, on the slowest rank, without copies from or to the host: from the launch of WAIT to the end of both kernels,
/// and from SOLVE's begin on, without the host's part, flag_w.
struct GpuSeconds {
  double whole = 0, kernel = 0;
};

template <class V>
class GpuSolve {
 public:
  /// Factor and layout must outlive it; the factor's values are copied, and triangles on the diagonal inverted. Throws Error:
  /// bad_argument for block columns of more than 256 columns, `unsupported` with a sentence where this machine has too few
  /// GPUs, or too little memory. Up to four ranks may share a GPU if `blocks` is 1 to 16: for tests.
  GpuSolve(const Factor<V>& factor, const Layout& layout, const GpuOptions& options = {});
  /// With invented values (invented.hpp), which never were on the host: for times of large structures.
  GpuSolve(const Pattern& pattern, const Layout& layout, const GpuOptions& options = {});
  ~GpuSolve();

  /// b and x [n][columns], on the host; they may be the same. Columns are solved for one after the other. Sums are added as
  /// they come: the last bits differ from solve to solve. Throws Error where a rank fails or waits in vain; what is to be done
  /// then is to make another one.
  void solve(const V* b, V* x, i64 columns = 1);
  /// The factor's values anew. Throws bad_argument for another pattern.
  void update(const Factor<V>& factor);

  /// Of each of so many solves of the same b [n].
  std::vector<GpuSeconds> time(const V* b, int repeats);
  GpuMemory memory(int rank) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sordino::trsv::paper
