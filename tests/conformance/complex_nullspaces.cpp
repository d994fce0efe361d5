// Singular complex systems whose nullspace is known: every method that takes complex systems, engines and numbers of ranks.
#include "check.hpp"
#include "complex_problems.hpp"
#include "unit/api/hmatrix_systems.hpp"

using complex_problems::Value;
using Vector = std::vector<Value>;

namespace {

/// L B R, of diagonals L and R and Laplacians B of two boxes with zero flux through all faces, which do not touch.
struct Singular {
  std::string symmetry;
  CsrMatrix A;
  std::vector<Vector> right, left;  // what A and A^H map to zero
};

std::vector<double> words(const Vector& v) {
  std::vector<double> w;
  for (Value x : v) w.insert(w.end(), {x.real(), x.imag()});
  return w;
}

Vector numbers(const std::vector<double>& w) {
  Vector v;
  for (std::size_t i = 0; i < w.size(); i += 2) v.emplace_back(w[i], w[i + 1]);
  return v;
}

Basis basis(const std::vector<Vector>& vectors) {
  Basis all{int(vectors.size()), 2 * i64(vectors[0].size()), 0, {}};
  for (auto& v : vectors)
    for (double w : words(v)) all.values.push_back(w);
  return all;
}

Value product(const Vector& u, const Vector& v) {  // u^H v
  Value sum = 0;
  for (std::size_t i = 0; i < v.size(); i++) sum += std::conj(u[i]) * v[i];
  return sum;
}

double norm(const Vector& v) { return std::sqrt(product(v, v).real()); }

Vector random_vector(fresh::Random& random, std::size_t n) { return numbers(random.normals(2 * i64(n))); }

Vector times(const CsrMatrix& A, const Vector& x) {
  Vector y(x.size());
  for (std::size_t i = 0; i < y.size(); i++)
    for (i64 k = A.indptr[i]; k < A.indptr[i + 1]; k++)
      y[i] += Value(A.values[std::size_t(2 * k)], A.values[std::size_t(2 * k + 1)]) * x[std::size_t(A.indices[std::size_t(k)])];
  return y;
}

Singular singular(fresh::Random& random, const std::string& symmetry) {
  const CsrMatrix boxes[] = {neumann(poisson(7, 5, 3, 7, 1.0)), neumann(poisson(5, 4, 2, 7, 10.0))};
  complex_problems::Rows rows;
  std::vector<std::size_t> box;
  for (auto& B : boxes) {
    const std::size_t first = rows.size();
    for (auto& row : matrices::rows(B)) {
      rows.emplace_back();
      for (auto& [column, value] : row) rows.back()[i32(first) + column] = value;
      box.push_back(std::size_t(&B - boxes));
    }
  }
  const double turn = symmetry == "symmetric" ? 0.4 : std::numbers::pi;  // cocg wants r^T z to stay away from zero
  Vector R, L;
  for (std::size_t i = 0; i < rows.size(); i++) {
    R.push_back(std::polar(random.real(0.5, 2), random.real(-turn, turn)));
    const Value other = std::polar(random.real(0.5, 2), random.real(-turn, turn));
    L.push_back(symmetry == "hermitian" ? std::conj(R[i]) : symmetry == "symmetric" ? R[i] : other);
  }
  Singular s{symmetry, {}, std::vector<Vector>(2, Vector(rows.size())), std::vector<Vector>(2, Vector(rows.size()))};
  for (std::size_t i = 0; i < rows.size(); i++) {
    for (auto& [column, value] : rows[i]) value *= L[i] * R[std::size_t(column)];
    s.right[box[i]][i] = 1.0 / R[i];
    s.left[box[i]][i] = 1.0 / std::conj(L[i]);
  }
  s.A = complex_problems::csr(rows);
  return s;
}

/// b = A x + what is outside the range of A, and that x, which is orthogonal to the nullspace.
struct Sides {
  Vector x, b;
  double outside;

  Sides(fresh::Random& random, const Singular& s) : x(random_vector(random, s.right[0].size())) {
    for (auto& v : s.right) {
      const Value c = product(v, x) / product(v, v);
      for (std::size_t i = 0; i < x.size(); i++) x[i] -= c * v[i];
    }
    b = times(s.A, x);
    Vector rest(x.size());
    for (auto& v : s.left) {
      const Value c(random.normal(), random.normal());
      for (std::size_t i = 0; i < x.size(); i++) rest[i] += c * v[i];
    }
    for (std::size_t i = 0; i < x.size(); i++) b[i] += rest[i];
    outside = norm(rest);
  }
};

void check_solution(const Singular& s, const Sides& sides, const Solved& solved) {
  NOTE(solved.report.reason);
  CHECK(solved.report.status == Status::converged);
  CHECK_NEAR(solved.report.outside_norm, sides.outside, 1e-10 * sides.outside);
  CHECK(solved.report.reason.find("outside the range of A") != std::string::npos);
  Vector x = numbers(solved.x);
  for (auto& v : s.right) CHECK(std::abs(product(v, x)) < 1e-12 * norm(v) * norm(x));
  for (std::size_t i = 0; i < x.size(); i++) x[i] -= sides.x[i];
  CHECK(norm(x) < 1e-6 * norm(sides.x));
}

System system_of(const Singular& s) {
  System system{.A = s.A.view()};
  system.nullspace.right = basis(s.right);
  if (s.symmetry != "hermitian") system.nullspace.left = basis(s.left);
  return system;
}

Options tight(const std::string& method, const std::string& engine, int ranks) {
  Options o = options(method, engine, ranks);
  o.rtol = 1e-10;
  return o;
}

Solved solve(const System& system, const Options& o, const Vector& b) {
  Solver solver(system, o);
  return problems::solve(solver, words(b));
}

/// Entries of A, at points of a line, in blocks.
struct Entries final : hmatrix::GeneratorOf<hmatrix::Number> {
  explicit Entries(const CsrMatrix& A) : n(A.n), all(std::size_t(A.n * A.n)), where(std::size_t(3 * A.n)) {
    for (i64 i = 0; i < n; i++) where[std::size_t(3 * i)] = double(i);
    for (i64 i = 0; i < n; i++)
      for (i64 k = A.indptr[std::size_t(i)]; k < A.indptr[std::size_t(i) + 1]; k++)
        all[std::size_t(i * n + A.indices[std::size_t(k)])] = {A.values[std::size_t(2 * k)], A.values[std::size_t(2 * k + 1)]};
  }
  i64 size() const override { return n; }
  const double* points() const override { return where.data(); }
  void entries(std::span<const i32> rows, std::span<const i32> columns, hmatrix::Number* out) const override {
    for (i32 i : rows)
      for (i32 j : columns) *out++ = all[std::size_t(i * n + j)];
  }

  i64 n;
  std::vector<hmatrix::Number> all;
  std::vector<double> where;
};

}  // namespace

TEST("singular complex systems are solved by every method that takes them, with the same bits on any number of ranks") {
  NOTE(fresh::said());
  fresh::Random random(510);
  for (const char* symmetry : {"hermitian", "symmetric", "general"}) {
    const Singular s = singular(random, symmetry);
    const Sides sides(random, s);
    for (auto& m : methods()) {
      if (!complex_problems::takes(m, {"", symmetry, {}, {}, {}})) continue;
      if (m.name == "richardson") continue;  // no diagonal is near enough
      Solved first;
      for (const char* engine : {"host", "model"})
        for (int ranks : {1, 2, 3, 5}) {
          NOTE(symmetry, ", ", m.name, ", ", engine, ", ", ranks, " ranks");
          Solved solved = solve(system_of(s), tight(m.name, engine, ranks), sides.b);
          check_solution(s, sides, solved);
          if (first.x.empty()) first = solved;
          CHECK(same_bits(solved.x, first.x));
        }
    }
  }
}

TEST("functions, preconditioners that are no diagonal and H-matrices have complex nullspaces, too") {
  NOTE(fresh::said());
  fresh::Random random(511);
  const Singular s = singular(random, "hermitian");
  const Sides sides(random, s);
  const std::size_t n = sides.x.size();
  auto function = [&](const double* from, double* to) {
    const auto y = words(times(s.A, numbers(std::vector<double>(from, from + 2 * n))));
    std::copy(y.begin(), y.end(), to);
  };
  auto shift = [&](const double* from, double* to) {  // Hermitian, definite, and drives x along a null vector
    const Vector x = numbers(std::vector<double>(from, from + 2 * n)), &v = s.right[0];
    const Value c = 1e3 * product(v, x);
    Vector y = x;
    for (std::size_t i = 0; i < n; i++) y[i] += c * v[i];
    const auto w = words(y);
    std::copy(w.begin(), w.end(), to);
  };
  System by_function = system_of(s);
  by_function.product = function, by_function.preconditioner = shift;
  by_function.A = {.n = s.A.n, .words = 2};
  for (int ranks : {1, 3}) {
    for (const char* method : {"cg", "gropp", "bicgstab"}) {
      NOTE("as a function, ", method, ", ", ranks, " ranks");
      check_solution(s, sides, solve(by_function, tight(method, "host", ranks), sides.b));
    }
    NOTE("as an H-matrix, ", ranks, " ranks");
    const Entries entries(s.A);
    const hmatrix::ComplexHMatrix H(entries, {.compression = {.eps = 1e-12}});
    const auto& order = H.tree().order;
    auto in_tree = [&](const Vector& v) {
      Vector w;
      for (i32 point : order) w.push_back(v[std::size_t(point)]);
      return w;
    };
    System compressed;
    compressed.complex_hmatrix = &H;
    compressed.A = {.n = H.size(), .words = 2};
    compressed.nullspace.right = basis({in_tree(s.right[0]), in_tree(s.right[1])});
    Options o = tight("bicgstab", "host", ranks);
    o.rtol = 1e-9;
    Solved solved = solve(compressed, o, in_tree(sides.b));
    std::vector<double> back(solved.x.size());
    for (std::size_t i = 0; i < n; i++)
      for (std::size_t word : {0, 1}) back[2 * std::size_t(order[i]) + word] = solved.x[2 * i + word];
    solved.x = back;
    check_solution(s, sides, solved);
    compressed.nullspace.right = basis({s.left[0], random_vector(random, n)});
    CHECK(hmatrix_systems::refusal(compressed, o).starts_with("nullspace: A does not map vector "));
  }
}

TEST("the word constant, real vectors, and memory that is foretold") {
  NOTE(fresh::said());
  fresh::Random random(512);
  Singular s{"symmetric", neumann(poisson(6, 5, 3, 7, 1.0)), {}, {}};
  std::vector<double> turned;
  for (double v : s.A.values) turned.insert(turned.end(), {v, 0.5 * v});
  s.A.values = turned, s.A.words = 2;
  s.right = s.left = {Vector(std::size_t(s.A.n), 1.0)};
  const Sides sides(random, s);
  for (const char* method : {"cocg", "bicgstab"}) {
    Options o = tight(method, "host", 2);
    const System real{.A = s.A.view(), .nullspace = {.right = {1, s.A.n, 0, std::vector<double>(std::size_t(s.A.n), 3.0)}}};
    check_solution(s, sides, solve(real, o, sides.b));
    o.nullspace = "constant";
    const System word{.A = s.A.view()};
    check_solution(s, sides, solve(word, o, sides.b));
    const std::vector<i64> foretold = estimate_memory(word, o, 2, false);
    o.nullspace = "none";
    CHECK(foretold == estimate_memory(real, o, 2, false));
    CHECK(foretold[0] >= estimate_memory({.A = s.A.view()}, o, 2, false)[0] + 8 * 4 * s.A.n / 2);
  }
}

TEST("what is no nullspace of a complex matrix is refused, and what its conjugate transpose has is asked for") {
  NOTE(fresh::said());
  fresh::Random random(513);
  auto refused = [&](const System& system, const char* sentence) {
    CHECK_THROWS(Solver(system, options("auto", "host", 2)), Error, sentence);
  };
  const Singular hermitian = singular(random, "hermitian"), symmetric = singular(random, "symmetric");
  System s = system_of(hermitian);
  Vector conjugate = hermitian.right[1];
  for (Value& v : conjugate) v = std::conj(v);
  s.nullspace.right = basis({hermitian.right[0], conjugate});
  refused(s, "nullspace: A does not map vector 1 (counted from 0) to zero: ||A n||");
  s.nullspace.right.rows = 7;
  refused(s, "nullspace has vectors of 7 rows, the matrix 145, of two words each");
  s = system_of(symmetric);
  s.nullspace.left = {};
  refused(s, "A is not Hermitian, so its conjugate transpose has another nullspace: give left_nullspace, too (where A^T = A,");
  s.nullspace.left = s.nullspace.right;
  refused(s, "left_nullspace: the conjugate transpose of A does not map vector 0 (counted from 0) to zero: ||A^H n||");

  Solver solver(system_of(hermitian), options("cg", "host", 2));
  CsrMatrix other = hermitian.A;
  for (i64 i = 0; i < other.n; i++)
    for (i64 k = other.indptr[std::size_t(i)]; k < other.indptr[std::size_t(i) + 1]; k++)
      if (other.indices[std::size_t(k)] == i) other.values[std::size_t(2 * k)] += 1;
  CHECK_THROWS(solver.update_values(other.values.data()), Error, "does not map vector 0");
  CHECK(problems::solve(solver, words(hermitian.right[0])).report.reason.find("no part in the range of A") !=
        std::string::npos);
}
