// How much memory a solver will take, without setting it up: which vectors it makes is seen on a solver of 64 rows.
#include "sordino/api/ghosts.hpp"
#include "sordino/api/grid_choice.hpp"
#include "sordino/api/grid_system.hpp"
#include "sordino/api/method_choice.hpp"
#include "sordino/linalg/poisson.hpp"
#include "sordino/linalg/single_operator.hpp"
#include "sordino/precond/grid_levels.hpp"
#include "sordino/precond/polynomial_smoother.hpp"
#include "sordino/precond/vector_bytes.hpp"
#include "sordino/runtime/host/engine.hpp"

namespace sordino {
namespace {

constexpr i64 small = 64;  // rows, of which each of two ranks has a half
constexpr i64 ghosts_of_matrix = 1;

/// How many vectors of each kind of storage a solver makes.
struct Vectors {
  i64 own = 0;        // a rank's rows
  i64 operand = 0;    // and the ghosts of the matrix's halo
  i64 inverse = 0;    // and the ghosts of that of M^-1
  i64 gathered = 0;   // on rank 0 all rows, else a rank's
  i64 whole = 0;      // all rows on every rank
  i64 numbers = 0;    // of small matrices, whatever the rows
  i64 scattered = 0;  // on rank 0 all rows, else ghosts for a rank's
  i64 of_batch = 0;   // numbers of each batch of rows (solvers/tall_products.hpp)
};

Vectors count(const Rank& root, int words, bool replicated) {
  Vectors found;
  for (auto& v : root.vectors()) {
    const Space& space = root.space(v.space);
    if (space.replicated && !replicated)
      found.numbers += v.length;
    else if (space.replicated)
      found.whole++;
    else if (v.name == "products of batches")
      found.of_batch += space.rows / (small / 2);  // each row is a block there, and so a batch
    else if (!v.exchange)
      found.own += space.rows / (small / 2 * words);  // several of gmres's lie one behind the other
    else if (space.rows == small * words)
      found.scattered++;
    else if (v.length == small * words)
      found.gathered++;
    else if (v.length == (small / 2 + ghosts_of_matrix) * words)
      found.operand++;
    else
      found.inverse++;
  }
  return found;
}

/// Batches of a rank's rows: each block's are its own.
i64 batches_of(const Partition& p, int rank, i64 words, i64 rows_a_batch) {
  i64 batches = 0;
  for (i32 b = p.rank_blocks[rank]; b < p.rank_blocks[rank + 1]; b++)
    batches += ((p.block_rows[b + 1] - p.block_rows[b]) * words + rows_a_batch - 1) / rows_a_batch;
  return batches;
}

/// Real entries as numbers of so many words.
CsrMatrix widened(CsrMatrix A, int words) {
  std::vector<double> values(A.values.size() * std::size_t(words));
  for (std::size_t k = 0; k < A.values.size(); k++) values[k * std::size_t(words)] = A.values[k];
  A.values = std::move(values);
  A.words = words;
  return A;
}

/// The same solver of a small matrix: a line, and, for M^-1, two lines, whose halo has two ghosts.
Vectors vectors_of(const System& system, const Choice& choice, const Options& options) {
  const int words = system.A.words;
  CsrMatrix line = widened(poisson(small, 1, 1, 7, 1.0), words), lines = widened(poisson(2, small / 2, 1, 7, 1.0), words);
  System model;
  model.A = line.view();
  model.watch = system.watch;
  if (system.inverse.n > 0) model.inverse = lines.view();
  for (auto [given, to] :
       {std::pair(&system.nullspace.right, &model.nullspace.right), std::pair(&system.nullspace.left, &model.nullspace.left)})
    *to = {words * given->count, words * small, 0, std::vector<double>(std::size_t(words * words * given->count * small))};
  if (options.nullspace == "constant")
    model.nullspace.right = {words, words * small, 0, std::vector<double>(std::size_t(words * words * small))};
  auto nothing = [](const double*, double*) {};
  if (system.product) model.product = nothing;
  if (system.preconditioner) model.preconditioner = nothing;
  if (!system.diagonal.empty()) model.diagonal.assign(std::size_t(model.words()), 1.0);
  Choice by_rows = choice;
  by_rows.storage = {};  // they are those of another matrix, as tiles are
  by_rows.tiling = {};
  by_rows.levels = nullptr;
  Options smoothing = options;
  if (choice.levels) {  // by which the first level is smoothed
    by_rows.preconditioner = "chebyshev";
    smoothing.degree = choice.levels->degree();
  }
  host::HostEngine engine({.ranks = 2});
  Partition partition = partition_of(model, by_rows, 2);
  auto scaled = scaled_matrix(model, by_rows);
  std::vector<Part> parts(2);
  engine.run([&](Rank& rank) {
    parts[std::size_t(rank.id())] = build_part(rank, model, by_rows, smoothing, partition, scaled.get());
  });
  return count(engine.rank(0), words, choice.method->replicated);
}

CsrSlice slice_of(const CsrView& A, const Partition& p, int rank) {
  i64 first = p.first_row(rank), end = p.first_row(rank + 1);
  return {first, end - first, A.indptr[first], A.indptr[end] - A.indptr[first]};
}

i64 bytes_of_arrays(const CsrSlice& s) { return s.entries * i64(sizeof(double) + sizeof(i32)) + s.rows * i64(sizeof(i64)); }

/// By diagonals the host keeps where each row begins and on which diagonal each entry is, for new values of rows.
i64 bytes_of_places_of(const CsrSlice& s) { return i64(sizeof(u32)) * (s.rows + 1) + s.entries; }

/// Vectors and matrix of a level in lower precision, in words of two rows. Of the first level the vectors of a smoother in
/// double, which were counted, are taken off.
i64 bytes_of_lowered(const MultigridLevels& levels, int l, int rank, const Diagonals& diagonals, bool second_visits,
                     i64 ghosts) {
  const CsrView A = levels.matrix(l);
  const Partition& p = levels.partition(l);
  const CsrSlice slice = slice_of(A, p, rank);
  const i64 steps = levels.degree() > 1 ? 1 : 0, again = l > 0 && second_visits ? 1 : 0;  // vectors more
  const i64 own = steps + 3 + again, operands = steps + 3 + again;
  const i64 words = (own + operands) * words_for(slice.rows) + operands * SingleOperator::ghosts_of(A, p, rank, diagonals);
  const i64 of_smoother = l > 0 ? 0 : (2 * steps + 3) * slice.rows + (steps + 1) * ghosts;
  return 8 * (words - of_smoother) + SingleOperator::bytes_of(slice, diagonals, levels.precision(l));
}

/// Vectors and matrices of mg, but those of the first level's smoother.
i64 bytes_of_levels(const Choice& choice, bool second_visits, int rank, bool device, std::vector<i32>& seen, i32& mark,
                    bool by_fields) {
  const MultigridLevels& levels = *choice.levels;
  const bool renumbers = levels.partition(0).ranks() > 1;
  auto of_matrix = [&](const CsrView& A, const Partition& p, const Diagonals& diagonals) {
    const CsrSlice s = slice_of(A, p, rank);
    return CsrOperator::bytes_of(A, s, device, renumbers, diagonals) + (device ? 0 : bytes_of_arrays(s));
  };
  i64 bytes = 0;
  for (int l = 0; l + 1 < levels.count(); l++) {
    const Partition& p = levels.partition(l);
    const CsrView A = levels.matrix(l);
    const Diagonals& diagonals = l == 0 ? choice.storage.diagonals : levels.diagonals(l);
    const i64 ghosts = ghosts_of(A, p, rank, diagonals, seen, ++mark);
    if (levels.precision(l) != CyclePrecision::full) {
      bytes += bytes_of_lowered(levels, l, rank, diagonals, second_visits, ghosts) + levels.transfer_bytes(l, rank, device);
      if (l > 0 && !device) bytes += bytes_of_arrays(slice_of(A, p, rank));
      continue;
    }
    bytes += vector_bytes(levels, l, second_visits, rank, ghosts, device);
    if (l == 0) bytes -= PolynomialSmoother::size_of(levels.degree(), p.rows(rank), ghosts).bytes;  // which were counted
    if (l > 0) bytes += of_matrix(A, p, diagonals);
    const bool is_made = by_fields && l > 0 && p.n > GridLevels::most_on_host;
    if (is_made && !device) bytes -= bytes_of_places_of(slice_of(A, p, rank)) + bytes_of_arrays(slice_of(A, p, rank));
  }
  const Partition& last = levels.partition(levels.count() - 1);
  const i64 gathered = last.rows(rank) > 0 ? last.n : 0;  // by who multiplies with the inverse
  return bytes + 8 * 2 * gathered + of_matrix(levels.last_inverse().view(), last, {});
}

/// `made`: the fields that levels are made of instead of these rows, or null.
std::vector<i64> estimate(const System& system, const Options& options, int ranks, bool device,
                          const std::optional<Machine>& machine, const GridMatrix* made);

/// As of its rows, which nobody may make.
std::vector<i64> of_fields(const System& system, const Options& options, int ranks, bool device,
                           const std::optional<Machine>& machine) {
  const LargeCsr rows = rows_of(FieldsOnHost(system.grid).view());
  System by_rows = system;
  by_rows.A = rows.view();
  by_rows.grid = {};
  const Options o = prefers_levels(system, options) ? with_levels(options) : options;
  return estimate(by_rows, o, ranks, device, machine, stays_by_fields(system, o) ? &system.grid : nullptr);
}

std::vector<i64> estimate(const System& system, const Options& options, int ranks, bool device,
                          const std::optional<Machine>& machine, const GridMatrix* made) {
  Options o = options;
  o.ranks = ranks;
  Choice choice = choose(system, o);
  choice.storage =
      made ? choose_storage(*made, o.storage, (system.A.n + ranks - 1) / ranks) : storage_of(system, o, choice, ranks);
  settle_grid(choice, system, o, ranks, device, machine);
  settle_method(choice, system, o, ranks, machine);
  Vectors v = vectors_of(system, choice, o);
  Partition p = partition_of(system, choice, ranks);
  i64 n = system.A.n;
  std::vector<i32> seen(std::size_t(n), 0);
  i32 mark = 0;
  bool renumbers = ranks > 1 && !choice.method->replicated;
  std::vector<i64> bytes;
  for (int r = 0; r < ranks; r++) {
    i64 rows = p.rows(r), gathered = r == 0 ? n : rows;
    i64 rows_held = (v.own + v.operand + v.inverse) * rows + (v.gathered + v.scattered) * gathered + v.whole * n;
    const i64 row = 8 * system.A.words;  // bytes of it in a vector
    bytes.push_back(row * rows_held + 8 * v.numbers);
    if (v.of_batch > 0) bytes.back() += 8 * v.of_batch * batches_of(p, r, system.A.words, o.batch);
    auto add = [&](const CsrView& A, i64 operands, const Diagonals& diagonals) {
      bytes.back() += row * operands * ghosts_of(A, p, r, diagonals, seen, ++mark) +
                      CsrOperator::bytes_of(A, slice_of(A, p, r), device, renumbers, diagonals);
    };
    if (system.A.indptr) add(system.A, v.operand, choice.storage.diagonals);
    if (made && !device) bytes.back() -= bytes_of_places_of(slice_of(system.A, p, r));
    if (choice.preconditioner == "sqrt-jacobi" && !device) bytes.back() += ScaledMatrix::bytes_of(slice_of(system.A, p, r));
    if (system.inverse.indptr) add(system.inverse, v.inverse, {});
    if (choice.levels) bytes.back() += bytes_of_levels(choice, o.cycle != "v", r, device, seen, mark, made != nullptr);
    if (choice.preconditioner == "block-ilu")
      bytes.back() += BlockIlu::bytes_of(system.A, p.first_row(r), p.rows(r), choice.tiling, choice.method->needs_spd, device);
    if (is_incomplete(choice.preconditioner))
      bytes.back() +=
          trsv::IncompleteOperator::bytes_of(system.A, p.first_row(r), p.rows(r), incomplete(choice.preconditioner), device);
  }
  return bytes;
}

}  // namespace

std::vector<i64> estimate_memory(const System& system, const Options& options, int ranks, bool device,
                                 const std::optional<Machine>& machine) {
  if (system.has_hmatrix())
    throw Error(Errc::unsupported,
                "memory is foretold of matrices by their entries: an H-matrix says what it stores, and a "
                "solver what it holds");
  if (system.grid.is_given()) return of_fields(system, with_grid(system, options), ranks, device, machine);
  return estimate(system, options, ranks, device, machine, nullptr);
}

}  // namespace sordino
