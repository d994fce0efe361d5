// Who makes the levels of a GridMatrix: threads of the host, or a GPU, with the same bits. What is made stays where it is.
#pragma once
#include <array>
#include <memory>
#include <vector>

#include "sordino/linalg/made_rows.hpp"
#include "sordino/precond/grid_kernels.hpp"

namespace sordino {

/// A level in memory of the host or of a GPU; the maker's, as long as that lives.
struct MadeLevel {
  GridMatrix A = {};
  const double* inverse_diagonal = nullptr;                    // [n]
  const CellWeights *to_this = nullptr, *from_this = nullptr;  // [rows of the level before] P^T and P; of the first level none
};

class GridMaker {
 public:
  virtual ~GridMaker() = default;
  /// Whether an array can be read as it is.
  virtual bool reads(const double* array) const = 0;
  /// The caller's matrix, where the maker reads it: a copy, if it does not lie there.
  virtual GridMatrix taken(const GridMatrix& A) = 0;
  /// Memory for all that first() and next() make of levels of so many cells is taken at once, when the first of it is wanted.
  virtual void expect(const std::vector<Extents>& levels) = 0;
  /// How many pieces of memory it has taken.
  virtual i64 pieces() const = 0;
  /// Of rows [first, first + rows), told by their numbers in this matrix.
  virtual GridFacts facts(const GridMatrix& A, i64 first, i64 rows) = 0;
  /// coupling_strengths() of grid_steps.hpp.
  virtual std::array<double, 3> strengths(const GridMatrix& A) = 0;
  /// Of the first level.
  virtual MadeLevel first(const GridMatrix& A) = 0;
  /// The next level, of so many cells, each of `step` of these.
  virtual MadeLevel next(const MadeLevel& fine, const Extents& step, const Extents& cells) = 0;
  /// To the host.
  virtual void fetch(double* to, const double* from, i64 count) = 0;
  /// MadeRows::fill().
  virtual void fill(const GridMatrix& A, const Diagonals& diagonals, i64 first, i64 rows, double* to) = 0;
};

/// Whether the host can read an array.
bool is_on_host(const double* array);

/// By threads of the host, which reads the arrays; or by the GPU with this CUDA number, -1: none.
std::unique_ptr<GridMaker> grid_maker(int gpu);

}  // namespace sordino
