// Precond amg of rows that stay with the processes that have them: through the C ABI, over the caller's communicator.
#include "rows_of_processes.hpp"

using namespace rows_of_processes;

namespace {

std::string with(const std::string& method, int ranks, const std::string& more = "") {
  return std::string(quick) + " precond=amg solver=" + method + " ranks=" + std::to_string(ranks) + more;
}

}  // namespace

TEST("amg of rows of processes: every method that takes any preconditioner solves, in few iterations") {
  World world;
  auto random = mpi_world::shared_random(871);
  NOTE(fresh::said());
  const CsrMatrix A = poisson(11, 10, 16, 7, 1e3);
  const auto whole_b = random.normals(A.n);
  Mine mine = world.mine(A);
  auto b = world.mine(whole_b), x = b;
  for (int ranks : {1, 2})
    for (auto& m : methods()) {
      if (m.replicated || m.complex == Factors::of_numbers) continue;
      NOTE(m.name, ", ", ranks, " ranks a process");
      Handle h(world, mine.rows, with(m.name, ranks).c_str());
      if (!m.any_preconditioner) {
        CHECK(h.code == SORDINO_BAD_INPUT);
        CHECK(std::string(sordino_message()).find("takes no preconditioner but a diagonal") != std::string::npos);
        continue;
      }
      REQUIRE(h.code == SORDINO_OK);
      CHECK(std::string(sordino_preconditioner(h.solver)) == "amg");
      REQUIRE(sordino_solve(h.solver, b.data(), x.data(), nullptr) == SORDINO_OK);
      CHECK(relative_residual(A, whole_b, world.whole(x, A.n)) <= 1.01e-9);
      CHECK(h.figures().iterations <= (m.name == "richardson" ? 60 : 35));
    }
}

TEST("amg of rows of processes: the same bits again, wherever coarse levels live, and with new values") {
  World world;
  auto random = mpi_world::shared_random(872);
  NOTE(fresh::said());
  const CsrMatrix A = poisson(10, 9, 13, 7, 30.0);
  const auto whole_b = random.normals(A.n);
  Mine mine = world.mine(A);
  auto b = world.mine(whole_b), x = b, again = b;
  for (const char* more : {" level_rows=0", " level_rows=100", " level_rows=16384", " cycle=w level_rows=150"}) {
    NOTE(more);
    Handle first(world, mine.rows, with("cg", 1, more).c_str()), second(world, mine.rows, with("cg", 1, more).c_str());
    REQUIRE(first.code == SORDINO_OK);
    REQUIRE(second.code == SORDINO_OK);
    REQUIRE(sordino_solve(first.solver, b.data(), x.data(), nullptr) == SORDINO_OK);
    REQUIRE(sordino_solve(second.solver, b.data(), again.data(), nullptr) == SORDINO_OK);
    CHECK(same_bits(x, again));
    auto values = mine.values;
    for (double& value : values) value *= 0.25;
    REQUIRE(sordino_update_values(second.solver, values.data()) == SORDINO_OK);
    REQUIRE(sordino_solve(second.solver, b.data(), again.data(), nullptr) == SORDINO_OK);
    for (double& value : again) value *= 0.25;
    CHECK(same_bits(x, again));
  }
}

TEST("amg of rows of processes: what does not fit is refused by all, with one sentence") {
  World world;
  const CsrMatrix A = poisson(8, 7, 6, 7, 1.0);
  auto refused = [&](const std::string& options, auto change) {
    Mine mine = world.mine(A);
    if (world.process == world.processes - 1) change(mine);
    Handle h(world, mine.rows, options.c_str());
    return said_by_all(h.code);
  };
  auto as_it_is = [](Mine&) {};
  CHECK(refused(with("cg", 1, " cycle=f"), as_it_is).find("cycle f is not symmetric") != std::string::npos);
  CHECK(refused(with("bicgstab", 1), [](Mine& m) { m.values.back() = -1; }).find("the diagonal of row 335 is not positive") !=
        std::string::npos);
  auto skewed = [](Mine& m) { m.values[std::size_t(m.starts.rbegin()[1])] *= 2; };  // the last row's first entry
  CHECK(refused(with("bicgstab", 1), skewed).find("this one is not symmetric") != std::string::npos);
}
