#include "sordino/api/part.hpp"

#include <cmath>

#include "sordino/api/engines.hpp"
#include "sordino/api/factorizing.hpp"
#include "sordino/api/grid_choice.hpp"
#include "sordino/api/hmatrix_diagonal.hpp"
#include "sordino/api/inspect.hpp"
#include "sordino/api/levels_choice.hpp"
#include "sordino/api/symmetry.hpp"
#include "sordino/api/whole_vectors.hpp"
#include "sordino/base/error.hpp"
#include "sordino/base/range.hpp"
#include "sordino/hmatrix/block_jacobi.hpp"
#include "sordino/precond/vector_bytes.hpp"
#include "sordino/solvers/complex_inner_bicgstab.hpp"
#include "sordino/solvers/inner_bicgstab.hpp"

namespace sordino {
namespace {

/// Its rows and the matrix's must be in the same order.
template <class V>
void check_coarse(const hmatrix::HMatrixOf<V>* coarse, const hmatrix::HMatrixOf<V>* matrix, bool has_other) {
  if (!coarse) return;
  if (has_other) bad_argument("of the H-matrix and the one that preconditions it, one is real and one complex");
  if (!matrix)
    bad_argument("the preconditioner is an H-matrix, and the matrix is none: give an operator that multiplies by its inverse");
  if (coarse->tree().order != matrix->tree().order)
    bad_argument(
        "the H-matrix of the preconditioner is of other points than the matrix, or has clusters of another size: make both "
        "of the same surface with the same leaf");
}

/// f of the H-matrix, real or complex.
template <class F>
auto of_hmatrix(const System& s, const F& f) {
  return s.hmatrix ? f(*s.hmatrix) : f(*s.complex_hmatrix);
}

template <class V>
void require_size(const System& s, const hmatrix::HMatrixOf<V>& matrix) {
  constexpr int words = hmatrix::words_of<V>;
  if (s.A.n != matrix.size() || s.A.words != words)
    bad_argument("the system has " + std::to_string(s.A.n) + " rows of " + std::to_string(s.A.words) +
                 " words, and the H-matrix " + std::to_string(matrix.size()) + " of " + (words == 1 ? "one" : "two"));
}

void check_given(const System& s, const Options& o) {
  i64 n = s.A.n;
  if (s.brings_preconditioner() && o.precond != "auto")
    bad_argument("precond is '" + o.precond + "', and a preconditioner of the caller's is given, too: choose one");
  if (!s.diagonal.empty() && i64(s.diagonal.size()) != s.words())
    bad_argument("the diagonal of the preconditioner has " + std::to_string(i64(s.diagonal.size()) / s.A.words) +
                 " entries, the matrix " + std::to_string(n) + " rows");
  if (s.inverse.n > 0) validate(s.inverse);
  if (s.inverse.n > 0 && s.inverse.n != n)
    bad_argument("the preconditioner has " + std::to_string(s.inverse.n) + " rows, the matrix " + std::to_string(n));
  if (s.inverse.n > 0 && s.inverse.words != s.A.words)
    bad_argument("of the matrix and the preconditioner one is real and one complex");
  for (std::size_t i = 0; i < s.diagonal.size(); i++)
    if (!std::isfinite(s.diagonal[i]))
      bad_argument("the preconditioner holds a NaN or Inf at row " + std::to_string(i / s.A.words));
  if (s.hmatrix && s.complex_hmatrix) bad_argument("there are two H-matrices: give one");
  if (s.has_hmatrix()) of_hmatrix(s, [&](const auto& matrix) { require_size(s, matrix); });
  if (s.has_hmatrix() && !s.cuts.empty()) bad_argument("rows of an H-matrix are dealt out by the library: give no cuts");
  const bool of_blocks = o.precond == "block-jacobi";
  const bool fits = s.grid.is_given() || o.precond == "auto" || o.precond == "none" ||
                    (s.has_hmatrix() && (of_blocks || o.precond == "jacobi"));
  if (of_blocks && !s.has_hmatrix())
    bad_argument(
        "precond block-jacobi inverts the dense blocks on the diagonal of an H-matrix, and the matrix is none: use jacobi");
  check_coarse(s.coarse, s.hmatrix, s.complex_hmatrix != nullptr);
  check_coarse(s.complex_coarse, s.complex_hmatrix, s.hmatrix != nullptr);
  if (!s.has_entries() && !fits) bad_argument(o.precond + " needs the entries of the matrix, which is " + s.stands_as());
}

/// Whether ranks own other rows than those that the matrix has beside each other.
bool reorders(const System& s, const Options& o) { return o.partition != "blocks" && (o.ranks != 1 || !s.cuts.empty()); }

void check_partition(const System& s, const Options& o) {
  if (!reorders(s, o)) return;
  const std::string named = "partition '" + o.partition + "'";
  if (o.precond == "block-ilu" && !s.cells)
    bad_argument(named + " changes the order of the rows, in which block-ilu finds its tiles");
  if (o.precond == "mg")
    throw Error(Errc::unsupported,
                "precond mg is of layers of cells, and " + named + " gives ranks other rows: use partition blocks");
  if (is_incomplete(o.precond))
    throw Error(Errc::unsupported, "precond " + o.precond + " is of consecutive rows of the matrix, and " + named +
                                       " changes their order: use partition blocks");
  if (!s.has_entries()) bad_argument(named + " needs the entries of the matrix, which is " + s.stands_as());
  if (o.deterministic == "on")
    bad_argument("deterministic 'on' keeps the bits on any number of ranks, and " + named +
                 " has another order of rows on each: choose one");
  if (s.cuts.empty())
    throw Error(Errc::unsupported, named + " is done by the Python package, which hands over rows in another order, with cuts");
}

void check_distribution(const System& s, const Options& o) {
  if (o.distribution == "rows") return;
  const std::string named = "distribution '" + o.distribution + "'";
  if (!s.has_hmatrix()) bad_argument(named + " is of H-matrices alone: leave it at rows");
  if (o.deterministic == "on")
    bad_argument("deterministic 'on' keeps the bits on any number of ranks, and " + named +
                 " adds in other orders: choose one");
}

/// A cell that two rows have would lose entries without a word.
void check_cells(const System& s) {
  if (!s.cells) return;
  std::vector<bool> taken(std::size_t(s.A.n), false);
  for (i64 row = 0; row < s.A.n; row++) {
    const i64 cell = s.cells[row];
    const bool is_cell = cell >= 0 && cell < s.A.n;
    if (!is_cell || taken[std::size_t(cell)])
      bad_argument("row " + std::to_string(row) + " is in cell " + std::to_string(cell) +
                   (is_cell ? ", which another row has" : ", and the grid has " + std::to_string(s.A.n)));
    taken[std::size_t(cell)] = true;
  }
}

std::string preconditioner_of(const System& s, const Options& o) {
  if (s.brings_preconditioner()) return "given";
  if (s.has_hmatrix()) return o.precond == "auto" ? "jacobi" : o.precond;
  return s.product ? "none" : choose_preconditioner(s.A, o.precond);
}

/// A method that multiplies words by real numbers is for Hermitian systems, and so must M be: a diagonal one real.
void check_diagonal(const System& s, const MethodEntry& m) {
  for (std::size_t i = 0; m.takes_roots && i < s.diagonal.size(); i += std::size_t(s.A.words))
    if (!(s.diagonal[i] > 0))
      bad_argument("solver " + m.name + " takes the square roots of the preconditioner, which is not positive at row " +
                   std::to_string(i / std::size_t(s.A.words)));
  if (!s.A.is_complex() || m.complex != Factors::of_words) return;
  for (std::size_t i = 1; i < s.diagonal.size(); i += 2)
    if (s.diagonal[i] != 0)
      bad_argument("solver " + m.name + " needs a Hermitian preconditioner, and its diagonal is not real at row " +
                   std::to_string(i / 2));
}

/// Jacobi's own conditions, of an H-matrix.
template <class V>
void check_diagonal_of(const hmatrix::HMatrixOf<V>& matrix, const MethodEntry& m) {
  const bool needs_real = hmatrix::words_of<V> == 2 && m.complex == Factors::of_words;  // of Hermitian matrices
  for (V entry : matrix.diagonal()) {
    const double real = hmatrix::real_part(entry);
    const bool is_real = hmatrix::squared(entry) == real * real;
    if (hmatrix::magnitude(entry) == 0) bad_argument("precond jacobi divides by the diagonal, which has a zero: use none");
    if (needs_real && !is_real)
      bad_argument("solver " + m.name + " needs a Hermitian matrix, and this one's diagonal is not real: use bicgstab");
    if (m.takes_roots && !(real > 0))
      bad_argument("solver " + m.name + " takes the square roots of the diagonal, which is not positive: use bicgstab");
  }
}

void require_scalable(const MethodEntry& m) {
  if (!m.scalable)
    throw Error(Errc::unsupported, "solver " + m.name + " does not take precond sqrt-jacobi: use bicgstab, or precond jacobi");
}

void build_operator(Part& p, Rank& rank, const System& s, const ScaledMatrix* scaled, const Choice& c,
                    const Partition& partition) {
  Range range("set up the operator");
  if (s.product) {
    p.A = std::make_unique<HostOperator>(rank, partition, "product on the host", s.product, s.A.words);
    return;
  }
  if (s.has_hmatrix()) {
    using hmatrix::HMatrixOperator;
    auto matrix = of_hmatrix(s, [&](const auto& H) {
      return c.method->replicated ? HMatrixOperator::gathered(rank, H, partition, c.distribution, c.group)
                                  : std::make_unique<HMatrixOperator>(rank, H, partition, c.distribution);
    });
    p.hmatrix = matrix.get();
    p.A = std::move(matrix);
    return;
  }
  if (s.grid.is_given()) {
    MadeRows made = c.levels->made(0);
    made.diagonals = c.storage.diagonals;
    auto entries = std::make_unique<CsrOperator>(rank, made, partition);
    p.entries = entries.get();
    p.A = std::move(entries);
    return;
  }
  const CsrView A = scaled ? scaled->view() : s.A;
  auto entries = c.method->replicated ? CsrOperator::gathered(rank, A, partition, c.storage.diagonals)
                                      : std::make_unique<CsrOperator>(rank, A, partition, c.storage.diagonals);
  p.entries = entries.get();
  p.A = std::move(entries);
}

/// Whether A is symmetric to rounding; looks where nobody has.
bool finds_symmetric(Choice& c, const System& s) {
  if (!c.symmetry.empty()) return c.symmetry != "general";
  const Symmetry found = symmetry_of(s.A);
  c.mirrored = found.mirrored;
  return found.symmetric;
}

/// That no bits are promised that hang on the number of ranks, and require_incomplete_fits().
void check_incomplete(const System& s, const Options& o, Choice& c) {
  if (!is_incomplete(c.preconditioner)) return;
  if (o.deterministic == "on" && o.ranks != 1)
    bad_argument("deterministic 'on' keeps the bits on any number of ranks, and precond " + c.preconditioner +
                 " depends on it: use one rank, or block-ilu with a tile");
  require_incomplete_fits(c, [&] { return finds_symmetric(c, s); });
}

/// By the diagonal of what is multiplied with inside.
template <class V>
std::unique_ptr<Preconditioner> inner_bicgstab_of(Part& p, Rank& rank, const hmatrix::HMatrixOf<V>& matrix, const Choice& c,
                                                  const Partition& partition, int steps) {
  using Inner = std::conditional_t<hmatrix::words_of<V> == 1, InnerBicgstab, ComplexInnerBicgstab>;
  const int space = p.A->space();
  auto coarse = std::make_unique<hmatrix::HMatrixOperator>(rank, matrix, partition, c.distribution, space);
  p.coarse = coarse.get();
  const typename FieldsOf<V>::Scaling inverse{inverse_diagonal(rank, space, matrix, c.method->complex)->diagonal()};
  return std::make_unique<GivenOperator>(std::make_unique<Inner>(rank, std::move(coarse), inverse, steps));
}

/// Of a cycle whose levels are made of fields, and of the method around it: r, z, p, A p and the best x at least.
void expect_vectors_of(Rank& rank, const Choice& c, bool second_visits) {
  if (!c.levels->made(0).is_given()) return;
  constexpr i64 of_flags = i64(64) << 10;
  const i64 of_method = 5 * i64(sizeof(double)) * c.levels->partition(0).rows(rank.id());
  const bool device = rank.engine().is_device();
  expect_vectors(rank, of_flags + of_method + made_vector_bytes(*c.levels, second_visits, rank.id(), device));
}

void build_preconditioner(Part& p, Rank& rank, const System& s, const ScaledMatrix* scaled, const Choice& c,
                          const Partition& partition, const Options& o) {
  Range range("set up the preconditioner");
  int space = p.A->space();
  if (c.preconditioner == "jacobi" && s.has_hmatrix()) {
    p.M = of_hmatrix(s, [&](const auto& H) { return inverse_diagonal(rank, space, H, c.method->complex); });
  } else if (c.preconditioner == "jacobi") {
    auto jacobi = std::make_unique<Jacobi>(rank, s.A, space, c.method->complex);
    p.jacobi = jacobi.get();
    p.M = std::move(jacobi);
  } else if (scaled) {
    auto sqrt_jacobi = std::make_unique<SqrtJacobi>(rank, space, *scaled);
    p.sqrt_jacobi = sqrt_jacobi.get();
    p.M = std::move(sqrt_jacobi);
  } else if (c.preconditioner == "chebyshev") {
    auto chebyshev = std::make_unique<Chebyshev>(rank, *p.A, s.A, o.degree, c.bound);
    p.chebyshev = chebyshev.get();
    p.M = std::move(chebyshev);
  } else if (c.preconditioner == "block-ilu") {
    const int width = BlockIlu::width_for(rank.engine().is_device());
    auto ilu = std::make_unique<BlockIlu>(rank, s.A, space, c.tiling, c.method->needs_spd, width);
    p.ilu = ilu.get();
    p.M = std::make_unique<GivenOperator>(std::move(ilu));
  } else if (c.levels) {
    expect_vectors_of(rank, c, o.cycle != "v");
    auto multigrid = std::make_unique<Multigrid>(rank, *p.A, c.levels, cycle_of(o.cycle), c.storage.diagonals);
    p.multigrid = multigrid.get();
    p.M = std::make_unique<GivenOperator>(std::move(multigrid));
  } else if (is_incomplete(c.preconditioner)) {
    auto factor = std::make_unique<trsv::IncompleteOperator>(rank, s.A, space, incomplete(c.preconditioner));
    p.incomplete = factor.get();
    p.M = std::make_unique<GivenOperator>(std::move(factor));
  } else if (s.has_coarse()) {
    p.M = s.coarse ? inner_bicgstab_of(p, rank, *s.coarse, c, partition, o.inner)
                   : inner_bicgstab_of(p, rank, *s.complex_coarse, c, partition, o.inner);
  } else if (s.preconditioner) {
    p.M = std::make_unique<GivenOperator>(
        std::make_unique<HostOperator>(rank, partition, space, "preconditioner on the host", s.preconditioner, s.A.words));
  } else if (s.inverse.n > 0 || c.blocks) {
    auto entries = std::make_unique<CsrOperator>(rank, c.blocks ? c.blocks->view() : s.inverse, partition, space);
    p.inverse = entries.get();
    p.M = std::make_unique<GivenOperator>(std::move(entries));
  } else if (!s.diagonal.empty()) {
    p.M = std::make_unique<GivenDiagonal>(rank, space, s.diagonal.data(), c.method->complex);
  } else {
    p.M = std::make_unique<Identity>();
  }
}

/// That the method takes an operator as the preconditioner, where it is one.
void require_operators(const System& s, const Choice& c) {
  const std::string& p = c.preconditioner;
  const bool is_operation = p == "chebyshev" || p == "block-ilu" || is_incomplete(p) || has_levels(p) || p == "block-jacobi";
  if (s.brings_operator() || is_operation) require_any_preconditioner(*c.method);
  if (s.has_coarse() && !c.method->flexible)
    throw Error(Errc::unsupported, "a coarser H-matrix as the preconditioner is another operator in each step, which solver " +
                                       c.method->name +
                                       " does not allow: use gmres, or fcg for a symmetric positive definite matrix");
}

/// Iterations between looks, which cost little beside a cycle of multigrid. A GPU captures at least so many in a graph, where
/// each of those is hundreds of commands (runtime/cuda/tally.hpp).
int looks_at_x(const Choice& c, const Options& o) { return c.levels ? std::min(o.check_every, 2) : o.check_every; }

}  // namespace

void require_cycle_fits(const Options& o, const Choice& c) {
  if (o.cycle == "f" && c.method->needs_spd && !c.method->flexible)
    throw Error(Errc::unsupported, "cycle f is not symmetric, which solver " + c.method->name +
                                       " needs: use solver fcg, richardson, bicgstab or gmres, or cycle v or w");
}

Choice choose(const System& s, const Options& o) {
  validate(o);
  if (s.has_entries()) validate(s.A);
  check_given(s, o);
  if (o.ranks > s.A.n)  // before threads are started for them
    bad_argument("more ranks (" + std::to_string(o.ranks) + ") than rows (" + std::to_string(s.A.n) + ")");
  check_partition(s, o);
  check_cells(s);
  check_distribution(s, o);
  auto chosen = choose_method(s, o);
  Choice c{.method = &method_on_vectors(*chosen.method, s, o), .why_method = chosen.why};
  c.preconditioner = preconditioner_of(s, o), c.symmetry = chosen.symmetry, c.mirrored = chosen.mirrored;
  c.distribution = hmatrix::distribution(o.distribution);
  c.may_take_levels = may_take_levels(s, o, c, [&] { return finds_symmetric(c, s); });
  if (s.product && !c.method->any_preconditioner)
    throw Error(Errc::unsupported,
                "solver " + c.method->name +
                    " needs the entries of the matrix, which is given as a function: use cg, gropp, bicgstab or gmres");
  require_operators(s, c);
  if (c.preconditioner == "block-jacobi")
    c.blocks =
        of_hmatrix(s, [](const auto& H) { return std::make_shared<const CsrMatrix>(hmatrix::inverse_of_diagonal_leaves(H)); });
  check_grid(s, o, c);
  check_incomplete(s, o, c);
  if (has_levels(c.preconditioner) || s.hierarchy) require_cycle_fits(o, c);
  const bool needs_spd = c.preconditioner == "chebyshev" || has_levels(c.preconditioner) || s.hierarchy != nullptr;
  if (needs_spd && !finds_symmetric(c, s))
    bad_argument((s.hierarchy ? "a hierarchy of multigrid" : "precond " + c.preconditioner) +
                 " needs a symmetric positive definite matrix, and this one is not symmetric: use jacobi");
  if (c.preconditioner == "chebyshev") c.bound = spectral_bound(s.A);
  if (c.preconditioner == "sqrt-jacobi") require_scalable(*c.method);
  check_diagonal(s, *c.method);
  if (!s.has_hmatrix())
    require_roots(*c.method, c.preconditioner, s.A);
  else if (c.preconditioner == "jacobi")
    of_hmatrix(s, [&](const auto& H) { check_diagonal_of(H, *c.method); });
  return c;
}

StorageChoice storage_of(const System& s, const Options& o, const Choice& c, int ranks) {
  const i64 rows = (s.A.n + ranks - 1) / ranks;
  if (s.grid.is_given()) return choose_storage(s.grid, o.storage, rows);
  if (s.has_entries()) return choose_storage(s.A, o.storage, rows, o.precond == "sqrt-jacobi", s.cells, c.mirrored);
  if (o.storage == "auto" || o.storage == "csr") return {"", "", {}};
  bad_argument("storage '" + o.storage + "' needs the entries of the matrix, which is " + s.stands_as());
}

std::unique_ptr<ScaledMatrix> scaled_matrix(const System& s, const Choice& c) {
  if (c.preconditioner != "sqrt-jacobi") return nullptr;
  Range range("scale the matrix");
  auto scaled = std::make_unique<ScaledMatrix>(s.A);
  require_few_kinds(*scaled, c.storage.diagonals);
  return scaled;
}

void require_few_kinds(const ScaledMatrix& scaled, const Diagonals& diagonals) {
  if (diagonals.constant) require_storable(scaled.view(), diagonals);
}

Part build_part(Rank& rank, const System& s, const Choice& c, const Options& o, const Partition& partition,
                const ScaledMatrix* scaled) {
  Part p;
  build_operator(p, rank, s, scaled, c, partition);
  build_preconditioner(p, rank, s, scaled, c, partition, o);
  p.refused_row = factorize(rank, p, s.A);  // before the method prepares what hangs on M
  if (p.refused_row >= 0) return p;
  Range range("record the method");
  p.driver =
      std::make_unique<Driver>(rank, *p.A, *p.M, *c.method, looks_at_x(c, o), o.replace_every, s.watch, s.nullspace,
                               StepBasis{c.steps, o.batch, o.basis == "monomial", o.spectrum == "power", o.restart, o.omega});
  return p;
}

i64 Part::operator_bytes() const {
  return (entries ? entries->bytes() : 0) + (inverse ? inverse->bytes() : 0) + (hmatrix ? hmatrix->bytes() : 0) +
         (coarse ? coarse->bytes() : 0) + (multigrid ? multigrid->bytes() : 0) + (incomplete ? incomplete->bytes() : 0);
}

void Part::update_values(Rank& rank, const CsrView& updated, const ScaledMatrix* scaled, double bound) {
  entries->update_values(rank, scaled ? scaled->view().values : updated.values);
  if (jacobi) jacobi->update_values(rank, updated);
  if (sqrt_jacobi) sqrt_jacobi->update_values(rank, *scaled);
  if (chebyshev) chebyshev->update_values(rank, updated, bound);
  if (multigrid) multigrid->update_values(rank);
  driver->values_changed();
}

void Part::update_made(Rank& rank) {
  entries->update_values(rank, nullptr);
  multigrid->update_values(rank);
  driver->values_changed();
}

}  // namespace sordino
