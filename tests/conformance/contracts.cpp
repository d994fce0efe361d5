// What each method's header says an iteration costs, from the ledger: the difference of a longer and a shorter run.
#include "check.hpp"
#include "problems.hpp"
#include "sordino/linalg/partition.hpp"

using namespace problems;

namespace {

/// Of one iteration, on the first rank. Vector words are what is moved beyond the matrix's own arrays and the product's x and
/// y.
struct Spent {
  double commands, reductions, values, messages, vector_words;
};

constexpr int few = 6, many = 16;

Spent spent(const CsrMatrix& A, const std::vector<double>& b, const std::string& method, const std::string& engine, int ranks,
            int passes, int products, const std::string& precond = "jacobi") {
  auto ledger = [&](int iterations) {
    Options o = options(method, engine, ranks);
    o.precond = precond;
    o.storage = "csr";  // whose bytes are taken off below
    o.rtol = 1e-300;    // never met
    o.maxiter = iterations;
    o.check_every = o.replace_every = 1000000;
    o.s = 1;  // of which both numbers of iterations are multiples
    Solved s = solve(A.view(), b, o);
    REQUIRE(s.report.status == Status::max_iterations);
    REQUIRE(s.report.iterations == iterations);
    return s.report.ledger;
  };
  Ledger l = difference(ledger(many), ledger(few));
  constexpr double n = many - few;
  Partition p = balance(A.view(), ranks);
  double mine = double(p.rows(0)), entries = double(A.indptr[std::size_t(p.first_row(1))]);
  double matrix = (12 * entries + 4 * mine) * passes + 16 * mine * products;
  double rows = method == "gatherbicgstab" ? double(A.n) : mine;
  return {double(l.commands) / n, double(l.reductions) / n, double(l.reduced_values) / n, double(l.messages) / n,
          (l.memory_bytes / n - matrix) / (8 * rows)};
}

struct Expected {
  const char* method;
  int commands, reductions, values, halos, passes, products, vector_words, workspace;
  bool keeps_verified = false;
};

// As the headers say. Workspace counts vectors of n words beyond b, x, the best x and M, with A x. Where the method levels out,
// or another one takes over, the best x that was verified is kept apart.
constexpr Expected headers[] = {
    {"cg", 3, 2, 3, 1, 1, 1, 10, 3},
    {"fcg", 3, 2, 4, 1, 1, 1, 10, 4},
    {"cgcg", 2, 1, 3, 1, 1, 1, 13, 5, true},
    {"prcg", 2, 1, 5, 2, 1, 2, 15, 9, true},
    {"cbcg", 12, 2, 4, 1, 1, 1, 0, 0},  // with s = 1; more of it: cbcg.cpp
    {"gropp", 4, 2, 3, 1, 1, 1, 18, 6, true},
    {"pcg1", 10, 3, 3, 1, 1, 1, 17, 4},
    {"pcg2", 12, 3, 3, 1, 1, 1, 19, 7},
    {"pcg-overlap", 9, 3, 3, 1, 1, 1, 19, 7},
    {"bicgstab", 5, 3, 5, 2, 2, 2, 21, 8},
    {"pipebicgstab", 4, 2, 7, 2, 2, 2, 28, 13, true},
    {"gatherbicgstab", 6, 0, 0, 2, 2, 2, 0, 0},
    {"gmres", 11, 1, 64, 1, 1, 1, 0, 0},  // with m = 30, and its bytes on the average of a cycle; more of it: gmres.cpp
    {"cocg", 3, 2, 3, 1, 1, 1, 10, 3},    // of a real matrix it is cg; of complex ones: overlap/complex.cpp
    {"richardson", 3, 1, 1, 1, 1, 1, 7, 2},
};

const CsrMatrix& slabs() {  // every rank has its neighbours, and no more
  static const CsrMatrix A = poisson(6, 6, 40, 7, 50);
  return A;
}

}  // namespace

TEST("every registered method's contract is asserted here") {
  std::vector<std::string> known, registered;
  for (auto& h : headers) known.push_back(h.method);
  for (auto& m : methods()) registered.push_back(m.name);
  std::sort(known.begin(), known.end());
  std::sort(registered.begin(), registered.end());
  CHECK(known == registered);
}

TEST("an iteration costs what the method's header says: commands, reductions, messages and vector traffic") {
  std::vector<double> b;  // no random one: with few of those BiCGStab begins again within the iterations that are counted
  for (i64 i = 0; i < slabs().n; i++) b.push_back(1 + double(i * 7919 % 101) / 101);
  for (auto& h : headers)
    for (const char* engine : {"host", "model"})
      for (int ranks : {1, 2, 3, 7}) {
        NOTE(h.method, " on ", engine, ", ranks = ", ranks);
        bool gathers = std::string(h.method) == "gatherbicgstab";
        Spent c = spent(slabs(), b, h.method, engine, ranks, h.passes, h.products);
        CHECK(c.commands == h.commands);
        CHECK(c.reductions == h.reductions);
        CHECK(c.values == h.values);
        CHECK(c.messages == h.halos * (gathers ? ranks - 1 : ranks > 1 ? 1 : 0));  // the first rank has one neighbour
        if (h.vector_words > 0) CHECK(c.vector_words == h.vector_words);
      }
}

TEST("without M cgcg keeps r alone, which u is: 9 words a row instead of 13, and a vector less") {
  std::vector<double> b;
  for (i64 i = 0; i < slabs().n; i++) b.push_back(1 + double(i * 7919 % 101) / 101);
  for (const char* engine : {"host", "model"})
    for (int ranks : {1, 3}) {
      NOTE(engine, ", ranks = ", ranks);
      Spent c = spent(slabs(), b, "cgcg", engine, ranks, 1, 1, "none");
      CHECK(c.commands == 2);
      CHECK(c.reductions == 1);
      CHECK(c.values == 3);
      CHECK(c.vector_words == 9);
    }
  auto held = [&](const char* precond) {
    Options o = options("cgcg", "host", 1);
    o.precond = precond;
    o.storage = "csr";
    return Solver(slabs().view(), o).memory()[0] / (8 * slabs().n);
  };
  CHECK(held("jacobi") - held("none") == 2);  // r, and 1/diag(A)
}

TEST("a method's workspace is what its header says") {
  NOTE(fresh::said());
  fresh::Random random(111);
  CsrMatrix A = matrices::diagonal(random, 4000);
  for (auto& h : headers) {
    if (h.workspace == 0) continue;
    NOTE(h.method);
    Options o = options(h.method, "host", 1);
    o.precond = "jacobi";
    o.storage = "csr";  // whose values are viewed, not held
    Solver solver(A.view(), o);
    i64 row_pointers = i64(4) * (A.n + 1);
    const int others = h.keeps_verified ? 5 : 4;  // b, x, 1/diag(A), and the best x
    CHECK(solver.memory()[0] == i64(8) * A.n * (h.workspace + others) + row_pointers);
  }
}

TEST("a look at the residual every few iterations costs two commands and no communication") {
  NOTE(fresh::said());
  fresh::Random random(112);
  auto b = random.normals(slabs().n);
  for (auto& m : methods()) {
    auto ledger = [&](int check_every) {
      Options o = options(m.name, "host", 3);
      o.rtol = 1e-300;
      o.maxiter = 20;
      o.replace_every = 1000000;
      o.s = 2;
      o.check_every = check_every;
      o.time_commands = true;
      return solve(slabs().view(), b, o).report.ledger;
    };
    Ledger with = ledger(4), without = ledger(1000000);
    NOTE(m.name);
    CHECK(with.kernels["KeepBest"].calls == 5);
    CHECK(with.kernels["LowerBest"].calls == 5);
    CHECK(without.kernels.count("KeepBest") == 0);
    const char* catches_up = m.name == "gmres" ? "Solve" : "NoStep";  // with a command besides
    const i64 updates = with.kernels[catches_up].calls - without.kernels[catches_up].calls;
    CHECK(updates == (m.takes_roots || m.name == "gmres" ? 5 : 0));  // where x lags, it is brought up to date before a look
    i64 catching_up = 2 * updates;
    i64 at_the_end = with.commands - without.commands - 2 * 5 - catching_up;  // the better x is taken, its residual computed
    CHECK(at_the_end >= 0);
    CHECK(at_the_end <= 6);
    CHECK(with.reductions - without.reductions <= 1);
    CHECK(with.messages - without.messages <= (m.replicated ? 2 : 1));
  }
}

TEST("residual replacement is what the pipelined methods do every so often, and classic ones never") {
  NOTE(fresh::said());
  fresh::Random random(113);
  auto b = random.normals(slabs().n);
  for (auto& m : methods()) {
    auto messages = [&](int replace_every) {
      Options o = options(m.name, "host", 2);
      o.rtol = 1e-300;
      o.maxiter = 21;
      o.s = 2;
      o.replace_every = replace_every;
      return solve(slabs().view(), b, o).report.ledger.messages;
    };
    bool replaces = m.name == "pipebicgstab" || m.name == "gatherbicgstab";
    NOTE(m.name);
    i64 more = messages(10) - messages(1000000);
    CHECK(more == (replaces ? 2 * 6 : 0));  // twice, with six products
  }
}
