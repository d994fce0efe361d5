// All-reduces in two levels: within a node or process, and between the first ranks of these.
#include <cstring>

#include "sordino/comm/algorithms/algorithms.hpp"
#include "sordino/comm/desk.hpp"
#include "sordino/runtime/transport.hpp"

namespace sordino::schedules {
namespace {

Team leaders(Operation& op) {
  std::vector<int> first;
  int me = -1;
  for (int r = 0; r < op.size(); r = op.engine().node_of(r).end) {
    if (r == op.rank()) me = int(first.size());
    first.push_back(r);
  }
  return {std::move(first), me};
}

Schedule gather_at_leader(Operation& op, RankRange node) {
  for (int q = node.first + 1; q < node.end; q++) {
    Bytes part = co_await op.receive(q);
    op.fold(op.values, part);
  }
  op.book_leading(node.size() - 1);
}

void spread_from_leader(Operation& op, RankRange node) {
  op.book_leading(node.size() - 1);
  for (int q = node.first + 1; q < node.end; q++) op.send(q, op.values);
}

Schedule member(Operation& op, int leader) {
  op.send(leader, op.values);
  op.values = co_await op.receive(leader);
}

// Whether all leaders reduce the same: the largest hash and the smallest one are then equal.
Schedule agree(Operation& op, Transport& transport) {
  u64 hash = std::hash<std::string>()(describe(op.signature()) + op.place());
  u64 both[2] = {hash, ~hash};
  Bytes bytes(sizeof both);
  std::memcpy(bytes.data(), both, sizeof both);
  auto under_way = transport.start_all_reduce(Fold::max, scalar_of<u64>(), std::move(bytes));
  std::function<bool()> ended = [&under_way] { return under_way->test(); };
  co_await op.until(ended);
  u64 most[2];
  std::memcpy(most, under_way->values().data(), sizeof most);
  if (most[0] != both[0] || most[1] != both[1])
    bad_argument("ranks disagree about a collective, or reduce different numbers of values: " + op.place() + " is " +
                 describe(op.signature()) + " on rank " + std::to_string(op.rank()) + ", and another one in another process");
}

// The library takes reductions in one order on all processes, and ranks may start them in several: so the first leader numbers
// them, as it has its process's parts of them.
Schedule draw_number(Operation& op, u64& number) {
  Bytes said(sizeof number);
  if (op.rank() != 0) {
    said = co_await op.receive(0);
    std::memcpy(&number, said.data(), sizeof number);
    co_return;
  }
  number = op.desk().library_queue.drawn++;
  std::memcpy(said.data(), &number, sizeof number);
  for (int r = op.engine().node_of(0).end; r < op.size(); r = op.engine().node_of(r).end) op.send(r, said);
}

}  // namespace

Schedule all_reduce_by_leaders(Operation& op) {
  RankRange node = op.engine().node_of(op.rank());
  if (op.rank() != node.first) {
    co_await member(op, node.first);
    co_return;
  }
  co_await gather_at_leader(op, node);
  Team team = leaders(op);
  co_await reduce_by_tree(op, team, 0, op.signature().options.reduce_degree);
  co_await broadcast_by_tree(op, team, 0, op.signature().options.broadcast_degree);
  spread_from_leader(op, node);
}

Schedule all_reduce_by_library(Operation& op) {
  RankRange process = op.engine().node_of(op.rank());
  if (op.rank() != process.first) {
    co_await member(op, process.first);
    co_return;
  }
  Queueing& queue = op.desk().library_queue;
  co_await gather_at_leader(op, process);
  u64 mine = 0;
  co_await draw_number(op, mine);
  std::function<bool()> my_turn = [&queue, mine] { return queue.served == mine; };
  co_await op.until(my_turn);
  Transport& transport = *op.engine().transport();
  co_await agree(op, transport);
  auto under_way = transport.start_all_reduce(op.signature().fold, op.signature().type, std::move(op.values));
  queue.served++;
  std::function<bool()> ended = [&under_way] { return under_way->test(); };
  co_await op.until(ended);
  op.values = under_way->values();
  spread_from_leader(op, process);
}

}  // namespace sordino::schedules
