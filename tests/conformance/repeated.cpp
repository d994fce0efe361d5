// A solver lives long: 1,000 solves with changing values and right-hand sides make nothing anew and leak nothing; solvers do
// not disturb each other.
#include <malloc.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "check.hpp"
#include "problems.hpp"
#include "unit/counting_new.hpp"

using namespace problems;

namespace {

/// Bytes that malloc has given out, and pages that this process holds. Sanitizers keep what was freed: nothing is counted then.
i64 heap() {
#if COUNTS_ALLOCATIONS && defined(__GLIBC__) && __GLIBC_PREREQ(2, 33)
  return i64(mallinfo2().uordblks) + i64(mallinfo2().hblkhd);
#else
  return 0;
#endif
}
i64 resident() {
  i64 pages = 0, total = 0;
  std::ifstream("/proc/self/statm") >> total >> pages;
  return COUNTS_ALLOCATIONS ? pages * 4096 : 0;
}
std::size_t threads() {
  std::size_t n = 0;
  for ([[maybe_unused]] auto& t : std::filesystem::directory_iterator("/proc/self/task")) n++;
  return n;
}

std::vector<double> scaled(std::vector<double> v, double by) {
  for (double& x : v) x *= by;
  return v;
}

}  // namespace

TEST("1,000 solves with changing values and right-hand sides hold no more memory than 100") {
  NOTE(fresh::said());
  fresh::Random random(140);
  for (auto& m : methods())
    for (const char* engine : {"host", "model"}) {
      NOTE(m.name, " on ", engine);
      CsrMatrix A = m.needs_spd ? matrices::spd(random, 60, 3, 60) : matrices::nonsymmetric(random, 60, 3, 60);
      std::vector<std::vector<double>> values, b;
      for (int k = 0; k < 7; k++) values.push_back(scaled(A.values, random.real(0.1, 10))), b.push_back(random.normals(60));
      Solver solver(A.view(), options(m.name, engine, 3));
      auto held = solver.memory();
      i64 heap_then = 0, resident_then = 0;
      std::vector<double> x(60);
      for (int k = 0; k < 1000; k++) {
        const auto &v = values[std::size_t(k % 7)], &rhs = b[std::size_t(k * k % 7)];
        solver.update_values(v.data());
        REQUIRE(solver.solve(rhs.data(), x.data()).status == Status::converged);
        if (k % 50 == 0) {
          CsrMatrix B = A;
          B.values = v;
          REQUIRE(matrices::exact_residual(B.view(), rhs, x) <= 1.000001e-8 * matrices::norm(rhs));
        }
        if (k == 100) heap_then = heap(), resident_then = resident();
      }
      CHECK(solver.memory() == held);
      CHECK(heap() - heap_then <= 20000);
      CHECK(resident() - resident_then <= 2000000);
    }
}

TEST("a later solve allocates as often as an early one: nothing is recorded or compiled again") {
  if (!COUNTS_ALLOCATIONS) SKIP("a sanitizer replaces operator new");
  NOTE(fresh::said());
  fresh::Random random(141);
  for (auto& m : methods())
    for (const char* engine : {"host", "model"}) {
      NOTE(m.name, " on ", engine);
      CsrMatrix A = poisson(8, 8, 8, 7, 10);
      auto b = random.normals(A.n);
      Solver solver(A.view(), options(m.name, engine, 1));  // alone, so that waiting makes no difference
      std::vector<double> x(b.size());
      long few = 0;
      for (int k = 0; k < 100; k++) {
        long before = counting_new::allocations;
        i64 iterations = solver.solve(b.data(), x.data()).iterations;
        long made = counting_new::allocations - before;
        if (k == 3) few = made;
        if (k > 3) CHECK(made <= few);
        CHECK(iterations > 10);
        if (k > 3) CHECK(made < 300);  // and none in an iteration
      }
    }
}

TEST("solvers that come and go leave no thread and no memory behind") {
  NOTE(fresh::said());
  fresh::Random random(142);
  CsrMatrix A = matrices::spd(random, 300, 3, 300);
  auto b = random.normals(300);
  std::size_t threads_then = threads();
  i64 heap_then = 0;
  for (int k = 0; k < 100; k++) {
    for (auto& m : methods()) solve(A.view(), b, options(m.name, k % 2 ? "host" : "model", 3));
    if (k == 20) heap_then = heap();
  }
  CHECK(threads() == threads_then);
  CHECK(heap() - heap_then <= 20000);
}

TEST("two solvers that take turns do not disturb each other") {
  NOTE(fresh::said());
  fresh::Random random(143);
  for (auto& m : methods())
    for (const char* engine : {"host", "model"}) {
      NOTE(m.name, " on ", engine);
      CsrMatrix A = matrices::spd(random, 200, 3, 200), B = matrices::spd(random, 333, 2, 50);
      auto a = random.normals(200), b = random.normals(333);
      auto x = solve(A.view(), a, options(m.name, engine, 2)).x, y = solve(B.view(), b, options(m.name, engine, 3)).x;
      Solver first(A.view(), options(m.name, engine, 2)), second(B.view(), options(m.name, engine, 3));
      for (int k = 0; k < 10; k++) {
        CHECK(same_bits(solve(first, a).x, x));
        CHECK(same_bits(solve(second, b).x, y));
      }
    }
}

TEST("solvers in several threads at the same time do not disturb each other") {
  NOTE(fresh::said());
  fresh::Random random(144);
  CsrMatrix A = matrices::spd(random, 300, 3, 300);
  auto b = random.normals(300);
  std::vector<std::vector<double>> expected;
  for (auto& m : methods()) expected.push_back(solve(A.view(), b, options(m.name, "host", 1)).x);
  std::vector<std::thread> users;
  for (int k = 0; k < 3; k++)
    users.emplace_back([&, k] {
      for (int round = 0; round < 4; round++)
        for (std::size_t i = 0; i < expected.size(); i++) {
          const char* engine = (k + round) % 3 ? "host" : "model";
          Solver solver(A.view(), options(methods()[i].name, engine, 1 + (k + int(i)) % 3));
          for (int again = 0; again < 3; again++) CHECK(same_bits(solve(solver, b).x, expected[i]));
        }
    });
  for (auto& u : users) u.join();
}

TEST("tolerances may change between solves, and stay changed") {
  NOTE(fresh::said());
  fresh::Random random(145);
  CsrMatrix A = poisson(9, 9, 9, 27, 1);
  auto b = random.normals(A.n);
  for (auto& m : methods()) {
    NOTE(m.name);
    Solver solver(A.view(), options(m.name, "host", 2));
    solver.options().rtol = 1e-2;
    auto loose = solve(solver, b);
    solver.options().rtol = 1e-9;
    auto tight = solve(solver, b);
    solver.options().maxiter = 1;
    CHECK(solve(solver, b).report.status == Status::max_iterations);
    solver.options().maxiter = 0;
    CHECK(solve(solver, b).report.iterations == tight.report.iterations);
    CHECK(loose.report.iterations < tight.report.iterations);
    CHECK(tight.report.true_residual <= 1e-9);
  }
}

TEST("a solver that was moved goes on where it is now") {
  NOTE(fresh::said());
  fresh::Random random(146);
  CsrMatrix A = matrices::spd(random, 100, 3, 100);
  auto b = random.normals(100);
  Solver first(A.view(), options("cg", "host", 2));
  auto x = solve(first, b).x;
  Solver second(std::move(first));
  CHECK(same_bits(solve(second, b).x, x));
}

TEST("starting from a solution takes no iteration, from a near one few") {
  NOTE(fresh::said());
  fresh::Random random(147);
  CsrMatrix A = poisson(10, 10, 10, 7, 1);
  auto b = random.normals(A.n);
  for (auto& m : methods()) {
    NOTE(m.name);
    Solver solver(A.view(), options(m.name, "host", 2));
    auto cold = solve(solver, b);
    CHECK(solve(solver, b, cold.x.data()).report.iterations == 0);
    auto near = cold.x;
    for (double& v : near) v *= 1 + 1e-6;
    auto warm = solve(solver, b, near.data());
    CHECK(warm.report.status == Status::converged);
    CHECK(warm.report.iterations < cold.report.iterations);
  }
}
