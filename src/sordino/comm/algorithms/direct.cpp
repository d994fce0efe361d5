// Collectives in which ranks send each other their parts directly. Everybody begins with the rank behind it, so that not all
// send to the same one at once.
#include "sordino/comm/algorithms/algorithms.hpp"

namespace sordino::schedules {

Schedule all_to_all(Operation& op) {
  int P = op.size(), me = op.rank();
  for (int k = 1; k < P; k++) {
    int to = (me + k) % P;
    op.send(to, op.parts[std::size_t(to)]);
  }
  for (int k = 1; k < P; k++) {
    int from = (me + P - k) % P;
    op.parts[std::size_t(from)] = co_await op.receive(from);
  }
}

Schedule all_gather(Operation& op) {
  int P = op.size(), me = op.rank();
  for (int k = 1; k < P; k++) op.send((me + k) % P, op.parts[std::size_t(me)]);
  for (int k = 1; k < P; k++) {
    int from = (me + P - k) % P;
    op.parts[std::size_t(from)] = co_await op.receive(from);
  }
}

Schedule gather(Operation& op, int root) {
  if (op.rank() != root) {
    op.send(root, op.parts[std::size_t(op.rank())]);
    co_return;
  }
  for (int q = 0; q < op.size(); q++)
    if (q != root) op.parts[std::size_t(q)] = co_await op.receive(q);
}

Schedule scatter(Operation& op, int root) {
  if (op.rank() != root) {
    op.parts[std::size_t(op.rank())] = co_await op.receive(root);
    co_return;
  }
  for (int k = 1; k < op.size(); k++) {
    int to = (root + k) % op.size();
    op.send(to, op.parts[std::size_t(to)]);
  }
}

Schedule reduce_scatter(Operation& op) {
  co_await all_to_all(op);
  op.values = std::move(op.parts[0]);
  for (int q = 1; q < op.size(); q++) op.fold(op.values, op.parts[std::size_t(q)]);
}

Schedule all_reduce_ordered(Operation& op) {
  op.parts.resize(std::size_t(op.size()));
  op.parts[std::size_t(op.rank())] = std::move(op.values);
  co_await all_gather(op);
  op.values = std::move(op.parts[0]);
  for (int q = 1; q < op.size(); q++) op.fold(op.values, op.parts[std::size_t(q)]);
  op.parts.clear();
}

}  // namespace sordino::schedules
