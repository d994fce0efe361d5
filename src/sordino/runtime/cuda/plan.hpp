// A recording bound to one rank's memory: the kernel launches of an iteration, for every turn of the rotation.
#pragma once
#include "sordino/runtime/contains.hpp"
#include "sordino/runtime/cuda/state.hpp"
#include "sordino/runtime/cuda/table.hpp"
#include "sordino/runtime/row_set.hpp"
#include "sordino/runtime/sent_runs.hpp"

namespace sordino::cuda {

/// What NCCL's messages take away behind a launch: rows of vectors, and a rank's parts of a reduction.
struct Parcel {
  std::vector<std::pair<int, EpochRef>> vectors;  // physical
  int slot = -1;
  EpochRef epoch;
  bool empty() const { return vectors.empty() && slot < 0; }
};

/// One kernel. Most commands are one; an exit test or a sending that no kernel combines with the command is one of its own.
struct Launch {
  int command = 0;
  const std::type_info *functor = nullptr, *test = nullptr;  // of its kernel
  std::vector<std::unique_ptr<Body>> host;                   // [turn] a host task, bound to twins, instead of a kernel
  const DeviceTask* task = nullptr;                          // whose launches stand here, likewise
  int blocks = 1;
  i64 wanted = 1;         // with as many each would have one chunk of rows
  u32 tests = 0;          // 1: it makes the exit test
  bool hands_on = false;  // the sums that it starts are left to the launch behind it, if that is issued with it
  std::vector<std::unique_ptr<Launchable>> turns;
  std::vector<Args> args;  // [turn]; iteration, history and epochs' offsets are filled in at the launch
  // What orders ranks that share a device.
  std::vector<int> finishes, starts;           // slots with other ranks
  std::vector<int> finished_slots;             // all of them
  std::vector<std::vector<int>> awaits, puts;  // [turn] physical vectors
  std::vector<std::vector<Parcel>> parcels;    // [turn]; over NCCL
};

class Plan {
 public:
  Plan(State& state, Rank& rank, const Recording& recording, const std::vector<int>& vector_map,
       const std::vector<int>& scalar_map);

  std::vector<Launch> launches;  // in the order of the recording
  /// A kernel that stays and can run them all, if one is to; then all launches have grids of the same size, as it has.
  const ResidentEntry* resident = nullptr;
  int resident_blocks = 0;
  bool on_host = false;       // some command is a host task
  bool device_tasks = false;  // or a device task
  /// The counters that epochs in Args refer to, as they stand between replays.
  void fill_epochs(u32* epochs) const;
  int physical_vector(int turn, int logical) const { return vector_maps_[turn][logical]; }
  const std::vector<int>& scalar_map(int turn) const { return scalar_maps_[turn]; }
  int epoch_count() const { return int(channels_.size()); }

 private:
  struct Group {
    int tasks = -1;  // of the command; -1: none, only a place to wait or send at
    bool awaits = false, puts = false;
  };
  /// What is left to do of a command while it is cut into launches.
  struct Outline {
    Outline(const Command& c, int i) : command(&c), index(i) {}
    const Command* command;
    int index;
    std::vector<int> finishes, awaits, puts;  // slots, logical vectors
    std::vector<Group> groups;
    bool tests = false;
    bool sends_ahead = false;  // before it waits for rows
    int starts = -1;
  };
  enum class Counter { started, finished, pushed, seen };

  void cut_all();
  void stay();
  void hand_on();
  i64 most_blocks(int of_multiprocessor) const;
  Outline outline(int index) const;
  void cut(Outline all);
  Outline take_ahead(Outline& all) const;
  void cut_task(const Outline& all);
  Launch launch_of_task(int index);
  void pack_parcels();
  void add(const Outline& o, const std::type_info& functor, const void* bytes);
  Args arguments(const Outline& o, int turn, const Entry& entry, Launch& launch);
  void add_groups(Args& a, const Outline& o, const Entry& entry);
  void add_sending(Args& a, const Outline& o, int turn, Launch& launch);
  void hear(PutArgs& p, const Command& c, int turn, Hop hop) const;
  void deal_groups(Args& a, const Outline& o, int blocks) const;
  bool can_send_itself(const Outline& o, int logical) const;
  bool can_send_by_rows(const Outline& o, int logical) const;
  bool may_be_late(const ReductionMemory& d) const;
  bool group_sends(const Outline& o, int group) const;
  bool is_local(int slot) const { return rank_.space(rank_.reductions()[slot].space).replicated || rank_.size() == 1; }
  EpochRef epoch(Counter counter, int id);

  State& state_;
  Rank& rank_;
  RankState& mine_;
  const Recording& rec_;
  SumOrder order_;
  std::vector<std::vector<int>> vector_maps_, scalar_maps_;  // [turn]
  std::vector<std::pair<Counter, int>> channels_;
  std::vector<bool> collect_;  // [launch] a block of its grid is kept for the sums of the one before
};

}  // namespace sordino::cuda
