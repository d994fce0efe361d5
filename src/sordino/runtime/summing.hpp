// How the sums of a recorded reduction reach all ranks by another way than the engine's own, which is everybody's parts
// straight to everybody. comm/recorded_sums.hpp has such ways; engines hand them each rank's part, and ask for the result.
#pragma once
#include <string>
#include <vector>

#include "sordino/base/types.hpp"

namespace sordino {

class Rank;
struct Machine;

/// For all ranks of a process. A rank's sums are started and asked for by one thread: its own, or one of its engine's.
class Summing {
 public:
  virtual ~Summing() = default;
  /// On the rank's own thread, before its first sum.
  virtual void prepare(Rank& rank) = 0;
  /// This rank's part, [values], of a reduction's next sum. A reduction has two sums under way at most.
  virtual void start(Rank& rank, int slot, u32 epoch, std::vector<double> part) = 0;
  /// Lets what is under way go on. The sum of all ranks' parts, [values], until the next but one is started; null while
  /// something of it has not come. Throws what went wrong.
  virtual const std::vector<double>* result(Rank& rank, int slot, u32 epoch) = 0;
  /// What that waits for.
  virtual std::string missing(Rank& rank, int slot, u32 epoch) const = 0;
  /// [rank] when it has the result on a described machine, if the ranks start at `starts`, [rank]: seconds.
  virtual std::vector<double> ends(const Machine& machine, std::vector<double> starts) const = 0;
};

}  // namespace sordino
