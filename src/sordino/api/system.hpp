// What a solver is set up for.
#pragma once
#include <memory>
#include <optional>
#include <vector>

#include "sordino/api/options.hpp"
#include "sordino/hmatrix/hmatrix.hpp"
#include "sordino/linalg/csr.hpp"
#include "sordino/linalg/grid_matrix.hpp"
#include "sordino/linalg/host_operator.hpp"
#include "sordino/linalg/nullspace.hpp"
#include "sordino/linalg/watcher.hpp"
#include "sordino/precond/algebraic_levels.hpp"
#include "sordino/runtime/machine.hpp"

namespace sordino {

/// A matrix, by its entries, as a function that multiplies by it or as an H-matrix, and what belongs to it. Functions, and the
/// watch's look, are called on the thread of rank 0. Of a complex matrix (A.words is 2) all vectors and values, here and in a
/// Solver, are pairs: real and imaginary part.
struct System {
  HostFunction product = {};  // y = A x, where its entries are not known
  /// Or an H-matrix, which must outlive the solver. All vectors are in the order of its tree; of A there is n.
  const hmatrix::HMatrix* hmatrix = nullptr;
  const hmatrix::ComplexHMatrix* complex_hmatrix = nullptr;  // likewise
  /// Where A is an H-matrix: a coarser one of the same points and kind, of which `Options::inner` steps of BiCGStab
  /// approximate M^-1.
  const hmatrix::HMatrix* coarse = nullptr;
  const hmatrix::ComplexHMatrix* complex_coarse = nullptr;
  /// Or the fields of a grid, whose arrays must outlive the solver's setup; of A there is n. Rows are made of them where
  /// something else than levels of mg wants them (grid_system.hpp).
  GridMatrix grid = {};
  CsrView A = {};                     // its arrays must outlive the solver; of a function: n and words
  HostFunction preconditioner = {};   // z = M^-1 r, for the methods that take any operator
  CsrView inverse = {};               // M^-1 by its entries, or of no rows; likewise, and its arrays must outlive the solver
  std::vector<double> diagonal = {};  // [n] or empty: M^-1 as a diagonal
  /// What a singular A maps to zero, by columns of any basis, and its transpose, where that is another space. b is then
  /// projected onto the range of A, x is orthogonal to the nullspace, and `converged` is about the system that is left. A
  /// function is called with these vectors at setup, on the thread that sets up.
  Nullspace nullspace = {};
  /// [ranks + 1] or empty: the first row of each rank of all processes, where the caller has put its rows in such an order
  /// (partition=metis; partition=boxes, by order_in_boxes()).
  std::vector<i64> cuts = {};
  /// [n] or null: the grid's cell of each row, where rows are in the order of boxes (BoxOrder::cells). The diagonals by which A
  /// may be stored are then those of the grid. Must outlive the solver.
  const i64* cells = nullptr;
  /// Null, or the levels below A of algebraic multigrid, which has none where A itself is inverted: M^-1 is one cycle, as
  /// option cycle says. Their arrays must outlive the solver. They stay with new values of A.
  std::shared_ptr<const std::vector<GivenLevel>> hierarchy = {};
  Watch watch = {};  // its iterations are counted anew after restarts and residual replacements

  i64 words() const { return A.n * A.words; }  // of a vector
  bool has_entries() const { return !product && !has_hmatrix() && !grid.is_given(); }
  bool has_hmatrix() const { return hmatrix || complex_hmatrix; }
  bool has_coarse() const { return coarse || complex_coarse; }
  /// What goes on after "the matrix, which is ", where it has none.
  const char* stands_as() const {
    return has_hmatrix() ? "an H-matrix" : grid.is_given() ? "given by the fields of a grid" : "given as a function";
  }
  bool brings_operator() const { return preconditioner || inverse.n > 0 || has_coarse() || hierarchy != nullptr; }
  bool brings_preconditioner() const { return brings_operator() || !diagonal.empty(); }
};

/// Bytes that each of `ranks` ranks would hold for a solver, as Solver::memory() says once it is set up: vectors, and the
/// matrix as the engine, of host memory or of a device, stores it; not the caller's arrays. Cost: O(nnz), and a solver of 64
/// rows, and what solver=auto looks at: `machine` is what it goes by, as in a Solver.
std::vector<i64> estimate_memory(const System& system, const Options& options, int ranks, bool device,
                                 const std::optional<Machine>& machine = {});

}  // namespace sordino
