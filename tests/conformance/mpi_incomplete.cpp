// Preconds ic0 and ilu0 of rows that stay with the processes that have them: each rank factorizes its own.
#include "rows_of_processes.hpp"

using namespace rows_of_processes;

namespace {

std::string with(const char* precond, const std::string& method, int ranks) {
  return std::string(quick) + " precond=" + precond + " solver=" + method + " ranks=" + std::to_string(ranks);
}

/// `visit(row, column, value)` for each entry.
template <class Visit>
void each_entry(CsrMatrix& A, const Visit& visit) {
  for (i64 i = 0; i < A.n; i++)
    for (i64 k = A.indptr[std::size_t(i)]; k < A.indptr[std::size_t(i) + 1]; k++)
      visit(i, i64(A.indices[std::size_t(k)]), A.values[std::size_t(k)]);
}

/// A line of cells, `above` the diagonal instead of what is there.
CsrMatrix line(i64 n, double above) {
  CsrMatrix A = poisson(n, 1, 1, 7, 1.0);
  each_entry(A, [&](i64 i, i64 j, double& value) {
    if (j > i) value = above;
  });
  return A;
}

/// Nothing is coupled to row r - 1 from r, ..., for the first row r of each process but the first.
CsrMatrix uncoupled(CsrMatrix A, int processes) {
  for (int p = 1; p < processes; p++) {
    const i64 first = cut(A.n, p, processes);
    each_entry(A, [&](i64 i, i64 j, double& value) {
      if ((i < first) != (j < first)) value = 0;
    });
  }
  return A;
}

}  // namespace

TEST("ic0, ilu0 of rows of processes: every method that takes any preconditioner solves, in fewer iterations than by Jacobi") {
  World world;
  auto random = mpi_world::shared_random(721);
  NOTE(fresh::said());
  CsrMatrix A = poisson(9, 8, 14, 7, 100);
  const auto whole_b = random.normals(A.n);
  Mine mine = world.mine(A);
  auto b = world.mine(whole_b), x = b;
  for (int ranks : {1, 2})
    for (auto& m : methods()) {
      if (m.replicated || m.complex == Factors::of_numbers || m.name == "richardson")
        continue;  // contrast 100 is too much for it
      const char* precond = m.needs_spd ? "ic0" : "ilu0";
      NOTE(m.name, ", ", precond, ", ", ranks, " ranks a process");
      Handle h(world, mine.rows, with(precond, m.name, ranks).c_str());
      if (!m.any_preconditioner) {
        CHECK(h.code == SORDINO_BAD_INPUT);
        CHECK(std::string(sordino_message()).find("takes no preconditioner but a diagonal") != std::string::npos);
        continue;
      }
      REQUIRE(h.code == SORDINO_OK);
      CHECK(std::string(sordino_preconditioner(h.solver)) == precond);
      REQUIRE(sordino_solve(h.solver, b.data(), x.data(), nullptr) == SORDINO_OK);
      CHECK(relative_residual(A, whole_b, world.whole(x, A.n)) <= 1.01e-9);
      Handle jacobi(world, mine.rows, with("jacobi", m.name, ranks).c_str());
      sordino_solve(jacobi.solver, b.data(), x.data(), nullptr);
      CHECK(h.figures().iterations < jacobi.figures().iterations);
    }
}

TEST("ic0, ilu0 of rows of processes: M is A where processes are not coupled and nothing fills, and less where they are") {
  World world;
  auto random = mpi_world::shared_random(722);
  NOTE(fresh::said());
  const i64 n = 300;
  auto b = world.mine(random.normals(n)), x = b;
  for (auto [precond, method, above] :
       {std::tuple{"ic0", "cg", -1.0}, {"ilu0", "bicgstab", 0.25}, {"ilu0", "gmres", 0.25}, {"ilu0", "fcg", -1.0}}) {
    NOTE(precond, ", ", method);
    auto iterations = [&](const CsrMatrix& A, int ranks) {
      Mine mine = world.mine(A);
      Handle h(world, mine.rows, with(precond, method, ranks).c_str());
      REQUIRE(h.code == SORDINO_OK);
      CHECK(sordino_solve(h.solver, b.data(), x.data(), nullptr) == SORDINO_OK);
      return h.figures().iterations;
    };
    const CsrMatrix A = line(n, above), apart = uncoupled(A, world.processes);
    CHECK(iterations(apart, 1) <= 2);
    CHECK(iterations(A, 1) > 2);
    CHECK(iterations(apart, 2) > 2);  // a process's two ranks are coupled
  }
}

TEST(
    "ic0, ilu0 of rows of processes: new values are factorized; a pivot of one process is refused by all, and the old ones "
    "stay") {
  World world;
  auto random = mpi_world::shared_random(723);
  NOTE(fresh::said());
  for (auto [precond, method] : {std::pair{"ic0", "cg"}, {"ilu0", "gmres"}}) {
    NOTE(precond);
    CsrMatrix A = poisson(9, 8, 7, 7, 10), B = poisson(9, 8, 7, 7, 500), C = A;
    Mine mine = world.mine(A), others = world.mine(B);
    auto b = world.mine(random.normals(A.n)), x = b, wanted = b;
    const std::string options = with(precond, method, 2);
    Handle h(world, mine.rows, options.c_str()), fresh_one(world, others.rows, options.c_str());
    REQUIRE(h.code == SORDINO_OK);
    REQUIRE(fresh_one.code == SORDINO_OK);
    CHECK(sordino_update_values(h.solver, others.values.data()) == SORDINO_OK);
    CHECK(sordino_solve(fresh_one.solver, b.data(), wanted.data(), nullptr) == SORDINO_OK);
    CHECK(sordino_solve(h.solver, b.data(), x.data(), nullptr) == SORDINO_OK);
    CHECK(same_bits(x, wanted));

    const i64 broken = A.n - 3;  // of the last process; its neighbours' rows, too, so that nothing is eliminated into the pivot
    each_entry(C, [&](i64 i, i64 j, double& value) {
      if (i == broken || j == broken) value = 0;
    });
    Mine bad = world.mine(C);
    const std::string sentence = std::string(precond) + ": the pivot of row " + std::to_string(broken) + " is ";
    CHECK(said_by_all(sordino_update_values(h.solver, bad.values.data())).starts_with(sentence));
    CHECK(sordino_solve(h.solver, b.data(), x.data(), nullptr) == SORDINO_OK);
    CHECK(same_bits(x, wanted));
    Handle refused(world, bad.rows, options.c_str());
    CHECK(refused.solver == nullptr);
    CHECK(said_by_all(refused.code).starts_with(sentence));
  }
}

TEST("ic0, ilu0 of rows of processes: symmetry is looked for across them, and what does not fit is refused by all") {
  World world;
  CsrMatrix A = poisson(60, 1, 1, 7, 1.0), skewed = A;
  each_entry(skewed, [&](i64 i, i64 j, double& value) {
    if (i == cut(A.n, world.processes - 1, world.processes) && j < i) value *= 1.5;  // to another process's column
  });
  auto said = [&](const CsrMatrix& matrix, const char* precond, const char* method) {
    Mine mine = world.mine(matrix);
    Handle h(world, mine.rows, with(precond, method, 1).c_str());
    CHECK(h.solver == nullptr);
    return said_by_all(h.code);
  };
  CHECK(said(skewed, "ic0", "gmres") ==
        "precond ic0 needs a symmetric matrix, and this one is not: use ilu0, with solver bicgstab or gmres");
  CHECK(said(A, "ilu0", "cg").starts_with("precond ilu0 is not symmetric, which solver cg needs: use precond ic0"));
  Mine mine = world.mine(A);
  Handle general(world, mine.rows, (with("ic0", "gmres", 1) + " symmetry=general").c_str());
  CHECK(said_by_all(general.code).starts_with("precond ic0 needs a symmetric matrix"));
}
