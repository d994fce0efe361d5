#include "sordino/trsv/rank_tasks.hpp"

#include <algorithm>

#include "sordino/trsv/level_steps.hpp"
#include "sordino/trsv/task_results.hpp"
#include "sordino/trsv/task_steps.hpp"

namespace sordino::trsv {
namespace {

template <class V>
class BlockTasks final : public RankTasks<V> {
 public:
  BlockTasks(const Factor<V>& factor, const Plan& plan, int rank)
      : plan_(plan), blocks_(factor.blocks()), rank_(rank), steps_(factor) {}

  void begin(const V* b, V* room, i64 columns, bool conjugate) override {
    const bool forward = plan_.direction == Direction::forward;
    x_.assign(std::size_t(blocks_.n * columns), unknown<V>());
    sums_.assign(std::size_t(forward ? blocks_.slots * columns : 0), unknown<V>());
    partials_.assign(std::size_t(forward ? 0 : blocks_.partials * columns), unknown<V>());
    vectors_ = {b, room, x_.data(), sums_.data(), partials_.data(), columns, conjugate};
  }
  void compute(i32 t) override { steps_.compute(plan_.tasks[std::size_t(t)], plan_.direction, vectors_); }
  void each_result(i32 t, const typename RankTasks<V>::Visit& visit) override {
    trsv::each_result(blocks_, plan_, plan_.tasks[std::size_t(t)], [&](i64 first, i64 count, bool is_sum) {
      visit((is_sum ? sums_ : x_).data() + first * vectors_.columns, count * vectors_.columns);
    });
  }
  /// In the order of the blocks.
  std::vector<V> own() const override {
    std::vector<V> values;
    for (i32 k = 0; k < blocks_.count(); k++) {
      const Block& b = blocks_.blocks[std::size_t(k)];
      const V* const from = x_.data() + i64(b.column) * vectors_.columns;
      if (plan_.owner[std::size_t(k)] == rank_) values.insert(values.end(), from, from + b.width * vectors_.columns);
    }
    return values;
  }
  void collect(const std::vector<std::vector<V>>& lists, V* x) const override {
    std::vector<const V*> at;
    for (const auto& list : lists) at.push_back(list.data());
    const i64 columns = vectors_.columns;
    for (i32 k = 0; k < blocks_.count(); k++)
      for (i64 j = 0; j < blocks_.blocks[std::size_t(k)].width; j++) {
        const V*& from = at[std::size_t(plan_.owner[std::size_t(k)])];
        std::copy_n(from, columns, x + blocks_.order[std::size_t(blocks_.blocks[std::size_t(k)].column + j)] * columns);
        from += columns;
      }
  }

 private:
  const Plan& plan_;
  const Blocks& blocks_;
  int rank_;
  TaskSteps<V> steps_;
  std::vector<V> x_, sums_, partials_;
  SolveVectors<V> vectors_;
};

template <class V>
class LevelTasks final : public RankTasks<V> {
 public:
  LevelTasks(const LevelFactor<V>& factor, const Plan& plan, int rank) : factor_(factor), plan_(plan), rank_(rank) {}

  void begin(const V* b, V*, i64 columns, bool conjugate) override {
    x_.assign(std::size_t(rows().n * columns), unknown<V>());
    vectors_ = {.b = b, .x = x_.data(), .columns = columns};
    conjugate_ = conjugate;
  }
  void compute(i32 t) override { substitute(factor_, plan_.tasks[std::size_t(t)], plan_.direction, conjugate_, vectors_); }
  void each_result(i32 t, const typename RankTasks<V>::Visit& visit) override {
    const Task& task = plan_.tasks[std::size_t(t)];
    visit(x_.data() + task.first * vectors_.columns, (task.end - task.first) * vectors_.columns);
  }
  /// In the order of its tasks.
  std::vector<V> own() const override {
    std::vector<V> values;
    for (i32 t : plan_.queues[std::size_t(rank_)]) {
      const Task& task = plan_.tasks[std::size_t(t)];
      values.insert(values.end(), x_.begin() + task.first * vectors_.columns, x_.begin() + task.end * vectors_.columns);
    }
    return values;
  }
  void collect(const std::vector<std::vector<V>>& lists, V* x) const override {
    const i64 columns = vectors_.columns;
    for (std::size_t rank = 0; rank < lists.size(); rank++) {
      const V* from = lists[rank].data();
      for (i32 t : plan_.queues[rank])
        for (i64 k = plan_.tasks[std::size_t(t)].first; k < plan_.tasks[std::size_t(t)].end; k++, from += columns)
          std::copy_n(from, columns, x + rows().order[std::size_t(k)] * columns);
    }
  }

 private:
  const LevelRows& rows() const { return factor_.rows(plan_.direction); }

  const LevelFactor<V>& factor_;
  const Plan& plan_;
  int rank_;
  std::vector<V> x_;
  LevelVectors<V> vectors_;
  bool conjugate_ = false;
};

}  // namespace

template <class V>
std::unique_ptr<RankTasks<V>> make_rank_tasks(const Factor<V>& factor, const Plan& plan, int rank) {
  return std::make_unique<BlockTasks<V>>(factor, plan, rank);
}
template <class V>
std::unique_ptr<RankTasks<V>> make_rank_tasks(const LevelFactor<V>& factor, const Plan& plan, int rank) {
  return std::make_unique<LevelTasks<V>>(factor, plan, rank);
}

#define SORDINO_RANK_TASKS(V)                                                                 \
  template std::unique_ptr<RankTasks<V>> make_rank_tasks(const Factor<V>&, const Plan&, int); \
  template std::unique_ptr<RankTasks<V>> make_rank_tasks(const LevelFactor<V>&, const Plan&, int);
SORDINO_RANK_TASKS(float)
SORDINO_RANK_TASKS(double)
SORDINO_RANK_TASKS(Number)
#undef SORDINO_RANK_TASKS

}  // namespace sordino::trsv
