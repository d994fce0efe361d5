#include "sordino/api/symmetry.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <functional>

#include "sordino/api/inspect.hpp"
#include "sordino/base/complex.hpp"
#include "sordino/base/error.hpp"
#include "sordino/base/parallel.hpp"
#include "sordino/linalg/mirrors.hpp"
#include "sordino/solvers/gmres.hpp"

namespace sordino {
namespace {

using Number = Complex<double>;
constexpr double rounding = 1e-12;

Number value(const CsrView& A, i64 k) {
  return A.is_complex() ? Number{A.values[2 * k], A.values[2 * k + 1]} : Number{A.values[k], 0};
}

/// The entry's place in the arrays; -1: there is none.
i64 place(const CsrView& A, i64 row, i64 column) {
  const i32 *begin = A.indices + A.begin(row), *end = A.indices + A.begin(row + 1);
  const i32* at = std::lower_bound(begin, end, i32(column));
  return at != end && *at == column ? at - A.indices : -1;
}

double size(Number a) { return std::abs(a.re) + std::abs(a.im); }
bool equal(Number a, Number b) { return size(a - b) <= rounding * size(b); }

Symmetry symmetry_of_row(const CsrView& A, i64 i) {
  Symmetry is{.hermitian = true, .symmetric = true};
  for (i64 k = A.begin(i); k < A.begin(i + 1); k++) {
    i64 mirror = A.indices[k] == i ? k : place(A, A.indices[k], i);
    if (mirror < 0) return {};
    Number a = value(A, k), b = value(A, mirror);
    is.hermitian &= equal(b, conj(a));
    is.symmetric &= equal(b, a);
  }
  return is;
}

std::string in_words(const Symmetry& is, bool real) {
  if (real) return is.symmetric ? "symmetric" : "not symmetric";
  return is.hermitian ? "Hermitian" : is.symmetric ? "complex symmetric" : "neither Hermitian nor symmetric";
}

/// What the option says, where it says something.
std::optional<Symmetry> said(const std::string& option) {
  if (option == "hermitian") return Symmetry{.hermitian = true};
  if (option == "symmetric") return Symmetry{.symmetric = true};
  if (option == "general") return Symmetry{};
  return {};
}

std::optional<Symmetry> checked(const System& s, const Options& o, bool wanted) {
  auto told = said(o.symmetry);
  bool real = !s.A.is_complex();
  if (told && real) told->hermitian = told->symmetric = told->hermitian || told->symmetric;
  if (s.grid.is_given()) return Symmetry{.hermitian = true, .symmetric = true, .mirrored = true};
  if (!s.has_entries() || o.symmetry == "general" || (!told && !wanted)) return told;
  Symmetry found = symmetry_of(s.A);
  if (told && ((told->hermitian && !found.hermitian) || (told->symmetric && !found.symmetric)))
    bad_argument("symmetry is said to be " + o.symmetry + ", and the matrix is " + in_words(found, real));
  return found;
}

/// What solver=auto takes, and why; for cg its machine will say.
struct Automatic {
  std::string name, why;
};
constexpr const char* unknown = "nobody says that the matrix is symmetric";

Automatic automatic(const System& s, const Options& o, const Symmetry& is) {
  const std::string what = "the matrix is " + in_words(is, !s.A.is_complex());
  if (!is.hermitian) return {is.symmetric ? "cocg" : "bicgstab", what};
  const bool f_cycle = o.cycle == "f" && (o.precond == "mg" || o.precond == "amg" || s.hierarchy);
  if (!s.has_entries() || positive_diagonal(s.A))
    return f_cycle ? Automatic{"fcg", "the preconditioner is not symmetric"} : Automatic{"cg", ""};
  return {"bicgstab", what + ", and its diagonal is not positive"};
}

void require_fit(const MethodEntry& m, const System& s, const Options& o, const std::optional<Symmetry>& is) {
  if (s.A.is_complex() && m.complex == Factors::real)
    throw Error(Errc::unsupported, "solver " + m.name +
                                       " computes with real numbers, and the matrix is complex: use bicgstab, cocg for a "
                                       "symmetric one, or cg, cgcg or prcg for a Hermitian one");
  if (s.A.is_complex() && m.name == "gmres" && o.restart > gmres::most_complex_m)
    bad_argument("restart must be from 1 to " + std::to_string(gmres::most_complex_m) + " where the entries are complex, not " +
                 std::to_string(o.restart));
  if (!is || !m.needs_spd) return;
  bool by_numbers = s.A.is_complex() && m.complex == Factors::of_numbers;  // cocg
  if (by_numbers ? is->symmetric : is->hermitian) return;
  std::string needs = by_numbers         ? "a symmetric matrix (A^T = A)"
                      : s.A.is_complex() ? "a Hermitian matrix"
                                         : "a symmetric matrix";
  bool by_option = !s.has_entries() || o.symmetry == "general";
  std::string says = by_option ? "option symmetry says " + name(*is) : "this one is " + in_words(*is, !s.A.is_complex());
  bad_argument("solver " + m.name + " needs " + needs + ", and " + says + ": use " +
               (is->hermitian   ? "cg"
                : is->symmetric ? "cocg"
                                : "bicgstab"));
}

}  // namespace

void require_roots(const MethodEntry& method, const std::string& preconditioner, const CsrView& A) {
  if (method.takes_roots && preconditioner == "jacobi" && !positive_diagonal(A))
    bad_argument("solver " + method.name +
                 " takes the square roots of the diagonal, which is not positive: use cg or bicgstab");
}

void require_symmetry_of(const MethodEntry& method, const CsrView& A) {
  if (!A.is_complex() || !method.needs_spd) return;
  Symmetry is = symmetry_of(A);
  bool by_numbers = method.complex == Factors::of_numbers;
  if (!(by_numbers ? is.symmetric : is.hermitian))
    bad_argument("with the new values the matrix is not " + std::string(by_numbers ? "symmetric" : "Hermitian") +
                 ", and solver " + method.name + " needs that: set up a solver with bicgstab");
}

Symmetry symmetry_of(const CsrView& A) {
  if (!A.is_complex()) {
    const bool mirrored = has_mirrors(A, std::equal_to<>()), is = mirrored || is_symmetric(A);
    return {is, is, mirrored};
  }
  std::atomic<bool> hermitian{true}, symmetric{true};
  for_parts(A.first_row, A.end_row(), [&](i64 first, i64 last) {
    for (i64 i = first; i < last && (hermitian || symmetric); i++) {
      Symmetry row = symmetry_of_row(A, i);
      if (!row.hermitian) hermitian = false;
      if (!row.symmetric) symmetric = false;
    }
  });
  return {.hermitian = hermitian, .symmetric = symmetric};
}

std::string name(const Symmetry& is) { return is.hermitian ? "hermitian" : is.symmetric ? "symmetric" : "general"; }

ChosenMethod choose_method(const System& s, const Options& o) {
  const MethodEntry* asked = o.solver == "auto" ? nullptr : &method(o.solver);
  if (asked) require_fit(*asked, s, o, {});
  auto is = checked(s, o, asked ? s.A.is_complex() && asked->needs_spd : true);
  const Automatic taken = asked            ? Automatic{asked->name, "asked for"}
                          : s.has_coarse() ? Automatic{"gmres", "the preconditioner is another operator in each step"}
                          : is             ? automatic(s, o, *is)
                                           : Automatic{"bicgstab", unknown};
  const MethodEntry& m = method(taken.name);
  require_fit(m, s, o, is);
  return {&m, taken.why, is ? name(*is) : "", is && is->mirrored};
}

}  // namespace sordino
