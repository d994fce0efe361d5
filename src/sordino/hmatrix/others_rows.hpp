// Rows of a result that ranks compute for one another, and that their owners add up.
#pragma once
#include <vector>

#include "sordino/hmatrix/product.hpp"
#include "sordino/hmatrix/row_set.hpp"
#include "sordino/linalg/partition.hpp"
#include "sordino/runtime/rank.hpp"

namespace sordino::hmatrix {

/// Rows of y are what this rank has computed of them, and other ranks, lower ones first.
struct AddOthers {
  static constexpr const char* name = "Add others' rows";
  const i32* begin;   // [own rows + 1] where each row's begin in the next one
  const i32* places;  // rows of `others`
  i32 first, words;   // row of y where own rows begin; words of a row
  i64 rows, count;    // that are own, and of places
  Foreign<const double, Access::read> mine;
  Foreign<const double, Access::ghost> others;
  Out y;

  SORDINO_HD void row(i32 i) const {
    const i32 own = i / words - first, word = i % words;
    double sum = mine[own * words + word];
    for (i32 k = begin[own]; k < begin[own + 1]; k++) sum += others[places[k] * words + word];
    y[i] = sum;
  }
  Cost cost() const {
    const double added = double(count);
    return {8.0 * words * (double(rows) + added) + 4 * (double(rows) + added), words * added};
  }
};

using OthersKernels = KernelList<Kernel<AddOthers>>;

class OthersRows {
 public:
  /// Collective. `rows` are those of the partition that this rank computes for others, one at least; `first`: the row of
  /// results where own ones begin. Cost: an all-gather of how many they are, and a message to each owner, once.
  OthersRows(Rank& rank, const Partition& partition, const RowSet& rows, i32 first, int words);
  /// For the next product: this rank's rows, in their order, of which it pushes what it has computed. Two vectors take turns,
  /// so that a product need not know whether all neighbours have read what the last one brought.
  Vec next() const { return vectors_[turn_++ % 2]; }
  /// Own rows, from 0 on, as this rank computes them. A gathered result must not be written before it is sent.
  Vec mine() const { return mine_; }
  /// Records y = mine + what the others have pushed. 20 bytes a row of y and 12 a row that is added, of complex ones 36 and 20.
  void record_sum(Rank& rank, Vec others, Vec y) const;
  i64 bytes() const { return memory_.bytes(); }

 private:
  EngineMemory memory_;
  AddOthers add_ = {};
  Exchange exchange_;
  Split own_;
  Vec vectors_[2], mine_;
  mutable unsigned turn_ = 0;  // of products that are recorded
};

}  // namespace sordino::hmatrix
