// A solver is set up for every way that a solve may go: however it goes, nothing is recorded, compiled or given memory any
// more.
#include <atomic>
#include <set>

#include "check.hpp"
#include "problems.hpp"
#include "sordino/api/engines.hpp"
#include "sordino/api/method_choice.hpp"
#include "sordino/api/part.hpp"

using namespace problems;

namespace {

/// Of all ranks: what has been compiled, and what there is to be named.
struct Made {
  int compilations = 0;
  std::size_t names = 0;
  i64 bytes = 0;
  bool operator==(const Made&) const = default;
};

Made made_by(Engine& engine) {
  Made m;
  for (int r = 0; r < engine.local_ranks(); r++) {
    Rank& rank = engine.rank(r);
    m.compilations += rank.compilations();
    m.names += rank.vectors().size() + rank.scalar_names().size() + rank.reductions().size();
    m.bytes += engine.bytes_held(r);
  }
  return m;
}

struct Setting {
  const char* engine;
  int ranks;
};
constexpr Setting settings[] = {{"host", 1}, {"host", 3}, {"model", 2}};

/// Still symmetric, with a positive diagonal, which is too small for a definite matrix.
std::vector<double> indefinite(const CsrMatrix& A) {
  std::vector<double> values = A.values;
  for (i64 i = 0; i < A.n; i++)
    for (i64 k = A.indptr[i]; k < A.indptr[i + 1]; k++)
      if (A.indices[k] == i) values[std::size_t(k)] *= 0.3;
  return values;
}

/// A^T = -A: (r, A r) is zero, whatever r.
std::vector<double> skew(const CsrMatrix& A) {
  std::vector<double> values = A.values;
  for (i64 i = 0; i < A.n; i++)
    for (i64 k = A.indptr[i]; k < A.indptr[i + 1]; k++) values[std::size_t(k)] *= A.indices[k] < i ? -1 : A.indices[k] > i;
  return values;
}

std::vector<double> overflowing(const CsrMatrix& A) {
  std::vector<double> values = A.values;
  for (double& v : values) v *= 1e250;
  return values;
}

/// Converges after odd and even numbers of iterations, is stopped by their maximum, exhausts its accuracy, meets a matrix that
/// it is not for and numbers that overflow.
std::set<Status> go_all_ways(Solver& solver, const CsrMatrix& A, const std::vector<double>& b) {
  std::set<Status> met;
  auto go = [&](double rtol, int most, double size = 1) {
    auto rhs = b;
    for (double& v : rhs) v *= size;
    solver.options().rtol = rtol;
    solver.options().maxiter = most;
    met.insert(solve(solver, rhs).report.status);
  };
  for (int most : {1, 2, 3, 4, 9, 10}) go(1e-14, most);
  for (double rtol : {0.3, 0.1, 1e-2, 1e-3, 1e-4, 1e-6, 1e-8}) go(rtol, 500);
  go(1e-17, 500);
  go(1e-8, 500, 0);
  for (auto change : {indefinite, skew, overflowing}) {
    const std::vector<double> values = change(A);
    if (change == skew && solver.preconditioner() != "none") continue;             // which divides by the diagonal
    if (change == indefinite && solver.preconditioner() == "block-ilu") continue;  // which refuses a pivot
    solver.update_values(values.data());
    for (int most : {200, 201}) go(1e-8, most);
    solver.update_values(A.values.data());
    go(1e-8, 500);
  }
  return met;
}

}  // namespace

TEST("nothing is compiled or given memory by a solve, however it ends: all was made at setup") {
  NOTE(fresh::said());
  fresh::Random random(150);
  CsrMatrix A = poisson(6, 5, 7, 7, 1e3);
  auto b = random.normals(A.n);
  for (auto& m : methods())
    for (auto& at : settings)
      for (const char* precond : {"none", "jacobi", "sqrt-jacobi", "chebyshev", "block-ilu"})
        for (int replace_every : {0, 3}) {
          if (precond == std::string("sqrt-jacobi") && !m.scalable) continue;
          const bool is_operation = precond == std::string("chebyshev") || precond == std::string("block-ilu");
          if (is_operation && !m.any_preconditioner) continue;
          NOTE(m.name, " with ", precond, " on ", at.engine, ", ranks = ", at.ranks, ", replace_every = ", replace_every);
          Options o = options(m.name, at.engine, at.ranks);
          o.precond = precond;
          o.replace_every = replace_every;
          o.check_every = 2;
          EngineChoice choice = make_engine(o, {});
          Engine& engine = *choice.engine;
          Solver solver(A.view(), o, std::move(choice));
          const Made before = made_by(engine);
          CHECK(before.compilations > 0);
          std::set<Status> met = go_all_ways(solver, A, b);
          CHECK(made_by(engine) == before);
          if (gets_on(m, precond)) CHECK(met.count(Status::converged) == 1);
          CHECK(met.count(Status::max_iterations) == 1);
          const bool meets_indefinite = m.needs_spd && precond != std::string("block-ilu");
          if (meets_indefinite || precond == std::string("none")) CHECK(met.size() > 2);
        }
}

TEST("nor is anything where somebody looks at x, and A has a nullspace") {
  NOTE(fresh::said());
  fresh::Random random(151);
  CsrMatrix A = neumann(poisson(6, 5, 7, 7, 10));
  auto b = random.normals(A.n);
  for (auto& m : methods())
    for (auto& at : settings)
      for (bool with_x : {false, true}) {
        NOTE(m.name, " on ", at.engine, ", ranks = ", at.ranks, ", x is ", with_x ? "shown" : "not shown");
        Options o = options(m.name, at.engine, at.ranks);
        o.replace_every = 5;
        std::atomic<int> looks = 0;
        System system{.A = A.view(), .watch = {.every = 3, .x = with_x, .look = [&](int, double, const double*) { looks++; }}};
        system.nullspace.right = {1, A.n, 0, std::vector<double>(std::size_t(A.n), 1 / std::sqrt(double(A.n)))};
        Choice choice = choose(system, o);
        settle_method(choice, system, o, at.ranks, {});
        const Partition partition = partition_of(system, choice, at.ranks);
        EngineChoice made = make_engine(o, {});
        Engine& engine = *made.engine;
        std::vector<Part> parts(std::size_t(at.ranks));
        engine.run([&](Rank& s) { parts[std::size_t(s.id())] = build_part(s, system, choice, o, partition); });
        const Made before = made_by(engine);
        engine.run([&](Rank& s) {
          Driver& driver = *parts[std::size_t(s.id())].driver;
          for (int most : {1, 2, 3, 4, 5, 6, 7, 500})
            for (double rtol : {1e-2, 1e-8, 1e-17})
              driver.solve(b.data() + driver.space().first_row, nullptr, {.rtol = rtol, .max_iterations = most});
        });
        CHECK(made_by(engine) == before);
        CHECK(looks > 0);
      }
}
