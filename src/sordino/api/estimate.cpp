// How much memory a solver will take, without setting it up: which vectors it makes is seen on a solver of 64 rows.
#include "sordino/api/part.hpp"
#include "sordino/linalg/poisson.hpp"
#include "sordino/runtime/host/engine.hpp"

namespace sordino {
namespace {

constexpr i64 small = 64;  // rows, of which each of two ranks has a half

/// How many vectors of each kind of storage a solver makes.
struct Vectors {
  i64 own = 0;        // a rank's rows
  i64 operand = 0;    // and the ghosts of the matrix's halo
  i64 gathered = 0;   // on rank 0 all rows, else a rank's
  i64 whole = 0;      // all rows on every rank
  i64 scattered = 0;  // on rank 0 all rows, else ghosts for a rank's
};

Vectors count(const Rank& root) {
  Vectors found;
  for (auto& v : root.vectors()) {
    const Space& space = root.space(v.space);
    if (space.replicated)
      found.whole++;
    else if (space.rows == small)
      found.scattered++;
    else if (!v.exchange)
      found.own++;
    else if (v.length == small)
      found.gathered++;
    else
      found.operand++;
  }
  return found;
}

/// The same solver of a small matrix.
Vectors vectors_of(const System& system, const Choice& choice, const Options& options) {
  CsrMatrix line = poisson(small, 1, 1, 7, 1.0);
  System model{.A = line.view(), .watch = system.watch};
  auto nothing = [](const double*, double*) {};
  if (system.product) model.product = nothing;
  if (system.preconditioner) model.preconditioner = nothing;
  if (!system.diagonal.empty()) model.diagonal.assign(small, 1.0);
  host::HostEngine engine({.ranks = 2});
  Partition partition = partition_of(model, 2);
  std::vector<Part> parts(2);
  engine.run([&](Rank& rank) { parts[std::size_t(rank.id())] = build_part(rank, model, choice, options, partition); });
  return count(engine.rank(0));
}

/// Columns that a rank's rows touch outside its own. `seen` [n] remembers by whom a column was last counted.
i64 ghosts_of(const CsrView& A, const Partition& p, int rank, std::vector<i32>& seen) {
  i64 ghosts = 0, begin = p.first_row(rank), end = p.first_row(rank + 1);
  for (i64 k = A.indptr[begin]; k < A.indptr[end]; k++) {
    i32 column = A.indices[k];
    if ((column >= begin && column < end) || seen[std::size_t(column)] == rank) continue;
    seen[std::size_t(column)] = rank;
    ghosts++;
  }
  return ghosts;
}

}  // namespace

std::vector<i64> estimate_memory(const System& system, const Options& options, int ranks, bool device) {
  Options o = options;
  o.ranks = ranks;
  Choice choice = choose(system, o);
  Vectors v = vectors_of(system, choice, o);
  Partition p = partition_of(system, ranks);
  const CsrView& A = system.A;
  std::vector<i32> seen(system.product ? 0 : std::size_t(A.n), -1);
  std::vector<i64> bytes;
  for (int r = 0; r < ranks; r++) {
    i64 rows = p.rows(r), gathered = r == 0 ? A.n : rows;
    i64 words = (v.own + v.operand) * rows + (v.gathered + v.scattered) * gathered + v.whole * A.n;
    i64 matrix = 0;
    if (!system.product) {
      words += v.operand * ghosts_of(A, p, r, seen);
      i64 first = p.first_row(r), entry = A.indptr[first];
      CsrSlice slice{first, rows, entry, A.indptr[first + rows] - entry};
      matrix = CsrOperator::bytes_of(A, slice, device, ranks > 1 && !choice.method->replicated);
    }
    bytes.push_back(8 * words + matrix);
  }
  return bytes;
}

}  // namespace sordino
