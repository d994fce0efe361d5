// Solvers of H-matrices: all methods for general matrices on any number of ranks, and what is refused.
#include "sordino/hmatrix/hmatrix.hpp"

#include "check.hpp"
#include "conformance/problems.hpp"
#include "sordino/base/error.hpp"
#include "sordino/bem/helmholtz.hpp"
#include "sordino/hmatrix/host_product.hpp"
#include "sordino/solvers/gmres.hpp"
#include "unit/api/hmatrix_systems.hpp"
#include "unit/hmatrix/dense.hpp"

TEST("every Krylov method for general matrices solves an H-matrix's system on 1, 2, 3 and 7 ranks, with and without Jacobi") {
  NOTE(fresh::said());
  fresh::Random random(90);
  const auto b = random.normals(sphere().size());
  const auto all = dense::of(sphere());
  for (const MethodEntry& m : methods()) {
    if (m.needs_spd || std::string(m.name) == "richardson") continue;  // which needs an M that is nearer to A
    for (const char* precond : {"none", "jacobi"})
      for (int ranks : {1, 2, 3, 7}) {
        NOTE(m.name, ", ", precond, ", ", ranks, " ranks");
        Options o = options(m.name, "host", ranks);
        o.precond = precond;
        o.rtol = 1e-9;
        std::vector<double> x(b.size());
        const Report r = Solver(system_of(sphere()), o).solve(b.data(), x.data());
        CHECK(r.status == Status::converged);
        CHECK(dense::distance(dense::times(all, x), b) <= 1.01e-9 * dense::norm(b));
      }
  }
}

TEST("block Jacobi and BiCGStab with a coarser H-matrix save iterations on any number of ranks") {
  NOTE(fresh::said());
  fresh::Random random(95);
  const hmatrix::HMatrix coarse(bem::Laplace(surfaces::sphere(5, 8).view()), {.compression = {.eps = 1e-1}});
  const auto b = random.normals(sphere().size());
  const auto all = dense::of(sphere());
  for (int ranks : {1, 2, 3, 7}) {
    auto iterations = [&](const char* solver, const char* precond, const hmatrix::HMatrix* M, int inner = 20) {
      NOTE(solver, ", ", precond, M ? ", coarse" : "", ", ", ranks, " ranks");
      Options o = options(solver, "host", ranks);
      o.precond = precond;
      o.rtol = 1e-9;
      o.inner = inner;
      System s = system_of(sphere());
      s.coarse = M;
      std::vector<double> x(b.size());
      const Report r = Solver(s, o).solve(b.data(), x.data());
      CHECK(r.status == Status::converged);
      CHECK(dense::distance(dense::times(all, x), b) <= 1.01e-9 * dense::norm(b));
      return r.iterations;
    };
    CHECK(iterations("bicgstab", "block-jacobi", nullptr) < iterations("bicgstab", "jacobi", nullptr));
    CHECK(iterations("gmres", "block-jacobi", nullptr) < iterations("gmres", "jacobi", nullptr));
    CHECK(iterations("auto", "auto", &coarse) <= 10);
    CHECK(iterations("gmres", "auto", &coarse, 3) <= 20);
    CHECK(iterations("richardson", "auto", &coarse) <= 20);
  }
}

TEST("preconditioners of H-matrices that do not fit are refused with a sentence") {
  const hmatrix::HMatrix other(bem::Laplace(surfaces::sphere(4, 10).view()), {});
  System s = system_of(sphere());
  s.coarse = &sphere();
  CHECK(refusal(s, options("bicgstab", "host", 1)).find("another operator in each step") != std::string::npos);
  Options o = options("gmres", "host", 1);
  o.precond = "jacobi";
  CHECK(refusal(s, o).find("choose one") != std::string::npos);
  s.coarse = &other;
  CHECK(refusal(s, options("gmres", "host", 1)).find("of other points than the matrix") != std::string::npos);
  const CsrMatrix A = poisson(4, 4, 4, 7, 1);
  System entries;
  entries.A = A.view();
  o.precond = "block-jacobi";
  CHECK(refusal(entries, o).find("inverts the dense blocks on the diagonal of an H-matrix") != std::string::npos);
  entries.coarse = &other;
  CHECK(refusal(entries, options("gmres", "host", 1)).find("and the matrix is none") != std::string::npos);
}

TEST("the solver chosen for an H-matrix is bicgstab with Jacobi, the same bits on any number of ranks") {
  fresh::Random random(91);
  NOTE(fresh::said());
  const auto b = random.normals(sphere().size());
  std::vector<double> first;
  for (int ranks : {1, 2, 5}) {
    Options o = options("auto", "host", ranks);
    Solver s(system_of(sphere()), o);
    CHECK(s.method() == "bicgstab");
    CHECK(s.preconditioner() == "jacobi");
    std::vector<double> x(b.size());
    s.solve(b.data(), x.data());
    if (ranks == 1) first = x;
    CHECK(same_bits(x, first));
    for (i64 held : s.memory()) CHECK(held > 0);
  }
}

TEST("what needs entries is refused of an H-matrix with a sentence") {
  const System s = system_of(sphere());
  auto with = [](auto set) {
    Options o = options("bicgstab", "host", 2);
    set(o);
    return o;
  };
  CHECK(refusal(s, with([](Options& o) { o.precond = "block-ilu"; })) ==
        "block-ilu needs the entries of the matrix, which is an H-matrix");
  CHECK(refusal(s, with([](Options& o) { o.storage = "dia"; })) ==
        "storage 'dia' needs the entries of the matrix, which is an H-matrix");
  CHECK(refusal(s, with([](Options& o) { o.ranks = 900; })).starts_with("more ranks (900) than rows (640)"));
  CHECK_THROWS(estimate_memory(s, options("bicgstab", "host", 2), 2, false), Error, "an H-matrix says what it stores");
  Solver solver(s, options("bicgstab", "host", 1));
  const double none = 0;
  CHECK_THROWS(solver.update_values(&none), Error, "an H-matrix, which has no values to update");
}

TEST("methods for symmetric matrices take an H-matrix, and say how they ended") {
  const std::vector<double> b(std::size_t(sphere().size()), 1.0);  // on a sphere of equal potential all is nearly symmetric
  for (const MethodEntry& m : methods()) {
    if (!m.needs_spd) continue;
    NOTE(m.name);
    Options o = options(m.name, "host", 2);
    o.precond = "jacobi";
    o.maxiter = 200;
    std::vector<double> x(b.size());
    const Report r = Solver(system_of(sphere()), o).solve(b.data(), x.data());
    const double left = dense::distance(dense::times(dense::of(sphere()), x), b) / dense::norm(b);
    CHECK_NEAR(r.true_residual, left, 1e-9);
    if (r.status == Status::converged) CHECK(left <= 1.01 * o.rtol);
  }
}

TEST("a system and its H-matrix have the same rows") {
  System s = system_of(sphere());
  s.A.n++;
  CHECK(refusal(s, options("bicgstab", "host", 1)) == "the system has 641 rows of 1 words, and the H-matrix 640 of one");
  s = system_of(sphere());
  s.cuts = {0, 640};
  CHECK(refusal(s, options("bicgstab", "host", 1)).find("give no cuts") != std::string::npos);
}

TEST("a nullspace of an H-matrix is looked at with products") {
  System s = system_of(sphere());
  Options o = options("bicgstab", "host", 1);
  o.nullspace = "constant";
  CHECK(refusal(s, o).starts_with("nullspace: A does not map vector 0"));
}

namespace {

using hmatrix::ComplexHMatrix, hmatrix::Number;

const ComplexHMatrix& waves() {
  static const ComplexHMatrix H(bem::Helmholtz(surfaces::sphere(5, 8, 1.0).view(), 2), {.compression = {.eps = 1e-8}});
  return H;
}

System system_of(const ComplexHMatrix& H) {
  System s;
  s.complex_hmatrix = &H;
  s.A.n = H.size();
  s.A.words = 2;
  return s;
}

/// ||A x - b|| / ||b|| of words.
double relative_residual(const ComplexHMatrix& H, const std::vector<double>& x, const std::vector<double>& b) {
  std::vector<Number> from, to(b.size() / 2);
  for (std::size_t i = 0; i < x.size(); i += 2) from.push_back({x[i], x[i + 1]});
  hmatrix::HostProductOf<Number>(H).multiply(from.data(), to.data());
  const double* product = hmatrix::words(to.data());
  return dense::distance({product, product + b.size()}, b) / dense::norm(b);
}

}  // namespace

TEST("the solver of a complex H-matrix is bicgstab with Jacobi, and gives the same bits on any number of ranks") {
  NOTE(fresh::said());
  fresh::Random random(92);
  const auto b = random.normals(2 * waves().size());
  for (const char* precond : {"auto", "none"}) {
    std::vector<double> first;
    for (int ranks : {1, 2, 3, 7}) {
      NOTE(precond, ", ", ranks, " ranks");
      Options o = options("auto", "host", ranks);
      o.precond = precond;
      o.rtol = 1e-9;
      Solver s(system_of(waves()), o);
      CHECK(s.method() == "bicgstab");
      CHECK(s.preconditioner() == (o.precond == "auto" ? "jacobi" : "none"));
      std::vector<double> x(b.size());
      CHECK(s.solve(b.data(), x.data()).status == Status::converged);
      CHECK(relative_residual(waves(), x, b) <= 1.01e-9);
      if (ranks == 1) first = x;
      CHECK(same_bits(x, first));
    }
  }
}

TEST("gmres solves the system of a complex H-matrix, with a coarser one in few iterations, on any number of ranks") {
  NOTE(fresh::said());
  fresh::Random random(93);
  const ComplexHMatrix coarse(bem::Helmholtz(surfaces::sphere(5, 8, 1.0).view(), 2), {.compression = {.eps = 1e-1}});
  const auto b = random.normals(2 * waves().size());
  for (const ComplexHMatrix* M : {static_cast<const ComplexHMatrix*>(nullptr), &coarse}) {
    std::vector<double> first;
    for (int ranks : {1, 2, 3, 7}) {
      NOTE(M ? "coarse" : "jacobi", ", ", ranks, " ranks");
      Options o = options("gmres", "host", ranks);
      o.rtol = 1e-9, o.inner = 5;
      System s = system_of(waves());
      s.complex_coarse = M;
      std::vector<double> x(b.size());
      const Report r = Solver(s, o).solve(b.data(), x.data());
      CHECK(r.status == Status::converged);
      CHECK(!M || r.iterations <= 15);
      CHECK(relative_residual(waves(), x, b) <= 1.01e-9);
      if (ranks == 1) first = x;
      CHECK(same_bits(x, first));
    }
  }
}

TEST("what a complex H-matrix cannot have is refused with a sentence") {
  const System s = system_of(waves());
  Options many = options("gmres", "host", 1);
  many.restart = gmres::most_complex_m + 1;
  CHECK(refusal(s, many) == "restart must be from 1 to 30 where the entries are complex, not 31");
  System mixed = s;
  mixed.coarse = &sphere();
  CHECK(refusal(mixed, options("gmres", "host", 1)).ends_with("one is real and one complex"));
  CHECK(refusal(s, options("gatherbicgstab", "host", 2)).starts_with("solver gatherbicgstab computes with real numbers"));
  Options o = options("cg", "host", 1);
  o.precond = "jacobi";
  CHECK(refusal(s, o) == "solver cg needs a Hermitian matrix, and this one's diagonal is not real: use bicgstab");
  o = options("bicgstab", "host", 1);
  o.nullspace = "constant";
  CHECK(refusal(s, o).starts_with("nullspace: A does not map vector 0"));
  System real = s;
  real.A.words = 1;
  CHECK(refusal(real, options("bicgstab", "host", 1)) == "the system has 640 rows of 1 words, and the H-matrix 640 of two");
  System both = s;
  both.hmatrix = &sphere();
  CHECK(refusal(both, options("bicgstab", "host", 1)) == "there are two H-matrices: give one");
}
