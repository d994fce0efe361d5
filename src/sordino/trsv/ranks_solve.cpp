#include "sordino/trsv/ranks_solve.hpp"

#include <algorithm>
#include <memory>
#include <string>

#include "sordino/base/error.hpp"
#include "sordino/base/range.hpp"
#include "sordino/runtime/engine.hpp"

namespace sordino::trsv {
namespace {

constexpr int channel = 14;  // of a communicator

}  // namespace

template <class V>
class RanksSolve<V>::OfRank {
 public:
  OfRank(const RanksSolve& all, int rank, std::unique_ptr<RankTasks<V>> made)
      : tasks(std::move(made)), all_(all), plan_(all.plan_), rank_(rank), here_(plan_.tasks.size()) {
    coming_.resize(std::size_t(plan_.ranks));
    next_.resize(std::size_t(plan_.ranks));
    for (i32 t = 0; t < plan_.count(); t++)
      if (plan_.readers[std::size_t(t)] >> rank & 1) coming_[std::size_t(plan_.tasks[std::size_t(t)].rank)].push_back(t);
  }

  /// Returns x of all ranks' tasks, [rank] as RankTasks::own().
  Communicator::Lists<V> solve(Communicator comm, const V* b, V* room, i64 columns, bool conjugate) {
    tasks->begin(b, room, columns, conjugate);
    std::fill(here_.begin(), here_.end(), char(0));
    std::fill(next_.begin(), next_.end(), std::size_t(0));
    for (i32 t : plan_.queues[std::size_t(rank_)]) {
      for (i64 e = plan_.need_begin[std::size_t(t)]; e < plan_.need_begin[std::size_t(t) + 1]; e++)
        await(comm, plan_.needs[std::size_t(e)]);
      if (all_.before_task) all_.before_task(t);
      tasks->compute(t);
      send(comm, t);
    }
    for (int from = 0; from < plan_.ranks; from++)
      while (next_[std::size_t(from)] < coming_[std::size_t(from)].size()) take_next(comm, from);
    return comm.all_gather(tasks->own());
  }

  const std::unique_ptr<RankTasks<V>> tasks;

 private:
  void await(Communicator& comm, i32 need) {
    const int from = plan_.tasks[std::size_t(need)].rank;
    while (from != rank_ && !here_[std::size_t(need)]) take_next(comm, from);
  }

  void take_next(Communicator& comm, int from) {
    const i32 t = coming_[std::size_t(from)][next_[std::size_t(from)]++];
    const std::vector<V> values = comm.receive<V>(from);
    const V* at = values.data();
    tasks->each_result(t, [&](V* to, i64 count) {
      if (at + count > values.data() + values.size())
        throw Error(Errc::peer_failed, "rank " + std::to_string(from) + " sends too little of task " + std::to_string(t));
      std::copy_n(at, count, to);
      at += count;
    });
    here_[std::size_t(t)] = 1;
  }

  void send(Communicator& comm, i32 t) {
    u32 readers = plan_.readers[std::size_t(t)];
    if (readers == 0) return;
    packed_.clear();
    tasks->each_result(t, [&](const V* from, i64 count) { packed_.insert(packed_.end(), from, from + count); });
    for (int to = 0; readers != 0; to++, readers >>= 1)
      if (readers & 1) comm.send(to, packed_);
  }

  const RanksSolve& all_;
  const Plan& plan_;
  int rank_;
  std::vector<char> here_;                // [tasks] of other ranks: their message has come
  std::vector<std::vector<i32>> coming_;  // [ranks] tasks that it gets from each, in the order of their messages
  std::vector<std::size_t> next_;         // [ranks] of these
  std::vector<V> packed_;
};

template <class V>
template <class F>
RanksSolve<V>::RanksSolve(Engine& engine, const F& factor, const Plan& plan, i64 rows)
    : engine_(engine), plan_(plan), rows_(rows) {
  if (engine.size() != plan.ranks)
    bad_argument("the plan is for " + std::to_string(plan.ranks) + " ranks, and the engine has " +
                 std::to_string(engine.size()));
  for (int r = engine.first_rank(); r < engine.first_rank() + engine.local_ranks(); r++)
    ranks_.push_back(std::make_unique<OfRank>(*this, r, make_rank_tasks(factor, plan, r)));
}

template <class V>
RanksSolve<V>::RanksSolve(Engine& engine, const Factor<V>& factor, const Plan& plan)
    : RanksSolve(engine, factor, plan, factor.blocks().n) {}

template <class V>
RanksSolve<V>::RanksSolve(Engine& engine, const LevelFactor<V>& factor, const Plan& plan)
    : RanksSolve(engine, factor, plan, factor.rows(plan.direction).n) {}

template <class V>
RanksSolve<V>::~RanksSolve() = default;

template <class V>
void RanksSolve<V>::solve(const V* b, V* x, i64 columns, bool conjugate) {
  Range range("sordino: triangular solve");
  room_.resize(std::max(room_.size(), std::size_t(rows_ * columns)));
  Communicator::Lists<V> lists;
  engine_.run([&](Rank& rank) {
    const int local = rank.id() - engine_.first_rank();
    auto found = ranks_[std::size_t(local)]->solve(Communicator(rank, channel), b, room_.data(), columns, conjugate);
    if (local == 0) lists = std::move(found);
  });
  ranks_.front()->tasks->collect(lists, x);
}

template class RanksSolve<float>;
template class RanksSolve<double>;
template class RanksSolve<Number>;

}  // namespace sordino::trsv
