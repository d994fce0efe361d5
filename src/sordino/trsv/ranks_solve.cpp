#include "sordino/trsv/ranks_solve.hpp"

#include <algorithm>
#include <memory>
#include <string>

#include "sordino/base/error.hpp"
#include "sordino/base/range.hpp"
#include "sordino/runtime/engine.hpp"
#include "sordino/trsv/task_results.hpp"

namespace sordino::trsv {
namespace {

constexpr int channel = 14;  // of a communicator

}  // namespace

template <class V>
class RanksSolve<V>::OfRank {
 public:
  OfRank(const RanksSolve& all, int rank)
      : all_(all),
        plan_(all.plan_),
        blocks_(all.factor_.blocks()),
        rank_(rank),
        steps_(all.factor_),
        here_(plan_.tasks.size()) {
    coming_.resize(std::size_t(plan_.ranks));
    next_.resize(std::size_t(plan_.ranks));
    for (i32 t = 0; t < plan_.count(); t++)
      if (plan_.readers[std::size_t(t)] >> rank & 1) coming_[std::size_t(plan_.tasks[std::size_t(t)].rank)].push_back(t);
  }

  /// Returns x of all ranks' blocks, [rank] in the order of the blocks.
  Communicator::Lists<V> solve(Communicator comm, const V* b, V* result, i64 columns, bool conjugate) {
    prepare(columns);
    vectors_ = {b, result, x_.data(), sums_.data(), partials_.data(), columns, conjugate};
    for (i32 t : plan_.queues[std::size_t(rank_)]) {
      for (i64 e = plan_.need_begin[std::size_t(t)]; e < plan_.need_begin[std::size_t(t) + 1]; e++)
        await(comm, plan_.needs[std::size_t(e)]);
      if (all_.before_task) all_.before_task(t);
      steps_.compute(plan_.tasks[std::size_t(t)], plan_.direction, vectors_);
      send(comm, t);
    }
    for (int from = 0; from < plan_.ranks; from++)
      while (next_[std::size_t(from)] < coming_[std::size_t(from)].size()) take_next(comm, from);
    return comm.all_gather(own());
  }

 private:
  void prepare(i64 columns) {
    const bool forward = plan_.direction == Direction::forward;
    x_.assign(std::size_t(blocks_.n * columns), unknown<V>());
    sums_.assign(std::size_t(forward ? blocks_.slots * columns : 0), unknown<V>());
    partials_.assign(std::size_t(forward ? 0 : blocks_.partials * columns), unknown<V>());
    std::fill(here_.begin(), here_.end(), char(0));
    std::fill(next_.begin(), next_.end(), std::size_t(0));
  }

  void await(Communicator& comm, i32 need) {
    const int from = plan_.tasks[std::size_t(need)].rank;
    while (from != rank_ && !here_[std::size_t(need)]) take_next(comm, from);
  }

  void take_next(Communicator& comm, int from) {
    const i32 t = coming_[std::size_t(from)][next_[std::size_t(from)]++];
    const std::vector<V> values = comm.receive<V>(from);
    const V* at = values.data();
    each(t, [&](V* to, i64 count) {
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
    each(t, [&](const V* from, i64 count) { packed_.insert(packed_.end(), from, from + count); });
    for (int to = 0; readers != 0; to++, readers >>= 1)
      if (readers & 1) comm.send(to, packed_);
  }

  /// visit(place, numbers) for what a task has computed.
  template <class Visit>
  void each(i32 t, const Visit& visit) {
    each_result(blocks_, plan_, plan_.tasks[std::size_t(t)], [&](i64 first, i64 count, bool is_sum) {
      visit((is_sum ? sums_ : x_).data() + first * vectors_.columns, count * vectors_.columns);
    });
  }

  /// x of its blocks' columns.
  std::vector<V> own() const {
    std::vector<V> values;
    for (i32 k = 0; k < blocks_.count(); k++) {
      const Block& b = blocks_.blocks[std::size_t(k)];
      const V* const from = x_.data() + i64(b.column) * vectors_.columns;
      if (plan_.owner[std::size_t(k)] == rank_) values.insert(values.end(), from, from + b.width * vectors_.columns);
    }
    return values;
  }

  const RanksSolve& all_;
  const Plan& plan_;
  const Blocks& blocks_;
  int rank_;
  TaskSteps<V> steps_;
  std::vector<char> here_;                // [tasks] of other ranks: their message has come
  std::vector<std::vector<i32>> coming_;  // [ranks] tasks that it gets from each, in the order of their messages
  std::vector<std::size_t> next_;         // [ranks] of these
  std::vector<V> x_, sums_, partials_, packed_;
  SolveVectors<V> vectors_;
};

template <class V>
RanksSolve<V>::RanksSolve(Engine& engine, const Factor<V>& factor, const Plan& plan)
    : engine_(engine), factor_(factor), plan_(plan) {
  if (engine.size() != plan.ranks)
    bad_argument("the plan is for " + std::to_string(plan.ranks) + " ranks, and the engine has " +
                 std::to_string(engine.size()));
  for (int r = 0; r < engine.local_ranks(); r++) ranks_.push_back(std::make_unique<OfRank>(*this, engine.first_rank() + r));
}

template <class V>
RanksSolve<V>::~RanksSolve() = default;

template <class V>
void RanksSolve<V>::solve(const V* b, V* x, i64 columns, bool conjugate) {
  Range range("sordino: triangular solve");
  const Blocks& blocks = factor_.blocks();
  result_.resize(std::max(result_.size(), std::size_t(blocks.n * columns)));
  Communicator::Lists<V> lists;
  engine_.run([&](Rank& rank) {
    const int local = rank.id() - engine_.first_rank();
    auto found = ranks_[std::size_t(local)]->solve(Communicator(rank, channel), b, result_.data(), columns, conjugate);
    if (local == 0) lists = std::move(found);
  });
  std::vector<const V*> at;
  for (const auto& list : lists) at.push_back(list.data());
  for (i32 k = 0; k < blocks.count(); k++)
    for (i64 j = 0; j < blocks.blocks[std::size_t(k)].width; j++) {
      const V*& from = at[std::size_t(plan_.owner[std::size_t(k)])];
      std::copy_n(from, columns, x + blocks.order[std::size_t(blocks.blocks[std::size_t(k)].column + j)] * columns);
      from += columns;
    }
}

template class RanksSolve<float>;
template class RanksSolve<double>;
template class RanksSolve<Number>;

}  // namespace sordino::trsv
