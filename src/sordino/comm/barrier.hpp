// A barrier as a command among others.
#pragma once
#include <string>

#include "sordino/runtime/kernel_list.hpp"
#include "sordino/runtime/rank.hpp"

namespace sordino {

/// "One more rank is here."
struct Arrive {
  SORDINO_HD Sums<1> row(i32) const { return {{1}}; }
};

/// All ranks' commands before arrive() have ended when a command behind wait() begins: a sum of ones. What lies in between
/// hides it. It says when, and brings nothing: rows of other ranks come by push() and ghost fields as ever. But all have read
/// what came before they arrived, so that behind it the next push of the same vector may come. Cost: a reduction of one value,
/// on GPUs at the end of a kernel of one row.
class Barrier {
 public:
  /// Collective, outside recordings.
  explicit Barrier(Rank& rank, const std::string& name = "barrier")
      : space_(rank.add_space(equal_parts(1, rank.id(), rank.size()))), arrived_(rank.scalar(name)) {}

  Event arrive(Rank& rank) const { return rank.run_over(space_, Arrive{}, start(arrived_)); }
  void wait(Rank& rank) const { rank.wait(arrived_); }
  void meet(Rank& rank) const {
    arrive(rank);
    wait(rank);
  }
  /// How many ranks there are. A command with Get(finish(arrived())) waits in its own head, instead of wait().
  Scal arrived() const { return arrived_; }

  using kernels = KernelList<Kernel<Arrive>>;

 private:
  int space_;
  Scal arrived_;
};

}  // namespace sordino
