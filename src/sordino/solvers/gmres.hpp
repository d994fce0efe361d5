// GMRES(m) (Saad & Schultz, SIAM J. Sci. Stat. Comput. 7(3), 1986) with M on the right, and one reduction a step: classical
// Gram-Schmidt whose second pass is delayed to the next step (DCGS2: Swirydowicz, Langou, Ananthan, Yang & Thomas, Numer.
// Linear Algebra Appl. 28, 2021). Where M is an operator its results are kept, which makes it flexible GMRES (Saad, SIAM J.
// Sci. Comput. 14(2), 1993): M may then be another one in each step.
//
// Per iteration: 1 operator, 1 halo, 1 preconditioner, 1 reduction, exposed. Products are taken in t tiles of 8 vectors, where
// t is (m + 2) / 8 rounded up: so the reduction has 16 t values, and the vector traffic beyond the operator is m + 2 t + 6 n
// words on the average of a cycle; workspace (m + 3) n. Where z are kept they are m n words more. x lags until its cycle ends.
//
// An iteration is a round of the loop, whatever its place in the cycle, which commands ask of the scalar `stored`: so the loop
// may be left after any of them, and what has no digits left begins a new cycle without the host. With u the next vector of V
// as the first pass left it, without its length, and z = M^-1 u, w = A z, all that the step needs is in the products of V, u
// and w with u and w:
//
//   s = V'u;  alpha^2 = (u,u) - s's;  q = (u - V s) / alpha      the second pass; s and alpha go to the column of H before
//   h = [V q]'w / alpha;  u_new = w / alpha - [V q] h            the first one, of the next vector
//
// H is that of A M^-1 (u / alpha), not of q, so that no product with H corrects it; S says how u is made of V. The last column
// has ||u_new|| from ||w|| by Pythagoras until the next step knows better, so that no test waits for that one. Where it has
// less than half of the digits of ||w|| it is taken as that, which is too large: the test then passes a step late.
//
// Of complex systems the products conjugate their first vector, and a tile has 4 vectors, with as many values: t is (m + 2) /
// 4, and m at most 30. V is the value of a row, double or Number; all but V's vectors is counted in such values then.
#pragma once
#include <algorithm>
#include <cmath>

#include "sordino/solvers/hessenberg.hpp"
#include "sordino/solvers/number_steps.hpp"

namespace sordino::gmres {

using hessenberg::conjugate, hessenberg::real_part, hessenberg::SmallOf;
using hessenberg::goes_on, hessenberg::is_stuck;
using hessenberg::LeastSquares, hessenberg::Orthogonalize, hessenberg::Solve, hessenberg::WeightsOf;
using hmatrix::words_of;
constexpr int values = 16;  // of a command's products: of a tile's vectors with u and with w
template <class V>
constexpr int side = values / 2 / words_of<V>;  // vectors of a tile
constexpr int most_tiles = 8;
template <class V>
constexpr int most_of = most_tiles * side<V> - 2;
constexpr int most_m = most_of<double>, most_complex_m = most_of<Number>;
constexpr i32 cpu_rows = 64;  // that a CPU computes together

/// Vectors one behind the other, in tiles as their products are taken: w and u, which lie elsewhere, come first. Which of them
/// a command touches hangs on the step, so that it says in cost() what it moves. T: V, or const V.
template <class T, Access how>
struct BasisOf {
  static constexpr int side = gmres::side<T>;
  Foreign<T, how> tile[most_tiles] = {};
  i64 rows = 0;  // of a vector

  BasisOf() = default;
  BasisOf(const std::vector<Vec>& tiles, i32 rows_here) : rows(rows_here) { std::copy(tiles.begin(), tiles.end(), tile); }
  SORDINO_HD static int begin(int t) { return t == 0 ? 0 : t * side - 2; }
  SORDINO_HD T* vector(int t, int l) const { return tile[t].p + (l - begin(t)) * rows; }
  /// f(l, vector) of the first n.
  template <class F>
  SORDINO_HD void each(int n, const F& f) const {
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
    for (int t = 0; t < most_tiles; t++)
      for (int l = begin(t); l < begin(t + 1) && l < n; l++) f(l, vector(t, l));
  }
  SORDINO_HD T* last(int n) const { return vector((n + 2) / side, n); }  // vector n
  template <class F>
  SORDINO_HD void fields(F&& visit) {
    for (auto& t : tile) visit(t);
  }
};
template <class V>
using BasisIn = BasisOf<const V, Access::read>;
template <class V>
using Basis = BasisOf<V, Access::update>;

template <class V>
struct Begin {  // u = b - A x, of which a cycle begins;  z = M^-1 u, where M is a diagonal
  typename FieldsOf<V>::In b, Ax;
  typename FieldsOf<V>::Scaling d;
  typename FieldsOf<V>::Out u, z;
  Put stored;
  static constexpr double flops = words_of<V> == 1 ? 2 : 8;
  SORDINO_HD void head() { stored = 0; }
  SORDINO_HD void row(i32 i) {
    V ui = b[i] - Ax[i];
    u[i] = ui;
    if (z.p) z[i] = d[i] * ui;
  }
};

/// Products of the vectors of a tile, conjugated, with u and w. The first tile begins with these two.
template <class V, bool leads>
struct Project {
  static constexpr int others = leads ? 2 : 0, words = words_of<V>, side = gmres::side<V>;
  int first = 0, m = 0;  // vector of V in it
  i64 rows = 0;          // of this rank
  Get stored;
  typename FieldsOf<V>::In u, w;
  Foreign<const V, Access::read> basis = {};
  int count = 0;
  static constexpr int resident_blocks = gram::blocks_for(2 * values);
  template <class F>
  SORDINO_HD void fields(F&& visit) {
    visit(stored);
    visit(u);
    visit(w);
    visit(basis);
    visit(count);
  }
  SORDINO_HD void head() {
    const int left = int(stored) - first + others;
    count = left < 0 ? 0 : left < side ? left : side;
  }
  SORDINO_HD Sums<values> row(i32 i) {
    Sums<values> s{};
    if (count == 0) return s;
    const V ui = u[i], wi = w[i];
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
    for (int j = 0; j < side; j++) {
      if (j >= count) break;
      const V a = conjugate(vector(j)[i]);
      put(a * ui, s.v + 2 * words * j);
      put(a * wi, s.v + 2 * words * j + words);
    }
    return s;
  }
  template <int lanes>
  void add(i32 first_row, int here, double (&running)[values][lanes]) const {
    for (int j = 0; j < count; j++) {
      const V *a = vector(j) + first_row, *with_u = u.p + first_row, *with_w = w.p + first_row;
      double (*to)[lanes] = running + 2 * words * j;
#pragma GCC ivdep
      for (int l = 0; l < here; l++) {
        add_to(to, l, conjugate(a[l]) * with_u[l]);
        add_to(to + words, l, conjugate(a[l]) * with_w[l]);
      }
    }
  }
  /// Of the average step: vector l is there in m - 1 - l of m.
  Cost cost() const {
    double there = 0;
    for (int l = first; l < first + side - others && l < m; l++) there += double(m - 1 - l) / m;
    const double numbers = std::round(double(rows) * there);
    return {8 * words * numbers, 4 * words * words * (numbers + others * double(rows))};
  }

 private:
  SORDINO_HD const V* vector(int j) const { return j >= others ? basis.p + (j - others) * rows : j == 0 ? w.p : u.p; }
  SORDINO_HD static void put(double a, double* to) { to[0] = a; }
  SORDINO_HD static void put(Number a, double* to) { to[0] = a.re, to[1] = a.im; }
  template <int lanes>
  static void add_to(double (*to)[lanes], int l, double a) {
    to[0][l] += a;
  }
  template <int lanes>
  static void add_to(double (*to)[lanes], int l, Number a) {
    to[0][l] += a.re, to[1][l] += a.im;
  }
};

/// Up to `most` rows: to += of[0] V_0 + of[1] V_1 + ...
template <class V, class B>
SORDINO_HD inline void add(V* to, const V* of, const B& basis, int n, i32 first, i32 here) {
  basis.each(n, [=](int l, const V* v) {
    for (i32 r = 0; r < here; r++) to[r] = to[r] + of[l] * v[first + r];
  });
}

/// q and u_new. Where a cycle ends x gets what it lacks, and r, of which the next one begins, is in u.
template <class V>
struct Update {
  int m;
  Get at, course;
  Put stored;
  SmallOf<V> weights;
  typename FieldsOf<V>::In w, kept_z = {};  // M^-1 u where M is an operator,
  typename FieldsOf<V>::Scaling d;          // and where it is not
  typename FieldsOf<V>::InOut u;
  typename FieldsOf<V>::Out z = {};
  Foreign<V, Access::update> x;
  Basis<V> basis, kept = {};  // V, and Z
  template <class F>
  SORDINO_HD void fields(F&& visit) {
    visit(at);
    visit(course);
    visit(stored);
    visit(weights);
    visit(w);
    visit(kept_z);
    visit(d);
    visit(u);
    visit(x);
    visit(z);
    basis.fields(visit);
    kept.fields(visit);
  }
  static constexpr int resident_blocks = 3;
  /// V once, and one more of it; at the end of a cycle x, V and, in its place for x, Z.
  Cost cost() const {
    const double rows = double(basis.rows), vectors = (m - 1) / 2.0, z_kept = kept_z.id < 0 ? 0 : 1;
    const double moved = std::round(rows * (vectors + 1 + z_kept + (2 + (1 + z_kept) * (m - 1)) / m));
    return {double(sizeof(V)) * moved, words_of<V> * words_of<V> * rows * (4 * vectors + 5)};
  }
  SORDINO_HD void head() { stored = course == goes_on ? at + 1 : 0; }
  SORDINO_HD void row(i32 i) const { make<1>(i, 1); }
  void block(i32 begin, i32 end) const {
    for (i32 first = begin; first < end; first += cpu_rows) make<cpu_rows>(first, std::min(cpu_rows, end - first));
  }
  void done(i32) const {}

 private:
  SORDINO_HD WeightsOf<const V> by() const { return {m, weights.p}; }

  template <int most>
  SORDINO_HD void make(i32 first, i32 here) const {
    const int n = int(at);
    const double inverse = real_part(by().inverse());
    const V *of_q = by().of_q(), *of_next = by().of_next();
    V q[most], next[most];
    for (i32 r = 0; r < here; r++) {
      q[r] = u[first + r] * inverse;
      next[r] = w[first + r] * inverse;
    }
    basis.each(n, [&](int l, const V* v) {
      for (i32 r = 0; r < here; r++) {
        q[r] = q[r] - of_q[l] * v[first + r];
        next[r] = next[r] - of_next[l] * v[first + r];
      }
    });
    for (i32 r = 0; r < here; r++) next[r] = next[r] - of_next[n] * q[r];
    if (course == goes_on)
      keep(q, inverse, n, first, here);
    else
      begin_anew<most>(q, next, n, first, here);
    for (i32 r = 0; r < here; r++) {
      u[first + r] = next[r];
      if (z.p) z[first + r] = d[first + r] * next[r];
    }
  }
  SORDINO_HD void keep(const V* q, double inverse, int n, i32 first, i32 here) const {
    V* v = basis.last(n);
    for (i32 r = 0; r < here; r++) v[first + r] = q[r];
    if (!kept_z.p) return;
    V* to = kept.last(n);
    for (i32 r = 0; r < here; r++) to[first + r] = kept_z[first + r] * inverse;
  }
  template <int most>
  SORDINO_HD void begin_anew(const V* q, V* next, int n, i32 first, i32 here) const {
    const V of_u = by().of_x()[m], of_q = by().of_r()[n], of_next = by().of_r()[m + 1];
    V to_x[most];
    for (i32 r = 0; r < here; r++) {
      to_x[r] = of_u * (kept_z.p ? kept_z[first + r] : u[first + r]);
      next[r] = of_q * q[r] + of_next * next[r];
    }
    add(to_x, by().of_x(), kept_z.p ? kept : basis, n, first, here);
    add(next, by().of_r(), basis, n, first, here);
    for (i32 r = 0; r < here; r++) x[first + r] = x[first + r] + (kept_z.p ? to_x[r] : d[first + r] * to_x[r]);
  }
};

/// x gets what Solve says.
template <class V>
struct Advance {
  int m;
  bool with_u;
  Get stored;
  SmallOf<V> weights;
  typename FieldsOf<V>::In u;  // or z, where M is an operator
  typename FieldsOf<V>::Scaling d;
  typename FieldsOf<V>::InOut x;
  BasisIn<V> basis;  // or Z
  template <class F>
  SORDINO_HD void fields(F&& visit) {
    visit(stored);
    visit(weights);
    visit(u);
    visit(d);
    visit(x);
    basis.fields(visit);
  }
  Cost cost() const {
    constexpr int words = words_of<V>;
    return {4.0 * words * double(basis.rows) * m, words * words * double(basis.rows) * (m + 3)};
  }
  SORDINO_HD void row(i32 i) const {
    const V* of = WeightsOf<const V>{m, weights.p}.of_x();
    V sum = with_u ? of[m] * u[i] : V{0};
    add(&sum, of, basis, int(stored), i, 1);
    x[i] = x[i] + d[i] * sum;
  }
};

/// Leaves the loop where nothing was left of u in a cycle that has not lowered (r,r): of what A makes of it there is no more.
struct Lowered {
  Get rr, course, target, bound;
  SORDINO_HD int test() const {
    if (!(rr <= bound)) return blew_up;
    if (rr <= target) return met;
    return course == is_stuck ? broke_down : proceed;
  }
  SORDINO_HD double value() const { return rr; }
};

template <class V>
using StepKernels =
    KernelList<Kernel<Begin<V>>, Kernel<Project<V, true>>, Kernel<Project<V, false>>, Kernel<hessenberg::Orthogonalize<V>>,
               Kernel<Update<V>, Lowered>, Kernel<hessenberg::Solve<V>>, Kernel<Advance<V>>>;

struct Gmres final : Method {
  static constexpr const char *name = "gmres", *matrix = "general";
  static constexpr const char* summary = "restarted GMRES, flexible where M is an operator: one exposed reduction";
  static constexpr bool replicated = false, any_preconditioner = true, flexible = true;
  static constexpr bool stays = false;     // so many kinds of commands would make a kernel that is slow in all of them
  static constexpr bool scalable = false;  // r is there where cycles begin
  static constexpr Factors complex = Factors::of_numbers;
  explicit Gmres(const Problem& problem);
  using kernels = decltype(joined(joined(StepKernels<double>{}, StepKernels<Number>{}), KernelList<Kernel<gram::Keep>>{}));

 private:
  template <class V>
  void record(const Problem& problem);
};

}  // namespace sordino::gmres
