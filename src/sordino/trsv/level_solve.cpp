#include "sordino/trsv/level_solve.hpp"

#include <algorithm>

#include "sordino/base/parallel.hpp"
#include "sordino/base/range.hpp"
#include "sordino/trsv/level_steps.hpp"

namespace sordino::trsv {
namespace {

/// x in the triangle's order, of places first, ..., end - 1.
template <class V>
void put_in_order(const LevelRows& rows, const V* from, i64 first, i64 end, i64 columns, V* x) {
  for (i64 k = first; k < end; k++) std::copy_n(from + k * columns, columns, x + rows.order[std::size_t(k)] * columns);
}

template <class V>
class LevelTasks final : public ModelledTasks {
 public:
  LevelTasks(const LevelFactor<V>& factor, const Plan& plan, const V* b, i64 columns, bool conjugate)
      : factor_(factor),
        plan_(plan),
        columns_(columns),
        conjugate_(conjugate),
        b_(b),
        x_(std::size_t(plan.ranks), std::vector<V>(std::size_t(factor.rows(plan.direction).n * columns), unknown<V>())) {}

  i64 bytes(i32 t) const override {
    const Task& task = plan_.tasks[std::size_t(t)];
    const LevelRows& rows = factor_.rows(plan_.direction);
    const i64 entries = rows.begin[std::size_t(task.end)] - rows.begin[std::size_t(task.first)];
    return entries * i64(sizeof(V) + sizeof(i32)) + (task.end - task.first) * i64(sizeof(V) + sizeof(i32) + sizeof(i64));
  }
  i64 message_bytes(i32 t) const override {
    return (plan_.tasks[std::size_t(t)].end - plan_.tasks[std::size_t(t)].first) * i64(sizeof(V));
  }
  void compute(i32 t) override {
    const Task& task = plan_.tasks[std::size_t(t)];
    substitute(factor_, task, plan_.direction, conjugate_,
               {.b = b_, .x = x_[std::size_t(task.rank)].data(), .columns = columns_});
  }
  void deliver(i32 t, i32 rank) override {
    const Task& task = plan_.tasks[std::size_t(t)];
    const std::vector<V>& from = x_[std::size_t(task.rank)];
    std::copy(from.begin() + task.first * columns_, from.begin() + task.end * columns_,
              x_[std::size_t(rank)].begin() + task.first * columns_);
  }
  /// Each row as its rank has computed it.
  void collect(V* x) const {
    for (const Task& t : plan_.tasks)
      put_in_order(factor_.rows(plan_.direction), x_[std::size_t(t.rank)].data(), t.first, t.end, columns_, x);
  }

 private:
  const LevelFactor<V>& factor_;
  const Plan& plan_;
  i64 columns_;
  bool conjugate_;
  const V* b_;
  std::vector<std::vector<V>> x_;  // [ranks] of each one's memory
};

}  // namespace

template <class V>
LevelHostSolve<V>::LevelHostSolve(const LevelFactor<V>& factor, const Plan& plan, const HostOptions& options)
    : factor_(factor), plan_(plan), workers_(plan, options) {}

template <class V>
void LevelHostSolve<V>::solve(const V* b, V* x, i64 columns, bool conjugate) {
  Range range("sordino: triangular solve by levels");
  const LevelRows& rows = factor_.rows(plan_.direction);
  x_.resize(std::max(x_.size(), std::size_t(rows.n * columns)));
  const LevelVectors<V> vectors{.b = b, .x = x_.data(), .columns = columns};
  workers_.run([&](i32 t, int) {
    if (before_task) before_task(t);
    substitute(factor_, plan_.tasks[std::size_t(t)], plan_.direction, conjugate, vectors);
  });
  for_parts(
      0, rows.n, [&](i64 first, i64 end) { put_in_order(rows, x_.data(), first, end, columns, x); }, 1 << 15,
      workers_.threads());
}

template <class V>
ModelReport model_solve(const LevelFactor<V>& factor, const Plan& plan, const ModelOptions& options, const V* b, V* x,
                        i64 columns, bool conjugate) {
  LevelTasks<V> tasks(factor, plan, b, columns, conjugate);
  const ModelReport report = model_solve(plan, tasks, options);
  tasks.collect(x);
  return report;
}

#define SORDINO_LEVEL_SOLVES(V)     \
  template class LevelHostSolve<V>; \
  template ModelReport model_solve(const LevelFactor<V>&, const Plan&, const ModelOptions&, const V*, V*, i64, bool);
SORDINO_LEVEL_SOLVES(float)
SORDINO_LEVEL_SOLVES(double)
SORDINO_LEVEL_SOLVES(Number)
#undef SORDINO_LEVEL_SOLVES

}  // namespace sordino::trsv
