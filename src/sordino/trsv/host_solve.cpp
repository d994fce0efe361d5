#include "sordino/trsv/host_solve.hpp"

#include <algorithm>

#include "sordino/base/range.hpp"

namespace sordino::trsv {

template <class V>
HostSolve<V>::HostSolve(const Factor<V>& factor, const Plan& plan, const HostOptions& options)
    : factor_(factor), plan_(plan), workers_(plan, options), steps_(std::size_t(workers_.threads()), TaskSteps<V>(factor)) {}

template <class V>
void HostSolve<V>::solve(const V* b, V* x, i64 columns, bool conjugate) {
  Range range("sordino: triangular solve");
  const std::size_t rows = std::size_t(factor_.blocks().n * columns);
  x_.resize(std::max(x_.size(), rows));
  result_.resize(std::max(result_.size(), rows));
  const bool forward = plan_.direction == Direction::forward;
  sums_.resize(std::max(sums_.size(), std::size_t(forward ? factor_.blocks().slots * columns : 0)));
  partials_.resize(std::max(partials_.size(), std::size_t(forward ? 0 : factor_.blocks().partials * columns)));
  const SolveVectors<V> vectors{.b = b,
                                .result = result_.data(),
                                .x = x_.data(),
                                .sums = sums_.data(),
                                .partials = partials_.data(),
                                .columns = columns,
                                .conjugate = conjugate};
  workers_.run([&](i32 t, int thread) {
    if (before_task) before_task(t);
    steps_[std::size_t(thread)].compute(plan_.tasks[std::size_t(t)], plan_.direction, vectors);
  });
  std::copy_n(result_.data(), rows, x);
}

template class HostSolve<float>;
template class HostSolve<double>;
template class HostSolve<Number>;

}  // namespace sordino::trsv
