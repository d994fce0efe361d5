// Recordings are gone through before they are replayed, so that nothing is compiled, captured or allocated later.
#pragma once
#include "sordino/runtime/rank.hpp"

namespace sordino {

/// While it lives, what names mean and what is under way (sums, pushed rows) is what it would be if what was rehearsed had run;
/// afterwards what it was. Collective, between replays: all ranks rehearse the same in the same order.
///
///   Rehearsal rehearsal(rank);
///   rehearsal.replay(begin);
///   rehearsal.replay(loop, 3);  // names are now as three iterations, or an exit from the fourth, leave them
///   rehearsal.replay(end);
class Rehearsal {
 public:
  explicit Rehearsal(Rank& rank);
  ~Rehearsal();
  Rehearsal(const Rehearsal&) = delete;

  /// Makes what Rank::replay() would here: checks and compiles the recording, captures the graph of a loop, and makes what
  /// receives all that a loop may carry wherever it ends. Nothing runs, no vector or scalar changes, and nothing is sent but
  /// what compiling takes. Throws what the replay would throw before it runs. Repeated, it costs a check of the recording.
  void replay(Recorded& recorded, int iterations = 1);
  /// The same for Rank::replay_stretch() that does not exit, and for Rank::drop_carried().
  void replay_stretch(Recorded& loop, int iterations);
  void drop_carried();

 private:
  void go_through(Recorded& recorded, int iterations);
  void rehearse_drain(Recorded& recorded);
  void count(const Phase& phase);

  Rank& rank_;
  std::vector<int> vector_map_, scalar_map_;
  std::vector<u32> pushed_, seen_;
  std::vector<Reduction> reductions_;
};

}  // namespace sordino
