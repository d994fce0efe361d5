#include "sordino/comm/algorithms/algorithms.hpp"

namespace sordino::schedules {

Schedule barrier(Operation& op) {
  int P = op.size(), me = op.rank();
  for (int distance = 1; distance < P; distance *= 2) {
    op.send((me + distance) % P, {});
    co_await op.receive((me + P - distance) % P);
  }
}

}  // namespace sordino::schedules
