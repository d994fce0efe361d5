#include "sordino/api/factorizing.hpp"

#include "sordino/base/error.hpp"
#include "sordino/base/range.hpp"
#include "sordino/base/shared_cores.hpp"
#include "sordino/comm/communicator.hpp"

namespace sordino {
namespace {

constexpr int pivot_channel = 6;

/// By all ranks; as factorize() of one.
i64 factorize_all(Engine& engine, const std::vector<Part>& parts, const CsrView& A) {
  i64 refused = -1;
  engine.run([&](Rank& rank) {
    SharedCores share(engine.local_ranks());
    const int local = rank.id() - engine.first_rank();
    const i64 row = factorize(rank, parts[std::size_t(local)], A);
    if (local == 0) refused = row;
  });
  return refused;
}

}  // namespace

void require_incomplete_fits(const Choice& c, const std::function<bool()>& is_symmetric) {
  if (c.preconditioner == "ilu0" && c.method->needs_spd && !c.method->flexible)
    throw Error(Errc::unsupported, "precond ilu0 is not symmetric, which solver " + c.method->name +
                                       " needs: use precond ic0, or solver fcg, bicgstab or gmres");
  if (c.preconditioner == "ic0" && !is_symmetric())
    bad_argument("precond ic0 needs a symmetric matrix, and this one is not: use ilu0, with solver bicgstab or gmres");
}

i64 factorize(Rank& rank, const Part& part, const CsrView& A) {
  if (!part.ilu && !part.incomplete) return -1;
  Range range("factorize the preconditioner");
  const i64 row = part.ilu ? part.ilu->factorize(A) : part.incomplete->factorize(rank, A);
  const i64 first = Communicator(rank, pivot_channel).all_reduce(std::vector<i64>{row < 0 ? A.n : row}, Fold::min)[0];
  return first < A.n ? first : -1;
}

void require_pivots(i64 row, const Choice& c) {
  if (row < 0) return;
  if (is_incomplete(c.preconditioner))
    bad_argument(c.preconditioner + ": the pivot of row " + std::to_string(row) + " is " +
                 (c.preconditioner == "ic0" ? "not positive or not finite" : "missing, zero or not finite") +
                 ", so the matrix has no incomplete factorization with its own pattern: use precond jacobi");
  bad_argument("block-ilu: the pivot of row " + std::to_string(row) + " is " +
               (c.method->needs_spd ? "not positive" : "zero or not finite") +
               ", so its tile has no incomplete factorization: use smaller tiles, or precond jacobi");
}

void refactorize(Engine& engine, const std::vector<Part>& parts, const Choice& choice, const CsrView& updated,
                 const CsrView& before) {
  if (!parts.front().ilu && !parts.front().incomplete) return;
  const i64 refused = factorize_all(engine, parts, updated);
  if (refused >= 0) factorize_all(engine, parts, before);  // whose factors were overwritten
  require_pivots(refused, choice);
}

}  // namespace sordino
