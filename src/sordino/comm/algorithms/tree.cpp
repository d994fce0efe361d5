#include "sordino/comm/algorithms/algorithms.hpp"

namespace sordino::schedules {

TreePlace tree_place(int place, int size, int degree) {
  TreePlace t;
  for (i64 step = 1; step < size; step *= degree) {
    if (i64 digit = place / step % degree; digit > 0) {
      t.parent = int(place - digit * step);
      break;
    }
    t.children.emplace_back();
    for (i64 child = place + step; child < place + degree * step && child < size; child += step)
      t.children.back().push_back(int(child));
  }
  return t;
}

Schedule reduce_by_tree(Operation& op, const Team& team, int root, int degree) {
  int P = team.size();
  auto rank_at = [&team, root, P](int place) { return team[(place + root) % P]; };
  TreePlace tree = tree_place((team.me() - root + P) % P, P, degree);
  for (auto& step : tree.children)
    for (int child : step) {
      Bytes part = co_await op.receive(rank_at(child));
      op.fold(op.values, part);
    }
  if (tree.parent >= 0) op.send(rank_at(tree.parent), op.values);
}

// Far children first: they have the most to do.
Schedule broadcast_by_tree(Operation& op, const Team& team, int root, int degree) {
  int P = team.size();
  auto rank_at = [&team, root, P](int place) { return team[(place + root) % P]; };
  TreePlace tree = tree_place((team.me() - root + P) % P, P, degree);
  if (tree.parent >= 0) op.values = co_await op.receive(rank_at(tree.parent));
  for (auto step = tree.children.rbegin(); step != tree.children.rend(); ++step)
    for (int child : *step) op.send(rank_at(child), op.values);
}

Schedule all_reduce_by_tree(Operation& op) {
  Team all(op);
  co_await reduce_by_tree(op, all, 0, op.signature().options.reduce_degree);
  co_await broadcast_by_tree(op, all, 0, op.signature().options.broadcast_degree);
}

}  // namespace sordino::schedules
