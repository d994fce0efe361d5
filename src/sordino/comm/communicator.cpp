#include "sordino/comm/communicator.hpp"

#include "sordino/comm/algorithms/algorithms.hpp"

namespace sordino {

Communicator::Communicator(Rank& rank, int channel) : rank_(rank), channel_(channel) {
  if (channel < 0 || channel >= Desk::most_channels)
    bad_argument("channels of communicators are 0 to " + std::to_string(Desk::most_channels - 1) + ", not " +
                 std::to_string(channel));
}

Pending<void> Communicator::start_barrier() {
  return result<void>(begin({.kind = Collective::barrier}, {}), [](Operation&) {});
}

Communicator::Begun Communicator::begin(const Signature& s, Bytes values, std::vector<Bytes> parts, Combine combine) {
  if (s.root < 0 || s.root >= size())
    bad_argument(describe(s) + ": there is no rank " + std::to_string(s.root) + ", ranks are 0 to " +
                 std::to_string(size() - 1));
  auto operation = std::make_shared<Operation>(rank_, channel_, s, combine);
  operation->values = std::move(values);
  operation->parts = std::move(parts);
  operation->start(schedules::of(*operation));
  return operation;
}

std::vector<Bytes> Communicator::only_mine(Bytes values) const {
  std::vector<Bytes> parts(static_cast<std::size_t>(size()));
  parts[std::size_t(rank())] = std::move(values);
  return parts;
}

void Communicator::check_lists(std::size_t count, const char* collective) const {
  if (count != std::size_t(size()))
    bad_argument(std::string(collective) + " takes one list for each of " + std::to_string(size()) + " ranks, not " +
                 std::to_string(count));
}

}  // namespace sordino
