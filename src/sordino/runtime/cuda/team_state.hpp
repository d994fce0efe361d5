// Inside a team: the windows of its ranks, how its host threads wait, and how they fail together. Not for users.
#pragma once
#include <atomic>

#include "sordino/runtime/cuda/team.hpp"
#include "sordino/runtime/fault.hpp"
#include "sordino/runtime/hall.hpp"
#include "sordino/runtime/threads.hpp"

namespace sordino::cuda {

struct TeamState {
  /// A rank of this process.
  struct Member {
    int device = 0, multiprocessors = 0;
    char* window = nullptr;
    std::vector<char*> mapped = {};  // windows of other processes' ranks
    cudaStream_t stream = nullptr;
    DeviceTeam team = {};
  };

  static constexpr i64 aligned(i64 bytes) { return (bytes + 255) / 256 * 256; }

  TeamState(const TeamOptions& o, std::unique_ptr<Hall> given);
  ~TeamState();

  // --- making it ------------------------------------------------------------------------------------------------------------
  void build();
  void set_up(Member& m);
  void share_windows();  // with other processes, and map theirs
  void release();

  // --- ranks and processes --------------------------------------------------------------------------------------------------
  bool several_processes() const { return hall && hall->processes() > 1; }
  /// The only rank works on its caller's thread: nobody has to be woken, and there is no other whose failure would end it.
  bool is_alone() const { return hall->ranks() == 1; }
  /// Throws bad_argument for a rank of another process.
  Member& member(int rank);
  TeamRank& rank(int rank) { return ranks[std::size_t(rank - hall->first_rank())]; }
  /// Until as many as `of` are at the gate. Throws the cause if one has failed, or `late` if they do not come.
  void pass(Gate& gate, int of, const std::string& late);
  /// One thread of each process: until all are here.
  void meet();
  /// meet(), and all have made the same arrays, slots and signals; else that is a fault.
  void meet_alike();

  // --- failing --------------------------------------------------------------------------------------------------------------
  void check() const {
    if (hall->raised()) throw PeerFailed(hall->error());
  }
  /// Does the work; what it throws is raised, and said to be `who`'s.
  void attempt(const std::string& who, const Cause& known, const std::function<void()>& work);
  void wait_for_stream(const Member& m);
  /// Until what start() has put into streams of callers has ended.
  void wait_for_started();
  /// Until a query of CUDA's, of work on m's device, says success.
  void wait_for(const Member& m, const std::function<cudaError_t()>& query);
  /// Of a stream that has ended. The kernel that gave up has said so in memory of the host, too: without that no copy is made.
  void look_for_fault(const Member& m, int rank);
  [[noreturn]] void follow_fault();
  [[noreturn]] void tell_cause();
  std::string sentence(const FaultRecord& cause) const;

  TeamOptions options;
  std::unique_ptr<Hall> hall;  // its pulse is what devices look at
  bool pulse_is_pinned = false;
  std::vector<int> devices;
  std::vector<Member> members;
  std::vector<TeamRank> ranks;    // of this process
  cudaEvent_t started = nullptr;  // behind what was started in a caller's stream; made with the first
  bool is_under_way = false;      // which nobody has waited for
  i64 taken = 0;
  std::vector<std::string> channels;    // names of slots and signals
  std::unique_ptr<ThreadTeam> threads;  // null of a rank that is alone
  std::atomic<bool> lost{false};        // a device or thread did not come back: freeing what it uses would wait, or hurt
  bool told = false;                    // the cause has been thrown to the caller
};

}  // namespace sordino::cuda
