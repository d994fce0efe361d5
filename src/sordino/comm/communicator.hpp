// Host data between ranks, outside recorded loops: setup, gathered results, small reductions. Works between threads, processes
// and the model's ranks alike. In loops use Rank::start and finish, which move data without the host.
#pragma once
#include <cstring>
#include <vector>

#include "sordino/comm/pending.hpp"
#include "sordino/runtime/rank.hpp"

namespace sordino {

class Communicator {
 public:
  /// `channel` keeps the messages of one use apart from those of another; the same number on all ranks.
  Communicator(Rank& rank, int channel) : rank_(rank), channel_(channel) {}

  int rank() const { return rank_.id(); }
  int size() const { return rank_.size(); }

  /// Does not wait. Messages between two ranks on one channel arrive in order.
  template <class T>
  void send(int to, const std::vector<T>& values) {
    std::vector<std::byte> bytes(values.size() * sizeof(T));
    if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
    rank_.engine().post(rank_, to, channel_, std::move(bytes));
  }
  template <class T>
  std::vector<T> receive(int from) {
    auto bytes = rank_.engine().take(rank_, from, channel_);
    std::vector<T> values(bytes.size() / sizeof(T));
    if (!values.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }

  /// Sums over all ranks, added in the order of ranks: equal bits everywhere. size - 1 messages a rank; waits only in get().
  Pending<std::vector<double>> start_all_reduce(std::vector<double> mine);

 private:
  Rank& rank_;
  int channel_;
};

}  // namespace sordino
