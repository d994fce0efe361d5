// A chain of kernels and exchanges on several GPUs, each step needing the one before on all of them: driven by events, where
// the host is far ahead, and by synchronisations, where it waits for all GPUs after every kernel and every exchange. The paper
// on HACApK (section VI-A) found the latter 15 to 20 % slower. Beside them: the same chain in a graph, and with our all-gather.
//
// A kernel computes each GPU's piece of a vector from the piece of the next one, and takes about as long as the exchange, in
// which each piece is copied to all others.
#include <algorithm>
#include <cstdio>
#include <string>

#include "sordino/base/error.hpp"
#include "sordino/comm/cuda/all_gather.hpp"
#include "sordino/comm/cuda/figures.hpp"
#include "sordino/comm/cuda/lanes.hpp"
#include "sordino/runtime/cuda/call.hpp"
#include "sordino/runtime/cuda/team.cuh"

namespace sordino::cuda {
namespace {

constexpr int blocks = 264, steps = 20;

/// The own piece becomes the next rank's, and 1; each word is then multiplied by `one` so many times.
__global__ void compute(double* whole, int rank, i64 part, i64 words, int turns, double one) {
  for (i64 i = blockIdx.x * i64(blockDim.x) + threadIdx.x; i < part; i += i64(gridDim.x) * blockDim.x) {
    i64 at = rank * part + i, from = at + part < words ? at + part : at + part - words;
    double v = whole[from] + 1;
#pragma unroll 1
    for (int n = 0; n < turns; n++) v = fma(v, one, 0.0);
    whole[at] = v;
  }
}
/// Word i of rank r's piece, after so many steps.
SORDINO_HD double value(i64 rank, i64 i, i64 ranks, i64 done) {
  return double(((rank + done) % ranks) * 4096 + (i & 1023) + done);
}
__global__ void fill(double* whole, i64 part, int ranks) {
  for (i64 i = blockIdx.x * i64(blockDim.x) + threadIdx.x; i < part * ranks; i += i64(gridDim.x) * blockDim.x)
    whole[i] = value(i / part, i % part, ranks, 0);
}
__global__ void compare(const double* whole, i64 part, int ranks, i64 done, u32* wrong) {
  for (i64 i = blockIdx.x * i64(blockDim.x) + threadIdx.x; i < part * ranks; i += i64(gridDim.x) * blockDim.x)
    if (whole[i] != value(i / part, i % part, ranks, done)) atomicAdd(wrong, 1u);
}

class Chain {
 public:
  Chain(const TeamOptions& options, i64 bytes, int batches)
      : team_(options), lanes_(team_, 60), batches_(batches), part_(bytes / 8 / team_.size()), words_(part_ * team_.size()) {
    gather_ = make_all_gather(team_);
    whole_ = team_.array<double>(words_);
    wrong_ = team_.array<u32>(1);
    make_kernels_as_long_as_exchanges();
  }

  CommFigure by_events() {
    return measured("events", [&] {
      return lanes_.time(batches_, steps, [&] {
        compute_all();
        lanes_.join();
        exchange();
        lanes_.join();
      });
    });
  }
  CommFigure by_synchronisation() {
    return measured("synchronisations of the host", [&] {
      return lanes_.time(batches_, steps, [&] {
        compute_all();
        synchronize();
        exchange();
        synchronize();
      });
    });
  }
  CommFigure in_graph() {
    return measured("events, in a graph", [&] {
      return lanes_.time_graph(batches_, steps, [&] {
        compute_all();
        lanes_.join();
        exchange();
        lanes_.join();
      });
    });
  }
  CommFigure with_our_all_gather() {
    return measured("our all-gather, nothing between the GPUs", [&] {
      BatchTimer timer(team_.size(), batches_, steps);
      team_.run([&](TeamRank& rank) {
        rank.load(compute);
        load_all_gather(rank);
        timer.run(rank, [&] {
          rank.launch({.blocks = blocks, .threads = Lanes::threads}, compute, at(rank.id()), rank.id(), part_, words_, turns_,
                      1.0);
          all_gather(rank, gather_, whole_, part_);
        });
      });
      return timer.slowest();
    });
  }
  std::string parts() const {
    char text[80];
    std::snprintf(text, sizeof text, "a kernel alone %.1f us, an exchange alone %.1f us", kernel_ * 1e6, exchange_ * 1e6);
    return text;
  }

 private:
  double* at(int rank) const { return team_.on(rank).mine(whole_); }
  void compute_all() {
    for (int r = 0; r < team_.size(); r++) lanes_.launch(r, blocks, compute, at(r), r, part_, words_, turns_, 1.0);
  }
  void exchange() {
    const int ranks = team_.size();
    for (int k = 1; k < ranks; k++)
      for (int r = 0; r < ranks; r++) {
        int to = (r + k) % ranks;
        // Straight, as peer access is on; cudaMemcpyPeerAsync is no different, but cannot be captured.
        call("cudaMemcpyAsync",
             cudaMemcpyAsync(at(to) + r * part_, at(r) + r * part_, std::size_t(part_) * 8, cudaMemcpyDefault, lanes_[r]));
      }
  }
  void synchronize() {
    for (int r = 0; r < team_.size(); r++) lanes_.synchronize(r);
  }

  void make_kernels_as_long_as_exchanges() {
    auto median = [](std::vector<double> seconds) { return quantile(seconds, 0.5); };
    auto time_kernel = [&](int turns) {
      turns_ = turns;
      return median(lanes_.time(5, steps, [&] { lanes_.launch(0, blocks, compute, at(0), 0, part_, words_, turns_, 1.0); }));
    };
    exchange_ = median(lanes_.time(5, steps, [&] {
      exchange();
      lanes_.join();
    }));
    constexpr int some = 4096;
    double none = time_kernel(0), turn = (time_kernel(some) - none) / some;
    int turns = turn > 0 ? int(std::clamp((exchange_ - none) / turn, 0.0, 1e6)) : 0;
    kernel_ = time_kernel(turns);
  }

  /// `samples()` makes batches + 1 times `steps` steps, and says how long they took.
  template <class Samples>
  CommFigure measured(const char* way, const Samples& samples) {
    const int ranks = team_.size();
    for (int r = 0; r < ranks; r++) lanes_.launch(r, blocks, fill, at(r), part_, ranks);
    lanes_.wait();
    CommFigure f{.what = "events", .way = way, .ranks = ranks, .bytes = words_ * 8};
    if (add_if_supported(f, samples)) check(i64(batches_ + 1) * steps, way);
    return f;
  }
  void check(i64 done, const char* way) {
    for (int r = 0; r < team_.size(); r++) {
      u32 wrong = 0;
      team_.write(r, wrong_, &wrong, 1);
      lanes_.launch(r, blocks, compare, at(r), part_, team_.size(), done, team_.on(r).mine(wrong_));
      lanes_.wait();
      team_.read(r, wrong_, &wrong, 1);
      if (wrong)
        throw Error(Errc::device, std::string("a chain driven by ") + way + " left " + std::to_string(wrong) +
                                      " wrong words on rank " + std::to_string(r));
    }
  }

  Team team_;
  Lanes lanes_;
  int batches_;
  i64 part_, words_;
  AllGather gather_;
  Symmetric<double> whole_;
  Symmetric<u32> wrong_;
  int turns_ = 0;
  double kernel_ = 0, exchange_ = 0;
};

/// By how much more time than with events.
std::string over(const CommFigure& f, const CommFigure& by_events) {
  char text[40];
  std::snprintf(text, sizeof text, "%+.1f %%", (f.median / by_events.median - 1) * 100);
  return text;
}

}  // namespace

std::vector<CommFigure> time_events(const CommPlan& plan) {
  std::vector<CommFigure> figures;
  int batches = plan.epochs > 0 ? int(std::clamp<i64>(plan.epochs / steps, 1, 30)) : 30;
  for (int ranks : possible_ranks(plan, 2))
    for (i64 bytes : {i64(256) << 10, i64(2) << 20, i64(16) << 20, i64(64) << 20}) {
      TeamOptions options = team_options(plan, ranks);
      options.window = std::size_t(bytes) + (1 << 20);
      options.longest = 60;
      Chain chain(options, bytes, batches);
      CommFigure events = chain.by_events();
      events.remark = chain.parts();
      figures.push_back(events);
      for (CommFigure f : {chain.by_synchronisation(), chain.in_graph(), chain.with_our_all_gather()}) {
        if (f.median > 0) f.remark = over(f, events);
        figures.push_back(f);
      }
    }
  if (figures.empty()) figures.push_back(takes_two_devices("events"));
  return figures;
}

}  // namespace sordino::cuda
