// Exchanges between processes with some GPUs each, as in the paper on HACApK (section VI-B): within a process over peer memory,
// and between the processes by MPI, from host memory to host memory.
//
//   sum      the vectors of a process's GPUs are added on its first GPU; the sum goes to the host, where MPI's all-reduce adds
//            those of all processes, and from there to the GPUs of the process
//   pieces   go to the host, where MPI's all-gather brings those of all processes, and the whole to the GPUs
//
// and, without MPI, a vector that lies in each process's host memory goes to all GPUs of the process. `set` and `peer` are the
// ways within a process (exchange_bench.hpp). With our kernels every GPU adds a share of the sum, and takes it to the host and
// back over its own link; the shares are then gathered by stores. Where MPI takes memory of GPUs, it is given that of the
// first, instead of the host's. Times are those of the slowest process, by the host's clock: MPI is called by the host, which
// waits for the GPUs before, and MPI's split-phase calls are asked again and again, as waits have to end.
#include <algorithm>

#include "sordino/base/clock.hpp"
#include "sordino/comm/cuda/exchange_bench.hpp"
#include "sordino/runtime/cuda/call.hpp"

namespace sordino::cuda {
namespace {

constexpr What broadcast{"host vector to all", {.from_host = true}};
constexpr What gathering{"pieces to all", {.pieces = true}};
constexpr What summing{"sum to all", {.sum = true}};

class ProcessPaths {
 public:
  ProcessPaths(const CommPlan& plan, int ranks, std::vector<CommFigure>& figures)
      : plan_(plan),
        processes_(*plan.processes),
        ranks_(ranks),
        bench_(own_part(plan, ranks), own_ranks(plan, ranks), ranks),
        figures_(figures) {
    if (plan.epochs > 0) batches_ = int(std::clamp<i64>(plan.epochs, 1, batches_));
  }

  void measure(i64 bytes) {
    bench_.set_bytes(bytes);
    rounds_ = int(std::clamp<i64>((4 << 20) / bytes, 1, 16));
    for (Path p : {Path::set, Path::peer}) {
      if (p == Path::peer && bench_.team.size() == 1) continue;  // nobody to reach
      row(broadcast, std::string(name_of(p)) + ", in each process", [&] { return time([&] { bench_.host_to_all(p); }); });
      std::string way = std::string(name_of(p)) + ", MPI between the hosts' memory";
      row(gathering, way, [&] { return time([&] { gather(p); }); });
      row(summing, way, [&] { return time([&] { sum(p); }); });
    }
    row(gathering, "MPI alone, between the hosts' memory", [&] { return time_mpi_alone(); });
    const char* ours = "our kernels, MPI between the hosts' memory";
    row(gathering, ours, [&] { return time(&ExchangeBench::our_piece_to_host, [&] { gather_on_hosts(); }); });
    row(summing, ours, [&] { return time(&ExchangeBench::our_sum_to_host, [&] { add_on_hosts(); }); });
    if (!processes_.reaches_devices()) return;
    const char* direct = "peer, MPI between the GPUs' memory";
    row(gathering, direct, [&] { return time([&] { gather_directly(); }); });
    row(summing, direct, [&] { return time([&] { sum_directly(); }); });
  }

 private:
  // --- the part of MPI: what it is given is there
  i64 own_words() const { return bench_.part() * bench_.team.size(); }
  void gather_on_hosts() { processes_.gather(bench_.on_host(), own_words()); }
  void add_on_hosts() { processes_.add(bench_.on_host(), bench_.words()); }

  // --- rounds, issued by one thread
  void gather(Path path) {
    bench_.pieces_to_host();
    bench_.lanes.wait();
    gather_on_hosts();
    bench_.host_to_all(path);
  }
  void sum(Path path) {
    bench_.sum_on_first(path);
    bench_.first_to_host();
    bench_.lanes.wait();
    add_on_hosts();
    bench_.host_to_all(path);
  }
  void gather_directly() {
    bench_.pieces_to_first(Path::peer);
    bench_.lanes.wait();
    on_first([&](double* whole) { processes_.gather(whole, own_words()); });
  }
  void sum_directly() {
    bench_.sum_on_first(Path::peer);
    bench_.lanes.wait();
    on_first([&](double* whole) { processes_.add(whole, bench_.words()); });
  }
  template <class Exchange>
  void on_first(const Exchange& exchange) {
    OnDevice on(bench_.lanes.device(0));
    exchange(bench_.whole(0));
    bench_.first_to_others(Path::peer);
  }

  // --- measuring
  template <class Round>
  std::vector<double> time(const Round& round) {
    std::vector<double> seconds;
    for (int b = 0; b <= batches_; b++) {
      bench_.lanes.wait();
      processes_.barrier();
      double begin = seconds_now();
      for (int n = 0; n < rounds_; n++) round();
      bench_.lanes.wait();
      if (b > 0) seconds.push_back((seconds_now() - begin) / rounds_);
    }
    return agreed(plan_, seconds);
  }
  /// The pieces are in host memory before, and the whole goes to the GPUs for its check afterwards.
  std::vector<double> time_mpi_alone() {
    bench_.pieces_to_host();
    bench_.lanes.wait();
    auto seconds = time([&] { gather_on_hosts(); });
    bench_.host_to_all(Path::set);
    bench_.lanes.wait();
    return seconds;
  }
  /// Rounds of ours: to the host by every GPU's thread, `between` by the first one's, and back by all.
  template <class Between>
  std::vector<double> time(void (ExchangeBench::*to_host)(TeamRank&) const, const Between& between) {
    std::vector<double> seconds;
    bench_.team.run([&](TeamRank& rank) {
      auto together = [&](const auto& job) {
        rank.wait();
        rank.barrier();
        if (rank.id() == 0) job();
        rank.barrier();
      };
      bench_.load(rank);
      for (int b = 0; b <= batches_; b++) {
        together([&] { processes_.barrier(); });
        double begin = seconds_now();
        for (int n = 0; n < rounds_; n++) {
          (bench_.*to_host)(rank);
          together(between);
          bench_.our_host_to_all(rank);
        }
        together([&] {
          if (b > 0) seconds.push_back((seconds_now() - begin) / rounds_);
        });
      }
    });
    return agreed(plan_, seconds);
  }
  template <class Samples>
  void row(const What& what, const std::string& way, const Samples& samples) {
    bench_.clear(what.expected);
    CommFigure f{.what = "exchange-paths", .way = way, .ranks = ranks_, .bytes = bench_.words() * 8};
    f.remark = std::string(what.name) + "; " + layout(plan_, ranks_);
    add_samples(f, samples());
    bench_.check(what.expected, way + ", " + what.name);
    f.bandwidth = double(f.bytes) / f.median;  // of the whole vector, as in the paper
    figures_.push_back(f);
  }

  const CommPlan& plan_;
  Processes& processes_;
  int ranks_;
  ExchangeBench bench_;
  std::vector<CommFigure>& figures_;
  int batches_ = 5, rounds_ = 1;
};

}  // namespace

void time_exchanges_of_processes(const CommPlan& plan, int ranks, std::vector<CommFigure>& figures) {
  ProcessPaths paths(plan, ranks, figures);
  for (i64 bytes : exchanged_bytes) paths.measure(bytes);
}

}  // namespace sordino::cuda
