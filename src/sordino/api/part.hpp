// What each rank owns of a solver, and how it is built.
#pragma once
#include <map>
#include <memory>
#include <string>

#include "sordino/api/system.hpp"
#include "sordino/hmatrix/hmatrix_operator.hpp"
#include "sordino/linalg/csr_operator.hpp"
#include "sordino/linalg/storage_choice.hpp"
#include "sordino/precond/block_ilu.hpp"
#include "sordino/precond/chebyshev.hpp"
#include "sordino/precond/multigrid.hpp"
#include "sordino/precond/sqrt_jacobi.hpp"
#include "sordino/solvers/columns_driver.hpp"
#include "sordino/solvers/driver.hpp"
#include "sordino/trsv/incomplete_operator.hpp"

namespace sordino {

/// What the options leave open, decided.
struct Choice {
  const MethodEntry* method = nullptr;
  std::string why_method = "";  // in words that go on after "the solver is ..., as "; empty: the machine is to decide
  int steps = 1;                // that cbcg takes at once
  std::string why_steps = "";   // as why_method
  std::string preconditioner =
      "";  // none, jacobi, sqrt-jacobi, chebyshev, block-ilu, ic0, ilu0, mg, amg, block-jacobi or given
  std::string why_preconditioner = "";  // as why_method; empty: nobody chose
  bool may_take_levels = false;         // precond=auto decides between jacobi and mg when the number of ranks is known
  std::string symmetry = "";            // hermitian, symmetric or general; empty: nobody looked
  bool mirrored = false;                // A is known to be symmetric bit by bit
  double bound = 0;                     // of the eigenvalues of diag(A)^-1 A, for chebyshev
  StorageChoice storage = {};           // decided last, when the number of ranks is known
  Tiling tiling = {};                   // of block-ilu, and the layers of mg, likewise
  std::shared_ptr<MultigridLevels> levels = nullptr;  // of mg, amg or a hierarchy, likewise
  hmatrix::Distribution distribution = hmatrix::Distribution::rows;
  int group = 1;                                      // of ranks that gather together, decided when the ranks are known
  std::shared_ptr<const CsrMatrix> blocks = nullptr;  // the inverse of A's, for block-jacobi
};

/// Whether it is ic0 or ilu0, and which of them.
inline bool is_incomplete(const std::string& precond) { return precond == "ic0" || precond == "ilu0"; }
inline trsv::Incomplete incomplete(const std::string& precond) {
  return precond == "ic0" ? trsv::Incomplete::ic0 : trsv::Incomplete::ilu0;
}

/// Whether it is a cycle of multigrid, of a grid or of aggregates.
inline bool has_levels(const std::string& precond) { return precond == "mg" || precond == "amg"; }

/// Checks options and system, and decides all but what hangs on the number of ranks: the storage, how many steps cbcg takes at
/// once, and, for solver=auto and a symmetric positive definite matrix, whether it stays cg (method_choice.hpp). Throws
/// bad_argument or unsupported with one sentence.
Choice choose(const System& system, const Options& options);

/// How A lies in memory of so many ranks; of a function it does not. Throws as choose_storage().
StorageChoice storage_of(const System& system, const Options& options, const Choice& choice, int ranks);

/// Rows are dealt out by weight, where entries are known; where tiles are, in whole layers of them.
Partition partition_of(const System& system, const Choice& choice, int ranks);
/// An engine's, of all processes, without cuts.
hmatrix::Ranks ranks_of(const Engine& engine, hmatrix::Distribution how);
/// Of an engine's ranks. Throws bad_argument if this process holds the part of an H-matrix that others multiply.
Partition partition_of(const System& system, const Choice& choice, const Engine& engine);

/// What one rank owns of solves of several right-hand sides at once.
struct ColumnsPart {
  std::unique_ptr<hmatrix::HMatrixOperator> A;
  std::unique_ptr<Preconditioner> M;
  std::unique_ptr<columns::ColumnsDriver> driver;
};

/// What one rank owns of a solver.
struct Part {
  std::unique_ptr<Operator> A;
  CsrOperator* entries = nullptr;                     // A, where its entries are known
  CsrOperator* inverse = nullptr;                     // M^-1, likewise
  const hmatrix::HMatrixOperator* hmatrix = nullptr;  // A, where it is one
  const hmatrix::HMatrixOperator* coarse = nullptr;   // and of M^-1
  std::unique_ptr<Preconditioner> M;
  Jacobi* jacobi = nullptr;
  SqrtJacobi* sqrt_jacobi = nullptr;
  Chebyshev* chebyshev = nullptr;
  BlockIlu* ilu = nullptr;
  trsv::IncompleteOperator* incomplete = nullptr;  // of ic0 or ilu0
  Multigrid* multigrid = nullptr;
  i64 refused_row = -1;  // of the matrix, if it has no incomplete factorization: then there is no driver
  std::unique_ptr<Driver> driver;
  std::map<int, ColumnsPart> of_columns = {};  // by their number, where somebody has asked for them

  /// New values of A, which `scaled` has taken already where there is one; of the polynomial's bound, too. SPMD.
  void update_values(Rank& rank, const CsrView& A, const ScaledMatrix* scaled, double bound);
  /// The same of a grid's fields, whose levels have taken the new ones, and make them still. SPMD.
  void update_made(Rank& rank);
  /// What its operators hold themselves, vectors aside.
  i64 operator_bytes() const;
};

/// S A S of the system, for all ranks of this process, where that is the preconditioner; else null. Throws as
/// require_few_kinds().
std::unique_ptr<ScaledMatrix> scaled_matrix(const System& system, const Choice& choice);
/// Throws bad_argument where the diagonals are constant and S A S has too many different rows: those that are alike in A may
/// differ here, by their neighbours' diagonals.
void require_few_kinds(const ScaledMatrix& scaled, const Diagonals& diagonals);

/// Collective. What `system` holds, and `scaled`, must outlive the part.
Part build_part(Rank& rank, const System& system, const Choice& choice, const Options& options, const Partition& partition,
                const ScaledMatrix* scaled = nullptr);

}  // namespace sordino
