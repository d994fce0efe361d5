// Joins the halls of several hosts: what happens in one is told in the others. Barriers open when all hosts are there; signs of
// life, complaints and a failure's cause are passed on; the first host decides which cause counts, so that all say the same.
//
// The first process of each host does the telling. Nothing here waits: step() is called again and again, by the thread that
// also polls the transport and hands what comes to hear().
#pragma once
#include <vector>

#include "sordino/runtime/hall.hpp"
#include "sordino/runtime/transport.hpp"

namespace sordino {

class Bridge {
 public:
  Bridge(Hall& hall, Transport& transport);

  /// Tells the other hosts what is new on this one. True if anything was.
  bool step();
  /// A message from another host's bridge; false if it is none of a bridge's.
  bool hear(const Message& message, const std::byte* data, std::size_t bytes);

 private:
  struct Life {  // of one rank, as it travels
    u64 beats = 0;
    u32 waiting = 0, unused = 0;
  };
  struct GateState {
    u32 round = 0;
    bool told = false;
    std::vector<u32> heard;  // [host] rounds in which all there were inside
  };
  bool leads() const { return hall_.process() == hall_.leader(hall_.host()); }
  void tell_hosts(const Message& message, const void* data = nullptr, std::size_t bytes = 0);
  bool step_gate(int which);
  bool step_cause();
  bool step_complaints();
  void step_life();

  Hall& hall_;
  Transport& transport_;
  GateState gates_[2];  // of the ranks, of the processes
  std::vector<bool> complained_;
  std::vector<int> near_;  // ranks of this host
  bool told_cause_ = false, told_proposal_ = false;
  double told_life_ = 0;  // seconds
};

}  // namespace sordino
