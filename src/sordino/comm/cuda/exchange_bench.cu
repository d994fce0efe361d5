#include "sordino/comm/cuda/exchange_bench.hpp"

#include "sordino/base/error.hpp"
#include "sordino/runtime/cuda/call.hpp"
#include "sordino/runtime/cuda/team.cuh"

namespace sordino::cuda {
namespace {

constexpr int blocks = 528;

/// Word i of rank r's.
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

TeamOptions with_window(const CommPlan& plan, int lanes) {
  TeamOptions o = team_options(plan, lanes);
  // x, whole, and on the first what the others have
  o.window = std::size_t(ExchangeBench::largest) * std::size_t(lanes + 1) + (1 << 20);
  o.longest = 60;
  return o;
}

std::size_t bytes(i64 words) { return std::size_t(words) * sizeof(double); }

}  // namespace

const char* name_of(Path p) { return p == Path::set ? "set" : p == Path::copy ? "copy" : "peer"; }

ExchangeBench::ExchangeBench(const CommPlan& plan, const RankRange& mine, int ranks)
    : team(with_window(plan, mine.size())),
      lanes(team, 60),
      first_(mine.first),
      ranks_(ranks),
      host_(std::size_t(largest) * std::size_t(mine.size())),
      all_sum_(make_all_sum(team)) {
  x_ = team.array<double>(largest / 8);
  whole_ = team.array<double>(largest / 8);
  others_ = team.array<double>(largest / 8 * (team.size() - 1));
  wrong_ = team.array<u32>(1);
  for (int r = 0; r < team.size(); r++) lanes.launch(r, blocks, fill, x(r), first_ + r, largest / 8);
  lanes.wait();
}

void ExchangeBench::set_bytes(i64 bytes) {
  part_ = bytes / 8 / ranks_;
  words_ = part_ * ranks_;
}

// --- rounds ------------------------------------------------------------------------------------------------------------------

void ExchangeBench::to_host(int lane, i64 first, const double* from, i64 n) {
  call("cudaMemcpyAsync", cudaMemcpyAsync(on_host(first), from, bytes(n), cudaMemcpyDeviceToHost, lanes[lane]));
}

void ExchangeBench::from_host(int lane, double* to, i64 first, i64 n) {
  call("cudaMemcpyAsync", cudaMemcpyAsync(to, on_host(first), bytes(n), cudaMemcpyHostToDevice, lanes[lane]));
}

void ExchangeBench::transfer(Path path, int lane, int to_lane, double* to, int from_lane, const double* from, i64 n) {
  if (path == Path::peer)
    call("cudaMemcpyPeerAsync",
         cudaMemcpyPeerAsync(to, lanes.device(to_lane), from, lanes.device(from_lane), bytes(n), lanes[lane]));
  else
    call("cudaMemcpyAsync", cudaMemcpyAsync(to, from, bytes(n), cudaMemcpyDefault, lanes[lane]));
}

void ExchangeBench::pair(Path path) {
  if (path == Path::set) {
    to_host(0, 0, x(0), words_);
    lanes.follow(1, 0);
    from_host(1, whole(1), 0, words_);
  } else {
    transfer(path, 0, 1, whole(1), 0, x(0), words_);
  }
  lanes.join();
}

void ExchangeBench::first_to_others(Path path) {
  for (int r = 1; r < team.size(); r++) {
    lanes.follow(r, 0);
    transfer(path, r, r, whole(r), 0, whole(0), words_);
  }
  lanes.join();
}

void ExchangeBench::host_to_all(Path path) {
  for (int r = 0; r < (path == Path::set ? team.size() : 1); r++) from_host(r, whole(r), 0, words_);
  if (path == Path::set) return lanes.join();
  first_to_others(path);
}

void ExchangeBench::gather(Path path) {
  const int n = team.size();
  if (path == Path::set) {
    pieces_to_host();
    lanes.join();
    return host_to_all(path);
  }
  for (int k = 1; k < n; k++)  // no GPU is sent to by two at once
    for (int r = 0; r < n; r++) {
      int to = (r + k) % n;
      transfer(path, r, to, whole(to) + piece_of(r), r, whole(r) + piece_of(r), part_);
    }
  lanes.join();
}

void ExchangeBench::pieces_to_host() {
  for (int r = 0; r < team.size(); r++) to_host(r, piece_of(r), whole(r) + piece_of(r), part_);
}

void ExchangeBench::pieces_to_first(Path path) {
  for (int r = 1; r < team.size(); r++) {
    transfer(path, r, 0, whole(0) + piece_of(r), r, whole(r) + piece_of(r), part_);
    lanes.follow(0, r);
  }
}

void ExchangeBench::sum_on_first(Path path) {
  const int n = team.size();
  for (int r = 1; r < n; r++) {
    double* place = others() + (r - 1) * words_;
    if (path == Path::set)
      to_host(r, r * words_, x(r), words_);
    else
      transfer(path, r, 0, place, r, x(r), words_);
    lanes.follow(0, r);
    if (path == Path::set) from_host(0, place, r * words_, words_);
  }
  lanes.launch(0, blocks, add, whole(0), x(0), others(), words_, n);
}

void ExchangeBench::first_to_host() { to_host(0, 0, whole(0), words_); }

void ExchangeBench::sum(Path path, bool through_host) {
  sum_on_first(path);
  if (!through_host) return first_to_others(path);
  first_to_host();
  if (path == Path::set)
    for (int r = 1; r < team.size(); r++) lanes.follow(r, 0);
  host_to_all(path);
}

// --- rounds of ours ----------------------------------------------------------------------------------------------------------

void ExchangeBench::our_host_to_all(TeamRank& rank) const {
  i64 first = rank.id() * share();
  call("cudaMemcpyAsync",
       cudaMemcpyAsync(whole(rank.id()) + first, on_host(first), bytes(share()), cudaMemcpyHostToDevice, rank.stream()));
  our_gather(rank);
}

void ExchangeBench::our_sum_to_host(TeamRank& rank) const {
  i64 first = rank.id() * share();
  add_pieces(rank, all_sum_, x_, whole_, share());
  call("cudaMemcpyAsync",
       cudaMemcpyAsync(on_host(first), whole(rank.id()) + first, bytes(share()), cudaMemcpyDeviceToHost, rank.stream()));
}

void ExchangeBench::our_piece_to_host(TeamRank& rank) const {
  i64 first = piece_of(rank.id());
  call("cudaMemcpyAsync",
       cudaMemcpyAsync(on_host(first), whole(rank.id()) + first, bytes(part_), cudaMemcpyDeviceToHost, rank.stream()));
}

// --- checking ----------------------------------------------------------------------------------------------------------------

void ExchangeBench::clear(const Expected& wanted) {
  for (int r = 0; r < team.size(); r++) {
    OnDevice on(lanes.device(r));
    call("cudaMemsetAsync", cudaMemsetAsync(whole(r), 255, bytes(words_), lanes[r]));  // NaNs
    call("cudaMemsetAsync", cudaMemsetAsync(team.on(r).mine(wrong_), 0, sizeof(u32), lanes[r]));
    if (wanted.pieces) lanes.launch(r, blocks, fill, whole(r) + piece_of(r), first_ + r, part_);
  }
  lanes.wait();
  for (i64 i = 0; wanted.from_host && i < words_; i++) *on_host(i) = number(0, i);
}

void ExchangeBench::check(const Expected& wanted, const std::string& way) {
  for (int r = wanted.only_last ? team.size() - 1 : 0; r < team.size(); r++) {
    Wanted of_word{wanted.pieces ? part_ : words_, ranks_, wanted.sum};
    lanes.launch(r, blocks, compare, whole(r), words_, of_word, team.on(r).mine(wrong_));
    lanes.wait();
    u32 wrong = 0;
    team.read(r, wrong_, &wrong, 1);
    if (wrong)
      throw Error(Errc::device, way + ": left " + std::to_string(wrong) + " wrong words of " + std::to_string(words_) +
                                    " on rank " + std::to_string(first_ + r));
  }
}

}  // namespace sordino::cuda
