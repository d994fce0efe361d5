// Solves of H-matrices on whole vectors: by groups of ranks that gather together, and share what is done with vectors.
#include "sordino/api/whole_vectors.hpp"

#include <algorithm>

#include "check.hpp"
#include "unit/api/hmatrix_systems.hpp"

namespace {

/// Blocks of three on the diagonal, with which BiCGStab breaks down after a step from (1, 0, 0): (rh,r) vanishes.
class BreaksDown final : public hmatrix::Generator {
 public:
  BreaksDown() {
    for (int i = 0; i < 12; i++) points_.insert(points_.end(), {double(i), 0.0, 0.0});
  }
  i64 size() const override { return 12; }
  const double* points() const override { return points_.data(); }
  void entries(std::span<const i32> rows, std::span<const i32> columns, double* out) const override {
    constexpr double block[3][3] = {{1, 0, 1}, {1, 1, 0}, {0, 1, 1}};
    for (i32 i : rows)
      for (i32 j : columns) *out++ = i / 3 == j / 3 ? block[i % 3][j % 3] : 0;
  }

 private:
  std::vector<double> points_;
};

/// Of a sphere pressed flat, whose two sides hardly differ: residuals rise on their way down.
const hmatrix::HMatrix& flat() {
  static const hmatrix::HMatrix H = [] {
    surfaces::Surface s = surfaces::sphere(5, 8);
    for (std::size_t k = 2; k < s.corners.size(); k += 3) s.corners[k] *= 0.02;
    return hmatrix::HMatrix(bem::Laplace(s.view()), {.compression = {.eps = 1e-8}});
  }();
  return H;
}

}  // namespace

TEST("solves that gather by groups have the bits of those from each to each, on host and model") {
  NOTE(fresh::said());
  fresh::Random random(96);
  const auto b = random.normals(sphere().size());
  Machine machine;
  machine.ranks_per_node = 3;
  auto solved = [&](const char* engine, const char* gather) {
    Options o = options("gatherbicgstab", engine, 6);
    o.gather = gather;
    o.rtol = 1e-9;
    std::vector<double> x(b.size());
    const Report r = Solver(system_of(sphere()), o, machine).solve(b.data(), x.data());
    CHECK(r.status == Status::converged);
    return std::pair{x, r.ledger};
  };
  for (const char* engine : {"host", "model"}) {
    const auto [x, each] = solved(engine, "rank");
    for (const char* gather : {"1", "2", "3", "6", "node"}) {
      NOTE(engine, ", gather ", gather);
      const auto [ours, ledger] = solved(engine, gather);
      CHECK(same_bits(ours, x));
      CHECK(ledger.messages == each.messages);  // of which fewer leave a group: of groups of three 1 instead of 3
      const std::string word = gather;          // all ranks of a process are one node
      const bool hands_on = word == "2" || word == "3" || (word == "node" && engine[0] == 'm');
      CHECK((ledger.commands > each.commands) == hands_on);
    }
  }
}

TEST("groups that ranks, methods or matrices do not have are refused with a sentence") {
  const System s = system_of(sphere());
  auto gathering = [](const char* method, const char* gather, int ranks) {
    Options o = options(method, "host", ranks);
    o.gather = gather;
    return o;
  };
  CHECK(refusal(s, gathering("gatherbicgstab", "4", 6)).find("6 ranks cannot be groups of 4") != std::string::npos);
  CHECK(refusal(s, gathering("bicgstab", "2", 4)).find("solver bicgstab does not: use solver gatherbicgstab") !=
        std::string::npos);
  for (const char* word : {"", "socket", "0", "-2", "2x", "99999999999"})
    CHECK(refusal(s, gathering("gatherbicgstab", word, 4)).find("gather is rank, node, or how many ranks make a group") !=
          std::string::npos);
  const CsrMatrix A = poisson(4, 4, 4, 7, 1.0);
  CHECK(refusal(System{.A = A.view()}, gathering("gatherbicgstab", "2", 4)).find("gather '2' is of H-matrices alone") !=
        std::string::npos);
  Options o = gathering("gatherbicgstab", "node", 5);
  o.engine = "model";
  Machine machine;
  machine.ranks_per_node = 2;
  CHECK_THROWS(Solver(s, o, machine), Error, "gather 'node' needs as many ranks on each node");
}

TEST("bicgstab on whole vectors finds the same bits, whether all ranks repeat vector operations or groups share them") {
  NOTE(fresh::said());
  fresh::Random random(97);
  const auto b = random.normals(sphere().size()), x0 = random.normals(sphere().size());
  Machine machine;
  machine.ranks_per_node = 3;
  auto solved = [&](const char* engine, int ranks, const char* vectors, const char* gather, const char* precond, int maxiter) {
    Options o = options("bicgstab", engine, ranks);
    o.vectors = vectors, o.gather = gather, o.precond = precond;
    o.rtol = 1e-9, o.maxiter = maxiter, o.check_every = 4;
    std::vector<double> x(b.size());
    const Report r = Solver(system_of(sphere()), o, machine).solve(b.data(), x.data(), x0.data());
    CHECK((r.status == Status::converged) == (maxiter == 0));
    return std::pair{x, r};
  };
  for (const char* engine : {"host", "model"})
    for (const char* precond : {"none", "jacobi"}) {
      const auto [x, first] = solved(engine, 1, "redundant", "rank", precond, 0);
      for (auto [ranks, vectors, gather] : {std::tuple{6, "redundant", "rank"},
                                            {6, "redundant", "2"},
                                            {6, "hierarchical", "2"},
                                            {6, "hierarchical", "3"},
                                            {6, "hierarchical", "6"},
                                            {6, "hierarchical", "node"},
                                            {1, "hierarchical", "node"}}) {
        NOTE(engine, ", ", precond, ": ", ranks, " ranks, ", vectors, ", gather ", gather);
        const auto [ours, report] = solved(engine, ranks, vectors, gather, precond, 0);
        CHECK(same_bits(ours, x));
        CHECK(same_bits(report.history, first.history));
        CHECK(report.ledger.reductions == 0);
      }
    }
  for (int maxiter = 1; maxiter <= 9; maxiter++) {  // ended between looks, and with one
    NOTE("at most ", maxiter);
    const auto [x, first] = solved("host", 1, "redundant", "rank", "none", maxiter);
    const auto [ours, report] = solved("host", 4, "hierarchical", "2", "none", maxiter);
    CHECK(same_bits(ours, x));
    CHECK(report.iterations == maxiter);
  }
}

TEST("shared vectors have the bits of repeated ones where recurrences break down and are begun again") {
  NOTE(fresh::said());
  fresh::Random random(98);
  const auto b = random.normals(sphere().size());
  auto solved = [&](const char* vectors, const char* gather) {
    Options o = options("bicgstab", "host", 4);
    o.vectors = vectors, o.gather = gather;
    o.rtol = 1e-300, o.maxiter = 400, o.check_every = 32;
    std::vector<double> x(b.size());
    const Report r = Solver(system_of(sphere()), o).solve(b.data(), x.data());
    return std::pair{x, r};
  };
  const auto [x, all] = solved("redundant", "rank");
  const auto [ours, shared] = solved("hierarchical", "2");
  CHECK(!all.recoveries.empty());  // below what rounding allows
  CHECK(shared.recoveries.size() == all.recoveries.size());
  CHECK(same_bits(ours, x));
  CHECK(same_bits(shared.history, all.history));
}

TEST("what a step has made of x is kept where the next one breaks down, also of shared vectors") {
  const hmatrix::HMatrix H(BreaksDown{}, {});
  std::vector<double> b;
  for (int k = 0; k < 4; k++) b.insert(b.end(), {1.0, 0.0, 0.0});
  auto solved = [&](const char* vectors, const char* gather) {
    Options o = options("bicgstab", "host", 4);
    o.vectors = vectors, o.gather = gather, o.precond = "none";
    std::vector<double> x(b.size());
    const Report r = Solver(system_of(H), o).solve(b.data(), x.data());
    return std::pair{x, r};
  };
  const auto [x, all] = solved("redundant", "rank");
  const auto [ours, shared] = solved("hierarchical", "2");
  CHECK(all.residual_norm < 0.8 * dense::norm(b));
  CHECK(shared.status == all.status);
  CHECK(same_bits(ours, x));
  CHECK(same_bits(shared.history, all.history));
}

TEST("who looks at x of shared vectors sees the bits of repeated ones, at each look") {
  NOTE(fresh::said());
  fresh::Random random(99);
  const auto b = random.normals(sphere().size());
  struct Seen {
    int iteration;
    double residual;
    std::vector<double> x;
  };
  auto looked = [&](const char* engine, int ranks, const char* vectors, const char* gather, int every) {
    std::vector<Seen> all;
    System s = system_of(sphere());
    s.watch = {.every = every, .x = true, .look = [&](int iteration, double residual, const double* x) {
                 all.push_back({iteration, residual, {x, x + b.size()}});
               }};
    Options o = options("bicgstab", engine, ranks);
    o.vectors = vectors, o.gather = gather, o.precond = "none", o.rtol = 1e-9;
    std::vector<double> x(b.size());
    CHECK(Solver(s, o).solve(b.data(), x.data()).status == Status::converged);
    return all;
  };
  for (const char* engine : {"host", "model"})
    for (int every : {1, 3}) {
      NOTE(engine, ", every ", every);
      const auto alone = looked(engine, 1, "redundant", "rank", every), shared = looked(engine, 4, "hierarchical", "2", every);
      CHECK(alone.size() > 3);
      REQUIRE(shared.size() == alone.size());
      for (std::size_t k = 0; k < alone.size(); k++) {
        NOTE("look ", k);
        CHECK(shared[k].iteration == alone[k].iteration);
        CHECK(shared[k].residual == alone[k].residual);
        CHECK(same_bits(shared[k].x, alone[k].x));
        CHECK((k == 0 || !same_bits(alone[k].x, alone[k - 1].x)));
      }
    }
}

TEST("of shared vectors, too, a solve that has to end hands out the x that it has looked at with the least residual") {
  NOTE(fresh::said());
  fresh::Random random(100);
  const auto b = random.normals(flat().size());
  auto solved = [&](int ranks, const char* vectors, const char* gather, int maxiter) {
    Options o = options("bicgstab", "host", ranks);
    o.vectors = vectors, o.gather = gather, o.precond = "none";
    o.rtol = 1e-12, o.maxiter = maxiter, o.check_every = 1;
    std::vector<double> x(b.size());
    const Report r = Solver(system_of(flat()), o).solve(b.data(), x.data());
    return std::pair{x, r};
  };
  const std::vector<double> history = solved(1, "redundant", "rank", 60).second.history;
  int rises = 0;
  for (std::size_t k = 1; k < history.size() && rises < 5; k++) {
    const double least = *std::min_element(history.begin(), history.begin() + i64(k));
    if (history[k] <= history[k - 1] || history[k - 1] > std::min(least, 1.0)) continue;  // 1: of x = 0
    rises++;
    NOTE("at most ", k + 1, " iterations");
    const auto [x, alone] = solved(1, "redundant", "rank", int(k) + 1);
    const auto [ours, shared] = solved(4, "hierarchical", "2", int(k) + 1);
    CHECK(same_bits(ours, x));
    CHECK(std::abs(shared.residual_norm / dense::norm(b) / least - 1) < 1e-6);  // that of k iterations
  }
  CHECK(rises > 0);
}

TEST("scalars by the host are those that commands compute, of distributed, repeated and shared vectors") {
  NOTE(fresh::said());
  fresh::Random random(99);
  const auto b = random.normals(sphere().size());
  auto solved = [&](const char* engine, int ranks, const char* vectors, const char* scalars, const char* precond, double rtol) {
    Options o = options("bicgstab", engine, ranks);
    o.vectors = vectors, o.scalars = scalars, o.precond = precond;
    o.gather = std::string(vectors) == "hierarchical" ? "2" : "rank";
    o.rtol = rtol, o.maxiter = 400, o.check_every = 4;
    std::vector<double> x(b.size());
    const Report r = Solver(system_of(sphere()), o).solve(b.data(), x.data());
    return std::pair{x, r};
  };
  std::size_t recoveries = 0;
  for (const char* engine : {"host", "model"})
    for (auto [ranks, vectors] : {std::pair{1, "auto"}, {4, "auto"}, {4, "redundant"}, {4, "hierarchical"}})
      for (const char* precond : {"none", "jacobi"})
        for (double rtol : {1e-9, 1e-300}) {  // below what rounding allows recurrences are begun again
          NOTE(engine, ", ", ranks, " ranks, ", vectors, ", ", precond, ", to ", rtol);
          const auto [x, device] = solved(engine, ranks, vectors, "device", precond, rtol);
          const auto [ours, host] = solved(engine, ranks, vectors, "host", precond, rtol);
          CHECK(same_bits(ours, x));
          CHECK(same_bits(host.history, device.history));
          CHECK(host.recoveries.size() == device.recoveries.size());
          recoveries += host.recoveries.size();
          CHECK(host.ledger.commands > device.ledger.commands + 2 * host.iterations);  // alpha, zeta and beta
          CHECK(host.ledger.reductions == device.ledger.reductions);
        }
  CHECK(recoveries > 0);
}

TEST("gathers that are waited for at once bring the bits of those that hide, in groups and of matrices by entries") {
  NOTE(fresh::said());
  fresh::Random random(101);
  const auto b = random.normals(sphere().size());
  auto solved = [&](const System& s, const char* engine, const char* schedule, const char* gather, double rtol) {
    Options o = options("gatherbicgstab", engine, 4);
    o.schedule = schedule, o.gather = gather, o.rtol = rtol, o.maxiter = 400;
    std::vector<double> x(std::size_t(s.A.n));
    const Report r = Solver(s, o).solve(b.data(), x.data());
    return std::pair{x, r};
  };
  const CsrMatrix A = poisson(5, 6, 7, 7, 1.0);
  for (const char* engine : {"host", "model"})
    for (auto [s, gather] :
         {std::pair{system_of(sphere()), "rank"}, {system_of(sphere()), "2"}, {System{.A = A.view()}, "rank"}})
      for (double rtol : {1e-9, 1e-300}) {  // below what rounding allows it goes over to bicgstab
        NOTE(engine, ", gather ", gather, ", to ", rtol);
        const auto [x, pipe2] = solved(s, engine, "pipe2", gather, rtol);
        const auto [ours, pipe1] = solved(s, engine, "pipe1", gather, rtol);
        CHECK(same_bits(ours, x));
        CHECK(same_bits(pipe1.history, pipe2.history));
        CHECK(pipe1.recoveries.size() == pipe2.recoveries.size());
        CHECK(pipe1.ledger.commands == pipe2.ledger.commands);
      }
}

TEST("a schedule of gathers is refused with a sentence where a solver has but one") {
  const System s = system_of(sphere());
  auto refused = [&](const char* method, const char* schedule, const char* why) {
    Options o = options(method, "host", 4);
    o.schedule = schedule;
    NOTE(refusal(s, o));
    CHECK(refusal(s, o).find(why) != std::string::npos);
  };
  for (const char* method : {"bicgstab", "pipebicgstab", "gmres", "auto"})
    refused(method, "pipe1", "schedule 'pipe1' is of solver gatherbicgstab, and the solver is ");
  refused("gatherbicgstab", "pipe3", "there is no schedule 'pipe3'; there are pipe2, pipe1");
}

TEST("the host computes scalars of matrices by entries, and with a preconditioner that is no diagonal") {
  const CsrMatrix A = poisson(7, 6, 5, 7, 1.0);
  const std::vector<double> b(std::size_t(A.view().n), 1.0);
  for (const char* precond : {"jacobi", "ilu0"}) {
    NOTE(precond);
    auto solved = [&](const char* scalars) {
      Options o = options("bicgstab", "host", 3);
      o.scalars = scalars, o.precond = precond;
      std::vector<double> x(b.size());
      const Report r = Solver(System{.A = A.view()}, o).solve(b.data(), x.data());
      CHECK(r.status == Status::converged);
      return x;
    };
    CHECK(same_bits(solved("host"), solved("device")));
  }
}

TEST("scalars by the host are refused with a sentence where a solve has none") {
  const System s = system_of(sphere());
  auto with = [](const char* method, const char* scalars, const char* vectors) {
    Options o = options(method, "host", 4);
    o.scalars = scalars, o.vectors = vectors;
    return o;
  };
  for (const char* method : {"gmres", "auto", "gatherbicgstab"})
    CHECK(refusal(s, with(method, "host", "auto")).find("scalars 'host' is of solver bicgstab, which has to be said") !=
          std::string::npos);
  CHECK(refusal(s, with("bicgstab", "cpu", "auto")).find("there is no scalars 'cpu'; there are device, host") !=
        std::string::npos);
  const std::vector<i64> row_starts = {0, 1, 2};
  const std::vector<i32> columns = {0, 1};
  const std::vector<double> values = {2, 1, 3, -1};
  System of_numbers;
  of_numbers.A = {.n = 2, .indptr = row_starts.data(), .indices = columns.data(), .values = values.data(), .words = 2};
  Options o = with("bicgstab", "host", "auto");
  o.ranks = 1;
  CHECK(refusal(of_numbers, o).find("scalars 'host' is of real systems") != std::string::npos);
}

TEST("whole vectors are refused with a sentence where a solve has none") {
  const System s = system_of(sphere());
  auto with = [](const char* method, const char* vectors, const char* gather = "rank") {
    Options o = options(method, "host", 4);
    o.vectors = vectors, o.gather = gather;
    return o;
  };
  auto refused = [](const System& system, const Options& o, const char* why) {
    NOTE(refusal(system, o));
    CHECK(refusal(system, o).find(why) != std::string::npos);
  };
  refused(s, with("bicgstab", "hierarchical"), "shares work among the ranks of a group: say gather node");
  refused(s, with("gatherbicgstab", "redundant"), "gatherbicgstab has whole vectors by itself");
  refused(s, with("gmres", "redundant"), "is of solver bicgstab");
  refused(s, with("auto", "redundant"), "is of solver bicgstab, which has to be said");
  refused(s, with("bicgstab", "whole"), "there is no vectors 'whole'; there are auto, redundant, hierarchical");
  Options o = with("bicgstab", "redundant");
  o.precond = "block-jacobi";
  refused(s, o, "takes no preconditioner but a diagonal");
  const CsrMatrix A = poisson(4, 4, 4, 7, 1.0);
  refused(System{.A = A.view()}, with("bicgstab", "redundant"), "is of real H-matrices alone");
}
