#include "sordino/trsv/paper_solve.hpp"

#include <algorithm>
#include <string>
#include <thread>
#include <utility>

#include "sordino/base/clock.hpp"
#include "sordino/base/error.hpp"
#include "sordino/runtime/patience.hpp"

namespace sordino::trsv::paper {
namespace {

/// Thrown on threads that stop because another one failed.
struct Stopped {};

}  // namespace

template <class V>
HostSolve<V>::HostSolve(const Factor<V>& factor, const Layout& layout, const HostOptions& options)
    : factor_(factor),
      layout_(layout),
      options_(options),
      tickets_(std::make_unique<std::atomic<i64>[]>(layout.parts.size())),
      flag_w_(std::make_unique<std::atomic<i32>[]>(layout.parts.size())) {
  if (options.workers < 1 || options.wait_threads < 1) bad_argument("SOLVE and WAIT have one thread or more each");
  for (i32 r = 0; r < layout.grid.ranks(); r++) ranks_.push_back(std::make_unique<Rank<V>>(factor, layout, r));
  post_ = [this](const Message<V>& m) { ranks_[std::size_t(m.to)]->deliver(m); };
  team_ = std::make_unique<ThreadTeam>(layout.grid.ranks() * (options.workers + 2));
}

template <class V>
HostSolve<V>::~HostSolve() = default;

template <class V>
void HostSolve<V>::solve(const V* b, V* x) {
  for (std::size_t r = 0; r < ranks_.size(); r++) {
    ranks_[r]->reset();
    tickets_[r].store(0, std::memory_order_relaxed);
    flag_w_[r].store(0, std::memory_order_relaxed);  // l.4, 004-E1: before WAIT begins
  }
  failed_.store(false, std::memory_order_relaxed);
  cause_ = nullptr;
  b_ = b;
  team_->run([this](int thread) { run(thread); }, [] { return -1.0; });
  if (cause_) std::rethrow_exception(cause_);
  const Pattern& p = factor_.pattern();
  for (i32 K = 0; K < p.count(); K++)
    for (i32 k = 0; k < p.width(K); k++)
      x[factor_.order()[std::size_t(p.column[std::size_t(K)] + k)]] = ranks_[std::size_t(layout_.grid.owner(K, K))]->x(K)[k];
}

template <class V>
void HostSolve<V>::run(int thread) {
  const i32 rank = thread % layout_.grid.ranks(), actor = thread / layout_.grid.ranks();
  try {
    actor < 2 ? wait(rank, actor == 1) : worker(rank);
  } catch (const Stopped&) {
  } catch (...) {
    const std::lock_guard lock(cause_lock_);
    if (!cause_) cause_ = std::current_exception();
    failed_.store(true, std::memory_order_relaxed);
  }
}

/// Thread blocks of the kernel SOLVE.
template <class V>
void HostSolve<V>::worker(i32 r) {
  Rank<V>& rank = *ranks_[std::size_t(r)];
  const Part& part = rank.part();
  std::vector<V> product;
  spin([&] { return flag_w_[std::size_t(r)].load(std::memory_order_acquire) == 1; },  // l.5
       [&] { return "rank " + std::to_string(r) + " of a triangular solve waited for its kernel WAIT to begin"; });
  for (i64 k; (k = tickets_[std::size_t(r)].fetch_add(1, std::memory_order_relaxed)) < i64(part.columns.size());) {  // 004-E11
    const i32 K = part.columns[std::size_t(k)];
    spin([&] { return rank.may_begin(K); },  // l.11, 15
         [&] {
           return "block column " + std::to_string(K) + " on rank " + std::to_string(r) + " waited for its sums, or for x";
         });
    rank.begin(K, b_, post_);
    for (i64 at = part.begin[std::size_t(k)]; at < part.begin[std::size_t(k) + 1]; at++)  // l.17
      rank.multiply(K, part.blocks[std::size_t(at)], product, post_);
    steps_.fetch_add(1, std::memory_order_relaxed);
  }
}

/// A thread block of the kernel WAIT: l.29 - 32 for block columns, l.35 - 51 for block rows.
template <class V>
void HostSolve<V>::wait(i32 r, bool for_sums) {
  Rank<V>& rank = *ranks_[std::size_t(r)];
  std::vector<char> mask = for_sums ? rank.part().row_mask : rank.part().column_mask;  // 004-E9: a copy
  const std::vector<i32> shares = shares_of(mask, options_.wait_threads);
  i64 expected = std::count(mask.begin(), mask.end(), 0);
  if (!for_sums) flag_w_[std::size_t(r)].store(1, std::memory_order_release);  // l.27
  auto look = [&](i32 begin, i32 end) {  // wait_until_any, of one thread's part of the mask
    for (i32 k = begin; k < end; k++) {
      if (mask[std::size_t(k)] || !(for_sums ? rank.has_come(k) : rank.x_has_come(k))) continue;
      mask[std::size_t(k)] = 1;  // l.31, 004-E8
      if (for_sums) rank.receive_sum(k, post_);
      steps_.fetch_add(1, std::memory_order_relaxed);
      expected--;
      return true;
    }
    return false;
  };
  while (expected > 0)
    spin(
        [&] {
          bool any = false;
          for (std::size_t t = 0; t + 1 < shares.size(); t++) any |= look(shares[t], shares[t + 1]);
          return any;
        },
        [&] {
          return "rank " + std::to_string(r) + " waited for " + std::to_string(expected) +
                 (for_sums ? " sums of block rows" : " parts of x");
        });
}

template <class V>
void HostSolve<V>::spin(const std::function<bool()>& done, const std::function<std::string()>& what) {
  constexpr int spins = 100;
  Patience patience;
  for (int k = 0; !done(); k++) {
    if (failed_.load(std::memory_order_relaxed)) throw Stopped{};
    if (k < spins) continue;
    const u64 beats = steps_.load(std::memory_order_relaxed);
    if (k == spins) patience.begin(beats, seconds_now());
    if (options_.timeout > 0 && patience.calm(beats, seconds_now()) > options_.timeout)
      throw Error(Errc::peer_failed, what() + " for " + std::to_string(options_.timeout) + " s in which nothing else moved");
    std::this_thread::yield();
  }
}

template class HostSolve<float>;
template class HostSolve<double>;
template class HostSolve<Number>;

}  // namespace sordino::trsv::paper
