// Rows that stay with the processes that have them: through the C ABI, over the caller's communicator.
#include "rows_of_processes.hpp"

#include <cmath>

using namespace rows_of_processes;

TEST("every process keeps its rows, and the solution is that of the whole matrix") {
  World world;
  auto random = mpi_world::shared_random(1);
  for (auto& c : problems::all(random)) {
    if (cut(c.A.n, 1, world.processes) < 2) continue;  // too few rows for two ranks a process
    NOTE(c.name);
    Mine mine = world.mine(c.A);
    auto b = world.mine(c.b), x0 = world.mine(c.x0), x = b;
    for (const char* ranks : {"ranks=1", "ranks=2"})
      for (auto& method : methods()) {
        if (method.replicated || !takes(method, c)) continue;
        NOTE(method.name, " ", ranks);
        Handle h(world, mine.rows, (std::string(quick) + " solver=" + method.name + " " + ranks).c_str());
        REQUIRE(h.code == SORDINO_OK);
        for (const double* from : {(const double*)nullptr, (const double*)x0.data()}) {
          CHECK(sordino_solve(h.solver, b.data(), x.data(), from) == SORDINO_OK);
          CHECK(relative_residual(c.A, c.b, world.whole(x, c.A.n)) <= 1.01e-9);
        }
        CHECK(h.figures().n == c.A.n);
        CHECK(h.figures().ranks == world.processes * (ranks[6] - '0'));
      }
  }
}

TEST("the same distribution gives the same bits, and all processes the same figures") {
  World world;
  CsrMatrix A = poisson(12, 11, 10, 7, 1.0);
  Mine mine = world.mine(A);
  auto b = world.mine(waves(A.n)), x = b, again = b;
  for (auto* to : {&x, &again}) {
    Handle h(world, mine.rows);
    CHECK(sordino_solve(h.solver, b.data(), to->data(), nullptr) == SORDINO_OK);
    CHECK(mpi_world::agree(h.figures().true_residual));
    CHECK(mpi_world::agree(double(h.figures().iterations)));
  }
  CHECK(same_bits(x, again));
}

TEST("symmetry is looked for across processes") {
  World world;
  for (bool skewed : {false, true}) {
    CsrMatrix A = poisson(40, 1, 1, 7, 1.0);
    i64 border = cut(A.n, world.processes - 1, world.processes);  // first row of the last process
    i64 entry = A.indptr[std::size_t(border)];                    // whose first column is the last row before
    REQUIRE(A.indices[std::size_t(entry)] == border - 1);
    if (skewed) A.values[std::size_t(entry)] *= 1 + 1e-6;
    Mine mine = world.mine(A);
    Handle h(world, mine.rows);
    CHECK(std::string(sordino_method(h.solver)) == (skewed ? "bicgstab" : "cg"));
    CHECK(std::string(sordino_preconditioner(h.solver)) == "jacobi");
  }
}

TEST("a zero on one process's diagonal is known to all when they choose") {
  World world;
  CsrMatrix A = poisson(40, 1, 1, 7, 1.0);
  i64 last = A.indptr.back() - 1;
  A.values[std::size_t(last)] = 0;
  Mine mine = world.mine(A);
  Handle h(world, mine.rows);
  CHECK(std::string(sordino_preconditioner(h.solver)) == "none");
  CHECK(std::string(sordino_method(h.solver)) == "bicgstab");
}

TEST("what one process refuses all refuse with the same sentence, which names it") {
  World world;
  CsrMatrix A = poisson(60, 1, 1, 7, 1.0);
  int last = world.processes - 1;
  std::string who = "process " + std::to_string(last) + ": ";
  auto with = [&](auto change) {
    Mine mine = world.mine(A);
    if (world.process == last) change(mine);
    Handle h(world, mine.rows);
    CHECK(h.solver == nullptr);
    return said_by_all(h.code);
  };
  std::string row = std::to_string(cut(A.n, last, world.processes));
  CHECK(with([](Mine& m) { m.values[0] = NAN; }).starts_with(who + "the matrix holds a NaN or Inf at row " + row));
  CHECK(with([](Mine& m) { std::swap(m.columns[0], m.columns[1]); }) ==
        who + "columns of row " + row + " are not in increasing order");
  CHECK(with([](Mine& m) { m.columns.back() = 60; }) == who + "column index 60 in row 59 is out of range (n = 60)");
  CHECK(with([](Mine& m) { m.rows.first_row--; }).find("is expected: the processes hold consecutive rows") !=
        std::string::npos);
  CHECK(with([](Mine& m) { m.rows.first_row++; }).starts_with(who + "its rows begin with"));
  CHECK(with([](Mine& m) { m.rows.rows = 0; }).starts_with(who + "there are no rows here"));
  CHECK(with([](Mine& m) { m.rows.values = nullptr; }) == who + "values is a null pointer");
  CHECK(with([](Mine& m) { m.rows.columns = nullptr; }) == who + "columns is a null pointer");

  Mine mine = world.mine(A);
  sordino_solver* solver = nullptr;
  const sordino_rows* rows = world.process == last ? nullptr : &mine.rows;
  CHECK(said_by_all(sordino_create_mpi(world.comm, rows, quick, &solver)) == who + "the matrix is a null pointer");
  auto options = [&](const char* others) {
    Handle h(world, mine.rows, world.process == last ? others : quick);
    return said_by_all(h.code);
  };
  CHECK(options("color=red").starts_with(who + "there is no option 'color'"));
  CHECK(options("engine=host rtol=1e-7 timeout=30").starts_with("the processes give different options"));
  CHECK(options("engine=host rtol=1e-9 timeout=30 devices=first") == who + "devices 'first' is not a list such as 0-3 or 0,2");
  Handle model(world, mine.rows, "engine=model");
  CHECK(said_by_all(model.code).starts_with("engine model runs in one process"));
  Handle whole(world, mine.rows, "engine=host solver=gatherbicgstab");
  CHECK(said_by_all(whole.code).starts_with("solver gatherbicgstab keeps whole vectors"));
}

TEST("after a refusal the solver goes on, with the values that it had") {
  World world;
  CsrMatrix A = poisson(60, 1, 1, 7, 1.0);
  Mine mine = world.mine(A);
  Handle h(world, mine.rows);
  auto b = world.mine(waves(A.n)), x = b, first = b, bad = b;
  CHECK(sordino_solve(h.solver, b.data(), first.data(), nullptr) == SORDINO_OK);
  int last = world.processes - 1;
  std::string who = "process " + std::to_string(last) + ": ";
  if (world.process == last) bad.back() = NAN;
  CHECK(said_by_all(sordino_solve(h.solver, bad.data(), x.data(), nullptr)) ==
        who + "the right-hand side holds a NaN or Inf at row 59");
  CHECK(said_by_all(sordino_solve(h.solver, b.data(), world.process == last ? nullptr : x.data(), nullptr)) ==
        who + "x is a null pointer");
  auto values = mine.values;
  for (double& v : values) v *= 2;
  if (world.process == last) values.back() = 0;  // of the diagonal
  CHECK(said_by_all(sordino_update_values(h.solver, values.data())).find("row 59 is zero") != std::string::npos);
  if (world.process == last) CHECK(sordino_set(h.solver, "maxiter=7") == SORDINO_OK);
  CHECK(said_by_all(sordino_solve(h.solver, b.data(), x.data(), nullptr)).starts_with("the processes give different"));
  CHECK(sordino_set(h.solver, "maxiter=0") == SORDINO_OK);
  CHECK(sordino_solve(h.solver, b.data(), x.data(), nullptr) == SORDINO_OK);
  CHECK(same_bits(x, first));

  values = mine.values;
  for (double& v : values) v *= 2;
  CHECK(sordino_update_values(h.solver, values.data()) == SORDINO_OK);
  values.front() = world.process == 0 ? NAN : 1e3;
  said_by_all(sordino_update_values(h.solver, values.data()));  // refused: the values before stay, in all processes
  CHECK(sordino_solve(h.solver, b.data(), x.data(), nullptr) == SORDINO_OK);
  for (std::size_t i = 0; i < x.size(); i++) CHECK(x[i] == first[i] / 2);  // halving is exact
}

TEST("right-hand sides are scaled by what is largest in all processes") {
  World world;
  CsrMatrix A = poisson(60, 1, 1, 7, 1.0);
  Mine mine = world.mine(A);
  Handle h(world, mine.rows);
  std::vector<double> b(std::size_t(A.n), 0.0);
  b.front() = 1e-170;  // of process 0; all others have zeros
  auto my_b = world.mine(b), x = my_b;
  CHECK(sordino_solve(h.solver, my_b.data(), x.data(), nullptr) == SORDINO_OK);
  CHECK(h.figures().iterations > 0);
  CHECK(h.figures().true_residual <= 1e-9);
  CHECK(mpi_world::agree(h.figures().residual_norm));
}

TEST("the caller's communicator may be of some processes, or of one, and a Fortran handle will do") {
  MPI_Comm half;
  MPI_Comm_split(MPI_COMM_WORLD, mpi_world::process() % 2, mpi_world::process(), &half);
  for (MPI_Comm comm : {half, MPI_COMM_SELF}) {
    World world(comm);
    CsrMatrix A = poisson(8, 7, 6, 7, 1.0);
    Mine mine = world.mine(A);
    auto b = world.mine(waves(A.n)), x = b;
    sordino_solver* solver = nullptr;
    REQUIRE(sordino_create_mpi_fortran(int(MPI_Comm_c2f(comm)), &mine.rows, quick, &solver) == SORDINO_OK);
    CHECK(sordino_solve(solver, b.data(), x.data(), nullptr) == SORDINO_OK);
    CHECK(relative_residual(A, waves(A.n), world.whole(x, A.n)) <= 1.01e-9);
    sordino_report r{};
    CHECK(sordino_figures(solver, &r) == SORDINO_OK);
    CHECK(r.ranks == world.processes);  // one a process, also of one
    sordino_destroy(solver);
  }
  MPI_Comm_free(&half);
  sordino_solver* solver = nullptr;
  Mine mine(poisson(4, 1, 1, 7, 1.0), 0, 4);
  CHECK(sordino_create_mpi(MPI_COMM_NULL, &mine.rows, quick, &solver) == SORDINO_BAD_INPUT);
  CHECK(std::string(sordino_message()) == "the communicator is MPI_COMM_NULL");
}

TEST("sordino_create is for this process alone, even beside others") {
  CsrMatrix A = poisson(5, 4, 3, 7, 1.0);
  if (mpi_world::process() == 0) {  // nobody else takes part
    Mine whole(A, 0, A.n);
    sordino_solver* solver = nullptr;
    REQUIRE(sordino_create(&whole.rows, quick, &solver) == SORDINO_OK);
    auto b = waves(A.n), x = b;
    CHECK(sordino_solve(solver, b.data(), x.data(), nullptr) == SORDINO_OK);
    CHECK(relative_residual(A, b, x) <= 1.01e-9);
    sordino_destroy(solver);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

TEST("what one process sees of a matrix that is not symmetric all say after a failure") {
  World world;
  CsrMatrix A = poisson(60, 1, 1, 7, 1.0);
  A.values[std::size_t(A.indptr[59])] *= 1.5;  // in the last row, on the left
  Mine mine = world.mine(A);
  Handle h(world, mine.rows, "engine=host solver=cg rtol=1e-12 maxiter=3 timeout=30");
  auto b = world.mine(waves(A.n)), x = b;
  CHECK(sordino_solve(h.solver, b.data(), x.data(), nullptr) == SORDINO_NOT_CONVERGED);
  std::string said = sordino_message();
  CHECK(said.ends_with("; the matrix is not symmetric, which solver cg needs: use bicgstab"));
  CHECK(mpi_world::of_the_last(said) == said);
}

TEST("a time limit of one process's clock is what all say of the end") {
  World world;
  CsrMatrix A = poisson(30, 30, 30, 7, 1e8);
  Mine mine = world.mine(A);
  const char* endless = "engine=host solver=cg precond=none rtol=1e-250 maxiter=1000000 time_limit=0.2 timeout=30";
  Handle h(world, mine.rows, endless);
  auto b = world.mine(waves(A.n)), x = b;
  CHECK(sordino_solve(h.solver, b.data(), x.data(), nullptr) == SORDINO_NOT_CONVERGED);
  CHECK(h.figures().status == SORDINO_TIME_LIMIT);
  CHECK(std::string(sordino_message()).starts_with("stopped on request: the time limit is reached"));
}

TEST("who waits in vain for another process to come is told so, and for which one where that can be known") {
  World world;
  CsrMatrix A = poisson(60, 1, 1, 7, 1.0);
  const bool missing = world.process == world.processes - 1;
  const std::string me = "process " + std::to_string(world.process), last = std::to_string(world.processes - 1);
  auto given_up = [&](int code, const std::string& sentence) {
    CHECK(code == SORDINO_FAILED);
    CHECK(std::string(sordino_error()) == "peer_failed");
    CHECK(sordino_message() == sentence);
  };
  MPI_Comm own;
  MPI_Comm_dup(MPI_COMM_WORLD, &own);
  Mine mine = world.mine(A);
  sordino_solver* solver = nullptr;
  if (!missing) {
    int code = sordino_create_mpi(own, &mine.rows, "engine=host timeout=1", &solver);
    const bool of_two = world.processes == 2;
    given_up(code, me + " waited 1 s for " + (of_two ? "process 1" : "the other processes") + " to enter sordino_create_mpi: " +
                       (of_two ? "it" : "one of them") + " has failed, is stuck, or needs a longer timeout");
    CHECK(solver == nullptr);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (missing) {  // what the others have left under way there ends before MPI does
    MPI_Request request;
    MPI_Ibarrier(own, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  MPI_Barrier(MPI_COMM_WORLD);

  REQUIRE(sordino_create_mpi(MPI_COMM_WORLD, &mine.rows, "engine=host timeout=3", &solver) == SORDINO_OK);
  auto b = world.mine(waves(A.n)), x = b;
  if (!missing)
    given_up(sordino_solve(solver, b.data(), x.data(), nullptr),
             me + " waited 3 s for process " + last + " to enter solve: it has failed, is stuck, or needs a longer timeout");
  MPI_Barrier(MPI_COMM_WORLD);
  sordino_destroy(solver);
}
