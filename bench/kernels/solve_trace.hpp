// What a traced triangular solve says of itself: how fast GPUs read while time went by, and what a step of its critical path,
// the chain of the root's blocks, is made of.
#pragma once
#include <algorithm>
#include <cstdio>
#include <limits>
#include <vector>

#include "sordino/trsv/cuda/gpu_solve.hpp"
#include "sordino/trsv/plan.hpp"

namespace bench {
using namespace sordino;

class SolveTrace {
 public:
  SolveTrace(const trsv::Blocks& blocks, const trsv::Plan& plan, const std::vector<trsv::TaskTrace>& traces)
      : blocks_(blocks), plan_(plan) {
    for (const trsv::TaskTrace& t : traces) times_.push_back(in_microseconds(t));
    align_clocks();
    find_chain();
  }

  /// As members of a JSON object, each behind a comma.
  void print() const {
    double last = 0, waiting = 0, computing = 0;
    for (const Times& t : times_) last = std::max(last, t.ended), waiting += t.began - t.taken, computing += t.ended - t.began;
    std::printf(", \"span_us\": %.1f, \"task_us_waiting\": %.2f, \"task_us_computing\": %.2f, \"gb_per_s_by_tenths\": [", last,
                waiting / double(times_.size()), computing / double(times_.size()));
    const std::vector<double> bytes = bytes_by_tenths(last);
    for (std::size_t k = 0; k < bytes.size(); k++) std::printf("%s%.0f", k == 0 ? "" : ", ", bytes[k] / (last / 10) / 1e3);
    std::printf("]");
    print_chain();
  }

 private:
  struct Times {
    double taken, began, came, multiplied, ended;
  };
  static Times in_microseconds(const trsv::TaskTrace& t) {
    const u64 began = t.began ? t.began : t.taken, came = t.came ? t.came : began;
    auto us = [](u64 ns) { return double(ns % (u64(1) << 50)) * 1e-3; };  // the differences keep their digits
    return {us(t.taken), us(began), us(came), us(t.multiplied ? t.multiplied : came), us(t.ended)};
  }
  const trsv::Task& task(i32 t) const { return plan_.tasks[std::size_t(t)]; }
  const Times& times(i32 t) const { return times_[std::size_t(t)]; }

  template <class Each>
  void each_need(i32 t, const Each& each) const {
    for (i64 e = plan_.need_begin[std::size_t(t)]; e < plan_.need_begin[std::size_t(t) + 1]; e++)
      each(plan_.needs[std::size_t(e)]);
  }

  /// To that of rank 0, so that the shortest ways there and back take as long; time begins with the first task.
  void align_clocks() {
    std::vector<double> there(std::size_t(plan_.ranks), std::numeric_limits<double>::max()), back = there;
    for (i32 t = 0; t < plan_.count(); t++)
      each_need(t, [&](i32 need) {
        const i32 from = task(need).rank, to = task(t).rank;
        const double way = times(t).began - times(need).ended;
        if (from == 0) there[std::size_t(to)] = std::min(there[std::size_t(to)], way);
        if (to == 0) back[std::size_t(from)] = std::min(back[std::size_t(from)], way);
      });
    double first = std::numeric_limits<double>::max();
    for (int pass = 0; pass < 2; pass++)
      for (i32 t = 0; t < plan_.count(); t++) {
        const std::size_t r = std::size_t(task(t).rank);
        const double later = pass == 1 ? first : r == 0 ? 0 : (there[r] - back[r]) / 2;
        Times& of = times_[std::size_t(t)];
        for (double* time : {&of.taken, &of.began, &of.came, &of.multiplied, &of.ended}) *time -= later;
        if (pass == 0) first = std::min(first, of.taken);
      }
  }

  /// Of all GPUs. A task's bytes come in the time from its being taken to their being there.
  std::vector<double> bytes_by_tenths(double last) const {
    std::vector<double> bytes(10, 0);
    for (i32 t = 0; t < plan_.count(); t++) {
      const double middle = (times(t).taken + times(t).came) / 2;
      const int tenth = std::clamp(int(10 * middle / last), 0, 9);
      bytes[std::size_t(tenth)] += 8 * double(values_of(blocks_, task(t)));
    }
    return bytes;
  }

  /// From the task that ends last back through the latest need, as long as that is one of the root's blocks.
  void find_chain() {
    i32 t = 0;
    for (i32 k = 1; k < plan_.count(); k++)
      if (times(k).ended > times(t).ended) t = k;
    while (is_of_root(task(t).block)) {
      chain_.push_back(t);
      i32 latest = -1;
      each_need(t, [&](i32 need) {
        if (latest < 0 || times(need).ended > times(latest).ended) latest = need;
      });
      if (latest < 0) return;
      t = latest;
    }
  }
  /// Rows below are all columns that come after it.
  bool is_of_root(i32 k) const {
    const trsv::Block& b = blocks_.blocks[std::size_t(k)];
    return b.column + b.front == blocks_.n;
  }

  void print_chain() const {
    if (chain_.size() < 2) return;
    double seen[2] = {}, values = 0, product = 0, store = 0;
    int hops[2] = {};
    for (std::size_t k = 0; k + 1 < chain_.size(); k++) {
      const Times &now = times(chain_[k]), &before = times(chain_[k + 1]);
      const int other = task(chain_[k]).rank != task(chain_[k + 1]).rank;
      seen[other] += now.began - before.ended, hops[other]++;
      values += now.came - now.began, product += now.multiplied - now.came, store += now.ended - now.multiplied;
    }
    const double all = hops[0] + hops[1];
    std::printf(", \"root_tasks\": %zu, \"root_chain_us\": %.1f, \"hop_us\": %.3f", chain_.size(),
                times(chain_.front()).ended - times(chain_.back()).began,
                (times(chain_.front()).ended - times(chain_.back()).ended) / all);
    if (hops[0] > 0) std::printf(", \"seen_us_same_gpu\": %.3f", seen[0] / hops[0]);
    if (hops[1] > 0) std::printf(", \"seen_us_other_gpu\": %.3f", seen[1] / hops[1]);
    std::printf(", \"values_us\": %.3f, \"product_us\": %.3f, \"store_us\": %.3f", values / all, product / all, store / all);
  }

  const trsv::Blocks& blocks_;
  const trsv::Plan& plan_;
  std::vector<Times> times_;
  std::vector<i32> chain_;
};

}  // namespace bench
