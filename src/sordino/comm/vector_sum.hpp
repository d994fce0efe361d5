// The all-reduce of a long vector: every rank adds one segment over all ranks, in their order, and everybody gathers the sums.
// So each word crosses each link twice, the bits are the same on all ranks and in every layout, and both halves are split-phase
// commands of a recorded program.
#pragma once
#include "sordino/comm/traffic.hpp"
#include "sordino/runtime/kernel_list.hpp"

namespace sordino {

/// y[i] = sum over ranks of their x[i], for the rows i of this rank's segment.
struct AddSegments {
  Foreign<const double, Access::ghost> x;
  Out y;
  i32 first, words;   // of the segment
  int before, after;  // ranks
  i32 ghosts;         // where the others' pieces lie, in the order of ranks
  SORDINO_HD void row(i32 i) {
    double sum = 0;
    for (int q = 0; q < before; q++) sum += x[ghosts + q * words + i - first];
    sum += x[i];
    for (int q = before; q < before + after; q++) sum += x[ghosts + q * words + i - first];
    y[i] = sum;
  }
  Cost cost() const { return {8.0 * words * (before + after + 1), 1.0 * words * (before + after)}; }
};

class VectorSum {
 public:
  /// Sums of `words` words. Collective.
  VectorSum(Rank& rank, i32 words, const std::string& name = "sum");
  VectorSum(const VectorSum&) = delete;

  Vec operand() const { return x_; }  // [words], this rank's own; push it with the command that writes it
  Vec result() const { return y_; }   // [words], on a replicated space: read it through a Whole field
  int operand_space() const { return parts_; }
  int result_space() const { return whole_; }
  /// Records the sum of the rank's segment: awaits the others' operands, and sends the result to all.
  void add(Rank& rank) const;

  using kernels = KernelList<Kernel<AddSegments>>;

 private:
  Exchange pieces_, segments_;
  int parts_ = -1, whole_ = -1;
  Vec x_, y_;
  AddSegments add_{};
  Split mine_;
};

}  // namespace sordino
