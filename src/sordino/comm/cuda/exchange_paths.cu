// The exchange paths of the paper on HACApK (section VI, Figs. 12 to 15) beside ours: `set`, `copy` and `peer` of
// exchange_bench.hpp. Of these are made: a pair's transfer; a host vector's way to all GPUs (set: one copy for each; copy,
// peer: to the first GPU, and from there to the others); the gathering of pieces on all GPUs; and the sum of the GPUs' vectors
// on all of them (gathered and added on the first GPU; then to the host, where MPI takes it over between processes, see
// exchange_processes.cu, and from there to all). One host thread drives all GPUs, each transfer on a stream, ordered by events.
// Ours are kernels on all GPUs, from their own threads; and recorded loops of the engine (exchange_engine.cu).
#include <algorithm>

#include "sordino/base/error.hpp"
#include "sordino/comm/cuda/exchange_bench.hpp"

namespace sordino::cuda {
namespace {

constexpr i64 smallest = 8 << 10, largest = ExchangeBench::largest;  // bytes of the whole vector

constexpr What pairing{"pair", {.only_last = true}};
constexpr What broadcast{"host vector to all", {.from_host = true}};
constexpr What gathering{"pieces to all", {.pieces = true}};
constexpr What summing{"sum to all; one process, so no MPI in it", {.sum = true}};

class Paths {
 public:
  Paths(const CommPlan& plan, int ranks, std::vector<CommFigure>& figures)
      : bench_(plan, {0, ranks}, ranks), figures_(figures) {
    if (plan.epochs > 0) batches_ = int(std::clamp<i64>(plan.epochs, 1, batches_));
  }

  void measure(i64 bytes) {
    begin(bytes);
    if (bench_.team.size() == 2)
      for (Path p : {Path::set, Path::copy, Path::peer}) by_host(pairing, name_of(p), [&, p] { bench_.pair(p); });
    for (Path p : {Path::set, Path::copy, Path::peer}) by_host(broadcast, name_of(p), [&, p] { bench_.host_to_all(p); });
    by_ranks(broadcast, "a piece for each GPU, and our all-gather", &ExchangeBench::our_host_to_all);
    for (Path p : {Path::set, Path::copy, Path::peer}) by_host(gathering, name_of(p), [&, p] { bench_.gather(p); });
    row(gathering, "copy, in a graph",
        [&] { return bench_.lanes.time_graph(batches_, rounds_, [&] { bench_.gather(Path::copy); }); });
    by_ranks(gathering, "our all-gather", &ExchangeBench::our_gather);
    by_host(summing, "set", [&] { bench_.sum(Path::set, true); });
    by_host(summing, "peer, through the host", [&] { bench_.sum(Path::peer, true); });
    by_host(summing, "peer, directly", [&] { bench_.sum(Path::peer, false); });
    by_ranks(summing, "our sum of pieces, and all-gather", &ExchangeBench::our_sum);
  }
  void measure_without_peers() {
    WithoutPeers off(bench_.lanes);
    for (i64 bytes = smallest; bytes <= largest; bytes *= 2) {
      begin(bytes);
      if (bench_.team.size() == 2) by_host(pairing, "copy, peer access off", [&] { bench_.pair(Path::copy); });
      by_host(gathering, "copy, peer access off", [&] { bench_.gather(Path::copy); });
    }
  }

 private:
  void begin(i64 bytes) {
    bench_.set_bytes(bytes);
    rounds_ = int(std::clamp<i64>((8 << 20) / bytes, 2, 16));
  }

  /// `samples()` makes the rounds, and says how long they took.
  template <class Samples>
  void row(const What& what, const std::string& way, const Samples& samples) {
    bench_.clear(what.expected);
    CommFigure f{
        .what = "exchange-paths", .way = way, .ranks = bench_.team.size(), .bytes = bench_.words() * 8, .remark = what.name};
    if (!add_if_supported(f, samples)) return figures_.push_back(f);
    bench_.check(what.expected, way + ", " + what.name);
    f.bandwidth = double(f.bytes) / f.median;  // of the whole vector, as in the paper
    figures_.push_back(f);
  }
  template <class Issue>
  void by_host(const What& what, const std::string& way, const Issue& issue) {
    row(what, way, [&] { return bench_.lanes.time(batches_, rounds_, issue); });
  }
  void by_ranks(const What& what, const std::string& way, void (ExchangeBench::*issue)(TeamRank&) const) {
    row(what, way, [&] {
      BatchTimer timer(bench_.team.size(), batches_, rounds_);
      bench_.team.run([&](TeamRank& rank) {
        bench_.load(rank);
        timer.run(rank, [&] { (bench_.*issue)(rank); });
      });
      return timer.slowest();
    });
  }

  ExchangeBench bench_;
  std::vector<CommFigure>& figures_;
  int batches_ = 7, rounds_ = 1;
};

}  // namespace

std::vector<CommFigure> time_exchange_paths(const CommPlan& plan) {
  std::vector<CommFigure> figures;
  for (int ranks : possible_ranks(plan, 2)) {
    time_exchanges_by_engine(plan, ranks, figures);
    if (plan.processes) {
      time_exchanges_of_processes(plan, ranks, figures);
      continue;
    }
    Paths paths(plan, ranks, figures);
    for (i64 bytes = smallest; bytes <= largest; bytes *= 2) paths.measure(bytes);
    paths.measure_without_peers();
  }
  if (figures.empty()) figures.push_back(takes_two_devices("exchange-paths"));
  return figures;
}

}  // namespace sordino::cuda
