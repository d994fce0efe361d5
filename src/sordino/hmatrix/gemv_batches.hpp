// How the paper multiplies an H-matrix (000, section V-B): block by block, in batches of products with single blocks. Which
// products there are, in which order, and which of them are launched together; knows no device. Our own way is panels.hpp.
#pragma once
#include <array>
#include <span>
#include <vector>

#include "sordino/hmatrix/hmatrix.hpp"

namespace sordino::hmatrix {

/// The three products of Fig. 6(a): y := y + B x of a dense block, t := V x and y := y + U t of one of low rank.
enum class Factor : i32 { dense, v, u };

/// One of them. Values lie [rows][columns]; those of U [columns][rows], so that one of its columns follows the other, as in
/// HACApK. Vectors are places in one array: x, behind it t of all blocks, behind it y.
struct Gemv {
  i64 values;    // where they begin
  i64 from, to;  // the first place of the operand and of the result
  i32 rows, columns;
  i32 leaf;  // of the matrix
  Factor factor;
};

/// Fig. 7: as the leaves are stored; (a) by ascending rows; (b) in groups of 8 rows, [8k + 1, 8k + 8], within a group by
/// ascending columns. What is equal keeps the leaves' order.
enum class GemvOrder { stored, by_rows, by_groups };
/// Instead of a count: batches of gemvs that have the same rows and columns.
inline constexpr i64 of_one_size = -1;
/// In words, in the order of the enumerators.
inline constexpr std::array<const char*, 3> gemv_order_names{"none", "rows", "groups"};

/// Gemvs [begin, end) of a phase, launched together, and the most rows and columns that one of them has.
struct GemvBatch {
  i64 begin, end;
  i32 rows, columns;
};

struct GemvPhase {
  std::vector<Gemv> gemvs;
  std::vector<GemvBatch> batches;
};

struct GemvOptions {
  GemvOrder order = GemvOrder::stored;
  /// Gemvs of a batch; 0: those whose rows are in a range, (0, 8], (8, 32], (32, 64], (64, 96] and so on by 32. Ranges take an
  /// order by rows or by groups: else bad_argument. of_one_size: by ascending rows, and columns, whatever the order.
  i64 count = 0;
  /// All gemvs of a batch get its most rows and columns, filled up with zeros.
  bool padded = false;
};

/// Memory: 40 B a gemv, one for each dense leaf and two for each of low rank. Leaves of rank 0 have none.
struct GemvBatches {
  GemvBatches(const HMatrix& matrix, const GemvOptions& options);
  /// Of these leaves alone, by their numbers, which ascend. Vectors are x and y of the whole matrix, and t of the leaves.
  GemvBatches(const HMatrix& matrix, const GemvOptions& options, std::span<const i32> leaves);

  std::array<GemvPhase, 2> phases;  // dense blocks and V; then U, which needs all of t
  i64 values = 0;                   // numbers to be stored. Without padding their places depend on the leaves alone
  /// Places in the array of vectors. What padding multiplies with zeros beyond the end of an operand is the next one's, and
  /// must be finite; behind y there is room for the zeros that padding adds.
  i64 terms = 0, result = 0, places = 0;

 private:
  void collect(const HMatrix& matrix, std::span<const i32> leaves);
  void pad();
  void place(const HMatrix& matrix);
  std::vector<i64> term_;  // [leaves] the first place in t
  i64 terms_count_ = 0;
};

/// How the paper shares a product among the GPUs of a process (section VI-A): [devices] the leaves of each, ascending. Batches
/// of the first phase are dealt out in turn; U of a leaf is multiplied where its V is, so that t stays there. GemvBatches of a
/// device's leaves with the same options has the device's batches of the first phase, and cuts those of the second anew.
std::vector<std::vector<i32>> deal(const HMatrix& matrix, const GemvOptions& options, int devices);

/// The values of a gemv as they lie; zeros beyond the leaf's own rows and columns.
void copy_values(const Leaf& leaf, const Gemv& gemv, double* to);

}  // namespace sordino::hmatrix
