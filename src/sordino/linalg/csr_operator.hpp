// A sparse matrix distributed by contiguous rows; the halo arrives while interior rows are multiplied.
#pragma once
#include <functional>
#include <memory>

#include "sordino/linalg/diagonals.hpp"
#include "sordino/linalg/halo.hpp"
#include "sordino/linalg/made_rows.hpp"
#include "sordino/linalg/operator.hpp"

namespace sordino {

/// Where this rank's slice of a matrix begins and ends, in rows of the whole and entries of the view.
struct CsrSlice {
  i64 first_row = 0, rows = 0;
  i64 first_entry = 0, entries = 0;
};

class CsrOperator final : public Operator {
 public:
  /// Collective. `A` holds this rank's rows at least. On the host engine the values of `A` are viewed, not copied: keep them
  /// alive until update_values(). Memory: 4 B a nonzero on the host (renumbered columns), 12 B on a device, 20 B of a complex
  /// one. With `diagonals`, those of A, the values are copied into them on every engine: 8 B for each row of each diagonal, or,
  /// if they are constant, a byte a row and a table of 2 KB a diagonal; then all arrays of `A` are viewed. Where rows are in
  /// another order than diagonals, there are runs of them besides (row_runs.hpp).
  /// Synchronizes all ranks once.
  CsrOperator(Rank& rank, const CsrView& A, const Partition& partition, const Diagonals& diagonals = {});
  /// The same on another operator's space of that partition: a preconditioner.
  CsrOperator(Rank& rank, const CsrView& A, const Partition& partition, int space, const Diagonals& diagonals = {});
  /// Of a matrix that is made by diagonals, which update_values(rank, nullptr) fills again. Memory: 8 B for each row of each.
  CsrOperator(Rank& rank, const MadeRows& A, const Partition& partition);
  /// The same matrix, a real one, on replicated vectors: each rank multiplies its rows, and all ranks gather the result (000,
  /// section VI).
  static std::unique_ptr<CsrOperator> gathered(Rank& rank, const CsrView& A, const Partition& partition,
                                               const Diagonals& diagonals = {});
  ~CsrOperator() override;

  void apply(Rank& rank, Vec x, Vec y, const StartDots& epilogue = {}) const override;
  void apply_pair(Rank& rank, Vec x0, Vec y0, Vec x1, Vec y1) const override;
  int space() const override { return space_; }  // of words: two for each row of a complex matrix
  Vec operand(Rank& rank, const char* name) const override {
    return rank.vector(name, space_, gathers_ ? nullptr : &exchange_);
  }
  Vec result(Rank& rank, const char* name) const override { return rank.vector(name, space_, gathers_ ? &exchange_ : nullptr); }
  /// New values for the same pattern, [nnz][words] of the view. No communication, no allocation.
  void update_values(Rank& rank, const double* values);
  const CsrSlice& slice() const { return slice_; }
  /// What it holds itself: on a device in its memory, else row pointers and renumbered columns or, by diagonals, the values.
  i64 bytes() const;
  /// The same of rows that nobody has stored yet.
  static i64 bytes_of(const CsrView& A, const CsrSlice& slice, bool device, bool renumbers, const Diagonals& diagonals = {});
  /// The columns outside of a slice that its rows touch, increasing: its ghosts.
  static std::vector<i64> foreign_columns(const CsrView& A, const CsrSlice& slice, const Diagonals& diagonals = {});

  // --- for matrices between two spaces (csr_map.hpp) -----------------------------------------------------------------------
  struct Layout;  // how the slice is stored: by rows, sliced or not, or by diagonals
  /// Of these columns those outside [begin, end), increasing.
  static std::vector<i64> columns_outside_of(const i32* columns, i64 count, i64 begin, i64 end);
  /// Columns as storage rows: own ones, [begin, end), first, ghosts behind.
  static std::vector<i32> renumbered(const i32* columns, i64 count, i64 begin, i64 end, const std::vector<i64>& ghosts);
  /// Tiles of rows, numbered from `first_row` in the matrix, in which none needs ghosts, and the others.
  static Split interior_and_boundary(const Space& space, i64 first_row, int words,
                                     const std::function<bool(i64 row)>& needs_ghosts);
  /// Tiles of which no row of the space is outside of [low, high), and the others.
  static Split split_at(const Space& space, i64 low, i64 high);

 private:
  CsrOperator() = default;
  void take_slice(const CsrView& A, const Partition& partition, int rank);
  static std::vector<i32> renumbered(const CsrView& A, const CsrSlice& slice, const std::vector<i64>& ghosts) {
    return renumbered(A.indices + slice.first_entry, slice.entries, slice.first_row, slice.first_row + slice.rows, ghosts);
  }
  void find_halo(Rank& rank, const Partition& partition, const std::vector<i64>& ghosts);
  Split split_in_order(const Space& space, const Diagonals& diagonals, i64 n) const;
  void store(Rank& rank, const CsrView& A, const std::vector<i64>& ghosts, i32 first, const Diagonals& diagonals);

  int space_ = -1;
  int words_ = 1;
  CsrSlice slice_;
  Exchange exchange_;
  Split split_;
  bool gathers_ = false;
  std::unique_ptr<Layout> layout_;
};

}  // namespace sordino
