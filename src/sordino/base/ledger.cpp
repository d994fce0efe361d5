#include "sordino/base/ledger.hpp"

namespace sordino {

const char* name_of(Carrier carrier) {
  constexpr const char* names[carriers] = {"threads", "peer memory", "CUDA IPC", "host memory",
                                           "nccl",    "nvshmem",     "mpi",      "network"};
  return names[int(carrier)];
}

Ledger difference(const Ledger& now, const Ledger& before) {
  Ledger d = now;
  d.commands -= before.commands;
  d.reductions -= before.reductions;
  d.reduced_values -= before.reduced_values;
  d.messages -= before.messages;
  d.bytes_sent -= before.bytes_sent;
  for (std::size_t c = 0; c < carriers; c++) {
    d.carried[c].messages -= before.carried[c].messages;
    d.carried[c].bytes -= before.carried[c].bytes;
  }
  d.copied_bytes -= before.copied_bytes;
  d.memory_bytes -= before.memory_bytes;
  d.cached_bytes -= before.cached_bytes;
  d.flops -= before.flops;
  d.exposed_reduction -= before.exposed_reduction;
  d.hidden_reduction -= before.hidden_reduction;
  d.exposed_halo -= before.exposed_halo;
  d.imbalance -= before.imbalance;
  d.time -= before.time;
  for (auto& [name, k] : d.kernels)
    if (auto b = before.kernels.find(name); b != before.kernels.end()) {
      k.calls -= b->second.calls;
      k.bytes -= b->second.bytes;
      k.flops -= b->second.flops;
      k.seconds -= b->second.seconds;
    }
  return d;
}

}  // namespace sordino
