#include "sordino/comm/algorithms/algorithms.hpp"

namespace sordino::schedules {
namespace {

Schedule all_reduce(Operation& op) {
  switch (op.signature().options.algorithm) {
    case Algorithm::recursive_doubling: return all_reduce_by_doubling(op);
    case Algorithm::tree: return all_reduce_by_tree(op);
    case Algorithm::two_level: return all_reduce_by_leaders(op);
    case Algorithm::mpi: return all_reduce_by_library(op);
    default: return all_reduce_ordered(op);
  }
}

Schedule rooted(Operation& op, bool reduces, int degree) {
  Team all(op);
  if (reduces)
    co_await reduce_by_tree(op, all, op.signature().root, degree);
  else
    co_await broadcast_by_tree(op, all, op.signature().root, degree);
}

}  // namespace

Schedule of(Operation& op) {
  AllReduceOptions degrees;  // of the default trees
  int root = op.signature().root;
  switch (op.signature().kind) {
    case Collective::broadcast: return rooted(op, false, degrees.broadcast_degree);
    case Collective::reduce: return rooted(op, true, degrees.reduce_degree);
    case Collective::all_reduce: return all_reduce(op);
    case Collective::gather: return gather(op, root);
    case Collective::all_gather: return all_gather(op);
    case Collective::scatter: return scatter(op, root);
    case Collective::all_to_all: return all_to_all(op);
    case Collective::reduce_scatter: return reduce_scatter(op);
    default: return barrier(op);
  }
}

}  // namespace sordino::schedules
