// Solves that are ended from outside: the user's callback, a time limit, an interrupt. The best x is honest, and the solver
// goes on.
#include <chrono>
#include <cmath>
#include <thread>

#include "check.hpp"
#include "problems.hpp"
#include "sordino/base/error.hpp"

using namespace problems;

namespace {

/// Large and hard enough that no method is through within a second.
const CsrMatrix& hard() {
  static const CsrMatrix A = poisson(60, 60, 60, 7, 1e5);
  return A;
}
const std::vector<double>& rhs() {
  static const std::vector<double> b(static_cast<std::size_t>(hard().n), 1.0);
  return b;
}
const CsrMatrix& easy() {
  static const CsrMatrix A = poisson(60, 60, 60, 7, 1);
  return A;
}

Options endless(const std::string& method, const char* engine, int ranks) {
  Options o = options(method, engine, ranks);
  o.rtol = 1e-250;
  o.maxiter = 1000000;
  o.s = 2;  // so that one iteration, and what stands before it, is over soon
  return o;
}

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void check_stopped(const Solved& s, Status status) {
  NOTE(name(s.report.status), ": ", s.report.reason);
  CHECK(s.report.status == status);
  CHECK(s.report.reason.starts_with("stopped on request"));
  CHECK(s.report.iterations > 0);
  double exact = matrices::exact_residual(hard().view(), rhs(), s.x);
  // A method that is at its limit has residuals of the size of rounding.
  CHECK_NEAR(s.report.residual_norm, exact, 1e-6 * exact + rounding(hard().view(), s.x, rhs()));
}

/// The stopped solver solves again.
void check_usable(Solver& solver) {
  solver.options().rtol = 0.9;
  solver.options().time_limit = 0;
  solver.options().maxiter = 5;
  Solved s = solve(solver, rhs());
  CHECK((s.report.status == Status::converged || s.report.status == Status::max_iterations));
}

}  // namespace

TEST("a callback that returns true stops the solve") {
  for (auto& m : methods())
    for (const char* engine : {"host", "model"}) {
      NOTE(m.name, " on ", engine);
      Solver solver(hard().view(), endless(m.name, engine, 2));
      int last = -1, calls = 0;
      auto begin = std::chrono::steady_clock::now();
      Solved s = solve(solver, rhs(), nullptr, [&](int iteration, double residual) {
        CHECK(iteration >= last);
        CHECK(residual >= 0);
        CHECK(std::isfinite(residual));
        last = iteration;
        return ++calls == 2;
      });
      check_stopped(s, Status::stopped_by_user);
      CHECK(calls == 2);
      CHECK(seconds_since(begin) < 60);
      check_usable(solver);
    }
}

TEST("a time limit stops the solve") {
  for (auto& m : methods())
    for (const char* engine : {"host", "model"})
      for (int ranks : {1, 3}) {
        NOTE(m.name, " on ", engine, ", ranks = ", ranks);
        Options o = endless(m.name, engine, ranks);
        o.time_limit = 0.2;  // on a busy machine less may be over before an iteration is
        Solver solver(hard().view(), o);
        check_stopped(solve(solver, rhs()), Status::time_limit);
        check_usable(solver);
      }
}

TEST("stop() ends a running solve with the given reason, from any thread") {
  for (auto& m : methods()) {
    NOTE(m.name);
    Solver solver(hard().view(), endless(m.name, "host", 2));
    std::thread signal([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(150));
      solver.stop(Status::interrupted);
    });
    Solved s = solve(solver, rhs());
    signal.join();
    check_stopped(s, Status::interrupted);
    check_usable(solver);
  }
}

TEST("a stop that comes after the solve has ended changes nothing") {
  Solver solver(easy().view(), options("cg", "host", 2));
  auto first = solve(solver, rhs());
  solver.stop(Status::interrupted);
  auto second = solve(solver, rhs());
  CHECK(second.report.status == Status::converged);
  CHECK(same_bits(first.x, second.x));
}

TEST("a solve that converges within its time limit has converged") {
  Options o = options("cg", "host", 2);
  o.time_limit = 1000;
  CHECK(solve(easy().view(), rhs(), o).report.status == Status::converged);
}

TEST("a callback that throws ends the solve, its exception is thrown, and the solver can solve again") {
  for (const char* engine : {"host", "model"}) {
    NOTE(engine);
    Solver solver(hard().view(), endless("cg", engine, 2));
    int calls = 0;
    auto angry = [&](int, double) -> bool {
      calls++;
      throw std::logic_error("the caller's own");
    };
    std::vector<double> x(rhs().size());
    CHECK_THROWS(solver.solve(rhs().data(), x.data(), nullptr, angry), std::logic_error, "the caller's own");
    CHECK(calls == 1);
    check_usable(solver);
  }
}

TEST("progress goes up, and tells the residual that the history ends with") {
  Options o = endless("cg", "host", 2);
  o.time_limit = 1.2;
  Solver solver(hard().view(), o);
  std::vector<int> iterations;
  std::vector<double> residuals;
  Solved s = solve(solver, rhs(), nullptr, [&](int iteration, double residual) {
    iterations.push_back(iteration);
    residuals.push_back(residual);
    return false;
  });
  CHECK(iterations.size() >= 3);
  CHECK(std::is_sorted(iterations.begin(), iterations.end()));
  for (std::size_t k = 0; k < iterations.size(); k++) {
    std::size_t at = std::size_t(iterations[k]);
    if (at == 0 || at >= s.report.history.size()) continue;
    bool near = false;  // the two numbers are not read at the same moment
    for (std::size_t i = at - 1; i < std::min(at + 3, s.report.history.size()); i++)
      near |= std::abs(s.report.history[i] - residuals[k]) < 1e-12;
    CHECK(near);
  }
}
