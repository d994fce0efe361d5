#include "sordino/trsv/host_solve.hpp"

#include <algorithm>
#include <string>
#include <thread>
#include <utility>

#include "sordino/base/clock.hpp"
#include "sordino/base/error.hpp"
#include "sordino/base/parallel.hpp"
#include "sordino/base/range.hpp"
#include "sordino/runtime/patience.hpp"

namespace sordino::trsv {
namespace {

/// Thrown on threads that stop because another one failed.
struct Stopped {};

}  // namespace

template <class V>
HostSolve<V>::HostSolve(const Factor<V>& factor, const Plan& plan, const HostOptions& options)
    : factor_(factor),
      plan_(plan),
      options_(options),
      threads_(std::max(plan.ranks, thread_count(options.threads))),
      steps_(std::size_t(threads_), TaskSteps<V>(factor)),
      done_(std::make_unique<std::atomic<u32>[]>(plan.tasks.size())),
      tickets_(std::make_unique<std::atomic<i64>[]>(std::size_t(plan.ranks))) {
  if (threads_ > 1) team_ = std::make_unique<ThreadTeam>(threads_);
}

template <class V>
HostSolve<V>::~HostSolve() = default;

template <class V>
void HostSolve<V>::solve(const V* b, V* x, i64 columns, bool conjugate) {
  Range range("sordino: triangular solve");
  const std::size_t rows = std::size_t(factor_.blocks().n * columns);
  x_.resize(std::max(x_.size(), rows));
  result_.resize(std::max(result_.size(), rows));
  const bool forward = plan_.direction == Direction::forward;
  sums_.resize(std::max(sums_.size(), std::size_t(forward ? factor_.blocks().slots * columns : 0)));
  partials_.resize(std::max(partials_.size(), std::size_t(forward ? 0 : factor_.blocks().partials * columns)));
  vectors_ = {.b = b,
              .result = result_.data(),
              .x = x_.data(),
              .sums = sums_.data(),
              .partials = partials_.data(),
              .columns = columns,
              .conjugate = conjugate};
  for (int r = 0; r < plan_.ranks; r++) tickets_[std::size_t(r)].store(0, std::memory_order_relaxed);
  failed_.store(false, std::memory_order_relaxed);
  cause_ = nullptr;
  solve_++;
  if (team_)
    team_->run([this](int thread) { work(thread); }, [] { return -1.0; });
  else
    work(0);
  if (cause_) std::rethrow_exception(cause_);
  std::copy_n(result_.data(), rows, x);
}

template <class V>
void HostSolve<V>::work(int thread) {
  const std::size_t rank = std::size_t(thread % plan_.ranks);
  const std::vector<i32>& queue = plan_.queues[rank];
  try {
    for (i64 k; (k = tickets_[rank].fetch_add(1, std::memory_order_relaxed)) < i64(queue.size());) {
      const std::size_t t = std::size_t(queue[std::size_t(k)]);
      for (i64 e = plan_.need_begin[t]; e < plan_.need_begin[t + 1]; e++) await(i32(t), plan_.needs[std::size_t(e)]);
      if (before_task) before_task(i32(t));
      steps_[std::size_t(thread)].compute(plan_.tasks[t], plan_.direction, vectors_);
      done_[t].store(solve_, std::memory_order_release);
      ended_.fetch_add(1, std::memory_order_relaxed);
    }
  } catch (const Stopped&) {
  } catch (...) {
    give_up(std::current_exception());
  }
}

template <class V>
void HostSolve<V>::await(i32 task, i32 need) {
  constexpr int spins = 2000;
  const std::atomic<u32>& flag = done_[std::size_t(need)];
  Patience patience;
  for (int k = 0; flag.load(std::memory_order_acquire) != solve_; k++) {
    if (failed_.load(std::memory_order_relaxed)) throw Stopped{};
    if (k < spins) continue;
    const u64 beats = ended_.load(std::memory_order_relaxed);
    if (k == spins) patience.begin(beats, seconds_now());
    if (patience.calm(beats, seconds_now()) > options_.timeout && options_.timeout > 0)
      throw Error(Errc::peer_failed, "task " + std::to_string(task) + " of a triangular solve waited " +
                                         std::to_string(options_.timeout) + " s for task " + std::to_string(need) +
                                         " of rank " + std::to_string(plan_.tasks[std::size_t(need)].rank) +
                                         ", and no other one ended meanwhile");
    std::this_thread::yield();
  }
}

template <class V>
void HostSolve<V>::give_up(std::exception_ptr cause) {
  const std::lock_guard lock(cause_lock_);
  if (!cause_) cause_ = std::move(cause);
  failed_.store(true, std::memory_order_relaxed);
}

template class HostSolve<float>;
template class HostSolve<double>;
template class HostSolve<Number>;

}  // namespace sordino::trsv
