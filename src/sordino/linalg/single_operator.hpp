// A sparse matrix in single or half precision for vectors of single precision, distributed by rows as CsrOperator's are.
//
// Vectors hold two rows in a word of 8 bytes, so everything that moves words, halos included, moves half as many. Words are
// those of a space of their own: a rank's last one holds a single row where its rows are odd in number, and 0 beside it.
#pragma once
#include <memory>
#include <vector>

#include "sordino/base/singles.hpp"
#include "sordino/linalg/csr_operator.hpp"
#include "sordino/linalg/single_rows.hpp"

namespace sordino {

/// The words of so many rows.
inline i32 words_for(i64 rows) { return i32((rows + 1) / 2); }
/// Who owns which words of vectors of these rows.
Partition in_pairs(const Partition& rows);
/// 2^-exponent times each of a rank's rows, in words.
std::vector<double> packed(const double* rows, i64 count, int exponent = 0);

/// Where a rank's rows, and those of others that it is sent, lie in a vector of words.
class PairedPlaces {
 public:
  /// `rows` is to outlive it; `ghosts`: rows of others, increasing.
  PairedPlaces(const Partition& rows, int rank, const std::vector<i64>& ghosts);
  const Partition& words() const { return words_; }
  const std::vector<i64>& ghosts() const { return ghosts_; }  // words of others, increasing
  i64 of(i64 row) const;                                      // of one's own, or of a ghost, counted in rows of storage
  i64 last() const;                                           // place of storage, likewise

 private:
  i64 word_of_row(i64 row) const;

  const Partition& rows_;
  Partition words_;
  int rank_;
  std::vector<i64> ghosts_;
};

class SingleOperator final : public Operator {
 public:
  /// Collective. 2^-exponent A, real, in `precision` single or half, by diagonals where there are such that its rows are in the
  /// order of, else by rows. Values are copied; the arrays of A must outlive this. Entries beyond what the precision holds
  /// vanish, or are the largest; halves are scaled by the largest one of the rank, so that only their ratio counts.
  SingleOperator(Rank& rank, const CsrView& A, const Partition& partition, const Diagonals& diagonals, CyclePrecision precision,
                 int exponent);
  ~SingleOperator() override;
  SingleOperator(const SingleOperator&) = delete;

  /// Takes no dot products.
  void apply(Rank& rank, Vec x, Vec y, const StartDots& epilogue = {}) const override;
  int space() const override { return space_; }
  bool is_single() const override { return true; }
  Vec operand(Rank& rank, const char* name) const override { return rank.vector(name, space_, &exchange_); }
  Vec result(Rank& rank, const char* name) const override { return rank.vector(name, space_); }
  /// 1 / diag(2^-exponent A). Throws bad_argument for a row without one.
  Vec inverse_diagonal() const { return inverse_diagonal_; }
  /// Of the same pattern. No communication.
  void update_values(Rank& rank, const CsrView& A, int exponent);
  const CsrSlice& slice() const { return slice_; }
  /// What it holds, vectors aside.
  i64 bytes() const;
  /// The same of rows that nobody has stored yet.
  static i64 ghosts_of(const CsrView& A, const Partition& partition, int rank, const Diagonals& diagonals);  // in words
  static i64 bytes_of(const CsrSlice& slice, const Diagonals& diagonals, CyclePrecision precision);

 private:
  struct Stored;
  template <class Entry>
  struct StoredAs;

  int space_ = -1;
  CsrSlice slice_;
  Exchange exchange_;
  Split split_;
  Vec inverse_diagonal_;
  std::unique_ptr<Stored> stored_;
};

}  // namespace sordino
