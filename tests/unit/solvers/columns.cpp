// Solves of several columns at once, beside those of each column alone: the same bits of x, the same histories, restarts and
// statuses, whatever stands in the other columns.
#include <cmath>

#include "check.hpp"
#include "sordino/hmatrix/hmatrix_operator.hpp"
#include "sordino/precond/given.hpp"
#include "sordino/precond/jacobi.hpp"
#include "sordino/runtime/host/engine.hpp"
#include "sordino/runtime/model/engine.hpp"
#include "sordino/solvers/columns_driver.hpp"
#include "unit/fresh.hpp"
#include "unit/hmatrix/dense.hpp"
#include "unit/linalg/products.hpp"

using namespace sordino;
using hmatrix::Distribution, hmatrix::HMatrix, hmatrix::HMatrixOperator;

namespace {

using Vectors = std::vector<std::vector<double>>;

HMatrix sphere(int m0, int M) {
  return HMatrix(bem::Laplace(surfaces::sphere(m0, M).view()), hmatrix::BuildOptions{.compression = {.eps = 1e-6}});
}

/// Rows on a line: [[-1, -1, 1], [-2, -3, 3], [3, -1, -3]], for which bicgstab breaks down with b = (0, 0, 2) after one step
/// that takes away most of the residual; then a turn by a quarter, [[0, 1], [-1, 0]], for which it breaks down at once; then a
/// matrix that it solves.
struct Blocks final : hmatrix::Generator {
  std::vector<double> where;
  explicit Blocks(i64 n) {
    for (i64 i = 0; i < n; i++) where.insert(where.end(), {double(i), 0, 0});
  }
  i64 size() const override { return i64(where.size()) / 3; }
  const double* points() const override { return where.data(); }
  static double entry(i32 i, i32 j) {
    constexpr double first[3][3] = {{-1, -1, 1}, {-2, -3, 3}, {3, -1, -3}};
    if (i < 3 && j < 3) return first[i][j];
    if (i < 5 && j < 5 && i > 2 && j > 2) return i - j;
    if (i < 5 || j < 5) return 0;
    return i == j ? 4 + i % 3 : i - j == 1 ? -1 : j - i == 1 ? 1.5 : 0;
  }
  void entries(std::span<const i32> rows, std::span<const i32> columns, double* out) const override {
    for (i32 i : rows)
      for (i32 j : columns) *out++ = entry(i, j);
  }
};
HMatrix blocks(i64 n) { return HMatrix(Blocks(n), hmatrix::BuildOptions{.compression = {.eps = 1e-13}}); }

/// In the tree's order.
std::vector<double> ordered(const HMatrix& H, const std::vector<double>& b) {
  std::vector<double> turned;
  for (i32 i : H.tree().order) turned.push_back(b[std::size_t(i)]);
  return turned;
}

struct How {
  Distribution distribution = Distribution::rows;
  bool jacobi = true;
  int check_every = 5;
};

/// M^-1, on a space of H's rows.
std::unique_ptr<Preconditioner> diagonal(Rank& s, const HMatrix& H, int space, const How& how) {
  if (!how.jacobi) return std::make_unique<Identity>();
  std::vector<double> d = H.diagonal();
  for (double& v : d) v = 1 / v;
  return std::make_unique<GivenDiagonal>(s, space, d.data());
}

struct Solved {
  Vectors x;
  std::vector<SolveOutcome> out;
};

Solved alone(Engine& engine, const HMatrix& H, const Vectors& B, const Vectors& X0, const SolveControl& control,
             const How& how) {
  Solved all{Vectors(B.size(), std::vector<double>(std::size_t(H.size()))), std::vector<SolveOutcome>(B.size())};
  engine.run([&](Rank& s) {
    const HMatrixOperator A(s, H, hmatrix::balance(H, s.size()), how.distribution);
    const auto M = diagonal(s, H, A.space(), how);
    Driver driver(s, A, *M, method("bicgstab"), how.check_every, 0);
    const i64 first = driver.space().first_row;
    for (std::size_t k = 0; k < B.size(); k++) {
      auto out = driver.solve(B[k].data() + first, X0[k].empty() ? nullptr : X0[k].data() + first, control);
      driver.read_solution(all.x[k].data() + first);
      if (s.id() == 0) all.out[k] = out;
    }
  });
  return all;
}

Solved at_once(Engine& engine, const HMatrix& H, const Vectors& B, const Vectors& X0, const SolveControl& control,
               const How& how, int columns, int solves = 1) {
  Solved all{Vectors(B.size(), std::vector<double>(std::size_t(H.size()))), {}};
  engine.run([&](Rank& s) {
    const Partition p = hmatrix::balance(H, s.size());
    const HMatrixOperator single(s, H, p, how.distribution);
    const auto A = single.of_columns(s, H, p, how.distribution, columns);
    const auto M = diagonal(s, H, s.space(A.space()).numbers, how);
    columns::ColumnsDriver driver(s, A, M->diagonal(), how.check_every);
    const i64 first = driver.space().first_row;
    std::vector<const double*> b, x0;
    std::vector<double*> x;
    for (std::size_t k = 0; k < B.size(); k++) {
      b.push_back(B[k].data() + first);
      x0.push_back(X0[k].empty() ? nullptr : X0[k].data() + first);
      x.push_back(all.x[k].data() + first);
    }
    const int compiled = s.compilations();
    for (int solve = 0; solve < solves; solve++) {
      auto out = driver.solve(b, x0, control);
      if (s.id() == 0) all.out = out;
    }
    CHECK(s.compilations() == compiled);
    driver.read_solutions(x);
  });
  return all;
}

bool same_bits_or_nans(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); i++)
    if (!(a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i])))) return false;
  return true;
}

void check_same(const Solved& found, const Solved& expected) {
  REQUIRE(found.out.size() == expected.out.size());
  for (std::size_t k = 0; k < found.out.size(); k++) {
    NOTE("column ", k);
    const SolveOutcome &one = found.out[k], &other = expected.out[k];
    CHECK(name(one.status) == std::string(name(other.status)));
    CHECK(one.reason == other.reason);
    CHECK(one.iterations == other.iterations);
    CHECK(same_bits_or_nans(one.history, other.history));
    CHECK(one.recoveries.size() == other.recoveries.size());
    CHECK(same_bits_or_nans({one.b_norm, one.residual_norm}, {other.b_norm, other.residual_norm}));
    CHECK(same_bits_or_nans(found.x[k], expected.x[k]));
  }
}

double residual(const HMatrix& H, const std::vector<double>& b, const std::vector<double>& x) {
  const auto Ax = dense::times(dense::of(H), x);
  return dense::distance(b, Ax) / dense::norm(b);
}

model::Options described(int ranks) {
  model::Options o;
  o.ranks = ranks;
  return o;
}

}  // namespace

TEST("1, 2, 3, 5 and 8 columns have the bits that each has alone, and their own histories, on 1, 2 and 3 ranks") {
  NOTE(fresh::said());
  fresh::Random random(170);
  for (auto [m0, M] : {std::pair{3, 1}, {3, 3}, {7, 5}}) {
    const HMatrix H = sphere(m0, M);
    Vectors B, X0(8);
    for (int k = 0; k < 8; k++) B.push_back(random.normals(H.size()));
    X0[1] = random.normals(H.size());
    for (int ranks : {1, 2, 3}) {
      HostEngine engine({.ranks = ranks, .timeout = 20});
      const How how{.distribution = ranks == 2 ? Distribution::leaves : Distribution::rows, .jacobi = ranks < 3};
      const SolveControl control{.rtol = 1e-9, .max_iterations = 500};
      const Solved expected = alone(engine, H, B, X0, control, how);
      for (std::size_t k = 0; k < 8; k++) CHECK(residual(H, B[k], expected.x[k]) <= 1.01e-9);
      for (auto [count, width] : {std::pair{1, 2}, {2, 2}, {3, 4}, {5, 8}, {8, 8}, {2, 8}}) {
        NOTE("n = ", H.size(), ", ", ranks, " ranks, ", count, " columns of ", width);
        auto first = [&](const auto& all) { return std::vector(all.begin(), all.begin() + count); };
        check_same(at_once(engine, H, first(B), first(X0), control, how, width), {first(expected.x), first(expected.out)});
      }
    }
  }
}

TEST("the model solves columns with the bits of the host, in any order of events, and in a grid of leaves") {
  NOTE(fresh::said());
  fresh::Random random(171);
  const HMatrix H = sphere(5, 4);
  const Vectors B{random.normals(H.size()), random.normals(H.size()), std::vector<double>(std::size_t(H.size()), 1.0)};
  const SolveControl control{.rtol = 1e-8, .max_iterations = 500};
  const How how{.distribution = Distribution::grid};
  HostEngine host({.ranks = 4, .timeout = 20});
  const Solved expected = at_once(host, H, B, Vectors(3), control, how, 4);
  check_same(expected, alone(host, H, B, Vectors(3), control, how));
  for (u64 seed = 0; seed < 3; seed++) {
    NOTE("seed = ", seed);
    model::Options o = described(4);
    o.seed = seed;
    o.machine.jitter_s = 5e-6;
    model::ModelEngine engine(o);
    check_same(at_once(engine, H, B, Vectors(3), control, how, 4), expected);
  }
}

TEST("columns that are zero, solved by their first guess, broken down, restarted or NaN leave the others as they are") {
  NOTE(fresh::said());
  fresh::Random random(172);
  for (i64 n : {7, 23, 61}) {
    const HMatrix H = blocks(n);
    auto unit = [&](i64 row, double value) {
      std::vector<double> v(std::size_t(n), 0.0);
      v[std::size_t(row)] = value;
      return ordered(H, v);
    };
    std::vector<double> plain = random.normals(n);
    for (std::size_t i = 0; i < 5; i++) plain[i] = 0;
    plain = ordered(H, plain);
    const std::vector<double> x = unit(5, 2), solved = dense::times(dense::of(H), x);
    std::vector<double> spoilt = plain;
    spoilt[std::size_t(n) / 2] = std::nan("");
    //                    restarts       breaks down    zero                                  met at once
    const Vectors B{plain, unit(2, 2), unit(3, 1), std::vector<double>(std::size_t(n), 0.0), solved, spoilt, unit(6, 1)};
    Vectors X0(B.size());
    X0[3] = plain, X0[4] = x;
    const SolveControl control{.rtol = 1e-10, .max_iterations = 200};
    const How how{.jacobi = false};
    for (int ranks : {1, 2}) {
      NOTE("n = ", n, ", ", ranks, " ranks");
      HostEngine engine({.ranks = ranks, .timeout = 20});
      const Solved found = at_once(engine, H, B, X0, control, how, 8, 2);
      check_same(found, alone(engine, H, B, X0, control, how));
      CHECK(found.out[0].status == Status::converged);
      CHECK(found.out[1].status == Status::converged);
      CHECK(found.out[1].recoveries.size() == 1);
      CHECK(found.out[2].status == Status::breakdown);
      CHECK(found.out[3].status == Status::converged);
      CHECK(found.x[3] == std::vector<double>(std::size_t(n), 0.0));
      CHECK(found.out[4].iterations == 0);
      CHECK(same_bits(found.x[4], x));
      CHECK(found.out[5].status == Status::diverged);
      CHECK(found.out[6].status == Status::converged);
      model::ModelEngine model(described(ranks));
      check_same(at_once(model, H, B, X0, control, how, 8), found);
    }
  }
}

TEST("columns end at the maximum of iterations with the best x, and where rounding leaves no more, as each alone does") {
  NOTE(fresh::said());
  fresh::Random random(173);
  HostEngine engine({.ranks = 2, .timeout = 20});
  const HMatrix smooth = sphere(5, 4), rough = blocks(37);
  for (const HMatrix* H : {&smooth, &rough}) {
    const Vectors B{random.normals(H->size()), std::vector<double>(std::size_t(H->size()), 1.0), random.normals(H->size())};
    auto check = [&](const SolveControl& control, const How& how) {
      NOTE("n = ", H->size(), ", at most ", control.max_iterations, " iterations, to ", control.rtol);
      check_same(at_once(engine, *H, B, Vectors(3), control, how, 4), alone(engine, *H, B, Vectors(3), control, how));
    };
    for (int most : {1, 2, 3, 4, 5, 7, 9, 12})
      check({.rtol = 1e-13, .max_iterations = most}, {.jacobi = H == &smooth, .check_every = 1});
    for (int most : {200, 2000})
      for (int every : {3, 50, 1000})
        check({.rtol = 1e-30, .max_iterations = most}, {.jacobi = H == &smooth, .check_every = every});
  }
}

TEST("a stop ends all columns, and each says why") {
  const HMatrix H = sphere(5, 4);
  const Vectors B{std::vector<double>(std::size_t(H.size()), 1.0), std::vector<double>(std::size_t(H.size()), 0.0)};
  HostEngine engine({.ranks = 2, .timeout = 20});
  engine.request_stop();
  engine.run([&](Rank& s) {
    const Partition p = hmatrix::balance(H, s.size());
    const auto A = HMatrixOperator(s, H, p).of_columns(s, H, p, Distribution::rows, 2);
    columns::ColumnsDriver driver(s, A, Scaling{}, 32);
    const i64 first = driver.space().first_row;
    const auto out =
        driver.solve({B[0].data() + first, B[1].data() + first}, {nullptr, nullptr},
                     {.rtol = 1e-300, .max_iterations = 1 << 30, .stop_reason = [] { return Status::time_limit; }});
    CHECK(name(out[0].status) == std::string(name(Status::time_limit)));
    CHECK(out[0].iterations < 3);
    CHECK(out[1].status == Status::converged);
  });
}

TEST("solvers of columns refuse other numbers of columns and products of one") {
  const HMatrix H = sphere(3, 2);
  HostEngine engine({.ranks = 1, .timeout = 20});
  engine.run([&](Rank& s) {
    const Partition p = hmatrix::balance(H, 1);
    const HMatrixOperator single(s, H, p);
    CHECK_THROWS(columns::ColumnsDriver(s, single, Scaling{}, 32), Error, "is no product of columns");
    const auto A = single.of_columns(s, H, p, Distribution::rows, 2);
    columns::ColumnsDriver driver(s, A, Scaling{}, 32);
    const double b = 0;
    CHECK_THROWS(driver.solve({&b, &b, &b}, {nullptr, nullptr, nullptr}, {}), Error, "3 columns");
    CHECK_THROWS(driver.solve({}, {}, {}), Error, "0 columns");
  });
}
