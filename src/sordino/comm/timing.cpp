#include "sordino/comm/timing.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "sordino/comm/communicator.hpp"

namespace sordino {
namespace {

constexpr int channel = 4;

double median(std::vector<double> times) {
  auto middle = times.begin() + std::ptrdiff_t(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

double fastest(const std::vector<double>& times) { return *std::min_element(times.begin(), times.end()); }

/// The product on one rank, as a recording.
class Work {
 public:
  Work(Rank& rank, const Product& p)
      : rank_(rank), n_(p.n), described_(p.flops > 0), a_(entries(), 1.0), b_(entries(), 0.5), c_(entries()) {
    if (n_ == 0) return;
    double late = std::fmod(0.6180339887498949 * rank.id(), 1.0);  // spread evenly, and not in the order of ranks
    double seconds = p.flops > 0 ? 2.0 * double(n_) * double(n_) * double(n_) / p.flops * (1 + p.spread * late) : 0;
    recorded_ = rank.record([&] {
      for (int k = 0; k < p.commands; k++)
        rank.host({.name = "product",
                   .run = [this, first = n_ * k / p.commands,
                           last = n_ * (k + 1) / p.commands](const HostView&) { multiply(first, last); },
                   .seconds = seconds / p.commands});
    });
  }
  void operator()() {
    if (n_ > 0) rank_.replay(recorded_);
  }

 private:
  std::size_t entries() const { return described_ ? 0 : std::size_t(n_ * n_); }
  void multiply(i64 first, i64 last) {
    if (described_) return;
    for (i64 i = first; i < last; i++)
      for (i64 k = 0; k < n_; k++)
        for (i64 j = 0; j < n_; j++) c_[std::size_t(i * n_ + j)] += a_[std::size_t(i * n_ + k)] * b_[std::size_t(k * n_ + j)];
  }

  Rank& rank_;
  i64 n_;
  bool described_;  // its time is known, and nothing is computed
  std::vector<double> a_, b_, c_;
  Recorded recorded_;
};

/// Seconds from the barrier on.
struct Times {
  double post = 0, wait = 0, total = 0;
};
struct Samples {
  std::vector<double> post, wait, total;
  void add(const Times& t) {
    post.push_back(t.post);
    wait.push_back(t.wait);
    total.push_back(t.total);
  }
};

class Stopwatch {
 public:
  Stopwatch(Rank& rank, const AllReduceOptions& options, i64 values, const Product& product)
      : rank_(rank), comm_(rank, channel), options_(options), values_(std::size_t(values), 1.0), work_(rank, product) {}

  AllReduceTimes measure_alone(int repeats) {
    Samples samples;
    (void)once(true, false);  // first touch
    for (int k = 0; k < repeats; k++) samples.add(once(true, false));
    of_slowest(samples);
    return {median(samples.post), median(samples.wait), median(samples.total)};
  }
  // One after the other in each round, and the fastest of all rounds: what else the machine does is many times what is hidden.
  AllReduceTimes measure_with_product(int repeats) {
    Samples both, alone, product;
    for (int k = 0; k <= repeats; k++) {
      for (auto* samples : {&both, &alone, &product}) {
        Times t = once(samples != &product, samples != &alone);
        if (k > 0) samples->add(t);
      }
    }
    for (auto* samples : {&both, &alone, &product}) of_slowest(*samples);
    return {median(both.post), median(both.wait), fastest(both.total), fastest(product.total), fastest(alone.total)};
  }

 private:
  double now() { return rank_.engine().now(rank_); }
  Times once(bool reduces, bool computes) {
    rank_.engine().barrier(rank_);
    double begin = now();
    std::optional<Pending<std::vector<double>>> sum;
    if (reduces) sum.emplace(comm_.start_all_reduce(values_, Fold::sum, options_));
    double posted = now();
    if (computes) work_();
    double computed = now();
    if (sum) sum->get();
    double end = now();
    return {posted - begin, end - computed, end - begin};
  }
  void of_slowest(Samples& samples) {
    for (auto* times : {&samples.post, &samples.wait, &samples.total})
      *times = comm_.all_reduce(*times, Fold::max, {.algorithm = Algorithm::tree});
  }

  Rank& rank_;
  Communicator comm_;
  AllReduceOptions options_;
  std::vector<double> values_;
  Work work_;
};

}  // namespace

AllReduceTimes time_all_reduce(Engine& engine, const AllReduceOptions& options, i64 values, int repeats,
                               const Product& product) {
  if (values < 0 || repeats < 1)
    bad_argument("an all-reduce is timed with 0 or more values, at least once, not with " + std::to_string(values) +
                 " values " + std::to_string(repeats) + " times");
  if (product.n < 0 || product.commands < 1 || product.flops < 0 || product.spread < 0)
    bad_argument("a product is of n >= 0 rows in at least one command, and neither its flops nor its spread is below 0");
  AllReduceTimes times;
  engine.run([&](Rank& rank) {
    Stopwatch watch(rank, options, values, product);
    AllReduceTimes measured = product.n > 0 ? watch.measure_with_product(repeats) : watch.measure_alone(repeats);
    if (rank.id() == engine.first_rank()) times = measured;
  });
  return times;
}

}  // namespace sordino
