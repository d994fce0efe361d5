// y = A x with an H-matrix that an engine holds, between vectors of callers, wherever these are.
#pragma once
#include <memory>
#include <vector>

#include "sordino/api/options.hpp"
#include "sordino/hmatrix/hmatrix.hpp"

namespace sordino {

/// An engine, a rank's share of the matrix on each of its ranks, and two vectors, or two of several columns.
class HMatrixProducts {
 public:
  /// Shares the matrix, which must outlive this, over the ranks of the options' engine, as a solver does. Memory of each rank:
  /// its share (HMatrixOperator::bytes), and x and y of its rows with the rows of x that it gathers. Where a launcher has
  /// started several processes, it is of all of them: each has the matrix, or the part of it that its ranks multiply, and all
  /// construct, multiply and time together. Throws Error, of several processes the same in all; bad_argument for ranks that are
  /// not those that a part is for, and for processes that give different distributions, sizes, or numbers of vectors.
  template <class V>
  HMatrixProducts(const hmatrix::HMatrixOf<V>& matrix, const Options& options);
  HMatrixProducts(HMatrixProducts&&) noexcept;
  ~HMatrixProducts();

  /// x and y [n], of a complex matrix [n][2], in the order of its tree; memory of the host or of any GPU. From GPU to GPU each
  /// rank copies its rows; where the engine is no device they go by way of the host. What the legacy default stream has to do
  /// on them is waited for, and y is complete when this returns. Reads the matrix once; a NaN of x is one of y. One exchange,
  /// hidden behind the terms of a rank's own rows. Later products make no allocation where x and y are where ranks reach them.
  /// Of several columns, 2, 4 or 8 but no more than most_columns(), x and y are [n][columns], of a complex matrix
  /// [n][columns][2]: the matrix is read once, and each column has the bits that it has alone. The first product of so many
  /// takes memory of each rank for columns of its rows of x and y, of the rows of x that it gathers, and of one row for each
  /// term of its blocks besides. Of several processes each passes all of x, of which its ranks take their rows, and is given
  /// all of y, its own rows and by one more all-gather those of the others: 8 B a word of y, through the host, and room there
  /// for as many again, rounded up to equal parts. With the distribution and the ranks of one process y has its bits.
  void multiply(const double* x, double* y, int columns = 1);

  /// That a product takes at once: 8, or less where a rank's terms, in any process, are too many to be counted.
  int most_columns() const;

  /// For benchmarks: seconds of one product of so many columns with its exchange, on the engine's clock, replayed as a method
  /// replays it, `2 * pairs` times after as many to warm up; of the slowest rank. Vectors stay where they are. Holds one vector
  /// of so many columns more from then on.
  double time_product(int pairs, int columns = 1);

  int ranks() const;  // of all processes
  /// What each rank of this process holds of the matrix, in its engine's memory: on hosts tables alone, since values are
  /// viewed.
  std::vector<i64> held_bytes() const;

 private:
  struct State;
  struct Release {
    void operator()(State* state) const;  // keeps it for a rank that never came back
  };
  std::unique_ptr<State, Release> state_;
};

}  // namespace sordino
