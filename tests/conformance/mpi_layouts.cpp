// Ranks of several MPI processes: the same bits as the same number of ranks in one process, in every layout.
#include "check.hpp"
#include "mpi_world.hpp"
#include "problems.hpp"
#include "sordino/api/engines.hpp"
#include "sordino/base/error.hpp"
#include "sordino/linalg/csr_operator.hpp"
#include "sordino/runtime/host/engine.hpp"

using namespace problems;
using namespace mpi_world;

namespace {

/// Ranks of each process: equally many, or one more in each than in the one before.
std::vector<std::vector<int>> layouts() {
  int n = processes();
  std::vector<int> one(std::size_t(n), 1), two(std::size_t(n), 2), uneven;
  for (int p = 0; p < n; p++) uneven.push_back(1 + 2 * (p % 2));
  return {one, two, uneven};
}

int sum(const std::vector<int>& v) {
  int s = 0;
  for (int x : v) s += x;
  return s;
}

/// What one process computes alone with as many ranks, on an engine without a transport.
Solved alone(const Case& p, const std::string& method, int ranks) {
  Options o = options(method, "host", ranks);
  Solver solver(p.A.view(), o, EngineChoice{std::make_unique<host::HostEngine>(host::Options{.ranks = ranks}), "threads"});
  return solve(solver, p.b);
}

}  // namespace

TEST("every method has the same bits in every layout of processes, and solves again and again") {
  fresh::Random random = shared_random(200);
  NOTE(fresh::said());
  for (auto& p : all(random))
    for (auto& m : methods()) {
      if (!takes(m, p)) continue;
      for (auto& layout : layouts()) {
        if (sum(layout) > p.A.n) continue;
        NOTE(m.name, ", ", p.name, ", layout ", check::text(layout));
        Solved reference = alone(p, m.name, sum(layout));
        Solver solver(p.A.view(), options(m.name, "host", layout[std::size_t(process())]));
        CHECK(solver.ranks() == sum(layout));
        CHECK(solver.transport() == "threads and mpi");
        for (int again = 0; again < 3; again++) {
          Solved s = solve(solver, p.b);
          CHECK(s.report.status == Status::converged);
          CHECK(s.report.iterations == reference.report.iterations);
          CHECK(same_bits(s.report.history, reference.report.history));
          CHECK(s.report.residual_norm == reference.report.residual_norm);
          if (process() == 0) CHECK(same_bits(s.x, reference.x));
          if (process() == 0) CHECK(s.report.ledger.same_counts(reference.report.ledger));
          CHECK(agree(s.report.residual_norm));
          auto& carried = s.report.ledger.carried;
          const MessageCount &within = carried[std::size_t(Carrier::threads)], &between = carried[std::size_t(Carrier::mpi)];
          CHECK(within.messages + between.messages == s.report.ledger.messages);
          CHECK(within.bytes + between.bytes == s.report.ledger.bytes_sent);
          if (s.report.ledger.messages > 0 && sum(layout) == processes()) CHECK(within.messages == 0);
        }
      }
    }
}

TEST("values and right-hand sides change, and all processes follow") {
  fresh::Random random = shared_random(201);
  NOTE(fresh::said());
  CsrMatrix A = matrices::spd(random, 500, 3, 500);
  Options o = options("cg", "host", 1 + process() % 2);
  Solver solver(A.view(), o);
  std::vector<std::vector<double>> values;
  for (int k = 0; k < 20; k++) {
    values.push_back(A.values);
    for (double& v : values.back()) v *= 1 + k;
    auto b = random.normals(500);
    solver.update_values(values.back().data());
    CsrMatrix B = A;
    B.values = values.back();
    Solved s = solve(solver, b);
    CHECK(s.report.status == Status::converged);
    if (process() == 0) CHECK(matrices::exact_residual(B.view(), b, s.x) <= 1.000001e-8 * matrices::norm(b));
  }
}

TEST("a large halo, where every rank needs most rows of all others") {
  fresh::Random random = shared_random(202);
  NOTE(fresh::said());
  CsrMatrix A = matrices::scattered(random, 60000, 6, 60000);
  auto x = random.normals(A.n);
  auto product = [&](Engine& engine, std::vector<double>& y) {
    Partition p = balance(A.view(), engine.size());
    engine.run(
        [&](Rank& s) {
          CsrOperator op(s, A.view(), p);
          Vec from = op.operand(s, "x"), to = op.result(s, "y");
          auto apply = s.record([&] {
            s.run(Nothing{}, push(from));
            op.apply(s, from, to);
          });
          const double* mine = x.data() + s.space(op.space()).first_row;
          for (int again = 0; again < 10; again++) {
            s.write(from, mine);
            s.replay(apply);
          }
          s.read(to, y.data() + s.space(op.space()).first_row);
        },
        {});
  };
  std::vector<double> y(x.size(), 0.0), reference(x.size());
  host::HostEngine one({.ranks = 1});
  product(one, reference);
  Options o = options("cg", "host", 2);
  auto choice = make_engine(o, {});
  product(*choice.engine, y);
  Partition p = balance(A.view(), choice.engine->size());
  int first = choice.engine->first_rank();
  for (i64 i = p.first_row(first); i < p.first_row(first + 2); i++) REQUIRE(y[std::size_t(i)] == reference[std::size_t(i)]);
}

TEST("more ranks in all processes than rows are refused in all of them") {
  CsrMatrix A = matrices::csr({{{0, 1.0}}, {{1, 1.0}}, {{2, 1.0}}});
  CHECK_THROWS(Solver(A.view(), options("cg", "host", 2)), Error,
               "more ranks (" + std::to_string(2 * processes()) + ") than rows (3)");
  MPI_Barrier(MPI_COMM_WORLD);
}

TEST("a time limit and a callback of one process end the solve in all of them, in the same iteration") {
  CsrMatrix A = poisson(40, 40, 40, 7, 1e5);
  std::vector<double> b(static_cast<std::size_t>(A.n), 1.0);
  for (bool limit : {true, false})
    for (auto& m : methods()) {
      NOTE(m.name, limit ? ", time limit" : ", callback");
      Options o = options(m.name, "host", 1);
      o.rtol = 1e-250;
      o.maxiter = 1000000;
      bool mine = process() == processes() - 1;
      o.time_limit = limit && mine ? 0.1 : 0;
      Solver solver(A.view(), o);
      Solved s = solve(solver, b, nullptr, [&](int, double) { return !limit && mine; });
      CHECK(s.report.reason.starts_with("stopped on request"));
      CHECK(agree(s.report.iterations));
      CHECK(agree(s.report.residual_norm));
      if (mine) CHECK(s.report.status == (limit ? Status::time_limit : Status::stopped_by_user));
    }
}

TEST("processes that choose different solvers, by machines that are described differently, are all told so") {
  CsrMatrix A = poisson(12, 12, 24, 7, 1.0);
  std::vector<double> b(std::size_t(A.n), 1.0);
  Options o = options("auto", "host", 2);
  Machine m;
  m.launch_s = 1e-7, m.memory_bandwidth = 1e11, m.reduction_start_s = 0, m.link_latency_s = 1e-6;
  m.reduction_base_s = 1e-3;
  Solver same(A.view(), o, m);
  CHECK(same.method() == "cbcg");
  CHECK(solve(same, b).report.status == Status::converged);
  if (process() == 0) m.reduction_base_s = 1e-12;
  CHECK_THROWS(Solver(A.view(), o, m), Error, "processes chose different solvers");
  o.solver = "cbcg", o.s = std::nullopt;
  CHECK_THROWS(Solver(A.view(), o, m), Error, "processes chose different solvers, or s, by machines");
  m.reduction_base_s = 1e-3;
  CHECK(agree(Solver(A.view(), o, m).steps()));
  o.solver = "cg";
  CHECK(solve(A.view(), b, o).report.status == Status::converged);
}

TEST("1,000 small solves over processes neither hang nor grow") {
  fresh::Random random = shared_random(203);
  NOTE(fresh::said());
  for (const char* method : {"cg", "prcg", "gatherbicgstab"}) {
    NOTE(method);
    CsrMatrix A = matrices::spd(random, 40, 2, 40);
    auto b = random.normals(40);
    Solver solver(A.view(), options(method, "host", 2));
    auto held = solver.memory();
    Solved first = solve(solver, b);
    for (int k = 0; k < 334; k++) {
      Solved s = solve(solver, b);
      REQUIRE(s.report.iterations == first.report.iterations);
      if (process() == 0) REQUIRE(same_bits(s.x, first.x));
    }
    CHECK(solver.memory() == held);
  }
}
