// One rank of paper 004's Algorithm 1, as corrected: its memory, and the steps of its kernels SOLVE and WAIT. Who calls them,
// and what carries its messages, decides what time it is: threads of the host (paper_solve.hpp) or a virtual clock
// (paper_clock.hpp).
//
// Comments name the lines of the listing. 004-E1, the order of launches, is the callers' part, as is 004-E11, the
// order in which block columns begin.
#pragma once
#include <atomic>
#include <functional>
#include <memory>

#include "sordino/trsv/paper_factor.hpp"

namespace sordino::trsv::paper {

/// x(K), or a sum for slot 2 I + c, on its way.
template <class V>
struct Message {
  bool is_sum = false;
  i32 to = 0;               // rank
  i32 index = 0;            // K, or the slot
  const V* data = nullptr;  // of the sender; it does not change until the next solve
  i32 count = 0;
};
template <class V>
using Post = std::function<void(const Message<V>&)>;

/// Its vectors hold NaN where nobody has written. Steps of one rank may be called from several threads, as the algorithm
/// allows. Memory: x, sums and two slots for sums, of all rows.
template <class V>
class Rank {
 public:
  /// Factor and layout must outlive it.
  Rank(const Factor<V>& factor, const Layout& layout, i32 rank);

  const Part& part() const { return part_; }
  /// Before a solve: counters, flags and sums are as at the beginning (004-E9). No message may be on its way.
  void reset();

  /// Whether SOLVE can go on with block column K: all sums of its row are there, or x(K) has come.
  bool may_begin(i32 K) const {
    return (owns(K) ? fmod_ : flag_x_)[std::size_t(K)].load(std::memory_order_acquire) == (owns(K) ? 0 : 1);
  }
  /// Computes x(K), if the diagonal block is here, and sends it on. b [n] in the caller's order.
  void begin(i32 K, const V* b, const Post<V>& post);
  /// lsum(I) += L(I, K) x(K) for block e of block column K. `product` is memory of the calling thread.
  void multiply(i32 K, i64 e, std::vector<V>& product, const Post<V>& post);

  /// What a message does at its receiver: the data, then the flag.
  void deliver(const Message<V>& message);
  bool has_come(i32 slot) const { return flag_sum_[std::size_t(slot)].load(std::memory_order_acquire) == 1; }
  bool x_has_come(i32 K) const { return flag_x_[std::size_t(K)].load(std::memory_order_acquire) == 1; }
  /// WAIT adds the sum that has come into the slot.
  void receive_sum(i32 slot, const Post<V>& post);
  /// Parts of receive_sum, for tests of what the listing has in its place.
  void add_slot(i32 slot, i32 I);
  void count_down(i32 I, const Post<V>& post);

  /// [width of K], on the rank that owns L(K, K)
  const V* x(i32 K) const { return x_.data() + first(K); }

 private:
  bool owns(i32 K) const { return layout_.grid.owner(K, K) == rank_; }
  i64 first(i32 K) const { return pattern_.column[std::size_t(K)]; }
  void substitute(i32 K);

  const Factor<V>& factor_;
  const Pattern& pattern_;
  const Layout& layout_;
  const Part& part_;
  i32 rank_;
  std::vector<V> x_, sums_, slots_;                               // ready_x, lsum [n]; ready_lsum [2 n]
  std::unique_ptr<std::atomic<i32>[]> fmod_, flag_x_, flag_sum_;  // [count], [count], [2 count]
};

}  // namespace sordino::trsv::paper
