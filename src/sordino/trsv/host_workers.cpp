#include "sordino/trsv/host_workers.hpp"

#include <algorithm>
#include <string>
#include <thread>
#include <utility>

#include "sordino/base/clock.hpp"
#include "sordino/base/error.hpp"
#include "sordino/base/parallel.hpp"
#include "sordino/runtime/patience.hpp"

namespace sordino::trsv {
namespace {

/// Thrown on threads that stop because another one failed.
struct Stopped {};

}  // namespace

HostWorkers::HostWorkers(const Plan& plan, const HostOptions& options)
    : plan_(plan),
      timeout_(options.timeout),
      threads_(std::max(plan.ranks, thread_count(options.threads))),
      done_(std::make_unique<std::atomic<u32>[]>(plan.tasks.size())),
      tickets_(std::make_unique<std::atomic<i64>[]>(std::size_t(plan.ranks))) {
  if (threads_ > 1) team_ = std::make_unique<ThreadTeam>(threads_);
}

HostWorkers::~HostWorkers() = default;

void HostWorkers::run(const std::function<void(i32, int)>& compute) {
  for (int r = 0; r < plan_.ranks; r++) tickets_[std::size_t(r)].store(0, std::memory_order_relaxed);
  failed_.store(false, std::memory_order_relaxed);
  cause_ = nullptr;
  run_++;
  if (team_)
    team_->run([&](int thread) { work(thread, compute); }, [] { return -1.0; });
  else
    work(0, compute);
  if (cause_) std::rethrow_exception(cause_);
}

void HostWorkers::work(int thread, const std::function<void(i32, int)>& compute) {
  const std::size_t rank = std::size_t(thread % plan_.ranks);
  const std::vector<i32>& queue = plan_.queues[rank];
  try {
    for (i64 k; (k = tickets_[rank].fetch_add(1, std::memory_order_relaxed)) < i64(queue.size());) {
      const std::size_t t = std::size_t(queue[std::size_t(k)]);
      for (i64 e = plan_.need_begin[t]; e < plan_.need_begin[t + 1]; e++) await(i32(t), plan_.needs[std::size_t(e)]);
      compute(i32(t), thread);
      done_[t].store(run_, std::memory_order_release);
      ended_.fetch_add(1, std::memory_order_relaxed);
    }
  } catch (const Stopped&) {
  } catch (...) {
    give_up(std::current_exception());
  }
}

void HostWorkers::await(i32 task, i32 need) {
  constexpr int spins = 2000;
  const std::atomic<u32>& flag = done_[std::size_t(need)];
  Patience patience;
  for (int k = 0; flag.load(std::memory_order_acquire) != run_; k++) {
    if (failed_.load(std::memory_order_relaxed)) throw Stopped{};
    if (k < spins) continue;
    const u64 beats = ended_.load(std::memory_order_relaxed);
    if (k == spins) patience.begin(beats, seconds_now());
    if (patience.calm(beats, seconds_now()) > timeout_ && timeout_ > 0)
      throw Error(Errc::peer_failed, "task " + std::to_string(task) + " of a triangular solve waited " +
                                         std::to_string(timeout_) + " s for task " + std::to_string(need) + " of rank " +
                                         std::to_string(plan_.tasks[std::size_t(need)].rank) +
                                         ", and no other one ended meanwhile");
    std::this_thread::yield();
  }
}

void HostWorkers::give_up(std::exception_ptr cause) {
  const std::lock_guard lock(cause_lock_);
  if (!cause_) cause_ = std::move(cause);
  failed_.store(true, std::memory_order_relaxed);
}

}  // namespace sordino::trsv
