// What a run did. Counts are identical on every engine; times belong to the engine's clock (wall or virtual).
#pragma once
#include <array>
#include <map>
#include <string>

#include "sordino/base/types.hpp"

namespace sordino {

struct KernelLedger {
  i64 calls = 0;
  double bytes = 0, flops = 0;
  double seconds = 0;  // 0 where the engine was not asked to time commands
};

/// What brings a message to another rank. `network`: of a described machine.
enum class Carrier { threads, peer_memory, cuda_ipc, host_memory, nccl, nvshmem, mpi, network };
inline constexpr int carriers = 8;
const char* name_of(Carrier carrier);

struct MessageCount {
  i64 messages = 0, bytes = 0;
  bool operator==(const MessageCount&) const = default;
};

struct Ledger {
  // counts, per rank
  i64 commands = 0;
  i64 reductions = 0;                            // split-phase all-reduces started
  i64 reduced_values = 0;                        // scalars in them
  i64 messages = 0;                              // halo messages, and rows sent, outside of recordings, too
  i64 bytes_sent = 0;                            // in these messages
  std::array<MessageCount, carriers> carried{};  // these messages, by what brought them
  i64 copied_bytes = 0;                          // of the caller's memory, to and from copies that commands computed on
  double memory_bytes = 0;                       // declared traffic of the commands: every array touched once
  double cached_bytes = 0;                       // of these, on a described machine with a cache: what was found there
  double flops = 0;
  // seconds on the engine's clock
  double exposed_reduction = 0;  // waited for a reduction that nothing hid
  double hidden_reduction = 0;   // latency of reductions that arithmetic covered
  double exposed_halo = 0;
  double imbalance = 0;  // waited because another rank was late, not because the network was slow
  double time = 0;
  std::map<std::string, KernelLedger> kernels;

  void book_message(Carrier by, i64 bytes, i64 times = 1) {
    MessageCount& c = carried[std::size_t(by)];
    c.messages += times;
    c.bytes += times * bytes;
    messages += times;
    bytes_sent += times * bytes;
  }
  /// Of what all engines count; who carried is their own.
  bool same_counts(const Ledger& o) const {
    return commands == o.commands && reductions == o.reductions && reduced_values == o.reduced_values &&
           messages == o.messages && bytes_sent == o.bytes_sent && memory_bytes == o.memory_bytes && flops == o.flops;
  }
};

/// What has been booked since `before`.
Ledger difference(const Ledger& now, const Ledger& before);

}  // namespace sordino
