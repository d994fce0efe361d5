// The exchange paths of the paper on HACApK (section VI, Figs. 12 to 15) beside ours. A transfer from one GPU to another by
//
//   set    is a copy into pinned host memory, and one from there to the other GPU (cublasGetVector, cublasSetVectorAsync);
//   copy   is cudaMemcpyAsync, with peer access on, and with it off: in the paper such copies went through the host;
//   peer   is cudaMemcpyPeerAsync.
//
// Of these are made: a pair's transfer; a host vector's way to all GPUs (set: one copy for each; copy, peer: to the first GPU,
// and from there to the others); the gathering of pieces on all GPUs; and the sum of the GPUs' vectors on all of them (gathered
// and added on the first GPU; then to the host, where MPI would take it over between processes, and from there to all). One
// host thread drives all GPUs, each transfer on a stream, ordered by events. Ours are kernels on all GPUs, from their own
// threads.
#include <algorithm>

#include "sordino/base/error.hpp"
#include "sordino/comm/cuda/all_sum.hpp"
#include "sordino/comm/cuda/figures.hpp"
#include "sordino/comm/cuda/lanes.hpp"
#include "sordino/comm/cuda/pinned.hpp"
#include "sordino/runtime/cuda/call.hpp"
#include "sordino/runtime/cuda/team.cuh"

namespace sordino::cuda {
namespace {

constexpr i64 smallest = 8 << 10, largest = 64 << 20;  // bytes of the whole vector

enum class Path { set, copy, peer };

/// Word i of rank r's: whole, so that sums are exact in any order.
SORDINO_HD double number(i64 r, i64 i) { return double((i * 31 + r * 977) & 1023); }

/// What word i of the result is: rank i / part's, or the sum of all ranks'.
struct Wanted {
  i64 part;
  int ranks;
  bool sum;
  SORDINO_HD double operator()(i64 i) const {
    if (!sum) return number(i / part, i % part);
    double s = 0;
    for (int r = 0; r < ranks; r++) s += number(r, i);
    return s;
  }
};

__global__ void fill(double* x, int rank, i64 n) {
  for (i64 i = blockIdx.x * i64(blockDim.x) + threadIdx.x; i < n; i += i64(gridDim.x) * blockDim.x) x[i] = number(rank, i);
}
__global__ void compare(const double* x, i64 n, Wanted wanted, u32* wrong) {
  for (i64 i = blockIdx.x * i64(blockDim.x) + threadIdx.x; i < n; i += i64(gridDim.x) * blockDim.x)
    if (x[i] != wanted(i)) atomicAdd(wrong, 1u);
}
/// whole = x + the others' vectors, which lie one behind the other.
__global__ void add(double* whole, const double* x, const double* others, i64 n, int ranks) {
  for (i64 i = blockIdx.x * i64(blockDim.x) + threadIdx.x; i < n; i += i64(gridDim.x) * blockDim.x) {
    double sum = x[i];
    for (int r = 1; r < ranks; r++) sum += others[(r - 1) * n + i];
    whole[i] = sum;
  }
}
constexpr int blocks = 528;

TeamOptions with_window(const CommPlan& plan, int ranks) {
  TeamOptions o = team_options(plan, ranks);
  o.window = std::size_t(largest) * std::size_t(ranks + 1) + (1 << 20);  // x, whole, and on the first what the others have
  o.longest = 60;
  return o;
}

/// Ranks with a vector, or a piece of one, each, and what the paths need on the way.
class Bench {
 public:
  Bench(const CommPlan& plan, int ranks)
      : team(with_window(plan, ranks)), lanes(team, 60), host(std::size_t(largest) * std::size_t(ranks)) {
    all_sum_ = make_all_sum(team);
    x_ = team.array<double>(largest / 8);
    whole_ = team.array<double>(largest / 8);
    others_ = team.array<double>(largest / 8 * (ranks - 1));
    wrong_ = team.array<u32>(1);
    for (int r = 0; r < ranks; r++) lanes.launch(r, blocks, fill, x(r), r, largest / 8);
    lanes.wait();
  }

  void set_bytes(i64 bytes) {
    part = bytes / 8 / team.size();
    words = part * team.size();
  }
  double* x(int r) const { return team.on(r).mine(x_); }
  double* whole(int r) const { return team.on(r).mine(whole_); }
  double* others() const { return team.on(0).mine(others_); }
  double* on_host(i64 first = 0) const { return static_cast<double*>(host.bytes) + first; }
  static std::size_t bytes(i64 n) { return std::size_t(n) * 8; }

  void to_host(int rank, i64 first, const double* from, i64 n) {
    call("cudaMemcpyAsync", cudaMemcpyAsync(on_host(first), from, bytes(n), cudaMemcpyDeviceToHost, lanes[rank]));
  }
  void from_host(int rank, double* to, i64 first, i64 n) {
    call("cudaMemcpyAsync", cudaMemcpyAsync(to, on_host(first), bytes(n), cudaMemcpyHostToDevice, lanes[rank]));
  }
  /// On the stream of `lane`, directly.
  void transfer(Path path, int lane, int to_rank, double* to, int from_rank, const double* from, i64 n) {
    if (path == Path::peer)
      call("cudaMemcpyPeerAsync",
           cudaMemcpyPeerAsync(to, lanes.device(to_rank), from, lanes.device(from_rank), bytes(n), lanes[lane]));
    else
      call("cudaMemcpyAsync", cudaMemcpyAsync(to, from, bytes(n), cudaMemcpyDefault, lanes[lane]));
  }

  // --- rounds, issued by one thread
  void pair(Path path);
  void host_to_all(Path path);
  void first_to_others(Path path);
  void gather(Path path);
  void sum(Path path, bool through_host);

  // --- rounds of ours, issued by a thread for each rank
  void load(TeamRank& rank) const { load_all_sum(rank); }
  void our_host_to_all(TeamRank& rank) const {
    double* to = whole(rank.id()) + rank.id() * part;
    call("cudaMemcpyAsync", cudaMemcpyAsync(to, on_host(rank.id() * part), bytes(part), cudaMemcpyHostToDevice, rank.stream()));
    all_gather(rank, all_sum_.gather, whole_, part);
  }
  void our_gather(TeamRank& rank) const { all_gather(rank, all_sum_.gather, whole_, part); }
  void our_sum(TeamRank& rank) const { all_sum(rank, all_sum_, x_, whole_, part); }

  /// Nothing that an earlier way left; `pieces`: every rank's own piece is there.
  void clear(bool pieces);
  void check(const Wanted& wanted, bool only_last, const std::string& way);

  Team team;
  Lanes lanes;
  Pinned host;
  i64 part = 0, words = 0;  // of a rank, of all

 private:
  AllSum all_sum_;
  Symmetric<double> x_, whole_, others_;
  Symmetric<u32> wrong_;
};

void Bench::pair(Path path) {
  if (path == Path::set) {
    to_host(0, 0, x(0), words);
    lanes.follow(1, 0);
    from_host(1, whole(1), 0, words);
  } else {
    transfer(path, 0, 1, whole(1), 0, x(0), words);
  }
  lanes.join();
}

void Bench::first_to_others(Path path) {
  for (int r = 1; r < team.size(); r++) {
    lanes.follow(r, 0);
    transfer(path, r, r, whole(r), 0, whole(0), words);
  }
}

void Bench::host_to_all(Path path) {
  for (int r = 0; r < (path == Path::set ? team.size() : 1); r++) from_host(r, whole(r), 0, words);
  if (path != Path::set) first_to_others(path);
  lanes.join();
}

void Bench::gather(Path path) {
  const int ranks = team.size();
  if (path == Path::set) {
    for (int r = 0; r < ranks; r++) to_host(r, r * part, whole(r) + r * part, part);
    lanes.join();
    for (int r = 0; r < ranks; r++) from_host(r, whole(r), 0, words);
  } else {
    for (int k = 1; k < ranks; k++)  // no GPU is sent to by two at once
      for (int r = 0; r < ranks; r++) {
        int to = (r + k) % ranks;
        transfer(path, r, to, whole(to) + r * part, r, whole(r) + r * part, part);
      }
  }
  lanes.join();
}

void Bench::sum(Path path, bool through_host) {
  const int ranks = team.size();
  for (int r = 1; r < ranks; r++) {
    double* place = others() + (r - 1) * words;
    if (path == Path::set)
      to_host(r, r * words, x(r), words);
    else
      transfer(path, r, 0, place, r, x(r), words);
    lanes.follow(0, r);
    if (path == Path::set) from_host(0, place, r * words, words);
  }
  lanes.launch(0, blocks, add, whole(0), x(0), others(), words, ranks);
  if (!through_host) {
    first_to_others(path);
  } else {
    to_host(0, 0, whole(0), words);
    if (path == Path::set)
      for (int r = 1; r < ranks; r++) lanes.follow(r, 0);
    return host_to_all(path);
  }
  lanes.join();
}

void Bench::clear(bool pieces) {
  for (int r = 0; r < team.size(); r++) {
    OnDevice on(lanes.device(r));
    call("cudaMemsetAsync", cudaMemsetAsync(whole(r), 255, bytes(words), lanes[r]));  // NaNs
    call("cudaMemsetAsync", cudaMemsetAsync(team.on(r).mine(wrong_), 0, sizeof(u32), lanes[r]));
    if (pieces) lanes.launch(r, blocks, fill, whole(r) + r * part, r, part);
  }
  lanes.wait();
}

void Bench::check(const Wanted& wanted, bool only_last, const std::string& way) {
  for (int r = only_last ? team.size() - 1 : 0; r < team.size(); r++) {
    lanes.launch(r, blocks, compare, whole(r), words, wanted, team.on(r).mine(wrong_));
    lanes.wait();
    u32 wrong = 0;
    team.read(r, wrong_, &wrong, 1);
    if (wrong)
      throw Error(Errc::device, way + ": left " + std::to_string(wrong) + " wrong words of " + std::to_string(words) +
                                    " on rank " + std::to_string(r));
  }
}

// --- measuring ---------------------------------------------------------------------------------------------------------------

struct What {
  const char* remark;
  bool pieces, sum, pair, from_host;
};
constexpr What pairing{"pair", false, false, true, false};
constexpr What broadcast{"host vector to all", false, false, false, true};
constexpr What gathering{"pieces to all", true, false, false, false};
constexpr What summing{"sum to all; one process, so no MPI in it", false, true, false, false};

class Paths {
 public:
  Paths(const CommPlan& plan, int ranks, std::vector<CommFigure>& figures) : bench_(plan, ranks), figures_(figures) {
    if (plan.epochs > 0) batches_ = int(std::clamp<i64>(plan.epochs, 1, batches_));
  }

  void measure(i64 bytes) {
    begin(bytes);
    if (bench_.team.size() == 2)
      for (Path p : {Path::set, Path::copy, Path::peer}) by_host(pairing, name(p), [&, p] { bench_.pair(p); });
    for (Path p : {Path::set, Path::copy, Path::peer}) by_host(broadcast, name(p), [&, p] { bench_.host_to_all(p); });
    by_ranks(broadcast, "a piece for each GPU, and our all-gather", &Bench::our_host_to_all);
    for (Path p : {Path::set, Path::copy, Path::peer}) by_host(gathering, name(p), [&, p] { bench_.gather(p); });
    row(gathering, "copy, in a graph",
        [&] { return bench_.lanes.time_graph(batches_, rounds_, [&] { bench_.gather(Path::copy); }); });
    by_ranks(gathering, "our all-gather", &Bench::our_gather);
    by_host(summing, "set", [&] { bench_.sum(Path::set, true); });
    by_host(summing, "peer, through the host", [&] { bench_.sum(Path::peer, true); });
    by_host(summing, "peer, directly", [&] { bench_.sum(Path::peer, false); });
    by_ranks(summing, "our sum of pieces, and all-gather", &Bench::our_sum);
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
  static const char* name(Path p) { return p == Path::set ? "set" : p == Path::copy ? "copy" : "peer"; }
  void begin(i64 bytes) {
    bench_.set_bytes(bytes);
    rounds_ = int(std::clamp<i64>((8 << 20) / bytes, 2, 16));
  }

  /// `samples()` makes the rounds, and says how long they took.
  template <class Samples>
  void row(const What& what, const std::string& way, const Samples& samples) {
    const int ranks = bench_.team.size();
    bench_.clear(what.pieces);
    if (what.from_host)
      for (i64 i = 0; i < bench_.words; i++) *bench_.on_host(i) = number(0, i);
    CommFigure f{.what = "exchange-paths", .way = way, .ranks = ranks, .bytes = bench_.words * 8, .remark = what.remark};
    if (!add_if_supported(f, samples)) return figures_.push_back(f);
    bench_.check({what.pieces ? bench_.part : bench_.words, ranks, what.sum}, what.pair, way + ", " + what.remark);
    f.bandwidth = double(f.bytes) / f.median;  // of the whole vector, as in the paper
    figures_.push_back(f);
  }
  template <class Issue>
  void by_host(const What& what, const std::string& way, const Issue& issue) {
    row(what, way, [&] { return bench_.lanes.time(batches_, rounds_, issue); });
  }
  void by_ranks(const What& what, const std::string& way, void (Bench::*issue)(TeamRank&) const) {
    row(what, way, [&] {
      BatchTimer timer(bench_.team.size(), batches_, rounds_);
      bench_.team.run([&](TeamRank& rank) {
        bench_.load(rank);
        timer.run(rank, [&] { (bench_.*issue)(rank); });
      });
      return timer.slowest();
    });
  }

  Bench bench_;
  std::vector<CommFigure>& figures_;
  int batches_ = 7, rounds_ = 1;
};

}  // namespace

std::vector<CommFigure> time_exchange_paths(const CommPlan& plan) {
  std::vector<CommFigure> figures;
  for (int ranks : possible_ranks(plan, 2)) {
    Paths paths(plan, ranks, figures);
    for (i64 bytes = smallest; bytes <= largest; bytes *= 2) paths.measure(bytes);
    paths.measure_without_peers();
  }
  if (figures.empty()) figures.push_back(takes_two_devices("exchange-paths"));
  return figures;
}

}  // namespace sordino::cuda
