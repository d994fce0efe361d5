// Brings what ranks send to ranks whose memory their devices cannot reach: GPUs without peer access, processes that cannot map
// each other's memory, other hosts. A kernel stores such rows and sums into an outbox in pinned host memory and raises the same
// flags there; a thread of this process sees them, and copies them into the receiver's ghosts and flags, or sends them to the
// receiver's process, whose courier does. Kernels see no difference, and nothing is cut or ordered for it.
//
// Over NVSHMEM (runtime/cuda/nvshmem_links.cpp) the courier puts what it sees into the receiver's memory, whose process has no
// part in it.
// Where MPI takes memory of GPUs, rows for other processes stay on the GPU: their outbox is there, MPI is given it and the
// receiver's ghosts, and only the flag goes through host memory, behind the rows. Sums are too short to gain by that.
//
// An outbox needs one epoch of rows, and two of sums, as the receiver's memory does: who sends the next one has heard from all
// who had to read the last.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "sordino/runtime/bridge.hpp"
#include "sordino/runtime/cuda/call.hpp"
#include "sordino/runtime/cuda/wire.hpp"
#include "sordino/runtime/duty.hpp"

namespace sordino {
class Rank;
}

namespace sordino::cuda {

struct State;
struct RankState;

class Courier {
 public:
  /// `transport` leads to other processes; null if there are none. Begins at rest.
  Courier(State& state, std::unique_ptr<Transport> transport);

  bool reaches_processes() const { return transport_ != nullptr; }
  Transport& transport() { return *transport_; }

  /// While ranks may wait for what it brings it looks all the time; at rest never. rest() first brings what is there.
  void work() { duty_.begin(); }
  void rest() { duty_.leave(); }
  void stop() { duty_.end(); }  // for good

  struct RowsBox {
    const double* rows = nullptr;  // [count] pinned; in NVSHMEM's arena, or on the sender's device, if they go from there
    const u32* flag = nullptr;     // pinned
    i32 count = 0;
    u32 next = 0;  // epoch that comes next
    int from = 0, to = 0, vector = 0;
    i32 place = 0;        // first row at the receiver
    int peer = 0;         // which of its peers the sender is
    bool placed = false;  // over MPI, from device to device
    // With NVSHMEM: where they go, as the sender names it.
    double* put_rows = nullptr;
    u32* put_flag = nullptr;
  };
  struct SumsBox {
    const Packet* packets = nullptr;  // [2][parts][values] pinned
    i32 parts = 0, values = 0;        // of all ranks
    i32 first = 0, count = 0;         // packets of an epoch that are the sender's own
    u32 next = 0;                     // epoch
    int from = 0, slot = 0;
    std::vector<int> to;  // ranks
    // With NVSHMEM: where they go, as the sender names it, by way of the arena.
    std::vector<Packet*> put_to = {};  // the receivers' packets
    Packet* staging = nullptr;         // [count] in the arena
    Packet* veiled = nullptr;          // [count] pinned
  };
  /// A rank's part of sums by the host: one packet a value.
  struct SummedBox {
    Rank& rank;
    const Packet* packets;  // [2][values] pinned
    Packet* result;         // likewise
    i32 values;
    int slot;
    u32 next;       // epoch
    u32 begun = 0;  // of those before it, how many have not ended
  };
  void add(const SummedBox& box);
  void forget_sums();  // the engine goes, and who adds them with it
  void add(const RowsBox& box);
  void add(const SumsBox& box);

  // Where this process keeps what comes from others until the device has it: pinned, made before anybody sends.
  void expect_rows(int rank, int vector, int peer, double* rows, u32* flag);
  void expect_sums(int rank, int slot, Packet* packets);

 private:
  struct Inbox {
    double* rows = nullptr;
    u32* flag = nullptr;
  };
  struct Placed {  // rows that MPI is to bring to a device
    Message header;
    std::size_t bytes = 0;
  };
  bool step();
  bool carry(const std::function<bool()>& part);
  bool look(RowsBox& box);
  bool look(SumsBox& box);
  bool look(SummedBox& box);
  bool start(SummedBox& box);
  bool end(SummedBox& box);
  void send(const SumsBox& box, const Packet* packets, i32 first);
  void take(const Message& message, const std::byte* data, std::size_t bytes);
  void receive_placed();
  void give_flag(int rank, int vector, int peer, const u32* flag);
  void give_rows(int rank, int vector, int peer, i32 place, const double* rows, i32 count, const u32* flag);
  void give_sums(int rank, int slot, i32 first, i32 count, const Packet* packets);
  RankState& receiver(int rank) const;

  State& state_;
  std::unique_ptr<Transport> transport_;
  std::unique_ptr<Bridge> bridge_;
  std::vector<RowsBox> rows_;  // these six under the mutex of the duty
  std::vector<SumsBox> sums_;
  std::vector<SummedBox> summed_;
  std::vector<Placed> placed_;                              // announced by headers, in their order
  std::map<std::tuple<int, int, int>, Inbox> row_inboxes_;  // by rank, vector and peer
  std::map<std::pair<int, int>, Packet*> sum_inboxes_;      // by rank and slot
  Duty duty_;                                               // last: its thread uses all of the above
};

}  // namespace sordino::cuda
