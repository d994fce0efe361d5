// A lower triangular factor, ready to be solved with: values of its blocks, with inverted triangles.
#pragma once
#include <functional>

#include "sordino/base/large_array.hpp"
#include "sordino/trsv/blocks.hpp"
#include "sordino/trsv/values.hpp"

namespace sordino::trsv {

/// A lower triangle by columns that somebody else owns. `unit`: its diagonal is 1, whatever is stored there. An upper triangle
/// is a lower one by rows: it is given transposed, and solved with transposed.
template <class V>
struct TriangleView {
  LowerPattern pattern;
  const V* values = nullptr;  // [entries]
  bool unit = false;
};

/// Throws bad_argument with one sentence where the arrays are no lower triangle: an entry above the diagonal, a row out of
/// range, one that stands twice in its column, no pivot, a pivot that is zero or has no finite reciprocal, NaN or Inf. Rows and
/// columns are named as the caller counts them, from 0. Returns whether its pattern is sorted (LowerPattern::sorted), whatever
/// the caller says of it. By so many threads; 0: as many as there are cores.
template <class V>
bool validate(const TriangleView<V>& L, int threads = 1);
/// The same triangle, whose pattern says whether it is sorted.
template <class V>
TriangleView<V> validated(TriangleView<V> L, int threads = 1) {
  L.pattern.sorted = validate(L, threads);
  return L;
}

/// A number that no other pattern is likely to have.
u64 print_of(const LowerPattern& pattern, int threads = 1);

struct FactorOptions {
  Amalgamation merging = {};
  i32 width = 256;                                          // most columns of a block, whose triangle is inverted
  int threads = 0;                                          // of the setup
  i64 part_values = most_of_strip;                          // of a partial sum of the way back (blocks.hpp)
  const Supernodes* nodes = nullptr;                        // of this pattern, found before: they are checked instead of found
  const Elimination* elimination = nullptr;                 // of this pattern, where somebody has it; else nodes are found anew
  u64 print = 0;                                            // print_of() this pattern, where somebody has it
  bool is_valid = false;                                    // validate() has been called, and has set LowerPattern::sorted
  std::function<i32(const Supernodes&)> choose_width = {};  // instead of `width`
};

/// Memory: the values, 8 B an entry of a double, with the zeros of supernodes; and 4 B a row of each.
template <class V>
class Factor {
 public:
  /// Cost: the entries once, and width / 2 multiplications for each.
  explicit Factor(const TriangleView<V>& L, const FactorOptions& options = {});
  /// New values of the same pattern; nothing is allocated that was there before. What is refused leaves the old ones.
  void update(const TriangleView<V>& L);
  /// Throws what update() would refuse, and changes nothing.
  void check_update(const TriangleView<V>& L) const;

  const Blocks& blocks() const { return blocks_; }
  /// Strip k of block b: row i of column j is [j * lead + i].
  const V* strip(const Block& b, i32 k) const { return values_.data() + blocks_.strips[std::size_t(b.strip + k)]; }
  const V* values() const { return values_.data(); }
  double symbolic_seconds() const { return symbolic_seconds_; }  // of finding or checking supernodes, and of cutting blocks
  bool is_unit() const { return unit_; }
  /// By how much more roundings the inverses leave than substitution where entries of x are alike: the largest, of all blocks
  /// [D; L], of |D; L| |D^-1| |D| 1 over |D; L| 1, row by row, and of |D^T| |D^-T| |D; L|^T 1 over |D; L|^T 1. A small pivot
  /// beside small entries alone does not make it large, one beside large entries of both its row and its column does. No bound:
  /// where x is small a large entry of a row hides nothing, but does so here (trial_of looks for such).
  double growth() const { return growth_; }
  i64 bytes() const { return i64(values_.size() * sizeof(V)); }

 private:
  class Filling;
  void fill(const TriangleView<V>& L);

  Blocks blocks_;
  LargeArray<V> values_;
  std::vector<i32> place_;  // [n] of a column of the triangle among those of the blocks
  u64 print_ = 0;           // of the pattern
  double symbolic_seconds_ = 0, growth_ = 1;
  bool unit_ = false;
  int threads_ = 0;
};

}  // namespace sordino::trsv
