// GPUs of this process with a vector each, or a piece of one, and the ways in which they exchange them: the rounds that
// exchange_paths.cu and exchange_processes.cu time. Numbers are whole, so that sums are exact in any order.
#pragma once
#include <string>

#include "sordino/comm/cuda/all_sum.hpp"
#include "sordino/comm/cuda/figures.hpp"
#include "sordino/comm/cuda/lanes.hpp"
#include "sordino/comm/cuda/pinned.hpp"
#include "sordino/runtime/engine.hpp"

namespace sordino::cuda {

/// A transfer from one GPU to another by
///
///   set    is a copy into pinned host memory, and one from there to the other GPU (cublasGetVector, cublasSetVectorAsync);
///   copy   is cudaMemcpyAsync, with peer access on, and with it off: in the paper such copies went through the host;
///   peer   is cudaMemcpyPeerAsync.
enum class Path { set, copy, peer };
const char* name_of(Path path);

/// What a round has to leave on the GPUs.
struct Expected {
  bool pieces = false;     // every rank's own piece is there before, and all pieces come to all
  bool sum = false;        // the sum of all ranks' vectors
  bool only_last = false;  // on the last GPU, rather than on all
  bool from_host = false;  // rank 0's vector, which is in host memory before
};

/// A kind of exchange.
struct What {
  const char* name;
  Expected expected;
};

class ExchangeBench {
 public:
  static constexpr i64 largest = 64 << 20;  // bytes of a vector

  /// Ranks mine.first and so on of `ranks` are this process's.
  ExchangeBench(const CommPlan& plan, const RankRange& mine, int ranks);

  /// Of the whole vector, about: all pieces are alike.
  void set_bytes(i64 bytes);
  i64 part() const { return part_; }                  // words of a rank's piece of the vector
  i64 share() const { return words_ / team.size(); }  // words of the vector, dealt to the GPUs of this process
  i64 words() const { return words_; }
  double* on_host(i64 first = 0) const { return static_cast<double*>(host_.bytes) + first; }
  double* whole(int lane) const { return team.on(lane).mine(whole_); }
  /// The first of the pieces of this process, in words.
  i64 own_pieces() const { return first_ * part_; }

  // --- rounds, issued by one thread; each begins, on every GPU, when the one before has ended everywhere
  void pair(Path path);
  void host_to_all(Path path);
  void first_to_others(Path path);
  void gather(Path path);
  /// The sum of this process's vectors, on its first GPU.
  void sum_on_first(Path path);
  /// From there to the host.
  void first_to_host();
  /// The sum to all; through the host or directly.
  void sum(Path path, bool through_host);
  /// This process's pieces to the host: each at its place in the vector.
  void pieces_to_host();
  /// This process's pieces to its first GPU, directly.
  void pieces_to_first(Path path);

  // --- rounds of ours, issued by a thread for each GPU
  void load(TeamRank& rank) const { load_all_sum(rank); }
  void our_host_to_all(TeamRank& rank) const;
  void our_gather(TeamRank& rank) const { all_gather(rank, all_sum_.gather, whole_, share()); }
  void our_sum(TeamRank& rank) const { all_sum(rank, all_sum_, x_, whole_, share()); }
  /// The sum of this process's vectors to the host, a share from each GPU.
  void our_sum_to_host(TeamRank& rank) const;
  void our_piece_to_host(TeamRank& rank) const;

  /// Nothing that an earlier way left, and what there is before a round.
  void clear(const Expected& wanted);
  /// Throws `device` for a wrong word.
  void check(const Expected& wanted, const std::string& way);

  Team team;  // its ranks are the lanes
  Lanes lanes;

 private:
  double* x(int lane) const { return team.on(lane).mine(x_); }
  double* others() const { return team.on(0).mine(others_); }
  i64 piece_of(int lane) const { return (first_ + lane) * part_; }
  void to_host(int lane, i64 first, const double* from, i64 n);
  void from_host(int lane, double* to, i64 first, i64 n);
  /// On the stream of `lane`, directly.
  void transfer(Path path, int lane, int to_lane, double* to, int from_lane, const double* from, i64 n);

  int first_, ranks_;
  i64 part_ = 0, words_ = 0;
  Pinned host_;
  AllSum all_sum_;
  Symmetric<double> x_, whole_, others_;
  Symmetric<u32> wrong_;
};

}  // namespace sordino::cuda
