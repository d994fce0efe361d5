// The all-reduce of a long vector: every rank adds one segment over all ranks, in their order, and everybody gathers the sums.
// So each word crosses each link twice, the bits are the same on all ranks and in every layout, and both halves are split-phase
// commands of a recorded program.
#pragma once
#include "sordino/comm/vector_fold.hpp"

namespace sordino {

class VectorSum {
 public:
  /// Sums of `words` words, or what else they are folded by. Collective.
  VectorSum(Rank& rank, i32 words, const std::string& name = "sum", Fold by = Fold::sum);
  VectorSum(const VectorSum&) = delete;

  Vec operand() const { return x_; }  // [words], this rank's own; push it with the command that writes it
  Vec result() const { return y_; }   // [words], on a replicated space: read it through a Whole field
  int operand_space() const { return parts_; }
  int result_space() const { return whole_; }
  /// Records the sum of the rank's segment: awaits the others' operands, and sends the result to all.
  void add(Rank& rank) const;

  using kernels = KernelList<Kernel<FoldSegments>>;

 private:
  Exchange pieces_, segments_;
  int parts_ = -1, whole_ = -1;
  Vec x_, y_;
  FoldSegments add_{};
  Split mine_;
};

}  // namespace sordino
