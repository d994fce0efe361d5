// Paper 004's Algorithm 1 (Ding et al. 2021), as corrected, by threads of the host: L x = b.
//
// Each rank has some workers, which take its block columns in increasing order, and two threads for the actors of the kernel
// WAIT. So no solve can hang, though workers spin (004-E11): of the block columns that are not done anywhere, take the first,
// K. All sums for its row come from columns before K, which are done, and from WAIT, which waits for no worker; x(K) comes from
// the rank that has the diagonal block, along ranks whose workers can wait for nothing but columns before K.
#pragma once
#include <exception>
#include <mutex>

#include "sordino/runtime/threads.hpp"
#include "sordino/trsv/paper_rank.hpp"

namespace sordino::trsv::paper {

struct HostOptions {
  int workers = 1;       // of a rank: thread blocks of SOLVE that are resident
  int wait_threads = 4;  // among which an actor of WAIT shares its mask: parts that it looks through in turn
  double timeout = 60;   // seconds in which nothing moves, after which a solve gives up; 0: never
};

/// For solves with one factor, one after the other. Sums are added as they come: the last bits differ from solve to solve.
template <class V>
class HostSolve {
 public:
  /// Factor and layout must outlive it. Throws bad_argument for options out of range.
  HostSolve(const Factor<V>& factor, const Layout& layout, const HostOptions& options = {});
  ~HostSolve();

  /// b and x [n]; they may be the same. Throws Error where nothing moves any more, with what was waited for.
  void solve(const V* b, V* x);

 private:
  void worker(i32 rank);
  void wait(i32 rank, bool for_sums);
  /// Returns when `done` says so.
  void spin(const std::function<bool()>& done, const std::function<std::string()>& what);
  void run(int thread);

  const Factor<V>& factor_;
  const Layout& layout_;
  HostOptions options_;
  std::vector<std::unique_ptr<Rank<V>>> ranks_;
  const V* b_ = nullptr;
  Post<V> post_;
  std::unique_ptr<std::atomic<i64>[]> tickets_;  // [ranks] block columns that have been taken
  std::unique_ptr<std::atomic<i32>[]> flag_w_;   // [ranks] WAIT runs
  std::atomic<u64> steps_{0};
  std::atomic<bool> failed_{false};
  std::exception_ptr cause_;
  std::mutex cause_lock_;
  std::unique_ptr<ThreadTeam> team_;  // last: its threads use all of the above
};

}  // namespace sordino::trsv::paper
