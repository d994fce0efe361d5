// Long vectors folded over ranks, as commands of a recorded program: a reduce-scatter leaves each rank its segment of the
// result, a reduce leaves all of it at a root. Both are split-phase: what lies between the push of the operand and fold() hides
// them.
#pragma once
#include "sordino/comm/folding.hpp"
#include "sordino/comm/traffic.hpp"
#include "sordino/runtime/kernel_list.hpp"

namespace sordino {

/// y[i] = x[i] of all ranks, folded in the order of ranks, for the rows i of a segment.
struct FoldSegments {
  Foreign<const double, Access::ghost> x;
  Out y;
  Fold by;
  i32 first, own;  // where the segment begins in y, and this rank's piece of it in x
  i32 words;       // of the segment
  int me, ranks;
  i32 ghosts;  // where the others' pieces lie, in the order of ranks
  SORDINO_HD double piece(int q, i32 i) const { return x[q == me ? own + i : ghosts + (q < me ? q : q - 1) * words + i]; }
  SORDINO_HD void row(i32 i) {
    double value = piece(0, i - first);
    for (int q = 1; q < ranks; q++) value = folded(by, value, piece(q, i - first));
    y[i] = value;
  }
  Cost cost() const { return {8.0 * words * ranks, 1.0 * words * (ranks - 1)}; }
};

/// Made by reduce_scatter() and reduce_to(). In a recording: run(F{operand()}, push(operand())), anything else, and fold(rank);
/// then any command may read result(). All ranks record all of it, those with an empty result too.
///
/// The bits depend on the number of ranks alone: they are folded one after the other, from rank 0. As with every message, the
/// next push must not come before all have folded; the recording is checked for that, and a Barrier is a cure.
class VectorFold {
 public:
  VectorFold(const VectorFold&) = delete;

  Vec operand() const { return x_; }  // this rank's own; push it with the command that writes it
  Vec result() const { return y_; }   // this rank's segment, perhaps of no rows
  int operand_space() const { return operands_; }
  int result_space() const { return results_; }
  /// Awaits the others' operands and folds the rank's segment. Epilogues as of Rank::run.
  template <class... E>
  Event fold(Rank& rank, E... epilogues) const {
    return rank.run_over(results_, fold_, epilogues...);
  }

  using kernels = KernelList<Kernel<FoldSegments>>;

 private:
  friend VectorFold reduce_scatter(Rank&, const std::vector<i32>&, Fold, const std::string&);
  friend VectorFold reduce_to(Rank&, i32, int, Fold, const std::string&);
  VectorFold(Rank& rank, Exchange pieces, i32 operand_words, RowRange segment, Fold by, const std::string& name);

  Exchange pieces_;
  int operands_ = -1, results_ = -1;
  Vec x_, y_;
  FoldSegments fold_{};
};

/// Operands of counts[0] + counts[1] + ... words on every rank; rank q's result is their segment q, of counts[q] words, any
/// number of them. Collective; throws bad_argument if ranks have different counts. Cost: a rank sends its operand but its own
/// segment, one message to every other rank, and reads counts[me] * ranks words.
VectorFold reduce_scatter(Rank& rank, const std::vector<i32>& counts, Fold by = Fold::sum,
                          const std::string& name = "reduce-scatter");

/// Operands of `words` words on every rank; the root's result is all of them, folded, and the others' has no rows. Collective;
/// throws bad_argument if ranks have different numbers of words. Cost: one message of `words` words from each rank, all to the
/// root. Where that is much more than a latency, a reduce_scatter and a gather_at of its result bring the root two operands'
/// words instead of one from every rank.
VectorFold reduce_to(Rank& rank, i32 words, int root, Fold by = Fold::sum, const std::string& name = "reduce");

}  // namespace sordino
