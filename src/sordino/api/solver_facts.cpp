// What a Solver takes and holds on its ranks: for benchmarks, and for who asks.
#include <algorithm>

#include "sordino/api/solver_state.hpp"

namespace sordino {

double Solver::time_product(int pairs) {
  State& s = *state_;
  s.require_set_up();
  if (s.system.product) bad_argument("products are timed of matrices whose entries are known");
  if (s.chosen.method->replicated) bad_argument("products are timed on distributed vectors: choose another solver");
  std::vector<double> seconds(s.parts.size());
  s.engine().run([&](Rank& rank) {
    std::size_t i = std::size_t(rank.id() - s.engine().first_rank());
    std::vector<double> x(std::size_t(s.parts[i].driver->space().rows));
    for (std::size_t k = 0; k < x.size(); k++) x[k] = 1.0 + 1e-3 * double((k * 2654435761u) % 1000);
    seconds[i] = s.parts[i].driver->time_product(pairs, x.data());
  });
  return *std::max_element(seconds.begin(), seconds.end());
}

std::vector<i64> Solver::memory() const {
  std::vector<i64> bytes;
  Engine& engine = state_->engine();
  for (int i = 0; i < engine.local_ranks(); i++) {
    bytes.push_back(engine.bytes_held(i));
    const Part& p = state_->parts[std::size_t(i)];
    if (engine.is_device()) continue;
    bytes.back() += p.operator_bytes();
    if (state_->scaled) bytes.back() += ScaledMatrix::bytes_of(p.entries->slice());
  }
  return bytes;
}

std::vector<i64> Solver::device_allocations() const {
  std::vector<i64> made;
  for (int i = 0; i < state_->engine().local_ranks(); i++) made.push_back(state_->engine().device_allocations(i));
  return made;
}

std::vector<double> Solver::exposed_halos() const {
  std::vector<double> seconds;
  for (int i = 0; i < state_->engine().local_ranks(); i++) seconds.push_back(state_->engine().rank(i).ledger.exposed_halo);
  return seconds;
}

}  // namespace sordino
